"""Worlds and their naive twins that are edited together, and what is true of every agent in them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import timebound as tb
from helpers import Case, graph_cases, grid_cases
from naive.repeated import Ground, Roads

COSTS = (0.25, 0.5, 1.0, 2.0, 4.0, 9.0)


def ground(case: Case) -> Case:
    """The same case with a twin that can be edited."""
    rules = {"connectivity": case.twin.connectivity, "corners": case.twin.corners, "diagonal": case.twin.diagonal}
    return Case(case.world, Ground(case.twin.cells, **rules), case.start, case.goal)


def grounds(side: int = 8) -> st.SearchStrategy[Case]:
    return st.one_of(*(grid_cases(side=side, kind=kind) for kind in ("plain", "plain", "near", "far"))).map(ground)


def roads() -> st.SearchStrategy[Case]:
    """Undirected graphs without an estimate, and grids as graphs, with one."""
    plain = graph_cases().filter(lambda case: case.world.undirected and not case.world.directed)
    return st.one_of(
        plain.map(lambda case: Case(case.world, Roads.of_graph(case.twin), case.start, case.goal)),
        grid_cases(side=6).map(
            lambda case: Case(case.world.to_graph(), Roads.of_grid(case.twin), case.start, case.goal)
        ),
    )


def edit_ground(random: np.random.Generator, case: Case, costs: Sequence[float] = COSTS) -> int:
    """One edit of a grid, of the agent's cell or the goal too. Returns how many cells changed."""
    rows, cols = case.world.shape
    cells = [(int(random.integers(rows)), int(random.integers(cols))) for _ in range(random.integers(1, 4))]
    what = random.choice(["block", "unblock", "set_cost"] if case.twin.terrain else ["block", "unblock"])
    if what == "set_cost":
        cost = float(random.choice(costs))
        case.twin.set_cost(cells[0], cost)
        return case.world.set_cost(cells[0], cost)
    getattr(case.twin, what)(cells)
    return getattr(case.world, what)(cells)


def edit_roads(random: np.random.Generator, case: Case) -> int:
    """One edit of an arc and its reverse; never cheaper than at first where there is an estimate."""
    arcs = [(u, step.target) for u in case.twin.points() for step in case.twin.arcs[u]]
    if not arcs:
        return 0
    u, v = arcs[int(random.integers(len(arcs)))]
    what = random.choice(["block", "unblock", "set_cost"])
    if what != "set_cost":
        getattr(case.twin, what)(u, v)
        return getattr(case.world, what)(u, v)
    cost = float(random.integers(1, 10))
    if case.world.labels is not None:
        cost = case.twin.made[u, v] * float(random.choice([1.0, 1.5, 4.0]))
    case.twin.set_cost(u, v, cost)
    return case.world.set_cost(u, v, cost)


def corridors(low: int, high: int, room: int, drop: int, dear: float = 1.0) -> tuple[np.ndarray, Any, Any, Any]:
    """Figure 2: two corridors, and an opening in the wall between them, ``low`` steps above the start.

    The left one is the more promising, but ends in a room without a door. Through the opening it is ``drop`` steps
    farther to the goal than from below. From there on the right one costs ``dear`` a step.
    """
    bottom, right = room + high + low, room + 1
    opening = bottom - low
    cells = np.zeros((bottom + 2, right + 1))
    cells[:room, :room] = cells[:, 0] = cells[bottom + 1] = cells[:, right] = 1
    cells[opening, : right - 1] = cells[opening + drop, right - 2 :] = 1
    cells[opening : opening + drop + 1, right - 2] = 1
    cells[: opening + drop, right] = dear
    return cells, (bottom, 0), (0, right), (opening, 3)


def distances(world: Any, goal: Any) -> dict[Any, int]:
    """Optimal costs to the goal, by Dijkstra's algorithm."""
    best = {goal: 0}
    heap = [(0, goal)]
    while heap:
        cost, state = heapq.heappop(heap)
        for step in world.successors(state) if cost == best[state] else ():
            if cost + step.cost < best.get(step.target, math.inf):
                best[step.target] = cost + step.cost
                heapq.heappush(heap, (cost + step.cost, step.target))
    return best


def has_a_path(agent: tb.Agent) -> bool:
    return not agent.done and bool(agent._planner.state.follow["settled"][0])


def check_books(agent: tb.Agent, cost: float) -> None:
    """What holds at any time of any episode."""
    result = agent.result()
    assert result.moves + result.waits == agent.ticks == len(result.expansions_per_move)
    assert result.moves == len(result.path) - 1
    assert result.expansions_per_move.sum() == result.expansions - result.learning_expansions
    assert result.cost == agent.cost == pytest.approx(cost)
    assert result.status == agent.status
    assert (agent.status == "active") == (not agent.done)
