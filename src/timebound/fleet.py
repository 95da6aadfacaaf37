"""Many agents under one frame: a game's units, each planning a little per tick, all of them within a budget together.

The agents of one kind (an algorithm and a world as compiled code sees them) are a *crew*: their states lie on one
shelf, and one call of ``kernels.loop.run`` gives each of them a tick. Nothing is done in Python for an agent that just
walks. Only those that arrive, find no way or need more room are looked at one by one.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from .algorithms import REGISTRY, Spec, check_refusal, parse_spec
from .budget import UNLIMITED, Budget, countable
from .errors import Error, ProblemError, SpecError, at_least, check_world, is_number
from .fields import DistanceField
from .hands import in_use, one_thread, undisturbed
from .kernels import loop
from .kernels.distance_field import NOWHERE
from .kernels.herds import carry, follow
from .kernels.jit import COMPILED
from .kernels.memory import Neighbours, Piece, in_lines
from .kernels.native import Kind, Shelf, kind_of
from .kernels.plain_records import by_attribute
from .kernels.priority_inheritance import (
    FIXED,
    PARKED,
    WALKING,
    Units,
    inherit,
    new_crowd,
    new_units,
    raise_priorities,
)
from .kernels.saving import Savable
from .kernels.teams import Team
from .kernels.ticks import PATIENCE, new_clock, wind
from .kernels.workspace import book_of, place_in
from .text import shown
from .worlds.changes import me
from .worlds.grid import Grid
from .worlds.protocol import World

__all__ = ["Fleet", "FleetStats"]

_CANCELLED = 99  # the status of a row without an agent
_STATUS = {
    loop.ACTIVE: "active",
    loop.REACHED: "reached",
    loop.UNREACHABLE: "unreachable",
    loop.MOVE_LIMIT: "stopped",
    _CANCELLED: "cancelled",
}
_STAND_IN = REGISTRY["a*"]
_REST = 120  # ticks for which an agent that has arrived, or whose goal was shut, keeps what it has
_WAKES = 64  # agents that may begin to search again in one tick, after an edit: each needs Python for a moment,
_CHORES = 0.25  # and this part of a frame of milliseconds is for them
_ORDERS = 0.5  # how much of a frame of milliseconds orders may take from the tick that follows
_TIMED = 4096  # ticks whose durations are kept
# Nanoseconds of a frame that are kept for what comes after its deadline: an agent in the middle of something, Python.
# They grow when a frame was late, and shrink when none is, so that one in two hundred will be.
_MARGIN, _LATE, _IN_TIME = 40_000.0, 20_000.0, 100.0
# Expansions that an agent may make when it has its turn in a frame of milliseconds, however many there are. With less,
# all would move in every tick, but astray; so they take turns. And what an agent holds must be fetched first.
_SLICE = 32.0
_MOST_WEIGHT = 1000
_OF_A_CREW = ("views", "shelf", "rows", "told", "run", "pace")  # not saved, but made anew; the next as well
_OF_THE_PROCESS = (
    "_team", "_tools", "_call_book", "_frame", "_turn", "_turn_book", "_end", "_views", "_noted_book", "_edit_book",
    "_hands", "_name",
)  # fmt: skip
_AHEAD = 10  # ticks that a unit may have been on its way longer than one of the next higher priority, and give way
_FINE = 20  # binary digits of credit
_SHORT = 100_000.0  # nanoseconds of work that one thread does sooner than it could wake another
# What ``run`` is told: the end of a FRAME (share, deadline, number, crew); and the turns, which are behind it: the next
# one, the last one, and counts of expansions, of ends and of moves.
_CALL, _CALL_AT = Struct("=8q"), 8 * place_in(loop.FRAME, "share")
_NEXT, _, _SPENT, _ENDED, _STEPS = range(5)
_FIELDS, _FRAME_FIELDS = loop.EPISODE.names or (), loop.FRAME.names or ()


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
    expansions: int  # of all ticks
    last_expansions: int  # of the last tick
    moves: int  # of all ticks
    waited: np.ndarray  # for each id: ticks since it was served; 0: in the last tick, or it is not on its way


class _Crew:
    """Agents that share compiled code: what they hold is on one shelf, and they take turns in one order."""

    def __init__(self, number: int, view: Any, kind: Kind, least: int) -> None:
        self.number = number
        self.least = least  # expansions that each of them asks for in a tick
        self.view = view
        self._open_shelf(kind, 16)
        self.free = list(range(15, -1, -1))  # seats
        self.order = np.zeros(16, np.int64)  # agents, in the order of their turns
        self.members = 0  # of ``order``; some may have left since
        self._listed: set[int] = set()  # the same, by name
        self.active = 0
        self.resting = 0
        self.cursor = 0  # whose turn is next
        self.credit = 0  # expansions saved up, in fixed point
        self.weights = 0  # of those on their way
        self.heaviest = 1
        self.pace = 0.0  # nanoseconds that one of them takes in a tick, lately

    def _open_shelf(self, kind: Kind, rows: int) -> None:
        self.views = Shelf(kind_of(self.view))
        self.views.put(0, self.view)
        self.shelf = Shelf(kind, rows)
        self._lay_out()
        self.run = loop.runner(self.views.kind, kind)

    def _lay_out(self) -> None:
        """What kernels that serve a crew are told first."""
        self.rows = self.views.kind.token, self.shelf.kind.token, self.views.rows, self.shelf.rows
        self.told: list[tuple[Any, ...]] = []  # all that ``run`` was told last, by each thread

    def __getstate__(self) -> dict[str, Any]:
        """Without what is on the shelves, for addresses are those of a process; as is the pace."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_A_CREW}
        return {**state, "shelf": (self.shelf.kind, len(self.shelf.rows))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.pace = 0.0
        self._open_shelf(*state["shelf"])

    @property
    def carry(self) -> Callable[..., None]:
        """``loop.carry_out`` for them."""
        return loop.carrier(self.views.kind, self.shelf.kind)

    @property
    def relocate(self) -> Callable[..., None]:
        """``loop.relocate`` for them."""
        return loop.relocator(self.views.kind, self.shelf.kind)

    def rest(self, more: int, weight: int) -> None:
        """So many more of them, who have such a part of the frame, rest."""
        self.resting += more
        self.active -= more
        self.weights -= weight

    def seat(self) -> int:
        """A free row of the shelf."""
        if not self.free:
            size = len(self.shelf.rows)
            self.shelf.enlarge(2 * size)
            self._lay_out()
            self.free.extend(range(2 * size - 1, size - 1, -1))
        return self.free.pop()

    def join(self, k: int) -> None:
        """The agent's turn comes last, unless it has one still from before."""
        if k in self._listed:
            return
        self._listed.add(k)
        if self.members == len(self.order):
            self.order = np.concatenate([self.order, np.zeros_like(self.order)])
        self.order[self.members] = k
        self.members += 1

    def close_ranks(self, crews: np.ndarray) -> None:
        """Drop those who left, once they are many; ``crews`` tells whose number an agent has. All keep their turns."""
        if self.members - self.active - self.resting > max(8, self.members >> 3):
            with undisturbed():
                stays = crews[self.order[: self.members]] == self.number
                self.cursor = int(np.count_nonzero(stays[: self.cursor]))
                kept = self.order[: self.members][stays]
                self.members = len(kept)
                self.order[: self.members] = kept
                self._listed = set(kept.tolist())
        self.cursor = self.cursor % self.members if self.members else 0


class _Herd:
    """Agents with one goal that share one field (``spec="field"``): each tick tells all of them where to step."""

    def __init__(self, number: int, goal: int, field: DistanceField) -> None:
        self.number = number  # below that of any crew
        self.goal = goal
        self.field = field
        self.resting = 0
        self._members: dict[int, None] = {}
        self._listed: np.ndarray | None = None

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._members)

    @property
    def active(self) -> int:
        """How many are on their way."""
        return self.size - self.resting

    def rest(self, more: int, weight: int) -> None:
        """So many more of them rest."""
        self.resting += more

    def join(self, k: int) -> None:
        self._members[k] = None
        self._listed = None

    def leave(self, k: int) -> None:
        del self._members[k]
        self._listed = None

    @property
    def members(self) -> np.ndarray:
        """The agents, in the order in which they came."""
        if self._listed is None:
            self._listed = np.fromiter(self._members, np.int64, len(self._members))
        return self._listed


_one_thread, _whole = one_thread("fleet"), one_thread("fleet", whole=True)


class Fleet(Savable):
    """Many agents in one world, under one budget per frame.

    ``frame_ms`` is what a tick may take, in milliseconds; ``frame_expansions`` what all agents together may expand in
    one, and then the same calls give the same moves on any machine, with any number of threads. Each agent on its way
    has an equal share of it (``priority`` times that), and makes one move per tick. Where the frame is too small for
    all, they take turns, and no agent starves: of agents with priorities that add up to W, in c algorithms, one that
    may expand u states in a tick is served at least every ``ceil(W u / F) + c`` ticks of E expansions, where F is the
    larger of u and E - u + 1: what is left of a frame may be too little for the next one.

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
        self.world = world
        self._cells = isinstance(world, Grid)  # points are pairs of numbers
        self.spec = parse_spec(spec)
        self.database = database
        if frame_ms is not None and frame_expansions is not None:
            raise SpecError("a frame is so many milliseconds or so many expansions, not both")
        if frame_ms is not None and not (is_number(frame_ms) and 0 < frame_ms < 60_000):
            raise SpecError(f"frame_ms is a number of milliseconds above 0 and below a minute, not {shown(frame_ms)}")
        self.frame_ms = None if frame_expansions is not None else float(frame_ms if frame_ms is not None else 1.0)
        self.frame_expansions = None if frame_expansions is None else countable("frame_expansions", frame_expansions)
        self._most = UNLIMITED if budget is None else countable("budget, the expansions of an agent per tick,", budget)
        self.threads = countable("threads", threads, 256)
        if not isinstance(collisions, bool):
            raise SpecError(f"collisions is True or False, not {shown(collisions)}")
        self.collisions = collisions
        self._seed = at_least(0, seed, "a seed is a whole number", (1 << 62) - 1)
        self._crews: dict[tuple[int, Kind, int], _Crew] = {}
        self._crewed = 0  # how many there have been
        self._episodes: Any = np.zeros(0, loop.EPISODE)
        self._points, self._moved = np.zeros((0, 2), np.int64), np.zeros(0, np.bool_)
        self._seats, self._proved = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._rests = np.zeros(0, np.int64)  # since which tick; 0: not
        self._units: Units | None = None  # with collisions: what all of them wish for
        self._rows(64)
        self._count = 0  # rows that were ever used
        self._spare: list[int] = []  # rows of agents that were cancelled
        self._herds: dict[int, _Herd] = {}  # by the state of their goal
        self._herded = 0  # how many there have been
        self._planners: list[Any] = []
        self._neighbours = Neighbours()
        self._specs: list[tuple[Spec, Any]] = []  # with the database
        self._crew_of: list[_Crew | None] = []
        self._wakes: deque[int] = deque()
        self._beds: deque[tuple[int, np.ndarray]] = deque()  # who began to rest in which tick
        self._holders: dict[int, _Crew | _Herd] = {}  # by their numbers
        self._edits = int(world.changes.edited[0])
        self._number = 0
        self._torn = False  # whether something was raised in the middle of the last tick
        self._margin = _MARGIN
        self._ordering = 0  # nanoseconds that orders have taken since the last tick
        self._share = _SLICE  # expansions for each, in a frame of milliseconds; it follows what ticks have taken
        self._times = np.zeros(_TIMED)
        self._late = self._expansions = self._last_expansions = self._moves = 0
        self._check(self.spec, database)
        self._take_tools()

    def _take_tools(self) -> None:
        """What a process has of its own."""
        self._team = Team(self.threads - 1, "timebound-fleet") if self.threads > 1 else None
        call = np.zeros(len(_FRAME_FIELDS) + 5, np.int64)
        self._call_book, self._turn = book_of(call).cast("B"), call[len(_FRAME_FIELDS) :]
        frame = call[: len(_FRAME_FIELDS)].view(loop.FRAME)
        frame["ticks"], frame["holds"] = 1, self.collisions
        self._frame: Any = frame if COMPILED else by_attribute(frame)
        self._tools = [(new_clock(), np.zeros(2, np.int64), np.zeros(2, np.int64)) for _ in range(self.threads)]
        self._turn_book = book_of(self._turn)
        self._noted_book, self._edit_book = book_of(self._noted), book_of(self.world.changes.edited)
        self._hands: dict[int, int] = {}  # 0: the thread that is at work with the fleet
        self._name = 0, 0  # by which the world knows the thread that last called tick()
        self._views: dict[int, tuple[Any, Any]] = {}  # by goal, where each has its own; with the view it was made of
        # Agents that are dropped with their fleet give their arrays back.
        self._end = weakref.finalize(self, _release_all, self._planners, self._team)

    # --- saving -------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Fleet:
        return deepcopy(self, {id(self.world): self.world})

    @_one_thread
    def __getstate__(self) -> dict[str, Any]:
        """All but what a process has of its own; crews are named by where things lie in memory, so without names."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THE_PROCESS}
        times = Piece(self._times, np.s_[: min(self._number, _TIMED)])
        return {**state, "_crews": list(self._crews.values()), "_times": times}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._crews = {(id(crew.view), crew.shelf.kind, crew.least): crew for crew in state["_crews"]}
        self._take_tools()
        # A deadline is of the clock of its process, and has passed.
        self._episodes["deadline"] = np.minimum(self._episodes["deadline"], 1)
        for k, (crew, planner) in enumerate(zip(self._crew_of, self._planners, strict=True)):
            if crew is not None and planner is not None:
                crew.shelf.put(int(self._seats[k]), planner.state)

    def _rows(self, rows: int) -> None:
        """Room for so many agents."""
        episodes = in_lines(rows, loop.EPISODE.itemsize // 8).view(loop.EPISODE)[:, 0]
        episodes["status"] = _CANCELLED
        points, moved = np.zeros((rows, 2), np.int64), np.zeros(rows, np.bool_)
        seats, proved, rests = np.zeros(rows, np.int64), np.full(rows, -1), np.zeros(rows, np.int64)
        old = self._episodes, self._points, self._moved, self._seats, self._proved, self._rests
        for new, before in zip((episodes, points, moved, seats, proved, rests), old, strict=True):
            new[: len(before)] = before
        self._episodes = episodes if COMPILED else by_attribute(episodes)  # as ``new_record``
        self._points, self._moved, self._seats, self._proved, self._rests = points, moved, seats, proved, rests
        self._noted = np.zeros(rows + 1, np.int64)
        self._noted_book = book_of(self._noted)
        if self.collisions:
            units = new_units(rows)
            for new, before in zip(units, self._units or (), strict=False):
                new[: len(before)] = before
            self._units, self._crowd = units, new_crowd(rows)

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
        chosen = self.spec if spec is None else parse_spec(spec)
        held = self.database if database is None else database
        if chosen is not self.spec or database is not None:
            self._check(chosen, held)
        weight = countable("priority, the shares of a frame that an agent has,", priority, _MOST_WEIGHT)
        here = self._starts(starts, "start")
        there = self._goals(goals, len(here))
        self._check_apart(here, "start")
        ids = [self._enroll(chosen, held) for _ in here]
        fields = dict.fromkeys(_FIELDS, 0) | {
            "status": loop.REACHED,
            "moves_per_decision": 1,
            "weight": weight,
            "limit": min(self._most, self.frame_expansions or UNLIMITED),
            "move_limit": UNLIMITED,
            "served": self._number,
            "crew": -1,
        }
        self._episodes[ids] = tuple(fields.values())
        self._episodes["position"][ids], self._episodes["goal"][ids] = here, there
        self._points[ids] = self._points_of(np.array(here, np.int64))
        if self._units is not None:
            self._units.base[ids] = self._units.priority[ids] = _AHEAD * (weight - 1)
        try:
            for k in ids:
                self._set_out(k)
        except BaseException:
            self.cancel(ids)  # all or none
            raise
        return np.array(ids, np.int64)

    def _enroll(self, spec: Spec, database: Any) -> int:
        """A row for an agent."""
        if self._spare:
            k = self._spare.pop()
        else:
            k = self._count
            if k == len(self._episodes):
                self._rows(2 * k)
            self._count += 1
            self._planners.append(None)
            self._specs.append((spec, database))
            self._crew_of.append(None)
        self._specs[k] = spec, database
        return k

    def _check_apart(self, states: list[int], what: str, but: Sequence[int] = ()) -> None:
        """Where units must not stand in each other: a ProblemError if one would, apart from those who leave."""
        if not self.collisions:
            return
        here = self._episodes["status"][: self._count] != _CANCELLED
        here[list(but)] = False
        taken = set(self._episodes["position"][: self._count][here].tolist())
        for n, state in enumerate(states):
            if state in taken:
                where = shown(self.world.point_of(state))
                raise ProblemError(f"the {what} of agent {n}, {where}, is taken; with collisions each has its own")
            taken.add(state)

    def _set_out(self, k: int) -> None:
        """Let an agent that has nothing to do any more, or not yet, be on its way to its goal."""
        episode = self._episodes[k : k + 1]
        goal = int(episode["goal"][0])
        episode["pending"] = episode["deciding"] = 0
        if int(episode["position"][0]) == goal:
            episode["status"] = loop.REACHED
            return
        if not self.world.is_open(goal):
            episode["status"] = loop.UNREACHABLE
            self._proved[k] = self.world.changes.edited[0]
            return
        if episode["status"][0] != loop.ACTIVE:
            episode["served"] = self._number  # it begins to wait now, whenever its last turn was
        episode["status"] = loop.ACTIVE
        if self._specs[k][0].algorithm.shares:
            self._join_herd(k, goal)
            return
        self._take_planner(k, goal)
        crew = self._crew_of[k]
        assert crew is not None
        crew.active += 1
        crew.weights += int(episode["weight"][0])
        crew.heaviest = max(crew.heaviest, int(episode["weight"][0]))

    def _join_herd(self, k: int, goal: int) -> None:
        """Walk by the field that leads to the goal."""
        herd = self._herds.get(goal)
        if herd is None:
            self._herded += 1
            field = DistanceField(self.world, self.world.point_of(goal))
            herd = self._herds[goal] = _Herd(-1 - self._herded, goal, field)
            self._holders[herd.number] = herd
        herd.join(k)
        self._episodes["crew"][k] = herd.number

    def _take_planner(self, k: int, goal: int) -> None:
        """A new planner for the agent, in the crew that it belongs to."""
        spec, database = self._specs[k]
        algorithm = spec.algorithm
        budget = Budget(expansions=None if self._most == UNLIMITED else self._most)
        with self._neighbours.together():
            if algorithm.refuses is not None and algorithm.refuses(self.world) is not None:
                planner = _STAND_IN.make(self.world, goal, budget)  # an edit has made a graph one-way, as for an Agent
            else:
                options = {"database": database} if algorithm.database else {}
                planner = algorithm.make(self.world, goal, budget, **options, **spec.parameters)
        expect = getattr(planner, "expect", None)
        if expect is not None:
            expect(self.world.view, int(self._episodes["position"][k]))
        self._planners[k] = planner
        self._shelve(k, planner.state)

    def _shelve(self, k: int, state: Any) -> None:
        """Write an agent's state down: it is new, or something in it was exchanged."""
        crew = self._crew_of[k]
        kind = kind_of(state)
        if crew is None or crew.shelf.kind is not kind:
            view = self._view_for(int(self._episodes["goal"][k]))
            least = self._least(self._specs[k][0])
            key = id(view), kind, least
            fresh = self._crews.get(key)
            if fresh is None:
                fresh = self._crews[key] = self._holders[self._crewed] = _Crew(self._crewed, view, kind, least)
                self._crewed += 1
            seat = fresh.seat()  # first, for there may be no memory
            if crew is not None:
                self._leave_seat(k)
            self._crew_of[k] = crew = fresh
            self._episodes["crew"][k], self._seats[k] = crew.number, seat
            crew.join(k)
        crew.shelf.put(int(self._seats[k]), state)

    def _renew(self, k: int, before: Any) -> None:
        """Write down what has been exchanged in an agent's state since it was ``before``."""
        crew, state = self._crew_of[k], self._planners[k].state
        assert crew is not None
        if not crew.shelf.renew(int(self._seats[k]), before, state):
            self._shelve(k, state)

    def _view_for(self, goal: int) -> Any:
        """The world's view for a goal. Where each goal has one of its own, all who are bound for it share that."""
        if not self.world.goal_views:
            return self.world.view_for(goal)
        of, view = self._views.get(goal, (None, None))
        if of is not self.world.view:
            view = self.world.view_for(goal)
            self._views[goal] = self.world.view, view
        return view

    def _forget_goals(self) -> None:
        """Views for goals that nobody is bound for any more, and the crews that had them, are not kept."""
        for crew in [crew for crew in self._crews.values() if not crew.active and not crew.resting]:
            del self._holders[crew.number]
        self._crews = {key: crew for key, crew in self._crews.items() if crew.number in self._holders}
        used = {id(crew.view) for crew in self._crews.values()}
        self._views = {goal: known for goal, known in self._views.items() if id(known[1]) in used}

    def _leave_seat(self, k: int) -> None:
        crew, seat = self._crew_of[k], int(self._seats[k])
        assert crew is not None
        crew.shelf.clear(seat)
        crew.free.append(seat)
        self._crew_of[k] = None
        self._episodes["crew"][k] = -1

    def _retire(self, k: int) -> None:
        """The agent is not on its way any more: its arrays go to the next one."""
        if self._rests[k]:
            self._resume(np.array([k]))
        if self._episodes["crew"][k] < -1:
            self._leave_herd(k)
            return
        crew, planner = self._crew_of[k], self._planners[k]
        if planner is not None:
            self._planners[k] = None
            planner.release()
        if crew is not None:
            crew.active -= 1
            crew.weights -= int(self._episodes["weight"][k])
            self._leave_seat(k)

    def _rest(self, agents: np.ndarray) -> None:
        """They have arrived, or cannot. For a while they keep what they have: what they follow may go on."""
        agents = agents[self._rests[agents] == 0]
        if len(agents):
            self._rests[agents] = self._number + 1
            self._beds.append((self._number + 1, agents))
            self._count_resting(agents, 1)

    def _resume(self, agents: np.ndarray) -> None:
        """They are on their way again."""
        if len(agents):
            self._rests[agents] = 0
            self._count_resting(agents, -1)
            self._episodes["served"][agents] = self._number

    def _count_resting(self, agents: np.ndarray, more: int) -> None:
        crews, weights = self._episodes["crew"][agents], self._episodes["weight"][agents]
        for number in np.unique(crews).tolist():
            mine = crews == number
            self._holders[number].rest(more * int(np.count_nonzero(mine)), more * int(weights[mine].sum()))

    def _settle(self, agents: np.ndarray) -> None:
        """Their status may have changed, by a move or by an order; all have what they need to be on their way."""
        status = self._episodes["status"][agents]
        self._rest(agents[status == loop.REACHED])
        self._resume(agents[(status == loop.ACTIVE) & (self._rests[agents] != 0)])
        for k in agents[status > loop.REACHED].tolist():
            self._retire(k)

    def _rise(self, began: int) -> None:
        """Those who have rested long enough give back what they have; a few in each tick."""
        left = _WAKES
        while left and self._beds and self._number - self._beds[0][0] >= _REST:
            since, agents = self._beds.popleft()
            agents = agents[self._rests[agents] == since]
            done = 0
            while done < min(left, len(agents)):
                self._retire(int(agents[done]))
                done += 1
                if self._takes_long(began):
                    left = done
            if len(agents) > done:
                self._beds.appendleft((since, agents[done:]))
            left -= done

    def _takes_long(self, began: int) -> bool:
        """Whether so much of a frame of milliseconds is gone that what need not be done now is left for later."""
        return self.frame_ms is not None and time.perf_counter_ns() - began > _CHORES * 1e6 * self.frame_ms

    def _leave_herd(self, k: int) -> None:
        herd = self._holders[int(self._episodes["crew"][k])]
        assert isinstance(herd, _Herd)
        herd.leave(k)
        self._episodes["crew"][k] = -1
        if not herd.size:
            del self._herds[herd.goal], self._holders[herd.number]

    def _on_way(self, k: int) -> bool:
        """Whether the agent has a planner or a herd, and so must be retired before it gets another."""
        return self._episodes["crew"][k] != -1

    def _check(self, spec: Spec, database: Any) -> None:
        """A SpecError if agents of this kind could not work here, or not within a frame."""
        if not spec.algorithm.real_time and not spec.algorithm.shares:
            raise SpecError(
                f"{spec.algorithm.name} plans whole paths; a fleet takes real-time algorithms such as tb-wa*"
            )
        if database is not None and not spec.algorithm.database:
            raise SpecError(f"{spec.algorithm.name} uses no database")
        most = min(self._most, self.frame_expansions or UNLIMITED)
        check_refusal(spec, self.world, Budget(expansions=None if most == UNLIMITED else most))

    def _least(self, spec: Spec) -> int:
        """How many expansions an agent needs in a tick for its whole lookahead; 1 if it can do with any number."""
        unfit, least = spec.algorithm.unfit, 1  # asked again for every agent: it is quick where it says 1 at once
        if unfit is None:
            return 1
        most = min(self._most, self.frame_expansions or UNLIMITED)
        while least < most and unfit(self.world, Budget(expansions=least), **spec.parameters) is not None:
            least *= 2
        low, high = least // 2, min(least, most)
        while low + 1 < high:
            middle = (low + high) // 2
            if unfit(self.world, Budget(expansions=middle), **spec.parameters) is None:
                high = middle
            else:
                low = middle
        return high

    def _states(self, points: Sequence[Any] | np.ndarray, what: str) -> list[int]:
        """The states of many points, every one checked before anything is done."""
        if isinstance(points, np.ndarray):
            if isinstance(self.world, Grid) and points.ndim == 2 and points.shape[1] == 2 and points.dtype.kind in "iu":
                states = self.world.path_states(points)
                if self.world.are_open(states).all():
                    return states.tolist()  # else they are looked at one by one, to say which is wrong
            points = points.tolist()
        return [self.world.state_of(point, f"{what} of agent {n}") for n, point in enumerate(points)]

    def _one_or_all(self, points: Any, what: str) -> list[int] | int:
        """The states of many points; or the state, if it is one point."""
        try:
            self.world.place_of(points, what)
        except ProblemError:
            if isinstance(points, (str, bytes)) or not isinstance(points, Iterable):
                raise
            if not isinstance(points, Sequence) and not (isinstance(points, np.ndarray) and points.ndim):
                raise ProblemError(f"{what}s are a list or an array of points, not {shown(points)}") from None
            if self._cells and len(points) and all(np.ndim(part) == 0 for part in points):
                raise  # one point that is wrong, not many
            return self._states(points, what)
        return self.world.state_of(points, what)

    def _goals(self, goals: Any, count: int) -> list[int]:
        """A state for each of so many agents: of one point for all, or of one for each."""
        states = self._one_or_all(goals, "goal")
        if isinstance(states, int):
            return [states] * count
        if len(states) != count:
            raise ProblemError(f"there are {len(states)} goals for {count} agents; give one for each, or one for all")
        return states

    def _starts(self, points: Any, what: str) -> list[int]:
        """A state for each agent: of a point for each, or of one for one."""
        states = self._one_or_all(points, what)
        return [states] if isinstance(states, int) else states

    def _point(self, state: int) -> Any:
        return self.world.point_of(state) if self._cells else (state, 0)

    def _points_of(self, states: np.ndarray) -> np.ndarray:
        return self.world.points_of(states) if self._cells else np.column_stack((states, np.zeros_like(states)))

    # --- one frame ----------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        """Let every agent make a move, as far as the frame allows. Returns how many moved."""
        hands, mine = self._hands, me()
        try:
            # As ``one_thread``, which would take a tenth of a short tick.
            owner = hands.setdefault(0, mine)
            if owner != mine:
                raise in_use("fleet", owner, mine)
            began = time.perf_counter_ns()
            self._number += 1
            self._moved.fill(False)
            faults: list[Exception] = []  # of agents that were stopped; the others have gone on
            changes = self.world.changes
            if self._torn:
                with undisturbed():
                    self._mend(faults)
            changes.catch_up()
            if self._edits != self._edit_book[0]:
                self._hear_of_edits(self._number - 1)
            if self._wakes or (self._beds and self._number - self._beds[0][0] >= _REST):
                with undisturbed():
                    self._wake_some(began, faults)
                    self._rise(began)
            if self.world.goal_views:
                self._forget_goals()
            if self._name[0] != mine:  # another thread than the last time
                self._name = changes.name(self)
                for clock, _, _ in self._tools:
                    wind(clock, PATIENCE)
            self._turn_book[_STEPS] = 0
            apart = bool(self._herds) or self.collisions  # some move outside of ``run``
            try:
                changes.enter(self._name)
                expansions = self._grow_fields(began, faults) if self._herds else 0
                if self.frame_expansions is not None:
                    expansions += self._spend(self.frame_expansions - expansions, faults)
                else:
                    expansions += self._hurry(began, faults)
                self._last_expansions = expansions
                if self._herds:
                    with undisturbed():
                        for herd in list(self._herds.values()):
                            self._follow(herd, faults)
                if self.collisions:
                    with undisturbed():
                        self._make_way(faults)
            except BaseException:
                self._torn = True
                raise
            finally:
                changes.leave(self._name)
            moved = int(np.count_nonzero(self._moved)) if apart else self._turn_book[_STEPS]
            self._moves += moved
            self._expansions += expansions
            took = (time.perf_counter_ns() - began) * 1e-6
            self._times[(self._number - 1) % _TIMED] = took
            if self.frame_ms is not None:
                self._learn_from(took, self.frame_ms)
            if faults:
                raise type(faults[0])("; ".join(map(str, faults)))
            return moved
        finally:
            if 0 in hands and hands[0] is mine:
                del hands[0]

    def _mend(self, faults: list[Exception]) -> None:
        """Attend to those whom the last tick did not come to, for something was raised in it: Ctrl-C, perhaps."""
        status, crews = self._episodes["status"][: self._count], self._episodes["crew"][: self._count]
        left = np.flatnonzero((status != loop.ACTIVE) & (crews >= 0) & (self._rests[: self._count] == 0))
        self._proved[left[status[left] == loop.UNREACHABLE]] = self._edits  # the edits that it had heard of
        for k in left[status[left] > loop.MOVE_LIMIT].tolist():
            self._disown(k, int(status[k]), faults)
        self._settle(left[status[left] != loop.MOVE_LIMIT])
        self._torn = False

    def _learn_from(self, took: float, frame: float) -> None:
        """What a tick has taken, of a frame of so many milliseconds, tells what the next one may do."""
        if took > frame:
            self._late += 1
            self._margin = min(self._margin + _LATE, 5e5 * frame)
        elif took > 0.8 * frame:  # a frame that was not full tells nothing
            self._margin = max(self._margin - _IN_TIME, 0.0)
        # Four fifths of the frame are aimed at: what a share costs varies.
        self._share = min(max(self._share * min(max(0.8 * frame / took, 0.5), 1.25), _SLICE), 1e9)

    def _grow_fields(self, began: int, faults: list[Exception]) -> int:
        """Let the fields of herds grow, each by the part of the frame that its agents have. Returns the expansions."""
        growing = [herd for herd in self._herds.values() if herd.active and not herd.field.done]
        members = sum(herd.active for herd in self._herds.values())
        total, weights = 0, sum(crew.weights for crew in self._crews.values()) + members
        for n, herd in enumerate(growing):
            if self.frame_expansions is not None:
                # However many there are, each has its turn to grow by at least one state.
                turn = int(n == self._number % len(growing))
                part = max(self.frame_expansions * herd.active // weights, turn)
                budget: Any = min(part, self.frame_expansions - total)
            else:
                assert self.frame_ms is not None
                part_ms = 0.8 * self.frame_ms * max(herd.active / weights, 1 / (20 * len(growing)))
                budget = Budget(milliseconds=part_ms)
            try:
                total += herd.field.grow(budget) if budget else 0
            except (Error, MemoryError) as problem:
                with undisturbed():
                    self._disband(herd, problem, faults)
        return total

    def _disband(self, herd: _Herd, problem: Exception, faults: list[Exception]) -> None:
        """Their field cannot be, as the world is now: an edit has made a graph one-way, or there is no memory."""
        agents = herd.members.tolist()
        faults.append(type(problem)(f"{len(agents)} agents of field, {agents[0]} first, were stopped: {problem}"))
        for k in agents:
            self._stop(k)

    def _follow(self, herd: _Herd, faults: list[Exception]) -> None:
        """Let the agents of a herd step downhill."""
        if not herd.active:
            return
        members = herd.members
        try:
            steps = herd.field.following(self._episodes["position"][members])
        except (Error, MemoryError) as problem:
            self._disband(herd, problem, faults)
            return
        self._noted[0] = 0
        told = members, steps, NOWHERE, *self._seen, self._noted, self._number, self.collisions
        follow(self.world.view, self._episodes, *told)
        self._dismiss()

    def _dismiss(self) -> None:
        """Those who were noted are not on their way any more, or again."""
        agents = self._noted[1 : 1 + int(self._noted[0])].copy()
        self._proved[agents] = self.world.changes.edited[0]
        self._settle(agents)

    def _spend(self, frame: int, faults: list[Exception]) -> int:
        """A tick of a frame that is counted in expansions. Who is served is settled before anyone acts.

        Each crew saves up its part of every frame until that is enough for an agent (deficit round robin). What is left
        in the end is for those who have not had their turn.
        """
        if len(self._crews) == 1:
            (crew,) = self._crews.values()
            if not crew.active:
                return 0
            if crew.members != crew.active + crew.resting:
                crew.close_ranks(self._episodes["crew"])
            share = frame // crew.weights
            if share < crew.least:
                share = crew.least
            if share * crew.heaviest * crew.members <= frame:  # it is enough for all, and nobody need take turns
                crew.cursor = 0
                spent = self._act(crew, crew.order, 0, crew.members, share, 0)
                return spent + self._attend_to_all(share, 0, faults) if self._noted_book[0] else spent
        crews = self._in_turn()
        weights, total = sum(crew.weights for crew in crews), 0
        waiting = {crew.number: crew.members for crew in crews}
        for crew in crews:
            crew.credit += ((frame * crew.weights) << _FINE) // weights
        for saved in (True, False):
            for crew in crews:
                share = max(crew.least, frame // weights)
                each = min(frame, share * crew.heaviest)
                part = min(frame - total, crew.credit >> _FINE) if saved else frame - total
                while waiting[crew.number] and part >= each:
                    some = min(waiting[crew.number], part // each, crew.members - crew.cursor)
                    spent = self._serve(crew, crew.cursor, crew.cursor + some, share, 0, faults)
                    total, part = total + spent, part - spent
                    crew.credit -= min(crew.credit, spent << _FINE)
                    waiting[crew.number] -= some
                    crew.cursor = (crew.cursor + some) % crew.members
                crew.credit = min(crew.credit, max(frame, each) << _FINE)
        return total

    def _in_turn(self) -> list[_Crew]:
        """The crews that have somebody on the way, another one first in each tick."""
        crews = [crew for crew in self._crews.values() if crew.active]
        for crew in crews:
            if crew.cursor or crew.members != crew.active + crew.resting:
                crew.close_ranks(self._episodes["crew"])
        first = self._number % len(crews) if crews else 0
        return crews[first:] + crews[:first] if first else crews

    def _hurry(self, began: int, faults: list[Exception]) -> int:
        """A tick of a frame that is counted in milliseconds."""
        assert self.frame_ms is not None
        # Kernels read the same clock (see ``jit.now_ns``).
        frame = self.frame_ms * 1e6
        deadline = began + max(1, round(frame - self._margin - min(self._ordering, _ORDERS * frame)))
        self._ordering = 0
        total = 0
        for crew in self._in_turn():
            waiting, share = crew.members, max(crew.least, int(self._share))
            while waiting and time.perf_counter_ns() < deadline:
                some = min(waiting, crew.members - crew.cursor)
                total += self._serve(crew, crew.cursor, crew.cursor + some, share, deadline, faults)
                done = min(self._turn_book[_NEXT], crew.cursor + some) - crew.cursor
                crew.cursor = (crew.cursor + done) % max(1, crew.members)
                waiting -= max(done, 1)
        return total

    def _serve(self, crew: _Crew, first: int, last: int, share: int, deadline: int, faults: list[Exception]) -> int:
        """Let the agents in these places of a crew's order act, and attend to what they ask for."""
        spent = self._act(crew, crew.order, first, last, share, deadline)
        return spent + self._attend_to_all(share, deadline, faults) if self._noted_book[0] else spent

    def _attend_to_all(self, share: int, deadline: int, faults: list[Exception]) -> int:
        """Attend to what agents have asked for, until nobody does. Returns what they have expanded meanwhile."""
        spent, turn = 0, self._turn_book[_NEXT]
        while True:
            with undisturbed():
                again = self._attend(faults, deadline)
            if not again:
                break
            if deadline and time.perf_counter_ns() > deadline:
                break  # they stand in the middle of a decision, and go on in the next frame
            # What they want may have made them members of another crew.
            for one in {id(self._crew_of[k]): self._crew_of[k] for k in again}.values():
                mine = np.array([k for k in again if self._crew_of[k] is one])
                assert one is not None
                spent += self._act(one, mine, 0, len(mine), share, deadline)
        self._turn_book[_NEXT] = turn
        return spent

    def _act(self, crew: _Crew, order: np.ndarray, first: int, last: int, share: int, deadline: int) -> int:
        """One call of the loop, by as many threads as there are."""
        _CALL.pack_into(self._call_book, _CALL_AT, share, deadline, self._number, crew.number, first, last, 0, 0)
        self._noted_book[0] = 0
        told = crew.told
        # It is the same in every tick, until something grows.
        if not told or told[0][5] is not self._episodes or told[0][6] is not order:
            who = *crew.rows, self._seats, self._episodes, order, self._turn
            told = [(*who, *diary, *self._seen, self._noted, clock, self._frame) for clock, *diary in self._tools]
            if order is crew.order:
                crew.told = told
        if self._team is None:
            crew.run(*told[0])
            return self._turn_book[_SPENT]
        began = time.perf_counter_ns()
        if crew.pace * (last - first) > _SHORT:
            self._team.call(crew.run, told, self._turn[_ENDED:], self._tools[0][0])
        else:
            crew.run(*told[0])
        took = (time.perf_counter_ns() - began) * self._turn_book[_ENDED] / max(1, last - first)
        crew.pace += 0.25 * (took - crew.pace)
        return self._turn_book[_SPENT]

    @property
    def _seen(self) -> tuple[np.ndarray, np.ndarray]:
        """What users see of who moved."""
        return self._points, self._moved

    def _attend(self, faults: list[Exception], deadline: int) -> list[int]:
        """Look at the agents that the loop has noted. Returns those that must go on in this tick.

        After the deadline nobody gets room: who asks for it stands in the middle of a decision, and asks again.
        """
        count = int(self._noted[0])
        if not count:
            return []
        again = []
        agents = np.sort(self._noted[1 : 1 + count])
        arrived = self._episodes["outcome"][agents] == loop.REACHED
        self._rest(agents[arrived])
        for k in agents[~arrived].tolist():
            outcome = int(self._episodes["outcome"][k])
            if outcome in (loop.GROW_ALGORITHM, loop.PAUSED):
                if deadline and time.perf_counter_ns() > deadline:
                    continue
                if outcome == loop.GROW_ALGORITHM:
                    planner = self._planners[k]
                    before = planner.state
                    try:
                        planner.enlarge()
                    except MemoryError as problem:
                        self._stop_for(k, problem, faults)
                        continue
                    finally:  # whatever went wrong: what the shelf says is where its arrays are
                        if self._planners[k] is planner:
                            self._renew(k, before)
                again.append(k)
                continue
            if outcome == loop.UNREACHABLE:
                self._proved[k] = self.world.changes.edited[0]
            elif outcome in (loop.OVER_BUDGET, loop.ILLEGAL):
                self._disown(k, outcome, faults)
                continue
            self._retire(k)
        return again

    def _disown(self, k: int, outcome: int, faults: list[Exception]) -> None:
        """Stop an agent whose algorithm did what none may do."""
        what = "expanded more than its share" if outcome == loop.OVER_BUDGET else "asked for an illegal move"
        faults.append(AssertionError(f"{self._specs[k][0]}, agent {k}, {what} and was stopped"))
        self._stop(k)

    def _stop_for(self, k: int, problem: Exception, faults: list[Exception]) -> None:
        """Stop an agent that could not be given what it needs."""
        kind = MemoryError if isinstance(problem, MemoryError) else Error
        faults.append(kind(f"{self._specs[k][0]}, agent {k}, was stopped: {problem}"))
        faults[-1].__cause__ = problem
        self._stop(k)

    def _stop(self, k: int) -> None:
        """The agent stays where it is, and gives back what it has."""
        self._episodes["status"][k] = loop.MOVE_LIMIT
        self._retire(k)

    def _make_way(self, faults: list[Exception]) -> None:
        """All have said where they want to be next: decide who may, by priority inheritance, and let them."""
        units, n = self._units, self._count
        assert units is not None
        fields = {name: self._episodes[name][:n] for name in ("position", "wish", "goal", "status", "crew")}
        units.position[:n] = np.where(fields["status"] == _CANCELLED, -1, fields["position"])
        waking = self._is_waking(np.s_[:n])
        walking = (fields["status"] == loop.ACTIVE) & ~waking
        # Who has arrived would rather stay; who has no way, or nothing to plan with yet, is in nobody's way, and must
        # not be first for ever.
        units.wish[:n] = np.where(walking, fields["wish"], fields["position"])
        units.goal[:n] = np.where((fields["status"] == loop.UNREACHABLE) | waking, -1, fields["goal"])
        units.role[:n] = np.where(walking, WALKING, PARKED)
        units.role[:n][fields["status"] == loop.MOVE_LIMIT] = FIXED
        inherit(self.world.view, self._crowd, units, n, self._number, self._seed, False)
        for crew in list(self._crews.values()):
            if not crew.members:
                continue
            self._noted[0] = 0
            self._frame["crew"] = crew.number
            order = crew.order[: crew.members]
            crew.carry(
                *crew.rows, self._seats, self._episodes, order, units.next, *self._seen, self._noted, self._frame
            )
            agents = self._noted[1 : 1 + int(self._noted[0])].copy()
            anew = self._episodes["outcome"][agents] == loop.GROW_ALGORITHM
            self._settle(agents[~anew])
            for k in agents[anew].tolist():
                self._retire(k)
                self._set_out_or_stop(k, faults)
        for herd in list(self._herds.values()):
            self._noted[0] = 0
            carry(self.world.view, self._episodes, herd.members, units.next, *self._seen, self._noted)
            self._dismiss()
        # Who had arrived and is pushed aside wants to go back.
        after = units.next[:n]
        pushed = np.flatnonzero((fields["crew"] == -1) & (after >= 0) & (after != fields["position"]))
        for k in pushed.tolist():
            self._moved[k] = True
            self._episodes["position"][k] = after[k]
            self._points[k] = self._point(int(after[k]))
            if fields["status"][k] in (loop.REACHED, loop.ACTIVE) and not waking[k]:
                self._set_out_or_stop(k, faults)
        units.position[:n] = np.where(fields["status"] == _CANCELLED, -1, fields["position"])
        raise_priorities(units, n)

    # --- edits --------------------------------------------------------------------------------------------------------

    def _hear_of_edits(self, ticked: int | None = None) -> None:
        """If the world has changed, goals may have been blocked or opened, and what was out of reach may not be.

        ``ticked`` is the last tick that has ended, if one is under way.
        """
        if self._edits == self._edit_book[0] or self._hands.get(0, me()) != me():
            return  # nothing is new; or another thread is at work, which will hear of it
        with undisturbed():
            self._take_note_of_edits(self._edit_book[0], self._number if ticked is None else ticked)

    def _take_note_of_edits(self, edits: int, ticked: int) -> None:
        status, goals = self._episodes["status"][: self._count], self._episodes["goal"][: self._count]
        is_open = self.world.are_open(goals)
        shut = np.flatnonzero((status == loop.ACTIVE) & ~is_open)
        status[shut] = loop.UNREACHABLE
        self._proved[shut] = edits
        # Thousands may have had one goal, so what they hold is given back later, a little at a time. Where units may be
        # pushed, at once: who is pushed and holds a plan would be on its way again.
        now = (self._episodes["crew"][shut] < 0) | self.collisions
        self._rest(shut[~now])
        for k in shut[now].tolist():
            self._retire(k)
        # The proof that there is no way was for the world as it was: all are on their way again. Who still has what it
        # needs goes on with it, as if it had not had a turn for a while; the others get it by and by.
        again = np.flatnonzero((status == loop.UNREACHABLE) & is_open & (self._proved[: self._count] != edits))
        status[again] = loop.ACTIVE
        resting = self._rests[again] != 0
        self._resume(again[resting])
        self._episodes["served"][again] = ticked
        self._episodes["wish"][again] = self._episodes["position"][again]
        waiting = set(self._wakes)
        self._wakes.extend(k for k in again[~resting].tolist() if k not in waiting)
        self._edits = edits

    def _wake_some(self, began: int, faults: list[Exception]) -> None:
        """A planner for those who are on their way again without one, a few in each tick."""
        woken = 0
        while self._wakes and woken < _WAKES and not (woken and self._takes_long(began)):
            k = self._wakes.popleft()
            if self._is_waking(k):
                self._set_out_or_stop(k, faults)
                woken += 1

    def _set_out_or_stop(self, k: int, faults: list[Exception]) -> None:
        """Within a tick: if there is no planner to be had for one, the others go on."""
        try:
            self._set_out(k)
        except Exception as problem:
            self._stop_for(k, problem, faults)

    def _is_waking(self, agents: Any) -> Any:
        """Whether an agent is on its way and has nothing to plan with: it is among those who are woken by and by."""
        return (self._episodes["status"][agents] == loop.ACTIVE) & (self._episodes["crew"][agents] == -1)

    # --- orders -------------------------------------------------------------------------------------------------------

    @_whole
    def send(self, ids: Any, goals: Any) -> None:
        """Let agents go to other goals, each to its own or all to one.

        They keep what still holds of what they have planned and learned: see ``docs/moving_goals.md``.
        """
        agents = self._agents(ids)
        self._relocate(agents, None, self._goals(goals, len(agents)))

    @_whole
    def place(self, ids: Any, points: Any) -> None:
        """Put agents elsewhere, each to its own point: a teleport, a knock-back. They go on from there."""
        agents = self._agents(ids)
        states = self._starts(points, "point")
        if len(states) != len(agents):
            raise ProblemError(f"there are {len(states)} points for {len(agents)} agents; give one for each")
        self._check_apart(states, "point", agents)
        self._relocate(agents, states, None)

    def _relocate(self, agents: list[int], places: list[int] | None, goals: list[int] | None) -> None:
        """Tell agents where they are, where they are to go, or both; those who cannot go on with it begin anew."""
        began = time.perf_counter_ns()
        names = np.array(agents, np.int64)
        here = self._episodes["position"][names] if places is None else np.array(places, np.int64)
        there = self._episodes["goal"][names] if goals is None else np.array(goals, np.int64)
        self._hear_of_edits()
        crews = self._episodes["crew"][names]
        walking = (crews != -1) & (self._episodes["status"][names] != loop.UNREACHABLE)  # or at rest
        for number in np.unique(crews[crews < -1]).tolist():
            mine = np.flatnonzero(crews == number)
            if places is None:
                walking[mine] = self._send_herd(number, names[mine], there[mine])
            else:
                self._episodes["position"][names[mine]] = here[mine]
                self._points[names[mine]] = self._points_of(here[mine])
                self._episodes["status"][names[mine]] = np.where(here[mine] == there[mine], loop.REACHED, loop.ACTIVE)
                self._settle(names[mine])
        for number in np.unique(crews[walking & (crews >= 0)]).tolist():
            crew = self._holders[number]
            assert isinstance(crew, _Crew)
            mine = np.flatnonzero(walking & (crews == number))
            if goals is not None and self.world.goal_views:
                walking[mine] = False
                continue
            self._noted[0] = 0
            ends = names[mine], here[mine], there[mine]
            if self._units is not None and goals is not None:
                self._units.priority[ends[0]] = self._units.base[ends[0]]
            name = self.world.changes.name(self)
            try:
                self.world.changes.enter(name)
                told = *ends, self._points, self._noted, self._tools[0][0]
                crew.relocate(*crew.rows, self._seats, self._episodes, *told)
            finally:
                self.world.changes.leave(name)
            for k in self._noted[1 : 1 + int(self._noted[0])].tolist():
                self._retire(k)
                self._set_out(k)
            self._settle(ends[0][self._episodes["crew"][ends[0]] != -1])
        for n in np.flatnonzero(~walking).tolist():
            k = agents[n]
            if self._on_way(k):
                self._retire(k)
            self._episodes["position"][k], self._episodes["goal"][k] = here[n], there[n]
            self._points[k] = self._point(int(here[n]))
            self._set_out(k)
        self._ordering += time.perf_counter_ns() - began

    def _send_herd(self, number: int, agents: np.ndarray, goals: np.ndarray) -> bool:
        """Let a herd follow its goal, if all of it goes to one that no other herd has: its field serves it meanwhile.

        False: they are to go one by one.
        """
        herd, goal = self._holders[number], int(goals[0])
        assert isinstance(herd, _Herd)
        if (goals != goal).any() or len(agents) < len(herd.members) or not self.world.is_open(goal):
            return False
        if goal == herd.goal:
            return True
        if goal in self._herds:
            return False
        del self._herds[herd.goal]
        self._herds[goal] = herd
        herd.goal = goal
        herd.field.retarget(self.world.point_of(goal))
        self._episodes["goal"][agents] = goal
        self._episodes["status"][agents] = np.where(
            self._episodes["position"][agents] == goal, loop.REACHED, loop.ACTIVE
        )
        self._settle(agents)
        return True

    @_whole
    def cancel(self, ids: Any) -> None:
        """Take agents out of the fleet; their ids are free for others."""
        for k in self._agents(ids):
            if self._on_way(k):
                self._retire(k)
            self._episodes["status"][k] = _CANCELLED
            self._spare.append(k)

    def _agents(self, ids: Any, cancelled: bool = False) -> list[int]:
        """Ids as whole numbers, every one checked before anything is done; ``cancelled``: those are known as well."""
        given = np.atleast_1d(np.asarray(ids))
        if given.dtype.kind == "b":
            raise Error("ids are whole numbers as add() gave them; of a mask take np.flatnonzero(mask)")
        if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
            such = " in a list or an array" if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)) else ""
            raise Error(f"ids are whole numbers as add() gave them{such}, not {shown(ids)}")
        given = given.astype(np.int64)  # an empty list has no type
        there = (given >= 0) & (given < self._count)
        if not cancelled:
            there[there] = self._episodes["status"][given[there]] != _CANCELLED
        if not there.all():
            wrong = int(given[~there][0])
            raise Error(f"there is no agent {wrong} in this fleet; add() gives ids, cancel() takes them back")
        if len(np.unique(given)) < len(given):
            raise Error("an agent is named twice; give each id once")
        return given.tolist()

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> np.ndarray:
        """Where each agent is, by id: (row, col), or a node's number. Rows of cancelled agents stay.

        Not a copy, and not for writing: ``place`` puts agents elsewhere.
        """
        return _to_look_at(self._points[: self._count] if self._cells else self._points[: self._count, 0])

    @property
    def statuses(self) -> np.ndarray:
        """By id: 0 on its way, 1 reached, 2 unreachable as the world is now, 3 stopped for a fault, 99 cancelled.

        Not a copy, and not for writing.
        """
        self._hear_of_edits()
        return _to_look_at(self._episodes["status"][: self._count])

    @property
    def moved(self) -> np.ndarray:
        """By id: whether the agent moved in the last tick. Not a copy, and not for writing."""
        return _to_look_at(self._moved[: self._count])

    @property
    def costs(self) -> np.ndarray:
        """By id: what its moves have cost."""
        return self._episodes["cost"][: self._count] + self._episodes["cost_rest"][: self._count]

    @property
    def active(self) -> int:
        """How many agents are on their way."""
        self._hear_of_edits()
        herded = sum(herd.active for herd in self._herds.values())
        waking = int(np.count_nonzero(self._is_waking(np.s_[: self._count]))) if self._wakes else 0
        return sum(crew.active for crew in self._crews.values()) + herded + waking

    def status(self, agent: int) -> str:
        """``active``, ``reached``, ``unreachable`` (in the world as it is now), ``stopped`` or ``cancelled``."""
        self._hear_of_edits()
        named = self._agents(agent, cancelled=True)
        if len(named) != 1:
            raise Error(f"status() is of one agent, not of {len(named)}; statuses has all of them")
        return _STATUS[int(self._episodes["status"][named[0]])]

    def __len__(self) -> int:
        return self._count - len(self._spare)

    @property
    def stats(self) -> FleetStats:
        """How the ticks went so far."""
        self._hear_of_edits()
        times = self._times[: min(self._number, _TIMED)]
        if not len(times):
            times = np.zeros(1)
        status, served = self._episodes["status"][: self._count], self._episodes["served"][: self._count]
        on_way = status == loop.ACTIVE
        # Who was added, or woken by an edit, and has not had a turn yet, begins to wait now.
        had_turn = on_way & (self._episodes["ticks"][: self._count] > 0) & ~self._is_waking(np.s_[: self._count])
        return FleetStats(
            ticks=self._number,
            agents=int(on_way.sum()),
            served=int((had_turn & (served == self._number)).sum()),
            p50_ms=float(np.percentile(times, 50)),
            p99_ms=float(np.percentile(times, 99)),
            max_ms=float(times.max()),
            late=self._late,
            expansions=self._expansions,
            last_expansions=self._last_expansions,
            moves=self._moves,
            waited=np.where(on_way, self._number - served, 0),
        )


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
