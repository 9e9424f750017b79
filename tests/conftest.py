"""What all tests share: where things are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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


#: What takes long and comes in few tests: begun last, it would keep one process busy alone.
_LONG = ("tests/crash/", "tests/e2e/", "tests/bot/test_cli", "tests/cases/test_l_running")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files; the order within a file stays."""

    def rank(item: pytest.Item) -> int:
        place = item.path.as_posix().removeprefix(f"{ROOT.as_posix()}/")
        return next((n for n, start in enumerate(_LONG) if place.startswith(start)), len(_LONG))

    items.sort(key=rank)
