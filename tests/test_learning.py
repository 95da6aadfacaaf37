"""The learning family: twins step for step, values that neither fall nor exceed the truth, convergence, edits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, graph_cases, grid_cases, points, puzzle_cases
from naive.learning import NOWHERE, ONE, Learner, LocalSearch, Lrta, PrioritizedLrta
from naive.ribs import ribs
from naive.worlds import CARDINAL, NaiveGrid, reachable
from timebound.kernels.heuristic_values import enlarged, learn, learned, new_values, values_as_dict
from timebound.kernels.layout import WEIGHT_ONE
from timebound.kernels.memory import lacks_room
from timebound.kernels.workspace import Workspace
from timebound.warmup import ready

FEW = settings(max_examples=25 if COMPILED else 4)
SOME = settings(max_examples=60 if COMPILED else 6)
MOVES = 3000 if COMPILED else 150


def lrta(**options: Any) -> Callable[..., Learner]:
    return lambda world, goal, k: Lrta(world, goal, **options)


def local(**options: Any) -> Callable[..., Learner]:
    return lambda world, goal, k: LocalSearch(world, goal, math.inf if k is None else k, **options)


# Every member of the family, and what it is to the naive version.
TWINS: dict[str, Callable[..., Learner]] = {
    "lrta*": lrta(),
    "lrta*:gamma=0.5": lrta(gamma=0.5),
    "lrta*:depth=2": lrta(depth=2),
    "lrta*:depth=3": lrta(depth=3),
    "lrta*:depth=5": lrta(depth=5),
    "lrta*:depth=3,gamma=0.4": lrta(depth=3, gamma=0.4),
    "p-lrta*:queue=1": lambda world, goal, k: PrioritizedLrta(world, goal, 1),
    "p-lrta*:queue=4": lambda world, goal, k: PrioritizedLrta(world, goal, 4),
    "p-lrta*:queue=40": lambda world, goal, k: PrioritizedLrta(world, goal, 40),
    "k-lrta*": local(),
    "k-lrta*:commit=frontier": local(commit="frontier"),
    "k-lrta*:avoid=true": local(avoid=True),
    "k-lrta*:commit=frontier,avoid=true": local(commit="frontier", avoid=True),
    "k-lrta*:commit=frontier,weight=2.5": local(commit="frontier", weight=2.5),
    "k-lrta*:avoid=true,weight=1.5": local(avoid=True, weight=1.5),
    "rtaa*": local(rule="best"),
    "rtaa*:commit=frontier": local(rule="best", commit="frontier"),
    "rtaa*:commit=frontier,avoid=true": local(rule="best", commit="frontier", avoid=True),
    "rtaa*:weight=2": local(rule="best", weight=2),
}
LOCAL = [spec for spec in TWINS if spec.startswith(("k-lrta*", "rtaa*"))]
# One of each kind, where the others would add nothing.
MEMBERS = ("lrta*", "lrta*:depth=3", "p-lrta*:queue=4", "k-lrta*", "rtaa*:commit=frontier")


def budget_of(spec: str, k: int | None) -> int | None:
    """Only the local searches take their lookahead from the budget."""
    return k if spec in LOCAL else None


def learned_of(case_world: Any, agent: tb.Agent) -> dict[Any, int]:
    """What the agent has learned, by state as the twin calls it."""
    values = values_as_dict(agent._planner.state.values)
    return {case_world.point_of(state): value for state, value in values.items()}


def check_values(case: Case, agent: tb.Agent, expected: dict[Any, int]) -> None:
    """The same values; where the twin of a graph counts broken costs in finer integers, nearly so."""
    found, scale = learned_of(case.world, agent), getattr(case.twin, "scale", case.world.unit) / case.world.unit
    if scale == 1:
        assert found == expected
    else:
        # Of what leads nowhere the value is above any other, whatever was taken from it when the goal moved.
        far = NOWHERE >> 1
        expected = {state: NOWHERE if value > far else value for state, value in expected.items()}
        scaled = {state: NOWHERE if value > far else value * scale for state, value in found.items()}
        # Each step is rounded to the next of the coarser integers, and a value is the sum of a way's, or a difference.
        rounded = scale * WEIGHT_ONE * case.world.states
        assert scaled == pytest.approx(expected, rel=1e-4, abs=rounded)


def check_twin(case: Case, spec: str, k: int | None, moves: int = MOVES) -> tb.Agent:
    k = budget_of(spec, k)
    expected = TWINS[spec](case.twin, case.goal, k).run(case.start, moves)
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=k, move_limit=moves).run()
    result = agent.result()
    assert result.status == expected.status
    assert points(result.path) == expected.trail
    assert result.expansions_per_move.tolist() == expected.looked
    assert result.learning_expansions == expected.settled
    assert result.expansions == sum(expected.looked) + expected.settled
    assert result.memory_states == expected.most_states
    check_values(case, agent, expected.learned)
    return agent


def grids(side: int = 9) -> st.SearchStrategy[Case]:
    return st.one_of(*(grid_cases(side=side, kind=kind) for kind in ("plain", "plain", "near", "far")))


BUDGETS = st.sampled_from([1, 2, 3, 10, None])


# --- step for step -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", TWINS)
@given(case=grids(), k=BUDGETS)
@SOME
def test_grid(case: Case, k: int | None, spec: str) -> None:
    check_twin(case, spec, k)


@pytest.mark.parametrize("spec", TWINS)
@given(case=graph_cases(), k=BUDGETS)
@SOME
def test_graph(case: Case, k: int | None, spec: str) -> None:
    check_twin(case, spec, k)


@pytest.mark.parametrize("spec", TWINS)
@given(case=puzzle_cases(rows=2, cols=3, moves=20), k=BUDGETS)
@FEW
def test_puzzle(case: Case, k: int | None, spec: str) -> None:
    check_twin(case, spec, k)


@pytest.mark.parametrize("spec", TWINS)
@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_larger_maps(kind: str, spec: str) -> None:
    """Maps with structure, on which tables have to grow."""
    side = 30 if COMPILED else 10
    free = tb.generate.GENERATORS[kind]((side, side), seed=3)
    world = tb.Grid(free)
    for problem in tb.problems(world, 2, seed=1):
        check_twin(Case(world, NaiveGrid(free.tolist()), problem.start, problem.goal), spec, 20)


def test_avoidance_gives_way_where_nothing_is_learned() -> None:
    """A map on which the agent goes to and fro: it shows how many decisions without learning that takes."""
    free = tb.generate.random_obstacles((9, 9), 0.25, seed=168)
    free[0, 0] = free[8, 8] = True
    expected = LocalSearch(NaiveGrid(free.tolist()), (8, 8), 5, rule="best", avoid=True).run((0, 0), 150)
    found = tb.solve(tb.Grid(free), (0, 0), (8, 8), "rtaa*:avoid=true", budget=5, move_limit=150)
    assert points(found.path) == expected.trail


@pytest.mark.parametrize("gmax", [0.5, 1.0, math.sqrt(2), 2.0, 3.5, 6.0])
@given(case=st.one_of(grid_cases(kind="plain"), graph_cases(whole=True)))
@FEW
def test_a_cost_limit(case: Case, gmax: float) -> None:
    unit = CARDINAL if isinstance(case.world, tb.Grid) else 1
    expected = Lrta(case.twin, case.goal, gmax=math.floor(gmax * unit * (1 + 1e-6))).run(case.start, MOVES)
    agent = tb.agent(f"lrta*:gmax={gmax}", case.world, case.start, case.goal, move_limit=MOVES).run()
    assert agent.status == expected.status
    assert points(agent.result().path) == expected.trail
    assert agent.result().expansions_per_move.tolist() == expected.looked
    check_values(case, agent, expected.learned)


@pytest.mark.parametrize("kind", ["near", "far"])
@given(data=st.data())
@FEW
def test_a_cost_limit_on_terrain(kind: str, data: st.DataObject) -> None:
    case = data.draw(grid_cases(kind=kind))
    gmax = data.draw(st.sampled_from([1.0, 5.0, 120.0]))
    limit = math.floor(gmax * case.world.unit * (1 + 1e-6))
    expected = Lrta(case.twin, case.goal, gmax=limit).run(case.start, MOVES)
    result = tb.solve(case.world, case.start, case.goal, f"lrta*:gmax={gmax}", move_limit=MOVES)
    assert points(result.path) == expected.trail
    assert result.expansions_per_move.tolist() == expected.looked
    # The integer costs stand for the user's: a straight step over cost 1 is within gmax=1.
    step = next((s for p in case.twin.points() for s in case.twin.successors(p)), None)
    if step is not None:
        assert step.cost == pytest.approx(step.length * case.world.unit, rel=1e-3, abs=2)


def test_a_cost_limit_of_one_diagonal_is_a_depth_of_one() -> None:
    """What 001 runs: gmax the cost of the dearest step."""
    world = tb.Grid(tb.generate.caves((40, 40), seed=2))
    for problem in tb.problems(world, 3, seed=1):
        one, other = (tb.solve(world, problem.start, problem.goal, spec) for spec in ("lrta*", "lrta*:gmax=1.41421356"))
        assert points(one.path) == points(other.path)
        assert other.expansions_per_move.max() == 1


@given(case=grids(side=6))
@SOME
def test_ribs_on_grids(case: Case) -> None:
    check_ribs(case)


@given(case=st.one_of(graph_cases(), puzzle_cases(rows=2, cols=3, moves=12)))
@SOME
def test_ribs_elsewhere(case: Case) -> None:
    assume(case.world.undirected)
    check_ribs(case)


def check_ribs(case: Case) -> None:
    moves = 20_000 if COMPILED else 400
    expected = ribs(case.twin, case.start, case.goal, moves)
    agent = tb.agent("ribs", case.world, case.start, case.goal, move_limit=moves).run()
    result = agent.result()
    assert result.status == expected.status
    assert points(result.path) == expected.trail
    assert result.expansions == expected.looked
    assert result.back_moves == expected.back_moves
    assert result.memory_states == len(expected.known)
    table, scale = agent._planner.state.table, getattr(case.twin, "scale", case.world.unit) / case.world.unit
    for slot in range(table.stamp[1]):
        known = expected.known[case.world.point_of(int(table.states[slot]))]
        assert table.words[slot] * scale == pytest.approx(
            known.g, rel=0, abs=0 if scale == 1 else scale * case.world.states
        )
        assert bool(agent._planner.state.marks[slot] & (1 << 60)) == known.dead
        assert bool(agent._planner.state.marks[slot] & (1 << 61)) == known.redundant
    # The theorem: the optimal cost is known on arrival, and that of every state on the first visit.
    reference = tb.solve(case.world, case.start, case.goal, "dijkstra")
    assert reference.status == result.status or result.status == "move-limit"
    truth = distances(case.twin, case.start)
    assert expected.first_g == {state: truth[state] for state in expected.first_g}


def distances(twin: Any, start: Any) -> dict[Any, int]:
    """True integer distances from ``start``, by relaxing until nothing changes."""
    found = {start: 0}
    todo = [start]
    while todo:
        u = todo.pop(0)
        for step in twin.successors(u):
            if found[u] + step.cost < found.get(step.target, math.inf):
                found[step.target] = found[u] + step.cost
                todo.append(step.target)
    return found


# --- theorems ------------------------------------------------------------------------------------------------------


def distances_to(twin: Any, states: set[Any], goal: Any) -> dict[Any, float]:
    """True integer distances to the goal, for the given states, along arcs as they lead."""
    found = dict.fromkeys(states, math.inf) | {goal: 0}
    changed = True
    while changed:
        changed = False
        for u in states:
            for step in twin.successors(u):
                if step.target in found and step.cost + found[step.target] < found[u]:
                    found[u] = step.cost + found[step.target]
                    changed = True
    return found


@pytest.mark.parametrize("spec", [spec for spec in TWINS if "weight" not in spec and "gamma" not in spec])
@given(case=st.one_of(grids(side=6), graph_cases()), k=BUDGETS)
@FEW
def test_values_never_fall_and_never_exceed_the_truth(case: Case, k: int | None, spec: str) -> None:
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=budget_of(spec, k), move_limit=300)
    truth = distances_to(case.twin, reachable(case.twin, case.start), case.goal)
    scale = getattr(case.twin, "scale", case.world.unit) / case.world.unit
    slack = 0 if scale == 1 else 1e-4
    before: dict[Any, int] = {}
    while not agent.done:
        agent.step()
        now = learned_of(case.world, agent)
        assert all(now[state] >= value for state, value in before.items())
        for state, value in now.items():
            assert value * scale <= truth[state] * ONE * (1 + slack)
        before = now


@pytest.mark.parametrize("spec", [spec for spec in TWINS if "weight" in spec])
@given(case=grids(side=6), k=BUDGETS)
@FEW
def test_weighted_values_stay_below_the_weighted_truth(case: Case, k: int | None, spec: str) -> None:
    weight = float(spec.split("weight=")[1])
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=k, move_limit=300).run()
    truth = distances_to(case.twin, reachable(case.twin, case.start), case.goal)
    for state, value in learned_of(case.world, agent).items():
        assert value <= weight * truth[state] * ONE


@pytest.mark.parametrize("spec", TWINS)
@given(case=st.one_of(grids(), graph_cases()), k=BUDGETS)
@FEW
def test_reaches_the_goal_or_proves_that_it_cannot(case: Case, k: int | None, spec: str) -> None:
    assume(case.world.undirected)
    # 42 cells of terrain took 219,983 moves with gamma = 0.4 until it was proved that there is no way.
    result = tb.solve(case.world, case.start, case.goal, spec, budget=budget_of(spec, k), move_limit=2_000_000)
    wanted = "reached" if case.goal in reachable(case.twin, case.start) else "unreachable"
    assert result.status == wanted
    tb.validate(case.world, result.path)


@pytest.mark.parametrize("spec", ["lrta*", "lrta*:depth=3", "lrta*:gmax=3", "p-lrta*:queue=4", "k-lrta*", "rtaa*"])
@given(case=st.one_of(grids(side=6), graph_cases()))
@FEW
def test_trials_converge_to_an_optimal_path(case: Case, spec: str) -> None:
    assume(case.world.undirected and case.goal in reachable(case.twin, case.start))
    k = budget_of(spec, 3) if spec in ("k-lrta*", "rtaa*") else None
    result = tb.converge(case.world, case.start, case.goal, spec, budget=k)
    assert result.converged
    assert result.trials == len(result.costs) == len(result.moves)
    assert result.total_cost == pytest.approx(sum(result.costs))
    optimal = tb.solve(case.world, case.start, case.goal, "dijkstra").cost
    assert result.costs[-1] == pytest.approx(optimal, rel=1e-3)
    assert result.costs.min() >= optimal * (1 - 1e-9)


@pytest.mark.parametrize(("spec", "most"), [("lrta*", 1), ("lrta*:depth=2", 9), ("lrta*:depth=4", 49)])
def test_a_lookahead_of_d_steps_expands_a_square(spec: str, most: int) -> None:
    world = tb.Grid(np.ones((20, 20)))
    result = tb.solve(world, (2, 9), (18, 9), spec, budget=most)
    assert result.status == "reached"
    assert result.expansions_per_move.max() == most
    if most > 1:
        with pytest.raises(tb.SpecError, match=rf"can take {most} expansions per move here, the budget is {most - 1}"):
            tb.agent(spec, world, (2, 9), (18, 9), budget=most - 1)


def test_what_a_lookahead_can_need() -> None:
    four = tb.Grid(np.ones((20, 20)), connectivity=4)
    assert tb.solve(four, (2, 9), (18, 9), "lrta*:depth=3", budget=13).expansions_per_move.max() == 13
    with pytest.raises(tb.SpecError, match="13 expansions"):
        tb.agent("lrta*:depth=3", four, (2, 9), (18, 9), budget=12)
    with pytest.raises(tb.SpecError, match="gmax=5 can take 81 expansions"):
        tb.agent("lrta*:gmax=5", tb.Grid(np.ones((20, 20))), (2, 9), (18, 9), budget=80)
    with pytest.raises(tb.SpecError, match=r"lrta\*: give a depth \(2\) or a cost limit gmax \(3\), not both"):
        tb.agent("lrta*:depth=2,gmax=3", four, (2, 9), (18, 9))
    ring = np.arange(9)
    graph = tb.Graph(ring, (ring + 1) % 9, directed=False)
    assert tb.agent("lrta*:depth=900", graph, 0, 4, budget=9).run().status == "reached"
    with pytest.raises(tb.SpecError, match="5 expansions"):
        tb.agent("lrta*:depth=3", graph, 0, 4, budget=4)
    with pytest.raises(tb.SpecError, match="5 expansions"):
        tb.agent("lrta*:depth=2", tb.TilePuzzle(3, 3), (1, 2, 0, 3, 4, 5, 6, 7, 8), tuple(range(9)), budget=4)


def test_getting_ready_does_not_ask_for_less_than_the_lookahead_needs() -> None:
    ready(tb.Grid(np.ones((20, 20))), (2, 9), (18, 9), "lrta*:depth=4")


@pytest.mark.parametrize("spec", LOCAL)
def test_a_local_search_uses_its_budget_and_no_more(spec: str) -> None:
    side = 14 if COMPILED else 9
    world = tb.Grid(tb.generate.corner(side))
    for k in (1, 7, 30):
        result = tb.solve(world, (0, 0), (side - 1, side - 1), spec, budget=k)
        assert result.status == "reached"
        assert result.expansions_per_move.max() == k
        assert (result.expansions_per_move == 0).any() == ("frontier" in spec and k > 1)
        if "rtaa" in spec:
            assert result.learning_expansions == 0
        else:
            assert result.learning_expansions >= result.expansions_per_move.sum()


def test_no_budget_means_a_whole_search() -> None:
    world = tb.Grid(tb.generate.caves((40, 40), seed=1))
    for problem in tb.problems(world, 3, seed=4, cost=(15, 60)):
        for spec in ("k-lrta*", "k-lrta*:commit=frontier", "rtaa*:commit=frontier"):
            assert tb.solve(world, problem.start, problem.goal, spec, optimal=problem.optimal).suboptimality == (
                pytest.approx(1)
            )


@pytest.mark.parametrize("spec", ["k-lrta*", "rtaa*"])
def test_an_episodes_commitment_walks_so_many_moves_of_a_plan(spec: str) -> None:
    world = tb.Grid(np.ones((20, 20)))
    result = tb.solve(world, (2, 9), (18, 9), spec, budget=30, commit=3)
    spent = result.expansions_per_move
    assert (spent[0::3] > 0).all()
    assert not spent[1::3].any()
    assert not spent[2::3].any()


@pytest.mark.parametrize("spec", [*MEMBERS, "ribs"])
@pytest.mark.parametrize("budget", ["1us", "1ms"])
def test_budgets_in_time(spec: str, budget: str) -> None:
    world = tb.Grid(tb.generate.caves((30, 30), seed=3))
    problem = next(tb.problems(world, 1, seed=2, cost=(15, 40)))
    result = tb.solve(world, problem.start, problem.goal, spec, budget=budget, move_limit=100_000)
    assert result.status == "reached"


def test_a_short_time_cuts_the_lookahead() -> None:
    world = tb.Grid(np.ones((60, 60)))
    for spec in ("lrta*:depth=30", "k-lrta*", "lrta*:gmax=40"):
        short = tb.agent(spec, world, (0, 0), (59, 40), budget="0.001us").run(3).result()
        assert 0 < short.expansions_per_move.max() <= 32


# --- trials --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*TWINS, "ribs", "a*", "tba*"])
def test_a_restart_keeps_what_was_learned_and_nothing_else(spec: str) -> None:
    world = tb.Grid(tb.generate.corner(9))
    agent = tb.agent(spec, world, (0, 0), (8, 8), budget=budget_of(spec, 5))
    first = agent.run().result()
    values = learned_of(world, agent) if spec in TWINS else {}
    second = agent.restart()
    assert (second.position, second.moves, second.ticks, second.cost, second.status) == ((0, 0), 0, 0, 0.0, "active")
    result = second.run().result()
    assert points(result.path)[0] == (0, 0)
    tb.validate(world, result.path, goal=(8, 8))
    assert len(result.expansions_per_move) == result.moves + result.waits
    assert result.expansions_per_move.sum() == result.expansions - result.learning_expansions
    if spec in TWINS:
        assert all(learned_of(world, agent)[state] >= value for state, value in values.items())
        assert result.cost < first.cost
    else:
        assert points(result.path) == points(first.path)
        assert result.expansions == first.expansions


def test_a_restart_half_way() -> None:
    world = tb.Grid(tb.generate.corner(12))
    for spec in ("k-lrta*:commit=frontier", "lrta*", "ribs", "a*"):
        agent = tb.agent(spec, world, (0, 0), (11, 11), budget=8)
        agent.run(5)
        agent.restart()
        assert agent.position == (0, 0)
        assert agent.run().status == "reached"


def test_convergence_in_numbers() -> None:
    world = tb.Grid(tb.generate.corner(9))
    result = tb.converge(world, (0, 0), (8, 8), "lrta*")
    assert result.converged
    assert result.costs[0] > result.costs[-1]
    assert result.total_cost == pytest.approx(result.costs.sum())
    assert points(result.path)[-1] == (8, 8)
    assert not tb.converge(world, (0, 0), (8, 8), "lrta*", trials=2).converged
    assert tb.converge(world, (0, 0), (8, 8), "a*").trials == 1
    stopped = tb.converge(world, (0, 0), (8, 8), "lrta*", move_limit=3)
    assert (stopped.converged, stopped.trials) == (False, 1)
    with pytest.raises(tb.SpecError, match="trials must be a whole number"):
        tb.converge(world, (0, 0), (8, 8), trials=0)


# --- edits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*MEMBERS, "k-lrta*:commit=frontier,avoid=true", "ribs"])
@given(case=st.one_of(grid_cases(kind="plain"), grid_cases(kind="near")), seed=st.integers(0, 2**32 - 1))
@FEW
def test_edits_on_the_way(case: Case, seed: int, spec: str) -> None:
    """Cells open, shut, become cheaper and dearer: moves stay legal, values true, the goal is found if it can be."""
    random = np.random.default_rng(seed)
    world = case.world
    agent = tb.agent(spec, world, case.start, case.goal, budget=budget_of(spec, 5), move_limit=3000)
    for _ in range(8):
        agent.run(int(random.integers(1, 8)))
        if agent.status in ("reached", "move-limit"):
            return
        cells = [tuple(int(k) for k in p) for p in np.argwhere(random.random(world.shape) < 0.15)]
        cells = [cell for cell in cells if cell not in (agent.position, case.goal)]
        world.block(cells[::2])
        world.unblock(cells[1::2])
        if not isinstance(case.twin, NaiveGrid) or case.twin.terrain:
            world.set_cost(cells, random.choice([0.5, 1.0, 3.0, 9.0], len(cells)))
    fresh = tb.Grid(np.where(np.isfinite(world.costs), world.costs, 0), **world.rules)
    agent.run()
    reference = tb.solve(fresh, agent.position, case.goal) if agent.status != "reached" else None
    assert agent.status in ("reached", "move-limit") or reference.status == "unreachable"
    if agent.status == "unreachable":
        return
    if spec != "ribs":
        for state, value in learned_of(world, agent).items():
            truth = tb.solve(world, state, case.goal, "dijkstra") if world.free[state] else None
            if truth is not None and truth.status == "reached":
                assert value <= truth.cost * world.unit * ONE * (1 + 1e-3)


def test_dearer_arcs_leave_values_alone_and_cheaper_ones_do_not() -> None:
    world = tb.Grid(tb.generate.corner(12))
    agent = tb.agent("lrta*", world, (0, 0), (11, 11)).run(60)
    values = learned_of(world, agent)
    assert len(values) > 10
    world.block((11, 0))
    agent.step()
    assert learned_of(world, agent).keys() >= values.keys()
    assert agent.result().restarts == 0
    world.unblock((11, 0))
    agent.step()
    assert len(learned_of(world, agent)) <= 1
    assert agent.result().restarts == 1
    assert agent.run().status == "reached"


def test_a_new_wall_across_the_plan() -> None:
    world = tb.Grid(np.ones((3, 30)))
    agent = tb.agent("k-lrta*:commit=frontier", world, (1, 0), (1, 29), budget=40)
    agent.run(2)
    world.block([(0, 6), (1, 6)])
    assert agent.run().status == "reached"


def test_a_walled_in_agent_finds_out() -> None:
    """And goes on when the wall falls."""
    rows, cols, wall = (7, 30, 9) if COMPILED else (3, 9, 5)
    world = tb.Grid(np.ones((rows, cols)))
    for spec in MEMBERS:
        world.unblock([(r, wall) for r in range(rows)])
        agent = tb.agent(spec, world, (1, 0), (1, cols - 1), budget=budget_of(spec, 5))
        agent.run(3)
        world.block([(r, wall) for r in range(rows)])
        assert agent.run().status == "unreachable"
        assert agent.moves < 20_000
        world.unblock((0, wall))
        assert agent.status == "active"
        assert agent.run().status == "reached"


def test_dearer_graph_arcs_do_not_fool_the_proof() -> None:
    """The proof counts steps by the dearest one seen; an arc that becomes dearer later must count too."""
    world = tb.Graph([0, 1, 2, 3], [1, 2, 3, 4], [1.0, 1.0, 1.0, 1.0], directed=False)
    for spec in ("lrta*", "k-lrta*", "p-lrta*", "rtaa*", "lrta*:depth=2"):
        agent = tb.agent(spec, world, 0, 4, budget=budget_of(spec, 1) if spec in TWINS else None)
        agent.run(2)
        world.set_cost(2, 3, 100.0)
        assert agent.run().status == "reached"
        world.set_cost(2, 3, 1.0)


# --- the table -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0, 4])
def test_the_table_of_values(bits: int) -> None:
    """Against a dictionary, with states from all over, while it grows."""
    random = np.random.default_rng(1)
    values, twin = new_values(bits, 4), {}
    for k in range(400):
        scattered = bits == 0 and k % 2
        s = int(random.integers(-(2**63), 2**63 - 1) if scattered else random.integers(3000))
        if lacks_room(values, 1):
            values = enlarged(values)
        h = twin.get(s, 0) + int(random.integers(1, 50))
        learn(values, s, h)
        twin[s] = h
    assert values_as_dict(values) == twin
    assert values.used[1] == len(twin)
    assert values.used[2] == 400
    assert all(learned(values, s) == h for s, h in twin.items())
    assert learned(values, 123_456_789) == 0


def test_memory_follows_what_was_learned() -> None:
    """The same problem in a corner of a larger map takes the same memory, and no array of the map's size."""
    sizes = []
    small, large, corner, cost = (60, 600, 50, (20, 60)) if COMPILED else (30, 120, 20, (8, 25))
    for side in (small, large):
        cells = np.zeros((side, side), bool)
        cells[:corner, :corner] = tb.generate.caves((corner, corner), seed=4)
        world = tb.Grid(cells)
        problem = next(tb.problems(tb.Grid(cells[:corner, :corner]), 1, seed=2, cost=cost))
        for spec in ("lrta*", "k-lrta*", "p-lrta*", "ribs", "lrta*:depth=3"):
            agent = tb.agent(spec, world, problem.start, problem.goal, budget=None if "k-" not in spec else 10).run()
            sizes.append((agent.result().memory_states, agent.result().memory_bytes // 1024))
        assert world.spare == [], "nobody borrowed arrays as large as the map"
    half = len(sizes) // 2
    assert [states for states, _ in sizes[:half]] == [states for states, _ in sizes[half:]]
    assert Workspace.of(world).table.words.nbytes > 100 * 1024


def test_many_agents_take_turns() -> None:
    world = tb.Grid(tb.generate.random_obstacles((14, 14), 0.2, seed=4))
    tasks = list(tb.problems(world, 4, seed=2))
    for spec in (*MEMBERS, "ribs"):
        k = budget_of(spec, 5)
        alone = [tb.solve(world, p.start, p.goal, spec, budget=k) for p in tasks]
        agents = [tb.agent(spec, world, p.start, p.goal, budget=k) for p in tasks]
        while not all(agent.done for agent in agents):
            for agent in agents:
                agent.step()
        for agent, result in zip(agents, alone, strict=True):
            assert points(agent.result().path) == points(result.path)


def test_one_way_traps_are_not_a_proof_about_the_start() -> None:
    """An agent that walks into a one-way street without an end says that there is no way from there."""
    world = tb.Graph([0, 1, 0, 2], [1, 3, 2, 4], [1.0, 1.0, 5.0, 1.0], directed=True)
    for spec, status in (("lrta*", "unreachable"), ("k-lrta*", "unreachable"), ("lrta*:depth=3", "reached")):
        assert tb.solve(world, 0, 4, spec, budget=1 if spec == "k-lrta*" else None).status == status


@pytest.mark.parametrize("corners", ["one", "always"])
def test_ribs_after_a_limit_that_admits_nothing(corners: str) -> None:
    """The limit is that of the corner by the dear diagonal, which has been reached more cheaply since: no proof."""
    world = tb.Grid([[5.5, 70.0], [5.5, 5.5]], corners=corners, diagonal=2.5)
    result = tb.solve(world, (1, 1), (0, 1), "ribs", move_limit=100)
    assert result.status == "reached"
    assert result.cost == pytest.approx(2 * 5.5 + 2 * 5.5 + 37.75)  # to the corner and back, then the dear step


def test_ribs_refuses_what_it_cannot_do() -> None:
    star = tb.Graph(np.zeros(61, int), np.arange(1, 62), directed=False)
    with pytest.raises(tb.SpecError, match="at most 60; here are 61"):
        tb.agent("ribs", star, 0, 4)


def test_path_max_counts() -> None:
    """An estimate that says nothing near the goal: with path-max the deeper lookahead still knows what it knew."""
    heuristic = {"d": np.array([6.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    ends = np.arange(6)
    world = tb.Graph(ends, ends + 1, directed=False, heuristic=lambda goal: heuristic["d"])
    agent = tb.agent("lrta*:depth=3", world, 0, 6).run()
    assert agent.status == "reached"
    # Seen from 0, node 3 is two steps beyond node 1, whose estimate is 5: f is 6 and nothing is learned.
    assert 0 not in learned_of(world, agent)


@pytest.mark.parametrize("gamma", [0.5, 0.8])
@pytest.mark.parametrize(
    "spec", ["lrta*:depth=2", "lrta*:depth=3", "lrta*:gmax=2", "d-lrta*:depth=fixed,goal=global,cap=2"]
)
def test_a_lighter_way_teaches_no_more_than_the_truth(spec: str, gamma: float) -> None:
    """What path-max gives a state on one way must not count on another: values rose above the distance."""
    taught = 0
    for seed in range(3):
        world = tb.Grid(tb.generate.caves((9, 9), seed=seed))
        for problem in tb.problems(world, 4, seed=seed, cost=(3, 20)):
            field = tb.DistanceField(world, problem.goal)
            field.grow()
            agent = tb.agent(f"{spec},gamma={gamma}", world, problem.start, problem.goal).run()
            assert agent.status == "reached"
            for cell, value in learned_of(world, agent).items():
                assert value / ONE / world.unit <= field.distance(cell) + 1e-6
                taught += 1
    assert taught


def test_pairs_of_moves_follow_the_least_value() -> None:
    """LRTA* with one step of lookahead: from each state it goes to the neighbour with the least c + h of the time."""
    world = tb.Grid(tb.generate.corner(9))
    agent = tb.agent("lrta*", world, (0, 0), (8, 8))
    twin = NaiveGrid(tb.generate.corner(9).tolist())
    while not agent.done:
        here, values = agent.position, learned_of(world, agent)
        there = agent.step()
        sums = {s.target: s.cost * ONE + max(values.get(s.target, 0), twin.estimate(s.target, (8, 8)) * ONE)
                for s in twin.successors(here)}  # fmt: skip
        assert sums[there] == min(sums.values())
