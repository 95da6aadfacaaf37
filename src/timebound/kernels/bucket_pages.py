"""The open list of real-time agents: buckets as in ``queues.BucketQueue``, in pages of a store.

Of the two arrays of a BucketQueue the heads are a ring for as many keys as are in use, in one lot of pages. It is
exchanged for a larger one when they become more, and for an array of its own when they become too many. Entries are
known by their places in the whole store. Those that follow each other as places of the list lie in a chain of pages,
which grows by a page, without a copy. All of it lies beside what else the agent holds (``store``). No entry has place
0, which stands for none.
"""

from __future__ import annotations

import copyreg
from typing import Any, NamedTuple

import numpy as np

from .jit import at, inlined, kernel, prefetch_early
from .layout import INFINITE
from .memory import Piece, lacks_room, reserved, zeros
from .queues import (
    clear,
    foresee_top,
    foreseen,
    foreseen_next,
    leave,
    likely_next,
    link,
    loosen,
    place_from,
    places,
    pop,
    push,
    resume,
    settle,
    slot_in,
    strike,
    suspend,
    tidy,
    top,
)
from .store import (
    CHAINS,
    HALF_BITS,
    LARGEST,
    LOT,
    SIZE,
    WORD_BITS,
    Pages,
    further,
    give_lot,
    is_full,
    lacks_lot,
    take_lot,
)

__all__ = ["BucketPages", "entries_in", "new_bucket_pages", "pages_for_buckets", "widened"]

_PAGE_MASK = (1 << WORD_BITS) - 1
_NEXT = 0xFFFFFFFF  # of an entry, the part that names the next one
_CHAIN = CHAINS[1]
# Behind the cursor: entries on pages before the one in use; how many of the first entries were foreseen, and which.
_BEFORE, _COUNT, _FIRST = 7, 8, 9
_FORESEEN = 7


class BucketPages(NamedTuple):
    """An array of stacks, one per key: push and pop in constant time, as the TBA* paper's bound demands.

    The cursor: least key, lowest and highest key in use, free list, the entry after the last that was used (0: none
    was), where the ring begins, and a mask for places in it.
    """

    pages: Pages  # of the store
    notes: np.ndarray  # int64[8]: what it has of it
    heads: np.ndarray  # int32[...]: where the ring lies: the store's halves, or a power of two of its own
    saved: np.ndarray  # int64[16]: the cursor, and what stands above


def pages_for_buckets(states: int) -> int:
    """How many pages a search among so many states can take, where each has at most eight arcs."""
    return (8 * states >> WORD_BITS) + (4 << LARGEST) + 2


def new_bucket_pages(pages: Pages, notes: np.ndarray) -> BucketPages:
    """An empty list, in a store, for a holder with these notes."""
    return BucketPages(pages, notes, pages.halves, zeros(_FIRST + _FORESEEN))


def widened(old: BucketPages) -> BucketPages:
    """The same list with a ring of its own, for keys that lie too far apart for a lot of the store; twice as wide."""
    low, high, ring, mask = (int(old.saved[k]) for k in (1, 2, 5, 6))
    wide = max(2 * (mask + 1), (2 << HALF_BITS) << LARGEST) - 1
    heads = reserved(wide + 1, np.int32)
    keys = np.arange(low, high + 1)
    heads[keys & wide] = old.heads[ring + (keys & mask)]
    old.saved[5:7] = 0, wide
    return old._replace(heads=heads)


def _saved(queue: BucketPages) -> tuple[Any, ...]:
    """The store saves its own memory; of a ring apart from it only what is in use."""
    low, high = int(queue.saved[1]), int(queue.saved[2])
    own = len(queue.heads) != len(queue.pages.halves)  # as ``_is_apart``, which is for kernels
    used = np.arange(low, high + 1) & (len(queue.heads) - 1)
    return _again, (queue.pages, queue.notes, Piece(queue.heads, used) if own else None, queue.saved)


def _again(pages: Pages, notes: np.ndarray, heads: np.ndarray | None, saved: np.ndarray) -> BucketPages:
    return BucketPages(pages, notes, pages.halves if heads is None else heads, saved)


copyreg.pickle(BucketPages, _saved)


def entries_in(queue: BucketPages) -> int:
    """How many entries there are, or have been at once."""
    used = int(queue.saved[4])
    return int(queue.saved[_BEFORE]) + ((used - 1) & _PAGE_MASK) + 1 if used else 0


@inlined
def _is_apart(queue):
    """Whether the ring is an array of its own."""
    return queue.heads.shape[0] != queue.pages.halves.shape[0]


@resume.on(BucketPages)
def _resume(queue):
    saved = queue.saved
    return saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6]


@suspend.on(BucketPages)
def _suspend(queue, cursor):
    saved = queue.saved
    for i in range(7):
        saved[i] = cursor[i]


@clear.on(BucketPages)
def _clear(queue):
    notes = queue.notes
    queue.saved[_BEFORE] = 0
    ring = notes[LOT] << HALF_BITS
    mask = (np.int64(1 << HALF_BITS) << notes[SIZE]) - 1 if notes[LOT] > 0 else np.int64(-1)
    if _is_apart(queue):
        ring = np.int64(0)
        mask = queue.heads.shape[0] - 1
    return np.int64(INFINITE), np.int64(0), np.int64(-1), np.int64(0), np.int64(0), ring, mask


@settle.on(BucketPages)
def _settle(queue, cursor):
    least, low, high, free, used, ring, mask = cursor
    halves = queue.heads
    while least <= high and halves[at(ring + (least & mask))] == 0:
        least += 1
    if least > high:
        least = np.int64(INFINITE)
    return least, low, high, free, used, ring, mask


@inlined
def _first_entry(queue, cursor):
    """The top entry of the least key; 0 if there is none, or for a key that nobody uses."""
    return np.int64(queue.heads[at(cursor[5] + (cursor[0] & cursor[6]))])


@top.on(BucketPages)
def _top(queue, cursor):
    return queue.pages.words[at(_first_entry(queue, cursor))] >> 32


@pop.on(BucketPages)
def _pop(queue, cursor):
    least, low, high, free, used, ring, mask = cursor
    words = queue.pages.words
    entry = _first_entry(queue, cursor)
    packed = words[at(entry)]
    queue.heads[at(ring + (least & mask))] = packed & _NEXT
    words[at(entry)] = -1 - free
    return packed >> 32, (least, low, high, entry, used, ring, mask)


@likely_next.on(BucketPages)
def _next_in_bucket(queue, cursor):
    return queue.pages.words[at(_first_entry(queue, cursor))] >> 32


@foresee_top.on(BucketPages)
def _foresee_top(queue, ahead):
    saved = queue.saved
    if ahead == 5:
        prefetch_early(saved, 0)
        prefetch_early(saved, _FIRST)
        return np.int64(0)
    least, _, high, free, used, ring, mask = resume(queue)
    if least > high:
        return np.int64(0)
    if ahead == 4:
        for line in range(-4, 5):
            prefetch_early(queue.heads, ring + ((least + 16 * line) & mask))
        prefetch_early(queue.pages.words, used)
        prefetch_early(queue.pages.words, free)
        return np.int64(0)
    if ahead == 3:
        count = np.int64(0)
        for key in range(least, min(high, least + 80) + 1):
            entry = np.int64(queue.heads[at(ring + (key & mask))])
            if entry > 0:
                saved[_FIRST + count] = entry
                prefetch_early(queue.pages.words, entry)
                count += 1
                if count == _FORESEEN:
                    break
        saved[_COUNT] = count
        return np.int64(0)
    return min(saved[_COUNT], _FORESEEN)


@foreseen.on(BucketPages)
def _foreseen(queue, k, ahead):
    packed = _entry(queue, queue.saved[_FIRST + k])
    if ahead == 2:
        prefetch_early(queue.pages.words, packed & _NEXT)
    return _slot_of(queue, packed)


@foreseen_next.on(BucketPages)
def _foreseen_next(queue, k):
    packed = _entry(queue, _entry(queue, queue.saved[_FIRST + k]) & _NEXT)
    prefetch_early(queue.pages.words, packed & _NEXT)
    return _slot_of(queue, packed)


# Another thread may be at work there, and what is read be anything: a hint may be wrong, but must not lead outside.


@inlined
def _entry(queue, place):
    words = queue.pages.words
    return words[at(place)] if 0 <= place < words.shape[0] else np.int64(0)


@inlined
def _slot_of(queue, packed):
    return packed >> 32 if 0 <= packed >> 32 < queue.pages.words.shape[0] else np.int64(0)


@push.on(BucketPages)
def _push(queue, cursor, key, slot):
    least, low, high, free, used, ring, mask = cursor
    words = queue.pages.words
    halves = queue.heads
    if key > high or key < low:
        low, high, ring, mask = _with_bucket(queue, low, high, ring, mask, key)
    if free != 0:
        entry = free
        free = -1 - words[at(entry)]
    else:
        entry = _fresh_entry(queue, used)
        used = entry + 1
    head = ring + (key & mask)
    words[at(entry)] = (slot << 32) | np.int64(halves[at(head)])
    halves[at(head)] = entry
    return min(least, key), low, high, free, used, ring, mask


@inlined
def _fresh_entry(queue, used):
    """A place for one entry more."""
    if used & _PAGE_MASK:
        return used
    page = (used - 1) >> WORD_BITS if used > 0 else np.int64(0)
    if page > 0:
        queue.saved[_BEFORE] += 1 << WORD_BITS
    return further(queue.pages, queue.notes, _CHAIN, page) << WORD_BITS


@inlined
def _with_bucket(queue, low, high, ring, mask, key):
    """The lowest and the highest key in use, and the ring, when ``key`` is one of them."""
    halves = queue.heads
    if low > high:
        low = key
        high = key - 1
    span = max(high, key) - min(low, key)
    if span > mask:
        ring, mask = _wider(queue, low, high, ring, mask, span)
    while high < key:
        high += 1
        halves[at(ring + (high & mask))] = 0
    while low > key:
        low -= 1
        halves[at(ring + (low & mask))] = 0
    return low, high, ring, mask


@kernel
def _wider(queue, low, high, ring, mask, span):
    """A ring for keys that are so far apart, with the heads that there are."""
    halves = queue.heads
    before = queue.notes[LOT]
    size_before = queue.notes[SIZE]
    size = _size_for(span)
    lot = take_lot(queue.pages, queue.notes, size) << HALF_BITS
    wide = (np.int64(1 << HALF_BITS) << size) - 1
    for key in range(low, high + 1):
        halves[at(lot + (key & wide))] = halves[at(ring + (key & mask))]
    if before > 0:
        give_lot(queue.pages, queue.notes, before, size_before)
    return lot, wide


@link.on(BucketPages)
def _link(queue, cursor, k, key):
    least, low, high, free, used, ring, mask = cursor
    words = queue.pages.words
    if key > high or key < low:
        low, high, ring, mask = _with_bucket(queue, low, high, ring, mask, key)
    head = ring + (key & mask)
    words[at(k)] = ((words[at(k)] >> 32) << 32) | np.int64(queue.heads[at(head)])
    queue.heads[at(head)] = k
    return min(least, key), low, high, free, used, ring, mask


@loosen.on(BucketPages)
def _loosen(queue, cursor):
    return np.int64(INFINITE), np.int64(0), np.int64(-1), cursor[3], cursor[4], cursor[5], cursor[6]


@places.on(BucketPages)
def _places(queue, cursor):
    return cursor[4]


@place_from.on(BucketPages)
def _place_from(queue, cursor, k):
    if k & _PAGE_MASK or k == cursor[4]:
        return k
    page = queue.notes[_CHAIN] if k == 0 else np.int64(queue.pages.after[at((k - 1) >> WORD_BITS)])
    return page << WORD_BITS


@slot_in.on(BucketPages)
def _slot_in(queue, k):
    packed = queue.pages.words[at(k)]
    return packed >> 32 if packed >= 0 else np.int64(-1)


@strike.on(BucketPages)
def _strike(queue, cursor, k):
    queue.pages.words[at(k)] = -1 - cursor[3]
    return cursor[0], cursor[1], cursor[2], np.int64(k), cursor[4], cursor[5], cursor[6]


@leave.on(BucketPages)
def _leave(queue, cursor, slot):
    entry = _fresh_entry(queue, cursor[4])
    queue.pages.words[at(entry)] = slot << 32
    return cursor[0], cursor[1], cursor[2], cursor[3], entry + 1, cursor[5], cursor[6]


@tidy.on(BucketPages)
def _tidy(queue, cursor, done, limit):
    return cursor[4]


@lacks_room.on(BucketPages)
def _lacks_room(queue, more, cursor, key):
    least, low, high = cursor[0], cursor[1], cursor[2]
    if low > high:
        return is_full(queue.pages, queue.notes)
    # Keys may lie as far below the least as the largest that may come lies above; and so far apart that no ring is wide
    # enough.
    span = max(high, key) - min(low, key, 2 * min(least, high) - key)
    wide = span > cursor[6]
    return is_full(queue.pages, queue.notes) or (wide and lacks_lot(queue.pages, queue.notes, _size_for(span)))


@inlined
def _size_for(span):
    """Which size of lots has room for keys that are so far apart."""
    size = np.int64(0)
    while (1 << HALF_BITS) << size <= span and size <= LARGEST:
        size += 1
    return size
