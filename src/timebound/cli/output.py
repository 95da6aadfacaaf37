"""How commands speak: text, JSON, remarks and progress; and whether there is a place for the files they write."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

from ..errors import Error
from ..text import printable

__all__ = [
    "INTERRUPTED",
    "MISTAKE",
    "SOLVED",
    "UNSOLVED",
    "Bar",
    "Live",
    "check_exports",
    "check_output",
    "last_words",
    "note",
    "paragraph",
    "print_json",
    "print_text",
    "results_folder",
    "say",
]

SOLVED, UNSOLVED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


class Bar:
    """A progress bar on stderr, for a person at a terminal only."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take it off the screen."""
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done: int, total: int, what: str) -> None:
        if what != self._what:
            from tqdm import tqdm

            self.close()
            self._what = what
            self._bar = tqdm(total=total, desc=what, disable=None, leave=False, ncols=79)
        self._bar.update(done - self._bar.n)


class Live:
    """A few lines on stderr that are written over again and again, for a person at a terminal only."""

    def __init__(self) -> None:
        stream = sys.stderr
        self.watched = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self._lines = 0
        self._shown = 0.0

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __call__(self, text: Callable[[], str]) -> None:
        """Show the text that is made, ten times a second at most. A line that does not fit is cut off.

        For one that went on in the next line would not be taken off whole.
        """
        if self.watched and time.monotonic() - self._shown >= 0.1:
            width = max(get_terminal_size().columns - 1, 1)
            shown = "\n".join(line[:width] for line in printable(text(), keep="\n").split("\n"))
            self.clear()
            print(shown, file=sys.stderr, flush=True)
            self._lines, self._shown = shown.count("\n") + 1, time.monotonic()

    def clear(self) -> None:
        """Take it off the screen."""
        if self._lines:
            print(f"\x1b[{self._lines}F\x1b[J", end="", file=sys.stderr, flush=True)
            self._lines = 0


def check_output(option: str, file: str | None, ending: str | None, *inputs: str) -> None:
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
    if ending in (".png", ".gif"):
        from ..pictures import require

        require()


def check_exports(files: Sequence[str], *inputs: str) -> None:
    """The same for the files of ``--export``."""
    if files:
        from ..lab.store import check_export

        for file in files:
            check_export(file)
            check_output("--export", file, None, *inputs)


last_words: list[Callable[[], None]] = []
"""What a command does when it is interrupted, in the thread that waits while its work goes on in another."""


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.absolute() == other.absolute()


@contextmanager
def results_folder(folder: Path) -> Iterator[None]:
    """A folder for results; if a mistake is found after all, one that was made for them is taken away again."""
    from ..atomic import make_folder

    new = not folder.exists()
    make_folder(folder)
    try:
        yield
    except Error:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise


def print_text(text: str, file: Any = None, flush: bool = False) -> None:
    """All that is printed goes through here: names of files are foreign text, and a terminal obeys what it is sent."""
    print(printable(text, keep="\n"), file=file, flush=flush)


def print_json(value: Any) -> None:
    """What ``--json`` asks for."""
    print_text(json.dumps(value))


def note(text: str) -> None:
    """A remark on stderr: one line, whatever it quotes."""
    print_text(f"timebound: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)


def say(text: str, options: argparse.Namespace) -> None:
    """A closing remark; it must not spoil JSON."""
    print_text(text, file=sys.stderr if options.json else sys.stdout)


def paragraph(first: str, text: str) -> str:
    """Text of 79 columns beside its ``first`` words."""
    return "\n".join(wrap(text, 79, initial_indent=first, subsequent_indent=" " * len(first)))
