"""LRTA*: look around, raise the value of the state the agent stands on, step towards the best state seen.

Korf 1990, as in Bulitko et al. 2008 (``depth``: all states up to d steps away) and 2011 (``gmax``: all within a cost).
Of the frontier the state with the least gamma g + h is best; ties go to the larger g, then to the state seen first. The
value of the agent's state rises to that sum (mini-min) and never falls. One step is taken towards the best state.

Chosen where the papers are silent:

* A state reached more cheaply by more steps takes the cheaper cost, and if it was expanded before, it counts as
  frontier again. So the value learned is a lower bound on any world. Each state is expanded at most once.
* ``gmax``: a state is expanded if all its steps end within gmax, so that nothing seen lies beyond; the agent's own
  state always is.
* Path-max, "g + h never decreases along a branch", is for gamma g + h and holds from the first step on. With it each
  move leads to a lower value, so the agent cannot go round in circles without learning; without it, gamma < 1 can. The
  value of the agent's own state does not enter, for it is what is being learned. With gamma < 1 a state inherits only
  along the way by which it is reached: else values would rise above the truth.
* A budget in expansions must allow the whole lookahead. A budget in time cuts the lookahead short; so does one in
  expansions if an edit has made steps so cheap that ``gmax`` reaches further than when the agent was made.
* Edits: if an arc became cheaper, values might be too high, and all are forgotten; if arcs only became dearer, all
  are kept.
* When there is no way, the lookahead proves it if it sees everything; otherwise a value proves it in the end that is
  higher than any way out of the known part could make it (``kernels/learning_rules.py``). That takes about as many
  moves as the square of the number of states in the agent's part of the world; set a move limit if that is too long.
* Directed graphs are fine as long as the goal stays within reach from wherever the arcs lead.
* A goal that moves: values come down by what a way from the new goal to the old one costs, and stay lower bounds; if a
  greedy agent finds none in a few steps, they are forgotten. Who is put elsewhere looks around there.

The plain version: ``Lrta`` in ``tests/naive/learning.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, foresee_around, learned
from ..kernels.layout import GROW, INFINITE, PAUSED, WEIGHT_ONE
from ..kernels.learning_rules import SPACE, abandoned, drop_lookahead, hopeless, lacks, mini_min, redirect, update
from ..kernels.lookahead import Space, best_on_frontier, breadth_first, cost_limited, new_space
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, foresee_tables, one_step, retarget
from ..kernels.memory import zeros
from ..kernels.saving import keeps
from ..kernels.telling import BEGUN, tell
from ..kernels.ticks import Tick
from ..kernels.views import GraphView, GridView, TerrainView, widest
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner, first_slots
from .registry import Algorithm, Parameter, World

LOOKAHEAD = np.dtype(
    [
        ("depth", np.int64),
        ("gmax", np.int64),  # in integer costs; negative: depth counts
        ("gamma", np.int64),  # fixed point
        ("ball", np.int64),  # the most states that one lookahead has expanded
    ]
)


class Lrta(NamedTuple):
    """What an agent that looks one step ahead holds between ticks: the neighbours are the frontier."""

    values: LearnedValues
    look: np.ndarray  # one LOOK record
    learner: np.ndarray  # one LEARNER record
    lookahead: np.ndarray  # one LOOKAHEAD record
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the next state
    plan: np.ndarray  # int64[2]


class DeepLrta(NamedTuple):
    """The same for any other lookahead."""

    values: LearnedValues
    look: np.ndarray
    learner: np.ndarray
    lookahead: np.ndarray
    log: LogView
    counts: np.ndarray
    route: np.ndarray
    plan: np.ndarray
    space: Space


@decide.on(Lrta)
def _look_one_step(algorithm, world, s, tick):
    """Lines 4 to 7 of LRTA* (Figure 2 of the chapter): look around s, learn h(s), take one step.

    Lines 1, 2 and 8 are the loop's; line 3 selects no subgoal here, but always the goal.
    """
    limit = tick.limit - abandoned(world, algorithm)
    if lacks(world, algorithm, 1):
        return NEEDS_ROOM
    if limit < 1:
        return 0
    values = algorithm.values
    look = algorithm.look[0]
    counts = algorithm.counts[0]
    tell(world, BEGUN, s, -1, 0, -1)
    rise, h, there = update(world, values, look, s, algorithm.lookahead[0].gamma)
    counts.expanded += 1
    counts.states = values.used[1]
    if there < 0 or (rise > 0 and hopeless(look, h, values.used[1], WEIGHT_ONE)):
        return NO_WAY
    return one_step(algorithm, there)


@decide.on(DeepLrta)
def _look_further(algorithm, world, s, tick):
    """The same lines for a lookahead of more than a step."""
    limit = tick.limit - abandoned(world, algorithm)
    if lacks(world, algorithm, 1):
        return NEEDS_ROOM
    if limit < 1:
        return 0
    values = algorithm.values
    space = algorithm.space
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    lookahead = algorithm.lookahead[0]
    counts = algorithm.counts[0]
    within = Tick(limit, tick.deadline, tick.clock)
    # Line 4: generate the successors of s up to gmax (or d), and with them a frontier.
    if lookahead.gmax < 0:
        status = breadth_first(world, values, space, look, s, lookahead.depth, lookahead.gamma, within)
    else:
        status = cost_limited(world, values, space, look, s, lookahead.gmax, lookahead.gamma, within)
    if status == GROW:
        learner.lack = SPACE
        return NEEDS_ROOM
    if status == PAUSED:
        return NOT_YET
    # Line 5: the frontier state with the lowest g + h.
    best, v = best_on_frontier(space, look, lookahead.gamma)
    counts.expanded += look.expanded
    if best < 0:
        counts.states = values.used[1] + look.states
        return NO_WAY
    # S is everything around every state visited; of a state's visits at least the first finds nothing learned there.
    learner.reach += learned(values, s) <= 0
    lookahead.ball = max(lookahead.ball, look.expanded)
    # Line 6: update h(s).
    h = space.h[0]
    mini_min(world, values, look, s, h, v)
    counts.states = values.used[1] + look.states
    if v > h and hopeless(look, v, lookahead.ball * learner.reach, WEIGHT_ONE):
        return NO_WAY
    # Line 7: one step towards it.
    return one_step(algorithm, space.table.states[space.table.parents[best]])


@foresee_tables.on(Lrta, DeepLrta)
def _foresee(algorithm, world, s, ahead):
    foresee_around(world, algorithm.values, s, ahead)


@retarget.on(Lrta, DeepLrta)
def _retarget(algorithm, world, s, goal, tick):
    redirect(algorithm, world, goal, WEIGHT_ONE, tick)
    return True


@displaced.on(Lrta, DeepLrta)
def _displaced(algorithm, world, s):
    drop_lookahead(algorithm)
    return True


for _kind in (Lrta, DeepLrta):
    keeps(_kind, route=lambda agent: np.s_[:1])


class LrtaPlanner(AgentCenteredPlanner):
    """The Python half."""

    def __init__(self, world: World, goal: int, depth: int, gmax: float, gamma: float) -> None:
        lookahead = new_record(LOOKAHEAD)
        deep = depth > 1 or gmax > 0
        slots = first_slots(world, depth) if gmax == 0 else 1024
        route = zeros(slots if deep else 1)
        super().__init__(world, goal)
        lookahead["depth"], lookahead["gmax"] = depth, _reach(world, gmax)
        lookahead["gamma"] = max(1, round(gamma * WEIGHT_ONE))
        own = {"lookahead": lookahead, "route": route, **self._common}
        self.state = DeepLrta(space=new_space(slots, slots if gmax > 0 else 1), **own) if deep else Lrta(**own)


def _reach(world: Any, gmax: float) -> int:
    """The cost limit in integers; -1 if there is none."""
    # A millionth more, so that a limit given to a few digits includes the steps it was meant to include.
    return min(math.floor(gmax * world.unit * (1 + 1e-6)), INFINITE) if gmax > 0 else -1


def unfit(world: Any, budget: Any, depth: int, gmax: float, gamma: float) -> str | None:
    """Whether the lookahead is more than the budget allows, in words."""
    if gmax > 0 and depth > 1:
        return f"give a depth ({depth}) or a cost limit gmax ({gmax:g}), not both"
    # A state is expanded only if its steps end within the limit, so at most so many lie in a row.
    steps = max(1, _reach(world, gmax) // max(cheapest_step(world), 1)) if gmax > 0 else depth
    most = most_expanded(world, steps)
    if budget.expansions is None or budget.expansions >= most:
        return None
    asked = f"gmax={gmax:g}" if gmax > 0 else f"depth={depth}"
    return f"{asked} can take {most} expansions per move here, the budget is {budget}"


def cheapest_step(world: Any) -> int:
    """A lower bound on the integer cost of any step."""
    view = world.view
    if isinstance(view, GridView):
        return int(view.cardinal)
    if isinstance(view, TerrainView):
        return int(2 * view.bounds[0])
    if isinstance(view, GraphView):
        usable = view.cost[view.cost >= 0]
        return int(usable.min()) if len(usable) else 1
    return 1


def most_expanded(world: Any, depth: int) -> int:
    """The most states less than ``depth`` steps away from any state.

    >>> import timebound as tb
    >>> most_expanded(tb.Grid([[1] * 99] * 99), 16)
    961
    """
    view = world.view
    if isinstance(view, GridView | TerrainView):
        ball = (2 * depth - 1) ** 2 if world.connectivity == 8 else 2 * depth * (depth - 1) + 1
        return int(min(ball, world.shape[0] * world.shape[1]))
    fan, ball, ply = int(widest(view)), 1, 1
    if fan <= 2:  # no ply is larger than the first
        ball = 1 + fan * (depth - 1)
    for k in range(1, depth if fan > 2 else 1):
        ply *= fan if k == 1 else fan - 1
        ball += ply
        if ball > 1 << 60:
            break
    return ball if world.table == "hashed" else min(ball, world.states)


LRTA_STAR = Algorithm(
    name="lrta*",
    summary="the classic: looks around, learns how far the goal is from here, takes a step",
    paper="Korf 1990; Bulitko et al. 2008, 2011",
    parameters=(
        Parameter("depth", int, 1, "steps to look ahead", low=1, high=1000),
        Parameter(
            "gmax", float, 0.0, "look at all states within this cost instead; 0: depth counts", low=0.0, high=1e9
        ),
        Parameter(
            "gamma", float, 1.0, "weight of the way to the frontier against the estimate there", low=0.01, high=1.0
        ),
    ),
    make=lambda world, goal, budget, depth, gmax, gamma: LrtaPlanner(world, goal, depth, gmax, gamma),
    unfit=unfit,
)

ALGORITHMS = (LRTA_STAR,)
