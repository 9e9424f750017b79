"""Renders a card as an embed and answers as messages: literal text, measured before it is sent.

Twins: `slack/render.py`, `slack/answers.py` and `slack/text.py`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import discord

from bot.chat.cards.card_facts import STATE
from bot.chat.cards.content import CardContent, Colour, Field
from bot.chat.cards.documents import gist_of, json_shown, told_once, whole_of
from bot.chat.cards.fitting import Attachment, Limits, fit
from bot.chat.cards.spans import without_span
from bot.chat.commands.as_typed import answer_as_typed, card_as_typed
from bot.chat.commands.replies import CommandReply, Table
from bot.chat.discord.settings import PREFIX

#: Discord's limits, counted in code units of UTF-16: the strictest way in which it may count.
CONTENT_LIMIT: Final = 2000
_EMBED_TOTAL: Final = 6000
_FIELDS: Final = 25
_VALUE: Final = 1024
_LABEL: Final = 256
#: What a box adds to a value: two fences and two line breaks.
_BOX: Final = 8
_MOST_MESSAGES: Final = 4
#: So much room a piece of an answer leaves in its message: a mark, with its id escaped, fits.
_BESIDE: Final = 250
#: So much of too long words is shown: of the beginning as escaped, of the end as written.
_HEAD: Final = 1200
_TAIL: Final = 300

COLOURS: Final = {
    Colour.CHECKING: 0x95A5A6,
    Colour.WAITING: 0xF1C40F,
    Colour.RUNNING: 0x3498DB,
    Colour.DONE: 0x2ECC71,
    Colour.UNDONE: 0x9B59B6,
    Colour.REJECTED: 0xE74C3C,
    Colour.ATTENTION: 0xE67E22,
}

#: Characters that begin markup anywhere, and those that do so only at the beginning of a line. An
#: underscore within a word is no markup, so that ids stay as they are written.
_MARKUP: Final = re.compile(
    r"[\\*~`<\[\]]|(?<=\])\(|\|(?=\|)|(?<=\|)\|"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    r"|^(?=[ \t]*(?:[#>-]|\d+\.[ \t]))",
    re.MULTILINE,
)
_FENCE: Final = re.compile("`")
_ANSWER: Final = "answer.json"
_SHORT_STATE: Final = 300


def length(text: str) -> int:
    """Return the largest length that Discord may count for a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def literal(text: str) -> str:
    """Return text that Discord shows as it is: no markup, no mention, no labelled link."""
    return _MARKUP.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def boxed(text: str) -> str:
    """Return text in a code block that nothing in the text can end."""
    return f"```\n{_unfenced(text)}\n```"


def _unfenced(text: str) -> str:
    """Escape back-ticks if they could end a box; nothing else has a meaning in one."""
    return _FENCE.sub(r"\\u{60}", text) if "``" in text else text


def _measure(text: str) -> int:
    return max(length(literal(text)), length(_unfenced(text)))


#: Two fields are reserved: who wrote what follows, and the emoji. A box costs room in every field.
LIMITS: Final = Limits(
    value=_VALUE - 4 * _BOX,
    label=_LABEL,
    fields=_FIELDS - 2,
    total=_EMBED_TOTAL - 24 * _BOX - 400,
    excerpt=900,
    measure=_measure,
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """An embed that fits, and the file without which the card is not fully shown."""

    embed: discord.Embed
    attachment: Attachment | None = None

    def file(self) -> discord.File | None:
        """Return the file, built anew each time: a file object can be sent only once."""
        return as_file(self.attachment.name, self.attachment.text) if self.attachment else None


def as_file(name: str, text: str) -> discord.File:
    """Return a text file to attach."""
    return discord.File(io.BytesIO(text.encode("utf-8", "backslashreplace")), filename=name)


def render(content: CardContent) -> Rendered:
    """Return the card as the seed draws it: the bot's fields, the proposer's in boxes, the emoji.

    It needs no event loop: large cards are rendered in a thread.
    """
    fitted = fit(card_as_typed(content, PREFIX), LIMITS)
    card = fitted.content
    embed = discord.Embed(title=literal(card.title)[:_LABEL], colour=COLOURS[card.colour])
    if card.warnings:
        embed.description = "\n".join(map(literal, card.warnings))
    for fact in card.facts:
        embed.add_field(name=literal(fact.label) or "…", value=_fact(fact), inline=False)
    if card.written:
        embed.add_field(
            name=f"✍️ {literal(card.written_by)}",
            value="What stands in boxes below is the proposer's.",
            inline=False,
        )
    for each in card.written:
        embed.add_field(name=_label(each.label), value=boxed(each.text or " "), inline=False)
    _add_instructions(embed, card)
    embed.set_footer(text=card.footer)
    return Rendered(embed, fitted.attachment)


def short_card(content: CardContent) -> Rendered:
    """Return the shortest form of a card, all of it attached, for when Discord refuses it whole."""
    content = card_as_typed(content, PREFIX)
    whole = fit(content, Limits(value=1, label=_LABEL, fields=_FIELDS, total=1))
    embed = discord.Embed(title=literal(content.title)[:_LABEL], colour=COLOURS[content.colour])
    embed.description = "Discord refused the whole card; all of it stands in the attached file."
    state = next((fact.text for fact in content.facts if fact.label == STATE), "")
    embed.add_field(name=STATE, value=_clipped(literal(state), _SHORT_STATE) or "…", inline=False)
    _add_instructions(embed, content)
    embed.set_footer(text=content.footer)
    return Rendered(embed, whole.attachment)


def _fact(fact: Field) -> str:
    text = fact.text
    if fact.at_ms is None:
        return literal(text) or "…"
    absolute = without_span(text)
    return f"{literal(absolute)} (<t:{fact.at_ms // 1000}:R>)"


def _label(label: str) -> str:
    """Return a label, which may be the proposer's, literally; it is cut only after escaping."""
    shown = literal(label) or "…"
    return shown if length(shown) <= _LABEL else _clipped(shown, _LABEL)


def _clipped(text: str, room: int) -> str:
    while length(text) > room:
        text = text[: room - 2].rstrip("\\") + "…"
        room -= 1
    return text


def _add_instructions(embed: discord.Embed, card: CardContent) -> None:
    lines = [f"`{command}`" for command in card.commands]
    if card.react:
        typed = f"or type {' · '.join(lines)}" if lines else "or press a button"
        embed.add_field(name=card.react, value=typed, inline=False)
    elif lines:
        embed.add_field(name="What a person can do", value=" · ".join(lines), inline=False)


# -- answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """One message of an answer."""

    text: str
    attachment: Attachment | None = None

    def file(self) -> discord.File | None:
        """Return the file, built anew each time."""
        return as_file(self.attachment.name, self.attachment.text) if self.attachment else None


def answer_messages(reply: CommandReply) -> list[Said]:
    """Return the messages that an answer takes: up to four, or one with a file of the whole."""
    if reply.document is not None:
        return [document_message(reply.document)]
    reply = answer_as_typed(reply, PREFIX)
    pieces = list(_pieces(reply))
    mark = literal(reply.mark)
    messages = list(_packed(pieces, CONTENT_LIMIT - length(mark) - 1)) or ["…"]
    if len(messages) <= _MOST_MESSAGES:
        return [Said(_marked(text, mark)) for text in messages]
    whole = Attachment("answer.txt", reply.text + "\n")
    begun = _marked(messages[0][:1700], mark)
    return [Said(f"{begun}\nThe whole answer is attached.", whole)]


def _marked(text: str, mark: str) -> str:
    return text if text.endswith(mark) else f"{text}\n{mark}"


def document_message(document: Mapping[str, Any], before: str = "") -> Said:
    """Return one JSON object in a fence, for an agent; a large one is attached whole."""
    for told in (document, told_once(document)):
        text = _fenced(told, before)
        if length(text) <= CONTENT_LIMIT:
            return Said(text)
    return Said(_fenced(gist_of(document, _ANSWER), before), whole_of(document, _ANSWER))


def _fenced(document: Mapping[str, Any], before: str) -> str:
    text = json_shown(document).replace("`", "\\u0060")
    return f"{before}\n```json\n{text}\n```".strip()


def words_message(words: str, before: str = "") -> Said:
    """Return kept words as literal text. Of long ones the beginning and the end are shown, for the
    end says what to do, and all of it is attached."""
    text = f"{before} {literal(words)}".strip()
    if length(text) <= CONTENT_LIMIT:
        return Said(text)
    shown = f"{_clipped(text, _HEAD)}\n[… the whole text is attached …]\n{literal(words[-_TAIL:])}"
    return Said(shown, Attachment("message.txt", words + "\n"))


def _pieces(reply: CommandReply) -> Iterator[str]:
    for block in reply.blocks:
        if isinstance(block, Table):
            yield from _table(block)
        else:
            yield from pieces_of(literal(block))


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{literal(table.title)}**"
    for row in table.rows:
        cells = [cell for cell in row if cell]
        if cells:
            yield from pieces_of("• " + literal(" · ".join(cells)))


def pieces_of(text: str) -> Iterator[str]:
    """Yield literal text in pieces that fit into a message; no piece ends within an escape."""
    room, place = CONTENT_LIMIT - _BESIDE, 0
    while length(text[place : place + room + 1]) > room:
        piece = text[place : place + room // 2]
        if (len(piece) - len(piece.rstrip("\\"))) % 2:
            piece = piece[:-1]  # this backslash escapes the next character
        yield piece
        place += len(piece)
    yield text[place:]


def _packed(pieces: list[str], room: int) -> Iterator[str]:
    text = ""
    for piece in pieces:
        if text and length(text) + 1 + length(piece) > room:
            yield text
            text = ""
        text = f"{text}\n{piece}" if text else piece
    if text.strip():
        yield text
