"""Reads what an event of Slack tells of itself: its id, place and workspace, what it shares.

Twin: `discord/payloads.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.chat.hearing.inbox import Payload


def mentions_by_edit(event: Mapping[str, Any]) -> bool:
    """Say whether an event is an app_mention made by an edit, for Slack sends one then as well."""
    return event.get("type") == "app_mention" and bool(event.get("edited"))


def number_of(body: Mapping[str, Any]) -> str:
    """Return the id of an event, the same each time that it is delivered."""
    event = body.get("event") or {}
    parts = ("type", "user", "reaction", "event_ts", "ts", "deleted_ts")
    return str(body.get("event_id") or ":".join(str(event.get(part, "")) for part in parts))


def place_of(event: Mapping[str, Any]) -> str:
    """Return where a message stands, unique over all channels."""
    return f"{event.get('channel')}:{event.get('ts')}"


def shared(event: Mapping[str, Any], channel: str) -> str | None:
    """Return the ts of the message of the channel that this one shares; None if it shares none."""
    for each in event.get("attachments") or ():
        known = isinstance(each, Mapping) and each.get("is_share")
        if known and each.get("channel_id") == channel and each.get("ts"):
            return str(each["ts"])
    return None


def team_of(payload: Payload) -> str:
    """Return the workspace of whoever acted; in a shared channel it is not that of the event."""
    event = payload["event"]
    named = event.get("user_team") or event.get("source_team") or event.get("team")
    return str(named or payload.get("team_id") or "")


def mentioned_by(event: Mapping[str, Any], me: str) -> str | None:
    """Return the person who wrote a message with a mention of the bot in it, None if nobody did."""
    by_person = event.get("type") in ("message", "app_mention") and not event.get("bot_id")
    written = by_person and event.get("subtype") in (None, "thread_broadcast", "file_share")
    named = re.search(rf"<@{re.escape(me)}(?:\|[^>]*)?>", str(event.get("text", "")))
    return str(event.get("user") or "") or None if written and named is not None else None
