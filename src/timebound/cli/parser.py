"""What every command's options are made of: the parser, its types, and the options that several commands have."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import Error, at_least, nearest

__all__ = [
    "Nothing",
    "Parser",
    "Usage",
    "add_command",
    "cost_range",
    "episode_options",
    "export_option",
    "jobs_of",
    "json_option",
    "number",
    "shape",
    "threshold_option",
    "whole",
    "worker_options",
]


class Usage(Error):
    """A command line that cannot be understood."""


class Nothing(Exception):
    """No command is named: its text lists all."""


class Parser(argparse.ArgumentParser):
    """argparse with whole words, examples kept as written, and mistakes as one sentence with the nearest right word."""

    # Adds what is known only to modules that take long to import, once the command is chosen.
    later: Callable[[Parser], None] | None = None

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """As argparse does, with the options that are added late."""
        if self.later is not None:
            later, self.later = self.later, None
            later(self)
        return super().parse_known_args(*args, **options)

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
        raise Usage(f"{message} (see {self.prog} --help)")

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


def add_command(
    commands: Any, function: Callable[..., int], name: str, summary: str, description: str, epilog: str
) -> Parser:
    """A command that calls ``function`` with its options; it returns the exit code."""
    parser: Parser = commands.add_parser(name, help=summary, description=description, epilog=epilog)
    parser.set_defaults(function=function, parser=parser)
    return parser


def whole(text: str) -> int:
    """A whole number, for an option's type."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    """A number, for an option's type."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def cost_range(text: str) -> tuple[float, float]:
    """Costs from LO to HI, for an option's type."""
    low, colon, high = text.partition(":")
    try:
        limits = float(low or "0"), float(high or "inf")
    except ValueError:
        limits = (-1.0, -1.0)
    if not colon or not 0 <= limits[0] <= limits[1]:
        raise argparse.ArgumentTypeError(f"a range is LO:HI with 0 <= LO <= HI, such as 50:100, not {text!r}")
    return limits


def shape(text: str) -> tuple[int, int]:
    """Rows and columns, for an option's type."""
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text.strip().lower(), re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"a shape is ROWSxCOLUMNS, such as 200x300, not {text!r}")
    return int(match[1]), int(match[2])


def json_option(parser: argparse.ArgumentParser) -> None:
    """Every command has it."""
    parser.add_argument("--json", action="store_true", help="print JSON (field names: docs/cli.md)")


def export_option(parser: argparse.ArgumentParser) -> None:
    """Records for other programs."""
    parser.add_argument("--export", metavar="FILE", action="append", default=[], help=".parquet or .csv of all records")


def worker_options(parser: argparse.ArgumentParser) -> None:
    """Who does the work: read the number with ``jobs_of``."""
    parser.add_argument("--jobs", type=whole, metavar="N", help="threads, or local Dask workers; default: all cores")
    parser.add_argument("--dask", metavar="ADDRESS", help="run on a Dask cluster: its scheduler's address, or local")


def jobs_of(options: argparse.Namespace) -> int:
    """As many as were asked for, or all cores."""
    return (os.cpu_count() or 1) if options.jobs is None else at_least(1, options.jobs, "--jobs is how many to use")


def threshold_option(parser: argparse.ArgumentParser) -> None:
    """For a map that is an image."""
    parser.add_argument("--threshold", type=whole, metavar="T", help="of an image: pixels from T (0 to 255) are free")


def episode_options(parser: argparse.ArgumentParser) -> None:
    """What an agent's walk may be told."""
    parser.add_argument("--commit", type=whole, default=1, metavar="N", help="moves made per decision, default 1")
    parser.add_argument("--move-limit", type=whole, metavar="N", help="give up after so many moves")
    parser.add_argument("--database", metavar="FILE", nargs="+", default=[], help="made by timebound prepare")
    parser.add_argument(
        "--change-rate", type=number, metavar="P", help="the map changes: P/2 percent of the cells flip"
    )
    parser.add_argument("--change-every", type=whole, default=10, metavar="N", help="after every N ticks, default 10")
