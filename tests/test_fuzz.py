"""A short run of each fuzzer; ``make fuzz`` is the long one."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from helpers import COMPILED

# By its file, and under a name of its own: benchmarks have a module called run too.
_spec = spec_from_file_location("fuzz_run", Path(__file__).resolve().parent.parent / "fuzz" / "run.py")
assert _spec is not None
assert _spec.loader is not None
fuzzers = sys.modules["fuzz_run"] = module_from_spec(_spec)
_spec.loader.exec_module(fuzzers)

SHORT = {
    "readers": 250,
    "arguments": 150,
    "databases": 60,
    "stores": 6,
    "agents": 3_000,
    "control": 120,
    "soak": 1_500,
}


def test_every_fuzzer_has_a_short_run() -> None:
    assert set(SHORT) == set(fuzzers.COUNTS)


@pytest.mark.compiled
@pytest.mark.skipif(not COMPILED, reason="long without the JIT, and coverage has the other tests")
@pytest.mark.parametrize("name", SHORT)
def test_nothing_is_wrong_whatever_comes_in(name: str) -> None:
    tally = fuzzers.run(name, 1, SHORT[name])
    assert tally.wrong == []
    assert tally.refused > 0 or name in ("agents", "control", "soak")
    assert tally.moves >= SHORT[name] if name in ("agents", "soak") else tally.inputs >= SHORT[name]
