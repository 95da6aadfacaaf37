"""Threads that help with a call: all of it is done once, whoever does it, and nobody is at work afterwards."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from timebound.kernels import teams
from timebound.kernels.teams import Team
from timebound.kernels.ticks import new_clock


class Work:
    """A call that counts its own end, as kernels do."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.ended = np.zeros(1, np.int64)
        self.under_way = 0
        self.done: list[Any] = []
        self.lock = threading.Lock()

    def __call__(self, what: Any) -> None:
        with self.lock:
            self.under_way += 1
        time.sleep(self.seconds)
        with self.lock:
            self.done.append(what)
            self.under_way -= 1
            self.ended[0] += 1


@pytest.fixture
def make() -> Iterator[Callable[[int], Team]]:
    made = []

    def team(helpers: int) -> Team:
        made.append(Team(helpers, "of-a-test"))
        return made[-1]

    yield team
    for one in made:
        one.dismiss()
    deadline = time.monotonic() + 30
    while [thread for thread in threading.enumerate() if thread.name.startswith("of-a-test")]:
        assert time.monotonic() < deadline, "a thread has not ended"
        time.sleep(0.001)


@pytest.mark.parametrize("helpers", [1, 3])
@pytest.mark.parametrize("seconds", [0.0, 0.002])
def test_nothing_is_under_way_afterwards(make: Any, helpers: int, seconds: float) -> None:
    """Short work is done before a helper is awake, long work is shared; the caller's own part is always done."""
    team, clock = make(helpers), new_clock()
    shared = 0
    for n in range(50):
        work = Work(seconds)
        team.call(work, [((n, k),) for k in range(helpers + 1)], work.ended, clock)
        assert work.under_way == 0
        assert (n, 0) in work.done
        assert len(work.done) == len(set(work.done)) == work.ended[0]
        shared += len(work.done) > 1
    assert not seconds or shared


def test_problems_of_helpers_are_raised_here_and_forgotten(make: Any) -> None:
    begun = threading.Barrier(3)

    def fails(k: int, ended: np.ndarray) -> None:
        begun.wait(30)
        if k:
            raise ValueError(f"no, says {k}")
        ended[0] += 1

    team, ended = make(2), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="no, says"):
        team.call(fails, [(k, ended) for k in range(3)], ended, new_clock())
    work = Work(0.01)
    team.call(work, [(0,), (1,), (2,)], work.ended, new_clock())  # nothing is left of it
    assert 0 in work.done


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("place", ["own part", "waking", "taking back", "awake", "asleep"])
def test_whatever_interrupts_waits_for_the_helpers(
    make: Any, monkeypatch: pytest.MonkeyPatch, place: str, kind: type[BaseException]
) -> None:
    """Ctrl-C, or what another signal raises, at any place: it is heard when nobody touches anything any more."""
    team, work, begun = make(2), Work(0.05), threading.Event()
    warm = Work()
    team.call(warm, [(0,), (1,), (2,)], warm.ended, new_clock())

    def act(k: int) -> None:
        if k:
            begun.set()
            work(k)
            return
        begun.wait(30)
        if place == "own part":
            raise kind
        work(k)

    def interrupted(real: Callable[..., Any], after: bool = True) -> Callable[..., Any]:
        raised = iter([kind])

        def call(*arguments: Any) -> Any:
            given = real(*arguments) if after else None
            for stop in raised:
                raise stop
            return real(*arguments) if not after else given

        return call

    helper = team._helpers[0]
    if place == "waking":

        class Calls:
            put = staticmethod(interrupted(helper.calls.put))
            get = helper.calls.get

        monkeypatch.setattr(helper, "calls", Calls)
    elif place == "taking back":
        monkeypatch.setattr(helper, "takes_back", interrupted(helper.takes_back))
    elif place == "awake":
        monkeypatch.setattr(teams, "await_ends", interrupted(lambda *_: False, after=False))
    elif place == "asleep":
        monkeypatch.setattr(teams, "await_ends", lambda *_: False)
        for one in team._helpers:
            monkeypatch.setattr(one, "wait", interrupted(one.wait, after=False))
    with pytest.raises(kind):
        team.call(act, [(0,), (1,), (2,)], work.ended, new_clock())
    assert work.under_way == 0
    done = len(work.done)
    monkeypatch.undo()
    after = Work(0.01)
    team.call(after, [(0,), (1,), (2,)], after.ended, new_clock())
    assert after.under_way == 0
    assert 0 in after.done
    assert len(work.done) == done  # nothing of the call before has been done since


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals are for the main thread")
def test_signals_at_any_time(make: Any) -> None:
    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    def act(work: Work, k: int) -> None:
        if k:
            work(k)
        else:
            time.sleep(work.seconds)
            work.ended[0] += 1

    team, clock, warm = make(2), new_clock(), Work()
    team.call(warm, [(0,), (1,), (2,)], warm.ended, clock)  # Python itself cannot stand a signal as a thread begins
    before = signal.signal(signal.SIGALRM, stop)
    heard = 0
    try:
        for n in range(200):
            work = Work(0.0004 * (n % 3))
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 * (1 + n % 50))
                try:
                    team.call(act, [(work, 0), (work, 1), (work, 2)], work.ended, clock)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                heard += 1
            assert work.under_way == 0
            done = len(work.done)
            time.sleep(0.0005)
            assert len(work.done) == done
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard


def test_threads_begin_when_they_are_needed_and_all_or_none(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    team = make(3)
    assert threading.active_count() == before
    real, starts = threading.Thread.start, iter(range(10))

    def scarce(thread: threading.Thread) -> None:
        if next(starts) == 2:
            raise RuntimeError("can't start new thread")
        real(thread)

    work = Work()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", scarce)
        with pytest.raises(RuntimeError, match="can't start"):
            team.call(work, [(0,), (1,), (2,), (3,)], work.ended, new_clock())
    assert not work.done
    team.call(work, [(0,), (1,), (2,), (3,)], work.ended, new_clock())
    assert 0 in work.done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own(make: Any) -> None:
    team, work = make(1), Work(0.05)
    team.call(Work(), [(0,), (1,)], np.full(1, 2), new_clock())
    child = os.fork()
    if child == 0:  # pragma: no cover
        code = 1
        try:
            team.call(work, [(0,), (1,)], work.ended, new_clock())
            code = 0 if sorted(work.done) == [0, 1] else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    assert ended == (child, 0)
