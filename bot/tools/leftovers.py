"""Programs that outlived their bot: known by a file each, ended before anything is called again."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final, NamedTuple

import psutil

from bot.own_folder import own_folder
from bot.process_age import birth_of, is_born, is_of_another_boot

_SUFFIX: Final = ".program"
_GRACE_S: Final = 1.0
_PAUSE_S: Final = 0.02
_LONGEST_NOTE: Final = 40
#: To a signal 0 means our own group; the first process of a machine or a container is no program.
_NEVER: Final = (0, 1)


class Mark:
    """The file of one program. The program inherits a lock on it and holds it as long as it lives.

    The kernel lets go of the lock when the last process of the program ends, however it ends: a
    number alone could belong to somebody else by the time that it is read.
    """

    def __init__(self, folder: Path) -> None:
        """Make the file, with room for a number however full the disk is later. Raises OSError."""
        own_folder(folder)
        self.descriptor, path = mkstemp(_SUFFIX, dir=folder)
        self._path = Path(path)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            if os.pwrite(self.descriptor, b" " * _LONGEST_NOTE, 0) < _LONGEST_NOTE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.not_started()
            raise

    def belongs_to(self, process_group: int) -> None:
        """Write down whom to end; from here on the program alone holds the lock.

        Raises nothing: the program runs, and nobody may believe that it does not.
        """
        with suppress(OSError, psutil.Error, MemoryError):
            birth = birth_of(process_group)
            os.pwrite(self.descriptor, f"{process_group} {birth}".encode("ascii"), 0)
        self._let_go()

    def not_started(self) -> None:
        """Forget a program that could not be started."""
        self._let_go()
        self.remove()

    def _let_go(self) -> None:
        with suppress(OSError):  # a disk over the network tells late what it did not take
            os.close(self.descriptor)

    def remove(self) -> None:
        """Forget a program that has ended."""
        with suppress(OSError):  # what stays is looked at after the next start
            self._path.unlink(missing_ok=True)


class Leftovers:
    """The marks of one bot, in a folder that no other living bot uses; None where none are kept."""

    def __init__(self, folder: Path | None) -> None:
        """Name the folder; it is made with the first mark."""
        self._folder = folder

    def mark(self) -> Mark | None:
        """Make the mark of a program that is about to start. Raises OSError."""
        return None if self._folder is None else Mark(self._folder)

    def end_all(self) -> int:
        """End every program that a former process left running; return how many stay.

        Politely at first, then for good. Blocks for two seconds and a look at the processes of this
        machine.
        """
        marks = [] if self._folder is None else sorted(self._folder.glob(f"*{_SUFFIX}"))
        for number in (signal.SIGTERM, signal.SIGKILL):
            marks = [mark for mark in marks if not _gone(mark)]
            for mark in marks:
                _signal(mark, number)
            marks = _waited_for(marks)
        return len(marks)


def _waited_for(marks: list[Path]) -> list[Path]:
    """Wait for the end of what was signalled; return what did not end."""
    until = time.monotonic() + _GRACE_S
    while marks and time.monotonic() < until:
        time.sleep(_PAUSE_S)
        marks = [mark for mark in marks if not _gone(mark)]
    return marks


def _gone(mark: Path) -> bool:
    """Say whether nothing of the program lives that is ours to end; the mark is removed then.

    Whoever holds the lock although the group is empty left it on purpose.
    """
    with mark.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            told = _told(mark)
            if told is None or _members(told):
                return False
    mark.unlink(missing_ok=True)
    return True


def _signal(mark: Path, number: signal.Signals) -> None:
    told = _told(mark)
    if told is not None and _members(told):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(told.group, number)


class _Told(NamedTuple):
    """A program's process group, and the birth of its leader (`bot.process_age`)."""

    group: int
    birth: str


def _told(mark: Path) -> _Told | None:
    """Read a mark, or find whose it is where the bot died before it had written that down."""
    number, _, birth = mark.read_bytes()[:_LONGEST_NOTE].decode("ascii", "replace").partition(" ")
    if number.isdigit() and birth.strip():
        return _Told(int(number), birth.strip())
    return _found(mark.resolve())


def _found(mark: Path) -> _Told | None:
    """Look for the program that has the mark open; None where no process of ours has.

    A program is the leader of its group, or was started by one: never one of our own group.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            group = os.getpgid(process.pid)
            if group == os.getpgrp() or str(mark) not in {f.path for f in process.open_files()}:
                continue
            return _Told(group, birth_of(group))
    return None


def _members(told: _Told) -> bool:
    """Say whether a process of the group lives. A number that somebody got later is not it."""
    if told.group in _NEVER or told.group == os.getpgrp() or is_of_another_boot(told.birth):
        return False
    # Where the leader is gone, what it left keeps its number from others.
    with suppress(psutil.Error, OSError):
        if not is_born(told.group, told.birth):
            return False
    try:
        os.killpg(told.group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
