"""Makes text that others wrote harmless to read: what a person sees is what the machine will do."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import idna

from bot.chat.cards.letters import (
    IMITATORS,
    MARKS,
    combining_marks,
    escape,
    invisible,
    joins_emoji,
    overdrawn,
    strangers,
)
from lifecycle.text.masking import mask_secrets, mask_text

EMPTY: Final = "(empty)"
BREAK: Final = "⏎"
BLANK: Final = "␣"

#: A letter may be written as a base and combining marks, which a machine composes.
_LETTER: Final = rf"\w{combining_marks()}-"
#: An imitator joins what stands on both sides of it, if that is visible ASCII or an imitator too.
_LIKE: Final = rf"(?<=[!-~{IMITATORS}])[{IMITATORS}](?=[!-~{IMITATORS}])"
#: The full stops of Chinese and Japanese, which a browser takes for dots.
_STOPS: Final = "\u3002\uff61"
_DOT: Final = rf"[.\uff0e{_STOPS}]"
#: A run that may hold a host, up to the next blank. It is possessive: for "a.a.a.…" backtracking
#: would take quadratic time.
_RUN: Final = re.compile(rf"(?>(?:[.\uff0e{_STOPS}{_LETTER}]++|{_LIKE})+)")
_LABEL_DOT: Final = re.compile(_DOT)
#: Behind a letter of these scripts such a full stop ends a sentence; a host has an ordinary dot.
_SENTENCE_END: Final = re.compile(
    rf"(?<=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])[{_STOPS}]"
)
_BEFORE_HOSTS: Final = ("://", "@")
#: A label that was written in the form of machines: people cannot read what it stands for.
_WRITTEN_PLAIN: Final = re.compile(r"(?<![\w-])xn--[a-z0-9]", re.IGNORECASE)
_FOREIGN_HOST: Final = "a host with letters beyond a–z, shown in its xn-- form"
#: Labels, with exactly one dot between each two.
_LABELS: Final = re.compile(rf"[^.\uff0e{_STOPS}]++(?>(?:{_DOT}[^.\uff0e{_STOPS}]++)*)")
#: The last label of a host has at least so many characters.
_SHORTEST_END: Final = 2
_BESIDE_LETTERS: Final = re.compile(f"[{combining_marks()}{IMITATORS}]")
#: It begins only at the first blank of a run, so that blanks without a break are read once.
_BREAKS: Final = re.compile(r"(?<![ \t])[ \t]*+(?>(?:(?:\r\n|\n|\r)[ \t]*+)+)")
_ONE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_BLANKS: Final = re.compile(r"[ \t]{3,}")
_FOLDS: Final = re.compile(f"{_BREAKS.pattern}|{_BLANKS.pattern}")
_REPEATED: Final = re.compile(r"(\\u\{[0-9A-F]+\})\1{2,}")
_FORGED: Final = re.compile(r"\\(?=u\{)")
_MASKS: Final = re.compile(r"(‹[a-zA-Z ]{1,40}, \d{1,9} characters›)")
#: What JSON writes for all that is neither a string without quotes nor a number begins so.
_OTHER_VALUES: Final = ("true", "false", "null", "[", "{", '"')
#: `one_line` reads so many characters: the board and the lists show thirty lines every two seconds,
#: and each text may be as long as a document.
_MOST_READ: Final = 1_024
#: A host has at most 253 characters; what is longer only looks like one.
_LONGEST_HOST: Final = 253


@dataclass(frozen=True, slots=True)
class Shown:
    """Neutral text, and what a person should be warned of about it."""

    text: str
    warnings: tuple[str, ...] = ()


def neutral(text: str, *, lines: bool = False) -> Shown:
    """Return `text` with nothing hidden in it and every credential masked (design section 8).

    Line breaks become marks unless `lines` asks to keep them (for an attached file). The result is
    still plain text: each platform must show it literally, without markup or mentions.
    """
    return _neutral_masked(mask_text(text), lines)


def _neutral_masked(text: str, lines: bool) -> Shown:
    if text == "":
        return Shown(EMPTY)
    if text == EMPTY:
        return Shown(f'"{EMPTY}"')
    pieces = _MASKS.split(text)
    warnings: set[str] = set()
    for place in range(0, len(pieces), 2):
        pieces[place] = _neutral_piece(pieces[place], lines, warnings)
    whole = "".join(pieces)
    shown = whole.strip(" ") or f"{BLANK}×{len(text)}"
    return Shown(whole if lines and whole.strip(" ") else shown, tuple(sorted(warnings)))


def imitates_mask(raw: Any) -> bool:
    """Say whether a JSON value that nobody has masked holds what looks like a mask of ours."""
    return (
        _MASKS.search(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False))
        is not None
    )


def characters_shown(whole: str, length: int) -> int:
    """Return how many characters of `whole` stand in the first `length` of its one-line form.

    `whole` is neutral text with its line breaks, as in an attached file; the line is the same text
    with breaks and runs of blanks folded into marks. Those count once their mark is shown whole.
    """
    begins = _folded(whole[: len(whole) - len(whole.lstrip())], False)
    read, left = 0, length + len(begins) - len(begins.lstrip(" "))
    for found in _FOLDS.finditer(whole):
        mark = len(_folded(found[0], False))
        if left < found.start() - read + mark:
            return min(read + left, found.start())
        left -= found.start() - read + mark
        read = found.end()
    return min(read + left, len(whole))


def neutral_value(value: Any, *, lines: bool = False) -> Shown:
    """Return any JSON value as neutral text, secrets masked: a string bare, all else as JSON.

    A string that reads like another value (`false`, `["a"]`) is written in quotes: many tools take
    the text "false" for true. Digits stay bare, for a number and its digits mean the same.
    """
    return masked_value(mask_secrets(value), lines=lines)


def masked_value(masked: Any, *, lines: bool = False) -> Shown:
    """Return the result of `mask_secrets` as neutral text.

    The JSON as a whole is not searched for secrets again: quotes and names between two texts could
    look like one that nobody wrote, and reviewers would not see what no rule refuses.
    """
    bare = isinstance(masked, str) and not _reads_otherwise(masked)
    text = masked if bare else json.dumps(masked, ensure_ascii=False)
    return _neutral_masked(text, lines)


def _reads_otherwise(text: str) -> bool:
    """Say whether a string would be taken for another value, or for a string in quotes. Values of
    JSON are shown on one line, so a text of several lines is never taken for one."""
    if not text.lstrip(" \t").startswith(_OTHER_VALUES) or _ONE_BREAK.search(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def one_line(text: str, longest: int = 200) -> str:
    """Return neutral text of at most `longest` characters, with a count of the rest.

    Only the beginning of a long text is read, without the word at its cut: masking would not
    recognise half of a credential.
    """
    begun = text if len(text) <= _MOST_READ else _whole_words(text[:_MOST_READ])
    shown, unread = neutral(begun).text if begun else "", len(text) - len(begun)
    if len(shown) <= longest and not unread:
        return shown
    return f"{shown[:longest]}… ({max(0, len(shown) - longest) + unread} more characters)"


def _whole_words(text: str) -> str:
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) > 1 else ""


def _neutral_piece(text: str, lines: bool, warnings: set[str]) -> str:
    text = _with_plain_hosts(_FORGED.sub(r"\\\\", text), warnings)
    odd, over = strangers(text), overdrawn(text)
    if odd:
        warnings.add("letters of another script inside a word")
    if over:
        warnings.add("marks that are drawn over what stands beside them")
    hidden = {char for char in set(text) if char not in "\n\r\t " and invisible(char)}
    if odd or over or hidden or not MARKS.isdisjoint(text):
        text = "".join(_visible(text, odd | over, hidden, warnings))
    return _folded(text, lines)


def _visible(text: str, odd: frozenset[int], hidden: set[str], warnings: set[str]) -> Iterator[str]:
    for place, char in enumerate(text):
        if char in hidden and not joins_emoji(text, place):
            warnings.add("invisible or direction-changing characters")
            yield escape(char)
        elif place in odd or char in MARKS:
            yield escape(char)
        else:
            yield char


def _folded(text: str, lines: bool) -> str:
    text = _REPEATED.sub(_times, text)
    if lines:
        return text
    return _BLANKS.sub(_blanks, _BREAKS.sub(_breaks, text)).replace("\t", " ")


def _times(found: re.Match[str]) -> str:
    return f"{found[1]}×{len(found[0]) // len(found[1])}"


def _breaks(found: re.Match[str]) -> str:
    count = len(_ONE_BREAK.findall(found[0]))
    return f" {BREAK} " if count == 1 else f" {BREAK}×{count} "


def _blanks(found: re.Match[str]) -> str:
    return f" {BLANK}×{len(found[0])} "


def _with_plain_hosts(text: str, warnings: set[str]) -> str:
    """Write every host with letters beyond ASCII in its xn-- form, or escaped if it has none."""
    if "--" in text and _WRITTEN_PLAIN.search(text):
        warnings.add(_FOREIGN_HOST)
    if text.isascii():
        return text

    def plain(found: re.Match[str]) -> str:
        host, rest = _host_in(found[0])
        if host.isascii() or len(host) > _LONGEST_HOST or _are_numbers(host):
            return found[0]
        warnings.add(_FOREIGN_HOST)
        return ".".join(_plain_label(label) for label in _LABEL_DOT.split(host)) + rest

    def with_plain(found: re.Match[str]) -> str:
        run = found[0]
        if run.isascii():
            return run
        ends = () if text.endswith(_BEFORE_HOSTS, 0, found.start()) else _SENTENCE_END.finditer(run)
        places = (0, *(end.end() for end in ends), len(run))
        return "".join(_LABELS.sub(plain, run[start:end]) for start, end in pairwise(places))

    return _RUN.sub(with_plain, text)


def _host_in(labels: str) -> tuple[str, str]:
    """Return the host that these labels begin with (empty if there is none), and the rest."""
    end = len(labels)
    for dot in reversed(list(_LABEL_DOT.finditer(labels))):
        if end - dot.end() >= _SHORTEST_END:
            return labels[:end], labels[end:]
        end = dot.start()
    return "", labels


def _are_numbers(host: str) -> bool:
    """Say whether it only looks like a host: an amount of digits with a mark or a sign in it."""
    like = _BESIDE_LETTERS.sub("", host)
    return like.isascii() and not any(char.isalpha() for char in like)


def _plain_label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return idna.alabel(unicodedata.normalize("NFC", label.lower())).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return "".join(char if char.isascii() else escape(char) for char in label)
