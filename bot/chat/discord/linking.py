"""Links to the card that counts, for somebody who decided on an old one or on what is no card."""

from __future__ import annotations

from bot.chat.discord.settings import SURFACE, DiscordSettings
from lifecycle.answers import Reply
from lifecycle.ports import ProposalStore, StoreUnavailable


async def where_it_stands(store: ProposalStore, settings: DiscordSettings, reply: Reply) -> str:
    """Return a sentence with a link to the current card if this answer refuses another one; an
    empty text for any other answer, and if the store cannot say where the card is."""
    proposal_id = reply.proposal_id
    if reply.code != "stale_card" or proposal_id is None:
        return ""
    try:
        card = await store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
    except StoreUnavailable:
        return ""  # the answer itself must be given, and the act that it is about is over
    if card is None or not card.message_ids:
        return ""
    place = f"{settings.guild}/{settings.channel}/{card.message_ids[-1]}"
    return f" It stands here: https://discord.com/channels/{place}"
