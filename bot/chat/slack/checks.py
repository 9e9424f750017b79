"""Checks when the bot connects what Slack must grant it, and names what is missing.

Twin: `discord/checks.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.chat.slack.calls import FATAL, SlackRefused, SlackWeb
from bot.chat.surface import SurfaceFailed
from bot.expected import StartFailed
from lifecycle.workings.time_limits import within

log = logging.getLogger("signoff.slack")

#: Scopes without which nobody can decide here; one name of each tuple is enough.
_NEEDED: Final = (("chat:write",), ("reactions:read",), ("users:read",))
#: Scopes that are only missed if absent, and what does not work without them, in words.
_WISHED: Final = (
    (("app_mentions:read", "channels:history", "groups:history"), "agents are not heard"),
    (("channels:history", "groups:history"), "replies and lost answers are not found"),
    (("channels:read", "groups:read"), "the channel cannot be looked at"),
    (("reactions:write",), "✅ and ❌ are not put under cards"),
    (("files:read",), "attached files are not read"),
    (("files:write",), "long values cannot be attached, so they cannot be approved"),
    (("commands",), "there is no /signoff"),
)
_SEEN_S: Final = 10.0
_WHERE: Final = "under OAuth & Permissions, and install the app again"
_SHARED: Final = (
    "WARNING: the channel {} is shared with another organisation; people there read every "
    "card. They cannot decide, but use a channel of your own"
)
_ARCHIVED: Final = "the channel {} is archived: unarchive it, or name another in chat.slack.channel"
_NOT_IN: Final = "the bot is not in {}: /invite it there"
_UNSEEN: Final = (
    "the channel {} cannot be seen (channel_not_found): /invite the bot there, or name the right "
    "one in chat.slack.channel"
)
_SIGNED_OUT: Final = (
    "Slack does not accept the bot token any more ({}): install the app again, put its token "
    "into the environment variable that bot_token_env names, and restart"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a look at the channel.

    `blind` says why nothing of it is heard, with the remedy; `shared` is a warning if people of
    another organisation are in it. Both are None if all is well.
    """

    blind: str | None = None
    shared: str | None = None


@dataclass(frozen=True, slots=True)
class Me:
    """Who the bot is on Slack. `notes` are lines about what is missing; `seen` is how the channel
    stood when the bot connected."""

    team: str
    user: str
    bot: str
    notes: tuple[str, ...] = ()
    seen: Seen = Seen()


async def checked(web: SlackWeb, channel: str) -> Me:
    """Return who the bot is. Raises StartFailed for a token or scope without which nothing works,
    SurfaceFailed if Slack cannot be asked who it is now."""
    try:
        answer, scopes = await web.scopes()
    except SlackRefused as refused:
        raise _fatal(refused) from None
    missing = _missing(scopes, _NEEDED) if scopes else ()
    if missing:
        raise StartFailed(
            f"Slack: the bot token lacks the scope {', '.join(missing)}. Add it {_WHERE}."
        )
    if not isinstance(answer.get("user_id"), str) or not answer["user_id"]:
        # Without it no mention is a command, and the bot would be deaf while it seems to hear.
        raise SurfaceFailed("Slack does not say who the bot is: auth.test names no user_id")
    notes = _wished(scopes) if scopes else []
    found = await _seen_at_the_start(web, channel, notes)
    return Me(
        team=str(answer.get("team_id", "")),
        user=str(answer.get("user_id", "")),
        bot=str(answer.get("bot_id", "")),
        notes=tuple(notes),
        seen=found,
    )


async def _seen_at_the_start(web: SlackWeb, channel: str, notes: list[str]) -> Seen:
    """Look at the channel, and add to `notes` what Slack refuses to say of it.

    The bot hears without that look, so it waits 10 s at most, and for no other trouble at all:
    `presence.py` looks again.
    """
    try:
        async with within(_SEEN_S):
            return await channel_seen(web, channel)
    except SlackRefused as refused:
        notes.append(f"slack: {refused}")
    except (SurfaceFailed, TimeoutError) as failure:
        log.warning("slack: the channel cannot be looked at yet: %s", str(failure) or "no answer")
    return Seen()


async def channel_seen(web: SlackWeb, channel: str) -> Seen:
    """Look at the channel. Raises SlackRefused if a scope for that is missing or Slack tells
    nothing of the channel, SurfaceFailed if Slack cannot be asked now."""
    try:
        answer = await web.call("conversations.info", channel=channel)
    except SlackRefused as refused:
        if refused.error in FATAL:
            return Seen(_SIGNED_OUT.format(refused.error))
        if refused.error == "channel_not_found":
            return Seen(_UNSEEN.format(channel))
        raise
    found = answer.get("channel") or {}
    outside = found.get("is_ext_shared") or found.get("is_pending_ext_shared")
    shared = _SHARED.format(channel) if outside else None
    if found.get("is_archived"):
        return Seen(_ARCHIVED.format(channel), shared)
    if found.get("is_member") is False:
        return Seen(_NOT_IN.format(channel), shared)
    return Seen(None, shared)


def _missing(scopes: frozenset[str], wanted: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(names[0] for names in wanted if not scopes.intersection(names))


def _wished(scopes: frozenset[str]) -> list[str]:
    return [
        f"slack: the scope {names[0]} is missing, so {without}; add it {_WHERE}"
        for names, without in _WISHED
        if not scopes.intersection(names)
    ]


def _fatal(refused: SlackRefused) -> Exception:
    if refused.error not in FATAL:
        return refused
    return StartFailed(
        f"Slack does not accept the bot token ({refused.error}). Copy the Bot User OAuth Token "
        "(xoxb-…) of the installed app into the environment variable that bot_token_env names."
    )
