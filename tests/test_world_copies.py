"""Copies of worlds: the same world, and another one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, grounds
from helpers import COMPILED

FEW = settings(max_examples=80 if COMPILED else 12)
SEEDS = st.integers(0, 2**32 - 1)


@given(data=st.data())
@FEW
def test_a_copy_is_the_same_world(data: st.DataObject) -> None:
    """Edited before, it has the same cells, costs and rules; edited after, each goes its own way."""
    case = data.draw(grounds())
    random = np.random.default_rng(data.draw(SEEDS))
    for _ in range(data.draw(st.integers(0, 4))):
        edit_ground(random, case)
    world, same = case.world, case.world.copy()
    assert same.digest == world.digest
    assert np.array_equal(same.costs, world.costs)
    assert same.shape == world.shape
    assert np.array_equal(same.view.moves, world.view.moves)
    assert type(same.view) is type(world.view)
    assert same.changes.count == 0
    digest, count = world.digest, world.changes.count
    for mask in (np.ones(world.shape, bool), random.random(world.shape) < 0.5):
        same.block(mask)
        assert world.digest == digest
        same.unblock(mask)
    assert world.changes.count == count
    # What has been blocked comes back as it was, in the one as in the other.
    world.unblock(np.ones(world.shape, bool))
    same.unblock(np.ones(world.shape, bool))
    assert np.array_equal(same.costs, world.costs)


def test_a_copy_of_terrain_with_a_wall_in_it() -> None:
    """A blocked cell remembers its cost, and so does its copy."""
    world = tb.Grid([[1, 2, 3], [4, 5, 6]])
    world.block((0, 1))
    same = world.copy()
    assert same.digest == world.digest
    same.unblock((0, 1))
    assert same.costs[0, 1] == 2.0
    assert not world.free[0, 1]


def test_a_copy_has_its_own_agents() -> None:
    world = tb.Grid(np.ones((3, 7)), terrain=True)
    same = world.copy()
    agents = [tb.agent("a*", grid, (1, 0), (1, 6)).run(1) for grid in (world, same)]
    same.block([(0, 3), (1, 3)])
    same.set_cost((1, 5), 4.0)
    assert [agent.run().status for agent in agents] == ["reached", "reached"]
    assert agents[0].cost == 6.0 < agents[1].cost
    assert world.free.all()
    assert (world.costs == 1.0).all()
