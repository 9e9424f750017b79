"""Takes slash commands, buttons and forms, acknowledges them once stored, and posts the answer.

`asked.py` stores and processes them. Twin: `slack/interactions.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Final

import discord

from bot.chat.commands.typed import lane_of
from bot.chat.discord import views
from bot.chat.discord.asked import Asked, place_of
from bot.chat.discord.calls import answered
from bot.chat.discord.files import file_payload
from bot.chat.discord.render import Said
from bot.chat.discord.settings import NOBODY
from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.signals import Signal
from bot.chat.surface import SurfaceFailed

log = logging.getLogger("signoff.discord")

#: Commands whose answer everybody should see; other answers are shown to whoever asked.
_PUBLIC: Final = frozenset({"freeze", "thaw", "propose"})


class Interactions:
    """Answers what people begin by clicking or by `/`. Bots can do neither."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def run(
        self, interaction: discord.Interaction, text: str, files: list[discord.Attachment]
    ) -> None:
        """Run a slash command's text and answer it."""
        public = text.split(" ")[0] in _PUBLIC
        lane = lane_of(text, str(interaction.user.id), str(interaction.id))
        asked = {"what": "command", "text": text, "files": [file_payload(each) for each in files]}
        await self._through(interaction, lane, asked, public=public)

    def here(self, interaction: discord.Interaction) -> bool:
        """Say whether it was begun where commands are read, and cards are seen."""
        return self._asked.in_place(place_of(interaction))

    async def raw(self, interaction: discord.Interaction) -> None:
        """Take a button or a form; ignore what is not ours."""
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
        asked = {"what": "pressed", "message": message_id, "signal": signal.name, "reason": reason}
        lane = card_lane(message_id, signal, str(interaction.user.id))
        await self._through(interaction, lane, asked, public=False)

    async def _ask_why(self, interaction: discord.Interaction) -> None:
        """Open the form for the reason; opening it acknowledges the button."""
        message_id = interaction.message.id if interaction.message else 0
        await _told(interaction.response.send_modal(views.reason_form(message_id)))

    async def _rejected(
        self, interaction: discord.Interaction, custom_id: str, reason: str
    ) -> None:
        message_id = views.rejected_message(custom_id)
        if message_id is not None:
            await self._pressed(interaction, Signal.STOP, reason.strip(), message_id)

    # -- inside ---------------------------------------------------------------------------

    async def _through(
        self, interaction: discord.Interaction, lane: str, asked: Mapping[str, Any], *, public: bool
    ) -> None:
        """Store what was asked, acknowledge it, and post the answer once it was processed."""
        answering = await self._asked.take(interaction, lane, asked)
        try:
            await _told(interaction.response.defer(ephemeral=not public, thinking=True))
            await self._answer(interaction, await answering, public=public)
        finally:
            answering.cancel()

    async def _answer(
        self, interaction: discord.Interaction, messages: list[Said], *, public: bool
    ) -> None:
        for each in messages:
            file = each.file()
            given: dict[str, Any] = {} if file is None else {"file": file}
            await _told(
                interaction.followup.send(
                    each.text, ephemeral=not public, allowed_mentions=NOBODY, wait=True, **given
                )
            )


async def _told(call: Awaitable[Any]) -> None:
    """Say something to whoever began an interaction; if that fails, what was done stays done."""
    try:
        await answered("answering", call)
    except discord.InteractionResponded:
        return
    except SurfaceFailed as failed:
        log.info("%s", failed)
