"""The server as a test holds it: start, stop, and everything that people and bots do on it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes.discord_server.body import read_body
from tests.fakes.discord_server.faults import Bucket, Call, Fault, Refused, answer
from tests.fakes.discord_server.gateway import Gateway
from tests.fakes.discord_server.interactions import Interaction, Interactions
from tests.fakes.discord_server.rest import Rest, thread_json
from tests.fakes.discord_server.rest_messages import SUPPRESS_EMBEDS, Messages
from tests.fakes.discord_server.rest_reactions import Reactions
from tests.fakes.discord_server.state import (
    BOT,
    BOT_ROLE,
    BURST,
    CHANNEL,
    GUILD,
    NORMAL,
    Message,
    State,
)
from tests.fakes.listening import ended

TOKEN = "a.discord.token"


class DiscordServer:
    """A server on a free port of this machine. `api_base` and `gateway` are what a client needs."""

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.state = State()
        self.gateway = Gateway(self.state, token)
        self.rest = Rest(self.state)
        self.messages = Messages(self.state, self.gateway.dispatch)
        self.reactions = Reactions(self.state, self.gateway.dispatch)
        self.interactions = Interactions(self.state, self.gateway.dispatch)
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.bucket: Bucket | None = None
        self.adds_to_types = ""  # to each Content-Type, as frameworks and proxies do
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        app = web.Application(middlewares=[self._typed, self._observed], client_max_size=64 << 20)
        for part in (self.rest, self.messages, self.reactions, self.interactions):
            for route in part.routes():
                app.router.add_route(route.method, f"/api/v10{route.path}", route.handler)
        app.router.add_get("/gw{tail:/?}", self.gateway.connect)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.messages.base = self.api_base
        self.gateway.url = self.gateway_url

    async def stop(self) -> None:
        """Cut every connection and stop listening."""
        self.gateway.cut()
        if self._runner is not None:
            await ended(self._runner)

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gw"

    # -- what a test scripts and looks at ---------------------------------------------------

    def fails(self, method: str, path: str, **what: Any) -> Fault:
        """Script a fault for calls of `method` whose path matches."""
        fault = Fault(method, path, **what)
        self.faults.append(fault)
        return fault

    def called(self, method: str, path: str) -> list[Call]:
        """Return the recorded calls whose path matches."""
        return [c for c in self.calls if c.method == method and re.search(path, c.path)]

    def cards(self, channel: str = CHANNEL) -> list[Message]:
        """Return the bot's messages with an embed, oldest first; the board is none."""
        found = self.state.messages[channel].values()
        return [m for m in found if m.data["author"]["id"] == BOT and m.is_card]

    def said(self, channel: str = CHANNEL) -> list[str]:
        """Return the texts of the bot's messages without an embed, oldest first."""
        found = self.state.messages[channel].values()
        ours = [m for m in found if m.data["author"]["id"] == BOT and not m.data["embeds"]]
        return [str(m.data["content"]) for m in ours]

    def forbid(self, *bits: int) -> None:
        """Take permissions from the bot, by bit."""
        taken = sum(1 << bit for bit in bits)
        for role in (BOT_ROLE, GUILD):
            held = int(self.state.roles[role]["permissions"])
            self.state.roles[role]["permissions"] = str(held & ~taken)

    # -- what people and bots do --------------------------------------------------------------

    def says(
        self,
        author: str,
        content: str,
        *,
        channel: str = CHANNEL,
        files: dict[str, bytes] | None = None,
        reply_to: str | None = None,
        **more: Any,
    ) -> Message:
        """Say something as a person, a bot or, with `webhook_id` and `author`, a webhook."""
        body: dict[str, Any] = {"content": content, **more}
        if reply_to is not None:
            body["message_reference"] = {"message_id": reply_to}
        return self.messages.write(channel, author, body, files or {})

    def webhook_says(self, webhook: str, name: str, content: str) -> Message:
        """Say something as a webhook that calls itself `name`."""
        author = {
            "id": webhook,
            "username": name,
            "bot": True,
            "avatar": None,
            "discriminator": "0000",
        }
        self.state.users[webhook] = author
        return self.says(webhook, content, webhook_id=webhook)

    def edits(self, message: Message, content: str, *, second: int = 0) -> None:
        """Edit a message as its author, in this second; the next edit comes in a later one."""
        edited_at = f"2026-03-02T12:01:{second:02}+00:00"
        message.data |= {"content": content, "edited_timestamp": edited_at}
        guild = self.state.channel(message.data["channel_id"]).get("guild_id")
        self.gateway.dispatch("MESSAGE_UPDATE", message.seen_by(BOT) | {"guild_id": guild})

    def reacts(
        self, user: str, message: Message | str, emoji: str, *, burst: bool = False, **lacks: Any
    ) -> None:
        """React; `lacks` replaces fields of the event."""
        channel, found = self.state.find(message if isinstance(message, str) else message.id)
        kind = BURST if burst else NORMAL
        self.reactions.add_reaction(channel, found, user, emoji, kind, **lacks)

    def unreacts(
        self, user: str, message: Message | str, emoji: str, *, burst: bool = False
    ) -> None:
        """Take a reaction off."""
        channel, found = self.state.find(message if isinstance(message, str) else message.id)
        self.reactions.take_reaction(channel, found, user, emoji, BURST if burst else NORMAL)

    def clears(self, message: Message, emoji: str | None = None) -> None:
        """Clear reactions as a moderator."""
        self.reactions.clear_reactions(message.data["channel_id"], message, emoji)

    def deletes(self, *messages: Message) -> None:
        """Delete messages as a moderator."""
        self.messages.remove(messages[0].data["channel_id"], *(m.id for m in messages))

    def hides(self, message: Message) -> None:
        """Remove all embeds of a message as a moderator."""
        message.data |= {"embeds": [], "flags": message.data["flags"] | SUPPRESS_EMBEDS}
        guild = self.state.channel(message.data["channel_id"]).get("guild_id")
        self.gateway.dispatch("MESSAGE_UPDATE", message.seen_by(BOT) | {"guild_id": guild})

    def opens_thread(self, message: Message, name: str = "why") -> str:
        """Open a thread under a message; its id is that of the message."""
        parent = message.data["channel_id"]
        guild = self.state.channel(parent)["guild_id"]
        self.state.add_channel(message.id, guild, name, **thread_json(message.id, parent))
        self.gateway.dispatch("THREAD_CREATE", self.state.channels[message.id])
        return message.id

    def runs(
        self, user: str, command: str, *, channel: str = CHANNEL, files: Any = None, **options: Any
    ) -> Interaction:
        """Run a slash command with string options."""
        return self._command(2, user, command, channel, options, files or {})

    def types(
        self, user: str, command: str, option: str, value: str, *, channel: str = CHANNEL
    ) -> Interaction:
        """Type into an option that completes."""
        return self._command(4, user, command, channel, {option: value}, {}, focused=option)

    def _command(
        self,
        kind: int,
        user: str,
        command: str,
        channel: str,
        options: dict[str, Any],
        files: dict[str, bytes],
        focused: str | None = None,
    ) -> Interaction:
        known = next(
            c for group in self.rest.commands.values() for c in group if c["name"] == command
        )
        kinds = {each["name"]: each["type"] for each in known["options"]}
        given = [
            {"name": name, "type": kinds[name], "value": value, "focused": name == focused}
            for name, value in options.items()
        ]
        kept = {}
        for name, content in files.items():
            attachment = self.messages._kept(name, content)
            kept[attachment["id"]] = attachment
            given.append({"name": "file", "type": 11, "value": attachment["id"]})
        data = {"id": known["id"], "name": command, "type": 1, "options": given}
        if kept:
            data["resolved"] = {"attachments": kept}
        if known.get("guild_id"):
            data["guild_id"] = known["guild_id"]
        return self.interactions.begin(user, channel, kind, data)

    def clicks(self, user: str, message: Message, custom_id: str) -> Interaction:
        """Click a button of a message."""
        data = {"custom_id": custom_id, "component_type": 2}
        channel = message.data["channel_id"]
        shown = message.seen_by(BOT)
        return self.interactions.begin(user, channel, 3, data, message=shown)

    def submits(
        self, user: str, custom_id: str, message: Message | None = None, **fields: str
    ) -> Interaction:
        """Submit a form; fields by the custom id of each input."""
        rows = [
            {"type": 1, "components": [{"type": 4, "custom_id": name, "value": value}]}
            for name, value in fields.items()
        ]
        more = {"message": message.seen_by(BOT)} if message is not None else {}
        data = {"custom_id": custom_id, "components": rows}
        return self.interactions.begin(user, CHANNEL, 5, data, **more)

    # -- inside -------------------------------------------------------------------------------

    @web.middleware
    async def _typed(self, request: web.Request, handler: Callable[..., Any]) -> Any:
        response = await handler(request)
        if self.adds_to_types and "Content-Type" in response.headers:
            response.headers["Content-Type"] += self.adds_to_types
        return response

    @web.middleware
    async def _observed(self, request: web.Request, handler: Callable[..., Any]) -> Any:
        if request.path.startswith("/gw"):
            return await handler(request)
        call = await self._recorded(request)
        if self.bucket is not None and not self.bucket.takes(call):
            call.status = 429
            return Fault("POST", "", status=429, retry_after=self.bucket.per_s).answer()
        fault = next((f for f in self.faults if f.hits(call)), None)
        if fault is not None and fault.gate is not None:
            await fault.gate.wait()
        if fault is not None and fault.status is not None:
            call.status = fault.status
            return fault.answer()
        response = (
            await self._answered(request, handler)
            if fault is None or fault.acts or fault.gate
            else None
        )
        if fault is not None and fault.gate is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        assert response is not None
        call.status = response.status
        if self.bucket is not None and self.bucket.concerns(call):
            response.headers.update(self.bucket.headers(asyncio.get_running_loop().time()))
        return response

    async def _answered(
        self, request: web.Request, handler: Callable[..., Any]
    ) -> web.StreamResponse:
        open_to_all = any(part in request.path for part in ("/files/", "/callback", "/webhooks/"))
        if not open_to_all and request.headers.get("Authorization") != f"Bot {self.token}":
            return answer({"message": "401: Unauthorized", "code": 0}, 401)
        try:
            return await handler(request)  # type: ignore[no-any-return]
        except Refused as refused:
            return refused.answer()

    async def _recorded(self, request: web.Request) -> Call:
        body, files = await read_body(request)
        path = request.path.removeprefix("/api/v10")
        at_s = asyncio.get_running_loop().time()
        call = Call(request.method, path, dict(request.query), body, files, at_s=at_s)
        self.calls.append(call)
        return call
