"""Tell which elements nobody sees, in a browser or in another program that shows mail."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

#: Takes the name of a tag and the rest of it; returns whether the tag hides its element.
Hides = Callable[[str, str], bool]

NEVER_SHOWN: Final = frozenset({"style", "script", "template", "title"})
#: The content of these is for programs that cannot show the element itself.
_SELDOM_SHOWN: Final = frozenset(
    """
    noscript iframe object noembed noframes video audio canvas desc metadata datalist dialog rp
    """.split()
)
_NOT_ALWAYS_SHOWN: Final = NEVER_SHOWN | _SELDOM_SHOWN
#: Zero in any unit; `0.9em` is a size like others.
_ZERO: Final = r"\s*:\s*+[+-]?(?:0++(?:\.0*+)?|\.0++)(?![\d.])"
_HIDING_STYLE: Final = re.compile(
    rf"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity){_ZERO}", re.IGNORECASE
)
#: Found in every tag that hides its element; a class of such a name may hide it, too.
_PERHAPS_HIDING: Final = re.compile(rf"\bhidden\b|{_HIDING_STYLE.pattern}", re.IGNORECASE)
#: Styles that hide in some programs: no size, no colour, or a place far outside the page.
_HIDING_SOMEWHERE: Final = re.compile(
    rf"mso-hide\s*:\s*all|visibility\s*:\s*collapse|clip(?:-path)?\s*:"
    rf"|(?:height|width|font|scale|zoom){_ZERO}|font-size\s*:\s*+(?:0?\.\d|1(?![\d.]))"
    r"|opacity\s*:\s*+(?:0?\.0|\d%)|(?:scale(?:[xyz]|3d)?|opacity)\s*\(\s*0(?![\d.])"
    r"|(?<![\w-])(?:-webkit-text-fill-)?color\s*:\s*+(?:transparent|#[0-9a-f]{3}0(?![0-9a-f])"
    r"|#[0-9a-f]{6}00|(?:rgb|hsl)a?\([^();]{0,40}[,/]\s*0(?:\.0*)?%?\s*\))"
    r"|(?:left|right|top|bottom|indent|margin|inset|translate(?:[xyz]|3d)?)\s*[:(][^;<>\"']{0,40}?"
    r"(?:-\s*\d{3}|\d{4}|-\s*\d\d(?:\.\d*)?(?:r?em|v[wh]))",
    re.IGNORECASE,
)
#: Ways to disguise a style: comments, and letters written by their number.
_STYLED_OTHERWISE: Final = re.compile(
    r"/\*[^*]*+(?>(?:\*(?!/)[^*]*+)*)(?:\*/|\Z)|\\(?P<letter>[0-9a-fA-F]{1,6})\s?"
)
_SHEET: Final = re.compile(r"<style\b", re.IGNORECASE)
_END_OF_SHEET: Final = re.compile(r"</style", re.IGNORECASE)
#: The signs in a selector between an element and those around it.
_WITHIN: Final = re.compile(r"[\s>+~]+")
_WORD: Final = re.compile(r"[\w-]+")
_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?P<value>\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?"
)


def hides(name: str, rest: str) -> bool:
    """Return True if a browser hides the element of this tag."""
    if name in NEVER_SHOWN:
        return True
    if _PERHAPS_HIDING.search(rest) is None:
        return False
    return any(
        each["name"].lower() == "hidden"
        or (each["name"].lower() == "style" and _HIDING_STYLE.search(each["value"] or ""))
        for each in _ATTRIBUTE.finditer(rest[:-1])
    )


def may_hide(name: str, rest: str) -> bool:
    """Return True if some browser may hide it."""
    return name in _NOT_ALWAYS_SHOWN or _PERHAPS_HIDING.search(rest) is not None


def hides_nothing(_name: str, _rest: str) -> bool:
    """Return False: this is how a program without styles shows it."""
    return False


def hiding_otherwise(text: str) -> Hides | None:
    """Return a function that tells what a style sheet, or some program alone, hides in `text`.

    None if nothing in the text is hidden like that.
    """
    by_sheet = frozenset(_words_that_hide(text))
    if not by_sheet:
        return _may_hide_somewhere if _hides_somewhere(text) else None

    def may_hide_by_sheet(name: str, rest: str) -> bool:
        return (
            name in by_sheet
            or not by_sheet.isdisjoint(_WORD.findall(rest.lower()))
            or _may_hide_somewhere(name, rest)
        )

    return may_hide_by_sheet


def _may_hide_somewhere(name: str, rest: str) -> bool:
    return may_hide(name, rest) or _hides_somewhere(rest)


def _hides_somewhere(text: str) -> bool:
    """Return True if a style hides in some programs, or a disguised style hides."""
    if _HIDING_SOMEWHERE.search(text):
        return True
    if _STYLED_OTHERWISE.search(text) is None:
        return False
    plain = _STYLED_OTHERWISE.sub(_plainly, text)
    return any(hiding.search(plain) for hiding in (_HIDING_SOMEWHERE, _PERHAPS_HIDING))


def _plainly(odd: re.Match[str]) -> str:
    number = int(odd["letter"] or "0", 16)
    return chr(number) if 0 < number <= sys.maxunicode else ""


def _words_that_hide(text: str) -> Iterator[str]:
    """Yield the tags, classes and ids whose elements the style sheets of `text` hide."""
    for sheet in _sheets(text):
        for block in _STYLED_OTHERWISE.sub(_plainly, sheet).split("}"):
            selectors, _, styles = block.rpartition("{")
            if _PERHAPS_HIDING.search(styles) or _HIDING_SOMEWHERE.search(styles):
                yield from _words_of(selectors.rpartition("{")[2].rpartition(";")[2].lower())


def _words_of(selectors: str) -> Iterator[str]:
    for selector in selectors.split(","):
        itself = _WORD.findall(_WITHIN.split(selector.strip())[-1])
        yield from itself or _WORD.findall(selector)


def _sheets(text: str) -> Iterator[str]:
    place = 0
    while begun := _SHEET.search(text, place):
        end = _END_OF_SHEET.search(text, begun.end())
        place = end.start() if end else len(text)
        yield text[begun.end() : place]
