"""Records of which any part may be walked, either way; and the question which parts suit a problem best.

Between two neighbouring points of such a record a greedy agent can climb both ways. So a record of m points solves not
one problem but m (m - 1); and where two records share a point, an agent may change from one to the other. A question
has three steps: which of the points near the start can be climbed to; from which of those near the goal can the goal be
climbed to; and what is the cheapest way between two of them, by a part of one record or by parts of two that meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .climbing import ARRIVED, CLIMBING, climb_on, climbs, start_climb
from .jit import inlined, kernel
from .layout import COLS, DIRECTIONS, INFINITE, ROWS
from .records import STACK, insert
from .views import aim, cost_between, estimate, locate
from .workspace import new_record

__all__ = [
    "GRAIN",
    "LEAF",
    "TIERS",
    "Inquiry",
    "Trails",
    "answer",
    "compress_both",
    "distances",
    "new_inquiry",
    "next_climb",
    "no_trails",
    "reset",
]

GRAIN = 128  # integer costs per unit in which ways are measured: 32 bits are enough for paths of millions of steps
TIERS = 3
NEAR = 2  # points of each tier looked at on either side, for each that is wanted
REACH = 1 << 14  # points of records looked at on either side, when ways are joined
LEAF = 8  # cells in a part of the tree that is looked through one by one
_FAR = np.int64(2**31 - 1)


class Trails(NamedTuple):
    """Records as their points, one record after the other, and for each cell the places where it is a point."""

    points: np.ndarray  # int32[n]: start, subgoals and end of each record, as numbers of cells
    first: np.ndarray  # int32[records + 1]: where the points of each record begin
    walked: np.ndarray  # int32[n]: what the way from the record's start to each point costs, in GRAINs
    cells: np.ndarray  # int32[c]: the states that are points, each once: the tiers, each in the order of a k-d tree
    tiers: np.ndarray  # int32[TIERS + 1]: where each tier begins; the last holds the few cells that most records use
    used: np.ndarray  # int32[c + 1]: where the uses of each cell begin
    uses: np.ndarray  # int32[n]: the places of each cell in ``points``, rising


def no_trails() -> Trails:
    """A database without records."""
    return Trails(*(np.zeros(size, np.int32) for size in (0, 1, 0, 0, TIERS + 1, 1, 0)))


QUESTION = np.dtype(
    [
        ("look", np.int64),  # what is tried: the tiers near the start, then those near the goal; -1: not begun
        ("near", np.int64),  # how many points there are
        ("tried", np.int64),  # how many of them have been tried
        ("allowed", np.int64),  # steps that the present climb may take
        ("left", np.int64),  # steps left for all climbs on this side
        ("starts", np.int64),  # how many points can be climbed to from the start
        ("ends", np.int64),  # from how many points the goal can be climbed to
        ("stamp", np.int64),  # tells the marks of this question from older ones
        # The answer, as places in ``points``, or -1: from ``leave`` to ``change``, which is the same cell as ``board``,
        # and from there to ``arrive``.
        ("leave", np.int64),
        ("change", np.int64),
        ("board", np.int64),
        ("arrive", np.int64),
        ("cost", np.int64),  # of the whole way, as far as estimates know, in GRAINs
    ]
)


class Inquiry(NamedTuple):
    """What a question needs besides the records."""

    question: np.ndarray  # one QUESTION record
    near: np.ndarray  # int64[NEAR * candidates]: numbers of cells, the nearest first
    unlike: np.ndarray  # int64[NEAR * candidates]: their estimates
    stack: np.ndarray  # int64[STACK, 4]
    ends: np.ndarray  # int64[2, candidates, 2]: on either side the cells that passed, and their estimates in GRAINs
    marks: np.ndarray  # int32[c, 4]: how to get to a cell by one record: stamp, cost, place where to leave, and its own


def new_inquiry(candidates: int, cells: int) -> Inquiry:
    """Room for questions that keep ``candidates`` points on either side."""
    return Inquiry(
        new_record(QUESTION),
        np.zeros(NEAR * candidates, np.int64),
        np.zeros(NEAR * candidates, np.int64),
        np.zeros((STACK, 4), np.int64),
        np.zeros((2, candidates, 2), np.int64),
        np.zeros((cells, 4), np.int32),
    )


# --- asking ----------------------------------------------------------------------------------------------------------


@inlined
def reset(question):
    """A new question."""
    question.look = -1
    question.starts = 0
    question.ends = 0
    question.stamp += 1
    question.leave = -1
    question.cost = -1


@inlined
def next_climb(world, trails, inquiry, climb, s, goal, limit):
    """Note how the last climb ended and start the next; False if there is none, and the question is answered.

    On either side the nearest points of each tier are tried in turn, until the tier's share of those that are wanted
    has passed; and no more steps are made than those of as many climbs. If the nearest of all were taken, points of few
    records that lie close together would hide the rest of the database. They come first because climbs to them are
    short.
    """
    question = inquiry.question[0]
    wanted = np.int64(inquiry.ends.shape[1])
    if question.look < 0:
        _look_around(world, trails, inquiry, question, s, limit)
    else:
        question.left -= question.allowed - climb.left
        if climb.status == ARRIVED:
            side = question.look // TIERS
            kept = question.starts if side == 0 else question.ends
            inquiry.ends[side, kept, 0] = inquiry.near[question.tried]
            inquiry.ends[side, kept, 1] = inquiry.unlike[question.tried] // GRAIN
            if side == 0:
                question.starts += 1
            else:
                question.ends += 1
        question.tried += 1
    while True:
        here = question.look < TIERS
        kept = question.starts if here else question.ends
        share = max(1, wanted * (question.look % TIERS + 2) // (TIERS + 1))
        if question.tried < question.near and kept < share and question.left > 0:
            point = np.int64(trails.cells[inquiry.near[question.tried]])
            question.allowed = min(limit, question.left)
            if here:
                start_climb(world, climb, s, point, question.allowed)
            else:
                start_climb(world, climb, point, goal, question.allowed)
            return True
        if question.look == 2 * TIERS - 1 or (question.look == TIERS - 1 and question.starts == 0):
            _join(trails, inquiry.ends, inquiry.marks, question)
            return False
        _look_around(world, trails, inquiry, question, s if question.look < TIERS - 1 else goal, limit)


@inlined
def _look_around(world, trails, inquiry, question, s, limit):
    """Turn to what is tried next: a tier's points near ``s``."""
    question.look += 1
    question.tried = 0
    tier = question.look % TIERS
    if tier == 0:
        question.left = limit * inquiry.ends.shape[1]
    low = np.int64(trails.tiers[tier])
    high = np.int64(trails.tiers[tier + 1])
    question.near = _nearest(world, trails.cells, low, high, s, inquiry.near, inquiry.unlike, inquiry.stack)


@inlined
def _nearest(world, cells, low, high, s, found, unlike, stack):
    """Of the cells in a k-d tree those nearest to ``s``, as many as ``found`` has room for; returns how many."""
    wanted = np.int64(found.shape[0])
    target = aim(world, s)
    here = locate(world, s)
    count = 0
    height = 0
    depth = np.int64(0)
    bound = np.int64(0)  # no cell of this part is nearer than that
    while True:
        if high > low and (count < wanted or bound <= unlike[count - 1]):
            middle = (low + high) // 2
            leaf = high - low <= LEAF
            for i in range(low if leaf else middle, high if leaf else middle + 1):
                cell = np.int64(cells[i])
                count = insert(estimate(world, target, cell, locate(world, cell)), i, wanted, found, unlike, count)
            if not leaf:
                split = locate(world, np.int64(cells[middle]))
                gap = here[0] - split[0] if depth & 1 == 0 else here[1] - split[1]
                # The far side waits, with what the gap says about it.
                stack[height, 0] = middle + 1 if gap < 0 else low
                stack[height, 1] = high if gap < 0 else middle
                stack[height, 2] = depth + 1
                stack[height, 3] = max(bound, abs(gap) * target[2])
                height += 1
                if gap < 0:
                    high = middle
                else:
                    low = middle + 1
                depth += 1
                continue
        if height == 0:
            return count
        height -= 1
        low = stack[height, 0]
        high = stack[height, 1]
        depth = stack[height, 2]
        bound = stack[height, 3]


@inlined
def _join(trails, ends, marks, question):
    """Find the cheapest way from a point on one side to one on the other; among equals the first found.

    All records through the first points mark their cells with what it costs to get there; then all records through the
    last points look for marks. One record alone is the case of both being the same.
    """
    left = np.int64(REACH)
    for i in range(question.starts):
        cell = ends[0, i, 0]
        record = np.int64(0)
        for k in range(trails.used[cell], trails.used[cell + 1]):
            p = np.int64(trails.uses[k])
            record = _record_of(trails.first, p, record)
            low = np.int64(trails.first[record])
            high = np.int64(trails.first[record + 1])
            left -= high - low
            if left < 0:
                break
            for x in range(low, high):
                cost = ends[0, i, 1] + abs(np.int64(trails.walked[x]) - np.int64(trails.walked[p]))
                mark = trails.points[x]
                if marks[mark, 0] != question.stamp or cost < marks[mark, 1]:
                    marks[mark, 0] = question.stamp
                    marks[mark, 1] = cost
                    marks[mark, 2] = p
                    marks[mark, 3] = x
    left = np.int64(REACH)
    best = _FAR
    for i in range(question.ends):
        cell = ends[1, i, 0]
        record = np.int64(0)
        for k in range(trails.used[cell], trails.used[cell + 1]):
            q = np.int64(trails.uses[k])
            record = _record_of(trails.first, q, record)
            low = np.int64(trails.first[record])
            high = np.int64(trails.first[record + 1])
            left -= high - low
            if left < 0:
                break
            for y in range(low, high):
                mark = trails.points[y]
                if marks[mark, 0] == question.stamp:
                    walk = abs(np.int64(trails.walked[y]) - np.int64(trails.walked[q]))
                    cost = np.int64(marks[mark, 1]) + walk + ends[1, i, 1]
                    if cost < best:
                        best = cost
                        question.leave = marks[mark, 2]
                        question.change = marks[mark, 3]
                        question.board = y
                        question.arrive = q
                        question.cost = cost


@inlined
def _record_of(first, place, low):
    """The record that a place in the points belongs to; it is not before ``low``."""
    high = np.int64(first.shape[0]) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if first[middle] <= place:
            low = middle
        else:
            high = middle
    return low


# --- making ----------------------------------------------------------------------------------------------------------


@kernel
def answer(world, trails, inquiry, climb, s, goal, limit, patience):
    """A whole question at once; returns what the way costs in GRAINs, -1 if there is none, 0 if none is needed.

    None is needed where an agent can climb straight to the goal in ``patience`` steps.
    """
    if climbs(world, s, goal, patience) >= 0:
        return np.int64(0)
    reset(inquiry.question[0])
    while next_climb(world, trails, inquiry, climb[0], s, goal, limit):
        while climb[0].status == CLIMBING:
            climb_on(world, climb[0], INFINITE)
    return inquiry.question[0].cost


@kernel
def compress_both(world, path, popular, subgoals, limit):
    """Write the subgoals of a path and return how many there are. All can be climbed to from both their neighbours.

    From the start on, the farthest state is found that can be climbed to from the one before, and back. On the farther
    half of the way there, the subgoal is the state that is a point of most other records, as ``popular`` says of every
    state; if none is, the last corner, for optimal paths turn at corners; if there is none, the farthest state. So
    records meet.
    """
    last = path.shape[0] - 1
    k = 0
    count = 0
    while k < last and not _both_ways(world, path[k], path[last], limit):
        # As if climbing got no easier with the distance.
        low = k + 1
        high = last
        while high - low > 1:
            middle = (low + high) // 2
            if _both_ways(world, path[k], path[middle], limit):
                low = middle
            else:
                high = middle
        chosen = low
        most = np.int64(-1)
        for i in range(low, k + (low - k) // 2, -1):
            value = 2 * np.int64(popular[path[i]]) + _corner(world, path[i])
            if value > most and _both_ways(world, path[k], path[i], limit):
                most = value
                chosen = i
        k = chosen
        subgoals[count] = path[k]
        count += 1
    return count


@inlined
def _both_ways(world, a, b, limit):
    return climbs(world, a, b, limit) >= 0 and climbs(world, b, a, limit) >= 0


@inlined
def _corner(world, s):
    """Whether a wall touches ``s`` at a corner only, so that a path may turn around it."""
    for d in range(4, DIRECTIONS):
        rows = ROWS[d] * world.width
        cols = COLS[d]
        if world.moves[s + rows + cols] == 0 and world.moves[s + rows] != 0 and world.moves[s + cols] != 0:
            return True
    return False


@kernel
def distances(world, path, subgoals, walked):
    """What the path costs to each of its subgoals and to its end, written to ``walked``."""
    cost = np.int64(0)
    k = 0
    for i in range(1, path.shape[0]):
        cost += cost_between(world, path[i - 1], path[i])
        if k < subgoals.shape[0] and path[i] == subgoals[k]:
            walked[k] = cost
            k += 1
    walked[k] = cost
