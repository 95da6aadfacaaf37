"""Long work with whole arrays that Ctrl-C can end.

A single call of NumPy over millions of cells takes a second, and Python hears no signal meanwhile. So such work is done
by another thread, while the main one waits for it and hears. What an interrupted call would have made is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["attended"]

P = ParamSpec("P")
T = TypeVar("T")

_LARGE = 1 << 20  # cells or arcs: less is done before anyone could press a key


def attended(size: Callable[P, float]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function that only makes new things be interrupted, where ``size`` of its arguments says it may take long.

    >>> @attended(lambda n: n)
    ... def count(n):
    ...     return n + 1
    >>> count(1), count(1 << 21)
    (2, 2097153)
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            if threading.current_thread() is not threading.main_thread() or not size(*args, **options) > _LARGE:
                return function(*args, **options)
            made: Future[T] = Future()

            def work() -> None:
                try:
                    made.set_result(function(*args, **options))
                except BaseException as problem:  # whatever it is, it belongs to who called
                    made.set_exception(problem)

            threading.Thread(target=work, name=f"timebound {function.__name__}", daemon=True).start()
            return made.result()

        return call

    return decorate
