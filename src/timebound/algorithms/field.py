"""Field: agents with the same goal share one search that is grown from the goal (``kernels/distance_field.py``).

An agent stands still until the field has reached it, then walks downhill: a shortest way, without any planning of its
own. A second agent with the same goal finds the field as the first has left it. When the world is edited the field is
repaired around what was edited, and an agent that the repair has not come to goes on downhill by what was known before:
no step is illegal, but it may turn out to be a detour.

Chosen where the literature leaves it open: the field grows only while the agent that is stepped needs it, until its own
distance is known; ties go to the first neighbour in the world's order.

For whoever runs many agents: the agents of one field must not grow it side by side in two threads, or rather they may,
but then they wait for each other. So a planner has ``shared``, the ``SharedField`` that all agents with this goal have
in common, and its state's record ``memo`` a flag ``reads``. With ``planner.state.memo["reads"] = 1`` an agent only
reads: it neither grows the field nor takes its lock, expands nothing, and waits where the field has not come to it.
Grow each of the fields once per tick, one after the other or each in one thread,

    for field in {id(p.shared): p.shared for p in planners}.values():
        field.grow(limit, nanoseconds)

and step the agents in as many threads as you like; growing and stepping must not overlap. ``shared`` may change when an
agent begins anew, and is None once it has given its arrays back.

The plain version is ``tests/naive/distance_field.py``.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..kernels.distance_field import NOWHERE, WORK, Field, advance, downhill, final
from ..kernels.jit import let_go
from ..kernels.layout import COUNTS, GROW, PAUSED, RUNNING
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, one_step
from ..kernels.shared_field import SharedField, take_turn
from ..kernels.workspace import new_record
from .registry import Algorithm, World

WALK = np.dtype(
    [
        ("name", np.int64),  # by which the agent takes the field's lock; above 0
        ("reads", np.int64),  # 1: others grow the field, the agent only reads
        ("version", np.int64),  # of the arrays that it holds
    ]
)


class FieldWalk(NamedTuple):
    """What the agent holds between ticks."""

    field: Field | None  # shared with others; None once it has been given back
    memo: np.ndarray  # one WALK record
    work: np.ndarray  # one WORK record
    counts: np.ndarray  # one COUNTS record: what this agent has expanded
    route: np.ndarray  # int64[1]
    plan: np.ndarray  # int64[2]


@decide.on(FieldWalk)
def _decide(agent, world, s, tick):
    """Step downhill; if the field has not come to the agent, let it grow."""
    field = agent.field
    memo = agent.memo[0]
    counts = agent.counts[0]
    grows = not memo.reads
    if grows and not take_turn(field.lock, memo.name, tick.clock):
        return NOT_YET
    status = RUNNING
    if field.memo[0].version != memo.version:
        status = GROW
    elif grows and not final(field, s):
        status = advance(world, field, agent.work[0], counts, s, tick)
    t = np.int64(0)
    if status not in (GROW, PAUSED):
        t = downhill(world, field, s)
        counts.states = field.memo[0].states
    if grows:
        let_go(field.lock, memo.name)
    if status == GROW:
        return NEEDS_ROOM
    if status == PAUSED:
        return NOT_YET
    if t >= 0:
        return one_step(agent, t)
    return NO_WAY if t == NOWHERE else 0


# --- fields by world and goal ---------------------------------------------------------------------------------------

_names = itertools.count(1)
_looking = threading.Lock()
_fields: WeakKeyDictionary[Any, WeakValueDictionary[int, SharedField]] = WeakKeyDictionary()


def field_towards(world: World, goal: int) -> SharedField:
    """The field that agents with this goal share; it lives as long as one of them holds it."""
    with _looking:
        known = _fields.setdefault(world, WeakValueDictionary())
        field = known.get(goal)
        if field is None:
            field = known[goal] = SharedField(world, np.array([goal], np.int64), np.zeros(1, np.int64))
        return field


class FieldPlanner:
    """The Python half: holds the field that it shares with others."""

    def __init__(self, world: World, goal: int) -> None:
        field = field_towards(world, goal)
        self.shared: SharedField | None = field
        memo = new_record(WALK)
        state, version = field.current()
        memo["name"], memo["version"] = next(_names), version
        self.state = FieldWalk(
            state, memo, new_record(WORK), new_record(COUNTS), np.zeros(1, np.int64), np.zeros(2, np.int64)
        )

    def __getstate__(self) -> tuple[SharedField | None, list[np.ndarray]]:
        """For a copy: the field is copied once for all that share it, and its arrays are not copied apart from it."""
        return self.shared, list(self.state[1:])

    def __setstate__(self, kept: tuple[SharedField | None, list[np.ndarray]]) -> None:
        self.shared, own = kept
        state, version = self.shared.current() if self.shared is not None else (None, 0)
        self.state = FieldWalk(state, *own)
        # Someone in this process may have the name that the original had.
        self.state.memo["name"], self.state.memo["version"] = next(_names), version

    def enlarge(self) -> None:
        """Take the arrays that there are now; if those are ours, make room."""
        assert self.shared is not None
        memo = self.state.memo
        state, version = self.shared.enlarge(int(memo["version"][0]))
        self.state = self.state._replace(field=state)
        memo["version"] = version

    def ahead(self, view: Any, state: int) -> np.ndarray:
        """The way down from here."""
        return self.shared.way_from(state)[0] if self.shared is not None else np.empty(0, np.int64)

    def sure(self, view: Any, state: int) -> bool:
        """Of a field that is whole, the way down is a shortest way."""
        return self.shared is not None and self.shared.done

    def memory_bytes(self) -> int:
        """Bytes of the whole field; all agents with this goal share them."""
        return self.shared.memory_bytes() if self.shared is not None else 0

    def release(self) -> None:
        """The last agent that leaves a field takes it along."""
        self.shared = None
        self.state = self.state._replace(field=None)


def _refuses(world: World) -> str | None:
    if world.table == "hashed":
        return "a field has a place for each state, and here there are too many"
    return None if world.undirected else "it searches from the goal backwards, which one-way arcs do not allow"


FIELD_WALK = Algorithm(
    name="field",
    summary="shortest paths by one search from the goal that all agents with that goal share",
    paper="Dijkstra 1959; Ramalingam and Reps 1996",
    make=lambda world, goal, budget: FieldPlanner(world, goal),
    refuses=_refuses,
    real_time=False,
    shares=True,
)

ALGORITHMS = (FIELD_WALK,)
