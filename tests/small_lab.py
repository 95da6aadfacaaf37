"""Experiments of a few runs, and records that need no run."""

from __future__ import annotations

from helpers import COMPILED
from timebound.lab.columns import COLUMNS, deterministic
from timebound.lab.experiment import Run, Sweep, WorldSource, plan

SIDE = 24 if COMPILED else 12
WORLD = WorldSource.generated("caves", SIDE, 3)
SWEEP = Sweep("small", (WORLD, WorldSource.generated("rooms", SIDE, 1, room=6)), ("tba*", "tb-gbfs"), (3, 10), 3)
SAME = deterministic()


def fresh(key: str, draw):
    return draw()


def runs_of(sweep: Sweep) -> list[Run]:
    return list(plan(sweep, fresh))


def same(rows: list[dict]) -> list[tuple]:
    return sorted(tuple((name, row[name]) for name in SAME) for row in rows)


def filler(numbers: range) -> list[dict]:
    """Records that need no run."""
    values = {"VARCHAR": "text", "BIGINT": 7, "DOUBLE": 0.5, "BOOLEAN": True}
    plain = {name: values[column.kind] for name, column in COLUMNS.items()} | {"error": None}
    return [plain | {"key": f"{number:06}", "goal": "x" * 100} for number in numbers]
