"""A stage for stories, over each store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.storage.opening import open_store
from tests.world import World, a_world


@pytest.fixture(params=["memory:", "sqlite:///signoff.db"], ids=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The whole law over one store, started."""
    store = await open_store(request.param, tmp_path)
    stage = a_world(store)
    await stage.workflow.start()
    yield stage
    await stage.workflow.stop(1)
    await store.close()
