"""The note is what the running bot says of itself in the lock file of its database.

`bot.own_state` has it written, also while the database cannot be written; `status` and `reload`
read it. It follows the process number in the file, and is valid while that process
lives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final

from bot.storage.lock import path_of_lock

#: The offset of the note: fixed, and behind the longest process number and birth.
_BEGINS_AT: Final = 64
#: The length of the note in bytes, padded with blanks. The file has that size from the start, so
#: that the note can still be written when the disk is full.
_BYTES: Final = 16 * 1024
_TRIES: Final = 3
#: How many seconds the loop waits for the disk: whoever is told next should find the note written.
_PATIENCE_S: Final = 0.5


class Note:
    """Writes the note of the process that holds the lock of `database`.

    With `database` None (a store in memory) nothing is written, nor if the lock file cannot be
    opened or written, or no thread starts: the note must never get in the way of what the bot does.
    So a thread of its own, `signoff-note`, writes it: if the disk hangs, the loop must not.
    """

    def __init__(self, database: Path | None) -> None:
        """Open the lock file as it is now; after another took its place, make another Note."""
        self._changed = Condition()
        #: The newest note, until it is written.
        self._data: bytes | None = None
        self._thread: Thread | None = None
        self._closed = False
        with suppress(OSError):
            if database is not None:
                self._serve(os.open(path_of_lock(database), os.O_RDWR | os.O_CLOEXEC))

    def write(self, value: Mapping[str, Any]) -> None:
        """Replace the note by `value`; a value that is longer than the room is not written.

        It is written when this returns, unless the disk lets it wait for longer than `_PATIENCE_S`.
        """
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
        if self._thread is None or len(data) > _BYTES:
            return
        with self._changed:
            hangs = self._data is not None
            self._data = data.ljust(_BYTES)
            self._changed.notify_all()
            if not hangs:
                self._changed.wait_for(lambda: self._data is None, _PATIENCE_S)

    def close(self) -> None:
        """Close the lock file, behind what the disk lets wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _serve(self, descriptor: int) -> None:
        thread = Thread(target=self._work, args=(descriptor,), name="signoff-note", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # this machine starts no more threads
            os.close(descriptor)
        else:
            self._thread = thread

    # -- on the thread --------------------------------------------------------------------

    def _work(self, descriptor: int) -> None:
        while (data := self._next()) is not None:
            with suppress(OSError):
                os.pwrite(descriptor, data, _BEGINS_AT)
            with self._changed:
                if self._data is data:  # else a newer one is to be written
                    self._data = None
                self._changed.notify_all()
        with suppress(OSError):
            os.close(descriptor)

    def _next(self) -> bytes | None:
        """Wait for the next note; None if it was closed, and nothing is to be written any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._data is not None)
            return self._data


def note_beside(database: Path) -> dict[str, Any] | None:
    """Return the note beside `database`, None if there is none.

    The caller must know that the process that wrote it lives (`bot.books.running_pid`).
    """
    for _ in range(_TRIES):  # the bot may be writing it in this moment
        with suppress(OSError, ValueError):
            value = json.loads(path_of_lock(database).read_bytes()[_BEGINS_AT:])
            return value if isinstance(value, dict) else None
    return None
