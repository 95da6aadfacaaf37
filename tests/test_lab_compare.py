"""Comparing algorithms: paired differences and the Pareto front."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from small_lab import SIDE
from timebound import cli
from timebound.lab import compare
from timebound.lab.columns import COLUMNS, MEASURES

pytestmark = pytest.mark.compiled  # kernels only serve them


def record(spec: str, problem: int, ratio: float, budget: str = "5") -> dict:
    return {
        "spec": spec, "algorithm": spec, "budget": budget, "digest": "d", "source": "random", "problem": problem,
        "status": "reached", "suboptimality": ratio, "cost": ratio * 10, "states_per_move_mean": 1.0,
        "microseconds_per_move": 1.0, "back_moves": 0, "revisits": 0,
    }  # fmt: skip


def test_differences_are_paired() -> None:
    """Problems differ by far more than the algorithms do; pairs show it all the same."""
    chance = np.random.default_rng(1)
    hard = chance.uniform(1, 100, 60)
    records = [record("a", k, hard[k]) for k in range(60)]
    records += [record("b", k, hard[k] + 0.1 + chance.normal(0, 0.05)) for k in range(60)]
    one = compare.differences(records)[0]
    assert (one.measure, one.against, one.spec, one.problems) == ("suboptimality", "a", "b", 60)
    assert 0.05 < one.low < one.mean < one.high < 0.15
    assert one.clear
    assert one.wins + one.losses == 60
    assert one.losses > 50
    assert compare.differences(records) == compare.differences(records)
    equal = [record("a", k, hard[k]) for k in range(60)] + [
        record("b", k, hard[k] + chance.normal(0, 1)) for k in range(60)
    ]
    assert not compare.differences(equal)[0].clear


def raced(spec: str, solved: int, ratio: float, states: float) -> list[dict]:
    made = [record(spec, k, ratio) for k in range(10)]
    always = dict.fromkeys(COLUMNS) | {f"{k}_version": f"{k} 1.2.3" for k in ("timebound", "python", "numpy", "numba")}
    always |= {"machine": "an abacus", "seed": 17, "move_limit": 99, "commit": 1, "jobs": 2, "databases": ()}
    for k, one in enumerate(made):
        gone = {} if k < solved else {"status": "move-limit", "suboptimality": None}
        one.update(always | one | {name: 0 for name in MEASURES if name not in one and name in COLUMNS} | gone)
        one.update(states_per_move_mean=states, states_per_move_max=9)
    return made


def test_the_front_is_of_those_that_solved_everything() -> None:
    """One that gives up on the hard problems looks better than it is."""
    records = [*raced("a", 10, 1.2, 50.0), *raced("quitter", 7, 1.0, 5.0), *raced("c", 10, 1.5, 20.0)]
    document = compare.compare(records, "what")
    effort, differences, _ = (section.finding for section in document.sections)
    assert "on the Pareto front: c, 5; a, 5." in effort.because
    assert "quitter, 5 (7 of 10)" in effort.because
    assert [row[-1] for row in effort.tables[0].rows] == ["yes", "not all solved", "yes"]
    (chart,) = effort.charts
    assert [(one.name, len(one.x)) for one in chart.series] == [
        ("a", 1), ("quitter, not all solved", 1), ("c", 1), ("Pareto front", 2),
    ]  # fmt: skip
    where = differences.tables[0].header.index("problems")
    assert {(row[0], row[where]) for row in differences.tables[0].rows} == {("quitter, 5", "7 of 10"), ("c, 5", "10")}
    assert "over 7 to 10 of 10 problems" in differences.because
    found = compare.differences(records)
    assert {(one.spec, one.problems, one.of) for one in found} == {("quitter", 7, 10), ("c", 10, 10)}
    # Two lists of problems on one map are not each other's.
    twice = [one | {"source": source} for source in ("one", "two") for one in records]
    assert {(one.spec, one.problems, one.of) for one in compare.differences(twice)} == {
        ("quitter", 14, 20), ("c", 20, 20),
    }  # fmt: skip
    assert "quitter, 5 (14 of 20)" in compare.compare(twice, "").sections[0].finding.because
    # What nobody solved is held against nobody.
    records = [*raced("a", 8, 1.2, 50.0), *raced("b", 8, 1.1, 60.0)]
    assert compare.compare(records, "").sections[0].finding.because == "on the Pareto front: a, 5; b, 5"
    assert compare.compare(raced("a", 0, 1.0, 1.0), "").sections[0].finding.because == "nothing arrived"


def test_a_comparison_says_how_it_was_made() -> None:
    facts = compare.compare(raced("a", 10, 1.2, 50.0), "what").facts
    assert facts["budget"] == "budget 5 states per move"
    assert (facts["move limit"], facts["seed"], facts["machine"]) == ("99", "17", "an abacus")
    for version in ("timebound", "python", "numpy", "numba"):
        assert f"{version} 1.2.3" in facts["versions"]


def test_pareto() -> None:
    assert compare.pareto([(1, 1), (1, 2), (2, 1), (0.5, 3)]) == [3, 0]
    assert compare.pareto([]) == []


def test_compare_command(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tb.Grid(tb.generate.caves((SIDE, SIDE), seed=1)).save("a.map")
    arguments = ["compare", "a.map", "-a", "tba*", "tb-gbfs", "--budget", "2,8", "--problems", "4"]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "effort against quality: on the Pareto front" in out
    page = Path("timebound-compare/report.html").read_text()
    assert "Pareto front" in page
    assert len(Path("timebound-compare/runs.csv").read_text().splitlines()) == 17
    assert cli.main([*arguments, "--json", "-o", "x"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["summary"]) == 4
    assert {one["spec"] for one in told["differences"]} == {"tb-gbfs"}
