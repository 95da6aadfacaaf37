"""Words for people."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

__all__ = ["shown", "some"]

_LONGEST = 80
# Long lists are cut before they are written out, not after.
_WRITER = reprlib.Repr()
_WRITER.maxstring = _WRITER.maxother = _WRITER.maxlong = _LONGEST


def shown(value: Any) -> str:
    """What a user gave, as Python writes it, in one short line for an error message.

    >>> print(shown([0] * 1000), shown("two\\nlines"))
    [0, 0, 0, 0, 0, 0, ...] 'two\\nlines'
    """
    if isinstance(value, np.generic):
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
