"""P LRTA*: LRTA* with a lookahead of one step, whose raises spread to the neighbours, the largest first.

Rayner, Davison, Bulitko, Anderson and Lu 2007. When the value of a state rises, its neighbours are offered to a queue
of fixed size with the rise as their priority; in a full queue a newcomer replaces the lowest if it is higher. Each
move updates the agent's state, then states from the queue, and then goes to the neighbour with the least c + h.

Chosen where the papers are silent:

* Up to ``queue`` states are updated per move, as many as the queue holds. What is left stays for the next move.
* A state offered again keeps the larger priority. Ties in the queue go to the older entry, also for being replaced.
* Ties between neighbours go to the dearer step, then to the first.
* The update of the agent's own state is the lookahead, one expansion, whatever the budget. Updates from the queue, and
  a second look at the neighbours if there were any, are expansions made while learning; the queue's size bounds them.
* On directed graphs the states offered are the successors; those before the state would be better, but are not known.
* Edits, goals that move, and worlds without a way: as LRTA*. An edit that makes values obsolete empties the queue too.

The plain version: ``PrioritizedLrta`` in ``tests/naive/learning.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues
from ..kernels.jit import inlined
from ..kernels.layout import WEIGHT_ONE
from ..kernels.learning_rules import FORGET, hopeless, lacks, look_around, offer, redirect, sweep, update
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, one_step, retarget
from ..kernels.memory import zeros
from ..kernels.telling import BEGUN, tell
from ..kernels.views import edits
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner
from .registry import Algorithm, Parameter, World

SWEEP = np.dtype(
    [
        ("length", np.int64),  # of the queue
        ("under_way", np.int64),  # 1 if a sweep has been paused; then also:
        ("done", np.int64),  # updates that it has made
        ("value", np.int64),  # of the agent's own state
        ("there", np.int64),  # the best neighbour before the sweep
    ]
)


class Prioritized(NamedTuple):
    """What the agent holds between ticks."""

    values: LearnedValues
    queue_states: np.ndarray  # int64[queue]: in order of arrival
    queue_rises: np.ndarray  # int64[queue]: the priorities
    sweep: np.ndarray  # one SWEEP record
    look: np.ndarray  # one LOOK record
    learner: np.ndarray  # one LEARNER record
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[1]: the next state
    plan: np.ndarray  # int64[2]


@decide.on(Prioritized)
def _decide(algorithm, world, s, tick):
    """One move: update s, then as many states from the queue as it holds, and go to the neighbour with least c + h."""
    values = algorithm.values
    queue_states = algorithm.queue_states
    queue_rises = algorithm.queue_rises
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    counts = algorithm.counts[0]
    swept = algorithm.sweep[0]
    queue = queue_states.shape[0]
    limit = tick.limit
    if swept.under_way and learner.edits != edits(world):
        _drop_sweep(algorithm)  # it was paused, and the world has been edited since
        limit -= 1
    restarts = counts.restarts
    lacking = lacks(world, algorithm, 0 if swept.under_way else queue + 2)
    if learner.lack == FORGET or counts.restarts > restarts:
        swept.length = 0
    if lacking:
        return NEEDS_ROOM
    if limit < 1:
        return 0
    if not swept.under_way:
        # The lookahead: h(s) rises to the least c + h of a neighbour, and the neighbours are offered to the queue.
        tell(world, BEGUN, s, -1, 0, -1)
        rise, swept.value, swept.there = update(world, values, look, s, WEIGHT_ONE)
        if rise > 0:
            swept.length = offer(world, queue_states, queue_rises, swept.length, s, rise)
        swept.done = 0
        swept.under_way = 1
    # The states with the largest rises around them are updated the same way.
    swept.length, swept.done, whole = sweep(
        world, values, look, queue_states, queue_rises, swept.length, swept.done, queue, tick.clock
    )
    if not whole:
        return NOT_YET
    swept.under_way = 0
    done = swept.done
    there = swept.there
    if done > 0 and there >= 0:
        # The sweep may have changed which neighbour is best.
        _, _, there = look_around(world, values, look, s, WEIGHT_ONE)
        done += 1
    counts.expanded += 1 + done
    counts.learning += done
    counts.states = values.used[1] + swept.length
    if there < 0 or hopeless(look, swept.value, values.used[1], WEIGHT_ONE):
        return NO_WAY
    return one_step(algorithm, there)


@inlined
def _drop_sweep(algorithm):
    """A sweep that was paused is given up: what has been done counts, and a new look is needed."""
    swept = algorithm.sweep[0]
    counts = algorithm.counts[0]
    if swept.under_way:
        counts.expanded += 1 + swept.done
        counts.learning += swept.done
        swept.under_way = 0


@retarget.on(Prioritized)
def _retarget(algorithm, world, s, goal, tick):
    _drop_sweep(algorithm)
    redirect(algorithm, world, goal, WEIGHT_ONE, tick)
    return True


@displaced.on(Prioritized)
def _displaced(algorithm, world, s):
    _drop_sweep(algorithm)
    return True


class PrioritizedPlanner(AgentCenteredPlanner):
    """The Python half."""

    def __init__(self, world: World, goal: int, queue: int) -> None:
        super().__init__(world, goal)
        self.state = Prioritized(
            queue_states=zeros(queue),
            queue_rises=zeros(queue),
            sweep=new_record(SWEEP),
            route=zeros(1),
            **self._common,
        )

    def restart(self) -> None:
        """A new trial: a sweep that was paused ends, what is in the queue stays."""
        super().restart()
        self.state.sweep["under_way"] = 0

    def memory_bytes(self) -> int:
        """Bytes of the values and of the queue."""
        return super().memory_bytes() + 16 * len(self.state.queue_states)


P_LRTA_STAR = Algorithm(
    name="p-lrta*",
    summary="LRTA* whose raises spread to the neighbours, the largest first",
    paper="Rayner et al. 2007",
    parameters=(
        Parameter("queue", int, 30, "states waiting to be updated, and updates per move", low=1, high=100_000),
    ),
    make=lambda world, goal, budget, queue: PrioritizedPlanner(world, goal, queue),
)

ALGORITHMS = (P_LRTA_STAR,)
