"""What walks where the database of kNN LRTA* has no answer, if that is not LRTA*."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_registry as checks
import timebound as tb
from helpers import COMPILED, points
from naive import subgoals as naive
from naive.time_bounded import tb_best_first, tba_star
from naive.worlds import NaiveGrid
from test_knn_edits import query, two_gaps
from timebound.algorithms import REGISTRY
from timebound.algorithms.knn_query import FAILURES, GIVES_WAY

OTHERS = ("tba*", "tb-wa*", "tb-gbfs", "rtb-wa*")
ALL = pytest.mark.parametrize("other", OTHERS)


def knn(other: str, **options: Any) -> str:
    return "knn-lrta*:" + ",".join(f"{name}={value}" for name, value in {"otherwise": other, **options}.items())


def empty(world: tb.Grid, covers: bool = False) -> Any:
    return tb.SubgoalDatabase.empty(world, coverage=covers)


def cul_de_sac() -> tuple[tb.Grid, tuple[int, int], tuple[int, int]]:
    """The goal is behind the bottom of a sack; LRTA* must fill it, and no climb leads out."""
    cells = np.ones((15, 15), bool)
    cells[2, 2:12] = cells[12, 2:12] = cells[2:13, 12] = False
    return tb.Grid(cells), (7, 4), (7, 14)


# --- against the naive twin -----------------------------------------------------------------------------------------


TWINS = {
    "tb-wa*": lambda twin, start, goal, k, used: tb_best_first(twin, start, goal, k, 1, 2, used),
    "tb-gbfs": lambda twin, start, goal, k, used: tb_best_first(twin, start, goal, k, 0, 1, used),
}


@pytest.mark.parametrize("other", TWINS)
@pytest.mark.parametrize("rules", [{}, {"corners": "always"}, {"connectivity": 4}], ids=["plain", "corners", "four"])
@pytest.mark.parametrize("budget", [None, 1, 7, 40])
def test_the_whole_way_is_that_of_the_naive_twin(other: str, rules: dict, budget: int | None) -> None:
    """With records for some problems; the search begins with what the query has left of its last tick's budget."""
    free = tb.generate.rooms((24, 24), room=6, seed=3)
    world, twin = tb.Grid(free, **rules), NaiveGrid(free.tolist(), **rules)
    database = tb.prepare(world, None, records=8, mode="trees", seed=2)
    found = database.records
    records = [
        points(
            world.points_of(
                np.array([found.starts[k], *found.subgoals[found.first[k] : found.first[k + 1]], found.ends[k]])
            )
        )
        for k in range(len(database))
    ]
    without = 0
    for problem in tb.problems(world, 20 if COMPILED else 6, seed=5):
        start, goal = problem.start, problem.goal
        walks = []

        def otherwise(spent: int, start: Any = start, goal: Any = goal, walks: list[Any] = walks) -> list[Any]:
            walks.append((spent, TWINS[other](twin, start, goal, budget, 0 if budget is None else spent % budget)))
            return walks[0][1].trail

        agent = tb.agent(knn(other), world, start, goal, database=database, budget=budget).run()
        result = agent.result()
        assert points(result.path) == naive.walk(twin, start, goal, records, 10, 250, 10**6, otherwise)
        assert (agent.details()["answer"] == "none") == bool(walks)
        for spent, walk in walks:
            without += 1
            assert result.expansions == spent + sum(walk.spent)
            assert result.back_moves == walk.back_moves
            assert result.waits == (0 if budget is None else spent // budget)
    assert without > 1


@pytest.mark.parametrize("budget", [None, 1, 5])
def test_tba_walks_as_it_always_does(budget: int | None) -> None:
    """From where no climb leads anywhere, so that the query takes one state."""
    cells = np.ones((9, 9), bool)
    cells[:8, 4] = False
    world, twin = tb.Grid(cells), NaiveGrid(cells.tolist())
    start, goal = (3, 3), (3, 8)
    assert naive.query(twin, start, goal, [], 10, 250) == (None, 1)
    agent = tb.agent(knn("tba*"), world, start, goal, database=empty(world), budget=budget)
    agent.step()
    assert (agent._planner._other is None) == (budget == 1)  # nothing is left of that tick
    assert points(agent.run().result().path) == tba_star(twin, start, goal, budget).trail


# --- what is promised of every algorithm ----------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("budget", [None, 1, 10])
def test_it_keeps_the_contract(other: str, budget: int | None) -> None:
    spec = knn(other)
    for kind in ("grid", "grid in two parts", "4-connected grid"):
        checks.test_reaches_the_goal_within_its_budget(spec, kind, budget)
    for kind in ("grid", "start without a way out"):
        checks.test_says_when_there_is_no_way(spec, kind, budget)
    checks.test_start_is_goal(spec, "grid")
    checks.test_move_limit(spec)
    checks.test_time_budgets_finish(spec, "1us")


def test_what_there_is_to_choose_from() -> None:
    chosen = next(one for one in REGISTRY["knn-lrta*"].parameters if one.name == "otherwise")
    assert (chosen.default, chosen.choices) == ("lrta*", ("lrta*", *OTHERS))
    with pytest.raises(tb.SpecError, match=r"otherwise is lrta\* or tba\* or .*, not 'a\*'"):
        tb.agent("knn-lrta*:otherwise=a*", *cul_de_sac())


@pytest.mark.compiled
@ALL
@pytest.mark.parametrize("covers", [False, True])
@pytest.mark.parametrize("budget", [1, 7, None])
def test_it_walks_less_than_lrta(other: str, covers: bool, budget: int | None) -> None:
    world, start, goal = cul_de_sac()
    walks = [
        tb.solve(world, start, goal, spec, database=empty(world, covers), budget=budget, optimal="compute")
        for spec in ("knn-lrta*", knn(other))
    ]
    assert walks[1].cost < walks[0].cost / 2
    assert walks[1].cost == walks[1].optimal or budget is not None or other != "tba*"


@pytest.mark.parametrize("other", ["tba*", "tb-wa*"])
def test_no_way_is_proved_by_one_search(other: str) -> None:
    world, start, goal = cul_de_sac()
    world.block([(row, 13) for row in range(15)])
    result = tb.solve(world, start, goal, knn(other), database=empty(world), budget=9)
    assert result.status == "unreachable"
    assert result.expansions < 2 * world.free.sum()


# --- it is there when it is needed, and not before -------------------------------------------------------------------


def test_where_there_is_an_answer_nothing_is_made() -> None:
    """The same walk, in as many bytes, as without it."""
    world, database = two_gaps()
    for start, goal, answer in (((12, 17), (12, 30), "record"), ((12, 2), (4, 17), "straight")):
        pair = [tb.agent(spec, world, start, goal, database=database) for spec in ("knn-lrta*", knn("tb-wa*"))]
        plain, other = (agent.run() for agent in pair)
        assert other.details() == plain.details() == {"answer": answer}
        assert points(other.result().path) == points(plain.result().path)
        assert other.expansions == plain.expansions
        assert other.result().memory_bytes == plain.result().memory_bytes
        assert other.result().memory_states == plain.result().memory_states
        assert other._planner._other is None


def test_its_arrays_are_lent_when_needed_and_go_back() -> None:
    world, start, goal = cul_de_sac()
    agent = tb.agent(knn("tb-wa*"), world, start, goal, database=empty(world), budget=4)
    lent = len(world.spare)
    assert agent._planner._other is None
    few = agent.result().memory_bytes
    agent.run(8)
    assert agent.details() == {"answer": "none"}
    assert len(world.spare) == max(lent - 1, 0)
    assert agent.result().memory_bytes > few
    assert agent.result().memory_states == int(agent._planner.state.counts["states"][0])
    assert agent.run().status == "reached"
    assert len(world.spare) == max(lent, 1)
    dropped = tb.agent(knn("tb-wa*"), world, start, goal, database=empty(world), budget=4).run(8)
    assert len(world.spare) == max(lent - 1, 0)
    del dropped
    assert len(world.spare) == max(lent, 1)


def test_many_agents_in_one_world() -> None:
    world, start, goal = cul_de_sac()
    alone = tb.solve(world, start, goal, knn("tb-wa*"), database=empty(world), budget=3)
    agents = [tb.agent(knn("tb-wa*"), world, start, goal, database=empty(world), budget=3) for _ in range(3)]
    while not all(agent.done for agent in agents):
        for agent in agents:
            agent.step()
    for agent in agents:
        assert points(agent.result().path) == points(alone.path)
        assert agent.expansions == alone.expansions


def test_a_short_time_is_kept_to() -> None:
    """With no time at all a tick does one slice of a climb, or one of the search, not both."""
    world = tb.Grid(tb.generate.rooms((40, 40), room=8, seed=1))
    for problem in tb.problems(world, 6 if COMPILED else 2, seed=2, cost=(20, 100)):
        agent = tb.agent(knn("tb-wa*"), world, problem.start, problem.goal, budget="0.00001ms", database=empty(world))
        assert agent.run().status == "reached"
        assert agent.result().expansions_per_move.max() <= 33


# --- queries on the way ---------------------------------------------------------------------------------------------


@pytest.mark.compiled
@ALL
@pytest.mark.parametrize("budget", [1, 3, 30])
@pytest.mark.parametrize("retry", [1, 4])
def test_a_query_in_vain_does_not_begin_the_search_anew(other: str, budget: int, retry: int) -> None:
    """Otherwise the agent would go to and fro in the sack for ever."""
    world, start, goal = cul_de_sac()
    agent = tb.agent(knn(other, retry=retry), world, start, goal, database=empty(world), budget=budget)
    searches, moves = [], []
    while not agent.done:
        agent.step()
        searches.append(agent._planner._other)
        moves.append(query(agent)["moves"])
        assert agent.ticks < 5000
    assert max(moves) == retry  # then it queries
    assert agent.status == "reached"
    assert agent.moves > 3 * retry
    assert len({id(search) for search in searches[:-1] if search is not None}) == 1
    assert agent.result().restarts == 0
    assert agent.result().expansions_per_move.max() <= budget


@pytest.mark.compiled
@ALL
@pytest.mark.parametrize("budget", [2, None])
def test_a_record_takes_the_agent_away_and_it_finds_on(other: str, budget: int | None) -> None:
    """The search, a record once something opens, and another search from there when that record fails."""
    world, database = two_gaps()
    world.block((0, 20))
    agent = tb.agent(knn(other), world, (12, 17), (12, 30), database=database, budget=budget)
    trail = [agent.position]

    def step() -> None:
        assert not agent.done
        assert agent.ticks < 5000
        trail.append(agent.step())
        if trail[-1] != trail[-2]:
            tb.validate(world, trail[-2:])

    while agent.details()["answer"] != "none":
        step()
    for _ in range(3):
        step()
    assert query(agent)["stage"] == GIVES_WAY
    first = agent._planner._other
    world.unblock((0, 20))
    while agent.details()["answer"] != "record":
        step()
    step()
    world.block((0, 20))
    while agent.details()["answer"] != "none":
        step()
    assert query(agent)["failed"] == FAILURES
    step()
    assert agent._planner._other is not first
    while not agent.done:
        step()
    assert agent.status == "reached"
    assert len(world.spare) <= 2


def test_walls_on_the_straight_way() -> None:
    """LRTA* climbs to the goal; a sack falls over it. It gives up after a few slips, and does not fill the sack."""
    walks = []
    for spec in ("knn-lrta*", knn("tb-wa*")):
        world = tb.Grid(np.ones((15, 15)))
        agent = tb.agent(spec, world, (7, 1), (7, 14), database=empty(world), budget=20)
        assert agent.run(3).details() == {"answer": "straight"}
        world.block(~cul_de_sac()[0].free)
        assert agent.run().status == "reached"
        walks.append(agent.moves)
    assert agent.details() == {"answer": "none"}
    assert walks[1] < walks[0] / 2


# --- edits, trials, interrupts --------------------------------------------------------------------------------------


@cache
def some_records(side: int, seed: int, covers: bool) -> Any:
    world = tb.Grid(tb.generate.rooms((side, side), room=5, seed=seed))
    try:
        return tb.prepare(world, None, records=6 if COMPILED else 3, seed=1, coverage=covers)
    except tb.WorldError:
        return empty(world, covers)


@given(
    seed=st.integers(0, 2**32 - 1),
    other=st.sampled_from(OTHERS),
    retry=st.sampled_from([0, 1, 5]),
    budget=st.sampled_from([1, 4, 30, None]),
    covers=st.booleans(),
)
@settings(max_examples=100 if COMPILED else 15)
def test_in_a_world_that_keeps_changing(seed: int, other: str, retry: int, budget: int | None, covers: bool) -> None:
    """Every move is legal when it is made; and when the world rests, the agent arrives, or proves that it cannot."""
    side = 16 if COMPILED else 8
    world = tb.Grid(tb.generate.rooms((side, side), room=5, seed=seed % 5))
    database = some_records(side, seed % 5, covers)
    (problem,) = tb.problems(world, 1, seed=seed % 1000)
    spec = knn(other, retry=retry)
    agent = tb.agent(spec, world, problem.start, problem.goal, database=database, budget=budget, move_limit=100_000)
    random = np.random.default_rng(seed)
    for _ in range(40):
        if agent.done:
            break
        if random.random() < 0.4:
            cells = random.random(world.shape) < 0.1
            cells[agent.position] = cells[problem.goal] = False
            (world.block if random.random() < 0.5 else world.unblock)(cells)
        if agent.done:
            break
        ahead = points(agent.ahead(likely=True))
        before = agent.position
        here = agent.step()
        if here != before:
            tb.validate(world, [before, here])
        assert all(max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1 for a, b in pairwise([before, *ahead]))
    if agent.done:
        return
    possible = tb.solve(world, agent.position, problem.goal, "a*").status == "reached"
    moves = agent.moves
    assert agent.run(200_000).status == ("reached" if possible else "unreachable")
    result = agent.result()
    tb.validate(world, result.path[moves:])
    if budget is not None:
        assert result.expansions_per_move.max() <= budget


def test_where_it_means_to_go() -> None:
    world, start, goal = cul_de_sac()
    agent = tb.agent(knn("tb-wa*"), world, start, goal, database=empty(world), budget=6)
    plain = tb.agent("tb-wa*", world, start, goal, budget=6)
    seen = 0
    while not agent.done:
        agent.step()
        way = points(agent.ahead(likely=True))
        if way:
            seen += len(way) > 1
            tb.validate(world, [agent.position, *way])
    assert seen > 5
    assert agent.run().ahead().tolist() == plain.run().ahead().tolist() == []


def test_trials() -> None:
    """A search learns nothing, so the second trial is the first; nor does half a trial leave anything behind."""
    world, start, goal = cul_de_sac()
    once = tb.solve(world, start, goal, knn("tb-wa*"), database=empty(world), budget=5)
    trials = tb.converge(world, start, goal, knn("tb-wa*"), database=empty(world), budget=5)
    assert trials.converged
    assert points(trials.path) == points(once.path)
    agent = tb.agent(knn("tb-wa*"), world, start, goal, database=empty(world), budget=5).run(9)
    again = agent.restart().run().result()
    assert points(again.path) == points(once.path)
    assert again.expansions == once.expansions


@pytest.mark.parametrize("when", ["before", "after"])
def test_interrupts_while_one_gives_way_to_the_other(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at each request for room, before it is heard or just after: nothing is lost."""
    world, database = two_gaps()
    world.block((0, 20))
    spec = knn("tb-wa*", retry=3)

    def walk(interrupted: bool) -> tuple[list[Any], int]:
        mine = world.copy()
        agent = tb.agent(spec, mine, (12, 17), (12, 30), database=database, budget=3)
        heard = 0
        enlarge = agent._planner.enlarge

        def interrupting() -> None:
            nonlocal heard
            heard += 1
            if when == "after":
                enlarge()
            raise KeyboardInterrupt

        for turn in range(100_000):
            if agent.done:
                break
            with monkeypatch.context() as patch:
                if interrupted and turn % 2 == 0:
                    patch.setattr(agent._planner, "enlarge", interrupting)
                with suppress(KeyboardInterrupt):
                    agent.step()
        assert (heard > 3) == interrupted
        assert agent.status == "reached"
        return points(agent.result().path), agent.expansions

    assert walk(True) == walk(False)
