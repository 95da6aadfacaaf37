"""Subgoal databases for kNN LRTA*: optimal paths between random states, compressed into a few subgoals each.

A record is a path's start and end, and the subgoals between: states that a greedy agent can climb to one after the
other. Two ways to make them, both from optimal paths between random states:

* ``paths``: A* for every record, as published.
* ``trees``: one Dijkstra search from a random root holds an optimal path to every state, and every part of such a path
  is optimal too. So a tree gives hundreds of records for the price of a few A* searches.

Record i depends on the seed and on i alone (or on the tree it belongs to). So the file does not depend on the number
of workers, nor on how often the work was interrupted.

``coverage`` chooses them better than at random: see coverage.py.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..atomic import alone, file_named, make_folder, write_whole
from ..errors import DatabaseError, SpecError, WorldError, at_least, check_world
from ..kernels.best_first import SEARCH
from ..kernels.compression import compress
from ..kernels.coverage_records import CoverageRecords, no_coverage_records
from ..kernels.jit import sources_digest
from ..kernels.layout import COUNTS, WEIGHT_ONE
from ..kernels.shortest_paths import optimal_path, tree_from, tree_path
from ..kernels.subgoal_records import SubgoalRecords
from ..kernels.ticks import new_clock
from ..kernels.workspace import Workspace, new_record
from ..workers import Progress, on_dask, on_threads
from ..worlds.grid import Grid
from . import files
from .checks import fault, free_cells

__all__ = ["CODE", "KIND", "SubgoalDatabase", "load_database", "prepare"]

KIND = "knn-lrta*"
PART = f"part for {KIND}"
CODE = sources_digest().hex()[:12]  # parts made by other code are not mixed with ours
MODES = ("paths", "trees")
CLIMB_LIMIT = 10_000  # steps, off-line
PER_TREE = 400  # records taken from one Dijkstra search
_CHUNK = {"paths": 64, "trees": PER_TREE}
_COLUMNS = ("starts", "ends", "lengths", "subgoals")  # of a finished part
_TRIES = 1000  # random pairs for one record, before a map is called too easy
_ROOTS = 20  # roots for one tree's records, before the same

R = TypeVar("R", bound=SubgoalRecords | CoverageRecords)
Part = dict[str, np.ndarray]  # finished work, as named arrays


@dataclass(frozen=True)
class SubgoalDatabase:
    """Records for one world. ``tb.load_database(file, world)`` opens one; pass it as ``database=``."""

    digest: str
    records: SubgoalRecords | CoverageRecords
    settings: dict[str, Any]
    rules: tuple[Any, ...]  # the size of the map, and how one may move on it
    spare: list[Any] = field(default_factory=list, compare=False, repr=False)  # room for questions: a pool

    @classmethod
    def empty(cls, world: Any, coverage: bool = False) -> SubgoalDatabase:
        """One without records: an agent then does without."""
        none = np.empty(0, np.int32)
        found = no_coverage_records() if coverage else SubgoalRecords(none, none, np.zeros(1, np.int32), none)
        return cls(world.digest, frozen(found), {"records": 0, "coverage": coverage}, _rules(world))

    def __len__(self) -> int:
        return len(self.records.first) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.records)

    @property
    def states(self) -> int:
        """States stored: starts, ends and subgoals."""
        if isinstance(self.records, CoverageRecords):
            return len(self.records.points)
        return 2 * len(self) + len(self.records.subgoals)

    def fits(self, world: Any) -> bool:
        """Whether its states are states of this world, which may have been edited since."""
        return self.rules == _rules(world)

    def __repr__(self) -> str:
        return f"<SubgoalDatabase of {len(self):,} records, {self.nbytes / 1e6:.2f} MB>"


def _rules(world: Any) -> tuple[Any, ...]:
    if not isinstance(world, Grid):
        return (world.states,)  # only grids have databases, but for empty ones
    return world.shape, *sorted(world._options().items())


def load_database(path: str | Path, world: Any) -> SubgoalDatabase:
    """Open a database made by ``timebound prepare`` for this world. It is mapped into memory, not read.

    >>> import tempfile, timebound as tb
    >>> world = tb.Grid(tb.generate.rooms((40, 40), room=8, seed=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tb.prepare(world, folder + "/rooms.db", records=50, seed=1)
    ...     print(tb.load_database(folder + "/rooms.db", world))
    <SubgoalDatabase of 50 records, 0.00 MB>
    """
    check_world(world)
    header, arrays = files.read(path)
    if header["kind"] != KIND:
        raise DatabaseError(f"{path} is a database for {header['kind']}, not for {KIND}")
    if header["world"] != getattr(world, "digest", None) or not isinstance(world, Grid):
        raise DatabaseError(
            f"{path} was made for another map, or for this one under other rules; make one with timebound prepare"
        )
    covers = header["settings"].get("coverage")
    form: type[CoverageRecords | SubgoalRecords] = CoverageRecords if covers else SubgoalRecords
    if set(arrays) != set(form._fields):
        raise DatabaseError(f"{path} does not hold the arrays of a database: make it again with timebound prepare")
    found = frozen(form(**arrays))
    wrong = fault(found, world._free)
    if wrong is not None:
        raise DatabaseError(f"{path} is damaged: {wrong}; make it again with timebound prepare")
    return SubgoalDatabase(header["world"], found, header["settings"], _rules(world))


def frozen(found: R) -> R:
    """Arrays that cannot be written to, as those in a file: kernels are then compiled for one kind of array only."""
    plain = [np.asarray(array).view(np.ndarray) for array in found]
    for array in plain:
        array.flags.writeable = False
    return type(found)(*plain)


@dataclass(frozen=True)
class WorldCopy:
    """A grid on its way to another process."""

    packed: bytes
    shape: tuple[int, int]
    options: tuple[tuple[str, Any], ...]
    digest: str

    @classmethod
    def of(cls, world: Grid) -> WorldCopy:
        return cls(
            np.packbits(world.free).tobytes(), world.shape, tuple(sorted(world._options().items())), world.digest
        )

    def world(self) -> Grid:
        return _unpacked(self)


@lru_cache(maxsize=2)
def _unpacked(cells: WorldCopy) -> Grid:
    bits = np.unpackbits(np.frombuffer(cells.packed, np.uint8), count=cells.shape[0] * cells.shape[1])
    return Grid(bits.reshape(cells.shape).astype(bool), **dict(cells.options))


@dataclass(frozen=True)
class _Chunk:
    number: int
    first: int  # the number of its first record
    count: int
    seed: int
    mode: str


def _chunk_there(chunk: _Chunk, cells: WorldCopy) -> tuple[int, bytes]:
    """A chunk made in another process."""
    return _make_chunk(cells.world(), chunk)


def _make_chunk(world: Grid, chunk: _Chunk) -> tuple[int, bytes]:
    """The records of a chunk, as the bytes of a file."""
    maker = Maker(world)
    try:
        made = list(maker.paths(chunk) if chunk.mode == "paths" else maker.tree(chunk))
    finally:
        maker.close()
    columns = {
        "starts": np.array([start for start, _, _ in made], np.int32),
        "ends": np.array([end for _, end, _ in made], np.int32),
        "lengths": np.array([len(subgoals) for _, _, subgoals in made], np.int32),
        "subgoals": np.concatenate([subgoals for _, _, subgoals in made]).astype(np.int32),
    }
    return chunk.number, packed_part(asdict(chunk), columns)


def _fits(world: Grid, chunk: _Chunk, part: Part) -> bool:
    """Whether a part can be that of a chunk."""
    starts, ends, lengths, subgoals = (part[name] for name in _COLUMNS)
    return (
        len(starts) == len(ends) == len(lengths) == chunk.count
        and bool((lengths > 0).all())
        and lengths.sum(dtype=np.int64) == len(subgoals)
        and all(free_cells(cells, world._free) for cells in (starts, ends, subgoals))
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

    def paths(self, chunk: _Chunk) -> Iterator[tuple[int, int, np.ndarray]]:
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

    def tree(self, chunk: _Chunk) -> Iterator[tuple[int, int, np.ndarray]]:
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


def prepare(
    world: Any,
    path: str | Path | None,
    *,
    records: int = 10_000,
    mode: str = "trees",
    coverage: bool = False,
    seed: int = 0,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> SubgoalDatabase:
    """Make a subgoal database for a grid, write it to ``path``, and open it; with None, only in memory.

    With ``coverage`` only problems that the records before them do not answer become records, and an agent may use any
    part of them; ``records`` is then the most that there will be.

    Interrupted work goes on where it stopped: finished parts are kept beside the file until it is whole. The same
    seed gives the same bytes, whatever the number of jobs.
    """
    check_world(world)
    if not isinstance(world, Grid):
        raise WorldError("subgoal databases are for grids")
    if world._costs is not None:
        raise WorldError("subgoal databases are for grids whose cells all cost the same")
    records = at_least(1, records, "records is how many to make", 100_000_000)
    seed = at_least(0, seed, "seed is a whole number")
    jobs = at_least(1, jobs, "jobs is how many threads or workers to use")
    if mode not in MODES:
        raise SpecError(f"mode is {' or '.join(MODES)}, not {mode!r}")
    if coverage and mode != "trees":
        raise SpecError(f"coverage takes its paths from trees, so mode is trees, not {mode!r}")
    size = _CHUNK[mode]
    todo = [
        _Chunk(number, first, min(size, records - first), seed, mode)
        for number, first in enumerate(range(0, records, size))
    ]
    settings: dict[str, Any] = {"records": records, "mode": mode, "seed": seed, "climb_limit": CLIMB_LIMIT}
    if coverage:
        settings["coverage"] = True
    world.parts()  # computed once, before threads ask for it

    def made(folder: Path | None) -> SubgoalRecords | CoverageRecords:
        if coverage:
            from .coverage import covering

            return covering(world, records, seed, jobs, dask, folder, progress)
        return _at_random(world, todo, jobs, dask, folder, progress)

    if path is None:
        return SubgoalDatabase(world.digest, frozen(made(None)), settings, _rules(world))
    file = file_named(path, DatabaseError)
    if file.is_dir():
        raise DatabaseError(f"cannot write {file}: it is a folder, and a file name is needed")
    if not file.absolute().parent.is_dir():
        raise DatabaseError(f"cannot write {file}: there is no folder {file.parent}")
    busy = DatabaseError(f"another process is making {file}; wait for it, or choose another file")
    with alone(file.with_name(f".{file.name}.lock"), busy):
        with _parts_folder(file, {**settings, "world": world.digest, "code": CODE}) as folder:
            files.write(file, KIND, world.digest, settings, made(folder)._asdict())
        shutil.rmtree(folder, ignore_errors=True)  # the file is whole: what is left does no harm
    return load_database(file, world)


def _at_random(
    world: Grid, todo: list[_Chunk], jobs: int, dask: str | None, folder: Path | None, progress: Progress | None
) -> SubgoalRecords:
    """Records between random states. Finished parts are kept in ``folder``."""
    done: dict[int, Part] = {}
    for chunk in todo:
        part = finished_part(folder, chunk.number, asdict(chunk), _COLUMNS, np.int32)
        if part is not None and _fits(world, chunk, part):
            done[chunk.number] = part
    total = sum(chunk.count for chunk in todo)
    made = sum(chunk.count for chunk in todo if chunk.number in done)
    missing = [chunk for chunk in todo if chunk.number not in done]
    if progress is not None:
        progress(made, total, "records")
    for number, data in _made(world, missing, jobs, dask):
        done[number] = keep_part(folder, number, data)
        made += todo[number].count
        if progress is not None:
            progress(made, total, "records")
    return _assembled(world, [done[chunk.number] for chunk in todo])


def _made(world: Grid, todo: list[_Chunk], jobs: int, dask: str | None) -> Iterator[tuple[int, bytes]]:
    if dask is None:
        return on_threads(partial(_make_chunk, world), todo, jobs)
    return on_dask(_chunk_there, todo, dask, jobs, shared=WorldCopy.of(world))


# --- finished parts of unfinished work -----------------------------------------------------------------------------


def packed_part(work: dict[str, Any], part: Part) -> bytes:
    """Finished work as the bytes of a file, with a checksum, and with what it is: a small database of its own."""
    return files.packed(PART, "", {**work, "code": CODE}, part)


def keep_part(folder: Path | None, number: int, data: bytes) -> Part:
    """Write a part to its file, if there is a folder, and open it."""
    if folder is not None:
        write_whole(folder / _part_name(number), data, DatabaseError)
    return files.unpacked(np.frombuffer(data, np.uint8), _part_name(number))[1]


def finished_part(
    folder: Path | None, number: int, work: dict[str, Any], columns: tuple[str, ...], dtype: type[np.generic]
) -> Part | None:
    """A part that was finished earlier; None if it must be made: it is not there, or damaged, or of other work."""
    if folder is None or not (folder / _part_name(number)).is_file():
        return None
    try:
        data = np.frombuffer((folder / _part_name(number)).read_bytes(), np.uint8)
        header, part = files.unpacked(data, _part_name(number))
    except (OSError, DatabaseError):
        return None
    known = (header["kind"], header["settings"], *part) == (PART, {**work, "code": CODE}, *columns)
    return part if known and all(array.dtype == dtype for array in part.values()) else None


def _part_name(number: int) -> str:
    return f"{number:06d}.part"


@contextmanager
def _parts_folder(file: Path, plan: dict[str, Any]) -> Iterator[Path]:
    """Where finished parts wait. Those of another database are not touched; those made by other code are made anew."""
    folder = make_folder(file.with_name(file.name + ".parts"), DatabaseError)
    note = folder / "plan.json"
    try:
        parts = [part for part in folder.iterdir() if part != note and not part.is_dir()]
        found = _plan(note)
        if found != plan:
            # Without a plan, or with one that cannot be read, nobody can go on with them.
            if parts and found is not None and _work(found) != _work(plan) and not _done_with(file, found):
                raise DatabaseError(f"{folder} holds the parts of another database; remove it, or choose another file")
            for part in parts:
                part.unlink(missing_ok=True)
    except OSError as problem:
        raise DatabaseError(f"cannot use the folder {folder}: {problem.strerror}") from None
    try:
        if found != plan:
            write_whole(note, json.dumps({"plan": plan, "checksum": _checksum(plan)}, sort_keys=True), DatabaseError)
        yield folder
    except BaseException:
        with suppress(OSError):
            if all(part == note for part in folder.iterdir()):  # nothing was finished: nothing is left behind
                shutil.rmtree(folder)
        raise


def _plan(note: Path) -> dict[str, Any] | None:
    """What the parts in a folder are for; None if the note that says so is not there, or damaged."""
    if not note.is_file():
        return None
    try:
        found = json.loads(note.read_bytes())
        plan = found["plan"]
        return plan if isinstance(plan, dict) and found["checksum"] == _checksum(plan) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _checksum(plan: dict[str, Any]) -> str:
    return blake2b(json.dumps(plan, sort_keys=True).encode(), digest_size=16).hexdigest()


def _work(plan: dict[str, Any]) -> dict[str, Any]:
    """What is to be made, whatever the code."""
    return {name: value for name, value in plan.items() if name not in ("code", "format")}


def _done_with(file: Path, plan: dict[str, Any]) -> bool:
    """Whether the file that the parts are for is whole already: only their removal was interrupted."""
    try:
        header, _ = files.read(file)
    except DatabaseError:
        return False
    return _work(plan) == {**header["settings"], "world": header["world"]}


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
