"""Give turns to messages with a body: each takes many times its bytes of memory, and much time."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request

from bot.intake.http.bodies import LARGEST_CALL_BYTES, TURN
from lifecycle.answers import Sender
from lifecycle.proposal import Identity

#: The share of one sender: the largest call fits, or many small ones.
_SHARE_BYTES: Final = LARGEST_CALL_BYTES
#: The least that a body counts for.
LEAST_BYTES: Final = 4_096


class Turns:
    """Lets the messages of each sender in, up to a share at a time, before their bodies are read.

    Forty calls of a mebibyte at once would fill more than a gigabyte, and nothing else would be
    heard for ten seconds. Each sender has a share of its own, so that nobody waits behind somebody
    else's messages.
    """

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._shares: dict[Identity | None, _Share] = {}

    @contextlib.asynccontextmanager
    async def turn(self, incoming: Request, sender: Sender) -> AsyncIterator[None]:
        """Enter when there is room for a message, and make room again on leaving.

        Meanwhile the scope of the message has its Turn, for the code that reads the body.
        """
        size_bytes = _announced_bytes(incoming)
        if size_bytes == 0:
            yield
            return
        share = self._shares.setdefault(sender.identity, _Share())
        turn = incoming.scope[TURN] = await _begun(share, size_bytes)
        try:
            yield
        finally:
            turn.end()


async def _begun(share: _Share, size_bytes: int | None) -> _Taken:
    if size_bytes is None:
        await share.reading.acquire()
    else:
        await share.take(size_bytes)
    return _Taken(share, size_bytes)


class _Taken:
    """The Turn of one message. A body of unknown size has the sender's one place for reading."""

    def __init__(self, share: _Share, size_bytes: int | None) -> None:
        self._share = share
        self._size_bytes = size_bytes or 0
        self._reads = size_bytes is None

    async def is_read(self, size_bytes: int) -> None:
        """Take the share of a body whose size is known only now, and wait for it if needed."""
        if self._reads:
            counted_bytes = max(LEAST_BYTES, size_bytes)
            await self._share.take(counted_bytes)
            self._size_bytes = counted_bytes
            self._read_no_more()

    def end(self) -> None:
        """Give all back; a second call changes nothing."""
        given_bytes, self._size_bytes = self._size_bytes, 0
        self._share.give(given_bytes)
        self._read_no_more()

    def _read_no_more(self) -> None:
        if self._reads:
            self._reads = False
            self._share.reading.release()


class _Share:
    """What is left of one sender's share, and those who wait for some of it, in order.

    A body in chunks may be of any size. `reading` lets in one of them at a time, beside those that
    are processed. Counted as the largest, it would wait for all others, and they for it.
    """

    def __init__(self) -> None:
        self.reading = asyncio.Lock()
        self._left_bytes = _SHARE_BYTES
        self._queue: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> None:
        """Wait for this many bytes of the share, and take them."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((size_bytes, turn))
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            # It may have been granted in the very moment of the cancellation; else take it out.
            self.give(0 if turn.cancelled() else size_bytes)
            raise

    def give(self, size_bytes: int) -> None:
        """Give this many bytes back to those who wait."""
        self._left_bytes += size_bytes
        self._grant()

    def _grant(self) -> None:
        while self._queue:
            size_bytes, turn = self._queue[0]
            if not turn.done():
                if size_bytes > self._left_bytes:
                    return
                self._left_bytes -= size_bytes
                turn.set_result(None)
            self._queue.popleft()


def _announced_bytes(incoming: Request) -> int | None:
    """Return the size a body announces, 0 for none, None if it announces no size."""
    announced = incoming.headers.get("content-length")
    if "transfer-encoding" in incoming.headers:
        return None
    if announced in (None, "0"):
        return 0
    known = announced.isascii() and announced.isdigit()
    return max(LEAST_BYTES, min(int(announced[:19]), _SHARE_BYTES)) if known else None
