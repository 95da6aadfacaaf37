"""Files, arrays and edits of worlds: small sound ones, damaged, and some made by hand to do harm.

Every input is read by the public functions, and files also as the command line opens them. None may take more memory
than ``ROOM``: the process's peak is looked at after each.
"""

from __future__ import annotations

import gzip
import io
import os
import socket
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse
from harness import Tally, damaged
from PIL import Image

import timebound as tb
from timebound.worlds.from_file import open_world

__all__ = ["fuzz"]

ROOM = 300 << 20  # bytes that the process's peak may grow by during a single input

Reader = Callable[[Path], Any]
Files = dict[str, bytes]


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """Throw about ``count`` inputs at the readers: up to half of them made by hand, the rest damaged or drawn."""
    begun = tally.inputs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        handmade = [
            *(partial(_read_hostile, tally, folder, kind) for kind in HOSTILE),
            *(partial(_read_special, tally, folder, *pair) for pair in product(_special_files(), READERS)),
        ]
        # In any order, so that a short run has some of each; a long one has all.
        for k in random.permutation(len(handmade)):
            if tally.inputs < begun + count // 2:
                handmade[k]()
        number = 0
        while tally.inputs < begun + count:
            number += 1
            kind = str(random.choice(list(SOUND)))
            files = SOUND[kind](random)
            harmed = str(random.choice(list(files)))
            files[harmed] = damaged(files[harmed], random)
            _read_all(tally, folder, f"damaged {kind} {number}", files, kind)
            for _ in range(2):
                _objects(tally, random)


def _judge(tally: Tally, what: str, call: Callable[[], Any]) -> Any:
    before = _peak()
    result = tally.judge(what, call)
    grown = _peak() - before
    if grown > ROOM:
        tally.blame(what, f"took {grown >> 20} MiB")
    return result


def _peak() -> int:
    """The most memory that this process ever had, in bytes; 0 where it cannot be asked for."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# --------------------------------------------------------------------------------------------- files


def _read_all(tally: Tally, folder: Path, what: str, files: Files, kind: str) -> None:
    """Write the files, and read the first of them by every way there is."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    path = folder / next(iter(files))
    small = sum(map(len, files.values())) < 2000
    for k, way in enumerate([*READERS[kind], _command_line]):
        told = f"{what}, way {k}, {files if small else 'long'}"
        result = _judge(tally, told, lambda way=way: way(path))
        witness = WITNESSES.get(kind) if small and result is not None else None
        if witness is not None and not witness(path, getattr(result, "world", result)):
            tally.blame(told, "was read as something else than it is")
    for name in files:
        (folder / name).unlink()


def _command_line(path: Path) -> Any:
    if path.suffix == ".scen":
        scenario = tb.Scenario(path)
        return scenario.problems(open_world(scenario.map_path()).world)
    return open_world(path)


def _map_is(path: Path, grid: tb.Grid) -> bool:
    """Whether a map says the same when it is read in the plainest way."""
    lines = [line.removesuffix("\r") for line in path.read_bytes().decode().split("\n")]
    rows = [[letter in ".GS" for letter in row] for row in lines[4 : 4 + grid.shape[0]]]
    return f"{lines[1]} {lines[2]}".split().count(str(grid.shape[0])) >= 1 and grid.free.tolist() == rows


def _array_is(path: Path, grid: tb.Grid) -> bool:
    array = np.load(path, allow_pickle=False)
    return bool(np.array_equal(grid.costs, np.where((array != 0) & np.isfinite(array), array, np.inf)))


def _graph_is(path: Path, graph: tb.Graph) -> bool:
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("latin-1").split("\n")
    words = [line.split() for line in lines]
    best: dict[tuple[int, int], float] = {}
    for word in words:
        if word and word[0] == "a" and word[1] != word[2]:
            arc = int(float(word[1])) - 1, int(float(word[2])) - 1
            best[arc] = min(best.get(arc, np.inf), float(word[3]))
    nodes = next(int(word[2]) for word in words if word and word[0] == "p")
    heads = np.repeat(np.arange(graph.states), np.diff(graph.view.first)).tolist()
    ours = zip(zip(heads, graph.view.head.tolist(), strict=True), graph.view.length.tolist(), strict=True)
    return graph.states == nodes and dict(ours) == {arc: cost for arc, cost in best.items() if arc[0] != arc[1]}


# What else can tell whether a file was read rightly.
WITNESSES: dict[str, Callable[[Path, Any], bool]] = {
    "map": _map_is, "npy": _array_is, "gr": _graph_is, "gr.gz": _graph_is,
}  # fmt: skip


def _map(random: np.random.Generator) -> bytes:
    rows, cols = (int(k) for k in random.integers(1, 12, 2))
    lines = ["".join(random.choice(list(".GS@OTW"), cols)) for _ in range(rows)]
    end = str(random.choice(["\n", "\r\n"]))
    return end.join(["type octile", f"height {rows}", f"width {cols}", "map", *lines, ""]).encode()


def _scen(random: np.random.Generator) -> Files:
    lines = ["version 1"]
    for k in range(int(random.integers(1, 9))):
        places = "\t".join(str(int(n)) for n in random.integers(0, 4, 4))
        lines.append(f"{k}\tsome.map\t4\t4\t{places}\t{float(random.random()):.8f}")
    grid = "type octile\nheight 4\nwidth 4\nmap\n" + "....\n" * 4
    return {"some.scen": "\n".join(lines).encode(), "some.map": grid.encode()}


def _graph(random: np.random.Generator) -> tuple[bytes, bytes]:
    n, m = int(random.integers(1, 9)), int(random.integers(0, 20))
    arcs = [f"a {random.integers(1, n + 1)} {random.integers(1, n + 1)} {random.integers(1, 99)}" for _ in range(m)]
    places = [f"v {k + 1} {random.integers(-999, 999)} {random.integers(-999, 999)}" for k in range(n)]
    text = "\n".join(["c roads", f"p sp {n} {m}", *arcs, ""])
    return text.encode(), "\n".join([f"p aux sp co {n}", *places, ""]).encode()


def _pixels(random: np.random.Generator) -> np.ndarray:
    shape = tuple(int(k) for k in random.integers(1, 12, 2))
    return random.choice(np.array([0, 254, 255], np.uint8), shape)


def _image(random: np.random.Generator, form: str) -> bytes:
    pixels = _pixels(random)
    modes = {"GIF": ["L", "P"], "PPM": ["L", "RGB", "1"], "JPEG": ["L", "RGB"], "WEBP": ["RGB", "RGBA"]}
    mode = str(random.choice(modes.get(form, ["L", "RGB", "RGBA", "P", "1"])))
    mode = "RGB" if form == "BMP" and mode == "RGBA" else mode
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, form)
    return file.getvalue()


def _pgm(random: np.random.Generator) -> bytes:
    pixels = _pixels(random)
    header = f"{pixels.shape[1]} {pixels.shape[0]}\n255\n"
    if random.integers(2):
        return f"P5\n# made by hand\n{header}".encode() + pixels.tobytes()
    return f"P2\n{header}{' '.join(str(value) for value in pixels.ravel())}\n".encode()


def _npy(random: np.random.Generator) -> bytes:
    file = io.BytesIO()
    dtype = str(random.choice(["?", "<i4", ">f8", "<f4", "u1", "O", "<U3", "<f2", "<c16"]))
    np.save(file, np.asarray(random.integers(0, 2, (4, 5)), dtype=dtype), allow_pickle=True)
    return file.getvalue()


def _npz(random: np.random.Generator) -> bytes:
    file = io.BytesIO()
    (np.savez, np.savez_compressed)[int(random.integers(2))](file, np.ones((3, 4)))
    return file.getvalue()


def _ros(random: np.random.Generator) -> Files:
    name = str(random.choice(["some.pgm", "some.png"]))
    origin = str(random.choice(["[-1.5, 2, 0.1]", "\n- 0.0\n- 1.0\n- 0"]))
    text = (
        f"image: {name}\nresolution: 0.05 # m\norigin: {origin}\nnegate: {random.integers(2)}\n"
        f"occupied_thresh: 0.65\nfree_thresh: 0.196\nmode: {random.choice(['trinary', 'scale', 'raw'])}\n"
    )
    return {"some.yaml": text.encode(), name: _pgm(random) if name == "some.pgm" else _image(random, "PNG")}


def _with_points(random: np.random.Generator, ending: str) -> Files:
    pack: Callable[[bytes], bytes] = gzip.compress if ending.endswith("gz") else bytes
    graph, points = _graph(random)
    return {f"some.{ending}": pack(graph), f"some.{ending.replace('gr', 'co')}": pack(points)}


SOUND: dict[str, Callable[[np.random.Generator], Files]] = {
    "map": lambda random: {"some.map": _map(random)},
    "scen": _scen,
    "gr": lambda random: _with_points(random, "gr"),
    "gr.gz": lambda random: _with_points(random, "gr.gz"),
    "png": lambda random: {"some.png": _image(random, "PNG")},
    "gif": lambda random: {"some.gif": _image(random, "GIF")},
    "bmp": lambda random: {"some.bmp": _image(random, "BMP")},
    "tif": lambda random: {"some.tif": _image(random, "TIFF")},
    "webp": lambda random: {"some.webp": _image(random, "WEBP")},
    "jpg": lambda random: {"some.jpg": _image(random, "JPEG")},
    "pgm": lambda random: {"some.pgm": _pgm(random)},
    "ppm": lambda random: {"some.ppm": _image(random, "PPM")},
    "npy": lambda random: {"some.npy": _npy(random)},
    "npz": lambda random: {"some.npz": _npz(random)},
    "yaml": _ros,
}

_IMAGE: list[Reader] = [tb.Grid.from_image, lambda path: tb.Grid.from_image(path, threshold=200)]
_GRAPH: list[Reader] = [tb.Graph.load, lambda path: tb.Graph.load(path, str(path).replace(".gr", ".co"))]
READERS: dict[str, list[Reader]] = {
    **dict.fromkeys(["png", "gif", "bmp", "tif", "webp", "jpg", "pgm", "ppm"], _IMAGE),
    "map": [tb.Grid.load],
    "scen": [tb.Scenario],
    "gr": _GRAPH,
    "gr.gz": _GRAPH,
    "npy": [],
    "npz": [],
    "yaml": [tb.Grid.from_ros, lambda path: tb.Grid.from_ros(path, unknown="free")],
}


# ---------------------------------------------------------------------------------------- made to do harm


def _png(columns: int, rows: int, packed: bytes, colour: int = 0, depth: int = 1) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _header_of_npy(text: str, tail: bytes = b"", version: bytes = b"\1\0") -> bytes:
    data = text.encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(data)) + data + tail


def _pickled() -> bytes:
    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return os._exit, (99,)

    file = io.BytesIO()
    array = np.empty((1, 1), object)
    array[0, 0] = Harm()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _zeros(count: int) -> bytes:
    """So many zero bytes, packed, a thousandth as long."""
    packer = zlib.compressobj(1)
    piece = bytes(1 << 20)
    return b"".join([*(packer.compress(piece) for _ in range(count >> 20)), packer.flush()])


def _gzipped(line: bytes, size: int, head: bytes = b"") -> bytes:
    """A gzip file of so many bytes of lines, made of many equal parts: quick to make, as it is to unpack."""
    block = line * ((1 << 20) // len(line))
    return gzip.compress(head) + gzip.compress(block) * (size >> 20)


def _yaml(**changed: str) -> bytes:
    fields = {"image": "x.pgm", "resolution": "0.05", "origin": "[0, 0, 0]", "negate": "0"}
    fields |= {"occupied_thresh": "0.65", "free_thresh": "0.196"} | changed
    return "".join(f"{key}: {value}\n" for key, value in fields.items()).encode()


_SHAPE = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
# The first word is the kind of file, by which it is read.
HOSTILE: dict[str, Callable[[], Files]] = {
    "gr of 200 million nodes": lambda: {"x.gr": b"p sp 200000000 0\n"},
    "gr of 10^17 nodes": lambda: {"x.gr": b"p sp 99999999999999999 1\na 1 2 3\n"},
    "gr of blank lines": lambda: {"x.gr": b"p sp 2 0\n" + b"\n" * (4 << 20)},
    "gr of problem lines": lambda: {"x.gr": b"p\n" * (2 << 20)},
    "gr of one line": lambda: {"x.gr": b"c" * (8 << 20)},
    "gr with points for many": lambda: {"x.gr": b"p sp 900000000 0\n", "x.co": b"p aux sp co 900000000\n"},
    "gr.gz of a gigabyte": lambda: {"x.gr.gz": _gzipped(b"c" * 63 + b"\n", 1 << 30, b"p sp 2 0\n")},
    "gr.gz of one line": lambda: {"x.gr.gz": _gzipped(b"c", 1 << 27)},
    "gr.gz of arcs": lambda: {"x.gr.gz": _gzipped(b"a 1 1 1\n", 1 << 27, b"p sp 2 99\n")},
    "gr.gz of a dozen parts": lambda: {"x.gr.gz": gzip.compress(b"c\n" * (1 << 20)) * 12},
    "map of 32768 x 32768": lambda: {"x.map": b"type octile\nheight 32768\nwidth 32768\nmap\n.\n"},
    "map of 10^17 rows": lambda: {"x.map": b"type octile\nheight 99999999999999999\nwidth 1\nmap\n.\n"},
    "map of blank rows": lambda: {"x.map": b"type octile\nheight 2\nwidth 2\nmap\n" + b"\n" * (4 << 20) + b"."},
    "scen with a long name": lambda: {"x.scen": b"version 1\n0\t" + b"m" * 5000 + b"\t4\t4\t0\t0\t1\t1\t1\n"},
    "scen with a null byte": lambda: {"x.scen": b"version 1\n0\ta\0.map\t4\t4\t0\t0\t1\t1\t1\n"},
    "scen far off": lambda: {"x.scen": b"version 1\n0\tx.map\t9\t9\t" + b"99999999999999999\t" * 4 + b"1\n"},
    "png of 178 million pixels": lambda: {"x.png": _png(13350, 13350, _zeros(13350 * 1670))},
    "png of 10^9 pixels": lambda: {"x.png": _png(32000, 32000, _zeros(1 << 24))},
    "png of the largest size": lambda: {"x.png": _png(2**31 - 1, 2**31 - 1, b"")},
    "png of 4096 x 4096 in colour": lambda: {"x.png": _png(4096, 4096, _zeros(4096 * 4096 * 4 + 4096), 6, 8)},
    "png of 0 x 0": lambda: {"x.png": _png(0, 0, b"")},
    "pgm of a huge width": lambda: {"x.pgm": b"P5\n99999999999999999999 1\n255\n\0"},
    "pgm of a large width": lambda: {"x.pgm": b"P5\n2147483647 2147483647\n255\n\0"},
    "pgm of 13000 x 13000": lambda: {"x.pgm": b"P5\n13000 13000\n255\n\0"},
    "pgm of 4000 x 4000": lambda: {"x.pgm": b"P5\n4000 4000\n255\n\0"},
    "pgm in words": lambda: {"x.pgm": b"P2\n4000 4000\n255\n" + b"0 " * 99},
    "pgm of a large maximum": lambda: {"x.pgm": b"P5\n2 2\n65536\n\0\0\0\0"},
    "bmp of a huge size": lambda: {
        "x.bmp": b"BM" + struct.pack("<IIIIiiHHIIiiII", 99, 0, 54, 40, 2**31 - 1, 9, 1, 24, *[0] * 6)
    },
    "gif of 65535 x 65535": lambda: {"x.gif": b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\2\0;"},
    "webp of 16384 x 16384": lambda: {
        "x.webp": b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x3f\0\xff\x3f\0VP8 \0\0\0\0"
    },
    "npy with a pickle": lambda: {"x.npy": _pickled()},
    "npy of a huge shape": lambda: {"x.npy": _header_of_npy(_SHAPE % ("<f8", "(4000000000, 4000000000)"))},
    "npy of 10^30": lambda: {"x.npy": _header_of_npy(_SHAPE % ("<f8", f"({10**30}, 0)"))},
    "npy of a gigabyte": lambda: {"x.npy": _header_of_npy(_SHAPE % ("|b1", "(30000, 40000)"), b"\1" * 9)},
    "npy of a negative shape": lambda: {"x.npy": _header_of_npy(_SHAPE % ("<f8", "(-1, -8)"), b"\1" * 64)},
    "npy with an open header": lambda: {"x.npy": _header_of_npy("{'descr': ((((((")},
    "npy with a deep header": lambda: {"x.npy": _header_of_npy("(" * 9000 + ")" * 9000)},
    "npy with a wide type": lambda: {"x.npy": _header_of_npy(_SHAPE % ("|V999999999", "(3,)"))},
    "npy with a header of dates": lambda: {"x.npy": _header_of_npy(_SHAPE % ("<M8[D]", "(1, 1)"), bytes(8))},
    "npy of version 9": lambda: {"x.npy": _header_of_npy(_SHAPE % ("<f8", "(1, 1)"), bytes(8), b"\x09\x09")},
    "npy that is a bad zip": lambda: {"x.npy": b"PK\3\4" + b"\xff" * 60},
    "npz of a gigabyte": lambda: {"x.npz": b"PK\3\4" + _zeros(1 << 24)},
    "yaml without end": lambda: {"x.yaml": b"image: &a [*a, *a]\n" * 99},
    "yaml of itself": lambda: {"x.yaml": _yaml(image="x.yaml")},
    "yaml with a null byte": lambda: {"x.yaml": _yaml(image="a\0b")},
    "yaml with a long name": lambda: {"x.yaml": _yaml(image="a" * 9999)},
    "yaml of a folder": lambda: {"x.yaml": _yaml(image=".")},
    "yaml with huge numbers": lambda: {"x.yaml": _yaml(resolution="1" + "0" * 400)},
    "yaml with a bomb": lambda: {"x.yaml": _yaml(), "x.pgm": b"P5\n60000 60000\n255\n\0"},
    "yaml of 4096 x 4096": lambda: {
        "x.yaml": _yaml(image="x.png"), "x.png": _png(4096, 4096, _zeros(4096 * 4096 * 4 + 4096), 6, 8)
    },
}  # fmt: skip


def _read_hostile(tally: Tally, folder: Path, kind: str) -> None:
    _read_all(tally, folder, f"hostile {kind}", HOSTILE[kind](), kind.split()[0])


def _special_files() -> dict[str, Callable[[Path], object]]:
    """Ways to make a name that leads to no regular file, where the system has such."""
    made: dict[str, Callable[[Path], object]] = {"folder": lambda path: path.mkdir()}
    if hasattr(os, "mkfifo"):
        made["pipe"] = lambda path: os.mkfifo(path)
        made["link to nothing"] = lambda path: path.symlink_to("not there")
        made["link to itself"] = lambda path: path.symlink_to(path)
        made["socket"] = _socket
        for device in ("/dev/zero", "/dev/random", "/dev/null", "/dev/tty"):
            if Path(device).exists():
                made[device] = lambda path, device=device: path.symlink_to(device)
    return made


def _read_special(tally: Tally, folder: Path, what: str, ending: str) -> None:
    path = folder / f"s.{ending}"
    _special_files()[what](path)
    for way in [*READERS[ending], _command_line]:
        _judge(tally, f"{what} as .{ending}", lambda way=way: way(path))
    path.rmdir() if what == "folder" else path.unlink()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


# ----------------------------------------------------------------------------------------- arrays and edits

_NUMBERS = [0, 1, 2, -1, 100, 0.5, 1e308, 5e-324, float("nan"), float("inf"), -float("inf"), 10**30, 10**400, 2**63]
_OTHER = [None, True, "a", "", b"x", (), [], {}, set(), object(), 1j, Ellipsis, range(3), np.nan, [[]], [None], "7"]
_DTYPES = ["?", "i1", "i8", "u8", "f8", "f2", "c8", "O", "U2", "M8[D]", "m8[s]", "V3", "S1"]


def _thing(random: np.random.Generator, depth: int = 0) -> Any:
    """Something that a user might give by mistake."""
    match int(random.integers(9)):
        case 0 | 1:
            return _NUMBERS[int(random.integers(len(_NUMBERS)))]
        case 2:
            return _OTHER[int(random.integers(len(_OTHER)))]
        case 3 | 4 if depth < 2:
            return [_thing(random, depth + 1) for _ in range(int(random.integers(4)))]
        case 5 if depth < 2:
            return tuple(_thing(random, depth + 1) for _ in range(int(random.integers(1, 4))))
        case 6:
            shape = tuple(int(k) for k in random.integers(0, 4, int(random.integers(4))))
            dtype = str(
                random.choice(["?", "i1", "i8", "u8", "f8", "f2", "c8", "O", "U2", "M8[D]", "m8[s]", "V3", "S1"])
            )
            return np.zeros(shape, dtype)
        case 7:
            return np.ma.masked_array(random.integers(-1, 101, (3, 3)), mask=random.integers(0, 2, (3, 3)))
        case _:
            return random.choice([-1, 0, 1, 2, 50, 100], tuple(int(k) for k in random.integers(1, 4, 2)))


def _objects(tally: Tally, random: np.random.Generator) -> None:
    """One call with things that may be wrong. A world that comes out of it, or is edited, can still be searched."""
    a, b, c, d = (_thing(random) for _ in range(4))
    grid = tb.Grid([[1, 1, 1], [1, 0, 1], [1, 1, 2]]) if random.integers(2) else tb.Grid(np.ones((3, 3)))
    names = tb.Graph(
        [0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], labels=["a", "b", (0, 1)], directed=bool(random.integers(2))
    )
    roads = nx.Graph([("a", "b", {"weight": a}), ("b", "c", {"length": b})])
    later = bool(random.integers(2))
    calls: dict[str, Callable[[], Any]] = {
        "Grid": lambda: tb.Grid(a),
        "Grid with options": lambda: tb.Grid(np.ones((3, 3)), connectivity=a, corners=b, diagonal=c),
        "Grid of terrain": lambda: tb.Grid(a, terrain=True),
        "from_occupancy": lambda: tb.Grid.from_occupancy(a),
        "from_occupancy with options": lambda: tb.Grid.from_occupancy([[0, 100]], occupied=a, free=b, unknown=c),
        "from_occupancy in metres": lambda: tb.Grid.from_occupancy([[0, 50]], resolution=a, origin=b).cell_at(c, d),
        "block": lambda: (grid.block(a, later=later), grid.changes.catch_up()),
        "unblock": lambda: (grid.unblock(a, later=later), grid.changes.catch_up()),
        "set_cost": lambda: (grid.set_cost(a, b, later=later), grid.changes.catch_up()),
        "set_cost of a cell": lambda: (grid.set_cost((0, 0), a, later=later), grid.changes.catch_up()),
        "scale": lambda: grid.scale(a),
        "point_at": lambda: grid.point_at(a, b),
        "state_of": lambda: grid.state_of(a),
        "path_states": lambda: grid.path_states(a),
        "load": lambda: tb.Grid.load(a),
        "from_image": lambda: tb.Grid.from_image(a, threshold=b),
        "from_ros": lambda: tb.Grid.from_ros(a),
        "Scenario": lambda: tb.Scenario(a),
        "open_world": lambda: open_world(a),
        "Graph": lambda: tb.Graph(a, b, c),
        "Graph of one thing": lambda: tb.Graph(a),
        "Graph of costs": lambda: tb.Graph([0, 1], [1, 2], [x if isinstance(x, (int, float)) else 1 for x in (a, b)]),
        "Graph with nodes": lambda: tb.Graph([0], [1], nodes=a, labels=b),
        "Graph with coordinates": lambda: tb.Graph([0], [1], coordinates=a, heuristic=b, landmarks=c),
        "Graph with places": lambda: tb.Graph([0], [1], coordinates=[[0, 0], [a, b]]),
        "Graph with a vector": lambda: tb.Graph([0], [1], heuristic={1: a}).view_for(1),
        "from_networkx": lambda: tb.Graph.from_networkx(a),
        "from_networkx with weights": lambda: tb.Graph.from_networkx(roads),
        "from_networkx with a name": lambda: tb.Graph.from_networkx(roads, weight=c, coordinates=d),
        "from_scipy": lambda: tb.Graph.from_scipy(a),
        "from_scipy of numbers": lambda: tb.Graph.from_scipy(_sparse(a)),
        "Graph.load": lambda: tb.Graph.load(a, b),
        "block an arc": lambda: (names.block(a, b, later=later), names.changes.catch_up()),
        "set_cost of an arc": lambda: (names.set_cost("a", "b", a, later=later), names.changes.catch_up()),
        "node": lambda: names.state_of(a),
        "TilePuzzle": lambda: tb.TilePuzzle(a, b),
        "board": lambda: tb.TilePuzzle(2, 2).state_of(a),
        "since": lambda: grid.changes.since(a),
    }  # fmt: skip
    name = str(random.choice(list(calls)))
    told = f"{name} of {_told(a)}, {_told(b)}, {_told(c)}, {_told(d)}"
    result = _judge(tally, told, calls[name])
    for world in (result, grid, names):
        sound = isinstance(world, (tb.Grid, tb.Graph)) and world.states < 10_000
        if sound and getattr(world, "_vectors", None) is None:  # what a user estimates need not fit any goal
            _search(tally, told, world, random)


def _search(tally: Tally, told: str, world: Any, random: np.random.Generator) -> None:
    """Walk somewhere, and see that the walk is legal and costs what it says. Not counted as an input."""
    if isinstance(world, tb.Grid) and not world.free_count:
        return
    start, goal = (world.point_of(int(state)) for state in world.random_states(2, random))
    try:
        result = tb.solve(world, start, goal, "a*")
        if result.status == "reached":
            cost = tb.validate(world, result.path, start=start, goal=goal).cost
            if not np.isclose(cost, result.cost):
                tally.blame(told, f"the walk from {start} to {goal} costs {cost}, not {result.cost}")
    except Exception as problem:
        tally.blame(told, f"a search from {start} to {goal} ended with {problem!r}")


def _sparse(thing: Any) -> Any:
    """A sparse matrix of what is a matrix of numbers, else the thing itself."""
    sound = isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind in "bif" and thing.size
    return scipy.sparse.csr_array(thing.astype(float)) if sound else thing


def _told(thing: Any) -> str:
    try:
        return repr(thing)[:200]
    except ValueError:
        return "a whole number of many digits"
