"""Walking a given path: whether each move is legal, what it costs, and how many moves were not optimal."""

from __future__ import annotations

from .best_first import advance, begin, cost_so_far
from .jit import inlined, kernel, now_ns
from .layout import GROW, INFINITE, PAUSED
from .tables import intern
from .ticks import Tick, rest
from .views import cost_between, length

__all__ = ["add_exactly", "count_non_optimal", "walk"]


@kernel
def walk(world, states):
    """How many moves of the path are legal before the first that is not, and their cost."""
    cost = 0.0
    rest = 0.0
    for k in range(states.shape[0] - 1):
        step = length(world, states[k], states[k + 1])
        if step < 0.0:
            return k, cost + rest
        cost, rest = add_exactly(cost, rest, step)
    return states.shape[0] - 1, cost + rest


@inlined
def add_exactly(total, rest, step):
    """Compensated summation: paths with the same moves in another order then cost the same to the last digit."""
    larger = total + step
    return larger, rest + ((total - larger) + step)


@kernel
def count_non_optimal(world, table, queue, record, counts, goal, trail, clock):
    """How many moves of the trail lie on no optimal path to the goal; -1 if an array is full, -2 if it takes long.

    It is then to be called again. The first call searches outwards from the goal until everything is closed, which
    gives every state its distance.
    """
    search = record[0]
    rest(clock, now_ns(clock))
    if not counts[0].states:
        if begin(world, table, queue, search, counts[0], goal, goal) == GROW:
            return -1
        search.goal = -1  # no such state: the search ends only when it has seen all
    status = advance(world, table, queue, search, counts[0], Tick(INFINITE, 0, clock))
    if status in (GROW, PAUSED):
        return -1 if status == GROW else -2
    wrong = 0
    for k in range(trail.shape[0] - 1):
        s = trail[k]
        t = trail[k + 1]
        here = cost_so_far(table, search, intern(table, s))
        wrong += here != cost_between(world, s, t) + cost_so_far(table, search, intern(table, t))
    return wrong
