"""Hill-climbing, and compressing a path into states that climb from one to the next."""

from __future__ import annotations

import numpy as np

from .jit import inlined, kernel
from .layout import INFINITE
from .views import aim, degree, estimate, locate, moved, successor

__all__ = [
    "ARRIVED",
    "CLIMB",
    "CLIMBING",
    "STUCK",
    "climb_on",
    "climbs",
    "compress",
    "start_climb",
    "uphill",
]


@inlined
def uphill(world, target, s, place):
    """The neighbour with the least c + h, its h and place; among equals the dearer move, then the first."""
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
    return best_t, best - best_c, best_place


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
        s, nearer, place = uphill(world, target, s, place)
        if s < 0 or nearer >= h:
            return -1
        h = nearer
    return -1


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
        t, h, place = uphill(world, target, climb.s, place)
        steps += 1
        climb.left -= 1
        if t < 0 or h >= climb.h:
            climb.status = STUCK
        else:
            climb.s = t
            climb.h = h
            if t == climb.end:
                climb.status = ARRIVED
    return steps


@kernel
def compress(world, path, subgoals, limit):
    """Write the subgoals of a path (its states in order) and return how many there are.

    From the start on, each is the farthest state of the path that can be climbed to from the one before; the end is
    none. Farthest is found by halving, as if climbing got no easier with the distance.
    """
    last = path.shape[0] - 1
    k = 0
    count = 0
    while k < last and climbs(world, path[k], path[last], limit) < 0:
        low = k + 1
        high = last
        while high - low > 1:
            middle = (low + high) // 2
            if climbs(world, path[k], path[middle], limit) >= 0:
                low = middle
            else:
                high = middle
        subgoals[count] = path[low]
        count += 1
        k = low
    return count
