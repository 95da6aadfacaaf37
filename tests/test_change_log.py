"""The log of a world: what it says has changed, and what happens when it runs over."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_roads, roads
from helpers import COMPILED, CORNERS, Case
from naive.repeated import Ground, arcs_of
from timebound.worlds import changes

FEW = settings(max_examples=80 if COMPILED else 12)
SEEDS = st.integers(0, 2**32 - 1)


def test_the_log_of_costs_given_to_many_cells() -> None:
    """It is that of one cell after the other."""
    rules = [{"connectivity": c, "corners": k} for c in (4, 8) for k in CORNERS]
    for seed, rule in enumerate(rules * 3):
        random = np.random.default_rng(seed)
        cells = random.choice([0, 1, 2, 5.0], (5, 6))
        cells[0, 0] = 2
        world, other, twin = tb.Grid(cells, **rule), tb.Grid(cells, **rule), Ground(cells.tolist(), **rule)
        where = [(int(r), int(c)) for r, c in np.argwhere(random.random((5, 6)) < 0.4)]
        costs = random.choice([1, 2, 3, 8.0], len(where))
        assert world.set_cost(where, costs) == sum(
            other.set_cost(cell, cost) for cell, cost in zip(where, costs, strict=True)
        )
        assert world.changes.since(0) == other.changes.since(0)
        assert world.digest == other.digest
        before = arcs_of(twin)
        for cell, cost in zip(where, costs, strict=True):
            twin.set_cost(cell, float(cost))
        after = arcs_of(twin)
        assert {arc for arc in before if before[arc] != after[arc]} <= {arc[:2] for arc in world.changes.since(0)}
        assert {arc[:2] for arc in world.changes.since(0)} <= before.keys()


@given(case=roads(), seed=SEEDS)
@FEW
def test_the_log_of_a_graph(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(8):
        before, mark = arcs_of(case.twin), case.world.changes.count
        changed = edit_roads(random, case)
        after = arcs_of(case.twin)
        expected = set()
        for arc in before.keys() | after.keys():
            old, new = before.get(arc, math.inf), after.get(arc, math.inf)
            if old != new:
                expected.add((*arc, 1 if new > old else -1))
        log = case.world.changes.since(mark)
        assert set(log) == expected
        assert len(log) == len(expected) == changed


def test_the_log_of_one_way_arcs() -> None:
    world = tb.Graph([0, 1, 1], [1, 0, 2], [1.0, 2.0, 1.0], labels=["a", "b", "c"])
    world.block("b", "a")
    world.set_cost("a", "b", 3.0)
    world.set_cost("b", "a", 1.5)  # closed: nothing changes yet
    world.unblock("b", "a")
    assert world.changes.since(0) == [("b", "a", 1), ("a", "b", 1), ("b", "a", -1)]
    assert world.changes.since(2) == [("b", "a", -1)]


@pytest.mark.parametrize("count", [-1, 3, 10**9])
def test_a_log_of_what_has_not_been(count: int) -> None:
    world = tb.Grid(np.ones((2, 2)))
    world.block((0, 0))
    world.unblock((0, 0))
    assert world.changes.count == 2
    with pytest.raises(tb.SpecError, match="from 0 to 2"):
        world.changes.since(count)


def test_a_log_that_ran_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "RING", 4)
    world = tb.Grid([[1, 1]])
    for k in range(4):
        assert (world.block if k % 2 == 0 else world.unblock)((0, 1)) == 1
    assert world.changes.count == 4
    assert len(world.changes.since(0)) == 8  # each edit closes or opens two arcs
    world.block((0, 1))
    assert world.changes.since(0) is None
    assert world.changes.since(1) is not None
    assert [sign for *_, sign in world.changes.since(4)] == [1, 1]
    assert world.changes.since(5) == []
