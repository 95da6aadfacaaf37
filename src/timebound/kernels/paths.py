"""Walking a given path: whether each move is legal, and what it costs."""

from __future__ import annotations

from .jit import inlined, kernel
from .views import length

__all__ = ["add_exactly", "walk"]


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
