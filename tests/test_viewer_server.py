"""The viewer's server without a browser: who is let in, and what becomes of those who mean no good."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from helpers import COMPILED
from timebound.cli import main
from timebound.viewer.race import Crowd, Race
from timebound.viewer.server import Viewer
from timebound.viewer.tab import LARGEST_MESSAGE, Tab

client = pytest.importorskip("websockets.sync.client")
exceptions = pytest.importorskip("websockets.exceptions")

pytestmark = pytest.mark.once

WORLD = tb.Grid([[1] * 30] * 20)


def race() -> Race:
    return Race(WORLD, ["a*", "tba*"], (0, 0), (19, 29), budget=20)


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with Viewer(race, speed=200.0, ping=0.4, grace=0.3, most_tabs=3) as found:
        yield found


class Page:
    """What a page does, without a browser: it acknowledges frames, and knows the newest."""

    def __init__(self, viewer: Viewer, **options: Any) -> None:
        options = {"origin": f"http://127.0.0.1:{viewer.port}", "tab": "", **options}
        tab, address = options.pop("tab"), options.pop("address", viewer.address)
        address = address.replace("http", "ws") + "socket" + (f"?tab={tab}" if tab else "")
        # A context manager in newer versions of the package, and the connection itself in older ones.
        self.line = client.connect(address, max_size=None, **options).__enter__()
        self.name, self.hello, self.frames, self.errors = "", {}, 0, []
        self.ticks, self.statuses, self.acknowledges = (0, 0), (0, 0), True

    def do(self, deed: str, **fields: Any) -> None:
        self.line.send(json.dumps({"do": deed, **fields}))

    def hear(self, until: Callable[[], Any], seconds: float = 60.0) -> None:
        """Listen until something is so."""
        last = time.monotonic() + seconds
        while not until():
            self.take(self.line.recv(timeout=max(0.01, last - time.monotonic())))

    def take(self, message: str | bytes) -> None:
        if isinstance(message, str):
            heard = json.loads(message)
            if heard["is"] == "tab":
                self.name = heard["name"]
            elif heard["is"] == "hello":
                self.hello = heard
            elif heard["is"] == "error":
                self.errors.append(heard["text"])
        elif message[0] == 1:
            self.frames += 1
            edits = int.from_bytes(message[8:12], "little")
            at, ticks, statuses = 12 + 8 * edits, [], []
            for _ in range(message[1]):
                size = int.from_bytes(message[at : at + 4], "little")
                ticks.append(int.from_bytes(message[at + 8 : at + 12], "little"))
                statuses.append(message[at + 12])
                at += 4 + size
            self.ticks, self.statuses = tuple(ticks), tuple(statuses)
            if self.acknowledges:
                self.do("ack", number=int.from_bytes(message[4:8], "little"))

    def goes_on(self) -> None:
        """The race takes part in life: after a restart it runs to its end."""
        self.do("restart")
        self.hear(lambda: max(self.ticks) < 5)
        self.do("play")
        self.hear(lambda: self.statuses == (1, 1))


def get(viewer: Viewer, path: str | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    address = viewer.address if path is None else f"http://127.0.0.1:{viewer.port}{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, dict(refusal.headers), refusal.read()


# ------------------------------------------------------------------------------------------------ who is let in


def test_the_page_is_given_to_who_knows_the_address(viewer: Viewer) -> None:
    status, headers, body = get(viewer)
    assert status == 200
    assert b"main.js" in body
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    token = viewer.address.split("/")[3]
    assert get(viewer, f"/{token}/style.css")[1]["Content-Type"].startswith("text/css")
    assert get(viewer, f"/{token}/main.js")[1]["Content-Type"].startswith("text/javascript")
    for path in (
        "/",
        "/x/",
        "/main.js",
        f"/{token[:-1]}/",
        f"/{token}/../server.py",
        f"/{token}/a/b",
        f"/{token}/x.js",
    ):
        status, _, body = get(viewer, path)
        assert (status, body.count(b"\n")) == (404, 1), path


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_names_that_lead_here_are_refused(viewer: Viewer, host: str) -> None:
    assert get(viewer, Host=host)[0] == 403
    assert get(viewer, Host=f"localhost:{viewer.port}")[0] == 200


def test_other_pages_cannot_open_a_socket(viewer: Viewer) -> None:
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{viewer.port + 1}", None):
        with pytest.raises(exceptions.InvalidStatus) as refused:
            Page(viewer, origin=origin)
        assert refused.value.response.status_code == 403
    with pytest.raises(exceptions.InvalidStatus) as refused:
        Page(viewer, address=f"http://127.0.0.1:{viewer.port}/wrong/")
    assert refused.value.response.status_code == 404
    assert viewer.tabs == 0


def test_it_listens_on_the_loopback_alone(viewer: Viewer) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("the system does not tell who listens where")
    port = f":{viewer.port:04X}"
    found = [line.split()[1] for line in listening.read_text().splitlines() if line.split()[1].endswith(port)]
    assert found
    assert all(one.startswith("0100007F") for one in found)


# ------------------------------------------------------------------------------------------------ a race


def test_a_page_drives_its_race(viewer: Viewer) -> None:
    page = Page(viewer)
    page.hear(lambda: page.hello and page.frames)
    assert [lane["name"] for lane in page.hello["lanes"]] == ["a*", "tba*"]
    page.do("tick")
    page.hear(lambda: page.ticks == (1, 1))
    page.do("play")
    page.hear(lambda: page.statuses == (1, 1))
    wall = [row * 30 + 15 for row in range(20)]
    page.do("paint", cells=wall, cost=0)
    page.do("restart")
    page.hear(lambda: page.statuses == (2, 2))
    page.do("paint", cells=wall, cost=1)
    page.hear(lambda: page.statuses == (1, 1))
    page.do("goal", cell=5)
    page.hear(lambda: page.statuses == (0, 0))
    page.hear(lambda: page.statuses == (1, 1))
    page.do("lanes", specs=["a*", "no-such"])
    page.do("budget", value="two")
    page.hear(lambda: len(page.errors) == 2)
    assert "no-such" in page.errors[0]
    assert "two" in page.errors[1]
    page.do("lanes", specs=["tba*:shortcut=true"])
    page.hear(lambda: len(page.hello["lanes"]) == 1)


def test_every_tab_has_its_race_and_a_reloaded_one_finds_it(viewer: Viewer) -> None:
    first, second = Page(viewer), Page(viewer)
    for page in (first, second):
        page.hear(lambda page=page: page.frames and page.name)
    first.do("tick", n=7)
    first.hear(lambda: first.ticks == (7, 7))
    assert second.ticks == (0, 0)
    first.line.close()
    again = Page(viewer, tab=first.name)
    again.hear(lambda: again.ticks == (7, 7))
    assert again.name == first.name
    copied = Page(viewer, tab=first.name)  # a browser's "duplicate tab" takes the name along
    copied.hear(lambda: copied.frames and copied.name)
    assert copied.name != first.name
    assert copied.ticks == (0, 0)
    one_more = Page(viewer)
    with pytest.raises(exceptions.ConnectionClosed):
        one_more.hear(lambda: False)
    assert "3 tabs" in one_more.errors[0]
    for page in (second, again, copied):
        page.line.close()
    until(lambda: viewer.tabs == 0)  # a closed tab ends its race


def test_who_does_not_acknowledge_gets_two_frames_and_loses_no_tick(viewer: Viewer) -> None:
    page = Page(viewer)
    page.acknowledges = False
    page.hear(lambda: page.frames)
    page.do("play")
    with suppress(TimeoutError):
        page.hear(lambda: False, seconds=1.0)
    assert page.frames <= 3  # the whole, and two
    before = page.ticks
    page.acknowledges = True
    page.do("ack", number=0)
    page.do("ack", number=1)
    page.do("ack", number=2)
    page.hear(lambda: page.statuses == (1, 1))
    assert page.ticks > before


# ------------------------------------------------------------------------------------------------ no good


def until(condition: Callable[[], Any], seconds: float = 30.0) -> None:
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


NONSENSE: list[Any] = [
    b"\x00\x01\x02", b"", "", "null", "[]", "7", "{", '{"do": 5}', '{"do": "fly"}', '{"do": "tick", "n": 1e99}',
    '{"do": "tick", "n": true}', '{"do": "goal"}', '{"do": "goal", "cell": -1}', '{"do": "goal", "cell": 600}',
    '{"do": "paint", "cells": [0, 1.5], "cost": 0}', '{"do": "paint", "cells": "x", "cost": 0}',
    '{"do": "paint", "cells": [1], "cost": NaN}', '{"do": "paint", "cells": [1], "cost": -3}',
    '{"do": "paint", "cells": [1], "cost": 4}', '{"do": "lanes", "specs": []}', '{"do": "lanes", "specs": [7]}',
    '{"do": "lanes", "specs": ["a*", "a*", "a*", "a*", "a*", "a*", "a*"]}', '{"do": "budget", "value": -1}',
    '{"do": "budget", "value": null}', '{"do": "speed", "value": 0}', '{"do": "speed", "value": "fast"}',
    '{"do": "regions", "lane": 9}', '{"do": "ack", "number": "x"}', '{"do": "start", "cell": []}',
    "[" * 5000, '{"do": "' + "x" * 50_000 + '"}', '{"do": "__class__"}', "\u0000\ud7ff",
]  # fmt: skip


def test_nonsense_is_answered_by_one_sentence_each() -> None:
    tab = Tab(race)
    for message in NONSENSE:
        answers = tab.take(message)
        assert len(answers) == 1, message
        said = json.loads(answers[0])
        assert said["is"] == "error"
        assert 10 < len(said["text"]) < 500
        assert "\n" not in said["text"]
        assert "Traceback" not in said["text"]


def test_fuzzed_messages_never_break_a_tab() -> None:
    dice = random.Random(1)
    tab = Tab(race)
    words = ["play", "pause", "tick", "speed", "restart", "start", "place", "goal", "paint", "budget", "regions", "ack"]
    values = [0, 1, -1, 7, 599, 600, 2**40, 1.5, True, None, "", "50", "2ms", [], [3, 4], ["a*"], {}, {"a": 1}]
    names = ["n", "value", "cell", "cells", "cost", "specs", "lane", "number"]
    for _ in range(400 if COMPILED else 100):
        message = {"do": dice.choice(words), **{dice.choice(names): dice.choice(values) for _ in range(3)}}
        text = json.dumps(message)
        if dice.random() < 0.2:
            at = dice.randrange(len(text))
            text = text[:at] + chr(dice.randrange(32, 1000)) + text[at + 1 :]
        for answer in tab.take(text):
            assert isinstance(answer, bytes) or json.loads(answer)["is"] in ("error", "state", "hello")
        tab.playing = tab.playing and dice.random() < 0.5
    tab.take('{"do": "speed", "value": null}')
    tab.take('{"do": "restart"}')
    tab.take(json.dumps({"do": "paint", "cells": list(range(600)), "cost": 1}))
    tab.take('{"do": "goal", "cell": 599}')
    tab.take('{"do": "play"}')
    for _ in range(5000):
        tab.turn()
        if tab.stage.done:
            break
    assert tab.stage.done


def test_floods_large_messages_and_half_open_sockets_harm_nobody(viewer: Viewer) -> None:
    good = Page(viewer)
    good.hear(lambda: good.frames)
    before = memory()
    # 100 MB in one message, a little at a time: the socket is closed as soon as the size is known.
    large = handshake(viewer)
    with suppress(OSError):
        large.sendall(b"\x81\xff" + (100_000_000).to_bytes(8, "big") + bytes(4))
        for _ in range(1600):
            large.sendall(bytes(62_500))
    with suppress(ConnectionResetError):  # with what was sent in vain still on its way
        assert (1009).to_bytes(2, "big") in b"".join(iter(lambda: large.recv(4096), b""))
    large.close()
    # A message of the largest size is heard.
    good.line.send("x" * LARGEST_MESSAGE)
    good.hear(lambda: good.errors)
    # A flood: what is too much is not heard, and that is said.
    flood = Page(viewer)
    flood.hear(lambda: flood.frames)
    for _ in range(5000):
        flood.line.send('{"do": "ack", "number": 1}')
    flood.hear(lambda: any("more than can be heard" in text for text in flood.errors))
    # A page that is there no more, but has not said so: nothing answers the server's questions.
    silent = handshake(viewer)
    # One that does not even ask.
    mute = socket.create_connection(("127.0.0.1", viewer.port))
    # Bytes that are no HTTP.
    garbage = socket.create_connection(("127.0.0.1", viewer.port))
    garbage.sendall(random.Random(2).randbytes(100_000))
    flood.line.close()
    good.goes_on()
    until(lambda: viewer.tabs == 1)
    good.goes_on()
    assert memory() - before < 60_000_000
    for one in (silent, mute, garbage):
        one.close()


def handshake(viewer: Viewer) -> socket.socket:
    """A socket that the server takes for a page, and that does nothing of its own."""
    line = socket.create_connection(("127.0.0.1", viewer.port), timeout=20)
    path = "/" + viewer.address.split("/", 3)[3] + "socket"
    line.sendall(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nOrigin: http://127.0.0.1:{viewer.port}\r\n"
        f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert b"101" in line.recv(100)
    return line


class Heavy:
    """A stage whose map is large."""

    done, world = True, WORLD

    def hello(self) -> dict[str, Any]:
        return {"kind": "race"}

    def map_bytes(self) -> bytes:
        return b"x" * 5_000_000

    def whole(self) -> bytes:
        return bytes(1000)

    frame = whole

    def set_budget(self, budget: Any) -> None:
        """Anything will do."""


def test_who_asks_for_much_and_reads_nothing_takes_no_memory() -> None:
    with Viewer(Heavy) as viewer:  # type: ignore[arg-type]
        greedy = Page(viewer)
        before = memory()
        for _ in range(200):  # a gigabyte of maps
            greedy.do("budget", value=1)
        last = time.monotonic() + 1.0
        while time.monotonic() < last:
            assert memory() - before < 200_000_000
            time.sleep(0.02)
        greedy.line.socket.close()


def memory() -> int:
    """Bytes that this process holds now."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


# ------------------------------------------------------------------------------------------------ pace


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_ticks_come_at_the_pace_that_was_asked_for() -> None:
    clock = Clock()
    tab = Tab(race, speed=10.0, playing=True, clock=clock)
    ticks = []
    for _ in range(20):
        clock.now += 0.05
        tab.turn()
        ticks.append(tab.stage.lanes[0].agent.ticks)  # type: ignore[attr-defined]
    assert ticks[-1] in (9, 10)
    assert max(after - before for before, after in itertools.pairwise(ticks)) == 1
    rest = tab.rest()
    assert rest is not None
    assert 0 <= rest <= 0.1
    tab.take('{"do": "pause"}')
    tab.turn()
    for number in range(30):
        tab.take(json.dumps({"do": "ack", "number": number}))
    clock.now += 1
    tab.turn()
    assert tab.rest() is None


def test_a_crowd_is_restarted_by_another_one() -> None:
    fleet = tb.Fleet(WORLD.copy(), "tba*", frame_expansions=2000)
    fleet.add([(0, 0), (1, 1)], [(5, 5), (6, 6)])
    from copy import deepcopy

    tab = Tab(lambda: Crowd(deepcopy(fleet)))
    tab.take('{"do": "tick", "n": 3}')
    assert fleet.stats.ticks == 0
    before = tab.stage
    messages = tab.take('{"do": "restart"}')
    assert tab.stage is not before
    assert json.loads(messages[0])["kind"] == "crowd"
    said = json.loads(tab.take('{"do": "start", "cell": 4}')[0])
    assert said["is"] == "error"


def test_view_shows_copies_of_worlds_and_fleets(monkeypatch: pytest.MonkeyPatch) -> None:
    with tb.view(WORLD, ["a*"], (0, 0), (19, 29), browser=False) as viewer:
        page = Page(viewer)
        page.do("paint", cells=[7], cost=0)
        page.hear(lambda: page.frames > 1)
        assert WORLD.is_free((0, 7))
    assert "closed" in repr(viewer)
    fleet = tb.Fleet(WORLD.copy(), "tba*", frame_expansions=2000)
    fleet.add([(0, 0)], [(5, 5)])
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)))
    with tb.view(fleet) as viewer:
        assert opened == [viewer.address]
        page = Page(viewer)
        page.do("tick", n=4)
        page.hear(lambda: page.hello)
        assert page.hello["kind"] == "crowd"
        assert fleet.stats.ticks == 0
    for wrong in ({"speed": 0}, {"port": -1}, {"specs": "no-such"}, {"start": (99, 0)}):
        with pytest.raises(tb.Error):
            tb.view(WORLD, browser=False, **wrong)
    monkeypatch.setattr("timebound.viewer.show._MOST_CELLS", 500)
    with pytest.raises(tb.WorldError, match="600 cells"):
        tb.view(WORLD, browser=False)


# ------------------------------------------------------------------------------------------------ the command


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs in the background has it ignored
from timebound.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    tb.Grid([[1] * 12] * 9).save(tmp_path / "m.map")
    words = ["view", str(tmp_path / "m.map"), "-a", "lrta*", "--no-browser", "--json"]
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.communicate()


def test_commands_write_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "m.map", tmp_path / "race.html"
    tb.Grid([[1] * 12] * 9).save(file)
    assert main(["solve", str(file), "0,0", "8,11", "-a", "tba*", "--html", str(page), "--against", "a*"]) == 0
    solved = page.read_text(encoding="utf-8")
    assert main(["view", str(file), "-a", "tba*", "--html", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told == {"html": str(page), "bytes": page.stat().st_size}
    viewed = page.read_text(encoding="utf-8")
    assert main(["view", "rooms", "--size", "20", "--crowd", "7", "--ticks", "5", "--html", str(page)]) == 0
    for text in (solved, viewed, page.read_text(encoding="utf-8")):
        packed = text.partition('id="recording">')[2].partition("<")[0]
        messages = gzip.decompress(base64.b64decode(packed))
        length = int.from_bytes(messages[4:8], "little")
        assert json.loads(messages[8 : 8 + length])["kind"] in ("race", "crowd")
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
