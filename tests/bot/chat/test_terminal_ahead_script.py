"""A stop in a script is heard after a second where a line before it waits for long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bot.chat.terminal import ahead
from lifecycle.ports import Call
from lifecycle.state import State
from tests.bot.chat.discord.standing import DEPLOY, SEND
from tests.bot.chat.test_terminal_full_disk import Typist
from tests.builders import MAIL, PROD
from tests.fakes.discord_stage import until
from tests.terminal import a_terminal


async def test_a_stop_in_a_script_is_heard_while_a_line_before_it_waits_for_a_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_WAITED_S", 0.01)
    monkeypatch.setattr(ahead, "_PAUSE_S", 60.0)
    terminal, typist = a_terminal(), Typist()
    world = terminal.world
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.types("ben: approve m1")
    await terminal.proposes(PROD, proposal_id="d1")
    gate = asyncio.Event()

    async def takes_long(_: Call) -> Mapping[str, Any]:
        await gate.wait()
        return {}

    world.tool(DEPLOY).on["execute"] = takes_long
    running = asyncio.create_task(terminal.client.run(typist))
    typist.type("ben: approve d1", "show m1", "ana: reject m1 wrong recipient")
    await until(lambda: world.workflow.world.heard.of("m1"), "heard", seconds=10)
    world.clock.advance(901)
    await world.workflow.close_due()
    assert "commit" not in world.tool(SEND).verbs()
    gate.set()
    typist.leave()
    async with asyncio.timeout(20):
        await running
    assert (await world.proposal("m1")).state is State.ROLLED_BACK
