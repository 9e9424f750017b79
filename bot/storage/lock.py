"""Only one process may write a database; an advisory lock on a file beside it ensures that."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from bot.process.age import birth_of
from bot.process.forked import keep_from_copies
from bot.storage.connection import CannotOpen
from bot.storage.remedies import MORE_FILES

#: The lock file holds the process number in so many bytes at most, and its birth in as many.
_LONGEST_NUMBER: Final = 20
#: What a file system answers that has no locks, as some network disks.
_NO_LOCKS: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


class AlreadyRunning(CannotOpen):
    """Another process holds the lock on the database."""


class FileLock:
    """Holds `<database>.lock` from `take` until `release`, or until the process ends.

    The bot uses it on the event loop, `backup` and `restore` on their main thread. The kernel
    releases the lock however the process dies; the file itself stays. Programs that are started do
    not inherit the descriptor, and forked copies of the process close it (`bot.process.forked`).
    """

    def __init__(self, database: Path) -> None:
        """Name the database; nothing is locked yet. Raises what `path_of_lock` raises."""
        self.path = path_of_lock(database)
        self.database = database.resolve()
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the lock, or raise AlreadyRunning with the number of the process that holds it.

        Tries for less than 0.2 s. Raises CannotOpen if the lock file cannot be made or written.
        """
        descriptor = self._taken()
        while not _lies_at(self.path, descriptor):  # somebody removed the file before we had it
            os.close(descriptor)
            descriptor = self._taken()
        self._descriptor = descriptor
        keep_from_copies(self)

    def keep(self) -> bool:
        """Take the lock again if its file was removed or replaced by hand; return True if it was.

        A lock on a file that has lost its name keeps nobody out. Raises AlreadyRunning if another
        process has locked the database by now, CannotOpen if no lock file can be made.
        """
        former = self._descriptor
        if former is None or _lies_at(self.path, former):
            return False
        self.take()
        os.close(former)
        return True

    def _taken(self) -> int:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable("opened", error) from error
        try:
            if _locked(descriptor):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, _own_lines(), 0)
                return descriptor
            holder = number_in(os.pread(descriptor, _LONGEST_NUMBER, 0))
        except OSError as error:  # a disk that is full, or that has no locks
            os.close(descriptor)
            raise self._unusable("written", error) from error
        os.close(descriptor)
        raise AlreadyRunning(self._taken_by(holder))

    def _unusable(self, done: str, error: OSError) -> CannotOpen:
        words = f"The lock file {self.path} cannot be {done}: {error.strerror}."
        return CannotOpen(words + _remedy(error))

    def release(self) -> None:
        """Release the lock; do nothing if it is not held.

        On a disk that takes nothing any more the file keeps its number, which means nothing without
        the lock.
        """
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def let_go_in_copy(self) -> None:
        """Close the descriptor in a forked copy of the process, which would hold the lock else."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _taken_by(self, holder: int | None) -> str:
        who = f"process {holder}" if holder else "another process"
        return (
            f"The database {self.database} is in use by {who}. Stop that one first, or use a "
            "command that only reads."
        )


def _own_lines() -> bytes:
    """Return the number of this process and its birth, an empty line if that cannot be read."""
    number, birth = os.getpid(), ""
    with suppress(OSError, psutil.Error):
        birth = birth_of(number)
    return f"{number}\n{birth}\n".encode("ascii")


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return " Signoff must be able to write in that folder."
        case errno.EMFILE | errno.ENFILE:
            return MORE_FILES
        case errno.ENOSPC | errno.EDQUOT:
            return " Free some of its disk."
        case number if number in _NO_LOCKS:
            return " That disk has no locks: use a local one."
        case _:
            return ""


def path_of_lock(database: Path) -> Path:
    """Return the path of the lock file of a database. A symbolic link is resolved first, so that
    all names of one database have one lock. Raises CannotOpen for a link that leads to itself."""
    try:
        found = database.resolve()
        # Python 3.13 raises nothing and leaves the link. A folder without permission is no loop.
        looped = os.path.islink(found)  # noqa: PTH114 - Path.is_symlink raises over such a folder
    except FileNotFoundError:
        raise  # the current folder is gone, in which the path begins
    except (OSError, RuntimeError):
        looped = True
    if looped:
        raise CannotOpen(f"The database {database} is a link that leads nowhere.")
    return found.with_name(found.name + ".lock")


def is_locked(database: Path) -> bool:
    """Return True if a process has the lock, also one of another container, or if this account may
    not look.

    It takes the lock for a moment to find out, which a bot that starts then waits for. Raises what
    `path_of_lock` raises.
    """
    try:
        descriptor = os.open(path_of_lock(database), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def number_in(written: bytes) -> int | None:
    """Return the process number in the first line of a lock file, None if there is none."""
    number = written.partition(b"\n")[0].strip()
    return int(number) if number.isdigit() else None  # of bytes: ASCII digits alone


def birth_in(written: bytes) -> str | None:
    """Return the birth of that process (`bot.process.age`), None if the lock file has none.

    Former versions wrote none: only zero bytes follow their number, up to the note.
    """
    birth = b"".join(written.split(b"\n", 2)[1:2])[:_LONGEST_NUMBER]
    return birth.strip(b"\0 ").decode("ascii", "replace") or None


def _lies_at(path: Path, descriptor: int) -> bool:
    """Return True if the open file still is the one that has this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _locked(descriptor: int) -> bool:
    """Try a few times and return True if the lock was got: a bot that ends releases it shortly.

    Raises OSError if the disk has no locks.
    """
    for pause_s in (0.02, 0.05, 0.1, 0):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise
            time.sleep(pause_s)
        else:
            return True
    return False
