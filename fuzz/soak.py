"""Fleets that live long: orders, edits and mistakes between the ticks, for hours of a game.

Every tick is held against a model of NumPy arrays: who is there, where, bound for where, and which cells are free. Each
move must be legal when it is made; nobody moves who is not said to have; with ``collisions`` no two are in one cell and
no two swap. Now and then everything is left alone until all have arrived that can; who says that there is no way must
be right, as SciPy's ``label`` sees it (steps past corners are not allowed, so what straight steps do not
connect nothing does). Orders that cannot be carried out are refused in one sentence and change nothing. What the
process holds is measured after the first third and at the end: a game may run for days.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from scipy import ndimage

import timebound as tb
import timebound.fleet as fleets
from timebound.algorithms import REGISTRY

if TYPE_CHECKING:
    from harness import Tally

__all__ = ["Soak", "fuzz", "resident"]

_SIDE = 64
_MOST = 150  # agents at once
_QUIET = 1_000  # ticks between two times at which everybody may arrive
_PATIENCE = 60_000  # ticks that this may take
_AT_ONCE = 2_000  # of them in one call that is watched
_GROWTH = 16.0  # megabytes that may come to what is held after the first third, and
_PERCENT = 5.0


def resident() -> float:
    """Megabytes of memory that the process holds; not a number where nobody tells."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def specs() -> list[str]:
    """Real-time algorithms that need no database, and the shared field; RIBS would walk for millions of ticks."""
    names = [name for name, one in REGISTRY.items() if one.real_time and not one.database and name != "ribs"]
    return [*names, "field", "tb-wa*:weight=3", "k-lrta*:commit=frontier"]


class Soak:
    """A fleet and its model."""

    def __init__(self, random: np.random.Generator, collisions: bool, threads: int, frame: dict[str, Any]) -> None:
        self.random = random
        self.free = tb.generate.rooms((_SIDE, _SIDE), room=8, seed=int(random.integers(2**31))).astype(bool)
        self.world = tb.Grid(self.free)
        self.collisions = collisions
        self.specs = specs()
        self.fleet = tb.Fleet(self.world, "tb-wa*", collisions=collisions, threads=threads, **frame)
        self.at: dict[int, tuple[int, int]] = {}
        self.goal: dict[int, tuple[int, int]] = {}
        self.moves = 0

    def demand(self, holds: bool, *what: object) -> None:
        """Raise an AssertionError if something does not hold."""
        if not holds:
            raise AssertionError(f"tick {self.fleet.stats.ticks}: {' '.join(map(str, what))}")

    # --- orders -------------------------------------------------------------------------------------------------------

    def cells(self, count: int, apart: bool = False) -> list[tuple[int, int]]:
        """Free cells; ``apart``: no two of them the same, and nobody in them."""
        taken = set(self.at.values()) if apart else set()
        found: list[tuple[int, int]] = []
        free = np.argwhere(self.free)
        while len(found) < count:
            cell = tuple(free[self.random.integers(len(free))].tolist())
            if apart and (cell in taken or cell in found):
                continue
            found.append(cell)
        return found

    def some(self) -> list[int]:
        """A few of those who are there."""
        known = sorted(self.at)
        count = int(self.random.integers(1, 9))
        return [int(k) for k in self.random.choice(known, min(count, len(known)), replace=False)] if known else []

    def order(self) -> None:
        """One thing that a game might want."""
        match int(self.random.integers(8)):
            case 0 | 1:
                self.add()
            case 2 | 3:
                ids, goals = self.some(), self.cells(8)
                self.fleet.send(ids, goals[: len(ids)])
                self.goal.update(zip(ids, goals, strict=False))
            case 4:
                ids = self.some()
                points = self.cells(len(ids), self.collisions)
                self.fleet.place(ids, points)
                self.at.update(zip(ids, points, strict=True))
            case 5:
                ids = self.some()
                self.fleet.cancel(ids)
                for k in ids:
                    del self.at[k], self.goal[k]
            case 6:
                self.edit()
            case _:
                self.mistake()

    def add(self) -> None:
        count = min(int(self.random.integers(1, 12)), _MOST - len(self.at))
        if count <= 0:
            return
        starts = self.cells(count, self.collisions)
        one = self.random.random() < 0.3
        goals = self.cells(1) * count if one else self.cells(count)
        spec = self.specs[int(self.random.integers(len(self.specs)))]
        priority = int(self.random.integers(1, 4))
        ids = self.fleet.add(starts, goals[0] if one else goals, spec=spec, priority=priority).tolist()
        self.demand(not set(ids) & set(self.at), "an id of somebody who is there was given again")
        self.at.update(zip(ids, starts, strict=True))
        self.goal.update(zip(ids, goals, strict=True))

    def edit(self) -> None:
        """Build walls where nobody is, or tear some down."""
        if self.random.random() < 0.5:
            here = set(self.at.values())
            cells = [cell for cell in self.cells(int(self.random.integers(1, 20))) if cell not in here]
            if self.random.random() < 0.3:  # a wall across, which cuts off whole rooms
                row = int(self.random.integers(_SIDE))
                cells = [(row, col) for col in range(_SIDE) if (row, col) not in here]
            self.world.block(cells)
            for cell in cells:
                self.free[cell] = False
        walls = np.argwhere(~self.free)
        share = 0.02 if self.free.mean() > 0.6 else 0.3
        cells = [tuple(cell) for cell in walls[self.random.random(len(walls)) < share].tolist()]
        if cells:
            self.world.unblock(cells)
            for cell in cells:
                self.free[cell] = True

    def mistake(self) -> None:
        """An order that cannot be carried out, among others that could."""
        known = sorted(self.at)
        if not known:
            return
        walls = np.argwhere(~self.free)
        wall = tuple(walls[self.random.integers(len(walls))].tolist())
        good, nobody = self.cells(1)[0], max(known) + 1000
        fleet = self.fleet
        wrong = [
            lambda: fleet.send([known[0], nobody], [good, good]),
            lambda: fleet.send([known[0], -1], [good, good]),
            lambda: fleet.cancel([known[0], known[0]]),
            lambda: fleet.cancel(["first"]),
            lambda: fleet.place([known[0]], [wall]),
            lambda: fleet.place([known[0]], [(_SIDE, 0)]),
            lambda: fleet.place(known[:2], [good] * 3),
            lambda: fleet.add([good, (-1, 3)], good),
            lambda: fleet.add([good], [wall]),
            lambda: fleet.add([good], [good], spec="no such thing"),
            lambda: fleet.add([good], [good], priority=0),
            lambda: fleet.send(known[:2], [good, (0, _SIDE)]),
        ]
        number = int(self.random.integers(len(wrong)))
        before = fleet.positions.tolist(), fleet.statuses.tolist(), len(fleet)
        try:
            wrong[number]()
        except tb.Error as error:
            self.demand(0 < len(str(error)) < 600 and "\n" not in str(error), "not a sentence:", error)
        else:
            self.demand(False, f"mistake {number} was not refused")
        after = fleet.positions.tolist(), fleet.statuses.tolist(), len(fleet)
        self.demand(before == after, f"mistake {number} has changed something")

    # --- ticks --------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """One tick, and everything that can be said of it."""
        fleet = self.fleet
        ids = np.array(sorted(self.at), np.int64)
        before = np.array([self.at[int(k)] for k in ids], np.int64).reshape(-1, 2)
        fleet.tick()
        after = fleet.positions[ids].reshape(-1, 2)
        moved = fleet.moved[ids]
        step = after - before
        self.demand(bool((step.any(axis=1) == moved).all()), "who moved is not who is said to have moved")
        here, there = before[moved], after[moved]
        aside = step[moved]
        legal = (np.abs(aside).max(axis=1, initial=0) <= 1) & self.free[tuple(there.T)]
        legal &= self.free[here[:, 0] + aside[:, 0] * legal, here[:, 1]]
        legal &= self.free[here[:, 0], here[:, 1] + aside[:, 1] * legal]
        self.demand(bool(legal.all()), "illegal:", here[~legal].tolist(), "to", there[~legal].tolist())
        if self.collisions:
            places = after[:, 0] * _SIDE + after[:, 1]
            self.demand(len(np.unique(places)) == len(places), "two stand in one cell")
            way = set(zip(map(tuple, here.tolist()), map(tuple, there.tolist()), strict=True))
            self.demand(not any((b, a) in way for a, b in way), "two have swapped")
        for k, place in zip(ids[moved].tolist(), there.tolist(), strict=True):
            self.at[k] = tuple(place)
        self.moves += int(moved.sum())
        self.demand(len(fleet) == len(ids), "somebody is lost")
        status = fleet.statuses[ids]
        self.demand(bool(np.isin(status, (0, 1, 2)).all()), "a status that nobody should have", status)
        goals = np.array([self.goal[int(k)] for k in ids], np.int64).reshape(-1, 2)
        home = (after == goals).all(axis=1)
        self.demand(bool((home >= (status == 1)).all()), "reached, but not at its goal")

    def hopeful(self) -> list[int]:
        """Those on their way who have a way; others may take very long to learn that they have none."""
        parts = ndimage.label(self.free)[0]
        status = self.fleet.statuses
        return [k for k, goal in self.goal.items() if status[k] == 0 and parts[self.at[k]] == parts[goal] != 0]

    def leave_alone(self, ticks: int) -> None:
        """Let them walk. In the end who has a way has arrived, and who says that there is none is right."""
        waiting = self.hopeful()
        for _ in range(ticks):
            if not (self.fleet.statuses[waiting] == 0).any():
                break
            self.tick()
        parts = ndimage.label(self.free)[0]
        for k, goal in self.goal.items():
            possible = parts[self.at[k]] == parts[goal] != 0
            status = self.fleet.status(k)
            wrong = "unreachable" if possible else "reached"
            spec = self.fleet._roster.specs[k][0]
            self.demand(status != wrong, f"{spec}, {k}, {self.at[k]} to {goal}: {status}")

    def those_on_their_way(self) -> str:
        """Some of them, in words."""
        some = self.hopeful()[:5]
        return ", ".join(f"{self.fleet._roster.specs[k][0]} {k} at {self.at[k]} to {self.goal[k]}" for k in some)

    def clear(self) -> None:
        """With collisions two may want one cell, and then one of them never rests: each gets a goal of its own."""
        known = sorted(self.at)
        random = np.argwhere(self.free)[self.random.permutation(int(self.free.sum()))]
        goals = [tuple(cell) for cell in random[: len(known)].tolist()]
        self.fleet.send(known, goals)
        self.goal.update(zip(known, goals, strict=True))


def _live(soak: Soak, ticks: int) -> None:
    """So many ticks with orders between them."""
    for _ in range(ticks):
        if soak.random.random() < 0.3:
            soak.order()
        soak.tick()
    if soak.collisions:
        soak.clear()


@mock.patch.object(fleets, "_SHORT", -1.0)  # so little work as here one thread would do alone
def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """``count`` ticks in all, of fleets of five kinds; ``moves`` are those of all agents."""
    frames: tuple[tuple[bool, int, dict[str, Any]], ...] = (
        (False, 2, {"frame_expansions": 3_000}),
        (True, 1, {"frame_expansions": 3_000}),
        (False, 1, {"frame_ms": 0.5}),
        # Too little for all: they take turns, and who can walks on in between.
        (False, 2, {"frame_expansions": 500}),
        (True, 1, {"frame_expansions": 500}),
    )
    soaks = [Soak(np.random.default_rng(random.integers(2**62)), *frame) for frame in frames]
    early, done, tenths = 0.0, 0, 1
    quiet = min(_QUIET, max(1, count // 20))
    while done < count:
        for number, soak in enumerate(soaks):
            what = f"fleet {number}, from tick {soak.fleet.stats.ticks}"
            tally.judge(what, partial(_live, soak, quiet))
            # Then they are left alone. Of those who push each other about nobody says when all will have arrived.
            until = soak.fleet.stats.ticks + (quiet // 4 if soak.collisions else _PATIENCE)
            alone = True
            while alone and not tally.wrong:
                tally.judge(what, partial(soak.leave_alone, min(_AT_ONCE, until - soak.fleet.stats.ticks)))
                alone = soak.fleet.stats.ticks < until and bool(soak.hopeful())
            if soak.hopeful() and not soak.collisions and not tally.wrong:
                tally.blame(what, f"never arrive: {soak.those_on_their_way()}")
            if tally.wrong:
                return
        done = sum(soak.fleet.stats.ticks for soak in soaks)
        tally.moves = sum(soak.moves for soak in soaks)
        if not early and done > count / 3:
            early = resident()
        if done >= tenths * count / 10:
            print(f"soak: {done:,} ticks, {resident():.0f} MB", file=sys.stderr, flush=True)
            tenths = 10 * done // count + 1
    late = resident()
    if late > early * (1 + _PERCENT / 100) + _GROWTH:
        tally.blame("memory", f"{early:.1f} MB after a third of the ticks, {late:.1f} MB at the end")
