"""Graphs: roads, waypoints, state spaces; anything with nodes, arcs and costs."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ProblemError, WorldError, as_array, as_numbers, is_number, nearest
from ..kernels import edits as kernel_edits
from ..kernels import views
from ..kernels.edits import NODE_SHIFT
from ..kernels.layout import COLS, G_BITS, INFINITE, ROWS
from ..kernels.shortest_paths import distances, tree_from
from ..kernels.views import GraphView
from ..kernels.workspace import Pool, Workspace
from ..text import shown
from .attended import attended
from .changes import ChangeLog, SavedWorld
from .map_files import read_dimacs
from .opening import check_nodes

if TYPE_CHECKING:
    from .grid import Grid

__all__ = ["Graph"]

EARTH_RADIUS = 6_371_008.8  # metres, the mean radius
Heuristic = str | Mapping[Any, Any] | Callable[[Any], Any]
# Units that the cheapest arc must have, so that rounding to whole units changes no cost by more than 0.025%.
_COARSEST = 4096
_FINE = 1 << 20
_MOST_NODES = (1 << 31) - 1  # arcs name their ends in 32 bits
_FARTHEST = 1e100  # the squares of larger coordinates are infinite
_KINDS = ("zero", "euclidean", "great-circle", "landmarks")


class Graph(SavedWorld):
    """A directed graph from arrays of arcs: ``sources[k]`` to ``targets[k]`` at ``costs[k]``.

    ``directed=False`` adds every arc's reverse. Of parallel arcs the cheapest counts; loops are dropped.

    ``heuristic`` is one of

    * ``"zero"``: none;
    * ``"euclidean"`` or ``"great-circle"``: from ``coordinates`` (n x 2 or n x 3, or longitude and latitude in
      degrees), scaled so that it never exceeds the cost of any arc;
    * ``"landmarks"``: distances to and from a few far-apart nodes, computed here (``landmarks=8`` of them);
    * a mapping or function from a goal to a vector with an estimate per node, yours to keep admissible.

    >>> import timebound as tb
    >>> world = tb.Graph([0, 1, 0], [1, 2, 2], [1.0, 1.0, 5.0], directed=False)
    >>> tb.solve(world, 0, 2, "a*").path.tolist()
    [0, 1, 2]
    """

    table = "linked"
    buckets = False

    def __init__(
        self,
        sources: Any,
        targets: Any = None,
        costs: Any = None,
        *,
        nodes: int | None = None,
        directed: bool = True,
        coordinates: Any = None,
        heuristic: Heuristic | None = None,
        landmarks: int = 8,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        if targets is None:
            raise WorldError(_what_instead(sources))
        source, target = self._ends(sources, "sources"), self._ends(targets, "targets")
        length = np.ones(len(source)) if costs is None else as_numbers(costs, "costs").ravel()
        if nodes is not None and (not isinstance(nodes, (int, np.integer)) or isinstance(nodes, bool)):
            raise WorldError(f"nodes is how many nodes there are, a whole number, not {shown(nodes)}")
        if not len(source) == len(target) == len(length):
            raise WorldError(
                f"arcs need as many sources as targets and costs, not {len(source)}, {len(target)} and {len(length)}"
            )
        n = int(nodes) if nodes is not None else int(max(source.max(), target.max())) + 1 if len(source) else 0
        if n < 1:
            raise WorldError("a graph needs at least one node")
        if n > _MOST_NODES:
            raise WorldError(f"a graph has at most {_MOST_NODES} nodes, not {shown(n)}")
        check_nodes(f"the graph has {n} nodes and {len(source)} arcs", n, len(source), WorldError)
        self.labels, self._numbers = self._named(labels, n)
        out = np.flatnonzero((source < 0) | (source >= n) | (target < 0) | (target >= n))
        if len(out):
            k = out[0]
            raise WorldError(f"the arc {source[k]} -> {target[k]} leads outside the nodes 0 to {n - 1}")
        bad = np.flatnonzero(~(np.isfinite(length) & (length > 0)))
        if len(bad):
            k = bad[0]
            here, there = (shown(self.point_of(int(end[k]))) for end in (source, target))
            raise WorldError(f"the arc {here} -> {there} costs {length[k]}; costs are positive, finite numbers")
        if not directed:
            source, target = np.concatenate([source, target]), np.concatenate([target, source])
            length = np.concatenate([length, length])
        source, target, length = self._tidy(source, target, length)
        scale = self._scale(source, length, n)
        # Rounding up keeps a rounded-down estimate consistent.
        self._build(n, source, target, np.ceil(length * scale).astype(np.int64), length, scale)
        self.directed = directed
        self._set_heuristic(coordinates, heuristic, landmarks)

    @staticmethod
    def _ends(ends: Any, what: str) -> np.ndarray:
        array = as_array(ends, what).ravel()
        if array.size == 0:
            return np.empty(0, np.int64)
        if array.dtype.kind not in "iu":
            raise WorldError(
                f"{what} must be whole numbers of nodes, not {str(array.dtype)[:60]}; see Graph.from_networkx for names"
            )
        if array.max() > _MOST_NODES:
            raise WorldError(f"{what} name a node {array.max()}, and a graph has at most {_MOST_NODES} nodes")
        return array.astype(np.int64)

    @staticmethod
    def _named(labels: Any, n: int) -> tuple[list[Any] | None, dict[Any, int] | None]:
        """The names of the nodes, and the numbers that the names stand for."""
        if labels is None:
            return None, None
        try:
            names = list(labels)
            numbers = {label: k for k, label in enumerate(names)}
        except TypeError:
            raise WorldError("labels must be names that can be looked up: strings, numbers or tuples") from None
        if not len(names) == len(numbers) == n:
            raise WorldError(f"labels must name each of the {n} nodes once")
        return names, numbers

    @staticmethod
    def _tidy(source: np.ndarray, target: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sort arcs by source, keep the given order within one, drop loops and all but the cheapest of parallels."""
        order = np.lexsort((length, target, source))
        same = np.zeros(len(order), bool)
        if len(order):
            s, t = source[order], target[order]
            same[1:] = (s[1:] == s[:-1]) & (t[1:] == t[:-1])
        keep = np.sort(order[~same])
        keep = keep[source[keep] != target[keep]]
        keep = keep[np.argsort(source[keep], kind="stable")]
        return source[keep], target[keep], length[keep]

    @staticmethod
    def _scale(source: np.ndarray, length: np.ndarray, n: int) -> float:
        """How many integer units a cost of 1 is: a power of two, so that whole costs stay exact."""
        if not len(length):
            return 1.0
        # No path without a loop can cost more than the dearest arc out of every node together.
        dearest = np.zeros(n)
        np.maximum.at(dearest, source, length)
        with np.errstate(over="ignore"):  # costs may be as small or as large as floats go
            largest = ((1 << G_BITS) - 1) / (2 * dearest.sum())
            # Finer than this gains nothing, and would leave edits no room to make arcs dearer.
            enough = _FINE / length.min()
        whole = largest >= 1 and np.array_equal(length, np.rint(length))
        finest = min(largest, max(enough, 1.0 if whole else 0.0))
        scale = float(2.0 ** math.floor(math.log2(finest))) if 0 < finest < math.inf else 0.0
        if not whole and length.min() * scale < _COARSEST:
            raise WorldError(
                f"costs from {length.min():g} to {length.max():g} are too far apart for a graph of {n} nodes; "
                "raise the smallest or lower the largest"
            )
        return scale

    @attended(lambda self, n, source, *_: len(source))
    def _build(
        self,
        n: int,
        source: np.ndarray,
        target: np.ndarray,
        whole: np.ndarray,
        length: np.ndarray,
        scale: float,
    ) -> None:
        first = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(source, minlength=n), out=first[1:])
        self.states = n
        self.spare = Pool()
        head = target.astype(np.int32)
        self.changes = ChangeLog(partial(_arcs_of, self.labels, first, head), self)
        self._scale_used = scale
        self._source = source
        self._room = float((1 << G_BITS) - 1) / scale / 2  # how much dearer edits may make paths, all together
        self._made = length.copy()  # the costs that the heuristic was made for
        widest = int(np.diff(first).max())
        self.view = GraphView(
            first=first,
            head=head,
            cost=whole,
            length=length.copy(),
            kind=views.ZERO,
            ratio=0.0,
            position=np.zeros((1, 3)),
            distances=np.zeros((1, 1), np.int64),
            octile=np.zeros(2, np.int64),
            widest=widest,
            shift=0,
            edited=self.changes.edited,
        )
        # Undirected: every arc has a reverse of the same cost, so an agent can always step back.
        self.undirected = self._symmetric(source, target, length)

    @staticmethod
    def _symmetric(source: np.ndarray, target: np.ndarray, length: np.ndarray) -> bool:
        there, back = np.lexsort((target, source)), np.lexsort((source, target))
        return bool(
            np.array_equal(source[there], target[back])
            and np.array_equal(target[there], source[back])
            and np.array_equal(length[there], length[back])
        )

    def __getstate__(self) -> dict[str, Any]:
        from .abstraction import packed_regions

        return {**super().__getstate__(), "_numbers": None, "regions": packed_regions(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from .abstraction import unpack_regions

        regions = state.pop("regions")
        super().__setstate__(state)
        self._numbers = None if self.labels is None else {label: k for k, label in enumerate(self.labels)}
        unpack_regions(self, regions)

    # --- heuristics -------------------------------------------------------------------------------------------

    def _set_heuristic(self, coordinates: Any, heuristic: Heuristic | None, landmarks: int) -> None:
        kind = heuristic if heuristic is not None else "zero" if coordinates is None else "euclidean"
        self._vectors: Any = None
        if isinstance(kind, str):
            if kind not in _KINDS:
                raise WorldError(
                    f"there is no heuristic {shown(kind)}; known are {', '.join(_KINDS)}, a mapping or a function"
                )
            if kind in ("euclidean", "great-circle"):
                self._use_positions(coordinates, kind)
            elif kind == "landmarks":
                self._use_landmarks(landmarks)
        elif isinstance(kind, Mapping) or callable(kind):
            self._vectors = kind
            self.view = self.view._replace(kind=views.VECTOR)
        else:
            raise WorldError(f"a heuristic is a name, a mapping or a function, not {shown(kind)}")

    def _use_positions(self, coordinates: Any, kind: str) -> None:
        if coordinates is None:
            raise WorldError(f"the {kind} heuristic needs coordinates=, one row per node")
        given = as_numbers(coordinates, "coordinates")
        wanted = (2,) if kind == "great-circle" else (2, 3)
        if given.ndim != 2 or len(given) != self.states or given.shape[1] not in wanted:
            raise WorldError(f"coordinates must have shape ({self.states}, 2), not {given.shape}")
        lost = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if len(lost):
            raise WorldError(f"the coordinates of node {shown(self.point_of(int(lost[0])))} are not finite numbers")
        if np.abs(given).max() > _FARTHEST:
            raise WorldError(f"coordinates must lie between -{_FARTHEST:g} and {_FARTHEST:g}")
        position = np.zeros((self.states, 3))
        if kind == "great-circle":
            longitude, latitude = np.radians(given).T
            position[:, 0] = np.cos(latitude) * np.cos(longitude)
            position[:, 1] = np.cos(latitude) * np.sin(longitude)
            position[:, 2] = np.sin(latitude)
        else:
            position[:, : given.shape[1]] = given
        chord = np.linalg.norm(position[self._source] - position[self.view.head], axis=1)
        if kind == "great-circle":
            chord = 2 * np.arcsin(np.minimum(chord / 2, 1))
        real = chord > 0
        # The largest factor under which no arc is cheaper than its distance; a hair less, against rounding.
        ratio = float((self.view.cost[real] / chord[real]).min() * (1 - 1e-12)) if real.any() else 0.0
        number = views.GREAT_CIRCLE if kind == "great-circle" else views.EUCLIDEAN
        self.view = self.view._replace(kind=number, ratio=ratio, position=position)

    def _use_landmarks(self, count: int) -> None:
        if not isinstance(count, int) or not 1 <= count <= 64:
            raise WorldError(f"landmarks is a whole number from 1 to 64, not {shown(count)}")
        count = min(count, self.states)
        backward = self._reversed()
        workspace = Workspace(self)  # not from the pool: agents may never need one of this kind
        there = np.empty((count, self.states), np.int64)
        back = np.empty((count, self.states), np.int64)
        nearest = np.full(self.states, INFINITE, np.int64)
        mark = 0
        for k in range(count):
            there[k] = self._distances(self.view, workspace, mark)
            back[k] = self._distances(backward, workspace, mark)
            if k == 0:
                # The first landmark is the node farthest from an arbitrary one, so that it lies on the rim.
                reached = np.where(there[0] < INFINITE, there[0], -1)
                mark = int(reached.argmax())
                there[0] = self._distances(self.view, workspace, mark)
                back[0] = self._distances(backward, workspace, mark)
            nearest = np.minimum(nearest, there[k])
            mark = int(np.where(nearest < INFINITE, nearest, -1).argmax())
        self.view = self.view._replace(kind=views.LANDMARKS, distances=np.concatenate([there, back]))

    def _reversed(self) -> GraphView:
        order = np.argsort(self.view.head, kind="stable")
        first = np.zeros(self.states + 1, np.int64)
        np.cumsum(np.bincount(self.view.head, minlength=self.states), out=first[1:])
        head = self._source[order].astype(np.int32)
        return self.view._replace(first=first, head=head, cost=self.view.cost[order], length=self.view.length[order])

    def _distances(self, view: GraphView, workspace: Workspace, mark: int) -> np.ndarray:
        costs = np.empty(self.states, np.int64)
        distances(workspace.table, tree_from(view, workspace, mark), costs)
        return costs

    @property
    def goal_views(self) -> bool:
        """Whether estimates are given per goal, so that each has a view of its own."""
        return self._vectors is not None

    def view_for(self, goal: int) -> GraphView:
        """The view with the estimates towards one goal, where they are given per goal."""
        if self._vectors is None:
            return self.view
        name = self.point_of(goal)
        try:
            vector = self._vectors(name) if callable(self._vectors) else self._vectors[name]
        except KeyError:
            raise ProblemError(f"the heuristic has no vector for the goal {shown(name)}") from None
        whose = f"the heuristic's vector for {shown(name)}"
        array = as_numbers(vector, whose)
        if array.shape != (self.states,):
            raise WorldError(f"{whose} has shape {array.shape}, not ({self.states},)")
        if not (array >= 0).all():
            raise WorldError(f"{whose} has negative or missing values")
        whole = np.minimum(array * self._scale_used, float(1 << G_BITS)).astype(np.int64)
        whole[goal] = 0
        return self.view._replace(distances=whole[None, :])

    # --- making -----------------------------------------------------------------------------------------------

    @classmethod
    def from_networkx(
        cls, graph: Any, *, weight: Hashable | None = "weight", coordinates: Hashable | None = None, **options: Any
    ) -> Graph:
        """A networkx graph; ``weight`` and ``coordinates`` name edge and node attributes. Nodes keep their names.

        As in networkx, an edge without the attribute costs 1. If no edge has it and some have other numbers, that is
        taken for a mistake; ``weight=None`` says that every edge costs 1.

        >>> import networkx as nx, timebound as tb
        >>> world = tb.Graph.from_networkx(nx.path_graph(["a", "b", "c"]))
        >>> tb.solve(world, "a", "c", "a*").path
        ['a', 'b', 'c']
        """
        if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
            hint = "Graph.from_scipy takes sparse matrices, and networkx.Graph(...) makes a graph of dicts and arrays"
            raise WorldError(f"from_networkx takes a networkx graph, not {shown(graph)}; {hint}")
        for what, name in (("weight", weight), ("coordinates", coordinates)):
            try:
                hash(name)
            except TypeError:
                raise WorldError(f"{what} is the name of an attribute, not {shown(name)}") from None
        labels = list(graph.nodes)
        number = {label: k for k, label in enumerate(labels)}
        edges = list(graph.edges(data=True))
        if weight is not None:
            _check_weights(edges, weight)
        sources = [number[u] for u, _, _ in edges]
        targets = [number[v] for _, v, _ in edges]
        costs = [1.0 if weight is None else data.get(weight, 1.0) for _, _, data in edges]
        if coordinates is not None:
            missing = [label for label in labels if coordinates not in graph.nodes[label]]
            if missing:
                raise WorldError(f"node {shown(missing[0])} has no attribute {shown(coordinates)}")
            options["coordinates"] = [graph.nodes[label][coordinates] for label in labels]
        return cls(
            np.array(sources, np.int64), np.array(targets, np.int64), costs,
            nodes=len(labels), directed=graph.is_directed(), labels=labels, **options,
        )  # fmt: skip

    @classmethod
    def from_scipy(cls, matrix: Any, **options: Any) -> Graph:
        """A SciPy sparse matrix (or array): entry (i, j) is the cost of the arc from i to j.

        >>> import scipy.sparse, timebound as tb
        >>> world = tb.Graph.from_scipy(scipy.sparse.csr_array([[0, 2], [0, 0]]))
        >>> tb.solve(world, 0, 1, "a*").cost
        2.0
        """
        if not hasattr(matrix, "tocoo"):
            raise WorldError(
                f"from_scipy takes a SciPy sparse matrix, not {type(matrix).__name__}; see scipy.sparse.csr_array"
            )
        coo = matrix.tocoo()
        if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
            raise WorldError(f"a graph needs a square matrix, not one of shape {coo.shape}")
        return cls(coo.row, coo.col, coo.data, nodes=coo.shape[0], **options)

    @classmethod
    def load(cls, graph: str | Path, coordinates: str | Path | None = None, **options: Any) -> Graph:
        """DIMACS files: a ``.gr`` with the arcs and, if wanted, a ``.co`` with coordinates. Nodes count from 0 here."""
        n, sources, targets, costs, places = read_dimacs(graph, coordinates)
        if places is not None:
            options.setdefault("coordinates", places)
        return cls(sources, targets, costs, nodes=n, **options)

    @classmethod
    @attended(lambda cls, grid: grid.free_count)
    def from_grid(cls, grid: Grid) -> Graph:
        """The same world as ``grid``: see ``Grid.to_graph``."""
        cells = np.flatnonzero(grid.free_by_state)
        number = np.full(grid.states, -1, np.int64)
        number[cells] = np.arange(len(cells))
        view = grid.view
        legal = (view.moves[cells, None] >> np.arange(8)) & 1 == 1
        steps = ROWS * view.width + COLS
        source, direction = np.nonzero(legal)
        target = number[cells[source] + steps[direction]]
        slanted = direction >= 4
        if isinstance(view, views.GridView):
            whole = np.where(slanted, view.diagonal, view.cardinal).astype(np.int64)
            length = np.where(slanted, view.diagonal_length, view.straight_length)
            octile = [view.h_cardinal, view.h_diagonal]
        else:
            pair = [cells[source], cells[source] + steps[direction]]
            whole = view.weight[pair[0]].astype(np.int64) + view.weight[pair[1]]
            whole = np.where(slanted, whole * view.diagonal // view.cardinal, whole)
            length = 0.5 * (view.cost[pair[0]] + view.cost[pair[1]]) * np.where(slanted, view.diagonal_length, 1.0)
            straight = int(2 * view.bounds[0])
            least = 2 * straight if view.manhattan else min(straight * view.diagonal // view.cardinal, 2 * straight)
            octile = [straight, least]
        graph = cls.__new__(cls)
        graph.labels = [grid.point_of(int(cell)) for cell in cells]
        graph._numbers = {label: k for k, label in enumerate(graph.labels)}
        graph._vectors = None
        graph.directed = False
        graph._build(len(cells), source, target, whole, length, grid.unit)
        position = np.zeros((len(cells), 3))
        position[:, :2] = grid.points_of(cells)
        graph.view = graph.view._replace(
            kind=views.OCTILE, position=position, octile=np.array(octile, np.int64), shift=view.shift
        )
        return graph

    def copy(self) -> Graph:
        """The same world once more; edits to one do not touch the other. Nodes have the same names, not copies.

        >>> import timebound as tb
        >>> world = tb.Graph([0, 1], [1, 2], directed=False)
        >>> world.copy().block(0, 1), world.block(0, 1)
        (2, 2)
        """
        return deepcopy(self, {id(names): names for names in (self.labels, self._numbers) if names is not None})

    # --- looking ----------------------------------------------------------------------------------------------

    @property
    def unit(self) -> float:
        """What a cost of 1 is in the integers that searches count in."""
        return self._scale_used

    @property
    def nbytes(self) -> int:
        """Bytes of the world's own arrays."""
        return sum(array.nbytes for array in self.view if isinstance(array, np.ndarray))

    @property
    def digest(self) -> str:
        """A hash of nodes, arcs and costs."""
        parts = (self.view.first, self.view.head, self.view.cost, self.view.length)
        return hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()

    def __repr__(self) -> str:
        kind = "undirected " if self.undirected else "directed "
        return f"<{kind}Graph, {self.states} nodes, {len(self.view.head)} arcs>"

    def state_of(self, point: Any, what: str = "node") -> int:
        """The number of a node, or an error that says why there is none."""
        if self._numbers is not None:
            try:
                return self._numbers[point]
            except (KeyError, TypeError):
                raise ProblemError(f"the {what} {shown(point)} is not a node of this graph") from None
        if not isinstance(point, (int, np.integer)) or isinstance(point, bool):
            raise ProblemError(f"the {what} must be a whole number from 0 to {self.states - 1}, not {shown(point)}")
        if not 0 <= point < self.states:
            raise ProblemError(f"the {what} {shown(int(point))} is not among the nodes 0 to {self.states - 1}")
        return int(point)

    place_of = state_of  # nodes are never blocked, only arcs

    def is_open(self, state: int) -> bool:
        """Whether an agent could be there: yes."""
        return True

    def are_open(self, states: np.ndarray) -> np.ndarray:
        """The same for many."""
        return np.ones(len(states), np.bool_)

    def point_of(self, state: int) -> Any:
        """The name of a node."""
        return _name_of(self.labels, state)

    def points_of(self, states: np.ndarray) -> Any:
        """The names of many nodes: a list where they have names, else an array."""
        return [self.labels[int(s)] for s in states] if self.labels is not None else states.copy()

    def path_states(self, path: Any, what: str = "") -> np.ndarray:
        """The inverse of ``points_of``, for ``validate``."""
        return np.array([self.state_of(point, "place" if what else "path's node") for point in path], np.int64)

    def plausible(self, pairs: np.ndarray, high: float) -> np.ndarray:
        """Which (start, goal) pairs are worth a search: those that differ."""
        return pairs[:, 0] != pairs[:, 1]

    def random_states(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Nodes drawn evenly."""
        return random.integers(self.states, size=count)

    # --- editing ----------------------------------------------------------------------------------------------

    def block(self, source: Any, target: Any, *, later: bool = False) -> int:
        """Close the arc from ``source`` to ``target``, and its reverse in an undirected graph. Returns how many.

        With a list of sources and one of targets, as many arcs are closed by one edit.

        >>> import timebound as tb
        >>> world = tb.Graph([0, 1, 2], [1, 2, 3], directed=False)
        >>> world.block(0, 1), world.block([0, 1, 2], [1, 2, 3])
        (2, 4)

        Any thread may edit: it waits until the searches in this graph have ended their tick. With ``later=True`` it
        does not wait; the edit is made before the next tick of any agent here, or the next edit that waits, and 0 is
        returned. So edits are made in the order of the calls.
        """
        return self._edit_all(later, self._arcs(source, target), None, True)

    def unblock(self, source: Any, target: Any, *, later: bool = False) -> int:
        """Open a closed arc again, or several, at the cost that each had. Returns how many changed."""
        return self._edit_all(later, self._arcs(source, target), None, False)

    def set_cost(self, source: Any, target: Any, cost: float, *, later: bool = False) -> int:
        """Give an arc a new cost, or several the same; in a graph made undirected, their reverses too.

        Returns how many arcs changed.
        """
        arcs = self._arcs(source, target)
        given = as_numbers(cost, "a cost")
        if given.shape != () or not (np.isfinite(given) and given > 0):
            raise WorldError(
                f"a cost must be a positive, finite number, not {shown(cost)}; use block() to close an arc"
            )
        cost = float(given)
        units = cost * self._scale_used
        if units < _COARSEST and units != int(units):
            least = _COARSEST / self._scale_used
            raise WorldError(f"a cost of {cost:g} is too small for this graph; the least is {least:.3g}")
        if self.view.kind not in (views.ZERO, views.VECTOR) and any(cost < self._made[k] for k in arcs):
            raise WorldError(
                "an arc cheaper than when the graph was made would break the heuristic; make it with heuristic='zero'"
            )
        return self._edit_all(later, arcs, cost, None)

    def _edit_all(
        self, later: bool, arcs: list[int], cost: float | None, blocked: bool | None, reserved: float = 0.0
    ) -> int:
        if later:
            # What cannot be done must be said now, not to whoever steps next; for each arc on its own, as on a grid.
            with self.changes.books():
                held = self._reserve(sum(max(0.0, self._rise([k], cost)) for k in arcs))
                self.changes.post(partial(self._edit_all, False, arcs, cost, blocked, held))
            return 0
        with self.changes.editing():
            self._room += reserved
            self._reserve(self._rise(arcs, cost))
            return sum(self._edit(k, cost, blocked) for k in arcs)

    def _rise(self, arcs: list[int], cost: float | None) -> float:
        return sum(cost - float(self.view.length[k]) for k in arcs) if cost is not None else 0.0

    def _reserve(self, dearer: float) -> float:
        """Take from the room that is left for higher costs."""
        with self.changes.books():
            if dearer > self._room:
                raise WorldError(
                    f"such a cost is too large for this graph; costs may rise by {self._room:.3g} altogether"
                )
            self._room -= dearer
        return dearer

    def _arcs(self, source: Any, target: Any) -> list[int]:
        """The numbers of an arc, or of those between two lists, with their reverses."""
        several = [isinstance(ends, list) or getattr(ends, "ndim", 0) > 0 for ends in (source, target)]
        if not any(several):
            return self._arc(source, target)
        if not all(several) or len(source) != len(target):
            raise WorldError("several arcs are a list of their sources and one of their targets, equally long")
        # Of an arc that is named twice, or with its reverse, one is enough.
        arcs = [k for ends in zip(source, target, strict=True) for k in self._arc(*ends)]
        return list(dict.fromkeys(arcs))

    def _arc(self, source: Any, target: Any) -> list[int]:
        s, t = self.state_of(source), self.state_of(target)
        found = []
        for u, v in [(s, t)] if self.directed else [(s, t), (t, s)]:
            row = slice(int(self.view.first[u]), int(self.view.first[u + 1]))
            match = np.flatnonzero(self.view.head[row] == v)
            if len(match) == 0:
                here, there = shown(self.point_of(u)), shown(self.point_of(v))
                raise WorldError(f"there is no arc from {here} to {there}")
            found.append(row.start + int(match[0]))
        return found

    def _edit(self, k: int, cost: float | None, blocked: bool | None) -> int:
        view = self.view
        old = math.inf if view.cost[k] < 0 else float(view.length[k])
        whole = abs(int(view.cost[k]))
        length = float(view.length[k])
        if cost is not None:
            length = cost
            whole = math.ceil(cost * self._scale_used)
        if blocked is None:
            blocked = bool(view.cost[k] < 0)
        new = math.inf if blocked else length
        # Told before it is done: whoever is interrupted in between has done no harm, and may do it again.
        if new != old:
            view.edited[0] += 1
            if self.directed:
                self.undirected = False  # this arc and its reverse, if there is one, no longer match
            source = int(self._source[k])
            kernel_edits.log_edit(self.changes.view, source, k - int(view.first[source]), int(new < old))
        view.length[k] = length
        view.cost[k] = -whole if blocked else whole
        return int(new != old)


def _what_instead(given: Any) -> str:
    """A sentence for who gave one thing in place of arrays of arcs."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return f"a graph is made from arrays of arcs; Graph.load(file) opens the file {shown(str(given))}"
    if hasattr(given, "is_directed"):
        return "a graph is made from arrays of arcs; Graph.from_networkx(graph) takes a networkx graph"
    if hasattr(given, "tocoo"):
        return "a graph is made from arrays of arcs; Graph.from_scipy(matrix) takes a sparse matrix"
    return "a graph is made from arrays of arcs, their sources and their targets; the targets are missing"


def _check_weights(edges: list[tuple[Any, Any, dict[Any, Any]]], weight: Hashable) -> None:
    """Refuse costs that are no numbers, and an attribute that no edge has while other numbers are there."""
    found = False
    others: dict[Any, None] = {}  # in the order they are met
    for u, v, data in edges:
        if weight in data:
            found = True
            if not is_number(data[weight]):
                raise WorldError(
                    f"the {shown(weight)} of the edge {shown(u)} - {shown(v)} is {shown(data[weight])}, "
                    "and it must be a number"
                )
        elif not found:
            others |= {name: None for name, value in data.items() if is_number(value)}
    if edges and not found and (others or weight != "weight"):
        known = [str(name) for name in others]
        there = nearest(str(weight), known) if known else "no edge has a number at all"
        raise WorldError(f"no edge has the attribute {shown(weight)}; {there} (weight=None: every edge costs 1)")


def _name_of(labels: list[Any] | None, state: int) -> Any:
    return labels[state] if labels is not None else int(state)


def _arcs_of(labels: list[Any] | None, first: np.ndarray, head: np.ndarray, entry: int) -> list[tuple[Any, Any, int]]:
    """The arc that an entry of the log stands for, with +1 for dearer and -1 for cheaper."""
    source = entry >> NODE_SHIFT
    target = int(head[first[source] + ((entry & 0xFFFFFFFF) >> 1)])
    return [(_name_of(labels, source), _name_of(labels, target), 1 - 2 * (entry & 1))]
