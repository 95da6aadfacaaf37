"""Records of which any part may be walked, either way; and the query which parts suit a problem best.

Between two neighbouring points of such a record a greedy agent can climb both ways. So a record of m points solves not
one problem but m (m - 1); and where two records share a point, an agent may change from one to the other.

A query has three steps. Of the points nearest to the agent those are kept that can be climbed to; of those nearest to
the goal those from which the goal can be climbed to, ``candidates`` on either side; and then the cheapest way between
two of them is found, by a part of one record or by parts of two that meet. The climbs take no more steps than those of
``candidates`` records may.

None of this is published. The plain version is ``parts`` in tests/naive/subgoals.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .climbing import ARRIVED, CLIMBING, climb_on, climbs, start_climb
from .jit import at, foresee, inlined, kernel, prefetch
from .kd_tree import Nearest, beyond, distance, find_nearest, new_nearest
from .layout import INFINITE
from .saving import NOTHING, keeps, keeps_frozen
from .subgoal_records import foresee_subgoal, next_check, subgoal_at
from .views import aim, estimate, locate
from .workspace import new_record

__all__ = [
    "GRAIN",
    "TIERS",
    "CoverageQuery",
    "CoverageRecords",
    "answer",
    "borrowed_query",
    "new_query",
    "no_coverage_records",
]

GRAIN = 128  # integer costs per unit in which ways are measured: 32 bits are enough for paths of millions of steps
TIERS = 3
NEAR = 2  # points of each tier looked at on either side, for each that is wanted
REACH = 1 << 14  # points of records looked at on either side, when ways are joined
_FAR = np.int64(2**31 - 1)


class CoverageRecords(NamedTuple):
    """Records as their points, one record after the other, and for each cell the places where it is a point."""

    points: np.ndarray  # int32[n]: start, subgoals and end of each record, as numbers of cells
    first: np.ndarray  # int32[records + 1]: where the points of each record begin
    walked: np.ndarray  # int32[n]: what the way from the record's start to each point costs, in GRAINs
    cells: np.ndarray  # int32[c]: the states that are points, each once: the tiers, each in the order of a k-d tree
    tiers: np.ndarray  # int32[TIERS + 1]: where each tier begins; the last holds the few cells that most records use
    used: np.ndarray  # int32[c + 1]: where the uses of each cell begin
    uses: np.ndarray  # int32[n]: the places of each cell in ``points``, rising


def no_coverage_records() -> CoverageRecords:
    """A database without records."""
    return CoverageRecords(*(np.zeros(size, np.int32) for size in (0, 1, 0, 0, TIERS + 1, 1, 0)))


QUERY = np.dtype(
    [
        ("look", np.int64),  # what is tried: the tiers near the start, then those near the goal; -1: not begun
        ("tried", np.int64),  # how many of the nearest points have been tried
        ("allowed", np.int64),  # steps that the present climb may take
        ("left", np.int64),  # steps left for all climbs on this side
        ("starts", np.int64),  # how many points can be climbed to from the start
        ("ends", np.int64),  # from how many points the goal can be climbed to
        ("stamp", np.int64),  # tells the marks of this query from older ones
        # The answer, as places in ``points``, or -1: from ``leave`` to ``change``, which is the same cell as ``board``,
        # and from there to ``arrive``.
        ("leave", np.int64),
        ("change", np.int64),
        ("board", np.int64),
        ("arrive", np.int64),
        ("cost", np.int64),  # of the whole way, as far as estimates know, in GRAINs
    ]
)


class CoverageQuery(NamedTuple):
    """What a query needs besides the records."""

    query: np.ndarray  # one QUERY record
    nearest: Nearest  # of the cells, NEAR times as many as candidates are wanted
    ends: np.ndarray  # int64[2, candidates, 2]: on either side the cells that passed, and their estimates in GRAINs
    marks: np.ndarray  # int32[c, 4]: how to get to a cell by one record: stamp, cost, place where to leave, and its own


def new_query(candidates: int, cells: int) -> CoverageQuery:
    """Room for queries that keep ``candidates`` points on either side."""
    return CoverageQuery(
        new_record(QUERY),
        new_nearest(NEAR * candidates),
        np.zeros((2, candidates, 2), np.int64),
        np.zeros((cells, 4), np.int32),
    )


def borrowed_query(pool: list[CoverageQuery], candidates: int, cells: int) -> CoverageQuery:
    """Room from a pool: it grows with the database, and is not needed for long."""
    try:
        while True:
            spare = pool.pop()
            if spare.ends.shape[1] == candidates:
                return spare
    except IndexError:
        return new_query(candidates, cells)


# --- answering a query ---------------------------------------------------------------------------------------------


@next_check.on(CoverageRecords)
def _next_check(records, coverage, world, query, climb, s):
    """For an agent: the answer begins where the first of the records is entered."""
    if query.tried < 0:
        query.tried = 0
        _begin(coverage.query[0])
    if _next_climb(world, records, coverage, climb, s, query.asked, query.climb_limit):
        return True
    query.record = coverage.query[0].leave
    return False


@subgoal_at.on(CoverageRecords)
def _subgoal_at(records, coverage, query):
    """The points of the first part, then those of the second, of which the first is known already."""
    place = _place_of_subgoal(coverage.query[0], query.next)
    return np.int64(records.cells[records.points[place]]) if place >= 0 else np.int64(-1)


@inlined
def _place_of_subgoal(parts, step):
    """Where in ``points`` the subgoal of that number is; -1 after the last."""
    place = parts.leave
    end = parts.change
    if step > abs(end - place):
        step -= abs(end - place)
        place = parts.board
        end = parts.arrive
    if step > abs(end - place):
        return np.int64(-1)
    return place + step if end > place else place - step


@foresee_subgoal.on(CoverageRecords)
def _foresee_subgoal(records, coverage, query, ahead):
    if ahead == 5:
        foresee(coverage.query, 0)
    elif ahead <= 3 and query.record >= 0:
        place = _place_of_subgoal(coverage.query[0], query.next)
        if ahead == 3 and place >= 0:
            prefetch(records.points, place)
        elif ahead == 2 and place >= 0:
            prefetch(records.cells, records.points[at(place)])


@inlined
def _begin(query):
    """A new query."""
    query.look = -1
    query.starts = 0
    query.ends = 0
    query.stamp += 1
    query.leave = -1
    query.cost = -1


@inlined
def _next_climb(world, records, coverage, climb, s, goal, limit):
    """Note how the last climb ended and start the next; False if there is none, and the query is answered.

    On either side the nearest points of each tier are tried in turn, until the tier's share of those that are wanted
    has passed; and no more steps are made than those of as many climbs. If the nearest of all were taken, points of few
    records that lie close together would hide the rest of the database. They come first because climbs to them are
    short.
    """
    query = coverage.query[0]
    wanted = np.int64(coverage.ends.shape[1])
    if query.look < 0:
        _look_around(world, records, coverage, query, s, limit)
    else:
        query.left -= query.allowed - climb.left
        if climb.status == ARRIVED:
            side = query.look // TIERS
            kept = query.starts if side == 0 else query.ends
            coverage.ends[side, kept, 0] = coverage.nearest.found[query.tried]
            coverage.ends[side, kept, 1] = coverage.nearest.distances[query.tried] // GRAIN
            if side == 0:
                query.starts += 1
            else:
                query.ends += 1
        query.tried += 1
    while True:
        here = query.look < TIERS
        kept = query.starts if here else query.ends
        share = max(1, wanted * (query.look % TIERS + 2) // (TIERS + 1))
        if query.tried < coverage.nearest.filled[0] and kept < share and query.left > 0:
            point = np.int64(records.cells[coverage.nearest.found[query.tried]])
            query.allowed = min(limit, query.left)
            if here:
                start_climb(world, climb, s, point, query.allowed)
            else:
                start_climb(world, climb, point, goal, query.allowed)
            return True
        if query.look == 2 * TIERS - 1 or (query.look == TIERS - 1 and query.starts == 0):
            _join(records, coverage.ends, coverage.marks, query)
            return False
        _look_around(world, records, coverage, query, s if query.look < TIERS - 1 else goal, limit)


@inlined
def _look_around(world, records, coverage, query, s, limit):
    """Turn to what is tried next: a tier's points near ``s``."""
    query.look += 1
    query.tried = 0
    tier = query.look % TIERS
    if tier == 0:
        query.left = limit * coverage.ends.shape[1]
    low = np.int64(records.tiers[tier])
    high = np.int64(records.tiers[tier + 1])
    find_nearest(_Place(records.cells, aim(world, s), locate(world, s)), world, low, high, coverage.nearest)


class _Place(NamedTuple):
    """A place, as it is compared with cells."""

    cells: np.ndarray
    target: tuple[int, ...]
    here: tuple[int, int]


@distance.on(_Place)
def _distance(place, world, i):
    cell = np.int64(place.cells[i])
    return estimate(world, place.target, cell, locate(world, cell))


@beyond.on(_Place)
def _beyond(place, world, i, depth):
    split = locate(world, np.int64(place.cells[i]))
    return (place.here[0] - split[0] if depth & 1 == 0 else place.here[1] - split[1]) * place.target[2]


@inlined
def _join(records, ends, marks, query):
    """Find the cheapest way from a point on one side to one on the other; among equals the first found.

    All records through the first points mark their cells with what it costs to get there; then all records through the
    last points look for marks. One record alone is the case of both being the same.
    """
    left = np.int64(REACH)
    for i in range(query.starts):
        cell = ends[0, i, 0]
        record = np.int64(0)
        for k in range(records.used[cell], records.used[cell + 1]):
            p = np.int64(records.uses[k])
            record = _record_of(records.first, p, record)
            low = np.int64(records.first[record])
            high = np.int64(records.first[record + 1])
            left -= high - low
            if left < 0:
                break
            for x in range(low, high):
                cost = ends[0, i, 1] + abs(np.int64(records.walked[x]) - np.int64(records.walked[p]))
                mark = records.points[x]
                if marks[mark, 0] != query.stamp or cost < marks[mark, 1]:
                    marks[mark, 0] = query.stamp
                    marks[mark, 1] = cost
                    marks[mark, 2] = p
                    marks[mark, 3] = x
    left = np.int64(REACH)
    best = _FAR
    for i in range(query.ends):
        cell = ends[1, i, 0]
        record = np.int64(0)
        for k in range(records.used[cell], records.used[cell + 1]):
            q = np.int64(records.uses[k])
            record = _record_of(records.first, q, record)
            low = np.int64(records.first[record])
            high = np.int64(records.first[record + 1])
            left -= high - low
            if left < 0:
                break
            for y in range(low, high):
                mark = records.points[y]
                if marks[mark, 0] == query.stamp:
                    walk = abs(np.int64(records.walked[y]) - np.int64(records.walked[q]))
                    cost = np.int64(marks[mark, 1]) + walk + ends[1, i, 1]
                    if cost < best:
                        best = cost
                        query.leave = marks[mark, 2]
                        query.change = marks[mark, 3]
                        query.board = y
                        query.arrive = q
                        query.cost = cost


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


@kernel
def answer(world, records, coverage, climb, s, goal, limit, patience):
    """A whole query at once, off-line; returns what the way costs in GRAINs, -1 if there is none, 0 if none is needed.

    None is needed where an agent can climb straight to the goal in ``patience`` steps.
    """
    if climbs(world, s, goal, patience) >= 0:
        return np.int64(0)
    _begin(coverage.query[0])
    while _next_climb(world, records, coverage, climb[0], s, goal, limit):
        while climb[0].status == CLIMBING:
            climb_on(world, climb[0], INFINITE)
    return coverage.query[0].cost


keeps_frozen(CoverageRecords)
keeps(CoverageQuery, marks=lambda query: NOTHING)  # they are made and used within one call
