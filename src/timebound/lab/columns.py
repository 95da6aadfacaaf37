"""What a record holds: each column's type, how it is summed up, which way is better, how many digits it deserves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

__all__ = ["COLUMNS", "MEASURES", "Column", "deterministic"]


@dataclass(frozen=True)
class Column:
    """One column of the table of records."""

    name: str
    kind: str  # DuckDB's type
    title: str = ""
    aggregate: str = "mean"  # mean, median, max or sum; for names and settings it means nothing
    better: int = 0  # -1: less is better, +1: more is better, 0: neither
    digits: int = 2
    timed: bool = False  # differs from run to run
    of_solved: bool = False  # says how good a whole walk was: one that did not arrive has none

    def summary(self, values: Iterable[Any]) -> float | None:
        """The column's values as one number; None if there are none.

        >>> COLUMNS["suboptimality"].summary([1.0, 2.0, None])
        1.5
        """
        known = [float(value) for value in values if value is not None]
        if not known:
            return None
        sums: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "median": median, "max": max, "sum": sum}
        return float(sums[self.aggregate](known))

    def text(self, value: float | None) -> str:
        """The number as it should be printed.

        >>> COLUMNS["suboptimality"].text(1.23456), COLUMNS["expansions"].text(12345.6)
        ('1.235', '12,346')
        """
        return "" if value is None else f"{value:,.{self.digits}f}"


def _columns() -> dict[str, Column]:
    what = [
        Column("key", "VARCHAR", "what was run, as a hash"),
        Column("map", "VARCHAR", "map"),
        Column("digest", "VARCHAR", "the map's hash"),
        Column("source", "VARCHAR", "where the problem comes from"),
        Column("seed", "BIGINT", "that problems were drawn with"),
        Column("problem", "BIGINT", "number of the problem"),
        Column("start", "VARCHAR", "start"),
        Column("goal", "VARCHAR", "goal"),
        Column("spec", "VARCHAR", "algorithm as asked for"),
        Column("algorithm", "VARCHAR", "algorithm in full"),
        Column("budget", "VARCHAR", "budget per move"),
        Column("commit", "BIGINT", "moves per decision"),
        Column("move_limit", "BIGINT", "move limit"),
        Column("change_rate", "DOUBLE", "change rate"),
        Column("change_every", "BIGINT", "ticks between changes"),
        Column("non_optimal", "BOOLEAN", "whether non-optimal moves were counted"),
        Column("database", "VARCHAR", "database, as it was made"),
        Column("records", "BIGINT", "records asked for"),
        Column("blocked", "DOUBLE", "share of the free cells blocked since, %"),
        Column("kind", "VARCHAR", "kind of run"),
        Column("status", "VARCHAR", "outcome"),
        Column("error", "VARCHAR", "what went wrong"),
        Column("answer", "VARCHAR", "what the database said"),
    ]
    measures = [
        Column("suboptimality", "DOUBLE", "cost / optimal", better=-1, digits=3, of_solved=True),
        Column("optimal", "DOUBLE", "optimal cost", digits=2),
        Column("cost", "DOUBLE", "solution cost", better=-1, digits=1, of_solved=True),
        Column("moves", "BIGINT", "moves", better=-1, digits=1, of_solved=True),
        Column("waits", "BIGINT", "ticks without a move", better=-1, digits=1),
        Column("first_move_lag", "BIGINT", "ticks before the first move", better=-1, digits=1),
        Column("expansions", "BIGINT", "states expanded", better=-1, digits=0),
        Column("learning_expansions", "BIGINT", "of those, while learning", better=-1, digits=0),
        Column("states_per_move_mean", "DOUBLE", "states per move", better=-1, digits=1),
        Column("states_per_move_median", "DOUBLE", "states per move, median", better=-1, digits=1),
        Column("states_per_move_max", "BIGINT", "states on one move, most", "max", better=-1, digits=0),
        Column("asking_moves", "BIGINT", "moves with more than one state", better=-1, digits=1),
        Column("back_moves", "BIGINT", "back-moves", better=-1, digits=1),
        Column("non_optimal_moves", "BIGINT", "non-optimal moves", better=-1, digits=1),
        Column("back_moves_percent", "DOUBLE", "back-moves, % of non-optimal", better=-1, digits=1),
        Column("revisits", "BIGINT", "revisits", better=-1, digits=1),
        Column("restarts", "BIGINT", "restarts", better=-1, digits=1),
        Column("astray", "BIGINT", "back-moves after the path was found", better=-1, digits=2),
        Column("bound_ratio", "DOUBLE", "path over the bound of Theorem 3, worst", "max", better=-1, digits=3),
        Column("regions", "BIGINT", "regions of the map", digits=0),
        Column("memory_states", "BIGINT", "states in memory", better=-1, digits=0),
        Column("memory_bytes", "BIGINT", "bytes in memory", better=-1, digits=0),
        Column("planning_seconds", "DOUBLE", "planning time, s", better=-1, digits=4, timed=True),
        Column("microseconds_per_move", "DOUBLE", "us per move", better=-1, digits=2, timed=True),
        Column("wall_seconds", "DOUBLE", "seconds for the whole run", digits=4, timed=True),
    ]
    made_with = [
        Column(name, "VARCHAR", timed=True)
        for name in ("timebound_version", "python_version", "numpy_version", "numba_version", "code", "machine")
    ]
    made_with.append(Column("jobs", "BIGINT", "threads at a time", timed=True))
    return {column.name: column for column in (*what, *measures, *made_with)}


COLUMNS: dict[str, Column] = _columns()
"""Every column, by name, in the order of the table."""

MEASURES: dict[str, tuple[str, str]] = {
    name: (name, name)
    for name in (
        *("suboptimality", "cost", "moves", "waits", "first_move_lag", "expansions", "states_per_move"),
        *("learning_expansions", "back_moves", "non_optimal_moves", "back_moves_percent", "revisits", "restarts"),
        *("astray", "microseconds_per_move", "planning_seconds", "memory_states", "memory_bytes"),
    )
} | {"states_per_move": ("states_per_move_mean", "states_per_move_max")}
"""What a race is summed up by: the column that its mean and median are of, and the one that its maximum is of."""


def deterministic(names: Sequence[str] = tuple(COLUMNS)) -> list[str]:
    """The columns that are the same whenever and wherever a run is made."""
    return [name for name in names if not COLUMNS[name].timed]
