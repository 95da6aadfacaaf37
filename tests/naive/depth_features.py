"""LRTA*(DT,G) from Section 5.1 and Appendix A of Bulitko et al. 2008: each feature made anew of the whole walk."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

from .dynamic_control import DynamicControl
from .learning import NOWHERE, ONE
from .worlds import CARDINAL, NaiveGrid


class Question(NamedTuple):
    """A tree is a question, or a depth."""

    feature: int
    threshold: float
    low: Any
    high: Any


def answer(tree: Any, features: list[float]) -> int:
    while isinstance(tree, Question):
        tree = tree.low if features[tree.feature] <= tree.threshold else tree.high
    return tree


class TreeControl(DynamicControl):
    """An agent whose depth a tree chooses. ``trees[cap]`` is the one for a cap; the last is for all above.

    Without trees it goes by the labels, as in training.
    """

    def __init__(
        self, world: Any, goal: Any, trees: list[Any], cap: int, history: int, presearch: int, gamma: float = 1.0
    ) -> None:
        super().__init__(world, goal, "tree", "global", cap, gamma=gamma)
        self.trees, self.history, self.presearch = trees, history, min(presearch, cap)
        self.past: list[tuple[Any, Any, int]] = []  # state, where it went, by how much its value rose
        self.seen: list[list[float]] = []
        self.labels: list[int] = []
        if isinstance(world, NaiveGrid):
            self.unit = 2 * world.least if world.terrain else CARDINAL
            self.open = world.connectivity * presearch
        else:
            costs = [step.cost for node in world.points() for step in world.successors(node)]
            self.unit = max(1, int(statistics.median(costs))) if costs else 1
            fan = max(1, int(statistics.median(len(world.successors(node)) for node in world.points())))
            self.open = fan * max(fan - 1, 1) ** (presearch - 1)

    def select(self, state: Any) -> int | None:
        self.aim = self.goal
        found = self.features(state)
        if found is None:
            return self.presearch
        self.seen.append(found)
        if not self.trees:
            self.labels.append(self.label(state))
            return self.labels[-1]
        chosen = answer(self.trees[min(self.cap, len(self.trees) - 1)], found)
        return max(self.presearch, min(chosen, self.cap))

    def decide(self, state: Any) -> list[Any] | None:
        before = self.h(state)
        step = super().decide(state)
        if step is not None:
            self.past.append((state, step[0], self.h(state) - before))
        return step

    def search(self, state: Any, depth: int) -> tuple[list[Any], dict[Any, int], Any, set[Any]]:
        """A lookahead: its frontier, all values that it saw, the step it would take, and all that are as good."""
        g, h, first, closed, ply = {state: 0}, {state: self.h(state)}, {}, set(), [state]
        for _ in range(depth):
            seen = set(g)
            for u in ply:
                if u == self.goal:
                    continue
                closed.add(u)
                for t, c, _ in self.steps(u):
                    better = t not in g or g[u] + c < g[t]
                    # With gamma below 1 path-max holds for the way on which it was found, and for no other.
                    if t not in h or (better and self.gamma < ONE):
                        h[t] = self.h(t)
                    if u != state and t not in (state, self.goal) and (better or self.gamma == ONE):
                        h[t] = max(h[t], h[u] - self.gamma * c)
                    if better:
                        g[t] = g[u] + c
                        first[t] = t if u == state else first[u]
                        closed.discard(t)
            ply = [t for t in g if t not in seen]
        order = {t: k for k, t in enumerate(g)}
        frontier = [t for t in g if t not in closed]
        open_ones = [t for t in frontier if h[t] < NOWHERE]
        best = min(open_ones, key=lambda t: (self.gamma * g[t] + h[t], -g[t], order[t]), default=None)
        if best is None:
            return frontier, h, None, set()
        # Back along every cheapest way from the best of the frontier.
        least = self.gamma * g[best] + h[best]
        ways = [t for t in open_ones if self.gamma * g[t] + h[t] == least]
        for t in ways:
            ways += [
                u for u in g for s, c, _ in self.world.successors(u) if s == t and g[u] + c == g[t] and u not in ways
            ]
        return frontier, h, first[best], {t for t in ways if first.get(t) == t}

    def label(self, state: Any) -> int:
        """The shallowest depth from which on every one takes a step that is best to the lookahead of the cap."""
        best = self.search(state, self.cap)[3]
        label = self.cap
        while label > 1 and self.search(state, label - 1)[2] in best:
            label -= 1
        return label

    def features(self, state: Any) -> list[float] | None:
        frontier, values, there, _ = self.search(state, self.presearch)
        if there is None:
            return None
        recent = self.past[-self.history :]
        steps = max(len(recent), 1)
        learned = self.walk.learned
        last_time = [went for s, went, _ in self.past if s == state][-1:]
        h, h_there = values[state], values[there]
        return [
            self.world.estimate(state, self.goal) / self.unit,
            self.world.estimate(state, recent[0][0]) / self.unit / steps if recent else 0.0,
            len({s for s, _, _ in recent}) / steps,
            sum(rise for _, _, rise in recent) / (self.unit * ONE) / steps,
            len(frontier) / self.open,
            sum(t in learned for t in frontier) / max(len(frontier), 1),
            float(last_time == [there]),
            float(bool(recent) and self.straight(recent[-1][0], state, there)),
            min(h / h_there, 1e6) if h_there else 1e6,
            float(there in learned),
            float(h > h_there),
        ]

    def straight(self, before: Any, here: Any, there: Any) -> bool:
        if not isinstance(self.world, NaiveGrid):
            return False  # without coordinates there are no directions
        return all(there[k] - here[k] == here[k] - before[k] for k in (0, 1))
