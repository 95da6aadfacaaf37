"""The README's example works as pasted, and so do the scripts in examples/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].startswith("reached ")
    assert lines[1].startswith("reached ")
    assert lines[1].endswith(" True")


@pytest.mark.parametrize("script", sorted(README.parent.glob("examples/*.py")), ids=lambda path: path.name)
def test_every_example_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(script.read_text(encoding="utf-8"), script.name, "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert "units arrived" in said
    assert "no unit planned more than 30 states" in said
