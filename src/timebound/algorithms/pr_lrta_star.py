"""PR LRTA*: LRTA* walks from region to region of an abstraction, and A* finds the steps of each move on the ground.

Bulitko, Sturtevant and Kazakevich 2005, in the form of Bulitko et al. 2008 (Section 7.2): LRTA* of depth d and weight
gamma runs at level l of a clique abstraction, towards the goal's region. Only its first move is refined: A* runs on the
ground, in the corridor of the region where the agent is and the one where it is to go. The agent walks that path and
plans again. In the goal's own region A* goes to the goal itself.

With ``depth=pdb`` and ``goal=pdb`` a pattern database (``timebound prepare``) says how deep to look, and towards which
region; its own regions are those of the level ``above``, or of the same level if that is 0.

Chosen where the papers are silent:

* A* goes towards the state in the middle of the next region (its representative), and ends with the first state of that
  region that it would expand. Walking to the middle itself costs less search and a longer way; searching for the
  nearest state of the region, without an estimate, several times the search for no shorter way.
* If the next region is the goal's, A* goes to the goal at once.
* A world with fewer levels is searched at its highest. Where that is one region, A* goes all the way.
* Expansions of LRTA*, at its level, and of A*, on the ground, are counted alike. What a budget does not allow goes on
  in the next tick, lookaheads too; the agent waits. A path is planned once, so most moves expand nothing.
* ``goal=pdb``: from a region that was entered before, LRTA* goes to the goal's own region for one move, with depth
  ``cap``. Appendix D of 2008 looks at states of the ground; regions are what LRTA* moves between, so that each gives at
  most one move towards an intermediate goal, and what is left is LRTA* to the goal: it stays complete. Values for the
  goal are kept all the way; those for an intermediate goal until another takes its place.
* Regions that are not of one connected part prove that there is no way, at once.
* Edits: the abstraction is brought up to date, and the rest of the path is dropped. If an arc became cheaper, or if
  regions have other numbers now, what was learned is forgotten, and in the latter case the database is left aside.
* A goal that moves: its region is looked up anew, and the next move planned anew from where the agent stands. But what
  took several ticks to plan is planned to its end, and as many steps of it are walked before that: a goal that never
  rests must not keep the agent from walking. Values for the goal's region come down by the way from region to region,
  as those of lrta* do; regions left before may give a move towards an intermediate goal again, and values for the
  present one are as good as before.
* Making the abstraction, which all agents of a world share, is no part of planning.

The plain version is ``PrLrta`` in ``tests/naive/path_refinement.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..databases.files import frozen
from ..databases.patterns import LEVEL_PATTERNS
from ..errors import SpecError
from ..kernels.best_first import advance, begin, best_open, new_search
from ..kernels.corridor import Corridor
from ..kernels.edits import LogView
from ..kernels.following import write_route
from ..kernels.heuristic_values import LearnedValues, enlarged, forget
from ..kernels.jit import at, inlined
from ..kernels.layout import EXHAUSTED, FOUND, GROW, PAUSED, WEIGHT_ONE
from ..kernels.learning_rules import FORGET, SPACE, VALUES, change_goal, mini_min, must_forget
from ..kernels.lookahead import LOOKING, Space, best_on_frontier, breadth_first, new_space
from ..kernels.loop import AT_ONCE, NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, retarget
from ..kernels.memory import lacks_room, reserved
from ..kernels.pattern_tables import PatternTable, intermediate_goal, region_of, stored_depth
from ..kernels.saving import keeps
from ..kernels.tables import state_of
from ..kernels.telling import DROPPED, SUBGOAL, on_level, tell
from ..kernels.ticks import Tick, late, pause_due, stride
from ..kernels.views import GraphView, edits
from ..kernels.workspace import Workspace, enlarged_at_front, new_record
from ..worlds.abstraction import Abstraction
from .agent_centered import AgentCenteredPlanner
from .lrta_star import most_expanded
from .pra_star import needs_regions, nowhere
from .registry import Algorithm, Parameter, World

PROGRESS = np.dtype(
    [
        ("goal", np.int64),  # a state
        ("stage", np.int64),  # the constants below
        ("stale", np.int64),  # 1 if the world has been edited, and the regions may be others now
        ("opened", np.int64),  # 1 if an arc has become cheaper
        ("next", np.int64),  # the region that A* leads to
        ("mark", np.int64),  # the number of the corridor
        ("tracing", np.int64),  # slot reached on the way back from where A* ended, or -1
        ("searched", np.int64),  # states that A* has seen
        ("depth", np.int64),  # of the lookahead under way
        ("direct", np.int64),  # 1 if that is towards the goal's region, 0 if towards an intermediate goal
        ("subgoal", np.int64),  # the last intermediate goal, or -1
        ("cap", np.int64),
        ("gamma", np.int64),  # fixed point
        ("by_depth", np.int64),  # 1 if the pattern database says how deep to look
        ("by_goal", np.int64),  # 1 if it says where to go
        ("era", np.int64),  # the number of the goal: 1, and 1 more whenever it moves
        ("origin", np.int64),  # the region that the present move leads out of
        ("sent", np.int64),  # the goal to turn to when the time has come, or -1
        ("ticks", np.int64),  # that the present move between regions took to plan, besides the last
        ("moves", np.int64),  # made of it
    ]
)
LOOK, BEGIN, SEARCH, WALK = range(4)  # LRTA* looks ahead; A* begins; A* goes on; its path is walked
NEARBY, NEW_SUBGOAL = 8, 9  # what NEEDS_ROOM is about, besides the learners' own reasons
_SKIPS = 64  # stale entries of the open list that are skipped at once
_CLOCK = 32  # expansions between two looks at the clock, if there is a deadline


class PathRefinement(NamedTuple):
    """What the agent holds between ticks."""

    level: GraphView  # the regions that LRTA* walks between
    region: np.ndarray  # int32[states of the world]: the region of each
    middle: np.ndarray  # int64[regions]: the state in the middle of each
    part: np.ndarray  # int32[regions]: which connected part each belongs to
    marks: np.ndarray  # int64[regions]: the number of the last corridor that each was part of
    entered: np.ndarray  # int32[regions]: the number of the goal towards which LRTA* last moved on from each
    patterns: PatternTable
    values: LearnedValues  # for the goal's region
    nearby: LearnedValues  # for the intermediate goal
    space: Space
    look: np.ndarray  # one LOOK record
    learner: np.ndarray  # one LEARNER record
    log: LogView
    table: NamedTuple  # of A*
    queue: NamedTuple
    search: np.ndarray  # one SEARCH record
    progress: np.ndarray  # one PROGRESS record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the path, written from the end of the array towards its front
    plan: np.ndarray  # int64[2]


@decide.on(PathRefinement)
def _decide(agent, world, s, tick):
    """Look ahead from region to region, refine the first move, walk it."""
    look = agent.look[0]
    learner = agent.learner[0]
    progress = agent.progress[0]
    plan = agent.plan
    if learner.edits != edits(world):
        if must_forget(world, agent.log, learner, look, plan):
            progress.opened = 1
        progress.stale = 1
        progress.stage = LOOK
        look.paused = 0
    if progress.stage == WALK and progress.tracing < 0 and plan[0] == plan[1]:
        progress.stage = LOOK
    if progress.stage == LOOK and not look.paused:
        progress.ticks = 0
        progress.moves = 0
    if progress.sent >= 0 and _may_turn(agent, world):
        _turn(agent, world, Tick(np.int64(AT_ONCE), np.int64(0), tick.clock))
    if progress.stale or learner.lack != 0:
        return NEEDS_ROOM
    ready = plan[1] - plan[0]
    if progress.stage != WALK or progress.tracing >= 0:
        ready = _plan(agent, world, s, tick)
    progress.ticks += ready == 0
    progress.moves += ready > 0
    if ready == NO_WAY and progress.sent >= 0:
        progress.moves = progress.ticks  # that was about where the goal has been: it may turn now
        ready = 0
    return ready


@inlined
def _plan(agent, world, s, tick):
    """Look ahead and refine, as far as the tick allows. Returns as ``decide``."""
    look = agent.look[0]
    progress = agent.progress[0]
    counts = agent.counts[0]
    last = counts.expanded + tick.limit
    if progress.stage == LOOK:
        ready = _look(agent, world, s, tick)
        if progress.stage == LOOK:
            return ready
    if progress.stage != WALK:
        ready = _refine(agent, world, s, Tick(last - counts.expanded, tick.deadline, tick.clock))
        counts.states = agent.values.used[1] + agent.nearby.used[1] + look.states + progress.searched
        if progress.stage != WALK:
            return ready
    return write_route(agent, world, np.int64(1) << 40)


@inlined
def _plan_anew(agent):
    """What is planned, or being planned, is dropped. What it took is counted already."""
    progress = agent.progress[0]
    agent.look[0].paused = 0
    progress.stage = LOOK
    progress.tracing = -1
    agent.plan[0] = agent.plan[1]


@retarget.on(PathRefinement)
def _retarget(agent, world, s, goal, tick):
    progress = agent.progress[0]
    if progress.era == 0x7FFFFFFF:
        return False
    progress.sent = goal
    if _may_turn(agent, world):
        _turn(agent, world, tick)
    return True


@inlined
def _may_turn(agent, world):
    """Whether as many steps were made as the plan took ticks: what is left of it may be dropped."""
    progress = agent.progress[0]
    return _knows_regions(agent, world) and progress.moves >= progress.ticks


@inlined
def _knows_regions(agent, world):
    """Whether its regions are those of the world as it is: not after an edit; and after loading it may have none."""
    return not agent.progress[0].stale and agent.learner[0].edits == edits(world)


@inlined
def _turn(agent, world, tick):
    """The goal is the one that the agent was sent to."""
    progress = agent.progress[0]
    goal = progress.sent
    progress.sent = -1
    if goal == progress.goal:
        return
    old = np.int64(agent.region[at(progress.goal)])
    there = np.int64(agent.region[at(goal)])
    _plan_anew(agent)
    if old < 0 or there < 0 or agent.part[at(old)] != agent.part[at(there)]:
        if not forget(agent.values):
            agent.learner[0].lack = FORGET
    elif old != there:
        change_goal(agent, on_level(world, agent.level), agent.values, old, there, WEIGHT_ONE, tick)
    progress.goal = goal
    progress.era += 1


@displaced.on(PathRefinement)
def _displaced(agent, world, s):
    progress = agent.progress[0]
    if not _knows_regions(agent, world) or agent.region[at(s)] != progress.origin:
        _plan_anew(agent)
    elif progress.stage != LOOK:  # the region to go to is the same, the steps are not
        progress.stage = BEGIN
        progress.tracing = -1
        agent.plan[0] = agent.plan[1]
    return True


@inlined
def _look(agent, world, s, tick):
    """Choose the next region, by LRTA* unless the goal is in this one. When that is done, A* may begin.

    Until then returns as ``decide``.
    """
    look = agent.look[0]
    learner = agent.learner[0]
    progress = agent.progress[0]
    counts = agent.counts[0]
    gamma = progress.gamma
    here = np.int64(agent.region[at(s)])
    there = np.int64(agent.region[at(progress.goal)])
    if here < 0 or there < 0 or agent.part[at(here)] != agent.part[at(there)]:
        return NO_WAY
    progress.origin = here
    if here == there:
        progress.next = here
        progress.stage = BEGIN
        return 0
    if not look.paused:
        if lacks_room(agent.values, 1):
            learner.lack = VALUES
            return NEEDS_ROOM
        if not _choose_goal(agent, here, there):
            return NEEDS_ROOM
    space = agent.space
    values = agent.values if progress.direct else agent.nearby
    before = look.expanded if look.paused else np.int64(0)
    limit = Tick(before + tick.limit, tick.deadline, tick.clock)
    level = on_level(world, agent.level)
    status = breadth_first(level, values, space, look, here, progress.depth, gamma, limit)
    if status == GROW:
        tell(level, DROPPED, here, -1, -before, -1)  # these were counted in the ticks before
        learner.lack = SPACE
        return NEEDS_ROOM
    counts.expanded += look.expanded - before
    counts.states = agent.values.used[1] + agent.nearby.used[1] + look.states
    if status == PAUSED:
        return NOT_YET
    if look.ply < progress.depth and (look.slot != look.last or look.last != space.table.stamp[1]):
        look.paused = LOOKING  # it goes on in the next tick
        return 0
    best, v = best_on_frontier(space, look, gamma)
    if best < 0:
        return NO_WAY
    mini_min(level, values, look, here, space.h[0], v)
    agent.entered[at(here)] = progress.era
    progress.next = space.table.states[space.table.parents[best]]
    tell(world, SUBGOAL, agent.middle[at(progress.next)], -1, -1, -1)
    progress.stage = BEGIN
    return 0


@inlined
def _choose_goal(agent, here, there):
    """How deep LRTA* is to look, and towards which region. False if it needs an empty table of values first."""
    look = agent.look[0]
    learner = agent.learner[0]
    progress = agent.progress[0]
    patterns = agent.patterns
    progress.depth = progress.cap
    progress.direct = 1
    look.goal = there
    known = patterns.region.shape[0]
    if here >= known or there >= known or (progress.by_goal and agent.entered[at(here)] == progress.era):
        return True
    a = region_of(patterns, here)
    b = region_of(patterns, there)
    if a < 0 or b < 0:
        return True
    if progress.by_depth:
        progress.depth = min(stored_depth(patterns, a, b), progress.cap)
    if not progress.by_goal or a == b:
        return True
    subgoal = intermediate_goal(patterns, a, b)
    if subgoal < 0 or subgoal == here or subgoal >= agent.part.shape[0]:
        return True
    if agent.part[at(subgoal)] != agent.part[at(here)]:  # an edit has cut it off
        return True
    if progress.subgoal != subgoal and agent.nearby.used[1] > 0 and not forget(agent.nearby):
        learner.lack = NEW_SUBGOAL
        return False
    if lacks_room(agent.nearby, 1):
        learner.lack = NEARBY
        return False
    progress.subgoal = subgoal
    progress.direct = 0
    look.goal = subgoal
    return True


@inlined
def _refine(agent, world, s, tick):
    """A* in the corridor, to the goal or into the next region. When that is done, its path can be written.

    Until then returns as ``decide``.
    """
    progress = agent.progress[0]
    counts = agent.counts[0]
    search = agent.search[0]
    table = agent.table
    queue = agent.queue
    region = agent.region
    enters = progress.next != region[at(progress.goal)]
    number = progress.mark + (progress.stage == BEGIN)
    corridor = Corridor(world, region, agent.marks, number, world.shift)
    if progress.stage == BEGIN:
        agent.marks[at(region[at(s)])] = number
        agent.marks[at(progress.next)] = number
        target = agent.middle[at(progress.next)] if enters else progress.goal
        if begin(corridor, table, queue, search, counts, s, target) == GROW:
            return NEEDS_ROOM
        progress.searched = 1
        progress.mark = number
        progress.stage = SEARCH
        agent.plan[0] = agent.route.shape[0]
        agent.plan[1] = agent.plan[0]
    counts.states = progress.searched
    last = counts.expanded + tick.limit
    look_at = counts.expanded + stride(tick.clock)
    ready = 0
    while True:
        if enters:
            # The search ends where it would go on with a state of the next region.
            slot = best_open(corridor, table, queue, search, _SKIPS)
            if slot == -2:
                continue
            if slot >= 0 and region[at(state_of(table, slot))] == progress.next:
                progress.tracing = slot
                progress.stage = WALK
                break
        left = last - counts.expanded
        if left <= 0:
            break
        status = advance(corridor, table, queue, search, counts, Tick(1 if enters else left, tick.deadline, tick.clock))
        if status == FOUND:
            progress.tracing = search.goal_slot
            progress.stage = WALK
            break
        if status == EXHAUSTED:
            ready = NO_WAY
            break
        if status == GROW:
            ready = NEEDS_ROOM
            break
        if status == PAUSED:
            ready = NOT_YET
            break
        if late(tick, last - counts.expanded, _CLOCK if enters else 1):
            break
        pause, look_at = pause_due(tick.clock, counts.expanded, look_at)
        if pause:
            ready = NOT_YET
            break
    progress.searched = counts.states
    return ready


class Regions(NamedTuple):
    """A level of an abstraction as agents need it; they share it."""

    abstraction: Abstraction | None  # None after loading, if the world had others by then
    graph: Any  # of the regions
    level: int
    region: np.ndarray  # int32[states of the world]: the region of each
    middle: np.ndarray  # int64[regions]: the state in the middle of each
    part: np.ndarray  # int32[regions]: which connected part each belongs to


def regions_of(world: Any, level: int) -> Regions:
    """The regions of a world as it is now, at a level or at its highest."""
    number, abstraction = int(world.changes.edited[0]), Abstraction.of(world)
    return _regions_at(abstraction, min(level, abstraction.height), number)


def _regions_at(abstraction: Abstraction, level: int, number: int) -> Regions:
    """The same for an abstraction that is up to date with so many edits."""
    kept = _kept.setdefault(abstraction, {})
    if level not in kept or kept[level][0] != number:
        graph = abstraction.world(level) if level > 0 else nowhere()
        middle, part = abstraction.representatives(level), abstraction.regions(abstraction.height, base=level)
        kept[level] = number, (graph, level, abstraction.regions(level), middle, part)
    return Regions(abstraction, *kept[level][1])


_kept: WeakKeyDictionary[Abstraction, dict[int, tuple[int, Any]]] = WeakKeyDictionary()


keeps(
    PathRefinement,
    marks=lambda agent: np.flatnonzero(agent.marks),
    entered=lambda agent: np.flatnonzero(agent.entered),
    route=lambda agent: np.s_[int(agent.plan[0]) :],
)


class PrLrtaPlanner(AgentCenteredPlanner):
    """The Python half: brings the regions up to date, and owns the arrays."""

    def __init__(
        self,
        world: World,
        goal: int,
        database: Any,
        level: int,
        by: tuple[bool, bool],
        cap: int,
        gamma: float,
    ) -> None:
        self._world, self._level, self._cap = world, level, cap
        self._database, self._looks_up, (by_depth, by_goal) = database, any(by), by
        edits, heard = int(world.changes.edited[0]), world.changes.count
        self._regions = regions_of(world, level)
        super().__init__(self._regions.graph, -1)
        self._common["log"] = world.changes.view
        self._common["learner"]["edits"], self._common["learner"]["heard"] = edits, heard
        progress = new_record(PROGRESS)
        progress["goal"], progress["cap"], progress["gamma"] = goal, cap, max(1, round(gamma * WEIGHT_ONE))
        progress["by_depth"], progress["by_goal"] = by_depth, by_goal
        progress["subgoal"] = progress["tracing"] = -1
        progress["era"], progress["sent"], progress["origin"] = 1, -1, -1
        self._workspace: Workspace | None = None
        route = np.empty(1024, np.int64)
        self._common["plan"][:] = len(route)
        self.state = PathRefinement(
            **self._level_arrays(),
            **self._common,
            **self._borrowed(),
            entered=self._none_entered(),
            nearby=self._no_values(),
            search=new_search(goal, 1, 1, True),
            progress=progress,
            route=route,
        )

    def __getstate__(self) -> dict[str, Any]:
        """The regions belong to the world: only whether they are those that it has now is saved."""
        same = self._regions.abstraction is not None and self._regions.abstraction is Abstraction.kept(self._world)
        heard = self.state.learner["edits"][0] == self._world.changes.edited[0] and not self.state.progress["stale"][0]
        return {**super().__getstate__(), "_regions": (self._regions.level, same, bool(same and heard))}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        level, same, current = saved.pop("_regions")
        found = Abstraction.kept(saved["_world"]) if same else None
        if current and found is not None:
            self._regions = _regions_at(found, level, int(saved["_world"].changes.edited[0]))
        else:  # the first that it will do is to take the regions as they are then
            none = np.zeros(1, np.int32)
            self._regions = Regions(found, nowhere(), level, none, np.zeros(1, np.int64), none)
        super().__setstate__(saved)
        if not current or found is None:
            self.state.progress["stale"] = 1

    def _of_others(self) -> dict[str, Any]:
        """What belongs to the level, and to the database; and room for A* that was given back."""
        _, graph, _, region, middle, part = self._regions
        gone = {"table": None, "queue": None} if self._workspace is None else {}
        level = {"level": graph.view, "region": region, "middle": middle, "part": part}
        return {**level, "patterns": self._patterns(), **gone}

    def _level_arrays(self) -> dict[str, Any]:
        """What belongs to the level as it is now."""
        _, graph, _, region, middle, part = self._regions
        fan = int(graph.view.widest)
        most = min(graph.states, 1 + fan * most_expanded(graph, self._cap))
        return {
            "level": graph.view,
            "region": region,
            "middle": middle,
            "part": part,
            "marks": reserved(graph.states),
            "patterns": self._patterns(),
            "space": new_space(most + fan, 1),  # so that every lookahead has room
        }

    def _patterns(self) -> PatternTable:
        """The database, if its regions have the numbers that these have; otherwise an empty one."""
        numbered = self._regions.abstraction
        if self._looks_up and numbered is not None and self._database.digest == numbered.first_digest():
            patterns: PatternTable = self._database.patterns
            return patterns
        return NO_PATTERNS

    def _none_entered(self) -> np.ndarray:
        return reserved(self._regions.graph.states, np.int32)

    def _borrowed(self) -> dict[str, Any]:
        """Room for A*, from the world's pool."""
        self._workspace = Workspace.of(self._world, real_time=True)
        return {"table": self._workspace.table, "queue": self._workspace.queue}

    def enlarge(self) -> None:
        """Take the regions as they are now, begin an empty table of values, or double what is full."""
        state = self.state
        lack = int(state.learner["lack"][0])
        if state.progress["stale"][0]:
            self._catch_up()
        elif lack in (NEARBY, NEW_SUBGOAL):
            nearby = enlarged(state.nearby, self._states) if lack == NEARBY else self._no_values()
            self.state = state._replace(nearby=nearby)
            state.learner["lack"] = 0
        elif lack:
            super().enlarge()
        elif state.progress["stage"][0] == WALK:
            route, plan = enlarged_at_front(state.route, state.plan)
            self.state = state._replace(route=route, plan=plan)
        elif self._workspace is not None:
            table, queue = self._workspace.enlarged(state.table, state.queue)
            self.state = state._replace(table=table, queue=queue)

    def _catch_up(self) -> None:
        """The world has been edited. Everything takes its place at once: an interrupt half-way loses nothing."""
        state, before = self.state, self._regions
        self._regions = now = regions_of(self._world, self._level)
        states = now.graph.states
        # In the same abstraction regions that no edit has touched have the numbers that they had.
        same = now.abstraction is before.abstraction and now.level == before.level
        room = states <= self._states or len(state.values.keys) > 0
        progress, counts = state.progress.copy(), state.counts.copy()
        fresh: dict[str, Any] = {"nearby": self._no_values(), "entered": self._none_entered()}
        if same:
            kept = min(states, len(state.entered))
            fresh["entered"][:kept] = state.entered[:kept]
        if not same or not room or progress["opened"][0]:
            self._states = states
            fresh["values"] = self._no_values()
            counts["restarts"] += 1
        progress["stale"], progress["opened"], progress["subgoal"] = 0, 0, -1
        self.state = state._replace(**self._level_arrays(), **fresh, progress=progress, counts=counts)

    def restart(self) -> None:
        """A new trial: what was learned for the goal stays."""
        super().restart()
        if self._workspace is None:
            self.state = self.state._replace(**self._borrowed())
        self.state = self.state._replace(entered=self._none_entered(), nearby=self._no_values())
        self.state.progress["stage"], self.state.progress["subgoal"], self.state.progress["tracing"] = LOOK, -1, -1

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The rest of the way into the next region, once it is known."""
        held, progress = self.state, self.state.progress[0]
        known = progress["stage"] == WALK and progress["tracing"] < 0 and not progress["stale"]
        return held.route[slice(*held.plan)].copy() if known else held.route[:0]

    def sure(self, view: Any, state: int) -> bool:
        """Such a way is walked to its end, unless an edit has yet to be noticed, or the goal has moved."""
        return bool(self.state.learner["edits"][0] == edits(view) and self.state.progress["sent"][0] < 0)

    def memory_bytes(self) -> int:
        """As for every learner, and what A* holds. The regions, which all agents share, do not count."""
        searched = int(self.state.progress["searched"][0])
        return super().memory_bytes() + (self._workspace.bytes_for(searched) if self._workspace else 0)

    def release(self) -> None:
        """Give the arrays of A* back for the next search in this world."""
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            workspace.release()


NO_PATTERNS = frozen(
    PatternTable(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16))
)


def _make(
    world: World,
    there: int,
    budget: Any,
    /,
    *,
    level: int,
    depth: str,
    goal: str,
    above: int,
    cap: int,
    gamma: float,
    database: Any,
) -> PrLrtaPlanner:
    by_depth, by_goal = depth == "pdb", goal == "pdb"
    if by_depth or by_goal:
        LEVEL_PATTERNS.check("pr-lrta*", database, world)
        _check_settings(database, level, above, by_depth, by_goal)
    return PrLrtaPlanner(world, there, database, level, (by_depth, by_goal), cap, gamma)


def _check_settings(database: Any, level: int, above: int, by_depth: bool, by_goal: bool) -> None:
    """A sentence if a database is for other levels, or does not hold what is to be looked up."""
    patterns, made = database.patterns, database.settings
    held = (len(patterns.depths) > 0 or not by_depth) and (len(patterns.goals) > 0 or not by_goal)
    asked = {"level": level, "above": 0 if above == level else above}
    if len(database) and (not held or any(made.get(name) != value for name, value in asked.items())):
        told = ",".join(f"{name}={made[name]}" for name in ("level", "above", "depth", "goal") if name in made)
        raise SpecError(f"pr-lrta*: this database was made with {told}; make one for this spec with timebound prepare")


def unfit(world: Any, budget: Any, level: int, above: int, **others: Any) -> str | None:
    """Levels that contradict each other, in words."""
    if 0 < above < level:
        return f"above is a level from {level}, where LRTA* runs, upwards, not {above}; 0: the same"
    return None


PR_LRTA_STAR = Algorithm(
    name="pr-lrta*",
    summary="LRTA* from region to region of the map; A* finds the steps from each to the next",
    paper="Bulitko, Sturtevant and Kazakevich 2005; Bulitko et al. 2008",
    parameters=(
        Parameter("level", int, 4, "the level of abstraction that LRTA* runs on", low=1, high=30),
        Parameter(
            "depth",
            str,
            "fixed",
            "how far LRTA* looks: cap, or as a database says, up to cap",
            choices=("fixed", "pdb"),
        ),
        Parameter(
            "goal",
            str,
            "global",
            "where LRTA* goes: to the goal's region, or as a database says",
            choices=("global", "pdb"),
        ),
        Parameter("above", int, 0, "the level of the database's regions; 0: the same", low=0, high=30),
        Parameter("cap", int, 5, "moves between regions to look ahead, at most", low=1, high=1000),
        Parameter(
            "gamma", float, 1.0, "weight of the way to the frontier against the estimate there", low=0.01, high=1.0
        ),
    ),
    make=_make,
    refuses=needs_regions,
    unfit=unfit,
    database=LEVEL_PATTERNS,
)

ALGORITHMS = (PR_LRTA_STAR,)
