"""One agent on its way: budget, commitment, legality of every move, outcome and measures."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from .algorithms import REGISTRY, Spec, check_refusal, parse_spec
from .budget import UNLIMITED, Budget, countable
from .errors import MoveError, ProblemError, SpecError, WorldError, check_world
from .hands import one_thread
from .kernels import loop
from .kernels.layout import COUNTS
from .kernels.memory import Piece
from .kernels.paths import walk
from .kernels.saving import Savable
from .kernels.shortest_paths import count_non_optimal, tree_from
from .kernels.ticks import PATIENCE, hasten, new_clock, wind
from .kernels.workspace import Workspace, book_of, new_record, place_in
from .result import Convergence, Result, Validation, plain_point
from .text import shown
from .trace import Trace
from .worlds.changes import Schedule, me
from .worlds.grid import Grid
from .worlds.protocol import World

__all__ = ["Agent", "agent", "converge", "solve", "validate"]

_LONGEST_WAIT = 10_000_000  # ticks at a time: each has a place in the books
_RAREST_CHANGE = 1_000_000  # ticks from one change to the next
_FIRST_PAGE, _LAST_PAGE = 128, 8192  # entries of a diary's pages; each is eight times as long as the one before
_PATIENCE = 1000  # changes that an agent without a way waits for, one after the other
_STAND_IN = REGISTRY["a*"]
_POSITION, _STATE, _MOVES, _TICKS, _DECIDING = (
    place_in(loop.EPISODE, name) for name in ("position", "status", "moves", "ticks", "deciding")
)
_OF_THE_PROCESS = ("_hands", "_clock", "_book", "_loop", "_release")  # not saved, but made anew
_NOT_SAVED = (*_OF_THE_PROCESS, "_trace")  # what was told belongs to whoever listened
# Fields of a record that outlast a trial.
_SETTINGS = ("goal", "moves_per_decision", "limit", "time_limit", "move_limit", "weight")
_STATUS = {loop.REACHED: "reached", loop.UNREACHABLE: "unreachable", loop.MOVE_LIMIT: "move-limit"}


class Diary:
    """A number for each move or tick. A full page is put aside and a new one begun: nothing is copied in a tick."""

    def __init__(self) -> None:
        self.page = np.empty(_FIRST_PAGE, np.int64)
        self.begins = 0  # the number of the page's first entry
        self._full: list[np.ndarray] = []

    def turn(self, written: int) -> int:
        """Begin a new page if the last is full, ``written`` being the entries so far; returns where it begins."""
        if written - self.begins == len(self.page):
            self._full.append(self.page)
            self.begins = written
            self.page = np.empty(min(8 * len(self.page), _LAST_PAGE), np.int64)
        return self.begins

    def rewrite(self, number: int, value: int) -> None:
        """Put another value in the place of the last entry, whose number is told: it may be on the page before."""
        page = self.page if number >= self.begins else self._full[-1]
        page[number - self.begins] = value

    def add_zeros(self, written: int, count: int) -> None:
        """Zeros after what is ``written``."""
        while count > 0:
            place = written - self.turn(written)
            some = min(count, len(self.page) - place)
            self.page[place : place + some] = 0
            written, count = written + some, count - some

    def first(self, count: int) -> np.ndarray:
        """The first ``count`` entries, as an array of their own."""
        return np.concatenate([*self._full, self.page[: max(0, count - self.begins)]])[:count]

    def since(self, first: int, written: int) -> np.ndarray:
        """The entries from number ``first`` on, up to what is ``written``; takes no longer than there are such."""
        pages, begins = [self.page[max(0, first - self.begins) : max(0, written - self.begins)]], self.begins
        for page in reversed(self._full):
            if begins <= first:
                break
            begins -= len(page)
            pages.append(page[max(0, first - begins) : written - begins])
        return np.concatenate(pages[::-1])

    def until(self, written: int) -> Diary:
        """The same to be saved, up to what is ``written``."""
        same = Diary.__new__(Diary)
        same.__dict__.update(self.__dict__)
        same.page = Piece(self.page, np.s_[: max(0, written - self.begins)])  # type: ignore[assignment]
        return same


class _Books(NamedTuple):
    """What is left of the state of an algorithm whose arrays others have."""

    counts: np.ndarray
    route: np.ndarray
    plan: np.ndarray


class _Retired:
    """What is left of a planner that gave its arrays back, after loading. It makes no further trial: a new one does."""

    def __init__(self, planner: Any) -> None:
        self.state = _Books(planner.state.counts, np.zeros(1, np.int64), np.zeros(2, np.int64))
        self._details = planner.details() if hasattr(planner, "details") else {}

    def details(self) -> dict[str, Any]:
        """As the planner told."""
        return dict(self._details)


_one_thread = one_thread("agent")


def _give_back(planner: Any, hands: dict[int, int]) -> None:
    """Put borrowed arrays back, unless a fork has caught them in the middle of a search."""
    if 0 not in hands or hands[0] >> 64 == me() >> 64:
        planner.release()


class Agent(Savable):
    """An agent that moves when told to. Make one with :func:`timebound.agent`.

    It can be saved with ``pickle`` between two steps, and goes on after loading as if nothing had been (see
    ``docs/saving.md``). ``copy.copy`` gives another agent in the same world, ``copy.deepcopy`` one in a world of its
    own.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1]])
    >>> agent = tb.agent("a*", world, (0, 0), (0, 2))
    >>> while not agent.done:
    ...     print(agent.step())
    (0, 1)
    (0, 2)
    """

    def __init__(
        self,
        spec: str | Spec,
        world: World,
        start: Any,
        goal: Any,
        *,
        budget: Budget | int | str | None = None,
        commit: int = 1,
        move_limit: int | None = None,
        database: Any = None,
        trace: Trace | None = None,
    ) -> None:
        self.spec = parse_spec(spec)
        check_world(world)
        self.world = world
        self.budget = Budget.of(budget)
        if database is not None and not self.spec.algorithm.database:
            raise SpecError(f"{self.spec.algorithm.name} uses no database")
        self._database = {"database": database} if self.spec.algorithm.database else {}
        self._hands: dict[int, int] = {}  # 0: the thread that is at work with the agent
        countable("commit, the number of moves per decision,", commit)
        if move_limit is not None:
            countable("move_limit", move_limit)
        check_refusal(self.spec, world, self.budget)
        here = world.state_of(start, "start")
        there = world.place_of(goal, "goal")  # it may be blocked now, as it may be later
        self._goal = there
        self._view = world.view_for(there)
        self._trace = trace
        if trace is not None:
            if not isinstance(trace, Trace):
                raise SpecError(f"trace is a tb.Trace() that nobody has used yet, not {shown(trace)}")
            trace.begin(world)
        self._borrow(there)
        self._trail, self._spent = Diary(), Diary()
        self._trail.page[0] = here
        self._clock = new_clock()
        self._patience = PATIENCE
        self._memory_bytes = 0
        self._proved = -1  # the world's edit count in the last tick; a proof that there is no way is for that world
        self._outdated = False  # the planner is for another goal or place: a new one is made before the next tick
        self._retargeted = self._placed = 0
        self._begins = 0  # the number of the state in the trail where it was last put
        self._record = new_record(loop.EPISODE)
        self._record["position"], self._record["goal"] = here, there
        self._record["moves_per_decision"] = commit
        self._record["status"] = loop.REACHED if here == there else loop.ACTIVE
        self._record["limit"] = self.budget.expansions or UNLIMITED
        time_limit = self.budget.milliseconds
        self._record["time_limit"] = max(1, round(time_limit * 1e6)) if time_limit is not None else 0
        self._record["move_limit"] = int(move_limit) if move_limit is not None else UNLIMITED
        self._begin_books()

    def __copy__(self) -> Agent:
        return deepcopy(self, {id(self.world): self.world})

    @_one_thread
    def __getstate__(self) -> dict[str, Any]:
        """All but what a process has of its own."""
        state = {name: value for name, value in self.__dict__.items() if name not in _NOT_SAVED}
        lent = self._release.alive
        if not lent and not hasattr(self._planner, "restart"):
            state["_planner"] = _Retired(self._planner)
        trail, spent = self._trail.until(self.moves + 1), self._spent.until(self.ticks)
        return {**state, "_trail": trail, "_spent": spent, "lent": lent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        lent = state.pop("lent")
        self.__dict__.update(state)
        self._hands, self._clock, self._trace = {}, new_clock(), None
        self._begin_books()
        if self._record["time_limit"][0]:  # a deadline is of the clock of its process
            self._record["deadline"] = time.perf_counter_ns() + self._record["time_limit"]
        self._release = weakref.finalize(self, _give_back, self._planner, self._hands)
        if not lent:
            self._release.detach()

    def _begin_books(self) -> None:
        self._book = book_of(self._record)
        self._enter_loop(self._view)

    def _enter_loop(self, view: Any) -> None:
        """Who is watched sees the world by a view that listens."""
        self._loop = loop.Alone(view if self._trace is None else self._trace.around(view), self._record)

    def _borrow(self, goal: int, counts: Any = None) -> None:
        """Take a planner, which may have borrowed its arrays, and go on counting from ``counts``."""
        lost = self._lost()
        if lost:
            planner = _STAND_IN.make(self.world, goal, self.budget)
        else:
            options = self._database | self.spec.parameters
            planner = self.spec.algorithm.make(self.world, goal, self.budget, **options)
        if counts is not None:
            planner.state.counts[:] = counts
        # An agent that is dropped half-way gives its arrays back too.
        release = weakref.finalize(self, _give_back, planner, self._hands)
        self._planner, self._release, self._replaced, self._outdated = planner, release, lost, False

    def _lost(self) -> bool:
        """Whether the world is one that the algorithm cannot walk in: an edit may have made a graph one-way.

        The agent was taken on, so it is not refused now. A* goes on in the algorithm's place, with the same budget: it
        waits until it knows the whole way, which needs no step back.
        """
        refuses = self.spec.algorithm.refuses
        return refuses is not None and refuses(self.world) is not None

    def __repr__(self) -> str:
        return f"<Agent, {self.spec}, {self.status} at {shown(self.position)}, {self.world!r}>"

    @property
    def done(self) -> bool:
        """Whether the episode is over: the goal reached, proved unreachable, or the moves used up.

        A proof that there is no way holds until the world is edited; then the agent has more to do. While the goal
        itself is blocked that is proof enough, for a new agent as for one on its way.
        """
        status = self._book[_STATE]
        if status == loop.ACTIVE:  # asked every tick
            return not self.world.is_open(self._goal)
        return self.status != "active"

    @property
    def status(self) -> str:
        """``active``, ``reached``, ``unreachable`` (in the world as it is now) or ``move-limit``."""
        status = self._book[_STATE]
        if status in (loop.ACTIVE, loop.UNREACHABLE) and not self.world.is_open(self._goal):
            return "unreachable"
        if status == loop.UNREACHABLE and self.world.changes.edited[0] != self._proved:
            return "active"
        return _STATUS.get(status, "active")

    @property
    def goal(self) -> Any:
        """Where the agent wants to be."""
        return self.world.point_of(int(self._record["goal"][0]))

    @property
    def position(self) -> Any:
        """Where the agent is."""
        return self.world.point_of(self._book[_POSITION])

    @property
    def moves(self) -> int:
        """How many moves it has made."""
        return self._book[_MOVES]

    @property
    def ticks(self) -> int:
        """How many ticks have passed: moves and waits."""
        return self._book[_TICKS]

    @property
    def cost(self) -> float:
        """What its moves have cost."""
        return float(self._record["cost"][0] + self._record["cost_rest"][0])

    @property
    def expansions(self) -> int:
        """How many states it has expanded."""
        return int(self._planner.state.counts["expanded"][0])

    @property
    def back_moves(self) -> int:
        """How often it has stepped back, to find the way that it had left."""
        return int(self._planner.state.counts["back_moves"][0])

    @property
    def memory_states(self) -> int:
        """The most states that it has had in memory at the end of a tick."""
        return int(self._record["peak"][0])

    def trail(self, since: int = 0) -> Any:
        """Where it has been, from after so many moves on, its present place last.

        It takes no longer than there are places to tell, so that whoever draws an agent can ask for the new ones in
        every frame. An agent that was placed elsewhere has been there after the move before.

        >>> import timebound as tb
        >>> agent = tb.agent("a*", tb.Grid([[1, 1, 1]]), (0, 0), (0, 2)).run()
        >>> agent.trail().tolist(), agent.trail(since=2).tolist()
        ([[0, 0], [0, 1], [0, 2]], [[0, 2]])
        """
        return self.world.points_of(self._trail.since(max(since, 0), self.moves + 1))

    def spent(self, since: int = 0) -> np.ndarray:
        """How many states it has expanded in each tick to choose its move, from after so many ticks on."""
        return self._spent.since(max(since, 0), self.ticks)

    @property
    def planning_seconds(self) -> float:
        """How long it has been planning."""
        return float(self._record["nanoseconds"][0]) * 1e-9

    @_one_thread
    def ahead(self, *, likely: bool = False) -> Any:
        """The next moves, as far as they are certain: whatever the next ticks plan, they are these, in this order.

        So the first of them is a cell to reserve; an agent may still wait a tick before it steps there, if planning
        takes it (``pr-lrta*`` does, where it has been given another goal). Only an edit, another goal or another place
        can change them. None are told if the next move depends on what the next tick plans, as it does for most
        real-time algorithms until they have found the goal, or if the world has been edited since the last tick.

        ``likely=True`` tells what the agent would walk if its next ticks planned nothing more: for drawing. It may turn
        off at the first step.

        >>> import timebound as tb
        >>> world = tb.Grid([[1, 1, 1, 1, 1]])
        >>> agent = tb.agent("tba*", world, (0, 0), (0, 4), budget=10)
        >>> agent.step(), agent.ahead().tolist()  # it has found the goal
        ((0, 1), [[0, 2], [0, 3], [0, 4]])
        >>> agent = tb.agent("tba*", world, (0, 0), (0, 4), budget=2)
        >>> agent.step(), agent.ahead().tolist()  # it has not: the next tick decides
        ((0, 1), [])
        """
        planner: Any = self._planner
        state = planner.state
        way, certain = np.empty(0, np.int64), 0
        if not self.done and not self._outdated and not self._record["deciding"][0]:
            here, pending = int(self._record["position"][0]), int(self._record["pending"][0])
            tells = hasattr(planner, "ahead")
            way = planner.ahead(self._view, here) if tells else state.route[state.plan[0] : state.plan[1]].copy()
            if self._proved == self.world.changes.edited[0]:
                certain = len(way) if hasattr(planner, "sure") and planner.sure(self._view, here) else pending
        most = min(len(way) if likely else certain, int(self._record["move_limit"][0]) - self.moves)
        return self.world.points_of(way[:most])

    def step(self) -> Any:
        """Plan within the budget and make one move. Returns the new position; the old one if the agent had to wait."""
        self._run(1)
        return self.position

    def run(self, ticks: int | None = None) -> Agent:
        """Step until the episode is over, or for so many ticks (at least one), in one compiled call."""
        self._run(UNLIMITED >> 1 if ticks is None else countable("ticks", ticks, UNLIMITED >> 1))
        return self

    @_one_thread
    def restart(self) -> Agent:
        """Go back to the start for another trial. What the algorithm has learned stays; other searches begin anew.

        The books begin anew too: the result is that of the trial. The start is where the result's path begins, and the
        goal the last one.

        >>> import timebound as tb
        >>> world = tb.Grid([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]])
        >>> agent = tb.agent("lrta*", world, (0, 0), (2, 3)).run()
        >>> first = agent.cost
        >>> agent.restart().run().cost <= first
        True
        """
        here = int(self._trail.first(self._begins + 1)[-1])
        self.world.state_of(self.world.point_of(here), "start")  # an edit may have walled it in
        planner: Any = self._planner
        if hasattr(planner, "restart") and not self._outdated:
            planner.restart()
            for name in COUNTS.names or ():
                if name != "states":
                    planner.state.counts[name] = 0
            if not self._release.alive:
                self._release = weakref.finalize(self, _give_back, planner, self._hands)
        else:
            self._release()
            self._borrow(int(self._record["goal"][0]))
        kept = {name: int(self._record[name][0]) for name in _SETTINGS}
        self._record[:] = 0
        for name, value in kept.items():
            self._record[name] = value
        self._trail, self._spent = Diary(), Diary()
        self._trail.page[0] = here
        self._record["position"] = here
        self._record["status"] = loop.REACHED if here == kept["goal"] else loop.ACTIVE
        self._begins = self._placed = self._retargeted = 0
        return self

    @_one_thread
    def retarget(self, goal: Any) -> Agent:
        """Go on towards another goal, with what still holds of what was planned and learned.

        What that is depends on the algorithm: see ``docs/moving_goals.md``. It takes microseconds, and makes no move.
        The books go on. A goal that is blocked is out of reach until it opens; an agent that had arrived, or had proved
        that there is no way, is active again; one that has used up its moves is not.

        >>> import timebound as tb
        >>> agent = tb.agent("tba*", tb.Grid([[1, 1, 1, 1]]), (0, 0), (0, 3), budget=10)
        >>> agent.step()
        (0, 1)
        >>> agent.retarget((0, 0)).run().status, agent.moves
        ('reached', 2)
        """
        there = self.world.place_of(goal, "goal")
        view = self.world.view_for(there)
        if there != self._goal:
            if view is not self._view:
                self._enter_loop(view)
            self._view, self._goal = view, there
            self._relocate(int(self._record["position"][0]))
            self._retargeted += 1
        return self

    @_one_thread
    def place(self, point: Any) -> Agent:
        """Put the agent elsewhere: pushed, knocked back, teleported. It goes on from there towards its goal.

        That is no move, and costs nothing. The result's path begins where the agent was last put, for nobody could walk
        a path with a jump in it; moves, cost and all the other sums go on.

        >>> import timebound as tb
        >>> agent = tb.agent("lrta*", tb.Grid([[1, 1, 1, 1, 1]]), (0, 0), (0, 4))
        >>> agent.step(), agent.place((0, 3)).step(), agent.status, agent.cost
        ((0, 1), (0, 4), 'reached', 2.0)
        >>> agent.result().path.tolist(), agent.result().placed
        ([[0, 3], [0, 4]], 1)
        """
        here = self.world.state_of(point, "place")
        if here != self._record["position"][0]:
            self._relocate(here)
            self._trail.rewrite(self.moves, here)
            self._begins = self.moves
            self._placed += 1
        return self

    def _relocate(self, here: int) -> None:
        """Tell the planner of where the agent is and where it is to go; if it can make nothing of that, it is outdated.

        An interrupt half-way leaves it outdated too, and the next tick begins with a new one.
        """
        outdated, self._outdated = self._outdated, True
        planner: Any = self._planner
        if not self._release.alive and not outdated and hasattr(planner, "restart"):
            planner.restart()
            self._release = weakref.finalize(self, _give_back, planner, self._hands)
        if self._release.alive:
            name = self.world.changes.name(self)
            try:
                self.world.changes.enter(name)
                kept = self._loop.relocate(planner.state, here, self._goal, self._clock)
            finally:
                self.world.changes.leave(name)
                if self._trace is not None:
                    self._trace.take()
            self._outdated = outdated or not kept
        else:
            loop.note_ends(self._record, here, self._goal)
        self._rest()

    @_one_thread
    def wait(self, ticks: int = 1) -> Agent:
        """Let so many ticks pass without planning or moving; they count as waits."""
        countable("ticks", ticks, _LONGEST_WAIT)
        self._spent.add_zeros(self.ticks, ticks)
        self._record["spent_from"] = self._spent.begins
        self._record["lag"] += ticks if self.moves == 0 else 0
        self._record["ticks"] += ticks
        return self

    @_one_thread
    def _run(self, ticks: int) -> None:
        book, changes = self._book, self.world.changes
        last, name = book[_TICKS] + ticks, changes.name(self)
        changes.catch_up()
        if book[_STATE] == loop.UNREACHABLE and not self.done:
            self._wake()
        while book[_TICKS] < last and not self.done:
            changes.catch_up()
            try:
                changes.enter(name)
                status = self._tick(last)
                self._proved = int(changes.edited[0])
            finally:
                changes.leave(name)
            if status == loop.GROW_DIARY:
                self._record["trail_from"] = self._trail.turn(self.moves + 1)
                self._record["spent_from"] = self._spent.turn(self.ticks)
            elif status == loop.OVER_BUDGET:
                spent = int(self._spent.first(self.ticks)[-1])
                raise AssertionError(f"{self.spec} expanded {spent} states on one move, above its budget {self.budget}")
            elif status == loop.ILLEGAL:
                raise AssertionError(f"{self.spec} asked for a move from {self.position} that the world does not allow")
            elif status == loop.UNREACHABLE and self.done:
                break
            elif status == loop.UNREACHABLE:
                self._wake()
        self._rest()

    def _rest(self) -> None:
        """Who has nothing more to do gives its arrays to the next agent; only their size is remembered."""
        if self._book[_STATE] != loop.ACTIVE and self._release.alive and self.done:
            self._memory_bytes = self._planner.memory_bytes()
            self._release()

    def _tick(self, last: int) -> int:
        """Act until tick ``last``, or until someone waits to edit the world; a tick under way is finished before."""
        while True:
            if self._outdated or (not self._replaced and self._lost()):
                self._begin_anew()
            wind(self._clock, self._patience)
            if self._trace is not None:
                hasten(self._clock)
            try:
                status = self._loop.run(
                    self._planner.state, self._trail.page, self._spent.page, self._clock, last - self._book[_TICKS]
                )
            finally:
                if self._trace is not None:
                    self._trace.take()
            if status == loop.GROW_ALGORITHM:
                self._planner.enlarge()
            elif status != loop.PAUSED or not self._book[_DECIDING]:
                return status

    def _wake(self) -> None:
        """The world has changed since the proof that there is no way: go on as a new search, with the same books."""
        self._begin_anew()
        self._record["status"] = loop.ACTIVE

    def _begin_anew(self) -> None:
        self._record["pending"] = 0
        self._release()
        self._borrow(int(self._record["goal"][0]), self._planner.state.counts)

    def details(self) -> dict[str, Any]:
        """What this algorithm can tell beyond what all of them do, by name; most have nothing to add."""
        return self._planner.details() if hasattr(self._planner, "details") else {}

    @_one_thread
    def result(self, optimal: float | str | None = None, *, non_optimal: bool | None = None) -> Result:
        """The record of the episode so far.

        ``optimal`` is the optimal cost if known, or ``"compute"``; ``non_optimal=True`` counts the moves that lie on
        no optimal path, which takes a search over the whole world, and is what ``"compute"`` does if not told
        otherwise.
        """
        counts = self._planner.state.counts
        trail = self._trail.first(self.moves + 1)[self._begins :]
        best = self._optimum(optimal, trail)
        wrong = None
        if (optimal == "compute" and best is not None) if non_optimal is None else non_optimal:
            wrong = _non_optimal_moves(self.world, trail, int(self._record["goal"][0]))
        cost = self.cost
        ratio = None
        back_moves = int(counts["back_moves"][0])
        if best is not None and self.status == "reached" and not self._placed and not self._retargeted:
            ratio = cost / best if best > 0 else 1.0
        return Result(
            status=self.status,
            algorithm=str(self.spec),
            budget=str(self.budget),
            path=self.world.points_of(trail),
            cost=cost,
            moves=self.moves,
            waits=self.ticks - self.moves,
            first_move_lag=int(self._record["lag"][0]),
            expansions=self.expansions,
            expansions_per_move=self._spent.first(self.ticks),
            learning_expansions=int(counts["learning"][0]),
            back_moves=back_moves,
            non_optimal_moves=wrong,
            back_moves_percent=100 * back_moves / max(wrong, 1) if wrong is not None else None,
            revisits=len(trail) - len(np.unique(trail)),
            restarts=int(counts["restarts"][0]),
            astray=int(counts["astray"][0]),
            planning_seconds=self.planning_seconds,
            memory_states=int(self._record["peak"][0]),
            memory_bytes=self._planner.memory_bytes() if self._release.alive else self._memory_bytes,
            optimal=best,
            suboptimality=ratio,
            placed=self._placed,
            retargeted=self._retargeted,
        )

    def _optimum(self, optimal: float | str | None, trail: np.ndarray) -> float | None:
        _check_optimal(optimal)
        if optimal is None:
            return None
        if not isinstance(optimal, str):
            return float(optimal)
        start, goal = (self.world.point_of(int(state)) for state in (trail[0], self._record["goal"][0]))
        try:
            return optimum(self.world, start, goal)
        except ProblemError:  # an edit has since walled in the very cell
            return None


def _check_optimal(optimal: Any) -> None:
    """Before the walk, not after it."""
    if optimal is None or (isinstance(optimal, str) and optimal == "compute"):
        return
    number = isinstance(optimal, (int, float, np.integer, np.floating)) and not isinstance(optimal, bool)
    if not number or not optimal >= 0 or (isinstance(optimal, int) and optimal > 1 << 1000):
        raise SpecError(f"optimal is the optimal cost, None or 'compute', not {shown(optimal)}")


def optimum(world: World, start: Any, goal: Any) -> float | None:
    """The optimal cost in the world as it is now."""
    reference = Agent("a*", world, start, goal).run()
    return reference.cost if reference.status == "reached" else None


def _non_optimal_moves(world: World, trail: np.ndarray, goal: int) -> int | None:
    """Moves that are not on any optimal path to the goal, by one Dijkstra search outwards from it.

    Not told for directed graphs, where that search would follow arcs the wrong way, nor for puzzles, whose state
    space does not fit into memory.
    """
    if not world.undirected or world.table == "hashed":
        return None
    view, workspace = world.view_for(goal), Workspace.of(world)
    name = world.changes.name(workspace)
    try:
        world.changes.enter(name)
        search = tree_from(view, workspace, goal)
        return int(count_non_optimal(view, workspace.table, search, trail))
    finally:
        world.changes.leave(name)
        workspace.release()


def agent(
    spec: str | Spec,
    world: World,
    start: Any,
    goal: Any,
    *,
    budget: Budget | int | str | None = None,
    commit: int = 1,
    move_limit: int | None = None,
    database: Any = None,
    trace: Trace | None = None,
) -> Agent:
    """An agent at ``start`` that wants to reach ``goal``; tell it to ``step()`` once per tick.

    ``budget`` is what it may plan per move: expansions (``100``) or time (``"2ms"``). ``commit`` is how many moves it
    makes per decision. ``database`` is what ``load_database`` gave, for algorithms that use one. ``trace`` is a
    ``tb.Trace()`` that is told all that the search does.

    >>> import timebound as tb
    >>> agent = tb.agent("a*", tb.Grid([[1, 1, 1]]), (0, 0), (0, 2), budget=1)
    >>> agent.step()  # one expansion is not enough to see the whole path: it waits
    (0, 0)
    """
    return Agent(
        spec, world, start, goal,
        budget=budget, commit=commit, move_limit=move_limit, database=database, trace=trace,
    )  # fmt: skip


def solve(
    world: World,
    start: Any,
    goal: Any,
    spec: str | Spec = "a*",
    *,
    budget: Budget | int | str | None = None,
    commit: int = 1,
    move_limit: int | None = None,
    optimal: float | str | None = None,
    non_optimal: bool | None = None,
    changes: Schedule | None = None,
    database: Any = None,
    trace: Trace | None = None,
) -> Result:
    """A whole episode: walk from ``start`` to ``goal`` and report how it went.

    With ``changes``, such as ``RandomChanges(rate=5)``, the world changes on the way; the episode has a copy of its
    own. An agent with no way to go waits for the next change; after a thousand in vain the episode ends. One that
    keeps moving may walk for ever in a world that changes faster than it can plan: ``move_limit`` ends that.

    ``trace`` is a ``tb.Trace()`` that is told all that the search does; without one nothing is spent on that.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1], [1, 0, 0], [1, 1, 1]])
    >>> result = tb.solve(world, (0, 2), (2, 2), "a*")
    >>> result.status, result.cost, result.path.tolist()
    ('reached', 6.0, [[0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1], [2, 2]])
    """
    options: dict[str, Any] = {
        "budget": budget,
        "commit": commit,
        "move_limit": move_limit,
        "database": database,
        "trace": trace,
    }
    _check_optimal(optimal)
    if changes is None:
        return Agent(spec, world, start, goal, **options).run().result(optimal, non_optimal=non_optimal)
    check_world(world)
    if isinstance(changes, type) or not all(hasattr(changes, name) for name in ("every", "begin", "change")):
        raise SpecError(f"changes is a schedule such as tb.RandomChanges(rate=5), not {shown(changes)}")
    every = countable("every, the ticks between changes,", changes.every, _RAREST_CHANGE)
    if not isinstance(world, Grid):
        raise WorldError("changes on a schedule are for grids; edit a graph between an agent's steps instead")
    best = optimum(world, start, goal) if optimal == "compute" else optimal
    world = world.copy()
    changes.begin(world)
    walker = Agent(spec, world, start, goal, **options)
    in_vain = 0
    while in_vain < _PATIENCE:
        before, moved = walker.ticks, walker.moves
        walker.run(every)
        if walker.status in ("reached", "move-limit"):
            break
        in_vain = in_vain + 1 if walker.moves == moved else 0
        if walker.ticks < before + every:
            walker.wait(before + every - walker.ticks)
        changes.change(world, [walker.position, walker.goal])
    return walker.result(best, non_optimal=non_optimal)


def converge(
    world: World,
    start: Any,
    goal: Any,
    spec: str | Spec = "lrta*",
    *,
    budget: Budget | int | str | None = None,
    commit: int = 1,
    move_limit: int | None = None,
    database: Any = None,
    trials: int = 1000,
) -> Convergence:
    """Trial after trial from ``start`` to ``goal`` with what was learned before, until the path repeats itself.

    LRTA* ends with an optimal path. An algorithm that does not learn repeats itself at once.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> result = tb.converge(world, (0, 0), (2, 3), "lrta*")
    >>> result.converged, bool(result.costs[-1] == tb.solve(world, (0, 0), (2, 3), "a*").cost)
    (True, True)
    """
    countable("trials", trials)
    walker = Agent(spec, world, start, goal, budget=budget, commit=commit, move_limit=move_limit, database=database)
    costs: list[float] = []
    moves: list[int] = []
    converged = False
    for trial in range(trials):
        before = getattr(walker._planner, "raises", 0)
        (walker.restart() if trial else walker).run()
        costs.append(walker.cost)
        moves.append(walker.moves)
        if walker.status != "reached":
            break
        if getattr(walker._planner, "raises", 0) == before:
            converged = True
            break
    return Convergence(converged, len(costs), np.array(costs), np.array(moves), math.fsum(costs), walker.result().path)


def validate(world: World, path: Any, *, start: Any = None, goal: Any = None) -> Validation:
    """Check every move of a path against the world as it is now; raises MoveError at the first that is not legal.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1], [0, 1]])
    >>> tb.validate(world, [(0, 0), (0, 1), (1, 1)])
    Validation(cost=2.0, moves=2)
    >>> tb.validate(world, [(0, 0), (1, 1)])
    Traceback (most recent call last):
    timebound.errors.MoveError: move 1, from (0, 0) to (1, 1), is not legal
    """
    check_world(world)
    listed = isinstance(path, Sequence) or (isinstance(path, np.ndarray) and path.ndim > 0)
    if not listed or len(path) == 0:
        raise ProblemError(f"a path is a sequence of at least one state, not {shown(path)}")
    states = world.path_states(path)
    first = world.state_of(path[0], "path's first state")
    if start is not None and world.place_of(start, "start") != first:
        raise MoveError(f"the path starts at {_named(path[0])}, not at {_named(start)}")
    if goal is not None and world.place_of(goal, "goal") != states[-1]:
        raise MoveError(f"the path ends at {_named(path[-1])}, not at {_named(goal)}")
    legal, cost = walk(world.view, states)
    if legal < len(states) - 1:
        here, there = (_named(point) for point in path[legal : legal + 2])
        raise MoveError(f"move {legal + 1}, from {here} to {there}, is not legal")
    return Validation(cost=float(cost), moves=len(states) - 1)


def _named(point: Any) -> str:
    """A place as the user wrote it."""
    plain = plain_point(point)
    return shown(tuple(plain) if isinstance(plain, list) else plain)
