"""Find the texts in a document, and the values of given names, each with its place in the JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import local
from typing import Any, Final, NamedTuple

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts, containers, dotted, entries
from lifecycle.text.field_names import readings_of


class Place(NamedTuple):
    """A value and where it stands in the document."""

    parts: Parts
    value: Any

    @property
    def path(self) -> str:
        """The dotted path: `parameters.items[2].amount`."""
        return dotted(self.parts)


#: Below these the agent chooses the names of fields, so that a name counts as a text, too.
PARAMETERS: Final = ("parameters",)
CONSTRAINTS: Final = ("target", "constraints")
FREE: Final = (PARAMETERS, CONSTRAINTS)
_PRECONDITIONS: Final = "preconditions"


def content_of(document: ProposalDocument) -> dict[str, Any]:
    """Return the document as plain JSON values, absent fields left out."""
    return document.model_dump(exclude_none=True)


def texts_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every text of a document in any field, and every name that the agent gave a field.

    A list of texts is also yielded as one, joined by spaces, because it may be lines of one text.
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
    """Return what `texts_in` yields; cached, as the rules of a verdict ask one after the other."""
    if getattr(_LAST, "document", None) is not document:
        _LAST.texts, _LAST.document = tuple(texts_in(content_of(document))), document
    texts: tuple[Place, ...] = _LAST.texts
    return texts


#: The document that a thread asked about last, and its texts; it is compared by identity.
_LAST: Final = local()


def _is_free(parts: Parts) -> bool:
    return (
        parts[:1] in FREE
        or parts[:2] in FREE
        or (parts[:1] == (_PRECONDITIONS,) and len(parts) > 2)
    )


def named_in(fields: Mapping[str, Any], start: Parts, names: frozenset[str]) -> Iterator[Place]:
    """Yield every value that has one of these names, at any depth, and is not null; `start` is the
    place of the fields."""
    for parts, container in containers(dict(fields)):
        if not isinstance(container, dict):
            continue
        for key, value in container.items():
            called = ("_".join(words) for words in readings_of(key))
            if value is not None and not names.isdisjoint(called):
                yield Place((*start, *parts, key), value)
