"""Memory of many agents, and what a fresh one costs.

    python benchmarks/memory.py [walk] [first] [many] [table] [soak]

* ``walk``: what 200 and 1,000 agents take together that all walk at once, on sc1/Cauldron, 1024 x 1024.
* ``first``: making an agent and its first step, on larger and larger maps; new, and from the world's pool.
* ``many``: 10,000 agents that have made one step each: memory, and pieces of memory (Linux allows 65,530).
* ``table``: how long a whole Dijkstra search takes in blocks, against a table as large as the map, in turn.
* ``soak``: agents come and go, some with long ways; memory at every quarter of the time.

Each part has a process of its own, so that it finds no memory that another has touched.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import timebound as tb
from deadlines import problems, resident, world_of
from timebound.kernels.shortest_paths import tree_from
from timebound.kernels.workspace import Workspace
from timebound.warmup import ready

SPEC = "tb-wa*:weight=3"


def page_tables() -> int:
    """Bytes that the system itself needs to know where this process's memory is."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmPTE:")[1].split()[0]) * 1024


def pieces() -> int:
    """Pieces of memory that the system keeps apart for this process."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def anywhere(world: tb.Grid, seed: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of connected cells, near or far."""
    random, parts = np.random.default_rng(seed), world.parts()
    while True:
        for start, goal in world.random_states(64, random).reshape(-1, 2).tolist():
            if parts[start] == parts[goal]:
                yield world.point_of(start), world.point_of(goal)


def fresh_world(side: int, spec: str, budget: Any) -> tuple[str, tb.Grid]:
    """A world with its kernels compiled, and nothing in its pool."""
    name, world = world_of(side)
    ready(world, *next(problems(world, seed=1)), spec, budget)
    world.spare.clear()
    gc.collect()
    gc.freeze()
    return name, world


def walk(spec: str, count: int, budget: int) -> None:
    """All agents walk at once, a few ticks each in turn; those that arrive give their memory back to the pool."""
    name, world = fresh_world(1024, spec, budget)
    drawn = anywhere(world, seed=1)
    pairs = [next(drawn) for _ in range(count)]
    before, tables, most = resident(), page_tables(), 0
    agents = [tb.agent(spec, world, *pair, budget=budget) for pair in pairs]
    walking = agents
    while walking:
        for agent in walking:
            agent.run(20)
        walking = [agent for agent in walking if not agent.done]
        most = max(most, resident() - before)
    states = np.mean([agent.expansions for agent in agents])
    print(
        f"{name}, {count:5,} {spec}, budget {budget}: {most / 1e6:6.1f} MB at most, page tables "
        f"{(page_tables() - tables) / 1e6:.1f} MB; {states:,.0f} expansions each",
        flush=True,
    )


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The thread's own time in microseconds, and what the call gave."""
    before = time.thread_time_ns()
    value = call()
    return (time.thread_time_ns() - before) / 1e3, value


def first(spec: str, side: int, budget: int, count: int = 200) -> None:
    """Medians over agents, one after the other: making one, its first step, the pages it touches, a later step."""
    name, world = fresh_world(side, spec, budget)
    drawn = problems(world, seed=3)
    for kind in ("new", "from the pool"):
        rows = []
        agents = []
        for _ in range(count):
            pair = next(drawn)
            if kind == "new":
                world.spare.clear()
            making, agent = timed(lambda pair=pair: tb.agent(spec, world, *pair, budget=budget))
            faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
            step, _ = timed(agent.step)
            faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - faults
            rows.append((making, step, faults, min(timed(agent.step)[0] for _ in range(3))))
            agents.append(agent)
            if kind != "new":
                agents.clear()
        making, step, pages, later = np.median(rows, axis=0).tolist()
        print(
            f"{name:13} {spec}, budget {budget}, {kind:13}: made in {making:5.1f} us, first step {step:6.1f} us "
            f"({pages:.0f} new pages), later steps {later:5.1f} us",
            flush=True,
        )


def many(spec: str, count: int, side: int, budget: int) -> None:
    """So many agents with one step behind them."""
    name, world = fresh_world(side, spec, budget)
    drawn = anywhere(world, seed=4)
    pairs = [next(drawn) for _ in range(count)]
    before, tables, apart = resident(), page_tables(), pieces()
    agents = [tb.agent(spec, world, *pair, budget=budget) for pair in pairs]
    for agent in agents:
        agent.step()
    print(
        f"{name}, {count:,} {spec}, budget {budget}, one step each: {(resident() - before) / 1e6:.0f} MB, page tables "
        f"{(page_tables() - tables) / 1e6:.0f} MB, {pieces() - apart:,} pieces of memory",
        flush=True,
    )


def table(rounds: int = 7) -> None:
    """Dijkstra's algorithm from the same cells, in the two kinds of tables in turn; the best time of each cell."""
    name, world = world_of(1024)
    roots = [int(root) for root in world.random_states(5, np.random.default_rng(1))]
    kinds = {kind: Workspace(world, kind == "blocks") for kind in ("dense", "blocks")}
    best = {(kind, root): float("inf") for kind in kinds for root in roots}
    for turn in range(rounds + 1):
        for root in roots:
            for kind in sorted(kinds, reverse=turn % 2 > 0):
                took, _ = timed(lambda kind=kind, root=root: tree_from(world.view, kinds[kind], root))
                if turn:
                    best[kind, root] = min(best[kind, root], took)
    blocks, dense = (sum(best[kind, root] for root in roots) for kind in ("blocks", "dense"))
    print(f"{name}: whole searches in blocks take {blocks / dense:.2f} times as long as in a dense table", flush=True)


def soak(spec: str, count: int, ticks: int, budget: int) -> None:
    """A place that is free is taken by a new agent; after some time memory must not grow any more."""
    name, world = fresh_world(1024, spec, budget)
    drawn, arrived = anywhere(world, seed=5), 0
    agents = [tb.agent(spec, world, *next(drawn), budget=budget) for _ in range(count)]
    before = resident()
    for tick in range(1, ticks + 1):
        for k, agent in enumerate(agents):
            agent.run(20)
            if agent.done:
                agents[k] = tb.agent(spec, world, *next(drawn), budget=budget)
                arrived += 1
        if tick % (ticks // 4) == 0:
            print(
                f"{name}, {count} {spec}: after {20 * tick:,} ticks and {arrived:,} arrivals "
                f"{(resident() - before) / 1e6:.1f} MB",
                flush=True,
            )


PARTS: dict[str, list[Callable[[], None]]] = {
    "walk": [lambda count=count: walk(SPEC, count, 100) for count in (200, 1000)],  # type: ignore[misc]
    "first": [lambda side=side: first(SPEC, side, 10) for side in (1024, 4096, 8192)],  # type: ignore[misc]
    "many": [lambda spec=spec: many(spec, 10_000, 1024, 10) for spec in (SPEC, "lrta*", "k-lrta*")],  # type: ignore[misc]
    "table": [table],
    "soak": [lambda: soak(SPEC, 100, 2000, 100)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; without, all")
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; known are {', '.join(PARTS)}")
        if options.number is not None:
            PARTS[part][options.number]()
            continue
        for number in range(len(PARTS[part])):
            subprocess.run([sys.executable, __file__, part, "--number", str(number)], check=True)


if __name__ == "__main__":
    main()
