"""Find the texts, recipients and paths in a document, each with its place in the JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from threading import local
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts, containers, dotted, entries
from lifecycle.text.field_names import (
    ends_in,
    readings_of,
    says_end_of_a_time,
    says_recipient,
)
from lifecycle.text.folding import seen


class Place(NamedTuple):
    """A value and where it stands in the document."""

    parts: Parts
    value: Any

    @property
    def path(self) -> str:
        """The dotted path: `parameters.items[2].amount`."""
        return dotted(self.parts)


#: Below these the agent chooses the names of fields, so that a name counts as a text, too.
_FREE: Final = (("parameters",), ("target", "constraints"))
_PRECONDITIONS: Final = "preconditions"
#: What names a target; a tool is handed all of it.
_TARGET: Final = ("resource_type", "resource_id", "domain")

_PATHS: Final = frozenset(
    """
    path paths file files filename filenames filepath dir dirs directory directories folder folders
    pathname pathnames dirname dirnames foldername foldernames directoryname filelist pathlist
    """.split()
)
_PATH_SHAPE: Final = re.compile(r"[/\\~]|\.{1,2}(?:[/\\]|\Z)|[A-Za-z]:[/\\]")
#: A field whose name has some of these after a recipient's name is a recipient if it holds an @.
_ADDRESSES: Final = frozenset("address addresses addr addrs email emails mail mails list".split())
#: Names without a sign between their words, and plurals: such fields are recipients if they hold
#: an @.
_RUN_TOGETHER: Final = frozenset(
    "mailto sendto forwardto deliverto copyto rcptto ccs bccs senders replytos".split()
) | {
    first + last
    for first in "to cc bcc from sender recipient recipients replyto".split()
    for last in _ADDRESSES
}
#: `to_e_mail`.
_SKIPPED: Final = _ADDRESSES | {"e"}
#: Lists of headers, `{"name": "Bcc", "value": "..."}`, and of recipients, `{"type": "bcc",
#: "email": "..."}`, have a name in one of the first and a value in one of the second.
_NAMES_BESIDE: Final = frozenset("name key field header type kind label".split())
_VALUES_BESIDE: Final = _ADDRESSES - {"list"} | {"value", "values"}
#: A segment `..` anywhere in a path.
_UP: Final = re.compile(r"(?:\A|[/\\])\.\.(?:[/\\]|\Z)")
#: A name and a slash on one line; what follows may hold blanks, as in `q1/old data`.
_BELOW_A_FOLDER: Final = re.compile(r"[^\s/\\]++/[^\r\n]*+\Z")
_BLANK: Final = re.compile(r"\s")
_ESCAPED_SLASH: Final = re.compile(r"%(?:2[eEfF]|5[cC]|00|25)")


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
        parts[:1] in _FREE
        or parts[:2] in _FREE
        or (parts[:1] == (_PRECONDITIONS,) and len(parts) > 2)
    )


class _Said(Enum):
    """What the names on the way say of a value: nobody, somebody, or perhaps somebody (if it has an
    @)."""

    NOBODY = auto()
    PERHAPS = auto()
    SOMEBODY = auto()


def recipients_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every recipient-like value of parameters and constraints, at any depth.

    These are values below a name that ends in `to cc bcc recipient(s) from sender`, and everything
    below `headers`; a name with an @ below one of these is a recipient as well. null is nobody. The
    ends of a time (`date_to`, `period.from`) and what is called an address or a list of them
    (`to_email`, `cc_list`) are recipients if they hold an @, and so is the `value` or `email`
    beside a `name` or `type` that says recipient.
    """
    for start in _FREE:
        yield from _below(_at(content, start), start, _Said.NOBODY)


def _below(value: Any, parts: Parts, said: _Said) -> Iterator[Place]:
    if isinstance(value, dict):
        beside = said is _Said.NOBODY and any(map(_names_recipient, value.items()))
        for key, item in value.items():
            if said is not _Said.NOBODY and "@" in seen(key):
                yield Place((*parts, key), key)
            told = _Said.PERHAPS if beside and ends_in(key, _VALUES_BESIDE) else said
            yield from _below(item, (*parts, key), _said_by(key, parts, told))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, (*parts, index), said)
    elif value is not None and _is_somebody(value, said):
        yield Place(parts, value)


def _said_by(key: str, parts: Parts, said: _Said) -> _Said:
    if said is _Said.SOMEBODY:
        return said
    if not says_recipient(key):
        return _Said.PERHAPS if _says_address(key) else said
    around = next((part for part in reversed(parts) if isinstance(part, str)), "")
    return _Said.PERHAPS if says_end_of_a_time(key, around) else _Said.SOMEBODY


def _says_address(key: str) -> bool:
    """Return True for a name like `cc_list`, `to_email_address`, `senderAddress` or `mailto`."""
    return any(
        says_recipient(next((word for word in reversed(words) if word not in _SKIPPED), ""))
        or words[-1] in _RUN_TOGETHER
        for words in readings_of(key)
        if words
    )


def _names_recipient(field: tuple[str, Any]) -> bool:
    """Return True if the field gives the name of the field beside it, and that says recipient."""
    key, name = field
    return isinstance(name, str) and ends_in(key, _NAMES_BESIDE) and says_recipient(name)


def _is_somebody(value: Any, said: _Said) -> bool:
    if said is _Said.PERHAPS:
        return isinstance(value, str) and "@" in seen(value)
    return said is _Said.SOMEBODY


def paths_in(parameters: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every path-like value of the parameters, at any depth.

    These are values below a name that ends in `path file dir directory folder …`, and values
    written like a path: with a segment `..`, with a slash and no blank before it, or with the
    beginning of one.
    """
    yield from _paths_below(parameters, _FREE[0], is_path=False)


def paths_of(document: ProposalDocument) -> Iterator[Place]:
    """Yield every path-like value of parameters and constraints, and of what names the target."""
    yield from paths_in(document.parameters)
    yield from _paths_below(document.target.constraints, _FREE[1], is_path=False)
    for name in _TARGET:
        value = getattr(document.target, name)
        if _is_written_like_a_path(value):
            yield Place(("target", name), value)


def is_called_a_path(parts: Parts) -> bool:
    """Return True if the name of a field on the way to a value ends in `path file dir folder …`."""
    return any(isinstance(part, str) and _says_path(part) for part in parts)


def _says_path(name: str) -> bool:
    """Return True for a name that ends in `path` or `file name`, in whichever style it is written:
    `filePath`, `file_name`, `filename`."""
    return any(
        not _PATHS.isdisjoint((words[-1], "".join(words[-2:])))
        for words in readings_of(name)
        if words
    )


def _paths_below(value: Any, parts: Parts, *, is_path: bool) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, item in value.items():
            if is_path or _is_written_like_a_path(key):
                yield Place((*parts, key), key)
            named = is_path or _says_path(key)
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
    if ("/" in shown or "\\" in shown) and _BLANK.search(shown) is None:
        return True
    if _BELOW_A_FOLDER.match(shown):
        return True
    # Two dots may be written as one sign, and a slash in full width.
    return _UP.search(shown if shown.isascii() else normalize("NFKC", shown)) is not None


def named_in(parameters: Mapping[str, Any], names: frozenset[str]) -> Iterator[Place]:
    """Yield every value that has one of these names, at any depth, and is not null."""
    for parts, container in containers(dict(parameters)):
        if not isinstance(container, dict):
            continue
        for key, value in container.items():
            called = ("_".join(words) for words in readings_of(key))
            if value is not None and not names.isdisjoint(called):
                yield Place(("parameters", *parts, key), value)


def _at(content: Mapping[str, Any], parts: tuple[str, ...]) -> Any:
    value: Any = content
    for part in parts:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
