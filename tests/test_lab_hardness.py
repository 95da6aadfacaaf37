"""Problems as hard as a paper's: spread as wanted, none harder, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from small_lab import WORLD
from timebound.lab.experiment import Sweep, plan
from timebound.lab.hardness import as_hard_as, nearest_to

SIDE, COUNT = (96, 20) if COMPILED else (20, 6)


def difficulties(world: tb.Grid, problems: list[tb.Problem]) -> list[float]:
    results = [tb.solve(world, problem.start, problem.goal, "a*") for problem in problems]
    assert [result.cost for result in results] == [problem.optimal for problem in problems]
    return sorted(result.expansions / result.moves for result in results)


def test_they_are_spread_as_wanted() -> None:
    world = tb.Grid(tb.generate.rooms((SIDE, SIDE), room=SIDE // 4, seed=2))
    cost = (SIDE / 4, SIDE)
    as_they_come = difficulties(world, list(tb.problems(world, 4 * COUNT, seed=1, cost=cost)))
    wanted = [as_they_come[0], *np.quantile(as_they_come, (0.2, 0.5)), as_they_come[-len(as_they_come) // 4]]
    drawn = as_hard_as(world, COUNT, wanted, seed=3, cost=cost)
    found = difficulties(world, drawn)
    assert len({(problem.start, problem.goal) for problem in drawn}) == COUNT
    assert max(found) <= wanted[-1]
    assert all(cost[0] <= problem.optimal <= cost[1] for problem in drawn)
    middle = np.interp((np.arange(COUNT) + 0.5) / COUNT, np.linspace(0, 1, 4), wanted).mean()
    assert np.mean(found) == pytest.approx(middle, rel=0.1 if COMPILED else 0.25)
    assert np.mean(found) < np.mean(as_they_come)
    assert as_hard_as(world, COUNT, wanted, seed=3, cost=cost) == drawn
    assert as_hard_as(world, COUNT, wanted, seed=4, cost=cost) != drawn


def test_where_such_problems_are_rare() -> None:
    """What comes nearest has to do, but nothing that is harder than the hardest."""
    world = tb.Grid(tb.generate.rooms((20, 20), room=5, seed=1))
    easy = as_hard_as(world, 4, (0.1, 0.2, 1000.0))
    assert len(easy) == 4
    with pytest.raises(tb.WorldError, match="at most 0\\.5, not 4"):
        as_hard_as(world, 4, (0.1, 0.5))


@pytest.mark.once
def test_nearest_to() -> None:
    assert nearest_to([5.0, 5.0, 5.0], [1.0, 6.0, 4.5, 9.0]) == [2, 1, 0]
    assert nearest_to([0.0, 100.0], [3.0, 2.0]) == [1, 0]


def test_a_sweep_asks_for_them() -> None:
    keys: list[str] = []

    def remembered(key: str, draw: Callable[[], Any]) -> Any:
        keys.append(key)
        return draw()

    sweep = Sweep("hard", (WORLD,), ("a*",), problems=3, difficulty=(1.0, 2.0, 30.0))
    runs = list(plan(sweep, remembered))
    assert [run.problem for run in runs] == as_hard_as(WORLD.open(), 3, sweep.difficulty)
    list(plan(Sweep("any", (WORLD,), ("a*",), problems=3), remembered))
    list(plan(Sweep("harder", (WORLD,), ("a*",), problems=3, difficulty=(1.0, 3.0, 30.0)), remembered))
    assert len(set(keys)) == 3
