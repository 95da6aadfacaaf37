"""Lookaheads: how an agent-centred search looks around before it learns and moves.

Three of them, named as in the literature, all with duplicate detection and all leaving what they saw in a ``Space``:

* ``breadth_first``: everything up to d steps away (LRTA* as in Bulitko et al. 2008);
* ``cost_limited``: everything within a cost of gmax (LRTA* as in Bulitko et al. 2011);
* ``a_star``: the k most promising states (LSS-LRTA*, RTAA*).

A space holds only what one lookahead touched, in the order of first sight, so it needs no more memory than the
lookahead needs work. Closed states have been expanded; the others are the frontier. The heuristic of a state is looked
up once, when it is first seen.

Closed states count as frontier again when they are reached more cheaply by more steps. Then every way out of the space
is represented, and the least g + h over the frontier never exceeds the true distance, on any world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, inlined, now_ns
from .layout import EXHAUSTED, FOUND, GROW, INFINITE, PAUSED, RUNNING, WEIGHT_SHIFT
from .learned import learned, value_of
from .memory import lacks_room, reserved
from .tables import HashedTable, intern, new_hashed, renew
from .ticks import stride, tired
from .views import aim, degree, estimate, locate, moved, successor, widest

__all__ = [
    "DEAD",
    "LOOK",
    "Heap",
    "Space",
    "a_star",
    "best_on_frontier",
    "breadth_first",
    "cost_limited",
    "heapify",
    "least_changed",
    "new_space",
    "pop",
    "push",
]

# The value of a state from which nothing leads on. Larger than any value, even with the largest weight and added g.
DEAD = 1 << 59

_CLOCK_MASK = 31  # expansions between two looks at the clock

LOOK = np.dtype(
    [
        ("goal", np.int64),
        ("expanded", np.int64),  # by the last lookahead
        ("states", np.int64),  # that it saw
        ("best", np.int64),  # slot of the frontier state it would go to
        ("highest", np.int64),  # the largest estimate seen since the values were last forgotten, in fixed point
        ("dearest", np.int64),  # the dearest step seen since then
        ("lacking", np.int64),  # 1 if the last lookahead was cut short because its space was full
        # What goes on after a pause, see below; 0: nothing. All that follows is for that.
        ("paused", np.int64),
        ("heaped", np.int64),  # entries of the heap
        ("used", np.int64),  # arcs
        ("slot", np.int64),  # the next one
        ("first", np.int64),  # of this ply
        ("last", np.int64),
        ("ply", np.int64),
        ("closed", np.int64),  # states that Dijkstra's algorithm has not settled yet
        ("settled", np.int64),  # those that it has
        ("raised", np.int64),  # how often values had been raised before
    ]
)
LOOKING, SETTLING, TEACHING = 1, 2, 3  # the lookahead, Dijkstra's algorithm inwards, writing down what was learned


class Heap(NamedTuple):
    """A binary heap whose order leaves nothing to chance. How many entries there are is the caller's to know."""

    keys: np.ndarray  # int64[entries]
    ties: np.ndarray  # int64[entries]
    slots: np.ndarray  # int64[entries]


class Space(NamedTuple):
    """What one lookahead saw. Slots are numbered in the order of first sight, the agent's own state first."""

    table: HashedTable  # words: g << 1 | closed; parents: the slot before, or the slot of the first step
    h: np.ndarray  # int64[slots]: the heuristic, in fixed point
    fresh: np.ndarray  # int64[slots]: what a learning rule makes of it
    heap: Heap  # slots + arcs + 1 entries
    incoming: np.ndarray  # int32[slots]: the last arc seen that leads there, or -1
    arcs: np.ndarray  # int64[arcs]: from slot << 32 | the arc before in the same list, plus one
    costs: np.ndarray  # int64[arcs]


def new_space(slots: int, arcs: int) -> Space:
    """Room for so many states and, if the learning rule walks them backwards, so many arcs."""
    return Space(
        new_hashed(slots, sparse=4),
        reserved(slots),
        reserved(slots),
        Heap(*(reserved(slots + arcs + 1) for _ in range(3))),
        reserved(slots, np.int32),
        reserved(arcs),
        reserved(arcs),
    )


# --- a heap in exact order: least key, then least tie, then the state seen first -------------------------------------


@inlined
def push(heap, size, key, tie, slot):
    """Add an entry; returns how many there are."""
    _rise(heap, size, key, tie, slot)
    return size + 1


@inlined
def pop(heap, size):
    """Drop the first entry; returns how many are left."""
    size -= 1
    # The hole sinks to a leaf before the last entry fills it from below: which child moves up is then the only
    # question on the way, and it is answered without a branch, for no processor could guess it.
    hole = np.int64(0)
    child = np.int64(1)
    while child < size:
        twin = min(child + 1, size - 1)
        child = twin if _before(heap, twin, child) else child
        _move(heap, child, hole)
        hole = child
        child = 2 * hole + 1
    _rise(heap, hole, heap.keys[at(size)], heap.ties[at(size)], heap.slots[at(size)])
    return size


@inlined
def heapify(heap, size):
    """Bring entries written in any order into that of a heap. There must be room for one more."""
    for k in range((size - 2) >> 1, -1, -1):
        _move(heap, k, size)
        hole = np.int64(k)
        child = 2 * hole + 1
        while child < size:
            twin = min(child + 1, size - 1)
            child = twin if _before(heap, twin, child) else child
            if not _before(heap, child, size):
                break
            _move(heap, child, hole)
            hole = child
            child = 2 * hole + 1
        _move(heap, size, hole)


@inlined
def _rise(heap, hole, key, tie, slot):
    """Put an entry into a hole, or as far above it as it belongs."""
    keys = heap.keys
    ties = heap.ties
    slots = heap.slots
    while hole > 0:
        above = at((hole - 1) >> 1)
        earlier = (ties[above] < tie) | ((ties[above] == tie) & (slots[above] < slot))
        if (keys[above] < key) | ((keys[above] == key) & earlier):
            break
        keys[at(hole)] = keys[above]
        ties[at(hole)] = ties[above]
        slots[at(hole)] = slots[above]
        hole = np.int64(above)
    keys[at(hole)] = key
    ties[at(hole)] = tie
    slots[at(hole)] = slot


@inlined
def _before(heap, one, other):
    """Whether one entry comes before another."""
    keys = heap.keys
    ties = heap.ties
    slots = heap.slots
    seen_first = (ties[at(one)] == ties[at(other)]) & (slots[at(one)] < slots[at(other)])
    same = keys[at(one)] == keys[at(other)]
    return (keys[at(one)] < keys[at(other)]) | (same & ((ties[at(one)] < ties[at(other)]) | seen_first))


@inlined
def _move(heap, source, target):
    heap.keys[at(target)] = heap.keys[at(source)]
    heap.ties[at(target)] = heap.ties[at(source)]
    heap.slots[at(target)] = heap.slots[at(source)]


# --- the lookaheads --------------------------------------------------------------------------------------------------


@inlined
def _enter(world, values, space, target, note, s):
    """Begin a lookahead at ``s``, forgetting the one before. False: the table must be replaced."""
    table = space.table
    if renew(table) == 0:
        return False
    intern(table, s)
    table.words[0] = 0
    table.parents[0] = 0
    here = locate(world, s)
    space.h[0] = value_of(world, values, target, s, here)
    space.incoming[0] = -1
    note.highest = max(note.highest, np.int64(estimate(world, target, s, here)) << WEIGHT_SHIFT)
    note.best = -1
    return True


@inlined
def _cut_short(note, expanded):
    """The space is full, and time is short: what was seen must do. It is enlarged before the next lookahead."""
    note.lacking = 1
    return expanded


@inlined
def breadth_first(world, values, space, note, s, depth, gamma, limit, clock, deadline):
    """Expand everything less than ``depth`` steps from ``s``, the goal excepted. Returns RUNNING, GROW or PAUSED."""
    table = space.table
    target = aim(world, note.goal)
    fan = widest(world)
    if not note.paused:
        if not _enter(world, values, space, target, note, s):
            return GROW
        note.expanded = 0
        note.ply = 0
        note.slot = 0
        note.first = 0
        note.last = 1
    note.paused = 0
    expanded = note.expanded
    look_at = expanded + stride(clock)
    slot = note.slot
    first = note.first
    last = note.last
    for ply in range(note.ply, depth):
        while slot < last:
            if table.states[at(slot)] == note.goal or expanded >= limit:
                slot += 1
                continue
            if lacks_room(table, fan):
                if deadline == 0 or expanded == 0:
                    return GROW
                limit = _cut_short(note, expanded)
                continue
            _spread(world, values, space, note, target, slot, gamma, np.int64(-1))
            slot += 1
            expanded += 1
            if deadline > 0 and not expanded & _CLOCK_MASK and now_ns(clock) > deadline:
                limit = expanded
            if expanded >= look_at:
                look_at = expanded + stride(clock)
                if tired(clock):
                    note.paused = LOOKING
                    note.expanded = expanded
                    note.ply = ply
                    note.slot = slot
                    note.first = first
                    note.last = last
                    return PAUSED
        if first == last or expanded >= limit:
            break
        first = last
        last = table.stamp[1]  # slots are numbered as they are seen, so each ply is a range of them
    note.expanded = expanded
    note.states = table.stamp[1]
    return RUNNING


@inlined
def cost_limited(world, values, space, note, s, gmax, gamma, limit, clock, deadline):
    """Expand ``s``, and every state all of whose steps end within a cost of ``gmax``. Returns as ``breadth_first``."""
    table = space.table
    heap = space.heap
    target = aim(world, note.goal)
    fan = widest(world)
    if not note.paused:
        if not _enter(world, values, space, target, note, s):
            return GROW
        note.heaped = push(heap, np.int64(0), np.int64(0), np.int64(0), np.int64(0))
        note.expanded = 0
    note.paused = 0
    size = note.heaped
    expanded = note.expanded
    look_at = expanded + stride(clock)
    while size > 0 and expanded < limit:
        slot = heap.slots[0]
        word = table.words[at(slot)]
        u = table.states[at(slot)]
        if lacks_room(table, fan) or size + fan > heap.keys.shape[0]:
            if deadline == 0 or expanded == 0:
                return GROW
            limit = _cut_short(note, expanded)
            continue
        stale = word & 1 or word >> 1 != heap.keys[0]
        size = pop(heap, size)
        if stale or u == note.goal or (slot != 0 and not _stays_within(world, u, gmax - (word >> 1))):
            continue
        size = _spread(world, values, space, note, target, slot, gamma, size)
        expanded += 1
        if deadline > 0 and not expanded & _CLOCK_MASK and now_ns(clock) > deadline:
            limit = expanded
        if expanded >= look_at:
            look_at = expanded + stride(clock)
            if tired(clock):
                note.paused = LOOKING
                note.expanded = expanded
                note.heaped = size
                return PAUSED
    note.expanded = expanded
    note.states = table.stamp[1]
    return RUNNING


@inlined
def _stays_within(world, u, rest):
    for i in range(degree(world, u)):
        _, c = successor(world, u, i)
        if c > rest:
            return False
    return True


@inlined
def _spread(world, values, space, note, target, slot, gamma, size):
    """Expand one state, with path-max. ``parents`` keeps the slot of the first step from the agent.

    States reached more cheaply than before go onto the heap, unless ``size``, that of the heap, is negative.
    """
    table = space.table
    words = table.words
    h = space.h
    u = table.states[at(slot)]
    g = words[at(slot)] >> 1
    words[at(slot)] |= 1
    here = locate(world, u)
    for i in range(degree(world, u)):
        t, c = successor(world, u, i)
        if c < 0:
            continue
        note.dearest = max(note.dearest, c)
        before = table.stamp[1]
        child = intern(table, t)
        if child == before:
            e = np.int64(estimate(world, target, t, moved(world, here, i))) << WEIGHT_SHIFT
            note.highest = max(note.highest, e)
            h[at(child)] = max(e, learned(values, t))
        if slot != 0 and child != 0 and t != note.goal:
            # gamma g + h must not fall along a path. The agent's own value is left out: it is what is to be learned.
            h[at(child)] = max(h[at(child)], h[at(slot)] - gamma * c)
        if child == before or g + c < words[at(child)] >> 1:
            words[at(child)] = (g + c) << 1
            table.parents[at(child)] = child if slot == 0 else table.parents[at(slot)]
            if size >= 0:
                size = push(space.heap, size, g + c, np.int64(0), child)
    return size


@inlined
def a_star(world, values, space, note, s, limit, clock, deadline):
    """Expand the ``limit`` most promising states around ``s``; stop when the goal would be next.

    Leaves the state that would be next in ``note.best``. Ties go to the larger g, then to the state seen first. A
    closed state reached more cheaply is opened again, for weighted updates make the heuristic inconsistent. Returns
    RUNNING, FOUND, EXHAUSTED (nothing leads on: there is no way to the goal), GROW or PAUSED.
    """
    table = space.table
    words = table.words
    parents = table.parents
    h = space.h
    heap = space.heap
    keys = heap.keys
    incoming = space.incoming
    arcs = space.arcs
    costs = space.costs
    goal = note.goal
    target = aim(world, goal)
    fan = widest(world)
    if not note.paused:
        if not _enter(world, values, space, target, note, s):
            return GROW
        # Equal f and larger g means smaller h: h settles ties.
        note.heaped = push(heap, np.int64(0), h[0], h[0], np.int64(0))
        note.expanded = 0
        note.used = 0
    note.paused = 0
    size = note.heaped
    highest = note.highest
    dearest = note.dearest
    expanded = note.expanded
    used = note.used
    look_at = expanded + stride(clock)
    status = EXHAUSTED
    while size > 0:
        slot = heap.slots[0]
        word = words[at(slot)]
        g = word >> 1
        if word & 1 or (g << WEIGHT_SHIFT) + h[at(slot)] != keys[0]:
            size = pop(heap, size)
            continue
        if keys[0] >= DEAD:
            break
        u = table.states[at(slot)]
        if u == goal or expanded >= limit:
            note.best = slot
            status = FOUND if u == goal else RUNNING
            break
        if lacks_room(table, fan) or size + fan >= keys.shape[0] or used + fan > arcs.shape[0]:
            if deadline == 0 or expanded == 0:
                return GROW
            limit = _cut_short(note, expanded)
            continue
        size = pop(heap, size)
        words[at(slot)] = word | 1
        expanded += 1
        here = locate(world, u)
        for i in range(degree(world, u)):
            t, c = successor(world, u, i)
            if c < 0:
                continue
            dearest = max(dearest, c)
            before = table.stamp[1]
            child = intern(table, t)
            if child == before:
                e = np.int64(estimate(world, target, t, moved(world, here, i))) << WEIGHT_SHIFT
                highest = max(highest, e)
                h[at(child)] = max(e, learned(values, t))
                incoming[at(child)] = -1
            if child == before or g + c < words[at(child)] >> 1:
                words[at(child)] = (g + c) << 1
                parents[at(child)] = slot
                size = push(heap, size, ((g + c) << WEIGHT_SHIFT) + h[at(child)], h[at(child)], child)
            arcs[at(used)] = (slot << 32) | (incoming[at(child)] + 1)
            costs[at(used)] = c
            incoming[at(child)] = used
            used += 1
        if deadline > 0 and not expanded & _CLOCK_MASK and now_ns(clock) > deadline:
            limit = expanded
        if expanded >= look_at:
            look_at = expanded + stride(clock)
            if tired(clock):
                note.paused = LOOKING
                note.heaped = size
                note.used = used
                status = PAUSED
                break
    note.highest = highest
    note.dearest = dearest
    note.expanded = expanded
    note.states = table.stamp[1]
    return status


# --- where to go -----------------------------------------------------------------------------------------------------


@inlined
def best_on_frontier(space, note, gamma):
    """The slot with the least gamma g + h on the frontier, and that value; ties to the larger g, then first seen."""
    words = space.table.words
    best = np.int64(-1)
    least = np.int64(DEAD)
    far = np.int64(-1)
    for slot in range(note.states):
        word = words[at(slot)]
        if word & 1:
            continue
        g = word >> 1
        f = gamma * g + space.h[at(slot)]
        if f < least or (f == least and g > far):
            best = slot
            least = f
            far = g
    return best, least


@inlined
def least_changed(world, space, note):
    """The frontier slot whose value has risen least above its estimate; ties as in ``a_star``."""
    table = space.table
    h = space.h
    target = aim(world, note.goal)
    best = note.best
    least = np.int64(INFINITE)
    least_f = np.int64(INFINITE)
    for slot in range(note.states):
        word = table.words[at(slot)]
        if word & 1:
            continue
        s = table.states[at(slot)]
        change = h[at(slot)] - (np.int64(estimate(world, target, s, locate(world, s))) << WEIGHT_SHIFT)
        f = ((word >> 1) << WEIGHT_SHIFT) + h[at(slot)]
        if change < least or (change == least and (f < least_f or (f == least_f and h[at(slot)] < h[at(best)]))):
            best = slot
            least = change
            least_f = f
    return best
