"""LRTA* with dynamic control on dictionaries, from Figure 1 and Appendix D of Bulitko et al. 2008; and a pattern table.

The table is made state by state as Figures 6 and 8 say, for any division of a world into regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .learning import NOWHERE, ONE, Learner


@dataclass
class Patterns:
    """A region for each state; for each pair of regions where to go first (None: no way), and how deep to look."""

    region: dict[Any, int]
    goals: dict[tuple[int, int], Any]
    depths: dict[tuple[int, int], int]


class DynamicControl(Learner):
    """An agent to be stepped, or run to its end. ``depth``: fixed, pdb or oracle; ``goals``: global or pdb."""

    def __init__(
        self,
        world: Any,
        goal: Any,
        depth: str,
        goals: str,
        cap: int,
        patterns: Patterns | None = None,
        gamma: float = 1.0,
        proof: bool = True,
        patience: int = 0,
    ) -> None:
        super().__init__(world, goal)
        self.control, self.intermediate, self.cap, self.patterns = depth, goals == "pdb", cap, patterns
        self.gamma, self.proof = round(gamma * ONE), proof
        self.aim = goal  # that of the present move
        self.nearby: dict[Any, int] = {}  # values for an intermediate goal
        self.nearby_for: Any = None
        self.visited: set[Any] = set()
        self.patience = patience  # moves towards a goal kept after a re-entrance; 0: none is kept
        self.kept: Any = None
        self.kept_moves = self.goals_kept = 0
        self.has_kept: set[Any] = set()  # states whose goal was kept
        self.given_up: set[Any] = set()  # goals that were kept in vain
        self.visits_before_learning = 0
        self.largest_lookahead = 0
        self.re_entrances = self.towards_intermediate = 0
        self.depths: list[int] = []

    # --- values towards the goal of the present move ---

    @property
    def values(self) -> dict[Any, int]:
        return self.walk.learned if self.aim == self.goal else self.nearby

    def h(self, state: Any) -> int:
        estimate = self.world.estimate(state, self.aim) * ONE
        self.largest_estimate = max(self.largest_estimate, estimate)
        return max(estimate, self.values.get(state, 0))

    def learn(self, state: Any, value: int) -> bool:
        if value <= self.h(state):
            return False
        self.walk.raised.append((state, self.h(state), value))
        self.values[state] = value
        return True

    # --- line 3 ---

    def select(self, state: Any) -> int | None:
        """The depth; the goal goes to ``aim``. None: the table says that there is no way."""
        self.aim = self.goal
        pair = None
        if self.patterns is not None:
            here, there = (self.patterns.region.get(s) for s in (state, self.goal))
            pair = (here, there) if here is not None and there is not None else None
        if self.kept is not None and (state == self.kept or self.kept_moves >= self.patience):
            if state != self.kept:
                self.given_up.add(self.kept)
            self.kept = None
        if self.kept is None and self.intermediate and state in self.visited:
            self.kept, self.kept_moves = self.to_keep(state, pair), 0
            if self.kept is None:
                self.re_entrances += 1
                return self.cap
            self.has_kept.add(state)
            self.goals_kept += 1
        if self.kept is not None:
            self.aim = self.kept
        elif self.intermediate and pair and pair[0] != pair[1]:
            found = self.patterns.goals[pair]
            if found is None and self.proof:
                return None
            self.aim = self.goal if found in (None, state) else found
        if self.aim not in (self.goal, self.nearby_for):
            self.nearby, self.nearby_for = {}, self.aim
        self.towards_intermediate += self.aim != self.goal
        if self.control == "pdb":
            return min(self.patterns.depths[pair], self.cap) if pair else 1
        return self.told(state) if self.control == "oracle" else self.cap

    def to_keep(self, state: Any, pair: tuple[int, int] | None) -> Any:
        """The goal that a state visited before gives once, to be kept until it is reached."""
        if not self.patience or state in self.has_kept or pair is None or pair[0] == pair[1]:
            return None
        found = self.patterns.goals[pair]
        return None if found in (state, self.goal) or found in self.given_up else found

    def told(self, state: Any) -> int:
        """The shallowest depth from which on all up to the cap take the same step."""
        steps = [self.look(state, depth)[0] for depth in range(1, self.cap + 1)]
        return min(d + 1 for d in range(self.cap) if len(set(steps[d:])) == 1)

    # --- lines 4 and 5 ---

    def look(self, state: Any, depth: int) -> tuple[Any, int, int, int]:
        """Where the best of the frontier leads first, its value, and how many states were expanded and seen."""
        g, h, first, closed = {state: 0}, {state: self.h(state)}, {}, set()
        expanded, ply = 0, [state]
        for _ in range(depth):
            seen = set(g)
            for u in ply:
                if u == self.aim:
                    continue
                closed.add(u)
                expanded += 1
                for t, c, _ in self.steps(u):
                    better = t not in g or g[u] + c < g[t]
                    # With gamma below 1 path-max holds for the way on which it was found, and for no other.
                    if t not in h or (better and self.gamma < ONE):
                        h[t] = self.h(t)
                    if u != state and t not in (state, self.aim) and (better or self.gamma == ONE):
                        h[t] = max(h[t], h[u] - self.gamma * c)  # path-max
                    if better:
                        g[t] = g[u] + c
                        first[t] = t if u == state else first[u]
                        closed.discard(t)
            ply = [t for t in g if t not in seen]
        order = {t: k for k, t in enumerate(g)}
        frontier = [t for t in g if t not in closed and h[t] < NOWHERE]
        best = min(frontier, key=lambda t: (self.gamma * g[t] + h[t], -g[t], order[t]), default=None)
        if best is None:
            return None, NOWHERE, expanded, len(g)
        return first[best], self.gamma * g[best] + h[best], expanded, len(g)

    # --- lines 3 to 7 ---

    def decide(self, state: Any) -> list[Any] | None:
        depth = self.select(state)
        if depth is None:
            self.walk.looked.append(0)
            return None
        self.depths.append(depth)
        step, value, expanded, seen = self.look(state, depth)
        self.walk.looked.append(expanded)
        unlearned = state not in self.values
        rose = (step is not None or depth == 1) and self.learn(state, value)
        noted = len(self.visited | self.given_up)
        held = len(self.walk.learned) + len(self.nearby) + noted + (seen if depth > 1 else 0)
        self.walk.most_states = max(self.walk.most_states, held)
        if self.kept is not None:
            self.kept_moves += 1
        elif self.intermediate:
            self.visited.add(state)
        if self.aim != self.goal:
            if step is None:
                self.kept = None
            return [] if step is None else [step]
        self.visits_before_learning += unlearned
        self.largest_lookahead = max(self.largest_lookahead, expanded)
        known = len(self.walk.learned)
        if self.largest_lookahead > 1:
            known = self.largest_lookahead * self.visits_before_learning
        return None if step is None or (rose and self.too_high(value, known)) else [step]


# --- the table -------------------------------------------------------------------------------------------------------


def distances(world: Any, goal: Any) -> dict[Any, int]:
    """To a goal from everywhere, in a world where every way leads back as well."""
    best, todo = {goal: 0}, [goal]
    while todo:
        state = min(todo, key=lambda one: best[one])
        todo.remove(state)
        for step in world.successors(state):
            if best[state] + step.cost < best.get(step.target, math.inf):
                if step.target not in best:
                    todo.append(step.target)
                best[step.target] = best[state] + step.cost
    return best


def chunks(world: Any, size: int) -> dict[Any, int]:
    """Connected regions of up to so many states each."""
    region: dict[Any, int] = {}
    count = 0
    for seed in world.points():
        if seed in region:
            continue
        ball, k = [seed], 0
        region[seed] = count
        while k < len(ball):
            for step in world.successors(ball[k]):
                if step.target not in region and len(ball) < size:
                    region[step.target] = count
                    ball.append(step.target)
            k += 1
        count += 1
    return region


def patterns_of(world: Any, region: dict[Any, int], cap: int, goals: str) -> Patterns:
    """Figures 6 and 8. The representative of a region is its first state."""
    representative: dict[int, Any] = {}
    for state, number in region.items():
        representative.setdefault(number, state)
    found = Patterns(region, {}, {})
    for there, goal in representative.items():
        far = distances(world, goal)
        for here, state in representative.items():
            if here == there or state not in far:
                found.goals[here, there] = goal if here == there else None
                found.depths[here, there] = 1
                continue
            entry = state
            while region[entry] == here:
                entry = next(t for t, c, _ in world.successors(entry) if far[t] + c == far[entry])
            found.goals[here, there] = entry
            found.depths[here, there] = optimal_depth(world, state, entry if goals == "pdb" else goal, far, cap)
    return found


def optimal_depth(world: Any, state: Any, goal: Any, far: dict[Any, int], cap: int) -> int:
    """The least depth whose step lies on an optimal way."""
    for depth in range(1, cap):
        step = DynamicControl(world, goal, "fixed", "global", depth).look(state, depth)[0]
        if any(t == step and c + far[t] == far[state] for t, c, _ in world.successors(state)):
            return depth
    return cap
