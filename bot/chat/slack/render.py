"""Renders a card in Block Kit: the bot's fields in two columns, what an agent wrote as plain text.

Twin: `discord/render.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.chat.cards.content import CardContent, Colour, Field
from bot.chat.cards.fitting import Attachment, Limits, beginning, fit
from bot.chat.cards.spans import without_span
from bot.chat.commands.as_typed import card_as_typed
from bot.chat.hearing.signals import Signal
from bot.chat.slack.text import escape, measure

Block = dict[str, Any]

#: Slack takes 50 blocks, 3,000 characters a section, 2,000 a field, about 13,000 in all.
LIMITS: Final = Limits(value=1900, label=150, fields=36, total=9_000, measure=measure)
_FACTS_A_BLOCK: Final = 5
_LONGEST_TEXT: Final = 2_000
_LONGEST_HEADER: Final = 150
_LONGEST_LINE: Final = 2_900
#: So much of too long words is shown: of the beginning as escaped, of the end as written.
_HEAD: Final = 2_000
_TAIL: Final = 300
_REFUSED: Final = "Slack refused the whole card; all of it stands in the file in this thread."
_CIRCLES: Final = {
    Colour.CHECKING: "⚪",
    Colour.WAITING: "🟡",
    Colour.RUNNING: "🔵",
    Colour.DONE: "🟢",
    Colour.UNDONE: "🟣",
    Colour.REJECTED: "🔴",
    Colour.ATTENTION: "🟠",
}
_FOOTER: Final = re.compile(r"([A-Za-z0-9._-]{1,64}) · sha256:")
_CALL: Final = "<!subteam^"
PREFIX: Final = "/signoff "
APPROVE: Final = "signoff_approve"
REJECT: Final = "signoff_reject"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message to send. `text` is what a notification shows; `attachment` goes into the thread."""

    text: str
    blocks: list[Block]
    attachment: Attachment | None = None


def rendered(content: CardContent, call: str | None = None) -> Rendered:
    """Return the whole card within Slack's limits; `call` is the user group to mention, if any.

    It needs no event loop: large cards are rendered in a thread.
    """
    fitted = fit(card_as_typed(content, PREFIX), LIMITS)
    shown = fitted.content
    blocks = [
        header(shown.title),
        *_facts(shown.facts),
        {"type": "divider"},
        context(plain(shown.written_by)),
        *(_written(field) for field in shown.written),
        *_lines(shown.warnings),
        *_instructions(shown),
        *_buttons(shown),
        context(plain(f"{_CIRCLES[shown.colour]} {shown.footer}")),
    ]
    if call is not None:
        blocks.insert(1, {"type": "section", "text": {"type": "mrkdwn", "text": called(call)}})
    return Rendered(_summary(shown), [_unfolded(each) for each in blocks], fitted.attachment)


def _unfolded(block: Block) -> Block:
    """Tell Slack to show a section whole; else it may fold a long one behind "see more"."""
    return block | {"expand": True} if block["type"] == "section" else block


def short_card(content: CardContent) -> Rendered:
    """Return the shortest form of a card, all of it attached, for when Slack refuses it whole."""
    content = card_as_typed(content, PREFIX)
    whole = fit(content, replace(LIMITS, value=1, total=1))
    blocks = [
        header(content.title),
        {"type": "section", "text": plain(_REFUSED)},
        *_instructions(content),
        *_buttons(content),
        context(plain(f"{_CIRCLES[content.colour]} {content.footer}")),
    ]
    return Rendered(_summary(content), blocks, whole.attachment)


def card_in(blocks: Sequence[Block]) -> str | None:
    """Return which proposal's card these blocks are, by their last line; None if they are none."""
    lines = [element.get("text", "") for block in blocks for element in block.get("elements") or ()]
    found = _FOOTER.search(lines[-1]) if lines and isinstance(lines[-1], str) else None
    return found[1] if found else None


def called(usergroup: str) -> str:
    """Return the only mention that the bot makes."""
    return f"{_CALL}{usergroup}> this waits for you"


def calls_in(blocks: Sequence[Block]) -> bool:
    """Say whether blocks of ours call people; what others wrote is escaped and calls nobody."""
    return _CALL in str(blocks)


def words_message(words: str, name: str) -> Rendered:
    """Return words as literal text.

    Of long ones the beginning and the end are shown, for the end says what to do, and all of it is
    attached as the file `name`.
    """
    if measure(words) <= _LONGEST_LINE:
        return Rendered(escape(words), [_section(words)])
    head = beginning(words, _HEAD, measure)
    aside = context(plain(f"[… the whole text is in this thread: {name} …]"))
    shown = [_section(head), aside, _section(words[-_TAIL:])]
    return Rendered(escape(head), shown, Attachment(name, words + "\n"))


def _summary(content: CardContent) -> str:
    state = next((field.text for field in content.facts if field.label == "State"), "")
    return escape(f"{content.title} · {content.proposal_id} · {state}")[:_LONGEST_TEXT]


def _section(text: str) -> Block:
    return {"type": "section", "text": plain(text)}


def header(title: str) -> Block:
    """Return a header block, cut to what Slack takes."""
    text = title if measure(title) <= _LONGEST_HEADER else f"{title[: _LONGEST_HEADER - 30]}…"
    return {"type": "header", "text": {"type": "plain_text", "text": escape(text), "emoji": True}}


def _facts(facts: Sequence[Field]) -> Iterator[Block]:
    for start in range(0, len(facts), _FACTS_A_BLOCK):
        pairs = facts[start : start + _FACTS_A_BLOCK]
        texts = [text for fact in pairs for text in (_label(fact.label), _fact(fact))]
        yield {"type": "section", "fields": texts}


def _fact(fact: Field) -> Block:
    """Return a fact; beside a moment Slack itself keeps current how far away it is."""
    if fact.at_ms is None:
        return plain(fact.text)
    absolute, seconds = escape(without_span(fact.text)), fact.at_ms // 1000
    text = f"{absolute} (<!date^{seconds}^{{ago}}|UTC>)"
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _written(field: Field) -> Block:
    return {"type": "section", "text": plain(f"{field.label}:\n{field.text}")}


def _lines(warnings: Sequence[str]) -> Iterator[Block]:
    joined = "\n".join(warnings)
    if joined:
        yield _section(joined)


def _instructions(content: CardContent) -> Iterator[Block]:
    lines = [content.react] if content.react else []
    lines += [f"or: {command}" for command in content.commands]
    if lines:
        yield {"type": "section", "text": plain("\n".join(lines))}


def _buttons(content: CardContent) -> Iterator[Block]:
    """Yield the emoji's decisions as buttons, for whoever does not find the emoji."""
    buttons = []
    if Signal.APPROVE.character in content.react:
        buttons.append(_button("Approve", APPROVE, "primary", content.proposal_id))
    if Signal.STOP.character in content.react:
        undoes = "roll back" in content.react
        label = "Roll back…" if undoes else "Reject…"
        buttons.append(_button(label, REJECT, "danger", content.proposal_id))
    if buttons:
        yield {"type": "actions", "elements": buttons}


def _button(label: str, action_id: str, style: str, value: str) -> Block:
    return {
        "type": "button",
        "text": {"type": "plain_text", "text": label},
        "action_id": action_id,
        "style": style,
        "value": value,
    }


def _label(label: str) -> Block:
    """Return a label in bold; only labels of the bot's own are passed."""
    return {"type": "mrkdwn", "text": f"*{escape(label)}*", "verbatim": True}


def plain(text: str) -> Block:
    """Return a block of literal text: no markup, no emoji names, no mention."""
    return {"type": "plain_text", "text": escape(text) or " ", "emoji": False}


def context(text: Block) -> Block:
    """Return a block that shows a line in small print."""
    return {"type": "context", "elements": [text]}
