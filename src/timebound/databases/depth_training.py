"""Training depth trees: agents walk generated or given maps, and at each step the depth that was needed is found out.

As in Bulitko et al. 2008 (Section 5.1): at each state a lookahead of every depth up to the cap tells the label, the
shallowest depth from which on all agree with that of the cap. One tree is grown for all maps; for each cap one, since
what agrees with a shallow cap need not agree with a deep one.

Chosen where the paper is silent, or differently:

* A depth agrees if its step is among those that the cap's lookahead finds equally good, not only if it is the one that
  ties go to. On an open grid most steps have an equal; only so a depth of 1 is enough there.
* The agents walk by the label, as an agent with a perfect tree would.
* Mistakes are not alike: too deep a lookahead costs its expansions, too shallow a one leads to a wrong step, which is
  worth ``MISTAKE`` lookaheads to the cap. So a leaf says not the commonest label, but the depth of the least expected
  cost. (With the commonest, agents look too shallow, and walk several times as far.)
* Leaves have at least 100 samples, a tree at most 40 of them; questions whose answer does not matter are pruned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import Error, SpecError, WorldError, at_least
from ..kernels.depth_tree import FEATURES, WALK, Tree, new_history, walk_and_label
from ..kernels.heuristic_values import new_values
from ..kernels.layout import GROW
from ..kernels.lookahead import LOOK, new_space
from ..kernels.memory import lacks_room
from ..kernels.tables import enlarged_hashed
from ..kernels.ticks import new_clock
from ..kernels.workspace import new_record
from ..workers import Progress
from ..worlds import generate
from ..worlds.grid import Grid
from .files import frozen

__all__ = ["MISTAKE", "generated_maps", "train", "walk_by_labels"]

MISTAKE = 3.0  # lookaheads to the cap: what a wrong step is worth
_SMALLEST_LEAF = 100  # samples
_MOST_LEAVES = 40  # of the tree for one cap
_FOLDS = 5
_PAGE_BITS = 4


def generated_maps(seed: int = 0) -> list[Grid]:
    """What the tree that comes with the package is trained on: game-like ground, narrow and wide, and rooms."""
    maps = []
    for k in range(seed, seed + 3):
        maps += [
            generate.caves((256, 256), seed=k, fill=0.4),
            generate.caves((200, 200), seed=100 + k, fill=0.55, feature=8),
            generate.caves((256, 256), seed=200 + k, fill=0.3, feature=24),
            generate.rooms((160, 160), room=16, seed=k),
        ]
    return [Grid(free) for free in maps]


def train(
    worlds: Iterable[Any] | None,
    cap: int,
    history: int,
    presearch: int,
    problems: int,
    moves: int,
    seed: int,
    progress: Progress | None,
) -> tuple[Tree, dict[str, Any]]:
    """The arrays of trees for all caps up to this one, and what they were made with; see DepthTree.train."""
    cap = at_least(1, cap, "cap is the deepest lookahead", 255)
    history = at_least(1, history, "history is how many steps are remembered", 100_000)
    presearch = at_least(1, presearch, "presearch is how deep the agent looks before it chooses", 2)
    problems = at_least(1, problems, "problems is how many there are on each map")
    moves = at_least(1, moves, "moves is the most that there are in each problem")
    seed = at_least(0, seed, "seed is a whole number")
    learner = _learner()
    grids = generated_maps(seed) if worlds is None else list(worlds)
    if not grids:
        raise SpecError("a depth tree is trained on at least one map")
    for world in grids:
        if not isinstance(world, Grid):
            raise WorldError(f"a depth tree is trained on grids, though it serves all worlds, not on {world!r:.80}")
    pairs = [_pairs(world, problems, np.random.default_rng((seed, k))) for k, world in enumerate(grids)]
    if not any(len(some) for some in pairs):
        raise WorldError("no map has two free cells with a way between them")
    grown, samples, scores = [_leaf(1), _leaf(1)], 0, []
    for k in range(2, cap + 1):
        if progress is not None:
            progress(k - 2, cap - 1, "training")
        rows, labels, maps = _lessons(grids, pairs, k, history, presearch, moves)
        samples += len(labels)
        scores += _cross_validated(learner, rows, labels, maps, k)
        grown.append(_grow(learner, rows, labels, k))
    if progress is not None:
        progress(cap - 1, cap - 1, "training")
    means = np.mean(scores, axis=0).round(4).tolist() if scores else [1.0, 1.0, 0.0]
    settings = {"cap": cap, "history": history, "presearch": presearch, "problems": problems, "moves": moves}
    settings |= {"seed": seed, "maps": len(grids), "samples": samples}
    return _joined(grown[: cap + 1]), settings | dict(zip(("accuracy", "enough", "error"), means, strict=True))


def _learner() -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise Error("training needs scikit-learn: pip install 'timebound[train]'") from None
    return DecisionTreeClassifier


# --- lessons ---------------------------------------------------------------------------------------------------------


def _pairs(world: Grid, count: int, random: np.random.Generator) -> np.ndarray:
    """Random starts and goals with a way between them."""
    if not world.free.any():
        return np.empty((0, 2), np.int64)
    parts = world.parts()
    drawn = world.random_states(64 * count, random).reshape(-1, 2)
    return drawn[(drawn[:, 0] != drawn[:, 1]) & (parts[drawn[:, 0]] == parts[drawn[:, 1]])][:count]


def _lessons(
    grids: list[Grid], pairs: list[np.ndarray], cap: int, steps: int, presearch: int, moves: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels, and which map each is from."""
    rows, labels, maps = [], [], []
    for k, world in enumerate(grids):
        for start, goal in pairs[k].tolist():
            seen, needed = walk_by_labels(world, start, goal, cap, steps, presearch, moves)
            rows.append(seen)
            labels.append(needed)
            maps.append(np.full(len(needed), k))
    return np.concatenate(rows), np.concatenate(labels), np.concatenate(maps)


def walk_by_labels(
    world: Grid, start: int, goal: int, cap: int, steps: int, presearch: int, moves: int
) -> tuple[np.ndarray, np.ndarray]:
    """One agent's walk by its labels: the features at each state, and the labels."""
    look, walk, clock = new_record(LOOK), new_record(WALK), new_clock()
    look["goal"], walk["s"], walk["cap"] = goal, start, cap
    values = new_values(_PAGE_BITS, (world.states >> _PAGE_BITS) + 1, direct=True)
    history, space = new_history(world, steps, presearch), new_space(1024, 1)
    plies, rows, labels = np.zeros((cap + 1, 2), np.int64), np.zeros((moves, len(FEATURES))), np.zeros(moves, np.uint8)
    while walk_and_label(world.view, values, space, look, history, walk, plies, rows, labels, clock) == GROW:
        if lacks_room(history.seen, 1):
            history = history._replace(seen=enlarged_hashed(history.seen))
        else:
            space = new_space(2 * len(space.h), 1)
    made = int(walk["moves"][0])
    return rows[:made], labels[:made]


# --- trees -----------------------------------------------------------------------------------------------------------


def _grow(learner: Any, rows: np.ndarray, labels: np.ndarray, cap: int) -> Tree:
    """The tree for one cap."""
    smallest = min(_SMALLEST_LEAF, max(1, len(labels) // 10))
    found = learner(criterion="entropy", min_samples_leaf=smallest, max_leaf_nodes=_MOST_LEAVES, random_state=0)
    found.fit(rows, labels)
    tree = found.tree_
    share = np.zeros((tree.node_count, cap))
    share[:, found.classes_.astype(np.int64) - 1] = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    too_shallow = 1 - share.cumsum(axis=1)
    expanded = (2.0 * np.arange(1, cap + 1) - 1) ** 2  # on an open grid
    return _pruned(tree, 1 + (expanded + MISTAKE * expanded[-1] * too_shallow).argmin(axis=1))


def _pruned(tree: Any, depth: np.ndarray) -> Tree:
    """Without questions whose answer does not matter; parents come before their children."""
    nodes: list[list[Any]] = []

    def copy(node: int) -> set[int]:
        """Append a subtree, or a leaf in its place if all of its leaves say the same; returns what they say."""
        place = len(nodes)
        nodes.append([-1, 0.0, 0, 0, int(depth[node])])
        if tree.children_left[node] < 0:
            return {int(depth[node])}
        nodes[place][:2] = int(tree.feature[node]), float(tree.threshold[node])
        nodes[place][2] = place + 1
        said = copy(tree.children_left[node])
        nodes[place][3] = len(nodes)
        said |= copy(tree.children_right[node])
        if len(said) == 1:
            del nodes[place + 1 :]
            nodes[place] = [-1, 0.0, 0, 0, said.copy().pop()]
        return said

    copy(0)
    return _tree(*zip(*nodes, strict=True), [0])


def _leaf(depth: int) -> Tree:
    return _tree([-1], [0.0], [0], [0], [depth], [0])


def _tree(*columns: Any) -> Tree:
    kinds = np.int8, np.float64, np.int32, np.int32, np.uint8, np.int32
    return Tree(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def _joined(trees: list[Tree]) -> Tree:
    """The trees for caps 0, 1, 2 and so on, in one set of arrays."""
    first = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1].tolist()
    moved = [
        tree._replace(left=tree.left + k, right=tree.right + k, roots=tree.roots + k)
        for tree, k in zip(trees, first, strict=True)
    ]
    return frozen(Tree(*(np.concatenate(column) for column in zip(*moved, strict=True))))


def _answers(tree: Tree, rows: np.ndarray) -> np.ndarray:
    """What the tree says to each row."""
    node = np.zeros(len(rows), np.int64)
    while (tree.feature[node] >= 0).any():
        asks = tree.feature[node] >= 0
        low = rows[np.arange(len(rows)), tree.feature[node]] <= tree.threshold[node]
        node = np.where(asks, np.where(low, tree.left[node], tree.right[node]), node)
    return tree.depth[node].astype(np.int64)


def _cross_validated(
    learner: Any, rows: np.ndarray, labels: np.ndarray, maps: np.ndarray, cap: int
) -> list[tuple[float, float, float]]:
    """On maps that the tree has not seen: how often it is right, how often deep enough, and the mean error."""
    scores = []
    groups = np.unique(maps)
    for fold in range(min(_FOLDS, len(groups))):
        held = np.isin(maps, groups[fold::_FOLDS])
        if held.all():
            break
        said = _answers(_grow(learner, rows[~held], labels[~held], cap), rows[held])
        error = said - labels[held].astype(np.int64)
        scores.append((float((error == 0).mean()), float((error >= 0).mean()), float(np.abs(error).mean())))
    return [tuple(np.mean(scores, axis=0).tolist())] if scores else []
