"""What all tests share: how hard hypothesis tries, and where the real maps are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from helpers import COMPILED
from timebound.scenarios import maps_folder

# Where developers keep the maps, unless told otherwise.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "movingai"
if _BESIDE.is_dir():
    os.environ.setdefault("TIMEBOUND_MAPS", str(_BESIDE))

# Without the JIT every kernel runs as plain Python, about a hundred times slower: the point is then coverage.
# No deadline: the first example of a test may have to compile.
settings.register_profile(
    "default",
    max_examples=60 if COMPILED else 20,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def maps() -> Path:
    """The folder of the MovingAI maps; tests that need it are skipped where it is absent."""
    folder = maps_folder()
    if folder is None:
        pytest.skip("needs the MovingAI maps (TIMEBOUND_MAPS)")
    return folder
