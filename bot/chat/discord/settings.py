"""Reads the settings of the Discord surface from the config and the environment.

Twin: `slack/settings.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import discord
import yarl

from bot.chat.discord.buckets import mend_buckets
from bot.chat.discord.json_read import read_json
from bot.chat.discord.pauses import shorten_pauses
from bot.config import Config
from bot.config.surfaces import token_fault
from bot.expected import SettingRefused

SURFACE: Final = "discord"
#: What stands before a typed command; a mention of the bot may stand there instead.
PREFIX: Final = "!"
#: Every outgoing call says whom it may ping: nobody.
NOBODY: Final = discord.AllowedMentions.none()
#: What the bot needs in its channel, by discord.py's name and by the name in Discord's settings.
NEEDED: Final = {
    "view_channel": "View Channel",
    "send_messages": "Send Messages",
    "embed_links": "Embed Links",
    "attach_files": "Attach Files",
    "read_message_history": "Read Message History",
    "add_reactions": "Add Reactions",
    "send_messages_in_threads": "Send Messages in Threads",
    "manage_messages": "Manage Messages (takes off reactions that do not count)",
    "pin_messages": "Pin Messages (pins the board)",
}


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    """Where and as whom to connect. `roles` maps a group of the config to the role a card calls.

    `heartbeat_s` is after how many seconds without a sign of life the connection is given up.
    """

    token: str = field(repr=False)
    token_env: str
    guild: int
    channel: int
    api_base: str
    gateway: str
    roles: Mapping[str, int] = field(default_factory=dict)
    heartbeat_s: float = 60.0


def discord_settings(config: Config, environment: Mapping[str, str]) -> DiscordSettings:
    """Return the settings; raises SettingRefused if Discord or its token is missing, or if the
    token has not the form of one."""
    entry = config.chat.discord
    token = environment.get(entry.token_env, "").strip() if entry is not None else ""
    if entry is None or not token:
        raise SettingRefused("Discord needs chat.discord in the config and its token set.")
    if fault := token_fault(entry.token_env, environment):
        raise SettingRefused(fault)
    roles = {name: group.discord_role for name, group in config.groups.items()}
    return DiscordSettings(
        token=token,
        token_env=entry.token_env,
        guild=int(entry.guild),
        channel=int(entry.channel),
        api_base=entry.api_base,
        gateway=entry.gateway,
        roles={name: int(role) for name, role in roles.items() if role is not None},
    )


def needed_permissions() -> discord.Permissions:
    """Return the permissions that an invitation asks for."""
    return discord.Permissions(**dict.fromkeys(NEEDED, True))


def invitation(application_id: int | None) -> str:
    """Return the link by which an administrator lets the bot in with everything it needs."""
    client = application_id or "<application id>"
    return (
        f"https://discord.com/oauth2/authorize?client_id={client}"
        f"&permissions={needed_permissions().value}&scope=bot+applications.commands"
    )


def point_library_at(settings: DiscordSettings) -> None:
    """Set where discord.py connects to, for the whole process."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody speaks here
    discord.http.Route.BASE = settings.api_base.rstrip("/")
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(settings.gateway)
    shorten_pauses()
    mend_buckets()
    read_json()
    library = logging.getLogger("discord.client")
    if _in_one_line not in library.filters:
        library.addFilter(_in_one_line)


def _in_one_line(entry: logging.LogRecord) -> bool:
    """Drop the traceback that discord.py logs when the gateway is away: fifty lines each time."""
    if entry.exc_info and str(entry.msg).startswith("Attempting a reconnect"):
        error = entry.exc_info[0]
        entry.msg = f"{entry.msg} ({error.__name__ if error else 'no error'})"
        entry.exc_info = entry.exc_text = None
    return True
