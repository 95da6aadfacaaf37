"""Maps of ROS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import timebound as tb
from helpers import message_of
from timebound.errors import MapError
from timebound.worlds.rasters import read_ros

pytestmark = pytest.mark.once  # no kernel plays a part in them

ROS = """\
# made by a robot
image: floor.pgm   # beside this file
mode: trinary
resolution: 0.050000
origin: [-10.0, 2.5, 0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.196
"""


@pytest.fixture
def ros(tmp_path: Path) -> Path:
    """A map_server file with every shade that matters: occupied, unknown, free, nearly free, nearly occupied."""
    shades = bytes([0, 205, 254, 206, 90, 89])
    (tmp_path / "floor.pgm").write_bytes(b"P5\n# CREATOR: map_saver\n3 2\n255\n" + shades)
    (tmp_path / "floor.yaml").write_text(ROS)
    return tmp_path / "floor.yaml"


def test_a_ros_map_is_valued_as_map_server_does(ros: Path) -> None:
    found = read_ros(ros)
    # (255 - 205) / 255 is 0.19608: not below 0.196, so unknown; 206 is free. 90 is 0.647, 89 is 0.651.
    assert found.values.tolist() == [[100, -1, 0], [0, -1, 100]]
    assert found.resolution == 0.05
    assert found.origin == (-10.0, 2.5, 0.0)


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"negate: 0": "negate: 1"}, [[0, 100, 100], [100, -1, -1]]),
        ({"negate: 0": "negate: yes"}, [[0, 100, 100], [100, -1, -1]]),
        ({"mode: trinary\n": ""}, [[100, -1, 0], [0, -1, 100]]),
        ({"mode: trinary": "mode: Scale"}, [[100, 0, 0], [0, 99, 100]]),
        ({"mode: trinary": "mode: raw"}, [[0, -1, -1], [-1, 90, 89]]),
        ({"[-10.0, 2.5, 0]": "\n- -10.0\n- 2.5\n- 0"}, [[100, -1, 0], [0, -1, 100]]),
        ({"image: floor.pgm": "image: 'floor.pgm'"}, [[100, -1, 0], [0, -1, 100]]),
        ({"# made by a robot": "---\n%a: 1".replace("%a", "author")}, [[100, -1, 0], [0, -1, 100]]),
    ],
)
def test_every_mode_of_a_ros_map(ros: Path, changes: dict[str, str], values: list[list[int]]) -> None:
    text = ROS
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    ros.write_text(text)
    found = read_ros(ros)
    assert found.values.tolist() == values
    assert found.origin == (-10.0, 2.5, 0.0)


def test_ros_maps_in_colour_and_with_opacity(ros: Path) -> None:
    ros.write_text(ROS.replace("floor.pgm", "floor.png"))
    colours = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0]]], np.uint8)
    Image.fromarray(colours).save(ros.with_name("floor.png"))
    assert read_ros(ros).values.tolist() == [[100, 0, 100]]
    clear = np.array([[[0, 0, 0, 255], [255, 255, 255, 255], [255, 255, 255, 0]]], np.uint8)
    Image.fromarray(clear).save(ros.with_name("floor.png"))
    # Opacity counts as a fourth colour: 765 / 1020 is 0.75 bright.
    assert read_ros(ros).values.tolist() == [[100, 0, -1]]
    ros.write_text(ROS.replace("floor.pgm", "floor.png").replace("trinary", "scale"))
    assert read_ros(ros).values.tolist() == [[100, 0, -1]]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("image: floor.pgm   # beside this file\n", "", "says nothing of 'image'"),
        ("image: floor.pgm", "image:", "line 2: image is [], and it must be one word"),
        ("image: floor.pgm", "image: none.pgm", "there is no file"),
        ("image: floor.pgm", "image: .", "is a folder"),
        ("resolution: 0.050000", "resolution: 0", "line 4: resolution is '0', and it must be a number of metres"),
        ("resolution: 0.050000", "resolution: .inf", "line 4: resolution is '.inf'"),
        ("resolution: 0.050000", "resolution: 1e999", "line 4: resolution is '1e999'"),
        ("resolution: 0.050000", "resolution 0.05", "line 4: found 'resolution 0.05', and a map_server file has"),
        ("resolution: 0.050000", "resolution: 0.05\nresolution: 0.1", "line 5: resolution stands there twice"),
        ("[-10.0, 2.5, 0]", "[1, 2]", "line 5: origin is ['1', '2'], and it must be [x, y, yaw]"),
        ("[-10.0, 2.5, 0]", "[1, 2, nan]", "line 5: origin"),
        ("[-10.0, 2.5, 0]", "here", "line 5: origin is 'here'"),
        ("negate: 0", "negate: 2", "line 6: negate is '2', and it is 0 or 1"),
        ("occupied_thresh: 0.65", "occupied_thresh: 65", "line 7: occupied_thresh is '65', and it must be a number"),
        ("occupied_thresh: 0.65", "occupied_tresh: 0.65", "line 7: there is no key 'occupied_tresh'; did you mean"),
        ("free_thresh: 0.196", "free_thresh: 0.9", "free_thresh is 0.9, and it must be less than occupied_thresh"),
        ("mode: trinary", "mode: fuzzy", "line 3: mode is 'fuzzy', and it is trinary, scale, raw"),
        ("mode: trinary", "  mode: trinary", "line 3: found ' mode: trinary'"),
        ("mode: trinary", "- trinary", "line 3: found '- trinary'"),
    ],
)  # fmt: skip
def test_every_mistake_in_a_ros_map_is_named(ros: Path, old: str, new: str, part: str) -> None:
    assert old in ROS
    ros.write_text(ROS.replace(old, new))
    with pytest.raises(MapError) as caught:
        tb.Grid.from_ros(ros)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_ros_file_that_is_no_text(ros: Path) -> None:
    ros.write_bytes(b"\xff\xfe\x00")
    assert "is no text" in message_of(tb.Grid.from_ros, ros)
