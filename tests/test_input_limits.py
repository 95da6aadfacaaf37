"""What a file may be and claim, whatever its kind."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import message_of, png
from timebound.errors import MapError
from timebound.worlds.from_file import open_world
from timebound.worlds.map_files import (
    read_dimacs,
    read_map,
    read_scen,
)
from timebound.worlds.rasters import read_array

pytestmark = pytest.mark.once  # no kernel plays a part in them

HEADER = "type octile\nheight 2\nwidth 3\nmap\n"
GOOD = HEADER + "..@\nT.S\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.file"


GRAPH = "c a comment\np sp 3 3\nc another\na 1 2 4\na 2 3 5\nc between\na 3 1 6\n"
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


def test_a_line_without_end_is_refused(file: Path) -> None:
    file.write_bytes(gzip.compress(b"p sp 2 0\n" + b"c" * (5 << 20)))
    assert "line 2 has more than 1048576 characters" in message_of(read_dimacs, file)


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
from helpers import png

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
