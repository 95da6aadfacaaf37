"""Clique abstraction: states that all neighbour each other become one abstract state.

Sturtevant and Buro 2005, as Bulitko et al. 2008 use it. Per level: first 4-cliques, on a grid those of aligned 2 x 2
blocks before others; then 3-cliques; then pairs; each in the order of the states. A state that is left over joins its
neighbour's clique if it has only one neighbour, and otherwise stays alone.

The plain version is ``cliques`` in ``tests/naive/cliques.py``.
"""

from __future__ import annotations

import numpy as np

from .jit import generic, inlined, kernel
from .views import GraphView, GridView, TerrainView, degree, successor

__all__ = ["gather", "join_cliques"]


@kernel
def join_cliques(world, usable, parent, near, made):
    """Give every usable state its clique's number in ``parent``, which holds -1 at first.

    ``near`` has room for as many states as any has neighbours, ``made[0]`` is how many cliques there are.
    """
    join_blocks(world, usable, parent, made)
    for size in (4, 3, 2):
        for s in range(parent.shape[0]):
            if usable[s] and parent[s] < 0:
                _join(world, parent, near, made, s, size)
    for s in range(parent.shape[0]):
        if usable[s] and parent[s] < 0:
            found = _neighbours(world, s, near)
            if found == 1 and parent[near[0]] >= 0:
                parent[s] = parent[near[0]]
            else:
                parent[s] = made[0]
                made[0] += 1


@generic
def join_blocks(world, usable, parent, made):
    """The cliques that come before all others: on a grid, 2 x 2 blocks that begin in even rows and columns."""


@join_blocks.on(GraphView)
def _no_blocks(world, usable, parent, made):
    return


@join_blocks.on(GridView, TerrainView)
def _join_blocks(world, usable, parent, made):
    width = world.width
    for row in range(1, parent.shape[0] // width - 2, 2):
        for col in range(1, width - 2, 2):
            s = row * width + col
            free = usable[s] and usable[s + 1] and usable[s + width] and usable[s + width + 1]
            if free and _adjacent(world, s, s + width + 1) and _adjacent(world, s + 1, s + width):
                for t in (s, s + 1, s + width, s + width + 1):
                    parent[t] = made[0]
                made[0] += 1


@inlined
def _adjacent(world, s, t):
    for i in range(degree(world, s)):
        u, c = successor(world, s, i)
        if c >= 0 and u == t:
            return True
    return False


@inlined
def _neighbours(world, s, near):
    """The neighbours of a state, written to ``near``; how many there are."""
    found = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            near[found] = t
            found += 1
    return found


@inlined
def _join(world, parent, near, made, s, size):
    """A clique of ``size`` with ``s``, of states that are in none yet, if there is one: the first in their order."""
    found = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and parent[t] < 0:
            near[found] = t
            found += 1
    for i in range(found):
        if size == 2:
            parent[s] = made[0]
            parent[near[i]] = made[0]
            made[0] += 1
            return
        for j in range(i + 1, found):
            if not _adjacent(world, near[i], near[j]):
                continue
            if size == 3:
                parent[s] = made[0]
                parent[near[i]] = made[0]
                parent[near[j]] = made[0]
                made[0] += 1
                return
            for k in range(j + 1, found):
                if _adjacent(world, near[i], near[k]) and _adjacent(world, near[j], near[k]):
                    parent[s] = made[0]
                    parent[near[i]] = made[0]
                    parent[near[j]] = made[0]
                    parent[near[k]] = made[0]
                    made[0] += 1
                    return


@kernel
def gather(world, parent, source, target):
    """The arcs that lead from one clique to another, each as its two cliques; how many there are.

    Writes as many as there is room for, so that a first call without room tells how much is needed.
    """
    found = np.int64(0)
    for s in range(parent.shape[0]):
        if parent[s] < 0:
            continue
        for i in range(degree(world, s)):
            t, c = successor(world, s, i)
            if c >= 0 and parent[t] != parent[s]:
                if found < source.shape[0]:
                    source[found] = parent[s]
                    target[found] = parent[t]
                found += 1
    return found
