"""Depth trees: decision trees that say how deep an agent should look before a move, on any map (LRTA*(DT,G)).

A tree is trained once (depth_training.py) and serves all maps; one that was trained on generated maps comes with the
package. It lies in a file like that of a database, for no world in particular.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DatabaseError
from ..kernels.depth_tree import FEATURES, Tree
from ..workers import Progress
from . import files

__all__ = ["DepthTree"]

KIND = "depth tree"
_DEFAULT = Path(__file__).with_name("default.tree")
_DTYPES = np.int8, np.float64, np.int32, np.int32, np.uint8, np.int32
_DEEPEST_CAP = 255
_LONGEST_HISTORY = 100_000
_MOST_QUESTIONS = 64  # on the way from a root to a leaf


@dataclass(frozen=True)
class DepthTree:
    """Decision trees for the depth of a lookahead, one for each cap. ``d-lrta*:depth=tree`` uses ``default()``.

    >>> tree = DepthTree.default()
    >>> tree.cap, tree.settings["history"]
    (16, 60)
    """

    tree: Tree
    settings: dict[str, Any]  # what it was made with, and how well it did on maps that it had not seen

    @classmethod
    def train(
        cls,
        worlds: Iterable[Any] | None = None,
        *,
        cap: int = 16,
        history: int = 60,
        presearch: int = 1,
        problems: int = 12,
        moves: int = 2000,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> DepthTree:
        """Train one on grids: agents walk ``problems`` random problems on each, for up to ``moves`` moves each.

        Without ``worlds``, on generated maps, as the one that comes with the package. ``cap`` is the deepest lookahead
        that it will ask for, ``history`` how many steps the agent remembers, ``presearch`` how deep it looks before it
        chooses. The same arguments give the same tree, under one version of scikit-learn, which this needs
        (``pip install 'timebound[train]'``).
        """
        from .depth_training import train

        return cls(*train(worlds, cap, history, presearch, problems, moves, seed, progress))

    @classmethod
    def load(cls, path: str | Path) -> DepthTree:
        """Open a file that ``save`` wrote."""
        header, arrays = files.read(path)
        if header["kind"] != KIND:
            raise DatabaseError(f"{path} is a database for {header['kind']}, not a depth tree")
        wrong = _fault(header["settings"], arrays)
        if wrong is not None:
            raise DatabaseError(f"{path} is damaged: {wrong}; make it again with timebound train-depth")
        return cls(files.frozen(Tree(**arrays)), header["settings"])

    @classmethod
    def default(cls) -> DepthTree:
        """The one that comes with the package, trained on generated maps: ``timebound train-depth`` makes it."""
        return _default()

    def save(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all."""
        files.write(path, KIND, "", self.settings, self.tree._asdict())

    @property
    def cap(self) -> int:
        """The deepest lookahead that it asks for."""
        return len(self.tree.roots) - 1

    def __len__(self) -> int:
        """How many nodes all of its trees have."""
        return len(self.tree.feature)

    def describe(self, cap: int) -> str:
        """The tree for a cap as text, to read."""
        lines: list[str] = []
        _describe(self.tree, int(self.tree.roots[min(cap, self.cap)]), 0, lines)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<DepthTree for caps up to {self.cap}, {len(self):,} nodes>"


@cache
def _default() -> DepthTree:
    return DepthTree.load(_DEFAULT)


def _describe(tree: Tree, node: int, level: int, lines: list[str]) -> None:
    margin = "  " * level
    if tree.feature[node] < 0:
        lines.append(f"{margin}look {tree.depth[node]}")
        return
    lines.append(f"{margin}{FEATURES[tree.feature[node]]} <= {tree.threshold[node]:.4g}:")
    _describe(tree, int(tree.left[node]), level + 1, lines)
    lines.append(f"{margin}else:")
    _describe(tree, int(tree.right[node]), level + 1, lines)


def _fault(settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str | None:
    """What is wrong with a file's arrays, for kernels follow them without looking; None if nothing is."""
    if tuple(arrays) != Tree._fields or any(
        array.dtype != dtype for array, dtype in zip(arrays.values(), _DTYPES, strict=True)
    ):
        return "its arrays are not those of a tree"
    tree = Tree(**arrays)
    nodes, cap = len(tree.feature), len(tree.roots) - 1
    if nodes == 0 or any(len(array) != nodes for array in tree[:5]) or not 1 <= cap <= _DEEPEST_CAP:
        return "its arrays differ in length"
    steps, presearch = settings.get("history"), settings.get("presearch")
    if settings.get("cap") != cap or presearch not in (1, 2) or type(steps) is not int:
        return "it does not say what it was made with"
    if not 1 <= steps <= _LONGEST_HISTORY:
        return "it does not say what it was made with"
    leaf = tree.feature < 0
    if (tree.feature >= len(FEATURES)).any() or not np.isfinite(tree.threshold).all():
        return "it asks for features that there are not"
    if (tree.depth[leaf] < 1).any() or (tree.depth[leaf] > cap).any():
        return "it asks for depths that there are not"
    if (tree.roots < 0).any() or (tree.roots >= nodes).any():
        return "its roots are none of its nodes"
    questions = np.zeros(nodes, np.int64)
    for node in np.flatnonzero(~leaf).tolist():
        for child in (int(tree.left[node]), int(tree.right[node])):
            if not node < child < nodes:
                return "its branches do not lead on"
            questions[child] = max(questions[child], questions[node] + 1)
    return "it asks too much" if int(questions.max()) > _MOST_QUESTIONS else None
