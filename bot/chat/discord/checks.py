"""Finds what the bot needs and does not have, and names the remedy. Twin: `slack/checks.py`.

`DiscordSurface.ready` calls it whenever the bot's view of its server may have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import discord

from bot.chat.discord.settings import NEEDED, DiscordSettings, invitation

_TEXT: Final = (discord.TextChannel, discord.VoiceChannel, discord.StageChannel)
#: Without these permissions nothing can be signed off here; the others are only missed.
_VITAL: Final = frozenset({"view_channel", "send_messages", "embed_links", "read_message_history"})


def problems_of(client: discord.Client, settings: DiscordSettings) -> list[str]:
    """Return one sentence for each thing that is missing: server, channel, permission, role."""
    guild = client.get_guild(settings.guild)
    if guild is None:
        return [
            f"the bot is not in server {settings.guild}: open {invitation(client.application_id)} "
            "as an administrator of that server"
        ]
    channel = guild.get_channel(settings.channel)
    if channel is None:
        return [
            f"channel {settings.channel} cannot be seen in server {guild.id}: check chat.discord."
            "channel, and give the bot's role View Channel there"
        ]
    if not isinstance(channel, _TEXT):
        return [f"channel {settings.channel} is not a text channel; name one in chat.discord"]
    return [*_permissions(guild, channel), *_roles(guild, channel, settings.roles)]


def blindness_of(client: discord.Client, settings: DiscordSettings) -> str | None:
    """Return why nothing of the channel can be heard although the connection stands, else None."""
    guild = client.get_guild(settings.guild)
    if guild is None:
        return f"the bot is not in server {settings.guild}"
    if guild.unavailable:
        return f"server {guild.id} is not available at Discord just now"
    channel = guild.get_channel(settings.channel)
    if channel is None:
        return f"channel {settings.channel} is gone"
    me: discord.Member | None = guild.me
    if me is not None and not channel.permissions_for(me).view_channel:
        return f"the bot may not view channel {settings.channel}"
    return None


def _permissions(guild: discord.Guild, channel: discord.abc.GuildChannel) -> list[str]:
    if guild.me is None:
        return ["the bot's own membership is not known yet"]
    has = channel.permissions_for(guild.me)
    found = []
    for name, words in NEEDED.items():
        if not getattr(has, name):
            kind = "needs" if name in _VITAL else "lacks"
            found.append(
                f"{kind} the permission {words}: channel settings, Permissions, the bot's role, ✓"
            )
    return found


def _roles(
    guild: discord.Guild, channel: discord.abc.GuildChannel, roles: Mapping[str, int]
) -> list[str]:
    me: discord.Member | None = guild.me
    calls_all = me is not None and channel.permissions_for(me).mention_everyone
    found = []
    for group, role_id in roles.items():
        role, name = guild.get_role(role_id), f"groups.{group}.discord_role {role_id}"
        if role is None:
            found.append(f"{name} is no role of server {guild.id}")
        elif not role.mentionable and not calls_all:
            found.append(
                f"{name} can be called by nobody, so that a card calls no one: Server Settings, "
                "Roles, that role, Allow anyone to @mention this role, ✓"
            )
    return found
