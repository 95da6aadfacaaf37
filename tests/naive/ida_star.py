"""IDA*, recursive: depth-first with a limit on f, which grows to the smallest f that was pruned."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """The path, or None if there is no way; how many states were expanded; how long the longest path held was."""

    path: list[Any] | None
    expansions: int
    deepest: int


def ida_star(world: Any, start: Any, goal: Any) -> Outcome:
    """A state already on the path is not entered again, so the search ends also where there is no way."""
    path = [start]
    expansions = 0
    deepest = 0

    def explore(g: int, limit: float) -> float | None:
        """The smallest f that was pruned below the end of the path; None if the goal was reached."""
        nonlocal expansions, deepest
        if len(path) > 1:
            deepest = max(deepest, len(path))
        if path[-1] == goal:
            return None
        expansions += 1
        pruned = math.inf
        for step in world.successors(path[-1]):
            if step.target in path:
                continue
            f = g + step.cost + world.estimate(step.target, goal)
            if f > limit:
                pruned = min(pruned, f)
            else:
                path.append(step.target)
                below = explore(g + step.cost, limit)
                if below is None:
                    return None
                path.pop()
                pruned = min(pruned, below)
        return pruned

    limit: float | None = world.estimate(start, goal)
    while limit is not None and limit < math.inf:
        limit = explore(0, limit)
    return Outcome(None if limit is not None else path, expansions, deepest)
