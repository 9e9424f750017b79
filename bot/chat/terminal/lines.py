"""Lines from a pipe or a file, read without ever holding up the loop."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Final

_CHUNK: Final = 65_536
#: A line longer than this is cut: what is left is still too large for any document.
LONGEST_LINE: Final = 1_048_576


class Lines:
    """Gives the lines of a file descriptor one by one, without their ends.

    A thread of its own reads, a chunk at a time and only when asked: a blocking read could not be
    taken back, and a daemon thread does not keep the process alive. The last line may lack its
    end; CRLF counts as one end.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._buffer = bytearray()
        self._ended = False
        threading.Thread(target=self._read, name="terminal-input", daemon=True).start()

    async def next(self, *, within: bool = False) -> bytes | None:
        """Return the next line, None at the end of the input; inside a fence it is no other."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                return line.removesuffix(b"\r")
            if self._ended:
                return self._last()
            searched = len(self._buffer)
            await self._more()
            searched = min(searched, len(self._buffer))

    def _last(self) -> bytes | None:
        line = bytes(self._buffer)
        self._buffer.clear()
        return line.removesuffix(b"\r") if line else None

    async def _more(self) -> None:
        self._wanted.release()
        chunk = await self._chunks.get()
        if not chunk:
            self._ended = True
        room = LONGEST_LINE - len(self._buffer)
        if room >= len(chunk):
            self._buffer += chunk
            return
        kept, newline, rest = chunk.partition(b"\n")
        self._buffer += kept[: max(0, room)] + newline + rest

    def _read(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                chunk = os.read(self._fd, _CHUNK)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more
            if not chunk:
                return
