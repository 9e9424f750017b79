"""Turns reactions, buttons and replies of any platform into acts, and hands them to the law.

It keeps nothing itself; `noting.py` writes down what the answer to an emoji tells about its card.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, assert_never

from bot.chat.hearing.event_ids import card_event
from bot.chat.hearing.known import HIDDEN
from bot.chat.hearing.notes import Notes
from bot.chat.hearing.noting import note_answered, note_seen_off, note_unchanged
from bot.chat.hearing.refused import heard_already, written
from bot.chat.hearing.senders import as_known_now
from bot.chat.hearing.shown import shown_when_heard
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.unplaced import Unplaced
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.heard import OVERDUE_MS
from lifecycle.people.explaining import stopper_of
from lifecycle.questions import asked_in, may_answer
from lifecycle.records import Card
from lifecycle.text.folding import seen
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.surfaces")

#: Refusals that a person need not be told of.
_SILENT: Final = frozenset({"duplicate_event", "already_counted"})
_ELSEWHERE: Final = Reply("Decisions count in the configured channel alone.", "wrong_place")
#: The answer to a decision on a card of which nothing is known (any more).
UNKNOWN: Final = Reply(
    "This card is not known here (any more), so nothing was changed. What is open is shown by the "
    "command pending.",
    "unknown_proposal",
)
#: The answer to an approval while a ❌ may stand on a card that cannot be read.
UNREAD: Final = Reply(
    "The card cannot be read just now, and somebody may have stopped it meanwhile; nothing was "
    "changed. Approve again in a moment.",
    "still_running",
    passing=True,
)
_NOT_THE_CARD: Final = "This is not the card that counts; nothing was changed. Decide on that one."
_OF_ENDED: Final = "This is not the card that counts, and nothing was changed: {} is {} already."
_NO_ANSWER: Final = (
    "An emoji answers no question; nothing was changed. Answer with: answer {} <words>"
)


def hint_of(reply: Reply | None) -> str | None:
    """Return the one short note to the person, None if none is due."""
    if reply is None or reply.done or reply.code in _SILENT:
        return None
    return reply.words


class Incoming:
    """Makes acts of what was done on a message; `in_place` says: in the configured channel."""

    def __init__(self, workflow: Workflow, surface: str) -> None:
        self._workflow = workflow
        self._surface = surface
        self._logged = Notes(workflow.world.clock)
        self.unplaced = Unplaced(workflow.world, surface, self.card)

    async def reacted(
        self,
        sender: Sender,
        message_id: str,
        signal: Signal,
        *,
        added: bool,
        in_place: bool,
        given_ms: int | None = None,
    ) -> Reply | None:
        """Carry out an emoji; return None if it means nothing and nobody need be told.

        UNKNOWN if it stands on no card and no question: its giver is told if it looks like a card.
        `given_ms` is when it was given (ms UTC), if the platform may tell of it late. Raises
        StoreUnavailable if a ✅ was taken off and that cannot be written now.
        """
        world = self._workflow.world
        card = await self.card(message_id) if in_place else None
        if not added and (card is None or signal is Signal.STOP):
            if card is not None:
                await note_seen_off(world, card, message_id, sender, signal)
            return None
        if not in_place:
            await self._workflow.note_ignored("", sender, "wrong_place")
            return _ELSEWHERE
        if card is None:
            return await self._unknown(sender, message_id)
        since = given_ms if added and message_id in card.message_ids[-1:] else None
        if since is not None and await self._found(card, sender, signal, since):
            return None
        place = self._place(card, message_id, sender)
        event_id = sender.event_id and card_event(message_id, sender.account, sender.event_id)
        sender = replace(sender, event_id=event_id)
        reply = await self._acted(card, sender, place, signal, added=added)
        await note_answered(world, card, place, sender, signal, reply, added=added)
        return reply

    async def seen_gone(self, card: Card, message_id: str, sender: Sender) -> None:
        """Note that a ✅ that counted for nothing was taken off: the next one is a new act."""
        await note_unchanged(self._workflow.world, card, message_id, sender, added=False)

    async def pressed(
        self,
        sender: Sender,
        message_id: str,
        signal: Signal,
        reason: str,
        *,
        in_place: bool,
    ) -> Reply:
        """Carry out a button of a card, by the same law as the emoji. A reason of which nobody sees
        a word is none: words are awaited. Raises SurfaceFailed if the card may not be written down
        yet."""
        if not in_place:
            await self._workflow.note_ignored("", sender, "wrong_place")
            return _ELSEWHERE
        card = await self.unplaced.card(message_id, stops=signal is Signal.STOP)
        if card is None:
            return await self._unknown(sender, message_id)
        place = self._place(card, message_id, sender)
        match signal:
            case Signal.APPROVE:
                known = as_known_now(self._workflow.policy, sender)
                return await self._workflow.approve(card.proposal_id, known, reason, card=place)
            case Signal.STOP:
                return await self._workflow.reject(card.proposal_id, sender, reason, card=place)
            case _:
                assert_never(signal)

    async def replied(self, sender: Sender, message_id: str, words: str) -> Reply | None:
        """Take words under a card as the reason of the sender's bare ❌, or under a question as its
        answer; return None if neither waits for the sender's words, or nobody sees a word.

        Raises SurfaceFailed if a ❌ was heard there that is not processed yet: it may be theirs.
        """
        if not seen(words):
            return None
        card = await self.card(message_id)
        stopped = sender.identity is not None and self._is_being_stopped(card, message_id, sender)
        if card is not None and await self._waits(card, sender):
            return await self._workflow.give_reason(card.proposal_id, sender, words.strip())
        if stopped:
            raise SurfaceFailed("a ❌ there is not carried out yet")
        return await self._answered(sender, message_id, words.strip()) if card is None else None

    def _is_being_stopped(self, card: Card | None, message_id: str, sender: Sender) -> bool:
        """Return whether a ❌ heard there less than a minute ago is still being processed, or one
        of the sender's waits for the store."""
        heard, now_ms = self._workflow.world.heard, self._workflow.world.clock.now_ms()
        if card is None:
            stops = [each for each in heard.unplaced() if each.message_id == message_id]
        else:
            if self._workflow.waits_for_words(card.proposal_id, sender):
                return True
            stops = [each for each in heard.of(card.proposal_id) if each.decides]
        return any(now_ms - each.at_ms < OVERDUE_MS for each in stops)

    async def _answered(self, sender: Sender, message_id: str, words: str) -> Reply | None:
        """Give an agent its answer, which is the first reply of a reviewer; all else is talk."""
        world = self._workflow.world
        if not may_answer(world.moment(), sender):
            return None
        asked_id = await world.store.read(lambda tx: asked_in(tx, self._surface, message_id))
        if asked_id is None:
            return None
        here = replace(sender, place=message_id)
        return await self._workflow.answer_question(asked_id, here, words)

    async def _acted(
        self, card: Card, sender: Sender, place: CardPlace, signal: Signal, *, added: bool
    ) -> Reply:
        workflow = self._workflow
        match signal:
            case Signal.APPROVE if added:
                known = as_known_now(workflow.policy, sender)
                return await workflow.approve(card.proposal_id, known, card=place)
            case Signal.APPROVE:
                return written(await workflow.take_back(card.proposal_id, sender, card=place))
            case Signal.STOP:
                return await workflow.reject(card.proposal_id, sender, card=place)
            case _:
                assert_never(signal)

    def _place(self, card: Card, message_id: str, sender: Sender) -> CardPlace:
        shown = HIDDEN if card.shown_version == HIDDEN else shown_when_heard(card)
        heard_at_ms = self._workflow.world.heard.since_ms(self._surface, sender.event_id)
        return CardPlace(self._surface, message_id, shown, heard_at_ms)

    async def card(self, message_id: str) -> Card | None:
        """Return the card that stands in this message, or stood there."""
        store = self._workflow.world.store
        return await store.read(lambda tx: tx.cards.find(self._surface, message_id))

    async def open(self, card: Card) -> bool:
        """Return whether the card's proposal has not ended: else nobody reads the card."""
        store = self._workflow.world.store
        found = await store.read(lambda tx: tx.proposals.get(card.proposal_id))
        return found is not None and not found.terminal

    async def on_no_card(self, proposal_id: str) -> Reply | None:
        """Return why a decision had no effect on a message that looks like a card of this proposal
        and is in no row; None if that card may not be written down yet: then it is read."""
        store = self._workflow.world.store
        proposal = await store.read(lambda tx: tx.proposals.get(proposal_id))
        if proposal is None:
            return UNKNOWN
        card = await store.read(lambda tx: tx.cards.get(proposal_id, self._surface))
        if card is None or not card.message_ids:
            return None
        ended = _OF_ENDED.format(proposal_id, proposal.state)
        return Reply(ended if proposal.terminal else _NOT_THE_CARD, "stale_card", proposal_id)

    async def _waits(self, card: Card, sender: Sender) -> bool:
        world, now_ms = self._workflow.world, self._workflow.world.clock.now_ms()
        proposal = await world.store.read(lambda tx: tx.proposals.get(card.proposal_id))
        if proposal is None or proposal.reason_due_ms is None or sender.identity is None:
            return False
        return stopper_of(proposal) == sender.identity and now_ms < proposal.reason_due_ms

    async def _found(self, card: Card, sender: Sender, signal: Signal, given_ms: int) -> bool:
        """Return whether an emoji that is told of late was found on its card before."""
        act, store = (card, sender, signal, given_ms), self._workflow.world.store
        policy = self._workflow.policy
        return await store.read(lambda tx: heard_already(tx, policy, *act))

    async def _unknown(self, sender: Sender, message_id: str) -> Reply:
        store = self._workflow.world.store
        asked_id = await store.read(lambda tx: asked_in(tx, self._surface, message_id))
        await self._workflow.note_ignored("", sender, "unknown_proposal")
        if asked_id is not None:
            return Reply(_NO_ANSWER.format(asked_id), UNKNOWN.code)
        if self._logged.first(message_id):
            words = "%s: a decision on message %s, which is no card that the store knows"
            log.warning(words, self._surface, message_id)
        return UNKNOWN
