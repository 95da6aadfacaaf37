"""The command line: what it prints, what it exits with, and one sentence for every mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from helpers import COMPILED
from timebound import cli
from timebound.algorithms import REGISTRY
from timebound.cli.demo import RIVALS
from timebound.cli.maps import KINDS
from timebound.lab.papers import PAPERS, TO_COME
from timebound.lab.reproduce import find
from timebound.worlds.generate import GENERATORS

HEADER = "type octile\nheight 3\nwidth 5\nmap\n"
ROWS = ".....\n.@@@.\n....@\n"
GRAPH = "c four nodes, the last one alone\np sp 4 4\na 1 2 7\na 2 1 9\na 2 3 1\na 3 1 1\n"

COMMANDS = [
    [],
    *([name] for name in cli.COMMANDS),
    *(["maps", action] for action in ("generate", "info", "regions", "scale")),
]

RESULT_FIELDS = {
    *("map", "digest", "start", "goal", "status", "algorithm", "budget", "path", "placed", "cost", "moves", "waits"),
    *("first_move_lag", "expansions", "expansions_per_move", "learning_expansions", "back_moves"),
    *("non_optimal_moves", "revisits", "planning_seconds", "memory_states", "memory_bytes", "optimal"),
    *("suboptimality", "back_moves_percent", "restarts", "astray", "retargeted"),
}
INFO_FIELDS = {
    *("map", "world", "rows", "columns", "free", "free_share", "parts", "largest_part", "largest_part_share"),
    *("terrain", "bytes_per_cell", "problems", "bytes", "digest"),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good map, scenario and graph, and the mistakes to be made, as the place to be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    files = {
        "good.map": HEADER + ROWS,
        "good.map.scen": "version 1\n"
        "0\tgood.map\t5\t3\t0\t0\t4\t0\t4.0\n"
        "0\tgood.map\t5\t3\t0\t2\t4\t1\t7.0\n"
        "0\tgood.map\t5\t3\t1\t1\t4\t1\t7.0\n",
        "good.gr": GRAPH,
        "short.map": HEADER + ".....\n.@@\n....@\n",
        "header.map": "type octile\nheigth 3\nwidth 5\nmap\n" + ROWS,
        "character.map": HEADER + ROWS.replace("@@@", "@X@"),
        "empty.map": "",
        "walls.map": HEADER + 3 * "@@@@@\n",
        "other.scen": "version 1\n0\tgood.map\t9\t9\t0\t0\t4\t0\t4.0\n",
        "nothing.scen": "version 1\n",
        "dangling.gr": "p sp 2 1\na 1 3 7\n",
        "text.npy": "no array",
        "text.png": "no image",
        "bomb.gr": "p sp 200000000 0",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.map").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    costs = np.ones((3, 4))
    np.save("good.npy", costs * 2)
    np.save("occupancy.npy", np.array([[0, 100], [-1, 0]], np.int8))
    for name, wrong in (("negative.npy", -1.0), ("nan.npy", np.nan)):
        costs[1, 2] = wrong
        np.save(name, costs)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def json_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0):
    found, out, _ = run(capsys, *words, "--json")
    assert found == code
    return json.loads(out)


# ------------------------------------------------------------------------------------------------ solve


def test_solve_tells_how_it_went(capsys):
    code, out, err = run(capsys, "solve", "good.map", "0,0", "1,4", "--optimal")
    assert (code, err) == (0, "")
    assert out.startswith("reached: from (0, 0) to (1, 4)\n")
    assert "suboptimality 1.0000 (optimal 5.000)" in out
    for word in ("cost", "moves", "states expanded", "first-move lag", "planning time", "memory", "per move: mean"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80


def test_solve_json(capsys):
    result = json_of(capsys, "solve", "good.map", "0,0", "1,4", "-a", "wa*:weight=3", "--budget", "2", "--optimal")
    assert set(result) == RESULT_FIELDS
    assert (result["start"], result["goal"], result["path"][0], result["path"][-1]) == ([0, 0], [1, 4], [0, 0], [1, 4])
    assert (result["algorithm"], result["budget"]) == ("wa*:weight=3,reopen=false", "2")
    assert max(result["expansions_per_move"]) <= 2
    assert result["first_move_lag"] > 0


def test_start_equal_goal_is_solved(capsys):
    code, out, _ = run(capsys, "solve", "good.map", "0,0", "0,0")
    assert (code, out.split(":")[0]) == (0, "reached")
    result = json_of(capsys, "solve", "good.map", "0,0", "0,0", "--optimal")
    assert (result["moves"], result["cost"], result["suboptimality"], result["path"]) == (0, 0, 1.0, [[0, 0]])


def test_unreachable_and_move_limit_exit_1(capsys):
    code, out, err = run(capsys, "solve", "good.gr", "1", "4")
    assert (code, err) == (1, "")
    assert "unreachable: there is no way from node 1 to node 4" in out
    code, out, _ = run(capsys, "solve", "good.map", "0,0", "1,4", "--move-limit", "2")
    assert code == 1
    assert "move-limit: gave up after 2 moves" in out
    assert json_of(capsys, "solve", "good.gr", "1", "4", code=1)["status"] == "unreachable"


def test_graph_nodes_count_as_the_file_does(capsys):
    result = json_of(capsys, "solve", "good.gr", "1", "3")
    assert (result["start"], result["goal"], result["path"], result["cost"]) == (1, 3, [1, 2, 3], 8.0)
    assert "from node 1 to node 3" in run(capsys, "solve", "good.gr", "1", "3")[1]


def test_graph_uses_coordinates_beside_it(capsys, here):
    (here / "good.co").write_text("p aux sp co 4\nv 1 0 0\nv 2 3 0\nv 3 4 0\nv 4 9 9\n")
    assert json_of(capsys, "solve", "good.gr", "1", "3")["path"] == [1, 2, 3]
    (here / "good.co").write_text("p aux sp co 3\n")
    assert run(capsys, "solve", "good.gr", "1", "3")[0] == 2


def test_solve_takes_arrays_images_and_rules(capsys, here):
    assert json_of(capsys, "solve", "good.npy", "0,0", "0,3")["cost"] == 6.0
    assert json_of(capsys, "solve", "good.npy", "0,0", "1,1", "--connectivity", "4")["cost"] == 4.0
    assert json_of(capsys, "solve", "good.npy", "0,0", "1,1", "--diagonal", "1.5")["cost"] == 3.0
    assert json_of(capsys, "solve", "good.map", "0,1", "2,3", "--corners", "always")["cost"] > 4
    pytest.importorskip("PIL")
    assert run(capsys, "solve", "good.map", "0,0", "2,2", "--png", "walk.png")[0] == 0
    assert (here / "walk.png").read_bytes().startswith(b"\x89PNG")
    assert (
        run(capsys, "maps", "generate", "random", "--size", "9", "--density", "0", "-o", "m.map", "--png", "m.png")[0]
        == 0
    )
    if COMPILED:  # the picture has hundreds of pixels a side
        assert json_of(capsys, "solve", "m.png", "5,5", "5,5")["moves"] == 0


def test_maps_regions(capsys, here):
    told = json_of(capsys, "maps", "regions", "good.map")
    assert [row["regions"] for row in told["levels"]] == [11, 5, 2, 1]  # a corridor: pairs, and its end
    assert told["levels"][-1] == {
        "level": 3, "regions": 1, "states_mean": 11.0, "states_least": 11, "states_most": 11
    }  # fmt: skip
    assert json_of(capsys, "maps", "regions", "walls.map")["levels"] == [
        {"level": 0, "regions": 0, "states_mean": 0.0, "states_least": 0, "states_most": 0}
    ]
    pytest.importorskip("PIL")
    code, out, _ = run(capsys, "maps", "regions", "good.map", "--level", "1", "--png", "r.png")
    assert code == 0
    assert "wrote r.png: level 1" in out
    assert (here / "r.png").read_bytes().startswith(b"\x89PNG")


def test_maps_of_robots(capsys, here):
    pytest.importorskip("PIL")
    (here / "floor.pgm").write_bytes(b"P5 4 2 255 " + bytes([0, 254, 254, 205, 0, 254, 254, 254]))
    text = "image: floor.pgm\nresolution: 1\norigin: [0, 0, 0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
    (here / "floor.yaml").write_text(text)
    assert json_of(capsys, "maps", "info", "floor.yaml")[0]["free"] == 5
    assert json_of(capsys, "solve", "floor.yaml", "0,1", "1,3")["status"] == "reached"
    # The picture alone does not say what its grey is.
    code, out, err = run(capsys, "solve", "floor.pgm", "0,1", "1,3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "grey" in err
    assert json_of(capsys, "solve", "floor.pgm", "0,1", "1,3", "--threshold", "230")["status"] == "reached"
    assert run(capsys, "maps", "scale", "floor.pgm", "1", "--threshold", "230", "-o", "floor.map")[0] == 0
    assert json_of(capsys, "maps", "info", "floor.map")[0]["free"] == 5


@pytest.mark.once
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices")
def test_a_map_that_never_ends_is_refused(capsys, here):
    os.mkfifo(here / "pipe.map")
    (here / "zero.map").symlink_to("/dev/zero")
    for name, kind in (("pipe.map", "pipe"), ("zero.map", "device")):
        for words in (["solve", name, "0,0", "0,1"], ["maps", "info", name], ["bench", name]):
            code, out, err = run(capsys, *words)
            assert (code, out) == (2, "")
            assert err.strip().endswith(f"{name} is a {kind}, and a file is needed")


# ---------------------------------------------------------------------------------------------- mistakes


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "hints"),
    [
        (["solve", "short.map", "0,0", "1,4"], ["short.map", "line 6"]),
        (["solve", "header.map", "0,0", "1,4"], ["header.map", "line 2", "heigth"]),
        (["solve", "character.map", "0,0", "1,4"], ["character.map", "'X'"]),
        (["solve", "empty.map", "0,0", "1,4"], ["empty.map is empty"]),
        (["solve", "binary.map", "0,0", "1,4"], ["binary.map", "plain text"]),
        (["solve", "no.map", "0,0", "1,4"], ["there is no file no.map"]),
        (["solve", "folder", "0,0", "1,4"], ["folder is a folder"]),
        (["solve", "good.map.scen", "0,0", "1,4"], ["list of problems"]),
        (["solve", "good.map", "1,1", "1,4"], ["start (1, 1) is in a wall"]),
        (["solve", "good.map", "3,0", "1,4"], ["start (3, 0) is off the map"]),
        (["solve", "good.map", "-1,0", "1,4"], ["start (-1, 0) is off the map"]),
        (["solve", "good.map", "0,0", "0,-5"], ["goal (0, -5) is off the map"]),
        (["solve", "good.map", "0", "1,4"], ["row,col", "'0'"]),
        (["solve", "good.map", "0,0", "a,b"], ["row,col", "'a,b'"]),
        (["solve", "negative.npy", "0,0", "0,1"], ["negative.npy", "(1, 2)", "-1"]),
        (["solve", "nan.npy", "0,0", "0,1"], ["nan.npy", "(1, 2)", "nan"]),
        (["solve", "text.npy", "0,0", "0,1"], ["text.npy", "no NumPy array"]),
        (["solve", "no.npy", "0,0", "0,1"], ["there is no file no.npy"]),
        (["solve", "text.png", "0,0", "0,1"], ["text.png"]),
        (["solve", "occupancy.npy", "0,0", "0,1"], ["occupancy.npy", "Grid.from_occupancy"]),
        (["solve", "bomb.gr", "1", "2"], ["bomb.gr declares 200000000 nodes", "TIMEBOUND_LARGEST_INPUT"]),
        (["solve", "good.map", "0,0", "1,4", "--threshold", "3"], ["no image", "threshold"]),
        (["solve", "dangling.gr", "1", "2"], ["dangling.gr", "line 2", "1 to 2"]),
        (["solve", "good.gr", "0", "2"], ["start 0", "1 to 4"]),
        (["solve", "good.gr", "1", "5"], ["goal 5", "1 to 4"]),
        (["solve", "good.gr", "1,2", "3"], ["'1,2'", "1 to 4"]),
        (["solve", "good.gr", "1", "2", "--corners", "one"], ["corners", "grids"]),
        (["solve", "good.gr", "1", "2", "--png", "x.png"], ["--png draws grids"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "dijkstar"], ["'dijkstar'", "did you mean 'dijkstra'?"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "wa*:wieght=2"], ["'wieght'", "did you mean 'weight'?"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "wa*:weight=0"], ["weight", "'0'"]),
        (["solve", "good.map", "0,0", "1,4", "--budget", "0"], ["at least 1"]),
        (["solve", "good.map", "0,0", "1,4", "--budget", "soon"], ["'soon'", "2ms"]),
        (["solve", "good.map", "0,0", "1,4", "--budget", "-1ms"], ["--budget"]),
        (["solve", "good.map", "0,0", "1,4", "--commit", "0"], ["commit", "at least 1"]),
        (["solve", "good.map", "0,0", "1,4", "--commit", "x"], ["--commit", "'x'"]),
        (["solve", "good.map", "0,0", "1,4", "--move-limit", "0"], ["move_limit"]),
        (["solve", "good.map", "0,0", "1,4", "--connectivity", "5"], ["--connectivity", "'5'", "4, 8"]),
        (["solve", "good.map", "0,0", "1,4", "--diagonal", "x"], ["--diagonal", "'x'"]),
        (["solve", "good.map", "0,0", "1,4", "--png", "no/x.png"], ["there is no folder no"]),
        (["solve", "good.map", "0,0", "1,4", "--png", "folder"], ["it is a folder"]),
        (["solve", "good.map", "0,0", "1,4", "--bugdet", "3"], ["--bugdet", "did you mean '--budget'?"]),
        (["solve", "good.map", "0,0", "1,4", "5,5"], ["'5,5'", "too many"]),
        (["solve", "good.map", "0,0"], ["GOAL is missing"]),
        (["sovle", "good.map"], ["'sovle'", "did you mean 'solve'?"]),
        (["bench"], ["no map is named"]),
        (["bench", "-a", "gbfs", "good.map"], ["maps come before -a"]),
        (["bench", "good.map", "-a", "gbfs", "good.map.scen"], ["good.map.scen is a file"]),
        (["bench", "good.map", "other.scen"], ["other.scen", "9 rows", "3 and 5"]),
        (["bench", "nothing.scen", "good.map"], ["nothing.scen", "no problem"]),
        (["bench", "good.gr", "good.map.scen"], ["for a grid"]),
        (["bench", "folder"], ["folder", "no .map file"]),
        (["bench", "good.map", "-a", "tba"], ["'tba'"]),
        (["bench", "good.map", "--budget", "10,x"], ["'x'"]),
        (["bench", "good.map", "--cost", "7"], ["LO:HI", "'7'"]),
        (["bench", "good.map", "--cost", "9:3"], ["LO:HI"]),
        (["bench", "good.map.scen", "--cost", "100:200"], ["100 to 200"]),
        (["bench", "good.map", "--problems", "0"], ["at least 1"]),
        (["bench", "good.map", "--jobs", "0"], ["jobs"]),
        (["bench", "good.map", "--seed", "-1"], ["seed", "-1"]),
        (["bench", "good.map", "--csv", "no/x.csv"], ["there is no folder no"]),
        (["maps", "infos"], ["did you mean 'info'?"]),
        (["maps", "info", "short.map"], ["short.map"]),
        (["maps", "generate", "cave", "-o", "x.map"], ["did you mean 'caves'?"]),
        (["maps", "generate", "maze"], ["-o/--output is missing"]),
        (["maps", "generate", "maze", "-o", "x.map", "--room", "3"], ["--corridor", "--room"]),
        (["maps", "generate", "maze", "-o", "x.map", "--size", "0"], ["(0, 0)"]),
        (["maps", "generate", "maze", "-o", "x.map", "--shape", "7"], ["ROWSxCOLUMNS", "'7'"]),
        (["maps", "generate", "maze", "-o", "x.map", "--shape", "7x7", "--size", "7"], ["exclude each other"]),
        (["maps", "generate", "maze", "-o", "no/x.map"], ["there is no folder no"]),
        (["maps", "regions", "good.map", "--level", "40", "--png", "x.png"], ["no level 40"]),
        (["maps", "regions", "good.gr"], ["both ways"]),
        (["maps", "regions", "good.gr", "--png", "x.png"], ["only grids can be drawn"]),
        (["maps", "scale", "good.map", "0", "-o", "x.map"], ["at least 1"]),
        (["maps", "scale", "good.npy", "2", "-o", "x.map"], ["terrain costs"]),
        (["maps", "scale", "good.gr", "2", "-o", "x.map"], ["is a graph"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--seed", "-1"], ["seed", "at least 0", "-1"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--jobs", "0"], ["jobs", "at least 1", "0"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--jobs", "-2"], ["jobs", "at least 1", "-2"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--scale", "0"], ["at least 1", "0"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--scale", "-4"], ["at least 1", "-4"]),
        (["prepare", "good.gr", "--for", "knn-lrta*", "-o", "x.db", "--scale", "2"], ["good.gr is a graph"]),
        (["prepare", "good.gr", "--for", "knn-lrta*", "-o", "x.db"], ["for grids"]),
        (["prepare", "good.map", "--for", "knn-lrta*:bogus=1", "-o", "x.db"], ["no parameter 'bogus'"]),
        (["prepare", "good.map", "--for", "nonsense", "-o", "x.db"], ["no algorithm 'nonsense'"]),
        (["prepare", "good.map", "--for", "a*:", "-o", "x.db"], ["a*"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "folder"], ["it is a folder"]),
        (["compare", "good.map", "--jobs", "-2"], ["jobs", "at least 1", "-2"]),
        (["compare", "good.map", "-o", "good.gr"], ["good.gr", "file of that name"]),
        (["reproduce", "tba", "--quick", "--jobs", "0"], ["jobs", "at least 1", "0"]),
        (["reproduce", "tba", "--quick", "-o", "good.map"], ["good.map", "file of that name"]),
        (["reproduce", "tba", "--quick", "--export", "no/x.csv"], ["there is no folder no"]),
        (["crowd", "good.map", "--agents", "0"], ["agents", "at least 1", "0"]),
        (["crowd", "good.map", "--agents", "x"], ["--agents", "'x'"]),
        (["crowd", "good.map", "--ticks", "0"], ["--ticks", "at least 1"]),
        (["crowd", "good.map", "--threads", "0"], ["threads", "at least 1"]),
        (["crowd", "good.map", "--seed", "-1"], ["seed", "-1"]),
        (["crowd", "good.map", "--frame-ms", "0"], ["frame_ms", "above 0"]),
        (["crowd", "good.map", "--frame-ms", "1", "--frame-expansions", "5"], ["exclude each other"]),
        (["crowd", "good.map", "--frame-expansions", "0"], ["frame_expansions", "at least 1"]),
        (["crowd", "good.map", "-a", "a*"], ["a* plans whole paths"]),
        (["crowd", "good.map", "-a", "knn-lrta*"], ["needs a database"]),
        (["crowd", "good.map", "--gif", "x.png"], ["--gif", "x.png does not end in .gif"]),
        (["crowd", "good.map", "--png", "no/x.png"], ["there is no folder no"]),
        (["crowd", "good.gr", "--gif", "x.gif"], ["draw grids"]),
        (["crowd", "walls.map"], ["no free cell"]),
        (["crowd", "good.gr", "-a", "tba*"], ["one-way arcs"]),
        (["view"], ["MAP is missing"]),
        (["view", "no.map"], ["no file no.map"]),
        (["view", "good.gr"], ["shows grids"]),
        (["view", "walls.map"], ["no free cell"]),
        (["view", "good.map", "--size", "9"], ["--size", "generated"]),
        (["view", "rooms", "--size", "9000"], ["--size", "at most 2048"]),
        (["view", "good.map", "-a", "tba"], ["'tba'"]),
        (["view", "good.map", "-a", *["a*"] * 7], ["1 to 6 algorithms, not 7"]),
        (["view", "good.map", "-a", "knn-lrta*"], ["needs a database"]),
        (["view", "good.map", "--budget", "two"], ["two"]),
        (["view", "good.map", "--start", "9", "9", "--goal", "0", "0"], ["start (9, 9)"]),
        (["view", "good.map", "--port", "70000"], ["port", "65535"]),
        (["view", "good.map", "--speed", "0"], ["--speed"]),
        (["view", "good.map", "--ticks", "5"], ["--ticks", "--html"]),
        (["view", "good.map", "--html", "x.txt"], ["--html", "x.txt does not end in .html"]),
        (["view", "good.map", "--html", "no/x.html"], ["there is no folder no"]),
        (["view", "good.map", "--crowd", "0"], ["agents", "at least 1"]),
        (["view", "good.map", "--crowd", "5", "-a", "tba*", "tb-wa*"], ["a crowd has one algorithm"]),
        (["view", "good.map", "--crowd", "5", "--goal", "0", "0"], ["--start and --goal are for races"]),
        (["view", "good.map", "--frame-ms", "5"], ["--frame-ms is for a crowd"]),
        (["solve", "good.gr", "1", "2", "--html", "x.html"], ["--html draws grids"]),
        (["solve", "good.map", "0,0", "1,4", "--html", "x.html", "--commit", "3"], ["--html", "leave --commit"]),
        (["solve", "good.map", "0,0", "1,4", "--gif", "x.gif", "--move-limit", "3"], ["--gif", "--move-limit out"]),
        (["demo", "-o", "no/such"], ["no/such"]),
        (["demo", "--size", "3"], ["(3, 3)"]),
        (["demo", "--problems", "0"], ["at least 1"]),
        (["algorithms", "x"], ["'x'", "too many"]),
        # Names that lead to ours.
        (["solve", "good.map", "0,0", "1,4", "-a", "astar"], ["did you mean 'a*'?"]),
        (["bench", "good.map", "-a", "lss-lrta*"], ["did you mean 'k-lrta*'?"]),
        (["compare", "good.map", "-a", "D* Lite"], ["nearest is 'rtb-wa*'"]),
        (["prepare", "good.map", "--for", "knn", "-o", "x.db"], ["did you mean 'knn-lrta*'?"]),
        (["solve", "good.gr", "1", "2", "-a", "tba*"], ["one-way arcs", "lrta*, p-lrta*, k-lrta*, rtaa*", "a*, wa*"]),
        (["bench", "good.gr", "-a", "ribs", "--problems", "2"], ["one-way arcs", "k-lrta*"]),
        (["compare", "good.gr", "-a", "tba*", "--problems", "2", "-o", "x"], ["one-way arcs", "k-lrta*"]),
        (["solve", "good.map", "0,0", "1,4", "-a", ""], ["no algorithm ''"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "ä*"], ["no algorithm 'ä*'"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "a" * 3000], ["no algorithm 'aaa", "...aaa"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "tba*:r=1"], ["r is a number from 0.01 to 0.99"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "lrta*:depth=3", "--budget", "2"], ["depth=3", "budget is 2"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "knn-lrta*"], ["needs a database"]),
        (["solve", "good.map", "0,0", "1,4", "-a", "knn-lrta*", "--database", "no.db"], ["there is no file no.db"]),
        # Outputs that would not be what their name says, have nowhere to go, or would destroy what is read.
        (["solve", "good.map", "0,0", "1,4", "--png", "x.pdf"], ["--png", "x.pdf does not end in .png"]),
        (["solve", "good.map", "0,0", "1,4", "--png", "x"], ["x does not end in .png"]),
        (["solve", "good.map", "0,0", "1,4", "--gif", "x.png"], ["--gif", "x.png does not end in .gif"]),
        (["solve", "good.map", "0,0", "1,4", "--trace", "x.json"], ["--trace writes a .trace.json file"]),
        (["solve", "good.map", "0,0", "1,4", "--trace", "x.txt"], ["--trace", "x.txt does not end in .json"]),
        (["solve", "good.gr", "1", "2", "--trace", "x.trace.json"], ["--trace draws grids"]),
        (["solve", "good.map", "0,0", "1,4", "--png", "good.map/x.png"], ["there is no folder good.map"]),
        (["solve", "good.map", "0,0", "1,4", "--png", "x" * 300 + ".png"], ["cannot write"]),
        (["solve", "good.map", "0,0", "1,4", "--png", ""], ["it is a folder"]),
        (["solve", "text.png", "0,0", "0,1", "--png", "text.png"], ["would write over text.png"]),
        (["bench", "good.map", "--csv", "x.json"], ["--csv", "x.json does not end in .csv"]),
        (["bench", "good.map", "--png", "x.svg"], ["--png", "x.svg does not end in .png"]),
        (["maps", "generate", "maze", "-o", "x.png"], ["-o", "x.png does not end in .map"]),
        (["maps", "generate", "maze", "-o", "x.map", "--png", "x.jpg"], ["--png", "x.jpg does not end in .png"]),
        (["maps", "scale", "good.map", "2", "-o", "good.map"], ["would write over good.map"]),
        (["maps", "scale", "good.map", "2", "-o", "folder/../good.map"], ["would write over"]),
        (["maps", "scale", "good.map", "2", "-o", "x.npy"], ["x.npy does not end in .map"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "good.map"], ["would write over good.map"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.csv"], ["writes a database", "not in .csv"]),
        (["reproduce", "tba", "--quick", "--export", "x.json"], [".parquet or .csv", "x.json"]),
        # Places.
        (["solve", "good.map", "1,", "1,4"], ["row,col", "'1,'"]),
        (["solve", "good.map", "1,2,3", "1,4"], ["row,col", "'1,2,3'"]),
        (["solve", "good.map", "", "1,4"], ["row,col", "''"]),
        (["solve", "good.map", "0.5,1", "1,4"], ["row,col", "'0.5,1'"]),
        (["solve", "good.map", "٣,1", "1,4"], ["row,col"]),
        (["solve", "good.map", "0,0", f"0,{10**30}"], ["goal (0, 1000", "off the map"]),
        (["solve", "good.map", "0,0", "0," + "9" * 5000], ["goal"]),
        (["solve", "good.gr", "1", str(10**30)], ["goal", "1 to 4"]),
        (["solve", "good.gr", "-1", "2"], ["start -1", "1 to 4"]),
        (["solve", "good.gr", "a", "2"], ["'a'", "1 to 4"]),
        # Numbers.
        (["solve", "good.map", "0,0", "1,4", "--budget", str(10**19)], ["budget", "at most"]),
        (["solve", "good.map", "0,0", "1,4", "--budget", "9" * 5000], ["budget"]),
        (["solve", "good.map", "0,0", "1,4", "--budget", "1e400ms"], ["budget", "inf"]),
        (["solve", "good.map", "0,0", "1,4", "--commit", str(10**19)], ["commit", "at most"]),
        (["solve", "good.map", "0,0", "1,4", "--commit", "9" * 5000], ["--commit"]),
        (["solve", "good.map", "0,0", "1,4", "--move-limit", str(-(10**19))], ["move_limit", "at least 1"]),
        (["solve", "good.map", "0,0", "1,4", "--change-rate", "nan"], ["change rate", "nan"]),
        (["solve", "good.map", "0,0", "1,4", "--change-rate", "0"], ["change rate", "above 0"]),
        (["solve", "good.map", "0,0", "1,4", "--change-rate", "5", "--change-every", "0"], ["ticks", "at least 1"]),
        (["solve", "good.map", "0,0", "1,4", "--change-rate", "5", "--change-every", str(10**9)], ["at most"]),
        (["solve", "good.map", "0,0", "1,4", "--change-rate", "5", "--seed", "-3"], ["seed", "-3"]),
        (["solve", "good.gr", "1", "2", "--change-rate", "5"], ["for grids"]),
        (["solve", "good.map", "0,0", "1,4", "--corners", "some"], ["--corners", "'some'"]),
        (["solve", "good.map", "0,0", "1,4", "--diagonal", "nan"], ["diagonal", "nan"]),
        (["solve", "good.map", "0,0", "1,4", "--diagonal", "-1"], ["diagonal", "-1"]),
        (["bench", "good.map", "--problems", "-5"], ["at least 1", "-5"]),
        (["bench", "good.map", "--cost", "nan:nan"], ["LO:HI"]),
        (["bench", "good.map", "--cost", "-5:3"], ["--cost"]),
        (["bench", "good.map", "--budget", ""], ["budget", "''"]),
        (["bench", "good.map", "--budget", "10,,20"], ["budget", "''"]),
        (["maps", "generate", "maze", "-o", "x.map", "--size", "-4"], ["-4"]),
        (["maps", "generate", "maze", "-o", "x.map", "--shape", "0x5"], ["(0, 5)"]),
        (["maps", "generate", "maze", "-o", "x.map", "--shape", "999999999x999999999"], ["at most 2147483648 cells"]),
        (["maps", "generate", "maze", "-o", "x.map", "--size", str(10**30)], ["at most 2147483648 cells"]),
        (["maps", "generate", "rooms", "-o", "x.map", "--room", str(10**30)], ["room is 1000", "at most 2147483648"]),
        (["maps", "generate", "maze", "-o", "x.map", "--corridor", str(10**30)], ["corridor is 1000", "at most"]),
        (["maps", "generate", "caves", "-o", "x.map", "--feature", str(10**30)], ["feature is 1000", "at most"]),
        (["maps", "generate", "random", "-o", "x.map", "--density", "nan"], ["density", "nan"]),
        (["maps", "generate", "random", "-o", "x.map", "--density", "2"], ["density", "2"]),
        (["maps", "generate", "random", "-o", "x.map", "--seed", "-1"], ["seed", "-1"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--records", "0"], ["records", "at least 1"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--records", str(10**15)], ["records", "at most"]),
        (["prepare", "good.map", "--for", "knn-lrta*", "-o", "x.db", "--mode", "forests"], ["--mode", "'forests'"]),
        (["reproduce", "tbaa"], ["'tbaa'", "did you mean"]),
        (["reproduce", "tba", "--steps", "run,eat"], ["'eat'"]),
        (["reproduce", "tba", "--quick", "--full"], ["exclude each other"]),
        # Files.
        (["solve", "no\x1b[31m.map", "0,0", "1,4"], ["there is no file no\\x1b[31m.map"]),
        (["solve", "no\nmap", "0,0", "1,4"], ["there is no file no map"]),
        (["maps", "info", "good.map", "no.map"], ["there is no file no.map"]),
        (["maps", "info", "empty.map"], ["empty.map is empty"]),
        (["maps", "scale", "empty.map", "2", "-o", "x.map"], ["empty.map is empty"]),
        (["bench", "empty.map"], ["empty.map is empty"]),
        (["bench", "walls.map"], ["walls.map", "no free cell"]),
        (["demo", "-o", "good.map"], ["good.map", "file of that name"]),
        (["demo", "--seed", "-1"], ["seed", "-1"]),
        (["bogus"], ["'bogus'", "solve, bench"]),
        (["--bogus"], ["--bogus"]),
        (["warmup", "--size", "3"], ["--size"]),
        (["warmup", "--worlds", "moon"], ["moon", "grid, terrain"]),
        (["warmup", "no-such*"], ["no-such*", "known are"]),
        (["köln"], ["'köln'"]),
    ],
    ids=lambda value: " ".join(value)[:60],
)
def test_a_mistake_is_one_sentence(capsys, here, words, hints):
    before = {file: file.read_bytes() for file in here.rglob("*") if file.is_file()}
    folders = [file for file in here.rglob("*") if file.is_dir()]
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert {file: file.read_bytes() for file in here.rglob("*") if file.is_file()} == before, "nothing is written"
    assert [file for file in here.rglob("*") if file.is_dir()] == folders
    assert err.startswith("timebound: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for hint in hints:
        assert hint in err


@pytest.mark.compiled
def test_a_cost_that_no_problem_has_is_a_mistake(capsys, here):
    """Which shows when many have been drawn and solved."""
    words = ["bench", "good.map", "--cost", "100:200"]
    test_a_mistake_is_one_sentence(capsys, here, words, ["good.map", "100 to 200"])


def test_a_blocked_goal_is_a_result(capsys):
    """No mistake: in a world that changes it may be free the next moment. A start in a wall is one."""
    code, out, err = run(capsys, "solve", "good.map", "0,0", "1,2", "--optimal")
    assert (code, err) == (1, "")
    assert out.startswith("unreachable: there is no way from (0, 0) to (1, 2), for the goal is in a wall\n")
    result = json_of(capsys, "solve", "good.map", "0,0", "1,2", code=1)
    assert (result["status"], result["expansions"], result["moves"]) == ("unreachable", 0, 0)


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (
            [],
            (
                "solve",
                "bench",
                "compare",
                "reproduce",
                "prepare",
                "crowd",
                "view",
                "maps",
                "algorithms",
                "warmup",
                "demo",
            ),
        ),
        (["maps"], ("generate", "info", "regions", "scale")),
    ],
)
def test_without_a_command_all_are_listed(capsys, words, names):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    helped = run(capsys, *words, "--help")[1]
    for name in names:
        (line,) = (line for line in err.splitlines() if line.startswith(f"  {name} "))
        assert len(line.split()) > 2, "a name and what it is for"
        assert line.partition(name)[2].strip() in " ".join(helped.split()), "the same words as in --help"
    assert max(map(len, err.splitlines())) <= 80


def test_every_output_option_knows_its_ending(capsys):
    """An option that names a file and is not among the mistakes above would be forgotten here."""
    outputs = set()
    for words in COMMANDS[1:]:
        helped = run(capsys, *words, "--help")[1]
        outputs |= {option for option in ("--png", "--csv", "--export", "-o") if f"{option} F" in helped}
        outputs |= set(re.findall(r"(--\w+) FILE", helped))
    assert outputs == {"--png", "--gif", "--html", "--csv", "--export", "-o", "--output", "--database", "--trace"}


def test_a_picture_is_written_whole(capsys, here, monkeypatch):
    """A disk that fills up half-way leaves the old picture as it was."""
    image = pytest.importorskip("PIL.Image")
    (here / "old.png").write_text("old")

    def full(self, file, **options):
        Path(file).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(image.Image, "save", full)
    code, _, err = run(capsys, "solve", "good.map", "0,0", "1,4", "--png", "old.png")
    assert (code, err) == (2, "timebound: cannot write old.png: No space left on device\n")
    assert (here / "old.png").read_text() == "old"
    assert not list(here.glob(".*part"))


def test_missing_pillow_names_the_fix(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, _, err = run(capsys, "solve", "good.map", "0,0", "1,4", "--png", "x.png")
    assert code == 2
    assert "pip install 'timebound[images]'" in err


def test_interrupt_is_quiet(capsys, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("timebound.cli.algorithms.run", interrupted)
    assert run(capsys, "algorithms") == (130, "", "")


def test_out_of_memory_is_a_sentence(capsys, monkeypatch):
    def greedy(options):
        raise MemoryError

    monkeypatch.setattr("timebound.cli.algorithms.run", greedy)
    assert run(capsys, "algorithms") == (2, "", "timebound: there is not enough memory for this\n")


# ---------------------------------------------------------------------------------------------- the rest


def test_maps_generate_info_and_scale(capsys, here):
    made = json_of(capsys, "maps", "generate", "rooms", "-o", "r.map", "--shape", "20x30", "--room", "6", "--seed", "4")
    assert set(made) == INFO_FIELDS | {"kind", "seed", "options"}
    assert (made["rows"], made["columns"], made["options"], made["parts"]) == (20, 30, {"room": 6}, 1)
    (known,) = json_of(capsys, "maps", "info", "r.map")
    assert set(known) == INFO_FIELDS
    assert known["digest"] == made["digest"]
    larger = json_of(capsys, "maps", "scale", "r.map", "2", "-o", "r2.map")
    assert (larger["rows"], larger["free"], larger["factor"]) == (40, 4 * made["free"], 2)
    assert "wrote r3.map: 60 x 90 cells" in run(capsys, "maps", "scale", "r.map", "3", "-o", "r3.map")[1]
    assert "wrote c.map: corner, seed 0, 12 x 12" in run(
        capsys, "maps", "generate", "corner", "--size", "12", "-o", "c.map"
    )[1]  # fmt: skip


def test_maps_info_in_words(capsys):
    code, out, _ = run(capsys, "maps", "info", "good.map", "good.gr", "good.npy")
    assert code == 0
    assert "3 x 5" in out
    assert "3 in its .scen" in out
    assert "1, the largest has 100.0% of the free cells" in out
    assert "(directed)" in out
    assert "no .scen file beside it" in out
    assert max(map(len, out.splitlines())) <= 80
    grid, graph = json_of(capsys, "maps", "info", "good.map", "good.gr")
    assert (grid["problems"], grid["free"], grid["world"]) == (3, 11, "grid")
    assert {"map", "world", "nodes", "arcs", "undirected", "bytes_per_node", "bytes", "digest"} == set(graph)


def test_algorithms(capsys):
    _, out, _ = run(capsys, "algorithms")
    assert max(map(len, out.splitlines())) <= 80
    assert "weight=2" in out
    listed = json_of(capsys, "algorithms")
    assert [algorithm["name"] for algorithm in listed] == list(REGISTRY)
    assert set(listed[0]) == {"name", "summary", "paper", "real_time", "parameters"}
    assert set(listed[1]["parameters"][0]) == {"name", "default", "accepts", "help"}


@pytest.mark.compiled
def test_warmup(capsys):
    first = json_of(capsys, "warmup", "--jobs", "1")
    assert set(first) == {"seconds", "compiled", "steps"}
    assert set(first["steps"][0]) == {"step", "seconds", "compiled"}
    steps = [step["step"] for step in first["steps"]]
    for kind in ("grid", "terrain", "graph", "puzzle"):
        assert {f"{kind}: {name}" for name in ("a*", "ida*")} <= set(steps)
    code, out, _ = run(capsys, "warmup", "--jobs", "1")
    assert code == 0
    assert "0 kernels compiled" in out
    assert max(map(len, out.splitlines())) <= 80


def test_warmup_of_some(capsys):
    story = json_of(capsys, "warmup", "lrta*:depth=2", "tba*", "--worlds", "grid")
    steps = [step["step"] for step in story["steps"]]
    assert {"grid: lrta*", "grid: tba*"} <= set(steps)
    assert not {"grid: rtaa*", "graph: lrta*"} & set(steps)


@pytest.mark.compiled
@pytest.mark.parametrize("worlds", ["grid, puzzle", "grid"])
def test_warmup_by_two_processes(worlds, capsys):
    """They do what one would, and nothing twice."""
    steps = {}
    for jobs in ("1", "2"):
        story = json_of(capsys, "warmup", "lrta*", "ida*", "--worlds", worlds, "--jobs", jobs)
        steps[jobs] = sorted(step["step"] for step in story["steps"])
    assert steps["1"] == steps["2"]


@pytest.mark.compiled
def test_demo(capsys, here):
    pytest.importorskip("PIL")
    size = "32" if COMPILED else "16"
    code, out, _ = run(capsys, "demo", "-o", "race", "--size", size, "--problems", "2")
    assert code == 0
    assert str(Path("race", "race.png")) in out
    assert (here / "race" / "race.png").stat().st_size > 1000
    story = json_of(capsys, "demo", "-o", "race", "--size", size, "--problems", "2")
    assert set(story) == {"map", "picture", "records", "summary"}
    assert {row["spec"]: row["budget"] for row in story["summary"]} == {
        spec: "none" if budget is None else str(budget) for spec, budget in RIVALS.items()
    }


@pytest.mark.once
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_teaches(capsys, words):
    code, out, err = run(capsys, *words, "--help")
    assert (code, err) == (0, "")
    assert "example" in out
    assert out.count("  timebound ") >= 1
    assert max(map(len, out.splitlines())) <= 80


def test_a_command_is_a_file_that_is_listed(capsys):
    files = [name for _, name, _ in iter_modules(cli.__path__)]
    commands = [name for name in files if hasattr(import_module(f"timebound.cli.{name}"), "add_to")]
    assert sorted(name.replace("_", "-") for name in commands) == sorted(cli.COMMANDS)
    listed = re.findall(r"^    ([\w-]+)(?: |$)", run(capsys, "--help")[1], re.MULTILINE)
    assert listed == list(cli.COMMANDS)


def test_help_names_every_paper(capsys):
    listed = run(capsys, "reproduce", "--help")[1].partition("papers:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  ([\w-]+)", listed, re.MULTILINE) == [*PAPERS, *TO_COME]
    assert [find(name).name for name in PAPERS] == list(PAPERS)


def test_help_names_every_kind_of_map():
    assert list(KINDS) == list(GENERATORS)


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert (code, out.split()[0]) == (0, "timebound")


@pytest.mark.once
def test_process_exit_codes_and_quick_help(here):
    def process(*words: str, **options) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "timebound.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=here, **options)

    assert process("solve", "good.map", "0,0", "1,4").returncode == 0
    assert process("solve", "good.gr", "1", "4").returncode == 1
    wrong = process("solve", "good.map", "1,1", "0,0")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr
    script = (
        "import sys; from timebound.cli import main; assert main(['bench', '--help']) == 0;"
        "sys.exit(bool({'numpy', 'numba', 'PIL', 'tqdm'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=here).returncode == 0


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="locales are named differently elsewhere")
@pytest.mark.parametrize(
    "locale",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=" ".join,
)
def test_every_terminal_can_print_it(here, locale):
    """Papers have authors with letters that ASCII does not know, and so may files."""
    (here / "köln.map").write_text(HEADER + ROWS)
    environment = {**os.environ, **locale}
    for words, code in (
        (["algorithms"], 0),
        (["maps", "info", "köln.map"], 0),
        (["solve", "göteborg.map", "0", "0"], 2),
    ):
        command = [sys.executable, "-m", "timebound.cli", *words]
        done = subprocess.run(command, capture_output=True, cwd=here, env=environment)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr
        assert done.stdout if code == 0 else done.stderr.startswith(b"timebound: there is no file")


@pytest.mark.once
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_output_that_cannot_be_written_is_a_sentence(here):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "timebound.cli", "algorithms"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=here)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot write the output" in done.stderr


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="pipes close differently elsewhere")
def test_no_output_at_all_is_no_error(here):
    command = f"exec '{sys.executable}' -m timebound.cli algorithms >&-"
    done = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, cwd=here)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="pipes close differently elsewhere")
def test_a_closed_pipe_is_no_error(here):
    command = [sys.executable, "-m", "timebound.cli", "maps", "info", "good.map"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=here)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
