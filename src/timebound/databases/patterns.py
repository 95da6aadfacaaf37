"""Pattern databases: for each pair of regions where to go first, and how deep to look (Bulitko et al. 2008).

The world is divided into regions by clique abstraction (``worlds/abstraction.py``). Each region has a representative:
of its states that nearest to its middle. For each region of a goal one Dijkstra search, from the representative, gives
a whole row of the table:

* ``goal=pdb``: the first state outside of a region on an optimal way from its representative to the goal's;
* ``depth=pdb``: the least depth, up to ``cap``, at which LRTA*, having learned nothing, sets out on an optimal way.

The *base* of a table is the world that LRTA* runs on: for D LRTA* the world itself, for PR LRTA* a level of its
abstraction, whose nodes are divided into the regions of the same level or of one above.

Nothing is drawn at random, and a row depends on its goal alone. So the file does not depend on the number of workers,
nor on how often the work was interrupted.

Chosen where the paper is silent: where there is no way, the depth is 1; in the goal's own region the entry is the
representative itself, at a depth of 1.

The plain version: ``tests/naive/patterns.py``.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DatabaseError, WorldError
from ..kernels.heuristic_values import new_values
from ..kernels.layout import GROW, PAUSED
from ..kernels.lookahead import LOOK, new_space
from ..kernels.pattern_tables import PatternTable, first_outside, label_depths
from ..kernels.shortest_paths import tree_from
from ..kernels.tables import worn_out
from ..kernels.ticks import new_clock
from ..kernels.views import VECTOR
from ..kernels.workspace import Workspace, new_record
from ..parameters import Parameter
from ..text import some
from ..worlds import abstraction
from ..worlds.abstraction import Abstraction
from ..worlds.grid import Grid
from .files import frozen
from .kinds import DatabaseKind, Options, Stored, rules_of
from .parts import Part, Workshop

__all__ = ["LEVEL_PATTERNS", "PATTERNS", "LevelPatternDatabase", "PatternDatabase", "Patterns"]

DEPTHS = ("fixed", "pdb", "tree", "oracle")
GOALS = ("global", "pdb")
HIGHEST, DEEPEST = 30, 1000
ROWS, PART_BYTES = 64, 1 << 21  # of a part, at most
_COLUMNS: dict[str, type[np.generic]] = {"goals": np.int32, "depths": np.uint16}  # of a finished part
_COPIES = 5  # of a table, in memory while its file is written
_MARGIN = 0.9  # of what is free may be used
_PROBES = 4  # rows that a forecast is made of, unless
_PROBED = 1.0  # they take so many seconds
_CHECKED = 1 << 20  # entries looked at at a time


@dataclass(frozen=True)
class Patterns(Stored):
    """A pattern table for one world. ``tb.load_database(file, world)`` opens one; pass it as ``database=``."""

    digest: str
    patterns: PatternTable
    settings: dict[str, Any]
    rules: tuple[Any, ...]  # the size of the map, and how one may move on it

    @classmethod
    def of_arrays(
        cls, digest: str, settings: dict[str, Any], rules: tuple[Any, ...], arrays: Mapping[str, np.ndarray]
    ) -> Patterns:
        """A database from the arrays of its file."""
        return cls(digest, frozen(PatternTable(**arrays)), settings, rules)

    def __len__(self) -> int:
        return int(self.patterns.count[0])

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.patterns)

    @property
    def states(self) -> int:
        """Entries, one for each pair of regions: a state to go to, or a depth, or both."""
        return len(self) ** 2

    def fits(self, world: Any) -> bool:
        """Whether its states are states of this world, which may have been edited since."""
        return self.rules == rules_of(world)

    def summary(self) -> str:
        """What is in it, in words."""
        held = [name for name in ("goals", "depths") if len(getattr(self.patterns, name))]
        return f"{' and '.join(held) or 'nothing'} for all pairs of {some(len(self), 'region')}"

    def remark(self) -> str | None:
        """How often a deeper lookahead than the cap would have been needed."""
        depths, cap = self.patterns.depths, self.settings.get("cap", 0)
        share = float((depths == cap).mean()) if len(depths) and cap > 1 else 0.0
        return f"in {share:.1%} of the entries the depth is the cap, {cap}" if share >= 0.001 else None

    def facts(self) -> dict[str, Any]:
        """What it was made with, how many regions there are, and how deep agents will look."""
        depths = self.patterns.depths
        return {**self.settings, "regions": len(self), "mean_depth": float(depths.mean()) if len(depths) else None}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {some(len(self), 'region')}, {self.nbytes / 1e6:.2f} MB>"


# Two types, for the states of one are not those of the other: each algorithm takes its own only.


class PatternDatabase(Patterns):
    """Its states are those of the world itself."""


class LevelPatternDatabase(Patterns):
    """Its states are the nodes of a level of the world's abstraction."""


# --- which table is asked for ----------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What every row of a table is made from."""

    region: np.ndarray  # int32[states of the base]: the region of each; -1 for walls
    representatives: np.ndarray  # int64[regions]: a state of the base for each


def _levels(options: Mapping[str, Any]) -> tuple[int, int]:
    """The level that is the base, and that of the regions."""
    if "above" not in options:
        return 0, options["level"]
    return options["level"], options["above"] or options["level"]


def _abstracted(world: Any, options: Mapping[str, Any]) -> Abstraction:
    """The abstraction of a world, if it has the levels asked for.

    That of an edited world depends on how it came about. A table does not: it is made for the world as it is now.
    """
    found = Abstraction(world) if world.view.edited[0] else Abstraction.of(world)
    highest = max(_levels(options))
    if highest > found.height:
        raise WorldError(
            f"this map has no level {highest}: the highest is {found.height}"
            if found.height
            else "no two states of this map can be joined into a region"
        )
    return found


def _bytes(abstracted: Abstraction, options: Mapping[str, Any], level: int) -> int:
    """Of a table whose regions are those of a level."""
    entry = 4 * (options["goal"] == "pdb") + 2 * (options["depth"] == "pdb")
    return 4 * abstracted.world(_levels(options)[0]).states + 8 + entry * abstracted.count(level) ** 2


def _refuses(world: Any) -> str | None:
    refusal = abstraction.refuses(world)
    if refusal is None and getattr(world.view, "kind", None) == VECTOR:
        refusal = "pattern databases are for graphs whose heuristic is not a vector for each goal"
    return refusal


def _unfit(world: Any, options: Options) -> str | None:
    base, level = _levels(options)
    if level < base:
        return f"above is a level from {base}, where LRTA* runs, upwards, not {level}; 0: the same"
    if not _needed(options):
        return f"with depth={options['depth']} and goal={options['goal']} nothing is looked up"
    free = _free_memory()
    return None if free is None else _too_large(world, options, _COPIES, free, "of memory")


def _too_large(world: Any, options: Options, copies: int, free: int, what: str) -> str | None:
    """Why so many copies of a table are too much for what is free; None if they are not."""
    abstracted, level = _abstracted(world, options), _levels(options)[1]

    def needs(level: int) -> int:
        return copies * _bytes(abstracted, options, level)

    if needs(level) <= _MARGIN * free:
        return None
    levels = range(level + 1, abstracted.height + 1)
    better = next((higher for higher in levels if needs(higher) <= _MARGIN * free), None)
    name = "above" if "above" in options else "level"
    return (
        f"a table of the {some(abstracted.count(level), 'region')} of level {level} has "
        f"{_size(_bytes(abstracted, options, level))}, and making it takes {_size(needs(level))} {what}, "
        f"where {_size(free)} are free; "
        + (f"no {name} of this map would do" if better is None else f"{name}={better} would do")
    )


def _size(count: int) -> str:
    unit, size = ("GB", 1e9) if count >= 1e9 else ("MB", 1e6) if count >= 1e6 else ("KB", 1e3)
    return f"{count / size:,.1f} {unit}"


def _free_memory() -> int | None:
    """Bytes that can be had without pushing others out; None if the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _check_disk(world: Any, options: Options, folder: Path) -> None:
    """There must be room for the parts that are missing, and then for the file."""
    try:
        there = sum(part.stat().st_size for part in folder.glob("*.part"))
        free = shutil.disk_usage(folder).free + there
    except OSError:
        return  # it will say so itself
    refusal = _too_large(world, options, 2, free, "on disk")
    if refusal is not None:
        raise DatabaseError(refusal)


def _forecast(world: Any, options: Options) -> str:
    """The size, and the time by that of a few rows."""
    abstracted, (base, level) = _abstracted(world, options), _levels(options)
    count = abstracted.count(level)
    maker = Maker(abstracted.world(base), _plan(abstracted, base, level), options)
    try:
        maker.row(count // 2)  # what is compiled, and touched first, takes longer
        began, rows = time.thread_time(), 0
        while rows < min(_PROBES, count) and time.thread_time() - began < _PROBED:
            maker.row((2 * rows + 1) * count // (2 * _PROBES))
            rows += 1
        seconds = (time.thread_time() - began) / rows * count
    finally:
        maker.close()
    unit, length = ("s", 1) if seconds < 100 else ("min", 60) if seconds < 6000 else ("h", 3600)
    took = f"{max(seconds / length, 1):.0f} {unit}"
    size = _size(_bytes(abstracted, options, level))
    return f"a table for {some(count, 'region')}, {size}: about {took} of work for one core"


# --- making ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Rows that are made at a time, and with what."""

    number: int
    first: int  # the number of its first goal region
    last: int  # and of the one after the last
    depth: str
    goal: str
    cap: int

    @property
    def work(self) -> dict[str, Any]:
        return asdict(self)

    def sizes(self, regions: int) -> tuple[int, int]:
        """How many goals and how many depths it has."""
        entries = (self.last - self.first) * regions
        return entries * (self.goal == "pdb"), entries * (self.depth == "pdb")


def _plan(abstracted: Abstraction, base: int, level: int) -> Plan:
    region, representatives = abstracted.regions(level, base), abstracted.representatives(level, base)
    return frozen(Plan(region.astype(np.int32), representatives.astype(np.int64)))


def _make(world: Any, options: Options, workshop: Workshop) -> Mapping[str, np.ndarray]:
    if workshop.folder is not None:
        _check_disk(world, options, workshop.folder)
    abstracted, (base, level) = _abstracted(world, options), _levels(options)
    plan = _plan(abstracted, base, level)
    count = len(plan.representatives)
    rows = max(1, min(ROWS, PART_BYTES // (6 * count)))
    made_with = {name: options[name] for name in ("depth", "goal", "cap")}
    todo = [
        Block(number, first, min(first + rows, count), **made_with)
        for number, first in enumerate(range(0, count, rows))
    ]
    # Whoever makes a row needs only the base, and not the world that it was abstracted from.
    parts = replace(workshop, world=abstracted.world(base)).parts(
        _make_block,
        todo,
        plan,
        columns=_COLUMNS,
        fits=lambda base, block, part: _fits(plan, block, part),
        count=("regions", lambda block: block.last - block.first),
    )
    made = {name: np.concatenate([part[name] for part in parts]) for name in _COLUMNS}
    return PatternTable(plan.region, np.array([count]), **made)._asdict()


def _make_block(base: Any, plan: Plan, block: Block) -> Part:
    """Some rows of the table."""
    maker = Maker(base, frozen(plan), block.work)  # which it is no more in another process
    try:
        rows = [maker.row(goal) for goal in range(block.first, block.last)]
    finally:
        maker.close()
    return {name: np.concatenate([row[k] for row in rows]) for k, name in enumerate(_COLUMNS)}


def _fits(plan: Plan, block: Block, part: Part) -> bool:
    """Whether a part can be that of a block."""
    goals, depths = (part[name] for name in _COLUMNS)
    count = len(plan.representatives)
    right = (len(goals), len(depths)) == block.sizes(count)
    return right and _leads_out(plan.region, goals, block.first, count) and _within(depths, block.cap)


class Maker:
    """Makes rows in one thread."""

    def __init__(self, base: Any, plan: Plan, options: Mapping[str, Any]) -> None:
        self._world, self._plan, self._options = base, plan, options
        self._workspace = Workspace.of(base)
        self._values, self._look, self._clock = new_values(bits=4), new_record(LOOK), new_clock()
        self._space = new_space(4096, 0)

    def close(self) -> None:
        self._workspace.release()

    def row(self, goal: int) -> tuple[np.ndarray, np.ndarray]:
        """The goals and the depths of all regions for one region of the goal; of what is not asked for, none."""
        root = int(self._plan.representatives[goal])
        search = tree_from(self._world.view, self._workspace, root)
        tree = self._world.view, self._workspace.table, search
        goals = np.empty(len(self._plan.representatives), np.int32)
        first_outside(*tree, *self._plan, goals)
        depths = np.empty(0, np.uint16)
        if self._options["depth"] == "pdb":
            towards = goals if self._options["goal"] == "pdb" else np.where(goals >= 0, np.int32(root), np.int32(-1))
            depths = self._depths(tree, towards)
        return goals if self._options["goal"] == "pdb" else goals[:0], depths

    def _depths(self, tree: tuple[Any, Any, Any], towards: np.ndarray) -> np.ndarray:
        depths, stage = np.empty(len(towards), np.uint16), np.zeros(2, np.int64)
        status = PAUSED
        while status in (GROW, PAUSED):  # after a pause: an interrupt may come in between
            if status == GROW:
                more = 1 if worn_out(self._space.table) else 2
                self._space = new_space(more * len(self._space.h), 0)
            looking = self._values, self._space, self._look, self._options["cap"]
            status = label_depths(*tree, self._plan.representatives, towards, *looking, depths, stage, self._clock)
        return depths


# --- opening ---------------------------------------------------------------------------------------------------------


def _fault(
    options: tuple[Parameter, ...], world: Any, settings: dict[str, Any], arrays: dict[str, np.ndarray]
) -> str | None:
    """What kernels take for granted: numbers in range, and goals that are free and lie outside of where one is."""
    known = {option.name: option for option in options}
    if set(settings) != set(known) or any(_out_of_range(known[name], value) for name, value in settings.items()):
        return "it does not say what it was made with"
    if {name: array.dtype for name, array in arrays.items()} != _DTYPES:
        return "it does not hold the arrays of a pattern database"
    table = PatternTable(**arrays)
    try:
        level = _levels(settings)[0]
        base = _abstracted(world, settings).world(level) if level else world
    except WorldError:
        return "it is for a level that there is not"
    if len(table.count) != 1 or not 0 <= table.count[0] <= base.states:
        return "it does not say how many regions there are"
    count, region = int(table.count[0]), table.region
    if len(region) != base.states or (len(region) and not -1 <= int(region.min()) <= int(region.max()) < count):
        return "it does not have a region for each state"
    if isinstance(base, Grid) and (region[base.free_by_state == 0] >= 0).any():
        return "it takes walls for parts of regions"
    sizes = count**2 * (settings["goal"] == "pdb"), count**2 * (settings["depth"] == "pdb")
    if (len(table.goals), len(table.depths)) != sizes:
        return "it does not have an entry for each pair of regions"
    if not _leads_out(region, table.goals, 0, count):
        return "it leads to where no other region is"
    return None if _within(table.depths, settings["cap"]) else "its depths are not those that it was made with"


_DTYPES: dict[str, type[np.generic]] = {"region": np.int32, "count": np.int64, **_COLUMNS}


def _out_of_range(option: Parameter, value: Any) -> bool:
    """Whether a setting from a file is none that ``prepare`` would have taken."""
    if option.choices:
        return value not in option.choices
    return type(value) is not int or not (option.low or 0) <= value <= (option.high or 0)


def _leads_out(region: np.ndarray, goals: np.ndarray, first: int, count: int) -> bool:
    """Whether goals, by rows from that of region ``first`` on, are states of another region; or -1: no way.

    Those of a goal's own region are states of it.
    """
    rows = max(1, _CHECKED // max(count, 1))
    for row in range(0, len(goals) // max(count, 1), rows):
        some_goals = goals[row * count : (row + rows) * count]
        if int(some_goals.min()) < -1 or int(some_goals.max()) >= len(region):
            return False
        there = region[some_goals].reshape(-1, count)
        none = some_goals.reshape(-1, count) < 0
        stays = there == np.arange(count, dtype=np.int32)
        own = np.arange(first + row, first + row + len(there))[:, None] == np.arange(count)
        if ((there < 0) & ~none).any() or (~none & (stays != own)).any() or (none & own).any():
            return False
    return True


def _within(depths: np.ndarray, cap: int) -> bool:
    return len(depths) == 0 or (int(depths.min()) >= 1 and int(depths.max()) <= cap)


def _open(kind: type[Patterns], world: Any, settings: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Patterns:
    return kind.of_arrays(world.digest, settings, rules_of(world), arrays)


# --- the two kinds ---------------------------------------------------------------------------------------------------


def _needed(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["depth"] == "pdb" or parameters["goal"] == "pdb")


def _canonical(options: Options) -> Options:
    """Without depths in it, a table does not depend on what else the depth is, nor on the cap."""
    same = dict(options)
    if same.get("depth", "pdb") != "pdb":
        same |= {"depth": "fixed"} | ({"cap": _CAP} if "cap" in same else {})
    if "above" in same and same["above"] == same.get("level"):
        same["above"] = 0
    return same


def _suffices(asked: Options, made: Mapping[str, Any]) -> bool:
    """Goals serve whatever selects the depth; depths every cap up to their own, towards goals of the same kind."""
    if any(asked[name] != made.get(name) for name in ("level", "above") if name in asked):
        return False
    if asked["goal"] == "pdb" and made["goal"] != "pdb":
        return False
    if asked["depth"] != "pdb":
        return True
    return bool(made["depth"] == "pdb" and made["goal"] == asked["goal"] and made["cap"] >= asked["cap"])


def _empty(kind: type[Patterns], options: tuple[Parameter, ...], world: Any) -> list[Patterns]:
    """No state has a region: an agent then does without. No base has more states than the world."""
    arrays = {name: np.empty(0, dtype) for name, dtype in _DTYPES.items()}
    arrays |= {"region": np.full(world.states, -1, np.int32), "count": np.zeros(1, np.int64)}
    return [_open(kind, world, _canonical({option.name: option.default for option in options}), arrays)]


_CAP = 10
_OPTIONS = (
    Parameter("level", int, 3, "the level of abstraction whose regions it is about", low=1, high=HIGHEST),
    Parameter("cap", int, _CAP, "the most that a depth may be", low=1, high=DEEPEST),
    Parameter("depth", str, "pdb", "pdb: how deep to look is looked up; otherwise it is not stored", choices=DEPTHS),
    Parameter("goal", str, "pdb", "pdb: where to go first is looked up; otherwise it is not stored", choices=GOALS),
)
_LEVEL_OPTIONS = (
    Parameter("level", int, 4, "the level of abstraction that LRTA* runs on", low=1, high=HIGHEST),
    Parameter("above", int, 0, "the level whose regions it is about; 0: the same", low=0, high=HIGHEST),
    Parameter("cap", int, _CAP, "the most that a depth may be", low=1, high=DEEPEST),
    Parameter("depth", str, "fixed", _OPTIONS[2].help, choices=("fixed", "pdb")),
    Parameter("goal", str, "global", _OPTIONS[3].help, choices=GOALS),
)

PATTERNS = DatabaseKind(
    name="d-lrta*",
    noun="pattern database",
    summary="for each pair of regions of the map where to go first, and how deep to look",
    holds=PatternDatabase,
    options=_OPTIONS,
    examples=(
        "a.map --for 'd-lrta*:level=3,cap=30' --jobs 2 -o a.db",
        "a.map --for 'd-lrta*:depth=fixed,level=4,cap=1' -o a.db",
    ),
    refuses=_refuses,
    unfit=_unfit,
    forecast=_forecast,
    make=_make,
    canonical=_canonical,
    settings=_canonical,
    fault=partial(_fault, _OPTIONS),
    open=partial(_open, PatternDatabase),
    empty=partial(_empty, PatternDatabase, _OPTIONS),
    small={},
    suffices=_suffices,
    needed=_needed,
)

LEVEL_PATTERNS = replace(
    PATTERNS,
    name="pr-lrta*",
    noun="level pattern database",
    summary="the same for LRTA* on a level of abstraction",
    holds=LevelPatternDatabase,
    options=_LEVEL_OPTIONS,
    examples=("a.map --for 'pr-lrta*:level=2,above=4,goal=pdb' -o a.db",),
    fault=partial(_fault, _LEVEL_OPTIONS),
    open=partial(_open, LevelPatternDatabase),
    empty=partial(_empty, LevelPatternDatabase, _LEVEL_OPTIONS),
)
