"""Slash commands, buttons and forms: acknowledged at once, then the same law as everywhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import discord

from bot.chat.commands import Commands
from bot.chat.discord import views
from bot.chat.discord.calls import spoken_to
from bot.chat.discord.render import Said, answer_messages, literal
from bot.chat.discord.settings import NOBODY, SURFACE, DiscordSettings
from bot.chat.incoming import Incoming
from bot.chat.replies import Attached
from bot.chat.senders import sender_of
from bot.chat.signals import Signal
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Reply, Sender
from lifecycle.ports import StoreUnavailable
from lifecycle.spooling import unavailable
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")

#: A button is pressed again after so long where the store did not answer, in seconds.
_AGAIN_S: Final = (0.2, 0.5, 1.0, 2.0)
#: Answers that everybody should see; all others are for whoever asked.
_PUBLIC: Final = frozenset({"freeze", "thaw", "propose"})


class Interactions:
    """What people begin by clicking or by `/`. Bots cannot."""

    def __init__(self, commands: Commands, incoming: Incoming, settings: DiscordSettings) -> None:
        self._commands = commands
        self._workflow: Workflow = commands.workflow
        self._incoming = incoming
        self._settings = settings

    async def run(self, interaction: discord.Interaction, text: str, files: list[Attached]) -> None:
        """Run a slash command's text and answer it."""
        public = text.split(" ")[0] in _PUBLIC
        async with self._acknowledging(interaction, public=public):
            if self._in_place(interaction):
                reply = await self._commands.run(text, self._sender(interaction), files)
                said = answer_messages(reply)
            else:
                said = await self._misplaced(interaction)
        await self._answer(interaction, said, public=public)

    async def raw(self, interaction: discord.Interaction) -> None:
        """Take a button or a form; what is not ours is left alone."""
        data: Any = interaction.data or {}
        custom_id = str(data.get("custom_id", ""))
        match interaction.type:
            case discord.InteractionType.component if custom_id == views.APPROVE:
                await self._pressed(interaction, Signal.APPROVE)
            case discord.InteractionType.component if custom_id == views.REJECT:
                await self._ask_why(interaction)
            case discord.InteractionType.modal_submit if custom_id == views.PROPOSE:
                await self.run(interaction, f"propose {views.typed_into(data)}", [])
            case discord.InteractionType.modal_submit:
                await self._rejected(interaction, custom_id, views.typed_into(data))
            case _:
                return

    # -- buttons --------------------------------------------------------------------------

    async def _pressed(
        self,
        interaction: discord.Interaction,
        signal: Signal,
        reason: str = "",
        message_id: str | None = None,
    ) -> None:
        message_id = message_id or str(interaction.message.id if interaction.message else 0)
        sender, in_place = self._sender(interaction), self._in_place(interaction)
        async with self._acknowledging(interaction, public=False):
            press = partial(self._incoming.pressed, sender, message_id, signal, reason)
            reply = await self._surely(partial(press, in_place=in_place))
        await self._answer(interaction, [Said(literal(reply.words))])

    async def _surely(self, press: Callable[[], Awaitable[Reply]]) -> Reply:
        """Press again where the card itself could not be looked up just now."""
        for pause_s in _AGAIN_S:
            try:
                return await press()
            except StoreUnavailable:
                await self._workflow.world.clock.sleep(pause_s)
        try:
            return await press()
        except StoreUnavailable:
            return unavailable()

    async def _ask_why(self, interaction: discord.Interaction) -> None:
        """Open the form; it is the acknowledgement."""
        message_id = interaction.message.id if interaction.message else 0
        await _told(interaction.response.send_modal(views.reason_form(message_id)))

    async def _rejected(
        self, interaction: discord.Interaction, custom_id: str, reason: str
    ) -> None:
        message_id = views.rejected_message(custom_id)
        if message_id is not None:
            await self._pressed(interaction, Signal.STOP, reason.strip(), message_id)

    # -- inside ---------------------------------------------------------------------------

    async def _misplaced(self, interaction: discord.Interaction) -> list[Said]:
        await self._workflow.note_ignored("", self._sender(interaction), "wrong_place")
        return [Said(f"Commands are read in <#{self._settings.channel}> and its threads.")]

    @asynccontextmanager
    async def _acknowledging(
        self, interaction: discord.Interaction, *, public: bool
    ) -> AsyncIterator[None]:
        """Acknowledge within three seconds, beside the act: it waits for nobody's patience."""
        deferring = _told(interaction.response.defer(ephemeral=not public, thinking=True))
        acknowledged = asyncio.ensure_future(deferring)
        await asyncio.sleep(0)
        try:
            yield
        finally:
            await acknowledged

    async def _answer(
        self, interaction: discord.Interaction, messages: list[Said], *, public: bool = False
    ) -> None:
        for each in messages:
            file = each.file()
            given: dict[str, Any] = {} if file is None else {"file": file}
            await _told(
                interaction.followup.send(
                    each.text, ephemeral=not public, allowed_mentions=NOBODY, wait=True, **given
                )
            )

    def _sender(self, interaction: discord.Interaction) -> Sender:
        return sender_of(
            self._workflow.policy,
            SURFACE,
            str(interaction.user.id),
            event_id=str(interaction.id),
            place=f"{interaction.channel_id}:",
        )

    def _in_place(self, interaction: discord.Interaction) -> bool:
        parent = getattr(interaction.channel, "parent_id", None)
        in_channel = self._settings.channel in (interaction.channel_id, parent)
        return interaction.guild_id == self._settings.guild and in_channel


async def _told(call: Awaitable[Any]) -> None:
    """Say something to whoever began an interaction; where that fails, what was done stays done."""
    try:
        async with spoken_to("answering"):
            await call
    except discord.InteractionResponded:
        return
    except SurfaceFailed as failed:
        log.info("%s", failed)
