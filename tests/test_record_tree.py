"""The k-d tree of a database: it finds the most similar records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED
from small_databases import climbed, rooms
from timebound.databases import random_paths
from timebound.kernels import subgoal_records
from timebound.kernels.jit import kernel
from timebound.kernels.kd_tree import new_nearest
from timebound.kernels.subgoal_records import SubgoalRecords


@kernel
def similar(world, records, s, goal, nearest):
    subgoal_records.most_similar(world, records, s, goal, nearest)


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 200 if COMPILED else 40),
    wanted=st.sampled_from([1, 3, 10]),
)
def test_the_tree_finds_the_most_similar(seed: int, count: int, wanted: int) -> None:
    chance = np.random.default_rng(seed)
    world = tb.Grid(np.ones((30, 40)))
    states = world.random_states(2 * count, chance).astype(np.int32).reshape(2, count)
    coordinates = np.concatenate([world.points_of(states[0]), world.points_of(states[1])], axis=1)
    order = random_paths.tree_order(coordinates)
    assert sorted(order) == list(range(count))
    records = SubgoalRecords(states[0][order], states[1][order], np.zeros(1, np.int32), np.zeros(1, np.int32))
    s, goal = (int(k) for k in world.random_states(2, chance))
    nearest = new_nearest(wanted)
    similar(world.view, records, s, goal, nearest)

    def octile(a: int, b: int) -> float:
        rows, cols = np.abs(np.array(world.point_of(a)) - np.array(world.point_of(b)))
        return 13860 * max(rows, cols) + (19601 - 13860) * min(rows, cols)

    all_of_them = [
        (max(octile(s, int(a)), octile(goal, int(b))), k)
        for k, (a, b) in enumerate(zip(records.starts, records.ends, strict=True))
    ]
    expected = sorted(all_of_them)[:wanted]
    assert nearest.filled[0] == len(expected)
    assert [(nearest.distances[k], nearest.found[k]) for k in range(len(expected))] == expected


def test_the_first_record_that_can_be_climbed(tmp_path: Path) -> None:
    world = rooms()
    database = tb.prepare(world, tmp_path / "r.db", records=60, mode="trees", seed=1)
    nearest = new_nearest(10)
    some = 0
    for problem in tb.problems(world, 20 if COMPILED else 4, seed=2):
        s, goal = world.state_of(problem.start), world.state_of(problem.goal)
        similar(world.view, database.records, s, goal, nearest)
        fitting = [
            int(i)
            for i in nearest.found[: nearest.filled[0]]
            if climbed(world.view, s, int(database.records.starts[i]), 250) >= 0
            and climbed(world.view, int(database.records.ends[i]), goal, 250) >= 0
        ]
        agent = tb.agent("knn-lrta*", world, problem.start, problem.goal, database=database)
        agent.step()
        straight = climbed(world.view, s, goal, 250) >= 0
        assert agent._planner.state.query["record"][0] == (-1 if straight or not fitting else fitting[0])
        some += bool(fitting) and not straight
    assert some or not COMPILED
