"""Reads the store beside a running bot, or where none ever ran."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import psutil

from bot.clock import SystemClock
from bot.config import Config
from bot.storage import open_reader, open_store
from bot.storage.connection import CannotOpen
from bot.storage.lock import number_in, path_of_lock
from bot.storage.note import note_beside
from bot.storage.opening import undisturbed
from lifecycle.ports import ProposalStore, Transaction

T = TypeVar("T")

#: Start times of processes are known to a tick of the kernel.
_CLOCK_STEP_S: Final = 1.0


async def look(
    config: Config, view: Callable[[Transaction, int], T], *, must_exist: bool = False
) -> T:
    """Run `view` with the time in ms on a snapshot; where there is no database yet, on nothing.

    Raises CannotOpen for a store in the memory of another process, and where one `must_exist`.
    """
    async with reading(config, must_exist=must_exist) as store:
        now_ms = SystemClock().now_ms()
        return await store.read(lambda tx: view(tx, now_ms))


@asynccontextmanager
async def reading(config: Config, *, must_exist: bool = False) -> AsyncIterator[ProposalStore]:
    """Open the store to read, as `look` does, for what takes more than one snapshot.

    What was read of a file without locks counts only where this ends without CannotOpen.
    """
    file = config.database_file
    if file is not None and not file.exists():
        if must_exist:
            raise CannotOpen(
                f"There is no database {file}: nothing was ever written here, or its folder is "
                "not the right one. A trail that is gone is no sound trail."
            )
        store = await open_store("memory:", config.folder)
    else:
        store = await open_reader(config.database, config.folder)
    try:
        with undisturbed(file):
            yield store
    finally:
        await store.close()


def running_pid(config: Config) -> int | None:
    """Return the process that holds the database, None where none does.

    The lock itself is not touched, so that looking never keeps a bot from starting. A process
    that is younger than what is written in the lock file only got the number of a dead one.
    """
    file = config.database_file
    if file is None:
        return None
    lock = path_of_lock(file)
    try:
        pid, written_s = number_in(lock.read_bytes()), lock.stat().st_mtime
        if pid is None:
            return None
        began_s = psutil.Process(pid).create_time()
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if began_s <= written_s + _CLOCK_STEP_S else None


def said_by_running(config: Config) -> Mapping[str, Any]:
    """Return what the process that holds the database says of itself (`bot.own_state`)."""
    file = config.database_file
    return (note_beside(file) or {}) if file is not None else {}
