"""All algorithms by name: ours, those registered by hand, and those of installed packages.

A package names its algorithms in the entry point group ``timebound.algorithms``: an Algorithm, or a module with
``ALGORITHMS`` or ``ALGORITHM``. They are looked up once, when a name is asked for that is not known by then, or all
names are. One that cannot be used is warned of, and asking for it by name says why; everything else goes on.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from ..databases.kinds import DatabaseKind
from ..errors import SpecError
from ..text import shown
from .registry import Algorithm, Parameter

__all__ = ["GROUP", "Catalogue"]

GROUP = "timebound.algorithms"

_NAME = re.compile(r"[^\s:,=-][^\s:,=]*")


class Catalogue(Mapping[str, Algorithm]):
    """Algorithms by name. Ours can be asked for without a look at what is installed."""

    def __init__(self, ours: dict[str, Algorithm]) -> None:
        self._ours = ours
        self._others: dict[str, Algorithm] = {}
        self._failed: dict[str, str] = {}  # entry points that cannot be used, and why
        self._looking = threading.RLock()
        self._begun = self._looked = False
        self.version = 0  # rises with each change

    def __getitem__(self, name: str) -> Algorithm:
        if name in self._ours:
            return self._ours[name]
        if name not in self._others:
            self._look()
        return self._others[name]

    def __iter__(self) -> Iterator[str]:
        self._look()
        return iter([*self._ours, *self._others])

    def __len__(self) -> int:
        self._look()
        return len(self._ours) + len(self._others)

    def register(self, algorithm: Algorithm) -> None:
        """Add an algorithm, or put it in the place of one of the same name and module."""
        _check(algorithm)
        name = algorithm.name
        if name in self._ours:
            raise SpecError(f"{shown(name)} is an algorithm of timebound; give yours another name")
        there = self._others.get(name)
        if there is algorithm:
            return
        if there is not None and _home(there) != _home(algorithm):
            raise SpecError(
                f"there is an algorithm {shown(name)} already, from {_home(there)}; "
                f"give the one from {_home(algorithm)} another name"
            )
        self._others[name] = algorithm
        self.version += 1

    def failure(self, name: str) -> str | None:
        """Why the entry point of that name cannot be used."""
        return self._failed.get(name)

    def _look(self) -> None:
        """Add what installed packages have."""
        if self._looked:
            return
        with self._looking:
            if self._begun:  # one of them asks, while it is being imported
                return
            self._begun = True
            for point in entry_points(group=GROUP):
                try:
                    for algorithm in _named_by(point):
                        self.register(algorithm)
                except (Exception, SystemExit) as problem:  # whatever the code of others does when it is imported
                    why = str(problem) if isinstance(problem, SpecError) else f"{type(problem).__name__}: {problem}"
                    package = f" of the package {point.dist.name}" if point.dist is not None else ""
                    sentence = f"the entry point {point.name} = {point.value}{package} cannot be used: {why}"
                    self._failed[point.name] = sentence
                    warnings.warn_explicit(" ".join(sentence.split()), RuntimeWarning, "timebound", 0)
            self._looked = True


def _named_by(point: EntryPoint) -> tuple[Algorithm, ...]:
    found: Any = point.load()
    if isinstance(found, ModuleType):
        if not hasattr(found, "ALGORITHMS") and not hasattr(found, "ALGORITHM"):
            raise SpecError(f"the module {found.__name__} has neither ALGORITHMS nor ALGORITHM")
        found = found.ALGORITHMS if hasattr(found, "ALGORITHMS") else found.ALGORITHM
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _home(algorithm: Algorithm) -> str:
    """The module that an algorithm comes from."""
    make: Any = algorithm.make
    return str(getattr(getattr(make, "func", make), "__module__", None))  # func: of a functools.partial


def _check(algorithm: Any) -> None:
    if not isinstance(algorithm, Algorithm):
        raise SpecError(f"what is registered is a timebound.algorithms.Algorithm, not {shown(algorithm)}")
    name = algorithm.name
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.isprintable():
        raise SpecError(
            f"an algorithm's name is one word without ':', ',' or '=' that does not begin with '-', not {shown(name)}"
        )
    for what in ("summary", "paper"):
        text = getattr(algorithm, what)
        if not isinstance(text, str) or not text:
            raise SpecError(f"{name}: {what} is a line of text for the list of algorithms, not {shown(text)}")
    if not callable(algorithm.make):
        raise SpecError(f"{name}: make is a function that returns a planner, not {shown(algorithm.make)}")
    if algorithm.database is not None and not isinstance(algorithm.database, DatabaseKind):
        what = shown(algorithm.database)
        raise SpecError(f"{name}: database is the DatabaseKind that it looks things up in, not {what}")
    for parameter in algorithm.parameters:
        if not isinstance(parameter, Parameter) or not str(parameter.name).isidentifier():
            raise SpecError(f"{name}: each of its parameters is a Parameter with a Python name, not {shown(parameter)}")
