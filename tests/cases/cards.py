"""The card of a proposal, and what stands in one place of it."""

from __future__ import annotations

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.chat.cards.content import CardContent, Field
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, a_document, a_policy, a_proposal


def a_card(proposal: Proposal, *reviews: Review, **changes: object) -> CardContent:
    """Return the card at noon; `changes` are those of the policy."""
    policy = a_policy(**changes)
    return card_of(proposal, Beside(policy, NOW_MS, reviews))


def mail_with(**parameters: object) -> Proposal:
    """Return a mail that waits for people, with parameters changed or added."""
    given = MAIL["parameters"] | parameters
    return a_proposal(a_document(MAIL, parameters=given), state=State.SENTINEL_APPROVED)


def written(content: CardContent, label: str) -> Field:
    """Return the field of this label that the agent wrote."""
    return next(each for each in content.written if each.label == label)


def fact(content: CardContent, label: str) -> str:
    """Return what the bot says under this label."""
    return next(each.text for each in content.facts if each.label == label)
