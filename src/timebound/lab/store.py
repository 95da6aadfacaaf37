"""The table of records: an embedded DuckDB file. What is committed survives a crash; what is not never half-exists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error, MapError
from ..whole import make_folder, replaced
from .columns import COLUMNS

__all__ = ["Store"]


class Store:
    """Records in a DuckDB file, one row per run, told apart by their key."""

    def __init__(self, path: str | Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise Error("the lab keeps its records in DuckDB: pip install 'timebound[lab]'") from None
        self.path = Path(path)
        make_folder(self.path.parent)
        try:
            self._connection = duckdb.connect(str(self.path))
        except duckdb.IOException as problem:
            text = str(problem).split("\n")[0]
            if "lock" in text.lower():
                raise Error(f"{self.path} is in use by another process; wait for it, or choose another -o") from None
            raise Error(f"{self.path} cannot be opened as a table of records: {text}") from None
        columns = ", ".join(f"{column.name} {column.kind}" for column in COLUMNS.values())
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (key))")
        self._connection.execute("CREATE TABLE IF NOT EXISTS problems (key VARCHAR PRIMARY KEY, drawn VARCHAR)")
        known = {row[0] for row in self._connection.execute("SELECT column_name FROM (DESCRIBE runs)").fetchall()}
        for column in COLUMNS.values():
            if column.name not in known:  # a file from before this measure existed
                self._connection.execute(f"ALTER TABLE runs ADD COLUMN {column.name} {column.kind}")
        self._types = {column.name: column.kind for column in COLUMNS.values()}

    def close(self) -> None:
        """Write everything out."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keys(self) -> set[str]:
        """What has been run, and did not end in an error."""
        return {row[0] for row in self._connection.execute("SELECT key FROM runs WHERE error IS NULL").fetchall()}

    def add(self, records: Sequence[dict[str, Any]]) -> None:
        """Commit records, all or none. A record with a key that is there already takes its place."""
        if not records:
            return
        # DuckDB takes thousands of rows from arrays in the time of a few from parameters.
        batch = {name: _array(kind, [record[name] for record in records]) for name, kind in self._types.items()}
        self._connection.register("batch", batch)
        try:
            self._connection.execute("INSERT OR REPLACE INTO runs BY NAME SELECT * FROM batch")
        finally:
            self._connection.unregister("batch")

    def rows(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Records as dictionaries: those with the given keys, in that order, or all by key."""
        found = self._connection.execute("SELECT * FROM runs ORDER BY key")
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        if keys is None:
            return rows
        by_key = {row["key"]: row for row in rows}
        return [by_key[key] for key in keys if key in by_key]

    def drawn(self, key: str) -> Any:
        """Problems drawn before, or None."""
        found = self._connection.execute("SELECT drawn FROM problems WHERE key = ?", [key]).fetchone()
        return json.loads(found[0]) if found else None

    def keep_drawn(self, key: str, problems: Any) -> None:
        """Remember problems that were drawn."""
        self._connection.execute("INSERT OR REPLACE INTO problems VALUES (?, ?)", [key, json.dumps(problems)])

    def export(self, path: str | Path) -> None:
        """Write all records to a ``.parquet`` or ``.csv`` file, whole or not at all."""
        file = Path(path)
        form = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}.get(file.suffix.lower())
        if form is None:
            raise MapError(f"records are exported to a .parquet or .csv file, not to {file.name}")
        if not file.absolute().parent.is_dir():
            raise Error(f"cannot write {file}: there is no folder {file.parent}")
        import duckdb

        with replaced(file) as beside:
            quoted = str(beside).replace("'", "''")
            try:
                self._connection.execute(f"COPY (SELECT * FROM runs ORDER BY key) TO '{quoted}' ({form})")
            except duckdb.Error as problem:
                raise Error(f"cannot write {file}: {str(problem).splitlines()[0]}") from None


_NUMBERS = {"BIGINT": np.int64, "DOUBLE": np.float64, "BOOLEAN": np.bool_}


def _array(kind: str, values: list[Any]) -> np.ndarray:
    """A column as DuckDB reads it; None is masked."""
    if kind not in _NUMBERS:
        return np.array(values, object)
    missing = [value is None for value in values]
    if not any(missing):
        return np.array(values, _NUMBERS[kind])
    return np.ma.array([0 if value is None else value for value in values], _NUMBERS[kind], mask=missing)
