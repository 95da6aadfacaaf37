"""Worlds as kernels see them: NamedTuples of arrays, and the questions a search may ask of any of them.

A search is written once against the ``generic`` functions below. Numba specialises it for each view.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined, prefetch
from .layout import COLS, DIRECTIONS, INFINITE, ROWS

__all__ = [
    "GraphView",
    "GridView",
    "PuzzleView",
    "TerrainView",
    "aim",
    "arc",
    "cheapest",
    "cost_between",
    "degree",
    "edits",
    "estimate",
    "foresee_state",
    "horizon",
    "length",
    "locate",
    "moved",
    "one_goal",
    "successor",
    "waiting",
    "widest",
    "write_point",
]


class GridView(NamedTuple):
    """A grid on which every free cell costs the same. Cells are numbered row-major with a border of walls."""

    moves: np.ndarray  # uint8[cells]: bit d is set if direction d is legal; the corner rule is baked in
    width: int  # cells in a padded row
    inverse: float  # 1 / width: a multiplication finds the row faster than a division
    cardinal: int  # integer cost of a straight step
    diagonal: int  # integer cost of a diagonal step
    h_cardinal: int  # the heuristic's cost of a straight step
    h_diagonal: int  # and of a diagonal one; twice the straight one where diagonals are forbidden
    straight_length: float  # what a straight step costs the user
    diagonal_length: float  # what a diagonal step costs the user
    shift: int  # f >> shift is the bucket of a state in the open list
    edited: np.ndarray  # int64[2]: how many edits there have been, and whether others wait for the tick to end


class TerrainView(NamedTuple):
    """A grid with a cost per cell. A step costs its length times the mean of the two cells."""

    moves: np.ndarray
    width: int
    inverse: float
    weight: np.ndarray  # int32[cells]: half the integer cost of a straight step between two such cells
    cost: np.ndarray  # float64[cells]: the user's cost of the cell
    cardinal: int  # a diagonal step costs (weight + weight) * diagonal // cardinal
    diagonal: int
    bounds: np.ndarray  # int64[2]: least and greatest weight of any cell, now or before
    manhattan: int  # 1 where diagonals are forbidden
    diagonal_length: float
    shift: int
    edited: np.ndarray


class GraphView(NamedTuple):
    """A directed graph in compressed sparse rows, with one of several heuristics."""

    first: np.ndarray  # int64[n + 1]: the arcs of node s are first[s] .. first[s + 1] - 1
    head: np.ndarray  # int32[m]: where each arc leads
    cost: np.ndarray  # int64[m]: integer cost; negative while the arc is blocked
    length: np.ndarray  # float64[m]: the user's cost
    kind: int  # which heuristic: the constants below
    ratio: float  # integer cost per unit of distance, the largest that keeps the estimate below every arc
    position: np.ndarray  # float64[n, 3]: coordinates, padded with zeros
    distances: np.ndarray  # int64[k, n]: landmark distances (first half from, second half to), or one given vector
    octile: np.ndarray  # int64[2]: straight and diagonal cost of the octile estimate
    widest: int  # the largest number of arcs out of any node
    shift: int
    edited: np.ndarray


ZERO, EUCLIDEAN, GREAT_CIRCLE, OCTILE, VECTOR, LANDMARKS = range(6)


class PuzzleView(NamedTuple):
    """A sliding-tile puzzle. A state is sixteen four-bit tiles in one word, the first square lowest."""

    rows: int
    cols: int
    shift: int
    edited: np.ndarray


@generic
def degree(world, s):
    """How many successors ``s`` can have; some of them may not be legal."""


@generic
def widest(world):
    """The most successors that any state can have."""


@generic
def successor(world, s, i):
    """The i-th successor of ``s`` and the integer cost of the step, which is negative if the step is not legal."""


@generic
def arc(world, s, i):
    """As ``successor``, for a step already known to be legal."""


@generic
def locate(world, s):
    """Where ``s`` is, in whatever form makes ``estimate`` cheap."""


@generic
def moved(world, place, i):
    """Where the i-th successor of a state at ``place`` is."""


@generic
def foresee_state(world, s):
    """Tell the processor that successors of ``s`` will be asked for: a hint."""


@foresee_state.otherwise
def _foresee_nothing(world, s):
    pass


@generic
def aim(world, goal):
    """What ``estimate`` needs to know of the goal."""


@generic
def estimate(world, target, s, place):
    """The heuristic: an integer that does not exceed the integer cost from ``s`` to the goal."""


@generic
def length(world, s, t):
    """The user's cost of stepping from ``s`` to ``t``; negative if that is not a legal step now."""


@generic
def cost_between(world, s, t):
    """The integer cost of stepping from ``s`` to ``t``; negative if that is not a legal step now."""


@generic
def horizon(world):
    """The largest integer cost of any step, and by how much the estimate can rise on one."""


@generic
def write_point(world, points, k, s):
    """Write where ``s`` is, as Python names it, into row ``k``: a cell, a node's number, or a packed state."""


@generic
def one_goal(world):
    """Whether its estimates are all for one goal, so that there is another view for each."""


@one_goal.on(GraphView)
def _graph_one_goal(world):
    return world.kind == VECTOR


@one_goal.otherwise
def _any_goal(world):
    return False


@generic
def cheapest(world):
    """No step costs less than this integer, which is at least 1."""


@generic
def edits(world):
    """How often the world has been edited."""


@edits.on(GridView, TerrainView, GraphView, PuzzleView)
def _edits(world):
    return world.edited[0]


@generic
def waiting(world):
    """Whether another thread waits for the end of the tick to edit the world."""


@waiting.on(GridView, TerrainView, GraphView, PuzzleView)
def _waiting(world):
    return world.edited[1] != 0


@cost_between.on(GridView, TerrainView, GraphView, PuzzleView)
def _cost_between(world, s, t):
    for i in range(degree(world, s)):
        u, c = successor(world, s, i)
        if u == t and c >= 0:
            return c
    return -1


# --- grids -------------------------------------------------------------------------------------------------------


@degree.on(GridView, TerrainView)
def _grid_degree(world, s):
    return DIRECTIONS


@widest.on(GridView, TerrainView)
def _grid_widest(world):
    return DIRECTIONS


@foresee_state.on(GridView, TerrainView)
def _foresee_cell(world, s):
    prefetch(world.moves, s)


@locate.on(GridView, TerrainView)
def _grid_locate(world, s):
    # Half a cell keeps the product clear of the integers, so truncation gives the row exactly.
    row = np.int64((s + 0.5) * world.inverse)
    return row, s - row * world.width


@write_point.on(GridView, TerrainView)
def _grid_point(world, points, k, s):
    row, col = locate(world, s)
    points[at(k), 0] = row - 1
    points[at(k), 1] = col - 1


@moved.on(GridView, TerrainView)
def _grid_moved(world, place, i):
    return place[0] + ROWS[at(i)], place[1] + COLS[at(i)]


@aim.on(GridView)
def _grid_aim(world, goal):
    row, col = locate(world, goal)
    return row, col, world.h_cardinal, world.h_diagonal - world.h_cardinal


@aim.on(TerrainView)
def _terrain_aim(world, goal):
    # The cheapest cell anywhere bounds every step from below.
    row, col = locate(world, goal)
    straight = 2 * world.bounds[0]
    slanted = 2 * straight if world.manhattan else min(straight * world.diagonal // world.cardinal, 2 * straight)
    return row, col, straight, slanted - straight


@estimate.on(GridView, TerrainView)
def _octile(world, target, s, place):
    rows = abs(place[0] - target[0])
    cols = abs(place[1] - target[1])
    return target[2] * max(rows, cols) + target[3] * min(rows, cols)


@successor.on(GridView, TerrainView)
def _grid_successor(world, s, i):
    if (world.moves[at(s)] >> i) & 1:
        return arc(world, s, i)
    return s, -1


@arc.on(GridView)
def _grid_arc(world, s, i):
    t = s + ROWS[at(i)] * world.width + COLS[at(i)]
    return t, world.cardinal if i < 4 else world.diagonal


@arc.on(TerrainView)
def _terrain_arc(world, s, i):
    t = s + ROWS[at(i)] * world.width + COLS[at(i)]
    straight = np.int64(world.weight[at(s)]) + np.int64(world.weight[at(t)])
    return t, straight if i < 4 else straight * world.diagonal // world.cardinal


@length.on(GridView, TerrainView)
def _grid_length(world, s, t):
    for i in range(DIRECTIONS):
        if t == s + ROWS[i] * world.width + COLS[i]:
            if not (world.moves[s] >> i) & 1:
                return -1.0
            return step_length(world, s, t, i)
    return -1.0


@generic
def step_length(world, s, t, i):
    """The user's cost of a legal grid step in direction ``i``."""


@step_length.on(GridView)
def _plain_step_length(world, s, t, i):
    return world.straight_length if i < 4 else world.diagonal_length


@step_length.on(TerrainView)
def _terrain_step_length(world, s, t, i):
    mean = 0.5 * (world.cost[s] + world.cost[t])
    return mean if i < 4 else mean * world.diagonal_length


@horizon.on(GridView)
def _grid_horizon(world):
    return max(world.cardinal, world.diagonal)


@horizon.on(TerrainView)
def _terrain_horizon(world):
    straight = 2 * world.bounds[1]
    return max(straight, straight * world.diagonal // world.cardinal)


@cheapest.on(GridView)
def _grid_cheapest(world):
    return min(world.cardinal, world.diagonal)


@cheapest.on(TerrainView)
def _terrain_cheapest(world):
    # A diagonal step is at least as long as a straight one.
    return max(2 * world.bounds[0], 1)


# --- graphs ------------------------------------------------------------------------------------------------------


@degree.on(GraphView)
def _graph_degree(world, s):
    return world.first[at(s + 1)] - world.first[at(s)]


@widest.on(GraphView)
def _graph_widest(world):
    return world.widest


@locate.on(GraphView, PuzzleView)
def _no_place(world, s):
    return 0


@write_point.on(GraphView, PuzzleView)
def _number_point(world, points, k, s):
    points[at(k), 0] = s


@moved.on(GraphView, PuzzleView)
def _no_move(world, place, i):
    return 0


@aim.on(GraphView)
def _graph_aim(world, goal):
    return goal


@successor.on(GraphView)
def _graph_successor(world, s, i):
    k = at(world.first[at(s)] + i)
    return np.int64(world.head[k]), world.cost[k]


@arc.on(GraphView)
def _graph_arc(world, s, i):
    k = at(world.first[at(s)] + i)
    return np.int64(world.head[k]), world.cost[k]


@estimate.on(GraphView)
def _graph_estimate(world, target, s, place):
    if world.kind == ZERO:
        return 0
    if world.kind == VECTOR:
        return world.distances[0, s]
    if world.kind == LANDMARKS:
        best = np.int64(0)
        half = world.distances.shape[0] // 2
        for k in range(half):
            # The triangle inequality, once with the distances from the landmark, once with those to it.
            # A landmark that does not see both nodes says nothing.
            if world.distances[k, target] < INFINITE and world.distances[k, s] < INFINITE:
                best = max(best, world.distances[k, target] - world.distances[k, s])
            if world.distances[half + k, target] < INFINITE and world.distances[half + k, s] < INFINITE:
                best = max(best, world.distances[half + k, s] - world.distances[half + k, target])
        return best
    x = world.position[s, 0] - world.position[target, 0]
    y = world.position[s, 1] - world.position[target, 1]
    z = world.position[s, 2] - world.position[target, 2]
    if world.kind == OCTILE:
        rows = np.int64(abs(x))
        cols = np.int64(abs(y))
        return world.octile[0] * max(rows, cols) + (world.octile[1] - world.octile[0]) * min(rows, cols)
    chord = np.sqrt(x * x + y * y + z * z)
    if world.kind == GREAT_CIRCLE:
        # Positions are points of the unit sphere; the arc over a chord of it is 2 asin(chord / 2).
        chord = 2.0 * np.arcsin(min(0.5 * chord, 1.0))
    return np.int64(world.ratio * chord)


@length.on(GraphView)
def _graph_length(world, s, t):
    for k in range(world.first[s], world.first[s + 1]):
        if world.head[k] == t and world.cost[k] >= 0:
            return world.length[k]
    return -1.0


@cheapest.on(GraphView, PuzzleView)
def _unit_cheapest(world):
    return 1


@horizon.on(GraphView, PuzzleView)
def _unit_horizon(world):
    return 1


# --- the sliding-tile puzzle -------------------------------------------------------------------------------------


@degree.on(PuzzleView)
def _puzzle_degree(world, s):
    return 4


@widest.on(PuzzleView)
def _puzzle_widest(world):
    return 4


@aim.on(PuzzleView)
def _puzzle_aim(world, goal):
    # The square of every tile in the goal, packed like a state: tile -> square.
    where = np.int64(0)
    for square in range(world.rows * world.cols):
        where |= np.int64(square) << (4 * ((goal >> (4 * square)) & 15))
    return where


@estimate.on(PuzzleView)
def _puzzle_manhattan(world, target, s, place):
    total = 0
    for row in range(world.rows):
        for col in range(world.cols):
            tile = s & 15
            s >>= 4
            if tile:
                there = (target >> (4 * tile)) & 15
                total += abs(row - there // world.cols) + abs(col - there % world.cols)
    return total


@inlined
def _blank(s, squares):
    for square in range(squares):
        if not (s >> (4 * square)) & 15:
            return square
    return 0


@successor.on(PuzzleView)
def _puzzle_successor(world, s, i):
    blank = _blank(s, world.rows * world.cols)
    row = blank // world.cols + ROWS[i]
    col = blank % world.cols + COLS[i]
    if row < 0 or col < 0 or row >= world.rows or col >= world.cols:
        return s, -1
    square = row * world.cols + col
    tile = (s >> (4 * square)) & 15
    # The blank is tile 0, so flipping the tile's bits in both squares swaps the two.
    return s ^ (tile << (4 * square)) ^ (tile << (4 * blank)), 1


@arc.on(PuzzleView)
def _puzzle_arc(world, s, i):
    return successor(world, s, i)


@length.on(PuzzleView)
def _puzzle_length(world, s, t):
    for i in range(4):
        u, c = successor(world, s, i)
        if c > 0 and u == t:
            return 1.0
    return -1.0
