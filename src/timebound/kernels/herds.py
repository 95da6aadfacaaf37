"""Agents that share one distance field: where each steps is known for all of them at once, and here they do it."""

from __future__ import annotations

from .jit import at, inlined, kernel
from .loop import ACTIVE, REACHED, UNREACHABLE
from .paths import add_exactly
from .views import length, write_point

__all__ = ["carry", "follow"]


@inlined
def _step_to(world, episodes, k, t, cost, points, moved):
    episode = episodes[at(k)]
    episode.position = t
    episode.cost, episode.cost_rest = add_exactly(episode.cost, episode.cost_rest, cost)
    episode.moves += 1
    if t == episode.goal:
        episode.status = REACHED
    moved[at(k)] = True
    write_point(world, points, k, t)


@kernel
def follow(world, episodes, members, steps, nowhere, points, moved, noted, number, holds):
    """Let the agents that ``members`` names step to ``steps``; who has ``nowhere`` to go has no way, others wait.

    With ``holds`` they only say that they wish to. Those who are not on their way any more are ``noted``: how many,
    then which.
    """
    for n in range(members.shape[0]):
        k = members[at(n)]
        episode = episodes[at(k)]
        if episode.status != ACTIVE:
            continue
        episode.ticks += 1
        episode.wish = episode.position
        t = steps[at(n)]
        if t >= 0 or t == nowhere:  # else the field has not come here yet
            episode.served = number
        if t == nowhere:
            episode.status = UNREACHABLE
        elif t >= 0:
            cost = length(world, episode.position, t)
            if cost < 0.0:
                continue  # it was legal when the field was asked; nobody has edited since
            if holds:
                episode.wish = t
                episode.pending = 1
                continue
            _step_to(world, episodes, k, t, cost, points, moved)
        if episode.status != ACTIVE:
            noted[0] += 1
            noted[at(noted[0])] = k


@kernel
def carry(world, episodes, members, after, points, moved, noted):
    """Let them be where ``after`` says, by agent: they have held their steps for somebody to decide."""
    for n in range(members.shape[0]):
        k = members[at(n)]
        episode = episodes[at(k)]
        t = after[at(k)]
        wished = episode.pending > 0 and episode.wish == t
        episode.pending = 0
        if t < 0 or t == episode.position:
            continue
        before = episode.status
        _step_to(world, episodes, k, t, length(world, episode.position, t) if wished else 0.0, points, moved)
        episode.moves -= not wished  # to be pushed is no move
        if before == REACHED and t != episode.goal:
            episode.status = ACTIVE  # it had arrived, and was pushed aside
        if episode.status != before:
            noted[0] += 1
            noted[at(noted[0])] = k
