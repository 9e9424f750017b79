"""A stage for stories, over each store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.by_hand import by_hand
from tests.stage import a_new_store, staged
from tests.stories.forging import DATABASE
from tests.stories.hearing import BEFORE_S
from tests.world import World, a_world


@pytest.fixture(params=["memory:", "sqlite:///signoff.db"], ids=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The whole law over one store, started."""
    store = await a_new_store(request.param, tmp_path)
    stage = a_world(store)
    await stage.workflow.start()
    yield stage
    await stage.workflow.shut_down(1)
    await store.close()


@pytest.fixture
async def mail(world: World) -> str:
    """A mail inside its window, opened by the orchestrator."""
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    return (await world.submits(MAIL)).proposal_id or ""


@pytest.fixture
async def late(world: World) -> World:
    """A proposal, p1, that nobody decided on, a minute before its deadline."""
    await world.submits(PROD)
    world.clock.set((await world.proposal("p1")).deadline_ms - BEFORE_S * 1000)
    return world


@pytest.fixture
async def on_disk(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law over a file."""
    async with staged(DATABASE, tmp_path) as stage:
        yield stage


@pytest.fixture
def forged(tmp_path: Path) -> Any:
    """Change the file as somebody with the sqlite3 program would."""
    return lambda sql: by_hand(tmp_path / "signoff.db", sql)
