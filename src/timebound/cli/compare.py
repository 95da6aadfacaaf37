"""`timebound compare`: a race, and its report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..text import printable
from .output import SOLVED, Bar, print_json, print_text, results_folder
from .parser import add_command, json_option
from .race import caption, export_rows, keeper_in, race_of, race_options, run_race


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
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
    race_options(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", default="timebound-compare", help="default: %(default)s")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    from ..lab.compare import compare, differences
    from ..lab.experiment import cross
    from ..lab.race import write_csv
    from ..lab.report import write
    from ..lab.summary import format_table, summarise

    folder = Path(options.output)
    with Bar() as bar:
        race = race_of(options, cross(options.algorithm or ["a*"], options.budget.split(",")), bar)
        with results_folder(folder), keeper_in(folder, must=False) as keeper:
            rows = run_race(race, keeper, options, bar, lambda rows: None)
    records = race.records(rows)
    document = compare(records, caption(race.tasks) + ".")
    write(document, folder, lambda number, _: f"chart-{number}.svg")
    write_csv(folder / "runs.csv", records)
    export_rows(rows, options)
    if options.json:
        from dataclasses import asdict

        found = [asdict(one) for one in differences(records)]
        print_json({"summary": summarise(records), "differences": found, "report": str(folder / "report.html")})
        return SOLVED
    print_text(caption(race.tasks))
    print_text(format_table(summarise(records)))
    for section in document.sections[:2]:
        print_text(f"{section.title.lower()}: {printable(section.finding.because)}")
    print_text(f"wrote {printable(str(folder / 'report.html'))} (also report.md, runs.csv)")
    return SOLVED
