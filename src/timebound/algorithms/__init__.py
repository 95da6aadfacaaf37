"""The algorithms, by name. To add one, write a file beside this and put its name into ``FILES`` (see HOWTO.md).

One in a package of your own is added by ``timebound.register``, or by an entry point (``catalogue.py``).
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from ..databases.kinds import DatabaseKind
from ..errors import SpecError
from ..names import suggestion
from ..text import shown
from .catalogue import GROUP, Catalogue
from .registry import Algorithm, Parameter, Planner

__all__ = ["REGISTRY", "Algorithm", "Parameter", "Planner", "Spec", "check_refusal", "parse_spec", "register"]

FILES = (
    "complete",
    "ida_star",
    "time_bounded",
    "lrta_star",
    "p_lrta_star",
    "k_lrta_star",
    "ribs",
    "knn_planner",
    "d_lrta_star",
    "pra_star",
    "pr_lrta_star",
    "field",
)

REGISTRY = Catalogue(
    {algorithm.name: algorithm for file in FILES for algorithm in import_module(f".{file}", __name__).ALGORITHMS}
)


def register(algorithm: Algorithm) -> None:
    """Add an algorithm of your own; it then has a name in Python, and in command lines and labs of this process.

    Other processes, such as Dask workers and the ``timebound`` command, find it by an entry point of the group
    ``timebound.algorithms`` in your package (see HOWTO.md). To register another one of the same name and module, as a
    notebook does when a cell is run again, puts it in the place of the former.

    >>> import timebound as tb
    >>> from timebound.algorithms import REGISTRY, Algorithm
    >>> def make(world, goal, budget):
    ...     return REGISTRY["wa*"].make(world, goal, budget, weight=5.0, reopen=False)
    >>> tb.register(Algorithm("hasty", "weighted A* with a weight of 5", "none", make, real_time=False))
    >>> tb.solve(tb.Grid([[1, 1, 1]]), (0, 0), (0, 2), "hasty").status
    'reached'
    """
    REGISTRY.register(algorithm)


class Spec(NamedTuple):
    """An algorithm with its parameters settled."""

    algorithm: Algorithm
    parameters: dict[str, Any]

    @property
    def database(self) -> DatabaseKind | None:
        """The kind of database that it looks things up in; None if, with these parameters, it needs none."""
        kind = self.algorithm.database
        return kind if kind is not None and kind.is_needed(self.parameters) else None

    def __str__(self) -> str:
        # Text that is empty could not be read again.
        shown = [f"{name}={_shown(value)}" for name, value in self.parameters.items() if value != ""]
        return self.algorithm.name + (":" + ",".join(shown) if shown else "")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def parse_spec(text: str | Spec) -> Spec:
    """Read ``name:param=value,...``.

    >>> str(parse_spec("wa*:weight=1.5"))
    'wa*:weight=1.5,reopen=false'
    """
    if isinstance(text, Spec):
        return text
    if not isinstance(text, str):
        raise SpecError(f"an algorithm is named by a string like 'a*' or 'wa*:weight=2', not {shown(text)}")
    return _parsed(text, REGISTRY.version)


@lru_cache(maxsize=1024)
def _parsed(text: str, version: int) -> Spec:
    # Remembered, because a game asks for the same few specs thousands of times a second; until one is registered.
    name, colon, rest = text.strip().partition(":")
    if name not in REGISTRY:
        raise SpecError(REGISTRY.failure(name) or f"there is no algorithm {shown(name)}; {_instead(name, rest)}")
    algorithm = REGISTRY[name]
    given: dict[str, Any] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise SpecError(f"in {text!r}, {part!r} should read parameter=value")
        if key.strip() in given:
            raise SpecError(f"in {text!r}, {key.strip()} is given twice")
        given[key.strip()] = value.strip()
    return Spec(algorithm, algorithm.settle(given))


def _instead(name: str, rest: str) -> str:
    """Words that lead from a name that is not known to what the user may have meant."""
    from multiprocessing import parent_process

    known = max((one for one in REGISTRY if name.startswith(one)), key=len, default="")
    parameters = name[len(known) :].lstrip(" ,;") + (f":{rest}" if rest else "")
    if known and "=" in parameters:
        return f"did you mean {f'{known}:{parameters}'!r}?"
    words = suggestion(name, REGISTRY)
    if words.startswith("known are") or parent_process() is not None:
        # A worker knows nothing of what its parent has registered.
        words += f"; one of your own that tb.register added elsewhere is found by an entry point of the group {GROUP}"
    return words


def check_refusal(spec: Spec, world: Any, budget: Any) -> None:
    """A SpecError if the algorithm cannot work in this world, which names those that can; or not with this budget.

    Asked when an agent is made, never later.
    """
    algorithm = spec.algorithm
    reason = algorithm.refuses(world) if algorithm.refuses else None
    if reason is None:
        unfit = algorithm.unfit(world, budget, **spec.parameters) if algorithm.unfit else None
        if unfit is not None:
            raise SpecError(f"{algorithm.name}: {unfit}")
        return
    able = [other for other in REGISTRY.values() if not (other.refuses and other.refuses(world))]
    lists = [
        (kind, ", ".join(other.name for other in able if other.real_time == real_time))
        for kind, real_time in (("real-time", True), ("complete", False))
    ]
    here = "; ".join(f"{kind}: {names}" for kind, names in lists if names)
    raise SpecError(f"{algorithm.name}: {reason}; what works here is {here}")
