"""Saving: of arrays only the part that is in use, so that a file follows what an agent touched and never the map.

Arrays are reserved for the largest that can come (``memory``), and each kind of table or open list knows how much of
its own is in use. ``keeps`` says so, once for each kind of NamedTuple, and ``pickle`` and ``copy.deepcopy`` then leave
out the rest. A NamedTuple that nobody has spoken for is saved whole, which is right and may be large.

Arrays that lie side by side in one piece of memory do so again after loading, and those that are the same memory are
the same memory again. What the system gives addresses to (``native``), and locks, threads and clocks, is made anew.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from .. import __version__
from ..errors import Error
from .jit import COMPILED
from .memory import NOTHING, Index, Piece

__all__ = ["FORMAT", "NOTHING", "Piece", "Savable", "filled", "keeps", "keeps_frozen", "to_last"]

# Raised whenever anything that is saved is stored otherwise: fields of NamedTuples and records, attributes, meanings.
FORMAT = 4


class Savable:
    """A world, an agent, a fleet: saved with the version, which is looked at before anything else is loaded."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return _begun, (type(self), FORMAT, COMPILED, __version__), self.__getstate__()


def _begun(kind: type, format: int, compiled: bool, version: str) -> Any:
    """An object that has nothing yet; an error if what follows could not be understood."""
    if format != FORMAT:
        raise Error(
            f"this {kind.__name__} was saved by timebound {version}, which stores things otherwise than {__version__} "
            f"(format {format}, not {FORMAT}); load it with that version"
        )
    if compiled != COMPILED:
        then, now = ("on", "off") if compiled else ("off", "on")
        raise Error(f"this {kind.__name__} was saved with the JIT {then}, and here it is {now}; see NUMBA_DISABLE_JIT")
    return object.__new__(kind)


_rules: dict[type, tuple[dict[str, Callable[[Any], Index]], Callable[[Any], None] | None]] = {}


def keeps(kind: type, /, finish: Callable[[Any], None] | None = None, **used: Callable[[Any], Index]) -> None:
    """Let values of a NamedTuple be saved with only a part of some of its arrays.

    Each of ``used`` is named like a field, and says of a value what of that array is in use, as what one would write
    between brackets. The rest is zero after loading; ``finish`` may then fill in what follows from what is there.

    >>> import copy
    >>> from typing import NamedTuple
    >>> class Stack(NamedTuple):
    ...     items: np.ndarray
    ...     used: np.ndarray
    >>> keeps(Stack, items=lambda stack: np.s_[: stack.used[0]])
    >>> copy.deepcopy(Stack(np.array([4, 5, 6]), np.array([2])))
    Stack(items=array([4, 5, 0]), used=array([2]))
    """
    _rules[kind] = used, finish
    copyreg.pickle(kind, _reduced)


def _reduced(value: Any) -> tuple[Any, ...]:
    used, _ = _rules[type(value)]
    named = zip(type(value)._fields, value, strict=True)
    parts = [Piece(part, used[name](value)) if name in used and part is not None else part for name, part in named]
    return _made, (type(value), *parts)


def _made(kind: type, *parts: Any) -> Any:
    value = kind(*parts)
    finish = _rules[kind][1]
    if finish is not None:
        finish(value)
    return value


def keeps_frozen(*kinds: type) -> None:
    """Let values of these NamedTuples have arrays that cannot be written to, after loading as before."""
    for kind in kinds:
        copyreg.pickle(kind, _reduced_frozen)


def _reduced_frozen(value: Any) -> tuple[Any, ...]:
    return _made_frozen, (type(value), *value)


def _made_frozen(kind: type, *parts: np.ndarray) -> Any:
    for part in parts:
        part.flags.writeable = False
    return kind(*parts)


def filled(array: np.ndarray, count: int) -> Index:
    """What is in use of an array of which ``count`` entries may be: those that are not 0, or all if they are many."""
    places = np.flatnonzero(array[:count])
    return places.astype(np.uint32) if 2 * len(places) < count else np.s_[:count]


def to_last(*names: str) -> dict[str, Callable[[Any], Index]]:
    """For ``keeps``: of these fields, which are as long as each other, what is up to the last entry that is not 0."""

    def used(value: Any) -> Index:
        last = [np.flatnonzero(getattr(value, name)) for name in names]
        return np.s_[: max((int(one[-1]) + 1 for one in last if len(one)), default=0)]

    return dict.fromkeys(names, used)
