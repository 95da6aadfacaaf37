"""Worlds that change: the log of edits, who may edit when, edits from other threads, and changes on a schedule."""

from __future__ import annotations

import copyreg
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary, ref

import numpy as np

from ..errors import SpecError, WorldError, at_least
from ..kernels.edits import LogView
from ..kernels.memory import Piece, reserved
from ..kernels.saving import Savable
from ..kernels.views import GraphView, GridView, PuzzleView, TerrainView
from ..text import shown

__all__ = ["ChangeLog", "RandomChanges", "SavedWorld", "Schedule", "me"]

RING = 1 << 20
# Seconds that one waits at a time. A Ctrl-C that comes just before the main thread falls asleep would not wake it.
_LISTENS = 0.05

Arc = tuple[Any, Any, int]

_process = 0  # differs between a process and those forked from it, in bits above those of any thread's number


def me() -> int:
    """The number of this thread; unlike that of the system, no thread of a forked process has it too."""
    return threading.get_ident() + _process


class ChangeLog:
    """What has been edited, and the door to the world: many searches at a time, or one edit.

    Blocking an arc makes it dearer, opening it cheaper. The last million edited cells (or arcs of a graph) are kept.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1]])
    >>> before = world.changes.count
    >>> world.block((0, 1))
    1
    >>> for change in world.changes.since(before):
    ...     print(*change)
    (0, 1) (0, 2) 1
    (0, 2) (0, 1) 1
    (0, 1) (0, 0) 1
    (0, 0) (0, 1) 1
    """

    def __init__(self, arcs: Callable[[int], list[Arc]], world: Any = None) -> None:
        # Only the way to read an entry is kept: a log that held its world would keep it from being freed.
        self._arcs = arcs
        self._world = None if world is None else ref(world)
        # What is never written takes no memory; and no huge page is zeroed for the first edit.
        self._keep_books(LogView(reserved(RING), np.zeros(1, np.int64)), np.zeros(2, np.int64))
        # Who is inside: kept by name and not counted, so that whoever is interrupted on the way in or out does no harm.
        self._searching: set[tuple[int, int]] = set()
        self._editors: set[int] = set()
        self._queue: deque[Callable[[], object]] = deque()
        self._making = False  # whether posted edits are being made
        self._hang_door()
        with _forking:
            _logs.add(self)

    def _keep_books(self, view: LogView, edited: np.ndarray) -> None:
        self.view = view
        self.edited = edited  # edits made, and those that wait for a tick to end; kernels read both
        _homes[id(view.total)] = _homes[id(edited)] = self

    # --- saving -----------------------------------------------------------------------------------------------

    @property
    def world(self) -> Any:
        """Whose log it is; None if it is nobody's, or that world is no more."""
        world = self._world() if self._world is not None else None
        return world if getattr(world, "changes", None) is self else None

    def __reduce__(self) -> tuple[Any, ...]:
        """It is found again at its world."""
        world = self.world
        return (_log_of, (world,)) if world is not None else (ChangeLog.unpacked, (None, self.packed()))

    def packed(self) -> tuple[Any, ...]:
        """What is saved: the entries that are there, how many there have been, and the edits that wait for a tick."""
        entries, total = self.view.entries, int(self.view.total[0])
        # A world whose log does not say what has changed counts entries, and writes none.
        used = np.s_[:total] if total < len(entries) else np.flatnonzero(entries)
        return self._arcs, self.edited, self.view.total, Piece(entries, used), list(self._queue)

    @classmethod
    def unpacked(cls, world: Any, packed: tuple[Any, ...]) -> ChangeLog:
        """The log that was saved. Nobody is inside."""
        arcs, edited, total, entries, queue = packed
        log = cls(arcs, world)
        log._keep_books(LogView(entries, total), edited)
        log._queue.extend(queue)
        log._tell()
        return log

    def _hang_door(self) -> None:
        self._door = threading.RLock()
        self._turn = threading.Condition(self._door)

    @property
    def count(self) -> int:
        """How many entries there have been; pass it to ``since`` later."""
        return int(self.view.total[0])

    def since(self, count: int) -> list[Arc] | None:
        """(from, to, +1 dearer or -1 cheaper) for each arc changed after ``count``; None if that is too long ago."""
        if not isinstance(count, (int, np.integer)) or not 0 <= count <= self.count:
            raise SpecError(f"count is what `changes.count` said before, from 0 to {self.count}, not {shown(count)}")
        ring = len(self.view.entries)
        if self.count - count > ring:
            return None
        return [arc for k in range(count, self.count) for arc in self._arcs(int(self.view.entries[k % ring]))]

    # --- one edit or many searches ----------------------------------------------------------------------------

    @staticmethod
    def name(who: object) -> tuple[int, int]:
        """What a search of this thread is known by."""
        return me(), id(who)

    def enter(self, mine: tuple[int, int]) -> None:
        """A search begins, of that name. Edits that wait go first, so that busy agents cannot keep them out."""
        # Who searches says so before it looks for editors, and who edits before it looks for searches: so one of two
        # sees the other, and the door is for those who must wait.
        self._searching.add(mine)
        if self._editors and self._editors != {mine[0]} and not self._is_inside(mine):
            self._searching.discard(mine)
            with self._door:
                self._turn.notify_all()
                while self._editors and self._editors != {mine[0]}:
                    self._turn.wait(_LISTENS)
                self._searching.add(mine)

    def _is_inside(self, mine: tuple[int, int]) -> bool:
        """Whether the thread is inside already, as a fleet is that asks a field: then editors wait for it."""
        return any(other[0] == mine[0] and other != mine for other in self._searching.copy())

    def leave(self, mine: tuple[int, int]) -> None:
        """The search pauses. Does no harm where none had begun."""
        self._searching.discard(mine)
        if self._editors:
            with self._door:
                self._turn.notify_all()

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Waits until no search runs (they stop at the end of their tick), and keeps others out.

        What was posted before is made first: edits are made in the order of the calls.
        """
        with self._alone():
            self._make_posted()
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        thread, door, turn = me(), self._door, self._turn
        with door:
            within = thread in self._editors  # one edit may be part of another, and the outer one ends last
            try:
                self._editors.add(thread)
                self._tell()
                # A search of this very thread is not inside a kernel: it was interrupted, or waits for us.
                while any(other != thread for other, _ in self._searching.copy()):  # others come and go meanwhile
                    turn.wait(_LISTENS)
                yield
            finally:
                if not within:
                    self._editors.discard(thread)
                    self._tell()
                    turn.notify_all()

    def _tell(self) -> None:
        """Kernels look here whether somebody waits."""
        self.edited[1] = len(self._editors) + len(self._queue)

    @contextmanager
    def books(self) -> Iterator[None]:
        """For a moment nobody else edits or posts; searches go on."""
        with self._door:
            yield

    # --- edits that must not wait -----------------------------------------------------------------------------

    def post(self, edit: Callable[[], object]) -> None:
        """Leave an edit for the next tick: whoever steps an agent in this world, or edits it, makes it first."""
        with self._door:
            self._queue.append(edit)
            self._tell()

    def catch_up(self) -> int:
        """Make the edits that were posted. Returns how many."""
        if not self._queue:
            return 0
        with self._alone():
            return self._make_posted()

    def _make_posted(self) -> int:
        """All in one turn, in the order they were posted: none can take what another has reserved."""
        if self._making:
            return 0
        made = 0
        self._making = True
        try:
            while self._queue:
                try:
                    self._queue[0]()
                except Exception:
                    self._queue.popleft()  # what cannot be done is not tried again
                    raise
                self._queue.popleft()  # not before it is made, lest an interrupt lose it
                made += 1
        finally:
            self._making = False
        return made


# --- parts of a world that others hold -------------------------------------------------------------------------------
# An agent holds the log of its world, and what kernels see of it. Neither is saved with the agent: they are found again
# at the world, which may be saved beside it, or be there already.

_homes: WeakValueDictionary[int, ChangeLog] = WeakValueDictionary()  # by the arrays of which each log has its own


def _log_of(world: Any) -> ChangeLog:
    return world.changes


def _entries_of(log: ChangeLog) -> LogView:
    return log.view


def _reduced_log(log: LogView) -> tuple[Any, ...]:
    home = _homes.get(id(log.total))
    mine = home is not None and home.view.total is log.total  # another array may lie where one was
    return (_entries_of, (home,)) if mine else (LogView, tuple(log))


def _view_like(world: Any, others: dict[str, Any]) -> Any:
    return world.view._replace(**others) if others else world.view


def _reduced_view(view: Any) -> tuple[Any, ...]:
    home = _homes.get(id(view.edited))
    world = home.world if home is not None and home.edited is view.edited else None
    if world is None or type(world.view) is not type(view):
        return type(view), tuple(view)
    # Where estimates are given for each goal, a view differs from that of its world in a field.
    pairs = zip(view._fields, view, world.view, strict=True)
    others = {name: mine for name, mine, its in pairs if mine is not its and (_is_array(mine) or mine != its)}
    return _view_like, (world, others)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


copyreg.pickle(LogView, _reduced_log)
for _kind in (GridView, TerrainView, GraphView, PuzzleView):
    copyreg.pickle(_kind, _reduced_view)


class SavedWorld(Savable):
    """A world as it is saved: without its pool of workspaces, and with its log."""

    view: Any
    changes: ChangeLog
    spare: Any

    def __copy__(self) -> Any:
        """Two worlds share nothing that can be edited."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "changes": self.changes.packed(), "view": (type(self.view), tuple(self.view))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, parts = state["view"]
        self.__dict__.update(state)
        self.view = kind(*parts)
        self.changes = ChangeLog.unpacked(self, state["changes"])


# --- forks ----------------------------------------------------------------------------------------------------------
# A forked process has one thread and copies of everything, locks included. So nobody edits at that moment, and the
# copies of the doors are made anew: the searches of the other threads do not exist there.

_forking = threading.RLock()
_logs: WeakSet[ChangeLog] = WeakSet()
_held: list[ChangeLog] = []


def _before_fork() -> None:
    _forking.acquire()
    _held[:] = _logs
    for log in _held:
        log._door.acquire()


def _after_fork() -> None:
    for log in _held:
        log._door.release()
    _held.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking, _process
    _forking = threading.RLock()
    _process += 1 << 64
    for log in _held:
        log._hang_door()
        log._searching.clear()
        log._editors.clear()
        log._tell()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


class Schedule(Protocol):
    """Changes at set times: after every ``every`` ticks ``change`` is called."""

    every: int

    def begin(self, world: Any) -> None:
        """The episode begins in ``world``."""

    def change(self, world: Any, keep: Sequence[Any]) -> None:
        """Edit the world; ``keep`` holds the agent's place and the goal, which must stay as they are."""


class RandomChanges:
    """The change rates of the papers: after every ten ticks, ``rate`` / 2 percent of the cells flip, each way.

    Each time, that share of the cells that were free at first is blocked, and the same share of those that were walls
    is opened; what an earlier change flipped is put back. So the map stays as dense as it was. The agent's cell and
    the goal are never blocked.

    >>> import numpy as np, timebound as tb
    >>> world = tb.Grid(np.ones((20, 20)))
    >>> changes = tb.RandomChanges(rate=10, seed=1)
    >>> tb.solve(world, (0, 0), (19, 19), "rtb-wa*", budget=5, changes=changes).status
    'reached'
    >>> world.free_count  # the episode had a copy of its own
    400
    """

    def __init__(self, rate: float, *, every: int = 10, seed: int = 0) -> None:
        if not isinstance(rate, (int, float, np.number)) or not 0 < rate <= 100:
            raise SpecError(f"a change rate is a percentage above 0, up to 100, not {shown(rate)}")
        self.rate = float(rate)
        self.every = at_least(1, every, "changes come after a whole number of ticks")
        self.seed = at_least(0, seed, "a seed is a whole number")

    def begin(self, world: Any) -> None:
        """Remember the map as it is at first, and begin the same random numbers again."""
        if not hasattr(world, "free"):
            raise WorldError("random changes are for grids; edit a graph between steps instead")
        self._random = np.random.default_rng(self.seed)
        self._was_free = world.free.ravel()
        self._free, self._walls = np.flatnonzero(self._was_free), np.flatnonzero(~self._was_free)
        self._marks = np.zeros(len(self._was_free), np.uint8)  # 1 where a cell is not as it was at first
        self._flipped = np.empty(0, np.int64)  # the same as a list

    def change(self, world: Any, keep: Sequence[Any]) -> None:
        """Put back what was flipped, and flip other cells. Costs what it flips, not the size of the map."""
        kept = np.array([row * world.shape[1] + col for row, col in keep])
        shut, opened = self._draw(self._free), self._draw(self._walls)
        # An agent that stands in what was a wall stays there.
        stays = np.setdiff1d(kept[self._marks[kept] == 1], opened)
        wanted = np.concatenate([shut[~np.isin(shut, kept)], opened, stays])
        self._marks[wanted] |= 2
        back = self._flipped[self._marks[self._flipped] == 1]
        forth = wanted[self._marks[wanted] == 2]
        self._marks[self._flipped] = 0
        self._marks[wanted] = 1
        self._flipped = wanted
        turned = np.concatenate([back, forth])
        points = np.stack(np.divmod(turned, world.shape[1]), axis=1)
        free = self._was_free[turned] ^ (np.arange(len(turned)) < len(back))  # as they are now
        world.block(points[free])
        world.unblock(points[~free])

    def _draw(self, cells: np.ndarray) -> np.ndarray:
        count = round(len(cells) * self.rate / 200)
        return cells[self._random.choice(len(cells), count, replace=False, shuffle=False)] if count else cells[:0]
