"""One page and its race: what the page asks for is done, ticks are made when they are due, frames when it can take one.

There is no socket here and no thread. Whoever owns a tab hands it the page's messages (``take``), gives it turns
(``turn``) and sends on what both return: the server does so in a thread for each tab, a notebook whenever the page
writes. A page acknowledges every frame. While two are on their way no other is made: what happens meanwhile is in the
next one, so that a slow browser misses pictures, and never ticks.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from ..errors import Error, is_number
from ..text import shown

__all__ = ["LARGEST_MESSAGE", "Message", "Stage", "Tab", "sentence"]

Message = str | bytes

LARGEST_MESSAGE = 1 << 16  # bytes of a page's message
_CELLS = 8192  # painted by one message
_LANES = 6
_SPEC = 300  # letters of a spec, or of a budget
_ON_THE_WAY = 2  # frames that a page has not acknowledged, at most
_PICTURES = 60.0  # frames in a second, at most
# The same with ticks as fast as can be. Where cores are few, whatever the browser draws takes them from the search.
_FAST_PICTURES = 8.0 if (os.cpu_count() or 1) <= 2 else 24.0
_SLICE = 0.008  # seconds of ticks before the page is listened to again
_SHARE = 24.0  # with ticks as fast as can be: seconds of ticks for each second of making frames
_LATE = 0.25  # seconds behind which the pace is given up: what cannot be made up for is not
_FASTEST = 1_000_000  # ticks in a second


class Stage(Protocol):
    """What a page shows: a race or a crowd."""

    @property
    def done(self) -> bool: ...
    def tick(self, n: int = 1) -> None: ...
    def set_goal(self, cell: int) -> None: ...
    def paint(self, cells: Any, cost: float) -> Any: ...
    def frame(self) -> bytes: ...
    def whole(self) -> bytes: ...
    def hello(self) -> dict[str, Any]: ...
    def map_bytes(self) -> bytes: ...


class Tab:
    """A stage and the page that looks at it."""

    def __init__(
        self,
        make: Callable[[], Stage],
        *,
        speed: float | None = 30.0,
        playing: bool = False,
        name: str = "",
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._make, self._name = make, name
        self.stage = make()
        self.playing = playing
        self.speed = speed  # ticks in a second; None: as many as can be made
        self._clock = clock or time.perf_counter
        self._waiting: set[int] = set()  # frames that the page has not acknowledged
        self._changed = False  # since the last frame
        self._next_frame = 0.0
        self._ticked = 0  # of the present pace, which began ...
        self._since = 0.0  # ... then
        self._tick_seconds = 0.001  # of one tick, lately
        self._made, self._measured = 0, self._clock()
        self._tell_state = False
        self._begin_pace()

    # --- what the page hears ------------------------------------------------------------------------------------------

    def greet(self) -> list[Message]:
        """All that a new or reloaded page must know."""
        self._waiting.clear()
        self._changed, self._next_frame = True, 0.0
        own = {"playing": self.playing, "speed": self.speed, "name": self._name}
        hello = _text("hello", **{**self.stage.hello(), **own})
        return [hello, self.stage.map_bytes(), self.stage.whole()]

    def _state(self) -> str:
        now = self._clock()
        seconds = now - self._measured
        rate = self._made / seconds if seconds > 0 else 0.0
        self._made, self._measured = 0, now
        return _text("state", playing=self.playing, speed=self.speed, ticks_per_second=rate)

    # --- turns --------------------------------------------------------------------------------------------------------

    def turn(self, *, ready: bool = True) -> list[Message]:
        """Make the ticks that are due and, if the page can take it and the line is ``ready``, a frame."""
        self._make_ticks()
        messages: list[Message] = []
        now = self._clock()
        if self._changed and ready and len(self._waiting) < _ON_THE_WAY and now >= self._next_frame:
            frame = self.stage.frame()
            made = self._clock() - now
            # As fast as can be means ticks, not pictures; at a pace, there is time for both.
            fast = self.playing and self.speed is None
            pause = 1.0 / _PICTURES - made
            if fast:
                pause = max(1.0 / _FAST_PICTURES - made, made * _SHARE)
            self._next_frame = now + made + pause
            self._waiting.add(_number(frame))
            self._changed = False
            messages.append(frame)
        if self._tell_state or (self.playing and now - self._measured > 1.0):
            self._tell_state = False
            messages.append(self._state())
        return messages

    def rest(self, *, ready: bool = True) -> float | None:
        """Seconds until there is something to do; None: not before a message comes."""
        now, until = self._clock(), math.inf
        if self._changed and ready and len(self._waiting) < _ON_THE_WAY:
            until = self._next_frame
        if self.playing and not self.stage.done:
            due = now if self.speed is None else self._since + (self._ticked + 1) / self.speed
            until = min(until, due)
        return None if until == math.inf else max(until - now, 0.0)

    def _make_ticks(self) -> None:
        if not self.playing or self.stage.done:
            return
        began = self._clock()
        room = max(1, int(_SLICE / self._tick_seconds))
        if self.speed is None:
            count = room
        else:
            due = int((began - self._since) * self.speed) - self._ticked
            if due <= 0:
                return
            count = min(due, room)
            self._ticked += count
            if due - count > max(1.0, _LATE * self.speed):
                self._begin_pace()
        self._tick(count)
        lately = (self._clock() - began) / count
        self._tick_seconds = max(1e-7, lately if lately > 4 * self._tick_seconds else (self._tick_seconds + lately) / 2)

    def _tick(self, count: int) -> None:
        self.stage.tick(count)
        self._made += count
        self._changed = True
        if self.stage.done:
            self._tell_state = True

    def _begin_pace(self) -> None:
        self._since, self._ticked = self._clock(), 0

    # --- what the page says -------------------------------------------------------------------------------------------

    def take(self, text: Message) -> list[Message]:
        """Do what a page's message asks for. One that makes no sense is answered by one sentence."""
        try:
            asked = _parsed(text)
            deed = asked.get("do")
            does = self._DEEDS.get(deed) if isinstance(deed, str) else None
            if does is None:
                raise Error(f"a message says what to do, one of {', '.join(self._DEEDS)}, not {_brief(deed)}")
            return does(self, asked) or []
        except Error as error:
            return [sentence(str(error))]

    def _play(self, asked: dict[str, Any]) -> list[Message]:
        self.playing = True
        self._begin_pace()
        self._made, self._measured = 0, self._clock()
        return [self._state()]

    def _pause(self, asked: dict[str, Any]) -> list[Message]:
        self.playing = False
        return [self._state()]

    def _tick_once(self, asked: dict[str, Any]) -> list[Message]:
        count = _whole(asked, "n", 1, 1000, 1)
        self.playing = False
        self._tick(count)
        return [self._state()]

    def _set_speed(self, asked: dict[str, Any]) -> list[Message]:
        value = asked.get("value")
        if value is not None and (not is_number(value) or not 0.1 <= value <= _FASTEST):
            raise Error(f"a speed is ticks per second, from 0.1 to {_FASTEST:,}, or null, not {_brief(value)}")
        self.speed = None if value is None else float(value)
        self._begin_pace()
        return [self._state()]

    def _restart(self, asked: dict[str, Any]) -> list[Message]:
        self._begin_pace()
        if hasattr(self.stage, "restart"):
            self.stage.restart()
            self._changed = True
            return []
        self.stage = self._make()
        return self.greet()

    def _set_start(self, asked: dict[str, Any]) -> None:
        self._of_a_race("set_start")(self._cell(asked))
        self._changed = True

    def _place(self, asked: dict[str, Any]) -> None:
        self._of_a_race("place")(self._cell(asked))
        self._changed = True

    def _set_goal(self, asked: dict[str, Any]) -> None:
        self.stage.set_goal(self._cell(asked))
        self._changed = True
        self._begin_pace()

    def _paint(self, asked: dict[str, Any]) -> None:
        cells, cost = asked.get("cells"), asked.get("cost")
        if not isinstance(cells, list) or len(cells) > _CELLS:
            raise Error(f"what is painted is a list of at most {_CELLS:,} cells")
        if cost is None or not is_number(cost) or not (cost == 0 or 1 <= cost <= 100):
            raise Error(f"a painted cell's cost is 0 for a wall, or a number from 1 to 100, not {_brief(cost)}")
        count = self._cell_count()
        for cell in cells:
            if type(cell) is not int or not 0 <= cell < count:
                raise Error(f"a cell is a whole number from 0 to {count - 1}, not {_brief(cell)}")
        if cells:
            self.stage.paint(cells, float(cost))
            self._changed = True
            self._begin_pace()

    def _set_lanes(self, asked: dict[str, Any]) -> list[Message]:
        specs = asked.get("specs")
        if not isinstance(specs, list) or not 1 <= len(specs) <= _LANES:
            raise Error(f"lanes are given by a list of 1 to {_LANES} algorithms")
        for spec in specs:
            if not isinstance(spec, str) or len(spec) > _SPEC:
                raise Error(f"an algorithm is named by a text such as tba* or tb-wa*:weight=3, not {_brief(spec)}")
        self._of_a_race("set_lanes")(list(specs))
        self._begin_pace()
        return self.greet()

    def _set_budget(self, asked: dict[str, Any]) -> list[Message]:
        value = asked.get("value")
        if type(value) is not int and not (isinstance(value, str) and 0 < len(value) <= _SPEC):
            raise Error(f"a budget is a number of states such as 50, or a time such as 2ms, not {_brief(value)}")
        self._of_a_race("set_budget")(value)
        self._begin_pace()
        return self.greet()

    def _regions(self, asked: dict[str, Any]) -> list[Message]:
        ask = self._of_a_race("regions_bytes")
        lane = _whole(asked, "lane", 0, len(self.stage.lanes) - 1)  # type: ignore[attr-defined]
        answer = ask(lane)
        return [answer] if answer else []

    def _ack(self, asked: dict[str, Any]) -> None:
        self._waiting.discard(_whole(asked, "number", 0, 2**32 - 1))

    _DEEDS: dict[str, Callable[[Any, dict[str, Any]], list[Message] | None]] = {  # noqa: RUF012
        "play": _play,
        "pause": _pause,
        "tick": _tick_once,
        "speed": _set_speed,
        "restart": _restart,
        "start": _set_start,
        "place": _place,
        "goal": _set_goal,
        "paint": _paint,
        "lanes": _set_lanes,
        "budget": _set_budget,
        "regions": _regions,
        "ack": _ack,
    }

    def _of_a_race(self, name: str) -> Callable[..., Any]:
        found = getattr(self.stage, name, None)
        if found is None:
            raise Error("this is for races, and here a crowd walks")
        return found

    def _cell_count(self) -> int:
        rows, cols = self.stage.world.shape  # type: ignore[attr-defined]
        return int(rows * cols)

    def _cell(self, asked: dict[str, Any]) -> int:
        return _whole(asked, "cell", 0, self._cell_count() - 1)


def sentence(text: str) -> str:
    """A message that tells the page what was wrong."""
    return _text("error", text=" ".join(text.split())[:500])


def _text(kind: str, /, **fields: Any) -> str:
    return json.dumps({**fields, "is": kind}, separators=(",", ":"))


def _number(frame: bytes) -> int:
    return int.from_bytes(frame[4:8], "little")


def _parsed(text: Message) -> dict[str, Any]:
    if not isinstance(text, str):
        raise Error("messages of a page are text, and this one is binary")
    try:
        asked = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Error("messages of a page are JSON, and this one is not") from None
    if not isinstance(asked, dict):
        raise Error('a message is an object such as {"do": "play"}')
    return asked


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and infinity are no JSON


def _whole(asked: dict[str, Any], name: str, least: int, most: int, otherwise: int | None = None) -> int:
    value = asked.get(name, otherwise)
    if type(value) is not int or not least <= value <= most:
        raise Error(f"{name} is a whole number from {least} to {most}, not {_brief(value)}")
    return value


def _brief(value: Any) -> str:
    return shown(value)[:60]
