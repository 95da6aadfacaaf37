"""Races and crowds written down as one web page that plays them anywhere, without a server and without a network.

The page is the viewer's own: its modules are put into one script, and what would have come over the socket lies packed
beside it.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..atomic import replaced
from ..errors import Error, at_least
from ..text import in_html
from .race import Race, Recording
from .server import page_files
from .tab import Message, Stage

__all__ = ["bundle", "record", "replay_page", "save_replay"]

_MOST_TICKS = 20_000  # if nothing is said
_BARE = 8  # bytes of a message about regions where there are none
_SECONDS = 12.0  # that a replay takes, about
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def bundle(entry: str) -> str:
    """One script of a module of the page and all that it imports.

    Their names are all different, so that it is enough to put them one after the other.
    """
    sources = {name: raw.decode() for name, raw in page_files().items() if name.endswith(".js")}
    ordered: list[str] = []

    def visit(name: str) -> None:
        if name not in ordered:
            for needed in _IMPORT.findall(sources[name]):
                visit(needed)
            ordered.append(name)

    visit(entry)
    text = "\n".join(_IMPORT.sub("", sources[name]) for name in ordered)
    return re.sub(r"^export (?=async function|function|class|const)", "", text, flags=re.MULTILINE)


def record(stage: Stage, *, name: str = "", ticks: int | None = None, frames: int = 400) -> list[Message]:
    """Let a race or a crowd run from its start, and give what a page would have heard.

    ``name`` is what the map is called. It ends when all are done, or after ``ticks``. At most so many ``frames`` are
    made: of a long race fewer per tick.

    >>> import timebound as tb
    >>> from timebound.viewer.race import Race
    >>> messages = record(Race(tb.Grid([[1] * 9] * 5), ["a*", "lrta*"], (0, 0), (4, 8)))
    >>> len(messages)  # hello, the map, and nine frames, the first one before the first tick
    11
    """
    most = _MOST_TICKS if ticks is None else at_least(1, ticks, "ticks is how many to record")
    at_least(2, frames, "frames is how many to record")
    if isinstance(stage, Race):
        recording = Recording.of(stage, frames=frames, most_ticks=most)
        hello, pictures = recording.hello, recording.frames
        made = recording.every * (len(pictures) - 1)
        regions = [stage.regions_bytes(k) for k in range(len(stage.lanes))]
        ground = [recording.map, *(one for one in regions if len(one) > _BARE)]
    else:
        hello, ground, pictures, made = stage.hello(), [stage.map_bytes()], [stage.frame()], 0
        every = -(-most // (frames - 1))
        while made < most and not stage.done:
            stage.tick(min(every, most - made))
            made += min(every, most - made)
            pictures.append(stage.frame())
    hello |= {"name": name, "speed": max(1.0, float(f"{made / _SECONDS:.2g}"))}
    return [json.dumps(hello), *ground, *pictures]


def _packed(messages: Iterable[Message]) -> str:
    parts = []
    for message in messages:
        raw = message.encode() if isinstance(message, str) else message
        parts += [struct.pack("<II", not isinstance(message, str), len(raw)), raw, bytes(-len(raw) % 4)]
    return base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()


def replay_page(messages: Iterable[Message], title: str = "timebound") -> str:
    """A web page, complete in itself, that replays what was recorded."""
    style = page_files()["style.css"].decode()
    script = bundle("replay.js")
    if "</script" in script or "</style" in style:
        raise AssertionError("the page's own text would end too early")
    icon = base64.b64encode(page_files()["icon.svg"]).decode()
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    words = in_html(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{words}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>
{style}</style>
</head>
<body class="tbv-page">
<div id="timebound"></div>
<noscript>The replay needs JavaScript.</noscript>
<script type="application/octet-stream" id="recording">{_packed(messages)}</script>
<script type="module">
{script}
const recording = document.getElementById("recording").textContent;
globalThis.timebound = await replay(document.getElementById("timebound"), recording);
</script>
</body>
</html>
"""


def save_replay(stage: Stage, path: str | Path, *, title: str = "timebound", **options: Any) -> None:
    """Record a race or a crowd, with the options of ``record``, and write its page, whole or not at all."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise Error(f"replays are .html files, so the name ends in .html, not {path}")
    page = replay_page(record(stage, **options), title)
    with replaced(path) as beside:
        Path(beside).write_text(page, encoding="utf-8")
