"""Splits what was pasted at a keyboard: each line is a command, but a document is one."""

from __future__ import annotations

import re
from typing import Final

#: A command with its document right behind it, on the same line or on the next.
_DOCUMENT: Final = re.compile(
    r"\s*(?:[^\s:`{#][^\s:`{]{0,63}\s*:\s*)?(?:propose|evidence)\s*(?=[{\[\"`@])", re.IGNORECASE
)
#: A string that is never closed goes on to the end, so that it is looked through only once.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[{}\[\]]', re.DOTALL)
_STEP: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


def first_command(text: str) -> tuple[str, str]:
    """Split off the first command; return it, and what is left for the next time.

    Nothing inside a document is ever read as a command: if it is not closed, it is all the rest.
    """
    found = _DOCUMENT.match(text)
    inside = _end_of_document(text, found.end()) if found else 0
    end = text.find("\n", inside)
    return (text, "") if end < 0 else (text[:end], text[end + 1 :])


def _end_of_document(text: str, start: int) -> int:
    if text[start] == "@":
        return start
    if text[start] == "`":
        mark = "```" if text.startswith("```", start) else "`"
        end = text.find(mark, start + len(mark))
        return len(text) if end < 0 else end + len(mark)
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += _STEP.get(token[0], 0)
        if depth <= 0:
            return token.end()
    return len(text)
