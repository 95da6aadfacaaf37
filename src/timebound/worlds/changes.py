"""The log of edits: which arcs have become dearer or cheaper, for algorithms that repair their plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import SpecError
from ..kernels.edits import LogView

__all__ = ["ChangeLog"]

RING = 1 << 16


class ChangeLog:
    """The last 65,536 changed arcs of a world. Blocking an arc makes it dearer, opening it cheaper.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1]])
    >>> before = world.changes.count
    >>> world.block((0, 1))
    1
    >>> for change in world.changes.since(before):
    ...     print(*change)
    (0, 0) (0, 1) 1
    (0, 1) (0, 2) 1
    (0, 1) (0, 0) 1
    (0, 2) (0, 1) 1
    """

    def __init__(self, name: Callable[[int], Any]) -> None:
        # Only the way to name a state is kept: a log that held its world would keep it from being freed.
        self._name = name
        self.view = LogView(
            np.zeros(RING, np.int64), np.zeros(RING, np.int64), np.zeros(RING, np.int8), np.zeros(1, np.int64)
        )

    @property
    def count(self) -> int:
        """How many arc changes there have been; pass it to ``since`` later."""
        return int(self.view.total[0])

    def since(self, count: int) -> list[tuple[Any, Any, int]] | None:
        """(from, to, +1 dearer or -1 cheaper) for each change after ``count``; None if that is too long ago."""
        if not 0 <= count <= self.count:
            raise SpecError(f"count is what `changes.count` said before, from 0 to {self.count}, not {count!r}")
        if self.count - count > RING:
            return None
        found = []
        for k in range(count, self.count):
            k %= RING
            source, target = (self._name(int(side[k])) for side in (self.view.source, self.view.target))
            found.append((source, target, int(self.view.sign[k])))
        return found
