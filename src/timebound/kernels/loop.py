"""The loop that owns time: it asks algorithms for moves, checks each one, and keeps the books.

One text of a ``tick`` serves an agent alone, who makes as many as it likes (``run``), and a fleet, each of whose agents
makes one (``frames``). Agents are loaded from a shelf (``native``): a call costs the same for one as for ten thousand.

An algorithm is a NamedTuple with at least these fields, and a text for ``decide``:

* ``counts``: a COUNTS record array;
* ``route``: int64[...], where ``decide`` leaves the states to step to next;
* ``plan``: int64[2], the part of ``route`` not yet walked, first (inclusive) to last (exclusive).

The budget bounds what is expanded to choose a move; expansions made while learning are bounded by those and counted
apart, as the papers do.

``decide`` says what to do; whether a move is legal and within its budget is judged here, for every algorithm alike.

Between two ticks the goal may move (``send_to``), or the agent be put elsewhere (``put_at``). An algorithm may have
texts for ``retarget`` and ``displaced`` that keep what still holds; one that has none gets a new planner from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .jit import (
    CACHE_LINE,
    at,
    busy_ns,
    fetch_and_add,
    generic,
    inlined,
    kernel,
    now_ns,
)
from .native import Kind, Shelf, entrance, kind_of, load
from .paths import add_exactly
from .telling import BACK, MOVED, mark_tick, tell
from .ticks import Tick, rest, stride, tired
from .views import length, waiting, write_point
from .workspace import new_record

__all__ = [
    "AT_ONCE",
    "EPISODE",
    "NEEDS_ROOM",
    "NOT_YET",
    "NO_WAY",
    "Alone",
    "can_walk_on",
    "decide",
    "displaced",
    "foresee_steps",
    "foresee_tables",
    "move",
    "note_ends",
    "one_step",
    "put_at",
    "relocate",
    "relocator",
    "retarget",
    "run",
    "runner",
    "send_to",
    "tick",
    "walk_on",
]

# What every tick of a fleet reads or writes lies in the first two lines of the cache; records begin with a line.
_EPISODE = np.dtype(
    [
        ("position", np.int64),
        ("goal", np.int64),
        ("status", np.int64),
        ("crew", np.int64),  # in a fleet: the number of the crew that it belongs to
        ("served", np.int64),  # in a fleet: the number of the frame in which it last had its turn, whole
        ("outcome", np.int64),  # what the last call came to: a status, or one of those for the caller
        ("pending", np.int64),  # moves still to be made before the next decision
        ("wish", np.int64),  # in a fleet: where it would step if it is to hold; where it stands if nowhere
        ("moves", np.int64),
        ("ticks", np.int64),  # moves and waits; in a fleet without the waits of who had no turn
        ("cost", np.float64),  # in the user's units
        ("cost_rest", np.float64),  # what rounding has taken from the sum so far
        ("weight", np.int64),  # in a fleet: how many shares of a frame it has
        ("limit", np.int64),  # expansions per move
        # While a decision is under way, what it may expand: it may be interrupted. What stands below then tells when
        # it must end, and what the count of expansions, learning apart, was when the tick began.
        ("deciding", np.int64),
        ("peak", np.int64),  # the most states in memory at the end of any tick
        ("deadline", np.int64),
        ("spent_before", np.int64),
        ("lag", np.int64),  # ticks before the first move
        # Alone:
        ("moves_per_decision", np.int64),  # at most; in a fleet it is one
        ("trail_from", np.int64),  # the number of the first state in ``trail``, which is only the diary's last page
        ("spent_from", np.int64),  # and of the first tick in ``spent``
        ("time_limit", np.int64),  # nanoseconds per move; 0: none
        ("move_limit", np.int64),
        ("nanoseconds", np.int64),  # spent in here altogether
    ]
)
_NAMES = list(_EPISODE.names or ())
_FORMATS = [_EPISODE[name] for name in _NAMES]
EPISODE = np.dtype({"names": _NAMES, "formats": _FORMATS, "itemsize": 4 * CACHE_LINE})

# What an episode's status can be. Those from GROW_DIARY on are for the caller, which mends them and calls again.
ACTIVE, REACHED, UNREACHABLE, MOVE_LIMIT, GROW_DIARY, GROW_ALGORITHM, OVER_BUDGET, ILLEGAL, PAUSED = range(9)

# What ``decide`` may return besides the number of moves that are ready (0: none yet, wait a tick).
NO_WAY = -1
NEEDS_ROOM = -2
NOT_YET = -3  # it has taken long; call again

AT_ONCE = 32  # expansions that ``retarget`` may make, between two ticks

_TICKS = 64  # between two looks at the clock, if they are short


@generic
def decide(algorithm, world, s, tick):
    """Plan for an agent at ``s`` within the limits of the tick.

    Returns how many states are ready in ``route``, or NO_WAY, or NEEDS_ROOM or NOT_YET to be called again in the same
    tick.
    """


@generic
def retarget(algorithm, world, s, goal, tick):
    """The goal is ``goal`` from now on, and the agent stands at ``s``: keep what still holds.

    Returns False if nothing of it can be used, and a new planner is to be made; that is so for an algorithm without a
    text. It may be asked for thousands of agents between two frames, so it takes a constant time, however much there
    is: longer work is done in the ticks that follow, by ``decide``. It may expand ``tick.limit`` states, which are
    counted as expanded while learning. What was planned is dropped, unless dropping it again and again would keep the
    agent from ever walking; so is what had been paused in the middle of a tick: what it has expanded stays counted.
    ``world`` is the view for the new goal.
    """


@retarget.otherwise
def _keeps_nothing(algorithm, world, s, goal, tick):
    return False


@generic
def displaced(algorithm, world, s):
    """The agent has been put to ``s``: pushed, knocked back, teleported. Go on from there.

    Returns False if that cannot be done, and a new planner is to be made; as ``retarget`` in all else.
    """


@displaced.otherwise
def _cannot_go_on(algorithm, world, s):
    return False


@generic
def walk_on(algorithm, world, s):
    """A step without planning, for an agent at ``s`` whose turn has not come: the next one of what is planned already.

    Returns how many states are known to lie ahead, of which the first is ready in ``route``: 0 if there is none, and
    the agent waits; 1 if that is the last, and it should have a turn soon; 2 if there are more. It takes a time with a
    bound, that of halving a path and a few dozen steps along it at most, and expands nothing. What it leads to must be
    a legal step, whatever was edited.
    """


@walk_on.otherwise
def _stays(algorithm, world, s):
    return 0


def can_walk_on(algorithm: Any) -> bool:
    """Whether there is a text for such."""
    return walk_on.knows(type(algorithm))


@generic
def foresee_steps(algorithm, world, s, ahead):
    """As ``foresee_tables``, for an agent that will walk on."""


@foresee_steps.otherwise
def _no_step_foreseen(algorithm, world, s, ahead):
    pass


@generic
def foresee_tables(algorithm, world, s, ahead):
    """Tell the processor which places of its tables an agent at ``s`` will look at: a hint that may be left out.

    It is called in five turns before the agent's own, with ``ahead`` from 5 to 1. What was asked for in one turn is
    there in the next and can be read, to find out what else to ask for. Before that, with the first call, the agent's
    own arrays are asked for: none may be read yet.
    """


@foresee_tables.otherwise
def _nothing_foreseen(algorithm, world, s, ahead):
    pass


@inlined
def send_to(world, algorithm, episode, goal, clock):
    """Give an agent another goal, between two ticks; ``world`` is the view for it.

    Returns False if the caller must make a new planner for that goal before the next tick. The books go on. Whoever has
    used up its moves stays where it is.
    """
    if goal == episode.goal:
        return True
    _stand_at(episode, episode.position, goal)
    return retarget(algorithm, world, episode.position, goal, Tick(np.int64(AT_ONCE), np.int64(0), clock))


@inlined
def put_at(world, algorithm, episode, s):
    """Put an agent elsewhere, between two ticks. Returns False if the caller must make a new planner.

    That is no move: it costs nothing and is not written into the trail. The state where it stands now is to be the
    first of a new one, which is for the caller to see to.
    """
    if s == episode.position:
        return True
    _stand_at(episode, s, episode.goal)
    return displaced(algorithm, world, s)


@inlined
def _stand_at(episode, s, goal):
    episode.position = s
    episode.goal = goal
    episode.pending = 0
    if episode.status <= UNREACHABLE:
        episode.status = REACHED if s == goal else ACTIVE


@kernel
def relocate(view_kind, kind, views, rows, seats, episodes, order, places, goals, points, noted, clock):
    """Put the agents that ``order`` names to ``places`` and send them to ``goals``, between two ticks.

    Those for whom a new planner must be made are ``noted``: how many, then which.
    """
    world = load(view_kind, views, 0)
    for n in range(order.shape[0]):
        k = order[at(n)]
        episode = episodes[at(k)]
        algorithm = load(kind, rows, seats[at(k)])
        stays = put_at(world, algorithm, episode, places[at(n)])
        if not (send_to(world, algorithm, episode, goals[at(n)], clock) and stays):
            noted[1 + fetch_and_add(noted, 1)] = k
        if points.shape[0] > k:
            write_point(world, points, k, episode.position)


@kernel
def note_ends(episode, s, goal):
    """The same for the books alone, where there is no planner that could take note."""
    _stand_at(episode[0], s, goal)


@inlined
def move(algorithm, episode, step):
    """Make the move that is next in the plan, of that length."""
    plan = algorithm.plan
    episode.position = algorithm.route[at(plan[0])]
    plan[0] += 1
    episode.pending -= 1
    episode.cost, episode.cost_rest = add_exactly(episode.cost, episode.cost_rest, step)
    episode.moves += 1
    if episode.position == episode.goal:
        episode.status = REACHED


@inlined
def one_step(algorithm, t):
    """What ``decide`` returns if the plan is one step: to ``t``."""
    algorithm.route[0] = t
    algorithm.plan[0] = 0
    algorithm.plan[1] = 1
    return 1


@inlined
def tick(world, algorithm, episode, limit, most_moves, deadline, clock, holds):
    """One tick of an agent that may expand ``limit`` states; or the rest of one, if it was interrupted.

    Returns its status, or what the caller is asked for, and what the tick has expanded. The moves that a decision has
    made ready are ``most_moves`` at most. With ``holds`` the move itself is left to the caller.
    """
    counts = algorithm.counts[0]
    plan = algorithm.plan
    route = algorithm.route
    s = episode.position
    step = length(world, s, route[at(plan[0])]) if episode.pending > 0 else -1.0
    spent_before = counts.expanded - counts.learning
    if episode.deciding:
        deadline = episode.deadline
        spent_before = episode.spent_before
    else:
        episode.deciding = limit
    if step < 0.0:
        # Nothing is committed, or what was committed has become impossible.
        episode.pending = 0
        left = episode.deciding - (counts.expanded - counts.learning - spent_before)
        ready = decide(algorithm, world, s, Tick(left, deadline, clock))
        if ready <= NEEDS_ROOM:  # or NOT_YET
            episode.deadline = deadline
            episode.spent_before = spent_before
            return GROW_ALGORITHM if ready == NEEDS_ROOM else PAUSED, np.int64(0)
        if ready == NO_WAY:
            episode.status = UNREACHABLE
        episode.pending = min(max(ready, 0), most_moves)
        if episode.pending > 0:
            step = length(world, s, route[at(plan[0])])
            if step < 0.0:
                episode.status = ILLEGAL
    episode.peak = max(episode.peak, counts.states)
    spent = counts.expanded - counts.learning - spent_before
    episode.ticks += 1
    mark_tick(world, episode.ticks)
    if spent > episode.deciding:
        episode.status = OVER_BUDGET
    episode.deciding = 0
    if episode.status == ACTIVE:
        if episode.pending == 0:
            episode.lag += episode.moves == 0
        elif holds:
            episode.wish = route[at(plan[0])]
        else:
            move(algorithm, episode, step)
    return episode.status, spent


@kernel
def run(view_kind, kind, views, rows, records, ticks, trail, spent, clock):
    """The ticks of an agent alone, one or more. Returns its status, or what the caller is asked for.

    Its record is ``records[0]``. It keeps a diary: the states that it was in are written into ``trail``, and what each
    tick has expanded into ``spent``.
    """
    world = load(view_kind, views, 0)
    algorithm = load(kind, rows, 0)
    episode = records[0]
    # A game that steps every frame cannot afford the dearer clock; a race must not count what other programs took.
    step = ticks == 1
    began = now_ns(clock)
    rest(clock, began)
    if not step:
        began = busy_ns(clock)
    outcome = _ticks(world, algorithm, episode, ticks, trail, spent, clock)
    episode.nanoseconds += (now_ns(clock) if step else busy_ns(clock)) - began
    return outcome


@inlined
def _ticks(world, algorithm, episode, ticks, trail, spent, clock):
    counts = algorithm.counts[0]
    first_tick = episode.ticks
    mark_tick(world, first_tick)
    last_tick = first_tick + ticks
    look_at = first_tick + min(_TICKS, stride(clock))
    look_after = counts.expanded + stride(clock)
    # After each tick it gives way to whoever waits to edit the world; the caller then calls again.
    while (
        episode.status == ACTIVE and episode.ticks < last_tick and (episode.ticks == first_tick or not waiting(world))
    ):
        moves = episode.moves
        if moves + 1 - episode.trail_from >= trail.shape[0] or episode.ticks - episode.spent_from >= spent.shape[0]:
            return GROW_DIARY
        if episode.ticks > first_tick and (episode.ticks >= look_at or counts.expanded >= look_after):
            look_at = episode.ticks + min(_TICKS, stride(clock))
            look_after = counts.expanded + stride(clock)
            if tired(clock):
                return PAUSED
        s = episode.position
        stepped_back = counts.back_moves
        deadline = np.int64(0)
        if episode.time_limit > 0 and not episode.deciding:
            deadline = now_ns(clock) + episode.time_limit
        most_moves = episode.moves_per_decision
        outcome, tick_spent = tick(world, algorithm, episode, episode.limit, most_moves, deadline, clock, False)
        if outcome in (GROW_ALGORITHM, PAUSED):
            return outcome
        spent[at(episode.ticks - 1 - episode.spent_from)] = tick_spent
        if episode.moves > moves:
            tell(world, BACK if counts.back_moves > stepped_back else MOVED, episode.position, s, -1, -1)
            trail[at(episode.moves - episode.trail_from)] = episode.position
            if episode.moves >= episode.move_limit and episode.status == ACTIVE:
                episode.status = MOVE_LIMIT
    return episode.status


_NUMBERS = np.zeros(1, np.int64)
_SHELF = np.zeros((1, 1), np.int64)  # nobody's rows, nobody's points


@cache
def runner(view_kind: Kind, kind: Kind) -> Callable[..., int]:
    """``run`` for worlds and algorithms of these kinds."""
    return entrance(run, view_kind, kind, _SHELF, _SHELF, new_record(EPISODE), 1, _NUMBERS, _NUMBERS, _NUMBERS)


@cache
def relocator(view_kind: Kind, kind: Kind) -> Callable[..., None]:
    """``relocate`` for worlds and algorithms of these kinds."""
    numbers = (_NUMBERS,) * 3
    rows = _SHELF, _SHELF, _NUMBERS
    return entrance(relocate, view_kind, kind, *rows, new_record(EPISODE), *numbers, _SHELF, _NUMBERS, _NUMBERS)


class Alone:
    """One agent and its calls of ``run``: what does not change from call to call is laid out once."""

    def __init__(self, view: Any, episode: Any) -> None:
        self._views = Shelf(kind_of(view))
        self._views.put(0, view)
        self._view = view  # keeps its arrays alive
        self._episode = episode
        self._shelf: Shelf | None = None
        self._state: Any = None  # what is on the shelf

    def run(self, state: Any, trail: np.ndarray, spent: np.ndarray, clock: np.ndarray, ticks: int) -> int:
        """Up to so many ticks; returns the episode's status, or what the caller is asked for."""
        if state is not self._state:
            self._take(state)
        kinds = self._views.kind.token, self._kind.token
        return self._run(*kinds, self._views.rows, self._rows, self._episode, ticks, trail, spent, clock)

    def relocate(self, state: Any, place: int, goal: int, clock: np.ndarray) -> bool:
        """Put the agent somewhere and send it to a goal. False: a new planner must be made."""
        if state is not self._state:
            self._take(state)
        noted = np.zeros(2, np.int64)
        ends = np.array([place]), np.array([goal])
        relocator(self._views.kind, self._kind)(
            self._views.kind.token,
            self._kind.token,
            self._views.rows,
            self._rows,
            _NUMBERS,
            self._episode,
            _NUMBERS,
            *ends,
            _SHELF[:0],
            noted,
            clock,
        )
        return not noted[0]

    def _take(self, state: Any) -> None:
        """Write the state down; it was made anew, or something in it was exchanged."""
        kind = kind_of(state)
        if self._shelf is None or self._shelf.kind is not kind:
            self._shelf = Shelf(kind)
            self._run = runner(self._views.kind, kind)
        self._shelf.put(0, state)
        self._rows, self._kind, self._state = self._shelf.rows, kind, state
