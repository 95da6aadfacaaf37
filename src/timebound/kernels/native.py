"""Values in native memory: an agent's NamedTuples are written down once, and kernels load them by themselves.

To hand a NamedTuple of forty arrays to a kernel takes Python 15 microseconds, fifty times what a tick of LRTA* takes.
Kernels count no references, so all that they need of an array is where it begins and how long it is. ``Shelf`` keeps
that: a row of words for each value of one type, one word for a number, one and one for each dimension for an array
(``places_in_row``).
``load`` makes the value of a row again; of what a kernel does not use, nothing is read. So one call can serve a
thousand agents, and a call for one agent passes a few arrays.

Whoever writes a value down keeps its arrays alive, and writes it down again when one of them is exchanged.

With the JIT off a row holds the value itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..errors import Error
from .jit import COMPILED, load, places_in_row
from .memory import in_lines

if COMPILED:
    from .compiler import entry_of, fingerprint, typed, types

__all__ = ["Kind", "Shelf", "entrance", "kind_of", "load"]


class Written(NamedTuple):
    """The parts of a value, and what is written down of them."""

    parts: tuple[Any, ...]
    words: list[int]


class Kind:
    """A type of values, as kernels know it. There is one for each, so two are compared by being the same."""

    def __init__(self, sample: Any) -> None:
        self._python = type(sample)  # kept alive: a fingerprint names it by where it lies in memory
        self._outline = _outlined(sample)
        self.token: Any = None  # what a kernel takes as an argument
        if COMPILED:
            kind = typed(sample)
            self.token = types.TypeRef(kind)
            leaves = list(_leaves(kind, "", self._python.__name__))
            self._all = attrgetter(*(name for name, _ in leaves), "__class__")  # the last so that it gives a tuple
            self._sorts = [_sort_of(part) for _, part in leaves]
            dimensions = [getattr(part, "ndim", 0) for _, part in leaves]
            self._places = places_in_row(dimensions)
            self.words = len(leaves) + sum(dimensions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Addresses and types are those of a process: in another one the kind is found by what values look like."""
        return _kind_like, (self._outline,)

    def written(self, value: Any, like: Written | None = None) -> Written:
        """The value as it is written down; ``like`` another one, with which it may have parts in common."""
        parts = self._all(value)
        words = [0] * self.words if like is None else like.words.copy()
        before = (None,) * len(parts) if like is None else like.parts
        for (place, shape), sort, old, new in zip(self._places, self._sorts, before, parts, strict=False):
            if new is old:
                continue  # agents of one fleet have a store in common, and much of what they are told of their world
            if sort <= _RECORDS:
                words[place] = _address(new)
                words[shape : shape + new.ndim] = new.shape
            else:
                words[place] = _number(sort, new)
        return Written(parts, words)

    def changes(self, before: Any, after: Any) -> list[tuple[int, list[int]]] | None:
        """Where to write what, if one value takes the place of another; None if it is of another kind.

        Only what was exchanged is looked at, as if the rest were known to be the same.
        """
        if not _alike(before, after):
            return None
        found = []
        parts = self._all(before), self._all(after)
        for (place, shape), sort, old, new in zip(self._places, self._sorts, *parts, strict=False):
            if old is new:
                continue
            if type(old) is not type(new):
                return None
            if sort > _RECORDS:
                found.append((place, [_number(sort, new)]))
                continue
            if _form(old) != _form(new):
                return None
            found += [(place, [_address(new)]), (shape, list(new.shape))]
        return found


# What a part of a value is.
_ARRAY, _RECORDS, _FLOAT, _NUMBER = range(4)


def _form(array: np.ndarray) -> tuple[Any, ...]:
    """All of an array that its type depends on."""
    flags = array.flags
    return array.dtype, array.ndim, flags.writeable, flags.c_contiguous


def _alike(one: Any, other: Any) -> bool:
    """Whether two NamedTuples, and those in them, are of the same types."""
    return type(one) is type(other) and all(
        part is twin or _alike(part, twin) for part, twin in zip(one, other, strict=True) if isinstance(part, tuple)
    )


def _sort_of(part: Any) -> int:
    if isinstance(part, types.Array):
        return _RECORDS if isinstance(part.dtype, types.Record) else _ARRAY
    return _FLOAT if isinstance(part, types.Float) else _NUMBER


# Where in an array's object the address of its first item stands, behind what every object begins with. It is part of
# NumPy's binary interface; and it is tried below, for there may be other Pythons.
_ADDRESS = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _quick_address(array: np.ndarray) -> int:
    """Where an array begins. NumPy itself needs a microsecond to tell, and an agent has fifty arrays."""
    return _pointer_at(id(array) + _ADDRESS).value or 0


def _address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


if all(_quick_address(one) == _address(one) for one in (np.zeros(3), np.zeros((2, 2), np.int32)[1:])):
    _address = _quick_address


def _number(sort: int, one: Any) -> int:
    return int(np.float64(one).view(np.int64)) if sort == _FLOAT else int(one)


def _leaves(kind: Any, name: str, owner: str) -> Any:
    """The arrays and numbers in a type, each with its name; the NamedTuples in it are gone through."""
    if isinstance(kind, types.BaseNamedTuple):
        for field, part in zip(kind.fields, kind, strict=True):
            yield from _leaves(part, f"{name}.{field}" if name else field, owner)
    elif isinstance(kind, types.Array) and kind.layout != "C":
        raise Error(f"{name} of {owner} is not contiguous; store np.ascontiguousarray(...) of it")
    elif not isinstance(kind, (types.Array, types.Integer, types.Float, types.Boolean)):
        raise Error(f"{owner} may hold arrays, numbers and NamedTuples of them; {name} is {kind}")
    else:
        yield name, kind


_kinds: dict[Any, Kind] = {}


def kind_of(value: Any) -> Kind:
    """The kind of a NamedTuple."""
    key = fingerprint(value) if COMPILED else type(value)
    kind = _kinds.get(key)
    if kind is None:
        kind = _kinds.setdefault(key, Kind(value))
    return kind


# --- kinds in another process ----------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """What an array looks like."""

    dtype: np.dtype[Any]
    dimensions: int
    writeable: bool


class _Group(NamedTuple):
    """What a NamedTuple looks like."""

    kind: type
    parts: tuple[Any, ...]


def _outlined(value: Any) -> Any:
    """What a value looks like: all that its kind depends on. Of arrays nothing is kept but their form."""
    if isinstance(value, np.ndarray):
        return _Row(value.dtype, value.ndim, value.flags.writeable)
    if isinstance(value, tuple):
        return _Group(type(value), tuple(_outlined(part) for part in value))
    return value


def _kind_like(outline: Any) -> Kind:
    return kind_of(_of_outline(outline))


def _of_outline(outline: Any) -> Any:
    if isinstance(outline, _Row):
        array = np.zeros((1,) * outline.dimensions, outline.dtype)
        array.flags.writeable = outline.writeable
        return array
    if isinstance(outline, _Group):
        return outline.kind(*(_of_outline(part) for part in outline.parts))
    return outline


class Shelf:
    """Rows for values of one type, whose ``kind`` kernels are told; ``rows`` is what they load from."""

    def __init__(self, kind: Kind, rows: int = 1) -> None:
        self.kind = kind
        self._width = kind.words if COMPILED else 1  # of what is written; a row may be wider
        self.rows = self._empty(rows)
        self._last: Written | None = None  # what was written down last

    def _empty(self, rows: int) -> np.ndarray:
        return in_lines(rows, self._width) if COMPILED else np.zeros((rows, 1), object)

    def put(self, row: int, value: Any) -> None:
        """Write a value down."""
        if not COMPILED:
            self.rows[row, 0] = (value,)  # wrapped: NumPy would take a tuple for a row
            return
        self._last = self.kind.written(value, self._last)
        self.rows[row, : self._width] = self._last.words

    def renew(self, row: int, before: Any, after: Any) -> bool:
        """Write down what is another array in ``after`` than in ``before``. False, and nothing, if kinds differ."""
        if not COMPILED:
            if type(before) is not type(after):
                return False
            self.put(row, after)
            return True
        changes = self.kind.changes(before, after)
        for place, words in changes or ():
            self.rows[row, place : place + len(words)] = words
        return changes is not None

    def clear(self, row: int) -> None:
        """Forget a value: nothing points to its arrays any more."""
        self.rows[row] = 0
        self._last = None

    def enlarge(self, rows: int) -> None:
        """Room for so many rows."""
        larger = self._empty(rows)
        larger[: len(self.rows)] = self.rows
        self.rows = larger


def entrance(kernel: Any, *samples: Any) -> Callable[..., Any]:
    """The kernel as compiled for arguments of these types (a kind stands for itself): it does not look at them again.

    A call through it takes a tenth of a microsecond; the types must be these.
    """
    if not COMPILED:
        return kernel
    return entry_of(kernel, [sample.token if isinstance(sample, Kind) else sample for sample in samples])
