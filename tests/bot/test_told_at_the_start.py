"""A bot that is told to end while it starts begins nothing any more."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import bootstrap, running
from bot.clocks.boot_id import boot_id
from bot.config import load_config
from lifecycle.workflow import Workflow
from tests.bot.test_reloading_at_the_end import NOTHING, SOON_S, that_stays

MADE = """
from pathlib import Path

class T:
    def __init__(self):
        Path(__file__).with_name("made").write_text("now")

    def execute(self, call):
        return {}
"""


def tell_when_heard() -> None:
    """Tell this process to end in the first turn of the loop in which somebody hears it."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        asyncio.get_running_loop().call_soon(tell_when_heard)
        return
    os.kill(os.getpid(), signal.SIGTERM)


async def test_a_start_that_was_told_to_end_makes_no_tool(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is never made would let nobody hear of it."""
    path = that_stays(write_config)
    path.with_name("made_at_last.py").write_text(MADE)
    own = 'own: {tier: CONFIRM, action_type: execute, kind: python, class: "made_at_last:T"}'
    path.write_text(path.read_text().replace("tools:\n", f"tools:\n  {own}\n", 1))
    monkeypatch.setattr("bot.process.cut_short._told", [])
    config, made = load_config(path), path.with_name("made")
    tell_when_heard()

    await asyncio.wait_for(running.run_until_stopped(config, NOTHING, {}), SOON_S)
    made_although_told = made.exists()
    async with bootstrap.opened(config, {}, running.Broadcast([], {})):  # nothing of it is held
        assert made.exists()

    assert not made_although_told


async def test_a_start_that_was_told_to_end_as_its_last_part_is_put_together_begins_no_work(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went through all that was due before it ended."""
    seen: list[bool] = []

    def told() -> str | None:
        os.kill(os.getpid(), signal.SIGTERM)
        return boot_id()

    async def caught_up(workflow: Workflow) -> None:
        seen.append(workflow.world.ending)

    monkeypatch.setattr("bot.process.cut_short._told", [])
    monkeypatch.setattr(bootstrap, "boot_id", told)
    monkeypatch.setattr(running.catch_up, "run_once", caught_up)
    config = load_config(that_stays(write_config))

    await asyncio.wait_for(running.run_until_stopped(config, NOTHING, {}), SOON_S)

    assert seen == [True]
