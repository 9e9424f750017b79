"""Standard input, read by a thread of its own: nobody can take back a read that waits.

On the loop it would be the whole bot that waits; on a thread that the end of the process joins, no
end would come before another line does.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from typing import Final

_CHUNK: Final = 65_536


class Inlet:
    """Gives what comes from a descriptor a chunk at a time, read only when asked for.

    The thread is a daemon: whoever waits here can be cancelled, and the process can end.
    """

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor; needs a running loop. Raises RuntimeError for no thread."""
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        threading.Thread(target=self._read, name="signoff-input", daemon=True).start()

    async def next(self) -> bytes:
        """Return what comes next, empty at the end; what cannot be read any more has ended."""
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
    """Return what comes next, empty at the end.

    Whoever shares the descriptor may have made it non-blocking: nothing there is no end.
    """
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            ready = select.poll()
            ready.register(descriptor, select.POLLIN)
            ready.poll()
