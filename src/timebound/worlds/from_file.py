"""Worlds from files: the reader that a file's ending asks for, and places written as the file writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MapError, ProblemError, WorldError
from .graph import Graph
from .grid import Grid
from .map_files import read_scen
from .opening import file_path
from .rasters import IMAGES, read_array

__all__ = ["Opened", "open_world", "scenario_beside"]

_GRAPHS = (".gr", ".gr.gz")


@dataclass(frozen=True)
class Opened:
    """A world from a file, with places written as the file writes them: DIMACS files count nodes from 1."""

    world: Any
    path: Path
    first: int = 0

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.name

    @property
    def is_grid(self) -> bool:
        """Whether places are (row, col)."""
        return isinstance(self.world, Grid)

    def place(self, text: str, what: str) -> Any:
        """A place from the command line, as the world names it; it is on the map."""
        if self.is_grid:
            match = re.fullmatch(r"\(?\s*(-?\d{1,99})\s*,\s*(-?\d{1,99})\s*\)?", text.strip(), re.ASCII)
            if match is None:
                raise ProblemError(f"the {what} is written row,col, such as 12,34, not {text.strip()!r}")
            point: Any = int(match[1]), int(match[2])
        else:
            first, last = self.first, self.first + self.world.states - 1
            if re.fullmatch(r"-?\d{1,18}", text.strip(), re.ASCII) is None:
                raise ProblemError(f"the {what} is a node number from {first} to {last}, not {text.strip()!r}")
            if not first <= int(text) <= last:
                raise ProblemError(f"the {what} {int(text)} is not among the nodes {first} to {last}")
            point = int(text) - self.first
        self.world.place_of(point, what)
        return point

    def plain(self, point: Any) -> Any:
        """A place for JSON: [row, col], or a node's number in the file."""
        return [int(k) for k in point] if self.is_grid else int(point) + self.first

    def words(self, point: Any) -> str:
        """A place for a person."""
        return f"({point[0]}, {point[1]})" if self.is_grid else f"node {int(point) + self.first}"

    def size(self) -> str:
        """How large the world is, in words."""
        return f"{self.world.shape[0]} x {self.world.shape[1]}" if self.is_grid else f"{self.world.states} nodes"

    def facts(self) -> dict[str, Any]:
        """What there is to know about the world and its file, for JSON."""
        world = self.world
        facts: dict[str, Any] = {"map": str(self.path), "world": "grid" if self.is_grid else "graph"}
        if self.is_grid:
            cells = world.shape[0] * world.shape[1]
            areas = np.bincount(world.parts()[world.parts() > 0])[1:]
            largest = int(areas.max()) if len(areas) else 0
            beside = scenario_beside(self.path)
            costs = world.costs[world.free]
            facts |= {
                "rows": world.shape[0],
                "columns": world.shape[1],
                "free": world.free_count,
                "free_share": world.free_count / cells,
                "parts": len(areas),
                "largest_part": largest,
                "largest_part_share": largest / max(world.free_count, 1),
                "terrain": bool(len(costs) and costs.min() < costs.max()),
                "bytes_per_cell": world.nbytes / cells,
                "problems": len(read_scen(beside)) if beside else None,
            }
        else:
            facts |= {"nodes": world.states, "arcs": len(world.view.head), "undirected": world.undirected}
            facts["bytes_per_node"] = world.nbytes / world.states
        return facts | {"bytes": world.nbytes, "digest": world.digest}


def open_world(path: str | Path, *, threshold: int | None = None, **rules: Any) -> Opened:
    """The world in a file, by the file's ending; ``rules`` are Grid's ``connectivity``, ``corners``, ``diagonal``.

    ``threshold`` is for images: how bright, from 0 to 255, free pixels are at least.

    A DIMACS graph gets a heuristic from the ``.co`` file of the same name, if one lies beside it.
    """
    file = file_path(path)
    name = file.name.lower()
    if threshold is not None and not name.endswith(IMAGES):
        raise MapError(f"{file} is no image, and a threshold is for images")
    if name.endswith(_GRAPHS):
        if rules:
            raise WorldError(f"{file} is a graph, and {', '.join(rules)} is for grids")
        beside = file.with_name(file.name[: name.rindex(".gr")] + ".co" + file.name[name.rindex(".gr") + 3 :])
        return Opened(Graph.load(file, beside if beside.is_file() else None), file, first=1)
    if name.endswith((".npy", ".npz")):
        return Opened(_grid_of_array(file, rules), file)
    if name.endswith((".yaml", ".yml")):
        return Opened(Grid.from_ros(file, **rules), file)
    if name.endswith(IMAGES):
        return Opened(Grid.from_image(file, threshold=threshold, **rules), file)
    if name.endswith(".scen"):
        raise MapError(f"{file} is a list of problems, and a map is needed")
    return Opened(Grid.load(file, **rules), file)


def _grid_of_array(file: Path, rules: dict[str, Any]) -> Grid:
    array = read_array(file)
    try:
        return Grid(array, **rules)
    except WorldError as error:
        raise WorldError(f"{file}: {error}") from None


def scenario_beside(path: Path) -> Path | None:
    """The ``.scen`` file of a map, if one lies beside it: ``x.map.scen`` or ``x.scen``."""
    for candidate in (path.with_name(path.name + ".scen"), path.with_suffix(".scen")):
        if candidate.is_file():
            return candidate
    return None
