"""Records chosen for what is missing: only problems that the records before them do not answer become records.

The work goes in rounds. In each, some Dijkstra trees are searched for problems that an agent with the records of the
earlier rounds could not solve: it would find no way, or one that is worse than a bar allows. At first any way will do;
when a round finds hardly anything missing, the bar is lowered. The problems that are found become records, in order,
unless those of the same round already answer them.

What a tree finds depends on the seed, on its number and on the rounds before, so neither on the number of workers nor
on how often the work was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..engine import on_dask, on_threads, scheduler
from ..errors import WorldError
from ..kernels.climbing import CLIMB
from ..kernels.records import tree_path
from ..kernels.trails import GRAIN, Trails, answer, compress_both, distances, new_inquiry
from ..kernels.workspace import records
from ..worlds.grid import Grid
from .subgoals import CLIMB_LIMIT, Maker, Progress, WorldCopy, frozen, keep, part_name, tree_order

__all__ = ["Trail", "covering", "indexed"]

TREES = 16  # in a round
PER_TREE = 8  # records that one may give
DRAWS = 400  # problems tried on it
BARS = (math.inf, 2.0, 1.5, 1.2, 1.1)  # of the optimal cost
ENOUGH = 0.003  # the share of problems missing in a round at which the bar is lowered
ASKED = 10, 250  # how the agent asks if it is not told otherwise: candidates, and steps of a climb


class Trail(NamedTuple):
    """A record: the points of an optimal path, start, subgoals and end, and what it costs to get to each."""

    points: np.ndarray
    walked: np.ndarray


class Search(NamedTuple):
    """One tree's worth of work."""

    number: int
    seed: int
    bar: float


def covering(
    world: Grid,
    most: int,
    seed: int,
    jobs: int,
    dask: str | None,
    folder: Path | None,
    progress: Progress | None,
) -> Trails:
    """Up to ``most`` records: fewer if hardly anything is missing before. Finished parts are kept in ``folder``."""
    chosen: list[Trail] = []
    bars = iter(BARS)
    bar = next(bars, None)
    number = 0
    finder = Finder(world)
    try:
        with nullcontext() if dask is None else scheduler(dask, jobs) as address:
            while len(chosen) < most and bar is not None:
                todo = [Search(number + k, seed, bar) for k in range(TREES)]
                found = _searched(world, todo, indexed(world, chosen), jobs, address, folder)
                fresh: list[Trail] = []
                for search in todo:
                    known = indexed(world, fresh)
                    fresh += [trail for trail in found[search.number][0] if finder.lacks(known, trail, bar)]
                chosen += fresh
                number += TREES
                if progress is not None:
                    progress(min(len(chosen), most), most, "records")
                if len(fresh) <= ENOUGH * sum(tried for _, tried in found.values()):
                    bar = next(bars, None)
    finally:
        finder.close()
    if not chosen:
        raise WorldError("nearly all paths of this map need no subgoal: hill-climbing is enough here")
    return indexed(world, chosen[:most])


def indexed(world: Grid, trails: Sequence[Trail]) -> Trails:
    """Records, and where each cell is a point of them."""
    none = np.empty(0, np.int64)
    points = np.concatenate([none, *(trail.points for trail in trails)])
    walked = np.concatenate([none, *(trail.walked for trail in trails)])
    first = np.cumsum([0, *(len(trail.points) for trail in trails)])
    cells, numbers = np.unique(points, return_inverse=True)
    order = tree_order(world.points_of(cells))
    numbers = np.argsort(order)[numbers]
    used = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(cells)))])
    uses = np.argsort(numbers, kind="stable")
    return frozen(Trails(*(a.astype(np.int32) for a in (numbers, first, walked, cells[order], used, uses))))


def _searched(
    world: Grid, todo: list[Search], known: Trails, jobs: int, dask: str | None, folder: Path | None
) -> dict[int, tuple[list[Trail], int]]:
    """What each tree of a round gives: those that are not in the folder yet are searched."""
    done: dict[int, bytes] = {}
    if folder is not None:
        for search in todo:
            file = folder / part_name(search.number)
            if file.is_file():
                done[search.number] = file.read_bytes()
    missing = [search for search in todo if search.number not in done]
    made: Iterator[tuple[int, bytes]]
    if not missing:
        made = iter(())
    elif dask is None:
        made = on_threads(partial(_search, world, known), missing, jobs)
    else:
        made = on_dask(_search_there, missing, dask, jobs, shared=(WorldCopy.of(world), known))
    for number, data in made:
        if folder is not None:
            keep(folder / part_name(number), data)
        done[number] = data
    return {number: _unpacked(data) for number, data in done.items()}


def _search_there(search: Search, shared: tuple[WorldCopy, Trails]) -> tuple[int, bytes]:
    """A tree searched in another process."""
    return _search(shared[0].world(), frozen(shared[1]), search)


def _search(world: Grid, known: Trails, search: Search) -> tuple[int, bytes]:
    """What is missing, as the bytes of a file."""
    finder = Finder(world)
    try:
        found, tried = finder.missing(search, known)
    finally:
        finder.close()
    none = np.empty(0, np.int64)
    out = BytesIO()
    np.savez(
        out,
        lengths=np.array([len(trail.points) for trail in found], np.int64),
        points=np.concatenate([none, *(trail.points for trail in found)]),
        walked=np.concatenate([none, *(trail.walked for trail in found)]),
        tried=np.array(tried),
    )
    return search.number, out.getvalue()


def _unpacked(data: bytes) -> tuple[list[Trail], int]:
    with np.load(BytesIO(data)) as loaded:
        cuts = np.cumsum(loaded["lengths"])[:-1]
        if len(loaded["lengths"]) == 0:
            return [], int(loaded["tried"])
        pairs = zip(np.split(loaded["points"], cuts), np.split(loaded["walked"], cuts), strict=True)
        return [Trail(points, walked) for points, walked in pairs], int(loaded["tried"])


class Finder(Maker):
    """Finds what is missing, in one thread."""

    def __init__(self, world: Grid) -> None:
        super().__init__(world)
        self._inquiry, self._climb = new_inquiry(ASKED[0], 1), records(CLIMB)

    def missing(self, search: Search, known: Trails) -> tuple[list[Trail], int]:
        """Problems of one tree that neither ``known`` nor the records before them answer, and how many were tried."""
        random = np.random.default_rng([search.seed, search.number])
        root = int(self._world.random_states(1, random)[0])
        self._grow(root)
        found: list[Trail] = []
        own = indexed(self._world, found)
        tried = 0
        for end in self._world.random_states(DRAWS, random):
            if end == root or self._parts[end] != self._parts[root]:
                continue
            tried += 1
            path = self._traced(partial(tree_path, self._world.view, self._workspace.table, self._search, int(end)))
            if random.integers(2):
                path = path[::-1].copy()
            whole = self._trail(path, path[:0])
            if self.lacks(known, whole, search.bar) and self.lacks(own, whole, search.bar):
                found.append(self._trail(path, self._compressed_both(path)))
                if len(found) == PER_TREE:
                    break
                own = indexed(self._world, found)
        return found, tried

    def lacks(self, known: Trails, trail: Trail, bar: float) -> bool:
        """Whether an agent with these records would find no way as good as ``bar`` between the ends of a trail."""
        if len(self._inquiry.marks) < len(known.cells):
            self._inquiry = new_inquiry(ASKED[0], 2 * len(known.cells))
        start, goal = int(trail.points[0]), int(trail.points[-1])
        cost = answer(self._world.view, known, self._inquiry, self._climb, start, goal, ASKED[1], CLIMB_LIMIT)
        return bool(cost < 0 or cost > bar * trail.walked[-1])

    def _trail(self, path: np.ndarray, subgoals: np.ndarray) -> Trail:
        walked = np.zeros(len(subgoals) + 2, np.int64)
        distances(self._world.view, path, subgoals, walked[1:])
        return Trail(np.concatenate([path[:1], subgoals, path[-1:]]), walked // GRAIN)

    def _compressed_both(self, path: np.ndarray) -> np.ndarray:
        subgoals = np.empty(len(path), np.int64)
        return subgoals[: compress_both(self._world.view, path, subgoals, CLIMB_LIMIT)]
