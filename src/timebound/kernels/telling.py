"""What a search tells of itself while somebody watches, and nothing while nobody does.

Whether an agent is watched is part of the world as it sees it. A watched view is that of the world with three fields
more: it looks like the other to every ``generic`` question (``jit.looks_like``), but for ``tell``, which writes down
what it is told. For all other views ``tell`` has an empty text, so that nothing of it is left where nobody watches: its
calls, and what is computed for them alone, are gone when the kernel is compiled.

Events are written into a list of a fixed length, which whoever watches empties between two calls of a kernel. A kernel
that is watched pauses so often (``ticks.hasten``) that it is long enough; what does not fit is counted and lost.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from .jit import at, generic, looks_like
from .layout import WEIGHT_SHIFT
from .views import GraphView, GridView, PuzzleView, TerrainView

__all__ = [
    "BACK",
    "BEGUN",
    "COLUMNS",
    "DROPPED",
    "EXPANDED",
    "FORGOTTEN",
    "GENERATED",
    "LEARNED",
    "LEVEL",
    "LOWERED",
    "MOVED",
    "PARENT",
    "ROOM",
    "SETTLED",
    "STATE",
    "SUBGOAL",
    "TICK",
    "WHAT",
    "G",
    "H",
    "aside",
    "mark_tick",
    "new_events",
    "on_level",
    "tell",
    "to_user",
    "watched",
]

# What can happen. g is an integer cost and h, if it is not negative, a fixed-point number with WEIGHT_SHIFT digits.
BEGUN = 0  # a search, or a lookahead, begins at s (-1: at the goal): what was open or closed before is no more
GENERATED = 1  # s is reached from ``parent``, for the first time or more cheaply than before, at the price g
EXPANDED = 2
SETTLED = 3  # s was expanded while learning; h is its value
LEARNED = 4  # the value of s is h from now on; g: by how much that exceeds its estimate; ``parent``: for which goal
FORGOTTEN = 5  # all values are, or those for the goal s
LOWERED = 6  # all values for the goal ``parent``, which has moved to s, are less by h
DROPPED = 7  # of what was expanded, g states do not count: it is done anew, or was looked at to choose a depth
MOVED = 8  # the agent has stepped to s, from ``parent``
BACK = 9  # the same, back to where it came from because it is off its path
SUBGOAL = 10  # the agent goes to s before it goes to the goal; -1: to the goal

# The columns of an event.
WHAT, TICK, STATE, PARENT, G, H = range(6)
COLUMNS = 6
LEVEL = 4  # ``what`` >> LEVEL is 0 on the ground; else it was a search beside the main one, or s is a region

# Events for which there is room: enough for all between two pauses, which come at the latest after twice STRIDE
# expansions of a search, and as many of a learning rule, each of which tells of up to nine states in a grid.
ROOM = 1 << 16


def _watched_like(kind: Any) -> Any:
    """A type for a view that is watched."""
    fields = [*kind._fields, "events", "told", "level"]
    made: Any = namedtuple(f"Watched{kind.__name__}", fields, module=__name__)  # type: ignore[misc]
    made.__doc__ = (
        f"A {kind.__name__} that writes down what it is told. events: int64[room, COLUMNS]; told: int64[2], how many "
        "there have been since they were last taken, and the number of the tick; level: see LEVEL."
    )
    looks_like(made, kind)
    return made


WatchedGridView = _watched_like(GridView)
WatchedTerrainView = _watched_like(TerrainView)
WatchedGraphView = _watched_like(GraphView)
WatchedPuzzleView = _watched_like(PuzzleView)

_WATCHED = {
    GridView: WatchedGridView,
    TerrainView: WatchedTerrainView,
    GraphView: WatchedGraphView,
    PuzzleView: WatchedPuzzleView,
}


def new_events(room: int = ROOM) -> tuple[np.ndarray, np.ndarray]:
    """An empty list of events, and its counters."""
    return np.zeros((room, COLUMNS), np.int64), np.zeros(2, np.int64)


def watched(view: Any, events: np.ndarray, told: np.ndarray) -> Any:
    """The same view, which writes into a list of events; None if such a view cannot be watched."""
    kind = _WATCHED.get(type(view))
    return None if kind is None else kind(*view, events, told, 0)


def to_user(events: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """g and h of events as the user counts costs; NaN where they are not told."""
    g, h = events[:, G], events[:, H]
    return np.where(g >= 0, g / unit, np.nan), np.where(h >= 0, h / (unit * (1 << WEIGHT_SHIFT)), np.nan)


@generic
def tell(world, what, s, parent, g, h):
    """Something has happened: ``what`` is one of the constants above. It must have no other effect."""


@tell.otherwise
def _nobody_listens(world, what, s, parent, g, h):
    pass


@tell.on(WatchedGridView, WatchedTerrainView, WatchedGraphView, WatchedPuzzleView)
def _write_down(world, what, s, parent, g, h):
    told = world.told
    n = told[0]
    told[0] = n + 1
    if n < world.events.shape[0]:
        k = at(n)
        world.events[k, 0] = what + (world.level << LEVEL)
        world.events[k, 1] = told[1]
        world.events[k, 2] = s
        world.events[k, 3] = parent
        world.events[k, 4] = g
        world.events[k, 5] = h


@generic
def mark_tick(world, number):
    """A tick begins: what is told from now on is of it."""


@mark_tick.otherwise
def _nobody_counts(world, number):
    pass


@mark_tick.on(WatchedGridView, WatchedTerrainView, WatchedGraphView, WatchedPuzzleView)
def _count(world, number):
    world.told[1] = number


@generic
def aside(world):
    """The same world for a search beside the main one, which leaves that one's open and closed states as they are."""


@aside.otherwise
def _as_it_is(world):
    return world


@aside.on(WatchedGridView)
def _aside_grid(world):
    return WatchedGridView(
        world.moves, world.width, world.inverse, world.cardinal, world.diagonal, world.h_cardinal, world.h_diagonal,
        world.straight_length, world.diagonal_length, world.shift, world.edited, world.events, world.told, 1,
    )  # fmt: skip


@aside.on(WatchedTerrainView)
def _aside_terrain(world):
    return WatchedTerrainView(
        world.moves, world.width, world.inverse, world.weight, world.cost, world.cardinal, world.diagonal, world.bounds,
        world.manhattan, world.diagonal_length, world.shift, world.edited, world.events, world.told, 1,
    )  # fmt: skip


@aside.on(WatchedGraphView)
def _aside_graph(world):
    return on_level(world, world)


@aside.on(WatchedPuzzleView)
def _aside_puzzle(world):
    return WatchedPuzzleView(world.rows, world.cols, world.shift, world.edited, world.events, world.told, 1)


@generic
def on_level(world, level):
    """The view of a level of regions, which is a GraphView; if the world is watched, so is the level."""


@on_level.otherwise
def _level_as_it_is(world, level):
    return level


@on_level.on(WatchedGridView, WatchedTerrainView, WatchedGraphView)
def _watched_level(world, level):
    return WatchedGraphView(
        level.first, level.head, level.cost, level.length, level.kind, level.ratio, level.position, level.distances,
        level.octile, level.widest, level.shift, level.edited, world.events, world.told, 1,
    )  # fmt: skip
