"""Memory: it follows what was touched, never runs out of stamps, and nothing learned is lost when time is short."""

from __future__ import annotations

import gc
import resource
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, points, shuffled
from timebound.kernels import heuristic_values, tables
from timebound.kernels.heuristic_values import enlarged, learn, new_values, values_as_dict
from timebound.kernels.jit import kernel
from timebound.kernels.layout import COLS, ROWS, STAMP_MAX, STAMP_SHIFT, WEIGHT_ONE
from timebound.kernels.learning_rules import dijkstra_inwards, from_best, teach
from timebound.kernels.lookahead import LOOK, a_star, new_space
from timebound.kernels.memory import lacks_room, reserved
from timebound.kernels.tables import (
    around,
    beside,
    exchanged,
    intern,
    new_banded,
    new_paged,
    renew,
    state_of,
    word_of,
)
from timebound.kernels.ticks import Tick, new_clock
from timebound.kernels.workspace import Workspace, new_record

SEARCHES = ("a*", "tba*", "tba*:shortcut=true", "tb-wa*", "rtb-wa*", "ribs", "k-lrta*", "lrta*:depth=3", "rtaa*")


def stamps_of(agent: tb.Agent) -> list[np.ndarray]:
    """The stamps of every table that the agent holds."""
    state = agent._planner.state
    found = [getattr(state, name).stamp for name in ("table", "cut_table") if hasattr(state, name)]
    return found + ([state.space.table.stamp] if hasattr(state, "space") else [])


def walk(spec: str, world: Any, start: Any, goal: Any, budget: int, left: int | None) -> list[tb.Result]:
    """Some episodes with edits on the way, in tables that have so many stamps ``left``."""
    results = []
    for _ in range(3):
        agent = tb.agent(spec, world, start, goal, budget=budget, move_limit=3000)
        if left is not None:
            for stamp in stamps_of(agent):
                stamp[0] = max(stamp[0], STAMP_MAX - left)
        for k in range(4):
            agent.run(3)
            if isinstance(world, tb.Grid):
                (world.unblock if k % 2 else world.block)((0, world.shape[1] - 1))
        results.append(agent.run().result())
    return results


@pytest.mark.parametrize("spec", SEARCHES)
@pytest.mark.parametrize("kind", ["grid", "graph", "puzzle"])
def test_stamps_that_run_out_change_nothing(spec: str, kind: str) -> None:
    def fresh() -> tuple[Any, Any, Any]:
        if kind == "puzzle":
            return tb.TilePuzzle(3, 3), shuffled(3, 3, 12, seed=2), tuple(range(9))
        side = 16 if COMPILED else 10
        grid = tb.Grid(tb.generate.random_obstacles((side, side), 0.2, seed=4))
        grid.unblock((0, side - 1))
        problem = next(tb.problems(grid, 1, seed=3, cost=(6, 30)))
        return grid if kind == "grid" else grid.to_graph(), problem.start, problem.goal

    expected = walk(spec, *fresh(), 100, None)
    for left in (0, 1, 2):
        found = walk(spec, *fresh(), 100, left)
        for one, other in zip(found, expected, strict=True):
            assert (one.status, one.expansions, one.cost) == (other.status, other.expansions, other.cost)
            assert points(one.path) == points(other.path)


@pytest.mark.parametrize("kind", ["banded", "paged"])
def test_a_table_against_a_dictionary(kind: str) -> None:
    """Searches one after the other, through some exchanges: each sees its own states only."""
    random = np.random.default_rng(1)
    table: Any = new_paged(5000) if kind == "paged" else new_banded(5000, 50)
    for search in range(60):
        if search % 20 == 19:
            table.stamp[0] = STAMP_MAX
        if renew(table) == 0:
            table = exchanged(table)
            assert not (table.words if kind == "banded" else table.places).any(), "what is swapped in must be clean"
            assert renew(table) > 0
        least = int(table.stamp[0]) << STAMP_SHIFT  # of this search's words
        twin: dict[int, int] = {}
        for s in random.integers(5000, size=40).tolist():
            slot = intern(table, s)
            assert state_of(table, slot) == s
            twin[s] = least + int(random.integers(1, 1 << 40))
            table.words[slot] = twin[s]
        for s in [*twin, *random.integers(5000, size=40).tolist()]:
            assert word_of(table, s) == twin[s] if s in twin else word_of(table, s) < least


def test_cells_beside_each_other_in_bands() -> None:
    """Every neighbour of every cell, on rows of an odd length, across the borders of bands."""
    width, rows = 13, 21
    table = new_banded(width * rows, width)
    places = {intern(table, s) for s in range(width * rows)}
    assert len(places) == width * rows
    for s in range(width * rows):
        table.words[intern(table, s)] = s + 1
    for row in range(1, rows - 1):
        for col in range(1, width - 1):
            slot = intern(table, row * width + col)
            near = [(row + int(r)) * width + col + int(c) for r, c in zip(ROWS, COLS, strict=True)]
            assert [word - 1 for word in around(table, slot, width)] == near
            for t, r, c in zip(near, ROWS, COLS, strict=True):
                assert beside(table, slot, int(r), int(c), width) == intern(table, t)


def test_a_large_table_of_values_has_a_place_for_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heuristic_values, "_DIRECT_FROM", 32)
    random = np.random.default_rng(1)
    values, twin = new_values(4, 4), {}
    for s in random.integers(3000, size=2000).tolist():
        if lacks_room(values, 1):
            values = enlarged(values, 3000)
        twin[s] = twin.get(s, 0) + 1 + s
        learn(values, s, twin[s])
    assert len(values.keys) == 0
    assert values_as_dict(values) == twin
    assert values.used[1] == len(twin)
    assert not lacks_room(values, 10**6), "there is room for the whole world"


def test_ribs_in_a_table_with_a_place_for_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid(tb.generate.caves((60, 60), seed=1), diagonal=1.5)
    problem = next(tb.problems(world, 1, seed=1, cost=(30, 60)))
    limit = 20_000 if COMPILED else 1000
    expected = tb.solve(world, problem.start, problem.goal, "ribs", move_limit=limit)
    monkeypatch.setattr(tables, "_DIRECT_FROM", 64)
    real = tables.new_hashed
    monkeypatch.setattr("timebound.algorithms.ribs.new_hashed", lambda slots, sparse: real(64, sparse))
    agent = tb.agent("ribs", world, problem.start, problem.goal, move_limit=limit).run()
    assert agent._planner.state.table.direct
    assert points(agent.result().path) == points(expected.path)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system how much memory was touched")
@pytest.mark.skipif(not COMPILED, reason="a map of four million cells")
@pytest.mark.parametrize("spec", ["tba*", "tb-wa*", "rtb-wa*", "k-lrta*", "ribs", "lrta*"])
def test_memory_follows_what_an_agent_touched(spec: str) -> None:
    world = tb.Grid(np.ones((2048, 2048), bool))
    agents = []

    def one_more(k: int) -> None:
        agent = tb.agent(spec, world, (20 * k + 10, 100), (20 * k + 10, 1900), budget=50)
        while int(agent._planner.state.counts["expanded"][0]) < 200:
            agent.step()
        agents.append(agent)

    one_more(0)  # what is compiled or loaded only once
    before = resident()
    for k in range(1, 51):
        one_more(k)
    assert (resident() - before) / 50 < 400_000, "10,000 agents would take more than 4 GB"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_reserved_memory_is_zero_and_writable() -> None:
    for shape in (3, 1 << 20, (2, 1 << 18)):
        array = reserved(shape, np.int32)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert not array.any()
        array[...] = 7
        assert (array == 7).all()


def test_a_pool_keeps_its_two_kinds_apart() -> None:
    world = tb.Grid(np.ones((8, 8), bool))
    kinds = [Workspace.of(world, real_time) for real_time in (True, False, True, False)]
    for one in kinds:
        one.release()
    for real_time in (False, True, True, False):
        taken = Workspace.of(world, real_time)
        assert taken.real_time == real_time
        assert taken in kinds
    assert world.spare == []


# --- learning when time is short -----------------------------------------------------------------------------------


@kernel
def look_and_learn(world, values, space, look, s, limit, weight, clock, deadline):
    """A lookahead, and what Dijkstra's algorithm (or, for a limit of -1, RTAA*) learns from it by the deadline."""
    a_star(world, values, space, look[0], s, Tick(abs(limit), 0, clock))
    if limit < 0:
        from_best(space, look[0], weight)
    else:
        dijkstra_inwards(space, look[0], weight, Tick(limit, deadline, clock))
    teach(space, values, look[0], clock)


def learned_by(world: tb.Grid, start: int, goal: int, limit: int, weight: int, deadline: int) -> dict[int, int]:
    values, look = new_values(4, 1024), new_record(LOOK)
    look["goal"] = goal
    clock = new_clock()
    clock[2] = 0  # never pause
    look_and_learn(world.view, values, new_space(4096, 32768), look, start, limit, weight, clock, deadline)
    return values_as_dict(values)


@given(seed=st.integers(0, 10**6), limit=st.integers(70, 300), weight=st.sampled_from([1, 2]))
def test_learning_cut_short_learns_no_more_than_all_of_it_and_no_less_than_rtaa(
    seed: int, limit: int, weight: int
) -> None:
    world = tb.Grid(tb.generate.random_obstacles((25, 25), 0.3, seed=seed))
    try:
        problem = next(tb.problems(world, 1, seed=seed, cost=(15, 50)))
    except tb.Error:
        reject()
    start, goal = world.state_of(problem.start), world.state_of(problem.goal)
    exact, cut, quick = (
        learned_by(world, start, goal, some, weight * WEIGHT_ONE, deadline)
        for some, deadline in ((limit, 0), (limit, 1), (-limit, 0))
    )
    assert all(value <= exact.get(s, 0) for s, value in cut.items())
    assert cut.get(start, 0) >= quick.get(start, 0), "the agent's own value must rise at least as RTAA*'s does"


def test_learning_is_cut_short_at_all() -> None:
    """Otherwise the test above says nothing."""
    world = tb.Grid(tb.generate.caves((60, 60), seed=2))
    problem = next(tb.problems(world, 1, seed=1, cost=(40, 80)))
    start, goal = world.state_of(problem.start), world.state_of(problem.goal)
    exact, cut = (learned_by(world, start, goal, 600, WEIGHT_ONE, deadline) for deadline in (0, 1))
    assert sum(exact.values()) > sum(cut.values()) > 0


def test_a_world_is_freed_with_its_last_reference() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    tb.solve(world, (0, 0), (4, 4))
    gone = weakref.ref(world)
    gc.disable()
    try:
        del world
        assert gone() is None
    finally:
        gc.enable()


def test_a_finished_agent_gives_its_arrays_back() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    agents = [tb.agent("a*", world, (0, 0), (4, 4)).run() for _ in range(5)]
    assert len(world.spare) == 1
    assert all(agent.result().memory_bytes > 0 for agent in agents)
