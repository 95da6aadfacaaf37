"""The file of a database: named arrays, for one world, checked when opened, and mapped into memory, not read.

A line of text, the length of a header, the header as JSON, then the arrays, each at a multiple of 64 bytes. The header
says which world it is for, what it was made with, where each array lies, and a checksum of all of them. It holds no
date and no name, so the same work gives the same bytes.
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

__all__ = ["VERSION", "read", "write"]

MAGIC = b"timebound database\n"
VERSION = 2  # the newest that is read
_ALIGN = 64


def write(
    path: str | Path,
    kind: str,
    digest: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    version: int = 1,
) -> None:
    """Write a database, whole or not at all. ``version`` is the least that a reader must know."""
    file = Path(path)
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
        "version": version,
        "kind": kind,
        "world": digest,
        "settings": dict(settings),
        "arrays": placed,
        "bytes": len(whole),
        "checksum": blake2b(whole, digest_size=16).hexdigest(),
    }
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-(len(MAGIC) + 8 + len(text)) % _ALIGN)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(partial, "wb") as out:
            out.write(MAGIC + len(text).to_bytes(8, "little") + text + whole)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(file)
    except OSError as problem:
        raise DatabaseError(f"cannot write {file}: {problem.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


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
    except ValueError:
        raise cut from None
    if not isinstance(header, dict) or "version" not in header:
        raise cut
    if header["version"] > VERSION:
        raise DatabaseError(
            f"{file} was made by a newer timebound (format {header['version']}, this one reads {VERSION})"
        )
    first = len(MAGIC) + 8 + length
    if size < first + header["bytes"]:
        raise cut
    whole = np.memmap(file, np.uint8, "r", first, (header["bytes"],)) if header["bytes"] else np.empty(0, np.uint8)
    if blake2b(whole.data, digest_size=16).hexdigest() != header["checksum"]:
        raise DatabaseError(f"{file} is damaged: its checksum is wrong; make it again with timebound prepare")
    arrays = {}
    for one in header["arrays"]:
        dtype, count = np.dtype(one["dtype"]), int(np.prod(one["shape"]))
        part = whole[one["offset"] : one["offset"] + dtype.itemsize * count]
        arrays[one["name"]] = part.view(dtype).reshape(one["shape"])
    return header, arrays
