"""kNN LRTA*: look up a solved problem that is much like this one, and let LRTA* walk from subgoal to subgoal.

Bulitko, Björnsson and Lawrence 2010, as in the chapter of 2011. The database holds optimal paths between random states,
each compressed into subgoals that a greedy agent can climb to one after the other (``timebound prepare``). On-line:

1. If the agent can climb straight to the goal, LRTA* goes there.
2. Otherwise the ``candidates`` records most like the problem are tried in turn: the first whose start can be climbed to
   from here, and from whose end the goal can be climbed to, gives the subgoals. "Like" is the larger of the two
   estimates, from here to the record's start and from its end to the goal; a k-d tree finds them.
3. If none fits, LRTA* goes to the goal itself.

LRTA* looks one step ahead, and has a table of values for each subgoal.

Chosen where the paper is silent:

* A step of a climb expands a state, and is counted. A budget in expansions spreads the checks over several ticks; the
  agent waits meanwhile. Walking expands one state per move.
* The walk goes to the record's start first, then to its subgoals, its end, and the goal.
* ``retry``: without a record, ask again after so many moves; 0, never, as published.
* Edits may block a record's path. The agent notices when more than a few moves towards a subgoal do not climb,
  which never happens on the map that the record was made for. It then drops the record and asks again; after
  ten such failures it goes to the goal itself, until an edit opens something. Edits that only block make no failed
  record good, so they change nothing. So it stays complete.
* Looking for similar records expands no states: it takes the time of a walk through a k-d tree, besides the budget.
* A database made with ``coverage`` answers with any part of a record, walked either way, or with parts of two records
  that share a point. Of the points nearest to the agent it keeps those that can be climbed to, of those nearest to the
  goal those from which the goal can be climbed to, ``candidates`` on either side, and walks the cheapest way between
  two of them. The climbs take no more steps than those of ``candidates`` records may.
* Directed graphs, terrain and puzzles have no databases yet, and are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import DatabaseError, SpecError
from ..kernels.climbing import ARRIVED, CLIMB, CLIMBING, climb_on, start_climb
from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, new_values
from ..kernels.jit import generic, inlined, now_ns
from ..kernels.layout import WEIGHT_ONE
from ..kernels.learning_rules import FORGET, VALUES, hopeless, must_forget, update
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide
from ..kernels.memory import lacks_room
from ..kernels.records import STACK, Records, most_similar
from ..kernels.ticks import stride, tired
from ..kernels.trails import Inquiry, Trails, new_inquiry, next_climb, reset
from ..kernels.views import aim, estimate, locate
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner
from .registry import Algorithm, Parameter, World

QUEST = np.dtype(
    [
        ("goal", np.int64),  # the global goal
        ("stage", np.int64),  # what is being done: the constants below
        ("record", np.int64),  # the record that is followed, or -1; with parts of records, the place where they begin
        ("next", np.int64),  # 0: to its start; then its subgoals; then its end; then the goal
        ("candidates", np.int64),
        ("climb_limit", np.int64),
        ("retry", np.int64),
        ("similar", np.int64),  # how many records were found; -1 before the database is asked
        ("tried", np.int64),  # how many of them have been tried
        ("slips", np.int64),  # moves on the way to the present subgoal that did not climb
        ("failed", np.int64),  # records dropped since an edit last opened something
        ("asked", np.int64),  # ticks that the last question took, besides the one in which it was answered
        ("alone", np.int64),  # moves made since the last question
        ("paused", np.int64),  # 1 if the question took long and goes on in the same tick
        ("learned", np.int64),  # states whose values were raised for subgoals that are behind
    ]
)
ASK, STRAIGHT, TO_START, FROM_END, PARTS, WALK = range(6)
NEW_GOAL = 9  # what NEEDS_ROOM is about, besides the learners' own reasons: an empty table of values
PATIENCE = 8  # slips on the way to a subgoal before its record is dropped
FAILURES = 10
NEARBY = 9  # open and closed states of a lookahead of one step
_CLOCK = 32  # steps of a climb between two looks at the clock


class NearestNeighbours(NamedTuple):
    """What the agent holds between ticks."""

    values: LearnedValues
    look: np.ndarray  # one LOOK record; its goal is the present subgoal
    learner: np.ndarray  # one LEARNER record
    quest: np.ndarray  # one QUEST record
    climb: np.ndarray  # one CLIMB record
    records: Records | Trails
    inquiry: Inquiry  # for Trails
    found: np.ndarray  # int64[candidates]
    unlike: np.ndarray  # int64[candidates]
    stack: np.ndarray  # int64[STACK, 4]
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[1]: the next state
    plan: np.ndarray  # int64[2]


@decide.on(NearestNeighbours)
def _decide(algorithm, world, s, tick):
    limit = tick.limit
    deadline = tick.deadline
    clock = tick.clock
    values = algorithm.values
    note = algorithm.look[0]
    learner = algorithm.learner[0]
    quest = algorithm.quest[0]
    counts = algorithm.counts[0]
    if must_forget(world, algorithm.log, learner, note, algorithm.plan):
        # Something has opened: a record that failed may do now. In a world that opens all the time an agent must not
        # spend it all on questions.
        quest.failed = 0
        if quest.stage == WALK and quest.record < 0 and quest.alone > quest.asked:
            quest.stage = ASK
        learner.lack = FORGET
        return NEEDS_ROOM
    if lacks_room(values, 1):
        learner.lack = VALUES
        return NEEDS_ROOM
    if quest.stage == WALK:
        if quest.record < 0 and quest.retry > 0 and quest.alone >= quest.retry:
            quest.stage = ASK
        elif quest.slips > PATIENCE and quest.record >= 0:
            quest.failed += 1
            quest.stage = ASK
    if quest.stage != WALK:
        used = ask(world, algorithm, quest, algorithm.climb[0], clock, s, limit, deadline)
        counts.expanded += used
        limit -= used
        if quest.paused:
            return NOT_YET
        if quest.stage != WALK:
            quest.asked += 1
            return 0
    subgoal = target_of(algorithm.records, algorithm, quest)
    while subgoal == s and subgoal != quest.goal:
        quest.next += 1
        subgoal = target_of(algorithm.records, algorithm, quest)
    if subgoal != note.goal:
        quest.slips = 0
        if values.used[1] > 0:
            learner.lack = NEW_GOAL
            return NEEDS_ROOM
        note.goal = subgoal
        note.highest = 0
        note.dearest = 0
    if limit < 1:
        return 0
    rise, h, there = update(world, values, note, s, WEIGHT_ONE)
    counts.expanded += 1
    quest.alone += 1
    counts.states = quest.learned + values.used[1] + NEARBY
    if there < 0 or (rise > 0 and hopeless(note, h, values.used[1], WEIGHT_ONE)):
        if quest.record < 0 or there < 0:
            return NO_WAY
        quest.slips = PATIENCE + 1  # there is no way to the subgoal; perhaps there is one to the goal
        return 0
    target = aim(world, subgoal)
    if estimate(world, target, there, locate(world, there)) >= estimate(world, target, s, locate(world, s)):
        quest.slips += 1
    algorithm.route[0] = there
    algorithm.plan[0] = 0
    algorithm.plan[1] = 1
    return 1


@generic
def target_of(records, algorithm, quest):
    """Where to go now."""


@target_of.on(Records)
def _target_of_record(records, algorithm, quest):
    if quest.record < 0:
        return quest.goal
    first = np.int64(records.first[quest.record])
    subgoals = np.int64(records.first[quest.record + 1]) - first
    if quest.next == 0:
        return np.int64(records.starts[quest.record])
    if quest.next <= subgoals:
        return np.int64(records.subgoals[first + quest.next - 1])
    if quest.next == subgoals + 1:
        return np.int64(records.ends[quest.record])
    return quest.goal


@target_of.on(Trails)
def _target_of_parts(trails, algorithm, quest):
    if quest.record < 0:
        return quest.goal
    question = algorithm.inquiry.question[0]
    place = question.leave
    end = question.change
    step = quest.next
    if step > abs(end - place):
        step -= abs(end - place)
        place = question.board
        end = question.arrive
    if step > abs(end - place):
        return quest.goal
    return np.int64(trails.cells[trails.points[place + step if end > place else place - step]])


@inlined
def ask(world, algorithm, quest, climb, clock, s, limit, deadline):
    """Go on asking the database, with up to ``limit`` expansions; WALK when it has answered. Returns those used."""
    used = np.int64(0)
    quest.paused = 0
    look_at = stride(clock)
    if quest.stage == ASK:
        quest.record = -1
        quest.next = 0
        quest.alone = 0
        quest.asked = 0
        quest.tried = 0
        quest.similar = -1
        quest.slips = 0
        if quest.failed >= FAILURES:
            quest.stage = WALK
            return used
        start_climb(world, climb, s, quest.goal, quest.climb_limit)
        quest.stage = STRAIGHT
    while quest.stage != WALK:
        while climb.status == CLIMBING and used < limit:
            used += climb_on(world, climb, min(limit - used, _CLOCK))
            if deadline > 0 and now_ns(clock) > deadline:
                return used
            if used >= look_at:
                look_at = used + stride(clock)
                if tired(clock):
                    quest.paused = 1
                    return used
        if climb.status == CLIMBING:
            return used
        climbed(algorithm.records, world, algorithm, quest, climb, s)
    return used


@generic
def climbed(records, world, algorithm, quest, climb, s):
    """A climb has ended: begin the next one, or WALK."""


@climbed.on(Records)
def _climbed_for_record(db, world, algorithm, quest, climb, s):
    if climb.status == ARRIVED:
        if quest.stage == TO_START:
            i = algorithm.found[quest.tried]
            start_climb(world, climb, np.int64(db.ends[i]), quest.goal, quest.climb_limit)
            quest.stage = FROM_END
            return
        if quest.stage == FROM_END:
            quest.record = algorithm.found[quest.tried]
        quest.stage = WALK
        return
    if quest.stage == STRAIGHT:
        quest.similar = most_similar(
            world, db, s, quest.goal, quest.candidates, algorithm.found, algorithm.unlike, algorithm.stack
        )  # fmt: skip
    else:
        quest.tried += 1
    if quest.tried >= quest.similar:
        quest.stage = WALK
        return
    start_climb(world, climb, s, np.int64(db.starts[algorithm.found[quest.tried]]), quest.climb_limit)
    quest.stage = TO_START


@climbed.on(Trails)
def _climbed_for_part(trails, world, algorithm, quest, climb, s):
    question = algorithm.inquiry.question[0]
    if quest.stage == STRAIGHT:
        if climb.status == ARRIVED:
            quest.stage = WALK
            return
        reset(question)
        quest.similar = 0
        quest.stage = PARTS
    if not next_climb(world, trails, algorithm.inquiry, climb, s, quest.goal, quest.climb_limit):
        quest.record = question.leave
        quest.stage = WALK


class KnnPlanner(AgentCenteredPlanner):
    """The Python half: holds the database."""

    def __init__(self, world: World, goal: int, database: Any, candidates: int, climb: int, retry: int) -> None:
        super().__init__(world, goal)
        if database is None:
            raise SpecError(
                "knn-lrta* needs a database: make one with timebound prepare, and pass "
                "database=tb.load_database(file, world) (on the command line: --database FILE)"
            )
        from ..databases.subgoals import SubgoalDatabase

        if not isinstance(database, SubgoalDatabase):
            raise SpecError(f"knn-lrta* needs a subgoal database from tb.load_database(file, world), not {database!r}")
        if not database.fits(world):
            raise DatabaseError(
                "this database was made for a map of another size, or for other rules; make one with timebound prepare"
            )
        self._database, self._candidates = database, candidates
        quest = new_record(QUEST)
        quest["goal"], quest["record"], quest["stage"] = goal, -1, ASK
        quest["candidates"], quest["climb_limit"], quest["retry"] = candidates, climb, retry
        self._common["look"]["goal"] = -1
        self.state = NearestNeighbours(
            quest=quest,
            climb=new_record(CLIMB),
            records=database.records,
            inquiry=self._borrow(),
            found=np.zeros(candidates, np.int64),
            unlike=np.zeros(candidates, np.int64),
            stack=np.zeros((STACK, 4), np.int64),
            route=np.zeros(1, np.int64),
            **self._common,
        )

    def _borrow(self) -> Inquiry:
        """Room for questions, from the database's pool: it grows with the database, and is not needed for long."""
        known, pool = self._database.records, self._database.spare
        self._borrowed = isinstance(known, Trails)
        if not isinstance(known, Trails):
            return new_inquiry(1, 0)
        try:
            while True:
                spare = pool.pop()
                if spare.ends.shape[1] == self._candidates:
                    return spare
        except IndexError:
            return new_inquiry(self._candidates, len(known.cells))

    def release(self) -> None:
        """Room for questions goes back to the pool."""
        if self._borrowed:
            self._borrowed = False
            self._database.spare.append(self.state.inquiry)

    def memory_bytes(self) -> int:
        """As for every learner, and room for questions. The database, which all agents share, is told apart."""
        return super().memory_bytes() + sum(array.nbytes for array in self.state.inquiry)

    def enlarge(self) -> None:
        """As for every learner; and an empty table of values for a new subgoal."""
        if int(self.state.learner["lack"][0]) == NEW_GOAL:
            learned = self.state.values.used[1]
            self.state = self.state._replace(values=new_values(self.state.values.bits))
            self.state.quest["learned"] += learned
            self.state.learner["lack"] = 0
        else:
            super().enlarge()

    def restart(self) -> None:
        """A new trial. Values are for subgoals, which depend on the start, so none is kept but those of the goal."""
        super().restart()
        if not self._borrowed:
            self.state = self.state._replace(inquiry=self._borrow())
        self.state.quest["stage"] = ASK

    def details(self) -> dict[str, Any]:
        """What the last question found: a ``record``, ``none``, or ``straight`` if the goal could be climbed to."""
        quest = self.state.quest[0]
        return {"answer": "record" if quest["record"] >= 0 else "straight" if quest["similar"] < 0 else "none"}


def needs_plain_grid(world: Any) -> str | None:
    """Databases are made for grids on which all cells cost the same."""
    if world.table == "dense" and getattr(world, "_costs", None) is None:
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
    database=True,
)

ALGORITHMS = (KNN_LRTA_STAR,)
