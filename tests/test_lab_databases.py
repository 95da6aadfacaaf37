"""Runs of the lab that need a database, and maps that were edited since."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from helpers import COMPILED
from timebound import workers
from timebound.databases import parts, random_paths
from timebound.lab import paper, recipes, report, reproduce
from timebound.lab.columns import deterministic
from timebound.lab.engine import chunks, run_chunk
from timebound.lab.experiment import Run, Setting, Sweep, WorldSource, plan
from timebound.lab.papers import knn
from timebound.lab.recipes import Recipe
from timebound.lab.store import Store

pytestmark = pytest.mark.compiled  # kernels only serve them

SIDE = 30 if COMPILED else 16
WORLD = WorldSource.generated("rooms", SIDE, 1, room=6 if COMPILED else 5)
FEW = Recipe.of("knn-lrta*", records=8, mode="trees")
MANY = Recipe.of("knn-lrta*", records=30, mode="paths", seed=2)
SWEEP = Sweep(
    "small", (WORLD,), (knn.KNN, "tba*"), (10_000,), 4, setting=Setting(move_limit=5000), databases=(FEW, MANY)
)


def runs_of(sweep: Sweep) -> list[Run]:
    return list(plan(sweep, lambda key, draw: draw()))


def same(rows: list[dict]) -> list[tuple]:
    return sorted(tuple((name, row[name]) for name in deterministic()) for row in rows)


def small_paper(sweep: Sweep = SWEEP) -> paper.Paper:
    def examine(data: paper.Data) -> report.Finding:
        return report.Finding(report.REPRODUCED, f"{len(data.databases)} databases")

    item = paper.Item("Table 9", "t", "c", "r", ("small",), examine)
    return paper.Paper("small", "Nobody: Nothing. 2000", lambda scale, maps: [sweep], (item,))


def made(folder: Path, **options: Any) -> list[dict]:
    reproduce.reproduce(small_paper(), folder, **{"say": lambda text: None, "jobs": 1, **options})
    with Store(folder / "runs.duckdb") as store:
        return store.rows()


def test_each_database_is_a_run_of_its_own() -> None:
    runs = runs_of(SWEEP)
    assert len(runs) == 4 * 3
    assert len({run.key for run in runs}) == len(runs)
    assert {run.database for run in runs if run.spec == knn.KNN} == {FEW, MANY}
    assert {run.database for run in runs if run.spec == "tba*"} == {None}
    run = runs[0]
    assert run.database is not None
    for change in (
        {"database": Recipe.of("knn-lrta*", **run.database.options | {"seed": 9})},
        {"database": None},
        {"blocked": 1.0},
    ):
        assert replace(run, **change).key != run.key


def test_a_sweep_must_name_its_databases() -> None:
    with pytest.raises(tb.SpecError, match="the sweep 'small' names none"):
        runs_of(replace(SWEEP, databases=()))


def test_a_database_that_will_do_is_run_with() -> None:
    """One table serves lower caps and fixed depths; where the very one is named, that is taken."""

    def spec(depth: str, cap: int) -> str:
        return f"d-lrta*:depth={depth},goal=pdb,level=1,cap={cap}"

    large, exact = (Recipe.of(spec("pdb", cap)) for cap in (9, 4))
    specs = (spec("pdb", 4), spec("pdb", 3), spec("fixed", 20), spec("pdb", 10))
    planned = runs_of(replace(SWEEP, specs=specs, databases=(large, exact), problems=1))
    assert [run.database for run in planned] == [exact, large, large, Recipe.of(specs[-1])]


def test_databases_are_made_once_before_the_runs(tmp_path: Path) -> None:
    said: list[str] = []
    rows = made(tmp_path, say=said.append)
    assert not [row["error"] for row in rows if row["error"]]
    assert any("2 databases to make, 38 records" in line for line in said)
    files = sorted((tmp_path / "databases").glob("*.db"))
    notes = [json.loads(file.with_suffix(".json").read_text()) for file in files]
    assert {(note["records"], note["mode"], note["seed"]) for note in notes} == {(8, "trees", 0), (30, "paths", 2)}
    world = WORLD.open()
    for file, note in zip(files, notes, strict=True):
        database = tb.load_database(file, world)
        assert (note["states"], note["bytes"]) == (database.states, database.nbytes)
        assert note["whole"]
        assert note["wall_seconds"] > 0
        assert note["core_seconds"] > 0
    assert "2 made in" in (tmp_path / "report.md").read_text()
    for row in rows:
        if row["spec"] == knn.KNN:
            database = tb.load_database(next(f for f in files if row["database"] in f.name), world)
            start, goal = (tuple(map(int, row[name].split(","))) for name in ("start", "goal"))
            result = tb.solve(world, start, goal, knn.KNN, budget=10_000, move_limit=5000, database=database)
            assert (row["cost"], row["records"]) == (result.cost, len(database))
    said.clear()
    assert same(made(tmp_path, say=said.append)) == same(rows)
    assert said == ["small, normal: 12 runs, 12 of them made before"]
    # New runs find the files where they are; done runs do not need theirs.
    (tmp_path / "runs.duckdb").unlink()
    assert same(made(tmp_path, say=said.append)) == same(rows)
    assert not any("to make, 38" in line for line in said)
    files[0].unlink()
    made(tmp_path, say=said.append)
    assert not files[0].exists()


def test_interrupted_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while making records, and again while running: the same databases and records as without."""
    rows = made(tmp_path / "whole")
    monkeypatch.setitem(random_paths.CHUNK, "paths", 8)
    plain, made_before = random_paths._make_chunk, []

    def stopped(world: Any, chunk: Any) -> Any:
        if chunk.mode == "paths" and len(made_before) == 2:
            raise KeyboardInterrupt
        made_before.append(chunk)
        return plain(world, chunk)

    with monkeypatch.context() as patch:
        patch.setattr(random_paths, "_make_chunk", stopped)
        patch.setattr(recipes, "warm_up", lambda modes: None)
        patch.setattr(reproduce, "warm_up", lambda modes: None)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "broken")
    with pytest.raises(tb.Error, match="1 database must be made before the runs: add the step prepare"):
        made(tmp_path / "broken", steps=["run"])
    made(tmp_path / "broken", steps=["prepare"])
    assert same(made(tmp_path / "broken")) == same(rows)
    for file in (tmp_path / "whole" / "databases").glob("*.db"):
        twin = tmp_path / "broken" / "databases" / file.name
        assert twin.read_bytes() == file.read_bytes()
        assert json.loads(twin.with_suffix(".json").read_text())["sittings"] == (2 if "paths" in file.name else 1)


def test_a_database_from_elsewhere_is_used(tmp_path: Path) -> None:
    made(tmp_path / "one", steps=["prepare"])
    (tmp_path / "two").mkdir()
    shutil.copytree(tmp_path / "one" / "databases", tmp_path / "two" / "databases", ignore=lambda *_: {"x"})
    for note in (tmp_path / "two" / "databases").glob("*.json"):
        note.unlink()
    made(tmp_path / "two", steps=["prepare"])
    for note in (tmp_path / "two" / "databases").glob("*.json"):
        told = json.loads(note.read_text())
        assert told["whole"]
        assert told["wall_seconds"] is None
    made(tmp_path / "two")
    assert "2 made in" in (tmp_path / "two" / "report.md").read_text()


def test_notes_of_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, file = WORLD.open(), tmp_path / "r.db"

    def make() -> dict[str, Any]:
        recipes.make("rooms", world, FEW, file)
        return recipes.note_of(file, FEW)

    def write(**changes: Any) -> None:
        file.with_suffix(".json").write_text(json.dumps({**first, **changes}))

    first = make()
    assert (first["sittings"], first["code"], first["whole"]) == (1, parts.CODE, True)
    # Killed when the file was whole and its note was not: what it took stays known.
    write(whole=False, wall_seconds=3600.0, core_seconds=7200.0)
    told = make()
    assert (told["wall_seconds"], told["core_seconds"], told["sittings"]) == (3600.0, 7200.0, 1)
    # The file is gone and made once more: its time is that of the last making.
    for gone in (
        {"wall_seconds": 3600.0},
        {"wall_seconds": None, "core_seconds": None},
        {"wall_seconds": None, "core_seconds": None, "whole": False},
        {"wall_seconds": 3600.0, "whole": False, "code": "another"},  # whose parts are not used
    ):
        file.unlink()
        write(**gone)
        told = make()
        assert told["wall_seconds"] < 1000
        assert (told["sittings"], told["whole"]) == (1, True)
    # Parts of the same code are gone on with.
    file.unlink()
    write(whole=False, wall_seconds=3600.0)
    told = make()
    assert told["wall_seconds"] > 3600
    assert told["sittings"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "[" * 100_000, "\xff", "null", '{"whole": true}',
        {"wall_seconds": "long"}, {"core_seconds": None}, {"sittings": []}, {"records": -1}, {"rows": 1e9},
        {"mode": 3}, {"bytes": True}, {"states": float("nan")}, {"jobs": "two"}, {"map": None},
    ],
)  # fmt: skip
def test_a_damaged_note_is_no_note(tmp_path: Path, text: str | dict[str, Any]) -> None:
    world, file = WORLD.open(), tmp_path / "r.db"
    recipes.make("rooms", world, FEW, file)
    note = file.with_suffix(".json")
    whole = json.loads(note.read_text())
    note.write_bytes((text if isinstance(text, str) else json.dumps({**whole, **text})).encode("latin-1"))
    assert recipes.note_of(file, FEW) == {}
    recipes.make("rooms", world, FEW, file)
    told = recipes.note_of(file, FEW)
    assert told["whole"]
    assert (told["states"], told["wall_seconds"]) == (whole["states"], None)


def test_a_damaged_database_is_made_anew(tmp_path: Path) -> None:
    """It is moved away, not overwritten, and the runs go on."""
    rows = made(tmp_path)
    files = sorted((tmp_path / "databases").glob("*.db"))
    whole = {file: file.read_bytes() for file in files}
    harmed = whole[files[0]][:-100] + b"?" * 100
    for file, data in zip(files, (harmed, b""), strict=True):
        file.unlink()  # the old one may still be mapped into memory
        file.write_bytes(data)
    (tmp_path / "runs.duckdb").unlink()
    said: list[str] = []
    again = made(tmp_path, say=said.append)
    assert same(again) == same(rows)
    assert {file: file.read_bytes() for file in files} == whole
    assert files[0].with_name(files[0].name + ".damaged").read_bytes() == harmed
    assert sum("made anew" in line for line in said) == 2


@pytest.mark.skipif(not COMPILED, reason="starts processes; the same code runs above")
def test_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    rows = made(tmp_path / "threads", jobs=2)
    assert same(made(tmp_path / "cluster", jobs=1, dask="local")) == same(rows)


def records_of(sweep: Sweep, folder: Path) -> list[dict]:
    reproduce.reproduce(small_paper(sweep), folder, steps=["prepare"], say=lambda text: None, jobs=1)
    todo = chunks(runs_of(sweep), 99, 1, str(folder / "databases"))
    return [record for records in workers.on_threads(run_chunk, todo, 1) for record in records]


def test_what_the_database_answered(tmp_path: Path) -> None:
    sweep = replace(SWEEP, specs=(knn.KNN,), budgets=("none",), kind="asked", problems=12)
    records = records_of(sweep, tmp_path)
    assert all(record["error"] is None for record in records)
    assert {record["answer"] for record in records} >= {"record"}
    assert {record["answer"] for record in records} <= {"record", "none", "straight"}
    plain = {run.key: record for run, record in zip(runs_of(sweep), records, strict=True)}
    assert len(plain) == len(records)
    for record in records:
        assert record["asking_moves"] <= 1
        assert record["states_per_move_max"] <= knn.BOUND
    again = records_of(replace(sweep, kind="episode"), tmp_path)
    assert [r["cost"] for r in again] == [r["cost"] for r in records]


def test_a_map_that_was_edited_since(tmp_path: Path) -> None:
    sweep = replace(SWEEP, specs=(knn.KNN, "a*"), databases=(FEW,), problems=8, kind="edited")
    still = records_of(sweep, tmp_path)
    plain = records_of(replace(sweep, kind="episode"), tmp_path)
    assert [r["cost"] for r in still] == [r["cost"] for r in plain]
    assert [r["suboptimality"] for r in still] == [r["suboptimality"] for r in plain]
    before = WORLD.open().digest
    edited = records_of(replace(sweep, blocked=15.0), tmp_path)
    assert WORLD.open().digest == before
    assert {r["blocked"] for r in edited} == {15.0}
    assert {r["status"] for r in edited} >= {"reached", "unreachable"}
    assert not [r["error"] for r in edited if r["error"]]
    for record, run in zip(edited, runs_of(replace(sweep, blocked=15.0)), strict=True):
        if record["status"] == "reached":
            assert record["optimal"] >= (run.problem.optimal or 0) - 1e-9
            assert record["suboptimality"] >= 1 - 1e-9
            assert run.spec != "a*" or record["suboptimality"] == pytest.approx(1)
        else:
            assert record["optimal"] is None or record["status"] == "move-limit"
