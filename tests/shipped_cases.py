"""What ``test_shipped_kernels.py`` runs in processes of its own: a tiny kernel is shipped, and used whatever happens.

A process takes seconds to start, so one goes through all cases: before each, everything of timebound is forgotten and
imported again, from a copy of the package that the case may spoil. It prints what each case has come to, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import llvmlite
import numba

TINY = """
from .jit import kernel

@kernel
def twice(x):
    return 2 * x
"""
MINE = """
from timebound.kernels.jit import kernel
from timebound.kernels.tiny import twice

@kernel
def thrice(x):
    return twice(x) + x
"""


def begin_of_index(data: bytes) -> int:
    """Behind the head, and what is said about the file."""
    return 52 + int.from_bytes(data[20:28], "little")


def flipped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in its head": lambda data: data[:30],
    "cut in its index": lambda data: data[: begin_of_index(data) + 60],
    "cut in a kernel": lambda data: data[:-100],
    "a bit of its index": lambda data: flipped(data, begin_of_index(data) + 20),
    "a bit of a kernel": lambda data: flipped(data, -100),
    "a claim of more than there is": lambda data: data[:20] + b"\xff" * 8 + data[28:],
}


def modules(folder: Path) -> tuple[Any, Any, Any]:
    """``tiny``, ``jit`` and ``shipping`` of the package in a folder, as a new process would have them."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("timebound", "mine")]:
        del sys.modules[name]
    sys.path[0] = str(folder)
    importlib.invalidate_caches()
    return tuple(importlib.import_module(f"timebound.kernels.{name}") for name in ("tiny", "jit", "shipping"))  # type: ignore[return-value]


def use(folder: Path, call: Callable[[Any], list[Any]] = lambda tiny: []) -> list[Any]:
    """What the tiny kernel computes, and what had to be compiled for that."""
    tiny, jit, _ = modules(folder)
    compiled: list[str] = []
    jit.on_compile(compiled.append)
    return [tiny.twice(4), tiny.twice(1.5), *call(tiny), compiled]


def copy(source: Path, folder: Path) -> Path:
    """A copy of the package, without what is shipped or was compiled there."""
    shutil.copytree(source, folder / "timebound", ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    return folder


def ship(source: Path, folder: Path, target: str, cpu: str) -> None:
    """A package with the tiny kernel shipped; and beside it the same file with the code under each other's types.

    Numba must have been told to compile for that processor.
    """
    copy(source, folder)
    (folder / "timebound" / "kernels" / "tiny.py").write_text(TINY)
    tiny, _, shipping = modules(folder)
    tiny.twice(4), tiny.twice(1.5)
    found = importlib.import_module("timebound.kernels.kernel_cache").kept_in(os.environ["NUMBA_CACHE_DIR"], cpu)
    kernels = [(name, key, shipping.lean(data)) for name, key, data in found]
    (folder / "timebound" / "kernels" / "shipped").mkdir()
    shipping.write(shipped_in(folder, target), kernels)
    (one, key, data), (other, its_key, its_data) = kernels
    shipping.write(folder / "exchanged", [(one, key, its_data), (other, its_key, data)])


def shipped_in(folder: Path, target: str) -> Path:
    return folder / "timebound" / "kernels" / "shipped" / f"{target}.kernels"


def nowhere_to_write(folder: Path) -> list[Any]:
    """Numba looks for a folder by writing to it; what else might be written shows afterwards."""
    before = sorted(folder.rglob("*"))
    with patch.object(tempfile, "TemporaryFile", side_effect=PermissionError), patch.object(os, "makedirs"):
        hits = lambda tiny: [sum(tiny.twice.stats.cache_hits.values())]  # noqa: E731
        return [*use(folder, hits), sorted(folder.rglob("*")) == before]


def edited(folder: Path) -> list[Any]:
    tiny = folder / "timebound" / "kernels" / "tiny.py"
    tiny.write_text(TINY.replace("2 * x", "3 * x"))
    other_text = use(folder)
    tiny.write_text(TINY)
    as_before = use(folder)
    with (folder / "timebound" / "algorithms" / "field.py").open("a") as file:
        file.write("# an edit\n")
    return [other_text, as_before, use(folder), modules(folder)[2].why_not(), use(folder)]


def called_by_others(folder: Path) -> list[Any]:
    """Whoever calls it from compiled code; then the same from what was kept, before it is called from elsewhere."""
    (folder / "mine.py").write_text(MINE)
    call = lambda tiny: [importlib.import_module("mine").thrice(5), tiny.twice(6)]  # noqa: E731
    once = use(folder, call)
    tiny, jit, _ = modules(folder)
    compiled: list[str] = []
    jit.on_compile(compiled.append)
    return [once, [*call(tiny), compiled]]


def main(made: Path, target: str, best: str) -> dict[str, Any]:
    """All cases, each with a copy of its own of what was made."""
    told: dict[str, Any] = {}
    scratch = Path(tempfile.mkdtemp(dir=made.parent))

    def case(name: str, of: Callable[[Path], Any]) -> None:
        folder = Path(shutil.copytree(made, scratch / name))
        told[name] = of(folder)

    if best != target:  # what is shipped for the better family alone; then for both, of which the one is damaged
        (whole,) = shipped_in(made, target).parent.iterdir()

        def rename(folder: Path) -> list[Any]:
            shipped_in(folder, target).rename(shipped_in(folder, best))
            return use(folder)

        def both(folder: Path) -> list[Any]:
            shipped_in(folder, best).write_bytes(whole.read_bytes()[:-1])
            return use(folder)

        case("for the better family", rename)
        case("for both", both)
    if "NUMBA_ENABLE_AVX" in os.environ:
        return told
    case("nowhere to write", nowhere_to_write)
    case("edited", edited)
    case("called by others", called_by_others)
    case("exchanged", lambda folder: [(folder / "exchanged").replace(shipped_in(folder, target)), use(folder)][1])
    for name, spoil in SPOILT.items():

        def damaged(folder: Path, spoil: Callable[[bytes], bytes] = spoil) -> list[Any]:
            path = shipped_in(folder, target)
            path.write_bytes(spoil(path.read_bytes()))
            return [use(folder), use(folder)]

        case(name, damaged)
    for name, change in {
        "another Numba": patch.object(numba, "__version__", "0.68.999"),
        "another LLVM": patch.object(llvmlite, "__version__", "0.50.999"),
        "another Python": patch.object(sys.implementation, "cache_tag", "cpython-399"),
        "bounds are checked": patch.object(numba.config, "BOUNDSCHECK", 1),
        "a processor is named": patch.object(numba.config, "CPU_NAME", "generic"),
    }.items():
        with change:
            case(name, use)
    return told


if __name__ == "__main__":
    sys.path.insert(0, "")
    package, made, target, cpu, best = sys.argv[1:]
    if package:
        ship(Path(package), Path(made), target, cpu)
    else:
        print(json.dumps(main(Path(made), target, best)))
