"""Grids: what games and robots mostly walk on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MapError, ProblemError, WorldError, as_numbers
from ..kernels import edits as kernel_edits
from ..kernels.layout import CARDINAL, COLS, DIAGONAL, G_BITS, ROWS
from ..kernels.pauses import new_clock
from ..kernels.views import GridView, TerrainView
from .changes import ChangeLog
from .mapfile import passable, read_map, write_map

if TYPE_CHECKING:
    from ..kernels.workspace import Workspace
    from .graph import Graph

__all__ = ["Grid"]

Point = tuple[int, int]
Cells = Any  # a point, several points, or a boolean mask

_CORNERS = ("never", "one", "always")
# f >> 11: a bucket is 0.15 of a straight step wide. Measured: 0.05% more expansions than exact order.
_SHIFT = 11
# Costs that differ by more than this factor would need too many buckets: such grids use a heap.
_BUCKET_SPREAD = 64.0
# Cells that one call of a kernel goes through, so that an interrupt is heard in between.
_AT_ONCE = 1 << 20
# Integer units of half a step: no fewer, so that rounding changes no cost by more than 0.2% (after edits, 0.8%); no
# more than fit.
_COARSEST = 256
_COARSEST_EDIT = 64
_HEAVIEST = (1 << 30) - 1


class Grid:
    """A rectangle of cells, 4- or 8-connected, with walls and, if wanted, a cost per cell.

    ``cells`` is a 2-d array: 0, False or infinity is a wall, anything else the cost of the cell. A boolean array, or
    one whose only values are 0 and 1, gives a grid on which all cells cost the same. A step costs its length
    (1 straight, ``diagonal`` slanted) times the mean cost of the two cells.

    ``terrain=True`` keeps a cost per cell even where all are 1 now, so that ``set_cost`` can change them later.

    ``corners`` says when a diagonal step may pass the two cells beside it: ``"never"`` past a wall (the MovingAI
    rule), past ``"one"`` wall, or ``"always"``.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> tb.solve(world, (0, 0), (2, 2), "a*").cost
    4.0
    """

    table = "dense"
    undirected = True

    def __init__(
        self,
        cells: Any,
        *,
        connectivity: int = 8,
        corners: str = "never",
        diagonal: float = math.sqrt(2),
        terrain: bool = False,
    ) -> None:
        try:
            array = np.asarray(cells)
        except ValueError:
            raise WorldError("a grid needs a 2-d array; these rows differ in length") from None
        if array.ndim != 2 or 0 in array.shape:
            raise WorldError(f"a grid needs a 2-d array with at least one cell, not one of shape {array.shape}")
        if array.dtype.kind not in "biuf":
            raise WorldError(f"a grid needs an array of booleans or numbers, not of {array.dtype}")
        if connectivity not in (4, 8):
            raise WorldError(f"connectivity is 4 or 8, not {connectivity!r}")
        if corners not in _CORNERS:
            raise WorldError(f"corners is 'never', 'one' or 'always', not {corners!r}")
        if not isinstance(diagonal, (int, float, np.number)) or not 1.0 <= diagonal < 100.0:
            raise WorldError(f"the diagonal cost must be from 1 to 100 straight steps, not {diagonal!r}")
        if array.size * max(diagonal, 1.0) * CARDINAL >= 1 << G_BITS:
            raise WorldError(f"a grid of {array.shape[0]} x {array.shape[1]} is too large; 14900 x 14900 still works")
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.connectivity = connectivity
        self.corners = corners
        self.diagonal = float(diagonal)
        self.spare: list[Workspace] = []
        self.glyphs: np.ndarray | None = None
        self._width = self.shape[1] + 2
        self.states = (self.shape[0] + 2) * self._width
        self.changes = ChangeLog(partial(_arcs_of, self._width))
        self._edited = self.changes.edited
        # Computed when first asked for, with the edit count they hold for.
        self._parts: tuple[int, np.ndarray] | None = None
        self._cells_free: tuple[int, np.ndarray] | None = None

        self._costs: np.ndarray | None = None
        if array.dtype.kind == "f":
            self._check_costs(array)
            free = (array > 0) & np.isfinite(array)
        else:
            if array.dtype.kind == "i" and array.min() < 0:
                self._check_costs(array)
            free = array != 0
        if terrain or (array.dtype.kind != "b" and bool(np.any(array[free] != 1))):
            self._costs = np.zeros(self.states)
            self._padded(self._costs)[:] = np.where(free, array, 0)
        self._free = np.zeros(self.states, np.uint8)
        self._padded(self._free)[:] = free
        self._moves = np.zeros(self.states, np.uint8)
        self._rule = (4 if connectivity == 4 else 8, _CORNERS.index(corners))
        band = max(1, _AT_ONCE // self._width)
        for row in range(0, self.shape[0] + 2, band):
            kernel_edits.legal_moves(self._free, self._moves, self._width, *self._rule, row, row + band)
        slanted = DIAGONAL if diagonal == math.sqrt(2) else round(diagonal * CARDINAL)
        self.view: GridView | TerrainView
        if self._costs is None:
            self.buckets = True
            h_slanted = 2 * CARDINAL if connectivity == 4 else min(slanted, 2 * CARDINAL)
            self.view = GridView(
                moves=self._moves,
                width=self._width,
                inverse=1.0 / self._width,
                cardinal=CARDINAL,
                diagonal=slanted,
                h_cardinal=CARDINAL,
                h_diagonal=h_slanted,
                straight_length=1.0,
                diagonal_length=self.diagonal,
                shift=_SHIFT,
                edited=self._edited,
            )
        else:
            self.view = self._terrain(self._costs, slanted)

    def _terrain(self, costs: np.ndarray, slanted: int) -> TerrainView:
        used = costs[costs > 0]
        least, greatest = (float(used.min()), float(used.max())) if len(used) else (1.0, 1.0)
        # No path without a loop may outgrow the packed word, and it costs at most what all cells cost together, twice.
        # Half of the word is kept for edits.
        self._room = float((1 << G_BITS) - 1) / (4.0 * max(self.diagonal, 1.0))
        self._unit = min(CARDINAL / 2 / least, self._room / max(float(used.sum()), 1.0), _HEAVIEST / greatest)
        self._room = 2 * self._room / self._unit - float(used.sum())
        if least * self._unit < _COARSEST:
            raise WorldError(f"terrain costs from {least:g} to {greatest:g} are too far apart for a grid of this size")
        weights = np.rint(costs * self._unit).astype(np.int32)
        self.buckets = greatest / least <= _BUCKET_SPREAD
        return TerrainView(
            moves=self._moves,
            width=self._width,
            inverse=1.0 / self._width,
            weight=weights,
            cost=costs,
            cardinal=CARDINAL,
            diagonal=slanted,
            bounds=np.rint(np.array([least, greatest]) * self._unit).astype(np.int64),
            manhattan=int(self.connectivity == 4),
            diagonal_length=self.diagonal,
            shift=_SHIFT if self.buckets else 0,
            edited=self._edited,
        )

    @property
    def unit(self) -> float:
        """What a cost of 1 is in the integers that searches count in."""
        return float(CARDINAL) if self._costs is None else 2 * self._unit

    @staticmethod
    def _check_costs(array: np.ndarray) -> None:
        bad = np.isnan(array) | (array < 0)
        if bad.any():
            row, col = (int(k) for k in np.argwhere(bad)[0])
            raise WorldError(
                f"the cost at ({row}, {col}) is {array[row, col]}; costs are positive numbers, 0 or infinity for a wall"
            )

    # --- making and keeping -----------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> Grid:
        """A MovingAI ``.map`` file. ``.``, ``G`` and ``S`` are free; ``@``, ``O``, ``T`` and ``W`` are walls."""
        glyphs = read_map(path)
        grid = cls(passable(glyphs), **options)
        grid.glyphs = glyphs
        return grid

    @classmethod
    def from_image(cls, path: str | Path, *, threshold: int = 128, **options: Any) -> Grid:
        """A picture: pixels at least as bright as ``threshold`` (0 to 255) are free."""
        try:
            from PIL import Image, UnidentifiedImageError
        except ImportError:
            raise MapError("reading images needs Pillow: pip install 'timebound[images]'") from None
        try:
            with Image.open(path) as image:
                bright = np.asarray(image.convert("L"))
        except FileNotFoundError:
            raise MapError(f"{path}: there is no such file") from None
        except (UnidentifiedImageError, OSError) as problem:
            raise MapError(f"{path}: this is not an image that can be read ({problem})") from None
        return cls(bright >= threshold, **options)

    def save(self, path: str | Path) -> None:
        """Write a MovingAI ``.map`` file, whole or not at all. Cells keep the letters they were loaded with."""
        if self._costs is not None:
            raise MapError(
                "a .map file cannot hold terrain costs; save the array instead: numpy.save(path, grid.costs)"
            )
        glyphs = np.where(self.free, np.uint8(ord(".")), np.uint8(ord("@")))
        if self.glyphs is not None:
            glyphs = np.where(passable(self.glyphs) == self.free, self.glyphs, glyphs)
        write_map(path, glyphs)

    def scale(self, factor: int) -> Grid:
        """A grid in which every cell has become ``factor`` x ``factor`` cells, as the papers enlarge maps."""
        if not isinstance(factor, (int, np.integer)) or factor < 1:
            raise WorldError(f"a grid is scaled by a whole number of at least 1, not {factor!r}")
        cells = self.free if self._costs is None else self.costs
        larger = Grid(cells.repeat(factor, 0).repeat(factor, 1), **self._options())
        if self.glyphs is not None:
            larger.glyphs = self.glyphs.repeat(factor, 0).repeat(factor, 1)
        return larger

    def copy(self) -> Grid:
        """The same world once more; edits to one do not touch the other."""
        same = copy(self)  # with the same pool of workspaces: they fit both, and new ones take long to be first touched
        same.changes = ChangeLog(partial(_arcs_of, self._width))
        same._edited = same.changes.edited
        same._free, same._moves = self._free.copy(), self._moves.copy()
        same._parts = same._cells_free = None
        arrays: dict[str, Any] = {"moves": same._moves, "edited": same._edited}
        if isinstance(self.view, TerrainView):
            # Also what a blocked cell would cost, and how finely costs are counted.
            same._costs = self.view.cost.copy()
            arrays |= {"cost": same._costs, "weight": self.view.weight.copy(), "bounds": self.view.bounds.copy()}
        same.view = self.view._replace(**arrays)
        return same

    def to_graph(self) -> Graph:
        """The same world as a Graph, node by node in row-major order; searches take the same steps on it."""
        from .graph import Graph

        return Graph._from_grid(self)

    def _options(self) -> dict[str, Any]:
        return {"connectivity": self.connectivity, "corners": self.corners, "diagonal": self.diagonal}

    # --- looking ----------------------------------------------------------------------------------------------

    def _padded(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.shape[0] + 2, self._width)[1:-1, 1:-1]

    @property
    def free(self) -> np.ndarray:
        """A boolean array, True where an agent can stand."""
        return self._padded(self._free) != 0

    @property
    def costs(self) -> np.ndarray:
        """The cost of each cell, infinity for walls."""
        plain = self._padded(self._costs) if self._costs is not None else np.ones(self.shape)
        return np.where(self.free, plain, np.inf)

    @property
    def free_count(self) -> int:
        """How many cells an agent can stand on."""
        return int(np.count_nonzero(self._free))

    @property
    def digest(self) -> str:
        """A hash of the cells and the rules: two grids with the same digest are the same world."""
        rules = f"{self.shape} {self.connectivity} {self.corners} {self.diagonal!r}".encode()
        costs = b"" if self._costs is None else self._costs.tobytes()
        return hashlib.blake2b(rules + self._free.tobytes() + costs, digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of the world's own arrays."""
        arrays = [array for array in self.view if isinstance(array, np.ndarray)]
        return self._free.nbytes + sum(array.nbytes for array in arrays)

    def __repr__(self) -> str:
        kind = "terrain " if self._costs is not None else ""
        return f"<{kind}Grid {self.shape[0]} x {self.shape[1]}, {self.free_count} free cells>"

    def state_of(self, point: Any, what: str = "point") -> int:
        """The number of a cell inside kernels, or an error that says why an agent cannot be there."""
        row, col = self._point(point, what)
        if not self._free[(row + 1) * self._width + col + 1]:
            raise ProblemError(f"the {what} ({row}, {col}) is in a wall")
        return (row + 1) * self._width + col + 1

    def _point(self, point: Any, what: str) -> Point:
        try:
            row, col = (int(k) for k in point)
            exact = all(int(k) == k for k in point)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact:
            raise ProblemError(f"the {what} must be two whole numbers (row, col), not {point!r}")
        if not (0 <= row < self.shape[0] and 0 <= col < self.shape[1]):
            raise ProblemError(
                f"the {what} ({row}, {col}) is off the map of {self.shape[0]} rows and {self.shape[1]} columns"
            )
        return row, col

    def point_of(self, state: int) -> Point:
        """The (row, col) of a cell's number."""
        return _point_of(self._width, state)

    def points_of(self, states: np.ndarray) -> np.ndarray:
        """The (row, col) of many cells' numbers, n x 2."""
        points = np.empty((len(states), 2), np.int64)
        points[:, 0] = states // self._width - 1
        points[:, 1] = states % self._width - 1
        return points

    def view_for(self, goal: int) -> GridView | TerrainView:
        """The view is the same for every goal."""
        return self.view

    def path_states(self, path: Any) -> np.ndarray:
        """The inverse of ``points_of``, for ``validate``; points off the map become the walls around it."""
        try:
            points = np.asarray(path, dtype=float)
        except (TypeError, ValueError):
            points = np.empty(0)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ProblemError(f"a path on a grid is an n x 2 array of (row, col), not one of shape {points.shape}")
        if not (points == np.rint(points)).all():
            raise ProblemError("a path on a grid consists of whole numbers (row, col)")
        inside = ((points >= 0) & (points < self.shape)).all(axis=1)
        return np.where(inside, (points[:, 0] + 1) * self._width + points[:, 1] + 1, 0).astype(np.int64)

    def random_states(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Cells drawn evenly from the free ones."""
        if self._cells_free is None or self._cells_free[0] != int(self._edited[0]):
            self._cells_free = int(self._edited[0]), np.flatnonzero(self._free)
        free = self._cells_free[1]
        if len(free) == 0:
            raise WorldError("this grid has no free cell")
        return free[random.integers(len(free), size=count)]

    def plausible(self, pairs: np.ndarray, high: float) -> np.ndarray:
        """Which (start, goal) pairs differ, are connected, and are not surely farther apart than ``high``."""
        parts = self.parts()
        apart = np.abs(np.diff(self.points_of(pairs.ravel()).reshape(-1, 2, 2), axis=1)[:, 0])
        cheapest = self.view.bounds[0] / self._unit if isinstance(self.view, TerrainView) else 1.0
        slanted = 2.0 if self.connectivity == 4 else min(self.diagonal, 2.0)
        bound = cheapest * (apart.max(1) + (slanted - 1) * apart.min(1))
        return (parts[pairs[:, 0]] == parts[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1]) & (bound <= high)

    def parts(self) -> np.ndarray:
        """A number per cell (padded, flat), the same for connected ones; 0 for walls. Kept until an edit."""
        if self._parts is None or self._parts[0] != int(self._edited[0]):
            labels = np.zeros(self.states, np.int32)
            stack = np.empty(self.states, np.int32)
            progress, clock, edits = np.zeros(3, np.int64), new_clock(), int(self._edited[0])
            while not kernel_edits.label_components(
                self._moves, self._free, self._width, labels, stack, progress, clock
            ):
                pass  # an interrupt may come here
            self._parts = edits, labels
        return self._parts[1]

    # --- editing ----------------------------------------------------------------------------------------------

    def block(self, cells: Cells, *, later: bool = False) -> int:
        """Turn cells into walls: a point, several points, or a boolean mask. Returns how many changed.

        Costs what it touches. Agents under way notice before their next step. Any thread may edit: it waits until the
        searches in this world have ended their tick. With ``later=True`` it does not wait; the edit is made before
        the next tick of any agent here, the next edit that waits, or by ``world.changes.catch_up()``, and 0 is
        returned. So edits are made in the order of the calls.

        >>> import timebound as tb
        >>> world = tb.Grid([[1, 1, 1], [1, 1, 1]])
        >>> world.block((0, 1)), world.block([(0, 0), (0, 1)])
        (1, 1)
        """
        return self._edit(later, self._set_free, self._cells(cells), 0)

    def unblock(self, cells: Cells, *, later: bool = False) -> int:
        """Make cells free. On terrain, a cell that has never had a cost gets 1. Returns how many changed."""
        return self._edit(later, self._set_free, self._cells(cells), 1)

    def set_cost(self, cells: Cells, cost: float | Sequence[float] | np.ndarray, *, later: bool = False) -> int:
        """Give cells a new cost; they stay free or blocked as they are. Returns how many changed."""
        if self._costs is None:
            raise WorldError("all cells of this grid cost 1; make it with Grid(..., terrain=True) to change that later")
        states = self._cells(cells)
        costs = as_numbers(cost, "costs")
        if costs.shape == self.shape and np.asarray(cells).dtype == bool:
            costs = costs[np.asarray(cells)]
        if costs.shape not in ((), (1,), states.shape):
            raise WorldError(
                f"{len(states)} cells need one cost or {len(states)} costs, not an array of shape {costs.shape}"
            )
        costs = np.array(np.broadcast_to(costs, states.shape))
        self._check_new_costs(costs)
        return self._edit(later, self._set_weights, states, costs)

    def _edit(self, later: bool, edit: Callable[..., int], states: np.ndarray, value: Any) -> int:
        if not later:
            return edit(states, value)
        with self.changes.books():
            reserved = 0.0
            if self._costs is not None and (edit == self._set_weights or value):
                # What cannot be done must be said now, not to whoever steps next. For each cell on its own: an edit
                # posted after this one may make dearer only those that this one makes cheaper.
                now = self._costs[states]
                new = value if edit == self._set_weights else np.where(now == 0, 1.0, now)
                reserved = self._reserve(float(np.maximum(new - now, 0.0).sum()))
            self.changes.post(partial(edit, states, value, reserved))
        return 0

    def _reserve(self, dearer: float) -> float:
        """Take from the room that is left for higher costs."""
        with self.changes.books():
            if dearer > self._room:
                raise WorldError(
                    f"these costs are too large for this grid; they may rise by {self._room:.3g} altogether"
                )
            self._room -= dearer
        return dearer

    def _set_free(self, states: np.ndarray, value: int, reserved: float = 0.0) -> int:
        with self.changes.editing():
            if self._costs is not None and value:
                fresh = states[self._costs[states] == 0]
                self._set_weights(fresh, np.ones(len(fresh)), reserved)
            changed = 0
            for part in _parts_of(states):
                changed += self._counted(
                    kernel_edits.set_free,
                    self._free, self._moves, self._width, *self._rule, part, value, self.changes.view,
                )  # fmt: skip
        return changed

    def _counted(self, kernel: Callable[..., int], *arrays: Any) -> int:
        """How many cells an edit changed. It counts even if it is interrupted as soon as it is made, or else no agent
        would notice; nothing is called in between, for an interrupt comes with a call."""
        changed, total = 0, self.changes.view.total
        before = total[0]
        try:
            changed = int(kernel(*arrays))
        finally:
            if changed or total[0] != before:
                self._edited[0] += 1
        return changed

    def _check_new_costs(self, costs: np.ndarray) -> None:
        wrong = ~(np.isfinite(costs) & (costs > 0))
        if wrong.any():
            raise WorldError(f"a cost must be a positive number, not {costs[wrong][0]}; use block() to make a wall")
        low, high = _COARSEST_EDIT / self._unit, _HEAVIEST / self._unit
        if len(costs) and (costs.max() > high or costs.min() < low):
            raise WorldError(f"on this grid costs must lie between {low:.3g} and {high:.3g}")

    def _set_weights(self, states: np.ndarray, costs: np.ndarray, reserved: float = 0.0) -> int:
        assert isinstance(self.view, TerrainView)
        self._check_new_costs(costs)
        view = self.view
        with self.changes.editing():
            self._room += reserved
            self._reserve(float((costs - view.cost[states]).sum()))
            weights = np.rint(costs * self._unit).astype(np.int64)
            changed = 0
            for cells, units, new in zip(*map(_parts_of, (states, weights, costs)), strict=True):
                changed += self._counted(
                    kernel_edits.set_weight,
                    self._moves, self._width, view.weight, view.cost, view.bounds,
                    cells, units, new, self.changes.view,
                )  # fmt: skip
            # Searches begun from now on use a heap; those under way go on with their buckets, only with more of them.
            self.buckets = self.buckets and bool(view.bounds[1] <= _BUCKET_SPREAD * view.bounds[0])
        return changed

    def _cells(self, cells: Cells) -> np.ndarray:
        array = np.asarray(cells)
        if array.dtype == bool:
            if array.shape != self.shape:
                raise WorldError(f"the mask has shape {array.shape}, the grid {self.shape}")
            rows, cols = np.nonzero(array)
            return (rows + 1) * self._width + cols + 1
        points: Iterable[Any] = [cells] if array.ndim == 1 and array.size == 2 else cells
        if array.size == 0:
            return np.empty(0, np.int64)
        if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
            inside = ((array >= 0) & (array < self.shape)).all(axis=1)
            if inside.all():
                return ((array[:, 0] + 1) * self._width + array[:, 1] + 1).astype(np.int64)
        checked = [self._point(point, "cell") for point in points]
        return np.array([(row + 1) * self._width + col + 1 for row, col in checked], np.int64)


def _parts_of(states: np.ndarray) -> Iterator[np.ndarray]:
    """The cells in the order given, some at once."""
    return (states[k : k + _AT_ONCE] for k in range(0, len(states), _AT_ONCE))


def _point_of(width: int, state: int) -> Point:
    return state // width - 1, state % width - 1


def _arcs_of(width: int, entry: int) -> list[tuple[Point, Point, int]]:
    """The arcs that an entry of the log stands for, with +1 for dearer and -1 for cheaper."""
    cell, sign = entry >> kernel_edits.CELL_SHIFT, 1 - 2 * (entry & 1)
    steps = [(cell, i) for i in range(8) if (entry >> (kernel_edits.LEAVING_SHIFT + i)) & 1]
    for pair in range(4):
        if (entry >> (kernel_edits.BESIDE_SHIFT + pair)) & 1:
            beside = cell + int(ROWS[kernel_edits.BESIDE_FROM[pair]]) * width
            steps.append((beside, int(kernel_edits.BESIDE_STEP[pair])))
    arcs = []
    for u, i in steps:
        here, there = _point_of(width, u), _point_of(width, u + int(ROWS[i]) * width + int(COLS[i]))
        arcs += [(here, there, sign), (there, here, sign)]
    return arcs
