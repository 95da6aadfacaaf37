"""The nearest entries of a k-d tree.

The tree is an order of its entries and needs no arrays of its own: a part of the entries is split at its middle one, by
the coordinates in turn, until it has no more than LEAF.

Entries and what they are compared with are for the caller: a NamedTuple that holds both, with a text for ``distance``
and one for ``beyond``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import generic, inlined

__all__ = ["LEAF", "Nearest", "beyond", "distance", "find_nearest", "new_nearest"]

LEAF = 8  # entries in a part of the tree that is looked through one by one
_STACK = 64  # more than twice the depth of any tree


class Nearest(NamedTuple):
    """The nearest entries, and what it takes to find them."""

    filled: np.ndarray  # int64[1]: how many were found
    found: np.ndarray  # int64[as many as are wanted]: their numbers, the nearest first
    distances: np.ndarray  # int64[the same]
    stack: np.ndarray  # int64[_STACK, 4]: parts of the tree that wait: first, last, depth, no entry is nearer than that


def new_nearest(wanted: int) -> Nearest:
    """Room for so many entries."""
    return Nearest(
        np.zeros(1, np.int64), np.zeros(wanted, np.int64), np.zeros(wanted, np.int64), np.zeros((_STACK, 4), np.int64)
    )


@generic
def distance(sought, world, i):
    """How far entry ``i`` is from what is sought."""


@generic
def beyond(sought, world, i, depth):
    """How far what is sought lies beyond entry ``i``, by the coordinate whose turn it is at this depth.

    It is negative if it lies before the entry. No entry of the other side is nearer than that.
    """


@inlined
def find_nearest(sought, world, low, high, nearest):
    """Of the entries from ``low`` to ``high``, which are a tree, find as many of the nearest as there is room for."""
    wanted = np.int64(nearest.found.shape[0])
    stack = nearest.stack
    nearest.filled[0] = 0
    height = 0
    depth = np.int64(0)
    bound = np.int64(0)  # no entry of this part is nearer than that
    while True:
        count = nearest.filled[0]
        if high > low and (count < wanted or bound <= nearest.distances[count - 1]):
            middle = (low + high) // 2
            leaf = high - low <= LEAF
            for i in range(low if leaf else middle, high if leaf else middle + 1):
                _offer(nearest, wanted, i, distance(sought, world, i))
            if not leaf:
                gap = beyond(sought, world, middle, depth)
                # The far side waits, with what the gap says about it.
                stack[height, 0] = middle + 1 if gap < 0 else low
                stack[height, 1] = high if gap < 0 else middle
                stack[height, 2] = depth + 1
                stack[height, 3] = max(bound, abs(gap))
                height += 1
                if gap < 0:
                    high = middle
                else:
                    low = middle + 1
                depth += 1
                continue
        if height == 0:
            return
        height -= 1
        low = stack[height, 0]
        high = stack[height, 1]
        depth = stack[height, 2]
        bound = stack[height, 3]


@inlined
def _offer(nearest, wanted, i, far):
    """Put entry ``i`` where it belongs, if it is among the nearest so far."""
    found = nearest.found
    distances = nearest.distances
    count = nearest.filled[0]
    # Among equals the lower number comes first, so that the order of looking does not matter.
    if count == wanted and (far > distances[count - 1] or (far == distances[count - 1] and i > found[count - 1])):
        return
    k = count if count < wanted else count - 1
    while k > 0 and (far < distances[k - 1] or (far == distances[k - 1] and i < found[k - 1])):
        distances[k] = distances[k - 1]
        found[k] = found[k - 1]
        k -= 1
    distances[k] = far
    found[k] = i
    nearest.filled[0] = min(count + 1, wanted)
