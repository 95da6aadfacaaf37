"""Words for people."""

from __future__ import annotations

import re
import reprlib
from html import escape
from typing import Any

__all__ = [
    "FORMULA_STARTS",
    "harmless_cell",
    "in_html",
    "in_markdown",
    "paragraph_in_markdown",
    "printable",
    "shown",
    "some",
]

FORMULA_STARTS = "=+-@\t\r\n"
"""A text that begins so is taken for a formula by spreadsheets."""

_LONGEST = 80
# Long lists are cut before they are written out, not after.
_WRITER = reprlib.Repr()
_WRITER.maxstring = _WRITER.maxother = _WRITER.maxlong = _LONGEST


def shown(value: Any) -> str:
    """What a user gave, as Python writes it, in one short line for an error message.

    >>> print(shown([0] * 1000), shown("two\\nlines"))
    [0, 0, 0, 0, 0, 0, ...] 'two\\nlines'
    """
    if type(value).__module__ == "numpy" and not hasattr(value, "__len__"):
        value = value.item()  # 3, not np.int64(3)
    try:
        text = " ".join(_WRITER.repr(value).split())
    except Exception:  # whatever the object does when asked; a whole number of 5000 digits raises too
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def some(count: int, what: str) -> str:
    """So many of something.

    >>> some(1, "run"), some(2500, "run")
    ('1 run', '2,500 runs')
    """
    return f"{count:,} {what}" + "s" * (count != 1)


def printable(text: str, keep: str = "") -> str:
    """Foreign text as a terminal or a page may show it: what is no visible character is written out.

    A file may be called anything: a name must not clear the screen, forge a line or stand in the way of the encoding.

    >>> print(printable("a\\x1b[2Jb.map"), printable("two\\nlines", keep="\\n"))
    a\\x1b[2Jb.map two
    lines
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


def harmless_cell(value: object) -> object:
    """A cell of a CSV file: text on one line that no spreadsheet takes for a formula, by an apostrophe if need be.

    >>> harmless_cell("=1+1"), harmless_cell("tba*"), harmless_cell(-1.5)
    ("'=1+1", 'tba*', -1.5)
    """
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(tuple(FORMULA_STARTS)) else "") + printable(value)


def in_html(text: str) -> str:
    """Text as HTML or SVG shows it, letter by letter.

    >>> in_html("<b>.map")
    '&lt;b&gt;.map'
    """
    return escape(printable(text))


_MARKS = re.compile(r"[\\`*_\[\]<>|~&$@]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_FIRST = re.compile(r"^(\d*)([#+=.)-])")


def in_markdown(text: str) -> str:
    """Text as Markdown shows it, letter by letter: no markup, no link, no HTML and no new cell of a table.

    >>> print(in_markdown("a*|<b>.map"), in_markdown("http://x"))
    a\\*\\|\\<b\\>.map http:\\//x
    """
    return _MARKS.sub(lambda mark: "\\" + mark[0], printable(text))


def paragraph_in_markdown(text: str) -> str:
    """The same at the beginning of a line, where a number or a dash would begin a list.

    >>> print(paragraph_in_markdown("# 1"), paragraph_in_markdown("1. a"))
    \\# 1 1\\. a
    """
    return _FIRST.sub(r"\1\\\2", in_markdown(text))
