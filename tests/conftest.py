"""What all tests share: where things are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from bot.process.garbage import load_undisturbed, spare_what_is_loaded

ROOT = Path(__file__).resolve().parents[1]

# How long one example takes says what else the machine does: nothing is timed in a test.
settings.register_profile("signoff", deadline=None)
settings.load_profile("signoff")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of conformance vectors; skips where this machine has none."""
    folder = Path(os.environ.get("SIGNOFF_VECTORS", ROOT.parent / "shared" / "vectors"))
    if not folder.is_dir():
        pytest.skip("Conformance vectors are not here; SIGNOFF_VECTORS names their folder.")
    return folder


@pytest.fixture
def stopped_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the running loop find that so many seconds have passed: its process was stopped.

    All its timers are late at once, and it has not looked at what arrived meanwhile.
    """

    def by(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        told = loop.time
        monkeypatch.setattr(loop, "time", lambda: told() + seconds)

    return by


def pytest_configure() -> None:
    """Seldom look for garbage while tests are imported and collected: there is hardly any."""
    load_undisturbed()


def pytest_collection_finish() -> None:
    """Collect no garbage among modules and tests, as a running bot does not."""
    spare_what_is_loaded()


#: What takes long and comes in few tests: begun last, it would keep one process busy alone.
_LONG = ("tests/crash/", "tests/e2e/", "tests/bot/test_cli", "tests/cases/test_l_running")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files; the order within a file stays."""

    def rank(item: pytest.Item) -> int:
        place = item.nodeid
        if not place.startswith(_LONG):
            return len(_LONG)
        return next(n for n, start in enumerate(_LONG) if place.startswith(start))

    items.sort(key=rank)
