"""Fixtures: a Discord server on a free port, and a bot that is connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest

from bot.storage.opening import open_store
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import DiscordStage, a_stage


@pytest.fixture
async def discord_server() -> AsyncIterator[DiscordServer]:
    """A Discord server of our own."""
    running = DiscordServer()
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
def identified_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """discord.py waits five seconds of the machine's before it identifies anew; our server lets
    everybody in at once."""

    async def at_once(*_: object, **__: object) -> None:
        return

    monkeypatch.setattr(discord.Client, "before_identify_hook", at_once)


@pytest.fixture
async def discord_unstarted(
    discord_server: DiscordServer, tmp_path: Path
) -> AsyncIterator[DiscordStage]:
    """A bot that was not started yet."""
    store = await open_store("memory:", tmp_path)
    stage = a_stage(store, discord_server)
    yield stage
    if hasattr(stage, "serving"):
        await stage.ends()
    await store.close()


@pytest.fixture
async def discord_stage(discord_unstarted: DiscordStage) -> DiscordStage:
    """A bot that hears."""
    await discord_unstarted.begins()
    return discord_unstarted
