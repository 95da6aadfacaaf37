"""Tile puzzles: which boards there are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import timebound as tb
from helpers import points
from naive.worlds import NaivePuzzle, reachable


@pytest.mark.parametrize(("rows", "cols"), [(2, 3), (3, 2), (1, 4), (2, 2)])
def test_solvable_is_what_breadth_first_search_reaches(rows: int, cols: int) -> None:
    world = tb.TilePuzzle(rows, cols)
    reached = reachable(NaivePuzzle(rows, cols), world.solved)
    for board in itertools.permutations(range(rows * cols)):
        assert world.solvable(board) == (board in reached)


def test_sixteen_tiles_fill_the_word() -> None:
    """Tile 8 or above in the last square sets the sign bit of the word."""
    world = tb.TilePuzzle(4, 4)
    for last in (7, 8, 15):
        board = (*tuple(tile for tile in range(16) if tile != last), last)
        state = world.state_of(board)
        assert (state < 0) == (last >= 8)
        assert -(1 << 63) <= state < 1 << 63
        assert world.point_of(state) == board
        assert points(world.points_of(np.array([state]))) == [board]
    board = (1, 2, 3, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 0)
    result = tb.solve(world, world.solved, board, "a*")
    assert result.cost == 6.0
    assert tb.validate(world, result.path, start=world.solved, goal=board).moves == 6


def test_puzzles_that_are_none() -> None:
    for rows, cols in [(0, 3), (1, 1), (5, 4), (2.5, 2), (-2, -2)]:
        with pytest.raises(tb.WorldError, match="a tile puzzle has from 2 to 16 squares"):
            tb.TilePuzzle(rows, cols)


@pytest.mark.parametrize(
    "board", [(0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), "abcd", None, (0.5, 1, 2, 3), (math.inf, 1, 2, 3)]
)
def test_boards_that_are_none(board) -> None:
    world = tb.TilePuzzle(2, 2)
    with pytest.raises(tb.ProblemError, match="must hold each tile from 0 to 3 once"):
        tb.solve(world, board, world.solved)


def test_boards_of_another_parity_and_another_shape() -> None:
    world = tb.TilePuzzle(2, 2)
    assert tb.solve(world, (0, 1, 3, 2), world.solved).status == "unreachable"
    assert tb.solve(world, [[1, 0], [2, 3]], world.solved).moves == 1


def test_random_boards_can_be_solved_and_are_spread() -> None:
    world = tb.TilePuzzle(2, 2)
    boards = [world.point_of(s) for s in world.random_states(300, np.random.default_rng(0))]
    assert all(world.solvable(board) for board in boards)
    assert len(set(boards)) == 12
