"""Refuse control characters where one line is meant: the end of step 2 of design section 4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import orjson

from lifecycle.errors import Fault
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.paths import Parts, containers, dotted, entries
from lifecycle.text.field_names import readings_of
from lifecycle.text.recipients import RECIPIENTS

#: C0, DEL, C1 (with U+0085) and the two separators that many readers take for the end of a line.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_COMMUNICATE: Final = "communicate"


#: Names of fields; the last word of a name counts, or the last two: `reply_to`, `replyTo`, `to`.
#: Everything below one of these is one line, whatever stands between.
_BELOW: Final = RECIPIENTS | {"target", "targets", "amount", "amounts", "currency"}
_ONE_LINE: Final = _BELOW | frozenset(
    (
        *("subject", "subjects", "subjectline", "displayname", "contenttype", "mimetype"),
        *("fromname", "toname", "ccname", "bccname", "sendername", "recipientname"),
        *("file", "files", "filename", "filenames", "attachmentname", "path", "paths"),
        *("dir", "directory", "folder", "host", "hostname", "url", "domain", "amountminor"),
        *("id", "ids", "evidenceref", "actor", "tool", "toolname"),
    )
)
#: A plain string in one of these, or a `name` directly below one, is one line.
_NAMED: Final = frozenset({"attachment", "attachments", "tool_call"})
#: In a mail these are sender and recipient; in a parameter of another action old and new text.
_BEFORE_AND_AFTER: Final = frozenset({"from", "to"})


def control_character_faults(document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Return the control characters in keys, ids and values of one line; at most 32 faults.

    These are one line, at any depth: subject, recipients, headers, file names, paths, amounts,
    target and the like, ids, actor and tool. Text of other fields (body, justification, evidence)
    may hold control characters: cards show it neutralised and the rules judge it. So may `from` and
    `to` inside a parameter of an action that is not communicate: there they tell what changes.
    Expects what `read_object` returned.
    """
    if _has_none(document):
        return ()
    return tuple(islice(_faults_in(dict(document)), MOST_FAULTS))


def _has_none(document: Mapping[str, Any]) -> bool:
    """Return True if the document surely has none: its JSON is plain ASCII without escapes.

    That holds for nearly every document, and is a fast check.
    """
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
    """Return the names on the way to a value that say what it is.

    Inside a parameter of an action that is no mail, `from` and `to` say nothing; the name around
    them does.
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
