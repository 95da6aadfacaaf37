"""Distance fields beside tcod's Dijkstra maps and SciPy's dijkstra, as ratios within one run.

    python benchmarks/fields.py [--side 1024] [--repeats 5]

Caves of side x side, corners always passable and diagonal steps of 1.5, which is what tcod can do too: all distances
are compared before any time is told. Four questions: what growing a whole field costs per cell (best of several), what
one edited cell costs (the others compute everything anew), what a step of each of 10,000 units costs, and what a frame
costs in a chase of 200 units whose goal moves every third frame.
Run it on a quiet machine. A library that is not installed is left out: pip install 'timebound[bench]'.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import timebound as tb

Grow = Callable[[tb.Grid, tuple[int, int]], np.ndarray]


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the call returned."""
    before = time.perf_counter()
    value = call()
    return time.perf_counter() - before, value


def by_dijkstra2d(world: tb.Grid, goal: tuple[int, int]) -> np.ndarray:
    """tcod.path.dijkstra2d, which works in place on whole numbers."""
    import tcod.path

    distance = tcod.path.maxarray(world.shape, dtype=np.int32)
    distance[goal] = 0
    tcod.path.dijkstra2d(distance, world.free.astype(np.int32), 2, 3, out=distance)
    return distance


def by_pathfinder(world: tb.Grid, goal: tuple[int, int]) -> np.ndarray:
    """tcod.path.Pathfinder, its newer way."""
    import tcod.path

    graph = tcod.path.SimpleGraph(cost=world.free.astype(np.int8), cardinal=2, diagonal=3)
    finder = tcod.path.Pathfinder(graph)
    finder.add_root(goal)
    finder.resolve()
    return finder.distance


def by_scipy(world: tb.Grid, goal: tuple[int, int]) -> np.ndarray:
    """scipy.sparse.csgraph.dijkstra; making the matrix is not counted, so it is made once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    if not hasattr(by_scipy, "matrix"):
        view = world.to_graph().view
        by_scipy.matrix = csr_array((view.length, view.head, view.first))  # type: ignore[attr-defined]
        by_scipy.cells = np.argwhere(world.free)  # type: ignore[attr-defined]
    cells = by_scipy.cells  # type: ignore[attr-defined]
    start = int(np.flatnonzero((cells == goal).all(1))[0])
    found = dijkstra(by_scipy.matrix, indices=start)  # type: ignore[attr-defined]
    distance = np.full(world.shape, np.inf)
    distance[tuple(cells.T)] = found * 2
    return distance


def by_timebound(world: tb.Grid, goal: tuple[int, int]) -> tb.DistanceField:
    """A new field, grown to its end."""
    field = tb.DistanceField(world, goal)
    field.grow()
    return field


def peers(world: tb.Grid, goal: tuple[int, int], ours: np.ndarray) -> dict[str, Grow]:
    """The others that are installed, and agree."""
    found: dict[str, Grow] = {}
    for name, grow in (
        ("tcod dijkstra2d", by_dijkstra2d),
        ("tcod Pathfinder", by_pathfinder),
        ("scipy dijkstra", by_scipy),
    ):
        try:
            theirs = grow(world, goal)
        except ImportError:
            print(f"{name}: not installed")
            continue
        reached = np.isfinite(ours)
        if not np.allclose(theirs[reached], 2 * ours[reached], rtol=1e-6):
            raise AssertionError(f"{name} finds other distances")
        found[name] = grow
    return found


def chase(world: tb.Grid, places: np.ndarray, frames: int, budget: int, others: dict[str, Grow]) -> None:
    """200 units, and a goal that takes a step every third frame."""
    random = np.random.default_rng(5)
    walk = [tuple(int(k) for k in places[0])]
    for _ in range(frames // 3 + 1):
        near = around(world, walk[-1])
        walk.append(near[int(random.integers(len(near)))])
    units = places[random.integers(len(places), size=200)]
    field = by_timebound(world, walk[0])
    times, moved = [], []
    for frame in range(frames):

        def one_frame(frame: int = frame, units: np.ndarray = units) -> np.ndarray:
            if frame % 3 == 0:
                field.retarget(walk[frame // 3 + 1])
            field.grow(budget)
            return field.steps(units)

        seconds, after = seconds_of(one_frame)
        times.append(seconds * 1e3)
        moved.append(float((after != units).any(1).mean()))
        units = after
    print(
        f"chase, 200 units, {budget} expansions a frame: median {median(times):.3f} ms, "
        f"p99 {np.quantile(times, 0.99):.3f}, worst {max(times):.3f}; {np.mean(moved):.1%} of the units move in a frame"
    )
    grow = others.get("tcod dijkstra2d")
    if grow is not None:
        again = [seconds_of(lambda goal=goal: grow(world, goal))[0] * 1e3 for goal in walk[:20]]
        print(
            f"  a frame in which the goal has moved, with tcod dijkstra2d: {median(again):.3f} ms and the steps "
            f"({median(again) / np.quantile(times, 0.99):.1f} times our p99)"
        )


def around(world: tb.Grid, place: tuple[int, int]) -> list[tuple[int, int]]:
    """The free cells beside one; the cell itself if there is none."""
    cells = [(place[0] + down, place[1] + right) for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    inside = [cell for cell in cells if 0 <= cell[0] < world.shape[0] and 0 <= cell[1] < world.shape[1]]
    return [cell for cell in inside if world.free[cell]] or [place]


def main() -> None:
    """Print the four answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=int, default=5000, help="expansions a frame in the chase")
    given = parser.parse_args()
    world = tb.Grid(tb.generate.caves((given.side, given.side), seed=1), corners="always", diagonal=1.5)
    parts = world.parts()
    places = world.points_of(np.flatnonzero(parts == np.bincount(parts[parts > 0]).argmax()))
    goal = tuple(int(k) for k in places[len(places) // 3])
    field = by_timebound(world, goal)
    others = peers(world, goal, field.distances)
    print(f"caves {given.side} x {given.side}, {len(places):,} cells reached")

    best: dict[str, float] = {}
    for _ in range(given.repeats):
        for name, grow in (("timebound", by_timebound), *others.items()):
            seconds, _ = seconds_of(lambda grow=grow: grow(world, goal))
            best[name] = min(best.get(name, np.inf), seconds)
    for name, seconds in best.items():
        ratio = f", {seconds / best['timebound']:.2f} times ours" if name != "timebound" else ""
        print(f"grow: {name:16} {seconds * 1e9 / len(places):8.1f} ns a cell{ratio}")

    random = np.random.default_rng(2)
    repairs, spent = [], []
    for cell in places[random.integers(len(places), size=200)]:
        if tuple(cell) == goal:
            continue
        for edit in (world.block, world.unblock):
            edit(cell)
            seconds, count = seconds_of(field.grow)
            repairs.append(seconds)
            spent.append(count)
    print(
        f"repair after one cell: median {median(repairs) * 1e6:.1f} us ({median(spent):.0f} expansions), "
        f"mean {np.mean(repairs) * 1e6:.1f} us, worst {max(repairs) * 1e3:.2f} ms ({max(spent):,} expansions); "
        f"growing anew takes {best['timebound'] / np.mean(repairs):.0f} times the mean"
    )
    units = places[random.integers(len(places), size=10_000)]
    seconds = min(seconds_of(lambda: field.steps(units))[0] for _ in range(given.repeats * 4))
    print(f"steps of 10,000 units: {seconds * 1e6:.0f} us, {seconds * 1e5:.1f} ns each")
    chase(world, places, 300, given.budget, others)


if __name__ == "__main__":
    main()
