"""Comparing algorithms on the reader's own maps: a trade-off with its Pareto front, problem by problem, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .charts import Chart, Series
from .columns import COLUMNS
from .report import Document, Finding, Section, Table
from .summary import circumstances, short, summarise

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
    problems: int  # that both solved
    of: int  # that both were given
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
        runs = {spec: {_problem(r): r for r in some if r["spec"] == spec} for spec in specs}
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
                        len(runs[spec].keys() & runs[first].keys()),
                        float(gaps.mean()),
                        float(low),
                        float(high),
                        int((gaps * better > 0).sum()),
                        int((gaps * better < 0).sum()),
                    )
                )
    return found


def _problem(record: Record) -> tuple[Any, ...]:
    """What tells problems apart: a map may have several lists of them."""
    return record["digest"], record["source"], record["problem"]


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


def compare(records: Sequence[Record], what: str) -> Document:
    """A report on a race."""
    sections = [
        Section("1", "Effort against quality", "", "", _trade_off(records)),
        Section("2", "Differences", "", "", _differences(differences(records))),
        Section("3", "Problem by problem", "", "", _problems(records)),
    ]
    return Document("timebound compares", [what], sections, circumstances(records))


def _name(row: Mapping[str, Any]) -> str:
    return row["spec"] + ("" if row["budget"] == "none" else f", {row['budget']}")


def _trade_off(records: Sequence[Record]) -> Finding:
    """The means of each competitor, and the front of those that solved all that was solved at all.

    One that gives up on hard problems has the better means for it, so it has no place on the front.
    """
    rows = summarise(records)
    solved: dict[tuple[str, str], set[Any]] = {(row["spec"], row["budget"]): set() for row in rows}
    for record in records:
        if record["status"] == "reached":
            solved[record["spec"], record["budget"]].add(_problem(record))
    solvable = set().union(*solved.values())
    shown = [row for row in rows if row["suboptimality_mean"] is not None and row["states_per_move_mean"] is not None]
    partly = [row for row in rows if solved[row["spec"], row["budget"]] != solvable]
    whole = [row for row in shown if row not in partly]
    front = [whole[k] for k in pareto([_point(row) for row in whole])]
    series = []
    for spec in dict.fromkeys(row["spec"] for row in shown):
        for group, mark in ((whole, ""), (partly, ", not all solved")):
            points = [_point(row) for row in group if row["spec"] == spec and row in shown]
            if points:
                series.append(Series(spec + mark, [x for x, _ in points], [y for _, y in points], dashed=bool(mark)))
    if len(front) > 1:
        line = [_point(row) for row in front]
        series.append(Series("Pareto front", [x for x, _ in line], [y for _, y in line], dashed=True, like=7))
    note = "Nothing that was run beats a point on the front in both."
    if partly:
        note = "Of what solved every problem, nothing beats a point on the front in both; the rest is drawn hollow."
    chart = Chart(
        "States per move against suboptimality",
        "mean states per move",
        "mean cost / optimal",
        series,
        log_x=True,
        log_y=True,
        note=note,
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
                "not all solved" if row in partly else "yes" if row in front else "",
            ]
            for row in rows
        ],
    )
    words = "on the Pareto front: " + "; ".join(map(_name, front)) if front else "nothing is on the Pareto front"
    if partly:
        counts = [len(solved[row["spec"], row["budget"]]) for row in partly]
        each = (f"{_name(row)} ({count} of {len(solvable)})" for row, count in zip(partly, counts, strict=True))
        missed = "; ".join(each)
        words += f". Not considered, since not every problem was solved: {missed}"
    return Finding("", words if solvable else "nothing arrived", [table], [chart])


def _point(row: Mapping[str, Any]) -> tuple[float, float]:
    return row["states_per_move_mean"], row["suboptimality_mean"]


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
                f"{one.problems} of {one.of}" if one.problems < one.of else f"{one.problems}",
                f"{one.wins} : {one.losses}",
                verdict,
            ]
        )
    table = Table(
        f"Against {found[0].against}, mean of the differences with a 95% paired bootstrap interval, "
        "over the problems that both solved",
        ("", "measure", "difference", "interval", "problems", "better : worse", ""),
        lines,
    )
    fewest, most = min(one.problems for one in found), max(one.problems for one in found)
    over = f"{most}" if fewest == most else f"{fewest} to {most}"
    most_given = max(one.of for one in found)
    over += " problems" if fewest == most_given else f" of {most_given} problems, those that both solved"
    return Finding("", f"{sum(one.clear for one in found)} of {len(found)} differences are clear, over {over}", [table])


def _problems(records: Sequence[Record]) -> Finding:
    """A cloud for each pair with the first algorithm, at the same budget."""
    charts = []
    for budget in dict.fromkeys(record["budget"] for record in records):
        some = [r for r in records if r["budget"] == budget and r["status"] == "reached"]
        specs = list(dict.fromkeys(record["spec"] for record in some))
        runs = {spec: {_problem(r): r["cost"] for r in some if r["spec"] == spec} for spec in specs}
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
