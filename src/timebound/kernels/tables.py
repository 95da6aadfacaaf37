"""Node tables: what a search knows of each state, as one packed word (see ``layout``).

A table numbers the states it holds by *slots*: the places of their words. For a dense table the slot is the state
itself, for a hashed one the order of arrival; banded and paged tables have a layout of their own. Of all but dense ones
only what a search touched takes memory, whatever the size of the world.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .jit import at, generic, inlined, kernel
from .layout import COLS, DIRECTION_MASK, G_MAX, G_SHIFT, ROWS, STAMP_MAX, STAMP_SHIFT
from .memory import lacks_room, reserved
from .views import GraphView, GridView, PuzzleView, TerrainView

__all__ = [
    "BandedTable",
    "DenseTable",
    "HashedTable",
    "LinkedTable",
    "PagedTable",
    "around",
    "beside",
    "enlarged_hashed",
    "exchanged",
    "hashed",
    "intern",
    "load_growth",
    "new_banded",
    "new_hashed",
    "new_paged",
    "parent_of",
    "renew",
    "state_of",
    "word_of",
    "worn_out",
    "write",
]


PAGE_BITS = 6  # 64 neighbouring states share a page
_ON_PAGE = (1 << PAGE_BITS) - 1
_DIRECT_FROM = 1 << 11  # slots; a copy of fewer takes a small part of a tick
_WIPE_SHIFT = 16  # a new search wipes 1 / 2^16 of the spare: all of it in half the time that the stamps last


class DenseTable(NamedTuple):
    """A word per state; the parent is the direction in the word. For grids."""

    words: np.ndarray  # int64[states]
    stamp: np.ndarray  # int64[1]: the current search


class LinkedTable(NamedTuple):
    """A word and a parent per state. For graphs, whose arcs have no few directions."""

    words: np.ndarray  # int64[states]
    parents: np.ndarray  # int32[states]
    stamp: np.ndarray  # int64[1]


class BandedTable(NamedTuple):
    """As DenseTable, laid out in bands of eight rows, column by column; a slot is a place in a band.

    A page of the system's memory then holds 8 x 64 cells. What a search touches lies close together in two dimensions,
    so it takes few pages; and the cells around a cell still lie a fixed way from it.
    """

    words: np.ndarray  # int64[rows, rounded up to eights, times width]
    stamp: np.ndarray  # int64[2]: the current search, and how much of the spare has been wiped
    spare: np.ndarray  # int64[the same or 0]: words to go on with when the stamps have run out
    width: int  # cells in a padded row
    inverse: float  # 1 / width


class PagedTable(NamedTuple):
    """As LinkedTable, in pages that are taken in the order of first touch; a slot is a place on a page.

    So memory follows what the search touched. Page 0 stays empty: it stands for every page that was not touched.
    """

    words: np.ndarray  # int64[pages << PAGE_BITS]
    parents: np.ndarray  # int32[pages << PAGE_BITS]
    owners: np.ndarray  # int32[pages]: which page of the world each one is
    places: np.ndarray  # int64[pages of the world]: stamp << 32 | page
    stamp: np.ndarray  # int64[3]: the current search, how much of the spare has been wiped, and the pages in use
    spare: np.ndarray  # int64[pages of the world or 0]: places to go on with when the stamps have run out


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


def new_banded(states: int, width: int) -> BandedTable:
    """A table for a grid of so many cells, in padded rows of ``width``."""
    bands = (states // width + 7) >> 3
    return BandedTable(reserved((bands * width) << 3), np.zeros(2, np.int64), np.empty(0, np.int64), width, 1.0 / width)


def new_paged(states: int) -> PagedTable:
    """A table for a graph of so many nodes, with room for all of them."""
    pages = (states >> PAGE_BITS) + 1
    room = (pages + 1) << PAGE_BITS
    return PagedTable(
        reserved(room),
        reserved(room, np.int32),
        reserved(pages + 1, np.int32),
        reserved(pages),
        np.zeros(3, np.int64),
        np.empty(0, np.int64),
    )


def exchanged(old: BandedTable | PagedTable) -> BandedTable | PagedTable:
    """The table with words (or places) that are new, or were wiped since they were last used."""
    used = old.words if isinstance(old, BandedTable) else old.places
    clean = len(old.spare) > 0 and old.stamp[1] == len(old.spare)
    fresh = old.spare if clean else reserved(len(used))
    stamp = np.zeros_like(old.stamp)
    if isinstance(old, BandedTable):
        return old._replace(words=fresh, spare=used, stamp=stamp)
    return old._replace(places=fresh, spare=used, stamp=stamp)


def new_hashed(slots: int, sparse: int = 2, states: int = 0) -> HashedTable:
    """Room for ``slots`` states, in an index with at least ``sparse`` places for each; or one place for every state."""
    places = states or 1 << (sparse * slots - 1).bit_length()
    return HashedTable(
        reserved(slots), reserved(slots, np.int32), reserved(slots), reserved(places), np.zeros(2, np.int64), states > 0
    )


def enlarged_hashed(old: HashedTable, states: int = 0) -> HashedTable:
    """The same table with more room: twice as much, or once it is large all that a world of so many states can need.

    ``states`` is 0 for a world whose states cannot be counted. A table whose stamps have run out is exchanged for an
    empty one of the same size.
    """
    slots, sparse = len(old.states), len(old.places) // len(old.states)
    if worn_out(old):
        return new_hashed(slots, sparse, len(old.places) if old.direct else 0)
    direct = states > 0 and slots >= _DIRECT_FROM
    larger = new_hashed(states, 0, states) if direct else new_hashed(2 * slots, sparse)
    used = int(old.stamp[1])
    for array, kept in zip(larger[:3], old[:3], strict=True):
        array[:used] = kept[:used]
    larger.stamp[:] = old.stamp
    reindex(larger, used)
    return larger


def worn_out(table: Any) -> bool:
    """Whether the table has no stamp left for another search: ``renew`` has given 0."""
    return bool(table.stamp[0] > STAMP_MAX)


@cache
def load_growth() -> None:
    """Load what enlarges tables, before it is needed in a tick."""
    enlarged_hashed(new_hashed(1))


@kernel
def reindex(table, used):
    """Fill an empty index again after the table has been enlarged."""
    for slot in range(used):
        table.places[at(probe(table, table.states[slot]))] = (table.stamp[0] << 32) | slot


@generic
def renew(table):
    """Forget everything, in constant time, and return the word of a state with g = 0 in the new search.

    0 once in 131,071 searches: the stamps have run out, and the table must be exchanged for an empty one. (Dense tables
    are for searches that see much of the map: they are wiped.)
    """


@generic
def word_of(table, s):
    """The word of state ``s``; smaller than any word of this search if the search has not seen it."""


@generic
def around(table, slot, width):
    """The words of the eight cells around that in a slot, in the order of the directions."""


@generic
def beside(table, slot, rows, cols, width):
    """The slot of the cell so many rows and columns away, at most one each."""


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
def parent_of(world, table, slot):
    """The slot of the parent of the state in ``slot``."""


@inlined
def _next_search(stamp):
    """Count one search more. Returns the word of a state with g = 0 in it; 0 if the numbers have run out."""
    number = min(stamp[0], STAMP_MAX) + 1
    stamp[0] = number
    return (number << STAMP_SHIFT) + (G_MAX << G_SHIFT) if number <= STAMP_MAX else np.int64(0)


@renew.on(DenseTable, LinkedTable)
def _renew_dense(table):
    top_word = _next_search(table.stamp)
    if top_word == 0:
        table.words[:] = 0
        table.stamp[0] = 0
        top_word = _next_search(table.stamp)
    return top_word


@inlined
def _wipe_some(spare, stamp):
    """What was used before is wiped by and by, so that it is clean long before its turn comes again.

    Only what is not zero is written: memory that was never touched stays untouched.
    """
    first = stamp[1]
    last = min(first + (spare.shape[0] >> _WIPE_SHIFT) + 1, spare.shape[0])
    for k in range(first, last):
        if spare[at(k)] != 0:
            spare[at(k)] = 0
    stamp[1] = last


@renew.on(BandedTable)
def _renew_banded(table):
    _wipe_some(table.spare, table.stamp)
    return _next_search(table.stamp)


@renew.on(PagedTable)
def _renew_paged(table):
    table.stamp[2] = 1
    _wipe_some(table.spare, table.stamp)
    return _next_search(table.stamp)


@word_of.on(DenseTable, LinkedTable)
def _dense_word(table, s):
    return table.words[at(s)]


@intern.on(DenseTable, LinkedTable)
def _dense_intern(table, s):
    return s


@state_of.on(DenseTable, LinkedTable)
def _dense_state(table, slot):
    return slot


@around.on(DenseTable)
def _dense_around(table, slot, width):
    words = table.words
    return (
        words[at(slot - width)],
        words[at(slot + 1)],
        words[at(slot + width)],
        words[at(slot - 1)],
        words[at(slot - width + 1)],
        words[at(slot - width - 1)],
        words[at(slot + width + 1)],
        words[at(slot + width - 1)],
    )


@beside.on(DenseTable)
def _dense_beside(table, slot, rows, cols, width):
    return slot + rows * width + cols


# --- bands -----------------------------------------------------------------------------------------------------------


@intern.on(BandedTable)
def _banded_intern(table, s):
    row = np.int64((s + 0.5) * table.inverse)
    return (((row >> 3) * table.width + s - row * table.width) << 3) + (row & 7)


@state_of.on(BandedTable)
def _banded_state(table, slot):
    line = slot >> 3
    band = np.int64((line + 0.5) * table.inverse)
    return ((band << 3) + (slot & 7)) * table.width + line - band * table.width


@word_of.on(BandedTable)
def _banded_word(table, s):
    return table.words[at(intern(table, s))]


@inlined
def _above(table, slot):
    """How far away the cell above is: in the same band, or at the bottom of the next one."""
    return -1 if slot & 7 else 7 - (table.width << 3)


@inlined
def _below(table, slot):
    return 1 if slot & 7 != 7 else (table.width << 3) - 7


@around.on(BandedTable)
def _banded_around(table, slot, width):
    words = table.words
    above = slot + _above(table, slot)
    below = slot + _below(table, slot)
    return (
        words[at(above)],
        words[at(slot + 8)],
        words[at(below)],
        words[at(slot - 8)],
        words[at(above + 8)],
        words[at(above - 8)],
        words[at(below + 8)],
        words[at(below - 8)],
    )


@beside.on(BandedTable)
def _banded_beside(table, slot, rows, cols, width):
    step = _above(table, slot) if rows < 0 else _below(table, slot)
    return slot + (step if rows != 0 else 0) + (cols << 3)


# --- pages -----------------------------------------------------------------------------------------------------------


@inlined
def _page_of(table, s):
    """The page that holds ``s`` in this search; 0 if there is none."""
    entry = table.places[at(s >> PAGE_BITS)]
    return entry & 0xFFFFFFFF if entry >> 32 == table.stamp[0] else np.int64(0)


@word_of.on(PagedTable)
def _paged_word(table, s):
    return table.words[at((_page_of(table, s) << PAGE_BITS) + (s & _ON_PAGE))]


@intern.on(PagedTable)
def _paged_intern(table, s):
    page = _page_of(table, s)
    if page == 0:
        page = table.stamp[2]
        table.stamp[2] = page + 1
        table.owners[at(page)] = s >> PAGE_BITS
        table.places[at(s >> PAGE_BITS)] = (table.stamp[0] << 32) | page
        for k in range(page << PAGE_BITS, (page + 1) << PAGE_BITS):
            table.words[at(k)] = 0
    return (page << PAGE_BITS) + (s & _ON_PAGE)


@state_of.on(PagedTable)
def _paged_state(table, slot):
    return (np.int64(table.owners[at(slot >> PAGE_BITS)]) << PAGE_BITS) + (slot & _ON_PAGE)


@lacks_room.on(DenseTable, LinkedTable, BandedTable, PagedTable)
def _room_for_all(table, more):
    return False


@write.on(DenseTable, BandedTable)
def _dense_write(table, slot, word, parent):
    table.words[at(slot)] = word


@write.on(LinkedTable, PagedTable, HashedTable)
def _linked_write(table, slot, word, parent):
    table.words[at(slot)] = word
    table.parents[at(slot)] = parent


@parent_of.on(GridView, TerrainView)
def _grid_parent(world, table, slot):
    i = at(table.words[at(slot)] & DIRECTION_MASK)
    return beside(table, slot, -ROWS[i], -COLS[i], world.width)


@parent_of.on(GraphView, PuzzleView)
def _linked_parent(world, table, slot):
    return np.int64(table.parents[at(slot)])


@renew.on(HashedTable)
def _renew_hashed(table):
    table.stamp[1] = 0
    return _next_search(table.stamp)


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


@lacks_room.on(HashedTable)
def _hashed_lacks_room(table, more):
    return table.stamp[1] + more > table.states.shape[0]
