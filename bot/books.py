"""Reads the store for the command line and finds the bot that works with it.

A bot may be running meanwhile, or none may ever have run. Nothing here takes the lock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

from bot.clocks.clock import SystemClock
from bot.config import Config
from bot.process.age import STEP_S, is_born
from bot.storage import open_reader, open_store
from bot.storage.connection import CannotOpen, remains_of
from bot.storage.lock import birth_in, number_in, path_of_lock
from bot.storage.note import note_beside
from bot.storage.opening import undisturbed
from lifecycle.ports import ProposalStore, Transaction

T = TypeVar("T")


async def look(
    config: Config, view: Callable[[Transaction, int], T], *, must_exist: bool = False
) -> T:
    """Run `view` with the time in ms on a snapshot; if there is no database yet, on an empty store.

    Raises CannotOpen if the store is in the memory of another process, and, with `must_exist`, if
    there is no database.
    """
    async with reading(config, must_exist=must_exist) as store:
        now_ms = SystemClock().now_ms()
        return await store.read(lambda tx: view(tx, now_ms))


@asynccontextmanager
async def reading(config: Config, *, must_exist: bool) -> AsyncIterator[ProposalStore]:
    """Open the store for reading as `look` does, for work that takes more than one snapshot.

    What was read counts only if the block ends without CannotOpen: a file that is read without
    locks may have been changed meanwhile.
    """
    file = config.database_file
    if file is not None and not file.exists():
        if must_exist:
            raise CannotOpen(no_database(config))
        store = await open_store("memory:", config.folder)
    else:
        store = await open_reader(config.database, config.folder)
    try:
        with undisturbed(file):
            yield store
    finally:
        await store.close()


def no_database(config: Config) -> str | None:
    """Return words saying that this config has no database, None if it has one."""
    file = config.database_file
    if file is None or file.exists():
        return None
    if pid := running_pid(config):
        return f"There is no database {file} any more, although process {pid} works with it."
    if remains := remains_of(file):
        return remains
    return (
        f"There is no database {file}: nothing was ever written here, or its folder is not the "
        "right one."
    )


def running_pid(config: Config) -> int | None:
    """Return the number of the process that holds the database, None if none does."""
    file = config.database_file
    return None if file is None else _holder(path_of_lock(file))


def said_beside(database: Path | None) -> Mapping[str, Any]:
    """Return the note of the process that holds this database (`bot.own_state`); empty if there is
    none.

    It is only valid while that process lives.
    """
    return (note_beside(database) or {}) if database is not None else {}


def bot_of(config: Config) -> tuple[int | None, Path | None]:
    """Return the process number of the bot that works with this config, and its database.

    The number is None if no bot is found; the database is then that of the config.
    """
    pid = running_pid(config)
    if pid is None and (found := running_elsewhere(config)):
        return found
    return pid, config.database_file


def running_elsewhere(config: Config) -> tuple[int, Path] | None:
    """Return the bot that works with this config file on another database, and that database.

    `database` is read only at a start: after it was edited the bot still holds the old one, and a
    look at the new one would find no bot. The old one is searched in the `data` folder and in the
    folder of the new one; a bot whose database is elsewhere is not found. None if there is none.
    """
    file = config.database_file
    own = None if file is None else path_of_lock(file)
    folders = {config.data.resolve(), *(() if own is None else (own.parent,))}
    for lock in sorted(each for folder in folders for each in folder.glob("*.lock")):
        database = lock.with_name(lock.name.removesuffix(".lock"))
        if lock != own and (pid := _holder(lock)) and _reads(database, config.path):
            return pid, database
    return None


def elsewhere_words(config: Config) -> str | None:
    """Return words saying that a bot works with this config on another database, else None."""
    found = running_elsewhere(config)
    if found is None:
        return None
    pid, database = found
    return (
        f"A bot (process {pid}) works with this config on another database, {database}: what "
        "`database` says now it reads at its next start."
    )


def _reads(database: Path, config: Path) -> bool:
    """Return True if the bot that holds `database` works with this config file."""
    read = (note_beside(database) or {}).get("config")
    return read is not None and Path(read["path"]).resolve() == config.resolve()


def _holder(lock: Path) -> int | None:
    """Return the process whose number is in a lock file, None if it does not live any more.

    The lock itself is not taken, so that looking never keeps a bot from starting. A process with
    another birth than the one in the file has only been given the number of a dead one.
    """
    try:
        written = lock.read_bytes()
        pid, birth = number_in(written), birth_in(written)
        if pid is None:
            return None
        if birth is None:
            same = psutil.Process(pid).create_time() <= lock.stat().st_mtime + STEP_S
        else:
            same = is_born(pid, birth)
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if same else None
