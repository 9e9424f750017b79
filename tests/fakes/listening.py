"""The end of a server of the tests: nothing that a client has just opened is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bot.process.listening import stopped

#: What is said to one client.
Meeting = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def ended(runner: web.AppRunner) -> None:
    """Stop listening, let what was accepted in the same moment arrive, then close everything.

    A connection that arrives behind the closing belongs to nobody, and its transport is left to
    the garbage collector, whose warning fails whatever test runs then.
    """
    for site in list(runner.sites):
        await stopped(site._server)
        await site.stop()
    await runner.cleanup()


@asynccontextmanager
async def accepting(meet: Meeting) -> AsyncIterator[int]:
    """Let every client of a port of this machine be met; yields the port.

    At the end each meeting is cancelled and its connection closed: one that was cancelled before it
    began would not do so itself.
    """
    met: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met[asyncio.create_task(meet(reader, writer))] = writer

    async with await asyncio.start_server(taken, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        try:
            yield port
        finally:
            await stopped(server)
            for meeting, writer in met.items():
                meeting.cancel()
                writer.close()
            await asyncio.gather(*met, return_exceptions=True)
