"""D LRTA* against its naive twin; and what holds with any table, in any world, with any budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, ground
from helpers import COMPILED, Case, bounded, graph_cases, grid_cases, points
from naive.dynamic_control import DynamicControl, Patterns, chunks, patterns_of
from naive.worlds import reachable
from test_interrupts import impatient
from timebound.databases.files import frozen
from timebound.databases.kinds import rules_of
from timebound.databases.patterns import PatternDatabase
from timebound.kernels.pattern_tables import PatternTable

DEPTHS, GOALS = ("fixed", "pdb", "oracle"), ("global", "pdb")
SWITCHES = [(depth, goal) for depth in DEPTHS for goal in GOALS]
CAP = 5
SIDE = 7 if COMPILED else 6
MOVES = 500 if COMPILED else 100


def spec(depth: str, goal: str, cap: int = CAP, **more: Any) -> str:
    return f"d-lrta*:depth={depth},goal={goal},cap={cap}" + "".join(f",{name}={more[name]}" for name in more)


def database(world: Any, patterns: Patterns, goal: str = "pdb", cap: int = CAP) -> PatternDatabase:
    """A naive table as the package holds one."""
    count = max(patterns.region.values(), default=-1) + 1
    region = np.full(world.states, -1, np.int32)
    for state, number in patterns.region.items():
        region[world.place_of(state)] = number
    goals, depths = np.full(count * count, -1, np.int32), np.ones(count * count, np.uint16)
    for (here, there), state in patterns.goals.items():
        goals[there * count + here] = -1 if state is None else world.place_of(state)
        depths[there * count + here] = patterns.depths[here, there]
    table = PatternTable(region, np.array([count]), goals if goal == "pdb" else goals[:0], depths)
    made_with = {"level": 3, "cap": cap, "depth": "pdb", "goal": goal}
    return PatternDatabase(world.digest, frozen(table), made_with, rules_of(world))


def patience_of(made: PatternDatabase) -> int:
    """For how many moves a goal is kept: sixteen for each state of a region."""
    return max(1, 16 * len(made.patterns.region) // int(made.patterns.count[0]))


def undirected(case: Case) -> bool:
    return case.world.undirected


def cases(side: int = SIDE) -> st.SearchStrategy[Case]:
    """Grids, terrain and graphs that have regions."""
    kinds = [grid_cases(side=side, kind=kind) for kind in ("plain", "plain", "near", "far")]
    return st.one_of(*kinds, graph_cases(side + side).filter(undirected))


# --- the same steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "goal"), SWITCHES)
@given(
    case=cases(),
    size=st.integers(2, 12),
    cap=st.integers(1, CAP),
    gamma=st.sampled_from([1.0, 1.0, 0.5]),
    reentry=st.sampled_from(["keep", "keep", "global"]),
    wild=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60 if COMPILED else 10)
def test_every_step_is_that_of_the_naive_twin(
    case: Case, size: int, cap: int, gamma: float, reentry: str, wild: bool, seed: int, depth: str, goal: str
) -> None:
    """With tables that are right, and with tables that lead anywhere: there goals are kept, and given up."""
    patterns = patterns_of(case.twin, chunks(case.twin, size), cap, goal)
    if wild:
        random = np.random.default_rng(seed)
        states = case.twin.points()
        patterns.goals = {pair: states[int(random.integers(len(states)))] for pair in patterns.goals}
    table = database(case.world, patterns, goal, cap)
    made = PatternDatabase("another world", table.patterns, table.settings, table.rules) if wild else table
    wanted = spec(depth, goal, cap, gamma=gamma, reentry=reentry)
    found = tb.solve(case.world, case.start, case.goal, wanted, database=made, move_limit=MOVES)
    patience = patience_of(made) if reentry == "keep" else 0
    twin = DynamicControl(case.twin, case.goal, depth, goal, cap, patterns, gamma, patience=patience)
    expected = twin.run(case.start, MOVES)
    assert points(found.path) == expected.trail
    assert found.status == expected.status
    assert found.expansions_per_move.tolist() == expected.looked
    assert found.memory_states == expected.most_states


@given(case=cases(), cap=st.integers(1, CAP), gamma=st.sampled_from([1.0, 0.5]))
@settings(max_examples=60 if COMPILED else 5)
def test_fixed_and_global_is_lrta(case: Case, cap: int, gamma: float) -> None:
    """No database is needed, and none is asked for."""
    assert tb.algorithms.parse_spec(spec("fixed", "global", cap)).database is None
    ends = case.world, case.start, case.goal
    found = tb.solve(*ends, spec("fixed", "global", cap, gamma=gamma), move_limit=10 * MOVES)
    plain = tb.solve(*ends, f"lrta*:depth={cap},gamma={gamma}", move_limit=10 * MOVES)
    assert points(found.path) == points(plain.path)
    facts, others = found.to_dict(), plain.to_dict()
    for different in ("algorithm", "planning_seconds", "memory_bytes"):
        del facts[different], others[different]
    assert facts == others


def test_it_walks_far_and_its_memory_follows() -> None:
    """More states than there is room for at first: visited, learned, and learned for one intermediate goal."""
    side = 60 if COMPILED else 14
    world = tb.Grid(tb.generate.corner(side))
    region = np.where(world.free_by_state, 0, -1).astype(np.int32)
    goal = world.state_of((side - 1, side - 1))
    region[goal] = 1
    table = PatternTable(region, np.array([2]), np.array([-1, goal, -1, -1], np.int32), np.ones(4, np.uint16))
    table.goals[1 * 2 + 0] = world.state_of((side - 1, side - 2))
    made = PatternDatabase(
        world.digest, frozen(table), {"level": 3, "cap": 9, "depth": "pdb", "goal": "pdb"}, rules_of(world)
    )
    wanted = spec("pdb", "pdb", 1, reentry="global")  # a kept goal would be reached with fewer states noted
    agent = tb.agent(wanted, world, (0, 0), (side - 1, side - 1), database=made)
    small = agent.run(5).result().memory_bytes
    agent.run()
    assert agent.status == "reached"
    state = agent._planner.state  # type: ignore[attr-defined]
    walked = {tuple(point) for point in agent.result().path.tolist()}
    assert state.visited.stamp[1] == len(walked) - 1 > 64
    assert agent.result().memory_bytes > small + 36 * 64


# --- there is a way, or there is none --------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "goal"), SWITCHES)
@given(case=cases(SIDE - 1), seed=st.integers(0, 2**32 - 1), budget=st.sampled_from([1, 7, None, "1ms"]))
@settings(max_examples=60 if COMPILED else 4)
def test_no_table_misleads_it(case: Case, seed: int, budget: Any, depth: str, goal: str) -> None:
    """Whatever the table says, and of whatever world it is: the agent arrives, or finds that there is no way."""
    random = np.random.default_rng(seed)
    states = case.twin.points()
    count = int(random.integers(1, 6))
    region = {state: int(random.integers(count)) for state in states if random.random() < 0.9}
    pairs = [(here, there) for here in range(count) for there in range(count)]
    wild = Patterns(
        region | {states[0]: count - 1},
        {pair: states[int(random.integers(len(states)))] if random.random() < 0.9 else None for pair in pairs},
        {pair: int(random.integers(1, CAP + 1)) for pair in pairs},
    )
    made = database(case.world, wild, goal)
    lies = PatternDatabase("another world", made.patterns, made.settings, made.rules)
    possible = case.goal in reachable(case.twin, case.start)
    assume(not (depth == "fixed" and budget in (1, 7)))
    found = bounded(spec(depth, goal), case.world, case.start, case.goal, database=lies, budget=budget)
    assert found.status == ("reached" if possible else "unreachable")
    tb.validate(case.world, found.path)
    if isinstance(budget, int):
        assert found.expansions_per_move.max(initial=0) <= budget


def two_rooms() -> tuple[tb.Grid, PatternDatabase]:
    free = np.ones((6, 9), bool)
    free[:, 4] = False
    world = tb.Grid(free)
    return world, tb.prepare(world, None, algorithm="d-lrta*:level=2,cap=5")


def test_a_table_that_says_no_way_is_believed_in_its_own_world() -> None:
    world, made = two_rooms()
    ends = (0, 0), (5, 8)
    at_once = tb.solve(world, *ends, "d-lrta*:level=2,cap=5", database=made)
    assert (at_once.status, at_once.moves, at_once.expansions) == ("unreachable", 0, 0)
    assert tb.solve(world.copy(), *ends, "d-lrta*:level=2,cap=5", database=made).expansions == 0
    # Without intermediate goals nothing says so, and the values prove it.
    proved = tb.solve(world, *ends, "d-lrta*:cap=5,depth=fixed,goal=global", database=made)
    assert (proved.status, proved.moves > 0) == ("unreachable", True)
    # An agent made after an edit, one that sees it, and one in another world of the same size.
    agent = tb.agent("d-lrta*:level=2,cap=5", world, *ends, database=made)
    world.unblock((3, 4))
    late = tb.agent("d-lrta*:level=2,cap=5", world, *ends, database=made)
    other = tb.agent("d-lrta*:level=2,cap=5", tb.Grid(world.free), *ends, database=made)
    assert [one.run().status for one in (agent, late, other)] == ["reached"] * 3
    world.block([(3, 4), (0, 1)])
    gone = tb.solve(world, *ends, "d-lrta*:level=2,cap=5", database=made)
    assert (gone.status, gone.expansions > 0) == ("unreachable", True)


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60 if COMPILED else 4)
def test_all_problems_are_reached_with_a_real_table(case: Case, seed: int) -> None:
    try:
        made = tb.prepare(case.world, None, algorithm="d-lrta*:level=1,cap=5")
    except tb.WorldError:
        return
    found = bounded("d-lrta*:level=1,cap=5", case.world, case.start, case.goal, database=made)
    possible = case.goal in reachable(case.twin, case.start)
    assert found.status == ("reached" if possible else "unreachable")
    assert possible or found.expansions == 0


# --- re-entrance -----------------------------------------------------------------------------------------------------


def there_and_back(goal: str = "pdb") -> tuple[tb.Grid, PatternDatabase, Patterns]:
    """Appendix D: from A the table leads into B, and from B back into A, though the goal is on the other side."""
    world = tb.Grid([[1] * 9])
    region = {(0, col): 0 if col < 4 else 1 if col < 7 else 2 for col in range(9)}
    wrong = Patterns(region, {}, {})
    for here in range(3):
        for there in range(3):
            wrong.goals[here, there] = {0: (0, 5), 1: (0, 2), 2: (0, 7)}[here]
            wrong.depths[here, there] = 1
    return world, database(world, wrong, goal), wrong


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("reentry", ["keep", "global"])
def test_a_state_visited_before_is_treated_as_such(depth: str, reentry: str) -> None:
    from naive.worlds import NaiveGrid

    world, made, wrong = there_and_back()
    found = tb.solve(world, (0, 0), (0, 8), spec(depth, "pdb", reentry=reentry), database=made)
    patience = patience_of(made) if reentry == "keep" else 0
    twin = DynamicControl(NaiveGrid([[1] * 9]), (0, 8), depth, "pdb", CAP, wrong, patience=patience)
    twin.run((0, 0), 1000)
    assert twin.re_entrances > 0
    assert (twin.goals_kept > 0) == (reentry == "keep")
    assert points(found.path) == twin.walk.trail
    assert found.status == "reached"
    path = [col for _, col in points(found.path)]
    assert path[:6] == [0, 1, 2, 3, 4, 3]  # into B, back to A, and there it has been before
    if reentry == "keep":
        assert path[5:11] == [3, 4, 5, 4, 3, 2]  # to the very goal of A, and to that of B; each state gives one
    else:
        # One move towards the global goal, from 3; the same at each state that it comes back to, as deep as it may.
        assert path[6:8] != [4, 3]
        assert found.moves < 20
    assert found.expansions_per_move[5:].max() > 1
    world, made, _ = there_and_back("global")
    plain = tb.solve(world, (0, 0), (0, 8), spec(depth, "global", reentry=reentry), database=made)
    assert points(plain.path) == [(0, col) for col in range(9)]  # without intermediate goals there is no re-entrance


@pytest.mark.compiled
def test_a_kept_goal_leads_out_of_a_dead_end() -> None:
    """Two regions send the agent to each other. It learns nothing for either of their goals until it keeps one."""
    world = tb.Grid(tb.generate.rooms((48, 48), room=7, seed=11))
    made = tb.prepare(world, None, algorithm="d-lrta*:level=2,cap=3")
    kept, literal = (
        tb.solve(world, (20, 43), (35, 27), spec("pdb", "pdb", 1, level=2, reentry=how), database=made)
        for how in ("keep", "global")
    )
    assert kept.status == literal.status == "reached"
    assert 10 * kept.moves < literal.moves


# --- edits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "goal"), SWITCHES)
@given(
    case=st.one_of(*(grid_cases(side=SIDE - 1, kind=kind) for kind in ("plain", "near"))).map(ground),
    seed=st.integers(0, 2**32 - 1),
    budget=st.sampled_from([30, None]),
)
@settings(max_examples=40 if COMPILED else 4)
def test_edits_while_it_walks(case: Case, seed: int, budget: int | None, depth: str, goal: str) -> None:
    """Subgoals are walled in, walls without a region opened, arcs made cheaper: each step legal, each status true."""
    random = np.random.default_rng(seed)
    made = database(case.world, patterns_of(case.twin, chunks(case.twin, int(random.integers(1, 9))), 3, goal), goal, 3)
    agent = tb.agent(spec(depth, goal, 3), case.world, case.start, case.goal, database=made, budget=budget)
    for _ in range(12):
        before = agent.position
        after = agent.step()
        steps = [step.target for step in case.twin.successors(before)]
        assert after == before or after in steps
        if random.random() < 0.5:
            edit_ground(random, case)
    if agent.status == "reached":
        return
    possible = case.goal in reachable(case.twin, agent.position) and case.world.is_open(case.world.place_of(case.goal))
    agent.run(100_000)
    assert agent.status == ("reached" if possible or agent.position == case.goal else "unreachable")


def test_an_intermediate_goal_that_is_cut_off() -> None:
    """All that can be reached is in sight, and the intermediate goal is not: a tick is lost at each state, no more."""
    world, made, _ = there_and_back()
    region = made.patterns.region.copy()
    region[world.state_of((0, 4))] = 2
    lost = PatternDatabase(made.digest, frozen(made.patterns._replace(region=region)), made.settings, made.rules)
    other = world.copy()
    for reentry, lost_ticks in (("global", 1), ("keep", 2)):
        here = other if reentry == "keep" else world
        agent = tb.agent(spec("fixed", "pdb", 9, reentry=reentry), here, (0, 6), (0, 4), database=lost)
        here.block((0, 3))
        result = agent.run().result()
        assert (result.status, result.moves, result.waits) == ("reached", 2, 2 * lost_ticks)
        assert result.expansions_per_move.tolist() == [*[5] * lost_ticks, 4, *[5] * lost_ticks, 4]


@pytest.mark.compiled
def test_a_goal_that_was_kept_in_vain_is_given_up() -> None:
    """A door was closed: the goal behind it is kept for so many moves, once; then no state is sent there for long."""
    side = 12
    free = np.ones((side, side), bool)
    free[:, 6] = False
    free[[0, side - 1], 6] = True
    world = tb.Grid(free)
    made = tb.prepare(world, None, algorithm="d-lrta*:level=1,cap=3")
    spec_of = "d-lrta*:level=1,cap=3,reentry={}".format
    walks = []
    for how in ("keep", "global"):
        edited = world.copy()
        agent = tb.agent(spec_of(how), edited, (1, 0), (1, side - 1), database=made)
        edited.block((0, 6))
        result = agent.run(100_000).result()
        assert result.status == "reached"
        tb.validate(edited, result.path)
        walks.append(result.moves)
    patience = patience_of(made)
    assert walks[0] <= walks[1] + 6 * patience


# --- budgets, pauses, trials -----------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("budget", "cap"), [(1, 1), (8, 1), (9, 2), (48, 3), (49, 4), (1000, 5)])
def test_a_budget_in_expansions_lowers_the_cap(budget: int, cap: int, goal: str) -> None:
    free = tb.generate.rooms((16, 16), room=5, seed=1)
    world = tb.Grid(free)
    made = tb.prepare(world, None, algorithm=f"d-lrta*:level=2,cap=5,goal={goal}")
    for problem in tb.problems(world, 3, seed=2):
        ends = problem.start, problem.goal
        found = tb.solve(world, *ends, spec("pdb", goal, 5, level=2), database=made, budget=budget)
        lower = tb.solve(world, *ends, spec("pdb", goal, cap, level=2), database=made)
        assert points(found.path) == points(lower.path)
        assert found.expansions == lower.expansions
        assert found.status == "reached"
        assert found.expansions_per_move.max() <= budget
        with pytest.raises(tb.SpecError, match="cap=6 can take 121 expansions per move here, the budget is"):
            tb.solve(world, *ends, spec("fixed", goal, 6, level=2), database=made, budget=min(budget, 120))


@pytest.mark.compiled
@pytest.mark.parametrize(("depth", "goal"), SWITCHES)
@pytest.mark.parametrize("stride", [1, 3])
def test_pauses_change_nothing(depth: str, goal: str, stride: int) -> None:
    world = tb.Grid(tb.generate.rooms((12, 12), room=4, seed=3))
    made = tb.prepare(world, None, algorithm=f"d-lrta*:level=2,cap=4,goal={goal}")
    (problem,) = tb.problems(world, 1, seed=3)
    walks = []
    for pause in (False, True):
        agent = tb.agent(spec(depth, goal, 4, level=2), world, problem.start, problem.goal, database=made)
        result = (impatient(agent, stride) if pause else agent).run().result()
        walks.append((points(result.path), result.expansions_per_move.tolist(), result.memory_states))
    assert walks[0] == walks[1]


@pytest.mark.compiled
@pytest.mark.parametrize(("depth", "goal"), SWITCHES)
def test_trials_come_to_an_end(depth: str, goal: str) -> None:
    world = tb.Grid(tb.generate.rooms((16, 16), room=5, seed=1))
    made = tb.prepare(world, None, algorithm=f"d-lrta*:level=2,cap=3,goal={goal}")
    for problem in tb.problems(world, 2, seed=5):
        many = tb.converge(world, problem.start, problem.goal, spec(depth, goal, 3, level=2), database=made)
        once = tb.solve(world, problem.start, problem.goal, spec(depth, goal, 3, level=2), database=made)
        assert many.converged
        assert many.costs[0] == once.cost
        assert goal == "pdb" or many.costs[-1] == pytest.approx(problem.optimal)


# --- what it says ----------------------------------------------------------------------------------------------------


def test_it_says_what_it_needs() -> None:
    world = tb.Grid(np.ones((8, 8)))
    made = tb.prepare(world, None, algorithm="d-lrta*:level=2,cap=5")
    deep = tb.prepare(world, None, algorithm="d-lrta*:level=2,cap=5,goal=global")
    goals = tb.prepare(world, None, algorithm="d-lrta*:level=2,depth=fixed")
    for wanted, one, words in (
        ("level=2,cap=5", None, "needs a database"),
        ("level=3,cap=5", made, "regions of level 2, so say level=2"),
        ("level=2,cap=6", made, "depths up to 5, so cap is at most that, not 6"),
        ("level=2,cap=5", deep, "goal=global, and has no intermediate goals"),
        ("level=2,cap=5", goals, "without depth=pdb, and has no depths"),
        ("level=2,cap=5,goal=global", made, "goal=pdb, and its depths are for intermediate goals"),
        ("level=2", tb.SubgoalDatabase.empty(world), "needs a pattern database"),
    ):
        with pytest.raises(tb.SpecError, match=words):
            tb.agent(f"d-lrta*:{wanted}", world, (0, 0), (7, 7), database=one)
    for enough, one in (
        ("level=2,cap=4", made),  # a lower cap than that of the table
        ("level=2,depth=fixed,cap=9", goals),
        ("level=2,depth=fixed,cap=9", made),
        ("level=2,cap=5,goal=global", deep),
        ("depth=oracle,goal=global", None),
    ):
        assert tb.solve(world, (0, 0), (7, 7), f"d-lrta*:{enough}", database=one).status == "reached"


def test_worlds_without_regions_are_refused() -> None:
    for world, words in (
        (tb.TilePuzzle(2, 2), "grids and graphs"),
        (tb.Graph([0, 1], [1, 2]), "one-way"),
        (tb.Graph([0, 1], [1, 2], directed=False, heuristic={2: [2, 1, 0]}), "each for one goal"),
    ):
        with pytest.raises(tb.SpecError, match=rf"d-lrta\*: .*{words}"):
            tb.agent("d-lrta*", world, *((0, 2) if "grids" not in words else ((1, 0, 2, 3), (0, 1, 2, 3))))
