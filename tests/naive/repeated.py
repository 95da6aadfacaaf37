"""RTB-WA* from Algorithms 2 and 3 of the paper, and naive worlds that can be edited under its feet.

There is no log of edits here: whoever edits a world hands over all its arcs before and after, and what changed is
found by comparing them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import Any

from .best_first import ONE
from .time_bounded import Search
from .worlds import CARDINAL, NaiveGraph, NaiveGrid, Step

Arcs = dict[tuple[Any, Any], int]


class Ground(NaiveGrid):
    """A grid that is edited cell by cell. A blocked cell remembers its cost; one that never had any gets 1."""

    def __init__(self, cells: Any, **rules: Any) -> None:
        super().__init__(cells, **rules)
        self.costs = {(r, c): value for r, row in enumerate(self.cells) for c, value in enumerate(row) if value}
        self.unit = CARDINAL / 2 / min(self.costs.values(), default=1.0)

    def block(self, cells: Iterable[tuple[int, int]]) -> None:
        for row, col in cells:
            self.cells[row][col] = 0.0

    def unblock(self, cells: Iterable[tuple[int, int]]) -> None:
        for row, col in cells:
            if (row, col) not in self.costs:
                self.set_cost((row, col), 1.0)
            self.cells[row][col] = self.costs[row, col]

    def set_cost(self, cell: tuple[int, int], cost: float) -> None:
        self.costs[cell] = cost
        if self.is_free(*cell):
            self.cells[cell[0]][cell[1]] = cost
        if self.terrain:
            self.weight[cell] = round(cost * self.unit)
            # The estimate believes in the cheapest cell there ever was.
            self.least = min(self.least, self.weight[cell])


class Roads:
    """An undirected graph whose arcs are edited, each together with its reverse."""

    def __init__(
        self, arcs: dict[Hashable, list[Step]], scale: float, estimate: Callable[[Any, Any], int], shift: int
    ) -> None:
        self.arcs, self.scale, self.estimate, self.shift = arcs, scale, estimate, shift
        self.shut: set[tuple[Any, Any]] = set()
        self.made = {(u, step.target): step.length for u, steps in arcs.items() for step in steps}

    @classmethod
    def of_graph(cls, graph: NaiveGraph) -> Roads:
        return cls({node: list(steps) for node, steps in graph.arcs.items()}, graph.scale, graph.estimate, graph.shift)

    @classmethod
    def of_grid(cls, grid: NaiveGrid) -> Roads:
        """A plain grid, as ``Grid.to_graph`` makes it."""
        return cls({here: grid.successors(here) for here in grid.points()}, CARDINAL, grid.estimate, grid.shift)

    def points(self) -> list[Any]:
        return list(self.arcs)

    def successors(self, state: Any) -> list[Step]:
        return [step for step in self.arcs[state] if (state, step.target) not in self.shut]

    def block(self, source: Any, target: Any) -> None:
        self.shut |= {(source, target), (target, source)}

    def unblock(self, source: Any, target: Any) -> None:
        self.shut -= {(source, target), (target, source)}

    def set_cost(self, source: Any, target: Any, cost: float) -> None:
        whole = max(1, math.ceil(cost * self.scale - 1e-9))
        for u, v in ((source, target), (target, source)):
            self.arcs[u] = [Step(v, whole, cost) if step.target == v else step for step in self.arcs[u]]


def arcs_of(world: Any) -> Arcs:
    """Every arc that can be used now, and its cost."""
    return {(here, step.target): step.cost for here in world.points() for step in world.successors(here)}


class Repeated:
    """An agent under RTB-WA*, to be stepped; after every edit it must be told of it."""

    def __init__(
        self,
        world: Any,
        start: Any,
        goal: Any,
        k: int | None,
        weight: float,
        lazy: bool,
        reopen: bool = False,
    ) -> None:
        self.world, self.goal, self.lazy, self.weight, self.reopen = world, goal, lazy, weight, reopen
        self.k = math.inf if k is None else k
        self.loc = start
        self.trail, self.spent = [start], []
        self.back_moves = self.astray = self.restarts = 0
        self.stuck = False  # it was proved that there is no way
        self.edited = False  # since the last tick
        self.initialize()

    def initialize(self) -> None:
        """InitializeSearch()."""
        self.search = Search(self.world, self.loc, self.goal, 1, self.weight, self.reopen)
        self.straight = self.world.estimate(self.loc, self.goal)
        self.path: list[Any] = []
        self.goal_found = False
        self.stale = False  # whether there was an edit since
        self.cheaper: list[tuple[Any, Any]] = []  # arcs that became cheaper and have not been judged yet

    def tell(self, before: Arcs, after: Arcs) -> None:
        """Of an edit: the arcs before and after it. They may be the same: also a wall can be given a cost."""
        self.cheaper += [arc for arc in after if after[arc] < before.get(arc, math.inf)]
        self.edited = True

    def ahead(self) -> list[Any]:
        """Where the agent will step if nothing happens: back to the path, and along it."""
        states = [self.loc]
        while states[-1] not in self.path:
            states.append(self.search.parent[states[-1]])
        return states[:-1] + self.path[self.path.index(states[-1]) :]

    def restart_search(self) -> bool:
        """RestartSearch?() of Algorithm 3, where the path must not be dearer than it was to the search."""
        if not self.lazy:
            return True
        if self.world.estimate(self.search.start, self.goal) < self.straight:
            return True  # the open states were put in order by estimates that are no longer believed
        now = arcs_of(self.world)
        rest = 0
        steps = self.ahead() if self.path else []
        for u, v in pairwise(steps):
            known = abs(self.search.cost[v] - self.search.cost[u])
            if now.get((u, v), math.inf) > known:
                return True
            rest += known
        if not self.goal_found:
            return False
        judged, self.cheaper = self.cheaper, []
        for u, v in judged:
            if (u, v) in now:
                through = self.world.estimate(self.loc, u) + now[u, v] + self.world.estimate(v, self.goal)
                if int(self.weight * ONE) * through < ONE * rest:
                    return True
        return False

    def step(self) -> None:
        """One round of Algorithm 2: search, move."""
        if self.loc == self.goal or (self.stuck and not self.edited):
            return
        if self.goal not in self.world.points():
            return  # in a wall now: the episode asks for nothing until it is free again
        left = self.k
        if self.stuck or not self.spent:
            self.stuck = False
            self.initialize()
        elif self.edited:
            self.stale = True
            if self.restart_search():
                self.restarts += 1
                self.initialize()
        self.edited = False
        self.spent.append(0)
        while True:
            if not self.search.found:
                used = self.search.advance(left)
                self.spent[-1] += used
                left -= used
            if not self.search.exhausted and not self.goal_found:
                self.path = [self.search.best()]
                while self.path[0] != self.search.start:
                    self.path.insert(0, self.search.parent[self.path[0]])
                self.goal_found = self.search.found
            if self.search.exhausted and not self.stale:
                self.stuck = True
                return
            if not self.stale or (not self.search.exhausted and not self.restart_search()):
                break
            self.restarts += 1
            self.initialize()
        if self.loc in self.path[:-1]:
            self.loc = self.path[self.path.index(self.loc) + 1]
        elif self.loc != self.search.start:
            self.loc = self.search.parent[self.loc]
            self.back_moves += 1
            self.astray += self.goal_found
        else:
            return  # nothing of the budget was left for the new search
        self.trail.append(self.loc)
