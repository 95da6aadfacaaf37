"""Node tables: what a search knows of each state, as one packed word (see ``layout``).

A table numbers the states it holds by *slots*: the places of their words. For a dense table the slot is the state
itself, for a hashed one the order of arrival; tables of blocks and of pages take neighbouring states together, in the
order of first touch. Of all but dense ones only what a search touched takes memory, whatever the size of the world.
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
    "BlockTable",
    "DenseTable",
    "HashedTable",
    "LinkedTable",
    "PagedTable",
    "around",
    "beside",
    "block_parts",
    "enlarged_hashed",
    "exchanged",
    "foresee_expansions",
    "foresee_slot",
    "hashed",
    "intern",
    "load_growth",
    "new_blocks",
    "new_hashed",
    "new_paged",
    "page_parts",
    "parent_of",
    "place_of_block",
    "renew",
    "state_of",
    "word_of",
    "worn_out",
    "write",
]


PAGE_BITS = 6  # 64 neighbouring states share a page, or a block of 8 x 8
_ON_PAGE = (1 << PAGE_BITS) - 1
_DIRECT_FROM = 1 << 11  # slots; a copy of fewer takes a small part of a tick

# Tables with an index begin every state anew, so searches need be told apart only there, where there is more room for
# their numbers than in a word; and all have the same word for g = 0.
INDEX_STAMPS = (1 << 31) - 1
_TOP_WORD = (1 << STAMP_SHIFT) + (G_MAX << G_SHIFT)

_LINK_BITS = 4  # numbers that are kept of each block, as a power of two
_HERE = 5  # the block itself, in the middle of its links
_FIRST_STATE = 3
_TILE_BITS = 10  # places of 32 x 32 blocks lie together: 4096 bytes


class DenseTable(NamedTuple):
    """A word per state; the parent is the direction in the word. For grids."""

    words: np.ndarray  # int64[states]
    stamp: np.ndarray  # int64[1]: the current search


class LinkedTable(NamedTuple):
    """A word and a parent per state. For graphs, whose arcs have no few directions."""

    words: np.ndarray  # int64[states]
    parents: np.ndarray  # int32[states]
    stamp: np.ndarray  # int64[1]


class BlockTable(NamedTuple):
    """As DenseTable, in blocks of 8 x 8 cells that are taken in the order of first touch; a slot is a place in a block.

    So memory follows what the search touched. Block 0 stays empty: it stands for every block that was not touched.
    Each block knows those around it, so the words around a cell are found without a question or a search.

    The index needs no stamps, and is never wiped: what it says holds only if the block in use there says the same.
    """

    words: np.ndarray  # int64[blocks << PAGE_BITS], row by row
    links: np.ndarray  # int32[blocks << _LINK_BITS]: first slots of the blocks around, 3 x 3 in rows of four; see above
    places: np.ndarray  # int32[tiles << _TILE_BITS]: the first slot of each block of the map, or anything
    used: np.ndarray  # int64[2]: the blocks in use, and the most that were before
    width: int  # cells in a padded row
    inverse: float  # 1 / width
    rows: int  # of blocks
    cols: int
    tiles: int  # in a row of them


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


def block_parts(states: int, width: int) -> tuple[Part, ...]:
    """The arrays of a table for a grid of so many cells, in padded rows of ``width``, with room for all of them."""
    rows, cols = (states // width + 7) >> 3, (width + 7) >> 3
    blocks, tiles = rows * cols + 1, ((rows + 31) >> 5) * ((cols + 31) >> 5)
    return Part(blocks << PAGE_BITS), Part(blocks << _LINK_BITS, np.int32), Part(tiles << _TILE_BITS, np.int32)


def new_blocks(states: int, width: int, arrays: Sequence[np.ndarray] = ()) -> BlockTable:
    """An empty table for a grid, in the ``arrays`` that are given for its parts, or in new ones."""
    words, links, places = arrays or (reserved(*part) for part in block_parts(states, width))
    rows, cols = (states // width + 7) >> 3, (width + 7) >> 3
    return BlockTable(words, links, places, zeros(2), width, 1.0 / width, rows, cols, (cols + 31) >> 5)


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
def foresee_slot(table, slot):
    """Tell the processor that the word in a slot will be read, and which state it is."""


@generic
def foresee_expansions(table, slot, ahead):
    """The same for the states around that in a slot, and some more: a search goes on there (``ahead`` is 2, then 1)."""


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
    return np.int64(_TOP_WORD if number <= INDEX_STAMPS else 0)


@inlined
def _use_none(used):
    """Nothing is in use but what stands for all that is missing."""
    used[1] = max(used[0], used[1])
    used[0] = 1


@renew.on(BlockTable)
def _renew_blocks(table):
    _use_none(table.used)
    return np.int64(_TOP_WORD)


@renew.on(PagedTable)
def _renew_pages(table):
    _use_none(table.used)
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


# --- blocks ----------------------------------------------------------------------------------------------------------


@inlined
def _links_of(slot):
    """Where the links of a slot's block begin."""
    return slot >> PAGE_BITS << _LINK_BITS


@inlined
def _block_place(table, row, col):
    """Where in the index a block of the map is."""
    return (((row >> 5) * table.tiles + (col >> 5)) << _TILE_BITS) + ((row & 31) << 5) + (col & 31)


def place_of_block(table: BlockTable, s: int) -> int:
    """Where in the index the block of a state is."""
    return int(_places_of_blocks(table, np.array([s]))[0])


def _places_of_blocks(table: BlockTable, states: np.ndarray) -> np.ndarray:
    """As ``_block_place``, without compiled code."""
    rows, cols = np.divmod(states.astype(np.int64), table.width)
    rows, cols = rows >> 3, cols >> 3
    places = (((rows >> 5) * table.tiles + (cols >> 5)) << _TILE_BITS) + ((rows & 31) << 5) + (cols & 31)
    return np.asarray(places)


@inlined
def _first_state(table, row, col):
    """The state of the first cell in a block of the map."""
    return (row << 3) * table.width + (col << 3)


@inlined
def _block_at(table, row, col):
    """The first slot of a block of the map; 0 if it was not touched in this search, or lies outside."""
    if row < 0 or col < 0 or row >= table.rows or col >= table.cols:
        return np.int64(0)
    first = np.int64(table.places[at(_block_place(table, row, col))])
    if first >> PAGE_BITS >= table.used[0]:
        return np.int64(0)
    there = table.links[at(_links_of(first) + _FIRST_STATE)]
    return first if there == _first_state(table, row, col) else np.int64(0)


@kernel
def _new_block(table, row, col):
    """Take an empty block for a place of the map that has none, and join it to those around. Returns its first slot."""
    block = table.used[0]
    table.used[0] = block + 1
    first = block << PAGE_BITS
    links = table.links
    links[at((block << _LINK_BITS) + _FIRST_STATE)] = _first_state(table, row, col)
    table.places[at(_block_place(table, row, col))] = first
    for k in range(first, first + (1 << PAGE_BITS)):
        table.words[at(k)] = 0
    for rows in range(-1, 2):
        for cols in range(-1, 2):
            way = (rows << 2) + cols
            other = _block_at(table, row + rows, col + cols)
            links[at((block << _LINK_BITS) + _HERE + way)] = other
            if other > 0:
                links[at(_links_of(other) + _HERE - way)] = first
    return first


@intern.on(BlockTable)
def _block_intern(table, s):
    row = np.int64((s + 0.5) * table.inverse)
    col = s - row * table.width
    first = _block_at(table, row >> 3, col >> 3)
    if first == 0:
        first = _new_block(table, row >> 3, col >> 3)
    return first + ((row & 7) << 3) + (col & 7)


@state_of.on(BlockTable)
def _block_state(table, slot):
    first = np.int64(table.links[at(_links_of(slot) + _FIRST_STATE)])
    return first + ((slot >> 3) & 7) * table.width + (slot & 7)


@word_of.on(BlockTable)
def _block_word(table, s):
    row = np.int64((s + 0.5) * table.inverse)
    col = s - row * table.width
    return table.words[at(_block_at(table, row >> 3, col >> 3) + ((row & 7) << 3) + (col & 7))]


@around.on(BlockTable)
def _block_around(table, slot, width):
    words = table.words
    links = table.links
    here = _links_of(slot) + _HERE
    row = slot & 0b111000
    col = slot & 7
    # To the block above from its first row, else to the cell's own; no branch, for none could be foretold.
    above = here - 4 + ((row + 0b111000) >> 6 << 2)
    below = here + ((row + 8) >> 6 << 2)
    left = ((col + 7) >> 3) - 1
    right = (col + 1) >> 3
    row_above = (row - 8) & 0b111000
    row_below = (row + 8) & 0b111000
    col_left = (col - 1) & 7
    col_right = (col + 1) & 7
    return (
        words[at(links[at(above)] + row_above + col)],
        words[at(links[at(here + right)] + row + col_right)],
        words[at(links[at(below)] + row_below + col)],
        words[at(links[at(here + left)] + row + col_left)],
        words[at(links[at(above + right)] + row_above + col_right)],
        words[at(links[at(above + left)] + row_above + col_left)],
        words[at(links[at(below + right)] + row_below + col_right)],
        words[at(links[at(below + left)] + row_below + col_left)],
    )


@beside.on(BlockTable)
def _block_beside(table, slot, rows, cols, width):
    row = ((slot >> 3) & 7) + rows
    col = (slot & 7) + cols
    way = (row >> 3 << 2) + (col >> 3)
    first = np.int64(table.links[at(_links_of(slot) + _HERE + way)])
    if first == 0:
        first = _beside_block(table, slot, row >> 3, col >> 3)
    return first + ((row & 7) << 3) + (col & 7)


@inlined
def _beside_block(table, slot, rows, cols):
    """A new block beside that of a slot."""
    s = state_of(table, slot)
    row = np.int64((s + 0.5) * table.inverse)
    return _new_block(table, (row >> 3) + rows, ((s - row * table.width) >> 3) + cols)


@foresee_slot.on(BlockTable)
def _foresee_block(table, slot):
    prefetch(table.links, _links_of(slot))
    prefetch(table.words, slot)


@foresee_slot.otherwise
def _foresee_word(table, slot):
    prefetch(table.words, slot)


@foresee_expansions.on(BlockTable)
def _foresee_blocks(table, slot, ahead):
    if ahead == 2:
        prefetch(table.links, _links_of(slot))
        first = slot >> PAGE_BITS << PAGE_BITS
        fresh = table.used[0]  # which will be the next to be taken
        prefetch(table.links, fresh << _LINK_BITS)
        for k in range(8):
            prefetch(table.words, first + (k << 3))
            prefetch(table.words, (fresh << PAGE_BITS) + (k << 3))
    else:
        # Of the blocks around, those that the slot is nearer to.
        here = _links_of(slot) + _HERE
        side = -1 if slot & 7 < 4 else 1
        way = -4 if slot & 0b111000 < 0b100000 else 4
        half = 0b100000 if way < 0 else 0
        beside = np.int64(table.links[at(here + side)])
        above = np.int64(table.links[at(here + way)]) + half
        across = np.int64(table.links[at(here + way + side)]) + half
        for k in range(4):
            prefetch(table.words, beside + (k << 3))
            prefetch(table.words, beside + 0b100000 + (k << 3))
            prefetch(table.words, above + (k << 3))
            prefetch(table.words, across + (k << 3))


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


@lacks_room.on(DenseTable, LinkedTable, BlockTable, PagedTable)
def _room_for_all(table, more):
    return False


@write.on(DenseTable, BlockTable)
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


# --- saving -----------------------------------------------------------------------------------------------------------


def _nothing(table: Any) -> Any:
    return NOTHING


def _in_blocks(table: Any) -> Any:
    return filled(table.words, int(table.used[0]) << PAGE_BITS)


def _in_links(table: BlockTable) -> Any:
    return np.s_[: int(table.used[0]) << _LINK_BITS]


def _in_pages(table: PagedTable) -> Any:
    return np.s_[: int(table.used[0])]


def _in_slots(table: Any) -> Any:
    return np.s_[: int(table.stamp[1])]


def _of_this_search(table: Any) -> Any:
    """Where a dense table has words that count. Takes a look at all of them."""
    number = int(table.stamp[0])
    return np.flatnonzero(table.words >> STAMP_SHIFT == number) if number else NOTHING


def _place_blocks(table: BlockTable) -> None:
    """Fill in the index: each block knows which it is."""
    blocks = np.arange(1, max(1, int(table.used[0])))
    table.places[_places_of_blocks(table, table.links[(blocks << _LINK_BITS) + _FIRST_STATE])] = blocks << PAGE_BITS


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
keeps(BlockTable, _place_blocks, words=_in_blocks, links=_in_links, places=_nothing)
keeps(PagedTable, _place_pages, words=_in_blocks, parents=_in_blocks, owners=_in_pages, places=_nothing)
keeps(HashedTable, _place_slots, words=_in_slots, parents=_in_slots, states=_in_slots, places=_nothing)
