"""Who has no turn in a frame that is too small for all walks on along what it has planned."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import corridors
from helpers import COMPILED
from timebound import fleet as fleet_module
from timebound.algorithms import time_bounded
from timebound.algorithms.shortcuts import WALKING
from timebound.kernels.layout import GROW
from timebound.kernels.loop import EPISODE
from timebound.kernels.plain_records import by_attribute
from timebound.kernels.tables import state_of
from timebound.kernels.turns import in_need, starters

SPECS = ["tb-wa*", "tba*:steady=true", "tba*:shortcut=true", "tba*:acting=late", "rtb-wa*", "tb-gbfs"]


def crowded(
    spec: str, seed: int, count: int = 40, each: int = 10, side: int = 40, **options: Any
) -> tuple[Any, np.ndarray]:
    """A fleet with so few expansions for each that they take turns."""
    world = tb.Grid(tb.generate.rooms((side, side), room=8 if side == 40 else 6, seed=seed))
    free = np.argwhere(world.free)
    random = np.random.default_rng(seed)
    starts = free[random.choice(len(free), count, replace=False)]
    goals = free[random.choice(len(free), count, replace=False)]
    fleet = tb.Fleet(world, spec, frame_expansions=each * count, **options)
    return fleet, fleet.add(starts, goals)


def tick(fleet: tb.Fleet) -> None:
    """One that is looked at: legal moves, within the frame."""
    before = fleet.positions.copy()
    moved = fleet.tick()
    after = fleet.positions
    changed = (before != after).any(axis=1)
    assert (changed <= fleet.moved).all()
    assert moved == fleet.moved.sum()
    assert fleet.stats.last_expansions <= fleet.frame_expansions
    for one, other in zip(before[changed], after[changed], strict=True):
        tb.validate(fleet.world, [tuple(one), tuple(other)])


@pytest.mark.parametrize("spec", SPECS)
def test_few_have_turns_and_nearly_all_move(spec: str) -> None:
    """Late acting walks once the whole way is known; all others from the first tick on."""
    fleet, ids = crowded(spec, 3)
    on_way = served = 0
    for _ in range(20):
        on_way += fleet.active
        tick(fleet)
        served += fleet.stats.served
    assert served < 0.8 * on_way
    assert "late" in spec or fleet.stats.moves > 0.9 * on_way
    while fleet.active and fleet.stats.ticks < 3000:
        tick(fleet)
    assert (fleet.statuses[ids] == 1).all()


@pytest.mark.compiled
def test_they_walk_as_well_as_if_each_planned_a_little() -> None:
    turns, ids = crowded("tb-wa*:weight=3", 5, 60)
    little, _ = crowded("tb-wa*:weight=3", 5, 60, budget=10)
    for fleet in (turns, little):
        while fleet.active:
            tick(fleet)
    assert turns.costs[ids].sum() < 1.1 * little.costs[ids].sum()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("collisions", [False, True])
def test_what_happens_while_they_walk(spec: str, collisions: bool) -> None:
    """Walls are built in front of them and taken away, goals move, units are put elsewhere and come and go."""
    fleet, ids = crowded(spec, 7, collisions=collisions)
    world, random = fleet.world, np.random.default_rng(7)
    twin: Any = None
    for number in range(120):
        free = np.argwhere(world.free)
        if number % 7 == 0:
            taken = {tuple(point) for point in fleet.positions[ids].tolist()}
            cells = [
                tuple(cell) for cell in free[random.integers(len(free), size=20)].tolist() if tuple(cell) not in taken
            ]
            world.block(cells)
        elif number % 7 == 3:
            world.unblock(cells)
        elif number % 7 == 5:
            fleet.send(ids[random.integers(len(ids), size=1)], free[random.integers(len(free))])
        elif number % 11 == 0:
            inside = {tuple(point) for point in fleet.positions[ids].tolist()}
            spot = next(tuple(cell) for cell in random.permutation(free).tolist() if tuple(cell) not in inside)
            fleet.place(ids[random.integers(len(ids), size=1)], [spot])
        tick(fleet)
        if collisions:
            assert len(np.unique(fleet.positions[ids], axis=0)) == len(ids)
        if number == 63:
            twin = pickle.loads(pickle.dumps(fleet))
        elif number in (64, 65):
            twin.tick()  # no edits and no orders in between
            assert (twin.positions == fleet.positions).all()
            assert (twin.costs == fleet.costs).all()


def has_path(fleet: tb.Fleet, agent: int) -> bool:
    """Whether there is more of a path than where the agent stands, so that it can go along it or back to it."""
    planner = fleet._roster.planners[agent]
    if planner is None:
        return False
    state, row = planner.state, int(planner.state.follow["active"][0])
    if not state.follow["begun"][0] or state.fronts[row] == state.ends[row]:
        return False
    end = int(state_of(state.table, np.int64(state.paths[row, state.ends[row] - 1])))
    return end != fleet._roster.episodes["position"][agent]


@pytest.mark.parametrize("spec", ["tb-wa*", "tb-gbfs"])
def test_who_stands_has_nothing_to_walk_along(spec: str) -> None:
    """Neither at the root of its tree, though it came there by stepping back and its path begins there."""
    stood = 0
    for seed in range(3):
        fleet, ids = crowded(spec, seed, 60)
        for _ in range(40):
            known = [has_path(fleet, k) for k in ids]
            tick(fleet)
            stands = (fleet.statuses[ids] == 0) & ~fleet.moved[ids] & (fleet.stats.waited[ids] > 0)
            assert not (stands & known).any()
            stood += np.count_nonzero(stands)
    assert stood, "some have nothing"


@pytest.mark.parametrize("spec", ["tb-wa*", "tba*"])
def test_threads_walk_alike(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_SHORT", -1.0)
    fleets = [crowded(spec, 9, threads=threads)[0] for threads in (1, 2)]
    for _ in range(80):
        for fleet in fleets:
            tick(fleet)
        assert (fleets[0].positions == fleets[1].positions).all()
        assert fleets[0].stats.last_expansions == fleets[1].stats.last_expansions


def test_a_wall_in_front_of_a_walker_stops_it_until_its_turn() -> None:
    """It plans anew when that comes, and does not try to walk through before."""
    world = tb.Grid(np.ones((3, 60), bool))
    fleet = tb.Fleet(world, "tb-wa*:weight=3", frame_expansions=60)
    ids = fleet.add([(1, 0)] * 10, (1, 59))
    for _ in range(12):
        tick(fleet)
    world.block((1, 30))
    world.block((0, 31))
    while fleet.active:
        tick(fleet)
    assert (fleet.statuses[ids] == 1).all()
    world.block([(0, 5), (1, 5), (2, 5)])
    fleet.send(ids, (1, 0))
    while fleet.active:
        tick(fleet)
    assert (fleet.statuses[ids] == 2).all()


def test_whoever_has_nothing_to_walk_along_begins_before_its_turn_in_a_crew_of_its_own_too() -> None:
    """Where estimates are a function of the goal, each goal makes a crew."""
    nodes = np.arange(399)
    world = tb.Graph(nodes, nodes + 1, np.ones(399), nodes=400, directed=False, heuristic=lambda goal: np.zeros(400))
    for goals in ([399] * 20, list(range(380, 400))):
        fleet = tb.Fleet(world, "tb-wa*", frame_expansions=120)
        fleet.add(list(range(0, 200, 10)), goals)
        assert [fleet.tick() for _ in range(10)] == [20] * 10


def test_the_first_frame_is_used_by_all() -> None:
    """All are in need of a turn, so nothing is kept for those who are not."""
    fleet, _ = crowded("tb-wa*", 5)
    assert fleet.tick() == 40
    assert fleet.stats.last_expansions > 0.9 * fleet.frame_expansions


@pytest.mark.parametrize("spec", ["tb-wa*", "lrta*", "rtaa*"])
@pytest.mark.parametrize("corners", ["never", "always"])
def test_every_move_is_one_of_a_tick(corners: str, spec: str) -> None:
    """A step that was held, and somebody stood in the way of, is asked for again, though it be the last one known.

    Who cannot walk on asks for it when its turn comes, and moves before that only to make way: there may be where it
    wished to be.
    """
    cells = np.random.default_rng(4).random((9, 9)) > 0.15
    world = tb.Grid(cells, corners=corners)
    free = np.argwhere(world.free)
    random = np.random.default_rng(1)
    fleet = tb.Fleet(world, spec, frame_expansions=20 if spec == "tb-wa*" else 8, collisions=True)
    ids = fleet.add(free[random.choice(len(free), 20, replace=False)], free[random.choice(len(free), 20)])
    for n in range(600):
        if n % 20 == 19:
            fleet.send(ids, free[random.choice(len(free), 20)])
        books, before = fleet._roster.episodes, fleet.positions[ids].tolist()
        moves, ticks = books["moves"][ids].copy(), books["ticks"][ids].copy()
        tick(fleet)
        beside = (books["moves"][ids] > moves) & (books["ticks"][ids] == ticks)
        after = fleet.positions[ids].tolist()
        assert all(before[k] in after for k in np.flatnonzero(beside)), "nobody made it way"
        assert spec != "tb-wa*" or not beside.any()


@pytest.mark.parametrize(("low", "drop"), [(12, 2), (20, 6)])
def test_they_walk_along_shortcuts_too(low: int, drop: int) -> None:
    cells, start, goal, _ = corridors(low, 6, 20, drop)
    near = np.argwhere(cells)
    near = near[np.argsort(np.abs(near - start).sum(axis=1), kind="stable")[:8]]
    world = tb.Grid(cells, connectivity=4)
    fleet = tb.Fleet(world, "tba*:r=0.1,shortcut=true", frame_expansions=160, budget=200)
    ids, along = fleet.add(near, goal), 0
    while fleet.active:
        states = [planner.state if planner is not None else None for planner in fleet._roster.planners]
        before = [
            int(state.plan[0]) if state is not None and state.follow["cutting"][0] == WALKING else None
            for state in states
        ]
        tick(fleet)
        for k in ids[(fleet.stats.waited[ids] > 0) & fleet.moved[ids]]:
            along += before[k] is not None and int(states[k].plan[0]) == before[k] + 1
    assert along, "some have none, or have their turn meanwhile"
    assert (fleet.statuses[ids] == 1).all()


def test_who_is_pushed_off_a_shortcut_forgets_it() -> None:
    """Late acting does not go on from there; it had kept a step of before, which was none from where it stood then."""
    for seed in range(20):
        fleet, _ = crowded("tba*:acting=late,shortcut=true", seed, 24, 20, side=21, collisions=True)
        for _ in range(60):
            tick(fleet)
        assert (fleet.statuses != 3).all()


@pytest.mark.skipif(COMPILED, reason="lets a search have no room")
@pytest.mark.parametrize(("low", "drop"), [(12, 2), (20, 6), (40, 10)])
def test_a_shortcut_that_is_shut_is_forgotten_though_there_is_no_room_yet(
    low: int, drop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = time_bounded.begin, [0]

    def begin(*told: Any) -> int:
        left[0] -= 1
        return GROW if left[0] == 0 else real(*told)

    monkeypatch.setattr(time_bounded, "begin", begin)
    cells, start, goal, _ = corridors(low, 6, 20, drop)
    world = tb.Grid(cells, connectivity=4)
    fleet = tb.Fleet(world, "tba*:r=0.1,shortcut=true", frame_expansions=200, budget=200)
    fleet.add([start], [goal])
    while True:
        fleet.tick()
        state = fleet._roster.planners[0].state
        if state.follow["cutting"][0] == WALKING and state.plan[0] < state.plan[1]:
            break
    world.block(world.point_of(int(state.route[state.plan[0]])))
    left[0] = 1
    fleet.tick()
    assert left[0] < 0, "the search had no room, and has begun again"
    assert fleet.status(0) in ("active", "unreachable")


@pytest.mark.parametrize("milliseconds", [0.02, 0.2])
def test_a_frame_of_milliseconds_that_is_too_small(milliseconds: float) -> None:
    """Nobody is forgotten, however little there is time for."""
    world = tb.Grid(tb.generate.rooms((30, 30), room=6, seed=2))
    free = np.argwhere(world.free)
    fleet = tb.Fleet(world, "tb-wa*:weight=3", frame_ms=milliseconds)
    ids = fleet.add(free[:150], free[-1])
    while fleet.active and fleet.stats.ticks < 20_000:
        fleet.tick()
    assert (fleet.statuses[ids] == 1).all()


@pytest.mark.once
@given(data=st.data())
@settings(max_examples=80)
def test_who_is_first_as_counted_by_hand(data: st.DataObject) -> None:
    """``starters`` against the obvious: shares of what there is, in the order of places from where it begins."""
    count, limit = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 60))
    episodes: Any = by_attribute(np.zeros(12, EPISODE))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    for name, of in (("status", [0, 0, 0, 1]), ("crew", [2, 2, 2, 3]), ("served", [4, 4, 5]), ("weight", [1, 1, 3])):
        episodes[name] = random.choice(of, 12)
    wants, order = random.random(12) < 0.7, random.permutation(12)
    room, share, more = (data.draw(st.integers(*ends)) for ends in ((0, 200), (1, 40), (0, 100)))
    begin = data.draw(st.integers(0, count - 1))
    there = (episodes["status"] == 0) & (episodes["crew"] == 2) & (episodes["served"] != 5)
    around = [k for k in np.roll(order[:count], -begin).tolist() if wants[k] and there[k]]
    needs = {k: min(share * int(episodes["weight"][k]), limit) for k in around}
    chosen, left = [], room
    for k in around:
        if needs[k] <= left:
            left -= needs[k]
            chosen.append(k)
    assert in_need(episodes, order, wants, count, 2, 5, limit) == sum(int(episodes["weight"][k]) for k in around)
    found = np.zeros(14, np.int64)
    starters(episodes, order, wants, begin, count, 2, 5, share, limit, room, room + more, found)
    assert found[1] == len(chosen)
    assert found[2 : 2 + len(chosen)].tolist() == chosen
    late = [k for k in around if k not in chosen and needs[k] <= room + more]
    if late:
        assert order[found[0]] == late[0], "the first the next time"
    else:
        assert found[0] == begin
