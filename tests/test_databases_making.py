"""Making a database: records are optimal, bytes depend on the seed alone, mistakes are named."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from small_databases import climbed, rooms
from timebound import cli
from timebound.databases import random_paths
from timebound.databases.subgoals import SUBGOALS
from timebound.lab.recipes import Recipe


@pytest.mark.parametrize("mode", ["paths", "trees"])
def test_records_are_optimal_paths_that_can_be_climbed(mode: str, tmp_path: Path) -> None:
    world = rooms()
    database = tb.prepare(world, tmp_path / "r.db", records=30 if COMPILED else 5, mode=mode, seed=3)
    assert len(database) == (30 if COMPILED else 5)
    assert database.digest == world.digest
    assert database.states == 2 * len(database) + len(database.records.subgoals)
    first = database.records.first
    for k in range(len(database)):
        inner = database.records.subgoals[first[k] : first[k + 1]]
        assert len(inner) > 0  # records without a subgoal are dropped
        stops = world.points_of(np.array([database.records.starts[k], *inner, database.records.ends[k]]))
        stops = [tuple(int(v) for v in stop) for stop in stops]
        whole = tb.solve(world, stops[0], stops[-1], "a*").cost
        legs = [tb.solve(world, a, b, "a*").cost for a, b in pairwise(stops)]
        assert sum(legs) == pytest.approx(whole)
        for a, b in pairwise(stops):
            steps = climbed(world.view, world.state_of(a), world.state_of(b), 10_000)
            assert steps >= 0 or tb.solve(world, a, b, "a*").moves == 1


@pytest.mark.parametrize("mode", ["paths", "trees"])
def test_long_paths_do_not_enlarge_searches(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_paths.CHUNK, mode, 1)
    world, other = rooms(), rooms()
    begin = random_paths.Maker.__init__

    def cramped(self, world):
        begin(self, world)
        self._path = np.empty(4, np.int64)

    expected = tb.prepare(world, None, records=4, mode=mode, seed=1)
    monkeypatch.setattr(random_paths.Maker, "__init__", cramped)
    database = tb.prepare(other, None, records=4, mode=mode, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(database.records, expected.records, strict=True))
    sizes = [[len(array) for array in one.spare[0].queue] for one in (world, other)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("mode", ["paths", "trees"])
def test_the_same_bytes_whatever_the_jobs(mode: str, tmp_path: Path) -> None:
    world = rooms()
    count = 900 if COMPILED and mode == "trees" else 150 if COMPILED else 6
    made = []
    for jobs in (1, 3):
        tb.prepare(world, tmp_path / f"{jobs}.db", records=count, mode=mode, seed=5, jobs=jobs)
        made.append((tmp_path / f"{jobs}.db").read_bytes())
    assert made[0] == made[1]
    tb.prepare(world, tmp_path / "other.db", records=count, mode=mode, seed=6)
    assert (tmp_path / "other.db").read_bytes() != made[0]
    assert not list(tmp_path.glob("*.parts"))


def test_roots_in_a_small_part_are_given_up() -> None:
    """Half of the map is single cells cut off from all others: most roots have no path at all."""
    cells = np.zeros((40, 21), bool)
    cells[::2, ::2] = True
    cells[1:20, :] = tb.generate.rooms((19, 21), room=6, seed=1)
    world = tb.Grid(cells)
    made = tb.prepare(world, None, records=5, mode="trees", seed=1)
    assert len(made) == 5


def test_prepare_refuses(tmp_path: Path) -> None:
    world = rooms()
    open_field = tb.Grid(np.ones((5, 5)))
    for call, error, words in (
        (lambda: tb.prepare(world, tmp_path / "x", records=0), tb.SpecError, "at least 1"),
        (lambda: tb.prepare(world, tmp_path / "x", mode="magic"), tb.SpecError, "paths or trees"),
        (lambda: tb.prepare(world, None, mode="paths", coverage=True), tb.SpecError, "mode is coverage"),
        (lambda: tb.prepare(world, None, mode="coverage", coverage=False), tb.SpecError, "cannot be false"),
        (lambda: tb.prepare(world, tmp_path / "no" / "x"), tb.DatabaseError, "no folder"),
        (lambda: tb.prepare(tb.Graph([0], [1]), tmp_path / "x"), tb.WorldError, "for grids"),
        (lambda: tb.prepare(tb.Grid([[1, 2]]), tmp_path / "x"), tb.WorldError, "cost the same"),
        (lambda: tb.prepare(open_field, tmp_path / "y", records=1, mode="paths"), tb.WorldError, "climbing is enough"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_prepare_command(tmp_path: Path, capsys, small_rounds: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rooms().save("r.map")
    arguments = ["prepare", "r.map", "--records", "12", "--jobs", "1"]
    assert cli.main([*arguments, "--for", "knn-lrta*", "--mode", "trees", "-o", "r.db"]) == 0
    assert "12 records with" in capsys.readouterr().out
    assert cli.main([*arguments, "--mode", "trees", "-o", "s.db", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["records"], told["mode"], told["bytes"]) == (12, "trees", Path("s.db").stat().st_size)
    assert Path("r.db").read_bytes() == Path("s.db").read_bytes()
    assert told["coverage"] is False
    # Coverage is what is made when nothing is said, and what was once called --coverage.
    assert cli.main([*arguments, "-o", "c.db"]) == 0
    out = capsys.readouterr().out
    assert "points each" in out
    world = tb.Grid.load("r.map")
    assert tb.load_database("c.db", world).settings["coverage"] is True
    assert ("no more" in out) == (len(tb.load_database("c.db", world)) < 12)
    assert cli.main([*arguments, "--coverage", "-o", "d.db", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["mode"], told["coverage"]) == ("coverage", True)
    assert Path("c.db").read_bytes() == Path("d.db").read_bytes()
    assert cli.main(["prepare", "r.map", "--for", "a*", "-o", "x.db"]) == 2
    assert "needs no database" in capsys.readouterr().err


@pytest.mark.once
def test_what_is_made_when_little_is_said() -> None:
    """Coverage, and fewer records of it; random ones by name. All ways to say the same give the same options."""

    def settled(**given: Any) -> tuple[str, bool, int]:
        chosen = SUBGOALS.settle("knn-lrta*", {}, given)
        return chosen["mode"], chosen["coverage"], chosen["records"]

    for given in ({}, {"mode": "coverage"}, {"coverage": True}, {"mode": "trees", "coverage": True}):
        assert settled(**given) == ("trees", True, 1000)
        assert settled(**given, records=7) == ("trees", True, 7)
    assert settled(mode="paths") == ("paths", False, 10_000)
    assert settled(mode="trees") == settled(coverage=False) == ("trees", False, 10_000)
    assert str(Recipe.of("knn-lrta*")) == "coverage-1000-seed0"
