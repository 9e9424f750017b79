"""What is kept of an event until it is worked: plain values, in a form that can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import discord

from bot.chat.discord.commands import command_text
from bot.chat.discord.settings import DiscordSettings
from bot.chat.hearing.shown import GIVEN_MS
from bot.chat.hearing.signals import of_character

#: Where an emoji tells in which connection it was heard: since when that stood. In another one
#: something may have been missed since.
LINE_MS: Final = "line_ms"
#: When an emoji was told of, which may be long after it was given.
TOLD_MS: Final = "told_ms"


def reaction_payload(
    about: discord.RawReactionActionEvent,
    settings: DiscordSettings,
    me: int | None,
    copy_of: str | None = None,
    given_ms: int | None = None,
) -> dict[str, Any] | None:
    """Return what to keep of a reaction; None where it is nobody's attempt to decide.

    `copy_of` is the message of the channel that was forwarded there; `given_ms` when it was given
    at the soonest, None for a moment ago.
    """
    signal = of_character(about.emoji.name or "", about.emoji.id)
    added = about.event_type == "REACTION_ADD"
    if signal is None or about.user_id == me:
        return None
    in_place = about.guild_id == settings.guild and about.channel_id == settings.channel
    ours = None if about.message_author_id is None else about.message_author_id == me
    ours = True if copy_of is not None else ours
    # What people write elsewhere, and what others say to it, is no attempt to decide.
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
    """Return what to keep of emoji that somebody cleared, all or one kind; None where that is
    nothing to us."""
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
    """Return the message of the channel that shows nothing any more, None for any other edit:
    somebody removed its embeds, or it is ours and an edit left it without."""
    data: Mapping[str, Any] = about.data
    flags = discord.MessageFlags._from_value(int(data.get("flags") or 0))
    ours = me is not None and str((data.get("author") or {}).get("id")) == str(me)
    nothing = flags.suppress_embeds or (ours and data.get("embeds") == [])
    in_place = about.guild_id == settings.guild and about.channel_id == settings.channel
    return str(about.message_id) if in_place and nothing else None


def deleted_payload(about: Any, settings: DiscordSettings) -> dict[str, Any] | None:
    """Return what to keep of messages that were deleted, one or many; None elsewhere than in the
    channel, where nothing of ours stands."""
    if about.channel_id != settings.channel:
        return None
    message_ids = sorted(getattr(about, "message_ids", None) or (about.message_id,))
    return {"kind": "deleted", "messages": [str(each) for each in message_ids]}


def edit_payload(
    about: discord.RawMessageUpdateEvent, settings: DiscordSettings, me: int | None
) -> dict[str, Any] | None:
    """Return what to keep of the edit of a command; None where it is anything else."""
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
        "webhook": "webhook_id" in data,
    }
