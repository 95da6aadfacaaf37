"""The first minute of a new user: the README's examples in a fresh virtual environment; and what shipped kernels cost.

    python benchmarks/first_minute.py [--kernels FILE.whl --pure FILE.whl] [--no-start | --no-speed]

The wheels are those that ``make wheel`` left in ``dist``, unless others are named. What is timed is a whole process,
from its start to its end: the first run after the installation, and the best of those after it. Without kernels the
first run compiles what it needs, and later ones find it.

For the speed of what ships three processes take turns, problem by problem: kernels for any x86-64, for x86-64-v3 (the
target that most processors get; on arm64 there is one target) and kernels compiled on this machine for its own
processor. Of each problem the best time counts; told are ratios to the last of the three. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
AGAIN = 5  # runs after the first one
PROBLEMS, REPEATS, MOVES = 12, 9, 50_000

# Reads the number of a problem, does it, and tells the nanoseconds per expansion and move; first what it is made of.
WORKER = f"""
import json, sys
import timebound as tb
from timebound.kernels import jit
compiled = []
jit.on_compile(compiled.append)
world = tb.Grid(tb.generate.caves((1024, 1024), seed=1))
problems = list(tb.problems(world, {PROBLEMS}, seed=1, cost=(100, 3000)))
def walk(p):
    search = tb.solve(world, p.start, p.goal, "a*")
    learner = tb.solve(world, p.start, p.goal, "lrta*", move_limit={MOVES})
    bounded = tb.solve(world, p.start, p.goal, "tba*", budget=100)
    return [[1e9 * r.planning_seconds, n] for r, n in (
        (search, search.expansions), (learner, learner.moves), (bounded, bounded.expansions))]
walk(problems[0])
print(json.dumps([tb.__file__, len(compiled)]), flush=True)
for line in sys.stdin:
    print(json.dumps(walk(problems[int(line)])), flush=True)
"""
MEASURES = ("A*, ns per expansion", "LRTA*, ns per move", "TBA* at 100, ns per expansion")


def clean(**changes: str) -> dict[str, str]:
    """The environment of somebody who has set nothing."""
    names = ("NUMBA_", "TIMEBOUND_", "PYTHON", "XDG_")
    return {name: value for name, value in os.environ.items() if not name.startswith(names)} | changes


def seconds(command: list[Any], **options: Any) -> float:
    """How long a command takes, from its start to its end."""
    begun = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - begun


def starts(kernels: Path, pure: Path, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The README's examples, in an environment with the one wheel and then with the other."""
    python, home = folder / "venv" / "bin" / "python", folder / "home"
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    for name, wheel in (("kernels", kernels), ("pure", pure)):
        home.mkdir(parents=True)
        environment = clean(HOME=str(home))
        say(f"installing {wheel.name}")
        if name == "kernels":
            seconds([sys.executable, "-m", "venv", folder / "venv"], env=environment)
            found["install"] = seconds([python, "-m", "pip", "install", "--quiet", wheel], env=environment)
        else:
            again = [python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel]
            seconds(again, env=environment)
        found[name] = []
        for number, example in enumerate(examples):
            say(f"{wheel.name}: example {number + 1}")
            runs = [seconds([python, "-c", example], env=environment, cwd=folder) for _ in range(1 + AGAIN)]
            found[name].append({"first": runs[0], "after": min(runs[1:])})
        home.rename(folder / f"home of {name}")
    found["numba"] = min(seconds([python, "-c", "import numba"], env=clean()) for _ in range(AGAIN))
    return found


def speeds(kernels: Path, pure: Path, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Nanoseconds of each measure, by the kernels that were used."""
    for name, wheel in (("with", kernels), ("without", pure)):
        seconds([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / name, wheel])
    base = "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86-64"
    # Without AVX a processor is not of the better family. What is compiled here is compiled for it as it is.
    settings = {base: ("with", {"NUMBA_ENABLE_AVX": "0"}), "native": ("without", {})}
    if base == "x86-64":
        settings = {"x86-64-v3": ("with", {}), **settings}
    workers = {}
    for name, (where, setting) in settings.items():
        say(f"{name}: getting ready")
        environment = clean(PYTHONPATH=str(folder / where), NUMBA_CACHE_DIR=str(folder / f"cache of {name}"), **setting)
        workers[name] = subprocess.Popen(
            [sys.executable, "-c", WORKER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        file, compiled = json.loads(_answer(workers[name]))
        if not Path(file).is_relative_to(folder) or (compiled > 0) != (name == "native"):
            sys.exit(f"{name}: {file} has compiled {compiled} kernels")
    best: dict[str, dict[tuple[int, int], list[float]]] = {name: {} for name in workers}
    for repeat in range(REPEATS):
        for problem in range(PROBLEMS):
            say(f"round {repeat + 1} of {REPEATS}, problem {problem + 1}")
            order = list(workers)[repeat % len(workers) :] + list(workers)[: repeat % len(workers)]
            for name in order:
                workers[name].stdin.write(f"{problem}\n")
                workers[name].stdin.flush()
                for measure, took in enumerate(json.loads(_answer(workers[name]))):
                    key = problem, measure
                    best[name][key] = min(best[name].get(key, took), took)
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    return {
        name: [
            sum(took[0] for (_, measure), took in of.items() if measure == which)
            / sum(took[1] for (_, measure), took in of.items() if measure == which)
            for which in range(len(MEASURES))
        ]
        for name, of in best.items()
    }


def _answer(worker: Any) -> str:
    line = worker.stdout.readline()
    if not line:
        sys.exit("a process has failed")
    return line


def show(report: dict[str, Any]) -> str:
    """The figures, for people."""
    lines = [
        f"wheel with kernels {report['sizes']['kernels'] / 1e6:.1f} MB, pure {report['sizes']['pure'] / 1e6:.1f} MB"
    ]
    if "starts" in report:
        found = report["starts"]
        lines += [
            f"pip install with all it needs: {found['install']:.0f} s; import numba alone: {found['numba']:.2f} s",
            f"{'seconds from start to result':<36}{'kernels: first':>16}{'after':>8}{'pure: first':>14}{'after':>8}",
        ]
        for number, (ready, bare) in enumerate(zip(found["kernels"], found["pure"], strict=True)):
            lines.append(
                f"{f'example {number + 1} of the README':<36}"
                f"{ready['first']:16.2f}{ready['after']:8.2f}{bare['first']:14.2f}{bare['after']:8.2f}"
            )
    if "speeds" in report:
        names = [name for name in report["speeds"] if name != "native"]
        lines.append(
            f"{'kernels that ship, against native':<36}{'native':>8}" + "".join(f"{n:>12}{'':>8}" for n in names)
        )
        for which, measure in enumerate(MEASURES):
            native = report["speeds"]["native"][which]
            told = (report["speeds"][name][which] for name in names)
            lines.append(
                f"{measure:<36}{native:8.1f}" + "".join(f"{ns:12.1f}{f'({ns / native:.2f}x)':>8}" for ns in told)
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, metavar="FILE", help="the wheel with kernels; default: in dist")
    parser.add_argument("--pure", type=Path, metavar="FILE", help="the one without")
    parser.add_argument("--no-start", action="store_true", help="leave the README's examples out")
    parser.add_argument("--no-speed", action="store_true", help="leave the comparison with native kernels out")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures here")
    options = parser.parse_args()
    made = sorted((ROOT / "dist").glob("*.whl"), key=lambda file: file.stat().st_mtime)
    python = f"-cp{sys.version_info[0]}{sys.version_info[1]}-"
    kernels = options.kernels or next((file for file in reversed(made) if python in file.name), None)
    pure = options.pure or next((file for file in reversed(made) if "-py3-none-any" in file.name), None)
    if kernels is None or pure is None:
        sys.exit("there are no wheels for this Python in dist: make wheel")

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    report: dict[str, Any] = {"sizes": {"kernels": kernels.stat().st_size, "pure": pure.stat().st_size}}
    with tempfile.TemporaryDirectory() as folder:
        if not options.no_start:
            report["starts"] = starts(kernels.resolve(), pure.resolve(), Path(folder), say)
        if not options.no_speed:
            report["speeds"] = speeds(kernels.resolve(), pure.resolve(), Path(folder), say)
    say("")
    print(show(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
