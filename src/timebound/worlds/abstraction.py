"""A world abstracted level by level: regions of states, and graphs of regions, up to one region per connected part.

Level 0 is the world itself. Each level joins the nodes of the one below into cliques (``kernels/cliques.py``). Two
regions are neighbours exactly if an arc of the world crosses from one to the other.

Chosen where the papers are silent: the arc between two regions costs the distance of their mean positions, at least
half of the shortest arc of the world; where a graph has no positions, the mean of the arcs that cross one level below.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import WorldError, at_least
from ..kernels import views
from ..kernels.cliques import gather, join_cliques
from .graph import Graph
from .grid import Grid

__all__ = ["Abstraction", "refuses"]


def refuses(world: Any) -> str | None:
    """Why a world has no regions, as a sentence; None: it has."""
    if not isinstance(world, (Grid, Graph)):
        return "regions are for grids and graphs"
    return None if world.undirected else "regions are for graphs whose arcs all lead both ways at the same cost"


class Abstraction:
    """The levels of a world. ``Abstraction.of(world)`` is kept with it; levels are made when first asked for.

    >>> import timebound as tb
    >>> from timebound.worlds.abstraction import Abstraction
    >>> abstraction = Abstraction.of(tb.Grid([[1] * 4] * 4))
    >>> abstraction.height, abstraction.count(1), abstraction.regions(1)[tb.Grid([[1] * 4] * 4).state_of((3, 3))]
    (2, 4, 3)
    """

    def __init__(self, world: Any) -> None:
        refusal = refuses(world)
        if refusal is not None:
            raise WorldError(refusal)
        self._levels: list[Any] = [world]  # each a world of its own
        self._parents: list[np.ndarray] = []  # int32, of each level's nodes in the level above; -1: a wall has none
        self._places: list[np.ndarray | None] = [_places(world)]  # where the nodes are, on average
        self._sizes: list[np.ndarray] = [_usable(world).astype(np.int64)]  # ground states in each node
        self._complete = False
        self._edits = int(world.view.edited[0])

    @classmethod
    def of(cls, world: Any) -> Abstraction:
        """The world's own, up to date with its edits."""
        found = _kept.get(world)
        if found is None or found._edits != int(world.view.edited[0]):
            found = _kept[world] = cls(world)
        return found

    @property
    def height(self) -> int:
        """The highest level: in it no two regions are neighbours any more."""
        while self._grow():
            pass
        return len(self._parents)

    def world(self, level: int) -> Any:
        """The graph of the regions of a level; level 0 is the world itself."""
        return self._levels[self._reached(level)]

    def count(self, level: int) -> int:
        """How many regions a level has; at level 0, how many states an agent can be in."""
        return int(np.count_nonzero(self._sizes[self._reached(level)]))

    def parents(self, level: int) -> np.ndarray:
        """int32: for each node of a level its region in the level above; -1 for walls."""
        self._reached(level + 1)
        return self._parents[level]

    def regions(self, level: int, base: int = 0) -> np.ndarray:
        """int32: for each node of level ``base`` its region in a level; -1 for walls."""
        self._reached(level)
        found = np.arange(self._levels[base].states, dtype=np.int32)
        found[self._sizes[base] == 0] = -1
        for parent in self._parents[base:level]:
            found = np.where(found >= 0, parent[found], np.int32(-1))
        return found

    def sizes(self, level: int) -> np.ndarray:
        """int64: how many ground states each node of a level stands for."""
        return self._sizes[self._reached(level)]

    def places(self, level: int) -> np.ndarray | None:
        """float64[n, 3]: where the nodes of a level are, the mean of their ground states; None without positions."""
        return self._places[self._reached(level)]

    def representatives(self, level: int, base: int = 0) -> np.ndarray:
        """int64: for each region of a level the node of level ``base`` that is nearest to its mean position.

        Ties go to the lower number; so does everything where there are no positions.
        """
        region = self.regions(level, base)
        nodes = np.flatnonzero(region >= 0)
        region = region[nodes]
        means, places = self._places[level], self._places[base]
        apart = np.zeros(len(nodes))
        if means is not None and places is not None:
            apart = np.round(((places[nodes] - means[region]) ** 2).sum(1), 9)  # so that equal distances are equal
        order = np.lexsort((nodes, apart, region))
        first = np.r_[True, np.diff(region[order]) > 0] if len(order) else np.zeros(0, bool)
        return nodes[order[first]]

    def _reached(self, level: int) -> int:
        level = at_least(0, level, "a level of abstraction is a whole number")
        while len(self._parents) < level:
            if not self._grow():
                raise WorldError(
                    f"this world has no level {level}: at level {len(self._parents)} nothing can be joined"
                )
        return level

    def _grow(self) -> bool:
        """Add a level, if there is one."""
        below, sizes = self._levels[-1], self._sizes[-1]
        usable = sizes > 0
        if self._complete or not gather(below.view, np.where(usable, np.arange(len(usable)), -1), _none, _none):
            self._complete = True
            return False
        parent = np.full(len(usable), -1, np.int32)
        near, made = np.empty(max(1, int(views.widest(below.view))), np.int64), np.zeros(1, np.int64)
        join_cliques(below.view, usable, parent, near, made)
        count = int(made[0])
        inside = np.flatnonzero(usable)
        size = np.bincount(parent[inside], sizes[inside], count).astype(np.int64)
        places, below_places = None, self._places[-1]
        if below_places is not None:
            weighted = below_places[inside] * sizes[inside, None]
            places = np.stack([np.bincount(parent[inside], weighted[:, k], count) for k in range(3)], 1) / size[:, None]
        arcs = int(gather(below.view, parent, _none, _none))
        source, target = np.empty(arcs, np.int64), np.empty(arcs, np.int64)
        gather(below.view, parent, source, target)
        pairs = np.unique(source * count + target)
        source, target = pairs // count, pairs % count
        closest = 0.5
        costs = (
            np.ones(len(pairs))
            if places is None
            else np.maximum(np.linalg.norm(places[source] - places[target], axis=1), closest)
        )
        self._levels.append(Graph(source, target, costs, nodes=count, coordinates=places))
        self._parents.append(parent)
        self._places.append(places)
        self._sizes.append(size)
        return True


_kept: WeakKeyDictionary[Any, Abstraction] = WeakKeyDictionary()
_none = np.empty(0, np.int64)


def _usable(world: Any) -> np.ndarray:
    return world.free_by_state != 0 if isinstance(world, Grid) else np.ones(world.states, bool)


def _places(world: Any) -> np.ndarray | None:
    if isinstance(world, Grid):
        places = np.zeros((world.states, 3))
        places[:, :2] = world.points_of(np.arange(world.states))
        return places
    return world.view.position if len(world.view.position) == world.states else None
