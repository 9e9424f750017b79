"""Where a document ends that stands behind `propose` or `evidence`: it may take several lines."""

from __future__ import annotations

import re
from typing import Final

from bot.chat.commands.typed import typed
from bot.chat.terminal.speakers import named

#: Commands that take a document.
TAKE_DOCUMENTS: Final = frozenset({"propose", "evidence"})
_FENCE: Final = "```"
#: A string that nothing closes goes on to the end: it is looked at once.
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_BEGIN: Final = ("{", "[", '"', "`")


class Unclosed:
    """A document as far as it has come. It is fed with what follows, each character once.

    `open` until the last of its braces, or the fence, is closed; what is valid JSON is never
    closed too early. `fenced` where only a fence closes it: one behind which a quotation mark
    follows on its line stands inside a text, as JSON's texts end on the line they begin on.
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
        """Take what follows. An end of a line, where there is one, belongs to it."""
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
        """Close where a line ends with the mark; the last line may still go on."""
        if self._past:
            return
        ends = [line.rpartition('"')[2] for line in (self._carried + more).split("\n")]
        closing = [self._mark in end for end in ends]
        self.open, self._past = not any(closing), any(closing[:-1])
        # Of more than its last characters only the mark itself is needed.
        self._carried = self._mark if closing[-1] else ends[-1][-len(_FENCE) :]

    def _weigh(self, text: str) -> None:
        """Count the braces and brackets that stand outside strings."""
        quoted = '"' + text if self._in_string else text
        outside, strings = _STRING.subn(r"\1", quoted)
        self._in_string = outside.count('"') < strings
        self._depth += sum(map(outside.count, "{[")) - sum(map(outside.count, "}]"))
        self.open = self._in_string or self._depth > 0


def text_of(line: bytes) -> str:
    """Return a line as text; bytes that are no UTF-8 stay what they are."""
    return line.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def says_nothing(text: str) -> bool:
    """Say whether a line is empty or a comment."""
    return not text.strip() or text.lstrip().startswith("#")


def document_in(text: str) -> str | None:
    """Return what stands behind a command that takes a document, None for any other line.

    It is split as it is when it is carried out: nothing is a command here and a document there.
    """
    if says_nothing(text):
        return None
    word, rest = typed(named(text)[1])
    return rest if word in TAKE_DOCUMENTS else None


def begins_document(text: str) -> bool:
    """Say whether a line goes on with the document of a command that stands alone before it."""
    return text.lstrip().startswith((*_BEGIN, "@"))


def unclosed(document: str) -> Unclosed | None:
    """Return the document where more of it may follow, None for a path, words or nothing."""
    return Unclosed(document) if document.startswith(_BEGIN) else None
