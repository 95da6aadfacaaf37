"""RIBS on dictionaries: an iterative-deepening search on foot, with dead and redundant states (Bulitko et al. 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class State:
    """What RIBS knows of a state."""

    g: float
    way_back: Any = None
    entered: int | None = None
    dead: bool = False
    redundant: bool = False
    optimal_parents: set[Any] = field(default_factory=set)


@dataclass
class Walk:
    """Where the agent went and what it knew."""

    status: str
    trail: list[Any]
    looked: int
    known: dict[Any, State]
    back_moves: int
    first_g: dict[Any, int]  # g when the agent first stood there


def ribs(world: Any, start: Any, goal: Any, moves: int) -> Walk:
    """One expansion per move."""
    known = {start: State(0)}
    limit: float = world.estimate(start, goal)
    beyond = math.inf
    walk = Walk("active", [start], 0, known, 0, {start: 0})

    def judge(u: Any) -> tuple[Any, bool, bool, bool]:
        nonlocal beyond
        here = known[u]
        here.entered = limit
        usable, required, choices = False, False, []
        for n, c, _ in world.successors(u):
            there = known.setdefault(n, State(math.inf))
            if there.dead or there.redundant:
                continue
            if there.g < here.g + c:
                if there.g + c < here.g:
                    here.g, here.way_back, here.optimal_parents = there.g + c, n, {n}
                    return None, False, False, True
                continue
            usable = True
            enter = True
            if there.g > here.g + c:
                there.g, there.way_back, there.optimal_parents = here.g + c, u, {u}
            else:
                there.optimal_parents.add(u)
                enter = there.entered != limit
            required |= there.optimal_parents == {u}
            f = there.g + world.estimate(n, goal)
            if enter and f > limit:
                beyond = min(beyond, f)
            elif enter:
                choices.append((f, -there.g, len(choices), n))
        return min(choices)[3] if choices else None, usable, required, False

    u = start
    while u != goal and len(walk.trail) <= moves:
        while True:
            walk.looked += 1
            n, usable, required, fell = judge(u)
            if not fell:
                break
        if u == start:
            while n is None and usable and beyond < math.inf:
                limit, beyond = beyond, math.inf
                n, usable, required, fell = judge(u)
            if n is None:
                walk.status = "unreachable"
                return walk
        elif not usable:
            known[u].dead, n = True, None
        elif not required:
            known[u].redundant, n = True, None
            for step in world.successors(u):
                known[step.target].optimal_parents.discard(u)
        if n is None:
            walk.back_moves += 1
            n = known[u].way_back
        else:
            known[n].way_back = u
        u = n
        walk.first_g.setdefault(u, known[u].g)
        walk.trail.append(u)
    walk.status = "reached" if u == goal else "move-limit"
    return walk
