"""Bring a text into the one form that all ways to dress it share.

It is coarser than the text as written, so that bold print makes no other content of it. It is finer
than what a reader sees: where a link leads, what a tag says and the signs in names and paths count.
"""

from __future__ import annotations

import re
from typing import Final

from lifecycle.text.hypertext import said
from lifecycle.text.markup import INLINE_LINK, LINKS_IN_LINKS, decoded_but_blanks, is_plain
from lifecycle.text.turned import overridden

#: A target that is a site without a page says nothing that the words of the link do not say.
_NO_PAGE: Final = re.compile(r"\(\s*+(?:https?://[^\s/?#()@]*+/?)?\s*+\)", re.IGNORECASE)

_MARKS: Final = re.compile(r"\*+|_+|~+|`+|\|\|")
_LONGEST_MARK: Final = 3
#: Marks that may dress the beginning or the end of a word, too: `Hel**lo**`.
_IN_WORDS: Final = ("**", "~~")
_SIGNS: Final = "*_~`|"
#: Before one of these, which begins a path, a file name or an option, a mark opens nothing.
_NO_WORD: Final = "/.\\-"
_END_OF_WORD: Final = re.compile(rf"[.,;:!?]*+(?:\s|$)|[{_SIGNS}]")

_Span = tuple[int, int]


def undressed(text: str) -> str:
    """Return the form that all ways to dress a text share: escapes decoded once, no emphasis."""
    if is_plain(text):
        return text
    bare = said(decoded_but_blanks(overridden(text)))
    if "[" in bare:
        for _ in range(LINKS_IN_LINKS):
            bare = INLINE_LINK.sub(_told, bare)
    return "\n".join(map(_without_emphasis, bare.split("\n")))


def _told(link: re.Match[str]) -> str:
    words, target = link["words"], link["target"]
    return words if _NO_PAGE.fullmatch(target) else f"{words} {target}"


def _without_emphasis(line: str) -> str:
    """Return the line without marks in pairs around words; each mark is looked at once."""
    kept, place = [], 0
    for start, end in sorted(_emphasis(line)):
        kept.append(line[place:start])
        place = end
    return "".join(kept) + line[place:]


def _emphasis(line: str) -> list[_Span]:
    """Return the spans of marks that dress: both marks of a pair, at the edges of words."""
    found: list[_Span] = []
    opened: dict[str, _Span] = {}
    for mark in _MARKS.finditer(line):
        sign, span = mark[0], mark.span()
        begun = opened.get(sign)
        if begun and _closes(line, begun, span, sign):
            found += [begun, span]
            del opened[sign]
        elif _opens(line, span, sign):
            opened[sign] = span
    return found


def _opens(line: str, span: _Span, sign: str) -> bool:
    after = line[span[1] : span[1] + 1]
    at_word = bool(after.strip()) and after not in _NO_WORD
    may_stand_here = sign in _IN_WORDS or _is_at_start(line, span[0], sign)
    return at_word and may_stand_here and len(sign) <= _LONGEST_MARK


def _closes(line: str, begun: _Span, span: _Span, sign: str) -> bool:
    """Return True if the pair is around something, and at the edge of a word on one side."""
    behind_word = begun[1] < span[0] and not line[span[0] - 1].isspace()
    in_word = sign in _IN_WORDS and _is_at_start(line, begun[0], sign)
    return behind_word and (in_word or _is_at_end(line, span[1], sign))


def _is_at_start(line: str, place: int, sign: str) -> bool:
    before = line[place - 1 : place] if place else ""
    if sign in _IN_WORDS:
        return not before.isalnum()
    return not before.strip() or before in _SIGNS


def _is_at_end(line: str, place: int, sign: str) -> bool:
    """Return True if a word ends here; a double mark stands in no name, so any sign ends that."""
    if sign in _IN_WORDS:
        return not line[place : place + 1].isalnum()
    return _END_OF_WORD.match(line, place) is not None
