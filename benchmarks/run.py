"""Speed, as ratios within one run: timebound's A* against the floor and other libraries, TBA* against A*, learners.

Every query goes through all competitors in turn before the next one starts, so a slow moment of the machine hits all
of them. Each query is repeated and its best time kept. Run it on a quiet machine: ``make bench``.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import timebound as tb
from floor import Floor
from peers import PEERS
from timebound.scenarios import Problem, Scenario, maps_folder, spread

TBA_BUDGETS = (100, 1000)
# The learning family: spec, budget, and per what its time is told.
LEARNERS = (("lrta*", None, "move"), ("k-lrta*:commit=frontier", 100, "counted expansion"))
LEARNER_MOVES = 50_000  # enough to be measured, where a walk would take millions


def world_and_problems(count: int) -> tuple[str, tb.Grid, list[Problem]]:
    """sc1/Cauldron where the MovingAI maps are at hand, else a generated map of the same size."""
    folder = maps_folder()
    if folder is not None and (folder / "sc1" / "Cauldron.map.scen").is_file():
        scenario = Scenario(folder / "sc1" / "Cauldron.map.scen")
        world = tb.Grid.load(scenario.map_path())
        problems = [problem for problem in scenario.problems(world) if problem.optimal]
        return "sc1/Cauldron", world, spread(problems, count)
    world = tb.Grid(tb.generate.caves((1024, 1024), seed=1))
    return "caves 1024x1024, seed 1", world, list(tb.problems(world, count, seed=1, cost=(100, 3000)))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the call returned."""
    before = time.perf_counter()
    value = call()
    return time.perf_counter() - before, value


def race(world: tb.Grid, problems: list[Problem], repeats: int, say: Callable[[str], None]) -> dict[str, Any]:
    """All competitors on all problems; the slow ones only once each."""
    free = world.free
    peers = []
    for kind in PEERS:
        say(f"setting up {kind.name}")
        peers.append(kind(free))
    floor = Floor(world)
    for peer in peers:  # the first query of each is not counted
        peer.query(problems[0].start, problems[0].goal)
    tb.solve(world, problems[0].start, problems[0].goal)
    floor.nanoseconds_per_cell(problems[0].start)
    gc.collect()
    gc.freeze()  # millions of long-lived node objects would otherwise be walked in somebody's timing
    rows = []
    for number, problem in enumerate(problems):
        say(f"problem {number + 1} of {len(problems)}")
        row: dict[str, Any] = {
            "optimal": problem.optimal,
            "floor": math.inf,
            "planning": math.inf,
            "tba": {},
            "learners": {},
            "seconds": {},
        }
        for repeat in range(repeats):
            row["floor"] = min(row["floor"], floor.nanoseconds_per_cell(problem.start))
            seconds, result = timed(lambda p=problem: tb.solve(world, p.start, p.goal))
            row["expansions"] = result.expansions
            row["planning"] = min(row["planning"], result.planning_seconds)
            for budget in TBA_BUDGETS:
                # A whole episode: search, tracing, and every step of the walk.
                walked = tb.solve(world, problem.start, problem.goal, "tba*", budget=budget)
                least = min(row["tba"].get(budget, (math.inf, 0))[0], walked.planning_seconds)
                row["tba"][budget] = least, walked.expansions
            for spec, limit, _ in LEARNERS:
                walked = tb.solve(world, problem.start, problem.goal, spec, budget=limit, move_limit=LEARNER_MOVES)
                least = min(row["learners"].get(spec, (math.inf,))[0], walked.planning_seconds)
                row["learners"][spec] = least, walked.moves, walked.expansions
            best = row["seconds"]
            best["timebound"] = min(best.get("timebound", math.inf), seconds)
            for peer in peers:
                if peer.slow and repeat > 0:
                    continue
                seconds, path = timed(lambda p=problem, peer=peer: peer.query(p.start, p.goal))
                best[peer.name] = min(best.get(peer.name, math.inf), seconds)
                if repeat == 0:
                    found = peer.cost(path)
                    if found is None or abs(found - result.cost) > 1e-4 * result.cost:
                        raise AssertionError(f"{peer.name} found {found}, timebound {result.cost}")
        rows.append(row)
    gc.unfreeze()
    return {"rows": rows, "versions": {peer.name: peer.version for peer in peers}}


def tiny_queries(repeats: int = 300) -> dict[str, float]:
    """Microseconds of a query that expands ten states, on a small and on a very large map, taken in turn."""
    worlds = {side: tb.Grid(np.ones((side, side), bool)) for side in (512, 8192)}
    times: dict[int, list[float]] = {side: [] for side in worlds}
    for _ in range(repeats):
        for side, world in worlds.items():
            middle = side // 2
            seconds, result = timed(lambda w=world, m=middle: tb.solve(w, (m, m), (m, m + 10)))
            if result.expansions != 10:
                raise AssertionError(f"expected 10 expansions, saw {result.expansions}")
            times[side].append(seconds * 1e6)
    return {str(side): median(values) for side, values in times.items()}


def embedded_moves(
    sides: tuple[int, ...] = (512, 2048, 8192), problems: int = 10, cost: tuple[float, float] = (150, 600)
) -> dict[str, float]:
    """Median microseconds per move of TBA* (R = 100) for the same problems in ever larger maps, taken in turn.

    Only of moves on which it searches: the walk along a known path costs next to nothing, and would hide the rest.
    """
    cells = tb.generate.caves((sides[0], sides[0]), seed=1)
    worlds = {}
    for side in sides:
        larger = np.zeros((side, side), bool)
        larger[: sides[0], : sides[0]] = cells
        worlds[side] = tb.Grid(larger)
    times: dict[int, list[float]] = {side: [] for side in sides}
    for problem in tb.problems(worlds[sides[0]], problems, seed=1, cost=cost):
        agents = {
            side: tb.agent("tba*", world, problem.start, problem.goal, budget=100) for side, world in worlds.items()
        }
        while not all(agent.done for agent in agents.values()):
            for side, agent in agents.items():
                expansions, seconds = agent.expansions, agent.planning_seconds
                agent.step()
                if agent.expansions > expansions:
                    times[side].append((agent.planning_seconds - seconds) * 1e6)
        if len({agent.moves for agent in agents.values()}) != 1:
            raise AssertionError("the same problem took different walks")
    return {str(side): median(values) for side, values in times.items()}


_START = """
import time; before = time.perf_counter()
import timebound as tb
world = tb.Grid([[1, 1, 1], [1, 0, 1]])
tb.solve(world, (0, 0), (1, 2))
print(time.perf_counter() - before)
"""


def start_seconds() -> dict[str, float]:
    """Import, build a grid and solve on it, in a new process: with an empty kernel cache, then with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        runs = [
            subprocess.run([sys.executable, "-c", _START], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    return {"cold": float(runs[0].stdout), "warm": float(runs[1].stdout)}


def bytes_per_cell(world: tb.Grid) -> dict[str, float]:
    """What a grid, and a search on it, hold per cell."""
    search = tb.Agent("a*", world, *[(int(r), int(c)) for r, c in np.argwhere(world.free)[[0, -1]]])
    table = search._planner.state.table
    return {"world": world.nbytes / world.free.size, "search": table.words.nbytes / world.free.size}


def summary(race_result: dict[str, Any]) -> dict[str, Any]:
    """The ratios."""
    rows = race_result["rows"]
    floor = median(row["floor"] for row in rows)
    expansions = sum(row["expansions"] for row in rows)
    search = sum(row["planning"] for row in rows) / expansions * 1e9
    ours = milliseconds(rows, "timebound")
    peers = {}
    for name, version in race_result["versions"].items():
        theirs = milliseconds(rows, name)
        peers[name] = {"version": version, "milliseconds_per_query": theirs, "times_slower": times(theirs, ours)}
    tba = {}
    for budget in TBA_BUDGETS:
        seconds = sum(row["tba"][budget][0] for row in rows)
        tba[str(budget)] = seconds / sum(row["tba"][budget][1] for row in rows) * 1e9
    learners = {}
    for spec, limit, per in LEARNERS:
        seconds, moves, counted = (sum(row["learners"][spec][k] for row in rows) for k in range(3))
        each_ns = seconds / (moves if per == "move" else counted) * 1e9
        learners[spec] = {"budget": limit, "per": per, "nanoseconds": each_ns, "over_floor": each_ns / floor}
    return {
        "learners": learners,
        "tba_ns_per_expansion": tba,
        "floor_ns_per_cell": floor,
        "a_star_ns_per_expansion": search,
        "a_star_over_floor": search / floor,
        "expansions": expansions,
        "milliseconds_per_query": ours,
        "peers": peers,
    }


def milliseconds(rows: list[dict[str, Any]], name: str) -> float:
    """The mean time of a query, to the digits that are printed: ratios then follow from what a reader sees."""
    return float(f"{sum(row['seconds'][name] for row in rows) / len(rows) * 1e3:.3g}")


def times(theirs: float, ours: float) -> float:
    """How many times slower, to two digits below a hundred and three above."""
    ratio = theirs / ours
    return float(f"{ratio:.2g}") if ratio < 100 else float(f"{ratio:.3g}")


def _named(spec: str, budget: int | None) -> str:
    return spec if budget is None else f"{spec}, k = {budget}"


def show(report: dict[str, Any]) -> str:
    """The report for people."""
    speed = report["speed"]
    lines = [
        f"map: {report['map']}, {report['problems']} problems, best of {report['repeats']}",
        "",
        f"flood fill (the floor)   {speed['floor_ns_per_cell']:6.1f} ns per cell",
        f"timebound A*             {speed['a_star_ns_per_expansion']:6.1f} ns per expansion"
        f"   {speed['a_star_over_floor']:.2f}x the floor",
        *(
            f"timebound TBA*, R = {budget:<5s}{each:6.1f} ns per expansion"
            f"   {each / speed['a_star_ns_per_expansion']:.2f}x A*, the walk included"
            for budget, each in speed["tba_ns_per_expansion"].items()
        ),
        *(
            f"{_named(spec, row['budget']):31s} {row['nanoseconds']:6.1f} ns per {row['per']}"
            f"   {row['over_floor']:.2f}x the floor"
            for spec, row in speed["learners"].items()
        ),
        "",
        "                        version  ms/query  times slower",
        f"{'timebound A*':23s} {report['timebound']:>8s} {speed['milliseconds_per_query']:9.3g}",
        *(
            f"{name:23s} {peer['version']:>8s} {peer['milliseconds_per_query']:9.3g} {peer['times_slower']:12.3g}x"
            for name, peer in speed["peers"].items()
        ),
    ]
    tiny, start, size = report["tiny"], report["start"], report["bytes_per_cell"]
    moves = report["embedded"]
    least, most = min(moves.values()), max(moves.values())
    lines += [
        "",
        f"a query of 10 expansions: {tiny['512']:.1f} us on 512x512, {tiny['8192']:.1f} us on 8192x8192"
        f" ({tiny['8192'] / tiny['512']:.2f}x)",
        "a searching move of TBA*, R = 100, the same problems embedded (median): "
        + ", ".join(f"{value:.2f} us in {side}" for side, value in moves.items())
        + f" ({most / least:.2f}x)",
        f"bytes per cell: {size['world']:.1f} for the grid, {size['search']:.1f} for a search",
        f"first solve in a new process: {start['cold']:.1f} s with nothing compiled, {start['warm']:.2f} s after that",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures here")
    options = parser.parse_args()

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    name, world, problems = world_and_problems(options.problems)
    report = {
        "map": name,
        "problems": len(problems),
        "repeats": options.repeats,
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "timebound": tb.__version__,
        "speed": summary(race(world, problems, options.repeats, say)),
        "bytes_per_cell": bytes_per_cell(world),
        "tiny": tiny_queries(),
        "embedded": embedded_moves(),
        "start": start_seconds(),
    }
    say("")
    print(show(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
