"""Limits who may stay connected to Slack's HTTP door: who signs nothing soon makes room."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Final

from aiohttp import hdrs
from aiohttp import web as http
from aiohttp.http_exceptions import HttpProcessingError

from bot.process.listening import listeners, stopped
from lifecycle.located import located

#: A connection that brings nothing signed is ended after so long: Slack sends an event at once.
_UNSIGNED_S: Final = 10.0
#: A connection that brought something signed may then be silent for so long. Proxies keep theirs
#: for the next event, and hang up long before. If we hung up as one begins to send, that would be
#: lost.
_KEPT_S: Final = 3_600.0
#: So many connections at most, and at most this part of the files that the bot may open.
_MOST: Final = 128
_PART: Final = 8
#: For so long a connection is new, and does not give way to the next one.
_NEW_S: Final = 0.5
#: The answer while no further file may be opened; Slack then sends its event again.
_NO_PLACE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
#: When the bot ends, events under way may go on for so long.
_GOODBYE_S: Final = 2


class Callers:
    """The connections that are open.

    Anybody may connect, and a signature can be checked only once a whole message has come. A
    stranger who only connected, without a word, could use up all files that the bot may open: it
    would neither hear nor write anything any more.
    """

    def __init__(self) -> None:
        """Begin with no connection."""
        self._open: dict[asyncio.BaseTransport, _Caller] = {}

    @contextlib.contextmanager
    def at_work(self, transport: asyncio.BaseTransport | None) -> Iterator[None]:
        """Keep a connection from being ended while entered: what came over it is signed."""
        caller = self._open.get(transport) if transport is not None else None
        if caller is None:  # it has left
            yield
            return
        caller.begins()
        try:
            yield
        finally:
            caller.ends()

    def join(self, transport: asyncio.BaseTransport, caller: _Caller) -> bool:
        """Take a connection in; return False if there is no room for it.

        A new connection is spared unless twice as many as allowed are open. After a moment in which
        the loop was busy many come at once, and what they sent has arrived but is not read yet.
        """
        most = most_callers()
        over, full = len(self._open) >= most, len(self._open) >= 2 * most
        if over and not self._one_gave_way(even_new=full) and full:
            return False
        self._open[transport] = caller
        return True

    def left(self, transport: asyncio.BaseTransport) -> None:
        """Forget a connection."""
        self._open.pop(transport, None)

    def _one_gave_way(self, *, even_new: bool) -> bool:
        """End the oldest idle connection, unsigned ones first; False if there is none."""
        idle = [c for c in self._open.values() if not c.works and (even_new or not c.new)]
        oldest = next((each for each in idle if not each.known), next(iter(idle), None))
        if oldest is None:
            return False
        oldest.hang_up()
        return True


class _Caller(asyncio.Protocol):
    """One connection; it hands everything on to the protocol that reads it."""

    def __init__(self, callers: Callers, reads: asyncio.Protocol) -> None:
        self._callers = callers
        self._reads = reads
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.TimerHandle | None = None
        #: Whether it brought something signed, and whether that is being processed now.
        self.known = self.works = False
        self._came_s = asyncio.get_running_loop().time()

    @property
    def new(self) -> bool:
        """True as long as what it sends may have arrived without having been read."""
        return asyncio.get_running_loop().time() - self._came_s < _NEW_S

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a TCP server it is one
        if not self._callers.join(transport, self):
            transport.abort()
            return
        self._transport = transport
        self._wait(_UNSIGNED_S)
        self._reads.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is None:
            return
        self._wait(None)
        self._callers.left(self._transport)
        self._transport = None
        self._reads.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._reads.data_received(data)

    def eof_received(self) -> bool | None:
        return self._reads.eof_received()

    def pause_writing(self) -> None:
        self._reads.pause_writing()

    def resume_writing(self) -> None:
        self._reads.resume_writing()

    def begins(self) -> None:
        self.known = self.works = True
        self._wait(None)

    def ends(self) -> None:
        self.works = False
        if self._transport is not None:
            self._wait(_KEPT_S)

    def hang_up(self) -> None:
        self._wait(None)
        if self._transport is not None:
            self._callers.left(self._transport)
            self._transport.abort()

    def _wait(self, seconds: float | None) -> None:
        """Hang up after so many seconds, or never for None; an earlier call no longer counts."""
        if self._end is not None:
            self._end.cancel()
        loop = asyncio.get_running_loop()
        self._end = None if seconds is None else loop.call_later(seconds, self.hang_up)


@contextlib.asynccontextmanager
async def listening(
    app: http.Application, callers: Callers, host: str, port: int
) -> AsyncIterator[None]:
    """Serve `app` while entered. Raises OSError if nobody can listen at that address.

    A compressed body is not unpacked: Slack sends none, and signs the bytes that it sends.
    """
    runner = http.AppRunner(
        app,
        access_log=None,
        logger=_library_log(),
        shutdown_timeout=_GOODBYE_S,
        auto_decompress=False,
    )
    await runner.setup()
    loop = asyncio.get_running_loop()
    try:
        reader = runner.server
        assert reader is not None  # noqa: S101 - it is set up
        nameless = partial(reader.request_factory, _cls=_Nameless)  # type: ignore[call-arg]
        reader.request_factory = nameless
        async with contextlib.AsyncExitStack() as doors:
            for place in await listeners(host, port, _NO_PLACE):
                server = await loop.create_server(
                    lambda: _Caller(callers, reader()), sock=place, backlog=most_callers()
                )
                doors.push_async_callback(stopped, server)
            yield
    finally:
        await runner.cleanup()


class _Nameless(http.Request):
    """A request whose answer names neither library nor version, whatever is wrong with it."""

    async def _prepare_hook(self, response: http.StreamResponse) -> None:
        await super()._prepare_hook(response)
        response.headers.popall(hdrs.SERVER, None)


def most_callers() -> int:
    """Return how many connections may stay open; for a moment there may be twice as many."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = files == resource.RLIM_INFINITY
    return _MOST if unlimited else max(_PART, min(_MOST, files // _PART))


def _library_log() -> logging.Logger:
    """Return the library's log without what strangers send: they could fill it."""
    library = logging.getLogger("signoff.slack.http")
    if not library.filters:
        library.addFilter(_of_ours)
    return library


def _of_ours(entry: logging.LogRecord) -> bool:
    error = entry.exc_info[1] if entry.exc_info else None
    if isinstance(error, HttpProcessingError):
        return False
    if isinstance(error, Exception):
        entry.msg, entry.args = f"{entry.getMessage()}: {located(error)}", ()
    entry.exc_info = entry.exc_text = None
    return True
