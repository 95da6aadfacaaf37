"""Problems as hard as a paper's. How hard one is, A* tells: the states it expands per edge of the path it finds."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..episode import Agent
from ..errors import WorldError
from ..scenarios import Problem, likely_pairs

__all__ = ["as_hard_as", "nearest_to"]

TRIED = 40  # candidates for each problem, at most
NEAR = 0.05  # of the mean wanted: so near, on average, the problems are to lie


def as_hard_as(
    world: Any, n: int, wanted: Sequence[float], *, seed: int = 0, cost: tuple[float, float] | None = None
) -> list[Problem]:
    """``n`` random problems whose difficulties are spread as ``wanted`` says: least, quantiles in even steps, most.

    Candidates are drawn as ever, and one A* search tells what each costs and how hard it is. None is harder than the
    most that is wanted. Of the others those are taken that come nearest. On a map where such problems are rare, what
    there is after 40 candidates for each has to do. The same seed gives the same problems.
    """
    shares = (np.arange(n) + 0.5) / n
    targets = np.interp(shares, np.linspace(0, 1, len(wanted)), wanted).tolist()
    found: list[tuple[float, Problem]] = []
    drawn = 0
    for hard, problem in _candidates(world, np.random.default_rng(seed), cost or (0.0, np.inf)):
        drawn += 1
        if hard <= wanted[-1]:
            found.append((hard, problem))
        if drawn % n == 0 and len(found) >= n:
            chosen = nearest_to(targets, [one for one, _ in found])
            off = np.mean([abs(found[k][0] - target) for k, target in zip(chosen, targets, strict=True)])
            if off <= NEAR * np.mean(targets) or drawn >= TRIED * n:
                return [found[k][1] for k in sorted(chosen)]
        elif drawn >= TRIED * n:
            break
    raise WorldError(f"of {drawn} random problems {len(found)} have a difficulty of at most {wanted[-1]:g}, not {n}")


def nearest_to(targets: Sequence[float], values: Sequence[float]) -> list[int]:
    """For each target in turn the value nearest to it that none before has taken, by its place.

    >>> nearest_to([1, 2, 9], [8, 3, 1, 100])
    [2, 1, 0]
    """
    left = sorted((value, place) for place, value in enumerate(values))
    taken = []
    for target in targets:
        k = bisect(left, (target,))
        if k == len(left) or (k > 0 and target - left[k - 1][0] <= left[k][0] - target):
            k -= 1
        taken.append(left.pop(k)[1])
    return taken


def _candidates(world: Any, random: np.random.Generator, cost: tuple[float, float]) -> Iterator[tuple[float, Problem]]:
    """Random problems with a cost in the range, and how hard they are; they end if none has been found for long."""
    some = True
    while some:
        some = False
        for start, goal in likely_pairs(world, random, cost[1]):
            problem = world.point_of(start), world.point_of(goal)
            search = Agent("a*", world, *problem).run()
            if search.status == "reached" and cost[0] <= search.cost <= cost[1]:
                some, result = True, search.result()
                yield result.expansions / result.moves, Problem(*problem, search.cost)
