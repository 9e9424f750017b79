"""What the tests of the store share."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.storage.copies import back_up
from tests.bot.storage.copied import filled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of the test stands."""
    return tmp_path / "signoff.db"


@pytest.fixture
async def copy(tmp_path: Path) -> Path:
    """A copy of a database with p1 and p2."""
    store = await filled(tmp_path / "old" / "signoff.db", "p1", "p2")
    back_up(tmp_path / "old" / "signoff.db", tmp_path / "copy.db")
    await store.close()
    return tmp_path / "copy.db"
