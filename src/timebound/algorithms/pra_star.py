"""PRA*: A* on a coarse picture of the world, refined level by level down to the ground. Complete, for reference.

Sturtevant and Buro 2005, as Bulitko et al. 2008 compare with it. The world is abstracted into regions of regions
(``worlds/abstraction.py``). Start and goal are followed upwards until they meet in one region. At half that height A*
finds a path of regions. Then level by level A* runs in a corridor: the nodes whose parent is on the path above or
beside it. At the ground that gives a path that is nearly as short as the shortest one. The agent walks it.

Chosen where the papers are silent:

* Half the height is rounded down: start and goal that meet at level 1 are searched at the ground alone.
* "Beside" is whatever an arc leads to from the path.
* Where start and goal never meet there is no way. Nothing is searched for that.
* When the world is edited, everything is planned anew from where the agent stands, as A* does; as for another goal.
* Expansions of all levels count. Following parents costs a tenth of an expansion per step, as for A*.
* Making the abstraction, which all agents of a world share, is no part of planning.

The plain version is ``pra_star`` in ``tests/naive/path_refinement.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..kernels.best_first import advance, begin, new_search, parent
from ..kernels.corridor import Corridor
from ..kernels.following import trace_limit, write_route
from ..kernels.jit import inlined
from ..kernels.layout import COUNTS, EXHAUSTED, FOUND, GROW, PAUSED, RUNNING
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, retarget
from ..kernels.saving import keeps
from ..kernels.tables import state_of
from ..kernels.telling import on_level
from ..kernels.views import GraphView, degree, edits, successor
from ..kernels.workspace import Workspace, enlarged_at_front, new_record
from ..worlds.abstraction import Abstraction, refuses
from ..worlds.graph import Graph
from .registry import Algorithm, World

PROGRESS = np.dtype(
    [
        ("edits", np.int64),  # the world's edit count when the plan began; -1: there is none
        ("goal", np.int64),  # a state
        ("start", np.int64),  # where it began
        ("stage", np.int64),  # the constants below
        ("level", np.int64),  # that is searched
        ("mark", np.int64),  # the number of its corridor
        ("tracing", np.int64),  # slot reached on the way back from the goal, or -1
        ("above", np.int64),  # states that the searches above it have seen
    ]
)
# Python climbs to a level, or goes down by one; there is no way; a search begins, goes on, is over and being traced.
CLIMB, DESCEND, APART, BEGIN, SEARCH, TRACE = range(6)


class PartialRefinement(NamedTuple):
    """What the agent holds between ticks."""

    table: NamedTuple  # of the search at the ground
    queue: NamedTuple
    level: GraphView  # the level that is searched; at the ground, whatever
    level_table: NamedTuple
    level_queue: NamedTuple
    region: np.ndarray  # int32[nodes of what is searched]: the region of each in the level above
    marks: np.ndarray  # int64[...]: the number of the last corridor that each region was part of
    ends: np.ndarray  # int64[2, levels]: the nodes of start and goal in each level
    search: np.ndarray  # one SEARCH record
    progress: np.ndarray  # one PROGRESS record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the path, written from the end of the array towards its front
    plan: np.ndarray  # int64[2]


@decide.on(PartialRefinement)
def _decide(agent, world, s, tick):
    """Search a level; when its path is traced, the next lower one; the path at the ground is ready to be walked."""
    progress = agent.progress[0]
    counts = agent.counts[0]
    plan = agent.plan
    if progress.edits != edits(world):
        progress.edits = edits(world)
        progress.start = s
        progress.stage = CLIMB
        plan[0] = agent.route.shape[0]
        plan[1] = plan[0]
    if progress.stage == CLIMB or progress.stage == DESCEND:
        return NEEDS_ROOM
    if progress.stage == APART:
        return NO_WAY
    last = counts.expanded + tick.limit
    if progress.stage != TRACE:
        if progress.level > 0:
            status = _search(agent, on_level(world, agent.level), agent.level_table, agent.level_queue, tick)
        else:
            status = _search(agent, world, agent.table, agent.queue, tick)
        if status == GROW:
            return NEEDS_ROOM
        if status == PAUSED:
            return NOT_YET
        if status == EXHAUSTED:
            return NO_WAY
        if status == RUNNING:
            return 0
    steps = trace_limit(last - counts.expanded)
    if progress.level == 0:
        return write_route(agent, world, steps)
    return _mark_corridor(agent, steps)


@retarget.on(PartialRefinement)
def _retarget(agent, world, s, goal, tick):
    agent.progress[0].goal = goal
    return displaced(agent, world, s)


@displaced.on(PartialRefinement)
def _displaced(agent, world, s):
    agent.progress[0].edits = -1
    agent.plan[0] = agent.plan[1]
    return True


@inlined
def _search(agent, level, table, queue, tick):
    """A* in the corridor of a level. Returns a status."""
    search = agent.search[0]
    progress = agent.progress[0]
    counts = agent.counts[0]
    corridor = Corridor(level, agent.region, agent.marks, progress.mark, level.shift)
    if progress.stage == BEGIN:
        start = agent.ends[0, progress.level]
        goal = agent.ends[1, progress.level]
        if begin(corridor, table, queue, search, counts, start, goal) == GROW:
            return GROW
        counts.states += progress.above
        progress.stage = SEARCH
    status = advance(corridor, table, queue, search, counts, tick)
    if status == FOUND:
        progress.stage = TRACE
        progress.tracing = search.goal_slot
    return status


@inlined
def _mark_corridor(agent, steps):
    """Mark the path of a level and what is beside it, for the level below; up to ``steps`` parents. As ``decide``."""
    search = agent.search[0]
    progress = agent.progress[0]
    marks = agent.marks
    mark = progress.mark + 1
    slot = progress.tracing
    while slot >= 0 and steps > 0:
        node = state_of(agent.level_table, slot)
        marks[node] = mark
        for i in range(degree(agent.level, node)):
            t, c = successor(agent.level, node, i)
            if c >= 0:
                marks[t] = mark
        slot = parent(agent.level, agent.level_table, search, slot) if slot != search.root else np.int64(-1)
        steps -= 1
    progress.tracing = slot
    if slot >= 0:
        return 0
    progress.stage = DESCEND
    return NEEDS_ROOM


# A path is written from the end of its array.
keeps(
    PartialRefinement,
    route=lambda agent: np.s_[int(agent.plan[0]) :],
    marks=lambda agent: np.flatnonzero(agent.marks),
)


class PraPlanner:
    """The Python half: takes the levels one by one, and owns the arrays."""

    def __init__(self, world: World, goal: int) -> None:
        self._world = world
        self._workspace = Workspace.of(world)
        self._above = Workspace.of(nowhere())
        progress = new_record(PROGRESS)
        progress["edits"], progress["goal"] = -1, goal
        route = np.empty(1024, dtype=np.int64)
        self.state = PartialRefinement(
            self._workspace.table,
            self._workspace.queue,
            nowhere().view,
            self._above.table,
            self._above.queue,
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            np.zeros((2, 1), np.int64),
            new_search(goal, 1, 1, True),
            progress,
            new_record(COUNTS),
            route,
            np.full(2, len(route)),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to the regions of the world."""
        blank: dict[str, Any] = {"level": None, "region": None}
        return {**self.__dict__, "state": self.state._replace(**blank)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        progress, top = self.state.progress, (self.state.ends.shape[1] - 1) // 2
        level, abstraction = int(progress["level"][0]), Abstraction.kept(self._world)
        graph, region = nowhere(), np.zeros(1, np.int32)
        # What was planned in a world that has been edited since is not looked at again.
        searched = progress["stage"][0] in (BEGIN, SEARCH, TRACE, DESCEND)
        if abstraction is not None and searched and progress["edits"][0] == self._world.changes.edited[0]:
            graph = abstraction.world(level) if level > 0 else graph
            count = abstraction.world(level).states
            region = abstraction.parents(level) if level < top else np.zeros(count, np.int32)
        self.state = self.state._replace(level=graph.view, region=region)

    def enlarge(self) -> None:
        """Do what the stage says, or double whatever is full. Interrupted half-way, it is asked for again."""
        state = self.state
        stage, level = int(state.progress["stage"][0]), int(state.progress["level"][0])
        if stage == CLIMB:
            self._climb()
        elif stage == DESCEND:
            self._take(level - 1, int(state.counts["states"][0]))
        elif stage == TRACE:
            route, plan = enlarged_at_front(state.route, state.plan)
            self.state = state._replace(route=route, plan=plan)
        elif level > 0:
            table, queue = self._above.enlarged(state.level_table, state.level_queue)
            self.state = state._replace(level_table=table, level_queue=queue)
        else:
            table, queue = self._workspace.enlarged(state.table, state.queue)
            self.state = state._replace(table=table, queue=queue)

    def _climb(self) -> None:
        """Follow start and goal upwards until they meet, and begin at half that height."""
        abstraction = Abstraction.of(self._world)
        ends = [(int(self.state.progress["start"][0]), int(self.state.progress["goal"][0]))]
        while ends[-1][0] != ends[-1][1]:
            level = len(ends) - 1
            above = [-1, -1] if level == abstraction.height else abstraction.parents(level)[list(ends[-1])].tolist()
            if -1 in above:  # they never meet, or one of them is a wall now
                self.state.progress["stage"] = APART
                return
            ends.append(tuple(above))
        nodes = np.ascontiguousarray(np.array(ends, np.int64).T)
        marks = np.zeros(abstraction.world(1).states, np.int64)
        top = (len(ends) - 1) // 2
        marks[0] = len(ends) - top
        everywhere = np.zeros(abstraction.world(top).states, np.int32)
        self._take(top, held=0, ends=nodes, marks=marks, region=everywhere)

    def _take(self, level: int, held: int, **arrays: Any) -> None:
        """Search a level next, in the corridor that is marked for it. ``held``: states seen above.

        Everything takes its place at once, so an interrupt leaves all of it as it was, or as it is to be.
        """
        abstraction, progress = Abstraction.of(self._world), self.state.progress.copy()
        graph = abstraction.world(level) if level > 0 else nowhere()
        above = Workspace.of(graph)
        if "region" not in arrays:
            arrays["region"] = abstraction.parents(level)
        progress["level"], progress["stage"], progress["above"] = level, BEGIN, held
        # Numbers of corridors rise from level to level, down to the ground.
        progress["mark"] = arrays.get("ends", self.state.ends).shape[1] - level
        spare, self._above = self._above, above
        self.state = self.state._replace(
            level=graph.view, level_table=above.table, level_queue=above.queue, progress=progress, **arrays
        )
        spare.release()

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The rest of the path, once it is known."""
        held, progress = self.state, self.state.progress[0]
        known = progress["edits"] >= 0 and progress["stage"] == TRACE and progress["level"] == 0
        return held.route[slice(*held.plan)].copy() if known and progress["tracing"] < 0 else held.route[:0]

    def sure(self, view: Any, state: int) -> bool:
        """A path that is known is walked to its end, unless an edit has yet to be noticed."""
        return bool(self.state.progress["edits"][0] == edits(view))

    def memory_bytes(self) -> int:
        """Bytes of the states held: words, parents and open-list entries, not the arrays' reserve."""
        return self._workspace.bytes_for(int(self.state.counts["states"][0]))

    def release(self) -> None:
        """Give the arrays back for the next search in this world."""
        self._workspace.release()
        self._above.release()


@cache
def nowhere() -> Graph:
    """A graph with nothing in it, where kernels need one of the type."""
    return Graph([], [], nodes=1)


def needs_regions(world: Any) -> str | None:
    """Why a world cannot be searched by regions, in words."""
    if refuses(world) is None:
        return None
    return "it goes from region to region, and neither puzzles nor graphs with one-way arcs have regions"


PRA_STAR = Algorithm(
    name="pra*",
    summary="nearly shortest paths: A* among regions, refined level by level; waits until the whole path is known",
    paper="Sturtevant and Buro 2005",
    make=lambda world, goal, budget: PraPlanner(world, goal),
    real_time=False,
    refuses=needs_regions,
)

ALGORITHMS = (PRA_STAR,)
