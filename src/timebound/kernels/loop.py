"""The loop that owns time: it asks an algorithm for moves, checks each one, and keeps the books.

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

import numpy as np

from .jit import busy_ns, generic, inlined, kernel, now_ns
from .paths import add_exactly
from .ticks import Tick, rest, stride, tired
from .views import length, waiting

__all__ = [
    "AT_ONCE",
    "EPISODE",
    "NEEDS_ROOM",
    "NOT_YET",
    "NO_WAY",
    "decide",
    "displaced",
    "note_ends",
    "one_step",
    "put_at",
    "relocate",
    "retarget",
    "run",
    "send_to",
]

EPISODE = np.dtype(
    [
        ("position", np.int64),
        ("goal", np.int64),
        ("status", np.int64),
        ("moves", np.int64),
        ("ticks", np.int64),  # moves and waits
        ("lag", np.int64),  # ticks before the first move
        ("cost", np.float64),  # in the user's units
        ("cost_rest", np.float64),  # what rounding has taken from the sum so far
        ("pending", np.int64),  # moves still to be made before the next decision
        ("moves_per_decision", np.int64),  # at most
        ("deciding", np.int64),  # 1 while a decision is under way (it may be interrupted to enlarge an array)
        ("spent_before", np.int64),  # the count of expansions, learning apart, when the tick began
        ("deadline", np.int64),
        ("peak", np.int64),  # the most states in memory at the end of any tick
        ("nanoseconds", np.int64),  # spent in here altogether
        ("trail_from", np.int64),  # the number of the first state in ``trail``, which is only the diary's last page
        ("spent_from", np.int64),  # and of the first tick in ``spent``
    ]
)

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
def relocate(world, algorithm, episode, s, goal, clock):
    """For Python: ``put_at`` and ``send_to``. Returns False if a new planner must be made."""
    stays = put_at(world, algorithm, episode[0], s)
    return send_to(world, algorithm, episode[0], goal, clock) and stays


@kernel
def note_ends(episode, s, goal):
    """The same for the books alone, where there is no planner that could take note."""
    _stand_at(episode[0], s, goal)


@inlined
def one_step(algorithm, t):
    """What ``decide`` returns if the plan is one step: to ``t``."""
    algorithm.route[0] = t
    algorithm.plan[0] = 0
    algorithm.plan[1] = 1
    return 1


@kernel
def run(world, algorithm, trail, spent, episode, clock, ticks, limit, nanoseconds, move_limit):
    """Let an agent act for up to ``ticks`` ticks. Returns the episode's status."""
    # A game that steps every frame cannot afford the dearer clock; a race must not count what other programs took.
    step = ticks == 1
    began = now_ns(clock)
    rest(clock, began)
    if not step:
        began = busy_ns(clock)
    status = _act(world, algorithm, trail, spent, episode[0], clock, ticks, limit, nanoseconds, move_limit)
    episode[0].nanoseconds += (now_ns(clock) if step else busy_ns(clock)) - began
    return status


@inlined
def _act(world, algorithm, trail, spent, episode, clock, ticks, limit, nanoseconds, move_limit):
    counts = algorithm.counts[0]
    plan = algorithm.plan
    route = algorithm.route
    first_tick = episode.ticks
    last_tick = first_tick + ticks
    look_at = first_tick + min(_TICKS, stride(clock))
    look_after = counts.expanded + stride(clock)
    # After each tick it gives way to whoever waits to edit the world; the caller then calls again.
    while (
        episode.status == ACTIVE and episode.ticks < last_tick and (episode.ticks == first_tick or not waiting(world))
    ):
        if (
            episode.moves + 1 - episode.trail_from >= trail.shape[0]
            or episode.ticks - episode.spent_from >= spent.shape[0]
        ):
            return GROW_DIARY
        if episode.ticks > first_tick and (episode.ticks >= look_at or counts.expanded >= look_after):
            look_at = episode.ticks + min(_TICKS, stride(clock))
            look_after = counts.expanded + stride(clock)
            if tired(clock):
                return PAUSED
        s = episode.position
        step = length(world, s, route[plan[0]]) if episode.pending > 0 else -1.0
        if not episode.deciding:
            episode.deciding = 1
            episode.spent_before = counts.expanded - counts.learning
            episode.deadline = now_ns(clock) + nanoseconds if nanoseconds > 0 else 0
        if step < 0.0:
            # Nothing is committed, or what was committed has become impossible.
            episode.pending = 0
            left = limit - (counts.expanded - counts.learning - episode.spent_before)
            ready = decide(algorithm, world, s, Tick(left, episode.deadline, clock))
            if ready == NEEDS_ROOM:
                return GROW_ALGORITHM
            if ready == NOT_YET:
                return PAUSED
            if ready == NO_WAY:
                episode.status = UNREACHABLE
            episode.pending = min(max(ready, 0), episode.moves_per_decision)
            if episode.pending > 0:
                step = length(world, s, route[plan[0]])
                if step < 0.0:
                    episode.status = ILLEGAL
        episode.peak = max(episode.peak, counts.states)
        tick_spent = counts.expanded - counts.learning - episode.spent_before
        spent[episode.ticks - episode.spent_from] = tick_spent
        episode.ticks += 1
        episode.deciding = 0
        if tick_spent > limit:
            episode.status = OVER_BUDGET
        if episode.status != ACTIVE:
            break
        if episode.pending == 0:
            episode.lag += episode.moves == 0
            continue
        episode.position = route[plan[0]]
        plan[0] += 1
        episode.pending -= 1
        episode.cost, episode.cost_rest = add_exactly(episode.cost, episode.cost_rest, step)
        episode.moves += 1
        trail[episode.moves - episode.trail_from] = episode.position
        if episode.position == episode.goal:
            episode.status = REACHED
        elif episode.moves >= move_limit:
            episode.status = MOVE_LIMIT
    return episode.status
