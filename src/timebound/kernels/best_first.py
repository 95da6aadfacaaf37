"""Best-first search in slices: run some expansions, stop, ask for the best open state, go on.

One text serves A*, weighted A*, greedy best-first search and Dijkstra: they differ only in the weights of g and h in
the evaluation f = g_weight g + h_weight h. The time-bounded algorithms stand on it too.

The search ends when no open state has an f below the goal's. Buckets order states only to the width of a bucket, so
two things keep A* exact: a closed state that is reached more cheaply is opened again (``reopen``), and after the goal
is reached its own bucket is searched for states that could still improve it.
"""

from __future__ import annotations

import numpy as np

from .jit import at, generic, inlined, lowest_bit, now_ns, prefetch
from .layout import (
    CLOSED,
    COLS,
    DIRECTION_BITS,
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
    WEIGHT_SHIFT,
)
from .queues import clear, crowded, likely_next, pop, push, resume, settle, suspend, top
from .tables import around, beside, full, intern, parent_of, renew, state_of, word_of, write
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
    horizon,
    locate,
    moved,
    successor,
    widest,
)

__all__ = ["SEARCH", "advance", "begin", "best_open", "cost_so_far", "parent"]

SEARCH = np.dtype(
    [
        ("root", np.int64),  # slot of the state the search started from
        ("goal", np.int64),  # state
        ("goal_slot", np.int64),  # meaningful once goal_f is finite
        ("goal_f", np.int64),  # f of the best path to the goal so far, or INFINITE
        ("top", np.int64),  # the word of a state with g = 0
        ("g_weight", np.int64),  # fixed point, WEIGHT_SHIFT binary digits
        ("h_weight", np.int64),
        ("reopen", np.int64),  # 1: a closed state found cheaper is opened again
        ("status", np.int64),  # RUNNING, FOUND or EXHAUSTED
        ("skips", np.int64),  # stale entries that the slice under way may still skip
        ("paused", np.int64),  # 1 if the slice is to be gone on with: it wanted room, or took long
    ]
)

# Entries that a slice may skip for each expansion it may make. Stale entries cost little, but a tick must be bounded.
_SKIPS = 64
# Expansions between two looks at the clock.
_CLOCK = 32
# Successors that are examined at once.
_BLOCK = 32


@inlined
def begin(world, table, queue, note, counts, start, goal):
    """Start a search from ``start``, forgetting the one before. Returns RUNNING, or GROW."""
    h = estimate(world, aim(world, goal), start, locate(world, start))
    key = (note.h_weight * h) >> (world.shift + WEIGHT_SHIFT)
    cursor = clear(queue)
    if crowded(queue, cursor, key, 1):
        return GROW
    top_word = renew(table)
    if top_word == 0:
        return GROW
    note.top = top_word
    note.root = intern(table, start)
    note.goal = goal
    note.goal_slot = -1
    note.goal_f = INFINITE
    note.status = RUNNING
    note.paused = 0
    write(table, note.root, note.top, note.root)
    suspend(queue, push(queue, cursor, key, note.root))
    counts.states = 1
    return RUNNING


@inlined
def advance(world, table, queue, note, counts, clock, limit, deadline):
    """Expand up to ``limit`` states, or until ``deadline`` (nanoseconds; 0 for none). Returns a status.

    Every call that does not end with GROW makes progress, even after the deadline. After GROW and PAUSED the same
    slice goes on with what is left of its limit.
    """
    last = counts.expanded + limit
    if not note.paused:
        note.skips = _SKIPS * min(limit, 1 << 40) + _SKIPS
    note.paused = 0
    while True:
        left = last - counts.expanded
        if deadline > 0:
            left = min(left, _CLOCK)
            note.skips = _SKIPS * left + _SKIPS
        status = _expand(world, table, queue, note, counts, min(left, stride(clock)))
        if status == GROW:
            note.paused = 1
        if status != RUNNING or counts.expanded >= last or (deadline == 0 and note.skips <= 0):
            return status
        if deadline > 0 and now_ns(clock) > deadline:
            return status
        if tired(clock):
            note.paused = 1
            return PAUSED


@inlined
def _expand(world, table, queue, note, counts, limit):
    top_word = note.top
    seen_from = (top_word >> STAMP_SHIFT) << STAMP_SHIFT  # the least word of this search
    goal = note.goal
    goal_f = note.goal_f
    g_weight = note.g_weight
    h_weight = note.h_weight
    # Bits of a seen state's word that forbid a cheaper path to it: any, only the closed flag, or none.
    final = -1 if g_weight == 0 else 0 if note.reopen else CLOSED
    shift = world.shift + WEIGHT_SHIFT
    # How far above the expanded key a successor's key can lie.
    stretch = (((g_weight + h_weight) * horizon(world)) >> shift) + 2
    fan = widest(world)
    goal_key = goal_f >> shift
    target = aim(world, goal)
    cursor = resume(queue)
    expanded = 0
    states = 0
    skips = note.skips
    status = RUNNING
    while True:
        cursor = settle(queue, cursor)
        key = cursor[0]
        if key > goal_key or key == INFINITE:
            status = FOUND if goal_f < INFINITE else EXHAUSTED
            break
        if expanded >= limit or skips <= 0:
            break
        if crowded(queue, cursor, key + stretch, fan) or full(table, fan):
            status = GROW
            break
        slot, cursor = pop(queue, cursor)
        # What is on top now is likely to be popped next; its word can be on its way meanwhile.
        prefetch(table.words, likely_next(queue, cursor))
        word = word_at(table, slot)
        if word & CLOSED:
            skips -= 1
            continue
        s = state_of(table, slot)
        g = (top_word - (word & ~FLAGS)) >> G_SHIFT
        here = locate(world, s)
        if key == goal_key and g_weight * g + h_weight * estimate(world, target, s, here) >= goal_f:
            skips -= 1
            continue
        table.words[at(slot)] = word | CLOSED
        expanded += 1
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
                write(table, child, top_word - (g_t << G_SHIFT) + (i & ((1 << DIRECTION_BITS) - 1)), slot)
                if t == goal:
                    # Its estimate is 0. The goal needs no entry: the loop ends when no key is below its own.
                    goal_f = f
                    goal_key = f >> shift
                    note.goal_slot = child
                elif f < goal_f:
                    cursor = push(queue, cursor, f >> shift, child)
    note.goal_f = goal_f
    note.status = status if status != GROW else RUNNING
    note.skips = skips
    counts.expanded += expanded
    counts.states += states
    suspend(queue, cursor)
    return status


@inlined
def open_in_turn(world, table, queue, note, above, s, g):
    """Open ``s`` at the price ``g`` as a successor of ``above``, if nothing more promising is open.

    Returns FOUND if that is done (or ``s`` is known to be cheaper), RUNNING if it is not its turn yet, or GROW.
    """
    shift = world.shift + WEIGHT_SHIFT
    f = note.g_weight * g + note.h_weight * estimate(world, aim(world, note.goal), s, locate(world, s))
    cursor = settle(queue, resume(queue))
    if f >> shift > min(cursor[0], note.goal_f >> shift):
        return RUNNING
    if crowded(queue, cursor, f >> shift, 1) or full(table, 2):
        return GROW
    slot = intern(table, s)
    word = note.top - (g << G_SHIFT)
    if word_at(table, slot) < word and f < note.goal_f:
        for i in range(degree(world, above)):
            t, c = successor(world, above, i)
            if t == s and c >= 0:
                write(table, slot, word + (i & ((1 << DIRECTION_BITS) - 1)), intern(table, above))
        cursor = push(queue, cursor, f >> shift, slot)
        note.status = RUNNING
    suspend(queue, cursor)
    return FOUND


@inlined
def best_open(world, table, queue, note, skips):
    """The slot of the most promising state: the one to be expanded next, or the goal's; -1 if there is none.

    -2 if that is not known after ``skips`` entries whose states are closed; the next call goes on from there.
    """
    cursor = resume(queue)
    shift = world.shift + WEIGHT_SHIFT
    while True:
        cursor = settle(queue, cursor)
        if cursor[0] >= note.goal_f >> shift:
            slot = note.goal_slot
            if slot < 0:
                note.status = EXHAUSTED
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
def parent(world, table, note, slot):
    """The slot from which ``slot`` was reached; the root is its own parent."""
    return slot if slot == note.root else parent_of(world, table, slot)


@inlined
def cost_so_far(table, note, slot):
    """g of the state in ``slot``."""
    return (note.top - (word_at(table, slot) & ~FLAGS)) >> G_SHIFT


@inlined
def word_at(table, slot):
    return table.words[at(slot)]


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
