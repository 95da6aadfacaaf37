"""Ctrl-C: it is heard soon, whatever is going on, and nothing is lost by it.

Kernels pause to listen. Where they pause must not matter: every episode is the same with a pause at every look at the
clock as with none.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import timebound as tb
from forking import Forking
from helpers import COMPILED
from test_agents_under_edits import agents
from timebound.algorithms import REGISTRY
from timebound.kernels import ticks
from timebound.worlds.attended import attended

SOURCES = Path(__file__).resolve().parent.parent / "src"


def impatient(agent: tb.Agent, stride: int) -> tb.Agent:
    """Let its kernels pause at every look at the clock, so many expansions apart."""
    agent._patience = 1
    agent._clock[4] = stride
    return agent


def record(agent: tb.Agent) -> dict[str, Any]:
    """All that an episode tells, but for times."""
    facts = agent.result().to_dict()
    del facts["planning_seconds"]
    return facts


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=st.integers(0, 2**62), stride=st.sampled_from([1, 2, 7]))
@example(seed=108, stride=1)  # what new keys had cost was forgotten in a pause
@example(seed=327, stride=1)  # keys were given anew in the middle of a slice
@settings(max_examples=30 if COMPILED else 6)
def test_pauses_change_nothing(name: str, seed: int, stride: int) -> None:
    """The same world, edits and agent twice: with no pause and with all that there can be."""
    whole, paused = (agents.draw(seed, side=7 if COMPILED else 4, names=[name]) for _ in range(2))
    assume(whole.agent.budget.milliseconds is None)  # there the clock decides
    impatient(paused.agent, stride)
    for trial in (whole, paused):
        trial.rate = min(trial.rate, 0.3)
        agents.walk(trial, 30 if COMPILED else 8, most=3_000_000 if COMPILED else 100_000)
    assert record(whole.agent) == record(paused.agent)


SPECS = [
    "a*",
    "ida*",
    "tba*:shortcut=true",
    "rtb-wa*",
    "lrta*:depth=9",
    "lrta*:gmax=7",
    "p-lrta*:queue=60",
    "k-lrta*",
    "rtaa*:commit=frontier",
]


@pytest.mark.parametrize("spec", SPECS)
def test_decisions_are_paused(spec: str) -> None:
    """In the middle, not only between ticks; otherwise the tests here would show nothing."""
    side = 12 if spec != "ida*" else 4
    world = tb.Grid(np.ones((side, side)))
    world.block([(row, side // 2) for row in range(side - 1)])
    agent = impatient(tb.agent(spec, world, (0, 0), (0, side - 1)), 2)
    agent._clock[3] = 1
    middles = 0
    while not agent.done and middles < 5:
        status = agent._loop.run(agent._planner.state, agent._trail.page, agent._spent.page, agent._clock, 1)
        if status == tb.episode.loop.GROW_ALGORITHM:
            agent._planner.enlarge()
        middles += status == tb.episode.loop.PAUSED and bool(agent._record["deciding"][0])
    assert middles == 5


@pytest.mark.parametrize("spec", SPECS)
def test_an_edit_while_a_decision_is_paused(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the middle of a decision, then the world is edited: the agent decides anew, within its budget."""
    side = 9 if spec != "ida*" else 4
    for shut in (True, False):
        world = tb.Grid(np.ones((side, side)))
        world.block([(row, side // 2) for row in range(1, side)])
        agent = impatient(tb.agent(spec, world, (side - 1, 0), (side - 1, side - 1), budget=400), 2)
        wall = [(0, side // 2)] if shut else [(side - 1, side // 2)]
        run, interrupts = tb.episode.loop.Alone.run, iter([KeyboardInterrupt()] * 3)

        def interrupted(*args: Any, run: Any = run, interrupts: Any = interrupts) -> int:
            status = int(run(*args))
            if status == tb.episode.loop.PAUSED:
                for interrupt in interrupts:
                    raise interrupt
            return status

        monkeypatch.setattr(tb.episode.loop.Alone, "run", interrupted)
        heard = 0
        for _ in range(4):
            try:
                agent.run()
            except KeyboardInterrupt:
                heard += 1
                (world.block if shut else world.unblock)(wall)
        monkeypatch.setattr(tb.episode.loop.Alone, "run", run)
        assert heard == 3
        assert agent.run().status == ("unreachable" if shut else "reached")
        result = agent.result()
        assert result.expansions_per_move.max() <= 400
        if not shut:
            tb.validate(world, result.path)


def test_other_threads_do_not_pause() -> None:
    """No signal is handled there."""
    clocks: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: clocks.append(ticks.new_clock()))
    thread.start()
    thread.join(60)
    assert clocks[0][3] == 0
    assert ticks.new_clock()[3] == ticks.PATIENCE


def test_other_work_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a map, landmarks, moves that were not optimal: pauses change nothing there either."""
    random = np.random.default_rng(3)
    cells = random.random((30, 31)) >= 0.35
    cells[0, 0] = True
    arcs = random.integers(40, size=(2, 160))
    costs = random.uniform(1, 9, 160)

    def work() -> list[Any]:
        world = tb.Grid(cells)
        parts = world.parts()
        far = world.point_of(int(np.flatnonzero(parts == parts[world.state_of((0, 0))])[-1]))
        walk = tb.agent("lrta*", world, (0, 0), far).run().result(non_optimal=True)
        graph = tb.Graph(*arcs, costs, nodes=40, heuristic="landmarks", landmarks=3)
        some = tb.Grid(np.ones((9, 9)))
        some.block([(row, 4) for row in range(1, 9)])
        made = [tb.prepare(some, None, records=3, seed=2, mode=mode).records for mode in ("trees", "paths")]
        return [parts, walk.non_optimal_moves, graph.view.distances, *(array for each in made for array in each)]

    whole = work()
    monkeypatch.setattr(ticks, "STRIDE", 1)
    monkeypatch.setattr(ticks, "PATIENCE", 1)
    monkeypatch.setattr(ticks.wind, "__defaults__", (1,))
    assert ticks.new_clock()[3:].tolist() == [1, 1]
    monkeypatch.setattr("timebound.worlds.grid._AT_ONCE", 7)
    for before, after in zip(whole, work(), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_in_the_middle_of_an_edit(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Posted edits are made again, and nobody may overlook what was made the first time."""
    grid = tb.Grid(np.ones((1, 5)), terrain=True)
    graph = tb.Graph([0, 1, 2, 3], [1, 2, 3, 4], directed=False)
    for world, module, names, (start, goal), edits in (
        (grid, tb.worlds.grid.kernel_edits, ("set_free", "set_weight"), ((0, 0), (0, 4)), [("block", (0, 2))]),
        (grid, tb.worlds.grid.kernel_edits, ("set_free", "set_weight"), ((0, 0), (0, 4)), [("set_cost", (0, 1), 9.0)]),
        (graph, tb.worlds.graph.kernel_edits, ("log_edit",), (0, 4), [("block", 2, 3)]),
    ):
        agent = tb.agent("a*", world, start, goal)
        agent.step()
        for what, *args in edits:
            getattr(world, what)(*args, later=True)
        interrupts = iter([KeyboardInterrupt()])
        with monkeypatch.context() as patch:
            for name in names:
                real = getattr(module, name)

                def kernel(*args: Any, real: Any = real, interrupts: Any = interrupts) -> Any:
                    result = real(*args) if when == "after" else None
                    for interrupt in interrupts:
                        raise interrupt
                    return real(*args) if result is None else result

                patch.setattr(module, name, kernel)
            with pytest.raises(KeyboardInterrupt):
                agent.step()
            assert world.changes.catch_up() == 1
        before = agent.result().restarts, agent.result().expansions
        agent.run()
        assert agent.status == ("reached" if edits[0][0] == "set_cost" else "unreachable")
        assert agent.result().expansions > before[1]
        if world is grid:
            world.unblock((0, 2))


# --- a real signal ------------------------------------------------------------------------------------------------

INTERRUPTED = """
import signal, sys, threading
import numpy as np
import timebound as tb

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs in the background has it ignored
what = sys.argv[1]
side = {side}
cells = np.ones((side, side), bool)
cells[-2, -1] = cells[-1, -2] = cells[-2, -2] = False  # there is no way into the corner
world = tb.Grid(cells)
if what == "edit":  # the other agent's decision takes for ever: the edit waits for it
    agent = tb.agent("ida*", world, (0, 0), (side - 1, side - 1))
    threading.Thread(target=agent.run, daemon=True).start()
    while not world.changes._searching:
        pass
    call = lambda: world.block((0, 1))
elif what == "second":
    call = lambda: [None for _ in iter(lambda: tb.solve(world, (0, 0), (2, 2), "a*", non_optimal=True), None)]
else:
    agent = tb.agent(what, world, (0, 0), (side - 1, side - 1))
    call = agent.run


def watch():  # until the call is under way
    while not (world.changes._editors if what == "edit" else world.changes._searching):
        pass
    print("go", flush=True)


try:
    threading.Thread(target=watch, daemon=True).start()
    call()
except KeyboardInterrupt:
    if what != "edit":
        world.block((0, 1))
        assert tb.solve(world, (0, 0), (3, 3), "tba*", budget=9).status == "reached"
        if what != "second":
            agent.wait()
            agent.ahead()
            assert agent.result().status == "active"
            assert agent.restart().status == "active"
    print("heard", flush=True)
"""


@pytest.fixture(scope="module")
def interrupted() -> Iterator[Forking]:
    with Forking(INTERRUPTED.format(side=60 if COMPILED else 12)) as program:
        yield program


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
@pytest.mark.parametrize("what", ["ida*", "lrta*", "p-lrta*:queue=100000", "edit", "second"])
def test_a_signal(what: str, interrupted: Forking) -> None:
    """Work that would take hours, or for ever, ends at once; world and agent are of use afterwards."""
    with interrupted.run(what) as run:
        assert run.out.readline() == "go\n"
        for _ in range(
            3
        ):  # Python drops an interrupt that comes in the middle of a finalizer: one presses the keys again
            os.kill(run.pid, signal.SIGINT)
            if select([run.out], [], [], 60)[0]:
                break
        else:
            os.kill(run.pid, signal.SIGKILL)
            raise AssertionError("three interrupts were not heard")
        assert run.out.read() == "heard\n"
        assert run.ended() == (0, "")


# --- long calls of NumPy ---------------------------------------------------------------------------------------------


def test_work_with_whole_arrays_is_interrupted() -> None:
    """The main thread hears while another one is at work, though that one never ends."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    never = threading.Event()

    @attended(lambda size: size)
    def endless(size: int) -> None:
        _thread.interrupt_main()
        never.wait()

    try:
        with pytest.raises(KeyboardInterrupt):
            endless(1 << 30)
    finally:
        never.set()
        signal.signal(signal.SIGINT, before)


def test_work_with_whole_arrays_is_the_same_work() -> None:
    """What is made by another thread, and the error that it raises, are those of a plain call."""
    there: list[str] = []

    @attended(lambda size: size)
    def squared(size: int) -> int:
        there.append(threading.current_thread().name)
        if size == 1 << 25:
            raise tb.WorldError("too large")
        return size * size

    assert (squared(3), squared(1 << 24)) == (9, 1 << 48)
    assert there[0] == threading.current_thread().name != there[1]
    with pytest.raises(tb.WorldError, match="too large"):
        squared(1 << 25)
