"""The node table of real-time agents on grids: blocks of 8 x 8 cells, taken from a store in the order of first touch.

Memory follows what a search touched, whatever the size of the map, and lies beside that of other agents (``store``). A
slot is the place of a cell's word in the whole store. A page has eight blocks, of 64 words each, row by row: a row is a
line of the processor's cache, and so are the links of a block.

A block knows those around it, so the words around a cell are found without a question or a search. Which block there
is at a place of the map is asked only when one is taken, and once a tick. That is in a tree, whose nodes are lines with
sixteen branches, four by four; at its lowest level a node has the first slots of 4 x 4 blocks. Nodes are taken as
blocks are, eight at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, inlined, kernel, prefetch, prefetch_early
from .memory import lacks_room, zeros
from .store import CHAINS, WORD_BITS, Pages, further, is_full, take_stock
from .tables import (
    TOP_WORD,
    around,
    beside,
    count_room,
    foresee_around,
    foresee_expansions,
    foresee_notes,
    foresee_slot,
    intern,
    renew,
    set_word,
    state_of,
    word_at,
    word_of,
    write,
)

__all__ = ["BlockTable", "new_blocks", "pages_for_blocks"]

_BLOCK = 64  # words
_PAGE_MASK = (1 << WORD_BITS) - 1
_LINK_BITS = 4  # of each block, as a power of two: first slots of the blocks around, 3 x 3 in rows of four; and
_FIRST_STATE = 3  # where it is on the map
_HERE = 5  # the block itself, in the middle of its links
_NODE_BITS = 4
_CHAIN = CHAINS[0]

# What is noted in ``used``: the slot of the block that is taken next; the tree's root and the node that is taken next,
# by the numbers of their lines; how many blocks there are; the nodes that led to the block that was taken last, from
# below: the next one is mostly near it.
_NEXT, _ROOT, _NODE, _COUNT, _WAY = range(5)
_LONGEST_WAY = 3


class BlockTable(NamedTuple):
    """As DenseTable, in blocks. The store's first block stays empty: it stands for all that were not touched."""

    pages: Pages  # of the store
    notes: np.ndarray  # int64[8]: what it has of it
    used: np.ndarray  # int64[8]: see above
    width: int  # cells in a padded row
    inverse: float  # 1 / width
    rows: int  # of blocks
    cols: int
    depth: int  # of the tree


def pages_for_blocks(states: int, width: int) -> int:
    """How many pages a grid of so many cells, in padded rows of ``width``, can take."""
    blocks = ((states // width + 7) >> 3) * ((width + 7) >> 3)
    return (blocks + blocks // 8 + 64) // 8 + 1  # the tree has not even a node for each block


def new_blocks(states: int, width: int, pages: Pages, notes: np.ndarray) -> BlockTable:
    """An empty table for a grid, in a store, for a holder with these notes."""
    rows, cols = (states // width + 7) >> 3, (width + 7) >> 3
    depth = max(1, -(-(max(rows, cols) - 1).bit_length() // 2))
    return BlockTable(pages, notes, zeros(8), width, 1.0 / width, rows, cols, depth)


@inlined
def _links_of(slot):
    """Where the links of a slot's block begin."""
    return slot >> 6 << _LINK_BITS


@inlined
def _first_state(table, row, col):
    """The state of the first cell in a block of the map."""
    return (row << 3) * table.width + (col << 3)


@inlined
def _branch(row, col):
    return ((row & 3) << 2) + (col & 3)


@inlined
def _lowest(table, row, col):
    """The first half of the lowest node for a place of the map; 0 if there is none."""
    halves = table.pages.halves
    node = table.used[_ROOT]
    level = 2 * table.depth - 2
    while level > 0 and node > 0:
        node = np.int64(halves[at((node << _NODE_BITS) + _branch(row >> level, col >> level))])
        level -= 2
    return node << _NODE_BITS


@inlined
def _block_at(table, row, col):
    """The first slot of a block of the map; 0 if it was not touched in this search."""
    lowest = _lowest(table, row, col)
    return np.int64(table.pages.halves[at(lowest + _branch(row, col))]) if lowest > 0 else np.int64(0)


@inlined
def _take_block(table):
    """A block that nobody uses, as it was left."""
    used = table.used
    slot = used[_NEXT]
    if slot & _PAGE_MASK == 0:
        page = (slot - 1) >> WORD_BITS if slot > 0 else np.int64(0)
        slot = further(table.pages, table.notes, _CHAIN, page) << WORD_BITS
    used[_NEXT] = slot + _BLOCK
    return slot


@inlined
def _take_node(table):
    """A node without branches, by its number."""
    used = table.used
    node = used[_NODE]
    if node & 7 == 0:
        node = _take_block(table) >> 3
    used[_NODE] = node + 1
    for k in range(node << _NODE_BITS, (node + 1) << _NODE_BITS):
        table.pages.halves[at(k)] = 0
    return node


@inlined
def _put(table, row, col, first):
    """Note in the tree which block there is at a place of the map."""
    halves = table.pages.halves
    used = table.used
    if used[_ROOT] == 0:
        used[_ROOT] = _take_node(table)
    node = used[_ROOT]
    level = 2 * table.depth - 2
    while level > 0:
        k = (node << _NODE_BITS) + _branch(row >> level, col >> level)
        node = np.int64(halves[at(k)])
        if node == 0:
            node = _take_node(table)
            halves[at(k)] = node
        level -= 2
        if level < 2 * _LONGEST_WAY:
            used[_WAY + (level >> 1)] = node
    halves[at((node << _NODE_BITS) + _branch(row, col))] = first


@kernel
def _new_block(table, row, col):
    """Take an empty block for a place of the map that has none, and join it to those around. Returns its first slot."""
    halves = table.pages.halves
    links = table.pages.links
    words = table.pages.words
    first = _take_block(table)
    _put(table, row, col, first)
    table.used[_COUNT] += 1
    for k in range(first, first + _BLOCK):
        words[at(k)] = 0
    mine = _links_of(first)
    links[at(mine + _FIRST_STATE)] = _first_state(table, row, col)
    lowest = np.int64(0)
    known = np.int64(-1)  # whose lowest node that is
    for rows in range(-1, 2):
        for cols in range(-1, 2):
            r = row + rows
            c = col + cols
            way = (rows << 2) + cols
            other = np.int64(0)
            if r >= 0 and c >= 0 and r < table.rows and c < table.cols:
                if ((r >> 2) << 32) + (c >> 2) != known:
                    known = ((r >> 2) << 32) + (c >> 2)
                    lowest = _lowest(table, r, c)
                if lowest > 0:
                    other = np.int64(halves[at(lowest + _branch(r, c))])
            links[at(mine + _HERE + way)] = other
            if other > 0:
                links[at(_links_of(other) + _HERE - way)] = first
    return first


@renew.on(BlockTable)
def _renew_blocks(table):
    for k in range(8):
        table.used[k] = 0
    return np.int64(TOP_WORD)


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
    first = np.int64(table.pages.links[at(_links_of(slot) + _FIRST_STATE)])
    return first + ((slot >> 3) & 7) * table.width + (slot & 7)


@word_at.on(BlockTable)
def _block_word_at(table, slot):
    return table.pages.words[at(slot)]


@set_word.on(BlockTable)
def _set_block_word(table, slot, word):
    table.pages.words[at(slot)] = word


@write.on(BlockTable)
def _block_write(table, slot, word, parent):
    table.pages.words[at(slot)] = word


@word_of.on(BlockTable)
def _block_word(table, s):
    row = np.int64((s + 0.5) * table.inverse)
    col = s - row * table.width
    return table.pages.words[at(_block_at(table, row >> 3, col >> 3) + ((row & 7) << 3) + (col & 7))]


@around.on(BlockTable)
def _block_around(table, slot, width):
    words = table.pages.words
    links = table.pages.links
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
    first = np.int64(table.pages.links[at(_links_of(slot) + _HERE + way)])
    if first == 0:
        first = _beside_block(table, slot, row >> 3, col >> 3)
    return first + ((row & 7) << 3) + (col & 7)


@inlined
def _beside_block(table, slot, rows, cols):
    """A new block beside that of a slot."""
    s = state_of(table, slot)
    row = np.int64((s + 0.5) * table.inverse)
    return _new_block(table, (row >> 3) + rows, ((s - row * table.width) >> 3) + cols)


@count_room.on(BlockTable)
def _count_pages(table):
    take_stock(table.pages, table.notes)


@lacks_room.on(BlockTable)
def _blocks_lack_room(table, more):
    return is_full(table.pages, table.notes)


@foresee_notes.on(BlockTable)
def _foresee_notes(table):
    prefetch_early(table.notes, 0)
    prefetch_early(table.used, 0)


@foresee_slot.on(BlockTable)
def _foresee_block(table, slot, early):
    if early:
        prefetch_early(table.pages.links, _links_of(slot))
        prefetch_early(table.pages.words, slot)
    else:
        prefetch(table.pages.links, _links_of(slot))
        prefetch(table.pages.words, slot)


@foresee_around.on(BlockTable)
def _foresee_rows(table, slot):
    links = table.pages.links
    here = _links_of(slot) + _HERE
    row = slot & 0b111000
    above = here - 4 + ((row + 0b111000) >> 6 << 2)
    below = here + ((row + 8) >> 6 << 2)
    prefetch_early(table.pages.words, np.int64(links[at(above)]) + ((row - 8) & 0b111000))
    prefetch_early(table.pages.words, np.int64(links[at(below)]) + ((row + 8) & 0b111000))


@foresee_expansions.on(BlockTable)
def _foresee_blocks(table, slot, ahead):
    pages = table.pages
    if ahead == 2:
        prefetch_early(pages.halves, table.used[_ROOT] << _NODE_BITS)
        for k in range(_LONGEST_WAY):
            prefetch_early(pages.halves, table.used[_WAY + k] << _NODE_BITS)
        prefetch_early(pages.links, _links_of(slot))
        first = slot >> 6 << 6
        fresh = table.used[_NEXT]  # which will be the next to be taken
        prefetch_early(pages.links, _links_of(fresh))
        for k in range(8):
            prefetch_early(pages.words, first + (k << 3))
            prefetch_early(pages.words, fresh + (k << 3))
    else:
        # Of the blocks around, those that the slot is nearer to.
        here = _links_of(slot) + _HERE
        side = -1 if slot & 7 < 4 else 1
        way = -4 if slot & 0b111000 < 0b100000 else 4
        half = 0b100000 if way < 0 else 0
        beside = np.int64(pages.links[at(here + side)])
        above = np.int64(pages.links[at(here + way)]) + half
        across = np.int64(pages.links[at(here + way + side)]) + half
        for k in range(4):
            prefetch_early(pages.words, beside + (k << 3))
            prefetch_early(pages.words, beside + 0b100000 + (k << 3))
            prefetch_early(pages.words, above + (k << 3))
            prefetch_early(pages.words, across + (k << 3))
