"""The one writer: takes every unit that waits and commits them together in one hop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from bot.storage.connection import Connection
from bot.storage.queries import QUERIES
from bot.storage.transaction import SqliteTransaction
from lifecycle.ports import StoreUnavailable, Transaction

T = TypeVar("T")

#: More units than this are not kept waiting for each other's commit.
MOST_IN_A_COMMIT: Final = 64


@dataclass(slots=True)
class Job:
    """A unit that waits or has run, and whoever waits for it."""

    unit: Callable[[Transaction], Any]
    answer: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Note why nothing of the unit remains; the first cause counts."""
        self.value, self.error = None, self.error or error

    def reply(self) -> None:
        """Tell whoever waits; nobody may wait any more."""
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.value)
        elif isinstance(self.error, asyncio.CancelledError):
            self.answer.cancel()
        elif isinstance(self.error, StopIteration):
            self.answer.set_exception(RuntimeError("a unit raised StopIteration"))
        else:
            self.answer.set_exception(self.error)


class Writer:
    """Serves the units in the order in which they came, from one task."""

    def __init__(self, connection: Connection) -> None:
        """Start serving; needs a running loop."""
        self._connection = connection
        self._jobs: asyncio.Queue[Job | None] = asyncio.Queue()
        self._transaction: SqliteTransaction | None = None
        self._closed = False
        self._task = asyncio.get_running_loop().create_task(self._serve(), name="store writer")

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` and return its value once it is durable."""
        if self._closed or self._task.done():
            raise StoreUnavailable("The store is closed.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait(Job(unit, answer))
        return await answer

    async def close(self) -> None:
        """Finish what was accepted, then stop."""
        if not self._closed:
            self._closed = True
            self._jobs.put_nowait(None)
        await asyncio.wait([self._task])

    async def _serve(self) -> None:
        while True:
            jobs, last = await self._next_jobs()
            try:
                await self._connection.run(partial(self._run, jobs))
            except asyncio.CancelledError:
                # The thread goes on, so that nobody knows here whether the jobs were committed.
                self._abandon(jobs, asyncio.CancelledError())
                raise
            except BaseException as error:
                self._abandon(jobs, StoreUnavailable(f"The store stopped: {error!r}"))
                raise
            for job in jobs:
                job.reply()
            if last:
                return

    async def _next_jobs(self) -> tuple[list[Job], bool]:
        """Wait for one job and take what else waits; True once the last has been taken."""
        found = [await self._jobs.get()]
        while found[-1] is not None and len(found) < MOST_IN_A_COMMIT and not self._jobs.empty():
            found.append(self._jobs.get_nowait())
        return [job for job in found if job is not None], found[-1] is None

    def _abandon(self, jobs: Sequence[Job], error: BaseException) -> None:
        """Leave nobody waiting for a writer that is gone."""
        self._closed = True
        waiting = [self._jobs.get_nowait() for _ in range(self._jobs.qsize())]
        for job in (*jobs, *(job for job in waiting if job is not None)):
            job.fail(error)
            job.reply()

    # -- on the connection's thread -------------------------------------------------------

    def _run(self, jobs: Sequence[Job], plain: sqlite3.Connection) -> None:
        """Run jobs in one transaction; in another one those behind a job that ended it."""
        if self._transaction is None:
            self._transaction = SqliteTransaction(plain)
        waiting = list(jobs)
        while waiting:
            taken = _commit_together(plain, self._transaction, waiting)
            waiting = waiting[taken:]


def _commit_together(
    plain: sqlite3.Connection, transaction: SqliteTransaction, jobs: Sequence[Job]
) -> int:
    """Run `jobs` in one transaction and return how many are settled by it."""
    ran: list[Job] = []
    try:
        plain.execute(QUERIES["begin"])
        transaction.chain.known_head = None
        for job in jobs:
            ran.append(job)
            _run_unit(plain, transaction, job)
            if not plain.in_transaction:
                # SQLite itself undid everything, as it may when the disk is full.
                raise sqlite3.OperationalError("the whole transaction was undone")
        plain.execute(QUERIES["commit"])
    except sqlite3.Error as error:
        if plain.in_transaction:
            plain.execute(QUERIES["roll_back"])
        for job in ran or jobs:
            if job.error is None:
                job.fail(_unavailable(error))
        return len(ran) or len(jobs)
    return len(ran)


def _run_unit(plain: sqlite3.Connection, transaction: SqliteTransaction, job: Job) -> None:
    """Run one unit between two marks; what it raises undoes it alone."""
    if job.answer.cancelled():
        return
    head = transaction.chain.known_head
    plain.execute(QUERIES["begin_unit"])
    try:
        job.value = job.unit(transaction)
        if job.answer.cancelled():
            raise asyncio.CancelledError
    except sqlite3.Error as error:
        job.fail(_unavailable(error))
    except BaseException as error:  # whatever it is belongs to whoever sent the unit
        job.fail(error)
    if not plain.in_transaction:
        return
    if job.error is not None:
        transaction.chain.known_head = head
        plain.execute(QUERIES["undo_unit"])
    plain.execute(QUERIES["release_unit"])


def _unavailable(error: sqlite3.Error) -> StoreUnavailable:
    unavailable = StoreUnavailable(f"The database could not take this: {error}.")
    unavailable.__cause__ = error
    return unavailable
