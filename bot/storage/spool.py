"""The spool keeps stops that the store could not take: one JSON line each, forced to disk.

See design section 10; `lifecycle/stops/spooling.py` calls it.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from bot.process.durable_files import sync_folder, write_whole
from bot.process.own_folder import own_folder
from bot.storage.json_text import dump
from bot.storage.stop_lines import DONE, OF, as_kept, lines_of, stop_in, stops_in, written

log = logging.getLogger("signoff.spool")

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: How much room is set aside for a full disk: enough for some hundred stops.
_ROOM_BYTES: Final = 65_536
#: How often, and how many seconds apart, the lock of another process is tried. The event loop
#: stands still meanwhile.
_TRIES: Final = 2_000
_PAUSE_S: Final = 0.001
#: How often it is tried after a process did not release the lock in time before.
_FEW_TRIES: Final = 50
_LEFT: Final = "Stops in %s that wait for a bot of another database, and are left to it: %d."
_TORN: Final = (
    "Lines of %s that are no stop: %d. They stand in %s now. A ❌ or a freeze may have been kept "
    "there: look at them, and say it again where it still holds."
)
_MAY_BE_OURS: Final = (
    "Stops in %s that name another database: %d. This one does not know how it was named, so they "
    "are carried out here, and left there for that one too."
)


class FileSpool:
    """Implements the port Spool over one file; it shows the stops of one database only.

    It runs on the event loop and blocks it while it writes. Two configs in one folder share the
    file. A stop for the other database decides nothing in this one, where its id may belong to
    another proposal, and stays in the file.

    A line that a dying process left half written is a stop that nobody was told is kept. A line
    that a disk or a person changed may be one of which somebody was. Either is moved to
    `<file>.torn` when the spool is opened, for a person to look at, and that is logged; if it
    cannot be done, the line is skipped.
    """

    def __init__(
        self,
        path: Path,
        database: str | None = None,
        *,
        unnamed: bool = True,
        forgotten: bool = False,
    ) -> None:
        """Open the spool and put torn lines aside. Raises OSError if the file cannot be read.

        `database` is the name of the database, None if it is not known. `unnamed` says whether
        stops that name no database, as older versions wrote them, are for this one. If the database
        may have `forgotten` a former name, stops that name another one are carried out here as
        well, and stay in the file for the other: a stop too many harms less than a lost one.
        """
        self.path = path
        self._database = database
        self._unnamed = unnamed
        self._forgotten = forgotten
        self._tries = _TRIES
        #: Stops that name another database and are settled in this one.
        self._over: list[Mapping[str, Any]] = []
        self._reserve = path.with_name(path.name + ".reserve")
        self._put_aside_what_is_torn()
        self._tell_of_others()
        self._set_aside_room()

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk.

        On a full disk, on which the store fails as well, the room that was set aside is used.
        Raises OSError if the stop cannot be kept, also if another process holds the file too long;
        then no half of it is left.
        """
        self.keep_all([stop])

    def keep_all(self, stops: Sequence[Mapping[str, Any]]) -> None:
        """Append these stops by one write, as `keep` does. Raises OSError if not all can be kept;
        then none is."""
        if not stops:
            return
        of = {OF: self._database} if self._database is not None else {}
        lines = b"".join(dump({**stop, **of}).encode() + b"\n" for stop in stops)
        own_folder(self.path.parent)
        with self._alone():
            self._with_room(lambda: self._keep(lines))

    def _with_room(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            if error.errno not in _FULL or not self._reserve.exists():
                raise
            self._reserve.unlink()
            write()

    def _keep(self, lines: bytes) -> None:
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            self._append(descriptor, lines)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait for this database, oldest first. Raises OSError."""
        found = [self._seen(line, self._over) for line in self._lines()]
        return [stop for stop in found if stop is not None]

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        """Remove these stops, which are in the store now.

        If it raises OSError, they may be removed or not, and it may be called again with them.
        """
        self._over += stops if self._forgotten else ()
        with self._alone():
            lines = self._lines()
            left = [kept for line in lines if (kept := self._without(line, stops)) is not None]
            if left != lines:
                self._with_room(lambda: write_whole(self.path, written(left)))
                self._set_aside_room()

    def _without(self, line: bytes, over: Collection[Mapping[str, Any]]) -> bytes | None:
        """Return the line as it must stay once the stops in `over` are settled, None to drop it.

        A stop that names another database stays, with a mark that this one has carried it out.
        """
        if self._own(line) in over:
            return None
        stop = stop_in(line)
        if stop is None or self._database is None or self._seen(line, ()) not in over:
            return line
        return dump({**stop, DONE: [*stop.get(DONE, ()), self._database]}).encode()

    def _seen(self, line: bytes, over: Collection[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return the stop in a line, as it was kept, if this database must carry it out; else None.

        That is a stop of its own, or, if the database has forgotten a name, one that names another
        and is not settled here.
        """
        stop = stop_in(line)
        if stop is None or self._is_own(stop):
            return self._own(line)
        if not self._forgotten or OF not in stop or self._database in stop.get(DONE, ()):
            return None
        return None if (told := as_kept(stop)) in over else told

    def _own(self, line: bytes) -> dict[str, Any] | None:
        """Return the stop in a line, as it was kept, if it is for this database; else None."""
        stop = stop_in(line)
        return as_kept(stop) if stop is not None and self._is_own(stop) else None

    def _is_own(self, stop: Mapping[str, Any]) -> bool:
        return stop[OF] == self._database if OF in stop else self._unnamed

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing the spool meanwhile, by a lock on its folder.

        Go on without it if the file system has no locks, as some network disks. Raises
        BlockingIOError if another process does not release it, for instance because a disk stalls:
        it may be writing the file anew, and what is appended now would be lost.
        """
        try:
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            tries, self._tries = self._tries, _FEW_TRIES
            _lock(descriptor, tries)
            self._tries = _TRIES
            yield
        finally:
            with suppress(OSError):  # a process that a tool forked meanwhile would keep it
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _tell_of_others(self) -> None:
        others = [stop for stop in stops_in(self.path) if not self._is_own(stop)]
        if others:
            log.warning(_MAY_BE_OURS if self._forgotten else _LEFT, self.path, len(others))

    def _set_aside_room(self) -> None:
        """Occupy room on the disk that is given up when it is full; do without if that fails."""
        if self._reserve.exists():
            return
        with suppress(OSError):
            own_folder(self.path.parent)
            write_whole(self._reserve, bytes(_ROOM_BYTES))

    def _append(self, descriptor: int, lines: bytes) -> None:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        try:
            if os.write(descriptor, lines) < len(lines):
                raise OSError(f"{self.path} took only a part of a line")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise

    def _lines(self) -> list[bytes]:
        return lines_of(self.path)

    def _put_aside_what_is_torn(self) -> None:
        if all(map(stop_in, self._lines())):
            return
        # A process that has the lock may be writing that line now: leave it to a later start.
        with suppress(BlockingIOError), self._alone():
            self._put_aside_alone()

    def _put_aside_alone(self) -> None:
        lines = self._lines()
        torn = [line for line in lines if stop_in(line) is None]
        if not torn:
            return
        aside = self.path.with_name(self.path.name + ".torn")
        try:
            before = aside.read_bytes() if aside.exists() else b""
            write_whole(aside, before + written(torn))
            write_whole(self.path, written([line for line in lines if line not in torn]))
            log.error(_TORN, self.path, len(torn), aside)
        except OSError as error:
            log.error("%s holds %d lines that are no stop: %s", self.path, len(torn), error)


def _lock(descriptor: int, tries: int) -> None:
    for tried in range(1, tries + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tried == tries:
                raise
            time.sleep(_PAUSE_S)
        except OSError:
            return
        else:
            return
