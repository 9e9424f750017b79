"""A database that is in use, whose files somebody lays hands on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from bot.storage import open_store
from bot.storage.sqlite import SqliteStore
from tests.builders import a_proposal

URL: Final = "sqlite:///signoff.db"


@asynccontextmanager
async def in_use(folder: Path) -> AsyncIterator[SqliteStore]:
    """Open a store that holds one proposal."""
    opened = await open_store(URL, folder)
    assert isinstance(opened, SqliteStore)
    await opened.write(lambda tx: tx.proposals.add(a_proposal()))
    yield opened
    await opened.close()


async def noted(store: SqliteStore) -> None:
    """Commit something."""
    await store.write(lambda tx: tx.flags.put("noted", 1))
