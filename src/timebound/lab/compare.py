"""Comparing algorithms on the reader's own maps: a trade-off with its Pareto front, problem by problem, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bench import Entry, short, summarise
from .charts import Chart, Series
from .columns import COLUMNS
from .report import Document, Finding, Section, Table

__all__ = ["Difference", "compare", "differences", "pareto"]

COMPARED = ("suboptimality", "states_per_move_mean", "microseconds_per_move", "back_moves", "revisits")
_RESAMPLES = 10_000
_LEVEL = 0.95

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """How one competitor differs from another in a measure, over the problems that both solved."""

    measure: str
    against: str
    spec: str
    budget: str
    problems: int
    mean: float  # of this one less that one
    low: float  # of the bootstrap interval
    high: float
    wins: int  # problems on which this one was better
    losses: int

    @property
    def clear(self) -> bool:
        """Whether the interval does not hold zero."""
        return self.low > 0 or self.high < 0


def differences(records: Sequence[Record], seed: int = 0) -> list[Difference]:
    """Each algorithm against the first one with the same budget, problem by problem.

    The interval is a paired bootstrap: problems are drawn again and again, with all their runs, so that hard problems
    weigh on both sides alike.
    """
    random = np.random.default_rng(seed)
    found = []
    for budget in dict.fromkeys(record["budget"] for record in records):
        some = [record for record in records if record["budget"] == budget]
        specs = list(dict.fromkeys(record["spec"] for record in some))
        runs = {spec: {(r["digest"], r["problem"]): r for r in some if r["spec"] == spec} for spec in specs}
        first = specs[0]
        for spec in specs[1:]:
            both = [
                key
                for key, run in runs[spec].items()
                if run["status"] == "reached" and key in runs[first] and runs[first][key]["status"] == "reached"
            ]
            for measure in COMPARED:
                pairs = [(runs[spec][key][measure], runs[first][key][measure]) for key in both]
                gaps = np.array([a - b for a, b in pairs if a is not None and b is not None], float)
                if len(gaps) == 0:
                    continue
                drawn = random.integers(len(gaps), size=(_RESAMPLES, len(gaps))) if len(gaps) <= 1000 else None
                means = gaps[drawn].mean(1) if drawn is not None else _resampled(gaps, random)
                low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
                better = COLUMNS[measure].better
                found.append(
                    Difference(
                        measure,
                        first,
                        spec,
                        budget,
                        len(gaps),
                        float(gaps.mean()),
                        float(low),
                        float(high),
                        int((gaps * better > 0).sum()),
                        int((gaps * better < 0).sum()),
                    )
                )
    return found


def _resampled(gaps: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Means of resamples, one at a time: for so many problems that all at once would fill the memory."""
    return np.array([gaps[random.integers(len(gaps), size=len(gaps))].mean() for _ in range(_RESAMPLES)])


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other one beats in both coordinates (less is better), from left to right.

    >>> pareto([(1, 3), (2, 2), (3, 2.5), (4, 1)])
    [0, 1, 3]
    """
    order = sorted(range(len(points)), key=lambda k: points[k])
    front: list[int] = []
    for k in order:
        if not front or points[k][1] < points[front[-1]][1]:
            front.append(k)
    return front


def compare(records: Sequence[Record], entries: Sequence[Entry], what: str) -> Document:
    """A report on a race."""
    rows = summarise(records)
    sections = [
        Section("1", "Effort against quality", "", "", _trade_off(rows)),
        Section("2", "Differences", "", "", _differences(differences(records))),
        Section("3", "Problem by problem", "", "", _problems(records)),
    ]
    facts = {"runs": f"{len(records):,}", "algorithms": ", ".join(dict.fromkeys(str(e.spec) for e in entries))}
    facts["versions"] = f"timebound {records[0]['timebound_version']}" if records else ""
    return Document("timebound compares", [what], sections, facts)


def _name(row: Mapping[str, Any]) -> str:
    return row["spec"] + ("" if row["budget"] == "none" else f", {row['budget']}")


def _trade_off(rows: Sequence[Mapping[str, Any]]) -> Finding:
    shown = [row for row in rows if row["suboptimality_mean"] is not None and row["states_per_move_mean"] is not None]
    specs = list(dict.fromkeys(row["spec"] for row in shown))
    points = [(row["states_per_move_mean"], row["suboptimality_mean"]) for row in shown]
    front = pareto(points)
    series = [
        Series(
            spec,
            [x for row, (x, _) in zip(shown, points, strict=True) if row["spec"] == spec],
            [y for row, (_, y) in zip(shown, points, strict=True) if row["spec"] == spec],
        )
        for spec in specs
    ]
    if len(front) > 1:
        line = [points[k] for k in front]
        series.append(Series("Pareto front", [x for x, _ in line], [y for _, y in line], dashed=True, like=7))
    chart = Chart(
        "States per move against suboptimality",
        "mean states per move",
        "mean cost / optimal",
        series,
        log_x=True,
        log_y=True,
        note="Nothing that was run beats a point on the front in both.",
    )
    table = Table(
        "",
        ("", "solved", "mean", "median", "max", "states/move", "us/move", "on the front"),
        [
            [
                _name(row),
                f"{row['solved']}/{row['problems']}",
                *("" if row[k] is None else f"{row[k]:.3f}" for k in _QUALITY),
                short(row["states_per_move_mean"]),
                short(row["microseconds_per_move_mean"]),
                "yes" if row in [shown[k] for k in front] else "",
            ]
            for row in rows
        ],
    )
    best = "; ".join(_name(shown[k]) for k in front)
    return Finding("", f"on the Pareto front: {best}" if front else "nothing arrived", [table], [chart])


_QUALITY = ("suboptimality_mean", "suboptimality_median", "suboptimality_max")


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.4g}"


def _differences(found: Sequence[Difference]) -> Finding:
    if not found:
        return Finding("", "there is only one algorithm for each budget, so nothing to compare")
    lines = []
    for one in found:
        column = COLUMNS[one.measure]
        verdict = "no clear difference"
        if one.clear and column.better:
            verdict = "better" if one.mean * column.better > 0 else "worse"
        lines.append(
            [
                one.spec + ("" if one.budget == "none" else f", {one.budget}"),
                column.title,
                _signed(one.mean),
                f"{_signed(one.low)} to {_signed(one.high)}",
                f"{one.wins} : {one.losses}",
                verdict,
            ]
        )
    table = Table(
        f"Against {found[0].against}, mean of the differences with a 95% paired bootstrap interval",
        ("", "measure", "difference", "interval", "better : worse", ""),
        lines,
    )
    return Finding("", f"{sum(one.clear for one in found)} of {len(found)} differences are clear", [table])


def _problems(records: Sequence[Record]) -> Finding:
    """A cloud for each pair with the first algorithm, at the same budget."""
    charts = []
    for budget in dict.fromkeys(record["budget"] for record in records):
        some = [r for r in records if r["budget"] == budget and r["status"] == "reached"]
        specs = list(dict.fromkeys(record["spec"] for record in some))
        runs = {spec: {(r["digest"], r["problem"]): r["cost"] for r in some if r["spec"] == spec} for spec in specs}
        series = []
        for spec in specs[1:]:
            both = [key for key in runs[spec] if key in runs[specs[0]]]
            xs, ys = [runs[specs[0]][key] for key in both], [runs[spec][key] for key in both]
            series.append(Series(spec, xs, ys, line=False, faint=True))
        if series:
            words = "" if budget == "none" else f", budget {budget}"
            charts.append(
                Chart(
                    f"Cost of each problem{words}",
                    f"cost with {specs[0]}",
                    "cost with the other",
                    series,
                    log_x=True,
                    log_y=True,
                    diagonal=True,
                    note=f"Below the line a problem was solved more cheaply than by {specs[0]}.",
                )
            )
    return Finding("", "each point is a problem" if charts else "there is only one algorithm", [], charts)
