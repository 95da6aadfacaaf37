"""What RIBS keeps of a state besides its cost: which neighbours are optimal parents, and whether it is left out.

A state's marks are one number: a bit for each of its optimal parents, by their number among its own neighbours; and two
flags.
"""

from __future__ import annotations

import numpy as np

from .jit import at, generic, inlined
from .views import GraphView, GridView, PuzzleView, TerrainView, degree, successor

__all__ = [
    "MOST_PARENTS",
    "add_parent",
    "is_left_out",
    "is_only_parent",
    "mark_dead",
    "mark_redundant",
    "no_parents",
    "number_of",
    "only_parent",
    "strike_parent",
]

MOST_PARENTS = 60
_DEAD = 1 << 60
_REDUNDANT = 1 << 61

_OPPOSITE = np.array([2, 3, 0, 1, 7, 6, 5, 4], dtype=np.int64)


@generic
def number_of(world, i, t, s):
    """Which neighbour of ``t`` state ``s`` is, ``t`` being the i-th neighbour of ``s``."""


@number_of.on(GridView, TerrainView)
def _grid_number(world, i, t, s):
    return _OPPOSITE[at(i)]


@number_of.on(GraphView, PuzzleView)
def _linked_number(world, i, t, s):
    for j in range(degree(world, t)):
        u, c = successor(world, t, j)
        if u == s and c >= 0:
            return j
    return 0


@inlined
def no_parents(marks, slot):
    """The state is new: no optimal parents, no flags."""
    marks[at(slot)] = 0


@inlined
def only_parent(marks, slot, number):
    """Neighbour ``number`` is now the only optimal parent."""
    marks[at(slot)] = np.int64(1) << number


@inlined
def add_parent(marks, slot, number):
    """Neighbour ``number`` is an optimal parent too."""
    marks[at(slot)] |= np.int64(1) << number


@inlined
def strike_parent(marks, slot, number):
    """Neighbour ``number`` is no optimal parent any more."""
    marks[at(slot)] &= ~(np.int64(1) << number)


@inlined
def is_only_parent(marks, slot, number):
    """Whether neighbour ``number`` is the only optimal parent of a state that is not left out."""
    return marks[at(slot)] == np.int64(1) << number


@inlined
def mark_dead(marks, slot):
    """No usable neighbour can be reached well through the state."""
    marks[at(slot)] |= _DEAD


@inlined
def mark_redundant(marks, slot):
    """All that is reached well through the state is reached as well through others."""
    marks[at(slot)] |= _REDUNDANT


@inlined
def is_left_out(marks, slot):
    """Whether the state is dead or redundant."""
    return marks[at(slot)] & (_DEAD | _REDUNDANT) != 0
