"""What goes to the page: frames as bytes, little endian, every array at a multiple of four bytes.

0 map:     u8 0, u8 has_costs, u16 0, u32 rows, u32 cols, u8[rows*cols] 1 free or 0 wall; if has_costs f32[rows*cols]
1 frame:   u8 1, u8 lanes, u16 0, u32 number, edits, the lanes (``Lane``)
2 crowd:   u8 2, u8 0, u16 0, u32 number, edits, u32 tick, u32 n, u32 cell[n], u8 status[n], u32 n, f32 stats[n]
3 regions: u8 3, u8 lane, u16 0, u32 n, i32 region[n], -1 for none

Edits are u32 n, u32 cell[n], f32 cost[n], 0 for a wall. A cell is row * cols + col.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ACTIVE",
    "BACK_MOVE",
    "ERROR",
    "FORGET_LEARNED",
    "FORGET_MARKS",
    "FORGET_TRAIL",
    "NO_EDITS",
    "PROTOCOL",
    "STATUS",
    "LanePart",
    "crowd_message",
    "frame_message",
    "map_message",
    "regions_message",
]

PROTOCOL = 1
_MAP, _FRAME, _CROWD, _REGIONS = range(4)

# A lane's status by its name.
STATUS = {"active": 0, "reached": 1, "unreachable": 2, "move-limit": 3, "error": 4}
ACTIVE, ERROR = STATUS["active"], STATUS["error"]

# What the page is to forget before it takes what is in the frame.
FORGET_MARKS, FORGET_LEARNED, FORGET_TRAIL = 1, 2, 4

BACK_MOVE = 1 << 31  # in a cell of the trail: the agent stepped back to it

_NONE = np.zeros(0, np.uint32)
Edits = tuple[np.ndarray, np.ndarray]  # cells, and what each costs now; 0 is a wall
NO_EDITS: Edits = (_NONE, _NONE)


class LanePart(NamedTuple):
    """What one lane has to say in a frame; see ``_lane``."""

    epoch: int  # changes when the lane begins anew
    tick: int
    status: int
    flags: int
    position: int
    goal: int
    counters: Sequence[float]  # NaN: not known
    marks: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # cell, g, h, and 0 none, 1 open, 2 closed
    learned: tuple[np.ndarray, np.ndarray]  # cell, and by how much its value is above its estimate
    trail: np.ndarray  # cells since the last frame
    ahead: np.ndarray  # cells that it would walk; in the place of those of before
    subgoals: np.ndarray  # the same


def _bytes(array: Any, dtype: str) -> bytes:
    raw = np.ascontiguousarray(array, dtype).tobytes()
    return raw + bytes(-len(raw) % 4)


def _counted(*columns: tuple[Any, str]) -> bytes:
    """Arrays of one length, after that length."""
    parts = [struct.pack("<I", len(columns[0][0]))]
    parts += [_bytes(array, dtype) for array, dtype in columns]
    return b"".join(parts)


def _edits(edits: Edits) -> bytes:
    return _counted((edits[0], "<u4"), (edits[1], "<f4"))


def map_message(free: np.ndarray, costs: np.ndarray | None) -> bytes:
    """The whole map; ``costs`` where cells have such, 0 in walls."""
    head = struct.pack("<BBHII", _MAP, costs is not None, 0, *free.shape)
    return head + _bytes(free, "u1") + (b"" if costs is None else _bytes(costs, "<f4"))


def frame_message(number: int, edits: Edits, lanes: Sequence[LanePart]) -> bytes:
    """What has changed in a race."""
    parts = [struct.pack("<BBHI", _FRAME, len(lanes), 0, number & 0xFFFFFFFF), _edits(edits)]
    for lane in lanes:
        body = _lane(lane)
        parts += [struct.pack("<I", len(body)), body]
    return b"".join(parts)


def _lane(lane: LanePart) -> bytes:
    head = struct.pack("<IIBBH", lane.epoch, lane.tick, lane.status, lane.flags, len(lane.counters))
    cell, g, h, mark = lane.marks
    return b"".join(
        (
            head,
            struct.pack("<ii", lane.position, lane.goal),
            _bytes(lane.counters, "<f4"),
            _counted((cell, "<u4"), (g, "<f4"), (h, "<f4"), (mark, "u1")),
            _counted((lane.learned[0], "<u4"), (lane.learned[1], "<f4")),
            _counted((lane.trail, "<u4")),
            _counted((lane.ahead, "<u4")),
            _counted((lane.subgoals, "<u4")),
        )
    )


def crowd_message(
    number: int, edits: Edits, tick: int, cells: np.ndarray, statuses: np.ndarray, stats: Sequence[float]
) -> bytes:
    """Where all units are."""
    return b"".join(
        (
            struct.pack("<BBHI", _CROWD, 0, 0, number & 0xFFFFFFFF),
            _edits(edits),
            struct.pack("<I", tick),
            _counted((cells, "<u4"), (statuses, "u1")),
            _counted((stats, "<f4")),
        )
    )


def regions_message(lane: int, regions: np.ndarray) -> bytes:
    """Which region each cell of the map is in; nothing if there are none."""
    return struct.pack("<BBH", _REGIONS, lane, 0) + _counted((regions, "<i4"))
