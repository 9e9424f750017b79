"""A disk in trouble: writes and reads that fail, answers that are lost, a spool that is full."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from tests.fakes.spool import MemorySpool

_INTENTS = frozenset({"execute", "commit_claimed", "roll_back_claimed", "called_again"})


@dataclass
class Disk:
    """What fails next: so many writes, reads, answers to a commit that was made, spoolings.

    With `stands_behind` it stands still behind the next intent of a call, which all can see, until
    it `goes_on`.
    """

    writes: int = 0
    reads: int = 0
    answers: int = 0
    spoolings: int = 0
    stands_behind: bool = False
    goes_on: asyncio.Event | None = field(default=None, compare=False)
    behind: object = field(default=None, compare=False)

    def wrote(self, unit: object, tx: Transaction, seq: int) -> None:
        """Stand still where an intent was written behind `seq` and that was waited for."""
        entries = tx.audit.exported(seq, 10_000) if self.stands_behind else ()
        if not _INTENTS.isdisjoint(str(entry["kind"]) for entry in entries):
            self.stands_behind, self.goes_on, self.behind = False, asyncio.Event(), unit

    async def stands(self) -> None:
        if self.goes_on is not None:
            await self.goes_on.wait()

    async def answers_late(self, unit: object) -> None:
        if unit is self.behind:
            await self.stands()

    def mended(self) -> None:
        self.writes = self.reads = self.answers = self.spoolings = 0


class FailingSpool(MemorySpool):
    """A spool on that disk."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self.disk = disk

    def _fails(self) -> None:
        if self.disk.spoolings > 0:
            self.disk.spoolings -= 1
            raise OSError("the spool cannot be written")

    def keep(self, stop: Mapping[str, Any]) -> None:
        self._fails()
        super().keep(stop)

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        self._fails()
        super().forget(stops)


def fail_with(store: ProposalStore, disk: Disk, after: Callable[[Transaction, int], None]) -> None:
    """Let a store fail as the disk says; `after` sees what each unit has written."""
    write, read = store.write, store.read

    async def written(unit: Callable[[Transaction], Any]) -> Any:
        await disk.stands()
        if disk.writes > 0:
            disk.writes -= 1
            raise StoreUnavailable("the disk is full")

        def watched(tx: Transaction) -> Any:
            seq = tx.audit.head()[0]
            value = unit(tx)
            after(tx, seq)
            disk.wrote(unit, tx, seq)
            return value

        value = await write(watched)
        await disk.answers_late(unit)
        if disk.answers > 0:
            disk.answers -= 1
            raise StoreUnavailable("the answer of the disk is lost")
        return value

    async def looked(view: Callable[[Transaction], Any]) -> Any:
        if disk.reads > 0:
            disk.reads -= 1
            raise StoreUnavailable("the disk cannot be read")
        return await read(view)

    store.write = written  # type: ignore[method-assign]
    store.read = looked  # type: ignore[method-assign]
