"""The store in memory keeps the contract of all stores."""

from __future__ import annotations

import pytest

from bot.storage.memory import MemoryStore
from tests.contracts.store_contract import StoreContract


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


class TestMemoryStore(StoreContract):
    """Nothing is different here."""
