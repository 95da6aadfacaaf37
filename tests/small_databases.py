"""Databases that are made in a moment, and files that look like one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from timebound.databases import coverage, files
from timebound.kernels import climbing
from timebound.kernels.jit import kernel

SIDE = 64 if COMPILED else 16
ROOM = 8 if COMPILED else 4


@kernel
def climbed(world, start, end, limit):
    return climbing.climbs(world, start, end, limit)


def rooms(seed: int = 1) -> tb.Grid:
    return tb.Grid(tb.generate.rooms((SIDE, SIDE), room=ROOM, seed=seed))


# Hundreds of searches for the same few lines of code.
BOTH_IF_COMPILED = pytest.mark.parametrize(
    "covers",
    [False, pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="many searches"))],
    ids=["random", "coverage"],
)


ROUNDS = {name: getattr(coverage, name) for name in ("TREES", "PER_TREE", "DRAWS", "ENOUGH")}


def make_rounds_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coverage, "TREES", 3 if COMPILED else 2)
    patch.setattr(coverage, "PER_TREE", 4)
    patch.setattr(coverage, "DRAWS", 60 if COMPILED else 8)
    patch.setattr(coverage, "ENOUGH", 0.02 if COMPILED else 0.2)


def octile(a: tuple[int, int], b: tuple[int, int]) -> int:
    rows, cols = abs(a[0] - b[0]), abs(a[1] - b[1])
    return 13860 * max(rows, cols) + (19601 - 13860) * min(rows, cols)


def with_text(text: bytes, arrays: bytes) -> bytes:
    """A file with any header at all, of a length that all versions have given it."""
    text += b" " * (-(len(files.MAGIC) + 8 + len(text)) % 64)
    return files.MAGIC + len(text).to_bytes(8, "little") + text + arrays


def header_and_arrays(whole: bytes) -> tuple[dict[str, Any], bytes]:
    first = len(files.MAGIC) + 8
    end = first + int.from_bytes(whole[len(files.MAGIC) : first], "little")
    return json.loads(whole[first:end]), whole[end:]


def forged(whole: bytes, **changes: Any) -> bytes:
    """A file with another header and a right checksum."""
    header, arrays = header_and_arrays(whole)
    header |= changes
    return with_text(files._text({**header, "checksum": files._checksum(header, arrays)}), arrays)


def with_number(array: np.ndarray, place: int, number: int) -> np.ndarray:
    changed = array.copy()
    changed[place] = number
    return changed


def small_work(world: tb.Grid, file: Path, covers: bool, **options: Any) -> tb.SubgoalDatabase:
    mode = "trees" if covers else "paths"
    return tb.prepare(world, file, records=20, mode=mode, seed=5, coverage=covers, **options)
