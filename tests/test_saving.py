"""Saves: what was saved and loaded goes on as if it had never been, and a file follows what was touched."""

from __future__ import annotations

import copy
import gc
import hashlib
import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, HOWTO, companion, refused
from small_databases import rooms
from test_agents_under_edits import agents
from test_interrupts import impatient, record
from timebound import episode
from timebound.algorithms import REGISTRY, agent_centered, parse_spec
from timebound.kernels import saving
from timebound.kernels.heuristic_values import new_values
from timebound.kernels.native import kind_of
from timebound.roster import RESTS
from timebound.worlds.abstraction import Abstraction

SOURCES = Path(__file__).resolve().parent.parent / "src"
SEEDS = st.integers(0, 2**62)


def reloaded(what: Any, protocol: int = 4) -> Any:
    return pickle.loads(pickle.dumps(what, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {"pickle": reloaded, "deepcopy": copy.deepcopy}


def side_by_side(name: str, seed: int, step: Callable[[Any], None]) -> None:
    """The same world, edits and agent twice: one is let alone, the other makes its steps in another way."""
    whole, saved = (agents.draw(seed, side=7 if COMPILED else 4, names=[name]) for _ in range(2))
    assume(whole.agent.budget.milliseconds is None)  # there the clock decides
    print(whole.what)
    for _ in range(16 if COMPILED else 6):
        for trial in (whole, saved):
            if trial.random.random() < min(trial.rate, 0.4):
                trial.edit()
            if trial is saved:
                step(trial)
            else:
                trial.agent.step()
            trial.model.settle()
        assert record(saved.agent) == record(whole.agent)
    most = 300 if COMPILED else 30
    assert record(saved.agent.run(most)) == record(whole.agent.run(most))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REGISTRY)
@given(seed=SEEDS)
@example(seed=60)  # a field with a budget of one expansion, saved before it had read what was edited
@settings(max_examples=20 if COMPILED else 4)
def test_an_agent_goes_on_as_if_it_had_not_been_saved(name: str, way: str, seed: int) -> None:
    """Saved with its world before every step, with edits made and posted since."""

    def step(trial: Any) -> None:
        trial.world, trial.agent = WAYS[way]((trial.world, trial.agent))
        assert trial.agent.world is trial.world
        trial.agent.step()

    side_by_side(name, seed, step)


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=SEEDS)
@settings(max_examples=20 if COMPILED else 4)
def test_an_agent_is_saved_in_the_middle_of_a_decision(name: str, seed: int) -> None:
    """Where it has paused, and after it was given room, as often as there is such a place."""
    calls = 0

    def wind_or_not(*clock: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise KeyboardInterrupt
        plain(*clock)

    def step(trial: Any) -> None:
        nonlocal calls
        calls = 0
        whole = False
        while not whole:
            try:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(episode, "wind", wind_or_not)
                    impatient(trial.agent, 1).step()
                whole = True
            except KeyboardInterrupt:
                trial.world, trial.agent = reloaded((trial.world, trial.agent), 5)

    plain = episode.wind
    side_by_side(name, seed, step)


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in ("ida*", "tba*", "tb-wa*", "tb-gbfs")])
def test_an_agent_is_saved_before_it_is_given_room(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_centered, "new_values", partial(new_values, pages=0))  # so that learners ask for more
    results, asked = [], 0
    for interrupted in (False, True):
        world = tb.Grid(np.ones((7, 7)))
        options = companion(name, world)
        world.block([(row, 4) for row in range(6)])
        agent = tb.agent(name, world, (0, 0), (0, 6), **options)
        for k in range(6):
            if k == 3:
                world.unblock((0, 4))
            if interrupted:
                planner: Any = agent._planner
                planner.enlarge = _interrupt
            try:
                agent.step()
            except KeyboardInterrupt:
                asked += 1
            if interrupted:
                del planner.enlarge
                agent, world = reloaded((agent, world))
                agent.run(1 + k - agent.ticks) if agent.ticks <= k else None
        results.append(record(agent.run()))
    assert results[0] == results[1]
    assert asked or name in ("a*", "wa*", "gbfs", "dijkstra", "rtb-wa*", "ribs", "field")


def _interrupt() -> None:
    raise KeyboardInterrupt


# --- fleets ----------------------------------------------------------------------------------------------------------


def crew(collisions: bool) -> tuple[tb.Fleet, np.ndarray]:
    """Agents of many kinds on a small map, and its free cells in some order."""
    side = 14 if COMPILED else 8
    random = np.random.default_rng(3)
    world = tb.Grid(random.random((side, side)) >= 0.15)
    cells = random.permutation(np.argwhere(world.free))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=40, collisions=collisions)
    starts, goals = iter(cells.tolist()), iter(cells[::-1].tolist())
    for name in ("tb-wa*", "tba*:shortcut=true", "lrta*", "p-lrta*", "k-lrta*", "ribs", "pr-lrta*:level=2"):
        fleet.add([next(starts) for _ in range(2)], [next(goals) for _ in range(2)], spec=name)
    knn = "knn-lrta*:otherwise=tb-wa*"
    fleet.add([next(starts)], [next(goals)], spec=knn, priority=3, **companion(knn, world))
    return fleet, cells


def play(fleet: tb.Fleet, cells: np.ndarray, first: int, ticks: int) -> list[Any]:
    """Some ticks of a game, from a tick on, and all that can be seen of them."""
    seen = []
    world: Any = fleet.world
    for k in range(first, first + ticks):
        where = cells[5 * k % len(cells)]
        if k % 3 == 1:
            (world.block if k % 2 else world.unblock)(where, later=k % 4 == 1)
        if k == 4:
            fleet.cancel([1])
        if k == 6:
            fleet.send([0, 2], cells[len(cells) // 2].tolist())
        moved = fleet.tick()
        seen.append([moved, fleet.positions.tolist(), fleet.statuses.tolist(), fleet.stats.last_expansions])
    return seen


@pytest.mark.parametrize("collisions", [False, True])
def test_a_fleet_goes_on_as_if_it_had_not_been_saved(collisions: bool) -> None:
    ticks = 12 if COMPILED else 8
    fleet, cells = crew(collisions)
    whole = play(fleet, cells, 0, ticks)
    assert sum(moved for moved, *_ in whole) > ticks
    fleet, _ = crew(collisions)
    for k in range(ticks):  # saved before every tick, in one way or the other
        before = fleet
        fleet = list(WAYS.values())[k % 2](fleet)
        assert play(fleet, cells, k, 1) == whole[k : k + 1]
        assert fleet.world is not before.world
    assert len(fleet) == len(before)
    fleet.cancel(np.flatnonzero(fleet.statuses != 99))
    assert fleet.active == 0


@pytest.mark.parametrize("way", WAYS)
def test_views_for_goals_are_shared_after_loading(way: str) -> None:
    """A graph with estimates for each goal: who is added later joins those who are bound for the same."""
    ends = np.arange(30)

    def scene(save: bool) -> list[Any]:
        estimates = {int(goal): np.abs(ends - goal).astype(float) for goal in ends}
        world = tb.Graph(ends[:-1], ends[1:], directed=False, heuristic=estimates)
        fleet = tb.Fleet(world, "lrta*", frame_expansions=2)
        fleet.add([0, 1, 2], 29)
        fleet.tick()
        if save:
            fleet = WAYS[way](fleet)
        fleet.add([3, 4, 5], 29)
        return [(fleet.tick(), fleet.moved.tolist(), fleet.positions.tolist()) for _ in range(6)]

    assert scene(True) == scene(False)


@pytest.mark.parametrize("name", [name for name, algorithm in REGISTRY.items() if algorithm.real_time])
@pytest.mark.parametrize("way", WAYS)
def test_orders_before_the_first_tick_after_loading(name: str, way: str) -> None:
    """With an edit that the agents have not heard of: what they hold may not be what it was. In fleets and alone."""
    side = 14 if COMPILED else 9

    def scene(save: bool) -> list[Any]:
        world = tb.Grid(np.random.default_rng(5).random((side, side)) >= 0.1)
        cells = np.random.default_rng(6).permutation(np.argwhere(world.free)).tolist()
        fleet = tb.Fleet(world, name, frame_expansions=200, **companion(name, world))
        ids = fleet.add(cells[:4], cells[4:8])
        agent = tb.agent(name, world, cells[0], cells[4], **companion(name, world))
        for _ in range(3):
            fleet.tick()
            agent.step()
        taken = {*map(tuple, fleet.positions.tolist()), agent.position}
        spots = [tuple(cell) for cell in cells[8:] if tuple(cell) not in taken]
        world.block(spots[0])
        if save:
            fleet, agent = WAYS[way]((fleet, agent))
        fleet.send(ids[:2], spots[1])
        fleet.place(ids[2:], spots[2:4])
        agent.retarget(spots[1]).place(spots[2])
        seen = []
        for _ in range(6):
            fleet.tick()
            agent.step()
            seen.append([fleet.positions.tolist(), fleet.statuses.tolist(), agent.position, agent.expansions])
        return seen

    assert scene(save=True) == scene(save=False)


def test_a_crew_that_nobody_is_in_keeps_its_place() -> None:
    """Whose turn it is depends on the order of crews, of those too that are empty now."""
    fleets = []
    for saves in (False, True):
        world = tb.Grid(np.ones((6, 6)))
        fleet = tb.Fleet(world, "lrta*", frame_expansions=2)
        for name in ("tb-wa*", "lrta*", "ribs"):
            fleet.cancel(fleet.add([(0, 0)], (5, 5), spec=name))
        fleet = reloaded(fleet) if saves else fleet
        fleet.add([(0, 0), (5, 0)], (5, 5), spec="ribs")
        fleet.add([(0, 1), (5, 1)], (5, 5), spec="tb-wa*")
        assert [one.number for one in fleet._roster.crews.values()] == [0, 1, 2]
        assert [one.active for one in fleet._roster.crews.values()] == [2, 0, 2]
        fleets.append([(fleet.tick(), fleet.positions.tolist()) for _ in range(8)])
    assert fleets[0] == fleets[1]


def test_threads_are_made_anew() -> None:
    fleet = tb.Fleet(tb.Grid(np.ones((9, 9))), "tb-wa*", frame_expansions=1000, threads=2)
    fleet.add([(0, k % 9) for k in range(80)], [(8, 8 - k % 9) for k in range(80)])
    fleet.tick()
    same = reloaded(fleet)
    while fleet.active:
        assert fleet.tick() == same.tick()
        assert np.array_equal(fleet.positions, same.positions)
    assert not same.active


def test_a_frame_in_milliseconds_goes_on() -> None:
    fleet = tb.Fleet(tb.Grid(np.ones((9, 9))), "tba*", frame_ms=5.0)
    fleet.add([(0, 0)], (8, 8))
    fleet.tick()
    fleet._roster.episodes["deadline"][0], fleet._roster.episodes["deciding"][0] = (
        1 << 62,
        1 << 60,
    )  # half-way, by another clock
    same = reloaded(fleet)
    assert same._roster.episodes["deadline"][0] == 1
    for _ in range(200):
        same.tick()
    assert same.status(0) == "reached"


# --- worlds, and who shares them -------------------------------------------------------------------------------------


def test_one_file_has_one_world() -> None:
    world = tb.Grid(np.ones((5, 9)))
    fleet = tb.Fleet(world, "lrta*", frame_expansions=9)
    walkers = [tb.agent(name, world, (0, 0), (4, 8)) for name in ("rtb-wa*", "lrta*")]
    same, (one, other), crowd = reloaded((world, walkers, fleet))
    assert one.world is other.world is crowd.world is same
    same.block([(row, 4) for row in range(5)])
    assert [agent.run().status for agent in (one, other)] == ["unreachable"] * 2
    assert walkers[0].run().status == "reached"


@pytest.mark.compiled
@pytest.mark.parametrize("name", REGISTRY)
def test_a_copy_may_stay_in_the_world(name: str) -> None:
    """``copy.copy`` gives another agent in the same world, which hears of its edits and shares no arrays."""
    world = tb.Grid(np.ones((5, 6)))
    options = companion(name, world)
    agent = tb.agent(name, world, (0, 0), (4, 5), **options)
    agent.run(2)
    twin = copy.copy(agent)
    assert twin.world is world
    assert twin._view is world.view
    world.block([(row, 4) for row in range(1, 5)])
    results = [record(one.run()) for one in (agent, twin)]
    assert results[0] == results[1]
    assert results[0]["status"] == "reached"
    # Arrays are given back, and only once.
    del agent, twin
    gc.collect()
    assert len({id(one) for one in world.spare}) == len(world.spare)


@given(seed=SEEDS)
@settings(max_examples=40 if COMPILED else 8)
def test_a_world_is_the_same_world(seed: int) -> None:
    """Edited before, with edits that wait, and edited after: with the log that the other has."""
    trial = agents.draw(seed, side=6, names=["a*"])
    for _ in range(6):
        trial.edit()
    world = trial.world
    if not refused("pra*", world) and seed % 2:
        Abstraction.of(world).height  # noqa: B018
        trial.edit()
    for same in (reloaded(world), copy.deepcopy(world), copy.copy(world)):
        assert (same.digest, repr(same), same.changes.count) == (world.digest, repr(world), world.changes.count)
        assert same.changes.since(0) == world.changes.since(0)
        assert same.changes.catch_up() == len(world.changes._queue)
        assert not same.spare
    world.changes.catch_up()
    assert same.digest == world.digest
    assert same.changes.edited.tolist() == world.changes.edited.tolist()
    for mine, its in zip(same.view, world.view, strict=True):
        assert np.array_equal(mine, its)
        assert not isinstance(mine, np.ndarray) or not np.shares_memory(mine, its) or mine.size == 0
    if not refused("pra*", world):
        for level in range(1, Abstraction.of(world).height + 1):
            assert np.array_equal(tb.regions(world, level), tb.regions(same, level))


def test_estimates_that_are_given_for_each_goal() -> None:
    world = tb.Graph([0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, 1.0, 9.0], directed=False, heuristic={3: [3, 2, 1, 0]})
    agent = tb.agent("tba*", world, 0, 3, budget=1)
    agent.step()
    twin, other = copy.copy(agent), reloaded(agent)
    assert twin._view.cost is world.view.cost
    assert other._view.cost is other.world.view.cost
    assert other._view.distances.tolist() == agent._view.distances.tolist()
    for changed in (world, other.world):
        changed.block(1, 2)
    assert {record(one.run())["cost"] for one in (agent, twin, other)} == {agent.cost}


def test_a_view_of_a_world_that_is_no_more() -> None:
    """Nobody can find it again at its world: it is saved as it is."""
    view, log = tb.Grid([[1, 1]]).view, tb.Grid([[1, 1]]).changes
    gc.collect()
    assert np.array_equal(reloaded(view).moves, view.moves)
    assert reloaded(log).count == 0
    assert reloaded(log.view).total.tolist() == [0]


# --- agents that are done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_an_agent_that_is_done(name: str) -> None:
    """Its arrays are somebody else's by now; its record is its own, and it may begin another trial."""
    world = tb.Grid(np.ones((5, 5)))
    options = companion(name, world)
    agent = tb.agent(name, world, (0, 0), (4, 4), **options).run()
    other = tb.agent(name, world, (0, 4), (4, 0), **options)
    other.run(2)
    same = reloaded(reloaded(agent))
    assert record(same) == record(agent)
    assert same.details() == agent.details()
    assert len(same.ahead()) == 0
    assert record(same.restart().run()) == record(agent.restart().run())
    assert record(other.run())["status"] == "reached"


@pytest.mark.parametrize("name", REGISTRY)
def test_a_proof_that_holds_until_an_edit(name: str) -> None:
    world = tb.Grid(np.ones((3, 3)))
    options = companion(name, world)
    world.block([(row, 1) for row in range(3)])
    agent = tb.agent(name, world, (0, 0), (0, 2), **options).run()
    same = reloaded(agent)
    assert agent.status == same.status == "unreachable"
    for one in (agent, same):
        one.world.unblock((2, 1))
        assert one.status == "active"
    assert record(agent.run()) == record(same.run())
    assert same.status == "reached"


@pytest.mark.parametrize("name", REGISTRY)
def test_a_budget_in_time(name: str) -> None:
    world = tb.Grid(np.ones((5, 5)))
    agent = tb.agent(name, world, (0, 0), (4, 4), budget="20ms", **companion(name, world))
    agent.step()
    agent._record["deadline"], agent._record["deciding"] = 1 << 62, 1 << 60  # half-way, by another clock
    same = reloaded(agent)
    assert same._record["deadline"][0] < 1 << 62
    assert same.run(5000).status == "reached"


# --- what a file holds -----------------------------------------------------------------------------------------------


def own_size(agent: Any, database: Any = None) -> int:
    """Bytes of an agent, or a fleet, besides its world and its database."""
    others = (agent.world, database)
    return len(pickle.dumps((others, agent))) - len(pickle.dumps(others))


@pytest.mark.compiled
@pytest.mark.parametrize("name", REGISTRY)
def test_a_file_follows_what_was_touched(name: str) -> None:
    """On a large map, with a workspace in which another has searched all of it before."""
    world = tb.Grid(np.ones((600, 600)))
    kind = parse_spec(name).database
    options = {"database": kind.empty(world)[0]} if kind is not None else {}
    far = tb.agent(name if REGISTRY[name].real_time else "a*", world, (0, 0), (599, 599), move_limit=700, **options)
    far.run()
    agent = tb.agent(name, world, (0, 0), (590, 580), budget=30, **options)
    assert own_size(agent, **options) < 10_000
    agent.run(3)
    assert own_size(agent, **options) < 30_000, "some pages, of which not all is in use"
    assert len(pickle.dumps(world)) < 600 * 600 // 8 + 20_000
    assert record(reloaded(agent).run(40)) == record(agent.run(40))


@pytest.mark.compiled
def test_a_file_of_a_fleet_follows_what_was_touched() -> None:
    fleet = tb.Fleet(tb.Grid(np.ones((1000, 1000))), "tb-wa*", frame_expansions=2000)
    fleet.add([(k, 0) for k in range(100)], (900, 900))
    fleet.tick()
    assert own_size(fleet) < 100 * 7000


def test_arrays_lie_side_by_side_again() -> None:
    """A system keeps only so many pieces of memory apart."""
    agent = reloaded(tb.agent("tb-wa*", tb.Grid(np.ones((20, 20))), (0, 0), (19, 19), budget=3).run(2))
    planner: Any = agent._planner
    state, lent = planner.state, planner._workspace
    if state.table.pages.words.base is None:
        pytest.skip("this system has no small pages")
    assert state.table.pages is state.queue.pages is lent._store.pages
    assert np.shares_memory(state.table.pages.words, state.table.pages.halves)
    for array in (*state.table.pages[:4], state.paths):
        assert array.base is lent._room._pages
    assert state.table is lent.table is state.cut_table
    assert state.queue is lent.queue
    assert np.shares_memory(lent.paths, state.paths)
    assert agent.run().status == "reached"


def outline(value: Any) -> Any:
    """Names and types of all that a value holds, but not how much."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype.descr), value.ndim]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: outline(part) for name, part in zip(value._fields, value, strict=True)}
    return type(value).__name__


LAYOUT = "136cf4e88c750329"


@pytest.mark.compiled
def test_what_is_saved_is_stored_as_it_was() -> None:
    """If this fails: raise ``saving.FORMAT`` if a released version had the other one, and put the new digest here."""
    world = tb.Grid(np.ones((4, 4)))
    parts: dict[str, Any] = {"format": saving.FORMAT}
    for kind in (world, tb.Grid(np.ones((4, 4)), terrain=True), world.to_graph(), tb.TilePuzzle(3, 3)):
        parts[repr(kind)] = sorted(kind.__getstate__()), outline(kind.view)
    for name in (*REGISTRY, "knn-lrta*:otherwise=tb-wa*", "d-lrta*:depth=tree", "tba*:shortcut=true"):
        agent = tb.agent(name, world, (0, 0), (3, 3), **companion(name, world))
        state = agent.__getstate__()
        planner = agent._planner
        kept = planner.__getstate__() if hasattr(planner, "__getstate__") else planner.__dict__
        names = sorted(kept) if isinstance(kept, dict) else [type(part).__name__ for part in kept]
        parts[name] = sorted(state), outline(agent._record), names, outline(planner.state)
    fleet = tb.Fleet(world)
    fleet.add([(0, 0)], (3, 3))
    parts["fleet"] = sorted(fleet.__getstate__()), sorted(fleet._roster.__getstate__())
    parts["crew"] = sorted(next(iter(fleet._roster.crews.values())).__getstate__())
    digest = hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()
    assert digest == LAYOUT


@pytest.mark.parametrize("name", REGISTRY)
def test_nothing_is_compiled_for_what_was_loaded(name: str) -> None:
    """Its arrays are of the kinds that they were; and kinds themselves are found again."""
    world = tb.Grid(np.ones((9, 9)))
    agent = tb.agent(name, world, (0, 0), (8, 8), **companion(name, world))
    kind = kind_of(agent._planner.state)
    for same in (reloaded(agent), reloaded(agent, 5), copy.deepcopy(agent), copy.copy(agent)):
        assert kind_of(same._planner.state) is kind
        assert kind_of(same._view) is kind_of(agent._view)
    assert reloaded(kind) is copy.deepcopy(kind) is kind


# --- other versions, other processes ---------------------------------------------------------------------------------


def sentence(call: Callable[[], object], kind: type[tb.Error] = tb.Error) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tb.Grid([[1, 1]])
    things = [world, tb.agent("lrta*", world, (0, 0), (0, 1)), tb.Fleet(world), tb.TilePuzzle(2, 2)]
    for name, value, words in [
        ("FORMAT", 7, "stores things otherwise than {0} (format 7, not {1}); load it with that version"),
        ("COMPILED", not COMPILED, "see NUMBA_DISABLE_JIT"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(saving, name, value)
            files = [pickle.dumps(thing) for thing in things]
        for thing, file in zip(things, files, strict=True):
            text = sentence(lambda file=file: pickle.loads(file))  # type: ignore[misc]
            assert text.startswith((f"this {type(thing).__name__} was saved", "this Grid was saved"))
            assert words.format(tb.__version__, saving.FORMAT) in text


CHILD = """
import json, pickle, sys
world, agents, fleet = pickle.load(open(sys.argv[1], "rb"))
world.block([(row, 6) for row in range(1, 12)])
facts = [agent.run(400).result().to_dict() for agent in agents]
moves = [[fleet.tick(), fleet.positions.tolist()] for _ in range(30)]
for one in facts:
    del one["planning_seconds"]
print(json.dumps([facts, moves]))
"""


@pytest.mark.compiled
def test_another_process_goes_on(tmp_path: Path) -> None:
    world = rooms()
    tb.prepare(world, tmp_path / "rooms.db", records=20, seed=1)
    database = tb.load_database(tmp_path / "rooms.db", world)
    world.block((0, 3), later=True)
    (start, goal), *_ = [(problem.start, problem.goal) for problem in tb.problems(world, 1, seed=2)]
    walkers = [
        tb.agent(name, world, start, goal, budget=30, database=database if name.startswith("knn") else None).run(5)
        for name in ("tba*", "lrta*", "knn-lrta*", "knn-lrta*:otherwise=tb-wa*", "k-lrta*", "pra*", "pr-lrta*")
    ]
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=100)
    fleet.add([start] * 3, goal)
    fleet.add([start], goal, spec="knn-lrta*", database=database)
    fleet.tick()
    (tmp_path / "saved").write_bytes(pickle.dumps((world, walkers, fleet)))
    child = [sys.executable, "-c", CHILD, str(tmp_path / "saved")]
    told = subprocess.run(child, capture_output=True, text=True, check=True, env=_with_sources()).stdout
    world.block([(row, 6) for row in range(1, 12)])
    facts = [record(agent.run(400)) for agent in walkers]
    moves = [[fleet.tick(), fleet.positions.tolist()] for _ in range(30)]
    assert json.loads(told) == json.loads(json.dumps([facts, moves]))


def _with_sources() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(SOURCES)}


# --- algorithms from outside -----------------------------------------------------------------------------------------


def test_an_algorithm_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of HOWTO.md has not a line about saves."""
    (tmp_path / "depth_first_saved.py").write_text(HOWTO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(REGISTRY, "_others", {})
    module = importlib.import_module("depth_first_saved")
    tb.register(module.ALGORITHM)
    world = tb.Grid(np.ones((6, 6)))
    world.block([(row, 3) for row in range(5)])
    agent = tb.agent("depth-first", world, (0, 0), (0, 5))
    fleet = tb.Fleet(world, "depth-first", frame_expansions=10)
    fleet.add([(0, 0), (5, 0)], (0, 5))
    while not agent.done:
        agent, fleet = reloaded((agent, fleet))
        agent.step()
        fleet.tick()
    whole = tb.agent("depth-first", tb.Grid(world.free), (0, 0), (0, 5)).run()
    assert record(agent) == record(whole)
    assert fleet.positions[0].tolist() == [0, 5]
    file = pickle.dumps(agent)
    monkeypatch.setattr(REGISTRY, "_others", {})
    assert sentence(lambda: pickle.loads(file), tb.SpecError) == (
        "this was saved with the algorithm 'depth-first', which is not known here; tb.register it, or install the "
        "package that has it, before loading"
    )


def test_an_agent_at_work_is_not_saved() -> None:
    agent = tb.agent("a*", tb.Grid([[1, 1]]), (0, 0), (0, 1))
    agent._hands[0] = 1  # somebody's
    assert "in use by another thread" in sentence(lambda: pickle.dumps(agent))


# --- databases -------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> tuple[tb.Grid, Path]:
    world = tb.Grid(tb.generate.rooms((12, 12), room=4, seed=1))
    tb.prepare(world, tmp_path / "a.db", mode="trees", records=6, seed=1)
    gc.collect()
    return world, tmp_path / "a.db"


def test_a_database_is_saved_by_its_file(stored: tuple[tb.Grid, Path]) -> None:
    world, path = stored
    database = tb.load_database(path, world)
    assert copy.deepcopy(database) is database
    file = pickle.dumps(database)
    assert len(file) < 1000
    assert pickle.loads(file) is database, "it is open already"
    agent = tb.agent("knn-lrta*", world, (1, 1), (10, 10), database=database)
    world.block((5, 5))  # the map is not that of the database any more
    both = pickle.dumps((agent, agent, database))
    digest = database.digest
    del database, agent
    gc.collect()
    again, _, found = pickle.loads(both)
    assert (found.digest, len(found)) == (digest, 6)
    assert again._planner.state.records is found.records
    assert not found.records.starts.flags.writeable
    assert again.run(500).status in ("reached", "active")


def test_a_database_file_that_is_not_there(stored: tuple[tb.Grid, Path]) -> None:
    world, path = stored
    database = tb.load_database(path, world)
    file, digest = pickle.dumps(database), database.digest
    checksum = database._file[1]
    del database
    gc.collect()
    moved = path.rename(path.with_name("b.db"))
    text = sentence(lambda: pickle.loads(file), tb.DatabaseError)
    assert text == (
        f"this was saved with the database {path}, whose checksum is {checksum}, for the map {digest}, but there is no "
        f"file {path}; put that one back, or open it from where it is now with tb.load_database before loading"
    )
    found = tb.load_database(moved, world)
    assert pickle.loads(file) is found


def test_a_database_file_that_is_another_one(stored: tuple[tb.Grid, Path]) -> None:
    world, path = stored
    database = tb.load_database(path, world)
    file, checksum = pickle.dumps(database), database._file[1]
    tb.prepare(world, path, mode="trees", records=7, seed=2)
    other = tb.load_database(path, world)._file[1]
    del database
    gc.collect()
    text = sentence(lambda: pickle.loads(file), tb.DatabaseError)
    assert f"whose checksum is {checksum}" in text
    assert f"but by now the file is another one, whose checksum is {other}" in text
    path.write_bytes(b"nonsense")
    assert "is no database of timebound" in sentence(lambda: pickle.loads(file), tb.DatabaseError)


@pytest.mark.parametrize("name", ["knn-lrta*", "d-lrta*:level=1", "pr-lrta*:level=1,depth=pdb,goal=pdb"])
def test_a_database_in_memory_is_saved_whole(name: str) -> None:
    world = tb.Grid(tb.generate.rooms((12, 12), room=4, seed=1))
    database = companion(name, world)["database"]
    same = reloaded(database)
    assert same is not database
    assert (same.digest, same.settings, same.rules) == (database.digest, database.settings, database.rules)
    held, kept = (getattr(one, "records", None) or one.patterns for one in (same, database))
    for mine, its in zip(held, kept, strict=True):
        assert np.array_equal(mine, its)
        assert mine.dtype == its.dtype
        assert not mine.flags.writeable
    agents = [tb.agent(name, world, (1, 1), (10, 10), database=one).run(300) for one in (database, same)]
    assert record(agents[0]) == record(agents[1])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_loaded_has_a_store_of_its_own(way: str) -> None:
    world = tb.Grid(np.ones((6, 6), bool))
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=40)
    fleet.add([(0, 0), (0, 5)], (5, 5))
    fleet.tick()
    other = WAYS[way](fleet)
    mine, its = fleet._roster._neighbours.store, other._roster._neighbours.store
    assert (mine.holders, its.holders) == (2, 2)
    assert not np.shares_memory(mine.pages.words, its.pages.words)
    while other.active:
        other.tick()
    for _ in range(RESTS + 1):
        other.tick()
    assert (mine.holders, its.holders) == (2, 0)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_loaded_gives_its_arrays_to_its_own_pool(way: str) -> None:
    world = tb.Grid(np.ones((6, 6), bool)).to_graph()
    fleet = tb.Fleet(world, "tb-wa*", frame_expansions=40)
    fleet.add([(0, 0), (0, 5)], (5, 5))
    fleet.tick()
    other = WAYS[way](fleet)
    assert (world.spare.made, other.world.spare.made) == (2, 2)
    while other.active:
        other.tick()
    for _ in range(RESTS + 1):
        other.tick()
    assert len(other.world.spare) == 2
    assert not world.spare
