"""A paper's experiments on the reader's machine: plan, run, report; ours beside theirs, with a verdict for each."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import Error, at_least, nearest
from ..text import some
from ..warmup import warm
from ..workers import Progress, scheduler
from .engine import Commits, code_digest, not_made, run
from .experiment import Run, WorldSource, plan
from .paper import NORMAL, Data, Maps, Paper, nothing
from .papers import PAPERS, TO_COME
from .recipes import Recipe, make, note_of, usable, warm_up
from .report import CANNOT_TELL, Document, Finding, Section, write
from .store import Store
from .summary import made_with

__all__ = ["STEPS", "Outcome", "find", "reproduce"]

STEPS = ("plan", "prepare", "run", "report")
_CHUNK_SECONDS = 2.0  # what a chunk should take, so that a crash costs little and commits cost nothing
_CHUNK_MOST = 2048

Say = Callable[[str], None]


def find(name: str) -> Paper:
    """A paper by its name."""
    if name in TO_COME:
        raise Error(f"the experiments of {name!r} are still to come: {TO_COME[name]}; there are {', '.join(PAPERS)}")
    if name not in PAPERS:
        raise Error(f"there is no paper {name!r}; {nearest(name, PAPERS)}")
    return import_module(f".papers.{name.replace('-', '_')}", __package__).PAPER


@dataclass(frozen=True)
class Outcome:
    """Where a report is, and its verdicts."""

    folder: Path
    runs: int
    verdicts: dict[str, str]
    errors: int


def reproduce(
    paper: Paper,
    folder: str | Path,
    *,
    scale: str = NORMAL,
    maps: Maps | None = None,
    jobs: int = 1,
    dask: str | None = None,
    steps: Sequence[str] = STEPS,
    say: Say = print,
    progress: Progress | None = None,
) -> Outcome:
    """Plan the sweeps, make the databases, run what has not been run, write the report: all in ``folder``."""
    at_least(1, jobs, "jobs is how many threads or workers to use")
    folder, maps = Path(folder), maps or Maps.at(None)
    with Store(folder / "runs.duckdb") as store:
        sweeps = {sweep.name: sweep for sweep in paper.sweeps(scale, maps)}
        if maps.replaced:
            say(f"no maps of {', '.join(maps.replaced)} at hand: generated ones take their place")
        planned: dict[str, list[Run]] = {}
        for number, sweep in enumerate(sweeps.values()):
            if progress is not None:
                progress(number, len(sweeps), "sweeps planned")
            planned[sweep.name] = list(plan(sweep, lambda key, draw: _remembered(store, key, draw)))
        everything = {run.key: run for runs in planned.values() for run in runs}
        todo = not_made(store, everything.values())
        say(f"{paper.name}, {scale}: {len(everything):,} runs, {len(everything) - len(todo):,} of them made before")
        recipes = [(run.digest, run.database, run.world) for run in everything.values()]
        wanted = {(digest, one): world for digest, one, world in recipes if isinstance(one, Recipe)}
        files = folder / "databases"
        # One cluster for all that is to be made: to start workers takes seconds.
        with nullcontext(dask) if dask is None or not todo else scheduler(dask, jobs) as address:
            if "prepare" in steps:
                _prepare(wanted, todo, files, jobs, address, say, progress)
            if "run" in steps and todo:
                _run(store, todo, files, jobs, address, say, progress)
        if "report" not in steps:
            return Outcome(folder, len(everything), {}, 0)
        rows = {row["key"]: row for row in store.rows()}
        data = {name: [rows[run.key] for run in runs if run.key in rows] for name, runs in planned.items()}
        left = len(not_made(store, everything.values()))
        notes = [note_of(recipe.file(files, digest), recipe) for digest, recipe in wanted]
        document = _document(paper, data, [note for note in notes if note], scale, maps, left)
    write(document, folder, lambda _, title: f"figures/{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.svg")
    verdicts = {section.number: section.finding.verdict for section in document.sections}
    return Outcome(folder, len(everything), verdicts, len(document.errors))


def _remembered(store: Store, key: str, draw: Callable[[], Any]) -> Any:
    drawn = store.drawn(key)
    if drawn is None:
        drawn = draw()
        store.keep_drawn(key, drawn)
    return drawn


def _prepare(
    wanted: Mapping[tuple[str, Recipe], WorldSource],
    todo: list[Run],
    folder: Path,
    jobs: int,
    dask: str | None,
    say: Say,
    progress: Progress | None,
) -> None:
    """Make the databases that runs still need, and those that nothing is known about."""
    needed = {(run.digest, run.database) for run in todo}
    missing = {}
    for (digest, recipe), source in wanted.items():
        file = recipe.file(folder, digest)
        if not note_of(file, recipe).get("whole") or (
            (digest, recipe) in needed and not usable(file, source.open(), say)
        ):
            missing[digest, recipe] = source
    if not missing:
        return
    sizes: Counter[str] = Counter()
    for _, recipe in missing:
        sizes[recipe.kind.amount or ""] += recipe.amount or 1
    words = [f"{size:,} {what} in all" for what, size in sizes.items() if what]
    say(", ".join([f"{some(len(missing), 'database')} to make", *words]))
    warm_up(recipe for _, recipe in missing)
    total, done = sizes.total(), 0
    began = time.perf_counter()
    for (digest, recipe), source in missing.items():

        def count(made: int, of: int, what: str, before: int = done, size: int = recipe.amount or 1) -> None:
            if progress is not None:
                progress(before + made * size // max(of, 1), total, what)

        make(
            source.name, source.open(), recipe, recipe.file(folder, digest),
            jobs=jobs, dask=dask, progress=count, say=say,
        )  # fmt: skip
        done += recipe.amount or 1
    say(f"{some(len(missing), 'database')} made in {_duration(time.perf_counter() - began)}")


def _run(
    store: Store, todo: list[Run], files: Path, jobs: int, dask: str | None, say: Say, progress: Progress | None
) -> None:
    needed = {one.database.file(files, one.digest) for one in todo if one.database is not None}
    absent = sum(not file.is_file() for file in needed)
    if absent:
        raise Error(f"{some(absent, 'database')} must be made before the runs: add the step prepare")
    folder = str(files.absolute())
    say("getting the kernels ready")
    warm(kinds=("grid",))  # before any thread or worker asks for them all at once
    # One run of each kind first: they count, and they tell what the rest will take.
    kinds: dict[tuple[Any, ...], list[Run]] = {}
    for one in todo:
        kind = one.spec, one.budget, one.kind, one.setting.change_rate, one.database, one.blocked
        kinds.setdefault(kind, []).append(one)
    seconds: dict[str, float] = {}
    probe = [group[0] for group in kinds.values()]
    commits = Commits(store)
    how: dict[str, Any] = {"jobs": jobs, "dask": dask, "databases": folder, "progress": progress}
    for record in run(probe, commits, size=8, what="kinds of run tried", **how):
        seconds[record["key"]] = record["wall_seconds"]
    each = {kind: seconds[group[0].key] for kind, group in kinds.items()}
    ahead = sum((len(group) - 1) * each[kind] for kind, group in kinds.items())
    tried = {one.key for one in probe}  # one that ended in an error would end so again
    rest = [one for one in not_made(store, todo) if one.key not in tried]
    if not rest:
        return
    say(f"{len(rest):,} runs to make, about {_duration(ahead / jobs)} with {some(jobs, 'job')}")
    size = max(1, min(_CHUNK_MOST, round(_CHUNK_SECONDS * len(rest) / max(ahead, 1e-9))))
    for _ in run(rest, commits, size=size, **how):
        pass


def _document(
    paper: Paper,
    data: Mapping[str, Sequence[Mapping[str, Any]]],
    databases: Sequence[Mapping[str, Any]],
    scale: str,
    maps: Maps,
    left: int,
) -> Document:
    known = Data(data, databases)
    sections = []
    errors = []
    for item in paper.items:
        finding = nothing(item)
        if any(sweep in known for sweep in item.sweeps):
            try:
                finding = item.examine(known)
            except Exception as problem:  # the rest of the report is worth having all the same
                errors.append((f"the rule of {item.number}", f"{type(problem).__name__}: {problem}"))
        if left and finding.verdict != CANNOT_TELL:
            finding = Finding(CANNOT_TELL, finding.because, finding.tables, finding.charts)
        sections.append(Section(item.number, item.title, item.claim, item.rule, finding))
    rows = [row for group in data.values() for row in group]
    errors += [(f"{row['spec']}, budget {row['budget']}, {row['map']}", row["error"]) for row in rows if row["error"]]
    intro = [f"The experiments of {paper.reference}, run by timebound."]
    if maps.replaced:
        intro.append(f"There were no maps of {', '.join(maps.replaced)} at hand: generated ones took their place.")
    if left:
        intro.append(f"This report is not complete: {left:,} runs have not been made.")
    codes = sorted({row["code"] for row in rows if row["code"]})
    if len(codes) > 1:
        intro.append(f"The records come from {len(codes)} versions of the code; a new folder makes them anew.")
    elif codes and codes != [code_digest()]:
        intro.append("The records were made by another version of the code; a new folder makes them anew.")
    maps_used = sorted({row["map"] for row in rows})
    facts = {
        "size": f"{scale}: {len(rows):,} runs on {len(maps_used)} maps",
        "maps": ", ".join(maps_used),
        **made_with(rows),
        "code": ", ".join(codes) + _commit(),
        "search time": f"{_duration(sum(row['planning_seconds'] or 0 for row in rows))} in all",
        "databases": f"{len(databases)} made in {_duration(sum(n['wall_seconds'] or 0 for n in databases))}",
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    if not databases:
        del facts["databases"]
    return Document(f"timebound reproduces {paper.name}", intro, sections, facts, errors)


def _commit() -> str:
    """The commit of the checkout that the code is in, if it is in one."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f", commit {found.stdout.strip()}" if found.returncode == 0 and found.stdout.strip() else ""


def _duration(seconds: float) -> str:
    """
    >>> _duration(75), _duration(9000), _duration(0.3)
    ('1 min 15 s', '2 h 30 min', '1 s')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
