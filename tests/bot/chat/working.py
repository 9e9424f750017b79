"""An inbox of which a test says when its events are worked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.chat.hearing.inbox import Inbox
from bot.storage.memory import MemoryStore
from tests.world import World, a_world

LONG = "x" * 30_000


class Working:
    """An inbox whose events wait until they may be worked."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.world: World = a_world(store or MemoryStore())
        self.may = asyncio.Event()
        self.worked: list[tuple[str, Mapping[str, Any]]] = []
        self.inbox = Inbox("slack", self.world.workflow.world, self.work)

    async def work(self, event_id: str, payload: Mapping[str, Any]) -> None:
        await self.may.wait()
        self.worked.append((event_id, payload))

    def works_by(self, work: Callable[[str, Mapping[str, Any]], Awaitable[None]]) -> None:
        """Have what is taken from now on worked in another way."""
        self.inbox = Inbox("slack", self.world.workflow.world, work)

    async def takes(self, *numbers: int) -> None:
        for number in numbers:
            assert await self.inbox.take(f"e{number}", f"p:{number}", {"text": f"{number} {LONG}"})

    async def flag(self, name: str) -> Any:
        return await self.world.store.read(lambda tx: tx.flags.get(name))
