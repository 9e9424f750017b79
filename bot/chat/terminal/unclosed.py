"""Finds the end of a document behind `propose` or `evidence`, which may take several lines."""

from __future__ import annotations

import re
from typing import Final

from bot.chat.cards.letters import invisible
from bot.chat.commands.typed import typed
from bot.chat.terminal.speakers import named

#: Commands that take a document.
TAKE_DOCUMENTS: Final = frozenset({"propose", "evidence"})
_FENCE: Final = "```"
#: A string of JSON; one that is never closed matches to the end, so that it is read only once.
_STRING: Final = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)("?)', re.DOTALL)
_BEGIN: Final = ("{", "[", '"', "`")


class Unclosed:
    """A document of which more lines may follow. Each character that it is fed is read once.

    `open` is True until its last brace or bracket, or its fence, is closed; valid JSON never counts
    as closed too early. `fenced` says that only a fence closes it. A closing fence or back-tick
    does not count if a quotation mark follows on its line: it then stands inside a text, because a
    text of JSON ends on the line on which it begins.
    """

    def __init__(self, begin: str) -> None:
        """Take the document from its first character on."""
        self._mark = next((mark for mark in (_FENCE, "`") if begin.startswith(mark)), "")
        self._in_string = False
        self._depth = 0
        self._carried = ""
        self._past = False
        self.fenced = self._mark == _FENCE
        self.open = True
        self.feed(begin[len(self._mark) :])

    def feed(self, more: str) -> None:
        """Read what follows, which begins with a line break if it is a new line.

        A long part is fed in a thread.
        """
        if self._mark:
            self._look_for_mark(more)
            return
        if not self.open:
            return
        text = self._carried + more
        whole = text if (len(text) - len(text.rstrip("\\"))) % 2 == 0 else text[:-1]
        self._carried = text[len(whole) :]
        self._weigh(whole)

    def _look_for_mark(self, more: str) -> None:
        """Close the document at a line that has the mark and no quotation mark behind it.

        The last line may still go on: a quotation mark that follows there opens it again.
        """
        if self._past:
            return
        ends = [line.rpartition('"')[2] for line in (self._carried + more).split("\n")]
        closing = [self._mark in end for end in ends]
        self.open, self._past = not any(closing), any(closing[:-1])
        # To find a mark that is split over two feeds, the last characters of the line are enough.
        self._carried = self._mark if closing[-1] else ends[-1][-len(_FENCE) :]

    def _weigh(self, text: str) -> None:
        """Count the braces and brackets that stand outside strings."""
        quoted = '"' + text if self._in_string else text
        outside, strings = _STRING.subn(r"\1", quoted)
        self._in_string = outside.count('"') < strings
        self._depth += sum(map(outside.count, "{[")) - sum(map(outside.count, "}]"))
        self.open = self._in_string or self._depth > 0


def text_of(line: bytes) -> str:
    """Return a line as text; bytes that are not UTF-8 survive as surrogates."""
    return line.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def seen(text: str) -> str:
    """Return a text from its first character on that somebody can see.

    A document that begins with an invisible character is refused later on. Here it must still be
    recognised as a document: otherwise its lines would be commands of the person who pastes it.
    """
    shown = (at for at, char in enumerate(text) if not (char.isspace() or invisible(char)))
    return text[next(shown, len(text)) :]


def says_nothing(text: str) -> bool:
    """Return True if a line is empty or a comment."""
    bare = seen(text)
    return not bare or bare.startswith("#")


def document_in(text: str) -> str | None:
    """Return the visible rest behind a command that takes a document, None for any other line.

    The line is split exactly as when it is carried out, so that both agree on what is a document.
    A word that only looks like such a command, or is written as in another chat, also has a
    document behind it, whose lines are no commands; the word itself is then refused as unknown.
    """
    if says_nothing(text):
        return None
    word, rest = _word(text)
    if word == "signoff":  # as in Slack, or in a shell
        word, rest = _word(rest)
    return seen(rest) if word in TAKE_DOCUMENTS else None


def _word(text: str) -> tuple[str, str]:
    """Return the first word as it looks, without the mark that begins a command elsewhere, and what
    stands behind it."""
    word, rest = typed(seen(named(seen(text))[1]))
    return "".join(char for char in word if not invisible(char)).lstrip("!/"), rest


def begins_document(text: str) -> bool:
    """Return True if a line begins the document of a command that stands alone before it."""
    return seen(text).startswith((*_BEGIN, "@"))


def unclosed(document: str) -> Unclosed | None:
    """Return the document if more of it may follow, None for a path, words or nothing."""
    return Unclosed(document) if document.startswith(_BEGIN) else None
