"""Every algorithm in the registry, on every kind of world: a new one inherits these tests."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, HOWTO, bounded, companion, points, refused, shuffled, skip_refused
from timebound.algorithms import REGISTRY, parse_spec

GAP = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 0, 1]])


def ring(directed: bool) -> tb.Graph:
    """Eight nodes in a circle with a shortcut, and a ninth that nothing leads to."""
    ends = np.arange(8)
    return tb.Graph(np.r_[ends, 0], np.r_[(ends + 1) % 8, 5], np.r_[np.full(8, 1.5), 2.5], nodes=9, directed=directed)


# A world, problems that can be solved and one that cannot, small enough for IDA*.
WORLDS = {
    "grid": (lambda: tb.Grid([[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]]), [((0, 0), (2, 0)), ((2, 0), (0, 3))]),
    "grid in two parts": (lambda: tb.Grid(GAP), [((0, 0), (2, 1))]),
    "4-connected grid": (lambda: tb.Grid([[1, 1, 1], [1, 0, 1]], connectivity=4), [((1, 0), (1, 2))]),
    "terrain": (lambda: tb.Grid([[1, 9, 1], [1, 9, 1], [2, 1, 3]]), [((0, 0), (0, 2)), ((0, 2), (0, 0))]),
    "far terrain": (lambda: tb.Grid([[1, 90, 1], [1, 90, 1], [2, 1, 3]]), [((0, 0), (0, 2))]),
    "graph": (lambda: ring(False), [(0, 4), (6, 1)]),
    "directed graph": (lambda: ring(True), [(0, 4), (6, 1)]),
    "puzzle": (lambda: tb.TilePuzzle(2, 3), [(shuffled(2, 3, 9, 1), tuple(range(6)))]),
}
HOPELESS = {
    "grid": (lambda: tb.Grid(GAP), (0, 0), (2, 3)),
    "terrain": (lambda: tb.Grid(GAP * 3 - (GAP == 1) * np.eye(3, 4)), (0, 0), (2, 3)),
    "graph": (lambda: ring(False), 0, 8),
    "directed graph": (lambda: ring(True), 0, 8),
    "start without a way out": (lambda: tb.Grid([[1, 0, 1]]), (0, 0), (0, 2)),
    "puzzle": (lambda: tb.TilePuzzle(2, 2), (0, 1, 3, 2), (0, 1, 2, 3)),
}


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("budget", [None, 1, 10])
def test_reaches_the_goal_within_its_budget(name: str, kind: str, budget: int | None) -> None:
    make, tasks = WORLDS[kind]
    world = make()
    skip_refused(name, world)
    for start, goal in tasks:
        result = bounded(name, world, start, goal, **companion(name, world), budget=budget, optimal="compute")
        assert result.status == "reached", f"{name}: {result.status}"
        check_record(world, result, start, goal, budget)
        assert result.suboptimality >= 1 - 1e-12
        assert result.optimal == tb.solve(world, start, goal, "dijkstra").cost
        json.dumps(result.to_dict())


@pytest.mark.parametrize("name", REGISTRY)
def test_what_it_refuses_it_says_in_its_name(name: str) -> None:
    worlds = [(make(), tasks) for make, tasks in WORLDS.values()]
    if not any(refused(name, world) for world, _ in worlds):
        pytest.skip("refuses none of these worlds")
    for world, tasks in worlds:
        if refused(name, world):
            with pytest.raises(tb.SpecError, match=name.replace("*", r"\*")):
                tb.solve(world, *tasks[0], name, **companion(name, world))


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("kind", HOPELESS)
@pytest.mark.parametrize("budget", [None, 1, 10])
def test_says_when_there_is_no_way(name: str, kind: str, budget: int | None) -> None:
    make, start, goal = HOPELESS[kind]
    world = make()
    skip_refused(name, world)
    result = bounded(name, world, start, goal, **companion(name, world), budget=budget)
    assert result.status == "unreachable", f"{name}: {result.status}"
    check_record(world, result, start, points(result.path)[-1], budget)


def check_record(world, result, start, end, budget: int | None) -> None:
    replayed = tb.validate(world, result.path, start=start, goal=end)
    assert replayed.cost == result.cost
    assert replayed.moves == result.moves
    assert result.expansions_per_move.sum() == result.expansions - result.learning_expansions
    assert len(result.expansions_per_move) == result.moves + result.waits
    if budget is not None:
        assert result.expansions_per_move.max() <= budget
    assert 0 <= result.learning_expansions <= result.expansions
    assert 0 <= result.first_move_lag <= result.waits
    assert result.revisits == len(points(result.path)) - len(set(points(result.path)))
    assert result.budget == ("none" if budget is None else str(budget))
    assert result.memory_bytes >= 0
    assert result.memory_states >= 0
    assert result.planning_seconds > 0
    assert str(parse_spec(result.algorithm)) == result.algorithm


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("kind", WORLDS)
def test_start_is_goal(name: str, kind: str) -> None:
    make, tasks = WORLDS[kind]
    world = make()
    skip_refused(name, world)
    start = tasks[0][0]
    agent = tb.agent(name, world, start, start, budget=5, **companion(name, world))
    assert agent.done
    assert agent.step() == start
    result = agent.result(optimal="compute")
    assert (result.status, result.moves, result.cost, result.expansions, result.waits) == ("reached", 0, 0.0, 0, 0)
    assert points(result.path) == [start]
    assert result.suboptimality == 1.0


@pytest.mark.parametrize("name", REGISTRY)
def test_move_limit(name: str) -> None:
    world = tb.Grid(np.ones((1, 6)))
    result = bounded(name, world, (0, 0), (0, 5), **companion(name, world), move_limit=2)
    assert result.status == "move-limit"
    assert result.moves == 2
    # A goal reached with the last move is reached.
    assert bounded(name, world, (0, 0), (0, 5), **companion(name, world), move_limit=5).status == "reached"
    for wrong in (0, -1, 1.5, "3"):
        with pytest.raises(tb.SpecError, match="move_limit must be a whole number"):
            tb.solve(world, (0, 0), (0, 5), name, **companion(name, world), move_limit=wrong)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("budget", ["1us", "2ms", "0.5ms"])
def test_time_budgets_finish(name: str, budget: str) -> None:
    world = tb.Grid(np.ones((6, 6)))
    result = bounded(name, world, (0, 0), (5, 3), **companion(name, world), budget=budget)
    assert result.status == "reached"
    assert len(result.expansions_per_move) == result.moves + result.waits


def test_a_short_time_budget_takes_many_ticks() -> None:
    """Otherwise the clock is never looked at."""
    side = 400 if COMPILED else 40
    world = tb.Grid(np.ones((side, side)))
    result = tb.solve(world, (0, 0), (side - 1, side // 2), "dijkstra", budget="1us")
    assert result.waits > 10
    assert result.expansions_per_move.max() < result.expansions / 10


@pytest.mark.parametrize("name", ["a*", "gbfs", "ida*"])
@pytest.mark.parametrize("commit", [2, 5, 100])
def test_commitment_does_not_change_a_planned_path(name: str, commit: int) -> None:
    make, tasks = WORLDS["grid"]
    for start, goal in tasks:
        one = tb.solve(make(), start, goal, name, budget=2)
        many = tb.solve(make(), start, goal, name, budget=2, commit=commit)
        assert points(one.path) == points(many.path)
        assert one.expansions == many.expansions
    for wrong in (0, -2, 1.5, "2", True):
        with pytest.raises(tb.SpecError, match="commit, the number of moves per decision"):
            tb.agent(name, make(), *tasks[0], commit=wrong)


def test_a_dropped_agent_gives_its_arrays_back() -> None:
    world = tb.Grid(np.ones((5, 5)))
    agent = tb.agent("a*", world, (0, 0), (4, 4), budget=1)
    other = tb.agent("a*", world, (0, 0), (4, 4), budget=1)
    agent.step()
    assert agent._planner.state.table.words is not other._planner.state.table.words
    words = agent._planner.state.table.words
    del agent
    third = tb.agent("a*", world, (0, 0), (4, 4))
    assert third._planner.state.table.words is words
    # What the dropped agent left in them must not matter.
    assert third.run().cost == pytest.approx(4 * math.sqrt(2))
    assert other.run().cost == third.cost


def test_agents_take_turns_in_one_world() -> None:
    world = tb.Grid(tb.generate.random_obstacles((12, 12), 0.2, seed=4))
    tasks = list(tb.problems(world, 5, seed=2))
    alone = [tb.solve(world, p.start, p.goal, "a*", budget=3) for p in tasks]
    agents = [tb.agent("a*", world, p.start, p.goal, budget=3) for p in tasks]
    while not all(agent.done for agent in agents):
        for agent in agents:
            agent.step()
    for agent, result in zip(agents, alone, strict=True):
        assert points(agent.result().path) == points(result.path)
        assert agent.result().expansions == result.expansions


def test_run_for_some_ticks() -> None:
    world = tb.Grid(np.ones((1, 30)))
    agent = tb.agent("a*", world, (0, 0), (0, 29))
    assert agent.run(4).moves == 4
    assert not agent.done
    assert agent.run().status == "reached"
    assert agent.cost == 29


def test_a_walk_longer_than_the_diary() -> None:
    """Trail and route begin with room for 1024 states; both must grow without losing any."""
    steps = 3000
    world = tb.Grid(np.ones((1, steps + 1)))
    result = tb.solve(world, (0, 0), (0, steps), "a*")
    assert result.path[:, 1].tolist() == list(range(steps + 1))
    assert result.cost == steps


# --- names and budgets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_a_spec_reads_back(name: str) -> None:
    algorithm = REGISTRY[name]
    spec = parse_spec(f" {name} ")
    assert spec.algorithm is algorithm
    assert spec.parameters == {parameter.name: parameter.default for parameter in algorithm.parameters}
    assert parse_spec(str(spec)) == spec
    assert parse_spec(spec) is spec
    assert algorithm.summary
    assert algorithm.paper
    with pytest.raises(tb.SpecError, match=r"has no parameter 'zzz'"):
        parse_spec(f"{name}:zzz=1")
    for parameter in algorithm.parameters:
        assert parameter.parse(parameter.default, name) == parameter.default
        assert parameter.help
        if parameter.kind is str and not parameter.choices:
            continue  # any text will do
        with pytest.raises(tb.SpecError, match=f"{parameter.name} is"):
            parse_spec(f"{name}:{parameter.name}=rubbish")


def test_a_spec_with_parameters() -> None:
    spec = parse_spec("wa*: weight = 1.5 , reopen=TRUE")
    assert spec.parameters == {"weight": 1.5, "reopen": True}
    assert str(spec) == "wa*:weight=1.5,reopen=true"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dijkstar", "there is no algorithm 'dijkstar'; did you mean 'dijkstra'?"),
        ("WA*", "there is no algorithm 'WA*'; did you mean 'wa*'?"),
        ("wa* weight=2", "there is no algorithm 'wa* weight=2'; did you mean 'wa*:weight=2'?"),
        ("tb-wa*,weight=3", "did you mean 'tb-wa*:weight=3'?"),
        ("wa*;weight=2,reopen=true", "did you mean 'wa*:weight=2,reopen=true'?"),
        ("", "there is no algorithm ''; known are a*"),
        ("qqqqqq", "known are a*, "),
        ("wa*:wieght=2", "wa* has no parameter 'wieght'; did you mean 'weight'?"),
        ("a*:weight=2", "a* has no parameter 'weight'; it has none"),
        ("wa*:weight", "'weight' should read parameter=value"),
        ("wa*:", "should read parameter=value"),
        ("wa*:weight=", "should read parameter=value"),
        ("wa*:=2", "should read parameter=value"),
        ("wa*:weight=2,weight=3", "weight is given twice"),
        ("wa*:weight=0.5", "wa*: weight is a number from 1 to "),
        ("wa*:weight=nan", "wa*: weight is a number from 1 to "),
        ("wa*:weight=inf", "wa*: weight is a number from 1 to "),
        ("wa*:weight=heavy", "not 'heavy'"),
        ("wa*:reopen=maybe", "wa*: reopen is true or false, not 'maybe'"),
        (None, "an algorithm is named by a string"),
        (3, "an algorithm is named by a string"),
    ],
)
def test_what_is_no_spec(text, sentence: str) -> None:
    with pytest.raises(tb.SpecError) as caught:
        tb.agent(text, tb.Grid([[1, 1]]), (0, 0), (0, 1))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("given", "expansions", "milliseconds", "text"),
    [
        (100, 100, None, "100"),
        (np.int32(7), 7, None, "7"),
        ("100", 100, None, "100"),
        (" 2ms ", None, 2.0, "2ms"),
        ("500us", None, 0.5, "0.5ms"),
        ("0.25 MS", None, 0.25, "0.25ms"),
        (None, None, None, "none"),
    ],
)
def test_budgets(given, expansions, milliseconds, text: str) -> None:
    budget = tb.Budget.of(given)
    assert (budget.expansions, budget.milliseconds) == (expansions, milliseconds)
    assert str(budget) == text
    assert tb.Budget.of(budget) is budget


@pytest.mark.parametrize(
    "wrong", [0, -3, "0", "-3", "1.5", 1.5, True, "", "ms", "0ms", "-1us", "nanms", "infms", "2s", []]
)
def test_what_is_no_budget(wrong) -> None:
    with pytest.raises(tb.SpecError, match=r"budget"):
        tb.solve(tb.Grid([[1, 1]]), (0, 0), (0, 1), "a*", budget=wrong)


def test_a_budget_made_by_hand_is_checked_too() -> None:
    """Budget(0) must not mean "no limit"."""
    with pytest.raises(tb.SpecError):
        tb.solve(tb.Grid([[1, 1]]), (0, 0), (0, 1), "a*", budget=tb.Budget(expansions=0))


def test_the_smallest_time_is_not_unlimited() -> None:
    """A time that rounds to zero nanoseconds must not mean "no limit"."""
    world = tb.Grid(np.ones((20, 20)))
    assert tb.solve(world, (0, 0), (19, 7), "dijkstra", budget="0.0001us").waits > 0


@pytest.mark.once
def test_a_newcomer_is_one_file_and_one_line(tmp_path: Path) -> None:
    """The one in HOWTO.md, in a copy of the package: it then runs in bench and compare, and stands in the report."""
    package = tmp_path / "timebound"
    shutil.copytree(Path(tb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "algorithms" / "depth_first.py").write_text(f"{HOWTO}\n\nALGORITHMS = (ALGORITHM,)\n")
    registry = package / "algorithms" / "__init__.py"
    registry.write_text(registry.read_text().replace('    "ribs",\n', '    "ribs",\n    "depth_first",\n'))
    tb.Grid(np.ones((6, 6))).save(tmp_path / "field.map")

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "timebound.cli", *words],
            cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "depth-first search on foot" in run("algorithms")
    # Beside the algorithm that is compiled soonest.
    race = ("field.map", "-a", "ida*", "depth-first", "--problems", "3", "--budget", "4")
    assert "depth-first" in run("bench", *race)
    run("compare", *race, "-o", "report")
    page = (tmp_path / "report" / "report.html").read_text()
    assert "depth-first, 4" in page
