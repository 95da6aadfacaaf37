"""Seeded maps for tests, experiments and first tries, in the manner of the well-known benchmark sets.

Every generator is called as ``generator(shape, seed=..., **options)`` and returns a bool array
(rows, columns) in which True is free. The same arguments give the same map, under one version of NumPy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from timebound.errors import WorldError
from timebound.text import shown
from timebound.worlds.attended import attended

__all__ = ["GENERATORS", "caves", "corner", "maze", "random_obstacles", "rooms"]


def _cells(shape: Any, *_: Any, **__: Any) -> float:
    """How large the map will be; whether that is a shape at all is checked later."""
    sides = shape if isinstance(shape, tuple) else (shape, shape)
    return math.prod(int(side) for side in sides if isinstance(side, (int, np.integer)))


_MOST_CELLS = 1 << 31  # of a map, and of a room or corridor: more would not fit into any memory


@attended(_cells)
def random_obstacles(shape: tuple[int, int], density: float = 0.1, *, seed: int = 0) -> np.ndarray:
    """Noise: exactly ``round(density * cells)`` blocked cells, anywhere. Not all of the rest is connected.

    >>> free = random_obstacles((20, 30), density=0.25, seed=1)
    >>> free.shape, int((~free).sum())
    ((20, 30), 150)
    """
    rows, cols = _checked_shape(shape)
    share = _checked_share("density", density)
    rng = _checked_rng(seed)
    free = np.ones(rows * cols, dtype=bool)
    free[rng.permutation(rows * cols)[: round(share * rows * cols)]] = False
    return free.reshape(rows, cols)


@attended(_cells)
def rooms(shape: tuple[int, int], room: int = 16, *, seed: int = 0, doors: float = 0.8) -> np.ndarray:
    """Square rooms joined by doors of one cell; every room can be reached from every other.

    As in the MovingAI set, ``room`` is the distance from wall to wall, so a room is open for
    ``room - 1`` cells a side; the first row and column are wall and the map's far edges close it.
    A wall between two rooms has a door with probability ``doors`` (about 0.8 in that set), and
    rooms that would stay apart get one more.

    >>> for row in rooms((7, 13), room=4, seed=2):
    ...     print("".join("-#"[not cell] for cell in row))
    #############
    #-------#---#
    #---#-------#
    #---#---#---#
    ##-####-###-#
    #---#-------#
    #---#---#---#
    """
    rows, cols = _checked_shape(shape, least=2)
    pitch = _checked_size("room", room, 2)
    share = _checked_share("doors", doors)
    rng = _checked_rng(seed)
    free = np.ones((rows, cols), dtype=bool)
    free[::pitch] = False
    free[:, ::pitch] = False

    across, down = _neighbour_pairs(-(-(rows - 1) // pitch), -(-(cols - 1) // pitch))
    pairs = np.concatenate((across, down))
    walls = np.arange(len(pairs))
    has_door = rng.random(len(pairs)) < share
    order = rng.permutation(walls)
    has_door[_joining(pairs, has_door, order)] = True

    # A room at the far edge may be cut short, so its door has fewer places to be.
    rooms_wide = -(-(cols - 1) // pitch)
    room_row, room_col = np.divmod(pairs[:, 1], rooms_wide)
    top, left = room_row * pitch, room_col * pitch
    spread = rng.random(len(pairs))
    sideways = walls < len(across)
    tall = np.minimum(pitch - 1, rows - 1 - top)
    wide = np.minimum(pitch - 1, cols - 1 - left)
    door_row = np.where(sideways, top + 1 + (spread * tall).astype(np.int64), top)
    door_col = np.where(sideways, left, left + 1 + (spread * wide).astype(np.int64))
    free[door_row[has_door], door_col[has_door]] = True
    return free


@attended(_cells)
def maze(shape: tuple[int, int], corridor: int = 1, *, seed: int = 0) -> np.ndarray:
    """A perfect maze: between any two places there is one way, ``corridor`` cells wide.

    Walls are one cell thick; the first row and column are wall, and the map's far edges close it.
    Where the shape leaves no room for a whole corridor at a far edge, the last one is narrower.

    >>> for row in maze((7, 13), seed=3):
    ...     print("".join("-#"[not cell] for cell in row))
    #############
    #-#-------#-#
    #-#-#####-#-#
    #-#---#---#-#
    #-###-#-###-#
    #-----#-----#
    #############
    """
    rows, cols = _checked_shape(shape, least=2)
    pitch = _checked_size("corridor", corridor, 1) + 1
    rng = _checked_rng(seed)
    tall, wide = -(-(rows - 1) // pitch), -(-(cols - 1) // pitch)
    free = np.ones((rows, cols), dtype=bool)
    free[::pitch] = False
    free[:, ::pitch] = False

    # Depth first, with a list for the stack: long winding corridors, and no recursion limit.
    # A frame of visited cells spares the inner loop every test for the edge.
    frame = wide + 2
    visited = bytearray(b"\1") * (frame * (tall + 2))
    for row in range(1, tall + 1):
        visited[row * frame + 1 : row * frame + 1 + wide] = bytes(wide)
    orders = list(permutations((1, -1, frame, -frame)))
    draws = rng.integers(0, len(orders), tall * wide).tolist()
    first = frame * int(rng.integers(1, tall + 1)) + int(rng.integers(1, wide + 1))
    visited[first] = 1
    stack = [first]
    passages: list[tuple[int, int]] = []
    while stack:
        here = stack[-1]
        for step in orders[draws[-1]]:
            if not visited[here + step]:
                break
        else:
            stack.pop()
            continue
        draws.pop()
        visited[here + step] = 1
        stack.append(here + step)
        passages.append((max(here, here + step), abs(step)))

    # Each passage removes the wall before its lower or right-hand cell; posts at crossings stay.
    cells, steps = np.array(passages, dtype=np.int64).reshape(-1, 2).T
    cell_row, cell_col = cells // frame - 1, cells % frame - 1
    upward = steps == frame
    for offset in range(1, pitch):
        for chosen, r, c in (
            (upward, cell_row * pitch, cell_col * pitch + offset),
            (~upward, cell_row * pitch + offset, cell_col * pitch),
        ):
            inside = chosen & (r < rows) & (c < cols)
            free[r[inside], c[inside]] = True
    return free


@attended(_cells)
def caves(shape: tuple[int, int], *, seed: int = 0, fill: float = 0.4, feature: int | None = None) -> np.ndarray:
    """Game-like terrain: open ground, blobs of forest and water, cliff lines with ramps; all connected.

    ``fill`` is the share of blocked cells to aim at, ``feature`` the width in cells of a typical
    blob (a sixteenth of the shorter side unless given). Smooth noise is cut at a height, a second
    noise draws cliffs along its contour, a third one opens ramps in them; then large pockets get a
    straight pass to the main ground and small ones are filled.

    >>> free = caves((60, 80), seed=4)
    >>> free.shape, bool(0.5 < free.mean() < 0.7)
    ((60, 80), True)
    """
    rows, cols = _checked_shape(shape, least=8)
    share = _checked_share("fill", fill)
    if not 0.05 <= share <= 0.8:
        raise WorldError(f"fill is {fill!r}, and caves need a share of blocked cells from 0.05 to 0.8")
    width = max(4, min(rows, cols) // 16) if feature is None else _checked_size("feature", feature, 2)
    rng = _checked_rng(seed)
    ground, cliff = _terrain(rng, (rows, cols), width)

    # Smoothing and pockets shift the share of blocked cells, so the cut is sought, not computed.
    best, best_miss = np.ones((rows, cols), dtype=bool), share
    levels = np.sort(ground, axis=None)
    above = max(0.0, share - cliff.mean())
    for _ in range(4):
        cut = levels[min(int((1 - above) * levels.size), levels.size - 1)]
        free = _connected(_settled((ground < cut) & ~cliff), width)
        miss = share - (~free).mean()
        if abs(miss) < abs(best_miss) and free.any():
            best, best_miss = free, miss
        if abs(miss) < 0.01:
            break
        above = min(1.0, max(0.0, above + miss))
    return best


@attended(_cells)
def corner(shape: int | tuple[int, int], *, seed: int = 0) -> np.ndarray:
    """The corner map of Bulitko et al.'s chapter on real-time search (section 7.3, Figure 14).

    Start (0, 0), goal (size - 1, size - 1). Between them stands an L of wall, open to the upper
    left: the straight way ends in its inner corner, and the agent must come all the way back. The
    figure shows the map; the text does not give its measures. Chosen here: a free margin of 7.5% of the
    size (at least one cell) on all four sides, so the room measures about 85% of a side. The
    depression then is a constant half of the map, and LRTA* needs about 0.14 states^1.5 expansions,
    which is the chapter's own fit. Nothing is random: ``seed`` is taken for uniformity.

    >>> for row in corner(8):
    ...     print("".join("-#"[not cell] for cell in row))
    --------
    ------#-
    ------#-
    ------#-
    ------#-
    ------#-
    -######-
    --------
    """
    rows, cols = _checked_shape((shape, shape) if isinstance(shape, int | np.integer) else shape)
    _checked_rng(seed)
    if rows != cols or rows < 5:
        raise WorldError(f"the shape is {rows} x {cols}, and a corner map is square, with a side of at least 5")
    margin = max(1, round(0.075 * rows))
    far = rows - 1 - margin
    free = np.ones((rows, cols), dtype=bool)
    free[far, margin : far + 1] = False
    free[margin : far + 1, far] = False
    return free


GENERATORS: dict[str, Callable[..., np.ndarray]] = {
    "random": random_obstacles,
    "rooms": rooms,
    "maze": maze,
    "caves": caves,
    "corner": corner,
}
"""By the names the command line knows; each takes ``(shape, *, seed=0, **options)``."""


# ------------------------------------------------------------------------------------------- terrain


def _terrain(rng: np.random.Generator, shape: tuple[int, int], width: int) -> tuple[np.ndarray, np.ndarray]:
    """The ground's height (blocked above some cut), and where cliffs run."""
    ground = _noise(rng, shape, width)
    ground += 0.7 * _noise(rng, shape, max(1, width // 2))
    ground += 0.3 * _noise(rng, shape, max(1, width // 5))
    ground += 0.12 * _noise(rng, shape, max(1, width // 12))

    # The edge rises, as it does around most game maps, but the noise still decides where.
    rows, cols = shape
    row_depth = np.minimum(np.arange(rows), np.arange(rows)[::-1])
    col_depth = np.minimum(np.arange(cols), np.arange(cols)[::-1])
    depth = np.minimum(row_depth[:, None], col_depth[None, :]).astype(np.float32)
    ground += 1.5 * np.maximum(0, 1 - depth / width) ** 2

    # Height over slope is the distance to the contour in cells, so a cliff is equally thick everywhere.
    height = _noise(rng, shape, 2 * width) + 0.25 * _noise(rng, shape, max(1, width // 2))
    slope_down, slope_right = np.gradient(height)
    thick = max(1.5, width / 9) * (1 + 0.4 * _noise(rng, shape, max(1, width // 3)))
    cliff = np.abs(height) < thick * np.hypot(slope_down, slope_right)
    cliff &= _noise(rng, shape, width) < 0.5
    return ground, cliff


def _noise(rng: np.random.Generator, shape: tuple[int, int], radius: int) -> np.ndarray:
    """Smooth noise of mean 0 and deviation 1 whose blobs are about ``radius`` cells wide."""
    # Broad noise holds no fine detail: make it small, then enlarge it.
    scale = max(1, radius // 6)
    reach = max(1, round(radius / scale / 2))
    rows, cols = (-(-side // scale) + 1 for side in shape)
    pad = 6 * reach
    small = rng.standard_normal((rows + pad, cols + pad))
    for _ in range(3):  # three box blurs are nearly a Gaussian
        small = _box_mean(_box_mean(small, reach).T, reach).T
    small /= small.std()
    return _enlarged(_enlarged(small, scale, shape[0]).T, scale, shape[1]).T


def _box_mean(values: np.ndarray, reach: int) -> np.ndarray:
    """Mean of 2 * reach + 1 values down each column, where they all exist; the result is shorter."""
    sums = np.cumsum(values, axis=0)
    sums = np.concatenate((np.zeros((1, values.shape[1])), sums))
    return (sums[2 * reach + 1 :] - sums[: -2 * reach - 1]) / (2 * reach + 1)


def _enlarged(values: np.ndarray, scale: int, length: int) -> np.ndarray:
    """Stretch the columns by ``scale`` with straight lines between the values, and cut to ``length``."""
    place = np.arange(length, dtype=np.float32) / np.float32(scale)
    below = np.minimum(place.astype(np.int64), len(values) - 2)
    weight = (place - below)[:, None]
    values = values.astype(np.float32)
    return values[below] * (1 - weight) + values[below + 1] * weight


def _settled(free: np.ndarray) -> np.ndarray:
    """Each cell joins the majority of the 5 x 5 cells around it, twice: ragged edges become smooth."""
    for _ in range(2):
        rows, cols = free.shape
        count = np.pad(free, 2, mode="edge").astype(np.uint8)
        count = sum((count[i : i + rows] for i in range(1, 5)), start=count[:rows])
        count = sum((count[:, j : j + cols] for j in range(1, 5)), start=count[:, :cols])
        free = count > 12
    return free


def _connected(free: np.ndarray, width: int) -> np.ndarray:
    """Join the large pockets to the largest one by straight passes, and fill the rest."""
    labels, areas = _components(free)
    if len(areas) < 2:
        return free
    ranks = np.argsort(-areas, kind="stable")
    free = free.copy()
    rows, cols = np.nonzero(free & ~_inner(free))
    owner = labels[rows, cols]
    edge = np.stack((rows, cols), axis=1)
    main = _thinned(edge[owner == ranks[0]], 4000)
    for pocket in ranks[1:].tolist():
        if areas[pocket] < width * width / 2:
            break
        own = _thinned(edge[owner == pocket], 400)
        gaps = ((own[:, None, :] - main[None, :, :]) ** 2).sum(axis=2)
        nearest, target = np.unravel_index(int(np.argmin(gaps)), gaps.shape)
        _carve(free, own[nearest], main[target], max(1, width // 14))
        main = np.concatenate((main, own))
    labels, areas = _components(free)
    return labels == int(np.argmax(areas))


def _carve(free: np.ndarray, start: np.ndarray, stop: np.ndarray, reach: int) -> None:
    """Clear a straight pass, a square of 2 * reach + 1 cells at every step."""
    steps = int(np.abs(stop - start).max()) + 1
    for row, col in np.rint(np.linspace(start, stop, steps + 1)).astype(np.int64).tolist():
        free[max(0, row - reach) : row + reach + 1, max(0, col - reach) : col + reach + 1] = True


def _inner(free: np.ndarray) -> np.ndarray:
    """Free cells with four free neighbours."""
    inner = np.zeros_like(free)
    inner[1:-1, 1:-1] = free[1:-1, 1:-1] & free[:-2, 1:-1] & free[2:, 1:-1] & free[1:-1, :-2] & free[1:-1, 2:]
    return inner


def _thinned(places: np.ndarray, most: int) -> np.ndarray:
    return places[:: max(1, len(places) // most)]


def _components(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A component number for every cell (-1 where blocked), and the components' areas.

    A diagonal step needs both cells beside it free, so four neighbours decide what is connected.
    Runs of free cells within a row are the nodes: far fewer than cells.
    """
    begins = free.copy()
    begins[:, 1:] &= ~free[:, :-1]
    run = np.cumsum(begins, dtype=np.int64).reshape(free.shape) - 1
    touch = free[:-1] & free[1:]
    touch[:, 1:] &= ~touch[:, :-1]  # one link for each stretch along which two runs touch
    pairs = np.stack((run[:-1][touch], run[1:][touch]), axis=1)
    roots = _roots(int(begins.sum()), pairs)
    numbers = np.unique(roots, return_inverse=True)[1].reshape(-1)
    labels = np.full(free.shape, -1, dtype=np.int64)
    labels[free] = numbers[run[free]]
    return labels, np.bincount(labels[free])


# -------------------------------------------------------------------------------------------- graphs


def _neighbour_pairs(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells side by side, and cells above each other, as pairs of cell numbers."""
    cell = np.arange(rows * cols).reshape(rows, cols)
    across = np.stack((cell[:, :-1].ravel(), cell[:, 1:].ravel()), axis=1)
    down = np.stack((cell[:-1].ravel(), cell[1:].ravel()), axis=1)
    return across, down


def _joining(pairs: np.ndarray, joined: np.ndarray, order: np.ndarray) -> list[int]:
    """Which further pairs, tried in this order, connect everything that the joined ones leave apart."""
    if len(pairs) == 0:
        return []
    root: list[int] = _roots(int(pairs.max()) + 1, pairs[joined]).tolist()

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    ends = pairs.tolist()
    added = []
    for pair in order.tolist():
        a, b = find(ends[pair][0]), find(ends[pair][1])
        if a != b:
            root[a] = b
            added.append(pair)
    return added


def _roots(n: int, pairs: np.ndarray) -> np.ndarray:
    """The smallest node of each node's component, by hooking larger roots to smaller ones."""
    root = np.arange(n)
    while len(pairs):
        ends = root[pairs]
        pairs = pairs[ends[:, 0] != ends[:, 1]]
        ends = root[pairs]
        np.minimum.at(root, ends.max(axis=1), ends.min(axis=1))
        while True:  # every node looks past its root until nothing changes
            further = root[root]
            if (further == root).all():
                break
            root = further
    return root


# --------------------------------------------------------------------------------------- parameters


def _checked_shape(shape: tuple[int, int], least: int = 1) -> tuple[int, int]:
    try:
        sides = [operator.index(side) for side in shape]
    except TypeError:
        sides = []
    if len(sides) != 2 or min(sides) < least or any(isinstance(side, bool) for side in shape):
        raise WorldError(
            f"the shape is {shown(shape)}, and it must be two whole numbers (rows, columns) of at least {least}"
        )
    if sides[0] * sides[1] > _MOST_CELLS:
        raise WorldError(f"the shape is {shown(shape)}, and a map has at most {_MOST_CELLS} cells")
    return sides[0], sides[1]


def _checked_size(name: str, value: int, least: int, most: int | None = _MOST_CELLS) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        size = least - 1
    if size < least or isinstance(value, bool):
        raise WorldError(f"{name} is {shown(value)}, and it must be a whole number of at least {least}")
    if most is not None and size > most:
        raise WorldError(f"{name} is {shown(value)}, and it must be a whole number of at most {most}")
    return size


def _checked_share(name: str, value: float) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise WorldError(f"{name} is {value!r}, and it must be a share from 0 to 1")
    return share


def _checked_rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(_checked_size("seed", seed, 0, None))
