"""What an algorithm is to the rest of the package: a name, parameters, a paper, and a function that makes a planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import SpecError, nearest
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
class Parameter:
    """One named parameter of an algorithm, with the values it accepts."""

    name: str
    kind: type
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    def parse(self, value: Any, algorithm: str) -> Any:
        """The value as its kind, or a SpecError that says what would be right."""
        wanted = self.wanted()
        try:
            if self.kind is bool:
                result: Any = {"true": True, "false": False}[str(value).lower()]
            elif self.kind is str:
                result = str(value)
                if result not in self.choices:
                    raise ValueError
            else:
                result = self.kind(value)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SpecError(f"{algorithm}: {self.name} is {wanted}, not {shown(value)}") from None
        too_low = self.low is not None and not result >= self.low
        too_high = self.high is not None and not result <= self.high
        if too_low or too_high:
            raise SpecError(f"{algorithm}: {self.name} is {wanted}, not {shown(value)}")
        return result

    def wanted(self) -> str:
        """What values the parameter takes, in words.

        >>> Parameter("weight", float, 2.0, "", low=1.0).wanted()
        'a number of at least 1'
        """
        if self.choices:
            return " or ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        noun = "a whole number" if self.kind is int else "a number"
        if self.low is not None and self.high is not None:
            return f"{noun} from {self.low:g} to {self.high:g}"
        return f"{noun} of at least {self.low:g}" if self.low is not None else noun


@dataclass(frozen=True)
class Algorithm:
    """A registered algorithm. ``make(world, goal, budget, **parameters)`` returns its planner."""

    name: str
    summary: str
    paper: str
    make: Callable[..., Planner]
    parameters: tuple[Parameter, ...] = ()
    real_time: bool = True
    # What the algorithm cannot do, in words for the user, as a test of the world; None: nothing.
    refuses: Callable[[Any], str | None] | None = None
    # The same for ``unfit(world, budget, **parameters)``: what fits neither each other, nor the world, nor the budget.
    unfit: Callable[..., str | None] | None = None
    # Whether ``make`` also takes ``database=``, what tb.load_database gave.
    database: bool = False

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
