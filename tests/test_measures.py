"""What a result measures, beside what the words of its definition say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import distances
from helpers import (
    COMPILED,
    Case,
    grid_cases,
    points,
)

FEW = settings(max_examples=80 if COMPILED else 12)


def test_restarts_are_counted() -> None:
    """Eagerly, one for each tick that finds the world edited, however many the edits."""
    world = tb.Grid(np.ones((12, 12)))
    agent = tb.agent("rtb-wa*:restart=eager", world, (0, 0), (11, 11), budget=5)
    world.block((11, 0))  # before the first search
    agent.step()
    assert agent.result().restarts == 0
    for k in range(1, 5):
        world.block([(11, k), (10, k)])
        world.unblock((10, k))
        agent.step()
        agent.step()
        assert agent.result().restarts == k
    world.block((11, 4))  # a wall already
    assert agent.run().result().restarts == 4


@given(case=grid_cases(), budget=st.sampled_from([1, 2, 5]), spec=st.sampled_from(["tba*", "tb-wa*", "rtb-wa*", "a*"]))
@FEW
def test_back_moves_in_percent(case: Case, budget: int, spec: str) -> None:
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=budget).run()
    assert agent.result().back_moves_percent is None
    assert agent.result(3.0).back_moves_percent is None
    result = agent.result("compute")
    if result.status != "reached":
        return
    assert 0 <= result.astray <= result.back_moves <= result.moves
    to_goal = distances(case.twin, case.goal)
    trail = points(result.path)
    off = 0
    for here, there in itertools.pairwise(trail):
        cost = min(step.cost for step in case.twin.successors(here) if step.target == there)
        off += to_goal[here] != cost + to_goal[there]
    assert result.non_optimal_moves == off
    assert result.back_moves_percent == pytest.approx(100 * result.back_moves / max(off, 1))


def test_back_moves_in_percent_that_are_not_known() -> None:
    puzzle = tb.TilePuzzle(2, 3)
    result = tb.solve(puzzle, (1, 2, 5, 3, 4, 0), puzzle.solved, "tba*", budget=2, optimal="compute")
    assert result.status == "reached"
    assert result.optimal is not None
    assert result.non_optimal_moves is result.back_moves_percent is None


FEW = settings(max_examples=20 if COMPILED else 10)


@given(case=grid_cases())
@FEW
def test_measures_of_an_optimal_walk(case: Case) -> None:
    result = tb.solve(case.world, case.start, case.goal, "a*", optimal="compute")
    if result.status == "reached":
        assert result.suboptimality == 1.0
        assert result.non_optimal_moves == 0
        assert result.revisits == 0
        assert result.optimal == result.cost


def test_measures_of_a_walk_that_is_not_optimal() -> None:
    """Greedy search runs into the cup; the walk around it is not optimal, and the record says by how much."""
    cells = np.ones((7, 9))
    cells[1, 2:7] = cells[5, 2:7] = cells[1:6, 6] = 0
    result = tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal="compute")
    best = tb.solve(tb.Grid(cells), (3, 3), (3, 8), "a*").cost
    assert result.optimal == best
    assert result.suboptimality == pytest.approx(result.cost / best)
    assert (result.non_optimal_moves > 0) == (result.cost > best)
    assert tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs").suboptimality is None
    assert tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal=best / 2).suboptimality == pytest.approx(
        2 * result.cost / best
    )
    with pytest.raises(tb.SpecError, match="optimal is the optimal cost"):
        tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal="best")


def test_non_optimal_moves_with_estimates_from_a_mapping() -> None:
    """The reference search runs from the goal, without the vector for it."""
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False, heuristic={2: [2, 1, 0]})
    assert tb.solve(world, 0, 2, "a*", optimal="compute").non_optimal_moves == 0
