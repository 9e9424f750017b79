"""Write what the R3 document shows of a call, as Markdown that nothing in the call can bend (seed
003)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from lifecycle.document import ProposalDocument
from lifecycle.policy import ToolPolicy

_EXCERPT: Final = 120
_MOST_LINES: Final = 64
_CONTENT: Final = ("body", "content", "text", "message")
_RECIPIENTS: Final = ("to", "cc", "bcc", "reply_to")
#: The signs of Markdown, and the point after `www`, which some readers turn into a link.
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>()#!|~&:@.](?:(?<!\.)|(?<=[wW]{3}\.))")


def plain(text: str) -> str:
    """Return `text` as one line of Markdown that reads as it is: no markup, nothing invisible."""
    printable = text.isascii() and text.isprintable()
    seen = text if printable else "".join(map(_visible, text))
    return _MARKUP.sub(r"\\\g<0>", seen) if _MARKUP.search(seen) else seen


def _visible(char: str) -> str:
    if char == " " or (char.isprintable() and unicodedata.category(char) not in ("Cf", "Mn", "Me")):
        return char
    return f"⟨U+{ord(char):04X}⟩"


def _excerpt(value: Any) -> str:
    """Return the beginning of a value, with the number of characters that were cut off."""
    if isinstance(value, dict) and isinstance(value.get("excerpt"), str) and "s256" in value:
        return plain(value["excerpt"][:_EXCERPT]) + " … (a digest stands for the rest)"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _EXCERPT:
        return plain(text)
    return f"{plain(text[:_EXCERPT])}… ({len(text) - _EXCERPT} more characters)"


def display_of(document: ProposalDocument, tool: ToolPolicy, window_s: int) -> dict[str, Any]:
    """Return `summary`, `irreversible` and `detail` (Markdown) of one proposed call.

    Sections in the order of seed 003: Action, To, Details, Content (excerpt), Irreversible.
    """
    parameters = document.parameters
    irreversible = _irreversible(tool, window_s)
    sections = [
        (
            "Action",
            [f"{plain(tool.name)} ({tool.action_type}), proposed by {plain(document.actor)}"],
        ),
        ("To", _to(document)),
        ("Details", _details(document)),
        ("Content (excerpt)", [_excerpt(parameters[k]) for k in _CONTENT if k in parameters]),
        ("Irreversible", [irreversible]),
    ]
    return {
        "summary": f"{plain(document.actor)} wants to use {plain(tool.name)}",
        "irreversible": irreversible,
        "detail": "\n\n".join(_section(title, lines) for title, lines in sections if lines),
    }


def _section(title: str, lines: list[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines[:_MOST_LINES])


def _to(document: ProposalDocument) -> list[str]:
    target = document.target
    where = f"{plain(target.resource_type)} {plain(target.resource_id)} at {plain(target.domain)}"
    named = _lines(document.parameters, _RECIPIENTS)
    return [where, *named]


def _details(document: ProposalDocument) -> list[str]:
    shown = {*_CONTENT, *_RECIPIENTS}
    rest = [key for key in document.parameters if key not in shown]
    lines = _lines(document.parameters, tuple(rest[:_MOST_LINES]))
    if len(rest) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"… and {len(rest) - _MOST_LINES + 1} more parameters"]
    return lines


def _lines(parameters: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    return [
        f"{plain(key[:_EXCERPT])}: {_excerpt(parameters[key])}" for key in keys if key in parameters
    ]


def _irreversible(tool: ToolPolicy, window_s: int) -> str:
    if tool.reversible and window_s:
        return f"Not for {window_s} s after it began: until then it can be rolled back."
    return "Yes: once done, it cannot be taken back from here."
