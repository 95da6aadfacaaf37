"""Names that people know algorithms by, and what of timebound they lead to.

Here and not beside the algorithms, because whatever is edited there makes all kernels compile anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .errors import nearest

__all__ = ["FAMOUS", "SAME", "key", "suggestion"]

# The same algorithm under another name.
SAME = {
    "lss-lrta*": "k-lrta*",
    "lss": "k-lrta*",
    "local search space lrta*": "k-lrta*",
    "dalss-lrta*": "k-lrta*:avoid=true",
    "alss-lrta*": "k-lrta*:avoid=true",
    "wlss-lrta*": "k-lrta*:weight=2",
    "dartaa*": "rtaa*:avoid=true",
    "artaa*": "rtaa*:avoid=true",
    "wrtaa*": "rtaa*:weight=2",
    "real-time adaptive a*": "rtaa*",
    "learning real-time a*": "lrta*",
    "prioritized lrta*": "p-lrta*",
    "knn": "knn-lrta*",
    "dynamic lrta*": "d-lrta*",
    "lrta*(f,g)": "lrta*",
    "lrta*(pdb,pdb)": "d-lrta*:depth=pdb,goal=pdb",
    "lrta*(pdb,g)": "d-lrta*:depth=pdb,goal=global",
    "lrta*(f,pdb)": "d-lrta*:depth=fixed,goal=pdb",
    "lrta*(dt,g)": "d-lrta*:depth=tree,goal=global",
    "dt-lrta*": "d-lrta*:depth=tree,goal=global",
    "lrta*(oracle,g)": "d-lrta*:depth=oracle,goal=global",
    "partial refinement a*": "pra*",
    "path refinement lrta*": "pr-lrta*",
    "pr-lrts": "pr-lrta*",
    "time-bounded a*": "tba*",
    "time-bounded weighted a*": "tb-wa*",
    "time-bounded greedy best-first search": "tb-gbfs",
    "restarting tb-wa*": "rtb-wa*",
    "repeated tb-wa*": "rtb-wa*",
    "real-time iterative best-first search": "ribs",
    "real-time iterative deepening best-first search": "ribs",
    "weighted a*": "wa*",
    "greedy": "gbfs",
    "greedy best-first": "gbfs",
    "greedy best-first search": "gbfs",
    "best-first": "gbfs",
    "best-first search": "gbfs",
    "pure heuristic search": "gbfs",
    "ucs": "dijkstra",
    "uniform cost": "dijkstra",
    "uniform cost search": "dijkstra",
    "iterative deepening a*": "ida*",
    "dijkstra map": "field",
    "flow field": "field",
    "distance field": "field",
    "vector field": "field",
}

_REPLANS = ("rtb-wa*", "it too keeps its search when the map changes, and begins anew only when an edit matters")
_ANY_ANGLE = ("a*", "paths go from cell to cell here, not at any angle")
_ANYTIME = ("tb-wa*", "it walks at once and goes on searching, where an anytime search improves a path before the walk")
_LITTLE_MEMORY = ("ida*", "it too needs little memory")
_FASTER_GRID = ("a*", "it finds paths of the same cost, and needs nothing but the map")
_FASTER_ROADS = ("a*", "on a graph made with heuristic='landmarks' it looks far less around")
_SUBGOALS = ("knn-lrta*", "it too follows subgoals that were computed ahead of time")
_ABSTRACTION = ("pra*", "it too searches a coarse picture of the map first, which it makes by itself")
_PREPARED = ("knn-lrta*", "it too uses what was computed for the map ahead of time, by timebound prepare")
_LEARNS_MORE = ("k-lrta*", "it too learns from a search around the agent, at every move")
_MANY = ("tba*", "agents here plan one by one, each within its budget")
_SAMPLES = ("a*", "worlds here are grids and graphs, not sampled spaces")
_FROM_ONE = ("dijkstra", "it finds shortest paths without a heuristic, from one start to one goal")

# Others that are well known: what comes nearest to them here, and why.
FAMOUS = {
    "bfs": ("dijkstra", "it does the same where all steps cost the same; for best-first search there is gbfs"),
    "breadth-first": ("dijkstra", "it does the same where all steps cost the same"),
    "breadth-first search": ("dijkstra", "it does the same where all steps cost the same"),
    "dfs": ("ida*", "it is the depth-first search of this collection, and its paths are shortest ones"),
    "depth-first search": ("ida*", "it is the depth-first search of this collection, and its paths are shortest ones"),
    "iddfs": ("ida*", "it deepens by cost instead of depth"),
    "rta*": ("lrta*", "it looks as far, and what it learns stays true for another trial"),
    "lrts": ("lrta*:depth=3", "it looks as deep, and moves one step at a time"),
    "lrta*(k)": ("p-lrta*", "it too spreads what it learns to several states per move"),
    "lrta*k": ("p-lrta*", "it too spreads what it learns to several states per move"),
    "lrta*ls": ("k-lrta*", "it too learns in a space around the agent"),
    "plrta*ls": ("p-lrta*", "it too spreads what it learns to several states per move"),
    "sla*": ("lrta*", "it learns the same, without stepping back"),
    "f-lrta*": ("ribs", "it too learns distances from the start, and leaves out dead and redundant states"),
    "eda*": ("ribs", "it too is an iterative deepening on foot"),
    "frit": _LEARNS_MORE,
    "tbaa*": ("tba*", "it is the search that TBAA* builds upon"),
    "d*": _REPLANS,
    "d* lite": _REPLANS,
    "focussed d*": _REPLANS,
    "field d*": _REPLANS,
    "ad*": _REPLANS,
    "anytime d*": _REPLANS,
    "lpa*": _REPLANS,
    "lifelong planning a*": _REPLANS,
    "aa*": _REPLANS,
    "adaptive a*": _REPLANS,
    "gaa*": _REPLANS,
    "mpaa*": _REPLANS,
    "mpgaa*": _REPLANS,
    "repeated a*": _REPLANS,
    "jps": _FASTER_GRID,
    "jps+": _FASTER_GRID,
    "jump point search": _FASTER_GRID,
    "bidirectional": _FASTER_GRID,
    "bidirectional a*": _FASTER_GRID,
    "bidirectional dijkstra": _FASTER_GRID,
    "fringe": _FASTER_GRID,
    "fringe search": _FASTER_GRID,
    "mm": _FASTER_GRID,
    "nbs": _FASTER_GRID,
    "theta*": _ANY_ANGLE,
    "lazy theta*": _ANY_ANGLE,
    "anya": _ANY_ANGLE,
    "ara*": _ANYTIME,
    "ana*": _ANYTIME,
    "anytime a*": _ANYTIME,
    "anytime repairing a*": _ANYTIME,
    "rwa*": _ANYTIME,
    "sma*": _LITTLE_MEMORY,
    "rbfs": _LITTLE_MEMORY,
    "recursive best-first search": _LITTLE_MEMORY,
    "hpa*": _ABSTRACTION,
    "hcdps": _SUBGOALS,
    "subgoal graphs": _SUBGOALS,
    "cpd": _PREPARED,
    "compressed path databases": _PREPARED,
    "alt": _FASTER_ROADS,
    "ch": _FASTER_ROADS,
    "contraction hierarchies": _FASTER_ROADS,
    "bellman-ford": _FROM_ONE,
    "floyd-warshall": _FROM_ONE,
    "rrt": _SAMPLES,
    "prm": _SAMPLES,
    "cbs": _MANY,
    "pibt": _MANY,
    "lacam": _MANY,
    "whca*": _MANY,
    "cooperative a*": _MANY,
    "hill climbing": ("lrta*", "it climbs too, and learns its way out where climbing alone gets stuck"),
}


def key(name: str) -> str:
    """What stays of a name however it is written: ``A*``, ``a-star`` and ``astar`` are one.

    >>> {key(name) for name in ("A*", "a-star", "a_star", "A Star", "astar")}
    {'a'}
    """
    return re.sub(r"[\s_*-]|star", "", name.lower())


def suggestion(name: str, known: Iterable[str]) -> str:
    """Words that lead from a name that is not ``known`` to one that is.

    >>> suggestion("lss_lrta", ["a*", "k-lrta*"])
    "did you mean 'k-lrta*'?"
    >>> suggestion("JPS", ["a*"])
    "nearest is 'a*': it finds paths of the same cost, and needs nothing but the map"
    """
    names = list(known)
    wanted = key(name)
    if not wanted:
        return nearest(name, names)
    for one in names:
        if key(one) == wanted:
            return f"did you mean {one!r}?"
    for other, same in SAME.items():
        if key(other) == wanted:
            return f"did you mean {same!r}?"
    for other, (near, why) in FAMOUS.items():
        if key(other) == wanted:
            return f"nearest is {near!r}: {why}"
    return nearest(name, names)
