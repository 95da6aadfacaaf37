"""Pattern databases: for each pair of regions where to go first, and how deep to look (Bulitko et al. 2008).

A table is of one *base*, the world that LRTA* runs on, whose states are divided into regions. Rows are by the region of
the goal, so an agent on its way to one goal reads one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .best_first import cost_so_far, parent, seen
from .jit import at, inlined, kernel, now_ns
from .layout import GROW, INFINITE, PAUSED, RUNNING, WEIGHT_ONE
from .learning_rules import look_around
from .lookahead import best_on_frontier, deepen
from .saving import keeps_frozen
from .tables import intern, state_of
from .ticks import Tick, pause_due, rest, stride
from .views import cost_between

__all__ = [
    "PatternTable",
    "first_outside",
    "intermediate_goal",
    "label_depths",
    "region_of",
    "stored_depth",
]


class PatternTable(NamedTuple):
    """What is stored for each pair of regions. An entry is at ``region of the goal * count + region of the agent``."""

    region: np.ndarray  # int32[states of the base]: the region of each; -1 for walls
    count: np.ndarray  # type: ignore[assignment]  # int64[1]: how many regions there are; no tuple's method
    goals: np.ndarray  # int32[count * count]: a state of the base to go to first, -1: there is no way; empty: not made
    depths: np.ndarray  # uint16[count * count]: how deep to look, at least 1; empty: not made


@inlined
def region_of(patterns, s):
    """The region of a state; -1 if it has none: it was a wall when the table was made."""
    return np.int64(patterns.region[at(s)])


@inlined
def intermediate_goal(patterns, region, goal_region):
    """Where to go first from one region to another; -1 if there is no way, or if one of them is -1."""
    if region < 0 or goal_region < 0:
        return np.int64(-1)
    return np.int64(patterns.goals[at(goal_region * patterns.count[0] + region)])


@inlined
def stored_depth(patterns, region, goal_region):
    """How deep to look on the way from one region to another, which both are regions of the table."""
    return np.int64(patterns.depths[at(goal_region * patterns.count[0] + region)])


# --- making one, off-line: a row from each tree of shortest paths ----------------------------------------------------


@kernel
def first_outside(world, table, search, region, representatives, goals):
    """For each region the first state outside of it on the way from its representative to the root of a tree.

    -1 where there is no way. The root's own region, which the way does not leave, gets the root.
    """
    root = search[0].root
    for a in range(representatives.shape[0]):
        s = representatives[a]
        if not seen(table, search[0], s):
            goals[a] = -1
            continue
        slot = np.int64(intern(table, s))
        while slot != root and region[at(state_of(table, slot))] == a:
            slot = np.int64(parent(world, table, search[0], slot))
        goals[a] = state_of(table, slot)


@kernel
def label_depths(world, table, search, representatives, towards, values, space, look, cap, depths, stage, clock):
    """For each region the least depth at which LRTA* sets out from its representative on an optimal way to the root.

    ``towards`` are the goals that it looks for, -1: there is no way. It has learned nothing yet (``values`` is empty).
    If no depth up to ``cap`` will do, it is ``cap``; where nothing is to be looked for, 1. Returns RUNNING when all is
    done, GROW if ``space`` is too small, or PAUSED; it then goes on from ``stage``: the region, and the ply it is at.
    """
    rest(clock, now_ns(clock))
    work = np.int64(0)
    look_at = np.int64(stride(clock))
    for a in range(stage[0], representatives.shape[0]):
        stage[0] = a
        pause, look_at = pause_due(clock, work, look_at)
        if pause:
            return PAUSED
        work += 1
        s = representatives[a]
        depth = np.int64(1)
        if towards[a] >= 0 and towards[a] != s:
            if stage[1] == 0:
                look[0].goal = towards[a]
                look[0].paused = 0
                look[0].expanded = 0
                # A lookahead of one step is made as on-line: without a space.
                _, _, t = look_around(world, values, look[0], s, WEIGHT_ONE)
                if not _leads_on(world, table, search[0], s, t):
                    depth = cap
            else:
                depth = cap
            if depth > 1:
                status, depth = _look_deeper(world, table, search[0], values, space, look[0], s, cap, stage, clock)
                if status != RUNNING:
                    return status
                work += look[0].expanded
        depths[a] = depth
        stage[1] = 0
    return RUNNING


@inlined
def _look_deeper(world, table, search, values, space, look, s, cap, stage, clock):
    """The least depth above 1 that will do, or ``cap``. All of them are one lookahead, seen ply by ply."""
    plies = max(stage[1] - 1, 0)
    tick = Tick(INFINITE, 0, clock)
    while plies < cap:
        status = deepen(world, values, space, look, s, plies + 1, WEIGHT_ONE, tick)
        if status == GROW:
            stage[1] = 0
            return status, cap
        if status == PAUSED:
            stage[1] = plies + 1
            return status, cap
        plies += 1
        best, _ = best_on_frontier(space, look, WEIGHT_ONE)
        if plies > 1 and best >= 0:
            t = space.table.states[at(space.table.parents[at(best)])]
            if _leads_on(world, table, search, s, t):
                return RUNNING, plies
        if look.slot == look.states:  # everything has been seen, and more plies change nothing
            break
    return RUNNING, cap


@inlined
def _leads_on(world, table, search, s, t):
    """Whether the step from ``s`` to ``t`` lies on an optimal way to the root."""
    here = cost_so_far(table, search, intern(table, s))
    return here == cost_between(world, s, t) + cost_so_far(table, search, intern(table, t))


keeps_frozen(PatternTable)
