"""Best-first search in slices: run some expansions, stop, ask for the best open state, go on.

One text serves A*, weighted A*, greedy best-first search and Dijkstra: they differ only in the weights of g and h in
the evaluation f = g_weight g + h_weight h. The time-bounded algorithms stand on it too.

The search ends when no open state has an f below the goal's. Buckets order states only to the width of a bucket, so
two things keep A* exact: a closed state that is reached more cheaply is opened again (``reopen``), and after the goal
is reached its own bucket is searched for states that could still improve it.

A search may be given another goal (``new_goals.py``). So every state that was seen and is not closed has an entry in
the open list, even if it cannot improve the path to the present goal, as has the goal itself; and ``aim``, the state
that estimates and keys are for, need not be the goal. Neither matters to what is found: with a consistent estimate for
whatever state, a state is reached as cheaply as it ever will be when its turn comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import at, generic, inlined, lowest_bit, now_ns
from .layout import (
    CLOSED,
    COLS,
    DIRECTION_MASK,
    EXHAUSTED,
    FLAGS,
    FOUND,
    G_SHIFT,
    GROW,
    INFINITE,
    PAUSED,
    ROWS,
    RUNNING,
    STAMP_SHIFT,
    WEIGHT_ONE,
    WEIGHT_SHIFT,
)
from .memory import lacks_room
from .queues import clear, foresee_top, foreseen, foreseen_next, likely_next, pop, push, resume, settle, suspend, top
from .tables import (
    around,
    beside,
    count_room,
    foresee_around,
    foresee_expansions,
    foresee_notes,
    foresee_slot,
    intern,
    parent_of,
    renew,
    set_word,
    state_of,
    word_at,
    word_of,
    write,
)
from .telling import BEGUN, EXPANDED, GENERATED, tell
from .ticks import stride, tired
from .views import (
    GraphView,
    GridView,
    PuzzleView,
    TerrainView,
    aim,
    arc,
    degree,
    estimate,
    foresee_state,
    horizon,
    locate,
    moved,
    successor,
    widest,
)
from .workspace import new_record

__all__ = [
    "SEARCH",
    "advance",
    "begin",
    "best_open",
    "cost_so_far",
    "foresee_search",
    "new_search",
    "open_in_turn",
    "parent",
    "seen",
]

# Entries that a slice may skip for each expansion it may make. Stale entries cost little, but a tick must be bounded.
_SKIPS = 64
# Expansions between two looks at the clock.
_CLOCK = 32
# Successors that are examined at once.
_BLOCK = 32

SEARCH = np.dtype(
    [
        ("root", np.int64),  # slot of the state the search started from
        ("goal", np.int64),  # state
        ("aim", np.int64),  # the state that keys are for: the goal, or one where it was before
        ("goal_slot", np.int64),  # meaningful once goal_f is finite
        ("goal_f", np.int64),  # f of the best path to the goal so far, or INFINITE
        ("top", np.int64),  # the word of a state with g = 0
        ("g_weight", np.int64),  # fixed point, WEIGHT_SHIFT binary digits
        ("h_weight", np.int64),
        ("reopen", np.int64),  # 1: a closed state found cheaper is opened again
        ("status", np.int64),  # RUNNING, FOUND or EXHAUSTED
        ("skips", np.int64),  # stale entries that the slice under way may still skip
        ("paused", np.int64),  # 1 if the slice is to be gone on with: it wanted room, or took long
        # For new_goals.py.
        ("sorting", np.int64),  # what is being done to the open list: 0, or the constants there
        ("place", np.int64),  # how far that is
        ("sorted", np.int64),  # entries looked at on the way
        ("paid", np.int64),  # its price in the tick under way, in case that is interrupted
        ("next_from", np.int64),  # the count of expansions from which it may be done again
        ("best", np.int64),  # slot of the most promising state so far, or -1
        ("best_key", np.int64),
    ]
)


def new_search(goal: int, g_weight: float, h_weight: float, reopen: bool) -> Any:
    """One SEARCH record. Rounding a weight down keeps the promise of a path of at most w times the optimum."""
    search = new_record(SEARCH)
    search["goal"], search["reopen"] = goal, reopen
    search["g_weight"], search["h_weight"] = int(g_weight * WEIGHT_ONE), int(h_weight * WEIGHT_ONE)
    return search


@inlined
def begin(world, table, queue, search, counts, start, goal):
    """Start a search from ``start``, forgetting the one before. Returns RUNNING, or GROW."""
    h = estimate(world, aim(world, goal), start, locate(world, start))
    key = (search.h_weight * h) >> (world.shift + WEIGHT_SHIFT)
    cursor = clear(queue)
    count_room(table)
    if lacks_room(queue, 1, cursor, key):
        return GROW
    top_word = renew(table)
    if top_word == 0:
        return GROW
    search.top = top_word
    search.root = intern(table, start)
    search.goal = goal
    search.aim = goal
    search.goal_slot = -1
    search.goal_f = INFINITE
    search.status = RUNNING
    search.paused = 0
    search.sorting = 0
    search.paid = 0
    search.next_from = 0
    write(table, search.root, search.top, search.root)
    suspend(queue, push(queue, cursor, key, search.root))
    counts.states = 1
    tell(world, BEGUN, start, -1, 0, h << WEIGHT_SHIFT)
    return RUNNING


@inlined
def advance(world, table, queue, search, counts, tick):
    """Expand as many states as the tick allows, or until its deadline. Returns a status.

    Every call that does not end with GROW makes progress, even after the deadline. After GROW and PAUSED the same
    slice goes on with what is left of its limit.
    """
    deadline = tick.deadline
    clock = tick.clock
    last = counts.expanded + tick.limit
    if not search.paused:
        search.skips = _SKIPS * min(tick.limit, 1 << 40) + _SKIPS
    search.paused = 0
    count_room(table)
    while True:
        left = last - counts.expanded
        if deadline > 0:
            left = min(left, _CLOCK)
            search.skips = _SKIPS * left + _SKIPS
        status = _expand(world, table, queue, search, counts, min(left, stride(clock)))
        if status == GROW:
            search.paused = 1
        if status != RUNNING or counts.expanded >= last or (deadline == 0 and search.skips <= 0):
            return status
        if deadline > 0 and now_ns(clock) > deadline:
            return status
        if tired(clock):
            search.paused = 1
            return PAUSED


@inlined
def _expand(world, table, queue, search, counts, limit):
    """Up to ``limit`` expansions: the loop of Best-First-Search() in Hernández, Asín and Baier 2014, lines 11-20."""
    top_word = search.top
    seen_from = _least_word(top_word)  # a state with a smaller word has not been seen
    goal = search.goal
    goal_f = search.goal_f
    g_weight = search.g_weight
    h_weight = search.h_weight
    # Bits of a seen state's word that forbid a cheaper path to it: any, only the closed flag, or none.
    final = -1 if g_weight == 0 else 0 if search.reopen else CLOSED
    shift = world.shift + WEIGHT_SHIFT
    # How far above the expanded key a successor's key can lie.
    stretch = (((g_weight + h_weight) * horizon(world)) >> shift) + 2
    fan = widest(world)
    goal_key = goal_f >> shift
    target = aim(world, search.aim)
    cursor = resume(queue)
    expanded = 0
    states = 0
    skips = search.skips
    status = RUNNING
    while True:
        cursor = settle(queue, cursor)
        key = cursor[0]
        if key > goal_key or key == INFINITE:
            status = FOUND if goal_f < INFINITE else EXHAUSTED
            break
        if expanded >= limit or skips <= 0:
            break
        if lacks_room(queue, fan, cursor, key + stretch) or lacks_room(table, fan):
            status = GROW
            break
        slot, cursor = pop(queue, cursor)
        # What is on top now is likely to be popped next; its word can be on its way meanwhile.
        foresee_slot(table, likely_next(queue, cursor), False)
        word = word_at(table, slot)
        if word & CLOSED:
            skips -= 1
            continue
        s = state_of(table, slot)
        g = (top_word - (word & ~FLAGS)) >> G_SHIFT
        here = locate(world, s)
        if key == goal_key and g_weight * g + h_weight * estimate(world, target, s, here) >= goal_f:
            skips -= 1
            cursor = push(queue, cursor, key + 1, slot)
            continue
        set_word(table, slot, word | CLOSED)
        expanded += 1
        tell(world, EXPANDED, s, -1, g, -1)
        for block in range(0, degree(world, s), _BLOCK):
            todo = improvable(world, table, slot, s, g, top_word, block)
            while todo:
                i = block + lowest_bit(todo)
                todo &= todo - 1
                t, c = arc(world, s, i)
                child = reached(world, table, slot, i, t)
                old = word_at(table, child)
                if old & final and old >= seen_from:
                    continue
                states += old < seen_from
                g_t = g + c
                f = g_weight * g_t + h_weight * estimate(world, target, t, moved(world, here, i))
                write(table, child, top_word - (g_t << G_SHIFT) + (i & DIRECTION_MASK), slot)
                tell(world, GENERATED, t, s, g_t, estimate(world, target, t, moved(world, here, i)) << WEIGHT_SHIFT)
                if t == goal:
                    # The loop ends when no key is below its own. To a greedy search any way is as good.
                    goal_f = f if g_weight != 0 else np.int64(0)
                    goal_key = goal_f >> shift
                    search.goal_slot = child
                # What cannot improve the goal, and the goal itself, are out of the way above it.
                cursor = push(queue, cursor, f >> shift if f < goal_f else max(f >> shift, goal_key + 1), child)
    search.goal_f = goal_f
    search.status = status if status != GROW else RUNNING
    search.skips = skips
    counts.expanded += expanded
    counts.states += states
    suspend(queue, cursor)
    return status


@inlined
def foresee_search(world, table, queue, ahead):
    """Tell the processor what the next expansions will read; see ``loop.foresee_tables``."""
    if ahead == 5:
        foresee_notes(table)
    for k in range(foresee_top(queue, ahead)):
        slot = foreseen(queue, k, ahead)
        if ahead == 2:
            foresee_slot(table, slot, True)
        else:
            foresee_around(table, slot)
            foresee_state(world, state_of(table, slot))
            foresee_slot(table, foreseen_next(queue, k), True)
        if k == 0:
            foresee_expansions(table, slot, ahead)


@inlined
def open_in_turn(world, table, queue, search, above, s, g):
    """Open ``s`` at the price ``g`` as a successor of ``above``, if nothing more promising is open.

    Returns FOUND if that is done (or ``s`` is known to be cheaper), RUNNING if it is not its turn yet, or GROW.
    """
    shift = world.shift + WEIGHT_SHIFT
    f = search.g_weight * g + search.h_weight * estimate(world, aim(world, search.goal), s, locate(world, s))
    cursor = settle(queue, resume(queue))
    if f >> shift > min(cursor[0], search.goal_f >> shift):
        return RUNNING
    if lacks_room(queue, 1, cursor, f >> shift) or lacks_room(table, 2):
        return GROW
    slot = intern(table, s)
    word = search.top - (g << G_SHIFT)
    if word_at(table, slot) < word and f < search.goal_f:
        for i in range(degree(world, above)):
            t, c = successor(world, above, i)
            if t == s and c >= 0:
                write(table, slot, word + (i & DIRECTION_MASK), intern(table, above))
        cursor = push(queue, cursor, f >> shift, slot)
        tell(world, GENERATED, s, above, g, -1)
        search.status = RUNNING
    suspend(queue, cursor)
    return FOUND


@inlined
def best_open(world, table, queue, search, skips):
    """The slot of the most promising state: the one to be expanded next, or the goal's; -1 if there is none.

    -2 if that is not known after ``skips`` entries whose states are closed; the next call goes on from there.
    """
    cursor = resume(queue)
    shift = world.shift + WEIGHT_SHIFT
    while True:
        cursor = settle(queue, cursor)
        if cursor[0] >= search.goal_f >> shift:
            slot = search.goal_slot
            if slot < 0:
                search.status = EXHAUSTED
            break
        slot = top(queue, cursor)
        if not word_at(table, slot) & CLOSED:
            break
        if skips <= 0:
            slot = np.int64(-2)
            break
        skips -= 1
        slot, cursor = pop(queue, cursor)
    suspend(queue, cursor)
    return slot


@inlined
def parent(world, table, search, slot):
    """The slot from which ``slot`` was reached; the root is its own parent."""
    return slot if slot == search.root else parent_of(world, table, slot)


@inlined
def cost_so_far(table, search, slot):
    """g of the state in ``slot``."""
    return (search.top - (word_at(table, slot) & ~FLAGS)) >> G_SHIFT


@inlined
def seen(table, search, s):
    """Whether the search has reached state ``s``."""
    return word_of(table, s) >= _least_word(search.top)


@inlined
def _least_word(top_word):
    """No word of this search is smaller, and those of all searches before are."""
    return (top_word >> STAMP_SHIFT) << STAMP_SHIFT


@generic
def reached(world, table, slot, i, t):
    """The slot of ``t``, the i-th successor of the state in ``slot``."""


@reached.on(GridView, TerrainView)
def _grid_reached(world, table, slot, i, t):
    return beside(table, slot, ROWS[at(i)], COLS[at(i)], world.width)


@reached.on(GraphView, PuzzleView)
def _linked_reached(world, table, slot, i, t):
    return intern(table, t)


@generic
def improvable(world, table, slot, s, g, top_word, block):
    """A bit for each successor from number ``block`` on that is reached more cheaply through ``s`` than before."""


@improvable.on(GridView)
def _grid_improvable(world, table, slot, s, g, top_word, block):
    # Eight loads and comparisons without a branch; only the few that gain are then looked at one by one.
    straight = top_word - ((g + world.cardinal) << G_SHIFT)
    slanted = top_word - ((g + world.diagonal) << G_SHIFT)
    words = around(table, slot, world.width)
    todo = np.int64(words[0] < straight)
    todo |= np.int64(words[1] < straight) << 1
    todo |= np.int64(words[2] < straight) << 2
    todo |= np.int64(words[3] < straight) << 3
    todo |= np.int64(words[4] < slanted) << 4
    todo |= np.int64(words[5] < slanted) << 5
    todo |= np.int64(words[6] < slanted) << 6
    todo |= np.int64(words[7] < slanted) << 7
    return todo & world.moves[at(s)]


@improvable.on(TerrainView)
def _terrain_improvable(world, table, slot, s, g, top_word, block):
    words = around(table, slot, world.width)
    todo = np.int64(0)
    for i in range(8):
        _, c = arc(world, s, i)
        todo |= np.int64(words[i] < top_word - ((g + c) << G_SHIFT)) << i
    return todo & world.moves[at(s)]


@improvable.on(GraphView, PuzzleView)
def _linked_improvable(world, table, slot, s, g, top_word, block):
    todo = np.int64(0)
    for i in range(min(_BLOCK, degree(world, s) - block)):
        t, c = successor(world, s, block + i)
        if c >= 0 and word_of(table, t) < top_word - ((g + c) << G_SHIFT):
            todo |= np.int64(1) << i
    return todo
