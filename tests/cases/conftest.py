"""A stage for cases of the law: over memory and SQLite, with the legend's limits or raised ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.storage.opening import open_store
from lifecycle.policy import Policy
from tests.roomy import a_roomy_policy
from tests.world import World, a_world

STORES = ["memory:", "sqlite:///signoff.db"]
NAMES = ["memory", "sqlite"]


@asynccontextmanager
async def staged(database: str, folder: Path, policy: Policy | None = None) -> AsyncIterator[World]:
    store = await open_store(database, folder)
    world = a_world(store, policy)
    await world.workflow.start()
    yield world
    await world.workflow.stop(1)
    await world.workflow.world.store.close()


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
    """The law over a real file `signoff.db` in tmp_path, which a test may change behind its back."""
    async with staged("sqlite:///signoff.db", tmp_path, a_roomy_policy()) as stage:
        yield stage
