"""Agents that wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import timebound as tb
from edited_worlds import check_books


def test_waiting() -> None:
    world = tb.Grid(np.ones((1, 9)))
    agent = tb.agent("tba*", world, (0, 0), (0, 8), budget=20)
    assert agent.wait() is agent
    agent.wait(2)
    agent.run(3)
    agent.wait(4)
    assert agent.position == (0, 3)
    assert (agent.moves, agent.ticks) == (3, 10)
    result = agent.run().result()
    assert result.status == "reached"
    assert (result.moves, result.waits, result.first_move_lag) == (8, 7, 3)
    spent = result.expansions_per_move
    assert spent[:3].tolist() == [0, 0, 0]
    assert spent[6:10].tolist() == [0, 0, 0, 0]
    assert spent[3] > 0
    assert spent.sum() == result.expansions


def test_waiting_for_long() -> None:
    """Longer than the book has pages at first."""
    world = tb.Grid(np.ones((3, 30)))
    agent = tb.agent("lrta*", world, (0, 0), (0, 29)).run(2).wait(5000)
    assert agent.ticks == 5002
    assert agent.run().status == "reached"
    check_books(agent, 29.0)
    assert agent.result().waits == 5000


@pytest.mark.parametrize("ticks", [0, -1, 1.5, True, None, "2"])
def test_waiting_for_nothing(ticks: Any) -> None:
    agent = tb.agent("a*", tb.Grid(np.ones((1, 3))), (0, 0), (0, 2))
    with pytest.raises(tb.SpecError, match="ticks must be a whole number"):
        agent.wait(ticks)
    assert agent.ticks == 0
