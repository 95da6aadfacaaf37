"""Grids: what games and robots mostly walk on."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MapError, ProblemError, WorldError, as_array, as_numbers, check_rows, is_number
from ..kernels import edits as kernel_edits
from ..kernels.layout import CARDINAL, COLS, DIAGONAL, G_BITS, ROWS
from ..kernels.ticks import new_clock
from ..kernels.views import GridView, TerrainView
from ..kernels.workspace import Pool
from ..text import shown
from .changes import ChangeLog, SavedWorld
from .map_files import passable, read_map, write_map
from .rasters import IMAGES, read_bright, read_ros

if TYPE_CHECKING:
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
# Pixels between these are neither black nor white, and a map that has more than this share of them means something by
# it: ROS draws unknown ground with 205.
_GREYS = range(65, 224)
_SHARE_OF_GREYS = 0.01


def _whole(number: Any) -> int:
    if isinstance(number, bool):
        raise TypeError
    return index(number)


class Grid(SavedWorld):
    """A rectangle of cells, 4- or 8-connected, with walls and, if wanted, a cost per cell.

    ``cells`` is a 2-d array: 0, False or infinity is a wall, anything else the cost of the cell. A boolean array, or
    one whose only values are 0 and 1, gives a grid on which all cells cost the same. A step costs its length
    (1 straight, ``diagonal`` slanted) times the mean cost of the two cells.

    ``terrain=True`` keeps a cost per cell even where all are 1 now, so that ``set_cost`` can change them later.

    ``corners`` says when a diagonal step may pass the two cells beside it: ``"never"`` past a wall (the MovingAI
    rule), past ``"one"`` wall, or ``"always"``.

    Masked arrays, and arrays of whole numbers that look like an occupancy grid (-1, or 0 to 100), are refused, because
    they do not say what is free: see ``from_occupancy``.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> tb.solve(world, (0, 0), (2, 2), "a*").cost
    4.0
    """

    table = "dense"
    undirected = True
    goal_views = False

    def __init__(
        self,
        cells: Any,
        *,
        connectivity: int = 8,
        corners: str = "never",
        diagonal: float = math.sqrt(2),
        terrain: bool = False,
    ) -> None:
        array = _array_of(cells)
        if array.ndim != 2 or 0 in array.shape:
            raise WorldError(f"a grid needs a 2-d array with at least one cell, not one of shape {array.shape}")
        if array.dtype.kind not in "biuf":
            raise WorldError(f"a grid needs an array of booleans or numbers, not of {str(array.dtype)[:60]}")
        if not isinstance(connectivity, (int, np.integer)) or connectivity not in (4, 8):
            raise WorldError(f"connectivity is 4 or 8, not {shown(connectivity)}")
        if not isinstance(corners, str) or corners not in _CORNERS:
            raise WorldError(f"corners is 'never', 'one' or 'always', not {shown(corners)}")
        if not isinstance(diagonal, (int, float, np.integer, np.floating)) or not 1.0 <= diagonal < 100.0:
            raise WorldError(f"the diagonal cost must be from 1 to 100 straight steps, not {shown(diagonal)}")
        _check_size(array.shape, float(diagonal))
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.connectivity = int(connectivity)
        self.corners = corners
        self.diagonal = float(diagonal)
        self.spare = Pool()
        self.glyphs: np.ndarray | None = None
        # Where the map lies in the world, in metres: cells per side, and (x, y, yaw) of its lower left corner.
        self.resolution: float | None = None
        self.origin: tuple[float, float, float] | None = None
        self._width = self.shape[1] + 2
        self.states = (self.shape[0] + 2) * self._width
        self.changes = ChangeLog(partial(_arcs_of, self._width), self)
        self._edited = self.changes.edited
        # Computed when first asked for, with the edit count they hold for.
        self._parts: tuple[int, np.ndarray] | None = None
        self._cells_free: tuple[int, np.ndarray] | None = None

        self._costs: np.ndarray | None = None
        if array.dtype.kind == "f":
            self._check_costs(array)
            free = (array > 0) & np.isfinite(array)
        else:
            if not terrain:
                _check_no_occupancy(array)
            if array.dtype.kind == "i" and array.min() < 0:
                self._check_costs(array)
            free = array != 0
        if terrain or (array.dtype.kind != "b" and bool(np.any(array[free] != 1))):
            self._costs = np.zeros(self.states)
            self._padded(self._costs)[:] = np.where(free, array, 0)
        self._free = np.zeros(self.states, np.uint8)
        self._padded(self._free)[:] = free
        self._rule = (4 if connectivity == 4 else 8, _CORNERS.index(corners))
        self._moves = self._legal_moves()
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

    def _legal_moves(self) -> np.ndarray:
        moves = np.zeros(self.states, np.uint8)
        band = max(1, _AT_ONCE // self._width)
        for row in range(0, self.shape[0] + 2, band):
            kernel_edits.legal_moves(self._free, moves, self._width, *self._rule, row, row + band)
        return moves

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
        """A MovingAI ``.map`` file. ``.``, ``G`` and ``S`` are free; ``@``, ``O``, ``T`` and ``W`` are walls.

        This and all other files are read within a limit: see ``docs/worlds.md`` on TIMEBOUND_LARGEST_INPUT.
        """
        glyphs = read_map(path)
        grid = cls(passable(glyphs), **options)
        grid.glyphs = glyphs
        return grid

    @classmethod
    def from_image(cls, path: str | Path, *, threshold: int | None = None, **options: Any) -> Grid:
        """A picture of dark walls on bright ground: pixels at least as bright as ``threshold`` (0 to 255) are free.

        Without a threshold it is 128, and a picture with more than a few grey pixels is refused: grey may mean unknown
        ground, as in the maps of ROS (``from_ros``), or anything else.
        """
        if threshold is not None and not (_is_whole(threshold) and 0 <= threshold <= 255):
            raise MapError(f"a threshold is a whole number from 0 to 255, not {shown(threshold)}")
        bright = read_bright(path)
        if threshold is None:
            threshold = 128
            counts = np.bincount(bright.ravel(), minlength=256)[_GREYS.start : _GREYS.stop]
            if counts.sum() > _SHARE_OF_GREYS * bright.size:
                most = _GREYS.start + int(counts.argmax())
                raise MapError(
                    f"{path} is {counts.sum() / bright.size:.0%} grey (most of it {most} of 255), neither wall nor "
                    "ground; give threshold=, from which on pixels are free, or for a map of ROS use Grid.from_ros"
                )
        return cls(bright >= threshold, **options)

    @classmethod
    def from_occupancy(
        cls,
        values: Any,
        *,
        occupied: int = 65,
        free: int = 25,
        unknown: str = "wall",
        resolution: float | None = None,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        **options: Any,
    ) -> Grid:
        """An occupancy grid as in ``nav_msgs/OccupancyGrid``: 0 (surely free) to 100 (surely occupied), -1 unknown.

        From ``occupied`` on a cell is a wall, up to ``free`` it is free. What lies between, and -1, is unknown: a
        ``"wall"`` or ``"free"``, as you say. The first row is the top; ROS sends the bottom one first, so turn its
        messages over: ``numpy.reshape(data, (height, width))[::-1]``. With ``resolution`` (metres per cell) and
        ``origin`` (x, y, yaw of the lower left corner) ``cell_at`` and ``point_at`` turn metres into cells and back.

        >>> import timebound as tb
        >>> tb.Grid.from_occupancy([[0, 100], [-1, 10]]).free.tolist()
        [[True, False], [False, True]]
        """
        for what, bound in (("occupied", occupied), ("free", free)):
            if not _is_whole(bound) or not 0 <= bound <= 100:
                raise WorldError(f"{what} is a whole number from 0 to 100, not {shown(bound)}")
        if free >= occupied:
            raise WorldError(f"free is {free}, and it must be less than occupied, which is {occupied}")
        if not isinstance(unknown, str) or unknown not in ("wall", "free"):
            raise WorldError(f"unknown cells are a 'wall' or 'free', not {shown(unknown)}")
        array = _array_of(values)
        _check_occupancy(array)
        ground = (array < occupied) if unknown == "free" else (array >= 0) & (array <= free)
        grid = cls(ground, **options)
        grid._place(resolution, origin)
        return grid

    @classmethod
    def from_ros(
        cls, path: str | Path, *, occupied: int = 65, free: int = 25, unknown: str = "wall", **options: Any
    ) -> Grid:
        """A map of ROS: the ``.yaml`` file that map_server reads, and the image that it names.

        The file's own thresholds and mode say which pixels are free, occupied or unknown. ``unknown`` says what
        unknown ground is here. ``occupied`` and ``free`` matter only to maps in the modes ``scale`` and ``raw``,
        which have cells between 0 and 100; see ``from_occupancy``.
        """
        found = read_ros(path)
        return cls.from_occupancy(
            found.values, occupied=occupied, free=free, unknown=unknown,
            resolution=found.resolution, origin=found.origin, **options,
        )  # fmt: skip

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
        if not _is_whole(factor) or factor < 1:
            raise WorldError(f"a grid is scaled by a whole number of at least 1, not {shown(factor)}")
        _check_size((self.shape[0] * int(factor), self.shape[1] * int(factor)), self.diagonal)
        cells = self.free if self._costs is None else self.costs
        larger = Grid(cells.repeat(factor, 0).repeat(factor, 1), **self.rules)
        if self.glyphs is not None:
            larger.glyphs = self.glyphs.repeat(factor, 0).repeat(factor, 1)
        if self.resolution is not None:
            larger.resolution, larger.origin = self.resolution / factor, self.origin
        return larger

    def __getstate__(self) -> dict[str, Any]:
        """Free cells as bits, and costs; what follows from them is left out."""
        from .abstraction import packed_regions

        known: dict[str, Any] = dict.fromkeys(("_moves", "_edited", "_parts", "_cells_free"))
        found: dict[str, Any] = {
            name: None for name in ("moves", "edited", "weight", "cost") if hasattr(self.view, name)
        }
        kind, view = type(self.view), tuple(self.view._replace(**found))
        state = {**super().__getstate__(), **known, "view": (kind, view), "_free": np.packbits(self._free)}
        return {**state, "regions": packed_regions(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from .abstraction import unpack_regions

        regions = state.pop("regions")
        super().__setstate__(state)
        self._free = np.unpackbits(state["_free"], count=self.states)
        self._moves, self._edited = self._legal_moves(), self.changes.edited
        arrays: dict[str, Any] = {"moves": self._moves, "edited": self._edited}
        if self._costs is not None:
            arrays |= {"cost": self._costs, "weight": np.rint(self._costs * self._unit).astype(np.int32)}
        self.view = self.view._replace(**arrays)
        unpack_regions(self, regions)

    def copy(self) -> Grid:
        """The same world once more; edits to one do not touch the other."""
        same = type(self).__new__(type(self))
        # With the same pool of workspaces: they fit both, and new ones take long to be first touched.
        same.__dict__.update(self.__dict__)
        same.changes = ChangeLog(partial(_arcs_of, self._width), same)
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

        return Graph.from_grid(self)

    # --- looking ----------------------------------------------------------------------------------------------

    @property
    def rules(self) -> dict[str, Any]:
        """How one may move, as the options that ``Grid`` takes.

        >>> import timebound as tb
        >>> tb.Grid([[1, 1]], connectivity=4, diagonal=1.5).rules
        {'connectivity': 4, 'corners': 'never', 'diagonal': 1.5}
        """
        return {"connectivity": self.connectivity, "corners": self.corners, "diagonal": self.diagonal}

    @property
    def terrain(self) -> bool:
        """Whether each cell has a cost of its own, even if all are the same now."""
        return self._costs is not None

    def _padded(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.shape[0] + 2, self._width)[1:-1, 1:-1]

    @property
    def free(self) -> np.ndarray:
        """A boolean array, True where an agent can stand. To look at only: ``block`` and ``unblock`` change the world.

        >>> import timebound as tb
        >>> tb.Grid([[1, 0]]).free[0, 0] = False
        Traceback (most recent call last):
        ValueError: assignment destination is read-only
        """
        return _to_look_at(self._padded(self._free) != 0)

    @property
    def free_by_state(self) -> np.ndarray:
        """The same by the numbers that kernels have for cells, those of the walls around the map among them.

        It is no copy, so it shows edits that come later. To look at only.
        """
        return _to_look_at(self._free.view())

    @property
    def costs(self) -> np.ndarray:
        """The cost of each cell, infinity for walls. To look at only: ``set_cost`` changes the world."""
        plain = self._padded(self._costs) if self._costs is not None else np.ones(self.shape)
        return _to_look_at(np.where(self.free, plain, np.inf))

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

    def place_of(self, point: Any, what: str = "point") -> int:
        """The same, whether the cell is free now or not."""
        row, col = self._point(point, what)
        return (row + 1) * self._width + col + 1

    def is_free(self, cells: Any) -> Any:
        """Whether an agent can stand on a cell: True or False for one (row, col), an array of them for an n x 2 array.

        Off the map nothing is free. It looks at these cells only, and copies nothing.

        >>> import timebound as tb
        >>> world = tb.Grid([[1, 1, 0]])
        >>> world.is_free((0, 1)), world.is_free((0, 2)), world.is_free((-1, 0))
        (True, False, False)
        >>> world.is_free([(0, 0), (0, 2), (5, 5)]).tolist()
        [True, False, False]
        """
        try:
            row, col = map(_whole, cells)
        except (TypeError, ValueError):
            check_rows(cells, "cells")
            return self._are_free(cells)
        inside = 0 <= row < self.shape[0] and 0 <= col < self.shape[1]
        return inside and bool(self._free[(row + 1) * self._width + col + 1])

    def _are_free(self, cells: Any) -> Any:
        try:
            array = np.asarray(cells)
        except (TypeError, ValueError, OverflowError):
            array = np.asarray(None)  # rows of different lengths
        if array.shape == (0,):
            return np.zeros(0, bool)
        numbers = array.shape[-1:] == (2,) and array.ndim <= 2 and array.dtype.kind in "iuf"
        numbers = numbers and not (array.ndim == 1 and bool in map(type, cells))  # a mask of two is not a cell
        if not numbers or isinstance(cells, np.ma.MaskedArray) or not (array == np.rint(array)).all():
            raise ProblemError(f"cells are two whole numbers (row, col), or an n x 2 array of such, not {shown(cells)}")
        inside = np.asarray((array >= 0) & (array < self.shape)).all(axis=-1, keepdims=True)
        rows, cols = np.where(inside, array, -1).astype(np.int64).T  # what is outside is a wall around the map
        found = self._free[(rows + 1) * self._width + cols + 1] != 0
        return found if array.ndim == 2 else bool(found)

    def is_open(self, state: int) -> bool:
        """Whether an agent could be there now."""
        return bool(self._free[state])

    def are_open(self, states: np.ndarray) -> np.ndarray:
        """The same for many."""
        return self._free[states] != 0

    def _point(self, point: Any, what: str) -> Point:
        given: list[Any] = []
        exact = False
        if type(point) is tuple and len(point) == 2 and type(point[0]) is int and type(point[1]) is int:
            given, exact = list(point), True  # as most are; what follows takes ten times as long
        elif not isinstance(point, (str, bytes, set, frozenset, dict)):
            try:
                # Plain numbers: int() of NumPy's own would drop what is imaginary, and take dates.
                given = [k.item() if isinstance(k, np.generic) else k for k in islice(point, 3)]
                # A mask of two is not a point.
                exact = len(given) == 2 and all(int(k) == k and not isinstance(k, bool) for k in given)
            except (TypeError, ValueError, OverflowError, np.ma.MaskError):
                pass
        if not exact:
            raise ProblemError(f"the {what} must be two whole numbers (row, col), not {shown(point)}")
        row, col = int(given[0]), int(given[1])
        if not (0 <= row < self.shape[0] and 0 <= col < self.shape[1]):
            place = f"({shown(row)}, {shown(col)})"
            raise ProblemError(f"the {what} {place} is off the map of {self.shape[0]} rows and {self.shape[1]} columns")
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

    def path_states(self, path: Any, what: str = "a path on a grid is") -> np.ndarray:
        """The inverse of ``points_of``, for ``validate``; points off the map become the walls around it."""
        try:
            points = as_numbers(path, "a path")
        except WorldError:
            points = np.empty(0)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ProblemError(f"{what} an n x 2 array of (row, col), not one of shape {points.shape}")
        if not (points == np.rint(points)).all():
            raise ProblemError(f"{what} an n x 2 array of whole numbers (row, col), not {shown(path)}")
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
        if costs.shape == self.shape and as_array(cells, "cells").dtype == bool:
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
        if isinstance(cells, np.ma.MaskedArray):
            raise WorldError("cells cannot be a masked array; use array.filled(False) for a mask")
        check_rows(cells, "cells")
        try:
            array = np.asarray(cells)
        except (TypeError, ValueError, OverflowError):
            array = np.asarray(None)  # rows of different lengths: at least one of them is no point
        if array.dtype == bool:
            if array.shape != self.shape:
                raise WorldError(f"the mask has shape {array.shape}, the grid {self.shape}")
            rows, cols = np.nonzero(array)
            return (rows + 1) * self._width + cols + 1
        if array.shape == self.shape and array.shape[1] != 2 and array.dtype.kind in "iuf":
            raise WorldError("a mask of cells is boolean; of an array of numbers make one with array != 0")
        if array.size == 0:
            return np.empty(0, np.int64)
        if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
            inside = ((array >= 0) & (array < self.shape)).all(axis=1)
            if inside.all():
                return ((array[:, 0] + 1) * self._width + array[:, 1] + 1).astype(np.int64)
        try:
            points = iter([cells] if array.ndim == 1 and array.size == 2 else cells)
        except TypeError:
            points = None
        if points is None or isinstance(cells, (str, bytes)):
            raise WorldError(f"cells are a point (row, col), several points, or a boolean mask, not {shown(cells)}")
        checked = [self._point(point, "cell") for point in points]
        return np.array([(row + 1) * self._width + col + 1 for row, col in checked], np.int64)

    # --- metres -----------------------------------------------------------------------------------------------

    def _place(self, resolution: Any, origin: Any) -> None:
        """Remember where the map lies in the world."""
        if resolution is None:
            return
        if not is_number(resolution) or not (math.isfinite(resolution) and resolution > 0):
            raise WorldError(f"the resolution is a number of metres per cell above 0, not {shown(resolution)}")
        pose = as_numbers(origin, "the origin")
        if pose.shape != (3,) or not np.isfinite(pose).all():
            raise WorldError(f"the origin is three numbers (x, y, yaw), not {shown(origin)}")
        self.resolution = float(resolution)
        self.origin = (float(pose[0]), float(pose[1]), float(pose[2]))

    def _frame(self) -> tuple[float, tuple[float, float, float]]:
        if self.resolution is None or self.origin is None:
            raise WorldError("this grid knows no metres; Grid.from_ros and from_occupancy(resolution=...) make such")
        return self.resolution, self.origin

    def cell_at(self, x: float, y: float) -> Point:
        """The (row, col) of the cell in which a point of the world lies, in metres.

        >>> import timebound as tb
        >>> world = tb.Grid.from_occupancy([[0, 0], [0, 0]], resolution=0.5, origin=(-1, 0, 0))
        >>> world.cell_at(-0.1, 0.2), world.point_at(1, 1)
        ((1, 1), (-0.25, 0.25))
        """
        size, (left, bottom, yaw) = self._frame()
        if not all(is_number(value) and math.isfinite(value) for value in (x, y)):
            raise ProblemError(f"a place is two numbers of metres, not {shown((x, y))}")
        across, up = float(x) - left, float(y) - bottom
        col = math.floor((math.cos(yaw) * across + math.sin(yaw) * up) / size)
        row = self.shape[0] - 1 - math.floor((math.cos(yaw) * up - math.sin(yaw) * across) / size)
        if not (0 <= row < self.shape[0] and 0 <= col < self.shape[1]):
            raise ProblemError(
                f"the place ({x:g}, {y:g}) is off the map, which is {self.shape[1] * size:g} m wide and "
                f"{self.shape[0] * size:g} m high from ({left:g}, {bottom:g}) on"
            )
        return row, col

    def point_at(self, row: int, col: int) -> tuple[float, float]:
        """The middle of a cell in the world, (x, y) in metres."""
        size, (left, bottom, yaw) = self._frame()
        row, col = self._point((row, col), "cell")
        across, up = (col + 0.5) * size, (self.shape[0] - row - 0.5) * size
        return (
            left + math.cos(yaw) * across - math.sin(yaw) * up,
            bottom + math.sin(yaw) * across + math.cos(yaw) * up,
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _to_look_at(array: np.ndarray) -> np.ndarray:
    """The array, a copy or a view, that cannot be written to, so that nobody edits the world by it."""
    array.flags.writeable = False
    return array


def _array_of(cells: Any) -> np.ndarray:
    """The array that was given for a grid, or a sentence that says what would have been right."""
    if isinstance(cells, (str, bytes, os.PathLike)):
        name = str(cells).lower()
        way = "load"
        if name.endswith((".yaml", ".yml")):
            way = "from_ros"
        elif name.endswith(IMAGES):
            way = "from_image"
        hint = "numpy.load(file)" if name.endswith((".npy", ".npz")) else f"Grid.{way}(file)"
        raise WorldError(f"a grid is made from an array; {hint} opens the file {shown(str(cells))}")
    if isinstance(cells, np.ma.MaskedArray):
        raise WorldError("a masked array does not say what is under its mask; array.filled(0) makes walls of it")
    try:
        return np.asarray(cells)
    except (TypeError, ValueError, OverflowError):
        raise WorldError("a grid needs a 2-d array; these rows differ in length") from None


def _check_size(shape: tuple[int, ...], diagonal: float) -> None:
    """Refuse a grid in which costs would outgrow the packed word, before any memory is taken for it."""
    if shape[0] * shape[1] >= (1 << G_BITS) / (max(diagonal, 1.0) * CARDINAL):
        size = f"{shown(shape[0])} x {shown(shape[1])}"
        raise WorldError(f"a grid of {size} cells is too large; 14900 x 14900 still works")


def _check_no_occupancy(array: np.ndarray) -> None:
    """Whole numbers from 0 to 100, or with -1 among them: free is then likely 0, and not a wall as it would be here."""
    if array.dtype.kind == "b":
        return
    least, most = int(array.min()), int(array.max())
    if least == -1 and most <= 100:
        raise WorldError(
            f"the cost at {_first_place(array == -1)} is -1; costs are positive, 0 is a wall, and an occupancy grid "
            "(-1 unknown, 0 free to 100 occupied) is read by Grid.from_occupancy(array)"
        )
    if least == 0 and most == 100:
        raise WorldError(
            "these whole numbers from 0 to 100 may be an occupancy grid, in which 0 is free: "
            "Grid.from_occupancy(array) reads it so; if they are costs, and 0 is a wall, say terrain=True"
        )


def _check_occupancy(array: np.ndarray) -> None:
    if array.ndim != 2 or 0 in array.shape:
        raise WorldError(f"an occupancy grid is a 2-d array with at least one cell, not one of shape {array.shape}")
    if array.dtype.kind not in "iuf":
        kind = "booleans; Grid(array) takes those" if array.dtype.kind == "b" else str(array.dtype)[:60]
        raise WorldError(f"an occupancy grid holds whole numbers from -1 to 100, not {kind}")
    wrong = ~((array >= -1) & (array <= 100) & (array == np.rint(array)))
    if wrong.any():
        place = _first_place(wrong)
        hint = "; multiply probabilities from 0 to 1 by 100 and round them" if 0 < array[place] < 1 else ""
        raise WorldError(
            f"the occupancy at {place} is {array[place]:g}; it is a whole number from 0 to 100, or -1 for unknown{hint}"
        )
    if array.max() == 1:
        raise WorldError(
            "an occupancy grid runs from 0 (free) to 100 (occupied), and this one has nothing above 1; "
            "Grid(array == 0) makes walls of ones, Grid(array == 1) of zeros"
        )


def _first_place(where: np.ndarray) -> Point:
    row, col = np.unravel_index(int(np.argmax(where)), where.shape)
    return int(row), int(col)


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
