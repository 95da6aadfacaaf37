"""Shortcuts: Enhancement 1 of TBA* (Björnsson, Bulitko and Sturtevant 2009), for ``time_bounded``.

Once the path to the goal is known and the agent must step back to reach it, an A* search from the path to the agent
looks for a shorter way. It begins anew in every tick that the agent is off the path, within that tick's budget R.

Chosen where the paper is silent: putting a state of the path on the open list costs as much as following a parent; the
whole path is opened, down to its beginning, when its turn comes.
There is no plain version: ``tests/test_shortcuts.py`` compares agents with and without shortcuts.
"""

from __future__ import annotations

import numpy as np

from ..kernels.best_first import advance, begin, cost_so_far, open_in_turn, parent, seen
from ..kernels.following import place_on_path
from ..kernels.jit import inlined, now_ns
from ..kernels.layout import FOUND, GROW, RUNNING
from ..kernels.loop import NEEDS_ROOM, NOT_YET
from ..kernels.tables import intern, state_of
from ..kernels.telling import aside
from ..kernels.ticks import Tick, stride, tired

__all__ = ["RESTING", "SEARCHING", "SHORTCUT_FIELDS", "TRACING", "WALKING", "find_shortcut"]

SHORTCUT_FIELDS = [
    ("shortcuts", np.int64),  # 1: look for a way from the agent to the final path while stepping back
    ("cutting", np.int64),  # what is being done about one: nothing, SEARCHING, TRACING, WALKING or RESTING
    ("cut_place", np.int64),  # RESTING: the state of the path to be opened next
    ("cut_steps", np.float64),  # and what is left of the tick's budget
    ("price", np.float64),  # c: parents followed for the price of an expansion
    ("held", np.int64),  # states in memory when the final path was found
]

SEARCHING, TRACING, WALKING, RESTING = 1, 2, 3, 4

_CLOCK = 32  # states of the path that are opened between two looks at the clock


@inlined
def find_shortcut(agent, world, s, tick):
    """A* from the path to the agent at ``s``. Returns the moves ready, 0 if it found nothing, or as ``decide``.

    The states of the path are its roots, each with its distance to the goal as g. They need not all be opened at
    once: f = g + h never falls from the goal backwards, so the next one is opened when its turn comes.
    """
    table = agent.table
    paths = agent.paths
    search = agent.search[0]
    follow = agent.follow[0]
    counts = agent.counts[0]
    cut = agent.cut[0]
    cut_counts = agent.cut_counts[0]
    row = follow.active
    end = agent.ends[row] - 1
    steps = min(tick.limit, 1 << 40) * follow.price
    k = end - 1
    beside = aside(world)
    if follow.cutting == RESTING:
        follow.cutting = SEARCHING
        steps = follow.cut_steps
        k = follow.cut_place
    else:
        follow.cutting = SEARCHING
        if begin(beside, agent.cut_table, agent.cut_queue, cut, cut_counts, search.goal, s) == GROW:
            return NEEDS_ROOM
    reach = cost_so_far(table, search, paths[row, end])
    left = stride(tick.clock)
    while steps > 0:
        left -= 1
        if left < 0:
            left = stride(tick.clock)
            if tired(tick.clock):
                follow.cutting = RESTING
                follow.cut_steps = steps
                follow.cut_place = k
                return NOT_YET
        if k >= agent.fronts[row]:
            slot = paths[row, k]
            done = open_in_turn(
                beside, agent.cut_table, agent.cut_queue, cut,
                state_of(table, paths[row, k + 1]), state_of(table, slot), reach - cost_so_far(table, search, slot),
            )  # fmt: skip
            if done == GROW:
                return NEEDS_ROOM
            if done == FOUND:
                k -= 1
                steps -= 1
                if tick.deadline > 0 and k % _CLOCK == 0 and now_ns(tick.clock) > tick.deadline:
                    break
                continue
        if cut.status != RUNNING or steps < follow.price:
            break
        before = cut_counts.expanded
        if advance(beside, agent.cut_table, agent.cut_queue, cut, cut_counts, Tick(1, 0, tick.clock)) == GROW:
            return NEEDS_ROOM
        counts.expanded += cut_counts.expanded - before
        steps -= follow.price
        if tick.deadline > 0 and now_ns(tick.clock) > tick.deadline:
            break
    counts.states = follow.held + cut_counts.states
    follow.cutting = 0
    return _trace_shortcut(agent, world) if cut.status == FOUND else 0


@inlined
def _trace_shortcut(agent, world):
    """Write the way from the agent to the first state of the path; from there on the path is followed as before."""
    table = agent.table
    route = agent.route
    search = agent.search[0]
    follow = agent.follow[0]
    cut = agent.cut[0]
    slot = cut.goal_slot
    ready = np.int64(0)
    on_path = False
    while not on_path:
        if ready == route.shape[0]:
            follow.cutting = TRACING
            return NEEDS_ROOM
        slot = parent(world, agent.cut_table, cut, slot)
        t = state_of(agent.cut_table, slot)
        route[ready] = t
        ready += 1
        on_path = slot == cut.root or (seen(table, search, t) and place_on_path(agent, intern(table, t)) >= 0)
    follow.cutting = WALKING
    follow.last = -1  # there will be no step from it to where the shortcut ends
    follow.used = 0
    agent.search[0].paid = 0
    agent.plan[0] = 0
    agent.plan[1] = ready
    return ready
