"""Map files: what is read back is what was written, and mistakes are named."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import message_of
from timebound.errors import MapError
from timebound.worlds.map_files import (
    BLOCKED,
    PASSABLE,
    passable,
    read_map,
    read_scen,
    write_map,
)

pytestmark = pytest.mark.once  # no kernel plays a part in them

ROOT = Path(__file__).resolve().parents[1]
MAPS = Path(os.environ.get("TIMEBOUND_MAPS") or ROOT.parent / "shared" / "movingai")
real_maps = [
    pytest.mark.maps,
    pytest.mark.skipif(not MAPS.is_dir(), reason="needs the MovingAI maps (TIMEBOUND_MAPS)"),
]
HEADER = "type octile\nheight 2\nwidth 3\nmap\n"
GOOD = HEADER + "..@\nT.S\n"
GLYPHS = np.array([list(b"..@"), list(b"T.S")], dtype=np.uint8)
glyph_arrays = hnp.arrays(
    np.uint8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.sampled_from(list(PASSABLE + BLOCKED)),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.file"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        GOOD + "  \n",
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r\n").removesuffix("\r\n"),
        GOOD.replace("\n", "\r\n") + "\r\n",
        GOOD.replace("..@\n", "..@\r\n"),
        GOOD.replace("T.S\n", "T.S\r\n"),
        GOOD.replace("height 2\nwidth 3", "width 3\nheight 2"),
        GOOD.replace("octile", "tile"),
        GOOD.replace("height 2", "height  2 "),
    ],
)
def test_every_layout_of_a_good_map_is_read(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    glyphs = read_map(str(file))
    assert glyphs.dtype == np.uint8
    np.testing.assert_array_equal(glyphs, GLYPHS)


@settings(max_examples=60)
@given(glyphs=glyph_arrays, crlf=st.booleans(), tail=st.sampled_from(["", "\n", "\n\n"]))
def test_maps_survive_a_round_trip(glyphs: np.ndarray, crlf: bool, tail: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.map"
        write_map(path, glyphs)
        np.testing.assert_array_equal(read_map(path), glyphs)
        text = path.read_text().rstrip("\n") + tail
        path.write_bytes(text.replace("\n", "\r\n" if crlf else "\n").encode())
        np.testing.assert_array_equal(read_map(path), glyphs)


@settings(max_examples=60)
@given(glyphs=glyph_arrays, cut=st.integers(1, 300))
def test_a_truncated_map_is_never_read(glyphs: np.ndarray, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.map"
        write_map(path, glyphs)
        data = path.read_bytes()
        path.write_bytes(data[: max(0, len(data) - 1 - cut)])  # the last line end may be missing
        message_of(read_map, path)


@settings(max_examples=60)
@given(cells=hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_bool_maps_survive_a_round_trip(cells: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_map(Path(folder) / "a.map", cells)
        np.testing.assert_array_equal(passable(read_map(Path(folder) / "a.map")), cells)


def test_the_array_read_can_be_changed(file: Path) -> None:
    file.write_text(GOOD)
    read_map(file)[0, 0] = ord("@")


def test_passable_is_ground_and_swamp() -> None:
    glyphs = np.arange(256, dtype=np.uint8).reshape(16, 16)
    expected = np.array([chr(code) in ".GS" for code in range(256)]).reshape(16, 16)
    np.testing.assert_array_equal(passable(glyphs), expected)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["empty", "type octile"]),
        ("\n \n", ["empty"]),
        ("hello\n", ["line 1", "'hello'", "'type octile'"]),
        ("type octile\n", ["ends after line 1", "height H"]),
        ("type octile\nheight 2\n", ["ends after line 2"]),
        (GOOD.replace("height", "hight"), ["line 2", "'hight 2'", "'height H' or 'width W'"]),
        (GOOD.replace("width 3", "height 3"), ["line 3", "'height 3'", "'width W'"]),
        (GOOD.replace("width 3", "width three"), ["line 3", "width is 'three'", "whole number"]),
        (GOOD.replace("width 3", "width 0"), ["line 3", "'0'", "from 1 to 32768"]),
        (GOOD.replace("height 2", "height -2"), ["line 2", "'-2'", "from 1"]),
        (GOOD.replace("height 2", "height 2.0"), ["line 2", "'2.0'", "whole number"]),
        (GOOD.replace("height 2", "height 2000000000"), ["line 2", "'2000000000'", "32768"]),
        (GOOD.replace("height 2", "height " + "9" * 5000), ["line 2", "32768"]),
        (GOOD.replace("\nmap", "\nmop"), ["line 4", "'mop'", "'map'"]),
        (HEADER, ["0 rows", "height of 2"]),
        (HEADER + "..@\n", ["1 row ", "height of 2"]),
        (GOOD + "...\n", ["3 rows", "height of 2"]),
        (HEADER + "..@\nT.", ["line 6", "2 characters", "width of 3"]),
        (HEADER + ".@", ["cut off in line 5", "row 1 of 2", "2 of its 3 characters"]),
        (HEADER + "..\n...\n", ["line 5", "2 characters", "width of 3"]),
        (HEADER + "...\n....\n", ["line 6", "4 characters", "width of 3"]),
        (HEADER + "....\n..\n", ["line 5", "4 characters", "width of 3"]),
        (HEADER + "\n...\n...\n", ["line 5", "0 characters", "width of 3"]),
        (HEADER + "...\n.x.\n", ["line 6, column 2", "'x'", ". G S @ O T W"]),
        (HEADER + "...\n.. \n", ["line 6, column 3", "' '"]),
        (HEADER + "...\n.\t.\n", ["line 6, column 2", "'\\t'"]),
        (HEADER + "...\n.\0.\n", ["line 6", "0x00", "plain text"]),
        (HEADER + "...\n.é.\n", ["line 6", "0xc3", "plain text"]),
    ],
)
def test_every_mistake_in_a_map_is_named(file: Path, text: str, parts: list[str]) -> None:
    file.write_bytes(text.encode())
    message = message_of(read_map, file)
    for part in parts:
        assert part in message


def test_a_missing_map_and_a_folder_are_named(tmp_path: Path) -> None:
    assert "no file" in message_of(read_map, tmp_path / "nowhere.map")
    assert "folder" in message_of(read_map, tmp_path)


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        (np.zeros((2, 2), dtype=np.uint8), "(0, 0)"),
        (np.array([list(b".."), list(b".x")], dtype=np.uint8), "(1, 1) holds 'x'"),
        (np.zeros(4, dtype=bool), "two-dimensional"),
        (np.zeros((0, 4), dtype=bool), "(0, 4)"),
        (np.zeros((2, 2)), "float64"),
    ],
)
def test_what_is_no_map_is_not_written(file: Path, cells: np.ndarray, part: str) -> None:
    with pytest.raises(MapError) as caught:
        write_map(file, cells)
    assert part in str(caught.value)
    assert not file.exists()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_map(file, GLYPHS)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MapError, match="No space left"):
        write_map(file, ~passable(GLYPHS))
    np.testing.assert_array_equal(read_map(file), GLYPHS)
    assert list(file.parent.iterdir()) == [file]


def test_a_write_replaces_the_file_and_does_not_overwrite_it(file: Path) -> None:
    # A second name for the old file keeps the old content: nobody can see a half-written one.
    write_map(file, GLYPHS)
    old = file.with_name("old.map")
    os.link(file, old)
    write_map(file, np.array([[True]]))
    np.testing.assert_array_equal(read_map(old), GLYPHS)
    assert read_map(file).shape == (1, 1)


def test_writing_into_a_folder_that_is_not_there_or_over_one_is_an_error(tmp_path: Path) -> None:
    assert "cannot write" in message_of(lambda path: write_map(path, GLYPHS), tmp_path / "no" / "a.map")
    assert "folder" in message_of(lambda path: write_map(path, GLYPHS), tmp_path)


def test_rows_beyond_the_promised_ones_are_counted(file: Path) -> None:
    file.write_text("type octile\nheight 2\nwidth 1\nmap\n.\n.\n" + ".\n" * 98)
    assert "100 rows" in message_of(read_map, file)
    file.write_text("type octile\nheight 2\nwidth 1\nmap\n.\n.\n\n\n.\n")
    assert "5 rows" in message_of(read_map, file)


class TestRealMaps:
    pytestmark = real_maps

    def test_every_map_is_read_and_written_unchanged(self, tmp_path: Path) -> None:
        maps = sorted(MAPS.glob("*/*.map"))
        assert maps
        for path in maps:
            glyphs = read_map(path)
            words = path.read_bytes().split(b"map", 1)[0].split()
            assert glyphs.shape == (int(words[3]), int(words[5]))
            write_map(tmp_path / "copy.map", glyphs)
            assert (tmp_path / "copy.map").read_bytes() == path.read_bytes().replace(b"\r\n", b"\n")

    def test_scenarios_fit_their_maps(self) -> None:
        # wc3maps512 has starts in water; see the notes beside the maps.
        for path in sorted(MAPS.glob("*/*.map.scen")):
            if path.parent.name == "wc3maps512":
                continue
            free = passable(read_map(path.with_suffix("")))
            lines = read_scen(path)
            assert lines
            assert all(line.map.endswith(path.stem) for line in lines)
            assert {(line.height, line.width) for line in lines} == {free.shape}
            assert all(free[line.start] and free[line.goal] for line in lines)
