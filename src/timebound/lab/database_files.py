"""Databases that the user named: of several files the one that was made for a map."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..algorithms import Spec
from ..databases.files import read
from ..errors import DatabaseError
from .recipes import opened

__all__ = ["DatabaseFile", "database_for", "file_for"]


@dataclass(frozen=True)
class DatabaseFile:
    """A file in the place of a recipe. It is told by what it holds: under another name it is the same."""

    path: str
    checksum: str
    amount: None = None  # how much was asked for is not known

    def __str__(self) -> str:
        return f"file {self.checksum}"

    def file(self, folder: str | Path, digest: str) -> Path:
        """Where it lies, whatever the map."""
        return Path(self.path)


def file_for(world: Any, spec: Spec, files: Sequence[str]) -> DatabaseFile | None:
    """Of the database files the one made for this world; None if the algorithm uses none."""
    kind = spec.database
    if kind is None:
        return None
    headers = [(file, _header(file)) for file in files]
    ours = [(file, one) for file, one in headers if one["kind"] == kind.name and one["world"] == world.digest]
    for right in (kind.serves, kind.will_do):  # the very one that would be made for it, or else one that will do
        for file, header in ours:
            if right(spec.parameters, header["settings"]):
                return DatabaseFile(str(Path(file).absolute()), header["checksum"])
    if files:
        raise DatabaseError(f"none of {', '.join(files)} was made for this map; make one with timebound prepare")
    return None  # the algorithm will say what it needs


def database_for(world: Any, spec: Spec, files: Sequence[str]) -> Any:
    """The same, opened."""
    found = file_for(world, spec, files)
    return None if found is None else opened(found.path, world)


def _header(file: str) -> dict[str, Any]:
    """What a file says about itself; read once, unless it is written anew."""
    try:
        state = os.stat(file)
    except OSError:
        return read(file)[0]  # which says what is wrong
    return _header_of(str(Path(file).absolute()), (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=64)
def _header_of(file: str, written: tuple[int, ...]) -> dict[str, Any]:
    return read(file)[0]
