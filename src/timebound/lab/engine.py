"""The one way from runs to records: in chunks, on threads or a cluster, each kept as soon as it is made."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from .. import __version__
from ..algorithms import parse_spec
from ..errors import MapError
from ..kernels.jit import sources_digest
from ..workers import Progress, on_dask, on_threads
from .columns import COLUMNS
from .experiment import Run, entry_of
from .measuring import KINDS
from .recipes import opened

__all__ = ["Chunk", "Commits", "Keeper", "chunks", "code_digest", "not_made", "run", "run_chunk"]

_COMMIT_SECONDS = 1.0  # small chunks share a commit: one takes 10 to 80 ms
_LONG_SECONDS = 0.5  # a chunk that took so long has one of its own, at once


class Keeper(Protocol):
    """Where records are kept: a file (``Store``), or only memory."""

    lasting: bool  # whether they are there when the process is not

    def keys(self) -> set[str]:
        """What has been run."""

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Keep records, all or none."""

    def rows(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Records with these keys, in that order, or all."""


class Commits:
    """Records on their way into a keeper. Another thread may stop them at any time, and see what there is."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._taken = self._committed = time.monotonic()

    def take(self, records: Sequence[dict[str, Any]]) -> None:
        """Keep a chunk's records; what is committed is never run again."""
        with self._lock:
            self._waiting += records
            now = time.monotonic()
            if now - self._taken > _LONG_SECONDS or now - self._committed > _COMMIT_SECONDS:
                self._commit()
            self._taken = time.monotonic()

    def finish(self) -> None:
        """Keep what waits."""
        with self._lock:
            self._commit()

    def rows(self) -> list[dict[str, Any]]:
        """All that is kept."""
        with self._lock:
            return self.keeper.rows()

    def stop(self) -> list[dict[str, Any]]:
        """Keep what waits, take nothing more, ever, and return all that is kept."""
        self._lock.acquire()
        self._commit()
        return self.keeper.rows()

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.keeper.add(waiting)
        self._committed = time.monotonic()


def not_made(keeper: Keeper, runs: Iterable[Run]) -> list[Run]:
    """The runs that have not been made, each once."""
    done = keeper.keys()
    return [run for key, run in {run.key: run for run in runs}.items() if key not in done]


def run(
    runs: Sequence[Run],
    commits: Commits,
    *,
    jobs: int = 1,
    dask: str | None = None,
    size: int = 1,
    databases: str = "",
    strict: bool = False,
    what: str = "runs",
    before: int = 0,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Make runs in chunks of ``size``, keep their records, and return each once it is taken.

    ``before`` is how many were made before; ``databases`` the folder of those that recipes stand for. A run that fails
    makes a record that says how, or, if ``strict``, ends them all.
    """
    todo = chunks(runs, size, jobs, databases, strict)
    made = on_threads(run_chunk, todo, jobs) if dask is None else on_dask(run_chunk, todo, dask, jobs)
    done = before
    try:
        for records in made:
            commits.take(records)
            done += len(records)
            if progress is not None:
                progress(done, before + len(runs), what)
            yield from records
    finally:
        commits.finish()


@dataclass(frozen=True)
class Chunk:
    """Runs in one world: what one thread or worker does at a time, and what is committed at once."""

    runs: tuple[Run, ...]
    jobs: int = 1
    databases: str = ""
    strict: bool = False


def chunks(runs: Iterable[Run], size: int, jobs: int = 1, databases: str = "", strict: bool = False) -> list[Chunk]:
    """Runs in order, cut where the world changes and after ``size`` of them."""
    made: list[list[Run]] = []
    for one in runs:
        if not made or len(made[-1]) >= size or one.world != made[-1][-1].world:
            made.append([])
        made[-1].append(one)
    return [Chunk(tuple(some), jobs, databases, strict) for some in made]


def run_chunk(chunk: Chunk) -> list[dict[str, Any]]:
    """The records of a chunk."""
    found = chunk.runs[0].world.opened()
    world = found.world
    if world.digest != chunk.runs[0].digest:
        raise MapError(f"{chunk.runs[0].world.name} is not the map that the experiment was planned with")
    always = dict.fromkeys(COLUMNS) | _made_with() | {"jobs": chunk.jobs}
    records = []
    for run in chunk.runs:
        entry = entry_of(run.spec, run.budget)
        before = time.perf_counter()
        error = None
        try:
            if run.database is not None:
                entry = replace(entry, database=opened(run.database.file(chunk.databases, run.digest), world))
            measures = KINDS[run.kind](world, run, entry)
        except Exception as problem:  # a defect: told in the report's first section
            if chunk.strict:
                raise
            measures = {"status": "error"}
            error = f"{type(problem).__name__}: {problem}"
        record = always | vars(run.setting) | {"optimal": run.problem.optimal} | measures
        record["key"] = run.key
        record["map"] = run.world.name
        record["digest"] = run.digest
        record["source"] = run.source
        record["seed"] = run.seed
        record["problem"] = run.number
        record["start"] = _written(found.plain(run.problem.start))
        record["goal"] = _written(found.plain(run.problem.goal))
        record["spec"] = run.spec
        record["algorithm"] = _in_full(run.spec)
        record["budget"] = run.budget
        record["kind"] = run.kind
        record["database"] = str(run.database) if run.database else None
        record["records"] = run.database.amount if run.database else None
        record["blocked"] = run.blocked
        record["error"] = error
        record["wall_seconds"] = time.perf_counter() - before
        records.append(record)
    return records


def _written(place: Any) -> str:
    """A place as a column holds it: row,col or a node's number in its file."""
    return ",".join(map(str, place)) if isinstance(place, list) else str(place)


@lru_cache(maxsize=1024)
def _in_full(spec: str) -> str:
    return str(parse_spec(spec))


@lru_cache(maxsize=1)
def _made_with() -> dict[str, str]:
    """What all records of this process are made with."""
    return {
        "timebound_version": __version__,
        "python_version": platform.python_version(),
        "numpy_version": np.__version__,
        "numba_version": metadata.version("numba"),
        "code": code_digest(),
        "machine": _machine(),
    }


def _machine() -> str:
    """The processor, and how many cores it has."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores" if names else platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A hash of the files that kernels are made of: records with the same one come from the same algorithms."""
    return sources_digest().hex()[:12]
