"""What there is to see of a search: which states are open or closed, what was learned; made of what it tells.

A scene has a place for each state of the world. It takes in events (``telling``) as they come, and keeps apart what has
changed since it was last looked at. So whoever draws it in frames is told each change once, however much happens
between two frames, and a search that begins anew with every move wipes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .jit import at, inlined, kernel
from .layout import WEIGHT_SHIFT
from .telling import (
    BEGUN,
    EXPANDED,
    FORGOTTEN,
    LEARNED,
    LEVEL,
    LOWERED,
    PARENT,
    STATE,
    SUBGOAL,
    WHAT,
    G,
    H,
)
from .views import aim, estimate, locate
from .workspace import new_record

__all__ = ["CLOSED", "OPEN", "Scene", "all_learned", "all_marks", "new_learned", "new_marks", "new_scene", "take_in"]

OPEN, CLOSED = 1, 2

MEMO = np.dtype(
    [
        ("search", np.int64),  # the number of the search whose marks count
        ("look", np.int64),  # how often the scene was looked at, or wiped
        ("marked", np.int64),  # states whose marks have changed since
        ("learned", np.int64),  # states that something was learned of
        ("taught", np.int64),  # states of which something else was learned, or forgotten, since the last look
        ("lessons", np.int64),  # the number of looks at those
        ("wiped", np.int64),  # 1 if all marks of before the last look are gone
        ("forgot", np.int64),  # the same for what was learned
        ("subgoal", np.int64),  # where the agent goes first, or -1
    ]
)


class Scene(NamedTuple):
    """What is known of each state; g, h and values are in the user's units, NaN where they were not told."""

    memo: np.ndarray  # one MEMO record
    search: np.ndarray  # int32[states]: the last search that has marked it
    mark: np.ndarray  # uint8[states]
    g: np.ndarray  # float32[states]
    h: np.ndarray  # float32[states]
    looked: np.ndarray  # int32[states]: the look before which its mark was last changed
    marked: np.ndarray  # int32[states]: states in the order in which they were, since that look
    value: np.ndarray  # float32[states]: what was learned, in all
    above: np.ndarray  # float32[states]: by how much that exceeds the estimate; 0 if nothing is known
    goal: np.ndarray  # int32[states]: for which goal
    place: np.ndarray  # int32[states]: its place in the list of learned states, plus one
    learned: np.ndarray  # int32[states]
    lesson: np.ndarray  # int32[states]: as ``looked``
    taught: np.ndarray  # int32[states]: as ``marked``
    unit: float  # integer cost of a unit


_KINDS = (
    (("search", "looked", "marked", "goal", "place", "learned", "lesson", "taught"), np.int32),
    (("g", "h", "value", "above"), np.float32),
)


def new_scene(states: int, unit: float) -> Scene:
    """Nothing has been seen yet. Memory is taken when it is touched."""
    memo = new_record(MEMO)
    memo["search"] = memo["look"] = memo["lessons"] = 1
    memo["subgoal"] = -1
    small, real = ({name: np.zeros(states, kind) for name in names} for names, kind in _KINDS)
    return Scene(memo=memo, mark=np.zeros(states, np.uint8), unit=float(unit), **small, **real)


@kernel
def take_in(world, scene, events):
    """Take note of events, in their order. Those of regions, and of searches beside the main one, leave no marks."""
    memo = scene.memo[0]
    fine = scene.unit * (1 << WEIGHT_SHIFT)
    for k in range(events.shape[0]):
        what = events[k, WHAT]
        s = events[k, STATE]
        g = events[k, G]
        h = events[k, H]
        if what >> LEVEL != 0:
            continue
        if what == BEGUN:
            memo.search += 1
            memo.look += 1
            memo.marked = 0
            memo.wiped = 1
        if what == SUBGOAL:
            memo.subgoal = s
        elif what == FORGOTTEN:
            _forget(scene, memo, s)
        elif what == LOWERED:
            _lower(world, scene, memo, events[k, PARENT], s, np.float32(h / fine))
        if s < 0:
            continue
        if what <= EXPANDED:
            _mark(
                scene, memo, s, CLOSED if what == EXPANDED else OPEN,
                np.float32(g / scene.unit) if g >= 0 else np.float32(np.nan),
                np.float32(h / fine) if h >= 0 else np.float32(np.nan), what != EXPANDED,
            )  # fmt: skip
        elif what == LEARNED:
            if scene.place[at(s)] == 0:
                scene.learned[at(memo.learned)] = s
                memo.learned += 1
                scene.place[at(s)] = memo.learned
            scene.value[at(s)] = h / fine
            scene.above[at(s)] = g / fine
            scene.goal[at(s)] = events[k, PARENT]
            _note(scene, memo, s)


@inlined
def _mark(scene, memo, s, mark, g, h, anew):
    """``s`` is open or closed; what is not told of a state that is known stays as it was."""
    if scene.search[at(s)] != memo.search:
        scene.search[at(s)] = memo.search
        anew = True
    scene.mark[at(s)] = mark
    if anew or g == g:
        scene.g[at(s)] = g
    if anew or h == h:
        scene.h[at(s)] = h
    if scene.looked[at(s)] != memo.look:
        scene.looked[at(s)] = memo.look
        scene.marked[at(memo.marked)] = s
        memo.marked += 1


@inlined
def _note(scene, memo, s):
    """Something else is known to be learned of ``s``."""
    if scene.lesson[at(s)] != memo.lessons:
        scene.lesson[at(s)] = memo.lessons
        scene.taught[at(memo.taught)] = s
        memo.taught += 1


@inlined
def _forget(scene, memo, goal):
    """What was learned for a goal is forgotten; for -1, all."""
    kept = 0
    for k in range(memo.learned):
        s = scene.learned[at(k)]
        if goal >= 0 and scene.goal[at(s)] != goal:
            scene.learned[at(kept)] = s
            kept += 1
            scene.place[at(s)] = kept
            continue
        scene.place[at(s)] = 0
        scene.above[at(s)] = 0.0
        if goal >= 0:
            _note(scene, memo, s)
    memo.learned = kept
    if goal < 0:
        memo.forgot = 1
        memo.taught = 0
        memo.lessons += 1


@inlined
def _lower(world, scene, memo, old, goal, by):
    """Values for the goal ``old`` are for ``goal`` from now on, and less."""
    target = aim(world, goal)
    for k in range(memo.learned):
        s = np.int64(scene.learned[at(k)])
        if scene.goal[at(s)] == old:
            scene.goal[at(s)] = goal
            scene.value[at(s)] -= by
            e = estimate(world, target, s, locate(world, s)) / scene.unit
            scene.above[at(s)] = max(scene.value[at(s)] - np.float32(e), np.float32(0.0))
            _note(scene, memo, s)


# --- looking ---------------------------------------------------------------------------------------------------------

Marks = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def new_marks(scene: Scene) -> tuple[bool, Marks]:
    """Whether all marks of before the last call are gone; and those that are new: state, g, h, OPEN or CLOSED."""
    memo: Any = scene.memo
    states, wiped = scene.marked[: int(memo["marked"][0])].copy(), bool(memo["wiped"][0])
    memo["marked"] = memo["wiped"] = 0
    memo["look"] += 1
    return wiped, (states, scene.g[states], scene.h[states], scene.mark[states])


def all_marks(scene: Scene) -> Marks:
    """All that there are."""
    states = np.flatnonzero(scene.search == int(scene.memo["search"][0]))
    return states, scene.g[states], scene.h[states], scene.mark[states]


def new_learned(scene: Scene) -> tuple[bool, tuple[np.ndarray, np.ndarray]]:
    """Whether all that was learned before the last call is gone; and what is new: state, and what it is above."""
    memo: Any = scene.memo
    states, forgot = scene.taught[: int(memo["taught"][0])].copy(), bool(memo["forgot"][0])
    memo["taught"] = memo["forgot"] = 0
    memo["lessons"] += 1
    return forgot, (states, scene.above[states])


def all_learned(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """All that is."""
    states = scene.learned[: int(scene.memo["learned"][0])].copy()
    return states, scene.above[states]
