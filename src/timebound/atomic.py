"""Files that are there whole or not at all, and work that only one process does at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import Error

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["alone", "file_named", "in_turn", "make_folder", "replaced", "write_whole"]


def file_named(path: str | Path, error: type[Error] = Error) -> Path:
    """A path that the system can be asked about; what cannot be the name of a file becomes an ``error``."""
    try:
        name = os.fsdecode(path)
        if "\0" in name or not os.fsencode(name):
            raise ValueError(name)
    except (TypeError, ValueError):
        raise error(f"{path!r:.80} is not the name of a file") from None
    return Path(name)


@contextmanager
def replaced(path: str | Path, error: type[Error] = Error) -> Iterator[Path]:
    """The name of a file to write; at the end it takes the place of ``path``.

    So a reader sees the old file or the new one, never half. What the system refuses becomes an ``error``. A link stays
    one, and what is no file, such as a pipe or /dev/stdout, cannot be replaced and is written to.
    """
    target = Path(os.path.realpath(file_named(path, error)))
    if target.is_dir():
        raise error(f"cannot write {path}: it is a folder, and a file name is needed")
    if target.exists() and not target.is_file():
        try:
            yield target
        except OSError as problem:
            raise error(f"cannot write {path}: {problem.strerror or problem}") from problem
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            yield beside
            with open(beside, "rb+") as file:
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise error(f"cannot write {path}: {problem.strerror or problem}") from problem


def write_whole(path: str | Path, data: bytes | str, error: type[Error] = Error) -> None:
    """Write a file whole or not at all; text as UTF-8."""
    with replaced(path, error) as beside:
        beside.write_bytes(data.encode() if isinstance(data, str) else data)


def make_folder(path: str | Path, error: type[Error] = Error) -> Path:
    """The folder, made if it is not there."""
    folder = file_named(path, error)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise error(f"cannot make the folder {folder}: there is a file of that name, or above it") from None
    except OSError as problem:
        raise error(f"cannot make the folder {folder}: {problem.strerror}") from None
    return folder


@contextmanager
def alone(path: str | Path, busy: Error) -> Iterator[None]:
    """Hold the lock file ``path``, or raise ``busy`` if someone else does.

    The system lets go of it when the process ends, even if it is killed.
    """
    file = Path(path)
    while True:
        try:
            held = open(file, "ab")  # noqa: SIM115 (held until the work is done)
        except OSError as problem:
            raise type(busy)(f"cannot write {file}: {problem.strerror}") from None
        try:
            if not _lock(held):
                raise busy
            if os.path.samestat(os.fstat(held.fileno()), os.stat(file)):
                break
        except FileNotFoundError:
            pass
        except BaseException:
            held.close()
            raise
        held.close()  # who held it before has removed it: this one would keep nobody out
    try:
        yield
    finally:
        if sys.platform == "win32":
            held.close()  # an open file cannot be removed there
        with suppress(OSError):
            file.unlink()
        held.close()


@contextmanager
def in_turn(folder: str | Path) -> Iterator[None]:
    """Wait until no other is at work in the folder, and keep them out. Where no folder can be locked, nobody waits."""
    held = None
    try:
        if sys.platform != "win32":
            with suppress(OSError):
                held = os.open(folder, os.O_RDONLY)
                fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; False if another one has."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system without locks: nobody can be kept out
    return True
