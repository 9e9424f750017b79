"""Tells which characters are invisible, which imitate others, and which are drawn over others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import Final

from confusable_homoglyphs import categories

#: Marks that neutral text itself uses; typed by somebody they are escaped, so that none is forged.
MARKS: Final = frozenset("⏎␣‹›")
#: Characters that look blank although Unicode calls them letters, marks or symbols; and the
#: placeholder of an object, which many fonts leave out.
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U00016fe4\U0001d159"
)
#: Characters drawn like a dot, a slash or another sign of an address, which no machine takes for
#: one. The dashes of prose (– and —) are left out: they are longer than a hyphen, and stand between
#: words too often. So are the comma and the colon of Chinese, which often stand beside names of
#: files; no program takes them for its own signs.
IMITATORS: Final = (
    "\u02d7\u2010\u2011\u2012\u2043\u2212\ufe63\uff0d"  # -
    "\u2024\ufe52"  # .
    "\u2044\u2215\u2571\u29f8\uff0f"  # /
    "\u2236\ufe13\ufe55"  # :
    "\ufe6b\uff20"  # @
    "\ufe56\uff1f\ufe5f\uff03\ufe60\uff06\ufe6a\uff05"  # ? # & %
    "\u2216\u29f5\u29f9\ufe68\uff3c"  # a backslash
    "\u201a\ufe50"  # ,
)
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_VARIATIONS: Final = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_JOINERS: Final = frozenset("\u200d\ufe0f")
#: Scripts that one word may mix.
_TOGETHER: Final = (
    frozenset({"HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"HAN", "HANGUL"}),
    frozenset({"HAN", "BOPOMOFO"}),
)
#: Only words up to this length are cached: a "word" may be as long as a document.
_LONGEST_KEPT: Final = 64
_NO_SCRIPT: Final = frozenset({"COMMON", "INHERITED"})
#: Digits of these are 0 to 9 themselves, wide or bold ones included.
_LIKE_PLAIN: Final = _NO_SCRIPT | {"LATIN"}
_PLAIN_DIGIT: Final = re.compile("[0-9]")
_PLAIN_LETTER: Final = re.compile("[A-Za-z]")
#: In no script does a letter bear more marks; more of them are drawn over neighbouring lines.
_MOST_MARKS: Final = 4
#: The combining class of marks that cross out what they stand on.
_CROSSES_OUT: Final = 1
_KEYCAP: Final = "\u20e3"
_ON_KEYS: Final = frozenset("0123456789#*")
_EMOJI_STYLE: Final = "\ufe0f"
#: All combining marks are below this code point, except variation selectors, which are invisible.
_MARKS_END: Final = 0x1F000
_WORD: Final = re.compile(r"[^\W_]+(?:[\u0300-\u036f][^\W_]*)*")


def escape(char: str) -> str:
    """Return the visible escape of a character: U+202E becomes a backslash and `u{202E}`."""
    return f"\\u{{{ord(char):X}}}"


@lru_cache(maxsize=4096)
def invisible(char: str) -> bool:
    """Say whether a reader could overlook this character or take it for a plain space."""
    if char == " ":
        return False
    if char in _BLANK or _VARIATIONS.fullmatch(char):
        return True
    return unicodedata.category(char) in _HIDDEN_CATEGORIES


@cache
def combining_marks() -> str:
    """Return the marks that combine with the letter before, as ranges of a regular expression."""
    codes = range(0x300, _MARKS_END)
    marks = {code for code in codes if unicodedata.category(chr(code)).startswith("M")}
    firsts = sorted(code for code in marks if code - 1 not in marks)
    lasts = sorted(code for code in marks if code + 1 not in marks)
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))


def joins_emoji(text: str, place: int) -> bool:
    """Say whether the joiner or variation selector at `place` only shapes the emoji before it."""
    if text[place] not in _JOINERS or place == 0:
        return False
    before = text[place - 1]
    if text.startswith(_KEYCAP, place + 1) and before in _ON_KEYS:
        return text[place] == _EMOJI_STYLE
    if before in _JOINERS:
        return place > 1 and unicodedata.category(text[place - 2]) == "So"
    return unicodedata.category(before) in ("So", "Sk")


def strangers(text: str) -> frozenset[int]:
    """Return the places of letters that are of another script than the rest of their word.

    Scripts that belong together (kanji and kana) are no strangers. Styled letters that only look
    like plain ones (mathematical bold …) are strangers wherever they stand.

    A digit of another script is one beside digits 0 to 9, and where the text has no letter of its
    script: the Bengali 4 is drawn like an 8, the Arabic 0 like a dot, and programs take both for
    digits.
    """
    found: set[int] = set()
    for word in _WORD.finditer(text):
        if not word.group().isascii():
            short = len(word.group()) <= _LONGEST_KEPT
            places = (_strangers_in_short if short else _strangers_in)(word.group())
            found.update(word.start() + place for place in places)
    return frozenset(found | _strange_digits(text))


def _strange_digits(text: str) -> set[int]:
    if not any(map(_foreign_digit, set(text))):
        return set()
    at_home = {_script(char) for char in set(text) if char.isalpha()}
    found: set[int] = set()
    for word in _WORD.finditer(text):
        mixed = _PLAIN_DIGIT.search(word.group()) is not None
        found.update(
            word.start() + place
            for place, char in enumerate(word.group())
            if _foreign_digit(char) and (mixed or _script(char) not in at_home)
        )
    return found


def overdrawn(text: str) -> frozenset[int]:
    """Return the places of marks that change how the text around them is read.

    Those are marks that cross out or enclose a letter, that are heaped on one letter, or that have
    no letter and are drawn on what the bot wrote before them.
    """
    if not any(map(_drawn_over, set(text))):
        return frozenset()
    found: set[int] = set()
    heaped = _MOST_MARKS  # a mark at the beginning has no letter
    for place, char in enumerate(text):
        if not _drawn_over(char):
            heaped = _MOST_MARKS if char.isspace() else 0
            continue
        heaped += 1
        if heaped > _MOST_MARKS or _hides_what_it_is_on(char):
            found.add(place)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _drawn_over(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me") and not invisible(char) and char != _KEYCAP


@lru_cache(maxsize=4096)
def _hides_what_it_is_on(char: str) -> bool:
    encloses = unicodedata.category(char) == "Me"
    return encloses or unicodedata.combining(char) == _CROSSES_OUT


def _strangers_in(word: str) -> tuple[int, ...]:
    scripts = [_script(char) for char in word]
    kinds = {script for script in scripts if script not in _NO_SCRIPT}
    styled = tuple(i for i, char in enumerate(word) if scripts[i] == "COMMON" and _styled(char))
    if _PLAIN_LETTER.search(word):  # Roman numerals alone are what they look like
        styled += tuple(i for i, char in enumerate(word) if unicodedata.category(char) == "Nl")
    if len(kinds) < 2 or any(kinds <= together for together in _TOGETHER):
        return styled
    home = "LATIN" if "LATIN" in kinds else Counter(scripts).most_common(1)[0][0]
    return styled + tuple(i for i, s in enumerate(scripts) if s in kinds and s != home)


@lru_cache(maxsize=4096)
def _strangers_in_short(word: str) -> tuple[int, ...]:
    return _strangers_in(word)


@lru_cache(maxsize=8192)
def _script(char: str) -> str:
    return str(categories.alias(char))


@lru_cache(maxsize=4096)
def _foreign_digit(char: str) -> bool:
    """Say whether it is a decimal digit of its own form; wide ones look like what they mean."""
    return unicodedata.category(char) == "Nd" and _script(char) not in _LIKE_PLAIN


@lru_cache(maxsize=4096)
def _styled(char: str) -> bool:
    letter = unicodedata.category(char).startswith("L")
    return letter and unicodedata.normalize("NFKC", char) != char
