"""Making a database where the disk is full, others write, or nothing can be written."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from helpers import COMPILED
from small_databases import BOTH_IF_COMPILED, rooms, small_work
from timebound import atomic
from timebound.databases import random_paths

pytestmark = pytest.mark.compiled  # kernels only serve them


class FullDisk:
    """Counts what is asked of the disk, and refuses from one call on."""

    def __init__(self, patch: pytest.MonkeyPatch, refuse: int) -> None:
        self.calls, self.refuse = 0, refuse
        for owner, name in ((Path, "write_bytes"), (Path, "replace"), (Path, "mkdir"), (os, "fsync")):
            patch.setattr(owner, name, self._guarded(getattr(owner, name)))
        patch.setattr(atomic, "open", self._guarded(open), raising=False)

    def _guarded(self, call: Any) -> Any:
        def guarded(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls > self.refuse:
                if call.__name__ == "write_bytes":
                    args[0].touch()  # a file that could be made, but not filled
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **options)

        return guarded


@BOTH_IF_COMPILED
def test_a_disk_that_is_full_at_any_moment(
    covers: bool, tmp_path: Path, small_rounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence; what was there is still there, half files are not, finished parts are used the next time."""
    monkeypatch.setitem(random_paths.CHUNK, "paths", 10)
    world, file = rooms(), tmp_path / "r.db"
    with monkeypatch.context() as patch:
        disk = FullDisk(patch, 10**9)
        small_work(world, file, covers)
    whole = file.read_bytes()
    asked = disk.calls
    assert asked > 10
    for refuse in range(0, asked, 1 if COMPILED else 5):
        file.write_bytes(b"what was there before")
        with monkeypatch.context() as patch:
            FullDisk(patch, refuse)
            with pytest.raises(tb.DatabaseError, match="No space left") as refusal:
                small_work(world, file, covers)
        assert "\n" not in str(refusal.value)
        assert file.read_bytes() == b"what was there before"
        left = {path.name for path in tmp_path.rglob("*")} - {"r.db"}
        parts = {name for name in left if re.fullmatch(r"\d{6}\.part", name)}
        assert left == ({"r.db.parts", "plan.json"} | parts if parts else set())
        small_work(world, file, covers)
        assert file.read_bytes() == whole
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_file_that_cannot_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system itself refuses: half of a file is written when it does."""
    import resource

    world, file = rooms(), tmp_path / "r.db"
    count = 300 if COMPILED else 30
    tb.prepare(world, file, records=count, mode="trees", seed=1)
    whole_file = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 100, 1024, len(whole_file) - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(tb.DatabaseError, match="File too large"):
                tb.prepare(world, file, records=count, mode="trees", seed=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert file.read_bytes() == whole_file
        assert not list(tmp_path.rglob(".*"))
    tb.prepare(world, file, records=count, mode="trees", seed=1)
    assert file.read_bytes() == whole_file
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_two_builds_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(random_paths.CHUNK, "paths", 5)
    world, file = rooms(), tmp_path / "r.db"
    refusals = []

    def again(done: int, total: int, what: str) -> None:
        with pytest.raises(tb.DatabaseError, match="another process is making") as refusal:
            tb.prepare(world, file, records=20, mode="paths", seed=5)
        refusals.append(refusal)

    tb.prepare(world, file, records=20, mode="paths", seed=5, progress=again)
    assert refusals
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
    (tmp_path / ".r.db.lock").touch()  # as one that was killed leaves it
    tb.prepare(world, file, records=20, mode="paths", seed=5)
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = rooms()
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.db.parts").write_text("a file")
    with pytest.raises(tb.DatabaseError, match="folder: it is a folder"):
        tb.prepare(world, tmp_path / "folder", records=5, mode="trees")
    with pytest.raises(tb.DatabaseError, match="a file of that name"):
        tb.prepare(world, tmp_path / "a.db", records=5, mode="trees")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for covers in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(tb.DatabaseError, match="No space left"):
                tb.prepare(world, tmp_path / "b.db", records=5, coverage=covers)
    assert not list(tmp_path.rglob("*.part"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(tb.DatabaseError, match=r"cannot make the folder .*: Permission denied"):
        tb.prepare(world, tmp_path / "c.db", records=5, mode="trees")
