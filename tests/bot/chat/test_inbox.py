"""The inbox: on disk before it is acknowledged, worked once, and no burden in a flood."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from bot.chat.inbox import Inbox
from bot.storage.memory import MemoryStore
from lifecycle.ports import Transaction
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

    async def takes(self, *numbers: int) -> None:
        for number in numbers:
            assert await self.inbox.take(f"e{number}", f"p:{number}", {"text": f"{number} {LONG}"})

    async def flag(self, name: str) -> Any:
        return await self.world.store.read(lambda tx: tx.flags.get(name))


async def test_a_long_event_that_waits_is_not_written_again_when_another_comes() -> None:
    working = Working()
    await working.takes(1, 2, 3)
    assert len(json.dumps(await working.flag("inbox:slack"))) < 500

    working.may.set()
    await working.inbox.settled()
    assert {payload["text"][0] for _, payload in working.worked} == {"1", "2", "3"}
    assert await working.flag("inbox:slack") == {}


async def test_the_place_of_an_event_that_is_done_is_taken_by_the_next() -> None:
    working = Working()
    working.may.set()
    for number in range(5):
        await working.takes(number)
        await working.inbox.settled()
    assert await working.flag("inbox:slack#0") is None
    await working.takes(9)
    assert await working.flag("inbox:slack#1") is None


async def test_what_a_former_process_kept_is_worked_off_whatever_its_version() -> None:
    working = Working()
    await working.takes(1, 2)

    def older(tx: Transaction) -> None:
        kept = dict(tx.flags.get("inbox:slack"))
        kept["e0"] = {"lane": "p:0", "payload": {"text": "0 of a former version"}}
        tx.flags.put("inbox:slack", kept)

    await working.world.store.write(older)
    await working.inbox.close()
    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == 3
    await after.inbox.settled()
    texts = {event_id: payload["text"][:20] for event_id, payload in after.worked}
    assert texts["e0"] == "0 of a former versio"
    assert sorted(texts) == ["e0", "e1", "e2"]
    assert await after.flag("inbox:slack") == {}
    assert not await after.inbox.take("e1", "p:1", {"text": "again"})
