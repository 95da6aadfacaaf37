"""Records of compressed paths: making one, and finding those most like a problem in a k-d tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .best_first import advance, begin, parent
from .jit import inlined, kernel, now_ns
from .layout import FOUND, GROW, INFINITE, PAUSED
from .tables import intern, state_of
from .ticks import Tick, rest
from .views import aim, estimate, locate

__all__ = ["STACK", "Records", "grow_tree", "insert", "most_similar", "optimal_path", "tree_path"]

_LEAF = 8  # records below which a part of the tree is looked through one by one
STACK = 64  # more than twice the depth of any tree


class Records(NamedTuple):
    """Records in the order of a balanced k-d tree over (start row, start col, end row, end col).

    The tree needs no arrays of its own: a part of the records is split at its middle one, by the four coordinates in
    turn.
    """

    starts: np.ndarray  # int32[n]
    ends: np.ndarray  # int32[n]
    first: np.ndarray  # int32[n + 1]: where the subgoals of each record begin
    subgoals: np.ndarray  # int32[...]


@kernel
def optimal_path(world, table, queue, search, counts, start, goal, path, clock):
    """A* and its path, written to the end of ``path``. Returns the length, or 0 if there is none.

    -1 if the search needs room, -2 if the path does, -3 if it takes long; it is then to be called again.
    """
    note = search[0]
    rest(clock, now_ns(clock))
    if not note.paused and begin(world, table, queue, note, counts[0], start, goal) == GROW:
        return -1
    status = advance(world, table, queue, note, counts[0], Tick(INFINITE, 0, clock))
    if status in (GROW, PAUSED):
        return -1 if status == GROW else -3
    if status != FOUND:
        return 0
    return _trace(world, table, note, note.goal_slot, path)


@kernel
def grow_tree(world, table, queue, search, counts, root, clock):
    """Dijkstra's algorithm from ``root`` to everything it reaches. After GROW and PAUSED it is to be called again."""
    note = search[0]
    rest(clock, now_ns(clock))
    if not note.paused:
        if begin(world, table, queue, note, counts[0], root, root) == GROW:
            return GROW
        note.goal = -1  # no such state: the search ends only when it has seen all
    return advance(world, table, queue, note, counts[0], Tick(INFINITE, 0, clock))


@kernel
def tree_path(world, table, search, s, path):
    """The path of a grown tree from its root to ``s``, written to the end of ``path``; its length, -2: needs room."""
    return _trace(world, table, search[0], intern(table, s), path)


@inlined
def _trace(world, table, note, slot, path):
    size = path.shape[0]
    length = 0
    while True:
        if length == size:
            return -2
        length += 1
        path[size - length] = state_of(table, slot)
        if slot == note.root:
            return length
        slot = parent(world, table, note, slot)


@inlined
def _unlike(world, to_s, to_goal, start, end):
    """How little a record suits a problem: the larger of the estimates between their starts and their ends."""
    h_start = estimate(world, to_s, start, locate(world, start))
    h_end = estimate(world, to_goal, end, locate(world, end))
    return max(h_start, h_end)


@inlined
def most_similar(world, records, s, goal, wanted, found, unlike, stack):
    """The ``wanted`` records most like the problem, best first, in ``found``; returns how many there are.

    ``unlike`` has room for as many numbers, ``stack`` for STACK rows of four.
    """
    to_s = aim(world, s)
    to_goal = aim(world, goal)
    here = locate(world, s)
    there = locate(world, goal)
    count = 0
    height = 0
    low = np.int64(0)
    high = np.int64(records.starts.shape[0])
    depth = np.int64(0)
    bound = np.int64(0)  # no record of this part is more like the problem than that
    while True:
        if high > low and (count < wanted or bound <= unlike[count - 1]):
            middle = (low + high) // 2
            if high - low <= _LEAF:
                for i in range(low, high):
                    count = _offer(world, records, to_s, to_goal, i, wanted, found, unlike, count)
            else:
                count = _offer(world, records, to_s, to_goal, middle, wanted, found, unlike, count)
                axis = depth & 3
                split = locate(world, np.int64(records.starts[middle] if axis < 2 else records.ends[middle]))
                mine = here if axis < 2 else there
                gap = mine[0] - split[0] if axis & 1 == 0 else mine[1] - split[1]
                # The far side waits, with what the gap says about it.
                far = max(bound, abs(gap) * to_s[2])
                stack[height, 0] = middle + 1 if gap < 0 else low
                stack[height, 1] = high if gap < 0 else middle
                stack[height, 2] = depth + 1
                stack[height, 3] = far
                height += 1
                if gap < 0:
                    high = middle
                else:
                    low = middle + 1
                depth += 1
                continue
        if height == 0:
            return count
        height -= 1
        low = stack[height, 0]
        high = stack[height, 1]
        depth = stack[height, 2]
        bound = stack[height, 3]


@inlined
def _offer(world, records, to_s, to_goal, i, wanted, found, unlike, count):
    """Keep record ``i`` if it is among the most similar so far."""
    value = _unlike(world, to_s, to_goal, np.int64(records.starts[i]), np.int64(records.ends[i]))
    return insert(value, i, wanted, found, unlike, count)


@inlined
def insert(value, i, wanted, found, unlike, count):
    """Put ``i`` where it belongs among the ``wanted`` with the least values; returns how many there are now."""
    # Among equals the lower number comes first, so that the order of looking does not matter.
    if count == wanted and (value > unlike[count - 1] or (value == unlike[count - 1] and i > found[count - 1])):
        return count
    k = count if count < wanted else count - 1
    while k > 0 and (value < unlike[k - 1] or (value == unlike[k - 1] and i < found[k - 1])):
        unlike[k] = unlike[k - 1]
        found[k] = found[k - 1]
        k -= 1
    unlike[k] = value
    found[k] = i
    return min(count + 1, wanted)
