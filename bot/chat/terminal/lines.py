"""Reads lines from a pipe or a file without ever blocking the loop."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final

from bot.chat.terminal.documents import LONGEST_LINE, Abandoned
from bot.process.inlet import Inlet

#: If a document is not closed after so long, say so: else whoever waits for an answer may wait for
#: ever.
_PATIENCE_S: Final = 1.0
_OPEN: Final = (
    "A document was begun and is not closed: no line is read as a command before its last brace, "
    "or its ``` where it began with that. To give it up, send this line: {ending}"
)
_GIVEN_UP: Final = "The document was given up; nothing in it was read as a command."


class Lines:
    """Yields the lines of a file descriptor one by one, without their ends.

    The last line may lack its end; CRLF counts as one end. A line longer than LONGEST_LINE comes in
    parts.
    """

    def __init__(self, fd: int, say: Callable[[str], None]) -> None:
        """Take the descriptor, and a function that shows a line to whoever writes into it."""
        self.amid = False
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._inlet = Inlet(fd)
        self._buffer = bytearray()
        self._ended = False
        self._open_since_s: float | None = None
        self._ending = ""

    async def next(self, *, within: bool = False) -> bytes | None:
        """Return the next line, None at the end of the input.

        If a document stays open for a second, say so, and which line gives it up. That line cannot
        stand in the document by chance, for nobody knows it before. Raises Abandoned if it is sent.
        """
        if not within:
            self._open_since_s, self._ending = None, ""
            return await self._line()
        if self.amid:
            return await self._line()
        line = await self._within()
        if line is None or not self._ending or line.strip() != self._ending.encode():
            return line
        self._say(_GIVEN_UP)
        raise Abandoned

    async def _within(self) -> bytes | None:
        if self._open_since_s is None:
            self._open_since_s = self._loop.time()
        left_s = self._open_since_s + _PATIENCE_S - self._loop.time()
        if self._ending or (left_s > 0 and b"\n" in self._buffer):
            return await self._line()
        coming = asyncio.ensure_future(self._line())
        try:
            await asyncio.wait({coming}, timeout=max(0.0, left_s))
            if not coming.done() or left_s <= 0:
                self._ending = f"end {secrets.token_hex(8)}"
                self._say(_OPEN.format(ending=self._ending))
            return await coming
        finally:
            coming.cancel()

    async def _line(self) -> bytes | None:
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched, LONGEST_LINE + 1)
            self.amid = end < 0 and len(self._buffer) > LONGEST_LINE
            if end >= 0 or self.amid:
                line = bytes(self._buffer[: LONGEST_LINE if self.amid else end])
                del self._buffer[: len(line) + (not self.amid)]
                return line if self.amid else line.removesuffix(b"\r")
            if self._ended:
                return self._last()
            searched = len(self._buffer)
            await self._more()

    def _last(self) -> bytes | None:
        line = bytes(self._buffer)
        self._buffer.clear()
        return line.removesuffix(b"\r") if line else None

    async def _more(self) -> None:
        chunk = await self._inlet.next()
        self._ended = not chunk
        self._buffer += chunk
