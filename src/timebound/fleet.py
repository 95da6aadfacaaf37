"""Many agents under one frame: a game's units, each planning a little per tick, all of them within a budget together.

The agents of one kind (an algorithm and a world as compiled code sees them) are a *crew*: their states lie on one
shelf, and one call of ``kernels.frames.tick_each`` gives each of them a tick. Nothing is done in Python for an agent
that just walks. Only those that arrive, find no way or need more room are looked at one by one.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from struct import Struct
from typing import Any

import numpy as np

from .algorithms import Spec, check_refusal, parse_spec
from .budget import UNLIMITED, Budget, countable
from .crews import NOBODY, Crew, Herd
from .errors import Error, ProblemError, SpecError, at_least, check_rows, check_world, is_number
from .fields import DistanceField
from .hands import in_use, one_thread, undisturbed
from .kernels import frames, loop
from .kernels.distance_field import NOWHERE
from .kernels.herds import carry, follow
from .kernels.jit import COMPILED
from .kernels.memory import Piece
from .kernels.plain_records import by_attribute
from .kernels.priority_inheritance import FIXED, PARKED, WALKING, inherit, raise_priorities
from .kernels.saving import Savable
from .kernels.teams import Team
from .kernels.ticks import PATIENCE, new_clock, wind
from .kernels.workspace import book_of, place_in
from .roster import CANCELLED, RESTS, Roster
from .text import shown, some
from .worlds.changes import me
from .worlds.grid import Grid
from .worlds.protocol import World

__all__ = ["Fleet", "FleetStats"]

_STATUS = {
    loop.ACTIVE: "active",
    loop.REACHED: "reached",
    loop.UNREACHABLE: "unreachable",
    loop.MOVE_LIMIT: "stopped",
    CANCELLED: "cancelled",
}
_CHORES = 0.25  # how much of a frame of milliseconds may be gone before what need not be done now is left for later
_ORDERS = 0.5  # how much of a frame of milliseconds orders may take from the tick that follows
_TIMED = 4096  # ticks whose durations are kept
# Nanoseconds of a frame that are kept for what comes after its deadline: an agent in the middle of something, Python;
# besides what it takes to follow fields and to make way, which is known.
# They grow when a frame was late, and shrink when none is, so that one in two hundred will be; faster if they are more
# than that takes, so that a program that was in the way for a second is forgotten in two minutes.
_MARGIN, _LATE, _IN_TIME, _FORGETS = 40_000.0, 20_000.0, 100.0, 0.0005
_MOST_MARGIN = 5e5  # of each millisecond of the frame
# Expansions that an agent may make when it has its turn in a frame of milliseconds, however many there are. With less,
# all would move in every tick, but astray; so they take turns. And what an agent holds must be fetched first.
_SLICE = 32.0
# Where it would be less than that for each, those who can walk on along what they have planned have longer turns, and
# walk in between: what an agent holds is then fetched once for many expansions. A turn is what so many frames have for
# each, for who waits longer walks where its goal is no more; at most _TURN expansions. Who has nothing to walk along
# need not wait for that: up to half of a frame is for them, _START for each at least.
_TURN, _FRAMES, _START, _STARTS = 128, 8, 4, 0.5
_ROUNDS = 4  # of turns in a tick
_GUESS = 4000.0  # expansions that fit into each millisecond of a frame, at least
_MOST_SLICE = 50_000.0  # for each millisecond of the frame: more than one agent can expand in it
_MOST_WEIGHT = 1000
_OF_THE_PROCESS = (
    "_calm", "_team", "_clocks", "_call_book", "_frame", "_turn", "_turn_book", "_end", "_edit_book", "_hands", "_name",
)  # not saved, but made anew  # fmt: skip
_AHEAD = 10  # ticks that a unit may have been on its way longer than one of the next higher priority, and give way
_FINE = 20  # binary digits of credit
_MANY = 16  # agents, whose pace in one call tells how long others will take
_SHORT = 100_000.0  # nanoseconds of work that one thread does sooner than it could wake another
# What ``tick_each`` is told: the end of a FRAME (share, deadline, number, crew); and the turns, which are behind it:
# the next one, the last one, and counts of expansions, of ends, of moves and of what was expanded while learning.
_CALL, _CALL_AT = Struct("=8q"), 8 * place_in(frames.FRAME, "share")
_NEXT, _, _SPENT, _ENDED, _STEPS, _LEARNED = range(6)
_FIELDS, _FRAME_FIELDS = loop.EPISODE.names or (), frames.FRAME.names or ()


@dataclass(frozen=True)
class FleetStats:
    """How the ticks of a fleet went; times in milliseconds, of the last 4,096 ticks."""

    ticks: int
    agents: int  # on their way now
    served: int  # of those, how many had their turn in the last tick
    p50_ms: float
    p99_ms: float
    max_ms: float
    late: int  # ticks that took longer than the frame, of all
    expansions: int  # of all ticks, to choose moves
    last_expansions: int  # of the last tick, to choose moves
    learning: int  # of all ticks, besides: made while learning
    moves: int  # of all ticks
    # For each id: ticks since it was served; 0: in the last tick, or it is not on its way.
    waited: np.ndarray = field(repr=False)


_rehearsed: set[type] = set()  # kinds of worlds for which all that fields take is loaded

_one_thread, _whole = one_thread("fleet"), one_thread("fleet", whole=True)


class Fleet(Savable):
    """Many agents in one world, under one budget per frame.

    ``frame_ms`` is what a tick may take, in milliseconds; ``frame_expansions`` what all agents together may expand in
    one, and then the same calls give the same moves on any machine, with any number of threads. Each agent on its way
    has an equal share of it (``priority`` times that), and makes one move per tick. Where the frame is too small for
    all, they take turns, and no agent starves: of agents with priorities that add up to W, which may expand up to u
    states each in a turn, none waits longer than ``ceil(W u / F)`` ticks of E expansions, where F is the larger of u
    and E - u + 1: what is left of a frame may be too little for the next one. (While f fields grow that have a part r
    of all shares, for ``field`` agents, it may be ``f / (1 - r)`` ticks more.) As for an Agent, what is counted is
    expanded to choose moves; what an algorithm expands while it learns is bounded by that and counted apart.

    Agents of the time-bounded family, such as ``tb-wa*``, need not stand still between turns: they walk on along
    what they have planned. So they take turns as soon as there are less than 32 expansions for each (or less than one
    may make at all). Turns are longer then, for a turn pays that is long enough: what eight frames have for each, up to
    128 expansions, times the priority; but not more than half of their part of the frame, unless each has as much. Who
    has nothing to walk along is served first; as much as half of a frame may go to that, so F is then the larger of u
    and E / 2 - u + 1. Agents beside them that cannot walk on have what they need before, if it is within their part of
    the frame; then W and E are those of the others, and of what is left.

    With ``collisions`` no two agents are ever in one cell, and none swap places: who is in the way makes way (PIBT, see
    ``docs/crowds.md``). ``seed`` is for the lots that are drawn then.

    >>> import numpy as np
    >>> import timebound as tb
    >>> world = tb.Grid(np.ones((20, 20), bool))
    >>> fleet = tb.Fleet(world, "tb-wa*", frame_expansions=1000)
    >>> ids = fleet.add([(0, 0), (0, 19), (19, 0)], (10, 10))
    >>> while fleet.active:
    ...     moves = fleet.tick()
    >>> fleet.positions[ids].tolist(), [fleet.status(k) for k in ids]
    ([[10, 10], [10, 10], [10, 10]], ['reached', 'reached', 'reached'])
    """

    def __init__(
        self,
        world: World,
        spec: str | Spec = "tb-wa*",
        *,
        frame_ms: float | None = None,
        frame_expansions: int | None = None,
        budget: int | None = None,
        database: Any = None,
        threads: int = 1,
        collisions: bool = False,
        seed: int = 0,
    ) -> None:
        check_world(world)
        self._world = world
        self._cells = isinstance(world, Grid)  # points are pairs of numbers
        self._spec = parse_spec(spec)
        self._database = database
        if frame_ms is not None and frame_expansions is not None:
            raise SpecError("a frame is so many milliseconds or so many expansions, not both")
        self._frame_ms: float | None = None
        self._frame_expansions: int | None = None
        if frame_expansions is not None:
            self._frame_expansions = countable("frame_expansions", frame_expansions)
        else:
            self._frame_ms = _milliseconds(1.0 if frame_ms is None else frame_ms)
        most = UNLIMITED if budget is None else countable("budget, the expansions of an agent per tick,", budget)
        self._threads = countable("threads", threads, 256)
        if not isinstance(collisions, (bool, np.bool_)):
            raise SpecError(f"collisions is True or False, not {shown(collisions)}")
        collisions = bool(collisions)
        self._seed = at_least(0, seed, "a seed is a whole number", (1 << 62) - 1)
        self._roster = Roster(world, most, min(most, self._frame_expansions or UNLIMITED), collisions)
        self._torn = False  # whether something was raised in the middle of the last tick
        self._margin = _first_margin(self._frame_ms or 1.0)
        self._after = 0.0  # nanoseconds of a tick, lately, for fields to be followed and for making way
        self._ordering = 0  # nanoseconds that orders have taken since the last tick
        self._share = _SLICE  # expansions for each, in a frame of milliseconds; it follows what ticks have taken
        self._times = np.zeros(_TIMED)
        self._late = self._expansions = self._last_expansions = self._learning = self._moves = 0
        self._check(self._spec, database)
        self._take_tools()
        if collisions:  # with nobody: so it is loaded, or compiled, now and not in a frame
            inherit(world.view, self._roster.crowd, self._roster.units, 0, 0, self._seed, False)
            raise_priorities(self._roster.units, 0)

    def _take_tools(self) -> None:
        """What a process has of its own."""
        # Who had a turn in the last tick, and how much: so will it be in the next one, unless something happens.
        self._calm: tuple[Crew, int] | None = None
        self._team = Team(self._threads - 1, "timebound-fleet") if self._threads > 1 else None
        call = np.zeros(len(_FRAME_FIELDS) + 6, np.int64)
        self._call_book, self._turn = book_of(call).cast("B"), call[len(_FRAME_FIELDS) :]
        frame = call[: len(_FRAME_FIELDS)].view(frames.FRAME)
        frame["holds"] = self.collisions
        self._frame: Any = frame if COMPILED else by_attribute(frame)
        self._clocks = [new_clock() for _ in range(self._threads)]
        self._turn_book = book_of(self._turn)
        self._edit_book = book_of(self._world.changes.edited)
        self._hands: dict[int, int] = {}  # 0: the thread that is at work with the fleet
        self._name = 0, 0  # by which the world knows the thread that last called tick()
        # Agents that are dropped with their fleet give their arrays back.
        self._end = weakref.finalize(self, _release_all, self._roster.planners, self._team)

    # --- saving -------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Fleet:
        return deepcopy(self, {id(self._world): self._world})

    @_one_thread
    def __getstate__(self) -> dict[str, Any]:
        """All but what a process has of its own."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THE_PROCESS}
        times = Piece(self._times, np.s_[: min(self._roster.number, _TIMED)])
        return {**state, "_times": times}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._take_tools()

    # --- who there is -------------------------------------------------------------------------------------------------

    @_whole
    def add(
        self,
        starts: Any,
        goals: Any,
        *,
        spec: str | Spec | None = None,
        priority: int = 1,
        database: Any = None,
    ) -> np.ndarray:
        """Agents at ``starts`` that want to be at ``goals``, or all at one goal. Returns their ids, for one start too.

        An id is the agent's row in ``positions``, ``statuses`` and ``moved``. It is free for others once the agent has
        been cancelled. ``priority`` is how many shares of the frame each of them has.
        """
        self._calm = None
        roster = self._roster
        chosen = self._spec if spec is None else parse_spec(spec)
        held = self._database if database is None and chosen.algorithm.database else database
        if chosen != self._spec or database is not None:
            self._check(chosen, held)
        weight = countable("priority, the shares of a frame that an agent has,", priority, _MOST_WEIGHT)
        here = self._starts(starts, "start")
        there = self._goals(goals, len(here))
        self._check_apart(here, "start")
        if here and chosen.algorithm.shares:
            self._rehearse(there[0])
        rows = roster.count
        ids = [roster.enroll(chosen, held) for _ in here]
        fields = dict.fromkeys(_FIELDS, 0) | {
            "status": loop.REACHED,
            "moves_per_decision": 1,
            "weight": weight,
            "limit": roster.limit,
            "move_limit": UNLIMITED,
            "served": roster.number,
            "crew": -1,
        }
        roster.episodes[ids] = tuple(fields.values())
        roster.episodes["position"][ids], roster.episodes["goal"][ids] = here, there
        roster.points[ids] = self._points_of(np.array(here, np.int64))
        if roster.units is not None:
            roster.units.base[ids] = roster.units.priority[ids] = _AHEAD * (weight - 1)
        try:
            for k in ids:
                roster.set_out(k)
        except BaseException:
            self.cancel(ids)  # all or none
            roster.strike(rows)
            raise
        return np.array(ids, np.int64)

    def _check_apart(self, states: list[int], what: str, agents: Sequence[int] = ()) -> None:
        """Where units must not stand in each other: a ProblemError if one would, apart from ``agents``, who leave."""
        roster = self._roster
        if not self.collisions:
            return
        here = roster.column("status") != CANCELLED
        here[list(agents)] = False
        taken = set(roster.column("position")[here].tolist())
        for n, state in enumerate(states):
            if state in taken:
                name, where = _named(what, n, agents), shown(self._world.point_of(state))
                raise ProblemError(f"the {name}, {where}, is taken; with collisions each has its own")
            taken.add(state)

    def _check(self, spec: Spec, database: Any) -> None:
        """A SpecError if agents of this kind could not work here, or not within a frame."""
        if not spec.algorithm.real_time and not spec.algorithm.shares:
            raise SpecError(
                f"{spec.algorithm.name} plans whole paths; a fleet takes real-time algorithms such as tb-wa*"
            )
        if database is not None and not spec.algorithm.database:
            raise SpecError(f"{spec.algorithm.name} uses no database")
        limit = self._roster.limit
        check_refusal(spec, self._world, Budget(expansions=None if limit == UNLIMITED else limit))

    def _states(self, points: Sequence[Any] | np.ndarray, what: str, agents: Sequence[int]) -> list[int]:
        """The states of many points, every one checked before anything is done."""
        if isinstance(points, np.ndarray):
            if (
                isinstance(self._world, Grid)
                and points.ndim == 2
                and points.shape[1] == 2
                and points.dtype.kind in "iu"
            ):
                states = self._world.path_states(points)
                if self._world.are_open(states).all():
                    return states.tolist()  # else they are looked at one by one, to say which is wrong
            points = points.tolist()
        return [self._world.state_of(point, _named(what, n, agents)) for n, point in enumerate(points)]

    def _one_or_all(self, points: Any, what: str, agents: Sequence[int] = ()) -> list[int] | int:
        """The states of many points, for ``agents`` if they are there already; or the state, if it is one point."""
        remedy = "np.ma.compress_rows(array)" if self._cells else "array.compressed()"
        _check_unmasked(points, f"{what}s", remedy)
        if self._cells:
            check_rows(points, f"{what}s")
            if isinstance(points, np.ndarray) and points.dtype == bool and points.ndim == 2:
                raise ProblemError(f"{what}s are points (row, col); of a mask take np.argwhere(mask)")
        try:
            self._world.place_of(points, what)
        except ProblemError:
            if isinstance(points, (str, bytes)) or not isinstance(points, Iterable):
                raise
            if not isinstance(points, Sequence) and not (isinstance(points, np.ndarray) and points.ndim):
                raise ProblemError(f"{what}s are a list or an array of points, not {shown(points)}") from None
            if self._cells and len(points) and all(np.ndim(part) == 0 for part in points):
                raise  # one point that is wrong, not many
            return self._states(points, what, agents)
        return self._world.state_of(points, what)

    def _goals(self, goals: Any, count: int, agents: Sequence[int] = ()) -> list[int]:
        """A state for each of so many agents: of one point for all, or of one for each."""
        states = self._one_or_all(goals, "goal", agents)
        if isinstance(states, int):
            return [states] * count
        if len(states) != count:
            raise ProblemError(f"{_unequal(len(states), 'goal', count)}; give one for each, or one for all")
        return states

    def _starts(self, points: Any, what: str, agents: Sequence[int] = ()) -> list[int]:
        """A state for each agent: of a point for each, or of one for one."""
        states = self._one_or_all(points, what, agents)
        return [states] if isinstance(states, int) else states

    def _point(self, state: int) -> Any:
        return self._world.point_of(state) if self._cells else (state, 0)

    def _points_of(self, states: np.ndarray) -> np.ndarray:
        return self._world.points_of(states) if self._cells else np.column_stack((states, np.zeros_like(states)))

    # --- one frame ----------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        """Let every agent make a move, as far as the frame allows. Returns how many moved."""
        hands, mine, roster = self._hands, me(), self._roster
        try:
            # As ``one_thread``, which would take a tenth of a short tick.
            owner = hands.setdefault(0, mine)
            if owner != mine:
                raise in_use("fleet", owner, mine)
            began = time.perf_counter_ns()
            roster.number += 1
            self._world.changes.catch_up()
            calm = self._calm
            if (
                calm is not None
                and roster.edits == self._edit_book[0]
                and self._name[0] == mine
                and not (roster.beds and roster.number - roster.beds[0][0] >= RESTS)
            ):
                return self._repeat(began, *calm)
            return self._tick(began, mine)
        finally:
            if 0 in hands and hands[0] is mine:
                del hands[0]

    def _repeat(self, began: int, crew: Crew, share: int) -> int:
        """A tick like the one before: of one crew, whose agents all have a turn; nothing has happened in between.

        A hundred agents feel what Python takes, so nothing is asked here that is known.
        """
        roster, changes, turn = self._roster, self._world.changes, self._turn_book
        noted = roster.noted_book
        faults: list[Exception] = []
        _CALL.pack_into(self._call_book, _CALL_AT, share, 0, roster.number, crew.number, 0, crew.members, 0, 0)
        noted[0] = turn[_STEPS] = turn[_LEARNED] = 0
        try:
            changes.enter(self._name)
            crew.tick(*crew.told[0])
            expansions = turn[_SPENT]
            if noted[0]:
                self._calm = None
                expansions += self._attend_to_all(share, 0, faults)
        except BaseException:
            self._torn, self._calm = True, None
            raise
        finally:
            changes.leave(self._name)
        return self._count(turn[_STEPS], expansions, began, faults)

    def _tick(self, began: int, mine: int) -> int:
        """Any tick."""
        roster, changes = self._roster, self._world.changes
        faults: list[Exception] = []  # of agents that were stopped; the others have gone on
        self._calm = None
        roster.moved.fill(False)
        if self._torn:
            with undisturbed():
                roster.mend(faults)
                self._torn = False
        if roster.edits != self._edit_book[0]:
            self._hear_of_edits(roster.number - 1)
        if roster.wakes or (roster.beds and roster.number - roster.beds[0][0] >= RESTS):
            until = 0 if self._frame_ms is None else began + int(_CHORES * 1e6 * self._frame_ms)
            with undisturbed():
                roster.wake_some(until, faults)
                roster.rise(until)
        if self._world.goal_views:
            roster.forget_goals()
        if self._name[0] != mine:  # another thread than the last time
            self._name = changes.name(self)
            for clock in self._clocks:
                wind(clock, PATIENCE)
        self._turn_book[_STEPS] = self._turn_book[_LEARNED] = 0
        apart = bool(roster.herds) or roster.collisions  # some move outside of ``tick_each``
        try:
            changes.enter(self._name)
            allowed, everyone = 0.0, True
            if self._frame_ms is None:
                expansions = self._spend(self._frame_expansions or 0, faults)
            else:
                expansions, allowed, everyone = self._hurry(began, self._frame_ms, faults)
            if apart:
                planned = time.perf_counter_ns()
                with undisturbed():
                    for herd in list(roster.herds.values()):
                        self._follow(herd, faults)
                    if roster.collisions:
                        self._make_way(faults)
                self._after += 0.25 * (time.perf_counter_ns() - planned - self._after)
        except BaseException:
            self._torn, self._calm = True, None
            raise
        finally:
            changes.leave(self._name)
        if self._calm and (apart or self._world.goal_views or self._has_help(self._calm[0], 1, self._calm[0].members)):
            self._calm = None
        moved = int(np.count_nonzero(roster.moved)) if apart else self._turn_book[_STEPS]
        return self._count(moved, expansions, began, faults, allowed, everyone)

    def _count(
        self,
        moved: int,
        expansions: int,
        began: int,
        faults: list[Exception],
        allowed: float = 0.0,
        everyone: bool = True,
    ) -> int:
        """What a tick has come to. Returns how many moved."""
        self._moves += moved
        self._last_expansions = expansions
        self._expansions += expansions
        self._learning += self._turn_book[_LEARNED]
        took = (time.perf_counter_ns() - began) * 1e-6
        self._times[(self._roster.number - 1) % _TIMED] = took
        if self._frame_ms is not None:
            self._late += took > self._frame_ms
            self._learn_from(took, allowed, self._frame_ms, everyone)
        if faults:
            _tell_of(faults)
        return moved

    def _learn_from(self, took: float, allowed: float, frame: float, everyone: bool) -> None:
        """What a tick has taken, of the milliseconds it was allowed, tells what the next one may do.

        That is the frame without what orders have taken of it. ``everyone`` had a turn, or some had none: then each is
        to have less in the next tick, however short this one was.
        """
        if took > allowed:
            self._margin = min(self._margin + _LATE, _MOST_MARGIN * frame)
        elif took > 0.8 * allowed or not everyone:  # a frame that was not full tells nothing
            self._margin = max(self._margin - max(_IN_TIME, _FORGETS * self._margin), 0.0)
        # Four fifths of the frame are aimed at: what a share costs varies.
        change = min(max(0.8 * allowed / took, 0.5), 1.25 if everyone else 0.8)
        self._share = max(min(self._share * change, _MOST_SLICE * frame), _SLICE)

    def _growing(self) -> list[Herd]:
        """The herds whose fields are to grow."""
        return [herd for herd in self._roster.herds.values() if herd.active and not herd.field.done]

    def _grow(self, herd: Herd, budget: Budget | int, faults: list[Exception]) -> int:
        """Let the field of a herd grow. Returns its expansions."""
        try:
            return herd.field.grow(budget)
        except (Error, MemoryError) as problem:
            with undisturbed():
                self._disband(herd, problem, faults)
            return 0

    def _disband(self, herd: Herd, problem: Exception, faults: list[Exception]) -> None:
        """Their field cannot be, as the world is now: an edit has made a graph one-way, or there is no memory."""
        agents = herd.members.tolist()
        faults.append(type(problem)(f"{len(agents)} agents of field, {agents[0]} first, were stopped: {problem}"))
        for k in agents:
            self._roster.stop(k)

    def _rehearse(self, goal: int) -> None:
        """Grow and follow a field with nobody: so it is loaded, or compiled, now and not in a frame."""
        roster, world = self._roster, self._world
        if type(world.view) in _rehearsed or not world.undirected:
            return
        field = DistanceField(world, world.point_of(goal))
        field.grow(1)
        steps = field.following(np.array([goal]))[:0]
        follow(world.view, roster.episodes, steps, steps, NOWHERE, *self._seen, roster.noted, 0, False)
        carry(world.view, roster.episodes, steps, steps, *self._seen, roster.noted)
        _rehearsed.add(type(world.view))

    def _follow(self, herd: Herd, faults: list[Exception]) -> None:
        """Let the agents of a herd step downhill."""
        roster = self._roster
        if not herd.active:
            return
        members = herd.members
        try:
            steps = herd.field.following(roster.episodes["position"][members])
        except (Error, MemoryError) as problem:
            self._disband(herd, problem, faults)
            return
        roster.noted[0] = 0
        told = members, steps, NOWHERE, *self._seen, roster.noted, roster.number, self.collisions
        follow(self._world.view, roster.episodes, *told)
        roster.dismiss()

    def _spend(self, frame: int, faults: list[Exception]) -> int:
        """A tick of a frame that is counted in expansions. Who is served is settled before anyone acts.

        If it is too little for all, who has waited longest is first, and so everybody has a turn before anybody has
        another one; unless something is left that those before cannot use. A field that grows saves up its part of
        every frame. It takes that from what agents leave; or before them, once it is a whole frame.
        """
        roster = self._roster
        growing = self._growing() if roster.herds else []
        if len(roster.crews) == 1 and not growing:
            (crew,) = roster.crews.values()
            if not crew.active:
                return 0
            if crew.members != crew.active + crew.resting:
                crew.close_ranks(roster.episodes["crew"])
            share = frame // crew.weights
            if share < crew.least:
                share = crew.least
            # It is enough for all, and nobody need take turns.
            if share * crew.weights <= frame and (not crew.walks or share >= self._least_turn):
                crew.cursor = 0
                spent = self._act(crew, crew.order, 0, crew.members, share, 0)
                if roster.noted_book[0]:
                    return spent + self._attend_to_all(share, 0, faults)
                self._calm = crew, share
                return spent
        crews = self._in_turn()
        weights = sum(crew.weights for crew in crews) + sum(herd.weights for herd in growing)
        whole = frame << _FINE
        for herd in growing:  # those that have a whole frame may have to wait for each other
            herd.credit = min(herd.credit + whole * herd.weights // weights, whole * (1 + len(growing)))
        share = frame // weights if weights else 0
        walkers = [crew for crew in crews if crew.walks] if share < self._least_turn else []
        for crew in crews:
            crew.begin(share, roster.limit)
        total = self._grow_some([herd for herd in growing if herd.credit >= whole], frame, faults)
        if walkers and self._lengthen_turns(walkers, frame, weights):
            # Who must stand still without a turn has it first, if that takes no more than its part: it would have to
            # wait for turns that are longer.
            others = [crew for crew in crews if not crew.walks]
            part = frame * sum(crew.weights for crew in others) // weights
            if sum(crew.weights * crew.share for crew in others) <= min(part, frame - total):
                total += self._take_turns(others, part, faults)
            total += self._let_some_start(walkers, others, frame - total, faults)
        total += self._take_turns(crews, frame - total, faults)
        for crew in walkers:
            self._let_walk(crew, 0, faults)
        return total + self._grow_some(growing, frame - total, faults)

    @property
    def _least_turn(self) -> int:
        """With less than that for each, those who can walk on take turns."""
        return min(int(_SLICE), self._roster.limit)

    def _lengthen_turns(self, walkers: list[Crew], frame: int, weights: int) -> bool:
        """Long turns for those who can walk on, in a frame for so many shares. False: they are long enough."""
        roster = self._roster
        part = frame * sum(crew.weights for crew in walkers) // weights
        most = int((1 - _STARTS) * part) // max(crew.heaviest(roster.episodes) for crew in walkers)
        turn = min(max(_FRAMES * frame // weights, _START), _TURN, most)
        if turn <= max(crew.share for crew in walkers):
            return False
        for crew in walkers:
            crew.begin(turn, roster.limit)
        return True

    def _let_some_start(self, walkers: list[Crew], others: list[Crew], room: int, faults: list[Exception]) -> int:
        """Who has nothing to walk along has a turn first, with half of such room. Returns what was spent."""
        roster = self._roster
        waiting = [crew for crew in others if crew.waiting]
        # Whose turn it is by age must still find room for it.
        needs = max(crew.heaviest(roster.episodes) * crew.share for crew in walkers + waiting)
        half = max(min(int(_STARTS * room), room - min(needs, roster.limit)), 0)
        return self._let_start(walkers, half, half if waiting else room, 0, faults)

    def _let_start(self, crews: list[Crew], room: int, most: int, deadline: int, faults: list[Exception]) -> int:
        """Turns for those who have nothing to walk along, as far as there is room. Returns what they have spent.

        If that is so for all of them, there is as much as ``most``.
        """
        roster, spent = self._roster, 0
        in_need = [crew.in_need(roster.limit, roster.episodes, roster.number, roster.wants) for crew in crews]
        weights = sum(in_need)
        if weights == sum(crew.weights for crew in crews) and most >= _START * weights:
            room = most
        for crew, weight in zip(crews, in_need, strict=True):
            if weight:
                share = min(max(room // weights, _START, crew.least), crew.share)
                left = room - spent
                who = crew.starters(share, left, room, roster.limit, roster.episodes, roster.number, roster.wants)
                spent += self._serve(crew, 0, len(who), share, deadline, faults, who)
        return spent

    def _let_walk(self, crew: Crew, deadline: int, faults: list[Exception]) -> None:
        """Who has had no turn walks on along what is planned; the next ones in turn first, if that is too much."""
        for first, last in ((crew.cursor, crew.turns), (0, min(crew.cursor, crew.turns))):
            if first < last:
                self._serve(crew, first, last, 0, deadline, faults)

    def _take_turns(self, crews: list[Crew], room: int, faults: list[Exception]) -> int:
        """Let agents act, as far as there is room. Returns what they have spent.

        First is always the crew with the agent that has waited longest: in its own order, until that one and all that
        have waited longer than those of other crews have had their turns. Who does not fit into the rest of the frame
        is first in the next one; the rest is for other crews. What agents have left over is shared out again; but only
        a few times among those who can walk on, for they may need next to nothing.
        """
        roster, spent = self._roster, 0
        rounds = [_ROUNDS if crew.walks else UNLIMITED for crew in crews]
        queue = [
            (0 if len(crews) == 1 else crew.ages(roster.episodes, roster.number).min(), n)
            for n, crew in enumerate(crews)
            if crew.waiting
        ]
        heapify(queue)
        while queue:
            _, n = heappop(queue)
            crew, due, ages = crews[n], crews[n].waiting, None
            if queue:
                ages = crew.ages(roster.episodes, roster.number)
                due = int(np.flatnonzero(ages <= queue[0][0]).max(initial=-1)) + 1
            some = crew.fitting(room - spent, roster.limit, due, roster.episodes, roster.number)
            if not some:
                continue
            spent += self._serve(crew, crew.cursor, crew.cursor + some, crew.share, 0, faults)
            crew.served(some)
            oldest = 0 if ages is None else ages[some:].min(initial=NOBODY)
            rounds[n] -= some < due  # for there was no room for more
            if crew.waiting and oldest < NOBODY and rounds[n]:
                heappush(queue, (oldest, n))
        return spent

    def _grow_some(self, herds: list[Herd], room: int, faults: list[Exception]) -> int:
        """Let fields grow by what they have saved up, as far as there is room. Returns their expansions."""
        spent = 0
        for herd in herds:
            part = min(room - spent, herd.credit >> _FINE)
            used = self._grow(herd, part, faults) if part > 0 and herd.size else 0
            herd.credit -= used << _FINE
            spent += used
        return spent

    def _in_turn(self) -> list[Crew]:
        """The crews that have somebody on the way, another one first in each tick."""
        roster = self._roster
        crews = [crew for crew in roster.crews.values() if crew.active]
        for crew in crews:
            if crew.cursor or crew.members != crew.active + crew.resting:
                crew.close_ranks(roster.episodes["crew"])
        first = roster.number % len(crews) if crews else 0
        return crews[first:] + crews[:first] if first else crews

    def _hurry(self, began: int, frame_ms: float, faults: list[Exception]) -> tuple[int, float, bool]:
        """A tick of a frame that is counted in milliseconds.

        Returns its expansions, the milliseconds that it was allowed, and whether all had their turn.
        """
        roster, total, whole = self._roster, 0, frame_ms * 1e6
        crews = self._in_turn()
        if roster.herds:
            total += self._let_grow(crews, frame_ms, faults)
        # Kernels read the same clock (see ``jit.now_ns``).
        allowed = whole - min(self._ordering, _ORDERS * whole)
        after = min(self._after, _MOST_MARGIN * frame_ms) if roster.herds or roster.collisions else 0.0
        deadline = began + max(1, round(allowed - self._margin - after))
        self._ordering = 0
        share = int(self._share)
        if roster.lacking:
            with undisturbed():
                given = roster.make_room(began + int(_CHORES * whole), faults)
            roster.noted_book[0] = 0
            total += self._attend_to_all(share, deadline, faults, given)
        for crew in crews:
            crew.begin(share, roster.limit)
        walkers = [crew for crew in crews if crew.walks] if self._share <= _SLICE else []
        until, everyone = deadline, True  # for turns
        if walkers:
            until, spent = self._begin_long_turns(walkers, crews, began, deadline, frame_ms, faults)
            total += spent
        for crew in crews:
            while crew.waiting and time.perf_counter_ns() < until:
                last = crew.cursor + min(crew.waiting, crew.turns - crew.cursor)
                total += self._serve(crew, crew.cursor, last, crew.share, until, faults)
                crew.served(min(self._turn_book[_NEXT], last) - crew.cursor)
            everyone = everyone and not crew.waiting
        if not everyone and all(crew.waiting == crew.turns for crew in crews):
            # Orders, other programs or those in need took it all: one has a turn nevertheless, or nobody ever might.
            total += self._serve(crews[0], crews[0].cursor, crews[0].cursor + 1, crews[0].share, 0, faults)
            crews[0].served(1)
        for crew in walkers:
            self._let_walk(crew, deadline, faults)
        return total, 1e-6 * allowed, everyone

    def _let_grow(self, crews: list[Crew], frame_ms: float, faults: list[Exception]) -> int:
        """Let fields grow for their part of a frame that is counted in milliseconds. Returns their expansions."""
        growing, total = self._growing(), 0
        weights = sum(crew.weights for crew in crews) + sum(herd.weights for herd in growing)
        for herd in growing:
            part = 0.8 * frame_ms * max(herd.weights / weights, 1 / (20 * len(growing)))
            total += self._grow(herd, Budget(milliseconds=part), faults)
        return total

    def _begin_long_turns(
        self,
        walkers: list[Crew],
        crews: list[Crew],
        began: int,
        deadline: int,
        frame_ms: float,
        faults: list[Exception],
    ) -> tuple[int, int]:
        """Long turns for those who can walk on, in such a frame; who has nothing to walk along has one at once.

        Returns when turns must end, for all others are to walk on after them; and what was expanded.
        """
        growing = self._growing() if self._roster.herds else []
        weights = sum(crew.weights for crew in crews) + sum(herd.weights for herd in growing)
        expected = int(max(self._last_expansions, _GUESS * frame_ms))
        turn = min(max(_FRAMES * expected // max(weights, 1), int(_SLICE)), _TURN)
        for crew in walkers:
            crew.begin(turn, self._roster.limit)
        walks = sum(crew.paces[0] * crew.active for crew in walkers) / self._threads
        until = deadline - round(min(walks, _STARTS * (deadline - began)))
        room = int(_STARTS * expected)
        start_until = began + max(1, round(_STARTS * (until - began)))
        return until, self._let_start(walkers, room, room, start_until, faults)

    def _serve(
        self,
        crew: Crew,
        first: int,
        last: int,
        share: int,
        deadline: int,
        faults: list[Exception],
        order: np.ndarray | None = None,
    ) -> int:
        """Let the agents in these places of a crew's order, or of another one, act, and attend to what they ask for."""
        spent = self._act(crew, crew.order if order is None else order, first, last, share, deadline)
        return spent + self._attend_to_all(share, deadline, faults) if self._roster.noted_book[0] else spent

    def _attend_to_all(self, share: int, deadline: int, faults: list[Exception], ready: Sequence[int] = ()) -> int:
        """Attend to what agents have asked for, until nobody does. Returns what they have expanded meanwhile.

        Those who are ``ready`` have it already, and go on first.
        """
        roster, again = self._roster, list(ready)
        spent, turn = 0, self._turn_book[_NEXT]
        while True:
            with undisturbed():
                again += roster.attend(faults, deadline)
            if not again or (deadline and time.perf_counter_ns() > deadline):
                break  # or they stand in the middle of a decision, and go on in the next frame
            # What they want may have made them members of another crew.
            crew = roster.crew_of[again[0]]
            assert crew is not None
            mine = np.array([k for k in again if roster.crew_of[k] is crew])
            again = [k for k in again if roster.crew_of[k] is not crew]
            spent += self._act(crew, mine, 0, len(mine), share, deadline)
        self._turn_book[_NEXT] = turn
        return spent

    def _act(self, crew: Crew, order: np.ndarray, first: int, last: int, share: int, deadline: int) -> int:
        """One call of the loop, by as many threads as there are."""
        roster = self._roster
        _CALL.pack_into(self._call_book, _CALL_AT, share, deadline, roster.number, crew.number, first, last, 0, 0)
        roster.noted_book[0] = 0
        told = crew.told
        # It is the same in every tick, until something grows.
        if not told or told[0][5] is not roster.episodes or told[0][6] is not order:
            who = *crew.rows, roster.seats, roster.episodes, order, self._turn
            seen = *self._seen, roster.wants, roster.noted
            told = [(*who, *seen, clock, self._frame) for clock in self._clocks]
            if order is crew.order:
                crew.told = told
        if self._team is None and not deadline:
            crew.tick(*told[0])
            return self._turn_book[_SPENT]
        began = time.perf_counter_ns()
        kind = share > 0
        if self._team is not None and self._has_help(crew, kind, last - first):
            self._team.call(crew.tick, told, self._turn[_ENDED:], self._clocks[0])
        else:
            crew.tick(*told[0])
        done = min(self._turn_book[_NEXT], last) - first
        took = (time.perf_counter_ns() - began) * self._turn_book[_ENDED]
        # A call itself takes a while, so one for a few agents tells little.
        if done > 0:
            crew.paces[kind] += 0.25 * min(done / _MANY, 1.0) * (took / done - crew.paces[kind])
        return self._turn_book[_SPENT]

    def _has_help(self, crew: Crew, kind: int, agents: int) -> bool:
        """Whether other threads are woken for so many agents of a crew, who walk on (0) or have turns (1)."""
        return self._team is not None and crew.paces[kind] * agents > _SHORT

    @property
    def _seen(self) -> tuple[np.ndarray, np.ndarray]:
        """What users see of who moved."""
        return self._roster.points, self._roster.moved

    def _make_way(self, faults: list[Exception]) -> None:
        """All have said where they want to be next: decide who may, by priority inheritance, and let them."""
        roster = self._roster
        units, n = roster.units, roster.count
        assert units is not None
        names = ("position", "wish", "pending", "goal", "status", "crew", "served")
        fields = {name: roster.episodes[name][:n] for name in names}
        units.position[:n] = np.where(fields["status"] == CANCELLED, -1, fields["position"])
        waking = roster.is_waking(np.s_[:n])
        walking = (fields["status"] == loop.ACTIVE) & ~waking
        # Who has arrived would rather stay, as does who has had no turn, and nothing to walk along; who has no way, or
        # nothing to plan with yet, is in nobody's way, and must not be first for ever.
        asks = walking & (fields["pending"] > 0)
        for crew in roster.crews.values():
            if crew.members and not crew.walks:
                asks &= (fields["crew"] != crew.number) | (fields["served"] == roster.number)
        units.wish[:n] = np.where(asks, fields["wish"], fields["position"])
        units.goal[:n] = np.where((fields["status"] == loop.UNREACHABLE) | waking, -1, fields["goal"])
        units.role[:n] = np.where(walking, WALKING, PARKED)
        units.role[:n][fields["status"] == loop.MOVE_LIMIT] = FIXED
        inherit(self._world.view, roster.crowd, units, n, roster.number, self._seed, False)
        for crew in list(roster.crews.values()):
            if not crew.members:
                continue
            roster.noted[0] = 0
            self._frame["crew"] = crew.number
            order = crew.order[: crew.members]
            crew.carry(
                *crew.rows, roster.seats, roster.episodes, order, units.next, *self._seen, roster.noted, self._frame
            )
            agents = roster.noted[1 : 1 + int(roster.noted[0])].copy()
            anew = roster.episodes["outcome"][agents] == loop.GROW_ALGORITHM
            roster.settle(agents[~anew])
            for k in agents[anew].tolist():
                roster.retire(k)
                roster.set_out_or_stop(k, faults)
        for herd in list(roster.herds.values()):
            roster.noted[0] = 0
            carry(self._world.view, roster.episodes, herd.members, units.next, *self._seen, roster.noted)
            roster.dismiss()
        # Who had arrived and is pushed aside wants to go back.
        after = units.next[:n]
        pushed = np.flatnonzero((fields["crew"] == -1) & (after >= 0) & (after != fields["position"]))
        for k in pushed.tolist():
            roster.moved[k] = True
            roster.episodes["position"][k] = after[k]
            roster.points[k] = self._point(int(after[k]))
            if fields["status"][k] in (loop.REACHED, loop.ACTIVE) and not waking[k]:
                roster.set_out_or_stop(k, faults)
        units.position[:n] = np.where(fields["status"] == CANCELLED, -1, fields["position"])
        raise_priorities(units, n)

    # --- edits --------------------------------------------------------------------------------------------------------

    def _hear_of_edits(self, ticked: int | None = None) -> None:
        """If the world has changed, goals may have been blocked or opened, and what was out of reach may not be.

        ``ticked`` is the last tick that has ended, if one is under way.
        """
        roster = self._roster
        if roster.edits == self._edit_book[0] or self._hands.get(0, me()) != me():
            return  # nothing is new; or another thread is at work, which will hear of it
        self._calm = None
        with undisturbed():
            roster.take_note_of_edits(self._edit_book[0], roster.number if ticked is None else ticked)

    # --- orders -------------------------------------------------------------------------------------------------------

    @_whole
    def send(self, ids: Any, goals: Any) -> None:
        """Let agents go to other goals, each to its own or all to one.

        They keep what still holds of what they have planned and learned: see ``docs/moving_goals.md``.
        """
        agents = self._agents(ids)
        self._relocate(agents, None, self._goals(goals, len(agents), agents))

    @_whole
    def place(self, ids: Any, points: Any) -> None:
        """Put agents elsewhere, each to its own point: a teleport, a knock-back. They go on from there."""
        agents = self._agents(ids)
        states = self._starts(points, "point", agents)
        if len(states) != len(agents):
            raise ProblemError(f"{_unequal(len(states), 'point', len(agents))}; give one for each")
        self._check_apart(states, "point", agents)
        self._relocate(agents, states, None)

    def _relocate(self, agents: list[int], places: list[int] | None, goals: list[int] | None) -> None:
        """Tell agents where they are, where they are to go, or both; those who cannot go on with it begin anew."""
        self._calm = None
        roster = self._roster
        began = time.perf_counter_ns()
        faults: list[Exception] = []  # of agents that were stopped; the others have their orders
        names = np.array(agents, np.int64)
        here = roster.episodes["position"][names] if places is None else np.array(places, np.int64)
        there = roster.episodes["goal"][names] if goals is None else np.array(goals, np.int64)
        self._hear_of_edits()
        crews = roster.episodes["crew"][names]
        walking = (crews != -1) & (roster.episodes["status"][names] != loop.UNREACHABLE)  # or at rest
        for number in np.unique(crews[crews < -1]).tolist():
            mine = np.flatnonzero(crews == number)
            if places is None:
                walking[mine] = self._send_herd(number, names[mine], there[mine])
            else:
                roster.episodes["position"][names[mine]] = here[mine]
                roster.points[names[mine]] = self._points_of(here[mine])
                roster.episodes["status"][names[mine]] = np.where(here[mine] == there[mine], loop.REACHED, loop.ACTIVE)
                roster.settle(names[mine])
        for number in np.unique(crews[walking & (crews >= 0)]).tolist():
            crew = roster.holders[number]
            assert isinstance(crew, Crew)
            mine = np.flatnonzero(walking & (crews == number))
            if goals is not None and self._world.goal_views:
                walking[mine] = False
                continue
            roster.noted[0] = 0
            ends = names[mine], here[mine], there[mine]
            if roster.units is not None and goals is not None:
                roster.units.priority[ends[0]] = roster.units.base[ends[0]]
            name = self._world.changes.name(self)
            try:
                self._world.changes.enter(name)
                told = *ends, roster.points, roster.noted, self._clocks[0]
                crew.relocate(*crew.rows, roster.seats, roster.episodes, *told)
            finally:
                self._world.changes.leave(name)
            for k in roster.noted[1 : 1 + int(roster.noted[0])].tolist():
                roster.retire(k)
                roster.set_out_or_stop(k, faults)
            roster.settle(ends[0][roster.episodes["crew"][ends[0]] != -1])
        for n in np.flatnonzero(~walking).tolist():
            k = agents[n]
            if roster.on_way(k):
                roster.retire(k)
            roster.episodes["position"][k], roster.episodes["goal"][k] = here[n], there[n]
            roster.points[k] = self._point(int(here[n]))
            roster.set_out_or_stop(k, faults)
        self._ordering += time.perf_counter_ns() - began
        if faults:
            _tell_of(faults)

    def _send_herd(self, number: int, agents: np.ndarray, goals: np.ndarray) -> bool:
        """Let a herd follow its goal, if all of it goes to one that no other herd has: its field serves it meanwhile.

        False: they are to go one by one.
        """
        roster = self._roster
        herd, goal = roster.holders[number], int(goals[0])
        assert isinstance(herd, Herd)
        if (goals != goal).any() or len(agents) < len(herd.members) or not self._world.is_open(goal):
            return False
        if goal == herd.goal:
            return True
        if goal in roster.herds:
            return False
        herd.field.retarget(self._world.point_of(goal))  # first, for there may be no memory
        del roster.herds[herd.goal]
        roster.herds[goal] = herd
        herd.goal = goal
        roster.episodes["goal"][agents] = goal
        roster.episodes["status"][agents] = np.where(
            roster.episodes["position"][agents] == goal, loop.REACHED, loop.ACTIVE
        )
        roster.settle(agents)
        return True

    @_whole
    def cancel(self, ids: Any) -> None:
        """Take agents out of the fleet; their ids are free for others."""
        self._calm = None
        roster = self._roster
        for k in self._agents(ids):
            if roster.on_way(k):
                roster.retire(k)
            roster.episodes["status"][k] = CANCELLED
            roster.moved[k] = False
            roster.spare.append(k)

    def _agents(self, ids: Any, cancelled: bool = False) -> list[int]:
        """Ids as whole numbers, every one checked before anything is done; ``cancelled``: those are known as well."""
        _check_unmasked(ids, "ids", "array.compressed()")
        try:
            given = np.atleast_1d(np.asarray(ids))
        except ValueError:  # lists of different lengths
            given = np.zeros((0, 0))
        if given.dtype.kind == "b":
            raise Error("ids are whole numbers as add() gave them; of a mask take np.flatnonzero(mask)")
        if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
            such = " in a list or an array" if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)) else ""
            raise Error(f"ids are whole numbers as add() gave them{such}, not {shown(ids)}")
        there = (given >= 0) & (given < self._roster.count)
        if not cancelled:
            there[there] = self._roster.episodes["status"][given[there].astype(np.int64)] != CANCELLED
        if not there.all():
            wrong = int(given[~there][0])
            raise Error(f"there is no agent {wrong} in this fleet; add() gives ids, cancel() takes them back")
        given = given.astype(np.int64)  # an empty list has no type
        if len(np.unique(given)) < len(given):
            raise Error("an agent is named twice; give each id once")
        return given.tolist()

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """Where its agents are."""
        return self._world

    @property
    def spec(self) -> Spec:
        """What agents are that are added without one of their own."""
        return self._spec

    @property
    def database(self) -> Any:
        """Where agents look things up that are added without one of their own."""
        return self._database

    @property
    def frame_ms(self) -> float | None:
        """What a tick may take, in milliseconds; None if a frame is counted in expansions. It may be set to another."""
        return self._frame_ms

    @frame_ms.setter
    def frame_ms(self, milliseconds: float) -> None:
        if self._frame_ms is None:
            raise SpecError("the frame of this fleet is counted in expansions, and stays so; make another fleet")
        self._frame_ms = _milliseconds(milliseconds)
        self._margin = min(self._margin, _first_margin(self._frame_ms))

    @property
    def frame_expansions(self) -> int | None:
        """What all agents together may expand in a tick to choose moves; None if a frame is counted in milliseconds.

        It stays what it was made with: replays depend on it.
        """
        return self._frame_expansions

    @property
    def threads(self) -> int:
        """How many threads a tick may use."""
        return self._threads

    @property
    def collisions(self) -> bool:
        """Whether no two agents are ever in one cell."""
        return self._roster.collisions

    def __repr__(self) -> str:
        roster = self._roster
        count, on_way = len(self), int(np.count_nonzero(roster.column("status") == loop.ACTIVE))
        frame = f"{self._frame_ms:g} ms" if self._frame_ms is not None else f"{self._frame_expansions:,} expansions"
        return f"<Fleet, {count:,} agents, {on_way:,} on their way, {self._spec}, {frame} a tick, {self._world!r}>"

    @property
    def positions(self) -> np.ndarray:
        """Where each agent is, by id: (row, col), or a node's number. Rows of cancelled agents stay.

        Not a copy, and not for writing: ``place`` puts agents elsewhere.
        """
        return _to_look_at(
            self._roster.points[: self._roster.count] if self._cells else self._roster.points[: self._roster.count, 0]
        )

    @property
    def statuses(self) -> np.ndarray:
        """By id: 0 on its way, 1 reached, 2 unreachable as the world is now, 3 stopped for a fault, 99 cancelled.

        Not a copy, and not for writing.
        """
        self._hear_of_edits()
        return _to_look_at(self._roster.column("status"))

    @property
    def moved(self) -> np.ndarray:
        """By id: whether the agent moved in the last tick. Not a copy, and not for writing."""
        return _to_look_at(self._roster.moved[: self._roster.count])

    @property
    def costs(self) -> np.ndarray:
        """By id: what its moves have cost."""
        return self._roster.column("cost") + self._roster.column("cost_rest")

    @property
    def active(self) -> int:
        """How many agents are on their way."""
        roster = self._roster
        self._hear_of_edits()
        herded = sum(herd.active for herd in roster.herds.values())
        waking = int(np.count_nonzero(roster.is_waking(np.s_[: roster.count]))) if roster.wakes else 0
        return sum(crew.active for crew in roster.crews.values()) + herded + waking

    def status(self, agent: int) -> str:
        """``active``, ``reached``, ``unreachable`` (in the world as it is now), ``stopped`` or ``cancelled``."""
        self._hear_of_edits()
        named = self._agents(agent, cancelled=True)
        if len(named) != 1:
            raise Error(f"status() is of one agent, not of {len(named)}; statuses has all of them")
        return _STATUS[int(self._roster.episodes["status"][named[0]])]

    def __len__(self) -> int:
        return self._roster.count - len(self._roster.spare)

    @property
    def stats(self) -> FleetStats:
        """How the ticks went so far."""
        roster = self._roster
        self._hear_of_edits()
        times = self._times[: min(roster.number, _TIMED)]
        if not len(times):
            times = np.zeros(1)
        status, served = roster.column("status"), roster.column("served")
        on_way = status == loop.ACTIVE
        return FleetStats(
            ticks=roster.number,
            agents=int(on_way.sum()),
            served=int(roster.had_turn().sum()),
            p50_ms=float(np.percentile(times, 50)),
            p99_ms=float(np.percentile(times, 99)),
            max_ms=float(times.max()),
            late=self._late,
            expansions=self._expansions,
            last_expansions=self._last_expansions,
            learning=self._learning,
            moves=self._moves,
            waited=np.where(on_way, roster.number - served, 0),
        )


def _milliseconds(given: Any) -> float:
    """A frame, as it was given."""
    if not (is_number(given) and 0 < given < 60_000):
        raise SpecError(f"frame_ms is a number of milliseconds above 0 and below a minute, not {shown(given)}")
    return float(given)


def _first_margin(milliseconds: float) -> float:
    """What is kept of such a frame, as long as no tick has told."""
    return min(_MARGIN, _MOST_MARGIN * milliseconds)


def _check_unmasked(given: Any, what: str, remedy: str) -> None:
    """An Error if some of an array are not to count."""
    if isinstance(given, np.ma.MaskedArray):
        raise Error(f"{what} are a plain list or array; of a masked array give {remedy}")


def _named(what: str, n: int, agents: Sequence[int]) -> str:
    """The n-th of what was given for ``agents``, or for those that are to be added."""
    return f"{what} of agent {agents[n]}" if n < len(agents) else f"{what} number {n}"


def _unequal(count: int, what: str, agents: int) -> str:
    return f"{some(count, what)} {'does' if count == 1 else 'do'} not fit {some(agents, 'agent')}"


def _tell_of(faults: list[Exception]) -> None:
    """Raise what went wrong with some agents, in one sentence."""
    raise type(faults[0])("; ".join(map(str, faults))) from faults[0].__cause__


def _to_look_at(array: np.ndarray) -> np.ndarray:
    """What users may see of an array without a copy. What they wrote there would be lost, or break the fleet."""
    array.flags.writeable = False
    return array


def _release_all(planners: list[Any], team: Team | None) -> None:
    for planner in planners:
        if planner is not None:
            planner.release()
    if team is not None:
        team.dismiss()
