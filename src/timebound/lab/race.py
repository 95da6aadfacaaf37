"""Races: algorithms on the reader's own maps, planned, run and recorded as any experiment is.

``tasks.collect`` says which problems, ``Race`` runs them, ``summary`` makes rows of records and text of rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..atomic import write_whole
from ..text import harmless_cell
from ..warmup import ready
from ..workers import Progress
from .database_files import database_for, file_for
from .engine import Commits, not_made, run
from .experiment import Entry, Run, Setting, runs_on
from .store import Memory
from .tasks import Task

__all__ = ["FIELDS", "Race", "write_csv"]

FIELDS = (
    *("map", "digest", "source", "seed", "problem", "start", "goal", "spec"),
    *("status", "algorithm", "budget", "cost", "moves", "waits", "first_move_lag", "expansions"),
    *("learning_expansions", "back_moves", "non_optimal_moves", "back_moves_percent", "revisits", "restarts"),
    *("astray", "planning_seconds", "memory_states", "memory_bytes", "optimal", "suboptimality"),
    *("states_per_move_mean", "states_per_move_median", "states_per_move_max", "microseconds_per_move"),
    *("commit", "move_limit", "change_rate", "change_every", "databases", "non_optimal", "jobs"),
    *("timebound_version", "python_version", "numpy_version", "numba_version", "machine"),
)
"""The fields of ``--json`` and ``--csv``."""


class Race:
    """Every problem of every task for every entry, with the database among the ``databases`` made for its map."""

    def __init__(
        self,
        tasks: Sequence[Task],
        entries: Sequence[Entry],
        setting: Setting = Setting(),  # noqa: B008 (frozen)
        databases: Sequence[str] = (),
    ) -> None:
        self.tasks, self.entries, self.databases = tasks, entries, tuple(databases)
        self.runs: list[Run] = []
        for task in tasks:
            world = task.opened.world
            used = [(e.text, str(e.budget), file_for(world, e.spec, self.databases)) for e in entries]
            self.runs += runs_on(
                task.problems, used,
                world=task.world, digest=task.digest, seed=task.seed, source=task.source, setting=setting,
            )  # fmt: skip

    def get_ready(self) -> None:
        """Load or compile what the runs need, so that no record's time includes it; mistakes are found on the way."""
        for task in self.tasks:
            example = next((problem for problem in task.problems if problem.start != problem.goal), None)
            if example is not None:
                world = task.opened.world
                for entry in self.entries:
                    database = database_for(world, entry.spec, self.databases)
                    ready(world, example.start, example.goal, entry.spec, entry.budget, database)

    def run(
        self,
        commits: Commits | None = None,
        *,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> list[dict[str, Any]]:
        """Make what is not kept yet; the rows of all runs, in their order whatever the number of ``jobs``.

        Jobs are threads, since kernels release the GIL; with more than one, threads wait for each other and times are
        no longer honest.
        """
        commits = commits or Commits(Memory())
        todo = not_made(commits.keeper, self.runs)
        before = len({one.key for one in self.runs}) - len(todo)
        for _ in run(todo, commits, jobs=jobs, strict=True, before=before, progress=progress):
            pass
        return self.rows(commits.rows())

    def rows(self, kept: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Of what is kept the rows of this race, in the order of its runs.

        A row may come from another race; what its key leaves open is then as this one says.
        """
        by_key = {row["key"]: row for row in kept if row["error"] is None}
        return [_as_planned(by_key[one.key], one) for one in self.runs if one.key in by_key]

    def records(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows with the fields that the command line tells, and places as numbers."""
        found = []
        for row in rows:
            own = {"start": _place(row["start"]), "goal": _place(row["goal"]), "databases": self.databases}
            found.append({name: own[name] if name in own else row[name] for name in FIELDS})
        return found


def _as_planned(row: Mapping[str, Any], one: Run) -> dict[str, Any]:
    best, ratio = one.problem.optimal, None
    if best is not None and row["status"] == "reached":
        ratio = row["cost"] / best if best > 0 else 1.0
    return {
        **row,
        "map": one.world.name,
        "source": one.source,
        "seed": one.seed,
        "problem": one.number,
        "spec": one.spec,
        "optimal": best,
        "suboptimality": ratio,
    }


def _place(text: str) -> list[int] | int:
    """A place as JSON has it.

    >>> _place("3,4"), _place("17")
    ([3, 4], 17)
    """
    numbers = [int(word) for word in text.split(",")]
    return numbers if len(numbers) > 1 else numbers[0]


def write_csv(path: str | Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The records as a table, one line each, whole or not at all; places are written row,col."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            places = {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in record.items()}
            writer.writerow({name: harmless_cell(value) for name, value in places.items()})
    write_whole(path, text.getvalue())
