"""TBA*, TB-WA* and TB-GBFS: the papers' pseudo-code step for step, their theorems, and what the budget promises."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, graph_cases, grid_cases, points, puzzle_cases
from naive.time_bounded import Walk, tb_best_first, tba_star
from naive.worlds import NaiveGrid, path_length, reachable
from timebound.kernels.tables import parent_of, state_of

FEW = settings(max_examples=25 if COMPILED else 4)
BUCKET = 0.15  # the width of a bucket of the open list, in straight steps over the cheapest ground
BUDGETS = st.sampled_from([1, 2, 5, 30])


def tba(**options: Any) -> Callable[..., Walk]:
    return lambda *problem: tba_star(*problem, **options)


def tb_bfs(g_weight: float, h_weight: float) -> Callable[..., Walk]:
    return lambda *problem: tb_best_first(*problem, g_weight, h_weight)


# Every member of the family, and what it is to the naive version.
TWINS = {
    "tba*": tba(),
    "tba*:r=0.5,c=1": tba(r="0.5", c="1"),
    "tba*:r=0.3,c=2.5": tba(r="0.3", c="2.5"),
    "tba*:r=0.99,c=2": tba(r="0.99", c="2"),
    "tba*:steady=true": tba(steady=True),
    "tba*:r=0.7,c=1,steady=true": tba(r="0.7", c="1", steady=True),
    "tba*:acting=late": tba(late=True),
    "tba*:r=0.5,c=1,acting=late": tba(r="0.5", c="1", late=True),
    "tb-wa*:weight=1": tb_bfs(1, 1),
    "tb-wa*:weight=1.5": tb_bfs(1, 1.5),
    "tb-wa*:weight=3": tb_bfs(1, 3),
    "tb-gbfs": tb_bfs(0, 1),
}
REOPENING = ("tba*:reopen=true", "tba*:c=1,r=0.5,steady=true,reopen=true", "tb-wa*:weight=3,reopen=true")
# One of each kind, where the others would add nothing.
MEMBERS = ("tba*", "tba*:r=0.5,c=1", "tba*:steady=true", "tba*:acting=late", "tb-wa*:weight=3", "tb-gbfs")


def grids(side: int = 9) -> st.SearchStrategy[Case]:
    """Grids of any kind and connectivity."""
    return st.one_of(*(grid_cases(side=side, kind=kind) for kind in ("plain", "plain", "near", "far")))


def check_twin(case: Case, spec: str, budget: int | None) -> None:
    expected = TWINS[spec](case.twin, case.start, case.goal, budget)
    result = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    trail, spent = points(result.path), result.expansions_per_move.tolist()
    assert result.status == ("reached" if expected.reached else "unreachable")
    if not expected.reached and spec.startswith("tba*"):
        # A tick that goes on with an old trace asks for no best state, and so may not notice that none is open.
        # The next one does. (Algorithm 1 of TB-BFS looks every tick.)
        assert sum(spent[len(expected.spent) :]) == 0
        assert len(spent) <= len(expected.spent) + 1
        trail, spent = trail[: len(expected.trail)], spent[: len(expected.spent)]
    else:
        assert result.back_moves == expected.back_moves
    assert trail == expected.trail
    assert spent == expected.spent


# --- step for step -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", TWINS)
@given(case=grids(), budget=BUDGETS)
def test_grid(case: Case, budget: int, spec: str) -> None:
    check_twin(case, spec, budget)


@pytest.mark.parametrize("spec", [spec for spec in TWINS if "late" not in spec])
@given(case=grids(side=7), budget=BUDGETS)
@FEW
def test_graph_of_a_grid(case: Case, budget: int, spec: str) -> None:
    check_twin(Case(case.world.to_graph(), case.twin, case.start, case.goal), spec, budget)


@pytest.mark.parametrize("spec", TWINS)
@given(case=graph_cases().filter(lambda case: case.world.undirected), budget=BUDGETS)
@FEW
def test_graph(case: Case, budget: int, spec: str) -> None:
    check_twin(case, spec, budget)


@pytest.mark.parametrize("spec", TWINS)
@given(case=puzzle_cases(moves=14), budget=BUDGETS)
@FEW
def test_puzzle(case: Case, budget: int, spec: str) -> None:
    check_twin(case, spec, budget)


@pytest.mark.parametrize("spec", TWINS)
@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_larger_maps(kind: str, spec: str) -> None:
    """Maps with structure: long paths, many switches between them."""
    side = 32 if COMPILED else 10
    free = tb.generate.GENERATORS[kind]((side, side), seed=4)
    world, twin = tb.Grid(free), NaiveGrid(free.tolist())
    for problem, budget in zip(tb.problems(world, 3 if COMPILED else 1, seed=5), (3, 10, 25), strict=False):
        check_twin(Case(world, twin, problem.start, problem.goal), spec, budget)


@pytest.mark.compiled
@pytest.mark.parametrize("spec", ["tba*", "tba*:acting=late", "tb-wa*:weight=1"])
def test_a_path_longer_than_the_arrays_begin_with(spec: str) -> None:
    """Enlarging an array in the middle of a tick must not give the tick more than its share.

    900 parents per tick make three ticks of these 1850, and the arrays of 1024 become full in the second.
    """
    cells = np.ones((1, 1851))
    case = Case(tb.Grid(cells), NaiveGrid(cells.tolist()), (0, 0), (0, 1850))
    check_twin(case, spec, 90)


@given(case=grids(), budget=st.sampled_from([1, 2, 3, 7, 20, 60]), spec=st.sampled_from([*TWINS]))
def test_the_first_tick_ends_with_a_move(case: Case, budget: int, spec: str) -> None:
    """Section 3.3 of the TBA* paper: the first path must be traced in the tick that finds it."""
    result = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    if result.moves:
        assert result.first_move_lag == 0
        assert result.waits == (result.status != "reached")


# --- what is proved ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*TWINS, *REOPENING])
@given(case=grids(), budget=st.sampled_from([1, 2, 5, 30, None]))
@FEW
def test_theorem_1(case: Case, budget: int | None, spec: str) -> None:
    """The agent arrives if there is a way, and otherwise says so after having expanded what it can reach."""
    component = reachable(case.twin, case.start)
    result = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    trail = points(result.path)
    assert result.cost == pytest.approx(path_length(case.twin, trail), rel=1e-9)  # not a number if a step is none
    assert result.expansions_per_move.sum() == result.expansions
    if budget is not None:
        assert result.expansions_per_move.max() <= budget
    if spec not in REOPENING:
        assert result.expansions <= len(component)
    if case.goal in component:
        assert result.status == "reached"
        assert trail[-1] == case.goal
    else:
        assert result.status == "unreachable"
        if spec not in REOPENING:
            assert result.expansions == len(component)


def test_no_open_state_is_left_but_old_entries_are() -> None:
    """The dear cell is opened twice. Its first entry is all that is left when every state has been expanded."""
    world = tb.Grid([[1, 1, 0, 0], [1, 9, 0, 1]])
    for spec in (*TWINS, *REOPENING):
        result = tb.solve(world, (0, 0), (1, 3), spec, budget=1)
        assert result.status == "unreachable"
        assert result.expansions == 4
        if not spec.startswith("tba*"):
            assert len(result.expansions_per_move) == 4, spec  # Algorithm 1, line 22: an empty Open ends it there


def unsolvable(seed: int) -> tuple[tb.Grid, tuple[int, int], tuple[int, int]]:
    """A small map, with or without terrain, whose goal stands within a ring of walls."""
    random = np.random.default_rng(seed)
    side = 12 if COMPILED else 6
    cells = (random.random((side, side)) >= random.choice([0.0, 0.1, 0.25])).astype(float)
    if seed % 2:
        cells *= random.choice([1, 2, 5], cells.shape)
    row, col = random.integers(2, side - 1, 2)
    cells[row - 1 : row + 2, col - 1 : col + 2] = 0
    cells[row, col] = cells[0, 0] = 1
    return tb.Grid(cells), (0, 0), (int(row), int(col))


@pytest.mark.parametrize("spec", [*TWINS, *REOPENING, "tba*:shortcut=true", "rtb-wa*", "rtb-wa*:restart=eager"])
def test_unsolvable_problems(spec: str) -> None:
    for seed in range(100 if COMPILED else 12):
        world, start, goal = unsolvable(seed)
        parts = world.parts()
        component = int((parts == parts[world.state_of(start)]).sum())
        for budget in (1, 7, None) if COMPILED else (2,):
            result = tb.solve(world, start, goal, spec, budget=budget)
            assert result.status == "unreachable"
            assert result.expansions <= component or spec in REOPENING


@pytest.mark.parametrize("weight", [1, 1.5, 3])
@given(case=grids(side=14), k=BUDGETS)
def test_lemma_1_and_theorem_2(case: Case, k: int, weight: float) -> None:
    whole = tb.solve(case.world, case.start, case.goal, f"wa*:weight={weight}")
    assume(whole.status == "reached")
    optimum = tb.solve(case.world, case.start, case.goal, "a*").cost
    dearest = max(
        step.length for here in reachable(case.twin, case.start) for step in case.twin.successors(here)
    )  # fmt: skip
    result = tb.solve(case.world, case.start, case.goal, f"tb-wa*:weight={weight}", budget=k)
    assert result.expansions <= whole.expansions
    if result.expansions < whole.expansions:
        # It stood on the goal before the search was sure of it; until then every tick was used to the full.
        assert (result.expansions_per_move == k).all()
    found_in = int(np.flatnonzero(result.expansions_per_move)[-1])  # the tick of the last expansion finds the goal
    before = path_length(case.twin, points(result.path)[: found_in + 1])
    bound = (whole.expansions - 1) // k * dearest
    assert before <= bound * (1 + 1e-9)
    # The way back to the root and the way from there to the goal may each be a bucket dearer than w c*.
    cheapest = min(value for row in case.twin.cells for value in row if value)
    assert result.cost <= bound + 2 * (weight * optimum + BUCKET * cheapest) * (1 + 1e-3)


@pytest.mark.parametrize("spec", ["tba*", "tba*:steady=true", "tba*:acting=late", "tb-wa*:weight=1"])
@given(case=st.one_of(grids(), puzzle_cases()))
@FEW
def test_without_a_budget_it_is_a_star(case: Case, spec: str) -> None:
    """A* that does not open closed states again, to be exact."""
    expected = tb.solve(case.world, case.start, case.goal, "wa*:weight=1")
    result = tb.solve(case.world, case.start, case.goal, spec)
    assert result.status == expected.status
    assert points(result.path) == points(expected.path)
    assert result.expansions == expected.expansions
    assert result.back_moves == 0


@pytest.mark.parametrize("spec", ["tba*", "tb-wa*:weight=1"])
@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_without_a_budget_it_is_nearly_optimal(kind: str, spec: str) -> None:
    side, many = (100, 20) if COMPILED else (16, 3)
    world = tb.Grid(tb.generate.GENERATORS[kind]((side, side), seed=1))
    for problem in tb.problems(world, many, seed=2):
        optimum = tb.solve(world, problem.start, problem.goal, "a*").cost
        assert tb.solve(world, problem.start, problem.goal, spec).cost <= 1.005 * optimum + 1e-9


@pytest.mark.parametrize("spec", [*TWINS, *REOPENING])
@given(case=grids(), budget=BUDGETS)
@FEW
def test_a_grid_and_its_graph_take_the_same_steps(case: Case, budget: int, spec: str) -> None:
    on_grid = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    on_graph = tb.solve(case.world.to_graph(), case.start, case.goal, spec, budget=budget)
    assert on_graph.status == on_grid.status
    assert points(on_graph.path) == points(on_grid.path)
    assert on_graph.expansions_per_move.tolist() == on_grid.expansions_per_move.tolist()
    assert on_graph.back_moves == on_grid.back_moves
    assert on_graph.memory_states == on_grid.memory_states
    assert on_graph.cost == on_grid.cost


# --- budgets, refusals, edits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", MEMBERS)
@pytest.mark.parametrize("budget", ["20us", "1ms"])
def test_a_budget_in_time(budget: str, spec: str) -> None:
    side = 60 if COMPILED else 12
    free = tb.generate.rooms((side, side), room=8 if COMPILED else 4, seed=3)
    world, twin = tb.Grid(free), NaiveGrid(free.tolist())
    for problem in tb.problems(world, 4 if COMPILED else 1, seed=3):
        result = tb.solve(world, problem.start, problem.goal, spec, budget=budget)
        assert result.status == "reached"
        assert result.cost == pytest.approx(path_length(twin, points(result.path)))


@pytest.mark.parametrize("spec", [*MEMBERS, *REOPENING])
def test_one_way_arcs_are_refused(spec: str) -> None:
    with pytest.raises(tb.SpecError) as refusal:
        tb.solve(tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=True), 0, 2, spec, budget=1)
    text = str(refusal.value)
    assert "lrta*, p-lrta*, k-lrta*, rtaa*" in text
    assert "a*, wa*, gbfs" in text
    assert "\n" not in text
    assert ". " not in text


@pytest.mark.parametrize("spec", [*MEMBERS, *REOPENING])
@given(data=st.data(), budget=BUDGETS)
@FEW
def test_edits_on_the_way(data: st.DataObject, budget: int, spec: str) -> None:
    """Walls come and go while the agent walks; it never enters one, and arrives if it can."""
    side = 10 if COMPILED else 6
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    free = random.random((side, side)) >= 0.15
    start, goal = (0, 0), (side - 1, side - 1)
    free[start] = free[goal] = True
    world = tb.Grid(free)
    agent = tb.agent(spec, world, start, goal, budget=budget)
    for _ in range(data.draw(st.integers(1, 3))):
        for _ in range(data.draw(st.integers(1, 12))):
            if not agent.done:
                before = agent.position
                after = agent.step()
                legal = [step.target for step in NaiveGrid(free.tolist()).successors(before)]
                assert after in legal or (after == before and (agent.done or agent.ticks > agent.moves))
        for cells, value in ((random.random((side, side)) < 0.2, False), (random.random((side, side)) < 0.1, True)):
            cells[agent.position] = cells[goal] = False
            free[cells] = value
            world.unblock(cells) if value else world.block(cells)
    if agent.done:
        return
    here = agent.position
    possible = goal in reachable(NaiveGrid(free.tolist()), here)
    before = agent.moves
    agent.run()
    assert agent.status == ("reached" if possible else "unreachable")
    rest = points(agent.result().path)[before:]
    assert not math.isnan(path_length(NaiveGrid(free.tolist()), rest))


@pytest.mark.parametrize("spec", [*MEMBERS, *REOPENING])
@pytest.mark.parametrize("budget", [1, 10, None])
def test_the_way_ahead_is_blocked(budget: int | None, spec: str) -> None:
    """A wall with one gap, far off, falls between the agent and its goal."""
    world = tb.Grid(np.ones((9, 12)))
    agent = tb.agent(spec, world, (4, 0), (4, 11), budget=budget)
    for _ in range(3):
        agent.step()
    ahead = agent.position[1] + 1
    wall = [(row, ahead) for row in range(8)]
    world.block(wall)
    while not agent.done:
        assert agent.step() not in wall
    assert agent.status == "reached"
    assert (8, ahead) in points(agent.result().path)


@pytest.mark.parametrize("spec", [*MEMBERS, *REOPENING])
@pytest.mark.parametrize("budget", [1, 10, None])
def test_walled_in_on_the_way(budget: int | None, spec: str) -> None:
    world = tb.Grid(np.ones((7, 9)))
    agent = tb.agent(spec, world, (3, 0), (3, 8), budget=budget)
    agent.run(3)
    row, col = agent.position
    around = itertools.product((row - 1, row, row + 1), (col - 1, col, col + 1))
    world.block([(r, c) for r, c in around if (r, c) != (row, col) and 0 <= r < 7 and 0 <= c < 9])
    agent.run()
    assert agent.status == "unreachable"
    assert agent.position == (row, col)


@pytest.mark.parametrize("weight", [1, 3])
def test_the_way_ahead_does_not_depend_on_how_much_of_it_is_traced(weight: int) -> None:
    """TB-WA* traces only what is beyond the agent, lazy RTB-WA* all of it: where nothing is edited they are one."""
    side, many = (40, 3) if COMPILED else (20, 1)
    world = tb.Grid(tb.generate.caves((side, side), seed=0))
    back = 0
    for budget, problem in itertools.product((2, 7, 20), tb.problems(world, many, seed=3, cost=(side * 3 / 4, 60))):
        part, whole = (
            tb.agent(f"{name}:weight={weight}", world, problem.start, problem.goal, budget=budget)
            for name in ("tb-wa*", "rtb-wa*")
        )
        while not part.done:
            assert part.step() == whole.step()
            way = points(part.ahead(likely=True))
            assert way == points(whole.ahead(likely=True))
            if way:
                tb.validate(world, [part.position, *way])
                back += way[0] in points(part.result().path)
    assert back > 0


@pytest.mark.parametrize("weight", [1, 3])
def test_with_a_budget_in_time_paths_are_traced_whole(weight: int) -> None:
    """A trace that comes too late leaves the path before it in force, and the agent must find back to that one.

    So it begins where the agent has been, or where the search began, not somewhere on another branch of the tree.
    """
    world = tb.Grid(tb.generate.caves((40, 40), seed=0))
    back = 0
    for problem in tb.problems(world, 3, seed=3, cost=(30, 60)):
        spec = f"tb-wa*:weight={weight}"
        agent = tb.agent(spec, world, problem.start, problem.goal, budget="0.000001ms")  # a slice of the search
        while not agent.done:
            agent.step()
            held = agent._planner.state
            row = int(held.follow["active"][0])
            first = int(held.paths[row, held.fronts[row]])
            assert world.point_of(int(state_of(held.table, first))) in points(agent.result().path)
        back += agent.result().back_moves
    assert back > 0


@pytest.mark.parametrize("spec", ["tb-wa*:weight=3", "tb-gbfs", "rtb-wa*:weight=2", "tb-wa*:weight=2,reopen=true"])
def test_a_path_that_grows_is_that_of_the_tree(spec: str) -> None:
    """What is not traced again, because the path joins the one in force, is what tracing would have found."""
    grown = 0
    for seed in range(4):
        world = tb.Grid(tb.generate.caves((30, 30), seed=seed))
        for problem in tb.problems(world, 2, seed=seed, cost=(15, 60)):
            agent = tb.agent(spec, world, problem.start, problem.goal, budget=4)
            while not agent.done:
                agent.step()
                state: Any = agent._planner.state
                row = int(state.follow["active"][0])
                path = state.paths[row, int(state.fronts[row]) : int(state.ends[row])]
                for slot, after in itertools.pairwise(path.tolist()):
                    assert parent_of(world.view, state.table, after) == slot
                # What is appended lies beyond where every trace begins.
                grown += int(state.ends[row]) > state.paths.shape[1] // 2
    assert (grown > 0) == ("reopen" not in spec)
