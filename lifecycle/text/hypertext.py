"""Render HTML as its reader sees it: without tags, comments, hidden elements; in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from lifecycle.text.elements import Elements, Markup
from lifecycle.text.hiding import Hides, hides, hides_nothing, hiding_otherwise, may_hide

_BREAKING: Final = frozenset(
    """
    br p div li ul ol tr td th table h1 h2 h3 h4 h5 h6 hr blockquote pre section article header
    footer main aside dd dt dl
    """.split()
)
#: Tags that only dress a text; they add nothing to it but what their attributes say.
_DRESSING: Final = _BREAKING | frozenset(
    """
    a abbr b big body center cite code em font head html i img kbd mark q s samp small span strike
    strong sub sup tbody tfoot thead tt u var wbr
    """.split()
)
#: Only these end the name of a tag: `<b@shop.example>` is no bold text.
_AFTER_NAME: Final = frozenset(" \t\n\r\f/")


#: An element whose letters run from right to left, as if between two direction signs.
_TURNING_TAG: Final = re.compile(
    r"<(?P<name>[a-z]++)(?=[^<>]*?(?:\bdir\s*=\s*[\"']?rtl|\bdirection\s*:\s*rtl))"
    r"(?:(?<=<bdo)|(?=[^<>]*?bidi-override))[^<>]*+>(?P<inside>(?>(?:[^<]++|<(?!/?(?P=name)\b))*))",
    re.IGNORECASE | re.DOTALL,
)

#: Any tag; and a link with other words, as Slack writes it (`_LABELLED`).
_TAG: Final = re.compile(r"<[^<>]*+>")
_BREAKING_TAG: Final = re.compile(
    rf"</?(?:{'|'.join(sorted(_BREAKING))})(?![\w:-])[^<>]*+>", re.IGNORECASE
)
_LABELLED: Final = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]*+:|[@#!])[^<>|]*+\|([^<>]*+)>")


def shown(text: str) -> str:
    """Return what a browser shows of `text`; what is no tag stays as it is."""
    return _Page(Elements(text), hides).shown() if "<" in text else text


def said(text: str) -> str:
    """Return `text` without what only dresses it; two texts that say different things stay
    different.

    Removed are comments, hidden elements and the names of tags that dress. Kept are attributes, all
    other tags, scripts and titles with their content, and whatever merely looks like a tag.
    """
    return _Page(Elements(text), _hides_dress, _said_by).shown() if "<" in text else text


def renderings(text: str) -> tuple[str, ...]:
    """Return the ways in which a program may show `text`, each once, that of a browser first.

    If a tag turns letters from right to left, signs that do so take its place. Other ways are: with
    everything hidden that a style sheet or some program might hide; with nothing hidden; and with
    everything in angle brackets removed except the words of a link as Slack writes it.
    """
    if "<" not in text:
        return (text,)
    text = _TURNING_TAG.sub(_between_signs, text)
    elements = Elements(text)
    page = _Page(elements, may_hide)
    found = [page.shown()]
    if page.is_unsure:
        found.insert(0, _Page(elements, hides).shown())
    if page.has_hidden:
        found.append(_Page(elements, hides_nothing).shown())
    if otherwise := hiding_otherwise(text):
        found.append(_Page(elements, otherwise).shown())
    without_any = _TAG.sub("", _BREAKING_TAG.sub(" ", _LABELLED.sub(r"\1", text)))
    return tuple(dict.fromkeys((*found, without_any)))


def _between_signs(turning: re.Match[str]) -> str:
    return f"\u202e{' '.join(turning['inside'].splitlines())}\u202c"


def _hides_dress(name: str, rest: str) -> bool:
    return name in _DRESSING and hides(name, rest)


def _breaks(name: str, _tag: str) -> str:
    return " " if name in _BREAKING else ""


def _said_by(name: str, tag: str) -> str:
    """Return what a tag says: its attributes if it only dresses, else all of it."""
    rest = tag.removeprefix("<").removeprefix("/")[len(name) : -1]
    if name not in _DRESSING or tag[1] in "!?" or not _AFTER_NAME.issuperset(rest[:1]):
        return tag
    attributes = rest.strip("".join(_AFTER_NAME)).replace('"', "").replace("'", "")
    return f" <{attributes}> " if attributes else _breaks(name, tag)


class _Page:
    """One text that is rendered, with one way to hide and one replacement for tags."""

    def __init__(
        self,
        elements: Elements,
        hides: Hides,
        instead: Callable[[str, str], str] = _breaks,
    ) -> None:
        #: True if an element was left out; and if that was one that a browser may show.
        self.has_hidden = self.is_unsure = False
        self._elements = elements
        self._text = elements.text
        self._hides = hides
        self._instead = instead
        #: Tags are often alike.
        self._judged: dict[str, bool] = {}

    def shown(self) -> str:
        parts, place = [], 0
        while markup := self._elements.markup_from(place):
            parts.append(self._text[place : markup.start])
            instead, place = self._past(markup)
            parts.append(instead)
        parts.append(self._text[place:])
        return "".join(parts)

    def _past(self, markup: Markup) -> tuple[str, int]:
        """Return the replacement of the markup, and where the text goes on."""
        mark, name, start, name_end, end = markup
        if mark in ("!--", "![CDATA["):
            return "", end
        if not end:
            return self._text[start:name_end], name_end
        tag = self._text[start:end]
        if not mark and self._is_hidden(name, tag):
            return "", self._elements.ends.get(end, end)
        return self._instead(name, tag), end

    def _is_hidden(self, name: str, tag: str) -> bool:
        hidden = self._judged.get(tag)
        if hidden is None:
            rest = tag[len(name) + 1 :]
            hidden = self._judged[tag] = self._hides(name, rest)
            if hidden:
                self.has_hidden = True
                self.is_unsure = self.is_unsure or not hides(name, rest)
        return hidden
