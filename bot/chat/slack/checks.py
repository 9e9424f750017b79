"""What Slack must grant before the bot can work: looked at when it connects, each lack named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.chat.slack.calls import FATAL, SlackRefused, SlackWeb
from bot.expected import StartFailed

#: Without these nobody can decide here; one name of each is enough.
_NEEDED: Final = (("chat:write",), ("reactions:read",), ("users:read",))
#: Without these something is missing: what, in words.
_WISHED: Final = (
    (("app_mentions:read", "channels:history", "groups:history"), "agents are not heard"),
    (("channels:history", "groups:history"), "replies and lost answers are not found"),
    (("channels:read", "groups:read"), "the channel cannot be looked at"),
    (("reactions:write",), "✅ and ❌ are not put under cards"),
    (("files:read",), "attached files are not read"),
    (("files:write",), "long values cannot be attached, so they cannot be approved"),
    (("commands",), "there is no /signoff"),
)
_WHERE: Final = "under OAuth & Permissions, and install the app again"


@dataclass(frozen=True, slots=True)
class Me:
    """Who the bot is on Slack; `notes` are lines about what is missing."""

    team: str
    enterprise: str | None
    user: str
    bot: str
    notes: tuple[str, ...] = ()


async def checked(web: SlackWeb, channel: str) -> Me:
    """Return who the bot is. Raises StartFailed for a token or scope that nothing works without,
    SurfaceFailed where Slack cannot be asked now."""
    try:
        answer, scopes = await web.scopes()
    except SlackRefused as refused:
        raise _fatal(refused) from None
    missing = _missing(scopes, _NEEDED) if scopes else ()
    if missing:
        raise StartFailed(
            f"Slack: the bot token lacks the scope {', '.join(missing)}. Add it {_WHERE}."
        )
    notes = [*(_wished(scopes) if scopes else ()), *await _channel_notes(web, channel)]
    return Me(
        team=str(answer.get("team_id", "")),
        enterprise=answer.get("enterprise_id"),
        user=str(answer.get("user_id", "")),
        bot=str(answer.get("bot_id", "")),
        notes=tuple(notes),
    )


def _missing(scopes: frozenset[str], wanted: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(names[0] for names in wanted if not scopes.intersection(names))


def _wished(scopes: frozenset[str]) -> list[str]:
    return [
        f"slack: the scope {names[0]} is missing, so {without}; add it {_WHERE}"
        for names, without in _WISHED
        if not scopes.intersection(names)
    ]


async def _channel_notes(web: SlackWeb, channel: str) -> list[str]:
    try:
        answer = await web.call("conversations.info", channel=channel)
    except SlackRefused as refused:
        if refused.error == "missing_scope":
            return [f"slack: {refused}"]
        return [f"slack: the channel {channel} cannot be seen ({refused.error}); invite the bot"]
    found = answer.get("channel") or {}
    notes = []
    if found.get("is_ext_shared") or found.get("is_pending_ext_shared"):
        notes.append(
            f"slack: WARNING: the channel {channel} is shared with another organisation; people "
            "there read every card. They cannot decide, but use a channel of your own"
        )
    if found.get("is_member") is False:
        notes.append(f"slack: the bot is not in {channel}, so it hears nothing: /invite it there")
    if found.get("is_archived"):
        notes.append(f"slack: the channel {channel} is archived; nothing can be posted there")
    return notes


def _fatal(refused: SlackRefused) -> Exception:
    if refused.error not in FATAL:
        return refused
    return StartFailed(
        f"Slack does not accept the bot token ({refused.error}). Copy the Bot User OAuth Token "
        "(xoxb-…) of the installed app into the environment variable that bot_token_env names."
    )
