"""This module makes listening sockets that keep working when the process may open no further file.

The HTTP servers listen on them. Their methods are called on the event loop.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import time
from contextlib import suppress
from typing import Any, Final

from bot.process.forked import keep_from_copies

_NO_MORE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: The errors of a machine without IPv6, on which `localhost` may have an IPv6 address anyway.
_NOT_HERE: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
#: How many seconds apart the log says that connections are turned away.
_TOLD_S: Final = 60.0
#: How many seconds nothing is accepted if not even the spare descriptor helps.
_PAUSE_S: Final = 0.05
#: After this many turns of the loop a connection that was accepted has its protocol.
_TURNS: Final = 5

log = logging.getLogger("signoff.http")


class ListeningSocket(socket.socket):
    """Turns connections away while the process may open no further file.

    asyncio (CPython 3.11) would try again and again meanwhile, from ever more timers, and log each
    failure: that takes the processor and fills the disk of the log. So one spare descriptor is kept
    open. It is closed for a moment to accept a connection and close it.
    """

    def __init__(self, family: int, last_words: bytes) -> None:
        """Take the bytes that are sent to connections that are turned away."""
        # asyncio sets TCP_NODELAY on a connection only if its protocol is named.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._last_words = last_words
        self._told_s = -_TOLD_S
        self._spare: int | None = _spare()
        keep_from_copies(self)

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises BlockingIOError if one was turned away instead."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_MORE:
                raise
            self._tell(error)
            self._turn_away()
            raise BlockingIOError from error

    def close(self) -> None:
        """Stop listening."""
        self._let_go()
        super().close()

    def let_go_in_copy(self) -> None:
        """Close the socket in a forked copy of the process, which would else keep the address."""
        self.close()

    def _turn_away(self) -> None:
        self._let_go()
        try:
            connection, _ = super().accept()
            with connection, suppress(OSError):
                connection.setblocking(False)
                connection.send(self._last_words)
        except BlockingIOError:
            return
        except OSError:
            time.sleep(_PAUSE_S)  # no connection can be accepted or turned away; do not spin
        finally:
            self._spare = _spare()

    def _let_go(self) -> None:
        spare, self._spare = getattr(self, "_spare", None), None
        if spare is not None:
            os.close(spare)

    def _tell(self, error: OSError) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s < _TOLD_S:
            return
        self._told_s = now_s
        log.error(
            "connections are turned away (%s): raise the limit of this process (ulimit -n, or "
            "LimitNOFILE= of its unit) and start it again",
            error.strerror,
        )


async def listeners(host: str, port: int, last_words: bytes) -> list[ListeningSocket]:
    """Return a bound socket for each address of `host` that this machine has.

    Raises OSError if one of them cannot be bound, or if the machine has none of the addresses.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[ListeningSocket] = []
    elsewhere = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    try:
        for family, place in dict.fromkeys((each[0], each[4]) for each in found):
            try:
                made.append(_bound(family, place, last_words))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                elsewhere = error
        if not made:
            raise elsewhere
    except OSError:
        for listening in made:
            listening.close()
        raise
    return made


async def stopped(server: asyncio.Server) -> None:
    """Stop listening; whoever was accepted in the last moment has a protocol when this returns.

    Nothing more is accepted first, and only later the server is closed: asyncio gives no transport
    to a connection that was accepted in the turn of the loop before its server closes. Nobody would
    answer or close that one.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    try:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    finally:
        server.close()


def _bound(family: int, place: Any, last_words: bytes) -> ListeningSocket:
    """Return a socket that is bound to an address. Raises OSError."""
    listening = ListeningSocket(family, last_words)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # an IPv4 address of the host has a socket of its own
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(place)
    except OSError:
        listening.close()
        raise
    return listening


def _spare() -> int | None:
    with suppress(OSError):
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return None
