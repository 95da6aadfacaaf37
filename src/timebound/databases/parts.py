"""Long work in parts: on threads or on a Dask cluster, interrupted at any moment, and gone on with later.

Finished parts wait in a folder beside the file until that is whole. A part is a small file of its own, with a checksum
and with what it is a part of, so one that is damaged, or of other work, is made anew. What the parts hold must depend
on their tasks alone, and not on who does them, or when.
"""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..atomic import make_folder, write_whole
from ..errors import DatabaseError
from ..kernels.jit import sources_digest
from ..workers import Progress, on_dask, on_threads
from ..worlds.grid import Grid
from . import files

__all__ = ["CODE", "Part", "Task", "Workshop", "beside"]

CODE = sources_digest().hex()[:12]  # parts made by other code are not mixed with ours

Part = dict[str, np.ndarray]  # finished work, as named arrays


class Task(Protocol):
    """One part's worth of work. It may travel to another process."""

    @property
    def number(self) -> int: ...  # which part it is
    @property
    def work(self) -> dict[str, Any]: ...  # all that decides what the part holds, as plain values


@dataclass(frozen=True)
class Workshop:
    """Where the parts of one database are made."""

    kind: str
    world: Any
    jobs: int = 1
    dask: str | None = None  # the address of a scheduler; None: threads
    folder: Path | None = None  # where finished parts are kept; None: nowhere
    progress: Progress | None = None

    def parts(
        self,
        make: Callable[..., Part],
        todo: Sequence[Any],
        *shared: Any,
        columns: Mapping[str, type[np.generic]],
        fits: Callable[[Any, Any, Part], bool],
        count: tuple[str, Callable[[Any], int]] | None = None,
    ) -> list[Part]:
        """What ``make(world, *shared, task)`` gives for each task, or gave before.

        ``columns`` are the arrays of a part, and ``fits(world, task, part)`` says whether one that was made before can
        be right. ``count`` is how much of what a task makes, for those who watch the progress. A worker elsewhere must
        find ``make`` by its name, so it is a function of a module.
        """
        what, size = count or ("", lambda task: 0)
        total = sum(size(task) for task in todo)
        done: dict[int, Part] = {}
        for task in todo:
            part = self._finished(task, columns)
            if part is not None and fits(self.world, task, part):
                done[task.number] = part
        missing = {task.number: task for task in todo if task.number not in done}
        made = total - sum(size(task) for task in missing.values())
        if count is not None and self.progress is not None:
            self.progress(made, total, what)
        for number, data in self._made(make, list(missing.values()), shared):
            done[number] = self._kept(number, data)
            made += size(missing[number])
            if count is not None and self.progress is not None:
                self.progress(made, total, what)
        return [done[task.number] for task in todo]

    def _made(self, make: Callable[..., Part], todo: list[Any], shared: tuple[Any, ...]) -> Iterator[tuple[int, bytes]]:
        if not todo:
            return iter(())
        if self.dask is None:
            return on_threads(partial(_packed, self.kind, make, self.world, shared), todo, self.jobs)
        errand = _Errand(self.kind, make, _world_copy(self.world), shared)
        return on_dask(_made_there, todo, self.dask, self.jobs, shared=errand)

    def _kept(self, number: int, data: bytes) -> Part:
        """Write a part to its file, if there is a folder, and open it."""
        if self.folder is not None:
            write_whole(self.folder / _part_name(number), data, DatabaseError)
        return files.unpacked(np.frombuffer(data, np.uint8), _part_name(number))[1]

    def _finished(self, task: Task, columns: Mapping[str, type[np.generic]]) -> Part | None:
        """A part that was finished earlier; None if it must be made: it is not there, or damaged, or of other work."""
        name = _part_name(task.number)
        if self.folder is None or not (self.folder / name).is_file():
            return None
        try:
            header, part = files.unpacked(np.frombuffer((self.folder / name).read_bytes(), np.uint8), name)
        except (OSError, DatabaseError):
            return None
        known = (header["kind"], header["settings"]) == (_part_of(self.kind), _stamped(task))
        right = {name: array.dtype for name, array in part.items()} == columns
        return part if known and right and list(part) == list(columns) else None


def _part_name(number: int) -> str:
    return f"{number:06d}.part"


def _part_of(kind: str) -> str:
    return f"part for {kind}"


def _stamped(task: Task) -> dict[str, Any]:
    return {**task.work, "code": CODE}


def _packed(kind: str, make: Callable[..., Part], world: Any, shared: tuple[Any, ...], task: Task) -> tuple[int, bytes]:
    """A part as the bytes of a file."""
    return task.number, files.packed(_part_of(kind), "", _stamped(task), make(world, *shared, task))


# --- in another process ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Errand:
    """What every task needs besides itself."""

    kind: str
    make: Callable[..., Part]
    world: _WorldCopy
    shared: tuple[Any, ...]


def _made_there(task: Task, errand: _Errand) -> tuple[int, bytes]:
    return _packed(errand.kind, errand.make, _unpacked(errand.world), errand.shared, task)


@dataclass(frozen=True)
class _WorldCopy:
    """A world on its way to another process: the bits of a plain grid, or any other world whole."""

    packed: bytes
    shape: tuple[int, int] | None = None
    rules: tuple[tuple[str, Any], ...] = ()


def _world_copy(world: Any) -> _WorldCopy:
    if isinstance(world, Grid) and not world.terrain:
        return _WorldCopy(np.packbits(world.free).tobytes(), world.shape, tuple(sorted(world.rules.items())))
    return _WorldCopy(pickle.dumps(_Bare(world)))


class _Bare:
    """In the place of a world that is sent: it goes without its regions, which would be built there for nothing."""

    def __init__(self, world: Any) -> None:
        self._world = world

    def __reduce__(self) -> tuple[Any, ...]:
        begun, version, state = self._world.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
        return begun, version, {name: None if name == "regions" else part for name, part in state.items()}


@lru_cache(maxsize=2)
def _unpacked(world: _WorldCopy) -> Any:
    if world.shape is None:
        return pickle.loads(world.packed)
    bits = np.unpackbits(np.frombuffer(world.packed, np.uint8), count=world.shape[0] * world.shape[1])
    return Grid(bits.reshape(world.shape).astype(bool), **dict(world.rules))


# --- the folder beside the file --------------------------------------------------------------------------------------


@contextmanager
def beside(file: Path, kind: str, digest: str, settings: dict[str, Any]) -> Iterator[Path]:
    """The folder where the parts of a file wait; at the end, when the file is whole, it is removed.

    Parts of another database are not touched; those made by other code are made anew.
    """
    plan = {**settings, "kind": kind, "world": digest, "code": CODE}
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
    shutil.rmtree(folder, ignore_errors=True)  # the file is whole: what is left does no harm


def _plan(note: Path) -> dict[str, Any] | None:
    """What the parts in a folder are for; None if the note that says so is not there, or damaged, or of old times."""
    if not note.is_file():
        return None
    try:
        found = json.loads(note.read_bytes())
        plan = found["plan"]
        return plan if isinstance(plan, dict) and "kind" in plan and found["checksum"] == _checksum(plan) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _checksum(plan: dict[str, Any]) -> str:
    return blake2b(json.dumps(plan, sort_keys=True).encode(), digest_size=16).hexdigest()


def _work(plan: dict[str, Any]) -> dict[str, Any]:
    """What is to be made, whatever the code."""
    return {name: value for name, value in plan.items() if name != "code"}


def _done_with(file: Path, plan: dict[str, Any]) -> bool:
    """Whether the file that the parts are for is whole already: only their removal was interrupted."""
    try:
        header, _ = files.read(file)
    except DatabaseError:
        return False
    return _work(plan) == {**header["settings"], "kind": header["kind"], "world": header["world"]}
