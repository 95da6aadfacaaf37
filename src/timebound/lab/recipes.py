"""Databases that runs look things up in: made before the runs, kept in files, with a note of what making them took."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..algorithms import parse_spec
from ..atomic import make_folder, write_whole
from ..databases.kinds import Database, DatabaseKind
from ..databases.library import build, kind_for, kinds, load_database
from ..databases.parts import CODE
from ..errors import DatabaseError, WorldError
from ..workers import Progress
from ..worlds.generate import rooms
from ..worlds.grid import Grid

__all__ = ["Recipe", "make", "note_of", "opened", "usable", "warm_up"]


@dataclass(frozen=True)
class Recipe:
    """What a database is made with, on any map: its kind, and all of its options.

    >>> print(Recipe.of("knn-lrta*"))
    coverage-1000-seed0
    >>> print(Recipe.of("knn-lrta*", mode="trees", records=10_000))
    trees-10000-seed0
    """

    name: str  # of the kind
    chosen: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, spec: str, **options: Any) -> Recipe:
        """What ``timebound prepare --for spec`` makes with these options."""
        parsed = parse_spec(spec)
        kind = kind_for(parsed)
        return cls(kind.name, tuple(kind.settle(parsed.algorithm.name, parsed.parameters, options).items()))

    @property
    def kind(self) -> DatabaseKind:
        return kinds()[self.name]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.chosen)

    @property
    def amount(self) -> int | None:
        """How much is to be made, in what the kind counts in; None if it does not say so before."""
        return self.options[self.kind.amount] if self.kind.amount is not None else None

    def serves(self, spec: str) -> bool:
        """Whether an algorithm is to run with such a database."""
        parsed = parse_spec(spec)
        return parsed.database is self.kind and self.kind.serves(parsed.parameters, self.options)

    def will_do(self, spec: str) -> bool:
        """Whether an algorithm can run with such a database, though another would be made for it."""
        parsed = parse_spec(spec)
        return parsed.database is self.kind and self.kind.will_do(parsed.parameters, self.options)

    def __str__(self) -> str:
        return self.kind.labelled(self.options)

    def file(self, folder: str | Path, digest: str) -> Path:
        """Where the database of a map lies, given the map's hash."""
        return Path(folder) / f"{digest[:16]}-{self}.db"


_opening = threading.Lock()
_open: dict[tuple[Any, ...], Database] = {}


def opened(file: str | Path, world: Grid) -> Database:
    """A database for this world; opened once per process, since its checksum takes a while."""
    try:
        state = os.stat(file)
    except OSError:
        return load_database(file, world)  # which says what is wrong
    key = str(file), state.st_ino, state.st_size, state.st_mtime_ns
    with _opening:
        if key not in _open:
            _open[key] = load_database(file, world)
        return _open[key]


def usable(file: Path, world: Grid, say: Callable[[str], None] = print) -> bool:
    """Whether there is a database for this world; one that is damaged is moved away, to be made anew."""
    if not file.is_file():
        return False
    try:
        opened(file, world)
    except DatabaseError as problem:
        away = file.with_name(f"{file.name}.damaged")
        try:
            file.replace(away)
        except OSError as refused:
            raise DatabaseError(f"{problem}; it cannot be moved away: {refused.strerror}") from None
        say(f"{problem}; it is called {away.name} now, and made anew")
        return False
    return True


_WORDS = ("map", "digest")
_SIZES = ("rows", "cols")
_TIMES = ("wall_seconds", "core_seconds", "sittings")
_WHEN_WHOLE = ("states", "bytes")
_OWN = (*_WORDS, *_SIZES, *_TIMES, *_WHEN_WHOLE, "jobs", "cores", "code", "whole", "made")


def note_of(file: Path, recipe: Recipe) -> dict[str, Any]:
    """What is known about the making of a database; empty if nothing is, or if the note is damaged."""
    try:
        found = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not _is_note(found):
        return {}
    # A note from before there was an option says nothing about it.
    found = _noted({option.name: option.default for option in recipe.kind.options}) | found
    right = all(
        (type(found[name]), found[name]) == (type(value), value) for name, value in _noted(recipe.options).items()
    )
    return found if right else {}


def _noted(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they stand in a note, beside what it says itself."""
    return {f"option {name}" if name in _OWN else name: value for name, value in options.items()}


def _is_note(found: dict[str, Any]) -> bool:
    """Whether a note holds what ``make`` writes."""
    sizes = _SIZES + (_WHEN_WHOLE if found.get("whole") else ())
    return (
        all(isinstance(found.get(name), str) for name in _WORDS)
        and all(_is_size(found.get(name)) for name in sizes)
        and all(name in found and (found[name] is None or _is_time(found[name])) for name in _TIMES)
        and (found["wall_seconds"] is None) == (found["core_seconds"] is None)
        and (found["wall_seconds"] is None or _is_size(found.get("jobs")))
        and (found.get("made") is None or _is_size(found["made"]))
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**62


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12


def warm_up(recipes: Iterable[Recipe]) -> None:
    """Compile what making such databases needs: no database's time includes that."""
    world = Grid(rooms((16, 16), room=4, seed=1))
    for small in {replace(one, chosen=tuple({**one.options, **one.kind.small}.items())) for one in recipes}:
        with suppress(WorldError):  # a map this small lacks high levels, say; others of the kind will do
            build(small.kind, world, None, small.options)


def make(
    name: str,
    world: Grid,
    recipe: Recipe,
    file: Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Make a database, or go on with one that was begun. The note beside it adds up the time of all sittings.

    ``core_seconds`` is what the processor was busy for; on a cluster, where that is not seen, wall time for each
    worker.
    """
    make_folder(file.parent)
    begun = note_of(file, recipe)
    there = usable(file, world, say)
    if there and begun.get("whole"):
        return
    note: dict[str, Any] = {"wall_seconds": 0.0, "core_seconds": 0.0, "sittings": 0}
    known = begun.get("wall_seconds") is not None
    if there and not known:  # made elsewhere: what it took cannot be told
        note = dict.fromkeys(note)
    elif there or (known and not begun.get("whole") and begun.get("code") == CODE):
        note = begun
    # Otherwise it is made anew: the file is gone, or its parts are those of other code.
    note |= {
        **_noted(recipe.options),
        "map": name,
        "digest": world.digest,
        "rows": world.shape[0],
        "cols": world.shape[1],
    }
    if not there:
        note |= {"jobs": jobs, "cores": os.cpu_count(), "code": CODE, "whole": False}
        note["sittings"] += 1
    wall, busy, told = time.perf_counter(), time.process_time(), (1, 1, "databases")

    def count(done: int, total: int, what: str) -> None:
        # After each part, so that one who pulls the plug loses only the time of parts that are lost too.
        nonlocal wall, busy, told
        now, now_busy = time.perf_counter(), time.process_time()
        note["wall_seconds"] += now - wall
        note["core_seconds"] += now_busy - busy if dask is None else (now - wall) * jobs
        wall, busy, told = now, now_busy, (total, total, what)
        write_whole(file.with_suffix(".json"), json.dumps(note, indent=1) + "\n")
        if progress is not None:
            progress(done, total, what)

    if there:
        made = opened(file, world)
    else:
        made = build(recipe.kind, world, file, recipe.options, jobs=jobs, dask=dask, progress=count, say=say)
        count(*told)
    note |= {"made": len(made), "states": made.states, "bytes": made.nbytes, "whole": True}
    write_whole(file.with_suffix(".json"), json.dumps(note, indent=1) + "\n")
