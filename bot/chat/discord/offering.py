"""Registers the slash commands with one server; without them there are still text commands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

import discord

from bot.chat.discord.calls import spoken_to
from bot.chat.discord.client import SignoffClient
from bot.chat.discord.interactions import Interactions
from bot.chat.discord.rest import Rest
from bot.chat.discord.settings import invitation
from bot.chat.discord.slash import add_commands
from bot.chat.surface import SurfaceFailed
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")

#: Pauses in seconds before refused commands are offered again: no event tells a bot that it was
#: granted the scope for commands.
_AGAIN_S: Final = (30.0, 120.0, 600.0)


class Offering:
    """Has each fresh client offer the commands, in a task: Discord may let that wait for minutes.

    A server accepts commands from a bot that is in it with the scope for them, and forgets them
    when the bot leaves. So they are offered until they are accepted, and anew when the bot comes in
    again.
    """

    def __init__(self, workflow: Workflow, interactions: Interactions, rest: Rest) -> None:
        self._workflow = workflow
        self._interactions = interactions
        self._rest = rest
        self._offering: asyncio.Task[None] | None = None
        self._at_once = asyncio.Event()
        self._inside: bool | None = None
        self.trouble: str | None = None

    def offer(self, client: SignoffClient) -> None:
        """Begin to offer the commands with this client; returns at once."""
        doing = self._interactions
        add_commands(client.tree, self._workflow, doing.run, doing.here)
        guild = discord.Object(self._rest.settings.guild)
        client.tree.copy_global_to(guild=guild)
        if self._offering is not None:
            self._offering.cancel()
        self._offering = asyncio.create_task(self._offered(client, guild))

    def seen(self, *, inside: bool) -> None:
        """Note whether the bot is in the server. If it has come in, the commands are offered at
        once, even if they were accepted before."""
        before, self._inside = self._inside, inside
        if inside and (before is False or (before is None and self.trouble is not None)):
            self._at_once.set()

    async def close(self) -> None:
        """Cancel the offering."""
        if self._offering is not None:
            self._offering.cancel()
            await asyncio.gather(self._offering, return_exceptions=True)

    async def _offered(self, client: SignoffClient, guild: discord.Object) -> None:
        """Offer the commands for as long as the client lives."""
        refused = 0
        while not client.is_closed():
            self._at_once.clear()
            self.trouble = await self._refusal(client, guild)
            refused = refused + 1 if self.trouble is not None else 0
            pause_s = _AGAIN_S[min(refused, len(_AGAIN_S)) - 1] if refused else None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._at_once.wait()

    async def _refusal(self, client: SignoffClient, guild: discord.Object) -> str | None:
        """Offer the commands once; return why they were refused, None if they were accepted."""
        try:
            async with spoken_to("offering the slash commands"):
                await client.tree.sync(guild=guild)
        except SurfaceFailed as failure:
            why, lasting = str(failure), failure.lasting
        except Exception as error:
            why, lasting = type(error).__name__, False
        else:
            return None
        if why != self.trouble:
            log.warning("slash commands are not offered: %s", why)
        return _remedied(why, client.application_id) if lasting else why


def _remedied(why: str, application_id: int | None) -> str:
    link = invitation(application_id)
    return f"{why}; invite the bot with the scope applications.commands: {link}"
