"""Defines what a command is given and what it answers, the same on every surface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.answers import Reply

#: The pauses in seconds after which an answer that could not be posted is tried again.
ANSWERED_AGAIN_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that came with a command. It is fetched only if its announced size is allowed."""

    name: str
    size_bytes: int
    fetch: Callable[[], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings, for a surface that can draw them. Every cell is literal text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

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
    `mark` is the line that tells which proposal is shown; each message of a long answer bears it,
    for people put ✅ and ❌ on any of them (`cards/marks.py`).
    """

    blocks: tuple[str | Table, ...] = ()
    document: Mapping[str, Any] | None = None
    code: str | None = None
    about: str | None = None
    mark: str | None = None

    @property
    def text(self) -> str:
        """The blocks as plain text."""
        return "\n".join(
            block.as_text() if isinstance(block, Table) else block for block in self.blocks
        )

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
