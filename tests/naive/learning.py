"""LRTA*, P LRTA*, LSS-LRTA* and RTAA* on dictionaries, from the papers' pseudo-code.

Heuristic values are in units of 1/1024 of a cost, so that weights given to ten binary digits need no rounding.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Any

ONE = 1024
NOWHERE = 1 << 59  # the value of a state from which nothing leads on
AT_ONCE = 32  # states expanded between two ticks, when the goal has moved


@dataclass
class Walk:
    """What the agent did: where it went, what it expanded per move, what it learned."""

    status: str = "active"
    trail: list[Any] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)
    settled: int = 0  # while learning
    learned: dict[Any, int] = field(default_factory=dict)
    most_states: int = 0
    raised: list[tuple[Any, int, int]] = field(default_factory=list)


class Learner:
    """What all of them share: the values, and the proof that a value is too high for there to be a way."""

    def __init__(self, world: Any, goal: Any) -> None:
        self.world = world
        self.goal = goal
        self.walk = Walk()
        self.largest_estimate = 0
        self.dearest_step = 0

    def h(self, state: Any) -> int:
        estimate = self.world.estimate(state, self.goal) * ONE
        self.largest_estimate = max(self.largest_estimate, estimate)
        return max(estimate, self.walk.learned.get(state, 0))

    def steps(self, state: Any) -> list[Any]:
        steps = self.world.successors(state)
        self.dearest_step = max([self.dearest_step, *(step.cost for step in steps)])
        return steps

    def learn(self, state: Any, value: int) -> bool:
        """Never lower."""
        if value <= self.h(state):
            return False
        self.walk.raised.append((state, self.h(state), value))
        self.walk.learned[state] = value
        return True

    def too_high(self, value: int, known: int, weight: int = ONE) -> bool:
        """Above the largest estimate by more steps than could lead out of the known states."""
        return self.dearest_step > 0 and (value - self.largest_estimate) // (weight * self.dearest_step) > known + 1

    def move_goal(self, goal: Any, weight: int = ONE) -> None:
        """Values come down by what a greedy way from the new goal to the old one costs, or are forgotten."""
        walk, old, self.goal = self.walk, self.goal, goal
        cost = None
        if walk.learned and self.world.estimate(goal, old) <= AT_ONCE * self.dearest_step:
            cost, expanded = self.greedy_way(goal, old)
            walk.settled += expanded
        if cost is None:
            walk.learned.clear()
            self.largest_estimate = self.dearest_step = 0
        else:
            walk.learned = {state: value - weight * cost for state, value in walk.learned.items()}
            self.largest_estimate += weight * cost  # estimates may have grown by as much

    def greedy_way(self, start: Any, end: Any) -> tuple[int | None, int]:
        """What it costs, if it gets there, and the states it looks around from; first it looks for a step there."""
        direct = [step.cost for step in self.world.successors(start) if step.target == end]
        if direct or start == end:
            return (direct[0], 1) if direct else (0, 0)
        total, state = 0, start
        for looks in range(2, AT_ONCE + 1):
            steps = self.world.successors(state)
            far = [self.world.estimate(step.target, end) for step in steps]
            best = min(range(len(steps)), key=lambda i: (steps[i].cost + far[i], -steps[i].cost), default=None)
            if best is None or far[best] >= self.world.estimate(state, end):
                return None, looks
            total, state = total + steps[best].cost, steps[best].target
            if state == end:
                return total, looks
        return None, AT_ONCE

    def run(self, start: Any, moves: int) -> Walk:
        self.walk.trail.append(start)
        return self.run_on(moves)

    def run_on(self, moves: int) -> Walk:
        """Until there are so many moves, the goal is reached, or there is no way."""
        walk = self.walk
        state = walk.trail[-1]
        while state != self.goal and len(walk.trail) <= moves:
            path = self.decide(state)
            if path is None:
                walk.status = "unreachable"
                return walk
            for k, step in enumerate(path):
                if k:
                    walk.looked.append(0)
                state = step
                walk.trail.append(state)
                if state == self.goal or len(walk.trail) > moves:
                    break
        walk.status = "reached" if state == self.goal else "move-limit"
        return walk

    def decide(self, state: Any) -> list[Any] | None:
        raise NotImplementedError


class Lrta(Learner):
    """Figure 2 of Bulitko et al.; ``depth`` plies or all states within ``gmax``, in integer costs."""

    def __init__(self, world: Any, goal: Any, depth: int = 1, gmax: int | None = None, gamma: float = 1.0) -> None:
        super().__init__(world, goal)
        self.depth, self.gmax, self.gamma = depth, gmax, round(gamma * ONE)
        self.visits_before_learning = 0
        self.largest_lookahead = 0

    def move_goal(self, goal: Any, weight: int = ONE) -> None:
        super().move_goal(goal, weight)
        self.visits_before_learning *= bool(self.walk.learned)

    def decide(self, state: Any) -> list[Any] | None:
        g, h, first, closed = {state: 0}, {state: self.h(state)}, {}, set()

        def expand(u: Any) -> list[Any]:
            closed.add(u)
            cheaper = []
            for t, c, _ in self.steps(u):
                better = t not in g or g[u] + c < g[t]
                # With gamma below 1 path-max holds for the way on which it was found, and for no other.
                if t not in h or (better and self.gamma < ONE):
                    h[t] = self.h(t)
                if u != state and t != self.goal and (better or self.gamma == ONE):
                    h[t] = max(h[t], h[u] - self.gamma * c)  # path-max
                if better:
                    g[t] = g[u] + c
                    first[t] = t if u == state else first[u]
                    closed.discard(t)  # a cheaper way counts again
                    cheaper.append(t)
            return cheaper

        expanded = self.plies(state, g, expand) if self.gmax is None else self.within(state, g, closed, expand)
        self.walk.looked.append(expanded)
        simple = self.depth == 1 and self.gmax is None
        frontier = [t for t in g if t not in closed and h[t] < NOWHERE]
        if simple:
            self.walk.most_states = max(self.walk.most_states, len(self.walk.learned))
        else:
            self.walk.most_states = max(self.walk.most_states, len(self.walk.learned) + len(g))
        # Least f, then larger g, then the state seen first.
        order = {t: k for k, t in enumerate(g)}
        best = min(frontier, key=lambda t: (self.gamma * g[t] + h[t], -g[t], order[t]), default=None)
        value = NOWHERE if best is None else self.gamma * g[best] + h[best]
        self.visits_before_learning += self.walk.learned.get(state, 0) <= 0
        self.largest_lookahead = max(self.largest_lookahead, expanded)
        if best is None and not simple:
            return None
        rose = self.learn(state, value)
        extra = 0 if simple else len(g)
        self.walk.most_states = max(self.walk.most_states, len(self.walk.learned) + extra)
        known = len(self.walk.learned) if simple else self.largest_lookahead * self.visits_before_learning
        if best is None or (rose and self.too_high(value, known)):
            return None
        return [first[best]]

    def plies(self, state: Any, g: dict[Any, int], expand: Any) -> int:
        expanded, ply = 0, [state]
        for _ in range(self.depth):
            seen = set(g)
            for u in ply:
                if u != self.goal:
                    expand(u)
                    expanded += 1
            ply = [t for t in g if t not in seen]
        return expanded

    def within(self, state: Any, g: dict[Any, int], closed: set[Any], expand: Any) -> int:
        expanded, order = 0, {state: 0}
        heap = [(0, 0, state)]
        while heap:
            cost, _, u = heapq.heappop(heap)
            if u in closed or cost != g[u] or u == self.goal:
                continue
            if u != state and any(cost + step.cost > self.gmax for step in self.world.successors(u)):
                continue
            for t in expand(u):
                order.setdefault(t, len(order))
                heapq.heappush(heap, (g[t], order[t], t))
            expanded += 1
        return expanded


class PrioritizedLrta(Learner):
    """Rayner et al. 2007."""

    def __init__(self, world: Any, goal: Any, queue: int) -> None:
        super().__init__(world, goal)
        self.capacity = queue
        self.queue: list[list[Any]] = []  # [state, priority], oldest first

    def look(self, state: Any) -> tuple[int, Any]:
        best, value, dear = None, NOWHERE, -1
        for t, c, _ in self.steps(state):
            v = c * ONE + self.h(t)
            if v < value or (v == value and c > dear):
                best, value, dear = t, v, c
        return value, best

    def update(self, state: Any) -> Any:
        value, best = self.look(state)
        rise = value - self.h(state)
        if state != self.goal and self.learn(state, value):
            for step in self.steps(state):
                self.add(step.target, rise)
        return best

    def add(self, state: Any, rise: int) -> None:
        for entry in self.queue:
            if entry[0] == state:
                entry[1] = max(entry[1], rise)
                return
        if len(self.queue) == self.capacity:
            lowest = min(self.queue, key=lambda entry: entry[1])
            if lowest[1] >= rise:
                return
            self.queue.remove(lowest)
        self.queue.append([state, rise])

    def decide(self, state: Any) -> list[Any] | None:
        best = self.update(state)
        value = self.h(state)
        done = 0
        while self.queue and done < self.capacity:
            top = max(self.queue, key=lambda entry: entry[1])
            self.queue.remove(top)
            self.update(top[0])
            done += 1
        if done and best is not None:
            _, best = self.look(state)
            done += 1
        self.walk.settled += done
        self.walk.looked.append(1)
        self.walk.most_states = max(self.walk.most_states, len(self.walk.learned) + len(self.queue))
        return None if best is None or self.too_high(value, len(self.walk.learned)) else [best]


class LocalSearch(Learner):
    """LSS-LRTA* (Koenig and Sun 2009) and RTAA* (Koenig and Likhachev 2006)."""

    def __init__(
        self,
        world: Any,
        goal: Any,
        k: float = math.inf,
        rule: str = "dijkstra",
        commit: str = "move",
        avoid: bool = False,
        weight: float = 1.0,
    ) -> None:
        super().__init__(world, goal)
        self.k, self.rule, self.commit, self.avoid, self.weight = k, rule, commit, avoid, int(weight * ONE)
        self.decisions_without_learning = 0

    def move_goal(self, goal: Any, weight: int = ONE) -> None:
        super().move_goal(goal, self.weight)
        self.decisions_without_learning = 0

    def decide(self, state: Any) -> list[Any] | None:
        g, h, parent = {state: 0}, {state: self.h(state)}, {}
        order = {state: 0}
        closed: set[Any] = set()
        arcs: dict[Any, list[tuple[Any, int]]] = {}
        heap = [(h[state], h[state], 0, state)]
        expanded, best = 0, None
        while heap:
            f, _, _, u = heap[0]
            if u in closed or f != g[u] * ONE + h[u]:
                heapq.heappop(heap)
                continue
            if f >= NOWHERE:
                break
            if u == self.goal or expanded >= self.k:
                best = u
                break
            heapq.heappop(heap)
            closed.add(u)
            expanded += 1
            for t, c, _ in self.steps(u):
                if t not in g:
                    order[t] = len(order)
                    h[t] = self.h(t)
                arcs.setdefault(t, []).append((u, c))
                if t not in g or g[u] + c < g[t]:
                    g[t] = g[u] + c
                    parent[t] = u
                    closed.discard(t)
                    heapq.heappush(heap, (g[t] * ONE + h[t], h[t], order[t], t))
        walk = self.walk
        walk.looked.append(expanded)
        walk.most_states = max(walk.most_states, len(walk.learned) + len(g))
        if best is None:
            return None
        frontier = [t for t in g if t not in closed]
        fresh = self.dijkstra(h, order, closed, frontier, arcs) if self.rule == "dijkstra" else None
        if fresh is None:
            top = min(self.weight * g[t] + h[t] for t in frontier)
            fresh = {u: top - self.weight * g[u] for u in closed}
        rose = [self.learn(u, fresh[u]) for u in closed]
        walk.most_states = max(walk.most_states, len(walk.learned) + len(g))
        self.decisions_without_learning = 0 if any(rose) else self.decisions_without_learning + 1
        if self.too_high(walk.learned.get(state, 0), len(walk.learned), self.weight):
            return None
        if self.avoid and self.decisions_without_learning < 8 and best != self.goal:

            def change(t: Any) -> int:
                return h[t] - self.world.estimate(t, self.goal) * ONE

            best = min(frontier, key=lambda t: (change(t), g[t] * ONE + h[t], h[t], order[t]))
        path = [best]
        while parent[path[0]] != state:
            path.insert(0, parent[path[0]])
        return path if self.commit == "frontier" else path[:1]

    def dijkstra(
        self, h: dict[Any, int], order: dict[Any, int], closed: set[Any], frontier: list[Any], arcs: Any
    ) -> dict[Any, int]:
        fresh = dict.fromkeys(closed, NOWHERE) | {t: h[t] for t in frontier}
        heap = [(h[t], order[t], t) for t in frontier]
        heapq.heapify(heap)
        left = len(closed)
        while left and heap:
            value, _, t = heapq.heappop(heap)
            if value != fresh[t] or value >= NOWHERE:
                continue
            self.walk.settled += 1
            left -= t in closed
            for u, c in arcs.get(t, []):
                if u in closed and value + self.weight * c < fresh[u]:
                    fresh[u] = value + self.weight * c
                    heapq.heappush(heap, (fresh[u], order[u], u))
        return fresh
