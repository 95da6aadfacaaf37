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

**When the goal moves**, from g to g', and some way from g' to g costs D: a value that is not above w times the distance
to g is, less w D, not above w times that to g', for who is at g' can go on to g. So all values come down by w D
(``change_goal``), on directed graphs too. What was said above still holds: it was about values that are now less. Of a
state whose learned value is now below its estimate the estimate counts, which may have grown by D; so E grows by w D.
S may keep the states that it had: that it is too large only makes proofs take longer. But g' may be in S, though its
value is now 0. Then let S be without it. A way of k steps from s that leaves S at g' is one to the goal, all of its
steps were seen, and h(s) is not above w times what it costs: w C k. When the goal moves on and g' is back in S, ways
that left S at g' leave it later or not at all, and the bound is only larger.
"""

from __future__ import annotations

import numpy as np

from .climbing import way_between
from .edits import dearest_now
from .heaps import heap_pop, heap_push, heapify, put
from .heuristic_values import forget, has_learned, learn, learned, lower
from .jit import at, inlined
from .layout import PAUSED, RUNNING, WEIGHT_ONE, WEIGHT_SHIFT
from .lookahead import DEAD, LOOKING, SETTLING, TEACHING, best_on_frontier, cost_to, is_closed
from .memory import lacks_room
from .telling import EXPANDED, FORGOTTEN, GENERATED, LEARNED, LOWERED, SETTLED, tell
from .ticks import late, pause_due, stride
from .views import aim, degree, edits, estimate, locate, moved, successor

__all__ = [
    "FORGET",
    "LEARNER",
    "SPACE",
    "VALUES",
    "abandoned",
    "change_goal",
    "dijkstra_inwards",
    "drop_lookahead",
    "forget_all",
    "from_best",
    "hopeless",
    "lacks",
    "look_around",
    "mini_min",
    "must_forget",
    "offer",
    "redirect",
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

_CLOCK = 64  # states settled between two looks at the clock, if there is a deadline
_LISTEN_MOST = 1 << 14  # entries of the log read in one tick; after more edits than that, values are forgotten


@inlined
def lacks(world, algorithm, more):
    """What comes before each decision: whether Python must see to something first, and ``decide`` returns NEEDS_ROOM.

    Values that an edit has made obsolete are forgotten. A space that was too small for the last lookahead is to be
    enlarged, and ``more`` values are to find room. What it is stays written down (``lack``) until it is done, even if
    whoever is asked to is interrupted.
    """
    learner = algorithm.learner[0]
    look = algorithm.look[0]
    if must_forget(world, algorithm.log, learner, look, algorithm.plan) and not forget_all(world, algorithm):
        return True
    if look.cut_short and not look.paused:
        look.cut_short = 0
        learner.lack = SPACE
    elif lacks_room(algorithm.values, more):
        learner.lack = VALUES
    return learner.lack != 0


@inlined
def forget_all(world, algorithm):
    """Some arc has become cheaper: nothing that was learned counts any more. False if Python must make a new table."""
    learner = algorithm.learner[0]
    look = algorithm.look[0]
    tell(world, FORGOTTEN, -1, -1, -1, -1)
    if not forget(algorithm.values):
        learner.lack = FORGET
        return False
    learner.lack = 0
    look.highest = 0
    look.dearest = 0
    learner.reach = 0
    learner.quiet = 0
    algorithm.plan[0] = 0
    algorithm.plan[1] = 0
    algorithm.counts[0].restarts += 1
    return True


@inlined
def must_forget(world, log, learner, look, plan):
    """Whether an edit since the last look has made some arc cheaper, so that values may be too high.

    Arcs that became dearer do no harm: true distances have only grown. Any edit that is noticed here is noticed only
    here, so the plan is dropped in the same breath: the caller may yet ask for room and be called again.
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
        look.dearest = max(look.dearest, dearest_now(world, entry))
    return False


@inlined
def abandoned(world, algorithm):
    """The expansions of a lookahead that was paused and is of no use now, because the world has been edited since.

    They count all the same. To be asked before ``lacks``, which takes note of the edits.
    """
    return drop_lookahead(algorithm) if algorithm.learner[0].edits != edits(world) else np.int64(0)


@inlined
def drop_lookahead(algorithm):
    """Give up a lookahead that was paused, if there is one. What it has expanded counts; returns how much that is."""
    look = algorithm.look[0]
    counts = algorithm.counts[0]
    lost = np.int64(0)
    if look.paused == LOOKING:
        lost = look.expanded
        counts.expanded += lost
    elif look.paused == SETTLING:
        counts.expanded += look.settled
        counts.learning += look.settled
    look.paused = 0
    return lost


@inlined
def change_goal(algorithm, world, values, old, goal, w, tick):
    """Values that were for ``old`` are for ``goal`` from now on: less by what a way from there to ``old`` costs.

    If none is found in ``tick.limit`` expansions, all are forgotten. Either is done at once, however many there are.
    """
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    counts = algorithm.counts[0]
    cost = np.int64(-1)
    # Who has learned nothing has nothing to lose; and a way of so many steps as are seen here may be too short anyway.
    far = estimate(world, aim(world, old), goal, locate(world, goal)) > tick.limit * look.dearest
    if values.used[1] > 0 and not far:
        cost, expanded = way_between(world, goal, old, tick.limit)
        counts.expanded += expanded
        counts.learning += expanded
    if cost >= 0 and cost <= (np.int64(1) << 58) // w and lower(values, w * cost):
        # Of a state that nothing was learned of, the new estimate may be larger than the old one by as much.
        look.highest += w * cost
        tell(world, LOWERED, goal, old, -1, w * cost)
    else:
        look.highest = 0
        look.dearest = 0
        learner.reach = 0
        if not forget(values):
            learner.lack = FORGET
        tell(world, FORGOTTEN, old, -1, -1, -1)
    learner.quiet = 0


@inlined
def redirect(algorithm, world, goal, w, tick):
    """The goal moves, for a learner with one goal: the plan and a paused lookahead are dropped, values brought down."""
    look = algorithm.look[0]
    drop_lookahead(algorithm)
    algorithm.plan[0] = algorithm.plan[1]
    change_goal(algorithm, world, algorithm.values, look.goal, goal, w, tick)
    look.goal = goal


@inlined
def hopeless(look, h, reach, w):
    """Whether a value this high proves that there is no way to the goal; ``reach`` bounds the size of S."""
    # The product could overflow in a vast world; it is then above any value.
    return look.dearest > 0 and (h - look.highest) // (w * look.dearest) > reach + 1


@inlined
def mini_min(world, values, look, s, h, v):
    """LRTA*: raise the value ``h`` of ``s`` to ``v``, never lower it."""
    if v > h:
        learn(values, s, v)
        _tell_learned(world, look, s, v)


@inlined
def _tell_learned(world, look, s, v):
    """The value of ``s`` is ``v`` from now on."""
    e = np.int64(estimate(world, aim(world, look.goal), s, locate(world, s))) << WEIGHT_SHIFT
    tell(world, LEARNED, s, look.goal, v - e, v)


@inlined
def dijkstra_inwards(world, space, look, w, tick):
    """LSS-LRTA*: find the exact value of every closed state, given those of the frontier. Returns RUNNING or PAUSED.

    States from which no way leads to the frontier become DEAD. Leaves the number of states settled in ``look``. If the
    tick's time is up before all are, the others take what is surely not too much: the value that would be settled next,
    or what RTAA* would give them if that is more.
    """
    words = space.table.words
    fresh = space.fresh
    heap = space.heap
    if look.paused != SETTLING:
        _seed(space, look)
    look.paused = 0
    size = look.heaped
    closed = look.closed
    settled = look.settled
    look_at = settled + stride(tick.clock)
    status = RUNNING
    while closed > 0 and size > 0:
        if late(tick, settled + 1, _CLOCK):
            _settle_roughly(space, look, w, heap.keys[0])
            break
        pause, look_at = pause_due(tick.clock, settled, look_at)
        if pause:
            look.paused = SETTLING
            status = PAUSED
            break
        key = heap.keys[0]
        slot = heap.slots[0]
        size = heap_pop(heap, size)
        if key != fresh[at(slot)] or key >= DEAD:
            continue
        settled += 1
        tell(world, SETTLED, space.table.states[at(slot)], -1, -1, key)
        closed -= is_closed(words, slot)
        arc = np.int64(space.incoming[at(slot)])
        while arc >= 0:
            packed = space.arcs[at(arc)]
            v = key + w * space.costs[at(arc)]
            source = packed >> 32
            # Only closed states have arcs in the list, but one may have been opened again since.
            if v < fresh[at(source)] and is_closed(words, source):
                fresh[at(source)] = v
                size = heap_push(heap, size, (v, np.int64(0), source))
            arc = (packed & 0xFFFFFFFF) - 1
    look.heaped = size
    look.closed = closed
    look.settled = settled
    return status


@inlined
def _seed(space, look):
    """Dijkstra's algorithm begins with the frontier in its heap; nothing is known of the closed states."""
    size = np.int64(0)
    for slot in range(look.states):
        if is_closed(space.table.words, slot):
            space.fresh[at(slot)] = DEAD
        else:
            space.fresh[at(slot)] = space.h[at(slot)]
            put(space.heap, size, (space.h[at(slot)], np.int64(0), slot))
            size += 1
    heapify(space.heap, size)
    look.heaped = size
    look.closed = look.states - size
    look.settled = 0


@inlined
def _settle_roughly(space, look, w, least):
    """Values for the closed states that are not settled; ``least`` is the value that would be settled next."""
    words = space.table.words
    fresh = space.fresh
    top = _least_beyond(space, look, w)
    for slot in range(look.states):
        if is_closed(words, slot) and fresh[at(slot)] > least:
            fresh[at(slot)] = min(fresh[at(slot)], max(least, top - w * cost_to(words, slot)))


@inlined
def from_best(space, look, w):
    """RTAA*: the value of every closed state is f of the best frontier state less its own g."""
    top = _least_beyond(space, look, w)
    for slot in range(look.states):
        space.fresh[at(slot)] = top - w * cost_to(space.table.words, slot)


@inlined
def teach(world, space, values, look, clock):
    """Raise every closed state to its fresh value, if that is more. Returns RUNNING or PAUSED."""
    first = look.slot if look.paused == TEACHING else np.int64(0)
    look.paused = 0
    look_at = first + stride(clock)
    for slot in range(first, look.states):
        pause, look_at = pause_due(clock, slot, look_at)
        if pause:
            look.paused = TEACHING
            look.slot = slot
            return PAUSED
        if is_closed(space.table.words, slot) and space.fresh[at(slot)] > space.h[at(slot)]:
            learn(values, space.table.states[at(slot)], space.fresh[at(slot)])
            _tell_learned(world, look, space.table.states[at(slot)], space.fresh[at(slot)])
    return RUNNING


@inlined
def _least_beyond(space, look, w):
    """The least w g + h of the frontier."""
    best = look.best
    top = space.h[at(best)] + w * cost_to(space.table.words, best)
    if w > WEIGHT_ONE:
        # The state with the least g + h need not have the least w g + h; any larger one would learn too much.
        _, top = best_on_frontier(space, look, w)
    return top


@inlined
def look_around(world, values, look, s, gamma):
    """The value of ``s``, the least gamma c + h of a successor, and that successor: DEAD and -1 if nothing leads on.

    Ties go to the dearer step, then to the first.
    """
    target = aim(world, look.goal)
    here = locate(world, s)
    e = np.int64(estimate(world, target, s, here)) << WEIGHT_SHIFT
    # Who has learned nothing, as while it climbs to a subgoal, need not look anything up.
    knows = has_learned(values)
    h = max(e, learned(values, s)) if knows else e
    tell(world, EXPANDED, s, -1, -1, h)
    highest = max(look.highest, e)
    dearest = look.dearest
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
        v = gamma * c + (max(e, learned(values, t)) if knows else e)
        tell(world, GENERATED, t, s, -1, v - gamma * c)
        if v < least or (v == least and c > dear):
            least = v
            dear = c
            best = t
    look.highest = highest
    look.dearest = dearest
    return h, least, best


@inlined
def update(world, values, look, s, gamma):
    """One step of value iteration: the value of ``s`` rises to the least gamma c + h of a successor, if that is more.

    Returns by how much it rose, the new value, and that successor. The goal's value is not for changing.
    """
    h, least, best = look_around(world, values, look, s, gamma)
    rise = np.int64(0)
    if least > h and s != look.goal:
        rise = least - h
        h = least
        learn(values, s, h)
        _tell_learned(world, look, s, h)
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
def sweep(world, values, look, queue_states, queue_rises, length, done, updates, clock):
    """Prioritized sweeping: take the highest entry (the oldest of them), update it, offer its neighbours, and so on.

    At most ``updates`` times, of which some are ``done``; there must be room to learn as many. Returns the queue's
    length, the updates made, and whether that is all for now.
    """
    work = np.int64(0)
    look_at = stride(clock)
    while length > 0 and done < updates:
        pause, look_at = pause_due(clock, work, look_at)
        if pause:
            return length, done, False
        work += 1 + (length >> 5)  # each update looks through the whole queue
        top = np.int64(0)
        for k in range(1, length):
            if queue_rises[at(k)] > queue_rises[at(top)]:
                top = k
        s = queue_states[at(top)]
        length = remove(queue_states, queue_rises, length, top)
        rise, _, _ = update(world, values, look, s, WEIGHT_ONE)
        done += 1
        if rise > 0:
            length = offer(world, queue_states, queue_rises, length, s, rise)
    return length, done, True
