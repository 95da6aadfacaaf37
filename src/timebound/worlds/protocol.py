"""What a world is to everyone else: the questions that Grid, Graph and TilePuzzle answer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..kernels.workspace import Pool
from .changes import ChangeLog

__all__ = ["World"]


class World(Protocol):
    """What algorithms and episodes may ask of a world."""

    view: Any  # what kernels see of it
    undirected: bool  # whether every arc leads both ways at the same cost
    table: str  # "dense", "linked" or "hashed": what a search should keep its states in
    buckets: bool  # whether costs are even enough for an array of buckets
    states: int  # how many states there are; for a hashed table, how many to reserve room for
    spare: Pool
    changes: ChangeLog

    @property
    def goal_views(self) -> bool: ...  # whether view_for gives another view, of the same type, for each goal
    @property
    def unit(self) -> float: ...  # what one unit of the user's cost is in integers
    @property
    def digest(self) -> str: ...
    @property
    def nbytes(self) -> int: ...

    def view_for(self, goal: int) -> Any: ...
    def state_of(self, point: Any, what: str = ...) -> int: ...
    def place_of(self, point: Any, what: str = ...) -> int: ...
    def is_open(self, state: int) -> bool: ...
    def are_open(self, states: np.ndarray) -> np.ndarray: ...
    def point_of(self, state: int) -> Any: ...
    def points_of(self, states: np.ndarray) -> Any: ...
    def path_states(self, path: Any, what: str = ...) -> np.ndarray: ...
    def random_states(self, count: int, random: np.random.Generator) -> np.ndarray: ...
    def plausible(self, pairs: np.ndarray, high: float) -> np.ndarray: ...
