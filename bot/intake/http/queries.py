"""Read query parameters strictly; what they do not allow becomes a problem document."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from bot.intake.http.operations import Parameter
from lifecycle.state import State

LONGEST_WAIT_S: Final = 60
MOST_ITEMS: Final = 100
_ITEMS: Final = 20

WAIT: Final = Parameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_S},
    "Hold the answer up to so many seconds until the state changes.",
)
SEEN: Final = Parameter(
    "seen",
    {"type": "string", "enum": [each.value for each in State]},
    "The state you know: with another one the answer comes at once.",
)
LIMIT: Final = Parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}, "How many at most."
)
CURSOR: Final = Parameter(
    "cursor",
    {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,200}$"},
    "Where the page before ended: its `next_cursor`.",
)
STATE: Final = Parameter(
    "state", {"type": "string", "enum": [each.value for each in State]}, "Only this state."
)
TOOL: Final = Parameter("tool", {"type": "string", "minLength": 1}, "Only this tool.")

_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class QueryWrong(Exception):
    """A query parameter has no meaning here; the message says what would have one."""


def number(query: Mapping[str, str], parameter: Parameter, default: int) -> int:
    """Return a whole number within its bounds. Raises QueryWrong."""
    text = query.get(parameter.name)
    if text is None:
        return default
    least, most = parameter.schema["minimum"], parameter.schema["maximum"]
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise QueryWrong(f"{parameter.name} is a whole number from {least} to {most}.")
    return int(text)


def choice(query: Mapping[str, str], parameter: Parameter) -> str | None:
    """Return one of the parameter's words, None if it is absent. Raises QueryWrong."""
    text = query.get(parameter.name)
    known = parameter.schema.get("enum")
    if text is None or (text and known is None) or (known and text in known):
        return text
    allowed = f"one of {', '.join(known)}" if known else "a name"
    raise QueryWrong(f"{parameter.name} is {allowed}.")


def items(query: Mapping[str, str], usual: int = _ITEMS) -> int:
    """Return how many items a page may have."""
    return number(query, LIMIT, usual)


def cursor_of(at_ms: int, item_id: str) -> str:
    """Return the cursor for the page after an item."""
    return base64.urlsafe_b64encode(f"{at_ms}:{item_id}".encode()).decode().rstrip("=")


def cursor(query: Mapping[str, str]) -> tuple[int, str] | None:
    """Return where the page before ended, None for the first page. Raises QueryWrong."""
    text = query.get(CURSOR.name)
    if text is None:
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        at_ms, _, item_id = data.decode().partition(":")
        if cursor_of(int(at_ms), item_id) != text or not 0 <= int(at_ms) < 2**62:
            raise ValueError
    except (ValueError, binascii.Error):
        raise QueryWrong("cursor is the next_cursor of the page before.") from None
    return int(at_ms), item_id
