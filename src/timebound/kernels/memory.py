"""Room: how it is taken, page by page when it is first touched; and the question whether there is enough.

A tick must not pay for the size of the world. The system hands out memory on first touch, and with huge pages a touch
zeroes two megabytes: a millisecond gone for one state. So what a real-time agent holds lies in small pages. Room may
then be reserved for the largest that can come: what is never touched costs nothing, and no array is copied because it
has become too small, in the middle of a tick.
"""

from __future__ import annotations

import math
import mmap
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from .jit import generic

__all__ = ["lacks_room", "reserved"]

_SMALL = 1 << 15  # bytes; below this nobody would use a page of its own
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def reserved(shape: int | tuple[int, ...], dtype: Any = np.int64) -> np.ndarray:
    """An array of zeros, in small pages that are taken when first touched; where the system knows no such, np.zeros.

    >>> reserved((2, 1 << 20)).any()
    np.False_
    """
    kind = np.dtype(dtype)
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    size = count * kind.itemsize
    if size < _SMALL or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, kind)
    try:
        room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except OSError as problem:
        raise MemoryError(f"the system gives no {size:,} bytes: {problem.strerror}") from None
    with suppress(OSError):  # a system that has no huge pages
        room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, kind, count).reshape(shape)


@generic
def lacks_room(store, more):
    """Whether ``more`` entries would not fit into a node table, an open list or a table of learned values.

    An open list must be told two things more: its cursor, and the largest key that may come.
    """
