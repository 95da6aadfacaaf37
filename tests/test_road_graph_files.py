"""Road-graph files of DIMACS, and the mistakes in them."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import message_of
from timebound.worlds.map_files import (
    read_dimacs,
)

pytestmark = pytest.mark.once  # no kernel plays a part in them


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.file"


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


@settings(max_examples=60)
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
