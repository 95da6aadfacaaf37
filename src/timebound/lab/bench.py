"""Races: problems from files or drawn at random, each run by several algorithms, one flat record per run.

The steps are apart, so that records may be kept and looked at later: ``collect`` says which problems, ``run`` makes
records of them, ``summarise`` makes rows of records, ``format_table`` makes text of rows. A record says all there is
to say about one run (what, where, with which versions), so that a table of them needs no other file.
"""

from __future__ import annotations

import csv
import io
import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numba
import numpy as np

from .. import __version__
from ..algorithms import Spec, parse_spec
from ..atomic import write_whole
from ..budget import Budget
from ..databases.files import read
from ..databases.library import load_database
from ..episode import Agent, solve
from ..errors import DatabaseError, MapError, SpecError, WorldError, at_least
from ..result import Result
from ..scenarios import Problem, Scenario, problems, spread
from ..text import harmless_cell, printable
from ..warmup import ready
from ..workers import Progress
from ..worlds.changes import RandomChanges
from ..worlds.from_file import Opened, open_world, scenario_beside
from ..worlds.protocol import World

__all__ = [
    "MEASURES",
    "Entry",
    "Setting",
    "Task",
    "circumstances",
    "collect",
    "cross",
    "doubtful",
    "format_table",
    "machine",
    "measure",
    "measures_of",
    "run",
    "summarise",
    "versions",
    "write_csv",
]

MEASURES = (
    "suboptimality",
    "cost",
    "moves",
    "waits",
    "first_move_lag",
    "expansions",
    "states_per_move",
    "learning_expansions",
    "back_moves",
    "non_optimal_moves",
    "back_moves_percent",
    "revisits",
    "restarts",
    "astray",
    "microseconds_per_move",
    "planning_seconds",
    "memory_states",
    "memory_bytes",
)
"""What ``summarise`` gives the mean, median and maximum of: ``suboptimality_mean`` and so on."""

# These say how good a whole walk was, so a walk that did not arrive has none of them.
_OF_SOLVED = {"suboptimality", "cost", "moves"}


# ------------------------------------------------------------------------------------------ problems


@dataclass(frozen=True)
class Task:
    """The problems of one map."""

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
        opened = open_world(map_path)
        if scenario is None:
            task = Task(opened, _drawn(opened, 100 if count is None else count, seed, cost), "random", seed)
        else:
            task = _listed(opened, scenario, count, cost, recompute)
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
    opened: Opened, scenario: Scenario, count: int | None, cost: tuple[float, float] | None, recompute: bool
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
        listed = [replace(problem, optimal=_optimum(opened.world, problem)) for problem in listed]
    if cost is not None:
        low, high = cost
        listed = spread([p for p in listed if p.optimal is not None and low <= p.optimal <= high], count)
    if not listed:
        within = f" with an optimal cost from {cost[0]:g} to {cost[1]:g}" if cost is not None else ""
        raise MapError(f"{scenario.path} has no problem{within} that starts and ends on free ground")
    return Task(opened, listed, scenario.path.name, None, passed_over)


def _optimum(world: World, problem: Problem) -> float | None:
    agent = Agent("a*", world, problem.start, problem.goal).run()
    return agent.cost if agent.status == "reached" else None


# -------------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class Entry:
    """A competitor: an algorithm as the user wrote it, its budget, and its database if it was told apart."""

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


@dataclass(frozen=True)
class Setting:
    """What all runs of a race have in common."""

    commit: int = 1
    move_limit: int | None = None
    change_rate: float | None = None  # the world changes on the way, see RandomChanges
    change_every: int = 10
    databases: tuple[str, ...] = ()  # files, each used on the map it was made for
    non_optimal: bool = False  # count the non-optimal moves: one more search over the whole map for each run


def measure(world: Any, problem: Problem, entry: Entry, setting: Setting, change_seed: int = 0) -> dict[str, Any]:
    """Run one problem and return its measures, flat."""
    changes = None
    if setting.change_rate is not None:
        changes = RandomChanges(setting.change_rate, every=setting.change_every, seed=change_seed)
    database = entry.database
    if database is None:
        database = database_for(world, entry.spec, setting.databases)
    result = solve(
        world,
        problem.start,
        problem.goal,
        entry.spec,
        budget=entry.budget,
        commit=setting.commit,
        move_limit=setting.move_limit,
        optimal=problem.optimal,
        changes=changes,
        non_optimal=setting.non_optimal,
        database=database,
    )
    return measures_of(result)


def database_for(world: Any, spec: Spec, files: Sequence[str]) -> Any:
    """Of the database files the one made for this world; None if the algorithm uses none."""
    kind = spec.database
    if kind is None:
        return None
    for file in files:
        header = _header(file)
        right = header["kind"] == kind.name and kind.serves(spec.parameters, header["settings"])
        if header["world"] == world.digest and right:
            return load_database(file, world)
    if files:
        raise DatabaseError(f"none of {', '.join(files)} was made for this map; make one with timebound prepare")
    return None  # the algorithm will say what it needs


@lru_cache(maxsize=64)
def _header(file: str) -> dict[str, Any]:
    return read(file)[0]


def run(
    tasks: Sequence[Task],
    entries: Sequence[Entry],
    setting: Setting = Setting(),  # noqa: B008 (frozen)
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """One record per problem and entry, in that order whatever the number of ``jobs``.

    All entries run a problem before the next one begins, so that a machine that slows down slows all of them. Kernels
    are made ready first: no record's time includes a compilation. Jobs are threads, since kernels release the GIL;
    with more than one, threads wait for each other and times are no longer honest.
    """
    at_least(1, jobs, "jobs is how many threads to use")
    for task in tasks:
        for entry in entries:
            example = next((p for p in task.problems if p.start != p.goal), None)
            if example is not None:
                world = task.opened.world
                database = database_for(world, entry.spec, setting.databases)
                ready(world, example.start, example.goal, entry.spec, entry.budget, database)
    always = {**asdict(setting), "jobs": jobs, **versions(), "machine": machine()}
    total = sum(len(task.problems) for task in tasks) * len(entries)

    def one(case: tuple[Task, int, Entry]) -> dict[str, Any]:
        task, index, entry = case
        problem = task.problems[index]
        return {
            "map": task.opened.name,
            "digest": task.digest,
            "source": task.source,
            "seed": task.seed,
            "problem": index,
            "start": task.opened.plain(problem.start),
            "goal": task.opened.plain(problem.goal),
            "spec": entry.text,
            **measure(task.opened.world, problem, entry, setting, index),
            **always,
        }

    cases = ((task, k, entry) for task in tasks for k in range(len(task.problems)) for entry in entries)
    if jobs == 1:
        return list(_counted(map(one, cases), total, progress))
    with ThreadPoolExecutor(jobs) as pool:
        return list(_counted(pool.map(one, cases), total, progress))


def versions() -> dict[str, str]:
    """What a record was made with."""
    return {
        "timebound_version": __version__,
        "python_version": platform.python_version(),
        "numpy_version": np.__version__,
        "numba_version": numba.__version__,
    }


@lru_cache(maxsize=1)
def machine() -> str:
    """The processor, and how many cores it has."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores" if names else platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


def circumstances(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the records of a race were made with, in words: all that one needs to make them again."""
    if not records:
        return {}

    def all_of(name: str, nothing: str = "none") -> str:
        values = list(dict.fromkeys(record[name] for record in records))
        return ", ".join(nothing if value is None else str(value) for value in values)

    one = records[0]
    budgets = ", ".join(_budget_words(budget) for budget in dict.fromkeys(record["budget"] for record in records))
    facts = {
        "runs": f"{len(records):,}",
        "algorithms": all_of("algorithm"),
        "budget": budgets,
        "moves per decision": all_of("commit"),
        "move limit": all_of("move_limit"),
        "seed": all_of("seed", "none (listed problems)"),
        "databases": ", ".join(one["databases"]),
        "threads": all_of("jobs") + (" (times are better taken with 1)" if one["jobs"] != 1 else ""),
        "versions": f"timebound {one['timebound_version']}, Python {one['python_version']}, "
        f"NumPy {one['numpy_version']}, Numba {one['numba_version']}",
        "machine": one["machine"],
    }
    if one["change_rate"] is not None:
        facts["changes"] = f"rate {one['change_rate']:g}%, every {one['change_every']} ticks"
    return {name: words for name, words in facts.items() if words}


def measures_of(result: Result) -> dict[str, Any]:
    """A result as one flat row: the numbers per move become their mean, median and maximum."""
    row = result.to_dict(path=False)
    spent = result.expansions_per_move
    if len(spent) == 0:
        spent = np.zeros(1, np.int64)
    ticks = len(spent)
    # The two in the middle: np.median takes five times as long.
    spent = np.partition(spent, (ticks // 2, (ticks - 1) // 2))
    row["states_per_move_mean"] = int(spent.sum()) / ticks
    row["states_per_move_median"] = (int(spent[ticks // 2]) + int(spent[(ticks - 1) // 2])) / 2
    row["states_per_move_max"] = int(spent[ticks // 2 :].max())
    row["microseconds_per_move"] = result.planning_seconds / ticks * 1e6
    return row


def _counted(records: Iterator[dict[str, Any]], total: int, progress: Progress | None) -> Iterator[dict[str, Any]]:
    for done, record in enumerate(records, start=1):
        yield record
        if progress is not None:
            progress(done, total, "runs")


# -------------------------------------------------------------------------------------------- reports


def summarise(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per algorithm and budget: how many problems were solved, and each measure's mean, median and maximum.

    A mean is ruled by a few terrible problems, so it never stands alone. Suboptimality, cost and moves are of the
    solved problems, everything else of all of them. ``states_per_move_max`` is the most on any single move.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["spec"], record["budget"]), []).append(record)
    rows = []
    for (spec, budget), group in groups.items():
        solved = [record for record in group if record["status"] == "reached"]
        row: dict[str, Any] = {
            "spec": spec,
            "algorithm": group[0]["algorithm"],
            "budget": budget,
            "maps": len({record["digest"] for record in group}),
            "problems": len(group),
            "solved": len(solved),
            "unreachable": sum(record["status"] == "unreachable" for record in group),
            "move_limit": sum(record["status"] == "move-limit" for record in group),
        }
        for measure in MEASURES:
            column = "states_per_move_mean" if measure == "states_per_move" else measure
            peak = "states_per_move_max" if measure == "states_per_move" else measure
            of = solved if measure in _OF_SOLVED else group
            values = [record[column] for record in of if record[column] is not None]
            peaks = [record[peak] for record in of if record[peak] is not None]
            row[f"{measure}_mean"] = float(np.mean(values)) if values else None
            row[f"{measure}_median"] = float(np.median(values)) if values else None
            row[f"{measure}_max"] = max(peaks) if peaks else None
        rows.append(row)
    return rows


def doubtful(records: Iterable[Mapping[str, Any]]) -> int:
    """How many problems have a listed optimum that cannot be right: a path was cheaper, A*'s dearer, or there is none.

    Files list some six digits, so small differences are none.
    """
    wrong = set()
    for record in records:
        if record["change_rate"] is not None:
            continue  # the listed optimum is that of the map before it changed
        ratio = record["suboptimality"]
        off = ratio is not None and (ratio < 1 - 2e-5 or (record["algorithm"] == "a*" and ratio > 1 + 2e-5))
        if off or (record["status"] == "unreachable" and record["optimal"] is not None):
            wrong.add((record["digest"], record["problem"]))
    return len(wrong)


# Field, width, number format, first and second header line. A first line may span several columns.
_COLUMNS: tuple[tuple[str, int, str, str, str], ...] = (
    ("solved", 7, "count", "", "solved"),
    ("suboptimality_mean", 6, "ratio", "suboptimality", "mean"),
    ("suboptimality_median", 6, "ratio", "suboptimality", "med"),
    ("suboptimality_max", 5, "ratio2", "suboptimality", "max"),
    ("states_per_move_mean", 5, "short", "states/move", "mean"),
    ("states_per_move_max", 5, "short", "states/move", "max"),
    ("microseconds_per_move_mean", 5, "short", "us/", "move"),
    ("first_move_lag_mean", 5, "short", "", "lag"),
    ("back_moves_mean", 5, "short", "", "back"),
    ("revisits_mean", 5, "short", "re-", "vis."),
    ("memory_states_mean", 7, "short", "memory", "states"),
    ("memory_bytes_mean", 5, "kilobytes", "memory", "KB"),
)
# What stands in the place of the memory where it was asked for.
_NON_OPTIMAL = (
    ("non_optimal_moves_mean", 7, "short", "non-", "opt."),
    ("back_moves_percent_mean", 6, "short", "back", "%"),
)
_RESTARTS = (("cost_mean", 7, "short", "", "cost"), ("restarts_mean", 7, "short", "re-", "starts"))


def format_table(rows: Sequence[Mapping[str, Any]], *, width: int = 80) -> str:
    """The rows as text of at most ``width`` columns: a part per budget, and two header lines.

    Long numbers are shortened (12k, 3.4M), and a name that leaves no room stands on a line of its own.
    """
    if not rows:
        return "nothing was run"
    columns = list(_COLUMNS)
    if any(row["non_optimal_moves_mean"] is not None for row in rows):
        columns[-2:] = _NON_OPTIMAL
    elif any(row["restarts_mean"] for row in rows):
        columns[-2:] = _RESTARTS
    if any(row["solved"] < row["problems"] for row in rows) or len({row["problems"] for row in rows}) > 1:
        digits = max(len(f"{row['solved']}/{row['problems']}") for row in rows)
        columns[0] = ("solved", max(7, digits + 1), "part", "", "solved")
    numbers = sum(column[1] for column in columns)
    label = min(max(len(printable(row["spec"])) for row in rows), max(width - numbers, 9))
    label = max(label, len("algorithm"))
    lines = [_upper_header(columns, label), "algorithm".ljust(label) + "".join(f"{c[4]:>{c[1]}}" for c in columns)]
    for budget in dict.fromkeys(row["budget"] for row in rows):
        lines.append("-- " + _budget_words(budget) + " --")
        for row in rows:
            if row["budget"] != budget:
                continue
            name = printable(row["spec"])
            if len(name) > label:
                lines.append(name)
                name = ""
            lines.append(name.ljust(label) + "".join(f"{_cell(row, c[0], c[2]):>{c[1]}}" for c in columns))
    return "\n".join(line.rstrip() for line in lines)


def _upper_header(columns: Sequence[tuple[str, int, str, str, str]], label: int) -> str:
    line = " " * label
    for title, span in groupby(columns, key=lambda column: column[3]):
        room = sum(column[1] for column in span)
        line += " " + title.center(room - 1) if len(title) > 4 else title.rjust(room)
    return line


def _budget_words(budget: str) -> str:
    if budget == "none":
        return "no budget"
    return f"budget {budget}" + ("" if budget.endswith("ms") else " states per move")


def _cell(row: Mapping[str, Any], name: str, form: str) -> str:
    value = row[name]
    if form == "part":
        return f"{value}/{row['problems']}"
    if form == "ratio" and value is not None and value < 9.9995:
        return f"{value:.3f}"
    if form == "ratio2" and value is not None and value < 9.995:
        return f"{value:.2f}"
    if form == "kilobytes":
        value /= 1024
    return short(value)


def short(value: float | None) -> str:
    """A number in at most four characters.

    >>> [short(x) for x in (None, 0, 7, 1.234, 56.78, 999.6, 1234, 45678, 9_950_000, 1.2e7)]
    ['-', '0', '7', '1.23', '56.8', '1000', '1234', '46k', '10M', '12M']
    """
    if value is None:
        return "-"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 9999.5:
        return str(int(value))
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    if value < 9999.5:
        return f"{value:.0f}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 9.95 * size:
            return f"{value / size:.1f}{unit}"
        if value < 999.5 * size:
            return f"{value / size:.0f}{unit}"
    return f"{value:.0e}"


def write_csv(path: str | Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The records as a table, one line each, whole or not at all; places are written row,col."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            places = {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in record.items()}
            writer.writerow({name: harmless_cell(value) for name, value in places.items()})
    write_whole(path, text.getvalue())
