"""A stage for one case among many, in memory or over a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bot.storage.opening import open_store
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from tests.world import World, a_world

_FILE: Final = "sqlite:///"
#: A database as it has just been made, and its mode; empty until the first is wanted.
_NEW: Final[list[tuple[bytes, int]]] = []


async def a_new_store(database: str, folder: Path) -> ProposalStore:
    """Open a store that holds nothing.

    A new file is made and migrated once in each process, and laid down wherever else a test wants
    one: half of what it takes to open one is to make its tables.
    """
    path = folder / database.removeprefix(_FILE)
    if database.startswith(_FILE) and path.parent.is_dir() and not path.exists():
        if not _NEW:
            with TemporaryDirectory() as elsewhere:
                made = Path(elsewhere) / "new.db"
                await (await open_store(f"{_FILE}{made.name}", made.parent)).close()
                _NEW.append((made.read_bytes(), made.stat().st_mode))
        path.write_bytes(_NEW[0][0])
        path.chmod(_NEW[0][1])
    return await open_store(database, folder)


@asynccontextmanager
async def staged(database: str, folder: Path, policy: Policy | None = None) -> AsyncIterator[World]:
    """Open a store, set the stage over it and let go of both at the end."""
    store = await a_new_store(database, folder)
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
