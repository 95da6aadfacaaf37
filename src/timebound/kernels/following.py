"""Following a path through a search tree: tracing it, knowing the place on it, stepping along it or back.

An agent that follows has at least these fields:

* ``table`` and ``search``: the tree, see ``best_first``;
* ``paths``: int32[2, ...], the slots of the path that is followed and of the one under trace, each in a row of its own;
  ``fronts`` and ``ends``: int64[2], where they begin and end in it;
* ``follow``: one record with at least ``PATH_FIELDS``.

One that walks a way as it was found (``write_route``) has ``progress`` instead: one record with at least ``tracing``.
"""

from __future__ import annotations

import numpy as np

from .best_first import cost_so_far, parent
from .jit import inlined, kernel, now_ns, prefetch_early
from .layout import FOUND, GROW, RUNNING
from .loop import NEEDS_ROOM
from .tables import foresee_slot, intern, state_of
from .views import aim, degree, estimate, locate, successor

__all__ = [
    "PATH_FIELDS",
    "begin_trace",
    "falls_short",
    "foresee_front",
    "foresee_path",
    "forget_paths",
    "lengthen_path",
    "onward",
    "place_on_path",
    "pop_front",
    "some_neighbour",
    "switch_paths",
    "trace_back",
    "trace_limit",
    "way_ahead",
    "write_route",
]

PATH_FIELDS = [
    ("active", np.int64),  # which of the two paths is being followed
    ("tracing", np.int64),  # slot to be traced next, or -1 when no trace is under way
    ("joint", np.int64),  # place on the path that is followed where the one under trace leaves it, or -1
    ("steps", np.int64),  # parents that may still be followed in this tick; -1 between ticks
    ("final", np.int64),  # 1 if the path under trace leads to the goal and nothing better is open
    ("settled", np.int64),  # 1 once the final path is the one being followed
    ("cut_off", np.int64),  # 1 if only the part of it beyond the agent was traced
    ("last", np.int64),  # slot where the agent was before, or -1
]

_TRACE_STEPS = 10  # parents followed for the price of one expansion
_MOST_LONGER = 64  # states by which a path gets longer in a tick
_CLOCK_MASK = 255  # parents followed between two looks at the clock


@inlined
def trace_limit(expansions):
    """How many parents may be followed in a tick that has so many expansions left."""
    return _TRACE_STEPS * min(expansions + 1, 1 << 40)


@inlined
def write_route(agent, world, steps):
    """Write the way from the root to ``progress.tracing`` into ``route``, from its end; up to ``steps`` parents.

    For an agent that walks the way as it is. Returns how many moves are ready, 0 if it is not yet whole, or NEEDS_ROOM.
    """
    search = agent.search[0]
    progress = agent.progress[0]
    plan = agent.plan
    slot = progress.tracing
    while slot >= 0 and steps > 0:
        if slot == search.root:
            slot = -1
            break
        if plan[0] == 0:
            progress.tracing = slot
            return NEEDS_ROOM
        plan[0] -= 1
        agent.route[plan[0]] = state_of(agent.table, slot)
        slot = parent(world, agent.table, search, slot)
        steps -= 1
    progress.tracing = slot
    return plan[1] - plan[0] if slot < 0 else 0


@inlined
def forget_paths(agent):
    """No path is followed, none is under trace."""
    follow = agent.follow[0]
    follow.tracing = -1
    follow.joint = -1
    follow.steps = -1
    follow.final = 0
    follow.settled = 0
    follow.cut_off = 0
    follow.last = -1
    _empty(agent, 0)
    _empty(agent, 1)


@inlined
def _empty(agent, row):
    """No path is in this row. The next one begins in its middle, is traced to the left and may grow to the right."""
    agent.fronts[row] = agent.paths.shape[1] >> 1
    agent.ends[row] = agent.paths.shape[1] >> 1


@inlined
def foresee_path(agent, ahead):
    """Tell the processor that the ends of the path will be read, and the states there; see ``loop.foresee_tables``."""
    paths = agent.paths
    row = agent.follow[0].active
    front = agent.fronts[row]
    end = agent.ends[row]
    if front < end and ahead == 4:
        prefetch_early(paths, row * paths.shape[1] + front)
        prefetch_early(paths, row * paths.shape[1] + end - 1)
        prefetch_early(paths, (1 - row) * paths.shape[1] + agent.ends[1 - row] - 1)
    elif front < end and ahead == 3:
        foresee_slot(agent.table, paths[row, front], True)
        foresee_slot(agent.table, paths[row, end - 1], True)


@inlined
def foresee_front(agent, ahead):
    """The same for who only walks on."""
    paths = agent.paths
    row = agent.follow[0].active
    front = agent.fronts[row]
    if front < agent.ends[row] and ahead == 4:
        prefetch_early(paths, row * paths.shape[1] + front)
    elif front + 1 < agent.ends[row] and ahead == 3:
        foresee_slot(agent.table, paths[row, front], True)
        foresee_slot(agent.table, paths[row, front + 1], True)


@inlined
def begin_trace(agent, slot, final):
    """The next path to be traced ends in ``slot``."""
    follow = agent.follow[0]
    follow.tracing = slot
    follow.joint = -1
    follow.final = final
    _empty(agent, 1 - follow.active)


@inlined
def trace_back(agent, world, here, least, joins, deadline, clock):
    """Follow parents to the agent or the root, or until g is no more than ``least``; up to ``steps`` of them.

    If the path ``joins`` the one that is followed, there is no need to trace the rest again: parents of closed states
    stay what they are, unless such states are opened again. (Where a goal that moved was added to a leaf, what is kept
    may be dearer than the tree by now, and is a way all the same.) A search that goes on where it was extends a path by
    a few states in each tick, however long it is. Only if the agent stands at the beginning of it: else more is needed.

    Returns FOUND if the path is whole, RUNNING if the tick does not allow more, or GROW.
    """
    table = agent.table
    paths = agent.paths
    fronts = agent.fronts
    search = agent.search[0]
    follow = agent.follow[0]
    row = follow.active
    fresh = 1 - row
    joins = joins and not search.reopen and fronts[row] < agent.ends[row] and paths[row, fronts[row]] == here
    k = _last_up_to(agent, row, cost_so_far(table, search, follow.tracing)) if joins else np.int64(0)
    while fronts[fresh] > 0:
        slot = follow.tracing
        if joins:
            g = cost_so_far(table, search, slot)
            while k > fronts[row] and cost_so_far(table, search, paths[row, k]) > g:
                k -= 1
            if paths[row, k] == slot and _may_join(agent, world, row, k, fresh):
                follow.tracing = -1
                follow.joint = k
                return FOUND
        done = slot == here or slot == search.root or cost_so_far(table, search, slot) <= least
        if not done:
            # Not before the first 255 steps of a tick, so that every tick makes headway.
            late = deadline > 0 and follow.steps & _CLOCK_MASK == 1 and now_ns(clock) > deadline
            if follow.steps == 0 or late:
                return RUNNING
        fronts[fresh] -= 1
        paths[fresh, fronts[fresh]] = slot
        if done:
            follow.tracing = -1
            return FOUND
        follow.tracing = parent(world, table, search, slot)
        follow.steps -= 1
    return GROW


@inlined
def _last_up_to(agent, row, g):
    """The last place on a path whose state is no dearer than ``g``, mostly the last of all; or the first place."""
    front = agent.fronts[row]
    high = agent.ends[row] - 1
    if cost_so_far(agent.table, agent.search[0], agent.paths[row, high]) <= g:
        return high
    # In steps that double, from the end: it is mostly near, and what is near shares lines of the cache.
    step = np.int64(1)
    low = max(high - step, front)
    while low > front and cost_so_far(agent.table, agent.search[0], agent.paths[row, low]) > g:
        high = low - 1
        step += step
        low = max(high - step, front)
    while low < high:
        middle = (low + high + 1) // 2
        if cost_so_far(agent.table, agent.search[0], agent.paths[row, middle]) > g:
            high = middle - 1
        else:
            low = middle
    return low


@inlined
def _may_join(agent, world, row, k, fresh):
    """Whether a path that is traced up to place ``k`` of the one that is followed can take its place from there on."""
    # The last state of the path was open, and may have got another parent since.
    at_end = k + 1 == agent.ends[row] and k > agent.fronts[row]
    if at_end and parent(world, agent.table, agent.search[0], agent.paths[row, k]) != agent.paths[row, k - 1]:
        return False
    return k + 1 + agent.ends[fresh] - agent.fronts[fresh] <= agent.paths.shape[1]


@inlined
def lengthen_path(agent, world, here):
    """See that the path that is followed begins no further from the root than ``here``, off it.

    Of one that was cut off only the part beyond the agent is there, and steps are dropped as they are made; so who goes
    back without a new trace would miss the place where the path leaves its way. False: there is no room, or it is far.
    """
    row = agent.follow[0].active
    search = agent.search[0]
    g = cost_so_far(agent.table, search, here)
    for _ in range(_MOST_LONGER):
        front = agent.paths[row, agent.fronts[row]]
        if front == search.root or cost_so_far(agent.table, search, front) <= g:
            return True
        if agent.fronts[row] == 0:
            return False
        agent.fronts[row] -= 1
        agent.paths[row, agent.fronts[row]] = parent(world, agent.table, search, front)
    return False


@inlined
def falls_short(agent):
    """Whether the path just traced ends at a smaller g than the one that is followed."""
    paths = agent.paths
    search = agent.search[0]
    row = agent.follow[0].active
    end = agent.ends[row] - 1
    if agent.fronts[row] > end:
        return False
    slot = paths[1 - row, agent.ends[1 - row] - 1]
    if agent.follow[0].joint >= 0 and agent.fronts[1 - row] == agent.ends[1 - row]:
        slot = paths[row, agent.follow[0].joint]  # it is a part of the other
    fresh_g = cost_so_far(agent.table, search, slot)
    return fresh_g < cost_so_far(agent.table, search, paths[row, end])


@inlined
def switch_paths(agent, whole):
    """Follow the path just traced; it leads to the goal if ``final`` says so."""
    follow = agent.follow[0]
    row = follow.active
    if follow.joint < 0:
        follow.active = 1 - row
    else:
        paths = agent.paths
        end = follow.joint + 1
        for k in range(agent.fronts[1 - row], agent.ends[1 - row]):
            paths[row, end] = paths[1 - row, k]
            end += 1
        agent.ends[row] = end
        follow.joint = -1
    follow.settled = follow.final
    follow.cut_off = not whole


@inlined
def place_on_path(agent, slot):
    """Where on the path that is followed a slot is; -1 if it is not, or only at its end."""
    # g grows along a path, so halving finds the only place where the slot can be on it.
    table = agent.table
    paths = agent.paths
    search = agent.search[0]
    row = agent.follow[0].active
    low = agent.fronts[row]
    last = agent.ends[row] - 1
    if low < last and paths[row, low] == slot:
        return low
    high = last
    g = cost_so_far(table, search, slot)
    while low < high:
        middle = (low + high) // 2
        if cost_so_far(table, search, paths[row, middle]) < g:
            low = middle + 1
        else:
            high = middle
    return low if low < last and paths[row, low] == slot else np.int64(-1)


@inlined
def pop_front(agent, k):
    """Drop what has been walked, up to place ``k``; returns the slot after it."""
    row = agent.follow[0].active
    agent.fronts[row] = k + 1
    return agent.paths[row, k + 1]


@inlined
def onward(agent, world, slot, k):
    """The slot after one at place ``k`` (-1: off the path) on the way back to the path and along it, and its place.

    At the end of the path, or off it at the root, there is none: -1.
    """
    paths = agent.paths
    search = agent.search[0]
    if k < 0:
        if slot == search.root:
            return np.int64(-1), np.int64(-1)
        back = parent(world, agent.table, search, slot)
        return back, place_on_path(agent, back)
    row = agent.follow[0].active
    if k + 1 == agent.ends[row]:
        return np.int64(-1), np.int64(-1)
    return paths[row, k + 1], k + 1


@kernel
def way_ahead(agent, world, s, states):
    """Write the states from ``s`` back to the path and along it; returns how many there are, even if not all fit."""
    count = np.int64(0)
    row = agent.follow[0].active
    front = agent.fronts[row]
    if front == agent.ends[row]:
        return count
    slot = intern(agent.table, s)
    k = place_on_path(agent, slot)
    if k < 0 and agent.follow[0].cut_off and slot != agent.paths[row, agent.ends[row] - 1]:
        slot, count = _join(agent, world, slot, states)
        k = front
    slot, k = onward(agent, world, slot, k)
    while slot >= 0:
        if count < states.shape[0]:
            states[count] = state_of(agent.table, slot)
        count += 1
        slot, k = onward(agent, world, slot, k)
    return count


@inlined
def _join(agent, world, slot, states):
    """The states from ``slot`` back to where its way in the tree meets that of the path, and on to the path's front.

    Returns the front and how many they are. Both ways are walked towards the root, the longer one first.
    """
    table = agent.table
    search = agent.search[0]
    row = agent.follow[0].active
    front = agent.paths[row, agent.fronts[row]]
    meets = front
    count = np.int64(0)
    forth = np.int64(0)  # states from there to the front
    while slot != meets:
        if slot == search.root or cost_so_far(table, search, slot) < cost_so_far(table, search, meets):
            meets = parent(world, table, search, meets)
            forth += 1
        else:
            slot = parent(world, table, search, slot)
            if count < states.shape[0]:
                states[count] = state_of(table, slot)
            count += 1
    slot = front
    for k in range(count + forth - 1, count - 1, -1):
        if k < states.shape[0]:
            states[k] = state_of(table, slot)
        slot = parent(world, table, search, slot)
    return front, count + forth


@inlined
def some_neighbour(world, table, search):
    """The slot of one legal successor of the root; -1 if it has none.

    The TBA* paper chooses at random. Counting to a number hashed from the root's estimate does so and repeats itself.
    """
    s = state_of(table, search.root)
    h = estimate(world, aim(world, search.goal), s, locate(world, s))
    legal = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        legal += c >= 0
    if legal == 0:
        return np.int64(-1)
    chosen = (((h & 0xFFFFFF) * 40503) >> 8) % legal
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            if chosen == 0:
                return intern(table, t)
            chosen -= 1
    return np.int64(-1)
