"""The file of a database: named arrays, for one world, checked when opened, and mapped into memory, not read.

A line of text, the length of a header, the header as JSON, then the arrays, each at a multiple of 64 bytes. The header
says which world it is for, what it was made with, where each array lies, and a checksum of itself (with that left
empty) and of all arrays. It holds no date and no name, so the same work gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DatabaseError
from ..whole import write_whole

__all__ = ["VERSION", "read", "write"]

MAGIC = b"timebound database\n"
VERSION = 3  # what is written; older ones are read too
_UNCOVERED = 2  # up to here the checksum was of the arrays only
_ALIGN = 64


def write(
    path: str | Path, kind: str, digest: str, settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a database, whole or not at all."""
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
    text += b" " * (-(len(MAGIC) + 8 + len(text)) % _ALIGN)
    write_whole(path, MAGIC + len(text).to_bytes(8, "little") + text + whole, DatabaseError)


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
    file = Path(path)
    try:
        with open(file, "rb") as opened:
            start = opened.read(len(MAGIC) + 8)
            if not start.startswith(MAGIC):
                raise DatabaseError(f"{file} is no database of timebound")
            length = int.from_bytes(start[len(MAGIC) :], "little")
            size = os.fstat(opened.fileno()).st_size
            text = opened.read(length) if length < size else b""
    except FileNotFoundError:
        raise DatabaseError(f"there is no file {file}") from None
    except OSError as problem:
        raise DatabaseError(f"cannot read {file}: {problem.strerror}") from None
    cut = DatabaseError(f"{file} is not complete: make it again with timebound prepare")
    try:
        header = json.loads(text)
        version, count = header["version"], header["bytes"]
        if not isinstance(version, int) or not isinstance(count, int) or count < 0:
            raise cut
    except (ValueError, TypeError, KeyError):
        raise cut from None
    if version > VERSION:
        raise DatabaseError(f"{file} was made by a newer timebound (format {version}, this one reads {VERSION})")
    first = len(MAGIC) + 8 + length
    if size < first + count:
        raise cut
    try:
        whole = np.memmap(file, np.uint8, "r", first, (count,)) if count else np.empty(0, np.uint8)
    except OSError as problem:
        raise DatabaseError(f"cannot read {file}: {problem.strerror}") from None
    if _checksum(header, whole.data) != header.get("checksum"):
        raise DatabaseError(f"{file} is damaged: its checksum is wrong; make it again with timebound prepare")
    try:
        arrays = {one["name"]: _array(whole, **one) for one in header["arrays"]}
        if not isinstance(header["settings"], dict) or not isinstance(header["kind"] + header["world"], str):
            raise TypeError
    except Exception:  # whatever comes of a header that the checksum of an old file does not cover
        raise DatabaseError(f"{file} is damaged: make it again with timebound prepare") from None
    return header, arrays


def _array(whole: np.ndarray, *, name: str, dtype: str, shape: list[int], offset: int) -> np.ndarray:
    kind = np.dtype(dtype)
    size = kind.itemsize * int(np.prod(shape))
    if not 0 <= offset <= offset + size <= len(whole):
        raise ValueError(name)
    return whole[offset : offset + size].view(kind).reshape(shape)
