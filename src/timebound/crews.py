"""Agents of a fleet that are served together: those who share compiled code, and those who share a field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .fields import DistanceField
from .hands import undisturbed
from .kernels import frames, loop
from .kernels.native import Kind, Shelf, kind_of
from .kernels.turns import fitting_entrance, in_need_entrance, starters_entrance

__all__ = ["NOBODY", "Crew", "Herd"]

NOBODY = 1 << 62  # when nobody was served: after every tick

_ANEW = ("views", "shelf", "rows", "told", "tick", "relocate", "paces", "_chosen")  # not saved, but made anew


class Crew:
    """Agents that share compiled code: what they hold is on one shelf, and they take turns in one order."""

    def __init__(self, number: int, view: Any, kind: Kind, least: int, walks: bool) -> None:
        self.number = number
        self.least = least  # expansions that each of them asks for in a tick
        self.walks = walks  # whether those who have no turn can walk on along what they have planned
        self.view = view
        self._open_shelf(kind, 16)
        self.free = list(range(15, -1, -1))  # seats
        self.order = np.zeros(16, np.int64)  # agents, in the order of their turns
        self.members = 0  # of ``order``; some may have left since
        self._listed: set[int] = set()  # the same, by name
        self.active = 0
        self.resting = 0
        self.cursor = 0  # whose turn is next
        self.waiting = self.turns = 0  # how many have not had their turn in this tick, and how many have one
        self.share = least  # expansions that each may make in it, times its weight
        self._start = 0  # who is first of those who are in need of a turn
        self._chosen = np.zeros(0, np.int64)
        self.weights = 0  # of those on their way
        self.paces = [0.0, 0.0]  # nanoseconds of a thread for one of them, lately: to walk on, and for a turn

    def _open_shelf(self, kind: Kind, rows: int) -> None:
        self.views = Shelf(kind_of(self.view))
        self.views.put(0, self.view)
        self.shelf = Shelf(kind, rows)
        self._lay_out()
        # All that they may need is compiled now, or loaded: not in a frame.
        self.tick = frames.ticker(self.views.kind, kind)
        self.relocate = loop.relocator(self.views.kind, kind)
        turns = (fitting_entrance, in_need_entrance, starters_entrance)
        for entrance in turns[: 3 if self.walks else 1]:
            entrance()

    def prepare(self, kind: Kind) -> None:
        """The same for agents of another kind: some may become such in the middle of a tick."""
        frames.ticker(self.views.kind, kind)
        loop.relocator(self.views.kind, kind)

    def _lay_out(self) -> None:
        """What kernels that serve a crew are told first."""
        self.rows = self.views.kind.token, self.shelf.kind.token, self.views.rows, self.shelf.rows
        self.told: list[tuple[Any, ...]] = []  # all that ``tick_each`` was told last, by each thread

    def __getstate__(self) -> dict[str, Any]:
        """Without what is on the shelves, for addresses are those of a process; as is the pace."""
        state = {name: value for name, value in self.__dict__.items() if name not in _ANEW}
        return {**state, "shelf": (self.shelf.kind, len(self.shelf.rows))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.paces = [0.0, 0.0]
        self._chosen = np.zeros(0, np.int64)
        self._open_shelf(*state["shelf"])

    @property
    def carry(self) -> Callable[..., None]:
        """``frames.carry_out`` for them."""
        return frames.carrier(self.views.kind, self.shelf.kind)

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

    def begin(self, share: int, limit: int) -> None:
        """A tick begins: nobody has had a turn. For its weight, each may expand so many states, or the crew's least."""
        self.waiting = self.turns = self.members
        self.share = min(max(share, self.least), limit)

    def served(self, some: int) -> None:
        """So many more have had their turn in this tick."""
        self.waiting -= some
        self.cursor = (self.cursor + some) % self.turns

    def ages(self, episodes: Any, number: int) -> np.ndarray:
        """When each of those who wait was last served, in their order; NOBODY for who rests, has left or was served."""
        agents = np.roll(self.order[: self.turns], -self.cursor)[: self.waiting]
        served = episodes["served"][agents]
        here = (episodes["crew"][agents] == self.number) & (episodes["status"][agents] == loop.ACTIVE)
        return np.where(here & (served != number), served, NOBODY)

    def fitting(self, part: int, limit: int, some: int, episodes: Any, number: int) -> int:
        """How many of the next ones, ``some`` at most, such a part of a frame is enough for.

        That is so whatever they need of their shares; who rests, has left or was served needs none. Turns that come
        after the end of the order are left for another call.
        """
        last = min(self.cursor + some, self.turns)
        return fitting_entrance()(episodes, self.order, self.cursor, last, self.number, number, self.share, limit, part)

    def in_need(self, limit: int, episodes: Any, number: int, wants: np.ndarray) -> int:
        """How many shares those have who are in need of a turn."""
        weights = in_need_entrance()(episodes, self.order, wants, self.members, self.number, number, limit)
        return int(weights)

    def starters(
        self, share: int, room: int, most: int, limit: int, episodes: Any, number: int, wants: np.ndarray
    ) -> np.ndarray:
        """Who is in need of a turn and has one before the others: as many as there is room for, ``most`` at best.

        If it is not enough for all, others are first the next time.
        """
        if len(self._chosen) < 2 + self.members:
            self._chosen = np.zeros(2 + len(self.order), np.int64)
        chosen, begin = self._chosen, self._start if self._start < self.members else 0
        who = episodes, self.order, wants, begin, self.members, self.number, number
        starters_entrance()(*who, share, limit, room, most, chosen)
        self._start, count = chosen[:2].tolist()
        return chosen[2 : 2 + count]

    def heaviest(self, episodes: Any) -> int:
        """The most shares that one of them has."""
        if self.weights == self.active:
            return 1
        agents = self.order[: self.members]
        here = (episodes["crew"][agents] == self.number) & (episodes["status"][agents] == loop.ACTIVE)
        return int(episodes["weight"][agents[here]].max(initial=1))

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


class Herd:
    """Agents with one goal that share one field (``spec="field"``): each tick tells all of them where to step."""

    def __init__(self, number: int, goal: int, field: DistanceField) -> None:
        self.number = number  # below that of any crew
        self.goal = goal
        self.field = field
        self.resting = 0
        self.weights = 0  # of those on their way
        self.credit = 0  # expansions saved up, in fixed point
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
        """So many more of them, who have such a part of the frame, rest."""
        self.resting += more
        self.weights -= weight

    def join(self, k: int, weight: int) -> None:
        self.weights += weight
        self._members[k] = None
        self._listed = None

    def leave(self, k: int, weight: int) -> None:
        self.weights -= weight
        del self._members[k]
        self._listed = None

    @property
    def members(self) -> np.ndarray:
        """The agents, in the order in which they came."""
        if self._listed is None:
            self._listed = np.fromiter(self._members, np.int64, len(self._members))
        return self._listed
