"""The command line: parse, call, print. Nothing is computed here.

A command is one file of this folder: ``add_to(commands)`` says its options, and ``run(options)`` does it and returns
the exit code. Only argparse is imported before a command is chosen, so that ``timebound --help`` answers at once.
Every mistake of the user's is one line on stderr and exit code 2.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from .. import __version__
from ..errors import Error
from .output import INTERRUPTED, MISTAKE, SOLVED, last_words, note
from .parser import Nothing, Parser

__all__ = ["COMMANDS", "command_line", "main"]

COMMANDS = (
    "solve",
    "bench",
    "compare",
    "reproduce",
    "prepare",
    "train-depth",
    "crowd",
    "view",
    "maps",
    "algorithms",
    "warmup",
    "demo",
)
"""The files of commands, in the order in which help shows them."""


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
        except Nothing as menu:
            print(menu, file=sys.stderr)
        except MemoryError:
            note("there is not enough memory for this")
        except Error as error:
            note(str(error))
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
            note(f"{what}: {problem.strerror or problem}")
        return MISTAKE


def _run(argv: list[str]) -> int:
    parser = command_line()
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
        raise Nothing(parser.menu())
    return _interruptible(lambda: options.function(options))


def command_line() -> Parser:
    """The parser of all commands; the documentation of each is made of it."""
    top = Parser(
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
    commands = top.add_subparsers(metavar="COMMAND", dest="command", parser_class=Parser)
    for name in COMMANDS:
        import_module(f".{name.replace('-', '_')}", __name__).add_to(commands)
    return top


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
        try:
            for speak in last_words:
                speak()
            sys.stdout.flush()
            sys.stderr.flush()
        except Error as error:
            note(str(error))
        finally:  # also if it is interrupted again
            os._exit(INTERRUPTED)
    if failure:
        raise failure[0]
    return outcome[0]


def _silence() -> None:
    """Nothing more may be written, not even at exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
