"""No control characters where one line is meant: the end of step 2 of design section 4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.paths import Parts, containers, dotted, entries

#: C0, DEL, C1 (U+0085 among them) and the two separators that many readers take for a line's end.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_FAULTS: Final = 32

#: A field is meant when its name is one of these or ends in one as a word of its own.
_ONE_LINE: Final = frozenset(
    """
    subject to cc bcc recipient recipients from sender headers header
    filename filenames path paths file files dir directory folder
    amount amounts currency target targets host hostname url domain
    id ids actor tool
    """.split()
)
_ONE_LINE_PAIRS: Final = frozenset(
    {
        ("file", "name"),
        ("file", "names"),
        ("attachment", "name"),
        ("attachment", "names"),
        ("tool", "name"),
        ("amount", "minor"),
        ("evidence", "ref"),
    }
)
#: Everything below these is one line too, whatever stands between.
_ONE_LINE_BELOW: Final = frozenset(
    """
    headers header target targets to cc bcc recipient recipients from sender amount currency
    """.split()
)
#: Below these a plain string or a `name` names something.
_NAMED: Final = frozenset({"attachment", "attachments", "tool_call"})
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: Only the end of a name is compared, and a name may be as long as the document.
_END: Final = 64


def control_character_faults(document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Find control characters in keys, identifiers and values of one line; at most 32 faults.

    One line are, at any depth: subject, recipients, headers, file names, paths, amounts, target
    and its like, ids, actor and tool. Text of other fields (body, justification, evidence …) is
    free: cards show it neutralised and the rules judge it. Expects what `read_object` returned.
    """
    return tuple(islice(_faults_in(dict(document)), _MOST_FAULTS))


def _faults_in(document: dict[str, Any]) -> Iterator[Fault]:
    for parts, container in containers(document):
        is_object = isinstance(container, dict)
        for key, value in entries(container):
            if is_object and (found := _CONTROL.search(key)):
                yield _fault((*parts, key), found, "The name of a field")
            if not isinstance(value, str):
                continue
            found = _CONTROL.search(value)
            if found and _is_one_line((*parts, key)):
                yield _fault((*parts, key), found, "This field")


def _is_one_line(parts: Parts) -> bool:
    names = [part[-_END:] for part in parts if isinstance(part, str)]
    if any(_last_word(name) in _ONE_LINE_BELOW for name in names):
        return True
    return _names_one_line(names[-1]) or _names_something(names)


def _names_something(names: list[str]) -> bool:
    return names[-1] in _NAMED or (names[-1] == "name" and len(names) > 1 and names[-2] in _NAMED)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name))


def _last_word(name: str) -> str:
    return next(reversed(_words(name)), "")


def _names_one_line(name: str) -> bool:
    return _last_word(name) in _ONE_LINE or _words(name)[-2:] in _ONE_LINE_PAIRS


def _fault(parts: Parts, found: re.Match[str], noun: str) -> Fault:
    return Fault(
        "control_character",
        dotted(parts),
        required="one line without control characters",
        actual=f"U+{ord(found.group()):04X} at character {found.start() + 1}",
        suggestion=f"{noun} holds one line of plain text: remove line breaks and control "
        "characters.",
    )
