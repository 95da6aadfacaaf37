"""`timebound compare`: a race, and its report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..text import printable
from .output import SOLVED, Bar, print_json, print_text, results_folder
from .parser import add_command, json_option
from .race import caption, race_options, setting_of, tasks_of


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
    from ..atomic import write_whole
    from ..lab import bench
    from ..lab.compare import compare, differences
    from ..lab.report import html, markdown

    entries = bench.cross(options.algorithm or ["a*"], options.budget.split(","))
    folder = Path(options.output)
    with Bar() as bar:
        tasks = tasks_of(options, bar)
        with results_folder(folder):
            records = bench.run(tasks, entries, setting_of(options), jobs=options.jobs, progress=bar)
    document = compare(records, caption(tasks) + ".")
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
        print_json({"summary": summary, "differences": found, "report": str(folder / "report.html")})
        return SOLVED
    print_text(caption(tasks))
    print_text(bench.format_table(bench.summarise(records)))
    for section in document.sections[:2]:
        print_text(f"{section.title.lower()}: {printable(section.finding.because)}")
    print_text(f"wrote {printable(str(folder / 'report.html'))} (also report.md, runs.csv)")
    return SOLVED
