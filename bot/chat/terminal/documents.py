"""Turns lines into commands: a document may take several, and nothing in it is a command."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, Protocol

from bot.chat.terminal.unclosed import (
    Unclosed,
    begins_document,
    document_in,
    says_nothing,
    seen,
    text_of,
    unclosed,
)

#: A line longer than this comes in parts: it is too large for any document.
LONGEST_LINE: Final = 1_048_576
#: A longer text is looked through in a thread, and after so many lines the loop has a turn, for all
#: surfaces share it.
_SMALL_BYTES: Final = 16_384
_LINES_AT_ONCE: Final = 256


class Abandoned(Exception):
    """Whoever types gave up the document that they had begun."""


class Input(Protocol):
    """The source of lines. `amid` is True while the last line goes on: it is longer than
    LONGEST_LINE, and what comes next is its next part."""

    amid: bool

    async def next(self, *, within: bool = False) -> bytes | None:
        """Return the next line without its end, None if there are no more.

        `within` says that a document is open. Raises Abandoned if it is given up.
        """


class Said(NamedTuple):
    """One command. `closed` says whether the document behind it is; `event_id` is set for a stop,
    and by it the law knows when the stop was heard."""

    line: bytes
    closed: bool = True
    event_id: str | None = None


class Heard:
    """The commands among the lines of an input.

    A document ends with its last brace or its fence, and with the end of a paste. As long as it is
    not closed, nothing up to the end of the input is a command. An empty line, or one that looks
    like what a person types, does not end it: somebody could write that into a document to be taken
    for them.
    """

    def __init__(self, lines: Input) -> None:
        self._lines = lines
        self._back: bytes | None = None

    async def next(self) -> Said | None:
        """Return the next command, None if there are no more. Raises Abandoned.

        Of a command that is longer than any line the rest is left out: it is too large for any
        document.
        """
        line, self._back = self._back, None
        if line is None:
            line = await self._lines.next()
        if line is None:
            return None
        pasted = b"\n" in line
        document = document_in(text_of(line))
        if document == "" and not self._lines.amid:
            line, document = await self._with_the_next(line)
        return await self._whole(line, document, ends=pasted)

    async def _with_the_next(self, line: bytes) -> tuple[bytes, str | None]:
        """Look for the document of a command that stands alone on its line."""
        while (more := await self._lines.next(within=True)) is not None:
            text = text_of(more)
            if begins_document(text):
                return line + b"\n" + more, seen(text)
            if not says_nothing(text):
                self._back = more
                break
        return line, None

    async def _whole(self, line: bytes, document: str | None, *, ends: bool) -> Said:
        """Collect the lines of a command; `ends` says that it was pasted and no more follows."""
        found = await _looked_through(document or "")
        held, goes_on = bytearray(line), self._lines.amid
        lines = 0
        while goes_on or (found is not None and found.open and (found.fenced or not ends)):
            lines += 1
            if lines % _LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
            more = await self._lines.next(within=True)
            if more is None:
                break
            part = more if goes_on else b"\n" + more
            if len(held) <= LONGEST_LINE:
                held += part
            if found is not None:
                await _fed(found, part)
            elif document == "":  # nothing but blanks so far
                found = await _looked_through(seen(text_of(part)))
            goes_on = self._lines.amid
        return Said(bytes(held), closed=found is None or not found.open)


async def _looked_through(document: str) -> Unclosed | None:
    if len(document) <= _SMALL_BYTES:
        return unclosed(document)
    return await asyncio.to_thread(unclosed, document)


async def _fed(found: Unclosed, part: bytes) -> None:
    if len(part) <= _SMALL_BYTES:
        found.feed(text_of(part))
        return
    await asyncio.to_thread(found.feed, text_of(part))
