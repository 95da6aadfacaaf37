"""Editing a grid in place: each edit rewrites the nine legal-moves bytes it touches and logs the arcs that changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import generic, inlined, kernel, now_ns
from .layout import COLS, INFINITE, ROWS
from .ticks import rest, stride, tired
from .views import VECTOR, GraphView, GridView, PuzzleView, TerrainView, estimate, horizon, locate, successor

__all__ = [
    "BESIDE_SHIFT",
    "CELL_SHIFT",
    "LEAVING_SHIFT",
    "NODE_SHIFT",
    "LogView",
    "arcs_in",
    "changed_arc",
    "dearest_now",
    "label_components",
    "legal_moves",
    "log_change",
    "log_edit",
    "set_free",
    "set_weight",
    "through",
]

# An entry of the log. On a grid it stands for one edited cell, lowest bit first: 1 if its arcs became cheaper, 0 if
# dearer; four pairs of diagonal arcs that pass beside the cell; eight directions, each an arc from and one to the
# cell; the cell. On a graph: the sign, the number of an arc out of a node, the node.
BESIDE_SHIFT = 1
LEAVING_SHIFT = 5
CELL_SHIFT = 13
NODE_SHIFT = 32
# The pairs: from the cell north or south of the edited one, in this direction, to the cell east or west of it.
BESIDE_FROM = np.array([0, 0, 2, 2], dtype=np.int64)
BESIDE_STEP = np.array([6, 7, 4, 5], dtype=np.int64)
OPPOSITE = np.array([2, 3, 0, 1, 7, 6, 5, 4], dtype=np.int64)

# How a diagonal step depends on the two cells beside it.
CORNERS_NEVER, CORNERS_ONE, CORNERS_ALWAYS = range(3)


class LogView(NamedTuple):
    """A ring of edits. Readers remember ``total``; one that has fallen a whole ring behind must start over."""

    entries: np.ndarray  # int64[ring]
    total: np.ndarray  # int64[1]: entries since the beginning


@inlined
def log_change(log, entry):
    """Append one entry."""
    log.entries[log.total[0] % log.entries.shape[0]] = entry
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
def legal_moves(free, moves, width, directions, corners, first, last):
    """Write the legal-moves bytes of rows from ``first`` to before ``last``. ``free`` is 0 or 1 per padded cell."""
    for row in range(max(first, 1), min(last, free.shape[0] // width - 1)):
        for col in range(1, width - 1):
            cell = row * width + col
            moves[cell] = _legal_byte(free, width, cell, directions, corners)


@inlined
def _set_move(moves, cell, i, value):
    if value:
        moves[cell] |= 1 << i
    else:
        moves[cell] &= 255 ^ (1 << i)


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
        leaving = np.int64(moves[cell])
        moves[cell] = _legal_byte(free, width, cell, directions, corners)
        leaving |= moves[cell]
        # Steps into the cell are legal exactly where those out of it are.
        for i in range(directions):
            if (leaving >> i) & 1:
                _set_move(moves, cell + ROWS[i] * width + COLS[i], OPPOSITE[i], value)
        beside = 0
        for pair in range(4 if directions == 8 and corners != CORNERS_ALWAYS else 0):
            start = cell + ROWS[BESIDE_FROM[pair]] * width
            i = BESIDE_STEP[pair]
            end = start + ROWS[i] * width + COLS[i]
            past = value + free[start + COLS[i]]  # the cell itself, and the one on the other side of the step
            legal = free[start] and free[end] and past >= (2 if corners == CORNERS_NEVER else 1)
            if legal != (moves[start] >> i) & 1:
                beside |= 1 << pair
                _set_move(moves, start, i, value)
                _set_move(moves, end, OPPOSITE[i], value)
        log_change(log, (cell << CELL_SHIFT) | (leaving << LEAVING_SHIFT) | (beside << BESIDE_SHIFT) | value)
    return changed


@kernel
def set_weight(moves, width, weight, cost, bounds, cells, weights, costs, log):
    """Give cells new terrain costs. Returns how many of them changed."""
    changed = 0
    for k in range(cells.shape[0]):
        cell = cells[k]
        if cost[cell] == costs[k]:
            continue
        cheaper = costs[k] < cost[cell]
        weight[cell] = weights[k]
        cost[cell] = costs[k]
        changed += 1
        bounds[0] = min(bounds[0], weights[k])
        bounds[1] = max(bounds[1], weights[k])
        if moves[cell]:
            log_change(log, (cell << CELL_SHIFT) | (np.int64(moves[cell]) << LEAVING_SHIFT) | np.int64(cheaper))
    return changed


@generic
def arcs_in(world):
    """How many arcs, each with its reverse if that is logged by the same entry, an entry of the log may speak of."""


@generic
def changed_arc(world, entry, k):
    """The k-th arc that an entry may speak of: from, to, and its cost now (negative if blocked); from is -1 if none."""


@arcs_in.on(GridView, TerrainView)
def _grid_arcs_in(world):
    return 12


@arcs_in.on(GraphView)
def _graph_arcs_in(world):
    return 1


@changed_arc.on(GridView, TerrainView)
def _grid_changed_arc(world, entry, k):
    if not (entry >> (LEAVING_SHIFT + k if k < 8 else BESIDE_SHIFT + k - 8)) & 1:
        return np.int64(-1), np.int64(-1), np.int64(-1)
    u = entry >> CELL_SHIFT
    step = k
    if k >= 8:
        u += ROWS[BESIDE_FROM[k - 8]] * world.width
        step = BESIDE_STEP[k - 8]
    _, c = successor(world, u, step)
    return u, u + ROWS[step] * world.width + COLS[step], np.int64(c)


@changed_arc.on(GraphView)
def _graph_changed_arc(world, entry, k):
    u = entry >> NODE_SHIFT
    v, c = successor(world, u, (entry & 0xFFFFFFFF) >> 1)
    return u, v, c


@generic
def through(world, entry, to_s, to_goal, bound):
    """A lower bound on any way from ``s`` to the goal through an arc that an entry of the log says became cheaper.

    Exact as far as the heuristic goes (the c' of lazy restarting) where it is below ``bound``; INFINITE if no such
    arc can be used now. ``to_s`` and ``to_goal`` come from ``aim``.
    """


@through.on(GridView, TerrainView)
def _grid_through(world, entry, to_s, to_goal, bound):
    if not entry & 1:
        return INFINITE
    cell = entry >> CELL_SHIFT
    place = locate(world, cell)
    # An arc beside the cell begins and ends one straight step from it, no arc nearer to s or to the goal than that.
    rough = estimate(world, to_s, cell, place) + estimate(world, to_goal, cell, place) - 2 * to_s[2]
    if rough >= bound:
        return rough
    best = np.int64(INFINITE)
    for k in range(arcs_in(world)):
        u, v, c = changed_arc(world, entry, k)
        if u >= 0 and c >= 0:
            here = locate(world, u)
            there = locate(world, v)
            best = min(best, estimate(world, to_s, u, here) + c + estimate(world, to_goal, v, there))
            best = min(best, estimate(world, to_s, v, there) + c + estimate(world, to_goal, u, here))
    return best


@through.on(GraphView)
def _graph_through(world, entry, to_s, to_goal, bound):
    if not entry & 1:
        return INFINITE
    u = entry >> NODE_SHIFT
    v, c = successor(world, u, (entry & 0xFFFFFFFF) >> 1)
    if c < 0:
        return INFINITE
    # Estimates given as a vector are for the goal alone.
    known = 0 if world.kind == VECTOR else estimate(world, u, to_s, 0)
    return known + c + estimate(world, to_goal, v, 0)


@through.on(PuzzleView)
def _puzzle_through(world, entry, to_s, to_goal, bound):
    return INFINITE  # a puzzle does not change


@generic
def dearest_now(world, entry):
    """No arc that an entry of the log speaks of costs more than this now."""


@dearest_now.on(GridView, TerrainView)
def _grid_dearest(world, entry):
    return horizon(world)


@dearest_now.on(GraphView)
def _graph_dearest(world, entry):
    _, c = successor(world, entry >> NODE_SHIFT, (entry & 0xFFFFFFFF) >> 1)
    return c


@dearest_now.on(PuzzleView)
def _puzzle_dearest(world, entry):
    return 0


@kernel
def log_edit(log, source, number, cheaper):
    """Log a change of a graph's arc out of ``source`` with this number."""
    log_change(log, (source << NODE_SHIFT) | (number << 1) | cheaper)


@kernel
def label_components(moves, free, width, labels, stack, progress, clock):
    """Number the connected parts of a grid from 1; 0 for walls. Returns False if it is to be called again.

    ``progress``, three numbers, all 0 at first: how many parts there are, the cell looked at, the height of the stack.
    """
    rest(clock, now_ns(clock))
    parts, seed, height = progress[0], progress[1], progress[2]
    left = 16 * stride(clock)
    while seed < free.shape[0]:
        if height == 0 and free[seed] and not labels[seed]:
            parts += 1
            labels[seed] = parts
            stack[0] = seed
            height = 1
        while height > 0:
            if left == 0:
                left = 16 * stride(clock)
                if tired(clock):
                    progress[0], progress[1], progress[2] = parts, seed, height
                    return False
            left -= 1
            height -= 1
            cell = np.int64(stack[height])
            for i in range(8):
                if (moves[cell] >> i) & 1:
                    near = cell + ROWS[i] * width + COLS[i]
                    if not labels[near]:
                        labels[near] = parts
                        stack[height] = near
                        height += 1
        seed += 1
    progress[0], progress[1], progress[2] = parts, seed, 0
    return True
