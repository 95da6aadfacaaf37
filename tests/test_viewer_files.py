"""What is written of a race for others to look at: files for Posthoc, moving pictures, recordings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from frames import Page
from helpers import COMPILED
from timebound import cli
from timebound.viewer.film import draw_race, save_race
from timebound.viewer.posthoc import Posthoc, writing
from timebound.viewer.race import Race, Recording

pytestmark = pytest.mark.skipif(COMPILED, reason="the same with the JIT off")


def rooms() -> tb.Grid:
    return tb.Grid(tb.generate.rooms((12, 17), room=4, seed=3))


# --- Posthoc ---------------------------------------------------------------------------------------------------------

COMPONENTS = {"rect", "circle", "path", "polygon"}
PROPERTIES = {
    "x", "y", "width", "height", "radius", "points", "line-width", "fill", "alpha", "label", "label-x", "label-y",
    "label-size", "label-color", "clear", "$", "$if", "$for", "$info",
}  # fmt: skip
TYPES = {"source", "destination", "updating", "expanding", "generating", "closing", "end", "agent"}


def check_posthoc(trace: dict[str, Any], world: tb.Grid) -> None:
    """What version 1.4.0 of the format asks for, as the visualiser's own types say."""
    assert set(trace) == {"version", "views", "pivot", "events"}
    assert trace["version"] == "1.4.0"
    assert set(trace["pivot"]) == {"x", "y", "scale"}
    for component in trace["views"]["main"]:
        assert component["$"] in COMPONENTS
        assert set(component) <= PROPERTIES
        for value in component.values():
            if isinstance(value, str) and "$" in value and value != component["$"]:
                assert re.fullmatch(r"\$\{\{ .* \}\}", value), "an expression"
    known: set[str] = set()
    for event in trace["events"]:
        assert event["type"] in TYPES
        assert isinstance(event["id"], str)
        assert event["id"]
        if "pId" in event:
            assert isinstance(event["pId"], str), "a number 0 would break paths"
            assert event["pId"] in known, "a parent comes first"
        known.add(event["id"])
        assert world.is_free((event["y"], event["x"]))
        if {"g", "h", "f"} <= set(event):
            assert event["f"] == pytest.approx(event["g"] + event["h"], abs=2e-4)
        assert all(isinstance(event[name], float | int) for name in set(event) & {"g", "h", "f", "tick"})


@pytest.mark.parametrize("spec", ["a*", "tba*", "k-lrta*", "ribs", "pr-lrta*", "p-lrta*"])
def test_posthoc_can_read_a_trace(spec: str, tmp_path: Path) -> None:
    world, file = rooms(), tmp_path / "walk.trace.json"
    with writing(file, world, (1, 1), (10, 15)) as (posthoc, trace):
        result = tb.solve(world, (1, 1), (10, 15), spec, budget=9, trace=trace)
        posthoc.end(result.path[-1], result.status == "reached")
    read = json.loads(file.read_text(encoding="utf-8"))
    check_posthoc(read, world)
    events = read["events"]
    assert [event["type"] for event in events[:2]] == ["source", "destination"]
    assert events[-1]["type"] == "end"
    walked = [(event["y"], event["x"]) for event in events if event["type"] == "agent"]
    assert walked == [tuple(point) for point in result.path[1:].tolist()]
    if spec in ("a*", "tba*", "ribs"):
        assert sum(event["type"] == "closing" for event in events) == result.expansions


def test_a_trace_that_is_too_long_says_so(tmp_path: Path) -> None:
    world, file = rooms(), tmp_path / "walk.trace.json"
    with open(file, "w", encoding="utf-8") as out:
        posthoc = Posthoc(out, world, (1, 1), (10, 15), most=20)
        tb.solve(world, (1, 1), (10, 15), "a*", trace=tb.Trace(each=posthoc.take))
        posthoc.end((10, 15), True)
    read = json.loads(file.read_text(encoding="utf-8"))
    check_posthoc(read, world)
    assert len(read["events"]) == 20 == posthoc.written
    assert posthoc.left_out > 0


def test_no_half_of_a_trace_is_left(tmp_path: Path) -> None:
    world, file = rooms(), tmp_path / "walk.trace.json"
    with pytest.raises(RuntimeError), writing(file, world, (1, 1), (10, 15)):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


# --- moving pictures -------------------------------------------------------------------------------------------------


def test_a_film_shows_each_lane_from_start_to_end(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    race = Race(rooms(), ["a*", "k-lrta*", "lrta*:depth=30"], (1, 1), (10, 15), budget=9)
    pictures = draw_race(race, size=60, frames=12)
    assert 2 <= len(pictures) <= 12
    first, last = (np.asarray(picture.convert("RGB")) for picture in (pictures[0], pictures[-1]))
    third = first.shape[1] // 3
    # What changes is in the lanes that walk; the third cannot race with this budget, and says so.
    assert (first[:, :third] != last[:, :third]).sum() > 100
    assert (first[46:-22, 2 * third + 10 :] == last[46:-22, 2 * third + 10 :]).all()
    assert save_race(race, tmp_path / "race.gif", size=60, frames=12) == len(pictures)
    film = image.open(tmp_path / "race.gif")
    assert film.n_frames == len(pictures)
    assert film.size == pictures[0].size


def test_large_maps_are_drawn_small() -> None:
    pytest.importorskip("PIL")
    cells = np.ones((40, 90), bool)
    pictures = draw_race(Race(tb.Grid(cells), ["a*"], (1, 1), (38, 3)), size=30, frames=3)
    assert pictures[0].size[0] < 60


# --- recordings ------------------------------------------------------------------------------------------------------


def test_a_recording_tells_the_whole_race() -> None:
    race = Race(rooms(), ["tba*", "lrta*"], (1, 1), (10, 15), budget=9)
    recording = Recording.of(race, frames=30)
    assert not recording.cut
    assert len(recording.frames) <= 30
    page = Page(recording.map)
    for frame in recording.frames:
        page.take(frame)
    assert [lane["status"] for lane in page.lanes] == [1, 1]
    assert [lane["trail"][0] for lane in page.lanes] == [recording.hello["start"]] * 2
    assert page.lanes == Page(race.map_bytes()).take(race.whole()).lanes
    short = Recording.of(race, frames=30, most_bytes=3000)
    assert short.cut
    assert sum(map(len, short.frames)) + len(short.map) <= 3000


# --- the command -----------------------------------------------------------------------------------------------------


def run(*words: str) -> int:
    return cli.main(list(words))


def test_solve_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("PIL")
    world, file = rooms(), tmp_path / "rooms.map"
    world.save(file)
    gif, trace = tmp_path / "race.gif", tmp_path / "walk.trace.json"
    task = ("solve", str(file), "1,1", "10,15", "-a", "tba*", "--budget", "9")
    assert run(*task, "--gif", str(gif), "--trace", str(trace), "--against", "a*") == 0
    assert f"wrote {gif}" in capsys.readouterr().out
    check_posthoc(json.loads(trace.read_text(encoding="utf-8")), world)
    assert gif.stat().st_size > 1000
    for words, said in (
        (("--trace", str(tmp_path / "walk.json")), "does not end so"),
        (("--against", "a*"), "--gif FILE"),
        (("--gif", str(gif), "--change-rate", "5"), "does not change"),
        (("--gif", str(tmp_path / "race.png")), "does not end in .gif"),
    ):
        assert run(*task, *words) == 2
        assert said in capsys.readouterr().err
