"""Databases whose arrays were made up: refused, or safe to walk with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import timebound as tb
from small_databases import with_number
from timebound.databases import checks, files
from timebound.databases.subgoals import SUBGOALS
from timebound.kernels import coverage_records
from timebound.kernels.subgoal_records import SubgoalRecords


def rewritten(database: tb.SubgoalDatabase, file: Path, **changes: Any) -> Path:
    """The file of a database with other arrays and a right checksum."""
    arrays = {**database.records._asdict(), **changes}
    files.write(file, SUBGOALS.name, database.digest, database.settings, arrays)
    return file


HOSTILE = (-(2**31), -1, 2**31 - 1, 2**30)  # never a right number in any of the arrays


def test_numbers_out_of_range_are_refused(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Each array, at its beginning, middle and end."""
    world, file = database
    good = tb.load_database(file, world)
    bad = tmp_path / "bad.db"
    tb.load_database(rewritten(good, bad), world)
    for name, array in good.records._asdict().items():
        outside = [int(array.max()) + 1] if name in ("first", "points", "tiers", "used", "uses") else []
        outside = [len(good.records.cells)] if name == "points" else outside
        walls = [0, 1, world.states - 1, world.states, int(np.flatnonzero(world.free_by_state == 0)[-1])]
        outside += walls if name in ("starts", "ends", "subgoals", "cells") else []
        for place in {0, len(array) // 2, len(array) - 1}:
            for number in (*HOSTILE, *outside):
                with pytest.raises(tb.DatabaseError, match="make it again"):
                    tb.load_database(rewritten(good, bad, **{name: with_number(array, place, number)}), world)


def test_arrays_that_do_not_belong_together_are_refused(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Lengths, order, and what one array says of another."""
    world, file = database
    good = tb.load_database(file, world)
    found, bad = good.records, tmp_path / "bad.db"
    for name, array in found._asdict().items():
        for changed in (array[:-1], array[1:], array[:0], np.append(array, array[-1:]), array.astype(np.int64)):
            with pytest.raises(tb.DatabaseError, match="make it again"):
                tb.load_database(rewritten(good, bad, **{name: changed}), world)
    falling = with_number(found.first, 1, int(found.first[2]) + 1)
    cases: list[dict[str, np.ndarray]] = [{"first": falling}, {"first": found.first[::-1]}]
    if isinstance(found, coverage_records.CoverageRecords):
        swapped = found.uses.copy()
        swapped[[0, -1]] = swapped[[-1, 0]]
        shared = int(np.argmax(np.diff(found.used)))  # a cell that is used more than once
        a, b = found.used[shared : shared + 2]
        backwards = found.uses.copy()
        backwards[a:b] = backwards[a:b][::-1]
        twice = with_number(found.uses, int(a) + 1, int(found.uses[a]))
        assert b - a > 1
        cases += [
            {"uses": swapped},
            {"uses": backwards},
            {"uses": twice},
            {"points": found.points[::-1]},
            {"used": with_number(found.used, 1, 0)},
            {"first": np.append(found.first, found.first[-1:])},
            {"tiers": found.tiers[[0, 2, 1, 3]] + np.array([0, 1, 0, 0], np.int32)},
            {"walked": found.walked.max() - found.walked},
            {"walked": with_number(found.walked, -1, checks.LONGEST + 1)},
        ]
    for changes in cases:
        with pytest.raises(tb.DatabaseError, match="make it again"):
            tb.load_database(rewritten(good, bad, **changes), world)


@st.composite
def made_up_records(draw: st.DrawFn, free: np.ndarray) -> SubgoalRecords:
    """Records of nonsense, all of it in range."""
    count = draw(st.integers(0, 40))
    cells = st.sampled_from(np.flatnonzero(free).tolist())
    lengths = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    columns = [draw(st.lists(cells, min_size=size, max_size=size)) for size in (count, count, sum(lengths))]
    starts, ends, between = (np.array(column, np.int32) for column in columns)
    return SubgoalRecords(starts, ends, np.cumsum([0, *lengths]).astype(np.int32), between)


@st.composite
def made_up_coverage(draw: st.DrawFn, free: np.ndarray) -> coverage_records.CoverageRecords:
    """The same with parts; cells may be there twice, and tiers may be empty."""
    lengths = draw(st.lists(st.integers(1, 6), max_size=20))
    size = sum(lengths)
    numbers = np.array(draw(st.lists(st.integers(0, 40), min_size=size, max_size=size)), np.int32)
    points = np.unique(numbers, return_inverse=True)[1]
    count = int(points.max(initial=-1)) + 1
    cells = draw(st.lists(st.sampled_from(np.flatnonzero(free).tolist()), min_size=count, max_size=count))
    steps = draw(st.lists(st.sampled_from([0, 1, 100, 10**7]), min_size=size, max_size=size))
    walked = [np.cumsum(part) for part in np.split(np.array(steps, np.int64), np.cumsum(lengths)[:-1])]
    inner = sorted(draw(st.lists(st.integers(0, len(cells)), min_size=2, max_size=2)))
    arrays = (
        points,
        np.cumsum([0, *lengths]),
        np.concatenate([np.empty(0, np.int64), *walked]),
        cells,
        [0, *inner, len(cells)],
        np.cumsum([0, *np.bincount(points, minlength=len(cells))]),
        np.argsort(points, kind="stable"),
    )
    return coverage_records.CoverageRecords(*(np.asarray(array, np.int32) for array in arrays))


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), covers=st.booleans())
def test_what_passes_the_checks_can_be_walked_with(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, seed: int, covers: bool
) -> None:
    """Whatever the records, and with numbers of theirs changed: refused, or a walk as right as without.

    With the JIT off, a number out of range that got through would be an IndexError here.
    """
    chance = np.random.default_rng(seed)
    world = tb.Grid(chance.random((9, 9)) < 0.8)
    assume(world.free_count >= 2)
    found = data.draw((made_up_coverage if covers else made_up_records)(world.free_by_state))
    arrays = {name: array.copy() for name, array in found._asdict().items()}
    intact = True
    for _ in range(data.draw(st.integers(0, 2))):
        array = arrays[data.draw(st.sampled_from(sorted(arrays)))]
        if len(array):
            place = data.draw(st.integers(0, len(array) - 1))
            number = data.draw(st.one_of(st.sampled_from(HOSTILE), st.integers(-2, world.states + 1)))
            intact = intact and array[place] == number
            array[place] = number
    file = tmp_path_factory.getbasetemp() / f"made-up-{os.getpid()}.db"
    files.write(file, SUBGOALS.name, world.digest, {"coverage": covers}, arrays)
    try:
        database = tb.load_database(file, world)
    except tb.DatabaseError:
        assert not intact
        return
    start, goal = (world.point_of(int(s)) for s in world.random_states(2, chance))
    spec = f"knn-lrta*:candidates={data.draw(st.sampled_from([1, 3, 10]))},climb={data.draw(st.sampled_from([1, 30]))}"
    agent = tb.agent(spec, world, start, goal, database=database, move_limit=100_000)
    result = agent.run().result()
    tb.validate(world, result.path)
    assert result.status == ("reached" if tb.solve(world, start, goal, "a*").status == "reached" else "unreachable")
