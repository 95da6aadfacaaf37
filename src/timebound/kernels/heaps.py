"""Binary heaps, one text for all kinds of entries. How many entries there are is the caller's to know.

An entry is a tuple of numbers that leaves nothing to chance: no two are equal, so the order in which entries come out
does not depend on how the heap is kept. A kind of heap is a NamedTuple of arrays, with texts for ``entry_at``, ``put``
and ``before``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined
from .saving import keeps, to_last

__all__ = ["Heap", "before", "entry_at", "heap_pop", "heap_push", "heapify", "put", "sink"]


class Heap(NamedTuple):
    """Entries (key, tie, slot): the least key first, then the least tie, then the least slot."""

    keys: np.ndarray  # int64[entries]
    ties: np.ndarray  # int64[entries]
    slots: np.ndarray  # int64[entries]


@generic
def entry_at(heap, k):
    """The entry in place ``k``."""


@generic
def put(heap, k, entry):
    """Write an entry into place ``k``."""


@generic
def before(heap, one, other):
    """Whether one entry comes out before another. Without a branch: no processor could guess it."""


@entry_at.on(Heap)
def _entry_at(heap, k):
    return heap.keys[at(k)], heap.ties[at(k)], heap.slots[at(k)]


@put.on(Heap)
def _put(heap, k, entry):
    heap.keys[at(k)] = entry[0]
    heap.ties[at(k)] = entry[1]
    heap.slots[at(k)] = entry[2]


@before.on(Heap)
def _before(heap, one, other):
    earlier = (one[1] < other[1]) | ((one[1] == other[1]) & (one[2] < other[2]))
    return (one[0] < other[0]) | ((one[0] == other[0]) & earlier)


@inlined
def heap_push(heap, size, entry):
    """Add an entry; returns how many there are."""
    _rise(heap, size, entry)
    return size + 1


@inlined
def heap_pop(heap, size):
    """Drop the first entry; returns how many are left."""
    size -= 1
    # The hole sinks to a leaf before the last entry fills it from below: which child moves up is then the only
    # question on the way.
    hole = np.int64(0)
    child = np.int64(1)
    while child < size:
        child = _first_of_twins(heap, child, size)
        put(heap, hole, entry_at(heap, child))
        hole = child
        child = 2 * hole + 1
    _rise(heap, hole, entry_at(heap, size))
    return size


@inlined
def heapify(heap, size):
    """Bring entries written in any order into that of a heap."""
    for k in range((size - 2) >> 1, -1, -1):
        sink(heap, k, size)


@inlined
def sink(heap, k, size):
    """Bring the entry in place ``k`` as far down as it belongs; what is below it is in order."""
    entry = entry_at(heap, k)
    hole = np.int64(k)
    child = 2 * hole + 1
    while child < size:
        child = _first_of_twins(heap, child, size)
        if not before(heap, entry_at(heap, child), entry):
            break
        put(heap, hole, entry_at(heap, child))
        hole = child
        child = 2 * hole + 1
    put(heap, hole, entry)


@inlined
def _first_of_twins(heap, child, size):
    """Of a child and the one after it, if there is one, the place of the entry that comes out first."""
    twin = min(child + 1, size - 1)
    return twin if before(heap, entry_at(heap, twin), entry_at(heap, child)) else child


@inlined
def _rise(heap, hole, entry):
    """Put an entry into a hole, or as far above it as it belongs."""
    while hole > 0:
        above = (hole - 1) >> 1
        if before(heap, entry_at(heap, above), entry):
            break
        put(heap, hole, entry_at(heap, above))
        hole = above
    put(heap, hole, entry)


keeps(Heap, **to_last("keys", "ties", "slots"))  # how many entries there are is not for the heap to know
