"""Grids from occupancy, metres and cells, and grids of a larger scale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from PIL import Image

import timebound as tb
from helpers import SQRT2


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
