"""Counts the commits and the hops between threads that one life of a proposal takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bot.bench.stage import staged
from lifecycle.checking.rule_run import Run, Workers
from lifecycle.ports import ProposalStore, Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts for one life alone, without the delivery of its card.

    `commits` are units that waited for the disk by themselves (in WAL mode with synchronous=FULL a
    commit is one fdatasync). `hops` are all units and views, each of which goes to a thread of the
    store, and `rule_hops` are the runs on the rules' threads.
    """

    commits: float
    hops: float
    rule_hops: float


class CountingStore:
    """A store that counts the units and views that it is given; used on the event loop."""

    def __init__(self, inner: ProposalStore) -> None:
        """Take the store that does the work."""
        self._inner = inner
        self.writes = 0
        self.reads = 0

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit, and count it."""
        self.writes += 1
        return await self._inner.write(unit)

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run a view, and count it."""
        self.reads += 1
        return await self._inner.read(view)

    async def close(self) -> None:
        """Close the store."""
        await self._inner.close()


class CountingWorkers(Workers):
    """The rules' threads, counting what they are handed."""

    runs = 0

    def take(self, run: Run[T]) -> None:
        """Hand a run on, and count it."""
        self.runs += 1
        super().take(run)


async def counts(folder: Path, lives: int) -> Counts:
    """Run `lives` one after the other, so that no two units share a commit; return the counts."""
    workers = CountingWorkers()
    async with staged(folder, wrapped=CountingStore, workers=workers) as stage:
        store = stage.workflow.world.store
        assert isinstance(store, CountingStore)  # noqa: S101 - it was wrapped in the line above
        store.writes = store.reads = workers.runs = 0
        for _ in range(lives):
            proposal_id = await stage.submit()
            await stage.deliver()
            await stage.approve(proposal_id)
            await stage.workflow.idle()
        return Counts(
            store.writes / lives, (store.writes + store.reads) / lives, workers.runs / lives
        )
