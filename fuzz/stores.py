"""Tables of records and the lab's notes, damaged: the lab goes on, or says in one sentence what to do.

DuckDB is not ours, so each damaged table is opened in a process of its own: one that crashes or hangs is counted as
wrong, and takes nothing with it. Whatever is read must be what was written; a table that is refused must not have been
changed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from harness import Tally, damaged

import timebound as tb
from timebound.lab.columns import COLUMNS
from timebound.lab.paper import Data
from timebound.lab.papers import chapter
from timebound.lab.recipes import Recipe, make, note_of
from timebound.lab.store import Store

__all__ = ["fuzz"]

_SECONDS = 60  # after which a process that opens a table counts as hanging
_MEMORY = 8 << 30  # bytes of address space: a damaged size must not take the machine
_PAGE = 4096
_COMMITS, _EACH = 4, 25
_NOTES = 5  # one of so many inputs is a note or a database


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """``count`` damaged tables, notes and databases."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [_closed(folder / "closed"), _killed(folder / "killed"), _older(folder / "older")]
        lab = _Lab(folder / "lab")
        with _Opener() as opener:
            for number in range(count):
                if number % _NOTES == 0:
                    lab.try_note(tally, random, number)
                else:
                    original = stores[int(random.integers(len(stores)))]
                    _try_store(tally, random, number, original, folder / "try", opener)


# --- tables ---------------------------------------------------------------------------------------------------------


def _record(number: int) -> dict[str, Any]:
    """The record of a number; a third of what may be missing is."""
    values = {"VARCHAR": f"text {number}", "BIGINT": number, "DOUBLE": number / 7, "BOOLEAN": number % 2 == 0}
    record = {
        name: None if (number + place) % 3 == 0 else values[column.kind]
        for place, (name, column) in enumerate(COLUMNS.items())
    }
    return record | {"key": f"key{number:05}", "error": None}


def _fill(store: Store, first: int, last: int) -> None:
    for commit in range(first, last):
        store.add([_record(commit * _EACH + k) for k in range(_EACH)])
        store.keep_drawn(f"drawn{commit}", [commit, [[1, 2, 3, 4, 5.5]] * 50])


def _closed(folder: Path) -> Path:
    """A table that was closed as it should be."""
    with Store(folder / "runs.duckdb") as store:
        _fill(store, 0, _COMMITS)
    return folder


def _killed(folder: Path) -> Path:
    """A table whose process was killed: half of it is in the log beside it."""
    with Store(folder / "runs.duckdb") as store:
        _fill(store, 0, _COMMITS // 2)
    code = f"import os, stores; store = stores.Store({str(folder / 'runs.duckdb')!r}); "
    code += f"stores._fill(store, {_COMMITS // 2}, {_COMMITS}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)
    assert (folder / "runs.duckdb.wal").exists()
    return folder


def _older(folder: Path) -> Path:
    """A table from before some columns existed."""
    import duckdb

    folder.mkdir()
    with duckdb.connect(str(folder / "runs.duckdb")) as connection:
        some = [column for column in list(COLUMNS.values())[:30] if column.name != "goal"]
        columns = ", ".join(f"{column.name} {column.kind}" for column in some)
        connection.execute(f"CREATE TABLE runs ({columns}, PRIMARY KEY (key))")
    return folder


def _try_store(
    tally: Tally, random: np.random.Generator, number: int, original: Path, folder: Path, opener: _Opener
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    files = sorted(folder.glob("runs.duckdb*"))
    file = files[int(random.integers(len(files)))]
    way, data = _harm(file.read_bytes(), random)
    file.write_bytes(data)
    before = {one.name: one.read_bytes() for one in files}
    what = f"input {number}, {original.name}/{file.name}, {way}"

    def use() -> None:
        found = opener.open(folder / "runs.duckdb")
        if "refused" in found:
            if not found["opened"] and any((folder / name).read_bytes() != data for name, data in before.items()):
                raise AssertionError(f"refused, and changed: {found['refused']}")
            raise tb.Error(found["refused"])
        if "wrong" in found:
            raise AssertionError(found["wrong"])

    tally.judge(what, use)


def _harm(data: bytes, random: np.random.Generator) -> tuple[str, bytes]:
    """A few bytes, or a whole page as disks lose them."""
    size = len(data)
    place = int(random.integers(size + 1))
    page = place // _PAGE * _PAGE
    match int(random.integers(6)):
        case 0:
            return "bytes", damaged(data, random)
        case 1:
            return f"cut at {place}", data[:place]
        case 2:
            return f"page {page} zero", data[:page] + bytes(len(data[page : page + _PAGE])) + data[page + _PAGE :]
        case 3:
            other = int(random.integers(size)) // _PAGE * _PAGE
            moved = data[other : other + _PAGE]
            return f"page {page} from {other}", data[:page] + moved + data[page + len(moved) :]
        case 4:
            noise = random.integers(0, 256, min(64, max(size - place, 0)), dtype=np.uint8).tobytes()
            return f"noise at {place}", data[:place] + noise + data[place + len(noise) :]
        case _:
            mutant = bytearray(data)
            if place < size:
                mutant[place] ^= 1 << int(random.integers(8))
            return f"bit of {place}", bytes(mutant)


def _use(path: Path) -> dict[str, Any]:
    """Open a table and do with it what the lab does; what came of it."""
    opened = False
    try:
        with Store(path) as store:
            opened = True
            found = store.rows()
            for row in found:
                if row != _record(int(row["key"].removeprefix("key"))):
                    return {"wrong": f"read what was not written: {row}"}
            if store.keys() != {row["key"] for row in found}:
                return {"wrong": "keys and rows differ"}
            for commit in range(_COMMITS):
                drawn = store.drawn(f"drawn{commit}")
                if drawn is not None and drawn[0] != commit:
                    return {"wrong": f"drawn {commit} is {drawn}"}
            _fill(store, _COMMITS - 1, _COMMITS + 1)
            store.export(path.with_name("runs.csv"))
        wanted = {row["key"] for row in found} | {_record((_COMMITS - 1) * _EACH + k)["key"] for k in range(2 * _EACH)}
        with Store(path) as store:
            if store.keys() != wanted:
                return {"wrong": f"{len(wanted)} records were committed, and {len(store.keys())} are there"}
    except tb.Error as error:
        return {"refused": str(error), "opened": opened}
    except Exception:
        return {"wrong": traceback.format_exc()}
    return {"rows": len(found)}


class _Opener:
    """A process that opens tables, each in a fork of itself: it has no threads, so that forks are safe."""

    def __enter__(self) -> _Opener:
        code = "import stores; stores._serve()"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=Path(__file__).parent, stdin=pipe, stdout=pipe, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def open(self, path: Path) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(path, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def _serve() -> None:
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(_SECONDS)
            with os.fdopen(writer, "w") as pipe, suppress(BaseException):
                pipe.write(json.dumps(_use(Path(line.rstrip("\n")))))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            told = pipe.read()
        status = os.waitpid(child, 0)[1]
        crashed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if crashed or not told:
            told = json.dumps({"wrong": f"the process died of signal {crashed}, or without a word"})
        print(told, flush=True)


# --- notes and databases --------------------------------------------------------------------------------------------


class _Lab:
    """A database with its note, made once, damaged again and again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.world = tb.Grid(tb.generate.rooms((16, 16), room=4, seed=1))
        self.recipe = Recipe.of("knn-lrta*", records=8, mode="trees")
        self.file = folder / "r.db"
        make("rooms", self.world, self.recipe, self.file)
        self.note = self.file.with_suffix(".json")
        self.whole = {one: one.read_bytes() for one in (self.file, self.note)}

    def try_note(self, tally: Tally, random: np.random.Generator, number: int) -> None:
        """Damage one of the two; the lab reads the note, makes what is missing, and reports."""
        for file, data in self.whole.items():
            file.write_bytes(data)
        if random.integers(4):
            self.note.write_bytes(self._odd(random) if random.integers(2) else damaged(self.whole[self.note], random))
        else:
            self.file.write_bytes(damaged(self.whole[self.file], random))

        def use() -> None:
            data = Data({}, [note for note in [note_of(self.file, self.recipe)] if note])
            for item in chapter.PAPER.items:
                item.examine(data)
            make("rooms", self.world, self.recipe, self.file, say=_silent)
            if not note_of(self.file, self.recipe).get("whole") or self.file.read_bytes() != self.whole[self.file]:
                raise AssertionError("not made anew")

        tally.judge(f"input {number}, {self.note.read_bytes()!r}", use)

    def _odd(self, random: np.random.Generator) -> bytes:
        """A note whose JSON is right, and a value is not."""
        note = json.loads(self.whole[self.note])
        odd = [None, -1, 0, 1e400, "", "x", [], {}, True, 10**30, float("nan"), [[1]], False]
        for _ in range(int(random.integers(1, 4))):
            name = list(note)[int(random.integers(len(note)))]
            if random.integers(5):
                note[name] = odd[int(random.integers(len(odd)))]
            else:
                del note[name]
            if not note:
                break
        return json.dumps(note if random.integers(9) else [note]).encode()


def _silent(text: str) -> None:
    """For what the lab says while it goes on."""
