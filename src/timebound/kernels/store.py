"""A store of pages: memory for many searches side by side, taken by the page when one is needed and given back later.

If each agent had a room of its own, large enough for the whole map, nearly every page that it touches would need an
entry in a table of the system's that nobody else needs: that takes as much memory again, and to touch a page for the
first time ten times as long. In a store all pages in use lie side by side (``docs/kernels.md``).

A page is 4096 bytes: 512 *words* of 8 bytes, or 1024 *halves*, two views of the same memory. Searches know words by
their places in the whole store, so nothing moves when a search grows. Pages of one use are a chain. Beside each page
there is a number that names the next one, and room for what is linked with its words. Page 0 is nobody's and stays
zero, so 0 can stand for "none", and words on it for "never seen".

What must lie in one piece gets a *lot* of 1, 2, 4 ... pages. Several threads may take pages and lots at once.
"""

from __future__ import annotations

import copyreg
from typing import Any, NamedTuple

import numpy as np

from .jit import at, give_way, inlined, kernel, let_go, seize
from .memory import HUGE, SMALL_PAGES, Part, Piece, Room, again, zeros
from .saving import filled

__all__ = [
    "CHAINS",
    "HALF_BITS",
    "LARGEST",
    "LINK_BITS",
    "LOT",
    "SIZE",
    "WORD_BITS",
    "Pages",
    "Store",
    "forget",
    "further",
    "give_lot",
    "is_full",
    "lacks_lot",
    "take_lot",
    "take_stock",
]

WORD_BITS = 9
HALF_BITS = 10
LINK_BITS = 7  # links for each page
PAGE = 1 << (WORD_BITS + 3)  # bytes

# What a store's ``book`` holds: the next page that was never taken, and how many single pages were given back; in
# another line of the cache a lock; then, for each size of lots, as a power of two, the first of those given back.
_NEXT, _FREED, _LOCK, _FREE = 0, 1, 8, 16
LARGEST = 6  # size of lots
# The last pages are never taken. Should there be no other, whoever wants one gets these: what is written there is lost,
# but nobody else's is, and the search is told that it must not go on.
_SCRAP = 1 << LARGEST
# What a holder of pages notes: a number that no other one has; how many pages nobody had taken when it last took one;
# then the first and the last page of each of its chains; its lot, and of which size that is.
ME, LEFT, CHAINS, LOT, SIZE = 0, 1, (2, 4), 6, 7
# A search stops when so small a part of the pages is left, as a power of two: it looks only now and then.
_LEAST_LEFT = 3
# Places of words are kept in four bytes, so there are 16 GB of them. A fleet's store has as many, in addresses; where
# the system gives fewer, a quarter, and so on.
_MOST_PAGES, _LEAST_PAGES = (1 << 31 >> WORD_BITS) - 1, 1 << 15
_KEPT = 1 << 26  # bytes that an empty store keeps
_AHEAD = 14  # pages of each agent that are touched before it begins: those of its first few hundred expansions,
_MOST_AHEAD = 1 << 17  # and of all together


class Pages(NamedTuple):
    """A store as kernels see it."""

    words: np.ndarray  # int64[pages << WORD_BITS]
    halves: np.ndarray  # int32[pages << HALF_BITS]: the same memory
    links: np.ndarray  # int32[pages << LINK_BITS]
    after: np.ndarray  # int32[pages]: the next one in its chain, or 0
    book: np.ndarray  # int64[...]: see above


def _of_words(words: np.ndarray, links: np.ndarray, after: np.ndarray, book: np.ndarray) -> Pages:
    return Pages(words, again(words, np.int32), links, after, book)


def _saved(pages: Pages) -> tuple[Any, ...]:
    """Of the memory only pages that were taken; and only once, though there are two views of it."""
    taken = int(pages.book[_NEXT])
    words, links = (
        Piece(array, filled(array, taken << bits))
        for array, bits in ((pages.words, WORD_BITS), (pages.links, LINK_BITS))
    )
    return _of_words, (words, links, Piece(pages.after, np.s_[:taken]), pages.book)


copyreg.pickle(Pages, _saved)


@inlined
def is_full(pages, notes):
    """Whether a search must not go on, for too few pages are left: as of when it last took one, or stock."""
    return notes[LEFT] < _least_left(pages)


@inlined
def _least_left(pages):
    return pages.after.shape[0] >> _LEAST_LEFT


@inlined
def take_stock(pages, notes):
    """Note how many pages are left now; to be done whenever a search goes on, for others have taken some meanwhile."""
    notes[LEFT] = _never_taken(pages) + pages.book[_FREED]


@inlined
def _never_taken(pages):
    return pages.after.shape[0] - _SCRAP - pages.book[_NEXT]


@kernel
def further(pages, notes, chain, page):
    """The page after ``page`` (0: the first one) of a chain; if the chain ends there, one more is taken."""
    following = notes[chain] if page == 0 else np.int64(pages.after[at(page)])
    if following > 0:
        return following
    _lock(pages, notes)
    following = _take(pages, notes, 0)
    let_go(pages.book[_LOCK:], notes[ME])
    if _is_scrap(pages, following):
        return following
    pages.after[at(following)] = 0
    if page == 0:
        notes[chain] = following
    else:
        pages.after[at(page)] = following
    notes[chain + 1] = following
    return following


@inlined
def lacks_lot(pages, notes, size):
    """Whether there may be no lot of this size."""
    return size > LARGEST or _never_taken(pages) < _least_left(pages)


@kernel
def take_lot(pages, notes, size):
    """A lot of this size, by its first page, for a holder that will give back the one before (``give_lot``)."""
    _lock(pages, notes)
    lot = _take(pages, notes, size)
    let_go(pages.book[_LOCK:], notes[ME])
    notes[LOT] = lot
    notes[SIZE] = size
    return lot


@kernel
def give_lot(pages, notes, lot, size):
    """Give a lot back: others may take it from now on."""
    if _is_scrap(pages, lot):
        return
    _lock(pages, notes)
    pages.after[at(lot)] = pages.book[_FREE + size]
    pages.book[_FREE + size] = lot
    pages.book[_FREED] += size == 0
    let_go(pages.book[_LOCK:], notes[ME])


@kernel
def give_chain(pages, notes, chain):
    """Give the pages of a chain back."""
    page = notes[chain]
    if page == 0:
        return
    _lock(pages, notes)
    pages.book[_FREED] += 1
    while page != notes[chain + 1]:
        page = np.int64(pages.after[at(page)])
        pages.book[_FREED] += 1
    pages.after[at(page)] = pages.book[_FREE]
    pages.book[_FREE] = notes[chain]
    let_go(pages.book[_LOCK:], notes[ME])


@inlined
def _is_scrap(pages, page):
    return page >= pages.after.shape[0] - _SCRAP


@inlined
def _lock(pages, notes):
    while not seize(pages.book[_LOCK:], notes[ME]):
        give_way()


@inlined
def _take(pages, notes, size):
    book = pages.book
    page = book[_FREE + size]
    if page > 0:
        book[_FREE + size] = pages.after[at(page)]
        book[_FREED] -= size == 0
    elif _never_taken(pages) < 1 << size:
        notes[LEFT] = -1
        return np.int64(pages.after.shape[0] - _SCRAP)
    else:
        page = book[_NEXT]
        book[_NEXT] = page + (1 << size)
    take_stock(pages, notes)
    return page


class Store:
    """Who owns the memory: an agent's workspace, or a fleet for all of its agents."""

    def __init__(self, room: Room, number: int = 0) -> None:
        self._room, self._number = room, number  # of the first of its arrays in the room
        words, links, after = room.arrays[number : number + 3]
        self.pages = _of_words(words, links, after, zeros(_FREE + LARGEST + 1))
        self.holders = self._numbers = 0  # agents that have pages of it; and how many there have been
        self._touched = 0  # pages from the beginning that have been touched ahead
        self.clear()

    @staticmethod
    def parts(pages: int) -> tuple[Part, ...]:
        """What a room needs for a store from which so many pages can be taken."""
        pages = min((pages + 64) * 8 // 7 + _SCRAP, _MOST_PAGES)
        return Part(pages << WORD_BITS), Part(pages << LINK_BITS, np.int32), Part(pages, np.int32)

    @classmethod
    def for_fleet(cls) -> Store:
        """Room for any number of agents. It takes memory when it is touched."""
        pages = _MOST_PAGES if SMALL_PAGES else _MOST_PAGES >> 4
        while True:
            try:
                return cls(Room(cls.parts(pages)))
            except MemoryError:
                if pages <= _LEAST_PAGES:
                    raise
                pages >>= 2

    def __getstate__(self) -> dict[str, Any]:
        """What was touched, but not used, need not be so again."""
        return {**self.__dict__, "_touched": 0}

    @property
    def taken(self) -> int:
        """Pages from the beginning of which some may be in use."""
        return int(self.pages.book[_NEXT])

    @property
    def left(self) -> int:
        """Pages that nobody has taken."""
        return len(self.pages.after) - _SCRAP - self.taken

    def is_short(self, notes: np.ndarray) -> bool:
        """As ``is_full``; but kernels' helpers would be compiled again for Python, in every process."""
        return bool(notes[LEFT] < len(self.pages.after) >> _LEAST_LEFT)

    @property
    def bytes(self) -> int:
        """Memory that was taken, at least."""
        return self.taken * PAGE

    def clear(self) -> None:
        """Nothing is in use."""
        self.pages.book[:] = 0
        self.pages.book[_NEXT] = 1

    def notes(self) -> np.ndarray:
        """What a new holder of pages notes; see above."""
        self._numbers += 1
        notes = zeros(8)
        notes[ME] = self._numbers
        notes[LEFT] = self.left + int(self.pages.book[_FREED])
        return notes

    def join(self) -> None:
        """One agent more."""
        self.holders += 1

    def leave(self, notes: np.ndarray) -> None:
        """An agent gives back all that it has; between ticks."""
        for chain in CHAINS:
            give_chain(self.pages, notes, chain)
        if notes[LOT]:
            give_lot(self.pages, notes, notes[LOT], notes[SIZE])
        forget(notes)
        self.holders -= 1
        if not self.holders:
            if max(self.taken, self._touched) * PAGE > _KEPT:
                self._room.give_back({self._number: _KEPT})
                self._touched = min(self._touched, _KEPT // PAGE)
            self.clear()

    def expect_agents(self) -> None:
        """Touch what all agents will need for their first ticks, so that it is there. If it is much, in huge pages."""
        wanted = min(self.holders * _AHEAD, _MOST_AHEAD, self.left)
        if wanted <= self._touched:
            return
        huge = wanted * PAGE >= HUGE
        if huge:
            # In larger steps than need be, for agents come one by one.
            wanted = -(-max(wanted, self._touched * 9 // 8) * PAGE // HUGE) * HUGE // PAGE
        for number, each in enumerate((PAGE, 4 << LINK_BITS, 4), self._number):
            self._room.touch(number, self._touched * each, (wanted - self._touched) * each, huge and each == PAGE)
        self._touched = wanted


def forget(notes: np.ndarray) -> None:
    """The holder has no pages."""
    notes[CHAINS[0] :] = 0
