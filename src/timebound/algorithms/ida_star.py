"""IDA*: depth-first searches with a growing limit on f; memory linear in the depth of the path.

Made for puzzles, where states are rarely reached twice. On maps the number of paths explodes: expect it to be slow
on anything but small grids. As published, but for one thing: a state already on the current path is not entered
again. So the search ends, with the proof that there is no way, once a limit prunes nothing.

The limit starts at h(start); the next one is the smallest f that was pruned.

Another goal, or another place to go on from, begins it anew.

The plain version: ``tests/naive/ida_star.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.jit import inlined
from ..kernels.layout import COUNTS, EXHAUSTED, FOUND, GROW, INFINITE, PAUSED, RUNNING, WEIGHT_SHIFT
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, retarget
from ..kernels.telling import BEGUN, EXPANDED, GENERATED, tell
from ..kernels.ticks import late, pause_due, stride
from ..kernels.views import aim, degree, edits, estimate, locate, successor
from ..kernels.workspace import new_record
from .registry import Algorithm, World

ITERATION = np.dtype(
    [
        ("begun", np.int64),
        ("edits", np.int64),
        ("goal", np.int64),
        ("depth", np.int64),  # index of the state on top of the stack; -1 between two limits
        ("limit", np.int64),  # on f
        ("pruned", np.int64),  # the smallest f above the limit that was met
        ("status", np.int64),
    ]
)

_CLOCK = 32  # expansions between two looks at the clock, if there is a deadline


class IdaStar(NamedTuple):
    """What the agent holds between ticks: the current path, and how far each state on it has been explored."""

    iteration: np.ndarray  # one ITERATION record
    costs: np.ndarray  # int64[depth]: g of each state on the path
    nexts: np.ndarray  # int64[depth]: the successor to try next
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[depth]: the path itself, the start first
    plan: np.ndarray  # int64[2]


@decide.on(IdaStar)
def _decide(algorithm, world, s, tick):
    """Go on with the depth-first searches until one finds the goal; then all of its path is the plan.

    An edit begins them anew, with the estimate from where the agent stands as the first limit.
    """
    iteration = algorithm.iteration[0]
    plan = algorithm.plan
    if not iteration.begun or iteration.edits != edits(world):
        iteration.begun = 1
        iteration.edits = edits(world)
        iteration.depth = -1
        iteration.limit = estimate(world, aim(world, iteration.goal), s, locate(world, s))
        iteration.status = RUNNING
        algorithm.route[0] = s
        plan[0] = 0
        plan[1] = 0
    if iteration.status == RUNNING:
        status = _deepen(algorithm, world, tick)
        if status == GROW:
            return NEEDS_ROOM
        if status == PAUSED:
            return NOT_YET
        iteration.status = status
        if status == FOUND:
            plan[0] = 1
            plan[1] = iteration.depth + 1
    if iteration.status == EXHAUSTED:
        return NO_WAY
    return plan[1] - plan[0]


@retarget.on(IdaStar)
def _retarget(algorithm, world, s, goal, tick):
    algorithm.iteration[0].goal = goal
    return displaced(algorithm, world, s)


@displaced.on(IdaStar)
def _displaced(algorithm, world, s):
    algorithm.iteration[0].begun = 0
    algorithm.plan[0] = algorithm.plan[1]
    return True


@inlined
def _deepen(algorithm, world, tick):
    """Depth-first search within the limit on f, on a stack of its own; with the next limit when all has been tried."""
    iteration = algorithm.iteration[0]
    path = algorithm.route
    costs = algorithm.costs
    nexts = algorithm.nexts
    counts = algorithm.counts[0]
    goal = iteration.goal
    target = aim(world, goal)
    depth = iteration.depth
    budget = tick.limit
    expanded = 0
    look_at = stride(tick.clock)
    status = RUNNING
    while True:
        if depth + 1 >= path.shape[0]:
            status = GROW
            break
        if depth < 0:
            if iteration.limit == INFINITE:
                status = EXHAUSTED  # the last limit pruned nothing
                break
            if expanded >= budget:
                break
            depth = 0
            costs[0] = 0
            nexts[0] = 0
            iteration.pruned = INFINITE
            expanded += 1
            tell(world, BEGUN, path[0], -1, 0, -1)
            tell(world, EXPANDED, path[0], -1, 0, -1)
        s = path[depth]
        if nexts[depth] >= degree(world, s):
            depth -= 1
            if depth < 0:
                iteration.limit = iteration.pruned
            continue
        t, c = successor(world, s, nexts[depth])
        enters = c >= 0
        for k in range(depth, -1, -1):
            if path[k] == t:
                enters = False
                break
        if enters:
            f = costs[depth] + c + estimate(world, target, t, locate(world, t))
            if f > iteration.limit:
                iteration.pruned = min(iteration.pruned, f)
                enters = False
        if enters and t != goal and expanded >= budget:
            break
        nexts[depth] += 1
        if not enters:
            continue
        depth += 1
        path[depth] = t
        costs[depth] = costs[depth - 1] + c
        nexts[depth] = 0
        counts.states = max(counts.states, depth + 1)
        tell(world, GENERATED, t, s, costs[depth], estimate(world, target, t, locate(world, t)) << WEIGHT_SHIFT)
        if t == goal:
            status = FOUND
            break
        expanded += 1
        tell(world, EXPANDED, t, -1, costs[depth], -1)
        if late(tick, expanded, _CLOCK):
            budget = expanded
        pause, look_at = pause_due(tick.clock, expanded, look_at)
        if pause:
            status = PAUSED
            break
    iteration.depth = depth
    counts.expanded += expanded
    return status


class IdaStarPlanner:
    """The Python half: owns the stack."""

    def __init__(self, world: World, goal: int) -> None:
        size = 256
        iteration = new_record(ITERATION)
        iteration["goal"] = goal
        self.state = IdaStar(
            iteration,
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            new_record(COUNTS),
            np.zeros(size, np.int64),
            np.zeros(2, np.int64),
        )

    def enlarge(self) -> None:
        """Double the stack."""
        state = self.state
        self.state = state._replace(
            costs=np.concatenate([state.costs, np.zeros_like(state.costs)]),
            nexts=np.concatenate([state.nexts, np.zeros_like(state.nexts)]),
            route=np.concatenate([state.route, np.zeros_like(state.route)]),
        )

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The rest of the path, once it is known; before that ``plan`` is empty."""
        return np.array(self.state.route[slice(*self.state.plan)])

    def sure(self, view: Any, state: int) -> bool:
        """A path that is known is walked to its end, unless an edit has yet to be noticed."""
        return bool(self.state.iteration["edits"][0] == edits(view))

    def memory_bytes(self) -> int:
        """Bytes of the deepest path so far."""
        return 24 * int(self.state.counts["states"][0])

    def release(self) -> None:
        """Nothing is borrowed."""


IDA_STAR = Algorithm(
    name="ida*",
    summary="shortest paths in memory linear in their length; for puzzles",
    paper="Korf 1985",
    make=lambda world, goal, budget: IdaStarPlanner(world, goal),
    real_time=False,
)

ALGORITHMS = (IDA_STAR,)
