"""The viewer in a cell of a notebook: the same page, which speaks over the notebook's own channel. Needs anywidget.

There is no server and no thread. The kernel of a notebook acts when it is spoken to, and while a race plays the page
speaks to it some thirty times a second: ticks that are due are made then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..algorithms import Spec
from ..budget import Budget
from ..errors import Error, at_least
from ..fleet import Fleet
from ..worlds.grid import Grid
from .replay import bundle
from .server import page_files
from .show import DEFAULT_SPECS, stages
from .tab import Message, Tab, sentence

__all__ = ["widget"]

_classes: list[Any] = []  # the class of widgets, once it is made


def widget(
    world: Grid | Fleet,
    specs: Sequence[str | Spec] | str | Spec = DEFAULT_SPECS,
    start: Any = None,
    goal: Any = None,
    *,
    budget: Budget | int | str | None = 50,
    database: Any = None,
    seed: int = 0,
    speed: float | None = 30.0,
    height: int = 640,
) -> Any:
    """The viewer as a widget for Jupyter and marimo, ``height`` pixels tall; all else is as for ``timebound.view``.

    >>> import timebound as tb
    >>> world = tb.Grid(tb.generate.caves((60, 80), seed=3))
    >>> race = tb.widget(world, ["tba*", "k-lrta*"], budget=30)  # the last line of a cell shows it
    >>> race.height
    640
    """
    at_least(200, height, "height is in pixels", 10_000)
    make = stages(world, specs, start, goal, budget=budget, database=database, seed=seed)
    return _widget_class()(Tab(make, speed=speed), height)


def _widget_class() -> Any:
    """Made at first use: the package is an extra, and importing it takes long."""
    if _classes:
        return _classes[0]
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise Error("the viewer in a notebook needs anywidget: pip install 'timebound[notebook]'") from None

    class Widget(anywidget.AnyWidget):
        """A race in a cell."""

        _esm = bundle("widget.js") + "\nexport default { render };\n"
        _css = page_files()["style.css"].decode()
        height = traitlets.Int(640).tag(sync=True)

        def __init__(self, tab: Tab, height: int) -> None:
            super().__init__(height=height)
            self._tab = tab
            self.on_msg(lambda _widget, content, _buffers: self.hear(content))

        def hear(self, content: Any) -> None:
            """A message of the page: do it, and whatever is due meanwhile."""
            for message in _answers(self._tab, content):
                if isinstance(message, str):
                    self.send({"text": message})
                else:
                    self.send({}, buffers=[message])

    _classes.append(Widget)
    return Widget


def _answers(tab: Tab, content: Any) -> list[Message]:
    deed = content.get("do") if isinstance(content, dict) else None
    try:
        if deed == "greet":
            return tab.greet()
        first = [] if deed == "turn" else tab.take(json.dumps(content))
        return first + tab.turn()
    except Error as error:
        return [sentence(str(error))]
