"""Random problems for LRTA* with dynamic control: each is reached, or it is proved that there is no way.

Intermediate goals can lead in circles, so completeness is not for nothing. Worlds are generated ones, small and
middling, and maps of games, rooms and mazes (TIMEBOUND_MAPS; without, generated ones in their place). Starts and goals
are any two free cells, with or without a way between them. Every other walk has cells blocked and opened around the
agent while it goes; each step must be legal at its moment. In small worlds edits may cut the goal off, and that must be
found out; in large ones an edit that would is taken back, for a proof by values takes as long as the world is large.

What there is a way to is told by SciPy's ``label``: a step past a corner is not allowed, so free cells are connected by
straight steps if at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import ndimage

import timebound as tb

if TYPE_CHECKING:
    from harness import Tally

__all__ = ["Place", "fuzz", "places"]

MAPS = (
    "wc3maps512/drywatergulch",
    "wc3maps512/theglaive",
    "dao/den520d",
    "dao/brc300d",
    "bg512/AR0711SR",
    "rooms/32room_000",
    "mazes/maze512-32-7",
)
_MOST = 5_000_000  # moves; LRTA* is complete, but nobody says how soon
_LONG = 1000  # walks
_SMALL = 150  # cells up to which a proof by values does not take long


class Place(NamedTuple):
    """A world, and how often it is walked in."""

    name: str
    world: tb.Grid
    walks: int


def places(random: np.random.Generator, count: int) -> Iterator[Place]:
    """Two fifths of the walks in small worlds, a third in middling ones, the rest on maps.

    In a short run none on maps: their tables take minutes.
    """
    on_maps = count >= _LONG
    kinds = (
        lambda side, seed: tb.generate.caves((side, side), seed=seed),
        lambda side, seed: tb.generate.rooms((side, side), room=int(3 + seed % 5), seed=seed),
        lambda side, seed: tb.generate.maze((side, side), seed=seed),
        lambda side, seed: np.random.default_rng(seed).random((side, side)) > 0.3,
    )
    for share, low, high, each in ((0.4 if on_maps else 0.75, 8, 14, 10), (0.33, 40, 60 if not on_maps else 100, 50)):
        for _ in range(max(1, round(share * count / each))):
            kind, side = int(random.integers(len(kinds))), int(random.integers(low, high))
            seed = int(random.integers(2**31))
            free = kinds[kind](side, seed)
            if np.count_nonzero(free) >= 2:
                yield Place(f"kind {kind}, side {side}, seed {seed}", tb.Grid(free), min(each, count))
    folder = Path(os.environ.get("TIMEBOUND_MAPS") or "nowhere")
    there = [name for name in MAPS if (folder / f"{name}.map").is_file()]
    walks = round(0.27 * count / len(MAPS))
    if on_maps:
        for name in there:
            yield Place(name, tb.Grid.load(folder / f"{name}.map"), walks)
        for seed in range(len(MAPS) - len(there)):
            yield Place(f"caves 192, seed {seed}", tb.Grid(tb.generate.caves((192, 192), seed=seed)), walks)


def _spec(random: np.random.Generator, level: int, small: bool) -> str:
    """Any pair of switches in small worlds; in large ones those with intermediate goals: the others are LRTA*."""
    depth = str(random.choice(["pdb", "pdb", "fixed", "tree"]))
    goal = "global" if small and random.random() < 0.2 else "pdb"
    cap = int(random.choice([1, 1, 2, 3] if small else [1, 1, 2, 3, 5, 10]))
    reentry = str(random.choice(["keep", "keep", "keep", "global"]))
    return f"d-lrta*:depth={depth},goal={goal},level={level},cap={cap},reentry={reentry}"


def _connected(free: np.ndarray, start: tuple[int, int], goal: tuple[int, int]) -> bool:
    parts = ndimage.label(free)[0]
    return bool(parts[start] == parts[goal] != 0)


def _legal(free: np.ndarray, here: tuple[int, int], there: tuple[int, int]) -> bool:
    """Whether one step leads from a cell to another: a straight one, or a diagonal one past no wall."""
    rows, cols = there[0] - here[0], there[1] - here[1]
    if max(abs(rows), abs(cols)) > 1 or not free[there]:
        return False
    return bool(free[here[0] + rows, here[1]] and free[here[0], here[1] + cols])


def _edit(random: np.random.Generator, world: tb.Grid, free: np.ndarray, agent: Any, goal: Any, small: bool) -> None:
    """Block and open some cells around the agent; ``free`` is the model."""
    here = np.array(agent.position)
    around = here + random.integers(-6, 7, (int(random.integers(1, 8)), 2))
    cells = [(int(row), int(col)) for row, col in around if 0 <= row < free.shape[0] and 0 <= col < free.shape[1]]
    cells = [cell for cell in cells if cell not in (tuple(here.tolist()), goal)]
    shut = [cell for cell in cells if free[cell]]
    opened = [cell for cell in cells if not free[cell]]
    if opened and random.random() < 0.5:
        world.unblock(opened)
        for cell in opened:
            free[cell] = True
    if shut:
        for cell in shut:
            free[cell] = False
        if small or _connected(free, agent.position, goal):
            world.block(shut)
        else:
            for cell in shut:
                free[cell] = True


def _walk(seed: int, world: tb.Grid, wanted: str, ends: tuple[Any, Any], made: Any, budget: Any, edited: bool) -> int:
    """One problem. Returns the moves; what is wrong is raised."""
    random = np.random.default_rng(seed)
    start, goal = ends
    free = world.free.copy()
    small = int(np.count_nonzero(free)) <= _SMALL
    here = world.copy() if edited else world
    agent = tb.agent(wanted, here, start, goal, database=made, budget=budget)
    possible = _connected(free, start, goal)
    if edited and (possible or small):
        for _ in range(int(random.integers(5, 60))):
            _edit(random, here, free, agent, goal, small)
            for _ in range(int(random.integers(1, 12))):
                before = agent.position
                after = agent.step()
                if after != before and not _legal(free, before, after):
                    raise AssertionError(f"the step from {before} to {after} is not legal")
            if agent.status == "reached":
                return int(agent.moves)
        possible = _connected(free, agent.position, goal)
    so_far = agent.moves
    result = agent.run(_MOST).result()
    for one, other in zip(result.path[so_far:-1].tolist(), result.path[so_far + 1 :].tolist(), strict=True):
        if not _legal(free, tuple(one), tuple(other)):
            raise AssertionError(f"the step from {one} to {other} is not legal")
    expected = "reached" if possible else "unreachable"
    if result.status != expected:
        raise AssertionError(f"{result.status} after {result.moves:,} moves, and it should be {expected}")
    return int(result.moves)


def _warm() -> None:
    """Compile everything first: no walk is to be taken for a hang because of that."""
    world = tb.Grid(np.ones((12, 12)))
    for depth, goal in (("pdb", "pdb"), ("fixed", "pdb"), ("tree", "pdb"), ("pdb", "global")):
        wanted = f"d-lrta*:depth={depth},goal={goal},level=1,cap=3"
        made = tb.prepare(world, None, algorithm=wanted)
        tb.agent(wanted, world, (0, 0), (11, 11), database=made).run(5)


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """``count`` problems, or a few less where a world has no such level."""
    _warm()
    for place in places(random, count):
        world = place.world
        cells = np.argwhere(world.free)
        small = len(cells) <= _SMALL
        tables: dict[tuple[int, str], Any] = {}
        top = 2 if small else 4
        for _ in range(place.walks):
            level = int(random.integers(1 if small else 2, top + 1))
            wanted = _spec(random, level, small)
            depth, goal_kind = (wanted.split(f"{name}=")[1].split(",")[0] for name in ("depth", "goal"))
            made = None
            if "pdb" in (depth, goal_kind):
                if (level, goal_kind) not in tables:
                    try:
                        spec = f"d-lrta*:depth=pdb,goal={goal_kind},level={level},cap=10"
                        tables[level, goal_kind] = tb.prepare(world, None, algorithm=spec)
                    except tb.WorldError:  # it has no such level
                        continue
                made = tables[level, goal_kind]
            start, goal = (tuple(int(x) for x in cells[int(k)]) for k in random.integers(len(cells), size=2))
            budget = None if "fixed" in wanted else [None, None, 1, 50][int(random.integers(4))]
            edited, seed = bool(random.random() < 0.5), int(random.integers(2**62))
            what = f"{place.name}: {wanted}, {start} to {goal}, budget {budget}, edited {edited}, seed {seed}"
            moves = tally.judge(what, partial(_walk, seed, world, wanted, (start, goal), made, budget, edited))
            tally.moves += moves or 0
