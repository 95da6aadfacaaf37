"""The Python half of kNN LRTA*: its planner, which holds the database, and its parameters.

The algorithm, and where its plain version is, stands in ``knn_lrta_star``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..databases.subgoals import SUBGOALS
from ..kernels.climbing import CLIMB
from ..kernels.coverage_records import CoverageQuery, CoverageRecords, borrowed_query
from ..kernels.heuristic_values import new_values
from ..kernels.kd_tree import Nearest, new_nearest
from ..kernels.memory import zeros
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner
from .knn_lrta_star import NEW_SUBGOAL, NearestNeighbours
from .knn_query import ANSWERED, NEW, QUERY
from .otherwise import OtherwisePlanner
from .registry import Algorithm, Parameter, World
from .time_bounded import ALGORITHMS as TIME_BOUNDED


class KnnPlanner(AgentCenteredPlanner):
    """Holds the database, and the arrays."""

    def __init__(self, world: World, goal: int, database: Any, candidates: int, climb: int, retry: int) -> None:
        super().__init__(world, goal)
        SUBGOALS.check("knn-lrta*", database, world)
        self._database, self._candidates = database, candidates
        query = new_record(QUERY)
        query["goal"], query["record"], query["climb_limit"], query["retry"] = goal, -1, climb, retry
        query["without"] = ANSWERED
        self._common["look"]["goal"] = -1
        self.state = NearestNeighbours(
            query=query,
            climb=new_record(CLIMB),
            records=database.records,
            candidates=self._room(),
            route=zeros(1),
            **self._common,
        )

    def _room(self) -> Nearest | CoverageQuery:
        """Room for queries. With coverage it is borrowed, and given back when the agent has arrived."""
        records = self._database.records
        self._borrowed = isinstance(records, CoverageRecords)
        if isinstance(records, CoverageRecords):
            return borrowed_query(self._database.spare, self._candidates, len(records.cells))
        return new_nearest(self._candidates)

    def _of_others(self) -> dict[str, Any]:
        """The records are the database's, and room for queries that was given back is somebody else's."""
        gone = {} if self._borrowed or isinstance(self.state.candidates, Nearest) else {"candidates": None}
        return {"records": self._database.records, **gone}

    def release(self) -> None:
        """Room for queries goes back to the pool."""
        if self._borrowed:
            self._borrowed = False
            self._database.spare.append(self.state.candidates)

    def memory_bytes(self) -> int:
        """As for every learner, and room for queries. The database, which all agents share, is told apart."""
        return super().memory_bytes() + _size(self.state.candidates)

    def enlarge(self) -> None:
        """As for every learner; and an empty table of values for a new subgoal."""
        if int(self.state.learner["lack"][0]) == NEW_SUBGOAL:
            learned = self.state.values.used[1]
            self.state = self.state._replace(values=new_values(self.state.values.bits))
            self.state.query["learned"] += learned
            self.state.learner["lack"] = 0
        else:
            super().enlarge()

    def restart(self) -> None:
        """A new trial. Values are for subgoals, which depend on the start, so none is kept but those of the goal."""
        super().restart()
        if not self._borrowed:
            self.state = self.state._replace(candidates=self._room())
        self.state.query["stage"] = NEW

    def details(self) -> dict[str, Any]:
        """What the last query found: a ``record``, ``none``, or ``straight`` if the goal could be climbed to."""
        query = self.state.query[0]
        if query["stage"] < ANSWERED:
            return {"answer": None}  # it is still under way
        return {"answer": "record" if query["record"] >= 0 else "straight" if query["tried"] < 0 else "none"}


def _size(room: Any) -> int:
    """Bytes of its arrays."""
    return sum(_size(part) if isinstance(part, tuple) else part.nbytes for part in room)


def needs_plain_grid(world: Any) -> str | None:
    """Databases are made for grids on which all cells cost the same."""
    if world.table == "dense" and not world.terrain:
        return None
    return "its databases are for grids whose cells all cost the same"


_OTHERS = {algorithm.name: algorithm for algorithm in TIME_BOUNDED}


def _make(
    world: World, goal: int, budget: Any, database: Any, candidates: int, climb: int, retry: int, otherwise: str
) -> Any:
    knn = KnnPlanner(world, goal, database, candidates, climb, retry)
    if otherwise not in _OTHERS:
        return knn
    return OtherwisePlanner(world, knn, partial(_make_other, otherwise, world, budget))


def _make_other(name: str, world: World, budget: Any, goal: int) -> Any:
    other = _OTHERS[name]
    return other.make(world, goal, budget, **other.settle({}))


KNN_LRTA_STAR = Algorithm(
    name="knn-lrta*",
    summary="LRTA* from subgoal to subgoal of a similar problem in a database",
    paper="Bulitko, Björnsson and Lawrence 2010; Bulitko et al. 2011",
    parameters=(
        Parameter(
            "candidates", int, 10, "records that are tried; with coverage, points kept on either side", low=1, high=1000
        ),
        Parameter("climb", int, 250, "steps of a climb before it counts as failed", low=1, high=1_000_000),
        Parameter("retry", int, 0, "without a record, ask again after so many moves; 0: never", low=0, high=1_000_000),
        Parameter(
            "otherwise", str, "lrta*", "what walks to the goal where there is no record", choices=("lrta*", *_OTHERS)
        ),
    ),
    make=_make,
    refuses=needs_plain_grid,
    database=SUBGOALS,
)

ALGORITHMS = (KNN_LRTA_STAR,)
