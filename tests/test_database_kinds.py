"""A kind of database that the package has never heard of: it is made, opened, warmed up, listed and raced like ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
import toy_databases as toy
from helpers import companion
from small_databases import forged
from timebound import cli
from timebound.algorithms import REGISTRY, parse_spec
from timebound.databases import files, parts
from timebound.databases.library import kinds
from timebound.lab import paper, recipes, report, reproduce
from timebound.lab.experiment import Setting, Sweep, WorldSource, plan
from timebound.lab.recipes import Recipe
from timebound.lab.store import Store
from timebound.warmup import warm

CELLS = np.ones((10, 7), bool)
CELLS[3, :-1] = CELLS[6, 1:] = False


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it; what is installed here does not matter."""
    monkeypatch.setattr(REGISTRY, "_others", {})
    monkeypatch.setattr(REGISTRY, "_begun", True)
    monkeypatch.setattr(REGISTRY, "_looked", True)
    tb.register(toy.TOY)
    toy.made.clear()
    yield
    REGISTRY.version += 1


def field() -> tb.Grid:
    return tb.Grid(CELLS)


def walk(world: tb.Grid, spec: str, database: Any) -> tb.Result:
    corners = [(0, 0), (world.shape[0] - 1, world.shape[1] - 1)]
    start, goal = corners if "first" not in spec else corners[::-1]
    return tb.solve(world, start, goal, spec, database=database, optimal="compute", move_limit=100)


# --- made, opened, used ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corner", toy.CORNERS)
def test_it_is_made_opened_and_used(corner: str, tmp_path: Path) -> None:
    world, spec = field(), f"toy:corner={corner}"
    told: list[tuple[int, int, str]] = []
    said: list[str] = []
    made = tb.prepare(
        world, tmp_path / "t.db", algorithm=spec, progress=lambda *news: told.append(news), say=said.append
    )
    assert toy.made == [0, 1, 2]
    assert told == [(0, 12, "rows"), (4, 12, "rows"), (8, 12, "rows"), (12, 12, "rows")]
    assert said == [f"{8 * world.states} bytes, in a moment"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]
    opened = tb.load_database(tmp_path / "t.db", world)
    here = tb.prepare(world, None, algorithm=spec, rows=1, jobs=3)
    for one in (made, opened, here):
        assert isinstance(one, toy.TableDatabase)
        assert one.settings["corner"] == corner
        assert np.array_equal(one.table.distances, made.table.distances)
        assert not one.table.distances.flags.writeable
        result = walk(world, spec, one)
        assert (result.status, result.suboptimality) == ("reached", pytest.approx(1))
    tb.prepare(world, tmp_path / "three.db", algorithm=spec, jobs=3)
    assert (tmp_path / "three.db").read_bytes() == (tmp_path / "t.db").read_bytes()


def test_options_come_from_the_spec_and_from_beside_it(tmp_path: Path) -> None:
    world = field()
    assert tb.prepare(world, None, algorithm="toy").settings["corner"] == "last"
    assert tb.prepare(world, None, algorithm="toy:corner=first", corner="first").settings["corner"] == "first"
    for options, words in (
        ({"algorithm": "toy", "corner": "first"}, "corner is a parameter of toy: say it there, as toy:corner=VALUE"),
        ({"algorithm": "toy", "rows": 0}, "rows is how many to do at a time, at least 1, not 0"),
        ({"algorithm": "toy", "rows": 101}, "at most 100"),
        ({"algorithm": "toy", "rows": "4"}, "at least 1, not '4'"),
        ({"algorithm": "toy", "row": 4}, "a distance table has no option 'row'; did you mean 'rows'?"),
        ({"algorithm": "toy", "records": 4}, "a distance table has no option 'records'"),
        (
            {"algorithm": "toy:look=false"},
            "toy:corner=last,look=false needs no database; those that do are",
        ),
        ({"algorithm": "a*"}, "a* needs no database; those that do are knn-lrta*, "),
        ({"rows": 4}, "a subgoal database has no option 'rows'"),
    ):
        with pytest.raises(tb.SpecError) as caught:
            tb.prepare(world, None, **options)
        assert words in str(caught.value)
    with pytest.raises(tb.WorldError, match="distance tables are for grids"):
        tb.prepare(tb.Graph([0], [1]), None, algorithm="toy")
    with pytest.raises(tb.SpecError, match="no corner in a map of walls"):
        tb.prepare(tb.Grid([[0]]), tmp_path / "t.db", algorithm="toy")
    assert not list(tmp_path.iterdir())


def test_interrupted_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, file = field(), tmp_path / "t.db"
    tb.prepare(world, file, algorithm="toy", rows=2)
    whole = file.read_bytes()
    file.unlink()
    toy.made.clear()

    def stops(done: int, total: int, what: str) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tb.prepare(world, file, algorithm="toy", rows=2, progress=stops)
    assert toy.made == [0, 1, 2]
    for other in ({"algorithm": "toy", "rows": 3}, {"algorithm": "knn-lrta*"}):
        with pytest.raises(tb.DatabaseError, match="parts of another database"):
            tb.prepare(world, file, **other)
    damaged = tmp_path / "t.db.parts" / "000001.part"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    tb.prepare(world, file, algorithm="toy", rows=2)
    assert toy.made == [0, 1, 2, 1, 3, 4, 5]
    assert file.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


@pytest.mark.parametrize(
    "world",
    [field(), tb.Grid(CELLS, connectivity=4), tb.Grid(CELLS * 2.5, corners="one"), field().to_graph()],
    ids=["grid", "four", "terrain", "graph"],
)
def test_a_world_travels_to_another_process(world: Any) -> None:
    there = parts._unpacked(parts._world_copy(world))
    assert there is not world
    assert there.digest == world.digest
    start, goal = (0, 0), (9, 6)
    path = tb.solve(world, start, goal, "a*").path
    assert np.array_equal(tb.solve(there, start, goal, "a*").path, path)
    # It is a world like any other: agents there see its edits, and nobody here does.
    agent = tb.agent("tba*", there, start, goal, budget=1)
    agent.step()
    there.block(*[(3, 6), (4, 6)] if world.table == "linked" else [(3, 6)])  # the only way
    assert there.changes.count > world.changes.count == 0
    assert np.array_equal(tb.solve(world, start, goal, "a*").path, path)
    assert agent.run().status == "unreachable"


def test_a_puzzle_travels_too() -> None:
    puzzle = tb.TilePuzzle(2, 3)
    there = parts._unpacked(parts._world_copy(puzzle))
    start = (3, 1, 2, 4, 0, 5)
    assert tb.solve(there, start, there.solved, "a*").cost == tb.solve(puzzle, start, puzzle.solved, "a*").cost


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    world, file, bad = field(), tmp_path / "t.db", tmp_path / "bad.db"
    made = tb.prepare(world, file, algorithm="toy")
    whole = file.read_bytes()
    distances = made.table.distances
    settings = {"corner": "last", "rows": 4}
    for data, words in (
        (whole[:-1], "not complete"),
        (whole[:-9] + b"\1" + whole[-8:], "its checksum is wrong"),
        (files.packed("toy table", world.digest, settings, {"distances": distances[:-1]}), "a distance for each cell"),
        (files.packed("toy table", world.digest, settings, {"distances": -distances}), "a distance for each cell"),
        (files.packed("toy table", world.digest, settings, {"lengths": distances}), "it is no table"),
        (files.packed("toy table", world.digest, {"corner": 3}, {"distances": distances}), "it is no table"),
        (forged(whole, world="another"), "made for another map"),
        (forged(whole, kind="knn-lrta*"), "does not hold the arrays"),
        (forged(whole, kind="nobody's"), "a database for nobody's, not for knn-lrta* or "),
    ):
        bad.write_bytes(data)
        with pytest.raises(tb.DatabaseError) as caught:
            tb.load_database(bad, world)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    graph = world.to_graph()
    bad.write_bytes(forged(whole, world=graph.digest))
    with pytest.raises(tb.DatabaseError, match="another map"):
        tb.load_database(bad, graph)


def test_an_algorithm_takes_its_own_kind_only() -> None:
    world = field()
    table, subgoals = tb.prepare(world, None, algorithm="toy"), tb.SubgoalDatabase.empty(world)
    with pytest.raises(tb.SpecError, match=r"knn-lrta\* needs a subgoal database from tb\.load_database"):
        walk(world, "knn-lrta*", table)
    with pytest.raises(tb.SpecError, match=r"toy needs a distance table from tb\.load_database"):
        walk(world, "toy", subgoals)
    with pytest.raises(tb.SpecError, match="toy needs a database: make one with timebound prepare"):
        walk(world, "toy", None)
    with pytest.raises(tb.DatabaseError, match="of another size, or for other rules"):
        walk(tb.Grid(np.ones((4, 4))), "toy", table)
    assert walk(world, "toy:look=false", None).status == "move-limit"


# --- everyone asks the kind ------------------------------------------------------------------------------------------


def test_a_kind_is_no_yes_or_no() -> None:
    with pytest.raises(tb.SpecError, match="old: database is the DatabaseKind that it looks things up in, not True"):
        tb.register(replace(toy.TOY, name="old", database=True))  # type: ignore[arg-type]


def test_it_is_listed() -> None:
    ours = [algorithm.database for algorithm in REGISTRY.values() if algorithm.database]
    assert kinds() == {kind.name: kind for kind in ours}
    assert toy.KIND in ours
    assert {"knn-lrta*", "d-lrta*", "pr-lrta*"} <= set(kinds())
    tb.register(replace(toy.TOY, name="rogue", database=replace(toy.KIND, name="knn-lrta*")))
    assert kinds()["knn-lrta*"] is REGISTRY["knn-lrta*"].database
    assert parse_spec("toy").database is toy.KIND
    assert parse_spec("toy:look=false").database is None
    assert parse_spec("a*").database is None
    assert isinstance(companion("toy", field())["database"], toy.TableDatabase)
    assert companion("toy:look=false", field()) == {}


@pytest.mark.parametrize("name", ["knn-lrta*", "toy table"])
def test_a_kind_keeps_its_word(name: str) -> None:
    """What DatabaseKind asks of every kind."""
    kind, world = kinds()[name], tb.Grid(tb.generate.rooms((12, 12), room=4, seed=1))
    options = {option.name: option.default for option in kind.options}
    assert all(option.check(option.default) == option.default for option in kind.options)
    assert all(option.help for option in kind.options)
    assert set(kind.small) <= set(options)
    assert kind.amount is None or kind.amount in options
    small = options | kind.small
    label = kind.labelled(small)
    assert label == Path(label).name == label.strip()
    for other in ("seed", "rows"):
        if other in options:
            assert kind.labelled({**small, other: 77}) != label
    spec = next(algorithm.name for algorithm in REGISTRY.values() if algorithm.database is kind)
    made = tb.prepare(world, None, algorithm=spec, **kind.small)
    for database in (made, *kind.empty(world)):
        assert isinstance(database, kind.holds)
        assert database.fits(world)
        assert not database.fits(tb.Grid(world.free, connectivity=4))
        assert database.digest == world.digest
        assert database.nbytes > 0
        assert database.states >= 0
        assert database.summary()
        json.dumps(database.facts())
    assert len(made)
    assert made.remark() is None or "\n" not in made.remark()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    field().save("field.map")
    assert cli.main(["prepare", "--help"]) == 0
    told = capsys.readouterr().out
    assert "--for toy:\n  distances to one corner; SPEC says corner\n" in told
    assert "--rows N" in told
    assert "how many to do at a time; default 4" in told
    assert "timebound prepare caves.map --for toy:corner=last --rows 8 -o caves.db" in told
    assert cli.main(["prepare", "field.map", "--for", "toy:corner=first", "--rows", "3", "-o", "first.db"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("a table of 58 distances, 0.00 MB, in ")
    assert out.endswith("wrote first.db\n")
    assert "bytes, in a moment" in err
    assert toy.made == [0, 1, 2, 3]
    assert cli.main(["prepare", "field.map", "--for", "toy", "-o", "last.db", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["corner"], facts["distances"], facts["states"]) == ("last", 58, 58)
    assert facts["bytes"] == Path("last.db").stat().st_size
    # Of several files for a map, each algorithm takes the one that was made as its parameters say.
    files_given = ["--database", "last.db", "first.db", "--json"]
    for spec, ends in (("toy:corner=first", ["9,6", "0,0"]), ("toy", ["0,0", "9,6"])):
        assert cli.main(["solve", "field.map", *ends, "-a", spec, *files_given]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "reached"
    for words, said in (
        (["--for", "toy", "--records", "5"], "a distance table has no option 'records'"),
        (["--for", "knn-lrta*", "--rows", "5"], "a subgoal database has no option 'rows'"),
        (["--for", "toy", "--rows", "0"], "at least 1"),
        (["--for", "a*"], "those that do are knn-lrta*, "),
    ):
        assert cli.main(["prepare", "field.map", *words, "-o", "x.db"]) == 2
        assert said in capsys.readouterr().err


def test_warm_up_runs_an_empty_one() -> None:
    steps: list[str] = []
    warm(lambda step, seconds, compiled: steps.append(step), kinds=["grid", "graph"], algorithms=[toy.TOY])
    assert [step for step in steps if "toy" in step] == ["grid: toy", "grid: toy in a fleet"]


def test_the_lab_makes_what_a_spec_says(tmp_path: Path) -> None:
    field().save(tmp_path / "field.map")
    world = WorldSource.of_file(tmp_path / "field.map")
    specs = ("toy:corner=last", "toy:corner=last,look=false", "knn-lrta*", "a*")
    few = Recipe.of("knn-lrta*", records=5, mode="trees")
    sweep = Sweep("corners", (world,), specs, corners=True, databases=(few,), setting=Setting(move_limit=500))
    runs = list(plan(sweep, lambda key, draw: draw()))
    table = Recipe.of("toy:corner=last")
    assert [run.database for run in runs] == [table, None, few, None]
    assert str(table) == "toytable-cornerlast-rows4"
    assert (table.amount, few.amount) == (None, 5)
    item = paper.Item("Table 9", "t", "c", "r", ("corners",), lambda data: report.Finding(report.REPRODUCED, "yes"))
    said: list[str] = []
    reproduce.reproduce(
        paper.Paper("toys", "Nobody: Nothing. 2000", lambda scale, maps: [sweep], (item,)), tmp_path, say=said.append
    )
    assert "2 databases to make, 5 records in all" in said
    file = table.file(tmp_path / "databases", world.open().digest)
    note = recipes.note_of(file, table)
    assert (note["corner"], note["option rows"], note["rows"], note["whole"]) == ("last", 4, 10, True)
    assert note["bytes"] == tb.load_database(file, world.open()).nbytes
    with Store(tmp_path / "runs.duckdb") as store:
        rows = {row["spec"]: row for row in store.rows()}
    assert [row["error"] for row in rows.values() if row["error"]] == []
    assert rows["toy:corner=last"]["cost"] == rows["a*"]["cost"]
    assert rows["toy:corner=last"]["database"] == "toytable-cornerlast-rows4"
    assert (rows["toy:corner=last"]["records"], rows["knn-lrta*"]["records"]) == (None, 5)
