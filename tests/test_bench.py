"""Races: which problems are run, what a record holds, and how records become a table."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from timebound import cli
from timebound.lab.columns import MEASURES
from timebound.lab.experiment import Setting, cross
from timebound.lab.race import Race, write_csv
from timebound.lab.summary import doubtful, format_table, short, summarise
from timebound.lab.tasks import collect

pytestmark = pytest.mark.compiled  # kernels only serve them

RECORD_FIELDS = {
    *("map", "digest", "source", "seed", "problem", "start", "goal", "spec", "status", "algorithm", "budget"),
    *("cost", "moves", "waits", "first_move_lag", "expansions", "learning_expansions", "back_moves"),
    *("non_optimal_moves", "revisits", "planning_seconds", "memory_states", "memory_bytes", "optimal"),
    *("suboptimality", "states_per_move_mean", "states_per_move_median", "states_per_move_max"),
    *("back_moves_percent", "restarts", "astray"),
    *(
        "microseconds_per_move",
        "commit",
        "move_limit",
        "change_rate",
        "change_every",
        "databases",
        "non_optimal",
        "jobs",
    ),
    *("timebound_version", "python_version", "numpy_version", "numba_version", "machine"),
}


def raced(tasks, entries, setting: Setting = Setting(), **how: Any) -> list[dict[str, Any]]:  # noqa: B008
    race = Race(tasks, entries, setting)
    race.get_ready()
    return race.records(race.run(**how))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two maps, and a scenario for the first with a start in a wall and a wrong optimum."""
    for name, seed in (("first.map", 1), ("second.map", 2)):
        tb.Grid(tb.generate.rooms((24, 24), room=8, seed=seed)).save(tmp_path / name)
    world = tb.Grid.load(tmp_path / "first.map")
    lines = ["version 1"]
    for problem in tb.problems(world, 9, seed=3):
        (row, col), (goal_row, goal_col) = problem.start, problem.goal
        lines.append(f"0\tfirst.map\t24\t24\t{col}\t{row}\t{goal_col}\t{goal_row}\t{problem.optimal:.5f}")
    lines.append("0\tfirst.map\t24\t24\t0\t0\t1\t1\t1.0")
    lines[-2] = lines[-2].rpartition("\t")[0] + "\t1.5"
    (tmp_path / "first.map.scen").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_random_problems_of_a_map(folder):
    (task,) = collect([folder / "second.map"], count=4, seed=7, cost=(5, 40))
    assert (len(task.problems), task.source, task.seed) == (4, "random", 7)
    assert task.problems == list(tb.problems(task.opened.world, 4, seed=7, cost=(5, 40)))
    assert task.digest == tb.Grid.load(folder / "second.map").digest


def test_scenario_problems(folder):
    (task,) = collect([folder / "first.map.scen"])
    assert (len(task.problems), task.passed_over, task.source, task.seed) == (9, 1, "first.map.scen", None)
    assert task.problems[-1].optimal == 1.5
    (task,) = collect([folder / "first.map.scen"], recompute=True)
    assert task.problems[-1].optimal > 1.6
    (fewer,) = collect([folder / "first.map.scen"], count=3, recompute=True)
    assert [p.start for p in fewer.problems] == [task.problems[k].start for k in (0, 4, 8)]
    costs = sorted(p.optimal for p in task.problems)
    (within,) = collect([folder / "first.map.scen"], cost=(costs[2], costs[6]), recompute=True)
    assert sorted(p.optimal for p in within.problems) == costs[2:7]


def test_which_map_a_scenario_is_for(folder):
    moved = folder / "elsewhere"
    moved.mkdir()
    (folder / "first.map").rename(moved / "first.map")
    (task,) = collect([moved / "first.map", folder / "first.map.scen"], count=2)
    assert task.source == "first.map.scen"
    tasks = collect([folder / "second.map", moved / "first.map", folder / "first.map.scen"], count=2)
    assert [(task.opened.name, task.source) for task in tasks] == [
        ("first.map", "first.map.scen"),
        ("second.map", "random"),
    ]
    with pytest.raises(tb.MapError, match="is not beside it"):
        collect([folder / "first.map.scen"])


def test_a_folder_is_all_its_maps(folder):
    tasks = collect([folder], count=2)
    assert [(task.opened.name, task.source) for task in tasks] == [
        ("first.map", "first.map.scen"),
        ("second.map", "random"),
    ]
    tasks = collect([folder], count=2, cost=(1, 50))
    assert [task.source for task in tasks] == ["random", "random"]


def test_records_and_summary(folder):
    tasks = collect([folder], count=3, recompute=True)
    entries = cross(["a*", "wa*:weight=3", "a*"], ["none", 5])
    assert len(entries) == 4
    told: list[tuple[int, int, str]] = []
    records = raced(tasks, entries, progress=lambda *news: told.append(news))
    assert len(records) == 2 * 3 * 4
    assert told[-1] == (24, 24, "runs")
    assert all(set(record) == RECORD_FIELDS for record in records)
    json.dumps(records)
    for record in records:
        world = next(task.opened.world for task in tasks if task.digest == record["digest"])
        again = tb.solve(
            world, record["start"], record["goal"], record["spec"], budget=None if record["budget"] == "none" else 5
        )
        assert (record["cost"], record["expansions"], record["waits"]) == (again.cost, again.expansions, again.waits)
        assert record["states_per_move_max"] == max(again.expansions_per_move)
        assert record["algorithm"] == "a*" or record["suboptimality"] <= 3
    rows = summarise(records)
    assert [(row["spec"], row["budget"]) for row in rows] == [(e.text, str(e.budget)) for e in entries]
    for row in rows:
        assert (row["problems"], row["solved"], row["maps"]) == (6, 6, 2)
        assert {f"{measure}_{kind}" for measure in MEASURES for kind in ("mean", "median", "max")} <= set(row)
        assert row["suboptimality_max"] >= row["suboptimality_median"] >= 1 - 1e-9
    assert rows[2]["states_per_move_max"] <= 5


def test_jobs_change_no_result(folder):
    tasks = collect([folder], count=3)
    entries = cross(["a*", "gbfs"], [7])
    times = {"planning_seconds", "microseconds_per_move", "jobs"}
    one, two = (
        [{k: v for k, v in record.items() if k not in times} for record in raced(tasks, entries, jobs=jobs)]
        for jobs in (1, 2)
    )
    assert one == two


def test_unsolved_problems_are_counted(folder):
    tasks = collect([folder / "second.map"], count=5, cost=(10, 90))
    rows = summarise(raced(tasks, cross(["a*"], [None]), Setting(move_limit=3)))
    assert (rows[0]["problems"], rows[0]["solved"], rows[0]["move_limit"]) == (5, 0, 5)
    assert rows[0]["suboptimality_mean"] is None
    assert rows[0]["expansions_mean"] > 0
    assert "0/5" in format_table(rows)


def test_doubtful_optima_are_found(folder):
    tasks = collect([folder / "first.map.scen"])
    assert doubtful(raced(tasks, cross(["a*", "gbfs"], [None]))) == 1


def test_table_fits_the_page(folder):
    tasks = collect([folder], count=2)
    specs = ["a*", "wa*:weight=1.5", "wa*:weight=12.25,reopen=true", "dijkstra"]
    rows = summarise(raced(tasks, cross(specs, ["none", "3", "50ms"])))
    for row in rows:
        row.update(states_per_move_max=123456789, memory_bytes_mean=1.23456e9, suboptimality_max=1234.5)
    lines = format_table(rows).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("--")] == [
        "-- no budget --",
        "-- budget 3 states per move --",
        "-- budget 50ms --",
    ]
    assert sum(line.startswith("wa*:weight=12.25,reopen=true") for line in lines) == 3
    assert format_table([]) == "nothing was run"


@pytest.mark.parametrize("value", [0, 0.004, 9.994, 9.996, 99.94, 99.96, 9999.4, 9999.6, 994_000, 999_600, 5e8, 3e11])
def test_short_numbers_are_short(value):
    text = short(value)
    assert len(text) <= 4
    number = float(text.translate(str.maketrans("", "", "kMG"))) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)
    assert number == pytest.approx(value, rel=0.06, abs=0.006)


def test_bench_command(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert cli.main(["bench", "first.map.scen", "-a", "a*", "-a", "gbfs", "wa*", "--csv", "runs.csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("9 listed problems on first.map, optimal cost 1.5 to ")
    assert "wrote runs.csv" in out
    assert "seed none (listed problems)" in out.replace("\n", " ")
    assert f"timebound {tb.__version__}, Python" in out.replace("\n", " ")
    assert "1 problem passed over" in err
    assert "off for 1 problem: use --recompute" in err
    with open("runs.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 27
    assert set(lines[0]) == RECORD_FIELDS
    assert lines[0]["start"].count(",") == 1
    assert cli.main(["bench", ".", "--problems", "2", "--budget", "4,none", "--json"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert set(story) == {"records", "summary", "passed_over"}
    assert (len(story["records"]), len(story["summary"]), story["passed_over"]) == (8, 2, 1)


def test_bench_on_a_graph_counts_from_1(tmp_path, capsys):
    (tmp_path / "ring.gr").write_text("p sp 3 3\na 1 2 1\na 2 3 1\na 3 1 1\n")
    assert cli.main(["bench", str(tmp_path / "ring.gr"), "--problems", "12", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert {record["start"] for record in records} | {record["goal"] for record in records} == {1, 2, 3}


def test_trade_off_picture(folder, capsys, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(folder)
    words = ["bench", "second.map", "--problems", "3", "-a", "a*", "gbfs", "--png", "trade.png"]
    for more in ([], ["--budget", "3,none"]):
        assert cli.main(words + more) == 0
        with image.open("trade.png") as picture:
            assert picture.width >= 900
    capsys.readouterr()
    assert cli.main([*words, "--move-limit", "1", "--cost", "5:50"]) == 2
    out, err = capsys.readouterr()
    assert "0/3" in out  # the table is told even if there is nothing to draw
    assert "nothing to draw" in err


def test_map_pictures():
    pytest.importorskip("PIL")
    from timebound.pictures import COLOURS, FREE, WALL, draw

    world = tb.Grid([[1, 1, 1], [1, 0, 1], [1, 9, 1]])
    path = tb.solve(world, (2, 0), (2, 2), "a*").path
    image = draw(world, {"a*": path}, start=(2, 0), goal=(2, 2), size=300)
    assert image.getpixel((150, 150)) == WALL
    assert image.getpixel((250, 20)) == FREE
    assert image.getpixel((150, 250)) not in (FREE, WALL)  # dear ground, and not on the path
    assert COLOURS[0] in {colour for _, colour in image.getcolors(1 << 20)}
    assert draw(tb.Grid([[1, 0]] * 4000), size=400).size[1] == 400
    many = {str(k): path for k in range(20)}
    assert draw(world, many, size=64).width >= 320
    with pytest.raises(tb.Error, match="at least 16"):
        draw(world, size=3)


FULL_DISK = """
import resource, sys
from PIL import Image
import timebound as tb
from small_lab import filler
from timebound.lab.race import write_csv
from timebound.lab.store import Store
from timebound.pictures import save
folder = sys.argv[1]
store = Store(f"{folder}/runs.duckdb")
store.add(filler(range(300)))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
records = [{"map": "x" * 100}] * 100
for work in (
    lambda: write_csv(f"{folder}/runs.csv", records),
    lambda: save(Image.effect_noise((200, 200), 50), f"{folder}/walk.png"),
    lambda: tb.Grid([[1] * 100] * 100).save(f"{folder}/a.map"),
    lambda: store.export(f"{folder}/all.csv"),
    lambda: store.export(f"{folder}/all.parquet"),
):
    try:
        work()
        print("written")
    except tb.Error as error:
        print(error)
"""


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A table, a picture or a map is written whole or not at all."""
    pytest.importorskip("PIL")
    names = ("runs.csv", "walk.png", "a.map", "all.csv", "all.parquet")
    for name in names:
        (tmp_path / name).write_text("the old one")
    here = Path(__file__).parent
    code = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    told = subprocess.run(code, capture_output=True, text=True, check=True, cwd=here)
    lines = told.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [f"cannot write {tmp_path / name}" for name in names]
    assert all("too large" in line for line in lines)
    found = {file.name: file.read_text() for file in tmp_path.iterdir() if "duckdb" not in file.name}
    assert found == dict.fromkeys(names, "the old one")


def test_links_stay_and_devices_are_written_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_csv(link, [{"a": 1}])
    assert link.is_symlink()
    assert target.read_text() == "a\n1\n"
    tb.Grid([[1, 1]]).save(link)
    assert link.is_symlink()
    assert target.read_text().startswith("type octile")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        write_csv(pipe, [{"a": 2}])
        assert read.result() == "a\n2\n"
    assert pipe.is_fifo()
    if Path("/dev/full").exists():
        with pytest.raises(tb.Error, match="cannot write /dev/full: No space left"):
            write_csv("/dev/full", [{"a": 3}])
        assert Path("/dev/full").is_char_device()
