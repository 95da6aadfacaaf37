"""What kernels ask of the processor and of the system, in plain Python; ``lowering`` has what it is compiled to."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "CACHE_LINE",
    "TOGETHER",
    "at",
    "busy_ns",
    "fetch_and_add",
    "foresee",
    "foresee_arrays",
    "foresee_first_arrays",
    "foresee_row",
    "give_way",
    "let_go",
    "load",
    "lowest_bit",
    "now_ns",
    "places_in_row",
    "prefetch",
    "prefetch_early",
    "seize",
]

CACHE_LINE = 64  # bytes of a line of the processor's cache


def lowest_bit(mask: int) -> int:
    """The index of the lowest set bit of a non-zero mask."""
    return int(mask & -mask).bit_length() - 1


def at(index: int) -> int:
    """An index known not to be negative: spares Numba's test for counting from the end."""
    return index


def prefetch(array: np.ndarray, index: int) -> None:
    """Tell the processor that ``array[index]`` will be read soon; it need not exist."""


def prefetch_early(array: np.ndarray, index: int) -> None:
    """The same for what will be read a little later, or is much: it is brought into the second cache only.

    Of those the processor has several times as many under way at once as of those for the first cache. Too many of the
    latter hold up whatever is read in the meantime.
    """


_one_at_a_time = threading.Lock()


def fetch_and_add(array: np.ndarray, amount: int) -> int:
    """Add to the first number of an array, at once whatever other threads do; returns what it was before."""
    with _one_at_a_time:
        before = int(array[0])
        array[0] += amount
        return before


TOGETHER = 32  # parts of a value whose words lie together in a row of a shelf


def places_in_row(dimensions: Sequence[int]) -> list[tuple[int, int]]:
    """Where the parts of a value are in a row of a shelf: of each its word, and the first of its dimensions.

    Numbers have none. Words lie together, for lengths are seldom asked for; but not of more parts than fill four lines
    of the cache, for of most values the last parts are seldom used.

    >>> places_in_row([1, 0, 2])
    [(0, 3), (1, 4), (2, 4)]
    """
    places: list[tuple[int, int]] = []
    for first in range(0, len(dimensions), TOGETHER):
        some = dimensions[first : first + TOGETHER]
        begin = first + sum(dimensions[:first])
        shape = begin + len(some)
        for k, count in enumerate(some):
            places.append((begin + k, shape))
            shape += count
    return places


def load(kind: Any, rows: np.ndarray, row: int) -> Any:
    """The value in a row of a shelf (``native.Shelf``)."""
    return rows[row, 0][0]


def foresee(records: np.ndarray, k: int) -> None:
    """Tell the processor that a record will be read soon."""


def foresee_row(kind: Any, rows: np.ndarray, row: int) -> None:
    """Tell the processor that the value in a row of a shelf will be loaded soon."""


def foresee_arrays(kind: Any, rows: np.ndarray, row: int) -> None:
    """Tell the processor that the value in a row of a shelf will be used soon: the beginnings of its arrays.

    Those of NamedTuples in it are left out: they are tables, and where they will be read depends on what is asked. It
    reads the row, which should have been foreseen itself.
    """


def foresee_first_arrays(kind: Any, rows: np.ndarray, row: int) -> None:
    """As ``foresee_arrays``, if little of the value will be used: a line of each array among the first eight parts."""


def seize(lock: np.ndarray, me: int) -> bool:
    """Take a lock, an int64[1] that is 0 while nobody has it; False if someone else has. ``me`` is not 0."""
    with _one_at_a_time:
        if lock[0] not in (0, me):
            return False
        lock[0] = me
        return True


def let_go(lock: np.ndarray, me: int) -> None:
    """Give a lock back; does no harm if it was not ours."""
    if lock[0] == me:
        lock[0] = 0


def give_way() -> None:
    """Let another thread run while this one waits for a lock."""
    time.sleep(0)


def now_ns(clock: np.ndarray) -> int:
    """Nanoseconds of a steady clock; ``clock`` is an int64[2] to write into."""
    return time.perf_counter_ns()


def busy_ns(clock: np.ndarray) -> int:
    """Nanoseconds that this thread has been at work: time taken by others does not count. Ten times as dear to ask."""
    return time.thread_time_ns()
