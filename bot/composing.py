"""Example files as documents: `@new` and `@now` become an id and a time, the rest stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from lifecycle.first_gate.reading import MAX_DEPTH

#: A string that nothing closes goes on to the end: it is looked at once, not from every quote.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
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
    """Fill in what an example file leaves open; every other byte is kept.

    `"proposal_id": "@new"` becomes `<stem>-<new_id()>`; `"ts_ms": "@now"`, and `"@now+600s"` in
    `time_window`, become milliseconds. Only there: in a real document these values would be
    refused, so that filling never changes one that is valid.
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
    """Return what of a file's name an id may have; in front no hyphen, which begins an option."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).lstrip("-")[:_LONGEST_STEM] or "proposal"


def _texts(raw: bytes) -> Iterator[_Text]:
    """Yield what may be left open: values of the outermost object or of one directly in it."""
    depth, keys = 0, [b"", b"", b""]
    for token in _TOKEN.finditer(raw):
        if token[0] in (b"{", b"["):
            depth += 1
            if depth > MAX_DEPTH:
                return  # refused as too deep, whatever is filled in
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif not 1 <= depth <= 2:
            continue
        elif _COLON.match(raw, token.end()):
            keys[depth] = token[0]
        elif token[0].startswith(_OPEN):
            yield _Text(*token.span(), tuple(keys[1 : depth + 1]))
