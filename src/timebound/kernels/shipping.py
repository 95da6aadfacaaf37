"""Kernels that ship: compiled ahead of time for any processor of a family, in one file for each inside the package.

``make wheel`` writes these files, and nobody else does. None is believed for being there: a file counts only
if it was made of exactly these sources, for this Python, Numba, LLVM and system, and for a processor that this one can
stand in for; and each kernel in it only if its checksum and the types of its arguments are right. Otherwise it is as if
nothing had been shipped: the kernel is compiled here, for this processor, into the usual cache.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import zlib
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba import config, types
from numba.core.serialize import dumps

from ..atomic import replaced
from .sources import KERNEL_FOLDERS, sources_digest

__all__ = ["DIGEST", "SUFFIX", "TARGETS", "Target", "find", "is_any_for", "lean", "needed_here", "why_not", "write"]

DIGEST = sources_digest(folders=KERNEL_FOLDERS)  # of the sources as they are when they are imported
FOLDER = Path(__file__).resolve().parent / "shipped"
SUFFIX = ".kernels"


class Target(NamedTuple):
    """A family of processors, and what a processor must have to be one of them."""

    name: str
    machine: str  # the first part of LLVM's name for a system
    cpu: str  # LLVM's name for the family
    features: frozenset[str]


# The best first. What every processor of a kind has is not asked for: LLVM does not tell it on all of them.
_V3 = """
    avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave
"""
TARGETS = (
    Target("x86-64-v3", "x86_64", "x86-64-v3", frozenset(_V3.split())),
    Target("x86-64", "x86_64", "x86-64", frozenset()),
    Target("aarch64", "aarch64", "generic", frozenset()),
)

# What Numba can be told by the environment that makes other code of the same text. Which processor is not among it.
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")

_MAGIC = b"timebound kernels 1\n"
_HEAD = Struct("<20sQQ16s")  # magic; bytes of the JSON about it; number of kernels; checksum of both and of the index
_ENTRY = Struct("<16sQQ16s")  # key; place; bytes; checksum


@cache
def needed_here() -> dict[str, str]:
    """All that code depends on, apart from the processor. NumPy's arrays keep their form within a major version."""
    return {
        "sources": DIGEST.hex(),
        "Python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "NumPy": np.__version__.partition(".")[0],
        "system": llvm.get_process_triple(),
        "settings": " ".join(f"{name}={getattr(config, name, None)!r}" for name in _SETTINGS),
    }


class _Archive(NamedTuple):
    path: Path
    about: dict[str, str]
    places: dict[bytes, tuple[int, int, bytes]]  # by key: place, bytes, checksum

    def read(self, key: bytes) -> bytes | None:
        """What was written under this key, if it is whole."""
        if key not in self.places:
            return None
        place, size, digest = self.places[key]
        with open(self.path, "rb") as file:
            file.seek(place)
            body = file.read(size)
        return zlib.decompress(body) if _digest(body) == digest else None


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _open(path: Path) -> _Archive | None:
    """What is in a file; None if there is none, or if it is not whole."""
    try:
        with open(path, "rb") as file:
            magic, size, count, digest = _HEAD.unpack(file.read(_HEAD.size))
            wanted = size + count * _ENTRY.size
            if magic != _MAGIC or wanted > os.fstat(file.fileno()).st_size:
                return None
            rest = file.read(wanted)
            if _digest(rest) != digest:
                return None
        entries = _ENTRY.iter_unpack(rest[size:])
        return _Archive(path, json.loads(rest[:size]), {key: tuple(where) for key, *where in entries})
    except Exception:  # there is no end to what can be wrong with a file
        return None


def _suitable(machine: str, features: str) -> list[Target]:
    """The targets that a processor with these features can stand in for; features as Numba tells them to LLVM."""
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    return [target for target in TARGETS if target.machine == machine and target.features <= has]


@cache
def _archives(system: str, features: str) -> tuple[_Archive, ...]:
    """What has been shipped for this processor, the best first, and was made of all that there is here."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return ()  # who names a processor means it
    opened = [_open(FOLDER / (target.name + SUFFIX)) for target in _suitable(system.partition("-")[0], features)]
    return tuple(archive for archive in opened if archive is not None and archive.about == needed_here())


def is_any_for(processor: tuple[str, str, str]) -> bool:
    """Whether anything has been shipped that can be used: for Numba's ``magic_tuple``."""
    system, _, features = processor
    return bool(_archives(system, features))


def why_not() -> str | None:
    """Why what has been shipped cannot be used here, in a few words; None if it can, or if there is none."""
    opened = {path.name: _open(path) for path in sorted(FOLDER.glob("*" + SUFFIX))}
    if not opened:
        return None
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES names a processor"
    here = needed_here()
    for name, archive in opened.items():
        if archive is None:
            return f"{name} is damaged"
        for what, was in archive.about.items():
            if what == "sources" and was != here[what]:
                return "the sources were edited"
            if was != here.get(what):
                return f"they were made with {what} {was}, and here is {here.get(what)}"
    return None


def _text_of(kind: Any) -> str:
    """A type in words that are the same in every process, and say where a NamedTuple comes from."""
    if isinstance(kind, types.TypeRef):
        return f"type {_text_of(kind.instance_type)}"
    if isinstance(kind, types.BaseTuple):
        of = kind.instance_class if isinstance(kind, types.BaseNamedTuple) else tuple
        return f"{of.__module__}.{of.__qualname__}({', '.join(map(_text_of, kind))})"
    return str(kind)


def _key_of(name: str, index_key: Any) -> bytes:
    """What a kernel is found by: its name, the types of its arguments, and Numba's digests of its text."""
    signature, _, digests = index_key
    return _digest(repr((name, [_text_of(kind) for kind in signature], digests)).encode())


def find(name: str, index_key: Any) -> Any:
    """The compiled code of a kernel as Numba wants it back, if it has been shipped; else None.

    ``index_key`` is Numba's, which has the processor in it: that is what it is sought for.
    """
    signature, (system, _, features), _ = index_key
    if not isinstance(signature, tuple):  # somebody has asked for a type to be returned
        return None
    for archive in _archives(system, features):
        try:
            body = archive.read(_key_of(name, index_key))
            data = None if body is None else pickle.loads(body)
            if data is not None and tuple(data[3].args) == signature:
                return data
        except Exception:  # the file was cut or exchanged since it was opened
            continue
    return None


def lean(data: Any) -> Any:
    """Compiled code without what only Numba's printing and linking want, which is three quarters of it.

    In the place of LLVM's text stand the names that the machine code defines: Numba looks for them there. So nothing
    must ever be linked with it; ``jit`` sees to that.
    """
    (name, kind, (code, text)), *rest = data
    if kind != "object" or not isinstance(rest[5], str):
        raise ValueError(f"Numba {numba.__version__} does not keep code in the way that timebound knows")
    rest[5] = ""  # the types of all variables, for people
    module = llvm.parse_bitcode(text)
    names = "\n".join(
        [f"define void @{_quoted(one.name)}() {{ unreachable }}" for one in module.functions if not one.is_declaration]
        + [f"@{_quoted(one.name)} = global i8 0" for one in module.global_variables if not one.is_declaration]
    )
    return ((name, kind, (code, llvm.parse_assembly(names).as_bitcode())), *rest)


def _quoted(name: str) -> str:
    """A name as LLVM reads it."""
    plain = "".join(one if one.isascii() and one.isprintable() and one not in '\\"' else "" for one in name)
    if plain != name:
        raise ValueError(f"{name!r} cannot be written in LLVM's language")
    return f'"{name}"'


def write(path: Path, kernels: Iterable[tuple[str, Any, Any]]) -> int:
    """Write a file of kernels, whole or not at all, and tell how many: each a name, Numba's key and ``lean`` code."""
    bodies = {_key_of(name, key): zlib.compress(dumps(data), 9) for name, key, data in kernels}
    about = json.dumps(needed_here()).encode()
    place = _HEAD.size + len(about) + len(bodies) * _ENTRY.size
    index = bytearray()
    for key in sorted(bodies):
        body = bodies[key]
        index += _ENTRY.pack(key, place, len(body), _digest(body))
        place += len(body)
    with replaced(path) as beside, open(beside, "wb") as file:
        file.write(_HEAD.pack(_MAGIC, len(about), len(bodies), _digest(about + index)) + about + index)
        file.writelines(bodies[key] for key in sorted(bodies))
    return len(bodies)
