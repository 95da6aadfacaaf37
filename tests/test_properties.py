"""What is promised, whatever the world: optimal costs, bounds, honest reports; an independent library is the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import timebound as tb
from helpers import COMPILED, Case, any_cases, graph_cases, grid_cases, points
from naive.worlds import CARDINAL, reachable

FEW = settings(max_examples=20 if COMPILED else 10)
BUCKET = 0.15  # the width of a bucket of the open list, in straight steps over the cheapest ground
OPTIMAL = ("a*", "dijkstra")


def judged(case: Case) -> float:
    """The optimal cost by SciPy, from the naive world's own arcs."""
    number = {point: k for k, point in enumerate(case.twin.points())}
    arcs = [(number[here], number[step.target], step.length) for here in number for step in case.twin.successors(here)]
    source, target, length = zip(*arcs, strict=True) if arcs else ((), (), ())
    ends = (np.array(source, np.int32), np.array(target, np.int32))  # older SciPy takes no others
    matrix = csr_array((np.array(length, float), ends), shape=(len(number), len(number)))
    return float(dijkstra(matrix, indices=number[case.start])[number[case.goal]])


def rounding(case: Case, moves: int) -> float:
    """What integer costs may cost: on terrain an arc is off by at most 3 units, there and on the true optimum."""
    if isinstance(case.world, tb.Graph):
        return 2 * moves / case.twin.scale
    if getattr(case.twin, "terrain", False):
        least = min(value for row in case.twin.cells for value in row if value)
        return 2 * 3 * moves * least / CARDINAL
    return 0.0


@pytest.mark.parametrize("spec", OPTIMAL)
@given(case=st.one_of(grid_cases(side=14), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases()))
def test_optimal_cost_is_that_of_scipy(case: Case, spec: str) -> None:
    result = tb.solve(case.world, case.start, case.goal, spec)
    expected = judged(case)
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        states = len(case.twin.points())
        assert result.cost >= expected * (1 - 1e-9)
        assert result.cost <= expected * (1 + 1e-9) + rounding(case, states)


@given(case=grid_cases(kind="near"))
def test_whole_terrain_costs_on_four_directions_are_exact(case: Case) -> None:
    """Straight steps over whole costs are whole numbers of units: nothing is rounded there."""
    cells = np.ceil(np.where(np.isfinite(case.world.costs), case.world.costs, 0))
    world = tb.Grid(cells, connectivity=4)
    twin = type(case.twin)(cells.tolist(), connectivity=4)
    expected = judged(Case(world, twin, case.start, case.goal))
    result = tb.solve(world, case.start, case.goal, "a*")
    assert result.status == ("reached" if math.isfinite(expected) else "unreachable")
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-9)


@given(
    case=st.one_of(grid_cases(side=14), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases()),
    weight=st.sampled_from([1.0, 1.05, 1.2, 2.0, 5.0, 50.0]),
    reopen=st.booleans(),
)
def test_weighted_search_keeps_its_bound(case: Case, weight: float, reopen: bool) -> None:
    expected = judged(case)
    result = tb.solve(case.world, case.start, case.goal, f"wa*:weight={weight},reopen={reopen}")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        cells = getattr(case.twin, "cells", None)
        least = min(value for row in cells for value in row if value) if cells else 0.0
        # A search that opens states again owes nothing to the width of its buckets.
        slack = 0.0 if reopen else BUCKET * least
        assert result.cost <= weight * expected * (1 + 1e-9) + slack + rounding(case, len(case.twin.points()))


@pytest.mark.parametrize("spec", ["a*", "dijkstra", "gbfs", "wa*:weight=2", "wa*:weight=2,reopen=true"])
@given(case=any_cases())
@FEW
def test_every_result_can_be_replayed(case: Case, spec: str) -> None:
    result = tb.solve(case.world, case.start, case.goal, spec)
    goal = case.goal if result.status == "reached" else case.start
    replayed = tb.validate(case.world, result.path, start=case.start, goal=goal)
    assert replayed.cost == result.cost
    assert replayed.moves == result.moves == len(points(result.path)) - 1
    # The library's own word is not enough: the naive world must know every step too.
    for here, there in zip(points(result.path), points(result.path)[1:], strict=False):
        assert there in [step.target for step in case.twin.successors(here)]


@pytest.mark.parametrize("spec", ["a*", "dijkstra", "gbfs", "wa*:weight=2"])
@given(case=st.one_of(grid_cases(), grid_cases(kind="far"), graph_cases()))
@FEW
def test_unreachable_is_proved_by_the_whole_component(case: Case, spec: str) -> None:
    seen = reachable(case.twin, case.start)
    result = tb.solve(case.world, case.start, case.goal, spec)
    assert result.status == ("reached" if case.goal in seen else "unreachable")
    assert result.memory_states <= len(seen)
    if case.goal not in seen and spec in ("gbfs", "wa*:weight=2"):
        # Without reopening every state is expanded exactly once before the search gives up.
        assert result.expansions == result.memory_states == len(seen)
    if isinstance(case.world, tb.Graph) or case.world.buckets is False:
        # Exact order and a consistent estimate: no state is expanded twice.
        assert result.expansions <= len(seen)


@given(case=any_cases(), spec=st.sampled_from(["a*", "gbfs", "wa*:weight=2"]), budget=st.sampled_from([None, 2, 9]))
@FEW
def test_stepping_is_solving(case: Case, spec: str, budget: int | None) -> None:
    whole = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=budget)
    trail = [case.start]
    ticks = 0
    while not agent.done:
        assert agent.status == "active"
        place = agent.step()
        ticks += 1
        if place != trail[-1]:
            trail.append(place)
    assert [tuple(p) if isinstance(p, tuple) else p for p in trail] == points(whole.path)
    result = agent.result()
    assert (result.status, result.cost, result.moves) == (whole.status, whole.cost, whole.moves)
    assert result.expansions_per_move.tolist() == whole.expansions_per_move.tolist()
    assert ticks == result.moves + result.waits
    assert agent.step() == trail[-1]  # a step after the end changes nothing
    assert agent.moves == whole.moves
