"""A stage for cases of the law: over memory and SQLite, with the legend's limits or raised ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.discord_fixtures import (
    discord_server,
    discord_stage,
    discord_unstarted,
    identified_at_once,
)
from tests.processes import bot
from tests.roomy import a_roomy_policy
from tests.stage import staged
from tests.world import World

__all__ = ["bot", "discord_server", "discord_stage", "discord_unstarted", "identified_at_once"]

STORES = ["memory:", "sqlite:///signoff.db"]
NAMES = ["memory", "sqlite"]


@pytest.fixture(params=STORES, ids=NAMES)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The whole law over each store, started."""
    async with staged(request.param, tmp_path) as stage:
        yield stage


@pytest.fixture(params=STORES, ids=NAMES)
async def roomy(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The same with raised limits, for bursts."""
    async with staged(request.param, tmp_path, a_roomy_policy()) as stage:
        yield stage


@pytest.fixture
async def filed(tmp_path: Path) -> AsyncIterator[World]:
    """The law over a real file `signoff.db` in tmp_path, which a test may change."""
    async with staged("sqlite:///signoff.db", tmp_path, a_roomy_policy()) as stage:
        yield stage
