"""Put texts together that stand in pieces in a list, as programs for rich text show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifecycle.paths import Parts, containers, entries
from lifecycle.text.values import Place

#: Rich text has its pieces at most this deep inside the items of a list, lists counted as well.
_DEEPEST_PIECE: Final = 6

#: The tags and types of what stands within a line, and the fields of a link.
_INLINE: Final = frozenset(
    "a link autolink b strong i em u s del ins strike span code mark small sub sup font".split()
)
_TYPES: Final = ("type", "_type", "tag", "tagName", "nodeName")
_TARGETS: Final = ("url", "href")


def pieces_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield the texts that stand in pieces in a list, joined as programs for rich text join them.

    In `[{"text": "fi"}, {"text": "nal"}]` the texts in the same place of each item are joined; so
    are items that are texts themselves. A link among them has its words in a list of its own, under
    the name that its neighbours, or other links, have theirs. The pieces bring their own blanks.
    """
    for parts, container in containers(dict(content)):
        if not isinstance(container, list) or len(container) < 2:
            continue
        is_inline = any(map(_is_inline, container))
        alike: dict[Parts, list[str]] = {}
        named: dict[Parts, list[str]] = {}
        for (_, *within), text in _pieces(container, ()):
            names = tuple(step for step in within if isinstance(step, str))
            if len(names) == len(within):
                alike.setdefault(names, []).append(text)
            is_item = not within or isinstance(within[-1], int)
            named.setdefault(() if is_item else names[-1:], []).append(text)
        ways = (*alike.values(), *(t for name, t in named.items() if name in alike or is_inline))
        joined = ("".join(texts) for texts in ways if len(texts) > 1)
        yield from (Place(parts, text) for text in dict.fromkeys(joined))


def _pieces(value: Any, parts: Parts) -> Iterator[tuple[Parts, str]]:
    """Yield the texts at and below a value, each with its place."""
    if isinstance(value, str):
        yield parts, value
    elif isinstance(value, (dict, list)) and len(parts) <= _DEEPEST_PIECE:
        for step, inner in entries(value):
            yield from _pieces(inner, (*parts, step))


def _is_inline(item: Any) -> bool:
    """Return True if an item is a link or an emphasis, so that its neighbours are in its line."""
    return isinstance(item, dict) and (
        any(name in item for name in _TARGETS)
        or any(item.get(name) in _INLINE for name in _TYPES if isinstance(item.get(name), str))
    )
