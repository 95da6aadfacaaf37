"""`timebound warmup`: compile everything now."""

from __future__ import annotations

import argparse
from typing import Any

from ..text import some
from .output import SOLVED, paragraph, print_json, print_text
from .parser import add_command, json_option


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
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
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    from ..warmup import warm

    steps: list[dict[str, Any]] = []

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        steps.append({"step": step, "seconds": seconds, "compiled": compiled})
        if not options.json:
            what = "compiled " + ", ".join(compiled) if compiled else "ready"
            print_text(paragraph(f"{step:<40}{seconds:5.1f} s  ", what), flush=True)

    total = warm(report)
    compiled = sum(len(step["compiled"]) for step in steps)
    if options.json:
        print_json({"seconds": total, "compiled": compiled, "steps": steps})
    else:
        print_text(f"{some(compiled, 'kernel')} compiled, {total:.1f} s in all")
    return SOLVED
