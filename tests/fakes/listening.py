"""The end of a server of the tests: nothing that a client has just opened is left behind."""

from __future__ import annotations

import asyncio

from aiohttp import web

#: In so many turns of the loop a connection that was taken off the line has a protocol.
_TURNS = 5


async def ended(runner: web.AppRunner) -> None:
    """Stop listening, let what was accepted in the same moment arrive, then close everything.

    A connection that arrives behind the closing belongs to nobody, and its transport is left to
    the garbage collector, whose warning fails whatever test runs then.
    """
    for site in list(runner.sites):
        await site.stop()
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    await runner.cleanup()
