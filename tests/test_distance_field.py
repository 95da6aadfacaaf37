"""Distance fields: equal to Dijkstra's algorithm after any edits, slices and moves of the goals; never a false word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from edited_worlds import edit_ground, edit_roads, grounds, roads
from helpers import COMPILED, Case, points
from naive.distance_field import distances, next_steps
from naive.repeated import Ground, Roads
from naive.worlds import Step


def is_wall(case: Case, place: Any) -> bool:
    return isinstance(case.twin, Ground) and not case.twin.is_free(*place)


def places(case: Case) -> list[Any]:
    """All there are, walls too."""
    if isinstance(case.twin, Ground):
        return [(row, col) for row in range(case.world.shape[0]) for col in range(case.world.shape[1])]
    return case.twin.points()


def in_its_units(case: Case) -> Case:
    """The same roads with the whole costs that the graph has: ties are then ties for both."""
    unit = case.world.unit
    arcs = {
        here: [
            Step(step.target, math.ceil(step.length * unit - 1e-9), step.length) for step in case.twin.successors(here)
        ]
        for here in case.twin.points()
    }
    return Case(case.world, Roads(arcs, unit, case.twin.estimate, case.twin.shift), case.start, case.goal)


class Judge:
    """A field, and what it must say."""

    def __init__(self, case: Case, random: np.random.Generator) -> None:
        self.case, self.random = case, random
        self.field = tb.DistanceField(case.world, *self.draw())

    def draw(self) -> tuple[Any, Any]:
        """Other goals, walls among them; with costs or without."""
        all_of_them = places(self.case)
        count = int(self.random.choice([1, 1, 1, 2, 5]))
        goals = [all_of_them[int(k)] for k in self.random.integers(len(all_of_them), size=count)]
        costs = self.random.choice([0.0, 0.5, -1.25, 3.0, 40.0], count) if self.random.random() < 0.4 else None
        unit = self.case.world.unit
        least = 0.0 if costs is None else float(costs.min())
        self.costs: dict[Any, int] = {}
        for goal, cost in zip(goals, np.zeros(count) if costs is None else costs, strict=True):
            whole = round((float(cost) - least) * unit)
            self.costs[goal] = min(whole, self.costs.get(goal, whole))
        self.offset = round(least * unit)
        return goals, costs

    def check(self, whole: bool = False) -> None:
        """What is told is true; if ``whole``, everything is told."""
        case, field = self.case, self.field
        best = distances(case.twin, self.costs)
        known = 0
        for place in places(case):
            told = field.distance(place)
            known += not math.isnan(told)
            if math.isnan(told):
                assert not whole
                assert not is_wall(case, place)
            elif is_wall(case, place) or place not in best:
                assert told == math.inf
            else:
                assert told * case.world.unit - self.offset == pytest.approx(best[place], abs=1e-3), place
                # A step from where the distance is known is one of the best.
                there = field.step(place)
                right = next_steps(case.twin, best, place)
                if best[place] == self.costs.get(place):
                    assert there is None
                else:
                    assert there in right
        if field.done:
            assert known == len(places(case))
        every = field.distances
        for place, told in zip(places(case), every.ravel(), strict=True):
            assert told == pytest.approx(field.distance(place), nan_ok=True)
        for place, there in zip(places(case), points(field.steps(places(case))), strict=True):
            step = field.step(place)
            assert there == (place if step is None else step)
            if there != place:
                assert there in [step.target for step in case.twin.successors(place)]

    def walk(self) -> None:
        """Paths cost what the distances say, and end at a goal."""
        best = distances(self.case.twin, self.costs)
        for place in places(self.case):
            path = self.field.path(place)
            if place not in best or is_wall(self.case, place):
                assert path is None
                continue
            states = points(path)
            assert states[0] == place
            total = self.costs[states[-1]]
            for here, there in zip(states, states[1:], strict=False):
                total += next(step.cost for step in self.case.twin.successors(here) if step.target == there)
            assert total == best[place]


def judged(case: Case, edit: Any, seed: int, rounds: int) -> None:
    random = np.random.default_rng(seed)
    judge = Judge(case, random)
    for _ in range(rounds):
        what = random.random()
        if what < 0.4:
            for _ in range(int(random.choice([1, 1, 4]))):
                edit(random, case)
            if random.random() < 0.3:
                judge.field.update()
        elif what < 0.5:
            judge.field.retarget(*judge.draw())
        elif what < 0.6:
            judge.field.grow()
        else:
            judge.field.grow(int(random.choice([1, 2, 3, 7, 20])))
        judge.check()
    judge.field.grow()
    assert judge.field.done
    judge.check(whole=True)
    judge.walk()


@given(case=grounds(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150 if COMPILED else 12)
def test_a_field_on_a_grid_that_changes(case: Case, seed: int) -> None:
    judged(case, edit_ground, seed, 25 if COMPILED else 12)


@given(case=roads(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150 if COMPILED else 12)
def test_a_field_on_a_graph_that_changes(case: Case, seed: int) -> None:
    judged(in_its_units(case) if case.world.labels is None else case, edit_roads, seed, 25 if COMPILED else 12)
