"""Editing a grid in place: each edit rewrites the nine legal-moves bytes it touches and logs the arcs that changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import inlined, kernel
from .layout import COLS, ROWS

__all__ = ["DEARER", "LogView", "label_components", "legal_moves", "log_arc", "set_free", "set_weight"]

DEARER = 1
CHEAPER = -1

# How a diagonal step depends on the two cells beside it.
CORNERS_NEVER, CORNERS_ONE, CORNERS_ALWAYS = range(3)


class LogView(NamedTuple):
    """A ring of changed arcs. Readers remember ``total``; one that has fallen a whole ring behind must start over."""

    source: np.ndarray  # int64[ring]
    target: np.ndarray  # int64[ring]
    sign: np.ndarray  # int8[ring]: DEARER or CHEAPER
    total: np.ndarray  # int64[1]: arcs logged since the beginning


@inlined
def log_arc(log, source, target, sign):
    """Append one changed arc."""
    k = log.total[0] % log.source.shape[0]
    log.source[k] = source
    log.target[k] = target
    log.sign[k] = sign
    log.total[0] += 1


@inlined
def _legal_byte(free, width, cell, directions, corners):
    if not free[cell]:
        return 0
    byte = 0
    for i in range(directions):
        if free[cell + ROWS[i] * width + COLS[i]]:
            if i >= 4:
                beside = free[cell + ROWS[i] * width] + free[cell + COLS[i]]
                if (corners == CORNERS_NEVER and beside < 2) or (corners == CORNERS_ONE and beside < 1):
                    continue
            byte |= 1 << i
    return byte


@kernel
def legal_moves(free, moves, width, directions, corners):
    """Write every legal-moves byte. ``free`` is 0 or 1 per padded cell."""
    for row in range(1, free.shape[0] // width - 1):
        for col in range(1, width - 1):
            cell = row * width + col
            moves[cell] = _legal_byte(free, width, cell, directions, corners)


@kernel
def set_free(free, moves, width, directions, corners, cells, value, log):
    """Make cells free (1) or blocked (0). Returns how many of them changed."""
    changed = 0
    for k in range(cells.shape[0]):
        cell = cells[k]
        if free[cell] == value:
            continue
        free[cell] = value
        changed += 1
        for j in range(9):
            near = cell + (j // 3 - 1) * width + j % 3 - 1
            byte = _legal_byte(free, width, near, directions, corners)
            differs = byte ^ moves[near]
            moves[near] = byte
            for i in range(directions):
                if (differs >> i) & 1:
                    sign = CHEAPER if (byte >> i) & 1 else DEARER
                    log_arc(log, near, near + ROWS[i] * width + COLS[i], sign)
    return changed


@kernel
def set_weight(moves, width, weight, cost, bounds, cells, weights, costs, log):
    """Give cells new terrain costs. Returns how many of them changed."""
    changed = 0
    for k in range(cells.shape[0]):
        cell = cells[k]
        if cost[cell] == costs[k]:
            continue
        sign = DEARER if costs[k] > cost[cell] else CHEAPER
        weight[cell] = weights[k]
        cost[cell] = costs[k]
        changed += 1
        bounds[0] = min(bounds[0], weights[k])
        bounds[1] = max(bounds[1], weights[k])
        for i in range(8):
            if (moves[cell] >> i) & 1:
                near = cell + ROWS[i] * width + COLS[i]
                log_arc(log, cell, near, sign)
                log_arc(log, near, cell, sign)
    return changed


@kernel
def label_components(moves, free, width, labels, stack):
    """Number the connected parts of a grid from 1; 0 for walls. Returns how many there are."""
    parts = 0
    for seed in range(free.shape[0]):
        if not free[seed] or labels[seed]:
            continue
        parts += 1
        labels[seed] = parts
        stack[0] = seed
        height = 1
        while height > 0:
            height -= 1
            cell = np.int64(stack[height])
            for i in range(8):
                if (moves[cell] >> i) & 1:
                    near = cell + ROWS[i] * width + COLS[i]
                    if not labels[near]:
                        labels[near] = parts
                        stack[height] = near
                        height += 1
    return parts
