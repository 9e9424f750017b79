"""Stops that the store could not take: one JSON line each, forced to disk (design section 10)."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bot.storage.durable_files import replace_file, sync_folder
from bot.storage.json_text import dump, load
from lifecycle.proposal import ActorKind

_NEEDED: Final = ("proposal_id", "surface")
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Some hundred stops.
_ROOM_BYTES: Final = 65_536
_KINDS: Final = frozenset({None, *(kind.value for kind in ActorKind)})


class FileSpool:
    """Implements the port Spool over one file of this process alone.

    What a dying process left half written is no stop that anybody was told of: it is moved to
    `<file>.torn` when the spool is opened, for a person to look at.
    """

    def __init__(self, path: Path) -> None:
        """Name the file and put aside what is torn in it. Raises OSError."""
        self.path = path
        self._reserve = path.with_name(path.name + ".reserve")
        self._put_aside_what_is_torn()
        self._set_aside_room()

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk; raises OSError, leaving no half of it.

        On a full disk, where the store fails as well, it takes the room that was set aside.
        """
        try:
            self._keep(stop)
        except OSError as error:
            if error.errno not in _FULL or not self._reserve.exists():
                raise
            self._reserve.unlink()
            self._keep(stop)

    def _keep(self, stop: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            self._append(descriptor, dump(stop).encode() + b"\n")
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait, oldest first."""
        return [load(line.decode()) for line in self._lines()]

    def clear(self, count: int) -> None:
        """Forget the first `count` stops, which are in the store now."""
        if count > 0:
            replace_file(self.path, b"".join(line + b"\n" for line in self._lines()[count:]))
            self._set_aside_room()

    def _set_aside_room(self) -> None:
        """Occupy some room, to be given up when there is no other; without any, do without."""
        if self._reserve.exists():
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._reserve, bytes(_ROOM_BYTES))

    def _append(self, descriptor: int, line: bytes) -> None:
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(f"{self.path} took only a part of a line")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []

    def _put_aside_what_is_torn(self) -> None:
        lines = self._lines()
        whole = [line for line in lines if _is_stop(line)]
        if len(whole) == len(lines) and self._ends_with_a_line():
            return
        torn = [line for line in lines if not _is_stop(line)]
        aside = self.path.with_name(self.path.name + ".torn")
        before = aside.read_bytes() if aside.exists() else b""
        if torn:
            replace_file(aside, before + b"".join(line + b"\n" for line in torn))
        replace_file(self.path, b"".join(line + b"\n" for line in whole))

    def _ends_with_a_line(self) -> bool:
        return not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")


def _is_stop(line: bytes) -> bool:
    try:
        stop = load(line.decode())
    except ValueError:
        return False
    return (
        isinstance(stop, dict)
        and all(isinstance(stop.get(name), str) for name in _NEEDED)
        and stop.get("kind") in _KINDS
    )
