"""Shortcuts of TBA*: never a longer way, and Figure 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import check_books, corridors
from helpers import COMPILED, Case, graph_cases, grid_cases, points, puzzle_cases, shuffled
from naive.repeated import Ground
from naive.worlds import path_length, reachable
from timebound.kernels.store import SIZE

FEW = settings(max_examples=80 if COMPILED else 12)
SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([1, 2, 5, 30, None])


def compare_shortcut(world: Any, start: Any, goal: Any, options: str, budget: int | None) -> tuple[float, float]:
    """The costs without and with shortcuts; all else must be as ever."""
    plain = tb.solve(world, start, goal, "tba*" + (":" + options if options else ""), budget=budget)
    spec = "tba*:shortcut=true" + ("," + options if options else "")
    result = tb.solve(world, start, goal, spec, budget=budget)
    assert result.status == plain.status
    assert result.cost <= plain.cost * (1 + 1e-9)
    assert result.expansions_per_move.sum() == result.expansions
    assert budget is None or result.expansions_per_move.max(initial=0) <= budget
    walk = tb.validate(world, result.path, start=start)
    assert walk.cost == pytest.approx(result.cost)
    assert (points(result.path)[-1] == goal) == (result.status == "reached")
    return plain.cost, result.cost


OPTIONS = ("", "r=0.5,c=1", "r=0.2,c=30", "steady=true", "acting=late", "reopen=true", "r=0.3,c=2.5")


@pytest.mark.parametrize("options", OPTIONS)
@given(case=st.one_of(*(grid_cases(kind=kind) for kind in ("plain", "near", "far"))), budget=BUDGETS)
@settings(max_examples=80 if COMPILED else 10)
def test_shortcuts_on_grids(case: Case, budget: int | None, options: str) -> None:
    compare_shortcut(case.world, case.start, case.goal, options, budget)
    compare_shortcut(case.world.to_graph(), case.start, case.goal, options, budget)


@given(case=graph_cases().filter(lambda case: case.world.undirected), budget=BUDGETS, options=st.sampled_from(OPTIONS))
@FEW
def test_shortcuts_on_graphs(case: Case, budget: int | None, options: str) -> None:
    compare_shortcut(case.world, case.start, case.goal, options, budget)


@given(case=puzzle_cases(moves=24), budget=BUDGETS, options=st.sampled_from(OPTIONS))
@FEW
def test_shortcuts_on_puzzles(case: Case, budget: int | None, options: str) -> None:
    compare_shortcut(case.world, case.start, case.goal, options, budget)


@pytest.mark.parametrize("r", ["0.1", "0.05"])
def test_figure_2(r: str) -> None:
    low = 12
    cells, start, goal, opening = corridors(low, 6, 20, 2)
    world = tb.Grid(cells, connectivity=4)
    plain, cut = (tb.solve(world, start, goal, f"tba*:r={r}{more}", budget=200) for more in ("", ",shortcut=true"))
    for result in (plain, cut):
        assert result.status == "reached"
        assert result.expansions_per_move.max() <= 200
    assert opening not in points(plain.path)
    assert points(plain.path).count(start) == 2, "it goes back all the way"
    assert plain.astray > low
    assert opening in points(cut.path)
    assert points(cut.path).count(start) == 1
    assert cut.astray < low
    # Twice the way down to the row below the start is saved, and the dip behind the opening comes on top.
    assert cut.cost == plain.cost - 2 * (low + 1) + 2 * 2


@pytest.mark.compiled
def test_a_long_shortcut() -> None:
    """More states than there is room for at first."""
    cells, start, goal, opening = corridors(100, 10, 60, 70)
    world = tb.Grid(cells, connectivity=4)
    agent = tb.agent("tba*:r=0.02,shortcut=true", world, start, goal, budget=900)
    length = 0
    while not agent.done:
        agent.step()
        plan = agent._planner.state.plan
        length = max(length, int(plan[1] - plan[0]))
    assert length > 64
    assert opening in points(agent.result().path)
    plain = tb.solve(world, start, goal, "tba*:r=0.02", budget=900)
    assert agent.status == plain.status == "reached"
    assert agent.cost < plain.cost - (100 - 70)
    assert agent.result().expansions_per_move.max() <= 900


def test_a_shortcut_along_a_dear_corridor() -> None:
    """The costs are so high that the open list of the shortcut needs more buckets than it has at first."""
    cells, start, goal, opening = corridors(40, 20, 35, 2, dear=50.0)
    world = tb.Grid(cells, connectivity=4)
    agent = tb.agent("tba*:r=0.1,shortcut=true", world, start, goal, budget=400)
    most = 0
    while not agent.done:
        agent.step()
        most = max(most, int(agent._planner.state.cut_queue.notes[SIZE]))
    assert most > 0
    assert opening in points(agent.result().path)
    plain, cut = compare_shortcut(world, start, goal, "r=0.1", 400)
    assert cut == agent.cost < plain - 50


@pytest.mark.skipif(not COMPILED, reason="a hundred thousand boards")
def test_a_search_for_a_shortcut_that_outgrows_its_table() -> None:
    world = tb.TilePuzzle(4, 4)
    board = shuffled(4, 4, 80, 8)
    agent = tb.agent("tba*:shortcut=true", world, board, world.solved, budget=15000).run()
    assert len(agent._planner.state.cut_table.states) > world.states
    plain = tb.solve(world, board, world.solved, "tba*", budget=15000)
    assert agent.status == plain.status == "reached"
    assert agent.cost <= plain.cost
    assert agent.result().expansions_per_move.max() <= 15000


@pytest.mark.parametrize("c", ["1.9", "3.7", "10"])
def test_a_broken_price_of_an_expansion(c: str) -> None:
    """A tick may make R expansions, whatever the price of following a parent."""
    cells, start, goal, _ = corridors(12, 6, 20, 2)
    world = tb.Grid(cells, connectivity=4)
    for budget in (45, 50, 55) if COMPILED else (50,):
        result = tb.solve(world, start, goal, f"tba*:r=0.1,c={c},shortcut=true", budget=budget)
        assert result.status == "reached"
        assert result.expansions_per_move.max() <= budget


@given(seed=SEEDS, ticks=st.integers(1, 60))
@FEW
def test_an_edit_while_on_a_shortcut(seed: int, ticks: int) -> None:
    """The wall between the corridors opens and the right one is shut somewhere; nothing illegal comes of it."""
    cells, start, goal, _ = corridors(12, 6, 20, 2)
    world, twin = tb.Grid(cells, connectivity=4), Ground(cells.tolist(), connectivity=4)
    agent = tb.agent("tba*:r=0.1,shortcut=true", world, start, goal, budget=200)
    for _ in range(100):
        agent.step()
        if agent._planner.state.follow["cutting"][0] == 3:
            break
    for _ in range(ticks % 5):
        agent.step()
    cost, trail = agent.cost, points(agent.result().path)
    random = np.random.default_rng(seed)
    right = cells.shape[1] - 1
    shut, opened = (int(random.integers(2, 18)), right), (int(random.integers(1, 18)), right - 1)
    if agent.position != shut:
        world.block(shut)
        twin.block([shut])
    world.unblock(opened)
    twin.unblock([opened])
    possible = goal in reachable(twin, agent.position)
    agent.run()
    assert agent.status == ("reached" if possible else "unreachable")
    check_books(agent, cost + path_length(twin, points(agent.result().path)[len(trail) - 1 :]))
