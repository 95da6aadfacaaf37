"""The lab: what is run, kept and reported; killed, resumed, on threads and on a cluster."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from timebound import cli, workers
from timebound.lab import bench, compare, paper, report, reproduce
from timebound.lab.charts import Chart, Series
from timebound.lab.columns import COLUMNS, deterministic
from timebound.lab.experiment import Run, Sweep, WorldSource, chunks, plan, run_chunk
from timebound.lab.papers import chapter, learning, tba, tbbfs
from timebound.lab.store import Store

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


def small_paper(sweep: Sweep = SWEEP) -> paper.Paper:
    def examine(data: paper.Data) -> report.Finding:
        mean = data["small"].total("suboptimality")
        verdict = report.REPRODUCED if mean is not None and mean >= 1 else report.DIFFERS
        return report.Finding(verdict, f"mean {mean}", [report.Table("", ("a", "b"), [["x", "1"]])])

    item = paper.Item("Table 9", "A <small> table", "means are above 1", "above 1", ("small",), examine)
    return paper.Paper("small", "Nobody: Nothing. 2000", lambda scale, maps: [sweep], (item,))


# --- runs and records ----------------------------------------------------------------------------------------------


def test_a_plan_is_every_combination_once() -> None:
    runs = runs_of(SWEEP)
    assert len(runs) == 2 * 3 * 2 * 2
    assert len({run.key for run in runs}) == len(runs)
    assert [run.key for run in runs_of(SWEEP)] == [run.key for run in runs]
    grid = WORLD.open()
    assert [run.problem for run in runs[:12:4]] == list(tb.problems(grid, 3, seed=0))
    other = Sweep(**{**SWEEP.__dict__, "seed": 1})
    assert not {run.key for run in runs_of(other)} & {run.key for run in runs}


def test_keys_tell_what_matters_and_nothing_else() -> None:
    (run,) = runs_of(Sweep("one", (WORLD,), ("tba*",), (5,), 1))
    again = replace(run, spec="tba*:r=0.9")  # the default, written out
    assert again.key == run.key
    for change in ({"spec": "tba*:r=0.8"}, {"budget": "6"}, {"kind": "other"}, {"digest": "x"}):
        assert replace(run, **change).key != run.key
    assert replace(run, setting=bench.Setting(change_rate=5)).key != run.key


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

    monkeypatch.setitem(sys.modules["timebound.lab.experiment"].KINDS, "broken", broken)
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
        setting=bench.Setting(change_rate=10, change_every=3), kind="theorem 3",
    )  # fmt: skip
    for chunk in chunks(runs_of(sweep), 99):
        for record in run_chunk(chunk):
            assert record["error"] is None
            assert record["bound_ratio"] <= 1.02  # a bucket is more of a short path than of a long one


# --- the store -----------------------------------------------------------------------------------------------------


def test_store_keeps_replaces_and_exports(tmp_path: Path) -> None:
    records = run_chunk(chunks(runs_of(SWEEP), 12)[0])
    with Store(tmp_path / "deep" / "runs.duckdb") as store:
        store.add([])
        store.add(records)
        store.add([{**records[0], "cost": -1.0}])
        assert len(store.rows()) == len(records)
        (first,) = store.rows([records[0]["key"]])
        assert first["cost"] == -1.0
        assert store.keys() == {record["key"] for record in records}
        store.add([{**records[0], "error": "boom"}])
        assert store.keys() == {record["key"] for record in records[1:]}  # to be run again
        store.add(records[:1])
        assert store.drawn("k") is None
        store.keep_drawn("k", [1, [2, 3]])
        assert store.drawn("k") == [1, [2, 3]]
        store.export(tmp_path / "runs.csv")
        store.export(tmp_path / "runs.parquet")
        store.export(tmp_path / "o'clock.csv")
        assert (tmp_path / "o'clock.csv").read_bytes() == (tmp_path / "runs.csv").read_bytes()
        with pytest.raises(tb.MapError, match="parquet or"):
            store.export(tmp_path / "runs.xls")
        with pytest.raises(tb.Error, match="there is no folder"):
            store.export(tmp_path / "nowhere" / "runs.csv")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(tb.Error, match="it is a folder"):
            store.export(tmp_path / "folder.csv")
    with Store(tmp_path / "deep" / "runs.duckdb") as store:
        assert same(store.rows()) == same(records)
    with open(tmp_path / "runs.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(COLUMNS)
    assert {line["key"]: float(line["cost"]) for line in lines} == {r["key"]: r["cost"] for r in records}
    import duckdb

    path = tmp_path / "runs.parquet"
    assert duckdb.sql(f"SELECT count(*), sum(moves) FROM '{path}'").fetchall() == [
        (len(records), sum(record["moves"] for record in records))
    ]


def test_store_refuses_what_is_none(tmp_path: Path) -> None:
    file = tmp_path / "runs.duckdb"
    file.write_text("this is no database")
    with pytest.raises(tb.Error, match=r"no table of records .*: move it away, .* and the runs are made anew"):
        Store(file)
    assert file.read_text() == "this is no database"
    with pytest.raises(tb.Error, match="there is a file of that name"):
        Store(file / "runs.duckdb")


def filler(numbers: range) -> list[dict]:
    """Records that need no run."""
    values = {"VARCHAR": "text", "BIGINT": 7, "DOUBLE": 0.5, "BOOLEAN": True}
    plain = {name: values[column.kind] for name, column in COLUMNS.items()} | {"error": None}
    return [plain | {"key": f"{number:06}", "goal": "x" * 100} for number in numbers]


def used(file: Path) -> int:
    """How many rows there are, after a look at everything and a commit."""
    with Store(file) as store:
        found = len(store.rows())
        store.keys()
        store.drawn("k")
        store.add(filler(range(5)))
        store.keep_drawn("k", [1])
        store.export(file.with_name("runs.csv"))
    return found


def test_a_damaged_table_is_told_in_one_sentence(tmp_path: Path) -> None:
    """Whatever of it is damaged; and it is left as it is, for one who knows more."""
    file, damaged = tmp_path / "runs.duckdb", tmp_path / "damaged.duckdb"
    with Store(file) as store:
        store.add(filler(range(300)))
        store.keep_drawn("k", [1, 2])
    whole, refused = file.read_bytes(), 0
    places = [0, 8, 12, 20, 4096, 4104, 8192, 8200, *range(12288, len(whole), len(whole) // 12)]
    harmed = [
        whole[:place] + bytes(64 - (b == 1)) + b"!" * (b == 1) + whole[place + 64 :] for place in places for b in (0, 1)
    ]
    for data in [*harmed, *(whole[:place] for place in places[1:])]:
        damaged.write_bytes(data)
        damaged.with_name("damaged.duckdb.wal").unlink(missing_ok=True)
        said = ""
        try:
            assert used(damaged) == 300  # what was harmed is not in use
        except tb.Error as error:
            said = str(error)
        if said:
            refused += 1
            assert re.search(r"damaged\.duckdb is (damaged|of another version).* move it away", said)
            assert "in use" not in said
            assert "\n" not in said
            assert damaged.read_bytes() == data
    assert refused > len(places)


def test_a_table_in_use_is_said_to_be(tmp_path: Path) -> None:
    code = (
        "import sys; from timebound.lab.store import Store; store = Store(sys.argv[1]); print(1, flush=True); input()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "runs.duckdb")], stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        with pytest.raises(tb.Error, match="in use by another process"):
            Store(tmp_path / "runs.duckdb")
        other.communicate("\n")


FULL_DISK = """
import resource, sys
import timebound as tb
from test_lab import filler
from timebound.lab.store import Store
most, each = int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
done = 0
try:
    with Store(sys.argv[1]) as store:
        try:
            for _ in range(100):
                store.add(filler(range(done, done + each)))
                done += each
        except tb.Error as first:
            try:
                store.add(filler(range(1)))  # the room may be there again, but DuckDB's memory is not to be trusted
            except tb.Error as second:
                assert str(first) == str(second)
            raise
except tb.Error as error:
    assert "make room and run again" in str(error), error
    assert str(error).count(chr(10)) == 0
    print(done)
"""


@pytest.mark.parametrize(("most", "each"), [(60_000, 20), (300_000, 300), (900_000, 300)])
def test_a_full_disk_costs_nothing_that_was_committed(tmp_path: Path, most: int, each: int) -> None:
    """And when there is room again, the table goes on."""
    file = tmp_path / "runs.duckdb"
    told = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file), str(most), str(each)],
        capture_output=True, text=True, cwd=Path(__file__).parent, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    done = int(told.stdout)
    with Store(file) as store:
        assert len(store.keys()) == done
        store.add(filler(range(done, done + 50)))
        assert len(store.rows()) == done + 50
    with Store(file) as store:
        assert [row["key"] for row in store.rows()] == [f"{number:06}" for number in range(done + 50)]


def test_what_fails_on_closing_is_told_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb")
    store._connection = Unclosable(store._connection)
    store.__exit__(ZeroDivisionError, None, None)  # which is on its way
    with pytest.raises(tb.Error, match=r"no good.*move it away"):
        store.close()


def test_an_interrupt_is_no_damage(tmp_path: Path) -> None:
    """DuckDB makes an error of its own of Ctrl-C."""

    class Interrupted:
        def execute(self, *_: object) -> None:
            raise RuntimeError("Query interrupted") from KeyboardInterrupt()

    with Store(tmp_path / "runs.duckdb") as store:
        connection, store._connection = store._connection, Interrupted()
        for call in (store.keys, store.rows, lambda: store.add(filler(range(1)))):
            with pytest.raises(KeyboardInterrupt):
                call()
        store._connection = connection


def test_a_folder_in_the_place_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "no space left" / "runs.duckdb").mkdir(parents=True)
    with pytest.raises(tb.Error, match=r"runs\.duckdb (cannot be opened|is damaged)"):
        Store(tmp_path / "no space left" / "runs.duckdb")


class Unclosable:
    def __init__(self, connection) -> None:
        self.connection = connection

    def close(self) -> None:
        self.connection.close()
        raise RuntimeError("no\ngood")


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """Text that a spreadsheet would compute gets an apostrophe; numbers stay numbers."""
    names = ["=1+1", "+1", "-x", "@a", "\tb", "\rc", "plain=1", "", None]
    records = [one | {"map": name, "cost": -1.5} for one, name in zip(filler(range(9)), names, strict=True)]
    wanted = ["'=1+1", "'+1", "'-x", "'@a", "'\tb", "'\rc", "plain=1", "", ""]
    with Store(tmp_path / "runs.duckdb") as store:
        store.add(records)
        store.export(tmp_path / "runs.csv")
        store.export(tmp_path / "runs.parquet")
    bench.write_csv(tmp_path / "bench.csv", records)
    for file in ("runs.csv", "bench.csv"):
        with open(tmp_path / file, newline="", encoding="utf-8") as lines:
            found = list(csv.DictReader(lines))
        assert [line["map"].replace("\\t", "\t").replace("\\r", "\r") for line in found] == wanted
        assert {line["cost"] for line in found} == {"-1.5"}
    import duckdb

    path = tmp_path / "runs.parquet"
    assert [row[0] for row in duckdb.sql(f"SELECT map FROM '{path}' ORDER BY key").fetchall()] == names


def test_columns_know_themselves() -> None:
    assert COLUMNS["suboptimality"].better == -1
    assert COLUMNS["states_per_move_max"].summary([3, 9, None]) == 9
    assert COLUMNS["cost"].summary([None]) is None
    assert COLUMNS["cost"].text(None) == ""
    assert "planning_seconds" not in SAME
    assert "expansions" in SAME


# --- reproduce -----------------------------------------------------------------------------------------------------


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

    monkeypatch.setitem(sys.modules["timebound.lab.experiment"].KINDS, "broken", broken)
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

    monkeypatch.setitem(sys.modules["timebound.lab.experiment"].KINDS, "broken", broken)
    sweep = Sweep(**{**SWEEP.__dict__, "kind": "broken", "problems": 2})
    for calls in (1, 2):
        reproduce.reproduce(small_paper(sweep), tmp_path, say=lambda text: None, jobs=1)
        assert len(tried) == calls * len(set(tried)) == calls * 16


def test_a_chunk_that_took_long_is_committed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store holds when the next chunk begins."""
    kept: list[int] = []
    held: list[int] = []

    class Held:
        def add(self, records):
            kept.extend(records)

    def work(seconds):
        held.append(len(kept))
        time.sleep(seconds)
        return [1]

    monkeypatch.setattr(reproduce, "run_chunk", work)
    monkeypatch.setattr(reproduce, "_LONG_SECONDS", 0.15)
    made = reproduce._made(Held(), [0.3, 0.0, 0.0, 0.3, 0.0], 1, None, 5, "runs", None)  # type: ignore[arg-type]
    assert len(list(made)) == len(kept) == 5
    assert held == [0, 1, 1, 1, 4]


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


@pytest.mark.parametrize("name", ["tba", "tbbfs", "learning", "chapter"])
def test_papers_plan_on_generated_maps(name: str) -> None:
    maps = paper.Maps(None)
    found = reproduce.find(name)
    for scale in (paper.QUICK, paper.NORMAL, paper.FULL):
        sweeps = found.sweeps(scale, maps)
        names = {sweep.name for sweep in sweeps}
        assert all(set(item.sweeps) <= names for item in found.items)
        assert all(world.generator for sweep in sweeps for world in sweep.worlds)
    assert maps.replaced
    with pytest.raises(tb.Error, match="still to come"):
        reproduce.find("dynamic-control")
    with pytest.raises(tb.Error, match="no paper 'tbx'"):
        reproduce.find("tbx")


def tiny(sweeps, worlds):
    """A paper's sweeps on small worlds with few problems."""
    return [
        Sweep(
            **{**sweep.__dict__, "worlds": sweep.worlds[:3] if sweep.corners else worlds, "problems": 2, "cost": None}
        )
        for sweep in sweeps
    ]


@pytest.mark.skipif(not COMPILED, reason="thousands of runs")
@pytest.mark.parametrize("module", [tba, tbbfs, chapter])
def test_papers_examine_what_was_run(module, tmp_path: Path) -> None:
    """Every table and figure, on maps too small to say anything: nothing breaks, everything is shown."""
    worlds = (WorldSource.generated("rooms", 40, 1, room=8),)
    whole = module.PAPER
    small = paper.Paper(
        whole.name, whole.reference, lambda scale, maps: tiny(whole.sweeps(scale, maps), worlds), whole.items
    )
    outcome = reproduce.reproduce(small, tmp_path, scale=paper.QUICK, maps=paper.Maps(None), say=lambda text: None)
    assert outcome.errors == 0
    assert set(outcome.verdicts) == {item.number for item in whole.items}
    assert set(outcome.verdicts.values()) <= {report.REPRODUCED, report.DIFFERS, report.BEYOND}
    for item in whole.items:  # and with nothing at all
        assert item.examine(paper.Data({})).verdict == report.CANNOT_TELL
    text = (tmp_path / "report.md").read_text()
    for file in re.findall(r"\((figures/[^)]*)\)", text):
        assert xml.parse(tmp_path / file).getroot().tag.endswith("svg")


def test_tba_verdicts_can_fail() -> None:
    """The rule of Table 1, fed with the paper's own numbers, and with others."""

    def data(factor: float) -> paper.Data:
        rows = []
        for spec, means in ((tba.SPECS[0], tba.EARLY), (tba.SPECS[1], tba.LATE)):
            for r, mean in means.items():
                rows.append(
                    {"spec": spec, "budget": str(r), "status": "reached", "suboptimality": mean * factor}
                )  # fmt: skip
        return paper.Data({"table 1": rows})

    assert tba.table_1(data(1.0)).verdict == report.REPRODUCED
    assert tba.table_1(data(1.09)).verdict == report.REPRODUCED
    assert tba.table_1(data(1.12)).verdict == report.DIFFERS
    assert tba.table_1(data(0.88)).verdict == report.DIFFERS


def test_learning_verdicts_can_fail() -> None:
    """HOG2's own medians are near themselves; twice as much is not."""

    def data(factor: float, count: int = 60) -> paper.Data:
        rows: dict[str, list[dict]] = {}
        for (spec, budget), theirs in learning.MEDIANS.items():
            middle = (theirs or 1.5) * factor
            for k in range(count):
                rows.setdefault(spec, []).append(
                    {"spec": spec, "budget": budget, "status": "reached", "suboptimality": middle * (0.9 + k / 300),
                     "states_per_move_mean": 1.0, "microseconds_per_move": 1.0}
                )  # fmt: skip
        return paper.Data(rows)

    assert learning.bg512(data(1.0)).verdict == report.REPRODUCED
    assert learning.bg512(data(1.2)).verdict == report.REPRODUCED
    assert learning.bg512(data(2.0)).verdict == report.DIFFERS
    assert learning.bg512(data(1.0, 5)).verdict == report.CANNOT_TELL
    assert learning.bg512(paper.Data({})).verdict == report.CANNOT_TELL


def test_falling() -> None:
    assert paper.falling([3, 2, 1])
    assert not paper.falling([3, 2, 2.5])
    assert not paper.falling([1])
    assert not paper.falling([1.0, 1.01, 1.02, 1.03], 0.015)  # each step within the slack, the whole not


def test_real_maps_are_found(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / "set").mkdir(exist_ok=True)
        tb.Grid(np.ones((4, 4))).save(tmp_path / "set" / f"{name}.map")
    maps = paper.Maps.at(tmp_path)
    assert [world.name for world in maps.sources("set", [])] == ["a.map", "b.map", "c.map", "d.map"]
    assert [world.name for world in maps.sources("set", [], 2)] == ["a.map", "c.map"]
    assert [world.name for world in maps.sources("set", [], only=["b"])] == ["b.map"]
    assert not maps.replaced
    assert maps.sources("none", [WORLD]) == (WORLD,)
    assert maps.replaced == ["none"]
    with pytest.raises(tb.MapError, match="no folder"):
        paper.Maps.at(tmp_path / "nowhere")


# --- killed, and on a cluster --------------------------------------------------------------------------------------

SCRIPT = """
import sys
from timebound.lab import paper, report, reproduce
from timebound.lab.experiment import Sweep, WorldSource
worlds = tuple(WorldSource.generated("caves", 64, seed) for seed in range(6))
sweep = Sweep("small", worlds, ("tba*", "tb-gbfs", "tb-wa*:weight=1"), (1, 2, 3, 4), 40)
item = paper.Item("Table 9", "t", "c", "r", ("small",), lambda data: report.Finding("cannot tell", "x"))
reproduce._CHUNK_SECONDS = reproduce._COMMIT_SECONDS = 0.05
reproduce.reproduce(paper.Paper("small", "x", lambda scale, maps: [sweep], (item,)), sys.argv[1], jobs=2)
"""


@pytest.mark.skipif(not COMPILED, reason="kills processes; the same code runs above")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL, again and again; the final table is that of a run which was left alone."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", SCRIPT, str(whole)], check=True, capture_output=True)
    took = time.perf_counter() - began
    chance = random.Random(1)
    kills = int(os.environ.get("TIMEBOUND_KILLS", "3"))
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(broken)], stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.3, 1.0) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-c", SCRIPT, str(broken)], check=True, capture_output=True)
    with Store(whole / "runs.duckdb") as one, Store(broken / "runs.duckdb") as other:
        assert len(one.rows()) == 6 * 40 * 12
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


def test_a_cluster_that_is_not_there() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(tb.Error, match="no Dask scheduler at tcp://127"):
        list(workers.on_dask(run_chunk, [], "tcp://127.0.0.1:1", 1))


# --- compare -------------------------------------------------------------------------------------------------------


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
        one.update(always | one | {name: 0 for name in bench.MEASURES if name not in one and name in COLUMNS} | gone)
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


# --- what is drawn -------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:
        if tag not in ("meta", "link", "br", "circle", "line", "rect", "path", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def numbers(svg: str, pattern: str) -> list[float]:
    return [float(value) for value in re.findall(pattern, svg)]


@pytest.mark.parametrize("log", [False, True])
def test_charts_stay_within_their_frame(log: bool) -> None:
    series = [Series(f"spec <{k}>", [1, 10, 1000], [0.5 + k, 3.0 * k + 1, 100.0]) for k in range(9)]
    series.append(Series("gaps", [1, 2, 3], [float("nan"), 5.0, None], line=False, dashed=True))  # type: ignore[list-item]
    svg = Chart("a <title>", "x & y", "y", series, log_x=log, log_y=log).svg()
    root = xml.fromstring(svg)
    height = float(root.attrib["viewBox"].split()[3])
    for node in root.iter():
        for name, most in (("cx", 480), ("x", 480), ("cy", height), ("y", height)):
            if name in node.attrib:
                assert 0 <= float(node.attrib[name]) <= most
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert "a <title>" in texts
    assert "spec <8>" in texts


def test_chart_axes() -> None:
    flat = Chart("t", "x", "y", [Series("a", [1, 2], [3, 3])]).svg()
    assert "nothing to show" not in flat
    assert "nothing to show" in Chart("t", "x", "y", [Series("a", [], [])]).svg()
    assert "nothing to show" in Chart("t", "x", "y", [Series("a", [0], [1])], log_x=True).svg()
    ticks = Chart("t", "x", "y", [Series("a", [1, 1000], [1, 2])], log_x=True, x_ticks=(1, 32, 1000)).svg()
    assert ">32<" in ticks
    assert ">1k<" in ticks


def test_report_is_whole_and_balanced() -> None:
    chart = Chart("c", "x", "y", [Series("s", [1, 2], [1, 2])], note="n & m")
    finding = report.Finding(
        report.DIFFERS, "it *differs*", [report.Table("T", ("a", "b"), [["r|s", "1"]])], [chart], "why"
    )
    document = report.Document(
        "R & D",
        ["intro"],
        [report.Section("Figure 1", "F", "claim", "rule", finding)],
        {"machine": "m"},
        [("run", "err")],
    )
    page = report.html(document)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # needs nothing from elsewhere
    assert 'id="figure-1"' in page
    text = report.markdown(document, {"c": "figures/c.svg"})
    assert "| r\\|s | 1 |" in text
    assert "![c](figures/c.svg)" in text
    assert text.index("Unexplained errors") < text.index("## Figure 1")


def test_names_are_no_markup() -> None:
    """A name may be anything; in a report it is only ever read."""
    evil = "x|`a`<img src=x onerror=y>[l](http://e.x)*b*_c_~~d~~ $m$ @me www.e.x\n# e\x1b[2J&amp;"
    chart = Chart(evil, evil, evil, [Series(evil, [1, 2], [1, 2])], note=evil)
    finding = report.Finding("", evil, [report.Table(evil, (evil, evil), [[evil, evil]])], [chart], evil)
    section = report.Section("1", evil, evil, evil, finding)
    document = report.Document(evil, [evil, "1. no list", "- none", "# none"], [section], {evil: evil}, [(evil, evil)])
    text = report.markdown(document, {evil: "c.svg"})
    lines = text.splitlines()
    assert "\x1b" not in text
    bare = re.sub(r"\\.", "", text)  # what is not escaped
    own = bare.replace("![", "").replace("](c.svg)", "")
    assert not re.search(r"[`<\[\]_~$@&]|://|www\.", own)
    assert all(line.count("|") == 3 for line in bare.splitlines() if line.startswith("|") and "---" not in line)
    assert [line for line in lines if line.startswith("#")] == [
        line for line in lines if re.match(r"# x|## Unexplained errors|## 1\. x|## How it was made", line)
    ]
    assert "1\\. no list" in lines
    assert "\\- none" in lines
    assert "\\# none" in lines
    page = report.html(document)
    assert "<img" not in page
    assert "\x1b" not in page
    xml.fromstring(chart.svg(alone=True))


# --- foreign text on the terminal ----------------------------------------------------------------------------------


def test_names_do_not_command_the_terminal(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences, line breaks and what reverses the reading order are written out, in output and in errors."""
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[2J\u202eb\nc\r.map"
    tb.Grid(np.ones((6, 6))).save(name)
    race = [name, "--problems", "2", "-a", "a*", "tba*:r=\n0.9"]
    for words, code in (
        (["solve", name, "0,0", "5,5"], 0),
        (["maps", "info", name], 0),
        (["maps", "scale", name, "2", "-o", f"2{name}"], 0),
        (["bench", *race, "--csv", f"{name}.csv"], 0),
        (["compare", *race, "-o", f"{name}.folder"], 0),
        (["solve", f"no{name}", "0,0", "5,5"], 2),
        (["solve", name, "\x1b[31m", "5,5"], 2),
        (["solve", name, "0,0", "5,5", "-a", "\x1b[31m"], 2),
        (["solve", name, "0,0", "5,5", "\x1b[31m"], 2),
        (["solve", name, "0,0", "5,5", "--\x1b[31m"], 2),
        (["\x1b[31m"], 2),
        (["reproduce", "\x1b[31m"], 2),
    ):
        assert cli.main(words) == code, words
        out, err = capsys.readouterr()
        assert all(c.isprintable() for c in (out + err).replace("\n", "")), words
        assert "\\x1b" in out + err, words
        assert not any(line.startswith("c") for line in (out + err).splitlines()), words
        assert code == 0 or err.count("\n") == 1
    for file in Path(f"{name}.folder").iterdir():
        assert all(c.isprintable() for c in file.read_text().replace("\n", "")) or file.suffix == ".csv"
