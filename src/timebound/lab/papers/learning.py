"""The learning family beside HOG2, the C++ library of the field: the same walks on the maps of Baldur's Gate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from ...scenarios import Problem
from ..experiment import Setting, Sweep, WorldSource
from ..paper import FULL, QUICK, Data, Item, Maps, Paper, Rows
from ..report import CANNOT_TELL, DIFFERS, REPRODUCED, Finding, Table

TITLE = "LRTA*, LSS-LRTA* and daLSS-LRTA* beside HOG2's walks"
PLACE = 3

FRONTIER = "k-lrta*:commit=frontier"
AVOIDING = "k-lrta*:commit=frontier,avoid=true"
WALKS = (("lrta*", "none"), (FRONTIER, "10"), (FRONTIER, "100"), (FRONTIER, "1000"))  # algorithm, states per move


class Walks(NamedTuple):
    """One problem, and what HOG2's walks cost: one for each of WALKS."""

    map: str
    start: tuple[int, int]
    goal: tuple[int, int]
    costs: tuple[float, ...]


# Measured with HOG2: textbook LRTA*, and LSS-LRTA* that walks to the frontier. The optimal costs are 230 to 320.
HOG2 = tuple(
    Walks(*line)
    for line in (
        ("AR0011SR", (395, 210), (201, 87), (244.95, 245.53, 244.95, 244.95)),
        ("AR0011SR", (354, 345), (221, 448), (1575676.51, 264384.25, 41150.14, 6542.56)),
        ("AR0071SR", (164, 335), (332, 429), (270.63, 10413.98, 1002.67, 274.96)),
        ("AR0071SR", (420, 345), (366, 238), (58360.54, 9718.40, 1446.94, 555.17)),
        ("AR0204SR", (79, 270), (227, 427), (22880.22, 5684.65, 1095.41, 361.07)),
        ("AR0204SR", (218, 221), (246, 452), (389.25, 311.98, 264.72, 261.65)),
        ("AR0206SR", (366, 261), (189, 382), (1240.97, 402.27, 302.48, 256.35)),
        ("AR0206SR", (216, 168), (430, 342), (5494.31, 2488.93, 791.20, 286.07)),
        ("AR0300SR", (91, 339), (189, 430), (146284.37, 29850.90, 5864.65, 1102.79)),
        ("AR0300SR", (330, 184), (151, 135), (319312.57, 56931.17, 10112.45, 1424.60)),
        ("AR0308SR", (233, 409), (353, 241), (18900.86, 10842.11, 785.05, 272.39)),
        ("AR0308SR", (205, 130), (94, 280), (5005.23, 8937.78, 335.17, 274.95)),
        ("AR0309SR", (420, 152), (197, 182), (4324.17, 985.89, 381.84, 339.55)),
        ("AR0309SR", (295, 359), (265, 125), (1732.21, 278.12, 274.85, 258.23)),
        ("AR0331SR", (432, 298), (249, 476), (256.73, 257.32, 256.73, 256.73)),
        ("AR0331SR", (422, 324), (237, 470), (245.48, 246.06, 245.48, 245.48)),
        ("AR0400SR", (410, 465), (418, 377), (96715.67, 15763.84, 3473.34, 547.09)),
        ("AR0400SR", (312, 256), (463, 243), (55091.08, 9451.81, 1920.01, 549.13)),
        ("AR0410SR", (348, 395), (245, 189), (271.29, 262.46, 253.63, 248.66)),
        ("AR0410SR", (417, 217), (179, 178), (269.71, 275.61, 260.30, 254.15)),
    )
)
NEAR = 1.25  # a factor: algorithms break ties in their own ways, and a walk may so be half or twice as long
FEWEST = 10  # pairs that say anything
# What is run on problems of our own: algorithm, states per move.
OWN = (*WALKS, *((spec, budget) for spec in (AVOIDING, "rtaa*:commit=frontier") for budget in ("10", "100")))
PAIRS = "pairs, "  # before an algorithm's name: the sweep over HOG2's problems


def sweeps(scale: str, maps: Maps) -> list[Sweep]:
    """Maps of 512 x 512: HOG2's own problems, and others with an optimal cost from 230 to 320."""
    known = tuple(dict.fromkeys(one.map for one in HOG2))
    theirs = maps.sources("bg512", [], only=known)
    listed = tuple(
        tuple(Problem(one.start, one.goal) for one in HOG2 if f"{one.map}.map" == world.name) for world in theirs
    )
    caves = [WorldSource.generated("caves", 512, seed) for seed in range(3)]
    worlds = maps.sources("bg512", caves)
    problems = {QUICK: 7, FULL: 100}.get(scale, 40)
    patient, endless = Setting(move_limit=3_000_000), Setting(move_limit=30_000_000)
    found = [
        Sweep(PAIRS + spec, theirs, (spec,), budgets, listed=listed, setting=endless)
        for spec, budgets in _budgets(WALKS).items()
    ]
    return found + [
        Sweep(spec, worlds, (spec,), budgets, problems, cost=(230, 320), setting=patient)
        for spec, budgets in _budgets(OWN).items()
    ]


def _budgets(pairs: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Each algorithm's budgets, in their order."""
    return {spec: tuple(budget for each, budget in pairs if each == spec) for spec, _ in pairs}


def bg512(data: Data) -> Finding:
    """Problem by problem the same cost as HOG2's, but for what ties do."""
    lines, far, words = [], [], []
    fewest = len(HOG2)
    for number, (spec, budget) in enumerate(WALKS):
        rows = data[PAIRS + spec].where(budget=budget)
        ratios = _ratios(rows, number)
        fewest = min(fewest, len(ratios))
        if len(ratios) < FEWEST:
            continue
        middle, mean = median(ratios), _geometric_mean(ratios)
        low, high = _means_of_samples(ratios)
        if not all(1 / NEAR <= value <= NEAR for value in (middle, mean)):
            far.append(_name(spec, budget))
        words.append(f"{_name(spec, budget)}: median {middle:.3f}, geometric mean {mean:.3f}")
        lines.append(
            [
                _name(spec, budget),
                f"{len(ratios)}/{len(rows)}",
                f"{middle:.3f}",
                f"{mean:.3f}",
                f"{low:.2f} to {high:.2f}",
                f"{min(ratios):.2f}",
                f"{max(ratios):.2f}",
                f"{sum(abs(ratio - 1) < 0.001 for ratio in ratios)}",
            ]
        )
    own = _own(data)
    if fewest < FEWEST:
        because = (
            f"not judged: {fewest} of HOG2's {len(HOG2)} walks have been made, and {FEWEST} are the fewest that say "
            "anything; they are on maps of Baldur's Gate, the set bg512"
        )
        return Finding(CANNOT_TELL, because, [own])
    header = ("", "pairs", "median", "geometric mean", "95% of such means", "least", "most", "the same")
    pairs = Table("Cost of our walk over HOG2's, problem by problem", header, lines)
    told = f"ours over HOG2's: {'; '.join(words)}"
    if far:
        return Finding(DIFFERS, f"far from HOG2's: {'; '.join(far)}; {told}", [pairs, own])
    return Finding(REPRODUCED, told, [pairs, own])


def _name(spec: str, budget: str) -> str:
    return spec if budget == "none" else f"{spec}, {budget}"


def _ratios(rows: Rows, number: int) -> list[float]:
    """Our costs over HOG2's, of those walks that arrived."""
    theirs = {(f"{one.map}.map", *one.start, *one.goal): one.costs[number] for one in HOG2}
    return [row["cost"] / theirs[_place(row)] for row in rows if row["status"] == "reached"]


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["map"], *(int(text) for end in ("start", "goal") for text in row[end].split(","))


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, ratios)))


def _means_of_samples(ratios: list[float]) -> tuple[float, float]:
    """Between these lie 95% of the geometric means of as many pairs drawn from ours."""
    drawn = np.random.default_rng(0).choice(np.log(ratios), (2000, len(ratios)))
    low, high = np.quantile(np.exp(drawn.mean(axis=1)), (0.025, 0.975))
    return float(low), float(high)


def _own(data: Data) -> Table:
    """More problems, and more algorithms: HOG2 walked none of these."""
    lines = []
    for spec, budget in OWN:
        rows = data[spec].where(budget=budget)
        ratios = [row["suboptimality"] for row in rows if row["status"] == "reached"]
        numbers = [f"{measure(ratios):.{digits}f}" if ratios else "" for measure, digits in _MEASURES]
        spent = (f"{rows.total(name) or 0:.{digits}f}" for name, digits in _SPENT)
        lines.append([_name(spec, budget), f"{len(ratios)}/{len(rows)}", *numbers, *spent])
    header = ("", "arrived", "mean", "median", "max", "states/move", "us/move")
    return Table("Cost / optimal on problems of our own, nothing to compare", header, lines)


_MEASURES = ((fmean, 2), (median, 3), (max, 1))
_SPENT = (("states_per_move_mean", 1), ("microseconds_per_move", 2))

PAPER = Paper(
    "learning",
    "the learning family (Korf 1990; Koenig and Sun 2009; Hernández and Baier 2012) as HOG2 runs it",
    sweeps,
    (
        Item(
            "bg512",
            "LRTA* and LSS-LRTA* on Baldur's Gate",
            f"HOG2's walks on {len(HOG2)} problems with an optimal cost from 230 to 320, problem by problem.",
            f"Reproduced if for each algorithm the median and the geometric mean of our cost over HOG2's are within a "
            f"factor of {NEAR:g} of 1.",
            (*(PAIRS + spec for spec in _budgets(WALKS)), *_budgets(OWN)),
            bg512,
        ),
    ),
)
