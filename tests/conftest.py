"""What all tests share: how hard hypothesis tries, where the real maps are, and databases made in a moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import timebound as tb
from helpers import COMPILED
from small_databases import ROUNDS, make_rounds_small, rooms
from timebound.databases import coverage, random_paths
from timebound.scenarios import maps_folder

# Where developers keep the maps, unless told otherwise.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "movingai"
if _BESIDE.is_dir():
    os.environ.setdefault("TIMEBOUND_MAPS", str(_BESIDE))

# Without the JIT every kernel runs as plain Python, about a hundred times slower: the point is then coverage.
# No deadline: the first example of a test may have to compile.
settings.register_profile(
    "default",
    max_examples=60 if COMPILED else 10,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    neither = [one.nodeid for one in items if {"once", "compiled"} <= {mark.name for mark in one.iter_markers()}]
    if neither:
        raise pytest.UsageError(f"marked both once and compiled, so that neither run has it: {', '.join(neither)}")


@pytest.fixture(scope="session")
def maps() -> Path:
    """The folder of the MovingAI maps; tests that need it are skipped where it is absent."""
    folder = maps_folder()
    if folder is None:
        pytest.skip("needs the MovingAI maps (TIMEBOUND_MAPS)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def little_drawn_in_vain() -> Iterator[None]:
    """Databases of small maps would take most of their time for problems that are drawn, and turn out to need none."""
    with pytest.MonkeyPatch.context() as patch:
        make_rounds_small(patch)
        patch.setattr(random_paths, "_TRIES", 100 if COMPILED else 30)
        yield


@pytest.fixture
def rounds_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose other processes know of no smaller ones."""
    for name, value in ROUNDS.items():
        monkeypatch.setattr(coverage, name, value)


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    make_rounds_small(monkeypatch)


@pytest.fixture(params=[False, True], ids=["random", "coverage"])
def database(tmp_path: Path, request: pytest.FixtureRequest, small_rounds: None) -> tuple[tb.Grid, Path]:
    world = rooms()
    tb.prepare(world, tmp_path / "r.db", records=20 if COMPILED else 5, seed=1, coverage=request.param)
    return world, tmp_path / "r.db"
