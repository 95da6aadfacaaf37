"""Heuristics of graphs: costs stay optimal, and work is saved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import timebound as tb
from helpers import COMPILED

FEW = settings(max_examples=20 if COMPILED else 10)


def spatial(seed: int, n: int, dims: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, and arcs between random pairs of them that cost at least their distance."""
    random = np.random.default_rng(seed)
    place = random.uniform(-10, 10, (n, dims))
    ends = random.integers(n, size=(4 * n, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    length = np.linalg.norm(place[ends[:, 0]] - place[ends[:, 1]], axis=1) * random.uniform(1, 1.3, len(ends))
    return place, ends[:, 0], ends[:, 1], length


def optimum(n: int, source: np.ndarray, target: np.ndarray, cost: np.ndarray, start: int, goal: int) -> float:
    best: dict[tuple[int, int], float] = {}
    for s, t, c in zip(source.tolist(), target.tolist(), cost.tolist(), strict=True):
        best[s, t] = min(best.get((s, t), math.inf), c)
    rows, cols = np.array(list(best), np.int32).T  # older SciPy takes no others
    return float(dijkstra(csr_array((list(best.values()), (rows, cols)), shape=(n, n)), indices=start)[goal])


@pytest.mark.parametrize(("kind", "dims"), [("euclidean", 2), ("euclidean", 3), ("landmarks", 2), ("vector", 2)])
@given(seed=st.integers(0, 2**32 - 1), directed=st.booleans())
@FEW
def test_graph_heuristics_keep_costs_optimal_and_save_work(kind: str, dims: int, seed: int, directed: bool) -> None:
    n = 40
    place, source, target, cost = spatial(seed, n, dims)
    if not directed:
        source, target, cost = np.r_[source, target], np.r_[target, source], np.r_[cost, cost]
    options = {
        "euclidean": {"coordinates": place},
        "landmarks": {"heuristic": "landmarks", "landmarks": 4},
        "vector": {"heuristic": lambda goal: np.linalg.norm(place - place[goal], axis=1)},
    }[kind]
    world = tb.Graph(source, target, cost, nodes=n, **options)
    blind = tb.Graph(source, target, cost, nodes=n)
    expected = optimum(n, source, target, cost, 0, n - 1)
    result = tb.solve(world, 0, n - 1, "a*")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-6)
        # A consistent estimate: no state twice, and never more of them than without it, but for ties.
        assert result.expansions <= tb.solve(blind, 0, n - 1, "a*").expansions + 1


@given(seed=st.integers(0, 2**32 - 1))
@FEW
def test_great_circle_keeps_costs_optimal(seed: int) -> None:
    n, radius = 40, 6371.0
    random = np.random.default_rng(seed)
    degrees = np.c_[random.uniform(-180, 180, n), random.uniform(-89, 89, n)]
    longitude, latitude = np.radians(degrees).T
    ends = random.integers(n, size=(4 * n, 2))
    source, target = ends[ends[:, 0] != ends[:, 1]].T
    # The haversine formula, which the library does not use.
    half = (
        np.sin((latitude[source] - latitude[target]) / 2) ** 2
        + np.cos(latitude[source]) * np.cos(latitude[target]) * np.sin((longitude[source] - longitude[target]) / 2) ** 2
    )
    cost = 2 * radius * np.arcsin(np.sqrt(half)) * random.uniform(1, 1.2, len(source))
    world = tb.Graph(source, target, cost, nodes=n, coordinates=degrees, heuristic="great-circle")
    expected = optimum(n, source, target, cost, 0, n - 1)
    result = tb.solve(world, 0, n - 1, "a*")
    assert (result.status == "reached") == math.isfinite(expected)
    if math.isfinite(expected):
        assert result.cost == pytest.approx(expected, rel=1e-6)
