"""The store on SQLite keeps the contract of all stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from tests.contracts.store_contract import StoreContract


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "signoff.db")
    yield opened
    await opened.close()


class TestSqliteStore(StoreContract):
    """Nothing is different here."""
