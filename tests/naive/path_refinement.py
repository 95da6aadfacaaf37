"""PRA* and PR LRTA* on dictionaries, from the papers' descriptions. The levels of the abstraction are given."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from .best_first import best_first
from .learning import Lrta
from .worlds import reachable


@dataclass
class Hierarchy:
    """Levels of regions. ``worlds[0]`` is the ground; every other one is a graph of regions."""

    worlds: list[Any]
    parents: list[dict[Any, Any]]  # of each level's nodes in the level above
    middles: list[dict[Any, Any]]  # of each level's nodes: the state in the middle

    def climb(self, state: Any, level: int) -> Any:
        for parent in self.parents[:level]:
            state = parent[state]
        return state


@dataclass
class Within:
    """A world in which only some states are there."""

    world: Any
    inside: Callable[[Any], bool]

    @property
    def shift(self) -> int:
        return self.world.shift

    def successors(self, state: Any) -> list[Any]:
        return [step for step in self.world.successors(state) if self.inside(step.target)]

    def estimate(self, state: Any, goal: Any) -> int:
        return self.world.estimate(state, goal)


@dataclass
class Refined:
    """What became of it. ``path`` is None if there is no way; ``states`` are those of all searches."""

    path: list[Any] | None = None
    expansions: int = 0
    states: int = 0
    level: int = 0  # where it began


def pra_star(hierarchy: Hierarchy, start: Any, goal: Any) -> Refined:
    """Climb until start and goal meet; A* at half that height; then level by level A* beside the path above."""
    top = len(hierarchy.parents)
    meet = next((k for k in range(top + 1) if hierarchy.climb(start, k) == hierarchy.climb(goal, k)), None)
    found = Refined()
    if meet is None:
        return found
    found.level = meet // 2
    corridor: set[Any] | None = None
    for level in range(found.level, -1, -1):
        world, parent = hierarchy.worlds[level], hierarchy.parents[level] if level < top else {}
        inside = Within(world, lambda node, p=parent, c=corridor: c is None or p[node] in c)  # type: ignore[misc]
        outcome = best_first(inside, hierarchy.climb(start, level), hierarchy.climb(goal, level), 1, 1, True)
        found.expansions += outcome.expansions
        found.states += outcome.states
        found.path = outcome.path
        assert outcome.path is not None, "the corridor leads to the goal"
        corridor = set(outcome.path) | {step.target for node in outcome.path for step in world.successors(node)}
    return found


def a_star_into(world: Any, start: Any, target: Any, arrived: Callable[[Any], bool]) -> tuple[list[Any], int]:
    """A* towards ``target`` until a state that has ``arrived`` would be expanded: the path there, and the expansions.

    Order and ties as in ``best_first``.
    """

    newer = count(0, -1)
    cost: dict[Any, int] = {start: 0}
    parent: dict[Any, Any] = {start: None}
    closed: set[Any] = set()
    expansions = 0

    def bucket(state: Any) -> float:
        return (cost[state] + world.estimate(state, target)) >> world.shift if state in cost else math.inf

    heap = [(bucket(start), next(newer), start)]
    while True:
        while heap and heap[0][2] in closed and heap[0][0] < bucket(target):
            heapq.heappop(heap)
        state = heap[0][2] if heap and heap[0][0] < bucket(target) else target
        if arrived(state):
            break
        heapq.heappop(heap)
        closed.add(state)
        expansions += 1
        for step in world.successors(state):
            g = cost[state] + step.cost
            if g < cost.get(step.target, math.inf):
                cost[step.target], parent[step.target] = g, state
                closed.discard(step.target)
                if step.target != target:
                    heapq.heappush(heap, (bucket(step.target), next(newer), step.target))
    path = [state]
    while parent[path[-1]] is not None:
        path.append(parent[path[-1]])
    return path[::-1], expansions


@dataclass
class Patterns:
    """A pattern database: regions of a level's nodes; by the regions of goal and agent, where to go and how deep."""

    region: dict[int, int]
    goals: dict[tuple[int, int], int] | None = None
    depths: dict[tuple[int, int], int] | None = None


@dataclass
class Walk:
    """Where it went, and what it expanded for each move."""

    status: str = "active"
    trail: list[Any] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)


class PrLrta:
    """LRTA* at a level; its first move is refined by A* on the ground, in the corridor of two regions."""

    def __init__(
        self, hierarchy: Hierarchy, goal: Any, level: int, cap: int, gamma: float, patterns: Patterns | None = None
    ) -> None:
        self.hierarchy, self.goal, self.gamma = hierarchy, goal, gamma
        self.level, self.cap, self.patterns = min(level, len(hierarchy.parents)), cap, patterns
        self.goal_region = hierarchy.climb(goal, self.level)
        self.to_goal = self._lrta(self.goal_region)
        self.to_subgoal = self.to_goal
        self.entered: set[int] = set()

    def _lrta(self, goal: int) -> Lrta:
        return Lrta(self.hierarchy.worlds[self.level], goal, gamma=self.gamma)

    def control(self, here: int) -> Lrta:
        """LRTA* towards the goal of this move, set to look as deep as it should."""
        self.to_goal.depth, patterns = self.cap, self.patterns
        if patterns is None or (patterns.goals is not None and here in self.entered):
            return self.to_goal
        pair = patterns.region[self.goal_region], patterns.region[here]
        depth = self.cap if patterns.depths is None else min(self.cap, patterns.depths[pair])
        lrta = self.to_goal
        if patterns.goals is not None and pair[0] != pair[1]:
            subgoal = patterns.goals[pair]
            if subgoal != here and subgoal in reachable(self.hierarchy.worlds[self.level], here):
                if self.to_subgoal is self.to_goal or self.to_subgoal.goal != subgoal:
                    self.to_subgoal = self._lrta(subgoal)
                lrta = self.to_subgoal
        lrta.depth = depth
        return lrta

    def plan(self, state: Any) -> tuple[list[Any], int]:
        """The path to be walked next, and what it took."""
        climb, level, ground = self.hierarchy.climb, self.level, self.hierarchy.worlds[0]
        here = after = climb(state, level)
        expansions = 0
        if here != self.goal_region:
            lrta = self.control(here)
            after = lrta.decide(here)[0]  # type: ignore[index]
            expansions = lrta.walk.looked[-1]
            self.entered.add(here)
        corridor = Within(ground, lambda s: climb(s, level) in (here, after))
        if after == self.goal_region:
            outcome = best_first(corridor, state, self.goal, 1, 1, True)
            assert outcome.path is not None
            return outcome.path, expansions + outcome.expansions
        target = self.hierarchy.middles[level][after]
        path, more = a_star_into(corridor, state, target, lambda s: climb(s, level) == after)
        return path, expansions + more

    def run(self, start: Any, moves: int) -> Walk:
        walk = Walk(trail=[start])
        top = len(self.hierarchy.parents)
        if self.hierarchy.climb(start, top) != self.hierarchy.climb(self.goal, top):
            walk.status = "unreachable"
            return walk
        while walk.trail[-1] != self.goal and len(walk.trail) <= moves:
            path, expansions = self.plan(walk.trail[-1])
            walk.trail += path[1:]
            walk.looked += [expansions] + [0] * (len(path) - 2)
        walk.status = "reached" if walk.trail[-1] == self.goal else "move-limit"
        return walk
