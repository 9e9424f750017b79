"""A stage in memory for one case among many."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.storage.opening import open_store
from lifecycle.policy import Policy
from tests.world import World, a_world


@asynccontextmanager
async def staged(database: str, folder: Path, policy: Policy | None = None) -> AsyncIterator[World]:
    """Open a store, set the stage over it and let go of both at the end."""
    store = await open_store(database, folder)
    world = a_world(store, policy)
    await world.workflow.start()
    yield world
    await world.workflow.shut_down(1)
    await world.workflow.world.store.close()


@asynccontextmanager
async def in_memory(folder: Path, policy: Policy | None = None) -> AsyncIterator[World]:
    """The same in memory, for tables of many rows."""
    async with staged("memory:", folder, policy) as world:
        yield world
