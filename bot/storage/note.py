"""What the bot that holds a database says of itself beside it, also where nothing can be stored.

It stands in the lock file, behind the number of the process, and counts as long as that one lives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bot.storage.lock import path_of_lock

#: Where it begins: behind the longest number, at a place that does not move.
_BEGINS_AT: Final = 64
#: Its length, filled up with blanks: room that the file has from the start needs none on a disk
#: that is full later.
_BYTES: Final = 16 * 1024
_TRIES: Final = 3


class Note:
    """Writes the note of the process that holds the lock of `database`, None for one in memory.

    Nothing is raised: it is told beside what matters, and never in its way.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = database
        self._descriptor: int | None = None
        self.open()

    def open(self) -> None:
        """Open the lock file, which may be another one than before."""
        self.close()
        with suppress(OSError):
            if self._database is not None:
                self._descriptor = os.open(path_of_lock(self._database), os.O_RDWR | os.O_CLOEXEC)

    def write(self, value: Mapping[str, Any]) -> None:
        """Put `value` in the place of what was said before; too much of it is not said."""
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
        if self._descriptor is not None and len(data) <= _BYTES:
            with suppress(OSError):
                os.pwrite(self._descriptor, data.ljust(_BYTES), _BEGINS_AT)

    def close(self) -> None:
        """Say no more."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def note_beside(database: Path) -> dict[str, Any] | None:
    """Return what was noted last, None where nothing is; whoever asks knows that its bot lives."""
    for _ in range(_TRIES):  # it may be in the middle of being written
        with suppress(OSError, ValueError):
            value = json.loads(path_of_lock(database).read_bytes()[_BEGINS_AT:])
            return value if isinstance(value, dict) else None
    return None
