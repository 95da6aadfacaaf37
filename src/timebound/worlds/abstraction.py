"""A world abstracted level by level: regions of states, and graphs of regions, up to one region per connected part.

Level 0 is the world itself. Each level joins the nodes of the one below into cliques (``kernels/cliques.py``). Two
regions are neighbours exactly if an arc of the world crosses from one to the other.

Chosen where the papers are silent. The arc between two regions costs the distance of their mean positions, times the
least that a unit of distance costs in the world by its own heuristic; but no less than half of the world's shortest
arc (on a grid, of a straight step over its cheapest cell), for the means of two regions may coincide. Terrain does not
count. Where a graph has no positions, an arc costs the mean of those that cross one level below.

After edits ``Abstraction.of`` puts right only what they touch, level by level: a wall leaves its region, one that falls
apart is split (the part with most states keeps the number), a new cell joins its neighbours or stays alone. Other
regions keep their numbers. Some cases cost more. A level whose rows or numbers have run out is laid out anew with more
room: so it goes with the first that are added, since a level that was never edited has none to spare. And all is built
anew, with other numbers, after edits of more than one cell in 64, or after so many that the log has forgotten some.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..errors import ProblemError, WorldError, at_least
from ..kernels import cliques, views
from ..kernels.cliques import Regions, Repair, Scratch, Terms
from ..kernels.edits import CELL_SHIFT, NODE_SHIFT
from ..kernels.layout import COLS, ROWS
from ..kernels.ticks import new_clock
from ..kernels.views import GraphView, TerrainView
from ..kernels.workspace import Pool
from ..text import shown
from .attended import attended
from .changes import ChangeLog, SavedWorld
from .graph import Graph
from .grid import Grid

__all__ = ["Abstraction", "RegionGraph", "packed_regions", "refuses", "regions", "unpack_regions"]

_AT_ONCE = 4096  # touched states that are put right at a time, so that an interrupt is heard in between


def refuses(world: Any) -> str | None:
    """Why a world has no regions, as a sentence; None: it has."""
    if not isinstance(world, (Grid, Graph)):
        return "regions are for grids and graphs"
    return None if world.undirected else "regions are for graphs whose arcs all lead both ways at the same cost"


def regions(world: Any, level: int) -> np.ndarray:
    """The region that each cell of a grid, or node of a graph, belongs to at a level of its clique abstraction.

    A grid's array has the shape of the map, with -1 for walls. Numbers say nothing but which cells belong together;
    while the world is edited, they stay the same where they can.

    >>> import timebound as tb
    >>> tb.regions(tb.Grid([[1, 1, 1, 1], [1, 1, 0, 1]]), 1)
    array([[ 0,  0,  1,  1],
           [ 0,  0, -1,  1]], dtype=int32)
    """
    found = Abstraction.of(world).regions(level)
    if isinstance(world, Grid):
        found = found.reshape(world.shape[0] + 2, world.shape[1] + 2)[1:-1, 1:-1]
    return np.ascontiguousarray(found)


class RegionGraph(SavedWorld):
    """The regions of a level as a world of their own, which algorithms can search.

    After edits there may be numbers that no region has: they have no arcs, and ``is_open`` tells. What kernels see
    may have been laid out anew then, so take ``view`` again once ``view.edited`` has risen; what was taken before
    stays safe to read.
    """

    table = "linked"
    buckets = False
    undirected = True
    goal_views = False

    def __init__(self, nodes: Regions, terms: Terms, linked: int) -> None:
        count = len(nodes.child)
        self.nodes = nodes
        self.unit = terms.scale
        self.changes = ChangeLog(_untold, self)
        self._terms = terms
        self._free = np.empty(0, np.int64)  # numbers that no region has
        self._counts = np.array([0, linked, count, 0, 0], np.int64)  # see Repair
        self.view = GraphView(
            first=np.zeros(count + 1, np.int64),
            head=np.empty(0, np.int32),
            cost=np.empty(0, np.int64),
            length=np.empty(0),
            kind=views.EUCLIDEAN if len(nodes.place) else views.ZERO,
            ratio=terms.rate * terms.scale * (1 - 1e-12),  # a hair less, against rounding
            position=np.zeros((1, 3)),
            distances=np.zeros((1, 1), np.int64),
            octile=np.zeros(2, np.int64),
            widest=0,
            shift=0,
            edited=self.changes.edited,
        )

    # --- what is asked of any world ---------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many regions there are."""
        return int(self._counts[cliques.ALIVE])

    @property
    def joins_nothing(self) -> bool:
        """Whether every region is a single node of the level below."""
        return bool(self._counts[cliques.LINKED] == self._counts[cliques.ALIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of the graph's own arrays."""
        return sum(array.nbytes for array in self.view if isinstance(array, np.ndarray))

    @property
    def digest(self) -> str:
        """A hash of nodes, arcs and costs."""
        parts = (self.view.first, self.view.head, self.view.cost, self.view.length)
        return hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()

    def view_for(self, goal: int) -> GraphView:
        """The view is the same for every goal."""
        return self.view

    def state_of(self, point: Any, what: str = "region") -> int:
        """The number of a region, or an error that says why there is none."""
        if not isinstance(point, (int, np.integer)) or isinstance(point, bool) or not self.is_open(int(point)):
            raise ProblemError(f"the {what} {shown(point)} is not a region of this level")
        return int(point)

    place_of = state_of

    def is_open(self, state: int) -> bool:
        """Whether there is a region of this number."""
        return 0 <= state < self.states and bool(self.nodes.size[state] > 0)

    def are_open(self, states: np.ndarray) -> np.ndarray:
        """The same for many."""
        return np.ones(len(states), np.bool_)

    def point_of(self, state: int) -> int:
        """The number of a region is its name."""
        return int(state)

    def points_of(self, states: np.ndarray) -> np.ndarray:
        """The same for many."""
        return states.copy()

    def path_states(self, path: Any, what: str = "") -> np.ndarray:
        """The inverse of ``points_of``."""
        return np.array([self.state_of(point) for point in path], np.int64)

    def random_states(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Regions drawn evenly."""
        return random.choice(np.flatnonzero(self.nodes.size), count)

    def plausible(self, pairs: np.ndarray, high: float) -> np.ndarray:
        """Which (start, goal) pairs are worth a search: those that differ."""
        return pairs[:, 0] != pairs[:, 1]

    # --- making it and putting it right -----------------------------------------------------------------------

    def lay_out(self, below: Any, room: bool) -> None:
        """Write all arcs anew, if wanted with room for more in every row."""
        nodes = self.nodes
        scratch, arcs = _scratch(nodes), np.zeros(len(nodes.child), np.int64)
        _finish(cliques.count_arcs, below, nodes, scratch, arcs)
        if room:
            arcs += 4 + arcs // 4
        first = np.zeros(len(arcs) + 1, np.int64)
        np.cumsum(arcs, out=first[1:])
        every = int(first[-1])
        view = self.view._replace(
            first=first,
            head=np.empty(every, np.int32),
            cost=np.empty(every, np.int64),
            length=np.empty(every),
            position=nodes.place if len(nodes.place) else np.zeros((1, 3)),
            widest=int(arcs.max()) if len(arcs) else 0,
        )
        _finish(cliques.fill_arcs, below, nodes, scratch, view, self._terms)
        self.view = view
        self.states = len(arcs)
        self.spare = Pool()  # workspaces are for so many states

    def put_right(self, below: Any, size: np.ndarray, touched: np.ndarray) -> np.ndarray:
        """Follow changes of nodes below. Returns the regions that changed, or whose neighbours or arcs did."""
        self._counts[3:] = 0
        progress = np.zeros(2, np.int64)
        repair, scratch = self._repair(touched, progress, None), _scratch(self.nodes)
        while not cliques.regroup(below, size, self.nodes, scratch, repair):
            self._make_room()
            repair, scratch = self._repair(touched, progress, repair), _scratch(self.nodes)
        cliques.forget_arcs(self.view, repair)
        fits = cliques.rejoin(below, self.nodes, scratch, self.view, self._terms, repair)
        if not fits or len(self.nodes.child) > self.states:
            self.lay_out(below, True)
        self.tell()
        return repair.changed[: self._counts[4]]

    def tell(self) -> None:
        """Let those who look know that something has changed, and that the log does not say what."""
        self.changes.view.total[0] += len(self.changes.view.entries) + 1
        self.changes.edited[0] += 1

    def grow_below(self, count: int) -> None:
        """There are more numbers of nodes below."""
        parent, sibling = (_longer(array, count, -1) for array in (self.nodes.parent, self.nodes.sibling))
        self.nodes = self.nodes._replace(parent=parent, sibling=sibling)

    def _make_room(self) -> None:
        """More numbers for regions."""
        old, new = len(self.nodes.child), len(self.nodes.child) * 9 // 8 + 16
        self._free = _longer(self._free, new, 0)
        free = int(self._counts[cliques.FREE])
        self._free[free : free + new - old] = np.arange(new - 1, old - 1, -1)
        self._counts[cliques.FREE] += new - old
        self.nodes = self.nodes._replace(
            child=_longer(self.nodes.child, new, -1),
            size=_longer(self.nodes.size, new, 0),
            place=_longer(self.nodes.place, new, 0) if len(self.nodes.place) else self.nodes.place,
        )

    def _repair(self, touched: np.ndarray, progress: np.ndarray, before: Repair | None) -> Repair:
        room = len(self.nodes.child)
        self._free = _longer(self._free, room, 0)
        if before is None:
            dirty, changed = np.empty(room, np.int64), np.empty(room, np.int64)
            return Repair(touched, dirty, changed, np.zeros(room, np.uint8), self._free, self._counts, progress)
        dirty, changed, marks = (_longer(array, room, 0) for array in (before.dirty, before.changed, before.marks))
        return Repair(touched, dirty, changed, marks, self._free, self._counts, progress)


class Abstraction:
    """The levels of a world. ``Abstraction.of(world)`` is kept with it; levels are made when first asked for.

    Numbers of regions are 0, 1, 2 ... without a gap until the world is edited; ``fresh`` tells.

    >>> import timebound as tb
    >>> from timebound.worlds.abstraction import Abstraction
    >>> world = tb.Grid([[1] * 4] * 4)
    >>> abstraction = Abstraction.of(world)
    >>> abstraction.height, abstraction.count(1), int(abstraction.regions(1)[world.state_of((3, 3))])
    (2, 4, 3)
    """

    def __init__(self, world: Any) -> None:
        refusal = refuses(world)
        if refusal is not None:
            raise WorldError(refusal)
        self._world = ref(world)  # the world keeps us, and is to be freed when nobody else needs it
        self._view = world.view
        self._log = world.changes
        self._size = world.free_by_state if isinstance(world, Grid) else np.ones(world.states, np.int64)
        self._terms = _terms(world)
        self._placed = isinstance(world, Grid) or world.view.kind in _WITH_POSITIONS
        self._levels: list[RegionGraph] = []  # from level 1 on
        self._complete = False
        self._lock = threading.RLock()
        self._seen: int | None = world.changes.count  # entries of the log that the levels know of; None: they are lost
        self.fresh = True  # whether the regions are those of a first build
        self._first_digest: str | None = None

    @classmethod
    def of(cls, world: Any) -> Abstraction:
        """The world's own, up to date with its edits."""
        refusal = refuses(world)
        if refusal is not None:
            raise WorldError(refusal)
        with _door:
            found = _kept.get(world)
            if found is None or not found._follow():
                found = _kept[world] = cls(world)
            return found

    @classmethod
    def kept(cls, world: Any) -> Abstraction | None:
        """The same as it stands, not brought up to date; None if there is none."""
        return _kept.get(world)

    def first_digest(self) -> str:
        """Of the world that the regions got their numbers in; edits leave most of them as they are.

        Empty if nobody asked before the first edit.
        """
        if self._first_digest is None:
            world: Any = self._world()
            self._first_digest = world.digest if self.fresh else ""
        return self._first_digest

    @property
    def height(self) -> int:
        """The highest level: in it no two regions are neighbours any more."""
        with self._lock:
            while self._grow():
                pass
            return len(self._levels)

    def world(self, level: int) -> Any:
        """The graph of the regions of a level; level 0 is the world itself."""
        level = self._reached(level)
        return self._levels[level - 1] if level else self._world()

    def count(self, level: int) -> int:
        """How many regions a level has; at level 0, how many states an agent can be in."""
        level = self._reached(level)
        return self._levels[level - 1].count if level else int(np.count_nonzero(self._size))

    def parents(self, level: int) -> np.ndarray:
        """int32: for each node of a level its region in the level above; -1 for walls."""
        return self._levels[self._reached(level + 1) - 1].nodes.parent

    def regions(self, level: int, base: int = 0) -> np.ndarray:
        """int32: for each node of level ``base`` its region in a level; -1 for walls."""
        level, base = self._reached(level), self._reached(base)
        if level <= base:
            return np.where(self._sizes(base) > 0, np.arange(len(self._sizes(base)), dtype=np.int32), np.int32(-1))
        found = self._levels[base].nodes.parent.copy()
        for above in self._levels[base + 1 : level]:
            _finish(cliques.climb, above.nodes, found)
        return found

    def sizes(self, level: int) -> np.ndarray:
        """int64: how many ground states each node of a level stands for; 0 for walls, and numbers without a region."""
        return self._sizes(self._reached(level)).astype(np.int64)

    def places(self, level: int) -> np.ndarray | None:
        """float64[n, 3]: where the nodes of a level are, the mean of their ground states; None without positions."""
        level = self._reached(level)
        if not self._placed:
            return None
        if level:
            return self._levels[level - 1].nodes.place
        world: Any = self._world()
        if isinstance(world, Graph):
            return world.view.position
        places = np.zeros((world.states, 3))
        places[:, :2] = world.points_of(np.arange(world.states))
        return places

    def representatives(self, level: int, base: int = 0) -> np.ndarray:
        """int64: for each region of a level the node of level ``base`` that is nearest to its mean position.

        Ties go to the lower number; so does everything where there are no positions. -1 for numbers without a region.
        """
        region = self.regions(level, base)
        if level == base:
            return region.astype(np.int64)
        nodes = self._levels[level - 1].nodes
        chosen, apart = np.full(len(nodes.child), -1, np.int64), np.zeros(len(nodes.child))
        _finish(cliques.choose_nearest, self._view_of(base), region, nodes.place, chosen, apart)
        return chosen

    def _sizes(self, level: int) -> np.ndarray:
        return self._levels[level - 1].nodes.size if level else self._size

    def _view_of(self, level: int) -> Any:
        return self._levels[level - 1].view if level else self._view

    def _reached(self, level: int) -> int:
        level = at_least(0, level, "a level of abstraction is a whole number")
        with self._lock:
            while len(self._levels) < level:
                if not self._grow():
                    raise WorldError(
                        f"this world has no level {level}: at level {len(self._levels)} nothing can be joined"
                    )
        return level

    def _grow(self) -> bool:
        """Add a level, if there is one."""
        if self._complete:
            return False
        top = len(self._levels)
        below, size = self._view_of(top), self._sizes(top)
        parent = _no_parents(len(size))
        none = Regions(parent, np.empty(len(size), np.int32), parent[:0], np.empty(0, np.int64), np.empty((0, 3)))
        progress = _finish(cliques.join_cliques, below, size, parent, _scratch(none))
        count, linked = int(progress[2]), int(np.count_nonzero(size))
        if count == linked:
            self._complete = True
            return False
        nodes = none._replace(
            child=np.full(count, -1, np.int32),
            size=np.empty(count, np.int64),
            place=np.empty((count if self._placed else 0, 3)),
        )
        _finish(cliques.list_children, nodes)
        _finish(cliques.measure, below, size, nodes)
        level = RegionGraph(nodes, self._terms, linked)
        level.lay_out(below, False)
        self._levels.append(level)
        return True

    # --- edits ------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Put right what has been edited since the last look; False if all is to be built anew."""
        with self._lock:
            if self._seen is None:
                return False
            entries, count = self._log.view.entries, self._log.count
            new = count - self._seen
            if new and self._levels and new > min(len(entries), 64 + len(self._size) // 64):
                for level in self._levels:
                    level.tell()
                return False
            if new and self._levels:
                touched = _touched(self._view, entries[np.arange(self._seen, count) % len(entries)])
                self._seen = None  # whoever is interrupted here leaves what must be built anew
                for first in range(0, len(touched), _AT_ONCE):
                    self._put_right(touched[first : first + _AT_ONCE])
                self._drop_idle_levels()
                self.fresh = False
            self._complete = self._complete and not new
            self._seen = count
            return True

    def _put_right(self, touched: np.ndarray) -> None:
        for k, level in enumerate(self._levels):
            if len(level.nodes.parent) < len(self._sizes(k)):
                level.grow_below(len(self._sizes(k)))
            touched = level.put_right(self._view_of(k), self._sizes(k), touched)

    def _drop_idle_levels(self) -> None:
        """Where nothing can be joined any more, levels end."""
        last = next((k for k, level in enumerate(self._levels) if level.joins_nothing), len(self._levels))
        for level in self._levels[last:]:
            level.tell()
        del self._levels[last:]

    # --- saving -----------------------------------------------------------------------------------------------

    def packed(self) -> tuple[Any, ...]:
        """Regions that a first build would give are built again; others have a history, and are saved whole."""
        with self._lock:
            again = self.fresh and self._seen == self._log.count
            levels = len(self._levels) if again else self._levels
            return levels, self._terms, self._complete, self._seen, self.fresh, self._first_digest

    def unpack(self, packed: tuple[Any, ...]) -> None:
        """Be what was saved."""
        levels, self._terms, complete, self._seen, self.fresh, self._first_digest = packed
        if isinstance(levels, list):
            self._levels = levels
        else:
            while len(self._levels) < levels and self._grow():
                pass
        self._complete = complete


def packed_regions(world: Any) -> tuple[Any, ...] | None:
    """What a world saves of its regions: they must have the same numbers when it is loaded."""
    found = _kept.get(world)
    return found.packed() if found is not None else None


def unpack_regions(world: Any, packed: tuple[Any, ...] | None) -> None:
    """The world has been loaded: so are its regions."""
    if packed is not None and refuses(world) is None:  # an edit may have made a graph one-way since
        found = _kept[world] = Abstraction(world)
        found.unpack(packed)


_kept: WeakKeyDictionary[Any, Abstraction] = WeakKeyDictionary()
_door = threading.RLock()
_WITH_POSITIONS = (views.EUCLIDEAN, views.GREAT_CIRCLE, views.OCTILE)


def _terms(world: Any) -> Terms:
    view, unit = world.view, world.unit
    if isinstance(view, GraphView):
        rate = float(view.octile[0]) if view.kind == views.OCTILE else view.ratio
        return Terms(rate / unit, float(view.length.min()) / 2 if len(view.length) else 0.5, unit)
    rate = 2.0 * float(view.bounds[0]) / unit if isinstance(view, TerrainView) else 1.0
    return Terms(rate, rate / 2, unit)


def _touched(view: Any, entries: np.ndarray) -> np.ndarray:
    """The states at the ends of arcs that entries of a log speak of, and, on a grid, a few more."""
    if isinstance(view, GraphView):
        nodes = entries >> NODE_SHIFT
        return np.unique(np.concatenate([nodes, view.head[view.first[nodes] + ((entries & 0xFFFFFFFF) >> 1)]]))
    around = np.append(ROWS * view.width + COLS, 0)
    return np.unique((entries >> CELL_SHIFT)[:, None] + around)


def _untold(entry: int) -> list[Any]:
    """The log of a level says only that it changed."""
    return []


def _scratch(nodes: Regions) -> Scratch:
    n = max(len(nodes.parent), len(nodes.child)) + 1
    near, label, total, times = (np.empty(n, np.int64) for _ in range(4))
    return Scratch(near, np.zeros(n, np.int32), label, total, times)


def _finish(kernel: Callable[..., bool], *arguments: Any) -> np.ndarray:
    """Call a kernel until it is done; an interrupt may come in between."""
    progress, clock = np.zeros(3, np.int64), new_clock()
    while not kernel(*arguments, progress, clock):
        pass
    return progress


@attended(lambda count: count)
def _no_parents(count: int) -> np.ndarray:
    return np.full(count, -1, np.int32)


def _longer(array: np.ndarray, count: int, value: int) -> np.ndarray:
    if len(array) == count:
        return array
    return np.concatenate([array, np.full((count - len(array), *array.shape[1:]), value, array.dtype)])
