"""Tells `history` what a former process may have posted without noting it.

Those posts are looked for before they are posted again. Twin: `discord/unwritten.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bot.chat.showing.due import waiting_messages
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.board import FLAG, board_key
from bot.chat.slack.desk import Desk
from bot.chat.slack.saying import said_key
from lifecycle.ports import Transaction
from lifecycle.records import Card, Message

_FAR_MS: Final = 10**15
_MOST_CARDS: Final = 10_000


async def note_doubtful(desk: Desk, events: Iterable[str]) -> None:
    """Put in doubt what may stand; `events` are those that a former process left unfinished."""

    def found(tx: Transaction) -> tuple[list[Card], list[Message], str | None]:
        cards = tx.cards.stale(SURFACE, _FAR_MS, _MOST_CARDS)
        messages = waiting_messages(tx, SURFACE, _FAR_MS, desk.workflow.policy.agents.keys())
        return list(cards), list(messages), tx.flags.get(FLAG)

    cards, messages, board = await desk.workflow.world.store.read(found)
    rest = desk.rest
    for card in cards:
        if card.claim:
            rest.doubt([f"card:{card.claim}", f"card:{card.claim}:{card.wanted_version}"])
        if card.message_ids:
            end = f"end:{card.proposal_id}:{card.wanted_version}"
            rest.doubt([f"call:{card.proposal_id}", f"left:{card.message_ids[-1]}", end])
    rest.doubt([board_key(board), f"left:{board}"])
    rest.doubt(f"answer:{event.rpartition(':')[2]}" for event in events)
    for message in messages:
        rest.doubt([said_key(message)], message.created_at_ms)
