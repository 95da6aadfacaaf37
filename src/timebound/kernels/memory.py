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

__all__ = ["Part", "Room", "lacks_room", "reserved"]

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


def _small_pages(size: int) -> mmap.mmap | None:
    """So many bytes, in small pages that are taken when first touched; None where the system knows no such."""
    if size < _SMALL or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return None
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
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
    pages = _small_pages(Part(shape, dtype).size)
    return np.zeros(shape, dtype) if pages is None else np.ndarray(shape, dtype, pages)


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
        """Saved, or copied whole, they are arrays like others."""
        return self.__dict__ | {"_pages": None}

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


@generic
def lacks_room(store, more):
    """Whether ``more`` entries would not fit into a node table, an open list or a table of learned values.

    An open list must be told two things more: its cursor, and the largest key that may come.
    """
