"""Links to the card that counts, for somebody who decided on an old one or on what is no card."""

from __future__ import annotations

from bot.chat.discord.settings import SURFACE, DiscordSettings
from bot.chat.hearing.current_card import current_card
from lifecycle.answers import Reply
from lifecycle.ports import ProposalStore


async def where_it_stands(store: ProposalStore, settings: DiscordSettings, reply: Reply) -> str:
    """Return a sentence with a link to the current card if this answer refuses another one; an
    empty text for any other answer, and if the store cannot say where the card is."""
    message_id = await current_card(store, SURFACE, reply)
    if message_id is None:
        return ""
    place = f"{settings.guild}/{settings.channel}/{message_id}"
    return f" It stands here: https://discord.com/channels/{place}"
