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
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .jit import CACHE_LINE, generic

__all__ = [
    "HUGE",
    "NOTHING",
    "SMALL_PAGES",
    "Index",
    "Neighbours",
    "Part",
    "Piece",
    "Room",
    "again",
    "gathered",
    "in_lines",
    "lacks_room",
    "reserved",
    "zeros",
]

SMALL_PAGES = hasattr(mmap, "MADV_NOHUGEPAGE")  # whether memory can be had that is taken page by page
_SMALL = 1 << 15  # bytes; below this nobody would use a page of its own
HUGE = 1 << 21  # bytes of a huge page
_POPULATE = getattr(mmap, "MADV_POPULATE_WRITE", 23 if sys.platform == "linux" else -1)
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class Part(NamedTuple):
    """An array to be made."""

    shape: int | tuple[int, ...]
    dtype: Any = np.int64

    @property
    def size(self) -> int:
        """Its bytes."""
        return _size(self.shape, self.dtype)


_TINY = 8192  # bytes; what is larger is not touched whole in a tick
_CHUNK = 1 << 16  # bytes of the first piece; each is as large as all before it, up to
_MOST_CHUNK = 1 << 22

_here = threading.local()


class Neighbours:
    """Memory for the small arrays of many agents, one agent's after the other's.

    Whoever goes from agent to agent then goes through memory in one direction, which the processor foresees. All of it
    is in use, so it may lie in huge pages: to find thousands of small ones takes longer than to read them. A chunk of
    it lives as long as any array in it.

    >>> with Neighbours().together():
    ...     one, other = zeros(2), zeros(3)
    >>> one.base is other.base
    True
    """

    def __init__(self, store: Any = None) -> None:
        self._chunk = np.zeros(0, np.uint8)
        self._used = self._whole = 0
        self.store = store  # what else they have in common: see ``gathered``

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrays are saved by who has them."""
        return Neighbours, (self.store,)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What this thread makes with ``zeros`` meanwhile lies side by side."""
        self._used = -(-self._used // CACHE_LINE) * CACHE_LINE
        before, _here.open = getattr(_here, "open", None), self
        try:
            yield
        finally:
            _here.open = before

    def take(self, shape: Any, dtype: Any, size: int) -> np.ndarray:
        """An array of zeros, of so many bytes."""
        size = (size + 15) & ~15
        if self._used % CACHE_LINE + size > CACHE_LINE:
            self._used = -(-self._used // CACHE_LINE) * CACHE_LINE  # in no more lines than need be
        if self._used + size > len(self._chunk):
            chunk = _huge_pages(min(max(self._whole, _CHUNK), _MOST_CHUNK))
            self._chunk, self._used = chunk[-chunk.ctypes.data % CACHE_LINE :], 0
            self._whole += len(chunk)
        begin, self._used = self._used, self._used + size
        return np.ndarray(shape, dtype, self._chunk, begin)

    def common_store(self, make: Callable[[], Any]) -> Any:
        """The store that all of them share, made when it is first asked for."""
        if self.store is None:
            self.store = make()
        return self.store


def gathered(make: Callable[[], Any]) -> Any:
    """The store of those whose arrays this thread makes side by side, if it does; see ``Neighbours.together``."""
    wanted = getattr(_here, "open", None)
    return None if wanted is None else wanted.common_store(make)


def zeros(shape: int | tuple[int, ...], dtype: Any = np.int64) -> np.ndarray:
    """A small array of zeros, beside others of the same agent if someone wants them together (see ``Neighbours``)."""
    wanted = getattr(_here, "open", None)
    if wanted is not None:
        size = _size(shape, dtype)
        if 0 < size <= _TINY:
            return wanted.take(shape, dtype, size)
    return np.zeros(shape, dtype)


@cache
def _item_size(dtype: Any) -> int:
    return int(np.dtype(dtype).itemsize)


def _size(shape: int | tuple[int, ...], dtype: Any) -> int:
    """Bytes of an array. It is asked some twenty times for each agent of a fleet."""
    return (math.prod(shape) if isinstance(shape, tuple) else shape) * _item_size(dtype)


def in_lines(rows: int, width: int) -> np.ndarray:
    """An int64 array of so many rows of zeros, each of which begins with a line of the processor's cache.

    Rows may be a little wider than asked for. Who reads one then reads no line more than there must be.

    >>> in_lines(3, 5).shape
    (3, 8)
    """
    each = CACHE_LINE // 8
    width = -(-width // each) * each
    whole = np.zeros(rows * width + each, np.int64)
    begin = -whole.ctypes.data % CACHE_LINE // 8
    return whole[begin : begin + rows * width].reshape(rows, width)


def _huge_pages(size: int) -> np.ndarray:
    """So many bytes, zero; in pages as large as the system has them, where it is asked and knows how."""
    if size < HUGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(size, np.uint8)
    pages = mmap.mmap(-1, size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system that has none
        pages.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(pages, np.uint8)
    begin = -whole.ctypes.data % HUGE
    return whole[begin : begin + size]


class _Pages(mmap.mmap):
    """A piece of memory. It is saved as its size; what is in use of the arrays in it is for them to save."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _small_pages, (len(self),)

    def place_of(self, array: np.ndarray) -> int:
        """Where in it an array begins, in bytes."""
        return int(array.ctypes.data - np.frombuffer(self, np.uint8).ctypes.data)


def _small_pages(size: int) -> _Pages | None:
    """So many bytes, in small pages that are taken when first touched; None where the system knows no such."""
    if size < _SMALL or not SMALL_PAGES:
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
    size = _size(shape, dtype)
    pages = _small_pages(size) if size >= _SMALL else None
    return zeros(shape, dtype) if pages is None else np.ndarray(shape, dtype, pages)


def again(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The same memory as numbers of another type; it is saved as a part of the same piece."""
    count = array.nbytes // np.dtype(dtype).itemsize
    if isinstance(array.base, _Pages):
        return np.ndarray(count, dtype, array.base, array.base.place_of(array))
    return array.view(dtype)


class Room:
    """Arrays of zeros as ``reserved`` makes them, side by side in one piece of memory.

    >>> Room([Part(5), Part((2, 3), np.int32)]).arrays[1].tolist()
    [[0, 0, 0], [0, 0, 0]]
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._begins = [0]
        for part in parts:
            self._begins.append(self._begins[-1] + (part.size + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE)
        self._pages = pages = _small_pages(self._begins[-1])
        self.arrays = [
            np.zeros(part.shape, part.dtype) if pages is None else np.ndarray(part.shape, part.dtype, pages, begin)
            for part, begin in zip(parts, self._begins, strict=False)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without what the arrays hold: whoever uses them knows what is in use."""
        return {**self.__dict__, "arrays": [Piece(array, NOTHING) for array in self.arrays]}

    def touch(self, number: int, first: int, size: int, huge: bool = False) -> None:
        """Take memory for so many bytes of an array, by its number, now, and not when they are first used.

        The system takes microseconds for each page, which is longer than a tick of many an agent. ``huge``: in pages as
        large as it has them, for all of it will be used.
        """
        begin, end = self._begins[number], self._begins[number + 1]
        low = max(begin, begin + first) // mmap.PAGESIZE * mmap.PAGESIZE
        high = -(-min(end, begin + first + size) // mmap.PAGESIZE) * mmap.PAGESIZE
        pages = self._pages
        if pages is None or low >= min(high, len(pages)):
            return
        if huge and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a system that has none
                pages.madvise(mmap.MADV_HUGEPAGE, low, min(high, len(pages)) - low)
        try:
            pages.madvise(_POPULATE, low, min(high, len(pages)) - low)
        except (OSError, ValueError):  # an older system, or another one
            for place in range(low, min(high, len(pages)), mmap.PAGESIZE):
                pages[place] = pages[place]

    def give_back(self, kept: Mapping[int, int]) -> None:
        """Give memory of arrays, by their numbers, back to the system, but for so many bytes; the rest is zero.

        Only whole pages can be given back, so a little more may be kept.
        """
        if self._pages is None:
            return
        for number, size in kept.items():
            begin, end = self._begins[number : number + 2]
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
