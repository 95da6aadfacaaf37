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
_WIPED = 1024  # places of an index that are wiped at once when all values are forgotten
# What ``used`` holds.
_PAGES, _STATES, _RAISES, _DOWN, _FORGOTTEN, _HIGHEST = range(6)


class LearnedValues(NamedTuple):
    """Pages of values, found through an index. Page 0 is never written: it stands for every page that is missing."""

    # int64[2 * a power of two]: at each place of the index which page is there, and its number, 0 if the place is free;
    # side by side, for both are looked at. Empty: each page has its own place,
    keys: np.ndarray
    slots: np.ndarray  # int32[the pages of the world]: where its number is. Empty: as above
    values: np.ndarray  # int64[pages << bits]
    # int64[6]: pages in use; states learned; how often a value was raised; by how much values are less than what is
    # written; up to which number what is written counts as forgotten; the largest number that is written
    used: np.ndarray
    bits: int  # states per page, as a power of two


@inlined
def _is_direct(values):
    return values.keys.shape[0] == 0


@inlined
def _first_place(values, page):
    """Where in the index a page is mostly found: in ``keys``."""
    return (hashed(page) & ((values.keys.shape[0] >> 1) - 1)) << 1


@inlined
def _place(values, page):
    """Where in the index a page is, or would go."""
    k = _first_place(values, page)
    while values.keys[at(k + 1)] != 0 and values.keys[at(k)] != page:
        k = (k + 2) & (values.keys.shape[0] - 1)
    return k


@inlined
def _number(values, page):
    """The number of a page; 0 if it is missing."""
    if _is_direct(values):
        return np.int64(values.slots[at(page)])
    return values.keys[at(_place(values, page) + 1)]


@inlined
def _enter(values, page, number):
    """Note the number of a page that was missing."""
    if _is_direct(values):
        values.slots[at(page)] = number
    else:
        k = _place(values, page)
        values.keys[at(k)] = page
        values.keys[at(k + 1)] = number


@inlined
def learned(values, s):
    """What was learned of state ``s``; 0 or less if nothing."""
    bits = values.bits
    slot = _number(values, s >> bits)
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
        page = t >> values.bits
        if ahead == 3:
            if _is_direct(values):
                prefetch(values.slots, page)
            else:
                prefetch(values.keys, _first_place(values, page))
        else:
            # The page is mostly in the first place that is looked at. It is two lines of the cache.
            direct = _is_direct(values)
            slot = np.int64(values.slots[at(page)]) if direct else values.keys[at(_first_place(values, page) + 1)]
            prefetch(values.values, (slot << values.bits) + (t & ((1 << values.bits) - 1)))


@foresee_around.otherwise
def _foresee_nothing(world, values, s, ahead):
    pass


@inlined
def learn(values, s, h):
    """Raise the value of ``s`` to ``h``, which must exceed what it was. There must be room for a page."""
    bits = values.bits
    slot = _number(values, s >> bits)
    used = values.used
    if slot == 0:
        slot = used[0]
        used[0] = slot + 1
        _enter(values, s >> bits, slot)
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
    if max(values.slots.shape[0], values.keys.shape[0] >> 1) <= _WIPED:
        for k in range(values.slots.shape[0]):
            values.slots[at(k)] = 0
        for k in range(1, values.keys.shape[0], 2):
            values.keys[at(k)] = 0
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
    return not _is_direct(values) and (values.used[0] + more) << values.bits > values.values.shape[0]


def new_values(bits: int, pages: int = 32, direct: bool = False) -> LearnedValues:
    """An empty table with room for so many pages; ``direct`` if these are all that the world can have."""
    room = 1 << (2 * pages - 1).bit_length()
    used = zeros(6)
    used[0] = 1
    return LearnedValues(
        reserved(0 if direct else 2 * room),
        reserved(pages if direct else 0, np.int32),
        reserved((pages + 1) << bits),
        used,
        bits,
    )


@kernel
def _refill(values, old):
    """Enter the pages of a smaller table into an empty index; the values themselves have been copied."""
    for k in range(0, old.keys.shape[0], 2):
        if old.keys[k + 1] != 0:
            _enter(values, old.keys[k], old.keys[k + 1])


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
    index = (
        values.keys.reshape(-1, 2)
        if len(values.keys)
        else np.column_stack([np.arange(len(values.slots)), values.slots])
    )
    for key, slot in index.tolist():
        for k in range(1 << values.bits) if slot else ():
            written = int(values.values[(slot << values.bits) + k])
            if written > values.used[_FORGOTTEN]:
                found[(key << values.bits) + k] = max(written - int(values.used[_DOWN]), 0)
    return found


def _index_in_use(values: LearnedValues) -> np.ndarray:
    """Places of the index that are in use: both numbers of each."""
    return np.flatnonzero(np.repeat(values.keys[1::2], 2))


keeps(
    LearnedValues,
    keys=_index_in_use,
    slots=lambda values: np.flatnonzero(values.slots),
    values=lambda values: np.s_[: int(values.used[0]) << values.bits],
)
