"""Walks a JSON document, and names a place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

#: The keys and list indices that lead to a place, outermost first.
Parts = tuple[str | int, ...]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_KEY: Final = 64


class RepeatedKeys(list[tuple[str, Any]]):
    """A JSON object that has a key more than once: all its pairs, in their order."""


_CONTAINERS: Final = frozenset({dict, list, RepeatedKeys})


def entries(container: Any) -> Iterable[tuple[Any, Any]]:
    """Return the (key or index, value) pairs of an object or a list, in the document's order."""
    if isinstance(container, RepeatedKeys):
        return container
    if isinstance(container, dict):
        return container.items()
    return enumerate(container)


def values(container: Any) -> Iterable[Any]:
    """Return the values that stand directly in an object or a list."""
    if isinstance(container, RepeatedKeys):
        return [value for _, value in container]
    if isinstance(container, dict):
        return container.values()
    return container  # type: ignore[no-any-return]


def containers(document: Any, *, at_most: int | None = None) -> Iterator[tuple[Parts, Any]]:
    """Yield the objects and lists that are not empty, each with its place, the outer before the
    inner.

    No call stack is needed, so the depth of the document does not matter. `at_most` bounds how many
    are looked at inside any one container, and in all.
    """
    waiting: list[tuple[Parts, Any]] = [((), document)]
    seen = 0
    while waiting and seen != at_most:
        parts, container = waiting.pop()
        yield parts, container
        seen += 1
        if not _CONTAINERS.isdisjoint(map(type, values(container))):
            inner = list(islice(_inner(parts, container), at_most))
            inner.reverse()
            waiting += inner


def _inner(parts: Parts, container: Any) -> Iterator[tuple[Parts, Any]]:
    for key, value in entries(container):
        if value and type(value) in _CONTAINERS:
            yield (*parts, key), value


def dotted(parts: Parts) -> str:
    """Name a place: `parameters.items[2].amount`; an unusual key is quoted, ASCII and cut short."""
    return "".join(map(_step, parts)).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if _BARE_KEY.fullmatch(part):
        return f".{part}"
    shown = part if len(part) <= _LONGEST_KEY else part[:_LONGEST_KEY] + "..."
    return f"[{json.dumps(shown)}]"
