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
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import WorldError
from ..kernels.climbing import CLIMB
from ..kernels.compression import compress_both, costs_along
from ..kernels.coverage_records import GRAIN, TIERS, CoverageRecords, answer, new_query, no_coverage_records
from ..kernels.kd_tree import LEAF
from ..kernels.shortest_paths import tree_from, tree_path
from ..kernels.workspace import new_record
from ..workers import Progress, on_dask, on_threads, scheduler
from ..worlds.grid import Grid
from .checks import LONGEST, free_cells, rising_within
from .subgoals import CLIMB_LIMIT, Maker, Part, WorldCopy, finished_part, frozen, keep_part, packed_part, tree_order

__all__ = ["Trail", "covering", "indexed"]

TREES = 16  # in a round
PER_TREE = 8  # records that one may give
DRAWS = 400  # problems tried on it
BARS = (math.inf, 2.0, 1.5, 1.2)  # of the optimal cost
ENOUGH = 0.003  # the share of problems missing in a round at which the bar is lowered
STEP = 4  # one cell of so many is in a higher tier
_COLUMNS = ("lengths", "points", "walked", "problems", "tried")  # of a finished part
ASKED = 10, 250  # how the agent asks if it is not told otherwise: candidates, and steps of a climb


class Trail(NamedTuple):
    """A record, and the problem that it was made for."""

    points: np.ndarray  # of an optimal path: its subgoals, and its start and end if they are needed
    walked: np.ndarray  # what it costs to get to each, in GRAINs
    problem: np.ndarray  # start, goal and optimal cost


class Search(NamedTuple):
    """One tree's worth of work."""

    number: int
    seed: int
    bar: float

    @property
    def work(self) -> dict[str, int | str]:
        """As plain values: JSON knows no infinity."""
        return {**self._asdict(), "bar": str(self.bar)}


def covering(
    world: Grid,
    most: int,
    seed: int,
    jobs: int,
    dask: str | None,
    folder: Path | None,
    progress: Progress | None,
) -> CoverageRecords:
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
                    fresh += [trail for trail in found[search.number][0] if finder.lacks(known, trail.problem, bar)]
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


def indexed(world: Grid, trails: Sequence[Trail], known: CoverageRecords | None = None) -> CoverageRecords:
    """Records, after those of ``known``, and where each cell is a point of them."""
    known = known or no_coverage_records()
    points = np.concatenate([known.cells[known.points], *(trail.points for trail in trails)])
    walked = np.concatenate([known.walked, *(trail.walked for trail in trails)])
    if walked.max(initial=0) > LONGEST:
        raise WorldError("paths of this map are too long for a database with coverage; make one without")
    ends = known.first[-1] + np.cumsum([len(trail.points) for trail in trails])
    cells, numbers = np.unique(points, return_inverse=True)
    tiers = [0, *(len(cells) - len(cells) // STEP**k for k in range(1, TIERS)), len(cells)]
    order = np.argsort(np.bincount(numbers), kind="stable")  # the most used come last
    for a, b in pairwise(tiers):
        order[a:b] = order[a:b][tree_order(world.points_of(cells[order[a:b]]), LEAF)]
    numbers = np.argsort(order)[numbers]
    used = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(cells)))])
    uses = np.argsort(numbers, kind="stable")
    first = np.concatenate([known.first, ends])
    arrays = numbers, first, walked, cells[order], np.array(tiers), used, uses
    return frozen(CoverageRecords(*(array.astype(np.int32) for array in arrays)))


def _searched(
    world: Grid, todo: list[Search], known: CoverageRecords, jobs: int, dask: str | None, folder: Path | None
) -> dict[int, tuple[list[Trail], int]]:
    """What each tree of a round gives: those that are not in the folder yet are searched."""
    done: dict[int, Part] = {}
    for search in todo:
        part = finished_part(folder, search.number, search.work, _COLUMNS, np.int64)
        if part is not None and _fits(world, part):
            done[search.number] = part
    missing = [search for search in todo if search.number not in done]
    made: Iterator[tuple[int, bytes]]
    if not missing:
        made = iter(())
    elif dask is None:
        made = on_threads(partial(_search, world, known), missing, jobs)
    else:
        made = on_dask(_search_there, missing, dask, jobs, shared=(WorldCopy.of(world), known))
    for number, data in made:
        done[number] = keep_part(folder, number, data)
    return {number: _unpacked(part) for number, part in done.items()}


def _search_there(search: Search, shared: tuple[WorldCopy, CoverageRecords]) -> tuple[int, bytes]:
    """A tree searched in another process."""
    return _search(shared[0].world(), frozen(shared[1]), search)


def _search(world: Grid, known: CoverageRecords, search: Search) -> tuple[int, bytes]:
    """What is missing, as the bytes of a file."""
    finder = Finder(world)
    try:
        found, tried = finder.missing(search, known)
    finally:
        finder.close()
    none = np.empty(0, np.int64)
    columns = {
        "lengths": np.array([len(trail.points) for trail in found], np.int64),
        "points": np.concatenate([none, *(trail.points for trail in found)]),
        "walked": np.concatenate([none, *(trail.walked for trail in found)]),
        "problems": np.concatenate([none, *(trail.problem for trail in found)]),
        "tried": np.array([tried], np.int64),
    }
    return search.number, packed_part(search.work, columns)


def _fits(world: Grid, part: Part) -> bool:
    """Whether a part can be what a tree gave."""
    lengths, points, walked, problems, tried = (part[name] for name in _COLUMNS)
    ends = np.cumsum(lengths)
    return (
        len(lengths) <= PER_TREE
        and bool(((lengths > 0) & (lengths <= len(points))).all())
        and len(points) == len(walked) == (ends[-1] if len(ends) else 0)
        and len(problems) == 3 * len(lengths)
        and len(tried) == 1
        and len(lengths) <= tried[0] <= DRAWS
        and free_cells(points, world._free)
        and free_cells(problems.reshape(-1, 3)[:, :2].ravel(), world._free)
        and bool((walked >= 0).all())
        and rising_within(walked, ends)
    )


def _unpacked(part: Part) -> tuple[list[Trail], int]:
    lengths, points, walked, problems, tried = (part[name] for name in _COLUMNS)
    ends = np.cumsum(lengths)
    parts = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    trails = [
        Trail(points[one], walked[one], problem) for one, problem in zip(parts, problems.reshape(-1, 3), strict=True)
    ]
    return trails, int(tried[0])


class Finder(Maker):
    """Finds what is missing, in one thread."""

    def __init__(self, world: Grid) -> None:
        super().__init__(world)
        self._popular = np.zeros(world.states, np.int32)
        self._query, self._climb = new_query(ASKED[0], 1), new_record(CLIMB)

    def missing(self, search: Search, known: CoverageRecords) -> tuple[list[Trail], int]:
        """Problems of one tree that neither ``known`` nor the records before them answer, and how many were tried."""
        random = np.random.default_rng([search.seed, search.number])
        root = int(self._world.random_states(1, random)[0])
        self._search = tree_from(self._world.view, self._workspace, root)
        found: list[Trail] = []
        own = known
        tried = 0
        for end in self._world.random_states(DRAWS, random):
            if end == root or self._parts[end] != self._parts[root]:
                continue
            tried += 1
            path = self._traced(partial(tree_path, self._world.view, self._workspace.table, self._search, int(end)))
            problem = np.array([root, end, self._walked(path, path[:0])[-1]])
            if self.lacks(own, problem, search.bar):
                trail, own = self._added(own, path, problem, search.bar)
                found.append(trail)
                if len(found) == PER_TREE:
                    break
        return found, tried

    def lacks(self, known: CoverageRecords, problem: np.ndarray, bar: float) -> bool:
        """Whether an agent with these records would find no way as good as ``bar``."""
        if len(self._query.marks) < len(known.cells):
            self._query = new_query(ASKED[0], 2 * len(known.cells))
        start, goal, optimal = (int(number) for number in problem)
        cost = answer(self._world.view, known, self._query, self._climb, start, goal, ASKED[1], CLIMB_LIMIT)
        return bool(cost < 0 or cost > bar * optimal)

    def _added(
        self, known: CoverageRecords, path: np.ndarray, problem: np.ndarray, bar: float
    ) -> tuple[Trail, CoverageRecords]:
        """A record for the problem, and all records with it.

        Subgoals are corners, which many problems share; a start and an end are of use to few, and hide the subgoals
        behind them from those who ask what is near. So they belong to a record only if it is not found without.
        """
        self._popular[known.cells] = np.diff(known.used)
        subgoals = self._compressed_both(path)
        points = np.concatenate([path[:1], subgoals, path[-1:]])
        walked = self._walked(path, subgoals)
        for part in (slice(1, -1), slice(0, -1), slice(1, None), slice(None)):
            trail = Trail(points[part], walked[part], problem)
            if len(trail.points):
                every = indexed(self._world, [trail], known)
                if not self.lacks(every, problem, bar):
                    break
        return trail, every

    def _walked(self, path: np.ndarray, subgoals: np.ndarray) -> np.ndarray:
        walked = np.zeros(len(subgoals) + 2, np.int64)
        costs_along(self._world.view, path, subgoals, walked[1:])
        return walked // GRAIN

    def _compressed_both(self, path: np.ndarray) -> np.ndarray:
        subgoals = np.empty(len(path), np.int64)
        return subgoals[: compress_both(self._world.view, path, self._popular, subgoals, CLIMB_LIMIT)]
