"""Turns for messages with a body: each costs many times its bytes, and all else waits meanwhile."""

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

#: So much of one sender is worked on together: the largest call, or many small ones.
_SHARE_BYTES: Final = LARGEST_CALL_BYTES
#: What even the smallest body counts for.
LEAST_BYTES: Final = 4_096


class Turns:
    """Lets the messages of a sender in a share at a time, before their bodies are read.

    Forty calls of a mebibyte at once filled more than a gigabyte, and nothing else was heard for
    ten seconds. Each sender has a share, so that nobody waits behind all of somebody else's.
    """

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._shares: dict[Identity | None, _Share] = {}

    @contextlib.asynccontextmanager
    async def turn(self, incoming: Request, sender: Sender) -> AsyncIterator[None]:
        """Be entered when there is room for a message, and make room again.

        Meanwhile the message has its Turn with it, for whoever reads the body.
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
    """The Turn of one message. One of unknown size has the place of the one that is read."""

    def __init__(self, share: _Share, size_bytes: int | None) -> None:
        self._share = share
        self._size_bytes = size_bytes or 0
        self._reads = size_bytes is None

    async def is_read(self, size_bytes: int) -> None:
        """Take what the body counts for, now that its size is known; wait for it with the body."""
        if self._reads:
            counted_bytes = max(LEAST_BYTES, size_bytes)
            await self._share.take(counted_bytes)
            self._size_bytes = counted_bytes
            self._read_no_more()

    def end(self) -> None:
        """Give all back; a second time it changes nothing."""
        given_bytes, self._size_bytes = self._size_bytes, 0
        self._share.give(given_bytes)
        self._read_no_more()

    def _read_no_more(self) -> None:
        if self._reads:
            self._reads = False
            self._share.reading.release()


class _Share:
    """What is left of one sender's share, and who waits for some of it, in order.

    A body in chunks may be as large as any: `reading` lets in one of them at a time, beside those
    that are worked on. Counted as the largest, it would wait for all of them, and all for it.
    """

    def __init__(self) -> None:
        self.reading = asyncio.Lock()
        self._left_bytes = _SHARE_BYTES
        self._queue: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> None:
        """Wait for so much, and take it."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((size_bytes, turn))
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            # Granted in the moment in which the waiting was given up, or in nobody's way any more.
            self.give(0 if turn.cancelled() else size_bytes)
            raise

    def give(self, size_bytes: int) -> None:
        """Give it back to those who wait."""
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
    """Return how large a body says it is, 0 for none, None for one that does not say."""
    announced = incoming.headers.get("content-length")
    if "transfer-encoding" in incoming.headers:
        return None
    if announced in (None, "0"):
        return 0
    known = announced.isascii() and announced.isdigit()
    return max(LEAST_BYTES, min(int(announced[:19]), _SHARE_BYTES)) if known else None
