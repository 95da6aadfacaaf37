"""kNN LRTA* in worlds that are edited: it arrives, keeps moving, and queries again when that may help."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED
from small_databases import make_rounds_small
from timebound.algorithms.knn_lrta_star import ANSWERED, FAILURES
from timebound.databases.files import frozen
from timebound.databases.subgoals import SubgoalDatabase
from timebound.kernels.subgoal_records import SubgoalRecords

# Making a database with coverage takes minutes without the compiler.
COVERAGE = pytest.mark.parametrize(
    "coverage", [False, pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="slow"))]
)


def two_gaps() -> tuple[tb.Grid, SubgoalDatabase]:
    """A wall with a gap at either end, and one record, through the upper one."""
    cells = np.ones((24, 40), bool)
    cells[1:-1, 20] = False
    world = tb.Grid(cells)

    def states(*places: tuple[int, int]) -> np.ndarray:
        return np.array([world.state_of(place) for place in places], np.int32)

    records = SubgoalRecords(states((12, 2)), states((12, 30)), np.array([0, 1], np.int32), states((0, 20)))
    empty = SubgoalDatabase.empty(world)
    return world, SubgoalDatabase(world.digest, frozen(records), {}, empty.rules)


def query(agent: tb.Agent) -> np.void:
    return agent._planner.state.query[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("every", [0, 7, 100])
def test_blocks_elsewhere_do_not_stop_it(every: int) -> None:
    """A record that failed is not tried for ever because walls appear where nobody walks."""
    world, database = two_gaps()
    agent = tb.agent("knn-lrta*", world, (12, 17), (12, 30), database=database)
    agent.run(1)
    assert query(agent)["record"] == 0
    world.block((0, 20))
    elsewhere = iter([(row, col) for col in range(31, 40) for row in range(24)])
    for tick in range(3000):
        agent.run(1)
        if agent.done:
            break
        if every and tick % every == 0 and (place := next(elsewhere, None)):
            world.block(place)
    assert agent.status == "reached"


def test_it_queries_again_when_something_opens() -> None:
    world, database = two_gaps()
    agent = tb.agent("knn-lrta*", world, (12, 17), (12, 30), database=database)
    agent.run(1)
    world.block((0, 20))
    while query(agent)["failed"] < FAILURES or query(agent)["stage"] != ANSWERED or query(agent)["record"] >= 0:
        agent.run(1)
    agent.run(1)
    assert query(agent)["record"] < 0
    world.block((23, 39))
    agent.run(2)
    assert query(agent)["record"] < 0  # a wall more is no reason for a query
    world.unblock((0, 20))
    agent.run(1)
    assert query(agent)["failed"] == 0
    assert query(agent)["record"] == 0
    assert agent.run(1000).status == "reached"


def test_a_query_that_is_given_up_is_no_straight_climb() -> None:
    """After so many failures there is no answer, which is not the same as a goal that needs none."""
    world, database = two_gaps()
    agent = tb.agent("knn-lrta*", world, (12, 17), (12, 30), database=database)
    assert agent.run(1).details() == {"answer": "record"}
    world.block((0, 20))
    while query(agent)["failed"] < FAILURES:
        agent.run(1)
    assert agent.run(1).details() == {"answer": "none"}
    straight = tb.agent("knn-lrta*", world, (12, 2), (12, 17), database=database).run(1)
    assert straight.details() == {"answer": "straight"}


@pytest.mark.parametrize("budget", [1, 7])
def test_a_query_under_way_has_no_answer_yet(budget: int) -> None:
    world, database = two_gaps()
    agent = tb.agent("knn-lrta*", world, (12, 17), (12, 30), database=database, budget=budget)
    answers = [agent.details()["answer"]]
    while agent.moves == 0:
        answers.append(agent.run(1).details()["answer"])
    assert len(answers) > 3
    assert answers.count("record") in (1, 2)  # it may be known in the tick before the first move
    assert set(answers[: -answers.count("record")]) == {None}


@COVERAGE
def test_a_query_in_slices_comes_to_an_end(coverage: bool) -> None:
    """Edits do not begin the query again."""
    side, room, records, problems = (40, 8, 60, 6) if COMPILED else (20, 6, 10, 3)
    world = tb.Grid(tb.generate.rooms((side, side), room=room, seed=1))
    database = tb.prepare(world, None, records=records, seed=1, coverage=coverage)
    far = tuple(int(k) for k in np.argwhere(world.free)[-1])
    for problem in tb.problems(world, problems, seed=2, cost=(side // 2, 100)):
        mine = world.copy()
        if far in (problem.start, problem.goal):
            continue
        agent = tb.agent("knn-lrta*", mine, problem.start, problem.goal, budget=5, database=database)
        for tick in range(0, 6000, 10):
            agent.run(10)
            if agent.done:
                break
            (mine.block if tick % 20 == 0 else mine.unblock)(far)
        assert agent.moves > 0
        assert agent.moves > agent.ticks / 4 or agent.done


def test_a_database_of_another_map_is_refused() -> None:
    world, database = two_gaps()
    with pytest.raises(tb.DatabaseError, match="another size"):
        tb.agent("knn-lrta*", tb.Grid(np.ones((6, 6))), (0, 0), (5, 5), database=database)
    with pytest.raises(tb.DatabaseError, match="other rules"):
        tb.agent("knn-lrta*", tb.Grid(world.free, corners="always"), (0, 0), (5, 5), database=database)
    world.block((5, 5))  # the same map, edited
    assert tb.solve(world, (12, 17), (12, 30), "knn-lrta*", database=database).status == "reached"


@COVERAGE
def test_a_short_time_is_kept_to(coverage: bool) -> None:
    """With no time at all a tick does one slice of a climb, not all the climbs that end within it."""
    world = tb.Grid(tb.generate.rooms((40, 40), room=8, seed=1))
    database = tb.prepare(world, None, records=30, seed=1, coverage=coverage)
    for problem in tb.problems(world, 6, seed=2, cost=(20, 100)):
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, budget="0.00001ms", database=database)
        assert agent.run(200).result().expansions_per_move.max() <= 33


@pytest.mark.skipif(not COMPILED, reason="slow")
def test_room_for_queries_is_shared_and_counted() -> None:
    world = tb.Grid(tb.generate.rooms((40, 40), room=8, seed=1))
    database = tb.prepare(world, None, records=30, seed=1, coverage=True)
    problems = list(tb.problems(world, 4, seed=2, cost=(20, 100)))
    results = [tb.solve(world, p.start, p.goal, "knn-lrta*", database=database) for p in problems]
    assert len(database.spare) == 1  # one after the other: they used the same
    assert all(result.memory_bytes > database.spare[0].marks.nbytes for result in results)
    agents = [tb.agent("knn-lrta*", world, p.start, p.goal, database=database) for p in problems]
    for agent, result in zip(agents, results, strict=True):
        assert (agent.run().result().path == result.path).all()
    assert len(database.spare) == len(problems)
    again = agents[0].restart().run()
    assert (again.result().path == results[0].path).all()
    assert len(database.spare) == len(problems)


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
