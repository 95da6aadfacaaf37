"""Distance fields for users: how far it is to the nearest goal from everywhere, and where to step; kept up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from .budget import UNLIMITED, Budget
from .errors import ProblemError, WorldError, as_array, as_numbers, check_rows, check_world, is_number
from .kernels.distance_field import AT_GOAL, UNKNOWN
from .kernels.layout import G_BITS, INFINITE
from .kernels.shared_field import SharedField
from .text import shown
from .worlds.grid import Grid
from .worlds.protocol import World

__all__ = ["DistanceField"]

_FARTHEST = 1 << (G_BITS - 2)  # whole units between the costs of two goals
_DEAREST = 1 << 62  # and that the cost of one may be


class DistanceField:
    """How far it is from every place to the nearest of some goals, and which step leads there.

    One search, grown from the goals outwards, serves any number of agents (elsewhere it is called a Dijkstra map, flow
    field or vector field). It grows by as much as ``grow`` is given, so a frame is never late; it is repaired around
    what is edited; and its goals may move (``retarget``).

    ``goals`` is a place, several, or for a grid a boolean mask. ``costs`` says what it costs to end at each of them,
    0 if nothing is said; they may be negative. Ways must lead both ways at the same cost: one-way graphs are refused.

    >>> import timebound as tb
    >>> world = tb.Grid([[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]])
    >>> field = tb.DistanceField(world, (0, 3))
    >>> field.grow()
    10
    >>> field.distance((2, 0)), field.step((2, 0)), field.path((1, 0)).tolist()
    (5.0, (1, 0), [[1, 0], [0, 0], [0, 1], [0, 2], [0, 3]])
    >>> world.block((0, 1))
    1
    >>> field.distance((1, 0))  # nobody knows yet
    nan
    >>> _ = field.grow()
    >>> field.distance((1, 0)), field.step((1, 0))
    (6.0, (2, 0))
    """

    def __init__(self, world: World, goals: Any, costs: Any = None) -> None:
        check_world(world)
        self._check(world)
        self.world = world
        self._goals = _goals_of(world, goals, costs)
        # The newest first: it is for the goals of now. Behind it, those for goals of before that still serve steps.
        self._layers = [SharedField(world, *self._goals[:2])]
        self._spare: list[SharedField] = []

    @staticmethod
    def _check(world: World) -> None:
        if world.table == "hashed":
            raise WorldError("a field has a place for each state, and a puzzle has too many; use a grid or a graph")
        if not world.undirected:
            raise WorldError(
                "a field is grown from its goals backwards; this graph has one-way arcs, make it undirected"
            )

    # --- growing ----------------------------------------------------------------------------------------------

    def grow(self, budget: Budget | int | str | None = None) -> int:
        """Grow, or repair what edits have changed: by so many expansions (``500``) or so long (``"1ms"``).

        Without a budget until everything is known; with 0 it is ``update``. Returns how many expansions it took; each
        looks at all neighbours of one state. While fields for goals of before are still needed, they get their share.

        >>> import timebound as tb
        >>> field = tb.DistanceField(tb.Grid([[1, 1, 1, 1]]), (0, 0))
        >>> field.grow(2), field.done, field.distances
        (2, False, array([[ 0.,  1.,  2., nan]]))
        """
        if is_number(budget) and budget == 0:  # what is left of a frame may be nothing
            self.update()
            return 0
        limit = Budget.of(budget)
        expansions = limit.expansions if limit.expansions is not None else UNLIMITED
        until = 0
        if limit.milliseconds is not None:
            until = time.perf_counter_ns() + round(limit.milliseconds * 1e6)
        spent = 0
        with _Inside(self):
            while True:
                waiting = [layer for layer in self._layers if not layer.done]
                if not waiting:
                    break
                used = self._share(waiting, expansions - spent, until)
                spent += used
                self._forget_old()
                if until or spent >= expansions or not used:
                    break
        return spent

    def _share(self, layers: list[SharedField], expansions: int, until: int) -> int:
        """Let each of some layers have its share, the newest first; what it does not need is for the next."""
        spent = 0
        for k, layer in enumerate(layers):
            left = len(layers) - k
            part = (expansions - spent + left - 1) // left
            if part > 0:
                spent += layer.grow(part, max(1, (until - time.perf_counter_ns()) // left) if until else 0)
            if layer.done:
                break  # those behind it are no longer needed
        return spent

    def _forget_old(self) -> None:
        """What lies behind a field that is done is no longer needed."""
        for k, layer in enumerate(self._layers):
            if layer.done:
                self._spare += self._layers[k + 1 :]
                del self._layers[k + 1 :]
                return

    def update(self) -> None:
        """Take notice of edits, without repairing anything: what they have not put in question is known again.

        ``grow`` begins with it. It costs what was edited.

        >>> import timebound as tb
        >>> world = tb.Grid([[1, 1, 1, 1]])
        >>> field = tb.DistanceField(world, (0, 0))
        >>> _ = field.grow(), world.block((0, 3)), field.update()
        >>> field.distances, field.done
        (array([[ 0.,  1.,  2., inf]]), False)
        """
        with _Inside(self):
            for layer in self._layers:
                layer.read()

    def retarget(self, goals: Any, costs: Any = None) -> None:
        """Let the goals be others from now on. Takes no time: the field for them begins to grow with the next ``grow``.

        Nothing of the old distances is true for the new goals, so nothing is kept of them; but the old field goes on
        to serve steps wherever the new one has not come. For a goal that moves a few steps at a time that is what a
        pursuer wants: it walks to where the goal was, and on its way there meets the new field. If the goals move
        again before the new field is done, the field that is on its way is finished with half of the budget, and the
        newest begins anew with the other half: so there is always a step, and near the goals it is the right one.

        >>> import timebound as tb
        >>> field = tb.DistanceField(tb.Grid([[1] * 7]), (0, 6))
        >>> _ = field.grow()
        >>> field.retarget((0, 5)); _ = field.grow(2)
        >>> field.distance((0, 0)), field.step((0, 0)), field.distance((0, 4))
        (nan, (0, 1), 1.0)
        """
        self._goals = _goals_of(self.world, goals, costs)
        newest = self._layers[0]
        finishing = len(self._layers) > 1 and not self._layers[1].done
        if not newest.done and (finishing or newest.empty):
            newest.aim(*self._goals[:2])
        else:
            if self._spare:
                layer = self._spare.pop()
                layer.aim(*self._goals[:2])
            else:
                layer = SharedField(self.world, *self._goals[:2])
            self._layers.insert(0, layer)

    # --- asking -----------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether every distance is known, in the world as it is now."""
        return self._layers[0].done

    @property
    def goals(self) -> Any:
        """The goals, in the order of the world's own numbers."""
        return self.world.points_of(self._goals[0])

    @property
    def memory_bytes(self) -> int:
        """Bytes of the states held; what is reserved and was not touched does not count."""
        return sum(layer.memory_bytes() for layer in [*self._layers, *self._spare])

    def distance(self, point: Any) -> float:
        """What the way from a place to the nearest goal costs: infinity if there is none, NaN while that is not known.

        What it says is true of the world and the goals of now.
        """
        state = self.world.place_of(point)
        if not self.world.is_open(state):
            return float("inf")
        with _Inside(self):
            g = int(self._layers[0].distances(np.array([state], np.int64))[0])
        return float("nan") if g < 0 else float("inf") if g == INFINITE else (g + self._goals[2]) / self.world.unit

    @property
    def distances(self) -> np.ndarray:
        """The same for all places: an array of the grid's shape, or one number per node. It is a copy, made each time.

        >>> import timebound as tb
        >>> field = tb.DistanceField(tb.Grid([[1, 1, 0, 1]]), [(0, 0), (0, 1)], costs=[0, 5])
        >>> _ = field.grow()
        >>> field.distances
        array([[ 0.,  1., inf, inf]])
        """
        with _Inside(self):
            found = self._layers[0].all_distances(self.world.unit, self._goals[2])
        if not isinstance(self.world, Grid):
            return found
        found[self.world.free_by_state == 0] = np.inf
        rows, cols = self.world.shape
        return np.ascontiguousarray(found.reshape(rows + 2, cols + 2)[1:-1, 1:-1])

    def step(self, point: Any) -> Any:
        """The neighbour to step to. None at a goal, where no goal can be reached, and while nothing is known.

        Where ``distance`` is known it is a step on a shortest way. Elsewhere it is the best that is known: after an
        edit by the distances of before, after ``retarget`` towards the goals of before. It is always legal now.
        """
        state = self.world.place_of(point)
        there = int(self.following(np.array([state], np.int64))[0])
        return self.world.point_of(there) if there >= 0 else None

    def steps(self, points: Any) -> Any:
        """``step`` for many places at once, in one compiled call; who has no step stays where he is.

        >>> import timebound as tb
        >>> field = tb.DistanceField(tb.Grid([[1, 1, 1], [1, 1, 1]]), (0, 2))
        >>> _ = field.grow()
        >>> field.steps([(0, 0), (1, 0), (0, 2)]).tolist()
        [[0, 1], [1, 1], [0, 2]]
        """
        states = self._states_of(points)
        there = self.following(states)
        return self.world.points_of(np.where(there >= 0, there, states))

    def path(self, point: Any) -> Any:
        """A shortest way from a place to a goal, both included; None if there is none, or none is known yet."""
        state = self.world.place_of(point)
        if not np.isfinite(self.distance(point)):
            return None
        with _Inside(self):
            states, end = self._layers[0].way_from(state)
        return self.world.points_of(np.concatenate([[state], states])) if end == AT_GOAL else None

    def __copy__(self) -> DistanceField:
        return deepcopy(self, {id(self.world): self.world})

    def __getstate__(self) -> dict[str, Any]:
        """A copy knows what the original knows; it has no arrays in reserve."""
        return self.__dict__ | {"_spare": []}

    def __repr__(self) -> str:
        count = len(self._goals[0])
        return (
            f"<DistanceField, {count} goal{'s' * (count != 1)}, {'done' if self.done else 'growing'}, {self.world!r}>"
        )

    def following(self, states: np.ndarray) -> np.ndarray:
        """The state after each, as the world numbers them, by the newest field that knows one; for those who run many.

        Negative where there is none: -1 if nothing is known, -2 at a goal, -3 if it is proved that no way leads there.
        """
        found = np.full(len(states), UNKNOWN, np.int64)
        with _Inside(self):
            for number, layer in enumerate(self._layers):
                asked = found == UNKNOWN
                layer.steps(states, found)
                if number:  # it is for older goals: of who has arrived, or has no way, it knows nothing
                    found[asked & (found < 0)] = UNKNOWN
        return found

    def _states_of(self, points: Any) -> np.ndarray:
        check_rows(points, "places")
        masked = isinstance(points, str | bytes | np.ma.MaskedArray)
        many = (isinstance(points, Sequence) and not masked) or (isinstance(points, np.ndarray) and points.ndim > 0)
        if masked or not many or self._is_one(points):
            raise ProblemError(f"places are a list or an array of them, not {shown(points)}; for one there is step()")
        states = self.world.path_states(points, "places on a grid are") if len(points) else np.empty(0, np.int64)
        if isinstance(self.world, Grid):
            for k in np.flatnonzero(states == 0)[:1]:  # off the map
                self.world.place_of(points[int(k)])
        return states

    def _is_one(self, points: Sequence[Any] | np.ndarray) -> bool:
        """Whether it is a cell, not a list of such."""
        return isinstance(self.world, Grid) and len(points) == 2 and not any(np.ndim(part) for part in points)


class _Inside:
    """Nobody edits the world meanwhile; edits that were posted are made before."""

    def __init__(self, field: DistanceField) -> None:
        self._field, self._changes = field, field.world.changes
        self._name = self._changes.name(self)

    def __enter__(self) -> None:
        self._changes.catch_up()
        self._field._check(self._field.world)
        self._changes.enter(self._name)

    def __exit__(self, *_: Any) -> None:
        self._changes.leave(self._name)


def _goals_of(world: World, goals: Any, costs: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """The goals as states in ascending order, their costs in whole units from 0 on, and what was taken from those."""
    states, shape = _goal_states(world, goals)
    if not len(states):
        raise ProblemError("a field needs at least one goal, and there is none")
    prices = np.zeros(len(states))
    if costs is not None:
        prices = as_numbers(costs, "the goals' costs")
        if shape is not None and prices.shape == shape:
            prices = prices[np.asarray(goals)]
        if prices.shape not in ((), (1,), (len(states),)):
            count = len(states)
            raise ProblemError(f"{count} goals need one cost or {count} costs, not an array of shape {prices.shape}")
        prices = np.broadcast_to(prices, states.shape)
        if not np.isfinite(prices).all():
            raise ProblemError(f"what it costs to end at a goal is a number, not {prices[~np.isfinite(prices)][0]}")
        if (prices.max() - prices.min()) * world.unit > _FARTHEST:
            most = _FARTHEST / world.unit
            raise ProblemError(f"the costs of two goals may differ by at most {most:.3g} in this world")
        dearest = np.abs(prices).max()
        if dearest * world.unit > _DEAREST:
            most = _DEAREST / world.unit
            raise ProblemError(f"the costs of goals may be at most {most:.3g} in this world, not {dearest:.3g}")
    least = float(prices.min())
    whole = np.rint((prices - least) * world.unit).astype(np.int64)
    # Of a goal that is named twice the lower cost counts.
    order = np.lexsort((whole, states))
    states, whole = states[order], whole[order]
    first = np.ones(len(states), bool)
    first[1:] = states[1:] != states[:-1]
    return states[first].copy(), whole[first].copy(), round(least * world.unit)


def _goal_states(world: World, goals: Any) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """The states of one goal or many, and the shape of the mask if there is one."""
    check_rows(goals, "goals")
    if isinstance(world, Grid):
        array = as_array(goals, "goals")
        if array.shape == (0,):
            return np.empty(0, np.int64), None
        if array.dtype == bool:
            if array.shape != world.shape:
                raise ProblemError(f"the mask of goals has shape {array.shape}, the grid {world.shape}")
            return world.path_states(np.argwhere(array)) if array.any() else np.empty(0, np.int64), array.shape
        if array.ndim != 2:
            return np.array([world.place_of(goals, "goal")], np.int64), None
        if array.shape == world.shape and array.shape[1] != 2 and array.dtype.kind in "iuf":
            raise ProblemError("a mask of goals is boolean; of an array of numbers make one with array != 0")
        return np.array([world.place_of(goal, "goal") for goal in goals], np.int64), None
    if isinstance(goals, (list, set, frozenset)) or (isinstance(goals, np.ndarray) and goals.ndim):
        return np.array([world.place_of(goal, "goal") for goal in goals], np.int64), None
    try:
        return np.array([world.place_of(goals, "goal")], np.int64), None
    except ProblemError:
        if not isinstance(goals, tuple) or not goals:
            raise
    return np.array([world.place_of(goal, "goal") for goal in goals], np.int64), None
