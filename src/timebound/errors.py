"""The mistakes a user can make, each with a message that says what was wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any

from .text import shown

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DatabaseError",
    "Error",
    "MapError",
    "MoveError",
    "ProblemError",
    "SpecError",
    "WorldError",
    "as_array",
    "as_numbers",
    "at_least",
    "check_rows",
    "check_world",
    "is_number",
    "nearest",
    "unfit_numba",
]

_LONGEST = 500  # characters of a message: what a user gave may be a book


class Error(Exception):
    """Base of every error that timebound raises on purpose; its text is one sentence for the user.

    >>> import timebound as tb
    >>> try:
    ...     tb.agent("dijkstar", tb.Grid([[1, 1]]), (0, 0), (0, 1))
    ... except tb.Error as error:
    ...     print(error)
    there is no algorithm 'dijkstar'; did you mean 'dijkstra'?
    """

    def __init__(self, message: str = "") -> None:
        # Whatever the user's own names and values hold, it stays one line that a terminal can print.
        super().__init__(_one_line(str(message)))


def _one_line(text: str) -> str:
    """The text without line breaks and control characters, and not too long.

    >>> _one_line("not [[1 1]\\n [1 1]] but \\x1b[31m")
    'not [[1 1]  [1 1]] but \\\\x1b[31m'
    """
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 150]} ... {text[-140:]}"
    if text.isprintable():
        return text
    spaced = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in spaced)


class MapError(Error):
    """A map, scenario, image or graph file that cannot be read as what it should be."""


class WorldError(Error):
    """An array, graph or edit that does not make a world: wrong shape, negative cost, dangling arc."""


class ProblemError(Error):
    """A start or goal that is not a place an agent can be."""


class SpecError(Error):
    """An algorithm, parameter or budget that does not exist or does not fit."""


class DatabaseError(Error):
    """A file of precomputed things that cannot be used here."""


class MoveError(Error):
    """A path with a move that the world does not allow."""


def as_array(values: Any, what: str) -> np.ndarray:
    """NumPy's array of what was given, or a WorldError in place of NumPy's own complaint."""
    import numpy as np

    # Under a mask may stand anything: to take it for a value would be a guess.
    if isinstance(values, np.ma.MaskedArray):
        raise WorldError(f"{what} cannot be a masked array; say what its masked entries are with array.filled(value)")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise WorldError(f"{what} must be numbers, all rows of one length") from None


def as_numbers(values: Any, what: str) -> np.ndarray:
    """An array of floats, or a WorldError."""
    array = as_array(values, what)
    # NumPy would turn text that looks like a number, dates and complex numbers into something.
    text = array.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in array.flat)
    if array.dtype.kind in "biufO" and not text:
        with suppress(TypeError, ValueError, OverflowError):
            return array.astype(float, copy=False)
    raise WorldError(f"{what} must be numbers, all rows of one length")


def is_number(value: Any) -> bool:
    """Whether it is one real number, and fits a float.

    >>> is_number(2.5), is_number(10**400), is_number(True), is_number("2")
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_rows(points: Any, what: str) -> None:
    """A ProblemError for (rows, cols) as ``np.where`` gives them: two of them would be taken for two other points.

    >>> import numpy as np
    >>> try:
    ...     check_rows(np.where(np.eye(2) > 0), "cells")
    ... except ProblemError as error:
    ...     print(error)
    cells are points (row, col); np.where gives all rows, then all columns: take np.argwhere(mask)
    """
    if type(points) is tuple and len(points) == 2 and all(getattr(part, "ndim", 0) == 1 for part in points):
        raise ProblemError(
            f"{what} are points (row, col); np.where gives all rows, then all columns: take np.argwhere(mask)"
        )


def at_least(least: int, value: Any, what: str, most: int | None = None) -> int:
    """A whole number that is not less (nor more than ``most``), or a SpecError that begins with ``what`` it is.

    >>> at_least(1, 4, "jobs is how many threads to use")
    4
    """
    import numpy as np

    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise SpecError(f"{what}, at least {least}, not {shown(value)}")
    if most is not None and value > most:
        raise SpecError(f"{what}, at most {most}, not {shown(value)}")
    return int(value)


def check_world(world: Any) -> None:
    """A WorldError if this is not a world, with the call that makes one of it."""
    if not isinstance(world, type) and all(hasattr(world, name) for name in ("state_of", "view_for", "changes")):
        return
    import numpy as np

    if isinstance(world, (np.ndarray, list, tuple)):
        remedy = "make one of an array with tb.Grid(array)"
    elif hasattr(world, "tocoo"):
        remedy = "make one of a SciPy matrix with tb.Graph.from_scipy(matrix)"
    elif hasattr(world, "nodes") and hasattr(world, "edges"):
        remedy = "make one of a networkx graph with tb.Graph.from_networkx(graph)"
    else:
        remedy = "make one with tb.Grid(array), or read one with tb.Grid.load(file)"
    given = repr(world) if isinstance(world, (str, type)) else f"{type(world).__name__}"
    raise WorldError(f"a world is a tb.Grid, tb.Graph or tb.TilePuzzle, not {given}; {remedy}")


def nearest(word: str, known: Iterable[str]) -> str:
    """Words to end an error message with: the nearest known name, or all of them.

    >>> nearest("dijkstar", ["a*", "dijkstra"])
    "did you mean 'dijkstra'?"
    >>> nearest("zzz", ["a*", "dijkstra"])
    'known are a*, dijkstra'
    """
    names = list(known)
    match = get_close_matches(word.lower(), names, n=1, cutoff=0.4)
    return f"did you mean {match[0]!r}?" if match else f"known are {', '.join(names)}"


def unfit_numba(problem: object) -> Error:
    """The error for a Numba that is not built as the kernels take it to be.

    >>> print(unfit_numba("no module"))  # doctest: +ELLIPSIS
    timebound works with Numba 0.61 to 0.68, and Numba ... differs from those (no module): pip install ...
    """
    from importlib import metadata  # which takes a while, and is wanted by nobody else here

    try:
        found = f"Numba {metadata.version('numba')}"
    except metadata.PackageNotFoundError:
        found = "this one"
    return Error(
        f"timebound works with Numba 0.61 to 0.68, and {found} differs from those ({' '.join(str(problem).split())}): "
        "pip install 'numba>=0.61,<0.69'"
    )
