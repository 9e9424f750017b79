"""Where something stands in a JSON document: walking it, and naming a place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

#: The keys and list indices that lead to a place, outermost first.
Parts = tuple[str | int, ...]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_KEY: Final = 64


class RepeatedKeys(list[tuple[str, Any]]):
    """A JSON object that names a key more than once: all its pairs, in their order."""


def entries(container: Any) -> Iterable[tuple[Any, Any]]:
    """Return the (key or index, value) pairs of an object or a list, in the document's order."""
    if isinstance(container, RepeatedKeys):
        return container
    if isinstance(container, dict):
        return container.items()
    return enumerate(container)


def containers(document: Any) -> Iterator[tuple[Parts, Any]]:
    """Yield every object and list that is not empty with its place, the outer before the inner.

    Needs no call stack, so the depth of the document does not matter.
    """
    waiting: list[tuple[Parts, Any]] = [((), document)]
    while waiting:
        parts, container = waiting.pop()
        yield parts, container
        inner = [
            ((*parts, key), value)
            for key, value in entries(container)
            if value and isinstance(value, (dict, list))
        ]
        inner.reverse()
        waiting.extend(inner)


def dotted(parts: Parts) -> str:
    """Name a place: `parameters.items[2].amount`; an unusual key is quoted, ASCII and cut short."""
    return "".join(map(_step, parts)).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if _BARE_KEY.fullmatch(part):
        return f".{part}"
    shown = part if len(part) <= _LONGEST_KEY else part[:_LONGEST_KEY] + "…"
    return f"[{json.dumps(shown)}]"
