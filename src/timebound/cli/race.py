"""What `bench` and `compare` have in common: the options of a race, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import at_least
from ..text import printable, some
from .output import Bar, check_exports, last_words, note, say
from .parser import cost_range, episode_options, export_option, whole

if TYPE_CHECKING:
    from ..lab.engine import Commits, Keeper
    from ..lab.experiment import Entry
    from ..lab.race import Race
    from ..lab.tasks import Task

__all__ = ["caption", "export_rows", "keeper_in", "race_of", "race_options", "run_race"]


def race_options(parser: argparse.ArgumentParser) -> None:
    """Who races where, and how."""
    parser.add_argument("paths", nargs="+", metavar="SCEN-OR-MAP", help=".scen files, maps, or folders of maps")
    parser.add_argument(
        "-a", "--algorithm", metavar="SPEC", nargs="+", action="extend", help="may be repeated; default a*"
    )
    parser.add_argument("--budget", metavar="B[,B...]", default="none", help="such as 10,100 or 2ms; default none")
    parser.add_argument(
        "--cost", type=cost_range, metavar="LO:HI", help="only problems whose optimal cost lies between"
    )
    parser.add_argument("--problems", type=whole, metavar="N", help="per map; random: default 100; .scen: all")
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of random problems, default 0")
    episode_options(parser)
    parser.add_argument(
        "--jobs", type=whole, default=1, metavar="N", help="threads; more than 1 is faster, but makes times worse"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="compute optima; the .scen files of wc3maps512 list wrong ones"
    )
    export_option(parser)


def race_of(options: argparse.Namespace, entries: Sequence[Entry], bar: Bar, *, non_optimal: bool = False) -> Race:
    """The race that was asked for, with its kernels ready; most mistakes are found here."""
    from ..lab.experiment import Setting
    from ..lab.race import Race
    from ..lab.tasks import collect

    check_exports(options.export, *options.paths)
    at_least(1, options.jobs, "jobs is how many threads to use")
    tasks = collect(
        options.paths,
        count=options.problems,
        seed=options.seed,
        cost=options.cost,
        recompute=options.recompute,
        progress=bar,
    )
    names = ("commit", "move_limit", "change_rate", "change_every")
    setting = Setting(**{name: getattr(options, name) for name in names}, non_optimal=non_optimal)
    race = Race(tasks, entries, setting, options.database)
    race.get_ready()
    return race


@contextmanager
def keeper_in(folder: str | Path | None, *, must: bool = True) -> Iterator[Keeper]:
    """Where records are kept: in a folder, from where the same command goes on; without one, in memory.

    If it is not a ``must``, memory will do where there is no DuckDB.
    """
    from ..lab.store import Memory, Store

    if folder is None or (not must and find_spec("duckdb") is None):
        yield Memory()
        return
    with Store(Path(folder) / "runs.duckdb") as store:
        yield store


def run_race(
    race: Race,
    keeper: Keeper,
    options: argparse.Namespace,
    bar: Bar,
    told: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """The rows of a race. If it is interrupted, ``told`` gets those that there are, and the user hears how to go on."""
    from ..lab.engine import Commits

    commits = Commits(keeper)
    speak = partial(_interrupted, race, commits, options, bar, told)
    last_words.append(speak)
    try:
        _note_earlier(race.rows(commits.rows()), options)
        return race.run(commits, jobs=options.jobs, progress=bar)
    finally:
        last_words.remove(speak)


def _interrupted(
    race: Race,
    commits: Commits,
    options: argparse.Namespace,
    bar: Bar,
    told: Callable[[list[dict[str, Any]]], None],
) -> None:
    rows = race.rows(commits.stop())
    bar.close()
    told(rows)
    if commits.keeper.lasting:
        how = f"they are kept in {options.output}, and the same command goes on from there"
    elif options.output is None:
        how = "with -o FOLDER they are kept, and the same command goes on from there"
    else:
        how = "with DuckDB (pip install 'timebound[lab]') they are kept, and the same command goes on from there"
    note(f"interrupted after {len(rows):,} of {len(race.runs):,} runs; {how}")


def _note_earlier(rows: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> None:
    from ..lab.engine import code_digest

    if rows:
        other = any(row["code"] != code_digest() for row in rows)
        old = ", some by another version of the code" if other else ""
        note(f"{some(len(rows), 'run')} made before{old}, in {options.output}; a new folder makes all anew")


def export_rows(rows: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> None:
    """What ``--export`` asks for."""
    if options.export:
        from ..lab.store import export

        export(rows, options.export)
        for file in options.export:
            say(f"wrote {printable(file)}", options)


def caption(tasks: Sequence[Task]) -> str:
    """How many problems of what kind, and where: a table's first line."""
    count = sum(len(task.problems) for task in tasks)
    names = [task.opened.name for task in tasks]
    where = printable(names[0]) if len(names) == 1 else f"{len(names)} maps"
    costs = [problem.optimal for task in tasks for problem in task.problems if problem.optimal is not None]
    span = f", optimal cost {min(costs):.4g} to {max(costs):.4g}" if costs else ""
    kinds = {"random" if task.source == "random" else "listed" for task in tasks}
    return f"{some(count, f'{kinds.pop()} problem' if len(kinds) == 1 else 'problem')} on {where}{span}"
