"""Worlds: what makes one, what does not, and the sentence that says why."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from PIL import Image

import timebound as tb
from helpers import SQRT2, points
from naive.worlds import NaivePuzzle, reachable
from timebound.scenarios import spread

# --- grids ---------------------------------------------------------------------------------------------------------


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


def test_load_and_save_keep_the_letters(tmp_path) -> None:
    text = "type octile\nheight 2\nwidth 4\nmap\n.GS@\nOTW.\n"
    (tmp_path / "a.map").write_text(text)
    world = tb.Grid.load(tmp_path / "a.map", connectivity=4)
    assert world.connectivity == 4
    assert world.free.tolist() == [[True, True, True, False], [False, False, False, True]]
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == text
    world.block((0, 1))
    world.unblock([(1, 2)])
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == "type octile\nheight 2\nwidth 4\nmap\n.@S@\nOT..\n"
    world.unblock((0, 1))
    world.block((1, 2))
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == text


def test_terrain_cannot_be_saved_as_a_map(tmp_path) -> None:
    with pytest.raises(tb.MapError, match="cannot hold terrain costs"):
        tb.Grid([[1, 2]]).save(tmp_path / "a.map")
    assert not list(tmp_path.iterdir())


def test_from_image(tmp_path) -> None:
    bright = np.array([[0, 127], [128, 255]], np.uint8)
    Image.fromarray(bright).save(tmp_path / "a.png")
    assert tb.Grid.from_image(tmp_path / "a.png", threshold=128).free.tolist() == [[False, False], [True, True]]
    assert tb.Grid.from_image(tmp_path / "a.png", threshold=1).free.tolist() == [[False, True], [True, True]]
    assert tb.Grid.from_image(tmp_path / "a.png", threshold=128, connectivity=4).connectivity == 4
    with pytest.raises(tb.MapError, match=r"there is no file .*no.png"):
        tb.Grid.from_image(tmp_path / "no.png")
    (tmp_path / "text.png").write_text("not a picture")
    with pytest.raises(tb.MapError, match=r"text.png is not an image"):
        tb.Grid.from_image(tmp_path / "text.png")


@pytest.mark.parametrize("form", ["png", "pgm"])
def test_images_of_sixteen_bits_are_as_bright_as_they_look(tmp_path, form: str) -> None:
    # Almost black, but more than 255.
    Image.fromarray(np.array([[300, 65535], [0, 60000]], np.uint16)).save(tmp_path / f"a.{form}")
    assert tb.Grid.from_image(tmp_path / f"a.{form}").free.tolist() == [[False, True], [False, True]]


def test_grey_images_ask_for_the_convention(tmp_path) -> None:
    pixels = np.full((20, 20), 254, np.uint8)
    pixels[:, 5] = 0
    pixels[3, 3] = 205  # one of 400: an edge may be drawn softly
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert tb.Grid.from_image(tmp_path / "a.png").free_count == 380
    pixels[10:, :5] = 205
    Image.fromarray(pixels).save(tmp_path / "a.png")
    with pytest.raises(tb.MapError, match=r"13% grey \(most of it 205 of 255\).*threshold=.*Grid.from_ros"):
        tb.Grid.from_image(tmp_path / "a.png")
    assert tb.Grid.from_image(tmp_path / "a.png", threshold=230).free_count == 329
    for wrong in (-1, 256, 1.5, "128", True):
        with pytest.raises(tb.MapError, match="a threshold is a whole number from 0 to 255"):
            tb.Grid.from_image(tmp_path / "a.png", threshold=wrong)


# --- occupancy and metres ------------------------------------------------------------------------------------------


def test_arrays_that_look_like_occupancy_ask_for_the_convention() -> None:
    for cells in ([[0, 100], [-1, 0]], [[-1, 0]], np.array([[-1, 100]], np.int8)):
        with pytest.raises(tb.WorldError, match=r"is -1; .*Grid.from_occupancy\(array\)"):
            tb.Grid(cells)
    for cells in ([[0, 100]], np.array([[0, 50, 100]], np.uint8)):
        with pytest.raises(tb.WorldError, match=r"0 to 100 may be an occupancy grid.*say terrain=True"):
            tb.Grid(cells)
    assert tb.Grid([[0, 100]], terrain=True).free.tolist() == [[False, True]]
    for costs in ([[0.0, 100.0]], [[0, 99]], [[1, 100]], [[0, 101]]):
        assert tb.Grid(costs).costs[0, 1] == costs[0][1]


def test_from_occupancy() -> None:
    values = np.array([[-1, 0, 25], [26, 64, 65], [66, 100, 1]], np.int8)
    assert tb.Grid.from_occupancy(values).free.astype(int).tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 1]]
    open_minded = tb.Grid.from_occupancy(values, unknown="free", connectivity=4)
    assert open_minded.free.astype(int).tolist() == [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    assert open_minded.connectivity == 4
    strict = tb.Grid.from_occupancy(values.astype(float), occupied=1, free=0)
    assert strict.free.astype(int).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert tb.Grid.from_occupancy(np.zeros((2, 2), int)).free_count == 4


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        ([0, 100], {}, r"a 2-d array with at least one cell, not one of shape \(2,\)"),
        ([[0, 101]], {}, r"the occupancy at \(0, 1\) is 101"),
        (np.array([[0, 255]], np.uint8), {}, r"the occupancy at \(0, 1\) is 255"),
        ([[0, -2]], {}, r"the occupancy at \(0, 1\) is -2"),
        ([[0.0, math.nan]], {}, r"the occupancy at \(0, 1\) is nan"),
        ([[0.0, 0.7]], {}, "multiply probabilities from 0 to 1 by 100"),
        ([[True, False]], {}, r"not booleans; Grid\(array\) takes those"),
        ([["a"]], {}, "not <U1"),
        ([[0, 1]], {}, "nothing above 1"),
        ("map.yaml", {}, r"Grid.from_ros\(file\)"),
        ([[0]], {"occupied": 101}, "occupied is a whole number from 0 to 100, not 101"),
        ([[0]], {"free": 0.25}, "free is a whole number from 0 to 100, not 0.25"),
        ([[0]], {"free": 70}, "free is 70, and it must be less than occupied, which is 65"),
        ([[0]], {"unknown": "maybe"}, "unknown cells are a 'wall' or 'free', not 'maybe'"),
        ([[0]], {"resolution": 0}, "the resolution is a number of metres per cell above 0, not 0"),
        ([[0]], {"resolution": "a"}, "the resolution is a number"),
        ([[0]], {"resolution": 1, "origin": (0, 0)}, r"the origin is three numbers \(x, y, yaw\), not \(0, 0\)"),
        ([[0]], {"resolution": 1, "origin": (0, 0, math.inf)}, "the origin is three numbers"),
    ],
)
def test_what_is_no_occupancy_grid(values, options, sentence: str) -> None:
    with pytest.raises(tb.WorldError, match=sentence):
        tb.Grid.from_occupancy(values, **options)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.0, math.pi / 2])
def test_metres_and_cells_are_inverse(yaw: float) -> None:
    world = tb.Grid.from_occupancy(np.zeros((7, 5), int), resolution=0.25, origin=(-3.0, 4.0, yaw))
    for cell in itertools.product(range(7), range(5)):
        assert world.cell_at(*world.point_at(*cell)) == cell
    # The corner of the lower left cell is the origin, and the map lies to the left of the way along its lower edge.
    x, y = world.point_at(6, 0)
    assert math.hypot(x + 3.0, y - 4.0) == pytest.approx(0.125 * SQRT2)
    ahead = np.subtract(world.point_at(6, 1), world.point_at(6, 0))
    assert ahead == pytest.approx([0.25 * math.cos(yaw), 0.25 * math.sin(yaw)])
    up = np.subtract(world.point_at(5, 0), world.point_at(6, 0))
    assert up == pytest.approx([-0.25 * math.sin(yaw), 0.25 * math.cos(yaw)])


def test_metres_are_kept_and_off_the_map_is_said() -> None:
    world = tb.Grid.from_occupancy([[0, 0]], resolution=2.0, origin=(1, 1, 0))
    assert world.copy().origin == (1.0, 1.0, 0.0)
    assert world.scale(4).cell_at(1.1, 2.9) == (0, 0)
    assert world.scale(4).resolution == 0.5
    for place in ((0.9, 1.5), (5.0, 1.5), (1.5, 3.0), (1.5, 0.9), (1e300, 1e300)):
        with pytest.raises(tb.ProblemError, match=r"off the map, which is 4 m wide and 2 m high from \(1, 1\) on"):
            world.cell_at(*place)
    for place in ((math.nan, 0), ("a", 0), (None, 1), (0, math.inf), (10**400, 0)):
        with pytest.raises(tb.ProblemError, match="a place is two numbers of metres"):
            world.cell_at(*place)
    with pytest.raises(tb.ProblemError, match=r"the cell \(0, 2\) is off the map"):
        world.point_at(0, 2)
    for call in (tb.Grid([[1]]).cell_at, tb.Grid([[1]]).point_at):
        with pytest.raises(tb.WorldError, match=r"knows no metres; Grid.from_ros"):
            call(0, 0)


def test_from_ros(tmp_path) -> None:
    Image.fromarray(np.array([[0, 205, 254], [254, 254, 0]], np.uint8)).save(tmp_path / "floor.pgm")
    text = "image: floor.pgm\nresolution: 0.1\norigin: [1, 2, 0]\nnegate: 0\noccupied_thresh: 0.65\n"
    (tmp_path / "floor.yaml").write_text(text + "free_thresh: 0.196\n")
    world = tb.Grid.from_ros(tmp_path / "floor.yaml", corners="always")
    assert world.free.tolist() == [[False, False, True], [True, True, False]]
    assert world.corners == "always"
    assert (world.resolution, world.origin) == (0.1, (1.0, 2.0, 0.0))
    assert world.cell_at(1.05, 2.05) == (1, 0)
    assert tb.Grid.from_ros(tmp_path / "floor.yaml", unknown="free").free[0, 1]
    # Between the thresholds a scaled map has 100 * (0.196 - 0.1) / (0.65 - 0.1), rounded, which is 17.
    (tmp_path / "floor.yaml").write_text(text + "free_thresh: 0.1\nmode: scale\n")
    assert tb.Grid.from_ros(tmp_path / "floor.yaml").free[0, 1]
    assert not tb.Grid.from_ros(tmp_path / "floor.yaml", free=16).free[0, 1]


def test_scale(tmp_path) -> None:
    world = tb.Grid([[1, 0], [1, 1]], corners="one").scale(3)
    assert world.shape == (6, 6)
    assert world.corners == "one"
    assert world.free[:3, 3:].sum() == 0
    assert world.free_count == 27
    assert tb.Grid([[1, 2]]).scale(2).costs.tolist() == [[1, 1, 2, 2]] * 2
    for wrong in (0, 1.5, "2"):
        with pytest.raises(tb.WorldError, match="scaled by a whole number"):
            world.scale(wrong)
    for wrong in (10**6, 10**5000, np.int64(10**6)):
        with pytest.raises(tb.WorldError, match="cells is too large; 14900 x 14900 still works"):
            world.scale(wrong)
    (tmp_path / "a.map").write_text("type octile\nheight 1\nwidth 2\nmap\nGT\n")
    tb.Grid.load(tmp_path / "a.map").scale(2).save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text().endswith("map\nGGTT\nGGTT\n")


# --- problems ------------------------------------------------------------------------------------------------------

SMALL_WORLDS = {
    "grid": lambda: tb.Grid(tb.generate.random_obstacles((12, 12), 0.3, seed=3)),
    "terrain": lambda: tb.Grid(np.random.default_rng(1).choice([0, 1, 2, 5], (10, 10))),
    "graph": lambda: tb.Graph(np.arange(9), np.arange(1, 10), np.full(9, 1.5), directed=False),
    "puzzle": lambda: tb.TilePuzzle(2, 3),
}


@pytest.mark.parametrize("kind", SMALL_WORLDS)
def test_problems_are_solvable_and_repeatable(kind: str) -> None:
    world = SMALL_WORLDS[kind]()
    drawn = list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert len(drawn) == 6
    assert drawn == list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert drawn != list(tb.problems(world, 6, seed=6, cost=(3, 6)))
    for problem in drawn:
        result = tb.solve(world, problem.start, problem.goal, "dijkstra")
        assert result.status == "reached"
        assert 3 <= problem.optimal <= 6
        assert result.cost == pytest.approx(problem.optimal)
        assert problem.start != problem.goal


def test_problems_that_cannot_be_drawn() -> None:
    world = tb.Grid(np.ones((3, 3)))
    with pytest.raises(tb.WorldError, match=r"no problem with a cost from 50 to 60; the \d+ solvable ones cost 1 to"):
        next(tb.problems(world, 1, cost=(50, 60)))
    with pytest.raises(tb.WorldError, match="no problem with a cost"):
        next(tb.problems(tb.Grid([[1, 0, 1]]), 1))
    with pytest.raises(tb.WorldError, match="no free cell"):
        next(tb.problems(tb.Grid([[0, 0]]), 1))
    for wrong in [(5, 1), (-1, 3), (math.nan, 3)]:
        with pytest.raises(tb.SpecError, match="a cost range is"):
            next(tb.problems(world, 1, cost=wrong))


def test_spread() -> None:
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread(range(3), 10) == [0, 1, 2]
    assert spread(range(5), None) == [0, 1, 2, 3, 4]
    assert spread(range(5), 1) == [0]
    assert len(set(spread(range(1000), 20))) == 20


def write_scenario(folder, *lines: str):
    (folder / "a.map").write_text("type octile\nheight 2\nwidth 3\nmap\n..@\n...\n")
    file = folder / "a.map.scen"
    file.write_text("\n".join(["version 1", *lines]) + "\n")
    return file


def test_scenario(tmp_path) -> None:
    # x, y in the file, (row, col) for us. The second goal is a wall.
    file = write_scenario(
        tmp_path,
        "0\told/a.map\t3\t2\t1\t0\t2\t1\t2.0",
        "0\ta.map\t3\t2\t0\t0\t2\t0\t2.0",
        "0\ta.map\t3\t2\t0\t0\t0\t1\t1",
    )
    scenario = tb.Scenario(file)
    assert scenario.map_name == "a.map"
    world = tb.Grid.load(scenario.map_path())
    drawn = scenario.problems(world)
    assert [(p.start, p.goal, p.optimal) for p in drawn] == [((0, 1), (1, 2), 2.0), ((0, 0), (1, 0), 1.0)]
    assert [p.optimal for p in scenario.problems(world, trust=False)] == [None, None]
    with pytest.raises(tb.MapError, match="line 2 is for a map of 2 rows and 3 columns, but this map has 3 and 2"):
        scenario.problems(tb.Grid(np.ones((3, 2))))
    (tmp_path / "a.map").unlink()
    with pytest.raises(tb.MapError, match=r"its map a\.map is not beside it"):
        scenario.map_path()


def test_scenario_without_problems(tmp_path) -> None:
    with pytest.raises(tb.MapError, match="scen"):
        tb.Scenario(write_scenario(tmp_path))


def test_scenario_with_a_start_off_its_map(tmp_path) -> None:
    scenario = tb.Scenario(write_scenario(tmp_path, "0\ta.map\t3\t2\t7\t0\t1\t1\t1.0"))
    with pytest.raises(tb.MapError, match="line 2"):
        scenario.problems(tb.Grid.load(scenario.map_path()))


# --- graphs --------------------------------------------------------------------------------------------------------


def test_from_networkx_keeps_names_and_directions() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c")  # no weight: 1
    graph.add_edge("c", "a", weight=0.5)
    world = tb.Graph.from_networkx(graph)
    assert not world.undirected
    result = tb.solve(world, "a", "c")
    assert result.path == ["a", "b", "c"]
    assert result.cost == 3.0
    assert tb.solve(world, "b", "a").cost == 1.5
    for name in ("z", ["a"], None):
        with pytest.raises(tb.ProblemError, match="is not a node of this graph"):
            tb.solve(world, "a", name)
    both = tb.Graph.from_networkx(graph.to_undirected())
    assert both.undirected
    assert tb.solve(both, "a", "c").path == ["a", "c"]
    assert "undirected Graph, 3 nodes, 6 arcs" in repr(both)


def test_from_networkx_attributes() -> None:
    graph = nx.Graph()
    graph.add_node((0, 0), pos=(0.0, 0.0))
    graph.add_node((0, 1), pos=(3.0, 4.0))
    graph.add_edge((0, 0), (0, 1), time=6.0, weight=99)
    world = tb.Graph.from_networkx(graph, weight="time", coordinates="pos")
    assert tb.solve(world, (0, 0), (0, 1)).cost == 6.0
    graph.add_node("lost")
    with pytest.raises(tb.WorldError, match="node 'lost' has no attribute 'pos'"):
        tb.Graph.from_networkx(graph, coordinates="pos")
    parallel = nx.MultiDiGraph()
    parallel.add_edge(1, 2, weight=5)
    parallel.add_edge(1, 2, weight=3)
    assert tb.solve(tb.Graph.from_networkx(parallel), 1, 2).cost == 3.0
    with pytest.raises(tb.WorldError, match="at least one node"):
        tb.Graph.from_networkx(nx.Graph())


@pytest.mark.parametrize(
    "thing", [np.ones((2, 2)), {"a": ["b"]}, None, "roads.gr", [("a", "b")], scipy.sparse.csr_array(np.eye(2))]
)
def test_what_is_no_networkx_graph(thing) -> None:
    with pytest.raises(tb.WorldError, match="from_networkx takes a networkx graph, not") as caught:
        tb.Graph.from_networkx(thing)
    assert "\n" not in str(caught.value)


def test_a_misspelt_weight_is_named() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", length=3.0, name="road", lanes=2)
    graph.add_edge("b", "c", length=4.0)
    with pytest.raises(tb.WorldError, match="no edge has the attribute 'lenght'; did you mean 'length'"):
        tb.Graph.from_networkx(graph, weight="lenght")
    # The default is no better when other numbers are there.
    with pytest.raises(tb.WorldError, match=r"no edge has the attribute 'weight'; .*length.*weight=None"):
        tb.Graph.from_networkx(graph)
    assert tb.solve(tb.Graph.from_networkx(graph, weight=None), "a", "c").cost == 2.0
    assert tb.solve(tb.Graph.from_networkx(graph, weight="length"), "a", "c").cost == 7.0
    # As networkx has it, an edge without the attribute costs 1 when others have it.
    assert tb.solve(tb.Graph.from_networkx(graph, weight="lanes"), "a", "c").cost == 3.0
    plain = nx.path_graph(3)
    assert tb.solve(tb.Graph.from_networkx(plain), 0, 2).cost == 2.0
    with pytest.raises(tb.WorldError, match="no edge has the attribute 'time'"):
        tb.Graph.from_networkx(plain, weight="time")
    with pytest.raises(tb.WorldError, match="weight is the name of an attribute, not"):
        tb.Graph.from_networkx(graph, weight=["length"])


@pytest.mark.parametrize("cost", ["3", None, [1], 1j, math.nan, -1, 0, math.inf, 10**400])
def test_messages_about_costs_use_the_names_of_nodes(cost) -> None:
    graph = nx.DiGraph()
    graph.add_edge("Ghent", "Bruges", weight=1)
    graph.add_edge("Bruges", "Ostend", weight=cost)
    with pytest.raises(tb.WorldError, match=r"'Bruges' -.* 'Ostend'"):
        tb.Graph.from_networkx(graph)


def test_other_messages_of_graphs_use_the_names_of_nodes() -> None:
    graph = nx.Graph()
    graph.add_node("Ghent", place=(0, 0))
    graph.add_node("Bruges", place=(0, math.inf))
    graph.add_edge("Ghent", "Bruges")
    with pytest.raises(tb.WorldError, match="the coordinates of node 'Bruges' are not finite"):
        tb.Graph.from_networkx(graph, coordinates="place")
    world = tb.Graph.from_networkx(nx.path_graph(["Ghent", "Bruges", "Ostend"], nx.DiGraph))
    with pytest.raises(tb.WorldError, match="no arc from 'Ostend' to 'Ghent'"):
        world.block("Ostend", "Ghent")
    with pytest.raises(tb.ProblemError, match="the node 0 is not a node of this graph"):
        world.block(0, 1)
    with pytest.raises(tb.MoveError, match="from 'Ghent' to 'Ostend'"):
        tb.validate(world, ["Ghent", "Ostend"])
    assert world.block("Ghent", "Bruges") == 1
    assert world.changes.since(0) == [("Ghent", "Bruges", 1)]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("x.gr", r"Graph.load\(file\) opens the file 'x.gr'"),
        (nx.path_graph(3), "Graph.from_networkx"),
        (scipy.sparse.csr_array(np.eye(3)), "Graph.from_scipy"),
        ([0, 1], "the targets are missing"),
    ],
)
def test_one_thing_in_place_of_arcs_is_told_the_way(given, hint: str) -> None:
    with pytest.raises(tb.WorldError, match=f"a graph is made from arrays of arcs.*{hint}"):
        tb.Graph(given)


@pytest.mark.parametrize("cost", [None, "2", math.nan, 0, -1, math.inf, 10**400, 1j, np.complex64(1), [1], [1, 2]])
def test_what_is_no_cost_of_an_arc(cost) -> None:
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0])
    with pytest.raises(tb.WorldError):
        world.set_cost(0, 1, cost)
    assert world.view.length.tolist() == [1.0, 1.0]


def test_from_scipy_with_what_is_none() -> None:
    for thing in (np.ones((2, 2)), None, {}, nx.path_graph(2)):
        with pytest.raises(tb.WorldError, match="from_scipy takes a SciPy sparse matrix, not"):
            tb.Graph.from_scipy(thing)
    with pytest.raises(tb.WorldError, match="must be numbers"):
        tb.Graph.from_scipy(scipy.sparse.coo_array(np.array([[0, 1j], [0, 0]])))


def test_from_scipy() -> None:
    matrix = scipy.sparse.csr_array(np.array([[0, 2.5, 0], [0, 0, 1], [0, 0, 0]]))
    world = tb.Graph.from_scipy(matrix)
    assert tb.solve(world, 0, 2).cost == 3.5
    assert tb.solve(world, 2, 0).status == "unreachable"
    assert tb.solve(tb.Graph.from_scipy(matrix, directed=False), 2, 0).cost == 3.5
    with pytest.raises(tb.WorldError, match="a square matrix"):
        tb.Graph.from_scipy(scipy.sparse.csr_array(np.ones((2, 3))))


def test_dimacs(tmp_path) -> None:
    (tmp_path / "a.gr").write_text("c tiny\np sp 3 3\na 1 2 3\na 2 3 4\na 1 3 9\n")
    (tmp_path / "a.co").write_text("p aux sp co 3\nv 1 0 0\nv 2 3 0\nv 3 3 4\n")
    for world in (tb.Graph.load(tmp_path / "a.gr"), tb.Graph.load(tmp_path / "a.gr", tmp_path / "a.co")):
        result = tb.solve(world, 0, 2)
        assert result.path.tolist() == [0, 1, 2]
        assert result.cost == 7.0


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([0], [5], [1.0]), {"nodes": 3}, "the arc 0 -> 5 leads outside the nodes 0 to 2"),
        (([-1], [1], [1.0]), {}, "the arc -1 -> 1 leads outside"),
        (([0], [1], [math.nan]), {}, "the arc 0 -> 1 costs nan; costs are positive, finite numbers"),
        (([0], [1], [0.0]), {}, "the arc 0 -> 1 costs 0.0"),
        (([0], [1], [-3.0]), {}, "the arc 0 -> 1 costs -3.0"),
        (([0], [1], [math.inf]), {}, "the arc 0 -> 1 costs inf"),
        (([0, 1], [1], [1.0]), {}, "as many sources as targets and costs, not 2, 1 and 1"),
        (([0.5], [1], [1.0]), {}, "sources must be whole numbers of nodes, not float64"),
        (([], []), {}, "a graph needs at least one node"),
        (([0], [1]), {"heuristic": "manhattan"}, "there is no heuristic 'manhattan'; known are"),
        (([0], [1]), {"heuristic": 3}, "a heuristic is a name, a mapping or a function, not 3"),
        (([0], [1]), {"heuristic": "euclidean"}, "the euclidean heuristic needs coordinates="),
        (([0], [1]), {"coordinates": [[0, 0]]}, r"coordinates must have shape \(2, 2\), not \(1, 2\)"),
        (([0], [1]), {"coordinates": [[0, 0], [0, math.nan]]}, "the coordinates of node 1 are not finite"),
        (([0], [1]), {"heuristic": "landmarks", "landmarks": 0}, "landmarks is a whole number from 1 to 64, not 0"),
        (([0], [2]), {"labels": ["a"]}, "label"),
        (([0], [1]), {"labels": ["a", "a"]}, "label"),
        (([0], [1]), {"coordinates": [[0, 0], [0, 1e308]]}, "coordinates must lie between -1e.100 and 1e.100"),
        (([0], [1]), {"labels": 5}, "labels must be names"),
        (([0], [1]), {"labels": [[], []]}, "labels must be names"),
        (([[0], [1, 2]], [1]), {}, "sources must be numbers, all rows of one length"),
        (([10**30], [1]), {}, "sources must be whole numbers of nodes, not object"),
        ((np.array([2**63], np.uint64), [1]), {}, "sources name a node 9223372036854775808, and a graph has at most"),
        (([0], [1], ["1"]), {}, "costs must be numbers"),
        (([0], [1], [10**400]), {}, "costs must be numbers"),
        (([0, 1], [1, 0], [1e308, 1e308]), {}, "too far apart"),
        (([0], [1], [5e-324]), {}, "too far apart"),
        (([0], [1]), {"nodes": "3"}, "nodes is how many nodes there are, a whole number, not '3'"),
        (([0], [1]), {"nodes": -1}, "a graph needs at least one node"),
    ],
)
def test_what_is_no_graph(arguments, options, sentence: str) -> None:
    with pytest.raises(tb.WorldError, match=sentence):
        tb.Graph(*arguments, **options)


def test_parallel_arcs_and_loops() -> None:
    world = tb.Graph([0, 0, 0, 1], [1, 1, 0, 1], [5.0, 2.0, 1.0, 1.0])
    assert len(world.view.head) == 1
    assert tb.solve(world, 0, 1).cost == 2.0
    assert tb.validate(world, [0, 1]).cost == 2.0
    with pytest.raises(tb.MoveError):
        tb.validate(world, [0, 0])


@pytest.mark.parametrize("node", [-1, 3, "a", 1.5, True, None])
def test_what_is_no_node(node) -> None:
    with pytest.raises(tb.ProblemError, match="the goal"):
        tb.solve(tb.Graph([0, 1], [1, 2]), 0, node)


def test_estimates_given_per_goal() -> None:
    arcs = ([0, 1, 0], [1, 2, 2], [1.0, 1.0, 5.0])
    world = tb.Graph(*arcs, heuristic={2: [2.0, 1.0, 0.0]})
    assert tb.solve(world, 0, 2).cost == 2.0
    with pytest.raises(tb.ProblemError, match="the heuristic has no vector for the goal 1"):
        tb.solve(world, 0, 1)
    with pytest.raises(tb.WorldError, match=r"has shape \(2,\), not \(3,\)"):
        tb.solve(tb.Graph(*arcs, heuristic=lambda goal: [1.0, 0.0]), 0, 2)
    for bad in ([-1.0, 0, 0], [math.nan, 0, 0]):
        with pytest.raises(tb.WorldError, match="negative or missing values"):
            tb.solve(tb.Graph(*arcs, heuristic={2: bad}), 0, 2)
    # Infinity says "no way from here": a search must survive it.
    assert tb.solve(tb.Graph(*arcs, heuristic={2: [2.0, 1.0, math.inf]}), 0, 2).cost == 2.0


def test_undirected_is_seen_in_the_arcs() -> None:
    assert tb.Graph([0], [1], directed=False).undirected
    assert tb.Graph([0, 1], [1, 0], [2.0, 2.0]).undirected
    assert not tb.Graph([0, 1], [1, 0], [2.0, 3.0]).undirected
    assert not tb.Graph([0], [1]).undirected


# --- puzzles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), [(2, 3), (3, 2), (1, 4), (2, 2)])
def test_solvable_is_what_breadth_first_search_reaches(rows: int, cols: int) -> None:
    world = tb.TilePuzzle(rows, cols)
    reached = reachable(NaivePuzzle(rows, cols), world.solved)
    for board in itertools.permutations(range(rows * cols)):
        assert world.solvable(board) == (board in reached)


def test_sixteen_tiles_fill_the_word() -> None:
    """Tile 8 or above in the last square sets the sign bit of the word."""
    world = tb.TilePuzzle(4, 4)
    for last in (7, 8, 15):
        board = (*tuple(tile for tile in range(16) if tile != last), last)
        state = world.state_of(board)
        assert (state < 0) == (last >= 8)
        assert -(1 << 63) <= state < 1 << 63
        assert world.point_of(state) == board
        assert points(world.points_of(np.array([state]))) == [board]
    board = (1, 2, 3, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 0)
    result = tb.solve(world, world.solved, board, "a*")
    assert result.cost == 6.0
    assert tb.validate(world, result.path, start=world.solved, goal=board).moves == 6


def test_puzzles_that_are_none() -> None:
    for rows, cols in [(0, 3), (1, 1), (5, 4), (2.5, 2), (-2, -2)]:
        with pytest.raises(tb.WorldError, match="a tile puzzle has from 2 to 16 squares"):
            tb.TilePuzzle(rows, cols)


@pytest.mark.parametrize(
    "board", [(0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), "abcd", None, (0.5, 1, 2, 3), (math.inf, 1, 2, 3)]
)
def test_boards_that_are_none(board) -> None:
    world = tb.TilePuzzle(2, 2)
    with pytest.raises(tb.ProblemError, match="must hold each tile from 0 to 3 once"):
        tb.solve(world, board, world.solved)


def test_boards_of_another_parity_and_another_shape() -> None:
    world = tb.TilePuzzle(2, 2)
    assert tb.solve(world, (0, 1, 3, 2), world.solved).status == "unreachable"
    assert tb.solve(world, [[1, 0], [2, 3]], world.solved).moves == 1


def test_random_boards_can_be_solved_and_are_spread() -> None:
    world = tb.TilePuzzle(2, 2)
    boards = [world.point_of(s) for s in world.random_states(300, np.random.default_rng(0))]
    assert all(world.solvable(board) for board in boards)
    assert len(set(boards)) == 12
