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

__all__ = ["fitting", "fitting_entrance", "starters", "starters_entrance"]


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
def starters(episodes, order, wants, begin, count, crew, number, least, most, limit, room, chosen):
    """Turns in frame ``number`` for those of a crew who are in need of one, before the others.

    All have the same part of ``room``, from ``least`` to ``most`` times their weights. If it is not enough for all,
    those have one who are first from place ``begin`` of the order on, around to there, and fit. ``chosen`` tells, after
    a place from which to begin the next time and the share: how many, then which.
    """
    weights = np.int64(0)
    for place in range(count):
        k = order[at(place)]
        if wants[at(k)] and _needs(episodes[at(k)], crew, number, 1, limit) > 0:
            weights += episodes[at(k)].weight
    found = np.int64(0)
    left = np.int64(-1)  # the first that did not fit
    share = np.int64(0)
    if weights > 0:
        share = min(max(room // weights, least), most)
        for n in range(count):
            place = begin + n if begin + n < count else begin + n - count
            k = order[at(place)]
            if not wants[at(k)]:
                continue
            needs = _needs(episodes[at(k)], crew, number, share, limit)
            if needs == 0:
                continue
            if needs > room:
                if left < 0:
                    left = place
                continue
            room -= needs
            chosen[at(3 + found)] = k
            found += 1
    chosen[0] = left if left >= 0 else begin
    chosen[1] = share
    chosen[2] = found


@cache
def fitting_entrance() -> Callable[..., Any]:
    """``fitting``, for calls from Python."""
    numbers = np.zeros(1, np.int64)
    return entrance(fitting, new_record(EPISODE), numbers, *(7 * (0,)))


@cache
def starters_entrance() -> Callable[..., Any]:
    """``starters``, for calls from Python."""
    numbers, flags = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    return entrance(starters, new_record(EPISODE), numbers, flags, *(8 * (0,)), numbers)
