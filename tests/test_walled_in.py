"""Agents that are walled in, and out again: a proof that there is no way holds until the next edit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import check_books
from helpers import COMPILED, companion, points, refused
from naive.repeated import Ground
from naive.worlds import path_length, reachable
from timebound.algorithms import REGISTRY

SEEDS = st.integers(0, 2**32 - 1)
SHORTCUTS = ("tba*:shortcut=true", "tba*:acting=late,shortcut=true")
EVERY = (*REGISTRY, "rtb-wa*:restart=eager", *SHORTCUTS)


def wake(agent: tb.Agent, shut: Callable[[], Any], reopen: Callable[[], Any], length: Callable[[list], float]) -> None:
    """The way is shut, the agent gives up; a way opens, and it goes on as if nothing had happened."""
    agent.step()
    before = points(agent.result().path)
    cost = length(before)
    check_books(agent, cost)
    shut()
    agent.run()
    assert agent.status == "unreachable"
    trail = points(agent.result().path)
    cost += length(trail[len(before) - 1 :])
    check_books(agent, cost)
    ticks, expansions, place = agent.ticks, agent.result().expansions, agent.position
    agent.step()
    agent.run()
    assert (agent.ticks, agent.position) == (ticks, place), "an agent that is done does nothing"
    agent.wait(3)
    assert agent.status == "unreachable"
    check_books(agent, cost)
    reopen()
    assert not agent.done
    assert agent.status == agent.result().status == "active"
    assert agent.position == place
    agent.run()
    assert agent.status == "reached"
    assert agent.position == agent.goal
    walk = points(agent.result().path)
    assert walk[: len(trail)] == trail
    check_books(agent, cost + length(walk[len(trail) - 1 :]))
    assert agent.result().expansions > expansions
    assert agent.result().waits >= 3 + 1  # the tick of the proof is one too


@pytest.mark.parametrize("spec", EVERY)
@pytest.mark.parametrize("budget", [9, None])
def test_a_way_opens_on_a_grid(spec: str, budget: int | None) -> None:
    # Small, because IDA* must try every simple path before it knows that there is no way.
    cells = np.ones((2, 7), bool)
    cells[0, 3] = False
    world, twin = tb.Grid(cells), Ground(cells.tolist())
    agent = tb.agent(spec, world, (1, 0), (1, 6), budget=budget, **companion(spec, world))

    def turn(what: str, cell: tuple[int, int]) -> None:
        assert getattr(world, what)(cell) == 1
        getattr(twin, what)([cell])

    wake(agent, lambda: turn("block", (1, 3)), lambda: turn("unblock", (0, 3)), lambda way: path_length(twin, way))


@pytest.mark.parametrize("spec", EVERY)
def test_a_way_opens_on_a_graph(spec: str) -> None:
    """Two triangles and two bridges between them, one of which is closed."""
    ends = ([0, 1, 2, 3, 4, 5, 2, 1], [1, 2, 0, 4, 5, 3, 3, 4], [1.0, 1.5, 2.0, 1.0, 1.5, 2.0, 1.25, 7.0])
    world = tb.Graph(*ends, directed=False)
    world.block(1, 4)
    if refused(spec, world):
        with pytest.raises(tb.SpecError):
            tb.agent(spec, world, 0, 5)
        pytest.skip("refuses such a world, in so many words")
    costs = {frozenset((u, v)): cost for u, v, cost in zip(*ends, strict=True)}
    wake(
        tb.agent(spec, world, 0, 5, **companion(spec, world)),
        lambda: world.block(2, 3),
        lambda: world.unblock(4, 1),
        lambda way: math.fsum(costs[frozenset(step)] for step in itertools.pairwise(way)),
    )


@pytest.mark.parametrize("spec", EVERY)
def test_a_proof_holds_until_any_edit(spec: str) -> None:
    """It is proved again where the edit was of no help; in the very cell where the agent stands too."""
    world = tb.Grid(np.ones((2, 5), bool))
    companions = companion(spec, world)
    world.block([(0, 2), (1, 2)])
    agent = tb.agent(spec, world, (1, 0), (1, 4), **companions).run()
    assert agent.status == "unreachable"
    ticks = agent.ticks
    world.block((0, 4))
    assert agent.status == "active"
    assert agent.run().status == "unreachable"
    assert agent.ticks > ticks
    here = agent.position
    world.block(here)
    assert agent.run().status == "unreachable"
    assert agent.position == here
    world.unblock([here, (1, 2)])
    assert agent.run().status == "reached"


@pytest.mark.parametrize("spec", [spec for spec in EVERY if spec != "ida*"])
@given(data=st.data(), budget=st.sampled_from([9, 30]), commit=st.sampled_from([1, 1, 3]))
@settings(max_examples=30 if COMPILED else 6)
def test_nobody_enters_a_wall(data: st.DataObject, budget: int, commit: int, spec: str) -> None:
    """Walls come and go, on either side of the agent; every step is one that the world of the moment allows."""
    side = 9 if COMPILED else 5
    random = np.random.default_rng(data.draw(SEEDS))
    free = random.random((side, side)) >= 0.15
    start, goal = (0, 0), (side - 1, side - 1)
    free[start] = free[goal] = True
    world, twin = tb.Grid(free), Ground(free.tolist())
    agent = tb.agent(spec, world, start, goal, budget=budget, commit=commit, **companion(spec, world))
    cost = 0.0
    for _ in range(25):
        if agent.status == "reached":
            break
        before, ticks = agent.position, agent.ticks
        after = agent.step()
        if after != before:
            cost += path_length(twin, [before, after])
        check_books(agent, cost)  # not a number if the step was none
        assert agent.ticks - ticks <= 1
        if agent.status == "unreachable":
            assert goal not in reachable(twin, after)
        if random.random() < 0.4:
            for what, share in (("block", 0.15), ("unblock", 0.1)):
                mask = random.random((side, side)) < share
                mask[agent.position] = mask[goal] = False
                getattr(world, what)(mask)
                getattr(twin, what)(map(tuple, np.argwhere(mask).tolist()))
    if agent.status != "reached":
        possible = goal in reachable(twin, agent.position)
        assert agent.run().status == ("reached" if possible else "unreachable")


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
