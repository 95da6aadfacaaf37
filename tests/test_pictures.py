"""Pictures: walks of any length, and maps side by side. (Those of crowds and regions are tested with these.)"""

from __future__ import annotations

import numpy as np
import pytest

import timebound as tb

pytest.importorskip("PIL")
from timebound import pictures

pytestmark = pytest.mark.once


def coloured(image: object, colour: tuple[int, int, int]) -> np.ndarray:
    return (np.asarray(image) == colour).all(axis=2)


def test_a_walk_of_many_moves_is_drawn_as_what_it_has_trodden(monkeypatch: pytest.MonkeyPatch) -> None:
    """To and fro for as long as one likes: each step is drawn once, and it looks like the walk."""
    world = tb.Grid(np.ones((8, 8), bool))
    there = [(1, col) for col in range(1, 7)] + [(row, 6) for row in range(2, 7)]
    round_trip = there + there[-2:0:-1]
    seen = []
    real = pictures._line
    monkeypatch.setattr(pictures, "_line", lambda *given: (seen.append(1), real(*given)))
    short = pictures.draw(world, {"once": there}, size=256)
    drawn = len(seen)
    long = pictures.draw(world, {"often": np.tile(round_trip, (50_000, 1))}, size=256)
    assert len(seen) == drawn + 1, "only the sample in the legend is a line; the walk is steps"
    one, other = (coloured(image, pictures.COLOURS[0])[:256] for image in (short, long))
    assert one.sum() > 500
    assert (one & other).sum() > 0.9 * one.sum()
    assert other.sum() < 1.1 * one.sum()


def test_maps_side_by_side() -> None:
    world = tb.Grid(np.ones((10, 20), bool))
    panels = [(f"number {k}", "some words", [(5, col) for col in range(2, 5 + k)]) for k in range(5)]
    image = pictures.draw_panels(world, panels, start=(5, 2), goal=(5, 15), columns=2, size=200)
    assert image.width > 2 * 200
    assert image.height > 3 * 100
    for k in range(5):
        row, col = divmod(k, 2)
        high, wide = (image.height - 14) // 3, (image.width - 14) // 2
        part = np.asarray(image)[row * high : (row + 1) * high, col * wide : (col + 1) * wide]
        assert (part == pictures.COLOURS[k]).all(axis=2).sum() > 100, f"panel {k} has its colour"
