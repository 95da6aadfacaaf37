"""kNN LRTA*: look up a solved problem that is much like this one, and let LRTA* walk from subgoal to subgoal.

Bulitko, Björnsson and Lawrence 2010, as in the chapter of 2011 (Figure 2, and "On-line Search" in Section 5). The
database holds optimal paths between random states, each compressed into subgoals that a greedy agent can climb to one
after the other (``timebound prepare``). A query, from the agent's state s to the global goal:

1. If the agent can climb straight to the goal, LRTA* goes there (as in 2010).
2. Otherwise the ``candidates`` records most like the problem are tried in turn: the first whose start can be climbed to
   from s, and from whose end the goal can be climbed to, gives the subgoals. "Like" is the larger of the two estimates,
   from s to the record's start and from its end to the goal; a k-d tree finds them.
3. If none fits, LRTA* goes to the goal itself.

LRTA* looks one step ahead, and begins an empty table of values at each subgoal. The plain version is ``walk`` in
tests/naive/subgoals.py. Databases made with ``coverage``, which are ours, answer in kernels/coverage_records.py.

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
* Directed graphs, terrain and puzzles have no databases yet, and are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..databases.subgoals import SUBGOALS
from ..kernels.climbing import ARRIVED, CLIMB, CLIMBING, climb_on, start_climb
from ..kernels.coverage_records import CoverageQuery, CoverageRecords, borrowed_query
from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, new_values
from ..kernels.jit import inlined, now_ns
from ..kernels.kd_tree import Nearest, new_nearest
from ..kernels.layout import WEIGHT_ONE
from ..kernels.learning_rules import FORGET, VALUES, hopeless, must_forget, update
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, one_step
from ..kernels.memory import lacks_room
from ..kernels.subgoal_records import SubgoalRecords, most_similar, next_check, subgoal_at
from ..kernels.ticks import stride, tired
from ..kernels.views import aim, estimate, locate
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner
from .registry import Algorithm, Parameter, World

QUERY = np.dtype(
    [
        ("goal", np.int64),  # the global goal
        ("stage", np.int64),  # how far it is: the constants below
        ("tried", np.int64),  # how many similar records have been tried; -1 before they are looked for
        ("from_end", np.int64),  # 1 if it is checked whether the goal can be climbed to from the record's end
        ("record", np.int64),  # the answer: the record that is followed, or -1
        ("next", np.int64),  # which of its subgoals the agent goes to; the first is its start, the last its end
        ("slips", np.int64),  # moves on the way there that did not climb
        ("failed", np.int64),  # records dropped since an edit last opened something
        ("ticks", np.int64),  # that the query took, besides the one in which it was answered
        ("moves", np.int64),  # made since
        ("paused", np.int64),  # 1 if it took long and goes on in the same tick
        ("learned", np.int64),  # states whose values were raised for subgoals that are behind
        ("climb_limit", np.int64),
        ("retry", np.int64),
    ]
)
NEW, STRAIGHT, CHECKS, ANSWERED = range(4)
NEW_SUBGOAL = 9  # what NEEDS_ROOM is about, besides the learners' own reasons: an empty table of values
PATIENCE = 8  # slips on the way to a subgoal before its record is dropped
FAILURES = 10
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
        # Something has opened: a record that failed may do now. In a world that opens all the time an agent must not
        # spend it all on queries.
        query.failed = 0
        if query.stage == ANSWERED and query.record < 0 and query.moves > query.ticks:
            query.stage = NEW
        learner.lack = FORGET
        return NEEDS_ROOM
    if lacks_room(algorithm.values, 1):
        learner.lack = VALUES
        return NEEDS_ROOM
    reconsider(query)
    used = answer_query(algorithm, world, query, algorithm.climb[0], s, tick)
    counts.expanded += used
    if query.paused:
        return NOT_YET
    if query.stage != ANSWERED:
        query.ticks += 1
        return 0  # it goes on in the next tick
    subgoal = select_subgoal(algorithm.records, algorithm.candidates, query, s)
    if subgoal != look.goal:
        query.slips = 0
        if algorithm.values.used[1] > 0:
            learner.lack = NEW_SUBGOAL
            return NEEDS_ROOM
        look.goal = subgoal
        look.highest = 0
        look.dearest = 0
    if used >= tick.limit:
        return 0
    return lrta_star(algorithm, world, query, look, counts, s)


@inlined
def reconsider(query):
    """A new query, if the record has failed, or if there is none and ``retry`` moves have been made."""
    if query.stage == ANSWERED and query.record >= 0 and query.slips > PATIENCE:
        query.failed += 1
        query.stage = NEW
    if query.stage == ANSWERED and query.record < 0 and 0 < query.retry <= query.moves:
        query.stage = NEW


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
        start_climb(world, climb, s, query.goal, query.climb_limit)
        query.stage = STRAIGHT
        if query.failed >= FAILURES:
            query.stage = ANSWERED
            query.tried = 0
    while query.stage != ANSWERED:
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
            query.stage = ANSWERED
    return used


@next_check.on(SubgoalRecords)
def _next_check(records, similar, world, query, climb, s):
    """Step 2: of the records most like the problem, the first that passes both of its checks.

    They are climbs from s to the record's start, and from its end to the goal. Called when the climb before has ended.
    """
    if query.tried < 0:  # it went straight to the goal, and got stuck: now for the records
        most_similar(world, records, s, query.goal, similar)
        query.tried = 0
    elif climb.status != ARRIVED:  # the record fails
        query.tried += 1
    elif query.from_end:  # it passes both
        query.record = similar.found[query.tried]
        return False
    else:  # it passes the first
        end = np.int64(records.ends[similar.found[query.tried]])
        start_climb(world, climb, end, query.goal, query.climb_limit)
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


@subgoal_at.on(SubgoalRecords)
def _subgoal_at(records, similar, query):
    """The record's start, its subgoals in order, and its end."""
    first = np.int64(records.first[query.record])
    subgoals = np.int64(records.first[query.record + 1]) - first
    if query.next == 0:
        return np.int64(records.starts[query.record])
    if query.next <= subgoals:
        return np.int64(records.subgoals[first + query.next - 1])
    return np.int64(records.ends[query.record]) if query.next == subgoals + 1 else np.int64(-1)


@inlined
def lrta_star(algorithm, world, query, look, counts, s):
    """Lines 4 to 6, raise the value of s to the least c + h of a neighbour; line 7, go there. Returns as ``decide``."""
    values = algorithm.values
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


class KnnPlanner(AgentCenteredPlanner):
    """The Python half: holds the database."""

    def __init__(self, world: World, goal: int, database: Any, candidates: int, climb: int, retry: int) -> None:
        super().__init__(world, goal)
        SUBGOALS.check("knn-lrta*", database, world)
        self._database, self._candidates = database, candidates
        query = new_record(QUERY)
        query["goal"], query["record"], query["climb_limit"], query["retry"] = goal, -1, climb, retry
        self._common["look"]["goal"] = -1
        self.state = NearestNeighbours(
            query=query,
            climb=new_record(CLIMB),
            records=database.records,
            candidates=self._room(),
            route=np.zeros(1, np.int64),
            **self._common,
        )

    def _room(self) -> Nearest | CoverageQuery:
        """Room for queries. With coverage it is borrowed, and given back when the agent has arrived."""
        records = self._database.records
        self._borrowed = isinstance(records, CoverageRecords)
        if isinstance(records, CoverageRecords):
            return borrowed_query(self._database.spare, self._candidates, len(records.cells))
        return new_nearest(self._candidates)

    def release(self) -> None:
        """Room for queries goes back to the pool."""
        if self._borrowed:
            self._borrowed = False
            self._database.spare.append(self.state.candidates)

    def memory_bytes(self) -> int:
        """As for every learner, and room for queries. The database, which all agents share, is told apart."""
        return super().memory_bytes() + _size(self.state.candidates)

    def enlarge(self) -> None:
        """As for every learner; and an empty table of values for a new subgoal."""
        if int(self.state.learner["lack"][0]) == NEW_SUBGOAL:
            learned = self.state.values.used[1]
            self.state = self.state._replace(values=new_values(self.state.values.bits))
            self.state.query["learned"] += learned
            self.state.learner["lack"] = 0
        else:
            super().enlarge()

    def restart(self) -> None:
        """A new trial. Values are for subgoals, which depend on the start, so none is kept but those of the goal."""
        super().restart()
        if not self._borrowed:
            self.state = self.state._replace(candidates=self._room())
        self.state.query["stage"] = NEW

    def details(self) -> dict[str, Any]:
        """What the last query found: a ``record``, ``none``, or ``straight`` if the goal could be climbed to."""
        query = self.state.query[0]
        if query["stage"] != ANSWERED:
            return {"answer": None}  # it is still under way
        return {"answer": "record" if query["record"] >= 0 else "straight" if query["tried"] < 0 else "none"}


def _size(room: Any) -> int:
    """Bytes of its arrays."""
    return sum(_size(part) if isinstance(part, tuple) else part.nbytes for part in room)


def needs_plain_grid(world: Any) -> str | None:
    """Databases are made for grids on which all cells cost the same."""
    if world.table == "dense" and not world.terrain:
        return None
    return "its databases are for grids whose cells all cost the same"


KNN_LRTA_STAR = Algorithm(
    name="knn-lrta*",
    summary="LRTA* from subgoal to subgoal of a similar problem in a database",
    paper="Bulitko, Björnsson and Lawrence 2010; Bulitko et al. 2011",
    parameters=(
        Parameter(
            "candidates", int, 10, "records that are tried; with coverage, points kept on either side", low=1, high=1000
        ),
        Parameter("climb", int, 250, "steps of a climb before it counts as failed", low=1, high=1_000_000),
        Parameter("retry", int, 0, "without a record, ask again after so many moves; 0: never", low=0, high=1_000_000),
    ),
    make=lambda world, goal, budget, database, candidates, climb, retry: KnnPlanner(
        world, goal, database, candidates, climb, retry
    ),
    refuses=needs_plain_grid,
    database=SUBGOALS,
)

ALGORITHMS = (KNN_LRTA_STAR,)
