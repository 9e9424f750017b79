"""Turns events into what is kept until they are processed: plain values that can be stored as JSON.

Twins: `slack/events.py` and `slack/emoji.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import discord

from bot.chat.discord.commands import command_text, forwards
from bot.chat.discord.settings import DiscordSettings
from bot.chat.hearing.shown import GIVEN_MS
from bot.chat.hearing.signals import of_character

#: The key for the connection in which an emoji was heard, named by when it began. If another one
#: stands by the time the emoji is processed, something may have been missed since.
LINE_MS: Final = "line_ms"
#: The key for when an event told of an emoji, which may be long after it was given.
TOLD_MS: Final = "told_ms"


def reaction_payload(
    about: discord.RawReactionActionEvent,
    settings: DiscordSettings,
    me: int | None,
    copy_of: str | None,
    given_ms: int | None,
) -> dict[str, Any] | None:
    """Return what to keep of a reaction; None if it is nobody's attempt to decide.

    `copy_of` is the message of the channel that the message forwards, if it does. `given_ms` is the
    earliest moment at which the reaction can have been given, None for just now.
    """
    signal = of_character(about.emoji.name or "", about.emoji.id)
    added = about.event_type == "REACTION_ADD"
    if signal is None or about.user_id == me:
        return None
    in_place = about.guild_id == settings.guild and about.channel_id == settings.channel
    ours = None if about.message_author_id is None else about.message_author_id == me
    ours = True if copy_of is not None else ours
    # In other places only an emoji that is put on a message of ours, or a copy, is an attempt.
    if not in_place and (not added or ours is False):
        return None
    return {
        "kind": "reaction",
        "message": str(about.message_id),
        "user": str(about.user_id),
        "signal": signal.name,
        "variant": about.type.name,
        "added": added,
        "in_place": in_place,
        "ours": ours,
        "copy_of": copy_of,
        GIVEN_MS: given_ms,
    }


def cleared_payload(about: Any, settings: DiscordSettings) -> dict[str, Any] | None:
    """Return what to keep of cleared emoji, all or one kind; None if no signal is among them."""
    emoji = getattr(about, "emoji", None)
    signal = of_character(emoji.name or "", emoji.id) if emoji is not None else None
    if about.channel_id != settings.channel or (emoji is not None and signal is None):
        return None
    return {
        "kind": "cleared",
        "message": str(about.message_id),
        "signal": signal.name if signal else None,
    }


def emptied(
    about: discord.RawMessageUpdateEvent, settings: DiscordSettings, me: int | None
) -> str | None:
    """Return which message of the channel shows nothing any more; None for any other edit.

    That is one whose embeds somebody removed, or one of ours that an edit left without an embed.
    """
    data: Mapping[str, Any] = about.data
    flags = discord.MessageFlags._from_value(int(data.get("flags") or 0))
    ours = me is not None and str((data.get("author") or {}).get("id")) == str(me)
    nothing = flags.suppress_embeds or (ours and data.get("embeds") == [])
    in_place = about.guild_id == settings.guild and about.channel_id == settings.channel
    return str(about.message_id) if in_place and nothing else None


def arrives_empty(about: discord.Message) -> bool | None:
    """Say whether a message arrives without anything that somebody can write into one, as each does
    without the content intent; None for a forward and others that carry nothing of their own."""
    if about.type is not discord.MessageType.default or forwards(about):
        return None
    carries = (about.content, about.attachments, about.embeds, about.stickers)
    return not any((*carries, about.components, about.poll))


def deleted_payload(about: Any, settings: DiscordSettings) -> dict[str, Any] | None:
    """Return what to keep of deleted messages; None outside the channel, where no card stands."""
    if about.channel_id != settings.channel:
        return None
    message_ids = sorted(getattr(about, "message_ids", None) or (about.message_id,))
    return {"kind": "deleted", "messages": [str(each) for each in message_ids]}


def edit_payload(
    about: discord.RawMessageUpdateEvent, settings: DiscordSettings, me: int | None
) -> dict[str, Any] | None:
    """Return what to keep of an edited command; None for any other edit."""
    data: Mapping[str, Any] = about.data
    author = data.get("author") or {}
    text = command_text(str(data.get("content") or ""), me)
    ours = str(author.get("id")) == str(me)
    if not data.get("edited_timestamp") or text is None or ours:
        return None
    if about.guild_id != settings.guild:
        return None
    return {
        "kind": "edited",
        "message": str(about.message_id),
        "channel": str(about.channel_id),
        "user": str(author.get("id")),
        "bot": bool(author.get("bot")),
        "webhook": "webhook_id" in data,
        "text": text,
    }
