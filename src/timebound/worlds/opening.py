"""Opening files that may be anything: regular files only, and no more memory than the file gives reason for.

A header can claim a billion cells, and a thousand bytes can unpack to a gigabyte. So what an input claims is held
against what it holds: it may stand for 16 MiB, or for a fixed multiple of its own size, whichever is more, and never
for more than 2 GiB. ``TIMEBOUND_LARGEST_INPUT`` (a number of bytes, such as 4000000000 or 4G) puts one limit of the
user's own in place of all that, for Python and the command line alike.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timebound.errors import Error, MapError
from timebound.text import shown

__all__ = ["LARGEST", "check_claim", "check_nodes", "file_path", "read_file", "unpacked"]

LARGEST = "TIMEBOUND_LARGEST_INPUT"
_LARGEST_AT_ALL = 2 << 30
_ALWAYS = 16 << 20
_PIECE = 1 << 20
_TEXT = 20  # times that numbers written as text may shrink in a gzip file; road graphs shrink to a fifth
_NODE = 16  # bytes that a node without arcs counts for
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def file_path(path: Any) -> Path:
    """A path as the user gave it, or one sentence if it is none."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise MapError(f"a file is named by a string or a Path, not by {shown(path)}")
    return Path(path)


def read_file(path: Any, wanted: str) -> bytes:
    """All bytes of a regular file; ``wanted`` ends the sentence that is said of an empty one."""
    file = file_path(path)
    limit = _allowed(_LARGEST_AT_ALL, 1)
    try:
        with open(file, "rb", buffering=0, opener=_open_at_once) as opened:
            # Asked of the open file: what a name leads to may change between a look and the opening.
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _no_regular_file(file, found.st_mode)
            if found.st_size > limit:
                raise _too_large(f"{file} has {found.st_size} bytes", limit)
            data = _read_all(file, opened, found.st_size, limit)
    except FileNotFoundError:
        raise MapError(f"there is no file {file}") from None
    except (OSError, ValueError) as error:  # a ValueError for a name with a null byte in it
        mode = _mode(file)
        if mode is not None and not stat.S_ISREG(mode):
            raise _no_regular_file(file, mode) from None
        reason = error.strerror if isinstance(error, OSError) else None
        raise MapError(f"cannot read {shown(str(file))}: {reason or error}") from None
    if not data or data.isspace():
        raise MapError(f"{file} is empty, and {wanted}")
    return data


def _open_at_once(path: str, flags: int) -> int:
    # Without waiting, so that a pipe nobody writes to does not hold us for ever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _read_all(path: Path, opened: io.FileIO, size: int, limit: int) -> bytes:
    """The file's bytes, also when it has more than it said: some system files say 0, and others grow."""
    parts: list[bytes] = []
    have = 0
    while have <= limit:
        part = opened.read(max(size + 1 - have, _PIECE))
        if part is None:
            raise OSError(errno.EAGAIN, "nothing can be read from it now")
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)
        have += len(part)
    raise _too_large(f"{path} has more than {limit} bytes", limit)


def unpacked(path: Any, data: bytes) -> Iterator[bytes]:
    """The text in pieces, unpacked if it is a gzip file. No piece is large, and all together are bounded."""
    if not data.startswith(b"\x1f\x8b"):
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]
        return
    limit = _allowed(len(data), _TEXT)
    have = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as opened:
            while piece := opened.read(_PIECE):
                have += len(piece)
                if have > limit:
                    raise _too_large(f"{path} has {len(data)} bytes and unpacks to more than {limit}", limit)
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise MapError(f"{path} is a damaged gzip file ({error}); fetch or compress it again") from None


def check_claim(claim: str, size: int, *, held: int, ratio: int, error: type[Error] = MapError) -> None:
    """Refuse an input that claims to stand for ``size`` bytes while it holds only ``held``."""
    limit = _allowed(held, ratio)
    if size > limit:
        raise _too_large(claim, limit, error)


def check_nodes(claim: str, nodes: int, arcs: int, error: type[Error] = MapError) -> None:
    """Refuse a graph of far more nodes than its arcs have ends: up to a million may have no arc."""
    check_claim(claim, nodes * _NODE, held=2 * arcs * _NODE, ratio=1, error=error)


def _allowed(held: int, ratio: int) -> int:
    limit = _limit()
    return min(max(_ALWAYS, held * ratio), _LARGEST_AT_ALL) if limit is None else limit


def _limit() -> int | None:
    """The limit that the user has set, in bytes."""
    text = os.environ.get(LARGEST, "").strip()
    if not text:
        return None
    match = re.fullmatch(r"([0-9]{1,18})([KMG]?)", text.upper())
    if match is None:
        raise MapError(f"{LARGEST} is a number of bytes, such as 4000000000 or 4G, not {shown(text)}")
    return int(match[1]) * _UNITS[match[2]]


def _too_large(claim: str, limit: int, error: type[Error] = MapError) -> Error:
    return error(
        f"{claim}, which is more than the limit of {limit / (1 << 20):.4g} MiB for it; "
        f"if it is sound, set the environment variable {LARGEST} to as many bytes as it may take, such as 4G"
    )


def _mode(path: Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return None


def _no_regular_file(path: Path, mode: int) -> MapError:
    return MapError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}, and a file is needed")
