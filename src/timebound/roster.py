"""Who is in a fleet, and what each of them holds: its record, its planner, its place in a crew or a herd.

An agent on its way has a planner and a seat in a crew, or is one of a herd. One that has arrived rests: it keeps what
it has for a while, for what it follows may go on. One that has no way has nothing, and is woken when the world has
changed. What goes wrong with one of them in a tick is noted as a fault; the others go on.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from .algorithms import REGISTRY, Spec
from .budget import UNLIMITED, Budget
from .crews import Crew, Herd
from .errors import Error
from .fields import DistanceField
from .kernels import loop
from .kernels.jit import COMPILED
from .kernels.memory import Neighbours, in_lines
from .kernels.native import Kind, kind_of
from .kernels.plain_records import by_attribute
from .kernels.priority_inheritance import Units, new_crowd, new_units
from .kernels.workspace import book_of
from .worlds.protocol import World

__all__ = ["CANCELLED", "RESTS", "Roster"]

CANCELLED = 99  # the status of a row without an agent
RESTS = 120  # ticks for which an agent that has arrived, or whose goal was shut, keeps what it has
_AT_ONCE = 64  # agents that may begin to search again, or give back what they have, in one tick: it is done in Python
_STAND_IN = REGISTRY["a*"]


class Roster:
    """The agents of a fleet, by their ids, which are rows of arrays."""

    def __init__(self, world: World, most: int, limit: int, collisions: bool) -> None:
        self.world = world
        self.most = most  # expansions of an agent per tick, as far as that was asked for
        self.limit = limit  # and as far as a frame has so many
        self.collisions = collisions
        self.number = 0  # of the tick
        self.edits = int(world.changes.edited[0])  # those that were heard of
        self.episodes: Any = np.zeros(0, loop.EPISODE)
        self.points, self.moved = np.zeros((0, 2), np.int64), np.zeros(0, np.bool_)
        self.wants = np.zeros(0, np.bool_)  # who is in need of a turn: nothing is left to walk along
        self.seats = np.zeros(0, np.int64)  # on the shelf of its crew
        self.proved = np.zeros(0, np.int64)  # as of which edits there was no way
        self.rests = np.zeros(0, np.int64)  # since which tick; 0: not
        self.since = np.zeros(0, np.int64)  # after which tick it began to be on its way
        self.units: Units | None = None  # with collisions: what all of them wish for
        self._enlarge(64)
        self.count = 0  # rows that were ever used
        self.spare: list[int] = []  # rows of agents that were cancelled
        self.specs: list[tuple[Spec, Any]] = []  # with the database
        self._choosy: dict[str, bool] = {}  # algorithms that refuse some worlds: whether this one, by now
        self.planners: list[Any] = []
        self.crew_of: list[Crew | None] = []
        self.crews: dict[tuple[int, Kind, int], Crew] = {}
        self._crewed = 0  # how many there have been
        self.herds: dict[int, Herd] = {}  # by the state of their goal
        self._herded = 0  # how many there have been
        self.holders: dict[int, Crew | Herd] = {}  # by their numbers
        self.lacking: dict[int, None] = {}  # who asked for room when a frame was over, in this order
        self.wakes: deque[int] = deque()  # who is on its way again, and has nothing to plan with yet
        self.beds: deque[tuple[int, np.ndarray]] = deque()  # who began to rest in which tick
        self._neighbours = Neighbours()
        self._views: dict[int, tuple[Any, Any]] = {}  # by goal, where each has its own; with the view it was made of

    def __getstate__(self) -> dict[str, Any]:
        """Crews are named by where things lie in memory, so they are saved without names."""
        state = {name: value for name, value in self.__dict__.items() if name != "noted_book"}
        return {**state, "crews": list(self.crews.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.noted_book = book_of(self.noted)
        self.crews = {(id(crew.view), crew.shelf.kind, crew.least): crew for crew in state["crews"]}
        # A deadline is of the clock of its process, and has passed.
        self.episodes["deadline"] = np.minimum(self.episodes["deadline"], 1)
        for k, (crew, planner) in enumerate(zip(self.crew_of, self.planners, strict=True)):
            if crew is not None and planner is not None:
                crew.shelf.put(int(self.seats[k]), planner.state)

    def _enlarge(self, rows: int) -> None:
        """Room for so many agents."""
        episodes = in_lines(rows, loop.EPISODE.itemsize // 8).view(loop.EPISODE)[:, 0]
        episodes["status"] = CANCELLED
        points, moved, wants = np.zeros((rows, 2), np.int64), np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        seats, proved, rests, since = (np.full(rows, value) for value in (0, -1, 0, 0))
        old = self.episodes, self.points, self.moved, self.wants, self.seats, self.proved, self.rests, self.since
        for new, before in zip((episodes, points, moved, wants, seats, proved, rests, since), old, strict=True):
            new[: len(before)] = before
        self.episodes = episodes if COMPILED else by_attribute(episodes)  # as ``new_record``
        self.points, self.moved, self.wants = points, moved, wants
        self.seats, self.proved, self.rests, self.since = seats, proved, rests, since
        self.noted = np.zeros(rows + 1, np.int64)
        self.noted_book = book_of(self.noted)
        if self.collisions:
            units = new_units(rows)
            for new, before in zip(units, self.units or (), strict=False):
                new[: len(before)] = before
            self.units, self.crowd = units, new_crowd(rows)

    def column(self, name: str) -> np.ndarray:
        """A field of all records that were ever used."""
        return self.episodes[name][: self.count]

    def enroll(self, spec: Spec, database: Any) -> int:
        """A row for an agent."""
        if self.spare:
            k = self.spare.pop()
        else:
            k = self.count
            if k == len(self.episodes):
                self._enlarge(2 * k)
            self.count += 1
            self.planners.append(None)
            self.specs.append((spec, database))
            self.crew_of.append(None)
        self.specs[k] = spec, database
        self.moved[k] = False
        if spec.algorithm.refuses is not None:
            self._choosy.setdefault(spec.algorithm.name, False)
        return k

    def strike(self, count: int) -> None:
        """There are no rows but the first ``count``: nobody has the others any more."""
        self.spare = [k for k in self.spare if k < count]
        del self.planners[count:], self.specs[count:], self.crew_of[count:]
        self.count = count

    def set_out(self, k: int) -> None:
        """Let an agent that has nothing to do any more, or not yet, be on its way to its goal."""
        episode = self.episodes[k : k + 1]
        goal = int(episode["goal"][0])
        episode["pending"] = episode["deciding"] = 0
        if int(episode["position"][0]) == goal:
            episode["status"] = loop.REACHED
            return
        if not self.world.is_open(goal):
            episode["status"] = loop.UNREACHABLE
            self.proved[k] = self.world.changes.edited[0]
            return
        if episode["status"][0] != loop.ACTIVE:
            self._let_wait(k, self.number)
        episode["status"] = loop.ACTIVE
        algorithm = self.specs[k][0].algorithm
        if algorithm.shares and (algorithm.refuses is None or algorithm.refuses(self.world) is None):
            self._join_herd(k, goal)
            return
        self._take_planner(k, goal)

    def _join_herd(self, k: int, goal: int) -> None:
        """Walk by the field that leads to the goal."""
        herd = self.herds.get(goal)
        if herd is None:
            self._herded += 1
            field = DistanceField(self.world, self.world.point_of(goal))
            herd = self.herds[goal] = Herd(-1 - self._herded, goal, field)
            self.holders[herd.number] = herd
        herd.join(k, int(self.episodes["weight"][k]))
        self.episodes["crew"][k] = herd.number

    def _leave_herd(self, k: int) -> None:
        herd = self.holders[int(self.episodes["crew"][k])]
        assert isinstance(herd, Herd)
        herd.leave(k, int(self.episodes["weight"][k]))
        self.episodes["crew"][k] = -1
        if not herd.size:
            del self.herds[herd.goal], self.holders[herd.number]

    def _take_planner(self, k: int, goal: int) -> None:
        """A new planner for the agent, in the crew that it belongs to."""
        spec, database = self.specs[k]
        algorithm = spec.algorithm
        budget = Budget(expansions=None if self.most == UNLIMITED else self.most)
        with self._neighbours.together():
            if algorithm.refuses is not None and algorithm.refuses(self.world) is not None:
                planner = _STAND_IN.make(self.world, goal, budget)  # an edit has made a graph one-way, as for an Agent
            else:
                options = {"database": database} if algorithm.database else {}
                planner = algorithm.make(self.world, goal, budget, **options, **spec.parameters)
        expect = getattr(planner, "expect", None)
        if expect is not None:
            expect(self.world.view, int(self.episodes["position"][k]))
        self.planners[k] = planner
        self.wants[k] = True
        self._shelve(k, planner.state)

    def _shelve(self, k: int, state: Any) -> None:
        """Write an agent's state down: it is new, or something in it was exchanged."""
        crew = self.crew_of[k]
        kind = kind_of(state)
        if crew is None or crew.shelf.kind is not kind:
            view = self._view_for(int(self.episodes["goal"][k]))
            least = self._least(self.specs[k][0])
            key = id(view), kind, least
            fresh = self.crews.get(key)
            if fresh is None:
                fresh = self.crews[key] = self.holders[self._crewed] = Crew(
                    self._crewed, view, kind, least, loop.can_walk_on(state)
                )
                for later in getattr(self.planners[k], "becomes", ()):
                    fresh.prepare(later)
                if self.collisions:
                    _ = fresh.carry  # loaded now, and not in a frame
                self._crewed += 1
            seat = fresh.seat()  # first, for there may be no memory
            if crew is not None:
                self._leave_seat(k)
            self.crew_of[k] = crew = fresh
            self.episodes["crew"][k], self.seats[k] = crew.number, seat
            crew.active += 1
            crew.weights += int(self.episodes["weight"][k])
            crew.join(k)
        crew.shelf.put(int(self.seats[k]), state)

    def renew(self, k: int, before: Any) -> None:
        """Write down what has been exchanged in an agent's state since it was ``before``."""
        crew, state = self.crew_of[k], self.planners[k].state
        assert crew is not None
        if not crew.shelf.renew(int(self.seats[k]), before, state):
            self._shelve(k, state)

    def _least(self, spec: Spec) -> int:
        """How many expansions an agent needs in a tick for its whole lookahead; 1 if it can do with any number."""
        unfit, least = spec.algorithm.unfit, 1  # asked again for every agent: it is quick where it says 1 at once
        if unfit is None:
            return 1
        most = self.limit
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

    def _view_for(self, goal: int) -> Any:
        """The world's view for a goal. Where each goal has one of its own, all who are bound for it share that."""
        if not self.world.goal_views:
            return self.world.view_for(goal)
        of, view = self._views.get(goal, (None, None))
        if of is not self.world.view:
            view = self.world.view_for(goal)
            self._views[goal] = self.world.view, view
        return view

    def forget_goals(self) -> None:
        """Views for goals that nobody is bound for any more, and the crews that had them, are not kept."""
        for crew in [crew for crew in self.crews.values() if not crew.active and not crew.resting]:
            del self.holders[crew.number]
        self.crews = {key: crew for key, crew in self.crews.items() if crew.number in self.holders}
        used = {id(crew.view) for crew in self.crews.values()}
        self._views = {goal: known for goal, known in self._views.items() if id(known[1]) in used}

    def _leave_seat(self, k: int) -> None:
        crew, seat = self.crew_of[k], int(self.seats[k])
        assert crew is not None
        crew.active -= 1
        crew.weights -= int(self.episodes["weight"][k])
        crew.shelf.clear(seat)
        crew.free.append(seat)
        self.crew_of[k] = None
        self.episodes["crew"][k] = -1

    def retire(self, k: int) -> None:
        """The agent is not on its way any more: its arrays go to the next one."""
        if self.rests[k]:
            self._resume(np.array([k]))
        if self.episodes["crew"][k] < -1:
            self._leave_herd(k)
            return
        planner = self.planners[k]
        if planner is not None:
            self.planners[k] = None
            planner.release()
        if self.crew_of[k] is not None:
            self._leave_seat(k)

    def on_way(self, k: int) -> bool:
        """Whether the agent has a planner or a herd, and so must be retired before it gets another."""
        return self.episodes["crew"][k] != -1

    def rest(self, agents: np.ndarray) -> None:
        """They have arrived, or cannot. For a while they keep what they have: what they follow may go on."""
        agents = agents[self.rests[agents] == 0]
        if len(agents):
            self.rests[agents] = self.number + 1
            self.beds.append((self.number + 1, agents))
            self._count_resting(agents, 1)

    def _resume(self, agents: np.ndarray) -> None:
        """They are on their way again."""
        if len(agents):
            self.rests[agents] = 0
            self.wants[agents] = True
            self._count_resting(agents, -1)
            self._let_wait(agents, self.number)

    def _let_wait(self, agents: Any, tick: int) -> None:
        """They begin to wait for their turn after that tick, whenever the last one was."""
        self.episodes["served"][agents] = self.since[agents] = tick

    def _count_resting(self, agents: np.ndarray, more: int) -> None:
        crews, weights = self.episodes["crew"][agents], self.episodes["weight"][agents]
        for number in np.unique(crews).tolist():
            mine = crews == number
            self.holders[number].rest(more * int(np.count_nonzero(mine)), more * int(weights[mine].sum()))

    def settle(self, agents: np.ndarray) -> None:
        """Their status may have changed, by a move or by an order; all have what they need to be on their way."""
        status = self.episodes["status"][agents]
        self.rest(agents[status == loop.REACHED])
        self._resume(agents[(status == loop.ACTIVE) & (self.rests[agents] != 0)])
        for k in agents[status > loop.REACHED].tolist():
            self.retire(k)

    def dismiss(self) -> None:
        """Those who were noted are not on their way any more, or again."""
        agents = self.noted[1 : 1 + int(self.noted[0])].copy()
        self.proved[agents] = self.world.changes.edited[0]
        self.settle(agents)

    def rise(self, until: int) -> None:
        """Those who have rested long enough give back what they have; a few in each tick, ``until`` it is late."""
        left = _AT_ONCE
        while left and self.beds and self.number - self.beds[0][0] >= RESTS:
            since, agents = self.beds.popleft()
            agents = agents[self.rests[agents] == since]
            done = 0
            while done < min(left, len(agents)):
                self.retire(int(agents[done]))
                done += 1
                if _late(until):
                    left = done
            if len(agents) > done:
                self.beds.appendleft((since, agents[done:]))
            left -= done

    def attend(self, faults: list[Exception], deadline: int) -> list[int]:
        """Look at the agents that the loop has noted. Returns those that must go on in this tick.

        After the deadline nobody gets room: who asks for it stands in the middle of a decision, and is first in the
        next frame (``make_room``).
        """
        count = int(self.noted[0])
        if not count:
            return []
        again = []
        agents = np.sort(self.noted[1 : 1 + count])
        arrived = self.episodes["outcome"][agents] == loop.REACHED
        self.rest(agents[arrived])
        for k in agents[~arrived].tolist():
            outcome = int(self.episodes["outcome"][k])
            if outcome in (loop.GROW_ALGORITHM, loop.PAUSED):
                grows = outcome == loop.GROW_ALGORITHM
                if deadline and time.perf_counter_ns() > deadline:
                    if grows:
                        self.lacking[k] = None
                elif not grows or self._enlarge_for(k, faults):
                    again.append(k)
                continue
            if outcome == loop.UNREACHABLE:
                self.proved[k] = self.world.changes.edited[0]
            elif outcome in (loop.OVER_BUDGET, loop.ILLEGAL):
                self.disown(k, outcome, faults)
                continue
            self.retire(k)
        return again

    def _enlarge_for(self, k: int, faults: list[Exception]) -> bool:
        """Give an agent the room that it asks for. False: there is none, and it was stopped."""
        planner = self.planners[k]
        before = planner.state
        self.lacking.pop(k, None)
        try:
            planner.enlarge()
        except MemoryError as problem:
            self.stop_for(k, problem, faults)
        finally:  # whatever went wrong: what the shelf says is where its arrays are
            if self.planners[k] is planner:
                self.renew(k, before)
        return self.planners[k] is planner

    def make_room(self, until: int, faults: list[Exception]) -> list[int]:
        """Room for those for whom the last frames had no time: for as many as there is time now, but at least for one.

        Returns who can go on.
        """
        given: list[int] = []
        while self.lacking and not (given and _late(until)):
            k = next(iter(self.lacking))
            self.lacking.pop(k)
            # It may have gone away or begun anew since.
            asks = self.planners[k] is not None and self.episodes["deciding"][k] > 0
            if asks and self.episodes["status"][k] == loop.ACTIVE and self._enlarge_for(k, faults):
                given.append(k)
        return given

    def mend(self, faults: list[Exception]) -> None:
        """Attend to those whom the last tick did not come to, for something was raised in it: Ctrl-C, perhaps."""
        status, crews = self.column("status"), self.column("crew")
        left = np.flatnonzero((status != loop.ACTIVE) & (crews >= 0) & (self.rests[: self.count] == 0))
        self.proved[left[status[left] == loop.UNREACHABLE]] = self.edits  # the edits that it had heard of
        for k in left[status[left] > loop.MOVE_LIMIT].tolist():
            self.disown(k, int(status[k]), faults)
        self.settle(left[status[left] != loop.MOVE_LIMIT])

    def disown(self, k: int, outcome: int, faults: list[Exception]) -> None:
        """Stop an agent whose algorithm did what none may do."""
        what = "expanded more than its share" if outcome == loop.OVER_BUDGET else "asked for an illegal move"
        faults.append(AssertionError(f"{self.specs[k][0]}, agent {k}, {what} and was stopped"))
        self.stop(k)

    def stop_for(self, k: int, problem: Exception, faults: list[Exception]) -> None:
        """Stop an agent that could not be given what it needs."""
        kind = MemoryError if isinstance(problem, MemoryError) else Error
        faults.append(kind(f"{self.specs[k][0]}, agent {k}, was stopped: {problem}"))
        faults[-1].__cause__ = problem
        self.stop(k)

    def stop(self, k: int) -> None:
        """The agent stays where it is, and gives back what it has."""
        self.episodes["status"][k] = loop.MOVE_LIMIT
        self.retire(k)

    def _replace_the_lost(self) -> None:
        """An edit may have made a graph one-way. Whose algorithm cannot walk there gets A* by and by, as an Agent does.

        It happens once in the life of a world, if at all, so it may take its time.
        """
        lost = set()
        for name, known in self._choosy.items():
            refuses = REGISTRY[name].refuses
            assert refuses is not None
            self._choosy[name] = refuses(self.world) is not None
            if self._choosy[name] and not known:
                lost.add(name)
        if not lost:
            return
        for k in range(self.count):
            if self.on_way(k) and self.specs[k][0].algorithm.name in lost:
                self.retire(k)
                if self.is_waking(k):
                    self.wakes.append(k)

    def take_note_of_edits(self, edits: int, ticked: int) -> None:
        self._replace_the_lost()
        status, goals = self.column("status"), self.column("goal")
        is_open = self.world.are_open(goals)
        shut = np.flatnonzero((status == loop.ACTIVE) & ~is_open)
        status[shut] = loop.UNREACHABLE
        self.proved[shut] = edits
        # Thousands may have had one goal, so what they hold is given back later, a little at a time. Where units may be
        # pushed, at once: who is pushed and holds a plan would be on its way again.
        now = (self.episodes["crew"][shut] < 0) | self.collisions
        self.rest(shut[~now])
        for k in shut[now].tolist():
            self.retire(k)
        # The proof that there is no way was for the world as it was: all are on their way again. Who still has what it
        # needs goes on with it, as if it had not had a turn for a while; the others get it by and by.
        again = np.flatnonzero((status == loop.UNREACHABLE) & is_open & (self.proved[: self.count] != edits))
        status[again] = loop.ACTIVE
        resting = self.rests[again] != 0
        self._resume(again[resting])
        self._let_wait(again, ticked)
        self.episodes["wish"][again] = self.episodes["position"][again]
        waiting = set(self.wakes)
        self.wakes.extend(k for k in again[~resting].tolist() if k not in waiting)
        self.edits = edits

    def wake_some(self, until: int, faults: list[Exception]) -> None:
        """A planner for those who are on their way again without one; a few in each tick, ``until`` it is late."""
        woken = 0
        while self.wakes and woken < _AT_ONCE and not (woken and _late(until)):
            k = self.wakes.popleft()
            if self.is_waking(k):
                self.set_out_or_stop(k, faults)
                woken += 1

    def set_out_or_stop(self, k: int, faults: list[Exception]) -> None:
        """Within a tick: if there is no planner to be had for one, the others go on."""
        try:
            self.set_out(k)
        except Exception as problem:
            self.stop_for(k, problem, faults)

    def had_turn(self) -> np.ndarray:
        """Who had a turn in the last tick, of those who were on their way then and are so now."""
        now = (self.column("status") == loop.ACTIVE) & (self.column("served") == self.number)
        return now & (self.since[: self.count] < self.number)

    def is_waking(self, agents: Any) -> Any:
        """Whether an agent is on its way and has nothing to plan with: it is among those who are woken by and by."""
        return (self.episodes["status"][agents] == loop.ACTIVE) & (self.episodes["crew"][agents] == -1)


def _late(until: int) -> bool:
    """Whether that moment has passed; 0: there is time."""
    return until > 0 and time.perf_counter_ns() > until
