"""Messages as Slack gives them out: escaped, and emoji by their names."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack_server.workspace import Message, User

#: Some of the names.
_NAMES = {"🎉": ":tada:", "🚀": ":rocket:", "✅": ":white_check_mark:", "❌": ":x:"}


def typed_event(message: Message, user: User) -> dict[str, Any]:
    """Return a message as an event has it."""
    event: dict[str, Any] = {
        "user": message.user,
        "text": message.text,
        "ts": message.ts,
        "event_ts": message.ts,
        "channel": message.channel,
        "channel_type": "channel",
        "team": message.team,
    }
    optional = {"thread_ts": message.thread_ts, "bot_id": user.bot_id, "files": message.files}
    event |= {key: value for key, value in optional.items() if value}
    if message.files:
        event["subtype"] = "file_share"
    return event


def named(text: str) -> str:
    """Return text with its emoji written as Slack writes them."""
    for emoji, name in _NAMES.items():
        text = text.replace(emoji, name)
    return text


def escaped(text: str) -> str:
    """Return text as Slack's own clients escape it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
