"""Crowds: units that walk between random places under one frame, what is told of them, and `timebound crowd`."""

from __future__ import annotations

import io
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED
from timebound import cli, fleet, pictures
from timebound.cli import output
from timebound.crowd import Crowd, histogram, pairs

FREE = np.array([[c == "." for c in row] for row in (".......", ".##.##.", ".#...#.", ".......", ".#.#.#.")])
UNITS = 40 if COMPILED else 6
TICKS = 60 if COMPILED else 15


def small(**options) -> Crowd:
    return Crowd(tb.Grid(FREE), "tb-wa*", UNITS, frame_expansions=10 * UNITS, **options)


def walks(crowd: Crowd, ticks: int) -> list[list]:
    """Where all units are after each tick."""
    seen: list[list] = [crowd.places.tolist()]
    crowd.run(ticks, lambda crowd: seen.append(crowd.places.tolist()))
    return seen


# ------------------------------------------------------------------------------------------------ the crowd


def test_all_arrive_once() -> None:
    crowd = small(once=True)
    goals = crowd.world.points_of(crowd._homes[:, 1])
    crowd.run()
    report = crowd.report()
    assert (crowd.places == goals).all()
    assert (report.agents, report.active, report.arrivals, report.unreachable) == (UNITS, 0, UNITS, 0)
    assert report.late is None
    assert crowd.ticks == len(crowd.times) == report.ticks > 0
    assert report.moves > 0
    assert report.served_share > 0
    assert report.seconds == pytest.approx(crowd.times.sum() / 1000)
    assert not crowd.tick()


def test_who_arrives_gets_a_new_goal() -> None:
    crowd = small(seed=3)
    seen = walks(crowd, TICKS)
    report = crowd.report()
    assert report.active == UNITS
    assert report.arrivals > 0
    assert len(seen) == TICKS + 1
    changes = sum(here != there for one, two in itertools.pairwise(seen) for here, there in zip(one, two, strict=True))
    assert changes == report.moves
    goals = crowd.fleet._roster.episodes["goal"][:UNITS]
    assert (crowd.world.path_states(crowd.places) != goals).all()


def test_a_seed_tells_all() -> None:
    first, again, other = (walks(small(seed=seed), 10) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.compiled
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_SHORT", -1.0)  # so little work one thread would do alone
    world = tb.Grid(tb.generate.rooms((32, 32), room=8))
    one, two = (walks(Crowd(world, "tb-wa*", 200, frame_expansions=900, threads=threads), 80) for threads in (1, 2))
    assert one == two


def test_goals_are_in_reach() -> None:
    """Two parts, one of them of two cells only: whoever is in it has nowhere else to go."""
    free = np.ones((2 if not COMPILED else 40, 12), bool)
    free[:, 2] = False
    free[1:, :2] = False
    crowd = Crowd(tb.Grid(free), "lrta*", UNITS, frame_expansions=100 * UNITS, seed=5)
    homes = crowd._homes.copy()
    crowd._homes[0] = crowd.world.path_states([(0, 0), (0, 1)])
    crowd.fleet.place(crowd._ids[:1], [(0, 0)])
    crowd.fleet.send(crowd._ids[:1], [(0, 1)])
    assert (crowd.world.parts()[homes[:, 0]] == crowd.world.parts()[homes[:, 1]]).all()
    seen = walks(crowd, 8)
    assert crowd.report().unreachable == 0
    assert {tuple(places[0]) for places in seen} == {(0, 0), (0, 1)}


@pytest.mark.parametrize("once", [False, True], ids=["lifelong", "once"])
def test_units_that_do_not_stand_in_each_other(once: bool) -> None:
    crowd = Crowd(tb.Grid(np.ones((5, 6), bool)), "tb-wa*", 14, frame_expansions=200, collisions=True, once=once)
    goals = crowd.world.points_of(crowd._homes[:, 1]).tolist()
    seen = walks(crowd, 300 if once else TICKS)
    for before, after in itertools.pairwise(seen):
        assert len(set(map(tuple, after))) == 14
        moves = {(tuple(here), tuple(there)) for here, there in zip(before, after, strict=True) if here != there}
        assert not moves & {(there, here) for here, there in moves}, "no swaps"
    report = crowd.report()
    if once:
        assert (report.arrivals, report.ticks < 300) == (14, True)
        for unit, goal in enumerate(goals):
            assert goal in [places[unit] for places in seen], "each was at its goal, if it was pushed off again or not"
    else:
        assert report.arrivals > 0


@given(seed=st.integers(0, 2**32), count=st.integers(1, 15))
def test_starts_and_goals_apart(seed: int, count: int) -> None:
    world = tb.Grid(FREE)
    found = pairs(world, count, np.random.default_rng(seed), apart=True)
    assert found.shape == (count, 2)
    assert (found[:, 0] != found[:, 1]).all()
    assert world.are_open(found.ravel()).all()
    for end in (0, 1):
        assert len(set(found[:, end].tolist())) == count


def test_worlds_without_room() -> None:
    with pytest.raises(tb.WorldError, match="no room for 99 units"):
        pairs(tb.Grid(FREE), 99, np.random.default_rng(0), apart=True)
    with pytest.raises(tb.WorldError, match="nobody has anywhere"):
        Crowd(tb.Grid([[1, 0, 1]]), "tb-wa*", 2)
    with pytest.raises(tb.WorldError, match="puzzle"):
        Crowd(tb.TilePuzzle(2, 2), "lrta*", 2)
    with pytest.raises(tb.SpecError, match="never ends"):
        small().run()
    with pytest.raises(tb.SpecError, match="at least 1"):
        Crowd(tb.Grid(FREE), "tb-wa*", 0)


def test_a_crowd_on_a_graph() -> None:
    ring = np.arange(9)
    graph = tb.Graph(ring, (ring + 1) % 9, directed=False)
    crowd = Crowd(graph, "lrta*", 5, frame_expansions=50)
    crowd.run(12)
    assert crowd.report().arrivals > 0
    assert crowd.places.shape == (5,)
    with pytest.raises(tb.WorldError, match="only grids can be drawn"):
        Crowd(graph, "lrta*", 5, watch=True)


def test_what_is_out_of_reach_is_counted() -> None:
    one_way = tb.Graph([0, 1], [1, 2], directed=True, nodes=3)
    crowd = Crowd(one_way, "lrta*", 4, frame_expansions=100, seed=1, once=True)
    crowd.run(50)
    report = crowd.report()
    assert report.arrivals + report.unreachable == 4
    assert report.unreachable > 0


def test_another_thread_stops_it() -> None:
    crowd = small()
    ticking = threading.Event()
    thread = threading.Thread(target=crowd.run, args=(10**9, lambda crowd: ticking.set()))
    thread.start()
    ticking.wait()
    crowd.stop()
    ticks = crowd.ticks
    thread.join()
    assert crowd.stopped
    assert crowd.ticks == crowd.report().ticks == ticks
    assert not crowd.tick()


def test_what_is_kept_for_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timebound.crowd._FRAMES", 4)
    crowd = small(watch=True)
    seen = [np.array(places) for places in walks(crowd, 9)]
    assert crowd.visits.sum() == 10 * UNITS
    assert not crowd.visits[~FREE].any()
    for places, k in zip(crowd.film, (0, 4, 8), strict=True):
        assert (places == seen[k]).all()
    for unit, trail in enumerate(crowd.trails):
        assert trail.tolist() == [places[unit].tolist() for places in seen]
    assert small().trails == []


def test_orders_for_nobody() -> None:
    """A game that has found nobody to send need not ask whether there is anybody."""
    fleet = tb.Fleet(tb.Grid(FREE), "tb-wa*", frame_expansions=10)
    for none in ([], np.zeros(0, np.int64), ()):
        assert fleet.add(none, (0, 0)).tolist() == fleet.add(none, none).tolist() == []
        fleet.send(none, (0, 0))
        fleet.send(none, none)
        fleet.place(none, none)
        fleet.cancel(none)
    assert (len(fleet), fleet.tick(), fleet.active) == (0, 0, 0)


def test_who_rested_has_not_waited() -> None:
    """What is told of waiting begins when a unit is sent, not when it was last on its way."""
    fleet = tb.Fleet(tb.Grid(FREE), "tb-wa*", frame_expansions=50)
    resting, busy = fleet.add([(0, 0), (0, 0)], [(0, 1), (4, 6)])
    for _ in range(12):
        fleet.tick()
        fleet.send([busy], [(0, 0) if fleet.status(busy) == "reached" else (4, 6)])
    assert fleet.status(resting) == "reached"
    fleet.send([resting], [(4, 6)])
    assert fleet.stats.waited[resting] == 0
    fleet.tick()
    assert fleet.stats.waited.max() == 0


@pytest.mark.once
@given(
    times=st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=50),
    frame=st.sampled_from([None, 0.25, 1.0, 16.7]),
)
def test_the_histogram_counts_each_tick_once(times: list[float], frame: float | None) -> None:
    bins = histogram(times, frame)
    assert sum(count for *_, count in bins) == len(times)
    assert bins[0][2] > 0
    assert bins[-1][2] > 0
    for (_, high, _), (low, _, _) in itertools.pairwise(bins):
        assert high == low
    for low, high, count in bins:
        assert count == sum(low < time <= high for time in times)
    if frame is not None:
        assert sum(count for low, _, count in bins if low >= frame) == sum(time > frame for time in times)


def test_no_ticks_no_histogram() -> None:
    assert histogram([]) == []
    report = small().report()
    assert (report.ticks, report.p50_ms, report.moves) == (0, 0.0, 0)


# --------------------------------------------------------------------------------------------------- pictures


@pytest.mark.once
def test_pictures_of_crowds(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    world = tb.Grid(FREE)
    places = np.array([[0, 0], [0, 0], [3, 6]])
    picture = pictures.draw_crowd(world, places, size=70)
    assert picture.size == (70, 50)
    assert picture.getpixel((5, 5)) == picture.getpixel((65, 35)) == pictures.UNIT
    assert picture.getpixel((15, 15)) == pictures.WALL
    assert picture.getpixel((35, 5)) == pictures.FREE
    warm = pictures.draw_crowd(world, places, visits=FREE.astype(int), trails=[places[1:]], caption="x", size=70)
    assert warm.size == (70, 84)
    assert warm.getpixel((5, 45)) != pictures.FREE

    film = pictures.draw_film(world, [places, places + (0, 1) * np.array([[0], [0], [0]])], size=70)
    assert [one.size for one in film] == [(70, 50)] * 2
    shown = film[0].convert("RGB")
    assert shown.getpixel((2, 2)) != shown.getpixel((62, 32)), "two units are darker than one"
    assert shown.getpixel((35, 5)) != shown.getpixel((2, 2))
    pictures.save_film(film, tmp_path / "f.gif")
    with image.open(tmp_path / "f.gif") as read:
        assert read.format == "GIF"
    large = pictures.draw_film(tb.Grid(np.ones((40, 60))), [np.array([[39, 59]])], size=16)
    assert large[0].size == (16, 11)
    for wrong, sentence in ((("f.png", film), "ends in .gif"), (("f.gif", []), "at least one")):
        with pytest.raises(tb.Error, match=sentence):
            pictures.save_film(wrong[1], tmp_path / wrong[0])


# -------------------------------------------------------------------------------------------- the command line

FIELDS = {
    *("map", "digest", "algorithm", "frame_ms", "frame_expansions", "collisions", "threads", "once", "seed"),
    *("agents", "active", "ticks", "mean_ms", "p50_ms", "p99_ms", "max_ms", "late", "served", "served_share"),
    *("waited_max", "moves", "expansions", "arrivals", "unreachable", "goals_ms", "setting_out_ms", "seconds"),
    "histogram",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tb.Grid(FREE).save("small.map")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["crowd", "small.map", "--agents", "5", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.usefixtures("here")
def test_the_command_tells_how_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--ticks", "20", "--collisions")
    assert code == 0
    assert out.startswith("5 units on small.map, 5 x 7\n  tb-wa*:")
    for word in (
        "1 ms a frame, collisions",
        "ticks",
        "p99",
        "late",
        "had a turn",
        "longest wait",
        "arrivals",
        "on their way",
    ):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    bars = [line for line in out.splitlines() if line.endswith("#")]
    assert sum(int(line.split()[4].replace(",", "")) for line in bars) == 20
    calm = err.splitlines()
    assert len(calm) == 10
    assert calm[-1].startswith("timebound: tick 20 of 20: p50 ")


@pytest.mark.usefixtures("here")
def test_the_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--frame-expansions", "50", "--ticks", "12", "--json")
    told = json.loads(run(capsys, *words, "--seed", "4")[1])
    assert set(told) == FIELDS
    assert (told["ticks"], told["agents"], told["late"], told["frame_expansions"]) == (12, 5, None, 50)
    assert sum(part["ticks"] for part in told["histogram"]) == 12
    again = json.loads(run(capsys, *words, "--seed", "4")[1])
    same = ("digest", "moves", "expansions", "arrivals", "active", "served", "waited_max")
    assert [told[name] for name in same] == [again[name] for name in same]
    once = json.loads(run(capsys, "--once", "--json")[1])
    assert (once["arrivals"], once["active"], once["frame_ms"]) == (5, 0, 1.0)


def test_the_command_draws(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    pytest.importorskip("PIL")
    code, out, _ = run(capsys, "--ticks", "4", "--png", "end.png", "--gif", "walk.gif")
    assert code == 0
    assert "wrote end.png\nwrote walk.gif\n" in out
    assert (here / "end.png").read_bytes().startswith(b"\x89PNG")
    assert (here / "walk.gif").read_bytes().startswith(b"GIF89a")


@pytest.mark.usefixtures("here")
def test_a_database_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    tb.prepare(tb.Grid.load("small.map"), "small.db", records=3, mode="trees", seed=0)
    code, out, _ = run(capsys, "-a", "knn-lrta*", "--database", "small.db", "--ticks", "8")
    assert code == 0
    assert "knn-lrta*" in out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.once
def test_a_table_is_redrawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen, now = Terminal(), [100.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.Live() as live:
        for text in ("one\ntwo", "never seen", "three \x1b[2J"):
            live(lambda text=text: text)
            now[0] += 0.06
    shown = screen.getvalue()
    assert shown == "one\ntwo\n\x1b[2F\x1b[Jthree \\x1b[2J\n\x1b[1F\x1b[J"
    monkeypatch.setenv("TERM", "dumb")
    assert not output.Live().watched


@pytest.mark.once
def test_a_line_that_does_not_fit_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that went on in the next line would not be taken off whole."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "10")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with output.Live() as live:
        live(lambda: "0123456789abc\nshort")
    assert screen.getvalue() == "012345678\nshort\n\x1b[2F\x1b[J"


@pytest.mark.usefixtures("here")
def test_the_command_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert cli.main(["crowd", "small.map", "--agents", "5", "--ticks", "5"]) == 0
    assert "longest wait" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[J"), "nothing of it stays"
    assert "5 units" in capsys.readouterr().out


INTERRUPTED = """
import os, signal, sys
from timebound import cli
from timebound.fleet import Fleet
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs in the background has it ignored
tick, ticks = Fleet.tick, []
def stopping(fleet):
    ticks.append(fleet)
    if len(ticks) == 9:
        os.kill(os.getpid(), signal.SIGINT)
    return tick(fleet)
Fleet.tick = stopping
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent differently elsewhere")
@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_ctrl_c_ends_it_with_what_there_is(here: Path, how: Sequence[str]) -> None:
    words = ["crowd", "small.map", "--agents", "5", "--ticks", "1000000000", *how]
    try:
        import PIL  # noqa: F401

        words += ["--png", "end.png"]
    except ImportError:
        pass
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "timebound: interrupted after " in done.stderr
    assert ("--png" in words) == (here / "end.png").exists()
    if how:
        told = json.loads(done.stdout.splitlines()[0])
        assert told["partial"] is True
        assert told["ticks"] >= 8
    else:
        assert "5 units on small.map" in done.stdout
        assert done.stdout.count("ticks  ") == 1, "told once"
