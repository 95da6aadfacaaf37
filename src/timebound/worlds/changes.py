"""Worlds that change: the log of edits, who may edit when, edits from other threads, and changes on a schedule."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..errors import SpecError, WorldError, at_least
from ..kernels.edits import LogView
from ..words import shown

__all__ = ["ChangeLog", "RandomChanges", "Schedule"]

RING = 1 << 20

Arc = tuple[Any, Any, int]


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

    def __init__(self, arcs: Callable[[int], list[Arc]]) -> None:
        # Only the way to read an entry is kept: a log that held its world would keep it from being freed.
        self._arcs = arcs
        self.view = LogView(np.zeros(RING, np.int64), np.zeros(1, np.int64))
        self.edited = np.zeros(2, np.int64)  # edits made, and those that wait for a tick to end; kernels read both
        self._turn = threading.Condition()
        self._searching = 0
        self._catching_up = threading.Lock()
        self._queue: deque[Callable[[], object]] = deque()

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

    def enter(self) -> None:
        """A search begins. Edits that wait go first, so that busy agents cannot keep them out."""
        with self._turn:
            while self.edited[1] > len(self._queue):
                self._turn.wait()
            self._searching += 1

    def leave(self) -> None:
        """The search pauses."""
        with self._turn:
            self._searching -= 1
            self._turn.notify_all()

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Waits until no search runs (they stop at the end of their tick), and keeps others out."""
        with self._turn:
            self.edited[1] += 1
            try:
                while self._searching:
                    self._turn.wait()
                yield
            finally:
                self.edited[1] -= 1
                self._turn.notify_all()

    @contextmanager
    def books(self) -> Iterator[None]:
        """For a moment nobody else edits, posts or begins a search; searches under way go on."""
        with self._turn:
            yield

    # --- edits that must not wait -----------------------------------------------------------------------------

    def post(self, edit: Callable[[], object]) -> None:
        """Leave an edit for the next tick: whoever steps an agent in this world makes it first."""
        with self._turn:
            self._queue.append(edit)
            self.edited[1] += 1

    def catch_up(self) -> int:
        """Make the edits that were posted. Returns how many."""
        made = 0
        while self._queue:
            with self._catching_up:  # one at a time, in the order they were posted, whoever makes them
                with self._turn:
                    if not self._queue:
                        break
                    edit = self._queue.popleft()
                    self.edited[1] -= 1
                edit()
                made += 1
        return made


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
