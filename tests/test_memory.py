"""Memory: it follows what was touched, never runs out of stamps, and nothing learned is lost when time is short."""

from __future__ import annotations

import copy
import gc
import pickle
import resource
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, points, shuffled
from timebound.kernels import heuristic_values, memory, tables, workspace
from timebound.kernels.blocks import BlockTable, new_blocks, pages_for_blocks
from timebound.kernels.heuristic_values import enlarged, learn, new_values, values_as_dict
from timebound.kernels.jit import kernel
from timebound.kernels.layout import COLS, ROWS, STAMP_MAX, STAMP_SHIFT, WEIGHT_ONE
from timebound.kernels.learning_rules import dijkstra_inwards, from_best, teach
from timebound.kernels.lookahead import LOOK, a_star, new_space
from timebound.kernels.memory import Part, Room, lacks_room, reserved
from timebound.kernels.store import Store
from timebound.kernels.tables import (
    INDEX_STAMPS,
    DenseTable,
    LinkedTable,
    around,
    beside,
    exchanged,
    intern,
    new_paged,
    renew,
    state_of,
    word_of,
    worn_out,
    write,
)
from timebound.kernels.ticks import Tick, new_clock
from timebound.kernels.workspace import Workspace, new_record

SEARCHES = ("a*", "tba*", "tba*:shortcut=true", "tb-wa*", "rtb-wa*", "ribs", "k-lrta*", "lrta*:depth=3", "rtaa*")


def leave_stamps(agent: tb.Agent, left: int) -> None:
    """So many stamps are left in every table that the agent holds."""
    state = agent._planner.state
    held = [getattr(state, name) for name in ("table", "cut_table") if hasattr(state, name)]
    for table in held + ([state.space.table] if hasattr(state, "space") else []):
        if not isinstance(table, BlockTable):
            most = STAMP_MAX if isinstance(table, (DenseTable, LinkedTable)) else INDEX_STAMPS
            table.stamp[0] = max(table.stamp[0], most - left)


def walk(spec: str, world: Any, start: Any, goal: Any, budget: int, left: int | None) -> list[tb.Result]:
    """Some episodes with edits on the way, in tables that have so many stamps ``left``."""
    results = []
    for _ in range(3):
        agent = tb.agent(spec, world, start, goal, budget=budget, move_limit=3000)
        if left is not None:
            leave_stamps(agent, left)
        for k in range(4):
            agent.run(3)
            if isinstance(world, tb.Grid):
                (world.unblock if k % 2 else world.block)((0, world.shape[1] - 1))
        results.append(agent.run().result())
    return results


@pytest.mark.compiled
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


WIDTH, ROWS_OF_CELLS = 275, 271  # neither is a number of whole blocks; so the index has more than one tile


def blocks_for(states: int, width: int) -> BlockTable:
    """A table with a store of its own."""
    store = Store(Room(Store.parts(pages_for_blocks(states, width))))
    return new_blocks(states, width, store.pages, store.notes())


@kernel
def look_around(table, slot, width, words):
    words[:] = around(table, slot, width)


@given(
    seed=st.integers(0, 10**6),
    commands=st.lists(st.sampled_from(["intern", "write", "walk", "look", "renew", "wear out"]), max_size=60),
)
@example(seed=1, commands=["walk"] * 60)
@example(seed=2, commands=["write", "wear out", "look", "write", "renew", "look", "walk", "wear out", "walk"] * 3)
@pytest.mark.parametrize("kind", ["blocks", "pages"])
def test_a_table_against_a_dictionary(kind: str, seed: int, commands: list[str]) -> None:
    """Each search sees its own words only, wherever they lie, also after the stamps have run out."""
    random = np.random.default_rng(seed)
    states = WIDTH * ROWS_OF_CELLS
    table: Any = blocks_for(states, WIDTH) if kind == "blocks" else new_paged(states)
    least = renew(table) >> STAMP_SHIFT << STAMP_SHIFT
    twin: dict[int, int] = {}
    s = 255 * WIDTH + 254  # where these meet

    def check(t: int) -> None:
        assert word_of(table, t) == twin[t] if t in twin else word_of(table, t) < least

    for command in commands:
        t = int(random.integers(states))
        if random.random() < 0.7:  # near the one that walks
            t = s + WIDTH * int(random.integers(-9, 10)) + int(random.integers(-9, 10))
        if command == "wear out" and kind == "pages":
            table.stamp[0] = INDEX_STAMPS
        if command in ("renew", "wear out"):
            top_word = renew(table)
            if top_word == 0:
                assert worn_out(table)
                table = exchanged(table)
                top_word = renew(table)
            least = top_word >> STAMP_SHIFT << STAMP_SHIFT
            twin = {}
        elif command == "intern":
            slot = intern(table, t)
            assert state_of(table, slot) == t
            assert intern(table, t) == slot
        elif command == "write":
            twin[t] = least + int(random.integers(1, 1 << 40))
            write(table, intern(table, t), twin[t], 0)
        elif command == "walk" and kind == "blocks":
            # As a search goes on: from slot to slot, each of them made by the one before.
            slot = intern(table, s)
            for _ in range(12):
                i = int(random.integers(8))
                row, col = s // WIDTH + int(ROWS[i]), s % WIDTH + int(COLS[i])
                if 240 < row < ROWS_OF_CELLS - 11 and 240 < col < WIDTH - 11:
                    slot = beside(table, slot, int(ROWS[i]), int(COLS[i]), WIDTH)
                    s = row * WIDTH + col
                    assert state_of(table, slot) == s
                    assert intern(table, s) == slot
                    twin[s] = least + int(random.integers(1, 1 << 40))
                    write(table, slot, twin[s], 0)
        elif kind == "blocks":
            slot, words = intern(table, s), np.zeros(8, np.int64)
            look_around(table, slot, WIDTH, words)
            for word, row, col in zip(words.tolist(), ROWS.tolist(), COLS.tolist(), strict=True):
                near = s + row * WIDTH + col
                assert word == twin[near] if near in twin else word < least
        for t in [*twin, *random.integers(states, size=5).tolist()]:
            check(t)


@pytest.mark.parametrize("order", ["in rows", "mixed"])
def test_cells_beside_each_other_in_blocks(order: str) -> None:
    """Every neighbour of every cell, across the borders of blocks, in whatever order these were taken."""
    width, rows = 13, 21
    table = blocks_for(width * rows, width)
    states = np.arange(width * rows)
    if order == "mixed":
        np.random.default_rng(1).shuffle(states)
    renew(table)
    assert len({intern(table, s) for s in states.tolist()}) == width * rows
    for s in range(width * rows):
        write(table, intern(table, s), s + 1, 0)
    for row in range(1, rows - 1):
        for col in range(1, width - 1):
            slot = intern(table, row * width + col)
            near = [(row + int(r)) * width + col + int(c) for r, c in zip(ROWS, COLS, strict=True)]
            assert [word - 1 for word in around(table, slot, width)] == near
            for t, r, c in zip(near, ROWS, COLS, strict=True):
                assert beside(table, slot, int(r), int(c), width) == intern(table, t)


@pytest.mark.skipif(COMPILED, reason="the kernels for dense tables are not needed otherwise")
@pytest.mark.parametrize(
    "spec", ["tba*", "tba*:shortcut=true,steady=true", "tb-wa*:weight=3", "tb-wa*:reopen=true", "tb-gbfs", "rtb-wa*"]
)
@pytest.mark.parametrize("terrain", [False, True])
def test_the_same_walk_in_blocks_as_in_a_dense_table(spec: str, terrain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that an agent does depends on where its words lie."""

    def walks(seed: int) -> list[tuple[Any, ...]]:
        free = tb.generate.random_obstacles((21, 33), 0.25, seed=seed)
        costs = np.random.default_rng(seed).integers(1, 5, free.shape).astype(float)
        grid = tb.Grid(np.where(free, costs, 0.0) if terrain else free)
        found = []
        for problem in tb.problems(grid, 2, seed=seed, cost=(8, 80)):
            agent = tb.agent(spec, grid, problem.start, problem.goal, budget=7, move_limit=400)
            for _ in range(3):
                agent.run(6)
                cell = tuple(np.random.default_rng(agent.ticks).integers(20, size=2).tolist())
                if cell not in (agent.position, problem.goal):
                    (grid.block if grid.is_open(grid.place_of(cell)) else grid.unblock)(cell)
            result = agent.run().result()
            found.append((points(result.path), result.expansions, result.status, result.back_moves, result.restarts))
        return found

    for seed in range(2):
        in_blocks = walks(seed)
        with monkeypatch.context() as patch:
            real = Workspace.__init__

            def dense(self: Workspace, world: Any, real_time: bool = False, real: Any = real) -> None:
                real(self, world, real_time)
                if real_time:
                    self.table = DenseTable(np.zeros(world.states, np.int64), np.zeros(1, np.int64))

            patch.setattr(Workspace, "__init__", dense)
            assert walks(seed) == in_blocks


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
    assert (resident() - before) / 50 < 120_000, "10,000 agents would take more than 1.2 GB"


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the pieces of memory")
def test_an_agent_takes_one_piece_of_memory() -> None:
    world = tb.Grid(np.ones((200, 200), bool))
    maps = Path("/proc/self/maps")
    agents = [tb.agent("tb-wa*", world, (0, 0), (90, 99), budget=5)]
    before = len(maps.read_text().splitlines())
    agents += [tb.agent("tb-wa*", world, (k, 0), (90, 99), budget=5) for k in range(40)]
    assert len(maps.read_text().splitlines()) - before <= 42, "a system has some 65,000 of them for a process"


@pytest.mark.parametrize("spec", ["lrta*", "lrta*:depth=2", "p-lrta*"])
def test_a_fresh_learner_is_small(spec: str) -> None:
    world = tb.Grid(np.ones((100, 100), bool))

    def size(held: Any) -> int:
        return sum(map(size, held)) if isinstance(held, tuple) else getattr(held, "nbytes", 0)

    state = tb.agent(spec, world, (0, 0), (90, 99))._planner.state
    assert size(tuple(state)) - size(tuple(state.log)) < 12_288


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system how much memory was touched")
@pytest.mark.skipif(not COMPILED, reason="searches of hundreds of thousands of states")
def test_the_pool_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that searched the whole map leave little behind; the next one finds everything as it should be."""
    world = tb.Grid(np.ones((700, 700), bool))
    world.block([(699, 698), (698, 698), (698, 699)])

    def searched() -> tb.Agent:
        return tb.agent("tba*", world, (0, 0), (699, 699), budget=10**6).run()

    expected = searched().result()
    world.spare.clear()
    agents = [tb.agent("tba*", world, (0, 0), (699, 699), budget=10**6) for _ in range(4)]
    before = resident()
    monkeypatch.setattr(workspace, "_KEPT_TOGETHER", 0)
    monkeypatch.setattr(workspace, "_KEPT_LEAST", 1 << 16)
    for agent in agents:
        agent.run()
    assert len(world.spare) == 4
    assert resident() - before < 4 * 1_000_000, "each held 4 MB"
    assert searched().result().expansions == expected.expansions


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_reserved_memory_is_zero_and_writable() -> None:
    for shape in (3, 1 << 20, (2, 1 << 18)):
        array = reserved(shape, np.int32)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert not array.any()
        array[...] = 7
        assert (array == 7).all()


def test_arrays_in_one_room_do_not_meet() -> None:
    parts = [Part(3), Part((2, 5000), np.int32), Part(1, np.uint8), Part(20_000)]
    room = Room(parts)
    for k, array in enumerate(room.arrays):
        assert not array.any()
        array[...] = k + 1
    for k, (array, part) in enumerate(zip(room.arrays, parts, strict=True)):
        assert array.nbytes == part.size
        assert (array == k + 1).all()
        assert array.ctypes.data % array.itemsize == 0
    room.give_back({3: 8000})
    assert [array.min() for array in room.arrays[:3]] == [1, 2, 3]
    assert (room.arrays[3][:1000] == 4).all()
    if sys.platform == "linux":
        assert not room.arrays[3][2000:19_000].any()


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
        dijkstra_inwards(world, space, look[0], weight, Tick(limit, deadline, clock))
    teach(world, space, values, look[0], clock)


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


def test_a_world_that_is_saved_leaves_its_pool_behind() -> None:
    world = tb.Grid(np.ones((9, 9), bool))
    agent = tb.agent("tb-wa*", world, (0, 0), (8, 8), budget=3)
    assert agent.run(2).result().moves == 2
    tb.solve(world, (0, 0), (4, 4), "tb-wa*", budget=3)
    assert len(world.spare) == 1
    for other in (pickle.loads(pickle.dumps(world)), copy.deepcopy(world)):
        assert other.spare == []
        assert tb.solve(other, (0, 0), (8, 8), "tb-wa*", budget=3).moves == 8
        assert len(other.spare) == 1


def test_a_finished_agent_gives_its_arrays_back() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    agents = [tb.agent("a*", world, (0, 0), (4, 4)).run() for _ in range(5)]
    assert len(world.spare) == 1
    assert all(agent.result().memory_bytes > 0 for agent in agents)


@pytest.mark.once
@pytest.mark.parametrize("populate", [memory._POPULATE, -1])
def test_memory_may_be_taken_before_it_is_used(populate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whichever way the system has: nothing is written, and what lies outside of an array is left alone."""
    monkeypatch.setattr(memory, "_POPULATE", populate)
    room = Room([Part(1 << 14), Part(1 << 14), Part(5)])
    room.arrays[1][:3] = 1, 2, 3
    for number, first, size in ((0, 0, 1), (1, -5000, 20_000), (1, 1 << 16, 1 << 30), (2, 0, 40), (2, 1 << 20, 1)):
        room.touch(number, first, size)
    assert room.arrays[1][:4].tolist() == [1, 2, 3, 0]
    assert not room.arrays[0].any()


@pytest.mark.once
def test_rows_begin_with_a_line_of_the_cache() -> None:
    for width in (1, 8, 33):
        rows = memory.in_lines(5, width)
        assert rows.shape[0] == 5
        assert rows.shape[1] >= width
        assert not rows.any()
        assert all(rows[k].ctypes.data % 64 == 0 for k in range(5))
