"""Every algorithm in worlds that change under it: no move that is not legal now, no status that is not true now.

The trials are those of ``fuzz/agents.py``, whose models of the worlds know nothing of the package.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, companion, grid_cases, points
from timebound.algorithms import REGISTRY
from timebound.kernels.heuristic_values import new_values


def _load(name: str) -> Any:
    path = Path(__file__).resolve().parent.parent / "fuzz" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


agents = _load("agents")


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=st.integers(0, 2**62))
@settings(max_examples=40 if COMPILED else 8)
def test_every_move_is_legal_and_every_status_true(name: str, seed: int) -> None:
    trial = agents.draw(seed, side=8 if COMPILED else 4, names=[name])
    print(trial.what)
    agents.walk(trial, 40 if COMPILED else 12, most=3_000_000 if COMPILED else 200_000, pauses=True)


def test_agents_and_editors_in_threads() -> None:
    side, runs = (16, 20) if COMPILED else (6, 4)
    assert sum(agents.crowd(seed, side=side, runs=runs) for seed in range(3)) > 0


# --- the models can tell right from wrong --------------------------------------------------------------------------


def test_a_model_that_is_not_the_world_is_noticed() -> None:
    """A wall that only the model has is walked into; one that only the world has is a proof that is none."""
    for value, sentence in ((True, "there is a way"), (False, "no step leads")):
        world = tb.Grid(np.ones((1, 5), bool))
        cells = [[1.0] * 5]
        model = agents.Ground(cells, [[True] * 5], 8, "never", 1.5, False)
        agent = tb.agent("a*", world, (0, 0), (0, 4))
        trial = agents.Trial(world, model, agent, 0.0, np.random.default_rng(1), "")
        if value:
            world.block((0, 2))
        else:
            model.free[0][1] = False
        with pytest.raises(agents.Wrong, match=sentence):
            agents.walk(trial, 5, most=10)


# --- plans that are no longer any good ------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, 100, "1ms"])
@pytest.mark.parametrize("spec", ["k-lrta*:commit=frontier", "rtaa*:commit=frontier"])
def test_an_edit_and_a_lack_of_room_at_once(spec: str, budget: Any) -> None:
    """The wall ahead is seen, then there is no room for the values: the plan of before must not come back."""
    side = 15 if COMPILED else 9
    world = tb.Grid(np.ones((side, side)))
    agent = tb.agent(spec, world, (side // 2, 1), (side // 2, side - 2), budget=budget)
    agent.step()
    world.block([(row, 3) for row in range(side - 1)])
    agent.step()
    assert agent.run().status == "reached"
    assert (side - 1, 3) in points(agent.result().path)


@pytest.mark.parametrize("spec", ["k-lrta*:commit=frontier", "rtaa*:commit=frontier"])
def test_a_plan_that_is_legal_and_no_longer_good_is_dropped(spec: str) -> None:
    """What the agent does after an edit is what it would do in the edited world, whatever room it has at first."""
    walks = []
    for pages in (1, 4096):  # too few for the first lookahead, or enough for all
        world = tb.Grid(np.ones((9, 9)))
        agent = tb.agent(spec, world, (4, 0), (4, 8))
        planner: Any = agent._planner
        planner.state = planner.state._replace(values=new_values(4, pages + 1))
        agent.step()
        world.block([(row, 7) for row in range(1, 9)])  # the way straight on leads into a dead end
        ahead = agent.run(1).ahead(likely=True)
        walks.append(points(ahead))
    assert walks[0] == walks[1]
    assert (0, 7) in walks[0]


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "ida*"])
def test_an_interrupt_before_room_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the planner asked for, to forget values too, is asked for again."""
    walks = []
    for interrupted in (False, True):
        world = tb.Grid(np.ones((7, 7)))
        options = companion(name, world)
        world.block([(row, 4) for row in range(6)])
        agent = tb.agent(name, world, (0, 0), (0, 6), **options)
        for _ in range(4):
            agent.step()
        world.unblock((0, 4))
        planner: Any = agent._planner
        enlarge, interrupts = planner.enlarge, iter([KeyboardInterrupt()] if interrupted else [])

        def enlarge_or_not(enlarge: Any = enlarge, interrupts: Any = interrupts) -> None:
            for interrupt in interrupts:
                raise interrupt
            enlarge()

        monkeypatch.setattr(planner, "enlarge", enlarge_or_not)
        try:
            agent.step()
        except KeyboardInterrupt:
            agent.step()
        assert agent.run().status == "reached"
        result = agent.result()
        walks.append((points(result.path), result.expansions, result.restarts))
    assert walks[0] == walks[1]


# --- agents that would be refused now -------------------------------------------------------------------------------


def test_a_lookahead_that_an_edit_makes_too_large() -> None:
    """With the cheap arc gmax could take more states than the budget allows: the lookahead is cut there."""
    world = tb.Graph([0, 1, 2, 3], [1, 2, 3, 4], [12.0] * 4, directed=False)
    agent = tb.agent("lrta*:gmax=12", world, 0, 4, budget=3)
    world.block(3, 4)
    assert agent.run().status == "unreachable"
    for k in range(3):
        world.set_cost(k, k + 1, 1.0)
    with pytest.raises(tb.SpecError, match="expansions per move"):
        tb.agent("lrta*:gmax=12", world, 0, 4, budget=3)
    assert agent.run().status == "unreachable"
    world.unblock(3, 4)
    assert agent.run().status == "reached"
    assert agent.result().expansions_per_move.max() == 3


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in ("ida*", "knn-lrta*")])
@pytest.mark.parametrize("budget", [1, 4, None])
def test_a_graph_that_becomes_one_way(name: str, budget: int | None) -> None:
    """Nobody is refused on the way. Those that must step back wait until they know the way, as A* does."""
    side = 4
    grid = tb.Grid(np.ones((side, side)), connectivity=4)
    both = [(u, v) for u in range(16) for v in range(16) if abs(u // 4 - v // 4) + abs(u % 4 - v % 4) == 1]
    world = tb.Graph(*zip(*both, strict=True), directed=True)
    assert world.undirected
    agent = tb.agent(name, world, 0, 15, budget=budget, **companion(name, world))
    agent.step()
    for u, v in both:
        if u > v and u != agent.position:
            world.block(u, v)
    assert not world.undirected
    waited = agent.result().waits
    assert agent.run().status == "reached"
    result = agent.result()
    assert tb.validate(grid, [(int(k) // 4, int(k) % 4) for k in result.path]).moves == result.moves
    if REGISTRY[name].refuses:
        assert budget is None or result.waits > waited
        with pytest.raises(tb.SpecError, match="one-way"):
            tb.agent(name, world, 0, 15, budget=budget)
        assert agent.restart().run().status == "reached"
    if budget is not None:
        assert result.expansions_per_move.max() <= budget
    world.block(14, 15)
    world.block(11, 15)
    assert agent.restart().run().status == "unreachable"


@pytest.mark.parametrize("spec", ["a*", "gbfs", "wa*:weight=2", "dijkstra", "ida*"])
@pytest.mark.parametrize("commit", [1, 3])
def test_an_agent_walks_around_what_appears_before_it(spec: str, commit: int) -> None:
    world = tb.Grid(np.ones((5, 5)))
    agent = tb.agent(spec, world, (2, 0), (2, 4), commit=commit)
    trail = [(2, 0)]
    for tick in range(60):
        if agent.done:
            break
        row, col = agent.position
        if tick in (0, 1) and (row, col + 1) != (2, 4):
            world.block((row, col + 1))
        here = agent.step()
        assert world.free[here], "the agent stands in a wall"
        assert max(abs(here[0] - trail[-1][0]), abs(here[1] - trail[-1][1])) <= 1
        trail.append(here)
    assert agent.status == "reached"
    assert (2, 1) not in trail
    assert agent.position == (2, 4)


@given(case=grid_cases(), seed=st.integers(0, 2**32 - 1), budget=st.sampled_from([None, 3]))
@settings(max_examples=30 if COMPILED else 5)
def test_an_agent_in_a_world_that_keeps_changing(case: Case, seed: int, budget: int | None) -> None:
    random = np.random.default_rng(seed)
    agent = tb.agent("a*", case.world, case.start, case.goal, budget=budget)
    for _ in range(10):
        if agent.done:
            break
        before = agent.position
        mask = random.random(case.world.shape) < 0.15
        mask[agent.position] = mask[case.goal] = False
        (case.world.block if random.random() < 0.5 else case.world.unblock)(mask)
        here = agent.step()
        if here != before:
            tb.validate(case.world, [before, here])  # legal in the world as it is at this moment
    # Now that the world rests, the agent ends as a new one would.
    last = tb.solve(case.world, agent.position, case.goal) if not agent.done else None
    rest = agent.run()
    if last is not None:
        assert rest.status == last.status
        assert points(rest.result().path)[-len(points(last.path)) :] == points(last.path)


def test_an_agent_on_a_graph_notices() -> None:
    world = tb.Graph(np.arange(5), np.arange(1, 6), np.ones(5), directed=False)
    agent = tb.agent("a*", world, 0, 5)
    agent.step()
    world.block(2, 3)
    assert agent.run().status == "unreachable"
    assert agent.position == 1


def test_a_committed_step_that_became_impossible_is_forgotten() -> None:
    """The search that replaces it may have to enlarge its arrays half-way; the old plan must be gone by then."""
    height, width = 121, 101
    cells = np.ones((height, width), bool)
    cells[1::2] = False
    cells[1::4, -1] = True
    cells[3::4, 0] = True
    gates = [(row, 0) for row in range(1, height, 2) if not cells[row, 0]]
    for gate in gates:
        cells[gate] = True
    world = tb.Grid(cells)
    agent = tb.agent("a*", world, (0, 0), (height - 1, 0), commit=1000).run(3)
    for gate in gates[2:]:
        world.block(gate)
    world.block((5, 0))
    assert agent.run().status == "reached"


def test_a_result_survives_an_edit_of_its_own_start() -> None:
    world = tb.Grid(np.ones((5, 5), bool))
    agent = tb.agent("a*", world, (0, 0), (4, 4))
    agent.step()
    world.block((0, 0))
    result = agent.run().result("compute")
    assert result.status == "reached"
    assert result.optimal is None
