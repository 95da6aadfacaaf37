"""`timebound solve`: one agent from start to goal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..text import printable
from .output import SOLVED, UNSOLVED, check_output, print_json, print_text, say
from .parser import add_command, episode_options, json_option, number, threshold_option, whole

if TYPE_CHECKING:
    from ..result import Result
    from ..worlds.from_file import Opened


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "solve",
        "walk one agent from start to goal and report how it went",
        "Walk one agent from START to GOAL and report cost, effort per move and memory.\n"
        "Exit code: 0 goal reached, 1 unreachable or out of moves, 2 a mistake.",
        """\
examples:
  timebound solve caves.map 12,34 200,210
  timebound solve caves.map 12,34 200,210 -a 'wa*:weight=3' --budget 100
  timebound solve caves.map 12,34 200,210 -a 'tba*' --budget 50 --gif race.gif
  timebound solve roads.gr 1 5000 --json""",
    )
    parser.add_argument(
        "map", metavar="MAP", help="a .map file, image, NumPy .npy array, ROS .yaml, or DIMACS .gr graph"
    )
    for name in ("start", "goal"):
        parser.add_argument(name, metavar=name.upper(), help="row,col from 0; in a .gr a node number from 1")
    parser.add_argument("-a", "--algorithm", metavar="SPEC", default="a*", help="NAME or NAME:PARAMETER=VALUE,...")
    parser.add_argument("--budget", metavar="B", help="planning per move: 100 (states) or 2ms; default: no limit")
    episode_options(parser)
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of the changes, default 0")
    parser.add_argument("--optimal", action="store_true", help="compute the optimum too, for the suboptimality")
    parser.add_argument("--corners", choices=("never", "one", "always"), help="may a diagonal step pass walls?")
    parser.add_argument("--connectivity", type=whole, choices=(4, 8), help="neighbours of a cell, default 8")
    parser.add_argument("--diagonal", type=number, metavar="COST", help="of a diagonal step, default sqrt 2")
    threshold_option(parser)
    parser.add_argument("--png", metavar="FILE", help="draw the map and the path")
    parser.add_argument("--gif", metavar="FILE", help="draw the search and the walk as a moving picture")
    parser.add_argument("--html", metavar="FILE", help="write a page that replays search and walk anywhere")
    parser.add_argument(
        "--against", metavar="SPEC", nargs="+", default=[], help="further algorithms in --gif and --html, up to five"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write what the search did as a .trace.json file for Posthoc, the visualiser"
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("--png", options.png, ".png", options.map)
    check_output("--gif", options.gif, ".gif", options.map)
    check_output("--html", options.html, ".html", options.map)
    check_output("--trace", options.trace, ".json", options.map)
    if options.trace is not None and not options.trace.lower().endswith(".trace.json"):
        raise Error(f"--trace writes a .trace.json file, and {options.trace} does not end so")
    moving = [name for name in ("gif", "html") if getattr(options, name)]
    if options.against and not moving:
        raise Error("--against is for what --gif FILE and --html FILE show")
    if moving and options.change_rate is not None:
        raise Error(f"--{moving[0]} shows a map that does not change; leave --change-rate out")
    if moving and (options.commit != 1 or options.move_limit is not None):
        raise Error(
            f"--{moving[0]} shows a race, a move for each decision to the end; leave --commit, --move-limit out"
        )
    from ..algorithms import parse_spec
    from ..episode import solve
    from ..lab.database_files import database_for
    from ..worlds.from_file import open_world

    rules = {name: getattr(options, name) for name in ("connectivity", "corners", "diagonal", "threshold")}
    opened = open_world(options.map, **{name: value for name, value in rules.items() if value is not None})
    for name in ("png", "gif", "html", "trace"):
        if getattr(options, name) and not opened.is_grid:
            raise Error(f"--{name} draws grids, and this is a graph")
    start, goal = opened.place(options.start, "start"), opened.place(options.goal, "goal")
    episode = {"budget": options.budget, "commit": options.commit, "move_limit": options.move_limit}
    changes = None
    if options.change_rate is not None:
        from ..worlds.changes import RandomChanges

        changes = RandomChanges(options.change_rate, every=options.change_every, seed=options.seed)
    database = database_for(opened.world, parse_spec(options.algorithm), options.database)
    task: dict[str, Any] = {**episode, "changes": changes, "database": database}
    task["optimal"] = "compute" if options.optimal else None
    written = ""
    if options.trace:
        result, written = _traced(opened.world, start, goal, options, task)
    else:
        result = solve(opened.world, start, goal, options.algorithm, **task)
    if options.json:
        record = result.to_dict()
        if opened.first:
            record["path"] = [node + opened.first for node in record["path"]]
        places = {"start": opened.plain(start), "goal": opened.plain(goal)}
        print_json({"map": str(options.map), "digest": opened.world.digest, **places, **record})
    else:
        print_text(_story(opened, start, goal, result))
    if written:
        say(written, options)
    if options.png:
        from ..pictures import draw, save

        save(draw(opened.world, {result.algorithm: result.path}, start=start, goal=goal), options.png)
        say(f"wrote {printable(options.png)}", options)
    if moving:
        from ..viewer.film import save_race
        from ..viewer.race import Race
        from ..viewer.replay import save_replay

        specs = [options.algorithm, *options.against]
        race = Race(opened.world, specs, start, goal, budget=options.budget, database=database)
        if options.gif:
            save_race(race, options.gif)
        if options.html:
            save_replay(race, options.html, title=f"timebound: {printable(opened.name)}", name=printable(opened.name))
        for name in moving:
            say(f"wrote {printable(getattr(options, name))}", options)
    return SOLVED if result.status == "reached" else UNSOLVED


def _traced(world: Any, start: Any, goal: Any, options: argparse.Namespace, task: dict[str, Any]) -> tuple[Result, str]:
    """The walk, written down as it goes, and words about the file."""
    from ..episode import solve
    from ..viewer.posthoc import writing

    with writing(options.trace, world, start, goal) as (posthoc, trace):
        result = solve(world, start, goal, options.algorithm, **task, trace=trace)
        posthoc.end(result.path[-1], result.status == "reached")
    rest = f"; {posthoc.left_out:,} events more did not go in" if posthoc.left_out else ""
    return result, f"wrote {printable(options.trace)}: {posthoc.written:,} events{rest}"


def _story(opened: Opened, start: Any, goal: Any, result: Result) -> str:
    """A result for a person: each line a measure, what it was, and what belongs to it."""
    where = f"from {opened.words(start)} to {opened.words(goal)}"
    walled = "" if opened.world.is_open(opened.world.place_of(goal)) else ", for the goal is in a wall"
    head = {
        "reached": f"reached: {where}",
        "unreachable": f"unreachable: there is no way {where}{walled}",
        "move-limit": f"move-limit: gave up after {result.moves:,} moves {where}",
    }[result.status]
    spent = result.expansions_per_move
    ticks = max(len(spent), 1)
    mean, most = (float(spent.mean()), int(spent.max())) if len(spent) else (0.0, 0)
    per_move = result.planning_seconds / ticks * 1e6
    quality = ""
    if result.suboptimality is not None:
        quality = f"suboptimality {result.suboptimality:.4f} (optimal {result.optimal:.3f})"
    elif result.optimal is not None:
        quality = f"of the way walked so far; optimal {result.optimal:.3f}"
    lag = "ticks of planning before the first move"
    lines = [
        ("cost", f"{result.cost:.3f}", quality),
        ("moves", f"{result.moves:,}", f"{result.back_moves:,} back-moves, {result.revisits:,} revisits"),
        ("states expanded", f"{result.expansions:,}", f"per move: mean {mean:,.1f}, max {most:,}"),
        ("first-move lag", f"{result.first_move_lag:,}", lag),
        ("planning time", f"{result.planning_seconds * 1e3:.3f} ms", f"per move: {per_move:,.2f} us"),
        ("memory", f"{result.memory_bytes / 1024:,.1f} KB", f"{result.memory_states:,} states"),
    ]
    budget = "no budget" if result.budget == "none" else f"budget {result.budget}"
    text = [head, f"  {printable(opened.name)}, {opened.size()}; {result.algorithm}, {budget}"]
    text += [f"  {name:<16}{value:>14}  {rest}".rstrip() for name, value, rest in lines]
    return "\n".join(text)
