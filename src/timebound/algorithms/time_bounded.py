"""The time-bounded family: TBA*, TB-WA*, TB-GBFS, RTB-WA*. One best-first search in slices, and an agent that follows.

TBA* (Björnsson, Bulitko and Sturtevant 2009) runs A* a few expansions per move and lets the agent walk along the path
to the most promising open state. When that path changes, the agent steps back along its tree until it meets the new
one. TB-BFS (Hernández, Asín and Baier 2014) is the same for any best-first search. So this is one algorithm; its
members differ in the evaluation f = g_weight g + h_weight h, and in how a tick's budget R is split:

* TBA*: floor(R r) expansions, and c parents followed for each expansion's worth of the rest (r = 0.9, c = 10). A path
  takes several ticks to trace; the old one stays in force until then. Once the search has found the goal, all of R
  goes to tracing.
* TB-WA*, TB-GBFS, RTB-WA*: R expansions (their k), and the path is traced whole every tick, as published.

When the world is edited, the search starts again from where the agent stands. RTB-WA* with lazy restarts (Algorithm 3
of 2014, ``holds`` below) does so only if an arc ahead has become dearer, or if an arc has become cheaper and a way
through it may cost less than 1/w of the rest of the path.

Chosen where the papers are silent or slip:

* The location is saved before the agent moves (000's line 30 stands too late).
* floor(R r) is at least 1, and so is N_T. Following a parent counts as a step, ending the trace does not.
* Closed states stay closed (``reopen=true`` opens them again). A step back goes to the state's parent of now.
* With nothing left of its path, the agent steps back; at the root it returns to where it came from.
* Late acting (row L of Table 1) steps between start and one neighbour until the whole path is known.
* A path to the goal is final once no open state is better; ``steady=true`` never rejects that one.
* Shortcuts: putting a state of the path on the open list costs as much as following a parent.
* A budget in milliseconds is split r : 1 - r in time, with r = 0.9 for the others too.
* Lazy restarts: "ahead" includes the way back to the path. "Dearer" and "the rest" mean against the costs that the
  search saw. Arcs that became cheaper are judged once the path reaches the goal: until then its cost says nothing
  about the way to the goal, and Theorem 3 would not hold. A path traced later through a tree that has seen edits is
  checked arc by arc, for parts of it may have been edited while it was not the path; if it fails, the search starts
  again at once with what is left of the tick's budget, and the agent waits if that is nothing.

Stepping back needs arcs that lead both ways, so directed graphs are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.best_first import SEARCH, advance, begin, best_open, cost_so_far, open_in_turn, parent
from ..kernels.edits import LogView, through
from ..kernels.jit import inlined, kernel, now_ns
from ..kernels.layout import (
    COUNTS,
    EXHAUSTED,
    FOUND,
    GROW,
    INFINITE,
    PAUSED,
    RUNNING,
    STAMP_SHIFT,
    WEIGHT_MAX,
    WEIGHT_ONE,
    WEIGHT_SHIFT,
)
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide
from ..kernels.memory import reserved
from ..kernels.tables import intern, state_of, word_of
from ..kernels.ticks import stride, tired
from ..kernels.views import aim, cost_between, degree, edits, estimate, locate, successor
from ..kernels.workspace import Workspace, new_record
from .registry import Algorithm, Parameter, World

FOLLOW = np.dtype(
    [
        ("begun", np.int64),
        ("edits", np.int64),  # the world's edit count when last looked at
        ("lazy", np.int64),  # 1: an edit does not always start the search again
        ("stale", np.int64),  # 1 if the world has been edited since the search began
        ("heard", np.int64),  # entries of the world's log that have been judged
        ("straight", np.int64),  # the estimate from the search's root when it began
        ("expansions", np.int64),  # per tick, N_E
        ("traces", np.int64),  # parents followed per tick, N_T; INFINITE: the whole path every tick
        ("traces_after", np.int64),  # the same once the goal is found
        ("share", np.float64),  # r: the searching part of a budget in time
        ("steady", np.int64),
        ("late", np.int64),
        ("shortcuts", np.int64),  # 1: look for a way from the agent to the final path while stepping back
        ("cutting", np.int64),  # what is being done about one: nothing, SEARCHING, TRACING, WALKING or RESTING
        ("cut_place", np.int64),  # RESTING: the state of the path to be opened next
        ("cut_steps", np.float64),  # and what is left of the tick's budget
        ("price", np.float64),  # c: parents followed for the price of an expansion
        ("first", np.int64),  # 1 until the first tick is over
        ("used", np.int64),  # expansions of this tick so far, in case it is interrupted to enlarge an array
        ("deadline", np.int64),  # when this tick must stop searching and begin tracing
        ("steps", np.int64),  # parents that may still be followed in this tick; -1 between ticks
        ("tracing", np.int64),  # slot to be traced next, or -1 when no trace is under way
        ("final", np.int64),  # 1 if the path under trace leads to the goal and nothing better is open
        ("settled", np.int64),  # 1 once the final path is the one being followed
        ("held", np.int64),  # states in memory when it was found
        ("active", np.int64),  # which of the two paths is being followed
        ("last", np.int64),  # slot where the agent was before, or -1
    ]
)

SEARCHING, TRACING, WALKING, RESTING = 1, 2, 3, 4  # a shortcut

_CLOCK_MASK = 255  # parents followed between two looks at the clock
_SKIP_MOST = 4096  # closed states passed over in one tick of a budget in time, on the look for an open one
_LISTEN_MOST = 1 << 14  # edits judged in one tick of a budget in time


class TimeBounded(NamedTuple):
    """What the agent holds between ticks."""

    table: NamedTuple
    queue: NamedTuple
    search: np.ndarray  # one SEARCH record
    follow: np.ndarray  # one FOLLOW record
    log: LogView  # the world's log of edits
    paths: np.ndarray  # int64[2, ...]: slots of the followed and of the traced path, each at the end of its row
    fronts: np.ndarray  # int64[2]: where they begin
    cut_table: NamedTuple  # of the search for a shortcut; without shortcuts the same as table and queue, and unused
    cut_queue: NamedTuple
    cut: np.ndarray  # one SEARCH record
    cut_counts: np.ndarray  # one COUNTS record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the next state, or the states of a shortcut
    plan: np.ndarray  # int64[2]


@decide.on(TimeBounded)
def _decide(algorithm, world, s, tick):
    limit = tick.limit
    deadline = tick.deadline
    clock = tick.clock
    table = algorithm.table
    queue = algorithm.queue
    paths = algorithm.paths
    fronts = algorithm.fronts
    search = algorithm.search[0]
    counts = algorithm.counts[0]
    follow = algorithm.follow[0]
    last = counts.expanded + limit
    if follow.begun and follow.edits != edits(world):
        follow.edits = edits(world)
        follow.stale = 1
        if not follow.lazy or not holds(world, algorithm.log, table, search, follow, paths, fronts, s, deadline):
            follow.begun = 0
            counts.restarts += 1
    elif follow.cutting == WALKING and algorithm.plan[0] < algorithm.plan[1]:
        return algorithm.plan[1] - algorithm.plan[0]
    while True:
        if not follow.begun:
            if begin(world, table, queue, search, counts, s, search.goal) == GROW:
                return NEEDS_ROOM
            start_following(world, algorithm.log, follow, fronts, paths)
            follow.straight = estimate(world, aim(world, search.goal), s, locate(world, s))
        here = intern(table, s)
        if follow.used == 0 and deadline > 0:
            follow.deadline = deadline - np.int64((1.0 - follow.share) * (deadline - now_ns(clock)))
        if search.status == RUNNING:
            allowed = follow.expansions
            if follow.first:
                # So few that the path can be traced in this same tick: the agent must have one to follow.
                allowed = min(allowed, follow.traces)
            before = counts.expanded
            status = advance(
                world, table, queue, search, counts, clock,
                min(allowed - follow.used, last - before), follow.deadline,
            )  # fmt: skip
            follow.used += counts.expanded - before
            if status == GROW:
                return NEEDS_ROOM
            if status == PAUSED:
                return NOT_YET
        if not (search.status == EXHAUSTED or follow.settled or (follow.late and search.status != FOUND)):
            if follow.steps < 0:
                follow.steps = follow.traces_after if search.status == FOUND else follow.traces
            clocked = 0 if follow.first else deadline
            if not trace(world, table, queue, search, follow, paths, fronts, here, clock, clocked):
                return NEEDS_ROOM
            follow.steps = -1
            if follow.settled:
                follow.held = counts.states
        if not follow.stale:
            if search.status == EXHAUSTED:
                return NO_WAY
            break
        if search.status != EXHAUSTED and holds(
            world, algorithm.log, table, search, follow, paths, fronts, s, deadline
        ):
            break
        # The tree belongs to a world that is no more. A new one is never stale: this happens once in a tick.
        follow.begun = 0
        counts.restarts += 1
    off = follow.settled and place_on_path(table, search, paths, fronts, follow.active, here) < 0
    if off and follow.shortcuts:
        ready = find_shortcut(algorithm, world, clock, s, last - counts.expanded, deadline)
        if ready != 0:
            return ready
    follow.used = 0
    follow.first = 0
    back_moves = counts.back_moves
    astray = counts.astray
    there = next_slot(world, table, search, follow, counts, paths, fronts, here)
    if there < 0:
        return 0
    if follow.stale and cost_between(world, s, state_of(table, there)) < 0:
        # At the end of its path, with no time to trace another, and the way back is shut.
        follow.begun = 0
        counts.restarts += 1
        counts.back_moves = back_moves
        counts.astray = astray
        return 0
    follow.last = here
    algorithm.route[0] = state_of(table, there)
    algorithm.plan[0] = 0
    algorithm.plan[1] = 1
    return 1


@inlined
def start_following(world, log, follow, fronts, paths):
    """A new search has begun: no path is followed, none is under trace."""
    follow.begun = 1
    follow.edits = edits(world)
    follow.stale = 0
    follow.heard = log.total[0]
    follow.cutting = 0
    follow.first = 1
    follow.used = 0
    follow.deadline = 0
    follow.steps = -1
    follow.tracing = -1
    follow.final = 0
    follow.settled = 0
    follow.last = -1
    fronts[0] = paths.shape[1]
    fronts[1] = paths.shape[1]


@inlined
def trace(world, table, queue, search, follow, paths, fronts, here, clock, deadline):
    """Trace the path to the most promising state some steps further; follow it when done. False: no room."""
    size = paths.shape[1]
    fresh = 1 - follow.active
    if follow.tracing < 0:
        follow.tracing = best_open(world, table, queue, search, INFINITE if deadline == 0 else _SKIP_MOST)
        if follow.tracing < 0:
            # Nothing is open: the search has just found out that there is no way. Or there is no time to look on.
            follow.tracing = -1
            return True
        follow.final = search.status == FOUND
        fronts[fresh] = size
    # Of a path that is traced anew every tick only the part beyond the agent matters, unless an edit may come.
    whole = follow.traces < INFINITE or follow.final or follow.lazy
    floor = -1 if whole else cost_so_far(table, search, here)
    while fronts[fresh] > 0:
        slot = follow.tracing
        done = slot == here or slot == search.root or cost_so_far(table, search, slot) <= floor
        if not done:
            # Not before the first 255 steps of a tick, so that every tick makes headway.
            late = deadline > 0 and follow.steps & _CLOCK_MASK == 1 and now_ns(clock) > deadline
            if follow.steps == 0 or late:
                return True
        fronts[fresh] -= 1
        paths[fresh, fronts[fresh]] = slot
        if done:
            follow.tracing = -1
            end = cost_so_far(table, search, paths[fresh, size - 1])
            stays = follow.steady and not follow.final and fronts[follow.active] < size
            if not (stays and end < cost_so_far(table, search, paths[follow.active, size - 1])):
                follow.active = fresh
                follow.settled = follow.final
            return True
        follow.tracing = parent(world, table, search, slot)
        follow.steps -= 1
    return False


@inlined
def place_on_path(table, search, paths, fronts, row, here):
    """Where on a path the agent is; -1 if it is not, or only at its end."""
    # g grows along a path, so halving finds the only place where the agent can be on it.
    low = fronts[row]
    high = paths.shape[1] - 1
    g = cost_so_far(table, search, here)
    while low < high:
        middle = (low + high) // 2
        if cost_so_far(table, search, paths[row, middle]) < g:
            low = middle + 1
        else:
            high = middle
    return low if low < paths.shape[1] - 1 and paths[row, low] == here else np.int64(-1)


@inlined
def next_slot(world, table, search, follow, counts, paths, fronts, here):
    """Where to step: along the path if the agent is on it, else back; -1 if it cannot move."""
    row = follow.active
    if follow.late and not follow.settled:
        return some_neighbour(world, table, search) if here == search.root else search.root
    k = place_on_path(table, search, paths, fronts, row, here)
    if k >= 0:
        fronts[row] = k + 1  # what has been walked is dropped
        return paths[row, k + 1]
    if here != search.root:
        counts.back_moves += 1
        counts.astray += follow.settled
        return search.root if follow.late else parent(world, table, search, here)
    return follow.last


@inlined
def holds(world, log, table, search, follow, paths, fronts, s, deadline):
    """Whether the search may go on in a world that has been edited: RestartSearch? of Algorithm 3, the other way."""
    root = state_of(table, search.root)
    if estimate(world, aim(world, search.goal), root, locate(world, root)) < follow.straight:
        return False  # some ground became cheaper than any was: the open states' keys were made with higher estimates
    rest = remaining(world, table, search, paths, fronts, follow.active, intern(table, s))
    if rest < 0:
        return False
    if not follow.settled:
        return True
    fresh = log.total[0] - follow.heard
    if fresh > (log.entries.shape[0] if deadline == 0 else min(log.entries.shape[0], _LISTEN_MOST)):
        return False  # so many edits that the log has lost some, or that judging them would take too long
    # w c' < rest, with w in fixed point.
    bound = ((rest << WEIGHT_SHIFT) - 1) // search.h_weight + 1
    to_s = aim(world, s)
    to_goal = aim(world, search.goal)
    first = follow.heard
    follow.heard = log.total[0]
    if estimate(world, to_goal, s, locate(world, s)) >= bound:
        return True  # no way through any arc can be estimated lower than the straight one
    for k in range(first, first + fresh):
        if through(world, log.entries[k % log.entries.shape[0]], to_s, to_goal, bound) < bound:
            return False
    return True


@inlined
def remaining(world, table, search, paths, fronts, row, here):
    """What the way back to the path and along it costs; -1 if an arc on it is shut, or dearer than the search saw."""
    size = paths.shape[1]
    total = np.int64(0)
    if fronts[row] == size:
        return total
    slot = here
    k = place_on_path(table, search, paths, fronts, row, slot)
    while k < 0 and slot != search.root and slot != paths[row, size - 1]:
        back = parent(world, table, search, slot)
        known = cost_so_far(table, search, slot) - cost_so_far(table, search, back)
        c = cost_between(world, state_of(table, slot), state_of(table, back))
        if c < 0 or c > known:
            return np.int64(-1)
        total += known
        slot = back
        k = place_on_path(table, search, paths, fronts, row, slot)
    if k < 0:
        return total
    while k < size - 1:
        u = paths[row, k]
        v = paths[row, k + 1]
        known = cost_so_far(table, search, v) - cost_so_far(table, search, u)
        c = cost_between(world, state_of(table, u), state_of(table, v))
        if c < 0 or c > known:
            return np.int64(-1)
        total += known
        k += 1
    return total


@inlined
def find_shortcut(algorithm, world, clock, s, limit, deadline):
    """Enhancement 1: A* from the path to the agent. Returns the moves ready, 0 if it found nothing, or as ``decide``.

    The states of the path are its roots, each with its distance to the goal as g. They need not all be opened at
    once: f = g + h never falls from the goal backwards, so the next one is opened when its turn comes.
    """
    table = algorithm.table
    paths = algorithm.paths
    fronts = algorithm.fronts
    search = algorithm.search[0]
    follow = algorithm.follow[0]
    counts = algorithm.counts[0]
    cut_table = algorithm.cut_table
    cut_queue = algorithm.cut_queue
    cut = algorithm.cut[0]
    cut_counts = algorithm.cut_counts[0]
    row = follow.active
    end = paths.shape[1] - 1
    steps = min(limit, 1 << 40) * follow.price
    k = end - 1
    if follow.cutting == RESTING:
        follow.cutting = SEARCHING
        steps = follow.cut_steps
        k = follow.cut_place
    else:
        follow.cutting = SEARCHING
        if begin(world, cut_table, cut_queue, cut, cut_counts, search.goal, s) == GROW:
            return NEEDS_ROOM
    reach = cost_so_far(table, search, paths[row, end])
    left = stride(clock)
    while steps > 0:
        left -= 1
        if left < 0:
            left = stride(clock)
            if tired(clock):
                follow.cutting = RESTING
                follow.cut_steps = steps
                follow.cut_place = k
                return NOT_YET
        if k >= fronts[row]:
            slot = paths[row, k]
            done = open_in_turn(
                world, cut_table, cut_queue, cut, state_of(table, paths[row, k + 1]), state_of(table, slot),
                reach - cost_so_far(table, search, slot),
            )  # fmt: skip
            if done == GROW:
                return NEEDS_ROOM
            if done == FOUND:
                k -= 1
                steps -= 1
                if deadline > 0 and k & 31 == 0 and now_ns(clock) > deadline:
                    break
                continue
        if cut.status != RUNNING:
            break
        if steps < follow.price:
            break
        before = cut_counts.expanded
        if advance(world, cut_table, cut_queue, cut, cut_counts, clock, 1, 0) == GROW:
            return NEEDS_ROOM
        counts.expanded += cut_counts.expanded - before
        steps -= follow.price
        if deadline > 0 and now_ns(clock) > deadline:
            break
    counts.states = follow.held + cut_counts.states
    follow.cutting = 0
    if cut.status != FOUND:
        return 0
    # From the agent to the first state of the path; from there on the path is followed as before.
    slot = cut.goal_slot
    ready = np.int64(0)
    on_path = False
    while not on_path:
        if ready == algorithm.route.shape[0]:
            follow.cutting = TRACING
            return NEEDS_ROOM
        slot = parent(world, cut_table, cut, slot)
        t = state_of(cut_table, slot)
        algorithm.route[ready] = t
        ready += 1
        seen = word_of(table, t) > search.top >> STAMP_SHIFT << STAMP_SHIFT
        on_path = slot == cut.root or (
            seen and place_on_path(table, search, paths, fronts, row, intern(table, t)) >= 0
        )  # fmt: skip
    follow.cutting = WALKING
    follow.used = 0
    algorithm.plan[0] = 0
    algorithm.plan[1] = ready
    return ready


@inlined
def some_neighbour(world, table, search):
    """The slot of one legal successor of the root, for late acting; -1 if it has none.

    The paper chooses at random. Counting to a number hashed from the root's estimate does so and repeats itself.
    """
    s = state_of(table, search.root)
    h = estimate(world, aim(world, search.goal), s, locate(world, s))
    legal = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        legal += c >= 0
    if legal == 0:
        return np.int64(-1)
    chosen = (((h & 0xFFFFFF) * 40503) >> 8) % legal
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            if chosen == 0:
                return intern(table, t)
            chosen -= 1
    return np.int64(-1)


@kernel
def way_ahead(algorithm, world, s, states):
    """Write the states that the agent means to visit; returns how many there are, even if not all fit."""
    table = algorithm.table
    search = algorithm.search[0]
    follow = algorithm.follow[0]
    paths = algorithm.paths
    count = 0
    if follow.cutting == WALKING:
        for i in range(algorithm.plan[0], algorithm.plan[1]):
            s = algorithm.route[i]
            if count < states.shape[0]:
                states[count] = s
            count += 1
    if not follow.begun or algorithm.fronts[follow.active] == paths.shape[1]:
        return count
    slot = intern(table, s)
    k = place_on_path(table, search, paths, algorithm.fronts, follow.active, slot)
    while k < 0 and slot != search.root:
        slot = parent(world, table, search, slot)
        if count < states.shape[0]:
            states[count] = state_of(table, slot)
        count += 1
        k = place_on_path(table, search, paths, algorithm.fronts, follow.active, slot)
    while k >= 0 and k + 1 < paths.shape[1]:
        k += 1
        if count < states.shape[0]:
            states[count] = state_of(table, paths[follow.active, k])
        count += 1
    return count


class TimeBoundedPlanner:
    """The Python half: owns the arrays, lends them to the kernels, enlarges them when asked."""

    def __init__(
        self,
        world: World,
        goal: int,
        budget: Any,
        *,
        g_weight: float = 1.0,
        h_weight: float = 1.0,
        reopen: bool = False,
        share: float = 1.0,
        ratio: float = 0.0,
        steady: bool = False,
        late: bool = False,
        shortcuts: bool = False,
        lazy: bool = False,
    ) -> None:
        self._workspace = Workspace.of(world, real_time=True)
        self._cut = Workspace.of(world, real_time=True) if shortcuts else self._workspace
        # No path has more states than the world, where they can be counted.
        longest = 1024 if world.table == "hashed" else world.states + 1
        search, follow, cut = new_record(SEARCH), new_record(FOLLOW), new_record(SEARCH)
        cut["g_weight"] = cut["h_weight"] = WEIGHT_ONE
        cut["reopen"] = 1
        search["goal"] = goal
        search["g_weight"] = int(g_weight * WEIGHT_ONE)
        search["h_weight"] = int(h_weight * WEIGHT_ONE)
        search["reopen"] = reopen
        resources = budget.expansions
        follow["share"], follow["steady"], follow["late"] = min(share, 0.9), steady, late
        follow["shortcuts"], follow["lazy"], follow["price"] = shortcuts, lazy, max(ratio, 1.0)
        # Without a bound on expansions (a budget in time, or none) a path is traced whole.
        follow["expansions"] = INFINITE if resources is None else max(1, int(resources * share + 1e-9))
        follow["traces"] = follow["traces_after"] = INFINITE
        if resources is not None and ratio > 0:
            rest = resources - int(follow["expansions"][0])
            follow["traces"] = min(max(1, int(rest * ratio + 1e-9)), INFINITE - 1)
            follow["traces_after"] = min(max(1, int(resources * ratio + 1e-9)), INFINITE - 1)
        self.state = TimeBounded(
            self._workspace.table,
            self._workspace.queue,
            search,
            follow,
            world.changes.view,
            reserved((2, longest)),
            np.full(2, longest),
            self._cut.table,
            self._cut.queue,
            cut,
            new_record(COUNTS),
            new_record(COUNTS),
            np.empty(64, np.int64),
            np.zeros(2, np.int64),
        )

    def enlarge(self) -> None:
        """Double whatever is full."""
        state = self.state
        cutting = int(state.follow["cutting"][0])
        if cutting == TRACING:
            self.state = state._replace(route=np.empty(2 * len(state.route), np.int64))
        elif cutting == SEARCHING:
            self._cut.table, self._cut.queue = state.cut_table, state.cut_queue
            self._cut.enlarge()
            self.state = state._replace(cut_table=self._cut.table, cut_queue=self._cut.queue)
        elif state.fronts.min() == 0:
            size = state.paths.shape[1]
            paths = np.empty((2, 2 * size), np.int64)
            paths[:, size:] = state.paths
            self.state = state._replace(paths=paths, fronts=state.fronts + size)
        else:
            # An interrupt may have come between the two before; the arrays that the search uses are those that count.
            self._workspace.table, self._workspace.queue = state.table, state.queue
            self._workspace.enlarge()
            self.state = state._replace(table=self._workspace.table, queue=self._workspace.queue)
            if self._cut is self._workspace:
                self.state = self.state._replace(cut_table=self._cut.table, cut_queue=self._cut.queue)

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The way back to the path in force and along it, without where the agent is."""
        states = np.empty(1024, np.int64)
        while True:
            count = way_ahead(self.state, view, state, states)
            if count <= len(states):
                return states[:count].copy()
            states = np.empty(count, np.int64)

    def memory_bytes(self) -> int:
        """Bytes of the states held and of the two paths."""
        paths = self.state.paths.shape[1] * 2 - int(self.state.fronts.sum())
        return self._workspace.bytes_for(int(self.state.counts["states"][0])) + 8 * paths

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

TBA_STAR = Algorithm(
    name="tba*",
    summary="A* in slices; the agent walks towards the most promising state meanwhile",
    paper="Björnsson, Bulitko and Sturtevant 2009",
    parameters=(
        Parameter("r", float, 0.9, "share of the budget for expansions", low=0.01, high=0.99),
        Parameter("c", float, 10.0, "parents followed for the price of one expansion", low=1.0, high=1000.0),
        Parameter("shortcut", bool, False, "look for a shorter way to the solution path while stepping back to it"),
        Parameter("steady", bool, False, "switch only to a path whose end has at least the same g"),
        Parameter(
            "acting",
            str,
            "early",
            "walk at once, or step to and fro until the path is known",
            choices=("early", "late"),
        ),
        _REOPEN,
    ),
    make=lambda world, goal, budget, r, c, shortcut, steady, acting, reopen: TimeBoundedPlanner(
        world,
        goal,
        budget,
        share=r,
        ratio=c,
        shortcuts=shortcut,
        steady=steady,
        late=acting == "late",
        reopen=reopen,
    ),
    refuses=needs_both_ways,
)

TB_WEIGHTED_A_STAR = Algorithm(
    name="tb-wa*",
    summary="TBA* on weighted A*: finds the goal sooner, dithers less",
    paper="Hernández, Asín and Baier 2014",
    parameters=(_WEIGHT, _REOPEN),
    make=lambda world, goal, budget, weight, reopen: TimeBoundedPlanner(
        world, goal, budget, h_weight=weight, reopen=reopen
    ),
    refuses=needs_both_ways,
)

TB_GREEDY = Algorithm(
    name="tb-gbfs",
    summary="TBA* on greedy best-first search: fewest back-moves",
    paper="Hernández, Asín and Baier 2014",
    make=lambda world, goal, budget: TimeBoundedPlanner(world, goal, budget, g_weight=0.0),
    refuses=needs_both_ways,
)

REPEATED_TB_WEIGHTED_A_STAR = Algorithm(
    name="rtb-wa*",
    summary="TB-WA* for worlds that change: searches again only when an edit matters",
    paper="Hernández, Asín and Baier 2014",
    parameters=(
        _WEIGHT,
        Parameter(
            "restart",
            str,
            "lazy",
            "search again when an edit may matter, or after any",
            choices=("lazy", "eager"),
        ),
        _REOPEN,
    ),
    make=lambda world, goal, budget, weight, restart, reopen: TimeBoundedPlanner(
        world, goal, budget, h_weight=weight, lazy=restart == "lazy", reopen=reopen
    ),
    refuses=needs_both_ways,
)

ALGORITHMS = (TBA_STAR, TB_WEIGHTED_A_STAR, TB_GREEDY, REPEATED_TB_WEIGHTED_A_STAR)
