"""What is promised, whatever the world: optimal costs, bounds, honest reports; an independent library is the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import timebound as tb
from helpers import COMPILED, SQRT2, Case, any_cases, graph_cases, grid_cases, points
from naive.worlds import CARDINAL, reachable

FEW = settings(max_examples=20 if COMPILED else 10)
BUCKET = 0.15  # the width of a bucket of the open list, in straight steps over the cheapest ground
OPTIMAL = ("a*", "dijkstra")


def judged(case: Case) -> float:
    """The optimal cost by SciPy, from the naive world's own arcs."""
    number = {point: k for k, point in enumerate(case.twin.points())}
    arcs = [(number[here], number[step.target], step.length) for here in number for step in case.twin.successors(here)]
    source, target, length = zip(*arcs, strict=True) if arcs else ((), (), ())
    matrix = csr_array((length, (source, target)), shape=(len(number), len(number)))
    return float(dijkstra(matrix, indices=number[case.start])[number[case.goal]])


def rounding(case: Case, moves: int) -> float:
    """What integer costs may cost: on terrain an arc is off by at most 3 units, there and on the true optimum."""
    if isinstance(case.world, tb.Graph):
        return 2 * moves / case.twin.scale
    if getattr(case.twin, "terrain", False):
        least = min(value for row in case.twin.cells for value in row if value)
        return 2 * 3 * moves * least / CARDINAL
    return 0.0


@pytest.mark.parametrize("spec", OPTIMAL)
@given(case=st.one_of(grid_cases(side=14), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases()))
def test_optimal_cost_is_that_of_scipy(case: Case, spec: str) -> None:
    result = tb.solve(case.world, case.start, case.goal, spec)
    expected = judged(case)
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        states = len(case.twin.points())
        assert result.cost >= expected * (1 - 1e-9)
        assert result.cost <= expected * (1 + 1e-9) + rounding(case, states)


@given(case=grid_cases(kind="near"))
def test_whole_terrain_costs_on_four_directions_are_exact(case: Case) -> None:
    """Straight steps over whole costs are whole numbers of units: nothing is rounded there."""
    cells = np.ceil(np.where(np.isfinite(case.world.costs), case.world.costs, 0))
    world = tb.Grid(cells, connectivity=4)
    twin = type(case.twin)(cells.tolist(), connectivity=4)
    expected = judged(Case(world, twin, case.start, case.goal))
    result = tb.solve(world, case.start, case.goal, "a*")
    assert result.status == ("reached" if math.isfinite(expected) else "unreachable")
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-9)


@given(
    case=st.one_of(grid_cases(side=14), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases()),
    weight=st.sampled_from([1.0, 1.05, 1.2, 2.0, 5.0, 50.0]),
    reopen=st.booleans(),
)
def test_weighted_search_keeps_its_bound(case: Case, weight: float, reopen: bool) -> None:
    expected = judged(case)
    result = tb.solve(case.world, case.start, case.goal, f"wa*:weight={weight},reopen={reopen}")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        cells = getattr(case.twin, "cells", None)
        least = min(value for row in cells for value in row if value) if cells else 0.0
        # A search that opens states again owes nothing to the width of its buckets.
        slack = 0.0 if reopen else BUCKET * least
        assert result.cost <= weight * expected * (1 + 1e-9) + slack + rounding(case, len(case.twin.points()))


@pytest.mark.parametrize("spec", ["a*", "dijkstra", "gbfs", "wa*:weight=2", "wa*:weight=2,reopen=true"])
@given(case=any_cases())
@FEW
def test_every_result_can_be_replayed(case: Case, spec: str) -> None:
    result = tb.solve(case.world, case.start, case.goal, spec)
    goal = case.goal if result.status == "reached" else case.start
    replayed = tb.validate(case.world, result.path, start=case.start, goal=goal)
    assert replayed.cost == result.cost
    assert replayed.moves == result.moves == len(points(result.path)) - 1
    # The library's own word is not enough: the naive world must know every step too.
    for here, there in zip(points(result.path), points(result.path)[1:], strict=False):
        assert there in [step.target for step in case.twin.successors(here)]


@pytest.mark.parametrize("spec", ["a*", "dijkstra", "gbfs", "wa*:weight=2"])
@given(case=st.one_of(grid_cases(), grid_cases(kind="far"), graph_cases()))
@FEW
def test_unreachable_is_proved_by_the_whole_component(case: Case, spec: str) -> None:
    seen = reachable(case.twin, case.start)
    result = tb.solve(case.world, case.start, case.goal, spec)
    assert result.status == ("reached" if case.goal in seen else "unreachable")
    assert result.memory_states <= len(seen)
    if case.goal not in seen and spec in ("gbfs", "wa*:weight=2"):
        # Without reopening every state is expanded exactly once before the search gives up.
        assert result.expansions == result.memory_states == len(seen)
    if isinstance(case.world, tb.Graph) or case.world.buckets is False:
        # Exact order and a consistent estimate: no state is expanded twice.
        assert result.expansions <= len(seen)


@given(case=any_cases(), spec=st.sampled_from(["a*", "gbfs", "wa*:weight=2"]), budget=st.sampled_from([None, 2, 9]))
@FEW
def test_stepping_is_solving(case: Case, spec: str, budget: int | None) -> None:
    whole = tb.solve(case.world, case.start, case.goal, spec, budget=budget)
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=budget)
    trail = [case.start]
    ticks = 0
    while not agent.done:
        assert agent.status == "active"
        place = agent.step()
        ticks += 1
        if place != trail[-1]:
            trail.append(place)
    assert [tuple(p) if isinstance(p, tuple) else p for p in trail] == points(whole.path)
    result = agent.result()
    assert (result.status, result.cost, result.moves) == (whole.status, whole.cost, whole.moves)
    assert result.expansions_per_move.tolist() == whole.expansions_per_move.tolist()
    assert ticks == result.moves + result.waits
    assert agent.step() == trail[-1]  # a step after the end changes nothing
    assert agent.moves == whole.moves


# --- heuristics of graphs ------------------------------------------------------------------------------------------


def spatial(seed: int, n: int, dims: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, and arcs between random pairs of them that cost at least their distance."""
    random = np.random.default_rng(seed)
    place = random.uniform(-10, 10, (n, dims))
    ends = random.integers(n, size=(4 * n, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    length = np.linalg.norm(place[ends[:, 0]] - place[ends[:, 1]], axis=1) * random.uniform(1, 1.3, len(ends))
    return place, ends[:, 0], ends[:, 1], length


def optimum(n: int, source: np.ndarray, target: np.ndarray, cost: np.ndarray, start: int, goal: int) -> float:
    best: dict[tuple[int, int], float] = {}
    for s, t, c in zip(source.tolist(), target.tolist(), cost.tolist(), strict=True):
        best[s, t] = min(best.get((s, t), math.inf), c)
    rows, cols = np.array(list(best)).T
    return float(dijkstra(csr_array((list(best.values()), (rows, cols)), shape=(n, n)), indices=start)[goal])


@pytest.mark.parametrize(("kind", "dims"), [("euclidean", 2), ("euclidean", 3), ("landmarks", 2), ("vector", 2)])
@given(seed=st.integers(0, 2**32 - 1), directed=st.booleans())
@FEW
def test_graph_heuristics_keep_costs_optimal_and_save_work(kind: str, dims: int, seed: int, directed: bool) -> None:
    n = 40
    place, source, target, cost = spatial(seed, n, dims)
    if not directed:
        source, target, cost = np.r_[source, target], np.r_[target, source], np.r_[cost, cost]
    options = {
        "euclidean": {"coordinates": place},
        "landmarks": {"heuristic": "landmarks", "landmarks": 4},
        "vector": {"heuristic": lambda goal: np.linalg.norm(place - place[goal], axis=1)},
    }[kind]
    world = tb.Graph(source, target, cost, nodes=n, **options)
    blind = tb.Graph(source, target, cost, nodes=n)
    expected = optimum(n, source, target, cost, 0, n - 1)
    result = tb.solve(world, 0, n - 1, "a*")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-6)
        # A consistent estimate: no state twice, and never more of them than without it, but for ties.
        assert result.expansions <= tb.solve(blind, 0, n - 1, "a*").expansions + 1


@given(seed=st.integers(0, 2**32 - 1))
@FEW
def test_great_circle_keeps_costs_optimal(seed: int) -> None:
    n, radius = 40, 6371.0
    random = np.random.default_rng(seed)
    degrees = np.c_[random.uniform(-180, 180, n), random.uniform(-89, 89, n)]
    longitude, latitude = np.radians(degrees).T
    ends = random.integers(n, size=(4 * n, 2))
    source, target = ends[ends[:, 0] != ends[:, 1]].T
    # The haversine formula, which the library does not use.
    half = (
        np.sin((latitude[source] - latitude[target]) / 2) ** 2
        + np.cos(latitude[source]) * np.cos(latitude[target]) * np.sin((longitude[source] - longitude[target]) / 2) ** 2
    )
    cost = 2 * radius * np.arcsin(np.sqrt(half)) * random.uniform(1, 1.2, len(source))
    world = tb.Graph(source, target, cost, nodes=n, coordinates=degrees, heuristic="great-circle")
    expected = optimum(n, source, target, cost, 0, n - 1)
    result = tb.solve(world, 0, n - 1, "a*")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-6)


# --- measures ------------------------------------------------------------------------------------------------------


@given(case=grid_cases())
@FEW
def test_measures_of_an_optimal_walk(case: Case) -> None:
    result = tb.solve(case.world, case.start, case.goal, "a*", optimal="compute")
    if result.status == "reached":
        assert result.suboptimality == 1.0
        assert result.non_optimal_moves == 0
        assert result.revisits == 0
        assert result.optimal == result.cost


def test_measures_of_a_walk_that_is_not_optimal() -> None:
    """Greedy search runs into the cup; the walk around it is not optimal, and the record says by how much."""
    cells = np.ones((7, 9))
    cells[1, 2:7] = cells[5, 2:7] = cells[1:6, 6] = 0
    result = tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal="compute")
    best = tb.solve(tb.Grid(cells), (3, 3), (3, 8), "a*").cost
    assert result.optimal == best
    assert result.suboptimality == pytest.approx(result.cost / best)
    assert (result.non_optimal_moves > 0) == (result.cost > best)
    assert tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs").suboptimality is None
    assert tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal=best / 2).suboptimality == pytest.approx(
        2 * result.cost / best
    )
    with pytest.raises(tb.SpecError, match="optimal is the optimal cost"):
        tb.solve(tb.Grid(cells), (3, 3), (3, 8), "gbfs", optimal="best")


def test_non_optimal_moves_with_estimates_from_a_mapping() -> None:
    """The reference search runs from the goal, without the vector for it."""
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False, heuristic={2: [2, 1, 0]})
    assert tb.solve(world, 0, 2, "a*", optimal="compute").non_optimal_moves == 0


def test_a_far_goal_and_a_large_weight_do_not_overflow() -> None:
    """2000 arcs of the largest cost the integers allow, times the largest weight."""
    n = 2000 if COMPILED else 200
    ends = np.arange(n - 1)
    world = tb.Graph(ends, ends + 1, np.full(n - 1, 1.3), coordinates=np.c_[np.arange(n), np.zeros(n)])
    for weight in (2, 8, 100):
        result = tb.solve(world, 0, n - 1, f"wa*:weight={weight}")
        assert result.status == "reached"
        assert result.moves == n - 1


def test_a_node_with_more_arcs_than_the_open_list_has_room() -> None:
    """The open list begins with room for 4096 entries; growing it must not depend on how full it is."""
    n = 5001
    world = tb.Graph(np.zeros(n - 1, np.int64), np.arange(1, n), np.ones(n - 1))
    agent = tb.agent("a*", world, 0, n - 1)
    enlarged = 0
    grow = agent._planner.enlarge

    def counted() -> None:
        nonlocal enlarged
        enlarged += 1
        assert enlarged < 10, "the search asks for room again and again"
        grow()

    agent._planner.enlarge = counted
    assert agent.run().status == "reached"


def test_cheap_arcs_beside_a_dear_one() -> None:
    """A single dear arc must not coarsen the integers until the cheap ones can no longer be told apart."""
    chain = np.arange(100)
    source, target = np.r_[chain, 0, 0], np.r_[chain + 1, 100, 101]
    world = tb.Graph(source, target, np.r_[np.full(100, 0.0101), 1.2, 1e6 + 0.5])
    assert tb.solve(world, 0, 100, "a*").cost == pytest.approx(1.01)
    with pytest.raises(tb.WorldError, match="too far apart"):
        tb.Graph(source, target, np.r_[np.full(100, 0.0101), 1.2, 1e12 + 0.5])


def test_costs_are_summed_without_drift() -> None:
    """The same moves in another order cost the same, to the last digit."""
    steps = 400
    world = tb.Grid(np.ones((3, steps + 1)))
    zigzag = [(k % 2, k) for k in range(steps + 1)]
    assert tb.validate(world, zigzag).cost == pytest.approx(steps * SQRT2, rel=1e-15)
