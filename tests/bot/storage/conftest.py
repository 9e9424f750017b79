"""What the tests of the store share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of the test stands."""
    return tmp_path / "signoff.db"
