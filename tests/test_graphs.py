"""Graphs: from networkx, SciPy, DIMACS files and arrays, and the sentence that says why not."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import timebound as tb


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


@pytest.mark.parametrize(
    "thing", [np.ones((2, 2)), {"a": ["b"]}, None, "roads.gr", [("a", "b")], scipy.sparse.csr_array(np.eye(2))]
)
def test_what_is_no_networkx_graph(thing) -> None:
    with pytest.raises(tb.WorldError, match="from_networkx takes a networkx graph, not") as caught:
        tb.Graph.from_networkx(thing)
    assert "\n" not in str(caught.value)


def test_a_misspelt_weight_is_named() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", length=3.0, name="road", lanes=2)
    graph.add_edge("b", "c", length=4.0)
    with pytest.raises(tb.WorldError, match="no edge has the attribute 'lenght'; did you mean 'length'"):
        tb.Graph.from_networkx(graph, weight="lenght")
    # The default is no better when other numbers are there.
    with pytest.raises(tb.WorldError, match=r"no edge has the attribute 'weight'; .*length.*weight=None"):
        tb.Graph.from_networkx(graph)
    assert tb.solve(tb.Graph.from_networkx(graph, weight=None), "a", "c").cost == 2.0
    assert tb.solve(tb.Graph.from_networkx(graph, weight="length"), "a", "c").cost == 7.0
    # As networkx has it, an edge without the attribute costs 1 when others have it.
    assert tb.solve(tb.Graph.from_networkx(graph, weight="lanes"), "a", "c").cost == 3.0
    plain = nx.path_graph(3)
    assert tb.solve(tb.Graph.from_networkx(plain), 0, 2).cost == 2.0
    with pytest.raises(tb.WorldError, match="no edge has the attribute 'time'"):
        tb.Graph.from_networkx(plain, weight="time")
    with pytest.raises(tb.WorldError, match="weight is the name of an attribute, not"):
        tb.Graph.from_networkx(graph, weight=["length"])


@pytest.mark.parametrize("cost", ["3", None, [1], 1j, math.nan, -1, 0, math.inf, 10**400])
def test_messages_about_costs_use_the_names_of_nodes(cost) -> None:
    graph = nx.DiGraph()
    graph.add_edge("Ghent", "Bruges", weight=1)
    graph.add_edge("Bruges", "Ostend", weight=cost)
    with pytest.raises(tb.WorldError, match=r"'Bruges' -.* 'Ostend'"):
        tb.Graph.from_networkx(graph)


def test_other_messages_of_graphs_use_the_names_of_nodes() -> None:
    graph = nx.Graph()
    graph.add_node("Ghent", place=(0, 0))
    graph.add_node("Bruges", place=(0, math.inf))
    graph.add_edge("Ghent", "Bruges")
    with pytest.raises(tb.WorldError, match="the coordinates of node 'Bruges' are not finite"):
        tb.Graph.from_networkx(graph, coordinates="place")
    world = tb.Graph.from_networkx(nx.path_graph(["Ghent", "Bruges", "Ostend"], nx.DiGraph))
    with pytest.raises(tb.WorldError, match="no arc from 'Ostend' to 'Ghent'"):
        world.block("Ostend", "Ghent")
    with pytest.raises(tb.ProblemError, match="the node 0 is not a node of this graph"):
        world.block(0, 1)
    with pytest.raises(tb.MoveError, match="from 'Ghent' to 'Ostend'"):
        tb.validate(world, ["Ghent", "Ostend"])
    assert world.block("Ghent", "Bruges") == 1
    assert world.changes.since(0) == [("Ghent", "Bruges", 1)]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("x.gr", r"Graph.load\(file\) opens the file 'x.gr'"),
        (nx.path_graph(3), "Graph.from_networkx"),
        (scipy.sparse.csr_array(np.eye(3)), "Graph.from_scipy"),
        ([0, 1], "the targets are missing"),
    ],
)
def test_one_thing_in_place_of_arcs_is_told_the_way(given, hint: str) -> None:
    with pytest.raises(tb.WorldError, match=f"a graph is made from arrays of arcs.*{hint}"):
        tb.Graph(given)


@pytest.mark.parametrize("cost", [None, "2", math.nan, 0, -1, math.inf, 10**400, 1j, np.complex64(1), [1], [1, 2]])
def test_what_is_no_cost_of_an_arc(cost) -> None:
    world = tb.Graph([0, 1], [1, 2], [1.0, 1.0])
    with pytest.raises(tb.WorldError):
        world.set_cost(0, 1, cost)
    assert world.view.length.tolist() == [1.0, 1.0]


def test_from_scipy_with_what_is_none() -> None:
    for thing in (np.ones((2, 2)), None, {}, nx.path_graph(2)):
        with pytest.raises(tb.WorldError, match="from_scipy takes a SciPy sparse matrix, not"):
            tb.Graph.from_scipy(thing)
    with pytest.raises(tb.WorldError, match="must be numbers"):
        tb.Graph.from_scipy(scipy.sparse.coo_array(np.array([[0, 1j], [0, 0]])))


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
        (([0], [1]), {"coordinates": [[0, 0], [0, 1e308]]}, "coordinates must lie between -1e.100 and 1e.100"),
        (([0], [1]), {"labels": 5}, "labels must be names"),
        (([0], [1]), {"labels": [[], []]}, "labels must be names"),
        (([[0], [1, 2]], [1]), {}, "sources must be numbers, all rows of one length"),
        (([10**30], [1]), {}, "sources must be whole numbers of nodes, not object"),
        ((np.array([2**63], np.uint64), [1]), {}, "sources name a node 9223372036854775808, and a graph has at most"),
        (([0], [1], ["1"]), {}, "costs must be numbers"),
        (([0], [1], [10**400]), {}, "costs must be numbers"),
        (([0, 1], [1, 0], [1e308, 1e308]), {}, "too far apart"),
        (([0], [1], [5e-324]), {}, "too far apart"),
        (([0], [1]), {"nodes": "3"}, "nodes is how many nodes there are, a whole number, not '3'"),
        (([0], [1]), {"nodes": -1}, "a graph needs at least one node"),
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
