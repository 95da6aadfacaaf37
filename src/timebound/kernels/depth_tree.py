"""How deep to look, by a decision tree: the features of Bulitko et al. 2008 (Tables 7 and 8), and walking the tree.

A lookahead of depth 1 or 2, the pre-search, and the last n steps tell a classifier whether a deeper lookahead would
choose another action (``observe``, ``classify``). The pre-search is the first plies of the lookahead that follows, so
it costs nothing of its own. Everything here takes a small constant time per move: what is summed over the last steps is
kept up to date as they come and go.

For maps never seen, features must not depend on the units of costs, nor on how long the agent has been under way. So
distances are in straight steps (``unit``), and what 004 sums over the last n steps is divided by how many steps there
have been so far, if these are fewer.

The plain version is in tests/naive/depth_features.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .depth_control import note_step, select_depth
from .heuristic_values import learned
from .jit import at, generic, inlined, kernel
from .layout import GROW, PAUSED, WEIGHT_ONE
from .learning_rules import mini_min
from .lookahead import LOOKING, best_on_frontier, breadth_first, cost_to, deepen, is_closed
from .loop import NEEDS_ROOM, NOT_YET
from .memory import lacks_room, zeros
from .saving import keeps_frozen
from .tables import HashedTable, intern, new_hashed, probe, word_of
from .telling import DROPPED, tell
from .ticks import Tick
from .views import (
    GraphView,
    GridView,
    PuzzleView,
    TerrainView,
    aim,
    cost_between,
    degree,
    estimate,
    locate,
    successor,
    widest,
)
from .workspace import new_record

__all__ = [
    "FEATURES",
    "WALK",
    "History",
    "Tree",
    "TreeDepth",
    "classify",
    "new_history",
    "no_history",
    "note",
    "observe",
    "walk_and_label",
]

FEATURES = (
    "distance to the goal",  # f1, in straight steps
    "mobility",  # f2, straight steps from where it was n steps ago, per step
    "distinct states",  # f3, per step
    "volume of updates",  # f4, in straight steps, per step
    "frontier",  # f5, against one without obstacles
    "learned frontier",  # f6, the share of it
    "same action",  # f7, as when it was here last
    "same direction",  # f8, as the step before
    "ratio",  # f9, of the values here and at the best successor
    "learned successor",  # f10, the best one
    "downhill",  # f11, to the best one
)
_FARTHEST_RATIO = 1e6  # for f9 beside a goal, whose value is 0


class Tree(NamedTuple):
    """Decision trees, one for every cap. Children come after their parents, so each walk ends."""

    feature: np.ndarray  # int8[nodes]: which feature is asked for; -1: a leaf
    threshold: np.ndarray  # float64[nodes]: up to here it goes to the left
    left: np.ndarray  # int32[nodes]
    right: np.ndarray  # int32[nodes]
    depth: np.ndarray  # uint8[nodes]: of a leaf, how deep to look
    roots: np.ndarray  # int32[deepest cap + 1]: the tree for a cap; those for 0 and 1 look one step ahead


HISTORY = np.dtype(
    [
        ("next", np.int64),  # where in the ring the next step goes
        ("steps", np.int64),  # in the ring
        ("distinct", np.int64),  # states in it
        ("volume", np.int64),  # of their updates, in fixed point
        ("unit", np.int64),  # the integer cost of a straight step
        ("frontier", np.int64),  # states on the frontier of the pre-search where nothing is in the way
        ("presearch", np.int64),  # its depth
    ]
)


class History(NamedTuple):
    """What the agent remembers: its last steps, and where it went last from each state."""

    ring: np.ndarray  # int64[n]: the last states
    rises: np.ndarray  # int64[n]: by how much their values rose, in fixed point
    seen: HashedTable  # words: where it went from there last, plus one; parents: how often the ring has the state
    memo: np.ndarray  # one HISTORY record
    features: np.ndarray  # float64[11]


def no_history() -> History:
    """In the place of one, for who remembers nothing."""
    return History(zeros(1), zeros(1), new_hashed(1), new_record(HISTORY), zeros(len(FEATURES), np.float64))


def new_history(world: Any, steps: int, presearch: int) -> History:
    """An empty one, for a world as Python sees it."""
    memo = new_record(HISTORY)
    memo["unit"], fan = _usual(world)
    memo["presearch"] = presearch
    spreads = not isinstance(world.view, GridView | TerrainView)
    memo["frontier"] = fan * max(fan - 1, 1) ** (presearch - 1) if spreads else fan * presearch
    seen = new_hashed(64)
    seen.stamp[0] = 1  # the first and only search in it
    return History(np.zeros(steps, np.int64), np.zeros(steps, np.int64), seen, memo, np.zeros(len(FEATURES)))


def _usual(world: Any) -> tuple[int, int]:
    """The integer cost of a straight step, and how many steps lead out of a state where nothing is in the way.

    Arcs of a graph differ, and a few may be much unlike the others: there it is the median of both.
    """
    view = world.view
    if isinstance(view, GridView):
        return int(view.cardinal), int(world.connectivity)
    if isinstance(view, TerrainView):
        return int(2 * view.bounds[0]), int(world.connectivity)
    if isinstance(view, GraphView):
        costs, degrees = view.cost[view.cost > 0], np.diff(view.first)
        return (max(1, int(np.median(costs))) if len(costs) else 1), max(1, int(np.median(degrees)))
    return 1, int(widest(view))


# --- what is observed ------------------------------------------------------------------------------------------------


@generic
def goes_straight(world, r, s, t):
    """Whether a step from ``s`` to ``t`` goes in the direction of that from ``r`` to ``s``."""


@goes_straight.on(GridView, TerrainView)
def _straight_on_grid(world, r, s, t):
    return t - s == s - r


@goes_straight.on(GraphView)
def _straight_on_graph(world, r, s, t):
    """Within 22.5 degrees, as on a grid, if there are coordinates; never if there are none."""
    if world.position.shape[0] != world.first.shape[0] - 1:
        return False
    product = 0.0
    before = 0.0
    after = 0.0
    for k in range(3):
        a = world.position[s, k] - world.position[r, k]
        b = world.position[t, k] - world.position[s, k]
        product += a * b
        before += a * a
        after += b * b
    return product > 0.9238795325112867 * np.sqrt(before * after)


@goes_straight.on(PuzzleView)
def _straight_in_puzzle(world, r, s, t):
    """The blank moves on."""
    for i in range(4):
        u, c = successor(world, r, i)
        if c > 0 and u == s:
            v, d = successor(world, s, i)
            return d > 0 and v == t
    return False


@inlined
def observe(world, values, space, look, history, s, best):
    """Write down the features of the agent's situation at ``s``, after the pre-search, whose best slot is ``best``."""
    memo = history.memo[0]
    f = history.features
    table = space.table
    unit = np.float64(memo.unit)
    here = locate(world, s)
    steps = max(memo.steps, 1)
    first = table.parents[at(best)]
    there = table.states[at(first)]
    f[0] = estimate(world, aim(world, look.goal), s, here) / unit
    f[1] = 0.0
    f[7] = 0.0
    if memo.steps > 0:
        length = history.ring.shape[0]
        oldest = memo.next if memo.steps == length else 0
        f[1] = estimate(world, aim(world, history.ring[oldest]), s, here) / unit / steps
        if goes_straight(world, history.ring[(memo.next + length - 1) % length], s, there):
            f[7] = 1.0
    f[2] = memo.distinct / steps
    f[3] = memo.volume / (unit * WEIGHT_ONE) / steps
    frontier = np.int64(0)
    taught = np.int64(0)
    for slot in range(look.states):
        if not is_closed(table.words, slot):
            frontier += 1
            taught += learned(values, table.states[at(slot)]) > 0
    f[4] = frontier / memo.frontier
    f[5] = taught / max(frontier, 1)
    f[6] = 1.0 if word_of(history.seen, s) == there + 1 else 0.0
    h = space.h[0]
    h_there = space.h[at(first)]
    f[8] = min(h / h_there, _FARTHEST_RATIO) if h_there > 0 else _FARTHEST_RATIO
    f[9] = 1.0 if learned(values, there) > 0 else 0.0
    f[10] = 1.0 if h > h_there else 0.0


@inlined
def note(history, s, t, rise):
    """A step from ``s`` to ``t`` is made, and the value of ``s`` rose by ``rise``. There must be room for one state."""
    memo = history.memo[0]
    seen = history.seen
    k = memo.next
    if memo.steps == history.ring.shape[0]:
        oldest = intern(seen, history.ring[at(k)])
        seen.parents[at(oldest)] -= 1
        memo.distinct -= seen.parents[at(oldest)] == 0
        memo.volume -= history.rises[at(k)]
    else:
        memo.steps += 1
    before = seen.stamp[1]
    slot = intern(seen, s)
    if slot == before:
        seen.parents[at(slot)] = 0
    memo.distinct += seen.parents[at(slot)] == 0
    seen.parents[at(slot)] += 1
    seen.words[at(slot)] = t + 1
    history.ring[at(k)] = s
    history.rises[at(k)] = rise
    memo.volume += rise
    memo.next = (k + 1) % history.ring.shape[0]


# --- the tree --------------------------------------------------------------------------------------------------------


@inlined
def classify(tree, features, cap):
    """How deep to look, from 1 to ``cap``. Above the deepest cap that there is a tree for, that one speaks."""
    node = np.int64(tree.roots[at(min(cap, tree.roots.shape[0] - 1))])
    while tree.feature[at(node)] >= 0:
        if features[at(tree.feature[at(node)])] <= tree.threshold[at(node)]:
            node = np.int64(tree.left[at(node)])
        else:
            node = np.int64(tree.right[at(node)])
    return min(max(np.int64(tree.depth[at(node)]), 1), cap)


# --- what it is taught by --------------------------------------------------------------------------------------------

WALK = np.dtype(
    [
        ("s", np.int64),  # where the agent is
        ("cap", np.int64),
        ("moves", np.int64),
    ]
)


@inlined
def _slot_of(table, s):
    """The slot of a state in the space; -1 if it was not seen."""
    entry = table.places[at(probe(table, s))]
    return entry & 0xFFFFFFFF if entry >> 32 == table.stamp[0] else np.int64(-1)


@inlined
def _mark_ways(world, space, look):
    """Mark all states on a cheapest way to any of the best frontier states; the first steps among them are all best.

    Marks are left in ``fresh``. Ways are followed back from the frontier, so the world must have no one-way arcs.
    """
    table = space.table
    marks = space.fresh
    stack = space.incoming
    _, least = best_on_frontier(space, look, np.int64(WEIGHT_ONE))
    size = np.int64(0)
    for slot in range(look.states):
        marks[at(slot)] = 0
        if not is_closed(table.words, slot) and cost_to(table.words, slot) * WEIGHT_ONE + space.h[at(slot)] == least:
            marks[at(slot)] = 1
            stack[at(size)] = slot
            size += 1
    while size > 0:
        size -= 1
        slot = np.int64(stack[at(size)])
        u = table.states[at(slot)]
        g = cost_to(table.words, slot)
        for i in range(degree(world, u)):
            t, _ = successor(world, u, i)
            before = _slot_of(table, t)
            if before <= 0 or marks[at(before)] != 0 or cost_to(table.words, before) >= g:
                continue
            c = cost_between(world, t, u)
            if c >= 0 and cost_to(table.words, before) + c == g:
                marks[at(before)] = 1
                stack[at(size)] = before
                size += 1


@inlined
def _is_marked(space, s):
    """Whether a neighbour of the agent's state is one of the best first steps."""
    slot = _slot_of(space.table, s)
    return space.fresh[at(slot)] != 0 and space.table.parents[at(slot)] == slot


@kernel
def walk_and_label(world, values, space, looks, history, walks, plies, rows, labels, clock):
    """Walk towards the goal by LRTA*, and write down the features of each state and the depth that was needed there.

    That is the shallowest one that takes a step which the lookahead of the cap finds best, or equally good, as does
    every depth between; the agent looks so deep. Ends at the goal, when ``rows`` are full, or where nothing leads on;
    returns GROW if the space or the history is full, to be called again. ``plies`` is an int64[cap + 1, 2] to write
    into: by depth the first step and the value learned.
    """
    look = looks[0]
    walk = walks[0]
    cap = walk.cap
    presearch = min(history.memo[0].presearch, cap)
    tick = Tick(np.int64(1) << 60, np.int64(0), clock)
    while walk.s != look.goal and walk.moves < rows.shape[0]:
        if lacks_room(history.seen, 1):
            return GROW
        s = walk.s
        for depth in range(1, cap + 1):
            if deepen(world, values, space, look, s, depth, np.int64(WEIGHT_ONE), tick) == GROW:
                look.paused = 0
                return GROW
            best, v = best_on_frontier(space, look, np.int64(WEIGHT_ONE))
            if best < 0:
                return 0
            plies[depth, 0] = space.table.states[space.table.parents[best]]
            plies[depth, 1] = v
            if depth == presearch:
                observe(world, values, space, look, history, s, best)
        _mark_ways(world, space, look)
        label = cap
        while label > 1 and _is_marked(space, plies[label - 1, 0]):
            label -= 1
        for k in range(rows.shape[1]):
            rows[walk.moves, k] = history.features[k]
        labels[walk.moves] = label
        there = plies[label, 0]
        h = space.h[0]
        mini_min(world, values, look, s, h, plies[label, 1])
        note(history, s, there, max(plies[label, 1] - h, np.int64(0)))
        walk.moves += 1
        walk.s = there
    return 0


# --- the control of D LRTA* ------------------------------------------------------------------------------------------


class TreeDepth(NamedTuple):
    """The depth that a tree says, from what the agent remembers and what a pre-search sees."""

    tree: Tree
    history: History
    gamma: int  # fixed point


@select_depth.on(TreeDepth)
def _by_tree(control, world, values, space, look, patterns, s, cap, tick):
    presearch = min(control.history.memo[0].presearch, cap)
    status = breadth_first(world, values, space, look, s, presearch, control.gamma, tick)
    if status == GROW:
        return np.int64(NEEDS_ROOM)
    if status == PAUSED:
        return np.int64(NOT_YET)
    best, _ = best_on_frontier(space, look, control.gamma)
    depth = presearch
    if best >= 0:
        observe(world, values, space, look, control.history, s, best)
        depth = max(classify(control.tree, control.history.features, cap), presearch)
    if depth > 1:
        look.paused = LOOKING  # what follows is the rest of the same lookahead
    else:
        tell(world, DROPPED, s, -1, look.expanded, -1)
    return depth


@note_step.on(TreeDepth)
def _note_step(control, world, s, there, before, after):
    note(control.history, s, there, after - before)


@lacks_room.on(TreeDepth)
def _control_lacks_room(control, more):
    return lacks_room(control.history.seen, more)


keeps_frozen(Tree)
