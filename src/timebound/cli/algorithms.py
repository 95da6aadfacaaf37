"""`timebound algorithms`: what there is."""

from __future__ import annotations

import argparse
from typing import Any

from .output import SOLVED, paragraph, print_json, print_text
from .parser import add_command, json_option


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "algorithms",
        "list the algorithms, their parameters and papers",
        "List every algorithm with its parameters, their defaults and accepted values,\nand the paper it comes from.",
        """\
examples:
  timebound algorithms
  timebound algorithms --json""",
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    from ..algorithms import REGISTRY

    if options.json:
        print_json(
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
        print_text(paragraph(algorithm.name.ljust(indent), f"{algorithm.summary}."))
        print_text(paragraph(" " * indent, f"{kind}; {algorithm.paper}"))
        for parameter in algorithm.parameters:
            default = str(parameter.default).lower() if parameter.kind is bool else parameter.default
            default = f"{default:g}" if isinstance(default, float) else default
            words = f"{parameter.name}={default}: {parameter.help}; {parameter.wanted()}"
            print_text(paragraph(" " * (indent + 2), words))
    return SOLVED
