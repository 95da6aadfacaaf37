"""Map, scenario and road-graph files: what is read back is what was written, and mistakes are named."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from timebound.errors import MapError
from timebound.worlds.mapfile import (
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
