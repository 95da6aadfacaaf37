"""`timebound reproduce`: a paper's experiments."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import Error
from ..lab.papers import PAPERS, TO_COME
from ..text import printable, some
from .output import SOLVED, Bar, check_exports, note, print_json, print_text, say
from .parser import add_command, export_option, jobs_of, json_option, worker_options


def add_to(commands: Any) -> None:
    """The command and its options."""
    wide = max(map(len, PAPERS))
    papers = [f"  {name:<{wide}}  {title}" for name, title in PAPERS.items()]
    papers += [f"  {name}: still to come" for name in TO_COME]
    *names, last = PAPERS
    parser = add_command(
        commands,
        run,
        "reproduce",
        "run a paper's experiments and put our figures beside theirs",
        "Run the experiments of a paper: every table and figure, named by the paper's own\n"
        "number, ours beside theirs, with a verdict. Runs are kept as they are made: stop\n"
        "it any time and call it again, it goes on where it stopped.\n\n"
        "papers:\n" + "\n".join(papers),
        """\
examples:
  timebound reproduce tba --quick
  timebound reproduce tbbfs --full --maps ~/movingai -o tbbfs
  timebound reproduce tba --dask tcp://scheduler:8786

steps: plan (what is to be run), prepare (the databases), run, report; --steps
report writes the report of what has been run so far.""",
    )
    parser.add_argument("paper", metavar="PAPER", help=f"{', '.join(names)} or {last}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="within ten minutes on two cores")
    size.add_argument("--full", action="store_true", help="as many problems as the paper, or more")
    parser.add_argument("--maps", metavar="DIR", help="the MovingAI maps; default TIMEBOUND_MAPS, else generated maps")
    worker_options(parser)
    parser.add_argument(
        "--steps", metavar="STEP[,STEP]", default="plan,prepare,run,report", help="default: %(default)s"
    )
    export_option(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="default: timebound-PAPER")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    from ..atomic import make_folder
    from ..lab.paper import FULL, NORMAL, QUICK, Maps
    from ..lab.reproduce import STEPS, find, reproduce
    from ..lab.store import Store

    paper = find(options.paper)
    steps = [step.strip() for step in options.steps.split(",")]
    for step in steps:
        if step not in STEPS:
            raise Error(f"there is no step {step!r}; the steps are {', '.join(STEPS)}")
    check_exports(options.export)
    maps, jobs = Maps.at(options.maps), jobs_of(options)
    folder = make_folder(options.output or f"timebound-{options.paper}")
    with Bar() as bar:
        outcome = reproduce(
            paper,
            folder,
            scale=QUICK if options.quick else FULL if options.full else NORMAL,
            maps=maps,
            jobs=jobs,
            dask=options.dask,
            steps=steps,
            say=note,
            progress=bar,
        )
    if options.export:
        with Store(folder / "runs.duckdb") as store:
            for file in options.export:
                store.export(file)
                say(f"wrote {printable(file)}", options)
    if options.json:
        print_json(
            {"runs": outcome.runs, "verdicts": outcome.verdicts, "errors": outcome.errors, "folder": str(folder)}
        )
        return SOLVED
    for number, verdict in outcome.verdicts.items():
        print_text(f"{number:<22}{verdict}")
    if outcome.errors:
        print_text(f"{some(outcome.errors, 'run')} ended in an error: see the report's first section")
    if "report" in steps:
        print_text(f"wrote {printable(str(folder / 'report.html'))} (also report.md and figures)")
    return SOLVED
