"""Grids from maps and images, and back."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import timebound as tb


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
    pixels = np.array([[300, 65535], [0, 60000]], np.uint16)
    if form == "png":
        Image.fromarray(pixels).save(tmp_path / "a.png")
    else:  # older Pillow reads them, and does not write them
        (tmp_path / "a.pgm").write_bytes(b"P5 2 2 65535\n" + pixels.astype(">u2").tobytes())
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
