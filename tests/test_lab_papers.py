"""The papers: what they plan, examine, and when their verdicts fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED
from small_lab import WORLD
from timebound.lab import paper, report, reproduce
from timebound.lab.experiment import Sweep, WorldSource
from timebound.lab.papers import chapter, dynamic_control, learning, tba, tbbfs

pytestmark = pytest.mark.compiled  # kernels only serve them


@pytest.mark.parametrize("name", ["tba", "tbbfs", "learning", "dynamic-control", "chapter"])
def test_papers_plan_on_generated_maps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = paper.Maps(None)
    found = reproduce.find(name)
    for scale in (paper.QUICK, paper.NORMAL, paper.FULL):
        sweeps = found.sweeps(scale, maps)
        names = {sweep.name for sweep in sweeps}
        assert all(set(item.sweeps) <= names for item in found.items)
        assert all(world.generator for sweep in sweeps for world in sweep.worlds)
    assert maps.replaced
    monkeypatch.setitem(reproduce.TO_COME, "next-year", "what nobody knows")
    with pytest.raises(tb.Error, match="still to come: what nobody knows"):
        reproduce.find("next-year")
    with pytest.raises(tb.Error, match="no paper 'tbx'"):
        reproduce.find("tbx")


def tiny(sweeps, worlds):
    """A paper's sweeps on small worlds with few problems."""
    return [
        Sweep(
            **{**sweep.__dict__, "worlds": sweep.worlds[:3] if sweep.corners else worlds, "problems": 1, "cost": None}
        )
        for sweep in sweeps
    ]


@pytest.mark.skipif(not COMPILED, reason="thousands of runs")
@pytest.mark.parametrize("module", [tba, tbbfs, chapter])
def test_papers_examine_what_was_run(module, tmp_path: Path) -> None:
    """Every table and figure, on maps too small to say anything: nothing breaks, everything is shown."""
    worlds = (WorldSource.generated("rooms", 40, 1, room=8),)
    whole = module.PAPER
    small = paper.Paper(
        whole.name, whole.reference, lambda scale, maps: tiny(whole.sweeps(scale, maps), worlds), whole.items
    )
    outcome = reproduce.reproduce(small, tmp_path, scale=paper.QUICK, maps=paper.Maps(None), say=lambda text: None)
    assert outcome.errors == 0
    assert set(outcome.verdicts) == {item.number for item in whole.items}
    assert set(outcome.verdicts.values()) <= {report.REPRODUCED, report.DIFFERS, report.BEYOND}
    for item in whole.items:  # and with nothing at all
        assert item.examine(paper.Data({})).verdict == report.CANNOT_TELL
    text = (tmp_path / "report.md").read_text()
    for file in re.findall(r"\((figures/[^)]*)\)", text):
        assert xml.parse(tmp_path / file).getroot().tag.endswith("svg")


def test_dynamic_control_shows_everything(tmp_path: Path) -> None:
    """As above. Some claims cannot be judged where every way is short."""
    worlds = (WorldSource.generated("rooms", 40, 1, room=8),)
    whole = dynamic_control.PAPER
    small = paper.Paper(
        whole.name, whole.reference, lambda scale, maps: tiny(whole.sweeps(scale, maps), worlds), whole.items
    )
    outcome = reproduce.reproduce(small, tmp_path, scale=paper.QUICK, maps=paper.Maps(None), say=lambda text: None)
    assert outcome.errors == 0
    assert set(outcome.verdicts) == {item.number for item in whole.items}
    assert sum(verdict == report.CANNOT_TELL for verdict in outcome.verdicts.values()) <= 2
    for item in whole.items:
        assert item.examine(paper.Data({})).verdict == report.CANNOT_TELL


@pytest.mark.parametrize(
    ("percent", "states", "most", "verdict"),
    [
        (6.0, 1.02, 500, report.REPRODUCED),
        (8.0, 1.02, 500, report.DIFFERS),
        (6.0, 1.2, 500, report.CANNOT_TELL),
        (6.0, 1.02, 1001, report.CANNOT_TELL),
    ],
)
def test_dynamic_controls_headline_can_fail(percent: float, states: float, most: int, verdict: str) -> None:
    """Within 7% at 1.1 states per move or less, none above 1000; PR LRTA* three times as far off, 15 times as slow."""

    def row(spec: str, above: float, mean: float, top: int) -> dict:
        return {
            "spec": spec, "budget": "none", "status": "reached", "map": "a", "digest": "a", "optimal": 100.0,
            "cost": 100.0 + above, "states_per_move_mean": mean, "states_per_move_max": top,
            "microseconds_per_move": mean, "expansions": 1, "moves": 1, "waits": 0,
        }  # fmt: skip

    data = paper.Data(
        {
            "512: LRTA*(PDB,PDB)": [row("d-lrta*:depth=pdb,goal=pdb,level=3,cap=3", percent, states, most)],
            "512: PR LRTA*(F,G)": [row("pr-lrta*:level=4,cap=5", 18.0, 15.0, 400)],
            "512: complete": [row("a*", 0.0, 100.0, 9000)],
        }
    )
    assert dynamic_control.table_3(data).verdict == verdict


def test_tba_verdicts_can_fail() -> None:
    """The rule of Table 1, fed with the paper's own numbers, and with others."""

    def data(factor: float) -> paper.Data:
        rows = []
        for spec, means in ((tba.SPECS[0], tba.EARLY), (tba.SPECS[1], tba.LATE)):
            for r, mean in means.items():
                rows.append(
                    {"spec": spec, "budget": str(r), "status": "reached", "suboptimality": mean * factor}
                )  # fmt: skip
        return paper.Data({"table 1": rows})

    assert tba.table_1(data(1.0)).verdict == report.REPRODUCED
    assert tba.table_1(data(1.09)).verdict == report.REPRODUCED
    assert tba.table_1(data(1.12)).verdict == report.DIFFERS
    assert tba.table_1(data(0.88)).verdict == report.DIFFERS


def test_learning_verdicts_can_fail() -> None:
    """HOG2's own walks are the same as themselves; half as long again is not, nor are a few or none of them."""

    def data(factor: float, count: int = 20, spread: float = 1.0) -> paper.Data:
        rows: dict[str, list[dict]] = {}
        for number, (spec, budget) in enumerate(learning.WALKS):
            for k, one in enumerate(learning.HOG2[:count]):
                ends = {"start": f"{one.start[0]},{one.start[1]}", "goal": f"{one.goal[0]},{one.goal[1]}"}
                cost = one.costs[number] * factor * (spread if k % 2 else 1 / spread)
                row = {"map": f"{one.map}.map", "budget": budget, "status": "reached", "cost": cost, **ends}
                rows.setdefault(learning.PAIRS + spec, []).append(row)
        return paper.Data(rows)

    same = learning.bg512(data(1.0))
    assert same.verdict == report.REPRODUCED
    assert same.tables[0].rows[0] == ["lrta*", "20/20", "1.000", "1.000", "1.00 to 1.00", "1.00", "1.00", "20"]
    assert learning.bg512(data(1.2)).verdict == report.REPRODUCED
    assert learning.bg512(data(1.0, spread=3.0)).verdict == report.DIFFERS  # the median is that of two in the middle
    assert learning.bg512(data(1.5)).verdict == learning.bg512(data(0.7)).verdict == report.DIFFERS
    few = learning.bg512(data(1.0, 5))
    assert few.verdict == report.CANNOT_TELL
    assert few.because.startswith("not judged: 5 of HOG2's 20 walks")
    assert learning.bg512(paper.Data({})).verdict == report.CANNOT_TELL


def test_hog2s_problems_are_planned_where_their_maps_are(tmp_path: Path) -> None:
    """Each map with its own problems; without the maps there are none, and nothing is generated in their place."""
    (tmp_path / "bg512").mkdir()
    for name in ("AR0011SR", "AR0410SR", "AR9999SR"):
        tb.Grid(np.ones((512, 512))).save(tmp_path / "bg512" / f"{name}.map")
    pairs = learning.sweeps(paper.QUICK, paper.Maps.at(tmp_path))[0]
    assert [world.name for world in pairs.worlds] == ["AR0011SR.map", "AR0410SR.map"]
    assert [problem.start for problem in pairs.listed[1]] == [(348, 395), (417, 217)]
    none = learning.sweeps(paper.QUICK, paper.Maps(None))[0]
    assert none.worlds == ()


def test_falling() -> None:
    assert paper.falling([3, 2, 1])
    assert not paper.falling([3, 2, 2.5])
    assert not paper.falling([1])
    assert not paper.falling([1.0, 1.01, 1.02, 1.03], 0.015)  # each step within the slack, the whole not


def test_real_maps_are_found(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / "set").mkdir(exist_ok=True)
        tb.Grid(np.ones((4, 4))).save(tmp_path / "set" / f"{name}.map")
    maps = paper.Maps.at(tmp_path)
    assert [world.name for world in maps.sources("set", [])] == ["a.map", "b.map", "c.map", "d.map"]
    assert [world.name for world in maps.sources("set", [], 2)] == ["a.map", "c.map"]
    assert [world.name for world in maps.sources("set", [], only=["b"])] == ["b.map"]
    assert not maps.replaced
    assert maps.sources("none", [WORLD]) == (WORLD,)
    assert maps.replaced == ["none"]
    with pytest.raises(tb.MapError, match="no folder"):
        paper.Maps.at(tmp_path / "nowhere")


NEW_PAPER = '''
"""A paper that nobody wrote."""
from ..paper import Paper

TITLE = "One file is all it takes (2026)"
PAPER = Paper("one-file", "Nobody: Nothing. 2026", lambda scale, maps: [], ())
'''


def test_a_paper_is_one_file(tmp_path: Path) -> None:
    """In a copy of the package: a new file is listed, found and run, and nothing else is touched."""
    package = Path(tb.__file__).parent
    shutil.copytree(package, tmp_path / "timebound", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "timebound" / "lab" / "papers" / "one_file.py").write_text(NEW_PAPER)

    def told(*words: str) -> str:
        command = [sys.executable, "-m", "timebound.cli", "reproduce", *words]
        where = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=where)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    helped = told("--help")
    assert "one-file" in helped
    assert "One file is all it takes" in helped
    assert "one-file, normal: 0 runs" in told("one-file", "--steps", "plan")
