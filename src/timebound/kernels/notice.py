"""Who is told that a kernel is being compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["on_compile", "tell_of"]


def _say_compiling(name: str) -> None:
    """The default notice: one line for a person at a terminal, nothing for a pipe."""
    if sys.stderr.isatty():
        print(f"timebound: compiling {name} (once per machine) ...", file=sys.stderr, flush=True)


_notice: Callable[[str], None] = _say_compiling


def on_compile(notice: Callable[[str], None]) -> Callable[[str], None]:
    """Call ``notice(kernel name)`` before each compilation from now on; returns the notice used before."""
    global _notice
    previous, _notice = _notice, notice
    return previous


def tell_of(name: str) -> None:
    """A kernel will be compiled now."""
    _notice(name)
