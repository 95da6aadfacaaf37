"""What a kind of database is to the rest of the package: a name, options, and functions that make, check and open it.

An algorithm says which kind it looks things up in (``Algorithm.database``). Everyone else asks the kind:
``tb.prepare``, ``tb.load_database``, warm-up, the lab, the command line. So a new kind is one file beside this, and one
line in the declaration of its algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, SupportsIndex
from weakref import WeakValueDictionary

import numpy as np

from ..errors import DatabaseError, SpecError, nearest
from ..kernels.saving import Savable
from ..parameters import Parameter
from ..text import shown
from ..worlds.grid import Grid
from . import files
from .parts import Workshop

__all__ = ["Database", "DatabaseKind", "Options", "Stored", "rules_of"]

Options = dict[str, Any]  # what a database is made with, by name


class Database(Protocol):
    """What every database can tell about itself."""

    @property
    def digest(self) -> str: ...  # of the world that it was made for
    @property
    def settings(self) -> dict[str, Any]: ...  # what it was made with, as in the header of its file
    @property
    def states(self) -> int: ...  # stored in it
    @property
    def nbytes(self) -> int: ...  # of its arrays

    def __len__(self) -> int: ...
    def fits(self, world: Any) -> bool: ...  # whether its states are states of this world, which may have been edited

    def summary(self) -> str: ...  # what is in it, in words for the user
    def remark(self) -> str | None: ...  # what else the user should know about it, if anything
    def facts(self) -> dict[str, Any]: ...  # the same for a program, as plain values by name


class Stored(Savable):
    """A database that is saved by its file: where that is, and the checksums of its content and of its map.

    When it is loaded, the file must be there and be the same; or a database with these checksums must be open already,
    from wherever. One that was made in memory is saved whole. Nothing in it can be written to, so a copy is itself.
    """

    digest: str
    settings: dict[str, Any]
    rules: tuple[Any, ...]
    _file: tuple[str, str] | None = None

    @classmethod
    def of_arrays(
        cls, digest: str, settings: dict[str, Any], rules: tuple[Any, ...], arrays: Mapping[str, np.ndarray]
    ) -> Any:
        """A database from the arrays of its file."""
        raise NotImplementedError

    def opened_from(self, path: str | Path, checksum: str) -> None:
        """Remember the file."""
        object.__setattr__(self, "_file", (str(Path(path).absolute()), checksum))
        _opened[type(self), self.digest, checksum] = self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        if self._file is None:
            return super().__reduce_ex__(protocol)
        return _open_again, (type(self), *self._file, self.digest, self.settings, self.rules)


_opened: WeakValueDictionary[tuple[type, str, str], Stored] = WeakValueDictionary()


def _open_again(
    kind: type[Stored], path: str, checksum: str, digest: str, settings: dict[str, Any], rules: tuple[Any, ...]
) -> Stored:
    there = _opened.get((kind, digest, checksum))
    if there is not None:
        return there
    wanted = f"this was saved with the database {path}, whose checksum is {checksum}, for the map {digest}"
    hint = "put that one back, or open it from where it is now with tb.load_database before loading"
    try:
        header, arrays = files.read(path)
    except DatabaseError as problem:
        raise DatabaseError(f"{wanted}, but {problem}; {hint}") from None
    if (header["checksum"], header["world"], header["settings"]) != (checksum, digest, settings):
        found = f"another one, whose checksum is {header['checksum']}, for the map {header['world']}"
        raise DatabaseError(f"{wanted}, but by now the file is {found}; {hint}")
    found_again: Stored = kind.of_arrays(digest, settings, rules, arrays)
    found_again.opened_from(path, checksum)
    return found_again


@dataclass(frozen=True)
class DatabaseKind:
    """A kind of database. Functions take all options by name, those not given with their defaults."""

    name: str  # in the header of its files: they are found by it
    noun: str  # what users call one
    summary: str  # what is in it, for the help of ``timebound prepare``
    holds: type  # the class of its databases
    # An algorithm's parameter that has the name of an option says what the option is.
    options: tuple[Parameter, ...]
    # Why there are none for this world, as a sentence; None: there are.
    refuses: Callable[[Any], str | None]
    # The arrays for ``make(world, options, workshop)``; work in parts is done, and gone on with, in the workshop.
    make: Callable[[Any, Options, Workshop], Mapping[str, np.ndarray]]
    # What is wrong with ``(world, settings, arrays)`` from a file that may have been made up; None: nothing that could
    # lead a kernel astray.
    fault: Callable[[Any, dict[str, Any], dict[str, np.ndarray]], str | None]
    # The database of ``(world, settings, arrays)``.
    open: Callable[[Any, dict[str, Any], Mapping[str, np.ndarray]], Database]
    # Databases with nothing in them, one of each form that kernels are compiled for.
    empty: Callable[[Any], Sequence[Database]]
    # Options with which one is made in no time; the others may be anything.
    small: Mapping[str, Any]
    # What ``timebound prepare`` may be followed by.
    examples: tuple[str, ...] = ()
    # Which option says how much is to be made.
    amount: str | None = None
    # What the options that were given mean, with what they imply of others: before defaults take their place.
    meant: Callable[[Options], Options] | None = None
    # Why no database is made for ``(world, options)``; None: one is.
    unfit: Callable[[Any, Options], str | None] | None = None
    # How large it will be and how long it will take, for ``(world, options)``: told before the work starts.
    forecast: Callable[[Any, Options], str | None] | None = None
    # Options said in one way, of all ways that ask for the same: it is then made once, and serves all of them.
    canonical: Callable[[Options], Options] = dict
    # What stands in the header of its file.
    settings: Callable[[Options], dict[str, Any]] = dict
    # The options in a few words that may be part of a file's name.
    label: Callable[[Options], str] | None = None
    # Whether one with ``settings`` will do for ``(asked, settings)``, though it is not what was asked; None: none will.
    suffices: Callable[[Options, Mapping[str, Any]], bool] | None = None
    # Whether an algorithm with these parameters needs one; None: it always does.
    needed: Callable[[Mapping[str, Any]], bool] | None = None

    def is_needed(self, parameters: Mapping[str, Any]) -> bool:
        """Whether an algorithm with these parameters looks anything up."""
        return self.needed is None or self.needed(parameters)

    def told(self, parameters: Mapping[str, Any]) -> Options:
        """The options that an algorithm's parameters tell already."""
        return {option.name: parameters[option.name] for option in self.options if option.name in parameters}

    def settle(self, algorithm: str, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> Options:
        """All options by name: those told by the algorithm's parameters, those given, and defaults for the others."""
        known = {option.name: option for option in self.options}
        told = self.told(parameters)
        for name, value in given.items():
            if name not in known:
                raise SpecError(f"a {self.noun} has no option {shown(name)}; {nearest(name, known)}")
            if name in told and told[name] != value:
                raise SpecError(f"{name} is a parameter of {algorithm}: say it there, as {algorithm}:{name}=VALUE")
        chosen = {name: known[name].check(value) for name, value in given.items()}
        if self.meant is not None:
            chosen = self.meant(chosen)
        return self.canonical(
            {name: chosen.get(name, told.get(name, option.default)) for name, option in known.items()}
        )

    def serves(self, parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
        """Whether a database with these settings is what an algorithm's parameters ask for."""
        return all(settings.get(name) == value for name, value in self.canonical(self.told(parameters)).items())

    def will_do(self, parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
        """Whether the algorithm takes a database with these settings, though another would be made for it."""
        return self.suffices is not None and self.suffices(self.canonical(self.told(parameters)), settings)

    def labelled(self, options: Options) -> str:
        """The options in a few words, for names of files.

        Two databases of a kind have the same label only if they are made with the same options.
        """
        if self.label is not None:
            return self.label(options)
        words = [self.name, *(f"{name}{value}" for name, value in options.items())]
        return "-".join("".join(c for c in word if c.isalnum() or c in "-.") for word in words)

    def check(self, algorithm: str, database: Any, world: Any) -> None:
        """A sentence if this is no database that the algorithm can use in this world."""
        if database is None:
            raise SpecError(
                f"{algorithm} needs a database: make one with timebound prepare, and pass "
                "database=tb.load_database(file, world) (on the command line: --database FILE)"
            )
        if not isinstance(database, self.holds):
            raise SpecError(f"{algorithm} needs a {self.noun} from tb.load_database(file, world), not {database!r}")
        if not database.fits(world):  # type: ignore[attr-defined]
            raise DatabaseError(
                "this database was made for a map of another size, or for other rules; make one with timebound prepare"
            )


def rules_of(world: Any) -> tuple[Any, ...]:
    """The size of a world, and how one may move in it: what must be the same for a database to fit."""
    if not isinstance(world, Grid):
        return type(world).__name__, getattr(world, "shape", None), world.states
    return world.shape, *sorted(world.rules.items())
