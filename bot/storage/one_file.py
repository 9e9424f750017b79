"""Keeps a second bot from a database that has two names, as a hard link makes them.

The lock file stands beside one name, and so does the log with the newest commits. Under another
name of the same file neither is found: two bots would decide apart and write over each other, and a
freeze would stop nothing. So a bot also locks one byte of the file itself, where SQLite has none of
its locks and no page.

Linux alone has such locks that are held by an open file: elsewhere closing any descriptor of the
file would end them, and `flock` would keep out SQLite itself. There only the lock file counts.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from bot.process.forked import keep_from_copies
from bot.storage.connection import CannotOpen
from bot.storage.lock import is_locked

#: The byte: behind the largest database that SQLite can make (281 TB, below 2^49).
_BYTE: Final = 2**62
#: `struct flock` of Linux: type, whence, start, length, process (0), padded to its alignment.
_FLOCK: Final = struct.Struct("@hhqqi0q")
_HELD: Final = (errno.EACCES, errno.EAGAIN)
#: A process that dies lets go of this file a moment after its lock. Together they are shorter than
#: a lock is tried for: a bot whose lock file was removed must get it back from one that waits here.
_TAKEN_S: Final = (0.02, 0.05, 0)
#: Long enough for a bot whose lock file was removed to make it again.
_LOOKED_S: Final = (0.02, 0.05, 0.7, 0)


class OneFile:
    """Holds the byte from `take` until `release`, or until the process ends.

    Closing any descriptor of a file ends all locks that SQLite has on it in this process. So
    `release` is called after the last connection is closed.
    """

    def __init__(self, database: Path) -> None:
        """Name the database; nothing is locked yet."""
        self._database = database
        self._descriptor: int | None = None

    def take(self) -> None:
        """Lock the byte of the file; do nothing if it is held, or if there is no file yet.

        Call it before the first connection writes anything, and again once that has made the file.
        Raises CannotOpen if another process has it. Where the file system knows no such lock
        nothing is held.
        """
        if self._descriptor is not None or (descriptor := _opened(self._database)) is None:
            return
        for pause_s in _TAKEN_S:
            if _set(descriptor):
                self._descriptor = descriptor
                keep_from_copies(self)
                return
            time.sleep(pause_s)
        os.close(descriptor)
        raise CannotOpen(_words(self._database))

    def release(self) -> None:
        """Let go of the file; do nothing if it is not held."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def let_go_in_copy(self) -> None:
        """Close the descriptor in a forked copy of the process, which would hold the byte else."""
        self.release()


def refuse_other_name(database: Path) -> None:
    """Raise CannotOpen if a bot works with this file under another name; hold nothing.

    A bot that works with it under this one is known by its lock, not by its process number, which
    means nothing outside its container. Call it before this process has a connection: to close the
    file would release the locks of that one.
    """
    for pause_s in _LOOKED_S:
        if not _is_held(database) or is_locked(database):
            return
        time.sleep(pause_s)
    raise CannotOpen(_words(database))


def _words(database: Path) -> str:
    return (
        f"The database {database} is in use by another process that has it under another name (a "
        "hard link), or whose lock file was removed. Stop that one first, and keep the name that "
        "it used: the newest commits stand beside that one. Make copies with: signoff backup FILE"
    )


def _opened(database: Path) -> int | None:
    if sys.platform != "linux":
        return None
    with suppress(OSError):  # SQLite will report what is wrong with the file
        return os.open(database, os.O_RDWR | os.O_CLOEXEC)
    return None


def _is_held(database: Path) -> bool:
    if (descriptor := _opened(database)) is None:
        return False
    try:
        told = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _asked())
        return bool(_FLOCK.unpack(told)[0] != fcntl.F_UNLCK)
    except OSError:  # a file system that knows no such lock
        return False
    finally:
        os.close(descriptor)


def _set(descriptor: int) -> bool:
    """Return False if another process has the byte, else True."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _asked())
    except OSError as error:
        return error.errno not in _HELD
    return True


def _asked() -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
