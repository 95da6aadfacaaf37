"""Clique abstraction: states that all neighbour each other become one region.

Sturtevant and Buro 2005, as Bulitko et al. 2008 use it. Per level: first 4-cliques, on a grid those of aligned 2 x 2
blocks before others; then 3-cliques; then pairs. Each is begun by the first state, in the order of the states, that has
one, and of several it takes the first in the order of its arcs. A state that is left over joins its neighbour's clique
if it has only one neighbour, and otherwise stays alone. Here a *node* is a state, or a region of the level below.

After edits only what they touch is put right (``regroup``, ``forget_arcs``, ``rejoin``). These keep what the levels
above rest on: regions are connected, and no two neighbours are both alone. So regions stay fewer than their nodes as
long as there is any arc.

The plain version is ``abstract`` in ``tests/naive/cliques.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import generic, inlined, kernel, now_ns
from .ticks import rest, stride, tired
from .views import GraphView, GridView, TerrainView, cost_between, degree, locate, successor

__all__ = [
    "ALIVE",
    "FREE",
    "LINKED",
    "Regions",
    "Repair",
    "Scratch",
    "Terms",
    "choose_nearest",
    "climb",
    "count_arcs",
    "fill_arcs",
    "forget_arcs",
    "join_cliques",
    "list_children",
    "measure",
    "regroup",
    "rejoin",
]


class Regions(NamedTuple):
    """The regions that the nodes of a level form. Their numbers may have gaps."""

    parent: np.ndarray  # int32[nodes]: the region of each; -1: it has none
    sibling: np.ndarray  # int32[nodes]: the next node of the same region; -1: it is the last
    child: np.ndarray  # int32[room]: the first node of each region; -1: there is no region of this number
    size: np.ndarray  # int64[room]: the states of the world in each
    place: np.ndarray  # float64[room, 3]: their mean position; without rows where the world has no positions


class Terms(NamedTuple):
    """What an arc between two regions costs."""

    rate: float  # per unit of the distance between their mean positions
    floor: float  # at least
    scale: float  # integer units of a cost of 1


class Scratch(NamedTuple):
    """Room to work in, of as many entries as there are nodes or numbers of regions. Most of it is never touched."""

    near: np.ndarray  # int64: nodes or regions in the order they were met
    slot: np.ndarray  # int32: where in ``near`` one is, if it is there; at first 0
    label: np.ndarray  # int64, by the place in ``near``
    total: np.ndarray  # int64, the same
    times: np.ndarray  # int64, the same


class Repair(NamedTuple):
    """What takes part in putting a level right after edits."""

    touched: np.ndarray  # int64: the nodes that came, went, or changed their arcs or their place
    dirty: np.ndarray  # int64[room]: the regions to be put right
    changed: np.ndarray  # int64[room]: these and all that neighboured them or do so now
    marks: np.ndarray  # uint8[room]: 1 for those in ``dirty``, 2 for those in ``changed``
    free: np.ndarray  # int64[room]: numbers that no region has
    counts: np.ndarray  # int64[5]: how many are free, nodes that have a region, regions; dirty, changed
    progress: np.ndarray  # int64[2]: the stage, and how far it is


FREE, LINKED, ALIVE, _DIRTY, _CHANGED = range(5)


@generic
def spot(world, s):
    """Where a node is, as three coordinates."""


@spot.on(GridView, TerrainView)
def _cell_spot(world, s):
    row, col = locate(world, s)
    return row - 1.0, col - 1.0, 0.0


@spot.on(GraphView)
def _node_spot(world, s):
    return world.position[s, 0], world.position[s, 1], world.position[s, 2]


# --- cliques -----------------------------------------------------------------------------------------------------


@kernel
def join_cliques(world, size, parent, scratch, progress, clock):
    """Give every node that stands for any state its clique's number in ``parent``, which holds -1 at first.

    Returns False if it is to be called again. ``progress``, all 0 at first: the pass, the node looked at, how many
    cliques there are.
    """
    rest(clock, now_ns(clock))
    left = 16 * stride(clock)
    while progress[0] < 5:
        for s in range(progress[1], parent.shape[0]):
            if left <= 0:
                left = 16 * stride(clock)
                if tired(clock):
                    progress[1] = s
                    return False
            left -= 1
            if size[s] == 0 or parent[s] >= 0:
                continue
            if progress[0] == 0:
                progress[2] += join_block(world, size, parent, progress[2], s)
            elif progress[0] < 4:
                joined, looked_at = _join(world, parent, scratch, progress[2], s, 5 - progress[0])
                progress[2] += joined
                left -= looked_at
            else:
                # Neighbours of what is left over are all in cliques, or they would be a pair.
                neighbours, last = _neighbours(world, s)
                if neighbours == 1:
                    parent[s] = parent[last]
                else:
                    parent[s] = progress[2]
                    progress[2] += 1
        progress[0] += 1
        progress[1] = 0
    return True


@generic
def join_block(world, size, parent, number, s):
    """Join what comes before all other cliques: on a grid 2 x 2 blocks that begin in even rows and columns."""


@join_block.on(GraphView)
def _no_block(world, size, parent, number, s):
    return 0


@join_block.on(GridView, TerrainView)
def _join_block(world, size, parent, number, s):
    row, col = locate(world, s)
    below = s + world.width
    if not row & col & 1 or size[s + 1] == 0 or size[below] == 0 or size[below + 1] == 0:  # the walls around count
        return 0
    if cost_between(world, s, below + 1) < 0 or cost_between(world, s + 1, below) < 0:
        return 0
    parent[s] = parent[s + 1] = parent[below] = parent[below + 1] = number
    return 1


@inlined
def _neighbours(world, s):
    """How many neighbours a node has, and one of them."""
    found = 0
    last = np.int64(-1)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            last = t
            found += 1
    return found, last


@inlined
def _join(world, parent, scratch, number, s, wanted):
    """Join the first clique of ``wanted`` nodes that are in none yet, ``s`` one of them. 1 if there is one, and effort.

    Of the free neighbours, i < j < k in the order of the arcs, those beside i are labelled with i.
    """
    near, slot, label = scratch.near, scratch.slot, scratch.label
    found = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0 and parent[t] < 0:
            near[found] = t
            slot[t] = found
            label[found] = -1
            found += 1
    effort = found
    if found < wanted - 1:
        return 0, effort
    if wanted == 2:
        parent[s] = parent[near[0]] = number
        return 1, effort
    for i in range(found):
        effort += degree(world, near[i])
        for a in range(degree(world, near[i])):
            t, c = successor(world, near[i], a)
            j = slot[t]
            if c >= 0 and i < j < found and near[j] == t:
                label[j] = i
        for j in range(i + 1, found):
            if label[j] != i:
                continue
            k = j
            if wanted == 4:
                effort += degree(world, near[j])
                k = found
                for a in range(degree(world, near[j])):
                    t, c = successor(world, near[j], a)
                    m = slot[t]
                    if c >= 0 and j < m < k and near[m] == t and label[m] == i:
                        k = m
            if k < found:
                parent[s] = parent[near[i]] = parent[near[j]] = parent[near[k]] = number
                return 1, effort
    return 0, effort


# --- what is known of regions ------------------------------------------------------------------------------------


@kernel
def list_children(regions, progress, clock):
    """Make the lists of the nodes of each region, in their order. Returns False if it is to be called again."""
    rest(clock, now_ns(clock))
    for k in range(progress[0], regions.parent.shape[0]):
        if not k & 0xFFFF and tired(clock) and k > progress[0]:
            progress[0] = k
            return False
        _link(regions, regions.parent.shape[0] - 1 - k)
    return True


@inlined
def _link(regions, s):
    """Put a node in front of its region's list."""
    r = regions.parent[s]
    if r >= 0:
        regions.sibling[s] = regions.child[r]
        regions.child[r] = s


@inlined
def _unlink(regions, s):
    """Take a node out of its region, and of its list."""
    r = regions.parent[s]
    regions.parent[s] = -1
    if regions.child[r] == s:
        regions.child[r] = regions.sibling[s]
        return
    t = regions.child[r]
    while regions.sibling[t] != s:
        t = regions.sibling[t]
    regions.sibling[t] = regions.sibling[s]


@kernel
def measure(world, size, regions, progress, clock):
    """Find the size and the place of every region. Returns False if it is to be called again."""
    rest(clock, now_ns(clock))
    for r in range(progress[0], regions.child.shape[0]):
        if not r & 0xFFFF and tired(clock) and r > progress[0]:
            progress[0] = r
            return False
        _measure(world, size, regions, r)
    return True


@inlined
def _measure(world, size, regions, r):
    total = np.int64(0)
    x = y = z = 0.0
    s = np.int64(regions.child[r])
    while s >= 0:
        states = np.int64(size[s])
        total += states
        if regions.place.shape[0] > 0:
            place = spot(world, s)
            x += states * place[0]
            y += states * place[1]
            z += states * place[2]
        s = np.int64(regions.sibling[s])
    regions.size[r] = total
    if regions.place.shape[0] > 0 and total > 0:
        regions.place[r, 0] = x / total
        regions.place[r, 1] = y / total
        regions.place[r, 2] = z / total


@kernel
def climb(regions, found, progress, clock):
    """Put in the place of each node's number that of its region. Returns False if it is to be called again."""
    rest(clock, now_ns(clock))
    for k in range(progress[0], found.shape[0]):
        if not k & 0xFFFF and tired(clock) and k > progress[0]:
            progress[0] = k
            return False
        if found[k] >= 0:
            found[k] = regions.parent[found[k]]
    return True


@kernel
def choose_nearest(world, region, place, chosen, apart, progress, clock):
    """The node of each region that is nearest to its mean position; of several, or without positions, the first.

    ``chosen`` holds -1 at first. Returns False if it is to be called again.
    """
    rest(clock, now_ns(clock))
    for s in range(progress[0], region.shape[0]):
        if not s & 0xFFFF and tired(clock) and s > progress[0]:
            progress[0] = s
            return False
        r = region[s]
        if r < 0:
            continue
        far = 0.0
        if place.shape[0] > 0:
            x, y, z = spot(world, s)
            far = (x - place[r, 0]) ** 2 + (y - place[r, 1]) ** 2 + (z - place[r, 2]) ** 2
        if chosen[r] < 0 or far < apart[r] - 1e-9:  # so that equal distances are equal
            chosen[r] = s
            apart[r] = far
    return True


# --- arcs between regions ----------------------------------------------------------------------------------------


@inlined
def _beside(world, regions, scratch, r):
    """Which regions neighbour ``r``, written to ``near``; how many. ``total`` of ``times`` arcs that lead there."""
    near, slot, total, times = scratch.near, scratch.slot, scratch.total, scratch.times
    found = 0
    s = np.int64(regions.child[r])
    while s >= 0:
        for i in range(degree(world, s)):
            t, c = successor(world, s, i)
            if c < 0:
                continue
            q = np.int64(regions.parent[t])
            if q < 0 or q == r:
                continue
            j = np.int64(slot[q])
            if j >= found or near[j] != q:
                j = found
                near[j] = q
                slot[q] = j
                total[j] = 0
                times[j] = 0
                found += 1
            total[j] += c
            times[j] += 1
        s = np.int64(regions.sibling[s])
    return found


@inlined
def _length(regions, terms, r, q, total, times):
    if regions.place.shape[0] == 0:
        return total / times / terms.scale
    x = regions.place[r, 0] - regions.place[q, 0]
    y = regions.place[r, 1] - regions.place[q, 1]
    z = regions.place[r, 2] - regions.place[q, 2]
    return max(terms.rate * np.sqrt(x * x + y * y + z * z), terms.floor)


@kernel
def count_arcs(world, regions, scratch, arcs, progress, clock):
    """How many regions neighbour each one. Returns False if it is to be called again."""
    rest(clock, now_ns(clock))
    left = 16 * stride(clock)
    for r in range(progress[0], regions.child.shape[0]):
        if left <= 0:
            left = 16 * stride(clock)
            if tired(clock):
                progress[0] = r
                return False
        arcs[r] = _beside(world, regions, scratch, r)
        left -= 1 + arcs[r]
    return True


@kernel
def fill_arcs(world, regions, scratch, graph, terms, progress, clock):
    """Write the arcs of all regions; what is left of a row is blocked. Returns False if it is to be called again."""
    rest(clock, now_ns(clock))
    left = 16 * stride(clock)
    for r in range(progress[0], regions.child.shape[0]):
        if left <= 0:
            left = 16 * stride(clock)
            if tired(clock):
                progress[0] = r
                return False
        found = _beside(world, regions, scratch, r)
        left -= 1 + found
        for k in range(graph.first[r], graph.first[r + 1]):
            j = k - graph.first[r]
            if j < found:
                _write(graph, terms, k, scratch.near[j],
                       _length(regions, terms, r, scratch.near[j], scratch.total[j], scratch.times[j]))  # fmt: skip
            else:
                _erase(graph, r, k)
    return True


@inlined
def _write(graph, terms, k, q, length):
    graph.head[k] = q
    graph.length[k] = length
    graph.cost[k] = np.int64(np.ceil(length * terms.scale))


@inlined
def _erase(graph, r, k):
    graph.head[k] = r
    graph.length[k] = 0.0
    graph.cost[k] = -1


# --- after edits -------------------------------------------------------------------------------------------------


@inlined
def _mark_dirty(repair, r):
    if not repair.marks[r] & 1:
        repair.marks[r] |= 1
        repair.dirty[repair.counts[_DIRTY]] = r
        repair.counts[_DIRTY] += 1


@inlined
def _mark_changed(repair, r):
    if not repair.marks[r] & 2:
        repair.marks[r] |= 2
        repair.changed[repair.counts[_CHANGED]] = r
        repair.counts[_CHANGED] += 1


@inlined
def _new_number(repair):
    repair.counts[FREE] -= 1
    repair.counts[ALIVE] += 1
    r = repair.free[repair.counts[FREE]]
    _mark_dirty(repair, r)
    return r


@kernel
def regroup(world, size, regions, scratch, repair):
    """Put right which nodes form regions, where any of them were touched, and how large these are and where.

    Nodes that have gone leave their region. One that has fallen apart is split: the part with most states keeps the
    number. Who has come, or is alone now, joins a neighbouring region with which it is a clique of at most four, the
    larger the better, or that of its only neighbour. Returns False if numbers have run out: it is to be called again
    with more of them.
    """
    counts, progress = repair.counts, repair.progress
    touched = repair.touched.shape[0]
    if progress[0] == 0:
        for k in range(progress[1], 2 * touched):  # first who has gone, then who has come
            s = repair.touched[k % touched]
            if k < touched and regions.parent[s] >= 0:
                _mark_dirty(repair, regions.parent[s])
                if size[s] == 0:
                    _unlink(regions, s)
                    counts[LINKED] -= 1
            elif k >= touched and regions.parent[s] < 0 and size[s] > 0:
                if not _settle(world, regions, repair, s):
                    if counts[FREE] == 0:
                        progress[1] = k
                        return False
                    regions.parent[s] = _new_number(repair)
                    _link(regions, s)
                counts[LINKED] += 1
        progress[0], progress[1] = 1, 0
    while progress[0] == 1 and progress[1] < counts[_DIRTY]:
        if not _split(world, size, regions, scratch, repair, repair.dirty[progress[1]]):
            return False
        progress[1] += 1
    progress[0] = 2
    k = 0
    while k < counts[_DIRTY]:  # joining makes more of them dirty
        s = np.int64(regions.child[repair.dirty[k]])
        if s >= 0 and regions.sibling[s] < 0:
            _settle(world, regions, repair, s)
        k += 1
    for k in range(counts[_DIRTY]):
        r = repair.dirty[k]
        _measure(world, size, regions, r)
        if regions.child[r] < 0:
            repair.free[counts[FREE]] = r
            counts[FREE] += 1
            counts[ALIVE] -= 1
    return True


@inlined
def _split(world, size, regions, scratch, repair, r):
    """Give the parts of a region that are not connected numbers of their own; False if there are too few."""
    near, slot, part, states = scratch.near, scratch.slot, scratch.label, scratch.times
    stack = scratch.total
    members = 0
    s = np.int64(regions.child[r])
    while s >= 0:
        near[members] = s
        slot[s] = members
        part[members] = -1
        members += 1
        s = np.int64(regions.sibling[s])
    parts = 0
    most = 0
    for first in range(members):
        if part[first] >= 0:
            continue
        part[first] = parts
        states[parts] = 0
        stack[0] = first
        height = 1
        while height > 0:
            height -= 1
            s = near[stack[height]]
            states[parts] += size[s]
            for i in range(degree(world, s)):
                t, c = successor(world, s, i)
                j = slot[t]
                if c >= 0 and j < members and near[j] == t and part[j] < 0:
                    part[j] = parts
                    stack[height] = j
                    height += 1
        if states[parts] > states[most]:
            most = parts
        parts += 1
    if parts - 1 > repair.counts[FREE]:
        return False
    if parts > 1:
        number = stack
        for j in range(parts):
            number[j] = r if j == most else _new_number(repair)
            regions.child[number[j]] = -1
        for k in range(members):
            s = near[members - 1 - k]
            regions.parent[s] = number[part[members - 1 - k]]
            _link(regions, s)
    return True


@inlined
def _settle(world, regions, repair, s):
    """Let a node that is alone, or has no region yet, join others, if it belongs with any. Whether it has."""
    chosen = np.int64(-1)
    largest = 0
    neighbours = 0
    last = np.int64(-1)
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c < 0:
            continue
        neighbours += 1
        last = np.int64(regions.parent[t])
        if last < 0:
            continue
        members = 0
        u = np.int64(regions.child[last])
        while u >= 0 and members < 4 and cost_between(world, s, u) >= 0:
            members += 1
            u = np.int64(regions.sibling[u])
        if u < 0 and members < 4 and (members > largest or (members == largest and last < chosen)):
            chosen = last
            largest = members
    if chosen < 0 and neighbours == 1:
        chosen = last
    if chosen < 0:
        return False
    if regions.parent[s] >= 0:
        _unlink(regions, s)
    regions.parent[s] = chosen
    _link(regions, s)
    _mark_dirty(repair, chosen)
    return True


@kernel
def forget_arcs(graph, repair):
    """Block the arcs from and to all regions that are to be put right."""
    for k in range(repair.counts[_DIRTY]):
        r = repair.dirty[k]
        _mark_changed(repair, r)
        if r >= graph.first.shape[0] - 1:
            continue  # it is new, and has no row yet
        for a in range(graph.first[r], graph.first[r + 1]):
            if graph.cost[a] >= 0:
                q = graph.head[a]
                _mark_changed(repair, q)
                _erase(graph, r, a)
                for b in range(graph.first[q], graph.first[q + 1]):
                    if graph.head[b] == r and graph.cost[b] >= 0:
                        _erase(graph, q, b)


@kernel
def rejoin(world, regions, scratch, graph, terms, repair):
    """Write the arcs that were forgotten as they are now; False if there was no room for some of them."""
    fits = True
    for k in range(repair.counts[_DIRTY]):
        r = repair.dirty[k]
        found = _beside(world, regions, scratch, r)
        for j in range(found):
            q = scratch.near[j]
            _mark_changed(repair, q)
            length = _length(regions, terms, r, q, scratch.total[j], scratch.times[j])
            fits = fits and _insert(graph, terms, r, q, length) and _insert(graph, terms, q, r, length)
    return fits


@inlined
def _insert(graph, terms, r, q, length):
    """Write an arc, unless it is there; False if there is no room."""
    if r >= graph.first.shape[0] - 1:
        return False
    empty = np.int64(-1)
    for k in range(graph.first[r], graph.first[r + 1]):
        if graph.cost[k] < 0:
            empty = k
        elif graph.head[k] == q:
            return True
    if empty >= 0:
        _write(graph, terms, empty, q, length)
    return empty >= 0
