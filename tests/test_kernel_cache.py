"""The compiled code on disk: found again when nothing changed, never stale, and made anew when it is damaged."""

from __future__ import annotations

import builtins
import errno
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from forking import Forking
from helpers import COMPILED
from timebound.kernels import jit, kernel_cache

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not COMPILED, reason="nothing is compiled without the JIT"),
]

# --- files that are damaged, and folders that cannot be written ------------------------------------------------------

TINY = """
from timebound.kernels.jit import kernel

@kernel
def twice(x):
    return 2 * x
"""

FRESH, FOUND = [8, 3.0, ["twice", "twice"]], [8, 3.0, []]


def use(folder: Path) -> list:
    """What the tiny kernel in a folder computes, as a new process would; and what had to be compiled."""
    compiled: list[str] = []
    before = jit.on_compile(compiled.append)
    try:
        space: dict = {"__name__": "tiny"}  # older Numba cannot save what is of no module
        file = folder / "tiny.py"
        exec(compile(file.read_text(), str(file), "exec"), space)
        return [space["twice"](4), space["twice"](1.5), compiled]
    finally:
        jit.on_compile(before)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tiny kernel, and a home beside it."""
    (tmp_path / "tiny.py").write_text(TINY)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path


TALKING = """
from timebound.kernels.jit import inlined, kernel

@inlined
def deep(x):
    if x > 5:
        raise ValueError("too large")
    print("deep", x)
    return x + 1

@inlined
def between(x):
    return deep(x)

@kernel
def talk(x):
    return between(x)
"""


def test_helpers_may_print_and_raise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While one looks for a mistake; when it is compiled and when it is found."""
    file = tmp_path / "talking.py"
    file.write_text(TALKING)
    for _ in range(2):
        space: dict = {"__name__": "talking"}
        exec(compile(TALKING, str(file), "exec"), space)
        assert [space["talk"](3), space["between"](4)] == [4, 5]
        assert capsys.readouterr().out.split() == ["deep", "3", "deep", "4"]
        with pytest.raises(ValueError, match="too large"):
            space["talk"](6)


LATE = """
from typing import NamedTuple
from timebound.errors import Error
from timebound.kernels.jit import generic, kernel, on_compile

class State(NamedTuple):
    x: int

@generic
def question(state): ...

question.otherwise(lambda state: -state.x)

@kernel
def ask(state):
    return question(state)
"""
ASKING = """
import late
compiled = []
late.on_compile(compiled.append)
print(late.ask(late.State(3)), compiled)
try:
    late.question.on(late.State)(lambda state: 0)
except late.Error as problem:
    print(problem)
print(late.ask(late.State(3)))
"""


def told_in_turn(folder: Path, *programs: str) -> list[list[str]]:
    """What these programs print, one after the other, which find the modules in ``folder`` and each other's code."""
    found = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": found, "XDG_CACHE_HOME": str(folder / "home")}
    told = []
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.splitlines())
    return told


def test_a_text_that_comes_too_late_for_what_is_found(tmp_path: Path) -> None:
    """It is refused as where the code was compiled: that would go on to answer as before, without a word."""
    (tmp_path / "late.py").write_text(LATE)
    for compiled, lines in zip((["ask"], []), told_in_turn(tmp_path, ASKING, ASKING), strict=True):
        first, refused, last = lines
        assert (first, last) == (f"-3 {compiled}", "-3")
        assert refused.startswith("question was compiled for State before it had a text")


OTHER = """
import late

@late.kernel
def double(state):
    return 2 * state.x

def tell():
    print(double(late.State(3)))
"""
FIRST_BOTH = "import late, other; print(late.ask(late.State(3))); other.tell()"
THEN_A_TEXT = """
import late, other
other.tell()
late.question.on(late.State)(lambda state: 100 * state.x)
print(late.ask(late.State(3)))
"""


def test_a_text_in_time_is_taken_whatever_another_program_had_compiled(tmp_path: Path) -> None:
    """Of what is found on the disk only that is too late for a text that would have asked for it."""
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "other.py").write_text(OTHER)
    assert told_in_turn(tmp_path, FIRST_BOTH, THEN_A_TEXT) == [["-3", "6"], ["6", "300"]]


OF_OURS = """
from timebound.kernels.jit import generic, kernel

@generic
def question(view): ...

question.otherwise(lambda view: -1)

@kernel
def ask(view):
    return question(view)
"""
TEXT_OF_OURS = """
import of_ours
from timebound.kernels.views import GridView
of_ours.question.on(GridView)(lambda view: 7)
"""
ASK_OF_OURS = """
import numpy, timebound
import of_ours{more}
print(of_ours.ask(timebound.Grid(numpy.ones((7, 7), bool)).view))
"""


@pytest.mark.parametrize("first", [0, 1])
def test_a_text_of_theirs_for_a_type_of_ours_is_not_forgotten(tmp_path: Path, first: int) -> None:
    """Code that was kept by a program that had not imported it, or had, is not for one that has, or has not."""
    (tmp_path / "of_ours.py").write_text(OF_OURS)
    (tmp_path / "text_of_ours.py").write_text(TEXT_OF_OURS)
    programs = [ASK_OF_OURS.format(more=""), ASK_OF_OURS.format(more=", text_of_ours")]
    answers = [["-1"], ["7"]]
    if first:
        programs.reverse()
        answers.reverse()
    assert told_in_turn(tmp_path, *programs) == answers


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("tiny.twice-*"))}


def refuse(patch: pytest.MonkeyPatch, number: int, *places: Path, folders: bool = True) -> None:
    """Nothing can be written there. Asked for, not set: the owner of a machine may write to all folders.

    Without ``folders`` only files are refused, as on a disk that is full.
    """
    plain_open, plain_file = open, tempfile.TemporaryFile

    def refused(place: object) -> bool:
        return any(str(place).startswith(str(one)) for one in places)

    def guarded(file: object, mode: str = "r", *args: object, **options: object) -> object:
        if ("w" in mode or "a" in mode) and refused(file):
            raise OSError(number, os.strerror(number), str(file))
        return plain_open(file, mode, *args, **options)  # type: ignore[call-overload]

    def temporary(*args: object, **options: object) -> object:
        if folders and refused(options.get("dir")):
            raise OSError(number, os.strerror(number))
        return plain_file(*args, **options)  # type: ignore[call-overload]

    patch.setattr(builtins, "open", guarded)
    patch.setattr(tempfile, "TemporaryFile", temporary)


def test_damaged_files_are_made_anew(tiny: Path) -> None:
    assert use(tiny) == FRESH
    assert use(tiny) == FOUND
    whole = kept(tiny)
    assert [Path(name).suffix for name in whole] == [".nbc", ".nbc", ".nbi"]
    code, other, index = whole
    half = len(whole[code]) // 2
    for name, damaged in (
        (index, b""),
        (index, whole[index][:-5]),
        (index, whole[index][:3]),
        (index, bytes(len(whole[index]))),
        (code, b""),
        (code, whole[code][:half]),
        (code, whole[code][:-1]),
        (code, whole[code][:half] + bytes([whole[code][half] ^ 1]) + whole[code][half + 1 :]),
        (code, whole[other]),  # as two processes that save at once may leave it
        (code, b"cnot.there\nnothing\n."),
    ):
        for one, data in whole.items():
            (tiny / "__pycache__" / one).write_bytes(data)
        (tiny / "__pycache__" / name).write_bytes(damaged)
        values = use(tiny)
        assert values[:2] == FRESH[:2], (name, damaged[:20])
        assert values[2], "it was believed"
        assert use(tiny) == FOUND, "it was not mended"


def test_an_index_that_is_damaged_while_a_kernel_is_compiled(tiny: Path) -> None:
    (tiny / "__pycache__").mkdir()
    index = tiny / "__pycache__" / "index"

    def damage(name: str) -> None:
        for file in tiny.rglob("*.nbi"):
            file.write_bytes(b"")
            index.touch()

    use(tiny)
    (tiny / "tiny.py").write_text(TINY.replace("2 * x", "x + x"))
    before = jit.on_compile(damage)
    try:
        space: dict = {"__name__": "tiny"}  # older Numba cannot save what is of no module
        exec(compile((tiny / "tiny.py").read_text(), str(tiny / "tiny.py"), "exec"), space)
        assert space["twice"](4) == 8
    finally:
        jit.on_compile(before)
    assert index.exists()
    assert use(tiny) == [8, 3.0, ["twice"]]


def test_files_that_cannot_be_read_at_all(tiny: Path) -> None:
    use(tiny)
    for name in kept(tiny):
        (tiny / "__pycache__" / name).unlink()
        (tiny / "__pycache__" / name).mkdir()  # neither to be read nor to be replaced
    assert use(tiny) == FRESH
    assert use(tiny) == FRESH


def test_what_two_processes_save_at_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reads the index, adds to it and writes it: one after the other, though it take long."""
    plain = kernel_cache.Files._save_index

    def slowly(files: kernel_cache.Files, overloads: dict) -> None:
        time.sleep(0.2)
        plain(files, overloads)

    monkeypatch.setattr(kernel_cache.Files, "_save_index", slowly)
    files = [kernel_cache.Files(str(tmp_path), "some", b"stamp") for _ in range(3)]
    threads = [threading.Thread(target=one.save, args=(key, f"code {key}")) for key, one in enumerate(files)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [files[0].load(key) for key in range(3)] == ["code 0", "code 1", "code 2"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_is_full_while_kernels_are_saved(number: int, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        refuse(patch, number, tiny, folders=False)
        assert use(tiny) == FRESH
        assert not kept(tiny)
    assert use(tiny) == FRESH
    assert use(tiny) == FOUND


def test_old_code_is_not_run_after_an_interrupted_save(tiny: Path) -> None:
    """An index was saved, and the code that it names was not: what lies there under that name is of before."""
    use(tiny)
    codes = {name: data for name, data in kept(tiny).items() if name.endswith(".nbc")}
    (tiny / "tiny.py").write_text(TINY.replace("2 * x", "3 * x"))
    assert use(tiny) == [12, 4.5, ["twice", "twice"]]
    for name, data in codes.items():
        (tiny / "__pycache__" / name).write_bytes(data)
    assert use(tiny) == [12, 4.5, ["twice", "twice"]]
    assert use(tiny) == [12, 4.5, []]


@pytest.mark.parametrize("home", [True, False], ids=["a home", "no home"])
@pytest.mark.parametrize("where", ["beside", "given"])
def test_a_warm_cache_that_cannot_be_written_is_used(
    where: str, home: bool, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that its owner has warmed, for users who may not write to it."""
    (tiny / "__pycache__").mkdir()
    if where == "given":
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tiny / "given"))
    assert use(tiny) == FRESH
    assert any("given" in path.parts for path in tiny.rglob("*.nbi")) == (where == "given")
    with monkeypatch.context() as patch:
        refuse(patch, errno.EROFS, tiny / "given", tiny / "__pycache__", *([] if home else [tiny / "home"]))
        assert use(tiny) == FOUND
        # What it lacks is kept at home, if there is one.
        (tiny / "tiny.py").write_text(TINY.replace("2 * x", "3 * x"))
        assert use(tiny) == [12, 4.5, ["twice", "twice"]]
        assert use(tiny) == [12, 4.5, [] if home else ["twice", "twice"]]


def test_nowhere_to_keep_kernels(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.EROFS, tiny)
    assert use(tiny) == FRESH
    assert use(tiny) == FRESH


# --- a Numba that is built otherwise ---------------------------------------------------------------------------------

WITHOUT_OPTION = """
from numba.core.cpu import CPUTargetOptions
for one in CPUTargetOptions.__mro__:
    if {name!r} in vars(one):
        delattr(one, {name!r})
"""

OTHERWISE = {
    "it does not start": "import sys; sys.modules['numba'] = None",
    "a module is gone": "import sys; sys.modules['numba.core.caching'] = None",
    "a class is gone": "import numba.core.caching as c; del c.CompileResultCacheImpl",
    "a method is gone": "import numba.core.caching as c; del c.Cache._index_key",
    "an attribute is gone": "import numba.core.caching as c; del c.CacheImpl.locator",
    "files of another kind": "import numba.core.caching as c; c.IndexDataCacheFile.__init__ = lambda self, folder: 0",
    "all is counted": WITHOUT_OPTION.format(name="_nrt"),
    "nothing is inlined": WITHOUT_OPTION.format(name="forceinline"),
}


PROGRAM = """
import sys
exec(sys.argv.pop(1))
from timebound.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def command_line() -> Iterator[Forking]:
    with Forking(PROGRAM, imports="numba numba.core.caching") as program:
        yield program


@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
def test_another_numba_is_named_in_one_sentence(change: str, command_line: Forking, tmp_path: Path) -> None:
    (tmp_path / "open.map").write_text("type octile\nheight 1\nwidth 3\nmap\n...\n")
    with command_line.run(change, "solve", str(tmp_path / "open.map"), "0,0", "0,2") as run:
        assert run.out.read() == ""
        code, errors = run.ended()
    assert code == 2, errors
    assert len(errors.splitlines()) == 1, errors
    assert "0.61 to 0.68" in errors
