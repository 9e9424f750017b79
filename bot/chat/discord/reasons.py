"""Takes words as the reason of a bare ❌, within five minutes, or as the answer to a question.

They may be a reply to the message, or stand in its thread. Twin: `slack/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.chat.hearing.incoming import Incoming
from lifecycle.answers import Reply, Sender


async def reason_given(
    incoming: Incoming, sender: Sender, payload: Mapping[str, Any]
) -> Reply | None:
    """Hand words to the law if they are waited for there; None if they are mere talk.

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
