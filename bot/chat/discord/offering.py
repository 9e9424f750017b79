"""Offers the slash commands of one server; without them people still have the text commands."""

from __future__ import annotations

import asyncio
import logging

import discord

from bot.chat.discord.calls import spoken_to
from bot.chat.discord.client import SignoffClient
from bot.chat.discord.interactions import Interactions
from bot.chat.discord.rest import Rest
from bot.chat.discord.slash import add_commands
from bot.chat.surface import SurfaceFailed
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")


class Offering:
    """Has each fresh client offer them, beside all else: Discord may let that wait for minutes."""

    def __init__(self, workflow: Workflow, interactions: Interactions, rest: Rest) -> None:
        self._workflow = workflow
        self._interactions = interactions
        self._rest = rest
        self._tasks: set[asyncio.Task[None]] = set()

    def offer(self, client: SignoffClient) -> None:
        """Begin to offer; returns at once."""
        add_commands(client.tree, self._workflow, self._interactions.run)
        guild = discord.Object(self._rest.settings.guild)
        client.tree.copy_global_to(guild=guild)
        task = asyncio.create_task(self._offered(client, guild))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Let go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _offered(self, client: SignoffClient, guild: discord.Object) -> None:
        try:
            async with spoken_to("offering the slash commands"):
                await client.tree.sync(guild=guild)
        except SurfaceFailed as failure:
            log.warning("slash commands are not offered: %s", failure)
        except Exception as error:
            log.warning("slash commands are not offered: %s", type(error).__name__)
