"""Slash commands, buttons and forms: acknowledged at once, then the same law as everywhere."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
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
from lifecycle.answers import Sender
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")

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
        await self._acknowledge(interaction, public=public)
        if not self._in_place(interaction):
            await self._misplaced(interaction)
            return
        reply = await self._commands.run(text, self._sender(interaction), files)
        await self._answer(interaction, answer_messages(reply), public=public)

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
        await self._acknowledge(interaction, public=False)
        message_id = message_id or str(interaction.message.id if interaction.message else 0)
        reply = await self._incoming.pressed(
            self._sender(interaction),
            message_id,
            signal,
            reason,
            in_place=self._in_place(interaction),
        )
        await self._answer(interaction, [Said(literal(reply.words))])

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

    async def _misplaced(self, interaction: discord.Interaction) -> None:
        await self._workflow.note_ignored("", self._sender(interaction), "wrong_place")
        words = f"Commands are read in <#{self._settings.channel}> and its threads."
        await self._answer(interaction, [Said(words)])

    async def _acknowledge(self, interaction: discord.Interaction, *, public: bool) -> None:
        """Acknowledge within three seconds; an act goes on although Discord lost patience."""
        await _told(interaction.response.defer(ephemeral=not public, thinking=True))

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
