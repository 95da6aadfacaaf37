"""The log of edits: which arcs have become dearer or cheaper, for algorithms that repair their plans."""

from __future__ import annotations

import numpy as np

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

    def __init__(self, world: object) -> None:
        self._world = world
        self.view = LogView(
            np.zeros(RING, np.int64), np.zeros(RING, np.int64), np.zeros(RING, np.int8), np.zeros(1, np.int64)
        )

    @property
    def count(self) -> int:
        """How many arc changes there have been; pass it to ``since`` later."""
        return int(self.view.total[0])

    def since(self, count: int) -> list[tuple[object, object, int]] | None:
        """(from, to, +1 dearer or -1 cheaper) for each change after ``count``; None if that is too long ago."""
        if self.count - count > RING:
            return None
        found = []
        for k in range(count, self.count):
            k %= RING
            source, target = (self._world.point_of(int(side[k])) for side in (self.view.source, self.view.target))  # type: ignore[attr-defined]
            found.append((source, target, int(self.view.sign[k])))
        return found
