"""Edits that other threads make while agents walk."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, points
from naive.repeated import Ground, Roads, arcs_of
from naive.worlds import path_length
from timebound.kernels import edits as kernel_edits


def in_threads(*work: Callable[[], None]) -> None:
    """Run each in a thread of its own to the end; the first error of any is raised."""
    errors: list[BaseException] = []

    def guarded(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "it hangs"
    if errors:
        raise errors[0]


class Crowd:
    """Agents that walk to and fro in a world, others that edit it meanwhile, and what the agents did.

    Editors let the walkers go some way between two edits, and walkers that are shut in wait for the next edit.
    """

    def __init__(self, world: Any, start: Any, goal: Any, walkers: int = 1) -> None:
        self.world, self.start, self.goal, self.walkers = world, start, goal, walkers
        self.results: list[tb.Result] = []
        self.news = threading.Condition()
        self.walks = self.edits = self.finished = 0
        self.stuck = False

    def walk(self, spec: str, budget: int) -> None:
        ends, enough = [self.start, self.goal], time.monotonic() + 1.0
        agent = tb.agent(spec, self.world, *ends, budget=budget)
        try:
            for _ in range(250 if COMPILED else 20):
                if time.monotonic() > enough:
                    break
                agent.run(100 if COMPILED else 8)
                self.tell(agent.status == "unreachable")
                if agent.status == "reached":
                    self.results.append(agent.result())
                    ends.reverse()
                    agent = tb.agent(spec, self.world, *ends, budget=budget)
            self.results.append(agent.result())
        finally:
            with self.news:
                self.finished += 1
                self.news.notify_all()

    def tell(self, stuck: bool) -> None:
        """That an agent has walked, and if it is stuck, wait until someone may have opened a way."""
        with self.news:
            self.walks += 1
            self.stuck = self.stuck or stuck
            self.news.notify_all()
            edits = self.edits
            if stuck:
                assert self.news.wait_for(lambda: self.edits > edits, 30), "nobody edits"

    def edit(self, one: Callable[[int], None]) -> None:
        """Edit number 0 is undone by number 1, and so on."""
        for k in itertools.count():
            walks = self.walks
            one(k)
            with self.news:
                self.edits += 1
                self.stuck = False
                self.news.notify_all()
                assert self.news.wait_for(lambda: self.news_for(walks), 30), "nobody walks"  # noqa: B023
                if k % 2 and self.finished == self.walkers:
                    return

    def news_for(self, walks: int) -> bool:
        return self.walks > walks or self.stuck or self.finished == self.walkers

    def go(self, spec: str, *edits: Callable[[int], None]) -> None:
        walk = [lambda: self.walk(spec, 25)] * self.walkers
        in_threads(*walk, *[partial(self.edit, one) for one in edits])
        self.world.changes.catch_up()
        for result in self.results:
            assert result.expansions_per_move.max(initial=0) <= 25


def arena(side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A map of two rooms, and two masks of doors in the wall between them: above and below."""
    free = np.ones((side, side), bool)
    free[:, side // 2] = False
    above, below = (np.zeros((side, side), bool) for _ in range(2))
    above[1 : side // 2 : 2, side // 2] = True
    below[side // 2 + 1 : side - 1 : 2, side // 2] = True
    return free, above, below


SPECS = ("tba*", "rtb-wa*:weight=1.5", "rtb-wa*:restart=eager", "tba*:shortcut=true", "k-lrta*", "a*")


@pytest.mark.parametrize("walkers", [1, 2])
@pytest.mark.parametrize("spec", SPECS)
def test_doors_that_others_open_and_shut(spec: str, walkers: int) -> None:
    """One thread opens and shuts doors and waits for it, one does not wait. Each move is legal with some doors open."""
    side = 40 if COMPILED else 8
    free, above, below = arena(side)
    world = tb.Grid(free)
    crowd = Crowd(world, (side // 2, 0), (side // 2, side - 1), walkers)

    def wait(k: int) -> None:
        assert (world.unblock if k % 2 == 0 else world.block)(above) == above.sum()

    def post(k: int) -> None:
        assert (world.unblock if k % 2 == 0 else world.block)(below, later=True) == 0

    crowd.go(spec, wait, post)
    legal = set()
    for doors in (above & False, above, below, above | below):
        legal |= arcs_of(Ground((free | doors).tolist())).keys()
    for result in crowd.results:
        assert set(itertools.pairwise(points(result.path))) <= legal
    assert not (world.free & (above | below)).any(), "the last edits were to shut them"
    assert np.array_equal(world.view.moves, tb.Grid(world.free).view.moves)
    world.unblock(above)
    assert tb.solve(world, (side // 2, 0), (side // 2, side - 1), spec, budget=25).status == "reached"


@pytest.mark.parametrize("dear", [9.0, 200.0])
@pytest.mark.parametrize("spec", SPECS)
def test_ground_that_others_make_dearer_and_cheaper(spec: str, dear: float) -> None:
    """Also so dear that new searches need a heap, while those under way have buckets."""
    side = 30 if COMPILED else 7
    world = tb.Grid(np.ones((side, side)), terrain=True)
    left, right = np.zeros((2, side, side), bool)
    left[:, 1 : side // 2], right[:, side // 2 : -1] = True, True
    crowd = Crowd(world, (0, 0), (side - 1, side - 1))
    crowd.go(
        spec,
        lambda k: world.set_cost(left, dear if k % 2 == 0 else 1.0),
        lambda k: world.set_cost(right, dear if k % 2 == 0 else 1.0, later=True),
    )
    assert (world.costs == 1.0).all()
    cheap, costly = (Ground(np.full((side, side), cost).tolist()) for cost in (1.0, dear))
    for result in crowd.results:
        trail = points(result.path)
        assert path_length(cheap, trail) <= result.cost * (1 + 1e-9) <= path_length(costly, trail) * (1 + 2e-9)
    fresh = tb.Grid(world.costs, terrain=True)
    assert np.array_equal(world.view.weight, fresh.view.weight)
    assert np.array_equal(world.view.moves, fresh.view.moves)
    answers = [tb.solve(grid, (0, 0), (side - 1, side - 1), "a*") for grid in (world, fresh)]
    assert answers[0].cost == pytest.approx(answers[1].cost)


def neighbours(world: tb.Graph, point: Any) -> tuple[list[Any], list[int]]:
    """Where the open arcs of a node lead, and their integer costs."""
    node = world.state_of(point)
    row = slice(int(world.view.first[node]), int(world.view.first[node + 1]))
    open_arcs = world.view.cost[row] >= 0
    heads, costs = world.view.head[row][open_arcs], world.view.cost[row][open_arcs]
    return [world.point_of(int(head)) for head in heads], costs.tolist()


@pytest.mark.parametrize("spec", SPECS)
def test_roads_that_others_close(spec: str) -> None:
    """Some for good, before anyone walks; some now and then; some get dearer."""
    side = 16 if COMPILED else 6
    world = tb.Grid(np.ones((side, side), bool)).to_graph()
    twin = Roads.of_grid(Ground(np.ones((side, side)).tolist()))
    random = np.random.default_rng(1)
    arcs = sorted(arcs_of(twin))
    chosen = [arcs[int(k)] for k in random.choice(len(arcs), 60 if COMPILED else 24, replace=False)]
    shut, gates, tolls = np.split(np.arange(len(chosen)), [-12, -6])
    for k in shut:
        world.block(*chosen[k])
        twin.block(*chosen[k])
    crowd = Crowd(world, (0, 0), (side - 1, side - 1))

    def gate(k: int) -> None:
        for number in gates:
            (world.block if k % 2 == 0 else world.unblock)(*chosen[number])

    def toll(k: int) -> None:
        for number in tolls:
            u, v = chosen[number]
            world.set_cost(u, v, twin.made[u, v] * (3 if k % 2 == 0 else 1), later=True)

    crowd.go(spec, gate, toll)
    # A gate may be one of those shut before, seen from its other end.
    legal = arcs_of(twin).keys() | {arc for k in gates for arc in (chosen[k], chosen[k][::-1])}
    for result in crowd.results:
        assert set(itertools.pairwise(points(result.path))) <= legal
    for k in gates:
        twin.unblock(*chosen[k])
    for here in twin.points():
        now = {(v, c) for v, c in zip(*neighbours(world, here), strict=True)}
        assert now == {(step.target, step.cost) for step in twin.successors(here)}


def test_a_graph_that_others_make_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just before the agent's first tick: it stands still until it knows the way, and asks for no step back."""
    arcs = [(0, 1, 1.0), (0, 2, 2.0), (2, 3, 5.0)]
    sources, targets, costs = zip(*arcs, *((v, u, c) for u, v, c in arcs), strict=True)
    world = tb.Graph(sources, targets, costs, directed=True)
    agent = tb.agent("tba*", world, 0, 3, budget=1)
    enter, edits = world.changes.enter, iter([(1, 0)])

    def enter_after_an_edit(name: tuple[int, int]) -> None:
        for arc in edits:
            world.block(*arc)
        enter(name)

    monkeypatch.setattr(world.changes, "enter", enter_after_an_edit)
    assert agent.run().status == "reached"
    result = agent.result()
    assert result.path.tolist() == [0, 2, 3]
    assert result.expansions_per_move.max() == 1
    with pytest.raises(tb.SpecError, match="one-way"):
        tb.agent("tba*", world, 0, 3, budget=1)


@pytest.mark.once
def test_who_waits_looks_up_now_and_then() -> None:
    """Not only when it is woken: a Ctrl-C that comes as the main thread falls asleep would never be heard."""
    world = tb.Grid([[1, 1, 1]])
    searching = world.changes._searching
    other = -1, 0  # a search of some other thread
    searching.add(other)
    editor = threading.Thread(target=world.block, args=((0, 1),), daemon=True)
    editor.start()
    while not world.changes._editors:
        pass
    searching.discard(other)  # without a word
    editor.join(60)
    assert not editor.is_alive()
    assert not world.free[0, 1]


@pytest.mark.once
def test_no_search_begins_within_an_edit_of_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a cell of terrain is one edit within another, and the inner one ends first."""
    world = tb.Grid(np.ones((5, 5)), terrain=True)
    world.block((2, 2))
    inside, go_on, seen = threading.Event(), threading.Event(), []
    made = kernel_edits.set_free

    def slow(*arguments: Any) -> Any:
        inside.set()
        go_on.wait(10)
        seen.append("edit")
        return made(*arguments)

    def search() -> None:
        name = world.changes.name("search")
        world.changes.enter(name)
        seen.append("search")
        world.changes.leave(name)

    monkeypatch.setattr(kernel_edits, "set_free", slow)
    editor = threading.Thread(target=world.unblock, args=((2, 2),))
    editor.start()
    assert inside.wait(10)
    assert world.changes.edited[1], "kernels are told to end their tick"
    searcher = threading.Thread(target=search)
    searcher.start()
    searcher.join(0.1)
    go_on.set()
    editor.join(10)
    searcher.join(10)
    assert seen == ["edit", "search"]
    assert not world.changes.edited[1]


def test_a_herd_and_an_editor_do_not_wait_for_each_other() -> None:
    """A fleet is inside, and its field enters once more: an editor who came in between waits for the fleet."""
    world = tb.Grid(np.ones((12, 12), bool))
    fleet = tb.Fleet(world, "field", frame_expansions=5)
    fleet.add([(row, 0) for row in range(12)], (11, 11))
    over = threading.Event()

    def edit() -> None:
        while not over.is_set():
            world.block((6, 6))
            world.unblock((6, 6))

    def walk() -> None:
        for _ in range(60):
            fleet.tick()
        over.set()

    threads = [threading.Thread(target=task, daemon=True) for task in (edit, walk)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert over.is_set(), "they wait for each other"
