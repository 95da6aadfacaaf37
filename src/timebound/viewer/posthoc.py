"""Search traces for Posthoc, the visualiser, in version 1.4.0 of its format.

An event has a node's ``id`` and ``pId``, that of its parent. Nodes of one search are told from those of the next by
the search's number, so that a path is followed within its own search. A generated node stays until it is expanded;
expanded ones stay. What a search does among regions cannot be drawn on the map and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..atomic import replaced
from ..errors import Error
from ..kernels.telling import (
    BACK,
    BEGUN,
    EXPANDED,
    GENERATED,
    LEARNED,
    LEVEL,
    MOVED,
    PARENT,
    STATE,
    TICK,
    WHAT,
    to_user,
)
from ..trace import Trace
from ..worlds.grid import Grid

__all__ = ["ENDING", "MOST", "Posthoc", "writing"]

ENDING = ".trace.json"
MOST = 500_000  # events: more than anybody steps through, and a file of some 50 MB

_VIEWS = {
    "main": [
        {
            "$": "rect",
            "$if": "${{ $.type != 'agent' }}",
            "x": "${{ $.x }}",
            "y": "${{ $.y }}",
            "width": 1,
            "height": 1,
            "fill": "${{ color[$.type] }}",
            "clear": "${{ $.type === 'generating' ? 'closing' : $.type === 'updating' }}",
        },
        {
            "$": "circle",
            "$if": "${{ $.type == 'agent' }}",
            "x": "${{ $.x + 0.5 }}",
            "y": "${{ $.y + 0.5 }}",
            "radius": 0.4,
            "fill": "${{ theme.accent }}",
            "clear": "agent",
        },
    ]
}
_PIVOT = {"x": "${{ $.x + 0.5 }}", "y": "${{ $.y + 0.5 }}", "scale": 1}


class Posthoc:
    """A file that is written event by event, as they come: nothing is held but the parents within one search."""

    def __init__(self, file: IO[str], world: Grid, start: Any, goal: Any, most: int = MOST) -> None:
        self._file, self._world, self._most = file, world, most
        self._search = 0
        self._parents: dict[int, int] = {}
        self.written = 0
        self.left_out = 0
        file.write(json.dumps({"version": "1.4.0", "views": _VIEWS, "pivot": _PIVOT})[:-1] + ', "events": [\n')
        self._write({"type": "source", "id": "start", **self._place(world.place_of(start))})
        self._write({"type": "destination", "id": "goal", **self._place(world.place_of(goal))})

    def take(self, events: np.ndarray) -> None:
        """Events as a ``Trace`` hands them on."""
        g, h = to_user(events, self._world.unit)
        for row, cost, estimate in zip(events.tolist(), g.tolist(), h.tolist(), strict=True):
            made = self._made(row[WHAT], row[STATE], row[PARENT], row[TICK], cost, estimate)
            if made is not None:
                self._write(made)

    def _made(self, what: int, s: int, parent: int, tick: int, g: float, h: float) -> dict[str, Any] | None:
        if what >> LEVEL or s < 0:
            return None
        if what == BEGUN:
            self._search += 1
            self._parents.clear()
        if what in (BEGUN, GENERATED):
            self._parents[s] = parent
            kind = "generating"
        elif what == EXPANDED:
            kind, parent = "closing", self._parents.get(s, -1)
        elif what == LEARNED:
            kind, parent = "updating", -1
            g = float("nan")
        elif what in (MOVED, BACK):
            return {"type": "agent", "id": "agent", **self._place(s), "tick": tick, "back": what == BACK}
        else:
            return None
        event: dict[str, Any] = {"type": kind, "id": f"{self._search}.{s}"}
        if parent >= 0:
            event["pId"] = f"{self._search}.{parent}"
        event |= self._place(s)
        known = {name: round(value, 4) for name, value in (("g", g), ("h", h), ("f", g + h)) if value == value}
        return {**event, **known, "tick": tick}

    def _place(self, s: int) -> dict[str, int]:
        row, col = self._world.point_of(s)
        return {"x": col, "y": row}

    def _write(self, event: dict[str, Any]) -> None:
        if self.written >= self._most:
            self.left_out += 1
            return
        self._file.write((",\n" if self.written else "") + json.dumps(event, allow_nan=False))
        self.written += 1

    def end(self, position: Any, reached: bool) -> None:
        """The search is over, with the agent there."""
        if reached:
            self._write({"type": "end", "id": "end", **self._place(self._world.place_of(position))})
        self._file.write("\n]}\n")


@contextmanager
def writing(path: str | Path, world: Any, start: Any, goal: Any) -> Iterator[tuple[Posthoc, Trace]]:
    """A file, whole or not at all, and the trace that is written into it; call ``end`` when the search is over."""
    if not isinstance(world, Grid):
        raise Error("Posthoc's traces are drawn on grids, and this is none")
    with replaced(path) as beside, open(beside, "w", encoding="utf-8") as file:
        posthoc = Posthoc(file, world, start, goal)
        yield posthoc, Trace(each=posthoc.take)
