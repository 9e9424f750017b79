"""Ends programs of command tools that outlived their bot, before anything is called again.

Each running program has a file, its mark, by which the next start finds it. `bot/tools/program.py`
makes and removes marks; `bot/bootstrap.py` calls `Leftovers.end_all` at each start.
"""

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

from bot.process.age import birth_of, is_born, is_of_another_boot
from bot.process.own_folder import own_folder

_SUFFIX: Final = ".program"
_GRACE_S: Final = 1.0
_PAUSE_S: Final = 0.02
_LONGEST_NOTE: Final = 40
#: These are never signalled: group 0 means our own, and process 1 of a machine or a container is no
#: program of a tool.
_NEVER: Final = (0, 1)
_CLOSED: Final = -1


class Mark:
    """The file of one program. The program inherits a lock on it and holds it as long as it lives.

    The kernel releases the lock when the last process of the program ends, however it ends. The
    number of a process alone could belong to another process by the time that it is read.

    Everything here runs on the event loop; `remove` also runs on the thread that watches the
    program.
    """

    def __init__(self, folder: Path) -> None:
        """Make the file and reserve room in it for the note, because the disk may be full later.

        Raises OSError.
        """
        own_folder(folder)
        self.descriptor, path = mkstemp(_SUFFIX, dir=folder)
        self._path = Path(path)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            if os.pwrite(self.descriptor, b" " * _LONGEST_NOTE, 0) < _LONGEST_NOTE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except BaseException:
            self.not_started()
            raise

    def belongs_to(self, process_group: int) -> None:
        """Note which process group to end; from now on the program alone holds the lock.

        Never raises, because the program runs by now and an error would say that it does not.
        """
        with suppress(OSError, psutil.Error, MemoryError):
            birth = birth_of(process_group)
            os.pwrite(self.descriptor, f"{process_group} {birth}".encode("ascii"), 0)
        self.let_go()

    def not_started(self) -> None:
        """Close and remove the file, because the program could not be started."""
        self.let_go()
        self.remove()

    def let_go(self) -> None:
        """Close the file, unless that was done before; only the program holds the lock then."""
        descriptor, self.descriptor = self.descriptor, _CLOSED
        with suppress(OSError):  # a disk over the network may report an error only now
            if descriptor != _CLOSED:
                os.close(descriptor)

    def remove(self) -> None:
        """Remove the file, because the program has ended."""
        with suppress(OSError):  # what stays is looked at after the next start
            self._path.unlink(missing_ok=True)


class Leftovers:
    """The marks of one bot, in a folder that no other living bot uses.

    Without a folder, as with a database in memory, no marks are kept.
    """

    def __init__(self, folder: Path | None) -> None:
        """Take the folder; it is made with the first mark."""
        self._folder = folder

    def mark(self) -> Mark | None:
        """Return a mark for a program that is about to start, None without a folder.

        Raises OSError.
        """
        return None if self._folder is None else Mark(self._folder)

    def end_all(self) -> int:
        """End every program that a former process left running; return how many do not end.

        SIGTERM comes first, SIGKILL a second later. Runs in the pool: it blocks for up to two
        seconds, and looks at the processes of this machine.
        """
        marks = [] if self._folder is None else sorted(self._folder.glob(f"*{_SUFFIX}"))
        for number in (signal.SIGTERM, signal.SIGKILL):
            marks = [mark for mark in marks if not _gone(mark)]
            for mark in marks:
                _signal(mark, number)
            marks = _waited_for(marks)
        return len(marks)


def _waited_for(marks: list[Path]) -> list[Path]:
    """Wait up to `_GRACE_S` seconds for programs to end; return the marks of those that did not."""
    until = time.monotonic() + _GRACE_S
    while marks and time.monotonic() < until:
        time.sleep(_PAUSE_S)
        marks = [mark for mark in marks if not _gone(mark)]
    return marks


def _gone(mark: Path) -> bool:
    """Return True, and remove the mark, if no process of the program lives that is ours to end.

    A process that holds the lock while the program's group is empty left that group on purpose, and
    is not ours to end.
    """
    try:
        with mark.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # it is held, or belongs to another account: a bot was once run with sudo
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
    """A program's process group, and the birth of its leader (`bot.process.age`)."""

    group: int
    birth: str


def _told(mark: Path) -> _Told | None:
    """Return the note in a mark; if the bot died before it had written one, look for the program.

    None if no program is found.
    """
    with suppress(OSError):
        note = mark.read_bytes()[:_LONGEST_NOTE].decode("ascii", "replace")
        number, _, birth = note.partition(" ")
        if number.isdecimal() and birth.strip():
            return _Told(int(number), birth.strip())
    return _found(mark.resolve())


def _found(mark: Path) -> _Told | None:
    """Look for the program that has the mark open; None if no process does that we may look at.

    A program leads its process group or was started by such a leader, so none is in our own group.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            group = os.getpgid(process.pid)
            if group == os.getpgrp() or str(mark) not in {f.path for f in process.open_files()}:
                continue
            return _Told(group, birth_of(group))
    return None


def _members(told: _Told) -> bool:
    """Return True if a process of the group lives and the number was not given to others since."""
    if told.group in _NEVER or told.group == os.getpgrp() or is_of_another_boot(told.birth):
        return False
    # If the leader is gone, its number is given to nobody else while its group has a process.
    with suppress(psutil.Error, OSError):
        if not is_born(told.group, told.birth):
            return False
    try:
        os.killpg(told.group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
