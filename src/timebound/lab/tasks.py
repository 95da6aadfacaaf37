"""Problems from files: those that a scenario lists, or drawn at random on a map, and which map goes with what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..episode import optimum
from ..errors import MapError, SpecError, WorldError
from ..scenarios import Problem, Scenario, problems, spread
from ..workers import Progress
from ..worlds.from_file import Opened, scenario_beside
from .experiment import WorldSource

__all__ = ["Task", "collect"]


@dataclass(frozen=True)
class Task:
    """The problems of one map."""

    world: WorldSource
    opened: Opened
    problems: list[Problem]
    source: str  # "random", or the name of the scenario file
    seed: int | None  # what random problems were drawn with
    passed_over: int = 0  # problems of the file whose start or goal is in a wall
    digest: str = field(default="")


def collect(
    paths: Iterable[str | Path],
    *,
    count: int | None = None,
    seed: int = 0,
    cost: tuple[float, float] | None = None,
    recompute: bool = False,
    progress: Progress | None = None,
) -> list[Task]:
    """The problems that the files stand for.

    A ``.scen`` gives its problems, at most ``count`` spread evenly over the file. A map alone gives ``count`` random
    ones (100 if not said). A folder gives all its ``.map`` files, each with the ``.scen`` beside it; with ``cost`` it
    draws random problems instead. ``cost`` keeps optimal costs within a range, and ``recompute`` computes optima
    instead of trusting the file.
    """
    if count is not None and count < 1:
        raise SpecError(f"problems is how many per map, at least 1, not {count}")
    if seed < 0:
        raise SpecError(f"a seed is a whole number of at least 0, not {seed}")
    pairs = _pairs([Path(path) for path in paths], random_only=cost is not None)
    tasks = []
    for done, (map_path, scenario) in enumerate(pairs):
        if progress is not None:
            progress(done, len(pairs), "maps")
        world = WorldSource.of_file(map_path)
        opened = world.opened()
        if scenario is None:
            task = Task(world, opened, _drawn(opened, 100 if count is None else count, seed, cost), "random", seed)
        else:
            task = _listed(world, opened, scenario, count, cost, recompute)
        tasks.append(replace(task, digest=opened.world.digest))
    if progress is not None:
        progress(len(pairs), len(pairs), "maps")
    return tasks


def _pairs(paths: list[Path], *, random_only: bool) -> list[tuple[Path, Scenario | None]]:
    """Maps with their scenarios, in the order given."""
    if not paths:
        raise MapError("no map is given")
    maps: list[Path] = []
    scenarios: list[Scenario] = []
    pairs: list[tuple[Path, Scenario | None]] = []
    for path in paths:
        if path.is_dir():
            found = sorted(path.glob("*.map"))
            if not found:
                raise MapError(f"the folder {path} holds no .map file")
            for file in found:
                beside = None if random_only else scenario_beside(file)
                pairs.append((file, _scenario(beside) if beside else None))
        elif path.name.lower().endswith(".scen"):
            scenarios.append(_scenario(path))
        else:
            maps.append(path)
    if len(maps) == len(scenarios) == 1:
        return [*pairs, (maps[0], scenarios[0])]
    for scenario in scenarios:
        own = [path for path in maps if path.name == scenario.map_name]
        if own:
            maps.remove(own[0])
        pairs.append((own[0] if own else scenario.map_path(), scenario))
    return pairs + [(path, None) for path in maps]


def _scenario(path: Path) -> Scenario:
    try:
        return Scenario(path)
    except IndexError:
        raise MapError(f"{path} lists no problem") from None


def _drawn(opened: Opened, count: int, seed: int, cost: tuple[float, float] | None) -> list[Problem]:
    try:
        return list(problems(opened.world, count, seed=seed, cost=cost))
    except WorldError as error:
        raise WorldError(f"{opened.path}: {error}") from None


def _listed(
    world: WorldSource,
    opened: Opened,
    scenario: Scenario,
    count: int | None,
    cost: tuple[float, float] | None,
    recompute: bool,
) -> Task:
    if not opened.is_grid:
        raise MapError(f"{scenario.path} lists problems for a grid, and {opened.path} is a graph")
    try:
        listed = scenario.problems(opened.world, trust=not recompute)
    except IndexError:
        raise MapError(f"{scenario.path} has a start or goal that is off its own map") from None
    passed_over = len(scenario.lines) - len(listed)
    if cost is None:
        listed = spread(listed, count)
    if recompute:
        listed = [replace(problem, optimal=optimum(opened.world, problem.start, problem.goal)) for problem in listed]
    if cost is not None:
        low, high = cost
        listed = spread([p for p in listed if p.optimal is not None and low <= p.optimal <= high], count)
    if not listed:
        within = f" with an optimal cost from {cost[0]:g} to {cost[1]:g}" if cost is not None else ""
        raise MapError(f"{scenario.path} has no problem{within} that starts and ends on free ground")
    return Task(world, opened, listed, scenario.path.name, None, passed_over)
