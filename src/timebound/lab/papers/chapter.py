"""Real-time heuristic search for game pathfinding (Bulitko et al., 2011): Figure 15, and Tables 1 to 5 (knn.py)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ..charts import Chart, Series
from ..experiment import Sweep, WorldSource
from ..paper import QUICK, Data, Item, Maps, Paper
from ..report import CANNOT_TELL, DIFFERS, REPRODUCED, Finding, Table
from . import knn

TITLE = "Real-time heuristic search in games (2011): Tables 1-5"
PLACE = 4

SIZES = (32, 64, 125, 250, 500, 1000)
RIVALS = {"ribs": (10.0, 1.0), "lrta*": (0.14, 1.5)}  # the paper's fits: factor and exponent


def sweeps(scale: str, maps: Maps) -> list[Sweep]:
    """kNN LRTA* and its rivals on large maps; the corner map, ever larger, from one end to the other."""
    sizes = SIZES[:-1] if scale == QUICK else SIZES
    worlds = tuple(WorldSource.generated("corner", side) for side in sizes)
    return [*knn.sweeps(scale, maps), Sweep("figure 15", worlds, tuple(RIVALS), corners=True)]


def _states(row: Mapping[str, Any]) -> int:
    side = int(row["goal"].split(",")[0]) + 1
    return side * side


def figure_15(data: Data) -> Finding:
    """RIBS grows with an exponent below 1.1, LRTA* with 1.4 to 1.6, and the lines cross."""
    lines, series, fits = [], [], {}
    points: dict[str, list[tuple[int, float]]] = {}
    for number, spec in enumerate(RIVALS):
        rows = data["figure 15"].where(spec=spec)
        found = sorted((_states(row), float(row["expansions"])) for row in rows if row["status"] == "reached")
        if len(found) < 3:
            return Finding(CANNOT_TELL, "fewer than three sizes have been run")
        x, y = (np.array(column, float) for column in zip(*found, strict=True))
        exponent, shift = np.polyfit(np.log(x), np.log(y), 1)
        fits[spec] = float(exponent)
        points[spec] = found
        factor, power = RIVALS[spec]
        lines.append(
            [
                spec,
                *(f"{value:,.0f}" for value in y),
                f"{math.exp(shift):.2g} x^{exponent:.3f}",
                f"{factor:g} x^{power:g}",
            ]
        )
        series.append(Series(f"{spec}, ours", x.tolist(), y.tolist(), like=number))
        theirs = [factor * value**power for value in x.tolist()]
        series.append(Series(f"{spec}, paper's fit", x.tolist(), theirs, dashed=True, like=number))
    gaps = [math.log(b[1] / a[1]) for a, b in zip(points["ribs"], points["lrta*"], strict=True)]
    crossing = None
    for (here, there), (a, b) in zip(pairwise(points["ribs"]), pairwise(gaps), strict=True):
        if a < 0 <= b:
            share = -a / (b - a)
            crossing = math.exp(math.log(here[0]) + share * (math.log(there[0]) - math.log(here[0])))
    good = fits["ribs"] < 1.1 and 1.4 <= fits["lrta*"] <= 1.6 and crossing is not None
    cross = f"they cross at about {crossing:,.0f} states" if crossing is not None else "they do not cross"
    words = f"exponents {fits['ribs']:.3f} (RIBS) and {fits['lrta*']:.3f} (LRTA*); {cross} (paper: about 1500)"
    header = ("states in the map", *(f"{x:,}" for x, _ in points["ribs"]), "fit", "paper's")
    chart = Chart(
        "Figure 15: expansions on the corner map",
        "states in the map",
        "states expanded",
        series,
        log_x=True,
        log_y=True,
    )
    return Finding(REPRODUCED if good else DIFFERS, words, [Table("States expanded", header, lines)], [chart])


PAPER = Paper(
    "chapter",
    "Bulitko, Björnsson, Sturtevant and Lawrence: Real-time heuristic search for pathfinding in video games. 2011",
    sweeps,
    (
        *knn.ITEMS,
        Item(
            "Figure 15",
            "RIBS and LRTA* on the corner map",
            "RIBS expands about 10 x states, LRTA* about 0.14 x^1.5; the lines cross.",
            "Reproduced if the fitted exponent of RIBS is below 1.1, that of LRTA* from 1.4 to 1.6, and they cross.",
            ("figure 15",),
            figure_15,
        ),
    ),
)
