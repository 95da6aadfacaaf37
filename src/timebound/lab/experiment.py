"""Experiments as data: worlds, problems, algorithms and budgets make runs. engine.py makes records of them.

A run is told by what decides its outcome: the map's hash, start and goal, algorithm, budget, setting. Its key is a
hash of these. So a sweep that was killed goes on where it stopped, one that has grown runs only what is new, and two
experiments that need the same run share it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ..algorithms import Spec, parse_spec
from ..budget import Budget
from ..episode import optimum
from ..errors import SpecError
from ..scenarios import Problem, problems
from ..worlds import generate
from ..worlds.from_file import Opened, open_world
from ..worlds.grid import Grid
from .database_files import DatabaseFile
from .hardness import as_hard_as
from .recipes import Recipe

__all__ = ["Entry", "Run", "Setting", "Sweep", "WorldSource", "cross", "entry_of", "plan", "runs_on"]


@dataclass(frozen=True)
class WorldSource:
    """Where a world comes from, so that any process can make it: a file, or a generator's name and arguments."""

    name: str
    file: str | None = None
    generator: str | None = None
    shape: tuple[int, int] = (0, 0)
    seed: int = 0
    options: tuple[tuple[str, Any], ...] = ()
    scale: int = 1

    @classmethod
    def of_file(cls, path: str | Path, scale: int = 1) -> WorldSource:
        """A map file, enlarged if asked for."""
        file = Path(path)
        return cls(file.name if scale == 1 else f"{file.stem} x{scale}", file=str(file.absolute()), scale=scale)

    @classmethod
    def generated(cls, kind: str, side: int, seed: int = 0, **options: Any) -> WorldSource:
        """A square map from one of the generators."""
        words = "".join(f", {name} {value}" for name, value in options.items())
        name = f"{kind} {side}x{side}, seed {seed}{words}"
        return cls(name, generator=kind, shape=(side, side), seed=seed, options=tuple(sorted(options.items())))

    def enlarged(self, factor: int) -> WorldSource:
        """The same map with each cell as so many by so many, as the papers enlarge maps."""
        stem = Path(self.name).stem if self.file is not None else self.name
        return replace(self, name=f"{stem} x{factor}", scale=factor)

    def opened(self) -> Opened:
        """The world, and how its file writes places. It is made once as long as someone holds it; a few are kept."""
        written = None
        if self.file is not None:
            with suppress(OSError):  # whoever reads it says what is wrong
                state = os.stat(self.file)
                written = state.st_ino, state.st_size, state.st_mtime_ns
        with _opening:
            found = _held.get((self, written))
            if found is None:
                found = _held[self, written] = self._make()
            _kept[:] = [found, *(one for one in _kept if one is not found)][:_FEW]
            return found

    def open(self) -> Any:
        """The world alone."""
        return self.opened().world

    def _make(self) -> Opened:
        if self.file is not None:
            found = open_world(self.file)
        else:
            assert self.generator is not None
            cells = generate.GENERATORS[self.generator](self.shape, seed=self.seed, **dict(self.options))
            found = Opened(Grid(cells), Path(self.name))
        return found if self.scale == 1 else replace(found, world=found.world.scale(self.scale))


_FEW = 4
_opening = threading.Lock()
_held: WeakValueDictionary[Any, Opened] = WeakValueDictionary()
_kept: list[Opened] = []  # the last ones that were asked for


@dataclass(frozen=True)
class Setting:
    """What all runs of a race have in common."""

    commit: int = 1
    move_limit: int | None = None
    change_rate: float | None = None  # the world changes on the way, see RandomChanges
    change_every: int = 10
    non_optimal: bool = False  # count the non-optimal moves: one more search over the whole map for each run


@dataclass(frozen=True)
class Entry:
    """A competitor: an algorithm as the user wrote it, its budget, and its database if it uses one."""

    text: str
    spec: Spec
    budget: Budget
    database: Any = None


def cross(specs: Iterable[str], budgets: Iterable[str | int | None]) -> list[Entry]:
    """Every algorithm with every budget, each pair once.

    >>> [(entry.text, str(entry.budget)) for entry in cross(["a*", "wa*:weight=3"], [10, "none"])]
    [('a*', '10'), ('wa*:weight=3', '10'), ('a*', 'none'), ('wa*:weight=3', 'none')]
    """
    parsed = {text.strip(): parse_spec(text) for text in specs}
    limits = {str(limit): limit for limit in map(_budget, budgets)}
    return [Entry(text, spec, limit) for limit in limits.values() for text, spec in parsed.items()]


def _budget(value: str | int | None) -> Budget:
    return Budget.of(None if isinstance(value, str) and value.strip().lower() == "none" else value)


@lru_cache(maxsize=1024)
def entry_of(spec: str, budget: str) -> Entry:
    """A competitor as a run names it."""
    return Entry(spec, parse_spec(spec), _budget(budget))


@dataclass(frozen=True)
class Sweep:
    """Every algorithm with every budget, and every database if it uses one, on every problem of every world."""

    name: str
    worlds: tuple[WorldSource, ...]
    specs: tuple[str, ...]
    budgets: tuple[int | str, ...] = ("none",)
    problems: int = 100  # per world
    seed: int = 0
    cost: tuple[float, float] | None = None
    difficulty: tuple[float, ...] = ()  # how hard they are to be for A*: see hardness.as_hard_as
    corners: bool = False  # one problem per world instead: from its first cell to its last
    listed: tuple[tuple[Problem, ...], ...] = ()  # the problems of each world instead
    setting: Setting = field(default_factory=Setting)
    kind: str = "episode"  # what is done with a problem: see KINDS
    databases: tuple[Recipe, ...] = ()  # for the algorithms that use one
    blocked: float = 0.0  # percent of the free cells that are blocked after the databases were made; kind "edited"


@dataclass(frozen=True)
class Run:
    """One problem for one algorithm."""

    world: WorldSource
    digest: str
    problem: Problem
    number: int
    seed: int | None
    spec: str
    budget: str
    setting: Setting
    kind: str = "episode"
    database: Recipe | DatabaseFile | None = None
    blocked: float = 0.0
    source: str = "random"  # where the problem comes from

    @cached_property
    def key(self) -> str:
        """A hash of what decides the outcome."""
        change = self.number if self.setting.change_rate is not None else 0
        places = *_numbers(self.problem.start), *_numbers(self.problem.goal)
        common = _common(self.spec, self.setting, self.kind, self.database, self.blocked)
        return _hash(f"{self.digest} {places} {self.budget} {change} {common}")


def _numbers(place: Any) -> tuple[int, ...]:
    """A cell's row and column, or a node."""
    return tuple(map(int, place)) if isinstance(place, tuple) else (int(place),)


def _places(numbers: Sequence[int]) -> tuple[Any, Any]:
    """Start and goal of the numbers of both.

    >>> _places([1, 2, 3, 4]), _places([5, 6])
    (((1, 2), (3, 4)), (5, 6))
    """
    half = len(numbers) // 2
    start, goal = tuple(numbers[:half]), tuple(numbers[half:])
    return (start, goal) if half > 1 else (start[0], goal[0])


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=1024)
def _common(spec: str, setting: Setting, kind: str, database: Any, blocked: float) -> str:
    """What many runs have in common, as text."""
    told = asdict(setting) | {"databases": ()}  # which settings once had: without it, all that was ever run is lost
    what = [str(parse_spec(spec)), told, kind, None if database is None else str(database), blocked]
    return json.dumps(what, sort_keys=True)


Drawn = Callable[[str, Callable[[], Any]], Any]
Competitor = tuple[str, str, Recipe | DatabaseFile | None]  # algorithm, budget, database


def plan(sweep: Sweep, remembered: Drawn) -> Iterator[Run]:
    """The runs of a sweep, world by world and problem by problem.

    ``remembered(key, draw)`` returns the problems drawn before under that key, or draws and keeps them.
    """
    budgets = [str(_budget(budget)) for budget in sweep.budgets]
    uses = [(spec, recipe) for spec in sweep.specs for recipe in _recipes(sweep, spec)]
    competitors = [(spec, budget, recipe) for budget in budgets for spec, recipe in uses]
    for number, source in enumerate(sweep.worlds):
        what: list[Any] = [asdict(source) | {"file": Path(source.file).name if source.file else None}]
        given = sweep.listed[number] if sweep.listed else ()
        if given:
            what += [[_numbers(p.start), _numbers(p.goal)] for p in given]
        else:
            what += ["corners"] if sweep.corners else [sweep.problems, sweep.seed, sweep.cost]
            what += [sweep.difficulty] if sweep.difficulty else []

        def draw(source: WorldSource = source, given: Sequence[Problem] = given) -> Any:
            grid = source.open()
            if given:
                ends = [(p.start, p.goal) for p in given]
                return [grid.digest, [[*_numbers(a), *_numbers(b), optimum(grid, a, b)] for a, b in ends]]
            if sweep.corners:
                end = grid.shape[0] - 1, grid.shape[1] - 1
                return [grid.digest, [[0, 0, *end, optimum(grid, (0, 0), end)]]]
            found: Iterable[Problem]
            if sweep.difficulty:
                found = as_hard_as(grid, sweep.problems, sweep.difficulty, seed=sweep.seed, cost=sweep.cost)
            else:
                found = problems(grid, sweep.problems, seed=sweep.seed, cost=sweep.cost)
            return [grid.digest, [[*_numbers(p.start), *_numbers(p.goal), p.optimal] for p in found]]

        digest, drawn = remembered(_hash(json.dumps(what, sort_keys=True)), draw)
        listed = [Problem(*_places(numbers), best) for *numbers, best in drawn]
        yield from runs_on(
            listed, competitors,
            world=source, digest=digest, seed=sweep.seed, setting=sweep.setting, kind=sweep.kind, blocked=sweep.blocked,
        )  # fmt: skip


def runs_on(listed: Sequence[Problem], competitors: Sequence[Competitor], **same: Any) -> Iterator[Run]:
    """Every problem for every competitor, with the ``same`` fields for all runs.

    All run a problem before the next one begins, so that a machine that slows down slows all of them.
    """
    for number, problem in enumerate(listed):
        for spec, budget, database in competitors:
            yield Run(problem=problem, number=number, spec=spec, budget=budget, database=database, **same)


def _recipes(sweep: Sweep, spec: str) -> tuple[Recipe | None, ...]:
    """The databases that an algorithm is to run with: the sweep's, or what it says itself; none if it uses none.

    Of the sweep's those that would be made for it; if there are none, the first that will do.
    """
    parsed = parse_spec(spec)
    if parsed.database is None:
        return (None,)
    named = tuple(recipe for recipe in sweep.databases if recipe.serves(spec))
    if named:
        return named
    for recipe in sweep.databases:
        if recipe.will_do(spec):
            return (recipe,)
    if parsed.database.told(parsed.parameters):
        return (Recipe.of(spec),)
    raise SpecError(
        f"{spec} looks things up in a database, and the sweep {sweep.name!r} names none: "
        f"give it databases=(Recipe.of({parsed.algorithm.name!r}),)"
    )
