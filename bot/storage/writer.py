"""The writer runs all units on one thread and commits those that wait together."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from bot.storage.committing import commit
from bot.storage.connection import Connection
from bot.storage.job import STOPPED, Job
from bot.storage.place import Place, held_by
from bot.storage.queries import PRAGMAS, QUERIES
from bot.storage.remedies import remedy, said
from bot.storage.side_file import SideFile
from bot.storage.transaction import SqliteTransaction
from lifecycle.located import located, written_at
from lifecycle.ports import RowRefused, StoreClosed, StoreUnavailable, Transaction

T = TypeVar("T")
log = logging.getLogger("signoff.storage")

#: Raised before a statement runs, for values that Python can hold and SQLite cannot.
_NO_VALUE: Final = (OverflowError, UnicodeEncodeError)
_OF_THE_ROW: Final = (
    *(sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError),
    *_NO_VALUE,
)
#: How sqlite3 begins the message for a type that it cannot store. The class of that error,
#: ProgrammingError, is also that of a closed database.
_NOT_BOUND: Final = "Error binding parameter"
#: More units than this are not kept waiting for each other's commit.
MOST_IN_A_COMMIT: Final = 64
#: After so many seconds it is tried again to answer, if there was no memory for that.
_NO_MEMORY_S: Final = 0.05


class Writer:
    """Runs the units in the order in which they came, on the thread of its connection.

    The public methods are called on the event loop. The writer's thread stays in `_serve` for its
    whole life and takes jobs from a queue, so that a unit costs one hop there and one back, and all
    units that came while it was committing share the next commit.
    """

    def __init__(self, connection: Connection, place: Place, *, left_over: bool) -> None:
        """Start serving; needs a running loop. `left_over` as SideFile takes it."""
        self._left_over_before = left_over
        self._loop = asyncio.get_running_loop()
        self._place = place
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._hurried = False
        #: Why it stopped although it was not closed, None while it serves. Set on its thread.
        self.broken: str | None = None
        self._serving = self._loop.create_task(connection.run(self._serve), name="store writer")
        self._serving.add_done_callback(self._answer_late)

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` and return its value once it is durable."""
        if self._closed:
            broken = self.broken
            raise StoreUnavailable(broken) if broken else StoreClosed("The store is closed.")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(Job(unit, answer))
        return await answer

    def hurry(self) -> None:
        """Wait only 250 ms for the lock of another process, from the next commit on."""
        self._hurried = True

    async def close(self) -> None:
        """Finish the accepted units, then stop."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.wait([self._serving])
        if not self._serving.cancelled():
            self._serving.exception()  # it was logged when it was raised

    def _answer_late(self, serving: asyncio.Task[None]) -> None:
        """Fail what was handed over while the thread was ending, after its last look."""
        if not serving.cancelled():  # else the thread serves on
            _reply_all(self._left_over())

    # -- on the connection's thread -------------------------------------------------------

    def _serve(self, plain: sqlite3.Connection) -> None:
        """Run jobs until the last one was taken, and empty the `-wal` when that is due.

        An error that is no unit's breaks the store: it is logged, `broken` says so, and all jobs
        that wait fail.
        """
        transaction = SqliteTransaction(plain)
        side_file = SideFile(plain, self._place, left_over=self._left_over_before)
        last = False
        while not last:
            jobs: list[Job] = []
            try:
                jobs, last = self._next_jobs(side_file.idle_s())
                waiting = jobs
                if self._hurried:
                    plain.execute(PRAGMAS["hurry"])
                while waiting and not self._is_lost(plain, waiting):
                    done = _commit_together(plain, transaction, waiting, self._place.database)
                    waiting = waiting[done:]
                    self._place.remember()
                if transaction.has_covered():
                    side_file.cover()
                side_file.empty(self._patience())
            except BaseException as error:
                self.broken = STOPPED  # first: without memory what follows fails as well
                self._closed = True
                self._break(jobs, error)
                raise
            finally:
                self._reply(jobs)

    def _break(self, jobs: list[Job], error: BaseException) -> None:
        """Fail what is not committed of `jobs` and all that still wait, and say why."""
        jobs += self._left_over()
        log.error("the store stopped: %s", located(error))
        self.broken = f"The store stopped ({type(error).__name__})."
        for job in jobs:
            if not job.is_durable:
                job.fail(StoreUnavailable(self.broken))

    def _next_jobs(self, wait_s: float | None) -> tuple[list[Job], bool]:
        """Wait for one job, `wait_s` seconds at most, and take the others that wait already.

        The second value is True once the writer was closed and the last job was taken.
        """
        try:
            found = [self._jobs.get(timeout=wait_s)]
        except Empty:
            return [], False
        while found[-1] is not None and len(found) < MOST_IN_A_COMMIT and not self._jobs.empty():
            found.append(self._jobs.get())
        return [job for job in found if job is not None], found[-1] is None

    def _patience(self) -> str:
        """Return the name of the pragma that sets how long to wait for another process's lock."""
        return "hurry" if self._hurried else "patience"

    def _is_lost(self, plain: sqlite3.Connection, jobs: Sequence[Job]) -> bool:
        """Return True and fail all `jobs` if a file of the database was moved or cut short.

        Nobody would find again what is written there.
        """
        words = self._place.trouble() or self._place.shorter(
            partial(held_by, plain, self._patience(), self._place)
        )
        for job in jobs if words else ():
            job.fail(StoreUnavailable(words))
        return words is not None

    def _left_over(self) -> list[Job]:
        waiting = [self._jobs.get() for _ in range(self._jobs.qsize())]
        return [job for job in waiting if job is not None]

    def _reply(self, jobs: Sequence[Job]) -> None:
        """Have the loop answer all callers; if the loop has ended, nobody waits.

        Without memory it is tried until there is some: what is decided must be answered, and nobody
        would serve the units that follow.
        """
        while jobs:
            try:
                self._loop.call_soon_threadsafe(_reply_all, jobs)
            except RuntimeError:
                return
            except MemoryError:
                time.sleep(_NO_MEMORY_S)
            else:
                return


def _reply_all(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.reply()


def _commit_together(
    plain: sqlite3.Connection, transaction: SqliteTransaction, jobs: Sequence[Job], path: Path
) -> int:
    """Run `jobs` in one transaction of the database at `path`; return how many it decides.

    If SQLite fails in the middle, the jobs that have run fail, and the caller begins the others in
    a new transaction.
    """
    ran: list[Job] = []
    try:
        plain.execute(QUERIES["begin"])
        transaction.begin()
        marked = len(jobs) > 1  # a single unit needs no savepoint: its transaction is undone
        for job in jobs:
            ran.append(job)
            _run_unit(plain, transaction, job, path, marked=marked)
            if not plain.in_transaction:
                # SQLite itself rolled the transaction back, as it may when the disk is full.
                raise _cause_of(job)
        _end(plain, ran, marked=marked)
    except (sqlite3.Error, MemoryError) as error:
        transaction.forget()
        if plain.in_transaction:
            plain.execute(QUERIES["roll_back"])
        for job in ran or jobs:
            if job.error is None:
                job.fail(_unavailable(error, job.unit, path))
        return len(ran) or len(jobs)
    return len(ran)


def _end(plain: sqlite3.Connection, ran: Sequence[Job], *, marked: bool) -> None:
    """End the transaction of these jobs; those that did not fail are durable then."""
    if not marked and ran[0].error:
        plain.execute(QUERIES["roll_back"])
        return
    commit(plain)
    for job in ran:
        job.is_durable = True


def _run_unit(
    plain: sqlite3.Connection, transaction: SqliteTransaction, job: Job, path: Path, *, marked: bool
) -> None:
    """Run one unit and undo it if it raises; with `marked` it runs within a savepoint."""
    if job.answer.cancelled():
        return
    transaction.begin_unit()
    if marked:
        plain.execute(QUERIES["begin_unit"])
    try:
        job.value = job.unit(transaction)
        transaction.write_down()
        if job.answer.cancelled():
            raise asyncio.CancelledError
    except (sqlite3.Error, MemoryError, *_NO_VALUE) as error:
        job.fail(_unavailable(error, job.unit, path))
    except BaseException as error:  # whatever it is, it is raised at the caller of the unit
        job.fail(error)
    if plain.in_transaction:
        _end_unit(plain, transaction, undone=job.error is not None, marked=marked)


def _end_unit(
    plain: sqlite3.Connection, transaction: SqliteTransaction, *, undone: bool, marked: bool
) -> None:
    if undone:
        transaction.undo_unit()
    if undone and marked:
        plain.execute(QUERIES["undo_unit"])
    if marked:
        plain.execute(QUERIES["release_unit"])


def _cause_of(job: Job) -> sqlite3.Error:
    """Return the error of SQLite with which this unit undid the whole transaction."""
    cause = job.error.__cause__ if job.error is not None else None
    undone = sqlite3.OperationalError("the whole transaction was undone")
    return cause if isinstance(cause, sqlite3.Error) else undone


def _unavailable(error: Exception, unit: Callable[..., Any], path: Path) -> StoreUnavailable:
    """Return RowRefused if SQLite refused a row for its content, else StoreUnavailable.

    Only the log says which unit a refused row came from: the words for people are SQLite's.
    """
    unavailable: StoreUnavailable
    if _is_of_the_row(error):
        log.error("a row of %s was refused: %s", written_at(unit), located(error))
        unavailable = RowRefused(f"The database refuses a row of this: {_words(error)}.")
    else:
        words = f"The database could not take this: {said(error)}.{remedy(error, path)}"
        unavailable = StoreUnavailable(words)
    unavailable.__cause__ = error
    return unavailable


def _is_of_the_row(error: Exception) -> bool:
    """Return True if SQLite refused the values, rather than the disk or the file failed."""
    return isinstance(error, _OF_THE_ROW) or str(error).startswith(_NOT_BOUND)


def _words(error: Exception) -> str:
    """Return SQLite's own words, which name tables and columns; other errors may hold the value."""
    if isinstance(error, sqlite3.Error):
        return str(error)
    return f"a value of it ({type(error).__name__})"
