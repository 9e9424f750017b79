"""Standard output that is a pipe or a file, written by a thread of its own.

Whoever stops reading a pipe stops whoever writes into it. On the loop that would be the whole bot:
its windows, its other surfaces and its end.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import io
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


class Outlet(io.TextIOBase):
    """Takes text at once and writes it in order, past the buffers of the stream it stands for."""

    def __init__(self, stream: TextIO) -> None:
        """Stand for `stream`, which must have a descriptor."""
        stream.flush()
        self._descriptor = stream.fileno()
        self._encoding = stream.encoding or "utf-8"
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._failure: OSError | None = None
        threading.Thread(target=self._work, name="signoff-terminal", daemon=True).start()
        atexit.register(self._drained)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream; what it cannot hold is written as an escape."""
        return self._encoding

    def isatty(self) -> bool:
        """Return False: a keyboard's terminal is written to directly."""
        return False

    def write(self, text: str) -> int:
        """Take text. Raises OSError where nobody reads any more."""
        data = text.encode(self._encoding, "backslashreplace")
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self._waiting_bytes + len(data) > _MOST_BYTES:
                raise OSError(errno.EAGAIN, "nobody reads the terminal")
            self._waiting.append(data)
            self._waiting_bytes += len(data)
            self._changed.notify_all()
        return len(text)

    async def settled(self) -> None:
        """Wait until all is written. Raises OSError where that fails or takes too long."""
        until_s = time.monotonic() + _PATIENCE_S
        while self._waiting_bytes:
            if time.monotonic() > until_s:
                raise OSError(errno.EAGAIN, "nobody reads the terminal")
            await asyncio.sleep(_LOOK_S)
        if self._failure is not None:
            raise self._failure

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
                    self._waiting_bytes = 0
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting_bytes -= len(data)
                self._changed.notify_all()

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # whoever shares the descriptor made it non-blocking
                room = select.poll()
                room.register(self._descriptor, select.POLLOUT)
                room.poll()

    def _drained(self) -> None:
        """Let what is taken be written before the process ends, as long as somebody reads."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting_bytes, _AT_THE_END_S)
