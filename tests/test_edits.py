"""Edits: an edited world is the world built anew, the log says what changed, and agents under way take notice."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, CORNERS, Case, grid_cases, points
from naive.worlds import NaiveGrid
from timebound.worlds import changes

Arc = tuple[tuple[int, int], tuple[int, int]]


def arcs(cells: np.ndarray, **rules) -> dict[Arc, float]:
    """Every legal step and its cost, by the naive grid."""
    twin = NaiveGrid(np.where(np.isfinite(cells), cells, 0).tolist(), **rules)
    return {(here, step.target): step.length for here in twin.points() for step in twin.successors(here)}


def expected_changes(before: dict[Arc, float], after: dict[Arc, float]) -> set[tuple[object, object, int]]:
    """(from, to, +1 or -1) for every step that differs; a step that is not there costs infinity."""
    found = set()
    for here, there in before.keys() | after.keys():
        old, new = (costs.get((here, there), math.inf) for costs in (before, after))
        if old != new:
            found.add((here, there, 1 if new > old else -1))
    return found


@given(data=st.data(), terrain=st.booleans())
@settings(max_examples=40 if COMPILED else 8)
def test_an_edited_grid_is_the_grid_built_anew(data: st.DataObject, terrain: bool) -> None:
    rows, cols = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 6))
    rules = {
        "connectivity": data.draw(st.sampled_from([4, 8])),
        "corners": data.draw(st.sampled_from(CORNERS)),
    }
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    cells = random.choice([0, 1, 2, 5] if terrain else [0, 1], (rows, cols)).astype(float)
    cells[0, 0] = 2 if terrain else 1
    world = tb.Grid(cells, **rules)
    given_costs = np.where(cells > 0, cells, 1.0)
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["block", "unblock", "set_cost"] if terrain else ["block", "unblock"]))
        mask = random.random((rows, cols)) < 0.3
        where = [tuple(int(k) for k in point) for point in np.argwhere(mask)]
        form = data.draw(st.sampled_from(["mask", "list", "point"]))
        if form == "point" or (kind == "set_cost" and where):
            where = [(int(random.integers(rows)), int(random.integers(cols)))]
        before, mark, stamp = world.costs, world.changes.count, world.view.edited[0]
        # Blocked cells remember their cost, so what matters is the cost of each cell and whether it is free.
        free = world.free.copy()
        argument = mask if form == "mask" and kind != "set_cost" else where[0] if len(where) == 1 else where
        touched = set(where) if argument is not mask else {tuple(p) for p in np.argwhere(mask).tolist()}
        if kind == "set_cost":
            cost = float(random.choice([1, 1.5, 3, 7]))
            changed = world.set_cost(argument, cost) if where else 0
            assert changed == sum(given_costs[p] != cost for p in touched if where) or not free[where[0]]
            for point in where:
                given_costs[point] = cost
        else:
            value = kind == "unblock"
            changed = world.block(argument) if kind == "block" else world.unblock(argument)
            assert changed == sum(bool(free[point]) != value for point in touched)
            for point in touched:
                free[point] = value
        now = np.where(free, given_costs if terrain else 1.0, np.inf)
        assert np.array_equal(world.costs, now)
        # The legal moves are exactly those of a new grid, byte by byte.
        fresh = tb.Grid(np.where(free, 1, 0), **rules)
        assert np.array_equal(world.view.moves, fresh.view.moves)
        log = world.changes.since(mark)
        expected = expected_changes(arcs(before, **rules), arcs(now, **rules))
        assert set(log) == expected
        assert len(log) == len(expected), "an arc is logged twice"
        if not changed:
            assert world.view.edited[0] == stamp
            assert log == []


@given(case=grid_cases(kind="near"), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20 if COMPILED else 10)
def test_searches_after_edits_are_searches_in_the_new_world(case: Case, seed: int) -> None:
    """Costs too, below the cheapest and above the dearest there were: the estimate must follow."""
    random = np.random.default_rng(seed)
    tb.solve(case.world, case.start, case.goal)
    mask = random.random(case.world.shape) < 0.3
    mask[case.start] = mask[case.goal] = False
    case.world.block(mask)
    some = [tuple(int(k) for k in p) for p in np.argwhere(random.random(case.world.shape) < 0.3)]
    case.world.set_cost(some, random.choice([0.25, 0.5, 20.0], len(some)))
    fresh = tb.Grid(case.world.costs, **case.world.rules)
    edited, anew = (tb.solve(world, case.start, case.goal) for world in (case.world, fresh))
    assert edited.status == anew.status
    assert edited.cost == pytest.approx(anew.cost, rel=1e-3)


def test_cheaper_ground_lowers_the_estimate() -> None:
    """A road far from the straight line: an estimate that still believed the old costs would never look there."""
    cells = np.full((5, 9), 10.0)
    cells[2, 2] = 9.0  # not all the same, or it would be no terrain
    world = tb.Grid(cells, connectivity=4)
    assert tb.solve(world, (0, 0), (0, 8)).cost == 80.0
    road = [(4, col) for col in range(9)]
    assert world.set_cost(road, 0.125) == 9
    # Three steps of 10 and one onto the road, eight along it, and back.
    assert tb.solve(world, (0, 0), (0, 8)).cost == pytest.approx(2 * (30 + (10 + 0.125) / 2) + 8 * 0.125)


def test_an_edit_that_changes_nothing_costs_nothing() -> None:
    world = tb.Grid([[1, 2, 0]])
    agent = tb.agent("a*", world, (0, 0), (0, 1), budget=1)
    assert world.block((0, 2)) == world.unblock((0, 1)) == world.set_cost((0, 1), 2) == world.block([]) == 0
    assert world.changes.count == 0
    assert int(world.view.edited[0]) == 0
    assert agent.run().status == "reached"


def test_cells_given_twice_count_once() -> None:
    world = tb.Grid(np.ones((3, 3)))
    assert world.block([(1, 1), (1, 1)]) == 1
    assert world.unblock([(1, 1), (1, 1), (0, 0)]) == 1


@pytest.mark.parametrize(
    ("edit", "kind", "sentence"),
    [
        (lambda w: w.block((9, 0)), tb.ProblemError, r"the cell \(9, 0\) is off the map of 2 rows and 2 columns"),
        (lambda w: w.block([(0, 0), (0, -1)]), tb.ProblemError, r"the cell \(0, -1\) is off the map"),
        (lambda w: w.block([(0, 0.5)]), tb.ProblemError, "two whole numbers"),
        (lambda w: w.block(np.ones((3, 3), bool)), tb.WorldError, r"the mask has shape \(3, 3\), the grid \(2, 2\)"),
        (lambda w: w.set_cost((0, 0), 0), tb.WorldError, r"a cost must be a positive number, not 0.0; use block\(\)"),
        (lambda w: w.set_cost((0, 0), math.inf), tb.WorldError, "a cost must be a positive number"),
        (lambda w: w.set_cost((0, 0), math.nan), tb.WorldError, "a cost must be a positive number"),
        (lambda w: w.set_cost((0, 0), 1e12), tb.WorldError, "on this grid costs must lie between"),
        (lambda w: w.set_cost((0, 0), 1e-9), tb.WorldError, "on this grid costs must lie between"),
    ],
)
def test_edits_that_cannot_be(edit, kind, sentence: str) -> None:
    world = tb.Grid([[1, 2], [3, 4]])
    with pytest.raises(kind, match=sentence):
        edit(world)
    assert world.changes.count == 0
    assert world.costs.tolist() == [[1, 2], [3, 4]]


def test_a_plain_grid_has_no_costs_to_set() -> None:
    with pytest.raises(tb.WorldError, match="terrain=True"):
        tb.Grid([[1, 1]]).set_cost((0, 0), 2)


def test_new_ground_counts_towards_the_longest_path() -> None:
    """What a cost may be at most follows from how long a path can get, and unblocking makes longer ones."""
    world = tb.Grid(np.array([[1, 2.0] + [0] * 1998]))
    everywhere = np.ones((1, 2000), bool)
    world.unblock(everywhere)
    with pytest.raises(tb.WorldError, match="costs must lie between"):
        world.set_cost(everywhere, 3e5)


def test_a_log_that_ran_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "RING", 4)
    world = tb.Grid([[1, 1]])
    for k in range(4):
        assert (world.block if k % 2 == 0 else world.unblock)((0, 1)) == 1
    assert world.changes.count == 4
    assert len(world.changes.since(0)) == 8  # each edit closes or opens two arcs
    world.block((0, 1))
    assert world.changes.since(0) is None
    assert world.changes.since(1) is not None
    assert [sign for *_, sign in world.changes.since(4)] == [1, 1]
    assert world.changes.since(5) == []


# --- agents under way ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["a*", "gbfs", "wa*:weight=2", "dijkstra", "ida*"])
@pytest.mark.parametrize("commit", [1, 3])
def test_an_agent_walks_around_what_appears_before_it(spec: str, commit: int) -> None:
    world = tb.Grid(np.ones((5, 5)))
    agent = tb.agent(spec, world, (2, 0), (2, 4), commit=commit)
    trail = [(2, 0)]
    for tick in range(60):
        if agent.done:
            break
        row, col = agent.position
        if tick in (0, 1) and (row, col + 1) != (2, 4):
            world.block((row, col + 1))
        here = agent.step()
        assert world.free[here], "the agent stands in a wall"
        assert max(abs(here[0] - trail[-1][0]), abs(here[1] - trail[-1][1])) <= 1
        trail.append(here)
    assert agent.status == "reached"
    assert (2, 1) not in trail
    assert agent.position == (2, 4)


@given(case=grid_cases(), seed=st.integers(0, 2**32 - 1), budget=st.sampled_from([None, 3]))
@settings(max_examples=30 if COMPILED else 5)
def test_an_agent_in_a_world_that_keeps_changing(case: Case, seed: int, budget: int | None) -> None:
    random = np.random.default_rng(seed)
    agent = tb.agent("a*", case.world, case.start, case.goal, budget=budget)
    for _ in range(10):
        if agent.done:
            break
        before = agent.position
        mask = random.random(case.world.shape) < 0.15
        mask[agent.position] = mask[case.goal] = False
        (case.world.block if random.random() < 0.5 else case.world.unblock)(mask)
        here = agent.step()
        if here != before:
            tb.validate(case.world, [before, here])  # legal in the world as it is at this moment
    # Now that the world rests, the agent ends as a new one would.
    last = tb.solve(case.world, agent.position, case.goal) if not agent.done else None
    rest = agent.run()
    if last is not None:
        assert rest.status == last.status
        assert points(rest.result().path)[-len(points(last.path)) :] == points(last.path)


@pytest.mark.parametrize("spec", ["a*", "gbfs", "wa*", "dijkstra", "ida*"])
@pytest.mark.parametrize("what", ["agent", "goal", "between"])
def test_walled_in(spec: str, what: str) -> None:
    # Small, because IDA* must try every simple path before it knows that there is no way.
    world = tb.Grid(np.ones((2, 5)))
    agent = tb.agent(spec, world, (1, 0), (1, 4))
    agent.step()
    at = agent.position
    world.block({"agent": at, "goal": (1, 4), "between": [(0, 3), (1, 3)]}[what])
    agent.run()
    assert agent.status == "unreachable"
    assert agent.position == at


def test_a_way_that_opens_is_taken() -> None:
    cells = np.ones((3, 7))
    cells[:2, 3] = 0
    world = tb.Grid(cells)
    agent = tb.agent("a*", world, (0, 0), (0, 6))
    agent.step()
    world.unblock((0, 3))
    agent.run()
    assert (0, 3) in points(agent.result().path)


# --- graphs --------------------------------------------------------------------------------------------------------


def test_graph_edits() -> None:
    world = tb.Graph([0, 1, 0], [1, 2, 2], [1.5, 1.5, 9.0], directed=False)
    assert tb.solve(world, 0, 2).cost == 3.0
    mark = world.changes.count
    assert world.block(0, 1) == 2
    assert world.block(0, 1) == 0
    assert set(world.changes.since(mark)) == {(0, 1, 1), (1, 0, 1)}
    assert tb.solve(world, 0, 2).cost == 9.0
    with pytest.raises(tb.MoveError):
        tb.validate(world, [0, 1])
    assert world.unblock(1, 0) == 2
    assert tb.solve(world, 0, 2).cost == 3.0
    assert world.set_cost(0, 2, 1.25) == 2
    assert world.set_cost(0, 2, 1.25) == 0
    assert [sign for *_, sign in world.changes.since(world.changes.count - 2)] == [-1, -1]
    assert tb.solve(world, 0, 2).cost == 1.25
    assert world.block(0, 2) == 2
    assert world.set_cost(0, 2, 1.75) == 0, "a closed arc stays closed"
    assert world.unblock(0, 2) == 2
    assert tb.solve(world, 0, 2).cost == 1.75


def test_directed_edits_leave_the_way_back() -> None:
    world = tb.Graph([0, 1], [1, 0], [1.0, 2.0])
    assert world.block(0, 1) == 1
    assert tb.solve(world, 0, 1).status == "unreachable"
    assert tb.solve(world, 1, 0).cost == 2.0


def test_graph_edits_that_cannot_be() -> None:
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False, coordinates=[[0, 0], [1, 0], [2, 0]])
    with pytest.raises(tb.WorldError, match="there is no arc from 0 to 2"):
        world.block(0, 2)
    with pytest.raises(tb.ProblemError):
        world.block(0, 7)
    for wrong in (0, -1, math.nan, math.inf):
        with pytest.raises(tb.WorldError, match="a cost must be a positive, finite number"):
            world.set_cost(0, 1, wrong)
    with pytest.raises(tb.WorldError, match="would break the heuristic"):
        world.set_cost(0, 1, 0.5)
    with pytest.raises(tb.WorldError, match="too large for this graph"):
        world.set_cost(0, 1, 1e15)
    assert world.changes.count == 0


def test_a_broken_cost_on_a_graph_of_whole_costs() -> None:
    """1.1 + 1.1 is less than 3, also where all costs were whole when the graph was made."""
    world = tb.Graph([0, 0, 1], [2, 1, 2], [3.0, 1.0, 1.0])
    world.set_cost(0, 1, 1.1)
    world.set_cost(1, 2, 1.1)
    assert tb.solve(world, 0, 2, "a*").cost == pytest.approx(2.2)


def test_an_arc_opened_again_costs_what_it_did() -> None:
    """To the last unit: ties decide trajectories."""
    world = tb.Grid(np.array([[1, 2.0], [3, 4]])).to_graph()
    before = world.view.cost.copy()
    world.block((0, 0), (1, 1))
    world.unblock((0, 0), (1, 1))
    assert world.view.cost.tolist() == before.tolist()


def test_an_agent_on_a_graph_notices() -> None:
    world = tb.Graph(np.arange(5), np.arange(1, 6), np.ones(5), directed=False)
    agent = tb.agent("a*", world, 0, 5)
    agent.step()
    world.block(2, 3)
    assert agent.run().status == "unreachable"
    assert agent.position == 1


def test_a_uniform_terrain_can_be_given_costs_later() -> None:
    world = tb.Grid(np.ones((3, 3)), terrain=True)
    assert tb.solve(world, (1, 0), (1, 2)).cost == 2.0
    assert world.set_cost((1, 1), 9.0) == 1
    assert tb.solve(world, (1, 0), (1, 2)).cost == pytest.approx(2 * math.sqrt(2))
    mask = np.zeros((3, 3), bool)
    mask[0] = True
    assert world.set_cost(mask, np.full((3, 3), 5.0)) == 3
    with pytest.raises(tb.WorldError, match="3 cells need one cost or 3 costs"):
        world.set_cost(mask, [1.0, 2.0])


def test_one_dear_cell_does_not_coarsen_the_others() -> None:
    costs = np.ones((64, 64))
    costs[63, 63] = 4e6
    assert tb.solve(tb.Grid(costs), (0, 0), (0, 40)).cost == 40.0
    with pytest.raises(tb.WorldError, match="too far apart"):
        tb.Grid(np.array([[1.0, 1e12]]))


def test_arcs_may_get_dearer_and_cheaper_for_ever() -> None:
    world = tb.Graph([0, 1], [1, 2], [2.0, 2.0], directed=False, coordinates=[[0, 0], [1, 0], [2, 0]])
    for _ in range(3000):
        world.set_cost(0, 1, 500.0)
        world.set_cost(0, 1, 2.0)
    assert tb.solve(world, 0, 2).cost == 4.0
    plain = tb.Graph([0, 1, 0, 3], [1, 2, 2, 4], [5, 5, 5, 2.0**40], nodes=5)
    with pytest.raises(tb.WorldError, match="too small"):
        plain.set_cost(0, 1, 0.1)


def test_a_committed_step_that_became_impossible_is_forgotten() -> None:
    """The search that replaces it may have to enlarge its arrays half-way; the old plan must be gone by then."""
    height, width = 121, 101
    cells = np.ones((height, width), bool)
    cells[1::2] = False
    cells[1::4, -1] = True
    cells[3::4, 0] = True
    gates = [(row, 0) for row in range(1, height, 2) if not cells[row, 0]]
    for gate in gates:
        cells[gate] = True
    world = tb.Grid(cells)
    agent = tb.agent("a*", world, (0, 0), (height - 1, 0), commit=1000).run(3)
    for gate in gates[2:]:
        world.block(gate)
    world.block((5, 0))
    assert agent.run().status == "reached"


def test_a_result_survives_an_edit_of_its_own_start() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    agent = tb.agent("a*", world, (0, 0), (4, 4))
    agent.step()
    world.block((0, 0))
    result = agent.run().result("compute")
    assert result.status == "reached"
    assert result.optimal is None


def test_a_world_is_freed_with_its_last_reference() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    tb.solve(world, (0, 0), (4, 4))
    gone = weakref.ref(world)
    gc.disable()
    try:
        del world
        assert gone() is None
    finally:
        gc.enable()


def test_a_finished_agent_gives_its_arrays_back() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    agents = [tb.agent("a*", world, (0, 0), (4, 4)).run() for _ in range(5)]
    assert len(world.spare) == 1
    assert all(agent.result().memory_bytes > 0 for agent in agents)
