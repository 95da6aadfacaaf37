"""Deadlines: how long single steps take under a budget in time, for every real-time algorithm, and why some are late.

Each algorithm walks on the same maps, 1024, 4096 and 8192 cells a side, from problem to problem, fresh agents
included; the thread's own time of every step is kept. For each step above 1.3 times the budget the likely cause is
told:

* ``gc``: Python looked for garbage meanwhile, which is its business and not the step's;
* ``growth``: an array had to be enlarged;
* ``fault``: the step touched more than 100 pages of memory that nobody had touched before;
* ``preempted``: the system took the processor away meanwhile (its caches are then cold);
* ``other``: none of these. Where machines are shared, a guest's clock goes on while another guest runs: the first line
  of the table, steps that only look at the clock, tells how often that is so.

What was imported is frozen first (``gc.freeze``), as programs with deadlines do: otherwise looking for garbage takes 10
to 25 ms each time, most of it in what the compiler left.

Run it on a quiet machine: ``make deadlines`` (some 15 minutes), or for a few algorithms
``python benchmarks/deadlines.py 'tba*' 'k-lrta*' --steps 2000 --sides 1024``. ``--memory`` tells instead what many
agents take together.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import timebound as tb
from timebound.algorithms import REGISTRY, parse_spec
from timebound.databases.subgoals import SUBGOALS
from timebound.scenarios import maps_folder
from timebound.warmup import ready

SIDES = (1024, 4096, 8192)
VARIANTS = (
    "tba*:shortcut=true,steady=true",
    "tb-wa*:weight=3",
    "rtb-wa*:restart=eager",
    "lrta*:depth=10",
    "lrta*:gmax=20",
    "k-lrta*:commit=frontier",
    "k-lrta*:avoid=true,weight=2",
    "rtaa*:commit=frontier",
)
FAR = 0.2  # of the side: problems are at least so far apart, so that agents walk for long
LATE = 1.3  # budgets


def world_of(side: int) -> tuple[str, tb.Grid]:
    """sc1/Cauldron enlarged where the MovingAI maps are at hand, else generated caves."""
    folder = maps_folder()
    if folder is not None and (folder / "sc1" / "Cauldron.map").is_file():
        return f"Cauldron x{side // 1024}", tb.Grid.load(folder / "sc1" / "Cauldron.map").scale(side // 1024)
    return f"caves {side}", tb.Grid(tb.generate.caves((1024, 1024), seed=1)).scale(side // 1024)


def problems(world: tb.Grid, seed: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of connected cells, far apart; their optimum is not needed."""
    random = np.random.default_rng(seed)
    parts = world.parts()
    while True:
        pairs = world.random_states(64, random).reshape(-1, 2)
        for start, goal in pairs:
            apart = np.abs(np.subtract(world.point_of(int(start)), world.point_of(int(goal)))).max()
            if parts[start] == parts[goal] and apart > FAR * world.shape[0]:
                yield world.point_of(int(start)), world.point_of(int(goal))


def databases(world: tb.Grid, spec: str) -> dict[str, dict[str, Any]]:
    """What an algorithm runs with besides a world, by a word for it."""
    kind = parse_spec(spec).database
    if kind is None:
        return {"": {}}
    if kind is not SUBGOALS:
        return {"": {"database": tb.prepare(world, None, algorithm=spec)}}
    return {
        ", random records": {"database": tb.prepare(world, None, records=2000, mode="trees", seed=1)},
        ", coverage": {"database": tb.prepare(world, None, records=60, coverage=True, seed=1)},
    }


def measure(world: tb.Grid, spec: str, extra: dict[str, Any], steps: int, budget: float) -> dict[str, Any]:
    """The times of so many steps, and what the late ones suffered from."""
    drawn = problems(world, seed=1)
    ready(world, *next(drawn), spec, f"{budget}ms", **extra)
    times = np.zeros(steps)
    causes: Counter[str] = Counter()
    agent, making, taken, arrived = None, 0.0, 0, 0
    grown, collected = [0], [0]

    def note_collection(phase: str, _: dict[str, int]) -> None:
        collected[0] += phase == "start"

    gc.collect()
    gc.freeze()
    gc.callbacks.append(note_collection)
    while taken < steps:
        if agent is None or agent.done or agent.ticks > 4000:
            arrived += agent is not None and agent.status == "reached"
            before = time.thread_time_ns()
            agent = tb.agent(spec, world, *next(drawn), budget=f"{budget}ms", **extra)
            making = max(making, (time.thread_time_ns() - before) / 1e6)
            count_growth(agent, grown)
        growth, garbage, usage = grown[0], collected[0], resource.getrusage(resource.RUSAGE_THREAD)
        before = time.thread_time_ns()
        agent.step()
        times[taken] = (time.thread_time_ns() - before) / 1e6
        if times[taken] > LATE * budget:
            after = resource.getrusage(resource.RUSAGE_THREAD)
            if collected[0] > garbage:
                causes["gc"] += 1
            elif grown[0] > growth:
                causes["growth"] += 1
            elif after.ru_minflt - usage.ru_minflt > 100:
                causes["fault"] += 1
            elif after.ru_nivcsw > usage.ru_nivcsw:
                causes["preempted"] += 1
            else:
                causes["other"] += 1
        taken += 1
    gc.callbacks.remove(note_collection)
    p50, p99, p999, most = np.quantile(times, [0.5, 0.99, 0.999, 1.0]).tolist()
    return {"p50": p50, "p99": p99, "p99.9": p999, "max": most, "making": making, "late": dict(causes)}


def idle(steps: int, budget: float) -> dict[str, Any]:
    """As many steps that only look at the clock: how late the machine itself makes them."""
    times = np.zeros(steps)
    for k in range(steps):
        before = time.thread_time_ns()
        until = time.perf_counter_ns() + budget * 1e6
        while time.perf_counter_ns() < until:
            pass
        times[k] = (time.thread_time_ns() - before) / 1e6
    late = int((times > LATE * budget).sum())
    p50, p99, p999, most = np.quantile(times, [0.5, 0.99, 0.999, 1.0]).tolist()
    return {
        "p50": p50,
        "p99": p99,
        "p99.9": p999,
        "max": most,
        "making": 0.0,
        "late": {"machine": late} if late else {},
    }


def count_growth(agent: tb.Agent, grown: list[int]) -> None:
    """Count how often the agent's arrays are enlarged."""
    planner = agent._planner
    enlarge = planner.enlarge

    def counted() -> None:
        grown[0] += 1
        enlarge()

    planner.enlarge = counted  # type: ignore[method-assign]


def memory(specs: list[str], count: int, side: int, touched: int) -> dict[str, Any]:
    """What ``count`` agents of each algorithm take after each has touched about so many states; a process for each."""
    import subprocess

    found = {}
    for spec in specs:
        if parse_spec(spec).algorithm.database:
            continue  # its agents share the database, and walk with a page of values
        call = [sys.executable, __file__, "--memory-of", spec, str(count), str(side), str(touched)]
        found[spec] = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
        print(f"{spec:34} {found[spec]['bytes'] / 1e9:6.2f} GB, {found[spec]['states']:.0f} states each", flush=True)
    return found


def memory_of(spec: str, count: int, side: int, touched: int) -> dict[str, Any]:
    """The same for one algorithm, in this process."""
    world = tb.Grid(tb.generate.caves((1024, 1024), seed=1)).scale(side // 1024)
    drawn = problems(world, seed=2)
    ready(world, *next(drawn), spec, 50)
    before = resident()
    agents = []
    states = 0
    budget = None if spec.startswith("lrta*:") else 50
    for _ in range(count):
        agent = tb.agent(spec, world, *next(drawn), budget=budget)
        while not agent.done and agent.ticks < touched and agent.expansions < touched:
            agent.step()
        states += agent.expansions
        agents.append(agent)
    return {"bytes": resident() - before, "states": states / count}


def resident() -> int:
    """Bytes of memory that this process has touched."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def real_time() -> list[str]:
    """Every real-time algorithm, and variants that do more in a tick."""
    return [name for name, algorithm in REGISTRY.items() if algorithm.real_time] + list(VARIANTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("specs", nargs="*", help="algorithms; without, every real-time one")
    parser.add_argument("--steps", type=int, default=20_000, help="per algorithm and map")
    parser.add_argument("--sides", type=int, nargs="+", default=SIDES, help="multiples of 1024")
    parser.add_argument("--budget", type=float, default=1.0, help="milliseconds per step")
    parser.add_argument("--json", metavar="FILE", help="write the table here too")
    parser.add_argument("--memory", type=int, metavar="N", help="what N agents take that have touched 200 states each")
    parser.add_argument("--memory-of", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        spec, *numbers = options.memory_of
        print(json.dumps(memory_of(spec, *map(int, numbers))))
        return
    if options.memory:
        print(f"{options.memory:,} agents on a map of 2048 x 2048, each has expanded about 200 states")
        memory(options.specs or real_time(), options.memory, 2048, 200)
        return
    table: list[dict[str, Any]] = []

    def tell(name: str, what: str, row: dict[str, Any]) -> None:
        table.append({"map": name, "spec": what, **row})
        numbers = " ".join(f"{row[key]:6.2f}" for key in ("p50", "p99", "p99.9", "max", "making"))
        late = ", ".join(f"{count} {cause}" for cause, count in row["late"].items()) or "none"
        print(f"{name:13} {what:30} {numbers}  {late}", flush=True)

    print(f"steps of {options.budget:g} ms, {options.steps:,} each; the thread's own time in ms")
    print(f"{'':44} {'p50':>6} {'p99':>6} {'p99.9':>6} {'max':>6} {'making':>6}  late")
    tell("no map", "the clock alone", idle(options.steps, options.budget))
    for side in options.sides:
        name, world = world_of(side)
        for spec in options.specs or real_time():
            for word, extra in databases(world, spec).items():
                tell(name, spec + word, measure(world, spec, extra, options.steps, options.budget))
        del world
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
