"""A*, weighted A*, greedy best-first search and Dijkstra: complete searches, for reference.

They are one algorithm with four evaluations f = g_weight g + h_weight h. The agent stands still until the whole path
is known, then walks it. With a budget the search goes on from tick to tick, and the wait is the first-move lag.

Chosen where the literature leaves it open:

* Ties go to the state reached last, which is mostly the one with the larger g.
* A* and Dijkstra open a closed state again when it is reached more cheaply; weighted A* does not by default, which
  with a consistent heuristic keeps its bound. A greedy search keeps the first parent of a state.
* When the world is edited, the search starts again from where the agent stands.
* A goal that moves while the agent waits is looked for in the same tree (``kernels/new_goals.py``). An agent that is on
  its way, or was put elsewhere, searches again from where it stands.
* Following parents back to the start costs a tenth of an expansion per step, as in the TBA* paper (c = 10).

The plain version is ``best_first`` in ``tests/naive/best_first.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.best_first import advance, begin, new_search
from ..kernels.following import trace_limit, write_route
from ..kernels.layout import COUNTS, EXHAUSTED, FOUND, GROW, PAUSED, RUNNING, WEIGHT_MAX
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, retarget
from ..kernels.new_goals import keep_course, turn_to
from ..kernels.saving import keeps
from ..kernels.tables import state_of
from ..kernels.ticks import Tick
from ..kernels.views import edits, one_goal
from ..kernels.workspace import Workspace, enlarged_at_front, new_record
from .registry import Algorithm, Parameter, World

PROGRESS = np.dtype(
    [
        ("begun", np.int64),  # 1 once a search is under way
        ("edits", np.int64),  # the world's edit count when it began
        ("tracing", np.int64),  # slot reached on the way back from the goal, or -1
    ]
)


class CompleteSearch(NamedTuple):
    """What the agent holds between ticks."""

    table: NamedTuple
    queue: NamedTuple
    search: np.ndarray  # one SEARCH record
    progress: np.ndarray  # one PROGRESS record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the path, written from the end of the array towards its front
    plan: np.ndarray  # int64[2]


@decide.on(CompleteSearch)
def _decide(agent, world, s, tick):
    """Search on; when the goal is found, trace the path; when that is done, it is ready."""
    search = agent.search[0]
    progress = agent.progress[0]
    counts = agent.counts[0]
    plan = agent.plan
    if not progress.begun or progress.edits != edits(world):
        if begin(world, agent.table, agent.queue, search, counts, s, search.goal) == GROW:
            return NEEDS_ROOM
        progress.begun = 1
        progress.edits = edits(world)
        progress.tracing = -1
        plan[0] = agent.route.shape[0]
        plan[1] = plan[0]
    last = counts.expanded + tick.limit
    if search.status == RUNNING:
        last -= search.paid
        rest = Tick(last - counts.expanded, tick.deadline, tick.clock)
        status, price = keep_course(world, agent.table, agent.queue, search, counts, rest)
        last -= price
        if status == RUNNING and not search.sorting:
            rest = Tick(last - counts.expanded, tick.deadline, tick.clock)
            status = advance(world, agent.table, agent.queue, search, counts, rest)
        if status == GROW:
            return NEEDS_ROOM
        if status == PAUSED:
            return NOT_YET
        search.paid = 0
        if status == RUNNING:
            return 0
        progress.tracing = search.goal_slot
    if search.status == EXHAUSTED:
        return NO_WAY
    return write_route(agent, world, trace_limit(last - counts.expanded))


@retarget.on(CompleteSearch)
def _retarget(agent, world, s, goal, tick):
    search = agent.search[0]
    progress = agent.progress[0]
    waits = progress.begun and s == state_of(agent.table, search.root) and progress.edits == edits(world)
    displaced(agent, world, s)
    if waits and not one_goal(world):
        progress.begun = 1
        turn_to(world, agent.table, search, goal)
        if search.status == FOUND:
            progress.tracing = search.goal_slot
    search.goal = goal
    return True


@displaced.on(CompleteSearch)
def _displaced(agent, world, s):
    progress = agent.progress[0]
    progress.begun = 0
    progress.tracing = -1
    agent.plan[0] = agent.route.shape[0]
    agent.plan[1] = agent.plan[0]
    return True


# A path is written from the end of its array.
keeps(CompleteSearch, route=lambda agent: np.s_[int(agent.plan[0]) :])


class BestFirstPlanner:
    """The Python half: owns the arrays, lends them to the kernels, enlarges them when asked."""

    def __init__(self, world: World, goal: int, g_weight: float, h_weight: float, reopen: bool) -> None:
        self._workspace = Workspace.of(world)
        route = np.empty(1024, dtype=np.int64)
        self.state = CompleteSearch(
            self._workspace.table,
            self._workspace.queue,
            new_search(goal, g_weight, h_weight, reopen),
            new_record(PROGRESS),
            new_record(COUNTS),
            route,
            np.full(2, len(route)),
        )

    def enlarge(self) -> None:
        """Double whatever is full."""
        if self.state.plan[0] == 0:
            route, plan = enlarged_at_front(self.state.route, self.state.plan)
            self.state = self.state._replace(route=route, plan=plan)
        else:
            table, queue = self._workspace.enlarged(self.state.table, self.state.queue)
            self.state = self.state._replace(table=table, queue=queue)

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The rest of the path, once it is known."""
        held = self.state
        known = held.progress["begun"][0] and held.search["status"][0] == FOUND and held.progress["tracing"][0] < 0
        return held.route[slice(*held.plan)].copy() if known else held.route[:0]

    def sure(self, view: Any, state: int) -> bool:
        """A path that is known is walked to its end, unless an edit has yet to be noticed."""
        return bool(self.state.progress["edits"][0] == edits(view))

    def memory_bytes(self) -> int:
        """Bytes of the states held: words, parents and open-list entries, not the arrays' reserve."""
        return self._workspace.bytes_for(int(self.state.counts["states"][0]))

    def release(self) -> None:
        """Give the arrays back for the next search in this world."""
        self._workspace.release()


_REOPEN = Parameter("reopen", bool, False, "open a closed state again when it is reached more cheaply")

A_STAR = Algorithm(
    name="a*",
    summary="shortest paths; waits until the whole path is known",
    paper="Hart, Nilsson and Raphael 1968",
    make=lambda world, goal, budget: BestFirstPlanner(world, goal, 1, 1, True),
    real_time=False,
)

WEIGHTED_A_STAR = Algorithm(
    name="wa*",
    summary="paths at most `weight` times as long as the shortest, with less search",
    paper="Pohl 1970",
    parameters=(
        Parameter(
            "weight",
            float,
            2.0,
            "how much more the heuristic counts than the way so far",
            low=1.0,
            high=WEIGHT_MAX,
        ),
        _REOPEN,
    ),
    make=lambda world, goal, budget, weight, reopen: BestFirstPlanner(world, goal, 1, weight, reopen),
    real_time=False,
)

GREEDY = Algorithm(
    name="gbfs",
    summary="any path, quickly: always goes on from the state that looks nearest to the goal",
    paper="Pearl 1984",
    make=lambda world, goal, budget: BestFirstPlanner(world, goal, 0, 1, False),
    real_time=False,
)

DIJKSTRA = Algorithm(
    name="dijkstra",
    summary="shortest paths without a heuristic",
    paper="Dijkstra 1959",
    make=lambda world, goal, budget: BestFirstPlanner(world, goal, 1, 0, True),
    real_time=False,
)

ALGORITHMS = (A_STAR, WEIGHTED_A_STAR, GREEDY, DIJKSTRA)
