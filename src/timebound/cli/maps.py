"""`timebound maps`: make, describe, abstract and enlarge maps."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import Error, nearest
from ..text import printable
from .output import SOLVED, check_output, print_json, print_text
from .parser import Nothing, Parser, add_command, json_option, number, shape, threshold_option, whole

# The names of `worlds.generate.GENERATORS`, which help must not wait for; a test compares them.
KINDS = ("random", "rooms", "maze", "caves", "corner")
# An option of `maps generate`, what it is, and how it reads.
OPTIONS: tuple[tuple[str, type, str], ...] = (
    ("density", float, "random: share of blocked cells"),
    ("room", int, "rooms: distance from wall to wall, in cells"),
    ("doors", float, "rooms: share of walls that have a door"),
    ("corridor", int, "maze: width of its ways, in cells"),
    ("fill", float, "caves: share of blocked cells to aim at"),
    ("feature", int, "caves: width of a typical blob, in cells"),
)


def add_to(commands: Any) -> None:
    """The command and its options."""
    maps = add_command(
        commands,
        _no_action,
        "maps",
        "make, describe, abstract and enlarge maps",
        "Make, describe, abstract and enlarge maps.",
        """\
examples:
  timebound maps generate caves -o caves.map --size 512 --seed 3
  timebound maps info caves.map
  timebound maps regions caves.map --level 3 --png regions.png
  timebound maps scale caves.map 2 -o larger.map""",
    )
    actions = maps.add_subparsers(metavar="ACTION", dest="action", parser_class=Parser)

    generate = add_command(
        actions,
        _generate,
        "generate",
        "make a map",
        "Make a map in the manner of the well-known benchmark sets. KIND is one of\n"
        f"{', '.join(KINDS)}. The same seed gives the same map.",
        """\
examples:
  timebound maps generate caves -o caves.map --size 512 --seed 3
  timebound maps generate rooms -o rooms.map --shape 200x300 --room 12""",
    )
    generate.add_argument("kind", metavar="KIND", help=", ".join(KINDS))
    generate.add_argument("-o", "--output", metavar="FILE.map", required=True)
    sides = generate.add_mutually_exclusive_group()
    sides.add_argument("--size", type=whole, metavar="N", help="a square of N x N cells, default 256")
    sides.add_argument("--shape", type=shape, metavar="HxW", help="rows x columns")
    generate.add_argument("--seed", type=whole, default=0, metavar="S", help="default 0")
    for name, kind, what in OPTIONS:
        generate.add_argument(f"--{name}", type=whole if kind is int else number, metavar="X", help=what)
    generate.add_argument("--png", metavar="FILE", help="draw the map")
    json_option(generate)

    info = add_command(
        actions,
        _info,
        "info",
        "describe maps",
        "Describe maps: size, free cells, connected parts, memory, digest, and how many\n"
        "problems the .scen file beside each one lists.",
        """\
examples:
  timebound maps info caves.map
  timebound maps info *.map --json""",
    )
    info.add_argument("maps", nargs="+", metavar="MAP", help=".map, image, .npy, ROS .yaml or .gr")
    json_option(info)

    regions = add_command(
        actions,
        _regions,
        "regions",
        "abstract a map, and draw its regions",
        "Join the cells of a map into regions, level by level (clique abstraction), and\n"
        "tell how many there are at each level and how large. --png draws one level.",
        """\
examples:
  timebound maps regions caves.map
  timebound maps regions caves.map --level 3 --png regions.png""",
    )
    regions.add_argument("map", metavar="MAP", help=".map, image, .npy, ROS .yaml or .gr")
    regions.add_argument("--level", type=whole, default=3, metavar="L", help="the level to draw, default 3")
    regions.add_argument("--png", metavar="FILE", help="draw the regions")
    threshold_option(regions)
    json_option(regions)

    scale = add_command(
        actions,
        _scale,
        "scale",
        "enlarge a map",
        "Write a map in which every cell has become K x K cells.",
        """\
example:
  timebound maps scale caves.map 2 -o larger.map""",
    )
    scale.add_argument("map", metavar="MAP", help=".map, image, .npy or ROS .yaml")
    scale.add_argument("factor", type=whole, metavar="K", help="a whole number of at least 1")
    scale.add_argument("-o", "--output", metavar="FILE.map", required=True)
    threshold_option(scale)
    json_option(scale)


def _no_action(options: argparse.Namespace) -> int:
    raise Nothing(options.parser.menu())


def _generate(options: argparse.Namespace) -> int:
    check_output("-o", options.output, ".map")
    check_output("--png", options.png, ".png", options.output)
    import inspect

    from ..worlds.from_file import Opened
    from ..worlds.generate import GENERATORS
    from ..worlds.grid import Grid

    if options.kind not in GENERATORS:
        raise Error(f"there is no kind of map {options.kind!r}; {nearest(options.kind, GENERATORS)}")
    generator = GENERATORS[options.kind]
    taken = set(inspect.signature(generator).parameters)
    given = {name: getattr(options, name) for name, _, _ in OPTIONS if getattr(options, name) is not None}
    for name in given:
        if name not in taken:
            own = [f"--{other}" for other, _, _ in OPTIONS if other in taken]
            raise Error(f"a {options.kind} map takes {' and '.join(own) or 'no options'}, not --{name}")
    sides = options.shape or ((options.size or 256,) * 2 if options.size != 0 else (0, 0))
    world = Grid(generator(sides, seed=options.seed, **given))
    world.save(options.output)
    if options.png:
        from ..pictures import draw, save

        save(draw(world), options.png)
    facts = Opened(world, Path(options.output)).facts()
    if options.json:
        print_json({**facts, "kind": options.kind, "seed": options.seed, "options": given})
    else:
        how = f"{options.kind}, seed {options.seed}"
        print_text(f"wrote {printable(str(options.output))}: {how}, {_facts_in_words(facts)}")
        if options.png:
            print_text(f"wrote {printable(options.png)}")
    return SOLVED


def _info(options: argparse.Namespace) -> int:
    from ..worlds.from_file import open_world

    facts = [open_world(path).facts() for path in options.maps]
    if options.json:
        print_json(facts)
        return SOLVED
    for k, fact in enumerate(facts):
        print_text("\n" * (k > 0) + printable(fact["map"]))
        for name, words in _facts_in_lines(fact):
            print_text(f"  {name:<16}{words}")
    return SOLVED


def _regions(options: argparse.Namespace) -> int:
    check_output("--png", options.png, ".png", options.map)
    from ..worlds.abstraction import Abstraction, regions
    from ..worlds.from_file import open_world

    opened = open_world(options.map, threshold=options.threshold)
    if options.png and not opened.is_grid:
        raise Error(f"{options.map} is a graph, and only grids can be drawn")
    made = Abstraction.of(opened.world)
    if options.png:
        from ..pictures import draw_regions, save

        save(draw_regions(regions(opened.world, options.level)), options.png)
    levels = []
    for level in range(made.height + 1):
        sizes = made.sizes(level)
        sizes = sizes[sizes > 0]
        levels.append(
            {
                "level": level,
                "regions": len(sizes),
                "states_mean": float(sizes.mean()) if len(sizes) else 0.0,
                "states_least": int(sizes.min(initial=sizes.max(initial=0))),
                "states_most": int(sizes.max(initial=0)),
            }
        )
    if options.json:
        print_json({"map": str(options.map), "levels": levels, "level": options.level, "png": options.png})
        return SOLVED
    states = "cells" if opened.is_grid else "nodes"
    print_text(f"{printable(str(options.map))}\n  {'level':<8}{'regions':>12}   {states} in each: mean, least, most")
    for row in levels:
        sizes_in_words = f"{row['states_mean']:,.1f}  {row['states_least']:,}  {row['states_most']:,}"
        print_text(f"  {row['level']:<8}{row['regions']:>12,}   {sizes_in_words}")
    if options.png:
        print_text(f"wrote {printable(options.png)}: level {options.level}")
    return SOLVED


def _scale(options: argparse.Namespace) -> int:
    check_output("-o", options.output, ".map", options.map)
    from ..worlds.from_file import Opened, open_world

    opened = open_world(options.map, threshold=options.threshold)
    if not opened.is_grid:
        raise Error(f"{options.map} is a graph, and only grids can be scaled")
    larger = opened.world.scale(options.factor)
    larger.save(options.output)
    facts = Opened(larger, Path(options.output)).facts()
    if options.json:
        print_json({**facts, "factor": options.factor})
    else:
        print_text(f"wrote {printable(str(options.output))}: {_facts_in_words(facts)}")
    return SOLVED


def _facts_in_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    if facts["world"] == "graph":
        arcs = f"{facts['arcs']:,} ({'undirected' if facts['undirected'] else 'directed'})"
        memory = f"{facts['bytes'] / 1024:,.1f} KB, {facts['bytes_per_node']:.1f} bytes per node"
        return [("nodes", f"{facts['nodes']:,}"), ("arcs", arcs), ("memory", memory), ("digest", facts["digest"])]
    parts = f"{facts['parts']:,}, the largest has {facts['largest_part_share']:.1%} of the free cells"
    return [
        ("size", f"{facts['rows']} x {facts['columns']} (rows x columns)" + ", terrain costs" * facts["terrain"]),
        ("free cells", f"{facts['free']:,} ({facts['free_share']:.1%})"),
        ("connected parts", parts),
        ("memory", f"{facts['bytes'] / 1024:,.1f} KB, {facts['bytes_per_cell']:.2f} bytes per cell"),
        ("digest", facts["digest"]),
        ("problems", "no .scen file beside it" if facts["problems"] is None else f"{facts['problems']:,} in its .scen"),
    ]


def _facts_in_words(facts: dict[str, Any]) -> str:
    return f"{facts['rows']} x {facts['columns']} cells, {facts['free']:,} free ({facts['free_share']:.1%})"
