"""Threads that help with one call of a kernel, and sleep in between.

To wake a thread takes the system ten to fifty microseconds, and so does it to be woken by it; a pool of futures does
both for each call, and a good part of a short tick is gone. Here nobody waits for a helper that has not woken up when
the work is done: it is told to sleep on. And the end of those that have is awaited without going to sleep.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from .jit import fetch_and_add, give_way, kernel, now_ns

__all__ = ["Team"]

_PATIENCE = 200_000  # nanoseconds for which ends are awaited awake

_Task = tuple[int, Callable[..., Any], tuple[Any, ...]]


@kernel
def _all_ended(ended, count, clock, patience):
    """Wait until ``ended`` has counted so many ends; False if that takes too long."""
    until = now_ns(clock) + patience
    while fetch_and_add(ended, 0) < count:
        if now_ns(clock) > until:
            return False
        give_way()
    return True


class _Helper:
    """A thread and its desk."""

    def __init__(self, name: str) -> None:
        self.desk: SimpleQueue[_Task | None] = SimpleQueue()
        self.bell: SimpleQueue[None] = SimpleQueue()  # rings after each task
        self.done = 0  # the number of the last task
        self.problem: BaseException | None = None
        threading.Thread(target=_work, args=(self,), name=name, daemon=True).start()

    def has_begun(self) -> bool:
        """Whether it has taken what was put on its desk; if not, that is taken away again."""
        try:
            self.desk.get_nowait()
        except Empty:
            return True
        return False


def _work(helper: _Helper) -> None:
    while (task := helper.desk.get()) is not None:
        number, function, arguments = task
        try:
            function(*arguments)
        except BaseException as problem:  # for whoever has set the task
            helper.problem = problem
        task = function = arguments = None  # type: ignore[assignment]  # it may sleep for long, and keep nothing alive
        helper.done = number
        helper.bell.put(None)


class Team:
    """So many helpers, for calls of which each raises a count of ends by one, as the last thing that it does."""

    def __init__(self, helpers: int, name: str) -> None:
        self._helpers = [_Helper(f"{name}-{k}") for k in range(helpers)]
        self._number = 0

    def call(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], ended: np.ndarray, clock: np.ndarray
    ) -> None:
        """Call ``function`` with the first arguments here, with the others by helpers; those may not be needed.

        ``ended`` counts ends, and is 0. None of the calls is under way afterwards, whatever happens.
        """
        self._number += 1
        for helper, arguments in zip(self._helpers, calls[1:], strict=True):
            while not helper.bell.empty():
                helper.bell.get_nowait()
            helper.desk.put((self._number, function, arguments))
        try:
            function(*calls[0])
        finally:
            begun = [helper for helper in self._helpers if helper.has_begun()]
            if begun and not _all_ended(ended, 1 + len(begun), clock, _PATIENCE):
                self._sleep_until_done(begun)
        for helper in begun:
            if helper.problem is not None:
                problem, helper.problem = helper.problem, None
                raise problem

    def _sleep_until_done(self, begun: list[_Helper]) -> None:
        """Whatever interrupts that is raised afterwards."""
        interrupt: KeyboardInterrupt | None = None
        for helper in begun:
            while helper.done < self._number:
                try:
                    helper.bell.get()
                except KeyboardInterrupt as stop:
                    interrupt = stop
        if interrupt is not None:
            raise interrupt

    def dismiss(self) -> None:
        """The threads end."""
        for helper in self._helpers:
            helper.desk.put(None)
