"""The limits of a tick; and pauses: a kernel at work for long returns to Python now and then, to be called again.

Python sees a signal (Ctrl-C) only between its own instructions, and a kernel is one of them. So a kernel that may take
long looks at the clock every thousand expansions or so, and returns when it has been at work for a twentieth of a
second. What it was doing stays in its records; nothing is lost, counted twice, or decided otherwise. Signals are for
the main thread, so kernels in other threads never pause.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from .jit import inlined, now_ns

__all__ = ["PATIENCE", "STRIDE", "Tick", "hasten", "late", "new_clock", "pause_due", "rest", "stride", "tired", "wind"]

PATIENCE = 50_000_000  # nanoseconds
STRIDE = 1024  # expansions between two looks at the clock

# A clock is an int64[5]: two numbers that ``now_ns`` writes into, when to pause (0: never), the patience, the stride.
_UNTIL, _PATIENCE, _STRIDE = 2, 3, 4


class Tick(NamedTuple):
    """What bounds the planning of one tick, or of the part of it that is left."""

    limit: int  # expansions
    deadline: int  # nanoseconds of the clock; 0: none
    clock: np.ndarray  # see above


def new_clock() -> np.ndarray:
    """A clock for kernels that this thread will call."""
    clock = np.array([0, 0, 0, 0, STRIDE], np.int64)
    wind(clock)
    return clock


def wind(clock: np.ndarray, patience: int = PATIENCE) -> None:
    """Let kernels that this thread calls work for so long at a time; where no signal is heard, as long as they like."""
    clock[_PATIENCE] = patience if threading.get_ident() == threading.main_thread().ident else 0


def hasten(clock: np.ndarray) -> None:
    """Let kernels pause at each look at the clock, in whatever thread: somebody wants to know what they have done."""
    clock[_PATIENCE] = 1


@inlined
def rest(clock, now):
    """A kernel begins, and the time is ``now``."""
    clock[_UNTIL] = now + clock[_PATIENCE] if clock[_PATIENCE] > 0 else 0


@inlined
def stride(clock):
    """How many expansions to make before the next look at the clock."""
    return clock[_STRIDE]


@inlined
def tired(clock):
    """Whether it is time to pause."""
    return clock[_UNTIL] > 0 and now_ns(clock) >= clock[_UNTIL]


@inlined
def pause_due(clock, done, look_at):
    """Whether it is time to pause, and at how much work ``done`` to ask next; until then the clock is left alone."""
    if done < look_at:
        return False, look_at
    return tired(clock), done + stride(clock)


@inlined
def late(tick, done, every):
    """Whether the deadline has passed; asked each time that ``every``, a power of two, divides the work ``done``."""
    return tick.deadline > 0 and not done & (every - 1) and now_ns(tick.clock) > tick.deadline
