"""Databases: files that were damaged, files that were made up, and unfinished work whose parts were damaged.

A damaged file is refused, or gives the same arrays. One that was made up, with a right checksum, is refused, or an
agent walks with it as well as without: legal moves, and the right status. Parts that were damaged are made again, and
the file is the same to the last byte.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import Tally, damaged

import timebound as tb
from timebound.databases import coverage, files, subgoals
from timebound.kernels.coverage_records import TIERS, CoverageRecords
from timebound.kernels.jit import COMPILED
from timebound.kernels.subgoal_records import SubgoalRecords

__all__ = ["fuzz"]

SIDE = 18 if COMPILED else 10
RECORDS = 24 if COMPILED else 6
NUMBERS = (-(2**31), -(2**31) + 1, -65, -1, 0, 1, 2, 7, 64, 2**16, 2**29, 2**29 + 1, 2**30, 2**31 - 2, 2**31 - 1)
VALUES: list[Any] = [None, True, False, -1, 0, 1, 3, 64, 2**31, 2**63, 10**30, 1.5, 1e308]
VALUES += ["", "0", "<i4", "\n", [], [0], [-1], {}]
RULES: list[dict[str, Any]] = [{}, {"connectivity": 4}, {"corners": "always", "diagonal": 2.5}]


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """Throw ``count`` databases at it: half damaged, four in ten made up, the rest folders of parts."""
    with tempfile.TemporaryDirectory() as folder:
        rooms = [Room(Path(folder) / str(k), rules) for k, rules in enumerate(RULES)]
        for number in range(count):
            kind, room = number % 20, rooms[number % len(rooms)]
            attack = room.damaged_file if kind < 10 else room.made_up_file if kind < 18 else room.damaged_parts
            attack(tally, random, number)


class Room:
    """Good databases of both kinds for one world, their parts, and a file to spoil."""

    def __init__(self, folder: Path, rules: dict[str, Any]) -> None:
        folder.mkdir()
        cells = tb.generate.rooms((SIDE, SIDE), room=5, seed=1)
        cells[:, -3] = False  # behind it is a part that no way leads to
        self.world = tb.Grid(cells, **rules)
        self.file, self.folder = folder / "spoilt.db", folder / "spoilt.db.parts"
        self.good: dict[bool, tb.SubgoalDatabase] = {}
        self.whole: dict[bool, bytes] = {}
        self.parts: dict[bool, dict[str, bytes]] = {}
        for covers in (False, True):
            # Parts as they are just before the end.
            with patch.object(files, "write", _stop), suppress(InterruptedError):
                self._prepare(covers)
            self.parts[covers] = {part.name: part.read_bytes() for part in sorted(self.folder.iterdir())}
            self._prepare(covers)
            self.whole[covers] = self.file.read_bytes()
            self.good[covers] = tb.load_database(self.file, self.world)
            self.file = self.file.with_name(f"spoilt{covers:d}.db")
            self.folder = self.file.with_name(self.file.name + ".parts")

    def _prepare(self, covers: bool) -> None:
        with (
            patch.object(subgoals, "_CHUNK", {"paths": 5, "trees": 5}),
            patch.object(coverage, "TREES", 3),
            patch.object(coverage, "DRAWS", 60 if COMPILED else 8),
            patch.object(coverage, "ENOUGH", 0.02 if COMPILED else 0.2),
        ):
            tb.prepare(self.world, self.file, records=RECORDS, seed=3, coverage=covers)

    def damaged_file(self, tally: Tally, random: np.random.Generator, number: int) -> None:
        """Bytes that are wrong: refused, or the same arrays."""
        covers = bool(random.integers(2))
        self.file.write_bytes(damaged(self.whole[covers], random))
        what = f"database {number}, damaged"
        found = tally.judge(what, lambda: tb.load_database(self.file, self.world))
        if found is not None:
            same = zip(found.records, self.good[covers].records, strict=True)
            if not all(np.array_equal(a, b) for a, b in same):
                tally.blame(what, "other arrays than were written")

    def made_up_file(self, tally: Tally, random: np.random.Generator, number: int) -> None:
        """Arrays or a header that are wrong, with a right checksum: refused, or good enough to walk with."""
        covers = bool(random.integers(2))
        settings: dict[str, Any] = {"coverage": covers}
        nonsense = bool(random.integers(2))
        found = _nonsense(self.world, covers, random) if nonsense else self.good[covers].records
        arrays = {name: array.copy() for name, array in found._asdict().items()}
        told = [_spoil(arrays, self.world.states, random) for _ in range(int(random.integers(4)))]
        data = files.packed(subgoals.KIND, self.world.digest, settings, arrays)
        if random.integers(5) == 0:
            data, changes = _forged(data, random)
            told.append(changes)
        self.file.write_bytes(data)
        what = f"database {number}, {'coverage' if covers else 'random'}, nonsense {nonsense}, made up: {told}"
        s, goal, *more = (int(state) for state in self.world.random_states(10, random))
        parts = self.world.parts()
        if random.integers(10):  # to prove that there is no way takes long
            goal = next((state for state in (goal, *more) if parts[state] == parts[s]), s)
        spec = f"knn-lrta*:candidates={random.choice([1, 2, 10])},climb={random.choice([1, 20, 250])},retry=3"
        result = tally.judge(what, lambda: self._walk(spec, s, goal))
        if result is None:
            if not told:
                tally.blame(what, "refused, and all of it was in range")
            return
        tally.moves += result.moves
        if result.status != ("reached" if parts[s] == parts[goal] else "unreachable"):
            tally.blame(what, f"{spec} from {s} to {goal}: {result.status}")

    def _walk(self, spec: str, s: int, goal: int) -> tb.Result:
        database = tb.load_database(self.file, self.world)
        here, there = self.world.point_of(s), self.world.point_of(goal)
        agent = tb.agent(spec, self.world, here, there, database=database, move_limit=1_000_000)
        while not agent.done:
            agent.run(50)
            _in_range(agent._planner.state, database.records)
        result = agent.result()
        tb.validate(self.world, result.path)
        return result

    def damaged_parts(self, tally: Tally, random: np.random.Generator, number: int) -> None:
        """Some parts are wrong, or the plan: the file is the same, and nothing else is left."""
        covers = bool(random.integers(2))
        self.folder.mkdir(exist_ok=True)
        self.file.unlink(missing_ok=True)
        parts = self.parts[covers]
        for name, data in parts.items():
            (self.folder / name).write_bytes(data)
        spoilt = [str(name) for name in random.choice(list(parts), int(random.integers(1, 4)))]
        for name in spoilt:
            match int(random.integers(8)):
                case 0:
                    (self.folder / name).unlink(missing_ok=True)
                case 1:
                    (self.folder / name).write_bytes(parts[str(random.choice(list(parts)))])
                case _:
                    (self.folder / name).write_bytes(damaged(parts[name], random))
        what = f"database {number}, {'coverage' if covers else 'random'}, damaged parts {spoilt}"
        before = len(tally.wrong), tally.refused
        tally.judge(what, lambda: self._prepare(covers))
        if (len(tally.wrong), tally.refused) != before:
            tally.blame(what, "parts that are damaged must be made again, not refused")
        elif self.file.read_bytes() != self.whole[covers]:
            tally.blame(what, "other bytes than of work that was left alone")
        elif self.folder.exists():
            tally.blame(what, "parts are left behind")


def _stop(*_: object) -> None:
    raise InterruptedError


def _nonsense(world: tb.Grid, covers: bool, random: np.random.Generator) -> SubgoalRecords | CoverageRecords:
    """Records without any sense, all of it in range."""
    count = int(random.integers(0, 40))
    lengths = random.integers(1 if covers else 0, 7, count)
    first, size = np.concatenate([[0], np.cumsum(lengths)]), int(lengths.sum())
    arrays: tuple[Any, ...]
    if not covers:
        arrays = (world.random_states(count, random), world.random_states(count, random), first)
        return SubgoalRecords(*(np.asarray(array, np.int32) for array in (*arrays, world.random_states(size, random))))
    points = np.unique(random.integers(0, 60, size), return_inverse=True)[1]
    cells = int(points.max(initial=-1)) + 1
    steps = random.choice([0, 1, 100, 10**7], size)
    walked = [np.cumsum(part) for part in np.split(steps, first[1:-1])] if count else []
    arrays = (
        points,
        first,
        np.concatenate([np.empty(0, np.int64), *walked]),
        world.random_states(cells, random),
        [0, *np.sort(random.integers(0, cells + 1, TIERS - 1)), cells],
        np.concatenate([[0], np.cumsum(np.bincount(points, minlength=cells))]),
        np.argsort(points, kind="stable"),
    )
    return CoverageRecords(*(np.asarray(array, np.int32) for array in arrays))


def _spoil(arrays: dict[str, np.ndarray], states: int, random: np.random.Generator) -> str:
    """Do something to one of the arrays; returns what."""
    name = str(random.choice(list(arrays)))
    array = arrays[name]
    size = len(array)
    place, other = (int(k) for k in random.integers(0, max(size, 1), 2))
    choice = int(random.integers(10))
    match choice:
        case 0 | 1 | 2 if size:
            array[place] = random.choice(NUMBERS)
        case 3 | 4 if size:
            array[place] = random.integers(-2, max(states, size) + 2)
        case 5 if size:
            array[place] ^= 1
        case 6 if size:
            array[[place, other]] = array[[other, place]]
        case 7:
            arrays[name] = array[: place if random.integers(2) else -1]
        case 8:
            arrays[name] = np.append(array, random.choice(NUMBERS).astype(np.int32))
        case _:
            arrays[name] = array[::-1] if random.integers(2) else random.permutation(array)
    return f"{name} {choice} at {place} and {other}"


def _forged(data: bytes, random: np.random.Generator) -> tuple[bytes, str]:
    """Another value somewhere in the header, and a right checksum."""
    first = len(files.MAGIC) + 8
    end = first + int.from_bytes(data[len(files.MAGIC) : first], "little")
    header = json.loads(data[first:end])
    value = VALUES[int(random.integers(len(VALUES)))]
    where: Any = header
    name: Any = str(random.choice(list(header)))
    if name == "arrays" and random.integers(4):
        where = header["arrays"][int(random.integers(len(header["arrays"])))]
        name = str(random.choice(list(where)))
    elif name == "settings" and random.integers(2):
        where, name = header["settings"], "coverage"
    if random.integers(6):
        where[name] = value
    else:
        del where[name]
    with suppress(TypeError, KeyError):  # without a version there is no checksum
        header["checksum"] = files._checksum(header, data[end:])
    text = files._text(header)
    text += b" " * (-(first + len(text)) % 64)
    return files.MAGIC + len(text).to_bytes(8, "little") + text + data[end:], f"header {name} = {value!r}"


def _in_range(state: Any, records: SubgoalRecords | CoverageRecords) -> None:
    """What the agent holds are places in the database; anything else was read from where nothing is."""
    record = int(state.query["record"][0])
    if isinstance(records, CoverageRecords):
        query = state.candidates.query[0]
        places = [int(query[name]) for name in ("leave", "change", "board", "arrive")] if record >= 0 else []
        assert all(0 <= place < len(records.points) for place in places), places
        assert record < len(records.points)
    else:
        assert record < len(records.starts)
