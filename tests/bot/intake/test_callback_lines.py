"""Each agent has a line of its own for its callbacks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from bot.intake.http.callbacks import Callbacks
from lifecycle.callbacks import SURFACE
from lifecycle.records import Message
from tests.bot.intake.receiver import Receiver, much_waits
from tests.fakes.listening import accepting
from tests.world import World


class LooksLong(Callbacks):
    """Asks the store what else waits for so long that every line ends meanwhile."""

    async def _by_agent(self, but: Any) -> Any:
        found = await super()._by_agent(but)
        if but:
            await asyncio.wait(but.values())
        return found


async def test_a_line_that_ends_while_the_store_is_asked_is_gone_on_with_in_the_same_round(
    world: World, receiver: Receiver
) -> None:
    """Of three hundred messages twenty were delivered, and the rest a second later by twenties."""
    plain = await much_waits(world, receiver.url, 50, world.clock.now_ms())
    callbacks = LooksLong(world.workflow.world, plain._environment)

    assert await callbacks.drain() == 50


async def test_a_server_that_takes_its_time_keeps_no_other_agent_waiting(
    world: World, receiver: Receiver
) -> None:
    """Others were told only once it had taken all that waited for it, twenty at a time."""
    goes_on, met = asyncio.Event(), 0

    async def takes_its_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        await reader.readuntil(b"\r\n\r\n")
        met += 1
        await goes_on.wait()
        writer.write(b"HTTP/1.1 200 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with accepting(takes_its_time) as port:
        callbacks = await much_waits(world, f"http://127.0.0.1:{port}/x", 300, 0)
        agents = dict(world.workflow.policy.agents)
        agents["nour"] = replace(agents["leila"], id="nour", accounts={}, callback_url=receiver.url)
        await world.adopts(agents=agents)
        news = Message("n1", SURFACE, "nour", "ended", {}, world.clock.now_ms())
        await world.store.write(lambda tx: tx.outbox.add(news))
        draining = asyncio.create_task(callbacks.drain())
        await asyncio.wait_for(receiver.told(1), 5)
        later = Message("n2", SURFACE, "nour", "ended", {}, world.clock.now_ms())
        await world.store.write(lambda tx: tx.outbox.add(later))
        await asyncio.wait_for(receiver.told(2), 5)
        assert met <= 20
        goes_on.set()
        assert await asyncio.wait_for(draining, 20) == 302
