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
* Edits: the search begins anew from where the agent stands. So does a new trial, and a search for another goal.
* When the start has no neighbour left, or a round met nothing beyond the limit, there is no way: that is a proof. A
  limit that admits nothing, because the state it was meant for has a smaller g by now, is raised again at once.

With diagonals of sqrt 2 nearly every limit admits only a few new states, and the walk is long: its authors used 1.5 (a
property of the grid: ``Grid(cells, diagonal=1.5)``). Stepping back needs arcs that lead both ways, so directed graphs
are refused.

The plain version: ``tests/naive/ribs.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import SpecError
from ..kernels.jit import at, inlined
from ..kernels.layout import COUNTS, INFINITE, WEIGHT_SHIFT
from ..kernels.loop import NEEDS_ROOM, NO_WAY, decide, displaced, one_step, retarget
from ..kernels.marks import (
    MOST_PARENTS,
    add_parent,
    is_left_out,
    is_only_parent,
    mark_dead,
    mark_redundant,
    no_parents,
    number_of,
    only_parent,
    strike_parent,
)
from ..kernels.memory import lacks_room, reserved
from ..kernels.saving import keeps
from ..kernels.tables import HashedTable, enlarged_hashed, intern, load_growth, new_hashed, renew
from ..kernels.telling import BEGUN, EXPANDED, GENERATED, tell
from ..kernels.views import aim, degree, edits, estimate, locate, moved, successor, widest
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

_UNSEEN = -1


class Ribs(NamedTuple):
    """What the agent holds between ticks; slots in the order of first sight, the start first."""

    table: HashedTable  # words: g; parents: the way back
    entered: np.ndarray  # int64[slots]: the limit under which the agent last was there
    marks: np.ndarray  # int64[slots]: optimal parents, dead, redundant (``kernels/marks.py``)
    round: np.ndarray  # one ROUND record
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[1]: the next state
    plan: np.ndarray  # int64[2]


@decide.on(Ribs)
def _decide(algorithm, world, s, tick):
    """One call of RIBS in Figure 9 of the chapter, up to the move: forward (line 9) or back (line 13).

    Lines 1 to 4 and 6 to 8 are in ``_judge``, as is what the figure leaves out; line 15 is ``_next_round``. Line 5, the
    loop, is the episode's.
    """
    table = algorithm.table
    marks = algorithm.marks
    this_round = algorithm.round[0]
    counts = algorithm.counts[0]
    parents = table.parents
    if not this_round.begun or this_round.edits != edits(world):
        counts.restarts += this_round.begun
        this_round.begun = 0
        if not _begin(world, table, marks, algorithm.entered, this_round, s):
            return NEEDS_ROOM
    here = intern(table, s)
    looks = np.int64(0)
    while looks < tick.limit:
        if lacks_room(table, widest(world)):
            return NEEDS_ROOM
        looks += 1
        counts.expanded += 1
        tell(world, EXPANDED, s, -1, table.words[here], -1)
        there, kept, required, lowered = _judge(world, table, marks, algorithm.entered, this_round, here)
        counts.states = table.stamp[1]
        if lowered:
            continue
        if here == 0:
            # Lines 12 to 15, at the start. Its neighbours have just been generated. The least f beyond the limit may be
            # that of a state that was reached more cheaply since: then nothing is within the new limit either.
            while there < 0 and kept and _next_round(this_round):
                there, kept, _, _ = _judge(world, table, marks, algorithm.entered, this_round, here)
            if there < 0:
                return NO_WAY
        elif not kept:
            mark_dead(marks, here)
            there = -1
        elif not required:
            mark_redundant(marks, here)
            _leave_out(world, table, marks, s)
            there = -1
        if there < 0:
            there = np.int64(parents[here])
            counts.back_moves += 1
        else:
            parents[there] = here
        return one_step(algorithm, table.states[there])
    return 0


@retarget.on(Ribs)
def _retarget(algorithm, world, s, goal, tick):
    algorithm.round[0].goal = goal
    return displaced(algorithm, world, s)


@displaced.on(Ribs)
def _displaced(algorithm, world, s):
    algorithm.round[0].begun = 0
    algorithm.plan[0] = algorithm.plan[1]
    return True


@inlined
def _begin(world, table, marks, entered, this_round, s):
    """A new search from ``s``. False: the table must be replaced."""
    if renew(table) == 0:
        return False
    root = intern(table, s)
    table.words[root] = 0
    table.parents[root] = root
    no_parents(marks, root)
    entered[root] = _UNSEEN
    this_round.begun = 1
    this_round.edits = edits(world)
    this_round.limit = estimate(world, aim(world, this_round.goal), s, locate(world, s))
    this_round.beyond = INFINITE
    tell(world, BEGUN, s, -1, 0, this_round.limit << WEIGHT_SHIFT)
    return True


@inlined
def _next_round(this_round):
    """Line 15: raise the limit to the smallest f beyond it. False: there was none, and so there is no way."""
    if this_round.beyond == INFINITE:
        return False
    this_round.limit = this_round.beyond
    this_round.beyond = INFINITE
    return True


@inlined
def _judge(world, table, marks, entered, this_round, here):
    """Judge every neighbour of u, which is ``here``: lines 6 to 8, and for the neighbours lines 1 to 4.

    Returns the slot to enter or -1, whether any was kept, whether u is required, and whether g(u) fell, in which case
    the rest means nothing.
    """
    words = table.words
    target = aim(world, this_round.goal)
    u = table.states[at(here)]
    place = locate(world, u)
    g = words[at(here)]
    entered[at(here)] = this_round.limit
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
        enter = True
        if slot == before:
            entered[slot] = _UNSEEN
            words[slot] = INFINITE
            no_parents(marks, slot)
        elif is_left_out(marks, slot):
            continue
        if words[slot] < g + c:
            if words[slot] + c < g:
                words[at(here)] = words[slot] + c
                table.parents[at(here)] = slot
                only_parent(marks, here, i)
                return np.int64(-1), False, False, True
            continue
        number = number_of(world, i, n, u)
        if words[slot] > g + c:
            words[slot] = g + c
            tell(world, GENERATED, n, u, g + c, estimate(world, target, n, moved(world, place, i)) << WEIGHT_SHIFT)
            table.parents[slot] = here
            only_parent(marks, slot, number)
        else:
            add_parent(marks, slot, number)
            enter = entered[slot] != this_round.limit
        kept = True
        required |= is_only_parent(marks, slot, number)
        if not enter:
            continue
        f = g + c + estimate(world, target, n, moved(world, place, i))
        if f > this_round.limit:
            this_round.beyond = min(this_round.beyond, f)
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
            strike_parent(marks, intern(table, n), number_of(world, i, n, u))


keeps(
    Ribs,
    entered=lambda agent: np.s_[: int(agent.table.stamp[1])],
    marks=lambda agent: np.s_[: int(agent.table.stamp[1])],
)


class RibsPlanner:
    """The Python half: owns the table and lets it grow."""

    def __init__(self, world: World, goal: int) -> None:
        fan = int(widest(world.view))
        if fan > MOST_PARENTS:
            raise SpecError(
                f"ribs: it keeps a bit for each neighbour of a state, at most {MOST_PARENTS}; here are {fan}"
            )
        self._states = 0 if world.table == "hashed" else world.states + fan
        load_growth()
        slots = 1024
        table = new_hashed(slots, sparse=4)
        first_round = new_record(ROUND)
        first_round["goal"] = goal
        self.state = Ribs(
            table,
            reserved(slots),
            reserved(slots),
            first_round,
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
        self.state.round["begun"] = 0

    def memory_bytes(self) -> int:
        """Bytes of the states seen: g, limit, marks, way back, the state itself, and its place in the index."""
        return 68 * int(self.state.table.stamp[1])

    def release(self) -> None:
        """Nothing is borrowed."""


RIBS = Algorithm(
    name="ribs",
    summary="iterative deepening on foot: learns distances from the start, drops dead and redundant states",
    paper="Sturtevant, Bulitko and Björnsson 2010; Bulitko et al. 2011",
    make=lambda world, goal, budget: RibsPlanner(world, goal),
    refuses=needs_both_ways,
)

ALGORITHMS = (RIBS,)
