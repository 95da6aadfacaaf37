"""Values in native memory are loaded as they were written down, however many parts they have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timebound.kernels.jit import at, kernel, load, places_in_row
from timebound.kernels.native import Shelf, kind_of


class Inner(NamedTuple):
    """Some parts."""

    row: np.ndarray
    number: int
    table: np.ndarray
    share: float


class Outer(NamedTuple):
    """More parts than lie together."""

    i0: Inner
    i1: Inner
    i2: Inner
    i3: Inner
    i4: Inner
    i5: Inner
    i6: Inner
    i7: Inner
    i8: Inner
    own: np.ndarray


@kernel
def told_of(inner, found, k):
    """Note all there is to know of some parts."""
    found[at(k)] = inner.row.shape[0]
    found[at(k + 1)] = inner.row[0]
    found[at(k + 2)] = inner.number
    found[at(k + 3)] = inner.table.shape[0]
    found[at(k + 4)] = inner.table.shape[1]
    found[at(k + 5)] = inner.table[1, 2]
    found[at(k + 6)] = inner.share


@kernel
def told(kind, rows, row, found):
    """The same of all."""
    value = load(kind, rows, row)
    told_of(value.i0, found, 0)
    told_of(value.i1, found, 7)
    told_of(value.i4, found, 14)
    told_of(value.i7, found, 21)
    told_of(value.i8, found, 28)
    found[at(35)] = value.own.shape[0]
    found[at(36)] = value.own[0]


def some(k: int) -> Inner:
    table = np.zeros((2 + k, 3 + k), np.int32)
    table[1, 2] = 100 + k
    return Inner(np.full(1 + k, 10 + k), 1000 + k, table, 0.5 + k)


def expected(value: Outer) -> list[float]:
    found: list[float] = []
    for inner in (value.i0, value.i1, value.i4, value.i7, value.i8):
        found += [len(inner.row), inner.row[0], inner.number, *inner.table.shape, inner.table[1, 2], inner.share]
    return [*found, len(value.own), value.own[0]]


@pytest.mark.compiled
def test_values_are_loaded_as_they_were_written_down() -> None:
    first = Outer(*(some(k) for k in range(9)), np.full(7, 77))
    second = first._replace(i1=some(20), i7=some(21), own=np.full(3, 78))  # much in common with the first
    shelf = Shelf(kind_of(first), 3)

    def loaded(row: int) -> Any:
        found = np.zeros(37)
        told(shelf.kind.token, shelf.rows, row, found)
        return found.tolist()

    shelf.put(0, first)
    shelf.put(2, second)
    assert loaded(0) == expected(first)
    assert loaded(2) == expected(second)
    third = second._replace(i4=some(30), i8=some(31)._replace(number=-5, share=-0.25))
    assert shelf.renew(2, second, third)
    assert loaded(2) == expected(third)
    shelf.clear(0)
    shelf.put(0, second)
    shelf.enlarge(5)
    assert loaded(0) == expected(second)
    assert loaded(2) == expected(third)


@given(st.lists(st.integers(0, 3), max_size=100))
def test_each_part_has_places_of_its_own(dimensions: list[int]) -> None:
    taken = [
        place
        for (word, shape), count in zip(places_in_row(dimensions), dimensions, strict=True)
        for place in (word, *range(shape, shape + count))
    ]
    assert sorted(taken) == list(range(len(dimensions) + sum(dimensions)))
