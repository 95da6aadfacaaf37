"""`timebound train-depth`: a depth tree for D LRTA*, from maps."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import Error
from ..text import printable
from .output import SOLVED, Bar, check_output, print_json, print_text
from .parser import add_command, json_option, whole
from .prepare import TAKEN


def add_to(commands: Any) -> None:
    """The command and its options."""
    parser = add_command(
        commands,
        run,
        "train-depth",
        "train a tree that says how deep to look",
        "Train a decision tree that says how deep d-lrta* should look before a move.\n"
        "One tree serves all maps, also those it was not trained on; without maps it is\n"
        "trained on generated ones, as the tree that d-lrta*:depth=tree uses by default.\n"
        "Needs scikit-learn (pip install 'timebound[train]').",
        "examples:\n"
        "  timebound train-depth maps/*.map --cap 10 -o game.tree\n"
        "  timebound solve maze.map 0,0 9,9 -a 'd-lrta*:depth=tree,goal=global'",
    )
    parser.add_argument("maps", nargs="*", metavar="MAP", help="a .map file, image, NumPy .npy array or ROS .yaml")
    parser.add_argument("--cap", type=whole, default=16, metavar="N", help="the deepest lookahead; default 16")
    parser.add_argument("--history", type=whole, default=60, metavar="N", help="steps remembered; default 60")
    parser.add_argument("--presearch", type=whole, default=1, metavar="N", help="depth of the pre-search; default 1")
    parser.add_argument("--problems", type=whole, default=12, metavar="N", help="problems on each map; default 12")
    parser.add_argument("--moves", type=whole, default=2000, metavar="N", help="moves in each at most; default 2000")
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="another one gives other problems; default 0"
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    check_output("-o", options.output, None, *options.maps)
    if Path(options.output).suffix.lower() in TAKEN:
        raise Error(f"-o writes a tree, so its name ends in .tree or the like, not in {Path(options.output).suffix}")
    import time

    from ..databases.depth_trees import DepthTree
    from ..worlds.from_file import open_world

    worlds = [open_world(file).world for file in options.maps]
    names = "cap", "history", "presearch", "problems", "moves", "seed"
    began = time.perf_counter()
    with Bar() as bar:
        tree = DepthTree.train(worlds or None, progress=bar, **{name: getattr(options, name) for name in names})
    tree.save(options.output)
    seconds = time.perf_counter() - began
    size = Path(options.output).stat().st_size
    if options.json:
        print_json({"file": options.output, "nodes": len(tree), "bytes": size, "seconds": seconds, **tree.settings})
        return SOLVED
    made = tree.settings
    learned = f"from {made['samples']:,} moves on {made['maps']} maps"
    print_text(f"trees for caps up to {tree.cap} with {len(tree):,} nodes, {learned}")
    print_text(
        f"on maps not seen: right {100 * made['accuracy']:.0f}%, deep enough {100 * made['enough']:.0f}%, "
        f"mean error {made['error']:.2f} steps; in {seconds:.1f} s"
    )
    print_text(f"wrote {printable(str(options.output))}")
    return SOLVED
