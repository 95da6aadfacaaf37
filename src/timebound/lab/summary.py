"""A race in few words: records become rows, one per algorithm and budget, and rows become a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..text import printable
from .columns import COLUMNS, MEASURES

__all__ = ["circumstances", "doubtful", "format_table", "made_with", "short", "summarise"]


def summarise(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per algorithm and budget: how many problems were solved, and each measure's mean, median and maximum.

    A mean is ruled by a few terrible problems, so it never stands alone. Suboptimality, cost and moves are of the
    solved problems, everything else of all of them. ``states_per_move_max`` is the most on any single move.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["spec"], record["budget"]), []).append(record)
    rows = []
    for (spec, budget), group in groups.items():
        solved = [record for record in group if record["status"] == "reached"]
        row: dict[str, Any] = {
            "spec": spec,
            "algorithm": group[0]["algorithm"],
            "budget": budget,
            "maps": len({record["digest"] for record in group}),
            "problems": len(group),
            "solved": len(solved),
            "unreachable": sum(record["status"] == "unreachable" for record in group),
            "move_limit": sum(record["status"] == "move-limit" for record in group),
        }
        for measure, (column, peak) in MEASURES.items():
            of = solved if COLUMNS[column].of_solved else group
            values = [record[column] for record in of if record[column] is not None]
            peaks = [record[peak] for record in of if record[peak] is not None]
            row[f"{measure}_mean"] = float(np.mean(values)) if values else None
            row[f"{measure}_median"] = float(np.median(values)) if values else None
            row[f"{measure}_max"] = max(peaks) if peaks else None
        rows.append(row)
    return rows


def doubtful(records: Iterable[Mapping[str, Any]]) -> int:
    """How many problems have a listed optimum that cannot be right: a path was cheaper, A*'s dearer, or there is none.

    Files list some six digits, so small differences are none.
    """
    wrong = set()
    for record in records:
        if record["change_rate"] is not None:
            continue  # the listed optimum is that of the map before it changed
        ratio = record["suboptimality"]
        off = ratio is not None and (ratio < 1 - 2e-5 or (record["algorithm"] == "a*" and ratio > 1 + 2e-5))
        if off or (record["status"] == "unreachable" and record["optimal"] is not None):
            wrong.add((record["digest"], record["problem"]))
    return len(wrong)


# Field, width, number format, first and second header line. A first line may span several columns.
_COLUMNS: tuple[tuple[str, int, str, str, str], ...] = (
    ("solved", 7, "count", "", "solved"),
    ("suboptimality_mean", 6, "ratio", "suboptimality", "mean"),
    ("suboptimality_median", 6, "ratio", "suboptimality", "med"),
    ("suboptimality_max", 5, "ratio2", "suboptimality", "max"),
    ("states_per_move_mean", 5, "short", "states/move", "mean"),
    ("states_per_move_max", 5, "short", "states/move", "max"),
    ("microseconds_per_move_mean", 5, "short", "us/", "move"),
    ("first_move_lag_mean", 5, "short", "", "lag"),
    ("back_moves_mean", 5, "short", "", "back"),
    ("revisits_mean", 5, "short", "re-", "vis."),
    ("memory_states_mean", 7, "short", "memory", "states"),
    ("memory_bytes_mean", 5, "kilobytes", "memory", "KB"),
)
# What stands in the place of the memory where it was asked for.
_NON_OPTIMAL = (
    ("non_optimal_moves_mean", 7, "short", "non-", "opt."),
    ("back_moves_percent_mean", 6, "short", "back", "%"),
)
_RESTARTS = (("cost_mean", 7, "short", "", "cost"), ("restarts_mean", 7, "short", "re-", "starts"))


def format_table(rows: Sequence[Mapping[str, Any]], *, width: int = 80) -> str:
    """The rows as text of at most ``width`` columns: a part per budget, and two header lines.

    Long numbers are shortened (12k, 3.4M), and a name that leaves no room stands on a line of its own.
    """
    if not rows:
        return "nothing was run"
    columns = list(_COLUMNS)
    if any(row["non_optimal_moves_mean"] is not None for row in rows):
        columns[-2:] = _NON_OPTIMAL
    elif any(row["restarts_mean"] for row in rows):
        columns[-2:] = _RESTARTS
    if any(row["solved"] < row["problems"] for row in rows) or len({row["problems"] for row in rows}) > 1:
        digits = max(len(f"{row['solved']}/{row['problems']}") for row in rows)
        columns[0] = ("solved", max(7, digits + 1), "part", "", "solved")
    numbers = sum(column[1] for column in columns)
    label = min(max(len(printable(row["spec"])) for row in rows), max(width - numbers, 9))
    label = max(label, len("algorithm"))
    lines = [_upper_header(columns, label), "algorithm".ljust(label) + "".join(f"{c[4]:>{c[1]}}" for c in columns)]
    for budget in dict.fromkeys(row["budget"] for row in rows):
        lines.append("-- " + _budget_words(budget) + " --")
        for row in rows:
            if row["budget"] != budget:
                continue
            name = printable(row["spec"])
            if len(name) > label:
                lines.append(name)
                name = ""
            lines.append(name.ljust(label) + "".join(f"{_cell(row, c[0], c[2]):>{c[1]}}" for c in columns))
    return "\n".join(line.rstrip() for line in lines)


def _upper_header(columns: Sequence[tuple[str, int, str, str, str]], label: int) -> str:
    line = " " * label
    for title, span in groupby(columns, key=lambda column: column[3]):
        room = sum(column[1] for column in span)
        line += " " + title.center(room - 1) if len(title) > 4 else title.rjust(room)
    return line


def _budget_words(budget: str) -> str:
    if budget == "none":
        return "no budget"
    return f"budget {budget}" + ("" if budget.endswith("ms") else " states per move")


def _cell(row: Mapping[str, Any], name: str, form: str) -> str:
    value = row[name]
    if form == "part":
        return f"{value}/{row['problems']}"
    if form == "ratio" and value is not None and value < 9.9995:
        return f"{value:.3f}"
    if form == "ratio2" and value is not None and value < 9.995:
        return f"{value:.2f}"
    if form == "kilobytes":
        value /= 1024
    return short(value)


def short(value: float | None) -> str:
    """A number in at most four characters.

    >>> [short(x) for x in (None, 0, 7, 1.234, 56.78, 999.6, 1234, 45678, 9_950_000, 1.2e7)]
    ['-', '0', '7', '1.23', '56.8', '1000', '1234', '46k', '10M', '12M']
    """
    if value is None:
        return "-"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 9999.5:
        return str(int(value))
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    if value < 9999.5:
        return f"{value:.0f}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 9.95 * size:
            return f"{value / size:.1f}{unit}"
        if value < 999.5 * size:
            return f"{value / size:.0f}{unit}"
    return f"{value:.0e}"


def circumstances(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the records of a race were made with, in words: all that one needs to make them again."""
    if not records:
        return {}

    def all_of(name: str, nothing: str = "none") -> str:
        values = list(dict.fromkeys(record[name] for record in records))
        return ", ".join(nothing if value is None else str(value) for value in values)

    one = records[0]
    budgets = ", ".join(_budget_words(budget) for budget in dict.fromkeys(record["budget"] for record in records))
    facts = {
        "runs": f"{len(records):,}",
        "algorithms": all_of("algorithm"),
        "budget": budgets,
        "moves per decision": all_of("commit"),
        "move limit": all_of("move_limit"),
        "seed": all_of("seed", "none (listed problems)"),
        "databases": ", ".join(one["databases"]),
        **{name: made_with(records)[name] for name in ("threads", "versions", "machine")},
    }
    if one["change_rate"] is not None:
        facts["changes"] = f"rate {one['change_rate']:g}%, every {one['change_every']} ticks"
    return {name: words for name, words in facts.items() if words}


def made_with(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The machine, threads and versions that records were made with, in words: each once."""
    threads = sorted({row["jobs"] for row in rows if row["jobs"]})
    versions = {
        f"timebound {row['timebound_version']}, Python {row['python_version']}, "
        f"NumPy {row['numpy_version']}, Numba {row['numba_version']}"
        for row in rows
        if row["timebound_version"]
    }
    return {
        "machine": "; ".join(sorted({row["machine"] for row in rows if row["machine"]})),
        "threads": ", ".join(map(str, threads)) + (" (times are better taken with 1)" if threads != [1] else ""),
        "versions": "; ".join(sorted(versions)),
    }
