"""Runs of the lab: what is planned, keyed, run and recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from small_lab import SAME, SWEEP, WORLD, runs_of
from timebound.lab.columns import COLUMNS
from timebound.lab.engine import chunks, run_chunk
from timebound.lab.experiment import Setting, Sweep, WorldSource, plan
from timebound.lab.measuring import KINDS

pytestmark = pytest.mark.compiled  # kernels only serve them


def test_a_plan_is_every_combination_once() -> None:
    runs = runs_of(SWEEP)
    assert len(runs) == 2 * 3 * 2 * 2
    assert len({run.key for run in runs}) == len(runs)
    assert [run.key for run in runs_of(SWEEP)] == [run.key for run in runs]
    grid = WORLD.open()
    assert [run.problem for run in runs[:12:4]] == list(tb.problems(grid, 3, seed=0))
    other = Sweep(**{**SWEEP.__dict__, "seed": 1})
    assert not {run.key for run in runs_of(other)} & {run.key for run in runs}


def test_a_sweep_may_list_its_problems() -> None:
    """Each world has its own, with the optimal costs as computed; another list is remembered under another key."""
    drawn = [list(tb.problems(world.open(), 2, seed=7 + k)) for k, world in enumerate(SWEEP.worlds)]
    listed = tuple(tuple(tb.Problem(p.start, p.goal) for p in found) for found in drawn)
    runs = runs_of(Sweep("listed", SWEEP.worlds, ("a*",), listed=listed))
    assert [run.problem for run in runs] == [*drawn[0], *drawn[1]]
    keys: list[str] = []

    def remembered(key: str, draw: Callable[[], Any]) -> Any:
        keys.append(key)
        return draw()

    for given in (listed[0], listed[0][:1], ()):
        list(plan(Sweep("listed", SWEEP.worlds[:1], ("a*",), problems=2, listed=(given,)), remembered))
    assert len(set(keys)) == 3


def test_keys_tell_what_matters_and_nothing_else() -> None:
    (run,) = runs_of(Sweep("one", (WORLD,), ("tba*",), (5,), 1))
    again = replace(run, spec="tba*:r=0.9")  # the default, written out
    assert again.key == run.key
    for change in ({"spec": "tba*:r=0.8"}, {"budget": "6"}, {"kind": "other"}, {"digest": "x"}):
        assert replace(run, **change).key != run.key
    assert replace(run, setting=Setting(change_rate=5)).key != run.key


def test_records_are_what_solve_says() -> None:
    runs = runs_of(SWEEP)
    made = chunks(runs, 5)
    assert [run for chunk in made for run in chunk.runs] == runs
    assert all(len(chunk.runs) <= 5 and len({run.world for run in chunk.runs}) == 1 for chunk in made)
    for chunk in made[:2]:
        for run, record in zip(chunk.runs, run_chunk(chunk), strict=True):
            assert list(record) == list(COLUMNS)
            result = tb.solve(run.world.open(), run.problem.start, run.problem.goal, run.spec, budget=int(run.budget))
            assert (record["cost"], record["moves"], record["expansions"]) == (
                result.cost,
                result.moves,
                result.expansions,
            )
            assert record["suboptimality"] == pytest.approx(result.cost / run.problem.optimal)
            assert record["error"] is None
            assert record["wall_seconds"] > 0


def test_a_run_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(Sweep("one", (WORLD,), ("tba*", "tb-gbfs"), (5,), 1))

    def broken(world, run, entry):
        raise ZeroDivisionError("no\ngood")

    monkeypatch.setitem(KINDS, "broken", broken)
    bad = replace(runs[0], kind="broken")
    records = run_chunk(chunks([bad, runs[1]], 9)[0])
    assert records[0]["status"] == "error"
    assert "ZeroDivisionError" in records[0]["error"]
    assert records[1]["status"] == "reached"


def test_a_map_that_has_changed_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "a.map"
    tb.Grid(np.ones((9, 9))).save(file)
    runs = runs_of(Sweep("one", (WorldSource.of_file(file),), ("tba*",), (5,), 1))
    other = replace(runs[0], digest="0" * 32)
    with pytest.raises(tb.MapError, match=r"a\.map is not the map"):
        run_chunk(chunks([other], 1)[0])


def test_theorem_3_run() -> None:
    sweep = Sweep(
        "bound", (WORLD,), ("rtb-wa*:weight=1", "rtb-wa*:weight=2"), ("none",), 2,
        setting=Setting(change_rate=10, change_every=3), kind="theorem 3",
    )  # fmt: skip
    for chunk in chunks(runs_of(sweep), 99):
        for record in run_chunk(chunk):
            assert record["error"] is None
            assert record["bound_ratio"] > 0, "there was no path to judge"
            assert record["bound_ratio"] <= 1.02  # a bucket is more of a short path than of a long one


def test_columns_know_themselves() -> None:
    assert COLUMNS["suboptimality"].better == -1
    assert COLUMNS["states_per_move_max"].summary([3, 9, None]) == 9
    assert COLUMNS["cost"].summary([None]) is None
    assert COLUMNS["cost"].text(None) == ""
    assert "planning_seconds" not in SAME
    assert "expansions" in SAME


def test_worlds_of_any_file(tmp_path: Path) -> None:
    """Nodes are numbered as their file does, in records; and a world is read once while it is held."""
    (tmp_path / "ring.gr").write_text("p sp 3 3\na 1 2 1\na 2 3 1\na 3 1 1\n")
    source = WorldSource.of_file(tmp_path / "ring.gr")
    runs = runs_of(Sweep("ring", (source,), ("a*", "k-lrta*"), (5,), 4))
    assert len({run.key for run in runs}) == 2 * len({(run.problem.start, run.problem.goal) for run in runs})
    (chunk,) = chunks(runs, 99)
    records = run_chunk(chunk)
    assert {record["status"] for record in records} == {"reached"}
    assert [record["start"] for record in records] == [str(run.problem.start + 1) for run in runs]
    assert source.open() is WorldSource.of_file(tmp_path / "ring.gr").open()
    (tmp_path / "ring.gr").write_text("p sp 2 2\na 1 2 1\na 2 1 1\n")
    assert source.open().states == 2
