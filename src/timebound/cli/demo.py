"""`timebound demo`: see it all in a minute."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import Error, at_least
from ..text import printable
from .output import SOLVED, Bar, note, print_json, print_text
from .parser import add_command, json_option, whole
from .race import caption


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "demo",
        "race the algorithms on a generated map and draw their paths",
        "Make a game-like map, race every algorithm on some problems, print the table\n"
        "and draw the paths of one problem. The first time it compiles its kernels,\n"
        "which may take a minute; from then on it takes seconds.",
        """\
examples:
  timebound demo
  timebound demo -o race --size 512 --seed 7""",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default="timebound-demo", help="default: timebound-demo")
    parser.add_argument("--size", type=whole, default=256, metavar="N", help="side of the map, default 256")
    parser.add_argument("--problems", type=whole, default=20, metavar="N", help="default 20")
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of map and problems, default 0")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    at_least(1, options.problems, "problems is how many to race on")
    folder = Path(options.output)
    if not folder.absolute().parent.is_dir():
        raise Error(f"cannot make the folder {folder}: there is no folder {folder.parent}")
    from .. import pictures

    pictures.require()
    from ..algorithms import REGISTRY
    from ..atomic import make_folder
    from ..episode import solve
    from ..lab.experiment import cross
    from ..lab.race import Race
    from ..lab.summary import format_table, summarise
    from ..lab.tasks import collect
    from ..warmup import warm
    from ..worlds.generate import caves
    from ..worlds.grid import Grid

    map_path, picture_path = folder / "caves.map", folder / "race.png"
    cells = caves((options.size, options.size), seed=options.seed)

    # IDA* would take hours, and databases must be prepared first.
    rivals = [algorithm for algorithm in REGISTRY.values() if algorithm.name != "ida*" and not algorithm.database]

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        if compiled:
            note(f"compiled {step} in {seconds:.0f} s (once per machine)")

    make_folder(folder)
    note(f"getting {len(rivals)} algorithms ready")
    warm(report, kinds=["grid"], algorithms=rivals)
    Grid(cells).save(map_path)
    tasks = collect([map_path], count=options.problems, seed=options.seed)
    entries = cross([rival.name for rival in rivals if not rival.real_time], [None])
    entries += cross([rival.name for rival in rivals if rival.real_time], [100])
    with Bar() as bar:
        race = Race(tasks, entries)
        race.get_ready()
        records = race.records(race.run(progress=bar))
    summary = summarise(records)
    world = tasks[0].opened.world
    longest = max(tasks[0].problems, key=lambda problem: problem.optimal or 0.0)
    paths = {
        entry.text: solve(world, longest.start, longest.goal, entry.spec, budget=entry.budget).path
        for entry in entries
    }  # fmt: skip
    pictures.save(pictures.draw(world, paths, start=longest.start, goal=longest.goal), picture_path)
    if options.json:
        files = {"map": str(map_path), "picture": str(picture_path)}
        print_json({**files, "records": records, "summary": summary})
    else:
        print_text(caption(tasks))
        print_text(format_table(summary))
        print_text(f"the map: {printable(str(map_path))}")
        print_text(f"the paths of its longest problem: {printable(str(picture_path))}")
    return SOLVED
