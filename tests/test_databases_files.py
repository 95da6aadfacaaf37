"""Files of databases: whole, broken, forged, of older formats, of other maps."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from small_databases import forged, header_and_arrays, rooms, with_text
from timebound.databases import files


def test_files_are_mapped(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    opened = tb.load_database(file, world)
    base = opened.records.first
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        opened.records.first[0] = 1
    assert opened.settings["seed"] == 1


def broken_files(whole: bytes) -> dict[str, tuple[bytes, str]]:
    length = int.from_bytes(whole[len(files.MAGIC) : len(files.MAGIC) + 8], "little")
    first = len(files.MAGIC) + 8
    header = json.loads(whole[first : first + length])

    def with_header(**changes: object) -> bytes:
        text = json.dumps({**header, **changes}).encode()
        text = text.ljust(length) if len(text) <= length else text
        return files.MAGIC + len(text).to_bytes(8, "little") + text + whole[first + length :]

    flipped = bytearray(whole)
    flipped[-100] ^= 1
    return {
        "empty": (b"", "no database"),
        "foreign": (b"type octile\nheight 3\n", "no database"),
        "cut": (whole[:-70], "not complete"),
        "cut in the header": (whole[: first + 20], "not complete"),
        "no header": (files.MAGIC + (10).to_bytes(8, "little") + b"x" * 500, "not complete"),
        "newer": (with_header(version=files.VERSION + 1), "newer timebound"),
        "damaged": (bytes(flipped), "checksum"),
        "another header": (with_header(kind="d-lrta*"), "checksum"),
    }


def test_broken_files_are_refused_in_one_sentence(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    world, file = database
    for name, (data, words) in broken_files(file.read_bytes()).items():
        bad = tmp_path / "bad.db"
        bad.write_bytes(data)
        with pytest.raises(tb.DatabaseError) as refusal:
            tb.load_database(bad, world)
        assert words in str(refusal.value), name
        assert "\n" not in str(refusal.value)
    with pytest.raises(tb.DatabaseError, match="no file"):
        tb.load_database(tmp_path / "nowhere.db", world)
    files.write(bad, "hcdps", world.digest, {}, {})
    with pytest.raises(tb.DatabaseError, match="for hcdps"):
        tb.load_database(bad, world)


def test_a_header_is_believed_in_nothing(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Headers that were made up, with right checksums: a sentence, and no more of the file read than there is."""
    world, file = database
    whole, bad = file.read_bytes(), tmp_path / "bad.db"
    header, arrays = header_and_arrays(whole)
    placed = header["arrays"]
    one, two, *others = placed

    def refused(data: bytes, words: str = "make it again") -> None:
        bad.write_bytes(data)
        with pytest.raises(tb.DatabaseError, match=words) as refusal:
            tb.load_database(bad, world)
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 600

    bad.write_bytes(forged(whole))
    tb.load_database(bad, world)
    deep = b"[" * 200_000
    for text in (
        deep,
        b'{"version": 3, "bytes": 0, "settings": ' + deep,
        b'{"version": 3, "bytes": ' + b"9" * 5000 + b"}",
        b'{"version": NaN, "bytes": 0}',
        b'{"version": 3.0, "bytes": 0}',
        b'{"version": true, "bytes": 0}',
        b'{"version": 3, "bytes": -64}',
        b'{"version": 3, "bytes": 1e999}',
        b"[3, 0]",
        b'"3"',
        b"null",
        b"\xff\xfe\x00",
        json.dumps({**header, "padding": "x" * (1 << 20)}).encode(),
    ):
        refused(with_text(text, arrays), "not complete")
    refused(whole[: len(files.MAGIC)] + (2**64 - 1).to_bytes(8, "little") + whole[len(files.MAGIC) + 8 :], "complete")
    refused(with_text(b'{"version": %d, "bytes": 0}' % 10**4000, b""), "newer timebound")
    refused(whole + b"\0", "follows after its end")
    refused(whole + bytes(64), "follows after its end")
    refused(forged(whole + bytes(64), bytes=len(arrays) + 64), "header is wrong")  # bytes of no array
    for changes in (
        {"arrays": [{**one, "offset": 64}, two, *others]},
        {"arrays": [one, {**two, "offset": one["offset"]}, *others]},  # on top of each other
        {"arrays": [one, {**two, "offset": two["offset"] + 4}, *others]},
        {"arrays": [{**one, "offset": -64}, two, *others]},
        {"arrays": [{**one, "offset": "0"}, two, *others]},
        {"arrays": [{**one, "shape": [10**30]}, two, *others]},
        {"arrays": [{**one, "shape": [-1]}, two, *others]},
        {"arrays": [{**one, "shape": [0, 10**30]}, two, *others]},
        {"arrays": [{**one, "shape": []}, two, *others]},
        {"arrays": [{**one, "shape": [1.5]}, two, *others]},
        {"arrays": [{**one, "shape": 3}, two, *others]},
        {"arrays": [{**one, "dtype": "|O"}, two, *others]},
        {"arrays": [{**one, "dtype": ">i4"}, two, *others]},
        {"arrays": [{**one, "dtype": "<f4"}, two, *others]},
        {"arrays": [{**one, "dtype": ["<i4"]}, two, *others]},
        {"arrays": [{**one, "name": two["name"]}, two, *others]},
        {"arrays": [{**one, "name": [1]}, two, *others]},
        {"arrays": [{**one, "name": "other"}, two, *others]},
        {"arrays": [one, *others]},
        {"arrays": [one["name"], two, *others]},
        {"arrays": {}},
        {"arrays": 7},
        {"settings": []},
        {"settings": {**header["settings"], "seed": {"a": 1}}},
        {"settings": {**header["settings"], "coverage": not header["settings"].get("coverage")}},
        {"kind": 5},
        {"kind": "two\nlines"},
        {"kind": "x" * 1000},
        {"world": None},
        {"world": ["x"]},
    ):
        refused(forged(whole, **changes))
    for name in header:
        missing = {key: value for key, value in header.items() if key != name}
        if name not in ("version", "checksum"):
            missing["checksum"] = files._checksum(missing, arrays)
        refused(with_text(files._text(missing), arrays))


def test_what_is_no_file_is_no_database(tmp_path: Path) -> None:
    """A pipe would be waited for, for ever; and what is no name of a file is none of a database."""
    world = rooms()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path, "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "not the name"),
        ("\ud800", "not the name"),
        (5, "not the name"),
        (None, "not the name"),
        ("", "not the name"),
        ("x" * 5000, "cannot read"),
    ):
        with pytest.raises(tb.DatabaseError, match=words):
            tb.load_database(name, world)  # type: ignore[arg-type]
    for name in ("a\0b", 5, ""):
        with pytest.raises(tb.DatabaseError, match="not the name"):
            tb.prepare(world, name, records=5)  # type: ignore[arg-type]


def test_a_database_is_for_a_grid(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    with pytest.raises(tb.DatabaseError, match="another map"):
        tb.load_database(file, world.to_graph())
    for other in (world.free, None):
        with pytest.raises(tb.WorldError, match="a world is"):
            tb.load_database(file, other)
    graph = world.to_graph()
    file.write_bytes(forged(file.read_bytes(), world=graph.digest))
    with pytest.raises(tb.DatabaseError, match="another map"):
        tb.load_database(file, graph)


@pytest.mark.parametrize("bits", [1, 0xFF])
def test_every_byte_before_the_arrays_is_checked(database: tuple[tb.Grid, Path], tmp_path: Path, bits: int) -> None:
    """Whatever byte is wrong: a sentence, or the same arrays."""
    world, file = database
    whole, arrays = file.read_bytes(), tb.load_database(file, world).records
    first = len(files.MAGIC) + 8
    first += int.from_bytes(whole[len(files.MAGIC) : first], "little")
    bad = tmp_path / "bad.db"
    for place in range(first):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ bits]) + whole[place + 1 :])
        with suppress(tb.DatabaseError):
            found = tb.load_database(bad, world).records
            assert all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True)), place


def test_files_of_older_formats(database: tuple[tb.Grid, Path], tmp_path: Path) -> None:
    """Their checksum is of the arrays only, and they are still read; a header that is wrong is a sentence."""
    world, file = database
    whole, old = file.read_bytes(), tmp_path / "old.db"
    first = len(files.MAGIC) + 8
    end = first + int.from_bytes(whole[len(files.MAGIC) : first], "little")
    header = {
        **json.loads(whole[first:end]),
        "version": 1,
        "checksum": blake2b(whole[end:], digest_size=16).hexdigest(),
    }

    def written(**changes: object) -> Path:
        old.write_bytes(with_text(json.dumps({**header, **changes}).encode(), whole[end:]))
        return old

    found, expected = (tb.load_database(path, world).records for path in (written(), file))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    one, *others = header["arrays"]
    for changes in (
        {"arrays": others},
        {"arrays": None},
        {"arrays": [{**one, "offset": -64}, *others]},
        {"arrays": [{**one, "shape": [10**9]}, *others]},
        {"arrays": [{**one, "dtype": "|O"}, *others]},
        {"arrays": [{**one, "dtype": "<i2"}, *others]},
        {"arrays": [{**one, "name": "other"}, *others]},
        {"settings": 3},
        {"kind": None},
        {"bytes": "many"},
        {"version": "new"},
    ):
        with pytest.raises(tb.DatabaseError, match="make it again"):
            tb.load_database(written(**changes), world)


def test_another_map_or_rule_is_refused(database: tuple[tb.Grid, Path]) -> None:
    world, file = database
    others = [rooms(2), tb.Grid(world.free, corners="always"), tb.Grid(world.free, connectivity=4)]
    edited = world.copy()
    row, col = np.argwhere(edited.free)[0]
    edited.block((int(row), int(col)))
    for other in (*others, edited):
        with pytest.raises(tb.DatabaseError, match="another map"):
            tb.load_database(file, other)
