"""Stores of pages, and the open list that lies in one: no page has two owners, and the order is a plain list's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED
from timebound.kernels import queues, store
from timebound.kernels.bucket_pages import BucketPages, entries_in, new_bucket_pages, widened
from timebound.kernels.memory import Room, lacks_room
from timebound.kernels.store import CHAINS, LARGEST, LEFT, LOT, Store, further, give_lot, is_full, take_lot


def new_store(pages: int = 500) -> Store:
    return Store(Room(Store.parts(pages)))


def new_list(pages: int = 500) -> BucketPages:
    made = new_store(pages)
    return new_bucket_pages(made.pages, made.notes())


class PlainList:
    """An open list as one would write it down: entries with their keys, in the order of arrival."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    def push(self, key: int, slot: int) -> None:
        self.entries.append((key, slot))

    def pop(self) -> tuple[int, int]:
        least = min(key for key, _ in self.entries)
        place = max(k for k, (key, _) in enumerate(self.entries) if key == least)
        return self.entries.pop(place)


@given(seed=st.integers(0, 10**6), wide=st.sampled_from([3, 200, 20_000, 200_000]), searches=st.integers(1, 3))
@settings(max_examples=30 if COMPILED else 8)
def test_an_open_list_in_pages_against_a_plain_one(seed: int, wide: int, searches: int) -> None:
    """Whatever its keys are, over several pages, and again with the pages of the search before."""
    random = np.random.default_rng(seed)
    queue = new_list()
    for _ in range(searches):
        twin = PlainList()
        cursor: Any = queues.clear(queue)
        middle = int(random.integers(wide, 10**6))
        most = 0
        for slot in range(int(random.integers(1300))):
            key = middle + int(random.integers(-wide, wide))
            while lacks_room(queue, 8, cursor, key):
                queues.suspend(queue, cursor)
                queue = widened(queue)
                cursor = queues.resume(queue)
            cursor = queues.push(queue, cursor, key, slot)
            twin.push(key, slot)
            most = max(most, len(twin.entries))
            if random.random() < 0.3:
                cursor = queues.settle(queue, cursor)
                key, first = int(cursor[0]), int(queues.top(queue, cursor))
                popped, cursor = queues.pop(queue, cursor)
                assert (key, first) == (key, int(popped)) == twin.pop()
            if random.random() < 0.05:
                queues.suspend(queue, cursor)
                cursor = queues.resume(queue)
        queues.suspend(queue, cursor)
        assert entries_in(queue) == most
        while twin.entries:
            cursor = queues.settle(queue, cursor)
            key = int(cursor[0])
            popped, cursor = queues.pop(queue, cursor)
            assert (key, int(popped)) == twin.pop()
        assert queues.settle(queue, cursor)[0] > middle + wide


def test_places_over_several_pages_are_gone_through_once() -> None:
    """Also those that are put in when the last page is just full, and with pages that an earlier search has left."""
    queue = new_list()
    for count in (1600, 1023, 1024, 512, 3):
        cursor: Any = queues.clear(queue)
        for slot in range(count):
            cursor = queues.push(queue, cursor, 7, slot)
        cursor = queues.loosen(queue, cursor)
        seen, k = [], 0
        while True:
            k = int(queues.place_from(queue, cursor, k))
            if k == queues.places(queue, cursor):
                if len(seen) > count + 600:
                    break
                cursor = queues.leave(queue, cursor, len(seen))
                k = int(queues.place_from(queue, cursor, k))
            slot = int(queues.slot_in(queue, k))
            seen.append(slot)
            cursor = queues.strike(queue, cursor, k) if slot % 3 else queues.link(queue, cursor, k, 5000 - slot)
            k += 1
        assert seen == list(range(len(seen)))
        left = [slot for slot in seen if slot % 3 == 0]
        while left:
            cursor = queues.settle(queue, cursor)
            slot, cursor = queues.pop(queue, cursor)
            assert int(slot) == left.pop()
        assert queues.settle(queue, cursor)[0] > 10**6


def test_pages_and_lots_are_taken_once_and_serve_again() -> None:
    made = new_store(60)
    pages, holders = made.pages, [made.notes() for _ in range(3)]
    held: list[set[int]] = []
    for notes in holders:
        chain: list[int] = []
        for _ in range(3):
            chain.append(int(further(pages, notes, CHAINS[0], chain[-1] if chain else 0)))
        lot = int(take_lot(pages, notes, 2))
        held.append({*chain, *range(lot, lot + 4)})
        assert int(further(pages, notes, CHAINS[0], 0)) == chain[0], "a chain is gone through again"
    assert len(set.union(*held)) == 21
    assert 0 not in set.union(*held), "page 0 is nobody's"
    wider, small = holders[0], int(holders[0][LOT])
    take_lot(pages, wider, 3)
    give_lot(pages, wider, small, 2)
    assert int(take_lot(pages, holders[1], 2)) == small
    taken = made.taken
    for _ in holders:
        made.join()
    made.leave(holders[2])
    fresh = made.notes()
    page = 0
    again = set()
    for _ in range(3):
        page = int(further(pages, fresh, CHAINS[1], page))
        again.add(page)
    assert again <= held[2]
    assert made.taken == taken
    assert not pages.words[: 1 << store.WORD_BITS].any()


def test_a_search_stops_before_its_store_is_full() -> None:
    made = new_store(40)
    notes, page = made.notes(), 0
    while not is_full(made.pages, notes):
        page = int(further(made.pages, notes, CHAINS[0], page))
    assert 0 < notes[LEFT] < len(made.pages.after) / 8
    queue = new_list(40)
    cursor: Any = queues.push(queue, queues.clear(queue), 10**6, 1)
    assert not lacks_room(queue, 8, cursor, 10**6 + 2000)
    assert lacks_room(queue, 8, cursor, 1 << 40), "no ring of the store is that wide"
    assert lacks_room(queue, 8, cursor, 0), "nor the other way"


def test_there_is_something_to_write_to_when_all_is_taken() -> None:
    """What lies there is lost; what others have is not, and whoever wrote there must not go on."""
    made = new_store(1)
    notes, others = made.notes(), made.notes()
    page = mine = int(further(made.pages, notes, CHAINS[0], 0))
    while not store._is_scrap(made.pages, page):
        page = int(further(made.pages, notes, CHAINS[0], page))
    assert page < len(made.pages.after)
    assert notes[LEFT] < 0
    lot = int(take_lot(made.pages, others, LARGEST))
    assert lot + (1 << LARGEST) <= len(made.pages.after)
    assert lot > int(notes[CHAINS[0] + 1])
    made.join()
    made.join()
    made.leave(others)
    made.leave(notes)
    again = made.notes()
    assert int(further(made.pages, again, CHAINS[1], 0)) == mine


@pytest.mark.parametrize("costs", [1.0, 150.0])
def test_a_fleet_without_memory_says_so(costs: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for more is stopped, with a sentence, and the others go on; whether buckets or heaps are beside it."""
    monkeypatch.setattr(store, "_MOST_PAGES", 130)
    monkeypatch.setattr(store, "_LEAST_PAGES", 130)
    ground = np.ones((60, 60))
    ground[::2, ::3] = costs
    world = tb.Grid(ground)
    assert world.buckets == (costs == 1)
    fleet = tb.Fleet(world, "tba*", frame_expansions=12_000)
    ids = fleet.add([(k, 0) for k in range(30)], (59, 59))
    words = []
    for _ in range(200):
        try:
            fleet.tick()
        except MemoryError as problem:
            words.append(str(problem))
    assert words
    assert all("was stopped: searches have filled the 0.0 GB that they may use" in one for one in words)
    left = sorted({fleet.status(k) for k in ids})
    assert left == ["reached", "stopped"]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
@pytest.mark.parametrize("weight", [2, 100])
def test_keys_that_lie_far_apart(weight: int, way: Any) -> None:
    """Costs rise while an agent is under way: its ring becomes wider than the store has lots, also after a copy."""
    side = 16
    ground = np.ones((side, side))
    ground[0, 0] = 2
    cells = [(row, col) for row in range(side) for col in range(side) if (row + col) % 5 == 0 and (row, col) != (0, 0)]
    walks = []
    for copied in (False, True):
        world = tb.Grid(ground)
        agent = tb.agent(f"rtb-wa*:weight={weight}", world, (0, 1), (side - 1, side - 1), budget=5)
        agent.run(2)
        world.set_cost(cells, 2e4)
        apart = 0
        while not agent.done:
            agent.step()
            apart += len(agent._planner.state.queue.heads) != len(agent._planner.state.queue.pages.halves)
            if copied and agent.ticks % 4 == 0:
                agent = way(agent)
        assert apart
        walks.append((agent.status, agent.cost, agent.expansions))
    assert walks[0] == walks[1]
    assert walks[0][0] == "reached"
    assert tb.solve(world, (0, 1), (side - 1, side - 1), "rtb-wa*", budget=5).status == "reached"


@pytest.mark.compiled
def test_keys_that_fall_far() -> None:
    """To the goal along a corridor, each step lowers the key by a hundred times its cost."""
    world = tb.Grid(np.ones((1, 30_000), bool))
    agent = tb.agent("tb-wa*:weight=100", world, (0, 0), (0, 29_999), budget=1000).run(100)
    assert agent.expansions > 29_000
    assert agent.run().status == "reached"


def test_an_empty_store_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_KEPT", 1 << 14)
    made = new_store()
    made.join()
    notes, page = made.notes(), 0
    for _ in range(20):
        page = int(further(made.pages, notes, CHAINS[0], page))
        made.pages.words[page << store.WORD_BITS] = 5
    made.expect_agents()
    made.leave(notes)
    assert made.taken == 1
    assert not made.pages.words[8 << store.WORD_BITS : 18 << store.WORD_BITS].any()


@pytest.mark.parametrize("agents", [1, 60])
def test_what_agents_will_touch_is_there_before(agents: int) -> None:
    """In small pages, or in huge ones if there are many; what is there stays as it is."""
    made = new_store(4000)
    for _ in range(agents):
        made.join()
    notes = made.notes()
    page = int(further(made.pages, notes, CHAINS[0], 0))
    made.pages.words[page << store.WORD_BITS] = 5
    made.expect_agents()
    made.expect_agents()
    assert made.pages.words[page << store.WORD_BITS] == 5
    assert np.count_nonzero(made.pages.words) == 1
