"""The note is what the running bot says of itself in the lock file of its database.

`bot.own_state` writes it on the event loop, also while the database cannot be written; `status`
and `reload` read it. It follows the process number in the file, and is valid while that process
lives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bot.storage.lock import path_of_lock

#: The offset of the note: fixed, and behind the longest process number and birth.
_BEGINS_AT: Final = 64
#: The length of the note in bytes, padded with blanks. The file has that size from the start, so
#: that the note can still be written when the disk is full.
_BYTES: Final = 16 * 1024
_TRIES: Final = 3


class Note:
    """Writes the note of the process that holds the lock of `database`, on the event loop.

    With `database` None (a store in memory) nothing is written. `open` and `write` ignore an
    OSError: the note must never get in the way of what the bot does.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = database
        self._descriptor: int | None = None
        self.open()

    def open(self) -> None:
        """Open the lock file again; it may have been replaced by a new one."""
        self.close()
        with suppress(OSError):
            if self._database is not None:
                self._descriptor = os.open(path_of_lock(self._database), os.O_RDWR | os.O_CLOEXEC)

    def write(self, value: Mapping[str, Any]) -> None:
        """Replace the note by `value`; a value that is longer than the room is not written."""
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
        if self._descriptor is not None and len(data) <= _BYTES:
            with suppress(OSError):
                os.pwrite(self._descriptor, data.ljust(_BYTES), _BEGINS_AT)

    def close(self) -> None:
        """Close the lock file; nothing is written any more."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def note_beside(database: Path) -> dict[str, Any] | None:
    """Return the note beside `database`, None if there is none.

    The caller must know that the process that wrote it lives (`bot.books.running_pid`).
    """
    for _ in range(_TRIES):  # the bot may be writing it in this moment
        with suppress(OSError, ValueError):
            value = json.loads(path_of_lock(database).read_bytes()[_BEGINS_AT:])
            return value if isinstance(value, dict) else None
    return None
