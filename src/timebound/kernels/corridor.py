"""A world seen through a corridor: only states of marked regions are there.

The view lies around that of a world, or of a level of its abstraction, and answers every question as that does, but
for steps that would leave the corridor. So every search runs in it unchanged. Marks are stamped: a new corridor is a
new number, and nothing is wiped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .best_first import improvable, reached
from .jit import at, inlined, lowest_bit
from .tables import parent_of
from .telling import tell
from .views import (
    aim,
    arc,
    cost_between,
    degree,
    edits,
    estimate,
    horizon,
    length,
    locate,
    moved,
    successor,
    waiting,
    widest,
)

__all__ = ["Corridor", "is_inside"]


class Corridor(NamedTuple):
    """A view of the states whose region is marked."""

    inner: Any  # the view of the world
    region: np.ndarray  # int32[states]: the region of each
    marks: np.ndarray  # int64[regions]: the number of the last corridor that the region was part of
    mark: int  # the number of this one
    shift: int  # as the world has it


@inlined
def is_inside(world, t):
    """Whether a state that can be stepped to is part of the corridor."""
    return world.marks[at(world.region[at(t)])] == world.mark


@successor.on(Corridor)
def _successor(world, s, i):
    t, c = successor(world.inner, s, i)
    if c >= 0 and not is_inside(world, t):
        return t, -1
    return t, c


@improvable.on(Corridor)
def _improvable(world, table, slot, s, g, top_word, block):
    # What was reached as cheaply before is told by one load; the region of a state is asked only of the others.
    todo = improvable(world.inner, table, slot, s, g, top_word, block)
    left = todo
    while left:
        i = lowest_bit(left)
        left &= left - 1
        t, _ = arc(world.inner, s, block + i)
        if not is_inside(world, t):
            todo ^= np.int64(1) << i
    return todo


@length.on(Corridor)
def _length(world, s, t):
    c = length(world.inner, s, t)
    return c if c >= 0.0 and is_inside(world, t) else -1.0


@cost_between.on(Corridor)
def _cost_between(world, s, t):
    c = cost_between(world.inner, s, t)
    return c if c >= 0 and is_inside(world, t) else -1


# --- all else is as in the world ----------------------------------------------------------------------------------


@arc.on(Corridor)
def _arc(world, s, i):
    return arc(world.inner, s, i)


@degree.on(Corridor)
def _degree(world, s):
    return degree(world.inner, s)


@widest.on(Corridor)
def _widest(world):
    return widest(world.inner)


@locate.on(Corridor)
def _locate(world, s):
    return locate(world.inner, s)


@moved.on(Corridor)
def _moved(world, place, i):
    return moved(world.inner, place, i)


@aim.on(Corridor)
def _aim(world, goal):
    return aim(world.inner, goal)


@estimate.on(Corridor)
def _estimate(world, target, s, place):
    return estimate(world.inner, target, s, place)


@horizon.on(Corridor)
def _horizon(world):
    return horizon(world.inner)


@edits.on(Corridor)
def _edits(world):
    return edits(world.inner)


@waiting.on(Corridor)
def _waiting(world):
    return waiting(world.inner)


@tell.on(Corridor)
def _tell(world, what, s, parent, g, h):
    tell(world.inner, what, s, parent, g, h)


@reached.on(Corridor)
def _reached(world, table, slot, i, t):
    return reached(world.inner, table, slot, i, t)


@parent_of.on(Corridor)
def _parent_of(world, table, slot):
    return parent_of(world.inner, table, slot)
