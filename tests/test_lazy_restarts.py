"""Lazy restarts: RTB-WA* searches again only where an edit may have made a better way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import corridors, edit_ground, edit_roads, grounds, has_a_path, roads
from helpers import COMPILED, points
from naive.repeated import arcs_of
from timebound.kernels.edits import through
from timebound.kernels.jit import kernel
from timebound.kernels.views import aim
from timebound.worlds import changes

SEEDS = st.integers(0, 2**32 - 1)
RESTARTS = ("eager", "lazy")


def test_lazy_restarts_are_fewer() -> None:
    """Far from the way nothing that happens matters; ahead of the agent everything does."""
    restarts = {}
    for restart in RESTARTS:
        world = tb.Grid(np.ones((30, 30)))
        agent = tb.agent(f"rtb-wa*:restart={restart}", world, (2, 0), (2, 29), budget=50).run(5)
        for k in range(10):
            world.block((29, k))
            agent.step()
        restarts[restart] = agent.result().restarts
        world.block((2, agent.position[1] + 3))
        agent.step()
        assert agent.result().restarts == restarts[restart] + 1
        assert agent.run().status == "reached"
    assert restarts == {"eager": 10, "lazy": 0}


@pytest.mark.parametrize(("row", "restarts"), [(1, 1), (5, 1), (6, 0), (7, 0)])
def test_a_way_that_may_be_shorter_is_looked_at(row: int, restarts: int) -> None:
    """The wall has a gap far below. One that opens above matters if twice the way through it is below the rest."""
    cells = np.ones((12, 9))
    cells[:11, 4] = 0
    world = tb.Grid(cells, connectivity=4)
    agent = tb.agent("rtb-wa*:weight=2", world, (0, 3), (0, 5)).run(4)
    assert agent.position == (4, 3)
    rest = len(agent.ahead())
    assert rest == 20
    through = abs(4 - row) + 2 + row  # exactly half of the rest for row 6
    assert (2 * through < rest) == restarts
    world.unblock((row, 4))
    agent.step()
    assert agent.result().restarts == restarts


@pytest.mark.parametrize(("cost", "restarts"), [(0.75, 1), (2.0, 0), (6.0, 0)])
def test_a_road_that_may_be_shorter_is_looked_at(cost: float, restarts: int) -> None:
    """On a graph without an estimate any arc that now costs less than 1/w of the rest may lead straight to the goal."""
    world = tb.Graph([0, 1, 2, 3, 8], [1, 2, 3, 4, 9], [1.0, 1.0, 1.0, 1.0, 9.0], nodes=10, directed=False)
    agent = tb.agent("rtb-wa*:weight=2", world, 0, 4).run(1)
    world.set_cost(8, 9, cost)  # nobody can get there, but to know it takes a search
    agent.step()
    assert agent.result().restarts == restarts


@pytest.mark.parametrize(("cost", "restarts"), [(1.5, 1), (1.0, 0), (0.99, 0)])
def test_ground_ahead_that_gets_dearer(cost: float, restarts: int) -> None:
    """Than it was to the search; what was dear behind the agent does not matter."""
    world = tb.Grid(np.ones((3, 12)), terrain=True)
    world.set_cost((2, 0), 0.5)  # the cheapest there ever is
    agent = tb.agent("rtb-wa*:weight=3", world, (0, 0), (0, 11)).run(3)
    world.set_cost((0, 1), 50.0)
    agent.step()
    assert agent.result().restarts == 0
    world.set_cost((0, 7), 1.5)
    world.set_cost((0, 7), cost)
    agent.step()
    assert agent.result().restarts == restarts


def astray() -> tuple[tb.Grid, tb.Agent]:
    """An agent that knows the way, and must step back to it."""
    cells, start, goal, _ = corridors(12, 6, 20, 2)
    world = tb.Grid(cells, connectivity=4)
    agent = tb.agent("rtb-wa*:weight=1", world, start, goal, budget=20)
    while not (has_a_path(agent) and agent.result().astray):
        agent.step()
    assert points(agent.ahead()).index(start) > 10
    return world, agent


@pytest.mark.parametrize("where", [3, 10, -3, None])
def test_the_way_back_is_ahead_too(where: int | None) -> None:
    world, agent = astray()
    way = points(agent.ahead())
    world.block(way[where] if where is not None else (0, 0))
    agent.step()
    assert agent.result().restarts == (where is not None)


def test_the_way_back_is_part_of_the_rest() -> None:
    """Near the start opens what would save two steps of the way back and the path; the path alone is shorter."""
    world, agent = astray()
    start = points(agent.result().path)[0]
    way = points(agent.ahead())
    cell = (start[0] - 3, 1)
    far = sum(abs(a - b) for a, b in zip(agent.position, cell, strict=True))
    through = far + sum(abs(a - b) for a, b in zip(cell, agent.goal, strict=True))
    assert len(way) - way.index(start) < through < len(way)
    world.unblock(cell)
    agent.step()
    assert agent.result().restarts == 1


@kernel
def way_through(world, entry, s, goal, bound):
    return through(world, entry, aim(world, s), aim(world, goal), bound)


@given(data=st.data(), seed=SEEDS)
@settings(max_examples=120 if COMPILED else 30)
def test_the_estimate_of_a_way_through_what_became_cheaper(data: st.DataObject, seed: int) -> None:
    """For each entry of the log the least h(s, u) + c(u, v) + h(v, goal) of its arcs; exact below a bound."""
    on_grid = data.draw(st.booleans())
    case = data.draw(grounds(side=7) if on_grid else roads())
    world, twin, log, random = case.world, case.twin, case.world.changes, np.random.default_rng(seed)
    unit = 1 if on_grid else world.unit / twin.scale
    for _ in range(10):
        before, mark = arcs_of(twin), log.count
        (edit_ground if on_grid else edit_roads)(random, case)
        cheaper = {arc: cost for arc, cost in arcs_of(twin).items() if cost < before.get(arc, math.inf)}
        entries = log.view.entries[mark : log.count].tolist()
        points_ = twin.points()
        for _ in range(6 if cheaper else 1):
            s, goal = (points_[int(k)] for k in random.integers(len(points_), size=2)) if points_ else [case.start] * 2
            ends = world.path_states([s, goal]).tolist()
            found = [way_through(world.view, entry, *ends, 1 << 59) for entry in entries]
            expected = [unit * (twin.estimate(s, u) + cheaper[u, v] + twin.estimate(v, goal)) for u, v in cheaper]
            # Where a cost was rounded up to whole units, by less than one.
            assert min(found, default=1 << 60) == pytest.approx(min(expected, default=1 << 60), rel=0, abs=not on_grid)
            for entry, exact in zip(entries, found, strict=True):
                for bound in (exact - 1, exact, exact + 1, exact // 2, 2 * exact) if exact < 1 << 59 else ():
                    rough = way_through(world.view, entry, *ends, bound)
                    assert rough == exact if exact < bound else bound <= rough <= exact


@pytest.mark.parametrize("edits", [4, 5])
def test_a_log_that_ran_over_means_a_restart(edits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has been lost may have mattered."""
    monkeypatch.setattr(changes, "RING", 4)
    world = tb.Grid(np.ones((20, 20)))
    agent = tb.agent("rtb-wa*", world, (0, 0), (0, 19)).run(2)
    world.block([(19, 2 * k) for k in range(edits)])
    agent.step()
    assert agent.result().restarts == (edits > 4)
