"""kNN LRTA*: look up a solved problem that is much like this one, and let LRTA* walk from subgoal to subgoal.

Bulitko, Björnsson and Lawrence 2010, as in the chapter of 2011 (Figure 2, and "On-line Search" in Section 5). The
database holds optimal paths between random states, each compressed into subgoals that a greedy agent can climb to one
after the other (``timebound prepare``). A query, from the agent's state s to the global goal:

1. If the agent can climb straight to the goal, LRTA* goes there (as in 2010).
2. Otherwise the ``candidates`` records most like the problem are tried in turn: the first whose start can be climbed to
   from s, and from whose end the goal can be climbed to, gives the subgoals. "Like" is the larger of the two estimates,
   from s to the record's start and from its end to the goal; a k-d tree finds them.
3. If none fits, LRTA* goes to the goal itself; or what the user chose goes there instead (``otherwise``).

LRTA* looks one step ahead, and begins an empty table of values at each subgoal. The plain version is ``walk`` in
tests/naive/subgoals.py. Databases made with ``coverage``, which are ours, answer in kernels/coverage_records.py. The
Python half and the parameters are in ``knn_planner``.

Chosen where the paper is silent:

* A step of a climb expands a state, and is counted. A budget in expansions spreads a query over several ticks; the
  agent waits meanwhile. Walking expands one state per move.
* The walk goes to the record's start first, then to its subgoals, its end, and the goal.
* A query is made once, before the first move; with ``retry`` again after so many moves without a record.
* Edits may block a record's path. The agent notices when more than a few moves towards a subgoal do not climb,
  which never happens on the map that the record was made for. It then drops the record and queries again; after
  ten such failures it goes to the goal itself, until an edit opens something. Edits that only block make no failed
  record good, so they change nothing. So it stays complete.
* Looking for similar records expands no states: it takes the time of a walk through a k-d tree, besides the budget.
* A goal that moves: the answer is kept as long as it points there, roughly; then there is a new query
  (``knn_query.reconsider``). Values for a subgoal stay, and those for the global goal come down as LRTA*'s do. An agent
  that was put elsewhere queries again if it cannot climb to its subgoal from there in a few steps.
* Directed graphs, terrain and puzzles have no databases yet, and are refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.climbing import ARRIVED, CLIMBING, climb_on, foresee_climb, start_climb, way_between
from ..kernels.coverage_records import CoverageQuery, CoverageRecords
from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, foresee_around, forget
from ..kernels.jit import inlined, now_ns
from ..kernels.kd_tree import Nearest
from ..kernels.layout import WEIGHT_ONE
from ..kernels.learning_rules import VALUES, change_goal, forget_all, hopeless, must_forget, update
from ..kernels.loop import AT_ONCE, NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, foresee_tables, one_step, retarget
from ..kernels.memory import lacks_room
from ..kernels.subgoal_records import SubgoalRecords, foresee_subgoal, most_similar, next_check, subgoal_at
from ..kernels.telling import BEGUN, FORGOTTEN, SUBGOAL, tell
from ..kernels.ticks import stride, tired
from ..kernels.views import aim, estimate, locate
from .knn_query import ANSWERED, CHECKS, FAILURES, GIVES_WAY, NEW, PATIENCE, STRAIGHT, hear_of_openings, reconsider

NEW_SUBGOAL = 9  # what NEEDS_ROOM is about, besides the learners' own reasons: an empty table of values
NEARBY = 9  # open and closed states of a lookahead of one step
_CLOCK = 32  # steps of a climb between two looks at the clock, if time is short


class NearestNeighbours(NamedTuple):
    """What the agent holds between ticks."""

    values: LearnedValues
    look: np.ndarray  # one LOOK record; its goal is the present subgoal
    learner: np.ndarray  # one LEARNER record
    query: np.ndarray  # one QUERY record
    climb: np.ndarray  # one CLIMB record
    records: SubgoalRecords | CoverageRecords
    candidates: Nearest | CoverageQuery
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[1]: the next state
    plan: np.ndarray  # int64[2]


@decide.on(NearestNeighbours)
def _decide(algorithm, world, s, tick):
    """Lines 3 to 7 of Figure 2, once; the loop around them is that of kernels/loop.py.

    Line 3, select a subgoal: ``answer_query``, if that is to be done, and then ``select_subgoal`` from the answer.
    Lines 4 to 7, look around, learn, and take a step towards the subgoal: ``lrta_star``.
    """
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    query = algorithm.query[0]
    counts = algorithm.counts[0]
    if must_forget(world, algorithm.log, learner, look, algorithm.plan):
        hear_of_openings(query)
        if not forget_all(world, algorithm):
            return NEEDS_ROOM
    if lacks_room(algorithm.values, 1):
        learner.lack = VALUES
        return NEEDS_ROOM
    reconsider(query, world, s)
    used = answer_query(algorithm, world, query, algorithm.climb[0], s, tick)
    counts.expanded += used
    if query.paused:
        return NOT_YET
    if query.stage != ANSWERED:
        if query.stage == GIVES_WAY and used < tick.limit:
            return NEEDS_ROOM  # Python will ask the other algorithm to decide
        query.ticks += 1
        return 0  # it goes on in the next tick
    subgoal = select_subgoal(algorithm.records, algorithm.candidates, query, s)
    if subgoal != look.goal:
        query.slips = 0
        learned = algorithm.values.used[1]
        if learned > 0:
            tell(world, FORGOTTEN, -1, -1, -1, -1)
            if not forget(algorithm.values):
                learner.lack = NEW_SUBGOAL
                return NEEDS_ROOM
            query.learned += learned
        look.goal = subgoal
        tell(world, SUBGOAL, subgoal if subgoal != query.goal else np.int64(-1), -1, -1, -1)
        look.highest = 0
        look.dearest = 0
    if used >= tick.limit:
        return 0
    return lrta_star(algorithm, world, query, look, counts, s)


@foresee_tables.on(NearestNeighbours)
def _foresee(algorithm, world, s, ahead):
    query = algorithm.query[0]
    foresee_subgoal(algorithm.records, algorithm.candidates, query, ahead)
    if ahead == 5 or query.stage >= ANSWERED:
        foresee_around(world, algorithm.values, s, ahead)
    elif ahead == 3:
        foresee_climb(world, algorithm.climb[0])


@retarget.on(NearestNeighbours)
def _retarget(algorithm, world, s, goal, tick):
    look = algorithm.look[0]
    query = algorithm.query[0]
    algorithm.plan[0] = algorithm.plan[1]
    if look.goal == query.goal:
        change_goal(algorithm, world, algorithm.values, look.goal, goal, WEIGHT_ONE, tick)
        look.goal = goal
        query.slips = 0
    query.goal = goal
    query.failed = 0
    query.untold = 1
    return True


@displaced.on(NearestNeighbours)
def _displaced(algorithm, world, s):
    look = algorithm.look[0]
    query = algorithm.query[0]
    counts = algorithm.counts[0]
    algorithm.plan[0] = algorithm.plan[1]
    if look.goal >= 0:
        cost, expanded = way_between(world, s, look.goal, np.int64(AT_ONCE))
        counts.expanded += expanded
        counts.learning += expanded
        if cost < 0:
            query.asked = -1
    query.slips = 0
    query.untold = 1
    return True


@inlined
def answer_query(algorithm, world, query, climb, s, tick):
    """Go on with a query until it is answered, or the tick is over; if it is answered already, that is all.

    Returns the expansions made.

    The climb straight to the goal comes first (step 1 above), then those that check records (step 2). If none is left,
    there is no record (step 3).
    """
    used = np.int64(0)
    query.paused = 0
    if query.stage == NEW:
        query.record = -1
        query.next = 0
        query.slips = 0
        query.tried = -1
        query.ticks = 0
        query.moves = 0
        query.asked = query.goal
        start_climb(world, climb, s, query.asked, query.climb_limit)
        tell(world, BEGUN, s, -1, 0, -1)
        query.stage = STRAIGHT
        if query.failed >= FAILURES:
            query.stage = query.without
            query.tried = 0
    while query.stage < ANSWERED:
        if climb.status == CLIMBING:
            if used >= tick.limit:
                break
            used += climb_on(world, climb, min(tick.limit - used, _CLOCK if tick.deadline > 0 else stride(tick.clock)))
            if tick.deadline > 0 and now_ns(tick.clock) > tick.deadline:
                break
            if tired(tick.clock):
                query.paused = 1
                break
        elif query.stage == STRAIGHT and climb.status == ARRIVED:
            query.stage = ANSWERED
        elif next_check(algorithm.records, algorithm.candidates, world, query, climb, s):
            query.stage = CHECKS
        else:
            query.stage = ANSWERED if query.record >= 0 else query.without
    return used


@next_check.on(SubgoalRecords)
def _next_check(records, similar, world, query, climb, s):
    """Step 2: of the records most like the problem, the first that passes both of its checks.

    They are climbs from s to the record's start, and from its end to the goal. Called when the climb before has ended.
    """
    if query.tried < 0:  # it went straight to the goal, and got stuck: now for the records
        most_similar(world, records, s, query.asked, similar)
        query.tried = 0
    elif climb.status != ARRIVED:  # the record fails
        query.tried += 1
    elif query.from_end:  # it passes both
        query.record = similar.found[query.tried]
        return False
    else:  # it passes the first
        end = np.int64(records.ends[similar.found[query.tried]])
        start_climb(world, climb, end, query.asked, query.climb_limit)
        query.from_end = 1
        return True
    if query.tried == similar.filled[0]:
        return False
    start_climb(world, climb, s, np.int64(records.starts[similar.found[query.tried]]), query.climb_limit)
    query.from_end = 0
    return True


@inlined
def select_subgoal(records, candidates, query, s):
    """The first subgoal that is still ahead; the global goal after the last, or if there is no record."""
    while query.record >= 0:
        subgoal = subgoal_at(records, candidates, query)
        if subgoal < 0:
            break
        if subgoal != s or subgoal == query.goal:
            return subgoal
        query.next += 1
    return query.goal


@inlined
def lrta_star(algorithm, world, query, look, counts, s):
    """Lines 4 to 6, raise the value of s to the least c + h of a neighbour; line 7, go there. Returns as ``decide``."""
    values = algorithm.values
    tell(world, BEGUN, s, -1, 0, -1)
    rise, h, there = update(world, values, look, s, WEIGHT_ONE)
    counts.expanded += 1
    counts.states = query.learned + values.used[1] + NEARBY
    query.moves += 1
    if there < 0 or (rise > 0 and hopeless(look, h, values.used[1], WEIGHT_ONE)):
        if query.record < 0 or there < 0:
            return NO_WAY
        query.slips = PATIENCE + 1  # there is no way to the subgoal; perhaps there is one to the goal
        return 0
    target = aim(world, look.goal)
    query.slips += estimate(world, target, there, locate(world, there)) >= estimate(world, target, s, locate(world, s))
    return one_step(algorithm, there)
