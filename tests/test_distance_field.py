"""Distance fields: equal to Dijkstra's algorithm after any edits, slices and moves of the goals; never a false word."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, edit_roads, grounds, roads
from helpers import COMPILED, Case, points
from naive.distance_field import distances, next_steps
from naive.repeated import Ground, Roads
from naive.worlds import Step
from timebound.kernels import shared_field
from timebound.kernels.distance_field import AT_GOAL, NOWHERE, UNKNOWN
from timebound.kernels.jit import let_go, seize
from timebound.kernels.layout import STAMP_MAX
from timebound.kernels.queues import HeapQueue
from timebound.worlds import changes


def is_wall(case: Case, place: Any) -> bool:
    return isinstance(case.twin, Ground) and not case.twin.is_free(*place)


def places(case: Case) -> list[Any]:
    """All there are, walls too."""
    if isinstance(case.twin, Ground):
        return [(row, col) for row in range(case.world.shape[0]) for col in range(case.world.shape[1])]
    return case.twin.points()


def in_its_units(case: Case) -> Case:
    """The same roads with the whole costs that the graph has: ties are then ties for both."""
    unit = case.world.unit
    arcs = {
        here: [
            Step(step.target, math.ceil(step.length * unit - 1e-9), step.length) for step in case.twin.successors(here)
        ]
        for here in case.twin.points()
    }
    return Case(case.world, Roads(arcs, unit, case.twin.estimate, case.twin.shift), case.start, case.goal)


class Judge:
    """A field, and what it must say."""

    def __init__(self, case: Case, random: np.random.Generator) -> None:
        self.case, self.random = case, random
        self.field = tb.DistanceField(case.world, *self.draw())

    def draw(self) -> tuple[Any, Any]:
        """Other goals, walls among them; with costs or without."""
        all_of_them = places(self.case)
        count = int(self.random.choice([1, 1, 1, 2, 5]))
        goals = [all_of_them[int(k)] for k in self.random.integers(len(all_of_them), size=count)]
        costs = self.random.choice([0.0, 0.5, -1.25, 3.0, 40.0], count) if self.random.random() < 0.4 else None
        unit = self.case.world.unit
        least = 0.0 if costs is None else float(costs.min())
        self.costs: dict[Any, int] = {}
        for goal, cost in zip(goals, np.zeros(count) if costs is None else costs, strict=True):
            whole = round((float(cost) - least) * unit)
            self.costs[goal] = min(whole, self.costs.get(goal, whole))
        self.offset = round(least * unit)
        return goals, costs

    def check(self, whole: bool = False) -> None:
        """What is told is true; if ``whole``, everything is told."""
        case, field = self.case, self.field
        best = distances(case.twin, self.costs)
        known = 0
        for place in places(case):
            told = field.distance(place)
            known += not math.isnan(told)
            if math.isnan(told):
                assert not whole
                assert not is_wall(case, place)
            elif is_wall(case, place) or place not in best:
                assert told == math.inf
            else:
                assert told * case.world.unit - self.offset == pytest.approx(best[place], abs=1e-3), place
                # A step from where the distance is known is one of the best.
                there = field.step(place)
                right = next_steps(case.twin, best, place)
                if best[place] == self.costs.get(place):
                    assert there is None
                else:
                    assert there in right
        if field.done:
            assert known == len(places(case))
        every = field.distances
        for place, told in zip(places(case), every.ravel(), strict=True):
            assert told == pytest.approx(field.distance(place), nan_ok=True)
        for place, there in zip(places(case), points(field.steps(places(case))), strict=True):
            step = field.step(place)
            assert there == (place if step is None else step)
            if there != place:
                assert there in [step.target for step in case.twin.successors(place)]

    def walk(self) -> None:
        """Paths cost what the distances say, and end at a goal."""
        best = distances(self.case.twin, self.costs)
        for place in places(self.case):
            path = self.field.path(place)
            if place not in best or is_wall(self.case, place):
                assert path is None
                continue
            states = points(path)
            assert states[0] == place
            total = self.costs[states[-1]]
            for here, there in pairwise(states):
                total += next(step.cost for step in self.case.twin.successors(here) if step.target == there)
            assert total == best[place]


def judged(case: Case, edit: Any, seed: int, rounds: int) -> None:
    random = np.random.default_rng(seed)
    judge = Judge(case, random)
    for _ in range(rounds):
        what = random.random()
        if what < 0.4:
            for _ in range(int(random.choice([1, 1, 4]))):
                edit(random, case)
            if random.random() < 0.3:
                judge.field.update()
        elif what < 0.5:
            judge.field.retarget(*judge.draw())
        elif what < 0.6:
            judge.field.grow()
        else:
            judge.field.grow(int(random.choice([1, 2, 3, 7, 20])))
        judge.check()
    judge.field.grow()
    assert judge.field.done
    judge.check(whole=True)
    judge.walk()


@given(case=grounds(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60 if COMPILED else 12)
def test_a_field_on_a_grid_that_changes(case: Case, seed: int) -> None:
    judged(case, edit_ground, seed, 20 if COMPILED else 12)


@given(case=roads(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60 if COMPILED else 12)
def test_a_field_on_a_graph_that_changes(case: Case, seed: int) -> None:
    judged(in_its_units(case) if case.world.labels is None else case, edit_roads, seed, 20 if COMPILED else 12)


# --- goals that move ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [3, 12])
def test_a_chase_never_stands_still(share: int) -> None:
    """The goal moves every third frame, before its field is done: who had a step once always has one, and arrives."""
    side = 14
    world = tb.Grid(np.ones((side, side)))
    world.block([(row, 6) for row in range(1, side)])
    random = np.random.default_rng(1)
    player = (side - 1, side - 1)
    field = tb.DistanceField(world, player)
    field.grow()
    monsters = [(side - 1, 0), (0, 0), (5, 9)]
    for frame in range(60):
        if frame % 3 == 0:
            steps = [p for p in ((0, 1), (1, 0), (0, -1), (-1, 0)) if world.free[_moved(player, p, side)]]
            player = _moved(player, steps[int(random.integers(len(steps)))], side)
            field.retarget(player)
        assert field.grow(share) <= share
        assert len(field._layers) <= 3
        after = points(field.steps(monsters))
        for here, there in zip(monsters, after, strict=True):
            if here == there:
                assert not math.isnan(field.distance(here)) or here in _goals_of_layers(field)
            else:
                tb.validate(world, [here, there])
        monsters = after
    for _ in range(200):
        field.grow(share)
        monsters = points(field.steps(monsters))
    assert monsters == [player] * 3
    assert len(field._layers) == 1


def _moved(place: tuple[int, int], step: tuple[int, int], side: int) -> tuple[int, int]:
    row, col = place[0] + step[0], place[1] + step[1]
    return (row, col) if 0 <= row < side and 0 <= col < side else place


def _goals_of_layers(field: tb.DistanceField) -> list[Any]:
    return [field.world.point_of(int(goal)) for layer in field._layers for goal in layer.state.goals]


def test_arrays_of_before_are_used_again() -> None:
    world = tb.Grid(np.ones((4, 4)))
    field = tb.DistanceField(world, (0, 0))
    seen = set()
    for k in range(6):
        field.retarget((k % 4, 3))
        field.grow()
        assert field.distance((k % 4, 0)) == 3
        seen |= {id(layer) for layer in [*field._layers, *field._spare]}
    assert len(seen) == 2


def test_a_field_that_knows_nothing_is_aimed_anew() -> None:
    field = tb.DistanceField(tb.Grid(np.ones((3, 3))), (0, 0))
    field.retarget([(2, 2), (0, 2)])
    assert len(field._layers) == 1
    assert points(field.goals) == [(0, 2), (2, 2)]
    field.grow()
    assert field.distance((0, 0)) == 2


# --- while a repair is under way ------------------------------------------------------------------------------------


def test_what_an_edit_did_not_touch_is_known_at_once() -> None:
    world = tb.Grid(np.ones((1, 20)))
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    world.block((0, 10))
    assert np.isnan(field.distances[0, :10]).all()  # the log is not read
    assert field.step((0, 5)) == (0, 4)  # but nobody need stand still
    assert field.step((0, 11)) is None  # and nobody walks into the wall
    field.update()
    assert field.distances[0, :10].tolist() == list(range(10))
    assert np.isnan(field.distances[0, 12:]).all()
    assert not field.done
    assert field.step((0, 15)) == (0, 14)  # by what was known before
    assert field.grow() == 20  # ten are doubted, and to none of the ten is anything offered
    assert np.isinf(field.distances[0, 10:]).all()
    assert field.step((0, 15)) is None
    world.unblock((0, 10))
    assert field.grow() == 11  # the one before the gap passes its distance on, and so on
    assert field.distances[0].tolist() == list(range(20))


def test_ties_are_not_touched() -> None:
    """Around a wall in the open most states have another way that is as short."""
    world = tb.Grid(np.ones((15, 15)))
    field = tb.DistanceField(world, (7, 0))
    whole = field.grow()
    world.block((7, 10))
    assert field.grow() < whole / 3


def test_a_budget_is_kept() -> None:
    world = tb.Grid(np.ones((9, 9)))
    field = tb.DistanceField(world, (4, 4))
    total = 0
    while not field.done:
        spent = field.grow(4)
        assert 0 < spent <= 4
        total += spent
    assert total == tb.DistanceField(world, (4, 4)).grow()
    assert field.grow(4) == 0
    while not field.done:
        field.grow("1us")
    assert field.grow("1ms") == 0


def test_nothing_left_of_a_frame_is_a_budget_too() -> None:
    """It takes notice of edits, and repairs nothing."""
    world = tb.Grid([[1, 1, 1, 1]])
    field = tb.DistanceField(world, (0, 0))
    assert field.grow(0) == 0
    assert not field.done
    field.grow()
    world.block((0, 3))
    assert field.grow(0) == 0
    assert field.distances.tolist() == [[0.0, 1.0, 2.0, math.inf]]
    for wrong in (-1, False):
        with pytest.raises(tb.Error, match="budget"):
            field.grow(wrong)


def test_many_goals_are_set_within_the_budget() -> None:
    """Setting a goal is a chore, 64 of which come with an expansion."""
    world = tb.Grid(np.ones((20, 20)))
    field = tb.DistanceField(world, np.ones((20, 20), bool))
    assert field.grow(1) == 0
    memo = field._layers[0].state.memo
    assert memo["goals"][0] == 128
    field.grow()
    assert not field.distances.any()


# --- room -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "far"])
def test_everything_can_grow(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_field, "_PER_STATE", 0)
    monkeypatch.setattr(shared_field, "_LEAST", 1)
    monkeypatch.setattr(shared_field, "_KEYS", 1)
    cells = np.ones((12, 12))
    cells[3:9, 5] = 0 if kind == "plain" else 100
    world = tb.Grid(cells)
    field = tb.DistanceField(world, [(0, 0), (11, 11)], costs=[0, 3])
    random = np.random.default_rng(3)
    for _ in range(12):
        field.grow(9)
        world.block(random.integers(12, size=(6, 2)))
        world.unblock(random.integers(12, size=(6, 2)))
    field.grow()
    assert field._layers[0].version > 3
    fresh = tb.DistanceField(world, [(0, 0), (11, 11)], costs=[0, 3])
    fresh.grow()
    assert np.array_equal(field.distances, fresh.distances)


def test_goals_whose_costs_lie_far_apart() -> None:
    """They would need too many buckets: such fields use a heap."""
    world = tb.Grid(np.ones((3, 30)), terrain=True)
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    field.retarget([(0, 0), (0, 29)], costs=[1e6, 0])
    field.grow()
    assert field.distance((0, 0)) == 29
    assert isinstance(field._layers[0].state.queue, HeapQueue)


def test_stamps_run_out() -> None:
    world = tb.Grid(np.ones((5, 5)))
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    for layer in field._layers:
        layer.state.table.stamp[0] = STAMP_MAX - 1
        layer.state.memo["begun"] = 0
    for k in range(4):
        field.grow()
        assert field.distance((0, 0)) == k
        field.retarget((0, k + 1))
        assert field.step((0, 0)) is not None or k == 0


def test_a_field_that_slept_too_long_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "RING", 4)
    world = tb.Grid(np.ones((6, 6)))
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    world.block([(1, col) for col in range(5)])
    assert field.grow() >= 30
    assert field.distance((2, 0)) == 12
    for col in range(5):
        world.unblock((1, col))
        field.grow(3)
    field.grow()
    assert field.distance((2, 0)) == 2


def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient() -> np.ndarray:
        return np.array([0, 0, 0, 1, 1], np.int64)

    told = []
    for paused in (False, True):
        with monkeypatch.context() as patch:
            if paused:
                patch.setattr(shared_field, "new_clock", impatient)
                patch.setattr(shared_field, "wind", lambda clock: None)
            world = tb.Grid(np.ones((8, 8)))
            field = tb.DistanceField(world, (0, 0))
            spent = [field.grow(30)]
            world.block([(2, col) for col in range(7)])
            spent += [field.grow(7), field.grow(7)]
            spent.append(field.grow())
            told.append((spent, field.distances.tolist()))
    assert told[0] == told[1]


# --- copies, threads, processes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda field: pickle.loads(pickle.dumps(field))])
@given(case=st.one_of(grounds(6), roads()), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25 if COMPILED else 5)
def test_a_copy_knows_what_the_original_knows(copied: Any, case: Case, seed: int) -> None:
    """In the middle of growth or repair; and it goes on in the same way, in a world of its own."""
    random = np.random.default_rng(seed)
    edit = edit_ground if isinstance(case.world, tb.Grid) else edit_roads
    judge = Judge(case, random)
    for _ in range(3):
        judge.field.grow(int(random.integers(1, 30)))
        edit(random, case)
    twin = copied(judge.field)
    assert twin.world is not case.world
    while True:
        assert np.array_equal(judge.field.distances, twin.distances, equal_nan=True) or not judge.field.done
        if judge.field.done and twin.done:
            break
        assert judge.field.grow(5) == twin.grow(5)
    edit(random, case)
    assert twin.done


def test_a_shallow_copy_has_goals_of_its_own() -> None:
    """And the same world."""
    world = tb.Grid(np.ones((1, 8), bool))
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    other = copy.copy(field)
    assert other.world is world
    other.retarget((0, 7))
    other.grow()
    assert field.distances.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert other.distances.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0]]


def test_a_fork_in_the_middle() -> None:
    """A thread that was at work is not there in the child: what it left half-done is begun anew."""
    world = tb.Grid(np.ones((4, 4)))
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    layer = field._layers[0]
    shared_field._after_fork_in_child()
    assert field.done
    layer.state.lock[0] = 7
    shared_field._after_fork_in_child()
    assert not field.done
    field.grow()
    assert field.distance((0, 3)) == 3


def test_one_at_a_time() -> None:
    lock = np.zeros(1, np.int64)
    assert seize(lock, 3)
    assert seize(lock, 3)  # it has it
    assert not seize(lock, -4)
    let_go(lock, -4)
    assert not seize(lock, -4)
    let_go(lock, 3)
    assert seize(lock, -4)


def test_a_field_in_several_threads() -> None:
    side = 60 if COMPILED else 12
    world = tb.Grid(tb.generate.random_obstacles((side, side), 0.2, seed=2))
    places = np.argwhere(world.free)
    field = tb.DistanceField(world, places[0])
    errors: list[BaseException] = []

    def work(k: int) -> None:
        random = np.random.default_rng(k)
        try:
            for _ in range(40 if COMPILED else 10):
                field.grow(50)
                field.steps(places)
                cell = places[int(random.integers(1, len(places)))]
                world.block(cell)
                world.unblock(cell)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not errors
    field.grow()
    fresh = tb.DistanceField(world, places[0])
    fresh.grow()
    assert np.array_equal(field.distances, fresh.distances)


# --- what it is given -----------------------------------------------------------------------------------------------


def test_goals_of_all_kinds() -> None:
    world = tb.Grid(np.ones((3, 4)))
    mask = np.zeros((3, 4), bool)
    mask[0, 1] = mask[2, 3] = True
    costs = np.arange(12.0).reshape(3, 4)
    for goals, cost in ((mask, costs), (mask, [1.0, 11.0]), ([(2, 3), (0, 1), (2, 3)], [11, 1, 99])):
        field = tb.DistanceField(world, goals, costs=cost)
        field.grow()
        assert points(field.goals) == [(0, 1), (2, 3)]
        assert field.distance((0, 1)) == 1
    names = tb.Graph.from_networkx(nx.path_graph([("a", 1), "b", ("c", 2)]))
    for goals, far in ((("a", 1), 2.0), ([("a", 1), "b"], 1.0), ((("a", 1), ("c", 2)), 0.0), ({"b"}, 1.0)):
        field = tb.DistanceField(names, goals)
        field.grow()
        assert field.distance(("c", 2)) == far
    assert field.steps([("a", 1), "b"]) == ["b", "b"]
    assert field.steps([]) == []
    assert repr(field).startswith("<DistanceField, 1 goal, done, ")


def test_running_away() -> None:
    """The trick of roguelikes: from far away things look better than from near, so nobody runs into a corner."""
    cells = np.ones((7, 9), bool)
    cells[1:, 4] = False
    world = tb.Grid(cells)
    near = tb.DistanceField(world, (5, 2))
    near.grow()
    reached = np.isfinite(near.distances)
    flight = tb.DistanceField(world, reached, costs=-1.2 * near.distances)
    flight.grow()
    place = (6, 3)  # a corner beside the hunter
    path = points(flight.path(place))
    assert near.distance(path[-1]) > near.distance(place)
    assert (0, 4) in path  # through the gap


ROAD = tb.Graph([0, 1], [1, 2], directed=True)


@pytest.mark.parametrize(
    ("world", "arguments", "problem", "sentence"),
    [
        (ROAD, (0,), tb.WorldError, "one-way arcs"),
        (tb.TilePuzzle(2, 2), ((0, 1, 2, 3),), tb.WorldError, "a puzzle has too many"),
        ([[1, 1]], ((0, 0),), tb.WorldError, r"tb.Grid\(array\)"),
        (tb.Grid([[1, 1]]), ([],), tb.ProblemError, "at least one goal"),
        (tb.Grid([[1, 1]]), (np.where([[True, True]]),), tb.ProblemError, r"take np.argwhere\(mask\)"),
        (tb.Grid([[1, 1]]), (np.zeros((1, 2), bool),), tb.ProblemError, "at least one goal"),
        (tb.Grid([[1, 1]]), (np.ones((2, 2), bool),), tb.ProblemError, "mask of goals has shape"),
        (tb.Grid([[1, 1]]), ((0, 5),), tb.ProblemError, "the goal .* is off the map"),
        (tb.Grid([[1, 1]]), ([(0, 0), (3, 0)],), tb.ProblemError, "the goal .* is off the map"),
        (tb.Grid([[1, 1]]), ((0, 0), [1, 2]), tb.ProblemError, "1 goals need one cost"),
        (tb.Grid([[1, 1]]), ((0, 0), math.inf), tb.ProblemError, "is a number, not inf"),
        (tb.Grid([[1, 1]]), ((0, 0), "x"), tb.WorldError, "the goals' costs must be numbers"),
        (tb.Grid([[1, 1]]), ([(0, 0), (0, 1)], [0, 1e12]), tb.ProblemError, "may differ by at most"),
        (tb.Grid([[1, 1]]), ((0, 0), 1e300), tb.ProblemError, "may be at most .* in this world, not 1e.300"),
        (tb.Grid(np.ones((3, 3))), (np.ones((3, 3)),), tb.ProblemError, "mask of goals is boolean; .* array != 0"),
        (tb.Graph([0], [1], directed=False), (7,), tb.ProblemError, "the goal 7"),
    ],
)
def test_what_cannot_be(world: Any, arguments: Any, problem: type[tb.Error], sentence: str) -> None:
    with pytest.raises(problem, match=sentence) as caught:
        tb.DistanceField(world, *arguments)
    assert "\n" not in str(caught.value)


def test_places_that_are_none() -> None:
    field = tb.DistanceField(tb.Grid([[1, 0, 1]]), (0, 0))
    field.grow()
    assert field.distance((0, 1)) == math.inf
    assert field.path((0, 1)) is field.path((0, 2)) is field.step((0, 1)) is None
    assert points(field.path((0, 0))) == [(0, 0)]
    for ask in (field.distance, field.step, field.path, lambda point: field.steps([point])):
        with pytest.raises(tb.ProblemError, match="off the map"):
            ask((0, 3))
    for wrong, words in (
        ([[1.5, 2]], "places on a grid are"),
        ((0, 2), r"a list or an array of them, not \(0, 2\); for one there is step"),
        (np.array([0, 2]), "for one there is step"),
        (None, "for one there is step"),
        (np.array(3), "for one there is step"),
        (np.ma.array([(0, 0)]), "for one there is step"),
        ({(0, 0)}, "for one there is step"),
        (np.where(np.eye(2)), "np.arg"),
    ):
        with pytest.raises(tb.ProblemError, match=words):
            field.steps(wrong)


def test_a_graph_that_becomes_one_way() -> None:
    world = tb.Graph([0, 1, 1, 2], [1, 0, 2, 1], directed=True)
    field = tb.DistanceField(world, 0)
    field.grow()
    assert field.distance(2) == 2
    world.block(2, 1)
    with pytest.raises(tb.WorldError, match="one-way"):
        field.grow()


def test_no_way_to_the_last_goal_says_nothing_of_the_next() -> None:
    """While a field grows for its new goals an older one helps out: with steps, not with proofs."""
    world = tb.Grid([[1, 1, 1, 0, 1, 1, 1]])
    field = tb.DistanceField(world, (0, 0))
    field.grow()
    cells = world.path_states([(0, 0), (0, 2), (0, 4), (0, 6)])
    assert field.following(cells).tolist() == [AT_GOAL, cells[1] - 1, NOWHERE, NOWHERE]
    field.retarget((0, 6))
    assert field.following(cells).tolist() == [UNKNOWN, cells[1] - 1, UNKNOWN, UNKNOWN]
    field.grow()
    assert field.following(cells).tolist() == [NOWHERE, NOWHERE, cells[2] + 1, AT_GOAL]
