"""No control characters where one line is meant: the end of step 2 of design section 4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import orjson

from lifecycle.errors import Fault
from lifecycle.paths import Parts, containers, dotted, entries
from lifecycle.text.field_names import readings_of

#: C0, DEL, C1 (U+0085 among them) and the two separators that many readers take for a line's end.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_FAULTS: Final = 32
_COMMUNICATE: Final = "communicate"


#: Names of fields; the last word of a name counts, or the last two: `reply_to`, `replyTo`, `to`.
#: Everything below one of these is one line, whatever stands between.
_BELOW: Final = frozenset(
    (
        *("header", "headers", "target", "targets", "amount", "amounts", "currency"),
        *("to", "cc", "bcc", "recipient", "recipients", "from", "sender"),
    )
)
_ONE_LINE: Final = _BELOW | frozenset(
    (
        *("subject", "subjects", "subjectline", "displayname", "contenttype", "mimetype"),
        *("fromname", "toname", "ccname", "bccname", "sendername", "recipientname"),
        *("file", "files", "filename", "filenames", "attachmentname", "path", "paths"),
        *("dir", "directory", "folder", "host", "hostname", "url", "domain", "amountminor"),
        *("id", "ids", "evidenceref", "actor", "tool", "toolname"),
    )
)
#: Below these a plain string or a `name` names something.
_NAMED: Final = frozenset({"attachment", "attachments", "tool_call"})
#: In a mail sender and recipient; inside a parameter of another action the old and the new text.
_BEFORE_AND_AFTER: Final = frozenset({"from", "to"})


def control_character_faults(document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Find control characters in keys, identifiers and values of one line; at most 32 faults.

    One line are, at any depth: subject, recipients, headers, file names, paths, amounts, target
    and its like, ids, actor and tool. Text of other fields (body, justification, evidence) is
    free: cards show it neutralised and the rules judge it. So are `from` and `to` inside a
    parameter of an action that is said to be another one than communicate: there they tell what
    changes. Expects what `read_object` returned.
    """
    if _has_none(document):
        return ()
    return tuple(islice(_faults_in(dict(document)), _MOST_FAULTS))


def _has_none(document: Mapping[str, Any]) -> bool:
    """Say, of nearly every document, that no character of it can be meant: all is plain ASCII."""
    try:
        data = orjson.dumps(document)
    except TypeError:
        return False
    return data.isascii() and b"\\" not in data and b"\x7f" not in data


def _faults_in(document: dict[str, Any]) -> Iterator[Fault]:
    may_be_a_mail = document.get("action_type", _COMMUNICATE) == _COMMUNICATE
    for parts, container in containers(document):
        if isinstance(container, dict):
            yield from _faults_of_keys(parts, container)
        found = [
            (key, match)
            for key, value in entries(container)
            if type(value) is str and (match := _CONTROL.search(value))
        ]
        if found:
            yield from _faults_of_values(parts, found, may_be_a_mail=may_be_a_mail)


def _faults_of_keys(parts: Parts, container: dict[str, Any]) -> Iterator[Fault]:
    for key in container:
        if match := _CONTROL.search(key):
            yield _fault((*parts, key), match, "The name of a field")


def _faults_of_values(
    parts: Parts, found: list[tuple[str | int, re.Match[str]]], *, may_be_a_mail: bool
) -> Iterator[Fault]:
    names = _telling(parts, may_be_a_mail=may_be_a_mail)
    below = any(_is_named(name, _BELOW) for name in names)
    for key, match in found:
        own = (
            names if isinstance(key, int) else _telling((*parts, key), may_be_a_mail=may_be_a_mail)
        )
        if below or _is_one_line(own):
            yield _fault((*parts, key), match, "This field")


def _telling(parts: Parts, *, may_be_a_mail: bool) -> list[str]:
    """Return the names on the way, without `from` and `to` inside a parameter that is no mail's.

    What those stand in says what they are.
    """
    names = [part for part in parts if isinstance(part, str)]
    if may_be_a_mail or names[:1] != ["parameters"]:
        return names
    return names[:2] + [name for name in names[2:] if name not in _BEFORE_AND_AFTER]


def _is_one_line(names: list[str]) -> bool:
    own = names[-1]
    if own in _NAMED or (own == "name" and len(names) > 1 and names[-2] in _NAMED):
        return True
    return _is_named(own, _ONE_LINE)


def _is_named(name: str, words: frozenset[str]) -> bool:
    return any(
        reading[-1] in words or "".join(reading[-2:]) in words
        for reading in readings_of(name)
        if reading
    )


def _fault(parts: Parts, found: re.Match[str], noun: str) -> Fault:
    return Fault(
        "control_character",
        dotted(parts),
        required="one line without control characters",
        actual=f"U+{ord(found.group()):04X} at character {found.start() + 1}",
        suggestion=f"{noun} is one line of plain text: remove line breaks and control characters.",
    )
