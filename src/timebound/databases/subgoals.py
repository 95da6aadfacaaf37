"""Subgoal databases for kNN LRTA*: optimal paths, compressed into a few subgoals each.

A record is a path's start and end, and the subgoals between: states that a greedy agent can climb to one after the
other. The paths are those that are missing (coverage.py), in a form in which any part of a record is found; or, as
published, those between random states (random_paths.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SpecError
from ..kernels.coverage_records import CoverageRecords, no_coverage_records
from ..kernels.subgoal_records import SubgoalRecords
from ..kernels.workspace import Pool
from ..parameters import Parameter
from ..worlds.grid import Grid
from .checks import fault
from .coverage import covering
from .files import frozen
from .kinds import DatabaseKind, Options, Stored, rules_of
from .parts import Workshop
from .random_paths import CLIMB_LIMIT, MODES, between_random_states

__all__ = ["SUBGOALS", "SubgoalDatabase"]

COVERAGE = "coverage"
MANY, FEW = 10_000, 1_000  # records if nothing is said: random ones, and with coverage


@dataclass(frozen=True)
class SubgoalDatabase(Stored):
    """Records for one world. ``tb.load_database(file, world)`` opens one; pass it as ``database=``."""

    digest: str
    records: SubgoalRecords | CoverageRecords
    settings: dict[str, Any]
    rules: tuple[Any, ...]  # the size of the map, and how one may move on it
    spare: list[Any] = field(default_factory=Pool, compare=False, repr=False)  # room for queries: a pool

    @classmethod
    def of_arrays(
        cls, digest: str, settings: dict[str, Any], rules: tuple[Any, ...], arrays: Mapping[str, np.ndarray]
    ) -> SubgoalDatabase:
        """A database from the arrays of its file."""
        return cls(digest, frozen(_form(settings)(**arrays)), settings, rules)

    @classmethod
    def empty(cls, world: Any, coverage: bool = False) -> SubgoalDatabase:
        """One without records: an agent then does without."""
        none = np.empty(0, np.int32)
        found = no_coverage_records() if coverage else SubgoalRecords(none, none, np.zeros(1, np.int32), none)
        return cls(world.digest, frozen(found), {"records": 0, "coverage": coverage}, rules_of(world))

    def __len__(self) -> int:
        return len(self.records.first) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.records)

    @property
    def states(self) -> int:
        """States stored: starts, ends and subgoals."""
        if isinstance(self.records, CoverageRecords):
            return len(self.records.points)
        return 2 * len(self) + len(self.records.subgoals)

    def fits(self, world: Any) -> bool:
        """Whether its states are states of this world, which may have been edited since."""
        return self.rules == rules_of(world)

    def summary(self) -> str:
        """What is in it, in words."""
        if isinstance(self.records, CoverageRecords):
            return f"{len(self):,} records with {self.states / max(len(self), 1):.1f} points each"
        return f"{len(self):,} records with {len(self.records.subgoals) / max(len(self), 1):.1f} subgoals each"

    def remark(self) -> str | None:
        """Why there are fewer records than were asked for."""
        if len(self) < self.settings.get("records", 0):
            return "hardly any problem is without a good answer now, so there are no more"
        return None

    def facts(self) -> dict[str, Any]:
        """How many records, and what they were made with, in the words that one asks for them."""
        covers = self.settings.get("coverage", False)
        named = {"mode": COVERAGE} if covers else {}
        return {**self.settings, **named, "coverage": covers, "records": len(self)}

    def __repr__(self) -> str:
        return f"<SubgoalDatabase of {len(self):,} records, {self.nbytes / 1e6:.2f} MB>"


def _refuses(world: Any) -> str | None:
    if not isinstance(world, Grid):
        return "subgoal databases are for grids"
    return "subgoal databases are for grids whose cells all cost the same" if world.terrain else None


def _meant(given: Options) -> Options:
    """Coverage if nothing else is said. It takes its paths from trees, and files say so: ``mode`` trees, ``coverage``.

    To say ``coverage`` alone, or beside trees, was once the only way to ask for it.
    """
    mode = given.get("mode", COVERAGE if given.get("coverage", True) else "trees")
    coverage = given.get("coverage", mode == COVERAGE)
    if mode == COVERAGE and not coverage:
        raise SpecError("mode is coverage, so coverage cannot be false; without it mode is trees or paths")
    amount = {"records": FEW} if coverage else {}
    return {**amount, **given, "mode": "trees" if mode == COVERAGE else mode, "coverage": coverage}


def _unfit(world: Grid, options: Options) -> str | None:
    if options["coverage"] and options["mode"] != "trees":
        return f"coverage takes its paths from trees, so mode is coverage, not {options['mode']!r}"
    return None


def _settings(options: Options) -> dict[str, Any]:
    """Files from before there was coverage do not say that they are without."""
    return {
        name: value for name, value in (options | {"climb_limit": CLIMB_LIMIT}).items() if name != "coverage" or value
    }


def _make(world: Grid, options: Options, workshop: Workshop) -> Mapping[str, np.ndarray]:
    world.parts()  # computed once, before threads ask for it
    records, seed = options["records"], options["seed"]
    found: SubgoalRecords | CoverageRecords
    if options["coverage"]:
        found = covering(world, records, seed, workshop)
    else:
        found = between_random_states(world, records, options["mode"], seed, workshop)
    return found._asdict()


def _form(settings: Mapping[str, Any]) -> type[SubgoalRecords | CoverageRecords]:
    return CoverageRecords if settings.get("coverage") else SubgoalRecords


def _fault(world: Grid, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> str | None:
    form = _form(settings)
    if set(arrays) != set(form._fields):
        return "it does not hold the arrays of a database"
    return fault(form(**arrays), world.free_by_state)


def _open(world: Any, settings: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> SubgoalDatabase:
    return SubgoalDatabase.of_arrays(world.digest, settings, rules_of(world), arrays)


SUBGOALS = DatabaseKind(
    name="knn-lrta*",
    noun="subgoal database",
    summary="optimal paths, each compressed into a few subgoals",
    holds=SubgoalDatabase,
    options=(
        Parameter(
            "records",
            int,
            MANY,
            f"how many to make, with coverage at most (and {FEW} if not said)",
            low=1,
            high=100_000_000,
        ),
        Parameter(
            "mode",
            str,
            COVERAGE,
            "coverage makes only what is still missing, and agents use parts of records, so on most maps a tenth of "
            "them does better; paths are random records as published, by one A* search each, which takes hours; trees "
            "are random ones too, hundreds from each Dijkstra search, in minutes",
            choices=(COVERAGE, *MODES),
        ),
        Parameter("coverage", bool, False, "the same as mode coverage"),
        Parameter("seed", int, 0, "a whole number that chance begins with", low=0),
    ),
    examples=(
        "a.map --for 'knn-lrta*' -o a.db",
        "a.map --for 'knn-lrta*' --records 1000 -o a.db",
        "a.map --for 'knn-lrta*' --mode paths --dask local -o a.db",
    ),
    refuses=_refuses,
    meant=_meant,
    unfit=_unfit,
    make=_make,
    settings=_settings,
    fault=_fault,
    open=_open,
    empty=lambda world: [SubgoalDatabase.empty(world, coverage) for coverage in (False, True)],
    small={"records": 6, "seed": 0},
    amount="records",
    label=lambda made: f"{'coverage' if made['coverage'] else made['mode']}-{made['records']}-seed{made['seed']}",
)
