"""Turns for messages with a body: each costs many times its bytes, and all else waits meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request

from bot.intake.http.bodies import LARGEST_CALL_BYTES
from lifecycle.answers import Sender
from lifecycle.proposal import Identity

#: So much of one sender is worked on together: the largest call, or many small ones.
_SHARE_BYTES: Final = LARGEST_CALL_BYTES
#: What even the smallest body counts for.
_LEAST_BYTES: Final = 4_096


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
        """Be entered when there is room for a message, and make room again."""
        size_bytes = _announced_bytes(incoming)
        if not size_bytes:
            yield
            return
        share = self._shares.setdefault(sender.identity, _Share())
        await share.take(size_bytes)
        try:
            yield
        finally:
            share.give(size_bytes)


class _Share:
    """What is left of one sender's share, and who waits for some of it, in order."""

    def __init__(self) -> None:
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


def _announced_bytes(incoming: Request) -> int:
    """Return how large a body says it is, 0 for none; in chunks it may be as large as any."""
    announced = incoming.headers.get("content-length")
    if "transfer-encoding" in incoming.headers:
        return _SHARE_BYTES
    if announced in (None, "0"):
        return 0
    known = announced.isascii() and announced.isdigit()
    return max(_LEAST_BYTES, min(int(announced[:19]), _SHARE_BYTES)) if known else _SHARE_BYTES
