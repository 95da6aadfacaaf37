"""Records between random states: optimal paths, compressed into a few subgoals each.

Two ways to make them:

* ``paths``: A* for every record, as published.
* ``trees``: one Dijkstra search from a random root holds an optimal path to every state, and every part of such a path
  is optimal too. So a tree gives hundreds of records for the price of a few A* searches.

Record i depends on the seed and on i alone (or on the tree it belongs to). So the file does not depend on the number
of workers, nor on how often the work was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import WorldError
from ..kernels.best_first import SEARCH
from ..kernels.compression import compress
from ..kernels.layout import COUNTS, WEIGHT_ONE
from ..kernels.shortest_paths import optimal_path, tree_from, tree_path
from ..kernels.subgoal_records import SubgoalRecords
from ..kernels.ticks import new_clock
from ..kernels.workspace import Workspace, new_record
from ..worlds.grid import Grid
from .checks import free_cells
from .parts import Part, Workshop

__all__ = ["CLIMB_LIMIT", "MODES", "Maker", "between_random_states", "tree_order"]

MODES = ("paths", "trees")
CLIMB_LIMIT = 10_000  # steps, off-line
PER_TREE = 400  # records taken from one Dijkstra search
CHUNK = {"paths": 64, "trees": PER_TREE}  # records that are made at a time
_COLUMNS = dict.fromkeys(("starts", "ends", "lengths", "subgoals"), np.int32)  # of a finished part
_TRIES = 1000  # random pairs for one record, before a map is called too easy
_ROOTS = 20  # roots for one tree's records, before the same


def between_random_states(world: Grid, records: int, mode: str, seed: int, workshop: Workshop) -> SubgoalRecords:
    """So many records, in the order of the k-d tree."""
    size = CHUNK[mode]
    todo = [
        Chunk(number, first, min(size, records - first), seed, mode)
        for number, first in enumerate(range(0, records, size))
    ]
    count = "records", lambda chunk: chunk.count
    return _assembled(world, workshop.parts(_make_chunk, todo, columns=_COLUMNS, fits=_fits, count=count))


@dataclass(frozen=True)
class Chunk:
    """Records that are made at a time."""

    number: int
    first: int  # the number of its first record
    count: int
    seed: int
    mode: str

    @property
    def work(self) -> dict[str, Any]:
        return asdict(self)


def _make_chunk(world: Grid, chunk: Chunk) -> Part:
    """The records of a chunk."""
    maker = Maker(world)
    try:
        made = list(maker.paths(chunk) if chunk.mode == "paths" else maker.tree(chunk))
    finally:
        maker.close()
    return {
        "starts": np.array([start for start, _, _ in made], np.int32),
        "ends": np.array([end for _, end, _ in made], np.int32),
        "lengths": np.array([len(subgoals) for _, _, subgoals in made], np.int32),
        "subgoals": np.concatenate([subgoals for _, _, subgoals in made]).astype(np.int32),
    }


def _fits(world: Grid, chunk: Chunk, part: Part) -> bool:
    """Whether a part can be that of a chunk."""
    starts, ends, lengths, subgoals = (part[name] for name in _COLUMNS)
    return (
        len(starts) == len(ends) == len(lengths) == chunk.count
        and bool((lengths > 0).all())
        and lengths.sum(dtype=np.int64) == len(subgoals)
        and all(free_cells(cells, world.free_by_state) for cells in (starts, ends, subgoals))
    )


class Maker:
    """Makes records in one thread."""

    def __init__(self, world: Grid) -> None:
        self._world = world
        self._parts = world.parts()
        self._workspace = Workspace.of(world)
        self._search, self._counts = new_record(SEARCH), new_record(COUNTS)
        self._path, self._subgoals = np.empty(4096, np.int64), np.empty(4096, np.int64)

    def close(self) -> None:
        self._workspace.release()

    def paths(self, chunk: Chunk) -> Iterator[tuple[int, int, np.ndarray]]:
        """A* for each record. Those that need no subgoal are dropped, and another pair is drawn."""
        self._search["g_weight"] = self._search["h_weight"] = WEIGHT_ONE
        self._search["reopen"] = 1
        for number in range(chunk.first, chunk.first + chunk.count):
            random = np.random.default_rng([chunk.seed, number])
            for _ in range(_TRIES):
                start, goal = (int(s) for s in self._world.random_states(2, random))
                if start == goal or self._parts[start] != self._parts[goal]:
                    continue
                path = self._between(start, goal)
                subgoals = self._compressed(path)
                if len(subgoals):
                    yield start, goal, subgoals
                    break
            else:
                raise WorldError("nearly all paths of this map need no subgoal: hill-climbing is enough here")

    def tree(self, chunk: Chunk) -> Iterator[tuple[int, int, np.ndarray]]:
        """Many records from one Dijkstra search: paths from the root, and parts of them."""
        random = np.random.default_rng([chunk.seed, chunk.number])
        left = chunk.count
        for _ in range(_ROOTS):
            for record in self._from_root(random, left):
                yield record
                left -= 1
            if left == 0:
                return
        raise WorldError("nearly all paths of this map need no subgoal: hill-climbing is enough here")

    def _from_root(self, random: np.random.Generator, count: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """Up to ``count`` records from one root; fewer if it lies in a small part of the map, cut off from the rest."""
        root = int(self._world.random_states(1, random)[0])
        self._search = tree_from(self._world.view, self._workspace, root)
        made = in_vain = 0
        while made < count and in_vain < _TRIES:
            in_vain += 1
            end = int(self._world.random_states(1, random)[0])
            if end == root or self._parts[end] != self._parts[root]:
                continue
            path = self._traced(partial(tree_path, self._world.view, self._workspace.table, self._search, end))
            # Any part of an optimal path is one: it begins anywhere, and may be walked either way.
            path = path[int(random.integers(len(path) - 1)) if len(path) > 2 else 0 :]
            if random.integers(2):
                path = path[::-1].copy()
            subgoals = self._compressed(path)
            if len(subgoals):
                yield int(path[0]), int(path[-1]), subgoals
                made, in_vain = made + 1, 0

    def _between(self, start: int, goal: int) -> np.ndarray:
        self._search["paused"] = 0
        clock = new_clock()

        def attempt(path: np.ndarray) -> int:
            arrays = self._workspace.table, self._workspace.queue, self._search, self._counts
            length = -3
            while length == -3:  # it takes long: an interrupt may come in between
                length = int(optimal_path(self._world.view, *arrays, start, goal, path, clock))
            return length

        return self._traced(attempt)

    def _traced(self, attempt: Callable[[np.ndarray], int]) -> np.ndarray:
        while True:
            length = attempt(self._path)
            if length > 0:
                return self._path[len(self._path) - length :]
            if length == 0:
                raise AssertionError("two connected cells have no path between them")
            if length == -1:
                self._workspace.enlarge()
            else:
                self._path = np.empty(2 * len(self._path), np.int64)

    def _compressed(self, path: np.ndarray) -> np.ndarray:
        if len(self._subgoals) < len(path):
            self._subgoals = np.empty(2 * len(path), np.int64)
        count = compress(self._world.view, path, self._subgoals, CLIMB_LIMIT)
        return self._subgoals[:count].copy()


def _assembled(world: Grid, parts: Sequence[Part]) -> SubgoalRecords:
    """All records, in the order of the k-d tree."""
    starts, ends, lengths, subgoals = (np.concatenate([part[name] for part in parts]) for name in _COLUMNS)
    points = np.concatenate([world.points_of(starts), world.points_of(ends)], axis=1)
    order = tree_order(points)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    first = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int32)
    moved = np.concatenate([subgoals[begins[k] : begins[k + 1]] for k in order]) if len(order) else subgoals
    return SubgoalRecords(starts[order], ends[order], first, moved.astype(np.int32))


def tree_order(points: np.ndarray, leaf: int = 1) -> np.ndarray:
    """The order in which each part with more than ``leaf`` is split at its middle by the coordinates in turn."""
    order = np.arange(len(points))
    todo = [(0, len(points), 0)]
    while todo:
        low, high, depth = todo.pop()
        if high - low <= leaf:
            continue
        middle = (low + high) // 2
        part = order[low:high]
        # Sorted, not only partitioned: the same records then always come in the same order.
        order[low:high] = part[np.lexsort((part, points[part, depth % points.shape[1]]))]
        todo += [(low, middle, depth + 1), (middle + 1, high, depth + 1)]
    return order
