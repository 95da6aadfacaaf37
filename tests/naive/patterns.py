"""Pattern tables as Bulitko et al. 2008 tell them: Dijkstra on dictionaries; for depths LRTA*'s own lookahead."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

from .learning import Lrta


def distances(world: Any, root: Any) -> dict[Any, int]:
    """What the way from everywhere to ``root`` costs, in a world whose steps cost the same both ways."""
    found: dict[Any, int] = {}
    heap: list[tuple[int, int, Any]] = [(0, 0, root)]
    pushed = 0
    while heap:
        cost, _, state = heapq.heappop(heap)
        if state in found:
            continue
        found[state] = cost
        for step in world.successors(state):
            pushed += 1
            heapq.heappush(heap, (cost + step.cost, pushed, step.target))
    return found


def optimal_steps(world: Any, far: Mapping[Any, int], state: Any) -> list[Any]:
    """The states that an optimal way may go to next."""
    return [step.target for step in world.successors(state) if step.cost + far[step.target] == far[state]]


def ways_out(world: Any, far: Mapping[Any, int], region: Mapping[Any, int], start: Any) -> set[Any]:
    """The first state outside of a region on each of the optimal ways from ``start``."""
    out, seen, todo = set(), {start}, [start]
    while todo:
        for state in optimal_steps(world, far, todo.pop()):
            if region[state] != region[start]:
                out.add(state)
            elif state not in seen:
                seen.add(state)
                todo.append(state)
    return out


def depth(world: Any, far: Mapping[Any, int], start: Any, goal: Any, cap: int) -> int:
    """The least depth at which LRTA* steps from ``start`` onto an optimal way; ``cap`` if there is none."""
    right = optimal_steps(world, far, start)
    for plies in range(1, cap):
        step = Lrta(world, goal, depth=plies).decide(start)
        if step is not None and step[0] in right:
            return plies
    return cap
