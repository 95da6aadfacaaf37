"""Races and crowds to look at: what the frames say is what the agents know."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import timebound as tb
from frames import Page, read
from helpers import COMPILED
from timebound.crowd import Crowd as RandomCrowd
from timebound.kernels.heuristic_values import values_as_dict
from timebound.kernels.views import aim, estimate, locate
from timebound.viewer.race import COUNTERS, Crowd, Race

# What is compiled for watched agents is tried in tests/test_traces.py; here it would be compiled for many more.
pytestmark = pytest.mark.skipif(COMPILED, reason="the same with the JIT off")

NAMES = [name for name, _, _ in COUNTERS]


def rooms() -> tb.Grid:
    return tb.Grid(tb.generate.rooms((12, 17), room=4, seed=3))


def race_of(*specs: str, budget: int = 20) -> Race:
    return Race(rooms(), specs, budget=budget, seed=1)


def counter(lane: dict, name: str) -> float:
    return lane["counters"][NAMES.index(name)]


def test_frames_say_what_the_agents_know() -> None:
    race = race_of("tba*", "lrta*", "a*", budget=9)
    page = Page(race.map_bytes())
    assert (page.costs == race.world.free).all()
    for ticks in (1, 1, 7, 60, 2000):
        race.tick(ticks)
        page.take(race.frame())
        for lane, known in zip(race.lanes, page.lanes, strict=True):
            agent = lane.agent
            assert agent is not None
            assert divmod(known["position"], race.ground.cols) == agent.position == tuple(agent.trail()[-1])
            cells = [cell & 0x7FFFFFFF for cell in known["trail"]]
            assert cells == [row * race.ground.cols + col for row, col in agent.trail().tolist()]
            assert sum(cell >> 31 for cell in known["trail"]) == agent.back_moves
            assert known["ahead"] == [row * race.ground.cols + col for row, col in agent.ahead(likely=True).tolist()]
            result = agent.result()
            told = [counter(known, name) for name in ("tick", "moves", "expanded", "revisits", "back_moves", "memory")]
            assert told == [
                agent.ticks, result.moves, result.expansions, result.revisits, result.back_moves, result.memory_states,
            ]  # fmt: skip
            assert counter(known, "cost") == pytest.approx(result.cost)
            assert counter(known, "last") == result.expansions_per_move[-1]
    assert [known["status"] for known in page.lanes] == [1, 1, 1]
    for lane, known in zip(race.lanes, page.lanes, strict=True):
        best = tb.solve(race.world, race.start, race.goal, "a*").cost
        assert counter(known, "over") == pytest.approx(lane.agent.cost / best)


@pytest.mark.parametrize("spec", ["tb-wa*", "a*", "k-lrta*", "p-lrta*", "ribs"])
def test_marks_are_those_of_the_last_search(spec: str) -> None:
    """Read event by event, with dictionaries, in an agent of its own."""
    race, trace = race_of(spec, budget=9), tb.Trace()
    page, agent = Page(race.map_bytes()), tb.agent(spec, race.world, race.start, race.goal, budget=9, trace=trace)
    for ticks in (1, 1, 2, 5, 400):
        race.tick(ticks)
        agent.run(ticks)
        page.take(race.frame())
        marks: dict[int, list[float]] = {}
        for event in trace:
            if event.level or event.what not in ("begun", "generated", "expanded"):
                continue
            cell = event.where[0] * race.ground.cols + event.where[1]
            if event.what == "begun":
                marks.clear()
            g, h = (math.nan if value is None else value for value in (event.g, event.h))
            if event.what == "expanded":
                old = marks.get(cell, [0, math.nan, math.nan])
                marks[cell] = [2, old[1] if math.isnan(g) else g, old[2] if math.isnan(h) else h]
            else:
                marks[cell] = [1, g, h]
        told = page.lanes[0]["marks"]
        assert told.keys() == marks.keys()
        for cell, mark in marks.items():
            assert [math.nan if value is None else value for value in told[cell]] == pytest.approx(mark, nan_ok=True)


@pytest.mark.parametrize("spec", ["lrta*", "k-lrta*", "rtaa*", "p-lrta*", "lrta*:depth=3"])
def test_learned_values_are_those_of_the_planner(spec: str) -> None:
    race = race_of(spec, budget=25)
    page, world = Page(race.map_bytes()), race.world

    def check() -> None:
        agent = race.lanes[0].agent
        target, known = aim(world.view, world.place_of(race.goal)), page.take(race.frame()).lanes[0]["learned"]
        expected = {}
        for s, value in values_as_dict(agent._planner.state.values).items():
            above = value / 1024 - estimate(world.view, target, s, locate(world.view, s))
            if above > 0:
                row, col = world.point_of(s)
                expected[row * race.ground.cols + col] = above / world.unit
        assert {cell: above for cell, above in known.items() if above > 1e-4} == pytest.approx(expected, abs=1e-4)

    for ticks in (3, 20, 30):
        race.tick(ticks)
        check()
    race.set_goal(race.hello()["goal"] - 1)  # a goal that moves brings them down
    check()
    race.tick(3)
    race.paint([race.hello()["start"]], 0)
    race.paint([race.hello()["start"]], 1)  # what opens makes them be forgotten
    race.tick(2)
    check()


def test_a_new_page_is_told_all_at_once() -> None:
    race = race_of("tb-wa*", "k-lrta*")
    page = Page(race.map_bytes())
    for _ in range(4):
        race.tick(3)
        page.take(race.frame())
    race.paint([5], 0)
    page.take(race.frame())
    fresh = Page(race.map_bytes()).take(race.whole())
    assert fresh.lanes == page.lanes
    assert (fresh.costs == page.costs).all()
    race.tick(2)
    told = race.frame()
    assert fresh.take(told).lanes == page.take(told).lanes  # `whole` has disturbed nothing


def test_walls_and_goals_change_on_the_way() -> None:
    race = race_of("tba*", "k-lrta*", "a*")
    wall = np.flatnonzero(race.world.free[:, 8]) * race.ground.cols + 8
    page = Page(race.map_bytes())
    race.tick(2)
    assert race.paint(wall, 0) == len(wall)
    race.tick(5000)
    page.take(race.frame())
    assert [known["status"] for known in page.lanes] == [2, 2, 2]
    assert race.done
    assert (page.costs == race.world.free).all()
    assert {known["tick"] for known in page.lanes} == {5002}  # they have waited together
    race.paint(wall, 1)
    assert not race.done
    race.tick(500)
    assert [known["status"] for known in page.take(race.frame()).lanes] == [1, 1, 1]
    race.set_goal(race.start[0] * race.ground.cols + race.start[1])
    race.tick(500)
    assert {known["position"] for known in page.take(race.frame()).lanes} == {race.hello()["start"]}


def test_waste_is_what_the_agent_did_not_have_to_pay() -> None:
    """A wall that is painted later is no fault of its: who walks shortest ways stays at 1."""
    race = Race(tb.Grid([[1] * 9] * 3), ["a*"], (1, 0), (1, 8), budget=None)
    race.tick(2)
    read(race.frame())
    race.paint([1 * 9 + 5, 0 * 9 + 5], 0)
    race.tick(100)
    (lane,) = read(race.frame())["lanes"]
    assert counter(lane, "over") == pytest.approx(1.0)
    assert counter(lane, "cost") > 8


def test_regions_and_subgoals_are_told_where_there_are_any() -> None:
    race = race_of("pr-lrta*:level=2", "a*")
    assert [lane["regions"] for lane in race.hello()["lanes"]] == [True, False]
    assert (read(race.regions_bytes(0))["regions"] == tb.regions(race.world, 2).ravel()).all()
    assert len(read(race.regions_bytes(1))["regions"]) == 0
    race.tick(1)
    first, second = read(race.frame())["lanes"]
    (subgoal,) = first["subgoals"].tolist()
    there = tb.regions(race.world, 2).ravel()
    assert there[subgoal] != there[first["trail"][0]]  # the middle of the region that it goes to
    assert not len(second["subgoals"])


def test_one_lane_fails_and_the_others_go_on() -> None:
    race = race_of("lrta*:depth=9", "a*", budget=5)  # too deep for the budget
    race.tick(3)
    assert [lane.status for lane in race.lanes] == ["error", "active"]
    assert "expansions per move" in race.hello()["lanes"][0]["error"]
    first, second = read(race.frame())["lanes"]
    assert first["status"] == 4
    assert all(math.isnan(value) for value in first["counters"])
    assert second["tick"] == 3


def test_hello_is_json_and_names_what_can_race() -> None:
    race = race_of("tb-wa*:weight=3", "rtaa*")
    hello = json.loads(json.dumps(race.hello(), allow_nan=False))
    assert [lane["name"] for lane in hello["lanes"]] == ["tb-wa*", "rtaa*"]
    names = {one["name"]: one for one in hello["algorithms"]}
    assert {"tba*", "k-lrta*", "a*", "ribs"} <= set(names)
    assert "knn-lrta*" not in names  # it needs a database
    for spec in names:
        race.set_lanes([spec])


def test_restarts_begin_anew() -> None:
    race = race_of("lrta*")
    page = Page(race.map_bytes())
    race.tick(9)
    epoch = page.take(race.frame()).lanes[0]["epoch"]
    race.place(race.hello()["goal"])
    race.tick()
    assert page.take(race.frame()).lanes[0]["trail"] == [race.hello()["goal"]]
    race.set_budget(30)
    assert (page.take(race.frame()).lanes[0]["epoch"] != epoch, page.lanes[0]["tick"]) == (True, 0)
    assert page.lanes[0]["trail"] == [race.hello()["start"]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda race: race.set_start(10**6), "start is a whole number from 0 to 203"),
        (lambda race: race.set_start(0), "is in a wall"),
        (lambda race: race.set_goal("here"), "goal is a whole number"),
        (lambda race: race.paint([3, 99999], 0), "whole numbers from 0 to 203"),
        (lambda race: race.paint([[]], math.nan), "painted with a cost"),
        (lambda race: race.paint([3], 5), "walls and floor only"),
        (lambda race: race.set_lanes(["nobody*"]), "there is no algorithm"),
        (lambda race: race.set_lanes(["a*"] * 7), "1 to 6 algorithms"),
        (lambda race: race.set_budget("soon"), "a budget is"),
        (lambda race: race.place(0), "is in a wall"),
        (lambda race: race.regions_bytes(5), "there is no lane 5"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_changes_nothing(call: object, said: str) -> None:
    race = race_of("a*")
    race.tick(3)
    with pytest.raises(tb.Error, match=said):
        call(race)  # type: ignore[operator]
    assert [lane.tick_count for lane in race.lanes] == [3]


def test_mud_is_painted_where_there_are_costs() -> None:
    race = Race(tb.Grid(np.ones((4, 4)), terrain=True), ["a*"], (0, 0), (3, 3))
    page = Page(race.map_bytes())
    assert race.paint([5, 6], 7) == 2
    race.paint([9], 0)
    page.take(race.frame())
    assert page.costs.ravel()[[5, 6, 9, 10]].tolist() == [7, 7, 0, 1]
    assert (page.costs == Page(race.map_bytes()).costs).all()


def test_a_crowd_is_where_its_fleet_is() -> None:
    world = rooms()
    crowd = Crowd(RandomCrowd(world, "tb-wa*", 30, frame_expansions=300, seed=2))
    crowd.tick(5)
    message = read(crowd.frame())
    where = [row * world.shape[1] + col for row, col in crowd.fleet.positions.tolist()]
    assert message["cells"].tolist() == where
    assert message["tick"] == 5
    assert dict(zip([one["name"] for one in crowd.hello()["stats"]], message["stats"], strict=True))["active"] > 0
    goal = int(np.flatnonzero(world.free.ravel())[0])
    crowd.set_goal(goal)
    crowd = Crowd(crowd.fleet)
    for _ in range(400):
        crowd.tick()
    assert set(read(crowd.frame())["cells"].tolist()) == {goal}
