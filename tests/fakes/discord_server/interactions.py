"""Interactions: slash commands, buttons, forms and autocomplete, with their three seconds."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.discord_server.body import read_body
from tests.fakes.discord_server.faults import Refused, answer, not_found
from tests.fakes.discord_server.rest_messages import Messages
from tests.fakes.discord_server.state import BOT, GUILD, State


@dataclass
class Interaction:
    """What somebody began, and everything that was answered; `answers` are message bodies."""

    id: str
    token: str
    began_s: float
    channel: str
    callback: dict[str, Any] | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    acknowledged_after_s: float | None = None

    @property
    def text(self) -> str:
        """All that was said in answer, embeds left out."""
        return "\n".join(str(each.get("content") or "") for each in self.answers)


class Interactions:
    """Keeps what is open."""

    def __init__(self, state: State, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.state = state
        self.tell = tell
        self.open: dict[str, Interaction] = {}
        self.limit_s = 3.0

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        hook = "/webhooks/{app}/{token}"
        return [
            web.post("/interactions/{id}/{token}/callback", self.callback),
            web.post(hook, self.followup),
            web.patch(hook + "/messages/{message}", self.edit),
            web.get(hook + "/messages/{message}", self.edit),
            web.delete(hook + "/messages/{message}", self.delete),
        ]

    def begin(
        self, user: str, channel: str, kind: int, data: dict[str, Any], **more: Any
    ) -> Interaction:
        """Tell the bot that somebody began an interaction."""
        now_s = asyncio.get_running_loop().time()
        begun = Interaction(self.state.new_id(), secrets.token_hex(12), now_s, channel)
        self.open[begun.token] = begun
        guild = self.state.channel(channel).get("guild_id")
        event: dict[str, Any] = {
            **{"id": begun.id, "application_id": BOT, "type": kind, "data": data, "version": 1},
            **{"token": begun.token, "channel_id": channel, "channel": self._channel(channel)},
            **{"locale": "en-US", "guild_locale": "en-US", "entitlements": [], "context": 0},
            **{"app_permissions": str(self.state.permissions()), "attachment_size_limit": 10 << 20},
            **{"authorizing_integration_owners": {"0": guild or "0"}},
        }
        member = self.state.members.get(guild or "", {}).get(user)
        if guild and member is not None:
            event |= {"guild_id": guild, "member": member | {"permissions": "0"}}
            event["guild"] = {"id": guild, "locale": "en-US", "features": []}
        else:
            event["user"] = self.state.users[user]
        self.tell("INTERACTION_CREATE", event | more)
        return begun

    def _channel(self, channel: str) -> dict[str, Any]:
        return self.state.channel(channel) | {"permissions": str(self.state.permissions())}

    async def callback(self, request: web.Request) -> web.Response:
        found = self.open.get(request.match_info["token"])
        now_s = asyncio.get_running_loop().time()
        if found is None or (found.callback is None and now_s - found.began_s > self.limit_s):
            raise not_found(10062, "interaction")
        if found.callback is not None:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        body, files = await read_body(request)
        found.callback = body
        found.acknowledged_after_s = now_s - found.began_s
        resource: dict[str, Any] = {"type": body["type"]}
        if body["type"] == 4:
            found.answers.append((body.get("data") or {}) | {"files": files})
            resource["message"] = self._message(found, body.get("data") or {})
        if request.query.get("with_response") not in ("1", "true"):
            return web.Response(status=204)
        told = {"id": found.id, "type": 2, "response_message_id": found.id}
        return answer({"interaction": told, "resource": resource})

    async def followup(self, request: web.Request) -> web.Response:
        found = self._found(request)
        body, files = await read_body(request)
        found.answers.append(body | {"files": files})
        return answer(self._message(found, body))

    async def edit(self, request: web.Request) -> web.Response:
        found = self._found(request)
        body, files = await read_body(request)
        if request.method == "PATCH":
            found.answers.append(body | {"files": files})
        return answer(self._message(found, body))

    async def delete(self, request: web.Request) -> web.Response:
        self._found(request)
        return web.Response(status=204)

    def _found(self, request: web.Request) -> Interaction:
        found = self.open.get(request.match_info["token"])
        if found is None or found.callback is None:
            raise not_found(10015, "Webhook")
        return found

    def _message(self, found: Interaction, body: dict[str, Any]) -> dict[str, Any]:
        scratch = Messages(self.state, lambda event, data: None)
        channel = found.channel
        content = {k: body[k] for k in ("content", "embeds", "components", "flags") if k in body}
        message = scratch.write(channel, BOT, content, {})
        del self.state.messages[channel][message.id]
        return message.seen_by(BOT) | {"guild_id": GUILD}
