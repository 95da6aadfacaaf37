"""On the MovingAI maps: the listed optimal lengths, and as many expansions as the field's C++ code makes."""

from __future__ import annotations

from pathlib import Path

import pytest

import timebound as tb
from helpers import COMPILED
from timebound.scenarios import maps_folder, spread

pytestmark = [
    pytest.mark.maps,
    pytest.mark.skipif(maps_folder() is None, reason="needs the MovingAI maps (TIMEBOUND_MAPS)"),
    pytest.mark.skipif(not COMPILED, reason="too slow without the JIT"),
]

# wc3maps512 lists lengths that no path under the rule has; its maps came from a format with half cells.
NOT_EXACT = "wc3maps512"
FILES = sorted(
    str(file.relative_to(folder))
    for folder in [maps_folder()]
    if folder is not None
    for file in folder.glob("*/*.scen")
    if file.parent.name != NOT_EXACT
)

# Every k-th problem of positive length, the first one included: how many there are, and the reference's expansions.
EXPANSIONS = {
    "sc1/Cauldron": (20, 200, 20_809_255),
    "sc1/Expedition": (20, 160, 6_906_064),
    "bg512/AR0011SR": (5, 256, 2_773_192),
    "rooms/64room_000": (10, 203, 7_868_257),
}


def load(file: Path) -> tuple[tb.Grid, list[tb.Problem]]:
    scenario = tb.Scenario(file)
    world = tb.Grid.load(scenario.map_path())
    return world, scenario.problems(world)


@pytest.mark.parametrize("name", FILES)
def test_listed_lengths(maps: Path, name: str) -> None:
    world, problems = load(maps / name)
    chosen = spread(problems, 20)
    assert len(chosen) == 20
    for problem in chosen:
        result = tb.solve(world, problem.start, problem.goal, "a*")
        if problem.optimal is None:
            assert result.status == "unreachable"  # hrt000d lists ten problems without a way as length 0
            continue
        assert result.status == "reached"
        # Some files list two decimals only.
        assert abs(result.cost - problem.optimal) <= 1e-4 * problem.optimal + 0.005
        assert tb.validate(world, result.path, start=problem.start, goal=problem.goal).cost == result.cost


@pytest.mark.parametrize("name", EXPANSIONS)
def test_expansions(maps: Path, name: str) -> None:
    step, count, expected = EXPANSIONS[name]
    file = maps / f"{name}.map.scen"
    if not file.is_file():
        pytest.skip(f"needs {name}")
    world, problems = load(file)
    chosen = [problem for problem in problems if problem.optimal > 0][::step]
    assert len(chosen) == count
    total = sum(tb.solve(world, problem.start, problem.goal, "a*").expansions for problem in chosen)
    assert total == pytest.approx(expected, rel=0.02)
