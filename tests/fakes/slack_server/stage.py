"""What people and agents do in the workspace: each changes it and delivers what Slack would."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.fakes.slack_server.signed import Answered, SignedPoster
from tests.fakes.slack_server.sockets import Envelope, Sockets
from tests.fakes.slack_server.texts import escaped, named, typed_event
from tests.fakes.slack_server.workspace import Message, StoredFile, User, Workspace

OPS = "C0OPS"
Delivered = Envelope | Answered


class Stage:
    """Mixed into the server. With `poster` set, all goes over signed HTTP, else over the socket."""

    workspace: Workspace
    sockets: Sockets
    poster: SignedPoster | None = None
    base: str
    #: app_mention events come without their files, as they may.
    bare_mentions = False
    _events = itertools.count(1)

    # -- typing ---------------------------------------------------------------------------

    async def says(
        self,
        user: str,
        text: str,
        *,
        channel: str = OPS,
        thread_ts: str | None = None,
        files: list[StoredFile] | None = None,
        both: bool = True,
        team: str | None = None,
    ) -> tuple[Message, list[Delivered]]:
        """Post `text` as that user; a mention of the bot arrives as two events if `both`."""
        known = self.workspace.users.get(user, User(user))
        message = Message(
            channel,
            self.workspace.new_ts(),
            user,
            named(text),
            team=team or known.team,
            thread_ts=thread_ts,
            bot_id=known.bot_id,
            files=[each.as_json(self.base) for each in files or []],
        )
        self.workspace.messages.append(message)
        event = typed_event(message, known)
        if self.bare_mentions:
            event.pop("files", None)
            event.pop("subtype", None)
        kinds = ["message"]
        if f"<@{self.workspace.bot_user}>" in text:
            kinds = ["app_mention", "message"] if both else ["app_mention"]
        return message, [await self.event(event | {"type": kind}, team=team) for kind in kinds]

    async def shares(self, user: str, shared: Message, *, channel: str = OPS) -> Message:
        """Share a message: one of one's own that carries the other."""
        known = self.workspace.users[user]
        message = Message(channel, self.workspace.new_ts(), user, "", team=known.team)
        self.workspace.messages.append(message)
        where = {"channel_id": shared.channel, "ts": shared.ts, "author_id": shared.user}
        copied = where | {"is_share": True, "is_msg_unfurl": True, "text": shared.text}
        event = typed_event(message, known) | {"type": "message", "attachments": [copied]}
        await self.event(event)
        return message

    async def proposes(self, user: str, document: dict[str, Any], **how: Any) -> Message:
        """Mention the bot with a proposal, escaped as Slack's own clients do."""
        text = escaped(json.dumps(document))
        message, _ = await self.says(user, f"<@{self.workspace.bot_user}> propose {text}", **how)
        return message

    def a_file(self, name: str, body: bytes, announced: int | None = None) -> StoredFile:
        """Keep a file that a message can carry."""
        file = StoredFile(f"F{self.workspace.number()}", name, len(body), body, announced)
        self.workspace.files[file.id] = file
        return file

    # -- reacting -------------------------------------------------------------------------

    async def reacts(
        self,
        user: str,
        ts: str,
        name: str = "white_check_mark",
        *,
        channel: str = OPS,
        team: str | None = None,
        heard: bool = True,
    ) -> Delivered | None:
        """Add a reaction; not `heard`: nobody is told, as while the bot is away."""
        message = self.workspace.find(channel, ts)
        if message is not None and user not in message.reactions.setdefault(name, []):
            message.reactions[name].append(user)
        if not heard:
            return None
        return await self.event(self.reaction("reaction_added", user, ts, name, channel), team=team)

    async def unreacts(
        self,
        user: str,
        ts: str,
        name: str = "white_check_mark",
        *,
        channel: str = OPS,
        heard: bool = True,
    ) -> Delivered | None:
        """Take a reaction away."""
        message = self.workspace.find(channel, ts)
        if message is not None and user in message.reactions.get(name, []):
            message.reactions[name].remove(user)
            if not message.reactions[name]:
                del message.reactions[name]
        if not heard:
            return None
        return await self.event(self.reaction("reaction_removed", user, ts, name, channel))

    def reaction(
        self, kind: str, user: str, ts: str, name: str = "white_check_mark", channel: str = OPS
    ) -> dict[str, Any]:
        """Return the event of a reaction that was added or removed."""
        message = self.workspace.find(channel, ts)
        return {
            "type": kind,
            "user": user,
            "reaction": name,
            "item": {"type": "message", "channel": channel, "ts": ts},
            "item_user": message.user if message is not None else self.workspace.bot_user,
            "event_ts": self.workspace.new_ts(),
        }

    async def edits(self, message: Message, text: str) -> list[Delivered]:
        """Change the text of a message; one that mentions the bot now is told of as such, too."""
        message.text = text
        edited = {"user": message.user, "ts": self.workspace.new_ts()}
        changed = message.as_json() | {"edited": edited}
        event = {"type": "message", "subtype": "message_changed", "message": changed}
        events = [event | {"channel": message.channel, "ts": edited["ts"]}]
        if f"<@{self.workspace.bot_user}>" in text:
            known = self.workspace.users.get(message.user, User(message.user))
            mention = {"type": "app_mention", "edited": edited, "event_ts": edited["ts"]}
            events.append(typed_event(message, known) | mention)
        return [await self.event(each) for each in events]

    async def deletes(self, ts: str, *, channel: str = OPS) -> Delivered:
        """Delete a message, as a moderator may."""
        message = self.workspace.find(channel, ts)
        assert message is not None
        self.workspace.messages.remove(message)
        event = {
            "type": "message",
            "subtype": "message_deleted",
            "channel": channel,
            "deleted_ts": ts,
            "previous_message": message.as_json(),
            "ts": self.workspace.new_ts(),
        }
        return await self.event(event)

    # -- commands and buttons -------------------------------------------------------------

    async def slash(self, user: str, text: str, *, channel: str = OPS) -> Delivered:
        """Run `/signoff <text>`."""
        fields = {
            "command": "/signoff",
            "text": text,
            "user_id": user,
            "team_id": self._team(user),
            "channel_id": channel,
            "trigger_id": f"trigger-{self.workspace.number()}",
            "response_url": f"{self.base}/response/{self.workspace.number()}",
            "api_app_id": "A1",
        }
        if self.poster is not None:
            return await self.poster.form(fields, self.now_s())
        return await self.sockets.send("slash_commands", fields, accepts_response=True)

    async def presses(
        self, user: str, message: Message, action_id: str, *, team: str | None = None
    ) -> Delivered:
        """Press a button of a message."""
        return await self.interacts(json.loads(self.press_of(user, message, action_id, team)))

    def press_of(self, user: str, message: Message, action_id: str, team: str | None = None) -> str:
        """Return the payload of a pressed button."""
        button = next(
            each
            for block in message.blocks
            if block["type"] == "actions"
            for each in block["elements"]
            if each["action_id"] == action_id
        )
        action = {
            "type": "button",
            "action_id": action_id,
            "block_id": "b1",
            "value": button.get("value", ""),
            "action_ts": self.workspace.new_ts(),
        }
        payload = self._interaction("block_actions", user, team) | {
            "channel": {"id": message.channel},
            "container": {
                "type": "message",
                "message_ts": message.ts,
                "channel_id": message.channel,
            },
            "message": message.as_json(),
            "actions": [action],
            "response_url": f"{self.base}/response/{self.workspace.number()}",
        }
        return json.dumps(payload)

    async def submits(self, user: str, view: dict[str, Any], values: dict[str, str]) -> Delivered:
        """Send a modal; `values` are texts by action id."""
        state = {
            block["block_id"]: {
                block["element"]["action_id"]: {
                    "type": "plain_text_input",
                    "value": values.get(block["element"]["action_id"]),
                }
            }
            for block in view["blocks"]
            if block["type"] == "input"
        }
        shown = view | {"state": {"values": state}, "hash": f"h{self.workspace.number()}"}
        payload = self._interaction("view_submission", user, None) | {"view": shown}
        return await self.interacts(payload)

    def _interaction(self, kind: str, user: str, team: str | None) -> dict[str, Any]:
        team = team or self._team(user)
        return {
            "type": kind,
            "user": {"id": user, "team_id": team},
            "team": {"id": team},
            "api_app_id": "A1",
            "trigger_id": f"trigger-{self.workspace.number()}",
        }

    async def interacts(self, payload: dict[str, Any]) -> Delivered:
        """Deliver an interaction."""
        if self.poster is not None:
            return await self.poster.form({"payload": json.dumps(payload)}, self.now_s())
        return await self.sockets.send("interactive", payload, accepts_response=True)

    # -- delivering -----------------------------------------------------------------------

    async def event(
        self, event: dict[str, Any], *, team: str | None = None, event_id: str | None = None
    ) -> Delivered:
        """Deliver one event of the Events API."""
        payload = {
            "type": "event_callback",
            "team_id": team or self.workspace.team,
            "api_app_id": "A1",
            "event_id": event_id or f"Ev{next(self._events)}",
            "event_time": int(self.now_s()),
            "event": event,
            "authorizations": [
                {"team_id": self.workspace.team, "user_id": self.workspace.bot_user, "is_bot": True}
            ],
        }
        if self.poster is not None:
            return await self.poster.event(payload, self.now_s())
        return await self.sockets.send("events_api", payload)

    def now_s(self) -> float:
        """The time that signatures carry."""
        return self.workspace.now_ms() / 1000

    def _team(self, user: str) -> str:
        known = self.workspace.users.get(user)
        return known.team if known else self.workspace.team
