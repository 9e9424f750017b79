"""Writes standard output on a thread of its own.

A pipe that nobody reads, or a terminal whose line is cut or held by Ctrl-S, blocks the writer. On
the loop that would stop the whole bot: its windows, its other surfaces and its end. A full disk is
treated the same way: the write is tried again until there is room.
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

#: How many bytes may wait for a reader before the terminal counts as gone.
_MOST_BYTES: Final = 16 * 1024 * 1024
#: How many seconds `settled` waits until all is written, and how many the end of the process does.
_PATIENCE_S: Final = 5.0
_AT_THE_END_S: Final = 2.0
_LOOK_S: Final = 0.01
#: How many seconds to wait before a write to a full disk is tried again.
_FULL_S: Final = 0.2
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

log = logging.getLogger("signoff.terminal")


class Outlet(io.TextIOBase):
    """Replaces a stream: takes text at once and writes it to the stream's descriptor, in order.

    `write` may be called on any thread, `_work` runs on the thread of the outlet. The buffers of
    the stream itself are not used.
    """

    #: How many bytes may wait for a reader.
    most_bytes: int = _MOST_BYTES
    #: How many seconds the end of the process waits for a reader.
    at_the_end_s: float = _AT_THE_END_S

    def __init__(self, stream: TextIO) -> None:
        """Replace `stream`, which must have a descriptor. Raises RuntimeError if no thread
        starts."""
        stream.flush()
        self.descriptor = stream.fileno()
        self._encoding = stream.encoding or "utf-8"
        self._waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._changed = threading.Condition()
        self._failure: OSError | None = None
        self._full: OSError | None = None
        #: True once somebody waited in vain, until something is written again.
        self._stuck = False
        threading.Thread(target=self._work, name="signoff-terminal", daemon=True).start()
        atexit.register(self._drained)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream; a character that it lacks is written as an escape."""
        return self._encoding

    def isatty(self) -> bool:
        """Return False, so that plain lines are written, as for a pipe or a file."""
        return False

    def write(self, text: str) -> int:
        """Take text to be written. Raises OSError if writing has failed or too much waits."""
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
        """Wait until all is written. Raises OSError if that fails or takes more than 5 s.

        It is raised at once if somebody has waited so long and nothing was written since: others
        wait behind the caller.
        """
        until_s = time.monotonic() + _PATIENCE_S
        while self.waiting_bytes:
            if self._stuck or time.monotonic() > until_s:
                self._stuck = True
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
                self._full, self._stuck = None, False
            except BlockingIOError:  # another process that shares it made it non-blocking
                room = select.poll()
                room.register(self.descriptor, select.POLLOUT)
                room.poll()
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._wait_for_room(error)

    def _wait_for_room(self, full: OSError) -> None:
        """Wait a moment before a full disk is tried again, and log once that it is full."""
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
        """Wait at the end of the process until all is written, for `at_the_end_s` at most."""
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
    """Replaces a terminal at which a person sits, so that a prompt may be drawn on it."""

    def isatty(self) -> bool:
        """Return True, so that a prompt is drawn."""
        return True

    def fileno(self) -> int:
        """Return the descriptor, which is asked for the size and the modes of the terminal."""
        return self.descriptor
