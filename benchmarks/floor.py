"""The floor: a flood fill in the style of the search kernels, with nothing to search for.

It visits every cell of a component once, through the same legal-moves bytes, with a stamp per cell and a plain array
as its queue: no costs, no order, no parents, no heuristic. What a search costs above this is the search's own.
"""

from __future__ import annotations

import time

import numpy as np

import timebound as tb
from timebound.kernels.jit import kernel


@kernel
def flood(moves, width, start, seen, stamp, queue):
    """Visit everything reachable from ``start``; returns how many cells that is."""
    first = 0
    last = 1
    queue[0] = start
    seen[start] = stamp
    while first < last:
        cell = np.int64(queue[first])
        first += 1
        byte = moves[cell]
        for i in range(8):
            if (byte >> i) & 1:
                if i == 0:
                    near = cell - width
                elif i == 1:
                    near = cell + 1
                elif i == 2:
                    near = cell + width
                elif i == 3:
                    near = cell - 1
                elif i == 4:
                    near = cell - width + 1
                elif i == 5:
                    near = cell - width - 1
                elif i == 6:
                    near = cell + width + 1
                else:
                    near = cell + width - 1
                if seen[near] != stamp:
                    seen[near] = stamp
                    queue[last] = near
                    last += 1
    return last


class Floor:
    """Flood fills of one grid, timed."""

    def __init__(self, world: tb.Grid) -> None:
        self._world = world
        self._seen = np.zeros(world.states, np.uint16)
        self._queue = np.empty(world.states, np.int32)
        self._stamp = 0

    def nanoseconds_per_cell(self, start: tuple[int, int]) -> float:
        """One flood from ``start``."""
        self._stamp += 1
        state = self._world.state_of(start)
        before = time.perf_counter()
        cells = flood(self._world.view.moves, self._world.view.width, state, self._seen, self._stamp, self._queue)
        return (time.perf_counter() - before) / cells * 1e9
