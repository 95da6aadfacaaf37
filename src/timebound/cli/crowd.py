"""`timebound crowd`: thousands of units on a map, under one frame."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import Error, at_least
from ..text import printable, some
from .output import INTERRUPTED, SOLVED, Live, check_output, last_words, note, print_json, print_text, say
from .parser import add_command, json_option, number, threshold_option, whole

if TYPE_CHECKING:
    from ..crowd import Crowd, CrowdReport
    from ..worlds.from_file import Opened

_TICKS = 1000  # if nothing is said
_BAR = 40  # the longest of the histogram


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "crowd",
        "let thousands of units walk under one frame, and time every tick",
        "Let many units walk on a map, each from a random start to a random goal, all of\n"
        "them within one frame: what a game would give to pathfinding, by default 1 ms.\n"
        "Who arrives gets a new goal, so the load stays; with --once all walk one way.\n\n"
        "A tick is one frame: every unit plans a little and makes a move. If the frame\n"
        "is too small for all, they take turns. The table tells how long ticks took, how\n"
        "many were late (longer than the frame), how many units had their turn in one,\n"
        "and how long anyone waited for a turn. Ticks follow each other without a pause.",
        """\
examples:
  timebound crowd caves.map --agents 10000 -a 'tb-wa*:weight=3' --frame-ms 1
  timebound crowd caves.map --agents 500 --once --png end.png --gif walk.gif
  timebound crowd caves.map -a 'knn-lrta*' --database caves.db --threads 2
  timebound crowd caves.map --frame-expansions 20000 --ticks 500 --json

With --frame-expansions the same seed gives the same walks on any machine.
Ctrl-C ends a run with the table, and the pictures, of the ticks there were.""",
    )
    parser.add_argument("map", metavar="MAP", help=".map, image, .npy, ROS .yaml or .gr")
    parser.add_argument("--agents", type=whole, default=1000, metavar="N", help="how many units, default 1000")
    parser.add_argument("-a", "--algorithm", metavar="SPEC", default="tb-wa*", help="real-time ones; default tb-wa*")
    frame = parser.add_mutually_exclusive_group()
    frame.add_argument("--frame-ms", type=number, metavar="MS", help="time for a tick of all units, default 1")
    frame.add_argument("--frame-expansions", type=whole, metavar="N", help="or states that all may expand in a tick")
    parser.add_argument("--collisions", action="store_true", help="no two units in one cell, and no swaps")
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="that share a tick's work, default 1")
    parser.add_argument("--ticks", type=whole, metavar="N", help=f"default {_TICKS}; with --once, at most so many")
    parser.add_argument("--once", action="store_true", help="no new goals: end when all have arrived")
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of starts and goals, default 0")
    parser.add_argument("--database", metavar="FILE", nargs="+", default=[], help="made by timebound prepare")
    threshold_option(parser)
    parser.add_argument("--png", metavar="FILE", help="draw units, where they have been, and the ways of a few")
    parser.add_argument("--gif", metavar="FILE", help="a short film of the whole run")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("--png", options.png, ".png", options.map)
    check_output("--gif", options.gif, ".gif", options.map)
    if options.ticks is not None:
        at_least(1, options.ticks, "--ticks is how many to make")
    from ..algorithms import parse_spec
    from ..crowd import Crowd
    from ..lab.database_files import database_for
    from ..worlds.from_file import open_world

    opened = open_world(options.map, threshold=options.threshold)
    drawn = bool(options.png or options.gif)
    if drawn and not opened.is_grid:
        raise Error("--png and --gif draw grids, and this is a graph")
    spec = parse_spec(options.algorithm)
    crowd = Crowd(
        opened.world,
        spec,
        options.agents,
        frame_ms=options.frame_ms,
        frame_expansions=options.frame_expansions,
        collisions=options.collisions,
        threads=options.threads,
        seed=options.seed,
        database=database_for(opened.world, spec, options.database),
        once=options.once,
        watch=drawn,
    )
    ticks = options.ticks if options.ticks is not None or options.once else _TICKS
    with Live() as live:
        speak = partial(_interrupted, crowd, opened, options, live, ticks)
        last_words.append(speak)
        try:
            crowd.run(ticks, partial(_show, live=live, ticks=ticks))
            if crowd.stopped:
                return INTERRUPTED  # another thread tells the rest
        finally:
            last_words.remove(speak)
    _tell(crowd, opened, options, ticks)
    return SOLVED


def _show(crowd: Crowd, live: Live, ticks: int | None) -> None:
    """While it runs: the table, redrawn; where nobody watches, a line now and then."""
    if live.watched:
        live(lambda: "\n".join(_table(crowd, crowd.report(), ticks)))
        return
    now = crowd.ticks
    # Every tenth part, or where no end is known, each time there are twice as many.
    if (now & (now - 1) == 0 and now >= 128) if ticks is None else (now * 10 // ticks > (now - 1) * 10 // ticks):
        report = crowd.report()
        late = "" if report.late is None else f", {report.late:,} late"
        note(
            f"tick {now:,}{f' of {ticks:,}' if ticks else ''}: p50 {report.p50_ms:.3g} ms, p99 {report.p99_ms:.3g} ms"
            f"{late}; {report.active:,} on their way, {report.arrivals:,} arrived"
        )


def _interrupted(crowd: Crowd, opened: Opened, options: argparse.Namespace, live: Live, ticks: int | None) -> None:
    crowd.stop()
    live.clear()
    _tell(crowd, opened, options, ticks)
    note(f"interrupted after {some(crowd.ticks, 'tick')}")


def _tell(crowd: Crowd, opened: Opened, options: argparse.Namespace, ticks: int | None) -> None:
    """The table and the histogram, and whatever files were asked for."""
    from ..crowd import histogram

    report = crowd.report()
    bins = histogram(crowd.times, crowd.fleet.frame_ms)
    if options.json:
        facts = {
            "map": str(options.map),
            "digest": opened.world.digest,
            "algorithm": str(crowd.fleet.spec),
            "frame_ms": crowd.fleet.frame_ms,
            "frame_expansions": crowd.fleet.frame_expansions,
            **{name: getattr(options, name) for name in ("collisions", "threads", "once", "seed")},
        }
        partial_run = {"partial": True} if crowd.stopped else {}
        found = [{"from_ms": low, "to_ms": high, "ticks": count} for low, high, count in bins]
        print_json({**facts, **asdict(report), "histogram": found, **partial_run})
    else:
        print_text(_headline(crowd, opened, options, report))
        print_text("\n".join([*_table(crowd, report, ticks), *_histogram(bins, crowd.fleet.frame_ms)]))
    _draw(crowd, opened, options, report)


def _headline(crowd: Crowd, opened: Opened, options: argparse.Namespace, report: CrowdReport) -> str:
    frame = _frame(crowd)
    how = f"{crowd.fleet.spec}, {frame}" + f", {crowd.fleet.threads} threads" * (crowd.fleet.threads > 1)
    how += ", collisions" * options.collisions
    return f"{some(report.agents, 'unit')} on {printable(opened.name)}, {opened.size()}\n  {printable(how)}"


def _frame(crowd: Crowd) -> str:
    fleet = crowd.fleet
    return (
        f"{fleet.frame_ms:g} ms a frame" if fleet.frame_ms is not None else f"{fleet.frame_expansions:,} states a frame"
    )


def _table(crowd: Crowd, report: CrowdReport, ticks: int | None) -> list[str]:
    """A report for a person: each line a measure, what it was, and what belongs to it."""
    late = ""
    if report.late is not None:
        late = f", {report.late:,} late ({report.late / max(report.ticks, 1):.1%})"
    each = max(report.ticks, 1)
    lines = [
        ("ticks", f"{report.ticks:,}", f"of {ticks:,}" if ticks and report.ticks < ticks else ""),
        ("tick", f"{report.p50_ms:.3f} ms", f"p99 {report.p99_ms:.3f}, max {report.max_ms:.3f} ms{late}"),
        (
            "served",
            f"{report.served_share:.1%}",
            f"had a turn in a tick, longest wait {some(report.waited_max, 'tick')}",
        ),
        ("moves", f"{report.moves:,}", f"{report.moves / each:,.1f} a tick"),
        ("states expanded", f"{report.expansions:,}", f"{report.expansions / each:,.1f} a tick"),
        ("arrivals", f"{report.arrivals:,}", f"{report.active:,} on their way, {report.unreachable:,} found no way"),
        (
            "new goals",
            f"{report.goals_ms:.3f} ms",
            f"after a tick, mean; setting out took {report.setting_out_ms:,.0f} ms",
        ),
    ]
    return [f"  {name:<16}{value:>14}  {rest}".rstrip() for name, value, rest in lines]


def _histogram(bins: list[tuple[float, float, int]], frame: float | None) -> list[str]:
    """A line for each range of times, and one where the frame ends."""
    most = max((count for *_, count in bins), default=0)
    lines: list[str] = []
    for low, high, count in bins:
        if low == frame and lines:
            lines.append("  - the frame ends here -")
        bar = "#" * -(-_BAR * count // max(most, 1))
        lines.append(f"  {f'{low:g} to {high:g} ms':<18}{count:>12,}  {bar}".rstrip())
    return lines


def _draw(crowd: Crowd, opened: Opened, options: argparse.Namespace, report: CrowdReport) -> None:
    from .. import pictures

    if options.png:
        words = f"{some(report.agents, 'unit')}, {crowd.fleet.spec}, after {some(report.ticks, 'tick')}"
        picture = pictures.draw_crowd(
            opened.world, crowd.places, visits=crowd.visits, trails=crowd.trails, caption=printable(words)
        )
        pictures.save(picture, options.png)
    if options.gif:
        pictures.save_film(pictures.draw_film(opened.world, crowd.film), options.gif)
    for file in (options.png, options.gif):
        if file:
            say(f"wrote {printable(file)}", options)
