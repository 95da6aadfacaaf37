"""Shortest paths off-line: from one state to all others by Dijkstra's algorithm, or to one of them by A*."""

from __future__ import annotations

from typing import Any

from .best_first import SEARCH, advance, begin, cost_so_far, parent
from .jit import inlined, kernel, now_ns
from .layout import COUNTS, FOUND, GROW, INFINITE, PAUSED, STAMP_SHIFT, WEIGHT_ONE
from .tables import intern, state_of, word_of
from .ticks import Tick, new_clock, rest
from .views import cost_between
from .workspace import Workspace, new_record

__all__ = ["count_non_optimal", "distances", "optimal_path", "tree_from", "tree_path"]


def tree_from(view: Any, workspace: Workspace, root: int) -> Any:
    """Optimal paths from ``root`` to everything it reaches, left in the workspace; returns the SEARCH record."""
    search, counts, clock = new_record(SEARCH), new_record(COUNTS), new_clock()
    search["g_weight"], search["reopen"] = WEIGHT_ONE, 1
    while True:
        status = _grow_tree(view, workspace.table, workspace.queue, search, counts, root, clock)
        if status == GROW:
            workspace.enlarge()
        elif status != PAUSED:  # after a pause: an interrupt may come in between
            return search


@kernel
def _grow_tree(world, table, queue, search, counts, root, clock):
    """Dijkstra's algorithm. After GROW and PAUSED it is to be called again."""
    rest(clock, now_ns(clock))
    if not search[0].paused:
        if begin(world, table, queue, search[0], counts[0], root, root) == GROW:
            return GROW
        search[0].goal = -1  # no such state: the search ends only when it has seen all
    return advance(world, table, queue, search[0], counts[0], Tick(INFINITE, 0, clock))


@kernel
def tree_path(world, table, search, s, path):
    """The path of a tree from its root to ``s``, written to the end of ``path``; its length, -2: needs room."""
    return _trace(world, table, search[0], intern(table, s), path)


@kernel
def distances(table, search, costs):
    """What the way from the root of a tree to each state costs; INFINITE where there is none."""
    seen_from = (search[0].top >> STAMP_SHIFT) << STAMP_SHIFT  # the least word of this search
    for s in range(costs.shape[0]):
        costs[s] = cost_so_far(table, search[0], intern(table, s)) if word_of(table, s) >= seen_from else INFINITE


@kernel
def count_non_optimal(world, table, search, trail):
    """How many moves of the trail lie on no optimal path to the root of a tree, by the distances from it."""
    wrong = 0
    for k in range(trail.shape[0] - 1):
        s = trail[k]
        t = trail[k + 1]
        here = cost_so_far(table, search[0], intern(table, s))
        wrong += here != cost_between(world, s, t) + cost_so_far(table, search[0], intern(table, t))
    return wrong


@kernel
def optimal_path(world, table, queue, search, counts, start, goal, path, clock):
    """A* and its path, written to the end of ``path``. Returns the length, or 0 if there is none.

    -1 if the search needs room, -2 if the path does, -3 if it takes long; it is then to be called again.
    """
    rest(clock, now_ns(clock))
    if not search[0].paused and begin(world, table, queue, search[0], counts[0], start, goal) == GROW:
        return -1
    status = advance(world, table, queue, search[0], counts[0], Tick(INFINITE, 0, clock))
    if status in (GROW, PAUSED):
        return -1 if status == GROW else -3
    if status != FOUND:
        return 0
    return _trace(world, table, search[0], search[0].goal_slot, path)


@inlined
def _trace(world, table, search, slot, path):
    size = path.shape[0]
    length = 0
    while True:
        if length == size:
            return -2
        length += 1
        path[size - length] = state_of(table, slot)
        if slot == search.root:
            return length
        slot = parent(world, table, search, slot)
