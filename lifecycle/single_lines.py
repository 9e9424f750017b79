"""No control characters where one line is meant: the end of step 2 of design section 4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.paths import Parts, containers, dotted, entries

#: C0, DEL, C1 (U+0085 among them) and the two separators that many readers take for a line's end.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_FAULTS: Final = 32


def _last_word(*words: str) -> re.Pattern[str]:
    """Match a field's name that is one of the words, or ends in one: `reply_to`, `replyTo`, `to`.

    A space in `words` stands for any one separator or none.
    """
    any_word = "|".join(words).replace(" ", r"[\W_]?")
    start = r"(?:\A|[^A-Za-z]|(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z]))"
    return re.compile(rf"{start}(?i:{any_word})[^A-Za-z]*\Z")


#: Everything below such a field is one line, whatever stands between.
_BELOW: Final = _last_word(
    *("headers?", "targets?", "to", "reply to", "cc", "bcc", "recipients?", "from", "sender"),
    *("amounts?", "currency"),
)
_ONE_LINE: Final = _last_word(
    *("subject", "file names?", "attachment names?", "files?", "paths?", "dir", "directory"),
    *("folder", "amount minor", "hosts?", "host name", "urls?", "domains?"),
    *("ids?", "evidence ref", "actor", "tool", "tool name"),
)
#: Below these a plain string or a `name` names something.
_NAMED: Final = frozenset({"attachment", "attachments", "tool_call"})
#: Only the end of a name is compared, and a name may be as long as the document.
_END: Final = 64


def control_character_faults(document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Find control characters in keys, identifiers and values of one line; at most 32 faults.

    One line are, at any depth: subject, recipients, headers, file names, paths, amounts, target
    and its like, ids, actor and tool. Text of other fields (body, justification, evidence) is
    free: cards show it neutralised and the rules judge it. Expects what `read_object` returned.
    """
    return tuple(islice(_faults_in(dict(document)), _MOST_FAULTS))


def _faults_in(document: dict[str, Any]) -> Iterator[Fault]:
    for parts, container in containers(document):
        if isinstance(container, dict):
            yield from _faults_of_keys(parts, container)
        found = [
            (key, match)
            for key, value in entries(container)
            if type(value) is str and (match := _CONTROL.search(value))
        ]
        if found:
            yield from _faults_of_values(parts, found)


def _faults_of_keys(parts: Parts, container: dict[str, Any]) -> Iterator[Fault]:
    for key in container:
        if match := _CONTROL.search(key):
            yield _fault((*parts, key), match, "The name of a field")


def _faults_of_values(
    parts: Parts, found: list[tuple[str | int, re.Match[str]]]
) -> Iterator[Fault]:
    names = [part for part in parts if isinstance(part, str)]
    below = any(_BELOW.search(name[-_END:]) for name in names)
    for key, match in found:
        if below or _is_one_line([*names, key] if isinstance(key, str) else names):
            yield _fault((*parts, key), match, "This field")


def _is_one_line(names: list[str]) -> bool:
    end = names[-1][-_END:]
    if _BELOW.search(end) or _ONE_LINE.search(end):
        return True
    return end in _NAMED or (end == "name" and len(names) > 1 and names[-2] in _NAMED)


def _fault(parts: Parts, found: re.Match[str], noun: str) -> Fault:
    return Fault(
        "control_character",
        dotted(parts),
        required="one line without control characters",
        actual=f"U+{ord(found.group()):04X} at character {found.start() + 1}",
        suggestion=f"{noun} is one line of plain text: remove line breaks and control characters.",
    )
