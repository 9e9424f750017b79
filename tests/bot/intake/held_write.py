"""Holds the next write of a store up, so that a test can act while somebody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class HeldWrite:
    """A write that was `asked` for, goes on once it is `free`, and has `ended`."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@contextmanager
def held_write(store: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldWrite]:
    """Hold every write of the store up within this block."""
    held, write = HeldWrite(), store.write

    async def slow(unit: Any) -> Any:
        held.asked.set()
        await held.free.wait()
        try:
            return await write(unit)
        finally:
            held.ended.set()

    with monkeypatch.context() as ill:
        ill.setattr(store, "write", slow)
        yield held
