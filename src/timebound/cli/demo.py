"""`timebound demo`: see it all in a minute."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import Error, at_least
from ..text import printable, some
from .output import SOLVED, Bar, note, print_json, print_text
from .parser import add_command, json_option, whole
from .race import caption

# One of each kind, from a whole search ahead to a look around, with the budget per move.
RIVALS: dict[str, int | None] = {
    "a*": None,
    "tba*": 100,
    "tb-wa*:weight=3": 100,
    "k-lrta*": 100,
    "rtaa*": 100,
    "lrta*": None,
}
MOVES = 100_000  # of a walk; who is not there by then is lost


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "demo",
        "race six algorithms on a generated map and draw their walks",
        "Make a game-like map, race six algorithms on some problems, print the table\n"
        "and draw the walks of one problem side by side. The first time it compiles\n"
        "its kernels, which may take half a minute; from then on it takes seconds.",
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
    from ..atomic import make_folder
    from ..episode import solve
    from ..lab.experiment import Setting, cross
    from ..lab.race import Race
    from ..lab.summary import format_table, summarise
    from ..lab.tasks import collect
    from ..warmup import warm
    from ..worlds.generate import caves
    from ..worlds.grid import Grid

    map_path, picture_path = folder / "caves.map", folder / "race.png"
    cells = caves((options.size, options.size), seed=options.seed)

    def report(step: str, seconds: float, compiled: list[str]) -> None:
        if compiled:
            note(f"compiled {step} in {seconds:.0f} s (once per machine)")

    make_folder(folder)
    note(f"getting {len(RIVALS)} algorithms ready")
    warm(report, kinds=["grid"], algorithms=RIVALS, fleets=False)
    Grid(cells).save(map_path)
    tasks = collect([map_path], count=options.problems, seed=options.seed)
    entries = [entry for spec, budget in RIVALS.items() for entry in cross([spec], [budget])]
    with Bar() as bar:
        race = Race(tasks, entries, Setting(move_limit=MOVES))
        race.get_ready()
        records = race.records(race.run(progress=bar))
    summary = summarise(records)
    world = tasks[0].opened.world
    longest = max(tasks[0].problems, key=lambda problem: problem.optimal or 0.0)
    panels = []
    for entry in entries:
        start, goal = longest.start, longest.goal
        result = solve(world, start, goal, entry.spec, budget=entry.budget, move_limit=MOVES, optimal=longest.optimal)
        panels.append((_title(entry), _words(result), result.path))
    pictures.save(pictures.draw_panels(world, panels, start=longest.start, goal=longest.goal), picture_path)
    if options.json:
        files = {"map": str(map_path), "picture": str(picture_path)}
        print_json({**files, "records": records, "summary": summary})
    else:
        print_text(caption(tasks))
        print_text(format_table(summary))
        print_text(f"the map: {printable(str(map_path))}")
        print_text(f"the walks of its longest problem: {printable(str(picture_path))}")
    return SOLVED


def _title(entry: Any) -> str:
    return entry.text if entry.budget.expansions is None else f"{entry.text}, {entry.budget.expansions} states a move"


def _words(result: Any) -> str:
    """What a walk came to, in one line."""
    if result.status != "reached":
        return f"not there after {result.moves:,} moves"
    cost = f"{result.cost / result.optimal:.2f} times the shortest way" if result.optimal else f"cost {result.cost:.1f}"
    most = int(result.expansions_per_move.max(initial=0))
    return f"{cost}, at most {some(most, 'state')} before a move"
