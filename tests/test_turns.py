"""Whose turn it is where a frame is too small for all: the bound that is promised, whatever agents need and use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import longest_wait
from timebound.crews import Crew, Herd
from timebound.fleet import Fleet

pytestmark = pytest.mark.once
MOST = 80  # agents


class Stand(Crew):
    """A crew without a shelf: its agents expand what they are told to."""

    def __init__(self, number: int, least: int, walks: bool) -> None:
        self.__dict__.update(
            number=number, least=least, order=np.zeros(MOST, np.int64), members=0, active=0, resting=0, cursor=0,
            weights=0, waiting=0, turns=0, share=least, walks=walks, _start=0, _chosen=np.zeros(0, int),
        )  # fmt: skip


class Play:
    """A fleet's frames without kernels, worlds or searches: who has a turn, and what it spends."""

    def __init__(self, data: st.DataObject, may_walk: bool = False) -> None:
        self.frame = data.draw(st.sampled_from([1, 2, 5, 10, 30, 100, 700] if may_walk else [1, 2, 5, 10, 30, 100]))
        limit = data.draw(st.one_of(st.just(self.frame), st.integers(1, self.frame)))
        self.random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
        self.fleet = Fleet(tb.Grid([[1, 1]]), "lrta*", frame_expansions=self.frame)
        self.roster: Any = self.fleet._roster
        self.roster.limit = limit
        weights: list[int] = []
        crew_of: list[int] = []
        heavy = data.draw(st.booleans())
        for number in range(data.draw(st.integers(1, 4))):
            walks = may_walk and data.draw(st.booleans())
            crew = Stand(number, min(limit, 1 if walks else data.draw(st.sampled_from([1, 1, 4, 9]))), walks)
            self.roster.crews[number] = self.roster.holders[number] = crew
            for _ in range(data.draw(st.sampled_from([1, 2, 8, 20]))):
                weight = int(self.random.choice([1, 1, 2, 3])) if heavy else 1
                crew.order[crew.members] = len(weights)
                crew.members, crew.active, crew.weights = crew.members + 1, crew.active + 1, crew.weights + weight
                weights.append(weight)
                crew_of.append(number)
        count = len(weights)
        self.roster._enlarge(max(count, 64))
        self.roster.count = count
        episodes = self.roster.episodes
        episodes["status"][:count], episodes["served"][:count] = 0, 0
        episodes["crew"][:count], episodes["weight"][:count] = crew_of, weights
        self.uses = np.ones(count)
        self.hungry = 0.0  # how often an agent has nothing left to walk along
        self.spent = 0
        self.walked = np.zeros(count, bool)
        crews = [self.roster.crews[n] for n in crew_of]
        kinds = [(weight, crew.least, crew.walks) for weight, crew in zip(weights, crews, strict=True)]
        self.bound = longest_wait(self.frame, limit, kinds)
        self.fleet._act = self.act  # type: ignore[method-assign]

    def act(self, crew: Crew, order: np.ndarray, first: int, last: int, share: int, deadline: int) -> int:
        spent, episodes = 0, self.roster.episodes
        for k in order[first:last].tolist():
            if share == 0:
                # It walks, unless it has had its turn; now and then that was the last that it knew.
                if episodes["status"][k] == 0 and episodes["served"][k] < self.roster.number:
                    assert crew.walks
                    assert not self.walked[k], "nobody moves twice"
                    self.walked[k] = True
                    self.roster.wants[k] = self.random.random() < self.hungry
            elif crew.walks and episodes["served"][k] == self.roster.number:
                pass  # it had nothing to walk along, and was first
            elif episodes["status"][k] == 0:
                assert episodes["served"][k] < self.roster.number, "nobody has two turns"
                self.roster.wants[k] = self.random.random() < self.hungry / 2
                episodes["served"][k] = self.roster.number
                spent += int(min(self.roster.limit, share * int(episodes["weight"][k])) * self.uses[k])
        self.roster.noted_book[0] = 0
        return spent

    def tick(self) -> int:
        self.roster.number += 1
        self.walked[:] = False
        spent = self.fleet._spend(self.frame, [])
        assert spent <= self.frame
        return spent

    def waited(self) -> int:
        on_way = self.roster.column("status") == 0
        return int((self.roster.number - self.roster.column("served")[on_way]).max(initial=0))


@given(data=st.data())
@settings(max_examples=60)
def test_nobody_waits_longer_than_is_promised(data: st.DataObject) -> None:
    """Whether agents use their shares or not, and for however long they have not."""
    play = Play(data)
    crews = np.array(play.roster.column("crew"))
    for phase in range(4):
        play.uses = play.random.choice([0.0, 0.5, 1.0, 1.0], size=len(play.roster.crews))[crews]
        for _ in range(40 if phase < 3 else 3 * play.bound):
            play.tick()
            assert play.waited() <= play.bound


@given(data=st.data())
@settings(max_examples=60)
def test_nobody_waits_longer_where_others_walk_on(data: st.DataObject) -> None:
    """However many of those who walk on have nothing to walk along; and all have a turn, or walk if they can."""
    play = Play(data, may_walk=True)
    crews = np.array(play.roster.column("crew"))
    walks = np.array([play.roster.crews[n].walks for n in crews])
    play.roster.wants[: len(crews)] = walks
    for phase in range(4):
        play.uses = play.random.choice([0.0, 0.5, 1.0, 1.0], size=len(play.roster.crews))[crews]
        play.hungry = float(play.random.choice([0.0, 0.1, 0.5, 1.0]))
        for _ in range(40 if phase < 3 else 3 * play.bound):
            play.tick()
            assert play.waited() <= play.bound
            served = play.roster.column("served") == play.roster.number
            assert not (served & play.walked).any()
            if play.walked.any():
                assert (served | play.walked)[walks].all()


@given(data=st.data())
@settings(max_examples=40)
def test_who_rests_takes_nothing_from_the_others(data: st.DataObject) -> None:
    play = Play(data)
    for crew in play.roster.crews.values():
        resting = play.random.random(crew.members) < 0.5
        resting[0] = False
        for k in crew.order[: crew.members][resting].tolist():
            play.roster.episodes["status"][k] = 1
            crew.rest(1, int(play.roster.episodes["weight"][k]))
    for _ in range(2 * play.bound):
        play.tick()
        assert play.waited() <= play.bound


def test_who_comes_back_stops_nobody() -> None:
    """It has its place in the order from before, though it begins to wait now; those behind it have waited longer."""
    fleet = tb.Fleet(tb.Grid(np.ones((40, 40), bool)), "lrta*", frame_expansions=1)
    restless, patient = fleet.add([(0, 0), (0, 1)], (39, 39))
    fleet.add([(1, col) for col in range(20)], (39, 39), spec="tb-wa*")
    for _ in range(100):
        fleet.send([restless], fleet.positions[restless])  # it has arrived,
        fleet.send([restless], (39, 39))  # and is on its way again
        fleet.tick()
        assert fleet.stats.waited[patient] <= 22


@given(data=st.data(), followers=st.integers(1, 30))
@settings(max_examples=40)
def test_a_field_has_its_part_and_no_more(data: st.DataObject, followers: int) -> None:
    """As the units that follow it would: also beside agents each of which needs the whole frame."""
    play = Play(data)
    herd = Herd(-2, 0, tb.DistanceField(tb.Grid([[1, 1]]), (0, 0)))
    for k in range(1000, 1000 + followers):
        herd.join(k, 1)
    play.roster.herds[0] = herd
    grown: list[int] = []

    def grow(_: Herd, part: int, faults: list[Exception]) -> int:
        assert part > 0
        grown.append(part)
        return part

    play.fleet._grow = grow  # type: ignore[method-assign, assignment]
    weights = sum(crew.weights for crew in play.roster.crews.values())
    total = weights + followers
    part = play.frame * followers / total
    shares = [max(crew.least, play.frame // total) for crew in play.roster.crews.values()]
    most = min(play.roster.limit, max(shares) * int(play.roster.column("weight").max()))
    bound = math.ceil(total * most / max(most, play.frame - most + 1)) + total / weights
    for tick in range(1, 200):
        play.tick()
        assert play.waited() <= bound
        assert part * tick - 2 * play.frame <= sum(grown) <= part * tick + 1e-3


def test_those_who_fit_have_what_is_left() -> None:
    """One in need of much does not stop those in need of little, and is first in the next frame."""
    world = tb.Grid(np.ones((50, 50), bool))
    fleet = tb.Fleet(world, "lrta*:depth=3", frame_expansions=40)
    deep = fleet.add([(20, 20)] * 2, (49, 49))  # 25 each
    flat = fleet.add([(1, 0)] * 10, (49, 49), spec="lrta*")
    for tick in range(1, 9):
        assert fleet.tick() == 11
        assert fleet.moved[flat].all()
        assert fleet.moved[deep].tolist() == ([True, False] if tick % 2 else [False, True])
