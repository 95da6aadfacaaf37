"""Frames of the viewer read back, written from what ``viewer/wire.py`` says of them and not from its code."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


class Reader:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, form: str) -> Any:
        values = struct.unpack_from("<" + form, self.raw, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def array(self, dtype: str, count: int) -> np.ndarray:
        assert self.at % 4 == 0, "an array begins at a multiple of four"
        values = np.frombuffer(self.raw, dtype, count, self.at)
        size = values.nbytes + -values.nbytes % 4
        assert not any(self.raw[self.at + values.nbytes : self.at + size])
        self.at += size
        return values

    def counted(self, *dtypes: str) -> list[np.ndarray]:
        count = self.take("I")
        return [self.array(dtype, count) for dtype in dtypes]


def read(raw: bytes) -> dict[str, Any]:
    """A message as plain numbers and arrays; nothing may be left over."""
    reader = Reader(raw)
    kind, second, _ = reader.take("BBH")
    message = [_map, _frame, _crowd, _regions][kind](reader, second)
    assert reader.at == len(raw)
    return {"is": kind, **message}


def _map(reader: Reader, has_costs: int) -> dict[str, Any]:
    rows, cols = reader.take("II")
    free = reader.array("u1", rows * cols).reshape(rows, cols)
    return {"free": free, "costs": reader.array("<f4", rows * cols).reshape(rows, cols) if has_costs else None}


def _frame(reader: Reader, lanes: int) -> dict[str, Any]:
    number = reader.take("I")
    edits = reader.counted("<u4", "<f4")
    return {"number": number, "edits": edits, "lanes": [_lane(reader) for _ in range(lanes)]}


def _lane(reader: Reader) -> dict[str, Any]:
    size = reader.take("I")
    end = reader.at + size
    lane = dict(zip(("epoch", "tick", "status", "flags", "counters"), reader.take("IIBBH"), strict=True))
    lane["position"], lane["goal"] = reader.take("ii")
    lane["counters"] = reader.array("<f4", lane["counters"])
    lane["marks"] = reader.counted("<u4", "<f4", "<f4", "u1")
    lane["learned"] = reader.counted("<u4", "<f4")
    for name in ("trail", "ahead", "subgoals"):
        (lane[name],) = reader.counted("<u4")
    assert reader.at == end
    return lane


def _crowd(reader: Reader, _: int) -> dict[str, Any]:
    message = {"number": reader.take("I"), "edits": reader.counted("<u4", "<f4"), "tick": reader.take("I")}
    message["cells"], message["statuses"] = reader.counted("<u4", "u1")
    (message["stats"],) = reader.counted("<f4")
    return message


def _regions(reader: Reader, lane: int) -> dict[str, Any]:
    return {"lane": lane, "regions": reader.counted("<i4")[0]}


class Page:
    """What a page would know of a race: frames taken in one after the other."""

    def __init__(self, map_message: bytes) -> None:
        message = read(map_message)
        self.costs = message["free"].astype(np.float32) if message["costs"] is None else message["costs"].copy()
        self.lanes: list[dict[str, Any]] = []

    def take(self, frame: bytes) -> Page:
        message = read(frame)
        assert message["is"] == 1
        cells, costs = message["edits"]
        self.costs.ravel()[cells] = costs
        if len(self.lanes) != len(message["lanes"]):
            self.lanes = [{"epoch": -1} for _ in message["lanes"]]
        for known, said in zip(self.lanes, message["lanes"], strict=True):
            anew = known["epoch"] != said["epoch"]
            if anew or said["flags"] & 1:
                known["marks"] = {}
            if anew or said["flags"] & 2:
                known["learned"] = {}
            if anew or said["flags"] & 4:
                known["trail"] = []
            for name in ("epoch", "tick", "status", "position", "goal", "counters", "ahead", "subgoals"):
                known[name] = said[name].tolist() if isinstance(said[name], np.ndarray) else said[name]
            for cell, g, h, mark in zip(*(column.tolist() for column in said["marks"]), strict=True):
                known["marks"][cell] = (mark, None if g != g else g, None if h != h else h)
            known["learned"].update(zip(*(column.tolist() for column in said["learned"]), strict=True))
            known["trail"] += said["trail"].tolist()
        return self
