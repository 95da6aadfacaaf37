"""What `bench` and `compare` have in common: the options of a race, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text import printable, some
from .output import Bar
from .parser import cost_range, episode_options, whole

if TYPE_CHECKING:
    from ..lab.bench import Setting, Task

__all__ = ["caption", "race_options", "setting_of", "tasks_of"]


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


def tasks_of(options: argparse.Namespace, bar: Bar) -> list[Task]:
    """The problems that were asked for."""
    from ..lab.bench import collect

    return collect(
        options.paths,
        count=options.problems,
        seed=options.seed,
        cost=options.cost,
        recompute=options.recompute,
        progress=bar,
    )


def setting_of(options: argparse.Namespace, *, non_optimal: bool = False) -> Setting:
    """What all runs have in common."""
    from ..lab.bench import Setting

    names = ("commit", "move_limit", "change_rate", "change_every")
    return Setting(
        **{name: getattr(options, name) for name in names},
        databases=tuple(options.database),
        non_optimal=non_optimal,
    )


def caption(tasks: Sequence[Task]) -> str:
    """How many problems of what kind, and where: a table's first line."""
    count = sum(len(task.problems) for task in tasks)
    names = [task.opened.name for task in tasks]
    where = printable(names[0]) if len(names) == 1 else f"{len(names)} maps"
    costs = [problem.optimal for task in tasks for problem in task.problems if problem.optimal is not None]
    span = f", optimal cost {min(costs):.4g} to {max(costs):.4g}" if costs else ""
    kinds = {"random" if task.source == "random" else "listed" for task in tasks}
    return f"{some(count, f'{kinds.pop()} problem' if len(kinds) == 1 else 'problem')} on {where}{span}"
