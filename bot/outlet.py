"""Standard output, written by a thread of its own.

Whoever stops reading a pipe, or a terminal whose line is cut or held by Ctrl-S, stops whoever
writes into it. On the loop that would be the whole bot: its windows, its other surfaces and its
end. A file on a full disk is one that nobody reads just now: it is tried again until there is room.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import io
import logging
import os
import select
import threading
import time
from collections import deque
from typing import Final, TextIO

#: So much may wait for a reader before the terminal counts as gone.
_MOST_BYTES: Final = 16 * 1024 * 1024
#: So long whoever shows a card waits until it is written; and the end of the process at most.
_PATIENCE_S: Final = 5.0
_AT_THE_END_S: Final = 2.0
_LOOK_S: Final = 0.01
#: How long a full disk is left alone before the next try.
_FULL_S: Final = 0.2
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

log = logging.getLogger("signoff.terminal")


class Outlet(io.TextIOBase):
    """Takes text at once and writes it in order, past the buffers of the stream it stands for."""

    #: So much may wait for a reader.
    most_bytes: int = _MOST_BYTES
    #: So long the end of the process waits for a reader, in seconds.
    at_the_end_s: float = _AT_THE_END_S

    def __init__(self, stream: TextIO) -> None:
        """Stand for `stream`, which must have a descriptor. Raises RuntimeError for no thread."""
        stream.flush()
        self.descriptor = stream.fileno()
        self._encoding = stream.encoding or "utf-8"
        self._waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._changed = threading.Condition()
        self._failure: OSError | None = None
        self._full: OSError | None = None
        threading.Thread(target=self._work, name="signoff-terminal", daemon=True).start()
        atexit.register(self._drained)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream; what it cannot hold is written as an escape."""
        return self._encoding

    def isatty(self) -> bool:
        """Return False: plain lines for a pipe or a file."""
        return False

    def write(self, text: str) -> int:
        """Take text. Raises OSError where nobody reads any more."""
        data = text.encode(self._encoding, "backslashreplace")
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self.waiting_bytes + len(data) > self.most_bytes:
                raise self._unread()
            self._waiting.append(data)
            self.waiting_bytes += len(data)
            self._changed.notify_all()
        return len(text)

    async def settled(self) -> None:
        """Wait until all is written. Raises OSError where that fails or takes too long."""
        until_s = time.monotonic() + _PATIENCE_S
        while self.waiting_bytes:
            if time.monotonic() > until_s:
                raise self._unread()
            await asyncio.sleep(_LOOK_S)
        if self._failure is not None:
            raise self._failure

    def _unread(self) -> OSError:
        return self._full or OSError(errno.EAGAIN, "nobody reads the terminal")

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                data = self._waiting.popleft()
            try:
                self._put(data)
            except OSError as error:
                with self._changed:
                    self._failure = error
                    self._waiting.clear()
                    self.waiting_bytes = 0
                    self._changed.notify_all()
                return
            with self._changed:
                self.waiting_bytes -= len(data)
                self._changed.notify_all()

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.descriptor, rest) :]
                self._full = None
            except BlockingIOError:  # whoever shares the descriptor made it non-blocking
                room = select.poll()
                room.register(self.descriptor, select.POLLOUT)
                room.poll()
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._wait_for_room(error)

    def _wait_for_room(self, full: OSError) -> None:
        """Leave a full disk alone for a moment."""
        if self._full is None:
            self._tell_full(full)
        self._full = full
        time.sleep(_FULL_S)

    def _tell_full(self, full: OSError) -> None:
        log.warning(
            "standard output cannot be written (%s): free some of its disk; what waits for that is "
            "written then",
            full.strerror,
        )

    def _drained(self) -> None:
        """Let what is taken be written before the process ends, as long as somebody reads."""
        with self._changed:
            self._changed.wait_for(lambda: not self.waiting_bytes, self.at_the_end_s)
        if self.waiting_bytes and self._full is not None:
            self._tell_lost(self._full)

    def _tell_lost(self, full: OSError) -> None:
        log.error(
            "standard output could not be written (%s): the last %d bytes of what was answered are "
            "lost; what was done stays done",
            full.strerror,
            self.waiting_bytes,
        )


class TerminalOutlet(Outlet):
    """Stands for a terminal at which somebody sits; a prompt may be drawn on it."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor, whose size and modes are asked for."""
        return self.descriptor
