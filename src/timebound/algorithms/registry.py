"""What an algorithm is to the rest of the package: a name, parameters, a paper, and a function that makes a planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..databases.kinds import DatabaseKind
from ..errors import SpecError, nearest
from ..parameters import Parameter
from ..text import shown
from ..worlds.protocol import World

__all__ = ["Algorithm", "Parameter", "Planner", "World"]


class Planner(Protocol):
    """The Python half of an algorithm; the other half is its text for ``decide``."""

    state: Any  # the NamedTuple that its text for ``decide`` takes

    def enlarge(self) -> None: ...
    def memory_bytes(self) -> int: ...
    def release(self) -> None: ...


@dataclass(frozen=True)
class Algorithm:
    """A registered algorithm. ``make(world, goal, budget, **parameters)`` returns its planner."""

    name: str
    summary: str
    paper: str
    make: Callable[..., Planner]
    parameters: tuple[Parameter, ...] = ()
    real_time: bool = True
    # Whether its agents share one distance field for each goal, which a fleet grows once for all of them.
    shares: bool = False
    # What the algorithm cannot do, in words for the user, as a test of the world; None: nothing.
    refuses: Callable[[Any], str | None] | None = None
    # The same for ``unfit(world, budget, **parameters)``: what fits neither each other, nor the world, nor the budget.
    unfit: Callable[..., str | None] | None = None
    # What it looks things up in: ``make`` then also takes ``database=``, what tb.load_database gave.
    database: DatabaseKind | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """It is saved by its name."""
        return _named, (self.name,)

    def settle(self, given: dict[str, Any]) -> dict[str, Any]:
        """All parameters by name: those given, checked, and the defaults of the others."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                hint = nearest(name, known) if known else "it has none"
                raise SpecError(f"{self.name} has no parameter {shown(name)}; {hint}")
        return {
            name: parameter.parse(given[name], self.name) if name in given else parameter.default
            for name, parameter in known.items()
        }


def _named(name: str) -> Algorithm:
    """The algorithm that something was saved with."""
    from . import REGISTRY

    if name not in REGISTRY:
        why = REGISTRY.failure(name) or "tb.register it, or install the package that has it, before loading"
        raise SpecError(f"this was saved with the algorithm {shown(name)}, which is not known here; {why}")
    return REGISTRY[name]
