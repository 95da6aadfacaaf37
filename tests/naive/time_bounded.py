"""TBA*, TB-WA* and TB-GBFS from the papers' pseudo-code: lists for paths, a heap for the open list, nothing clever."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

from .best_first import DIGITS, ONE


class Walk(NamedTuple):
    """Where the agent went, and what it took."""

    reached: bool
    trail: list[Any]
    back_moves: int
    spent: list[int]  # expansions per tick; a tick without a move has an entry too


class Search:
    """The search of ``naive.best_first``, stopped after so many expansions and taken up again."""

    def __init__(self, world: Any, start: Any, goal: Any, g_weight: float, h_weight: float, reopen: bool) -> None:
        self.world, self.start, self.goal, self.reopen = world, start, goal, reopen
        self.g_weight, self.h_weight = int(g_weight * ONE), int(h_weight * ONE)
        self.cost = {start: 0}
        self.parent: dict[Any, Any] = {start: None}
        self.closed: set[Any] = set()
        self.goal_f = math.inf
        self.found = False
        self.newer = count(0, -1)
        self.heap = [(self.bucket(self.evaluate(start)), next(self.newer), start)]

    def evaluate(self, state: Any) -> int:
        return self.g_weight * self.cost[state] + self.h_weight * self.world.estimate(state, self.goal)

    def bucket(self, f: float) -> float:
        return f if f == math.inf else int(f) >> (self.world.shift + DIGITS)

    def advance(self, limit: float) -> int:
        """Expand up to ``limit`` states; returns how many it were."""
        expansions = 0
        while self.heap and self.heap[0][0] <= self.bucket(self.goal_f):
            if expansions >= limit:
                return expansions
            key, _, state = heapq.heappop(self.heap)
            if state in self.closed or (key == self.bucket(self.goal_f) and self.evaluate(state) >= self.goal_f):
                continue
            self.closed.add(state)
            expansions += 1
            self.expand(state)
        self.found = self.goal_f < math.inf
        return expansions

    def expand(self, state: Any) -> None:
        for step in self.world.successors(state):
            g = self.cost[state] + step.cost
            if step.target in self.cost:
                if g >= self.cost[step.target] or self.g_weight == 0:
                    continue
                if step.target in self.closed and not self.reopen:
                    continue
                self.closed.discard(step.target)
            self.cost[step.target] = g
            self.parent[step.target] = state
            f = self.evaluate(step.target)
            if step.target == self.goal:
                self.goal_f = f
            elif f < self.goal_f:
                heapq.heappush(self.heap, (self.bucket(f), next(self.newer), step.target))

    def open_states(self) -> list[tuple[float, int, Any]]:
        # The heap keeps entries of states that have been expanded meanwhile; those states are not open.
        return [entry for entry in self.heap if entry[2] not in self.closed]

    @property
    def exhausted(self) -> bool:
        return self.goal_f == math.inf and not self.open_states()

    def best(self) -> Any:
        """The state to be expanded next, or the goal once no open state is in a lower bucket."""
        entries = self.open_states()
        if not entries or min(entries)[0] >= self.bucket(self.goal_f):
            return self.goal
        return min(entries)[2]


def tba_star(
    world: Any,
    start: Any,
    goal: Any,
    resources: int | None,
    r: str = "0.9",
    c: str = "10",
    steady: bool = False,
    late: bool = False,
) -> Walk:
    """Algorithm 1 of Björnsson, Bulitko and Sturtevant, with ``loc.last`` saved before the agent moves."""
    n_e = n_t = n_t_after = math.inf
    if resources is not None:
        # Fractions, because 0.9 as a float is a little off, and floor would show it.
        n_e = max(1, math.floor(resources * Fraction(r)))
        n_t = max(1, math.floor((resources - n_e) * Fraction(c)))
        n_t_after = max(1, math.floor(resources * Fraction(c)))
    search = Search(world, start, goal, 1, 1, False)
    loc, last = start, None
    follow: list[Any] = []
    new: list[Any] = []
    final = settled = False
    trail, spent, back_moves = [start], [], 0
    while loc != goal:
        allowed = n_e if spent else min(n_e, n_t)
        spent.append(0 if search.found else search.advance(allowed))
        if search.exhausted:
            return Walk(False, trail, back_moves, spent)
        if not settled and (search.found or not late):
            if not new:
                new, final = [search.best()], search.found
            steps = n_t_after if search.found else n_t
            while steps > 0 and new[0] not in (loc, start):
                new.insert(0, search.parent[new[0]])
                steps -= 1
            if new[0] in (loc, start):
                worse = bool(follow) and search.cost[new[-1]] < search.cost[follow[-1]]
                if final or not (steady and worse):
                    follow, settled = new, final
                new = []
        if late and not settled:
            there = some_neighbour(world, start, goal) if loc == start else start
        else:
            if loc in follow:
                follow = follow[follow.index(loc) :]
            if loc in follow[:-1]:
                there = follow[1]
            elif loc != start:
                # At the end of its path, or off it. What was walked has been dropped, so a further step back follows.
                there = start if late else search.parent[loc]
                back_moves += 1
            else:
                there = last
        if there is not None:
            last, loc = loc, there
            trail.append(loc)
    return Walk(True, trail, back_moves, spent)


def tb_best_first(
    world: Any, start: Any, goal: Any, k: int | None, g_weight: float, h_weight: float, used: int = 0
) -> Walk:
    """Algorithm 1 of Hernández, Asín and Baier; of the first k expansions some may be used up already."""
    search = Search(world, start, goal, g_weight, h_weight, False)
    loc = start
    path: list[Any] = []
    goal_found = False
    trail, spent, back_moves = [start], [], 0
    while loc != goal:
        spent.append(0 if search.found else search.advance(math.inf if k is None else k - used))
        used = 0
        if search.exhausted:
            return Walk(False, trail, back_moves, spent)
        if not goal_found:
            path = [search.best()]
            while path[0] != start:
                path.insert(0, search.parent[path[0]])
            goal_found = search.found
        if loc in path:
            loc = path[path.index(loc) + 1]
        else:
            loc = search.parent[loc]
            back_moves += 1
        trail.append(loc)
    return Walk(True, trail, back_moves, spent)


def some_neighbour(world: Any, root: Any, goal: Any) -> Any:
    """The neighbour that late acting steps to: counted to a number hashed from the root's estimate."""
    legal = [step.target for step in world.successors(root)]
    return legal[(world.estimate(root, goal) % (1 << 24) * 40503 >> 8) % len(legal)]
