"""Units that do not stand in each other: priority inheritance with backtracking, one tick for all of them.

PIBT, Algorithm 1 of Okumura, Machida, Défago and Tamura 2022. Every unit has said where it wants to go next. They are
asked in the order of their priorities. Who wants a cell in which another stands makes that one decide first, on behalf
of the priority of who pushes it: it must leave. If it cannot, it says so and stays, and who pushed it tries the next
cell of its own ranking. The plain version, recursive as in the paper, is ``tests/naive/priority_inheritance.py``.

What holds after every tick, whatever units wish for, if they stood apart before it: no two are in one cell, no two have
swapped, each has stayed or made a step that is legal in the world. And the unit of the highest priority has made the
step that it wished for, if that step lies on a cycle of at least three cells that nobody ``FIXED`` stands in
(``docs/crowds.md``).

A tick takes at most as many looks as the units have neighbours altogether: a cell once claimed stays claimed, and so
each unit is asked once. Nothing here is as large as the world.
"""

from __future__ import annotations

import copyreg
from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined, kernel
from .memory import reserved
from .tables import hashed
from .views import (
    VECTOR,
    GraphView,
    GridView,
    PuzzleView,
    TerrainView,
    aim,
    cost_between,
    degree,
    estimate,
    locate,
    moved,
    successor,
)

__all__ = [
    "FIXED",
    "MOST_PRIORITY",
    "PARKED",
    "WALKING",
    "Crowd",
    "Units",
    "inherit",
    "new_crowd",
    "new_units",
    "plain_wait",
    "raise_priorities",
]

# What a unit is at the moment.
WALKING = 0  # it is on its way, and its priority rises until it is at its goal
PARKED = 1  # it has arrived; others may push it aside, and its priority does not rise
FIXED = 2  # it does not move, and cannot be pushed

MOST_PRIORITY = 1 << 40  # the largest base priority, up or down: it and all that waiting adds fit into a word

_UNASKED, _UNRANKED = -2, -1  # a unit that has tried nothing yet; one that has tried its wish
_ROOM = 10  # cells of a unit's ranking that are sorted at a time; on a grid that is all of them
# The direction of a step on a grid, by 3 * rows down + columns to the right + 4; in the middle a bit that is never set.
_TOWARDS = np.array([5, 0, 4, 3, 8, 1, 7, 2, 6], np.int64)
_DIGITS = 256  # of a priority, sorted byte by byte


class Units(NamedTuple):
    """The units of a fleet. What is behind the number of units that a kernel is told is not looked at."""

    position: np.ndarray  # int64: the state each stands in; negative: there is no such unit
    wish: np.ndarray  # int64: the state it wants next, its own if it waits; negative or no legal step: no wish
    goal: np.ndarray  # int64: where it wants to be in the end; negative: nowhere
    base: np.ndarray  # int64: the priority that it was given
    priority: np.ndarray  # int64: the one that it has, raised by waiting
    role: np.ndarray  # uint8: WALKING, PARKED or FIXED
    next: np.ndarray  # int64: where each is after the tick; written by ``inherit`` and ``plain_wait``


class Crowd(NamedTuple):
    """Room to work in, for so many units; what is in it means nothing between ticks."""

    order: np.ndarray  # int64[2 * capacity]: the units, the highest priority first, in one half or the other
    counts: np.ndarray  # int64[256]: for sorting
    table: np.ndarray  # int64[2 << k]: by the hash of a state, the state, and claimed by << 32 | who stands there
    used: np.ndarray  # int64[2 * capacity]: the places of the table in use, to be emptied
    in_use: np.ndarray  # int64[1]: how many of them
    stack: np.ndarray  # int64[capacity]: units that wait for the one they push
    cursor: np.ndarray  # int64[capacity]: how many cells of its ranking each of these has tried, or how far it is
    ranked: np.ndarray  # int64[capacity]: how many cells are in its part of the next three
    cell: np.ndarray  # int64[capacity * 10]: cells of a ranking
    h: np.ndarray  # int64[capacity * 10]: their estimates
    tie: np.ndarray  # int64[capacity * 10]: what decides between equal estimates


def new_units(capacity: int) -> Units:
    """Arrays for so many units, of which there is none yet.

    >>> units = new_units(3)
    >>> units.position.tolist(), units.goal.tolist()
    ([-1, -1, -1], [-1, -1, -1])
    """
    nowhere = [np.full(capacity, -1, np.int64) for _ in range(4)]
    position, wish, goal, after = nowhere
    base, priority = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    return Units(position, wish, goal, base, priority, np.zeros(capacity, np.uint8), after)


def new_crowd(capacity: int) -> Crowd:
    """Room for so many units, in any world: a fleet makes it once, and anew when it needs more.

    >>> import timebound as tb
    >>> world, units = tb.Grid([[1, 1, 1], [1, 1, 1]]), new_units(2)
    >>> for k, (start, goal) in enumerate([((0, 0), (0, 2)), ((0, 1), (0, 0))]):
    ...     units.position[k], units.goal[k] = world.state_of(start), world.state_of(goal)
    >>> units.wish[:] = units.position[::-1]  # each wants to be where the other is
    >>> inherit(world.view, new_crowd(2), units, 2, 0, 0, False)
    >>> world.points_of(units.next).tolist()  # the first may go, the second makes way
    [[0, 1], [1, 0]]
    """
    places = 1 << max(4, (4 * capacity - 1).bit_length())  # a unit uses two at most: where it is, where it goes
    return Crowd(
        order=reserved(2 * capacity),
        counts=np.zeros(_DIGITS, np.int64),
        table=reserved(2 * places),
        used=reserved(2 * capacity),
        in_use=np.zeros(1, np.int64),
        stack=reserved(capacity),
        cursor=reserved(capacity),
        ranked=reserved(capacity),
        cell=reserved(capacity * _ROOM),
        h=reserved(capacity * _ROOM),
        tie=reserved(capacity * _ROOM),
    )


@kernel
def raise_priorities(units, n):
    """Once per tick: who is on its way gains one; who is at its goal, is parked or has no goal begins anew.

    It is for the end of a tick, when all have moved and before any gets another goal: else it goes unseen who arrived.
    So a unit's priority is the one it was given, plus the ticks since it was last at a goal. A unit that was given 100
    more than others goes before those that have been on their way for up to 100 ticks longer, and no more than that:
    whoever waits long enough is first in the end.
    """
    for i in range(n):
        if units.goal[at(i)] >= 0 and units.position[at(i)] != units.goal[at(i)] and units.role[at(i)] != PARKED:
            units.priority[at(i)] += 1
        else:
            units.priority[at(i)] = units.base[at(i)]


@kernel
def inherit(world, crowd, units, n, tick, seed, crossing):
    """Decide for the first ``n`` units where each is next, by priority inheritance with backtracking.

    A unit's ranking of cells: its wish, then the others that it can step to and its own by the estimate to its goal; if
    it has none, its own first. Of equals those in which no other stands, then by lots, which depend on seed, tick, unit
    and cell alone. With ``crossing`` two may pass diagonally through the same corner at once. Priorities are in
    ``units``; of equals the unit with the lower number is first.

    If even the first of all does not get what it wishes for, its priority begins anew. That is not in the paper. It
    happens only where the paper promises nothing, in dead ends of one cell's width. There the first would press against
    one that cannot get out because of it, for ever; so the next one has its turn.
    """
    count = _gather(crowd, units, n)
    first = _sort(crowd, units, count)
    luck = _mixed((seed ^ (seed >> 31)) & 0x7FFFFFFF, tick)
    for k in range(count):
        i = crowd.order[at(first + k)]
        if units.next[at(i)] < 0:
            _push_through(world, crowd, units, i, luck, crossing)
            if k == 0 and units.wish[at(i)] >= 0 and units.next[at(i)] != units.wish[at(i)]:
                units.priority[at(i)] = units.base[at(i)]


@kernel
def plain_wait(world, crowd, units, n, crossing):
    """The same by the plainest rule: whose wish is taken waits.

    Who is in the way is asked first, so a queue moves on as one. But nobody makes way, and those who wish for each
    other's cells, two or more in a ring, wait for ever.
    """
    count = _gather(crowd, units, n)
    first = _sort(crowd, units, count)
    for k in range(count):
        i = crowd.order[at(first + k)]
        if units.next[at(i)] < 0:
            _queue_up(world, crowd, units, i, crossing)


# --- who stands where, who goes where ----------------------------------------------------------------------------


@inlined
def _find(crowd, s):
    """The place of a state in the table, or where it would go."""
    # Four neighbours in a row share a line of the cache.
    mask = (crowd.table.shape[0] >> 1) - 1
    k = (hashed(s >> 2) << 2) | (s & 3)
    while True:
        k &= mask
        if crowd.table[at(2 * k + 1)] == 0 or crowd.table[at(2 * k)] == s:
            return k
        k += 1


@inlined
def _stander(crowd, place):
    """Who stands in the state at a place of the table; -1: nobody."""
    return (crowd.table[at(2 * place + 1)] & 0xFFFFFFFF) - 1


@inlined
def _claim(crowd, place, s, i):
    """State ``s`` is unit ``i``'s next; whoever claimed it before has given it up. Returns who stands there."""
    word = crowd.table[at(2 * place + 1)]
    if word == 0:
        crowd.table[at(2 * place)] = s
        crowd.used[at(crowd.in_use[0])] = place
        crowd.in_use[0] += 1
    word &= 0xFFFFFFFF
    crowd.table[at(2 * place + 1)] = ((i + 1) << 32) | word
    return word - 1


@inlined
def _gather(crowd, units, n):
    """Forget the last tick, note where everybody stands, and list in ``order`` those who are to be asked."""
    for k in range(crowd.in_use[0]):
        crowd.table[at(2 * crowd.used[at(k)] + 1)] = 0
    crowd.in_use[0] = 0
    count = 0
    for i in range(n):
        s = units.position[at(i)]
        units.next[at(i)] = -1
        if s < 0:
            continue
        place = _find(crowd, s)
        if crowd.table[at(2 * place + 1)] == 0:
            crowd.table[at(2 * place)] = s
            crowd.table[at(2 * place + 1)] = i + 1
            crowd.used[at(crowd.in_use[0])] = place
            crowd.in_use[0] += 1
        if units.role[at(i)] == FIXED:
            _claim(crowd, place, s, i)
            units.next[at(i)] = s
        else:
            crowd.order[at(count)] = i
            count += 1
    return count


@inlined
def _sort(crowd, units, count):
    """Sort the listed units by their priorities, the highest first and equals as they are; returns where the first is.

    By one byte of the priority after the other, from one half of ``order`` to the other and back.
    """
    here = 0
    there = crowd.order.shape[0] >> 1
    top = np.int64(0)
    low = np.int64(0)
    for k in range(count):
        priority = units.priority[at(crowd.order[at(k)])]
        top = priority if k == 0 else max(top, priority)
        low = priority if k == 0 else min(low, priority)
    shift = 0
    while shift < 63 and (top - low) >> shift > 0:
        for digit in range(_DIGITS):
            crowd.counts[at(digit)] = 0
        for k in range(count):
            behind = top - units.priority[at(crowd.order[at(here + k)])]
            crowd.counts[at((behind >> shift) & (_DIGITS - 1))] += 1
        before = 0
        for digit in range(_DIGITS):
            these = crowd.counts[at(digit)]
            crowd.counts[at(digit)] = before
            before += these
        for k in range(count):
            i = crowd.order[at(here + k)]
            digit = ((top - units.priority[at(i)]) >> shift) & (_DIGITS - 1)
            crowd.order[at(there + crowd.counts[at(digit)])] = i
            crowd.counts[at(digit)] += 1
        here, there = there, here
        shift += 8
    return here


@generic
def is_step(world, s, t):
    """Whether a unit can step from ``s`` to ``t``."""


@is_step.on(GridView, TerrainView)
def _is_grid_step(world, s, t):
    step = t - s
    down = np.int64(step > world.width >> 1) - np.int64(step < -(world.width >> 1))
    right = step - down * world.width
    if abs(right) > 1:
        return False
    return (np.int64(world.moves[at(s)]) >> _TOWARDS[at(3 * down + right + 4)]) & 1 != 0


@is_step.on(GraphView, PuzzleView)
def _is_linked_step(world, s, t):
    return cost_between(world, s, t) >= 0


@generic
def across(world, s, t):
    """The ends of the step that crosses the one from ``s`` to ``t``; -1, -1 if none does."""


@across.on(GridView, TerrainView)
def _grid_across(world, s, t):
    step = t - s
    right = step - world.width if step > 0 else step + world.width
    if abs(right) != 1:
        return np.int64(-1), np.int64(-1)
    return s + right, t - right


@across.on(GraphView, PuzzleView)
def _nothing_across(world, s, t):
    return np.int64(-1), np.int64(-1)


@inlined
def _unclaimed(crowd, units, i, s, t):
    """The place of ``t`` in the table, if nobody will be there and going there from ``s`` is no swap; else -1."""
    place = _find(crowd, t)
    word = crowd.table[at(2 * place + 1)]
    if word >> 32 != 0:
        return -1
    other = word - 1
    if other >= 0 and other != i and units.next[at(other)] == s:
        return -1
    return place


@inlined
def _open(world, crowd, units, i, s, t, crossing):
    """The place of ``t`` in the table, if unit ``i`` may go there from ``s`` for all that is decided; else -1."""
    place = _unclaimed(crowd, units, i, s, t)
    if place >= 0 and not crossing and t != s:
        a, b = across(world, s, t)
        if a >= 0:
            other = _stander(crowd, _find(crowd, a))
            if other >= 0 and units.next[at(other)] == b:
                return -1
            other = _stander(crowd, _find(crowd, b))
            if other >= 0 and units.next[at(other)] == a:
                return -1
    return place


@inlined
def _wish(world, crowd, units, i, s, crossing):
    """The place in the table of what a unit wishes for, if that is a legal step and open to it; else -1."""
    t = units.wish[at(i)]
    if t < 0 or (t != s and not is_step(world, s, t)):
        return -1
    return _open(world, crowd, units, i, s, t, crossing)


# --- priority inheritance ----------------------------------------------------------------------------------------


@inlined
def _push_through(world, crowd, units, first, luck, crossing):
    """The paper's procedure PIBT for one unit, and for all that it pushes, directly or through others."""
    depth = 0
    crowd.stack[0] = first
    crowd.cursor[0] = _UNASKED
    while depth >= 0:
        i = crowd.stack[at(depth)]
        s = units.position[at(i)]
        place, t = _next_cell(world, crowd, units, depth, i, s, luck, crossing)
        if place < 0:
            # It cannot get away: it stays, and who wanted its cell must look for another.
            _claim(crowd, _find(crowd, s), s, i)
            units.next[at(i)] = s
            depth -= 1
            continue
        units.next[at(i)] = t
        other = _claim(crowd, place, t, i)
        if other < 0 or units.next[at(other)] >= 0:
            return  # the cell is empty, or will be: so all that have pushed go where they said
        depth += 1
        crowd.stack[at(depth)] = other
        crowd.cursor[at(depth)] = _UNASKED


@inlined
def _next_cell(world, crowd, units, depth, i, s, luck, crossing):
    """The best cell that a unit has not tried and may go to: its place in the table, and itself; -1 if none is left."""
    if crowd.cursor[at(depth)] == _UNASKED:
        crowd.cursor[at(depth)] = _UNRANKED
        place = _wish(world, crowd, units, i, s, crossing)
        if place >= 0:
            return place, units.wish[at(i)]
    while True:
        k = crowd.cursor[at(depth)]
        if k in (_UNRANKED, _ROOM):
            _rank(world, crowd, units, depth, i, s, luck)
            k = np.int64(0)
        if k == crowd.ranked[at(depth)]:
            return np.int64(-1), s
        crowd.cursor[at(depth)] = k + 1
        t = crowd.cell[at(depth * _ROOM + k)]
        place = _open(world, crowd, units, i, s, t, crossing)
        if place >= 0:
            return place, t


@inlined
def _rank(world, crowd, units, depth, i, s, luck):
    """Sort the best of the cells that nobody claims, the unit's wish apart.

    Those it has tried are claimed, so it does not get them again: who gives a cell up does so because the one that
    stands there stays.
    """
    first = depth * _ROOM
    end = at(first + _ROOM - 1)
    goal = units.goal[at(i)]
    target = aim(world, max(goal, 0))
    here = locate(world, s)
    ways = degree(world, s)
    own_luck = _mixed(luck, i)
    count = 0
    for way in range(ways + 1):
        t, there = s, here
        if way < ways:
            t, c = successor(world, s, way)
            if c < 0:
                continue
            there = moved(world, here, way)
        if t == units.wish[at(i)]:
            continue
        place = _unclaimed(crowd, units, i, s, t)
        if place < 0:
            continue
        h = np.int64(guess(world, target, t, there)) if goal >= 0 else np.int64(t != s)
        other = _stander(crowd, place)
        tie = (np.int64(other >= 0 and other != i) << 31) | _mixed(own_luck, t)
        if count == _ROOM and not _precedes(h, tie, t, crowd.h[end], crowd.tie[end], crowd.cell[end]):
            continue
        k = min(count, _ROOM - 1)  # where the ranking is full, the last of it gives way
        count = k + 1
        while k > 0:
            before = at(first + k - 1)
            if _precedes(crowd.h[before], crowd.tie[before], crowd.cell[before], h, tie, t):
                break
            crowd.h[at(first + k)] = crowd.h[before]
            crowd.tie[at(first + k)] = crowd.tie[before]
            crowd.cell[at(first + k)] = crowd.cell[before]
            k -= 1
        crowd.h[at(first + k)] = h
        crowd.tie[at(first + k)] = tie
        crowd.cell[at(first + k)] = t
    crowd.ranked[at(depth)] = count
    crowd.cursor[at(depth)] = 0


@inlined
def _precedes(h, tie, cell, other_h, other_tie, other_cell):
    if h != other_h:
        return h < other_h
    if tie != other_tie:
        return tie < other_tie
    return cell < other_cell


@inlined
def _mixed(number, more):
    """Two numbers made one of 31 bits that looks like neither."""
    # Products of numbers below 2^31: no overflow in plain Python.
    x = (number ^ more ^ (more >> 31)) & 0x7FFFFFFF
    x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    x = ((x ^ (x >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return x ^ (x >> 15)


@generic
def guess(world, target, s, place):
    """The estimate, for a unit with any goal."""


@guess.on(GridView, TerrainView, PuzzleView)
def _guess(world, target, s, place):
    return estimate(world, target, s, place)


@guess.on(GraphView)
def _graph_guess(world, target, s, place):
    # A view has estimates towards one goal, where they are given per goal; it is not the unit's.
    if world.kind == VECTOR:
        return 0
    return estimate(world, target, s, place)


# --- the plain rule ----------------------------------------------------------------------------------------------


@inlined
def _queue_up(world, crowd, units, first, crossing):
    """Ask one unit, and before it those who are in its way, one behind the other."""
    depth = 0
    other = first
    while True:
        # Until it is known to go it stays: in a ring of units the last finds the first in its way.
        s = units.position[at(other)]
        units.next[at(other)] = s
        _claim(crowd, _find(crowd, s), s, other)
        crowd.stack[at(depth)] = other
        t = units.wish[at(other)]
        if t < 0 or t == s or not is_step(world, s, t):
            break
        other = _stander(crowd, _find(crowd, t))
        if other < 0 or units.next[at(other)] >= 0:
            break
        depth += 1
    while depth >= 0:
        i = crowd.stack[at(depth)]
        s = units.position[at(i)]
        t = units.wish[at(i)]
        if t != s:
            place = _wish(world, crowd, units, i, s, crossing)
            if place >= 0:
                own = at(2 * _find(crowd, s) + 1)
                crowd.table[own] &= 0xFFFFFFFF
                _claim(crowd, place, t, i)
                units.next[at(i)] = t
        depth -= 1


copyreg.pickle(Crowd, lambda crowd: (new_crowd, (len(crowd.stack),)))  # nothing of it need be saved
