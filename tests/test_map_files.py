"""Map, scenario and road-graph files: what is read back is what was written, and mistakes are named."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

import timebound as tb
from timebound.errors import MapError
from timebound.worlds.from_file import open_world
from timebound.worlds.map_files import (
    BLOCKED,
    PASSABLE,
    ScenarioLine,
    passable,
    read_dimacs,
    read_map,
    read_scen,
    write_map,
    write_scen,
)
from timebound.worlds.rasters import read_array, read_ros

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


def message_of(reader, *paths) -> str:
    """The one sentence a broken file gives."""
    with pytest.raises(MapError) as caught:
        reader(*paths)
    message = str(caught.value)
    assert "\n" not in message
    assert str(paths[-1]) in message
    return message


# ---------------------------------------------------------------------------------------------- maps


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


@settings(deadline=None)
@given(glyphs=glyph_arrays, crlf=st.booleans(), tail=st.sampled_from(["", "\n", "\n\n"]))
def test_maps_survive_a_round_trip(glyphs: np.ndarray, crlf: bool, tail: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.map"
        write_map(path, glyphs)
        np.testing.assert_array_equal(read_map(path), glyphs)
        text = path.read_text().rstrip("\n") + tail
        path.write_bytes(text.replace("\n", "\r\n" if crlf else "\n").encode())
        np.testing.assert_array_equal(read_map(path), glyphs)


@settings(deadline=None)
@given(glyphs=glyph_arrays, cut=st.integers(1, 300))
def test_a_truncated_map_is_never_read(glyphs: np.ndarray, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.map"
        write_map(path, glyphs)
        data = path.read_bytes()
        path.write_bytes(data[: max(0, len(data) - 1 - cut)])  # the last line end may be missing
        message_of(read_map, path)


@settings(deadline=None)
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


# ----------------------------------------------------------------------------------------- scenarios

PROBLEM = "3\tmaps/a b.map\t30\t20\t5\t6\t7\t8\t12.5\n"
EXPECTED = ScenarioLine(3, "maps/a b.map", 30, 20, start=(6, 5), goal=(8, 7), optimal=12.5)


@pytest.mark.parametrize("version", ["", "version 1\n", "version 1.0\n", "version 2\r\n"])
def test_scenarios_turn_x_y_into_row_column(file: Path, version: str) -> None:
    file.write_bytes((version + PROBLEM + "\n" + PROBLEM.replace("a b.map", "c.map").replace("\t", " ")).encode())
    first, second = read_scen(str(file))
    assert first == EXPECTED
    assert second.map == "maps/c.map"
    assert second.start == (6, 5)


counts = st.integers(0, 10**6)
places = st.tuples(counts, counts)
scenario_lines = st.builds(
    ScenarioLine,
    bucket=counts,
    map=st.text("abc. é/_-", min_size=1, max_size=8).filter(lambda name: name == name.strip()),
    width=counts,
    height=counts,
    start=places,
    goal=places,
    optimal=st.floats(0, 1e9),
)


@settings(deadline=None)
@given(lines=st.lists(scenario_lines, max_size=5))
def test_scenarios_survive_a_round_trip(lines: list[ScenarioLine]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.scen"
        write_scen(path, lines)
        assert read_scen(path) == lines


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ["empty", "version 1"]),
        (b"version one\n", ["line 1", "'version one'"]),
        (b"version 1\n0\ta.map\t1\t1\t0\t0\n", ["line 2", "6 fields", "9", "goal x"]),
        (PROBLEM.encode() + b"0 a.map 1 1 0 0 0 0 0 0\n", ["line 2", "10 fields"]),
        (PROBLEM.replace("\t5\t", "\tfive\t").encode(), ["line 1", "start x", "'five'"]),
        (PROBLEM.replace("\t8\t", "\t-8\t").encode(), ["line 1", "goal y", "'-8'", "from 0"]),
        (PROBLEM.replace("12.5", "nan").encode(), ["line 1", "optimal length", "'nan'"]),
        (PROBLEM.replace("12.5", "-1").encode(), ["line 1", "optimal length", "'-1'"]),
        (b"version 1\n\0\1\2", ["line 2", "0x00", "plain text"]),
        (b"version 1\n\xff\xfe", ["line 2", "0xff", "plain text"]),
    ],
)
def test_every_mistake_in_a_scenario_is_named(file: Path, data: bytes, parts: list[str]) -> None:
    file.write_bytes(data)
    message = message_of(read_scen, file)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    "line",
    [
        ScenarioLine(0, "a\tb", 1, 1, (0, 0), (0, 0), 0.0),
        ScenarioLine(0, "", 1, 1, (0, 0), (0, 0), 0.0),
        ScenarioLine(0, "a", 1, 1, (0, -1), (0, 0), 0.0),
    ],
)
def test_scenarios_that_could_not_be_read_back_are_not_written(file: Path, line: ScenarioLine) -> None:
    message_of(lambda path: write_scen(path, [line]), file)
    assert not file.exists()


# --------------------------------------------------------------------------------------- road graphs

GRAPH = "c a comment\np sp 3 3\nc another\na 1 2 4\na 2 3 5\nc between\na 3 1 6\n"
POINTS = "c x\np aux sp co 3\nv 1 -10 20\nv 3 -30 40\nv 2 -50 60\n"


@pytest.mark.parametrize(
    "text", [GRAPH, GRAPH.rstrip("\n"), GRAPH.replace("\n", "\r\n"), GRAPH.replace("a 1 2", "a\t1  2")]
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_road_graph_is_read(file: Path, tmp_path: Path, text: str, zipped: bool) -> None:
    file.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    points = tmp_path / "points.co"
    points.write_text(POINTS)
    n, sources, targets, costs, coords = read_dimacs(file, points)
    assert n == 3
    assert (sources.dtype, targets.dtype, costs.dtype) == (np.int64, np.int64, np.float64)
    assert (sources.tolist(), targets.tolist(), costs.tolist()) == ([0, 1, 2], [1, 2, 0], [4, 5, 6])
    assert coords is not None
    assert coords.tolist() == [[-10, 20], [-50, 60], [-30, 40]]
    assert read_dimacs(file, None)[4] is None


def test_costs_may_have_decimals_and_a_graph_no_arcs(file: Path) -> None:
    file.write_text(GRAPH.replace("a 2 3 5", "a 2 3 5.25"))
    assert read_dimacs(file)[3].tolist() == [4, 5.25, 6]
    file.write_text("p sp 7 0\n")
    n, sources, targets, costs, _ = read_dimacs(file)
    assert (n, sources.size, targets.size, costs.size) == (7, 0, 0, 0)


@settings(deadline=None)
@given(
    arcs=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 2**40)), max_size=20),
    comments=st.lists(st.integers(0, 20), max_size=4),
)
def test_arcs_keep_their_order_whatever_stands_between(arcs: list[tuple[int, int, int]], comments: list[int]) -> None:
    lines = [f"a {u} {v} {w}" for u, v, w in arcs]
    for at in comments:
        lines.insert(at, "c a 1 2 3")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.gr"
        path.write_text("\n".join([f"p sp 9 {len(arcs)}", *lines]))
        n, sources, targets, costs, _ = read_dimacs(path)
    assert n == 9
    assert list(zip((sources + 1).tolist(), (targets + 1).tolist(), costs.tolist(), strict=True)) == arcs


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["empty", "p sp N M"]),
        (GRAPH.replace("p sp 3 3\n", ""), ["no problem line", "'p sp N M'"]),
        (GRAPH + "p sp 3 3\n", ["line 8", "second problem line"]),
        (GRAPH.replace("p sp 3 3", "p sp 3"), ["line 2", "'p sp 3'", "'p sp N M'"]),
        (GRAPH.replace("p sp 3 3", "p max 3 3"), ["line 2", "'p max 3 3'"]),
        (GRAPH.replace("p sp 3 3", "p sp 3 x"), ["line 2", "'p sp 3 x'"]),
        (GRAPH.replace("p sp 3 3", "p sp 3 4"), ["3 arcs", "promises 4"]),
        (GRAPH.replace("a 2 3 5", "a 2 4 5"), ["line 5", "arc '2 4 5'", "1 to 3"]),
        (GRAPH.replace("a 2 3 5", "a 0 3 5"), ["line 5", "arc '0 3 5'"]),
        (GRAPH.replace("a 2 3 5", "a 1.5 3 5"), ["line 5", "arc '1.5 3 5'"]),
        (GRAPH.replace("a 2 3 5", "a 2 3 -5"), ["line 5", "costs -5", "above 0"]),
        (GRAPH.replace("a 2 3 5", "a 2 3 nan"), ["line 5", "costs nan"]),
        (GRAPH.replace("a 2 3 5", "a 2 3"), ["line 5", "'a 2 3'", "'a U V W'"]),
        (GRAPH.replace("a 2 3 5", "a 2 3").replace("a 3 1 6", "a 3 1 6 7"), ["line 5", "'a 2 3'"]),
        (GRAPH.replace("a 2 3 5", "a 2 x 5"), ["line 5", "'a 2 x 5'"]),
        (GRAPH.replace("a 2 3 5", "a2 3 5"), ["line 5", "'a2 3 5'", "'a U V W'"]),
        (GRAPH.replace("a 2 3 5", "e 2 3 5"), ["line 5", "'e 2 3 5'", "'a'"]),
        (GRAPH.replace("a 2 3 5", " a 2 3 5"), ["line 5", "begins with"]),
        ("\0\1", ["0x00", "plain text"]),
    ],
)
def test_every_mistake_in_a_road_graph_is_named(file: Path, text: str, parts: list[str]) -> None:
    file.write_text(text)
    message = message_of(read_dimacs, file)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (POINTS.replace("co 3", "co 4"), ["4 nodes", "graph has 3"]),
        (POINTS.replace("v 2", "v 4"), ["line 5", "'4 -50 60'", "1 to 3"]),
        (POINTS.replace("v 2", "v 3"), ["node 2 0 times"]),
        (POINTS + "v 1 0 0\n", ["node 1 2 times"]),
        (POINTS.replace("v 2 -50 60", "v 2 -50"), ["line 5", "'v 2 -50'", "'v ID X Y'"]),
        (POINTS.replace("p aux sp co 3\n", ""), ["no problem line", "'p aux sp co N'"]),
    ],
)
def test_every_mistake_in_coordinates_is_named(file: Path, tmp_path: Path, text: str, parts: list[str]) -> None:
    graph = tmp_path / "good.gr"
    graph.write_text(GRAPH)
    file.write_text(text)
    message = message_of(read_dimacs, graph, file)
    for part in parts:
        assert part in message


def test_a_damaged_gzip_file_is_named(file: Path) -> None:
    file.write_bytes(gzip.compress(GRAPH.encode())[:-12])
    assert "gzip" in message_of(read_dimacs, file)


# --------------------------------------------------------------------------- what a file may be and claim


LIMIT = "TIMEBOUND_LARGEST_INPUT"


def every_reader(tmp_path: Path) -> dict[str, Any]:
    """Every function that opens a file of a world, by the ending of such files."""
    good = tmp_path / "sound.gr"
    good.write_text(GRAPH)
    return {
        ".map": read_map,
        ".scen": read_scen,
        ".gr": read_dimacs,
        ".co": lambda path: read_dimacs(good, path),
        ".png": tb.Grid.from_image,
        ".npy": read_array,
        ".yaml": tb.Grid.from_ros,
    }


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("a folder", lambda path: path.mkdir()),
        ("a pipe", lambda path: os.mkfifo(path)),
        ("a device", lambda path: path.symlink_to("/dev/zero")),
        ("a socket", lambda path: bound_socket(path)),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes, links and devices")
def test_only_regular_files_are_read(kind: str, make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    for ending, reader in every_reader(tmp_path).items():
        path = Path("it" + ending)
        make(path)
        assert message_of(reader, path) == f"{path} is {kind}, and a file is needed"
        if ending not in (".co", ".scen"):  # those are no worlds of their own
            assert message_of(open_world, path) == f"{path} is {kind}, and a file is needed"


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


@pytest.mark.parametrize("path", [None, 3, b"a.map", ["a.map"], np.zeros(3)])
def test_what_is_no_path_is_named(path, tmp_path: Path) -> None:
    for ending, reader in every_reader(tmp_path).items():
        if path is None and ending == ".co":
            continue  # a graph without coordinates
        with pytest.raises(MapError, match="a file is named by a string or a Path, not by"):
            reader(path)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    for reader in every_reader(tmp_path).values():
        with pytest.raises(MapError, match=r"cannot read .*null"):
            reader("a\0b")
        with pytest.raises(MapError, match="cannot read"):
            reader("n" * 5000)


def test_a_file_above_the_limit_is_refused_and_the_limit_can_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.map"
    file.write_text(GOOD)
    monkeypatch.setenv(LIMIT, "20")
    message = message_of(read_map, file)
    assert f"has {len(GOOD)} bytes" in message
    assert LIMIT in message
    for enough in (str(len(GOOD)), "1k", "1M", "2g", " 4000000000 ", ""):
        monkeypatch.setenv(LIMIT, enough)
        assert read_map(file).shape
    for nonsense in ("many", "-1", "1.5", "4T", "9" * 30):
        monkeypatch.setenv(LIMIT, nonsense)
        with pytest.raises(MapError, match=f"{LIMIT} is a number of bytes, such as 4000000000 or 4G, not"):
            read_map(file)


def test_a_graph_may_not_declare_nodes_that_it_has_no_arcs_for(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("p sp 200000000 0\n")
    points = tmp_path / "points.co"
    points.write_text("p aux sp co 200000000\n")
    for arguments in ([file], [file, points]):
        with pytest.raises(MapError, match="declares 200000000 nodes and has 0 arcs") as caught:
            read_dimacs(*arguments)
        assert LIMIT in str(caught.value)
    file.write_text("p sp 1000000 0\n")
    assert read_dimacs(file)[0] == 1_000_000
    file.write_text("p sp 1100000 0\n")
    message_of(read_dimacs, file)
    monkeypatch.setenv(LIMIT, "1G")
    assert read_dimacs(file)[0] == 1_100_000
    monkeypatch.delenv(LIMIT)
    with pytest.raises(tb.WorldError, match=f"2000000001 nodes and 1 arcs.*{LIMIT}"):
        tb.Graph([0], [2_000_000_000])
    with pytest.raises(tb.WorldError, match="at most 2147483647 nodes"):
        tb.Graph([0], [1], nodes=10**5000)


def test_what_a_gzip_file_unpacks_to_is_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(gzip.compress(b"p sp 2 0\n") + gzip.compress(b"c\n" * (1 << 19)) * 20)
    message = message_of(read_dimacs, file)
    assert "unpacks to more than 16777216" in message
    assert LIMIT in message
    monkeypatch.setenv(LIMIT, "30M")
    assert read_dimacs(file)[0] == 2


@pytest.mark.parametrize("zipped", [False, True])
def test_a_long_graph_is_read_in_blocks_with_the_right_lines(file: Path, zipped: bool) -> None:
    arcs = 200_000
    lines = [f"p sp 99 {arcs}", *(f"a {k % 99 + 1} {k % 98 + 1} {k + 1}" for k in range(arcs))]

    def write() -> None:
        data = "\n".join(lines).encode()
        file.write_bytes(gzip.compress(data, 1) if zipped else data)

    write()
    assert os.path.getsize(file) > 1 << 19
    _, sources, _, costs, _ = read_dimacs(file)
    assert costs.tolist() == list(range(1, arcs + 1))
    assert (sources == np.arange(arcs) % 99).all()
    for wrong in ("a 1 100 3", "a 1 2", "x", "p sp 9 9", "a 1 2 \0"):
        kept, lines[150_000] = lines[150_000], wrong
        write()
        assert "line 150001" in message_of(read_dimacs, file)
        lines[150_000] = kept


def test_a_line_without_end_is_refused(file: Path) -> None:
    file.write_bytes(gzip.compress(b"p sp 2 0\n" + b"c" * (5 << 20)))
    assert "line 2 has more than 1048576 characters" in message_of(read_dimacs, file)


def test_rows_beyond_the_promised_ones_are_counted(file: Path) -> None:
    file.write_text("type octile\nheight 2\nwidth 1\nmap\n.\n.\n" + ".\n" * 98)
    assert "100 rows" in message_of(read_map, file)
    file.write_text("type octile\nheight 2\nwidth 1\nmap\n.\n.\n\n\n.\n")
    assert "5 rows" in message_of(read_map, file)


# -------------------------------------------------------------------------------- arrays and images


def npy_header(text: str, tail: bytes = b"", version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + tail


class Harm:
    """What must never be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (99,)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is empty"),
        (b"text", "no NumPy array file"),
        (b"PK\3\4" + b"\xff" * 60, "an archive of arrays"),
        (npy_header("{'descr': (((((("), "damaged header"),
        (npy_header("(" * 9000 + ")" * 9000), "damaged header"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", bytes(8), b"\7\7"), "damaged header"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (40000, 40000)}"), "should hold 12800000000"),
        (npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 2)}}"), "more than 10^18"),
        (npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 0)}}"), "at least one cell"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8)}", bytes(64)), "at least one cell"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", bytes(9)), "and it holds 9"),
        (npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", pickle.dumps([Harm()])), "booleans or"),
        (npy_header("{'descr': '<U3', 'fortran_order': False, 'shape': (1, 1)}", bytes(12)), "booleans or numbers"),
    ],
)
def test_every_mistake_in_an_array_file_is_named(tmp_path: Path, data: bytes, part: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    assert part in message_of(read_array, path)
    assert part in message_of(open_world, path)


@settings(deadline=None)
@given(hnp.arrays(st.sampled_from(["?", "<i4", ">f8", "u1"]), hnp.array_shapes(max_dims=3, max_side=4)), st.booleans())
def test_arrays_survive_a_round_trip(array: np.ndarray, columns_first: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, np.asfortranarray(array) if columns_first else array)
        read = read_array(path)
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


def png(columns: int, rows: int, packed: bytes = b"") -> bytes:
    """A black-and-white PNG that claims this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is empty"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not an image that can be read; PNG, "),
        (png(13000, 13000), "claims 13000 x 13000 pixels"),
        (png(4100, 4100), "claims 4100 x 4100 pixels"),
        (png(32000, 32000), "claims more pixels"),
        (png(2**31 - 1, 2**31 - 1), "claims more pixels"),
        (png(9, 9), "is not an image"),
        (png(9, 9, zlib.compress(bytes(17))), "is not an image"),
        (b"P5\n99999999999999999999 1\n255\n\0", "is not an image"),
        (b"P5\n2147483647 2147483647\n255\n\0", "claims more pixels"),
        (b"P5\n0 0\n255\n\0", "is not an image"),
        (b"P2\n3 3\n255\n1 2", "is not an image"),
        (b"P5\n2 2\n99999\n\0\0\0\0", "is not an image"),
    ],
)
def test_every_mistake_in_an_image_is_named(tmp_path: Path, data: bytes, part: str, recwarn) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(data)
    assert part in message_of(tb.Grid.from_image, path)
    assert part in message_of(open_world, path)
    assert not recwarn.list


def test_the_limit_of_an_image_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png(40, 50, zlib.compress(bytes(6 * 50))))
    monkeypatch.setenv(LIMIT, "1999")
    message = message_of(tb.Grid.from_image, path)
    assert "claims 50 x 40 pixels, which is more than the limit" in message
    assert LIMIT in message
    monkeypatch.setenv(LIMIT, "2000")
    assert tb.Grid.from_image(path).shape == (50, 40)


BOMBS = r"""
import gzip, resource, sys, zlib
from pathlib import Path
import timebound as tb
from timebound.worlds.from_file import open_world
from test_map_files import png

tb.Grid([[1, 1]]), tb.Graph([0], [1])  # what is loaded once
folder = Path(sys.argv[1])
bombs = {
    "nodes.gr": b"p sp 200000000 1\na 1 2 3\n",
    "text.gr.gz": gzip.compress(b"p sp 2 0\n") + gzip.compress(b"c\n" * (1 << 19)) * 1500,
    "blank.gr.gz": gzip.compress(b"p sp 2 0\n") + gzip.compress(b"\n" * (1 << 20)) * 15,
    "arcs.gr.gz": gzip.compress(b"p sp 2 2\n") + gzip.compress(b"a 1 2 3\n" * (1 << 17)) * 15,
    "image.png": png(13350, 13350, zlib.compress(bytes(13350 * 1670), 9)),
    "small.png": png(4096, 4096, zlib.compress(bytes(4096 * 513), 9)),
    "image.pgm": b"P5\n13000 13000\n255\n",
    "rows.map": b"type octile\nheight 2\nwidth 2\nmap\n" + b"\n" * (1 << 22) + b".",
}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, data in bombs.items():
    (folder / name).write_bytes(data)
    try:
        open_world(folder / name)
    except tb.Error as error:
        print(name, "refused", sep=": ")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    assert grown < 300 << 20, f"{name} took {grown >> 20} MiB"
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asks the system for its peak of memory")
def test_bombs_take_little_memory(tmp_path: Path) -> None:
    paths = [str(Path(__file__).parent), str(Path(tb.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    refused = ["nodes.gr", "text.gr.gz", "arcs.gr.gz", "image.png", "image.pgm", "rows.map"]
    assert done.stdout.splitlines() == [*(f"{name}: refused" for name in refused), "done"]


# ----------------------------------------------------------------------------------------------- ROS

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


# ----------------------------------------------------------------------------------------- real maps


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
