"""timebound: real-time heuristic search. Agents act every tick and plan only a bounded amount per move.

>>> import timebound as tb
>>> world = tb.Grid([[1, 1, 1], [0, 0, 1], [1, 1, 1]])
>>> tb.solve(world, (0, 0), (2, 0), "a*").moves
6
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when first used, so that `timebound --help` need not wait for the compiler.
_HOMES = {
    "Grid": "worlds.grid",
    "Graph": "worlds.graph",
    "TilePuzzle": "worlds.puzzle",
    "Problem": "scenarios",
    "Scenario": "scenarios",
    "problems": "scenarios",
    "RandomChanges": "worlds.changes",
    "regions": "worlds.abstraction",
    "generate": "worlds.generate",
    "DistanceField": "fields",
    "DepthTree": "databases.depth_trees",
    "SubgoalDatabase": "databases.subgoals",
    "load_database": "databases.library",
    "prepare": "databases.library",
    "agent": "episode",
    "solve": "episode",
    "converge": "episode",
    "validate": "episode",
    "register": "algorithms",
    "Agent": "episode",
    "Fleet": "fleet",
    "FleetStats": "fleet",
    "view": "viewer.show",
    "widget": "viewer.notebook",
    "Budget": "budget",
    "Convergence": "result",
    "Event": "trace",
    "Trace": "trace",
    "Result": "result",
    "Validation": "result",
    "DatabaseError": "errors",
    "Error": "errors",
    "MapError": "errors",
    "MoveError": "errors",
    "ProblemError": "errors",
    "SpecError": "errors",
    "WorldError": "errors",
}
_MODULES = {"generate"}

__all__ = [*_HOMES, "__version__"]

if TYPE_CHECKING:
    from .algorithms import register
    from .budget import Budget
    from .databases.depth_trees import DepthTree
    from .databases.library import load_database, prepare
    from .databases.subgoals import SubgoalDatabase
    from .episode import Agent, agent, converge, solve, validate
    from .errors import DatabaseError, Error, MapError, MoveError, ProblemError, SpecError, WorldError
    from .fields import DistanceField
    from .fleet import Fleet, FleetStats
    from .scenarios import Problem, Scenario, problems
    from .trace import Event, Trace
    from .viewer.notebook import widget
    from .viewer.show import view
    from .worlds import generate
    from .worlds.abstraction import regions
    from .worlds.changes import RandomChanges
    from .worlds.graph import Graph
    from .worlds.grid import Grid
    from .worlds.puzzle import TilePuzzle


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'timebound' has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    value = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
