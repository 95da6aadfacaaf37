"""Experiments as data: worlds, problems, algorithms and budgets make a sweep; a sweep makes runs; a run makes a record.

A run is told by what decides its outcome: the map's hash, start and goal, algorithm, budget, setting. Its key is a
hash of these. So a sweep that was killed goes on where it stopped, one that has grown runs only what is new, and two
experiments that need the same run share it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import parse_spec
from ..budget import Budget
from ..episode import Agent, validate
from ..errors import MapError, ProblemError, SpecError
from ..kernels.jit import sources_digest
from ..scenarios import Problem, problems
from ..worlds import generate
from ..worlds.changes import RandomChanges
from ..worlds.grid import Grid
from .bench import Entry, Setting, machine, measure, measures_of, versions
from .columns import COLUMNS
from .recipes import Recipe, opened

__all__ = ["KINDS", "Chunk", "Run", "Sweep", "WorldSource", "chunks", "code_digest", "plan", "run_chunk"]


@dataclass(frozen=True)
class WorldSource:
    """Where a grid comes from, so that any process can make it: a map file, or a generator's name and arguments."""

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

    def open(self) -> Grid:
        """The grid; made once per process, and a few are kept."""
        with _opening:
            return _opened(self)


_opening = threading.Lock()


@lru_cache(maxsize=4)
def _opened(source: WorldSource) -> Grid:
    if source.file is not None:
        grid = Grid.load(source.file)
    else:
        assert source.generator is not None
        grid = Grid(generate.GENERATORS[source.generator](source.shape, seed=source.seed, **dict(source.options)))
    return grid if source.scale == 1 else grid.scale(source.scale)


def _walled(source: WorldSource, percent: float) -> Grid:
    """The grid with that share of its free cells blocked at random; a larger share blocks the same cells, and more."""
    grid = source.open()
    with _opening:
        return _walled_in(source, percent, grid)


@lru_cache(maxsize=4)
def _walled_in(source: WorldSource, percent: float, grid: Grid) -> Grid:
    edited = grid.copy()
    edited.block(grid.free & (np.random.default_rng(0).random(grid.shape) < percent / 100))
    return edited


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
    corners: bool = False  # one problem per world instead: from its first cell to its last
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
    seed: int
    spec: str
    budget: str
    setting: Setting
    kind: str
    database: Recipe | None = None
    blocked: float = 0.0

    @cached_property
    def key(self) -> str:
        """A hash of what decides the outcome."""
        change = self.number if self.setting.change_rate is not None else 0
        places = *self.problem.start, *self.problem.goal
        common = _common(self.spec, self.setting, self.kind, self.database, self.blocked)
        return blake2b(f"{self.digest} {places} {self.budget} {change} {common}".encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=1024)
def _common(spec: str, setting: Setting, kind: str, database: Recipe | None, blocked: float) -> str:
    """What many runs have in common, as text."""
    what = [_in_full(spec), _as_dict(setting), kind, None if database is None else str(database), blocked]
    return json.dumps(what, sort_keys=True)


_LONGEST = 100_000  # ticks after which a walk through a changing world is given up


@lru_cache(maxsize=1024)
def _as_dict(setting: Setting) -> dict[str, Any]:
    return asdict(setting)


@lru_cache(maxsize=1024)
def _columns_of(setting: Setting) -> dict[str, Any]:
    return {name: value for name, value in _as_dict(setting).items() if name in COLUMNS}


@lru_cache(maxsize=1024)
def _in_full(spec: str) -> str:
    return str(parse_spec(spec))


Drawn = Callable[[str, Callable[[], Any]], Any]


def plan(sweep: Sweep, remembered: Drawn, progress: Callable[[str], None] | None = None) -> Iterator[Run]:
    """The runs of a sweep, world by world and problem by problem.

    ``remembered(key, draw)`` returns the problems drawn before under that key, or draws and keeps them.
    """
    entries = [(spec, recipe) for spec in sweep.specs for recipe in _recipes(sweep, spec)]
    for source in sweep.worlds:
        if progress is not None:
            progress(source.name)
        what: list[Any] = [asdict(source) | {"file": Path(source.file).name if source.file else None}]
        what += ["corners"] if sweep.corners else [sweep.problems, sweep.seed, sweep.cost]
        key = blake2b(json.dumps(what, sort_keys=True).encode(), digest_size=12).hexdigest()

        def draw(source: WorldSource = source) -> Any:
            grid = source.open()
            if sweep.corners:
                end = grid.shape[0] - 1, grid.shape[1] - 1
                return [grid.digest, [[0, 0, *end, Agent("a*", grid, (0, 0), end).run().cost]]]
            found = problems(grid, sweep.problems, seed=sweep.seed, cost=sweep.cost)
            return [grid.digest, [[*map(int, (*p.start, *p.goal)), p.optimal] for p in found]]

        digest, drawn = remembered(key, draw)
        for number, (row, col, goal_row, goal_col, optimal) in enumerate(drawn):
            problem = Problem((row, col), (goal_row, goal_col), optimal)
            for budget in sweep.budgets:
                for spec, recipe in entries:
                    yield Run(
                        source,
                        digest,
                        problem,
                        number,
                        sweep.seed,
                        spec,
                        str(Budget.of(None if budget == "none" else budget)),
                        sweep.setting,
                        sweep.kind,
                        recipe,
                        sweep.blocked,
                    )


def _recipes(sweep: Sweep, spec: str) -> tuple[Recipe | None, ...]:
    """The databases that an algorithm is to run with: the sweep's, or what it says itself; none if it uses none."""
    parsed = parse_spec(spec)
    if parsed.database is None:
        return (None,)
    named = tuple(recipe for recipe in sweep.databases if recipe.serves(spec))
    if named:
        return named
    if parsed.database.told(parsed.parameters):
        return (Recipe.of(spec),)
    raise SpecError(
        f"{spec} looks things up in a database, and the sweep {sweep.name!r} names none: "
        f"give it databases=(Recipe.of({parsed.algorithm.name!r}),)"
    )


@dataclass(frozen=True)
class Chunk:
    """Runs in one world: what one thread or worker does at a time, and what is committed at once."""

    runs: tuple[Run, ...]
    jobs: int = 1
    databases: str = ""  # the folder that their databases lie in


def chunks(runs: Iterable[Run], size: int, jobs: int = 1, databases: str = "") -> list[Chunk]:
    """Runs in order, cut where the world changes and after ``size`` of them."""
    made: list[Chunk] = []
    now: list[Run] = []
    for run in runs:
        if now and (len(now) >= size or run.world != now[-1].world):
            made.append(Chunk(tuple(now), jobs, databases))
            now = []
        now.append(run)
    if now:
        made.append(Chunk(tuple(now), jobs, databases))
    return made


def run_chunk(chunk: Chunk) -> list[dict[str, Any]]:
    """The records of a chunk. A run that fails makes a record that says how; the others go on."""
    world = chunk.runs[0].world.open()
    if world.digest != chunk.runs[0].digest:
        raise MapError(f"{chunk.runs[0].world.name} is not the map that the experiment was planned with")
    always = dict.fromkeys(COLUMNS) | versions() | {"code": code_digest(), "machine": machine(), "jobs": chunk.jobs}
    records = []
    for run in chunk.runs:
        entry = _entry(run.spec, run.budget)
        before = time.perf_counter()
        error = None
        try:
            if run.database is not None:
                entry = replace(entry, database=opened(run.database.file(chunk.databases, run.digest), world))
            measures = KINDS[run.kind](world, run, entry)
        except Exception as problem:  # a defect: told in the report's first section
            measures = {"status": "error"}
            error = f"{type(problem).__name__}: {problem}"
        record = always | _columns_of(run.setting) | {"optimal": run.problem.optimal} | measures
        record["key"] = run.key
        record["map"] = run.world.name
        record["digest"] = run.digest
        record["source"] = "random"
        record["seed"] = run.seed
        record["problem"] = run.number
        record["start"] = "{},{}".format(*run.problem.start)
        record["goal"] = "{},{}".format(*run.problem.goal)
        record["spec"] = run.spec
        record["algorithm"] = _in_full(run.spec)
        record["budget"] = run.budget
        record["kind"] = run.kind
        record["database"] = str(run.database) if run.database else None
        record["records"] = run.database.amount if run.database else None
        record["blocked"] = run.blocked
        record["error"] = error
        record["wall_seconds"] = time.perf_counter() - before
        records.append(record)
    return records


@lru_cache(maxsize=1024)
def _entry(spec: str, budget: str) -> Entry:
    return Entry(spec, parse_spec(spec), Budget.of(None if budget == "none" else budget))


def _episode(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    return measure(world, run.problem, entry, run.setting, run.number)


def _bounded(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode in a changing world that looks, after each change, at what Theorem 3 says about the path.

    ``bound_ratio`` is the worst cost of the path in force over w c* + (w - 1) d, both as the world is then, where d is
    the way walked since the search began. (At the search's root d is 0, and this is the theorem.)
    """
    grid = world.copy()
    assert run.setting.change_rate is not None
    changes = RandomChanges(run.setting.change_rate, every=run.setting.change_every, seed=run.number)
    changes.begin(grid)
    weight = float(entry.spec.parameters.get("weight", 1.0))
    agent = Agent(entry.spec, grid, run.problem.start, run.problem.goal, budget=entry.budget)
    worst, searches, root_cost = 0.0, 0, 0.0
    while agent.status in ("active", "unreachable") and agent.ticks < _LONGEST:
        before = agent.cost
        agent.run(1)
        restarts = agent.result().restarts
        if restarts != searches:
            searches, root_cost = restarts, before
        path = agent.ahead()
        if len(path) and tuple(path[-1]) == agent.goal:
            rest = validate(grid, [agent.position, *map(tuple, path)]).cost
            best = Agent("a*", grid, agent.position, agent.goal).run().cost
            worst = max(worst, rest / (weight * best + (weight - 1) * (agent.cost - root_cost)))
        if run.setting.change_every > 1:
            agent.run(run.setting.change_every - 1)
        if agent.status == "unreachable":
            agent.wait(run.setting.change_every)
        if agent.status in ("active", "unreachable"):
            changes.change(grid, [agent.position, agent.goal])
    result = agent.result(run.problem.optimal)
    measures = result.to_dict(path=False)
    return {name: value for name, value in measures.items() if name in COLUMNS} | {"bound_ratio": worst}


def _with_heap(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode whose open list is a binary heap, as in most papers, instead of buckets."""
    return measure(_heaped(run.world), run.problem, entry, run.setting, run.number)


@lru_cache(maxsize=4)
def _heaped(source: WorldSource) -> Grid:
    grid = source.open().copy()
    grid.buckets, grid.spare = False, []
    grid.view = grid.view._replace(shift=0)
    return grid


def _asked(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode of kNN LRTA*, with what its database answered and how many moves had more to do than to move.

    The answer is of the last query: ``record``, ``none``, or ``straight`` if the goal could be climbed to.
    """
    problem, limit = run.problem, run.setting.move_limit
    agent = Agent(
        entry.spec, world, problem.start, problem.goal,
        budget=entry.budget, move_limit=limit, database=entry.database,
    ).run()  # fmt: skip
    result = agent.result(problem.optimal)
    planner: Any = agent._planner
    query = planner.state.query[0]
    answer = "record" if query["record"] >= 0 else "straight" if query["tried"] < 0 else "none"
    return measures_of(result) | {"answer": answer, "asking_moves": int((result.expansions_per_move > 1).sum())}


def _edited(world: Grid, run: Run, entry: Entry) -> dict[str, Any]:
    """An episode on the map with cells blocked after the database was made, and the optimum as the map is now.

    A problem that has no way any more, or whose start or goal is in a wall, ends as ``unreachable``.
    """
    grid = _walled(run.world, run.blocked)
    start, goal = run.problem.start, run.problem.goal
    try:
        best = Agent("a*", grid, start, goal).run()
    except ProblemError:
        return {"status": "unreachable", "optimal": None}
    if best.status != "reached":
        return {"status": "unreachable", "optimal": None}
    return measure(grid, Problem(start, goal, best.cost), entry, run.setting)


KINDS: dict[str, Callable[[Grid, Run, Entry], dict[str, Any]]] = {
    "episode": _episode,
    "binary heap": _with_heap,
    "theorem 3": _bounded,
    "asked": _asked,
    "edited": _edited,
}
"""What can be done with a problem."""


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A hash of the files that kernels are made of: records with the same one come from the same algorithms."""
    return sources_digest().hex()[:12]
