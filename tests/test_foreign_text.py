"""Names from outside are no markup, no formulas, and do not command the terminal."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from small_lab import filler
from timebound import cli
from timebound.lab import report
from timebound.lab.charts import Chart, Series
from timebound.lab.race import write_csv
from timebound.lab.store import Store


@pytest.mark.once
def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """Text that a spreadsheet would compute gets an apostrophe; numbers stay numbers."""
    names = ["=1+1", "+1", "-x", "@a", "\tb", "\rc", "plain=1", "", None]
    records = [one | {"map": name, "cost": -1.5} for one, name in zip(filler(range(9)), names, strict=True)]
    wanted = ["'=1+1", "'+1", "'-x", "'@a", "'\tb", "'\rc", "plain=1", "", ""]
    with Store(tmp_path / "runs.duckdb") as store:
        store.add(records)
        store.export(tmp_path / "runs.csv")
        store.export(tmp_path / "runs.parquet")
    write_csv(tmp_path / "bench.csv", records)
    for file in ("runs.csv", "bench.csv"):
        with open(tmp_path / file, newline="", encoding="utf-8") as lines:
            found = list(csv.DictReader(lines))
        assert [line["map"].replace("\\t", "\t").replace("\\r", "\r") for line in found] == wanted
        assert {line["cost"] for line in found} == {"-1.5"}
    import duckdb

    path = tmp_path / "runs.parquet"
    assert [row[0] for row in duckdb.sql(f"SELECT map FROM '{path}' ORDER BY key").fetchall()] == names


@pytest.mark.once
def test_names_are_no_markup() -> None:
    """A name may be anything; in a report it is only ever read."""
    evil = "x|`a`<img src=x onerror=y>[l](http://e.x)*b*_c_~~d~~ $m$ @me www.e.x\n# e\x1b[2J&amp;"
    chart = Chart(evil, evil, evil, [Series(evil, [1, 2], [1, 2])], note=evil)
    finding = report.Finding("", evil, [report.Table(evil, (evil, evil), [[evil, evil]])], [chart], evil)
    section = report.Section("1", evil, evil, evil, finding)
    document = report.Document(evil, [evil, "1. no list", "- none", "# none"], [section], {evil: evil}, [(evil, evil)])
    text = report.markdown(document, {evil: "c.svg"})
    lines = text.splitlines()
    assert "\x1b" not in text
    bare = re.sub(r"\\.", "", text)  # what is not escaped
    own = bare.replace("![", "").replace("](c.svg)", "")
    assert not re.search(r"[`<\[\]_~$@&]|://|www\.", own)
    assert all(line.count("|") == 3 for line in bare.splitlines() if line.startswith("|") and "---" not in line)
    assert [line for line in lines if line.startswith("#")] == [
        line for line in lines if re.match(r"# x|## Unexplained errors|## 1\. x|## How it was made", line)
    ]
    assert "1\\. no list" in lines
    assert "\\- none" in lines
    assert "\\# none" in lines
    page = report.html(document)
    assert "<img" not in page
    assert "\x1b" not in page
    xml.fromstring(chart.svg(alone=True))


def test_names_do_not_command_the_terminal(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences, line breaks and what reverses the reading order are written out, in output and in errors."""
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[2J\u202eb\nc\r.map"
    tb.Grid(np.ones((6, 6))).save(name)
    race = [name, "--problems", "2", "-a", "a*", "tba*:r=\n0.9"]
    for words, code in (
        (["solve", name, "0,0", "5,5"], 0),
        (["maps", "info", name], 0),
        (["maps", "scale", name, "2", "-o", f"2{name}"], 0),
        (["bench", *race, "--csv", f"{name}.csv"], 0),
        (["compare", *race, "-o", f"{name}.folder"], 0),
        (["solve", f"no{name}", "0,0", "5,5"], 2),
        (["solve", name, "\x1b[31m", "5,5"], 2),
        (["solve", name, "0,0", "5,5", "-a", "\x1b[31m"], 2),
        (["solve", name, "0,0", "5,5", "\x1b[31m"], 2),
        (["solve", name, "0,0", "5,5", "--\x1b[31m"], 2),
        (["\x1b[31m"], 2),
        (["reproduce", "\x1b[31m"], 2),
    ):
        assert cli.main(words) == code, words
        out, err = capsys.readouterr()
        assert all(c.isprintable() for c in (out + err).replace("\n", "")), words
        assert "\\x1b" in out + err, words
        assert not any(line.startswith("c") for line in (out + err).splitlines()), words
        assert code == 0 or err.count("\n") == 1
    for file in Path(f"{name}.folder").iterdir():
        if file.suffix not in (".csv", ".duckdb"):
            assert all(c.isprintable() for c in file.read_text().replace("\n", ""))
