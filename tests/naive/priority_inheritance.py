"""Priority inheritance with backtracking, recursive, from Algorithm 1 of Okumura et al. 2022; and the plain wait rule.

Worlds and states are those of ``worlds``. Where the paper leaves the order of a unit's cells open among equals, it is
as the library documents it: cells in which no other stands first, then by lots, then by the number of the cell. Who has
no goal would rather stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .worlds import NaiveGrid


@dataclass
class Unit:
    """One of a crowd."""

    position: Any
    wish: Any = None  # None: none
    goal: Any = None
    priority: int = 0
    fixed: bool = False


def mixed(number: int, more: int) -> int:
    """The documented hash of two numbers."""
    x = (number ^ more ^ (more >> 31)) % 2**31
    x = (x ^ (x >> 15)) * 0x2C1B3C6D % 2**31
    x = (x ^ (x >> 12)) * 0x297A2D39 % 2**31
    return x ^ (x >> 15)


def crosses(world: Any, s: Any, t: Any, other_s: Any, other_t: Any) -> bool:
    """Whether two steps on a grid meet in the corner that four cells share."""
    if not isinstance(world, NaiveGrid) or s[0] == t[0] or s[1] == t[1] or other_s == other_t:
        return False
    return s[0] + t[0] == other_s[0] + other_t[0] and s[1] + t[1] == other_s[1] + other_t[1]


def ranking(world: Any, units: Sequence[Unit], i: int, number: Callable[[Any], int], luck: int) -> list[Any]:
    """All that a unit can do next, the best first."""
    unit = units[i]
    others = {other.position for k, other in enumerate(units) if k != i}
    cells = [step.target for step in world.successors(unit.position)] + [unit.position]

    def rank(cell: Any) -> tuple[Any, ...]:
        h = int(cell != unit.position) if unit.goal is None else world.estimate(cell, unit.goal)
        return cell != unit.wish, h, cell in others, mixed(mixed(luck, i), number(cell)), number(cell)

    return sorted(cells, key=rank)


def by_priority(units: Sequence[Unit]) -> list[int]:
    return sorted((i for i, unit in enumerate(units) if not unit.fixed), key=lambda i: (-units[i].priority, i))


def inherit(
    world: Any,
    units: Sequence[Unit],
    number: Callable[[Any], int],
    tick: int = 0,
    seed: int = 0,
    crossing: bool = False,
) -> list[Any]:
    """Where each unit is next."""
    luck = mixed((seed ^ (seed >> 31)) % 2**31, tick)
    after: list[Any] = [unit.position if unit.fixed else None for unit in units]

    def collides(i: int, cell: Any) -> bool:
        here = units[i].position
        return any(
            there == cell
            or (there == here and units[k].position == cell)
            or (not crossing and crosses(world, here, cell, units[k].position, there))
            for k, there in enumerate(after)
            if k != i and there is not None
        )

    def pibt(i: int) -> bool:
        for cell in ranking(world, units, i, number, luck):
            if collides(i, cell):
                continue
            after[i] = cell
            there = [k for k, other in enumerate(units) if other.position == cell and after[k] is None]
            if there and not pibt(there[0]):
                continue
            return True
        after[i] = units[i].position
        return False

    for i in by_priority(units):
        if after[i] is None:
            pibt(i)
    return after


def plain_wait(world: Any, units: Sequence[Unit], crossing: bool = False) -> list[Any]:
    """Where each unit is next, if those whose wish is taken wait; who is in the way is asked first."""
    after: list[Any] = [unit.position if unit.fixed else None for unit in units]

    def ask(i: int) -> None:
        here, wish = units[i].position, units[i].wish
        after[i] = here
        if wish not in [step.target for step in world.successors(here)]:
            return
        for k, other in enumerate(units):
            if other.position == wish and after[k] is None:
                ask(k)
        if not any(
            there == wish or (not crossing and crosses(world, here, wish, units[k].position, there))
            for k, there in enumerate(after)
            if k != i and there is not None
        ):
            after[i] = wish

    for i in by_priority(units):
        if after[i] is None:
            ask(i)
    return after
