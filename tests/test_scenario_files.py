"""Scenario files: what is read back is what was written, and mistakes are named."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import message_of
from timebound.worlds.map_files import (
    ScenarioLine,
    read_scen,
    write_scen,
)

pytestmark = pytest.mark.once  # no kernel plays a part in them


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.file"


PROBLEM = "3\tmaps/a b.map\t30\t20\t5\t6\t7\t8\t12.5\n"
EXPECTED = ScenarioLine(3, "maps/a b.map", 30, 20, start=(6, 5), goal=(8, 7), optimal=12.5)


@pytest.mark.parametrize("version", ["", "version 1\n", "version 1.0\n", "version 2\r\n"])
def test_scenarios_turn_x_y_into_row_column(file: Path, version: str) -> None:
    file.write_bytes((version + PROBLEM + "\n" + PROBLEM.replace("a b.map", "c.map").replace("\t", " ")).encode())
    first, second = read_scen(str(file))
    assert first == EXPECTED
    assert second.map == "maps/c.map"
    assert second.start == (6, 5)


counts = st.integers(0, 10**6)
places = st.tuples(counts, counts)
scenario_lines = st.builds(
    ScenarioLine,
    bucket=counts,
    map=st.text("abc. é/_-", min_size=1, max_size=8).filter(lambda name: name == name.strip()),
    width=counts,
    height=counts,
    start=places,
    goal=places,
    optimal=st.floats(0, 1e9),
)


@settings(max_examples=60)
@given(lines=st.lists(scenario_lines, max_size=5))
def test_scenarios_survive_a_round_trip(lines: list[ScenarioLine]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.scen"
        write_scen(path, lines)
        assert read_scen(path) == lines


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ["empty", "version 1"]),
        (b"version one\n", ["line 1", "'version one'"]),
        (b"version 1\n0\ta.map\t1\t1\t0\t0\n", ["line 2", "6 fields", "9", "goal x"]),
        (PROBLEM.encode() + b"0 a.map 1 1 0 0 0 0 0 0\n", ["line 2", "10 fields"]),
        (PROBLEM.replace("\t5\t", "\tfive\t").encode(), ["line 1", "start x", "'five'"]),
        (PROBLEM.replace("\t8\t", "\t-8\t").encode(), ["line 1", "goal y", "'-8'", "from 0"]),
        (PROBLEM.replace("12.5", "nan").encode(), ["line 1", "optimal length", "'nan'"]),
        (PROBLEM.replace("12.5", "-1").encode(), ["line 1", "optimal length", "'-1'"]),
        (b"version 1\n\0\1\2", ["line 2", "0x00", "plain text"]),
        (b"version 1\n\xff\xfe", ["line 2", "0xff", "plain text"]),
    ],
)
def test_every_mistake_in_a_scenario_is_named(file: Path, data: bytes, parts: list[str]) -> None:
    file.write_bytes(data)
    message = message_of(read_scen, file)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    "line",
    [
        ScenarioLine(0, "a\tb", 1, 1, (0, 0), (0, 0), 0.0),
        ScenarioLine(0, "", 1, 1, (0, 0), (0, 0), 0.0),
        ScenarioLine(0, "a", 1, 1, (0, -1), (0, 0), 0.0),
    ],
)
def test_scenarios_that_could_not_be_read_back_are_not_written(file: Path, line: ScenarioLine) -> None:
    message_of(lambda path: write_scen(path, [line]), file)
    assert not file.exists()
