"""A server of an agent that is called back, and much that waits for it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import Any

from bot.intake.http.callbacks import Callbacks
from lifecycle.callbacks import SURFACE
from lifecycle.ports import Transaction
from lifecycle.records import Message
from tests.world import World

SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQ="


@dataclass
class Receiver:
    """Answers one status a callback, then 200; keeps what came."""

    statuses: list[int] = field(default_factory=list)
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    cookie: str = ""
    url: str = ""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.split(": ", 1) for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value for name, value in lines}
        body = await reader.readexactly(int(headers["content-length"]))
        self.came.append((headers, body))
        self.arrived.set()
        status = self.statuses.pop(0) if self.statuses else 200
        fields = "content-length: 0\r\nconnection: close\r\n"
        fields += f"set-cookie: {self.cookie}\r\n" if self.cookie else ""
        writer.write(f"HTTP/1.1 {status} x\r\n{fields}\r\n".encode())
        await writer.drain()
        writer.close()

    async def told(self, count: int) -> list[dict[str, Any]]:
        while len(self.came) < count:
            self.arrived.clear()
            await self.arrived.wait()
        return [json.loads(body) for _, body in self.came]


async def much_waits(world: World, url: str, count: int, since_ms: int) -> Callbacks:
    """Let so many messages wait for leila, whose server is at `url`."""
    agents = dict(world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], callback_url=url, callback_secret_env="C_LEILA")
    await world.adopts(agents=agents)

    def many(tx: Transaction) -> None:
        for number in range(count):
            tx.outbox.add(Message(f"w{number}", SURFACE, "leila", "ended", {}, since_ms))

    await world.store.write(many)
    return Callbacks(world.workflow.world, {"C_LEILA": SECRET})
