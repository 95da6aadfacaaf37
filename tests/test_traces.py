"""Traces: what is told is what was done, nothing is told where nobody listens, and memory stays bounded."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED, companion, points
from timebound.algorithms import REGISTRY
from timebound.kernels import loop
from timebound.kernels.jit import generic, kernel
from timebound.kernels.telling import EXPANDED, ROOM, WHAT, WatchedGridView, tell
from timebound.kernels.views import GridView, TerrainView, degree, locate

# With the JIT on, a few: each is compiled once more for a world that is watched.
NAMES = ["a*", "lrta*", "k-lrta*"] if COMPILED else list(REGISTRY)
MORE = [
    "lrta*:depth=4",
    "lrta*:gmax=3.5",
    "tba*:shortcut=true",
    "k-lrta*:commit=frontier,avoid=true",
    "d-lrta*:depth=tree,goal=global",
    "d-lrta*:depth=oracle,goal=global,cap=4",
    "d-lrta*:depth=fixed,goal=global,cap=3",
    "knn-lrta*:otherwise=tb-wa*",
    "pr-lrta*:level=2,cap=2",
]
SPECS = [*NAMES, *([] if COMPILED else MORE)]


def rooms(**options: Any) -> tb.Grid:
    return tb.Grid(tb.generate.rooms((11, 14), room=4, seed=3), **options)


def ends(world: tb.Grid) -> tuple[Any, Any]:
    free = [tuple(point) for point in np.argwhere(world.free).tolist()]
    return free[0], free[-1]


@pytest.mark.parametrize("budget", [7, None])
@pytest.mark.parametrize("spec", SPECS)
def test_what_is_told_is_what_was_done(spec: str, budget: int | None) -> None:
    world = rooms()
    options = {"budget": budget, "move_limit": 500, **companion(spec, world)}
    try:
        plain = tb.solve(world, *ends(world), spec, **options)
    except tb.SpecError:
        options["budget"] = 60  # a lookahead that is more than the budget allows
        plain = tb.solve(world, *ends(world), spec, **options)
    trace = tb.Trace()
    watched = tb.solve(world, *ends(world), spec, **options, trace=trace)
    assert points(watched.path) == points(plain.path)
    assert watched.expansions == plain.expansions == trace.count("expanded")
    assert watched.expansions_per_move.tolist() == plain.expansions_per_move.tolist()
    assert trace.lost == 0
    check_order(world, watched, list(trace))


def check_order(world: tb.Grid, result: tb.Result, events: list[tb.Event]) -> None:
    """Ticks never fall, parents are legal and were seen, moves are those of the path."""
    assert [event.tick for event in events] == sorted(event.tick for event in events)
    walked = [event for event in events if event.what in ("moved", "back")]
    assert [event.where for event in walked] == points(result.path)[1:]
    assert [event.parent for event in walked] == points(result.path)[:-1]
    assert sum(event.what == "back" for event in walked) == result.back_moves
    per_tick = Counter(event.tick for event in events if event.what == "expanded")
    if not any(event.what in ("dropped", "settled") for event in events) and not result.learning_expansions:
        assert [per_tick[k] for k in range(len(result.expansions_per_move))] == result.expansions_per_move.tolist()
    costs: dict[Any, float] = {}
    for event in events:
        if event.level:
            continue
        if event.what == "begun":
            costs.clear()
        if event.what in ("begun", "generated") and event.g is not None:
            costs[event.where] = event.g
        if event.what == "generated":
            step = tb.validate(world, [event.parent, event.where]).cost
            if event.g is not None and event.parent in costs:
                assert event.g == pytest.approx(costs[event.parent] + step)
            assert event.h is None or event.h >= 0


@pytest.mark.skipif(COMPILED, reason="would be compiled for three worlds more")
def test_worlds_of_every_kind_can_be_watched() -> None:
    ring = np.arange(12)
    cases: list[tuple[Any, Any, Any]] = [
        (tb.Grid([[1, 9, 1], [1, 9, 1], [2, 1, 3]]), (0, 0), (0, 2)),
        (tb.Graph(ring, (ring + 1) % 12, directed=False), 0, 5),
        (tb.TilePuzzle(2, 3), (3, 1, 2, 4, 0, 5), (0, 1, 2, 3, 4, 5)),
    ]
    for world, start, goal in cases:
        trace = tb.Trace()
        result = tb.solve(world, start, goal, "a*", budget=3, trace=trace)
        assert trace.count("expanded") == result.expansions > 0
        assert trace.count("moved") == result.moves


def test_memory_is_bounded() -> None:
    world = tb.Grid([[1] * 60] * 60 if COMPILED else [[1] * 25] * 25)
    few = tb.Trace(keep=50)
    agent = tb.agent("a*", world, (0, 0), (world.shape[0] - 1, 3), trace=few)
    held = []
    agent.run()
    held.append(len(few))
    assert held == [50]
    assert few.count("expanded") == agent.expansions
    assert list(few)[-1].what == "moved"
    sizes: list[int] = []
    batches = tb.Trace(each=lambda events: sizes.append(len(events)))
    result = tb.solve(world, (0, 0), (world.shape[0] - 1, 3), "dijkstra" if not COMPILED else "a*", trace=batches)
    assert len(batches) == 0
    assert max(sizes) <= ROOM
    assert batches.count("expanded") == result.expansions


def test_what_does_not_fit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "timebound.trace.new_events", lambda room=8: (np.zeros((8, 6), np.int64), np.zeros(2, np.int64))
    )
    trace = tb.Trace()
    world = rooms()
    result = tb.solve(world, *ends(world), "a*", trace=trace)
    assert result.status == "reached"
    assert len(trace) == 8
    assert trace.lost > 0
    assert "lost" in repr(trace)


def test_who_is_not_watched_sees_the_plain_world() -> None:
    world = rooms()
    plain, watched = tb.agent("a*", world, *ends(world)), tb.agent("a*", world, *ends(world), trace=tb.Trace())
    assert type(plain._loop._view) is GridView
    assert type(watched._loop._view) is WatchedGridView
    assert watched._view is world.view  # what planners are asked with is the world's own


def test_a_saved_agent_goes_on_unwatched() -> None:
    world = rooms()
    trace = tb.Trace()
    agent = tb.agent("lrta*", world, *ends(world), trace=trace)
    agent.run(5)
    told = len(trace)
    for other in (pickle.loads(pickle.dumps(agent)), copy.copy(agent)):
        assert type(other._loop._view) is GridView
        other.run()
        assert other.result().path.tolist() == tb.solve(world, *ends(world), "lrta*").path.tolist()
    assert len(trace) == told
    assert agent.run().moves == trace.count("moved") + trace.count("back")


def test_a_goal_that_moves_is_told_too() -> None:
    world, trace = rooms(), tb.Trace()
    agent = tb.agent("lrta*", world, *ends(world), trace=trace)
    agent.run(4)
    agent.retarget(ends(world)[0])
    agent.run()
    assert trace.count("expanded") == agent.expansions
    assert trace.count("lowered") + trace.count("forgotten") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: tb.Trace(keep=0), "keep"),
        (lambda: tb.Trace(each=3), "each is a function"),  # type: ignore[arg-type]
        (lambda: tb.agent("a*", rooms(), *ends(rooms()), trace=print), "trace is a tb.Trace"),
        (lambda: tb.Trace().count("nothing"), "there are no events"),
    ],
)
def test_what_is_no_trace_is_refused(given: Any, said: str) -> None:
    with pytest.raises(tb.SpecError, match=said):
        given()


def test_a_trace_is_of_one_agent() -> None:
    world, trace = rooms(), tb.Trace()
    tb.solve(world, *ends(world), "a*", trace=trace)
    with pytest.raises(tb.SpecError, match="of one agent"):
        tb.agent("a*", world, *ends(world), trace=trace)


# --- views that look like others -------------------------------------------------------------------------------------


@generic
def _colour(world, s):
    """A question from elsewhere, such as an algorithm of a user's own may ask."""


@_colour.on(GridView)
def _colour_of_grid(world, s):
    return 10 * degree(world, s)


@_colour.otherwise
def _colourless(world, s):
    return -1


@kernel
def _ask(world, s):
    return _colour(world, s) + locate(world, s)[0]


def _watched(world: Any) -> Any:
    trace = tb.Trace()
    trace.begin(world)
    return trace.around(world.view)


def test_questions_from_elsewhere_have_the_same_answers() -> None:
    world, terrain = rooms(), rooms(terrain=True)
    assert _ask(_watched(world), 40) == _ask(world.view, 40) == 80 + 40 // 16
    assert _ask(_watched(terrain), 40) == _ask(terrain.view, 40) == -1 + 40 // 16


def test_a_text_that_comes_too_late_is_refused() -> None:
    """What is compiled for a watched world would go on without it."""
    if COMPILED:
        _ask(_watched(rooms(terrain=True)), 40)
        with pytest.raises(tb.Error, match="compiled for TerrainView before"):
            _colour.on(TerrainView)(lambda world, s: 0)


def test_an_algorithm_from_elsewhere_is_watched_as_well() -> None:
    """It tells nothing of its search, but its moves are told by the loop."""

    class Straight(NamedTuple):
        goal: np.ndarray
        counts: np.ndarray
        route: np.ndarray
        plan: np.ndarray

    if COMPILED:
        pytest.skip("its text would be compiled for two worlds")

    @loop.decide.on(Straight)
    def _decide(algorithm: Any, world: Any, s: int, tick: Any) -> int:
        return loop.one_step(algorithm, s + 1)

    from timebound.algorithms import Algorithm, Spec
    from timebound.kernels.layout import COUNTS
    from timebound.kernels.workspace import new_record

    class Planner:
        def __init__(self, goal: int) -> None:
            self.state = Straight(np.array([goal]), new_record(COUNTS), np.zeros(1, np.int64), np.zeros(2, np.int64))

        def enlarge(self) -> None: ...

        def release(self) -> None: ...

        def memory_bytes(self) -> int:
            return 0

    trace = tb.Trace()
    algorithm = Algorithm("straight", "", "", lambda world, goal, budget: Planner(goal))
    tb.solve(tb.Grid([[1, 1, 1]]), (0, 0), (0, 2), Spec(algorithm, {}), trace=trace)
    assert [event.where for event in trace] == [(0, 1), (0, 2)]


@kernel
def _count_twice(world, n):
    total = 0
    for s in range(n):
        total += degree(world, s)
        tell(world, EXPANDED, s, -1, total, locate(world, s)[0])
    return total


@kernel
def _count_once(world, n):
    total = 0
    for s in range(n):
        total += degree(world, s)
    return total


def test_telling_nobody_leaves_nothing_behind() -> None:
    view = rooms().view
    assert _count_twice(view, 9) == _count_once(view, 9)
    if COMPILED:
        told, untold = ([line.split()[0] for line in code(kernel)] for kernel in (_count_twice, _count_once))
        assert told == untold


def code(compiled: Any) -> list[str]:
    """The machine instructions of a kernel, without labels and directives."""
    (assembly,) = compiled.inspect_asm().values()
    return [line for line in assembly.splitlines() if line.startswith("\t") and not line.startswith("\t.")]


def test_columns_are_what_the_page_of_traces_says() -> None:
    world, trace = rooms(), tb.Trace()
    tb.solve(world, *ends(world), "a*", trace=trace)
    events = trace.events
    assert events.shape == (len(trace), 6)
    assert (events[:, WHAT] == EXPANDED).sum() == trace.count("expanded")
    assert [event.tick for event in trace.read(events[:5])] == events[:5, 1].tolist()
