"""Learned heuristic values: a sparse table from states to numbers, whose memory follows what was learned.

States are grouped into pages of neighbours in their numbering, and an open-addressing hash finds the page. The values
around an agent then share a few cache lines, and nothing is as large as the map, so a world may hold any number of
agents. A table that has learned much has room reserved for every page of the world instead, and need not be enlarged
again: that would take longer than a tick. A table serves one goal; when that moves, one number brings all values down
by how far it has gone, or below everything that was learned (``lower``, ``forget``).

Values are fixed-point numbers with WEIGHT_SHIFT binary digits, like the evaluations of a best-first search: weights
then multiply costs without rounding. 0 or less stands for "not learned", for what is learned always exceeds an
estimate. So the heuristic of a state is the larger of its estimate and its entry here, and never falls while the goal
stays where it is.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined, kernel, prefetch
from .layout import WEIGHT_SHIFT
from .memory import lacks_room, reserved, zeros
from .saving import keeps
from .tables import hashed
from .views import GridView, TerrainView, estimate, foresee_state

__all__ = [
    "LearnedValues",
    "enlarged",
    "foresee_around",
    "forget",
    "has_learned",
    "learn",
    "learned",
    "load_growth",
    "lower",
    "new_values",
    "value_of",
    "values_as_dict",
]


_DIRECT_FROM = 4096  # pages; a copy of fewer takes a small part of a tick
_DEEPEST = 1 << 58  # how far values are brought down at most; nothing overflows then
_WIPED = 1024  # places of an index that are wiped at once when all values are forgotten: 4096 bytes
# What ``used`` holds.
_PAGES, _STATES, _RAISES, _DOWN, _FORGOTTEN, _HIGHEST = range(6)


class LearnedValues(NamedTuple):
    """Pages of values, found through an index. Page 0 is never written: it stands for every page that is missing."""

    keys: np.ndarray  # int64[a power of two]: which page is where in the index; empty: each page has its own place
    slots: np.ndarray  # int32[the same, or the pages of the world]: its number, 0 if the place is free
    values: np.ndarray  # int64[pages << bits]
    # int64[6]: pages in use; states learned; how often a value was raised; by how much values are less than what is
    # written; up to which number what is written counts as forgotten; the largest number that is written
    used: np.ndarray
    bits: int  # states per page, as a power of two


@inlined
def _place(values, page):
    """Where in the index a page is, or would go."""
    mask = values.keys.shape[0] - 1
    if mask < 0:
        return page
    k = hashed(page) & mask
    while values.slots[at(k)] != 0 and values.keys[at(k)] != page:
        k = (k + 1) & mask
    return k


@inlined
def learned(values, s):
    """What was learned of state ``s``; 0 or less if nothing."""
    bits = values.bits
    slot = np.int64(values.slots[at(_place(values, s >> bits))])
    return values.values[at((slot << bits) + (s & ((1 << bits) - 1)))] - values.used[_DOWN]


@inlined
def has_learned(values):
    """Whether anything was learned; if not, ``learned`` need not be asked."""
    return values.used[_STATES] > 0


@generic
def foresee_around(world, values, s, ahead):
    """Tell the processor that ``learned`` will be asked of ``s`` and its successors; see ``loop.foresee_tables``."""


@foresee_around.on(GridView, TerrainView)
def _foresee_rows(world, values, s, ahead):
    if ahead == 5:
        prefetch(values.used, 0)
        foresee_state(world, s)
    if ahead > 3 or ahead == 1 or not has_learned(values):
        return
    for row in range(-1, 2):
        t = s + row * world.width
        mask = values.keys.shape[0] - 1
        k = (t >> values.bits) if mask < 0 else hashed(t >> values.bits) & mask
        if ahead == 3:
            prefetch(values.slots, k)
            if mask >= 0:
                prefetch(values.keys, k)
        else:
            # The page is mostly in the first place that is looked at. It is two lines of the cache.
            first = np.int64(values.slots[at(k)]) << values.bits
            prefetch(values.values, first + (t & ((1 << values.bits) - 1)))


@foresee_around.otherwise
def _foresee_nothing(world, values, s, ahead):
    pass


@inlined
def learn(values, s, h):
    """Raise the value of ``s`` to ``h``, which must exceed what it was. There must be room for a page."""
    bits = values.bits
    page = s >> bits
    k = at(_place(values, page))
    slot = np.int64(values.slots[k])
    used = values.used
    if slot == 0:
        slot = used[0]
        used[0] = slot + 1
        if values.keys.shape[0] > 0:
            values.keys[k] = page
        values.slots[k] = slot
        for j in range(slot << bits, (slot + 1) << bits):
            values.values[at(j)] = 0  # it may have been in use before all was forgotten
    place = at((slot << bits) + (s & ((1 << bits) - 1)))
    h += used[_DOWN]
    used[_STATES] += values.values[place] <= used[_FORGOTTEN]
    used[_RAISES] += 1
    used[_HIGHEST] = max(used[_HIGHEST], h)
    values.values[place] = h


@inlined
def lower(values, by):
    """Bring all values down, at once. False if that cannot be done: they are to be forgotten."""
    if by > _DEEPEST or values.used[_DOWN] + by > _DEEPEST:
        return False
    values.used[_DOWN] += by
    return True


@inlined
def forget(values):
    """Forget all values, at once; the table keeps its size. False if only a new table will do.

    A small table is empty then. In a large one, whose index it would take long to wipe, pages stay where they are, and
    what is written there counts as forgotten.
    """
    used = values.used
    if values.slots.shape[0] <= _WIPED:
        for k in range(values.slots.shape[0]):
            values.slots[at(k)] = 0
        for k in range(used.shape[0]):
            used[at(k)] = 0
        used[_PAGES] = 1
        return True
    if used[_HIGHEST] > _DEEPEST:
        return False
    used[_STATES] = 0
    used[_RAISES] = 0
    used[_DOWN] = max(used[_DOWN], used[_HIGHEST])
    used[_FORGOTTEN] = used[_HIGHEST]
    return True


@inlined
def value_of(world, values, target, s, place):
    """The heuristic of ``s`` in fixed point: its estimate, or what was learned since."""
    return max(np.int64(estimate(world, target, s, place)) << WEIGHT_SHIFT, learned(values, s))


@lacks_room.on(LearnedValues)
def _values_lack_room(values, more):
    all_there = values.keys.shape[0] == 0
    return not all_there and (values.used[0] + more) << values.bits > values.values.shape[0]


def new_values(bits: int, pages: int = 32, direct: bool = False) -> LearnedValues:
    """An empty table with room for so many pages; ``direct`` if these are all that the world can have."""
    room = 1 << (2 * pages - 1).bit_length()
    used = zeros(6)
    used[0] = 1
    return LearnedValues(
        zeros(0 if direct else room),
        reserved(pages if direct else room, np.int32),
        reserved((pages + 1) << bits),
        used,
        bits,
    )


@kernel
def _refill(values, old):
    """Enter the pages of a smaller table into an empty index; the values themselves have been copied."""
    for k in range(old.slots.shape[0]):
        if old.slots[k] != 0:
            place = at(_place(values, old.keys[k]))
            if values.keys.shape[0] > 0:
                values.keys[place] = old.keys[k]
            values.slots[place] = old.slots[k]


@cache
def load_growth() -> None:
    """Load what enlarges tables, before it is needed in a tick."""
    enlarged(new_values(0, 1))


def enlarged(old: LearnedValues, states: int = 0) -> LearnedValues:
    """The same table with more room: twice as much, or once it is large all that a world of so many states can need.

    ``states`` is 0 for a world whose states cannot be counted.
    """
    pages = 2 * (len(old.values) >> old.bits)
    all_pages = (states >> old.bits) + 1
    direct = states > 0 and pages >= min(_DIRECT_FROM, all_pages)
    larger = new_values(old.bits, all_pages if direct else pages, direct)
    used = int(old.used[_PAGES]) << old.bits
    larger.values[:used] = old.values[:used]
    larger.used[:] = old.used
    _refill(larger, old)
    return larger


def values_as_dict(values: LearnedValues) -> dict[int, int]:
    """Every learned value by its state, in fixed point; for tests and the curious."""
    found = {}
    keys = values.keys if len(values.keys) else np.arange(len(values.slots))
    for key, slot in zip(keys.tolist(), values.slots.tolist(), strict=True):
        for k in range(1 << values.bits) if slot else ():
            written = int(values.values[(slot << values.bits) + k])
            if written > values.used[_FORGOTTEN]:
                found[(key << values.bits) + k] = max(written - int(values.used[_DOWN]), 0)
    return found


def _index_in_use(values: LearnedValues) -> np.ndarray:
    return np.flatnonzero(values.slots)


keeps(
    LearnedValues,
    keys=lambda values: _index_in_use(values) if len(values.keys) else np.s_[:0],
    slots=_index_in_use,
    values=lambda values: np.s_[: int(values.used[0]) << values.bits],
)
