"""PRA* and PR LRTA* against their naive twins; corridors; budgets, edits, and databases that mislead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, graph_cases, grid_cases, points
from naive.best_first import best_first
from naive.path_refinement import Hierarchy, Patterns, PrLrta, Within, pra_star
from naive.worlds import NaiveGrid, Step, reachable
from timebound.databases.files import frozen
from timebound.databases.kinds import rules_of
from timebound.databases.patterns import LevelPatternDatabase
from timebound.kernels.best_first import advance, begin, cost_so_far, new_search
from timebound.kernels.corridor import Corridor
from timebound.kernels.heuristic_values import values_as_dict
from timebound.kernels.jit import kernel
from timebound.kernels.layout import COUNTS, FOUND
from timebound.kernels.pattern_tables import PatternTable
from timebound.kernels.ticks import Tick, new_clock
from timebound.kernels.views import cost_between, degree, edits, length, successor, waiting
from timebound.kernels.workspace import Workspace, new_record
from timebound.worlds.abstraction import Abstraction


class Level:
    """A graph of regions as a textbook has it."""

    shift = 0

    def __init__(self, view: Any) -> None:
        self.view = view

    def successors(self, node: int) -> list[Step]:
        row = range(int(self.view.first[node]), int(self.view.first[node + 1]))
        arcs = [k for k in row if self.view.cost[k] >= 0]
        return [Step(int(self.view.head[k]), int(self.view.cost[k]), float(self.view.length[k])) for k in arcs]

    def estimate(self, node: int, goal: int) -> int:
        apart = self.view.position[node] - self.view.position[goal] if self.view.kind else np.zeros(3)
        return int(self.view.ratio * np.sqrt((apart**2).sum()))


def hierarchy_of(case: Case) -> Hierarchy:
    """The levels of a world, as dictionaries; its own tests are elsewhere."""
    abstraction, world = Abstraction.of(case.world), case.world
    worlds, parents, middles = [case.twin], [], [{}]
    name = world.point_of
    for level in range(abstraction.height):
        above = abstraction.parents(level)
        inside = np.flatnonzero(above >= 0).tolist()
        parents.append({name(node) if level == 0 else node: int(above[node]) for node in inside})
        worlds.append(Level(abstraction.world(level + 1).view))
        found = abstraction.representatives(level + 1).tolist()
        middles.append({region: world.point_of(state) for region, state in enumerate(found) if state >= 0})
    return Hierarchy(worlds, parents, middles)


def cases(side: int = 9) -> st.SearchStrategy[Case]:
    """Worlds that have regions."""
    return st.one_of(
        *(grid_cases(side=side, kind=kind) for kind in ("plain", "plain", "near", "far")),
        graph_cases().filter(lambda case: case.world.undirected),
    )


# --- PRA* ------------------------------------------------------------------------------------------------------------


def check_pra(case: Case) -> None:
    expected = pra_star(hierarchy_of(case), case.start, case.goal)
    result = tb.solve(case.world, case.start, case.goal, "pra*")
    assert (result.expansions, result.memory_states) == (expected.expansions, expected.states)
    if expected.path is None:
        assert case.goal not in reachable(case.twin, case.start)
        assert result.status == "unreachable"
    else:
        assert points(result.path) == expected.path


@given(case=cases())
def test_pra_is_its_twin(case: Case) -> None:
    check_pra(case)


@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_pra_is_its_twin_on_larger_maps(kind: str) -> None:
    """Where start and goal meet high up, so that several levels are searched."""
    free = tb.generate.GENERATORS[kind]((32, 32) if COMPILED else (18, 18), seed=3)
    world = tb.Grid(free)
    for problem in tb.problems(world, 2, seed=1):
        check_pra(Case(world, NaiveGrid(free.tolist()), problem.start, problem.goal))


@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
def test_pra_is_nearly_optimal(kind: str) -> None:
    """In the corridor of the path above there is a path that is not much longer than the shortest."""
    side = 40 if COMPILED else 16
    ratios = []
    for seed in range(10 if COMPILED else 2):
        world = tb.Grid(tb.generate.GENERATORS[kind]((side, side), seed=seed))
        for problem in tb.problems(world, 5 if COMPILED else 2, seed=seed):
            result = tb.solve(world, problem.start, problem.goal, "pra*", optimal=problem.optimal)
            assert tb.validate(world, result.path).cost == result.cost
            ratios.append(result.suboptimality)
    assert min(ratios) >= 1 - 1e-9
    assert max(ratios) < 2  # 1.51 in rooms, where a door is missed
    assert np.mean(ratios) < 1.05


@given(case=cases(), budget=st.sampled_from([1, 2, 7, "1us"]))
def test_a_budget_does_not_change_the_path_of_pra(case: Case, budget: Any) -> None:
    free = tb.solve(case.world, case.start, case.goal, "pra*")
    result = tb.solve(case.world, case.start, case.goal, "pra*", budget=budget)
    assert (points(result.path), result.expansions) == (points(free.path), free.expansions)


def test_pra_searches_high_up_first() -> None:
    """On an open field the corridor holds a small part of the states; on small ones there is nothing to climb to."""
    side = 200 if COMPILED else 32
    world = tb.Grid(np.ones((side, side)))
    problem = (0, 0), (side - 1, side // 2)
    levels = []
    agent = tb.agent("pra*", world, *problem)
    planner: Any = agent._planner
    take = planner._take
    planner._take = lambda level, *rest, **more: (levels.append(level), take(level, *rest, **more))
    result = agent.run().result("compute")
    assert levels == list(range(levels[0], -1, -1))
    assert len(levels) > 2
    assert result.suboptimality < 1.1
    assert result.expansions < tb.solve(world, *problem, "dijkstra").expansions / 4


# --- PR LRTA* --------------------------------------------------------------------------------------------------------

SPEC = "pr-lrta*:level={},cap={},gamma={}"
CONTROL = (st.integers(1, 4), st.sampled_from([1, 2, 3, 6]), st.sampled_from([1.0, 0.5, 0.25]))


@given(case=cases(), level=CONTROL[0], cap=CONTROL[1], gamma=CONTROL[2])
def test_pr_lrta_is_its_twin(case: Case, level: int, cap: int, gamma: float) -> None:
    """The same steps, expansions and learned values."""
    twin = PrLrta(hierarchy_of(case), case.goal, level, cap, gamma)
    expected = twin.run(case.start, 3000)
    agent = tb.agent(SPEC.format(level, cap, gamma), case.world, case.start, case.goal, move_limit=3000).run()
    result = agent.result()
    assert (result.status, points(result.path)) == (expected.status, expected.trail)
    assert expected.status != "move-limit"
    if result.status == "reached":
        assert result.expansions_per_move.tolist() == expected.looked
    assert values_as_dict(agent._planner.state.values) == twin.to_goal.walk.learned


@pytest.mark.parametrize("kind", tb.generate.GENERATORS)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_pr_lrta_is_its_twin_on_larger_maps(kind: str, level: int) -> None:
    free = tb.generate.GENERATORS[kind]((40, 40) if COMPILED else (16, 16), seed=5)
    world = tb.Grid(free)
    for problem in tb.problems(world, 3 if COMPILED else 1, seed=2):
        case = Case(world, NaiveGrid(free.tolist()), problem.start, problem.goal)
        expected = PrLrta(hierarchy_of(case), case.goal, level, 3, 1.0).run(case.start, 20_000)
        result = tb.solve(world, case.start, case.goal, SPEC.format(level, 3, 1.0), move_limit=20_000)
        assert (result.status, points(result.path)) == ("reached", expected.trail)
        assert result.expansions_per_move.tolist() == expected.looked


@given(case=cases(), level=CONTROL[0], cap=CONTROL[1], budget=st.sampled_from([1, 2, 7, "1us", "1ms"]))
def test_a_budget_does_not_change_the_walk_of_pr_lrta(case: Case, level: int, cap: int, budget: Any) -> None:
    """Neither lookahead nor A* are cut short: they go on in the next tick, and the agent waits."""
    spec = SPEC.format(level, cap, 1.0)
    free = tb.solve(case.world, case.start, case.goal, spec)
    result = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    assert (points(result.path), result.expansions) == (points(free.path), free.expansions)
    if isinstance(budget, int):
        assert result.expansions_per_move.max(initial=0) <= budget


@pytest.mark.parametrize("seed", range(6))
def test_unreachable_is_known_at_once(seed: int) -> None:
    """Regions of different parts never meet: nothing need be searched, and no step be made."""
    cells = np.random.default_rng(seed).random((9, 11)) >= 0.2
    cells[:, 5] = False
    cells[4, [0, 10]] = True
    grid = tb.Grid(cells)
    graph = grid.to_graph()
    for spec in ("pra*", *(SPEC.format(level, 2, 1.0) for level in (1, 2, 9))):
        for world in (grid, graph):
            result = tb.solve(world, (4, 0), (4, 10), spec)
            assert (result.status, result.moves, result.expansions) == ("unreachable", 0, 0)


def test_another_trial_is_no_longer() -> None:
    """What was learned of the regions stays."""
    free = np.ones((24, 24), bool)
    free[4:20, 16] = free[4, 4:17] = free[19, 4:17] = False
    found = tb.converge(tb.Grid(free), (12, 12), (12, 22), "pr-lrta*:level=2,cap=1")
    assert found.converged
    assert found.costs[-1] <= found.costs[0]
    assert found.trials > 1


def test_what_has_no_regions_is_refused() -> None:
    one_way = tb.Graph([0, 1, 2], [1, 2, 0])
    for name in ("pra*", "pr-lrta*"):
        for world, ends in ((one_way, (0, 2)), (tb.TilePuzzle(2, 2), ((1, 0, 2, 3), (0, 1, 2, 3)))):
            with pytest.raises(tb.SpecError, match="regions"):
                tb.agent(name, world, *ends)
    with pytest.raises(tb.SpecError, match="above is a level from 3"):
        tb.agent("pr-lrta*:level=3,above=2", tb.Grid(np.ones((4, 4))), (0, 0), (3, 3))


# --- PR LRTA* with a database ----------------------------------------------------------------------------------------

SWITCHES = st.sampled_from([("pdb", "global"), ("fixed", "pdb"), ("pdb", "pdb")])


def twin_table(database: LevelPatternDatabase, depth: str, goal: str) -> Patterns:
    patterns, n = database.patterns, len(database)
    pairs = [(b, a) for b in range(n) for a in range(n)]
    return Patterns(
        dict(enumerate(patterns.region.tolist())),
        dict(zip(pairs, patterns.goals.tolist(), strict=True)) if goal == "pdb" else None,
        dict(zip(pairs, patterns.depths.tolist(), strict=True)) if depth == "pdb" else None,
    )


def check_informed(case: Case, database: LevelPatternDatabase, level: int, above: int, cap: int, by: Any) -> None:
    twin = PrLrta(hierarchy_of(case), case.goal, level, cap, 1.0, twin_table(database, *by))
    expected = twin.run(case.start, 3000)
    spec = f"pr-lrta*:level={level},above={above},cap={cap},depth={by[0]},goal={by[1]}"
    result = tb.solve(case.world, case.start, case.goal, spec, database=database, move_limit=3000)
    assert (result.status, points(result.path)) == (expected.status, expected.trail)
    assert expected.status != "move-limit"
    if result.status == "reached":
        assert result.expansions_per_move.tolist() == expected.looked


@given(case=cases(side=8), level=st.integers(1, 3), more=st.integers(0, 2), cap=st.sampled_from([1, 2, 4]), by=SWITCHES)
def test_what_a_database_says_is_done(case: Case, level: int, more: int, cap: int, by: Any) -> None:
    """The same steps and expansions as the twin, with one abstraction and with two."""
    above = level + more if more else 0
    if max(level, above) > Abstraction.of(case.world).height:
        return  # there is no database
    spec = f"pr-lrta*:level={level},above={above},cap={cap},depth={by[0]},goal={by[1]}"
    check_informed(case, tb.prepare(case.world, None, algorithm=spec), level, above, cap, by)


@given(case=cases(side=7), seed=st.integers(0, 2**32 - 1), by=SWITCHES)
def test_a_database_that_misleads_leads_nobody_in_circles(case: Case, seed: int, by: Any) -> None:
    """Whatever it holds, the agent arrives: from each region it follows the database at most once."""
    random, abstraction, level = np.random.default_rng(seed), Abstraction.of(case.world), 1
    if abstraction.height < level:
        return
    n = abstraction.world(level).states
    table = PatternTable(
        np.arange(n, dtype=np.int32),
        np.array([n]),
        random.integers(-1, n, n * n if by[1] == "pdb" else 0).astype(np.int32),
        random.integers(1, 4, n * n if by[0] == "pdb" else 0).astype(np.uint16),
    )
    made = {"level": level, "above": 0, "cap": 3, "depth": by[0], "goal": by[1]}
    database = LevelPatternDatabase(case.world.digest, frozen(table), made, rules_of(case.world))
    check_informed(case, database, level, 0, 3, by)


def test_a_database_for_another_level_is_refused() -> None:
    world = tb.Grid(np.ones((12, 12)))
    database = tb.prepare(world, None, algorithm="pr-lrta*:level=2,goal=pdb")
    assert tb.solve(world, (0, 0), (11, 11), "pr-lrta*:level=2,goal=pdb", database=database).status == "reached"
    for wrong in ("level=1,goal=pdb", "level=2,above=3,goal=pdb", "level=2,depth=pdb"):
        with pytest.raises(tb.SpecError, match="this database was made with level=2,above=0,"):
            tb.agent(f"pr-lrta*:{wrong}", world, (0, 0), (11, 11), database=database)
    with pytest.raises(tb.SpecError, match="needs a database"):
        tb.agent("pr-lrta*:goal=pdb", world, (0, 0), (11, 11))


def test_a_database_of_other_regions_is_left_aside() -> None:
    """The same map with other walls has regions of other numbers: what the database says is then of no use."""
    free = np.random.default_rng(4).random((12, 12)) >= 0.1
    free[:, 11] = free[0] = True
    spec = "pr-lrta*:level=1,depth=pdb,goal=pdb"
    database = tb.prepare(tb.Grid(free), None, algorithm=spec)
    free[5, :11] = False
    world = tb.Grid(free)  # of the same size, so that the database is taken
    plain = tb.solve(world, (0, 0), (11, 11), "pr-lrta*:level=1,cap=5")
    result = tb.solve(world, (0, 0), (11, 11), spec, database=database)
    assert result.status == plain.status == "reached"
    assert points(result.path) == points(plain.path)


# --- edits -----------------------------------------------------------------------------------------------------------


@given(case=grid_cases(side=8), seed=st.integers(0, 2**32 - 1), level=CONTROL[0])
@settings(max_examples=30 if COMPILED else 6)
@pytest.mark.parametrize("name", ["pra*", "pr-lrta*:cap=2,level="])
def test_after_edits_it_ends_as_a_new_agent_would(name: str, case: Case, seed: int, level: int) -> None:
    random, world = np.random.default_rng(seed), case.world
    spec = name + (str(level) if name.endswith("=") else "")
    agent = tb.agent(spec, world, case.start, case.goal, budget=int(random.choice([1, 5, 100])))
    for _ in range(12):
        before = agent.position
        agent.step()
        if agent.position != before:
            tb.validate(world, [before, agent.position])
        mask = random.random(world.shape) < 0.15
        mask[agent.position] = mask[case.goal] = False
        (world.block if random.random() < 0.5 else world.unblock)(mask)
    assert agent.run().status == tb.solve(world, agent.position, case.goal).status


def test_walls_that_only_come_leave_what_was_learned() -> None:
    """Regions keep their numbers, and distances only grow; an arc that opens makes values obsolete."""
    free = np.ones((16, 16), bool)
    free[2:14, 10] = free[2, 4:11] = free[13, 4:11] = False
    world = tb.Grid(free)
    agent = tb.agent("pr-lrta*:level=1,cap=1", world, (8, 8), (8, 14))
    agent.run(60)
    learned = values_as_dict(agent._planner.state.values)
    assert learned
    world.block((0, 0))
    agent.step()
    assert learned.items() <= values_as_dict(agent._planner.state.values).items()
    assert agent.result().restarts == 0
    world.unblock((8, 10))
    agent.step()
    assert agent.result().restarts == 1
    assert len(values_as_dict(agent._planner.state.values)) <= 1
    assert agent.run().status == "reached"


def test_after_an_edit_the_database_still_helps() -> None:
    """Most regions keep their numbers, for agents on their way and for those that come later; not so in a new world."""
    world = tb.Grid(np.ones((16, 16)))
    spec = "pr-lrta*:level=1,above=2,depth=pdb,goal=pdb"
    database = tb.prepare(world, None, algorithm=spec)
    agents = [tb.agent(spec, world, (0, 0), (15, 15), database=database)]
    world.block((7, 7))
    agents.append(tb.agent(spec, world, (0, 0), (15, 15), database=database))
    other = tb.agent(spec, tb.Grid(world.free), (0, 0), (15, 15), database=database)
    for agent in (*agents, other):
        agent.step()
        patterns = agent._planner.state.patterns
        assert (len(patterns.region) == 0) == (agent is other)
        assert agent.run().status == "reached"


# --- corridors -------------------------------------------------------------------------------------------------------


@kernel
def search_in(world, region, marks, mark, table, queue, search, counts, start, goal, tick):
    corridor = Corridor(world, region, marks, mark, world.shift)
    begin(corridor, table, queue, search[0], counts[0], start, goal)
    return advance(corridor, table, queue, search[0], counts[0], tick)


@kernel
def cost_of(table, search):
    return cost_so_far(table, search[0], search[0].goal_slot)


@given(case=cases(), seed=st.integers(0, 2**32 - 1), real_time=st.booleans())
def test_a_star_in_a_corridor_is_a_star_among_its_states(case: Case, seed: int, real_time: bool) -> None:
    random, world = np.random.default_rng(seed), case.world
    region = random.integers(5, size=world.states).astype(np.int32)
    marks = random.choice([3, 7], 5)
    start, goal = world.state_of(case.start), world.state_of(case.goal)
    marks[region[[start, goal]]] = 7
    twin = Within(case.twin, lambda point: bool(marks[region[world.state_of(point)]] == 7))
    expected = best_first(twin, case.start, case.goal, 1, 1, True)
    workspace, search, counts = Workspace(world, real_time), new_search(goal, 1, 1, True), new_record(COUNTS)
    status = search_in(
        world.view, region, marks, 7, workspace.table, workspace.queue, search, counts, start, goal,
        Tick(1 << 40, 0, new_clock()),
    )  # fmt: skip
    assert (status == FOUND) == (expected.path is not None)
    assert int(counts["expanded"][0]) == expected.expansions
    if expected.path is not None and isinstance(world, tb.Grid):  # the twins of graphs count in other units
        assert cost_of(workspace.table, search) == expected.cost


def test_a_corridor_hides_what_is_outside_and_nothing_else() -> None:
    world = tb.Grid(np.ones((3, 3)))
    view, region = world.view, np.zeros(world.states, np.int32)
    here, there = world.state_of((1, 1)), world.state_of((0, 0))
    region[there] = 1
    corridor = Corridor(view, region, np.array([4, 3]), 4, view.shift)
    steps = [(successor(view, here, i), successor(corridor, here, i)) for i in range(degree(corridor, here))]
    assert [inner[0] for inner, outer in steps if inner != outer] == [there]
    assert all(outer[1] == -1 for inner, outer in steps if inner != outer)
    assert cost_between(corridor, here, there) == length(corridor, here, there) == -1
    assert cost_between(corridor, there, here) == cost_between(view, there, here) > 0
    assert length(corridor, there, here) == length(view, there, here)
    assert (edits(corridor), bool(waiting(corridor))) == (0, False)
