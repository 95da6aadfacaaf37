"""Generated maps: connected where they promise it, the same for the same seed, and shaped as described."""

from __future__ import annotations

import math
from collections import deque
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timebound.errors import WorldError
from timebound.worlds.generate import GENERATORS, caves, corner, maze, random_obstacles, rooms

pytestmark = pytest.mark.compiled  # kernels only serve them

shapes = st.tuples(st.integers(2, 40), st.integers(2, 40))
seeds = st.integers(0, 2**32)


def reachable(free: np.ndarray) -> np.ndarray:
    """Cells reached from the first free one, by cardinal steps: diagonals without corner cutting add none."""
    seen = np.zeros_like(free)
    start = tuple(int(i) for i in np.argwhere(free)[0])
    seen[start] = True
    queue = deque([start])
    while queue:
        row, col = queue.popleft()
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if 0 <= r < free.shape[0] and 0 <= c < free.shape[1] and free[r, c] and not seen[r, c]:
                seen[r, c] = True
                queue.append((r, c))
    return seen


def is_connected(free: np.ndarray) -> bool:
    return bool((reachable(free) == free).all())


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_fixes_the_map(name: str) -> None:
    generate = GENERATORS[name]
    first = generate((48, 48), seed=5)
    assert first.shape == (48, 48)
    assert first.dtype == bool
    np.testing.assert_array_equal(first, generate((48, 48), seed=5))
    np.testing.assert_array_equal(generate((48, 48)), generate((48, 48), seed=0))
    if name != "corner":
        assert (first != generate((48, 48), seed=6)).any()


@settings(deadline=None)
@given(shape=st.tuples(st.integers(1, 30), st.integers(1, 30)), density=st.floats(0, 1), seed=seeds)
def test_density_is_exact(shape: tuple[int, int], density: float, seed: int) -> None:
    free = random_obstacles(shape, density, seed=seed)
    assert free.shape == shape
    assert (~free).sum() == round(density * shape[0] * shape[1])


def test_obstacles_are_everywhere() -> None:
    blocked = ~random_obstacles((200, 200), 0.5, seed=1)
    quarters = [blocked[r : r + 100, c : c + 100].mean() for r, c in product((0, 100), repeat=2)]
    assert max(abs(share - 0.5) for share in quarters) < 0.03


@settings(deadline=None)
@given(shape=shapes, room=st.integers(2, 12), doors=st.floats(0, 1), seed=seeds)
def test_rooms_are_connected_and_walls_have_at_most_one_door(
    shape: tuple[int, int], room: int, doors: float, seed: int
) -> None:
    free = rooms(shape, room, seed=seed, doors=doors)
    assert is_connected(free)
    assert not free[0].any()
    assert not free[:, 0].any()
    for top, left in product(range(0, shape[0], room), range(0, shape[1], room)):
        assert not free[top, left]
        assert free[top + 1 : top + room, left + 1 : left + room].all()
        assert free[top, left + 1 : left + room].sum() <= 1
        assert free[top + 1 : top + room, left].sum() <= 1


def test_rooms_have_the_share_of_doors_asked_for() -> None:
    free = rooms((513, 513), 8, seed=3)
    inner_walls = 2 * 64 * 63
    open_walls = free[8:-1:8].sum() + free[:, 8:-1:8].sum()
    assert 0.78 < open_walls / inner_walls < 0.82
    tree = rooms((513, 513), 8, seed=3, doors=0)
    assert tree[8:-1:8].sum() + tree[:, 8:-1:8].sum() == 64 * 64 - 1
    assert rooms((17, 17), 8, doors=1)[8].sum() == 2


def test_doors_stand_at_every_place_of_a_wall() -> None:
    free = rooms((513, 513), 8, seed=4)
    places = {int(col) % 8 for col in np.flatnonzero(free[8:-1:8].any(axis=0))}
    assert places == {1, 2, 3, 4, 5, 6, 7}


@settings(deadline=None)
@given(shape=shapes, corridor=st.integers(1, 5), seed=seeds)
def test_mazes_are_perfect(shape: tuple[int, int], corridor: int, seed: int) -> None:
    free = maze(shape, corridor, seed=seed)
    assert is_connected(free)
    pitch = corridor + 1
    tops, lefts = range(0, shape[0] - 1, pitch), range(0, shape[1] - 1, pitch)
    passages = 0
    for top, left in product(tops, lefts):
        assert free[top + 1 : top + pitch, left + 1 : left + pitch].all()
        assert not free[top, left]
        for wall in (free[top, left + 1 : left + pitch], free[top + 1 : top + pitch, left]):
            assert wall.all() == wall.any()  # a passage is as wide as the corridor
            passages += bool(wall.any())
    # Connected, with one passage fewer than cells: a tree.
    assert passages == len(tops) * len(lefts) - 1
    assert not free[0].any()
    assert not free[:, 0].any()


def test_mazes_wind() -> None:
    # A depth-first maze is mostly corridor; a biased one would be a comb of dead ends.
    free = maze((129, 129), seed=2)
    padded = np.pad(free, 1)
    exits = sum(np.roll(padded, shift, axis).astype(int) for shift, axis in product((1, -1), (0, 1)))
    ends = ((exits == 1) & padded).sum() / (64 * 64)
    assert ends < 0.2


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(st.integers(8, 60), st.integers(8, 60)),
    fill=st.floats(0.05, 0.8),
    feature=st.none() | st.integers(2, 40),
    seed=seeds,
)
def test_caves_are_connected(shape: tuple[int, int], fill: float, feature: int | None, seed: int) -> None:
    free = caves(shape, seed=seed, fill=fill, feature=feature)
    assert free.shape == shape
    assert free.any()
    assert is_connected(free)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(256, 256), (200, 320)])
def test_caves_look_like_terrain(shape: tuple[int, int], seed: int) -> None:
    free = caves(shape, seed=seed)
    assert is_connected(free)
    assert 0.55 <= free.mean() <= 0.75
    # Features are many cells wide: neighbours seldom differ, while noise of this density differs in half.
    changes = (free[1:] != free[:-1]).mean() + (free[:, 1:] != free[:, :-1]).mean()
    assert changes / 2 < 0.06
    # Every part of the map holds both ground and obstacles.
    for block in (part for band in np.array_split(free, 3) for part in np.array_split(band, 3, axis=1)):
        assert 0.15 < block.mean() < 0.98


@pytest.mark.parametrize("fill", [0.2, 0.3, 0.5])
def test_fill_is_about_the_share_of_blocked_cells(fill: float) -> None:
    assert abs((~caves((200, 200), seed=1, fill=fill)).mean() - fill) < 0.04


def lrta_star_moves(free: np.ndarray) -> tuple[int, int]:
    """Moves of the chapter's basic LRTA*, and how many states it had to raise."""
    size = len(free)
    goal = (size - 1, size - 1)
    h: dict[tuple[int, int], float] = {}

    def estimate(state: tuple[int, int]) -> float:
        long, short = max(goal[0] - state[0], goal[1] - state[1]), min(goal[0] - state[0], goal[1] - state[1])
        return h.get(state, long + (math.sqrt(2) - 1) * short)

    state, moves = (0, 0), 0
    while state != goal:
        best, best_f = state, math.inf
        for dr, dc in product((-1, 0, 1), repeat=2):
            there = (state[0] + dr, state[1] + dc)
            if (dr or dc) and min(there) >= 0 and max(there) < size and free[there]:
                if dr and dc and not (free[state[0], there[1]] and free[there[0], state[1]]):
                    continue
                f = estimate(there) + math.hypot(dr, dc)
                if f < best_f - 1e-9:
                    best, best_f = there, f
        if best_f > estimate(state) + 1e-9:
            h[state] = best_f
        state, moves = best, moves + 1
    return moves, len(h)


def test_lrta_star_needs_states_to_the_three_halves_in_the_corner() -> None:
    small, large = corner(20), corner(60)
    (few, _), (many, raised) = lrta_star_moves(small), lrta_star_moves(large)
    exponent = math.log(many / few) / math.log(large.sum() / small.sum())
    assert 1.4 < exponent < 1.6
    assert 0.11 < many / large.sum() ** 1.5 < 0.18
    assert 0.4 < raised / large.sum() < 0.7


@pytest.mark.parametrize("size", [*range(5, 40), 100, 333])
def test_the_corner_can_be_escaped_at_any_size(size: int) -> None:
    free = corner(size)
    np.testing.assert_array_equal(free, corner((size, size)))
    np.testing.assert_array_equal(free, free.T)
    assert free[0, 0]
    assert free[-1, -1]
    assert is_connected(free)
    # The straight way ends against the wall.
    assert not free.diagonal().all()


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: random_obstacles((3, 4, 5)), ["(3, 4, 5)", "two whole numbers"]),
        (lambda: random_obstacles((0, 4)), ["(0, 4)", "at least 1"]),
        (lambda: random_obstacles((2.5, 4)), ["(2.5, 4)"]),
        (lambda: random_obstacles(7), ["7", "two whole numbers"]),
        (lambda: random_obstacles("ab"), ["'ab'"]),
        (lambda: random_obstacles((True, 4)), ["True"]),
        (lambda: random_obstacles((4, 4), density=1.5), ["density is 1.5", "0 to 1"]),
        (lambda: random_obstacles((4, 4), density=math.nan), ["density is nan"]),
        (lambda: random_obstacles((4, 4), density="much"), ["density is 'much'"]),
        (lambda: random_obstacles((4, 4), seed=-1), ["seed is -1", "at least 0"]),
        (lambda: rooms((1, 9)), ["(1, 9)", "at least 2"]),
        (lambda: rooms((9, 9), room=1), ["room is 1", "at least 2"]),
        (lambda: rooms((9, 9), room=2.5), ["room is 2.5"]),
        (lambda: rooms((9, 9), doors=-0.1), ["doors is -0.1"]),
        (lambda: maze((9, 9), corridor=0), ["corridor is 0", "at least 1"]),
        (lambda: caves((7, 9)), ["(7, 9)", "at least 8"]),
        (lambda: caves((9, 9), fill=0.95), ["fill is 0.95", "0.8"]),
        (lambda: caves((9, 9), feature=1), ["feature is 1", "at least 2"]),
        (lambda: corner((9, 10)), ["9 x 10", "square"]),
        (lambda: corner(4), ["4 x 4", "at least 5"]),
        (lambda: corner(-4), ["(-4, -4)"]),
    ],
)
def test_wrong_parameters_are_named(call, parts: list[str]) -> None:
    with pytest.raises(WorldError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_numpy_numbers_are_numbers() -> None:
    side = np.int64(12)
    np.testing.assert_array_equal(rooms((side, side), np.int32(4)), rooms((12, 12), 4))
    np.testing.assert_array_equal(corner(side), corner(12))
