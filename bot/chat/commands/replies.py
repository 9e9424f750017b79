"""Defines what a command is given and what it answers, the same on every surface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.chat.cards.content import CardContent
from lifecycle.answers import Reply


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that came with a command. It is fetched only if its announced size is allowed."""

    name: str
    size_bytes: int
    fetch: Callable[[], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings, for a surface that can draw them. Every cell is literal text.

    `remedies` says that the last cell of each row tells what helps the proposal in the first one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remedies: bool = False

    def as_text(self) -> str:
        """Return the rows as plain lines, for a surface that cannot draw a table."""
        lines = [
            " · ".join(cell.replace("\n", "\n    ") for cell in row if cell) for row in self.rows
        ]
        return "\n".join([self.title, *lines] if self.title else lines)


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The answer to one command: words for people, or one JSON `document` for a proposer.

    All text is literal: a platform escapes it, and it pings nobody. `code` is None if the command
    had its effect. `about` is the proposal that somebody acted on: commands that help name it.
    `card` is what is shown of a proposal.
    """

    blocks: tuple[str | Table, ...] = ()
    document: Mapping[str, Any] | None = None
    code: str | None = None
    about: str | None = None
    card: CardContent | None = None

    @property
    def text(self) -> str:
        """The blocks as plain text."""
        return "\n".join(
            block.as_text() if isinstance(block, Table) else block for block in self.blocks
        )

    @property
    def mark(self) -> str:
        """The line that tells which proposal is shown, empty if none is. Each message of a long
        answer bears it, for people put ✅ and ❌ on any of them (`cards/marks.py`)."""
        return self.card.footer if self.card is not None else ""

    @classmethod
    def words(cls, *lines: str, code: str | None = None) -> CommandReply:
        """Return an answer of plain lines."""
        return cls(_coded(lines, code), code=code)

    @classmethod
    def of(cls, reply: Reply) -> CommandReply:
        """Return the answer that carries the law's reply."""
        lines = _coded((reply.words,), reply.code)
        return cls(lines, code=reply.code, about=reply.proposal_id)


def _coded(lines: tuple[str, ...], code: str | None) -> tuple[str, ...]:
    """Put the stable code of a refusal behind its last sentence."""
    return lines if code is None else (*lines[:-1], f"{lines[-1]} ({code})")
