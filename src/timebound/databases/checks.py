"""What kernels take for granted about a database, checked once when it is opened.

Kernels follow numbers from array to array without looking whether they are in range. So a file that was made up, with a
right checksum, must not get as far as that. Here is everything that kernels/subgoal_records.py,
kernels/coverage_records.py and algorithms/knn_lrta_star.py rely on. Whether the records are of any use, and the order
of the k-d trees, are not their concern: a bad answer costs an agent a detour, never its way.
"""

from __future__ import annotations

import numpy as np

from ..kernels.coverage_records import TIERS, CoverageRecords
from ..kernels.subgoal_records import SubgoalRecords

__all__ = ["LONGEST", "fault", "free_cells", "rising_within"]

LONGEST = 2**29  # GRAINs: ways by two records must fit into 32 bits


def fault(found: SubgoalRecords | CoverageRecords, free: np.ndarray) -> str | None:
    """What is wrong with the arrays, for a world whose cells are ``free`` (padded, flat); None if nothing is."""
    if any(array.ndim != 1 or array.dtype != np.int32 for array in found):
        return "its arrays are not of whole numbers"
    return _fault_of_coverage(found, free) if isinstance(found, CoverageRecords) else _fault_of_records(found, free)


def _fault_of_records(found: SubgoalRecords, free: np.ndarray) -> str | None:
    if len(found.ends) != len(found.starts):
        return "it has more starts than ends, or fewer"
    if not _divides(found.first, len(found.starts), len(found.subgoals)):
        return "its records are not parts of its subgoals"
    if not all(free_cells(cells, free) for cells in (found.starts, found.ends, found.subgoals)):
        return "it leads to where no free cell is"
    return None


def _fault_of_coverage(found: CoverageRecords, free: np.ndarray) -> str | None:
    size, cells = len(found.points), len(found.cells)
    if not _divides(found.first, len(found.first) - 1, size, empty=False):
        return "its records are not parts of its points"
    if not free_cells(found.cells, free):
        return "it leads to where no free cell is"
    if not _below(found.points, cells):
        return "it has points that are none of its cells"
    if (
        len(found.walked) != size
        or not _below(found.walked, LONGEST + 1)
        or not rising_within(found.walked, found.first)
    ):
        return "the costs of its ways do not rise"
    if not _divides(found.tiers, TIERS, cells):
        return "its tiers are not parts of its cells"
    if not _divides(found.used, cells, size, empty=False) or len(found.uses) != size or not _below(found.uses, size):
        return "it does not say where its cells are used"
    # Places that rise cannot be the same: as many as there are points, they are all of them.
    owners = np.repeat(np.arange(cells, dtype=np.int32), np.diff(found.used))
    if not np.array_equal(found.points[found.uses], owners) or not rising_within(found.uses, found.used, strictly=True):
        return "it is mistaken about where its cells are used"
    return None


def free_cells(cells: np.ndarray, free: np.ndarray) -> bool:
    """Whether all are numbers of free cells. Those of the border around the map never are."""
    return _below(cells, len(free)) and bool(free[cells].all())


def rising_within(numbers: np.ndarray, first: np.ndarray, strictly: bool = False) -> bool:
    """Whether numbers rise in each of the parts that begin at ``first``, which ends with their count."""
    rises = numbers[1:] > numbers[:-1] if strictly else numbers[1:] >= numbers[:-1]
    begins = first[(first > 0) & (first < len(numbers))]
    rises[begins - 1] = True
    return bool(rises.all())


def _below(numbers: np.ndarray, bound: int) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= 0 and int(numbers.max()) < bound)


def _divides(first: np.ndarray, parts: int, size: int, empty: bool = True) -> bool:
    """Whether ``first`` divides ``size`` things into so many parts: where each begins, and at last their end."""
    if len(first) != parts + 1 or len(first) == 0 or first[0] != 0 or first[-1] != size:
        return False
    # Compared, not subtracted: differences may overflow.
    return bool((first[1:] >= first[:-1]).all() if empty else (first[1:] > first[:-1]).all())
