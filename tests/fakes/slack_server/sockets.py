"""Socket Mode: envelopes over WebSockets, acknowledged or delivered again."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

#: So long a connection that is being left is waited for, in real time.
EXCHANGED_WITHIN_S = 2.0


@dataclass
class Envelope:
    """Something to deliver: `acks` are what came back for it, in order."""

    id: str
    type: str
    payload: dict[str, Any]
    accepts_response: bool = False
    attempt: int = 0
    acks: list[dict[str, Any]] = field(default_factory=list)
    acked: asyncio.Event = field(default_factory=asyncio.Event)
    sent_to: list[int] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "envelope_id": self.id,
            "type": self.type,
            "payload": self.payload,
            "accepts_response_payload": self.accepts_response,
        }
        if self.type == "events_api":
            reason = "timeout" if self.attempt else ""
            found |= {"retry_attempt": self.attempt, "retry_reason": reason}
        return found


class Sockets:
    """All open sockets of the app; each envelope goes to one of them."""

    def __init__(self) -> None:
        self.open: list[web.WebSocketResponse] = []
        self.opened = 0
        self.envelopes: dict[str, Envelope] = {}
        self.unasked: list[Envelope] = []
        self.silent = False
        self.answers_goodbyes = True
        self.hung_up = 0
        #: Whether the bot takes its connection for deaf, which a leap of a test's clock does to it.
        self.thought_deaf: Callable[[], bool] = lambda: False
        self._ids = itertools.count(1)
        self._turn = itertools.count()
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        """Return what opens one socket, once."""
        ticket = f"ticket-{next(self._ids)}"
        self._tickets.add(ticket)
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Take one connection until it ends; an address that was used opens none."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse(autoping=False, autoclose=self.answers_goodbyes)
        await socket.prepare(request)
        self.opened += 1
        self.open.append(socket)
        if not self.silent:
            about = {"num_connections": len(self.open), "connection_info": {"app_id": "A1"}}
            await socket.send_json({"type": "hello", "debug_info": {"host": "applink"}} | about)
            await self._flush()
        try:
            await self._listen(socket)
            await self._hung_up(request)
        finally:
            self.hung_up += 1
            if socket in self.open:
                self.open.remove(socket)
        return socket

    async def _hung_up(self, request: web.Request) -> None:
        """Where no goodbye is answered, wait until the client hangs up; aiohttp tells nobody."""
        while not (self.answers_goodbyes or request.transport is None):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def _listen(self, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type is WSMsgType.PING and not self.silent:
                await socket.pong(message.data)
            if message.type is WSMsgType.TEXT:
                self._acknowledged(json.loads(message.data))

    def _acknowledged(self, ack: dict[str, Any]) -> None:
        envelope = self.envelopes.get(ack.get("envelope_id", ""))
        if envelope is not None:
            envelope.acks.append(ack)
            envelope.acked.set()

    async def send(
        self, kind: str, payload: dict[str, Any], *, accepts_response: bool = False
    ) -> Envelope:
        """Send one envelope, or keep it until a socket opens."""
        envelope = Envelope(f"env-{next(self._ids)}", kind, payload, accepts_response)
        self.envelopes[envelope.id] = envelope
        await self._deliver(envelope)
        return envelope

    async def again(self, envelope: Envelope) -> None:
        """Deliver the same event once more, as Slack does when nobody acknowledged it."""
        envelope.attempt += 1
        envelope.acked.clear()
        await self._deliver(envelope)

    async def _deliver(self, envelope: Envelope) -> None:
        await self._exchanged()
        alive = [socket for socket in self.open if not socket.closed]
        if not alive or self.silent:
            self.unasked.append(envelope)
            return
        socket = alive[next(self._turn) % len(alive)]
        envelope.sent_to.append(id(socket))
        await socket.send_json(envelope.as_json())

    async def _exchanged(self) -> None:
        """Let a connection that a leap of time has made deaf be replaced before anything is sent.

        What is sent over one that is being left is lost, and delivered again by the real Slack.
        """
        if self.silent or not self.open:
            return
        end = asyncio.get_running_loop().time() + EXCHANGED_WITHIN_S
        while self.thought_deaf() and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.005)

    async def _flush(self) -> None:
        kept, self.unasked = self.unasked, []
        for envelope in kept:
            await self._deliver(envelope)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell all sockets to come back."""
        for socket in list(self.open):
            await socket.send_json({"type": "disconnect", "reason": reason})

    async def drop(self) -> None:
        """Cut all connections without a word."""
        for socket in list(self.open):
            if socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()

    async def close(self) -> None:
        """Close what is open."""
        for socket in list(self.open):
            await socket.close()
