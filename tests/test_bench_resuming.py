"""Races that are stopped: what is kept, how the user goes on, and files for other programs."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from timebound import cli
from timebound.lab import recipes
from timebound.lab.columns import COLUMNS, deterministic
from timebound.lab.engine import Commits
from timebound.lab.experiment import Setting, cross
from timebound.lab.race import FIELDS, Race
from timebound.lab.store import Memory, Store
from timebound.lab.tasks import collect

pytestmark = pytest.mark.compiled  # kernels only serve them

SAME = [name for name in FIELDS if name not in COLUMNS or name in deterministic()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small maps and a small graph."""
    for name, seed in (("first.map", 1), ("second.map", 2)):
        tb.Grid(tb.generate.rooms((16, 16), room=8, seed=seed)).save(tmp_path / name)
    arcs = "".join(f"a {k + 1} {(k + 1) % 6 + 1} {k + 1}\na {(k + 1) % 6 + 1} {k + 1} {k + 1}\n" for k in range(6))
    (tmp_path / "ring.gr").write_text(f"p sp 6 12\n{arcs}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def race_on(*paths: str, specs: tuple[str, ...] = ("a*", "tba*"), problems: int = 3, **more: Any) -> Race:
    return Race(collect(paths, count=problems), cross(specs, [5]), **more)


def untimed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: record[name] for name in SAME} for record in records]


def stop_after(count: int):
    def progress(done: int, total: int, what: str) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stopped_race_goes_on(folder: Path, jobs: int) -> None:
    pytest.importorskip("duckdb")
    race = race_on("first.map", "second.map", "ring.gr")
    expected = untimed(race.records(race.run()))
    assert len(expected) == 18
    with Store("runs/runs.duckdb") as store, pytest.raises(KeyboardInterrupt):
        race.run(Commits(store), jobs=jobs, progress=stop_after(5))
    with Store("runs/runs.duckdb") as store:
        kept = store.keys()
        assert 5 <= len(kept) < 18
        told: list[int] = []
        rows = race.run(Commits(store), jobs=jobs, progress=lambda done, total, what: told.append(done))
        assert len(told) == 18 - len(kept)  # nothing is run twice
        assert (told[0], told[-1]) == (len(kept) + 1, 18)
        assert untimed(race.records(rows)) == expected
        assert len(race.run(Commits(store), progress=stop_after(0))) == 18  # nothing is left to do


def test_what_a_key_leaves_open_is_as_the_race_says(folder: Path) -> None:
    """Runs made for another list, with another optimum, serve all the same."""
    store = Memory()
    (task,) = collect(["first.map"], count=2)
    entries = cross(["a*"], [None])
    first = Race([task], entries).run(Commits(store))
    lines = ["version 1"]
    for problem in reversed(task.problems):
        (row, col), (goal_row, goal_col) = problem.start, problem.goal
        lines.append(f"0\tfirst.map\t16\t16\t{col}\t{row}\t{goal_col}\t{goal_row}\t{2 * problem.optimal:.9f}")
    (folder / "first.map.scen").write_text("\n".join(lines) + "\n")
    again = Race(collect(["first.map.scen"]), entries)
    rows = again.run(Commits(store), progress=stop_after(0))
    assert [row["key"] for row in rows] == [row["key"] for row in reversed(first)]
    assert [(row["source"], row["seed"], row["problem"]) for row in rows] == [
        ("first.map.scen", None, k) for k in (0, 1)
    ]
    assert [row["suboptimality"] for row in rows] == pytest.approx([0.5, 0.5])


def test_a_run_that_fails_ends_a_race(folder: Path) -> None:
    store = Memory()
    race = race_on("ring.gr", setting=Setting(change_rate=5))
    with pytest.raises(tb.WorldError, match="for grids"):
        race.run(Commits(store))
    assert not store.keys()


def test_databases_are_opened_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        tb.prepare(tb.Grid.load(f"{name}.map"), f"{name}.db", records=5, mode="trees")
    opened: list[str] = []
    load = recipes.load_database
    monkeypatch.setattr(recipes, "load_database", lambda file, world: opened.append(str(file)) or load(file, world))
    race = race_on(
        "first.map", "second.map",
        specs=("knn-lrta*", "a*"), databases=["second.db", "first.db"], setting=Setting(move_limit=500),
    )  # fmt: skip
    race.get_ready()
    records = race.records(race.run(jobs=2))
    assert len(records) == 12
    assert records[0]["databases"] == ("second.db", "first.db")
    assert sorted(Path(file).name for file in opened) == ["first.db", "second.db"]


def test_other_databases_are_other_runs(folder: Path) -> None:
    world = tb.Grid.load("first.map")
    for name, seed in (("one.db", 0), ("same.db", 0), ("other.db", 1)):
        tb.prepare(world, name, records=5, mode="trees", seed=seed)
    one, same, other = (
        {run.key for run in race_on("first.map", specs=("knn-lrta*",), databases=[name]).runs}
        for name in ("one.db", "same.db", "other.db")
    )
    assert one == same
    assert not one & other


INTERRUPTED = """
import os, signal, sys, threading
from timebound import cli
from timebound.lab.measuring import KINDS
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs in the background has it ignored
made = []
episode = KINDS["episode"]
def stopping(world, run, entry):
    made.append(run)
    if len(made) > 4:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait()  # as in a kernel: nothing stops it but the end of the process
    return episode(world, run, entry)
KINDS["episode"] = stopping
sys.exit(cli.main(sys.argv[1:]))
"""


def interrupted(*words: str) -> subprocess.CompletedProcess[str]:
    """A command that hears Ctrl-C in its fifth run."""
    paths = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


BENCH = ("bench", "first.map", "second.map", "--problems", "2", "-a", "a*", "gbfs")


def test_an_interrupted_bench_tells_what_it_has(folder: Path) -> None:
    told = interrupted(*BENCH, "--csv", "runs.csv")
    assert told.returncode == 130
    assert "gbfs" in told.stdout
    assert "partial: 4 of 8 runs" in told.stdout
    assert "interrupted after 4 of 8 runs; with -o FOLDER they are kept" in told.stderr
    with open("runs.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    told = interrupted(*BENCH, "--json")
    story = json.loads(told.stdout)
    assert (len(story["records"]), story["partial"]) == (4, True)


def test_an_interrupted_bench_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    assert cli.main([*BENCH, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert "partial" not in whole
    told = interrupted(*BENCH, "-o", "kept")
    assert told.returncode == 130
    assert "after 4 of 8 runs; they are kept in kept, and the same command goes on from there" in told.stderr
    assert cli.main([*BENCH, "-o", "kept", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "4 runs made before, in kept" in err
    assert untimed(json.loads(out)["records"]) == untimed(whole["records"])


def test_an_interrupted_comparison_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    told = interrupted("compare", *BENCH[1:], "-o", "kept")
    assert (told.returncode, told.stdout) == (130, "")
    assert "after 4 of 8 runs; they are kept in kept" in told.stderr
    assert not (folder / "kept" / "report.html").exists()
    assert cli.main(["compare", *BENCH[1:], "-o", "kept"]) == 0
    assert "4 runs made before" in capsys.readouterr().err
    assert (folder / "kept" / "report.html").exists()


@pytest.mark.parametrize("command", ["bench", "compare"])
def test_records_for_other_programs(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    words = [command, "first.map", "ring.gr", "--problems", "2", "-a", "a*", "gbfs"]
    assert cli.main([*words, "--export", "all.parquet", "--export", "all.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert "wrote all.parquet" in err
    for file in ("all.parquet", "all.csv"):
        found = duckdb.sql(f"SELECT * FROM '{file}'")
        assert found.columns == list(COLUMNS)
        assert len(found.fetchall()) == 8
    assert cli.main([*words, "--export", "all.txt"]) == 2
    assert ".parquet or .csv" in capsys.readouterr().err
    assert cli.main([*words, "--export", "first.csv/x.csv"]) == 2
    assert "there is no folder" in capsys.readouterr().err
