"""Hold an answer back as long as its client waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from bot.intake.http.door import Door
from bot.intake.http.waiting import BotEnds, Mark, Waiting
from lifecycle.answers import Sender


async def held(
    door: Door, incoming: Request, sender: Sender, key: str, seen: Mark, timeout_s: float
) -> None:
    """Return once the mark of `key` differs from `seen`, or when the time is over.

    Raises ClientDisconnect once the client has left, so that nothing is held for nobody; BotEnds
    while the bot stops, since an answer at once would make the client ask again and again; Crowded
    if the sender has too many waits already.
    """
    if timeout_s > 0:
        with door.places.held(sender):
            await _held(door.waiting, incoming, key, seen, timeout_s)


async def _held(
    waiting: Waiting, incoming: Request, key: str, seen: Mark, timeout_s: float
) -> None:
    change = asyncio.create_task(waiting.changed(key, seen, timeout_s))
    leaving = asyncio.create_task(_left(incoming.receive))
    try:
        await asyncio.wait((change, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not change.done():
            raise ClientDisconnect
        if waiting.closed:
            raise BotEnds
    finally:
        change.cancel()
        leaving.cancel()
        await asyncio.gather(change, leaving, return_exceptions=True)


@contextlib.asynccontextmanager
async def listened_to(incoming: Request) -> AsyncIterator[Callable[[], None]]:
    """Listen whether a client whose message was read still waits for its answer.

    Yields a function that raises ClientDisconnect once it has hung up; any thread may call it.
    """
    leaving = asyncio.create_task(_left(incoming.receive))

    def still() -> None:
        if leaving.done():
            raise ClientDisconnect

    try:
        yield still
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    """Return once the client has hung up; whatever it sends meanwhile is ignored."""
    while (await receive())["type"] != "http.disconnect":
        pass
