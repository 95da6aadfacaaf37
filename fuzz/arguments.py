"""Whatever may be given to the public functions and to the command line, right and wrong mixed.

Specs, budgets, points, paths and options are drawn from values that are right, nearly right, and absurd, and given to
tiny worlds of each kind. What is accepted is run for a few ticks: it must go on to keep its promises. Command lines
are made of real words and run in this process: they end with 0, 1 or 2 and at most one line of complaint.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Tally

import timebound as tb
from timebound import cli
from timebound.algorithms import REGISTRY, parse_spec
from timebound.names import FAMOUS, SAME

__all__ = ["fuzz"]

Draw = np.random.Generator

_TICKS = 12
_COMMAND_LINES = 0.2  # share of the inputs that are command lines

# What nobody should give, but somebody will.
ABSURD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, -0.0, math.nan, math.inf, -math.inf, 1e308, 10**9, 10**18, 1 << 60, 10**30,
    -(10**30), 10**5000, "", " ", "3", "a", "ä", "\n", "\x00", "\x1b[31m", "none", "9" * 5000, b"2ms", 1j, [], (), {},
    set(), object, [[]], [None], ["a"], range(3), len, np.int64(3), np.float32(2.5), np.nan, np.array(3),
    np.array([1, 2]), np.ones((2, 2)), np.array(["a", "b"]), np.array([], float), (0, 0), (0, 0, 0), "0,0", (1, None),
    tb.Grid,
)  # fmt: skip

GAPS = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 0, 1], [0, 1, 1, 1]])
WORLDS: dict[str, Callable[[], Any]] = {
    "grid": lambda: tb.Grid(GAPS),
    "narrow grid": lambda: tb.Grid([[1, 1, 0, 1]], connectivity=4),
    "terrain": lambda: tb.Grid(GAPS * [[1, 2.5, 3, 9]]),
    "steep terrain": lambda: tb.Grid(GAPS * [[1, 90, 3, 400]]),
    "graph": lambda: tb.Graph([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.5, 1.0, 7.0], directed=False, nodes=5),
    "fine graph": lambda: tb.Graph([0, 1, 2], [1, 2, 3], [1e-7, 2e-7, 1e-7], directed=False),
    "one-way graph": lambda: tb.Graph([0, 1, 2, 0], [1, 2, 0, 3]),
    "named graph": lambda: tb.Graph([0, 1], [1, 2], directed=False, labels=["inn", "mi\nll", (3, "ford")]),
    "puzzle": lambda: tb.TilePuzzle(2, 2),
}
POINTS: dict[str, list[Any]] = {
    "grid": [(r, c) for r in range(4) for c in range(4)],
    "graph": [0, 1, 2, 3, 4, np.int64(2)],
    "named graph": ["inn", "mi\nll", (3, "ford")],
    "puzzle": [(0, 1, 2, 3), (1, 0, 2, 3), (1, 3, 2, 0), (0, 1, 3, 2), [2, 1, 0, 3]],
}


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """Throw ``count`` inputs at the public functions and at the command line."""
    lines = int(count * _COMMAND_LINES)
    for _ in range(count - lines):
        _call(tally, random)
    with tempfile.TemporaryDirectory() as folder:
        back = Path.cwd()
        os.chdir(folder)
        try:
            _furnish(Path(folder))
            for _ in range(lines):
                _command(tally, random)
        finally:
            os.chdir(back)


def _one(random: Draw, values: Any) -> Any:
    return values[int(random.integers(len(values)))]


def _either(random: Draw, right: Any, wrong: float = 0.2) -> Any:
    """Mostly the right value."""
    return _one(random, ABSURD) if random.random() < wrong else right


def _spec(random: Draw) -> Any:
    if random.random() < 0.05:
        return _one(random, ABSURD)
    names = list(REGISTRY)
    if random.random() < 0.1:
        names = [*SAME, *FAMOUS, *(name.upper() for name in REGISTRY), *(name[:-1] for name in REGISTRY)]
    name = _one(random, names)
    known = REGISTRY[name].parameters if name in REGISTRY else ()
    parts = []
    for parameter in known:
        if random.random() < 0.5:
            continue
        if parameter.choices:
            right: Any = _one(random, parameter.choices)
        elif parameter.kind is bool:
            right = _one(random, ("true", "FALSE", "False"))
        else:
            low, high = parameter.low or 0.0, parameter.high or 100.0
            right = _one(random, (low, high, parameter.default, low + (high - low) * random.random() ** 6))
            right = int(right) if parameter.kind is int else right
        parts.append(f"{parameter.name}={_text(_either(random, right, 0.04))}")
    if random.random() < 0.05:
        parts.append(_one(random, ("weight=2", "=", "x", "depth", "weight=2,weight=3", "commit=soon", ",", "ä=ö")))
    return name + (":" if parts or random.random() < 0.02 else "") + ",".join(parts)


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:
        return "9" * 5000


def _budget(random: Draw) -> Any:
    sizes = (None, 1, 2, 10, 10_000, 10**18, (1 << 60) - 1, 1 << 60, "5", "2ms", "0.01us", "1e-300ms", "86399999ms")
    return _either(random, _one(random, sizes), 0.15)


def _point(random: Draw, kind: str) -> Any:
    own = kind if kind in POINTS else "grid" if "grid" in kind or "terrain" in kind else "graph"
    right = _one(random, POINTS[own])
    return _either(random, right, 0.08)


def _world(random: Draw) -> tuple[str, Any]:
    kind = _one(random, list(WORLDS))
    return kind, WORLDS[kind]()


def _call(tally: Tally, random: Draw) -> None:
    """One call of a public function."""
    kind, world = _world(random)
    given = _either(random, world, 0.03)
    spec, budget, start, goal = _spec(random), _budget(random), _point(random, kind), _point(random, kind)
    more: dict[str, Any] = {"budget": budget, "move_limit": 60}
    if random.random() < 0.2:
        more["commit"] = _either(random, _one(random, (1, 2, 50, (1 << 60) - 1)), 0.4)
    if random.random() < 0.1:
        more["move_limit"] = _either(random, _one(random, (1, 5, 60)), 0.5)
    if random.random() < 0.15:
        more["database"] = _one(random, (None, *ABSURD))
    elif "knn" in _shown(spec) and hasattr(world, "shape") and random.random() < 0.9:
        more["database"] = tb.SubgoalDatabase.empty(world)
    unending = isinstance(more["move_limit"], int) and more["move_limit"] > 10**6
    what = f"{kind}, {_shown(given)}, {_shown(spec)}, {_shown(start)} to {_shown(goal)}, {_shown(more)}"
    match int(random.integers(11)):
        case 0 | 1 | 2:
            agent = tally.judge(f"agent({what})", lambda: tb.agent(spec, given, start, goal, **more))
            if agent is not None:
                _walk(tally, random, what, agent)
        case 3 | 4:
            if random.random() < 0.3:
                more["optimal"] = _either(random, _one(random, (None, "compute", 3.5)), 0.3)
            if random.random() < 0.3:
                right = tb.RandomChanges(float(random.uniform(1, 100)), every=int(random.integers(1, 9)))
                more["changes"] = _either(random, right, 0.4)
            if not unending:
                result = tally.judge(f"solve({what})", lambda: tb.solve(given, start, goal, spec, **more))
                if result is not None and "changes" not in more:
                    _check(tally, what, world, result)
        case 5:
            more["trials"] = _either(random, 3, 0.3)
            if not unending and not (isinstance(more["trials"], int) and more["trials"] > 1000):
                tally.judge(f"converge({what})", lambda: tb.converge(given, start, goal, spec, **more))
        case 6:
            path: Any = [_point(random, kind) for _ in range(int(random.integers(0, 5)))]
            path = _either(random, path, 0.2)
            ends = {name: _point(random, kind) for name in ("start", "goal") if random.random() < 0.4}
            tally.judge(
                f"validate({kind}, {_shown(given)}, {_shown(path)}, {_shown(ends)})",
                lambda: tb.validate(given, path, **ends),
            )
        case 7:
            n, seed = _either(random, 2, 0.2), _either(random, 1, 0.2)
            cost = _either(random, _one(random, (None, (0, 9), (1, 2))), 0.3)
            if not (isinstance(n, int) and n > 1000):
                tally.judge(
                    f"problems({kind}, {_shown(given)}, {_shown(n)}, seed={_shown(seed)}, cost={_shown(cost)})",
                    lambda: list(tb.problems(given, n, seed=seed, cost=cost)),
                )
        case 8:
            options = {name: _either(random, 3, 0.4) for name in ("every", "seed") if random.random() < 0.7}
            rate = _either(random, 5.0, 0.5)
            tally.judge(f"RandomChanges({_shown(rate)}, {_shown(options)})", lambda: tb.RandomChanges(rate, **options))
        case 9:
            ways = {
                "of": lambda: tb.Budget.of(budget),
                "expansions": lambda: tb.Budget(expansions=budget),
                "milliseconds": lambda: tb.Budget(milliseconds=budget),
                "both": lambda: tb.Budget(budget, budget),
            }
            way = _one(random, list(ways))
            tally.judge(f"Budget, {way}: {_shown(budget)}", ways[way])
        case _:
            found = tally.judge(f"parse_spec({_shown(spec)})", lambda: parse_spec(spec))
            if found is not None and parse_spec(str(found)).algorithm is not found.algorithm:
                tally.blame(f"parse_spec({_shown(spec)})", f"reads back as {found}")


def _walk(tally: Tally, random: Draw, what: str, agent: Any) -> None:
    """A few ticks of an agent that was accepted."""
    for _ in range(_TICKS):
        before = agent.position
        ticks = _either(random, 1, 0.2)
        if random.random() < 0.3 and not isinstance(ticks, type(None)):
            tally.judge(f"run({_shown(ticks)}) of {what}", lambda ticks=ticks: agent.run(ticks))
        elif random.random() < 0.1 and not (isinstance(ticks, int) and ticks > 1000):
            tally.judge(f"wait({_shown(ticks)}) of {what}", lambda ticks=ticks: agent.wait(ticks))
        else:
            here = tally.judge(f"step of {what}", agent.step)
            if here is not None and here != before:
                tally.moves += 1
                tally.judge(
                    f"a step of {what}", lambda before=before, here=here: tb.validate(agent.world, [before, here])
                )
        if agent.done:
            break
    tally.judge(f"result of {what}", agent.result)


def _check(tally: Tally, what: str, world: Any, result: Any) -> None:
    """A result is what it says."""
    tally.moves += result.moves
    try:
        legal = tb.validate(world, result.path)
    except tb.Error as error:
        tally.blame(f"solve({what})", f"walked a path that is not legal: {error}")
        return
    if legal.cost != result.cost:
        tally.blame(f"solve({what})", f"cost {result.cost}, but the path costs {legal.cost}")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:
        text = "(with a number of thousands of digits)"
    return text if len(text) < 200 else f"{text[:150]} ..."


# ------------------------------------------------------------------------------------------- command lines


def _furnish(folder: Path) -> None:
    """Files to be named on a command line."""
    header = "type octile\nheight 3\nwidth 5\nmap\n"
    (folder / "good.map").write_text(header + ".....\n.@@@.\n....@\n")
    (folder / "walls.map").write_text(header + 3 * "@@@@@\n")
    (folder / "short.map").write_text(header + ".....\n")
    (folder / "empty.map").write_text("")
    (folder / "good.map.scen").write_text("version 1\n0\tgood.map\t5\t3\t0\t0\t4\t0\t4.0\n")
    (folder / "good.gr").write_text("p sp 4 4\na 1 2 7\na 2 1 9\na 2 3 1\na 3 1 1\n")
    (folder / "text.png").write_text("no image")
    (folder / "text.npy").write_text("no array")
    (folder / "folder").mkdir()
    np.save(folder / "good.npy", np.ones((3, 4)) * 2)


# What each command wants: files, places and options with right values. None stands for a flag.
FILES = ("good.map", "good.map", "good.gr", "good.npy", "good.map.scen")
NO_FILES = ("walls.map", "short.map", "empty.map", "text.png", "text.npy", "no.map", "folder", "", "ö.map", "a\x1b[31m")
PLACES = ("0,0", "2,0", "0,4", "1", "3", "1,2")
NO_PLACES = ("1,", "a,b", "1,2,3", "-1,0", "9,9", "-1", "", "0.5,0", f"0,{10**30}", "9" * 5000, "٣,1", "(0,0")
NO_VALUES = (
    "",
    "x",
    "-1",
    "0",
    "1.5",
    "nan",
    "inf",
    str(10**30),
    "9" * 5000,
    "ä",
    "1e400ms",
    "\n",
    "-",
    "--",
    "a*:x=1",
)
SPECS = ("a*", "tba*", "lrta*", "k-lrta*:commit=frontier", "ribs", "gbfs", "wa*:weight=3")
EPISODE = {"--commit": ("1", "3"), "--move-limit": ("50",), "--change-rate": ("5",), "--change-every": ("3",)}
COMMANDS: dict[str, tuple[int, int, dict[str, tuple[str, ...] | None]]] = {
    "solve": (
        1,
        2,
        {
            "-a": SPECS, "--budget": ("5", "1ms"), "--optimal": None, "--corners": ("one",), "--connectivity": ("4",),
            "--diagonal": ("1.5",), "--png": ("walk.png",), "--seed": ("3",), "--json": None, **EPISODE,
        },
    ),
    "bench": (
        1,
        0,
        {
            "-a": SPECS, "--budget": ("5", "2,9"), "--problems": ("2",), "--seed": ("1",), "--cost": ("1:5",),
            "--csv": ("runs.csv",), "--non-optimal": None, "--recompute": None, "--json": None, **EPISODE,
        },
    ),
    "maps generate": (
        0,
        0,
        {
            "-o": ("made.map",), "--size": ("9",), "--shape": ("7x9",), "--seed": ("1",), "--density": ("0.2",),
            "--room": ("3",), "--doors": ("0.5",), "--fill": ("0.4",), "--json": None,
        },
    ),
    "maps info": (1, 0, {"--json": None}),
    "maps scale": (1, 0, {"-o": ("larger.map",), "--json": None}),
    "algorithms": (0, 0, {"--json": None}),
    "": (0, 0, {"--version": None, "--help": None}),
    "maps": (0, 0, {"--help": None}),
}  # fmt: skip


def _words(random: Draw) -> list[str]:
    command = _one(random, list(COMMANDS))
    files, places, options = COMMANDS[command]
    words = command.split()
    if random.random() < 0.03:
        words = [_one(random, ("sovle", "map", "--verbose", "ä", "", "help", "solve bench"))]
    move_limit = False
    for _ in range(files):
        words.append(_one(random, FILES if random.random() < 0.8 else NO_FILES))
    if command == "maps generate":
        words.append(_one(random, ("random", "rooms", "maze", "caves", "corner", "cave", "")))
    if command == "maps scale":
        words.append(_one(random, ("1", "2", "0", "-1", "x", "1.5")))
    for _ in range(places):
        words.append(_one(random, PLACES if random.random() < 0.85 else NO_PLACES))
    for option, values in options.items():
        wanted = option in ("-o", "--size") or (option == "--problems" and command == "bench")
        if random.random() > (0.9 if wanted else 0.2):
            continue
        move_limit |= option == "--move-limit"
        words.append(option)
        if values is not None:
            wrong = random.random() < 0.1
            # A number that is right but huge would only mean a long wait.
            absurd = [value for value in NO_VALUES if not (value.isdigit() and option in ("--size", "--problems"))]
            words.append(_one(random, absurd if wrong else values))
    if command in ("solve", "bench") and not move_limit and random.random() < 0.9:
        words += ["--move-limit", "200"]
    if random.random() < 0.05:
        words.insert(int(random.integers(len(words) + 1)), _one(random, (*NO_VALUES, "--png", "--json", "-a")))
    return words


def _command(tally: Tally, random: Draw) -> None:
    words = _words(random)
    out, err = io.StringIO(), io.StringIO()

    def call() -> int:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return cli.main(words)

    what = "timebound " + _shown(words)
    code = tally.judge(what, call)
    complaint = err.getvalue()
    if code is None:
        return
    if code not in (0, 1, 2):
        tally.blame(what, f"exit code {code}")
    if "Traceback" in complaint or "Traceback" in out.getvalue():
        tally.blame(what, "a traceback")
    if code == 2 and not complaint.startswith("usage: ") and (complaint.count("\n") != 1 or out.getvalue()):
        tally.blame(what, f"not one line: {complaint!r}, after {out.getvalue()[:100]!r}")
    if code == 2 and "[31m" in complaint and "\x1b" in complaint:
        tally.blame(what, "prints a terminal escape")
