"""Names are looked up on threads of their own: a name server that does not answer holds up no other
work, nor the end.

Nobody can take back a lookup, and the system waits half a minute and more for an answer. On the
loop's own pool a few of them kept a ❌ from discarding a draft, for so long that nobody knew what
had become of it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

#: So many names may be without an answer before the next one waits.
_THREADS: Final = 8


class _Asked(NamedTuple):
    """What the system is asked; the order is that of `socket.getaddrinfo`."""

    host: Any
    port: Any
    family: int
    type: int
    proto: int
    flags: int


class Lookups:
    """Serves one loop. Whoever asks what was asked already waits for that very answer: twenty calls
    of one server take one thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start every thread at once. Raises RuntimeError where that cannot be."""
        self._loop = loop
        self._under_way: dict[_Asked, asyncio.Future[Any]] = {}
        self._queue: SimpleQueue[_Asked] = SimpleQueue()
        for _ in range(_THREADS):
            threading.Thread(target=self._serve, name="signoff-lookup", daemon=True).start()

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        """Do as the loop's own does. Raises OSError, and ValueError for what cannot be a name."""
        asked = _Asked(host, port, family, type, proto, flags)
        answer = self._under_way.get(asked)
        if answer is None:
            answer = self._under_way[asked] = self._loop.create_future()
            self._queue.put(asked)
        return list(await asyncio.shield(answer))

    def _serve(self) -> None:
        while True:
            asked, found, error = self._queue.get(), list[Any](), None
            try:
                found = socket.getaddrinfo(*asked)
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._settle, asked, found, error)

    def _settle(self, asked: _Asked, found: list[Any], error: Exception | None) -> None:
        answer = self._under_way.pop(asked)
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)
            answer.exception()  # nobody may wait any more


def look_up_apart(loop: asyncio.AbstractEventLoop) -> None:
    """Let whatever connects in this loop look names up so. Raises RuntimeError for no thread."""
    loop.getaddrinfo = Lookups(loop).getaddrinfo  # type: ignore[method-assign]
