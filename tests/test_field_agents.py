"""Agents that share a field: what one has found out serves the others, whoever grows it."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, edit_roads, grounds, roads
from helpers import COMPILED, Case
from timebound.algorithms import field as field_file
from timebound.kernels import shared_field


def shared(agent: tb.Agent) -> Any:
    return agent._planner.shared  # type: ignore[attr-defined]


@given(case=st.one_of(grounds(), roads()), budget=st.sampled_from([None, 1, 7]))
@settings(max_examples=40 if COMPILED else 8)
def test_a_walk_is_as_short_as_it_can_be(case: Case, budget: int | None) -> None:
    result = tb.solve(case.world, case.start, case.goal, "field", budget=budget)
    best = tb.solve(case.world, case.start, case.goal, "dijkstra")
    assert result.status == best.status
    assert result.cost == pytest.approx(best.cost, rel=1e-3)


def test_the_second_finds_what_the_first_has_grown() -> None:
    world = tb.Grid(np.ones((10, 10)))
    first, second = (tb.agent("field", world, (9, col), (0, 0), budget=20) for col in (9, 3))
    other = tb.agent("field", world, (9, 9), (0, 1), budget=20)
    assert shared(first) is shared(second)
    assert shared(first) is not shared(other)
    first.run()
    assert first.expansions > 50
    assert second.step() != (9, 3)
    second.run()
    assert second.expansions == 0
    assert second.result().first_move_lag == 0
    assert second.cost == tb.solve(world, (9, 3), (0, 0), "a*").cost


def test_a_field_goes_with_the_last_that_holds_it() -> None:
    world = tb.Grid(np.ones((4, 4)))
    agent = tb.agent("field", world, (3, 3), (0, 0))
    known = field_file._fields[world]
    goal = world.state_of((0, 0))
    assert known[goal] is shared(agent)
    agent.run()
    assert shared(agent) is None
    gc.collect()
    assert goal not in known
    assert agent.ahead().tolist() == []
    assert agent.restart().run().status == "reached"


def test_a_fleet_may_grow_it_and_let_its_agents_read() -> None:
    """As the docstring of the algorithm says: one growth per tick for all, and agents that expand nothing."""
    world = tb.Grid(np.ones((9, 9)))
    world.block([(4, col) for col in range(8)])
    agents = [tb.agent("field", world, (8, col), (0, 0), budget=5) for col in range(9)]
    for agent in agents:
        agent._planner.state.memo["reads"] = 1
    fields = {id(shared(agent)): shared(agent) for agent in agents}
    assert len(fields) == 1
    waited = 0
    for tick in itertools.count():
        if tick == 12:
            world.block((4, 8))
            world.unblock((4, 0))
        for field in fields.values():
            assert field.grow(10) <= 10
        for agent in agents:
            before = agent.position
            waited += agent.step() == before and not agent.done
        if all(agent.done for agent in agents):
            break
        assert tick < 100
    assert {agent.status for agent in agents} == {"reached"}
    assert sum(agent.expansions for agent in agents) == 0
    assert waited > 0


def test_a_reader_takes_arrays_that_were_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_field, "_PER_STATE", 0)
    monkeypatch.setattr(shared_field, "_LEAST", 1)
    monkeypatch.setattr(shared_field, "_KEYS", 1)
    world = tb.Grid(np.ones((7, 7)))
    grower, reader = (tb.agent("field", world, (6, col), (0, 0), budget=9) for col in (6, 0))
    reader._planner.state.memo["reads"] = 1
    reader.step()
    grower.run()
    assert reader.run().status == "reached"
    assert reader.expansions == 0


def test_nobody_stands_still_while_the_field_is_repaired() -> None:
    """The far side of a long hall need not wait until a door beside the goal is taken notice of."""
    world = tb.Grid(np.ones((3, 40)))
    agent = tb.agent("field", world, (1, 39), (1, 0), budget=2)
    agent.run(200)
    agent = tb.agent("field", world, (1, 39), (1, 0), budget=2)
    shared(agent).grow(10**6)
    for k in range(12):
        (world.unblock if k % 2 else world.block)((1, 1))
        before = agent.position
        assert agent.step() != before
    assert agent.run().status == "reached"


def test_what_lies_ahead() -> None:
    world = tb.Grid([[1, 1, 1, 1]])
    agent = tb.agent("field", world, (0, 0), (0, 3), budget=1)
    assert agent.ahead().tolist() == []
    agent.run(6)
    assert agent.ahead().tolist() == [[0, col] for col in range(agent.position[1] + 1, 4)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda planners: pickle.loads(pickle.dumps(planners))])
def test_copied_planners_still_share(copied: Any) -> None:
    """And nobody in this process has the name by which they take the lock."""
    world = tb.Grid(np.ones((5, 5)))
    agents = [tb.agent("field", world, (4, col), (0, 0), budget=5) for col in (0, 4)]
    agents[0].run(3)
    one, other = copied([agent._planner for agent in agents])
    assert one.shared is other.shared
    assert one.shared is not shared(agents[0])
    assert one.state.field.table.words is other.state.field.table.words
    names = [int(planner.state.memo["name"][0]) for planner in (one, other, *(agent._planner for agent in agents))]
    assert len(set(names)) == 4
    assert one.shared.state.memo["states"] == shared(agents[0]).state.memo["states"]
    agents[0]._planner.release()
    assert copied(agents[0]._planner).shared is None


def test_agents_of_one_field_in_several_threads() -> None:
    side = 80 if COMPILED else 12
    world = tb.Grid(tb.generate.random_obstacles((side, side), 0.2, seed=4))
    parts = world.parts()
    inside = np.flatnonzero(parts == np.bincount(parts[parts > 0]).argmax())
    goal = world.point_of(int(inside[0]))
    ends: list[str] = []

    def walk(k: int) -> None:
        random = np.random.default_rng(k)
        for _ in range(4):
            start = world.point_of(int(random.choice(inside)))
            ends.append(tb.agent("field", world, start, goal, budget=int(random.choice([3, 40]))).run().status)

    tb.solve(world, goal, world.point_of(int(inside[1])), "field", budget=5)
    threads = [threading.Thread(target=walk, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert ends == ["reached"] * 16


@given(case=st.one_of(grounds(), roads()), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40 if COMPILED else 8)
def test_a_crowd_with_one_goal_in_a_world_that_changes(case: Case, seed: int) -> None:
    """Every move is legal at its time; when the world rests, all go on as cheaply as can be."""
    random = np.random.default_rng(seed)
    edit = edit_ground if isinstance(case.world, tb.Grid) else edit_roads
    places = case.twin.points()
    starts = [places[int(k)] for k in random.integers(len(places), size=4)]
    agents = [tb.agent("field", case.world, start, case.goal, budget=3) for start in starts]
    for _ in range(10):
        for agent in agents:
            before = agent.position
            after = agent.step()
            if after != before:
                assert after in [step.target for step in case.twin.successors(before)]
        edit(random, case)
    for agent in agents:
        if agent.status == "reached":
            continue
        place, cost = agent.position, agent.cost
        if isinstance(case.world, tb.Grid) and not case.world.free[place]:
            continue
        best = tb.solve(case.world, place, case.goal, "dijkstra")
        agent.run()
        assert agent.status == best.status
        # A first step or two may be made by what was known before the last edit.
        assert agent.cost - cost >= best.cost * (1 - 1e-3)
