"""Distance fields as a textbook has them: Dijkstra's algorithm from all goals at once, run anew whenever asked."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from itertools import count
from typing import Any


def distances(world: Any, goals: Mapping[Any, int]) -> dict[Any, int]:
    """What it costs to get to a goal and end there, for every state that can; ``goals`` says what ending there costs.

    Steps lead both ways at the same cost, so it does not matter that they are followed backwards.
    """
    best: dict[Any, int] = dict(goals)
    order = count()
    heap = [(cost, next(order), goal) for goal, cost in goals.items()]
    heapq.heapify(heap)
    while heap:
        cost, _, state = heapq.heappop(heap)
        if cost > best[state]:
            continue
        for step in world.successors(state):
            if cost + step.cost < best.get(step.target, math.inf):
                best[step.target] = cost + step.cost
                heapq.heappush(heap, (cost + step.cost, next(order), step.target))
    return best


def next_steps(world: Any, best: Mapping[Any, int], state: Any) -> list[Any]:
    """All neighbours by which a state can get to a goal as cheaply as it can at all."""
    return [
        step.target for step in world.successors(state) if best.get(step.target, math.inf) + step.cost == best[state]
    ]
