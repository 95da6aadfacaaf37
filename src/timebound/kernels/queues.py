"""Open lists: two kinds, a third is in ``bucket_pages.py``. All keep one order: least key first, of equals the newest.

The key of a state is ``f >> shift``: f rounded down to the width of a bucket. The newest of equals is mostly the one
with the larger g. Entries are never removed early: a search skips those whose state is closed by the time they come up.

The scalars that change with every push and pop travel as a tuple, the *cursor*, so that a kernel keeps them in
registers; ``resume`` reads them from the queue and ``suspend`` puts them back.

When the goal has moved, all entries can be given other keys, a few at a time and without room for a second list:
``loosen`` takes all keys away, ``link`` gives the entry in each place its new one, or ``strike`` drops it, and ``tidy``
does what is left to do. Until then nothing may be popped; what is put in meanwhile is left without a key (``leave``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .heaps import before, entry_at, heap_pop, heap_push, put, sink
from .jit import at, generic, inlined, prefetch
from .layout import INFINITE
from .memory import lacks_room
from .saving import keeps

__all__ = [
    "BucketQueue",
    "HeapQueue",
    "clear",
    "foresee_top",
    "foreseen",
    "foreseen_next",
    "leave",
    "likely_next",
    "link",
    "loosen",
    "place_from",
    "places",
    "pop",
    "push",
    "resume",
    "settle",
    "slot_in",
    "strike",
    "suspend",
    "tidy",
    "top",
]

_NONE = 0xFFFFFFFF


class BucketQueue(NamedTuple):
    """An array of stacks, one per key: push and pop in constant time, as the TBA* paper's bound demands."""

    heads: np.ndarray  # uint32[keys]: the top entry of each stack
    pool: np.ndarray  # int64[entries]: slot << 32 | next entry; for a free one, -1 less the next free entry
    saved: np.ndarray  # int64[5]: the cursor: least key, lowest and highest key in use, free list, entries used


class HeapQueue(NamedTuple):
    """A binary heap, for worlds whose costs spread too wide for an array of buckets."""

    keys: np.ndarray  # int64[entries]
    items: np.ndarray  # int64[entries]: -arrivals before << 32 | slot: the newest is the least
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
def foresee_top(queue, ahead):
    """Tell the processor that the first entries will be read, and some put in; see ``loop.foresee_tables``.

    Returns for how many of them the slots are known (``foreseen``): none before ``ahead`` is 2 or less.
    """


@generic
def foreseen(queue, k, ahead):
    """The slot of one of the first entries, as ``foresee_top`` has counted them; the first of all has number 0."""


@generic
def foreseen_next(queue, k):
    """The slot of the entry behind that one, as far as it is known when ``ahead`` is 1; the next one is asked for."""


@foreseen_next.otherwise
def _foreseen_alone(queue, k):
    return foreseen(queue, k, 1)


@generic
def push(queue, cursor, key, slot):
    """Put in a slot; returns the cursor."""


@generic
def loosen(queue, cursor):
    """Take all keys away; returns the cursor. The entries stay in their places."""


@generic
def places(queue, cursor):
    """The place after the last; some of them may be empty."""


@generic
def place_from(queue, cursor, k):
    """The place ``k``, if there is one, else the next. Places are gone through from 0 on, to the one after the last."""


@place_from.otherwise
def _every_place(queue, cursor, k):
    return k


@generic
def slot_in(queue, k):
    """The slot in place ``k``, or -1 if it is empty."""


@generic
def link(queue, cursor, k, key):
    """Give the entry in place ``k`` a key; returns the cursor."""


@generic
def strike(queue, cursor, k):
    """Drop the entry in place ``k``, or bring it where it does no harm; returns the cursor."""


@generic
def leave(queue, cursor, slot):
    """Put in a slot, in the last place and without a key; returns the cursor."""


@generic
def tidy(queue, cursor, done, limit):
    """When all entries have keys: do up to ``limit`` steps of what is left, ``done`` being behind. How many are done?

    When as many as there are places, the queue is in order.
    """


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
    entry = np.int64(heads[at(least)])
    packed = pool[at(entry)]
    heads[at(least)] = packed & _NONE
    pool[at(entry)] = -1 - free
    return packed >> 32, (least, low, high, entry, used)


@likely_next.on(BucketQueue)
def _next_in_bucket(queue, cursor):
    entry = np.int64(queue.heads[at(cursor[0])])
    return queue.pool[at(entry if entry != _NONE else 0)] >> 32


@foresee_top.on(BucketQueue)
def _foresee_bucket(queue, ahead):
    if ahead == 5:
        prefetch(queue.saved, 0)
        return np.int64(0)
    least, _, high, free, used = resume(queue)
    if least > high:
        return np.int64(0)
    if ahead == 4:
        for line in range(-3, 3):
            prefetch(queue.heads, least + 16 * line)
        prefetch(queue.pool, used)
        prefetch(queue.pool, free if free != _NONE else used)
        return np.int64(0)
    entry = np.int64(queue.heads[at(least)])
    if ahead == 3 and entry != _NONE:
        prefetch(queue.pool, entry)
    return np.int64(ahead <= 2 and entry != _NONE)


@foreseen.on(BucketQueue)
def _foreseen_bucket(queue, k, ahead):
    # Another thread may be at work there: a hint may be wrong, but must not lead outside.
    least = queue.saved[0]
    entry = np.int64(queue.heads[at(least)]) if least < queue.heads.shape[0] else np.int64(_NONE)
    return max(queue.pool[at(entry)] >> 32, 0) if entry < queue.pool.shape[0] else np.int64(0)


@foresee_top.on(HeapQueue)
def _foresee_heap(queue, ahead):
    if ahead == 5:
        prefetch(queue.saved, 0)
        prefetch(queue.keys, 0)
        prefetch(queue.items, 0)
    return np.int64(ahead <= 2 and queue.saved[1] > 0)


@foreseen.on(HeapQueue)
def _foreseen_heap(queue, k, ahead):
    return queue.items[0] & _NONE


@push.on(BucketQueue)
def _push_bucket(queue, cursor, key, slot):
    least, low, high, free, used = cursor
    pool = queue.pool
    heads = queue.heads
    low, high = _with_bucket(heads, low, high, key)
    if free != _NONE:
        entry = free
        free = -1 - pool[at(entry)]
    else:
        entry = used
        used += 1
    pool[at(entry)] = (slot << 32) | np.int64(heads[at(key)])
    heads[at(key)] = entry
    return min(least, key), low, high, free, used


@inlined
def _with_bucket(heads, low, high, key):
    """The lowest and the highest key in use when ``key`` is one of them."""
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
    return low, high


@link.on(BucketQueue)
def _link_bucket(queue, cursor, k, key):
    least, low, high, free, used = cursor
    heads = queue.heads
    pool = queue.pool
    low, high = _with_bucket(heads, low, high, key)
    pool[at(k)] = ((pool[at(k)] >> 32) << 32) | np.int64(heads[at(key)])
    heads[at(key)] = k
    return min(least, key), low, high, free, used


@loosen.on(BucketQueue)
def _loosen_buckets(queue, cursor):
    return np.int64(INFINITE), np.int64(0), np.int64(-1), cursor[3], cursor[4]


@places.on(BucketQueue)
def _bucket_places(queue, cursor):
    return cursor[4]


@slot_in.on(BucketQueue)
def _bucket_slot(queue, k):
    packed = queue.pool[at(k)]
    return packed >> 32 if packed >= 0 else np.int64(-1)


@strike.on(BucketQueue)
def _strike_bucket(queue, cursor, k):
    queue.pool[at(k)] = -1 - cursor[3]
    return cursor[0], cursor[1], cursor[2], np.int64(k), cursor[4]


@leave.on(BucketQueue)
def _leave_bucket(queue, cursor, slot):
    queue.pool[at(cursor[4])] = slot << 32
    return cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] + 1


@tidy.on(BucketQueue)
def _tidy_buckets(queue, cursor, done, limit):
    return cursor[4]


@lacks_room.on(BucketQueue)
def _buckets_lack_room(queue, more, cursor, key):
    return key >= queue.heads.shape[0] or cursor[4] + more > queue.pool.shape[0]


@entry_at.on(HeapQueue)
def _heap_entry_at(queue, k):
    return queue.keys[at(k)], queue.items[at(k)]


@put.on(HeapQueue)
def _heap_put(queue, k, entry):
    queue.keys[at(k)] = entry[0]
    queue.items[at(k)] = entry[1]


@before.on(HeapQueue)
def _heap_before(queue, one, other):
    return (one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1]))


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
    slot = queue.items[0] & _NONE
    size = heap_pop(queue, cursor[1])
    return slot, (cursor[0], size, cursor[2], cursor[3], cursor[4])


@likely_next.on(HeapQueue)
def _next_in_heap(queue, cursor):
    return queue.items[0] & _NONE


@push.on(HeapQueue)
def _push_heap(queue, cursor, key, slot):
    size = heap_push(queue, cursor[1], (key, np.int64((-cursor[2] << 32) | slot)))
    return cursor[0], size, cursor[2] + 1, cursor[3], cursor[4]


@loosen.on(HeapQueue)
def _loosen_heap(queue, cursor):
    return cursor


@places.on(HeapQueue)
def _heap_places(queue, cursor):
    return cursor[1]


@slot_in.on(HeapQueue)
def _heap_slot(queue, k):
    return queue.items[at(k)] & _NONE


@link.on(HeapQueue)
def _link_heap(queue, cursor, k, key):
    queue.keys[at(k)] = key
    return cursor


@strike.on(HeapQueue)
def _strike_heap(queue, cursor, k):
    queue.keys[at(k)] = INFINITE >> 1  # after all others
    return cursor


@leave.on(HeapQueue)
def _leave_heap(queue, cursor, slot):
    put(queue, cursor[1], (np.int64(0), np.int64((-cursor[2] << 32) | slot)))
    return cursor[0], cursor[1] + 1, cursor[2] + 1, cursor[3], cursor[4]


@tidy.on(HeapQueue)
def _tidy_heap(queue, cursor, done, limit):
    size = cursor[1]
    last = min(done + limit, size)
    for k in range(done, last):
        sink(queue, size - 1 - k, size)
    return last


@lacks_room.on(HeapQueue)
def _heap_lacks_room(queue, more, cursor, key):
    return cursor[1] + more > queue.keys.shape[0]


# --- saving -----------------------------------------------------------------------------------------------------------

keeps(
    BucketQueue,
    heads=lambda queue: np.s_[int(queue.saved[1]) : int(queue.saved[2]) + 1],
    pool=lambda queue: np.s_[: int(queue.saved[4])],
)
keeps(
    HeapQueue,
    keys=lambda queue: np.s_[: int(queue.saved[1])],
    items=lambda queue: np.s_[: int(queue.saved[1])],
)
