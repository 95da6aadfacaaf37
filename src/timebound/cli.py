"""The command line: parse, call, print. Nothing is computed here.

Only argparse is imported before a command is chosen, so that ``timebound --help`` answers at once. Every mistake of
the user's is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from .errors import Error, SpecError, at_least, nearest
from .text import printable, some

if TYPE_CHECKING:
    from .lab.bench import Opened, Task
    from .result import Result

__all__ = ["main"]

SOLVED, UNSOLVED, MISTAKE, INTERRUPTED = 0, 1, 2, 130

KINDS = ("random", "rooms", "maze", "caves", "corner")
# An option of `maps generate`, what it is, and how it reads.
OPTIONS: tuple[tuple[str, type, str], ...] = (
    ("density", float, "random: share of blocked cells"),
    ("room", int, "rooms: distance from wall to wall, in cells"),
    ("doors", float, "rooms: share of walls that have a door"),
    ("corridor", int, "maze: width of its ways, in cells"),
    ("fill", float, "caves: share of blocked cells to aim at"),
    ("feature", int, "caves: width of a typical blob, in cells"),
)


# Endings that say what a file is: a database must not bear one of them.
TAKEN = (".map", ".scen", ".npy", ".gr", ".gz", ".co", ".png", ".jpg", ".csv", ".json", ".parquet", ".html", ".md")


class _Usage(Error):
    """A command line that cannot be understood."""


class _Nothing(Exception):
    """No command is named: its text lists all."""


class _Parser(argparse.ArgumentParser):
    """argparse with whole words, examples kept as written, and mistakes as one sentence with the nearest right word."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        choice = re.match(r"argument (\S+): invalid choice: '?(.*?)'?(?:, maybe .*)? \(choose from (.*)\)$", message)
        clash = re.match(r"argument (\S+): not allowed with argument (\S+)$", message)
        missing = message.partition("are required: ")[2]
        if choice:
            known = re.findall(r"[\w-]+", choice[3])
            is_option = choice[1].startswith("-")
            found = f"{choice[1]} cannot be" if is_option else f"there is no {choice[1].lower()}"
            message = f"{found} {choice[2]!r}; {nearest(choice[2], known)}"
        elif clash:
            message = f"{clash[1]} and {clash[2]} exclude each other"
        elif missing == "SCEN-OR-MAP":
            message = "no map is named, and maps come before -a, which takes all words after it for algorithms"
        elif missing:
            message = f"{missing} {'are' if ',' in missing else 'is'} missing"
        message = message.removeprefix("argument ")
        raise _Usage(f"{message} (see {self.prog} --help)")

    def menu(self) -> str:
        """Every command that it has, each with its one line of help."""
        (commands,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        names = [(choice.dest, choice.help or "") for choice in commands._choices_actions]
        wide = max(len(name) for name, _ in names)
        lines = [f"  {name:<{wide}}  {summary}" for name, summary in names]
        return "\n".join(
            [
                f"usage: {self.prog} {commands.metavar} ...",
                "",
                *lines,
                "",
                f"{self.prog} {commands.metavar} --help tells more",
            ]
        )

    def refuse(self, extras: Sequence[str]) -> NoReturn:
        """Say what is wrong with arguments that nothing takes."""
        option = next((word for word in extras if word.startswith("-")), None)
        if option is None:
            self.error(f"{extras[0]!r} is one argument too many")
        option = option.partition("=")[0]
        known = [name for name in self._option_string_actions if name.startswith("--")]
        self.error(f"there is no option {option}; {nearest(option, known)}")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _range(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    try:
        limits = float(low or "0"), float(high or "inf")
    except ValueError:
        limits = (-1.0, -1.0)
    if not colon or not 0 <= limits[0] <= limits[1]:
        raise argparse.ArgumentTypeError(f"a range is LO:HI with 0 <= LO <= HI, such as 50:100, not {text!r}")
    return limits


def _shape(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text.strip().lower(), re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"a shape is ROWSxCOLUMNS, such as 200x300, not {text!r}")
    return int(match[1]), int(match[2])


# ------------------------------------------------------------------------------------------ what there is


def _parser() -> _Parser:
    top = _Parser(
        prog="timebound",
        description="Real-time heuristic search: agents that act every tick and plan only a\n"
        "bounded amount per move. Compare algorithms on maps, graphs and puzzles.",
        epilog="""\
examples:
  timebound demo                                 see it all in a minute
  timebound maps generate caves -o caves.map     make a map
  timebound solve caves.map 12,34 200,210 --png walk.png
  timebound bench caves.map -a 'a*' 'wa*:weight=3'
  timebound reproduce tba --quick                a paper's tables, and ours

Quote names with a star, or the shell may take them for file names.
Each command tells more: timebound COMMAND --help. Every command has --json.""",
    )
    top.add_argument("--version", action="version", version=f"timebound {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", dest="command", parser_class=_Parser)
    _add_solve(commands)
    _add_bench(commands)
    _add_compare(commands)
    _add_reproduce(commands)
    _add_prepare(commands)
    _add_maps(commands)

    algorithms = _add(
        commands,
        _algorithms,
        "algorithms",
        "list the algorithms, their parameters and papers",
        "List every algorithm with its parameters, their defaults and accepted values,\nand the paper it comes from.",
        """\
examples:
  timebound algorithms
  timebound algorithms --json""",
    )
    _json(algorithms)

    warmup = _add(
        commands,
        _warmup,
        "warmup",
        "compile everything now, so that nothing has to wait later",
        "Compile every algorithm for every kind of world, and keep the result on disk.\n"
        "This happens by itself at first use; do it ahead of time where the first use\n"
        "must not wait, such as in a container or before a measurement.",
        """\
examples:
  timebound warmup
  NUMBA_CACHE_DIR=cache timebound warmup         keep the kernels in a folder""",
    )
    _json(warmup)

    demo = _add(
        commands,
        _demo,
        "demo",
        "race the algorithms on a generated map and draw their paths",
        "Make a game-like map, race every algorithm on some problems, print the table\n"
        "and draw the paths of one problem. The first time it compiles its kernels,\n"
        "which may take a minute; from then on it takes seconds.",
        """\
examples:
  timebound demo
  timebound demo -o race --size 512 --seed 7""",
    )
    demo.add_argument("-o", "--output", metavar="FOLDER", default="timebound-demo", help="default: timebound-demo")
    demo.add_argument("--size", type=_whole, default=256, metavar="N", help="side of the map, default 256")
    demo.add_argument("--problems", type=_whole, default=20, metavar="N", help="default 20")
    demo.add_argument("--seed", type=_whole, default=0, metavar="S", help="of map and problems, default 0")
    _json(demo)
    return top


def _add(
    commands: Any, function: Callable[..., int], name: str, summary: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=description, epilog=epilog)
    parser.set_defaults(function=function, parser=parser)
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON (field names: docs/cli.md)")


def _threshold(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threshold", type=_whole, metavar="T", help="of an image: pixels from T (0 to 255) are free")


def _episode_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--commit", type=_whole, default=1, metavar="N", help="moves made per decision, default 1")
    parser.add_argument("--move-limit", type=_whole, metavar="N", help="give up after so many moves")
    parser.add_argument("--database", metavar="FILE", nargs="+", default=[], help="made by timebound prepare")
    parser.add_argument(
        "--change-rate", type=_number, metavar="P", help="the map changes: P/2 percent of the cells flip"
    )
    parser.add_argument("--change-every", type=_whole, default=10, metavar="N", help="after every N ticks, default 10")


def _add_solve(commands: Any) -> None:
    parser = _add(
        commands,
        _solve,
        "solve",
        "walk one agent from start to goal and report how it went",
        "Walk one agent from START to GOAL and report cost, effort per move and memory.\n"
        "Exit code: 0 goal reached, 1 unreachable or out of moves, 2 a mistake.",
        """\
examples:
  timebound solve caves.map 12,34 200,210
  timebound solve caves.map 12,34 200,210 -a 'wa*:weight=3' --budget 100
  timebound solve roads.gr 1 5000 --json""",
    )
    parser.add_argument(
        "map", metavar="MAP", help="a .map file, image, NumPy .npy array, ROS .yaml, or DIMACS .gr graph"
    )
    for name in ("start", "goal"):
        parser.add_argument(name, metavar=name.upper(), help="row,col from 0; in a .gr a node number from 1")
    parser.add_argument("-a", "--algorithm", metavar="SPEC", default="a*", help="NAME or NAME:PARAMETER=VALUE,...")
    parser.add_argument("--budget", metavar="B", help="planning per move: 100 (states) or 2ms; default: no limit")
    _episode_options(parser)
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="of the changes, default 0")
    parser.add_argument("--optimal", action="store_true", help="compute the optimum too, for the suboptimality")
    parser.add_argument("--corners", choices=("never", "one", "always"), help="may a diagonal step pass walls?")
    parser.add_argument("--connectivity", type=_whole, choices=(4, 8), help="neighbours of a cell, default 8")
    parser.add_argument("--diagonal", type=_number, metavar="COST", help="of a diagonal step, default sqrt 2")
    _threshold(parser)
    parser.add_argument("--png", metavar="FILE", help="draw the map and the path")
    _json(parser)


def _add_bench(commands: Any) -> None:
    parser = _add(
        commands,
        _bench,
        "bench",
        "race algorithms over many problems and print a table",
        "Race algorithms over many problems: every algorithm with every budget.\n\n"
        "A .scen file gives its problems and their listed optima. A map alone gives\n"
        "random problems. A folder gives all its .map files, each with the .scen beside\n"
        "it, or with random problems if there is none or --cost is given.",
        """\
examples:
  timebound bench arena.map.scen -a 'a*' 'wa*:weight=3' --budget 10,100
  timebound bench caves.map --problems 200 --cost 50:100 -a gbfs --csv runs.csv
  timebound bench wc3maps512 --recompute --problems 50

Means are ruled by a few terrible problems: look at median (med) and max too.
lag: ticks before the first move; back: back-moves; re-vis.: revisits.""",
    )
    _race_options(parser)
    parser.add_argument("--non-optimal", action="store_true", help="count moves on no optimal path (slower)")
    parser.add_argument("--csv", metavar="FILE", help="write the records, a line per problem and algorithm")
    parser.add_argument("--png", metavar="FILE", help="draw states per move against suboptimality")
    _json(parser)


def _race_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="SCEN-OR-MAP", help=".scen files, maps, or folders of maps")
    parser.add_argument(
        "-a", "--algorithm", metavar="SPEC", nargs="+", action="extend", help="may be repeated; default a*"
    )
    parser.add_argument("--budget", metavar="B[,B...]", default="none", help="such as 10,100 or 2ms; default none")
    parser.add_argument("--cost", type=_range, metavar="LO:HI", help="only problems whose optimal cost lies between")
    parser.add_argument("--problems", type=_whole, metavar="N", help="per map; random: default 100; .scen: all")
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="of random problems, default 0")
    _episode_options(parser)
    parser.add_argument(
        "--jobs", type=_whole, default=1, metavar="N", help="threads; more than 1 is faster, but makes times worse"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="compute optima; the .scen files of wc3maps512 list wrong ones"
    )


def _add_compare(commands: Any) -> None:
    parser = _add(
        commands,
        _compare,
        "compare",
        "compare algorithms on your maps, with a report",
        "Race algorithms as bench does, and write a report: states per move against\n"
        "suboptimality with the Pareto front, each problem as a point, and differences\n"
        "to the first algorithm with paired bootstrap intervals.",
        """\
examples:
  timebound compare caves.map -a 'tba*' 'tb-wa*:weight=3' --budget 10,100
  timebound compare arena.map.scen -a 'tba*' tb-gbfs --budget 16 -o arena""",
    )
    _race_options(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", default="timebound-compare", help="default: %(default)s")
    _json(parser)


def _add_reproduce(commands: Any) -> None:
    parser = _add(
        commands,
        _reproduce,
        "reproduce",
        "run a paper's experiments and put our figures beside theirs",
        "Run the experiments of a paper: every table and figure, named by the paper's own\n"
        "number, ours beside theirs, with a verdict. Runs are kept as they are made: stop\n"
        "it any time and call it again, it goes on where it stopped.\n\n"
        "papers:\n"
        "  tba       TBA*: Time-Bounded A* (2009)\n"
        "  tbbfs     Time-Bounded Best-First Search (2014)\n"
        "  learning  LRTA*, LSS-LRTA* and daLSS-LRTA* beside HOG2's figures\n"
        "  chapter   Real-time heuristic search in games (2011): Tables 1-5, Figure 15\n"
        "  dynamic-control: still to come",
        """\
examples:
  timebound reproduce tba --quick
  timebound reproduce tbbfs --full --maps ~/movingai -o tbbfs
  timebound reproduce tba --dask tcp://scheduler:8786

steps: plan (what is to be run), prepare (the databases), run, report; --steps
report writes the report of what has been run so far.""",
    )
    parser.add_argument("paper", metavar="PAPER", help="tba, tbbfs, learning or chapter")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="within ten minutes on two cores")
    size.add_argument("--full", action="store_true", help="as many problems as the paper, or more")
    parser.add_argument("--maps", metavar="DIR", help="the MovingAI maps; default TIMEBOUND_MAPS, else generated maps")
    parser.add_argument("--jobs", type=_whole, metavar="N", help="threads, or local Dask workers; default: all cores")
    parser.add_argument("--dask", metavar="ADDRESS", help="run on a Dask cluster: its scheduler's address, or local")
    parser.add_argument(
        "--steps", metavar="STEP[,STEP]", default="plan,prepare,run,report", help="default: %(default)s"
    )
    parser.add_argument("--export", metavar="FILE", action="append", default=[], help=".parquet or .csv of all records")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="default: timebound-PAPER")
    _json(parser)


def _add_prepare(commands: Any) -> None:
    parser = _add(
        commands,
        _prepare,
        "prepare",
        "compute a map's database ahead of time",
        "Compute what an algorithm looks up on a map: for knn-lrta*, optimal paths between\n"
        "random cells, each compressed into a few subgoals. Stop it any time and call it\n"
        "again: it goes on where it stopped, and the file appears when it is whole. The\n"
        "same seed gives the same file, whatever the number of jobs.",
        """\
examples:
  timebound prepare caves.map --for 'knn-lrta*' --records 10000 -o caves.db
  timebound prepare caves.map --for 'knn-lrta*' --mode paths --dask local -o caves.db
  timebound prepare caves.map --for 'knn-lrta*' --coverage --records 1000 -o caves.db

modes: trees takes hundreds of records from each Dijkstra search (minutes where
paths, one A* search per record as published, takes hours). With --coverage only
what is still missing becomes a record, and agents use parts of records: on most
maps a tenth of them does better.""",
    )
    parser.add_argument("map", metavar="MAP", help="a .map file, image, NumPy .npy array or ROS .yaml")
    parser.add_argument("--for", dest="algorithm", metavar="SPEC", required=True, help="which algorithm: knn-lrta*")
    parser.add_argument("--records", type=_whole, default=10_000, metavar="N", help="default 10000")
    parser.add_argument("--mode", choices=("trees", "paths"), default="trees", help="default trees")
    parser.add_argument("--coverage", action="store_true", help="only records that are missing, up to N")
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="default 0")
    parser.add_argument("--scale", type=_whole, default=1, metavar="K", help="enlarge the map K times first")
    parser.add_argument("--jobs", type=_whole, metavar="N", help="threads, or local Dask workers; default: all cores")
    parser.add_argument("--dask", metavar="ADDRESS", help="run on a Dask cluster: its scheduler's address, or local")
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    _json(parser)


def _add_maps(commands: Any) -> None:
    maps = _add(
        commands,
        _no_action,
        "maps",
        "make, describe and enlarge maps",
        "Make, describe and enlarge maps.",
        """\
examples:
  timebound maps generate caves -o caves.map --size 512 --seed 3
  timebound maps info caves.map
  timebound maps scale caves.map 2 -o larger.map""",
    )
    actions = maps.add_subparsers(metavar="ACTION", dest="action", parser_class=_Parser)

    generate = _add(
        actions,
        _generate,
        "generate",
        "make a map",
        "Make a map in the manner of the well-known benchmark sets. KIND is one of\n"
        f"{', '.join(KINDS)}. The same seed gives the same map.",
        """\
examples:
  timebound maps generate caves -o caves.map --size 512 --seed 3
  timebound maps generate rooms -o rooms.map --shape 200x300 --room 12""",
    )
    generate.add_argument("kind", metavar="KIND", help=", ".join(KINDS))
    generate.add_argument("-o", "--output", metavar="FILE.map", required=True)
    sides = generate.add_mutually_exclusive_group()
    sides.add_argument("--size", type=_whole, metavar="N", help="a square of N x N cells, default 256")
    sides.add_argument("--shape", type=_shape, metavar="HxW", help="rows x columns")
    generate.add_argument("--seed", type=_whole, default=0, metavar="S", help="default 0")
    for name, kind, what in OPTIONS:
        generate.add_argument(f"--{name}", type=_whole if kind is int else _number, metavar="X", help=what)
    generate.add_argument("--png", metavar="FILE", help="draw the map")
    _json(generate)

    info = _add(
        actions,
        _info,
        "info",
        "describe maps",
        "Describe maps: size, free cells, connected parts, memory, digest, and how many\n"
        "problems the .scen file beside each one lists.",
        """\
examples:
  timebound maps info caves.map
  timebound maps info *.map --json""",
    )
    info.add_argument("maps", nargs="+", metavar="MAP", help=".map, image, .npy, ROS .yaml or .gr")
    _json(info)

    scale = _add(
        actions,
        _scale,
        "scale",
        "enlarge a map",
        "Write a map in which every cell has become K x K cells.",
        """\
example:
  timebound maps scale caves.map 2 -o larger.map""",
    )
    scale.add_argument("map", metavar="MAP", help=".map, image, .npy or ROS .yaml")
    scale.add_argument("factor", type=_whole, metavar="K", help="a whole number of at least 1")
    scale.add_argument("-o", "--output", metavar="FILE.map", required=True)
    _threshold(scale)
    _json(scale)


# ---------------------------------------------------------------------------------------------- commands


def _solve(options: argparse.Namespace) -> int:
    _check_output("--png", options.png, ".png", options.map)
    from .algorithms import parse_spec
    from .episode import solve
    from .lab.bench import database_for, open_world

    rules = {name: getattr(options, name) for name in ("connectivity", "corners", "diagonal", "threshold")}
    opened = open_world(options.map, **{name: value for name, value in rules.items() if value is not None})
    if options.png and not opened.is_grid:
        raise Error("--png draws grids, and this is a graph")
    start, goal = opened.place(options.start, "start"), opened.place(options.goal, "goal")
    episode = {"budget": options.budget, "commit": options.commit, "move_limit": options.move_limit}
    changes = None
    if options.change_rate is not None:
        from .worlds.changes import RandomChanges

        changes = RandomChanges(options.change_rate, every=options.change_every, seed=options.seed)
    result = solve(
        opened.world,
        start,
        goal,
        options.algorithm,
        **episode,
        optimal="compute" if options.optimal else None,
        changes=changes,
        database=database_for(opened.world, parse_spec(options.algorithm), options.database),
    )
    if options.json:
        record = result.to_dict()
        if opened.first:
            record["path"] = [node + opened.first for node in record["path"]]
        places = {"start": opened.plain(start), "goal": opened.plain(goal)}
        _print_json({"map": str(options.map), "digest": opened.world.digest, **places, **record})
    else:
        _print(_story(opened, start, goal, result))
    if options.png:
        from .pictures import draw, save

        save(draw(opened.world, {result.algorithm: result.path}, start=start, goal=goal), options.png)
        _say(f"wrote {printable(options.png)}", options)
    return SOLVED if result.status == "reached" else UNSOLVED


def _story(opened: Opened, start: Any, goal: Any, result: Result) -> str:
    """A result for a person: each line a measure, what it was, and what belongs to it."""
    where = f"from {opened.words(start)} to {opened.words(goal)}"
    walled = "" if opened.world.is_open(opened.world.place_of(goal)) else ", for the goal is in a wall"
    head = {
        "reached": f"reached: {where}",
        "unreachable": f"unreachable: there is no way {where}{walled}",
        "move-limit": f"move-limit: gave up after {result.moves:,} moves {where}",
    }[result.status]
    spent = result.expansions_per_move
    ticks = max(len(spent), 1)
    mean, most = (float(spent.mean()), int(spent.max())) if len(spent) else (0.0, 0)
    per_move = result.planning_seconds / ticks * 1e6
    quality = ""
    if result.suboptimality is not None:
        quality = f"suboptimality {result.suboptimality:.4f} (optimal {result.optimal:.3f})"
    elif result.optimal is not None:
        quality = f"of the way walked so far; optimal {result.optimal:.3f}"
    lag = "ticks of planning before the first move"
    lines = [
        ("cost", f"{result.cost:.3f}", quality),
        ("moves", f"{result.moves:,}", f"{result.back_moves:,} back-moves, {result.revisits:,} revisits"),
        ("states expanded", f"{result.expansions:,}", f"per move: mean {mean:,.1f}, max {most:,}"),
        ("first-move lag", f"{result.first_move_lag:,}", lag),
        ("planning time", f"{result.planning_seconds * 1e3:.3f} ms", f"per move: {per_move:,.2f} us"),
        ("memory", f"{result.memory_bytes / 1024:,.1f} KB", f"{result.memory_states:,} states"),
    ]
    budget = "no budget" if result.budget == "none" else f"budget {result.budget}"
    text = [head, f"  {printable(opened.name)}, {opened.size()}; {result.algorithm}, {budget}"]
    text += [f"  {name:<16}{value:>14}  {rest}".rstrip() for name, value, rest in lines]
    return "\n".join(text)


def _bench(options: argparse.Namespace) -> int:
    _check_output("--png", options.png, ".png", *options.paths)
    _check_output("--csv", options.csv, ".csv", *options.paths)
    from .lab import bench

    specs = options.algorithm or ["a*"]
    for spec in specs:
        if Path(spec).suffix.lower() in (".map", ".scen", ".npy", ".gr"):
            raise SpecError(f"{spec} is a file, and -a takes algorithms; name the files first, then -a")
    entries = bench.cross(specs, options.budget.split(","))
    with _Bar() as bar:
        tasks = bench.collect(
            options.paths,
            count=options.problems,
            seed=options.seed,
            cost=options.cost,
            recompute=options.recompute,
            progress=bar,
        )
        setting = _setting(options, non_optimal=options.non_optimal)
        records = bench.run(tasks, entries, setting, jobs=options.jobs, progress=bar)
    summary = bench.summarise(records)
    passed_over = sum(task.passed_over for task in tasks)
    if options.csv:
        bench.write_csv(options.csv, records)
    if options.json:
        _print_json({"records": records, "summary": summary, "passed_over": passed_over})
    else:
        _print(_caption(tasks))
        _print(bench.format_table(summary))
        _print(_how_it_was_made(bench.circumstances(records)))
    if passed_over:
        _note(f"{some(passed_over, 'problem')} passed over: start or goal in a wall")
    doubtful = bench.doubtful(records)
    if doubtful:
        _note(f"the optimum listed in the .scen file is off for {some(doubtful, 'problem')}: use --recompute")
    if options.png:
        from .pictures import save

        save(_trade_off(summary), options.png)
    for file in (options.csv, options.png):
        if file:
            _say(f"wrote {printable(file)}", options)
    return SOLVED


def _setting(options: argparse.Namespace, **more: Any) -> Any:
    from .lab.bench import Setting

    names = ("commit", "move_limit", "change_rate", "change_every")
    return Setting(**{name: getattr(options, name) for name in names}, databases=tuple(options.database), **more)


def _compare(options: argparse.Namespace) -> int:
    from .atomic import write_whole
    from .lab import bench
    from .lab.compare import compare, differences
    from .lab.report import html, markdown

    entries = bench.cross(options.algorithm or ["a*"], options.budget.split(","))
    folder = Path(options.output)
    with _Bar() as bar:
        tasks = bench.collect(
            options.paths,
            count=options.problems,
            seed=options.seed,
            cost=options.cost,
            recompute=options.recompute,
            progress=bar,
        )
        setting = _setting(options)
        with _folder(folder):
            records = bench.run(tasks, entries, setting, jobs=options.jobs, progress=bar)
    document = compare(records, _caption(tasks) + ".")
    pictures = {}
    for number, chart in enumerate(chart for section in document.sections for chart in section.finding.charts):
        write_whole(folder / f"chart-{number + 1}.svg", chart.svg(alone=True))
        pictures[chart.title] = f"chart-{number + 1}.svg"
    write_whole(folder / "report.html", html(document))
    write_whole(folder / "report.md", markdown(document, pictures))
    bench.write_csv(folder / "runs.csv", records)
    if options.json:
        from dataclasses import asdict

        summary = bench.summarise(records)
        found = [asdict(one) for one in differences(records)]
        _print_json({"summary": summary, "differences": found, "report": str(folder / "report.html")})
        return SOLVED
    _print(_caption(tasks))
    _print(bench.format_table(bench.summarise(records)))
    for section in document.sections[:2]:
        _print(f"{section.title.lower()}: {printable(section.finding.because)}")
    _print(f"wrote {printable(str(folder / 'report.html'))} (also report.md, runs.csv)")
    return SOLVED


def _reproduce(options: argparse.Namespace) -> int:
    from .atomic import make_folder
    from .lab.paper import FULL, NORMAL, QUICK, Maps
    from .lab.reproduce import STEPS, find, reproduce
    from .lab.store import Store

    paper = find(options.paper)
    steps = [step.strip() for step in options.steps.split(",")]
    for step in steps:
        if step not in STEPS:
            raise Error(f"there is no step {step!r}; the steps are {', '.join(STEPS)}")
    for file in options.export:
        if Path(file).suffix.lower() not in (".parquet", ".csv"):
            raise Error(f"records are exported to a .parquet or .csv file, not to {file}")
        _check_output("--export", file, Path(file).suffix)
    maps, jobs = Maps.at(options.maps), _jobs(options)
    folder = make_folder(options.output or f"timebound-{options.paper}")
    with _Bar() as bar:
        outcome = reproduce(
            paper,
            folder,
            scale=QUICK if options.quick else FULL if options.full else NORMAL,
            maps=maps,
            jobs=jobs,
            dask=options.dask,
            steps=steps,
            say=_note,
            progress=bar,
        )
    if options.export:
        with Store(folder / "runs.duckdb") as store:
            for file in options.export:
                store.export(file)
                _say(f"wrote {printable(file)}", options)
    if options.json:
        _print_json(
            {"runs": outcome.runs, "verdicts": outcome.verdicts, "errors": outcome.errors, "folder": str(folder)}
        )
        return SOLVED
    for number, verdict in outcome.verdicts.items():
        _print(f"{number:<22}{verdict}")
    if outcome.errors:
        _print(f"{some(outcome.errors, 'run')} ended in an error: see the report's first section")
    if "report" in steps:
        _print(f"wrote {printable(str(folder / 'report.html'))} (also report.md and figures)")
    return SOLVED


def _prepare(options: argparse.Namespace) -> int:
    _check_output("-o", options.output, None, options.map)
    if Path(options.output).suffix.lower() in TAKEN:
        raise Error(f"-o writes a database, so its name ends in .db or the like, not in {Path(options.output).suffix}")
    import time

    from .algorithms import parse_spec
    from .databases.library import kind_for, prepare
    from .lab.bench import open_world

    algorithm = parse_spec(options.algorithm).algorithm
    if not algorithm.database:
        kind_for(options.algorithm)
    opened = open_world(options.map)
    world = opened.world
    if options.scale != 1:
        if not opened.is_grid:
            raise Error(f"{options.map} is a graph, and only grids can be scaled")
        world = world.scale(options.scale)
    began = time.perf_counter()
    with _Bar() as bar:
        made = prepare(
            world,
            options.output,
            records=options.records,
            mode=options.mode,
            coverage=options.coverage,
            seed=options.seed,
            jobs=_jobs(options),
            dask=options.dask,
            progress=bar,
        )
    seconds = time.perf_counter() - began
    facts = {
        "map": str(options.map),
        "digest": made.digest,
        "file": options.output,
        "records": len(made),
        "states": made.states,
        "bytes": Path(options.output).stat().st_size,
        "seconds": seconds,
        "coverage": options.coverage,
        **{name: made.settings[name] for name in ("mode", "seed", "climb_limit")},
    }
    if options.json:
        _print_json(facts)
    else:
        each = made.states / len(made) - (0 if options.coverage else 2)
        what = "points" if options.coverage else "subgoals"
        _print(f"{len(made):,} records with {each:.1f} {what} each, {facts['bytes'] / 1e6:.2f} MB, in {seconds:.1f} s")
        if len(made) < options.records:
            _print("hardly any problem is without a good answer now, so there are no more")
        _print(f"wrote {printable(str(options.output))}")
    return SOLVED


def _jobs(options: argparse.Namespace) -> int:
    """As many as were asked for, or all cores."""
    return (os.cpu_count() or 1) if options.jobs is None else at_least(1, options.jobs, "--jobs is how many to use")


def _caption(tasks: Sequence[Task]) -> str:
    count = sum(len(task.problems) for task in tasks)
    names = [task.opened.name for task in tasks]
    where = printable(names[0]) if len(names) == 1 else f"{len(names)} maps"
    costs = [problem.optimal for task in tasks for problem in task.problems if problem.optimal is not None]
    span = f", optimal cost {min(costs):.4g} to {max(costs):.4g}" if costs else ""
    kinds = {"random" if task.source == "random" else "listed" for task in tasks}
    return f"{some(count, f'{kinds.pop()} problem' if len(kinds) == 1 else 'problem')} on {where}{span}"


def _how_it_was_made(facts: dict[str, str]) -> str:
    """What a table's reader cannot see in it, and needs to make it again."""
    told = ("moves per decision", "move limit", "seed", "changes", "databases", "threads")
    settings = ", ".join(f"{name} {facts[name]}" for name in told if name in facts)
    return "\n".join(wrap(printable(f"made with {settings}; {facts['versions']}; {facts['machine']}"), 79))


def _trade_off(summary: Sequence[dict[str, Any]]) -> Any:
    from .pictures import scatter

    several = len({row["budget"] for row in summary}) > 1
    points = [
        (
            row["spec"] + (f" ({row['solved']}/{row['problems']})" if row["solved"] < row["problems"] else ""),
            ("no budget" if row["budget"] == "none" else row["budget"]) if several else "",
            row["states_per_move_mean"],
            row["suboptimality_mean"],
        )
        for row in summary
        if row["suboptimality_mean"] is not None
    ]
    title = "states expanded per move, mean" + " (numbers: budget)" * several
    return scatter(points, x_title=title)


def _generate(options: argparse.Namespace) -> int:
    _check_output("-o", options.output, ".map")
    _check_output("--png", options.png, ".png", options.output)
    import inspect

    from .lab.bench import Opened
    from .worlds.generate import GENERATORS
    from .worlds.grid import Grid

    if options.kind not in GENERATORS:
        raise Error(f"there is no kind of map {options.kind!r}; {nearest(options.kind, GENERATORS)}")
    generator = GENERATORS[options.kind]
    taken = set(inspect.signature(generator).parameters)
    given = {name: getattr(options, name) for name, _, _ in OPTIONS if getattr(options, name) is not None}
    for name in given:
        if name not in taken:
            own = [f"--{other}" for other, _, _ in OPTIONS if other in taken]
            raise Error(f"a {options.kind} map takes {' and '.join(own) or 'no options'}, not --{name}")
    shape = options.shape or ((options.size or 256,) * 2 if options.size != 0 else (0, 0))
    world = Grid(generator(shape, seed=options.seed, **given))
    world.save(options.output)
    if options.png:
        from .pictures import draw, save

        save(draw(world), options.png)
    facts = _facts(Opened(world, Path(options.output)))
    if options.json:
        _print_json({**facts, "kind": options.kind, "seed": options.seed, "options": given})
    else:
        _print(f"wrote {printable(str(options.output))}: {options.kind}, seed {options.seed}, {_facts_in_words(facts)}")
        if options.png:
            _print(f"wrote {printable(options.png)}")
    return SOLVED


def _info(options: argparse.Namespace) -> int:
    from .lab.bench import open_world

    facts = [_facts(open_world(path)) for path in options.maps]
    if options.json:
        _print_json(facts)
        return SOLVED
    for k, fact in enumerate(facts):
        _print("\n" * (k > 0) + printable(fact["map"]))
        for name, words in _facts_in_lines(fact):
            _print(f"  {name:<16}{words}")
    return SOLVED


def _scale(options: argparse.Namespace) -> int:
    _check_output("-o", options.output, ".map", options.map)
    from .lab.bench import Opened, open_world

    opened = open_world(options.map, threshold=options.threshold)
    if not opened.is_grid:
        raise Error(f"{options.map} is a graph, and only grids can be scaled")
    larger = opened.world.scale(options.factor)
    larger.save(options.output)
    facts = _facts(Opened(larger, Path(options.output)))
    if options.json:
        _print_json({**facts, "factor": options.factor})
    else:
        _print(f"wrote {printable(str(options.output))}: {_facts_in_words(facts)}")
    return SOLVED


def _facts(opened: Opened) -> dict[str, Any]:
    """What `maps info` tells; the same names in JSON."""
    from .worlds.map_files import read_scen

    world = opened.world
    facts: dict[str, Any] = {"map": str(opened.path), "world": "grid" if opened.is_grid else "graph"}
    if opened.is_grid:
        import numpy as np

        from .lab.bench import scenario_beside

        cells = world.shape[0] * world.shape[1]
        areas = np.bincount(world.parts()[world.parts() > 0])[1:]
        largest = int(areas.max()) if len(areas) else 0
        beside = scenario_beside(opened.path)
        costs = world.costs[world.free]
        facts |= {
            "rows": world.shape[0],
            "columns": world.shape[1],
            "free": world.free_count,
            "free_share": world.free_count / cells,
            "parts": len(areas),
            "largest_part": largest,
            "largest_part_share": largest / max(world.free_count, 1),
            "terrain": bool(len(costs) and costs.min() < costs.max()),
            "bytes_per_cell": world.nbytes / cells,
            "problems": len(read_scen(beside)) if beside else None,
        }
    else:
        facts |= {"nodes": world.states, "arcs": len(world.view.head), "undirected": world.undirected}
        facts["bytes_per_node"] = world.nbytes / world.states
    return facts | {"bytes": world.nbytes, "digest": world.digest}


def _facts_in_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    if facts["world"] == "graph":
        arcs = f"{facts['arcs']:,} ({'undirected' if facts['undirected'] else 'directed'})"
        memory = f"{facts['bytes'] / 1024:,.1f} KB, {facts['bytes_per_node']:.1f} bytes per node"
        return [("nodes", f"{facts['nodes']:,}"), ("arcs", arcs), ("memory", memory), ("digest", facts["digest"])]
    parts = f"{facts['parts']:,}, the largest has {facts['largest_part_share']:.1%} of the free cells"
    return [
        ("size", f"{facts['rows']} x {facts['columns']} (rows x columns)" + ", terrain costs" * facts["terrain"]),
        ("free cells", f"{facts['free']:,} ({facts['free_share']:.1%})"),
        ("connected parts", parts),
        ("memory", f"{facts['bytes'] / 1024:,.1f} KB, {facts['bytes_per_cell']:.2f} bytes per cell"),
        ("digest", facts["digest"]),
        ("problems", "no .scen file beside it" if facts["problems"] is None else f"{facts['problems']:,} in its .scen"),
    ]


def _facts_in_words(facts: dict[str, Any]) -> str:
    return f"{facts['rows']} x {facts['columns']} cells, {facts['free']:,} free ({facts['free_share']:.1%})"


def _algorithms(options: argparse.Namespace) -> int:
    from .algorithms import REGISTRY

    if options.json:
        _print_json(
            [
                {
                    "name": algorithm.name,
                    "summary": algorithm.summary,
                    "paper": algorithm.paper,
                    "real_time": algorithm.real_time,
                    "parameters": [
                        {"name": p.name, "default": p.default, "accepts": p.wanted(), "help": p.help}
                        for p in algorithm.parameters
                    ],
                }
                for algorithm in REGISTRY.values()
            ]
        )
        return SOLVED
    indent = 2 + max(map(len, REGISTRY))
    for algorithm in REGISTRY.values():
        kind = "real-time" if algorithm.real_time else "complete search"
        _print(_paragraph(algorithm.name.ljust(indent), f"{algorithm.summary}."))
        _print(_paragraph(" " * indent, f"{kind}; {algorithm.paper}"))
        for parameter in algorithm.parameters:
            default = str(parameter.default).lower() if parameter.kind is bool else parameter.default
            default = f"{default:g}" if isinstance(default, float) else default
            words = f"{parameter.name}={default}: {parameter.help}; {parameter.wanted()}"
            _print(_paragraph(" " * (indent + 2), words))
    return SOLVED


def _paragraph(first: str, text: str) -> str:
    return "\n".join(wrap(text, 79, initial_indent=first, subsequent_indent=" " * len(first)))


def _warmup(options: argparse.Namespace) -> int:
    from .warmup import warm

    steps: list[dict[str, Any]] = []

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        steps.append({"step": step, "seconds": seconds, "compiled": compiled})
        if not options.json:
            what = "compiled " + ", ".join(compiled) if compiled else "ready"
            _print(_paragraph(f"{step:<40}{seconds:5.1f} s  ", what), flush=True)

    total = warm(report)
    compiled = sum(len(step["compiled"]) for step in steps)
    if options.json:
        _print_json({"seconds": total, "compiled": compiled, "steps": steps})
    else:
        _print(f"{some(compiled, 'kernel')} compiled, {total:.1f} s in all")
    return SOLVED


def _demo(options: argparse.Namespace) -> int:
    at_least(1, options.problems, "problems is how many to race on")
    folder = Path(options.output)
    if not folder.absolute().parent.is_dir():
        raise Error(f"cannot make the folder {folder}: there is no folder {folder.parent}")
    from . import pictures

    pictures.require()
    from .algorithms import REGISTRY
    from .atomic import make_folder
    from .episode import solve
    from .lab import bench
    from .warmup import warm
    from .worlds.generate import caves
    from .worlds.grid import Grid

    map_path, picture_path = folder / "caves.map", folder / "race.png"
    cells = caves((options.size, options.size), seed=options.seed)

    # IDA* would take hours, and databases must be prepared first.
    rivals = [algorithm for algorithm in REGISTRY.values() if algorithm.name != "ida*" and not algorithm.database]

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        if compiled:
            _note(f"compiled {step} in {seconds:.0f} s (once per machine)")

    make_folder(folder)
    _note(f"getting {len(rivals)} algorithms ready")
    warm(report, kinds=["grid"], algorithms=rivals)
    Grid(cells).save(map_path)
    tasks = bench.collect([map_path], count=options.problems, seed=options.seed)
    entries = bench.cross([rival.name for rival in rivals if not rival.real_time], [None])
    entries += bench.cross([rival.name for rival in rivals if rival.real_time], [100])
    with _Bar() as bar:
        records = bench.run(tasks, entries, progress=bar)
    summary = bench.summarise(records)
    world = tasks[0].opened.world
    longest = max(tasks[0].problems, key=lambda problem: problem.optimal or 0.0)
    paths = {
        entry.text: solve(world, longest.start, longest.goal, entry.spec, budget=entry.budget).path
        for entry in entries
    }  # fmt: skip
    pictures.save(pictures.draw(world, paths, start=longest.start, goal=longest.goal), picture_path)
    if options.json:
        files = {"map": str(map_path), "picture": str(picture_path)}
        _print_json({**files, "records": records, "summary": summary})
    else:
        _print(_caption(tasks))
        _print(bench.format_table(summary))
        _print(f"the map: {printable(str(map_path))}")
        _print(f"the paths of its longest problem: {printable(str(picture_path))}")
    return SOLVED


def _no_action(options: argparse.Namespace) -> int:
    raise _Nothing(options.parser.menu())


# --------------------------------------------------------------------------------------------- manners


class _Bar:
    """A progress bar on stderr, for a person at a terminal only."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done: int, total: int, what: str) -> None:
        if what != self._what:
            from tqdm import tqdm

            self.__exit__()
            self._what = what
            self._bar = tqdm(total=total, desc=what, disable=None, leave=False, ncols=79)
        self._bar.update(done - self._bar.n)


def _check_output(option: str, file: str | None, ending: str | None, *inputs: str) -> None:
    """Find out before the work, not after it, that its results have nowhere to go.

    The name must end as what is written does, and must not be that of a file which is read.
    """
    if file is None:
        return
    path = Path(file)
    try:
        if path.is_dir():
            raise Error(f"cannot write {file}: it is a folder, and a file name is needed")
        if not path.parent.is_dir():
            raise Error(f"cannot write {file}: there is no folder {path.parent}")
        if ending is not None and path.suffix.lower() != ending.lower():
            raise Error(f"{option} writes a {ending} file, and {file} does not end in {ending}")
        if any(_same_file(path, Path(other)) for other in inputs):
            raise Error(f"{option} would write over {file}, which is to be read; choose another name")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise Error(f"cannot write {file}: permission denied")
    except (OSError, ValueError) as problem:  # too long a name, or a zero byte in it
        raise Error(f"cannot write {file}: {getattr(problem, 'strerror', None) or problem}") from None
    if ending == ".png":
        from .pictures import require

        require()


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.absolute() == other.absolute()


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """A folder for results; if a mistake is found after all, one that was made for them is taken away again."""
    from .atomic import make_folder

    new = not folder.exists()
    make_folder(folder)
    try:
        yield
    except Error:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _print(text: str, file: Any = None, flush: bool = False) -> None:
    """All that is printed goes through here: names of files are foreign text, and a terminal obeys what it is sent."""
    print(printable(text, keep="\n"), file=file, flush=flush)


def _print_json(value: Any) -> None:
    _print(json.dumps(value))


def _note(text: str) -> None:
    """A remark on stderr: one line, whatever it quotes."""
    _print(f"timebound: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)


def _say(text: str, options: argparse.Namespace) -> None:
    """A closing remark; it must not spoil JSON."""
    _print(text, file=sys.stderr if options.json else sys.stdout)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names and authors have letters that not every terminal knows
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            code = _run(list(sys.argv[1:] if argv is None else argv))
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except _Nothing as menu:
            print(menu, file=sys.stderr)
        except MemoryError:
            _note("there is not enough memory for this")
        except Error as error:
            _note(str(error))
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _silence()
        return SOLVED
    except OSError as problem:
        _silence()
        with suppress(OSError):
            what = f"cannot use {problem.filename}" if problem.filename else "cannot write the output"
            _note(f"{what}: {problem.strerror or problem}")
        return MISTAKE


def _silence() -> None:
    """Nothing more may be written, not even at exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(argv: list[str]) -> int:
    parser = _parser()
    # A place such as -1,5 is wrong, but it is a place and not an option: a blank before it tells argparse so.
    argv = [f" {word}" if re.match(r"-\d+,", word) else word for word in argv]
    try:
        options, extras = parser.parse_known_args(argv)
    except SystemExit as stop:  # after --help and --version
        return int(stop.code or 0)
    own = getattr(options, "parser", parser)
    if extras:
        own.refuse(extras)
    if options.command is None:
        raise _Nothing(parser.menu())
    return _interruptible(lambda: options.function(options))


def _interruptible(work: Callable[[], int]) -> int:
    """Do the work in a thread while this one waits. Kernels do not look for Ctrl-C, but waiting does."""
    outcome: list[int] = []
    failure: list[BaseException] = []

    def do() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        # A kernel cannot be stopped from outside, only left behind.
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    if failure:
        raise failure[0]
    return outcome[0]


if __name__ == "__main__":
    sys.exit(main())
