"""How much an agent may plan per move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import SpecError, at_least
from .text import shown

__all__ = ["UNLIMITED", "Budget", "countable"]

UNLIMITED = 1 << 60
_LONGEST = 86_400_000.0  # milliseconds in a day


def countable(what: str, value: Any, most: int = UNLIMITED - 1) -> int:
    """How many of something: at least one, and so few that kernels can count them."""
    return at_least(1, value, f"{what} must be a whole number", most)


@dataclass(frozen=True)
class Budget:
    """How much an agent may plan per move: a number of expansions, or milliseconds; neither means no limit.

    >>> Budget.of(100), Budget.of("2ms"), Budget.of(None)
    (Budget(expansions=100, milliseconds=None), Budget(expansions=None, milliseconds=2.0), Budget(expansions=None, \
milliseconds=None))
    """

    expansions: int | None = None
    milliseconds: float | None = None

    def __post_init__(self) -> None:
        if self.expansions is not None:
            countable("a budget in expansions per move", self.expansions)
        if self.milliseconds is not None:
            number = isinstance(self.milliseconds, (int, float, np.integer, np.floating))
            if not number or isinstance(self.milliseconds, bool) or not 0 < self.milliseconds < _LONGEST:
                raise SpecError(
                    f"a time budget is a number of ms above 0 and below a day, not {shown(self.milliseconds)}"
                )
        if self.expansions is not None and self.milliseconds is not None:
            raise SpecError("a budget is a number of expansions or a time, not both")

    @classmethod
    def of(cls, value: Budget | int | str | None) -> Budget:
        """A budget from ``100``, ``"100"``, ``"2ms"``, ``"500us"`` or None."""
        if isinstance(value, Budget):
            return value
        if value is None:
            return cls()
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return cls(expansions=int(value))
        try:
            if not isinstance(value, str):
                raise ValueError
            text = value.strip().lower()
            for unit, factor in (("ms", 1.0), ("us", 1e-3)):
                if text.endswith(unit):
                    return cls(milliseconds=float(text[: -len(unit)]) * factor)
            return cls.of(int(text))
        except ValueError:
            raise SpecError(
                f"a budget is a whole number of expansions (100) or a time ('2ms', '500us'), not {shown(value)}"
            ) from None

    def __str__(self) -> str:
        if self.milliseconds is not None:
            return f"{self.milliseconds:g}ms"
        return str(self.expansions) if self.expansions is not None else "none"
