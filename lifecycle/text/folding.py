"""Fold a text to what its reader sees: the invisible is removed, and look-alikes become one.

Rules compare folded copies; a digest over text itself is never folded (design section 4).
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Final
from unicodedata import category, east_asian_width, normalize

#: Everything that has a category of interest lives below; planes 2 and 3 are ideographs.
_LAST_OF_PLANE_1: Final = 0x1FC00
_TAGS_AND_SELECTORS: Final = range(0xE0000, 0xE1000)
#: Default_Ignorable_Code_Point beside categories Cf and M: fillers, and code points kept free.
_IGNORABLE: Final = (0x115F, 0x1160, 0x2065, 0x3164, 0xFFA0, *range(0xFFF0, 0xFFF9))
#: Combining marks that are ignorable as well: joiners, vowels that are only thought, and selectors.
_IGNORABLE_MARKS: Final = frozenset(
    (0x034F, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *_TAGS_AND_SELECTORS)
)
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
#: Marks and format characters that Unicode got after version 14, all that Python 3.11 knows of.
_LATER_MARKS: Final = (
    "5C8-5C9 897-897 B53-B54 CF3-CF3 ECE-ECE 1ACF-1AF0 10D69-10D6D 10ECB-10ECF 10EF0-10EFF "
    "11241-11241 113B8-113C0 113C2-113C2 113C5-113C5 113C7-113CA 113CC-113D0 113D2-113D2 "
    "113E1-113E2 11B60-11B67 11DF0-11DF0 11F00-11F01 11F03-11F03 11F34-11F3A 11F3E-11F42 "
    "11F5A-11F5A 13439-13440 13447-13455 1611E-1612F 1D127-1D128 1D250-1D252 1D25B-1D25C "
    "1D25F-1D25F 1D280-1D281 1E08F-1E08F 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3-1E6E3 1E6E6-1E6E6 "
    "1E6EE-1E6EF 1E6F5-1E6F5"
)
#: What NFKD makes letters of since then: outlined capitals and digits, small w y z and S, and
#: modifier letters of Cyrillic. Each Python folds them alike, whatever its Unicode.
_LATER_LETTERS: Final = str.maketrans(
    "".join(map(chr, (*range(0x1CCD6, 0x1CCFA), 0x209D, 0x209E, 0x209F, 0xA7F1)))
    + "".join(map(chr, range(0x1E030, 0x1E06E))),
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789wyzS"
    "абвгдежзиклмопрстуфхцчшыэюꚉәіјөүӏабвгдежзиклопсуфхцчшъыґіѕџҫꙑұ",
)
#: Fillers are ignorable by the standard, but a font that has them shows a blank; so it is with the
#: Mongolian vowel separator, once a space itself. The space without width parts two words as well.
FILLERS: Final = "\u115f\u1160\u180e\u200b\u3164\uffa0"
_BRAILLE_BLANK: Final = 0x2800
#: Hyphens and dashes, which the eye does not tell apart.
_DASHES: Final = (*range(0x2010, 0x2016), 0x2043, 0x2212, 0x30FC, 0xFE58)
_CONTROLS: Final = dict.fromkeys(
    (*range(0x00, 0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0))
)
_HAS_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")


def _invisible() -> dict[int, None]:
    # Every start waits for this; `map` takes half the time of a comprehension.
    span = range(0xAD, _LAST_OF_PLANE_1)
    kinds, hidden = map(category, map(chr, span)), _MARKS | {"Cf"}
    below = (n for n, kind in zip(span, kinds, strict=True) if kind in hidden)
    ranges = (span.split("-") for span in _LATER_MARKS.split())
    later = (n for first, last in ranges for n in range(int(first, 16), int(last, 16) + 1))
    return dict.fromkeys((*below, *later, *_TAGS_AND_SELECTORS, *_IGNORABLE)) | _CONTROLS


def _look_alikes() -> dict[int, str]:
    page = files("lifecycle.text").joinpath("look_alikes.json").read_text(encoding="utf-8")
    table = json.loads(page)
    return {ord(each): seen for seen, imitators in table.items() for each in imitators}


_INVISIBLE: Final[dict[int, str | None]] = dict(_invisible())
_UNSEEN_OR_BLANK: Final = _INVISIBLE | {_BRAILLE_BLANK: " "} | dict.fromkeys(_DASHES, "-")
_SEEN_AS: Final = _UNSEEN_OR_BLANK | _look_alikes()
#: Variants of sigma and pi that look like c and w; NFKD makes them sigma and pi, which do not.
_BEFORE_NFKD: Final = _LATER_LETTERS | str.maketrans("\u03f2\u03f9\u03d6", "ccw")

#: NFKD turns this character into eighteen; a text full of it would hold up every rule.
_LONGEST_LIGATURE: Final = "\ufdfa"
_ITS_FIRST_LETTER: Final = "\u0635"

#: Letters in parentheses. To NFKD they are two signs and a letter, to a reader one letter.
_BRACKETED: Final = {
    first + place: letter
    for first in (0x249C, 0x1F110)
    for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz")
} | {0x1F12A: "s"}
#: The same letters, for the inside of a character class in a regular expression.
BRACKETED: Final = "".join(map(chr, _BRACKETED))

#: Letters of Thai, Lao, Burmese and Khmer.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_FILLED: Final = str.maketrans(dict.fromkeys(FILLERS, " "))
#: A search takes a tenth of the time of a translation, and hardly any text holds one of these.
_HAS_BRACKETED: Final = re.compile(f"[{BRACKETED}]")
_HAS_FILLER: Final = re.compile(f"[{FILLERS}]")

#: A capital I beside small letters may be meant as l, a small l among capitals as I.
_CAPITAL_I: Final = re.compile(r"(?<=[a-z])I|I(?=[a-z])")
_SMALL_L: Final = re.compile(
    r"(?<=[A-Z]{2})l(?![a-z])|(?<![a-z])l(?=[A-Z]{2})|(?<=[A-Z])l(?=[A-Z])"
)

_CAPITALS: Final = re.compile(r"[A-Z]l?[A-Z]")

#: 0 1 3 4 5 7 @ $ | and the letters they imitate; 1 and | are i here, and l in the other reading.
_LETTERS: Final = str.maketrans("013457@$|", "oieastasi")
_OTHER_LETTERS: Final = str.maketrans("013457@$|", "oleastasl")
_ONE_STROKE: Final = str.maketrans("l", "i")


def seen(text: str) -> str:
    """Return what a reader sees, in small letters; digits stay as they are.

    Invisible characters (Default_Ignorable_Code_Point, Cf, controls) and combining marks are
    removed. Widths, ligatures and case are folded. Look-alike letters of any script become the
    Latin ones they imitate. Any white space becomes one space, none at the ends. A letter that may
    be i or l becomes `1`; `|` stays, as it may be one of them or a line between words.
    """
    if not text.isascii():
        text = text.replace(_LONGEST_LIGATURE, _ITS_FIRST_LETTER).translate(_BEFORE_NFKD)
        # Twice: folding the case of one letter may make another one that imitates a third.
        text = normalize("NFKD", text).translate(_SEEN_AS)
        text = normalize("NFKD", _cases_folded(text)).translate(_SEEN_AS)
    elif _HAS_CONTROL.search(text):
        text = text.translate(_CONTROLS)
    return " ".join(_cases_folded(text).split())


def _cases_folded(text: str) -> str:
    if "I" in text:
        text = _CAPITAL_I.sub("1", text)
    if _CAPITALS.search(text):
        text = _SMALL_L.sub("1", text)
    return text.casefold()


def without_brackets(text: str) -> str:
    """Return the text with `⒡` as f: alone it marks an item of a list, in a row it is writing."""
    return text.translate(_BRACKETED) if _HAS_BRACKETED.search(text) else text


def with_blanks(text: str) -> str:
    """Return the text with a space for each filler, which some readers see as a blank."""
    return text.translate(_FILLED) if _HAS_FILLER.search(text) else text


def runs_on(character: str) -> bool:
    """Return True if its script has no blanks between words, or it is no letter or digit."""
    unspaced = east_asian_width(character) in "WF" or _UNSPACED.match(character) is not None
    return unspaced or not character.isalnum()


def uncased(text: str) -> str:
    """Return what a reader of any script sees: like `seen`, but every letter keeps its script."""
    text = normalize("NFKD", normalize("NFKD", text.translate(_LATER_LETTERS)).casefold())
    return " ".join(text.translate(_UNSEEN_OR_BLANK).split())


def strokes(shown: str) -> tuple[str, ...]:
    """Return what `seen` gave; if a `|` is in it, also the same with `1` for each `|`."""
    return (shown, shown.replace("|", "1")) if "|" in shown else (shown,)


def readings(shown: str) -> tuple[str, ...]:
    """Return what `seen` gave, and what it reads as if digits or signs imitate letters."""
    first = shown.translate(_LETTERS)
    second = shown.translate(_OTHER_LETTERS)
    return tuple(dict.fromkeys((shown, first, second)))


def folded(text: str) -> str:
    """Return the one form that all imitations of a text share: `f1naI` and `final` are one.

    Coarser than what rules compare, because i, l, 1 and | are the same here. Folding twice changes
    nothing.
    """
    return seen(text).translate(_LETTERS).translate(_ONE_STROKE)


def narrow(text: str) -> str:
    """Return the text in letters of usual width, ligatures taken apart (NFKC)."""
    if text.isascii():
        return text
    text = text.replace(_LONGEST_LIGATURE, _ITS_FIRST_LETTER).translate(_LATER_LETTERS)
    return normalize("NFKC", text)


def legible(text: str) -> str:
    """Return the text without characters that nobody sees, and without white space at its ends; the
    empty text if nobody sees a sign of it.

    Unlike in `visible` a combining mark stays: scripts of India write vowels with them.
    """
    if text.isascii() and not _HAS_CONTROL.search(text):
        return text.strip()
    unseen = {ord(each) for each in set(text) if ord(each) in _INVISIBLE and not _is_mark(each)}
    shown = text.translate(dict.fromkeys(unseen) | {_BRAILLE_BLANK: " "}).strip()
    return shown if seen(shown) else ""


def _is_mark(character: str) -> bool:
    return ord(character) not in _IGNORABLE_MARKS and category(character) in _MARKS


def visible(text: str) -> str:
    """Return the text without invisible characters, controls and combining marks, otherwise
    unchanged.

    White space stays as it is.
    """
    return text if text.isascii() and not _HAS_CONTROL.search(text) else text.translate(_INVISIBLE)
