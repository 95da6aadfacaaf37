"""What became of an episode, of repeated trials, of a path that was checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Convergence", "Result", "Validation", "plain_point"]


@dataclass(frozen=True)
class Result:
    """What became of an episode. ``suboptimality`` and ``optimal`` are None when the optimum is not known.

    An agent that was ``placed`` has a ``path`` from where it was last put; ``optimal`` is for that place and the last
    goal, and ``suboptimality`` is None, as it is for one that was ``retargeted`` on its way.

    >>> import timebound as tb
    >>> result = tb.solve(tb.Grid([[1, 1], [1, 1]]), (0, 0), (1, 1), "a*", optimal="compute")
    >>> result.status, result.moves, round(result.cost, 3), result.suboptimality
    ('reached', 1, 1.414, 1.0)
    """

    status: str
    algorithm: str
    budget: str
    path: Any
    cost: float
    moves: int
    waits: int
    first_move_lag: int
    expansions: int
    expansions_per_move: np.ndarray
    learning_expansions: int
    back_moves: int
    non_optimal_moves: int | None
    back_moves_percent: float | None
    revisits: int
    restarts: int
    astray: int
    planning_seconds: float
    memory_states: int
    memory_bytes: int
    optimal: float | None
    suboptimality: float | None
    placed: int = 0
    retargeted: int = 0

    def to_dict(self, *, path: bool = True) -> dict[str, Any]:
        """The result as plain numbers, lists and strings: the fields of ``--json``."""
        record = dict(self.__dict__)
        if not path:  # a walk may be millions of moves long
            del record["path"], record["expansions_per_move"]
            return record
        record["expansions_per_move"] = self.expansions_per_move.tolist()
        record["path"] = [plain_point(point) for point in self.path]
        return record


@dataclass(frozen=True)
class Convergence:
    """What became of repeated trials. ``trials`` is how many it took until the path repeats itself for ever.

    That is so once a trial has learned nothing: the next one cannot differ. ``converged`` is False if the trials were
    used up before, or one of them did not reach the goal.
    """

    converged: bool
    trials: int
    costs: np.ndarray
    moves: np.ndarray
    total_cost: float
    path: Any  # of the last trial


@dataclass(frozen=True)
class Validation:
    """A path that was found legal, and what it costs."""

    cost: float
    moves: int


def plain_point(point: Any) -> Any:
    """A point as JSON can hold it."""
    if isinstance(point, np.ndarray | np.generic):
        return point.tolist()
    return [plain_point(part) for part in point] if isinstance(point, tuple) else point
