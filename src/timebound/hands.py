"""One thread at a time: kernels run side by side, and two of them would share an agent's arrays.

Who works with an agent or a fleet has put the thread's number into its ``_hands``. One call of ``setdefault`` decides
who is first, so no thread can come in between. The name goes away without a call, so no interrupt can come in between
either; one that is left behind all the same still lets its thread in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from .errors import Error
from .worlds.changes import me

__all__ = ["in_use", "one_thread"]

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def in_use(what: str, owner: int, mine: int) -> Error:
    """Why ``mine`` may not work with an agent or a fleet that is in the hands of ``owner``."""
    if owner >> 64 == mine >> 64:
        return Error(
            f"this {what} is in use by another thread; give each thread {what}s of its own, they may share a world"
        )
    return Error(
        f"this {what} was in use by another thread when the process was forked, and stands half-way through a step; "
        "make a new one"
    )


def one_thread(what: str) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Refuse a second thread while one is at work in any method that is so marked."""

    def marked(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        @functools.wraps(method)
        def alone(self: Any, *args: P.args, **options: P.kwargs) -> T:
            hands, mine = self._hands, me()
            try:
                owner = hands.setdefault(0, mine)
                if owner != mine:
                    raise in_use(what, owner, mine)
                return method(self, *args, **options)
            finally:
                if 0 in hands and hands[0] is mine:
                    del hands[0]

        return alone

    return marked
