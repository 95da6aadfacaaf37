"""Fleets: every agent moves as it would alone, within the frame, and none is forgotten."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
import timebound.fleet as fleet_module
import timebound.roster as roster_module
from helpers import COMPILED, companion, longest_wait, points, skip_refused
from test_registry import HOPELESS, WORLDS
from timebound.algorithms import REGISTRY
from timebound.kernels import workspace
from timebound.kernels.store import CHAINS, LOT, SIZE
from timebound.roster import RESTS, Roster

REAL_TIME = [name for name, algorithm in REGISTRY.items() if algorithm.real_time]
SIDE = 40 if COMPILED else 12


def rooms(seed: int = 1) -> tb.Grid:
    return tb.Grid(tb.generate.rooms((SIDE, SIDE), room=SIDE // 4, seed=seed))


def pairs(world: tb.Grid, count: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Starts and goals with a way between them."""
    drawn = list(tb.problems(world, count, seed=seed))
    return [one.start for one in drawn], [one.goal for one in drawn]


def walk(fleet: tb.Fleet, ticks: int = 100_000) -> list[list[Any]]:
    """Tick until nobody is on the way; where everyone was after each tick."""
    seen = []
    while fleet.active:
        fleet.tick()
        seen.append(fleet.positions.tolist())
        assert len(seen) < ticks, "somebody walks for ever"
    return seen


@pytest.mark.parametrize("name", REAL_TIME)
@pytest.mark.parametrize("kind", WORLDS)
def test_each_moves_as_it_would_alone(name: str, kind: str) -> None:
    make, tasks = WORLDS[kind]
    world = make()
    skip_refused(name, world)
    budget = 10
    extra = companion(name, world)
    fleet = tb.Fleet(world, name, frame_expansions=budget * 2 * len(tasks), budget=budget, **extra)
    ids = fleet.add([start for start, _ in tasks] * 2, [goal for _, goal in tasks] * 2)
    seen = walk(fleet)
    for k, (start, goal) in zip(ids, tasks * 2, strict=True):
        agent = tb.agent(name, world, start, goal, budget=budget, **extra)
        for step, places in enumerate(seen):
            agent.step()
            at = world.place_of(agent.position)
            there = world.place_of(tuple(places[k])) if isinstance(places[k], list) else places[k]
            assert at == there, f"tick {step} of agent {k}"
        assert fleet.status(int(k)) == agent.status == "reached"
        assert fleet.costs[k] == agent.cost


@pytest.mark.parametrize("name", REAL_TIME)
@pytest.mark.parametrize("kind", HOPELESS)
def test_says_who_has_no_way(name: str, kind: str) -> None:
    make, start, goal = HOPELESS[kind]
    world = make()
    skip_refused(name, world)
    fleet = tb.Fleet(world, name, frame_expansions=20, budget=10, **companion(name, world))
    k = int(fleet.add([start], [goal])[0])
    walk(fleet)
    assert fleet.status(k) == "unreachable"


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_move(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_SHORT", -1.0)  # so little work one thread would do alone
    many = 200 if COMPILED else 70
    seen = []
    for count in (1, threads):
        world = rooms()
        fleet = tb.Fleet(world, "tb-wa*:weight=3", frame_expansions=5 * many, threads=count)
        starts, goals = pairs(world, many)
        fleet.add(starts[::2], goals[::2])
        fleet.add(starts[1::2], goals[1::2], spec="lrta*")
        for tick in range(30):
            fleet.tick()
            if tick == 10:
                world.block(np.argwhere(world.free)[::17])
            seen.append((count, fleet.positions.copy(), fleet.statuses.copy(), fleet.stats.last_expansions))
    alone, together = seen[:30], seen[30:]
    for one, other in zip(alone, together, strict=True):
        assert (one[1] == other[1]).all()
        assert (one[2] == other[2]).all()
        assert one[3] == other[3]


@given(
    agents=st.integers(1, 30),
    frame=st.integers(1, 60),
    seed=st.integers(0, 100),
    specs=st.lists(
        st.sampled_from(["lrta*", "tb-wa*", "lrta*:depth=2", "rtaa*", "k-lrta*"]), min_size=1, max_size=3, unique=True
    ),
    priorities=st.lists(st.sampled_from([1, 1, 2, 5, 1000]), min_size=1, max_size=4),
    budget=st.sampled_from([None, 9, 20]),
)
def test_nobody_starves_and_the_frame_is_kept(
    agents: int, frame: int, seed: int, specs: list[str], priorities: list[int], budget: int | None
) -> None:
    world = tb.Grid(np.ones((9, 9), bool))
    random = np.random.default_rng(seed)
    needs = {"lrta*:depth=2": 9}
    frame = max(frame, *(needs.get(spec, 1) for spec in specs))
    fleet = tb.Fleet(world, specs[0], frame_expansions=frame, budget=budget)
    kinds = []
    for k in range(agents):
        spec, weight = specs[k % len(specs)], priorities[k % len(priorities)]
        fleet.add([tuple(random.integers(9, size=2))], tuple(random.integers(9, size=2)), spec=spec, priority=weight)
        kinds.append((weight, needs.get(spec, 1), spec == "tb-wa*"))
    bound = 0
    for _ in range(60):
        # While some arrive, others may still wait by what was promised with them.
        on_way = [kind for kind, status in zip(kinds, fleet.statuses, strict=True) if status == 0]
        bound = max(bound, longest_wait(frame, min(frame, budget or frame), on_way) if on_way else 0)
        fleet.tick()
        stats = fleet.stats
        assert stats.last_expansions <= frame
        assert stats.waited.max() <= bound


def test_who_asks_for_room_at_the_end_of_a_frame_has_it_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late it always is: who asked, and had none, has it by and by, and goes on."""
    world = tb.Grid(tb.generate.rooms((40, 40), room=10, seed=1))  # where they learn more than there is room for
    starts, goals = pairs(world, 12)
    fleet = tb.Fleet(world, "lrta*", frame_ms=1.0)
    ids = fleet.add(starts, goals)
    late = SimpleNamespace(perf_counter_ns=lambda: 1 << 62)
    monkeypatch.setattr(roster_module, "time", late)
    asked = 0
    while fleet.active and fleet.stats.ticks < 20_000:
        fleet.tick()
        asked += len(fleet._roster.lacking)
    assert (fleet.statuses[ids] == 1).all()
    assert asked
    assert not fleet._roster.lacking


@pytest.mark.parametrize("spec", ["lrta*", "tb-wa*"])
def test_with_collisions_too_who_has_no_turn_stands(spec: str) -> None:
    """Unless it is pushed, or knows where it goes next."""
    fleet = tb.Fleet(tb.Grid(np.ones((40, 40), bool)), spec, frame_expansions=1, collisions=True)
    ids = fleet.add([(0, 0), (0, 20), (20, 0), (39, 39)], [(0, 9), (9, 20), (20, 9), (30, 39)])
    assert fleet.tick() == 1
    assert fleet.moved[ids].tolist() == [True, False, False, False]
    while fleet.active:
        fleet.tick()
    assert fleet.costs[ids].tolist() == [9, 9, 9, 9]


@pytest.mark.parametrize("frame", [1, 3, 50])
def test_fields_leave_the_others_their_part(frame: int) -> None:
    """However small the frame is: fields grow, the others have their turns, and nothing is overspent."""
    world = tb.Grid(np.ones((9, 9), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=frame)
    fleet.add([(0, 0)] * 5, (8, 8))
    fleet.add((0, 1), (8, 0), priority=5)
    others = fleet.add([(0, 4), (0, 5)], (8, 4), spec="lrta*")
    for _ in range(400):
        fleet.tick()
        assert fleet.stats.last_expansions <= frame
        assert fleet.stats.waited[others].max() <= 12 // frame + 2 * 12 // 2  # two fields, with ten of twelve shares
    assert (fleet.statuses == 1).all()


def test_priority_counts_for_fields() -> None:
    """A herd has as much of a frame as its agents have together."""
    world = tb.Grid(np.ones((9, 30), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=12)
    fleet.add((0, 0), (0, 29), priority=5)
    fleet.add((8, 0), (8, 29))
    for _ in range(6):
        fleet.tick()
    known = [np.count_nonzero(~np.isnan(herd.field.distances)) for herd in fleet._roster.herds.values()]
    assert known[0] > 3 * known[1]


@pytest.mark.parametrize("how", ["cancelled", "arrived", "walled in"])
def test_who_leaves_takes_its_priority_along(how: str) -> None:
    """The frame is enough for all others, so none of them takes turns."""
    world = tb.Grid(np.ones((20, 20), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=320)
    first = fleet.add((0, 18), (0, 19), priority=1000)
    fleet.add([(19, col) for col in range(10)], (10, 19))
    if how == "cancelled":
        fleet.cancel(first)
    elif how == "walled in":
        world.block((0, 19))
    else:
        while fleet.status(first[0]) == "active":
            fleet.tick()
    for _ in range(5):
        fleet.tick()
        assert fleet.stats.served == 10


def test_what_is_expanded_while_learning_is_counted_apart() -> None:
    """As for an Agent: the frame bounds what is expanded to choose moves."""
    world = rooms()
    starts, goals = pairs(world, 1)
    fleet = tb.Fleet(world, "k-lrta*", frame_expansions=5)
    fleet.add(starts, goals)
    agent = tb.agent("k-lrta*", world, starts[0], goals[0], budget=5)
    for _ in range(60):
        fleet.tick()
        agent.step()
        assert fleet.stats.last_expansions <= 5
    assert fleet.stats.learning > 0
    assert fleet.stats.expansions + fleet.stats.learning == agent.expansions


@pytest.mark.parametrize("frame", [10_000, 30])
def test_who_goes_over_to_another_crew_is_not_counted_twice(frame: int) -> None:
    """Where kNN LRTA* finds no record another algorithm walks: a value of another kind, in the middle of a tick."""
    free = tb.generate.rooms((32, 32), room=6, seed=1) if COMPILED else tb.generate.rooms((16, 16), room=4, seed=1)
    world = tb.Grid(free)
    spec = "knn-lrta*:otherwise=tb-wa*"
    database = tb.prepare(world, None, algorithm="knn-lrta*", records=1, seed=1)
    fleet = tb.Fleet(world, spec, frame_expansions=frame, budget=20, database=database)
    starts, goals = pairs(world, 20)
    fleet.add(starts, goals)
    agents = [tb.agent(spec, world, *ends, budget=20, database=database) for ends in zip(starts, goals, strict=True)]
    before = fleet.positions.copy()
    while fleet.active:
        fleet.tick()
        assert abs(fleet.positions - before).max() <= 1
        assert fleet.stats.last_expansions <= frame
        assert fleet.active == fleet.stats.agents == np.count_nonzero(fleet.statuses == 0)
        assert sum(crew.weights for crew in fleet._roster.crews.values()) == fleet.active
        before = fleet.positions.copy()
        if frame == 10_000:
            for agent in agents:
                agent.step()
            assert [tuple(place) for place in before.tolist()] == [agent.position for agent in agents]
    assert len(fleet._roster.crews) > 1
    assert (fleet.statuses == 1).all()


@pytest.mark.parametrize("frame", [{"frame_expansions": 200}, {"frame_ms": 1000.0}])
def test_who_comes_back_to_a_crew_within_a_tick_acts_once(frame: dict[str, Any]) -> None:
    """It may have a place in the order from before, besides the turn that it has at once."""
    world = tb.Grid(tb.generate.rooms((16, 16), room=4, seed=1))
    database = tb.prepare(world, None, algorithm="knn-lrta*", records=1, seed=1)
    fleet = tb.Fleet(world, "knn-lrta*:otherwise=tb-wa*", budget=20, database=database, **frame)
    starts, goals = pairs(world, 20, seed=1)
    ids = fleet.add(starts, goals)
    random = np.random.default_rng(0)
    for tick in range(60):
        if tick % 3 == 2:
            again = ids[:6][random.random(6) < 0.5]
            fleet.cancel(again)
            for k in again.tolist()[::-1]:
                new = int(random.integers(20))
                assert fleet.add(starts[new], goals[new]) == [k]
            fleet.send(ids[6:9], [goals[k] for k in random.integers(20, size=3)])
        before = fleet.positions.copy()
        ticks = fleet._roster.episodes["ticks"][:20].copy()
        assert fleet.tick() == np.count_nonzero(fleet.moved)
        assert abs(fleet.positions - before).max() <= 1
        assert (fleet._roster.episodes["ticks"][:20] - ticks).max() <= 1


def test_a_step_that_was_held_is_not_stepped_back_to() -> None:
    """With collisions a step may not be made; and then the goal moves."""
    world = tb.Grid(np.random.default_rng(5).random((14, 14)) > 0.2)
    cells = np.argwhere(world.free)
    for seed in range(100 if COMPILED else 8):
        random = np.random.default_rng(seed)
        fleet = tb.Fleet(world, "tba*:steady=true", frame_expansions=300, collisions=True)
        ids = fleet.add(cells[random.choice(len(cells), 40, replace=False)], cells[random.choice(len(cells), 40)])
        for _ in range(20):
            if random.random() < 0.3:
                fleet.send(random.choice(ids, 4, replace=False), cells[random.choice(len(cells), 4)])
            fleet.tick()  # it would raise


def test_a_small_frame_after_a_large_one() -> None:
    """What was kept of the large one, because it was late, may be more than all of the small one."""
    world = tb.Grid(np.ones((9, 9), bool))
    fleet = tb.Fleet(world, "lrta*", frame_ms=100.0)
    fleet.add((0, 0), (8, 8))
    for _ in range(400):
        fleet._learn_from(120.0, 100.0, 100.0, everyone=True)
    fleet.frame_ms = 1.0
    assert fleet._margin <= fleet_module._MARGIN
    fleet.frame_ms = 0.05
    assert fleet._margin <= 25_000.0, "half of the frame"
    assert tb.Fleet(world, "lrta*", frame_ms=0.02)._margin <= 10_000.0


def test_who_cannot_be_added_leaves_no_row() -> None:
    world = tb.Grid(np.ones((9, 9), bool))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    first = fleet.add((0, 0), (8, 8))
    gone = fleet.add((0, 0), (8, 8))
    fleet.cancel(gone)
    with pytest.raises(tb.Error, match="database"):
        fleet.add([(0, 0)] * 3, (1, 1), spec="knn-lrta*")
    assert fleet.positions.shape == (2, 2)
    assert len(fleet) == 1
    assert fleet.add([(0, 0)] * 3, (8, 8)).tolist() == [*gone.tolist(), 2, 3]
    walk(fleet)
    assert (fleet.statuses == 1).all()
    assert fleet.status(first) == "reached"


def test_a_specification_is_the_same_after_saving() -> None:
    """On a graph that has become one-way the fleet's own is taken, as if none had been named."""
    world = tb.Graph([0, 1, 1, 2], [1, 0, 2, 1], directed=True)
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=10)
    world.block(2, 1)
    for one in (fleet, pickle.loads(pickle.dumps(fleet))):
        ids = one.add([0, 0], 2, spec="tb-wa*")
        walk(one)
        assert [one.status(k) for k in ids] == ["reached"] * 2


def test_a_field_that_cannot_follow_stays_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid(np.ones((6, 12), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=500)
    ids = fleet.add([(0, 0), (1, 0)], (4, 6))
    walk(fleet)

    def scarce(*_: Any) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as short:
        short.setattr(tb.DistanceField, "retarget", scarce)
        with pytest.raises(MemoryError):
            fleet.send(ids, (0, 11))
    assert (fleet.statuses == 1).all()
    fleet.send(ids, (0, 11))
    walk(fleet)
    assert fleet.positions.tolist() == [[0, 11]] * 2


def test_a_share_falls_while_some_have_no_turn() -> None:
    """However little a tick takes, for orders may have had their part of it; and no agent waits for ever."""
    world = tb.Grid(np.ones((9, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_ms=0.01)
    fleet.add([(0, 0)] * 300, (8, 8))
    fleet._share = 1e5
    for _ in range(60):
        fleet._ordering = 10**9
        fleet.tick()
    assert fleet.active == 300
    assert fleet._share == fleet_module._SLICE
    fleet._share, fleet._margin = 1e5, 5e5
    for _ in range(3000):
        fleet._learn_from(0.3, 1.0, 1.0, everyone=False)
    assert fleet._share == fleet_module._SLICE
    assert fleet._margin < 1e5, "what was in the way is gone, and frames are not full"
    fleet._learn_from(0.6, 0.5, 1.0, everyone=False)
    assert fleet._margin > 1e4, "orders have had half of the frame, and what was left was not enough"
    for _ in range(3000):
        fleet._learn_from(0.3, 1.0, 1.0, everyone=True)
    assert fleet._share == fleet_module._MOST_SLICE


@pytest.mark.parametrize("spec", ["tb-wa*", "rtb-wa*"])
def test_a_graph_that_becomes_one_way(spec: str) -> None:
    """Who cannot walk there any more, for there is no way back, goes on with A*, as an Agent does."""
    for seed in range(30 if COMPILED else 8):
        random = np.random.default_rng(seed)
        edges = np.unique(np.sort(random.integers(14, size=(24, 2)), 1), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        ends = np.concatenate([edges, edges[:, ::-1]])
        world = tb.Graph(*ends.T, nodes=14, directed=True)
        fleet = tb.Fleet(world, spec, frame_expansions=3, budget=1)
        fleet.add([0, 1, 2], 13)
        arrived = fleet.add(5, 5)
        fleet.send(arrived, int(edges[edges[:, 0] == edges[0, 0]][0, 1]))
        agents = [tb.agent(spec, world, start, 13, budget=1) for start in (0, 1, 2)]
        for tick in range(200):
            if tick in (2, 4):
                one, other = edges[random.integers(len(edges))].tolist()
                world.block(one, other)
            fleet.tick()
            for agent in agents:
                agent.step()
        assert [fleet.status(k) for k in (0, 1, 2)] == [agent.status for agent in agents]
        assert fleet.active == 0


@pytest.mark.parametrize("order", ["send", "place"])
def test_an_order_that_one_cannot_be_given_reaches_the_others(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid(np.ones((4, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    ids = fleet.add([(row, 0) for row in range(4)], [(row, 1) for row in range(4)])
    for _ in range(RESTS + 5):  # they have given back what they had
        fleet.tick()
    real = Roster._take_planner

    def scarce(self: Roster, k: int, goal: int) -> None:
        if k == ids[1]:
            raise MemoryError("no more")
        real(self, k, goal)

    with monkeypatch.context() as patch:
        patch.setattr(Roster, "_take_planner", scarce)
        with pytest.raises(MemoryError, match=r"agent 1, was stopped: no more"):
            fleet.send(ids, (3, 8)) if order == "send" else fleet.place(ids, [(row, 8) for row in range(4)])
    assert fleet.statuses[ids].tolist() == [0, 3, 0, 0]
    assert fleet.active == 3
    walk(fleet)
    assert fleet.statuses[ids].tolist() == [1, 3, 1, 1]
    fleet.send(ids, (0, 4))  # there is memory again
    walk(fleet)
    assert (fleet.statuses == 1).all()


def test_who_has_gone_has_not_moved() -> None:
    """Nor has who was given its id."""
    world = tb.Grid(np.ones((4, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    ids = fleet.add([(0, 0), (1, 0)], (0, 8))
    fleet.tick()
    assert fleet.moved.tolist() == [True, True]
    fleet.cancel(ids[:1])
    assert fleet.moved.tolist() == [False, True]
    assert fleet.add((3, 3), (3, 3)).tolist() == ids[:1].tolist()
    assert fleet.moved.tolist() == [False, True]


def test_what_may_be_set() -> None:
    world = tb.Grid(np.ones((4, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_ms=2.0)
    fleet.add((0, 0), (0, 8))
    assert repr(fleet).startswith("<Fleet, 1 agents, 1 on their way, tb-wa*:weight=2,reopen=false, 2 ms a tick, <")
    fleet.frame_ms = 5
    assert (fleet.frame_ms, fleet.frame_expansions, fleet.threads, fleet.collisions) == (5.0, None, 1, False)
    for wrong in ("abc", 0, -1, float("nan"), None):
        with pytest.raises(tb.SpecError, match="frame_ms is a number of milliseconds"):
            fleet.frame_ms = wrong  # type: ignore[assignment]
    for name in ("frame_expansions", "threads", "collisions"):
        with pytest.raises(AttributeError):
            setattr(fleet, name, 3)
    counted = tb.Fleet(world, "tb-wa*", frame_expansions=4000)
    assert "4,000 expansions a tick" in repr(counted)
    with pytest.raises(tb.SpecError, match="counted in expansions, and stays so"):
        counted.frame_ms = 1.0
    walk(fleet)


@given(seed=st.integers(0, 1000), spec=st.sampled_from(REAL_TIME))
def test_orders_and_edits_in_any_order(seed: int, spec: str) -> None:
    """Added, sent, placed, cancelled, walls built and torn down: every move is legal and who is left arrives."""
    random = np.random.default_rng(seed)
    world = tb.Grid(np.ones((8, 8), bool))
    if companion(spec, world):
        return  # its database is for another map
    fleet = tb.Fleet(world, spec, frame_expansions=200)

    def cell() -> tuple[int, int]:
        free = np.argwhere(world.free)
        return tuple(free[random.integers(len(free))].tolist())

    known: set[int] = set()
    for _ in range(25):
        what = random.integers(8)
        some = [k for k in sorted(known) if random.random() < 0.3]
        if what <= 1 or not known:
            known |= set(fleet.add([cell(), cell()], cell()).tolist())
        elif what == 2:
            fleet.send(some, [cell() for _ in some])
        elif what == 3:
            fleet.place(some, [cell() for _ in some])
        elif what == 4 and len(known) > 3:
            fleet.cancel(some[:2])
            known -= set(some[:2])
        elif what == 5:
            here = {tuple(place) for place in fleet.positions.tolist()}
            wall = cell()
            if wall not in here:
                world.block(wall)
        elif what == 6:
            world.unblock(np.argwhere(~world.free)[:2])
        before = fleet.positions.copy()
        fleet.tick()
        for k in known:
            path = [tuple(before[k]), tuple(fleet.positions[k])]
            assert bool(fleet.moved[k]) == (path[0] != path[1])
            if path[0] != path[1]:
                tb.validate(world, path)
        assert len(fleet) == len(known)
    world.unblock(np.argwhere(~world.free))
    walk(fleet)
    assert all(fleet.status(k) == "reached" for k in known)


class Restless(tb.Fleet):
    """Never takes a tick to be as the last one."""

    _calm = property(lambda self: None, lambda self, value: None)  # type: ignore[assignment]


@pytest.mark.parametrize("spec", ["lrta*", "tba*", "field"])
def test_a_tick_like_the_last_one_is_as_any_other(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happened in between: orders, edits, posted ones too, rests that end, another thread, a copy."""
    for module in (fleet_module, roster_module):
        monkeypatch.setattr(module, "RESTS", 7)
    alike = []
    real = tb.Fleet._repeat
    monkeypatch.setattr(tb.Fleet, "_repeat", lambda self, *told: alike.append(self) or real(self, *told))
    worlds = [tb.Grid(np.random.default_rng(3).random((40, 40)) > 0.2) for _ in range(2)]
    fleets: list[Any] = [
        kind(world, spec, frame_expansions=450) for kind, world in zip((tb.Fleet, Restless), worlds, strict=True)
    ]
    random = np.random.default_rng(5)
    for number in range(400 if COMPILED else 200):
        free, what = np.argwhere(worlds[0].free), random.integers(24)
        one, other, more = (tuple(free[n].tolist()) for n in random.integers(len(free), size=3))
        known = np.flatnonzero(fleets[0].statuses != 99) if len(fleets[0]) else np.zeros(0, int)
        k, later = random.choice(known, 1) if len(known) else known, bool(random.integers(2))
        for world, fleet in zip(worlds, fleets, strict=True):
            if (what == 0 and len(known) < 14) or len(known) < 5:
                fleet.add([one, other], more, spec="lrta*" if spec == "field" and number % 3 else None)
            elif what in (1, 8, 9):
                fleet.send(known[what - 1 : 12 - what], one)
            elif what == 2:
                fleet.place(k, one)
            elif what == 3 and len(known) > 8:
                fleet.cancel(k)
            elif what == 4 and not (fleet.positions[known] == one).all(axis=1).any():
                world.block(one, later=later)
            elif what == 5:
                world.unblock(np.argwhere(~world.free)[:3], later=later)
        if what == 6:
            fleets = [pickle.loads(pickle.dumps(fleet)) for fleet in fleets]
            worlds = [fleet.world for fleet in fleets]
        if what == 7:
            for fleet in fleets:
                thread = threading.Thread(target=fleet.tick)
                thread.start()
                thread.join()
        if number % 2:
            assert fleets[0].active == fleets[1].active, "to ask makes it hear of edits"
        moved = [fleet.tick() for fleet in fleets]
        assert moved[0] == moved[1] == fleets[0].moved.sum()
        assert (fleets[0].positions == fleets[1].positions).all()
        stats = [vars(fleet.stats) for fleet in fleets]
        for name in ("ticks", "agents", "served", "expansions", "last_expansions", "learning", "moves"):
            assert stats[0][name] == stats[1][name], name
        assert (stats[0]["waited"] == stats[1]["waited"]).all()
        assert (fleets[0].statuses == fleets[1].statuses).all()
    assert not any(isinstance(fleet, Restless) for fleet in alike)
    assert spec == "field" or len(alike) > 0.15 * number


def test_arrays_are_not_copies() -> None:
    world = rooms()
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    fleet.add(*pairs(world, 5))
    places, codes, moved = fleet.positions, fleet.statuses, fleet.moved
    before = places.copy()
    fleet.tick()
    assert np.shares_memory(places, fleet.positions)
    assert np.shares_memory(codes, fleet.statuses)
    assert np.shares_memory(moved, fleet.moved)
    assert (places != before).any()
    assert moved.any()


@pytest.mark.parametrize("make", [rooms, lambda: rooms().to_graph()])
def test_arrays_are_not_for_writing(make: Any) -> None:
    """What was written there was lost, or broke the fleet: a status that there is not, a place in a wall."""
    world = make()
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    fleet.add(*pairs(world, 2))
    for array in (fleet.positions, fleet.statuses, fleet.moved):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        array.copy()[0] = 1
    walk(fleet)


def test_one_point_is_enough_for_one() -> None:
    """Where one agent is meant, one point need not be in a list."""
    world = tb.Grid(np.ones((5, 5), bool))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    (k,) = fleet.add((4, 4), (0, 0)).tolist()
    fleet.place(k, (3, 4))
    assert fleet.positions[k].tolist() == [3, 4]
    fleet.place([k], np.array([2, 4]))
    assert fleet.positions[k].tolist() == [2, 4]
    names = tb.Graph([0, 1], [1, 2], labels=["a", "b", ("c", 1)], directed=False)
    walkers = tb.Fleet(names, "lrta*", frame_expansions=100)
    assert walkers.add("a", ("c", 1)).tolist() == [0]
    assert walkers.add(["a", "b"], ("c", 1)).tolist() == [1, 2]
    walkers.place(0, ("c", 1))
    assert walkers.status(0) == "reached"


def test_who_is_cancelled_says_so() -> None:
    world = rooms()
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    ids = fleet.add(*pairs(world, 2))
    fleet.cancel(ids[0])
    assert [fleet.status(k) for k in ids] == ["cancelled", "active"]
    assert fleet.statuses.tolist() == [99, 0]


@pytest.mark.parametrize("spec", ["tb-wa*", "lrta*", "field"])
@pytest.mark.parametrize("collisions", [False, True])
def test_all_are_on_their_way_as_soon_as_a_way_is_open(
    spec: str, collisions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only those who have been woken: statuses, active and stats say the same, at once and later."""
    monkeypatch.setattr(roster_module, "_AT_ONCE", 3)
    world = tb.Grid(np.ones((8, 12), bool))
    fleet = tb.Fleet(world, spec, frame_expansions=2000, collisions=collisions)
    ids = fleet.add([(row, 0) for row in range(8)], [(row, 11) for row in range(8)])
    world.block([(row, 6) for row in range(8)])
    walk(fleet)
    assert (fleet.statuses == 2).all()
    world.unblock([(row, 6) for row in range(8)])
    assert fleet.active == 8
    assert (fleet.statuses == 0).all()
    assert {fleet.status(k) for k in ids} == {"active"}
    fleet.tick()
    assert fleet.active == fleet.stats.agents == 8
    assert fleet.stats.served <= 3
    assert fleet.stats.waited.max() == 1
    # Whatever is done to those who still wait: sent, placed, cancelled, their goals shut and opened again.
    fleet.send(ids[3], (0, 5))
    fleet.place(ids[4], (4, 3))
    fleet.cancel(ids[5])
    world.block((6, 11))
    assert fleet.status(ids[6]) == "unreachable"
    assert fleet.active == fleet.stats.agents == 6
    world.unblock((6, 11))
    assert fleet.active == fleet.stats.agents == 7
    seen = [fleet.active]
    for _ in walk(fleet):
        seen.append(fleet.active)
    assert (fleet.statuses[np.delete(ids, 5)] == 1).all()
    assert fleet.active == 0
    assert not fleet._roster.wakes


def test_a_goal_that_was_shut_for_a_moment_costs_nothing() -> None:
    """Who still holds what it had planned goes on with it: a door before a goal is no reason for new planners."""
    world, goal = tb.Grid(np.ones((6, 20), bool)), (3, 19)
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    ids = fleet.add([(row, 0) for row in range(6)], goal)
    fleet.tick()
    planners = list(fleet._roster.planners)
    for _ in range(3):
        world.block(goal)
        fleet.tick()
        assert (fleet.statuses == 2).all()
        assert fleet.active == 0
        assert not fleet.moved.any()
        world.unblock(goal)
        fleet.tick()
        assert fleet.active == 6
        assert fleet.moved.all()
        assert fleet._roster.planners == planners
    walk(fleet)
    assert (fleet.positions[ids] == goal).all()


@pytest.mark.compiled
def test_a_fault_while_room_is_made_leaves_the_fleet_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new arrays are there already when something goes wrong: the shelf must not keep the old ones."""
    world = tb.Grid(np.ones((60, 60), bool))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    world.block([(row, 50) for row in range(59)])
    fleet.add([(0, 0)], (0, 59))
    kind = type(fleet._roster.planners[0])
    real, wrong = kind.enlarge, []

    def fails(self: Any) -> None:
        real(self)
        if len(wrong) < 2:
            wrong.append(self)
            raise KeyError("in the middle")

    monkeypatch.setattr(kind, "enlarge", fails)
    faults = 0
    for _ in range(100_000):
        if not fleet.active:
            break
        try:
            fleet.tick()
        except KeyError:
            faults += 1
            shelf, seat = fleet._roster.crew_of[0].shelf, int(fleet._roster.seats[0])
            held = shelf.rows[seat].copy()
            shelf.put(seat, fleet._roster.planners[0].state)
            assert (shelf.rows[seat] == held).all()
    assert faults == 2
    assert fleet.status(0) == "reached"


def test_arrays_go_back_some_time_after_arrival() -> None:
    world = rooms().to_graph()

    def spare() -> int:
        return sum(workspace.real_time for workspace in world.spare)

    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    fleet.add(*pairs(world, 4))
    assert spare() == 0
    walk(fleet)
    assert spare() == 0  # they may be sent on
    for _ in range(RESTS + 1):
        fleet.tick()
    assert spare() == 4
    fleet.add(*pairs(world, 3, seed=5))
    assert spare() == 1
    del fleet
    assert spare() == 4


def test_pages_go_back_some_time_after_arrival() -> None:
    """On grids agents share a store of pages. Those of one serve the next: it does not grow with every wave."""
    world = rooms()
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    fleet.add(*pairs(world, 4))
    store = fleet._roster._neighbours.store
    walk(fleet)
    assert store.holders == 4  # they may be sent on
    for _ in range(RESTS + 1):
        fleet.tick()
    assert (store.holders, store.taken) == (0, 1)
    stays = fleet.add(*pairs(world, 1, seed=3))
    taken = []
    for _ in range(3):
        ids = fleet.add(*pairs(world, 4, seed=5))
        for _ in range(3):
            fleet.tick()
        fleet.place(stays, pairs(world, 1, seed=3)[0])
        fleet.cancel(ids)
        assert store.holders == 1
        taken.append(store.taken)
    assert taken[2] == taken[0] > 4


def test_orders_are_part_of_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes to send agents elsewhere is not there for the tick that follows, up to a half of it."""
    world = tb.Grid(np.ones((6, 6), bool))
    fleet = tb.Fleet(world, "lrta*", frame_ms=1000.0)
    ids = fleet.add([(0, 0), (0, 1)], (5, 5))
    left: list[float] = []
    real = fleet._serve

    def serve(crew: Any, first: int, last: int, share: int, deadline: int, faults: Any) -> int:
        left.append((deadline - time.perf_counter_ns()) * 1e-6)
        return real(crew, first, last, share, deadline, faults)

    monkeypatch.setattr(fleet, "_serve", serve)
    fleet.send(ids, (4, 5))
    assert fleet._ordering > 0
    for ordering in (0, 300_000_000, 10**12):
        fleet._ordering = ordering
        fleet.tick()
        assert fleet._ordering == 0
    assert left[0] > 900
    assert 500 < left[1] < 700
    assert 300 < left[2] < 500


def test_a_frame_that_is_too_small_for_all_fields() -> None:
    """More goals than expansions: fields grow in turn."""
    world = tb.Grid(np.ones((6, 6), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=2)
    ids = fleet.add([(0, k) for k in range(6)], [(5, k) for k in range(6)])
    walk(fleet)
    assert all(fleet.status(k) == "reached" for k in ids)


def test_a_decision_that_wants_room_after_the_deadline_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in the next frame, in which each may have less: what it has spent was its due all the same."""
    monkeypatch.setattr(workspace, "_FEW_PLACES", 4)
    world = tb.Grid(np.ones((9, 30), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_ms=50.0)
    ids = fleet.add([(0, 0), (8, 0)], [(0, 29), (8, 29)])
    monkeypatch.setattr(fleet_module, "_SLICE", 1.0)
    fleet._share = 20.0
    with monkeypatch.context() as patch:
        patch.setattr(fleet._roster, "attend", lambda faults, deadline: [])  # as if the time were over
        fleet.tick()
    half_way = fleet._roster.episodes["deciding"][ids].tolist()
    assert half_way == [20, 20]
    fleet._share = 1.5
    before = fleet.stats.expansions
    fleet.tick()
    assert fleet.stats.expansions == before, "they have spent all, and need only room"
    assert fleet.moved[ids].all()
    while fleet.active:
        fleet.tick()
    assert [fleet.status(k) for k in ids] == ["reached", "reached"]


def test_agents_of_a_fleet_never_share_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if two threads take them at once; and each page is somebody's, or free."""
    monkeypatch.setattr(fleet_module, "_SHORT", -1.0)
    world = rooms()
    fleet = tb.Fleet(world, "tb-wa*:weight=1.5", frame_expansions=40 * 600, threads=2)
    count = 600 if COMPILED else 20
    fleet.add(*pairs(world, count))
    store = fleet._roster._neighbours.store
    for tick in range(12):
        fleet.tick()
        if tick == 6:
            fleet.cancel(np.arange(0, count, 3))
            fleet.add(*pairs(world, count // 3, seed=9))
    seen: list[int] = []
    after = store.pages.after
    for planner in fleet._roster.planners:
        if planner is None:
            continue
        notes = planner._workspace._notes
        for chain in CHAINS:
            page = int(notes[chain])
            while page:
                seen.append(page)
                last, page = page, int(after[page])
            assert not notes[chain] or last == notes[chain + 1]
        if notes[LOT]:
            seen += range(int(notes[LOT]), int(notes[LOT]) + (1 << int(notes[SIZE])))
    for size, page in enumerate(store.pages.book[16:].tolist()):
        while page:
            seen += range(page, page + (1 << size))
            page = int(after[page])
    assert sorted(seen) == list(range(1, store.taken))


def test_a_goal_that_is_walled_in_and_opened_again() -> None:
    world = tb.Grid(np.ones((3, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    k = int(fleet.add([(1, 0)], [(1, 8)])[0])
    fleet.tick()
    world.block([(0, 6), (1, 6), (2, 6)])
    walk(fleet)
    assert fleet.status(k) == "unreachable"
    world.unblock((0, 6))
    fleet.tick()
    assert fleet.status(k) == "active"
    world.block((1, 8))
    fleet.tick()
    assert fleet.status(k) == "unreachable"
    world.unblock((1, 8))
    walk(fleet)
    assert fleet.status(k) == "reached"


@pytest.mark.parametrize("name", ["world", "spec", "database", "frame_expansions", "threads", "collisions"])
def test_what_a_fleet_was_made_with_stays(name: str) -> None:
    fleet = tb.Fleet(tb.Grid([[1, 1]]), "lrta*", frame_expansions=10)
    with pytest.raises(AttributeError, match=name):
        setattr(fleet, name, None)
    assert fleet.frame_expansions == 10


def test_wrong_orders_change_nothing() -> None:
    world = tb.Grid([[1, 1, 0], [1, 1, 1]])
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    k = int(fleet.add([(0, 0)], (1, 2))[0])
    gone = int(fleet.add([(0, 0)], (1, 2))[0])
    fleet.cancel(gone)
    wrong = [
        (lambda: fleet.add([(0, 0), (5, 5)], (1, 2)), "start number 1 .5, 5. is off the map"),
        (lambda: fleet.add([(0, 0)], (0, 2)), "in a wall"),
        (lambda: fleet.add([(0, 2)], (0, 0)), "in a wall"),
        (lambda: fleet.add([(0, 0)], (9, 9)), "off the map"),
        (
            lambda: fleet.add([(0, 0)], [(0, 0), (1, 1)]),
            "2 goals do not fit 1 agent; give one for each, or one for all",
        ),
        (lambda: fleet.add("here", (1, 2)), "two whole numbers"),
        (lambda: fleet.add({(0, 0), (1, 1)}, (1, 2)), "starts are a list or an array of points"),
        (lambda: fleet.add((0, 2), (0, 0)), "the start .0, 2. is in a wall"),
        (lambda: fleet.add((0, 0, 0), (0, 0)), "start must be two whole numbers"),
        (lambda: fleet.add([(0, 0)], (1, 2), spec="a*"), "real-time"),
        (lambda: fleet.add([(0, 0)], (1, 2), spec="nonsense"), "nonsense"),
        (lambda: fleet.add([(0, 0)], (1, 2), priority=0), "priority"),
        (lambda: fleet.send([k, 7], (0, 0)), "no agent 7"),
        (lambda: fleet.send([gone], (0, 0)), f"no agent {gone}"),
        (lambda: fleet.send([k, k], (0, 0)), "twice"),
        (lambda: fleet.send([0.5], (0, 0)), "whole numbers"),
        (lambda: fleet.send({k}, (0, 0)), "in a list or an array"),
        (lambda: fleet.send((n for n in [k]), (0, 0)), "in a list or an array"),
        (lambda: fleet.send(fleet.statuses == 0, (0, 0)), "of a mask take np.flatnonzero"),
        (lambda: fleet.send([k], np.array([True, False])), "two whole numbers"),
        (lambda: fleet.send([k], (True, False)), "two whole numbers"),
        (lambda: fleet.send([k], (0, 2)), "in a wall"),
        (lambda: fleet.place([k], [(0, 2)]), "in a wall"),
        (lambda: fleet.place([k], [(0, 0), (0, 1)]), "2 points do not fit 1 agent; give one for each"),
        (lambda: fleet.place(k, (0, 2)), "the point .0, 2. is in a wall"),
        (lambda: fleet.cancel([-1]), "no agent -1"),
        (lambda: fleet.cancel(gone), f"no agent {gone}"),
        (lambda: fleet.status(99), "no agent 99"),
        (lambda: fleet.status([]), "of one agent, not of 0"),
        (lambda: fleet.add(np.array(3), (0, 0)), "starts are a list or an array of points"),
        (lambda: fleet.add([(0, 0)], np.array(3)), "goals are a list or an array of points"),
        (lambda: fleet.cancel(np.ma.array([k], mask=[True])), "of a masked array give array.compressed.."),
        (lambda: fleet.add(np.ma.array([(0, 0)]), (0, 0)), "starts are a plain list or array"),
        (lambda: fleet.add({0, 1}, (0, 0)), "starts are a list or an array of points"),
        (lambda: fleet.add(np.where(world.free[:, 1:2]), (0, 0)), r"starts are points \(row, col\); np.where gives"),
        (lambda: fleet.send([k], np.where(np.eye(2) > 0)), r"take np.argwhere\(mask\)"),
        (lambda: fleet.send([k], np.eye(2) > 0), r"goals are points \(row, col\); of a mask take np.argwhere"),
        (lambda: fleet.send([k], np.ma.array([(0, 0)], mask=[(1, 0)])), r"give np.ma.compress_rows\(array\)"),
        (lambda: fleet.send([k], [np.ma.masked, 0]), "two whole numbers"),
        (lambda: fleet.send([k], [(0, 0), (0, 1)]), "2 goals do not fit 1 agent"),
        (lambda: fleet.send([], [(0, 0)]), "1 goal does not fit 0 agents"),
        (lambda: fleet.send([k, [k]], (0, 0)), "ids are whole numbers as add.. gave them in a list or an array"),
        (lambda: fleet.send(np.array([k, 2**64 - 1], np.uint64), (0, 0)), f"no agent {2**64 - 1}"),
        (lambda: fleet.cancel([2**63 + k]), f"no agent {2**63 + k}"),
    ]
    for order, words in wrong:
        with pytest.raises(tb.Error, match=words) as raised:
            order()
        assert "\n" not in str(raised.value)
        assert len(fleet) == 1
    walk(fleet)
    assert fleet.status(k) == "reached"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frame_ms": 1, "frame_expansions": 5}, "not both"),
        ({"frame_ms": 0}, "frame_ms"),
        ({"frame_ms": "1"}, "frame_ms"),
        ({"frame_expansions": 0}, "frame_expansions"),
        ({"threads": 0}, "threads"),
        ({"budget": 0}, "budget"),
        ({"collisions": 1}, "collisions is True or False, not 1"),
        ({"spec": "lrta*:depth=5", "frame_expansions": 10}, "depth=5 can take"),
        ({"spec": "a*"}, "real-time"),
        ({"spec": "lrta*", "database": 1}, "no database"),
    ],
)
def test_fleets_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(tb.Error, match=words):
        tb.Fleet(tb.Grid(np.ones((30, 30), bool)), **options)


def test_flags_may_come_from_an_array() -> None:
    fleet = tb.Fleet(tb.Grid([[1, 1]]), collisions=np.array([True])[0])
    assert fleet.collisions is True


def test_a_unit_that_is_wrong_is_called_by_its_id() -> None:
    """Those that are to be added have none yet: they are told by their place in the call."""
    world = tb.Grid([[1, 1, 0, 1]])
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    fleet.add([(0, 0), (0, 1), (0, 3)], (0, 0))
    for order, words in (
        (lambda: fleet.send([2, 1], [(0, 0), (0, 2)]), "the goal of agent 1 .0, 2. is in a wall"),
        (lambda: fleet.place([2, 0], [(0, 2), (0, 0)]), "the point of agent 2 .0, 2. is in a wall"),
        (lambda: fleet.add([(0, 0), (0, 2)], (0, 0)), "the start number 1 .0, 2. is in a wall"),
        (lambda: fleet.add([(0, 0), (0, 0)], [(0, 0), (0, 2)]), "the goal number 1 .0, 2. is in a wall"),
    ):
        with pytest.raises(tb.ProblemError, match=words):
            order()
    polite = tb.Fleet(world, "lrta*", frame_expansions=100, collisions=True)
    polite.add([(0, 0), (0, 1), (0, 3)], (0, 0))
    with pytest.raises(tb.ProblemError, match=r"the point of agent 2, \(0, 1\), is taken"):
        polite.place([2], [(0, 1)])


def test_a_frame_of_milliseconds() -> None:
    """Everybody arrives; how long ticks take is a matter for the benchmarks."""
    world = rooms()
    fleet = tb.Fleet(world, "tb-wa*", frame_ms=5.0)
    ids = fleet.add(*pairs(world, 20))
    walk(fleet)
    assert all(fleet.status(int(k)) == "reached" for k in ids)
    stats = fleet.stats
    assert stats.ticks > 0
    assert 0 < stats.p50_ms <= stats.p99_ms <= stats.max_ms
    assert stats.moves >= 20
    assert stats.agents == stats.served == 0


def test_to_make_way_is_part_of_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it took lately is not there for planning: else each of the first frames would be late by that."""
    fleet = tb.Fleet(tb.Grid(np.ones((4, 30), bool)), "tb-wa*", frame_ms=50.0, collisions=True)
    fleet.add([(0, 0), (1, 0)], [(0, 29), (1, 29)])
    real, left = fleet._act, []

    def act(*told: Any) -> int:
        left.append(told[-1] - time.perf_counter_ns())
        return real(*told)

    monkeypatch.setattr(fleet, "_act", act)
    monkeypatch.setattr(fleet, "_make_way", lambda faults: time.sleep(0.02))
    for _ in range(12):
        fleet.tick()
    assert left[-1] < 31e6


def test_ids_are_given_again() -> None:
    world = rooms()
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    first = fleet.add(*pairs(world, 3))
    fleet.tick()
    fleet.cancel(first[1])
    again = fleet.add([fleet.positions[first[0]].tolist()], [fleet.positions[first[2]].tolist()], spec="tb-wa*")
    assert again[0] == first[1]
    assert len(fleet) == 3
    walk(fleet)
    assert points(fleet.positions)[again[0]] == tuple(fleet.positions[first[1]])


@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, float, object])
def test_points_in_an_array(kind: Any) -> None:
    """Whole numbers of any type; of those that are wrong it is said which one, whatever the type."""
    world = tb.Grid([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    ids = fleet.add(np.array([(0, 0), (2, 2)], kind), np.array([(2, 2), (0, 0)], kind))
    assert fleet.positions[ids].tolist() == [[0, 0], [2, 2]]
    fleet.send(ids, np.array([(0, 2), (2, 0)], kind))
    walk(fleet)
    assert fleet.positions[ids].tolist() == [[0, 2], [2, 0]]
    fleet.place(ids, np.array([(1, 0), (1, 2)], kind))
    assert fleet.positions[ids].tolist() == [[1, 0], [1, 2]]
    for wrong, words in (((1, 1), r"goal of agent 1 \(1, 1\) is in a wall"), ((1, 3), r"\(1, 3\) is off the map")):
        with pytest.raises(tb.ProblemError, match=words):
            fleet.send(ids, np.array([(0, 0), wrong], kind))
    if kind is float:
        with pytest.raises(tb.ProblemError, match="goal of agent 1 must be two whole numbers"):
            fleet.send(ids, np.array([(0, 0), (1, 0.5)]))


def test_all_are_added_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no memory for one of them, the others are not there either, and the fleet goes on."""
    world = rooms()
    starts, goals = pairs(world, 6)
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=600)
    first = fleet.add(starts[:2], goals[:2])
    real, calls = Roster._take_planner, iter(range(100))

    def scarce(self: Roster, k: int, goal: int) -> None:
        if next(calls) == 2:
            raise MemoryError("no more")
        real(self, k, goal)

    with monkeypatch.context() as patch:
        patch.setattr(Roster, "_take_planner", scarce)
        with pytest.raises(MemoryError, match="no more"):
            fleet.add(starts[2:], goals[2:])
    assert fleet.active == 2
    assert [fleet.status(k) for k in first] == ["active", "active"]
    again = fleet.add(starts[2:], goals[2:])
    assert sorted([*first, *again]) == list(range(6))
    walk(fleet)
    assert {fleet.status(k) for k in range(6)} == {"reached"}


def test_more_agents_than_there_were_rows_for() -> None:
    world = rooms()
    fleet = tb.Fleet(world, "lrta*", frame_expansions=1000)
    starts, goals = pairs(world, 150)
    for start, goal in zip(starts, goals, strict=True):
        fleet.add([start], goal)
        fleet.tick()
    walk(fleet)
    assert fleet.positions.tolist() == [list(goal) for goal in goals]


# --- units that do not stand in each other ----------------------------------------------------------------------------


def check_apart(fleet: tb.Fleet, before: np.ndarray) -> None:
    """No two in one cell, no two have swapped, every step legal."""
    there = [status != 99 for status in fleet.statuses]
    now = [tuple(place) for place in fleet.positions[there].tolist()]
    then = [tuple(place) for place in before[there].tolist()]
    assert len(set(now)) == len(now), "two in one cell"
    steps = {(a, b) for a, b in zip(then, now, strict=True) if a != b}
    assert not any((b, a) in steps for a, b in steps), "two have swapped"
    for step in steps:
        tb.validate(fleet.world, step)


@given(seed=st.integers(0, 1000), spec=st.sampled_from(REAL_TIME), agents=st.integers(2, 20))
def test_units_keep_apart_and_arrive(seed: int, spec: str, agents: int) -> None:
    """On open ground every step lies on a cycle, so priority inheritance brings everybody home."""
    random = np.random.default_rng(seed)
    world = tb.Grid(np.ones((6, 7), bool))
    if companion(spec, world):
        return  # its database is for another map
    cells = [(row, col) for row in range(6) for col in range(7)]
    starts = [cells[k] for k in random.permutation(len(cells))[:agents]]
    goals = [cells[k] for k in random.permutation(len(cells))[:agents]]
    fleet = tb.Fleet(world, spec, frame_expansions=2000, collisions=True, seed=seed)
    ids = fleet.add(starts, goals)
    for _ in range(2000):
        before = fleet.positions.copy()
        fleet.tick()
        check_apart(fleet, before)
        if not fleet.active:
            break
    assert fleet.positions[ids].tolist() == [list(goal) for goal in goals]
    assert all(fleet.status(int(k)) == "reached" for k in ids)


@given(seed=st.integers(0, 1000))
def test_units_keep_apart_whatever_happens(seed: int) -> None:
    random = np.random.default_rng(seed)
    world = tb.Grid(np.ones((7, 7), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=30, collisions=True)

    def empty() -> tuple[int, int]:
        taken = {tuple(place) for place in fleet.positions[fleet.statuses != 99].tolist()}
        cells = [cell for cell in map(tuple, np.argwhere(world.free).tolist()) if cell not in taken]
        return cells[random.integers(len(cells))]

    known: list[int] = []
    for _ in range(30):
        what = random.integers(7)
        if len(known) < 4 or (what == 0 and len(known) < 25):
            spec = ["tb-wa*", "lrta*", "rtaa*"][random.integers(3)]
            known.append(int(fleet.add([empty()], empty(), spec=spec, priority=int(random.integers(1, 4)))[0]))
        elif what == 1:
            fleet.send(known[:3], [empty() for _ in known[:3]])
        elif what == 2:
            fleet.place(known[-1], [empty()])
        elif what == 3:
            fleet.cancel(known.pop(0))
        elif what == 4:
            world.block(empty())
        elif what == 5:
            world.unblock(np.argwhere(~world.free)[:1])
        before = fleet.positions.copy()
        fleet.tick()
        check_apart(fleet, before)


def test_units_cannot_begin_in_each_other() -> None:
    world = tb.Grid(np.ones((4, 4), bool))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100, collisions=True)
    with pytest.raises(tb.ProblemError, match=r"start number 1, \(0, 0\), is taken"):
        fleet.add([(0, 0), (0, 0)], [(3, 3), (3, 2)])
    ids = fleet.add([(0, 0), (0, 1)], [(3, 3), (3, 2)])
    with pytest.raises(tb.ProblemError, match="is taken"):
        fleet.place(ids[0], [(0, 1)])
    fleet.place(ids, [(0, 1), (0, 0)])  # both at once may change places
    assert fleet.positions.tolist() == [[0, 1], [0, 0]]


def test_one_makes_way_in_a_corridor() -> None:
    """Waiting alone would stand there for ever: one of the two must step back into the bay."""
    cells = np.zeros((3, 9), bool)
    cells[1, :] = cells[0, 4] = cells[0, 5] = True
    world = tb.Grid(cells)
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=100, collisions=True)
    fleet.add([(1, 0), (1, 8)], [(1, 8), (1, 0)])
    for _ in range(200):
        before = fleet.positions.copy()
        fleet.tick()
        check_apart(fleet, before)
        if not fleet.active:
            break
    assert fleet.statuses.tolist() == [1, 1]


# --- herds: one field for many ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["grid", "grid in two parts", "4-connected grid", "terrain", "far terrain", "graph"])
def test_a_herd_takes_the_shortest_way(kind: str) -> None:
    make, tasks = WORLDS[kind]
    world = make()
    goal = tasks[0][1]
    starts = [start for start, _ in tasks if tb.solve(world, start, goal).status == "reached"]
    fleet = tb.Fleet(world, "field", frame_expansions=3)
    ids = fleet.add(starts, goal)
    walk(fleet)
    for k, start in zip(ids, starts, strict=True):
        assert fleet.status(int(k)) == "reached"
        assert fleet.costs[k] == pytest.approx(tb.solve(world, start, goal).cost)


@given(seed=st.integers(0, 1000), collisions=st.booleans())
def test_herds_whatever_happens(seed: int, collisions: bool) -> None:
    """Goals that move, herds that part and join, walls, agents of other kinds among them: legal, and all arrive."""
    random = np.random.default_rng(seed)
    world = tb.Grid(np.ones((8, 8), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=60, collisions=collisions)

    def cell() -> tuple[int, int]:
        taken = {tuple(place) for place in fleet.positions[fleet.statuses != 99].tolist()} if collisions else set()
        free = [one for one in map(tuple, np.argwhere(world.free).tolist()) if one not in taken]
        return free[random.integers(len(free))]

    known: list[int] = []
    goals = [(0, 0), (7, 7), (3, 4)]
    for tick in range(40):
        what = random.integers(8)
        if what == 0 or len(known) < 4:
            spec = "tb-wa*" if random.random() < 0.3 else "field"
            known.extend(fleet.add([cell()], goals[random.integers(3)], spec=spec).tolist())
        elif what == 1:
            fleet.send(known, goals[tick % 3])  # all of them follow one
        elif what == 2:
            some = [k for k in known if random.random() < 0.4]
            fleet.send(some, [goals[random.integers(3)] for _ in some])
        elif what == 3:
            fleet.place(known[:1], [cell()])
        elif what == 4 and len(known) > 5:
            fleet.cancel(known.pop(2))
        elif what == 5:
            wall = cell()
            if wall not in goals and not (fleet.positions == wall).all(axis=1).any():
                world.block(wall)
        elif what == 6:
            world.unblock(np.argwhere(~world.free)[:2])
        before = fleet.positions.copy()
        fleet.tick()
        assert fleet.stats.last_expansions <= 60
        if collisions:
            check_apart(fleet, before)
        for k in known:
            assert bool(fleet.moved[k]) == (before[k] != fleet.positions[k]).any()
            if fleet.moved[k]:
                tb.validate(world, [tuple(before[k]), tuple(fleet.positions[k])])
    world.unblock(np.argwhere(~world.free))
    if not collisions:  # else those with one goal would stand beside it for ever
        walk(fleet)
        assert all(fleet.status(k) == "reached" for k in known)


def test_a_chase_never_stands_still() -> None:
    """The goal moves before the new field has come to anyone; the old one serves until then."""
    side = 30 if COMPILED else 16
    world = tb.Grid(np.ones((side, side), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=20)
    ids = fleet.add([(0, 0), (0, 1), (1, 0)], (side - 1, side - 1))
    while not fleet.moved[ids].all():
        fleet.tick()
    col = side - 1
    for tick in range(side // 2):
        if tick % 3 == 0:
            col -= 1
            fleet.send(ids, (side - 1, col))
        fleet.tick()
        assert fleet.moved[ids].all(), "somebody waits for a new field"
    walk(fleet)
    assert fleet.positions[ids].tolist() == [[side - 1, col]] * 3


def test_who_stands_where_the_field_has_not_come_was_not_served() -> None:
    world = tb.Grid(np.ones((1, 60), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=10)
    fleet.add([(0, 5), (0, 59)], (0, 0))
    fleet.tick()
    assert fleet.moved.tolist() == [True, False]
    assert fleet.stats.served == 1
    fleet.tick()
    assert fleet.stats.waited.tolist() == [0, 2]
    while not fleet.moved[1]:
        fleet.tick()
    assert fleet.stats.waited[1] == 0


def test_a_herd_without_a_way() -> None:
    world = tb.Grid([[1, 1, 0, 1], [1, 1, 0, 1]])
    fleet = tb.Fleet(world, "field", frame_expansions=5)
    ids = fleet.add([(0, 0), (1, 1)], (0, 3))
    walk(fleet)
    assert [fleet.status(int(k)) for k in ids] == ["unreachable"] * 2
    world.unblock((0, 2))
    walk(fleet)
    assert [fleet.status(int(k)) for k in ids] == ["reached"] * 2


def test_views_for_goals_are_shared_and_forgotten() -> None:
    """A graph with estimates for each goal has a view for each: as many as there are goals now, not ever."""
    ends = np.arange(30)
    world = tb.Graph(ends[:-1], ends[1:], directed=False, heuristic=lambda goal: np.abs(ends - goal))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    ids = fleet.add([0] * 6, 29)
    assert len({id(crew.view) for crew in fleet._roster.crews.values()}) == 1
    for goal in range(1, 29):
        fleet.send(ids[:3], goal)
        fleet.send(ids[3:], goal + 1)
        fleet.tick()
        assert len(fleet._roster.crews) <= 2
    walk(fleet)
    assert (fleet.statuses == 1).all()
    for _ in range(RESTS + 2):
        fleet.tick()
    assert not fleet._roster.crews
    assert not fleet._roster._views


@pytest.mark.parametrize("spec", ["tb-wa*", "lrta*", "field"])
def test_who_has_arrived_is_sent_on_with_what_it_has(spec: str) -> None:
    """A goal that is reached and goes on: nothing is made anew, and nobody is forgotten."""
    world = tb.Grid(np.ones((9, 9), bool))
    fleet = tb.Fleet(world, spec, frame_expansions=1000)
    ids = fleet.add([(0, k) for k in range(6)], (4, 4))
    walk(fleet)
    assert fleet.active == 0
    planners = list(fleet._roster.planners)
    for goal in [(4, 5), (5, 5), (5, 5), (4, 4)]:
        fleet.send(ids, goal)
        fleet.place(ids[:1], [(8, 8)])
        assert fleet._roster.planners == planners
        assert fleet.active == (6 if goal != (5, 5) or fleet.positions[ids[1]].tolist() != [5, 5] else 1)
        walk(fleet)
        assert (fleet.positions == goal).all()
        assert (fleet.statuses == 1).all()
    fleet.cancel(ids[:3])
    for _ in range(RESTS):
        fleet.tick()
    fleet.send(ids[3:], (0, 0))
    walk(fleet)
    assert (fleet.positions[ids[3:]] == 0).all()
    assert fleet.active == 0
    assert len(fleet) == 3


def test_thousands_whose_goal_is_shut_keep_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they hold is given back a little at a time, and they set out again, as the frame allows."""
    world = tb.Grid(np.ones((20, 20), bool))
    fleet = tb.Fleet(world, "lrta*", frame_ms=50.0)
    ids = fleet.add([(row, 0) for row in range(20)], (10, 15))
    fleet.tick()
    world.block((10, 15))
    assert fleet.active == 0
    assert {fleet.status(k) for k in ids} == {"unreachable"}
    assert sum(planner is not None for planner in fleet._roster.planners) == 20, "given back later"
    fleet.tick()
    assert not fleet.moved.any()
    fleet.send(ids[:2], (5, 5))
    assert [fleet.status(k) for k in ids[:3]] == ["active", "active", "unreachable"]
    world.unblock((10, 15))
    monkeypatch.setattr(fleet_module, "_CHORES", 0.0)
    fleet.tick()
    assert np.count_nonzero(fleet.statuses == 0) == 20, "they go on with what they have"
    monkeypatch.undo()
    while fleet.active:
        fleet.tick()
    assert {fleet.status(k) for k in ids} == {"reached"}
    monkeypatch.setattr(fleet_module, "_CHORES", 0.0)
    for _ in range(RESTS + 25):
        fleet.tick()
    assert not any(planner is not None for planner in fleet._roster.planners), "all have been given back, one in a tick"


@pytest.mark.compiled
def test_python_asks_no_helper_of_kernels() -> None:
    """To call one from Python compiles it, in every process: neither agents that come and go nor saves may do so."""
    program = (
        "import pickle, numpy as np, timebound as tb\n"
        "from timebound.kernels import compiler\n"
        "world = tb.Grid(np.ones((9, 9), bool))\n"
        "fleet = tb.Fleet(world, 'tb-wa*', frame_expansions=100)\n"
        "ids = fleet.add([(0, 0), (0, 8)], (8, 8))\n"
        "fleet.tick()\n"
        "pickle.loads(pickle.dumps(fleet)).tick()\n"
        "fleet.cancel(ids)\n"
        "agent = tb.agent('tb-wa*', world, (0, 0), (8, 8), budget=3).run(2)\n"
        "pickle.loads(pickle.dumps(agent)).run()\n"
        "print(compiler._entrance.cache_info().currsize)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


@pytest.mark.parametrize("shut", [False, True])
def test_who_ends_in_a_tick_that_is_interrupted_is_not_forgotten(shut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes while a kernel is at work is heard at its end, before anybody is attended to."""
    world = tb.Grid(np.ones((4, 8), bool))
    if shut:
        world.block([(2, 6), (2, 7), (3, 6)])
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    fleet.add([(3, 0), (0, 0)], [(3, 7), (0, 7)])
    crew = next(iter(fleet._roster.crews.values()))
    run, heard = crew.tick, []

    def interrupted(*told: Any) -> None:
        run(*told)
        if fleet._roster.noted[0]:
            heard.append(fleet._roster.number)
            raise KeyboardInterrupt

    monkeypatch.setattr(crew, "tick", interrupted)
    for _ in range(60):
        try:
            fleet.tick()
        except KeyboardInterrupt:
            assert heard[-1] == fleet._roster.number
    assert heard
    assert fleet.statuses.tolist() == [2 if shut else 1, 1]
    assert fleet.active == fleet.stats.agents == 0
    monkeypatch.undo()
    world.unblock(np.argwhere(~world.free))
    fleet.send(1, (0, 0))
    walk(fleet)
    assert fleet.statuses.tolist() == [1, 1]


@pytest.mark.parametrize("ask", ["active", "statuses", "stats"])
def test_an_interrupt_while_edits_are_heard_of_loses_nobody(ask: str) -> None:
    """Wherever in there it comes: it waits for the end."""
    code = Roster.take_note_of_edits.__code__
    lines = sorted({line for _, _, line in code.co_lines() if line})[1:]
    for line in lines:
        world = tb.Grid(np.ones((3, 6), bool))
        fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
        fleet.add([(row, 0) for row in range(3)], [(row, 5) for row in range(3)])
        wall = [(row, 3) for row in range(3)]
        world.block(wall)
        walk(fleet)
        world.unblock(wall)
        hits: list[int] = []

        def trace(frame: Any, event: str, arg: Any, line: int = line, hits: list[int] = hits) -> Any:
            if frame.f_code is code and event == "line" and frame.f_lineno == line and not hits:
                hits.append(line)
                signal.raise_signal(signal.SIGINT)
            return trace

        before, handler = sys.gettrace(), signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            sys.settrace(trace)
            getattr(fleet, ask)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
            signal.signal(signal.SIGINT, handler)
        assert fleet.active == fleet.stats.agents == 3
        walk(fleet)
        assert (fleet.statuses == 1).all()


def test_who_cannot_be_woken_is_stopped_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid(np.ones((4, 9), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    ids = fleet.add([(row, 0) for row in range(4)], [(row, 8) for row in range(4)])
    wall = [(row, 4) for row in range(4)]
    world.block(wall)
    walk(fleet)
    walker = int(fleet.add((0, 5), (3, 8))[0])
    world.unblock(wall)
    real = Roster._take_planner

    def scarce(self: Roster, k: int, goal: int) -> None:
        if k == ids[1]:
            raise MemoryError("no more")
        real(self, k, goal)

    monkeypatch.setattr(Roster, "_take_planner", scarce)
    with pytest.raises(MemoryError, match=r"agent 1, was stopped: no more"):
        fleet.tick()
    assert fleet.moved[walker]
    assert fleet.status(ids[1]) == "stopped"
    walk(fleet)
    assert [fleet.status(k) for k in ids] == ["reached", "stopped", "reached", "reached"]
    assert fleet.stats.agents == 0


def test_whose_field_cannot_be_any_more_goes_on_with_a_star() -> None:
    """An edit has made a graph one-way: as an Agent does; and who has arrived is where it wants to be."""
    arcs = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4)]
    world = tb.Graph(*zip(*arcs, strict=True), [1.0] * len(arcs))
    fleet = tb.Fleet(world, "field", frame_expansions=2)
    ids = fleet.add([0, 1], 5)
    there = fleet.add(4, 5)
    other = fleet.add(0, 3, spec="lrta*")
    while fleet.status(there) != "reached":
        fleet.tick()
    world.set_cost(2, 3, 9.0)
    walk(fleet)
    assert (fleet.statuses == 1).all()
    fleet.send([*ids, *there], 0)
    world.block(5, 4)  # there is no way back
    walk(fleet)
    assert [fleet.status(k) for k in (*ids, *there, *other)] == ["unreachable"] * 3 + ["reached"]


def test_who_waits_for_a_planner_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """With collisions: it does not insist on its cell while it has nothing to plan with."""
    cells = np.zeros((3, 12), bool)
    cells[1] = cells[0, 5] = True
    world = tb.Grid(cells)
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000, collisions=True)
    first = fleet.add((1, 4), (1, 11))
    world.block((1, 9))
    walk(fleet)
    monkeypatch.setattr(roster_module, "_AT_ONCE", 0)  # as if thousands were before it
    world.block((0, 5))
    world.unblock((0, 5))
    second = fleet.add((1, 0), (1, 8))
    for _ in range(30):
        fleet.tick()
    assert fleet.status(first[0]) == "active"
    assert fleet.status(second[0]) == "reached"


def test_who_has_just_set_out_was_not_served() -> None:
    """Whether it was new, at rest, or pushed off its goal."""
    fleet = tb.Fleet(tb.Grid(np.ones((20, 20), bool)), "tb-wa*", frame_expansions=10_000)
    ids = fleet.add([(0, col) for col in range(10)], [(1, col) for col in range(10)])
    assert fleet.stats.served == 0
    walk(fleet)
    fleet.tick()
    fleet.send(ids, (19, 19))
    assert (fleet.stats.agents, fleet.stats.served, fleet.stats.waited.max()) == (10, 0, 0)
    fleet.tick()
    assert fleet.stats.served == 10


def test_stats_hear_of_edits_as_well() -> None:
    """Whatever is asked first; and who has not had a turn was not served."""
    world = tb.Grid(np.ones((3, 6), bool))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=100)
    fleet.add([(0, 0), (1, 0)], (1, 5))
    assert (fleet.stats.agents, fleet.stats.served) == (2, 0)
    fleet.tick()
    assert (fleet.stats.agents, fleet.stats.served) == (2, 2)
    world.block((1, 5))
    assert (fleet.stats.agents, fleet.stats.served) == (0, 0)


def test_the_database_of_a_fleet_is_for_those_who_use_one(tmp_path: Path) -> None:
    """Others may be added beside them; who is given one and has no use for it is told so."""
    world = tb.Grid(tb.generate.rooms((30, 30), room=6, seed=1))
    database = tb.prepare(world, tmp_path / "rooms.coverage", algorithm="knn-lrta*")
    free = np.argwhere(world.free)
    fleet = tb.Fleet(world, "knn-lrta*", frame_expansions=1000, database=database)
    ids = [*fleet.add([free[0]], [free[-1]]), *fleet.add([free[1]], [free[-2]], spec="tb-wa*")]
    while fleet.active:
        fleet.tick()
    assert (fleet.statuses[ids] == 1).all()
    with pytest.raises(tb.SpecError, match=r"tb-wa\* uses no database"):
        fleet.add([free[1]], [free[-2]], spec="tb-wa*", database=database)
