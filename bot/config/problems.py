"""Collect what is wrong with a config file: every problem with its place, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lifecycle.nearest import nearest as most_like
from lifecycle.paths import Parts, dotted

_SHOWN_AT_MOST: Final = 60


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake: `file`, `line` (from 1, 0 for the whole file), `key`, and the words."""

    file: str
    line: int
    key: str
    words: str

    def __str__(self) -> str:
        """Return `file:line: key: sentence`, without the parts that are not known."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.words}" if self.key else f"{place}: {self.words}"


class ConfigInvalid(Exception):
    """The config does not say what the bot may do, so that the bot does not start."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep all problems in the order of the file; the message has one on each line."""
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(slots=True)
class Problems:
    """Collects the problems of one file; `lines` tells where each key stands.

    One problem is noted for each place in `unread`; any further ones there are ignored.
    """

    file: Path
    lines: Mapping[Parts, int]
    found: list[Problem] = field(default_factory=list)
    unread: set[Parts] = field(default_factory=set)

    def add(self, parts: Parts, words: str, *, line: int | None = None) -> None:
        """Note that the value at `parts` is wrong, in a sentence with the remedy."""
        if parts in self.unread:
            return
        where = self._line(parts) if line is None else line
        self.found.append(Problem(str(self.file), where, dotted(parts), words))

    def within(self, parts: Parts) -> bool:
        """Return True if a problem was found at `parts` or below."""
        place = dotted(parts)
        return any(
            p.key == place or p.key.startswith((f"{place}.", f"{place}[")) for p in self.found
        )

    def raise_if_any(self) -> None:
        """Raise ConfigInvalid if a problem was found."""
        if self.found:
            raise ConfigInvalid(self.found)

    def _line(self, parts: Parts) -> int:
        """Return the line of `parts`, or of the nearest key around it that is in the file."""
        for end in range(len(parts), -1, -1):
            if parts[:end] in self.lines:
                return self.lines[parts[:end]]
        return 0


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?` with the known word most like `word`, else the known words."""
    words = sorted(known)
    close = most_like(word, words)
    if close:
        return f'; did you mean "{close}"?'
    return f" (known: {', '.join(words)})" if words else " (none is configured)"


def quoted(value: object) -> str:
    """Return a value of the file for a sentence, cut short; never used for what may be secret."""
    text = ascii(value)[1:-1] if isinstance(value, str) else ascii(value)
    return f'"{text}"' if len(text) <= _SHOWN_AT_MOST else f'"{text[:_SHOWN_AT_MOST]}…"'
