"""A chase: the goal walks away every third tick, along its own walk. Agents that are told, against agents made anew.

    python benchmarks/chase.py [--side 256] [--chases 20] [--budget 30] [SPEC ...]

Both see the same goals on the same generated caves. Told are microseconds per tick, with everything that Python does
for a step and for a new goal or a new agent; states expanded per tick; and ticks until the goal is caught, which walks
a third as fast. Chases that are not over after --ticks count as that many. Each chase is made once to warm up what
there is to warm, then in turns, and the better of the times counts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import timebound as tb

SPECS = ("tb-wa*", "tba*", "lrta*", "k-lrta*", "knn-lrta*")
PAUSE = 3  # ticks between two steps of the goal


class Chase(NamedTuple):
    """Where the agent begins, and where the goal is, step by step."""

    start: Any
    walk: list[Any]


class Told(NamedTuple):
    """What became of a chase."""

    seconds: float
    ticks: int
    expansions: int
    caught: bool


def chases(world: tb.Grid, count: int, steps: int, seed: int) -> list[Chase]:
    """Goals that walk from place to place, far from where the agents begin."""
    made = []
    side = world.shape[0]
    for problem in tb.problems(world, count, seed=seed, cost=(side / 2, 2 * side)):
        random, walk = np.random.default_rng([seed, len(made)]), [problem.goal]
        while len(walk) < steps:
            place = world.point_of(int(world.random_states(1, random)[0]))
            walk += [tuple(point) for point in tb.solve(world, walk[-1], place, "a*").path.tolist()[1:]]
        made.append(Chase(problem.start, walk))
    return made


def run(world: tb.Grid, chase: Chase, spec: str, budget: int, ticks: int, anew: bool, database: Any) -> Told:
    """One chase, by an agent that is told of new goals, or by new agents."""
    options = {"budget": budget, **({"database": database} if database is not None else {})}
    began = time.perf_counter()
    agent = tb.agent(spec, world, chase.start, chase.walk[0], **options)
    spent = passed = 0
    for goal in chase.walk[1:]:
        if passed >= ticks or agent.done:
            break
        if anew:
            spent += agent.expansions
            agent = tb.agent(spec, world, agent.position, goal, **options)
        else:
            agent.retarget(goal)
        before = agent.ticks
        for _ in range(PAUSE):
            agent.step()
        passed += agent.ticks - before
    seconds = time.perf_counter() - began
    return Told(seconds, max(passed, 1), spent + agent.expansions, agent.status == "reached")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("specs", nargs="*", default=SPECS)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--chases", type=int, default=20)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--ticks", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    world = tb.Grid(tb.generate.caves((given.side, given.side), seed=1))
    made = chases(world, given.chases, given.ticks // PAUSE + 2, seed=1)
    print(f"{given.side} x {given.side} caves, {len(made)} chases, budget {given.budget}")
    print(f"{'':14}{'us per tick':>22}{'states per tick':>22}{'ticks to catch':>22}{'caught':>14}")
    print(f"{'':14}" + f"{'told':>11}{'anew':>11}" * 3 + f"{'told':>7}{'anew':>7}")
    for spec in given.specs:
        database = tb.prepare(world, None, records=500, coverage=True, seed=1) if spec.startswith("knn") else None
        sums = {}
        for anew in (False, True):
            run(world, made[0], spec, given.budget, 30, anew, database)
        for chase in made:
            best: dict[bool, Told] = {}
            for _ in range(given.repeats):
                for anew in (False, True):
                    told = run(world, chase, spec, given.budget, given.ticks, anew, database)
                    best[anew] = min(told, best.get(anew, told))
            for anew, told in best.items():
                old = sums.get(anew, (0.0, 0, 0, 0))
                sums[anew] = tuple(map(sum, zip(old, told, strict=True)))
        cells = [
            [sums[anew][0] / sums[anew][1] * 1e6 for anew in (False, True)],
            [sums[anew][2] / sums[anew][1] for anew in (False, True)],
            [sums[anew][1] / len(made) for anew in (False, True)],
        ]
        text = "".join(f"{a:11.1f}{b:11.1f}" for a, b in cells)
        print(f"{spec:14}{text}{sums[False][3]:7}{sums[True][3]:7}", flush=True)


if __name__ == "__main__":
    main()
