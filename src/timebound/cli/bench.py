"""`timebound bench`: a race, and its table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..errors import SpecError
from ..text import printable, some
from .output import SOLVED, Bar, check_output, note, print_json, print_text, say
from .parser import add_command, json_option
from .race import caption, export_rows, keeper_in, race_of, race_options, run_race

if TYPE_CHECKING:
    from ..lab.race import Race


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
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
    race_options(parser)
    parser.add_argument("--non-optimal", action="store_true", help="count moves on no optimal path (slower)")
    parser.add_argument("--csv", metavar="FILE", help="write the records, a line per problem and algorithm")
    parser.add_argument("--png", metavar="FILE", help="draw states per move against suboptimality")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="keep runs there: stopped, the same command goes on where it was"
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("--png", options.png, ".png", *options.paths)
    check_output("--csv", options.csv, ".csv", *options.paths)
    from ..lab.experiment import cross

    specs = options.algorithm or ["a*"]
    for spec in specs:
        if Path(spec).suffix.lower() in (".map", ".scen", ".npy", ".gr"):
            raise SpecError(f"{spec} is a file, and -a takes algorithms; name the files first, then -a")
    with Bar() as bar:
        race = race_of(options, cross(specs, options.budget.split(",")), bar, non_optimal=options.non_optimal)
        with keeper_in(options.output) as keeper:
            rows = run_race(race, keeper, options, bar, lambda rows: _tell(race, rows, options))
    _tell(race, rows, options)
    return SOLVED


def _tell(race: Race, rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """The table, and whatever files were asked for."""
    from ..lab.race import write_csv
    from ..lab.summary import circumstances, doubtful, format_table, summarise

    records = race.records(rows)
    summary = summarise(records)
    passed_over = sum(task.passed_over for task in race.tasks)
    if options.csv:
        write_csv(options.csv, records)
    if options.json:
        partial = {"partial": True} if len(rows) < len(race.runs) else {}
        print_json({"records": records, "summary": summary, "passed_over": passed_over, **partial})
    else:
        print_text(caption(race.tasks))
        if len(rows) < len(race.runs):
            print_text(f"partial: {len(rows):,} of {len(race.runs):,} runs")
        print_text(format_table(summary))
        if records:
            print_text(_how_it_was_made(circumstances(records)))
    if passed_over:
        note(f"{some(passed_over, 'problem')} passed over: start or goal in a wall")
    wrong = doubtful(records)
    if wrong:
        note(f"the optimum listed in the .scen file is off for {some(wrong, 'problem')}: use --recompute")
    if options.png:
        from ..pictures import save

        save(_trade_off(summary), options.png)
    for file in (options.csv, options.png):
        if file:
            say(f"wrote {printable(file)}", options)
    export_rows(rows, options)


def _how_it_was_made(facts: dict[str, str]) -> str:
    """What a table's reader cannot see in it, and needs to make it again."""
    told = ("moves per decision", "move limit", "seed", "changes", "databases", "threads")
    settings = ", ".join(f"{name} {facts[name]}" for name in told if name in facts)
    return "\n".join(wrap(printable(f"made with {settings}; {facts['versions']}; {facts['machine']}"), 79))


def _trade_off(summary: Sequence[dict[str, Any]]) -> Any:
    from ..pictures import scatter

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
