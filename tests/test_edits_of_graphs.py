"""Edits of graphs: arcs that close, open and get other costs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import timebound as tb


def test_graph_edits() -> None:
    world = tb.Graph([0, 1, 0], [1, 2, 2], [1.5, 1.5, 9.0], directed=False)
    assert tb.solve(world, 0, 2).cost == 3.0
    mark = world.changes.count
    assert world.block(0, 1) == 2
    assert world.block(0, 1) == 0
    assert set(world.changes.since(mark)) == {(0, 1, 1), (1, 0, 1)}
    assert tb.solve(world, 0, 2).cost == 9.0
    with pytest.raises(tb.MoveError):
        tb.validate(world, [0, 1])
    assert world.unblock(1, 0) == 2
    assert tb.solve(world, 0, 2).cost == 3.0
    assert world.set_cost(0, 2, 1.25) == 2
    assert world.set_cost(0, 2, 1.25) == 0
    assert [sign for *_, sign in world.changes.since(world.changes.count - 2)] == [-1, -1]
    assert tb.solve(world, 0, 2).cost == 1.25
    assert world.block(0, 2) == 2
    assert world.set_cost(0, 2, 1.75) == 0, "a closed arc stays closed"
    assert world.unblock(0, 2) == 2
    assert tb.solve(world, 0, 2).cost == 1.75


def test_directed_edits_leave_the_way_back() -> None:
    world = tb.Graph([0, 1], [1, 0], [1.0, 2.0])
    assert world.block(0, 1) == 1
    assert tb.solve(world, 0, 1).status == "unreachable"
    assert tb.solve(world, 1, 0).cost == 2.0


def test_graph_edits_that_cannot_be() -> None:
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False, coordinates=[[0, 0], [1, 0], [2, 0]])
    with pytest.raises(tb.WorldError, match="there is no arc from 0 to 2"):
        world.block(0, 2)
    with pytest.raises(tb.ProblemError):
        world.block(0, 7)
    for wrong in (0, -1, math.nan, math.inf):
        with pytest.raises(tb.WorldError, match="a cost must be a positive, finite number"):
            world.set_cost(0, 1, wrong)
    with pytest.raises(tb.WorldError, match="would break the heuristic"):
        world.set_cost(0, 1, 0.5)
    with pytest.raises(tb.WorldError, match="too large for this graph"):
        world.set_cost(0, 1, 1e15)
    assert world.changes.count == 0


def test_a_broken_cost_on_a_graph_of_whole_costs() -> None:
    """1.1 + 1.1 is less than 3, also where all costs were whole when the graph was made."""
    world = tb.Graph([0, 0, 1], [2, 1, 2], [3.0, 1.0, 1.0])
    world.set_cost(0, 1, 1.1)
    world.set_cost(1, 2, 1.1)
    assert tb.solve(world, 0, 2, "a*").cost == pytest.approx(2.2)


def test_an_arc_opened_again_costs_what_it_did() -> None:
    """To the last unit: ties decide trajectories."""
    world = tb.Grid(np.array([[1, 2.0], [3, 4]])).to_graph()
    before = world.view.cost.copy()
    world.block((0, 0), (1, 1))
    world.unblock((0, 0), (1, 1))
    assert world.view.cost.tolist() == before.tolist()


def test_arcs_may_get_dearer_and_cheaper_for_ever() -> None:
    world = tb.Graph([0, 1], [1, 2], [2.0, 2.0], directed=False, coordinates=[[0, 0], [1, 0], [2, 0]])
    for _ in range(3000):
        world.set_cost(0, 1, 500.0)
        world.set_cost(0, 1, 2.0)
    assert tb.solve(world, 0, 2).cost == 4.0
    plain = tb.Graph([0, 1, 0, 3], [1, 2, 2, 4], [5, 5, 5, 2.0**40], nodes=5)
    with pytest.raises(tb.WorldError, match="too small"):
        plain.set_cost(0, 1, 0.1)


def test_several_arcs_are_one_edit() -> None:
    world = tb.Graph([0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, 1.0, 9.0], directed=False)
    agent = tb.agent("a*", world, 0, 3)
    assert world.block([0, 1, 1], [1, 2, 0]) == 4  # one is named twice, by its reverse
    assert agent.run().result().path.tolist() == [0, 3]
    assert world.unblock(np.array([0, 1]), np.array([1, 2])) == 4
    assert world.set_cost([0, 1, 2], [1, 2, 3], 4.0) == 6
    assert tb.solve(world, 0, 3).cost == 9.0
    before = world.digest
    for ends in (([0, 1], 1), (0, [1]), ([0, 1], [1]), ([0, 1], [1, 3]), ([0, 7], [1, 2])):
        with pytest.raises(tb.Error):
            world.block(*ends)
    assert world.digest == before


def test_a_copy_of_a_graph_is_edited_alone() -> None:
    names = [object(), object(), ("a", 1)]
    world = tb.Graph([0, 1], [1, 2], directed=False, labels=names)
    other = world.copy()
    assert other.block(names[0], names[1]) == 2
    assert tb.solve(other, names[0], names[2]).status == "unreachable"
    assert tb.solve(world, names[0], names[2]).path == names
    assert (world.changes.count, other.changes.count) == (0, 2)
