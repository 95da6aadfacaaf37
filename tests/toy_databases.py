"""A kind of database and an algorithm that uses it, as someone outside the package would write them.

The table of a world: what it costs from every cell to one corner. ``toy`` walks down to that corner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

import timebound as tb
from timebound.algorithms import Algorithm, Parameter
from timebound.databases.files import frozen
from timebound.databases.kinds import DatabaseKind, rules_of
from timebound.databases.parts import Part, Workshop
from timebound.kernels.layout import COUNTS, INFINITE
from timebound.kernels.loop import NO_WAY, decide
from timebound.kernels.shortest_paths import distances, tree_from
from timebound.kernels.views import degree, successor
from timebound.kernels.workspace import Workspace, new_record

CORNERS = ("first", "last")
FAR = 2**40
made: list[int] = []  # the parts that were made, by number


class Table(NamedTuple):
    distances: np.ndarray  # to the corner, per state


@dataclass(frozen=True)
class TableDatabase:
    digest: str
    table: Table
    settings: dict[str, Any]
    rules: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.table.distances)

    @property
    def states(self) -> int:
        return int((self.table.distances < FAR).sum())

    @property
    def nbytes(self) -> int:
        return self.table.distances.nbytes

    def fits(self, world: Any) -> bool:
        return self.rules == rules_of(world)

    def summary(self) -> str:
        return f"a table of {self.states} distances"

    def remark(self) -> str | None:
        return "some cells have no way to the corner" if self.states < self.settings["free"] else None

    def facts(self) -> dict[str, Any]:
        return {"corner": self.settings["corner"], "distances": self.states}


@dataclass(frozen=True)
class Band:
    """Some rows of the map, those of the walls around it among them."""

    number: int
    first: int
    last: int
    corner: str

    @property
    def work(self) -> dict[str, Any]:
        return asdict(self)


def corner_of(world: tb.Grid, corner: str) -> int:
    return int(np.flatnonzero(world.free_by_state)[0 if corner == "first" else -1])


def make_band(world: tb.Grid, told: str, band: Band) -> Part:
    assert told == "what all bands share"
    made.append(band.number)
    costs = np.empty(world.states, np.int64)
    workspace = Workspace.of(world)
    distances(workspace.table, tree_from(world.view, workspace, corner_of(world, band.corner)), costs)
    workspace.release()
    width = world.shape[1] + 2
    return {"distances": np.minimum(costs[band.first * width : band.last * width], FAR)}


def make(world: tb.Grid, options: dict[str, Any], workshop: Workshop) -> Mapping[str, np.ndarray]:
    rows = world.shape[0] + 2
    todo = [
        Band(number, first, min(first + options["rows"], rows), options["corner"])
        for number, first in enumerate(range(0, rows, options["rows"]))
    ]
    parts = workshop.parts(
        make_band,
        todo,
        "what all bands share",
        columns={"distances": np.int64},
        fits=lambda world, band, part: len(part["distances"]) == (band.last - band.first) * (world.shape[1] + 2),
        count=("rows", lambda band: band.last - band.first),
    )
    return {"distances": np.concatenate([part["distances"] for part in parts])}


def fault(world: tb.Grid, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> str | None:
    if set(arrays) != {"distances"} or settings.get("corner") not in CORNERS:
        return "it is no table"
    (costs,) = arrays.values()
    if costs.dtype != np.int64 or len(costs) != world.states or costs.min() < 0:
        return "it does not have a distance for each cell"
    return None


def opened(world: Any, settings: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> TableDatabase:
    return TableDatabase(world.digest, frozen(Table(**arrays)), settings | {"free": world.free_count}, rules_of(world))


KIND = DatabaseKind(
    name="toy table",
    noun="distance table",
    summary="distances to one corner",
    holds=TableDatabase,
    options=(
        Parameter("corner", str, "last", "where to", choices=CORNERS),
        Parameter("rows", int, 4, "how many to do at a time", low=1, high=100),
    ),
    examples=("caves.map --for toy:corner=last --rows 8 -o caves.db",),
    refuses=lambda world: None if isinstance(world, tb.Grid) else "distance tables are for grids",
    unfit=lambda world, options: None if world.free_count else "there is no corner in a map of walls",
    forecast=lambda world, options: f"{8 * world.states} bytes, in a moment",
    make=make,
    fault=fault,
    open=opened,
    empty=lambda world: [opened(world, {"corner": "last"}, {"distances": np.full(world.states, FAR)})],
    small={"rows": 50},
    needed=lambda parameters: parameters["look"],
)


class Toy(NamedTuple):
    counts: np.ndarray
    route: np.ndarray
    plan: np.ndarray
    distances: np.ndarray


@decide.on(Toy)
def _decide(algorithm, world, s, tick):
    best = np.int64(INFINITE)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and c + algorithm.distances[t] < best:
            best = c + algorithm.distances[t]
            algorithm.route[0] = t
    algorithm.counts[0].expanded += 1
    algorithm.plan[0] = 0
    algorithm.plan[1] = 1
    return 1 if best < INFINITE else NO_WAY


class ToyPlanner:
    def __init__(self, world: Any, goal: int, database: Any, corner: str, look: bool) -> None:
        if look:
            KIND.check("toy", database, world)
            if database.settings["corner"] != corner:
                raise tb.SpecError(f"this table leads to the {database.settings['corner']} corner")
        table = database.table if look else frozen(Table(np.zeros(world.states, np.int64)))
        self.state = Toy(new_record(COUNTS), np.zeros(1, np.int64), np.zeros(2, np.int64), table.distances)

    def enlarge(self) -> None: ...

    def memory_bytes(self) -> int:
        return 0

    def release(self) -> None: ...


TOY = Algorithm(
    name="toy",
    summary="walks down a table of distances",
    paper="none",
    parameters=(
        Parameter("corner", str, "last", "where to", choices=CORNERS),
        Parameter("look", bool, True, "whether it looks at the table at all"),
    ),
    make=lambda world, goal, budget, database, **parameters: ToyPlanner(world, goal, database, **parameters),
    refuses=KIND.refuses,
    database=KIND,
)
