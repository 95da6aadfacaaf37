"""The table of records: an embedded DuckDB file. What is committed survives a crash; what is not never half-exists."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..atomic import make_folder, replaced
from ..errors import Error, MapError
from ..text import FORMULA_STARTS, printable
from .columns import COLUMNS

__all__ = ["Memory", "Store", "check_export", "export"]

_IN_USE = re.compile(r"could not set lock|used by another process", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|access is denied|read-only file system|is a directory", re.IGNORECASE)
_NO_ROOM = re.compile(
    r"no space left|not enough space|disk (is )?full|quota exceeded|file too large|could not write (all|enough|file)",
    re.IGNORECASE,
)
_NEWER = re.compile(r"database file with version number|newer (duckdb )?version|serialization version", re.IGNORECASE)
_CSV = "FORMAT csv"
_FORMS = {".parquet": "FORMAT parquet", ".csv": f"{_CSV}, HEADER"}
_LONGEST = 250  # characters of DuckDB's own words that a sentence quotes

# Of the ways in that were tried, one JSON text is quick and right with every DuckDB from 1.1 on: arrays need pandas in
# 1.1, masks are lost up to 1.5, and arrays with flags, lists or rows of parameters take seconds for a thousand rows in
# some or all 1.x.
_ADD = "INSERT OR REPLACE INTO runs ({names}) SELECT {columns} FROM (SELECT from_json(?, '{shape}') AS batch)".format(
    names=", ".join(COLUMNS),
    columns=", ".join(f"unnest(batch.{name})" for name in COLUMNS),
    shape=json.dumps({column.name: [column.kind] for column in COLUMNS.values()}),
)


class Store:
    """Records in a DuckDB file, one row per run, told apart by their key. Without a path it is gone when closed."""

    lasting = True

    def __init__(self, path: str | Path | None) -> None:
        try:
            import duckdb
        except ImportError:
            raise Error("the lab keeps its records in DuckDB: pip install 'timebound[lab]'") from None
        self.path = Path(":memory:" if path is None else path)
        self._failure = ""  # why nothing can be written any more
        if path is not None:
            make_folder(self.path.parent)
        with self._told():
            self._connection = duckdb.connect(str(self.path))
        try:
            with self._told():
                self._make_tables()
        except Error:
            with suppress(Exception):
                self._connection.close()
            raise

    def _make_tables(self) -> None:
        columns = ", ".join(f"{column.name} {column.kind}" for column in COLUMNS.values())
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (key))")
        self._connection.execute("CREATE TABLE IF NOT EXISTS problems (key VARCHAR PRIMARY KEY, drawn VARCHAR)")
        known = {row[0] for row in self._connection.execute("SELECT column_name FROM (DESCRIBE runs)").fetchall()}
        for column in COLUMNS.values():
            if column.name not in known:  # a file from before this measure existed
                self._connection.execute(f"ALTER TABLE runs ADD COLUMN {column.name} {column.kind}")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever DuckDB raises within becomes one sentence that says what to do.

        It does not only raise its own errors: what a damaged file holds may not be text, or ask for too much memory.
        """
        try:
            yield
        except Exception as problem:
            if isinstance(problem.__cause__, KeyboardInterrupt):
                raise problem.__cause__ from None
            raise Error(self._sentence(problem)) from problem

    def _sentence(self, problem: Exception) -> str:
        # Without the file's own name, which could read like a reason.
        said = _words_of(problem, self.path)
        if _IN_USE.search(said):
            return f"{self.path} is in use by another process; wait for it, or choose another -o"
        if _NO_ROOM.search(said):
            return (
                f"cannot write {self.path}: {said}; make room and run again: what was committed is kept, and the rest "
                "is made then"
            )
        if _DENIED.search(said):
            return f"{self.path} cannot be opened as a table of records: {said}"
        away = f"move it away, with {self.path.name}.wal if that lies beside it, and the runs are made anew"
        if _NEWER.search(said):
            return f"{self.path} is of another version of DuckDB: {said}; upgrade with pip install -U duckdb, or {away}"
        return f"{self.path} is damaged, or no table of records ({said}): {away}"

    def close(self) -> None:
        """Write everything out."""
        with self._told():
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except Error:
            if kind is None:  # otherwise the first thing that went wrong is the one to tell
                raise

    def keys(self) -> set[str]:
        """What has been run, and did not end in an error."""
        with self._told():
            return {row[0] for row in self._connection.execute("SELECT key FROM runs WHERE error IS NULL").fetchall()}

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Commit records, all or none. A record with a key that is there already takes its place."""
        if not records:
            return
        batch = json.dumps({name: [_plain(record[name]) for record in records] for name in COLUMNS}, default=_item)
        self._write(_ADD, batch)

    def rows(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Records as dictionaries: those with the given keys, in that order, or all by key."""
        with self._told():
            found = self._connection.execute("SELECT * FROM runs ORDER BY key")
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        if keys is None:
            return rows
        by_key = {row["key"]: row for row in rows}
        return [by_key[key] for key in keys if key in by_key]

    def drawn(self, key: str) -> Any:
        """Problems drawn before, or None."""
        with self._told():
            found = self._connection.execute("SELECT drawn FROM problems WHERE key = ?", [key]).fetchone()
        return json.loads(found[0]) if found else None

    def keep_drawn(self, key: str, problems: Any) -> None:
        """Remember problems that were drawn."""
        self._write("INSERT OR REPLACE INTO problems VALUES (?, ?)", key, json.dumps(problems))

    def _write(self, command: str, *values: str) -> None:
        """Commit, or leave the file as it was.

        What DuckDB 1.1 to 1.3 hold in memory after a failed commit is not what the file holds: written out on closing,
        it makes a table that takes no more rows and says nothing. So nothing is written then, not even on closing; the
        log has all that was committed.
        """
        if self._failure:
            raise Error(self._failure)
        try:
            with self._told():
                self._connection.execute(command, list(values))
        except Error as error:
            self._failure = str(error)
            with suppress(Exception):
                self._connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            raise

    def export(self, path: str | Path) -> None:
        """Write all records to a ``.parquet`` or ``.csv`` file, whole or not at all."""
        file = Path(path)
        check_export(file)
        form = _FORMS[file.suffix.lower()]
        if not file.absolute().parent.is_dir():
            raise Error(f"cannot write {file}: there is no folder {file.parent}")
        columns = ", ".join(_harmless(name, kind) for name, kind in self._kinds()) if form.startswith(_CSV) else "*"
        with replaced(file) as beside:
            quoted = str(beside).replace("'", "''")
            try:
                with self._told():
                    self._connection.execute(f"COPY (SELECT {columns} FROM runs ORDER BY key) TO '{quoted}' ({form})")
            except Error as error:
                said = _words_of(error.__cause__, beside)
                if beside.name in said or _NO_ROOM.search(said):  # otherwise it is the table that cannot be read
                    raise Error(f"cannot write {file}: {said.replace(beside.name, file.name)}") from None
                raise

    def _kinds(self) -> list[tuple[str, str]]:
        with self._told():
            return self._connection.execute("SELECT column_name, column_type FROM (DESCRIBE runs)").fetchall()


class Memory:
    """The same without DuckDB and without a file: records are kept while the process lasts."""

    lasting = False

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}

    def keys(self) -> set[str]:
        """What has been run, and did not end in an error."""
        return {key for key, row in self._rows.items() if row["error"] is None}

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Keep records. One with a key that is there already takes its place."""
        self._rows |= {record["key"]: dict(record) for record in records}

    def rows(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Records with the given keys, in that order, or all."""
        return [self._rows[key] for key in (self._rows if keys is None else keys) if key in self._rows]


def export(rows: Sequence[Mapping[str, Any]], files: Iterable[str | Path]) -> None:
    """Write rows to ``.parquet`` or ``.csv`` files, each whole or not at all."""
    with Store(None) as store:
        store.add(rows)
        for file in files:
            store.export(file)


def check_export(file: str | Path) -> None:
    """Refuse a file that records cannot be exported to."""
    if Path(file).suffix.lower() not in _FORMS:
        raise MapError(f"records are exported to a .parquet or .csv file, not to {Path(file).name}")


def _words_of(problem: BaseException | None, file: Path) -> str:
    """What DuckDB said about a file, on one line that is not too long."""
    said = str(problem)
    if file.parent != Path():
        said = said.replace(str(file.parent) + os.sep, "")
    said = printable(" ".join(said.split())) or type(problem).__name__
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "..."


def _plain(value: Any) -> Any:
    """A value as JSON can say it and DuckDB reads it: a column's type makes a number of "inf" again."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="backslashreplace").decode()  # a file's name need not be text
    return value


def _item(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return _plain(value.item())


def _harmless(name: str, kind: str) -> str:
    """A column of a CSV file: text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if kind != "VARCHAR":
        return name
    starts = ", ".join(f"chr({ord(start)})" for start in FORMULA_STARTS)
    return f"CASE WHEN {name}[1] IN ({starts}) THEN chr(39) || {name} ELSE {name} END AS {name}"
