"""A real bot in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import Process


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Process]:
    """A bot that has not been started."""
    made = Process(tmp_path)
    yield made
    made.close()
