"""REST: messages, their files and pins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes.discord_server.body import read_body
from tests.fakes.discord_server.faults import Refused, answer
from tests.fakes.discord_server.limits import check_message
from tests.fakes.discord_server.state import BOT, MENTION, Message, State, moment

Tell = Callable[[str, dict[str, Any]], None]

#: What each act needs of the bot's permissions.
_SEND, _HISTORY, _MANAGE, _ATTACH, _VIEW, _PIN = 11, 16, 13, 15, 10, 51
_EMBED, _SEND_IN_THREADS = 14, 38
#: The kind of reference that a forwarded message has; a reply has 0.
_FORWARD = 1
#: The flag of a message whose embeds somebody removed; the one flag that an edit may change.
SUPPRESS_EMBEDS = 1 << 2


class Messages:
    """Messages as the bot may write, read and mark them."""

    def __init__(self, state: State, tell: Tell) -> None:
        self.state = state
        self.tell = tell
        self.nonces: dict[str, str] = {}
        self.base = ""
        #: Called with a new message before its answer goes out, for what comes too early.
        self.before_answer: Callable[[Message], None] | None = None
        self.after_answer_s = 0.0

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        message = "/channels/{channel}/messages/{message}"
        return [
            web.get("/channels/{channel}/messages", self.history),
            web.post("/channels/{channel}/messages", self.post),
            web.get("/channels/{channel}/messages/pins", self.pins),
            web.put("/channels/{channel}/messages/pins/{message}", self.pin),
            web.put("/channels/{channel}/pins/{message}", self.pin),
            web.delete("/channels/{channel}/messages/pins/{message}", self.unpin),
            web.delete("/channels/{channel}/pins/{message}", self.unpin),
            web.get(message, self.get),
            web.patch(message, self.edit),
            web.delete(message, self.delete),
            web.get("/files/{file}/{name}", self.file),
        ]

    async def post(self, request: web.Request) -> web.Response:
        channel = request.match_info["channel"]
        in_thread = self.state.channel(channel)["type"] == 11
        self.state.may(_VIEW, _SEND_IN_THREADS if in_thread else _SEND)
        body, files = await read_body(request)
        self._check(body, files)
        if body.get("message_reference") and not self.state.has(_HISTORY):
            what = "Cannot reply without permission to read message history"
            raise Refused(400, 160002, what)
        known = self.nonces.get(f"{channel}:{body.get('nonce')}") if body.get("nonce") else None
        if known is not None and body.get("enforce_nonce"):
            return answer(self.state.message(channel, known).seen_by(BOT))
        if body.get("embeds") and not self.state.has(_EMBED):
            if not (body.get("content") or body.get("components") or files):
                raise Refused(403, 50013, "Missing Permissions")
            body = body | {"embeds": []}  # what else there is is posted, without a word of it
        message = self.write(channel, BOT, body, files)
        message.data["mention_roles"] = self._pinged(body)
        if body.get("nonce"):
            self.nonces[f"{channel}:{body['nonce']}"] = message.id
        posted = answer(message.seen_by(BOT))  # as it was made, whatever comes while it is told
        if self.before_answer is not None:
            self.before_answer(message)
        if self.after_answer_s:
            await asyncio.sleep(self.after_answer_s)
        return posted

    def write(
        self, channel: str, author: str, body: dict[str, Any], files: dict[str, bytes]
    ) -> Message:
        """Write a message down and tell everybody."""
        known = self.state.channel(channel)
        more = {
            k: body[k]
            for k in ("embeds", "components", "flags", "author", "webhook_id", "type")
            if k in body
        }
        if "nonce" in body:
            more["nonce"] = body["nonce"]
        reference = body.get("message_reference")
        if reference and reference.get("type") == _FORWARD:
            more |= {"message_reference": reference} | self._snapshot(reference)
        elif reference:
            more |= {"type": 19, "message_reference": {"channel_id": channel} | reference}
            replied = self.state.messages[channel].get(str(reference["message_id"]))
            more["referenced_message"] = replied.seen_by(BOT) if replied else None
        attachments = [self._kept(name, content) for name, content in files.items()]
        message = self.state.write(
            channel, author, body.get("content") or "", attachments=attachments, **more
        )
        guild = known.get("guild_id")
        event = message.seen_by(BOT) | ({"guild_id": guild} if guild else {})
        member = self.state.members.get(guild or "", {}).get(author)
        if member is not None:
            event["member"] = {k: v for k, v in member.items() if k != "user"}
        self.tell("MESSAGE_CREATE", event)
        return message

    async def get(self, request: web.Request) -> web.Response:
        self.state.may(_VIEW, _HISTORY)
        return answer(self._message(request).seen_by(BOT))

    async def history(self, request: web.Request) -> web.Response:
        channel = request.match_info["channel"]
        self.state.may(_VIEW, channel=channel)
        if not self.state.has(_HISTORY):
            return answer([])  # no refusal: who may not read history finds none
        found = sorted(self.state.messages[channel].values(), key=lambda m: -int(m.id))
        before, after = request.query.get("before"), request.query.get("after")
        found = [m for m in found if not before or int(m.id) < int(before)]
        found = [m for m in found if not after or int(m.id) > int(after)]
        limit = int(request.query.get("limit", "50"))
        found = found[-limit:] if after else found[:limit]
        return answer([message.seen_by(BOT) for message in found])

    async def edit(self, request: web.Request) -> web.Response:
        message = self._message(request)
        if message.data["author"]["id"] != BOT:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        body, files = await read_body(request)
        self._check(body, files)
        if body.get("embeds") and not self.state.has(_EMBED):
            body = body | {"embeds": []}  # no edit is refused for it
        message.data |= {k: body[k] or [] for k in ("embeds", "components") if k in body}
        if "flags" in body:
            others = message.data["flags"] & ~SUPPRESS_EMBEDS
            message.data["flags"] = others | (body["flags"] or 0) & SUPPRESS_EMBEDS
        if message.data["flags"] & SUPPRESS_EMBEDS:
            message.data["embeds"] = []
        if "content" in body:
            message.data["content"] = body["content"] or ""
        if "attachments" in body:
            kept = {str(each["id"]) for each in body["attachments"]}
            before = message.data["attachments"]
            message.data["attachments"] = [each for each in before if each["id"] in kept]
        message.data["attachments"] = message.data["attachments"] + [
            self._kept(name, content) for name, content in files.items()
        ]
        message.data["edited_timestamp"] = moment()
        channel = request.match_info["channel"]
        guild = self.state.channel(channel).get("guild_id")
        self.tell("MESSAGE_UPDATE", message.seen_by(BOT) | {"guild_id": guild})
        return answer(message.seen_by(BOT))

    async def delete(self, request: web.Request) -> web.Response:
        message = self._message(request)
        if message.data["author"]["id"] != BOT:
            self.state.may(_MANAGE)
        self.remove(request.match_info["channel"], message.id)
        return web.Response(status=204)

    def remove(self, channel: str, *messages: str) -> None:
        """Delete messages, one or in bulk, and tell."""
        guild = self.state.channel(channel).get("guild_id")
        for each in messages:
            del self.state.messages[channel][each]
        about = {"channel_id": channel, "guild_id": guild}
        if len(messages) == 1:
            self.tell("MESSAGE_DELETE", about | {"id": messages[0]})
        else:
            self.tell("MESSAGE_DELETE_BULK", about | {"ids": list(messages)})

    async def pins(self, request: web.Request) -> web.Response:
        pinned = self.state.messages[request.match_info["channel"]].values()
        items = [
            {"message": m.seen_by(BOT), "pinned_at": moment()} for m in pinned if m.data["pinned"]
        ]
        return answer({"items": items, "has_more": False})

    async def pin(self, request: web.Request) -> web.Response:
        return self._pinned(request, True)

    async def unpin(self, request: web.Request) -> web.Response:
        return self._pinned(request, False)

    def _pinned(self, request: web.Request, pinned: bool) -> web.Response:
        permissions = self.state.permissions()
        if not permissions & (1 << _MANAGE) and not permissions & (1 << _PIN):
            raise Refused(403, 50013, "Missing Permissions")
        self._message(request).data["pinned"] = pinned
        return web.Response(status=204)

    # -- inside ---------------------------------------------------------------------------

    def _snapshot(self, reference: dict[str, Any]) -> dict[str, Any]:
        """Return what a forward carries: how the message looked then, and not whose it is."""
        original = self.state.message(reference["channel_id"], reference["message_id"]).data
        copied = ("type", "content", "embeds", "attachments", "components", "flags", "timestamp")
        kept = {key: original[key] for key in copied if key in original}
        return {"message_snapshots": [{"message": {"edited_timestamp": None} | kept}]}

    def _pinged(self, body: dict[str, Any]) -> list[str]:
        """Return the roles that a message of the bot pings: those that it may, and that let it."""
        allowed = (body.get("allowed_mentions") or {}).get("roles") or ()
        named = [role for role in map(str, allowed) if f"<@&{role}>" in (body.get("content") or "")]
        roles, any_role = self.state.roles, self.state.has(MENTION)
        return [
            each for each in named if each in roles and (any_role or roles[each]["mentionable"])
        ]

    async def file(self, request: web.Request) -> web.Response:
        content = self.state.files.get(request.match_info["file"])
        return web.Response(status=404) if content is None else web.Response(body=content)

    def _message(self, request: web.Request) -> Message:
        return self.state.message(request.match_info["channel"], request.match_info["message"])

    def _check(self, body: dict[str, Any], files: dict[str, bytes]) -> None:
        check_message(body, len(files) or len(body.get("attachments") or []))
        if files:
            self.state.may(_ATTACH)

    def _kept(self, name: str, content: bytes) -> dict[str, Any]:
        file = self.state.new_id()
        self.state.files[file] = content
        url = f"{self.base}/files/{file}/{name}"
        return {
            **{"id": file, "filename": name, "size": len(content), "url": url},
            **{"proxy_url": url, "content_type": "application/octet-stream"},
        }
