"""Threads that help with one call of a kernel, and sleep in between.

To wake a thread takes the system ten to fifty microseconds, and so does it to be woken by it; a pool of futures does
both for each call, and a good part of a short tick is gone. Here nobody waits for a helper that has not woken up when
the work is done: its task is taken from it. And the end of those that have is awaited without going to sleep.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from .jit import give_way, kernel, now_ns
from .ticks import new_clock

__all__ = ["Team"]

_PATIENCE = 200_000  # nanoseconds for which ends are awaited awake


@kernel
def await_ends(ended, count, clock, patience):
    """Wait until ``ended`` has counted so many ends; False if that takes too long."""
    until = now_ns(clock) + patience
    while ended[0] < count:
        if now_ns(clock) > until:
            return False
        give_way()
    return True


class _Helper:
    """A thread, its task, and how it is woken.

    Whoever takes the one task that there may be, the helper or who has set it, has it: the list gives it to one only.
    For each number that it is woken with, the helper looks for a task, and says that number when it is done; so whoever
    has heard it knows that nothing from before is under way.
    """

    def __init__(self, name: str) -> None:
        self.tasks: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.calls: SimpleQueue[int] = SimpleQueue()  # 0: it may go
        self.bell: SimpleQueue[None] = SimpleQueue()  # rings after each number
        self.done = 0
        self.problem: BaseException | None = None
        self.thread = threading.Thread(target=_work, args=(self,), name=name, daemon=True)

    def takes_back(self) -> bool:
        """Take its task from it; False if it has begun."""
        try:
            self.tasks.pop()
        except IndexError:
            return False
        return True

    def wait(self, number: int) -> None:
        """Sleep until it has said that number."""
        while self.done < number:
            self.bell.get()


def _work(helper: _Helper) -> None:
    while number := helper.calls.get():
        try:
            function, arguments = helper.tasks.pop()
        except IndexError:
            pass
        else:
            try:
                function(*arguments)
            except BaseException as problem:  # for whoever has set the task
                helper.problem = problem
            del function, arguments  # it may sleep for long, and keep nothing alive
        helper.done = number
        helper.bell.put(None)


class Team:
    """So many helpers, for calls of which each raises a count of ends by one, as the last thing that it does.

    They begin to be when they are first needed, and again in a process that was forked.
    """

    def __init__(self, helpers: int, name: str) -> None:
        self._size, self._name = helpers, name
        self._helpers: list[_Helper] = []
        self._process = os.getpid()
        self._number = 0
        await_ends(np.zeros(1, np.int64), 0, new_clock(), 0)  # compiled now, and not in a tick

    def call(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], ended: np.ndarray, clock: np.ndarray
    ) -> None:
        """Call ``function`` with the first arguments here, with the others by helpers; those may not be needed.

        ``ended`` counts ends, and is 0. None of the calls is under way afterwards, whatever is raised, by whomever.
        """
        if len(self._helpers) < self._size or self._process != os.getpid():
            self._begin()
        problems: list[BaseException] = []
        try:
            self._number += 1
            for helper, arguments in zip(self._helpers, calls[1:], strict=True):
                while not helper.bell.empty():
                    helper.bell.get_nowait()
                helper.tasks.append((function, arguments))
                helper.calls.put(self._number)
            function(*calls[0])
            begun = [helper for helper in self._helpers if not helper.takes_back()]
            if begun and not await_ends(ended, 1 + len(begun), clock, _PATIENCE):
                for helper in begun:
                    helper.wait(self._number)
        except BaseException as problem:  # Ctrl-C may have come anywhere
            problems.append(problem)
            self._end_all(problems)
        for helper in self._helpers:
            if helper.problem is not None:
                problems.append(helper.problem)
                helper.problem = None
        if problems:
            try:
                raise problems[0]
            finally:
                problems.clear()  # an exception that its own frame names would be kept

    def _end_all(self, problems: list[BaseException]) -> None:
        """See that nothing is under way. What is raised meanwhile is noted."""
        while True:
            try:
                self._number += 1
                for helper in self._helpers:
                    helper.tasks.clear()
                    helper.calls.put(self._number)
                for helper in self._helpers:
                    helper.wait(self._number)
                return
            except BaseException as problem:
                problems.append(problem)

    def _begin(self) -> None:
        """Let the threads begin; all of them or none."""
        if self._process != os.getpid():
            self._helpers, self._process = [], os.getpid()
        try:
            while len(self._helpers) < self._size:
                # Known before it begins: an interrupt may come when it has.
                self._helpers.append(_Helper(f"{self._name}-{len(self._helpers)}"))
                self._helpers[-1].thread.start()
        except BaseException:
            self.dismiss()
            raise

    def dismiss(self) -> None:
        """The threads end."""
        for helper in self._helpers:
            helper.calls.put(0)
        self._helpers = []
