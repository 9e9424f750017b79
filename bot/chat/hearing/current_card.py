"""Finds the card that counts, for somebody who decided on an old one or on what is no card."""

from __future__ import annotations

from lifecycle.answers import Reply
from lifecycle.ports import ProposalStore, StoreUnavailable


async def current_card(store: ProposalStore, surface: str, reply: Reply) -> str | None:
    """Return the id of the message that is the current card if this answer refuses another one;
    None for any other answer, if there is no such message, and if the store cannot be read."""
    proposal_id = reply.proposal_id
    if reply.code != "stale_card" or proposal_id is None:
        return None
    try:
        card = await store.read(lambda tx: tx.cards.get(proposal_id, surface))
    except StoreUnavailable:
        return None  # the answer itself must be given, and the act that it is about is over
    return card.message_ids[-1] if card is not None and card.message_ids else None
