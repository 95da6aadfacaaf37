"""What is known of the texts of ``generic`` names, and of the types that they are for, whether compiled or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .sources import Origin, is_covered, is_found, is_our_type, origin_of_function, origin_of_type

__all__ = [
    "can_be_kept",
    "likenesses",
    "looks_like",
    "note",
    "noting",
    "origin_of",
    "passed_over",
    "recall_passed_over",
    "remember_text",
    "texts_from_elsewhere",
    "who_is_passed_over",
]

# NamedTuples that have all the fields of another: they answer every question as that does, unless they have a text.
likenesses: dict[type, type] = {}


def looks_like(kind: type, other: type) -> None:
    """Let ``kind``, which has the fields of ``other`` and some more, have all its texts, now and later, of any name."""
    likenesses[kind] = other


# By the full name of a ``generic`` name, the types that it was compiled for while they had no text of their own.
passed_over: dict[str, set[type]] = {}


# What was passed over in each of the functions that are being compiled, one for the other: the innermost is the last.
_under_way: list[set[tuple[str, type]]] = []


@contextmanager
def noting() -> Iterator[set[tuple[str, type]]]:
    """A set of what is passed over in the function that is compiled meanwhile, and in those that it calls."""
    found: set[tuple[str, type]] = set()
    _under_way.append(found)
    try:
        yield found
    finally:
        _under_way.pop()


def note(found: set[tuple[str, type]]) -> None:
    """This was passed over for what is compiled now: a text would come too late."""
    for name, kind in found:
        passed_over[name].add(kind)
    if _under_way:
        _under_way[-1].update(found)


def _in_full(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def who_is_passed_over() -> list[tuple[str, str]]:
    """Which generic names have no texts for which types in the function that has just been compiled."""
    return sorted((name, _in_full(kind)) for name, kind in _under_way[-1])


def recall_passed_over(names: list[tuple[str, str]], kinds: set[type]) -> None:
    """Code that was ``names`` of ``who_is_passed_over`` is back from the disk: a text would come too late for it.

    ``kinds`` are the types that it is for.
    """
    found = {_in_full(kind): kind for kind in kinds | {likenesses[kind] for kind in kinds if kind in likenesses}}
    note({(name, found[kind]) for name, kind in names if name in passed_over and kind in found})


# What was registered with ``generic`` from elsewhere, by type: where it comes from, and whether for a name of ours.
texts_from_elsewhere: dict[type, list[tuple[Origin | None, bool]]] = {}


@cache
def origin_of(kind: type) -> Origin | None:
    """Where a type comes from, as it was when it was first asked for."""
    return origin_of_type(kind)


# NamedTuples from elsewhere by their full names; of more than one, all but the first were defined anew.
_types_by_name: dict[str, list[type]] = {}


def _make_distinct(kind: type) -> None:
    """Give a type from elsewhere a name that no other has: Numba tells two with fields of the same types by that alone.

    Otherwise one of two algorithms whose states look alike, or of a cell and the same cell run again, would run the
    code of the other.
    """
    same = _types_by_name.setdefault(f"{kind.__module__}.{kind.__qualname__}", [])
    if kind not in same:
        same.append(kind)
        kind.__name__ = f"{kind.__module__}.{kind.__qualname__}" + (f"#{len(same)}" if len(same) > 1 else "")


def can_be_kept(kind: type) -> bool:
    """Whether code for a type from elsewhere can be told apart in another process too."""
    return is_found(kind) and _types_by_name.get(f"{kind.__module__}.{kind.__qualname__}", [kind])[0] is kind


def remember_text(text: Callable[..., Any], kinds: tuple[type, ...], ours: bool) -> None:
    """Look at the files of a text from elsewhere, and of its types, while they are as they were imported."""
    if is_covered(text.__code__.co_filename):
        return
    origin = origin_of_function(text)
    for kind in kinds:
        if not is_our_type(kind):
            _make_distinct(kind)
            origin_of(kind)
        texts_from_elsewhere.setdefault(kind, []).append((origin, ours))
