"""The arrays of a search, lent from a pool that each world keeps, so that a query allocates nothing of map size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from .blocks import BlockTable, new_blocks, pages_for_blocks
from .bucket_pages import BucketPages, entries_in, new_bucket_pages, pages_for_buckets, widened
from .jit import COMPILED
from .memory import NOTHING, Part, Piece, Room, gathered, reserved, zeros
from .plain_records import by_attribute
from .queues import BucketQueue, HeapQueue
from .store import Store, forget
from .tables import (
    PAGE_BITS,
    DenseTable,
    HashedTable,
    LinkedTable,
    PagedTable,
    enlarged_hashed,
    exchanged,
    new_hashed,
    new_paged,
    page_parts,
    worn_out,
)

__all__ = ["Pool", "Searchable", "Workspace", "book_of", "enlarged_at_front", "new_record", "place_in"]

_KEYS = 1 << 20  # of buckets to begin with; f up to 150,000 steps
_EMPTY = 0, 0, -1, 0, 0  # an open list with nothing in it
_LONGEST = 2048  # places for a path to begin with, where the states of the world cannot be counted
_FEW_PLACES = 1024  # for one of many agents

# Bytes that stay with a workspace in the pool: all these together, shared out among those that were made, but to each
# at least so many.
_KEPT_TOGETHER = 1 << 26
_KEPT_LEAST = 1 << 18
# Bytes touched before a search on a graph begins: of the words of a table, of an open list, of either side of a
# path. With all else it is some 70 KB, which most searches touch in any case; but not for more agents than these.
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
        self._room: Room | None = None
        self._store: Store | None = None
        self.shared = False  # whether the store is a fleet's
        if real_time and world.table == "dense":
            self._in_a_store(world)
            return
        saved = zeros(5)
        # More entries than states have not been seen; they are for what may come.
        entries = max(4096, n if real_time else n // 8)
        if real_time:
            queue = (Part(_KEYS, np.uint32), Part(entries)) if world.buckets else (Part(entries), Part(entries))
            table = page_parts(n) if world.table == "linked" else ()
            self._room = Room([*table, *queue, _two_paths(n if table else 0)])
            self._pool.made += 1
            self._returns = 0
            *arrays, one, other, self.paths = self._room.arrays
            self.queue = BucketQueue(one, other, saved) if world.buckets else HeapQueue(one, other, saved)
            self.table = new_paged(n, arrays) if table else new_hashed(n)
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

    def _in_a_store(self, world: Searchable) -> None:
        """Table and open list in pages of a store: of the fleet's, if it is one of its agents, or of its own."""
        n, width = world.states, world.view.width
        fleet = gathered(Store.for_fleet)
        entries = () if world.buckets else (Part(max(4096, n)),) * 2
        if fleet is not None:
            self._store, self.shared = fleet, True
            self.paths = zeros((2, _FEW_PLACES), np.int32)
            if entries:
                self._room = Room(entries)
            fleet.join()
        else:
            most = pages_for_blocks(n, width) + (pages_for_buckets(n) if world.buckets else 0)
            self._room = Room([*Store.parts(most), *entries, _two_paths(n)])
            self._store, self.paths = Store(self._room), self._room.arrays[-1]
            self._pool.made += 1
            self._returns = 0
        pages, self._notes = self._store.pages, self._store.notes()
        self.table = new_blocks(n, width, pages, self._notes)
        if world.buckets:
            self.queue = new_bucket_pages(pages, self._notes)
        else:
            assert self._room is not None
            keys, items = self._room.arrays[:2] if self.shared else self._room.arrays[3:5]
            self.queue = HeapQueue(keys, items, zeros(5))
        self.queue.saved[:5] = _EMPTY

    def __getstate__(self) -> dict[str, Any]:
        """Paths are saved by whoever has them; the workspace only lends room for them."""
        state = {**self.__dict__}
        if self.real_time:
            state["paths"] = Piece(self.paths, NOTHING)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A workspace that is loaded or copied is one more of its pool, which began with none."""
        self.__dict__.update(state)
        if self.real_time and not self.shared:
            self._pool.made += 1

    def _zeros(self, count: int, dtype: Any = np.int64) -> np.ndarray:
        return reserved(count, dtype) if self.real_time else np.zeros(count, dtype)

    @classmethod
    def of(cls, world: Searchable, real_time: bool = False) -> Workspace:
        """A workspace from the world's pool, or a new one; where agents are gathered, one of their own."""
        if real_time and world.table == "dense" and gathered(Store.for_fleet) is not None:
            return cls(world, real_time)
        try:
            while True:
                spare = world.spare.pop(-1 if real_time else 0)
                # An edit of costs may have turned a world from buckets to heaps.
                if isinstance(spare.queue, HeapQueue) == world.buckets:
                    continue
                if spare.real_time == real_time:
                    spare._forget()
                    return spare
                spare.release()
                break
        except IndexError:
            pass
        return cls(world, real_time)

    def expect(self, start: int, key_of: Callable[[], int]) -> None:
        """A search will begin at ``start``, whose key can be asked: what its first ticks touch is there before them."""
        table, queue, room = self.table, self.queue, self._room
        if self._store is not None:
            self._store.expect_agents()
            return
        if room is None or isinstance(table, HashedTable) or self._pool.made > _MOST_TOUCHED:
            return
        # In the order of the arrays: where in each, in bytes, and how much.
        words = (0, _FIRST_WORDS), (0, _FIRST_WORDS >> 1), (0, _FIRST_WORDS >> 3), (8 * (start >> PAGE_BITS), 1)
        parts = [*words, (0, _FIRST_ENTRIES), (0, _FIRST_ENTRIES)]
        if isinstance(queue, BucketQueue):
            parts[len(words)] = 4 * key_of() - 2 * _FIRST_ENTRIES, 3 * _FIRST_ENTRIES
        for number, (first, size) in enumerate(parts):
            room.touch(number, first, size)
        row = self.paths.nbytes // 2
        for middle in (row // 2, row + row // 2):
            room.touch(len(parts), middle - _FIRST_PATH, 2 * _FIRST_PATH)

    def _forget(self) -> None:
        """Nothing that the last search has left is in use. An agent that has not begun would be saved with it."""
        table, queue = self.table, self.queue
        if self._store is not None:
            self._store.clear()
            forget(self._notes)
            if isinstance(queue, BucketPages):
                self.queue = queue = queue._replace(heads=queue.pages.halves)
        if isinstance(table, BlockTable):
            table.used[:] = 0
        elif isinstance(table, PagedTable):
            table.used[1] = max(table.used)
            table.used[0] = 0
        elif isinstance(table, HashedTable):
            table.stamp[1] = 0
        elif isinstance(table, (DenseTable, LinkedTable)):
            table.stamp[0] += 1
        queue.saved[:5] = _EMPTY

    def release(self) -> None:
        """Put the workspace back into the pool; or into its store what it has of it."""
        if self.shared:
            assert self._store is not None
            self._store.leave(self._notes)
        elif self.real_time:
            self._rest()
            self._pool.append(self)
        else:
            self._pool.insert(0, self)

    def _rest(self) -> None:
        """Give memory back to the system, if there is much of it: not every workspace shall hold what one once used."""
        table, room = self.table, self._room
        if room is None or isinstance(table, HashedTable):
            return
        self._returns += 1
        kept = max(_KEPT_LEAST, _KEPT_TOGETHER // max(1, self._pool.made)) if self._returns % _NOTHING_KEPT else 0
        # Nothing of it is needed: the next search begins with an empty table, and an empty open list.
        if self._store is not None:
            if self._store.bytes > kept:
                room.give_back({0: kept, **dict.fromkeys(range(1, len(room.arrays)), 0)})
        elif max(table.used) << (PAGE_BITS + 3) > kept:
            table.used[:] = 0
            # Most of what an agent touched lies in the table, and of that most in its first array.
            room.give_back({0: kept, 1: kept >> 3, **dict.fromkeys(range(2, len(room.arrays)), 0)})

    def enlarge(self) -> None:
        """Double the fullest array. A kernel that still lacks room asks again."""
        queue, table = self.queue, self.table
        if self._store is not None and self._store.is_short(self._notes):  # a fleet's: its own has room for all
            raise MemoryError(f"searches have filled the {self._store.bytes / 2**30:.1f} GB that they may use")
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
        elif isinstance(queue, BucketPages):
            self.queue = widened(queue)

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
        if isinstance(queue, BucketPages):
            return each * states + 8 * entries_in(queue)
        return each * states + (8 * int(queue.saved[4]) if isinstance(queue, BucketQueue) else 16 * int(queue.saved[1]))


def _two_paths(states: int) -> Part:
    """Room for two paths. None has more states than the world; it may lie in either half of its row."""
    return Part((2, 2 * (states + 1) if states else _LONGEST), np.int32)
