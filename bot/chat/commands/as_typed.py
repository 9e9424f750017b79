"""Writes the commands in a sentence as they are typed where the sentence is read.

The law names a remedy by its bare words, `retry p1`, for it knows no platform. Somebody who reads
that on Discord or Slack and types just that is not heard there: a prefix stands before it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from bot.chat.cards.card_facts import ATTENTION
from bot.chat.cards.content import CardContent
from bot.chat.commands.help import COMMANDS
from bot.chat.commands.listing import card_reply
from bot.chat.commands.replies import CommandReply, Table

_ABOUT_ONE: Final = "|".join(
    re.escape(word) for word, (behind, _) in COMMANDS.items() if behind.startswith("<id>")
)
#: Not within a longer word, not behind a prefix, and not a command of the shell.
_ALONE: Final = r"(?<![\w/!@-])(?<!signoff )"
#: Remedies without the id of a proposal, known by the law's words around them: the same words may
#: stand in a reason or in a question.
_OF_NONE: Final = (
    r"(?<=lets go of that: )retry (?=ID\b)"
    r"|(?:(?<=that stop: )|(?<=a freeze: ))thaw(?=[.;)]|$)"
    r"|(?<= s, )thaw(?= lets go of it)|(?<=and type )thaw(?= again)"
    r"|(?<=Answer with: )answer (?=\S+ <words>$)"
    r"|(?<=What is open is shown by the command )pending(?=\.(?: \(|$))"
)
_ANY: Final = "|".join(map(re.escape, COMMANDS))
#: The code of a refusal ends its answer, so that nothing which the answer quotes stands before it.
_CODE: Final = r" \([a-z_]+\)\Z"
#: Commands in an answer to whoever wrote something else.
_WRITTEN: Final = (
    rf"(?:(?<=Write: )|(?<=Say why: ))(?:{_ANY})\b"
    rf"|(?<= Did you mean )(?:{_ANY})(?=\? All of them: help{_CODE})"
    rf"|(?<= All of them: )(?:help|rules)(?={_CODE})|(?<='; see: )pending(?={_CODE})"
    r"|(?<=: `)pending(?=` lists those that wait\."
    rf"(?: Of a longer id, \d+ characters are enough\.)?{_CODE})"
)
#: The last line of a list that has more pages.
_MORE: Final = r"(?<=\AMore: )pending (?=\d+\Z)"


def as_typed(words: str, prefix: str, proposal_id: str | None) -> str:
    """Return the words with `prefix` before each command that names this proposal, and before the
    remedies that name none."""
    commands = _OF_NONE
    if proposal_id is not None:
        its_id = rf"{re.escape(proposal_id)}(?![\w-]|\.[\w.-])"
        commands = rf"{_ALONE}(?:{_ABOUT_ONE}) (?={its_id})|{_OF_NONE}"
    return re.sub(commands, lambda found: prefix + found[0], words)


def card_as_typed(content: CardContent, prefix: str) -> CardContent:
    """Return the card with `prefix` before its commands, and before those that its attention names.

    What else it says stays as it is, for that quotes what others wrote.
    """
    facts = tuple(
        replace(each, text=as_typed(each.text, prefix, content.proposal_id))
        if each.label == ATTENTION
        else each
        for each in content.facts
    )
    commands = tuple(f"{prefix}{command}" for command in content.commands)
    return replace(content, facts=facts, commands=commands)


def answer_as_typed(reply: CommandReply, prefix: str) -> CommandReply:
    """Return the answer with `prefix` before the commands that it tells somebody to type.

    What else it shows or lists of proposals stays as it is: that quotes what others wrote.
    """
    if reply.card is not None:
        return card_reply(card_as_typed(reply.card, prefix))
    ours = reply.about is not None or reply.code is not None

    def told(block: str | Table) -> str | Table:
        if isinstance(block, Table):
            return _table(block, prefix) if block.remedies else block
        written = re.sub(_WRITTEN if ours else _MORE, lambda found: prefix + found[0], block)
        return as_typed(written, prefix, reply.about) if ours else written

    return replace(reply, blocks=tuple(map(told, reply.blocks)))


def _table(table: Table, prefix: str) -> Table:
    rows = ((*row[:-1], as_typed(row[-1], prefix, row[0])) for row in table.rows)
    return replace(table, rows=tuple(rows))
