"""RTB-WA* against its naive twin, step for step, in worlds that change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, edit_roads, grounds, roads
from helpers import COMPILED, Case, points
from naive.repeated import Ground, Repeated, arcs_of

FEW = settings(max_examples=80 if COMPILED else 12)
SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([1, 2, 5, 30, None])
WEIGHTS = st.sampled_from([1, 1.5, 3])
RESTARTS = ("eager", "lazy")


def walk_together(
    case: Case,
    restart: str,
    weight: float,
    budget: int | None,
    seed: int,
    edit: Callable[..., int],
    reopen: bool = False,
) -> None:
    """The agent and its twin take the same steps while the world changes, and after it has come to rest."""
    random = np.random.default_rng(seed)
    spec = f"rtb-wa*:weight={weight},restart={restart},reopen={str(reopen).lower()}"
    agent = tb.agent(spec, case.world, case.start, case.goal, budget=budget)
    twin = Repeated(case.twin, case.start, case.goal, budget, weight, restart == "lazy", reopen)
    ticks = 30 if COMPILED else 12
    for tick in range(ticks + 300):
        agent.step()
        twin.step()
        assert agent.position == twin.loc
        assert agent.ticks == len(twin.spent)
        if agent.status == "reached" or (agent.done and tick >= ticks):
            break
        for _ in range(random.choice([0, 0, 0, 1, 2]) if tick < ticks else 0):
            before = arcs_of(case.twin)
            if edit(random, case):
                twin.tell(before, arcs_of(case.twin))
    result = agent.result()
    assert result.status == ("reached" if twin.loc == case.goal else "unreachable")
    assert points(result.path) == twin.trail
    assert result.expansions_per_move.tolist() == twin.spent
    assert (result.back_moves, result.astray) == (twin.back_moves, twin.astray)
    assert result.restarts == twin.restarts


@pytest.mark.parametrize("restart", RESTARTS)
@given(case=grounds(), weight=WEIGHTS, budget=BUDGETS, seed=SEEDS)
@settings(max_examples=300 if COMPILED else 40)
def test_grid(case: Case, weight: float, budget: int | None, seed: int, restart: str) -> None:
    walk_together(case, restart, weight, budget, seed, edit_ground)


@pytest.mark.parametrize("restart", RESTARTS)
@given(case=roads(), weight=WEIGHTS, budget=BUDGETS, seed=SEEDS)
@settings(max_examples=200 if COMPILED else 30)
def test_graph(case: Case, weight: float, budget: int | None, seed: int, restart: str) -> None:
    walk_together(case, restart, weight, budget, seed, edit_roads)


@pytest.mark.parametrize("restart", RESTARTS)
@given(case=grounds(), budget=BUDGETS, seed=SEEDS)
@FEW
def test_reopening(case: Case, budget: int | None, seed: int, restart: str) -> None:
    walk_together(case, restart, 3, budget, seed, edit_ground, reopen=True)


@pytest.mark.parametrize("restart", RESTARTS)
@pytest.mark.parametrize("kind", ["rooms", "maze", "random"])
def test_larger_maps(kind: str, restart: str) -> None:
    """Long paths, many switches between them, edits here and there."""
    side = 24 if COMPILED else 8
    for seed in range(4 if COMPILED else 1):
        free = tb.generate.GENERATORS[kind]((side, side), seed=seed)
        world = tb.Grid(free)
        problem = next(iter(tb.problems(world, 1, seed=seed)))
        case = Case(world, Ground(free.tolist()), problem.start, problem.goal)
        walk_together(case, restart, 1.5, 5, seed, edit_ground)


def test_an_edit_ahead_of_an_agent_that_steps_back() -> None:
    """It is off its path and about to return to it. The path is shut where the agent has yet to get to."""
    cells = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1]])
    world, twin = tb.Grid(cells, connectivity=4), Ground(cells.tolist(), connectivity=4)
    agent = tb.agent("rtb-wa*:weight=1", world, (1, 3), (2, 0), budget=1).run(3)
    naive = Repeated(twin, (1, 3), (2, 0), 1, 1, True)
    for _ in range(3):
        naive.step()
    assert naive.ahead() == [(1, 2), (1, 3), (2, 3)]
    assert agent.position == (1, 2)
    world.block((2, 3))
    agent.step()
    assert agent.result().restarts == 1


def test_the_search_after_a_failed_path_has_what_is_left_of_the_budget() -> None:
    """A path through a tree that has seen edits is checked arc by arc; each tick keeps to its budget all the same."""
    waits = 0
    for seed in range(40 if COMPILED else 6):
        random = np.random.default_rng(seed)
        world = tb.Grid(random.random((12, 12)) > 0.2)
        world.unblock([(0, 0), (11, 11)])
        agent = tb.agent("rtb-wa*:weight=1", world, (0, 0), (11, 11), budget=3)
        while agent.status == "active" and agent.ticks < 100:
            before = agent.moves
            agent.step()
            waits += agent.moves == before and not agent.done
            mask = random.random((12, 12)) < 0.03
            mask[agent.position] = mask[11, 11] = False
            world.block(mask)
        assert agent.result().expansions_per_move.max() <= 3
    assert waits > 0, "no such case was met"


@pytest.mark.compiled
def test_time_is_up_at_the_end_of_a_path() -> None:
    """In a nanosecond 32 states are expanded and 255 parents followed. The new path is longer: the old one stays.

    A trunk of 300 nodes with 64 leaves each. The agent has gone into a leaf, and is shut up in it.
    """
    trunk, leaves = 300, 64
    sources = [*range(trunk - 1), *np.repeat(np.arange(trunk), leaves)]
    targets = [*range(1, trunk), *range(trunk, trunk + trunk * leaves)]
    costs = [100.0] * (trunk - 1) + [50 + 0.1 * (k % leaves) for k in range(trunk * leaves)]
    world = tb.Graph(sources, targets, costs, directed=False)
    agent = tb.agent("rtb-wa*:weight=1", world, 0, trunk - 1, budget="0.001us")
    before, here = 0, 0
    while not 265 < before < trunk <= here:
        before, here = here, agent.step()
        assert not agent.done
    world.block(before, here)
    back_moves = agent.result().back_moves
    assert agent.run().status == "unreachable"
    assert agent.position == here
    assert agent.result().back_moves == back_moves
    world.unblock(before, here)
    assert agent.run().status == "reached"
