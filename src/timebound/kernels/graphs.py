"""Kernels for graphs only: distances from one node to all, for landmarks; and the log of edits."""

from __future__ import annotations

import numpy as np

from .edits import NODE_SHIFT, log_change
from .jit import kernel, now_ns
from .layout import INFINITE
from .queues import HeapQueue, clear, pop, push, resume, settle, suspend
from .ticks import rest, stride, tired

__all__ = ["distances_from", "log_edit"]


@kernel
def distances_from(graph, root, distances, keys, items, saved, clock):
    """Dijkstra's algorithm. ``distances`` comes filled with INFINITE; the heap has room for every arc.

    Returns False if it is to be called again; ``saved`` then holds the queue's cursor.
    """
    queue = HeapQueue(keys, items, saved)
    cursor = resume(queue)
    if distances[root] == INFINITE:
        cursor = push(queue, clear(queue), np.int64(0), root)
        distances[root] = 0
    rest(clock, now_ns(clock))
    left = stride(clock)
    while True:
        if left == 0:
            left = stride(clock)
            if tired(clock):
                suspend(queue, cursor)
                return False
        left -= 1
        cursor = settle(queue, cursor)
        key = cursor[0]
        if key == INFINITE:
            return True
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
