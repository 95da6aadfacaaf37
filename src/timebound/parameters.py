"""Named settings of an algorithm, or of what it looks things up in: what values they take, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import SpecError, at_least, is_number
from .text import shown

__all__ = ["Parameter"]


@dataclass(frozen=True)
class Parameter:
    """One named parameter, with the values it accepts."""

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
                if self.choices and result not in self.choices:
                    raise ValueError
            else:
                result = self.kind(value)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SpecError(f"{algorithm}: {self.name} is {wanted}, not {shown(value)}") from None
        if not self._within(result):
            raise SpecError(f"{algorithm}: {self.name} is {wanted}, not {shown(value)}")
        return result

    def check(self, value: Any) -> Any:
        """A value that is no text to be read: of the right kind already, or a SpecError that says what would be right.

        >>> Parameter("records", int, 10, "how many to make", low=1).check(3)
        3
        """
        if self.kind is int:
            most = None if self.high is None else int(self.high)
            return at_least(int(self.low or 0), value, f"{self.name} is {self.help}", most)
        if self.kind is float:
            right = is_number(value) and self._within(value)
        elif self.kind is str and not self.choices:
            right = isinstance(value, str)
        else:
            right = str(value) in (self.choices or ("True", "False"))
        if not right:
            raise SpecError(f"{self.name} is {self.wanted()}, not {shown(value)}")
        return self.kind(value)

    def _within(self, value: Any) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def wanted(self) -> str:
        """What values the parameter takes, in words.

        >>> Parameter("weight", float, 2.0, "", low=1.0).wanted()
        'a number of at least 1'
        """
        if self.choices:
            return " or ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "text"
        noun = "a whole number" if self.kind is int else "a number"
        if self.low is not None and self.high is not None:
            return f"{noun} from {self.low:g} to {self.high:g}"
        return f"{noun} of at least {self.low:g}" if self.low is not None else noun
