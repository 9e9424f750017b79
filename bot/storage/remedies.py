"""What a person can do where SQLite or the system says no."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


def remedy(error: Exception, path: Path | None = None) -> str:
    """Return a sentence, with the blank before it, to put behind what `error` says of `path`."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return (
                " It is damaged: stop the bot, keep the file, and bring a copy back with: signoff "
                "restore FILE"
            )
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_FULL:
            return " If its disk is full, free some of it; else the disk itself may be failing."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return " Another program writes to it: end that one, or let it finish, and try again."
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            if path is not None and _is_of_another(path):
                return " This account may not: call Signoff as the account that runs the bot."
            return " Its folder must allow new files; to look at a copy, put it where they are."
        case _:
            return ""


def _is_of_another(path: Path) -> bool:
    by_effect = os.access in os.supports_effective_ids
    return path.exists() and not os.access(path, os.R_OK | os.W_OK, effective_ids=by_effect)
