"""Defines the content of a card, which each platform renders within its own limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Colour(StrEnum):
    """The colour of a card's edge, which tells its state at a glance."""

    CHECKING = "grey"
    WAITING = "yellow"
    RUNNING = "blue"
    DONE = "green"
    UNDONE = "purple"
    REJECTED = "red"
    ATTENTION = "orange"


@dataclass(frozen=True, slots=True)
class Field:
    """One label with its text, whole and literal: a renderer adds no markup and finds none in it.

    Line breaks in `text` are the bot's own; `full` is what an attached file shows, with the line
    breaks of whoever wrote it. `digest` is that of the raw value, empty if that holds a secret.
    `at_ms` is the moment that the text names (ms UTC), for platforms that can count down.
    """

    label: str
    text: str
    full: str = ""
    digest: str = ""
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CardContent:
    """Everything a card says. `facts` are the bot's, `written` is what the proposer wrote.

    `react` is empty if no emoji changes anything; `commands` are the same acts in words, to be
    printed behind the platform's prefix. `call_group` is the group that the card needs, None for
    none.
    """

    proposal_id: str
    version: int
    title: str
    colour: Colour
    final: bool
    facts: tuple[Field, ...]
    written_by: str
    written: tuple[Field, ...]
    warnings: tuple[str, ...] = ()
    react: str = ""
    commands: tuple[str, ...] = ()
    call_group: str | None = None
    footer: str = ""

    @property
    def seeded(self) -> bool:
        """True while ✅ and ❌ stand under the card."""
        return bool(self.react)
