"""Databases to be copied, and what a copy holds."""

from __future__ import annotations

from pathlib import Path

from bot.storage.sqlite import SqliteStore
from tests.builders import a_document, a_proposal


async def filled(path: Path, *names: str) -> SqliteStore:
    """Open a database with proposals of these names."""
    store = await SqliteStore.open(path)
    for name in names:
        await store.write(
            lambda tx, n=name: tx.proposals.add(a_proposal(a_document(proposal_id=n)))
        )
    return store


async def held(path: Path) -> list[str]:
    """Return the names of the proposals in a database."""
    store = await SqliteStore.open_reader(path)
    found = await store.read(lambda tx: tx.proposals.beginning_with("", 99))
    await store.close()
    return list(found)
