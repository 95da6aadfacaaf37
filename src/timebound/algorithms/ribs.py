"""RIBS: real-time iterative deepening. Learns the distances from the start, not those to the goal.

Sturtevant, Bulitko and Björnsson 2010, and the chapter of 2011. The agent walks an iterative-deepening search: forward
to states whose f = g + h is within the limit, back to where it came from when there are none. Back at the start the
limit rises to the smallest f that was beyond it. With a consistent heuristic g is the true distance when a state is
first visited, so on arrival the optimal cost is known, though not walked. What makes it quick is leaving states out for
good:

* a state is *dead* if no usable neighbour can be reached well through it;
* it is *redundant* if every neighbour reached well through it is reached as well through another state.

At u, each neighbour n that is neither dead nor redundant is judged:

* not seen before: g(n) = g(u) + c, and u is required;
* g(n) > g(u) + c: lowered, u becomes its only optimal parent, and u is required;
* g(n) = g(u) + c: u is one of its optimal parents, and required if the only one; n is entered once per limit;
* g(n) < g(u) + c: n is skipped. If even g(n) + c < g(u), then g(u) falls and the state is looked at again.

Of the neighbours to enter within the limit the one with the least f is next, ties to the larger g, then to the first.

Chosen where the papers are silent (the chapter's Figure 9 leaves pruning out, and its line 9 swaps two arguments):

* Entering n from u makes u the way back from n. Going back to another optimal parent instead would leave the rest
  of u's neighbours out of this round, and the next limit could be too high.
* One expansion per move, as "a simple agent"; a larger budget is not used. A look at the start under a raised limit
  generates nothing new and is not counted again. Where g(u) falls, the agent looks again at once if the budget allows,
  else in the next tick.
* Edits: the search begins anew from where the agent stands. So does a new trial.
* When the start has no neighbour left, or a round met nothing beyond the limit, there is no way: that is a proof. A
  limit that admits nothing, because the state it was meant for has a smaller g by now, is raised again at once.

With diagonals of sqrt 2 nearly every limit admits only a few new states, and the walk is long: its authors used 1.5 (a
property of the grid: ``Grid(cells, diagonal=1.5)``). Stepping back needs arcs that lead both ways, so directed graphs
are refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import SpecError
from ..kernels.jit import at, generic, inlined
from ..kernels.layout import COUNTS, INFINITE
from ..kernels.loop import NEEDS_ROOM, NO_WAY, decide
from ..kernels.memory import lacks_room, reserved
from ..kernels.tables import HashedTable, enlarged_hashed, intern, load_growth, new_hashed, renew
from ..kernels.views import (
    GraphView,
    GridView,
    PuzzleView,
    TerrainView,
    aim,
    degree,
    edits,
    estimate,
    locate,
    moved,
    successor,
    widest,
)
from ..kernels.workspace import new_record
from .registry import Algorithm, World
from .time_bounded import needs_both_ways

ROUND = np.dtype(
    [
        ("goal", np.int64),
        ("begun", np.int64),
        ("edits", np.int64),
        ("limit", np.int64),  # on f
        ("beyond", np.int64),  # the smallest f met above it
    ]
)

# A state's marks: a bit for each of its optimal parents, by their number among its own neighbours; and two flags.
_MOST_PARENTS = 60
DEAD = 1 << 60
REDUNDANT = 1 << 61
_UNSEEN = -1

_OPPOSITE = np.array([2, 3, 0, 1, 7, 6, 5, 4], dtype=np.int64)


class Deepening(NamedTuple):
    """What the agent holds between ticks; slots in the order of first sight, the start first."""

    table: HashedTable  # words: g; parents: the way back
    entered: np.ndarray  # int64[slots]: the limit under which the agent last was there
    marks: np.ndarray  # int64[slots]
    note: np.ndarray  # one ROUND record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[1]: the next state
    plan: np.ndarray  # int64[2]


@generic
def number_of(world, i, t, s):
    """Which neighbour of ``t`` state ``s`` is, ``t`` being the i-th neighbour of ``s``."""


@number_of.on(GridView, TerrainView)
def _grid_number(world, i, t, s):
    return _OPPOSITE[at(i)]


@number_of.on(GraphView, PuzzleView)
def _linked_number(world, i, t, s):
    for j in range(degree(world, t)):
        u, c = successor(world, t, j)
        if u == s and c >= 0:
            return j
    return 0


@decide.on(Deepening)
def _decide(algorithm, world, s, tick):
    limit = tick.limit
    table = algorithm.table
    note = algorithm.note[0]
    counts = algorithm.counts[0]
    parents = table.parents
    if not note.begun or note.edits != edits(world):
        counts.restarts += note.begun
        note.begun = 0
        if not _begin(world, table, algorithm.marks, algorithm.entered, note, s):
            return NEEDS_ROOM
    here = intern(table, s)
    looks = np.int64(0)
    while looks < limit:
        if lacks_room(table, widest(world)):
            return NEEDS_ROOM
        looks += 1
        counts.expanded += 1
        there, kept, required, lowered = _look(world, table, algorithm.marks, algorithm.entered, note, here)
        counts.states = table.stamp[1]
        if lowered:
            continue
        while there < 0 and here == 0 and kept:
            # Back at the start: a new round. Its neighbours have just been generated. The least f beyond the limit may
            # be that of a state that was reached more cheaply since: then nothing is within the new limit either.
            if note.beyond == INFINITE:
                return NO_WAY
            note.limit = note.beyond
            note.beyond = INFINITE
            there, kept, required, lowered = _look(world, table, algorithm.marks, algorithm.entered, note, here)
        if here == 0 and there < 0:
            return NO_WAY
        if here != 0 and not kept:
            algorithm.marks[here] |= DEAD
            there = -1
        elif here != 0 and not required:
            algorithm.marks[here] |= REDUNDANT
            _leave_out(world, table, algorithm.marks, s)
            there = -1
        if there < 0:
            there = np.int64(parents[here])
            counts.back_moves += 1
        else:
            parents[there] = here
        algorithm.route[0] = table.states[there]
        algorithm.plan[0] = 0
        algorithm.plan[1] = 1
        return 1
    return 0


@inlined
def _begin(world, table, marks, entered, note, s):
    if renew(table) == 0:
        return False
    root = intern(table, s)
    table.words[root] = 0
    table.parents[root] = root
    marks[root] = 0
    entered[root] = _UNSEEN
    note.begun = 1
    note.edits = edits(world)
    note.limit = estimate(world, aim(world, note.goal), s, locate(world, s))
    note.beyond = INFINITE
    return True


@inlined
def _look(world, table, marks, entered, note, here):
    """Judge every neighbour. Returns the slot to enter or -1, whether any was kept, whether u is required, and
    whether g(u) fell, in which case the rest means nothing."""
    words = table.words
    target = aim(world, note.goal)
    u = table.states[at(here)]
    place = locate(world, u)
    g = words[at(here)]
    entered[at(here)] = note.limit
    best = np.int64(-1)
    least = np.int64(INFINITE)
    far = np.int64(-1)
    kept = False
    required = False
    for i in range(degree(world, u)):
        n, c = successor(world, u, i)
        if c < 0:
            continue
        before = table.stamp[1]
        slot = at(intern(table, n))
        bit = np.int64(1) << number_of(world, i, n, u)
        enter = True
        if slot == before:
            entered[slot] = _UNSEEN
            words[slot] = INFINITE
            marks[slot] = 0
        elif marks[slot] & (DEAD | REDUNDANT):
            continue
        if words[slot] < g + c:
            if words[slot] + c < g:
                words[at(here)] = words[slot] + c
                table.parents[at(here)] = slot
                marks[at(here)] = np.int64(1) << i
                return np.int64(-1), False, False, True
            continue
        if words[slot] > g + c:
            words[slot] = g + c
            table.parents[slot] = here
            marks[slot] = bit
        else:
            marks[slot] |= bit
            enter = entered[slot] != note.limit
        kept = True
        required |= marks[slot] == bit
        if not enter:
            continue
        f = g + c + estimate(world, target, n, moved(world, place, i))
        if f > note.limit:
            note.beyond = min(note.beyond, f)
        elif f < least or (f == least and g + c > far):
            best = np.int64(slot)
            least = f
            far = g + c
    return best, kept, required, False


@inlined
def _leave_out(world, table, marks, u):
    """Strike a redundant state from the lists of optimal parents around it."""
    for i in range(degree(world, u)):
        n, c = successor(world, u, i)
        if c >= 0:
            marks[at(intern(table, n))] &= ~(np.int64(1) << number_of(world, i, n, u))


class DeepeningPlanner:
    """The Python half: owns the table and lets it grow."""

    def __init__(self, world: World, goal: int) -> None:
        fan = int(widest(world.view))
        if fan > _MOST_PARENTS:
            raise SpecError(
                f"ribs: it keeps a bit for each neighbour of a state, at most {_MOST_PARENTS}; here are {fan}"
            )
        self._states = 0 if world.table == "hashed" else world.states + fan
        load_growth()
        slots = 1024
        table = new_hashed(slots, sparse=4)
        note = new_record(ROUND)
        note["goal"] = goal
        self.state = Deepening(
            table,
            reserved(slots),
            reserved(slots),
            note,
            new_record(COUNTS),
            np.zeros(1, np.int64),
            np.zeros(2, np.int64),
        )

    def enlarge(self) -> None:
        """Double the table, and keep what is in it; or begin a new one if its stamps have run out."""
        state = self.state
        table = enlarged_hashed(state.table, self._states)
        entered, marks = reserved(len(table.states)), reserved(len(table.states))
        used = int(table.stamp[1])
        entered[:used], marks[:used] = state.entered[:used], state.marks[:used]
        self.state = state._replace(table=table, entered=entered, marks=marks)

    def restart(self) -> None:
        """A new trial is a new search."""
        self.state.note["begun"] = 0

    def memory_bytes(self) -> int:
        """Bytes of the states seen: g, limit, marks, way back, the state itself, and its place in the index."""
        return 68 * int(self.state.table.stamp[1])

    def release(self) -> None:
        """Nothing is borrowed."""


RIBS = Algorithm(
    name="ribs",
    summary="iterative deepening on foot: learns distances from the start, drops dead and redundant states",
    paper="Sturtevant, Bulitko and Björnsson 2010; Bulitko et al. 2011",
    make=lambda world, goal, budget: DeepeningPlanner(world, goal),
    refuses=needs_both_ways,
)

ALGORITHMS = (RIBS,)
