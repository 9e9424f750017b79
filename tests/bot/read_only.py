"""A disk that is mounted read-only, for whoever looks how it is mounted."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest


def is_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every disk look so; it can be written all the same."""
    looked_at = os.statvfs

    def read_only(path: str) -> SimpleNamespace:
        return SimpleNamespace(f_flag=looked_at(path).f_flag | os.ST_RDONLY)

    monkeypatch.setattr(os, "statvfs", read_only)
