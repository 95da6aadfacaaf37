"""Races to look at: lanes with an algorithm each, on one map, with the same problem and the same ticks; and crowds.

Nothing here knows of sockets, threads or pages. Whoever shows a race calls ``tick`` and ``frame`` in turn. A frame
holds what has changed since the last one, however many ticks that were: what is kept for it is bounded by the map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import REGISTRY, Algorithm, Spec, parse_spec
from ..budget import Budget
from ..crowd import Crowd as RandomCrowd
from ..crowd import pairs
from ..episode import Agent
from ..errors import Error, SpecError, WorldError, is_number
from ..fields import DistanceField
from ..fleet import Fleet
from ..kernels.scene import Scene, all_learned, all_marks, new_learned, new_marks, new_scene, take_in
from ..kernels.telling import BACK, MOVED, WHAT
from ..text import shown
from ..trace import Trace
from ..worlds.abstraction import regions
from ..worlds.grid import Grid
from .wire import (
    BACK_MOVE,
    ERROR,
    FORGET_LEARNED,
    FORGET_MARKS,
    FORGET_TRAIL,
    NO_EDITS,
    PROTOCOL,
    STATUS,
    Edits,
    LanePart,
    crowd_message,
    frame_message,
    map_message,
    regions_message,
)

__all__ = ["COUNTERS", "MOST_LANES", "Crowd", "Lane", "Race", "Recording"]

MOST_LANES = 6
_DRAWN = 64  # pairs of places that are drawn; the farthest apart is a race's problem if none is given
_AT_ONCE = 1000  # ticks of a rehearsal, so that who waits for others waits no longer
_GROWS = 50_000  # expansions of the field of distances in a frame, after something has changed

# What is told of each lane in every frame: a name, what a person reads, and the unit.
COUNTERS = (
    ("tick", "ticks", "ticks"),
    ("moves", "moves", "moves"),
    ("cost", "cost", "cost"),
    ("over", "cost over optimal", "ratio"),
    ("expanded", "states expanded", "states"),
    ("last", "states expanded in the last tick", "states"),
    ("per_move", "states expanded per move", "states/move"),
    ("revisits", "revisits", "moves"),
    ("back_moves", "back-moves", "moves"),
    ("memory", "states in memory, at most", "states"),
)
_CROWD_STATS = (
    ("active", "on their way", "units"),
    ("served", "served in the last tick", "units"),
    ("arrived", "arrived", "units"),
    ("unreachable", "without a way", "units"),
    ("moves", "moves", "moves"),
    ("expanded", "states expanded", "states"),
    ("last", "states expanded in the last tick", "states"),
    ("p50", "half of the ticks took less than", "ms"),
    ("p99", "99 of 100 ticks took less than", "ms"),
)
_EMPTY = np.zeros(0, np.uint32)


class _Ground:
    """The map under a race or a crowd: cells by their numbers, and what was painted since the last frame."""

    def __init__(self, world: Any) -> None:
        if not isinstance(world, Grid):
            raise WorldError("what is looked at is a grid: nodes of a graph and states of a puzzle have no place on it")
        self.world: Grid = world
        self.rows, self.cols = world.shape
        self._painted = np.zeros(world.shape[0] * world.shape[1], bool)

    def point(self, cell: Any, what: str = "cell") -> tuple[int, int]:
        """The (row, col) of a cell's number."""
        whole = isinstance(cell, (int, np.integer)) and not isinstance(cell, bool)
        if not whole or not 0 <= cell < self.rows * self.cols:
            raise Error(f"the {what} is a whole number from 0 to {self.rows * self.cols - 1}, not {shown(cell)}")
        return divmod(int(cell), self.cols)

    def cells(self, points: np.ndarray) -> np.ndarray:
        """The numbers of cells given as n x 2."""
        return (points[:, 0] * self.cols + points[:, 1]).astype(np.uint32)

    def cells_of(self, states: np.ndarray) -> np.ndarray:
        """The same for cells by the numbers that searches have for them."""
        rows, cols = np.divmod(states, self.cols + 2)
        return ((rows - 1) * self.cols + cols - 1).astype(np.uint32)

    def paint(self, cells: Any, cost: float) -> int:
        """Make walls of cells (cost 0), floor (1) or ground that costs more. Returns how many have changed."""
        if not is_number(cost) or not (cost >= 0 and math.isfinite(cost)):
            raise Error(f"cells are painted with a cost: 0 for a wall, 1 for floor, more for mud, not {shown(cost)}")
        world = self.world
        if cost not in (0, 1) and not world.terrain:
            raise WorldError(
                "this map knows walls and floor only: all its cells cost 1; with Grid(..., terrain=True) there is mud"
            )
        try:
            given = np.unique(np.asarray(cells, np.int64).ravel())
        except (TypeError, ValueError, OverflowError):
            raise Error(f"cells are whole numbers, row * columns + column, not {shown(cells)}") from None
        if len(given) and (given[0] < 0 or given[-1] >= self.rows * self.cols):
            raise Error(f"cells are whole numbers from 0 to {self.rows * self.cols - 1}, not {given[0]}, {given[-1]}")
        points = np.stack(np.divmod(given, self.cols), axis=1)
        changed = 0
        if not len(given):
            return changed
        if cost == 0:
            changed = world.block(points)
        else:
            if world.terrain:
                changed += world.set_cost(points, float(cost))
            changed += world.unblock(points)
        if changed:
            self._painted[given] = True
        return changed

    def take_edits(self) -> Edits:
        """What was painted since the last call."""
        cells = np.flatnonzero(self._painted)
        if not len(cells):
            return NO_EDITS
        self._painted[cells] = False
        points = np.stack(np.divmod(cells, self.cols), axis=1)
        costs = np.where(self.world.is_free(points), 1.0, 0.0)
        if self.world.terrain:
            costs *= np.nan_to_num(self.world.costs[points[:, 0], points[:, 1]], posinf=0.0)
        return cells.astype(np.uint32), costs.astype(np.float32)

    def map_bytes(self) -> bytes:
        """The whole map."""
        costs = np.nan_to_num(self.world.costs, posinf=0.0) if self.world.terrain else None
        return map_message(self.world.free, costs)


class Lane:
    """One algorithm on its way. ``status`` is that of its agent, or ``error``, and then ``error`` says in words why."""

    def __init__(self, race: Race, spec: Spec, epoch: int) -> None:
        self._race, self.spec, self.epoch = race, spec, epoch
        self.error: str | None = None
        self.agent: Agent | None = None
        ground = race.ground
        self._been = np.zeros(ground.rows * ground.cols, bool)
        self._noted = 0  # moves whose cells are among those, and in ``revisits``
        self._sent = 0  # cells of the trail that have been sent; the first is where it was last put
        self._begins = 0  # the move after which it was last put
        self._flags = FORGET_MARKS | FORGET_LEARNED | FORGET_TRAIL
        self.revisits = 0
        self._scene: Scene = new_scene(ground.world.states, ground.world.unit)
        self._backs = bytearray()  # for each move, whether it was one back
        self._base = math.nan  # what all could have cost, see ``count_waste``
        self._waste = 0.0
        database = race.database if spec.algorithm.database else None
        try:
            self.agent = Agent(
                spec, ground.world, race.start, race.goal,
                budget=race.budget, database=database, trace=Trace(each=self._hear),
            )  # fmt: skip
        except Error as error:
            self.error = str(error)

    # --- ticks --------------------------------------------------------------------------------------------------------

    def attempt(self, what: Any) -> None:
        """Do something with the agent; if it goes wrong, that is the end of this lane, and of no other."""
        if self.agent is None or self.error is not None:
            return
        try:
            what(self.agent)
        except Error as error:
            self.error = str(error)
        except Exception as error:  # a defect: the race goes on, and it is told where everyone sees it
            self.error = f"{self.spec.algorithm.name} has failed: {type(error).__name__}: {error}"

    def _hear(self, events: np.ndarray) -> None:
        take_in(self._race.world.view, self._scene, events)
        what = events[:, WHAT]
        self._backs += (what[(what == MOVED) | (what == BACK)] == BACK).tobytes()

    def tick(self, n: int) -> None:
        """Act for so many ticks. Who has no way waits: it stays in step with the others, should a wall be erased."""

        def act(agent: Agent) -> None:
            if agent.status in ("reached", "move-limit"):
                return
            last = agent.ticks + n
            agent.run(n)
            if agent.status == "unreachable" and agent.ticks < last:
                agent.wait(last - agent.ticks)

        self.attempt(act)
        self._note()

    def _note(self) -> None:
        if self.agent is None or self._noted > self.agent.moves:
            return
        cells = self._race.ground.cells(self.agent.trail(self._noted))
        fresh = np.unique(cells)
        self.revisits += len(cells) - int(np.count_nonzero(~self._been[fresh]))
        self._been[fresh] = True
        self._noted += len(cells)

    def place(self, point: tuple[int, int]) -> None:
        """Put the agent elsewhere; its trail begins there."""
        self.attempt(lambda agent: agent.place(point))
        if self.agent is not None and self.error is None:
            self._begins = self.agent.moves
            self._sent, self._flags = 0, self._flags | FORGET_TRAIL

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """``active``, ``reached``, ``unreachable``, ``move-limit`` or ``error``."""
        return "error" if self.error is not None or self.agent is None else self.agent.status

    @property
    def tick_count(self) -> int:
        """Ticks that have passed."""
        return self.agent.ticks if self.agent is not None else 0

    @property
    def position(self) -> tuple[int, int]:
        """Where the agent is."""
        return self.agent.position if self.agent is not None else self._race.start

    def scenery(self) -> tuple[np.ndarray, np.ndarray]:
        """For each cell of the map, whether it is open (1) or closed (2), and how much was learned of it."""
        scene, world = self._scene, self._race.world
        marks = np.where(scene.search == int(scene.memo["search"][0]), scene.mark, 0).astype(np.uint8)
        above = np.zeros(world.states, np.float32)
        states, values = all_learned(scene)
        above[states] = values
        rows, cols = world.shape
        inside = np.s_[1:-1, 1:-1]
        return marks.reshape(rows + 2, cols + 2)[inside], above.reshape(rows + 2, cols + 2)[inside]

    def count_waste(self, left: float, changed: bool) -> float:
        """What has been paid and is still to be paid at least, over what it all could have been; NaN if not known.

        ``left`` is what is left at least. If walls or goal have ``changed``, that is no fault of the agent: what it
        has wasted before stays wasted, and what the change adds is added to what it all could have been.
        """
        if self.agent is None or not math.isfinite(left):
            return math.nan
        total = self.agent.cost + left
        if changed or math.isnan(self._base):
            self._base = total - self._waste
        self._waste = total - self._base
        return total / self._base if self._base > 0 else math.nan if total > 0 else 1.0

    def _counters(self, over: float) -> list[float]:
        agent = self.agent
        if agent is None:
            return [math.nan] * len(COUNTERS)
        last = agent.spent(agent.ticks - 1)
        return [
            agent.ticks,
            agent.moves,
            agent.cost,
            over,
            agent.expansions,
            float(last[-1]) if len(last) else 0.0,
            agent.expansions / agent.moves if agent.moves else math.nan,
            self.revisits,
            agent.back_moves,
            agent.memory_states,
        ]

    def part(self, over: float, *, whole: bool) -> LanePart:
        """What the lane has to say: what is new, or with ``whole`` all that has been said so far."""
        ground, agent, scene = self._race.ground, self.agent, self._scene
        trail, ahead, flags = _EMPTY, _EMPTY, self._flags
        if agent is not None:
            trail = self._trail(agent, whole)
            if self.error is None:
                ahead = ground.cells(agent.ahead(likely=True))
        if whole:
            flags, marks, learned = FORGET_MARKS | FORGET_LEARNED | FORGET_TRAIL, all_marks(scene), all_learned(scene)
        else:
            wiped, marks = new_marks(scene)
            forgot, learned = new_learned(scene)
            flags |= wiped * FORGET_MARKS | forgot * FORGET_LEARNED
        subgoal = int(scene.memo["subgoal"][0])
        part = LanePart(
            epoch=self.epoch,
            tick=self.tick_count,
            status=STATUS.get(self.status, ERROR),
            flags=flags,
            position=self._cell(self.position),
            goal=self._cell(self._race.goal),
            counters=self._counters(over),
            marks=(ground.cells_of(marks[0]), *marks[1:]),
            learned=(ground.cells_of(learned[0]), learned[1]),
            trail=trail,
            ahead=ahead,
            subgoals=ground.cells_of(np.array([subgoal])) if subgoal >= 0 and self.status == "active" else _EMPTY,
        )
        if not whole:
            self._sent += len(trail)
            self._flags = 0
        return part

    def _trail(self, agent: Agent, whole: bool) -> np.ndarray:
        """Cells that were not sent yet, or with ``whole`` those that were; moves back are marked as such."""
        first = self._begins + (0 if whole else self._sent)
        trail = self._race.ground.cells(agent.trail(first))
        if whole:
            trail = trail[: self._sent]
        back = np.frombuffer(self._backs, np.uint8)[max(first - 1, 0) : first + len(trail) - 1].copy()
        trail[len(trail) - len(back) :] |= back.astype(np.uint32) * np.uint32(BACK_MOVE)
        if first == self._begins and len(trail):
            trail[0] &= np.uint32(BACK_MOVE - 1)  # where it was put, nobody stepped
        return trail

    def _cell(self, point: tuple[int, int]) -> int:
        return point[0] * self._race.ground.cols + point[1]


class Race:
    """Up to six algorithms on one map, with the same problem and the same budget.

    ``world`` is copied: what is painted is painted in the race alone. ``start`` and ``goal`` are (row, col); if they
    are None, two places far apart are drawn with ``seed``. Cells in all calls are row * columns + column.

    >>> import timebound as tb
    >>> race = Race(tb.Grid([[1] * 9] * 5), ["a*", "lrta*"], (0, 0), (4, 8), budget=50)
    >>> race.tick(3)
    >>> [lane.position for lane in race.lanes], len(race.frame()) > 0
    ([(3, 3), (3, 3)], True)
    >>> race.tick(100)
    >>> [lane.status for lane in race.lanes], race.done
    (['reached', 'reached'], True)
    """

    def __init__(
        self,
        world: Grid,
        specs: Sequence[str | Spec],
        start: Any = None,
        goal: Any = None,
        *,
        budget: Budget | int | str | None = 50,
        database: Any = None,
        seed: int = 0,
    ) -> None:
        self.ground = _Ground(world)
        self.ground.world = world = world.copy()
        if start is None or goal is None:
            drawn = self._far_apart(seed)
            start, goal = drawn[0] if start is None else start, drawn[1] if goal is None else goal
        world.state_of(start, "start")
        world.place_of(goal, "goal")
        self.start, self.goal = _pair(start), _pair(goal)
        self.budget, self.database, self.seed = Budget.of(budget), database, seed
        self._specs = _specs_of(specs)
        self._epoch = self._number = 0
        self._field = DistanceField(world, self.goal)
        self._changed = True
        self.restart()

    @property
    def world(self) -> Grid:
        """The map, with what was painted."""
        return self.ground.world

    def _far_apart(self, seed: int) -> tuple[tuple[int, int], tuple[int, int]]:
        world = self.world
        drawn = pairs(world, _DRAWN, np.random.default_rng(seed))
        ends = world.points_of(drawn.ravel()).reshape(-1, 2, 2)
        best = ends[int(np.abs(ends[:, 0] - ends[:, 1]).max(axis=1).argmax())]
        return _pair(best[0]), _pair(best[1])

    # --- what the viewer's user does ----------------------------------------------------------------------------------

    def tick(self, n: int = 1) -> None:
        """Every lane that has something to do acts for ``n`` ticks."""
        for lane in self.lanes:
            lane.tick(n)

    @property
    def done(self) -> bool:
        """Whether no lane has anything to do, as long as nothing is changed."""
        return all(lane.status != "active" for lane in self.lanes)

    def restart(self) -> None:
        """All begin anew at the start, with nothing learned; what was painted stays."""
        self._epoch += 1
        self.lanes = [Lane(self, spec, self._epoch) for spec in self._specs]
        self._field.grow()
        self._changed = True
        self._over()

    def rehearse(self, most: int = 1_000_000) -> int:
        """Run it to its end, or for so many ticks, and begin anew. Returns how many ticks it takes.

        A race with a budget in expansions is the same every time.
        """
        self.restart()
        ticks = 0
        while not self.done and ticks < most:
            self.tick(min(_AT_ONCE, most - ticks))
            ticks = max(lane.tick_count for lane in self.lanes)
        self.restart()
        return ticks

    def set_start(self, cell: int) -> None:
        """Another start: all begin anew there."""
        point = self.ground.point(cell, "start")
        self.world.state_of(point, "start")
        self.start = point
        self.restart()

    def set_goal(self, cell: int) -> None:
        """Another goal, towards which all go on from where they are."""
        self._over()
        self.goal = self.ground.point(cell, "goal")
        self._field.retarget(self.goal)
        self._changed = True
        for lane in self.lanes:
            lane.attempt(lambda agent: agent.retarget(self.goal))

    def place(self, cell: int, lane: int | None = None) -> None:
        """Put the agent of a lane elsewhere, or of all: it goes on from there."""
        point = self.ground.point(cell, "place")
        self.world.state_of(point, "place")
        self._over()
        self._changed = True
        for one in self.lanes if lane is None else [self._lane(lane)]:
            one.place(point)

    def paint(self, cells: Any, cost: float) -> int:
        """Paint walls (0), floor (1), or ground that costs more where the map knows costs. Returns how many changed."""
        self._over()
        changed = self.ground.paint(cells, cost)
        self._changed |= bool(changed)
        return changed

    def set_lanes(self, specs: Sequence[str | Spec]) -> None:
        """Other algorithms: all begin anew, for a race is among those who set out together."""
        self._specs = _specs_of(specs)
        self.restart()

    def set_budget(self, budget: Budget | int | str | None) -> None:
        """Another budget: all begin anew."""
        self.budget = Budget.of(budget)
        self.restart()

    def _lane(self, lane: int) -> Lane:
        if not isinstance(lane, int) or isinstance(lane, bool) or not 0 <= lane < len(self.lanes):
            raise Error(f"lanes are numbered from 0 to {len(self.lanes) - 1}; there is no lane {shown(lane)}")
        return self.lanes[lane]

    # --- what the viewer shows ----------------------------------------------------------------------------------------

    def frame(self) -> bytes:
        """All that has changed since the last frame."""
        self._number += 1
        over = self._over()
        parts = [lane.part(over[k], whole=False) for k, lane in enumerate(self.lanes)]
        return frame_message(self._number, self.ground.take_edits(), parts)

    def whole(self) -> bytes:
        """All that the frames so far have told, in one; for a page that has the map as it is now, and nothing else.

        The next ``frame`` goes on from there.
        """
        over = self._over()
        parts = [lane.part(over[k], whole=True) for k, lane in enumerate(self.lanes)]
        return frame_message(self._number, NO_EDITS, parts)

    def _over(self) -> list[float]:
        """For each lane, what it costs over what it could have; NaN while the distances after a change are not known.

        It is asked before each change too, so that all that was wasted until then is noted.
        """
        if not self._field.done:
            self._field.grow(_GROWS)
        if not self._field.done:
            return [math.nan] * len(self.lanes)
        over = [lane.count_waste(self._field.distance(lane.position), self._changed) for lane in self.lanes]
        self._changed = False
        return over

    def hello(self) -> dict[str, Any]:
        """What a page must know before the first frame; JSON can hold it."""
        ground = self.ground
        return {
            "is": "hello",
            "protocol": PROTOCOL,
            "kind": "race",
            "rows": ground.rows,
            "cols": ground.cols,
            "costs": self.world.terrain,
            "start": self.start[0] * ground.cols + self.start[1],
            "goal": self.goal[0] * ground.cols + self.goal[1],
            "budget": str(self.budget),
            "lanes": [_told_lane(k, lane) for k, lane in enumerate(self.lanes)],
            "most_lanes": MOST_LANES,
            "algorithms": [_told_algorithm(one) for one in REGISTRY.values() if self._can_race(one)],
            "counters": _told_names(COUNTERS),
            "statuses": list(STATUS),
        }

    def _can_race(self, algorithm: Algorithm) -> bool:
        if algorithm.refuses is not None and algorithm.refuses(self.world) is not None:
            return False
        return self.database is not None or Spec(algorithm, algorithm.settle({})).database is None

    def map_bytes(self) -> bytes:
        """The map as it is now."""
        return self.ground.map_bytes()

    def regions_bytes(self, lane: int) -> bytes:
        """The regions that the algorithm of a lane knows; empty if it knows none."""
        spec = self._lane(lane).spec
        if not _has_regions(spec):
            return regions_message(lane, np.zeros(0, np.int32))
        return regions_message(lane, regions(self.world, spec.parameters["level"]).ravel())


@dataclass
class Recording:
    """A race written down: what a page is told, from the first frame to the last.

    >>> import timebound as tb
    >>> race = Race(tb.Grid([[1] * 9] * 5), ["a*", "lrta*"], (0, 0), (4, 8))
    >>> recording = Recording.of(race, frames=20)
    >>> len(recording.frames), recording.every, recording.cut
    (9, 1, False)
    """

    hello: dict[str, Any]
    map: bytes
    frames: list[bytes]
    every: int  # ticks from one frame to the next
    cut: bool  # whether it ends before the race does, because it would have been too long or too large

    @classmethod
    def of(cls, race: Race, *, frames: int = 600, most_bytes: int = 20_000_000, most_ticks: int = 100_000) -> Recording:
        """Run a race from its start and write it down, in at most so many frames and bytes."""
        every = max(1, -(-race.rehearse(most_ticks) // max(frames - 1, 1)))
        made = cls(race.hello(), race.map_bytes(), [race.whole()], every, False)
        size = len(made.map) + len(made.frames[0])
        while not race.done:
            race.tick(every)
            frame = race.frame()
            size += len(frame)
            if len(made.frames) >= frames or size > most_bytes:
                made.cut = True
                break
            made.frames.append(frame)
        return made


class Crowd:
    """A fleet to look at: ``fleet`` is a ``tb.Fleet`` on a grid, or a ``timebound.crowd.Crowd``, whose units go on.

    >>> import timebound as tb
    >>> world = tb.Grid(tb.generate.rooms((20, 20), room=5))
    >>> fleet = tb.Fleet(world, "tb-wa*", frame_expansions=500)
    >>> _ = fleet.add([(1, 1), (1, 2)], [(18, 18), (18, 17)])
    >>> crowd = Crowd(fleet)
    >>> crowd.tick(2)
    >>> crowd.hello()["units"], len(crowd.frame()) > 0
    (2, True)
    """

    def __init__(self, fleet: Fleet | RandomCrowd) -> None:
        self._crowd = fleet if isinstance(fleet, RandomCrowd) else None
        self.fleet = fleet.fleet if isinstance(fleet, RandomCrowd) else fleet
        self.ground = _Ground(self.fleet.world)
        self._ticks = self._number = 0

    @property
    def world(self) -> Grid:
        """The map, which is that of the fleet: what is painted is painted there."""
        return self.ground.world

    def tick(self, n: int = 1) -> None:
        """So many frames of the fleet."""
        for _ in range(n):
            if self._crowd is not None:
                self._crowd.tick()
            else:
                self.fleet.tick()
            self._ticks += 1

    @property
    def done(self) -> bool:
        """Whether nobody is on the way."""
        return self.fleet.active == 0

    def paint(self, cells: Any, cost: float) -> int:
        """As for a race."""
        return self.ground.paint(cells, cost)

    def set_goal(self, cell: int) -> None:
        """Send all units to a cell."""
        point = self.ground.point(cell, "goal")
        ids = np.flatnonzero(self.fleet.statuses != _CANCELLED)
        self.fleet.send(ids, [point] * len(ids))

    def frame(self) -> bytes:
        """Where all are now, and what was painted since the last frame."""
        self._number += 1
        return self._message(self.ground.take_edits())

    def whole(self) -> bytes:
        """The same for a page that has the map as it is now."""
        return self._message(NO_EDITS)

    def _message(self, edits: Edits) -> bytes:
        statuses = self.fleet.statuses
        there = statuses != _CANCELLED
        cells = self.ground.cells(self.fleet.positions[there])
        return crowd_message(self._number, edits, self._ticks, cells, statuses[there], self._stats(statuses[there]))

    def _stats(self, statuses: np.ndarray) -> list[float]:
        stats = self.fleet.stats
        return [
            stats.agents,
            stats.served,
            int(np.count_nonzero(statuses == STATUS["reached"])),
            int(np.count_nonzero(statuses == STATUS["unreachable"])),
            stats.moves,
            stats.expansions,
            stats.last_expansions,
            stats.p50_ms,
            stats.p99_ms,
        ]

    def hello(self) -> dict[str, Any]:
        """What a page must know before the first frame."""
        return {
            "is": "hello",
            "protocol": PROTOCOL,
            "kind": "crowd",
            "rows": self.ground.rows,
            "cols": self.ground.cols,
            "costs": self.world.terrain,
            "units": len(self.fleet),
            "stats": _told_names(_CROWD_STATS),
            "statuses": list(STATUS),
        }

    def map_bytes(self) -> bytes:
        """The map as it is now."""
        return self.ground.map_bytes()


_CANCELLED = 99  # see ``Fleet.statuses``


def _pair(point: Any) -> tuple[int, int]:
    row, col = point
    return int(row), int(col)


def _specs_of(specs: Sequence[str | Spec]) -> list[Spec]:
    given = [specs] if isinstance(specs, (str, Spec)) else list(specs)
    if not 1 <= len(given) <= MOST_LANES:
        raise SpecError(f"a race is among 1 to {MOST_LANES} algorithms, not {len(given)}")
    return [parse_spec(spec) for spec in given]


def _has_regions(spec: Spec) -> bool:
    name = spec.algorithm.name
    return name == "pr-lrta*" or (name == "d-lrta*" and spec.database is not None)


def _told_names(names: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "label": label, "unit": unit} for name, label, unit in names]


def _told_lane(number: int, lane: Lane) -> dict[str, Any]:
    return {
        "spec": str(lane.spec),
        "name": lane.spec.algorithm.name,
        "colour": number,
        "parameters": dict(lane.spec.parameters),
        "regions": _has_regions(lane.spec),
        "error": lane.error,
    }


def _told_algorithm(algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": algorithm.name,
        "summary": algorithm.summary,
        "paper": algorithm.paper,
        "real_time": algorithm.real_time,
        "parameters": [
            {
                "name": one.name,
                "kind": one.kind.__name__,
                "default": one.default,
                "help": one.help,
                "low": one.low,
                "high": one.high,
                "choices": list(one.choices),
            }
            for one in algorithm.parameters
        ],
    }
