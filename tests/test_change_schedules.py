"""Changes of a world on a schedule, in the episodes that run with one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, points
from naive.repeated import Ground
from naive.worlds import path_length


class Watched(tb.RandomChanges):
    """Looks at the world after every change."""

    def begin(self, world: Any) -> None:
        super().begin(world)
        self.first = world.free
        self.seen: list[np.ndarray] = []
        self.kept: list[list[Any]] = []

    def change(self, world: Any, keep: Sequence[Any]) -> None:
        super().change(world, keep)
        self.seen.append(world.free)
        self.kept.append(list(keep))


def obstacles(seed: int, side: int) -> np.ndarray:
    free = tb.generate.random_obstacles((side, side), density=0.25, seed=seed)
    free[0] = free[:, -1] = True
    return free


def episode(changes: Any, seed: int = 0, side: int = 20, spec: str = "rtb-wa*", **options: Any) -> tb.Result:
    world = tb.Grid(obstacles(seed, side))
    return tb.solve(world, (0, 0), (side - 1, side - 1), spec, budget=4, changes=changes, **options)


@given(rate=st.sampled_from([0.5, 1, 5, 10, 40, 100]), every=st.integers(1, 12), seed=st.integers(0, 1000))
@settings(max_examples=40 if COMPILED else 6)
def test_random_changes(rate: float, every: int, seed: int) -> None:
    """Half the rate of the free cells is blocked and of the walls opened, of the map as it was; no drift."""
    watched = Watched(rate, every=every, seed=seed)
    result = episode(watched, seed % 7, side=16 if COMPILED else 8, move_limit=200)
    assert len(watched.seen) == (result.moves + result.waits - 1) // every
    shut, opened = (round(int(cells.sum()) * rate / 200) for cells in (watched.first, ~watched.first))
    for free, keep in zip(watched.seen, watched.kept, strict=True):
        assert all(free[point] for point in keep)
        # The agent and the goal are never shut in; an agent in what was a wall stays there.
        assert shut - 2 <= (watched.first & ~free).sum() <= shut
        stands = sum(not watched.first[point] for point in keep)
        assert opened <= (~watched.first & free).sum() <= opened + stands
        assert abs(int(free.sum()) - (int(watched.first.sum()) - shut + opened)) <= 2
    for earlier, later in itertools.pairwise(watched.seen):
        assert shut + opened < 8 or (earlier != later).any(), "other cells each time"


@pytest.mark.parametrize("spec", ["rtb-wa*", "rtb-wa*:restart=eager", "tba*"])
def test_a_schedule_is_what_it_says(spec: str) -> None:
    """``solve`` with changes is an agent that is stepped, and a change after every so many ticks."""
    side = 16 if COMPILED else 8
    result = episode(tb.RandomChanges(20, every=3, seed=5), 1, side, spec, move_limit=3000)
    assert result.status == "reached"
    world, changes_ = tb.Grid(obstacles(1, side)), tb.RandomChanges(20, every=3, seed=5)
    changes_.begin(world)
    agent = tb.agent(spec, world, (0, 0), (side - 1, side - 1), budget=4)
    while agent.status != "reached":
        assert agent.ticks < 3000
        before, ticks = agent.position, agent.ticks
        twin = Ground(world.free.tolist())
        after = agent.step()
        assert after == before or not math.isnan(path_length(twin, [before, after]))
        if agent.ticks == ticks:
            agent.wait()
        if agent.ticks % 3 == 0:
            changes_.change(world, [agent.position, agent.goal])
    assert points(agent.result().path) == points(result.path)
    assert agent.result().expansions_per_move.tolist() == result.expansions_per_move.tolist()


def test_random_changes_repeat_themselves() -> None:
    world = tb.Grid(obstacles(3, 25))
    digest = world.digest
    changes_ = Watched(20, every=4, seed=8)
    runs = []
    for schedule in (changes_, changes_, Watched(20, every=4, seed=8), Watched(20, every=4, seed=9)):
        result = tb.solve(world, (0, 0), (24, 24), "rtb-wa*", budget=5, changes=schedule)
        runs.append((points(result.path), [free.tobytes() for free in schedule.seen]))
        assert world.digest == digest
        assert world.changes.count == 0
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][1] != runs[3][1]


@pytest.mark.parametrize(
    "options",
    [
        {"rate": 0},
        {"rate": -1},
        {"rate": 100.5},
        {"rate": math.nan},
        {"rate": "5"},
        {"rate": None},
        {"rate": 5, "every": 0},
        {"rate": 5, "every": 2.5},
        {"rate": 5, "every": True},
        {"rate": 5, "every": "10"},
        {"rate": 5, "seed": -1},
        {"rate": 5, "seed": "x"},
        {"rate": 5, "seed": 1.5},
    ],
)
def test_random_changes_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises((tb.SpecError, tb.WorldError)) as refusal:
        episode(tb.RandomChanges(**options), side=6)
    text = str(refusal.value)
    assert "\n" not in text
    assert ". " not in text


@pytest.mark.parametrize("world", [tb.Grid(np.ones((3, 3))).to_graph(), tb.TilePuzzle(2, 2)])
def test_schedules_are_for_grids(world: Any) -> None:
    ends = ((0, 0), (2, 2)) if isinstance(world, tb.Graph) else ((1, 0, 2, 3), (0, 1, 2, 3))
    with pytest.raises(tb.WorldError, match="for grids"):
        tb.solve(world, *ends, "a*", changes=tb.RandomChanges(5))
    with pytest.raises(tb.WorldError, match="for grids"):
        tb.RandomChanges(5).begin(world)


class Script:
    """Edits written down beforehand, one for each change; and what was seen of it."""

    def __init__(self, every: Any, *edits: Callable[[tb.Grid], Any]) -> None:
        self.every, self.edits = every, edits

    def begin(self, world: tb.Grid) -> None:
        self.world, self.calls, self.keeps = world, 0, []

    def change(self, world: tb.Grid, keep: Sequence[Any]) -> None:
        assert world is self.world
        if self.calls < len(self.edits):
            self.edits[self.calls](world)
        self.calls += 1
        self.keeps.append(list(keep))
        assert self.calls < 3000, "it would never end"


@pytest.mark.parametrize("spec", ["a*", "tba*", "rtb-wa*", "rtb-wa*:restart=eager", "tba*:shortcut=true", "lrta*"])
def test_a_schedule_that_shuts_the_agent_in(spec: str) -> None:
    """After 4 ticks the only door is shut, after 12 others open; the agent waits in between."""
    cells = np.ones((3, 12), bool)
    cells[:, 6] = False
    cells[1, 6] = True
    script = Script(
        4, lambda world: world.block((1, 6)), lambda world: world.block((0, 11)), lambda world: world.unblock((0, 6))
    )
    world = tb.Grid(cells)
    result = tb.solve(world, (1, 0), (1, 11), spec, budget=60, changes=script)
    assert result.status == "reached"
    assert (0, 6) in points(result.path)
    assert (1, 6) not in points(result.path)
    assert world.free.tolist() == cells.tolist()
    assert script.keeps[0] == [tuple(points(result.path)[4]), (1, 11)]
    assert script.calls == (result.moves + result.waits - 1) // 4
    assert result.moves + result.waits == len(result.expansions_per_move)
    if not spec.startswith("lrta*"):  # who learns walks about for a while before it is sure
        assert result.waits >= 4
        assert result.expansions_per_move.sum() == result.expansions


def test_nobody_waits_for_ever() -> None:
    cells = np.ones((2, 5))
    cells[:, 2] = 0
    for every in (1, 7):
        script = Script(every)
        result = tb.solve(tb.Grid(cells), (0, 0), (0, 4), "a*", changes=script)
        assert result.status == "unreachable"
        assert result.moves == 0
        assert result.waits == 1000 * every
        assert script.calls == 1000


@pytest.mark.parametrize("every", [0, -3, 1.5, "2"])
def test_a_schedule_that_is_never_due(every: Any) -> None:
    """It must be said, not waited for."""
    with pytest.raises(tb.SpecError):
        episode(Script(every), side=6)


def test_a_schedule_and_the_other_options() -> None:
    whole = episode(tb.RandomChanges(5, seed=2), optimal="compute")
    # The optimum is that of the world before any change.
    assert whole.optimal == tb.solve(tb.Grid(obstacles(0, 20)), (0, 0), (19, 19), "a*").cost
    assert whole.suboptimality == pytest.approx(whole.cost / whole.optimal)
    short = episode(tb.RandomChanges(5, seed=2), move_limit=13)
    assert short.status == "move-limit"
    assert points(short.path) == points(whole.path)[:14]
