"""Turns an example file into a document: replaces `@new` by an id and `@now` by a time.

`signoff propose` uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from lifecycle.first_gate.reading import MAX_DEPTH

#: A string that is not closed matches up to the end of the text, so that it is scanned once and not
#: again from every quote.
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[{}\[\]]', re.DOTALL)
_COLON: Final = re.compile(rb"\s*:")
_NOW: Final = re.compile(rb'"@now(?:([+-])(\d{1,9})s)?"')
_NEW: Final = b'"@new"'
_OPEN: Final = b'"@n'
_ID_PLACES: Final = frozenset({(b'"proposal_id"',), (b'"request_id"',)})
_TIME_PLACES: Final = frozenset(
    {
        (b'"ts_ms"',),
        (b'"time_window"', b'"valid_from_ms"'),
        (b'"time_window"', b'"valid_until_ms"'),
    }
)
_LONGEST_STEM: Final = 57


class _Text(NamedTuple):
    """A JSON string that is a value: its span, and the keys that lead to it."""

    start: int
    end: int
    keys: tuple[bytes, ...]


def composed(raw: bytes, stem: str, now_ms: int, new_id: Callable[[], str]) -> bytes:
    """Return the bytes with the placeholders of an example file filled in; other bytes are kept.

    `"proposal_id": "@new"` (or `request_id`) becomes `<stem>-<new_id()>`; `"ts_ms": "@now"`, and
    `"@now+600s"` there or in `time_window`, become milliseconds. They are filled in only in these
    places, where a real document with such a value would be refused: a valid document never
    changes.
    """
    parts, place = [], 0
    for text in _texts(raw):
        filled = _filled(raw[text.start : text.end], text.keys, stem, now_ms, new_id)
        if filled is not None:
            parts += [raw[place : text.start], filled]
            place = text.end
    return b"".join(parts) + raw[place:]


def _filled(
    value: bytes, keys: tuple[bytes, ...], stem: str, now_ms: int, new_id: Callable[[], str]
) -> bytes | None:
    if keys in _ID_PLACES and value == _NEW:
        return f'"{_identifier(stem)}-{new_id()}"'.encode()
    found = _NOW.fullmatch(value) if keys in _TIME_PLACES else None
    if found is None:
        return None
    seconds = int(found[2] or 0) * (-1 if found[1] == b"-" else 1)
    return str(now_ms + seconds * 1000).encode()


def _identifier(stem: str) -> str:
    """Return a file's name with the characters that an id may have, and no hyphen in front: an id
    with one would look like an option on a command line."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).lstrip("-")[:_LONGEST_STEM] or "proposal"


def _texts(raw: bytes) -> Iterator[_Text]:
    """Yield strings that begin with `@n` and are values of the outermost object, or of an object
    directly in it."""
    depth, keys = 0, [b"", b"", b""]
    for token in _TOKEN.finditer(raw):
        if token[0] in (b"{", b"["):
            depth += 1
            if depth > MAX_DEPTH:
                return  # such a document is refused as too deep anyway
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif not 1 <= depth <= 2:
            continue
        elif _COLON.match(raw, token.end()):
            keys[depth] = token[0]
        elif token[0].startswith(_OPEN):
            yield _Text(*token.span(), tuple(keys[1 : depth + 1]))
