"""The complete searches against the naive ones: the same path, cost, expansions and states, on every kind of world."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, EVALUATIONS, Case, any_cases, graph_cases, grid_cases, points, puzzle_cases
from naive.best_first import best_first
from naive.ida_star import ida_star
from naive.worlds import NaiveGrid, NaivePuzzle, path_length

FEW = settings(max_examples=20 if COMPILED else 8)


def check_twin(case: Case, spec: str) -> None:
    expected = best_first(case.twin, case.start, case.goal, *EVALUATIONS[spec])
    result = tb.solve(case.world, case.start, case.goal, spec)
    assert result.expansions == expected.expansions
    assert result.memory_states == expected.states
    if expected.path is None:
        assert result.status == "unreachable"
        assert points(result.path) == [case.start]
        return
    assert result.status == "reached"
    assert points(result.path) == expected.path
    assert result.cost == pytest.approx(path_length(case.twin, expected.path), rel=1e-12)


@pytest.mark.parametrize("spec", EVALUATIONS)
@given(case=grid_cases())
def test_grid(case: Case, spec: str) -> None:
    check_twin(case, spec)


@pytest.mark.parametrize("spec", EVALUATIONS)
@given(case=st.one_of(grid_cases(kind="near"), grid_cases(kind="far")))
def test_terrain(case: Case, spec: str) -> None:
    check_twin(case, spec)


@given(near=grid_cases(kind="near"), far=grid_cases(kind="far"))
@settings(max_examples=5)
def test_cases_cover_both_queues(near: Case, far: Case) -> None:
    """Otherwise the tests above would miss one of the two open lists on terrain without a word."""
    assert near.world.buckets
    assert not far.world.buckets


@pytest.mark.parametrize("spec", EVALUATIONS)
@given(case=graph_cases())
def test_graph(case: Case, spec: str) -> None:
    check_twin(case, spec)


@pytest.mark.parametrize("spec", EVALUATIONS)
@given(case=puzzle_cases())
@FEW
def test_puzzle(case: Case, spec: str) -> None:
    check_twin(case, spec)


@pytest.mark.parametrize("spec", EVALUATIONS)
@pytest.mark.parametrize("seed", range(3 if COMPILED else 1))
@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_larger_maps(kind: str, seed: int, spec: str) -> None:
    """Maps with structure, on which open lists grow and states are reached many times."""
    side = 40 if COMPILED else 12
    free = tb.generate.GENERATORS[kind]((side, side), seed=seed)
    world = tb.Grid(free)
    for problem in tb.problems(world, 2, seed=seed):
        check_twin(Case(world, NaiveGrid(free.tolist()), problem.start, problem.goal), spec)


def test_a_hard_puzzle_makes_the_tables_grow() -> None:
    """Sixteen thousand states are the room a puzzle begins with; this board needs more."""
    world = tb.TilePuzzle(3, 3)
    start = (8, 7, 6, 5, 4, 3, 2, 1, 0) if COMPILED else (1, 4, 2, 3, 7, 5, 6, 0, 8)
    assert world.solvable(start)
    case = Case(world, NaivePuzzle(3, 3), start, world.solved)
    check_twin(case, "dijkstra" if COMPILED else "a*")
    if COMPILED:
        assert tb.solve(world, start, world.solved, "dijkstra").memory_states > 1 << 14


@pytest.mark.parametrize("spec", EVALUATIONS)
@given(case=st.one_of(*(grid_cases(kind=kind) for kind in ("plain", "near", "far"))))
@FEW
def test_a_grid_and_its_graph_take_the_same_steps(case: Case, spec: str) -> None:
    on_grid = tb.solve(case.world, case.start, case.goal, spec)
    on_graph = tb.solve(case.world.to_graph(), case.start, case.goal, spec)
    assert points(on_graph.path) == points(on_grid.path)
    assert on_graph.status == on_grid.status
    assert on_graph.expansions == on_grid.expansions
    assert on_graph.memory_states == on_grid.memory_states
    assert on_graph.cost == on_grid.cost


@given(case=st.one_of(grid_cases(side=4), grid_cases(side=4, kind="near"), graph_cases(nodes=6)))
def test_ida_star(case: Case) -> None:
    check_ida_star(case)


@given(case=puzzle_cases(moves=18))
@FEW
def test_ida_star_on_puzzles(case: Case) -> None:
    check_ida_star(case)


def check_ida_star(case: Case) -> None:
    expected = ida_star(case.twin, case.start, case.goal)
    result = tb.solve(case.world, case.start, case.goal, "ida*")
    assert result.expansions == expected.expansions
    assert result.memory_states == expected.deepest
    assert result.status == ("reached" if expected.path else "unreachable")
    assert points(result.path) == (expected.path or [case.start])


@pytest.mark.parametrize("spec", ["a*", "dijkstra", "gbfs", "wa*:weight=1.5", "wa*:weight=3,reopen=true"])
@given(case=any_cases())
@settings(max_examples=25 if COMPILED else 5)
def test_slices(case: Case, spec: str) -> None:
    """However a search is cut into ticks, it is the same search."""
    check_slices(case, spec)


@given(case=st.one_of(grid_cases(side=4), puzzle_cases(moves=12)))
@FEW
def test_ida_star_slices(case: Case) -> None:
    check_slices(case, "ida*")


def check_slices(case: Case, spec: str) -> None:
    whole = tb.solve(case.world, case.start, case.goal, spec)
    for budget in (1, 3, 7, 100):
        sliced = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
        assert sliced.status == whole.status
        assert points(sliced.path) == points(whole.path)
        assert sliced.expansions == whole.expansions
        assert sliced.memory_states == whole.memory_states
        assert sliced.expansions_per_move.max() <= budget
        assert sliced.expansions_per_move.sum() == whole.expansions
        assert len(sliced.expansions_per_move) == sliced.moves + sliced.waits
        # A search that may expand never wastes its tick: all but the last are full, up to skipped entries.
        if whole.expansions > budget:
            assert sliced.first_move_lag >= 1 or sliced.status == "unreachable"
