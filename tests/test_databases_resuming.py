"""Making a database, interrupted: finished parts are used again, damaged ones are made anew."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from forking import Forking
from helpers import COMPILED
from small_databases import BOTH_IF_COMPILED, forged, header_and_arrays, rooms, small_work, with_number
from timebound.databases import coverage, files, parts, random_paths

pytestmark = pytest.mark.compiled  # kernels only serve them


def test_finished_parts_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    file = tmp_path / "r.db"
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    whole = file.read_bytes()
    file.unlink()
    make, numbers = random_paths._make_chunk, []

    def stops_after_two(world, chunk):
        if len(numbers) == 2:
            raise KeyboardInterrupt
        numbers.append(chunk.number)
        return make(world, chunk)

    monkeypatch.setattr(random_paths, "_make_chunk", stops_after_two)
    with pytest.raises(KeyboardInterrupt):
        tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert not file.exists()
    with pytest.raises(tb.DatabaseError, match="parts of another database"):
        tb.prepare(world, file, records=20, mode="paths", seed=6)
    numbers.clear()
    monkeypatch.setattr(
        random_paths, "_make_chunk", lambda world, chunk: numbers.append(chunk.number) or make(world, chunk)
    )
    told: list[tuple[int, int, str]] = []
    tb.prepare(world, file, records=20, mode="paths", seed=5, progress=lambda *news: told.append(news))
    assert numbers == [2, 3]
    assert told[0] == (10, 20, "records")
    assert told[-1] == (20, 20, "records")
    assert file.read_bytes() == whole


TELLS = """
import os, sys, timebound as tb
replace = os.replace
def told(*names, **options):
    replace(*names, **options)
    print(1, flush=True)
os.replace = told  # by which every finished part is put into its place
"""
SCRIPT = """
from timebound.databases import random_paths
random_paths.CHUNK["paths"] = 16
world = tb.Grid(tb.generate.rooms((64, 64), room=8, seed=1))
tb.prepare(world, sys.argv[1], records=1500, mode="paths", seed=2, jobs=2)
"""
COVERING = """
world = tb.Grid(tb.generate.rooms((64, 64), room=8, seed=1))
tb.prepare(world, sys.argv[1], records=60, coverage=True, seed=2, jobs=2)
"""


@pytest.mark.skipif(not COMPILED, reason="kills processes; the same code runs above")
@pytest.mark.parametrize("script", [SCRIPT, COVERING], ids=["random", "coverage"])
def test_killed_at_random_moments(script: str, tmp_path: Path) -> None:
    """SIGKILL, again and again; the file is that of a build which was left alone."""
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    with Forking(TELLS + script) as program:
        program.kill_again_and_again(str(broken), whole=program.told(str(whole)))
        program.told(str(broken))
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.skipif(not COMPILED, reason="starts processes; the same code runs above")
def test_a_cluster_that_loses_a_worker(tmp_path: Path, rounds_as_shipped: None) -> None:
    distributed = pytest.importorskip("distributed")
    world = rooms()
    tb.prepare(world, tmp_path / "threads.db", records=1500, mode="paths", seed=2, jobs=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed = []

        def kill_once(done: int, total: int, what: str) -> None:
            if done > 200 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        address = cluster.scheduler_address
        tb.prepare(world, tmp_path / "dask.db", records=1500, mode="paths", seed=2, dask=address, progress=kill_once)
        covering = tb.prepare(world, None, records=60, seed=2, dask=address, coverage=True)
    assert killed
    expected = tb.prepare(world, None, records=60, seed=2, coverage=True)
    assert all(np.array_equal(a, b) for a, b in zip(covering.records, expected.records, strict=True))
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "threads.db").read_bytes()


def test_interrupted_rounds(tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    count = 40 if COMPILED else 12
    file = tmp_path / "r.db"
    tb.prepare(world, file, records=count, seed=5, coverage=True)
    whole = file.read_bytes()
    file.unlink()
    search, numbers = coverage._search, []

    def stops(world, known, one):
        if len(numbers) == coverage.TREES + 1:  # in the second round
            raise KeyboardInterrupt
        numbers.append(one.number)
        return search(world, known, one)

    monkeypatch.setattr(coverage, "_search", stops)
    with pytest.raises(KeyboardInterrupt):
        tb.prepare(world, file, records=count, seed=5, coverage=True)
    with pytest.raises(tb.DatabaseError, match="parts of another database"):
        tb.prepare(world, file, records=count, mode="trees", seed=5)
    monkeypatch.setattr(
        coverage, "_search", lambda world, known, one: numbers.append(one.number) or search(world, known, one)
    )
    tb.prepare(world, file, records=count, seed=5, coverage=True)
    assert numbers == list(range(len(numbers)))  # none was searched twice
    assert file.read_bytes() == whole


def interrupted(file: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
    """Make two of the four parts of a database."""
    make, done = random_paths._make_chunk, []

    def stops_after_two(world: Any, chunk: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(chunk)
        return make(world, chunk)

    with patch.context() as inner:
        inner.setattr(random_paths, "_make_chunk", stops_after_two)
        with pytest.raises(KeyboardInterrupt):
            tb.prepare(rooms(), file, **{"records": 20, "mode": "paths", "seed": 5, **options})


def test_parts_of_other_code_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    file = tmp_path / "r.db"
    with monkeypatch.context() as patch:
        patch.setattr(parts, "CODE", "another")
        interrupted(file, monkeypatch)
    told: list[int] = []
    tb.prepare(rooms(), file, records=20, mode="paths", seed=5, progress=lambda done, *_: told.append(done))
    assert told[0] == 0
    assert not list(tmp_path.glob("*.parts"))


def test_what_is_left_behind_hinders_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake, a kill before the parts were removed, and one while they were."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file, folder = rooms(), tmp_path / "r.db", tmp_path / "r.db.parts"
    for wrong in ({"seed": -1}, {"seed": "x"}, {"jobs": 0}, {"jobs": "two"}):
        with pytest.raises(tb.SpecError, match="at least"):
            tb.prepare(world, file, records=20, mode="paths", **wrong)
    assert not folder.exists()
    folder.mkdir()
    (folder / "plan.json").write_text('{"records": 3}')
    with monkeypatch.context() as patch:
        patch.setattr(parts.shutil, "rmtree", lambda *_, **__: None)
        tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert len(list(folder.glob("*.part"))) == 4
    other = tb.prepare(world, tmp_path / "other.db", records=20, mode="paths", seed=6)
    with monkeypatch.context() as patch:
        patch.setattr(parts.shutil, "rmtree", lambda path, **_: (path / "plan.json").unlink())
        tb.prepare(world, file, records=20, mode="paths", seed=6)
    assert file.read_bytes() == (tmp_path / "other.db").read_bytes()
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert not folder.exists()
    assert file.read_bytes() != (tmp_path / "other.db").read_bytes()
    assert len(other) == 20


def killed(world: tb.Grid, file: Path, covers: bool, patch: pytest.MonkeyPatch) -> Path:
    """All parts of a database, and no file: as if it had been killed just before the end. Returns their folder."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with patch.context() as inner:
        inner.setattr(files, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            small_work(world, file, covers)
    return file.with_name(file.name + ".parts")


def parts_of(folder: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in sorted(folder.glob("*.part"))}


@BOTH_IF_COMPILED
def test_damaged_parts_are_made_anew(
    covers: bool, tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever has become of a part: it alone is made again, and the file is as if nothing had happened."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    small_work(world, file, covers)
    whole = file.read_bytes()
    file.unlink()
    folder = killed(world, file, covers, monkeypatch)
    parts, plan = parts_of(folder), (folder / "plan.json").read_bytes()
    name, other = list(parts)[:2]
    part = parts[name]
    made: list[int] = []
    make, search = random_paths._make_chunk, coverage._search
    monkeypatch.setattr(random_paths, "_make_chunk", lambda w, chunk: made.append(chunk.number) or make(w, chunk))
    monkeypatch.setattr(coverage, "_search", lambda w, known, one: made.append(one.number) or search(w, known, one))
    header, _ = header_and_arrays(part)
    found = files.unpacked(np.frombuffer(part, np.uint8), name)[1]

    def with_arrays(**changes: np.ndarray) -> bytes:
        return files.packed(header["kind"], header["world"], header["settings"], {**found, **changes})

    cells = "points" if covers else "subgoals"
    for damaged, again in (
        (part, False),
        (with_arrays(), False),
        (b"", True),
        (part[:-1], True),
        (part[: len(part) // 2], True),
        (part[:20], True),
        (part + b"\0", True),
        (b"PK\3\4" + part, True),
        (bytes(len(part)), True),
        (part[:-70] + bytes([part[-70] ^ 1]) + part[-69:], True),
        (parts[other], True),  # a right part in the wrong place
        (forged(part, settings={**header["settings"], "seed": 6}), True),
        (forged(part, settings={**header["settings"], "code": "other"}), True),
        (forged(part, kind="knn-lrta*"), True),
        # Right checksums, and nonsense.
        (with_arrays(**{cells: with_number(found[cells], 0, -1)}), True),
        (with_arrays(**{cells: with_number(found[cells], 0, 2**31 - 1)}), True),
        (with_arrays(**{cells: with_number(found[cells], -1, 0)}), True),
        (with_arrays(**{cells: found[cells][:-1]}), True),
        (with_arrays(lengths=found["lengths"] + 1), True),
        (with_arrays(lengths=with_number(found["lengths"], 0, -1)), True),
        (with_arrays(lengths=found["lengths"][:0]), True),
        (with_arrays(lengths=found["lengths"].astype(np.int64 if not covers else np.int32)), True),
        (with_arrays(more=found["lengths"]), True),
        *(
            (with_arrays(**changes), True)
            for changes in (
                (
                    {"tried": with_number(found["tried"], 0, -1)},
                    {"tried": found["tried"][:0]},
                    {"walked": -found["walked"] - 1},
                    {"walked": found["walked"][::-1] - 1},
                    {"problems": with_number(found["problems"], 1, 0)},
                    {"problems": found["problems"][:-1]},
                )
                if covers
                else ({"starts": with_number(found["starts"], 0, -1)}, {"ends": with_number(found["ends"], -1, 10**9)})
            )
        ),
    ):
        folder.mkdir(exist_ok=True)
        for one, data in parts.items():
            (folder / one).write_bytes(data)
        (folder / "plan.json").write_bytes(plan)
        (folder / name).write_bytes(damaged)
        made.clear()
        small_work(world, file, covers)
        assert made == ([int(name[:6])] if again else [])
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_a_damaged_plan_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell any more what the parts are for, so they go too."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    small_work(world, file, False)
    whole = file.read_bytes()
    file.unlink()
    folder = killed(world, file, False, monkeypatch)
    parts, plan = parts_of(folder), (folder / "plan.json").read_bytes()
    told = json.loads(plan)
    for damaged in (
        b"",
        b"\xff\xfe",
        b"[" * 200_000,
        b"null",
        b"{}",
        b"5",
        b'{"plan": ' + b"9" * 5000 + b"}",
        plan[:-1],
        plan.replace(b'"seed": 5', b'"seed": 7'),
        json.dumps({**told, "plan": 5}).encode(),
        json.dumps({**told, "plan": [["seed", 5]]}).encode(),
        json.dumps({"plan": told["plan"]}).encode(),
        json.dumps(told["plan"]).encode(),  # as it was written without a checksum
        None,
    ):
        folder.mkdir(exist_ok=True)
        for one, data in parts.items():
            (folder / one).write_bytes(data)
        (folder / ".000001.part.0f0f0f0f.part").write_bytes(b"of a process that was killed")
        (folder / "plan.json").unlink(missing_ok=True)
        if damaged is not None:
            (folder / "plan.json").write_bytes(damaged)
        small_work(world, file, False)
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
