"""Words for people."""

from __future__ import annotations

__all__ = ["some"]


def some(count: int, what: str) -> str:
    """So many of something.

    >>> some(1, "run"), some(2500, "run")
    ('1 run', '2,500 runs')
    """
    return f"{count:,} {what}" + "s" * (count != 1)
