"""The Python half of a distance field: it owns the arrays, lets them grow, and lets one thread at a time work on them.

Whoever wants the field to grow calls ``SharedField.grow``; agents call ``distance_field.advance`` from their own
kernels, between ``seize`` and ``let_go``. Both see to it that only one is at work: the lock is a number in memory,
taken and given back inside a kernel, so that no interrupt can come in between.
"""

from __future__ import annotations

import os
import threading
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import numpy as np

from .distance_field import FIELD, UNKNOWN, WORK, Field, advance, downhill, known_distance
from .edits import arcs_in
from .jit import give_way, inlined, kernel, let_go, now_ns, seize
from .layout import CLOSED, COUNTS, FLAGS, G_SHIFT, GROW, INFINITE, PAUSED, STAMP_MAX, STAMP_SHIFT
from .memory import reserved
from .queues import BucketQueue, HeapQueue, clear, pop, push, resume, settle, suspend
from .tables import DenseTable
from .ticks import Tick, new_clock, rest, tired, wind
from .workspace import new_record

__all__ = ["SharedField", "Spacious", "downhill_from", "take_turn"]

_KEYS = 1 << 20  # of buckets to begin with; distances up to 150,000 steps
_PER_STATE, _LEAST = 4, 4096  # entries of the open list to begin with; more than one per state have not been seen
_WIDE = 1 << 17  # keys: goals whose costs lie farther apart would have too many empty buckets between them


def _me() -> int:
    """A name for this thread that no agent has: theirs are positive."""
    return -threading.get_ident()


class Spacious(Protocol):
    """What a world must say so that a field can be made for it."""

    view: Any
    buckets: bool
    states: int
    changes: Any


# --- kernels --------------------------------------------------------------------------------------------------------


@inlined
def take_turn(lock, me, clock):
    """Wait until nobody else is at work with the field; False if that has taken long."""
    while not seize(lock, me):
        if tired(clock):
            return False
        give_way()
    return True


@kernel
def _grow(world, field, work, counts, me, target, limit, nanoseconds, clock):
    now = now_ns(clock)
    rest(clock, now)
    job = work[0]
    if not take_turn(field.lock, me, clock):
        return PAUSED
    if not job.paused:
        job.last = counts[0].expanded + limit
        job.deadline = now + nanoseconds if nanoseconds > 0 else 0
    tick = Tick(job.last - counts[0].expanded, job.deadline, clock)
    status = advance(world, field, job, counts[0], target, tick)
    let_go(field.lock, me)
    return status


@kernel
def _hold(lock, me, clock):
    rest(clock, now_ns(clock))
    return take_turn(lock, me, clock)


@kernel
def _release(lock, me):
    let_go(lock, me)


@kernel
def _steps(world, field, states, following):
    """Where each state leads, for those that have no answer yet (UNKNOWN)."""
    for k in range(states.shape[0]):
        if following[k] == UNKNOWN:
            following[k] = downhill(world, field, states[k])


@kernel
def _distances(field, states, found):
    """The final distance of each state, INFINITE if there is no way, -1 if it is not known."""
    for k in range(states.shape[0]):
        found[k] = known_distance(field, states[k])


@kernel
def _all_distances(field, found, unit, offset):
    """The same for every state there is, in the user's units: infinity, and NaN where it is not known."""
    for s in range(found.shape[0]):
        g = known_distance(field, s)
        found[s] = np.nan if g < 0 else np.inf if g == INFINITE else (g + offset) / unit


@kernel
def downhill_from(world, field, s, path):
    """The way down from ``s``, written to ``path`` without ``s`` itself. Returns how many states, and what ended it."""
    count = 0
    t = np.int64(downhill(world, field, s))
    while t >= 0 and count < path.shape[0]:
        path[count] = t
        count += 1
        t = np.int64(downhill(world, field, t))
    return count, t


@kernel
def _refill(view, field, queue):
    """Put what is not stale in the open list into another one; returns how many."""
    memo = field.memo[0]
    words = field.table.words
    seen_from = (memo.top >> STAMP_SHIFT) << STAMP_SHIFT
    old = resume(field.queue)
    new = clear(queue)
    kept = 0
    for _ in range(memo.open):
        old = settle(field.queue, old)
        key = old[0]
        s, old = pop(field.queue, old)
        word = words[s]
        if not word & CLOSED and word >= seen_from and ((memo.top - (word & ~FLAGS)) >> G_SHIFT) >> view.shift == key:
            new = push(queue, new, key, s)
            kept += 1
    suspend(queue, new)
    return kept


# --- the owner of the arrays ----------------------------------------------------------------------------------------


class SharedField:
    """A field and its arrays, for one set of goals in one world.

    ``state`` is what kernels take. Its arrays may be exchanged for larger ones: then ``version`` has risen, and who
    keeps a ``state`` of before takes the new one (a planner does so in ``enlarge``).
    """

    def __init__(self, world: Spacious, goals: np.ndarray, costs: np.ndarray) -> None:
        # The world itself is not kept: who remembers fields by their worlds would keep both for ever.
        self.view, self._changes, self._states = world.view, world.changes, world.states
        self._buckets = world.buckets
        self.state = self._fresh(goals, costs)
        _fields.add(self)

    def _fresh(self, goals: np.ndarray, costs: np.ndarray) -> Field:
        table = DenseTable(reserved(self._states), np.zeros(1, np.int64))
        raised, lock = reserved(self._states), np.zeros(1, np.int64)
        log = self._changes.view
        return Field(table, *self._queues(costs), raised, goals, costs, log, new_record(FIELD), lock)

    def _queues(self, costs: np.ndarray) -> tuple[NamedTuple, NamedTuple]:
        """The open list and the doubts. Room is reserved; what is not touched takes no memory."""
        n, entries = self._states, max(_LEAST, _PER_STATE * self._states)
        if self._buckets and int(costs.max()) >> self.view.shift < _WIDE:
            return _new_buckets(_KEYS, entries), _new_buckets(_KEYS, n)
        return _new_heap(entries), _new_heap(n)

    # --- copies -----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """What is known, without the room that is reserved; nothing is done for it that a tick would have done."""
        return self._alone(self._kept)

    def _kept(self) -> dict[str, Any]:
        state, memo = self.state, self.state.memo
        # While it is not begun, all that the table holds is of a time before.
        seen = np.flatnonzero(state.table.words >= (int(memo["top"][0]) >> STAMP_SHIFT) << STAMP_SHIFT)
        seen = seen if memo["begun"][0] else seen[:0]
        return {
            "view": self.view,
            "changes": self._changes,
            "states": self._states,
            "buckets": isinstance(state.queue, BucketQueue),
            "goals": state.goals,
            "costs": state.costs,
            "stamp": int(state.table.stamp[0]),
            "seen": seen,
            "words": state.table.words[seen],
            "raised": state.raised[: int(memo["raised"][0])].copy(),
            "memo": {name: int(memo[name][0]) for name in FIELD.names or ()},
            "queue": _packed(state.queue),
            "doubts": _packed(state.doubts),
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.view, self._changes, self._states = kept["view"], kept["changes"], kept["states"]
        self._buckets = kept["buckets"]
        state = self._fresh(kept["goals"], kept["costs"])
        queue = _unpacked(kept["queue"], max(_LEAST, _PER_STATE * self._states))
        doubts = _unpacked(kept["doubts"], self._states)
        self.state = state._replace(queue=queue, doubts=doubts)
        state.table.stamp[0] = kept["stamp"]
        state.table.words[kept["seen"]] = kept["words"]
        state.raised[: len(kept["raised"])] = kept["raised"]
        for name, value in kept["memo"].items():
            state.memo[name] = value
        _fields.add(self)

    # --- growing ----------------------------------------------------------------------------------------------

    def grow(self, limit: int, nanoseconds: int = 0, target: int = -1) -> int:
        """Grow or repair for so many expansions, or so long; less if the distance of ``target`` is final before.

        Returns how many expansions that took. Nobody may edit the world meanwhile (``world.changes.enter``).
        """
        work, counts, clock = new_record(WORK), new_record(COUNTS), new_clock()
        while True:
            wind(clock)
            status = _grow(self.view, self.state, work, counts, _me(), target, limit, nanoseconds, clock)
            if status == GROW:
                self.enlarge(self.version)
            elif status != PAUSED:
                return int(counts["expanded"][0])

    def read(self) -> None:
        """Set the goals and read the log to its end, and nothing more."""
        memo, total = self.state.memo, int(self._changes.view.total[0])
        while not memo["begun"][0] or memo["read"][0] != total or memo["goals"][0] != len(self.state.goals):
            self.grow(0)
        self.grow(0)

    def aim(self, goals: np.ndarray, costs: np.ndarray) -> None:
        """Forget everything, in constant time, and begin anew from other goals."""
        self._alone(self._aim, goals, costs)

    def _aim(self, goals: np.ndarray, costs: np.ndarray) -> None:
        state = self.state
        if int(costs.max()) >> self.view.shift >= _WIDE and isinstance(state.queue, BucketQueue):
            queue, doubts = self._queues(costs)
            state = state._replace(queue=queue, doubts=doubts)
        state.memo["begun"] = 0
        self._exchange(state._replace(goals=goals, costs=costs))

    @property
    def version(self) -> int:
        """How often an array of ``state`` has been exchanged for another."""
        return int(self.state.memo["version"][0])

    @property
    def done(self) -> bool:
        """Whether every distance is final, in the world as it is now."""
        memo = self.state.memo
        return bool(
            memo["begun"][0]
            and memo["read"][0] == self._changes.view.total[0]
            and memo["goals"][0] == len(self.state.goals)
            and memo["bound"][0] == INFINITE
            and memo["raised"][0] == 0
        )

    @property
    def empty(self) -> bool:
        """Whether nothing is known yet."""
        return not (self.state.memo["begun"][0] and self.state.memo["states"][0])

    def enlarge(self, version: int) -> tuple[Field, int]:
        """Make room, unless someone has made it since that version. Returns the state and version that there are."""
        return self._alone(self._enlarge, version)

    def current(self) -> tuple[Field, int]:
        """The state, and its version."""
        return self._alone(lambda: (self.state, self.version))

    def _enlarge(self, version: int) -> tuple[Field, int]:
        if self.version == version:
            # While it is not begun: an interrupt that comes in the middle makes the field begin anew, and nothing else.
            memo = self.state.memo
            begun = int(memo["begun"][0])
            memo["begun"] = 0
            self._exchange(self._roomier(begun))
            memo["begun"] = begun
        return self.state, self.version

    def _exchange(self, state: Field) -> None:
        state.memo["version"] += 1
        self.state = state

    def _roomier(self, begun: int) -> Field:
        state = self.state
        if not begun and state.table.stamp[0] >= STAMP_MAX:
            return state._replace(table=DenseTable(reserved(self._states), np.zeros(1, np.int64)))
        queue, doubts = state.queue, state.doubts
        if isinstance(queue, BucketQueue) and isinstance(doubts, BucketQueue):
            entries = len(queue.pool)
            if int(queue.saved[4]) + 2 * arcs_in(self.view) <= entries:
                # There is room for what an entry of the log can bring, more than any other piece of work: it is keys
                # that are missing. There are as many for the doubts: no key is there that was not here.
                keys = 2 * len(queue.heads)
                queue, doubts = (one._replace(heads=_longer(one, keys)) for one in (queue, doubts))
                return state._replace(queue=queue, doubts=doubts)
            larger: NamedTuple = _new_buckets(len(queue.heads), 2 * entries)
        else:
            larger = _new_heap(2 * len(queue.keys))
        state.memo["open"] = _refill(self.view, state, larger)
        return state._replace(queue=larger)

    # --- reading ----------------------------------------------------------------------------------------------

    def steps(self, states: np.ndarray, following: np.ndarray) -> None:
        """Write where each state leads into ``following``, where that is -1; see ``distance_field.downhill``."""
        self._alone(_steps, self.view, self.state, states, following)

    def distances(self, states: np.ndarray) -> np.ndarray:
        """The final distance of each of some states in whole units, INFINITE if there is no way, -1 if not known."""
        found = np.empty(len(states), np.int64)
        self._alone(_distances, self.state, states, found)
        return found

    def all_distances(self, unit: float, offset: int) -> np.ndarray:
        """The distance of every state in the user's units: infinity if there is no way, NaN if it is not known."""
        found = np.empty(self._states)
        self._alone(_all_distances, self.state, found, unit, offset)
        return found

    def way_from(self, s: int) -> tuple[np.ndarray, int]:
        """The states of the way down from ``s``, without it, and what ended it."""
        size = 256
        while True:
            path = np.empty(size, np.int64)
            count, end = self._alone(downhill_from, self.view, self.state, s, path)
            if end < 0:
                return path[:count], int(end)
            size *= 2

    def _alone(self, function: Any, *arguments: Any) -> Any:
        lock, me, clock = self.state.lock, _me(), new_clock()
        try:
            while not _hold(lock, me, clock):
                pass  # an interrupt may come here
            return function(*arguments)
        finally:
            _release(lock, me)

    def memory_bytes(self) -> int:
        """Bytes of the states held and of the open list."""
        queue = self.state.queue
        entries = 8 * int(queue.saved[4]) if isinstance(queue, BucketQueue) else 16 * int(queue.saved[1])
        return 8 * int(self.state.memo["states"][0]) + entries


def _new_buckets(keys: int, entries: int) -> BucketQueue:
    return BucketQueue(reserved(keys), reserved(entries), np.zeros(5, np.int64))


def _new_heap(entries: int) -> HeapQueue:
    return HeapQueue(reserved(entries), reserved(entries), np.zeros(5, np.int64))


def _packed(queue: Any) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """What is in use of an open list."""
    if isinstance(queue, BucketQueue):
        heads = queue.heads[int(queue.saved[1]) : int(queue.saved[2]) + 1]
        return len(queue.heads), heads.copy(), queue.pool[: int(queue.saved[4])].copy(), queue.saved
    used = int(queue.saved[1])
    return 0, queue.keys[:used].copy(), queue.items[:used].copy(), queue.saved


def _unpacked(kept: tuple[int, np.ndarray, np.ndarray, np.ndarray], entries: int) -> NamedTuple:
    keys, first, second, saved = kept
    entries = max(entries, len(second))
    queue: Any = _new_buckets(keys, entries) if keys else _new_heap(entries)
    begin = int(saved[1]) if keys else 0
    queue[0][begin : begin + len(first)] = first
    queue[1][: len(second)] = second
    queue.saved[:] = saved
    return queue


def _longer(queue: BucketQueue, keys: int) -> np.ndarray:
    heads = reserved(keys)
    used = slice(int(queue.saved[1]), int(queue.saved[2]) + 1)
    heads[used] = queue.heads[used]
    return heads


# --- forks ----------------------------------------------------------------------------------------------------------

_fields: WeakSet[SharedField] = WeakSet()


def _after_fork_in_child() -> None:
    """A thread that was at work does not exist here: what it left half-done is begun anew."""
    for field in list(_fields):
        if field.state.lock[0]:
            field.state.memo["begun"] = 0
            field.state.lock[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
