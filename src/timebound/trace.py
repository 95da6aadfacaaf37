"""What a search does, as it does it: a stream of events, for whoever wants to look on.

``docs/traces.md`` has the meaning of each; ``kernels/telling.py`` is where they come from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .budget import countable
from .errors import SpecError
from .kernels.telling import (
    BACK,
    BEGUN,
    COLUMNS,
    DROPPED,
    EXPANDED,
    FORGOTTEN,
    GENERATED,
    LEARNED,
    LEVEL,
    LOWERED,
    MOVED,
    PARENT,
    SETTLED,
    STATE,
    SUBGOAL,
    TICK,
    WHAT,
    G,
    new_events,
    to_user,
    watched,
)
from .text import shown
from .worlds.protocol import World

__all__ = ["Event", "Trace"]

_NAMES = {
    BEGUN: "begun",
    GENERATED: "generated",
    EXPANDED: "expanded",
    SETTLED: "settled",
    LEARNED: "learned",
    FORGOTTEN: "forgotten",
    LOWERED: "lowered",
    DROPPED: "dropped",
    MOVED: "moved",
    BACK: "back",
    SUBGOAL: "subgoal",
}
_KEEP = 200_000  # events, of 48 bytes each
_MOST = 100_000_000


class Event(NamedTuple):
    """One thing that a search did.

    ``where`` and ``parent`` are places as the world names them, or None; for an event of a search among regions, whose
    ``level`` is not 0, they are numbers of regions. ``g`` and ``h`` are in the units of the world's costs, or None.
    """

    tick: int
    what: str
    where: Any
    parent: Any
    g: float | None
    h: float | None
    level: int


class Trace:
    """What a search does, event by event; give it to ``solve`` or ``agent`` as ``trace=``.

    It keeps the last ``keep`` events. With ``each``, every batch of new events is handed on instead, as an array whose
    columns ``docs/traces.md`` explains, and which is good until the function returns; nothing is kept. Either way
    memory is bounded, however long the search is.

    >>> import timebound as tb
    >>> trace = tb.Trace()
    >>> result = tb.solve(tb.Grid([[1, 1, 1]]), (0, 0), (0, 2), "a*", trace=trace)
    >>> for event in trace:
    ...     print(event.tick, event.what, event.where, event.parent, event.g, event.h)
    0 begun (0, 0) None 0.0 2.0
    0 expanded (0, 0) None 0.0 None
    0 generated (0, 1) (0, 0) 1.0 1.0
    0 expanded (0, 1) None 1.0 None
    0 generated (0, 2) (0, 1) 2.0 0.0
    1 moved (0, 1) (0, 0) None None
    2 moved (0, 2) (0, 1) None None
    >>> trace.count("expanded") == result.expansions
    True
    """

    def __init__(self, *, keep: int = _KEEP, each: Callable[[np.ndarray], object] | None = None) -> None:
        self._keep = countable("keep, the number of events that are kept,", keep, _MOST)
        if each is not None and not callable(each):
            raise SpecError(f"each is a function that takes an array of events, not {shown(each)}")
        self._each = each
        self._world: World | None = None
        self._batches: deque[np.ndarray] = deque()
        self._held = 0  # events in them
        self._counts = np.zeros(1 << LEVEL, np.int64)  # of all events, by what they are
        self._dropped = 0
        self.lost = 0

    # --- for the agent ------------------------------------------------------------------------------------------------

    def begin(self, world: World) -> None:
        """An agent in this world will tell what it does."""
        if self._world is not None:
            raise SpecError("a trace is of one agent, and this one has been used; make another tb.Trace()")
        if watched(world.view, *new_events(1)) is None:
            raise SpecError(f"a search in {world!r} cannot be traced: its view is from elsewhere")
        self._world = world
        self._events, self._told = new_events()

    def around(self, view: Any) -> Any:
        """The view by which a watched agent sees the world."""
        return watched(view, self._events, self._told)

    def take(self) -> None:
        """Take what has been told since the last call."""
        told = int(self._told[0])
        if told == 0:
            return
        self._told[0] = 0
        room = len(self._events)
        self.lost += max(0, told - room)
        batch = self._events[: min(told, room)]
        what = batch[:, WHAT] & ((1 << LEVEL) - 1)
        self._counts += np.bincount(what, minlength=1 << LEVEL)
        self._dropped += int(batch[what == DROPPED, G].sum())
        if self._each is not None:
            self._each(batch)
            return
        self._batches.append(batch.copy())
        self._held += len(batch)
        while self._held - len(self._batches[0]) >= self._keep:
            self._held -= len(self._batches.popleft())

    # --- for whoever looks on -----------------------------------------------------------------------------------------

    @property
    def world(self) -> World | None:
        """The world that the search is in; None before it has begun."""
        return self._world

    @property
    def events(self) -> np.ndarray:
        """The events that are kept, the oldest first: an array with six columns, see ``docs/traces.md``."""
        kept = np.concatenate(self._batches) if self._batches else np.zeros((0, COLUMNS), np.int64)
        return kept[-self._keep :]

    def __len__(self) -> int:
        return min(self._held, self._keep)

    def __iter__(self) -> Iterator[Event]:
        return self.read(self.events)

    def read(self, events: np.ndarray) -> Iterator[Event]:
        """Events from an array of them, such as ``each`` is given."""
        world = self._world
        if world is None:
            return
        told_g, told_h = to_user(events, world.unit)
        for row, g, h in zip(events.tolist(), told_g.tolist(), told_h.tolist(), strict=True):
            what, level = row[WHAT] & ((1 << LEVEL) - 1), row[WHAT] >> LEVEL
            where, parent = (None if s < 0 else s if level else world.point_of(s) for s in (row[STATE], row[PARENT]))
            number = float(row[G]) if what == DROPPED else None if g != g else g
            yield Event(row[TICK], _NAMES[what], where, parent, number, None if h != h else h, level)

    def count(self, what: str) -> int:
        """How many events of a kind there were in all, whether they are kept or not.

        ``"expanded"`` counts as ``result.expansions`` does: with those ``settled`` while learning, and without those
        that were ``dropped``, because they had to be made anew or only served to choose a depth.
        """
        kinds = {name: kind for kind, name in _NAMES.items()}
        if what not in kinds:
            raise SpecError(f"there are no events {shown(what)}; there are {', '.join(kinds)}")
        if what == "expanded":
            return int(self._counts[EXPANDED] + self._counts[SETTLED]) - self._dropped
        return int(self._counts[kinds[what]])

    def __repr__(self) -> str:
        return f"<Trace, {len(self)} of {int(self._counts.sum())} events kept, {self.lost} lost>"
