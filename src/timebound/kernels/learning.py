"""Learning rules: what an agent-centred search makes of a lookahead; and what all of them must notice.

* ``mini_min``: the agent's own state takes the least g + h of the frontier (LRTA*);
* ``dijkstra_inwards``: every closed state takes its least way to the frontier plus the value there (LSS-LRTA*);
* ``from_best``: every closed state takes f of the best frontier state less its own g (RTAA*);
* ``sweep``: raises spread to the neighbours in order of their size (P LRTA*).

With a weight w > 1 the rules count each step w-fold (wLSS-LRTA*); values then stay below w times the true distance.

**When there is no way.** Let S be the states whose values were learned, C the dearest step seen, E the largest estimate
seen. If some way led from s to a state outside S, then one would leave S within |S| + 1 steps, and each rule keeps
h(s) <= E + w C (|S| + 1), by induction over its updates. The goal is never in S. So a larger h(s) proves that there
is no way (``hopeless``). For LRTA* with a deeper lookahead, S is all it ever expanded.
"""

from __future__ import annotations

import numpy as np

from .edits import dearest_now
from .jit import at, inlined, now_ns
from .layout import PAUSED, RUNNING, WEIGHT_ONE, WEIGHT_SHIFT
from .learned import learn, learned
from .lookahead import DEAD, LOOKING, SETTLING, TEACHING, best_on_frontier, heapify, pop, push
from .ticks import stride, tired
from .views import aim, degree, edits, estimate, locate, moved, successor

__all__ = [
    "FORGET",
    "LEARNER",
    "SPACE",
    "VALUES",
    "abandoned",
    "dijkstra_inwards",
    "from_best",
    "hopeless",
    "look_around",
    "mini_min",
    "must_forget",
    "offer",
    "sweep",
    "teach",
    "update",
]

LEARNER = np.dtype(
    [
        ("edits", np.int64),  # the world's edit count when last looked at; -1 before the first tick
        ("heard", np.int64),  # entries of the world's log that have been read
        ("lack", np.int64),  # what NEEDS_ROOM is about: SPACE, VALUES, FORGET
        ("reach", np.int64),  # LRTA*: most states that its lookaheads can have expanded
        ("quiet", np.int64),  # decisions in a row in which nothing was learned
    ]
)
SPACE, VALUES, FORGET = 1, 2, 3

_CLOCK_MASK = 63  # states settled between two looks at the clock
_LISTEN_MOST = 1 << 14  # entries of the log read in one tick; after more edits than that, values are forgotten


@inlined
def must_forget(world, log, learner, note, plan):
    """Whether an edit since the last look has made some arc cheaper, so that values may be too high.

    Arcs that became dearer do no harm: true distances have only grown. Any edit that is noticed here is noticed only
    here, so the plan is dropped in the same breath: the caller may yet ask for room and be called again. What must be
    forgotten stays so until it is (``lack``), even if whoever is asked to is interrupted.
    """
    if learner.lack == FORGET:
        return True
    if learner.edits == edits(world):
        return False
    plan[0] = plan[1]
    fresh = log.total[0] - learner.heard
    first = learner.heard
    began = learner.edits < 0
    learner.edits = edits(world)
    learner.heard = log.total[0]
    if began:
        return False
    if fresh > min(log.entries.shape[0], _LISTEN_MOST):
        return True
    for k in range(first, first + fresh):
        entry = log.entries[k % log.entries.shape[0]]
        if entry & 1:
            return True
        note.dearest = max(note.dearest, dearest_now(world, entry))
    return False


@inlined
def abandoned(world, learner, note, counts):
    """The expansions of a lookahead that was paused and is of no use now, because the world has been edited since.

    They count all the same.
    """
    lost = np.int64(0)
    if note.paused and learner.edits != edits(world):
        if note.paused == LOOKING:
            lost = note.expanded
            counts.expanded += lost
        elif note.paused == SETTLING:
            counts.expanded += note.settled
            counts.learning += note.settled
        note.paused = 0
    return lost


@inlined
def hopeless(note, h, reach, w):
    """Whether a value this high proves that there is no way to the goal; ``reach`` bounds the size of S."""
    # The product could overflow in a vast world; it is then above any value.
    return note.dearest > 0 and (h - note.highest) // (w * note.dearest) > reach + 1


@inlined
def mini_min(values, s, h, v):
    """LRTA*: raise the value ``h`` of ``s`` to ``v``, never lower it."""
    if v > h:
        learn(values, s, v)


@inlined
def dijkstra_inwards(space, note, w, clock, deadline):
    """LSS-LRTA*: find the exact value of every closed state, given those of the frontier. Returns RUNNING or PAUSED.

    States from which no way leads to the frontier become DEAD. Leaves the number of states settled in the note. If time
    is up before all are, the others take what is surely not too much: the value that would be settled next, or what
    RTAA* would give them if that is more.
    """
    table = space.table
    words = table.words
    h = space.h
    fresh = space.fresh
    heap = space.heap
    size = note.heaped
    closed = note.closed
    settled = note.settled
    if note.paused != SETTLING:
        size = np.int64(0)
        closed = np.int64(0)
        settled = np.int64(0)
        for slot in range(note.states):
            if words[at(slot)] & 1:
                fresh[at(slot)] = DEAD
                closed += 1
            else:
                fresh[at(slot)] = h[at(slot)]
                heap.keys[at(size)] = h[at(slot)]
                heap.ties[at(size)] = 0
                heap.slots[at(size)] = slot
                size += 1
        heapify(heap, size)
    note.paused = 0
    look_at = settled + stride(clock)
    while closed > 0 and size > 0:
        if deadline > 0 and settled & _CLOCK_MASK == _CLOCK_MASK and now_ns(clock) > deadline:
            _settle_roughly(space, note, w, heap.keys[0])
            break
        if settled >= look_at:
            look_at = settled + stride(clock)
            if tired(clock):
                note.paused = SETTLING
                note.heaped = size
                note.closed = closed
                note.settled = settled
                return PAUSED
        key = heap.keys[0]
        slot = heap.slots[0]
        size = pop(heap, size)
        if key != fresh[at(slot)] or key >= DEAD:
            continue
        settled += 1
        closed -= words[at(slot)] & 1
        arc = np.int64(space.incoming[at(slot)])
        while arc >= 0:
            packed = space.arcs[at(arc)]
            v = key + w * space.costs[at(arc)]
            source = packed >> 32
            # Only closed states have arcs in the list, but one may have been opened again since.
            if v < fresh[at(source)] and words[at(source)] & 1:
                fresh[at(source)] = v
                size = push(heap, size, v, np.int64(0), source)
            arc = (packed & 0xFFFFFFFF) - 1
    note.settled = settled
    return RUNNING


@inlined
def _settle_roughly(space, note, w, least):
    """Values for the closed states that are not settled; ``least`` is the value that would be settled next."""
    words = space.table.words
    fresh = space.fresh
    top = _least_beyond(space, note, w)
    for slot in range(note.states):
        if words[at(slot)] & 1 and fresh[at(slot)] > least:
            fresh[at(slot)] = min(fresh[at(slot)], max(least, top - w * (words[at(slot)] >> 1)))


@inlined
def from_best(space, note, w):
    """RTAA*: the value of every closed state is f of the best frontier state less its own g."""
    words = space.table.words
    top = _least_beyond(space, note, w)
    for slot in range(note.states):
        space.fresh[at(slot)] = top - w * (words[at(slot)] >> 1)


@inlined
def teach(space, values, note, clock):
    """Raise every closed state to its fresh value, if that is more. Returns RUNNING or PAUSED."""
    words = space.table.words
    first = note.slot if note.paused == TEACHING else np.int64(0)
    note.paused = 0
    look_at = first + stride(clock)
    for slot in range(first, note.states):
        if slot >= look_at:
            look_at = slot + stride(clock)
            if tired(clock):
                note.paused = TEACHING
                note.slot = slot
                return PAUSED
        if words[at(slot)] & 1 and space.fresh[at(slot)] > space.h[at(slot)]:
            learn(values, space.table.states[at(slot)], space.fresh[at(slot)])
    return RUNNING


@inlined
def _least_beyond(space, note, w):
    """The least w g + h of the frontier."""
    best = note.best
    top = space.h[at(best)] + w * (space.table.words[at(best)] >> 1)
    if w > WEIGHT_ONE:
        # The state with the least g + h need not have the least w g + h; any larger one would learn too much.
        _, top = best_on_frontier(space, note, w)
    return top


@inlined
def look_around(world, values, note, s, gamma):
    """The value of ``s``, the least gamma c + h of a successor, and that successor: DEAD and -1 if nothing leads on.

    Ties go to the dearer step, then to the first.
    """
    target = aim(world, note.goal)
    here = locate(world, s)
    e = np.int64(estimate(world, target, s, here)) << WEIGHT_SHIFT
    h = max(e, learned(values, s))
    highest = max(note.highest, e)
    dearest = note.dearest
    least = np.int64(DEAD)
    dear = np.int64(-1)
    best = np.int64(-1)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c < 0:
            continue
        e = np.int64(estimate(world, target, t, moved(world, here, i))) << WEIGHT_SHIFT
        highest = max(highest, e)
        dearest = max(dearest, c)
        v = gamma * c + max(e, learned(values, t))
        if v < least or (v == least and c > dear):
            least = v
            dear = c
            best = t
    note.highest = highest
    note.dearest = dearest
    return h, least, best


@inlined
def update(world, values, note, s, gamma):
    """One step of value iteration: the value of ``s`` rises to the least gamma c + h of a successor, if that is more.

    Returns by how much it rose, the new value, and that successor. The goal's value is not for changing.
    """
    h, least, best = look_around(world, values, note, s, gamma)
    rise = np.int64(0)
    if least > h and s != note.goal:
        rise = least - h
        h = least
        learn(values, s, h)
    return rise, h, best


@inlined
def offer(world, queue_states, queue_rises, length, s, rise):
    """Offer every neighbour of ``s`` to the queue with priority ``rise``; returns the queue's length.

    A state already there keeps the larger priority. In a full queue the newcomer replaces the lowest (the oldest of
    them) if it is higher.
    """
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c < 0:
            continue
        there = np.int64(-1)
        lowest = np.int64(0)
        for k in range(length):
            if queue_states[at(k)] == t:
                there = k
            if queue_rises[at(k)] < queue_rises[at(lowest)]:
                lowest = k
        if there >= 0:
            queue_rises[at(there)] = max(queue_rises[at(there)], rise)
            continue
        if length == queue_states.shape[0]:
            if queue_rises[at(lowest)] >= rise:
                continue
            length = remove(queue_states, queue_rises, length, lowest)
        queue_states[at(length)] = t
        queue_rises[at(length)] = rise
        length += 1
    return length


@inlined
def remove(queue_states, queue_rises, length, k):
    """Take entry ``k`` out; the others keep their order, which is that of arrival."""
    for j in range(k, length - 1):
        queue_states[at(j)] = queue_states[at(j + 1)]
        queue_rises[at(j)] = queue_rises[at(j + 1)]
    return length - 1


@inlined
def sweep(world, values, note, queue_states, queue_rises, length, done, updates, clock):
    """Prioritized sweeping: take the highest entry (the oldest of them), update it, offer its neighbours, and so on.

    At most ``updates`` times, of which some are ``done``; there must be room to learn as many. Returns the queue's
    length, the updates made, and whether that is all for now.
    """
    left = stride(clock)
    while length > 0 and done < updates:
        if left <= 0:
            left = stride(clock)
            if tired(clock):
                return length, done, False
        left -= 1 + (length >> 5)  # each update looks through the whole queue
        top = np.int64(0)
        for k in range(1, length):
            if queue_rises[at(k)] > queue_rises[at(top)]:
                top = k
        s = queue_states[at(top)]
        length = remove(queue_states, queue_rises, length, top)
        rise, _, _ = update(world, values, note, s, WEIGHT_ONE)
        done += 1
        if rise > 0:
            length = offer(world, queue_states, queue_rises, length, s, rise)
    return length, done, True
