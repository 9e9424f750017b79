"""Renders cards and answers as terminal text: drawn for a keyboard, plain lines for a pipe."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TextIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table as Drawn
from rich.text import Text

from bot.chat.cards.card_facts import ATTENTION, DEADLINE, STATE
from bot.chat.cards.content import CardContent, Colour, Field
from bot.chat.cards.letters import escape
from bot.chat.commands.replies import CommandReply, Table
from bot.chat.terminal.tables import drawn
from bot.chat.terminal.words import folded
from bot.process.outlet import Outlet

#: Characters that a terminal obeys instead of showing, or that reorder text: C0, DEL, C1, bidi.
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
#: Labels of the facts that change while a proposal is open, besides its state.
_NEWS: Final = ("Reviewers", "Window", "Decisions")
#: If any other fact changes, people decide on something else than what was printed.
_MOVING: Final = frozenset({STATE, ATTENTION, DEADLINE, *_NEWS})
#: Anything with more rows or characters is written as lines: to draw it would block the loop for
#: seconds, and nobody sees a frame of that size at once.
_MOST_ROWS: Final = 500
_MOST_CHARACTERS: Final = 40_000
#: The corners of the frame, a dash and a space on each side of the title.
_BESIDE_A_TITLE: Final = 6
_STYLES: Mapping[Colour, str] = {
    Colour.CHECKING: "bright_black",
    Colour.WAITING: "yellow",
    Colour.RUNNING: "blue",
    Colour.DONE: "green",
    Colour.UNDONE: "magenta",
    Colour.REJECTED: "red",
    Colour.ATTENTION: "bold bright_red",
}


class Screen:
    """Writes what the terminal channel shows. Every line is whole and flushed before the next.

    With `stream` None it writes to whatever standard output is at the moment: a prompt may replace
    it.
    """

    def __init__(self, stream: TextIO | Outlet | None = None, behind: Outlet | None = None) -> None:
        """Take the stream, and the outlet behind standard output if there is one."""
        self._stream = stream
        self._outlet = stream if isinstance(stream, Outlet) else behind
        self._answered: str | None = None
        #: A fingerprint of what people decide on, by proposal, for each open card printed here.
        self._decided_on: dict[str, int] = {}

    @property
    def drawn(self) -> bool:
        """True if a person looks at a terminal; a pipe gets plain lines."""
        return bool(self._out.isatty())

    def document(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on one line: no colour, no wrapping, ASCII alone."""
        self._put(json.dumps(value, ensure_ascii=True, separators=(",", ":")))

    def line(self, text: str) -> None:
        """Write plain text, broken between words for a keyboard. Raises OSError if nobody reads.

        Whoever wrote the text and whichever way it came, nothing in it can command the terminal.
        """
        self._all([text])

    def _all(self, lines: Iterable[str]) -> None:
        width = (
            self._width if self.drawn else None
        )  # asked once: a look at the terminal costs as much as a line
        for line in lines:
            text = _OBEYED.sub(lambda found: escape(found[0]), line)
            if width is not None:
                text = "\n".join(part for each in text.split("\n") for part in folded(each, width))
            self._put(text)

    def _put(self, text: str) -> None:
        out = self._out
        try:
            out.write(text + "\n")
        except UnicodeEncodeError:
            encoding = out.encoding or "ascii"
            out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        out.flush()

    async def settled(self) -> None:
        """Wait until what was written has left this process. Raises OSError if it cannot."""
        if self._outlet is not None:
            await self._outlet.settled()

    def reply(self, reply: CommandReply) -> None:
        """Write the answer to a command."""
        if reply.document is not None:
            self.document(reply.document)
            return
        self._answered = reply.text
        for block in reply.blocks:
            if isinstance(block, Table):
                self._table(block)
            else:
                self._lines(block)

    def answered(self, words: str) -> bool:
        """Say whether these very words were the answer to the line that is being processed."""
        return words == self._answered

    def forget_answer(self) -> None:
        """Forget the answer, for its line is done: the same words are news from now on."""
        self._answered = None

    def card(self, content: CardContent) -> None:
        """Write a whole card."""
        self._decided_on.pop(content.proposal_id, None)
        if not content.final:
            self._decided_on[content.proposal_id] = _decided_on(content)
        fields = (*content.facts, *content.written)
        if self.drawn and _is_soon_drawn([(each.label, each.text) for each in fields]):
            self._draw(_panel(content, self._width))
            return
        self._all(card_lines(content))

    def update(self, content: CardContent) -> None:
        """Write what became of a card that was shown before: its state and what else has changed.

        A card is written whole if it is final, needs attention, or says something else of what
        people decide on than what was printed here (a rule objects by now, the tier or what the
        tool adds is another): whoever types `approve` has seen it then.
        """
        same = self._decided_on.get(content.proposal_id) == _decided_on(content)
        if content.final or content.colour is Colour.ATTENTION or not same:
            self.card(content)
            return
        news = {each.label: each.text for each in content.facts}
        self._lines(f"{content.proposal_id}: {news['State']}")
        for label in filter(news.__contains__, _NEWS):
            self._lines(f"  {label}: {news[label]}".replace("\n", "\n    "))
        for command in content.commands:
            self.line(f"  > {command}")

    def _lines(self, text: str) -> None:
        self._all(text.split("\n"))

    def _table(self, table: Table) -> None:
        soon = self.drawn and _is_soon_drawn(table.rows)
        drawing = drawn(table, self._width) if soon else None
        if drawing is None:
            self._lines(table.as_text())
        else:
            self._draw(drawing)

    def _draw(self, drawing: RenderableType) -> None:
        out = self._out
        Console(file=out, markup=False, highlight=False, emoji=False).print(drawing)
        out.flush()

    @property
    def _width(self) -> int:
        return Console(file=self._out).width

    @property
    def _out(self) -> Any:
        return self._stream if self._stream is not None else sys.stdout


def _decided_on(content: CardContent) -> int:
    facts = tuple(each for each in content.facts if each.label not in _MOVING)
    return hash((content.title, facts, content.written, content.warnings))


def _is_soon_drawn(rows: Sequence[tuple[str, ...]]) -> bool:
    characters = sum(len(cell) for row in rows for cell in row)
    return len(rows) <= _MOST_ROWS and characters <= _MOST_CHARACTERS


def card_lines(content: CardContent) -> Iterator[str]:
    """Yield a card as plain lines; only its title begins at the edge."""
    yield content.title
    yield from _field_lines(content.facts)
    yield f"  {content.written_by}:"
    yield from _field_lines(content.written)
    for warning in content.warnings:
        yield f"  {warning}"
    for command in content.commands:
        yield f"  > {command}"
    yield f"  {content.footer}"


def _field_lines(fields: tuple[Field, ...]) -> Iterator[str]:
    for each in fields:
        first, *more = each.text.split("\n")
        yield f"  {each.label}: {first}"
        yield from (f"    {line}" for line in more)


def _panel(content: CardContent, width: int) -> RenderableType:
    """Return the card in a frame; a title too long for the frame stands inside, folded."""
    framed = cell_len(content.title) + _BESIDE_A_TITLE <= width
    parts: list[RenderableType] = [] if framed else [Text(content.title, "bold")]
    parts += [_grid(content.facts), Text(f"{content.written_by}:", "dim")]
    parts.append(_grid(content.written))
    parts += [Text(warning, "bold yellow") for warning in content.warnings]
    parts += [Text(f"> {command}", "bold") for command in content.commands]
    parts.append(Text(content.footer, "dim", overflow="fold"))
    title = Text(content.title) if framed else None
    style = _STYLES[content.colour]
    return Panel(Group(*parts), title=title, title_align="left", border_style=style)


def _grid(fields: tuple[Field, ...]) -> Drawn:
    grid = Drawn.grid(padding=(0, 2))
    grid.add_column(style="dim", overflow="fold", max_width=28)
    grid.add_column(overflow="fold")
    for each in fields:
        grid.add_row(Text(each.label), Text(each.text))
    return grid
