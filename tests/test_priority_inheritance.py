"""Units that do not stand in each other: priority inheritance against its naive twin, and what its theorems promise."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, CORNERS, Case, graph_cases, grid_cases, puzzle_cases
from naive import priority_inheritance as naive
from naive.worlds import NaiveGraph, NaiveGrid, reachable
from timebound.kernels.layout import COLS, ROWS
from timebound.kernels.priority_inheritance import (
    FIXED,
    PARKED,
    WALKING,
    Units,
    inherit,
    new_crowd,
    new_units,
    plain_wait,
    raise_priorities,
)
from timebound.kernels.shortest_paths import distances, tree_from
from timebound.kernels.workspace import Workspace


def cases() -> st.SearchStrategy[Case]:
    """A small world of any kind; nobody walks in puzzles, so there is no need to compile anything for them."""
    kinds = [grid_cases(side=6), grid_cases(side=6, kind="near"), graph_cases()]
    return st.one_of(kinds if COMPILED else [*kinds, puzzle_cases(rows=2, cols=3, moves=5)])


def written(units: Units, k: int, world: Any, unit: naive.Unit) -> None:
    """A naive unit among the library's."""
    units.position[k] = world.state_of(unit.position)
    units.wish[k] = -1 if unit.wish is None else world.state_of(unit.wish)
    units.goal[k] = -1 if unit.goal is None else world.state_of(unit.goal)
    units.priority[k] = unit.priority
    units.role[k] = FIXED if unit.fixed else WALKING


def check(twin: Any, before: list[Any], after: list[Any], crossing: bool) -> None:
    """Nobody in one cell, no swap, no crossing, all steps legal."""
    assert len(set(after)) == len(after)
    moves = {(s, t) for s, t in zip(before, after, strict=True) if s != t}
    assert not moves & {(t, s) for s, t in moves}
    for s, t in moves:
        assert t in [step.target for step in twin.successors(s)]
        assert crossing or not any(naive.crosses(twin, s, t, *other) for other in moves if other != (s, t))


def crowded(world: Any, twin: Any, start: Any, most: int, random: np.random.Generator) -> list[naive.Unit]:
    """Some units at random, all apart: with legal wishes, others or none; with goals or without; some are fixed."""
    states = sorted(reachable(twin, start))
    count = int(random.integers(1, min(most, len(states)) + 1))
    units = []
    for k in random.choice(len(states), count, replace=False):
        here = states[k]
        near = [step.target for step in twin.successors(here)]
        wish = [None, here, states[random.integers(len(states))], *near, *near]
        goal = [None, *(states[j] for j in random.integers(len(states), size=4))]
        units.append(
            naive.Unit(
                here,
                wish[random.integers(len(wish))],
                goal[random.integers(len(goal))],
                int(random.choice([0, 0, 1, 5, -3, 70_000, 2**40])),
                bool(random.random() < 0.1),
            )
        )
    return units


def drawn(case: Case, most: int, seed: int, crossing: bool) -> Iterator[tuple[list[naive.Unit], list[Any], list[Any]]]:
    """Three ticks of a crowd at random: the units, and where they are next by priority inheritance and by waiting."""
    random = np.random.default_rng(seed)
    crowd, units = new_crowd(most), new_units(most)
    units.base[:] = 12345
    for tick in range(3):
        before = crowded(case.world, case.twin, case.start, most, random)
        n, both = len(before), []
        for rule, more in ((inherit, (tick, seed)), (plain_wait, ())):
            for k, unit in enumerate(before):
                written(units, k, case.world, unit)
            rule(case.world.view, crowd, units, n, *more, crossing)
            both.append([case.world.point_of(int(s)) for s in units.next[:n]])
            denied = [i for i in naive.by_priority(before)[:1] if before[i].wish not in (None, both[0][i])]
            changed = units.priority[:n] != [unit.priority for unit in before]
            assert np.flatnonzero(changed).tolist() == (denied if rule is inherit else [])
            assert (units.priority[:n][changed] == 12345).all()
        yield before, both[0], both[1]


@given(case=cases(), seed=st.integers(0, 2**40), crossing=st.booleans())
def test_it_is_the_paper_s_algorithm(case: Case, seed: int, crossing: bool) -> None:
    for tick, (units, pushed, waited) in enumerate(drawn(case, 40, seed, crossing)):
        assert pushed == naive.inherit(case.twin, units, case.world.state_of, tick, seed, crossing)
        assert waited == naive.plain_wait(case.twin, units, crossing)
        before = [unit.position for unit in units]
        check(case.twin, before, pushed, crossing)
        check(case.twin, before, waited, crossing)


@given(seed=st.integers(0, 2**32), full=st.booleans())
def test_more_neighbours_than_are_sorted_at_a_time(seed: int, full: bool) -> None:
    """A hub with 30 spokes, a few of them one-way, that lead back to it through two more nodes."""
    random = np.random.default_rng(seed)
    spokes = range(1, 31)
    arcs = [(0, k, 1.0) for k in spokes] + [(k, 0, 1.0) for k in spokes if random.random() < 0.7]
    arcs += [(k, 31, 1.0) for k in spokes if random.random() < 0.1] + [(31, 32, 1.0), (32, 0, 1.0)]
    world = tb.Graph([s for s, _, _ in arcs], [t for _, t, _ in arcs], nodes=33)
    case = Case(world, NaiveGraph(33, arcs), 0, 1)
    for tick, (units, pushed, _) in enumerate(drawn(case, 33 if full else 20, seed, False)):
        assert pushed == naive.inherit(case.twin, units, world.state_of, tick, seed)


@pytest.mark.parametrize("way_out", [1, 17, 30])
def test_the_one_neighbour_that_can_make_way(way_out: int) -> None:
    """All thirty are tried, wherever in the ranking the only one is that can go on."""
    world = tb.Graph([0] * 30 + [way_out, 32], [*range(1, 31), 31, 0])
    units, crowd = new_units(32), new_crowd(32)
    units.position[:] = [32, *range(31)]
    units.wish[0] = 0
    for tick in range(20):
        inherit(world.view, crowd, units, 32, tick, 0, False)
        assert units.next[[0, 1, way_out + 1]].tolist() == [0, way_out, 31]


# --- what is promised --------------------------------------------------------------------------------------------


def on_a_cycle(twin: Any, s: Any, t: Any, without: set[Any]) -> bool:
    """Whether the step from ``s`` to ``t`` is part of a cycle of three or more that leaves out some states."""
    seen, stack = {t}, [t]
    while stack:
        here = stack.pop()
        for step in twin.successors(here):
            there = step.target
            if there == s and here != t:
                return True
            if there not in seen and there != s and there not in without:
                seen.add(there)
                stack.append(there)
    return False


@given(case=cases(), seed=st.integers(0, 2**40), crossing=st.booleans())
def test_the_first_gets_what_it_wishes_for(case: Case, seed: int, crossing: bool) -> None:
    for units, pushed, _ in drawn(case, 40, seed, crossing):
        fixed = {unit.position for unit in units if unit.fixed}
        for i in naive.by_priority(units)[:1]:
            s, t = units[i].position, units[i].wish
            steps = [step.target for step in case.twin.successors(s)]
            if t == s or (t in steps and t not in fixed and on_a_cycle(case.twin, s, t, fixed)):
                assert pushed[i] == t


@st.composite
def cyclic_grids(draw: st.DrawFn, side: int = 5) -> tuple[tb.Grid, NaiveGrid, list[Any]]:
    """A grid, its twin and the cells of a part of it in which every step lies on a cycle."""
    rules = {"connectivity": draw(st.sampled_from([8, 4])), "corners": draw(st.sampled_from(CORNERS))}
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = np.ones((draw(st.integers(2, side)), draw(st.integers(2, side))))
    cells[random.random(cells.shape) < draw(st.sampled_from([0.0, 0.1, 0.25]))] = 0
    cells[:2, :2] = 1
    while True:
        twin = NaiveGrid(cells.tolist(), **rules)
        open_to = [
            (s, step.target)
            for s in twin.points()
            for step in twin.successors(s)
            if not on_a_cycle(twin, s, step.target, set())
        ]
        if not open_to:
            return tb.Grid(cells, **rules), twin, sorted(reachable(twin, (0, 0)))
        # Of a step on no cycle the end that is not among the first four cells goes; it is never both.
        s, t = open_to[0]
        cells[t if s[0] < 2 and s[1] < 2 else s] = 0


def way_to(twin: Any, goal: Any) -> dict[Any, Any]:
    """The first step of a shortest path to the goal, from everywhere; steps must cost the same both ways."""
    found: dict[Any, Any] = {}
    queue = [(0, goal, goal)]
    while queue:
        g, here, after = heapq.heappop(queue)
        if here not in found:
            found[here] = after
            for step in twin.successors(here):
                heapq.heappush(queue, (g + step.cost, step.target, here))
    return found


@given(grid=cyclic_grids(), seed=st.integers(0, 2**40), parking=st.booleans(), crossing=st.booleans(), data=st.data())
def test_everybody_arrives(
    grid: tuple[tb.Grid, NaiveGrid, list[Any]], seed: int, parking: bool, crossing: bool, data: st.DataObject
) -> None:
    """Even where there is no empty cell. With a bound: all but the differences of priorities are ticks of the first."""
    world, twin, cells = grid
    random = np.random.default_rng(seed)
    n = data.draw(st.integers(1, len(cells)), label="units")
    starts, goals = ([cells[k] for k in random.permutation(len(cells))[:n]] for _ in range(2))
    units, crowd = new_units(n), new_crowd(n)
    units.position[:] = [world.state_of(point) for point in starts]
    units.goal[:] = [world.state_of(point) for point in goals]
    units.base[:] = units.priority[:] = random.choice([0, 0, 3, 20], n)
    ways = [{world.state_of(s): world.state_of(t) for s, t in way_to(twin, goal).items()} for goal in goals]
    left = set(range(n))
    for tick in range(21 + n * len(cells)):
        left -= {k for k in left if units.position[k] == units.goal[k]}
        if not left:
            break
        for k in range(n):
            units.role[k] = PARKED if parking and k not in left else WALKING
            units.wish[k] = -1 if units.role[k] == PARKED else ways[k][int(units.position[k])]
        inherit(world.view, crowd, units, n, tick, seed, crossing)
        before = [world.point_of(int(s)) for s in units.position]
        check(twin, before, [world.point_of(int(s)) for s in units.next], crossing)
        units.position[:] = units.next
        raise_priorities(units, n)
    assert not left


def test_priorities() -> None:
    units = new_units(5)
    units.base[:] = [0, 7, -2, 0, 0]
    units.priority[:] = [3, 9, 4, 0, 8]
    units.position[:] = 10
    units.goal[:] = [20, 10, -1, 20, 20]
    units.role[:] = [WALKING, WALKING, WALKING, FIXED, PARKED]
    raise_priorities(units, 4)
    assert units.priority.tolist() == [4, 7, -2, 1, 8]
    raise_priorities(units, 5)
    assert units.priority.tolist() == [5, 7, -2, 2, 0]


def ring(n: int) -> tb.Graph:
    """A road of one way around."""
    return tb.Graph(np.arange(n), (np.arange(n) + 1) % n)


def test_one_way_roads() -> None:
    """A full ring turns; with one fixed nobody can move, and everybody may wait."""
    world, units, crowd = ring(5), new_units(5), new_crowd(5)
    units.position[:] = range(5)
    units.wish[:] = [1, 1, 2, 3, 4]
    inherit(world.view, crowd, units, 5, 0, 0, False)
    assert units.next.tolist() == [1, 2, 3, 4, 0]
    units.role[3] = FIXED
    inherit(world.view, crowd, units, 5, 1, 0, False)
    assert units.next.tolist() == [0, 1, 2, 3, 4]


def test_a_dead_end_of_one_cell_s_width() -> None:
    """The first wants to its end, and who is in there cannot get out because of it: the first must begin anew."""
    arcs = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5)]
    world = tb.Graph([s for s, _ in arcs], [t for _, t in arcs], directed=False)
    towards = [{0: 1, 1: 2, 2: 3, 3: 4, 5: 1, 4: 4}, {4: 3, 3: 2, 2: 1, 1: 0, 5: 1, 0: 0}]
    units, crowd = new_units(2), new_crowd(2)
    units.position[:], units.goal[:], units.priority[:] = [2, 3], [4, 0], [9, 0]
    seen = [set(), set()]
    for tick in range(30):
        for k in range(2):
            units.wish[k] = towards[k][int(units.position[k])]
            seen[k].add(int(units.position[k]))
        inherit(world.view, crowd, units, 2, tick, 0, False)
        units.position[:] = units.next
        raise_priorities(units, 2)
    assert 4 in seen[0]
    assert 0 in seen[1]


def test_units_that_are_not_there() -> None:
    """Numbers without a unit are left alone; so is a crowd of nobody, and what is behind the last unit."""
    world, units, crowd = ring(4), new_units(4), new_crowd(4)
    units.position[:] = [-1, 0, -1, 1]
    units.wish[:] = [0, 1, 2, 1]
    units.next[3] = 77
    for n, expected in ((0, [-1, -1, -1, 77]), (3, [-1, 1, -1, 77])):
        inherit(world.view, crowd, units, n, 0, 0, False)
        assert units.next.tolist() == expected
        plain_wait(world.view, crowd, units, n, False)
        assert units.next.tolist() == expected


def test_units_in_one_cell_part() -> None:
    """It should not come to that. But if it does, nothing breaks, and they part as soon as there is room."""
    world, units, crowd = tb.Grid(np.ones((3, 3))), new_units(4), new_crowd(4)
    units.position[:] = units.wish[:] = world.state_of((1, 1))
    for tick in range(3):
        inherit(world.view, crowd, units, 4, tick, 0, False)
        units.position[:] = units.next
    assert len(set(units.position.tolist())) == 4


def test_goals_whose_estimates_are_given_one_by_one() -> None:
    """A view holds them towards one goal at a time, or none: units do without."""
    arcs = np.arange(6)
    world = tb.Graph(arcs, (arcs + 1) % 6, directed=False, heuristic=lambda goal: np.zeros(6))
    units, crowd = new_units(3), new_crowd(3)
    units.position[:], units.wish[:], units.goal[:] = [0, 1, 2], [1, 0, 1], [3, 5, 4]
    inherit(world.view, crowd, units, 3, 0, 0, False)
    assert units.next.tolist() == [1, 2, 3]


@pytest.mark.parametrize("first", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("second", [0, 1])
def test_crossing_is_an_option(first: tuple[int, int], second: int) -> None:
    """Two that want to pass diagonally through one corner: both may, or the first alone."""
    world, units, crowd = tb.Grid(np.ones((2, 2))), new_units(2), new_crowd(2)
    row, col = first
    other = [(1 - row, col), (row, 1 - col)][second]
    across = [(1 - row, 1 - col), (1 - other[0], 1 - other[1])]
    units.position[:] = [world.state_of(point) for point in (first, other)]
    units.wish[:] = units.goal[:] = [world.state_of(point) for point in across]
    for crossing in (True, False):
        for rule, more in ((inherit, (0, 0)), (plain_wait, ())):
            rule(world.view, crowd, units, 2, *more, crossing)
            assert units.next[0] == units.wish[0]
            assert (units.next[1] == units.wish[1]) is np.bool_(crossing)


# --- large crowds ------------------------------------------------------------------------------------------------


class Walkers:
    """Units that follow shortest paths, each to a goal of its own, on a grid."""

    def __init__(self, world: tb.Grid, starts: np.ndarray, goals: np.ndarray) -> None:
        self.world, self.n = world, len(starts)
        self.units, self.crowd = new_units(self.n), new_crowd(self.n)
        self.units.position[:], self.units.goal[:] = starts, goals
        workspace = Workspace(world)
        self.costs = np.empty((self.n, world.states), np.int64)
        for k, goal in enumerate(goals):
            distances(workspace.table, tree_from(world.view, workspace, int(goal)), self.costs[k])
        self.offsets = ROWS * world.view.width + COLS
        self.arrived = starts == goals

    def tick(self, tick: int) -> None:
        units, view = self.units, self.world.view
        there = units.position[:, None] + self.offsets
        costs = np.take_along_axis(self.costs, there, 1) + np.where(np.arange(8) < 4, view.cardinal, view.diagonal)
        legal = view.moves[units.position][:, None] >> np.arange(8) & 1
        best = np.where(legal, costs, np.iinfo(np.int64).max).argmin(1)
        units.wish[:] = np.where(units.position == units.goal, units.position, there[np.arange(self.n), best])
        inherit(view, self.crowd, units, self.n, tick, 1, False)
        self.check(there, legal)
        units.position[:] = units.next
        raise_priorities(units, self.n)
        self.arrived |= units.position == units.goal

    def check(self, there: np.ndarray, legal: np.ndarray) -> None:
        s, t = self.units.position, self.units.next
        assert len(np.unique(t)) == self.n
        assert (((there == t[:, None]) & legal.astype(bool)).any(1) | (s == t)).all()
        size = self.world.states
        went = s != t
        assert not np.intersect1d(s[went] * size + t[went], t[went] * size + s[went]).size


def door(side: int) -> tb.Grid:
    """Two rooms, and a door of one cell between them."""
    free = np.ones((side, 2 * side + 1), bool)
    free[:, side] = False
    free[side // 2, side] = True
    return tb.Grid(free, corners="one")


def bridges(world: tb.Grid) -> int:
    """How many steps, of those that can be made both ways, lie on no cycle."""
    graph = networkx.Graph()
    for i in range(8):
        here = np.flatnonzero(world.view.moves >> i & 1)
        graph.add_edges_from(zip(here.tolist(), (here + ROWS[i] * world.view.width + COLS[i]).tolist(), strict=True))
    return len(list(networkx.bridges(graph)))


@pytest.mark.compiled
def test_a_thousand_through_a_door_of_one_cell() -> None:
    """Half of them from either side. Corners may be cut: who stands in the door has more than one way out of it."""
    world = door(41)
    assert not bridges(world)
    cells = np.random.default_rng(1).permutation(np.flatnonzero(world.free_by_state))
    column = cells % world.view.width - 1
    left, right = cells[column < 41], cells[column > 41]
    march = Walkers(world, np.append(left[:500], right[:500]), np.append(right[-500:], left[-500:]))
    for tick in range(10_000):
        march.tick(tick)
        if march.arrived.all():
            break
    assert march.arrived.all()


@pytest.mark.compiled
@pytest.mark.parametrize("corridor", [1, 2])
def test_a_thousand_in_a_maze(corridor: int) -> None:
    """Dead ends that are two cells wide are no trap: one can go in on one side and come out on the other."""
    world = tb.Grid(tb.generate.maze((70, 70), corridor, seed=1))
    cells = np.random.default_rng(1).permutation(np.flatnonzero(world.free_by_state))
    march = Walkers(world, cells[:1000], cells[-1000:])
    for tick in range(300 if corridor == 1 else 10_000):
        march.tick(tick)
        if march.arrived.all():
            break
    # In corridors of one cell's width nothing is promised but that nobody stands in another.
    assert (bridges(world) > 0) is (corridor == 1)
    assert corridor == 1 or march.arrived.all()
