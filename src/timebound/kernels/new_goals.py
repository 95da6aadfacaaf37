"""A best-first search that is given another goal: what it has seen stays, and serves the new one.

The tree is right whatever the goal is: each state's way from the root, and what it costs. So if the new goal is closed,
no search is needed (``turn_to``). If it is a step from a goal to which a path is known, that step can be added to the
tree (``attach``). Else the search goes on. It may do so with the keys it has, which are for where the goal was (``aim``
in ``best_first``): what it finds is as good. But it would look in the wrong place first. So when the goal has gone far
from there, all entries of the open list get new keys, a few in each tick (``keep_course``).

A goal that never rests must not take all of the time:

* Far is a quarter of the goal's estimated distance from the root. A goal that walks gets there now and then.
* Keys that are being given out are for the goal as it was when that began. It is not begun again in the middle.
* Between two times there are at least as many expansions as the last one took the time of.

Looking at an entry costs a tenth of an expansion, as following a parent does.
"""

from __future__ import annotations

import numpy as np

from .best_first import cost_so_far, seen
from .jit import inlined, now_ns
from .layout import (
    CLOSED,
    DIRECTION_MASK,
    EXHAUSTED,
    FOUND,
    G_MAX,
    G_SHIFT,
    GROW,
    INFINITE,
    RUNNING,
    WEIGHT_SHIFT,
)
from .memory import lacks_room
from .queues import leave, link, loosen, place_from, places, push, resume, slot_in, strike, suspend, tidy
from .tables import count_room, intern, state_of, word_at, write
from .views import aim, degree, estimate, locate, successor

__all__ = ["attach", "follow_goal", "join", "keep_course", "turn_to"]

# What is being done to the open list: its entries get keys, and then it is put in order.
KEYING, TIDYING = 1, 2

_FAR = 4  # a search is off its course if the goal has gone this part of its distance from the root
_ENTRIES = 10  # looked at for the price of an expansion
_CLOCK = 256  # entries between two looks at the clock


@inlined
def turn_to(world, table, search, goal):
    """Look for another goal. Returns whether the way to it is known, and no better one will be.

    That is so if it is closed, unless closed states may be opened again; for a greedy search if it has been seen. If
    everything had been seen, and the goal was not there, it is known at once that there is no way.
    """
    search.goal = goal
    search.goal_slot = -1
    search.goal_f = INFINITE
    search.paused = 0
    search.paid = 0
    if not seen(table, search, goal):
        if search.status != EXHAUSTED:
            search.status = RUNNING
        return False
    slot = intern(table, goal)
    closed = word_at(table, slot) & CLOSED != 0
    return _found(world, table, search, slot, search.g_weight == 0 or (closed and not search.reopen))


@inlined
def _found(world, table, search, slot, final):
    """The goal is in this slot, and the search for it is over if that is ``final``, which is returned."""
    search.goal_slot = slot
    search.goal_f = _price(world, table, search, slot)
    search.status = FOUND if final else RUNNING
    return final


@inlined
def _price(world, table, search, slot):
    """f of the goal in a slot."""
    if search.g_weight == 0:
        return np.int64(0)
    s = state_of(table, slot)
    h = estimate(world, aim(world, search.aim), s, locate(world, s))
    return search.g_weight * cost_so_far(table, search, slot) + search.h_weight * h


@inlined
def follow_goal(world, table, queue, search, counts, above):
    """The goal has gone a step from the state in the slot ``above``, to which a path is known: go there, and on.

    Unless it has been seen, and is as cheap. Returns whether that is done; False if it is no step, or there is no room.
    """
    goal = search.goal
    slot = np.int64(-1)
    c = _step(world, state_of(table, above), goal)[0]
    if c < 0:
        return False
    if seen(table, search, goal):
        slot = intern(table, goal)
        if cost_so_far(table, search, slot) > cost_so_far(table, search, above) + c:
            slot = np.int64(-1)
    if slot < 0:
        slot = attach(world, table, queue, search, counts, above, goal)
    return slot >= 0 and _found(world, table, search, slot, True)


@inlined
def _step(world, s, t):
    """The cheapest step from ``s`` to ``t``: its cost, negative if there is none, and its number."""
    least = np.int64(-1)
    number = np.int64(-1)
    for i in range(degree(world, s)):
        u, c = successor(world, s, i)
        if u == t and c >= 0 and (least < 0 or c < least):
            least = np.int64(c)
            number = np.int64(i)
    return least, number


@inlined
def attach(world, table, queue, search, counts, above, s):
    """Make ``s`` an open leaf of the tree, by a step from the state in the slot ``above``. Returns its slot.

    It must be new, or dearer and not closed. -1 if there is no such step, or no room.
    """
    c, number = _step(world, state_of(table, above), s)
    g = cost_so_far(table, search, above) + c
    f = search.g_weight * g + search.h_weight * estimate(world, aim(world, search.aim), s, locate(world, s))
    key = f >> (world.shift + WEIGHT_SHIFT)
    cursor = resume(queue)
    count_room(table)
    if c < 0 or g > G_MAX >> 1 or lacks_room(table, 1) or lacks_room(queue, 1, cursor, key):
        return np.int64(-1)
    if search.sorting == TIDYING:
        return np.int64(-1)  # there is no place for it now
    counts.states += not seen(table, search, s)
    slot = intern(table, s)
    write(table, slot, search.top - (g << G_SHIFT) + (number & DIRECTION_MASK), above)
    suspend(queue, leave(queue, cursor, slot) if search.sorting else push(queue, cursor, key, slot))
    if s == search.goal:
        search.goal_slot = slot
        search.goal_f = f if search.g_weight != 0 else np.int64(0)
    return slot


@inlined
def join(world, table, queue, search, counts, s):
    """Make ``s``, which has not been seen, part of the tree, as a step from the cheapest of its neighbours that are.

    For an agent that was put there. False if it has none, or if there is no room.
    """
    least = np.int64(INFINITE)
    above = np.int64(-1)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and seen(table, search, t):
            slot = intern(table, t)
            if cost_so_far(table, search, slot) + c < least:
                least = cost_so_far(table, search, slot) + c
                above = slot
    return above >= 0 and attach(world, table, queue, search, counts, above, s) >= 0


@inlined
def keep_course(world, table, queue, search, counts, tick):
    """Give the open list new keys if the search is off its course. Before it goes on; to be asked in each tick.

    Returns a status and the price, in expansions. RUNNING: if nothing is left of the tick's limit, or ``sorting`` says
    that there is more to do, the search must wait until the next tick. ``search.paid`` is what has been paid in the
    tick: the caller takes it from the limit if the tick is gone on with, and sets it to 0 at its end.
    """
    if not search.sorting:
        # Not in the middle of a slice: a pause changes nothing.
        if search.paused or not _off_course(world, table, search, counts):
            return RUNNING, np.int64(0)
        search.aim = search.goal
        if search.goal_slot >= 0:
            search.goal_f = _price(world, table, search, search.goal_slot)
        search.sorting = KEYING
        search.place = 0
        search.sorted = 0
        search.best = -1
        search.best_key = INFINITE
        suspend(queue, loosen(queue, resume(queue)))
    status = RUNNING
    first = search.sorted
    last = first + _ENTRIES * min(tick.limit, 1 << 40)
    while search.sorting and search.sorted < last and status == RUNNING:
        # It does not pause: an entry takes nanoseconds.
        until = min(last, search.sorted + _CLOCK) if tick.deadline > 0 else last
        status = _sort(world, table, queue, search, until)
        if tick.deadline > 0 and now_ns(tick.clock) > tick.deadline:
            break
    price = (search.sorted - first + _ENTRIES - 1) // _ENTRIES
    search.paid += price
    if not search.sorting:
        search.next_from = counts.expanded + search.sorted // _ENTRIES
    return status, price


@inlined
def _off_course(world, table, search, counts):
    if search.aim == search.goal or search.h_weight == 0 or counts.expanded < search.next_from:
        return False
    target = aim(world, search.goal)
    root = state_of(table, search.root)
    gone = estimate(world, target, search.aim, locate(world, search.aim))
    return _FAR * gone > estimate(world, target, root, locate(world, root))


@inlined
def _sort(world, table, queue, search, until):
    """Look at entries until so many have been. Returns RUNNING, or GROW."""
    shift = world.shift + WEIGHT_SHIFT
    target = aim(world, search.aim)
    cursor = resume(queue)
    status = RUNNING
    while search.sorting == KEYING and search.sorted < until:
        k = place_from(queue, cursor, search.place)
        if k == places(queue, cursor):
            search.place = tidy(queue, cursor, 0, 0)  # some queues are in order now
            search.sorting = TIDYING if search.place < k else 0
            break
        slot = slot_in(queue, k)
        if slot >= 0 and word_at(table, slot) & CLOSED:
            cursor = strike(queue, cursor, k)
        elif slot >= 0:
            s = state_of(table, slot)
            g = cost_so_far(table, search, slot)
            key = (search.g_weight * g + search.h_weight * estimate(world, target, s, locate(world, s))) >> shift
            if lacks_room(queue, 0, cursor, key):
                status = GROW
                break
            cursor = link(queue, cursor, k, key)
            if key < search.best_key:
                search.best_key = key
                search.best = slot
        search.place = k + 1
        search.sorted += 1
    if search.sorting == TIDYING and status == RUNNING and search.sorted < until:
        done = tidy(queue, cursor, search.place, until - search.sorted)
        search.sorted += done - search.place
        search.place = done
        if done == places(queue, cursor):
            search.sorting = 0
    suspend(queue, cursor)
    return status
