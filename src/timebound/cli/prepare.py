"""`timebound prepare`: a map's database, ahead of time."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import Error
from ..text import printable
from .output import SOLVED, Bar, check_output, note, paragraph, print_json, print_text
from .parser import Parser, add_command, jobs_of, json_option, number, whole, worker_options

# Endings that say what a file is: a database must not bear one of them.
TAKEN = (".map", ".scen", ".npy", ".gr", ".gz", ".co", ".png", ".jpg", ".csv", ".json", ".parquet", ".html", ".md")
_OPTION = "option of a database: "  # keeps their names apart from ours


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "prepare",
        "compute a map's database ahead of time",
        "Compute what an algorithm looks up on a map. Stop it any time and call it again:\n"
        "it goes on where it stopped, and the file appears when it is whole. The same\n"
        "options give the same file, whatever the number of jobs.",
        "",
    )
    parser.add_argument("map", metavar="MAP", help="a .map file, image, NumPy .npy array or ROS .yaml")
    parser.add_argument(
        "--for", dest="algorithm", metavar="SPEC", default="knn-lrta*",
        help="which algorithm, see below; default knn-lrta*",
    )  # fmt: skip
    parser.add_argument("--scale", type=whole, default=1, metavar="K", help="enlarge the map K times first")
    worker_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    json_option(parser)
    parser.later = _add_kinds


def _add_kinds(parser: Parser) -> None:
    """The options of every kind of database. Those of the same name, of several kinds, are of the same type."""
    from ..databases.library import in_spec, kinds, users

    types: dict[type, Callable[[str], Any]] = {int: whole, float: number, str: str}
    flags: dict[str, argparse.Action] = {}
    for kind in kinds().values():
        told = in_spec(kind)
        others = [option for option in kind.options if option.name not in told]
        shared = [flag for option in others if (flag := _flag(option.name)) in flags]
        words = kind.summary
        words += f"; SPEC says {', '.join(told)}" if told else ""
        words += f"; also takes {' '.join(shared)}" if shared else ""
        group = parser.add_argument_group(f"--for {' or '.join(users(kind))}", paragraph("", words))
        for option in others:
            flag = _flag(option.name)
            if flag in flags:
                flags[flag].choices = None  # the kind itself will say what is wrong
                continue
            details: dict[str, Any] = {"action": "store_true", "help": option.help.replace("%", "%%")}
            if option.kind is not bool:
                details["action"], details["type"] = "store", types[option.kind]
                details["help"] += f"; default {option.default}"
                details |= {"choices": option.choices} if option.choices else {"metavar": "N"}
            flags[flag] = group.add_argument(flag, dest=_OPTION + option.name, default=argparse.SUPPRESS, **details)
    examples = [f"  timebound prepare {example}" for kind in kinds().values() for example in kind.examples]
    parser.epilog = "\n".join(["examples:", *examples])


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def run(options: argparse.Namespace) -> int:
    check_output("-o", options.output, None, options.map)
    if Path(options.output).suffix.lower() in TAKEN:
        raise Error(f"-o writes a database, so its name ends in .db or the like, not in {Path(options.output).suffix}")
    import time

    from ..databases.library import kind_for, prepare
    from ..worlds.from_file import open_world

    kind_for(options.algorithm)  # before a map is opened, which takes longer
    opened = open_world(options.map)
    world = opened.world
    if options.scale != 1:
        if not opened.is_grid:
            raise Error(f"{options.map} is a graph, and only grids can be scaled")
        world = world.scale(options.scale)
    given = {name.removeprefix(_OPTION): value for name, value in vars(options).items() if name.startswith(_OPTION)}
    began = time.perf_counter()
    with Bar() as bar:
        made = prepare(
            world,
            options.output,
            algorithm=options.algorithm,
            jobs=jobs_of(options),
            dask=options.dask,
            progress=bar,
            say=note,
            **given,
        )
    seconds = time.perf_counter() - began
    size = Path(options.output).stat().st_size
    if options.json:
        facts = {"map": str(options.map), "digest": made.digest, "file": options.output, "states": made.states}
        print_json({**facts, "bytes": size, "seconds": seconds, **made.facts()})
        return SOLVED
    print_text(f"{made.summary()}, {size / 1e6:.2f} MB, in {seconds:.1f} s")
    remark = made.remark()
    if remark is not None:
        print_text(remark)
    print_text(f"wrote {printable(str(options.output))}")
    return SOLVED
