"""Best-first search with a plain heap: A*, weighted A*, greedy search and Dijkstra are four pairs of weights."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any, NamedTuple

# Weights are fixed-point numbers with ten binary digits, rounded down.
DIGITS = 10
ONE = 1 << DIGITS


class Outcome(NamedTuple):
    """What a search found, and what it took. ``path`` and ``cost`` are None if there is no way."""

    path: list[Any] | None
    cost: int | None
    expansions: int
    states: int
    reopened: int


def best_first(world: Any, start: Any, goal: Any, g_weight: float, h_weight: float, reopen: bool) -> Outcome:
    """Expand the state with the least f, to the width of a bucket; among equals the one opened last."""
    g_weight, h_weight = int(g_weight * ONE), int(h_weight * ONE)

    def evaluate(state: Any, g: int) -> int:
        return g_weight * g + h_weight * world.estimate(state, goal)

    def bucket(f: float) -> float:
        return f if f == float("inf") else int(f) >> (world.shift + DIGITS)

    newer = count(0, -1)
    cost = {start: 0}
    parent: dict[Any, Any] = {start: None}
    closed: set[Any] = set()
    goal_f = float("inf")
    expansions = reopened = 0
    heap = [(bucket(evaluate(start, 0)), next(newer), start)]
    while heap and heap[0][0] <= bucket(goal_f):
        key, _, state = heapq.heappop(heap)
        # In the goal's own bucket only a state that can still improve the goal is worth expanding.
        if state in closed or (key == bucket(goal_f) and evaluate(state, cost[state]) >= goal_f):
            continue
        closed.add(state)
        expansions += 1
        for step in world.successors(state):
            g = cost[state] + step.cost
            if step.target in cost:
                if g >= cost[step.target] or g_weight == 0:
                    continue  # no better; and a greedy search keeps the first parent
                if step.target in closed:
                    if not reopen:
                        continue
                    closed.discard(step.target)
                    reopened += 1
            cost[step.target] = g
            parent[step.target] = state
            f = evaluate(step.target, g)
            if step.target == goal:
                goal_f = f
            elif f < goal_f:
                heapq.heappush(heap, (bucket(f), next(newer), step.target))
    if goal_f == float("inf"):
        return Outcome(None, None, expansions, len(cost), reopened)
    path = [goal]
    while path[-1] != start:
        path.append(parent[path[-1]])
    return Outcome(path[::-1], cost[goal], expansions, len(cost), reopened)
