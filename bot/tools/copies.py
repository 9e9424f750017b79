"""Processes that tools forked and that outlived their bot: ended before anything is called again.

A Python tool may fork the process of the bot (multiprocessing). If the bot is killed, such a copy
goes on with its call, of which the next start knows nothing.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

import psutil

from bot.own_folder import own_folder

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
        """Make and lock the file. Raises OSError."""
        own_folder(folder)
        self._descriptor, path = mkstemp(_SUFFIX, f"{os.getpgrp()}-{os.getpid()}-", folder)
        self._path = Path(path)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.let_go()
            raise

    def let_go(self) -> None:
        """Close the file as the bot ends, and remove it unless a copy still holds it."""
        with suppress(OSError):  # a disk over the network tells late what it did not take
            os.close(self._descriptor)
        if not _held(self._path):
            _remove(self._path)


def end_copies(folder: Path) -> int:
    """End every copy that a dead bot left behind; return how many do not end.

    SIGTERM comes first, SIGKILL a second later. A copy in a process group of its own is left: it
    was made to outlive the bot. Blocks for two seconds and a look at the processes of this machine.
    """
    marks = sorted(folder.glob(f"*{_SUFFIX}"))
    held = [mark for mark in marks if _held(mark)]
    copies = _that_hold(held) if held else []
    for number in (signal.SIGTERM, signal.SIGKILL):
        for copy in copies:
            with suppress(psutil.Error):
                copy.send_signal(number)
        copies = _left_of(copies)
    for mark in marks:
        if mark not in held or not copies:
            _remove(mark)
    return len(copies)


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


def _that_hold(marks: Collection[Path]) -> list[psutil.Process]:
    """Return the processes that have a mark open and are of the process group in its name.

    The bot that made it is none: if it lives, it has lost its lock, and ends by itself.
    """
    named = {str(mark.resolve()): mark.name.split("-")[:2] for mark in marks}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            group, number = str(os.getpgid(process.pid)), str(process.pid)
            of = [named[file.path] for file in process.open_files() if file.path in named]
            if any(bots == group and bot != number for bots, bot in of):
                found.append(process)
    return found


def _left_of(copies: list[psutil.Process]) -> list[psutil.Process]:
    """Wait for the end of copies that were signalled; return those that did not end."""
    until_s = time.monotonic() + _GRACE_S
    while (copies := [each for each in copies if _works(each)]) and time.monotonic() < until_s:
        time.sleep(_PAUSE_S)
    return copies


def _works(process: psutil.Process) -> bool:
    """Return True if it is no zombie, which stays in a container whose first process reaps none."""
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False
