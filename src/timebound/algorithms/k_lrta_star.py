"""K LRTA* (LSS-LRTA*) and RTAA*: a small A* around the agent, learn from it, walk towards its best state.

Koenig 2004, Koenig and Sun 2009; Koenig and Likhachev 2006. Both expand the k most promising states around the agent, k
being the budget of the tick, and stop early when the goal would be next. They differ in what they learn: K LRTA* gives
every closed state its exact value, given those of the frontier, by Dijkstra's algorithm inwards; RTAA* raises all of
them to f of the best frontier state less their own g, which is quicker and learns a little less.

``commit=frontier`` walks all the way to the best frontier state, as published, and then searches again; moves on the
way expand nothing. ``commit=move`` searches before every move, for comparison per move.

Since then: ``avoid=true`` goes to the frontier state whose value has risen least above its first estimate, ties by f
(depression avoidance: daLSS-LRTA*, daRTAA*, Hernández and Baier 2012). ``weight`` above 1 counts the steps w-fold when
learning (wLSS-LRTA*, wRTAA*, Rivera, Baier and Hernández 2013): values rise faster and stay below w times the truth.

Chosen where the papers are silent:

* Ties in the A*: the larger g, then the state seen first.
* The budget bounds the expansions of the lookahead; states settled while learning are counted apart. Of a budget in
  time a third is for the lookahead and a third for Dijkstra's algorithm; the rest is for storing what was learned.
  States not settled by then learn what RTAA* would teach them, so the agent's own value always rises. Without a
  budget the lookahead goes on until the goal is found.
* When the goal is found the values are learned all the same, for the next trial.
* Weighted RTAA* raises to the least w g + h of the frontier less w g, which keeps w times the truth a bound.
* Depression avoidance gives way to the least f after 16 decisions in a row that learned nothing: otherwise, searching
  anew before every move, the agent could go to and fro for ever.
* Edits: if an arc became cheaper, all values are forgotten; if arcs only became dearer, all are kept. In both cases a
  new plan is made from where the agent stands.
* When there is no way, an exhausted lookahead proves it, or a value that is too high (``kernels/learning.py``).
* Directed graphs are fine as long as the goal stays within reach from wherever the arcs lead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.edits import LogView
from ..kernels.jit import now_ns
from ..kernels.layout import EXHAUSTED, GROW, PAUSED, WEIGHT_MAX, WEIGHT_ONE
from ..kernels.learned import LearnedValues, learned
from ..kernels.learning import (
    FORGET,
    SPACE,
    VALUES,
    abandoned,
    dijkstra_inwards,
    from_best,
    hopeless,
    must_forget,
    teach,
)
from ..kernels.lookahead import LOOKING, SETTLING, Space, a_star, least_changed, new_space
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide
from ..kernels.memory import lacks_room
from ..kernels.views import edits, widest
from ..kernels.workspace import new_record
from .learner import Learner, first_room
from .registry import Algorithm, Parameter, World

LOCAL = np.dtype(
    [
        ("rule", np.int64),  # DIJKSTRA or BEST
        ("frontier", np.int64),  # 1: walk all of the plan before searching again
        ("avoid", np.int64),
        ("weight", np.int64),  # fixed point
    ]
)
DIJKSTRA, BEST = 0, 1

_PATIENCE = 16  # decisions without learning before depression avoidance gives way


class LocalSearch(NamedTuple):
    """What the agent holds between ticks."""

    values: LearnedValues
    space: Space
    note: np.ndarray  # one LOOK record
    learner: np.ndarray  # one LEARNER record
    local: np.ndarray  # one LOCAL record
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the way to the state chosen on the frontier
    plan: np.ndarray  # int64[2]


@decide.on(LocalSearch)
def _decide(algorithm, world, s, tick):
    limit = tick.limit
    deadline = tick.deadline
    clock = tick.clock
    values = algorithm.values
    space = algorithm.space
    plan = algorithm.plan
    note = algorithm.note[0]
    learner = algorithm.learner[0]
    local = algorithm.local[0]
    counts = algorithm.counts[0]
    if local.frontier and plan[0] < plan[1] and learner.edits == edits(world):
        return plan[1] - plan[0]
    limit -= abandoned(world, learner, note, counts)
    if must_forget(world, algorithm.log, learner, note, algorithm.plan):
        learner.lack = FORGET
        return NEEDS_ROOM
    if note.lacking and not note.paused:
        note.lacking = 0
        learner.lack = SPACE
        return NEEDS_ROOM
    look_until = deadline
    learn_until = deadline
    if deadline > 0:
        began = now_ns(clock)
        share = max((deadline - began) // 3, 1)
        look_until = began + share
        learn_until = began + 2 * share
    if note.paused <= LOOKING:
        status = a_star(world, values, space, note, s, limit, clock, look_until)
        if status == GROW:
            learner.lack = SPACE
            return NEEDS_ROOM
        if status == PAUSED:
            return NOT_YET
        if lacks_room(values, note.expanded):
            # Before anything is learned or counted: the lookahead is made again, and the same.
            learner.lack = VALUES
            return NEEDS_ROOM
        counts.expanded += note.expanded
        counts.states = values.used[1] + note.states
        if status == EXHAUSTED:
            return NO_WAY
        note.raised = values.used[2]
        if local.rule == BEST:
            from_best(space, note, local.weight)
    if local.rule == DIJKSTRA and note.paused <= SETTLING:
        if dijkstra_inwards(space, note, local.weight, clock, learn_until) == PAUSED:
            return NOT_YET
        counts.expanded += note.settled
        counts.learning += note.settled
    if teach(space, values, note, clock) == PAUSED:
        return NOT_YET
    counts.states = values.used[1] + note.states
    learner.quiet = learner.quiet + 1 if values.used[2] == note.raised else 0
    counts.states = values.used[1] + note.states
    learner.quiet = learner.quiet + 1 if values.used[2] == note.raised else 0
    if hopeless(note, learned(values, s), values.used[1], local.weight):
        return NO_WAY
    there = note.best
    if local.avoid and learner.quiet < _PATIENCE and space.table.states[there] != note.goal:
        there = least_changed(world, space, note)
    # Written backwards from the end of the array: a path has no more states than the lookahead saw.
    last = algorithm.route.shape[0]
    first = last
    while there != 0:
        first -= 1
        algorithm.route[first] = space.table.states[there]
        there = np.int64(space.table.parents[there])
    plan[0] = first
    plan[1] = last
    return last - first


class LocalSearchPlanner(Learner):
    """The Python half."""

    def __init__(
        self, world: World, goal: int, budget: Any, rule: int, commit: str, avoid: bool, weight: float
    ) -> None:
        timed = budget.milliseconds is not None
        super().__init__(world, goal, timed)
        local = new_record(LOCAL)
        local["rule"], local["frontier"], local["avoid"] = rule, commit == "frontier", avoid
        local["weight"] = int(weight * WEIGHT_ONE)
        slots, arcs = first_room(budget.expansions, int(widest(world.view)), timed)
        self.state = LocalSearch(
            space=new_space(slots, arcs), local=local, route=np.zeros(slots, np.int64), **self._common
        )


_PARAMETERS = (
    Parameter(
        "commit", str, "move", "search before every move, or walk to the frontier first", choices=("move", "frontier")
    ),
    Parameter("avoid", bool, False, "go where values have risen least: avoids heuristic depressions"),
    Parameter("weight", float, 1.0, "count steps so many times when learning", low=1.0, high=WEIGHT_MAX),
)

K_LRTA_STAR = Algorithm(
    name="k-lrta*",
    summary="a small A* around the agent, and Dijkstra to learn from it (LSS-LRTA*)",
    paper="Koenig 2004; Koenig and Sun 2009",
    parameters=_PARAMETERS,
    make=lambda world, goal, budget, **options: LocalSearchPlanner(world, goal, budget, DIJKSTRA, **options),
)

RTAA_STAR = Algorithm(
    name="rtaa*",
    summary="as k-lrta*, with a quicker rule that learns a little less",
    paper="Koenig and Likhachev 2006",
    parameters=_PARAMETERS,
    make=lambda world, goal, budget, **options: LocalSearchPlanner(world, goal, budget, BEST, **options),
)

ALGORITHMS = (K_LRTA_STAR, RTAA_STAR)
