"""`timebound prepare`: a map's database, ahead of time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import Error
from ..text import printable
from .output import SOLVED, Bar, check_output, print_json, print_text
from .parser import add_command, jobs_of, json_option, whole, worker_options

# Endings that say what a file is: a database must not bear one of them.
TAKEN = (".map", ".scen", ".npy", ".gr", ".gz", ".co", ".png", ".jpg", ".csv", ".json", ".parquet", ".html", ".md")


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "prepare",
        "compute a map's database ahead of time",
        "Compute what an algorithm looks up on a map: for knn-lrta*, optimal paths between\n"
        "random cells, each compressed into a few subgoals. Stop it any time and call it\n"
        "again: it goes on where it stopped, and the file appears when it is whole. The\n"
        "same seed gives the same file, whatever the number of jobs.",
        """\
examples:
  timebound prepare caves.map --for 'knn-lrta*' --records 10000 -o caves.db
  timebound prepare caves.map --for 'knn-lrta*' --mode paths --dask local -o caves.db
  timebound prepare caves.map --for 'knn-lrta*' --coverage --records 1000 -o caves.db

modes: trees takes hundreds of records from each Dijkstra search (minutes where
paths, one A* search per record as published, takes hours). With --coverage only
what is still missing becomes a record, and agents use parts of records: on most
maps a tenth of them does better.""",
    )
    parser.add_argument("map", metavar="MAP", help="a .map file, image, NumPy .npy array or ROS .yaml")
    parser.add_argument("--for", dest="algorithm", metavar="SPEC", required=True, help="which algorithm: knn-lrta*")
    parser.add_argument("--records", type=whole, default=10_000, metavar="N", help="default 10000")
    parser.add_argument("--mode", choices=("trees", "paths"), default="trees", help="default trees")
    parser.add_argument("--coverage", action="store_true", help="only records that are missing, up to N")
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="default 0")
    parser.add_argument("--scale", type=whole, default=1, metavar="K", help="enlarge the map K times first")
    worker_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("-o", options.output, None, options.map)
    if Path(options.output).suffix.lower() in TAKEN:
        raise Error(f"-o writes a database, so its name ends in .db or the like, not in {Path(options.output).suffix}")
    import time

    from ..algorithms import parse_spec
    from ..databases.library import kind_for, prepare
    from ..worlds.from_file import open_world

    algorithm = parse_spec(options.algorithm).algorithm
    if not algorithm.database:
        kind_for(options.algorithm)
    opened = open_world(options.map)
    world = opened.world
    if options.scale != 1:
        if not opened.is_grid:
            raise Error(f"{options.map} is a graph, and only grids can be scaled")
        world = world.scale(options.scale)
    began = time.perf_counter()
    with Bar() as bar:
        made = prepare(
            world,
            options.output,
            records=options.records,
            mode=options.mode,
            coverage=options.coverage,
            seed=options.seed,
            jobs=jobs_of(options),
            dask=options.dask,
            progress=bar,
        )
    seconds = time.perf_counter() - began
    facts = {
        "map": str(options.map),
        "digest": made.digest,
        "file": options.output,
        "records": len(made),
        "states": made.states,
        "bytes": Path(options.output).stat().st_size,
        "seconds": seconds,
        "coverage": options.coverage,
        **{name: made.settings[name] for name in ("mode", "seed", "climb_limit")},
    }
    if options.json:
        print_json(facts)
    else:
        each = made.states / len(made) - (0 if options.coverage else 2)
        what = "points" if options.coverage else "subgoals"
        print_text(
            f"{len(made):,} records with {each:.1f} {what} each, {facts['bytes'] / 1e6:.2f} MB, in {seconds:.1f} s"
        )
        if len(made) < options.records:
            print_text("hardly any problem is without a good answer now, so there are no more")
        print_text(f"wrote {printable(str(options.output))}")
    return SOLVED
