"""A store that stands still: when it is asked for something all the same."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.world import World


async def is_asked_to_write(world: World) -> None:
    """Wait until something is to be written on the store, which stands still."""
    real, asked = world.store.write, asyncio.Event()

    async def write(unit: Any) -> Any:
        asked.set()
        return await real(unit)

    world.store.write = write  # type: ignore[method-assign]
    await asked.wait()
    world.store.write = real  # type: ignore[method-assign]
