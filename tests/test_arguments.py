"""What the Python functions are given: worlds, budgets, ticks, schedules, paths and names, right and wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import companion, refused, skip_refused
from timebound.algorithms import REGISTRY, parse_spec
from timebound.errors import at_least
from timebound.names import FAMOUS, SAME, key
from timebound.pictures import draw, save
from timebound.text import shown

BOARD = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]])


def field() -> tb.Grid:
    return tb.Grid(BOARD)


def sentence(call: Any, kind: type[tb.Error] = tb.Error) -> str:
    """The one line that a call is refused with."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert text.isprintable()
    assert 0 < len(text) <= 600
    return text


# --- worlds ----------------------------------------------------------------------------------------------------------

CALLS = {
    "agent": lambda world: tb.agent("a*", world, (0, 0), (0, 1)),
    "solve": lambda world: tb.solve(world, (0, 0), (0, 1)),
    "solve with changes": lambda world: tb.solve(world, (0, 0), (0, 1), changes=tb.RandomChanges(5)),
    "converge": lambda world: tb.converge(world, (0, 0), (0, 1)),
    "validate": lambda world: tb.validate(world, [(0, 0)]),
    "problems": lambda world: list(tb.problems(world, 1)),
    "prepare": lambda world: tb.prepare(world, None),
    "load_database": lambda world: tb.load_database("no.db", world),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (BOARD, r"tb.Grid(array)"),
        ([[1, 1], [1, 1]], "tb.Grid(array)"),
        ("x.map", "tb.Grid.load(file)"),
        (Path("x.map"), "tb.Grid.load(file)"),
        (None, "tb.Grid(array)"),
        (tb.Grid, "tb.Grid(array)"),
        (7, "tb.Grid(array)"),
    ],
    ids=["array", "list", "name", "path", "none", "class", "number"],
)
def test_what_is_no_world(call: Any, wrong: Any, remedy: str) -> None:
    text = sentence(lambda: call(wrong), tb.WorldError)
    assert text.startswith("a world is a tb.Grid, tb.Graph or tb.TilePuzzle, not ")
    assert remedy in text


def test_graphs_of_other_libraries_are_no_worlds_yet() -> None:
    networkx = pytest.importorskip("networkx")
    sparse = pytest.importorskip("scipy.sparse")
    assert "tb.Graph.from_networkx(graph)" in sentence(lambda: tb.solve(networkx.path_graph(3), 0, 2), tb.WorldError)
    matrix = sparse.csr_array([[0, 2], [0, 0]])
    assert "tb.Graph.from_scipy(matrix)" in sentence(lambda: tb.solve(matrix, 0, 1), tb.WorldError)


# --- numbers ---------------------------------------------------------------------------------------------------------

NO_COUNTS = (0, -1, 1.5, 2.0, "3", True, None, [], np.float64(3), np.array([1, 2]), 10**30, 10**5000, math.nan)


@pytest.mark.parametrize("wrong", NO_COUNTS, ids=shown)
def test_what_is_no_number_of_ticks(wrong: Any) -> None:
    agent = tb.agent("a*", field(), (0, 0), (2, 3), budget=1)
    for call in (agent.run, agent.wait):
        if wrong is None and call == agent.run:  # to the end
            continue
        assert sentence(lambda call=call: call(wrong), tb.SpecError).startswith("ticks must be a whole number, at ")
    assert agent.ticks == 0
    for option in ("commit", "move_limit", "trials"):
        if wrong is not None:
            assert option in sentence(
                lambda option=option: tb.converge(field(), (0, 0), (0, 1), **{option: wrong}), tb.SpecError
            )  # fmt: skip


def test_numpy_numbers_count_as_well() -> None:
    agent = tb.agent("lrta*", field(), (0, 0), (2, 3), commit=np.int8(1), move_limit=np.uint64(9), budget=np.int64(3))
    assert agent.run(np.int32(2)).ticks == 2
    assert agent.wait(np.uint8(3)).ticks == 5
    assert at_least(0, np.int16(4), "n is a whole number", 4) == 4


@pytest.mark.parametrize(
    "given",
    [
        {"milliseconds": "2"}, {"milliseconds": True}, {"milliseconds": [2]}, {"milliseconds": math.nan},
        {"milliseconds": -1}, {"milliseconds": 0}, {"milliseconds": 10**400}, {"milliseconds": np.array([1.0, 2.0])},
        {"milliseconds": 1j}, {"expansions": True}, {"expansions": "3"}, {"expansions": 2.0}, {"expansions": 0},
        {"expansions": 10**19}, {"expansions": 10**5000}, {"expansions": 3, "milliseconds": 2.0},
    ],
    ids=shown,
)  # fmt: skip
def test_what_is_no_budget(given: dict[str, Any]) -> None:
    assert "budget" in sentence(lambda: tb.Budget(**given), tb.SpecError)


@pytest.mark.parametrize("wrong", [b"2ms", 10**5000, "9" * 5000, {}, tb.Budget, 1j, np.array([3, 4])], ids=shown)
def test_what_no_budget_is_made_of(wrong: Any) -> None:
    assert "budget" in sentence(lambda: tb.Budget.of(wrong), tb.SpecError)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("budget", [10**18, (1 << 60) - 1])
def test_the_largest_budgets_are_as_good_as_none(name: str, budget: int) -> None:
    """Nothing that is computed from a budget may leave the integers of the kernels."""
    world = field()
    free = tb.solve(world, (1, 0), (1, 3), name, **companion(name, world))
    result = tb.solve(world, (1, 0), (1, 3), name, **companion(name, world), budget=budget)
    assert (result.status, result.moves) == (free.status, free.moves)
    limited = tb.solve(world, (1, 0), (1, 3), name, **companion(name, world), commit=budget, move_limit=budget)
    assert limited.status == "reached"


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("which", ["low", "high"])
def test_every_parameter_at_its_limits(name: str, which: str) -> None:
    world = field()
    for parameter in REGISTRY[name].parameters:
        if parameter.kind is str and not parameter.choices:
            continue  # text has no limits
        limit = getattr(parameter, which)
        values = parameter.choices or (("true", "false") if parameter.kind is bool else (f"{limit:.0f}",))
        for value in values if limit is None else (limit,):
            value = f"{value:.17g}" if isinstance(value, (int, float)) else value
            spec = f"{name}:{parameter.name}={value}"
            for budget in (None, 10**18):
                result = tb.solve(world, (1, 0), (1, 3), spec, **companion(spec, world), budget=budget)
                assert result.status == "reached", spec


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("cost", [1e-7, 1.0, 1e5])
def test_a_lookahead_of_any_cost(directed: bool, cost: float) -> None:
    """In the kernels' units gmax can be larger than their integers, and a chain has as many plies as it has nodes."""
    world = tb.Graph([0, 1, 2], [1, 2, 3], [cost] * 3, directed=directed)
    assert tb.solve(world, 0, 3, "lrta*:gmax=1e9").status == "reached"
    assert "can take 4 expansions" in sentence(lambda: tb.solve(world, 0, 3, "lrta*:gmax=1e9", budget=3))


@pytest.mark.parametrize("wrong", ["3", [], True, -1, math.nan, 10**400, "best", np.array([1.0, 2.0])], ids=shown)
def test_what_is_no_optimum(wrong: Any) -> None:
    """Said before the walk: this one would never end."""
    world = tb.Grid(np.ones((1, 2)))
    assert "optimal is the optimal cost" in sentence(lambda: tb.solve(world, (0, 0), (0, 1), optimal=wrong))
    assert "optimal is the optimal cost" in sentence(lambda: tb.agent("a*", world, (0, 0), (0, 1)).result(wrong))


@pytest.mark.parametrize("wrong", [5, "often", tb.RandomChanges, {}, 0, []], ids=shown)
def test_what_is_no_schedule(wrong: Any) -> None:
    text = sentence(lambda: tb.solve(field(), (0, 0), (0, 1), changes=wrong), tb.SpecError)
    assert "tb.RandomChanges(rate=5)" in text


def test_a_schedule_is_checked() -> None:
    class Rarely:
        every: Any = 10**12

        def begin(self, world: Any) -> None: ...
        def change(self, world: Any, keep: Any) -> None: ...

    assert "at most 1000000" in sentence(lambda: tb.solve(field(), (0, 0), (0, 1), changes=Rarely()), tb.SpecError)
    for name, value in (("rate", "5"), ("rate", 0), ("every", "3"), ("every", 0), ("seed", -1), ("seed", 1.5)):
        given = {"rate": 5, name: value}
        assert "not " in sentence(lambda given=given: tb.RandomChanges(**given), tb.SpecError)


@pytest.mark.parametrize(
    "cost", [(0, 0), (3, 2), (-1, 2), (math.nan, 1), 5, "12", (1,), (None, 3), 10**5000], ids=shown
)
def test_what_is_no_range_of_costs(cost: Any) -> None:
    """Costs of nothing too: looking for such problems on a puzzle took minutes."""
    for world in (field(), tb.TilePuzzle(2, 2)):
        text = sentence(lambda world=world: list(tb.problems(world, 1, cost=cost)), tb.SpecError)
        assert text.startswith("a cost range is (low, high)")


# --- paths and places ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [[], (), np.array(5), {(0, 0)}, {0: (0, 0)}, iter([]), 7, None, np.empty((0, 2))])
def test_what_is_no_path(wrong: Any) -> None:
    for world in (field(), tb.Graph([0], [1]), tb.TilePuzzle(2, 2)):
        assert "at least one state" in sentence(lambda world=world: tb.validate(world, wrong), tb.ProblemError)


def test_messages_have_the_names_that_the_user_gave() -> None:
    world = tb.Graph([0, 1], [1, 2], labels=["inn", "mill", "ford"])
    assert "move 1, from 'inn' to 'ford'" in sentence(lambda: tb.validate(world, ["inn", "ford"]), tb.MoveError)
    assert "starts at 'inn', not at 'mill'" in sentence(lambda: tb.validate(world, ["inn"], start="mill"))
    assert "ends at 'inn', not at 'ford'" in sentence(lambda: tb.validate(world, ["inn"], goal="ford"))
    assert "the goal 'well' is not a node" in sentence(lambda: tb.solve(world, "inn", "well"), tb.ProblemError)
    path = np.array([[0, 0], [2, 0]])
    assert "move 1, from (0, 0) to (2, 0)" in sentence(lambda: tb.validate(field(), path), tb.MoveError)
    assert "starts at (0, 0), not at (0, 1)" in sentence(lambda: tb.validate(field(), path, start=(0, 1)))


def test_a_message_is_one_line_whatever_the_names() -> None:
    world = tb.Graph([0], [1], labels=["a\nb", "\x1b[31mred"])
    text = sentence(lambda: tb.validate(world, ["\x1b[31mred", "a\nb"]), tb.MoveError)
    assert r"\x1b[31mred" in text
    assert len(sentence(lambda: tb.solve(world, "x" * 9999, "a\nb"))) <= 600
    assert str(tb.Error("what\nwas\x1b[0m wrong")) == r"what was\x1b[0m wrong"


# --- a blocked goal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("cells", [BOARD, BOARD * [[1, 2, 3, 4]]], ids=["plain", "terrain"])
def test_a_blocked_goal_is_unreachable_until_it_opens(name: str, cells: np.ndarray) -> None:
    """The same for an agent that is made then and for one on its way: no search, and no harm."""
    world = tb.Grid(cells)
    skip_refused(name, world)
    goal = (1, 1)
    more = companion(name, world)
    result = tb.solve(world, (2, 3), goal, name, **more, optimal="compute")
    assert (result.status, result.expansions, result.moves, result.waits) == ("unreachable", 0, 0, 0)
    assert (result.optimal, result.suboptimality) == (None, None)
    world.unblock(goal)
    walking = tb.agent(name, world, (2, 3), goal, **more)
    walking.step()
    spent = walking.result().expansions
    world.block(goal)
    new = tb.agent(name, world, walking.position, goal, **more)
    for agent in (walking, new):
        place, ticks = agent.position, agent.ticks
        assert (agent.status, agent.done) == ("unreachable", True)
        assert agent.step() == place
        assert (agent.run().ticks, len(agent.ahead())) == (ticks, 0)
        assert agent.result(non_optimal=True).status == "unreachable"
    world.unblock((1, 2))  # some other edit: the goal is still blocked
    assert walking.done
    assert new.done
    assert (walking.run().result().expansions, new.run().result().expansions) == (spent, 0)
    world.unblock(goal)
    for agent in (walking, new):
        assert (agent.status, agent.done) == ("active", False)
        assert agent.run().status == "reached"
        assert tb.validate(world, agent.result().path, goal=goal).cost == agent.cost
        assert agent.result().memory_bytes >= 0
    world.block(goal)
    assert walking.status == "reached", "what was reached stays reached"


def test_agents_that_wait_for_a_blocked_goal_keep_their_arrays_apart() -> None:
    world = tb.Grid(np.ones((9, 9)))
    agents = [tb.agent("tba*", world, (0, k), (8, 8), budget=3) for k in range(3)]
    for agent in agents:
        agent.step()
    world.block((8, 8))
    for agent in agents:
        agent.step()
    other = tb.agent("tba*", world, (0, 8), (8, 0), budget=3).run()
    world.unblock((8, 8))
    while not all(agent.done for agent in agents):
        for agent in agents:
            agent.step()
    assert [agent.status for agent in [*agents, other]] == ["reached"] * 4


def test_learners_keep_what_they_learned_while_the_goal_is_blocked() -> None:
    world = field()
    agent = tb.agent("lrta*", world, (1, 0), (1, 3))
    agent.step()
    learned = agent._planner.raises
    assert learned > 0
    world.block((1, 3))
    agent.run()
    assert (agent.status, agent._planner.raises) == ("unreachable", learned)


def test_a_start_in_a_wall_or_a_goal_off_the_map_is_a_mistake() -> None:
    for name in REGISTRY:
        more = companion(name, field())
        assert "start (1, 1) is in a wall" in sentence(
            lambda name=name, more=more: tb.agent(name, field(), (1, 1), (0, 0), **more), tb.ProblemError
        )  # fmt: skip
        assert "goal (9, 1) is off the map" in sentence(
            lambda name=name, more=more: tb.agent(name, field(), (0, 0), (9, 1), **more), tb.ProblemError
        )  # fmt: skip


def test_repeated_trials_end_at_a_blocked_goal() -> None:
    found = tb.converge(field(), (0, 0), (1, 1))
    assert (found.converged, found.trials, found.costs.tolist()) == (False, 1, [0.0])
    world = tb.Grid(np.ones((1, 3)))
    agent = tb.agent("lrta*", world, (0, 0), (0, 2)).run()
    world.block((0, 2))
    assert agent.restart().status == "unreachable"
    world.unblock((0, 2))
    assert agent.run().status == "reached"


def test_a_goal_that_a_schedule_opens_is_reached() -> None:
    class Opens:
        every = 3

        def begin(self, world: Any) -> None:
            self.left = 4

        def change(self, world: Any, keep: Any) -> None:
            self.left -= 1
            if self.left == 0:
                world.unblock(keep[1])

    result = tb.solve(field(), (0, 0), (1, 1), "tba*", budget=5, changes=Opens())
    assert (result.status, result.first_move_lag) == ("reached", 12)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        *((name, "a*") for name in ("astar", "a-star", "A*", "A_Star", "a star", " A ")),
        ("lss-lrta*", "k-lrta*"), ("lsslrta*", "k-lrta*"), ("LSS_LRTA", "k-lrta*"), ("tbastar", "tba*"),
        ("TBA", "tba*"), ("wastar", "wa*"), ("weighted-astar", "wa*"), ("ucs", "dijkstra"), ("greedy", "gbfs"),
        ("idastar", "ida*"), ("klrta", "k-lrta*"), ("dalss-lrta*", "k-lrta*:avoid=true"), ("rtaastar", "rtaa*"),
        ("D LRTA*", "d-lrta*"), ("LRTA*(PDB,PDB)", "d-lrta*:depth=pdb,goal=pdb"), ("LRTA* (F,G)", "lrta*"),
    ],
)  # fmt: skip
def test_other_spellings_lead_to_ours(name: str, ours: str) -> None:
    assert sentence(lambda: parse_spec(name), tb.SpecError).endswith(f"; did you mean {ours!r}?")
    parse_spec(ours)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("d*", "rtb-wa*"), ("d*lite", "rtb-wa*"), ("D* Lite", "rtb-wa*"), ("lpa*", "rtb-wa*"), ("jps", "a*"),
        ("theta*", "a*"), ("rta*", "lrta*"), ("ara*", "tb-wa*"), ("bfs", "dijkstra"), ("dfs", "ida*"),
        ("sma*", "ida*"), ("hpa*", "pra*"), ("rrt*", "a*"), ("cbs", "tba*"),
    ],
)  # fmt: skip
def test_famous_names_lead_to_the_nearest(name: str, near: str) -> None:
    text = sentence(lambda: parse_spec(name), tb.SpecError)
    assert f"nearest is {near!r}: " in text
    assert len(text.partition(f"{near!r}: ")[2]) > 20, "and why"


def test_the_tables_of_names_are_sound() -> None:
    """Each leads to a spec that exists; none is the name of an algorithm that is here, or stands there twice."""
    for target in [*SAME.values(), *(near for near, _ in FAMOUS.values())]:
        parse_spec(target)
    keys = [key(name) for name in (*REGISTRY, *SAME, *FAMOUS)]
    assert all(keys)
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("name", REGISTRY)
def test_a_refusal_names_what_works_there(name: str) -> None:
    """Whatever is named does work, and whatever is not named does not."""
    worlds = [
        (tb.Graph([0, 1], [1, 2]), 0, 2),
        (tb.Grid(BOARD * 2.5), (0, 0), (0, 3)),
        (tb.TilePuzzle(2, 2), None, None),
    ]
    for world, start, goal in worlds:
        if start is None:
            start, goal = (1, 0, 2, 3), (0, 1, 2, 3)
        if not refused(name, world):
            continue
        text = sentence(lambda: tb.agent(name, world, start, goal), tb.SpecError)  # noqa: B023
        listed = text.partition("what works here is ")[2].replace("; ", ", ").replace(": ", ", ").split(", ")
        named = [word for word in listed if word in REGISTRY]
        assert named
        for other in REGISTRY:
            if other in named:
                tb.agent(other, world, start, goal, **companion(other, world))
            else:
                with pytest.raises(tb.SpecError):
                    tb.agent(other, world, start, goal)


# --- pictures --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    assert "only grids" in sentence(lambda: draw(tb.TilePuzzle(2, 2)))
    assert "tb.Grid(array)" in sentence(lambda: draw(BOARD))
    for wrong in (3, "big", 1.5, 10**9):
        assert "size is a whole number" in sentence(lambda wrong=wrong: draw(field(), size=wrong))
    assert "ends in .png" in sentence(lambda: save(draw(field()), tmp_path / "x.pdf"))
    assert not list(tmp_path.iterdir())
