"""Reproducing a paper: once, in steps, with errors, killed, and on a cluster."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import timebound as tb
from forking import Forking
from helpers import COMPILED
from small_lab import SWEEP, runs_of, same
from timebound import cli, workers
from timebound.lab import engine, paper, report, reproduce
from timebound.lab.engine import Commits, chunks, run_chunk
from timebound.lab.experiment import Sweep, WorldSource
from timebound.lab.measuring import KINDS
from timebound.lab.store import Memory, Store

pytestmark = pytest.mark.compiled  # kernels only serve them


def small_paper(sweep: Sweep = SWEEP) -> paper.Paper:
    def examine(data: paper.Data) -> report.Finding:
        mean = data["small"].total("suboptimality")
        verdict = report.REPRODUCED if mean is not None and mean >= 1 else report.DIFFERS
        return report.Finding(verdict, f"mean {mean}", [report.Table("", ("a", "b"), [["x", "1"]])])

    item = paper.Item("Table 9", "A <small> table", "means are above 1", "above 1", ("small",), examine)
    return paper.Paper("small", "Nobody: Nothing. 2000", lambda scale, maps: [sweep], (item,))


def test_reproduce_runs_once_and_reports(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = reproduce.reproduce(small_paper(), tmp_path, say=said.append, jobs=1)
    assert outcome.verdicts == {"Table 9": "reproduced"}
    assert (outcome.runs, outcome.errors) == (24, 0)
    page = (tmp_path / "report.html").read_text()
    assert "A &lt;small&gt; table" in page
    assert "Table 9" in (tmp_path / "report.md").read_text()
    assert any("to make, about" in line for line in said)
    said.clear()
    reproduce.reproduce(small_paper(), tmp_path, say=said.append, jobs=1)
    assert said == ["small, normal: 24 runs, 24 of them made before"]
    more = Sweep(**{**SWEEP.__dict__, "specs": (*SWEEP.specs, "tb-wa*")})
    reproduce.reproduce(small_paper(more), tmp_path, say=said.append, jobs=1)
    assert said[1] == "small, normal: 36 runs, 24 of them made before"


def test_steps_apart(tmp_path: Path) -> None:
    quiet = {"say": lambda text: None, "jobs": 1}
    assert reproduce.reproduce(small_paper(), tmp_path, steps=["plan"], **quiet).verdicts == {}
    assert not (tmp_path / "report.html").exists()
    early = reproduce.reproduce(small_paper(), tmp_path, steps=["report"], **quiet)
    assert early.verdicts == {"Table 9": "cannot tell"}
    assert "24 runs have not been made" in (tmp_path / "report.md").read_text()
    reproduce.reproduce(small_paper(), tmp_path, steps=["run"], **quiet)
    late = reproduce.reproduce(small_paper(), tmp_path, steps=["report"], **quiet)
    assert late.verdicts == {"Table 9": "reproduced"}


def test_errors_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(world, run, entry):
        raise ZeroDivisionError("no good")

    monkeypatch.setitem(KINDS, "broken", broken)
    sweep = Sweep(**{**SWEEP.__dict__, "kind": "broken", "problems": 1})
    outcome = reproduce.reproduce(small_paper(sweep), tmp_path, say=lambda text: None, jobs=1)
    assert outcome.errors == 8
    page = (tmp_path / "report.html").read_text()
    assert page.index("Unexplained errors") < page.index("<nav>")
    assert "ZeroDivisionError: no good" in page


def test_a_run_that_fails_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def broken(world, run, entry):
        tried.append(run.key)
        raise ZeroDivisionError("no good")

    monkeypatch.setitem(KINDS, "broken", broken)
    sweep = Sweep(**{**SWEEP.__dict__, "kind": "broken", "problems": 2})
    for calls in (1, 2):
        reproduce.reproduce(small_paper(sweep), tmp_path, say=lambda text: None, jobs=1)
        assert len(tried) == calls * len(set(tried)) == calls * 16


def test_a_chunk_that_took_long_is_committed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept when the next chunk begins; small ones share a commit, after a second at the latest."""
    now = [0.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])
    store = Memory()
    commits = Commits(store)
    held = []
    for number, seconds in enumerate([0.6, 0.1, 0.1, 0.6, 0.4, 0.4, 0.4, 0.1]):
        now[0] += seconds
        commits.take([{"key": str(number), "error": None}])
        held.append(len(store.keys()))
    assert held == [1, 1, 1, 4, 4, 4, 7, 7]
    commits.finish()
    assert len(store.keys()) == 8


def test_reproduce_needs_a_job(tmp_path: Path) -> None:
    with pytest.raises(tb.SpecError, match="at least 1, not 0"):
        reproduce.reproduce(small_paper(), tmp_path / "x", jobs=0)
    assert not (tmp_path / "x").exists()


def test_a_rule_that_fails_is_an_error_too(tmp_path: Path) -> None:
    broken = paper.Item("Table 8", "t", "c", "r", ("small",), lambda data: 1 / 0)  # type: ignore[arg-type, return-value]
    small = small_paper()
    both = paper.Paper(small.name, small.reference, small.sweeps, (broken, *small.items))
    outcome = reproduce.reproduce(both, tmp_path, say=lambda text: None, jobs=1)
    assert outcome.verdicts == {"Table 8": "cannot tell", "Table 9": "reproduced"}
    assert outcome.errors == 1


SCRIPT = """
import sys
from timebound.lab import paper, report, reproduce
from timebound.lab.experiment import Sweep, WorldSource
from timebound.lab.store import Store
add = Store.add
def told(store, records):
    add(store, records)
    print(len(records), flush=True)
Store.add = told
worlds = tuple(WorldSource.generated("caves", 48, seed) for seed in range(4))
sweep = Sweep("small", worlds, ("tba*", "tb-gbfs", "tb-wa*:weight=1"), (1, 2, 3, 4), 30)
item = paper.Item("Table 9", "t", "c", "r", ("small",), lambda data: report.Finding("cannot tell", "x"))
reproduce._CHUNK_SECONDS = reproduce._COMMIT_SECONDS = 0.05
small = paper.Paper("small", "x", lambda scale, maps: [sweep], (item,))
reproduce.reproduce(small, sys.argv[1], jobs=2, say=lambda text: None)
"""


@pytest.mark.skipif(not COMPILED, reason="kills processes; the same code runs above")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL, again and again; the final table is that of a run which was left alone."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with Forking(SCRIPT) as program:
        runs = program.told(str(whole))
        assert runs == 4 * 30 * 12
        program.kill_again_and_again(str(broken), whole=runs)
        program.told(str(broken))
    with Store(whole / "runs.duckdb") as one, Store(broken / "runs.duckdb") as other:
        assert len(one.rows()) == runs
        assert same(one.rows()) == same(other.rows())


@pytest.mark.skipif(not COMPILED, reason="starts processes; the same code runs above")
def test_a_cluster_that_loses_a_worker() -> None:
    distributed = pytest.importorskip("distributed")
    sweep = Sweep("small", tuple(WorldSource.generated("caves", 48, s) for s in range(4)), SWEEP.specs, (1, 3), 20)
    todo = chunks(runs_of(sweep), 10)
    expected = [record for records in workers.on_threads(run_chunk, todo, 2) for record in records]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = []
        for number, records in enumerate(workers.on_dask(run_chunk, todo, cluster.scheduler_address, 2)):
            found += records
            if number == 2:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert same(found) == same(expected)


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "_PATIENCE", "1s")
    with pytest.raises(tb.Error, match="no Dask scheduler at tcp://127"):
        list(workers.on_dask(run_chunk, [], "tcp://127.0.0.1:1", 1))


def test_reproduce_command(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "find", lambda name: small_paper())
    assert cli.main(["reproduce", "small", "--jobs", "1", "--export", "runs.csv"]) == 0
    out, err = capsys.readouterr()
    assert "Table 9               reproduced" in out
    assert "24 runs to" not in out
    assert "made before" in err
    assert len(Path("runs.csv").read_text().splitlines()) == 25
    assert cli.main(["reproduce", "small", "--json", "--jobs", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"Table 9": "reproduced"}
    for wrong, words in (
        (["--steps", "walk"], "there is no step 'walk'"),
        (["--export", "runs.txt"], "parquet or .csv"),
        (["--maps", "nowhere"], "no folder nowhere"),
    ):
        assert cli.main(["reproduce", "small", *wrong]) == 2
        assert words in capsys.readouterr().err
