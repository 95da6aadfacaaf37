"""Small worlds to try things on, each with its naive twin; small files, and what readers say of them."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import strategies as st

import timebound as tb
from naive.worlds import NaiveGraph, NaiveGrid, NaivePuzzle
from timebound import episode
from timebound.algorithms import parse_spec
from timebound.errors import MapError
from timebound.fleet import _FRAMES, _START, _TURN

COMPILED = not numba.config.DISABLE_JIT

# The file that HOWTO.md shows.
HOWTO = (Path(tb.__file__).parent / "algorithms" / "HOWTO.md").read_text(encoding="utf-8")
HOWTO = HOWTO.partition("```python\n")[2].partition("```")[0]

SQRT2 = math.sqrt(2)
CORNERS = ("never", "one", "always")
# What each complete search is to the naive one: weight of g, weight of h, reopen.
EVALUATIONS = {
    "a*": (1, 1, True),
    "dijkstra": (1, 0, True),
    "gbfs": (0, 1, False),
    "wa*:weight=1": (1, 1, False),
    "wa*:weight=1.1": (1, 1.1, False),
    "wa*:weight=1.5,reopen=true": (1, 1.5, True),
    "wa*:weight=3": (1, 3, False),
    "wa*:weight=3,reopen=true": (1, 3, True),
    "wa*:weight=100,reopen=true": (1, 100, True),
}


@dataclass
class Case:
    """A world, its naive twin, and two places in it."""

    world: Any
    twin: Any
    start: Any
    goal: Any


def points(path: Any) -> list[Any]:
    """A path as a list of hashable states, whatever the world."""
    rows = path.tolist() if isinstance(path, np.ndarray) else path
    return [tuple(row) if isinstance(row, list) else row for row in rows]


@st.composite
def grid_cases(draw: st.DrawFn, side: int = 9, kind: str = "plain") -> Case:
    """A small grid under any rule. ``kind``: plain, near (terrain for buckets) or far (terrain for a heap)."""
    rows, cols = draw(st.integers(1, side)), draw(st.integers(2, side))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = (random.random((rows, cols)) >= draw(st.sampled_from([0.0, 0.1, 0.2, 0.35]))).astype(float)
    if kind == "near":
        cells *= random.choice([1, 2, 3, 5.5, 7.25], (rows, cols))
    elif kind == "far":
        cells *= random.choice([1, 3, 70, 99.5], (rows, cols))
    rules = {
        "connectivity": draw(st.sampled_from([8, 8, 4])),
        "corners": draw(st.sampled_from(CORNERS)),
        "diagonal": draw(st.sampled_from([SQRT2, SQRT2, 1.5, 1.0, 2.5])),
    }
    ends = random.choice(rows * cols, 2, replace=False)
    start, goal = ((int(k) // cols, int(k) % cols) for k in ends)
    for point in (start, goal):
        cells[point] = max(cells[point], 1.0)
    if kind == "far":
        # Whatever was drawn, the costs must lie far enough apart for a heap.
        cells[start], cells[goal] = 1.0, 80.0
    elif kind == "near":
        cells[goal] = 2.0
    return Case(tb.Grid(cells, **rules), NaiveGrid(cells.tolist(), **rules), start, goal)


@st.composite
def graph_cases(draw: st.DrawFn, nodes: int = 14, whole: bool | None = None) -> Case:
    """A small random graph, directed or not, with parallel arcs and loops, costs whole or broken."""
    n = draw(st.integers(2, nodes))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(0, 4 * n))
    ends = random.integers(n, size=(m, 2))
    if whole is None:
        whole = draw(st.booleans())
    costs = random.integers(1, 9, m).astype(float) if whole else random.uniform(0.1, 10, m)
    directed = draw(st.booleans())
    start, goal = (int(k) for k in random.choice(n, 2, replace=False))
    arcs = [(int(s), int(t), float(c)) for (s, t), c in zip(ends, costs, strict=True)]
    world = tb.Graph(ends[:, 0], ends[:, 1], costs, nodes=n, directed=directed)
    return Case(world, NaiveGraph(n, arcs, directed), start, goal)


def shuffled(rows: int, cols: int, moves: int, seed: int) -> tuple[int, ...]:
    """A board some random moves away from the solved one."""
    twin, random = NaivePuzzle(rows, cols), np.random.default_rng(seed)
    board = tuple(range(rows * cols))
    solved = board
    while moves > 0 or board == solved:  # a walk may come back; the start must not be the goal
        steps = twin.successors(board)
        board = steps[int(random.integers(len(steps)))].target
        moves -= 1
    return board


@st.composite
def puzzle_cases(draw: st.DrawFn, rows: int = 3, cols: int = 3, moves: int = 12) -> Case:
    """A board a few moves from solved."""
    board = shuffled(rows, cols, draw(st.integers(1, moves)), draw(st.integers(0, 2**32 - 1)))
    return Case(tb.TilePuzzle(rows, cols), NaivePuzzle(rows, cols), board, tuple(range(rows * cols)))


def any_cases() -> st.SearchStrategy[Case]:
    """A case of any kind of world."""
    return st.one_of(
        grid_cases(kind="plain"), grid_cases(kind="near"), grid_cases(kind="far"), graph_cases(), puzzle_cases()
    )


def refused(name: str, world: Any) -> bool:
    """Whether an algorithm says of a world that it is not for it."""
    refuses = parse_spec(name).algorithm.refuses
    return bool(refuses and refuses(world))


def skip_refused(name: str, world: Any) -> None:
    """A test of what an algorithm does in a world says nothing where it refuses the world."""
    if refused(name, world):
        pytest.skip(f"{name} refuses such a world")


def companion(name: str, world: Any) -> dict[str, Any]:
    """What an algorithm needs besides a world: a small database, for those that use one."""
    kind = parse_spec(name).database
    if kind is None:
        return {}
    try:
        return {"database": tb.prepare(world, None, algorithm=name, **kind.small)}
    except tb.WorldError:  # there is nothing to look up
        return {"database": kind.empty(world)[0]}


def message_of(reader, *paths) -> str:
    """The one sentence a broken file gives."""
    with pytest.raises(MapError) as caught:
        reader(*paths)
    message = str(caught.value)
    assert "\n" not in message
    assert str(paths[-1]) in message
    return message


def png(columns: int, rows: int, packed: bytes = b"") -> bytes:
    """A black-and-white PNG that claims this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


MOST_MOVES, MOST_TICKS, MOST_CALLS = 20_000, 50_000, 1_000


def bounded(name: str, world: Any, start: Any, goal: Any, *, optimal: Any = None, **options: Any) -> tb.Result:
    """What ``tb.solve`` returns; but an algorithm that never ends fails here, by its name, and nothing hangs."""
    agent = tb.agent(name, world, start, goal, **{"move_limit": MOST_MOVES, **options})
    calls = 0

    def wind(*clock: Any) -> None:
        nonlocal calls
        calls += 1  # of the kernel: after NEEDS_ROOM and NOT_YET it is called again in the same tick
        assert calls < MOST_CALLS, f"{name} asks for more room, or more time, again and again in tick {agent.ticks}"
        plain(*clock)

    plain = episode.wind
    with mock.patch.object(episode, "wind", wind):
        agent.run(MOST_TICKS)
    assert agent.done, (
        f"{name} neither arrives nor finds that there is no way: {agent.moves} moves in {MOST_TICKS} ticks"
    )
    result = agent.result(optimal)
    assert "move_limit" in options or result.status != "move-limit", f"{name} has not arrived after {MOST_MOVES} moves"
    return result


def longest_wait(frame: int, limit: int, agents: list[tuple[int, int, bool]]) -> int:
    """The bound that ``Fleet`` promises: in how many frames of expansions everybody has a turn.

    Of each agent: its shares of the frame, what its algorithm asks for at least, and whether it can walk on.
    """
    total = sum(weight for weight, _, _ in agents)
    walkers = [weight for weight, _, walks in agents if walks]
    share = frame // total
    turn = 0
    if walkers and share < min(32, limit):
        turn = min(_TURN, max(_FRAMES * frame // total, _START), frame * sum(walkers) // total // 2 // max(walkers))
        if turn <= max(min(limit, max(least, share)) for _, least, walks in agents if walks):
            turn = 0  # turns are long enough
    needs = [min(limit, w * max(least, share, turn if walks else 0)) for w, least, walks in agents]
    if not turn:
        most = max(needs)
        return math.ceil(total * most / max(most, frame - most + 1))
    # Who stands still without a turn has it first, if its part is enough. Half of the rest may be for those who have
    # nothing to walk along.
    still = sum(need for need, (_, _, walks) in zip(needs, agents, strict=True) if not walks)
    if still <= frame * (total - sum(walkers)) // total:
        frame, total = frame - still, sum(walkers)
        needs = [need for need, (_, _, walks) in zip(needs, agents, strict=True) if walks]
    return math.ceil(total * max(needs) / max(*needs, (frame + 1) // 2 - max(needs) + 1))
