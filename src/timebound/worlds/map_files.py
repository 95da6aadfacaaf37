"""Files of worlds: MovingAI maps and scenarios, and DIMACS road graphs.

Every mistake in a file becomes one sentence that names the file, the line and what would be right.
Whole files are parsed as arrays, never byte by byte: a map of 8192 x 8192 cells opens in a moment.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from timebound.atomic import write_whole
from timebound.errors import MapError
from timebound.worlds.opening import check_nodes, read_file, unpacked

__all__ = [
    "BLOCKED",
    "PASSABLE",
    "ScenarioLine",
    "passable",
    "read_dimacs",
    "read_map",
    "read_scen",
    "write_map",
    "write_scen",
]

PASSABLE = b".GS"
"""Ground, ground, and swamp that can be entered from ground."""

BLOCKED = b"@OTW"
"""Out of bounds twice, trees and water."""

_LARGEST = 32768  # of a side; a larger number in a header is a typing error or an attack on memory
_LONGEST_LINE = 1 << 20
_LF = 10

_IS_PASSABLE = np.zeros(256, dtype=bool)
_IS_PASSABLE[list(PASSABLE)] = True
_IS_KNOWN = _IS_PASSABLE.copy()
_IS_KNOWN[list(BLOCKED)] = True
_KNOWN_IN_WORDS = " ".join(chr(code) for code in PASSABLE + BLOCKED)


# ---------------------------------------------------------------------------------------------- maps


def read_map(path: str | Path) -> np.ndarray:
    """Read a MovingAI ``.map`` file as a uint8 array (rows, columns) of its characters.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.map"
    >>> _ = file.write_text("type octile\\nheight 2\\nwidth 3\\nmap\\n..@\\nT.S\\n")
    >>> [bytes(row).decode() for row in read_map(file)]
    ['..@', 'T.S']
    """
    data = read_file(path, "a map begins with 'type octile'")
    if b"\0" in data or not data.isascii():
        raise _binary(path, data, "a map")
    height, width, body = _map_header(path, data)

    # A file whose lines all end alike is one rectangle of bytes, so its rows need no splitting.
    glyphs = _as_rectangle(data, body, height, width)
    if glyphs is None:
        glyphs = _row_by_row(path, data, body, height, width)
    return glyphs


def passable(glyphs: np.ndarray) -> np.ndarray:
    """Which cells an agent on foot may enter; characters that no map uses count as blocked.

    >>> passable(np.frombuffer(b".GS@OTW", dtype=np.uint8)).tolist()
    [True, True, True, False, False, False, False]
    """
    return _IS_PASSABLE[np.asarray(glyphs, dtype=np.uint8)]


def write_map(path: str | Path, glyphs: np.ndarray) -> None:
    """Write a ``.map`` file, whole or not at all; a bool array is written as ``.`` (True) and ``@``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.map"
    >>> write_map(file, np.array([[True, False]]))
    >>> file.read_text()
    'type octile\\nheight 1\\nwidth 2\\nmap\\n.@\\n'
    """
    cells = np.asarray(glyphs)
    if cells.ndim != 2 or 0 in cells.shape or max(cells.shape) > _LARGEST:
        raise MapError(
            f"cannot write {path}: a map is a two-dimensional array with sides of 1 to {_LARGEST} cells, "
            f"and this one has shape {cells.shape}"
        )
    if cells.dtype == np.bool_:
        cells = np.where(cells, np.uint8(ord(".")), np.uint8(ord("@")))
    elif cells.dtype != np.uint8:
        raise MapError(f"cannot write {path}: a map holds bool cells or uint8 characters, and this one {cells.dtype}")
    known = _IS_KNOWN[cells]
    if not known.all():
        row, col = (int(i) for i in np.unravel_index(int(np.argmin(known)), cells.shape))
        raise MapError(
            f"cannot write {path}: cell ({row}, {col}) holds {chr(cells[row, col])!r}, "
            f"which no map uses; known are {_KNOWN_IN_WORDS}"
        )
    height, width = cells.shape
    lines = np.full((height, width + 1), _LF, dtype=np.uint8)
    lines[:, :width] = cells
    write_whole(path, f"type octile\nheight {height}\nwidth {width}\nmap\n".encode() + lines.tobytes(), MapError)


def _map_header(path: str | Path, data: bytes) -> tuple[int, int, int]:
    """Height, width, and where in the file the rows begin."""
    position = 0
    sizes: dict[str, int] = {}
    for number in range(1, 5):
        end = data.find(b"\n", position)
        stop = len(data) if end < 0 else end
        line = data[position:stop].decode("ascii").strip()
        if position >= len(data) and not line:
            raise MapError(
                f"{path} ends after line {number - 1}, inside the header; "
                "a map begins with the lines 'type octile', 'height H', 'width W' and 'map'"
            )
        position = stop + 1
        words = line.split()
        if number == 1:
            if len(words) != 2 or words[0] != "type":
                raise MapError(f"{path}, line 1: found {_short(line)}, and a map begins with 'type octile'")
        elif number == 4:
            if words != ["map"]:
                raise MapError(f"{path}, line 4: found {_short(line)}, and the header ends with the line 'map'")
        else:
            wanted = [name for name in ("height", "width") if name not in sizes]
            form = " or ".join(f"'{name} {name[0].upper()}'" for name in wanted)
            if len(words) != 2 or words[0] not in wanted:
                raise MapError(f"{path}, line {number}: found {_short(line)}, and this line must be {form}")
            size = _whole_number(words[1])
            if size is None or not 1 <= size <= _LARGEST:
                raise MapError(
                    f"{path}, line {number}: the {words[0]} is {_short(words[1])}, "
                    f"and it must be a whole number from 1 to {_LARGEST}"
                )
            sizes[words[0]] = size
    return sizes["height"], sizes["width"], position


def _as_rectangle(data: bytes, body: int, height: int, width: int) -> np.ndarray | None:
    """The rows as one array, or None when the file is not a clean rectangle."""
    eol = b"\r\n" if data[body + width : body + width + 2] == b"\r\n" else b"\n"
    stride = width + len(eol)
    stop = body + height * stride
    if len(data) == stop - len(eol):
        data += eol
    if len(data) < stop or data[stop:].strip():
        return None
    rows = np.frombuffer(data, dtype=np.uint8, count=height * stride, offset=body).reshape(height, stride)
    if not (rows[:, width:] == np.frombuffer(eol, dtype=np.uint8)).all():
        return None
    glyphs = np.ascontiguousarray(rows[:, :width])
    return glyphs if _IS_KNOWN[glyphs].all() else None


def _row_by_row(path: str | Path, data: bytes, body: int, height: int, width: int) -> np.ndarray:
    """The slow road, for mixed line ends and for saying exactly what is wrong."""
    text = data[body:].replace(b"\r\n", b"\n")
    # A blank row at the end is none, unless it stands before another. Rows beyond the promised ones are only counted.
    text = text[: len(text.rstrip())] + text[len(text.rstrip()) :].split(b"\n", 1)[0]
    rows = text.split(b"\n", height) if text.strip() else []
    many = len(rows) + (rows[height].count(b"\n") if len(rows) > height else 0)
    for index, row in enumerate(rows[:height]):
        line = index + 5
        if len(row) < width and index == many - 1 and many < height:
            raise MapError(
                f"{path} is cut off in line {line}: row {many} of {height} has {len(row)} of its {width} characters"
            )
        if len(row) != width:
            raise MapError(
                f"{path}, line {line}: the row is {len(row)} characters long, "
                f"and the header promises a width of {width}"
            )
        known = _IS_KNOWN[np.frombuffer(row, dtype=np.uint8)]
        if not known.all():
            col = int(np.argmin(known))
            raise MapError(
                f"{path}, line {line}, column {col + 1}: {chr(row[col])!r} is no map character; "
                f"known are {_KNOWN_IN_WORDS}"
            )
    if many != height:
        raise MapError(
            f"{path} has {many} {'row' if many == 1 else 'rows'} after its header, "
            f"and the header promises a height of {height}"
        )
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(height, width).copy()


# ----------------------------------------------------------------------------------------- scenarios


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """One problem of a ``.scen`` file; start and goal are (row, column), unlike in the file.

    >>> ScenarioLine(0, "tiny.map", 3, 2, start=(0, 0), goal=(1, 1), optimal=2.0).goal
    (1, 1)
    """

    bucket: int
    map: str
    width: int
    height: int
    start: tuple[int, int]
    goal: tuple[int, int]
    optimal: float


_SCEN_FIELDS = (
    "bucket",
    "map",
    "width",
    "height",
    "start x",
    "start y",
    "goal x",
    "goal y",
    "optimal length",
)


def read_scen(path: str | Path) -> list[ScenarioLine]:
    """Read the problems of a MovingAI ``.scen`` file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.map.scen"
    >>> _ = file.write_text("version 1\\n0\\ttiny.map\\t3\\t2\\t1\\t0\\t2\\t1\\t1.41421356\\n")
    >>> [(line.start, line.goal) for line in read_scen(file)]
    [((0, 1), (1, 2))]
    """
    data = read_file(path, "a scenario file begins with 'version 1'")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise _binary(path, data, "a scenario file") from error
    if b"\0" in data:
        raise _binary(path, data, "a scenario file")
    problems = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or (number == 1 and _is_version(path, text)):
            continue
        problems.append(_scenario(path, number, text))
    return problems


def write_scen(path: str | Path, lines: Iterable[ScenarioLine]) -> None:
    """Write a ``.scen`` file that :func:`read_scen` reads back unchanged, whole or not at all.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.map.scen"
    >>> problem = ScenarioLine(0, "tiny.map", 3, 2, start=(0, 1), goal=(1, 2), optimal=1.5)
    >>> write_scen(file, [problem])
    >>> read_scen(file) == [problem]
    True
    """
    text = ["version 1\n"]
    for index, line in enumerate(lines):
        name = line.map
        if not name or name != name.strip() or any(mark in name for mark in "\t\n\r\0"):
            raise MapError(
                f"cannot write {path}: problem {index} names its map {name!r}, "
                "and a map name is neither empty nor holds tabs, line ends or outer blanks"
            )
        if min(*line.start, *line.goal) < 0:
            raise MapError(
                f"cannot write {path}: problem {index} goes from {line.start} to {line.goal}, "
                "and coordinates are never negative"
            )
        (start_row, start_col), (goal_row, goal_col) = line.start, line.goal
        places = f"{start_col}\t{start_row}\t{goal_col}\t{goal_row}"
        sizes = f"{line.width}\t{line.height}"
        text.append(f"{line.bucket}\t{name}\t{sizes}\t{places}\t{float(line.optimal)!r}\n")
    write_whole(path, "".join(text), MapError)


def _is_version(path: str | Path, text: str) -> bool:
    words = text.split()
    if words[0] != "version":
        return False
    if len(words) != 2 or _number(words[1]) is None:
        raise MapError(f"{path}, line 1: found {_short(text)}, and a scenario file begins with 'version 1'")
    return True


def _scenario(path: str | Path, number: int, text: str) -> ScenarioLine:
    # Tabs first: only they allow a blank inside a map's name.
    fields = text.split("\t")
    if len(fields) != len(_SCEN_FIELDS):
        fields = text.split()
    if len(fields) != len(_SCEN_FIELDS):
        raise MapError(
            f"{path}, line {number}: found {len(fields)} fields, and a problem has {len(_SCEN_FIELDS)}: "
            f"{', '.join(_SCEN_FIELDS)}"
        )
    whole: list[int] = []
    for name, field in zip(_SCEN_FIELDS[:8], fields[:8], strict=True):
        if name == "map":
            continue
        value = _whole_number(field.strip())
        if value is None or value < 0:
            raise MapError(
                f"{path}, line {number}: the {name} is {_short(field)}, and it must be a whole number from 0 up"
            )
        whole.append(value)
    optimal = _number(fields[8])
    if optimal is None or optimal < 0:
        raise MapError(
            f"{path}, line {number}: the optimal length is {_short(fields[8])}, and it must be a number from 0 up"
        )
    bucket, width, height, start_x, start_y, goal_x, goal_y = whole
    return ScenarioLine(bucket, fields[1].strip(), width, height, (start_y, start_x), (goal_y, goal_x), optimal)


# --------------------------------------------------------------------------------------- road graphs


def read_dimacs(
    graph: str | Path, coordinates: str | Path | None = None
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Read a DIMACS ``.gr`` graph, and its ``.co`` coordinates if given; either may be gzipped.

    Returns the number of nodes, then sources and targets (int64, from 0), costs (float64), and
    the coordinates (float64, one x, y pair per node, as in the file) or None.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.gr"
    >>> _ = file.write_text("c two nodes\\np sp 2 2\\na 1 2 7\\na 2 1 9\\n")
    >>> n, sources, targets, costs, coords = read_dimacs(file)
    >>> n, sources.tolist(), targets.tolist(), costs.tolist(), coords
    (2, [0, 1], [1, 0], [7.0, 9.0], None)
    """
    problem, table, lines = _dimacs_table(graph, "a", ("p", "sp", "N", "M"), ("a", "U", "V", "W"))
    n, m = problem
    if len(table) != m:
        raise MapError(f"{graph} has {len(table)} arcs, and its problem line promises {m}")
    check_nodes(f"{graph} declares {n} nodes and has {m} arcs", n, m)
    ends = table[:, :2]
    wrong = _first((ends < 1) | (ends > n) | (ends != np.floor(ends)))
    if wrong is not None:
        raise MapError(
            f"{graph}, line {lines[wrong]}: the arc {_plain(table[wrong])} leaves the graph, whose nodes are 1 to {n}"
        )
    costs = table[:, 2].astype(np.float64)
    wrong = _first(~((costs > 0) & (costs < np.inf))[:, None])
    if wrong is not None:
        raise MapError(
            f"{graph}, line {lines[wrong]}: the arc {_plain(table[wrong])} costs {costs[wrong]:g}, "
            "and a cost is a number above 0"
        )
    sources, targets = (np.ascontiguousarray(ends[:, side].astype(np.int64) - 1) for side in (0, 1))
    return n, sources, targets, costs, None if coordinates is None else _dimacs_points(coordinates, n)


def _dimacs_points(path: str | Path, n: int) -> np.ndarray:
    problem, table, lines = _dimacs_table(path, "v", ("p", "aux", "sp", "co", "N"), ("v", "ID", "X", "Y"))
    if problem[0] != n:
        raise MapError(f"{path} has coordinates for {problem[0]} nodes, and the graph has {n}")
    ids = table[:, 0]
    wrong = _first(((ids < 1) | (ids > n) | (ids != np.floor(ids)) | ~np.isfinite(table).all(axis=1))[:, None])
    if wrong is not None:
        raise MapError(
            f"{path}, line {lines[wrong]}: the point {_plain(table[wrong])} is not a node from 1 to {n} "
            "with two finite coordinates"
        )
    times = np.bincount(ids.astype(np.int64) - 1, minlength=n)
    if (times != 1).any():
        node = int(np.argmax(times != 1))
        raise MapError(f"{path} places node {node + 1} {times[node]} times, and every node has one place")
    points = np.empty((n, 2), dtype=np.float64)
    points[ids.astype(np.int64) - 1] = table[:, 1:]
    return points


def _dimacs_table(
    path: str | Path, kind: str, problem: tuple[str, ...], entry: tuple[str, ...]
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Numbers of the problem line, one row of numbers per entry line, and the entries' line numbers."""
    form = " ".join(problem)
    data = read_file(path, f"a DIMACS file has a line '{form}'")
    tables = [np.empty((0, len(entry) - 1), np.int64)]
    lines = [np.empty(0, np.int64)]
    problems: list[tuple[int, str]] = []
    before = 0
    for block in _blocks(path, data):
        known, table, numbers = _dimacs_block(path, block, before, kind, entry)
        problems += known
        if len(problems) > 1:
            raise MapError(f"{path}, line {problems[1][0]}: a second problem line, and it needs one: '{form}'")
        tables.append(table)
        lines.append(numbers)
        before += block.count(b"\n")
    if not problems:
        raise MapError(f"{path} has no problem line, and it needs one: '{form}'")
    at, line = problems[0]
    words = line.split()
    fixed = sum(word.islower() for word in problem)
    sizes = [_whole_number(word) for word in words[fixed:]]
    counts = [size for size in sizes if size is not None and size >= 0]
    if tuple(words[:fixed]) != problem[:fixed] or len(words) != len(problem) or len(counts) != len(sizes):
        raise MapError(f"{path}, line {at}: found {_short(' '.join(words))}, and it must be '{form}'")
    return counts, np.concatenate(tables), np.concatenate(lines)


def _blocks(path: str | Path, data: bytes) -> Iterator[bytes]:
    """The text in blocks of whole lines. So what is made beside the numbers themselves stays small."""
    rest = b""
    lines = 0
    for piece in unpacked(path, data):
        end = piece.rfind(b"\n") + 1
        if end:
            block = rest + piece[:end]
            rest = piece[end:]
            lines += block.count(b"\n")
            yield block
        else:
            rest += piece
        if len(rest) > _LONGEST_LINE:
            raise MapError(f"{path}, line {lines + 1} has more than {_LONGEST_LINE} characters, and a line has few")
    if rest:
        yield rest + b"\n"


def _dimacs_block(
    path: str | Path, data: bytes, before: int, kind: str, entry: tuple[str, ...]
) -> tuple[list[tuple[int, str]], np.ndarray, np.ndarray]:
    """The first two problem lines of a block, and its entries, with the numbers of their lines.

    ``before`` lines stand before the block.

    The lines are sorted out as arrays and their numbers read in one call: a Python step per line
    would make a minute out of a second.
    """
    if b"\0" in data:
        raise _binary(path, data, "a DIMACS file", before)
    data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(text == _LF) + 1
    starts = np.concatenate(([0], ends[:-1]))
    first = text[starts]

    wrong = _first(~np.isin(first, np.frombuffer(f"cp{kind}\n".encode(), dtype=np.uint8))[:, None])
    if wrong is not None:
        line = data[starts[wrong] : ends[wrong]].decode("latin-1").strip()
        number = before + wrong + 1
        raise MapError(f"{path}, line {number}: found {_short(line)}, and a line begins with 'c', 'p' or '{kind}'")
    problems = [
        (before + at + 1, data[starts[at] : ends[at]].decode("latin-1"))
        for at in np.flatnonzero(first == ord("p"))[:2].tolist()
    ]

    # Entry lines alone, with their letter blanked, are nothing but numbers and white space.
    chosen = first == ord(kind)
    lengths = (ends - starts)[chosen]
    body = text[np.repeat(chosen, ends - starts)]
    letters = np.cumsum(lengths) - lengths
    body[letters] = ord(" ")
    apart = bool((body[letters + 1] <= ord(" ")).all())
    table = _numbers(body, lengths, len(entry) - 1) if apart else None
    lines = np.flatnonzero(chosen)
    if table is None:
        for at in lines.tolist():
            words = data[starts[at] : ends[at]].decode("latin-1").split()
            if len(words) != len(entry) or words[0] != kind or None in map(_number, words[1:]):
                found = f"{path}, line {before + at + 1}: found {_short(' '.join(words))}"
                raise MapError(f"{found}, and it must be '{' '.join(entry)}'")
        raise MapError(f"{path} holds a number that cannot be read")
    return problems, table, lines + before + 1


def _numbers(body: np.ndarray, lengths: np.ndarray, columns: int) -> np.ndarray | None:
    """The text as a table with ``columns`` numbers in each line, or None if it is no such table."""
    if len(lengths) == 0:
        return np.empty((0, columns), dtype=np.float64)
    # A word too many in one line and too few in another would hide each other in a total.
    blank = body <= ord(" ")
    begins = ~blank[1:] & blank[:-1]
    counts = np.add.reduceat(begins, np.cumsum(lengths) - lengths, dtype=np.int64)
    if (counts != columns).any():
        return None
    text = body.tobytes().decode("latin-1")
    # Whole numbers read seven times faster than decimals, and road graphs hold little else.
    for dtype in (np.int64, np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            try:
                numbers = np.fromstring(text, dtype=dtype, sep=" ")
            except (ValueError, DeprecationWarning):
                continue
        if numbers.size == columns * len(lengths):
            return numbers.reshape(-1, columns)
    return None


# ------------------------------------------------------------------------------------ what all share


def _binary(path: str | Path, data: bytes, wanted: str, before: int = 0) -> MapError:
    """The error that says where a file stops being text; ``before`` lines stand before these bytes."""
    codes = np.frombuffer(data, dtype=np.uint8)
    at = int(np.argmax((codes == 0) | (codes > 127)))
    line = before + data.count(b"\n", 0, at) + 1
    return MapError(f"{path}, line {line}: found the byte 0x{data[at]:02x}, and {wanted} is plain text")


def _whole_number(word: str) -> int | None:
    # int() alone would also take '1_000', and eighty thousand digits.
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in word else None


def _first(wrong: np.ndarray) -> int | None:
    """Index of the first row with a True in it."""
    rows = wrong.any(axis=1)
    return int(np.argmax(rows)) if rows.any() else None


def _plain(row: np.ndarray) -> str:
    return "'" + " ".join(f"{value:.15g}" for value in row.tolist()) + "'"


def _short(text: str) -> str:
    """Quoted for an error message, which stays one line even when the file's line does not."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
