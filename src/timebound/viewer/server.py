"""The viewer's server: one process and one port of the loopback, which gives out the page and speaks to it.

Every tab of a browser has a race of its own, in a thread of its own (``tab.Tab``). A page that is reloaded finds its
race again; the race of a tab that was closed ends. The address holds a secret, and requests must come from our own
page: ``Host`` and ``Origin`` are checked, so that neither other pages nor names that lead here can drive it. What a
page may send is limited in size and rate.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import math
import queue
import secrets
import threading
import time
import webbrowser
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..errors import Error, at_least
from .tab import LARGEST_MESSAGE, Message, Stage, Tab, sentence

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

__all__ = ["Viewer", "page_files", "require"]

MOST_TABS = 8
_GRACE = 10.0  # seconds for which a race waits for its page to come back
_PING = 15.0  # seconds between two questions whether a page is still there, and for its answer
_RATE, _BURST = 300.0, 600.0  # messages in a second, and at once
_UNHEARD = 256  # messages that wait for a race that is busy, at most
_UNREAD = 4  # maps and frames that wait to be sent, at most, before the page is heard again
_ANSWERS = 64  # texts that wait to be sent to a page that does not read, at most
_LONG = 0.7  # seconds of work after which the page is told what it waits for
_SOON = 5.0  # seconds in which a thread ends
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def require() -> Any:
    """The package that serves, or an error that names the remedy."""
    try:
        import websockets.asyncio.server as server
    except ImportError:
        raise Error("the viewer needs the package websockets: pip install 'timebound[viewer]'") from None
    return server


def page_files() -> dict[str, bytes]:
    """All files of the page, by name."""
    folder = files(__package__).joinpath("page")
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.name.endswith(tuple(_TYPES))}


class _Bucket:
    """How much may come: so much in a second, and so much at once."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most, self._left, self._then = rate, most, most, time.monotonic()

    def takes(self) -> bool:
        """Whether one more is not too many."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class _Seat:
    """A tab of a browser: its race, the thread that runs it, and the socket of its page while there is one."""

    def __init__(self, make: Callable[[], Tab], loop: asyncio.AbstractEventLoop) -> None:
        self._make, self._loop = make, loop
        self._inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._outbox: deque[Message] = deque()
        self._said = self._sent = 0  # binary messages, which can be large: by its thread, and over the line
        self._bell = asyncio.Event()  # something is in the outbox
        self._greet = self._open = True
        self._away = False  # its page has gone, perhaps to come back
        self._working = time.monotonic()  # since when its thread has been at it; infinite while it waits
        self.page: ServerConnection | None = None
        self.left = 0.0  # when its page went away
        self._thread = threading.Thread(target=self._run, name="timebound-tab", daemon=True)
        self._thread.start()

    # --- in the thread of the server ----------------------------------------------------------------------------------

    async def attend(self, page: ServerConnection) -> None:
        """Speak with a page until it goes away."""
        self.page = page
        self._outbox.clear()
        self._sent = self._said  # what the page before this one did not get is not owed to anyone
        self._greet, self._away = True, False
        self._inbox.put("")  # wake up
        beside = [asyncio.create_task(self._send(page)), asyncio.create_task(self._excuse())]
        try:
            await self._listen(page)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            self.page, self.left = None, time.monotonic()
            self._away = True
            self._inbox.put("")

    async def _listen(self, page: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        bucket, told = _Bucket(_RATE, _BURST), 0.0
        with suppress(ConnectionClosed):
            async for message in page:
                if bucket.takes() and self._inbox.qsize() < _UNHEARD:
                    self._inbox.put(message)
                elif time.monotonic() - told > 1.0:
                    told = time.monotonic()
                    self._post([sentence("the page sends more than can be heard, and some of it was not")])

    async def _send(self, page: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            while True:
                await self._bell.wait()
                self._bell.clear()
                while self._outbox:
                    message = self._outbox.popleft()
                    await page.send(message)
                    if not isinstance(message, str):
                        self._sent += 1
                        self._inbox.put("")  # there is room for another frame

    async def _excuse(self) -> None:
        """Tell the page when it must wait: an algorithm's first use compiles it, once per machine."""
        told = False
        while True:
            await asyncio.sleep(0.2)
            if (time.monotonic() - self._working > _LONG) != told:
                told = not told
                words = "getting ready: what is used for the first time on this machine is compiled" if told else ""
                self._post([json.dumps({"is": "busy", "text": words})])

    def _post(self, messages: list[Message]) -> None:
        for message in messages:
            if not isinstance(message, str) or len(self._outbox) < _ANSWERS:
                self._outbox.append(message)
        self._bell.set()

    # --- in its own thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        tab: Tab | None = None
        while self._open:
            try:
                if tab is None:
                    tab = self._make()
                if self._greet:
                    self._greet = False
                    self._say(tab.greet())
                self._hear(tab)
                if not self._away:
                    self._say(tab.turn(ready=self._sent >= self._said))
            except Error as error:
                self._say([sentence(str(error))])
                if tab is None:
                    return
            except Exception as error:  # a defect: it is told on the page, and the other tabs go on
                self._say([sentence(f"the race has failed ({type(error).__name__}: {error}); restart it")])
                if tab is None:
                    return
                tab.playing = False

    def _hear(self, tab: Tab) -> None:
        """Take all messages there are; if there is nothing else to do, wait for one."""
        wait = None if self._away else tab.rest(ready=self._sent >= self._said)
        if self._greet:
            return
        while self._open:
            self._working = math.inf
            try:
                message = self._inbox.get(block=wait is None or wait > 0, timeout=wait)
            except queue.Empty:
                return
            finally:
                self._working = time.monotonic()
            if message:
                self._say(tab.take(message))
            wait = 0.0
            # Who asks for much and does not read is not heard before it has.
            while self._open and not self._away and self._said - self._sent > _UNREAD:
                time.sleep(0.01)

    def _say(self, messages: list[Message]) -> None:
        if messages and self._open:
            self._said += sum(not isinstance(message, str) for message in messages)
            with suppress(RuntimeError):  # the server has ended meanwhile
                self._loop.call_soon_threadsafe(self._post, messages)

    def close(self) -> None:
        """End the race."""
        self._open = False
        self._inbox.put(None)

    def join(self) -> None:
        """Wait for the end, but not for ever: a kernel that is being compiled cannot be stopped."""
        self._thread.join(_SOON)


class Viewer:
    """A server that shows what ``make`` makes, for each tab anew, until ``close`` is called. See ``timebound.view``.

    ``address`` is where the page is, with its secret. It is also a context manager.
    """

    def __init__(
        self,
        make: Callable[[], Stage],
        *,
        port: int = 0,
        speed: float | None = 30.0,
        playing: bool = False,
        name: str = "",
        ping: float = _PING,
        grace: float = _GRACE,
        most_tabs: int = MOST_TABS,
    ) -> None:
        self._module = require()
        self._make, self._speed, self._playing, self._name = make, speed, playing, name
        self._ping, self._grace, self._most_tabs = ping, grace, most_tabs
        self._wanted_port = at_least(0, port, "a port is a whole number; 0 is any that is free", 65535)
        self._token = secrets.token_urlsafe(18)
        self._files = page_files()
        self._seats: dict[str, _Seat] = {}
        self._failure: OSError | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="timebound-viewer", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            reason = self._failure.strerror or self._failure
            raise Error(f"cannot listen on port {port} of this machine: {reason}; take another --port, or 0 for any")

    # --- for its owner ------------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/{self._token}/"

    @property
    def tabs(self) -> int:
        """How many races there are now."""
        return len(self._seats)

    def open_browser(self) -> bool:
        """Show the page in the user's browser, if there is one."""
        try:
            return webbrowser.open(self.address)
        except webbrowser.Error:
            return False

    def wait(self) -> None:
        """Return when it was closed; Ctrl-C closes it."""
        try:
            while not self._ended.wait(0.5):  # Ctrl-C is noticed between two waits on every system
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the server and all races."""
        if not self._ended.is_set():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(2 * _SOON)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<timebound viewer: {'closed' if self._ended.is_set() else self.address}>"

    # --- the server ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            self._ended.set()
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        # Its complaints about strangers are of no use to anyone, and come with tracebacks.
        silent = logging.getLogger("timebound.viewer.sockets")
        silent.addHandler(logging.NullHandler())
        silent.propagate = False
        try:
            server = await self._module.serve(
                self._attend,
                "127.0.0.1",
                self._wanted_port,
                process_request=self._answer,
                max_size=LARGEST_MESSAGE,
                max_queue=16,
                compression=None,  # on the loopback it costs more than it saves
                open_timeout=5,
                ping_interval=self._ping,
                ping_timeout=self._ping,
                close_timeout=1,
                server_header=None,
                logger=silent,
            )
        except OSError as problem:
            self._failure = problem
            return
        async with server:
            self.port = _port_of(server)
            self._hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
            self._origins = {f"http://{host}" for host in self._hosts}
            self._ready.set()
            sweeping = asyncio.create_task(self._sweep())
            await self._stop.wait()
            sweeping.cancel()
            seats = list(self._seats.values())
            for seat in seats:
                seat.close()
        for seat in seats:
            await asyncio.to_thread(seat.join)

    async def _sweep(self) -> None:
        """End the races whose pages did not come back."""
        while True:
            await asyncio.sleep(min(0.5, self._grace / 4 + 0.01))
            now = time.monotonic()
            for name, seat in list(self._seats.items()):
                if seat.page is None and now - seat.left > self._grace:
                    del self._seats[name]
                    seat.close()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Let a socket through, or answer with a file of the page, or refuse."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return self._respond(403, "this server is for this machine only, by the address that timebound printed")
        if any(origin not in self._origins for origin in origins):
            return self._respond(403, "this server answers its own page only")
        path = request.path.partition("?")[0].strip("/").split("/")
        if not hmac.compare_digest(path[0].encode(), self._token.encode()) or len(path) > 2:
            return self._respond(404, "there is nothing here: the address is the one that timebound printed")
        name = path[1] if len(path) == 2 else "index.html"
        if name == "socket":
            # A browser always says where a page comes from.
            return None if origins else self._respond(403, "this server answers its own page only")
        if name not in self._files:
            return self._respond(404, "there is no such file")
        return self._respond(200, self._files[name], _TYPES[name[name.rindex(".") :]])

    def _respond(self, status: int, body: str | bytes, kind: str = "text/plain") -> Response:
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        raw = body if isinstance(body, bytes) else f"{body}\n".encode()
        socket = f"ws://127.0.0.1:{self.port} ws://localhost:{self.port}"
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self' {socket}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = Headers(
            [
                ("Content-Type", f"{kind}; charset=utf-8"),
                ("Content-Length", str(len(raw))),
                ("Cache-Control", "no-store"),
                ("Content-Security-Policy", policy),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Connection", "close"),
            ]
        )
        return Response(status, {200: "OK", 403: "Forbidden", 404: "Not Found"}[status], headers, raw)

    async def _attend(self, page: ServerConnection) -> None:
        """A page has come: with the name of its tab if it was here before."""
        assert page.request is not None
        name = page.request.path.partition("?tab=")[2][:64]
        seat = self._seats.get(name)
        if not name or (seat is not None and seat.page is not None):  # a copy of a tab has the name of another
            name, seat = secrets.token_urlsafe(12), None
        if seat is None:
            absent = [key for key, other in self._seats.items() if other.page is None]
            if len(self._seats) >= self._most_tabs and absent:
                self._seats.pop(absent[0]).close()
            if len(self._seats) >= self._most_tabs:
                await page.send(sentence(f"{self._most_tabs} tabs are open already; close one of them first"))
                await page.close(4001, "too many tabs")
                return
            seat = self._seats[name] = _Seat(self._new_tab, self._loop)
        await page.send(json.dumps({"is": "tab", "name": name}))
        await seat.attend(page)

    def _new_tab(self) -> Tab:
        return Tab(self._make, speed=self._speed, playing=self._playing, name=self._name)


def _port_of(server: Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])
