"""Worlds: what makes one, what does not, and the sentence that says why."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from PIL import Image

import timebound as tb
from helpers import SQRT2, points
from naive.worlds import NaivePuzzle, reachable
from timebound.worlds.problems import spread

# --- grids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        np.array([[True, False, True]]),
        np.array([[1, 0, 1]], np.uint8),
        np.array([[1, 0, 1]], np.int64),
        np.array([[1.0, 0.0, 1.0]], np.float32),
        np.array([[1.0, np.inf, 1.0]]),
        [[1, 0, 1]],
    ],
)
def test_walls_in_every_kind_of_array(cells) -> None:
    world = tb.Grid(cells)
    assert world.free.tolist() == [[True, False, True]]
    assert world.costs.tolist() == [[1.0, math.inf, 1.0]]
    assert world.free_count == 2
    assert world.shape == (1, 3)
    assert repr(world) == "<Grid 1 x 3, 2 free cells>"


def test_terrain_costs_are_kept() -> None:
    world = tb.Grid([[1, 2, 0], [3, 4.5, np.inf]])
    assert world.costs.tolist() == [[1, 2, math.inf], [3, 4.5, math.inf]]
    assert "terrain" in repr(world)
    # Length times the mean of the two cells.
    assert tb.validate(world, [(0, 0), (0, 1)]).cost == 1.5
    assert tb.validate(world, [(0, 0), (1, 1)]).cost == pytest.approx(SQRT2 * 2.75)


@pytest.mark.parametrize(
    ("cells", "options", "sentence"),
    [
        ([1, 1], {}, r"a grid needs a 2-d array with at least one cell, not one of shape \(2,\)"),
        (np.ones((0, 3)), {}, r"not one of shape \(0, 3\)"),
        ([["a", "b"]], {}, "a grid needs an array of booleans or numbers, not of <U1"),
        ([[1, math.nan]], {}, r"the cost at \(0, 1\) is nan; costs are positive numbers, 0 or infinity"),
        ([[1.0], [-2.0]], {}, r"the cost at \(1, 0\) is -2.0"),
        ([[1], [-2]], {}, r"the cost at \(1, 0\) is -2"),
        ([[1, 1]], {"connectivity": 6}, "connectivity is 4 or 8, not 6"),
        ([[1, 1]], {"corners": "some"}, "corners is 'never', 'one' or 'always', not 'some'"),
        ([[1, 1]], {"diagonal": 0.5}, "the diagonal cost must be from 1 to 100 straight steps, not 0.5"),
        ([[1, 1]], {"diagonal": math.nan}, "the diagonal cost must be from 1"),
        ([[1e-9, 1e9]], {}, "terrain costs from 1e-09 to 1e.09 are too far apart"),
    ],
)
def test_what_is_no_grid(cells, options, sentence: str) -> None:
    with pytest.raises(tb.WorldError, match=sentence):
        tb.Grid(cells, **options)


@pytest.mark.parametrize(
    ("start", "goal", "sentence"),
    [
        ((0, 1), (0, 0), r"the start \(0, 1\) is in a wall"),
        ((5, 0), (0, 0), r"the start \(5, 0\) is off the map of 2 rows and 3 columns"),
        ((0, 0), (0, -1), r"the goal \(0, -1\) is off the map"),
        ((0.5, 0), (0, 0), r"the start must be two whole numbers \(row, col\), not \(0.5, 0\)"),
        ((0,), (0, 0), "the start must be two whole numbers"),
        ((0, 0, 0), (0, 0), "the start must be two whole numbers"),
        ("ab", (0, 0), "the start must be two whole numbers"),
        ("00", (0, 0), "the start must be two whole numbers"),
        (7, (0, 0), "the start must be two whole numbers"),
        ((math.nan, 0), (0, 0), "the start must be two whole numbers"),
        ((math.inf, 0), (0, 0), "the start must be two whole numbers"),
        (None, (0, 0), "the start must be two whole numbers"),
    ],
)
def test_where_no_agent_can_be(start, goal, sentence: str) -> None:
    with pytest.raises(tb.ProblemError, match=sentence):
        tb.solve(tb.Grid([[1, 0, 1], [1, 1, 1]]), start, goal, "a*")


def test_numpy_points_and_whole_floats_are_points() -> None:
    world = tb.Grid(np.ones((3, 3)))
    assert tb.solve(world, np.array([0, 0]), (2.0, np.int32(2))).moves == 2


def test_state_numbers_and_points_are_inverse() -> None:
    world = tb.Grid(np.ones((4, 7)))
    every = list(itertools.product(range(4), range(7)))
    states = [world.state_of(point) for point in every]
    assert len(set(states)) == 28
    assert [world.point_of(state) for state in states] == every
    assert points(world.points_of(np.array(states))) == every
    assert world.path_states(every).tolist() == states


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ([(0, 0), (1, 1)], r"move 1, from \(0, 0\) to \(1, 1\), is not legal"),
        ([(0, 0), (1, 0), (1, 2)], r"move 2, from \(1, 0\) to \(1, 2\), is not legal"),
        ([(0, 0), (0, 1)], r"move 1, from \(0, 0\) to \(0, 1\), is not legal"),
        ([(0, 0), (-1, 0)], "move 1, .* is not legal"),
        ([(0, 0), (0, 0)], "move 1, .* is not legal"),
    ],
)
def test_validate_finds_the_first_wrong_move(path, sentence: str) -> None:
    with pytest.raises(tb.MoveError, match=sentence):
        tb.validate(tb.Grid([[1, 0, 1], [1, 1, 1]]), path)


def test_validate_checks_the_ends_and_the_shape() -> None:
    world = tb.Grid([[1, 0, 1], [1, 1, 1]])
    assert tb.validate(world, [(1, 0), (1, 1)], start=(1, 0), goal=(1, 1)).moves == 1
    with pytest.raises(tb.MoveError, match="starts at"):
        tb.validate(world, [(1, 0), (1, 1)], start=(0, 0))
    with pytest.raises(tb.MoveError, match="ends at"):
        tb.validate(world, [(1, 0), (1, 1)], goal=(0, 0))
    with pytest.raises(tb.ProblemError, match="at least one state"):
        tb.validate(world, [])
    with pytest.raises(tb.ProblemError, match="n x 2 array"):
        tb.validate(world, [(0, 0, 0)])
    with pytest.raises(tb.ProblemError, match="is in a wall"):
        tb.validate(world, [(0, 1), (1, 1)])


def test_validate_refuses_points_between_cells() -> None:
    """Rounding them would call a path legal that is none."""
    with pytest.raises(tb.Error):
        tb.validate(tb.Grid(np.ones((3, 3))), [(0, 0), (0, 1.4)])


@pytest.mark.parametrize(
    ("corners", "walls", "allowed"),
    [
        ("never", 0, True), ("never", 1, False), ("never", 2, False),
        ("one", 0, True), ("one", 1, True), ("one", 2, False),
        ("always", 0, True), ("always", 1, True), ("always", 2, True),
    ],
)  # fmt: skip
def test_corner_rules(corners: str, walls: int, allowed: bool) -> None:
    cells = np.ones((2, 2))
    cells[[(0, 1), (1, 0)][0]] = walls < 1
    cells[1, 0] = walls < 2
    world = tb.Grid(cells, corners=corners)
    assert (tb.solve(world, (0, 0), (1, 1)).moves == 1) == allowed
    assert tb.solve(tb.Grid(cells, corners=corners, connectivity=4), (0, 0), (1, 1)).moves != 1


def test_digest_tells_worlds_apart() -> None:
    cells = np.ones((3, 3))
    worlds = [
        tb.Grid(cells), tb.Grid(cells, connectivity=4), tb.Grid(cells, corners="one"), tb.Grid(cells, diagonal=1.5),
        tb.Grid(cells * 2), tb.Grid(np.ones((1, 9))),
    ]  # fmt: skip
    assert len({world.digest for world in worlds}) == len(worlds)
    assert tb.Grid(cells).digest == worlds[0].digest
    worlds[0].block((1, 1))
    assert tb.Grid(cells).digest != worlds[0].digest
    worlds[0].unblock((1, 1))
    assert tb.Grid(cells).digest == worlds[0].digest


def test_load_and_save_keep_the_letters(tmp_path) -> None:
    text = "type octile\nheight 2\nwidth 4\nmap\n.GS@\nOTW.\n"
    (tmp_path / "a.map").write_text(text)
    world = tb.Grid.load(tmp_path / "a.map", connectivity=4)
    assert world.connectivity == 4
    assert world.free.tolist() == [[True, True, True, False], [False, False, False, True]]
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == text
    world.block((0, 1))
    world.unblock([(1, 2)])
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == "type octile\nheight 2\nwidth 4\nmap\n.@S@\nOT..\n"
    world.unblock((0, 1))
    world.block((1, 2))
    world.save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text() == text


def test_terrain_cannot_be_saved_as_a_map(tmp_path) -> None:
    with pytest.raises(tb.MapError, match="cannot hold terrain costs"):
        tb.Grid([[1, 2]]).save(tmp_path / "a.map")
    assert not list(tmp_path.iterdir())


def test_from_image(tmp_path) -> None:
    bright = np.array([[0, 127], [128, 255]], np.uint8)
    Image.fromarray(bright).save(tmp_path / "a.png")
    assert tb.Grid.from_image(tmp_path / "a.png").free.tolist() == [[False, False], [True, True]]
    assert tb.Grid.from_image(tmp_path / "a.png", threshold=1).free.tolist() == [[False, True], [True, True]]
    assert tb.Grid.from_image(tmp_path / "a.png", connectivity=4).connectivity == 4
    with pytest.raises(tb.MapError, match=r"no.png: there is no such file"):
        tb.Grid.from_image(tmp_path / "no.png")
    (tmp_path / "text.png").write_text("not a picture")
    with pytest.raises(tb.MapError, match=r"text.png: this is not an image"):
        tb.Grid.from_image(tmp_path / "text.png")


def test_scale(tmp_path) -> None:
    world = tb.Grid([[1, 0], [1, 1]], corners="one").scale(3)
    assert world.shape == (6, 6)
    assert world.corners == "one"
    assert world.free[:3, 3:].sum() == 0
    assert world.free_count == 27
    assert tb.Grid([[1, 2]]).scale(2).costs.tolist() == [[1, 1, 2, 2]] * 2
    for wrong in (0, 1.5, "2"):
        with pytest.raises(tb.WorldError, match="scaled by a whole number"):
            world.scale(wrong)
    (tmp_path / "a.map").write_text("type octile\nheight 1\nwidth 2\nmap\nGT\n")
    tb.Grid.load(tmp_path / "a.map").scale(2).save(tmp_path / "b.map")
    assert (tmp_path / "b.map").read_text().endswith("map\nGGTT\nGGTT\n")


# --- problems ------------------------------------------------------------------------------------------------------

SMALL_WORLDS = {
    "grid": lambda: tb.Grid(tb.generate.random_obstacles((12, 12), 0.3, seed=3)),
    "terrain": lambda: tb.Grid(np.random.default_rng(1).choice([0, 1, 2, 5], (10, 10))),
    "graph": lambda: tb.Graph(np.arange(9), np.arange(1, 10), np.full(9, 1.5), directed=False),
    "puzzle": lambda: tb.TilePuzzle(2, 3),
}


@pytest.mark.parametrize("kind", SMALL_WORLDS)
def test_problems_are_solvable_and_repeatable(kind: str) -> None:
    world = SMALL_WORLDS[kind]()
    drawn = list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert len(drawn) == 6
    assert drawn == list(tb.problems(world, 6, seed=5, cost=(3, 6)))
    assert drawn != list(tb.problems(world, 6, seed=6, cost=(3, 6)))
    for problem in drawn:
        result = tb.solve(world, problem.start, problem.goal, "dijkstra")
        assert result.status == "reached"
        assert 3 <= problem.optimal <= 6
        assert result.cost == pytest.approx(problem.optimal)
        assert problem.start != problem.goal


def test_problems_that_cannot_be_drawn() -> None:
    world = tb.Grid(np.ones((3, 3)))
    with pytest.raises(tb.WorldError, match=r"no problem with a cost from 50 to 60; the \d+ solvable ones cost 1 to"):
        next(tb.problems(world, 1, cost=(50, 60)))
    with pytest.raises(tb.WorldError, match="no problem with a cost"):
        next(tb.problems(tb.Grid([[1, 0, 1]]), 1))
    with pytest.raises(tb.WorldError, match="no free cell"):
        next(tb.problems(tb.Grid([[0, 0]]), 1))
    for wrong in [(5, 1), (-1, 3), (math.nan, 3)]:
        with pytest.raises(tb.SpecError, match="a cost range is"):
            next(tb.problems(world, 1, cost=wrong))


def test_spread() -> None:
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread(range(3), 10) == [0, 1, 2]
    assert spread(range(5), None) == [0, 1, 2, 3, 4]
    assert spread(range(5), 1) == [0]
    assert len(set(spread(range(1000), 20))) == 20


def write_scenario(folder, *lines: str):
    (folder / "a.map").write_text("type octile\nheight 2\nwidth 3\nmap\n..@\n...\n")
    file = folder / "a.map.scen"
    file.write_text("\n".join(["version 1", *lines]) + "\n")
    return file


def test_scenario(tmp_path) -> None:
    # x, y in the file, (row, col) for us. The second goal is a wall.
    file = write_scenario(
        tmp_path,
        "0\told/a.map\t3\t2\t1\t0\t2\t1\t2.0",
        "0\ta.map\t3\t2\t0\t0\t2\t0\t2.0",
        "0\ta.map\t3\t2\t0\t0\t0\t1\t1",
    )
    scenario = tb.Scenario(file)
    assert scenario.map_name == "a.map"
    world = tb.Grid.load(scenario.map_path())
    drawn = scenario.problems(world)
    assert [(p.start, p.goal, p.optimal) for p in drawn] == [((0, 1), (1, 2), 2.0), ((0, 0), (1, 0), 1.0)]
    assert [p.optimal for p in scenario.problems(world, trust=False)] == [None, None]
    with pytest.raises(tb.MapError, match="line 2 is for a map of 2 rows and 3 columns, but this map has 3 and 2"):
        scenario.problems(tb.Grid(np.ones((3, 2))))
    (tmp_path / "a.map").unlink()
    with pytest.raises(tb.MapError, match=r"its map a\.map is not beside it"):
        scenario.map_path()


def test_scenario_without_problems(tmp_path) -> None:
    with pytest.raises(tb.MapError, match="scen"):
        tb.Scenario(write_scenario(tmp_path))


def test_scenario_with_a_start_off_its_map(tmp_path) -> None:
    scenario = tb.Scenario(write_scenario(tmp_path, "0\ta.map\t3\t2\t7\t0\t1\t1\t1.0"))
    with pytest.raises(tb.MapError, match="line 2"):
        scenario.problems(tb.Grid.load(scenario.map_path()))


# --- graphs --------------------------------------------------------------------------------------------------------


def test_from_networkx_keeps_names_and_directions() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c")  # no weight: 1
    graph.add_edge("c", "a", weight=0.5)
    world = tb.Graph.from_networkx(graph)
    assert not world.undirected
    result = tb.solve(world, "a", "c")
    assert result.path == ["a", "b", "c"]
    assert result.cost == 3.0
    assert tb.solve(world, "b", "a").cost == 1.5
    for name in ("z", ["a"], None):
        with pytest.raises(tb.ProblemError, match="is not a node of this graph"):
            tb.solve(world, "a", name)
    both = tb.Graph.from_networkx(graph.to_undirected())
    assert both.undirected
    assert tb.solve(both, "a", "c").path == ["a", "c"]
    assert "undirected Graph, 3 nodes, 6 arcs" in repr(both)


def test_from_networkx_attributes() -> None:
    graph = nx.Graph()
    graph.add_node((0, 0), pos=(0.0, 0.0))
    graph.add_node((0, 1), pos=(3.0, 4.0))
    graph.add_edge((0, 0), (0, 1), time=6.0, weight=99)
    world = tb.Graph.from_networkx(graph, weight="time", coordinates="pos")
    assert tb.solve(world, (0, 0), (0, 1)).cost == 6.0
    graph.add_node("lost")
    with pytest.raises(tb.WorldError, match="node 'lost' has no attribute 'pos'"):
        tb.Graph.from_networkx(graph, coordinates="pos")
    parallel = nx.MultiDiGraph()
    parallel.add_edge(1, 2, weight=5)
    parallel.add_edge(1, 2, weight=3)
    assert tb.solve(tb.Graph.from_networkx(parallel), 1, 2).cost == 3.0
    with pytest.raises(tb.WorldError, match="at least one node"):
        tb.Graph.from_networkx(nx.Graph())


def test_from_scipy() -> None:
    matrix = scipy.sparse.csr_array(np.array([[0, 2.5, 0], [0, 0, 1], [0, 0, 0]]))
    world = tb.Graph.from_scipy(matrix)
    assert tb.solve(world, 0, 2).cost == 3.5
    assert tb.solve(world, 2, 0).status == "unreachable"
    assert tb.solve(tb.Graph.from_scipy(matrix, directed=False), 2, 0).cost == 3.5
    with pytest.raises(tb.WorldError, match="a square matrix"):
        tb.Graph.from_scipy(scipy.sparse.csr_array(np.ones((2, 3))))


def test_dimacs(tmp_path) -> None:
    (tmp_path / "a.gr").write_text("c tiny\np sp 3 3\na 1 2 3\na 2 3 4\na 1 3 9\n")
    (tmp_path / "a.co").write_text("p aux sp co 3\nv 1 0 0\nv 2 3 0\nv 3 3 4\n")
    for world in (tb.Graph.load(tmp_path / "a.gr"), tb.Graph.load(tmp_path / "a.gr", tmp_path / "a.co")):
        result = tb.solve(world, 0, 2)
        assert result.path.tolist() == [0, 1, 2]
        assert result.cost == 7.0


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([0], [5], [1.0]), {"nodes": 3}, "the arc 0 -> 5 leads outside the nodes 0 to 2"),
        (([-1], [1], [1.0]), {}, "the arc -1 -> 1 leads outside"),
        (([0], [1], [math.nan]), {}, "the arc 0 -> 1 costs nan; costs are positive, finite numbers"),
        (([0], [1], [0.0]), {}, "the arc 0 -> 1 costs 0.0"),
        (([0], [1], [-3.0]), {}, "the arc 0 -> 1 costs -3.0"),
        (([0], [1], [math.inf]), {}, "the arc 0 -> 1 costs inf"),
        (([0, 1], [1], [1.0]), {}, "as many sources as targets and costs, not 2, 1 and 1"),
        (([0.5], [1], [1.0]), {}, "sources must be whole numbers of nodes, not float64"),
        (([], []), {}, "a graph needs at least one node"),
        (([0], [1]), {"heuristic": "manhattan"}, "there is no heuristic 'manhattan'; known are"),
        (([0], [1]), {"heuristic": 3}, "a heuristic is a name, a mapping or a function, not 3"),
        (([0], [1]), {"heuristic": "euclidean"}, "the euclidean heuristic needs coordinates="),
        (([0], [1]), {"coordinates": [[0, 0]]}, r"coordinates must have shape \(2, 2\), not \(1, 2\)"),
        (([0], [1]), {"coordinates": [[0, 0], [0, math.nan]]}, "the coordinates of node 1 are not finite"),
        (([0], [1]), {"heuristic": "landmarks", "landmarks": 0}, "landmarks is a whole number from 1 to 64, not 0"),
        (([0], [2]), {"labels": ["a"]}, "label"),
        (([0], [1]), {"labels": ["a", "a"]}, "label"),
    ],
)
def test_what_is_no_graph(arguments, options, sentence: str) -> None:
    with pytest.raises(tb.WorldError, match=sentence):
        tb.Graph(*arguments, **options)


def test_parallel_arcs_and_loops() -> None:
    world = tb.Graph([0, 0, 0, 1], [1, 1, 0, 1], [5.0, 2.0, 1.0, 1.0])
    assert len(world.view.head) == 1
    assert tb.solve(world, 0, 1).cost == 2.0
    assert tb.validate(world, [0, 1]).cost == 2.0
    with pytest.raises(tb.MoveError):
        tb.validate(world, [0, 0])


@pytest.mark.parametrize("node", [-1, 3, "a", 1.5, True, None])
def test_what_is_no_node(node) -> None:
    with pytest.raises(tb.ProblemError, match="the goal"):
        tb.solve(tb.Graph([0, 1], [1, 2]), 0, node)


def test_estimates_given_per_goal() -> None:
    arcs = ([0, 1, 0], [1, 2, 2], [1.0, 1.0, 5.0])
    world = tb.Graph(*arcs, heuristic={2: [2.0, 1.0, 0.0]})
    assert tb.solve(world, 0, 2).cost == 2.0
    with pytest.raises(tb.ProblemError, match="the heuristic has no vector for the goal 1"):
        tb.solve(world, 0, 1)
    with pytest.raises(tb.WorldError, match=r"has shape \(2,\), not \(3,\)"):
        tb.solve(tb.Graph(*arcs, heuristic=lambda goal: [1.0, 0.0]), 0, 2)
    for bad in ([-1.0, 0, 0], [math.nan, 0, 0]):
        with pytest.raises(tb.WorldError, match="negative or missing values"):
            tb.solve(tb.Graph(*arcs, heuristic={2: bad}), 0, 2)
    # Infinity says "no way from here": a search must survive it.
    assert tb.solve(tb.Graph(*arcs, heuristic={2: [2.0, 1.0, math.inf]}), 0, 2).cost == 2.0


def test_undirected_is_seen_in_the_arcs() -> None:
    assert tb.Graph([0], [1], directed=False).undirected
    assert tb.Graph([0, 1], [1, 0], [2.0, 2.0]).undirected
    assert not tb.Graph([0, 1], [1, 0], [2.0, 3.0]).undirected
    assert not tb.Graph([0], [1]).undirected


# --- puzzles -------------------------------------------------------------------------------------------------------


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
