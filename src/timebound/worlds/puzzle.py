"""The sliding-tile puzzle: a world that is not a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError, WorldError
from ..kernels.views import PuzzleView
from ..kernels.workspace import Pool
from ..text import shown
from .changes import ChangeLog, SavedWorld

__all__ = ["TilePuzzle"]


class TilePuzzle(SavedWorld):
    """A board of tiles with one blank (0); a move slides a neighbouring tile into it, at cost 1.

    States are tuples in reading order. The heuristic is the sum of the tiles' Manhattan distances.

    >>> import timebound as tb
    >>> world = tb.TilePuzzle(3, 3)
    >>> tb.solve(world, (1, 2, 0, 3, 4, 5, 6, 7, 8), world.solved, "a*").cost
    2.0
    """

    table = "hashed"
    buckets = True
    undirected = True
    goal_views = False
    unit = 1.0  # what a cost of 1 is in the integers that searches count in

    def __init__(self, rows: int = 4, cols: int = 4) -> None:
        if not (isinstance(rows, int) and isinstance(cols, int)) or rows < 1 or cols < 1 or not 2 <= rows * cols <= 16:
            raise WorldError(f"a tile puzzle has from 2 to 16 squares, not {shown(rows)} x {shown(cols)}")
        self.shape = (rows, cols)
        self.states = 1 << 14  # room to begin with; tables grow as states are met
        self.spare = Pool()
        self.changes = ChangeLog(_no_arcs, self)
        self.view = PuzzleView(rows, cols, 0, self.changes.edited)

    @property
    def solved(self) -> tuple[int, ...]:
        """The blank first, then the tiles in order."""
        return tuple(range(self.shape[0] * self.shape[1]))

    @property
    def digest(self) -> str:
        """The size says it all."""
        return f"tiles-{self.shape[0]}x{self.shape[1]}"

    @property
    def nbytes(self) -> int:
        """A puzzle is its rules: it has no arrays."""
        return 0

    def __repr__(self) -> str:
        return f"<TilePuzzle {self.shape[0]} x {self.shape[1]}>"

    def state_of(self, point: Any, what: str = "state") -> int:
        """The packed word of a board."""
        squares = self.shape[0] * self.shape[1]
        try:
            given = np.asarray(point).ravel().tolist()
            tiles = [int(tile) for tile in given if tile == int(tile)]
        except (TypeError, ValueError, OverflowError):
            tiles = []
        if sorted(tiles) != list(range(squares)):
            raise ProblemError(f"the {what} must hold each tile from 0 to {squares - 1} once, not {shown(point)}")
        packed = sum(tile << (4 * square) for square, tile in enumerate(tiles))
        return packed - (1 << 64) if packed >= 1 << 63 else packed

    place_of = state_of  # a puzzle has no walls

    def is_open(self, state: int) -> bool:
        """Whether a board could be so: yes."""
        return True

    def are_open(self, states: np.ndarray) -> np.ndarray:
        """The same for many."""
        return np.ones(len(states), np.bool_)

    def point_of(self, state: int) -> tuple[int, ...]:
        """The board of a packed word."""
        return tuple((int(state) >> (4 * square)) & 15 for square in range(self.shape[0] * self.shape[1]))

    def points_of(self, states: np.ndarray) -> np.ndarray:
        """Many boards, one per row."""
        shifts = 4 * np.arange(self.shape[0] * self.shape[1])
        return (states[:, None] >> shifts) & 15

    def view_for(self, goal: int) -> PuzzleView:
        """The view is the same for every goal."""
        return self.view

    def path_states(self, path: Any, what: str = "") -> np.ndarray:
        """The inverse of ``points_of``, for ``validate``."""
        return np.array([self.state_of(point, "place" if what else "path's state") for point in path], np.int64)

    def plausible(self, pairs: np.ndarray, high: float) -> np.ndarray:
        """Which (start, goal) pairs differ and are not farther apart than ``high`` by the tiles' distances."""
        squares = self.shape[0] * self.shape[1]
        where = np.argsort(self.points_of(pairs.ravel()), axis=1).reshape(-1, 2, squares)[:, :, 1:]
        apart = np.abs(np.diff(where // self.shape[1], axis=1)) + np.abs(np.diff(where % self.shape[1], axis=1))
        return (pairs[:, 0] != pairs[:, 1]) & (apart.sum(axis=(1, 2)) <= high)

    def random_states(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Boards that can be solved, drawn evenly."""
        return np.array([self.state_of(self._shuffled(random)) for _ in range(count)], np.int64)

    def _shuffled(self, random: np.random.Generator) -> list[int]:
        tiles = [int(tile) for tile in random.permutation(self.shape[0] * self.shape[1])]
        if min(self.shape) == 1:
            # In a single row no tile can pass another.
            rest = iter(range(1, len(tiles)))
            return [next(rest) if tile else 0 for tile in tiles]
        if self.solvable(tiles):
            return tiles
        # Half of all boards cannot be solved; swapping two tiles leads to the other half, one to one.
        i, j = (k for k, tile in enumerate(tiles) if tile in (1, 2))
        tiles[i], tiles[j] = tiles[j], tiles[i]
        return tiles

    def solvable(self, point: Any) -> bool:
        """Whether the board can be brought to ``solved``.

        >>> TilePuzzle(3, 3).solvable((0, 2, 1, 3, 4, 5, 6, 7, 8))
        False
        """
        tiles = self.point_of(self.state_of(point))
        if min(self.shape) == 1:
            return [tile for tile in tiles if tile] == list(range(1, len(tiles)))
        # Every move swaps the blank with a tile, so the parity of the permutation follows the blank's distance.
        seen, cycles = set(), 0
        for start in range(len(tiles)):
            if start not in seen:
                cycles += 1
                while start not in seen:
                    seen.add(start)
                    start = tiles[start]
        blank = tiles.index(0)
        distance = blank // self.shape[1] + blank % self.shape[1]
        return (len(tiles) - cycles - distance) % 2 == 0


def _no_arcs(entry: int) -> list[tuple[Any, Any, int]]:
    """A puzzle does not change."""
    return []
