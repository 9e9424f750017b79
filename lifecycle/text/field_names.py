"""Split a field's name into words, in any style, and whichever letters imitate Latin ones."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import Final

from lifecycle.text.folding import seen, visible

Words = tuple[str, ...]

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_NO_LETTERS: Final = re.compile(r"[\x00-@\[-`{-\x7f]+")
_LONGEST_NAME: Final = 200
#: This many letters of a name that may be i or l are read as both; any further ones as i.
_MOST_STROKES: Final = 4


def readings_of(name: str) -> tuple[Words, ...]:
    """Return the ways to split a field's name into words in small letters; a name says what any of
    them says.

    `X-Forward-To`, `replyTo` and `cc2` are read by their capitals first. But a capital may also
    mean nothing (`bcC`, `pASSWORD`): many programs ignore the case of names. Look-alike letters
    count as the Latin ones, and what nobody sees for nothing; of a very long name only the end is
    read.
    """
    return _readings(end_of(name))


def end_of(name: str) -> str:
    """Return what is read of a name: of a long one its end, in which all that is no Latin letter,
    and looks like none, counts for one character, as it hides no word."""
    if len(name) <= _LONGEST_NAME:
        return name
    shown = visible(name)
    foreign = dict.fromkeys((ord(each) for each in set(shown) if not _is_read(each)), "_")
    return _NO_LETTERS.sub("_", shown.translate(foreign)).rstrip("_")[-_LONGEST_NAME:]


@lru_cache(maxsize=32_768)  # of as many different characters as the parameters of a proposal hold
def _is_read(character: str) -> bool:
    return character.isascii() or any(map(_LETTERS.search, _latin(character)))


def ends_in(name: str, words: frozenset[str]) -> bool:
    """Return True if the last word of a name, in any reading, is one of these."""
    return any(reading[-1] in words for reading in readings_of(name) if reading)


@lru_cache(maxsize=4096)
def _readings(end: str) -> tuple[Words, ...]:
    found = dict.fromkeys(
        tuple(word.lower() for word in split.findall(latin))
        for latin in _in_latin(end)
        for split in (_WORD, _LETTERS)
    )
    return tuple(found)


def _in_latin(end: str) -> tuple[str, ...]:
    """Return what a name looks like, one form for each way to read letters that are i or l."""
    shown = visible(end)
    if shown.isascii():
        return (shown,)
    letters = [_latin(character) for character in shown]
    strokes = [place for place, ways in enumerate(letters) if len(ways) > 1]
    for place in strokes[_MOST_STROKES:]:
        letters[place] = letters[place][:1]
    return tuple(map("".join, product(*letters)))


def _latin(character: str) -> tuple[str, ...]:
    """Return what a character looks like; a capital stays a capital, as it may begin a word."""
    if character.isascii():
        return (character,)
    alike = seen(character)
    ways = ("i", "l") if alike in ("1", "|") and not character.isnumeric() else (alike,)
    return tuple(map(str.upper, ways)) if character.isupper() else ways
