"""The words behind a bare ❌: a reply to the card within five minutes, or in its thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.chat.hearing.incoming import Incoming
from lifecycle.answers import Reply, Sender


async def reason_given(
    incoming: Incoming, sender: Sender, payload: Mapping[str, Any]
) -> Reply | None:
    """Take a message as a reason where one is waited for; None where it is talk like any other.

    A thread under a message has the message's id.
    """
    if sender.identity is None:
        return None
    for message_id in (payload["reply_to"], payload["channel"]):
        if message_id:
            reply = await incoming.replied(sender, message_id, str(payload["words"]))
            if reply is not None:
                return reply
    return None
