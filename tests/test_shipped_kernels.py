"""Kernels that ship are used where they fit, and nowhere else: what runs is always what the sources say."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import timebound
from shipped_cases import SPOILT
from timebound.kernels.shipping import TARGETS

# Kernels play a part in other processes only, which compile them in any case.
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="kernels are shipped for Linux alone"),
]

FOUND, FRESH = [8, 3.0, []], [8, 3.0, ["twice", "twice"]]
MACHINE = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
FAMILIES = [target for target in TARGETS if target.machine == MACHINE]  # the best first
OTHERWISE = ("another Numba", "another LLVM", "another Python", "bounds are checked", "a processor is named")


def run(package: str, made: Path, **settings: str) -> str:
    """What the cases print, in a process with nothing set but what is told."""
    hidden = ("NUMBA_", "PYTHON", "COVERAGE_", "XDG_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    best, base = FAMILIES[0], FAMILIES[-1]
    script = Path(__file__).with_name("shipped_cases.py")
    done = subprocess.run(
        [sys.executable, "-B", str(script), package, str(made), base.name, base.cpu, best.name],
        env={**environment, "HOME": str(made.parent / "home"), **settings},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with a tiny kernel, shipped for the lowest family of this machine."""
    if not FAMILIES:
        pytest.skip("no kernels are shipped for this machine")
    folder = tmp_path_factory.mktemp("shipped") / "made"
    kept, base = str(folder.parent / "kept"), FAMILIES[-1]
    run(
        str(Path(timebound.__file__).parent), folder,
        NUMBA_CACHE_DIR=kept, NUMBA_CPU_NAME=base.cpu, NUMBA_CPU_FEATURES="",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def told(made: Path) -> dict[str, Any]:
    """What each case has come to."""
    return json.loads(run("", made))


def test_what_ships_is_used_where_nothing_can_be_written(told: dict[str, Any]) -> None:
    *values, found, compiled, nothing_written = told["nowhere to write"]
    assert [*values, compiled] == FOUND
    assert found == 2, "without a cache nothing is said of what is compiled"
    assert nothing_written


def test_an_edit_of_any_kernel_is_noticed(told: dict[str, Any]) -> None:
    other_text, as_before, elsewhere, reason, again = told["edited"]
    assert other_text == [12, 4.5, ["twice", "twice"]]
    assert as_before == FOUND
    assert elsewhere == FRESH
    assert reason == "the sources were edited"
    assert again == FOUND, "what was compiled instead is kept"


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_was_compiled_otherwise_is_not_used(name: str, told: dict[str, Any]) -> None:
    assert told[name] == FRESH


@pytest.mark.parametrize("name", SPOILT)
def test_damaged_files_are_not_used(name: str, told: dict[str, Any]) -> None:
    (*values, compiled), again = told[name]
    assert values == FRESH[:2]
    assert compiled, "it was believed"
    assert again == FOUND


def test_code_for_other_types_is_not_used(told: dict[str, Any]) -> None:
    assert told["exchanged"] == FRESH


def test_compiled_functions_may_call_what_ships(told: dict[str, Any]) -> None:
    """It has no text to be linked with, so it is compiled for them; and what they became is found again."""
    once, again = told["called by others"]
    assert once == [8, 3.0, 15, 12, ["thrice", "twice"]]
    assert again == [15, 12, []]


@pytest.mark.skipif(len(FAMILIES) < 2, reason="there is one family of processors")
def test_the_best_that_the_processor_has(made: Path, told: dict[str, Any]) -> None:
    assert told["for both"] == FOUND, "the one of the two that is whole"
    lesser = json.loads(run("", made.parent / "made", NUMBA_ENABLE_AVX="0"))
    assert lesser["for the better family"] == FRESH, "the processor has not got what this is compiled for"
    assert lesser["for both"] == FOUND
    if told["for the better family"] == FRESH:
        pytest.skip("this processor is not of the better family")
    assert told["for the better family"] == FOUND
