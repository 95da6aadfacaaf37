"""Subgoal databases: climbing, compressing, the k-d tree, files that are whole or not there, builds that resume."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, grid_cases, points
from naive import subgoals as naive
from naive.worlds import NaiveGrid
from timebound import atomic, cli
from timebound.databases import checks, coverage, files, parts, random_paths
from timebound.databases.subgoals import SUBGOALS
from timebound.kernels import climbing, trails
from timebound.kernels import records as kernel_records
from timebound.kernels.jit import kernel
from timebound.kernels.records import Records

SIDE = 64 if COMPILED else 16
ROOM = 8 if COMPILED else 4


@kernel
def climbed(world, start, end, limit):
    return climbing.climbs(world, start, end, limit)


@kernel
def similar(world, records, s, goal, wanted, found, unlike, stack):
    return kernel_records.most_similar(world, records, s, goal, wanted, found, unlike, stack)


def rooms(seed: int = 1) -> tb.Grid:
    return tb.Grid(tb.generate.rooms((SIDE, SIDE), room=ROOM, seed=seed))


# --- climbing and compressing --------------------------------------------------------------------------------------


@given(case=st.one_of(grid_cases(kind="plain"), grid_cases(kind="near")), limit=st.sampled_from([0, 1, 3, 1000]))
def test_climbing(case: Case, limit: int) -> None:
    expected = naive.climb(case.twin, case.start, case.goal, limit)
    start, goal = case.world.state_of(case.start), case.world.state_of(case.goal)
    assert climbed(case.world.view, start, goal, limit) == (-1 if expected is None else len(expected) - 1)


@given(case=grid_cases(side=14, kind="plain"), limit=st.sampled_from([2, 1000]))
def test_compressing(case: Case, limit: int) -> None:
    result = tb.solve(case.world, case.start, case.goal, "a*")
    path = points(result.path)
    expected = naive.compress(case.twin, path, limit) if result.status == "reached" else []
    states = case.world.path_states(path)
    out = np.empty(len(path), np.int64)
    count = climbing.compress(case.world.view, states, out, limit)
    if result.status == "reached":
        assert points(case.world.points_of(out[:count])) == expected
        # What it is for: a greedy agent gets from each to the next, but for a single step that had to be taken.
        stops = [case.start, *expected, case.goal]
        for here, there in pairwise(stops):
            k = path.index(here)
            assert naive.climb(case.twin, here, there, limit) is not None or path[k + 1] == there


# --- the tree ------------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 200 if COMPILED else 40),
    wanted=st.sampled_from([1, 3, 10]),
)
def test_the_tree_finds_the_most_similar(seed: int, count: int, wanted: int) -> None:
    chance = np.random.default_rng(seed)
    world = tb.Grid(np.ones((30, 40)))
    states = world.random_states(2 * count, chance).astype(np.int32).reshape(2, count)
    coordinates = np.concatenate([world.points_of(states[0]), world.points_of(states[1])], axis=1)
    order = random_paths.tree_order(coordinates)
    assert sorted(order) == list(range(count))
    records = kernel_records.Records(states[0][order], states[1][order], np.zeros(1, np.int32), np.zeros(1, np.int32))
    s, goal = (int(k) for k in world.random_states(2, chance))
    found, unlike, stack = np.empty(16, np.int64), np.empty(16, np.int64), np.empty((64, 4), np.int64)
    got = similar(world.view, records, s, goal, wanted, found, unlike, stack)

    def octile(a: int, b: int) -> float:
        rows, cols = np.abs(np.array(world.point_of(a)) - np.array(world.point_of(b)))
        return 13860 * max(rows, cols) + (19601 - 13860) * min(rows, cols)

    all_of_them = [
        (max(octile(s, int(a)), octile(goal, int(b))), k)
        for k, (a, b) in enumerate(zip(records.starts, records.ends, strict=True))
    ]
    expected = sorted(all_of_them)[:wanted]
    assert got == len(expected)
    assert [(unlike[k], found[k]) for k in range(got)] == expected


def test_the_first_record_that_can_be_climbed(tmp_path: Path) -> None:
    world = rooms()
    database = tb.prepare(world, tmp_path / "r.db", records=60, seed=1)
    found, unlike, stack = np.empty(16, np.int64), np.empty(16, np.int64), np.empty((64, 4), np.int64)
    some = 0
    for problem in tb.problems(world, 20 if COMPILED else 4, seed=2):
        s, goal = world.state_of(problem.start), world.state_of(problem.goal)
        count = similar(world.view, database.records, s, goal, 10, found, unlike, stack)
        fitting = [
            int(i)
            for i in found[:count]
            if climbed(world.view, s, int(database.records.starts[i]), 250) >= 0
            and climbed(world.view, int(database.records.ends[i]), goal, 250) >= 0
        ]
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database)
        agent.step()
        straight = climbed(world.view, s, goal, 250) >= 0
        assert agent._planner.state.quest["record"][0] == (-1 if straight or not fitting else fitting[0])
        some += bool(fitting) and not straight
    assert some or not COMPILED


# --- making --------------------------------------------------------------------------------------------------------


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


def test_finished_parts_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    file = tmp_path / "r.db"
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    whole = file.read_bytes()
    file.unlink()
    make, numbers = random_paths._make_chunk, []

    def stops_after_two(world, chunk):
        if len(numbers) == 2:
            raise KeyboardInterrupt
        numbers.append(chunk.number)
        return make(world, chunk)

    monkeypatch.setattr(random_paths, "_make_chunk", stops_after_two)
    with pytest.raises(KeyboardInterrupt):
        tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert not file.exists()
    with pytest.raises(tb.DatabaseError, match="parts of another database"):
        tb.prepare(world, file, records=20, mode="paths", seed=6)
    numbers.clear()
    monkeypatch.setattr(
        random_paths, "_make_chunk", lambda world, chunk: numbers.append(chunk.number) or make(world, chunk)
    )
    told: list[tuple[int, int, str]] = []
    tb.prepare(world, file, records=20, mode="paths", seed=5, progress=lambda *news: told.append(news))
    assert numbers == [2, 3]
    assert told[0] == (10, 20, "records")
    assert told[-1] == (20, 20, "records")
    assert file.read_bytes() == whole


SCRIPT = """
import sys, timebound as tb
from timebound.databases import random_paths
random_paths.CHUNK["paths"] = 16
world = tb.Grid(tb.generate.rooms((96, 96), room=8, seed=1))
tb.prepare(world, sys.argv[1], records=4000, mode="paths", seed=2, jobs=2)
"""


COVERING = """
import sys, timebound as tb
world = tb.Grid(tb.generate.rooms((96, 96), room=8, seed=1))
tb.prepare(world, sys.argv[1], records=150, coverage=True, seed=2, jobs=2)
"""


@pytest.mark.skipif(not COMPILED, reason="kills processes; the same code runs above")
@pytest.mark.parametrize("script", [SCRIPT, COVERING], ids=["random", "coverage"])
def test_killed_at_random_moments(script: str, tmp_path: Path) -> None:
    """SIGKILL, again and again; the file is that of a build which was left alone."""
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", script, str(whole)], check=True)
    took = time.perf_counter() - began
    chance = random.Random(2)
    for _ in range(int(os.environ.get("TIMEBOUND_KILLS", "3"))):
        process = subprocess.Popen([sys.executable, "-c", script, str(broken)])
        time.sleep(chance.uniform(0.4, 0.9) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-c", script, str(broken)], check=True)
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.skipif(not COMPILED, reason="starts processes; the same code runs above")
def test_a_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    world = rooms()
    tb.prepare(world, tmp_path / "threads.db", records=1500, mode="paths", seed=2, jobs=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed = []

        def kill_once(done: int, total: int, what: str) -> None:
            if done > 200 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        address = cluster.scheduler_address
        tb.prepare(world, tmp_path / "dask.db", records=1500, mode="paths", seed=2, dask=address, progress=kill_once)
        covering = tb.prepare(world, None, records=60, seed=2, dask=address, coverage=True)
    assert killed
    expected = tb.prepare(world, None, records=60, seed=2, coverage=True)
    assert all(np.array_equal(a, b) for a, b in zip(covering.records, expected.records, strict=True))
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "threads.db").read_bytes()


# --- coverage ------------------------------------------------------------------------------------------------------


def make_rounds_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coverage, "TREES", 3 if COMPILED else 2)
    patch.setattr(coverage, "PER_TREE", 4)
    patch.setattr(coverage, "DRAWS", 60 if COMPILED else 8)
    patch.setattr(coverage, "ENOUGH", 0.02 if COMPILED else 0.2)


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    make_rounds_small(monkeypatch)


def stops_of(database: tb.SubgoalDatabase) -> list[list[tuple[int, int]]]:
    """The records of a covering database: numbers of cells, and costs from the first."""
    found = database.records
    return [
        list(zip(found.points[a:b].tolist(), found.walked[a:b].tolist(), strict=True))
        for a, b in pairwise(found.first.tolist())
    ]


def octile(a: tuple[int, int], b: tuple[int, int]) -> int:
    rows, cols = abs(a[0] - b[0]), abs(a[1] - b[1])
    return 13860 * max(rows, cols) + (19601 - 13860) * min(rows, cols)


def test_the_index_of_a_covering_database(small_rounds: None) -> None:
    world = rooms()
    database = tb.prepare(world, None, records=40 if COMPILED else 8, seed=1, coverage=True)
    found = database.records
    assert len(set(found.cells.tolist())) == len(found.cells)
    uses = np.diff(found.used)
    assert uses.sum() == len(found.points) == database.states
    count = len(found.cells)
    assert found.tiers.tolist() == [0, count - count // 4, count - count // 16, count]
    for tier in found.tiers[1:-1]:
        assert uses[:tier].max() <= uses[tier:].min(initial=1000)
    for cell in range(len(found.cells)):
        places = found.uses[found.used[cell] : found.used[cell + 1]].tolist()
        assert places == sorted(places) == np.flatnonzero(found.points == cell).tolist()


@pytest.mark.parametrize("rules", [{}, {"corners": "always"}, {"connectivity": 4}])
def test_neighbouring_points_climb_both_ways(rules: dict, small_rounds: None) -> None:
    world = tb.Grid(tb.generate.rooms((SIDE, SIDE), room=ROOM, seed=1), **rules)
    database = tb.prepare(world, None, records=40 if COMPILED else 4, seed=3, coverage=True)
    cells = database.records.cells.tolist()
    for record in stops_of(database):
        for (a, here), (b, there) in pairwise(record):
            assert climbed(world.view, cells[a], cells[b], 10_000) > 0
            assert climbed(world.view, cells[b], cells[a], 10_000) > 0
            whole = tb.solve(world, world.point_of(cells[a]), world.point_of(cells[b]), "a*").cost
            assert there - here == pytest.approx(whole * 13860 / trails.GRAIN, abs=1.5)


@pytest.mark.parametrize("candidates", [1, 3, 10])
def test_the_question_for_parts(candidates: int, small_rounds: None) -> None:
    """The agent's way is one of the cheapest that there are between the points it may look at."""
    world = rooms()
    twin = NaiveGrid(world.free.astype(float).tolist())
    database = tb.prepare(world, None, records=60 if COMPILED else 6, seed=1, coverage=True)
    cells = points(world.points_of(database.records.cells))
    answered = unanswered = 0
    for problem in tb.problems(world, 40 if COMPILED else 4, seed=2):
        limit = 30 if COMPILED else 10
        agent = tb.agent(
            f"knn-lrta*:candidates={candidates},climb={limit}",
            world,
            problem.start,
            problem.goal,
            database=database,
        )
        agent.step()
        if naive.climb(twin, problem.start, problem.goal, limit) is not None:
            assert agent._planner.state.quest["record"][0] == -1
            continue
        expected = naive.parts(
            twin,
            stops_of(database),
            cells,
            database.records.tiers.tolist(),
            problem.start,
            problem.goal,
            lambda a, b: octile(a, b) // trails.GRAIN,
            candidates,
            limit,
        )
        question = agent._planner.state.inquiry.question
        assert int(question["cost"][0]) == (-1 if expected is None else expected[0])
        unanswered += expected is None
        if expected is not None:
            answered += 1
            leave, change, board, arrive = (int(question[name][0]) for name in ("leave", "change", "board", "arrive"))
            places = database.records.points.tolist()
            assert [*naive.leg(places, leave, change), *naive.leg(places, board, arrive)[1:]] in expected[1]
    assert (answered and unanswered) or not COMPILED


def test_an_answer_is_what_the_agent_walks(small_rounds: None) -> None:
    """Off-line and on-line agree; walks are legal, arrive, and cost what was said, or little more."""
    world = rooms()
    database = tb.prepare(world, None, records=300 if COMPILED else 8, seed=1, coverage=True)
    inquiry, climb = trails.new_inquiry(10, len(database.records.cells)), coverage.new_record(climbing.CLIMB)
    changed = 0
    for problem in tb.problems(world, 60 if COMPILED else 4, seed=4):
        start, goal = world.state_of(problem.start), world.state_of(problem.goal)
        cost = trails.answer(world.view, database.records, inquiry, climb, start, goal, 250, 250)
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=20_000)
        agent.step()
        state = agent._planner.state
        assert (state.quest["record"][0] >= 0) == (cost > 0)
        result = agent.run().result(problem.optimal)
        tb.validate(world, result.path)
        assert result.expansions_per_move[1:].max(initial=1) == 1
        assert result.expansions_per_move[0] <= 1 + 21 * 250
        if cost > 0:
            assert state.inquiry.question["cost"][0] == cost == inquiry.question["cost"][0]
            assert result.status == "reached"
            # Estimates stand for the climbs at both ends, which may take a detour.
            assert result.cost <= 1.5 * cost * trails.GRAIN / 13860
            leave, change, board, arrive = (
                int(state.inquiry.question[name][0]) for name in ("leave", "change", "board", "arrive")
            )
            assert database.records.points[change] == database.records.points[board]
            changed += change not in (leave, board, arrive)
    assert changed or not COMPILED


def test_hardly_anything_is_missing(small_rounds: None) -> None:
    """``records`` is the most there will be. Then nearly all problems have an answer, and a good one."""
    world = tb.Grid(tb.generate.rooms((32, 32), room=8, seed=1)) if COMPILED else rooms()
    database = tb.prepare(world, None, records=5000, seed=1, coverage=True)
    assert 3 < len(database) < 2500
    ratios = [
        tb.solve(
            world, p.start, p.goal, "knn-lrta*", database=database, optimal=p.optimal, move_limit=20_000
        ).suboptimality
        for p in tb.problems(world, 60 if COMPILED else 5, seed=5)
    ]
    assert np.mean(ratios) < 1.3 or not COMPILED
    with pytest.raises(tb.WorldError, match="climbing is enough"):
        tb.prepare(tb.Grid(np.ones((5, 5))), None, records=3, coverage=True)


def test_covering_bytes_whatever_the_jobs(tmp_path: Path, small_rounds: None) -> None:
    world = rooms()
    count = 60 if COMPILED else 5
    made = []
    for jobs in (1, 3):
        database = tb.prepare(world, tmp_path / f"{jobs}.db", records=count, seed=5, jobs=jobs, coverage=True)
        assert len(database) == count
        assert database.settings["coverage"] is True
        made.append((tmp_path / f"{jobs}.db").read_bytes())
    assert made[0] == made[1]
    here = tb.prepare(world, None, records=count, seed=5, coverage=True)
    assert all(np.array_equal(a, b) for a, b in zip(here.records, database.records, strict=True))
    tb.prepare(world, tmp_path / "other.db", records=count, seed=6, coverage=True)
    assert (tmp_path / "other.db").read_bytes() != made[0]
    assert not list(tmp_path.glob("*.parts"))


def test_interrupted_rounds(tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    count = 40 if COMPILED else 12
    file = tmp_path / "r.db"
    tb.prepare(world, file, records=count, seed=5, coverage=True)
    whole = file.read_bytes()
    file.unlink()
    search, numbers = coverage._search, []

    def stops(world, known, one):
        if len(numbers) == coverage.TREES + 1:  # in the second round
            raise KeyboardInterrupt
        numbers.append(one.number)
        return search(world, known, one)

    monkeypatch.setattr(coverage, "_search", stops)
    with pytest.raises(KeyboardInterrupt):
        tb.prepare(world, file, records=count, seed=5, coverage=True)
    with pytest.raises(tb.DatabaseError, match="parts of another database"):
        tb.prepare(world, file, records=count, seed=5)
    monkeypatch.setattr(
        coverage, "_search", lambda world, known, one: numbers.append(one.number) or search(world, known, one)
    )
    tb.prepare(world, file, records=count, seed=5, coverage=True)
    assert numbers == list(range(len(numbers)))  # none was searched twice
    assert file.read_bytes() == whole


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["random", "coverage"])
def database(tmp_path: Path, request: pytest.FixtureRequest, small_rounds: None) -> tuple[tb.Grid, Path]:
    world = rooms()
    tb.prepare(world, tmp_path / "r.db", records=20 if COMPILED else 5, seed=1, coverage=request.param)
    return world, tmp_path / "r.db"


def test_files_are_mapped(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    opened = tb.load_database(file, world)
    base = opened.records.first
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        opened.records.first[0] = 1
    assert opened.settings["seed"] == 1


def with_text(text: bytes, arrays: bytes) -> bytes:
    """A file with any header at all, of a length that all versions have given it."""
    text += b" " * (-(len(files.MAGIC) + 8 + len(text)) % 64)
    return files.MAGIC + len(text).to_bytes(8, "little") + text + arrays


def header_and_arrays(whole: bytes) -> tuple[dict[str, Any], bytes]:
    first = len(files.MAGIC) + 8
    end = first + int.from_bytes(whole[len(files.MAGIC) : first], "little")
    return json.loads(whole[first:end]), whole[end:]


def forged(whole: bytes, **changes: Any) -> bytes:
    """A file with another header and a right checksum."""
    header, arrays = header_and_arrays(whole)
    header |= changes
    return with_text(files._text({**header, "checksum": files._checksum(header, arrays)}), arrays)


def broken_files(whole: bytes) -> dict[str, tuple[bytes, str]]:
    length = int.from_bytes(whole[len(files.MAGIC) : len(files.MAGIC) + 8], "little")
    first = len(files.MAGIC) + 8
    header = json.loads(whole[first : first + length])

    def with_header(**changes: object) -> bytes:
        text = json.dumps({**header, **changes}).encode()
        text = text.ljust(length) if len(text) <= length else text
        return files.MAGIC + len(text).to_bytes(8, "little") + text + whole[first + length :]

    flipped = bytearray(whole)
    flipped[-100] ^= 1
    return {
        "empty": (b"", "no database"),
        "foreign": (b"type octile\nheight 3\n", "no database"),
        "cut": (whole[:-70], "not complete"),
        "cut in the header": (whole[: first + 20], "not complete"),
        "no header": (files.MAGIC + (10).to_bytes(8, "little") + b"x" * 500, "not complete"),
        "newer": (with_header(version=files.VERSION + 1), "newer timebound"),
        "damaged": (bytes(flipped), "checksum"),
        "another header": (with_header(kind="d-lrta*"), "checksum"),
    }


def test_broken_files_are_refused_in_one_sentence(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    world, file = database
    for name, (data, words) in broken_files(file.read_bytes()).items():
        bad = tmp_path / "bad.db"
        bad.write_bytes(data)
        with pytest.raises(tb.DatabaseError) as refusal:
            tb.load_database(bad, world)
        assert words in str(refusal.value), name
        assert "\n" not in str(refusal.value)
    with pytest.raises(tb.DatabaseError, match="no file"):
        tb.load_database(tmp_path / "nowhere.db", world)
    files.write(bad, "d-lrta*", world.digest, {}, {})
    with pytest.raises(tb.DatabaseError, match=r"for d-lrta\*"):
        tb.load_database(bad, world)


def test_a_header_is_believed_in_nothing(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Headers that were made up, with right checksums: a sentence, and no more of the file read than there is."""
    world, file = database
    whole, bad = file.read_bytes(), tmp_path / "bad.db"
    header, arrays = header_and_arrays(whole)
    placed = header["arrays"]
    one, two, *others = placed

    def refused(data: bytes, words: str = "make it again") -> None:
        bad.write_bytes(data)
        with pytest.raises(tb.DatabaseError, match=words) as refusal:
            tb.load_database(bad, world)
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 600

    bad.write_bytes(forged(whole))
    tb.load_database(bad, world)
    deep = b"[" * 200_000
    for text in (
        deep,
        b'{"version": 3, "bytes": 0, "settings": ' + deep,
        b'{"version": 3, "bytes": ' + b"9" * 5000 + b"}",
        b'{"version": NaN, "bytes": 0}',
        b'{"version": 3.0, "bytes": 0}',
        b'{"version": true, "bytes": 0}',
        b'{"version": 3, "bytes": -64}',
        b'{"version": 3, "bytes": 1e999}',
        b"[3, 0]",
        b'"3"',
        b"null",
        b"\xff\xfe\x00",
        json.dumps({**header, "padding": "x" * (1 << 20)}).encode(),
    ):
        refused(with_text(text, arrays), "not complete")
    refused(whole[: len(files.MAGIC)] + (2**64 - 1).to_bytes(8, "little") + whole[len(files.MAGIC) + 8 :], "complete")
    refused(with_text(b'{"version": %d, "bytes": 0}' % 10**4000, b""), "newer timebound")
    refused(whole + b"\0", "follows after its end")
    refused(whole + bytes(64), "follows after its end")
    refused(forged(whole + bytes(64), bytes=len(arrays) + 64), "header is wrong")  # bytes of no array
    for changes in (
        {"arrays": [{**one, "offset": 64}, two, *others]},
        {"arrays": [one, {**two, "offset": one["offset"]}, *others]},  # on top of each other
        {"arrays": [one, {**two, "offset": two["offset"] + 4}, *others]},
        {"arrays": [{**one, "offset": -64}, two, *others]},
        {"arrays": [{**one, "offset": "0"}, two, *others]},
        {"arrays": [{**one, "shape": [10**30]}, two, *others]},
        {"arrays": [{**one, "shape": [-1]}, two, *others]},
        {"arrays": [{**one, "shape": [0, 10**30]}, two, *others]},
        {"arrays": [{**one, "shape": []}, two, *others]},
        {"arrays": [{**one, "shape": [1.5]}, two, *others]},
        {"arrays": [{**one, "shape": 3}, two, *others]},
        {"arrays": [{**one, "dtype": "|O"}, two, *others]},
        {"arrays": [{**one, "dtype": ">i4"}, two, *others]},
        {"arrays": [{**one, "dtype": "<f4"}, two, *others]},
        {"arrays": [{**one, "dtype": ["<i4"]}, two, *others]},
        {"arrays": [{**one, "name": two["name"]}, two, *others]},
        {"arrays": [{**one, "name": [1]}, two, *others]},
        {"arrays": [{**one, "name": "other"}, two, *others]},
        {"arrays": [one, *others]},
        {"arrays": [one["name"], two, *others]},
        {"arrays": {}},
        {"arrays": 7},
        {"settings": []},
        {"settings": {**header["settings"], "seed": {"a": 1}}},
        {"settings": {**header["settings"], "coverage": not header["settings"].get("coverage")}},
        {"kind": 5},
        {"kind": "two\nlines"},
        {"kind": "x" * 1000},
        {"world": None},
        {"world": ["x"]},
    ):
        refused(forged(whole, **changes))
    for name in header:
        missing = {key: value for key, value in header.items() if key != name}
        if name not in ("version", "checksum"):
            missing["checksum"] = files._checksum(missing, arrays)
        refused(with_text(files._text(missing), arrays))


def test_what_is_no_file_is_no_database(tmp_path: Path) -> None:
    """A pipe would be waited for, for ever; and what is no name of a file is none of a database."""
    world = rooms()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path, "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "not the name"),
        ("\ud800", "not the name"),
        (5, "not the name"),
        (None, "not the name"),
        ("", "not the name"),
        ("x" * 5000, "cannot read"),
    ):
        with pytest.raises(tb.DatabaseError, match=words):
            tb.load_database(name, world)  # type: ignore[arg-type]
    for name in ("a\0b", 5, ""):
        with pytest.raises(tb.DatabaseError, match="not the name"):
            tb.prepare(world, name, records=5)  # type: ignore[arg-type]


def test_a_database_is_for_a_grid(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    with pytest.raises(tb.DatabaseError, match="another map"):
        tb.load_database(file, world.to_graph())
    for other in (world.free, None):
        with pytest.raises(tb.WorldError, match="a world is"):
            tb.load_database(file, other)
    graph = world.to_graph()
    file.write_bytes(forged(file.read_bytes(), world=graph.digest))
    with pytest.raises(tb.DatabaseError, match="another map"):
        tb.load_database(file, graph)


# --- arrays that were made up ----------------------------------------------------------------------------------------


def rewritten(database: tb.SubgoalDatabase, file: Path, **changes: Any) -> Path:
    """The file of a database with other arrays and a right checksum."""
    arrays = {**database.records._asdict(), **changes}
    files.write(file, SUBGOALS.name, database.digest, database.settings, arrays)
    return file


def with_number(array: np.ndarray, place: int, number: int) -> np.ndarray:
    changed = array.copy()
    changed[place] = number
    return changed


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
    if isinstance(found, trails.Trails):
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
def made_up_records(draw: st.DrawFn, free: np.ndarray) -> Records:
    """Records of nonsense, all of it in range."""
    count = draw(st.integers(0, 40))
    cells = st.sampled_from(np.flatnonzero(free).tolist())
    lengths = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    columns = [draw(st.lists(cells, min_size=size, max_size=size)) for size in (count, count, sum(lengths))]
    starts, ends, between = (np.array(column, np.int32) for column in columns)
    return Records(starts, ends, np.cumsum([0, *lengths]).astype(np.int32), between)


@st.composite
def made_up_trails(draw: st.DrawFn, free: np.ndarray) -> trails.Trails:
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
    return trails.Trails(*(np.asarray(array, np.int32) for array in arrays))


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), covers=st.booleans())
def test_what_passes_the_checks_can_be_walked_with(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, seed: int, covers: bool
) -> None:
    """Whatever the records, and with numbers of theirs changed: refused, or a walk as right as without.

    With the JIT off, a number out of range that got through would be an IndexError here.
    """
    chance = np.random.default_rng(seed)
    world = tb.Grid(chance.random((9, 9)) < 0.8)
    if world.free_count < 2:
        return
    found = data.draw((made_up_trails if covers else made_up_records)(world.free_by_state))
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


@pytest.mark.parametrize("bits", [1, 0xFF])
def test_every_byte_before_the_arrays_is_checked(database: tuple[tb.Grid, Path], tmp_path: Path, bits: int) -> None:
    """Whatever byte is wrong: a sentence, or the same arrays."""
    world, file = database
    whole, arrays = file.read_bytes(), tb.load_database(file, world).records
    first = len(files.MAGIC) + 8
    first += int.from_bytes(whole[len(files.MAGIC) : first], "little")
    bad = tmp_path / "bad.db"
    for place in range(first):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ bits]) + whole[place + 1 :])
        with suppress(tb.DatabaseError):
            found = tb.load_database(bad, world).records
            assert all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True)), place


def test_files_of_older_formats(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Their checksum is of the arrays only, and they are still read; a header that is wrong is a sentence."""
    world, file = database
    whole, old = file.read_bytes(), tmp_path / "old.db"
    first = len(files.MAGIC) + 8
    end = first + int.from_bytes(whole[len(files.MAGIC) : first], "little")
    header = {
        **json.loads(whole[first:end]),
        "version": 1,
        "checksum": blake2b(whole[end:], digest_size=16).hexdigest(),
    }

    def written(**changes: object) -> Path:
        old.write_bytes(with_text(json.dumps({**header, **changes}).encode(), whole[end:]))
        return old

    found, expected = (tb.load_database(path, world).records for path in (written(), file))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    one, *others = header["arrays"]
    for changes in (
        {"arrays": others},
        {"arrays": None},
        {"arrays": [{**one, "offset": -64}, *others]},
        {"arrays": [{**one, "shape": [10**9]}, *others]},
        {"arrays": [{**one, "dtype": "|O"}, *others]},
        {"arrays": [{**one, "dtype": "<i2"}, *others]},
        {"arrays": [{**one, "name": "other"}, *others]},
        {"settings": 3},
        {"kind": None},
        {"bytes": "many"},
        {"version": "new"},
    ):
        with pytest.raises(tb.DatabaseError, match="make it again"):
            tb.load_database(written(**changes), world)


def interrupted(file: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
    """Make two of the four parts of a database."""
    make, done = random_paths._make_chunk, []

    def stops_after_two(world: Any, chunk: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(chunk)
        return make(world, chunk)

    with patch.context() as inner:
        inner.setattr(random_paths, "_make_chunk", stops_after_two)
        with pytest.raises(KeyboardInterrupt):
            tb.prepare(rooms(), file, **{"records": 20, "mode": "paths", "seed": 5, **options})


def test_parts_of_other_code_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    file = tmp_path / "r.db"
    with monkeypatch.context() as patch:
        patch.setattr(parts, "CODE", "another")
        interrupted(file, monkeypatch)
    told: list[int] = []
    tb.prepare(rooms(), file, records=20, mode="paths", seed=5, progress=lambda done, *_: told.append(done))
    assert told[0] == 0
    assert not list(tmp_path.glob("*.parts"))


def test_what_is_left_behind_hinders_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake, a kill before the parts were removed, and one while they were."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file, folder = rooms(), tmp_path / "r.db", tmp_path / "r.db.parts"
    for wrong in ({"seed": -1}, {"seed": "x"}, {"jobs": 0}, {"jobs": "two"}):
        with pytest.raises(tb.SpecError, match="at least"):
            tb.prepare(world, file, records=20, mode="paths", **wrong)
    assert not folder.exists()
    folder.mkdir()
    (folder / "plan.json").write_text('{"records": 3}')
    with monkeypatch.context() as patch:
        patch.setattr(parts.shutil, "rmtree", lambda *_, **__: None)
        tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert len(list(folder.glob("*.part"))) == 4
    other = tb.prepare(world, tmp_path / "other.db", records=20, mode="paths", seed=6)
    with monkeypatch.context() as patch:
        patch.setattr(parts.shutil, "rmtree", lambda path, **_: (path / "plan.json").unlink())
        tb.prepare(world, file, records=20, mode="paths", seed=6)
    assert file.read_bytes() == (tmp_path / "other.db").read_bytes()
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert not folder.exists()
    assert file.read_bytes() != (tmp_path / "other.db").read_bytes()
    assert len(other) == 20


def killed(world: tb.Grid, file: Path, covers: bool, patch: pytest.MonkeyPatch) -> Path:
    """All parts of a database, and no file: as if it had been killed just before the end. Returns their folder."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with patch.context() as inner:
        inner.setattr(files, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            small_work(world, file, covers)
    return file.with_name(file.name + ".parts")


def small_work(world: tb.Grid, file: Path, covers: bool, **options: Any) -> tb.SubgoalDatabase:
    mode = "trees" if covers else "paths"
    return tb.prepare(world, file, records=20, mode=mode, seed=5, coverage=covers, **options)


def parts_of(folder: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in sorted(folder.glob("*.part"))}


@pytest.mark.parametrize("covers", [False, True], ids=["random", "coverage"])
def test_damaged_parts_are_made_anew(
    covers: bool, tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever has become of a part: it alone is made again, and the file is as if nothing had happened."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    small_work(world, file, covers)
    whole = file.read_bytes()
    file.unlink()
    folder = killed(world, file, covers, monkeypatch)
    parts, plan = parts_of(folder), (folder / "plan.json").read_bytes()
    name, other = list(parts)[:2]
    part = parts[name]
    made: list[int] = []
    make, search = random_paths._make_chunk, coverage._search
    monkeypatch.setattr(random_paths, "_make_chunk", lambda w, chunk: made.append(chunk.number) or make(w, chunk))
    monkeypatch.setattr(coverage, "_search", lambda w, known, one: made.append(one.number) or search(w, known, one))
    header, _ = header_and_arrays(part)
    found = files.unpacked(np.frombuffer(part, np.uint8), name)[1]

    def with_arrays(**changes: np.ndarray) -> bytes:
        return files.packed(header["kind"], header["world"], header["settings"], {**found, **changes})

    cells = "points" if covers else "subgoals"
    for damaged, again in (
        (part, False),
        (with_arrays(), False),
        (b"", True),
        (part[:-1], True),
        (part[: len(part) // 2], True),
        (part[:20], True),
        (part + b"\0", True),
        (b"PK\3\4" + part, True),
        (bytes(len(part)), True),
        (part[:-70] + bytes([part[-70] ^ 1]) + part[-69:], True),
        (parts[other], True),  # a right part in the wrong place
        (forged(part, settings={**header["settings"], "seed": 6}), True),
        (forged(part, settings={**header["settings"], "code": "other"}), True),
        (forged(part, kind="knn-lrta*"), True),
        # Right checksums, and nonsense.
        (with_arrays(**{cells: with_number(found[cells], 0, -1)}), True),
        (with_arrays(**{cells: with_number(found[cells], 0, 2**31 - 1)}), True),
        (with_arrays(**{cells: with_number(found[cells], -1, 0)}), True),
        (with_arrays(**{cells: found[cells][:-1]}), True),
        (with_arrays(lengths=found["lengths"] + 1), True),
        (with_arrays(lengths=with_number(found["lengths"], 0, -1)), True),
        (with_arrays(lengths=found["lengths"][:0]), True),
        (with_arrays(lengths=found["lengths"].astype(np.int64 if not covers else np.int32)), True),
        (with_arrays(more=found["lengths"]), True),
        *(
            (with_arrays(**changes), True)
            for changes in (
                (
                    {"tried": with_number(found["tried"], 0, -1)},
                    {"tried": found["tried"][:0]},
                    {"walked": -found["walked"] - 1},
                    {"walked": found["walked"][::-1] - 1},
                    {"problems": with_number(found["problems"], 1, 0)},
                    {"problems": found["problems"][:-1]},
                )
                if covers
                else ({"starts": with_number(found["starts"], 0, -1)}, {"ends": with_number(found["ends"], -1, 10**9)})
            )
        ),
    ):
        folder.mkdir(exist_ok=True)
        for one, data in parts.items():
            (folder / one).write_bytes(data)
        (folder / "plan.json").write_bytes(plan)
        (folder / name).write_bytes(damaged)
        made.clear()
        small_work(world, file, covers)
        assert made == ([int(name[:6])] if again else [])
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_a_damaged_plan_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell any more what the parts are for, so they go too."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    small_work(world, file, False)
    whole = file.read_bytes()
    file.unlink()
    folder = killed(world, file, False, monkeypatch)
    parts, plan = parts_of(folder), (folder / "plan.json").read_bytes()
    told = json.loads(plan)
    for damaged in (
        b"",
        b"\xff\xfe",
        b"[" * 200_000,
        b"null",
        b"{}",
        b"5",
        b'{"plan": ' + b"9" * 5000 + b"}",
        plan[:-1],
        plan.replace(b'"seed": 5', b'"seed": 7'),
        json.dumps({**told, "plan": 5}).encode(),
        json.dumps({**told, "plan": [["seed", 5]]}).encode(),
        json.dumps({"plan": told["plan"]}).encode(),
        json.dumps(told["plan"]).encode(),  # as it was written without a checksum
        None,
    ):
        folder.mkdir(exist_ok=True)
        for one, data in parts.items():
            (folder / one).write_bytes(data)
        (folder / ".000001.part.0f0f0f0f.part").write_bytes(b"of a process that was killed")
        (folder / "plan.json").unlink(missing_ok=True)
        if damaged is not None:
            (folder / "plan.json").write_bytes(damaged)
        small_work(world, file, False)
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


class FullDisk:
    """Counts what is asked of the disk, and refuses from one call on."""

    def __init__(self, patch: pytest.MonkeyPatch, refuse: int) -> None:
        self.calls, self.refuse = 0, refuse
        for owner, name in ((Path, "write_bytes"), (Path, "replace"), (Path, "mkdir"), (os, "fsync")):
            patch.setattr(owner, name, self._guarded(getattr(owner, name)))
        patch.setattr(atomic, "open", self._guarded(open), raising=False)

    def _guarded(self, call: Any) -> Any:
        def guarded(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls > self.refuse:
                if call.__name__ == "write_bytes":
                    args[0].touch()  # a file that could be made, but not filled
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **options)

        return guarded


@pytest.mark.parametrize("covers", [False, True], ids=["random", "coverage"])
def test_a_disk_that_is_full_at_any_moment(
    covers: bool, tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence; what was there is still there, half files are not, finished parts are used the next time."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 10)
    world, file = rooms(), tmp_path / "r.db"
    with monkeypatch.context() as patch:
        disk = FullDisk(patch, 10**9)
        small_work(world, file, covers)
    whole = file.read_bytes()
    asked = disk.calls
    assert asked > 10
    for refuse in range(0, asked, 1 if COMPILED or not covers else 17):
        file.write_bytes(b"what was there before")
        with monkeypatch.context() as patch:
            FullDisk(patch, refuse)
            with pytest.raises(tb.DatabaseError, match="No space left") as refusal:
                small_work(world, file, covers)
        assert "\n" not in str(refusal.value)
        assert file.read_bytes() == b"what was there before"
        left = {path.name for path in tmp_path.rglob("*")} - {"r.db"}
        parts = {name for name in left if re.fullmatch(r"\d{6}\.part", name)}
        assert left == ({"r.db.parts", "plan.json"} | parts if parts else set())
        small_work(world, file, covers)
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_file_that_cannot_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system itself refuses: half of a file is written when it does."""
    import resource

    world, file = rooms(), tmp_path / "r.db"
    count = 300 if COMPILED else 30
    tb.prepare(world, file, records=count, seed=1)
    whole_file = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 100, 1024, len(whole_file) - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(tb.DatabaseError, match="File too large"):
                tb.prepare(world, file, records=count, seed=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert file.read_bytes() == whole_file
        assert not list(tmp_path.rglob(".*"))
    tb.prepare(world, file, records=count, seed=1)
    assert file.read_bytes() == whole_file
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_two_builds_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    refusals = []

    def again(done: int, total: int, what: str) -> None:
        with pytest.raises(tb.DatabaseError, match="another process is making") as refusal:
            tb.prepare(world, file, records=20, mode="paths", seed=5)
        refusals.append(refusal)

    tb.prepare(world, file, records=20, mode="paths", seed=5, progress=again)
    assert refusals
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
    (tmp_path / ".r.db.lock").touch()  # as one that was killed leaves it
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.db.parts").write_text("a file")
    with pytest.raises(tb.DatabaseError, match="folder: it is a folder"):
        tb.prepare(world, tmp_path / "folder", records=5)
    with pytest.raises(tb.DatabaseError, match="a file of that name"):
        tb.prepare(world, tmp_path / "a.db", records=5)

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for covers in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(tb.DatabaseError, match="No space left"):
                tb.prepare(world, tmp_path / "b.db", records=5, coverage=covers)
    assert not list(tmp_path.rglob("*.part"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(tb.DatabaseError, match=r"cannot make the folder .*: Permission denied"):
        tb.prepare(world, tmp_path / "c.db", records=5)


def test_another_map_or_rule_is_refused(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    others = [rooms(2), tb.Grid(world.free, corners="always"), tb.Grid(world.free, connectivity=4)]
    edited = world.copy()
    row, col = np.argwhere(edited.free)[0]
    edited.block((int(row), int(col)))
    for other in (*others, edited):
        with pytest.raises(tb.DatabaseError, match="another map"):
            tb.load_database(file, other)


def test_roots_in_a_small_part_are_given_up() -> None:
    """Half of the map is single cells cut off from all others: most roots have no path at all."""
    cells = np.zeros((40, 21), bool)
    cells[::2, ::2] = True
    cells[1:20, :] = tb.generate.rooms((19, 21), room=6, seed=1)
    world = tb.Grid(cells)
    made = tb.prepare(world, None, records=5, seed=1)
    assert len(made) == 5


def test_prepare_refuses(tmp_path: Path) -> None:
    world = rooms()
    open_field = tb.Grid(np.ones((5, 5)))
    for call, error, words in (
        (lambda: tb.prepare(world, tmp_path / "x", records=0), tb.SpecError, "at least 1"),
        (lambda: tb.prepare(world, tmp_path / "x", mode="magic"), tb.SpecError, "paths or trees"),
        (lambda: tb.prepare(world, None, mode="paths", coverage=True), tb.SpecError, "mode is trees"),
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
    arguments = ["prepare", "r.map", "--for", "knn-lrta*", "--records", "12", "--jobs", "1"]
    assert cli.main([*arguments, "-o", "r.db"]) == 0
    assert "12 records with" in capsys.readouterr().out
    assert cli.main([*arguments, "-o", "s.db", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["records"], told["mode"], told["bytes"]) == (12, "trees", Path("s.db").stat().st_size)
    assert Path("r.db").read_bytes() == Path("s.db").read_bytes()
    assert told["coverage"] is False
    assert cli.main([*arguments, "--coverage", "-o", "c.db"]) == 0
    out = capsys.readouterr().out
    assert "points each" in out
    world = tb.Grid.load("r.map")
    assert tb.load_database("c.db", world).settings["coverage"] is True
    assert ("no more" in out) == (len(tb.load_database("c.db", world)) < 12)
    assert cli.main(["prepare", "r.map", "--for", "a*", "-o", "x.db"]) == 2
    assert "needs no database" in capsys.readouterr().err


# --- kNN LRTA* on-line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covers", [False, True])
def test_without_records_it_is_lrta(covers: bool) -> None:
    world = rooms()
    empty = tb.SubgoalDatabase.empty(world, coverage=covers)
    for problem in tb.problems(world, 5 if COMPILED else 1, seed=3, cost=(10, 40 if COMPILED else 12)):
        plain = tb.solve(world, problem.start, problem.goal, "lrta*")
        result = tb.solve(world, problem.start, problem.goal, "knn-lrta*", database=empty)
        assert points(result.path) == points(plain.path)
        assert result.expansions_per_move[1:].max(initial=1) == 1


def test_a_walk_follows_its_record(tmp_path: Path) -> None:
    """The way goes through the record's start, its subgoals and its end, one state per move after the question."""
    world = rooms()
    database = tb.prepare(world, None, records=2000 if COMPILED else 20, seed=1)
    followed = 0
    for problem in tb.problems(world, 40 if COMPILED else 3, seed=4):
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=20_000)
        agent.step()
        record = int(agent._planner.state.quest["record"][0])
        result = agent.run().result(problem.optimal)
        assert result.expansions_per_move[1:].max(initial=1) == 1
        assert result.expansions_per_move[0] <= 1 + 21 * 250
        if record >= 0:
            followed += 1
            first = database.records.first
            stops = [
                database.records.starts[record],
                *database.records.subgoals[first[record] : first[record + 1]],
                database.records.ends[record],
            ]
            path = world.path_states(result.path).tolist()
            places = [path.index(int(stop)) for stop in stops if int(stop) in path]
            assert places == sorted(places)
            assert len(places) >= len(stops) - 1  # it may come upon the goal on its way to the record's end
            assert result.status == "reached"
            for here, there in pairwise([0, *places, len(path) - 1]):
                leg = path[here : there + 1]
                assert len(set(leg)) == len(leg)  # no scrubbing on the way from stop to stop
    assert followed > 3 or not COMPILED


@pytest.mark.parametrize("spec", ["knn-lrta*", "knn-lrta*:candidates=2,climb=12"])
@pytest.mark.parametrize("rules", [{}, {"corners": "always"}, {"connectivity": 4}], ids=["plain", "corners", "four"])
def test_the_whole_way_is_that_of_the_naive_twin(spec: str, rules: dict) -> None:
    free = tb.generate.rooms((24, 24), room=6, seed=3)
    world, twin = tb.Grid(free, **rules), NaiveGrid(free.tolist(), **rules)
    database = tb.prepare(world, None, records=30, seed=2)
    found = database.records
    records = [
        points(
            world.points_of(
                np.array([found.starts[k], *found.subgoals[found.first[k] : found.first[k + 1]], found.ends[k]])
            )
        )
        for k in range(len(database))
    ]
    candidates, limit = (10, 250) if spec == "knn-lrta*" else (2, 12)
    for problem in tb.problems(world, 20 if COMPILED else 4, seed=5):
        result = tb.solve(world, problem.start, problem.goal, spec, database=database, move_limit=3000)
        expected = naive.walk(twin, problem.start, problem.goal, records, candidates, limit, 3000)
        assert points(result.path) == expected


@pytest.mark.parametrize("covers", [False, True], ids=["random", "coverage"])
@pytest.mark.parametrize("budget", [1, 7, "20us"])
def test_a_small_budget_spreads_the_question(budget: int | str, covers: bool, small_rounds: None) -> None:
    world = rooms()
    database = tb.prepare(world, None, records=200 if COMPILED else 10, seed=1, coverage=covers)
    for problem in tb.problems(world, 4 if COMPILED else 1, seed=5):
        whole = tb.solve(world, problem.start, problem.goal, "knn-lrta*", database=database, move_limit=5000)
        sliced = tb.solve(
            world, problem.start, problem.goal, "knn-lrta*", database=database, budget=budget, move_limit=5000
        )
        assert points(sliced.path) == points(whole.path)
        assert sliced.expansions == whole.expansions
        if isinstance(budget, int):
            assert sliced.expansions_per_move.max() <= budget


@cache
def small_database(side: int, seed: int, covers: bool) -> tb.SubgoalDatabase:
    world = tb.Grid(tb.generate.rooms((side, side), room=5, seed=seed))
    with pytest.MonkeyPatch.context() as patch:
        make_rounds_small(patch)
        try:
            return tb.prepare(world, None, records=40 if COMPILED else 5, seed=1, coverage=covers)
        except tb.WorldError:
            return tb.SubgoalDatabase.empty(world, covers)


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.02, 0.1, 0.3]), covers=st.booleans())
def test_edits_do_not_mislead_it(seed: int, share: float, covers: bool) -> None:
    """Walls fall on the records' paths while it walks; it arrives if there is a way, and says so if not."""
    side = 20 if COMPILED else 8
    world = tb.Grid(tb.generate.rooms((side, side), room=5, seed=seed % 5))
    database = small_database(side, seed % 5, covers)
    (problem,) = tb.problems(world, 1, seed=seed % 1000)
    agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=200_000)
    agent.run(4)
    walls = np.random.default_rng(seed).random((side, side)) < share
    walls[agent.position] = walls[problem.goal] = False
    world.block(walls)
    if agent.done:
        return
    possible = tb.solve(world, agent.position, problem.goal, "a*").status == "reached"
    before = agent.moves
    agent.run()
    assert agent.status == ("reached" if possible else "unreachable")
    tb.validate(world, agent.result().path[before:])


def test_it_says_what_it_needs() -> None:
    world = rooms()
    with pytest.raises(tb.SpecError, match="needs a database"):
        tb.agent("knn-lrta*", world, *[(int(r), int(c)) for r, c in np.argwhere(world.free)[[0, -1]]])
    with pytest.raises(tb.SpecError, match="uses no database"):
        tb.solve(tb.Grid([[1, 1]]), (0, 0), (0, 1), "a*", database=tb.SubgoalDatabase.empty(world))
    with pytest.raises(tb.SpecError, match="from tb"):
        tb.solve(tb.Grid([[1, 1]]), (0, 0), (0, 1), "knn-lrta*", database="x.db")


@pytest.mark.parametrize("covers", [False, True], ids=["random", "coverage"])
def test_trials_with_a_database(covers: bool, small_rounds: None) -> None:
    world = rooms()
    database = tb.prepare(world, None, records=20 if COMPILED else 5, seed=1, coverage=covers)
    problem = next(iter(tb.problems(world, 1, seed=3, cost=(SIDE / 2, 4 * SIDE))))
    result = tb.converge(world, problem.start, problem.goal, "knn-lrta*", database=database)
    once = tb.solve(world, problem.start, problem.goal, "knn-lrta*", database=database)
    assert result.converged
    assert result.costs[0] == once.cost
    with pytest.raises(tb.SpecError, match="uses no database"):
        tb.converge(world, problem.start, problem.goal, "lrta*", database=database)
