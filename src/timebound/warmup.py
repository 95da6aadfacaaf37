"""Compiling ahead of time: tiny problems through everything, so that the first real one need not wait.

A kernel is compiled once per kind of world and algorithm, and kept on disk. There is no list of kernels here to
forget one in: what is run is what is compiled, and the algorithms come from the registry.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .algorithms import REGISTRY, Algorithm, Spec, parse_spec
from .budget import Budget
from .episode import Agent, solve, validate
from .errors import Error, SpecError
from .fields import DistanceField
from .fleet import Fleet
from .kernels.jit import on_compile
from .kernels.scene import new_scene, take_in
from .kernels.telling import new_events
from .scenarios import problems
from .trace import Trace
from .worlds.graph import Graph
from .worlds.grid import Grid
from .worlds.protocol import World
from .worlds.puzzle import TilePuzzle

__all__ = ["KINDS", "USUAL", "WATCHED", "Report", "ready", "warm", "warm_side_by_side"]

Report = Callable[[str, float, list[str]], None]
"""Told after each step: what it was, the seconds it took, and the kernels that had to be compiled."""

_SIDE = 6
_BUILD = "build and edit"
WATCHED = "watched grid"  # as a trace, or the viewer, sees it


def _grid() -> tuple[World, Any, Any]:
    world = Grid(np.ones((_SIDE, _SIDE), bool))
    world.block((2, 2))
    world.unblock((2, 2))
    world.parts()
    return world, (0, 0), (_SIDE - 1, _SIDE - 2)


def _terrain(dearest: float) -> tuple[World, Any, Any]:
    costs = np.ones((_SIDE, _SIDE))
    costs[3, 1:4] = dearest
    world = Grid(costs)
    world.set_cost((0, 1), 2.0)
    world.block((2, 2))
    world.unblock((2, 2))
    return world, (0, 0), (_SIDE - 1, _SIDE - 2)


def _graph() -> tuple[World, Any, Any]:
    ring = np.arange(12)
    world = Graph(ring, (ring + 1) % 12, directed=False, heuristic="landmarks", landmarks=2)
    world.block(0, 1)
    world.unblock(0, 1)
    return world, 0, 5


def _puzzle() -> tuple[World, Any, Any]:
    world = TilePuzzle(3, 3)
    world.states = 32  # so little room that the table must grow, which has a kernel of its own
    return world, (3, 1, 2, 4, 0, 5, 6, 7, 8), world.solved


class _Watched(Grid):
    """A grid whose searches are watched."""


def _watched() -> tuple[World, Any, Any]:
    world = _Watched(np.ones((_SIDE, _SIDE), bool))
    return world, (0, 0), (_SIDE - 1, _SIDE - 2)


KINDS: dict[str, Callable[[], tuple[World, Any, Any]]] = {
    "grid": _grid,
    "terrain": lambda: _terrain(9.0),
    "steep terrain": lambda: _terrain(500.0),  # costs so far apart that the open list is a heap
    "graph": _graph,
    "puzzle": _puzzle,
    WATCHED: _watched,
}
"""One tiny world of each kind that kernels are specialised for: the world, a start and a goal."""


USUAL = tuple(kind for kind in KINDS if kind != WATCHED)
"""The kinds that are compiled if none are named: who looks on, in a viewer or by a trace, is few."""


def warm(
    report: Report | None = None,
    *,
    kinds: Iterable[str] = USUAL,
    algorithms: Iterable[Algorithm | Spec | str] | None = None,
    fleets: bool = True,
    mine: Callable[[int], bool] = lambda number: True,
) -> float:
    """Compile and cache every kernel, and return the seconds it took; what is cached already takes almost none.

    Steps that are not ``mine``, by their number, are left to another process; but each needs the worlds.
    """
    chosen = [_spec_of(one) for one in (REGISTRY.values() if algorithms is None else algorithms)]
    begun = time.perf_counter()
    compiled: list[str] = []
    previous = on_compile(lambda name: compiled.append(name.strip()))
    try:
        for number, (label, step) in enumerate(_steps(list(kinds), chosen, fleets)):
            taken = mine(number)
            if not taken and not label.endswith(_BUILD):
                continue
            compiled.clear()
            before = time.perf_counter()
            step()
            if taken and report is not None:
                report(label, time.perf_counter() - before, list(compiled))
    finally:
        on_compile(previous)
    return time.perf_counter() - begun


_GAMES = ("grid", "terrain")  # where fleets are; elsewhere what they need is compiled when it is wanted

# Kinds of worlds that have most of their kernels in common: one process compiles them once, two would do it twice.
_GROUPS = (("terrain", "steep terrain", "puzzle"), ("grid", "graph"), (WATCHED,))


def warm_side_by_side(
    report: Report, *, kinds: Sequence[str] = USUAL, algorithms: Sequence[str] | None = None, jobs: int
) -> float:
    """The same by several processes; ``algorithms`` are told by their specs.

    Each has other kinds of worlds. For a single kind, two take its steps in turns.
    """
    groups = [group for known in _GROUPS if (group := [kind for kind in known if kind in kinds])]
    alone = len(groups) == 1 and len(groups[0]) == 1
    if jobs < 2 or (len(groups) < 2 and not alone):
        return warm(report, kinds=kinds, algorithms=algorithms)
    begun = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    told: Any = context.SimpleQueue()
    shared: Any = context.Value("q", 0) if alone else None
    workers = [
        context.Process(target=_tell_all, args=(told, group, algorithms, shared), daemon=True)
        for group in (groups * 2 if alone else groups)
    ]
    for worker in workers:
        worker.start()
    try:
        left = len(workers)
        while left:
            step = told.get()
            if step is None:
                left -= 1
            elif isinstance(step, str):
                raise Error(step)
            else:
                report(*step)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    return time.perf_counter() - begun


def _tell_all(told: Any, kinds: Sequence[str], algorithms: Sequence[str] | None, shared: Any = None) -> None:
    """What such a process does: every step is told as it is done, None at the end, or what went wrong.

    ``shared`` is the number of steps that have been taken, where several take them in turns.
    """

    def mine(number: int) -> bool:
        if shared is None:
            return True
        with shared.get_lock():
            if number < shared.value:
                return False
            shared.value = number + 1
            return True

    try:
        warm(lambda *step: told.put(step), kinds=kinds, algorithms=algorithms, mine=mine)
        told.put(None)
    except KeyboardInterrupt:
        pass  # whoever started it was interrupted too
    except BaseException as problem:
        told.put(f"a process that compiled kernels has failed: {type(problem).__name__}: {problem}")


def _spec_of(algorithm: Algorithm | Spec | str) -> Spec:
    if isinstance(algorithm, Algorithm):
        return Spec(algorithm, algorithm.settle({}))
    return parse_spec(algorithm)


def _steps(kinds: list[str], specs: list[Spec], fleets: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    for kind in kinds:
        made: list[tuple[World, Any, Any]] = []

        def make(kind: str = kind, made: list[tuple[World, Any, Any]] = made) -> None:
            made.append(KINDS[kind]())

        yield f"{kind}: {_BUILD}", make
        world, start, goal = made[0]
        for spec in specs:
            algorithm = spec.algorithm
            if algorithm.refuses is None or algorithm.refuses(world) is None:
                for database in (None,) if algorithm.database is None else algorithm.database.empty(world):
                    yield (
                        f"{kind}: {algorithm.name}",
                        lambda spec=spec, database=database: _walk(world, start, goal, spec, database),  # type: ignore[misc]  # noqa: B023
                    )
                    if fleets and kind in _GAMES and algorithm.real_time:
                        yield (
                            f"{kind}: {algorithm.name} in a fleet",
                            lambda spec=spec, database=database: _walk_together(world, start, goal, spec, database),  # type: ignore[misc]  # noqa: B023
                        )
        if kind == WATCHED:
            yield f"{kind}: what there is to see", lambda: _look_on(world)  # noqa: B023
        if world.undirected and world.table != "hashed":
            yield f"{kind}: distance field", lambda: _field(world, start, goal)  # noqa: B023
        if kind == "grid" and fleets:
            yield f"{kind}: units that keep apart", lambda: _crowd(world, start, goal)  # noqa: B023
        if kind == WATCHED:
            continue  # all else is as on other grids
        yield f"{kind}: check and draw problems", lambda: _rest(world, start, goal)  # noqa: B023


def _look_on(world: World) -> None:
    take_in(world.view, new_scene(world.states, world.unit), new_events(1)[0][:0])


def _field(world: World, start: Any, goal: Any) -> None:
    field = DistanceField(world, goal)
    field.grow()
    field.steps([start])
    field.path(start)
    _ = field.distances


def _crowd(world: World, start: Any, goal: Any) -> None:
    """Two who must pass each other, one of them by a shared field; there would be a thread to help. Some in turns."""
    fleet = Fleet(world, frame_expansions=1000, collisions=True, threads=2)
    fleet.add([start], [goal])
    fleet.add([goal], [start], spec="field")
    for _ in range(100):
        fleet.tick()
    many = Fleet(world, frame_expansions=8)
    many.add([start] * 4, [goal] * 4)
    many.tick()


def _walk(world: World, start: Any, goal: Any, spec: Spec, database: Any) -> None:
    """There, and back again; some algorithms cannot do without a budget, and none minds a generous one."""
    trace = Trace() if isinstance(world, _Watched) else None
    agent = Agent(spec, world, start, goal, budget=1000, move_limit=1000, database=database, trace=trace)
    agent.step()
    if trace is not None:
        agent.ahead(likely=True)
    agent.retarget(start).retarget(goal).run().result()


def _walk_together(world: World, start: Any, goal: Any, spec: Spec, database: Any) -> None:
    fleet = Fleet(world, spec, frame_expansions=1000, database=database)
    ids = fleet.add([start], [goal])
    fleet.tick()
    fleet.send(ids, start)


def _rest(world: World, start: Any, goal: Any) -> None:
    result = solve(world, start, goal, "a*", optimal="compute")
    validate(world, result.path if world.table != "hashed" else [tuple(p) for p in result.path.tolist()])
    next(problems(world, 1, seed=1))


def ready(
    world: World,
    start: Any,
    goal: Any,
    spec: str | Spec,
    budget: Budget | int | str | None = None,
    database: Any = None,
) -> None:
    """Load or compile what an episode needs, by one tick of it, before several threads ask for it at once."""
    limit = Budget.of(budget)
    if limit.expansions is None:
        # One expansion will do, unless the algorithm's own lookahead needs more.
        with suppress(SpecError):
            Agent(spec, world, start, goal, budget=1, database=database).step()
            return
    Agent(spec, world, start, goal, budget=limit, database=database).step()
