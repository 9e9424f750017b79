"""Makes kept messages true at the moment in which they are told.

A surface may be away for hours. Words that speak of now then say of when they are, and calls for
people whose cause is over are not made any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.chat.cards.spans import moment_words
from lifecycle.freezing import frozen
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import Attention, Proposal
from lifecycle.questions import is_answered
from lifecycle.records import Card, Message
from lifecycle.state import State

#: A message that is told sooner than this after it was written is news.
_LATE_MS: Final = 60_000
#: What the key of an announcement begins with that calls people to a proposal.
_CALLS: Final = "attention"
_UNDECIDED: Final = frozenset({State.PENDING, State.SENTINEL_APPROVED})


def is_old(message: Message, now_ms: int) -> bool:
    """Return whether what a message says may not hold any more: it is late, or its surface was
    away."""
    return message.attempts > 0 or _is_late(message, now_ms)


def card_in_question(message: Message, tx: Transaction) -> Card | None:
    """Return the card of which it says that it cannot be shown, unless that stands by now; a view.

    None as well if it says nothing of the kind, or if its surface was not away itself.
    """
    about = message.proposal_id
    if about is None or not message.attempts or not _is_about_its_card(message):
        return None
    card = tx.cards.get(about, message.surface)
    return None if card is None or card.delivered else card


def as_told_now(message: Message, now_ms: int, tx: Transaction) -> Message | None:
    """Return a message as it can be told now, None if what it calls for is over; a view.

    If its proposal cannot be read, it is told: nobody can say that it is over.
    """
    try:
        proposal = tx.proposals.get(message.proposal_id) if message.proposal_id else None
        if is_answered(tx, message) or (proposal is not None and _is_over(message, proposal)):
            return None
    except RowUnreadable:
        proposal = None
    words = message.body.get("text")
    if not isinstance(words, str) or not _is_late(message, now_ms):
        return message
    since = f", and {proposal.state} since" if proposal is not None and proposal.terminal else ""
    if message.key.startswith("freeze:") and frozen(tx) is None:
        since = ", and thawed since"
    told = f"(Told late: of {moment_words(message.created_at_ms)}{since}.) {words}"
    return replace(message, body={**message.body, "text": told})


def _is_late(message: Message, now_ms: int) -> bool:
    return now_ms - message.created_at_ms >= _LATE_MS


def _is_over(message: Message, proposal: Proposal) -> bool:
    """Return whether a message calls for something, and nothing is to be done for it any more."""
    attention = _attention_of(message)
    if attention is not None:
        return proposal.attention is None or proposal.attention.value != attention
    if message.kind == "permit":
        return not proposal.permit_waits
    reminds = message.key.startswith("remind:")
    return reminds and (proposal.state not in _UNDECIDED or proposal.opener is not None)


def _attention_of(message: Message) -> str | None:
    """Return the attention for which it calls people, or of which it tells a proposer."""
    if _is_about_its_card(message):
        return Attention.CARD_UNDELIVERED.value
    kind, _, rest = message.key.partition(":")
    if kind == _CALLS:
        return rest.removeprefix(f"{message.proposal_id}:").partition(":")[0]
    return Attention.OVERDUE.value if kind == "overdue" else None


def _is_about_its_card(message: Message) -> bool:
    kinds = f"{_CALLS}:{message.proposal_id}:{Attention.CARD_UNDELIVERED}:", "undelivered:"
    return message.key.startswith(kinds)
