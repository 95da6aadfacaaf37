"""The arrays of a search, lent from a pool that each world keeps, so that a query allocates nothing of map size."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .jit import COMPILED, at, kernel
from .queues import BucketQueue, HeapQueue
from .tables import DenseTable, HashedTable, LinkedTable, probe

__all__ = ["Searchable", "Workspace", "enlarged_at_front", "longer", "records", "reindex"]


class Searchable(Protocol):
    """What a world must say so that arrays can be made for it."""

    table: str  # "dense", "linked" or "hashed"
    buckets: bool  # whether costs are even enough for an array of buckets
    states: int  # how many states there are; for a hashed table, how many to reserve room for
    spare: list[Workspace]  # the pool


def records(dtype: np.dtype[Any]) -> Any:
    """One zeroed record: kernels use its fields by name (``record[0].field``), Python as ``record["field"][0]``."""
    record = np.zeros(1, dtype=dtype)
    # Plain Python cannot read fields by attribute without this view; compiled code can, and the view is slow to use.
    return record if COMPILED else record.view(np.recarray)


def enlarged_at_front(route: np.ndarray, plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A route twice as long with its content at the end, and the plan moved along with it."""
    larger = np.empty(2 * len(route), dtype=route.dtype)
    larger[len(route) :] = route
    return larger, plan + len(route)


def longer(array: np.ndarray, size: int) -> np.ndarray:
    """The array with room for ``size`` elements at its end."""
    larger = np.empty(size, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def reindex(table, used):
    """Fill an empty index again after the table has been enlarged."""
    for slot in range(used):
        table.places[at(probe(table, table.states[slot]))] = (table.stamp[0] << 32) | slot


class Workspace:
    """A node table and an open list."""

    def __init__(self, world: Searchable) -> None:
        self._pool = world.spare
        n = world.states
        one = np.zeros(1, dtype=np.int64)
        self.table: NamedTuple
        if world.table == "dense":
            self.table = DenseTable(np.zeros(n, np.int64), one)
        elif world.table == "linked":
            self.table = LinkedTable(np.zeros(n, np.int64), np.empty(n, np.int32), one)
        else:
            index = np.zeros(1 << (2 * n - 1).bit_length(), np.int64)
            self.table = HashedTable(
                np.zeros(n, np.int64),
                np.empty(n, np.int32),
                np.empty(n, np.int64),
                index,
                np.zeros(2, np.int64),
            )
        # The queue's arrays cover what most searches need; memory that is never touched is never committed.
        entries = max(4096, n // 8)
        saved = np.zeros(5, np.int64)
        self.queue: NamedTuple
        if world.buckets:
            self.queue = BucketQueue(np.empty(1 << 14, np.int64), np.empty(entries, np.int64), saved)
        else:
            self.queue = HeapQueue(np.empty(entries, np.int64), np.empty(entries, np.int64), saved)

    @classmethod
    def of(cls, world: Searchable) -> Workspace:
        """A workspace from the world's pool, or a new one."""
        try:
            while True:
                spare = world.spare.pop()
                # An edit of costs may have turned a world from buckets to heaps.
                if isinstance(spare.queue, BucketQueue) == world.buckets:
                    return spare
        except IndexError:
            return cls(world)

    def release(self) -> None:
        """Put the workspace back into the pool."""
        self._pool.append(self)

    def enlarge(self) -> None:
        """Double the fullest array. A kernel that still lacks room asks again."""
        queue, table = self.queue, self.table
        if isinstance(table, HashedTable) and table.stamp[1] > len(table.states) // 2:
            size = 2 * len(table.states)
            self.table = table._replace(
                words=longer(table.words, size),
                parents=longer(table.parents, size),
                states=longer(table.states, size),
                places=np.zeros(2 * len(table.places), np.int64),
            )
            reindex(self.table, int(table.stamp[1]))
        elif isinstance(queue, HeapQueue):
            size = 2 * len(queue.keys)
            self.queue = queue._replace(keys=longer(queue.keys, size), items=longer(queue.items, size))
        elif isinstance(queue, BucketQueue) and queue.saved[4] > len(queue.pool) // 2:
            self.queue = queue._replace(pool=longer(queue.pool, 2 * len(queue.pool)))
        elif isinstance(queue, BucketQueue):
            self.queue = queue._replace(heads=longer(queue.heads, 2 * len(queue.heads)))

    def bytes_for(self, states: int) -> int:
        """Bytes that ``states`` states take in the table, and the open-list entries in use."""
        table, queue = self.table, self.queue
        each = 8 if isinstance(table, DenseTable) else 12 if isinstance(table, LinkedTable) else 36
        entries = 8 * int(queue.saved[4]) if isinstance(queue, BucketQueue) else 16 * int(queue.saved[1])
        return each * states + entries
