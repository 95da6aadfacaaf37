"""The table of runs: what it keeps, damaged, in use, on a full disk."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

import timebound as tb
from small_lab import SWEEP, filler, runs_of, same
from timebound.lab.columns import COLUMNS
from timebound.lab.engine import chunks, run_chunk
from timebound.lab.store import Store

pytestmark = pytest.mark.once  # no kernel plays a part in them


def test_store_keeps_replaces_and_exports(tmp_path: Path) -> None:
    records = run_chunk(chunks(runs_of(SWEEP), 12)[0])
    with Store(tmp_path / "deep" / "runs.duckdb") as store:
        store.add([])
        store.add(records)
        store.add([{**records[0], "cost": -1.0}])
        assert len(store.rows()) == len(records)
        (first,) = store.rows([records[0]["key"]])
        assert first["cost"] == -1.0
        assert store.keys() == {record["key"] for record in records}
        store.add([{**records[0], "error": "boom"}])
        assert store.keys() == {record["key"] for record in records[1:]}  # to be run again
        store.add(records[:1])
        assert store.drawn("k") is None
        store.keep_drawn("k", [1, [2, 3]])
        assert store.drawn("k") == [1, [2, 3]]
        store.export(tmp_path / "runs.csv")
        store.export(tmp_path / "runs.parquet")
        store.export(tmp_path / "o'clock.csv")
        assert (tmp_path / "o'clock.csv").read_bytes() == (tmp_path / "runs.csv").read_bytes()
        with pytest.raises(tb.MapError, match="parquet or"):
            store.export(tmp_path / "runs.xls")
        with pytest.raises(tb.Error, match="there is no folder"):
            store.export(tmp_path / "nowhere" / "runs.csv")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(tb.Error, match="it is a folder"):
            store.export(tmp_path / "folder.csv")
    with Store(tmp_path / "deep" / "runs.duckdb") as store:
        assert same(store.rows()) == same(records)
    with open(tmp_path / "runs.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(COLUMNS)
    assert {line["key"]: float(line["cost"]) for line in lines} == {r["key"]: r["cost"] for r in records}
    import duckdb

    path = tmp_path / "runs.parquet"
    assert duckdb.sql(f"SELECT count(*), sum(moves) FROM '{path}'").fetchall() == [
        (len(records), sum(record["moves"] for record in records))
    ]


def test_store_refuses_what_is_none(tmp_path: Path) -> None:
    file = tmp_path / "runs.duckdb"
    file.write_text("this is no database")
    with pytest.raises(tb.Error, match=r"no table of records .*: move it away, .* and the runs are made anew"):
        Store(file)
    assert file.read_text() == "this is no database"
    with pytest.raises(tb.Error, match="there is a file of that name"):
        Store(file / "runs.duckdb")


def used(file: Path) -> int:
    """How many rows there are, after a look at everything and a commit."""
    with Store(file) as store:
        found = len(store.rows())
        store.keys()
        store.drawn("k")
        store.add(filler(range(5)))
        store.keep_drawn("k", [1])
        store.export(file.with_name("runs.csv"))
    return found


def test_a_damaged_table_is_told_in_one_sentence(tmp_path: Path) -> None:
    """Whatever of it is damaged; and it is left as it is, for one who knows more."""
    file, damaged = tmp_path / "runs.duckdb", tmp_path / "damaged.duckdb"
    with Store(file) as store:
        store.add(filler(range(300)))
        store.keep_drawn("k", [1, 2])
    whole, refused = file.read_bytes(), 0
    places = [0, 8, 12, 20, 4096, 4104, 8192, 8200, *range(12288, len(whole), len(whole) // 12)]
    harmed = [
        whole[:place] + bytes(64 - (b == 1)) + b"!" * (b == 1) + whole[place + 64 :] for place in places for b in (0, 1)
    ]
    for data in [*harmed, *(whole[:place] for place in places[1:])]:
        damaged.write_bytes(data)
        damaged.with_name("damaged.duckdb.wal").unlink(missing_ok=True)
        said = ""
        try:
            assert used(damaged) == 300  # what was harmed is not in use
        except tb.Error as error:
            said = str(error)
        if said:
            refused += 1
            assert re.search(r"damaged\.duckdb is (damaged|of another version).* move it away", said)
            assert "in use" not in said
            assert "\n" not in said
            assert damaged.read_bytes() == data
    assert refused > len(places)


def test_a_table_in_use_is_said_to_be(tmp_path: Path) -> None:
    code = (
        "import sys; from timebound.lab.store import Store; store = Store(sys.argv[1]); print(1, flush=True); input()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "runs.duckdb")], stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        with pytest.raises(tb.Error, match="in use by another process"):
            Store(tmp_path / "runs.duckdb")
        other.communicate("\n")


FULL_DISK = """
import resource, sys
import timebound as tb
from small_lab import filler
from timebound.lab.store import Store
most, each = int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
done = 0
try:
    with Store(sys.argv[1]) as store:
        try:
            for _ in range(100):
                store.add(filler(range(done, done + each)))
                done += each
        except tb.Error as first:
            try:
                store.add(filler(range(1)))  # the room may be there again, but DuckDB's memory is not to be trusted
            except tb.Error as second:
                assert str(first) == str(second)
            raise
except tb.Error as error:
    assert "make room and run again" in str(error), error
    assert str(error).count(chr(10)) == 0
    print(done)
"""


@pytest.mark.parametrize(("most", "each"), [(60_000, 20), (300_000, 300), (900_000, 300)])
def test_a_full_disk_costs_nothing_that_was_committed(tmp_path: Path, most: int, each: int) -> None:
    """And when there is room again, the table goes on."""
    file = tmp_path / "runs.duckdb"
    told = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file), str(most), str(each)],
        capture_output=True, text=True, cwd=Path(__file__).parent, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    done = int(told.stdout)
    with Store(file) as store:
        assert len(store.keys()) == done
        store.add(filler(range(done, done + 50)))
        assert len(store.rows()) == done + 50
    with Store(file) as store:
        assert [row["key"] for row in store.rows()] == [f"{number:06}" for number in range(done + 50)]


def test_what_fails_on_closing_is_told_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb")
    store._connection = Unclosable(store._connection)
    store.__exit__(ZeroDivisionError, None, None)  # which is on its way
    with pytest.raises(tb.Error, match=r"no good.*move it away"):
        store.close()


def test_an_interrupt_is_no_damage(tmp_path: Path) -> None:
    """DuckDB makes an error of its own of Ctrl-C."""

    class Interrupted:
        def execute(self, *_: object) -> None:
            raise RuntimeError("Query interrupted") from KeyboardInterrupt()

    with Store(tmp_path / "runs.duckdb") as store:
        connection, store._connection = store._connection, Interrupted()
        for call in (store.keys, store.rows, lambda: store.add(filler(range(1)))):
            with pytest.raises(KeyboardInterrupt):
                call()
        store._connection = connection


def test_a_folder_in_the_place_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "no space left" / "runs.duckdb").mkdir(parents=True)
    with pytest.raises(tb.Error, match=r"runs\.duckdb (cannot be opened|is damaged)"):
        Store(tmp_path / "no space left" / "runs.duckdb")


class Unclosable:
    def __init__(self, connection) -> None:
        self.connection = connection

    def close(self) -> None:
        self.connection.close()
        raise RuntimeError("no\ngood")
