"""Asks the gateway for a sign of life: one heartbeat can spare the reading of many cards.

Slack has no twin: there a connection that stands proves nothing (`Reading.continuous`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Final

import discord

from bot.chat.hearing.hearing import FRESH_FOR_S, Hearing

log = logging.getLogger("signoff.discord")

#: So long a sign of life is waited for; without one, the cards are read.
_ANSWERED_S: Final = 2.0
#: Only one question is asked in so long, and windows that end meanwhile share its answer. That is
#: 30 a minute of the 120 that the gateway allows, and the bot sends next to nothing else.
_APART_MS: Final = FRESH_FOR_S * 1000
#: An answer to a heartbeat is shorter than this; longer messages are not parsed here.
_SHORT: Final = 200


class Pulse:
    """Asks whether the line lives. With the answer all has come that the gateway sent before."""

    def __init__(self, client: discord.Client, hearing: Hearing) -> None:
        self._client = client
        self._now_ms = hearing.now_ms
        self._asked_ms: int | None = None
        self._asking: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()

    async def ask(self) -> None:
        """Return once the gateway has answered, or has not for two seconds; never raises.

        Returns at once if it was asked less than two seconds ago and no question is open.
        """
        if self._asking is None or self._asking.done():
            if self._asked_ms is not None and self._now_ms() - self._asked_ms < _APART_MS:
                return
            self._asked_ms = self._now_ms()
            self._asking = asyncio.create_task(self._asked())
        await asyncio.wait({self._asking})

    def received(self, message: str | bytes) -> None:
        """Look whether a message is the answer, while one is waited for."""
        waiting = self._asking is not None and not self._asking.done()
        if waiting and len(message) < _SHORT and _answers(message):
            self._answered.set()

    async def _asked(self) -> None:
        self._answered.clear()
        try:
            async with asyncio.timeout(_ANSWERED_S):
                ws = self._client.ws
                await ws.send_heartbeat(_beat(ws))
                await self._answered.wait()
        except Exception as error:
            log.info("the gateway gave no sign of life: %s", type(error).__name__)


def _beat(ws: Any) -> dict[str, Any]:
    """Return a heartbeat, made by discord.py's own keeper of heartbeats if it can be found.

    discord.py measures its latency from the last heartbeat it knows of, and would warn of a slow
    line if it did not know of this one.
    """
    beat = getattr(getattr(ws, "_keep_alive", None), "beat", None)
    return beat() if beat is not None else {"op": ws.HEARTBEAT, "d": ws.sequence}


def _answers(message: str | bytes) -> bool:
    try:
        found = json.loads(message)
    except ValueError:
        return False
    ack = discord.gateway.DiscordWebSocket.HEARTBEAT_ACK
    return isinstance(found, dict) and found.get("op") == ack
