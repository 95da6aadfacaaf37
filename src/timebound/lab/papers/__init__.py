"""One file per paper: what to run (``PAPER.sweeps``), and what to make of it (``PAPER.items``).

A file with a ``TITLE`` is a paper, and its name is the paper's, with ``_`` for ``-``. Titles are read, not imported, so
that help need not wait for the files.
"""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path

__all__ = ["PAPERS", "TO_COME"]


def _papers() -> dict[str, str]:
    found = []
    for file in Path(__file__).parent.glob("*.py"):
        told = dict(re.findall(r"^(TITLE|PLACE) = (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE))
        if "TITLE" in told:
            place, title = literal_eval(told.get("PLACE", "99")), literal_eval(told["TITLE"])
            found.append((place, file.stem.replace("_", "-"), title))
    return {name: title for _, name, title in sorted(found)}


PAPERS = _papers()
"""The papers, in the order of their ``PLACE``, and a line on each."""

TO_COME = {
    name: about
    for name, about in (
        ("dynamic-control", "D LRTA*, PR LRTA* and their relatives (the figures of the 2008 JAIR paper)"),
    )
    if name not in PAPERS
}
"""Papers that people may ask for, and what they are about, until there is a file."""
