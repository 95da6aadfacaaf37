"""Open lists. Both kinds keep one order: least key first, among equal keys the newest first.

The key of a state is ``f >> shift``: f rounded down to the width of a bucket. The newest of equals is mostly the one
with the larger g. Entries are never removed early: a search skips those whose state is closed by the time they come up.

The scalars that change with every push and pop travel as a tuple, the *cursor*, so that a kernel keeps them in
registers; ``resume`` reads them from the queue and ``suspend`` puts them back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, generic
from .layout import INFINITE
from .memory import lacks_room

__all__ = [
    "BucketQueue",
    "HeapQueue",
    "clear",
    "likely_next",
    "pop",
    "push",
    "resume",
    "settle",
    "suspend",
    "top",
]

_NONE = 0xFFFFFFFF


class BucketQueue(NamedTuple):
    """An array of stacks, one per key: push and pop in constant time, as the TBA* paper's bound demands."""

    heads: np.ndarray  # int64[keys]: the top entry of each stack
    pool: np.ndarray  # int64[entries]: slot << 32 | next entry
    saved: np.ndarray  # int64[5]: the cursor: least key, lowest and highest key in use, free list, entries used


class HeapQueue(NamedTuple):
    """A binary heap, for worlds whose costs spread too wide for an array of buckets."""

    keys: np.ndarray  # int64[entries]
    items: np.ndarray  # int64[entries]: order of arrival << 32 | slot
    saved: np.ndarray  # int64[5]: the cursor: least key, entries, arrivals, and two unused


@generic
def resume(queue):
    """The cursor as it was when the search paused."""


@generic
def suspend(queue, cursor):
    """Put the cursor away until the search goes on."""


@generic
def clear(queue):
    """The cursor of an empty queue."""


@generic
def settle(queue, cursor):
    """Bring the least key into ``cursor[0]``; it is INFINITE if the queue is empty."""


@generic
def top(queue, cursor):
    """The slot that ``pop`` would give; only after ``settle``."""


@generic
def pop(queue, cursor):
    """Take out the first slot; only after ``settle``. Returns it and the cursor."""


@generic
def likely_next(queue, cursor):
    """A slot that will probably be popped next; a guess that costs nothing."""


@generic
def push(queue, cursor, key, slot):
    """Put in a slot; returns the cursor."""


@resume.on(BucketQueue, HeapQueue)
def _resume(queue):
    saved = queue.saved
    return saved[0], saved[1], saved[2], saved[3], saved[4]


@suspend.on(BucketQueue, HeapQueue)
def _suspend(queue, cursor):
    saved = queue.saved
    for i in range(5):
        saved[i] = cursor[i]


@clear.on(BucketQueue)
def _clear_buckets(queue):
    # No key is in use: the first push makes its own bucket, so nothing need be wiped.
    return np.int64(INFINITE), np.int64(0), np.int64(-1), np.int64(_NONE), np.int64(0)


@settle.on(BucketQueue)
def _settle_buckets(queue, cursor):
    least, low, high, free, used = cursor
    heads = queue.heads
    while least <= high and heads[at(least)] == _NONE:
        least += 1
    if least > high:
        least = np.int64(INFINITE)
    return least, low, high, free, used


@top.on(BucketQueue)
def _top_bucket(queue, cursor):
    return queue.pool[at(queue.heads[at(cursor[0])])] >> 32


@pop.on(BucketQueue)
def _pop_bucket(queue, cursor):
    least, low, high, free, used = cursor
    heads = queue.heads
    pool = queue.pool
    entry = heads[at(least)]
    packed = pool[at(entry)]
    heads[at(least)] = packed & _NONE
    pool[at(entry)] = free
    return packed >> 32, (least, low, high, entry, used)


@likely_next.on(BucketQueue)
def _next_in_bucket(queue, cursor):
    entry = queue.heads[at(cursor[0])]
    return queue.pool[at(entry if entry != _NONE else 0)] >> 32


@push.on(BucketQueue)
def _push_bucket(queue, cursor, key, slot):
    least, low, high, free, used = cursor
    heads = queue.heads
    pool = queue.pool
    if key > high or key < low:
        if low > high:
            low = key
            high = key - 1
        while high < key:
            high += 1
            heads[at(high)] = _NONE
        while low > key:
            low -= 1
            heads[at(low)] = _NONE
    if free != _NONE:
        entry = free
        free = pool[at(entry)]
    else:
        entry = used
        used += 1
    pool[at(entry)] = (slot << 32) | heads[at(key)]
    heads[at(key)] = entry
    return min(least, key), low, high, free, used


@lacks_room.on(BucketQueue)
def _buckets_lack_room(queue, more, cursor, key):
    return key >= queue.heads.shape[0] or cursor[4] + more > queue.pool.shape[0]


@clear.on(HeapQueue)
def _clear_heap(queue):
    return np.int64(INFINITE), np.int64(0), np.int64(0), np.int64(0), np.int64(0)


@settle.on(HeapQueue)
def _settle_heap(queue, cursor):
    least = queue.keys[0] if cursor[1] > 0 else np.int64(INFINITE)
    return least, cursor[1], cursor[2], cursor[3], cursor[4]


@top.on(HeapQueue)
def _top_heap(queue, cursor):
    return queue.items[0] & _NONE


@pop.on(HeapQueue)
def _pop_heap(queue, cursor):
    keys = queue.keys
    items = queue.items
    slot = items[0] & _NONE
    size = cursor[1] - 1
    key = keys[at(size)]
    item = items[at(size)]
    hole = np.int64(0)
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        twin = child + 1
        if twin < size and (
            keys[at(twin)] < keys[at(child)]
            or (keys[at(twin)] == keys[at(child)] and items[at(twin)] > items[at(child)])
        ):
            child = twin
        if keys[at(child)] > key or (keys[at(child)] == key and items[at(child)] < item):
            break
        keys[at(hole)] = keys[at(child)]
        items[at(hole)] = items[at(child)]
        hole = child
    keys[at(hole)] = key
    items[at(hole)] = item
    return slot, (cursor[0], size, cursor[2], cursor[3], cursor[4])


@likely_next.on(HeapQueue)
def _next_in_heap(queue, cursor):
    return queue.items[0] & _NONE


@push.on(HeapQueue)
def _push_heap(queue, cursor, key, slot):
    keys = queue.keys
    items = queue.items
    hole = cursor[1]
    item = (cursor[2] << 32) | slot
    while hole > 0:
        above = (hole - 1) >> 1
        # A new entry is the newest, so it rises past every entry with an equal key.
        if keys[at(above)] < key:
            break
        keys[at(hole)] = keys[at(above)]
        items[at(hole)] = items[at(above)]
        hole = above
    keys[at(hole)] = key
    items[at(hole)] = item
    return cursor[0], cursor[1] + 1, cursor[2] + 1, cursor[3], cursor[4]


@lacks_room.on(HeapQueue)
def _heap_lacks_room(queue, more, cursor, key):
    return cursor[1] + more > queue.keys.shape[0]
