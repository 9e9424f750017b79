"""Find whoever a document names as recipient or sender of a message.

The law: a field says recipient if its name ends in one of `RECIPIENTS`, or in one of these and some
words for an address (`_ADDRESSES`), apart or run together. Everything below `cc` is somebody;
behind a name that may mean something else (`date_to`, `cc_list`, the `value` beside a `name`) only
a text with an @ is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

from lifecycle.paths import Parts
from lifecycle.text.field_names import ends_in, readings_of
from lifecycle.text.folding import seen
from lifecycle.text.values import FREE, Place

_ENDS: Final = frozenset({"from", "to"})
#: Last words of the names of recipients and senders. `headers` hold them, too.
RECIPIENTS: Final = _ENDS | frozenset(
    "cc bcc recipient recipients sender replyto header headers".split()
)
#: Beside one of these `from` and `to` are the ends of a time.
_OF_TIME: Final = frozenset(
    "date dates time times period day days week month year hour hours valid".split()
)
#: A field whose name has some of these after a recipient's name is a recipient if it holds an @.
_ADDRESSES: Final = frozenset("address addresses addr addrs email emails mail mails list".split())
#: `to_e_mail`.
_SKIPPED: Final = _ADDRESSES | {"e"}
#: Names without a sign between their words, and plurals: such fields are recipients if they hold
#: an @.
_RUN_TOGETHER: Final = frozenset(
    "mailto sendto forwardto deliverto copyto rcptto ccs bccs senders replytos".split()
) | {
    first + last
    for first in "to cc bcc from sender recipient recipients replyto".split()
    for last in _ADDRESSES
}
#: Lists of headers, `{"name": "Bcc", "value": "..."}`, and of recipients, `{"type": "bcc",
#: "email": "..."}`, have a name in one of the first and a value in one of the second.
_NAMES_BESIDE: Final = frozenset("name key field header type kind label".split())
_VALUES_BESIDE: Final = _ADDRESSES - {"list"} | {"value", "values"}


class _Said(Enum):
    """What the names on the way say of a value: nobody, somebody, or perhaps somebody (if it has an
    @)."""

    NOBODY = auto()
    PERHAPS = auto()
    SOMEBODY = auto()


def says_recipient(name: str) -> bool:
    """Return True if a name ends in `to cc bcc recipient(s) reply_to from sender` or `headers`."""
    return ends_in(name, RECIPIENTS)


def says_end_of_a_time(name: str, around: str) -> bool:
    """Return True if `from` or `to` is about time: in `date_to`, or as `to` inside `period`."""
    return ends_in(name, _ENDS) and any(
        not _OF_TIME.isdisjoint(words) for each in (name, around) for words in readings_of(each)
    )


def recipients_in(content: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every recipient-like value of parameters and constraints, at any depth.

    These are values below a name that ends in `to cc bcc recipient(s) from sender`, and everything
    below `headers`; a name with an @ below one of these is a recipient as well. null is nobody. The
    ends of a time (`date_to`, `period.from`) and what is called an address or a list of them
    (`to_email`, `cc_list`) are recipients if they hold an @, and so is the `value` or `email`
    beside a `name` or `type` that says recipient.
    """
    for start in FREE:
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
    elif _is_somebody(value, said):
        yield Place(parts, value)


def _is_somebody(value: Any, said: _Said) -> bool:
    if said is _Said.PERHAPS:
        return isinstance(value, str) and "@" in seen(value)
    return said is _Said.SOMEBODY and value is not None


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


def _at(content: Mapping[str, Any], parts: tuple[str, ...]) -> Any:
    value: Any = content
    for part in parts:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
