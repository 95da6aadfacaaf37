"""The arrays of a search, lent from a pool that each world keeps, so that a query allocates nothing of map size."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from .jit import COMPILED
from .memory import NOTHING, Part, Piece, Room, reserved, zeros
from .plain_records import by_attribute
from .queues import BucketQueue, HeapQueue
from .tables import (
    PAGE_BITS,
    BlockTable,
    DenseTable,
    HashedTable,
    LinkedTable,
    PagedTable,
    block_parts,
    enlarged_hashed,
    exchanged,
    new_blocks,
    new_hashed,
    new_paged,
    page_parts,
    place_of_block,
    worn_out,
)

__all__ = ["Pool", "Searchable", "Workspace", "book_of", "enlarged_at_front", "new_record", "place_in"]

_KEYS = 1 << 20  # of buckets to begin with; f up to 150,000 steps
_EMPTY = 0, 0, -1, 0, 0  # an open list with nothing in it
_LONGEST = 2048  # places for a path to begin with, where the states of the world cannot be counted

# Bytes that stay with a workspace in the pool: all these together, shared out among those that were made, but to each
# at least so many.
_KEPT_TOGETHER = 1 << 26
_KEPT_LEAST = 1 << 18
# Bytes that are touched before a search begins: of the words of a table, of an open list, of a path on either side.
# With all else it is some 70 KB, which most searches touch in any case; but not for more agents than these.
_FIRST_WORDS, _FIRST_ENTRIES, _FIRST_PATH = 1 << 15, 1 << 12, 1 << 10
_MOST_TOUCHED = 4096
_NOTHING_KEPT = 32  # every so many returns; what searches strew over open list and index is not counted, and piles up


class Searchable(Protocol):
    """What a world must say so that arrays can be made for it."""

    view: Any
    table: str  # "dense", "linked" or "hashed"
    buckets: bool  # whether costs are even enough for an array of buckets
    states: int  # how many states there are; for a hashed table, how many to reserve room for
    spare: Pool


class Pool(list["Workspace"]):
    """The workspaces of a world that nobody uses: those for real-time agents at its end, the others in front.

    Taking one out and putting one in is done at once, whatever other threads do.
    """

    made = 0  # workspaces for real-time agents, also those that are lent

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """A world that is saved, or copied whole, begins with an empty pool."""
        return Pool, ()


def new_record(dtype: np.dtype[Any]) -> Any:
    """One zeroed record: kernels use its fields by name (``record[0].field``), Python as ``record["field"][0]``."""
    record = zeros(1, dtype)
    return record if COMPILED else by_attribute(record)


def book_of(record: Any) -> memoryview:
    """The whole numbers of a record by their places, for Python: ten times quicker to read and write than by name."""
    return memoryview(record.view(np.ndarray).view(np.int64)).cast("B").cast("q")


def place_in(dtype: np.dtype[Any], name: str) -> int:
    """The place of a field, where all of them take eight bytes."""
    return (dtype.names or ()).index(name)


def enlarged_at_front(rows: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A row, or rows, twice as long with the content at the end, and places in them moved along with it."""
    size = rows.shape[-1]
    larger = np.empty((*rows.shape[:-1], 2 * size), dtype=rows.dtype)
    larger[..., size:] = rows
    return larger, places + size


class Workspace:
    """A node table and an open list; for a real-time agent also room for two paths.

    Of the two kinds one is for real-time agents: memory follows what was touched, a first touch costs the same
    everywhere, and so much room is reserved that nothing has to grow in a tick. The other is for searches that see much
    of the map: as large as the map, and a little quicker.
    """

    def __init__(self, world: Searchable, real_time: bool = False) -> None:
        self._pool = world.spare
        self.real_time = real_time
        n = world.states
        self.table: NamedTuple
        self.queue: NamedTuple
        # More entries than states have not been seen; they are for what may come.
        entries = max(4096, n if real_time else n // 8)
        saved = zeros(5)
        if real_time:
            queue = (Part(_KEYS, np.uint32), Part(entries)) if world.buckets else (Part(entries), Part(entries))
            table: tuple[Part, ...] = ()
            if world.table != "hashed":
                table = page_parts(n) if world.table == "linked" else block_parts(n, world.view.width)
            # No path has more states than the world, where they can be counted. It may lie in either half of its row.
            self._room = Room([*table, *queue, Part((2, 2 * (n + 1) if table else _LONGEST))])
            self._pool.made += 1
            self._returns = 0
            *arrays, one, other, self.paths = self._room.arrays
            self.queue = BucketQueue(one, other, saved) if world.buckets else HeapQueue(one, other, saved)
            if not table:
                self.table = new_hashed(n)
            elif world.table == "linked":
                self.table = new_paged(n, arrays)
            else:
                self.table = new_blocks(n, world.view.width, arrays)
            return
        if world.buckets:
            self.queue = BucketQueue(reserved(_KEYS, np.uint32), self._zeros(entries), saved)
        else:
            self.queue = HeapQueue(self._zeros(entries), self._zeros(entries), saved)
        if world.table == "hashed":
            self.table = new_hashed(n)
        elif world.table == "linked":
            self.table = LinkedTable(np.zeros(n, np.int64), np.empty(n, np.int32), np.zeros(1, np.int64))
        else:
            self.table = DenseTable(np.zeros(n, np.int64), np.zeros(1, np.int64))

    def __getstate__(self) -> dict[str, Any]:
        """Paths are saved by whoever has them; the workspace only lends room for them."""
        state = {**self.__dict__}
        if self.real_time:
            state["paths"] = Piece(self.paths, NOTHING)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A workspace that is loaded or copied is one more of its pool, which began with none."""
        self.__dict__.update(state)
        if self.real_time:
            self._pool.made += 1

    def _zeros(self, count: int, dtype: Any = np.int64) -> np.ndarray:
        return reserved(count, dtype) if self.real_time else np.zeros(count, dtype)

    @classmethod
    def of(cls, world: Searchable, real_time: bool = False) -> Workspace:
        """A workspace from the world's pool, or a new one."""
        try:
            while True:
                spare = world.spare.pop(-1 if real_time else 0)
                # An edit of costs may have turned a world from buckets to heaps.
                if isinstance(spare.queue, BucketQueue) != world.buckets:
                    continue
                if spare.real_time == real_time:
                    spare._forget()
                    return spare
                spare.release()
                break
        except IndexError:
            pass
        return cls(world, real_time)

    def expect(self, start: int, key: int) -> None:
        """Take memory for a search of some hundred expansions from ``start``, whose estimate has this key, before it.

        Else the first ticks of an agent would wait for the system, page by page. Keys fall on the way to the goal, if
        the estimate has a weight.
        """
        table, queue, room = self.table, self.queue, self._room
        if isinstance(table, HashedTable) or self._pool.made > _MOST_TOUCHED:
            return
        # In the order of the arrays: where in each, in bytes, and how much.
        parts = [(0, _FIRST_WORDS), (0, _FIRST_WORDS >> 3)]
        if isinstance(table, BlockTable):
            parts += [(4 * place_of_block(table, start), 1)]
        else:
            parts = [parts[0], (0, _FIRST_WORDS >> 1), parts[1], (8 * (start >> PAGE_BITS), 1)]
        if isinstance(queue, BucketQueue):
            parts += [(4 * key - 2 * _FIRST_ENTRIES, 3 * _FIRST_ENTRIES), (0, _FIRST_ENTRIES)]
        else:
            parts += [(0, _FIRST_ENTRIES), (0, _FIRST_ENTRIES)]
        for number, (first, size) in enumerate(parts):
            room.touch(number, first, size)
        row = self.paths.nbytes // 2
        for middle in (row // 2, row + row // 2):
            room.touch(len(parts), middle - _FIRST_PATH, 2 * _FIRST_PATH)

    def _forget(self) -> None:
        """Nothing that the last search has left is in use. An agent that has not begun would be saved with it."""
        table, queue = self.table, self.queue
        if isinstance(table, (BlockTable, PagedTable)):
            table.used[1] = max(table.used)
            table.used[0] = 0
        elif isinstance(table, HashedTable):
            table.stamp[1] = 0
        elif isinstance(table, (DenseTable, LinkedTable)):
            table.stamp[0] += 1
        queue.saved[:] = _EMPTY

    def release(self) -> None:
        """Put the workspace back into the pool."""
        if self.real_time:
            self._rest()
            self._pool.append(self)
        else:
            self._pool.insert(0, self)

    def _rest(self) -> None:
        """Give memory back to the system, if there is much of it: not every workspace shall hold what one once used.

        Most of what an agent touched lies in the table, and of that most in its first array.
        """
        table = self.table
        if not isinstance(table, (BlockTable, PagedTable)):
            return
        self._returns += 1
        kept = max(_KEPT_LEAST, _KEPT_TOGETHER // max(1, self._pool.made)) if self._returns % _NOTHING_KEPT else 0
        if max(table.used) << (PAGE_BITS + 3) > kept:
            table.used[:] = 0
            # Nothing of it is needed: the next search begins with an empty table, and an empty open list.
            self._room.give_back([kept, kept >> 3, *([0] * (len(self._room.arrays) - 2))])

    def enlarge(self) -> None:
        """Double the fullest array. A kernel that still lacks room asks again."""
        queue, table = self.queue, self.table
        if isinstance(table, HashedTable) and (table.stamp[1] > len(table.states) // 2 or worn_out(table)):
            self.table = enlarged_hashed(table)
        elif isinstance(table, PagedTable) and worn_out(table):
            self.table = exchanged(table)
        elif isinstance(queue, HeapQueue):
            size, used = 2 * len(queue.keys), int(queue.saved[1])
            self.queue = queue._replace(
                keys=self._longer(queue.keys, size, slice(used)), items=self._longer(queue.items, size, slice(used))
            )
        elif isinstance(queue, BucketQueue) and queue.saved[4] > len(queue.pool) // 2:
            self.queue = queue._replace(pool=self._longer(queue.pool, 2 * len(queue.pool), slice(int(queue.saved[4]))))
        elif isinstance(queue, BucketQueue):
            keys = slice(int(queue.saved[1]), int(queue.saved[2]) + 1)
            self.queue = queue._replace(heads=self._longer(queue.heads, 2 * len(queue.heads), keys))

    def enlarged(self, table: NamedTuple, queue: NamedTuple) -> tuple[NamedTuple, NamedTuple]:
        """The table and the open list that a search uses, with more room; they are the workspace's own from now on.

        An interrupt may have come between an enlargement and its use, so the arrays in use are those that count.
        """
        self.table, self.queue = table, queue
        self.enlarge()
        return self.table, self.queue

    def _longer(self, array: np.ndarray, size: int, used: slice) -> np.ndarray:
        larger = self._zeros(size, array.dtype)
        larger[used] = array[used]
        return larger

    def bytes_for(self, states: int) -> int:
        """Bytes that ``states`` states take in the table, and the open-list entries in use."""
        table, queue = self.table, self.queue
        each = 36 if isinstance(table, HashedTable) else 12 if hasattr(table, "parents") else 8
        entries = 8 * int(queue.saved[4]) if isinstance(queue, BucketQueue) else 16 * int(queue.saved[1])
        return each * states + entries
