"""Makes a card fit a platform: excerpt, length and digest on the card, the whole text in a file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from bot.chat.cards.content import CardContent, Field
from bot.chat.cards.neutral import characters_shown

#: If a field must be cut, its label is cut to this as well.
_TIGHT_LABEL: Final = 80
#: An excerpt shorter than this says nothing any more.
_SHORTEST_EXCERPT: Final = 60
#: Room for the line that counts the warnings that are not shown.
_COUNTED: Final = 60
_OVERFLOW: Final = "More from the proposer"
#: Begins each heading of a file. The proposer's own line breaks stand there, but no line of theirs
#: can begin so: neutral text escapes this character.
_HEADING: Final = "›"
_ABOUT_HEADINGS: Final = f"Each heading begins with {_HEADING}, and no line of the proposer's does."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one message of a platform can hold, counted by `measure` (in characters by default).

    `value` and `label` bound one field, `fields` their number, `warnings` all warnings, `total` all
    texts together. `excerpt` is how much is shown of a value that does not fit.
    """

    value: int
    label: int
    fields: int
    total: int
    excerpt: int = 900
    warnings: int = 1_000
    measure: Callable[[str], int] = len


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file with everything that the card itself cannot show."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """A card that fits. If it has an attachment, it is fully shown only once that is delivered."""

    content: CardContent
    attachment: Attachment | None = None


def fit(content: CardContent, limits: Limits) -> Fitted:
    """Return the card within `limits`; if a text was cut, the attachment holds everything whole."""
    whole, content = content, replace(content, warnings=_warned(content.warnings, limits))
    facts, written = _pieces(content, limits, limits.fields)
    for fields in range(limits.fields - 1, len(content.facts), -1):
        if sum(piece.size() for piece in facts + written) <= _room(content, limits):
            break
        facts, written = _pieces(content, limits, fields)
    cut = any(piece.cut for piece in facts + written) or content.warnings != whole.warnings
    if not cut and len(written) == len(content.written):
        return Fitted(content)
    fitted = replace(
        content,
        facts=tuple(piece.shown() for piece in facts),
        written=tuple(piece.shown() for piece in written),
    )
    return Fitted(fitted, _attachment(whole) if cut else None)


def _warned(warnings: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Keep as many warnings as there is room for and count the others: a proposer that causes many
    must not take room from what people decide on."""
    sizes = list(accumulate(limits.measure(each) + 1 for each in warnings))
    if not sizes or sizes[-1] <= limits.warnings:
        return warnings
    shown = bisect_right(sizes, limits.warnings - _COUNTED)
    left = len(warnings) - shown
    return *warnings[:shown], f"⚠️ and {left} more: see the attached file"


class _Piece:
    """One field on its way into the card, with how much of it is shown."""

    def __init__(self, whole: Field, limits: Limits) -> None:
        self.whole = whole
        self.measure = limits.measure
        self.bound = limits.value
        self.label = limits.label
        self.excerpt = limits.excerpt
        self.cut = limits.measure(whole.text) > limits.value
        self.cut |= limits.measure(whole.label) > limits.label

    def shown(self) -> Field:
        """Return the field as it stands on the card."""
        if not self.cut:
            return self.whole
        label = beginning(self.whole.label, self.label, self.measure)
        return replace(self.whole, label=label or "…", text=self._text())

    def size(self) -> int:
        shown = self.shown()
        return self.measure(shown.label) + self.measure(shown.text)

    def tighten(self) -> bool:
        """Show half as much. Return False, and change nothing, if that would not be shorter."""
        before, size = (self.cut, self.label, self.excerpt), self.size()
        shown = min(self.excerpt, self.measure(self.whole.text))
        self.cut, self.label = True, min(self.label, _TIGHT_LABEL)
        self.excerpt = max(_SHORTEST_EXCERPT, shown // 2)
        if self.size() < size:
            return True
        self.cut, self.label, self.excerpt = before
        return False

    def _text(self) -> str:
        text = self.whole.text
        if self.measure(text) <= min(self.excerpt, self.bound):
            return text
        room = self.bound - self.measure(self._note(len(self.whole.full or text)))
        shown = beginning(text, min(self.excerpt, room), self.measure)
        full = self.whole.full
        return shown + self._note(characters_shown(full, len(shown)) if full else len(shown))

    def _note(self, shown: int) -> str:
        whole = _count(len(self.whole.full or self.whole.text))
        return f"\n[shown {_count(shown)} of {whole}, full text attached{self._mark()}]"

    def _mark(self) -> str:
        return f", {self.whole.digest[:23]}…" if self.whole.digest else ""


def _pieces(content: CardContent, limits: Limits, fields: int) -> tuple[list[_Piece], list[_Piece]]:
    """Lay the card out in at most so many `fields`, each cut as far as all together require."""
    facts = [_Piece(each, limits) for each in content.facts]
    written = [_Piece(each, limits) for each in content.written]
    written = _packed(written, limits, max(1, fields - len(facts)))
    _shrink([*facts, *written], _room(content, limits))
    return facts, written


def _packed(written: list[_Piece], limits: Limits, room: int) -> list[_Piece]:
    """Keep as many fields as there is room for; the others are joined into the last one."""
    if len(written) <= room:
        return written
    kept, others = written[: room - 1], written[room - 1 :]
    lines = [f"{piece.whole.label}: {piece.whole.text}" for piece in others]
    whole = Field(f"{_OVERFLOW} ({len(others)})", "\n".join(lines))
    return [*kept, _Piece(whole, limits)]


def _shrink(pieces: list[_Piece], room: int) -> None:
    """Halve the longest field again and again, until all fit together or none gets shorter."""
    sizes = [piece.size() for piece in pieces]
    while sum(sizes) > room:
        by_size = sorted(range(len(pieces)), key=lambda place: -sizes[place])
        place = next((place for place in by_size if pieces[place].tighten()), None)
        if place is None:
            return
        sizes[place] = pieces[place].size()


def _room(content: CardContent, limits: Limits) -> int:
    return limits.total - _frame(content, limits)


def _frame(content: CardContent, limits: Limits) -> int:
    texts = (content.title, content.written_by, content.react, content.footer)
    lines = [*texts, *content.warnings, *content.commands]
    return sum(limits.measure(line) + 1 for line in lines)


def _attachment(content: CardContent) -> Attachment:
    parts = [f"{content.title}\n{content.footer}\n{_ABOUT_HEADINGS}"]
    parts.append(f"{_HEADING}{_HEADING} written by the bot")
    parts += [f"{_HEADING} {each.label}\n{each.text}" for each in content.facts]
    if content.warnings:
        parts.append("\n".join(content.warnings))
    parts.append(f"{_HEADING}{_HEADING} {content.written_by}")
    for each in content.written:
        mark = f" ({each.digest})" if each.digest else ""
        parts.append(f"{_HEADING} {each.label}{mark}\n{each.full or each.text}")
    name = f"{content.proposal_id}-v{content.version}.txt"
    return Attachment(name, "\n\n".join(parts) + "\n")


def beginning(text: str, room: int, measure: Callable[[str], int]) -> str:
    """Return the longest beginning of `text` that measures at most `room`."""
    if measure(text) <= room:
        return text
    low, high = 0, min(len(text), max(0, room))
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")
