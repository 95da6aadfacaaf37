"""Numbers that several kernels share: integer costs, the packed word, the directions of a grid, status codes."""

from __future__ import annotations

import numpy as np

# Integer costs. 19601/13860 is a convergent of sqrt 2, off by 1.3e-9: sums of moves compare as the real sums do.
CARDINAL = 13860
DIAGONAL = 19601

# The packed word of a state, largest bits first: search stamp | GMAX - g | closed | direction of the parent.
# A newer search has a larger stamp and a better path a larger word, so one comparison with the word that would be
# written decides both "not seen in this search" and "seen, but dearer". Zero is "never seen": fresh tables cost
# nothing, because the operating system hands out zeroed pages on first touch.
DIRECTION_BITS = 3
DIRECTION_MASK = (1 << DIRECTION_BITS) - 1
CLOSED = 1 << DIRECTION_BITS
FLAGS = 2 * CLOSED - 1
G_SHIFT = DIRECTION_BITS + 1
G_BITS = 42
G_MAX = (1 << G_BITS) - 1
STAMP_SHIFT = G_SHIFT + G_BITS
STAMP_MAX = (1 << (63 - STAMP_SHIFT)) - 1

# Weights of g and h in an evaluation are fixed-point numbers with this many binary digits. With weights up to
# WEIGHT_MAX no f reaches INFINITE, whatever the world.
WEIGHT_SHIFT = 10
WEIGHT_MAX = 100
WEIGHT_ONE = 1 << WEIGHT_SHIFT

# Larger than any f and any key; small enough that sums of a few of them do not overflow.
INFINITE = 1 << 60

# The eight directions of a grid, in the fixed successor order: north, east, south, west, then the diagonals.
ROWS = np.array([-1, 0, 1, 0, -1, -1, 1, 1], dtype=np.int64)
COLS = np.array([0, 1, 0, -1, 1, -1, 1, -1], dtype=np.int64)
DIRECTIONS = 8

# What a slice of search, or a decision, ends with.
RUNNING = 0  # the budget is spent; call again to go on
FOUND = 1
EXHAUSTED = 2  # every reachable state was expanded: there is no way
GROW = 3  # an array is full: enlarge it and call again, nothing is lost
PAUSED = 4  # it has taken long: call again, nothing is lost (see ``pauses``)

# What an algorithm counts; the episode reads it after every decision.
COUNTS = np.dtype(
    [
        ("expanded", np.int64),  # states whose successors were all generated
        ("learning", np.int64),  # of those, expansions made while learning
        ("states", np.int64),  # states in memory: open, closed and learned
        ("back_moves", np.int64),  # steps to the parent because the agent was off its path
        ("restarts", np.int64),  # searches begun anew because the world, or the goal, had changed
        ("astray", np.int64),  # of the back-moves, those made when the path to the goal was known
    ]
)
