"""Kernels for graphs only: distances from one node to all, for landmarks; and the log of edits."""

from __future__ import annotations

import numpy as np

from .edits import NODE_SHIFT, log_change
from .jit import kernel
from .layout import INFINITE
from .queues import HeapQueue, clear, pop, push, settle

__all__ = ["distances_from", "log_edit"]


@kernel
def distances_from(graph, root, distances, keys, items):
    """Dijkstra's algorithm. ``distances`` comes filled with INFINITE; the heap has room for every arc."""
    queue = HeapQueue(keys, items, distances)
    cursor = push(queue, clear(queue), np.int64(0), root)
    distances[root] = 0
    while True:
        cursor = settle(queue, cursor)
        key = cursor[0]
        if key == INFINITE:
            return
        s, cursor = pop(queue, cursor)
        if key > distances[s]:
            continue
        for k in range(graph.first[s], graph.first[s + 1]):
            t = graph.head[k]
            if graph.cost[k] >= 0 and key + graph.cost[k] < distances[t]:
                distances[t] = key + graph.cost[k]
                cursor = push(queue, cursor, distances[t], np.int64(t))


@kernel
def log_edit(log, source, number, cheaper):
    """Log a change of the arc out of ``source`` with this number."""
    log_change(log, (source << NODE_SHIFT) | (number << 1) | cheaper)
