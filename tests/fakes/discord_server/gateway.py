"""The gateway: HELLO, IDENTIFY, RESUME with replay, heartbeats, and every way to be cut off."""

from __future__ import annotations

import asyncio
import secrets
import zlib
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import WSMsgType, web

from tests.fakes.discord_server.state import BOT, GUILD, State

GUILDS, MEMBERS, PRESENCES = 1 << 0, 1 << 1, 1 << 8
MESSAGES, REACTIONS, DIRECT, CONTENT = 1 << 9, 1 << 10, 1 << 12, 1 << 15
PRIVILEGED = MEMBERS | PRESENCES | CONTENT

_NEEDS = {
    "MESSAGE_CREATE": MESSAGES,
    "MESSAGE_UPDATE": MESSAGES,
    "MESSAGE_DELETE": MESSAGES,
    "MESSAGE_DELETE_BULK": MESSAGES,
    "MESSAGE_REACTION_ADD": REACTIONS,
    "MESSAGE_REACTION_REMOVE": REACTIONS,
    "MESSAGE_REACTION_REMOVE_ALL": REACTIONS,
    "MESSAGE_REACTION_REMOVE_EMOJI": REACTIONS,
}


@dataclass
class Session:
    """What a client may resume: everything that was dispatched to it, by sequence number."""

    id: str
    intents: int
    sent: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    socket: Socket | None = None

    def dispatch(self, event: str, data: Any) -> None:
        """Number an event, keep it for a replay, and send it where a socket is open."""
        number = len(self.sent) + 1
        payload = {"op": 0, "t": event, "s": number, "d": data}
        self.sent.append((number, payload))
        if self.socket is not None:
            self.socket.send(payload)


class Socket:
    """One connection; frames go out in order, compressed where the client asked for it."""

    def __init__(self, ws: web.WebSocketResponse, compressed: bool) -> None:
        self.ws = ws
        self._zlib = zlib.compressobj() if compressed else None
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._writer = asyncio.create_task(self._write())
        self.heartbeats = 0

    def send(self, payload: Any) -> None:
        """Put one payload into the line."""
        self._out.put_nowait(orjson.dumps(payload))

    async def _write(self) -> None:
        while (text := await self._out.get()) is not None:
            try:
                if self._zlib is None:
                    await self.ws.send_str(text.decode())
                else:
                    flushed = self._zlib.compress(text) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
                    await self.ws.send_bytes(flushed)
            except (ConnectionError, RuntimeError):
                return

    async def close(self, code: int) -> None:
        """Close with a code of Discord's."""
        self._writer.cancel()
        await self.ws.close(code=code)

    def ended(self) -> None:
        """Nobody reads any more: whoever waits for something to write may go."""
        self._writer.cancel()

    def cut(self) -> None:
        """Cut the TCP connection without a word."""
        self._writer.cancel()
        transport = self.ws._req.transport if self.ws._req is not None else None
        if transport is not None:
            transport.abort()


class Gateway:
    """All sessions. What a test may turn is public."""

    def __init__(self, state: State, token: str) -> None:
        self.state = state
        self.token = token
        self.url = ""
        self.allowed_intents = ~0
        self.heartbeat_interval_ms = 41_250
        self.answers_heartbeats = True
        self.answers_goodbyes = True
        self.accepts = True
        self.forgets_sessions = False
        self.sessions: dict[str, Session] = {}
        self.sockets: set[Socket] = set()
        self.identified = 0
        self.resumed = 0

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one client from HELLO to the end."""
        if not self.accepts:
            return web.Response(status=503)
        ws = web.WebSocketResponse(max_msg_size=0, autoclose=self.answers_goodbyes)
        await ws.prepare(request)
        socket = Socket(ws, request.query.get("compress") == "zlib-stream")
        self.sockets.add(socket)
        socket.send({"op": 10, "d": {"heartbeat_interval": self.heartbeat_interval_ms}})
        try:
            async for frame in ws:
                if frame.type is WSMsgType.TEXT:
                    await self._heard(socket, orjson.loads(frame.data))
            if not self.answers_goodbyes:
                await asyncio.Event().wait()
        finally:
            self.sockets.discard(socket)
            socket.ended()
            for session in self.sessions.values():
                if session.socket is socket:
                    session.socket = None
        return ws

    async def _heard(self, socket: Socket, message: dict[str, Any]) -> None:
        match message["op"]:
            case 1:
                socket.heartbeats += 1
                if self.answers_heartbeats:
                    socket.send({"op": 11})
            case 2:
                await self._identify(socket, message["d"])
            case 6:
                await self._resume(socket, message["d"])

    async def _identify(self, socket: Socket, asked: dict[str, Any]) -> None:
        if asked["token"] != self.token:
            await socket.close(4004)
            return
        if asked["intents"] & PRIVILEGED & ~self.allowed_intents:
            await socket.close(4014)
            return
        self.identified += 1
        session = Session(secrets.token_hex(8), asked["intents"], socket=socket)
        self.sessions[session.id] = session
        guilds = [{"id": guild, "unavailable": True} for guild in self.guilds()]
        ready = {
            "v": 10,
            "user": self.state.users[BOT],
            "guilds": guilds,
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": BOT, "flags": 0},
            "private_channels": [],
        }
        session.dispatch("READY", ready)
        for guild in self.guilds():
            session.dispatch("GUILD_CREATE", self.state.guild_json(guild))

    async def _resume(self, socket: Socket, asked: dict[str, Any]) -> None:
        session = self.sessions.get(asked["session_id"])
        if session is None or self.forgets_sessions:
            self.sessions.pop(asked["session_id"], None)
            socket.send({"op": 9, "d": False})
            return
        self.resumed += 1
        for number, payload in session.sent:
            if number > asked["seq"]:
                socket.send(payload)
        session.socket = socket
        session.dispatch("RESUMED", {})

    def guilds(self) -> list[str]:
        """Return the guilds that the bot is in."""
        return [guild for guild, members in self.state.members.items() if BOT in members]

    def dispatch(self, event: str, data: dict[str, Any]) -> None:
        """Send an event to every session that may have it, as far as its intents go."""
        needed = _NEEDS.get(event, 0)
        if needed and not data.get("guild_id"):
            needed = DIRECT
        for session in self.sessions.values():
            if not needed or session.intents & needed:
                session.dispatch(event, _readable(event, data, session.intents))

    async def close(self, code: int) -> None:
        """Close every socket with `code`."""
        for socket in list(self.sockets):
            await socket.close(code)

    def cut(self) -> None:
        """Cut every connection."""
        for socket in list(self.sockets):
            socket.cut()

    def send_op(self, op: int, data: Any = None) -> None:
        """Send an operation (7: reconnect, 9: invalid session) to every socket."""
        for socket in list(self.sockets):
            socket.send({"op": op, "d": data})


def _readable(event: str, data: dict[str, Any], intents: int) -> dict[str, Any]:
    """Without the content intent a message is empty, unless it is ours, to us, or direct."""
    if event not in ("MESSAGE_CREATE", "MESSAGE_UPDATE") or intents & CONTENT:
        return data
    mentioned = any(user["id"] == BOT for user in data.get("mentions", ()))
    ours = data.get("author", {}).get("id") == BOT
    if mentioned or ours or data.get("guild_id") != GUILD:
        return data
    return data | {"content": "", "embeds": [], "attachments": [], "components": []}
