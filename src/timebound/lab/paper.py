"""What an experiment file consists of, and the maps and records it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import MapError
from ..scenarios import maps_folder
from .columns import COLUMNS
from .experiment import Sweep, WorldSource
from .report import CANNOT_TELL, Finding

__all__ = ["FULL", "NORMAL", "QUICK", "Data", "Item", "Maps", "Paper", "Rows", "falling"]

QUICK, NORMAL, FULL = "quick", "normal", "full"


@dataclass(frozen=True)
class Item:
    """A table or figure: what the paper claims, the rule for the verdict in words, and the rule as a function."""

    number: str
    title: str
    claim: str
    rule: str
    sweeps: tuple[str, ...]
    examine: Callable[[Data], Finding]


@dataclass(frozen=True)
class Paper:
    """An experiment file: ``sweeps(scale, maps)`` says what to run, the items what to make of it."""

    name: str
    reference: str
    sweeps: Callable[[str, Maps], list[Sweep]]
    items: tuple[Item, ...]


@dataclass
class Maps:
    """The MovingAI maps, or generated ones in their place. ``replaced`` tells which had to be generated."""

    folder: Path | None
    replaced: list[str] = field(default_factory=list)

    @classmethod
    def at(cls, folder: str | Path | None) -> Maps:
        """The maps in a folder; without one, where TIMEBOUND_MAPS says, or none."""
        if folder is None:
            return cls(maps_folder())
        path = Path(folder)
        if not path.is_dir():
            raise MapError(f"there is no folder {path}")
        return cls(path)

    def sources(
        self, name: str, instead: Sequence[WorldSource], count: int | None = None, only: Sequence[str] = ()
    ) -> tuple[WorldSource, ...]:
        """The maps of a set, spread over it if fewer are wanted, or ``instead`` where the set is not at hand."""
        files: list[Path] = []
        if self.folder is not None:
            files = sorted((self.folder / name).glob("*.map"))
            if only:
                files = [file for file in files if file.stem in only]
        if not files:
            if name not in self.replaced:
                self.replaced.append(name)
            return tuple(instead[:count])
        if count is not None and count < len(files):
            files = [files[k * len(files) // count] for k in range(count)]
        return tuple(WorldSource.of_file(file) for file in files)


class Rows(Sequence[Mapping[str, Any]]):
    """Records of one sweep."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def where(self, **wanted: Any) -> Rows:
        """Those with these values. Budgets may be given as numbers."""
        if "budget" in wanted:
            wanted["budget"] = str(wanted["budget"])
        return Rows([row for row in self._rows if all(row[name] == value for name, value in wanted.items())])

    def total(self, column: str) -> float | None:
        """A column of those that arrived, summed up as the column says."""
        return COLUMNS[column].summary(row[column] for row in self._rows if row["status"] == "reached")

    def by_problem(self) -> dict[tuple[str, int], Mapping[str, Any]]:
        """Records by map and problem; for one algorithm and budget."""
        return {(row["digest"], row["problem"]): row for row in self._rows}


class Data:
    """The records of an experiment, by sweep, and the notes of its databases: see ``recipes.make``."""

    def __init__(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        databases: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._rows = rows
        self.databases = databases

    def __getitem__(self, sweep: str) -> Rows:
        return Rows(self._rows.get(sweep, ()))

    def __contains__(self, sweep: str) -> bool:
        return bool(self._rows.get(sweep))


def falling(values: Sequence[float | None], slack: float = 0.0) -> bool:
    """Whether numbers fall from one to the next, none rising by more than ``slack`` of itself, and the last is lowest
    or within the slack of the first.

    >>> falling([4.0, 2.0, 2.01], 0.02), falling([4.0, 2.0, 3.0], 0.02)
    (True, False)
    """
    known = [value for value in values if value is not None]
    return (
        len(known) > 1 and all(b <= a * (1 + slack) for a, b in pairwise(known)) and known[-1] <= known[0] * (1 + slack)
    )


def nothing(item: Item) -> Finding:
    """The finding where nothing was run."""
    return Finding(CANNOT_TELL, f"nothing was run for {item.number}")
