"""Crowds: what priority inheritance costs per unit and tick, and how many arrive, beside a plain wait rule.

Units follow shortest paths and get a new goal whenever they arrive. Who decides where each may go next is all that
differs between two rows. Times are of that alone, the median of all ticks. ``python benchmarks/crowds.py``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import timebound as tb
from timebound.kernels.climbing import uphill
from timebound.kernels.jit import kernel
from timebound.kernels.layout import INFINITE
from timebound.kernels.priority_inheritance import inherit, new_crowd, new_units, plain_wait, raise_priorities
from timebound.kernels.shortest_paths import distances, tree_from
from timebound.kernels.views import aim, degree, locate, successor
from timebound.kernels.workspace import Workspace

Goals = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""New goals for units at these places."""

RULES = ("inherit", "wait")
SEED = 1


@kernel
def wish_straight(world, units, n):
    """Everybody wants to go where the estimate says: right where there are no walls."""
    for i in range(n):
        s, goal = units.position[i], units.goal[i]
        units.wish[i] = s
        if s != goal:
            units.wish[i] = uphill(world, aim(world, goal), s, locate(world, s))[0]


@kernel
def wish_downhill(world, costs, row, units, n):
    """Everybody wants to take the next step of a shortest path: ``costs[row[goal]]`` are those to a goal."""
    for i in range(n):
        s = units.position[i]
        best = INFINITE
        units.wish[i] = s
        for way in range(degree(world, s)):
            t, c = successor(world, s, way)
            if c >= 0 and s != units.goal[i] and c + costs[row[units.goal[i]], t] < best:
                best = c + costs[row[units.goal[i]], t]
                units.wish[i] = t


@kernel
def apart(units, n, seen, tick):
    """Whether no two are in one cell after a tick, and no two have swapped. ``seen``: int64[states, 2], at first 0."""
    for i in range(n):
        seen[units.position[i], 0] = (tick + 1) << 32 | i
    for i in range(n):
        if seen[units.next[i], 1] == tick + 1:
            return False
        seen[units.next[i], 1] = tick + 1
        other = seen[units.next[i], 0]
        if other >> 32 == tick + 1 and other & 0xFFFFFFFF != i and units.next[other & 0xFFFFFFFF] == units.position[i]:
            return False
    return True


def all_costs(world: tb.Grid) -> tuple[np.ndarray, np.ndarray]:
    """The costs of all shortest paths, a row per free cell; and which row is whose."""
    cells = np.flatnonzero(world.free_by_state)
    costs, one = np.empty((len(cells), world.states), np.int32), np.empty(world.states, np.int64)
    row, workspace = np.zeros(world.states, np.int64), Workspace(world)
    for k, goal in enumerate(cells):
        distances(workspace.table, tree_from(world.view, workspace, int(goal)), one)
        costs[k], row[goal] = np.minimum(one, 1 << 30), k
    return costs, row


class March:
    """A crowd on its way, from goal to goal."""

    def __init__(self, world: tb.Grid, n: int, rule: str, goals: Goals) -> None:
        self.world, self.n, self.rule, self.goals = world, n, rule, goals
        self.random = np.random.default_rng(SEED)
        self.units, self.crowd = new_units(n), new_crowd(n)
        self.units.position[:] = self.random.permutation(np.flatnonzero(world.free_by_state))[:n]
        self.units.goal[:] = goals(self.units.position, self.random)
        self.seen = np.zeros((world.states, 2), np.int64)
        self.nanoseconds: list[int] = []
        self.arrivals: list[int] = []
        self.arrived = np.zeros(n, bool)

    def tick(self) -> None:
        """Wishes are there; decide, look whether all is well, move, and give new goals to those who arrive."""
        units, n, tick = self.units, self.n, len(self.arrivals)
        before = time.perf_counter_ns()
        if self.rule == "inherit":
            inherit(self.world.view, self.crowd, units, n, tick, SEED, False)
        else:
            plain_wait(self.world.view, self.crowd, units, n, False)
        between = time.perf_counter_ns()
        if not apart(units, n, self.seen, tick):
            raise AssertionError(f"two in one cell, or a swap, in tick {tick}")
        units.position[:] = units.next
        there = np.flatnonzero(units.position == units.goal)
        after = time.perf_counter_ns()
        raise_priorities(units, n)
        self.nanoseconds.append(between - before + time.perf_counter_ns() - after)
        self.arrivals.append(len(there))
        self.arrived[there] = True
        units.goal[there] = self.goals(units.position[there], self.random)


def times(side: int, n: int, ticks: int) -> list[dict[str, Any]]:
    """A tick of each rule on a map without walls, where everybody wants straight to a goal drawn at random."""
    world = tb.Grid(np.ones((side, side), bool))
    marches = [March(world, n, rule, anywhere(world)) for rule in RULES]
    for _ in range(ticks):  # in turn, so that a slow moment of the machine hits both
        for march in marches:
            wish_straight(world.view, march.units, n)
            march.tick()
    return [
        {
            "map": f"{side} x {side}",
            "units": n,
            "rule": march.rule,
            "ns": median(march.nanoseconds[ticks // 10 :]) / n,
            "ns_p99": float(np.percentile(march.nanoseconds[ticks // 10 :], 99)) / n,
            "arrivals": sum(march.arrivals) / ticks,
        }
        for march in marches
    ]


def door(side: int, corners: str) -> tb.Grid:
    """Two rooms, and a door of one cell between them."""
    free = np.ones((side, 2 * side + 1), bool)
    free[:, side] = False
    free[side // 2, side] = True
    return tb.Grid(free, corners=corners)


def through(world: tb.Grid) -> Goals:
    """Goals in the other room."""
    cells = np.flatnonzero(world.free_by_state)
    column = cells % world.view.width - 1
    left, right = cells[column < world.shape[1] // 2], cells[column > world.shape[1] // 2]

    def other_room(at: np.ndarray, random: np.random.Generator) -> np.ndarray:
        from_left = at % world.view.width - 1 < world.shape[1] // 2
        return np.where(
            from_left, right[random.integers(len(right), size=len(at))], left[random.integers(len(left), size=len(at))]
        )

    return other_room


def anywhere(world: tb.Grid) -> Goals:
    """Goals anywhere."""
    cells = np.flatnonzero(world.free_by_state)
    return lambda at, random: cells[random.integers(len(cells), size=len(at))]


def throughput(name: str, world: tb.Grid, goals: Goals, n: int, ticks: int) -> list[dict[str, Any]]:
    """How many arrive per tick under each rule, in all ticks and in the last tenth of them."""
    costs, row = all_costs(world)
    found = []
    for rule in RULES:
        march = March(world, n, rule, goals)
        for _ in range(ticks):
            wish_downhill(world.view, costs, row, march.units, n)
            march.tick()
        late = march.arrivals[-(ticks // 10) :]
        found.append(
            {
                "map": name,
                "units": n,
                "rule": rule,
                "ns": median(march.nanoseconds) / n,
                "arrivals": sum(march.arrivals) / ticks,
                "late": sum(late) / len(late),
                "never": int(n - march.arrived.sum()),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ticks", type=int, default=10_000, help="of each crowd at the door and in the mazes")
    parser.add_argument("--units", type=int, default=1000, help="there")
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    rows = []
    print(f"{'map':<34}  units  rule      ns/unit    p99  arrivals/tick  at the end  never")

    def tell(found: list[dict[str, Any]]) -> None:
        for one in found:
            p99, late = (f"{one[key]:.{digits}f}" if key in one else "" for key, digits in (("ns_p99", 0), ("late", 3)))
            print(
                f"{one['map']:<34}{one['units']:>7}  {one['rule']:<8}{one['ns']:>9.1f}{p99:>7}{one['arrivals']:>15.3f}"
                f"{late:>12}{one.get('never', ''):>7}",
                flush=True,
            )
        rows.extend(found)

    for side, n, ticks in ((512, 100, 5000), (512, 1000, 2000), (512, 10_000, 500), (128, 10_000, 500)):
        tell(times(side, n, ticks))
    for corners in ("one", "never"):
        world = door(41, corners)
        tell(throughput(f"door, corners={corners}", world, through(world), options.units, options.ticks))
    for corridor, n in ((2, options.units), (1, options.units), (1, options.units // 10)):
        world = tb.Grid(tb.generate.maze((70, 70), corridor, seed=SEED))
        tell(throughput(f"maze, corridors {corridor} wide", world, anywhere(world), n, options.ticks))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
