"""Pattern databases: for each pair of regions where to go first, and how deep to look (Bulitko et al. 2008).

A table is of one *base*, the world that LRTA* runs on, whose states are divided into regions. Rows are by the region of
the goal, so an agent on its way to one goal reads one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, inlined

__all__ = ["PatternTable", "intermediate_goal", "region_of", "stored_depth"]


class PatternTable(NamedTuple):
    """What is stored for each pair of regions. An entry is at ``region of the goal * count + region of the agent``."""

    region: np.ndarray  # int32[states of the base]: the region of each; -1 for walls
    count: np.ndarray  # int64[1]: how many regions there are
    goals: np.ndarray  # int32[count * count]: a state of the base to go to first, -1: there is no way; empty: not made
    depths: np.ndarray  # uint16[count * count]: how deep to look, at least 1; empty: not made


@inlined
def region_of(patterns, s):
    """The region of a state; -1 if it has none: it was a wall when the table was made."""
    return np.int64(patterns.region[at(s)])


@inlined
def intermediate_goal(patterns, region, goal_region):
    """Where to go first from one region to another; -1 if there is no way, or if one of them is -1."""
    if region < 0 or goal_region < 0:
        return np.int64(-1)
    return np.int64(patterns.goals[at(goal_region * patterns.count[0] + region)])


@inlined
def stored_depth(patterns, region, goal_region):
    """How deep to look on the way from one region to another, which both are regions of the table."""
    return np.int64(patterns.depths[at(goal_region * patterns.count[0] + region)])
