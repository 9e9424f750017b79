"""This module makes sentences that tell a person what to do about an error of SQLite or the
system."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from bot.storage.read_only import read_only

#: How many files an open database needs: itself, its journal or log, their index, and the folder.
_FILES: Final = 4
#: How long a path SQLite takes, in bytes: 512 less the end of its journal's name.
_LONGEST_PATH: Final = 504
#: The index of a log (`-shm`) grows by parts of this size, and knows nothing before it has one.
_FIRST_PART_BYTES: Final = 32 * 1024
#: SQLite computes columns from this version on (2020); no older one reads or makes our tables.
_OLDEST: Final = (3, 31, 0)
#: What to do if the process may open no further file.
MORE_FILES: Final = (
    " This process has as many files and connections open as it may: raise that limit (ulimit -n, "
    "or LimitNOFILE= of its unit) and start it again."
)


def too_old() -> str | None:
    """Return a sentence if the SQLite of this Python is too old for our tables, None if not.

    Such a one calls a sound database damaged, and would leave half a new one behind.
    """
    if sqlite3.sqlite_version_info >= _OLDEST:
        return None
    return (
        f"This Python brings SQLite {sqlite3.sqlite_version}, and Signoff needs "
        f"{'.'.join(map(str, _OLDEST))} or newer: call it with a Python that brings one. The "
        "database was not touched, and needs no repair."
    )


def said(error: Exception) -> str:
    """Return the words of an error; a MemoryError has none of its own."""
    if isinstance(error, MemoryError):
        return "there is no memory for it; end what takes that, or let the bot have more"
    return str(error)


def remedy(error: Exception, path: Path) -> str:
    """Return a sentence with a blank before it, to append to the words of `error` about `path`.

    Return an empty text if there is nothing to advise.
    """
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return (
                " It is damaged: stop the bot, keep the file, and bring a copy back with: signoff "
                "restore FILE"
            )
        case sqlite3.SQLITE_IOERR if _lacks_its_log(path):
            return (
                f" Its newest commits are missing: {path.name}-wal was removed or emptied, or not "
                "copied with it. Where a bot runs with it, stop that with SIGTERM, which writes "
                "what it still holds into the database. If the file was removed, that is all: "
                "start it again. If it was emptied, commits are lost: see with signoff audit "
                "verify what is left, and bring a copy back with: signoff restore FILE. Make "
                "copies with: signoff backup FILE"
            )
        case sqlite3.SQLITE_IOERR if read_only(path):
            return _closed(path)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_FULL:
            return " If its disk is full, free some of it; else the disk itself may be failing."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return " Another program writes to it: end that one, or let it finish, and try again."
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _closed(path)
        case _:
            return ""


def _closed(path: Path) -> str:
    if _may_open_too_few():
        return MORE_FILES
    if len(os.fsencode(path.absolute())) > _LONGEST_PATH:
        return f" SQLite takes no path of more than {_LONGEST_PATH} bytes: put it higher up."
    if read_only(path):
        return " Its disk is mounted read-only: mount it for writing. If it fails, dmesg says so."
    if _is_of_another(path):
        return " This account may not: call Signoff as the account that runs the bot."
    return " Its folder must allow new files; to look at a copy, put it where they are."


def _may_open_too_few() -> bool:
    """Return True if the process can not open as many files now as a database needs."""
    opened = []
    try:
        for _ in range(_FILES):
            opened.append(os.open(os.curdir, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def _lacks_its_log(path: Path) -> bool:
    """Return True if the index of the log (`-shm`) may know commits but the log is empty or gone.

    A shorter index than its first part knows none: a full disk, or a limit on the size of files,
    has just refused to take it.
    """
    path = path.resolve()
    log, index = (path.with_name(path.name + side) for side in ("-wal", "-shm"))
    return _size_of(index) >= _FIRST_PART_BYTES and _size_of(log) == 0


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def closed_to_its_owner(path: Path) -> Path | None:
    """Return the folder above `path` into which this account may not look, if that is its own."""
    by_effect = os.access in os.supports_effective_ids
    for folder in reversed(path.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=by_effect):
            with suppress(OSError):
                return folder if folder.stat().st_uid == os.geteuid() else None
    return None


def _is_of_another(path: Path) -> bool:
    by_effect = os.access in os.supports_effective_ids
    return path.exists() and not os.access(path, os.R_OK | os.W_OK, effective_ids=by_effect)
