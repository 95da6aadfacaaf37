"""Edits of kernels are noticed: no process runs code that was compiled from another text."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import timebound

pytestmark = pytest.mark.once  # kernels play a part in other processes only, which compile them in any case

PROGRAM = """
import json, timebound
from timebound.kernels import jit
compiled = []
jit.on_compile(compiled.append)
world = timebound.Grid([[1] * 5] * 5)
result = timebound.solve(world, (0, 0), (3, 1), "ida*")  # which is compiled sooner than the others
record = {name: getattr(result, name) for name in ("expansions", "cost")}
print(json.dumps({"file": timebound.__file__, "compiled": compiled, **record}))
"""


def run(folder: Path) -> dict:
    hidden = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PYTHONPATH", "COVERAGE_PROCESS_START")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["file"]).is_relative_to(folder), "the copy must run, not the installed package"
    return found


def test_the_cache_notices_an_edit_in_a_helper(tmp_path: Path) -> None:
    source = Path(timebound.__file__).parent
    copy = tmp_path / "timebound"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    first = run(tmp_path)
    assert "run" in first["compiled"]
    assert list(copy.rglob("*.nbc")), "the cache should lie beside the kernels"

    again = run(tmp_path)
    assert again["compiled"] == [], "the second process should find everything on disk"
    assert again["expansions"] == first["expansions"]

    # A helper in another file than the kernel that Numba looks at: without an estimate more is expanded.
    views = copy / "kernels" / "views.py"
    text = views.read_text()
    head = "def _octile(world, target, s, place):\n"
    assert head in text
    views.write_text(text.replace(head, head + "    return 0\n"))
    changed = run(tmp_path)
    assert "run" in changed["compiled"]
    assert changed["expansions"] > first["expansions"], "old code ran"
    assert changed["cost"] == first["cost"]

    # A constant that only kernels read.
    layout = copy / "kernels" / "layout.py"
    text = layout.read_text()
    assert "DIRECTIONS = 8" in text
    layout.write_text(text.replace("DIRECTIONS = 8", "DIRECTIONS = 4"))
    longer = run(tmp_path)
    assert "run" in longer["compiled"]
    assert longer["cost"] > changed["cost"], "old code ran"
