"""Closes clients of discord.py for good, with every connection that they leave open."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any, Final

import discord

log = logging.getLogger("signoff.discord")

#: So long Discord's answer to our goodbye is waited for.
_GOODBYE_S: Final = 5.0


async def closed(client: discord.Client) -> None:
    """Close a client for good, even if nobody answers the goodbye; never raises for it.

    It must run shielded from the cancellation of its caller: a client that is half closed would
    hold its connections for ever, and could end its supervisor with its own end.
    """
    await _said_goodbye(client.close())
    for connection in _unknown_to(client):
        await _said_goodbye(connection.close())
    await client.http.close()


async def _said_goodbye(goodbye: Coroutine[Any, Any, None]) -> None:
    closing = asyncio.ensure_future(goodbye)
    await asyncio.wait({closing}, timeout=_GOODBYE_S)
    if not closing.cancel() and not closing.cancelled() and closing.exception() is not None:
        log.debug("closing a client: %s", type(closing.exception()).__name__)


def _unknown_to(client: discord.Client) -> list[discord.gateway.DiscordWebSocket]:
    """Return connections that the client never came to know, each kept alive by a thread.

    discord.py hands over a connection only once it has identified. If it is cancelled or fails
    before that, it leaves the connection open and its heartbeat thread running.
    """
    hearts = (t for t in threading.enumerate() if isinstance(t, discord.gateway.KeepAliveHandler))
    return [
        heart.ws
        for heart in hearts
        if getattr(heart.ws, "_connection", None) is client._connection
        and not heart._stop_ev.is_set()
    ]
