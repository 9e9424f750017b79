"""Ends processes that tools forked and that outlived their bot, before anything is called again.

A Python tool may fork the process of the bot (multiprocessing). If the bot is killed, such a copy
goes on with its call, of which the next start knows nothing. `bot/bootstrap.py` calls `end_copies`
at each start, and then makes the mark by which the next start finds the copies of this process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Collection, Container, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final, NamedTuple

import psutil

from bot.process.own_folder import own_folder

_SUFFIX: Final = ".copies"
#: How many seconds copies have to end after each signal, and how often that is looked at.
_GRACE_S: Final = 1.0
_PAUSE_S: Final = 0.02


class CopiesMark:
    """A locked file that the bot holds open as long as it lives, and that each copy inherits.

    The kernel releases the lock when the last of them has ended. The name of the file tells the
    numbers of the bot and its process group, so that nothing has to be written on a full disk.
    """

    def __init__(self, folder: Path) -> None:
        """Make and lock the file, on the event loop. Raises OSError."""
        own_folder(folder)
        self._descriptor, path = mkstemp(_SUFFIX, f"{os.getpgrp()}-{os.getpid()}-", folder)
        self._path = Path(path)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.let_go()
            raise

    def let_go(self) -> None:
        """Close the file as the bot ends, on the event loop, and remove it unless a copy still
        holds it."""
        with suppress(OSError):  # a disk over the network may report an error only now
            os.close(self._descriptor)
        if not _held(self._path):
            _remove(self._path)


class _Seen(NamedTuple):
    """The copies of a dead bot, and the processes that may be some: what those have open cannot be
    seen, as of a process that keeps others of its account from looking into it."""

    copies: list[psutil.Process]
    hidden: list[psutil.Process]


def end_copies(folder: Path) -> int:
    """End every copy that a dead bot left behind; return how many do not end, or may be one.

    SIGTERM comes first, SIGKILL a second later. They are looked for before each signal: one that
    lived until then may have forked another unseen. A copy in a process group of its own is left:
    it was made to outlive the bot. Runs in the pool: it blocks for up to three seconds and some
    looks at the processes of this machine.
    """
    marks = sorted(folder.glob(f"*{_SUFFIX}"))
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        for copy in (copies := _that_hold(marks).copies):
            with suppress(psutil.Error):
                copy.send_signal(number)
        _wait_for(copies)
    staying = sum(map(len, _that_hold(marks)))
    for mark in marks:
        if not (staying and _held(mark)):
            _remove(mark)
    return staying


def _held(mark: Path) -> bool:
    """Return True if somebody holds the mark, or if that cannot be seen."""
    try:
        with mark.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _remove(mark: Path) -> None:
    with suppress(OSError):  # what stays is looked at by the next start
        mark.unlink()


def _that_hold(marks: Collection[Path]) -> _Seen:
    """Return the processes that have a mark open and are of the process group in its name.

    The bot that made it is none: if it lives, it has lost its lock, and ends by itself.
    """
    named = {str(mark.resolve()): mark.name.split("-")[:2] for mark in marks if _held(mark)}
    seen = _Seen([], [])
    for process in psutil.process_iter() if named else ():
        with suppress(psutil.Error, OSError):
            group = os.getpgid(process.pid)
            of = {path for path, bot in named.items() if _is_beside(bot, group, process.pid)}
            if not of:
                continue  # others may have many files open, or files on a disk that is gone
            try:
                if _has_inherited(process, of):
                    seen.copies.append(process)
            except (psutil.AccessDenied, PermissionError):
                if _works(process):
                    seen.hidden.append(process)
    return seen


def _is_beside(bot: Sequence[str], group: int, number: int) -> bool:
    """Return True for a process of the bot's group, both of which a mark names, but the bot."""
    return str(group) == bot[0] and str(number) != bot[1]


def _has_inherited(process: psutil.Process, marks: Container[str]) -> bool:
    """Return True if the process has one of the marks open, and not only to be read.

    A copy has it open for writing, as the bot does. A backup in the process group of a container
    only reads it. Not every system tells the difference; without it any open mark counts. Raises
    PermissionError or psutil.AccessDenied where nothing that it has open can be seen.
    """
    if not psutil.LINUX:  # pragma: no cover
        return any(file.path in marks for file in process.open_files())
    # psutil sees nothing at all where one file lies in a folder closed to us, as a log may.
    found = Path("/proc", str(process.pid))
    for descriptor in os.listdir(found / "fd"):  # noqa: PTH208 - the numbers alone
        with suppress(FileNotFoundError, ProcessLookupError):  # closed meanwhile
            is_mark = str((found / "fd" / descriptor).readlink()) in marks
            if is_mark and _is_written((found / "fdinfo" / descriptor).read_text(encoding="utf-8")):
                return True
    return False


def _is_written(told: str) -> bool:
    """Return True if what Linux tells of a descriptor (proc_pid_fdinfo(5)) says it may write."""
    words = told.split()
    flags = int(words[words.index("flags:") + 1], 8)
    return flags & os.O_ACCMODE != os.O_RDONLY


def _wait_for(copies: list[psutil.Process]) -> None:
    """Wait for the end of copies that were signalled, for a second at most."""
    until_s = time.monotonic() + _GRACE_S
    while any(_works(each) for each in copies) and time.monotonic() < until_s:
        time.sleep(_PAUSE_S)


def _works(process: psutil.Process) -> bool:
    """Return True if the process runs and is no zombie; in a container whose first process reaps
    none, zombies stay."""
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False
