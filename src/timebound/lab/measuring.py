"""What can be done with a problem, and what is measured of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..episode import Agent, optimum, solve, validate
from ..errors import ProblemError
from ..kernels.workspace import Pool
from ..result import Result
from ..scenarios import Problem
from ..worlds.abstraction import Abstraction
from ..worlds.changes import RandomChanges
from ..worlds.grid import Grid
from .columns import COLUMNS
from .experiment import Entry, Run, Setting, WorldSource

__all__ = ["KINDS", "measure", "measures_of"]

_editing = threading.Lock()
_LONGEST = 100_000  # ticks after which a walk through a changing world is given up


def measure(world: Any, problem: Problem, entry: Entry, setting: Setting, change_seed: int = 0) -> dict[str, Any]:
    """Run one problem and return its measures, flat."""
    changes = None
    if setting.change_rate is not None:
        changes = RandomChanges(setting.change_rate, every=setting.change_every, seed=change_seed)
    result = solve(
        world,
        problem.start,
        problem.goal,
        entry.spec,
        budget=entry.budget,
        commit=setting.commit,
        move_limit=setting.move_limit,
        optimal=problem.optimal,
        changes=changes,
        non_optimal=setting.non_optimal,
        database=entry.database,
    )
    return measures_of(result)


def _measures(result: Result) -> dict[str, Any]:
    """What a run is measured by. Nobody moves its goal or its agent."""
    return {name: value for name, value in result.to_dict(path=False).items() if name not in ("placed", "retargeted")}


def measures_of(result: Result) -> dict[str, Any]:
    """A result as one flat row: the numbers per move become their mean, median and maximum."""
    row = _measures(result)
    spent = result.expansions_per_move
    if len(spent) == 0:
        spent = np.zeros(1, np.int64)
    ticks = len(spent)
    # The two in the middle: np.median takes five times as long.
    spent = np.partition(spent, (ticks // 2, (ticks - 1) // 2))
    row["states_per_move_mean"] = int(spent.sum()) / ticks
    row["states_per_move_median"] = (int(spent[ticks // 2]) + int(spent[(ticks - 1) // 2])) / 2
    row["states_per_move_max"] = int(spent[ticks // 2 :].max())
    row["microseconds_per_move"] = result.planning_seconds / ticks * 1e6
    return row


def _walled(source: WorldSource, percent: float) -> Grid:
    """The grid with that share of its free cells blocked at random; a larger share blocks the same cells, and more."""
    grid = source.open()
    with _editing:
        return _walled_in(source, percent, grid)


@lru_cache(maxsize=4)
def _walled_in(source: WorldSource, percent: float, grid: Grid) -> Grid:
    edited = grid.copy()
    edited.block(grid.free & (np.random.default_rng(0).random(grid.shape) < percent / 100))
    return edited


def _episode(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    return measure(world, run.problem, entry, run.setting, run.number)


def _bounded(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode in a changing world that looks, after each change, at what Theorem 3 says about the path.

    ``bound_ratio`` is the worst cost of the path in force over w c* + (w - 1) d, both as the world is then, where d is
    the way walked since the search began (at the search's root d is 0, and this is the theorem); None if no path to the
    goal was ever in force.
    """
    grid = world.copy()
    assert run.setting.change_rate is not None
    changes = RandomChanges(run.setting.change_rate, every=run.setting.change_every, seed=run.number)
    changes.begin(grid)
    weight = float(entry.spec.parameters.get("weight", 1.0))
    agent = Agent(entry.spec, grid, run.problem.start, run.problem.goal, budget=entry.budget)
    worst, searches, root_cost = 0.0, 0, 0.0
    while agent.status in ("active", "unreachable") and agent.ticks < _LONGEST:
        before = agent.cost
        agent.run(1)
        restarts = agent.result().restarts
        if restarts != searches:
            searches, root_cost = restarts, before
        path = agent.ahead(likely=True)
        if len(path) and tuple(path[-1]) == agent.goal:
            rest = validate(grid, [agent.position, *map(tuple, path)]).cost
            best = optimum(grid, agent.position, agent.goal)
            assert best is not None  # there is a path
            worst = max(worst, rest / (weight * best + (weight - 1) * (agent.cost - root_cost)))
        if run.setting.change_every > 1:
            agent.run(run.setting.change_every - 1)
        if agent.status == "unreachable":
            agent.wait(run.setting.change_every)
        if agent.status in ("active", "unreachable"):
            changes.change(grid, [agent.position, agent.goal])
    result = agent.result(run.problem.optimal)
    measures = _measures(result)
    return {name: value for name, value in measures.items() if name in COLUMNS} | {"bound_ratio": worst or None}


def _with_heap(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode whose open list is a binary heap, as in most papers, instead of buckets."""
    return measure(_heaped(run.world), run.problem, entry, run.setting, run.number)


@lru_cache(maxsize=4)
def _heaped(source: WorldSource) -> Grid:
    grid = source.open().copy()
    grid.buckets, grid.spare = False, Pool()
    grid.view = grid.view._replace(shift=0)
    return grid


def _asked(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode of kNN LRTA*, with what its database answered and how many moves had more to do than to move.

    The answer is of the last query: ``record``, ``none``, or ``straight`` if the goal could be climbed to.
    """
    problem, limit = run.problem, run.setting.move_limit
    agent = Agent(
        entry.spec, world, problem.start, problem.goal,
        budget=entry.budget, move_limit=limit, database=entry.database,
    ).run()  # fmt: skip
    result = agent.result(problem.optimal)
    asking = int((result.expansions_per_move > 1).sum())
    return measures_of(result) | {"answer": agent.details()["answer"], "asking_moves": asking}


def _edited(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode on the map with cells blocked after the database was made, and the optimum as the map is now.

    A problem that has no way any more, or whose start or goal is in a wall, ends as ``unreachable``.
    """
    grid = _walled(run.world, run.blocked)
    start, goal = run.problem.start, run.problem.goal
    try:
        best = optimum(grid, start, goal)
    except ProblemError:
        best = None
    if best is None:
        return {"status": "unreachable", "optimal": None}
    return measure(grid, Problem(start, goal, best), entry, run.setting)


def _regions(world: Any, run: Run, entry: Entry) -> dict[str, Any]:
    """How many regions the map has at the level that an algorithm names; states, if it names none."""
    level = int(entry.spec.parameters.get("level", 0))
    return {"status": "reached", "regions": Abstraction.of(world).count(level)}


KINDS: dict[str, Callable[[Any, Run, Entry], dict[str, Any]]] = {
    "episode": _episode,
    "binary heap": _with_heap,
    "theorem 3": _bounded,
    "asked": _asked,
    "edited": _edited,
    "regions": _regions,
}
"""What can be done with a problem."""
