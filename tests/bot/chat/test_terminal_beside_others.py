"""A terminal beside other surfaces and doors: what others set in motion holds up no line."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from bot.chat.terminal import client
from lifecycle.answers import Sender
from lifecycle.ports import Call, Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import Message
from lifecycle.state import State
from tests.builders import MAIL, a_document
from tests.fakes.tools import Doing
from tests.terminal import SEARCH, Terminal, a_terminal

LEILA = Sender("http", ActorKind.AGENT, "leila", account="leila")


def _begun_until(begun: asyncio.Event, gate: asyncio.Event) -> Doing:
    """Return a doing that says that it began, and answers once `gate` is set."""

    async def doing(_: Call) -> Mapping[str, Any]:
        begun.set()
        await gate.wait()
        return {}

    return doing


@pytest.fixture
def gate() -> asyncio.Event:
    """What the tool `search` waits for."""
    return asyncio.Event()


@pytest.fixture
async def terminal(gate: asyncio.Event) -> AsyncIterator[Terminal]:
    """A terminal at which p1 waits, while `search` runs for an agent at another door."""
    terminal = a_terminal()
    await terminal.proposes(MAIL)
    begun = asyncio.Event()
    terminal.world.toolbox.noting("search").on["execute"] = _begun_until(begun, gate)
    document = a_document(SEARCH, ts_ms=terminal.world.clock.now_ms())
    workflow = terminal.world.workflow
    elsewhere = asyncio.create_task(workflow.submit(json.dumps(document).encode(), LEILA))
    await begun.wait()
    yield terminal
    gate.set()
    await elsewhere


@pytest.mark.parametrize("line", ["ben: approve p1", "pending", "", "no such command"])
async def test_a_stop_is_read_while_a_tool_runs_for_somebody_else(
    terminal: Terminal, gate: asyncio.Event, line: str
) -> None:
    async with asyncio.timeout(5):
        await terminal.types(line)
        await terminal.types("ana: reject p1 wrong amount")

    stopped = await terminal.world.proposal("p1")
    assert stopped.state in (State.REJECTED, State.ROLLED_BACK)
    assert not gate.is_set()


async def test_a_line_is_finished_with_its_own_call_before_the_next_is_read(
    terminal: Terminal, gate: asyncio.Event
) -> None:
    begun, mailed = asyncio.Event(), asyncio.Event()
    terminal.world.toolbox.noting("send-email").on["execute"] = _begun_until(begun, mailed)

    line = asyncio.create_task(terminal.types("ben: approve p1"))
    await begun.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not line.done()

    mailed.set()
    async with asyncio.timeout(5):
        await line
    assert not gate.is_set()


async def test_a_line_does_not_wait_until_others_set_nothing_in_motion_any_more() -> None:
    """While agents proposed without a pause, the first line was answered and no other one."""
    terminal = a_terminal()
    world = terminal.world

    def news(tx: Transaction, number: int) -> None:
        now_ms = world.clock.now_ms()
        said = {"text": f"news {number}"}
        tx.outbox.add(Message(f"news:{number}", "terminal", "", "announcement", said, now_ms))

    async def happens() -> None:
        for number in itertools.count():
            await world.store.write(partial(news, number=number))

    others = asyncio.create_task(happens())
    try:
        async with asyncio.timeout(10):
            answered = [await terminal.types(line) for line in ("ana: freeze now", "ana: thaw")]
    finally:
        others.cancel()

    assert any("Frozen" in line for line in answered[0])
    assert any("news" in line for line in answered[1])
    assert await world.audit("thawed")


async def test_a_line_does_not_wait_for_others_who_open_one_proposal_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is opened when the one before has been shown, so that no single look takes long."""
    monkeypatch.setattr(client, "_OTHERS_S", 0.05)
    terminal = a_terminal()
    open_ready = terminal.world.workflow.open_ready

    async def one_more() -> int:
        await asyncio.sleep(0)
        return await open_ready() + 1

    monkeypatch.setattr(terminal.world.workflow, "open_ready", one_more)
    async with asyncio.timeout(10):
        answered = await terminal.types("ana: freeze now")

    assert any("Frozen" in line for line in answered)
