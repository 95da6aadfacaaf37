"""Grids: what makes one, what does not, and the sentence that says why."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import SQRT2, points


@pytest.mark.parametrize(
    "cells",
    [
        np.array([[True, False, True]]),
        np.array([[1, 0, 1]], np.uint8),
        np.array([[1, 0, 1]], np.int64),
        np.array([[1.0, 0.0, 1.0]], np.float32),
        np.array([[1.0, np.inf, 1.0]]),
        [[1, 0, 1]],
    ],
)
def test_walls_in_every_kind_of_array(cells) -> None:
    world = tb.Grid(cells)
    assert world.free.tolist() == [[True, False, True]]
    assert world.costs.tolist() == [[1.0, math.inf, 1.0]]
    assert world.free_count == 2
    assert world.shape == (1, 3)
    assert repr(world) == "<Grid 1 x 3, 2 free cells>"


def test_terrain_costs_are_kept() -> None:
    world = tb.Grid([[1, 2, 0], [3, 4.5, np.inf]])
    assert world.costs.tolist() == [[1, 2, math.inf], [3, 4.5, math.inf]]
    assert "terrain" in repr(world)
    # Length times the mean of the two cells.
    assert tb.validate(world, [(0, 0), (0, 1)]).cost == 1.5
    assert tb.validate(world, [(0, 0), (1, 1)]).cost == pytest.approx(SQRT2 * 2.75)


@pytest.mark.parametrize(
    ("cells", "options", "sentence"),
    [
        ([1, 1], {}, r"a grid needs a 2-d array with at least one cell, not one of shape \(2,\)"),
        (np.ones((0, 3)), {}, r"not one of shape \(0, 3\)"),
        ([["a", "b"]], {}, "a grid needs an array of booleans or numbers, not of <U1"),
        ([[1, math.nan]], {}, r"the cost at \(0, 1\) is nan; costs are positive numbers, 0 or infinity"),
        ([[1.0], [-2.0]], {}, r"the cost at \(1, 0\) is -2.0"),
        ([[1], [-2]], {}, r"the cost at \(1, 0\) is -2"),
        ([[1, 1]], {"connectivity": 6}, "connectivity is 4 or 8, not 6"),
        ([[1, 1]], {"corners": "some"}, "corners is 'never', 'one' or 'always', not 'some'"),
        ([[1, 1]], {"diagonal": 0.5}, "the diagonal cost must be from 1 to 100 straight steps, not 0.5"),
        ([[1, 1]], {"diagonal": math.nan}, "the diagonal cost must be from 1"),
        ([[1e-9, 1e9]], {}, "terrain costs from 1e-09 to 1e.09 are too far apart"),
    ],
)
def test_what_is_no_grid(cells, options, sentence: str) -> None:
    with pytest.raises(tb.WorldError, match=sentence):
        tb.Grid(cells, **options)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("x.map", r"Grid.load\(file\) opens the file 'x.map'"),
        (Path("maps/x.map"), r"Grid.load\(file\)"),
        ("x.PNG", r"Grid.from_image\(file\)"),
        ("x.yaml", r"Grid.from_ros\(file\)"),
        ("x.npy", r"numpy.load\(file\)"),
    ],
)
def test_a_file_name_in_place_of_an_array_is_told_the_way(given, hint: str) -> None:
    with pytest.raises(tb.WorldError, match=f"a grid is made from an array; {hint}"):
        tb.Grid(given)


def test_masked_arrays_are_refused_everywhere() -> None:
    masked = np.ma.masked_array([[1, 1], [1, 1]], mask=[[0, 1], [0, 0]])
    world = tb.Grid([[1, 2], [1, 1]])
    for call in (
        lambda: tb.Grid(masked),
        lambda: tb.Grid.from_occupancy(masked),
        lambda: world.block(masked),
        lambda: world.unblock(masked == 1),
        lambda: world.set_cost([(0, 0)], masked[:, 0]),
        lambda: tb.Graph(masked[0], [0, 1]),
        lambda: tb.Graph([0], [1], masked[0, :1]),
        lambda: tb.Graph([0], [1], coordinates=masked),
    ):
        with pytest.raises(tb.WorldError, match=r"masked array.*array.filled"):
            call()


def test_what_looks_at_a_grid_cannot_be_written_to() -> None:
    for world in (tb.Grid([[1, 1], [0, 1]]), tb.Grid([[1, 2], [0, 3]])):
        for array in (world.free, world.costs):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 0
        copy = world.free.copy()
        copy[0, 0] = False
        assert world.free[0, 0]


@pytest.mark.parametrize(
    ("start", "goal", "sentence"),
    [
        ((0, 1), (0, 0), r"the start \(0, 1\) is in a wall"),
        ((5, 0), (0, 0), r"the start \(5, 0\) is off the map of 2 rows and 3 columns"),
        ((0, 0), (0, -1), r"the goal \(0, -1\) is off the map"),
        ((0.5, 0), (0, 0), r"the start must be two whole numbers \(row, col\), not \(0.5, 0\)"),
        ((0,), (0, 0), "the start must be two whole numbers"),
        ((0, 0, 0), (0, 0), "the start must be two whole numbers"),
        ("ab", (0, 0), "the start must be two whole numbers"),
        ("00", (0, 0), "the start must be two whole numbers"),
        (7, (0, 0), "the start must be two whole numbers"),
        ((math.nan, 0), (0, 0), "the start must be two whole numbers"),
        ((math.inf, 0), (0, 0), "the start must be two whole numbers"),
        (None, (0, 0), "the start must be two whole numbers"),
    ],
)
def test_where_no_agent_can_be(start, goal, sentence: str) -> None:
    with pytest.raises(tb.ProblemError, match=sentence):
        tb.solve(tb.Grid([[1, 0, 1], [1, 1, 1]]), start, goal, "a*")


def test_numpy_points_and_whole_floats_are_points() -> None:
    world = tb.Grid(np.ones((3, 3)))
    assert tb.solve(world, np.array([0, 0]), (2.0, np.int32(2))).moves == 2


def test_is_free_looks_at_one_cell_or_many() -> None:
    free = np.random.default_rng(1).random((5, 7)) < 0.6
    world = tb.Grid(free)
    cells = np.argwhere(np.ones((9, 11))) - 2  # those around the map too
    inside = ((cells >= 0) & (cells < (5, 7))).all(axis=1)
    expected = inside & np.pad(free, 2)[tuple((cells + 2).T)]
    for some in (
        cells,
        cells.astype(np.int8),
        cells.astype(float),
        cells.tolist(),
        [tuple(cell) for cell in cells.tolist()],
    ):
        assert np.array_equal(world.is_free(some), expected)
    assert [world.is_free(tuple(cell)) for cell in cells.tolist()] == expected.tolist()
    assert [world.is_free(cell) for cell in cells] == expected.tolist()
    assert world.is_free(cells[:2]).shape == (2,)
    assert world.is_free(((0, 0), (0, 1))).tolist() == free[0, :2].tolist()
    assert world.is_free([]).tolist() == world.is_free(np.empty((0, 2), int)).tolist() == []
    assert world.is_free((2**70, 0)) is False
    assert world.is_free((1.0, 2)) is world.is_free(np.array([1.0, 2.0])) is bool(free[1, 2])
    wrong_numbers = (0.5, 1), (True, 1), (np.nan, 0), np.zeros((2, 2), bool)
    masked = np.ma.array([[0, 0]], mask=[[True, False]])
    for wrong in ("ab", 3, None, (1, 2, 3), [(0, 1), (2,)], *wrong_numbers, masked, np.zeros((2, 3), int)):
        with pytest.raises(tb.ProblemError, match="cells are two whole numbers"):
            world.is_free(wrong)


def test_state_numbers_and_points_are_inverse() -> None:
    world = tb.Grid(np.ones((4, 7)))
    every = list(itertools.product(range(4), range(7)))
    states = [world.state_of(point) for point in every]
    assert len(set(states)) == 28
    assert [world.point_of(state) for state in states] == every
    assert points(world.points_of(np.array(states))) == every
    assert world.path_states(every).tolist() == states


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ([(0, 0), (1, 1)], r"move 1, from \(0, 0\) to \(1, 1\), is not legal"),
        ([(0, 0), (1, 0), (1, 2)], r"move 2, from \(1, 0\) to \(1, 2\), is not legal"),
        ([(0, 0), (0, 1)], r"move 1, from \(0, 0\) to \(0, 1\), is not legal"),
        ([(0, 0), (-1, 0)], "move 1, .* is not legal"),
        ([(0, 0), (0, 0)], "move 1, .* is not legal"),
    ],
)
def test_validate_finds_the_first_wrong_move(path, sentence: str) -> None:
    with pytest.raises(tb.MoveError, match=sentence):
        tb.validate(tb.Grid([[1, 0, 1], [1, 1, 1]]), path)


def test_validate_checks_the_ends_and_the_shape() -> None:
    world = tb.Grid([[1, 0, 1], [1, 1, 1]])
    assert tb.validate(world, [(1, 0), (1, 1)], start=(1, 0), goal=(1, 1)).moves == 1
    with pytest.raises(tb.MoveError, match="starts at"):
        tb.validate(world, [(1, 0), (1, 1)], start=(0, 0))
    with pytest.raises(tb.MoveError, match="ends at"):
        tb.validate(world, [(1, 0), (1, 1)], goal=(0, 0))
    with pytest.raises(tb.ProblemError, match="at least one state"):
        tb.validate(world, [])
    with pytest.raises(tb.ProblemError, match="n x 2 array"):
        tb.validate(world, [(0, 0, 0)])
    with pytest.raises(tb.ProblemError, match="is in a wall"):
        tb.validate(world, [(0, 1), (1, 1)])


def test_validate_refuses_points_between_cells() -> None:
    """Rounding them would call a path legal that is none."""
    with pytest.raises(tb.Error):
        tb.validate(tb.Grid(np.ones((3, 3))), [(0, 0), (0, 1.4)])


@pytest.mark.parametrize(
    ("corners", "walls", "allowed"),
    [
        ("never", 0, True), ("never", 1, False), ("never", 2, False),
        ("one", 0, True), ("one", 1, True), ("one", 2, False),
        ("always", 0, True), ("always", 1, True), ("always", 2, True),
    ],
)  # fmt: skip
def test_corner_rules(corners: str, walls: int, allowed: bool) -> None:
    cells = np.ones((2, 2))
    cells[[(0, 1), (1, 0)][0]] = walls < 1
    cells[1, 0] = walls < 2
    world = tb.Grid(cells, corners=corners)
    assert (tb.solve(world, (0, 0), (1, 1)).moves == 1) == allowed
    assert tb.solve(tb.Grid(cells, corners=corners, connectivity=4), (0, 0), (1, 1)).moves != 1


def test_digest_tells_worlds_apart() -> None:
    cells = np.ones((3, 3))
    worlds = [
        tb.Grid(cells), tb.Grid(cells, connectivity=4), tb.Grid(cells, corners="one"), tb.Grid(cells, diagonal=1.5),
        tb.Grid(cells * 2), tb.Grid(np.ones((1, 9))),
    ]  # fmt: skip
    assert len({world.digest for world in worlds}) == len(worlds)
    assert tb.Grid(cells).digest == worlds[0].digest
    worlds[0].block((1, 1))
    assert tb.Grid(cells).digest != worlds[0].digest
    worlds[0].unblock((1, 1))
    assert tb.Grid(cells).digest == worlds[0].digest
