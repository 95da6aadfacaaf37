"""How kernels are compiled: two decorators, and one way to specialise by type.

Four rules, each measured (docs/kernels.md):

* Kernels never allocate, so they are compiled without reference counting (``_nrt=False``). NamedTuples of arrays
  may then be passed whole to inlined helpers at no cost.
* ``generic`` gives one name several texts, one per NamedTuple type. A kernel that calls it is compiled once per
  combination, and runs unchanged as plain Python when the JIT is off.
* The disk cache notices edits (``kernel_cache.py``).
* No ``fastmath``: ties decide trajectories.

All that is used of Numba is used in ``compiler.py``, ``kernel_cache.py``, ``lowering.py`` and ``shipping.py``; what it
does not promise is looked for when they are imported. With the JIT off they are not, nor is Numba: it takes a second.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ..errors import Error, unfit_numba
from .instructions import (
    CACHE_LINE,
    at,
    busy_ns,
    fetch_and_add,
    foresee,
    foresee_arrays,
    foresee_first_arrays,
    foresee_row,
    give_way,
    let_go,
    load,
    lowest_bit,
    now_ns,
    places_in_row,
    prefetch,
    prefetch_early,
    seize,
)
from .notice import on_compile
from .sources import is_covered, sources_digest
from .texts import likenesses, looks_like, passed_over, remember_text


def _is_on() -> bool:
    """Whether there is a JIT. Numba is asked, unless the environment says no before anybody has imported it."""
    if "numba" not in sys.modules:
        with suppress(ValueError):
            if int(os.environ.get("NUMBA_DISABLE_JIT", 0)):
                return False
    try:
        from numba import config
    except ImportError as problem:
        raise unfit_numba(problem) from problem
    return not config.DISABLE_JIT


COMPILED = _is_on()

if COMPILED:
    try:
        from . import lowering  # noqa: F401
        from .compiler import choice, dispatcher_of, helper_of
    except (ImportError, AttributeError) as _problem:
        raise unfit_numba(_problem) from _problem

__all__ = [
    "CACHE_LINE",
    "COMPILED",
    "at",
    "busy_ns",
    "fetch_and_add",
    "foresee",
    "foresee_arrays",
    "foresee_first_arrays",
    "foresee_row",
    "generic",
    "give_way",
    "inlined",
    "kernel",
    "let_go",
    "load",
    "looks_like",
    "lowest_bit",
    "now_ns",
    "on_compile",
    "places_in_row",
    "prefetch",
    "prefetch_early",
    "seize",
    "sources_digest",
]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile an entry point: called from Python, releases the GIL, cached on disk."""
    return dispatcher_of(function) if COMPILED else function


def inlined(function: F) -> F:
    """Compile a helper that kernels call; it disappears into its caller.

    What Python would call it by is not made, for it takes a third of the time to compile everything. Whoever calls it
    from Python all the same, such as a test, gets it made at the first call.
    """
    return helper_of(function) if COMPILED else function


def generic(function: F) -> F:
    """Make ``function`` a name with one text per NamedTuple type of its first argument.

    The decorated function is only the documentation of the contract; ``function.on(Type, ...)`` registers a text, and
    ``function.otherwise`` the text for types that have none, if there is to be one. A type that looks like another
    (``looks_like``) has the text of that one, if it has none of its own. ``function.knows(Type)`` tells whether a type
    has either.
    """
    texts: dict[type, Callable[..., Any]] = {}
    rest: list[Callable[..., Any]] = []  # the text for all other types, if there is one
    helpers: dict[type | None, Any] = {}  # the same compiled; that of ``rest`` by the name None
    without: set[type] = set()  # types that it was compiled for while they had none
    name = f"{function.__module__}.{function.__qualname__}"
    passed_over[name] = without
    ours = is_covered(function.__code__.co_filename)

    found: dict[type, Callable[..., Any]] = {}  # what plain Python has called before

    def dispatch(*args: Any) -> Any:
        kind = type(args[0])
        if kind not in found:
            like = likenesses.get(kind, kind)
            found[kind] = texts.get(kind) or (texts.get(like, rest[0]) if rest else texts[like])
        return found[kind](*args)

    def on(*kinds: type) -> Callable[[F], F]:
        def register(text: F) -> F:
            found.clear()
            for kind in kinds:
                short = kind.__qualname__.rpartition(".")[2]
                if kind in texts:
                    # What was compiled for the type would go on to run the text of before.
                    raise Error(
                        f"{function.__name__} has a text for {short} already; "
                        "to change it, define the NamedTuple anew as well"
                    )
                if kind in without:
                    raise Error(
                        f"{function.__name__} was compiled for {short} before it had a text; "
                        "register the text before the first agent is made"
                    )
                texts[kind] = text
            if COMPILED:
                remember_text(text, kinds, ours)
                helpers.update(dict.fromkeys(kinds, inlined(text)))
            return text

        return register

    def otherwise(text: F) -> F:
        rest.append(text)
        found.clear()
        if COMPILED:
            helpers[None] = inlined(text)
        return text

    dispatch.__name__ = function.__name__
    dispatch.__doc__ = function.__doc__
    dispatch.on = on
    dispatch.knows = lambda kind: likenesses.get(kind, kind) in texts or kind in texts
    dispatch.otherwise = otherwise
    if COMPILED:
        choice(dispatch, helpers, name, likenesses)
    return dispatch  # type: ignore[return-value]
