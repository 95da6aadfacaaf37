"""kNN LRTA* on-line, against the naive twin."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, points
from naive import subgoals as naive
from naive.worlds import NaiveGrid
from small_databases import SIDE, rooms


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
    """The way goes through the record's start, its subgoals and its end, one state per move after the query."""
    world = rooms()
    database = tb.prepare(world, None, records=2000 if COMPILED else 20, mode="trees", seed=1)
    followed = 0
    for problem in tb.problems(world, 40 if COMPILED else 3, seed=4):
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database, move_limit=20_000)
        agent.step()
        record = int(agent._planner.state.query["record"][0])
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
    database = tb.prepare(world, None, records=30, mode="trees", seed=2)
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
def test_a_small_budget_spreads_the_query(budget: int | str, covers: bool, small_rounds: None) -> None:
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
