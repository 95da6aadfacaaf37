"""Fleets: what a tick over many agents costs, as ratios within one run; and a few games beside what is done today.

``python benchmarks/fleet.py [part ...]``, of: ticks, turns, lookahead, million, frame, game, queue. Run it on a quiet
machine; but ``turns`` counts, and is the same on any.

* ticks: a tick over n agents against n times the bare kernel's move, and two threads against one; tb-wa* as a fleet
  has it, which lets agents plan in turns and walk on in between, and with as little for each in every tick;
* turns: where a frame is too small for all, how good the walks are of those who plan in turns and walk on in between,
  beside as little planning for each in every tick;
* lookahead: what a tick costs for tb-wa* by how much it expands per move, up to what its paper allows on such maps;
* million: 10,000 agents of kNN LRTA* on 4096 x 4096, and how many fit a frame of 1 ms;
* frame: tb-wa* under 1 ms: late ticks, quality against the frame, memory;
* game: 200 monsters in a dungeon, whose player moves every third frame;
* queue: the fastest peer's A*, one request after the other until the frame is over; tcod's Dijkstra map.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import timebound as tb
from run import world_and_problems

TICKS, ROUNDS = 60, 5
SPECS = ("lrta*", "knn-lrta*", "tb-wa*:weight=3")
SHARE = {"lrta*": 1, "knn-lrta*": 10, "tb-wa*:weight=3": 10}
Say = Callable[[str], None]


def resident() -> float:
    """Megabytes of memory that the process holds now."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def pairs(world: tb.Grid, count: int, seed: int = 1, cost: tuple[float, float] | None = None) -> tuple[Any, Any]:
    """Starts and goals with a way between them: cells of the largest part."""
    if cost is not None:
        drawn = list(tb.problems(world, count, seed=seed, cost=cost))
        return [one.start for one in drawn], [one.goal for one in drawn]
    random = np.random.default_rng(seed)
    parts = world.parts()
    states = world.random_states(4 * count + 1000, random)
    main = np.bincount(parts[states]).argmax()
    states = states[parts[states] == main]
    points = world.points_of(states)
    return points[:count], points[count : 2 * count]


def database_for(world: tb.Grid, spec: str, folder: Path) -> Any:
    """Coverage, made once."""
    if not spec.startswith("knn"):
        return None
    file = folder / f"{world.digest[:12]}.coverage"
    if not file.is_file():
        return tb.prepare(world, file, algorithm=spec, jobs=2)
    return tb.load_database(file, world)


def bare_move(world: tb.Grid, spec: str, database: Any, starts: Any, goals: Any) -> float:
    """Nanoseconds of a move inside of one long kernel call: median over agents, each run alone and warm."""
    each = []
    for start, goal in list(zip(starts, goals, strict=True))[:40]:
        agent = tb.agent(spec, world, tuple(start), tuple(goal), budget=SHARE[spec], database=database)
        agent.run(TICKS)
        if agent.ticks:
            each.append(agent.planning_seconds / agent.ticks * 1e9)
    return median(each)


def ticks(folder: Path, say: Say) -> list[dict[str, Any]]:
    """A tick over n agents against n bare moves, and two threads against one."""
    _, world, _ = world_and_problems(1)
    rows = []
    for spec, planned in (*((spec, "as it is") for spec in SPECS), ("tb-wa*:weight=3", "each in every tick")):
        database = database_for(world, spec, folder)
        most = SHARE[spec] if planned != "as it is" else None
        starts, goals = pairs(world, 10_000)
        bare_move(world, spec, database, starts[:3], goals[:3])
        for count in (100, 1_000, 10_000):
            say(f"{spec}, {count} agents")
            times: dict[int, list[float]] = {1: [], 2: []}
            bares = []
            agents = moves = expansions = 0
            # In rounds, so that all meet the same machine; but not tick by tick: a game has one fleet, and two of them
            # in turns would drive each other's agents out of the caches.
            for _ in range(ROUNDS):
                bares.append(bare_move(world, spec, database, starts, goals))
                ends = []
                for threads in times:
                    fleet = tb.Fleet(
                        world, spec, frame_expansions=SHARE[spec] * count, budget=most, database=database,
                        threads=threads,
                    )  # fmt: skip
                    fleet.add(starts[:count], goals[:count])
                    for _ in range(TICKS):
                        agents += fleet.active
                        before = time.perf_counter()
                        fleet.tick()
                        times[threads].append((time.perf_counter() - before) / max(fleet.active, 1) * 1e9)
                    moves, expansions = moves + fleet.stats.moves, expansions + fleet.stats.expansions
                    ends.append(fleet.positions.copy())
                    del fleet
                if not (ends[0] == ends[1]).all():
                    raise AssertionError("two threads have made other moves than one")
            one, two, bare = median(times[1]), median(times[2]), median(bares)
            rows.append(
                {
                    "spec": spec, "plans": planned, "agents": count, "moves_each": moves / agents,
                    "expansions_each": expansions / agents, "bare_ns": bare, "tick_ns_per_agent": one,
                    "ratio": one / bare, "two_threads_ns": two, "speed_up": one / two,
                }
            )  # fmt: skip
    return rows


def turns(folder: Path, say: Say) -> list[dict[str, Any]]:
    """Ways and arrivals against the optimum where a frame is too small for all: in turns, or each in every tick."""
    name, world, _ = world_and_problems(1)
    starts, goals = pairs(world, 300, cost=(100, 1500))
    optima = np.array([tb.solve(world, s, g).cost for s, g in zip(starts, goals, strict=True)])
    rows = []
    for spec in ("tb-wa*:weight=3", "tba*"):
        for share in (10, 25):
            for planned, most in (("as it is", None), ("each in every tick", share)):
                say(f"{spec}, {share} expansions, {planned}")
                fleet = tb.Fleet(world, spec, frame_expansions=share * len(optima), budget=most)
                ids = fleet.add(starts, goals)
                arrived = np.zeros(len(ids))
                while fleet.active and fleet.stats.ticks < 30_000:
                    fleet.tick()
                    arrived[(fleet.statuses[ids] == 1) & (arrived == 0)] = fleet.stats.ticks
                there = arrived > 0
                costs = fleet.costs[ids] / optima
                rows.append(
                    {
                        "map": name, "spec": spec, "expansions": share, "plans": planned,
                        "arrived_percent": 100 * float(there.mean()),
                        "ticks": float(np.mean(arrived[there] / optima[there])),
                        "cost": float(costs[there].mean()), "median_cost": float(np.median(costs[there])),
                    }
                )  # fmt: skip
    return rows


def lookahead(folder: Path, say: Say) -> list[dict[str, Any]]:
    """tb-wa* by expansions per move: the more an agent does when it has its turn, the less it matters to fetch it."""
    name, world, _ = world_and_problems(1)
    starts, goals = pairs(world, 10_000)
    spec = "tb-wa*:weight=3"
    rows = []
    # As many ticks as most of them search.
    for share, length in ((10, 60), (32, 40), (128, 15), (512, 4)):
        for count in (100, 1_000, 10_000):
            say(f"{share} expansions, {count} agents")
            bares, times = [], []
            for _ in range(ROUNDS):
                alone = [
                    tb.agent(spec, world, tuple(start), tuple(goal), budget=share).run(length)
                    for start, goal in zip(starts[:100], goals[:100], strict=True)
                ]
                bares.append(sum(a.planning_seconds for a in alone) / sum(a.expansions for a in alone) * 1e9)
                fleet = tb.Fleet(world, spec, frame_expansions=share * count, budget=share)
                fleet.add(starts[:count], goals[:count])
                took = sum(timed_ticks(fleet, length))
                times.append(took / fleet.stats.expansions * 1e6)
                del fleet
            rows.append(
                {
                    "map": name, "spec": spec, "expansions": share, "agents": count, "alone_ns": median(bares),
                    "tick_ns": median(times), "ratio": median(times) / median(bares),
                }
            )  # fmt: skip
    return rows


def timed_ticks(fleet: tb.Fleet, count: int) -> list[float]:
    """What so many ticks take, in milliseconds."""
    took = []
    for _ in range(count):
        before = time.perf_counter()
        fleet.tick()
        took.append((time.perf_counter() - before) * 1e3)
    return took


def million(folder: Path, say: Say) -> list[dict[str, Any]]:
    """10,000 agents of kNN LRTA* with coverage on a map of 4096 x 4096; how many fit into 1 ms."""
    _, small, _ = world_and_problems(1)
    world = small.scale(4)
    rows = []
    for spec in ("knn-lrta*", "lrta*"):
        say(f"{spec} on {world.shape[0]} x {world.shape[1]}: database")
        database = database_for(world, spec, folder)
        starts, goals = pairs(world, 10_000)
        for threads in (1, 2):
            say(f"{spec}, {threads} threads")
            fleet = tb.Fleet(world, spec, frame_expansions=SHARE[spec] * 10_000, database=database, threads=threads)
            ids = fleet.add(starts, goals)
            begun = fleet.positions[ids].copy()
            asking = timed_ticks(fleet, 200)[50:]
            # Until nine of ten have an answer and walk. Before that a tick is ten steps of climbs that check records.
            while np.count_nonzero((fleet.positions[ids] != begun).any(axis=1)) < 9_000 and fleet.stats.ticks < 5_000:
                fleet.tick()
            before = fleet.stats
            walking = timed_ticks(fleet, 200)
            after = fleet.stats
            rows.append(
                {
                    "spec": spec, "threads": threads, "asking_p50_ms": median(asking),
                    "asking_p99_ms": float(np.percentile(asking, 99)), "from_tick": before.ticks,
                    "walking": after.agents, "walking_p50_ms": median(walking),
                    "walking_p99_ms": float(np.percentile(walking, 99)),
                    "moves_per_tick": (after.moves - before.moves) / 200,
                    "expansions_per_tick": (after.expansions - before.expansions) / 200,
                    "fit_1ms": round(after.agents / median(walking)),
                }
            )  # fmt: skip
            timed = tb.Fleet(world, spec, frame_ms=1.0, database=database, threads=threads)
            timed.add(starts, goals)
            served = []
            for _ in range(200):
                timed.tick()
                served.append(timed.stats.served)
            rows[-1] |= {"asking_served_in_1ms": median(served[50:]), "late_percent": timed.stats.late / 2}
    return rows


def frame(folder: Path, say: Say) -> list[dict[str, Any]]:
    """tb-wa* under a frame: late ticks, what the walks cost against the optimum, memory."""
    name, world, _ = world_and_problems(1)
    starts, goals = pairs(world, 1_000, cost=(100, 1500))
    optima = [tb.solve(world, s, g).cost for s, g in zip(starts[:200], goals[:200], strict=True)]
    rows = []
    for count in (200, 1_000):
        for milliseconds in (0.5, 1.0, 2.0, 4.0):
            say(f"{count} agents, {milliseconds} ms")
            world.spare.clear()
            before = resident()
            fleet = tb.Fleet(world, "tb-wa*:weight=3", frame_ms=milliseconds)
            ids = fleet.add(starts[:count], goals[:count])
            most = 0.0
            while fleet.active and fleet.stats.ticks < 20_000:
                for _ in range(50):
                    fleet.tick()
                most = max(most, resident() - before)
            stats = fleet.stats
            there = fleet.statuses[ids] == 1
            first = there[: len(optima)]
            ratios = fleet.costs[ids[: len(optima)]][first] / np.array(optima[: len(first)])[first]
            rows.append(
                {
                    "map": name, "agents": count, "frame_ms": milliseconds, "ticks": stats.ticks,
                    "p50_ms": stats.p50_ms, "p99_ms": stats.p99_ms, "max_ms": stats.max_ms,
                    "late_percent": 100 * stats.late / stats.ticks, "megabytes": most,
                    "arrived_percent": 100 * float(there.mean()), "suboptimality": float(ratios.mean()),
                }
            )  # fmt: skip
            del fleet
    return rows


def game(folder: Path, say: Say) -> list[dict[str, Any]]:
    """200 monsters in a dungeon of 60 x 100; the player moves every third frame and all are sent after it."""
    world = tb.Grid(tb.generate.rooms((60, 100), room=10, seed=1))
    starts, _ = pairs(world, 200)
    free = np.argwhere(world.free)
    rows = []
    for spec in ("tb-wa*:weight=3", "tba*", "lrta*", "rtaa*", "field"):
        for milliseconds in (1.0,):
            say(f"{spec}, 200 monsters")
            random = np.random.default_rng(1)
            player = tb.agent("tb-wa*", world, tuple(free[0]), tuple(free[-1]), budget=50)
            fleet = tb.Fleet(world, spec, frame_ms=milliseconds)
            ids = fleet.add(starts, player.position)
            took, expansions, caught = [], 0, 0
            for tick in range(3_000):
                before = time.perf_counter()
                if tick % 3 == 0:
                    fleet.send(ids, player.position)
                fleet.tick()
                took.append((time.perf_counter() - before) * 1e3)
                expansions += fleet.stats.last_expansions
                caught += int((fleet.statuses == 1).sum())
                if tick % 3 == 2:
                    player.step()
                    if player.done:
                        player = tb.agent(
                            "tb-wa*", world, player.position, tuple(free[random.integers(len(free))]), budget=50
                        )
            later = took[100:]
            rows.append(
                {
                    "spec": spec, "frame_ms": milliseconds, "p50_ms": median(later),
                    "p99_ms": float(np.percentile(later, 99)), "max_ms": max(later),
                    "expansions_per_tick": expansions / len(took), "beside_the_player_percent": caught / len(took) / 2,
                }
            )  # fmt: skip
    return rows


def queue(folder: Path, say: Say) -> list[dict[str, Any]]:
    """1,000 units ask for a way at once. A queue serves as many as fit into each frame of 1 ms."""
    from peers import W9AStar

    name, world, _ = world_and_problems(1)
    starts, goals = pairs(world, 1_000, cost=(100, 1500))
    rows = []
    peer = W9AStar(world.free)
    peer.query(starts[0], goals[0])
    frames, worst, waiting = 0, 0.0, list(zip(starts, goals, strict=True))
    while waiting:
        before = time.perf_counter()
        while waiting and (time.perf_counter() - before) < 1e-3:
            peer.query(*waiting.pop())
        worst = max(worst, (time.perf_counter() - before) * 1e3)
        frames += 1
    rows.append(
        {"map": name, "who": "w9-pathfinding A* in a queue", "ticks_until_all_moved": frames, "worst_ms": worst}
    )
    for spec in ("tb-wa*:weight=3", "lrta*"):
        fleet = tb.Fleet(world, spec, frame_ms=1.0)
        tb.Fleet(world, spec, frame_ms=1.0).add(starts[:2], goals[:2])
        ids = fleet.add(starts, goals)
        have_moved = np.zeros(len(ids), bool)  # whether or not they have stepped back since
        while not have_moved.all():
            fleet.tick()
            have_moved |= fleet.moved[ids]
        rows.append(
            {
                "map": name,
                "who": f"a fleet, {spec}",
                "ticks_until_all_moved": fleet.stats.ticks,
                "worst_ms": fleet.stats.max_ms,
            }
        )
    try:
        import tcod.path
    except ImportError:
        return rows
    cost = world.free.astype(np.int8)
    distance = tcod.path.maxarray(cost.shape, dtype=np.int32, order="C")
    distance[tuple(goals[0])] = 0
    before = time.perf_counter()
    tcod.path.dijkstra2d(distance, cost, 2, 3, out=distance)
    rows.append(
        {"map": name, "who": "tcod Dijkstra map, one goal for all", "ticks_until_all_moved": 1,
         "worst_ms": (time.perf_counter() - before) * 1e3}
    )  # fmt: skip
    return rows


PARTS = {
    "ticks": ticks, "turns": turns, "lookahead": lookahead, "million": million, "frame": frame, "game": game,
    "queue": queue,
}  # fmt: skip


def show(rows: list[dict[str, Any]]) -> str:
    """A table within 100 columns or so."""
    names = list(rows[0])
    cells = [[f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[n]) for line in cells)) for n, name in enumerate(names)]
    lines = [names, *cells]
    return "\n".join("  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines)


def main() -> None:
    """Measure what is asked for, print it, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS), metavar="part")
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where databases are kept between runs")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures here")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        print(f"... {text}", file=sys.stderr, flush=True)

    report = {}
    for part in options.parts:
        report[part] = PARTS[part](options.folder, say)
        print(f"\n{part}: {(PARTS[part].__doc__ or '').splitlines()[0]}\n{show(report[part])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
