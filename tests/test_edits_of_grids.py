"""Edits of grids: an edited grid is the grid built anew."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, CORNERS, Case, grid_cases
from naive.worlds import NaiveGrid

Arc = tuple[tuple[int, int], tuple[int, int]]


def arcs(cells: np.ndarray, **rules) -> dict[Arc, float]:
    """Every legal step and its cost, by the naive grid."""
    twin = NaiveGrid(np.where(np.isfinite(cells), cells, 0).tolist(), **rules)
    return {(here, step.target): step.length for here in twin.points() for step in twin.successors(here)}


def expected_changes(before: dict[Arc, float], after: dict[Arc, float]) -> set[tuple[object, object, int]]:
    """(from, to, +1 or -1) for every step that differs; a step that is not there costs infinity."""
    found = set()
    for here, there in before.keys() | after.keys():
        old, new = (costs.get((here, there), math.inf) for costs in (before, after))
        if old != new:
            found.add((here, there, 1 if new > old else -1))
    return found


@given(data=st.data(), terrain=st.booleans())
@settings(max_examples=40 if COMPILED else 8)
def test_an_edited_grid_is_the_grid_built_anew(data: st.DataObject, terrain: bool) -> None:
    rows, cols = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 6))
    rules = {
        "connectivity": data.draw(st.sampled_from([4, 8])),
        "corners": data.draw(st.sampled_from(CORNERS)),
    }
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    cells = random.choice([0, 1, 2, 5] if terrain else [0, 1], (rows, cols)).astype(float)
    cells[0, 0] = 2 if terrain else 1
    world = tb.Grid(cells, **rules)
    given_costs = np.where(cells > 0, cells, 1.0)
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["block", "unblock", "set_cost"] if terrain else ["block", "unblock"]))
        mask = random.random((rows, cols)) < 0.3
        where = [tuple(int(k) for k in point) for point in np.argwhere(mask)]
        form = data.draw(st.sampled_from(["mask", "list", "point"]))
        if form == "point" or (kind == "set_cost" and where):
            where = [(int(random.integers(rows)), int(random.integers(cols)))]
        before, mark, stamp = world.costs, world.changes.count, world.view.edited[0]
        # Blocked cells remember their cost, so what matters is the cost of each cell and whether it is free.
        free = world.free.copy()
        argument = mask if form == "mask" and kind != "set_cost" else where[0] if len(where) == 1 else where
        touched = set(where) if argument is not mask else {tuple(p) for p in np.argwhere(mask).tolist()}
        if kind == "set_cost":
            cost = float(random.choice([1, 1.5, 3, 7]))
            changed = world.set_cost(argument, cost) if where else 0
            assert changed == sum(given_costs[p] != cost for p in touched if where) or not free[where[0]]
            for point in where:
                given_costs[point] = cost
        else:
            value = kind == "unblock"
            changed = world.block(argument) if kind == "block" else world.unblock(argument)
            assert changed == sum(bool(free[point]) != value for point in touched)
            for point in touched:
                free[point] = value
        now = np.where(free, given_costs if terrain else 1.0, np.inf)
        assert np.array_equal(world.costs, now)
        # The legal moves are exactly those of a new grid, byte by byte.
        fresh = tb.Grid(np.where(free, 1, 0), **rules)
        assert np.array_equal(world.view.moves, fresh.view.moves)
        log = world.changes.since(mark)
        expected = expected_changes(arcs(before, **rules), arcs(now, **rules))
        assert set(log) == expected
        assert len(log) == len(expected), "an arc is logged twice"
        if not changed:
            assert world.view.edited[0] == stamp
            assert log == []


@given(case=grid_cases(kind="near"), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20 if COMPILED else 10)
def test_searches_after_edits_are_searches_in_the_new_world(case: Case, seed: int) -> None:
    """Costs too, below the cheapest and above the dearest there were: the estimate must follow."""
    random = np.random.default_rng(seed)
    tb.solve(case.world, case.start, case.goal)
    mask = random.random(case.world.shape) < 0.3
    mask[case.start] = mask[case.goal] = False
    case.world.block(mask)
    some = [tuple(int(k) for k in p) for p in np.argwhere(random.random(case.world.shape) < 0.3)]
    case.world.set_cost(some, random.choice([0.25, 0.5, 20.0], len(some)))
    fresh = tb.Grid(case.world.costs, **case.world.rules)
    edited, anew = (tb.solve(world, case.start, case.goal) for world in (case.world, fresh))
    assert edited.status == anew.status
    assert edited.cost == pytest.approx(anew.cost, rel=1e-3)


def test_cheaper_ground_lowers_the_estimate() -> None:
    """A road far from the straight line: an estimate that still believed the old costs would never look there."""
    cells = np.full((5, 9), 10.0)
    cells[2, 2] = 9.0  # not all the same, or it would be no terrain
    world = tb.Grid(cells, connectivity=4)
    assert tb.solve(world, (0, 0), (0, 8)).cost == 80.0
    road = [(4, col) for col in range(9)]
    assert world.set_cost(road, 0.125) == 9
    # Three steps of 10 and one onto the road, eight along it, and back.
    assert tb.solve(world, (0, 0), (0, 8)).cost == pytest.approx(2 * (30 + (10 + 0.125) / 2) + 8 * 0.125)


def test_an_edit_that_changes_nothing_costs_nothing() -> None:
    world = tb.Grid([[1, 2, 0]])
    agent = tb.agent("a*", world, (0, 0), (0, 1), budget=1)
    assert world.block((0, 2)) == world.unblock((0, 1)) == world.set_cost((0, 1), 2) == world.block([]) == 0
    assert world.changes.count == 0
    assert int(world.view.edited[0]) == 0
    assert agent.run().status == "reached"


def test_cells_given_twice_count_once() -> None:
    world = tb.Grid(np.ones((3, 3)))
    assert world.block([(1, 1), (1, 1)]) == 1
    assert world.unblock([(1, 1), (1, 1), (0, 0)]) == 1


@pytest.mark.parametrize(
    ("edit", "kind", "sentence"),
    [
        (lambda w: w.block((9, 0)), tb.ProblemError, r"the cell \(9, 0\) is off the map of 2 rows and 2 columns"),
        (lambda w: w.block([(0, 0), (0, -1)]), tb.ProblemError, r"the cell \(0, -1\) is off the map"),
        (lambda w: w.block([(0, 0.5)]), tb.ProblemError, "two whole numbers"),
        (lambda w: w.block(np.ones((3, 3), bool)), tb.WorldError, r"the mask has shape \(3, 3\), the grid \(2, 2\)"),
        (lambda w: w.block(np.where(np.eye(2) > 0)), tb.ProblemError, r"all columns: take np.argwhere\(mask\)"),
        (lambda w: w.is_free((np.array([0]), np.array([1]))), tb.ProblemError, r"take np.argwhere\(mask\)"),
        (lambda w: w.set_cost((0, 0), 0), tb.WorldError, r"a cost must be a positive number, not 0.0; use block\(\)"),
        (lambda w: w.set_cost((0, 0), math.inf), tb.WorldError, "a cost must be a positive number"),
        (lambda w: w.set_cost((0, 0), math.nan), tb.WorldError, "a cost must be a positive number"),
        (lambda w: w.set_cost((0, 0), 1e12), tb.WorldError, "on this grid costs must lie between"),
        (lambda w: w.set_cost((0, 0), 1e-9), tb.WorldError, "on this grid costs must lie between"),
    ],
)
def test_edits_that_cannot_be(edit, kind, sentence: str) -> None:
    world = tb.Grid([[1, 2], [3, 4]])
    with pytest.raises(kind, match=sentence):
        edit(world)
    assert world.changes.count == 0
    assert world.costs.tolist() == [[1, 2], [3, 4]]


def test_a_mask_of_numbers_is_no_mask() -> None:
    with pytest.raises(tb.WorldError, match="a mask of cells is boolean"):
        tb.Grid(np.ones((2, 3))).block(np.ones((2, 3), int))


def test_a_plain_grid_has_no_costs_to_set() -> None:
    with pytest.raises(tb.WorldError, match="terrain=True"):
        tb.Grid([[1, 1]]).set_cost((0, 0), 2)


def test_new_ground_counts_towards_the_longest_path() -> None:
    """What a cost may be at most follows from how long a path can get, and unblocking makes longer ones."""
    world = tb.Grid(np.array([[1, 2.0] + [0] * 1998]))
    everywhere = np.ones((1, 2000), bool)
    world.unblock(everywhere)
    with pytest.raises(tb.WorldError, match="costs must lie between"):
        world.set_cost(everywhere, 3e5)


def test_a_uniform_terrain_can_be_given_costs_later() -> None:
    world = tb.Grid(np.ones((3, 3)), terrain=True)
    assert tb.solve(world, (1, 0), (1, 2)).cost == 2.0
    assert world.set_cost((1, 1), 9.0) == 1
    assert tb.solve(world, (1, 0), (1, 2)).cost == pytest.approx(2 * math.sqrt(2))
    mask = np.zeros((3, 3), bool)
    mask[0] = True
    assert world.set_cost(mask, np.full((3, 3), 5.0)) == 3
    with pytest.raises(tb.WorldError, match="3 cells need one cost or 3 costs"):
        world.set_cost(mask, [1.0, 2.0])


def test_one_dear_cell_does_not_coarsen_the_others() -> None:
    costs = np.ones((64, 64))
    costs[63, 63] = 4e6
    assert tb.solve(tb.Grid(costs), (0, 0), (0, 40)).cost == 40.0
    with pytest.raises(tb.WorldError, match="too far apart"):
        tb.Grid(np.array([[1.0, 1e12]]))


NO_CELLS = (
    None, 5, 1.5, "ab", "", b"", b"ab", object(), math.nan, [None], [[0, 0], [1]], [[0.5, 0]], [[math.nan, 0]],
    [[0, math.inf]], [[10**30, 0]], [10**5000, 0], [[10**5000, 0]], [["0", "1"]], [[1j, 0]], [np.complex64(1), 0],
    np.zeros((2, 2, 2), int), np.zeros(3, int), np.zeros((2, 3), "M8[D]"), [-1, 0], [[0, 3]], np.ones((3, 3), bool),
    itertools.count(), {"a": 1},
)  # fmt: skip
NO_COSTS = (None, "2", math.nan, math.inf, 0, -1, 1j, 10**400, [1, 2], [[1], [1, 2]], [None], np.zeros(2, "M8[D]"))


def test_edits_of_what_are_no_cells() -> None:
    world = tb.Grid([[1, 1, 2], [1, 1, 1]])
    before = world.digest
    for wrong in NO_CELLS:
        for edit in (world.block, world.unblock, lambda cells: world.set_cost(cells, 2.0)):
            with pytest.raises((tb.WorldError, tb.ProblemError)) as caught:
                edit(wrong)
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 300
    for wrong in NO_COSTS:
        with pytest.raises(tb.WorldError):
            world.set_cost((0, 0), wrong)
    assert world.digest == before
    # Any collection of points will do.
    assert world.block({(0, 0)}) == 1
    assert world.block(iter([(0, 0), np.array([0, 1])])) == 1
    assert world.block([]) == 0
