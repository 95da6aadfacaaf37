"""Values in native memory: an agent's NamedTuples are written down once, and kernels load them by themselves.

To hand a NamedTuple of forty arrays to a kernel takes Python 15 microseconds, fifty times what a tick of LRTA* takes.
Kernels count no references, so all that they need of an array is where it begins and how long it is. ``Shelf`` keeps
that: a row of words for each value of one type, one word for a number, one and one for each dimension for an array.
``load`` makes the value of a row again; of what a kernel does not use, nothing is read. So one call can serve a
thousand agents, and a call for one agent passes a few arrays.

Whoever writes a value down keeps its arrays alive, and writes it down again when one of them is exchanged.

With the JIT off a row holds the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..errors import Error
from .jit import COMPILED, OPTIONS, entry_of, loaded, overload, typed, types

__all__ = ["Shelf", "entrance", "kind_of", "load"]


def kind_of(value: Any) -> Any:
    """The type of a value, in a form that kernels take as an argument; equal for values that share compiled code."""
    if not COMPILED:
        return type(value)
    kind = typed(value)
    _check(kind, type(value).__name__)
    return types.TypeRef(kind)


@cache
def _check(kind: Any, name: str) -> None:
    if isinstance(kind, types.BaseTuple):
        for part in kind:
            _check(part, name)
    elif isinstance(kind, types.Array):
        if kind.layout != "C":
            raise Error(f"{name} has an array that is not contiguous; store np.ascontiguousarray(...) of it")
    elif not isinstance(kind, (types.Integer, types.Float, types.Boolean)):
        raise Error(f"{name} may hold arrays, numbers and NamedTuples of them, not {kind}")


def _words(kind: Any) -> int:
    """How many words a value of this type takes."""
    if isinstance(kind, types.BaseTuple):
        return sum(_words(part) for part in kind)
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def _write(kind: Any, value: Any, words: list[int]) -> None:
    if isinstance(kind, types.BaseTuple):
        for part, one in zip(kind, value, strict=True):
            _write(part, one, words)
    elif isinstance(kind, types.Array):
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)
    elif isinstance(kind, types.Float):
        words.append(int(np.float64(value).view(np.int64)))
    else:
        words.append(int(value))


class Shelf:
    """Rows for values of one type, whose ``kind`` kernels are told; ``rows`` is what they load from."""

    def __init__(self, kind: Any, rows: int = 1) -> None:
        self.kind = kind
        self._width = _words(kind.instance_type) if COMPILED else 1
        self.rows = self._empty(rows)

    def _empty(self, rows: int) -> np.ndarray:
        return np.zeros((rows, self._width), np.int64 if COMPILED else object)

    def put(self, row: int, value: Any) -> None:
        """Write a value down."""
        if not COMPILED:
            self.rows[row, 0] = (value,)  # wrapped: NumPy would take a tuple for a row
            return
        words: list[int] = []
        _write(self.kind.instance_type, value, words)
        self.rows[row] = words

    def clear(self, row: int) -> None:
        """Forget a value: nothing points to its arrays any more."""
        self.rows[row] = 0

    def enlarge(self, rows: int) -> None:
        """Room for so many rows."""
        larger = self._empty(rows)
        larger[: len(self.rows)] = self.rows
        self.rows = larger


def entrance(kernel: Any, *samples: Any) -> Callable[..., Any]:
    """The kernel as compiled for arguments of these types (a kind stands for itself): it does not look at them again.

    A call through it takes a tenth of a microsecond; the types must be these.
    """
    return entry_of(kernel, samples) if COMPILED else kernel


def load(kind: Any, rows: np.ndarray, row: int) -> Any:
    """The value in a row."""
    return rows[row, 0][0]


@overload(load, strict=False, jit_options=OPTIONS)
def _load(kind: Any, rows: Any, row: Any) -> Callable[..., Any]:
    return lambda kind, rows, row: loaded(kind, rows, row)
