"""Who may do what at the same time: one agent in several hands, edits in the order of the calls, and forks."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from timebound.hands import undisturbed
from timebound.roster import Roster

SOURCES = Path(__file__).resolve().parent.parent / "src"


# --- one agent, one thread ----------------------------------------------------------------------------------------


def in_other_hands(step: Callable[[], Any], world: Any, act: Callable[[], None]) -> None:
    """Call ``act`` while another thread is in the middle of a step of an agent, or of a fleet."""
    begun, go = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go.wait(60)

    world.changes.post(slow)
    other = threading.Thread(target=step, daemon=True)
    other.start()
    assert begun.wait(60)
    try:
        act()
    finally:
        go.set()
        other.join(60)
    assert not other.is_alive()


USES: dict[str, Callable[[tb.Agent], Any]] = {
    "step": lambda agent: agent.step(),
    "run": lambda agent: agent.run(3),
    "wait": lambda agent: agent.wait(),
    "restart": lambda agent: agent.restart(),
    "result": lambda agent: agent.result(),
    "ahead": lambda agent: agent.ahead(),
    "retarget": lambda agent: agent.retarget((0, 8)),
    "place": lambda agent: agent.place((0, 1)),
}


@pytest.mark.parametrize("use", USES)
def test_an_agent_in_the_hands_of_another_thread(use: str) -> None:
    world = tb.Grid(np.ones((3, 9)))
    agent = tb.agent("tba*", world, (1, 0), (1, 8), budget=5)

    def act() -> None:
        with pytest.raises(tb.Error, match="in use by another thread") as refusal:
            USES[use](agent)
        assert "\n" not in str(refusal.value)
        assert agent.position == (1, 0)  # looking at it is allowed

    tb.agent(agent.spec, world, (1, 0), (1, 8), budget=5).step()  # so that nothing has to be compiled meanwhile
    in_other_hands(agent.step, world, act)
    assert agent.ticks == 1
    USES[use](agent)  # the other thread is done with it
    assert agent.run().status == "reached"


ORDERS: dict[str, Callable[[tb.Fleet], Any]] = {
    "tick": lambda fleet: fleet.tick(),
    "add": lambda fleet: fleet.add([(0, 0)], (1, 8)),
    "send": lambda fleet: fleet.send([0], (0, 8)),
    "place": lambda fleet: fleet.place([0], [(0, 1)]),
    "cancel": lambda fleet: fleet.cancel([1]),
    "save": pickle.dumps,
    "copy": copy.deepcopy,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_fleet_in_the_hands_of_another_thread(order: str, threads: int) -> None:
    world = tb.Grid(np.ones((3, 9)))
    fleet = tb.Fleet(world, "tba*", frame_expansions=50, threads=threads)
    fleet.add([(1, 0), (2, 0)], (1, 8))

    def act() -> None:
        with pytest.raises(tb.Error, match="this fleet is in use by another thread") as refusal:
            ORDERS[order](fleet)
        assert "\n" not in str(refusal.value)
        assert fleet.positions.tolist() == [[1, 0], [2, 0]]  # looking at it is allowed

    in_other_hands(fleet.tick, world, act)
    assert fleet.stats.ticks == 1
    ORDERS[order](fleet)  # the other thread is done with it
    assert not fleet._hands
    while fleet.active:
        fleet.tick()
    world.block((0, 5))  # nobody is thought to be inside still


def test_the_same_thread_may_use_an_agent_in_the_middle_of_a_step() -> None:
    """As a signal handler may, or an edit that was posted: between two kernels. The agent stays in its hands."""
    world = tb.Grid(np.ones((3, 9)))
    agent = tb.agent("tba*", world, (1, 0), (1, 8), budget=5)
    seen = []

    def look() -> None:
        seen.append(agent.result().moves)
        seen.append(len(agent._hands))

    agent.step()
    world.changes.post(look)
    agent.step()
    assert seen == [1, 1]
    assert not agent._hands


def test_agents_of_one_world_in_several_threads() -> None:
    side = 30 if COMPILED else 10
    world = tb.Grid(np.ones((side, side)))
    ends: list[Any] = []

    def walk(k: int) -> None:
        for _ in range(5):
            ends.append(tb.agent("tba*", world, (k, 0), (side - 1 - k, side - 1), budget=5).run().status)

    threads = [threading.Thread(target=walk, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert ends == ["reached"] * 20


# --- the order of edits -------------------------------------------------------------------------------------------


def test_an_edit_does_not_overtake_those_that_were_posted() -> None:
    world = tb.Grid(np.ones((3, 3)), terrain=True)
    world.block((1, 1))
    world.unblock((1, 1), later=True)
    world.set_cost((0, 0), 5.0, later=True)
    assert world.block((1, 1)) == 1  # it is free by then
    assert world.set_cost((0, 0), 3.0) == 1
    assert world.changes.catch_up() == 0
    assert not world.free[1, 1]
    assert world.costs[0, 0] == 3.0
    assert world.changes.edited[1] == 0
    graph = tb.Graph([0, 1], [1, 2], [1.0, 1.0], directed=False)
    graph.block(0, 1)
    graph.unblock(0, 1, later=True)
    graph.set_cost(1, 2, 7.0, later=True)
    assert graph.block(0, 1) == 2
    assert graph.set_cost(1, 2, 2.0) == 2
    assert graph.changes.catch_up() == 0
    assert tb.solve(graph, 0, 1).status == "unreachable"
    assert tb.solve(graph, 1, 2).cost == 2.0


def test_an_edit_does_not_overtake_those_that_another_thread_posted() -> None:
    world = tb.Grid(np.ones((3, 3)))
    world.block((1, 1))
    poster = threading.Thread(target=lambda: world.unblock((1, 1), later=True))
    poster.start()
    poster.join(60)
    world.block((1, 1))
    world.changes.catch_up()
    assert not world.free[1, 1]


def test_what_was_reserved_is_there_when_it_is_needed() -> None:
    """Ground that the first edit makes cheaper, the second dearer again; nobody takes the room in between."""
    world = tb.Grid(np.full((1, 4), 5.0), terrain=True)
    all_of_it = world._room
    world._room = 4.0
    world.set_cost([(0, 0), (0, 1)], [1.0, 9.0], later=True)
    world.set_cost((0, 0), 5.0, later=True)
    with pytest.raises(tb.WorldError, match="may rise by"):
        world.set_cost((0, 2), 6.0, later=True)
    world.set_cost((0, 2), 4.5)
    assert world.costs[0].tolist() == [5.0, 9.0, 4.5, 5.0]
    assert world._room == pytest.approx(0.5)
    assert all_of_it > 4.0
    graph = tb.Graph([0, 1], [1, 2], [5.0, 5.0], directed=False)
    graph._room = 2.0
    for cost in (1.0, 6.0):
        graph.set_cost(0, 1, cost, later=True)
    with pytest.raises(tb.WorldError, match="may rise by"):
        graph.set_cost(1, 2, 5.5, later=True)
    assert graph.changes.catch_up() == 2
    assert graph._room == pytest.approx(0.0)


def test_a_posted_edit_that_fails_is_not_tried_again() -> None:
    world = tb.Grid(np.ones((2, 2)))
    world.changes.post(lambda: 1 // 0)
    world.block((0, 0), later=True)
    with pytest.raises(ZeroDivisionError):
        world.changes.catch_up()
    assert world.changes.catch_up() == 1
    assert not world.free[0, 0]


def test_an_interrupt_loses_no_posted_edit() -> None:
    world = tb.Grid(np.ones((2, 2)))
    interrupts = iter([KeyboardInterrupt()])

    def edit() -> None:
        for interrupt in interrupts:
            raise interrupt
        world.block((0, 0))

    world.changes.post(edit)
    with pytest.raises(KeyboardInterrupt):
        world.changes.catch_up()
    assert world.block((1, 1)) == 1
    assert not world.free[0, 0]


# --- forks --------------------------------------------------------------------------------------------------------

FORK = """
import os, sys, threading
import numpy as np
import timebound as tb

cells = np.ones((30, 30), bool)
cells[28, 29] = cells[29, 28] = False
world = tb.Grid(cells)
tb.solve(world, (0, 0), (5, 5), "ida*")
walker = tb.agent("ida*", world, (0, 0), (29, 29))  # there is no way, and the proof takes for ever
idle = tb.agent("tba*", world, (0, 0), (9, 9), budget=5)
idle.step()
threading.Thread(target=walker.run, daemon=True).start()
while not world.changes._searching:
    pass
editor = threading.Thread(target=world.block, args=((0, 5),), daemon=True)
editor.start()
while not world.changes._editors:
    pass
world.unblock((3, 3), later=True)
child = os.fork()
if child == 0:
    try:
        assert world.block((3, 3)) == 1 and not world.free[3, 3] and world.free[0, 5]
        for use in (walker.step, walker.result, walker.restart):
            try:
                use()
            except tb.Error as error:
                assert "forked" in str(error) and "\\n" not in str(error)
            else:
                raise AssertionError("half a step")
        errors = []

        def another():  # its number may be that of the thread that was left behind
            try:
                walker.step()
            except tb.Error as error:
                errors.append(error)

        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
        assert len(errors) == 1
        spare = len(world.spare)
        del walker, use
        assert len(world.spare) == spare, "arrays that a kernel was writing into"
        assert idle.run().status == "reached"
        assert tb.solve(world, (0, 0), (9, 9), "tba*", budget=5).status == "reached"
        status = 0
    except BaseException:
        import traceback
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)
_, status = os.waitpid(child, 0)
assert idle.position != (9, 9)
os._exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_a_fork_while_threads_walk_and_edit() -> None:
    """The child edits, walks on, and says which agents it cannot use."""
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals here")
@pytest.mark.parametrize("order", ["add", "place", "cancel", "tick"])
def test_an_interrupt_of_an_order_is_heard_at_its_end(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the fleet holds is as if nothing had come; half of an order would leave addresses of what is given back."""
    world = tb.Grid(tb.generate.caves((20, 20), seed=1))
    problems = list(tb.problems(world, 12, seed=3))
    fleets = []
    for interrupted in (False, True):
        fleet = tb.Fleet(world, "lrta*", frame_expansions=12, budget=1)
        fleet.add([one.start for one in problems[:6]], [one.goal for one in problems[:6]])
        fleet.tick()
        name = {"add": "_take_planner", "tick": "attend"}.get(order, "retire")
        if order == "place":
            name = "settle"
        real = getattr(Roster, name)
        left = iter([signal.SIGINT] if interrupted else [])

        def struck(self: Roster, *given: Any, real: Any = real, left: Any = left) -> Any:
            for one in left:
                signal.raise_signal(one)
            return real(self, *given)

        with monkeypatch.context() as patch:
            patch.setattr(Roster, name, struck)
            try:
                if order == "add":
                    fleet.add([one.start for one in problems[6:]], [one.goal for one in problems[6:]])
                elif order == "place":
                    fleet.place([0, 1], [one.start for one in problems[2:4]])
                elif order == "cancel":
                    fleet.cancel([2, 3])
                else:
                    while fleet.active:
                        fleet.tick()
                heard = False
            except KeyboardInterrupt:
                heard = True
        assert heard == interrupted
        while fleet.active:
            fleet.tick()
        fleets.append(fleet)
    assert fleets[0].positions.tolist() == fleets[1].positions.tolist()
    assert fleets[0].statuses.tolist() == fleets[1].statuses.tolist()
    assert len(fleets[0]) == len(fleets[1])


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no signals here")
def test_every_signal_that_waited_is_heard() -> None:
    """Also if one before it has raised something; and afterwards all are heard as before."""
    heard = []

    def note(number: int, frame: Any) -> None:
        heard.append(number)

    def struck() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            assert not heard

    before = signal.signal(signal.SIGTERM, note)
    try:
        with pytest.raises(KeyboardInterrupt):
            struck()
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is note
        signal.raise_signal(signal.SIGTERM)
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGTERM, before)
