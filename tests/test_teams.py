"""Threads that help with a call: all of it is done once, whoever does it, and nobody is at work afterwards."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize("helpers", [1, 3])
@pytest.mark.parametrize("seconds", [0.0, 0.002])
def test_nothing_is_under_way_afterwards(helpers: int, seconds: float) -> None:
    """Short work is done before a helper is awake, long work is shared; the caller's own part is always done."""
    team, clock = Team(helpers, "test"), new_clock()
    shared = 0
    for n in range(50):
        work = Work(seconds)
        team.call(work, [((n, k),) for k in range(helpers + 1)], work.ended, clock)
        assert work.under_way == 0
        assert (n, 0) in work.done
        assert len(work.done) == len(set(work.done)) == work.ended[0]
        shared += len(work.done) > 1
    assert not seconds or shared
    team.dismiss()


def test_a_problem_of_a_helper_is_raised_here() -> None:
    begun = threading.Event()

    def fails(here: bool, ended: np.ndarray) -> None:
        if here:
            begun.wait(10)
            ended[0] += 1
            return
        begun.set()
        raise ValueError("no")

    team, ended = Team(1, "test"), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="no"):
        team.call(fails, [(True, ended), (False, ended)], ended, new_clock())
    work = Work()
    team.call(work, [(0,), (1,)], work.ended, new_clock())  # and it goes on
    assert 0 in work.done
    team.dismiss()


def test_an_interrupt_waits_for_the_helpers() -> None:
    """Ctrl-C while a helper is at work: it is heard when nobody touches anything any more."""
    begun = threading.Event()
    work = Work(0.05)

    def here_or_there(here: bool) -> None:
        if here:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        work(here)

    team = Team(1, "test")
    with pytest.raises(KeyboardInterrupt):
        team.call(here_or_there, [(True,), (False,)], work.ended, new_clock())
    assert work.done == [False]
    assert work.under_way == 0
    team.dismiss()


def test_the_threads_end() -> None:
    before = threading.active_count()
    team = Team(2, "of-a-test")
    team.dismiss()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("of-a-test")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_does_without() -> None:
    """Threads are not forked; what is left for them is done by the caller alone."""
    team, work = Team(1, "test"), Work()
    child = os.fork()
    if child == 0:  # pragma: no cover
        team.call(work, [(0,), (1,)], work.ended, new_clock())
        os._exit(0 if work.done == [0] else 1)
    deadline = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == (child, 0)
    team.dismiss()
