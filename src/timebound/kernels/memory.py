"""Room: how it is taken, page by page when it is first touched; and the question whether there is enough.

A tick must not pay for the size of the world. The system hands out memory on first touch, and with huge pages a touch
zeroes two megabytes: a millisecond gone for one state. So what a real-time agent holds lies in small pages. Room may
then be reserved for the largest that can come: what is never touched costs nothing, and no array is copied because it
has become too small, in the middle of a tick.

A system keeps only so many pieces of memory apart (65,530 on Linux), so the arrays of an agent share one.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .jit import generic

__all__ = ["NOTHING", "Index", "Part", "Piece", "Room", "lacks_room", "reserved"]

_SMALL = 1 << 15  # bytes; below this nobody would use a page of its own
_LINE = 64  # bytes; arrays begin where a line of the processor's cache does
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class Part(NamedTuple):
    """An array to be made."""

    shape: int | tuple[int, ...]
    dtype: Any = np.int64

    @property
    def size(self) -> int:
        """Its bytes."""
        return (math.prod(self.shape) if isinstance(self.shape, tuple) else self.shape) * np.dtype(self.dtype).itemsize


class _Pages(mmap.mmap):
    """A piece of memory. It is saved as its size; what is in use of the arrays in it is for them to save."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _small_pages, (len(self),)

    def place_of(self, array: np.ndarray) -> int:
        """Where in it an array begins, in bytes."""
        return int(array.ctypes.data - np.frombuffer(self, np.uint8).ctypes.data)


def _small_pages(size: int) -> _Pages | None:
    """So many bytes, in small pages that are taken when first touched; None where the system knows no such."""
    if size < _SMALL or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return None
    try:
        pages = _Pages(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except OSError as problem:
        raise MemoryError(f"the system gives no {size:,} bytes: {problem.strerror}") from None
    with suppress(OSError):  # a system that has no huge pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def reserved(shape: int | tuple[int, ...], dtype: Any = np.int64) -> np.ndarray:
    """An array of zeros, in small pages that are taken when first touched; where the system knows no such, np.zeros.

    >>> reserved((2, 1 << 20)).any()
    np.False_
    """
    return Room([Part(shape, dtype)]).arrays[0]


class Room:
    """Arrays of zeros as ``reserved`` makes them, side by side in one piece of memory.

    >>> Room([Part(5), Part((2, 3), np.int32)]).arrays[1].tolist()
    [[0, 0, 0], [0, 0, 0]]
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._begins = [0]
        for part in parts:
            self._begins.append(self._begins[-1] + (part.size + _LINE - 1) // _LINE * _LINE)
        self._pages = pages = _small_pages(self._begins[-1])
        self.arrays = [
            np.zeros(part.shape, part.dtype) if pages is None else np.ndarray(part.shape, part.dtype, pages, begin)
            for part, begin in zip(parts, self._begins, strict=False)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without what the arrays hold: whoever uses them knows what is in use."""
        return {**self.__dict__, "arrays": [Piece(array, NOTHING) for array in self.arrays]}

    def give_back(self, kept: Sequence[int]) -> None:
        """Give memory back to the system, but for so many bytes from the beginning of each array; the rest is zero.

        Only whole pages can be given back, so a little more may be kept.
        """
        if self._pages is None:
            return
        for begin, end, size in zip(self._begins[:-1], self._begins[1:], kept, strict=True):
            first = -(-(begin + size) // mmap.PAGESIZE) * mmap.PAGESIZE
            last = end // mmap.PAGESIZE * mmap.PAGESIZE
            if first < last:
                self._pages.madvise(mmap.MADV_DONTNEED, first, last - first)


# --- what is saved of an array ---------------------------------------------------------------------------------------

Index = Any  # whatever NumPy takes between brackets
NOTHING = np.s_[:0]  # what is in use of an array whose content can be found again, or will be written first


class Piece:
    """In the place of an array that is to be saved: of the array only what ``used`` picks, the rest is zero again.

    >>> import copy
    >>> copy.deepcopy(Piece(np.arange(6), np.s_[:3]))
    array([0, 1, 2, 0, 0, 0])
    """

    def __init__(self, array: np.ndarray, used: Index) -> None:
        self._array, self._used = array, used

    def __reduce__(self) -> tuple[Any, ...]:
        array, used = self._array, self._used
        memory = array.base if isinstance(array.base, _Pages) else None
        begin = memory.place_of(array) if memory is not None else 0
        return _whole, (memory, begin, array.shape, array.dtype, used, array[used])


def _whole(
    memory: _Pages | None, begin: int, shape: tuple[int, ...], dtype: Any, used: Index, held: np.ndarray
) -> np.ndarray:
    array = np.zeros(shape, dtype) if memory is None else np.ndarray(shape, dtype, memory, begin)
    array[used] = held
    return array


@generic
def lacks_room(store, more):
    """Whether ``more`` entries would not fit into a node table, an open list or a table of learned values.

    An open list must be told two things more: its cursor, and the largest key that may come.
    """
