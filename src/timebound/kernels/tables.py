"""Node tables: what a search knows of each state, as one packed word (see ``layout``).

A table numbers the states it holds by *slots*. For a dense table the slot is the state itself; for a hashed one it
is the order of arrival, so memory follows what the search touched and not the size of the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined, kernel
from .layout import COLS, DIRECTION_BITS, G_MAX, G_SHIFT, ROWS, STAMP_MAX, STAMP_SHIFT
from .memory import reserved
from .views import GraphView, GridView, PuzzleView, TerrainView

__all__ = [
    "DenseTable",
    "HashedTable",
    "LinkedTable",
    "enlarged_hashed",
    "full",
    "hashed",
    "intern",
    "new_hashed",
    "parent_of",
    "renew",
    "state_of",
    "word_of",
    "write",
]


_WIPE_SHIFT = 16  # a new search wipes 1 / 2^16 of the spare: all of it in half the time that the stamps last


class DenseTable(NamedTuple):
    """A word per state; the parent is the direction in the word. For grids."""

    words: np.ndarray  # int64[states]
    stamp: np.ndarray  # int64[2]: the current search, and how much of the spare has been wiped
    spare: np.ndarray  # int64[states or 0]: words to go on with when the stamps have run out


class LinkedTable(NamedTuple):
    """A word and a parent per state. For graphs, whose arcs have no few directions."""

    words: np.ndarray  # int64[states]
    parents: np.ndarray  # int32[states]
    stamp: np.ndarray  # int64[2]
    spare: np.ndarray


class HashedTable(NamedTuple):
    """Words, parents and states in order of arrival, found through an index.

    The index is open addressing by a hash, for states that are scattered; or, if ``direct``, has a place for each.
    """

    words: np.ndarray  # int64[capacity]
    parents: np.ndarray  # int32[capacity]
    states: np.ndarray  # int64[capacity]
    places: np.ndarray  # int64[a power of two, at least twice the capacity, or states]: stamp << 32 | slot
    stamp: np.ndarray  # int64[2]: the current search, and how many slots it uses
    direct: bool


def new_hashed(slots: int, sparse: int = 2, states: int = 0) -> HashedTable:
    """Room for ``slots`` states, in an index with at least ``sparse`` places for each; or one place for every state."""
    places = states or 1 << (sparse * slots - 1).bit_length()
    return HashedTable(
        reserved(slots), reserved(slots, np.int32), reserved(slots), reserved(places), np.zeros(2, np.int64), states > 0
    )


def enlarged_hashed(old: HashedTable) -> HashedTable:
    """The same table with room for twice as many states; an empty one of the same size if its stamps have run out."""
    slots, sparse = len(old.states), len(old.places) // len(old.states)
    if old.stamp[0] > STAMP_MAX:
        return new_hashed(slots, sparse, len(old.places) if old.direct else 0)
    larger = new_hashed(2 * slots, sparse)
    used = int(old.stamp[1])
    for array, kept in zip(larger[:3], old[:3], strict=True):
        array[:used] = kept[:used]
    larger.stamp[:] = old.stamp
    reindex(larger, used)
    return larger


@kernel
def reindex(table, used):
    """Fill an empty index again after the table has been enlarged."""
    for slot in range(used):
        table.places[at(probe(table, table.states[slot]))] = (table.stamp[0] << 32) | slot


@generic
def renew(table):
    """Forget everything, in constant time, and return the word of a state with g = 0 in the new search.

    0 once in 131,071 searches: the stamps have run out, and the table must be replaced by an empty one.
    """


@generic
def word_of(table, s):
    """The word of state ``s``; smaller than any word of this search if the search has not seen it."""


@generic
def intern(table, s):
    """The slot of state ``s``, made if need be."""


@generic
def state_of(table, slot):
    """The state in a slot."""


@generic
def write(table, slot, word, parent):
    """Set the word of a slot, and its parent slot where the word does not say it."""


@generic
def full(table, more):
    """Whether the table could not take ``more`` new states."""


@generic
def parent_of(world, table, slot):
    """The slot of the parent of the state in ``slot``."""


@renew.on(DenseTable, LinkedTable)
def _renew_dense(table):
    stamp = table.stamp[0] + 1
    if stamp > STAMP_MAX:
        table.stamp[0] = STAMP_MAX + 1
        return np.int64(0)
    table.stamp[0] = stamp
    # The words used before are wiped by and by, so that they are clean long before it is their turn again. Only what
    # is not zero is written: memory that was never touched stays untouched.
    spare = table.spare
    first = table.stamp[1]
    last = min(first + (spare.shape[0] >> _WIPE_SHIFT) + 1, spare.shape[0])
    for k in range(first, last):
        if spare[at(k)] != 0:
            spare[at(k)] = 0
    table.stamp[1] = last
    return (stamp << STAMP_SHIFT) + (G_MAX << G_SHIFT)


@word_of.on(DenseTable, LinkedTable)
def _dense_word(table, s):
    return table.words[at(s)]


@intern.on(DenseTable, LinkedTable)
def _dense_intern(table, s):
    return s


@state_of.on(DenseTable, LinkedTable)
def _dense_state(table, slot):
    return slot


@full.on(DenseTable, LinkedTable)
def _dense_full(table, more):
    return False


@write.on(DenseTable)
def _dense_write(table, slot, word, parent):
    table.words[at(slot)] = word


@write.on(LinkedTable, HashedTable)
def _linked_write(table, slot, word, parent):
    table.words[at(slot)] = word
    table.parents[at(slot)] = parent


@parent_of.on(GridView, TerrainView)
def _grid_parent(world, table, slot):
    i = at(table.words[at(slot)] & ((1 << DIRECTION_BITS) - 1))
    return slot - ROWS[i] * world.width - COLS[i]


@parent_of.on(GraphView, PuzzleView)
def _linked_parent(world, table, slot):
    return np.int64(table.parents[at(slot)])


@renew.on(HashedTable)
def _renew_hashed(table):
    stamp = table.stamp[0] + 1
    if stamp > STAMP_MAX:
        table.stamp[0] = STAMP_MAX + 1
        return np.int64(0)
    table.stamp[0] = stamp
    table.stamp[1] = 0
    return (stamp << STAMP_SHIFT) + (G_MAX << G_SHIFT)


@generic
def probe(table, s):
    """Where in the index state ``s`` is, or would go."""


@inlined
def hashed(s):
    """A state scattered over the low bits."""
    # Fold the high half in, then multiply by an odd constant that stays below 2^31: no overflow in plain Python.
    return (((s ^ (s >> 29)) & 0x7FFFFFFF) * 0x2545F491) >> 12


@probe.on(HashedTable)
def _probe(table, s):
    if table.direct:
        return s
    mask = table.places.shape[0] - 1
    k = hashed(s)
    while True:
        k &= mask
        entry = table.places[at(k)]
        if entry >> 32 != table.stamp[0] or table.states[at(entry & 0xFFFFFFFF)] == s:
            return k
        k += 1


@word_of.on(HashedTable)
def _hashed_word(table, s):
    entry = table.places[at(probe(table, s))]
    if entry >> 32 != table.stamp[0]:
        return 0
    return table.words[at(entry & 0xFFFFFFFF)]


@intern.on(HashedTable)
def _hashed_intern(table, s):
    k = at(probe(table, s))
    entry = table.places[k]
    if entry >> 32 == table.stamp[0]:
        return entry & 0xFFFFFFFF
    slot = table.stamp[1]
    table.stamp[1] = slot + 1
    table.states[at(slot)] = s
    table.words[at(slot)] = 0
    table.places[k] = (table.stamp[0] << 32) | slot
    return slot


@state_of.on(HashedTable)
def _hashed_state(table, slot):
    return table.states[at(slot)]


@full.on(HashedTable)
def _hashed_full(table, more):
    return table.stamp[1] + more > table.states.shape[0]
