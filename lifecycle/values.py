"""Where a document holds texts, recipients and paths, by their JSON place, and what it is like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from threading import local
from typing import Any, Final, NamedTuple

import orjson

from lifecycle.amounts import amounts_of
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.document import ProposalDocument
from lifecycle.field_names import words_of
from lifecycle.folding import folded, seen
from lifecycle.paths import Parts, containers, dotted, entries

__all__ = [
    "Place",
    "amounts_of",
    "content_of",
    "likeness",
    "likeness_of",
    "named_in",
    "paths_in",
    "recipients_in",
    "texts_in",
    "texts_of",
    "words_of",
]


class Place(NamedTuple):
    """A value and where it stands in the document."""

    parts: Parts
    value: Any

    @property
    def path(self) -> str:
        """The dotted path: `parameters.items[2].amount`."""
        return dotted(self.parts)


#: Below these the agent names the fields, so that a name is a text of its own.
_FREE: Final = (("parameters",), ("target", "constraints"))
_PRECONDITIONS: Final = "preconditions"

_RECIPIENTS: Final = frozenset({"to", "cc", "bcc", "recipient", "recipients", "from", "sender"})
_HEADERS: Final = frozenset({"header", "headers"})
_PATHS: Final = frozenset(
    """
    path paths file files filename filenames filepath dir dirs directory directories folder folders
    """.split()
)
_PATH_SHAPE: Final = re.compile(r"[/\\~]|\.{1,2}(?:[/\\]|\Z)|[A-Za-z]:[/\\]")
_BLANK: Final = re.compile(r"\s")
_ESCAPED_SLASH: Final = re.compile(r"%(?:2[eEfF]|5[cC]|00|25)")


def content_of(document: ProposalDocument) -> dict[str, Any]:
    """Return the document as plain JSON values, absent fields left out."""
    return document.model_dump(exclude_none=True)


def texts_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every text of a document in any field, and every name that the agent gave a field.

    A list of texts is also yielded as one, joined by spaces, because it may be lines of one.
    """
    for parts, container in containers(dict(content)):
        names_count = isinstance(container, dict) and _is_free(parts)
        for key, value in entries(container):
            if names_count:
                yield Place((*parts, key), key)
            if isinstance(value, str):
                yield Place((*parts, key), value)
        lines = [item for item in container if isinstance(item, str)]
        if isinstance(container, list) and len(lines) > 1:
            yield Place(parts, " ".join(lines))


def texts_of(document: ProposalDocument) -> tuple[Place, ...]:
    """Return what `texts_in` yields; the rules of one verdict ask one after the other."""
    if getattr(_LAST, "document", None) is not document:
        _LAST.texts, _LAST.document = tuple(texts_in(content_of(document))), document
    texts: tuple[Place, ...] = _LAST.texts
    return texts


#: The document that a thread looked at last, and its texts; by identity, so never those of another.
_LAST: Final = local()


def _is_free(parts: Parts) -> bool:
    return (
        parts[:1] in _FREE
        or parts[:2] in _FREE
        or (parts[:1] == (_PRECONDITIONS,) and len(parts) > 2)
    )


def recipients_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every recipient-like value of parameters and constraints, at any depth.

    That is what stands below a name that ends in `to cc bcc recipient(s) from sender`, and
    everything below `headers`; a name with an @ below one of these is a recipient as well. null is
    nobody.
    """
    for start in _FREE:
        yield from _below(_at(content, start), start, is_recipient=False)


def _below(value: Any, parts: Parts, *, is_recipient: bool) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, item in value.items():
            if is_recipient and "@" in seen(key):
                yield Place((*parts, key), key)
            named = is_recipient or _names_recipient(key)
            yield from _below(item, (*parts, key), is_recipient=named)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, (*parts, index), is_recipient=is_recipient)
    elif is_recipient and value is not None:
        yield Place(parts, value)


def _names_recipient(name: str) -> bool:
    words = words_of(name)
    return bool(words) and (words[-1] in _RECIPIENTS or words[-1] in _HEADERS)


def paths_in(parameters: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every path-like value of the parameters, at any depth.

    That is what stands below a name that ends in `path file dir directory folder …`, and whatever
    is written like a path: with a slash and no blank, or beginning like one.
    """
    yield from _paths_below(parameters, ("parameters",), is_path=False)


def _paths_below(value: Any, parts: Parts, *, is_path: bool) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, item in value.items():
            if is_path or _is_written_like_a_path(key):
                yield Place((*parts, key), key)
            words = words_of(key)
            named = is_path or (bool(words) and words[-1] in _PATHS)
            yield from _paths_below(item, (*parts, key), is_path=named)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths_below(item, (*parts, index), is_path=is_path)
    elif isinstance(value, str) and (is_path or _is_written_like_a_path(value)):
        yield Place(parts, value)


def _is_written_like_a_path(text: str) -> bool:
    shown = text.strip()
    if _PATH_SHAPE.match(shown) or _ESCAPED_SLASH.search(shown) or "\x00" in text:
        return True
    return ("/" in shown or "\\" in shown) and _BLANK.search(shown) is None


def named_in(parameters: Mapping[str, Any], names: frozenset[str]) -> Iterator[Place]:
    """Yield every value that has one of these names, at any depth, and is not null."""
    for parts, container in containers(dict(parameters)):
        if not isinstance(container, dict):
            continue
        for key, value in container.items():
            if value is not None and "_".join(words_of(key)) in names:
                yield Place(("parameters", *parts, key), value)


#: Compared with `in`, so that false and 0 are not among them.
_NOTHING: Final[tuple[Any, ...]] = (None, "", [])


def _at(content: Mapping[str, Any], parts: tuple[str, ...]) -> Any:
    value: Any = content
    for part in parts:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def likeness(value: Any) -> Any:
    """Return a JSON value with every text and name folded, so that imitations are equal.

    What is null or empty says nothing, and a list of one says what that one says.
    """
    if isinstance(value, str):
        return folded(value)
    if isinstance(value, Mapping):
        return sorted(
            (
                [folded(str(key)), alike]
                for key, item in value.items()
                if (alike := likeness(item)) not in _NOTHING
            ),
            key=_spelt,
        )
    if isinstance(value, (list, tuple)):
        items = [likeness(item) for item in value]
        return items[0] if len(items) == 1 else items
    return value


def _spelt(pair: list[Any]) -> bytes:
    """Return bytes to sort by; any order will do that depends on the pair alone."""
    try:
        return orjson.dumps(pair)
    except TypeError:
        return canonical_bytes(pair)


def likeness_of(
    actor: str, tool: str, target: Mapping[str, Any], parameters: Mapping[str, Any]
) -> str:
    """Return the digest that all imitations of one content share (`previously_rejected`)."""
    return digest_of(canonical_bytes([actor, tool, likeness(target), likeness(parameters)]))
