"""Stops that the store could not take: one JSON line each, forced to disk (design section 10)."""

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

from bot.own_folder import own_folder
from bot.storage.durable_files import replace_file, sync_folder
from bot.storage.json_text import dump, load
from lifecycle.proposal import ActorKind

log = logging.getLogger("signoff.spool")

_NEEDED: Final = ("proposal_id", "surface")
_TEXTS: Final = ("reason", "account", "database")
_TEXTS_OR_NONE: Final = ("id", "event_id")
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Some hundred stops.
_ROOM_BYTES: Final = 65_536
_KINDS: Final = (None, *(kind.value for kind in ActorKind))
#: Of which database a stop is; a line of an older version does not say it.
_OF: Final = "database"
#: So often another process is waited for, so many seconds.
_TRIES: Final = 2_000
_PAUSE_S: Final = 0.001


class FileSpool:
    """Implements the port Spool over one file, of whose lines those of one database are seen.

    Two configs in one folder share the file: a stop that waits for the one database decides
    nothing in the other, where its id may be another proposal's, and is left to it.

    What a dying process left half written is no stop that anybody was told of. When the spool is
    opened it is moved to `<file>.torn` for a person to look at; where that cannot be done it is
    passed over.
    """

    def __init__(self, path: Path, database: str | None = None, *, unnamed: bool = True) -> None:
        """Name the file, and put aside what is torn in it. Raises OSError where it is unreadable.

        `database` is what it is known as, None where that is not known; `unnamed` says whether what
        names none, as older versions wrote it, is of this one.
        """
        self.path = path
        self._database = database
        self._unnamed = unnamed
        self._reserve = path.with_name(path.name + ".reserve")
        self._put_aside_what_is_torn()
        self._tell_of_others()
        self._set_aside_room()

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk; raises OSError, leaving no half of it.

        On a full disk, where the store fails as well, it takes the room that was set aside.
        """
        named = {**stop, _OF: self._database} if self._database is not None else stop
        own_folder(self.path.parent)
        with self._alone():
            self._with_room(lambda: self._keep(named))

    def _with_room(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            if error.errno not in _FULL or not self._reserve.exists():
                raise
            self._reserve.unlink()
            write()

    def _keep(self, stop: Mapping[str, Any]) -> None:
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            self._append(descriptor, dump(stop).encode() + b"\n")
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait, oldest first."""
        return [stop for line in self._lines() if (stop := self._own(line)) is not None]

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        """Forget these stops, which are in the store now.

        Raises OSError; then they may be forgotten or not, and may be forgotten once more.
        """
        with self._alone():
            lines = self._lines()
            left = [line for line in lines if self._own(line) not in stops]
            if len(left) < len(lines):
                self._with_room(lambda: replace_file(self.path, _written(left)))
                self._set_aside_room()

    def _own(self, line: bytes) -> dict[str, Any] | None:
        """Return the stop of this database that a line holds, as it was kept; else None."""
        stop = _stop_in(line)
        if stop is None or not self._is_own(stop):
            return None
        stop.pop(_OF, None)
        return stop

    def _is_own(self, stop: Mapping[str, Any]) -> bool:
        return stop[_OF] == self._database if _OF in stop else self._unnamed

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other process write here meanwhile. Where that cannot be had, as on some network
        disks, go on without: a stop waits for nobody."""
        try:
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            _lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _tell_of_others(self) -> None:
        others = [stop for stop in stops_in(self.path) if not self._is_own(stop)]
        if others:
            words = "Stops in %s that wait for a bot of another database, and are left to it: %d."
            log.warning(words, self.path, len(others))

    def _set_aside_room(self) -> None:
        """Occupy some room, to be given up when there is no other; without any, do without."""
        if self._reserve.exists():
            return
        with suppress(OSError):
            own_folder(self.path.parent)
            replace_file(self._reserve, bytes(_ROOM_BYTES))

    def _append(self, descriptor: int, line: bytes) -> None:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(f"{self.path} took only a part of a line")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise

    def _lines(self) -> list[bytes]:
        return _lines_of(self.path)

    def _put_aside_what_is_torn(self) -> None:
        if all(map(_stop_in, self._lines())):
            return
        with self._alone():  # else it may be another process that is just writing it
            self._put_aside_alone()

    def _put_aside_alone(self) -> None:
        lines = self._lines()
        torn = [line for line in lines if _stop_in(line) is None]
        if not torn:
            return
        aside = self.path.with_name(self.path.name + ".torn")
        try:
            before = aside.read_bytes() if aside.exists() else b""
            replace_file(aside, before + _written(torn))
            replace_file(self.path, _written([line for line in lines if line not in torn]))
        except OSError as error:
            log.error("%s holds %d lines that are no stop: %s", self.path, len(torn), error)


def stops_in(path: Path) -> list[dict[str, Any]]:
    """Return the stops that wait in a spool, of whichever database, oldest first; only to look.
    Raises OSError where it cannot be read."""
    stops = map(_stop_in, _lines_of(path))
    return [stop for stop in stops if stop is not None]


def stops_of(stops: Collection[Mapping[str, Any]], database: str | None) -> list[Mapping[str, Any]]:
    """Return those of this database, by what it is known as; what names none may be of any."""
    return [stop for stop in stops if stop.get(_OF) in (None, database)]


def _lock(descriptor: int) -> None:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        except OSError:
            return
        else:
            return


def _lines_of(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def _written(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _stop_in(line: bytes) -> dict[str, Any] | None:
    """Return the stop that a line holds, None where it is torn or somebody wrote into it."""
    try:
        stop = load(line.decode())
    except (ValueError, RecursionError):
        return None
    return stop if isinstance(stop, dict) and _is_stop(stop) else None


def _is_stop(stop: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(stop.get(name), str) for name in _NEEDED)
        and all(isinstance(stop.get(name, ""), str) for name in _TEXTS)
        and all(isinstance(stop.get(name, ""), str | None) for name in _TEXTS_OR_NONE)
        and stop.get("kind") in _KINDS
        and type(stop.get("at_ms", 0)) is int
        and type(stop.get("found_late", False)) is bool
        and type(stop.get("freezes", False)) is bool
        and type(stop.get("bare", False)) is bool
    )
