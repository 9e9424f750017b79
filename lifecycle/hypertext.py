"""HTML as its reader sees it: tags, comments and hidden elements gone. One pass, linear."""

from __future__ import annotations

import re
from typing import Final

_OPENING: Final = re.compile(
    r"<(?:(?P<mark>!--|!\[CDATA\[|[/!?])|(?=[A-Za-z]))(?P<name>[A-Za-z][\w:-]*+)?"
)
#: The rest of a tag; `>` inside quotes does not end it.
_QUOTED_REST: Final = re.compile(
    r"[^\"'>]*+(?:(?:\"[^\"]*+\"|'[^']*+')[^\"'>]*+)*+>",
)
#: After so many tags whose quotes never close, quotes are taken for ordinary characters.
_MOST_UNCLOSED: Final = 50
_NEVER_SHOWN: Final = frozenset({"style", "script", "template", "title", "head"})
_HIDING: Final = re.compile(
    r"\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b",
    re.IGNORECASE,
)
_BREAKING: Final = frozenset(
    """
    br p div li ul ol tr td th table h1 h2 h3 h4 h5 h6 hr blockquote pre section article header
    footer main aside dd dt dl
    """.split()
)


def shown(text: str) -> str:
    """Return what a browser shows of `text`; what is no tag stays as it is."""
    return _Page(text).shown() if "<" in text else text


class _Page:
    """One text on its way from source to what is shown."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lower = text.lower() if text.isascii() else _ascii_lower(text)
        self._last_close = text.rfind(">")
        self._unclosed = 0
        self._never_closed: set[str] = set()

    def shown(self) -> str:
        parts, place = [], 0
        while opening := _OPENING.search(self._text, place):
            parts.append(self._text[place : opening.start()])
            instead, place = self._past(opening)
            parts.append(instead)
        parts.append(self._text[place:])
        return "".join(parts)

    def _past(self, opening: re.Match[str]) -> tuple[str, int]:
        """Return what stands for the markup that opens here, and where the text goes on."""
        if opening["mark"] == "!--":
            end = self._text.find("-->", opening.start() + 2)
            return "", len(self._text) if end == -1 else end + 3
        if opening["mark"] == "![CDATA[":
            return "", opening.end()
        end = self._end_of_tag(opening.end())
        if end == -1:
            return opening[0], opening.end()
        name = (opening["name"] or "").lower()
        if not opening["mark"] and self._is_hiding(name, opening.end(), end):
            end = self._past_element(name, end)
        return " " if name in _BREAKING else "", end

    def _end_of_tag(self, place: int) -> int:
        """Return where the tag ends, -1 where it never does."""
        if place > self._last_close:
            return -1
        if self._unclosed < _MOST_UNCLOSED:
            if rest := _QUOTED_REST.match(self._text, place):
                return rest.end()
            self._unclosed += 1
        return self._text.find(">", place) + 1

    def _is_hiding(self, name: str, start: int, end: int) -> bool:
        return name in _NEVER_SHOWN or _HIDING.search(self._text, start, end) is not None

    def _past_element(self, name: str, place: int) -> int:
        """Return where the element ends; where it has no end, only its tag is markup."""
        if name in self._never_closed:
            return place
        closing = self._lower.find(f"</{name}", place)
        if closing == -1:
            self._never_closed.add(name)
            return place
        end = self._text.find(">", closing)
        return place if end == -1 else end + 1


def _ascii_lower(text: str) -> str:
    """Lower ASCII letters only, so that every character keeps its place."""
    return text.translate(_LOWER)


_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
