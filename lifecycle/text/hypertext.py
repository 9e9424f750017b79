"""HTML as its reader sees it: tags, comments and hidden elements gone. Every pass is linear."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Final

_OPENING: Final = re.compile(
    r"<(?:(?P<mark>!--|!\[CDATA\[|[/!?])|(?=[A-Za-z]))(?P<name>[A-Za-z][\w:-]*+)?"
)
#: The rest of a tag; `>` inside the quotes of a value does not end it, a quote elsewhere is a sign.
_QUOTED_REST: Final = re.compile(r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])))*+>")
_COMMENT_END: Final = re.compile(r"--!?>")
#: After so many tags whose quotes never close, quotes are taken for ordinary characters.
_MOST_UNCLOSED: Final = 50
#: After so many elements that do not end where they should, the nearest end counts.
_MOST_UNEVEN: Final = 10
_NAMED: Final = re.compile(r"<(?P<end>/?)(?P<name>[a-z][\w:-]*+)")
_NEVER_SHOWN: Final = frozenset({"style", "script", "template", "title"})
#: What these hold is for programs that cannot show the element itself.
_SELDOM_SHOWN: Final = frozenset(
    """
    noscript iframe object noembed noframes video audio canvas desc metadata datalist dialog rp
    """.split()
)
_NOT_ALWAYS_SHOWN: Final = _NEVER_SHOWN | _SELDOM_SHOWN
#: Zero in any unit; `0.9em` is a size like others.
_ZERO: Final = r"\s*:\s*+\+?(?:0++(?:\.0*+)?|\.0++)(?![\d.])"
_HIDING_STYLE: Final = re.compile(
    rf"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity){_ZERO}", re.IGNORECASE
)
#: What a tag that hides its element holds somewhere; a class of such a name may hide it, too.
_PERHAPS_HIDING: Final = re.compile(rf"\bhidden\b|{_HIDING_STYLE.pattern}", re.IGNORECASE)
#: In some programs nobody sees what has no size, no colour, or a place far outside the page.
_HIDING_SOMEWHERE: Final = re.compile(
    rf"mso-hide\s*:\s*all|visibility\s*:\s*collapse|clip(?:-path)?\s*:"
    rf"|(?:height|width|font){_ZERO}|font-size\s*:\s*+(?:0?\.\d|1(?![\d.]))"
    r"|(?<![\w-])color\s*:\s*transparent|scale\w*\(\s*0(?![\d.])"
    r"|(?:left|right|top|bottom|indent|margin)\s*:\s*-\s*\d{3}",
    re.IGNORECASE,
)
#: What a style may hold beside what it says: comments, and letters by their number.
_STYLED_OTHERWISE: Final = re.compile(
    r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)|\\(?P<letter>[0-9a-fA-F]{1,6})\s?"
)
#: With a sheet that hides something, whatever it may speak of is perhaps hidden.
_SHEET: Final = re.compile(r"<style\b", re.IGNORECASE)
_SPOKEN_OF: Final = re.compile(r"\s(?:class|id)\s*=", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?P<value>\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?"
)
_BREAKING: Final = frozenset(
    """
    br p div li ul ol tr td th table h1 h2 h3 h4 h5 h6 hr blockquote pre section article header
    footer main aside dd dt dl
    """.split()
)
#: Tags that dress a text and add nothing to it but what their attributes say.
_DRESSING: Final = _BREAKING | frozenset(
    """
    a abbr b big body center cite code em font head html i img kbd mark q s samp small span strike
    strong sub sup tbody tfoot thead tt u var wbr
    """.split()
)
#: With anything else behind it the name goes on: `<b@shop.example>` is no bold text.
_AFTER_NAME: Final = frozenset(" \t\n\r\f/")


#: An element whose letters stand from right to left, as between two signs.
_TURNING_TAG: Final = re.compile(
    r"<(?P<name>[a-z]++)(?=[^<>]*?(?:\bdir\s*=\s*[\"']?rtl|\bdirection\s*:\s*rtl))"
    r"(?:(?<=<bdo)|(?=[^<>]*?bidi-override))[^<>]*+>(?P<inside>(?:(?!</?(?P=name)\b).)*+)",
    re.IGNORECASE | re.DOTALL,
)

#: Any tag at all, and how Slack writes a link that shows other words.
_TAG: Final = re.compile(r"<[^<>]*+>")
_BREAKING_TAG: Final = re.compile(
    rf"</?(?:{'|'.join(sorted(_BREAKING))})(?![\w:-])[^<>]*+>", re.IGNORECASE
)
_LABELLED: Final = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]*+:|[@#!])[^<>|]*+\|([^<>]*+)>")


def shown(text: str) -> str:
    """Return what a browser shows of `text`; what is no tag stays as it is."""
    return _Page(text, _hides).shown() if "<" in text else text


def said(text: str) -> str:
    """Return `text` without what only dresses it: two that say different things stay different.

    Comments, hidden elements and the names of tags that dress are gone. Attributes stay, and so do
    all other tags, scripts and titles with what they hold, and whatever merely looks like a tag.
    """
    return _Page(text, _hides_dress, _said_by).shown() if "<" in text else text


def renderings(text: str) -> tuple[str, ...]:
    """Return the ways in which a program may show `text`, each once: what a browser shows first.

    Where a tag turns letters from right to left, signs that do so stand in its place. Also with
    everything hidden that a style sheet or some program might hide, with nothing hidden, and with
    all that stands in angle brackets gone, but for the words of a link as Slack writes it.
    """
    if "<" not in text:
        return (text,)
    text = _TURNING_TAG.sub(_between_signs, text)
    page = _Page(text, _may_hide)
    found = [page.shown()]
    if page.is_unsure:
        found.insert(0, shown(text))
    if page.has_hidden:
        found.append(_Page(text, _hides_nothing).shown())
    if _holds_a_hiding_sheet(text):
        found.append(_Page(text, _may_hide_by_sheet).shown())
    elif _hides_somewhere(text):
        found.append(_Page(text, _may_hide_somewhere).shown())
    without_any = _TAG.sub("", _BREAKING_TAG.sub(" ", _LABELLED.sub(r"\1", text)))
    return tuple(dict.fromkeys((*found, without_any)))


def _between_signs(turning: re.Match[str]) -> str:
    return f"\u202e{' '.join(turning['inside'].splitlines())}\u202c"


def _hides(name: str, text: str, start: int, end: int) -> bool:
    """Say whether a browser hides the element of the tag that ends at `end`."""
    if name in _NEVER_SHOWN:
        return True
    if _PERHAPS_HIDING.search(text, start, end) is None:
        return False
    return any(
        each["name"].lower() == "hidden"
        or (each["name"].lower() == "style" and _HIDING_STYLE.search(each["value"] or ""))
        for each in _ATTRIBUTE.finditer(text, start, end - 1)
    )


def _hides_dress(name: str, text: str, start: int, end: int) -> bool:
    return name in _DRESSING and _hides(name, text, start, end)


def _may_hide(name: str, text: str, start: int, end: int) -> bool:
    return name in _NOT_ALWAYS_SHOWN or _PERHAPS_HIDING.search(text, start, end) is not None


def _may_hide_somewhere(name: str, text: str, start: int, end: int) -> bool:
    return _may_hide(name, text, start, end) or _hides_somewhere(text[start:end])


def _may_hide_by_sheet(name: str, text: str, start: int, end: int) -> bool:
    spoken_of = _SPOKEN_OF.search(text, start, end) is not None
    return spoken_of or _may_hide_somewhere(name, text, start, end)


def _holds_a_hiding_sheet(text: str) -> bool:
    return _SHEET.search(text) is not None and (
        _PERHAPS_HIDING.search(text) is not None or _hides_somewhere(text)
    )


def _hides_somewhere(text: str) -> bool:
    """Say whether there is a style by which some programs hide, or a disguised one that hides."""
    if _HIDING_SOMEWHERE.search(text):
        return True
    if _STYLED_OTHERWISE.search(text) is None:
        return False
    plain = _STYLED_OTHERWISE.sub(_plainly, text)
    return any(hiding.search(plain) for hiding in (_HIDING_SOMEWHERE, _PERHAPS_HIDING))


def _plainly(odd: re.Match[str]) -> str:
    number = int(odd["letter"] or "0", 16)
    return chr(number) if 0 < number <= sys.maxunicode else ""


def _hides_nothing(_name: str, _text: str, _start: int, _end: int) -> bool:
    return False


def _breaks(name: str, _tag: str) -> str:
    return " " if name in _BREAKING else ""


def _said_by(name: str, tag: str) -> str:
    """Return what a tag says: its attributes where it dresses, else all of it."""
    rest = tag.removeprefix("<").removeprefix("/")[len(name) : -1]
    if name not in _DRESSING or tag[1] in "!?" or not _AFTER_NAME.issuperset(rest[:1]):
        return tag
    attributes = rest.strip("".join(_AFTER_NAME)).replace('"', "").replace("'", "")
    return f" <{attributes}> " if attributes else _breaks(name, tag)


class _Page:
    """One text on its way from source to what is shown."""

    def __init__(
        self,
        text: str,
        hides: Callable[[str, str, int, int], bool],
        instead: Callable[[str, str], str] = _breaks,
    ) -> None:
        #: Whether an element was left out, and one that a browser may show.
        self.has_hidden = self.is_unsure = False
        self._text = text
        self._hides = hides
        self._instead = instead
        self._lower = text.lower() if text.isascii() else _ascii_lower(text)
        self._last_close = text.rfind(">")
        self._unclosed = self._uneven = 0
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
        mark = opening["mark"]
        if mark == "!--":
            return "", self._past_comment(opening.start() + 4)
        if mark == "![CDATA[":
            return "", opening.end()
        is_tag = mark not in ("!", "?")
        end = self._end_of_tag(opening.end()) if is_tag else self._after(">", opening.end())
        if not end:
            return opening[0], opening.end()
        name = (opening["name"] or "").lower()
        if not mark and self._hides(name, self._text, opening.end(), end):
            self.has_hidden = True
            self.is_unsure = self.is_unsure or not _hides(name, self._text, opening.end(), end)
            return "", self._past_element(name, end)
        return self._instead(name, self._text[opening.start() : end]), end

    def _past_comment(self, place: int) -> int:
        """Return where the comment ends that begins at `place`: `<!-->` and `<!--->` are whole."""
        for whole in (">", "->"):
            if self._text.startswith(whole, place):
                return place + len(whole)
        end = _COMMENT_END.search(self._text, place)
        return end.end() if end else len(self._text)

    def _after(self, sign: str, place: int) -> int:
        """Return the place after the next such sign, 0 where there is none."""
        return self._text.find(sign, place) + 1 if place <= self._last_close else 0

    def _end_of_tag(self, place: int) -> int:
        """Return where the tag ends, 0 where it never does."""
        if place > self._last_close:
            return 0
        if self._unclosed < _MOST_UNCLOSED:
            if rest := _QUOTED_REST.match(self._text, place):
                return rest.end()
            self._unclosed += 1
        return self._after(">", place)

    def _past_element(self, name: str, place: int) -> int:
        """Return where the element ends; where it has no end, only its tag is markup."""
        if name in self._never_closed:
            return place
        closing = self._own_end(name, place)
        if closing == -1:
            self._never_closed.add(name)
            return place
        end = self._text.find(">", closing)
        return place if end == -1 else end + 1

    def _own_end(self, name: str, place: int) -> int:
        """Return where the tag begins that ends the element, -1 where none does.

        Others of its name may stand inside. Where they do not come out even, the next one is it.
        """
        first = self._lower.find(f"</{name}", place)
        inner = self._lower.find(f"<{name}", place, max(first, place))
        if inner == -1 or name in _NOT_ALWAYS_SHOWN or self._uneven == _MOST_UNEVEN:
            return first
        open_ones = 1
        for tag in _NAMED.finditer(self._lower, inner):
            if tag["name"] == name:
                open_ones += -1 if tag["end"] else 1
                if not open_ones:
                    return tag.start()
        self._uneven += 1
        return first


def _ascii_lower(text: str) -> str:
    """Lower ASCII letters only, so that every character keeps its place."""
    return text.translate(_LOWER)


_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
