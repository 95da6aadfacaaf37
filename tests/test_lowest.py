"""Where other libraries are met, each once and quickly: ``make lowest-smoke`` runs these on the lowest versions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from timebound import workers
from timebound.lab.columns import COLUMNS
from timebound.lab.store import Store

MAZE = np.array([[1, 1, 1], [0, 0, 1], [1, 1, 1]], bool)
# For each kind of column what is easily mistaken for nothing, and what is at its limits.
VALUES: dict[str, list[Any]] = {
    "VARCHAR": ["", "NULL", "nan", "=1+1", "a\nb", 'quoted "so"', "\x1b[2J", "Höhle\u2028\U0001f600"],
    "BIGINT": [0, -1, 2**63 - 1, -(2**63), 2**53 + 1, np.int64(7), np.int32(-7), 1],
    "DOUBLE": [0.0, -0.0, 0.1, math.inf, -math.inf, 5e-324, np.float64(1 / 3), 3],
    "BOOLEAN": [False, True, np.bool_(False), np.bool_(True), False, False, True, True],
}


def record(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {name: key if name == "key" else value[column.kind] for name, column in COLUMNS.items()}


@pytest.mark.parametrize("together", [True, False])
def test_a_store_tells_nothing_from_zero(tmp_path: Path, together: bool) -> None:
    """What was None is None, what was 0 is 0, in every kind of column, alone in a batch and among others."""
    nothing = dict.fromkeys(VALUES)
    records = [record(f"{k}", {kind: values[k] for kind, values in VALUES.items()}) for k in range(8)]
    records.insert(3, record("none", nothing))
    records.append(record("z", nothing))
    with Store(tmp_path / "runs.duckdb") as store:
        for batch in [records] if together else [[one] for one in records]:
            store.add(batch)
    with Store(tmp_path / "runs.duckdb") as store:
        found = store.rows([one["key"] for one in records])
    assert found == records
    assert {type(value) for row in found for value in row.values()} == {str, int, float, bool, type(None)}


def test_an_image_is_a_map(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    from PIL import Image

    from timebound.pictures import draw, save

    Image.fromarray(MAZE.astype(np.uint8) * 255).save(tmp_path / "maze.png")
    world = tb.Grid.from_image(tmp_path / "maze.png")
    assert (world.free == MAZE).all()
    save(draw(world, {"way": [(0, 0), (0, 1)]}, start=(0, 0), goal=(2, 0)), tmp_path / "drawn.png")
    with Image.open(tmp_path / "drawn.png") as picture:
        assert picture.format == "PNG"


def test_graphs_of_others() -> None:
    networkx, sparse = pytest.importorskip("networkx"), pytest.importorskip("scipy.sparse")
    ring = networkx.cycle_graph(["a", "b", "c", "d"])
    networkx.set_edge_attributes(ring, 2.0, "weight")
    assert tb.Graph.from_networkx(ring).states == 4
    matrix = sparse.csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert tb.Graph.from_scipy(matrix).states == 2


def test_workers_of_a_cluster() -> None:
    pytest.importorskip("distributed")
    assert sorted(workers.on_dask(abs, [-3, 1, -2], "local", 1)) == [1, 2, 3]


def test_a_way_is_found() -> None:
    result = tb.solve(tb.Grid(MAZE), (0, 0), (2, 0), "a*")
    assert (result.status, result.moves) == ("reached", 6)


def test_a_depth_tree_is_trained() -> None:
    """What is read of a tree that scikit-learn has grown is there, and means what it is taken for."""
    pytest.importorskip("sklearn")
    worlds = [tb.Grid(tb.generate.rooms((14, 14), room=5, seed=seed)) for seed in range(2)]
    made = tb.DepthTree.train(worlds, cap=3, history=8, problems=3, moves=40)
    assert made.cap == 3
    assert len(made) > 4
    assert made.settings["enough"] > 0.5
