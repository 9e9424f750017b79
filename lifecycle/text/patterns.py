"""Compile RE2 patterns, which take linear time whatever an operator or an agent wrote."""

from __future__ import annotations

from typing import Any, Final

import re2

_MOST_MEMORY: Final = 32 << 20
#: So much memory may a pattern take that came with a document, in bytes: compiling one takes 25 ms
#: at most, in which no other thread runs, and `\\pL{1,64}` still fits.
_MOST_SENT: Final = 2 << 20
_LONGEST_SENT: Final = 1_000
#: How much of RE2's words is told; they repeat the pattern.
_MOST_WORDS: Final = 100
#: So many steps may the searches for one document take, about 0.1 s: half of what a rule may take.
_MOST_STEPS: Final = 30_000_000
#: Python compares a part and a text that are shorter than this letter by letter at each place; so
#: many of these letters take as long as a step.
_NAIVE_PART: Final = 100
_NAIVE_TEXT: Final = 30_000
_LETTERS_A_STEP: Final = 14
#: What compiling costs: steps for each instruction, and steps for a pattern that is none.
_EACH_INSTRUCTION: Final = 64
_REFUSED: Final = 2_000_000


class BadPattern(ValueError):
    """The pattern is not one that RE2 can read."""


def compiled(pattern: str) -> Any:
    """Return the compiled pattern.

    Raises BadPattern with RE2's own words, which name the place.
    """
    return _compiled(pattern, _options(_MOST_MEMORY))


class Searches:
    """What the searches of one document may take together: whoever wrote the document also wrote
    the patterns. Linear time is no bound where thousands of patterns meet a long text.

    Once that is used up nothing is found any more, and `spent` is True.
    """

    def __init__(self, most_steps: int = _MOST_STEPS) -> None:
        """Allow so many steps: one is an instruction of a pattern at one byte of a text."""
        self._left = most_steps
        self._compiled: dict[str, Any] = {}
        self.spent = False
        self._unread: dict[str, str] = {}

    def objection(self, pattern: Any) -> str | None:
        """Return in words why a pattern that was tried matches nothing whatever the text; else
        None."""
        if not isinstance(pattern, str):
            return "The value of `matches` is no text: write a pattern."
        if len(pattern) > _LONGEST_SENT:
            return f"The pattern has more than {_LONGEST_SENT} characters: write a shorter one."
        why = self._unread.get(pattern)
        return why and f"RE2 cannot read this pattern ({why}): write another one."

    def matches(self, pattern: Any, text: str) -> bool:
        """Return True if the pattern is the whole of the text; False if it is no pattern."""
        if self.objection(pattern) is not None:
            return False
        search = self._search(pattern)
        if search is None:
            return False
        steps = search.programsize * len(text.encode("utf-8", "replace"))
        return self._pay(steps) and search.fullmatch(text) is not None

    def contains(self, part: str, text: str) -> bool:
        """Return True if the text holds the part."""
        naive = len(part) if len(text) < _NAIVE_TEXT and len(part) < _NAIVE_PART else 0
        return self._pay(len(text) * (1 + naive // _LETTERS_A_STEP)) and part in text

    def _search(self, pattern: str) -> Any:
        """Return the pattern, compiled once; None if RE2 cannot read it, or nothing is left."""
        if not self._pay(0):
            return None
        if pattern not in self._compiled:
            try:
                search = _compiled(pattern, _options(_MOST_SENT, never_capture=True))
                self._left -= search.programsize * _EACH_INSTRUCTION
            except BadPattern as error:
                search, self._unread[pattern] = None, str(error)[:_MOST_WORDS]
                self._left -= _REFUSED
            self._compiled[pattern] = search
        return self._compiled[pattern]

    def _pay(self, steps: int) -> bool:
        """Take so many steps, and return True if they were left."""
        self.spent = self.spent or steps > self._left
        if not self.spent:
            self._left -= steps
        return not self.spent


def _compiled(pattern: str, options: Any) -> Any:
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadPattern(_words_of(error)) from None


def _options(most_memory: int, *, never_capture: bool = False) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = most_memory
    options.never_capture = never_capture
    return options


def _words_of(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
