"""Reads words under a message: the reason that follows a bare ❌, or the answer to a question.

Twin: `discord/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.chat.slack.text import unescape

#: Subtypes of words: plain, also sent to the channel, or posted with a file.
_WORDS: Final = frozenset({None, "thread_broadcast", "file_share"})


@dataclass(frozen=True, slots=True)
class Replied:
    """A person's reply in the thread of a message."""

    user: str
    message_ts: str
    words: str


def replied(event: Mapping[str, Any]) -> Replied | None:
    """Read a message event; None if it is no person's reply in a thread."""
    thread, ts = event.get("thread_ts"), event.get("ts")
    if event.get("subtype") not in _WORDS or event.get("bot_id") or not event.get("user"):
        return None
    if not thread or thread == ts:
        return None
    words = unescape(str(event.get("text", ""))).strip()
    return Replied(str(event["user"]), str(thread), words)
