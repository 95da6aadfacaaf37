"""The file of a database: named arrays, for one world, checked when opened, and mapped into memory, not read.

A line of text, the length of a header, the header as JSON, then the arrays one after the other, each at a multiple of
64 bytes, and nothing else. The header says which world it is for, what it was made with, where each array lies, and a
checksum of itself (with that left empty) and of all arrays. It holds no date and no name, so the same work gives the
same bytes.

A checksum tells what was damaged, not what was made up. So a header is believed in nothing; what the arrays hold is
judged by its kind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..atomic import file_named, write_whole
from ..errors import DatabaseError

__all__ = ["VERSION", "frozen", "packed", "read", "unpacked", "write"]

MAGIC = b"timebound database\n"
VERSION = 3  # what is written; older ones are read too
_UNCOVERED = 2  # up to here the checksum was of the arrays only
_ALIGN = 64
_BEFORE_HEADER = len(MAGIC) + 8
_LONGEST_HEADER = 1 << 20  # bytes; ours have less than a thousand
_LONGEST_NAME = 100
_DTYPES = ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
_AGAIN = "make it again with timebound prepare"

R = TypeVar("R", bound=tuple[Any, ...])  # a NamedTuple of arrays


def frozen(found: R) -> R:
    """Arrays that cannot be written to, as those in a file: kernels are then compiled for one kind of array only."""
    plain = [np.asarray(array).view(np.ndarray) for array in found]
    for array in plain:
        array.flags.writeable = False
    return type(found)(*plain)


def write(
    path: str | Path, kind: str, digest: str, settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a database, whole or not at all."""
    write_whole(path, packed(kind, digest, settings, arrays), DatabaseError)


def packed(kind: str, digest: str, settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """A database as the bytes of its file."""
    placed, payload, offset = [], [], 0
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array)
        plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        placed.append({"name": name, "dtype": plain.dtype.str, "shape": list(plain.shape), "offset": offset})
        data = plain.tobytes()
        data += bytes(-len(data) % _ALIGN)
        payload.append(data)
        offset += len(data)
    whole = b"".join(payload)
    header = {
        "version": VERSION,
        "kind": kind,
        "world": digest,
        "settings": dict(settings),
        "arrays": placed,
        "bytes": len(whole),
    }
    header["checksum"] = _checksum(header, whole)
    text = _text(header)
    text += b" " * (-(_BEFORE_HEADER + len(text)) % _ALIGN)
    return MAGIC + len(text).to_bytes(8, "little") + text + whole


def _text(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True).encode()


def _checksum(header: Mapping[str, Any], whole: bytes | memoryview) -> str:
    hashed = blake2b(digest_size=16)
    if header["version"] > _UNCOVERED:
        hashed.update(_text({**header, "checksum": ""}))
    hashed.update(whole)
    return hashed.hexdigest()


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays, which stay in the file: processes that open the same one share its memory."""
    file = file_named(path, DatabaseError)
    try:
        if file.exists() and not file.is_file():  # opening a pipe would wait for ever
            raise DatabaseError(f"cannot read {file}: it is not a regular file")
        with open(file, "rb") as opened:
            whole = np.memmap(opened, np.uint8, "r") if opened.seek(0, 2) else np.empty(0, np.uint8)
    except FileNotFoundError:
        raise DatabaseError(f"there is no file {file}") from None
    except OSError as problem:
        raise DatabaseError(f"cannot read {file}: {problem.strerror}") from None
    except ValueError as problem:  # it was cut while it was being opened
        raise DatabaseError(f"cannot read {file}: {problem}") from None
    return unpacked(whole, file)


def unpacked(whole: np.ndarray, name: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays in the bytes of a file, which errors call ``name``."""
    start = whole[:_BEFORE_HEADER].tobytes()
    if not start.startswith(MAGIC):
        raise DatabaseError(f"{name} is no database of timebound")
    length = int.from_bytes(start[len(MAGIC) :], "little")
    first = _BEFORE_HEADER + length
    cut = DatabaseError(f"{name} is not complete: {_AGAIN}")
    if len(start) < _BEFORE_HEADER or length > _LONGEST_HEADER or first > len(whole):
        raise cut
    try:
        header = json.loads(whole[_BEFORE_HEADER:first].tobytes(), parse_constant=_refuse)
        version, count = (_whole_number(header[field]) for field in ("version", "bytes"))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise cut from None
    if version > VERSION:
        newer = f"format {version}" if version < 1000 else "an unknown format"
        raise DatabaseError(f"{name} was made by a newer timebound ({newer}, this one reads {VERSION})")
    if len(whole) < first + count:
        raise cut
    if len(whole) > first + count:
        raise DatabaseError(f"{name} is damaged: something follows after its end; {_AGAIN}")
    try:
        if _checksum(header, whole[first:].data) != header["checksum"]:
            raise DatabaseError(f"{name} is damaged: its checksum is wrong; {_AGAIN}")
        if first % _ALIGN or not _plain(header):
            raise ValueError
        arrays = _arrays(whole[first:], header["arrays"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DatabaseError(f"{name} is damaged: its header is wrong; {_AGAIN}") from None
    return header, arrays


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _whole_number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(value)
    return value


def _plain(header: Mapping[str, Any]) -> bool:
    """Whether kind, world and settings are what others may take them for."""
    names = header["kind"], header["world"]
    if not all(isinstance(text, str) and text.isprintable() and len(text) <= _LONGEST_NAME for text in names):
        return False
    settings = header["settings"]
    return isinstance(settings, dict) and all(
        value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
        for value in settings.values()
    )


def _arrays(whole: np.ndarray, placed: Any) -> dict[str, np.ndarray]:
    """The arrays, each where the one before it ends."""
    arrays: dict[str, np.ndarray] = {}
    offset = 0
    for one in placed:
        name, dtype, (length,) = one["name"], one["dtype"], one["shape"]
        if not isinstance(name, str) or name in arrays or dtype not in _DTYPES or one["offset"] != offset:
            raise ValueError(name)
        size = np.dtype(dtype).itemsize * _whole_number(length)
        if offset + size > len(whole):
            raise ValueError(name)
        arrays[name] = whole[offset : offset + size].view(dtype)
        offset += size + -size % _ALIGN
    if offset != len(whole):
        raise ValueError("bytes of no array")
    return arrays
