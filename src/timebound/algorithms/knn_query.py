"""A query of kNN LRTA*: what is kept of it between ticks, and when there is reason for another.

How it is answered is in ``knn_lrta_star``. To query again is ours: the paper's maps do not change, nor do its goals.
"""

from __future__ import annotations

import numpy as np

from ..kernels.jit import inlined
from ..kernels.views import aim, estimate, locate

__all__ = [
    "ANSWERED",
    "CHECKS",
    "FAILURES",
    "GIVES_WAY",
    "NEW",
    "PATIENCE",
    "QUERY",
    "STRAIGHT",
    "hear_of_openings",
    "reconsider",
]

QUERY = np.dtype(
    [
        ("goal", np.int64),  # the global goal
        (
            "asked",
            np.int64,
        ),  # the global goal when the query began; -1: the agent has been put elsewhere since
        ("here", np.int64),  # where the agent last decided
        ("untold", np.int64),  # 1 if the goal, or the agent, was moved while no other algorithm walked
        ("stage", np.int64),  # how far it is: the constants below
        ("tried", np.int64),  # how many similar records have been tried; -1 before they are looked for
        ("from_end", np.int64),  # 1 if it is checked whether the goal can be climbed to from the record's end
        ("record", np.int64),  # the answer: the record that is followed, or -1
        ("next", np.int64),  # which of its subgoals the agent goes to; the first is its start, the last its end
        ("slips", np.int64),  # moves on the way there that did not climb
        ("failed", np.int64),  # records dropped since an edit last opened something
        ("ticks", np.int64),  # that the query took, besides the one in which it was answered
        ("moves", np.int64),  # made since
        ("paused", np.int64),  # 1 if it took long and goes on in the same tick
        ("learned", np.int64),  # states whose values were raised for subgoals that are behind
        ("climb_limit", np.int64),
        ("retry", np.int64),
        ("without", np.int64),  # the stage after a query that finds no record: ANSWERED, or GIVES_WAY
    ]
)
NEW, STRAIGHT, CHECKS, ANSWERED = range(4)
GIVES_WAY = 4  # there is no record, and another algorithm walks (``otherwise``)
PATIENCE = 8  # slips on the way to a subgoal before its record is dropped
FAILURES = 10
_NEAR = 4  # an answer does while the goal has gone no further than this part of its distance from the agent


@inlined
def hear_of_openings(query):
    """Something has opened: a record that failed may do now, and there may be one where there was none.

    In a world that opens all the time an agent must not spend it all on queries.
    """
    query.failed = 0
    if query.stage >= ANSWERED and query.record < 0 and query.moves > query.ticks:
        query.stage = NEW


@inlined
def reconsider(query, world, s):
    """A new query, if the record has failed, or if there is none and ``retry`` moves have been made.

    Also if the goal has gone a quarter of its distance from the agent, or the agent was put where the answer is of no
    use; but not before it has made as many moves as the last query took ticks. So an agent whose goal never rests
    walks at least half of the time, and a query under way is not begun again: it goes on for the goal that it had.
    """
    query.here = s
    if query.stage == ANSWERED and query.slips > PATIENCE and (query.record >= 0 or query.without == GIVES_WAY):
        query.failed += 1
        query.stage = NEW
    if query.stage >= ANSWERED and query.record < 0 and 0 < query.retry <= query.moves:
        query.stage = NEW
    if query.stage >= ANSWERED and query.asked != query.goal and query.moves >= query.ticks:
        target = aim(world, query.goal)
        gone = estimate(world, target, query.asked, locate(world, query.asked)) if query.asked >= 0 else np.int64(-1)
        if gone < 0 or _NEAR * gone > estimate(world, target, s, locate(world, s)):
            query.stage = NEW
