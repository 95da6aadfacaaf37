"""The time-bounded family: TBA*, TB-WA*, TB-GBFS, RTB-WA*. One best-first search in slices, and an agent that follows.

TBA* (Björnsson, Bulitko and Sturtevant 2009) runs A* a few expansions per move and lets the agent walk along the path
to the most promising open state. When that path changes, the agent steps back along its tree until it meets the new
one. TB-BFS (Hernández, Asín and Baier 2014) is the same for any best-first search. So this is one algorithm; its
members differ in the evaluation f = g_weight g + h_weight h, and in how a tick's budget R is split:

* TBA*: floor(R r) expansions, and c parents followed for each expansion's worth of the rest (r = 0.9, c = 10). A path
  takes several ticks to trace; the old one stays in force until then. Once the search has found the goal, all of R
  goes to tracing.
* TB-WA*, TB-GBFS, RTB-WA*: R expansions (their k), and the path is traced whole every tick, as published.

When the world is edited, the search starts again from where the agent stands (Algorithm 2 of 2014); or only if it must
(``lazy_restarts``). Enhancement 1 of 2009 is in ``shortcuts``, enhancement 2 is ``steady=true``.

Chosen where the papers are silent or slip:

* The location is saved before the agent moves (line 30 of 2009 stands too late).
* floor(R r) is at least 1, and so is N_T. Following a parent counts as a step, ending the trace does not.
* Closed states stay closed (``reopen=true`` opens them again), as published; buckets order states only roughly, so the
  path may then exceed the optimum by the width of one. A step back goes to the state's parent of now.
* The tick that finds the goal has its N_E expansions behind it and may follow R c parents all the same: a tick is
  bounded by R expansions and R c parents.
* With nothing left of its path, the agent steps back; at the root it returns to where it came from.
* Late acting (row L of Table 1) steps between start and one neighbour until the whole path is known.
* A path to the goal is final once no open state is better; ``steady=true`` never rejects that one (line 16 asks only
  whether the path ends at the goal).
* A budget in milliseconds is split r : 1 - r in time, with r = 0.9 for the others too.
* A path traced through a tree that has seen edits is judged anew, for parts of it may have been edited while it was not
  the path. If it fails, the search starts again at once with what is left of the tick's budget, and the agent waits if
  that is nothing.

When the goal moves, or the agent is put elsewhere (ours; ``kernels/new_goals.py`` has the search's part):

* The tree stays. If the goal is closed in it, or a step from one to which a path is known, no search is needed. Else
  the search goes on. The path in force stays so until that to the new goal is traced.
* A trace under way is brought to its end, wherever the goal has gone meanwhile: a goal that never rests cannot keep an
  agent from getting new paths. While the open list gets new keys no promising state is known; who has come to the end
  of its path then takes the best that has a new key.
* By adding a goal's steps the path to it gets longer than it need be, by what the goal has walked at most; and a tree
  from elsewhere may ask for a long way back. So a path that was found without a search is judged when it is traced: if
  the way along it is more than three times as long as the estimate, and as what the tree proves (the way forth less the
  way back), there is a new search from where the agent stands. But only if the goal has gone a quarter of that way
  since the last search ended: an agent that follows a goal may walk most of the time, and searches only now and then.
* An agent that was put beside the tree becomes part of it, by the cheapest step; anywhere else it searches anew. So do
  those that act late, which know no way back but a step to the root; and all, if estimates are for each goal apart.

Stepping back needs arcs that lead both ways, so directed graphs are refused.

The plain versions are ``tba_star`` and ``tb_best_first`` in ``tests/naive/time_bounded.py`` and ``Repeated`` in
``tests/naive/repeated.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..kernels.best_first import advance, begin, best_open, cost_so_far, foresee_search, new_search, parent, seen
from ..kernels.edits import LogView
from ..kernels.following import (
    PATH_FIELDS,
    begin_trace,
    falls_short,
    foresee_front,
    foresee_path,
    forget_paths,
    lengthen_path,
    place_on_path,
    pop_front,
    some_neighbour,
    switch_paths,
    trace_back,
    way_ahead,
)
from ..kernels.jit import inlined, now_ns
from ..kernels.layout import COUNTS, EXHAUSTED, FOUND, GROW, INFINITE, PAUSED, RUNNING, WEIGHT_MAX, WEIGHT_SHIFT
from ..kernels.loop import (
    NEEDS_ROOM,
    NO_WAY,
    NOT_YET,
    decide,
    displaced,
    foresee_steps,
    foresee_tables,
    one_step,
    retarget,
    walk_on,
)
from ..kernels.memory import zeros
from ..kernels.new_goals import follow_goal, join, keep_course, turn_to
from ..kernels.saving import keeps
from ..kernels.tables import intern, state_of
from ..kernels.ticks import Tick
from ..kernels.views import aim, cost_between, edits, estimate, foresee_state, locate, one_goal
from ..kernels.workspace import Workspace, enlarged_at_front, new_record
from .lazy_restarts import RESTART_FIELDS, note_costs, note_estimate, restart_search
from .registry import Algorithm, Parameter, World
from .shortcuts import SEARCHING, SHORTCUT_FIELDS, TRACING, WALKING, find_shortcut

_FOLLOW = np.dtype(
    [
        ("begun", np.int64),  # 1 once a search is under way
        ("expansions", np.int64),  # per tick, N_E
        ("traces", np.int64),  # parents followed per tick, N_T; INFINITE: the whole path every tick
        ("traces_after", np.int64),  # the same once the goal is found
        ("share", np.float64),  # r: the searching part of a budget in time
        ("steady", np.int64),
        ("late", np.int64),
        ("first", np.int64),  # 1 until the first tick is over
        ("used", np.int64),  # expansions of this tick so far, in case it is interrupted to enlarge an array
        ("deadline", np.int64),  # when this tick must stop searching and begin tracing
        ("at", np.int64),  # where the agent last decided
        ("gone", np.int64),  # how far the goal has gone, and the agent been put, since a search for it last ended
        ("unjudged", np.int64),  # 1 if the path to the goal was found without a search
        *PATH_FIELDS,
        *RESTART_FIELDS,
        *SHORTCUT_FIELDS,
    ]
)
# What is read to walk on lies in the first line of the cache.
_WALKED = ["begun", "cutting", "late", "at", "active", "edits", "stale", "last"]
FOLLOW = np.dtype([(name, _FOLLOW[name]) for name in sorted(_FOLLOW.names or (), key=lambda n: n not in _WALKED)])

_SKIP_MOST = 4096  # closed states passed over in one tick of a budget in time, on the look for an open one
_ROUNDABOUT = 3  # times the way that there must be: more is reason for a new search,
_ENOUGH = 4  # if the goal has gone this part of it


class TimeBounded(NamedTuple):
    """What the agent holds between ticks; first what it needs to walk on (see ``loop.foresee_steps``)."""

    follow: np.ndarray  # one FOLLOW record
    paths: np.ndarray  # int32[2, ...]: pathFollow and pathNew of 2009, see ``following``
    fronts: np.ndarray  # int64[2]
    ends: np.ndarray  # int64[2]
    route: np.ndarray  # int64[...]: the next state, or the states of a shortcut
    plan: np.ndarray  # int64[2]
    table: NamedTuple
    queue: NamedTuple
    search: np.ndarray  # one SEARCH record
    log: LogView  # the world's log of edits
    counts: np.ndarray  # one COUNTS record
    cut_table: NamedTuple  # of the search for a shortcut; without shortcuts the agent's own, and unused
    cut_queue: NamedTuple
    cut: np.ndarray  # one SEARCH record
    cut_counts: np.ndarray  # one COUNTS record


@decide.on(TimeBounded)
def _decide(agent, world, s, tick):
    """One round of Algorithm 1 of 2009, lines 6-31 (30-36 of 2014), for an agent at ``s``: search, trace, step.

    Before it comes what ends a round of Algorithm 2 of 2014: whether an edit asks for a new search (lines 14-17).
    The variables of 2009 are found as: loc, ``here``; loc.last, ``follow.last``; solutionFound (goalFound of 2014),
    ``search.status == FOUND``; solutionFoundAndTraced, ``follow.settled``; doneTrace, ``follow.tracing < 0``; lists,
    ``queue`` and ``table``; pathFollow and pathNew, the two rows of ``paths``; N_E and N_T, ``follow.expansions`` and
    ``follow.traces``.
    """
    search = agent.search[0]
    follow = agent.follow[0]
    counts = agent.counts[0]
    until = counts.expanded + tick.limit
    follow.at = s
    if follow.begun and follow.edits != edits(world):
        follow.edits = edits(world)
        follow.stale = 1
        if restart_search(agent, world, s, tick):
            _abandon(agent)
    elif follow.cutting == WALKING:
        if agent.plan[0] < agent.plan[1]:
            return agent.plan[1] - agent.plan[0]  # on a shortcut
        follow.cutting = 0  # it has ended
    while True:
        if not follow.begun and not _initialize(agent, world, s):
            return NEEDS_ROOM
        here = _slot_of_agent(agent, s)
        status = _search(agent, world, Tick(until - counts.expanded, tick.deadline, tick.clock))
        if status == PAUSED:
            return NOT_YET
        if status == GROW or not _trace(agent, world, here, tick):
            return NEEDS_ROOM
        if follow.unjudged and follow.settled:
            follow.unjudged = 0
            if _roundabout(agent, world, s, here):
                _abandon(agent)
                continue
        if not follow.stale or (search.status != EXHAUSTED and not restart_search(agent, world, s, tick)):
            break
        _abandon(agent)  # a new tree is never stale: this happens once in a tick
    if search.status == EXHAUSTED:
        return NO_WAY  # line 31 of 2014
    if follow.shortcuts and follow.settled and place_on_path(agent, here) < 0:
        ready = find_shortcut(agent, world, s, Tick(until - counts.expanded, tick.deadline, tick.clock))
        if ready != 0:
            return ready
    follow.used = 0
    search.paid = 0
    follow.first = 0
    return _step(agent, world, s, here)


@inlined
def _slot_of_agent(agent, s):
    """The slot of the state where the agent stands: mostly the one at the front of its path, which is found sooner."""
    row = agent.follow[0].active
    front = agent.fronts[row]
    if front < agent.ends[row] and state_of(agent.table, agent.paths[row, front]) == s:
        return agent.paths[row, front]
    return intern(agent.table, s)


@inlined
def _abandon(agent):
    """The tree belongs to a world that is no more."""
    _drop_shortcut(agent)
    agent.follow[0].begun = 0
    agent.counts[0].restarts += 1


@inlined
def _drop_shortcut(agent):
    agent.plan[0] = agent.plan[1]
    agent.follow[0].cutting = 0


@inlined
def _initialize(agent, world, s):
    """Lines 1-4 (InitializeSearch() of 2014): a search from where the agent stands. False: no room."""
    search = agent.search[0]
    follow = agent.follow[0]
    if begin(world, agent.table, agent.queue, search, agent.counts[0], s, search.goal) == GROW:
        return False
    follow.begun = 1
    follow.first = 1
    follow.used = 0
    follow.deadline = 0
    follow.cutting = 0
    follow.gone = 0
    follow.unjudged = 0
    note_costs(agent, world)
    forget_paths(agent)
    return True


@inlined
def _search(agent, world, tick):
    """Lines 6-8: N_E more expansions, unless the goal is found (9-20 of 2014). Returns a status."""
    search = agent.search[0]
    follow = agent.follow[0]
    counts = agent.counts[0]
    if search.status != RUNNING:
        return search.status
    if follow.used == 0 and tick.deadline > 0:
        follow.deadline = tick.deadline - np.int64((1.0 - follow.share) * (tick.deadline - now_ns(tick.clock)))
    # In the first tick so few that the path can be traced at once: the agent must have one to follow.
    allowed = min(follow.expansions, follow.traces) if follow.first else follow.expansions
    limit = min(allowed - follow.used, tick.limit - search.paid)
    towards = search.aim
    slice_of = Tick(limit, follow.deadline, tick.clock)
    status, price = keep_course(world, agent.table, agent.queue, search, counts, slice_of)
    follow.used += price
    if search.aim != towards:
        note_estimate(agent, world)
    if status != RUNNING or search.sorting:
        return status
    before = counts.expanded
    slice_of = Tick(limit - price, follow.deadline, tick.clock)
    status = advance(world, agent.table, agent.queue, search, counts, slice_of)
    follow.used += counts.expanded - before
    if status == FOUND:
        follow.gone = 0
    return status


@inlined
def _trace(agent, world, here, tick):
    """Lines 9-20: trace the path to the most promising state N_T parents further, and follow it once it is whole.

    (21-25 of 2014.) False: no room.
    """
    search = agent.search[0]
    follow = agent.follow[0]
    if follow.settled or search.status == EXHAUSTED or (follow.late and search.status != FOUND):
        return True
    deadline = 0 if follow.first else tick.deadline
    if follow.tracing < 0:
        # Lines 10-12: mostPromisingState().
        slot = search.goal_slot
        if search.sorting and search.status != FOUND:
            slot = search.best if place_on_path(agent, here) < 0 else np.int64(-1)
        elif search.status != FOUND:
            skips = INFINITE if deadline == 0 else _SKIP_MOST
            slot = best_open(world, agent.table, agent.queue, search, skips)
        if slot < 0:
            return True  # nothing is open: the search has just found out that there is no way; or there is no time
        begin_trace(agent, slot, search.status == FOUND)
    if follow.steps < 0:
        follow.steps = follow.traces_after if search.status == FOUND else follow.traces
    # Of a path that is traced anew every tick only the part beyond the agent matters, unless an edit may come.
    anew = follow.traces == INFINITE and not follow.steady and tick.deadline == 0
    whole = not anew or follow.final or follow.lazy
    least = np.int64(-1) if whole else cost_so_far(agent.table, search, here)
    # What is traced piece by piece takes as many ticks as its length says.
    joins = follow.traces == INFINITE
    done = trace_back(agent, world, here, least, joins, deadline, tick.clock)  # line 13
    if done == GROW:
        return False
    follow.steps = -1
    if done == FOUND and (follow.final or not follow.steady or not falls_short(agent)):
        # Lines 14-19: pathFollow <- pathNew; 16-17 are ``final``, which becomes ``settled``.
        switch_paths(agent, whole)
        follow.held = agent.counts[0].states
    return True


@inlined
def _step(agent, world, s, here):
    """Lines 21-31 (32-36 of 2014): a step along the path, or back. Returns 1; 0 if the agent has to wait."""
    table = agent.table
    search = agent.search[0]
    follow = agent.follow[0]
    counts = agent.counts[0]
    back = False
    k = place_on_path(agent, here)
    if follow.late and not follow.settled:
        there = some_neighbour(world, table, search) if here == search.root else search.root
    elif k >= 0:
        there = pop_front(agent, k)  # line 22
    elif here != search.root:
        there = search.root if follow.late else parent(world, table, search, here)  # line 25
        back = True
    else:
        there = follow.last if follow.last != here else np.int64(-1)  # line 27; a step that was held was not made
    if there < 0:
        return 0
    if follow.stale and cost_between(world, s, state_of(table, there)) < 0:
        # At the end of its path, with no time to trace another, and the way back is shut.
        _abandon(agent)
        return 0
    if back:
        counts.back_moves += 1
        counts.astray += follow.settled
    follow.last = here
    return one_step(agent, state_of(table, there))


@walk_on.on(TimeBounded)
def _walk_on(agent, world, s):
    """Lines 21-25 alone: along the path in force, or back to it. At its end the agent waits for more of it."""
    follow = agent.follow[0]
    if follow.cutting == WALKING:
        if agent.plan[0] < agent.plan[1]:
            follow.at = s
            # Where a shortcut ends the path goes on.
            return 2 if cost_between(world, s, agent.route[agent.plan[0]]) >= 0 else 0
        follow.cutting = 0
    if not follow.begun or (follow.late and not follow.settled):
        return 0
    row = follow.active
    here = _slot_of_agent(agent, s)
    k = place_on_path(agent, here)
    if k < 0:
        at_end = agent.fronts[row] == agent.ends[row] or here == _path_end(agent)
        if at_end or follow.late or not lengthen_path(agent, world, here):
            return 0
        k = place_on_path(agent, here)
        if k < 0 and here == agent.search[0].root:
            return 0
    back = k < 0
    there = parent(world, agent.table, agent.search[0], here) if back else np.int64(agent.paths[row, k + 1])
    changed = follow.stale or follow.edits != edits(world)
    if changed and cost_between(world, s, state_of(agent.table, there)) < 0:
        return 0
    if back:
        agent.counts[0].back_moves += 1
        agent.counts[0].astray += follow.settled
    else:
        agent.fronts[row] = k + 1
    follow.at = s
    follow.last = here
    known = 2 if back or k + 2 < agent.ends[row] else 1
    one_step(agent, state_of(agent.table, there))
    return known


@inlined
def _path_end(agent):
    """The slot at the end of the path in force, of which there is one."""
    return agent.paths[agent.follow[0].active, agent.ends[agent.follow[0].active] - 1]


@foresee_steps.on(TimeBounded)
def _foresee_steps(agent, world, s, ahead):
    if ahead == 5:
        foresee_state(world, s)
    elif agent.follow[0].begun:
        foresee_front(agent, ahead)


@foresee_tables.on(TimeBounded)
def _foresee(agent, world, s, ahead):
    if ahead == 5 or (agent.follow[0].begun and agent.search[0].status == RUNNING):
        foresee_search(world, agent.table, agent.queue, ahead)
    if ahead < 5 and agent.follow[0].begun:
        foresee_path(agent, ahead)


@retarget.on(TimeBounded)
def _retarget(agent, world, s, goal, tick):
    search = agent.search[0]
    follow = agent.follow[0]
    old = search.goal
    known = search.goal_slot if search.status == FOUND else np.int64(-1)
    if not _go_on_from(agent, world, s) or (follow.late and follow.settled):
        follow.begun = 0
    if not follow.begun:
        search.goal = goal
        return True
    found = turn_to(world, agent.table, search, goal)
    if not found and known >= 0:
        found = follow_goal(world, agent.table, agent.queue, search, agent.counts[0], known)
    if one_goal(world) and search.status == RUNNING:
        follow.begun = 0
    step = cost_between(world, old, goal)
    follow.gone += step if step >= 0 else estimate(world, aim(world, goal), old, locate(world, old))
    follow.unjudged = found
    follow.settled = 0
    follow.final = 0
    follow.heard = follow.since
    return True


@displaced.on(TimeBounded)
def _displaced(agent, world, s):
    follow = agent.follow[0]
    if not _go_on_from(agent, world, s) or follow.late:
        follow.begun = 0
    if follow.begun:
        follow.last = -1
        follow.gone += estimate(world, aim(world, follow.at), s, locate(world, s))
        if agent.search[0].status == FOUND:
            follow.settled = 0  # the path in force may begin where the agent was: trace it again, from here or the root
            follow.unjudged = 1
    return True


@inlined
def _go_on_from(agent, world, s):
    """Drop a shortcut, and see that the agent's state is in the tree, if there is one; False if it is far from it."""
    _drop_shortcut(agent)
    if not agent.follow[0].begun or seen(agent.table, agent.search[0], s):
        return True
    return join(world, agent.table, agent.queue, agent.search[0], agent.counts[0], s)


@inlined
def _roundabout(agent, world, s, here):
    """Whether the way back to the path and along it is so long that a new search is better."""
    table = agent.table
    search = agent.search[0]
    follow = agent.follow[0]
    end = _path_end(agent)
    slot = here
    while slot != end and slot != search.root and place_on_path(agent, slot) < 0:
        slot = parent(world, table, search, slot)
    back = cost_so_far(table, search, here) - cost_so_far(table, search, slot)
    forth = cost_so_far(table, search, end) - cost_so_far(table, search, slot)
    if _ENOUGH * follow.gone <= back + forth:
        return False
    least = max(forth - back, estimate(world, aim(world, search.goal), s, locate(world, s)))
    return back + forth > _ROUNDABOUT * least


keeps(
    TimeBounded,
    paths=lambda agent: np.s_[:, int(agent.fronts.min()) : int(agent.ends.max())],
    route=lambda agent: np.s_[int(agent.plan[0]) : int(agent.plan[1])],
)


class TimeBoundedPlanner:
    """The Python half: owns the arrays, lends them to the kernels, enlarges them when asked."""

    def __init__(
        self,
        world: World,
        goal: int,
        budget: Any,
        *,
        g_weight: float = 1.0,
        weight: float = 1.0,
        reopen: bool = False,
        r: float = 1.0,
        c: float = 0.0,
        steady: bool = False,
        acting: str = "early",
        shortcut: bool = False,
        restart: str = "eager",
    ) -> None:
        self._workspace = Workspace.of(world, real_time=True)
        self._cut = Workspace.of(world, real_time=True) if shortcut else self._workspace
        paths = self._workspace.paths
        follow = new_record(FOLLOW)
        follow["steady"], follow["late"], follow["lazy"] = steady, acting == "late", restart == "lazy"
        follow["shortcuts"], follow["price"], follow["share"] = shortcut, max(c, 1.0), min(r, 0.9)
        # Without a bound on expansions (a budget in time, or none) a path is traced whole.
        resources = budget.expansions
        follow["expansions"] = INFINITE if resources is None else max(1, int(resources * r + 1e-9))
        follow["traces"] = follow["traces_after"] = INFINITE
        if resources is not None and c > 0:
            rest = resources - int(follow["expansions"][0])
            follow["traces"] = min(max(1, int(rest * c + 1e-9)), INFINITE - 1)
            follow["traces_after"] = min(max(1, int(resources * c + 1e-9)), INFINITE - 1)
        search, counts = new_search(goal, g_weight, weight, reopen), new_record(COUNTS)
        plan, fronts, ends, route = zeros(2), zeros(2), zeros(2), zeros(64)
        fronts[:] = ends[:] = paths.shape[1] >> 1
        self.state = TimeBounded(
            follow=follow,
            paths=paths,
            fronts=fronts,
            ends=ends,
            route=route,
            plan=plan,
            table=self._workspace.table,
            queue=self._workspace.queue,
            search=search,
            log=world.changes.view,
            counts=counts,
            cut_table=self._cut.table,
            cut_queue=self._cut.queue,
            cut=new_search(goal, 1, 1, reopen=True) if shortcut else search,
            cut_counts=new_record(COUNTS) if shortcut else counts,
        )

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """A deadline is of the clock of its process, and has passed."""
        self.__dict__.update(saved)
        self.state.follow["deadline"] = np.minimum(self.state.follow["deadline"], 1)

    def expect(self, view: Any, start: int) -> None:
        """The agent will begin at ``start``: what its first ticks touch is there before them."""

        def key() -> int:
            search = self.state.search
            h = estimate(view, aim(view, int(search["goal"][0])), start, locate(view, start))
            return int(search["h_weight"][0]) * int(h) >> (int(view.shift) + WEIGHT_SHIFT)

        self._workspace.expect(start, key)

    def enlarge(self) -> None:
        """Double whatever is full."""
        state = self.state
        cutting = int(state.follow["cutting"][0])
        if cutting == TRACING:
            self.state = state._replace(route=np.empty(2 * len(state.route), np.int64))
        elif cutting == SEARCHING:
            table, queue = self._cut.enlarged(state.cut_table, state.cut_queue)
            self.state = state._replace(cut_table=table, cut_queue=queue)
        elif state.fronts.min() == 0:
            paths, fronts = enlarged_at_front(state.paths, state.fronts)
            more = paths.shape[1] - state.paths.shape[1]
            self.state = state._replace(paths=paths, fronts=fronts, ends=state.ends + more)
        else:
            table, queue = self._workspace.enlarged(state.table, state.queue)
            self.state = state._replace(table=table, queue=queue)
            if self._cut is self._workspace:
                self.state = self.state._replace(cut_table=table, cut_queue=queue)

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The rest of a shortcut, the way back to the path in force and along it; without where the agent is."""
        held = self.state
        shortcut = held.route[slice(*held.plan)] if held.follow["cutting"][0] == WALKING else held.route[:0]
        if not held.follow["begun"][0]:
            return shortcut.copy()
        origin = int(shortcut[-1]) if len(shortcut) else state
        states = np.empty(1024, np.int64)
        while (count := way_ahead(held, view, origin, states)) > len(states):
            states = np.empty(count, np.int64)
        return np.concatenate([shortcut, states[:count]])

    def sure(self, view: Any, state: int) -> bool:
        """Whether the way ahead leads to the goal, and nothing but an edit can lead the agent off it."""
        held, follow = self.state, self.state.follow[0]
        if not follow["begun"] or not follow["settled"] or follow["unjudged"] or follow["edits"] != edits(view):
            return False
        if not follow["shortcuts"] and not follow["late"]:
            return True
        # Off the path it looks for a shortcut; or steps to the root, which need not be the way back in the tree.
        row = int(follow["active"])
        walking = follow["cutting"] == WALKING and held.plan[0] < held.plan[1]
        front = int(held.fronts[row])
        on_path = front < held.ends[row] and state_of(held.table, int(held.paths[row, front])) == state
        return bool(walking or on_path)

    def memory_bytes(self) -> int:
        """Bytes of the states held and of the two paths."""
        paths = int((self.state.ends - self.state.fronts).sum())
        return self._workspace.bytes_for(int(self.state.counts["states"][0])) + 4 * paths

    def release(self) -> None:
        """Give the arrays back for the next search in this world."""
        self._workspace.release()
        if self._cut is not self._workspace:
            self._cut.release()


def needs_both_ways(world: Any) -> str | None:
    """The family steps back along its own tree."""
    if world.undirected:
        return None
    return "the agent must be able to step back, and this graph has one-way arcs"


_WEIGHT = Parameter("weight", float, 2.0, "how much more the heuristic counts", low=1.0, high=WEIGHT_MAX)
_REOPEN = Parameter("reopen", bool, False, "open a closed state again when it is reached more cheaply")
_ACTING = ("early", "late")
_RESTART = ("lazy", "eager")

TBA_STAR = Algorithm(
    name="tba*",
    summary="A* in slices; the agent walks towards the most promising state meanwhile",
    paper="Björnsson, Bulitko and Sturtevant 2009",
    parameters=(
        Parameter("r", float, 0.9, "share of the budget for expansions", low=0.01, high=0.99),
        Parameter("c", float, 10.0, "parents followed for the price of one expansion", low=1.0, high=1000.0),
        Parameter("shortcut", bool, False, "look for a shorter way to the solution path while stepping back to it"),
        Parameter("steady", bool, False, "switch only to a path whose end has at least the same g"),
        Parameter("acting", str, "early", "walk at once, or step to and fro until the path is known", choices=_ACTING),
        _REOPEN,
    ),
    make=TimeBoundedPlanner,
    refuses=needs_both_ways,
)

TB_WEIGHTED_A_STAR = Algorithm(
    name="tb-wa*",
    summary="TBA* on weighted A*: finds the goal sooner, dithers less",
    paper="Hernández, Asín and Baier 2014",
    parameters=(_WEIGHT, _REOPEN),
    make=TimeBoundedPlanner,
    refuses=needs_both_ways,
)

TB_GREEDY = Algorithm(
    name="tb-gbfs",
    summary="TBA* on greedy best-first search: fewest back-moves",
    paper="Hernández, Asín and Baier 2014",
    make=partial(TimeBoundedPlanner, g_weight=0.0),
    refuses=needs_both_ways,
)

REPEATED_TB_WEIGHTED_A_STAR = Algorithm(
    name="rtb-wa*",
    summary="TB-WA* for worlds that change: searches again only when an edit matters",
    paper="Hernández, Asín and Baier 2014",
    parameters=(
        _WEIGHT,
        Parameter("restart", str, "lazy", "search again when an edit may matter, or after any", choices=_RESTART),
        _REOPEN,
    ),
    make=TimeBoundedPlanner,
    refuses=needs_both_ways,
)

ALGORITHMS = (TBA_STAR, TB_WEIGHTED_A_STAR, TB_GREEDY, REPEATED_TB_WEIGHTED_A_STAR)
