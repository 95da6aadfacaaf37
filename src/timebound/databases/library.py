"""Databases of any kind: made ahead of time, kept in files, and opened. The kinds are those that algorithms declare."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..algorithms import REGISTRY, Spec, parse_spec
from ..atomic import alone, file_named
from ..errors import DatabaseError, SpecError, WorldError, at_least, check_world
from ..workers import Progress, scheduler
from . import files
from .kinds import DatabaseKind, Options, Stored
from .parts import Workshop, beside

__all__ = ["build", "in_spec", "kind_for", "kinds", "load_database", "prepare", "users"]


def kinds() -> dict[str, DatabaseKind]:
    """All kinds, by the name that stands in their files. Of two with the same name the first has it: ours."""
    found: dict[str, DatabaseKind] = {}
    for algorithm in REGISTRY.values():
        if algorithm.database is not None:
            found.setdefault(algorithm.database.name, algorithm.database)
    return found


def users(kind: DatabaseKind) -> list[str]:
    """The algorithms that look things up in such a database."""
    return [algorithm.name for algorithm in REGISTRY.values() if algorithm.database is kind]


def in_spec(kind: DatabaseKind) -> list[str]:
    """The options that are parameters of every algorithm which looks things up in such a database."""
    told = [{parameter.name for parameter in REGISTRY[name].parameters} for name in users(kind)]
    return [option.name for option in kind.options if all(option.name in names for names in told)]


def kind_for(spec: str | Spec) -> DatabaseKind:
    """The kind that an algorithm looks things up in, or a SpecError that names algorithms which need one."""
    parsed = parse_spec(spec)
    if parsed.database is None:
        using = [name for kind in kinds().values() for name in users(kind)]
        those = f"the algorithm that does is {using[0]}" if len(using) == 1 else f"those that do are {', '.join(using)}"
        name = parsed.algorithm.name if parsed.algorithm.database is None else str(parsed)
        raise SpecError(f"{name} needs no database; {those}")
    return parsed.database


def prepare(
    world: Any,
    path: str | Path | None,
    *,
    algorithm: str | Spec = "knn-lrta*",
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
    **options: Any,
) -> Any:
    """Make a database for a world, write it to ``path``, and open it; with None, only in memory.

    ``algorithm`` says what it is for, and so which options there are; ``timebound prepare --help`` lists them. Some may
    be parameters of the algorithm itself, and are then taken from there. For kNN LRTA*: ``mode`` ("coverage"),
    ``records`` (1,000, or 10,000 random ones) and ``seed`` (0). With coverage only problems that the records before
    them do not answer become records, at most so many, and an agent may use any part of them. ``mode`` "paths" makes
    random records as published, by one A* search each; "trees" does so many times faster, hundreds from each Dijkstra
    search.

    Interrupted work goes on where it stopped: finished parts are kept beside the file until it is whole. The same
    options give the same bytes, whatever the number of jobs. ``say`` is told how large the work is before it starts,
    if that is known.
    """
    check_world(world)
    spec = parse_spec(algorithm)
    kind = kind_for(spec)
    _check_refusal(kind, world)
    chosen = kind.settle(spec.algorithm.name, spec.parameters, options)
    return build(kind, world, path, chosen, jobs=jobs, dask=dask, progress=progress, say=say)


def build(
    kind: DatabaseKind,
    world: Any,
    path: str | Path | None,
    options: Options,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Any:
    """The same for a kind, and for all of its options."""
    _check_refusal(kind, world)
    jobs = at_least(1, jobs, "jobs is how many threads or workers to use")
    unfit = kind.unfit(world, options) if kind.unfit is not None else None
    if unfit is not None:
        raise SpecError(unfit)
    settings = kind.settings(options)

    def arrays(folder: Path | None) -> Any:
        forecast = kind.forecast(world, options) if say is not None and kind.forecast is not None else None
        if say is not None and forecast is not None:
            say(forecast)
        with nullcontext() if dask is None else scheduler(dask, jobs) as address:
            return kind.make(world, options, Workshop(kind.name, world, jobs, address, folder, progress))

    if path is None:
        return kind.open(world, settings, arrays(None))
    file = file_named(path, DatabaseError)
    if file.is_dir():
        raise DatabaseError(f"cannot write {file}: it is a folder, and a file name is needed")
    if not file.absolute().parent.is_dir():
        raise DatabaseError(f"cannot write {file}: there is no folder {file.parent}")
    busy = DatabaseError(f"another process is making {file}; wait for it, or choose another file")
    with alone(file.with_name(f".{file.name}.lock"), busy), beside(file, kind.name, world.digest, settings) as folder:
        files.write(file, kind.name, world.digest, settings, arrays(folder))
    return load_database(file, world)


def _check_refusal(kind: DatabaseKind, world: Any) -> None:
    refusal = kind.refuses(world)
    if refusal is not None:
        raise WorldError(refusal)


def load_database(path: str | Path, world: Any) -> Any:
    """Open a database made by ``timebound prepare`` for this world. It is mapped into memory, not read.

    >>> import tempfile, timebound as tb
    >>> world = tb.Grid(tb.generate.rooms((40, 40), room=8, seed=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tb.prepare(world, folder + "/rooms.db", records=20, seed=1)
    ...     print(tb.load_database(folder + "/rooms.db", world))
    <SubgoalDatabase of 20 records, 0.00 MB>
    """
    check_world(world)
    header, arrays = files.read(path)
    known = kinds()
    if header["kind"] not in known:
        raise DatabaseError(f"{path} is a database for {header['kind']}, not for {' or '.join(known)}")
    kind = known[header["kind"]]
    if header["world"] != getattr(world, "digest", None) or kind.refuses(world) is not None:
        raise DatabaseError(
            f"{path} was made for another map, or for this one under other rules; make one with timebound prepare"
        )
    wrong = kind.fault(world, header["settings"], arrays)
    if wrong is not None:
        raise DatabaseError(f"{path} is damaged: {wrong}; make it again with timebound prepare")
    database = kind.open(world, header["settings"], arrays)
    if isinstance(database, Stored):
        database.opened_from(path, header["checksum"])
    return database
