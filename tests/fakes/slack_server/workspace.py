"""What a workspace holds: people, one channel and another, messages, reactions, files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class User:
    """An account; `app` marks the user of a bot."""

    id: str
    team: str = "T1"
    name: str = ""
    is_bot: bool = False
    deleted: bool = False
    guest: bool = False
    single_channel_guest: bool = False
    stranger: bool = False
    bot_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "team_id": self.team,
            "name": self.name or self.id.lower(),
            "is_bot": self.is_bot,
            "deleted": self.deleted,
            "is_restricted": self.guest or self.single_channel_guest,
            "is_ultra_restricted": self.single_channel_guest,
            "is_stranger": self.stranger,
            "profile": {"display_name": self.name},
        }


@dataclass
class Message:
    """A message as it stands; `reactions` keep the order in which people came."""

    channel: str
    ts: str
    user: str
    text: str
    team: str = "T1"
    blocks: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    thread_ts: str | None = None
    bot_id: str | None = None
    subtype: str | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    edits: int = 0
    pinned: bool = False

    def as_json(self, *, cut: int | None = None, metadata: bool = False) -> dict[str, Any]:
        """Return the message; `cut` shortens the list of users of a reaction, as Slack may."""
        found: dict[str, Any] = {
            "type": "message",
            "user": self.user,
            "team": self.team,
            "text": self.text,
            "ts": self.ts,
            "blocks": self.blocks,
        }
        optional = {"thread_ts": self.thread_ts, "bot_id": self.bot_id, "files": self.files}
        optional |= {"subtype": self.subtype}
        found |= {key: value for key, value in optional.items() if value}
        if self.reactions:
            found["reactions"] = [
                {"name": name, "users": users[:cut], "count": len(users)}
                for name, users in self.reactions.items()
            ]
        if metadata and self.metadata:
            found["metadata"] = self.metadata
        return found


@dataclass
class Channel:
    """A channel: who is in it and whether it is shared with other organisations.

    `hidden` is one that the bot cannot even see: private and without it, or deleted.
    """

    id: str
    ext_shared: bool = False
    bot_is_member: bool = True
    archived: bool = False
    hidden: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.id.lower(),
            "is_channel": True,
            "is_member": self.bot_is_member,
            "is_archived": self.archived,
            "is_ext_shared": self.ext_shared,
            "is_shared": self.ext_shared,
        }


@dataclass
class StoredFile:
    """An uploaded file."""

    id: str
    name: str
    length: int
    body: bytes = b""
    announced: int | None = None

    def as_json(self, base: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "size": self.length if self.announced is None else self.announced,
            "mimetype": "application/json" if self.name.endswith(".json") else "text/plain",
            "url_private": f"{base}/files/{self.id}",
            "url_private_download": f"{base}/files/{self.id}/download",
        }


@dataclass
class Workspace:
    """The legend's workspace T1 with people, agents and channels; `now_ms` is its clock."""

    now_ms: Callable[[], int]
    team: str = "T1"
    bot_user: str = "USIGNOFF"
    bot_id: str = "BSIGNOFF"
    bot_token: str = "xoxb-fake"
    app_token: str = "xapp-fake"
    scopes: tuple[str, ...] = ()
    users: dict[str, User] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    files: dict[str, StoredFile] = field(default_factory=dict)
    usergroups: dict[str, list[str]] = field(default_factory=dict)
    views: list[dict[str, Any]] = field(default_factory=list)
    ephemeral: list[dict[str, Any]] = field(default_factory=list)
    edit_window_closed: bool = False
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        return next(self._numbers)

    def new_ts(self) -> str:
        return f"{self.now_ms() // 1000}.{self.number():06d}"

    def find(self, channel: str, ts: str) -> Message | None:
        return next((m for m in self.messages if m.channel == channel and m.ts == ts), None)

    def top_level(self, channel: str) -> list[Message]:
        found = [m for m in self.messages if m.channel == channel]
        return [m for m in found if m.thread_ts in (None, m.ts)]

    def replies(self, channel: str, ts: str) -> list[Message]:
        return [m for m in self.messages if m.channel == channel and ts in (m.ts, m.thread_ts)]


def the_workspace(now_ms: Callable[[], int]) -> Workspace:
    """Return the legend's workspace."""
    users = [User(f"U{name}") for name in ("ANA", "BEN", "CAL", "OLGA", "DEE")]
    users += [
        User("USIGNOFF", is_bot=True, bot_id="BSIGNOFF"),
        User("ULEILA", is_bot=True, bot_id="BLEILA"),
        User("UNOUR", is_bot=True, bot_id="BNOUR"),
        User("UBOT", is_bot=True, bot_id="BOTHER"),
        User("UGUEST", single_channel_guest=True),
        User("UGONE", deleted=True),
        User("UFAR", team="T9", stranger=True),
    ]
    return Workspace(
        now_ms,
        scopes=ALL_SCOPES,
        users={user.id: user for user in users},
        channels={name: Channel(name) for name in ("C0OPS", "C0ELSE")},
        usergroups={"SAPPROVERS": ["UANA", "UBEN"]},
    )


ALL_SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "groups:history",
    "groups:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "reactions:read",
    "reactions:write",
    "users:read",
    "usergroups:read",
    "pins:write",
)
