"""Hill-climbing: a greedy agent that gives up where its best neighbour is no nearer to where it wants to be.

The chapter (footnote 5) lets it give up where no neighbour is nearer. On grids whose cells all cost the same that is
the same: c + h is less for a step that comes nearer than for any other.
"""

from __future__ import annotations

import numpy as np

from .jit import generic, inlined
from .layout import INFINITE, WEIGHT_SHIFT
from .telling import EXPANDED, GENERATED, tell
from .views import GridView, aim, cost_between, degree, estimate, foresee_state, locate, moved, successor

__all__ = [
    "ARRIVED",
    "CLIMB",
    "CLIMBING",
    "STUCK",
    "climb_on",
    "climbs",
    "foresee_climb",
    "start_climb",
    "uphill",
    "way_between",
]


@inlined
def uphill(world, target, s, place):
    """The neighbour with the least c + h, its h, c and place; among equals the dearer move, then the first."""
    best = np.int64(INFINITE)
    best_c = np.int64(-1)
    best_t = np.int64(-1)
    best_place = place
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            there = moved(world, place, i)
            f = c + estimate(world, target, t, there)
            if f < best or (f == best and c > best_c):
                best = f
                best_c = c
                best_t = t
                best_place = there
    return best_t, best - best_c, best_c, best_place


@inlined
def climbs(world, start, end, limit):
    """The steps that a greedy agent takes from ``start`` to ``end``; -1 if it gets stuck, or after ``limit`` steps.

    It goes to the neighbour with the least c + h and gives up where that one's h is not below its own.
    """
    target = aim(world, end)
    s = start
    place = locate(world, s)
    h = estimate(world, target, s, place)
    for steps in range(limit + 1):
        if s == end:
            return steps
        s, nearer, _, place = uphill(world, target, s, place)
        if s < 0 or nearer >= h:
            return -1
        h = nearer
    return -1


@inlined
def way_between(world, start, end, limit):
    """What some way from ``start`` to ``end`` costs, -1 if none was found; and how many states were expanded.

    It is the step that leads there, or what a greedy agent walks in up to ``limit`` steps.
    """
    if start == end:
        return np.int64(0), np.int64(0)
    cost = np.int64(cost_between(world, start, end))
    tell(world, EXPANDED, start, -1, 0, -1)
    if cost >= 0:
        return cost, np.int64(1)
    target = aim(world, end)
    s = start
    place = locate(world, s)
    h = estimate(world, target, s, place)
    cost = np.int64(0)
    for steps in range(1, limit):
        tell(world, EXPANDED, s, -1, cost, -1)
        s, nearer, c, place = uphill(world, target, s, place)
        if s < 0 or nearer >= h:
            return np.int64(-1), np.int64(1 + steps)
        cost += c
        if s == end:
            return cost, np.int64(1 + steps)
        h = nearer
    return np.int64(-1), np.int64(limit)


CLIMB = np.dtype(
    [
        ("s", np.int64),  # where the climber is
        ("end", np.int64),  # where it wants to be
        ("h", np.int64),  # the estimate from here
        ("left", np.int64),  # steps it may still take
        ("status", np.int64),
    ]
)
CLIMBING, ARRIVED, STUCK = 0, 1, 2


@generic
def foresee_climb(world, climb):
    """Tell the processor that the climb will go on: a hint."""


@foresee_climb.on(GridView)
def _foresee_rows(world, climb):
    # The next steps mostly lead towards the end, from row to row.
    row = world.width if climb.end > climb.s else -world.width
    for k in range(8):
        foresee_state(world, climb.s + k * row)


@foresee_climb.otherwise
def _foresee_nothing(world, climb):
    pass


@inlined
def start_climb(world, climb, start, end, limit):
    """Begin a climb that is made a few steps at a time."""
    climb.s = start
    climb.end = end
    climb.h = estimate(world, aim(world, end), start, locate(world, start))
    climb.left = limit
    climb.status = ARRIVED if start == end else CLIMBING


@inlined
def climb_on(world, climb, limit):
    """Up to ``limit`` steps more of a climb; returns how many states were expanded."""
    target = aim(world, climb.end)
    place = locate(world, climb.s)
    steps = 0
    while climb.status == CLIMBING and steps < limit:
        if climb.left == 0:
            climb.status = STUCK
            break
        t, h, _, place = uphill(world, target, climb.s, place)
        tell(world, EXPANDED, climb.s, -1, -1, -1)
        steps += 1
        climb.left -= 1
        if t < 0 or h >= climb.h:
            climb.status = STUCK
        else:
            tell(world, GENERATED, t, climb.s, -1, h << WEIGHT_SHIFT)
            climb.s = t
            climb.h = h
            if t == climb.end:
                climb.status = ARRIVED
    return steps
