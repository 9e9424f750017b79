"""A document in a code fence may take several lines; they are one command."""

from __future__ import annotations

import re
from typing import Final, Protocol

from bot.chat.terminal.lines import LONGEST_LINE

_FENCE: Final = b"```"
_OPENED: Final = re.compile(
    rb"\s*(?:[^\s:`{]{1,64}\s*:\s*)?(?:propose|evidence)\s*```(?!.*```)", re.IGNORECASE | re.DOTALL
)


class Abandoned(Exception):
    """Whoever types does not want what they have begun."""


class Input(Protocol):
    """Where lines come from."""

    async def next(self, *, within: bool = False) -> bytes | None:
        """Return the next line without its end, None when there are no more.

        `within` says that a fence is open. Raises Abandoned where it is given up.
        """


async def whole(line: bytes, lines: Input) -> bytes:
    """Return the line, and where it opens a fence all lines up to the one that closes it.

    Nothing inside a fence is ever read as a command, also where it is never closed. What is longer
    than any line is left out, and is still too large for any document. Raises Abandoned.
    """
    if _OPENED.match(line) is None:
        return line
    held = bytearray(line)
    while (more := await lines.next(within=True)) is not None:
        if len(held) <= LONGEST_LINE:
            held += b"\n" + more
        if _FENCE in more:
            break
    return bytes(held)
