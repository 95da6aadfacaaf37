"""Worlds as a textbook has them: a function from a state to its successors, and an estimate.

States are what a user sees: (row, col), a node's number, a tuple of tiles. Costs are the documented integers, because
ties decide the order of a search: a straight step is 13860, a diagonal one 19601. Nothing is imported from the
library, so a mistake in its constants or its successor order cannot hide here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

CARDINAL = 13860
DIAGONAL = 19601
G_BITS = 42

# North, east, south, west, then the diagonals: north-east, north-west, south-east, south-west.
DIRECTIONS = [(-1, 0), (0, 1), (1, 0), (0, -1), (-1, 1), (-1, -1), (1, 1), (1, -1)]


class Step(NamedTuple):
    """One way out of a state."""

    target: Any
    cost: int  # in the library's integers
    length: float  # in the user's units


class NaiveGrid:
    """A grid from nested rows: a cell is free if it is finite and not 0; costs other than 1 make it terrain."""

    def __init__(
        self,
        cells: Sequence[Sequence[float]],
        connectivity: int = 8,
        corners: str = "never",
        diagonal: float = math.sqrt(2),
    ) -> None:
        self.cells = [[float(value) for value in row] for row in cells]
        self.connectivity = connectivity
        self.corners = corners
        self.diagonal = diagonal
        self.slanted = DIAGONAL if diagonal == math.sqrt(2) else round(diagonal * CARDINAL)
        used = [value for row in self.cells for value in row if value and math.isfinite(value)]
        self.terrain = any(value != 1 for value in used)
        self.shift = 11
        if self.terrain:
            # Half a straight step per cell, so that the mean of two cells needs no division.
            unit = CARDINAL / 2 / min(used)
            self.weight = {point: round(self.at(point) * unit) for point in self.points()}
            self.least = min(self.weight.values())
            # Costs that spread this far get a heap, whose order is exact.
            self.shift = 11 if max(used) / min(used) <= 64 else 0

    def at(self, point: tuple[int, int]) -> float:
        return self.cells[point[0]][point[1]]

    def is_free(self, row: int, col: int) -> bool:
        inside = 0 <= row < len(self.cells) and 0 <= col < len(self.cells[0])
        return inside and self.cells[row][col] != 0 and math.isfinite(self.cells[row][col])

    def points(self) -> list[tuple[int, int]]:
        """Every free cell in reading order."""
        return [(r, c) for r in range(len(self.cells)) for c in range(len(self.cells[0])) if self.is_free(r, c)]

    def may_step(self, row: int, col: int, down: int, right: int) -> bool:
        if not self.is_free(row + down, col + right):
            return False
        if not (down and right):
            return True
        if self.connectivity == 4:
            return False
        beside = self.is_free(row + down, col) + self.is_free(row, col + right)
        return beside >= {"never": 2, "one": 1, "always": 0}[self.corners]

    def successors(self, state: tuple[int, int]) -> list[Step]:
        row, col = state
        steps = []
        if not self.is_free(row, col):
            return steps
        for down, right in DIRECTIONS:
            if not self.may_step(row, col, down, right):
                continue
            there = (row + down, col + right)
            slanted = bool(down and right)
            if self.terrain:
                cost = self.weight[state] + self.weight[there]
                cost = cost * self.slanted // CARDINAL if slanted else cost
                mean = (self.at(state) + self.at(there)) / 2
            else:
                cost = self.slanted if slanted else CARDINAL
                mean = 1.0
            steps.append(Step(there, cost, mean * self.diagonal if slanted else mean))
        return steps

    def estimate(self, state: tuple[int, int], goal: tuple[int, int]) -> int:
        """Octile distance at the price of the cheapest cell; Manhattan where diagonals do not help."""
        straight = 2 * self.least if self.terrain else CARDINAL
        if self.connectivity == 4:
            slanted = 2 * straight
        else:
            slanted = min(straight * self.slanted // CARDINAL if self.terrain else self.slanted, 2 * straight)
        rows, cols = abs(state[0] - goal[0]), abs(state[1] - goal[1])
        return straight * max(rows, cols) + (slanted - straight) * min(rows, cols)


class NaiveGraph:
    """A graph from (source, target, cost) arcs, without an estimate."""

    shift = 0

    def __init__(self, nodes: int, arcs: Sequence[tuple[int, int, float]], directed: bool = True) -> None:
        if not directed:
            arcs = [*arcs, *((target, source, cost) for source, target, cost in arcs)]
        # Of parallel arcs the first of the cheapest stays, in its place; loops go.
        cheapest: dict[tuple[int, int], int] = {}
        for k, (source, target, cost) in enumerate(arcs):
            best = cheapest.get((source, target))
            if best is None or cost < arcs[best][2]:
                cheapest[source, target] = k
        kept = [arcs[k] for k in sorted(cheapest.values()) if arcs[k][0] != arcs[k][1]]
        costs = [cost for _, _, cost in kept]
        self.scale = self._scale(nodes, costs) if costs else 1.0
        self.arcs: dict[Hashable, list[Step]] = {node: [] for node in range(nodes)}
        for source, target, cost in kept:
            whole = max(1, math.ceil(cost * self.scale - 1e-9))
            self.arcs[source].append(Step(target, whole, cost))

    @staticmethod
    def _scale(nodes: int, costs: list[float]) -> float:
        room = ((1 << G_BITS) - 1) / nodes / max(costs)
        if room >= 1 and all(cost == round(cost) for cost in costs):
            return 1.0
        return 2.0 ** math.floor(math.log2(min(room, 2**31 / max(costs))))

    def points(self) -> list[int]:
        return list(self.arcs)

    def successors(self, state: int) -> list[Step]:
        return self.arcs[state]

    def estimate(self, state: int, goal: int) -> int:
        return 0


class NaivePuzzle:
    """A sliding-tile puzzle; a state is a tuple in reading order, 0 the blank."""

    shift = 0

    def __init__(self, rows: int, cols: int) -> None:
        self.rows = rows
        self.cols = cols

    def successors(self, state: tuple[int, ...]) -> list[Step]:
        blank = state.index(0)
        row, col = divmod(blank, self.cols)
        steps = []
        for down, right in DIRECTIONS[:4]:
            if 0 <= row + down < self.rows and 0 <= col + right < self.cols:
                square = (row + down) * self.cols + col + right
                board = list(state)
                board[blank], board[square] = board[square], 0
                steps.append(Step(tuple(board), 1, 1.0))
        return steps

    def estimate(self, state: tuple[int, ...], goal: tuple[int, ...]) -> int:
        total = 0
        for square, tile in enumerate(state):
            if tile:
                there = goal.index(tile)
                total += abs(square // self.cols - there // self.cols) + abs(square % self.cols - there % self.cols)
        return total


def path_length(world: Any, path: Sequence[Any]) -> float:
    """The user's cost of a path, or an error at a step that is none."""
    lengths = []
    for here, there in itertools.pairwise(path):
        lengths += [step.length for step in world.successors(here) if step.target == there][:1] or [math.nan]
    return math.fsum(lengths)


def reachable(world: Any, start: Any) -> set[Any]:
    """Every state that can be reached, the start included."""
    seen = {start}
    stack = [start]
    while stack:
        for step in world.successors(stack.pop()):
            if step.target not in seen:
                seen.add(step.target)
                stack.append(step.target)
    return seen
