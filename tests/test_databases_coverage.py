"""Databases with coverage: their index, their questions, and that hardly anything is missing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, points
from naive import subgoals as naive
from naive.worlds import NaiveGrid
from small_databases import ROOM, SIDE, climbed, octile, rooms
from timebound.databases import coverage
from timebound.kernels import climbing, coverage_records


def stops_of(database: tb.SubgoalDatabase) -> list[list[tuple[int, int]]]:
    """The records of a covering database: numbers of cells, and costs from the first."""
    found = database.records
    return [
        list(zip(found.points[a:b].tolist(), found.walked[a:b].tolist(), strict=True))
        for a, b in pairwise(found.first.tolist())
    ]


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
            assert there - here == pytest.approx(whole * 13860 / coverage_records.GRAIN, abs=1.5)


@pytest.mark.parametrize("candidates", [1, 3, 10])
def test_the_query_for_parts(candidates: int, small_rounds: None) -> None:
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
            assert agent._planner.state.query["record"][0] == -1
            continue
        expected = naive.parts(
            twin,
            stops_of(database),
            cells,
            database.records.tiers.tolist(),
            problem.start,
            problem.goal,
            lambda a, b: octile(a, b) // coverage_records.GRAIN,
            candidates,
            limit,
        )
        query = agent._planner.state.candidates.query
        assert int(query["cost"][0]) == (-1 if expected is None else expected[0])
        unanswered += expected is None
        if expected is not None:
            answered += 1
            leave, change, board, arrive = (int(query[name][0]) for name in ("leave", "change", "board", "arrive"))
            places = database.records.points.tolist()
            assert [*naive.leg(places, leave, change), *naive.leg(places, board, arrive)[1:]] in expected[1]
    assert (answered and unanswered) or not COMPILED


def test_an_answer_is_what_the_agent_walks(small_rounds: None) -> None:
    """Off-line and on-line agree; walks are legal, arrive, and cost what was said, or little more."""
    world = rooms()
    database = tb.prepare(world, None, records=300 if COMPILED else 8, seed=1, coverage=True)
    room, climb = coverage_records.new_query(10, len(database.records.cells)), coverage.new_record(climbing.CLIMB)
    changed = 0
    for problem in tb.problems(world, 60 if COMPILED else 4, seed=4):
        start, goal = world.state_of(problem.start), world.state_of(problem.goal)
        cost = coverage_records.answer(world.view, database.records, room, climb, start, goal, 250, 250)
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=20_000)
        agent.step()
        state = agent._planner.state
        assert (state.query["record"][0] >= 0) == (cost > 0)
        result = agent.run().result(problem.optimal)
        tb.validate(world, result.path)
        assert result.expansions_per_move[1:].max(initial=1) == 1
        assert result.expansions_per_move[0] <= 1 + 21 * 250
        if cost > 0:
            assert state.candidates.query["cost"][0] == cost == room.query["cost"][0]
            assert result.status == "reached"
            # Estimates stand for the climbs at both ends, which may take a detour.
            assert result.cost <= 1.5 * cost * coverage_records.GRAIN / 13860
            leave, change, board, arrive = (
                int(state.candidates.query[name][0]) for name in ("leave", "change", "board", "arrive")
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
