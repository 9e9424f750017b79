"""A bot that is told to read its config and to end in one moment does one after the other."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import running
from bot.bootstrap import App
from bot.config import load_config
from bot.config.surfaces import Choice
from lifecycle.world import World

SOON_S = 10


async def test_an_end_waits_for_a_reload_and_closes_nothing_under_it(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The store was closed under it, and an operator was called to proposals that lack nothing."""
    known: list[World] = []

    async def told_both(app: App) -> None:
        known.append(app.workflow.world)
        text = app.config.path.read_text()
        app.config.path.write_text(text.replace("proposal_ttl_s: 86400", "proposal_ttl_s: 600"))
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", told_both)  # a moment at which it surely runs
    stays = load_config(write_config(("http: {enabled: false", "http: {enabled: true")))
    nothing = Choice(discord=False, slack=False, terminal=False, http=False)

    await asyncio.wait_for(running.run_until_stopped(stays, nothing, {}), SOON_S)

    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing goes on behind it"
    assert "The config is in force" in caplog.text
    assert known[0].law.policy.limits.proposal_ttl_s == 600
