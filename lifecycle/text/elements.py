"""Find where the tags and the elements of a text end. Every pass is linear in its length."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

#: The beginning of a comment, a declaration, an end or a tag.
_OPENING: Final = re.compile(
    r"<(?:(?P<mark>!--|!\[CDATA\[|[/!?])|(?=[A-Za-z]))(?P<name>[A-Za-z][\w:-]*+)?"
)
#: The rest of a tag; `>` inside the quotes of a value does not end it, a quote elsewhere is a sign.
_QUOTED_REST: Final = re.compile(r"(?>(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])))*)>")
_COMMENT_END: Final = re.compile(r"--!?>")
#: After this many tags whose quotes never close, quotes count as ordinary characters.
_MOST_UNCLOSED: Final = 50

#: Elements without content; an end tag of theirs is ignored.
_EMPTY: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
#: Elements in which a tag is mere text.
_RAW: Final = {
    name: re.compile(f"</{name}(?![\\w:-])", re.IGNORECASE)
    for name in "style script title textarea xmp iframe noembed noframes".split()
}
#: Elements that go on after the element around them has ended, until their own end tag.
_FORMATTING: Final = frozenset("a b big code em font i nobr s small strike strong tt u".split())
#: An end tag inside one of these does not end an element around it.
_SCOPES: Final = frozenset("applet caption html marquee object table td template th".split())
_ROWS: Final = frozenset("body html table tbody td template tfoot th thead tr".split())
#: Blocks; the beginning of one ends an open paragraph.
_BLOCKS: Final = frozenset(
    """
    address article aside blockquote center details dialog dir div dl fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr li dd dt listing main menu nav ol p pre search
    section summary table ul xmp
    """.split()
)
#: The end tag of any other element does not end one of these that is open inside it.
_SPECIAL: Final = _BLOCKS | _SCOPES | _ROWS | frozenset("button noscript select".split())
#: By the element that begins: which open elements that ends, and which ones around prevent it.
_ENDED_BY: Final = {
    "li": (("li",), ("ul", "ol", "menu")),
    "dd": (("dd", "dt"), ("dl",)),
    "dt": (("dd", "dt"), ("dl",)),
    "td": (("td", "th"), ("table",)),
    "th": (("td", "th"), ("table",)),
    "tr": (("tr",), ("table",)),
    "option": (("option",), ("select",)),
}


class Markup(NamedTuple):
    """One tag, comment or declaration, and where in a text it stands."""

    #: `!--`, `![CDATA[`, `/`, `!`, `?`, or nothing for a tag that begins an element.
    mark: str
    #: In small letters.
    name: str
    start: int
    #: The place behind the name, and behind the whole; `end` is 0 if it never ends.
    name_end: int
    end: int


class Elements:
    """The tags and elements of one text; each tag is parsed once, however often it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._last_close = text.rfind(">")
        self._unclosed = 0
        self._read: dict[int, Markup | None] = {}

    @cached_property
    def ends(self) -> dict[int, int]:
        """Return where each element ends, by the place behind the tag that begins it.

        Elements that never end, and those without content like an image, are not in it.
        """
        return _Ends(self).found()

    def markup_from(self, place: int) -> Markup | None:
        """Return the markup that opens at this place or after it, None if there is none."""
        if place not in self._read:
            opening = _OPENING.search(self.text, place)
            self._read[place] = self._markup(opening) if opening else None
        return self._read[place]

    def after(self, sign: str, place: int) -> int:
        """Return the place behind the next such sign, 0 if no tag ends any more."""
        return self.text.find(sign, place) + 1 if place <= self._last_close else 0

    def _markup(self, opening: re.Match[str]) -> Markup:
        mark, place = opening["mark"] or "", opening.end()
        match mark:
            case "!--":
                end = self._past_comment(opening.end("mark"))
            case "![CDATA[":
                end = opening.end("mark")
            case "!" | "?":
                end = self.after(">", place)
            case _:
                end = self._end_of_tag(place)
        return Markup(mark, (opening["name"] or "").lower(), opening.start(), place, end)

    def _past_comment(self, place: int) -> int:
        """Return where the comment ends that begins at `place`: `<!-->` and `<!--->` are whole."""
        for whole in (">", "->"):
            if self.text.startswith(whole, place):
                return place + len(whole)
        end = _COMMENT_END.search(self.text, place)
        return end.end() if end else len(self.text)

    def _end_of_tag(self, place: int) -> int:
        if place > self._last_close:
            return 0
        if self._unclosed < _MOST_UNCLOSED:
            if rest := _QUOTED_REST.match(self.text, place):
                return rest.end()
            self._unclosed += 1
        return self.after(">", place)


class _Ends:
    """The elements that are open at one place of a text, and where those before it ended."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._found: dict[int, int] = {}
        #: Name and place of each open element; then, by name, their indexes in this list.
        self._open: list[tuple[str, int]] = []
        self._depths: dict[str, list[int]] = {}
        self._scopes: list[int] = []
        self._special: list[int] = []
        self._formatting: dict[str, list[int]] = {}
        self._never_closed: set[str] = set()

    def found(self) -> dict[int, int]:
        place = 0
        while markup := self._elements.markup_from(place):
            mark, name, start, name_end, end = markup
            place = end or name_end
            if not (end and name):
                continue
            if mark == "/":
                self._ended(name, start, end)
            elif not mark and name not in _EMPTY:
                place = self._begun(name, start, end)
        return self._found

    def _begun(self, name: str, start: int, end: int) -> int:
        """Take the beginning of an element; return where the text goes on."""
        if name in _RAW and name not in self._never_closed:
            if closed := self._end_of_raw(name, end):
                self._found[end] = closed
                return closed
            self._never_closed.add(name)
        if name in _BLOCKS:
            self._end_by_another(("p",), self._scopes[-1:], start)
        if name in _ENDED_BY:
            names, kept_by = _ENDED_BY[name]
            self._end_by_another(names, map(self._depth, kept_by), start)
        if name in _FORMATTING:
            self._formatting.setdefault(name, []).append(end)
        else:
            self._push(name, end)
        return end

    def _end_of_raw(self, name: str, place: int) -> int:
        closing = _RAW[name].search(self._elements.text, place)
        return self._elements.after(">", closing.end()) if closing else 0

    def _end_by_another(self, names: Iterable[str], kept_by: Iterable[int], start: int) -> None:
        depth = max(map(self._depth, names))
        if depth > max(kept_by, default=-1):
            self._pop_to(depth, start, start)

    def _ended(self, name: str, start: int, end: int) -> None:
        if name in _FORMATTING:
            if begun := self._formatting.get(name):
                self._found[begun.pop()] = end
            return
        depth = self._depth(name)
        kept_by: list[int] = []
        if name not in _ROWS:
            kept_by = self._scopes[-1:] if name in _SPECIAL else self._special[-1:]
        if depth != -1 and depth >= max(kept_by, default=-1):
            self._pop_to(depth, start, end)

    def _depth(self, name: str) -> int:
        depths = self._depths.get(name)
        return depths[-1] if depths else -1

    def _push(self, name: str, place: int) -> None:
        depth = len(self._open)
        self._open.append((name, place))
        self._depths.setdefault(name, []).append(depth)
        if name in _SCOPES:
            self._scopes.append(depth)
        if name in _SPECIAL:
            self._special.append(depth)

    def _pop_to(self, depth: int, start: int, end: int) -> None:
        """End the element of this depth at `end`, and the open ones inside it at `start`."""
        while len(self._open) > depth:
            name, place = self._open.pop()
            self._depths[name].pop()
            if name in _SCOPES:
                self._scopes.pop()
            if name in _SPECIAL:
                self._special.pop()
            self._found[place] = start if len(self._open) > depth else end
