"""Clique abstraction with dicts and sets, from the papers.

Nodes are anything that can be sorted. ``arcs`` maps each node to the list of its neighbours; their order decides which
of several cliques is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

Arcs = dict[Any, list[Any]]


def abstract(arcs: Arcs, blocks: Iterable[Sequence[Any]] = ()) -> list[set[Any]]:
    """The cliques of one level in the order they are made: blocks, 4-cliques, 3-cliques, pairs, what is left over."""
    found: list[set[Any]] = []
    where: dict[Any, int] = {}

    def is_clique(nodes: Sequence[Any]) -> bool:
        return all(node in arcs and node not in where for node in nodes) and all(
            b in arcs[a] for a, b in combinations(nodes, 2)
        )

    def join(nodes: Iterable[Any]) -> None:
        found.append(set(nodes))
        where.update(dict.fromkeys(found[-1], len(found) - 1))

    for block in blocks:
        if is_clique(block):
            join(block)
    for size in (4, 3, 2):
        for node in sorted(arcs):
            others = combinations([near for near in arcs[node] if near not in where], size - 1)
            clique = next(([node, *rest] for rest in others if is_clique([node, *rest])), None)
            if clique is not None:
                join(clique)
    for node in sorted(arcs):
        if node not in where:
            if len(arcs[node]) == 1:
                found[where[arcs[node][0]]].add(node)
                where[node] = where[arcs[node][0]]
            else:
                join([node])
    return found


def arcs_above(arcs: Arcs, cliques: Sequence[set[Any]]) -> Arcs:
    """Which cliques neighbour each one, in the order they are met."""
    where = {node: k for k, clique in enumerate(cliques) for node in clique}
    return {
        k: list(dict.fromkeys(where[near] for node in sorted(clique) for near in arcs[node] if where[near] != k))
        for k, clique in enumerate(cliques)
    }


def blocks(points: Iterable[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The 2 x 2 blocks of a grid that begin in even rows and columns."""
    return [
        [(row, col), (row, col + 1), (row + 1, col), (row + 1, col + 1)]
        for row, col in sorted(points)
        if row % 2 == 0 and col % 2 == 0
    ]


def part_of(arcs: Arcs, nodes: set[Any], first: Any) -> set[Any]:
    """What can be reached from ``first`` without leaving ``nodes``."""
    reached, waiting = {first}, [first]
    while waiting:
        for near in arcs[waiting.pop()]:
            if near in nodes and near not in reached:
                reached.add(near)
                waiting.append(near)
    return reached


def count_parts(arcs: Arcs) -> int:
    """How many connected parts there are."""
    left, parts = set(arcs), 0
    while left:
        left -= part_of(arcs, left, next(iter(left)))
        parts += 1
    return parts
