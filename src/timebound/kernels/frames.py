"""A frame of a fleet: each of many agents makes a tick, or walks on along what it has planned.

What a tick is, and what is legal, is as for an agent alone (``loop``). Here is who makes one, in which order, by how
many threads; and what is asked for ahead, because what ten thousand agents hold is in no cache when their turn comes.

In a fleet whose frame is too small for all, who has no turn may walk on along what it has planned (``loop.walk_on``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from .jit import at, fetch_and_add, foresee, foresee_arrays, foresee_first_arrays, foresee_row, inlined, kernel, now_ns
from .loop import (
    ACTIVE,
    EPISODE,
    GROW_ALGORITHM,
    ILLEGAL,
    foresee_steps,
    foresee_tables,
    move,
    put_at,
    tick,
    walk_on,
)
from .native import Kind, entrance, load
from .ticks import rest
from .views import length, write_point
from .workspace import new_record

__all__ = ["FRAME", "carrier", "carry_out", "tick_each", "ticker"]

# One call of ``tick_each``.
FRAME = np.dtype(
    [
        ("holds", np.int64),  # 1: decide, and leave the move to the caller
        # The rest in this order: a fleet writes them at once, and the turns of a call, which are behind them.
        # Expansions that each may make, times its weight, besides its own limit. 0: nobody has a turn, and who can
        # walks on.
        ("share", np.int64),
        ("deadline", np.int64),  # of all together; 0: none
        ("number", np.int64),  # of the frame
        ("crew", np.int64),  # whose turn it is: of those that ``order`` names, others have left it
    ]
)

# Agents that a thread takes at a time: a quarter of those that are left, within these bounds, so that all threads are
# ready at the same time. The last number is the least where each may take long (a turn of so many expansions).
_AT_ONCE, _MOST_AT_ONCE, _IN_HASTE, _LONG = 16, 256, 4, 32
# If there is a deadline, as many as take about so many nanoseconds: then it looks at the clock.
_SOON = 5_000
# How many turns ahead of an agent's own what it holds is asked for: first where its arrays are, then the beginnings of
# the arrays; in the last turns what it will read in the long ones, for each step of that depends on the one before.
_ROWS_AHEAD, _ARRAYS_AHEAD = 10, 7


@kernel
def tick_each(view_kind, kind, views, rows, seats, episodes, order, turn, points, moved, wants, noted, clock, frame):
    """Let agents act: those that ``order`` names, from ``turn[0]`` to ``turn[1]``.

    Agent k is the value in row ``seats[k]`` and has the record ``episodes[k]``; what became of it is its ``outcome``.
    Those that are not on their way any more, or ask for something, are ``noted``: how many, then which. ``wants`` tells
    of each whether it is in need of a turn.

    Several threads may call this with one ``turn`` and one ``noted``: each takes a few agents at a time. After the
    frame's deadline nobody begins; ``turn[0]`` then tells who would have been next. The other four numbers of ``turn``
    rise by what was expanded, by one when a call has ended, by the moves that were made, and by what was expanded while
    learning, which is not in the first.
    """
    world = load(view_kind, views, 0)
    call = frame[0]
    walks = call.share == 0
    rest(clock, now_ns(clock))
    total = 0
    learned = 0
    steps = 0
    last = turn[1]
    least = _IN_HASTE if call.share >= _LONG else _AT_ONCE
    foreseen = np.int64(-1)  # up to which place agents have been foreseen
    looked = now_ns(clock)
    hasty = 0
    while True:
        taken = min(max((last - turn[0]) // 4, least), _MOST_AT_ONCE)
        if call.deadline > 0:
            now = now_ns(clock)
            if now > call.deadline:
                break
            hasty = min(2 * hasty, _MOST_AT_ONCE) if now - looked < _SOON else hasty // 2
            hasty = max(hasty, 1)
            looked = now
            taken = min(taken, hasty)
        first = fetch_and_add(turn, taken)
        if first >= last:
            break
        # Where nobody was foreseen, because others have had their turns in between, that is done before anyone acts.
        lead = 0 if first == foreseen else _ROWS_AHEAD
        foreseen = first + taken
        for place in range(first - lead, min(first + taken, last)):
            _foresee_turns(world, kind, rows, seats, episodes, wants, order, place, first, last, call, walks)
            if place < first:
                continue
            k = order[at(place)]
            episode = episodes[at(k)]
            # Who goes over to another crew within a tick may have a place in its order from before.
            if episode.served == call.number or not _has_turn(episodes, wants, k, call, walks):
                episode.outcome = episode.status
                continue
            algorithm = load(kind, rows, seats[at(k)])
            position = episode.position
            episode.wish = position
            if walks:
                wants[at(k)] = _walk(world, algorithm, episode, call) < 2
                episode.outcome = episode.status
            else:
                counts = algorithm.counts[0]
                total -= counts.expanded
                learned -= counts.learning
                limit = min(episode.limit, call.share * episode.weight)
                episode.outcome, _ = tick(world, algorithm, episode, limit, 1, call.deadline, clock, call.holds)
                total += counts.expanded
                learned += counts.learning
                if not episode.deciding:  # else it goes on in this frame or in the next
                    episode.served = call.number
                    wants[at(k)] = episode.position == position and episode.wish == position
            moved[at(k)] = episode.position != position
            if episode.position != position:
                steps += 1
                write_point(world, points, k, episode.position)
            if episode.outcome != ACTIVE:
                noted[1 + fetch_and_add(noted, 1)] = k
    fetch_and_add(turn[4:], steps)
    fetch_and_add(turn[5:], learned)
    fetch_and_add(turn[2:], total - learned)
    fetch_and_add(turn[3:], 1)


@inlined
def _has_turn(episodes, wants, k, call, walks):
    """Whether an agent is on its way, of this crew, and, if it is to walk on, has something to walk along."""
    # A step that was held, and that somebody stood in the way of, may be the last one that it knows.
    if walks and wants[at(k)] and not call.holds:
        return False
    return episodes[at(k)].status == ACTIVE and episodes[at(k)].crew == call.crew


@inlined
def _foresee_turns(world, kind, rows, seats, episodes, wants, order, place, first, last, call, walks):
    """What agents hold lies in as many places as they have arrays: while one acts, those of the next ones are fetched.

    First where the arrays of one are, then the arrays; and, when its turn is near, what it will read in its tables.
    """
    if place + _ROWS_AHEAD < last:  # and not before the first
        k = order[at(place + _ROWS_AHEAD)]
        if not (walks and wants[at(k)]) or call.holds:
            foresee(episodes, k)
            foresee_row(kind, rows, seats[at(k)])
    if first <= place + _ARRAYS_AHEAD < last:
        k = order[at(place + _ARRAYS_AHEAD)]
        if _has_turn(episodes, wants, k, call, walks):  # else it may hold nothing
            if walks:
                foresee_first_arrays(kind, rows, seats[at(k)])
            else:
                foresee_arrays(kind, rows, seats[at(k)])
            _foresee(load(kind, rows, seats[at(k)]), world, episodes[at(k)].position, 5, walks)
    _foresee_turn(world, kind, rows, seats, episodes, wants, order, place, first, last, call, 4, walks)
    _foresee_turn(world, kind, rows, seats, episodes, wants, order, place, first, last, call, 3, walks)
    _foresee_turn(world, kind, rows, seats, episodes, wants, order, place, first, last, call, 2, walks)
    _foresee_turn(world, kind, rows, seats, episodes, wants, order, place, first, last, call, 1, walks)


@inlined
def _foresee_turn(world, kind, rows, seats, episodes, wants, order, place, first, last, call, ahead, walks):
    """What the agent that is so far ahead will read in its tables. ``ahead`` is a constant to the compiler."""
    if first <= place + ahead < last:
        k = order[at(place + ahead)]
        if _has_turn(episodes, wants, k, call, walks):
            _foresee(load(kind, rows, seats[at(k)]), world, episodes[at(k)].position, ahead, walks)


@inlined
def _foresee(algorithm, world, s, ahead, walks):
    if walks:
        foresee_steps(algorithm, world, s, ahead)
    else:
        foresee_tables(algorithm, world, s, ahead)


@inlined
def _walk(world, algorithm, episode, call):
    """A tick without a turn: a step of what is planned, if there is one. Returns as ``walk_on``."""
    if episode.deciding:
        return 0  # it stands in the middle of a decision
    s = episode.position
    known = 2
    if episode.pending == 0 or length(world, s, algorithm.route[at(algorithm.plan[0])]) < 0.0:
        episode.pending = 0
        known = walk_on(algorithm, world, s)
        if known == 0:
            return 0
        episode.pending = 1
    step = length(world, s, algorithm.route[at(algorithm.plan[0])])
    if step < 0.0:
        episode.status = ILLEGAL
        return 0
    episode.ticks += 1
    if call.holds:
        episode.wish = algorithm.route[at(algorithm.plan[0])]
    else:
        move(algorithm, episode, step)
    return known


@kernel
def carry_out(view_kind, kind, views, rows, seats, episodes, order, after, points, moved, noted, call):
    """Let the agents that ``order`` names be where ``after`` says: they have held their moves for somebody to decide.

    Who may go where it wished makes its move; who is pushed elsewhere goes on from there. Those for whom a new planner
    must be made, who arrived, or who had arrived and must go back, are ``noted``: how many, then which.
    """
    world = load(view_kind, views, 0)
    for n in range(order.shape[0]):
        k = order[at(n)]
        episode = episodes[at(k)]
        if episode.crew != call[0].crew or after[at(k)] == episode.position or after[at(k)] < 0:
            continue
        algorithm = load(kind, rows, seats[at(k)])
        before = episode.status
        goes_on = True
        if episode.pending > 0 and after[at(k)] == episode.wish:
            move(algorithm, episode, length(world, episode.position, episode.wish))
        else:
            goes_on = put_at(world, algorithm, episode, after[at(k)])
        moved[at(k)] = True
        write_point(world, points, k, episode.position)
        if not goes_on or episode.status != before:
            episode.outcome = episode.status if goes_on else GROW_ALGORITHM
            noted[1 + fetch_and_add(noted, 1)] = k


_NUMBERS = np.zeros(1, np.int64)
_SHELF = np.zeros((1, 1), np.int64)  # nobody's rows, nobody's points
_FLAGS = np.zeros(1, np.bool_)
_ROWS = _SHELF, _SHELF, _NUMBERS


@cache
def ticker(view_kind: Kind, kind: Kind) -> Callable[..., None]:
    """``tick_each`` for worlds and algorithms of these kinds."""
    seen = _SHELF, _FLAGS, _FLAGS, _NUMBERS
    end = _NUMBERS, new_record(FRAME)
    return entrance(tick_each, view_kind, kind, *_ROWS, new_record(EPISODE), _NUMBERS, _NUMBERS, *seen, *end)


@cache
def carrier(view_kind: Kind, kind: Kind) -> Callable[..., None]:
    """``carry_out`` for worlds and algorithms of these kinds."""
    end = _SHELF, _FLAGS, _NUMBERS, new_record(FRAME)
    return entrance(carry_out, view_kind, kind, *_ROWS, new_record(EPISODE), _NUMBERS, _NUMBERS, *end)
