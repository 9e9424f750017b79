"""Reads standard input on a thread of its own, because a read that waits cannot be cancelled.

On the loop it would stop the whole bot. On a thread that the end of the process joins, the process
could not end before another line came. The terminal and the MCP door use it.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from typing import Final

_CHUNK: Final = 65_536


class Inlet:
    """Reads a descriptor a chunk at a time, and only when `next` asks for one.

    The methods are called on the event loop, `_read` runs on the thread. The thread is a daemon, so
    that a waiting caller can be cancelled and the process can end.
    """

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor; needs a running loop. Raises RuntimeError if no thread starts."""
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        threading.Thread(target=self._read, name="signoff-input", daemon=True).start()

    async def next(self) -> bytes:
        """Return the next bytes, empty at the end of the input or if it cannot be read any more."""
        self._wanted.release()
        return await self._chunks.get()

    def _read(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                chunk = _chunk_of(self._descriptor)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more
            if not chunk:
                return


def _chunk_of(descriptor: int) -> bytes:
    """Return the next bytes, empty at the end.

    Another process that shares the descriptor may have made it non-blocking. Then there may be
    nothing to read yet, which is not the end.
    """
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            ready = select.poll()
            ready.register(descriptor, select.POLLIN)
            ready.poll()
