"""`timebound warmup`: compile everything now."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import SpecError
from ..text import shown, some
from .output import SOLVED, note, paragraph, print_json, print_text
from .parser import add_command, jobs_of, json_option, whole


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "warmup",
        "compile now, so that nothing has to wait later",
        "Compile algorithms for kinds of worlds, and keep the result on disk: all of\n"
        "them, or those that are named. This happens by itself at first use; do it\n"
        "ahead of time where the first use must not wait, such as in a container or\n"
        "before a measurement.",
        """\
examples:
  timebound warmup
  timebound warmup 'tba*' 'lrta*' --worlds grid  only what a game needs
  timebound warmup 'tba*' --worlds 'watched grid'  for the viewer and traces
  NUMBA_CACHE_DIR=cache timebound warmup         keep the kernels in a folder""",
    )
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help="default: all; see timebound algorithms")
    parser.add_argument(
        "--worlds",
        metavar="KIND[,KIND]",
        help="grid, terrain, steep terrain, graph, puzzle: by default these; watched grid: for looking on",
    )
    parser.add_argument("--jobs", type=whole, metavar="N", help="processes; default: all cores, two at most")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    from ..algorithms import parse_spec
    from ..kernels.shipping import why_not
    from ..warmup import KINDS, USUAL, warm_side_by_side

    kinds = [kind.strip() for kind in options.worlds.split(",")] if options.worlds else list(USUAL)
    for kind in kinds:
        if kind not in KINDS:
            raise SpecError(f"there is no kind of world {shown(kind)}; known are {', '.join(KINDS)}")
    for spec in options.algorithms:
        parse_spec(spec)
    reason = why_not()
    if reason is not None:
        note(f"the kernels that came with timebound cannot be used, so they are compiled: {reason}")
    steps: list[dict[str, Any]] = []

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        steps.append({"step": step, "seconds": seconds, "compiled": compiled})
        if not options.json:
            what = "compiled " + ", ".join(compiled) if compiled else "ready"
            print_text(paragraph(f"{step:<40}{seconds:5.1f} s  ", what), flush=True)

    total = warm_side_by_side(report, kinds=kinds, algorithms=options.algorithms or None, jobs=jobs_of(options))
    compiled = sum(len(step["compiled"]) for step in steps)
    if options.json:
        print_json({"seconds": total, "compiled": compiled, "steps": steps})
    else:
        print_text(f"{some(compiled, 'kernel')} compiled, {total:.1f} s in all")
    return SOLVED
