"""A server on a free port and a bot that is connected to it, under short names."""

from __future__ import annotations

import pytest

from tests.fakes.discord_fixtures import (
    discord_server,
    discord_stage,
    discord_unstarted,
    identified_at_once,
)
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import DiscordStage

__all__ = ["discord_server", "discord_stage", "discord_unstarted", "identified_at_once"]


@pytest.fixture
def server(discord_server: DiscordServer) -> DiscordServer:
    """A Discord server of our own."""
    return discord_server


@pytest.fixture
def unstarted(discord_unstarted: DiscordStage) -> DiscordStage:
    """A bot that was not started yet."""
    return discord_unstarted


@pytest.fixture
def stage(discord_stage: DiscordStage) -> DiscordStage:
    """A bot that hears."""
    return discord_stage
