"""Hill-climbing and path compression as the chapter on kNN LRTA* tells them."""

from __future__ import annotations

from typing import Any


def climb(world: Any, start: Any, end: Any, limit: int) -> list[Any] | None:
    """The way of a greedy agent, or None if it gets stuck or needs more steps."""
    here, trail = start, [start]
    while here != end:
        if len(trail) > limit:
            return None
        steps = world.successors(here)
        if not steps:
            return None
        # Ties go to the dearer move, then to the first.
        best = min(steps, key=lambda step: (step.cost + world.estimate(step.target, end), -step.cost))
        if world.estimate(best.target, end) >= world.estimate(here, end):
            return None
        here = best.target
        trail.append(here)
    return trail


def compress(world: Any, path: list[Any], limit: int) -> list[Any]:
    """The subgoals of a path."""
    subgoals, k, last = [], 0, len(path) - 1
    while k < last and climb(world, path[k], path[last], limit) is None:
        low, high = k + 1, last
        while high - low > 1:
            middle = (low + high) // 2
            if climb(world, path[k], path[middle], limit) is not None:
                low = middle
            else:
                high = middle
        subgoals.append(path[low])
        k = low
    return subgoals
