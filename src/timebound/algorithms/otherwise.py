"""What walks where the database of kNN LRTA* has no answer, if that is not LRTA* (``otherwise=tb-wa*``).

LRTA* to a global goal may walk hundreds of times the way. A time-bounded search from where the agent stands walks a few
times the way at worst, and holds what it has seen of the map instead. This is not published.

One algorithm gives way to another between two calls of the kernel. A query of kNN LRTA* that ends without a record asks
for room; what it is given is the other algorithm's state, made only now. That one decides from then on, in its own
compiled text, with the agent's budget and the same counters, until there is reason for a new query: ``retry`` moves, or
an edit that has opened something. Then the agent is kNN LRTA*'s again.

* The other algorithm goes on where it was if a new query ends without a record too: a search that began anew every few
  moves would never end. If LRTA* has walked meanwhile, it begins anew.
* Where the goal can be climbed to, LRTA* goes there as before. Walls may fall on that way too; then, as with a record
  that fails, there is a new query.
* The tick that ends a query goes on with what is left of its budget, if anything is.
* A goal that moves, or an agent that is put elsewhere, is told to the other algorithm at once if it walks, and if a
  query is under way, when that ends without a record. What each makes of it is its own affair.

The plain version is ``walk`` with ``otherwise`` in tests/naive/subgoals.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import loop
from ..kernels.edits import LogView
from ..kernels.jit import kernel
from ..kernels.learning_rules import must_forget
from ..kernels.loop import AT_ONCE, NEEDS_ROOM, decide, displaced, retarget
from ..kernels.native import Kind, kind_of
from ..kernels.ticks import Tick, new_clock
from .knn_lrta_star import NEW_SUBGOAL
from .knn_query import GIVES_WAY, NEW, hear_of_openings, reconsider
from .registry import World

__all__ = ["OtherwisePlanner"]


class Otherwise(NamedTuple):
    """What the agent holds while the other algorithm walks: its state, and what tells whether to query again."""

    other: NamedTuple
    query: np.ndarray  # of kNN LRTA*, as are the next three
    look: np.ndarray
    learner: np.ndarray
    log: LogView
    counts: np.ndarray  # one COUNTS record: that of both
    route: np.ndarray  # the other's, as is the plan
    plan: np.ndarray


@decide.on(Otherwise)
def _decide(algorithm, world, s, tick):
    """The other algorithm decides, unless there is reason for a new query."""
    query = algorithm.query[0]
    if must_forget(world, algorithm.log, algorithm.learner[0], algorithm.look[0], algorithm.plan):
        hear_of_openings(query)  # there are no values to forget
    reconsider(query, world, s)
    if query.stage == NEW:
        return NEEDS_ROOM
    ready = decide(algorithm.other, world, s, tick)
    query.moves += ready > 0
    return ready


@retarget.on(Otherwise)
def _retarget(algorithm, world, s, goal, tick):
    query = algorithm.query[0]
    query.goal = goal
    query.failed = 0
    return retarget(algorithm.other, world, s, goal, tick)


@displaced.on(Otherwise)
def _displaced(algorithm, world, s):
    algorithm.query[0].asked = -1
    return displaced(algorithm.other, world, s)


@kernel
def _tell(other, world, s, goal, clock):
    """Tell who has not walked for a while where the agent is now, and where it is to go. False: it begins anew."""
    stays = displaced(other, world, s)
    return retarget(other, world, s, goal, Tick(np.int64(AT_ONCE), np.int64(0), clock)) and stays


class OtherwisePlanner:
    """A planner of kNN LRTA*, and one of the algorithm that it gives way to, made when that is first needed."""

    def __init__(self, world: World, knn: Any, make: Callable[[int], Any]) -> None:
        self._world, self._knn, self._make = world, knn, make
        knn.state.query["without"] = GIVES_WAY
        self._other: Any = None
        self._walks: Otherwise | None = None
        kind = type(world.view), world.buckets
        if kind not in _loaded:
            # What it will run is compiled before it walks, not in the middle of a tick.
            self._give_way()
            walking = kind_of(self.state)
            loop.runner(kind_of(world.view), walking)
            _tell(self._other.state, world.view, 0, 0, new_clock())
            self._drop()
            _loaded[kind] = walking
        self.becomes = (_loaded[kind],)  # for a fleet, which has a kernel of its own to make ready

    def __getstate__(self) -> dict[str, Any]:
        """Who walks, not what of: that is put together again, of the very arrays that the two hold."""
        return self.__dict__ | {"_walks": self._walks is not None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._walks = self._joined() if kept["_walks"] else None

    @property
    def state(self) -> Any:
        """That of whoever decides."""
        if self._walks is None:
            return self._knn.state
        if self._walks.other is not self._other.state:
            self._walks = self._joined()
        return self._walks

    def _joined(self) -> Otherwise:
        knn, other = self._knn.state, self._other.state
        return Otherwise(other, knn.query, knn.look, knn.learner, knn.log, knn.counts, other.route, other.plan)

    def enlarge(self) -> None:
        """Let the other one decide, or as the one that decides would have it."""
        stage = int(self._knn.state.query["stage"][0])
        if self._walks is not None and stage == NEW:
            self._walks = None
        elif self._walks is not None:
            self._other.enlarge()
        elif stage == GIVES_WAY:
            self._give_way()
        else:
            self._knn.enlarge()

    def _give_way(self) -> None:
        knn = self._knn.state
        goal = int(knn.query["goal"][0])
        if self._other is None or knn.look["goal"][0] >= 0 or not self._told(goal):
            self._drop()  # LRTA* has walked: the other's plans are of another place
            other = self._make(goal)
            other.state = other.state._replace(counts=knn.counts)
            self._other = other
            # The values are of no use, and if LRTA* walks again, it begins with a new subgoal.
            knn.learner["lack"] = NEW_SUBGOAL
            self._knn.enlarge()
            knn.look["goal"] = -1
        knn.query["untold"] = 0
        self._walks = self._joined()

    def _told(self, goal: int) -> bool:
        """Tell the other one what has changed since it last walked; False if it can make nothing of that."""
        query = self._knn.state.query
        here = int(query["here"][0])
        return not query["untold"][0] or bool(_tell(self._other.state, self._world.view, here, goal, new_clock()))

    def _drop(self) -> None:
        other, self._other, self._walks = self._other, None, None
        if other is not None:
            other.release()

    def restart(self) -> None:
        """A new trial begins with a query; nothing of the other algorithm is kept."""
        self._drop()
        self._knn.restart()

    @property
    def raises(self) -> int:
        """How often LRTA* has raised a value."""
        return int(self._knn.raises)

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """Where the agent means to go from here, if the other algorithm walks as far as that knows."""
        if self._walks is not None and hasattr(self._other, "ahead"):
            return np.asarray(self._other.ahead(view, state))
        return np.array(self.state.route[slice(*self.state.plan)])

    def sure(self, view: Any, state: int) -> bool:
        """Whether the other algorithm walks, is sure, and nothing is reason for a query."""
        query = self._knn.state.query[0]
        stays = self._walks is not None and query["retry"] == 0 and query["asked"] == query["goal"]
        return bool(stays and self._other.sure(view, state))

    def details(self) -> dict[str, Any]:
        """What the last query found; ``none`` where the other algorithm walks."""
        return dict(self._knn.details())

    def memory_bytes(self) -> int:
        """Those of both, as long as the other one's are of use."""
        kept = self._other is not None and self._knn.state.look["goal"][0] < 0
        return int(self._knn.memory_bytes()) + (int(self._other.memory_bytes()) if kept else 0)

    def release(self) -> None:
        """Arrays that either has borrowed go back."""
        self._drop()
        self._knn.release()


# Kinds of worlds for which the text above is compiled, each with that of an agent while the other algorithm walks.
_loaded: dict[tuple[type, bool], Kind] = {}
