"""Goals that move, and agents that are put elsewhere: what is kept is still true, and nothing is lost or starved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import distances
from helpers import COMPILED, Case, companion, graph_cases, grid_cases, points, refused
from naive.worlds import NaiveGrid
from test_agents_under_edits import agents
from test_learning import TWINS, budget_of, check_values
from timebound import episode
from timebound.algorithms import REGISTRY
from timebound.kernels import loop, queues
from timebound.kernels.bucket_pages import new_bucket_pages
from timebound.kernels.heuristic_values import forget, learn, learned, lower, new_values, values_as_dict
from timebound.kernels.memory import Room
from timebound.kernels.queues import BucketQueue, HeapQueue
from timebound.kernels.store import Store

# These keep nothing, or no more than an answer of their database: a goal that steps to and fro for ever may keep them
# from it, as it would any agent that is made anew each time.
FORGETFUL = ("ribs", "knn-lrta*")
REAL_TIME = [name for name in REGISTRY if REGISTRY[name].real_time and name not in FORGETFUL]
FAMILY = ["tba*", "tb-wa*", "tb-gbfs", "rtb-wa*"]
LEARNERS = [
    "lrta*",
    "lrta*:depth=2",
    "p-lrta*",
    "k-lrta*",
    "k-lrta*:weight=2",
    "rtaa*",
    "d-lrta*:depth=fixed,goal=global,cap=1",
]


def learners_values(agent: tb.Agent) -> tuple[int, Any] | None:
    """The goal that an agent's values are for, and the values; None if it has none, or is about to forget them."""
    state: Any = agent._planner.state
    if not hasattr(state, "values") or agent.spec.algorithm.name == "pr-lrta*" or agent._outdated:
        return None
    if state.learner["lack"][0] or state.learner["edits"][0] != agent.world.changes.edited[0]:
        return None
    goal = int((state.steering if hasattr(state, "steering") else state.look)["goal"][0])
    return (goal, state.values) if goal >= 0 else None


def check_bounds(agent: tb.Agent, model: Any) -> int:
    """No value exceeds the weight times the distance to the present goal. Returns how many were looked at."""
    known = learners_values(agent)
    if known is None or not agent.world.undirected:
        return 0
    goal, values = known
    weight = float(agent.spec.parameters.get("weight", 1.0))
    found = {agent.world.point_of(state): value for state, value in values_as_dict(values).items()}
    best = _to(model, agent.world.point_of(goal), set(found))
    for point, value in found.items():
        true = best.get(point, math.inf) * agent.world.unit
        # Costs are rounded to integers: half of one for each step of a way.
        assert value / 1024 <= weight * (true * (1 + 1e-9) + len(best)), (point, value, true)
    return len(found)


def _to(model: Any, goal: Any, wanted: set[Any]) -> dict[Any, float]:
    """The cost from all that are wanted and all that are nearer, by Dijkstra's algorithm; roads lead both ways."""
    best: dict[Any, float] = {}
    order = itertools.count()
    heap = [(0.0, next(order), goal)]
    while heap and not wanted <= best.keys():
        cost, _, place = heappop(heap)
        if place not in best:
            best[place] = cost
            for near, step in model.steps(place).items():
                if near not in best:
                    heappush(heap, (cost + step, next(order), near))
    return best


# --- every algorithm, in every world --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=st.integers(0, 2**62))
@settings(max_examples=30 if COMPILED else 6)
def test_steps_goals_places_and_edits_in_any_order(name: str, seed: int) -> None:
    """Every move legal, every budget kept, every status true; and in the end the last goal, or the proof."""
    trial = agents.draw(seed, side=7 if COMPILED else 3, names=[name])
    print(trial.what)
    trial.restless = max(trial.restless, 0.2)
    random, agent = trial.random, trial.agent
    for _ in range(40 if COMPILED else 12):
        if random.random() < trial.restless:
            trial.disturb()
        else:
            trial.step()
        if random.random() < 0.3 * trial.rate:
            trial.edit()
        if not trial.world.changes._queue:
            check_bounds(agent, trial.model)
    trial.finish(3_000_000 if COMPILED else 200_000)
    trial.books()


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=st.integers(0, 2**62))
@settings(max_examples=30 if COMPILED else 6)
def test_what_is_told_to_be_ahead_is_walked(name: str, seed: int) -> None:
    """All of it, in this order, unless an edit, another goal or another place comes between."""
    trial = agents.draw(seed, side=7 if COMPILED else 4, names=[name])
    agent, random, told = trial.agent, trial.random, []
    for _ in range(60 if COMPILED else 20):
        if agent.done:
            break
        way, likely = points(agent.ahead()), points(agent.ahead(likely=True))
        assert likely[: len(way)] == way
        assert way[: len(told)] == told, "what was certain is certain no more"
        posted = len(trial.world.changes._queue)
        before = agent.position
        agent.step()
        trial.model.settle()
        told = []
        if way and not posted:
            assert agent.position == way[0], f"it was at {before}"
            told = way[1:]
        if random.random() < trial.rate:
            trial.edit()
            told = []
        if random.random() < 0.3 * trial.restless:
            trial.disturb()
            told = []


def test_while_a_goal_waits_nothing_is_certain() -> None:
    """``pr-lrta*`` may bring what it was at to an end before it turns, and then drops the rest of its way."""
    world = tb.Grid(tb.generate.rooms((24, 24), room=8, seed=0))
    cells, told = np.argwhere(world.free), 0
    for seed in range(20 if COMPILED else 4):
        random, problem = np.random.default_rng(seed), next(tb.problems(world, 1, seed=seed))
        agent = tb.agent("pr-lrta*", world, problem.start, problem.goal, budget=10, move_limit=400)
        while not agent.done:
            way, before = points(agent.ahead()), agent.position
            agent.step()
            told += bool(way)
            assert not way or agent.position == way[0], f"seed {seed}, at {before}"
            if random.random() < 0.1:
                agent.retarget(tuple(cells[random.integers(len(cells))].tolist()))
    assert told > 20


KNOWS = ["a*", "wa*", "gbfs", "dijkstra", "ida*", *FAMILY, "pra*", "pr-lrta*", "k-lrta*:commit=frontier"]


@pytest.mark.parametrize("name", KNOWS)
def test_those_that_know_where_they_go_say_so(name: str) -> None:
    world = tb.Grid(np.ones((4, 4)))
    agent = tb.agent(name, world, (0, 0), (3, 2), **companion(name, world))
    assert len(agent.ahead()) == len(agent.ahead(likely=True)) == 0  # nothing is planned yet
    agent.step()
    way = points(agent.ahead())
    assert way[-1] == (3, 2) or name == "pr-lrta*"
    world.block((3, 0))
    assert not len(agent.ahead()), "nobody has looked at the edit yet"
    assert points(agent.ahead(likely=True)) == way
    assert points(agent.run().ahead()) == []


# --- learned values --------------------------------------------------------------------------------------------------


def _moves_with(draw: Any, case: Case) -> list[tuple[Any, int]]:
    """Goals, each a few steps from the one before or anywhere, and how many moves are made towards it."""
    legs, goal = [], case.goal
    for _ in range(draw(st.integers(1, 4))):
        before = goal
        for _ in range(draw(st.integers(1, 3))):
            near = [step.target for step in case.twin.successors(goal)]
            goal = draw(st.sampled_from(near)) if near else goal
        if goal != before:
            legs.append((goal, draw(st.integers(1, 12))))
    return legs


@st.composite
def chases(draw: st.DrawFn) -> tuple[Case, list[tuple[Any, int]]]:
    kinds = [grid_cases(side=7, kind=kind) for kind in ("plain", "near", "far")]
    case = draw(st.one_of(*kinds, graph_cases(whole=True)))
    return case, _moves_with(draw, case)


@pytest.mark.parametrize("spec", TWINS)
@given(chase=chases(), k=st.sampled_from([1, 3, None]))
@settings(max_examples=25 if COMPILED else 5)
def test_learners_do_as_their_twins(spec: str, chase: tuple[Case, list[tuple[Any, int]]], k: int | None) -> None:
    case, legs = chase
    k = budget_of(spec, k)
    twin = TWINS[spec](case.twin, case.goal, k)
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=k)
    twin.run(case.start, 6)
    agent.run(6)
    for number, (goal, moves) in enumerate(legs):
        if twin.walk.status == "unreachable":
            break
        if number == len(legs) - 1:
            moves = 3000 if COMPILED else 150
        twin.move_goal(goal)
        agent.retarget(goal).run(moves)
        twin.run_on(len(twin.walk.trail) - 1 + moves)
        assert points(agent.result().path) == twin.walk.trail
    result = agent.result()
    assert points(result.path) == twin.walk.trail
    assert result.expansions_per_move.tolist() == twin.walk.looked
    assert result.learning_expansions == twin.walk.settled
    known = learners_values(agent)
    if known is not None:
        check_values(case, agent, {state: max(value, 0) for state, value in twin.walk.learned.items()})


@pytest.mark.parametrize("spec", LEARNERS)
def test_values_stay_below_the_truth_while_the_goal_walks(spec: str) -> None:
    """And they are kept: an agent that learned its way out of a dead end remembers it when the goal takes a step."""
    cells = np.ones((9, 9))
    cells[2:7, 6] = cells[2, 2:7] = cells[6, 2:7] = 0
    world, twin = tb.Grid(cells), NaiveGrid(cells.tolist())
    model = agents.Ground(cells.tolist(), cells.astype(bool).tolist(), 8, "never", math.sqrt(2), False)
    agent = tb.agent(spec, world, (4, 3), (4, 8), budget=9, **companion(spec, world))
    agent.run(12)
    kept = 0
    for goal in [(3, 8), (2, 8), (1, 8), (0, 8), (0, 7), (0, 5)]:
        agent.retarget(goal)
        assert check_bounds(agent, model) > 0
        true = distances(twin, goal)
        straight = {point: twin.estimate(point, goal) for point in true}
        values = values_as_dict(learners_values(agent)[1])  # type: ignore[index]
        kept += sum(value / 1024 > straight[world.point_of(state)] for state, value in values.items())
        agent.run(2)
    assert kept > 0, "nothing of what was learned is of use"
    assert agent.run().status == "reached"


@pytest.mark.compiled
@pytest.mark.parametrize("spec", LEARNERS)
def test_proofs_that_there_is_no_way_outlast_a_moving_goal(spec: str) -> None:
    """The goal walks about in a room without a door, then comes out of it, by a jump that nobody could walk."""
    cells = np.ones((5, 7))
    cells[:, 3] = 0
    world = tb.Grid(cells)
    options = companion(spec, world)
    for steps in itertools.product(range(3), repeat=2):
        agent = tb.agent(spec, world, (2, 0), (2, 5), budget=9, **options)
        agent.run(20 * steps[0] + 5)
        agent.retarget((1, 6)).run(30 * steps[1] + 1)
        agent.retarget((1, 5))
        assert agent.run().status == "unreachable"
        assert agent.retarget((0, 5)).run().status == "unreachable"
        assert agent.retarget((2, 2)).run().status == "reached"
        assert agent.retarget((4, 4)).run().status == "unreachable"


@pytest.mark.parametrize("pages", [8, 2048])
def test_values_come_down_and_are_forgotten_at_once(pages: int) -> None:
    values = new_values(2, pages)
    learn(values, 5, 1000)
    learn(values, 6, 300)
    assert lower(values, 400)
    assert (learned(values, 5), learned(values, 6) <= 0, values.used[1]) == (600, True, 2)
    learn(values, 6, 50)
    assert values_as_dict(values) == {5: 600, 6: 50}
    assert values.used[1] == 2, "it was among those learned"
    learn(values, 9, 70)
    assert forget(values)
    assert values_as_dict(values) == {}
    assert (values.used[1], learned(values, 5) <= 0, learned(values, 7) <= 0) == (0, True, True)
    learn(values, 9, 20)  # in a page that another state had, if the table is small
    assert (values_as_dict(values), values.used[1]) == ({9: 20}, 1)
    assert not lower(values, 1 << 59)
    learn(values, 7, 1 << 59)  # nothing leads on from there
    assert forget(values) == (pages == 8), "a large table is not wiped, and only a new one forgets so large a value"


# --- trees -----------------------------------------------------------------------------------------------------------


def settled(agent: tb.Agent) -> bool:
    return bool(agent._planner.state.follow["settled"][0])


@pytest.mark.parametrize("spec", ["tb-wa*", "tba*", "tb-gbfs", "rtb-wa*", "tb-wa*:reopen=true"])
def test_a_goal_that_walks_is_followed_without_a_search(spec: str) -> None:
    """Once it is found, its steps become part of the tree."""
    world = tb.Grid(np.ones((5, 40)))
    agent = tb.agent(spec, world, (2, 0), (2, 12), budget=30)
    while not settled(agent):
        agent.step()
    expansions, walked = agent.expansions, 0.0
    for col in range(13, 36):
        agent.retarget((2, col)).run(3)
        walked += 1
        assert agent.result().restarts == 0
        if agent.status == "reached":
            break
    assert agent.status == "reached"
    assert agent.expansions <= expansions + (30 if spec == "tba*" else 0)
    assert agent.cost <= 2 * 12 + walked


def test_a_goal_that_was_seen_needs_no_search() -> None:
    world = tb.Grid(tb.generate.rooms((20, 20), room=6, seed=2))
    (problem,) = tb.problems(world, 1, seed=3, cost=(25, 60))
    agent = tb.agent("tb-wa*:weight=1", world, problem.start, problem.goal, budget=10)
    while not settled(agent):
        agent.step()
    seen, expansions = points(agent.result().path), agent.expansions
    agent.retarget(seen[0]).run()
    assert (agent.status, agent.position, agent.expansions) == ("reached", seen[0], expansions)


def test_when_all_is_seen_nothing_more_is_asked() -> None:
    """A goal outside of the tree is out of reach at once, one inside is found at once."""
    cells = np.ones((6, 9))
    cells[:, 5] = 0
    world = tb.Grid(cells)
    agent = tb.agent("tba*", world, (0, 0), (5, 8), budget=200)
    state, clock, record = agent._planner.state, agent._clock, agent._record
    spent = np.zeros(64, np.int64)
    run = lambda: agent._loop.run(state, spent, spent, clock, 50)  # noqa: E731
    assert run() == loop.UNREACHABLE
    expanded = state.counts["expanded"][0]
    for goal, status in [((0, 7), loop.UNREACHABLE), ((5, 4), loop.REACHED), ((2, 2), loop.REACHED)]:
        there = world.place_of(goal, "goal")
        assert agent._loop.relocate(state, int(record["position"][0]), there, clock)
        assert run() == status
        assert state.counts["expanded"][0] == expanded


@given(case=st.one_of(grid_cases(), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases()), data=st.data())
@settings(max_examples=60 if COMPILED else 15)
def test_the_way_that_is_found_in_an_old_tree_is_as_short(case: Case, data: st.DataObject) -> None:
    """A* that waits may be sent anywhere, again and again: in the end its path is optimal."""
    budget = data.draw(st.sampled_from([1, 3, 10]))
    agent = tb.agent("a*", case.world, case.start, case.goal, budget=budget)
    free = [point for point in case.twin.points() if point != case.start]
    goal = case.goal
    for _ in range(data.draw(st.integers(1, 5))):
        agent.run(data.draw(st.integers(1, 6)))
        if agent.moves:
            break
        goal = data.draw(st.sampled_from(free))
        agent.retarget(goal)
    assert agent.run().status == tb.solve(case.world, case.start, agent.goal).status
    if agent.status == "reached":
        assert agent.cost == pytest.approx(tb.solve(case.world, case.start, agent.goal).cost)


@pytest.mark.parametrize("spec", FAMILY)
def test_a_push_does_not_lose_a_search(spec: str) -> None:
    """Beside its way, back on it, or beside all that was seen: the tree stays, and is searched no more than before."""
    world = tb.Grid(tb.generate.rooms((24, 24), room=7, seed=1))
    (problem,) = tb.problems(world, 1, seed=5, cost=(30, 60))
    plain = tb.agent(spec, world, problem.start, problem.goal, budget=6).run()
    agent = tb.agent(spec, world, problem.start, problem.goal, budget=6)
    random, pushes = np.random.default_rng(1), 0
    while not agent.done:
        agent.step()
        if agent.moves % 4 == 0 and not agent.done:
            row, col = agent.position
            around = [(row + down, col + right) for down, right in itertools.product((-1, 0, 1), repeat=2)]
            near = [cell for cell in around if world.free[cell] and cell != (row, col)]
            agent.place(near[random.integers(len(near))])
            pushes += 1
    assert pushes > 5
    result = agent.result()
    assert (result.status, result.restarts) == ("reached", 0)
    assert result.expansions <= 1.2 * plain.expansions + 50, "as if it had begun again"


# --- no agent starves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL_TIME)
@pytest.mark.parametrize("budget", [1, 5])
def test_a_goal_that_never_rests_is_reached(name: str, budget: int) -> None:
    """It steps to and fro, far away; sooner or later the agent stands beside it, and between two of its steps there."""
    side = 14 if COMPILED else 8
    world = tb.Grid(tb.generate.rooms((side, side), room=5, seed=3))
    if refused(name, world):
        pytest.skip("refuses grids")
    (problem,) = tb.problems(world, 1, seed=1, cost=(side, 3 * side))
    row, col = problem.goal
    around = itertools.product((row - 1, row, row + 1), (col - 1, col, col + 1))
    beside = next(cell for cell in around if world.free[cell] and cell != (row, col))
    agent = tb.agent(name, world, problem.start, problem.goal, budget=budget, **companion(name, world))
    goals = itertools.cycle([beside, problem.goal])
    for _ in range(20_000):
        agent.retarget(next(goals))
        agent.run(3)
        if agent.status == "reached":
            break
    assert agent.status == "reached"


@pytest.mark.parametrize("spec", ["tba*", "tb-wa*:weight=1", "rtb-wa*:weight=1", "tb-wa*:weight=1,reopen=true"])
@pytest.mark.parametrize("dear", [1.0, 90.0])
def test_an_open_list_gets_new_keys_while_the_agent_walks(spec: str, dear: float) -> None:
    """A jump across the map, before the goal is found: the path in force is walked meanwhile, and the tree is kept."""
    side = 40 if COMPILED else 16
    cells = np.ones((side, side))
    cells[:-1, -3] = 0
    cells[3, 3] = dear  # 90: so dear that the open list is a heap
    world = tb.Grid(cells)
    other = (side - 1, 0)
    agent = tb.agent(spec, world, (0, side // 2), (0, side - 1), budget=2).run(2 * side)
    assert not settled(agent)
    search, sorting, waits = agent._planner.state.search, 0, agent.result().waits
    agent.retarget(other)
    while not agent.done:
        agent.step()
        sorting += bool(not agent.done and search["sorting"][0])
    result = agent.result()
    assert sorting > 0, "it was done in one tick"
    assert (result.status, result.restarts) == ("reached", 0)
    assert result.waits - waits <= 2


# --- open lists ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["buckets", "heap", "pages"])
@given(data=st.data())
@settings(max_examples=60 if COMPILED else 20)
def test_queues_are_keyed_anew(kind: str, data: st.DataObject) -> None:
    """In place, a few entries at a time, with some dropped and some put in meanwhile."""
    if kind == "buckets":
        queue: Any = BucketQueue(np.zeros(256, np.int64), np.zeros(64, np.int64), np.zeros(5, np.int64))
    elif kind == "heap":
        queue = HeapQueue(np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(5, np.int64))
    else:
        store = Store(Room(Store.parts(100)))
        queue = new_bucket_pages(store.pages, store.notes())
    # In pages keys may lie so far apart that the ring is exchanged for a wider one.
    highest = 5000 if kind == "pages" else 255
    keys = st.integers(0, highest)
    cursor = queues.clear(queue)
    inside: list[int] = []
    slots = iter(range(1000))
    for push in data.draw(st.lists(st.booleans(), max_size=40)):
        cursor = queues.settle(queue, cursor)
        if push:
            slot = next(slots)
            cursor = queues.push(queue, cursor, data.draw(keys), slot)
            inside.append(slot)
        elif inside:
            slot, cursor = queues.pop(queue, cursor)
            inside.remove(slot)
    new: dict[int, int] = {}
    cursor = queues.loosen(queue, cursor)
    late = data.draw(st.integers(0, 3))
    k = 0
    while (k := int(queues.place_from(queue, cursor, k))) != queues.places(queue, cursor):
        slot = int(queues.slot_in(queue, k))
        if slot >= 0 and data.draw(st.booleans()):
            new[slot] = data.draw(keys)
            cursor = queues.link(queue, cursor, k, new[slot])
        elif slot >= 0:
            cursor = queues.strike(queue, cursor, k)
            inside.remove(slot)
        if late and data.draw(st.booleans()):
            late -= 1
            slot = next(slots)
            cursor = queues.leave(queue, cursor, slot)
            inside.append(slot)
        k += 1
    done = queues.tidy(queue, cursor, 0, 0)
    while done < queues.places(queue, cursor):
        done = queues.tidy(queue, cursor, done, data.draw(st.integers(1, 9)))
    assert sorted(new) == sorted(inside)
    out = []
    while True:
        cursor = queues.settle(queue, cursor)
        if cursor[0] > highest:
            break
        key = int(cursor[0])
        slot, cursor = queues.pop(queue, cursor)
        assert new[int(slot)] == key
        out.append(key)
    assert out == sorted(new.values())


# --- the agent -------------------------------------------------------------------------------------------------------


def test_the_books_go_on() -> None:
    world = tb.Grid(np.ones((3, 9)))
    agent = tb.agent("tb-wa*", world, (0, 0), (0, 4), budget=9).run()
    assert agent.status == "reached"
    agent.retarget((2, 8)).run(2)
    assert (agent.status, agent.goal, agent.moves) == ("active", (2, 8), 6)
    agent.place((0, 1)).place((0, 2)).run()
    result = agent.result("compute")
    assert points(result.path)[0] == (0, 2)
    assert (result.placed, result.retargeted, result.suboptimality) == (2, 1, None)
    assert result.optimal == tb.solve(world, (0, 2), (2, 8)).cost
    assert tb.validate(world, result.path, start=(0, 2), goal=(2, 8)).moves == result.moves - 6
    assert result.cost == agent.cost
    assert len(result.expansions_per_move) == result.moves + result.waits
    again = agent.restart()
    assert (again.position, again.goal, again.moves, again.result().placed) == ((0, 2), (2, 8), 0, 0)
    assert again.run().result("compute").suboptimality == 1.0


def test_a_page_of_the_books_is_full() -> None:
    """The place where the agent is put is that of the last entry, though a new page was begun."""
    world = tb.Grid(np.ones((1, 3)))
    agent = tb.agent("lrta*", world, (0, 0), (0, 1))
    for _ in range(127):  # the page has 128 places, the first for the start
        agent.retarget((0, 0) if agent.position == (0, 1) else (0, 1)).step()
    assert agent._trail.begins == 0
    agent._record["trail_from"] = agent._trail.turn(agent.moves + 1)
    assert agent._trail.begins == 128
    agent.retarget((0, 1)).place((0, 2)).run()
    assert points(agent.result().path) == [(0, 2), (0, 1)]


@pytest.mark.parametrize("name", REGISTRY)
def test_who_has_arrived_goes_on(name: str) -> None:
    world = tb.Grid(np.ones((4, 5)))
    agent = tb.agent(name, world, (0, 0), (1, 2), **companion(name, world)).run()
    for goal in [(3, 4), (3, 3), (0, 4)]:
        assert agent.retarget(goal).status == "active"
        assert agent.run().status == "reached"
        assert agent.position == goal
    assert agent.place((3, 0)).status == "active"
    assert agent.run().position == (0, 4)
    assert agent.retarget((0, 3)).place((0, 3)).status == "reached"
    assert agent.step() == (0, 3)
    assert agent.retarget((0, 3)).place((0, 3)).result().retargeted == 4
    world.block((2, 2))
    assert agent.retarget((2, 2)).status == "unreachable"
    world.unblock((2, 2))
    assert agent.run().position == (2, 2)


def test_who_has_used_up_its_moves_stays() -> None:
    agent = tb.agent("lrta*", tb.Grid(np.ones((3, 9))), (0, 0), (0, 8), move_limit=3).run()
    assert agent.retarget((2, 8)).place((2, 2)).status == "move-limit"
    assert agent.run().position == (2, 2)
    assert agent.retarget((2, 2)).status == "move-limit"


def test_what_cannot_be() -> None:
    world = tb.Grid([[1, 1, 0, 1]])
    agent = tb.agent("lrta*", world, (0, 0), (0, 1))
    for act, words in [
        (lambda: agent.retarget((0, 9)), "the goal (0, 9) is off the map"),
        (lambda: agent.retarget("there"), "the goal"),
        (lambda: agent.place((5, 0)), "the place (5, 0) is off the map"),
        (lambda: agent.place((0, 2)), "the place (0, 2) is in a wall"),
    ]:
        with pytest.raises(tb.ProblemError) as caught:
            act()
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    assert (agent.position, agent.goal, agent.result().placed, agent.result().retargeted) == ((0, 0), (0, 1), 0, 0)
    assert agent.retarget((0, 3)).run().status == "unreachable"


def test_a_goal_with_estimates_of_its_own() -> None:
    """The view changes with the goal; what is kept must not mix the two."""
    ring = np.arange(9)
    far = {goal: np.minimum(abs(ring - goal), 9 - abs(ring - goal)).astype(float) for goal in range(9)}
    world = tb.Graph(ring, (ring + 1) % 9, directed=False, heuristic=far)
    assert world.goal_views
    assert not tb.Graph(ring, (ring + 1) % 9).goal_views
    for name in REGISTRY:
        if refused(name, world):
            continue
        agent = tb.agent(name, world, 0, 4, budget=2, **companion(name, world)).run(2)
        for goal in (3, 5, 8, 0, 2):
            agent.retarget(goal).run(3)
        assert agent.run().status == "reached"
        assert agent.position == 2
    with pytest.raises(tb.ProblemError):
        tb.agent("a*", world, 0, 4).retarget(99)


@pytest.mark.parametrize("name", ["tba*", "lrta*", "ribs"])
def test_an_interrupt_half_way(name: str) -> None:
    world = tb.Grid(np.ones((5, 5)))
    agent = tb.agent(name, world, (0, 0), (4, 4), budget=4).run(2)
    with (
        mock.patch.object(episode.loop.Alone, "relocate", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        agent.retarget((4, 0))
    assert not len(agent.ahead(likely=True))
    agent.retarget((0, 4))
    assert agent.run().position == (0, 4)


def _paused_agents(name: str) -> Iterator[tb.Agent]:
    """Agents that were interrupted in the middle of a tick, after more and more of their kernel's calls."""
    for calls in range(1, 6):
        world = tb.Grid(np.ones((7, 7)))
        world.block([(row, 4) for row in range(6)])
        agent = tb.agent(name, world, (0, 0), (0, 6), **companion(name, world))
        agent._patience, agent._clock[4] = 1, 1
        count = itertools.count(1)

        def wind(*clock: Any, plain: Any = episode.wind, count: Any = count, calls: int = calls) -> None:
            if next(count) > calls:
                raise KeyboardInterrupt
            plain(*clock)

        with mock.patch.object(episode, "wind", wind), pytest.raises(KeyboardInterrupt):
            agent.run()
        agent._patience = 0
        yield agent


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "ida*"])
def test_in_the_middle_of_a_tick(name: str) -> None:
    """What had been expanded stays counted, and the tick goes on towards the new goal, or from the new place."""
    for k, agent in enumerate(_paused_agents(name)):
        if k % 2:
            agent.retarget((6, 6))
        else:
            agent.place((1, 0))
        assert agent.run().status == "reached"
        result = agent.result()
        assert result.expansions_per_move.sum() == result.expansions - result.learning_expansions


@pytest.mark.parametrize("spec", ["tb-wa*", "tb-gbfs", "tba*", "rtb-wa*"])
@pytest.mark.parametrize("expansions", [7, 9, 12])
def test_who_was_on_its_goal_finds_it_again(spec: str, expansions: int) -> None:
    """Put there, or pushed, and put elsewhere: the goal is then a leaf of the tree that the search has not come to."""
    world = tb.Grid(np.ones((1, 30), bool))
    fleet = tb.Fleet(world, spec, frame_expansions=expansions)
    ids = fleet.add([(0, 0)], (0, 10))
    fleet.tick()
    fleet.place(ids, [(0, 10)])
    assert fleet.status(ids[0]) == "reached"
    fleet.place(ids, [(0, 5)])
    while fleet.active:
        fleet.tick()
    assert fleet.status(ids[0]) == "reached"
