"""A crowd: units that walk between random places of a world under one frame, and what is noted of it.

It is how a fleet is tried out on a map before a game is built on it. Whoever arrives gets a new goal, so that the load
stays what it is; with ``once`` the crowd ends when all have arrived.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .algorithms import Spec
from .budget import countable
from .errors import SpecError, WorldError, at_least, check_world
from .fleet import Fleet
from .worlds.protocol import World

__all__ = ["Crowd", "CrowdReport", "histogram", "pairs"]

_REACHED, _UNREACHABLE = 1, 2  # see ``Fleet.statuses``
_ROUNDS = 64  # of drawing places, before the world is said to have none
_FOLLOWED = 6  # units whose ways are kept for the picture
_TRAIL = 400  # ticks of them
_FRAMES = 120  # of the film, at most
_SOON = 2.0  # seconds in which a tick ends, unless something is very wrong
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # of the histogram, in each decade


@dataclass(frozen=True)
class CrowdReport:
    """How the ticks of a crowd went; times in milliseconds, of all ticks."""

    agents: int
    active: int  # on their way now
    ticks: int
    mean_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    late: int | None  # ticks that took longer than the frame; None if a frame is counted in expansions
    served: float  # agents that had their turn in a tick, mean
    served_share: float  # of those that were on their way
    waited_max: int  # ticks that anyone has waited for a turn, at most
    moves: int
    expansions: int
    arrivals: int
    unreachable: int  # goals that turned out to be out of reach
    goals_ms: float  # what it took to give new goals after a tick, mean; it is no part of the tick
    setting_out_ms: float  # what it took to add the agents
    seconds: float  # in all ticks


class Crowd:
    """Units that walk between random places of a world, ``agents`` of them, for as long as ``tick`` is called.

    ``frame_ms`` or ``frame_expansions``, ``collisions``, ``threads`` and ``database`` are those of a ``Fleet``. Starts
    and goals are drawn with ``seed``; a start and its goal are connected where the world can tell without a search.
    With ``watch`` it keeps what pictures of it need; only grids can be watched.

    >>> import timebound as tb
    >>> world = tb.Grid(tb.generate.rooms((20, 20), room=5))
    >>> crowd = Crowd(world, "tb-wa*", 30, frame_expansions=600, once=True)
    >>> crowd.run()
    >>> report = crowd.report()
    >>> report.arrivals, report.active
    (30, 0)
    """

    def __init__(
        self,
        world: World,
        spec: str | Spec = "tb-wa*",
        agents: int = 1000,
        *,
        frame_ms: float | None = None,
        frame_expansions: int | None = None,
        collisions: bool = False,
        threads: int = 1,
        seed: int = 0,
        database: Any = None,
        once: bool = False,
        watch: bool = False,
    ) -> None:
        check_world(world)
        count = countable("agents, how many units there are,", agents, 10_000_000)
        self._random = np.random.default_rng(at_least(0, seed, "seed is a whole number"))
        if world.table == "hashed":
            raise WorldError("units walk on grids and graphs; a puzzle has no places for many")
        if watch and not hasattr(world, "costs"):
            raise WorldError("only grids can be drawn")
        self.world, self.once = world, bool(once)
        options: dict[str, Any] = {"frame_ms": frame_ms, "frame_expansions": frame_expansions, "database": database}
        if collisions:
            options["collisions"] = True
        self.fleet = Fleet(world, spec, threads=threads, **options)
        # Each has a pair of places that are known to be connected, in case that no other goal is found for it.
        self._homes = pairs(world, count, self._random, apart=collisions)
        self._make_ready(spec, options)
        began = time.perf_counter_ns()
        self._ids = self.fleet.add(*(world.points_of(ends) for ends in self._homes.T))
        self._setting_out = (time.perf_counter_ns() - began) * 1e-6
        self._times, self._goals_ms = array("d"), 0.0
        self._served = self._on_way = self._waited = self._arrivals = self._unreachable = 0
        self._been, self._lost = np.zeros(count, bool), np.zeros(count, bool)  # with ``once``: who is done
        self._lock, self._stopping = threading.Lock(), False
        self._watch = watch
        self._visits = np.zeros(world.shape if watch else (0, 0), np.int64)  # type: ignore[attr-defined]
        self._trails: deque[np.ndarray] = deque(maxlen=_TRAIL)
        self._film: list[np.ndarray] = []
        self._every = 1  # ticks from one picture of the film to the next
        if watch:
            self._note()

    def _make_ready(self, spec: str | Spec, options: dict[str, Any]) -> None:
        """Load or compile what a tick needs, by one tick of two units, so that the first one is like all others."""
        few = Fleet(self.world, spec, **options)
        few.add(*(self.world.points_of(ends) for ends in self._homes[:2].T))
        few.tick()

    # --- places -------------------------------------------------------------------------------------------------------

    def _new_goals(self, agents: np.ndarray) -> np.ndarray:
        """Other places for agents to go to, from where they are."""
        here = self.fleet.positions[self._ids[agents]]
        if here.ndim > 1:
            here = self.world.path_states(here)
        homes = self._homes[agents]
        goals = np.where(homes[:, 1] == here, homes[:, 0], homes[:, 1])
        missing = np.arange(len(agents))
        for _ in range(_ROUNDS):
            drawn = self.world.random_states(len(missing), self._random)
            good = self.world.plausible(np.stack([here[missing], drawn], axis=1), np.inf)
            goals[missing[good]] = drawn[good]
            missing = missing[~good]
            if not len(missing):
                break
        return goals

    # --- ticks --------------------------------------------------------------------------------------------------------

    def run(self, ticks: int | None = None, told: Callable[[Crowd], object] | None = None) -> None:
        """So many ticks, or without a number until all have arrived; ``told`` is called after each of them."""
        if ticks is None and not self.once:
            raise SpecError("a crowd that gets new goals never ends; say how many ticks, or once=True")
        last = None if ticks is None else self.ticks + countable("ticks", ticks)
        going = True
        while going and (last is None or self.ticks < last):
            going = self.tick()
            if told is not None and not self._stopping:
                told(self)

    def tick(self) -> bool:
        """One frame, and new goals for those who have arrived. False if there is nothing more to do."""
        if self._stopping:
            return False
        with self._lock:
            return self._tick()

    def _tick(self) -> bool:
        began = time.perf_counter_ns()
        self.fleet.tick()
        ended = time.perf_counter_ns()
        stats = self.fleet.stats
        self._served += stats.served
        self._on_way += stats.agents
        self._waited = max(self._waited, int(stats.waited.max(initial=0)))
        after = time.perf_counter_ns()
        self._send_on()
        self._goals_ms += (time.perf_counter_ns() - after) * 1e-6
        self._times.append((ended - began) * 1e-6)
        if self._watch:
            self._note()
        return not (self._been | self._lost).all()

    def _send_on(self) -> None:
        """Give new goals to those who are not on their way any more; with ``once``, count them."""
        status = self.fleet.statuses[self._ids]
        arrived, lost = status == _REACHED, status == _UNREACHABLE
        if self.once:
            self._been |= arrived  # with collisions it may be pushed off its goal again
            self._lost = lost & ~self._been
            self._arrivals, self._unreachable = int(self._been.sum()), int(self._lost.sum())
            return
        self._arrivals += int(arrived.sum())
        self._unreachable += int(lost.sum())
        idle = np.flatnonzero(arrived | lost)
        if len(idle):
            self.fleet.send(self._ids[idle], self.world.points_of(self._new_goals(idle)))

    def stop(self) -> None:
        """From another thread: let the tick that is under way end, and make no more."""
        self._stopping = True
        self._lock.acquire(timeout=_SOON)

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopping

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def ticks(self) -> int:
        """How many there were."""
        return len(self._times)

    @property
    def times(self) -> np.ndarray:
        """How long each tick took, in milliseconds."""
        return np.array(self._times)

    def report(self) -> CrowdReport:
        """How it went so far."""
        times = self.times if self.ticks else np.zeros(1)
        stats, ticks = self.fleet.stats, max(self.ticks, 1)
        frame = self.fleet.frame_ms
        return CrowdReport(
            agents=len(self._ids),
            active=stats.agents,
            ticks=self.ticks,
            mean_ms=float(times.mean()),
            p50_ms=float(np.percentile(times, 50)),
            p99_ms=float(np.percentile(times, 99)),
            max_ms=float(times.max()),
            late=None if frame is None else int(np.count_nonzero(times > frame)),
            served=self._served / ticks,
            served_share=self._served / self._on_way if self._on_way else 1.0,
            waited_max=self._waited,
            moves=stats.moves,
            expansions=stats.expansions,
            arrivals=self._arrivals,
            unreachable=self._unreachable,
            goals_ms=self._goals_ms / ticks,
            setting_out_ms=self._setting_out,
            seconds=float(times.sum()) * 1e-3,
        )

    def _note(self) -> None:
        """What pictures need: where all are, and where they have been."""
        places = self.fleet.positions[self._ids]
        np.add.at(self._visits, (places[:, 0], places[:, 1]), 1)
        self._trails.append(places[:_FOLLOWED].copy())
        if self.ticks % self._every == 0:
            self._film.append(places.astype(np.int32))
            if len(self._film) > _FRAMES:  # every second one is dropped, so that the film shows the whole run
                del self._film[1::2]
                self._every *= 2

    @property
    def places(self) -> np.ndarray:
        """Where the units are: n x 2 on a grid, else their nodes."""
        return self.fleet.positions[self._ids]

    @property
    def visits(self) -> np.ndarray:
        """How often someone was seen in each cell, if it was watched."""
        return self._visits

    @property
    def trails(self) -> list[np.ndarray]:
        """The last ways of a few units, each n x 2, if it was watched."""
        return list(np.stack(self._trails, axis=1)) if self._trails else []

    @property
    def film(self) -> list[np.ndarray]:
        """Where all units were, every so many ticks of the whole run; at most 120 times."""
        return list(self._film)


def pairs(world: World, count: int, random: np.random.Generator, *, apart: bool = False) -> np.ndarray:
    """Random starts and goals, as states, ``count`` x 2: each goal is another place than its start.

    They are connected where the world can tell without a search. If they are to be ``apart``, no two have the same
    start and no two the same goal.
    """
    found = np.empty((0, 2), np.int64)
    for _ in range(_ROUNDS):
        drawn = world.random_states(2 * max(count, 512), random).reshape(-1, 2)
        found = np.concatenate([found, drawn[world.plausible(drawn, np.inf)]])
        for end in (0, 1) if apart else ():
            found = found[np.sort(np.unique(found[:, end], return_index=True)[1])]
        if len(found) >= count:
            return found[:count]
    if apart and len(found):
        raise WorldError(f"there is no room for {count:,} units that never share a cell; take fewer")
    raise WorldError("no two places of this world are connected, so nobody has anywhere to go")


def histogram(times: Sequence[float] | np.ndarray, frame: float | None = None) -> list[tuple[float, float, int]]:
    """How many times lie from each bound to the next; bounds are round numbers, and the ``frame`` is one of them.

    A time that is a bound is counted below it: a tick that takes the whole frame is not late.

    >>> histogram([0.4, 0.6, 0.65, 1.0, 1.2, 4.0], frame=1.0)
    [(0.3, 0.5, 1), (0.5, 0.7, 2), (0.7, 1.0, 1), (1.0, 1.5, 1), (1.5, 2.0, 0), (2.0, 3.0, 0), (3.0, 5.0, 1)]
    """
    values = np.maximum(np.asarray(times, float), 1e-6)
    if not len(values):
        return []
    least, most = float(values.min()), float(values.max())
    decades = range(int(np.floor(np.log10(least))) - 1, int(np.ceil(np.log10(most))) + 1)
    bounds = {round(step * 10.0**decade, 9) for decade in decades for step in _STEPS}
    if frame is not None:
        bounds.add(float(frame))
    edges = sorted(bounds)
    places = np.searchsorted(edges, values)  # edges[place - 1] < value <= edges[place]
    counts = np.bincount(places, minlength=len(edges) + 1)
    return [(edges[k - 1], edges[k], int(counts[k])) for k in range(int(places.min()), int(places.max()) + 1)]
