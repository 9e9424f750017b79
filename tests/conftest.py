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
