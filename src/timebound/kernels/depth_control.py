"""Dynamic control of the lookahead: how deep an agent looks before a move (line 3 of LRTA*, Bulitko et al. 2008).

A control is a NamedTuple with texts for two names: ``select_depth`` chooses, ``note_step`` is told what came of it; and
for ``lacks_room``, whether it has room to note one step more. The decision tree is in ``depth_tree.py``.

An agent holds one of each and uses one of them (``DepthControl``): so what is compiled for one serves them all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .jit import generic
from .layout import GROW, INFINITE, PAUSED
from .lookahead import best_on_frontier, deepen
from .loop import NEEDS_ROOM, NOT_YET
from .memory import lacks_room
from .pattern_tables import region_of, stored_depth
from .telling import DROPPED, tell
from .ticks import Tick
from .workspace import new_record

__all__ = [
    "BY_TREE",
    "GIVEN",
    "TOLD",
    "DepthControl",
    "GivenDepth",
    "new_oracle",
    "note_goal",
    "note_step",
    "select_depth",
]


@generic
def select_depth(control, world, values, space, look, patterns, s, cap, tick):
    """How deep to look from ``s`` towards ``look.goal``: from 1 to ``cap``.

    NEEDS_ROOM if the space is too small for finding out, NOT_YET if it takes long: it is called again, and ``look``
    says by ``paused`` whether to go on. What it looks at is not counted as expanded.
    """


@generic
def note_step(control, world, s, there, before, after):
    """A decision is made: the step from ``s`` leads ``there``, and the value of ``s`` was ``before``, is ``after``."""


@generic
def note_goal(control, region):
    """The global goal has moved, into this region."""


class GivenDepth(NamedTuple):
    """The same depth at every move; or that which a pattern table has for the regions of the agent and the global goal.

    1 if it has none.
    """

    always: int  # 0: as the table says
    goal_region: np.ndarray  # int64[1]


@select_depth.on(GivenDepth)
def _given(given, world, values, space, look, patterns, s, cap, tick):
    if given.always > 0:
        return np.int64(given.always)
    region = region_of(patterns, s)
    if region < 0 or given.goal_region[0] < 0:
        return np.int64(1)
    return min(max(stored_depth(patterns, region, given.goal_region[0]), np.int64(1)), cap)


ORACLE = np.dtype(
    [
        ("ply", np.int64),  # the depth that comes next
        ("step", np.int64),  # where the depth before would go
        ("label", np.int64),  # since which depth it is the same step
        ("expanded", np.int64),  # up to then
    ]
)


class Oracle(NamedTuple):
    """The shallowest depth whose step is that of ``cap`` and of every depth between: a perfect decision tree."""

    memo: np.ndarray  # one ORACLE record
    gamma: int


def new_oracle(gamma: int) -> Oracle:
    """An oracle for lookaheads with this weight, in fixed point."""
    return Oracle(new_record(ORACLE), gamma)


@select_depth.on(Oracle)
def _told(oracle, world, values, space, look, patterns, s, cap, tick):
    memo = oracle.memo[0]
    if not look.paused:
        memo.ply = 1
        memo.step = -1
        memo.label = 1
        memo.expanded = 0
    endless = Tick(np.int64(INFINITE), np.int64(0), tick.clock)
    while memo.ply <= cap:
        status = deepen(world, values, space, look, s, memo.ply, oracle.gamma, endless)
        if status == GROW:
            return np.int64(NEEDS_ROOM)
        if status == PAUSED:
            return np.int64(NOT_YET)
        if look.expanded == memo.expanded:
            break  # there is nothing beyond
        best, _ = best_on_frontier(space, look, oracle.gamma)
        step = space.table.states[space.table.parents[best]] if best >= 0 else np.int64(-1)
        if step != memo.step:
            memo.step = step
            memo.label = memo.ply
        memo.expanded = look.expanded
        memo.ply += 1
    tell(world, DROPPED, s, -1, look.expanded, -1)
    return memo.label


GIVEN, TOLD, BY_TREE = range(3)


class DepthControl(NamedTuple):
    """The three ways to choose, of which ``rule`` names the one that is used. The others stay as they were made."""

    rule: int  # GIVEN, TOLD or BY_TREE
    given: GivenDepth
    oracle: Oracle
    tree: Any  # TreeDepth


@select_depth.on(DepthControl)
def _by_rule(control, world, values, space, look, patterns, s, cap, tick):
    if control.rule == BY_TREE:
        return select_depth(control.tree, world, values, space, look, patterns, s, cap, tick)
    if control.rule == TOLD:
        return select_depth(control.oracle, world, values, space, look, patterns, s, cap, tick)
    return select_depth(control.given, world, values, space, look, patterns, s, cap, tick)


@note_step.on(DepthControl)
def _note_for_the_tree(control, world, s, there, before, after):
    if control.rule == BY_TREE:
        note_step(control.tree, world, s, there, before, after)


@lacks_room.on(DepthControl)
def _tree_lacks_room(control, more):
    return control.rule == BY_TREE and lacks_room(control.tree, more)


@note_goal.on(DepthControl)
def _note_region(control, region):
    control.given.goal_region[0] = region
