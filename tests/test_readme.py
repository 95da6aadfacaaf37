"""The README's example works as pasted, and so do the scripts in examples/."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED

# As with the examples in the documentation.
COMPILED_ONLY = pytest.mark.skipif(not COMPILED, reason="it takes long without the JIT, and shows nothing more")
README = Path(__file__).parents[1] / "README.md"
# What some of the examples say.
EXAMPLES = {
    "new_walls.py": ("units arrived", "no unit planned more than 30 states"),
    "chase.py": ("caught after", "no guard planned more than 20 states"),
}


@COMPILED_ONLY
def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[1] [ 5 95]"
    for line, spec in zip(lines[1:], ("a*", "tba*", "k-lrta*"), strict=True):
        assert line.startswith(f"{spec:8} reached ")
    assert "1.00 times optimal" in lines[1]
    assert all("at most 50 states" in line or "at most 4" in line for line in lines[2:])


def test_the_ratios_follow_from_the_times() -> None:
    """Whoever divides the table's times gets the table's ratios."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| ?([\d.]*)x? \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    (name, ours, nothing), *peers = rows
    assert (name, nothing) == (r"timebound A\*", "")
    assert len(peers) == 4
    for peer, theirs, stated in peers:
        digits = len(stated.replace(".", ""))
        assert float(f"{float(theirs) / float(ours):.{digits}g}") == float(stated), peer


def test_the_benchmark_prints_ratios_that_follow_from_its_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(README.parent / "benchmarks"))
    run = importlib.import_module("run")
    rows = [
        {
            "floor": 10.0, "expansions": 100, "planning": 1e-5,
            "tba": dict.fromkeys(run.TBA_BUDGETS, (1e-05, 100)),
            "learners": {spec: (1e-5, 100, 100) for spec, _, _ in run.LEARNERS},
            "seconds": {"timebound": ours, "rival": theirs},
        }
        for ours, theirs in ((0.0012345, 0.0444), (0.0078901, 0.9999))
    ]  # fmt: skip
    report = {
        "map": "m", "problems": 2, "repeats": 1, "timebound": "1", "bytes_per_cell": {"world": 2.0, "search": 8.0},
        "tiny": {"512": 1.0, "8192": 1.0}, "embedded": {"512": 1.0}, "start": {"cold": 1.0, "warm": 1.0},
        "speed": run.summary({"rows": rows, "versions": {"rival": "7"}}),
    }  # fmt: skip
    text = run.show(report)
    (ours,) = re.findall(r"^timebound A\* +1 +([\d.]+)$", text, re.MULTILINE)
    ((theirs, stated),) = re.findall(r"^rival +7 +([\d.]+) +([\d.]+)x$", text, re.MULTILINE)
    assert float(f"{float(theirs) / float(ours):.3g}") == float(stated)


@COMPILED_ONLY
def test_the_parts_of_the_benchmark_that_need_no_other_library_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(README.parent / "benchmarks"))
    run = importlib.import_module("run")
    assert all(us > 0 for us in run.tiny_queries(repeats=2).values())
    assert all(us > 0 for us in run.embedded_moves(sides=(64, 128), problems=1, cost=(20, 200)).values())
    assert run.bytes_per_cell(tb.Grid(np.ones((64, 64), bool)))["search"] > 0


@COMPILED_ONLY
@pytest.mark.parametrize("script", [README.parent / "examples" / "new_walls.py"], ids=lambda path: path.name)
def test_the_example_without_a_window_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(script.read_text(encoding="utf-8"), script.name, "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert all(words in said for words in EXAMPLES.get(script.name, ()))
