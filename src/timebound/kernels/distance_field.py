"""Distance fields: one search from one or many goals, for everyone who wants to get there.

Dijkstra's algorithm grown from the goals in slices, and repaired in slices when the world is edited. It is the dynamic
algorithm of Ramalingam and Reps (1996), in two steps: states whose distance may have become too small are *doubted*,
nearest first; those that no neighbour holds up any more are *raised*, which puts in doubt what leant on them; raised
states then get what their neighbours offer, and Dijkstra's algorithm goes on. What an edit did not change is not
touched, ties included: a state that can lean on another neighbour at the same distance stays as it is.

A state leans on a neighbour whose distance plus the step is not more than its own. Steps cost more than nothing, so
nobody leans on itself in a circle, and to ask one's neighbours, nearest to the goal first, is enough.

What is known at any time: distances up to ``bound`` are *final*, those of the world as it is. Nothing is known of an
edit whose entry in the log was not yet read; until then no distance counts as final.

The words are those of node tables (``layout``), so that a field is forgotten by a new stamp. The plain version is
``tests/naive/distance_field.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .best_first import improvable
from .edits import LogView, arcs_in, changed_arc
from .jit import at, inlined, lowest_bit, now_ns, prefetch
from .layout import (
    CLOSED,
    EXHAUSTED,
    FLAGS,
    FOUND,
    G_MAX,
    G_SHIFT,
    GROW,
    INFINITE,
    PAUSED,
    RUNNING,
    STAMP_MAX,
    STAMP_SHIFT,
)
from .memory import lacks_room
from .queues import clear, likely_next, pop, push, resume, settle, suspend
from .tables import DenseTable
from .telling import BEGUN, EXPANDED, GENERATED, tell
from .ticks import stride, tired
from .views import arc, cheapest, degree, horizon, successor, widest

__all__ = ["AT_GOAL", "FIELD", "NOWHERE", "UNKNOWN", "WORK", "Field", "advance", "downhill", "final", "known_distance"]

# Small things that a slice may do for each expansion it may make: read an entry of the log, set a goal, skip what is
# stale in the open list. Each costs little, but a tick must be bounded.
_CHORES = 64
# Expansions between two looks at the clock.
_CLOCK = 32
# Successors that are examined at once.
_BLOCK = 32
# In the word of a state, where others keep the direction of the parent: it waits among the doubts.
_DOUBTED = 1

# What ``downhill`` answers where there is no step.
UNKNOWN = -1  # not yet
AT_GOAL = -2  # no step leads to anything better
NOWHERE = -3  # no way leads to a goal; that is proved

FIELD = np.dtype(
    [
        ("begun", np.int64),  # 0: forget everything and begin anew
        ("top", np.int64),  # the word of a state at distance 0
        ("goals", np.int64),  # how many of the goals have been set
        ("read", np.int64),  # how many entries of the log have been read
        ("raised", np.int64),  # how many states wait for a new distance
        ("lowest", np.int64),  # the least distance that any of them had; INFINITE if there is none
        ("open", np.int64),  # entries in the open list, stale ones too
        ("doubts", np.int64),  # entries among the doubts
        ("bound", np.int64),  # distances up to this are final, once goals are set and the log is read
        ("states", np.int64),  # states with a distance
        (
            "version",
            np.int64,
        ),  # rises when an array is exchanged for another; whoever holds the old one must not use it
    ]
)

# What a slice has left to do, kept by whoever asked for it: a slice that wants room or takes long is gone on with.
WORK = np.dtype(
    [
        ("chores", np.int64),
        ("paused", np.int64),
        ("last", np.int64),  # for callers: at which count of expansions the slice ends
        ("deadline", np.int64),  # for callers: and when
    ]
)


class Field(NamedTuple):
    """The arrays of a field. Several agents may hold them; ``lock`` says whose turn it is."""

    table: DenseTable  # a word per state: its distance; closed if that has been passed on to its neighbours
    queue: NamedTuple  # the open list: states whose distance is to be passed on
    doubts: NamedTuple  # states whose distance may be too small; no state is in it twice
    raised: np.ndarray  # int64[states]: states whose distance was too small
    goals: np.ndarray  # int64[goals]: states, in ascending order
    costs: np.ndarray  # int64[goals]: what it costs to end there
    log: LogView  # of the world
    memo: np.ndarray  # one FIELD record
    lock: np.ndarray  # int64[1]: who is at work, 0: nobody


@inlined
def advance(world, field, work, counts, target, tick):
    """Grow or repair the field for as many expansions as the tick allows, or until its deadline.

    Returns FOUND as soon as the distance of ``target`` is final (it may be -1: no such state), EXHAUSTED when every
    distance is, RUNNING, or GROW or PAUSED to be called again. Each of doubting a state, giving a raised one a new
    distance and passing one on counts as an expansion.
    """
    deadline = tick.deadline
    clock = tick.clock
    last = counts.expanded + tick.limit
    if not work.paused:
        work.chores = _CHORES * min(tick.limit, 1 << 40) + _CHORES
    work.paused = 0
    while True:
        left = last - counts.expanded
        if deadline > 0:
            left = min(left, _CLOCK)
            work.chores = _CHORES * left + _CHORES
        status = _work(world, field, work, counts, target, min(left, stride(clock)))
        if status == GROW:
            work.paused = 1
        if status != RUNNING or counts.expanded >= last or (deadline == 0 and work.chores <= 0):
            return status
        if deadline > 0 and now_ns(clock) > deadline:
            return status
        if tired(clock):
            work.paused = 1
            return PAUSED


@inlined
def _work(world, field, work, counts, target, limit):
    """Up to ``limit`` expansions."""
    memo = field.memo[0]
    log = field.log
    if (
        not memo.begun
        or log.total[0] < memo.read  # the log of a world that was made anew
        or log.total[0] - memo.read > log.entries.shape[0]
    ):
        memo.begun = 0
        if not _begin(field, memo):
            return GROW
        tell(world, BEGUN, -1, -1, -1, -1)
    status = _set_goals(world, field, memo, work)
    if status == FOUND:
        status = _read_log(world, field, memo, work)
    if status != FOUND:
        return status
    before = counts.expanded
    last = before + limit
    status = _doubt(world, field, memo, counts, target, last)
    if status == RUNNING and memo.doubts == 0:
        status = _place_raised(world, field, memo, counts, last)
        if status == RUNNING and memo.raised == 0:
            status = _pass_on(world, field, memo, work, counts, target, last)
    # A raised state gets a larger distance than it had: nothing up to that can come of it.
    least = min(_least(field.queue, memo.open), _least(field.doubts, memo.doubts))
    memo.bound = min(_sure(world, least), memo.lowest)
    return status


@inlined
def _least(queue, entries):
    """The least key of an open list. Where it is empty, no bucket is looked at."""
    if entries == 0:
        return np.int64(INFINITE)
    cursor = settle(queue, resume(queue))
    suspend(queue, cursor)
    return cursor[0]


@inlined
def _sure(world, key):
    """Distances up to this are final where no open or doubted state has a lesser key: a step costs something too."""
    return (key << world.shift) + cheapest(world) - 1 if key < INFINITE else np.int64(INFINITE)


@inlined
def _begin(field, memo):
    """Forget everything, in constant time; False if the table must be exchanged first."""
    stamp = field.table.stamp
    if stamp[0] >= STAMP_MAX:
        return False
    stamp[0] += 1
    memo.top = (stamp[0] << STAMP_SHIFT) + (G_MAX << G_SHIFT)
    memo.goals = 0
    memo.read = field.log.total[0]
    memo.raised = 0
    memo.lowest = INFINITE
    memo.open = 0
    memo.doubts = 0
    memo.bound = -1
    memo.states = 0
    memo.begun = 1
    suspend(field.queue, clear(field.queue))
    suspend(field.doubts, clear(field.doubts))
    return True


@inlined
def _seen_from(memo):
    """A state with a smaller word has no distance."""
    return (memo.top >> STAMP_SHIFT) << STAMP_SHIFT


@inlined
def _distance_in(top_word, word):
    return (top_word - (word & ~FLAGS)) >> G_SHIFT


@inlined
def _set_goals(world, field, memo, work):
    """Open the goals that are not yet open; FOUND when all are."""
    goals = field.goals
    words = field.table.words
    seen_from = _seen_from(memo)
    while memo.goals < goals.shape[0]:
        if work.chores <= 0:
            return RUNNING
        cost = field.costs[at(memo.goals)]
        cursor = resume(field.queue)
        if lacks_room(field.queue, 1, cursor, cost >> world.shift):
            return GROW
        s = goals[at(memo.goals)]
        memo.states += words[at(s)] < seen_from
        words[at(s)] = memo.top - (cost << G_SHIFT)
        suspend(field.queue, push(field.queue, cursor, cost >> world.shift, s))
        memo.open += 1
        memo.goals += 1
        work.chores -= 1
    return FOUND


@inlined
def _read_log(world, field, memo, work):
    """Put in doubt what may have become too small, and open again what may have become too large; FOUND when done."""
    log = field.log
    arcs = arcs_in(world)
    while memo.read < log.total[0]:
        if work.chores <= 0:
            return RUNNING
        if lacks_room(field.queue, 2 * arcs, resume(field.queue), 0):
            return GROW
        entry = log.entries[at(memo.read % log.entries.shape[0])]
        for k in range(arcs):
            u, v, c = changed_arc(world, entry, k)
            if u >= 0:
                if entry & 1:
                    _open_again(world, field, memo, u, v, c)
                    _open_again(world, field, memo, v, u, c)
                else:
                    _doubt_end(world, field, memo, u, v)
                    _doubt_end(world, field, memo, v, u)
        memo.read += 1
        work.chores -= 1
    return FOUND


@inlined
def _open_again(world, field, memo, u, v, c):
    """The arc from u to v is cheaper than before: u must pass its distance on once more, if v gains."""
    words = field.table.words
    word = words[at(u)]
    if c < 0 or word < _seen_from(memo) or not word & CLOSED:
        return
    g = _distance_in(memo.top, word)
    if words[at(v)] < memo.top - ((g + c) << G_SHIFT):
        words[at(u)] = word & ~CLOSED
        suspend(field.queue, push(field.queue, resume(field.queue), g >> world.shift, u))
        memo.open += 1


@inlined
def _doubt_end(world, field, memo, u, v):
    """The arc from u to v is dearer than before, or gone: v is in doubt, unless it cannot have leant on u."""
    words = field.table.words
    word = words[at(v)]
    other = words[at(u)]
    seen_from = _seen_from(memo)
    if word < seen_from or word & _DOUBTED or (other >= seen_from and (other | FLAGS) <= (word | FLAGS)):
        return
    words[at(v)] = word | _DOUBTED
    suspend(field.doubts, push(field.doubts, resume(field.doubts), _distance_in(memo.top, word) >> world.shift, v))
    memo.doubts += 1


@inlined
def _own_cost(field, s):
    """What it costs to end at ``s``; INFINITE if it is no goal."""
    goals = field.goals
    low = np.int64(0)
    high = np.int64(goals.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if goals[at(middle)] < s:
            low = middle + 1
        else:
            high = middle
    return field.costs[at(low)] if low < goals.shape[0] and goals[at(low)] == s else np.int64(INFINITE)


@inlined
def _offer(world, field, memo, s):
    """The least distance that the neighbours of ``s`` offer it, or itself as a goal."""
    words = field.table.words
    seen_from = _seen_from(memo)
    best = _own_cost(field, s)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and words[at(t)] >= seen_from:
            best = min(best, _distance_in(memo.top, words[at(t)]) + c)
    return best


@inlined
def _reach(world, field, memo, target):
    """The distance of ``target`` if it is not doubted and nothing in the open list could lower it, else INFINITE."""
    if target < 0:
        return np.int64(INFINITE)
    word = field.table.words[at(target)]
    if word < _seen_from(memo) or word & _DOUBTED:
        return np.int64(INFINITE)
    g = _distance_in(memo.top, word)
    return g if _sure(world, _least(field.queue, memo.open)) >= g else np.int64(INFINITE)


@inlined
def _doubt(world, field, memo, counts, target, last):
    """Ask the doubted, nearest first: those that nobody holds up are raised. RUNNING, or FOUND if that will do."""
    if memo.doubts == 0:
        return RUNNING
    words = field.table.words
    seen_from = _seen_from(memo)
    reach = _reach(world, field, memo, target)
    cursor = resume(field.doubts)
    status = RUNNING
    while memo.doubts > 0:
        cursor = settle(field.doubts, cursor)
        if min(_sure(world, cursor[0]), memo.lowest) >= reach:
            status = FOUND
            break
        if counts.expanded >= last:
            break
        s, cursor = pop(field.doubts, cursor)
        memo.doubts -= 1
        counts.expanded += 1
        tell(world, EXPANDED, s, -1, -1, -1)
        word = words[at(s)] & ~_DOUBTED
        g = _distance_in(memo.top, word)
        if _offer(world, field, memo, s) <= g:
            words[at(s)] = word
            if s == target:
                reach = _reach(world, field, memo, target)
            continue
        words[at(s)] = 0
        memo.states -= 1
        field.raised[at(memo.raised)] = s
        memo.raised += 1
        memo.lowest = min(memo.lowest, g)
        for i in range(degree(world, s)):
            t, c = successor(world, s, i)
            other = words[at(t)]
            if c >= 0 and other >= seen_from and not other & _DOUBTED:
                there = _distance_in(memo.top, other)
                if g + c <= there:
                    words[at(t)] = other | _DOUBTED
                    if t == target:
                        reach = np.int64(INFINITE)
                    cursor = push(field.doubts, cursor, there >> world.shift, t)
                    memo.doubts += 1
    if memo.doubts == 0:
        cursor = clear(field.doubts)
    suspend(field.doubts, cursor)
    return status


@inlined
def _place_raised(world, field, memo, counts, last):
    """Give each raised state what its neighbours offer, and open it. RUNNING or GROW."""
    words = field.table.words
    while memo.raised > 0 and counts.expanded < last:
        s = field.raised[at(memo.raised - 1)]
        best = _offer(world, field, memo, s)
        if best < INFINITE:
            cursor = resume(field.queue)
            if lacks_room(field.queue, 1, cursor, best >> world.shift):
                return GROW
            words[at(s)] = memo.top - (best << G_SHIFT)
            memo.states += 1
            suspend(field.queue, push(field.queue, cursor, best >> world.shift, s))
            memo.open += 1
        memo.raised -= 1
        counts.expanded += 1
        tell(world, EXPANDED, s, -1, -1, -1)
    if memo.raised == 0:
        memo.lowest = INFINITE
    return RUNNING


@inlined
def _pass_on(world, field, memo, work, counts, target, last):
    """Dijkstra's algorithm: the nearest open states pass their distances on."""
    table = field.table
    queue = field.queue
    words = table.words
    top_word = memo.top
    seen_from = _seen_from(memo)
    shift = world.shift
    # How far above the key of a state a neighbour's key can lie.
    stretch = (horizon(world) >> shift) + 2
    fan = widest(world)
    reach = np.int64(INFINITE)
    if target >= 0 and words[at(target)] >= seen_from:
        reach = _distance_in(top_word, words[at(target)])
    cursor = resume(queue)
    entries = memo.open
    expanded = counts.expanded
    chores = work.chores
    states = 0
    status = RUNNING
    while True:
        if entries == 0:
            cursor = clear(queue)
            status = FOUND if reach < INFINITE else EXHAUSTED
            break
        cursor = settle(queue, cursor)
        key = cursor[0]
        if _sure(world, key) >= reach:
            status = FOUND
            break
        if expanded >= last or chores <= 0:
            break
        if lacks_room(queue, fan, cursor, key + stretch):
            status = GROW
            break
        s, cursor = pop(queue, cursor)
        entries -= 1
        prefetch(words, likely_next(queue, cursor))
        word = words[at(s)]
        g = _distance_in(top_word, word)
        if word & CLOSED or word < seen_from or g >> shift != key:
            chores -= 1
            continue
        words[at(s)] = word | CLOSED
        expanded += 1
        tell(world, EXPANDED, s, -1, g, -1)
        for block in range(0, degree(world, s), _BLOCK):
            todo = improvable(world, table, s, s, g, top_word, block)
            while todo:
                i = block + lowest_bit(todo)
                todo &= todo - 1
                t, c = arc(world, s, i)
                states += words[at(t)] < seen_from
                words[at(t)] = top_word - ((g + c) << G_SHIFT)
                tell(world, GENERATED, t, s, g + c, -1)
                if t == target:
                    reach = g + c
                cursor = push(queue, cursor, (g + c) >> shift, t)
                entries += 1
    memo.open = entries
    memo.states += states
    counts.expanded = expanded
    work.chores = chores
    suspend(queue, cursor)
    return status


# --- reading --------------------------------------------------------------------------------------------------------


@inlined
def _up_to(field):
    """Distances up to this are final."""
    memo = field.memo[0]
    if not memo.begun or memo.goals < field.goals.shape[0] or memo.read != field.log.total[0]:
        return np.int64(-1)
    return memo.bound


@inlined
def final(field, s):
    """Whether the distance of ``s``, or that there is none, is that of the world as it is now."""
    memo = field.memo[0]
    bound = _up_to(field)
    word = field.table.words[at(s)]
    if bound == INFINITE and memo.raised == 0:
        return True
    return word >= _seen_from(memo) and not word & _DOUBTED and _distance_in(memo.top, word) <= bound


@inlined
def known_distance(field, s):
    """The distance of ``s`` if it is final, INFINITE if there is no way, -1 if it is not known."""
    if not final(field, s):
        return np.int64(-1)
    memo = field.memo[0]
    word = field.table.words[at(s)]
    return _distance_in(memo.top, word) if word >= _seen_from(memo) else np.int64(INFINITE)


@inlined
def downhill(world, field, s):
    """The neighbour of ``s`` that leads to a goal, or UNKNOWN, AT_GOAL or NOWHERE.

    Where the distance is final it is a step on a shortest way. Where it was known before an edit, and the repair has
    not come to it, it is the step that looks best by what is known: legal now, and nearer to a goal by the distances
    of before.
    """
    memo = field.memo[0]
    words = field.table.words
    seen_from = _seen_from(memo)
    word = words[at(s)]
    sure = final(field, s)
    if not memo.begun or word < seen_from:
        return np.int64(NOWHERE) if sure else np.int64(UNKNOWN)
    if not sure and not word & CLOSED:
        return np.int64(UNKNOWN)
    g = _distance_in(memo.top, word)
    best = _own_cost(field, s)
    there = np.int64(AT_GOAL if best < INFINITE else UNKNOWN)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and words[at(t)] >= seen_from:
            offer = _distance_in(memo.top, words[at(t)])
            if offer < g and offer + c < best:
                best = offer + c
                there = t
    return there
