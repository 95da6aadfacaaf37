"""Lazy restarts: Algorithm 3 of Hernández, Asín and Baier 2014, for the time-bounded family (``time_bounded``).

After an edit the search goes on, unless an arc ahead has become dearer, or an arc has become cheaper and a way through
it may cost less than 1/w of the rest of the path.

Chosen where the paper is silent or slips:

* "Ahead" includes the way back to the path. "Dearer" and "the rest" mean against the costs that the search saw.
* Arcs that became cheaper are judged once the path reaches the goal: until then its cost says nothing about the way to
  the goal, and Theorem 3 would not hold.
* If ground becomes cheaper than any was, the search starts again: its open states were put in order by estimates that
  are no longer believed.
* So does it after more edits than the world's log holds; or, with a budget in time, than can be judged in a tick.
* When the goal moves, all edits since the search began are judged again: what did not matter before may matter now.

The plain version is ``Repeated`` in ``tests/naive/repeated.py``.
"""

from __future__ import annotations

import numpy as np

from ..kernels.best_first import cost_so_far
from ..kernels.edits import through
from ..kernels.following import onward, place_on_path
from ..kernels.jit import inlined
from ..kernels.layout import WEIGHT_ONE
from ..kernels.tables import intern, state_of
from ..kernels.views import aim, cost_between, edits, estimate, locate

__all__ = ["RESTART_FIELDS", "note_costs", "note_estimate", "restart_search"]

RESTART_FIELDS = [
    ("lazy", np.int64),  # 1: an edit does not always start the search again
    ("edits", np.int64),  # the world's edit count when last looked at
    ("stale", np.int64),  # 1 if the world has been edited since the search began
    ("heard", np.int64),  # entries of the world's log that have been judged
    ("since", np.int64),  # how many there were when the search began
    ("straight", np.int64),  # the estimate from the search's root when it began
]

_LISTEN_MOST = 1 << 14  # edits judged in one tick of a budget in time


@inlined
def note_costs(agent, world):
    """A search begins in the world as it is now: the c of Algorithm 2, line 3."""
    follow = agent.follow[0]
    follow.edits = edits(world)
    follow.stale = 0
    follow.heard = agent.log.total[0]
    follow.since = follow.heard
    note_estimate(agent, world)


@inlined
def note_estimate(agent, world):
    """Estimates are for another state from now on, or a search begins."""
    agent.follow[0].straight = _estimate_from_root(agent, world)


@inlined
def restart_search(agent, world, s, tick):
    """RestartSearch?(): whether an edited world asks for a new search. Eager restarts say so after any edit."""
    log = agent.log
    search = agent.search[0]
    follow = agent.follow[0]
    if not follow.lazy or _estimate_from_root(agent, world) < follow.straight:
        return True
    rest = _rest_of_path(agent, world, s)
    if rest < 0:
        return True  # lines 3-4
    if not follow.settled:
        return False
    held = log.entries.shape[0]
    if log.total[0] - follow.heard > (held if tick.deadline == 0 else min(held, _LISTEN_MOST)):
        return True
    # Lines 5-8: w c' < c, with w in fixed point.
    bound = (rest * WEIGHT_ONE - 1) // search.h_weight + 1
    to_s = aim(world, s)
    to_goal = aim(world, search.goal)
    if estimate(world, to_goal, s, locate(world, s)) >= bound:
        follow.heard = log.total[0]  # no way through any arc can be estimated lower than the straight one
    while follow.heard < log.total[0]:
        entry = log.entries[follow.heard % held]
        follow.heard += 1
        if through(world, entry, to_s, to_goal, bound) < bound:
            return True
    return False


@inlined
def _estimate_from_root(agent, world):
    search = agent.search[0]
    root = state_of(agent.table, search.root)
    return estimate(world, aim(world, search.aim), root, locate(world, root))


@inlined
def _rest_of_path(agent, world, s):
    """What the way back to the path and along it costs; -1 if an arc on it is shut, or dearer than the search saw."""
    table = agent.table
    search = agent.search[0]
    row = agent.follow[0].active
    end = agent.ends[row] - 1
    total = np.int64(0)
    if agent.fronts[row] > end:
        return total
    slot = intern(table, s)
    k = place_on_path(agent, slot)
    while slot != agent.paths[row, end]:
        back = k < 0
        there, k = onward(agent, world, slot, k)
        if there < 0:
            break
        known = cost_so_far(table, search, there) - cost_so_far(table, search, slot)
        if back:
            known = -known
        c = cost_between(world, state_of(table, slot), state_of(table, there))
        if c < 0 or c > known:
            return np.int64(-1)
        total += known
        slot = there
    return total
