"""A config that works, to be spoiled in one place by a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

BASE = Path(__file__).with_name("base.yaml")

Spoil = Callable[..., Path]


@pytest.fixture
def write_config(tmp_path: Path) -> Spoil:
    """Write the config with pieces of its text exchanged; every piece must occur once."""

    def write(*changes: tuple[str, str]) -> Path:
        text = BASE.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} must stand once in the config"
            text = text.replace(old, new)
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
