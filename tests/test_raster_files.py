"""Array and image files, and the mistakes in them."""

from __future__ import annotations

import os
import pickle
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import timebound as tb
from helpers import message_of, png
from timebound.worlds.from_file import open_world
from timebound.worlds.rasters import read_array

pytestmark = pytest.mark.once  # no kernel plays a part in them


def npy_header(text: str, tail: bytes = b"", version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + tail


class Harm:
    """What must never be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (99,)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is empty"),
        (b"text", "no NumPy array file"),
        (b"PK\3\4" + b"\xff" * 60, "an archive of arrays"),
        (npy_header("{'descr': (((((("), "damaged header"),
        (npy_header("(" * 9000 + ")" * 9000), "damaged header"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", bytes(8), b"\7\7"), "damaged header"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (40000, 40000)}"), "should hold 12800000000"),
        (npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 2)}}"), "more than 10^18"),
        (npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 0)}}"), "at least one cell"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8)}", bytes(64)), "at least one cell"),
        (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", bytes(9)), "and it holds 9"),
        (npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", pickle.dumps([Harm()])), "booleans or"),
        (npy_header("{'descr': '<U3', 'fortran_order': False, 'shape': (1, 1)}", bytes(12)), "booleans or numbers"),
    ],
)
def test_every_mistake_in_an_array_file_is_named(tmp_path: Path, data: bytes, part: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    assert part in message_of(read_array, path)
    assert part in message_of(open_world, path)


@settings(max_examples=60)
@given(hnp.arrays(st.sampled_from(["?", "<i4", ">f8", "u1"]), hnp.array_shapes(max_dims=3, max_side=4)), st.booleans())
def test_arrays_survive_a_round_trip(array: np.ndarray, columns_first: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, np.asfortranarray(array) if columns_first else array)
        read = read_array(path)
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is empty"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not an image that can be read; PNG, "),
        (png(13000, 13000), "claims 13000 x 13000 pixels"),
        (png(4100, 4100), "claims 4100 x 4100 pixels"),
        (png(32000, 32000), "claims more pixels"),
        (png(2**31 - 1, 2**31 - 1), "claims more pixels"),
        (png(9, 9), "is not an image"),
        (png(9, 9, zlib.compress(bytes(17))), "is not an image"),
        (b"P5\n99999999999999999999 1\n255\n\0", "is not an image"),
        (b"P5\n2147483647 2147483647\n255\n\0", "claims more pixels"),
        (b"P5\n0 0\n255\n\0", "is not an image"),
        (b"P2\n3 3\n255\n1 2", "is not an image"),
        (b"P5\n2 2\n99999\n\0\0\0\0", "is not an image"),
    ],
)
def test_every_mistake_in_an_image_is_named(tmp_path: Path, data: bytes, part: str, recwarn) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(data)
    assert part in message_of(tb.Grid.from_image, path)
    assert part in message_of(open_world, path)
    assert not recwarn.list
