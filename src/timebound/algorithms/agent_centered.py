"""The Python half of agent-centred searches: the arrays of values and lookahead, edits, and new trials.

Their common kernels are in ``kernels/lookahead.py``, ``kernels/learning_rules.py`` and ``kernels/heuristic_values.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.heuristic_values import LearnedValues, enlarged, load_growth, new_values
from ..kernels.layout import COUNTS, INFINITE
from ..kernels.learning_rules import FORGET, LEARNER, SPACE
from ..kernels.lookahead import LOOK, new_space
from ..kernels.memory import zeros
from ..kernels.tables import worn_out
from ..kernels.views import widest
from ..kernels.workspace import new_record
from .registry import World

__all__ = ["AgentCenteredPlanner", "first_room", "first_slots"]

_PAGE_BITS = 4  # sixteen neighbouring states share a page of learned values; two cache lines


class AgentCenteredPlanner:
    """An algorithm that looks around the agent and learns; ``state`` is its NamedTuple, which subclasses make.

    Learned values belong to the agent, not to the world's pool, so that they outlast a trial.
    """

    state: Any

    def __init__(self, world: World, goal: int, timed: bool = False) -> None:
        # A puzzle's states are scattered over 64 bits: no two would share a page.
        self._states = 0 if world.table == "hashed" else world.states
        self._timed = timed
        load_growth()
        # What every tick reads and writes is made first, so that it lies side by side (see ``memory.Neighbours``).
        counts, plan, learner, look = new_record(COUNTS), zeros(2), new_record(LEARNER), new_record(LOOK)
        look["goal"] = goal
        learner["edits"] = -1
        self._common = {
            "values": self._no_values(),
            "look": look,
            "learner": learner,
            "log": world.changes.view,
            "counts": counts,
            "plan": plan,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to others, and is found again there."""
        blank = dict.fromkeys(self._of_others(), None)
        saved = {name: value for name, value in self.__dict__.items() if name != "_common"}
        return {**saved, "state": self.state._replace(**blank)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self.state = self.state._replace(**self._of_others())

    def _of_others(self) -> dict[str, Any]:
        """Fields of the state that are not saved with the agent, each with what belongs there."""
        return {}

    def _no_values(self) -> LearnedValues:
        """An empty table: small, or with a place for every page if a tick has no time to let it grow."""
        bits = _PAGE_BITS if self._states else 0
        if self._timed and self._states:
            return new_values(bits, (self._states >> bits) + 1, direct=True)
        return new_values(bits)

    def enlarge(self) -> None:
        """Double what is full, or forget every value: a new table is small, whatever the old one had grown to.

        What is lacking stays written down until it is there: an interrupt half-way loses nothing.
        """
        state = self.state
        lack = int(state.learner["lack"][0])
        if lack == SPACE:
            # The lookahead begins again in the new arrays, so nothing need be copied.
            more = 1 if worn_out(state.space.table) else 2
            slots, arcs = more * len(state.space.h), more * len(state.space.arcs)
            self.state = state._replace(space=new_space(slots, arcs), route=np.zeros(slots, np.int64))
            state.plan[:] = 0
        elif lack == FORGET:
            self.state = state._replace(values=self._no_values())
            state.look["highest"] = state.look["dearest"] = 0
            state.learner["reach"] = state.learner["quiet"] = 0
            state.plan[:] = 0
            state.counts["restarts"] += 1
        else:
            self.state = state._replace(values=enlarged(state.values, self._states))
        state.learner["lack"] = 0

    def restart(self) -> None:
        """A new trial: everything learned stays, the plan does not."""
        self.state.plan[:] = 0
        self.state.learner["quiet"] = 0
        self.state.look["paused"] = 0

    @property
    def raises(self) -> int:
        """How often a value has been raised since the beginning, or since all were forgotten."""
        return int(self.state.values.used[2])

    def memory_bytes(self) -> int:
        """Bytes of the pages in use and their places in the index, and of what the last lookahead saw."""
        values = self.state.values
        pages = int(values.used[0])
        return pages * ((8 << values.bits) + (32 if len(values.keys) else 4)) + 60 * int(self.state.look["states"][0])

    def release(self) -> None:
        """Nothing is borrowed."""


def first_slots(world: World, depth: int, most: int = 1024) -> int:
    """Slots to begin with, for everything up to ``depth`` steps away; they grow if need be."""
    if depth == 1:
        return 1 + int(widest(world.view))
    return min((2 * depth + 1) ** 2 + 8, most) if world.table == "dense" else most


def first_room(limit: int | None, fan: int, timed: bool = False) -> tuple[int, int]:
    """Slots and arcs to begin with, for lookaheads of up to ``limit`` expansions; they grow if need be."""
    expansions = 4096 if timed else min(limit or INFINITE, 256)
    return 64 + 4 * expansions, fan * (expansions + 1)
