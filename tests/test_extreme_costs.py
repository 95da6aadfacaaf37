"""Costs far apart, sums of many, nodes of many arcs."""

from __future__ import annotations

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, SQRT2


def test_a_far_goal_and_a_large_weight_do_not_overflow() -> None:
    """2000 arcs of the largest cost the integers allow, times the largest weight."""
    n = 2000 if COMPILED else 200
    ends = np.arange(n - 1)
    world = tb.Graph(ends, ends + 1, np.full(n - 1, 1.3), coordinates=np.c_[np.arange(n), np.zeros(n)])
    for weight in (2, 8, 100):
        result = tb.solve(world, 0, n - 1, f"wa*:weight={weight}")
        assert result.status == "reached"
        assert result.moves == n - 1


@pytest.mark.compiled
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
