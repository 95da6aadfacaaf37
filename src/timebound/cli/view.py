"""`timebound view`: a race in the browser."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Error, at_least
from ..text import printable
from .maps import KINDS
from .output import SOLVED, check_output, last_words, note, print_json, print_text, say
from .parser import add_command, json_option, number, threshold_option, whole

if TYPE_CHECKING:
    from ..worlds.from_file import Opened

_SPECS = ("tba*", "tb-wa*:weight=3", "k-lrta*")
_CROWD = "tb-wa*"
_FRAME = 8.0  # milliseconds for all units of a crowd


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "view",
        "watch a race in the browser, and paint walls while it runs",
        "Open a page with up to six lanes on one map: each its algorithm, the same\n"
        "problem, the same ticks. On it: play, pause, go back in time; drag start and\n"
        "goal, paint walls; other algorithms, parameters and budgets; layers of what\n"
        "each search holds. The page is served to this machine only, and needs no\n"
        "network. Ctrl-C ends it.",
        """\
examples:
  timebound view caves.map -a 'tba*' 'tb-wa*:weight=3' 'k-lrta*' --budget 50
  timebound view caves.map --start 12 34 --goal 200 210 --speed 60
  timebound view rooms --size 100 --seed 3          a generated map
  timebound view caves.map --crowd 10000            a crowd
  timebound view caves.map --html race.html         a page that replays it

MAP is a file, or the name of a generator: """
        + f"{', '.join(KINDS)}.",
    )
    parser.add_argument("map", metavar="MAP", help=".map, image, .npy or ROS .yaml; or the name of a generator")
    parser.add_argument(
        "-a", "--algorithm", metavar="SPEC", nargs="+", action="extend", help=f"1 to 6; default {', '.join(_SPECS)}"
    )
    parser.add_argument("--budget", metavar="B", default="50", help="planning per move: 50 (states, default) or 2ms")
    for name in ("start", "goal"):
        words = "default: drawn at random, far apart"
        parser.add_argument(f"--{name}", type=whole, nargs=2, metavar=("ROW", "COL"), help=words)
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of problem and generated map, default 0")
    parser.add_argument("--size", type=whole, metavar="N", help="of a generated map: N x N cells, default 128")
    parser.add_argument("--mud", action="store_true", help="keep a cost per cell, so that mud can be painted")
    parser.add_argument("--database", metavar="FILE", nargs="+", default=[], help="made by timebound prepare")
    threshold_option(parser)
    parser.add_argument("--crowd", type=whole, metavar="N", help="show N units of one algorithm instead of a race")
    parser.add_argument(
        "--frame-ms", type=number, metavar="MS", help=f"of a crowd: time for a tick of all units, default {_FRAME:g}"
    )
    parser.add_argument("--speed", type=number, default=30.0, metavar="T", help="ticks per second to begin with")
    parser.add_argument("--play", action="store_true", help="run at once; else the page waits to be told")
    parser.add_argument("--port", type=whole, default=0, metavar="P", help="default: any that is free")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--html", metavar="FILE", help="write a page that replays it, and serve nothing")
    parser.add_argument("--ticks", type=whole, metavar="N", help="of --html, at most; of a crowd, default 600")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("--html", options.html, ".html", options.map)
    if options.ticks is not None:
        at_least(1, options.ticks, "--ticks is how many to record")
        if options.html is None:
            raise Error("--ticks says how much --html records; a page runs until it is closed")
    if not 0.1 <= options.speed <= 1_000_000:
        raise Error(f"--speed is in ticks per second, from 0.1 to 1,000,000, not {options.speed:g}")
    if options.frame_ms is not None and options.crowd is None:
        raise Error("--frame-ms is for a crowd; a race has a --budget for each move")
    opened = _opened(options)
    make = _crowd(opened, options) if options.crowd is not None else _race(opened, options)
    if options.html:
        _write(make, opened, options)
        return SOLVED
    return _serve(make, opened, options)


def _opened(options: argparse.Namespace) -> Opened:
    """The map that is named, or one that is generated."""
    from ..worlds.from_file import Opened, open_world
    from ..worlds.grid import Grid

    generated = options.map in KINDS and not Path(options.map).exists()
    if not generated:
        if options.size is not None:
            raise Error("--size is for maps that are generated, and this one is read from a file")
        opened = open_world(options.map, threshold=options.threshold)
        if not opened.is_grid:
            raise Error("the viewer shows grids, and this is a graph")
        grid = opened.world
        if options.mud and not grid.terrain:
            grid = Grid(grid.costs.clip(0, 1) * grid.free, terrain=True, **grid.rules)
        return Opened(grid, opened.path)
    if options.threshold is not None:
        raise Error("--threshold is for images, and this map is generated")
    from ..worlds.generate import GENERATORS

    size = at_least(8, 128 if options.size is None else options.size, "--size is the side of the map", 2048)
    cells = GENERATORS[options.map]((size, size), seed=options.seed)
    return Opened(Grid(cells * 1.0 if options.mud else cells, terrain=options.mud), Path(options.map))


def _race(opened: Opened, options: argparse.Namespace) -> Callable[[], Any]:
    from ..algorithms import parse_spec
    from ..lab.database_files import database_for
    from ..viewer.show import stages

    specs = [parse_spec(spec) for spec in options.algorithm or _SPECS]
    needing = [spec for spec in specs if spec.database is not None]
    database = database_for(opened.world, needing[0], options.database) if needing else None
    return stages(
        opened.world,
        specs,
        None if options.start is None else tuple(options.start),
        None if options.goal is None else tuple(options.goal),
        budget=options.budget,
        database=database,
        seed=options.seed,
    )


def _crowd(opened: Opened, options: argparse.Namespace) -> Callable[[], Any]:
    from ..algorithms import parse_spec
    from ..crowd import Crowd as RandomCrowd
    from ..lab.database_files import database_for
    from ..viewer.race import Crowd
    from ..viewer.show import check_size

    if options.start is not None or options.goal is not None:
        raise Error("--start and --goal are for races; the units of a crowd have their own")
    specs = options.algorithm or [_CROWD]
    if len(specs) > 1:
        raise Error("a crowd has one algorithm, and a race without --crowd has up to six")
    check_size(opened.world)
    spec = parse_spec(specs[0])
    database = database_for(opened.world, spec, options.database)

    def make() -> Any:
        frame = _FRAME if options.frame_ms is None else options.frame_ms
        units = RandomCrowd(
            opened.world.copy(), spec, options.crowd, frame_ms=frame, seed=options.seed, database=database
        )
        return Crowd(units)

    make()  # mistakes are found now
    return make


def _write(make: Callable[[], Any], opened: Opened, options: argparse.Namespace) -> None:
    from ..viewer.replay import save_replay

    ticks = options.ticks if options.ticks is not None or options.crowd is None else 600
    name = printable(opened.name)
    save_replay(make(), options.html, title=f"timebound: {name}", name=name, ticks=ticks)
    if options.json:
        print_json({"html": options.html, "bytes": Path(options.html).stat().st_size})
    say(f"wrote {printable(options.html)}", options)


def _serve(make: Callable[[], Any], opened: Opened, options: argparse.Namespace) -> int:
    from ..viewer.server import Viewer

    name = printable(opened.name)
    viewer = Viewer(make, port=options.port, speed=options.speed, playing=options.play, name=name)
    last_words.append(viewer.close)
    try:
        if options.json:
            print_text(json.dumps({"address": viewer.address}), flush=True)
        else:
            print_text(f"{viewer.address}\nCtrl-C ends it", flush=True)
        if not options.no_browser and not viewer.open_browser():
            note("no browser was found; open the address above in one on this machine")
        viewer.wait()
    finally:
        last_words.remove(viewer.close)
        viewer.close()
    return SOLVED
