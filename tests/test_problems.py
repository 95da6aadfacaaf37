"""Problems: drawn at random, and from scenarios."""

from __future__ import annotations

import math

import numpy as np
import pytest

import timebound as tb
from timebound.scenarios import spread

pytestmark = pytest.mark.compiled  # kernels only serve them

SMALL_WORLDS = {
    "grid": lambda: tb.Grid(tb.generate.random_obstacles((12, 12), 0.3, seed=3)),
    "terrain": lambda: tb.Grid(np.random.default_rng(1).choice([0, 1, 2, 5], (10, 10))),
    "graph": lambda: tb.Graph(np.arange(9), np.arange(1, 10), np.full(9, 1.5), directed=False),
    "puzzle": lambda: tb.TilePuzzle(2, 3),
}


@pytest.mark.parametrize("kind", SMALL_WORLDS)
def test_problems_are_solvable_and_repeatable(kind: str) -> None:
    world = SMALL_WORLDS[kind]()
    drawn = list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert len(drawn) == 6
    assert drawn == list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert drawn != list(tb.problems(world, 6, seed=6, cost=(3, 6)))
    for problem in drawn:
        result = tb.solve(world, problem.start, problem.goal, "dijkstra")
        assert result.status == "reached"
        assert 3 <= problem.optimal <= 6
        assert result.cost == pytest.approx(problem.optimal)
        assert problem.start != problem.goal


def test_problems_that_cannot_be_drawn() -> None:
    world = tb.Grid(np.ones((3, 3)))
    with pytest.raises(tb.WorldError, match=r"no problem with a cost from 50 to 60; the \d+ solvable ones cost 1 to"):
        next(tb.problems(world, 1, cost=(50, 60)))
    with pytest.raises(tb.WorldError, match="no problem with a cost"):
        next(tb.problems(tb.Grid([[1, 0, 1]]), 1))
    with pytest.raises(tb.WorldError, match="no free cell"):
        next(tb.problems(tb.Grid([[0, 0]]), 1))
    for wrong in [(5, 1), (-1, 3), (math.nan, 3)]:
        with pytest.raises(tb.SpecError, match="a cost range is"):
            next(tb.problems(world, 1, cost=wrong))


def test_spread() -> None:
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread(range(3), 10) == [0, 1, 2]
    assert spread(range(5), None) == [0, 1, 2, 3, 4]
    assert spread(range(5), 1) == [0]
    assert len(set(spread(range(1000), 20))) == 20


def write_scenario(folder, *lines: str):
    (folder / "a.map").write_text("type octile\nheight 2\nwidth 3\nmap\n..@\n...\n")
    file = folder / "a.map.scen"
    file.write_text("\n".join(["version 1", *lines]) + "\n")
    return file


def test_scenario(tmp_path) -> None:
    # x, y in the file, (row, col) for us. The second goal is a wall.
    file = write_scenario(
        tmp_path,
        "0\told/a.map\t3\t2\t1\t0\t2\t1\t2.0",
        "0\ta.map\t3\t2\t0\t0\t2\t0\t2.0",
        "0\ta.map\t3\t2\t0\t0\t0\t1\t1",
    )
    scenario = tb.Scenario(file)
    assert scenario.map_name == "a.map"
    world = tb.Grid.load(scenario.map_path())
    drawn = scenario.problems(world)
    assert [(p.start, p.goal, p.optimal) for p in drawn] == [((0, 1), (1, 2), 2.0), ((0, 0), (1, 0), 1.0)]
    assert [p.optimal for p in scenario.problems(world, trust=False)] == [None, None]
    with pytest.raises(tb.MapError, match="line 2 is for a map of 2 rows and 3 columns, but this map has 3 and 2"):
        scenario.problems(tb.Grid(np.ones((3, 2))))
    (tmp_path / "a.map").unlink()
    with pytest.raises(tb.MapError, match=r"its map a\.map is not beside it"):
        scenario.map_path()


def test_scenario_without_problems(tmp_path) -> None:
    with pytest.raises(tb.MapError, match="scen"):
        tb.Scenario(write_scenario(tmp_path))


def test_scenario_with_a_start_off_its_map(tmp_path) -> None:
    scenario = tb.Scenario(write_scenario(tmp_path, "0\ta.map\t3\t2\t7\t0\t1\t1\t1.0"))
    with pytest.raises(tb.MapError, match="line 2"):
        scenario.problems(tb.Grid.load(scenario.map_path()))
