"""Each agent has a line of its own for its callbacks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from bot.intake.http.callbacks import Callbacks
from lifecycle.callbacks import SURFACE
from lifecycle.ports import StoreUnavailable
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

    await callbacks.drain()

    assert len(receiver.came) == 50


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
        await asyncio.wait_for(draining, 20)

    assert (met, len(receiver.came)) == (300, 2)


async def test_a_cancellation_that_a_library_raises_keeps_no_agent_from_being_told(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken for the end of the bot: until the next start no agent was called back."""
    news = Message("n1", SURFACE, "nour", "ended", {}, world.clock.now_ms())
    callbacks = await much_waits(world, "http://agent.example/x", 1, world.clock.now_ms())
    agents = dict(world.workflow.policy.agents)
    agents["nour"] = replace(agents["leila"], id="nour", accounts={}, callback_url=receiver.url)
    await world.adopts(agents=agents)
    asked = asyncio.Event()

    async def gives_up(*_asked: Any, **_how: Any) -> NoReturn:
        asked.set()
        raise asyncio.CancelledError

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", gives_up)
    running = asyncio.create_task(callbacks.run())
    await asyncio.wait_for(asked.wait(), 5)
    await world.store.write(lambda tx: tx.outbox.add(news))
    callbacks.heard()
    told = asyncio.create_task(receiver.told(1))
    await asyncio.wait({running, told}, timeout=5, return_when=asyncio.FIRST_COMPLETED)

    assert (told.done(), running.done()) == (True, False)
    for task in (running, told):
        task.cancel()
    await asyncio.gather(running, told, return_exceptions=True)
    assert running.cancelled()


class NotNotedOnce(Callbacks):
    """The store takes nothing as the first message to nour has arrived."""

    failed = False

    async def _delivered(self, message: Message, now_ms: int) -> None:
        if message.recipient == "nour" and not self.failed:
            self.failed = True
            raise StoreUnavailable("the disk was full for a moment")
        await super()._delivered(message, now_ms)


async def test_a_failure_in_one_line_is_over_however_busy_another_agent_is(
    world: World, receiver: Receiver
) -> None:
    """Its agent was called no more as long as there was always something for another one."""

    def to(agent: str, number: int) -> Message:
        return Message(f"{agent}{number}", SURFACE, agent, "ended", {}, world.clock.now_ms())

    async def brings_more(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        await reader.readuntil(b"\r\n\r\n")
        met += 1
        await world.store.write(lambda tx: tx.outbox.add(to("leila", met)))
        writer.write(b"HTTP/1.1 200 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    met = 0
    async with accepting(brings_more) as port:
        plain = await much_waits(world, f"http://127.0.0.1:{port}/x", 1, 0)
        agents = dict(world.workflow.policy.agents)
        agents["nour"] = replace(agents["leila"], id="nour", accounts={}, callback_url=receiver.url)
        await world.adopts(agents=agents)
        await world.store.write(lambda tx: tx.outbox.add(to("nour", 0)))
        callbacks = NotNotedOnce(world.workflow.world, plain._environment)
        running = asyncio.create_task(callbacks.run())
        try:
            await asyncio.wait_for(receiver.told(2), 5)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_what_fails_in_a_line_comes_out_of_the_round(
    world: World, receiver: Receiver
) -> None:
    """Nobody would read in the log that the store notes nothing."""
    plain = await much_waits(world, receiver.url, 1, world.clock.now_ms())
    agents = dict(world.workflow.policy.agents)
    agents["nour"] = replace(agents["leila"], id="nour", accounts={}, callback_url=receiver.url)
    await world.adopts(agents=agents)
    news = Message("n1", SURFACE, "nour", "ended", {}, world.clock.now_ms())
    await world.store.write(lambda tx: tx.outbox.add(news))

    with pytest.raises(StoreUnavailable):
        await NotNotedOnce(world.workflow.world, plain._environment).drain()


async def test_what_is_for_an_agent_that_has_left_the_config_waits_no_more(
    world: World, receiver: Receiver
) -> None:
    callbacks = await much_waits(world, receiver.url, 1, world.clock.now_ms())
    now_ms = world.clock.now_ms()
    news = Message("n1", SURFACE, "gone", "ended", {}, now_ms)
    await world.store.write(lambda tx: tx.outbox.add(news))

    await asyncio.wait_for(callbacks.drain(), 10)

    assert await world.store.read(lambda tx: list(tx.outbox.waiting(SURFACE, now_ms, 10))) == []
    assert len(receiver.came) == 1
