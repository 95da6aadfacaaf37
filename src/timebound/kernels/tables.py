"""Node tables: what a search knows of each state, as one packed word (see ``layout``).

A table numbers the states it holds by *slots*: the places of their words. For a dense table the slot is the state
itself, for a hashed one the order of arrival; tables of pages, and of blocks (``blocks.py``), take neighbouring states
together, in the order of first touch. Of all but dense ones only what a search touched takes memory, whatever the size
of the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .jit import at, generic, inlined, kernel, prefetch
from .layout import COLS, DIRECTION_MASK, G_MAX, G_SHIFT, ROWS, STAMP_MAX, STAMP_SHIFT
from .memory import Part, lacks_room, reserved, zeros
from .saving import NOTHING, filled, keeps
from .views import GraphView, GridView, PuzzleView, TerrainView

__all__ = [
    "DenseTable",
    "HashedTable",
    "LinkedTable",
    "PagedTable",
    "around",
    "beside",
    "count_room",
    "enlarged_hashed",
    "exchanged",
    "foresee_around",
    "foresee_expansions",
    "foresee_notes",
    "foresee_slot",
    "hashed",
    "intern",
    "load_growth",
    "new_hashed",
    "new_paged",
    "page_parts",
    "parent_of",
    "renew",
    "set_word",
    "state_of",
    "word_at",
    "word_of",
    "worn_out",
    "write",
]


PAGE_BITS = 6  # 64 neighbouring states share a page
_ON_PAGE = (1 << PAGE_BITS) - 1
_DIRECT_FROM = 1 << 11  # slots; a copy of fewer takes a small part of a tick

# Tables with an index begin every state anew, so searches need be told apart only there, where there is more room for
# their numbers than in a word; and all have the same word for g = 0.
INDEX_STAMPS = (1 << 31) - 1
TOP_WORD = (1 << STAMP_SHIFT) + (G_MAX << G_SHIFT)


class DenseTable(NamedTuple):
    """A word per state; the parent is the direction in the word. For grids."""

    words: np.ndarray  # int64[states]
    stamp: np.ndarray  # int64[1]: the current search


class LinkedTable(NamedTuple):
    """A word and a parent per state. For graphs, whose arcs have no few directions."""

    words: np.ndarray  # int64[states]
    parents: np.ndarray  # int32[states]
    stamp: np.ndarray  # int64[1]


class PagedTable(NamedTuple):
    """As LinkedTable, in pages that are taken in the order of first touch; a slot is a place on a page.

    So memory follows what the search touched. Page 0 stays empty: it stands for every page that was not touched.
    """

    words: np.ndarray  # int64[pages << PAGE_BITS]
    parents: np.ndarray  # int32[pages << PAGE_BITS]
    owners: np.ndarray  # int32[pages]: which page of the world each one is
    places: np.ndarray  # int64[pages of the world]: stamp << 32 | page
    used: np.ndarray  # int64[2]: the pages in use, and the most that were before
    stamp: np.ndarray  # int64[1]: the current search


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


def page_parts(states: int) -> tuple[Part, ...]:
    """The arrays of a table for a graph of so many nodes, with room for all of them."""
    pages = (states >> PAGE_BITS) + 1
    room = (pages + 1) << PAGE_BITS
    return Part(room), Part(room, np.int32), Part(pages + 1, np.int32), Part(pages)


def new_paged(states: int, arrays: Sequence[np.ndarray] = ()) -> PagedTable:
    """An empty table for a graph, in the ``arrays`` that are given for its parts, or in new ones."""
    words, parents, owners, places = arrays or (reserved(*part) for part in page_parts(states))
    return PagedTable(words, parents, owners, places, zeros(2), zeros(1))


def exchanged(old: PagedTable) -> PagedTable:
    """The table with an empty index, when the stamps of the old one have run out."""
    return old._replace(places=reserved(len(old.places)), stamp=np.zeros_like(old.stamp))


def new_hashed(slots: int, sparse: int = 2, states: int = 0) -> HashedTable:
    """Room for ``slots`` states, in an index with at least ``sparse`` places for each; or one place for every state."""
    places = states or 1 << (sparse * slots - 1).bit_length()
    return HashedTable(
        reserved(slots), reserved(slots, np.int32), reserved(slots), reserved(places), zeros(2), states > 0
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


def worn_out(table: PagedTable | HashedTable) -> bool:
    """Whether the table has no stamp left for another search: ``renew`` has given 0."""
    return bool(table.stamp[0] > INDEX_STAMPS)


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
def foresee_slot(table, slot, early):
    """Tell the processor that the word in a slot will be read, and which state it is; ``early``: not just now."""


@generic
def foresee_notes(table):
    """Tell the processor that what a table notes of itself will be read."""


@foresee_notes.otherwise
def _no_notes(table):
    pass


@generic
def foresee_expansions(table, slot, ahead):
    """The same for the states around that in a slot, and some more: a search goes on there (``ahead`` is 2, then 1)."""


@generic
def foresee_around(table, slot):
    """The same for the states around it, of which some lie in other lines; what ``foresee_slot`` asked for is there."""


@foresee_around.otherwise
def _nothing_around(table, slot):
    pass


@generic
def count_room(table):
    """See how much room there is, before a search begins or goes on; ``lacks_room`` then goes by that."""


@count_room.otherwise
def _room_as_it_was(table):
    pass


@generic
def renew(table):
    """Forget everything, in constant time, and return the word of a state with g = 0 in the new search.

    0 once in two billion searches: the stamps have run out, and the table must be exchanged for an empty one. (Dense
    tables, which have 131,071 of them, are for searches that see much of the map: they are wiped. Blocks need none.)
    """


@generic
def word_of(table, s):
    """The word of state ``s``; smaller than any word of this search if the search has not seen it."""


@generic
def word_at(table, slot):
    """The word in a slot."""


@generic
def set_word(table, slot, word):
    """Set the word in a slot; its parent stays what it is."""


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


@renew.on(DenseTable, LinkedTable)
def _renew_dense(table):
    number = table.stamp[0] + 1
    if number > STAMP_MAX:
        table.words[:] = 0
        number = 1
    table.stamp[0] = number
    return (np.int64(number) << STAMP_SHIFT) + (G_MAX << G_SHIFT)


@inlined
def _next_search(stamp):
    """Count one search more. Returns the word of a state with g = 0 in it; 0 if the numbers have run out."""
    number = min(stamp[0], INDEX_STAMPS) + 1
    stamp[0] = number
    return np.int64(TOP_WORD if number <= INDEX_STAMPS else 0)


@inlined
def _use_none(used):
    """Nothing is in use but what stands for all that is missing."""
    used[1] = max(used[0], used[1])
    used[0] = 1


@renew.on(PagedTable)
def _renew_pages(table):
    _use_none(table.used)
    return _next_search(table.stamp)


@word_at.otherwise
def _word_at(table, slot):
    return table.words[at(slot)]


@set_word.otherwise
def _set_word(table, slot, word):
    table.words[at(slot)] = word


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


@foresee_slot.otherwise
def _foresee_word(table, slot, early):
    prefetch(table.words, slot)


@foresee_expansions.otherwise
def _foresee_word_alone(table, slot, ahead):
    prefetch(table.words, slot)


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
        page = table.used[0]
        table.used[0] = page + 1
        table.owners[at(page)] = s >> PAGE_BITS
        table.places[at(s >> PAGE_BITS)] = (table.stamp[0] << 32) | page
        for k in range(page << PAGE_BITS, (page + 1) << PAGE_BITS):
            table.words[at(k)] = 0
    return (page << PAGE_BITS) + (s & _ON_PAGE)


@state_of.on(PagedTable)
def _paged_state(table, slot):
    return (np.int64(table.owners[at(slot >> PAGE_BITS)]) << PAGE_BITS) + (slot & _ON_PAGE)


@lacks_room.on(DenseTable, LinkedTable, PagedTable)
def _room_for_all(table, more):
    return False


@write.on(DenseTable)
def _dense_write(table, slot, word, parent):
    table.words[at(slot)] = word


@write.on(LinkedTable, PagedTable, HashedTable)
def _linked_write(table, slot, word, parent):
    table.words[at(slot)] = word
    table.parents[at(slot)] = parent


@parent_of.on(GridView, TerrainView)
def _grid_parent(world, table, slot):
    i = at(word_at(table, slot) & DIRECTION_MASK)
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


# --- saving -----------------------------------------------------------------------------------------------------------


def _nothing(table: Any) -> Any:
    return NOTHING


def _in_words(table: Any) -> Any:
    return filled(table.words, int(table.used[0]) << PAGE_BITS)


def _in_pages(table: PagedTable) -> Any:
    return np.s_[: int(table.used[0])]


def _in_slots(table: Any) -> Any:
    return np.s_[: int(table.stamp[1])]


def _of_this_search(table: Any) -> Any:
    """Where a dense table has words that count. Takes a look at all of them."""
    number = int(table.stamp[0])
    return np.flatnonzero(table.words >> STAMP_SHIFT == number) if number else NOTHING


def _place_pages(table: PagedTable) -> None:
    pages = np.arange(1, max(1, int(table.used[0])))
    table.places[table.owners[pages]] = (table.stamp[0] << 32) | pages


def _place_slots(table: HashedTable) -> None:
    used = int(table.stamp[1])
    if table.direct:
        table.places[table.states[:used]] = (table.stamp[0] << 32) | np.arange(used)
    elif used:
        reindex(table, used)


keeps(DenseTable, words=_of_this_search)
keeps(LinkedTable, words=_of_this_search, parents=_of_this_search)
keeps(PagedTable, _place_pages, words=_in_words, parents=_in_words, owners=_in_pages, places=_nothing)
keeps(HashedTable, _place_slots, words=_in_slots, parents=_in_slots, states=_in_slots, places=_nothing)
