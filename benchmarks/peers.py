"""Adapters that put one grid problem to other path-finding libraries, so that times can be compared.

Every adapter searches the same problem: 8-connected cells, a cardinal step costs 1, a diagonal one sqrt 2,
and a diagonal step is legal only when both cells it squeezes between are free. Each uses its library as a
careful user would: what can be built once per map is built in the constructor (and timed there, as
``setup_seconds``), what must be done anew for each query is done in ``query``, the one method to time.
``solve`` is ``query`` plus a check of every step, to verify that peers agree before comparing their times.

The libraries are imported inside the adapters: a missing one costs its own row of a table, not the whole run.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
"""A (row, column) pair."""

SQRT2 = math.sqrt(2.0)
DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))


def load(module: str, distribution: str) -> Any:
    """Import a peer's module, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"the peer '{distribution}' could not be imported ({error}): pip install 'timebound[bench]'"
        raise ImportError(message) from error


def path_cost(free: NDArray[np.bool_], cells: NDArray[np.integer]) -> float:
    """Length of a path of (n, 2) rows and columns; an illegal step raises, as it would void a comparison."""
    if not free[cells[:, 0], cells[:, 1]].all():
        raise ValueError("the path enters a blocked cell")
    here, there = cells[:-1], cells[1:]
    steps = np.abs(there - here)
    if len(steps) and not (steps.max(axis=1) == 1).all():
        raise ValueError("the path has a step that is not to one of the 8 neighbours")
    diagonal = steps.sum(axis=1) == 2
    corners = free[here[:, 0], there[:, 1]] & free[there[:, 0], here[:, 1]]
    if not corners[diagonal].all():
        raise ValueError("the path cuts a corner")
    diagonals = int(diagonal.sum())
    return (len(steps) - diagonals) + diagonals * SQRT2


def corner_free(free: NDArray[np.bool_], step: Cell) -> NDArray[np.bool_]:
    """Cells from which a diagonal `step` squeezes past no obstacle and not past the edge of the map."""
    padded = np.pad(free, 1)
    height, width = free.shape
    vertical = padded[1 + step[0] : 1 + step[0] + height, 1 : 1 + width]
    horizontal = padded[1 : 1 + height, 1 + step[1] : 1 + step[1] + width]
    return vertical & horizontal


class Peer(ABC):
    """One library on one map. Rows and columns in, whatever the library calls a path out of `query`."""

    name: ClassVar[str]
    """How tables call it."""
    distribution: ClassVar[str]
    """Its name on PyPI, for `version`."""
    slow: ClassVar[bool] = False
    """Written in Python: seconds per long query and millions of objects, so give it few queries."""

    free: NDArray[np.bool_]
    setup_seconds: float
    """Time to build the map's structures once, import excluded."""

    @abstractmethod
    def query(self, start: Cell, goal: Cell) -> Any:
        """Search and build the path: the part to time. None if there is none. Both cells must be free."""

    @abstractmethod
    def cells(self, path: Any) -> NDArray[np.integer]:
        """The library's path as (n, 2) rows and columns; kept out of `query` so as not to be timed."""

    def cost(self, path: Any) -> float | None:
        """Length of what `query` returned, every step checked against the rules."""
        return None if path is None else path_cost(self.free, self.cells(path))

    def solve(self, start: Cell, goal: Cell) -> float | None:
        """Cost of the path found, or None: a blocked end means no path (the libraries disagree on that)."""
        if not (self.free[start] and self.free[goal]):
            return None
        path = self.query(start, goal)
        if path is None:
            return None
        cells = self.cells(path)
        if tuple(cells[0].tolist()) != start or tuple(cells[-1].tolist()) != goal:
            raise ValueError(f"{self.name} returned a path that does not join {start} to {goal}")
        return path_cost(self.free, cells)

    @property
    def version(self) -> str:
        """Installed version of the library, to print beside its times."""
        return importlib.metadata.version(self.distribution)


class W9AStar(Peer):
    """w9-pathfinding: C++ behind Cython, doubles, cells as (x, y), octile heuristic built in.

    Grid and finder are kept: the finder holds no results between queries.
    """

    name = "w9-pathfinding AStar"
    distribution = "w9-pathfinding"
    finder: ClassVar[str] = "AStar"

    def __init__(self, free: NDArray[np.bool_]) -> None:
        envs = load("w9_pathfinding.envs", self.distribution)
        finders = load("w9_pathfinding.pf", self.distribution)
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        began = time.perf_counter()
        # The diagonal multiplier is 1 unless given: without it this would be another problem.
        self._grid = envs.Grid(
            weights=np.where(self.free, 1.0, -1.0).tolist(),
            diagonal_movement=envs.DiagonalMovement.only_when_no_obstacle,
            diagonal_movement_cost_multiplier=SQRT2,
        )
        self._finder = getattr(finders, self.finder)(self._grid)
        self.setup_seconds = time.perf_counter() - began

    def query(self, start: Cell, goal: Cell) -> list[Cell] | None:
        return self._finder.find_path((start[1], start[0]), (goal[1], goal[0])) or None

    def cells(self, path: Sequence[Cell]) -> NDArray[np.integer]:
        return np.asarray(path, dtype=np.intp)[:, ::-1]


class W9BiAStar(W9AStar):
    """The same library's bidirectional A*: also optimal, but not the same algorithm, so not among `PEERS`."""

    name = "w9-pathfinding BiAStar"
    finder = "BiAStar"


class TcodAStar(Peer):
    """tcod: C, with integer costs, so sqrt 2 is the fraction 19601 / 13860, wrong by 2e-9.

    Distances are 32-bit: that scale leaves room for paths of length 150 000, a finer one for less than half.
    A Pathfinder serves one root and must be cleared for the next, which costs time in proportion to the map;
    that is timed, as a user cannot avoid it.
    """

    name = "tcod Pathfinder"
    distribution = "tcod"
    cardinal: ClassVar[int] = 13860
    diagonal: ClassVar[int] = 19601

    def __init__(self, free: NDArray[np.bool_]) -> None:
        tcod_path = load("tcod.path", self.distribution)
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        began = time.perf_counter()
        enter = self.free.astype(np.int8)
        self._graph = tcod_path.CustomGraph(self.free.shape)
        for step in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            self._graph.add_edge(step, self.cardinal, cost=enter)
        for step in DIAGONALS:
            # A condition holds at the cell left, so each direction needs its own.
            condition = corner_free(self.free, step).astype(np.int8)
            self._graph.add_edge(step, self.diagonal, cost=enter, condition=condition)
        self._graph.set_heuristic(cardinal=self.cardinal, diagonal=self.diagonal)
        self._pathfinder = tcod_path.Pathfinder(self._graph)
        self.setup_seconds = time.perf_counter() - began

    def query(self, start: Cell, goal: Cell) -> NDArray[np.integer] | None:
        self._pathfinder.clear()
        self._pathfinder.add_root(start)
        path = self._pathfinder.path_to(goal)
        # An unreachable goal gives a path of the goal alone.
        return path if len(path) > 1 or start == goal else None

    def cells(self, path: NDArray[np.integer]) -> NDArray[np.integer]:
        return path


class NetworkXAStar(Peer):
    """networkx: pure Python on dictionaries, the graph most users already have.

    It keeps a dictionary per edge, so to build it for a 1024 x 1024 map takes some 10 seconds and a gigabyte.
    """

    name = "networkx astar_path"
    distribution = "networkx"
    slow = True

    def __init__(self, free: NDArray[np.bool_]) -> None:
        self._networkx = load("networkx", self.distribution)
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        began = time.perf_counter()
        self._graph = self._networkx.Graph()
        # One tuple per cell, shared by all its edges, saves memory.
        node = np.empty(self.free.shape, dtype=object)
        for row, column in np.argwhere(self.free).tolist():
            node[row, column] = (row, column)
        self._graph.add_nodes_from(node[self.free])
        for step, weight in (((0, 1), 1.0), ((1, 0), 1.0), ((1, 1), SQRT2), ((1, -1), SQRT2)):
            legal = self.free if 0 in step else self.free & corner_free(self.free, step)
            here = np.argwhere(legal)
            there = here + step
            inside = ((there >= 0) & (there < self.free.shape)).all(axis=1)
            here, there = here[inside], there[inside]
            enters = self.free[there[:, 0], there[:, 1]]
            ends = zip(node[tuple(here[enters].T)], node[tuple(there[enters].T)], strict=True)
            self._graph.add_edges_from(ends, weight=weight)
        self.setup_seconds = time.perf_counter() - began

    @staticmethod
    def _octile(here: Cell, goal: Cell) -> float:
        rows, columns = abs(here[0] - goal[0]), abs(here[1] - goal[1])
        return rows + (SQRT2 - 1.0) * columns if rows > columns else columns + (SQRT2 - 1.0) * rows

    def query(self, start: Cell, goal: Cell) -> list[Cell] | None:
        try:
            return self._networkx.astar_path(self._graph, start, goal, heuristic=self._octile, weight="weight")
        except self._networkx.NetworkXNoPath:
            return None

    def cells(self, path: Sequence[Cell]) -> NDArray[np.integer]:
        return np.asarray(path, dtype=np.intp)


class PathfindingAStar(Peer):
    """pathfinding: pure Python, one object per cell, cells as (x, y).

    The search writes into the grid's nodes, so every node is reset before the next query: a cost in
    proportion to the map, timed as a user cannot avoid it.
    """

    name = "pathfinding AStarFinder"
    distribution = "pathfinding"
    slow = True

    def __init__(self, free: NDArray[np.bool_]) -> None:
        grid = load("pathfinding.core.grid", self.distribution)
        rule = load("pathfinding.core.diagonal_movement", self.distribution).DiagonalMovement
        heuristic = load("pathfinding.core.heuristic", self.distribution).octile
        finder = load("pathfinding.finder.a_star", self.distribution).AStarFinder
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        began = time.perf_counter()
        self._grid = grid.Grid(matrix=self.free.astype(int).tolist())
        self._finder = finder(heuristic=heuristic, diagonal_movement=rule.only_when_no_obstacle)
        # Newer releases reset a used grid themselves; to do it here as well would charge them twice.
        self._resets_itself = hasattr(self._grid, "dirty")
        self.setup_seconds = time.perf_counter() - began

    def query(self, start: Cell, goal: Cell) -> list[Any] | None:
        if not self._resets_itself:
            self._grid.cleanup()
        here, there = self._grid.node(start[1], start[0]), self._grid.node(goal[1], goal[0])
        path, _ = self._finder.find_path(here, there, self._grid)
        return path or None

    def cells(self, path: Sequence[Any]) -> NDArray[np.integer]:
        return np.asarray([(node.y, node.x) for node in path], dtype=np.intp)


PEERS: tuple[type[Peer], ...] = (W9AStar, TcodAStar, NetworkXAStar, PathfindingAStar)
"""The peers to compare with, fastest first."""
