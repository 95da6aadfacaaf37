"""Edits that are posted, and made before the next tick."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
import pytest

import timebound as tb
from helpers import points


def test_an_edit_for_later() -> None:
    world = tb.Grid(np.ones((2, 6)), terrain=True)
    digest = world.digest
    assert world.block((0, 1), later=True) == 0
    assert world.set_cost((0, 2), 5.0, later=True) == 0
    assert world.digest == digest
    assert world.changes.count == 0
    assert world.changes.catch_up() == 2
    assert world.free[0].tolist() == [True, False, True, True, True, True]
    assert world.costs[0, 2] == 5.0
    assert world.changes.catch_up() == 0
    assert world.unblock((0, 1), later=True) == 0
    agent = tb.agent("a*", world, (0, 0), (0, 5))
    assert not world.free[0, 1]  # making an agent is not a tick
    agent.step()
    assert world.free[0, 1]


def test_edits_for_later_keep_their_order() -> None:
    world = tb.Grid(np.ones((3, 3)), terrain=True)
    for what in ("block", "unblock", "block", "block", "unblock"):
        getattr(world, what)((1, 1), later=True)
    world.block((2, 2), later=True)
    for cost in (2.0, 7.0, 3.0):
        world.set_cost((0, 0), cost, later=True)
    assert world.changes.catch_up() == 9
    assert world.free[1, 1]
    assert not world.free[2, 2]
    assert world.costs[0, 0] == 3.0
    graph = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False)
    for what in ("block", "unblock", "block"):
        getattr(graph, what)(0, 1, later=True)
    graph.set_cost(1, 2, 4.0, later=True)
    graph.set_cost(1, 2, 2.0, later=True)
    assert graph.changes.count == 0
    assert graph.changes.catch_up() == 5
    assert tb.solve(graph, 0, 1).status == "unreachable"
    assert tb.solve(graph, 1, 2).cost == 2.0


def test_edits_for_later_keep_their_order_between_threads() -> None:
    """Whoever finds them makes them, one after the other, also if two agents find them at once."""
    world, order, begun, go = tb.Grid(np.ones((3, 3))), [], threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go.wait(0.3)
        order.append("first")

    world.changes.post(slow)
    other = threading.Thread(target=world.changes.catch_up)
    other.start()
    assert begun.wait(30)
    world.changes.post(lambda: order.append("second"))
    world.changes.catch_up()
    go.set()
    other.join(30)
    assert not other.is_alive()
    assert order == ["first", "second"]


def test_an_edit_for_later_is_made_before_the_next_tick() -> None:
    """The cell ahead is walled in: the agent must not enter it, however soon it steps."""
    for spec in ("a*", "tba*", "rtb-wa*", "lrta*"):
        world = tb.Grid(np.ones((3, 9)))
        agent = tb.agent(spec, world, (1, 0), (1, 8), budget=30).run(2)
        ahead = (1, agent.position[1] + 1)
        world.block(ahead, later=True)
        assert world.free[ahead]
        assert agent.step() != ahead
        assert not world.free[ahead]
        assert agent.run().status == "reached"
        assert ahead not in points(agent.result().path)


def test_what_is_posted_is_a_copy() -> None:
    world = tb.Grid(np.ones((2, 3)), terrain=True)
    cells, costs, mask = np.array([[0, 0]]), np.array([4.0]), np.zeros((2, 3), bool)
    mask[1, 1] = True
    world.set_cost(cells, costs, later=True)
    world.block(cells, later=True)
    world.block(mask, later=True)
    cells[:], costs[:], mask[:] = 1, 9.0, True
    world.changes.catch_up()
    assert np.argwhere(~world.free).tolist() == [[0, 0], [1, 1]]
    world.unblock((0, 0))
    assert world.costs[0, 0] == 4.0


TOO_DEAR = (np.ones((40, 40), bool), 1.5e5)  # each cost is possible, all together are not


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (lambda grid, graph: grid.block((99, 0), later=True), tb.ProblemError),
        (lambda grid, graph: grid.unblock([(0, 0), (0, 0.5)], later=True), tb.ProblemError),
        (lambda grid, graph: grid.block(np.ones((3, 3), bool), later=True), tb.WorldError),
        (lambda grid, graph: grid.set_cost((0, 0), -1.0, later=True), tb.WorldError),
        (lambda grid, graph: grid.set_cost((0, 0), 1e12, later=True), tb.WorldError),
        (lambda grid, graph: grid.set_cost((0, 0), [1.0, 2.0], later=True), tb.WorldError),
        (lambda grid, graph: tb.Grid(np.ones((2, 2))).set_cost((0, 0), 2.0, later=True), tb.WorldError),
        (lambda grid, graph: graph.block(0, 2, later=True), tb.WorldError),
        (lambda grid, graph: graph.unblock(0, 9, later=True), tb.ProblemError),
        (lambda grid, graph: graph.set_cost(0, 1, math.nan, later=True), tb.WorldError),
        # An error in whoever steps next, in some other thread, would help nobody.
        pytest.param(lambda grid, graph: grid.set_cost(*TOO_DEAR, later=True), tb.WorldError, id="room-on-a-grid"),
        pytest.param(lambda grid, graph: graph.set_cost(0, 1, 1e15, later=True), tb.WorldError, id="room-on-a-graph"),
    ],
)
def test_what_cannot_be_done_later_is_said_now(edit: Callable[..., int], kind: type[Exception]) -> None:
    grid, graph = tb.Grid(np.ones((40, 40)), terrain=True), tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False)
    with pytest.raises(kind) as refusal:
        edit(grid, graph)
    assert "\n" not in str(refusal.value)
    assert grid.changes.catch_up() == graph.changes.catch_up() == 0
    assert grid.free.all()
    assert tb.agent("tba*", graph, 0, 2, budget=5).run().status == "reached"
