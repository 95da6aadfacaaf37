"""Programs in processes of their own, forked from one that has imported what would take each of them a second.

Such a process is as good as any to be killed or interrupted: it begins with one thread, and with nothing of the tests.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import timebound

_SOURCES = Path(timebound.__file__).resolve().parents[1]

# Each line names where the program prints to, and its arguments; told are its number, and what became of it.
_SERVER = """
import importlib, json, os, sys, traceback
names, text = sys.argv[1:]
program = compile(text, "<program>", "exec")
for name in names.split():
    importlib.import_module(name)
for line in sys.stdin:
    out, errors, *sys.argv[1:] = json.loads(line)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(out, os.O_WRONLY), 1)
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            exec(program, {"__name__": "__main__"})
            code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Run:
    """A program under way: its number, what it prints, and how it ended."""

    def __init__(self, pid: int, out: TextIO, server: subprocess.Popen[str], errors: Path) -> None:
        self.pid, self.out = pid, out
        self._server, self._errors = server, errors

    def ended(self) -> tuple[int, str]:
        """Wait for its end: its exit code (less than 0: the signal that ended it), and its errors."""
        self.out.close()
        assert self._server.stdout is not None
        return int(self._server.stdout.readline()), self._errors.read_text() if self._errors.exists() else ""


class Forking:
    """One program, to be run as often as one likes, one run after another."""

    def __init__(
        self, program: str, imports: str = "timebound.episode timebound.lab.reproduce", jit: bool = False
    ) -> None:
        """``jit``: with it, though the tests are without."""
        self._command = [sys.executable, "-c", _SERVER, imports, program]
        self._environment = {**os.environ, "PYTHONPATH": str(_SOURCES)}
        if jit:
            self._environment.pop("NUMBA_DISABLE_JIT", None)

    def __enter__(self) -> Forking:
        self._folder = tempfile.TemporaryDirectory()
        self._server = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        return self

    def __exit__(self, *problem: object) -> None:
        self._server.kill()
        self._server.communicate()
        self._folder.cleanup()

    @contextmanager
    def run(self, *arguments: str) -> Iterator[Run]:
        """Start it; if it is not waited for, it is killed at the end."""
        out, errors = (Path(self._folder.name, name) for name in ("out", "errors"))
        os.mkfifo(out)
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps([str(out), str(errors), *arguments]), file=self._server.stdin, flush=True)
        pid = int(self._server.stdout.readline())
        try:
            with out.open() as lines:
                yield Run(pid, lines, self._server, errors)
        finally:
            out.unlink()

    def told(self, *arguments: str) -> int:
        """Let the program, which prints how much it did, a bit at a time, run to its end; returns the sum."""
        with self.run(*arguments) as run:
            done = sum(map(int, run.out))
            assert run.ended() == (0, "")
        return done

    def kill_again_and_again(self, *arguments: str, whole: int) -> None:
        """Start such a program and kill it on its way; the next one goes on where it was. All it does is ``whole``."""
        chance, kills = random.Random(1), int(os.environ.get("TIMEBOUND_KILLS", "3"))
        killed = 0
        for _ in range(kills):
            enough = chance.randint(1, max(whole // (2 * kills), 1))
            with self.run(*arguments) as run:
                killed += any(done >= enough for done in itertools.accumulate(map(int, run.out)))
                with suppress(ProcessLookupError):  # it may have been quicker
                    os.kill(run.pid, 9)
                run.ended()
        assert killed > 0, "it was never on its way"
