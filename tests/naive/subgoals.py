"""Hill-climbing and path compression as the chapter on kNN LRTA* tells them; and the query for parts of records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .learning import Lrta


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


def up(world: Any, here: Any, there: Any, most: int) -> tuple[bool, int]:
    """Whether the climb arrives, and the steps it took: a last one shows that the climber is stuck."""
    trail = climb(world, here, there, most)
    if trail is not None:
        return True, len(trail) - 1
    steps = 0
    while steps < most:
        options = world.successors(here)
        best = min(options, key=lambda step: (step.cost + world.estimate(step.target, there), -step.cost), default=None)
        steps += 1
        if best is None or world.estimate(best.target, there) >= world.estimate(here, there):
            break
        here = best.target
    return False, steps


def query(
    world: Any, start: Any, goal: Any, records: list[list[Any]], candidates: int, limit: int
) -> tuple[list[Any] | None, int]:
    """Where to go one after the other, or None if no record fits; and the steps of all climbs."""
    arrives, spent = up(world, start, goal, limit)
    if arrives:
        return [goal], spent
    unlike = [max(world.estimate(start, record[0]), world.estimate(goal, record[-1])) for record in records]
    for k in sorted(range(len(records)), key=lambda k: (unlike[k], k))[:candidates]:
        for here, there in ((start, records[k][0]), (records[k][-1], goal)):
            arrives, steps = up(world, here, there, limit)
            spent += steps
            if not arrives:
                break
        if arrives:
            return [*records[k], goal], spent
    return None, spent


def walk(
    world: Any,
    start: Any,
    goal: Any,
    records: list[list[Any]],
    candidates: int,
    limit: int,
    moves: int,
    otherwise: Callable[[int], list[Any]] | None = None,
) -> Any:
    """kNN LRTA*'s whole way: a record from the database, if one fits, and LRTA* from stop to stop.

    If none fits LRTA* goes to the goal itself; or whatever walks ``otherwise``, which is told the steps of the query.
    """
    stops, spent = query(world, start, goal, records, candidates, limit)
    if stops is None and otherwise is not None:
        return otherwise(spent)
    stops = stops or [goal]
    trail = [start]
    for stop in stops:
        if trail[-1] != stop and trail[-1] != goal and len(trail) <= moves:
            trail += Lrta(world, stop).run(trail[-1], moves - len(trail) + 1).trail[1:]
            if goal in trail:
                trail = trail[: trail.index(goal) + 1]
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


def kept(cells: list[Any], tiers: list[int], near: Any, estimate: Any, climbs: Any, wanted: int, limit: int) -> Any:
    """Of the cells nearest to ``near``, tier by tier, those that pass: their numbers and estimates."""
    passed: list[tuple[int, int]] = []
    left = wanted * limit
    for tier, (low, high) in enumerate(pairwise(tiers), start=1):
        for far, number in sorted((estimate(cells[k], near), k) for k in range(low, high))[: 2 * wanted]:
            if len(passed) >= max(1, wanted * (tier + 1) // 4) or left <= 0:
                break
            arrives, steps = climbs(cells[number], min(limit, left))
            left -= steps
            if arrives:
                passed.append((number, far))
    return passed


def parts(
    world: Any,
    records: list[list[tuple[int, int]]],
    cells: list[Any],
    tiers: list[int],
    start: Any,
    goal: Any,
    estimate: Any,
    wanted: int,
    limit: int,
) -> tuple[int, list[Any]] | None:
    """The cheapest way by parts of one or two records: its cost, and the points on it; None if there is no way.

    A record is a list of (cell number, cost from its start). ``estimate`` is in the same unit.
    """

    first = kept(cells, tiers, start, estimate, lambda cell, most: up(world, start, cell, most), wanted, limit)
    last = []
    if first:
        last = kept(cells, tiers, goal, estimate, lambda cell, most: up(world, cell, goal, most), wanted, limit)
    ways = []
    for number, far in first:
        for record in records:
            for p, (cell, walked) in enumerate(record):
                if cell != number:
                    continue
                for x, (meeting, there) in enumerate(record):
                    ways.append((far + abs(there - walked), meeting, [c for c, _ in leg(record, p, x)]))
    found = []
    for number, far in last:
        for record in records:
            for q, (cell, walked) in enumerate(record):
                if cell != number:
                    continue
                for y, (meeting, there) in enumerate(record):
                    for cost, met, way in ways:
                        if met == meeting:
                            whole = way + [c for c, _ in leg(record, y, q)][1:]
                            found.append((cost + abs(there - walked) + far, whole))
    if not found:
        return None
    cost = min(cost for cost, _ in found)
    return cost, [whole for price, whole in found if price == cost]


def leg(record: list[Any], a: int, b: int) -> list[Any]:
    """The points of a record from one to another, either way."""
    return record[a : b + 1] if a <= b else record[b : a + 1][::-1]
