"""One thread at a time: kernels run side by side, and two of them would share an agent's arrays.

Who works with an agent or a fleet has put the thread's number into its ``_hands``. One call of ``setdefault`` decides
who is first, so no thread can come in between. The name goes away without a call, so no interrupt can come in between
either; one that is left behind all the same still lets its thread in.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from .errors import Error
from .worlds.changes import me

__all__ = ["in_use", "one_thread", "undisturbed"]

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


# Of the signals those whose handlers are likely to raise something: Ctrl-C, a time that is over, a polite end.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGALRM", "SIGTERM") if hasattr(signal, name)]


class undisturbed:
    """Let Ctrl-C wait until the end of what must not stop half-way; a moment, in which no kernel is at work for long.

    >>> try:
    ...     with undisturbed():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("it is done")
    ... except KeyboardInterrupt:
    ...     print("and heard")
    it is done
    and heard
    """

    def __enter__(self) -> None:
        self._heard: dict[int, Any] = {}
        self._before: dict[int, Any] = {}
        if threading.current_thread() is not threading.main_thread():
            return  # others hear no signals
        try:
            for number in _SIGNALS:
                before = signal.getsignal(number)
                if callable(before):
                    self._before[number] = before
                    signal.signal(number, self._note)
        except BaseException:  # one that came just before
            self._listen_again()
            raise

    def _note(self, number: int, frame: Any) -> None:
        self._heard[number] = frame

    def _listen_again(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def __exit__(self, *_: Any) -> None:
        self._listen_again()
        self._pass_on(list(self._heard.items()))

    def _pass_on(self, heard: list[tuple[int, Any]]) -> None:
        """Each is heard, also if one before it has raised something."""
        if heard:
            (number, frame), *others = heard
            try:
                self._before[number](number, frame)
            finally:
                self._pass_on(others)


def one_thread(
    what: str, whole: bool = False
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Refuse a second thread while one is at work in any method that is so marked; ``whole``: Ctrl-C waits, too."""

    def marked(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        @functools.wraps(method)
        def alone(self: Any, *args: P.args, **options: P.kwargs) -> T:
            hands, mine = self._hands, me()
            try:
                owner = hands.setdefault(0, mine)
                if owner != mine:
                    raise in_use(what, owner, mine)
                if not whole:
                    return method(self, *args, **options)
                with undisturbed():
                    return method(self, *args, **options)
            finally:
                if 0 in hands and hands[0] is mine:
                    del hands[0]

        return alone

    return marked
