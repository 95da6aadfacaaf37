"""Compressing a path into states that a greedy agent can climb to one after the other."""

from __future__ import annotations

import numpy as np

from .climbing import climbs
from .jit import inlined, kernel
from .layout import COLS, DIRECTIONS, ROWS
from .views import cost_between

__all__ = ["compress", "compress_both", "costs_along"]


@kernel
def compress(world, path, subgoals, limit):
    """Write the subgoals of a path (its states in order) and return how many there are.

    From the start on, each is the farthest state of the path that can be climbed to from the one before; the end is
    none.
    """
    last = path.shape[0] - 1
    k = 0
    count = 0
    while k < last and not _climbable(world, path[k], path[last], limit, False):
        k = _farthest(world, path, k, limit, False)
        subgoals[count] = path[k]
        count += 1
    return count


@kernel
def compress_both(world, path, popular, subgoals, limit):
    """Write the subgoals of a path and return how many there are. All can be climbed to from both their neighbours.

    From the start on, the farthest state is found that can be climbed to from the one before, and back. On the farther
    half of the way there, the subgoal is the state that is a point of most other records, as ``popular`` says of every
    state; if none is, the last corner, for optimal paths turn at corners; if there is none, the farthest state. So
    records meet.
    """
    last = path.shape[0] - 1
    k = 0
    count = 0
    while k < last and not _climbable(world, path[k], path[last], limit, True):
        farthest = _farthest(world, path, k, limit, True)
        chosen = farthest
        most = np.int64(-1)
        for i in range(farthest, k + (farthest - k) // 2, -1):
            value = 2 * np.int64(popular[path[i]]) + _corner(world, path[i])
            if value > most and _climbable(world, path[k], path[i], limit, True):
                most = value
                chosen = i
        k = chosen
        subgoals[count] = path[k]
        count += 1
    return count


@inlined
def _farthest(world, path, k, limit, both):
    """The number of the farthest state that can be climbed to from state ``k``; at least the next.

    It is found by halving, as if climbing got no easier with the distance. The end is known to be out of reach.
    """
    low = k + 1
    high = path.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _climbable(world, path[k], path[middle], limit, both):
            low = middle
        else:
            high = middle
    return low


@inlined
def _climbable(world, a, b, limit, both):
    """Whether ``b`` can be climbed to from ``a``; with ``both``, also ``a`` from ``b``."""
    return climbs(world, a, b, limit) >= 0 and (not both or climbs(world, b, a, limit) >= 0)


@inlined
def _corner(world, s):
    """Whether a wall touches ``s`` at a corner only, so that a path may turn around it."""
    for d in range(4, DIRECTIONS):
        rows = ROWS[d] * world.width
        cols = COLS[d]
        if world.moves[s + rows + cols] == 0 and world.moves[s + rows] != 0 and world.moves[s + cols] != 0:
            return True
    return False


@kernel
def costs_along(world, path, subgoals, costs):
    """What the path costs to each of its subgoals and to its end, written to ``costs``."""
    cost = np.int64(0)
    k = 0
    for i in range(1, path.shape[0]):
        cost += cost_between(world, path[i - 1], path[i])
        if k < subgoals.shape[0] and path[i] == subgoals[k]:
            costs[k] = cost
            k += 1
    costs[k] = cost
