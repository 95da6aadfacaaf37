"""Records of kNN LRTA*: compressed paths, and which of them are most like a problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import at, generic, inlined, prefetch
from .kd_tree import beyond, distance, find_nearest
from .saving import keeps_frozen
from .views import aim, estimate, locate

__all__ = ["SubgoalRecords", "foresee_subgoal", "most_similar", "next_check", "subgoal_at"]


class SubgoalRecords(NamedTuple):
    """Compressed paths in the order of a k-d tree over (start row, start col, end row, end col)."""

    starts: np.ndarray  # int32[n]
    ends: np.ndarray  # int32[n]
    first: np.ndarray  # int32[n + 1]: where the subgoals of each record begin
    subgoals: np.ndarray  # int32[...]


@generic
def next_check(records, candidates, world, query, climb, s):
    """A climb has ended: begin the next one that the query needs.

    False if there is none, and the query is answered: ``query.record`` is then not negative if subgoals were found.
    """


@generic
def subgoal_at(records, candidates, query):
    """Of the subgoals that answer the query, number ``query.next``; -1 after the last."""


@generic
def foresee_subgoal(records, candidates, query, ahead):
    """Tell the processor what ``subgoal_at`` will read; see ``loop.foresee_tables``. ``query`` holds from 4 on."""


@foresee_subgoal.on(SubgoalRecords)
def _foresee_subgoal(records, similar, query, ahead):
    if ahead == 4 and query.record >= 0:
        prefetch(records.first, query.record)
    elif ahead == 3 and query.record >= 0:
        prefetch(records.subgoals, np.int64(records.first[at(query.record)]) + query.next - 1)


@subgoal_at.on(SubgoalRecords)
def _subgoal_at(records, similar, query):
    """The record's start, its subgoals in order, and its end."""
    first = np.int64(records.first[query.record])
    subgoals = np.int64(records.first[query.record + 1]) - first
    if query.next == 0:
        return np.int64(records.starts[query.record])
    if query.next <= subgoals:
        return np.int64(records.subgoals[first + query.next - 1])
    return np.int64(records.ends[query.record]) if query.next == subgoals + 1 else np.int64(-1)


class _Problem(NamedTuple):
    """A problem, as it is compared with records."""

    records: SubgoalRecords
    to_s: tuple[int, ...]
    to_goal: tuple[int, ...]
    here: tuple[int, int]
    there: tuple[int, int]


@distance.on(_Problem)
def _dissimilarity(problem, world, i):
    """The larger of the estimates between the starts and between the ends."""
    start = np.int64(problem.records.starts[i])
    end = np.int64(problem.records.ends[i])
    h_start = estimate(world, problem.to_s, start, locate(world, start))
    h_end = estimate(world, problem.to_goal, end, locate(world, end))
    return max(h_start, h_end)


@beyond.on(_Problem)
def _beyond(problem, world, i, depth):
    axis = depth & 3
    split = locate(world, np.int64(problem.records.starts[i] if axis < 2 else problem.records.ends[i]))
    mine = problem.here if axis < 2 else problem.there
    return (mine[0] - split[0] if axis & 1 == 0 else mine[1] - split[1]) * problem.to_s[2]


@inlined
def most_similar(world, records, s, goal, nearest):
    """Of the records find those most like the problem, as many as there is room for."""
    problem = _Problem(records, aim(world, s), aim(world, goal), locate(world, s), locate(world, goal))
    find_nearest(problem, world, np.int64(0), np.int64(records.starts.shape[0]), nearest)


keeps_frozen(SubgoalRecords)
