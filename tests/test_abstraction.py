"""Clique abstraction: what is true of every level, of any world, before and after edits."""

from __future__ import annotations

import math
import pickle
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, edit_roads, grounds, roads
from helpers import Case
from naive.cliques import abstract, arcs_above, blocks, count_parts, part_of
from naive.repeated import Roads
from naive.worlds import NaiveGraph, NaiveGrid
from timebound.kernels.shortest_paths import distances, tree_from
from timebound.kernels.workspace import Workspace
from timebound.pictures import TINTS, WALL, colouring, draw_regions
from timebound.worlds import abstraction as module
from timebound.worlds.abstraction import Abstraction, RegionGraph

seeds = st.integers(0, 2**32 - 1)


@st.composite
def placed(draw: st.DrawFn) -> Case:
    """Undirected graphs whose nodes have positions, some of them the same."""
    random = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 16))
    places = random.integers(0, 4, (n, 2)).astype(float)
    ends = random.integers(n, size=(draw(st.integers(0, 3 * n)), 2))
    costs = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1) * random.uniform(1, 3, len(ends)) + 0.25
    kind = draw(st.sampled_from(["euclidean", "great-circle"]))
    world = tb.Graph(*ends.T, costs, nodes=n, directed=False, coordinates=places, heuristic=kind, labels=[*range(n)])
    arcs = [(int(s), int(t), float(c)) for (s, t), c in zip(ends, costs, strict=True)]
    return Case(world, Roads.of_graph(NaiveGraph(n, arcs, directed=False)), 0, 0)


worlds = st.one_of(grounds(), roads(), placed())


def neighbours(case: Case) -> dict[Any, list[Any]]:
    return {point: [step.target for step in case.twin.successors(point)] for point in case.twin.points()}


def arcs_of(level: RegionGraph) -> dict[tuple[int, int], float]:
    """Every arc of a level and its length."""
    view = level.view
    rows = [(r, k) for r in range(level.states) for k in range(view.first[r], view.first[r + 1]) if view.cost[k] >= 0]
    found = {(r, int(view.head[k])): float(view.length[k]) for r, k in rows}
    assert len(found) == len(rows), "an arc is there twice"
    for r, k in rows:
        assert view.cost[k] == math.ceil(view.length[k] * level.unit)
        aim = view.ratio * np.linalg.norm(view.position[r] - view.position[view.head[k]]) if view.kind else 0.0
        assert view.cost[k] >= aim, "the estimate is too high"
    return found


def check(case: Case, terms: tuple[float, float]) -> None:
    """What is true of every level. ``terms``: what a unit of distance costs, and the least that any arc does."""
    made, world = Abstraction.of(case.world), case.world
    states = {world.state_of(point): point for point in case.twin.points()}
    numbers = {point: state for state, point in states.items()}
    arcs = {numbers[here]: [numbers[near] for near in there] for here, there in neighbours(case).items()}
    lengths = {
        (numbers[here], numbers[step.target]): step.length
        for here in case.twin.points()
        for step in case.twin.successors(here)
    }
    ground, places = made.places(0), made.places(0)
    assert made.world(0) is world
    members = {state: {state} for state in states}
    for level in range(1, made.height + 1):
        above = made.world(level)
        parent = {node: int(made.parents(level - 1)[node]) for node in arcs}
        found = sorted(set(parent.values()))
        assert all(r >= 0 for r in found)
        assert np.flatnonzero(made.parents(level - 1)[: made.world(level - 1).states] >= 0).tolist() == sorted(arcs)
        assert made.count(level) == above.count == len(found) < len(arcs), "each level shrinks"
        groups = {r: {node for node in arcs if parent[node] == r} for r in found}
        for group in groups.values():
            assert part_of(arcs, group, next(iter(group))) == group, "a region is not connected"
        # Members, sizes and means.
        members = {r: set().union(*(members[node] for node in group)) for r, group in groups.items()}
        region = made.regions(level)
        assert {int(s): int(region[s]) for s in np.flatnonzero(region >= 0)} == {
            s: r for r, inside in members.items() for s in inside
        }
        assert set().union(*members.values()) == set(states)
        assert [int(made.sizes(level)[r]) for r in found] == [len(members[r]) for r in found]
        assert np.flatnonzero(made.sizes(level)).tolist() == found
        assert [above.is_open(r) for r in range(above.states)] == [r in members for r in range(above.states)]
        means = made.places(level)
        if ground is not None:
            for r in found:
                assert means[r] == pytest.approx(ground[sorted(members[r])].mean(0))
        # Arcs: exactly where one below crosses.
        crossing: dict[tuple[int, int], list[float]] = {}
        for (s, t), length in lengths.items():
            if parent[s] != parent[t]:
                crossing.setdefault((parent[s], parent[t]), []).append(length)
        lengths = arcs_of(above)
        assert lengths.keys() == crossing.keys()
        for (r, q), length in lengths.items():
            if ground is None:
                assert length == pytest.approx(np.mean(crossing[r, q]), rel=1e-3)  # integers are rounded
            else:
                assert length == pytest.approx(max(terms[0] * math.dist(means[r], means[q]), terms[1]))
        # Representatives, of the ground and of the level below.
        for base, where, inside in ((0, ground, members), (level - 1, places, groups)):
            chosen = made.representatives(level, base)
            assert len(chosen) == above.states
            for r in range(above.states):
                assert chosen[r] in inside[r] if r in inside else chosen[r] == -1
            for r in found:
                far = [0.0 if where is None else math.dist(where[s], means[r]) for s in sorted(inside[r])]
                near = min(far)
                assert far[sorted(inside[r]).index(int(chosen[r]))] == pytest.approx(near, abs=1e-4)
        arcs = {r: [q for s, q in lengths if s == r] for r in found}
        places = means
    assert not any(arcs.values()), "there could be one more level"
    assert made.count(made.height) == count_parts(neighbours(case))
    with pytest.raises(tb.WorldError, match=f"no level {made.height + 1}"):
        made.world(made.height + 1)


def terms_of(case: Case) -> tuple[float, float]:
    """What a unit of distance costs, and half of the shortest arc."""
    twin, view = case.twin, case.world.view
    if isinstance(twin, NaiveGrid):
        least = min((value for row in twin.cells for value in row if value), default=1.0) if twin.terrain else 1.0
        return least, least / 2
    shortest = min((step.length for node in twin.points() for step in twin.successors(node)), default=1.0)
    return (view.octile[0] if view.octile[0] else view.ratio) / case.world.unit, shortest / 2


@given(worlds)
@settings(max_examples=80, deadline=None)
def test_levels_are_the_cliques_of_the_papers(case: Case) -> None:
    """The same regions as the plain version, number by number; and what must be true of any."""
    made = Abstraction.of(case.world)
    arcs = neighbours(case)
    region = {point: made.regions(0)[case.world.state_of(point)] for point in arcs}
    numbers = {point: int(state) for point, state in region.items()}
    first = blocks(arcs) if isinstance(case.world, tb.Grid) else ()
    level = 0
    while any(arcs.values()):
        groups = abstract(arcs, first)
        level += 1
        assert made.count(level) == len(groups)
        parent = made.parents(level - 1)
        for k, group in enumerate(groups):
            assert all(parent[numbers[node] if level == 1 else node] == k for node in group)
        arcs, first = arcs_above(arcs, groups), ()
    assert made.height == level
    assert made.fresh
    check(case, terms_of(case))


@given(worlds, seeds)
@settings(max_examples=40, deadline=None)
def test_levels_follow_edits(case: Case, seed: int) -> None:
    """Whatever is edited, in steps of one or several edits, all stays true; and the same object is put right."""
    random = np.random.default_rng(seed)
    made, terms = Abstraction.of(case.world), terms_of(case)
    edit = edit_ground if isinstance(case.world, tb.Grid) else edit_roads
    for _ in range(6):
        if random.random() < 0.8:
            assert made.height == Abstraction.of(case.world).height  # sometimes levels are made later
        for _ in range(random.integers(1, 4)):
            edit(random, case)
        with mock.patch.object(module, "_AT_ONCE", int(random.choice([2, 7, 4096]))):
            assert Abstraction.of(case.world) is made
        check(case, terms)


def test_after_many_edits() -> None:
    """On a map large enough for many levels: cells go and come back, one by one and many at a time."""
    random = np.random.default_rng(4)
    cells = (random.random((14, 18)) > 0.2).astype(float)
    case = Case(tb.Grid(cells), NaiveGrid(cells.tolist()), None, None)
    made = Abstraction.of(case.world)
    for count in (1, 2, 5, 20, 40, 20):
        check(case, (1.0, 0.5))
        turned = {(int(random.integers(14)), int(random.integers(18))) for _ in range(count)}
        for row, col in turned:
            value = 1.0 - case.twin.cells[row][col]
            case.twin.cells[row][col] = value
            (case.world.unblock if value else case.world.block)((row, col))
        assert Abstraction.of(case.world) is made
    check(case, (1.0, 0.5))
    assert not made.fresh


def test_an_edit_touches_only_what_is_near() -> None:
    world = tb.Grid(np.ones((32, 32)))
    made = Abstraction.of(world)
    before = [made.regions(level).copy() for level in range(4)]
    views = [made.world(level).view for level in range(1, 4)]
    lengths = [view.length.copy() for view in views]
    world.block((15, 15))
    assert Abstraction.of(world) is made
    for level in range(1, 4):
        changed = np.flatnonzero(made.regions(level) != before[level])
        assert changed.tolist() == [world.place_of((15, 15))]
        assert made.world(level).view is views[level - 1]  # nothing was laid out anew
        assert 0 < np.count_nonzero(views[level - 1].length != lengths[level - 1]) <= 60
    world.unblock((15, 15))
    Abstraction.of(world)
    assert all(np.array_equal(made.regions(level), before[level]) for level in range(4))
    assert all(made.world(level).view is views[level - 1] for level in range(1, 4))


def test_a_room_that_opens_is_no_single_region() -> None:
    cells = np.zeros((12, 12))
    cells[0] = 1
    world = tb.Grid(cells)
    made = Abstraction.of(world)
    assert made.count(1) == 6
    world.unblock([(row, col) for row in range(2, 7) for col in range(12)] + [(1, 0)])
    assert Abstraction.of(world) is made
    assert made.sizes(1).max() <= 6
    assert made.count(1) <= 30


def test_those_who_hold_a_level_notice() -> None:
    world = tb.Grid(np.ones((8, 8)))
    made = Abstraction.of(world)
    view, log = made.world(2).view, made.world(2).changes
    count = log.count
    Abstraction.of(world)
    assert view.edited[0] == 0
    world.block([(3, 3), (3, 4)])
    Abstraction.of(world)
    assert view.edited[0] == 1
    assert log.since(count) is None  # a reader of the log must start over


def test_many_edits_build_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid(np.ones((20, 20)))
    made = Abstraction.of(world)
    view = made.world(1).view
    world.block(np.arange(400).reshape(20, 20) % 5 == 0)
    fresh = Abstraction.of(world)
    assert fresh is not made
    assert view.edited[0] == 1
    assert (fresh.count(0), fresh.count(1)) == (320, 100)
    # The log has forgotten some.
    world.changes.view.total[0] += len(world.changes.view.entries) + 1
    assert Abstraction.of(world) is not fresh


def test_an_interrupted_repair_builds_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    world = tb.Grid(np.ones((6, 6)))
    made = Abstraction.of(world)
    made.world(1)
    world.block((0, 0))
    with monkeypatch.context() as patch:
        patch.setattr(module.cliques, "forget_arcs", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Abstraction.of(world)
    again = Abstraction.of(world)
    assert again is not made
    assert again.count(1) == Abstraction(world).count(1) == 10


def test_a_cell_without_neighbours_comes_and_goes() -> None:
    cells = np.zeros((5, 5))
    cells[0, :2] = 1
    world = tb.Grid(cells)
    assert Abstraction.of(world).count(1) == 1
    world.unblock((3, 3))
    assert Abstraction.of(world).count(1) == 2
    world.block((3, 3))
    assert Abstraction.of(world).count(1) == 1
    world.block((0, 1))  # nothing can be joined any more
    assert Abstraction.of(world).height == 0


def test_a_pause_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that pause as often as they can make the same levels."""
    rng = np.random.default_rng(1)
    cells = rng.random((40, 40)) > 0.25

    def levels() -> list[Any]:
        made = Abstraction(tb.Grid(cells))
        return [
            (made.regions(k).tolist(), made.sizes(k).tolist(), made.representatives(k).tolist(), arcs_of(made.world(k)))
            for k in range(1, made.height + 1)
        ]

    def impatient() -> np.ndarray:
        return np.array([0, 0, 0, 1, 1], np.int64)  # one nanosecond, and a look at the clock every 16 nodes

    plain = levels()
    monkeypatch.setattr(module, "new_clock", impatient)
    assert levels() == plain


def test_hubs() -> None:
    """A star becomes one region, whatever its degree; a wheel of spokes without triangles ends, too."""
    n = 300
    star = Abstraction.of(tb.Graph([0] * n, range(1, n + 1), directed=False))
    assert (star.height, star.count(1)) == (1, 1)
    two = Abstraction.of(tb.Graph([0] * n + [1] * n, [*range(2, n + 2)] * 2, directed=False))
    assert two.count(two.height) == 1


def test_searches_run_on_levels() -> None:
    rng = np.random.default_rng(2)
    world = tb.Grid(rng.random((30, 30)) > 0.2)
    made = Abstraction.of(world)
    for _ in range(2):
        for level in range(1, made.height):
            graph = made.world(level)
            root = int(np.flatnonzero(made.sizes(level))[0])
            workspace = Workspace.of(graph)
            search = tree_from(graph.view_for(root), workspace, root)
            costs = np.empty(graph.states, np.int64)
            distances(workspace.table, search, costs)
            workspace.release()
            assert costs[root] == 0
            goal = int(graph.random_states(1, rng)[0])
            found = tb.solve(graph, root, goal, "a*")
            assert found.status == ("reached" if costs[goal] < 1 << 60 else "unreachable")
            if found.status == "reached":
                assert found.cost * graph.unit <= costs[goal] <= found.cost * graph.unit + len(found.path)
        world.unblock([(4, k) for k in range(30)])
        Abstraction.of(world)


def test_a_level_can_be_sent_elsewhere() -> None:
    level = Abstraction.of(tb.Grid(np.ones((9, 9)))).world(1)
    sent = pickle.loads(pickle.dumps(level))
    assert sent.digest == level.digest
    assert sent.count == level.count == 25
    sent.tell()
    assert (sent.view.edited[0], level.view.edited[0]) == (1, 0)


def test_worlds_without_regions() -> None:
    with pytest.raises(tb.WorldError, match="for grids and graphs"):
        Abstraction.of(tb.TilePuzzle(3, 3))
    with pytest.raises(tb.WorldError, match="both ways"):
        Abstraction.of(tb.Graph([0], [1]))
    alone = Abstraction.of(tb.Graph([], [], nodes=2, directed=False))
    assert alone.height == 0
    with pytest.raises(tb.WorldError, match="no level 1: at level 0 nothing can be joined"):
        alone.count(1)
    with pytest.raises(tb.Error, match="whole number"):
        alone.count(-1)
    made = Abstraction.of(tb.Grid([[1, 1]]))
    with pytest.raises(tb.ProblemError, match="the goal 7 is not a region"):
        made.world(1).state_of(7, "goal")


def test_a_world_is_freed() -> None:
    """What is kept with a world does not keep it."""
    import gc
    import weakref

    world = tb.Grid(np.ones((9, 9)))
    made = Abstraction.of(world)
    seen = weakref.ref(world)
    assert made.height > 1
    gc.disable()
    try:
        del world
        assert seen() is None
    finally:
        gc.enable()
    assert made.count(1) == 25


def test_a_copy_has_regions_of_its_own() -> None:
    world = tb.Grid(np.ones((4, 4)))
    made = Abstraction.of(world)
    same = world.copy()
    same.block((0, 0))
    assert Abstraction.of(same) is not made
    assert (Abstraction.of(same).count(0), Abstraction.of(world).count(0)) == (15, 16)


def test_regions_as_the_user_sees_them() -> None:
    world = tb.Grid([[1, 1, 0, 1], [1, 1, 0, 1]])
    assert tb.regions(world, 1).tolist() == [[0, 0, -1, 1], [0, 0, -1, 1]]
    assert tb.regions(world, 0).shape == (2, 4)
    assert tb.regions(tb.Graph([0, 1], [1, 2], directed=False), 1).tolist() == [0, 0, 0]


@pytest.mark.once
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 30), seeds)
@settings(max_examples=40, deadline=None)
def test_neighbours_differ_in_colour(rows: int, cols: int, count: int, seed: int) -> None:
    """Even regions that no abstraction would make; and there are numbers that no region has."""
    regions = np.random.default_rng(seed).integers(-1, count, (rows, cols)).astype(np.int32)
    colour = colouring(regions)
    for here, there in ((regions[1:], regions[:-1]), (regions[:, 1:], regions[:, :-1])):
        beside = (here != there) & (here >= 0) & (there >= 0)
        assert (colour[here[beside]] != colour[there[beside]]).all()


@pytest.mark.once
def test_a_picture_of_regions() -> None:
    pytest.importorskip("PIL")
    picture = np.asarray(draw_regions(np.array([[0, 0, 1], [0, 0, -1]]), size=30))
    assert picture.shape == (20, 30, 3)
    assert tuple(picture[15, 25]) == WALL
    left, line, right = (tuple(int(part) for part in picture[5, x]) for x in (5, 20, 25))
    assert left != right
    assert {left, right} <= set(TINTS)
    assert line == tuple(part // 2 for part in right)
    assert draw_regions(np.zeros((40, 20), np.int32), size=20).size == (10, 20)
