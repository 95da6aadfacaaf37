"""Climbing, and paths compressed to what can be climbed, against the naive twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import timebound as tb
from helpers import Case, grid_cases, points
from naive import subgoals as naive
from small_databases import climbed
from timebound.kernels import compression


@given(case=st.one_of(grid_cases(kind="plain"), grid_cases(kind="near")), limit=st.sampled_from([0, 1, 3, 1000]))
def test_climbing(case: Case, limit: int) -> None:
    expected = naive.climb(case.twin, case.start, case.goal, limit)
    start, goal = case.world.state_of(case.start), case.world.state_of(case.goal)
    assert climbed(case.world.view, start, goal, limit) == (-1 if expected is None else len(expected) - 1)


@given(case=grid_cases(side=14, kind="plain"), limit=st.sampled_from([2, 1000]))
def test_compressing(case: Case, limit: int) -> None:
    result = tb.solve(case.world, case.start, case.goal, "a*")
    path = points(result.path)
    expected = naive.compress(case.twin, path, limit) if result.status == "reached" else []
    states = case.world.path_states(path)
    out = np.empty(len(path), np.int64)
    count = compression.compress(case.world.view, states, out, limit)
    if result.status == "reached":
        assert points(case.world.points_of(out[:count])) == expected
        # What it is for: a greedy agent gets from each to the next, but for a single step that had to be taken.
        stops = [case.start, *expected, case.goal]
        for here, there in pairwise(stops):
            k = path.index(here)
            assert naive.climb(case.twin, here, there, limit) is not None or path[k + 1] == there
