"""Who of a crew has a turn in a frame that is too small for all: counted before anyone acts.

A fleet asks this in every such tick, for thousands of agents. So it is asked of compiled code; and what is given out is
what each may expand, whatever it will need, so that the same frame gives the same turns with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .jit import at, inlined, kernel
from .loop import ACTIVE, EPISODE
from .native import entrance
from .workspace import new_record

__all__ = ["fitting", "fitting_entrance", "in_need", "in_need_entrance", "starters", "starters_entrance"]


@inlined
def _needs(episode, crew, number, share, limit):
    """What an agent may expand in a turn; 0 if it needs none: it rests, has left the crew, or has had one."""
    if episode.status != ACTIVE or episode.crew != crew or episode.served == number:
        return np.int64(0)
    return min(episode.weight * share, limit)


@kernel
def fitting(episodes, order, first, last, crew, number, share, limit, room):
    """How many agents in places ``first`` to ``last`` can have turns in frame ``number``, one after the other."""
    for place in range(first, last):
        room -= _needs(episodes[at(order[at(place)])], crew, number, share, limit)
        if room < 0:
            return place - first
    return last - first


@kernel
def in_need(episodes, order, wants, count, crew, number, limit):
    """The weights of those of a crew, added up, who are in need of a turn in frame ``number``."""
    weights = np.int64(0)
    for place in range(count):
        k = order[at(place)]
        if wants[at(k)] and _needs(episodes[at(k)], crew, number, 1, limit) > 0:
            weights += episodes[at(k)].weight
    return weights


@kernel
def starters(episodes, order, wants, begin, count, crew, number, share, limit, room, most, chosen):
    """Turns in frame ``number`` for those of a crew who are in need of one, before the others.

    If there is not room for all, those have one who are first from place ``begin`` of the order on, around to there,
    and fit. ``chosen`` tells, after a place from which to begin the next time: how many, then which. With the ``most``
    room that there can be, who needs more than that is not waited for.
    """
    found = np.int64(0)
    left = np.int64(-1)  # the first that did not fit
    for n in range(count):
        place = begin + n if begin + n < count else begin + n - count
        k = order[at(place)]
        needs = _needs(episodes[at(k)], crew, number, share, limit) if wants[at(k)] else np.int64(0)
        if needs > room:
            if left < 0 and needs <= most:
                left = place
        elif needs > 0:
            room -= needs
            chosen[at(2 + found)] = k
            found += 1
    chosen[0] = left if left >= 0 else begin
    chosen[1] = found


@cache
def fitting_entrance() -> Callable[..., Any]:
    """``fitting``, for calls from Python."""
    numbers = np.zeros(1, np.int64)
    return entrance(fitting, new_record(EPISODE), numbers, *(7 * (0,)))


@cache
def in_need_entrance() -> Callable[..., Any]:
    """``in_need``, for calls from Python."""
    numbers, flags = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    return entrance(in_need, new_record(EPISODE), numbers, flags, *(4 * (0,)))


@cache
def starters_entrance() -> Callable[..., Any]:
    """``starters``, for calls from Python."""
    numbers, flags = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    return entrance(starters, new_record(EPISODE), numbers, flags, *(8 * (0,)), numbers)
