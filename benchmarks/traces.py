"""What traces cost: nothing where there is none, so much where there is one; and what a race costs that is looked at.

    python benchmarks/traces.py [--side 512] [--repeats 5] [--parts absent,present,race]

Absent: the package is copied, and every call of ``tell`` and ``mark_tick`` is taken out of the copy, as if there had
never been traces. Both are compiled from nothing, and both solve the same problems in turn: the number of instructions
of their kernels is told, and the ratio of their times. Present: the same problems with a trace that hands its events
on, and with one that keeps them, as ratios to none. A race: four lanes, what a tick and a frame take, and how large a
frame is.
Run it on a quiet machine; it takes three minutes, most of it compilation.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SPECS = {"a*": None, "tba*": 50, "k-lrta*": 50, "lrta*": None}
PROBLEMS = 20
SILENT = {"tell", "mark_tick"}


class _Silenced(ast.NodeTransformer):
    """Takes every statement out that only tells something."""

    def __init__(self) -> None:
        self.taken = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SILENT:
            self.taken += 1
            return ast.copy_location(ast.Pass(), node)
        return node


def silenced_copy(folder: Path) -> int:
    """The package without its calls of ``tell``, in a folder; returns how many there were."""
    import timebound

    source = Path(timebound.__file__).parent
    shutil.copytree(source, folder / "timebound", ignore=shutil.ignore_patterns("__pycache__"))
    taken = 0
    for room in ("kernels", "algorithms"):
        for file in (folder / "timebound" / room).glob("*.py"):
            # What hands calls on, and the texts themselves, are for watched worlds alone.
            if file.name in ("telling.py", "corridor.py", "scene.py"):
                continue
            silencer = _Silenced()
            tree = silencer.visit(ast.parse(file.read_text(encoding="utf-8")))
            if silencer.taken:
                file.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
                taken += silencer.taken
    return taken


def measure(side: int, repeats: int) -> dict[str, Any]:
    """In a process of its own: for each algorithm the digest of its machine code, and its times without a trace."""
    import timebound as tb
    from timebound.kernels import loop

    told: dict[str, Any] = {}
    for spec, budget in SPECS.items():
        known = set(loop.run.overloads)
        tb.agent(spec, tb.Grid([[1, 1, 1]]), (0, 0), (0, 2), budget=budget).step()
        fresh = set(loop.run.overloads) - known
        told[spec] = {"instructions": sum(_instructions(loop.run.overloads[signature]) for signature in fresh)}
    world = tb.Grid(tb.generate.caves((side, side), seed=1))
    tasks = [(problem.start, problem.goal) for problem in tb.problems(world, PROBLEMS, seed=2)]
    for spec, budget in SPECS.items():
        times = []
        for _ in range(repeats):
            before = time.process_time()
            expanded = sum(tb.solve(world, *ends, spec, budget=budget, move_limit=20_000).expansions for ends in tasks)
            times.append(time.process_time() - before)
        told[spec] |= {"seconds": min(times), "expanded": expanded}
    return told


def _instructions(compiled: Any) -> int:
    lines = compiled.library.get_asm_str().splitlines()
    return sum(line.startswith("\t") and not line.startswith("\t.") for line in lines)


def absent(side: int, repeats: int) -> None:
    """With calls and without them, each in its own process, one after the other and once more the other way round."""
    with tempfile.TemporaryDirectory() as place:
        taken = silenced_copy(Path(place))
        homes = {"as it is": None, "without": place}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in homes}
        for name in ("as it is", "without", "without", "as it is"):  # the later two load what the first compiled
            found[name].append(_elsewhere(homes[name], Path(place) / f"cache {name}", side, repeats))
    print(f"absent: {taken} calls of tell taken out of the copy; caves {side} x {side}, {PROBLEMS} problems")
    print(f"{'':10}{'instructions':>14}{'without':>10}{'ns/state':>10}{'without':>10}{'ratio':>8}")
    for spec in SPECS:
        ours, theirs = ([run[spec] for run in found[name]] for name in ("as it is", "without"))
        mine, other = (min(run["seconds"] for run in runs) for runs in (ours, theirs))
        assert ours[0]["expanded"] == theirs[0]["expanded"]
        states = ours[0]["expanded"]
        print(
            f"{spec:10}{ours[0]['instructions']:14,}{theirs[0]['instructions']:10,}"
            f"{mine / states * 1e9:10.1f}{other / states * 1e9:10.1f}{mine / other:8.3f}"
        )


def _elsewhere(home: str | None, cache: Path, side: int, repeats: int) -> dict[str, Any]:
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    if home is not None:
        variables["PYTHONPATH"] = home
    command = [sys.executable, __file__, "--measure", "--side", str(side), "--repeats", str(repeats)]
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def present(side: int, repeats: int) -> None:
    """A trace that hands on, one that keeps, and none, in turn."""
    import timebound as tb

    world = tb.Grid(tb.generate.caves((side, side), seed=1))
    tasks = [(problem.start, problem.goal) for problem in tb.problems(world, PROBLEMS, seed=2)]
    print("\npresent: times of the one without")
    print(f"{'':10}{'hands on':>10}{'keeps':>10}{'events/state':>14}{'ns/event':>10}")
    for spec, budget in SPECS.items():
        ways = {"none": lambda: None, "hands on": lambda: tb.Trace(each=len), "keeps": tb.Trace}
        best = dict.fromkeys(ways, float("inf"))
        told = expanded = 0
        for _ in range(repeats + 1):  # the first is for loading
            for name, make in ways.items():
                before = time.process_time()
                told = expanded = 0
                for ends in tasks:
                    trace: Any = make()
                    result = tb.solve(world, *ends, spec, budget=budget, move_limit=20_000, trace=trace)
                    expanded += result.expansions
                    told += 0 if trace is None else sum(map(trace.count, ("begun", "generated", "learned", "moved")))
                best[name] = min(best[name], time.process_time() - before)
        told += expanded
        more = (best["hands on"] - best["none"]) / told * 1e9
        print(
            f"{spec:10}{best['hands on'] / best['none']:10.2f}{best['keeps'] / best['none']:10.2f}"
            f"{told / expanded:14.1f}{more:10.1f}"
        )


def race(side: int) -> None:
    """Four lanes, and frames of them."""
    import timebound as tb
    from timebound.viewer.race import Race

    world = tb.Grid(tb.generate.caves((side, side), seed=1))
    shown = Race(world, ["tba*", "tb-wa*:weight=3", "k-lrta*", "lrta*"], budget=50)
    shown.tick(2)
    shown.frame()
    print(f"\na race of four lanes on {side} x {side}, budget 50: milliseconds per frame")
    print(f"{'ticks/frame':>12}{'ticks':>10}{'frame':>10}{'KB':>10}")
    for ticks in (1, 5, 20):
        shown.restart()
        shown.frame()
        acting = telling = size = 0.0
        frames = 50
        for _ in range(frames):
            before = time.perf_counter()
            shown.tick(ticks)
            between = time.perf_counter()
            size += len(shown.frame())
            acting += between - before
            telling += time.perf_counter() - between
        print(f"{ticks:12}{acting / frames * 1e3:10.2f}{telling / frames * 1e3:10.2f}{size / frames / 1024:10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parts", default="absent,present,race")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.side, options.repeats)))
        return
    if "absent" in options.parts:
        absent(options.side, options.repeats)
    if "present" in options.parts:
        present(options.side, options.repeats)
    if "race" in options.parts:
        race(options.side)


if __name__ == "__main__":
    main()
