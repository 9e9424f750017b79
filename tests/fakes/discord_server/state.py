"""What stands on the server: people, channels, messages, reactions, pins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.fakes.discord_server.faults import Refused, Snowflakes, not_found

GUILD, CHANNEL, OTHER_CHANNEL = "700", "701", "702"
FOREIGN_GUILD, FOREIGN_CHANNEL = "800", "801"
BOT, APPROVERS_ROLE, BOT_ROLE = "900", "7301", "7900"
WHEN = "2026-03-02T12:00:00.000000+00:00"

#: View, send, embed, attach, history, react, manage messages, pin, threads, external emoji.
FULL = sum(1 << bit for bit in (6, 10, 11, 13, 14, 15, 16, 18, 31, 35, 38, 51))
NORMAL, BURST = 0, 1
VIEW, HISTORY, MENTION = 10, 16, 17


def moment() -> str:
    """Return now as Discord writes it; what is asked of the machine here is only shown."""
    return datetime.fromtimestamp(1_772_452_800, UTC).isoformat()


@dataclass
class Message:
    """A message; `reactions` maps an emoji key to its two lists of users, in order of arrival."""

    data: dict[str, Any]
    reactions: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def is_card(self) -> bool:
        """Say whether it shows a proposal or a question; the board is neither."""
        return any((e.get("title") or "").startswith(("🔔", "📝")) for e in self.data["embeds"])

    def who(self, emoji: str, kind: int = NORMAL) -> list[str]:
        """Return the users under an emoji."""
        return list(self.reactions.get(emoji, ([], []))[kind])

    def seen_by(self, user: str) -> dict[str, Any]:
        """Return the message as the API gives it to `user`."""
        return self.data | {
            "reactions": [
                {
                    "emoji": emoji_json(key),
                    "count": len(both[NORMAL]) + len(both[BURST]),
                    "count_details": {"normal": len(both[NORMAL]), "burst": len(both[BURST])},
                    "me": user in both[NORMAL],
                    "me_burst": user in both[BURST],
                    "burst_colors": [],
                }
                for key, both in self.reactions.items()
                if both[NORMAL] or both[BURST]
            ]
        }


def emoji_json(key: str) -> dict[str, Any]:
    """Return an emoji from `✅` or `name:id`."""
    name, _, custom = key.partition(":")
    return {"id": custom or None, "name": name}


class State:
    """All of it, with what the API refuses."""

    def __init__(self) -> None:
        self.new_id = Snowflakes()
        self.users: dict[str, dict[str, Any]] = {}
        self.members: dict[str, dict[str, dict[str, Any]]] = {GUILD: {}, FOREIGN_GUILD: {}}
        self.roles: dict[str, dict[str, Any]] = {}
        self.channels: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, dict[str, Message]] = {}
        self.files: dict[str, bytes] = {}
        self._people()
        self._places()

    def _people(self) -> None:
        names = {
            **{"1001": "ana", "1002": "ben", "1003": "cal", "1004": "dee", "1005": "olga"},
            **{"911": "leila", "912": "nour", "999": "unknown", BOT: "signoff"},
        }
        for user, name in names.items():
            self.users[user] = {
                "id": user,
                "username": name,
                "discriminator": "0",
                "global_name": name.title(),
                "avatar": None,
                "bot": user in (BOT, "911", "912", "999"),
            }
            roles = {BOT: [BOT_ROLE], "1001": [APPROVERS_ROLE], "1002": [APPROVERS_ROLE]}
            self.join(user, roles.get(user, ()))

    def _places(self) -> None:
        for role, name, permissions in (
            (GUILD, "@everyone", FULL & ~(1 << 13)),
            (APPROVERS_ROLE, "approvers", 0),
            (BOT_ROLE, "signoff", FULL),
        ):
            self.roles[role] = {
                "id": role,
                "name": name,
                "permissions": str(permissions),
                "position": 0 if role == GUILD else 1,
                "color": 0,
                "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
                "hoist": False,
                "managed": role == BOT_ROLE,
                "mentionable": True,
                "flags": 0,
            }
        self.add_channel(CHANNEL, GUILD, "ops")
        self.add_channel(OTHER_CHANNEL, GUILD, "random")
        self.add_channel(FOREIGN_CHANNEL, FOREIGN_GUILD, "ops")

    def add_channel(self, channel: str, guild: str | None, name: str, **more: Any) -> None:
        """Add a channel, a thread (type 11, parent_id) or, without a guild, direct messages."""
        self.channels[channel] = {
            "id": channel,
            "type": 0 if guild else 1,
            "name": name,
            "position": 0,
            "permission_overwrites": [],
            "nsfw": False,
            "parent_id": None,
            "topic": None,
            "last_message_id": None,
            **({"guild_id": guild} if guild else {}),
            **more,
        }
        self.messages.setdefault(channel, {})

    def join(self, user: str, roles: Iterable[str] = (), guild: str = GUILD) -> None:
        """Make a user a member."""
        self.members[guild][user] = {
            "user": self.users[user],
            "roles": list(roles),
            "nick": None,
            "avatar": None,
            "joined_at": WHEN,
            "premium_since": None,
            "deaf": False,
            "mute": False,
            "flags": 0,
            "pending": False,
        }

    def permissions(self) -> int:
        """Return what the bot may do."""
        return int(self.roles[BOT_ROLE]["permissions"])

    def may(self, *bits: int, channel: str | None = None) -> None:
        """Raise 50001, 50013 where the bot lacks a permission, 10003 where there is no channel."""
        if channel is not None:
            self.channel(channel)
        if VIEW in bits and not self.has(VIEW):
            raise Refused(403, 50001, "Missing Access")
        if not all(map(self.has, bits)):
            raise Refused(403, 50013, "Missing Permissions")

    def has(self, bit: int) -> bool:
        """Say whether the bot has a permission, by bit."""
        return bool(self.permissions() & (1 << bit))

    def channel(self, channel: str) -> dict[str, Any]:
        """Return a channel; raises 10003."""
        found = self.channels.get(channel)
        if found is None:
            raise not_found(10003, "Channel")
        return found

    def message(self, channel: str, message: str) -> Message:
        """Return a message; raises 10003, 10008."""
        self.channel(channel)
        found = self.messages[channel].get(message)
        if found is None:
            raise not_found(10008, "Message")
        return found

    def find(self, message: str) -> tuple[str, Message]:
        """Return a message wherever it stands, with its channel; raises 10008."""
        for channel, messages in self.messages.items():
            if message in messages:
                return channel, messages[message]
        raise not_found(10008, "Message")

    def write(self, channel: str, author: str, content: str, **more: Any) -> Message:
        """Write a message down; nobody is told."""
        data: dict[str, Any] = {
            "id": self.new_id(),
            "channel_id": channel,
            "author": self.users.get(author) or more.pop("author"),
            "content": content,
            "timestamp": moment(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [self.users[u] for u in self.users if f"<@{u}>" in content],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "components": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
            **more,
        }
        message = Message(data)
        self.messages[channel][message.id] = message
        return message

    def guild_json(self, guild: str = GUILD) -> dict[str, Any]:
        """Return the guild as GUILD_CREATE has it."""
        channels = [c for c in self.channels.values() if c.get("guild_id") == guild]
        everyone = self.roles[GUILD] | {"id": guild}
        roles = list(self.roles.values()) if guild == GUILD else [everyone]
        return {
            **{"id": guild, "name": f"guild {guild}", "owner_id": "1", "icon": None},
            **{"unavailable": False, "large": False, "member_count": len(self.members[guild])},
            **{"verification_level": 0, "default_message_notifications": 0, "features": []},
            **{"explicit_content_filter": 0, "mfa_level": 0, "premium_tier": 0, "nsfw_level": 0},
            **{"roles": roles, "emojis": [], "stickers": [], "presences": []},
            **{"voice_states": [], "stage_instances": [], "guild_scheduled_events": []},
            **{"system_channel_flags": 0, "premium_progress_bar_enabled": False},
            **{"preferred_locale": "en-US", "afk_timeout": 300, "joined_at": WHEN},
            "channels": [c for c in channels if c["type"] != 11],
            "threads": [c for c in channels if c["type"] == 11],
            "members": [m for user, m in self.members[guild].items() if user == BOT],
        }
