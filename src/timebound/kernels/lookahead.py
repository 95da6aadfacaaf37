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

from typing import Any, NamedTuple

import numpy as np

from .heaps import Heap, heap_pop, heap_push
from .heuristic_values import learned, value_of
from .jit import at, inlined
from .layout import EXHAUSTED, FOUND, GROW, INFINITE, PAUSED, RUNNING, WEIGHT_ONE, WEIGHT_SHIFT
from .memory import lacks_room, reserved
from .saving import keeps, to_last
from .tables import HashedTable, intern, new_hashed, renew
from .telling import BEGUN, DROPPED, EXPANDED, GENERATED, tell
from .ticks import late, pause_due, stride
from .views import aim, degree, estimate, locate, moved, successor, widest

__all__ = [
    "DEAD",
    "LOOK",
    "Space",
    "a_star",
    "best_on_frontier",
    "breadth_first",
    "cost_limited",
    "cost_to",
    "deepen",
    "is_closed",
    "least_changed",
    "new_space",
]

# The value of a state from which nothing leads on. Larger than any value, even with the largest weight and added g.
DEAD = 1 << 59

_CLOCK = 32  # expansions between two looks at the clock, if there is a deadline

LOOK = np.dtype(
    [
        ("goal", np.int64),
        ("expanded", np.int64),  # by the last lookahead
        ("states", np.int64),  # that it saw
        ("best", np.int64),  # slot of the frontier state it would go to
        ("highest", np.int64),  # the largest estimate seen since the values were last forgotten, in fixed point
        ("dearest", np.int64),  # the dearest step seen since then
        ("cut_short", np.int64),  # 1 if the last lookahead was, because its space was full
        # What goes on after a pause, see below; 0: nothing. All that follows is for that.
        ("paused", np.int64),
        ("heaped", np.int64),  # entries of the heap
        ("used", np.int64),  # arcs
        ("slot", np.int64),  # the next one
        ("last", np.int64),  # where this ply ends
        ("ply", np.int64),
        ("closed", np.int64),  # states that Dijkstra's algorithm has not settled yet
        ("settled", np.int64),  # those that it has
        ("raised", np.int64),  # how often values had been raised before
    ]
)
LOOKING, SETTLING, TEACHING = 1, 2, 3  # the lookahead, Dijkstra's algorithm inwards, writing down what was learned


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


# --- the word of a slot: g, and whether the state is closed ----------------------------------------------------------


@inlined
def is_closed(words, slot):
    """1 if the state in a slot has been expanded, 0 if it is on the frontier."""
    return words[at(slot)] & 1


@inlined
def cost_to(words, slot):
    """g of the state in a slot."""
    return words[at(slot)] >> 1


@inlined
def _open(words, slot, g):
    """The state in a slot is on the frontier, at a cost of ``g``."""
    words[at(slot)] = g << 1


@inlined
def _close(words, slot):
    """The state in a slot has been expanded."""
    words[at(slot)] |= 1


# --- the lookaheads --------------------------------------------------------------------------------------------------


@inlined
def _enter(world, values, space, target, look, s):
    """Begin a lookahead at ``s``, forgetting the one before. False: the table must be replaced."""
    table = space.table
    if renew(table) == 0:
        return False
    intern(table, s)
    _open(table.words, 0, 0)
    table.parents[0] = 0
    here = locate(world, s)
    space.h[0] = value_of(world, values, target, s, here)
    space.incoming[0] = -1
    look.highest = max(look.highest, np.int64(estimate(world, target, s, here)) << WEIGHT_SHIFT)
    look.best = -1
    look.expanded = 0
    tell(world, BEGUN, s, -1, 0, space.h[0])
    return True


@inlined
def _cut_short(world, look, s, tick, expanded):
    """The space is full. Whether time is short, so that what was seen must do; it is then enlarged before the next."""
    short = tick.deadline > 0 and expanded > 0
    if short:
        look.cut_short = 1
    else:
        tell(world, DROPPED, s, -1, expanded, -1)
    return short


@inlined
def _end(look, table, expanded, status):
    """Write down how far the lookahead has come."""
    look.expanded = expanded
    look.states = table.stamp[1]
    if status == PAUSED:
        look.paused = LOOKING
    return status


@inlined
def breadth_first(world, values, space, look, s, depth, gamma, tick):
    """Expand everything less than ``depth`` steps from ``s``, the goal excepted. Returns RUNNING, GROW or PAUSED."""
    table = space.table
    target = aim(world, look.goal)
    fan = widest(world)
    if not look.paused:
        if not _enter(world, values, space, target, look, s):
            return GROW
        look.ply = 0
        look.slot = 0
        look.last = 1
    look.paused = 0
    ply = look.ply
    slot = look.slot
    last = look.last
    expanded = look.expanded
    look_at = expanded + stride(tick.clock)
    status = RUNNING
    while ply < depth and expanded < tick.limit:
        if slot == last:
            # Slots are numbered as they are seen, so each ply is a range of them.
            last = table.stamp[1]
            if slot == last:
                break
            ply += 1
            continue
        if table.states[at(slot)] == look.goal:
            slot += 1
            continue
        if lacks_room(table, fan):
            if not _cut_short(world, look, s, tick, expanded):
                return GROW
            break
        _spread(world, values, space, look, target, slot, gamma, np.int64(-1))
        slot += 1
        expanded += 1
        if late(tick, expanded, _CLOCK):
            break
        pause, look_at = pause_due(tick.clock, expanded, look_at)
        if pause:
            status = PAUSED
            break
    look.ply = ply
    look.slot = slot
    look.last = last
    return _end(look, table, expanded, status)


@inlined
def deepen(world, values, space, look, s, depth, gamma, tick):
    """Take a lookahead that has seen everything up to ``depth`` - 1 steps away one step further; 1 begins a new one.

    It then holds what ``breadth_first`` of this depth would, for what a ply adds. Returns as that does.
    """
    if depth > 1:
        look.paused = LOOKING
    return breadth_first(world, values, space, look, s, depth, gamma, tick)


@inlined
def cost_limited(world, values, space, look, s, gmax, gamma, tick):
    """Expand ``s``, and every state all of whose steps end within a cost of ``gmax``. Returns as ``breadth_first``."""
    table = space.table
    words = table.words
    heap = space.heap
    target = aim(world, look.goal)
    fan = widest(world)
    if not look.paused:
        if not _enter(world, values, space, target, look, s):
            return GROW
        look.heaped = heap_push(heap, np.int64(0), (np.int64(0), np.int64(0), np.int64(0)))
    look.paused = 0
    size = look.heaped
    expanded = look.expanded
    look_at = expanded + stride(tick.clock)
    status = RUNNING
    while size > 0 and expanded < tick.limit:
        slot = heap.slots[0]
        u = table.states[at(slot)]
        g = cost_to(words, slot)
        if lacks_room(table, fan) or size + fan > heap.keys.shape[0]:
            if not _cut_short(world, look, s, tick, expanded):
                return GROW
            break
        stale = is_closed(words, slot) or g != heap.keys[0]
        size = heap_pop(heap, size)
        if stale or u == look.goal or (slot != 0 and not _stays_within(world, u, gmax - g)):
            continue
        size = _spread(world, values, space, look, target, slot, gamma, size)
        expanded += 1
        if late(tick, expanded, _CLOCK):
            break
        pause, look_at = pause_due(tick.clock, expanded, look_at)
        if pause:
            status = PAUSED
            break
    look.heaped = size
    return _end(look, table, expanded, status)


@inlined
def _stays_within(world, u, rest):
    for i in range(degree(world, u)):
        _, c = successor(world, u, i)
        if c > rest:
            return False
    return True


@inlined
def _spread(world, values, space, look, target, slot, gamma, size):
    """Expand one state, with path-max. ``parents`` keeps the slot of the first step from the agent.

    States reached more cheaply than before go onto the heap, unless ``size``, that of the heap, is negative.
    """
    table = space.table
    words = table.words
    h = space.h
    u = table.states[at(slot)]
    g = cost_to(words, slot)
    _close(words, slot)
    tell(world, EXPANDED, u, -1, g, h[at(slot)])
    here = locate(world, u)
    for i in range(degree(world, u)):
        t, c = successor(world, u, i)
        if c < 0:
            continue
        look.dearest = max(look.dearest, c)
        before = table.stamp[1]
        child = intern(table, t)
        cheaper = child == before or g + c < cost_to(words, child)
        # With gamma = 1 what a state inherits is true of it by whatever way. With less it belongs to the way on which
        # gamma g + h was so much, and another way begins with what is known of the state itself.
        anywhere = gamma == WEIGHT_ONE
        if child == before or (cheaper and not anywhere):
            e = np.int64(estimate(world, target, t, moved(world, here, i))) << WEIGHT_SHIFT
            look.highest = max(look.highest, e)
            h[at(child)] = max(e, learned(values, t))
        if (cheaper or anywhere) and slot != 0 and child != 0 and t != look.goal:
            # gamma g + h must not fall along a path. The agent's own value is left out: it is what is to be learned.
            h[at(child)] = max(h[at(child)], h[at(slot)] - gamma * c)
        if cheaper:
            _open(words, child, g + c)
            tell(world, GENERATED, t, u, g + c, h[at(child)])
            table.parents[at(child)] = child if slot == 0 else table.parents[at(slot)]
            if size >= 0:
                size = heap_push(space.heap, size, (g + c, np.int64(0), child))
    return size


@inlined
def a_star(world, values, space, look, s, tick):
    """Expand the most promising states around ``s``, as many as the tick allows; stop when the goal would be next.

    Leaves the state that would be next in ``look.best``. Ties go to the larger g, then to the state seen first. A
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
    goal = look.goal
    target = aim(world, goal)
    fan = widest(world)
    limit = tick.limit
    if not look.paused:
        if not _enter(world, values, space, target, look, s):
            return GROW
        # Equal f and larger g means smaller h: h settles ties.
        look.heaped = heap_push(heap, np.int64(0), (h[0], h[0], np.int64(0)))
        look.used = 0
    look.paused = 0
    size = look.heaped
    highest = look.highest
    dearest = look.dearest
    expanded = look.expanded
    used = look.used
    look_at = expanded + stride(tick.clock)
    status = EXHAUSTED
    while size > 0:
        slot = heap.slots[0]
        g = cost_to(words, slot)
        if is_closed(words, slot) or (g << WEIGHT_SHIFT) + h[at(slot)] != keys[0]:
            size = heap_pop(heap, size)
            continue
        if keys[0] >= DEAD:
            break
        u = table.states[at(slot)]
        if u == goal or expanded >= limit:
            look.best = slot
            status = FOUND if u == goal else RUNNING
            break
        if lacks_room(table, fan) or size + fan >= keys.shape[0] or used + fan > arcs.shape[0]:
            if not _cut_short(world, look, s, tick, expanded):
                return GROW
            limit = expanded
            continue
        size = heap_pop(heap, size)
        _close(words, slot)
        tell(world, EXPANDED, u, -1, g, h[at(slot)])
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
            if child == before or g + c < cost_to(words, child):
                _open(words, child, g + c)
                tell(world, GENERATED, t, u, g + c, h[at(child)])
                parents[at(child)] = slot
                size = heap_push(heap, size, (((g + c) << WEIGHT_SHIFT) + h[at(child)], h[at(child)], child))
            arcs[at(used)] = (slot << 32) | (incoming[at(child)] + 1)
            costs[at(used)] = c
            incoming[at(child)] = used
            used += 1
        if late(tick, expanded, _CLOCK):
            limit = expanded
        pause, look_at = pause_due(tick.clock, expanded, look_at)
        if pause:
            status = PAUSED
            break
    look.heaped = size
    look.used = used
    look.highest = highest
    look.dearest = dearest
    return _end(look, table, expanded, status)


# --- where to go -----------------------------------------------------------------------------------------------------


@inlined
def best_on_frontier(space, look, gamma):
    """The slot with the least gamma g + h on the frontier, and that value; ties to the larger g, then first seen."""
    words = space.table.words
    best = np.int64(-1)
    least = np.int64(DEAD)
    far = np.int64(-1)
    for slot in range(look.states):
        if is_closed(words, slot):
            continue
        g = cost_to(words, slot)
        f = gamma * g + space.h[at(slot)]
        if f < least or (f == least and g > far):
            best = slot
            least = f
            far = g
    return best, least


@inlined
def least_changed(world, space, look):
    """The frontier slot whose value has risen least above its estimate; ties as in ``a_star``."""
    words = space.table.words
    h = space.h
    target = aim(world, look.goal)
    best = look.best
    least = np.int64(INFINITE)
    least_f = np.int64(INFINITE)
    for slot in range(look.states):
        if is_closed(words, slot):
            continue
        s = space.table.states[at(slot)]
        change = h[at(slot)] - (np.int64(estimate(world, target, s, locate(world, s))) << WEIGHT_SHIFT)
        f = (cost_to(words, slot) << WEIGHT_SHIFT) + h[at(slot)]
        if change < least or (change == least and (f < least_f or (f == least_f and h[at(slot)] < h[at(best)]))):
            best = slot
            least = change
            least_f = f
    return best


def _seen(space: Space) -> Any:
    return np.s_[: int(space.table.stamp[1])]


keeps(Space, h=_seen, fresh=_seen, incoming=_seen, **to_last("arcs", "costs"))
