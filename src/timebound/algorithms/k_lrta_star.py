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
* Depression avoidance gives way to the least f after 8 decisions in a row that learned nothing: otherwise, searching
  anew before every move, the agent could go to and fro for ever.
* Edits: if an arc became cheaper, all values are forgotten; if arcs only became dearer, all are kept. In both cases a
  new plan is made from where the agent stands.
* When there is no way, an exhausted lookahead proves it, or a value that is too high (``kernels/learning_rules.py``).
* Directed graphs are fine as long as the goal stays within reach from wherever the arcs lead.
* A goal that moves: as LRTA*; with a weight, values come down by as many times the way. Who is put elsewhere, or given
  another goal, plans anew from where it stands.

The plain version: ``LocalSearch`` in ``tests/naive/learning.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, learned
from ..kernels.jit import inlined, now_ns
from ..kernels.layout import EXHAUSTED, GROW, PAUSED, WEIGHT_MAX, WEIGHT_ONE
from ..kernels.learning_rules import (
    SPACE,
    VALUES,
    abandoned,
    dijkstra_inwards,
    drop_lookahead,
    from_best,
    hopeless,
    lacks,
    redirect,
    teach,
)
from ..kernels.lookahead import LOOKING, SETTLING, Space, a_star, least_changed, new_space
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, retarget
from ..kernels.memory import lacks_room, zeros
from ..kernels.saving import keeps
from ..kernels.telling import DROPPED, tell
from ..kernels.ticks import Tick
from ..kernels.views import edits, widest
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner, first_room
from .registry import Algorithm, Parameter, World

OPTIONS = np.dtype(
    [
        ("rule", np.int64),  # DIJKSTRA or BEST
        ("frontier", np.int64),  # 1: walk all of the plan before searching again
        ("avoid", np.int64),
        ("weight", np.int64),  # fixed point
    ]
)
DIJKSTRA, BEST = 0, 1

_PATIENCE = 8  # decisions without learning before depression avoidance gives way


class LocalSearch(NamedTuple):
    """What the agent holds between ticks."""

    values: LearnedValues
    space: Space
    look: np.ndarray  # one LOOK record
    learner: np.ndarray  # one LEARNER record
    options: np.ndarray  # one OPTIONS record
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the way to the state chosen on the frontier
    plan: np.ndarray  # int64[2]


@decide.on(LocalSearch)
def _decide(algorithm, world, s, tick):
    """One search: A* around s (the local search space), the learning rule, the way to the best state on its frontier.

    With ``commit=frontier`` that way is walked to its end before the next search.
    """
    plan = algorithm.plan
    look = algorithm.look[0]
    options = algorithm.options[0]
    if options.frontier and plan[0] < plan[1] and algorithm.learner[0].edits == edits(world):
        return plan[1] - plan[0]
    limit = tick.limit - abandoned(world, algorithm)
    if lacks(world, algorithm, 0):
        return NEEDS_ROOM
    look_until, learn_until = _shares(tick)
    if look.paused <= LOOKING:
        outcome = _search(algorithm, world, s, Tick(limit, look_until, tick.clock))
        if outcome != 0:
            return outcome
    if not _learn(algorithm, world, options, Tick(limit, learn_until, tick.clock)):
        return NOT_YET
    if hopeless(look, learned(algorithm.values, s), algorithm.values.used[1], options.weight):
        return NO_WAY
    return _lead(algorithm, world, options)


@inlined
def _shares(tick):
    """When the lookahead must end, and when Dijkstra's algorithm: after a third of the time that is left, and two."""
    if tick.deadline == 0:
        return tick.deadline, tick.deadline
    began = now_ns(tick.clock)
    share = max((tick.deadline - began) // 3, 1)
    return began + share, began + 2 * share


@inlined
def _search(algorithm, world, s, tick):
    """The lookahead: A* with up to k expansions. Returns 0, or what ``decide`` is to return."""
    values = algorithm.values
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    counts = algorithm.counts[0]
    status = a_star(world, values, algorithm.space, look, s, tick)
    if status == PAUSED:
        return NOT_YET
    if status == GROW:
        learner.lack = SPACE
        return NEEDS_ROOM
    if lacks_room(values, look.expanded):
        # Before anything is learned or counted: the lookahead is made again, and the same.
        learner.lack = VALUES
        tell(world, DROPPED, s, -1, look.expanded, -1)
        return NEEDS_ROOM
    counts.expanded += look.expanded
    counts.states = values.used[1] + look.states
    look.raised = values.used[2]
    return NO_WAY if status == EXHAUSTED else 0


@inlined
def _learn(algorithm, world, options, tick):
    """The learning rule: new values for the closed states, then raise those that are lower. False: it goes on."""
    values = algorithm.values
    space = algorithm.space
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    counts = algorithm.counts[0]
    if options.rule == DIJKSTRA and look.paused <= SETTLING:
        if dijkstra_inwards(world, space, look, options.weight, tick) == PAUSED:
            return False
        counts.expanded += look.settled
        counts.learning += look.settled
    if options.rule == BEST and not look.paused:
        from_best(space, look, options.weight)
    if teach(world, space, values, look, tick.clock) == PAUSED:
        return False
    counts.states = values.used[1] + look.states
    learner.quiet = learner.quiet + 1 if values.used[2] == look.raised else 0
    return True


@inlined
def _lead(algorithm, world, options):
    """The way to the best state on the frontier, or to the one whose value has risen least; returns its length."""
    table = algorithm.space.table
    look = algorithm.look[0]
    route = algorithm.route
    there = look.best
    if options.avoid and algorithm.learner[0].quiet < _PATIENCE and table.states[there] != look.goal:
        there = least_changed(world, algorithm.space, look)
    # Written backwards from the end of the array: a path has no more states than the lookahead saw.
    last = route.shape[0]
    first = last
    while there != 0:
        first -= 1
        route[first] = table.states[there]
        there = np.int64(table.parents[there])
    algorithm.plan[0] = first
    algorithm.plan[1] = last
    return last - first


@retarget.on(LocalSearch)
def _retarget(algorithm, world, s, goal, tick):
    redirect(algorithm, world, goal, algorithm.options[0].weight, tick)
    return True


@displaced.on(LocalSearch)
def _displaced(algorithm, world, s):
    drop_lookahead(algorithm)
    algorithm.plan[0] = algorithm.plan[1]
    return True


# A plan is written from the end of its array.
keeps(LocalSearch, route=lambda agent: np.s_[int(agent.plan[0]) : int(agent.plan[1])])


class LocalSearchPlanner(AgentCenteredPlanner):
    """The Python half."""

    def __init__(
        self, world: World, goal: int, budget: Any, rule: int, commit: str, avoid: bool, weight: float
    ) -> None:
        timed = budget.milliseconds is not None
        super().__init__(world, goal, timed)
        options = new_record(OPTIONS)
        options["rule"], options["frontier"], options["avoid"] = rule, commit == "frontier", avoid
        options["weight"] = int(weight * WEIGHT_ONE)
        slots, arcs = first_room(budget.expansions, int(widest(world.view)), timed)
        self.state = LocalSearch(space=new_space(slots, arcs), options=options, route=zeros(slots), **self._common)

    def sure(self, view: Any, state: int) -> bool:
        """Whether a plan is walked to its end; not if an edit has yet to be noticed."""
        return bool(self.state.options["frontier"][0] and self.state.learner["edits"][0] == edits(view))


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
