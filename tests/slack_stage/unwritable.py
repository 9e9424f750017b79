"""A store on a disk that is full or slow, as long as a test wants it to be."""

from __future__ import annotations

import asyncio
from typing import Any

from lifecycle.ports import ProposalStore, StoreUnavailable


class Unwritable:
    """A store whose writes wait for `slow` where it is set, and then fail while `failing`."""

    def __init__(self, store: ProposalStore) -> None:
        self.store = store
        self.failing = False
        self.slow: asyncio.Event | None = None

    async def write(self, unit: Any) -> Any:
        if self.slow is not None:
            await self.slow.wait()
        if self.failing:
            raise StoreUnavailable("the disk is full")
        return await self.store.write(unit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)
