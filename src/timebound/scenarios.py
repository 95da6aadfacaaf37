"""Problems: where from, where to, and what the best way costs; drawn at random or read from scenario files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .episode import optimum
from .errors import MapError, SpecError, WorldError, at_least, check_world
from .text import shown
from .worlds.map_files import read_scen
from .worlds.opening import file_path

if TYPE_CHECKING:
    from .worlds.grid import Grid
    from .worlds.protocol import World

__all__ = ["Problem", "Scenario", "likely_pairs", "maps_folder", "problems", "spread"]

# Pairs searched per problem before giving up on a cost range.
_TRIES = 1000


@dataclass(frozen=True)
class Problem:
    """A start, a goal, and the cost of the best way between them if it is known."""

    start: Any
    goal: Any
    optimal: float | None = None


def problems(world: World, n: int, *, seed: int = 0, cost: tuple[float, float] | None = None) -> Iterator[Problem]:
    """Draw ``n`` solvable problems: start and goal at random, kept if the optimal cost lies in ``cost``.

    That is how the papers draw theirs. The same seed gives the same problems. Start and goal differ.

    >>> import timebound as tb
    >>> world = tb.Grid(tb.generate.rooms((40, 40), room=8))
    >>> drawn = list(tb.problems(world, 5, seed=1, cost=(10, 20)))
    >>> len(drawn), all(10 <= problem.optimal <= 20 for problem in drawn)
    (5, True)
    """
    check_world(world)
    try:
        low, high = cost if cost is not None else (0.0, np.inf)
        sound = bool(0 <= low <= high and high > 0)  # start and goal differ, so every problem costs something
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise SpecError(f"a cost range is (low, high) with 0 <= low <= high and high above 0, not {shown(cost)}")
    seed, n = at_least(0, seed, "seed is a whole number"), at_least(0, n, "n is a whole number")
    random = np.random.default_rng(seed)
    for _ in range(n):
        seen: list[float] = []
        for start, goal in likely_pairs(world, random, high):
            problem = world.point_of(start), world.point_of(goal)
            best = optimum(world, *problem)
            if best is not None:
                seen.append(best)
                if low <= best <= high:
                    yield Problem(*problem, best)
                    break
        else:
            those = f"; the {len(seen)} solvable ones cost {min(seen):.4g} to {max(seen):.4g}" if seen else ""
            raise WorldError(f"{_TRIES} random pairs gave no problem with a cost from {low:g} to {high:g}{those}")


def likely_pairs(world: World, random: np.random.Generator, high: float) -> Iterator[tuple[int, int]]:
    """A thousand random pairs of different states, less those that are known without a search not to do."""
    left = _TRIES
    for _ in range(_TRIES):
        pairs = world.random_states(2048, random).reshape(-1, 2)
        for start, goal in pairs[world.plausible(pairs, high)]:
            if left == 0:
                return
            left -= 1
            yield int(start), int(goal)


def maps_folder() -> Path | None:
    """The folder of MovingAI maps that ``$TIMEBOUND_MAPS`` names, if it is there."""
    named = os.environ.get("TIMEBOUND_MAPS")
    return Path(named) if named and Path(named).is_dir() else None


class Scenario:
    """A MovingAI ``.scen`` file: problems with their optimal costs, for one map.

    ``problems`` leaves out those whose start or goal is a wall of ``world``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = file_path(path)
        self.lines = read_scen(path)
        if not self.lines:
            raise MapError(f"{path}: the file has no problems")
        self.map_name = Path(self.lines[0].map.replace("\\", "/")).name

    def map_path(self) -> Path:
        """The map beside the scenario file. Some files name another folder, so only the name counts."""
        beside = [self.path.parent / self.map_name, self.path.with_suffix("")]
        for path in beside:
            with suppress(OSError, ValueError):  # a name that no file can have
                if path.is_file():
                    return path
        name = self.map_name if self.map_name.isprintable() and len(self.map_name) < 256 else shown(self.map_name)
        raise MapError(f"{self.path}: its map {name} is not beside it")

    def check(self, world: Grid) -> None:
        """Refuse a world of another size than the scenario was made for."""
        for number, line in enumerate(self.lines, start=2):
            if (line.height, line.width) != world.shape:
                raise MapError(
                    f"{self.path}: line {number} is for a map of {line.height} rows and {line.width} columns, "
                    f"but this map has {world.shape[0]} and {world.shape[1]}"
                )
            for what, (row, col) in (("start", line.start), ("goal", line.goal)):
                if row >= line.height or col >= line.width:
                    raise MapError(f"{self.path}: line {number} has its {what} ({row}, {col}) off the map")

    def problems(self, world: Grid, *, trust: bool = True) -> list[Problem]:
        """All problems an agent can be put into; with ``trust`` False their listed optimal costs are left out."""
        self.check(world)
        free = world.free
        kept = [line for line in self.lines if free[line.start] and free[line.goal]]
        # A length of 0 between different cells stands for a problem that has no solution.
        known = [trust and (line.optimal > 0 or line.start == line.goal) for line in kept]
        return [
            Problem(line.start, line.goal, line.optimal if sure else None)
            for line, sure in zip(kept, known, strict=True)
        ]


def spread(items: Sequence[Any], n: int | None) -> list[Any]:
    """At most ``n`` items, evenly spaced over the whole sequence.

    >>> spread(range(10), 3)
    [0, 4, 9]
    """
    if n is None or n >= len(items):
        return list(items)
    return [items[round(k * (len(items) - 1) / max(n - 1, 1))] for k in range(n)]
