"""Applies decisions found on a card that nobody told the bot of, for it was away (section 6).

Notes about single emoji are listed in `standing_in.py`. Only memory holds who is to be told that
their ✅ was refused, until `unheeded` is asked; after a restart nobody is told again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from bot.chat.hearing.acted import turn_of
from bot.chat.hearing.beside import note_beside, stands_beside
from bot.chat.hearing.event_ids import card_lane, gone_event, late_event
from bot.chat.hearing.found import Found, may_be_a_stop
from bot.chat.hearing.given_since import (
    FOR_ANOTHER,
    is_whole,
    may_be_anothers,
    note_whole_reading,
    was_heard_of,
    with_heirs,
)
from bot.chat.hearing.hanging import given_once_more, hanging, taking_back, without
from bot.chat.hearing.known import (
    Known,
    closed_of,
    known_of,
    note_changed,
    note_cleared,
    note_seeded,
    seen_off,
    stops,
)
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.others import Elsewhere
from bot.chat.hearing.refused import (
    counted_again,
    counted_for_another,
    gone_from,
    leaves_a_note,
    note_answer,
    note_counted,
    note_gone,
    says_anew,
    written,
)
from bot.chat.hearing.refused_emoji import note_refused
from bot.chat.hearing.senders import as_known_now, sender_of
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.unjudged import given_ms
from bot.chat.hearing.void import tell_void
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.hands import user_of
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.workflow import Workflow

#: The code of a ✅ that was given for what a card showed before, or by another owner.
_VOID: Final = "stale_card"


class CatchingUp:
    """Carries out what was found, marked `found_late`; authority is judged as it is now."""

    def __init__(self, workflow: Workflow, surface: str, lanes: Lanes) -> None:
        """`lanes` are the lanes of the surface's inbox, in which heard events wait."""
        self._workflow = workflow
        self._surface = surface
        self._lanes = lanes
        self.elsewhere = Elsewhere(workflow, surface)
        #: By proposal: whose ✅ was found and refused for good since `unheeded` was last asked.
        self._refused: dict[str, list[tuple[Sender, Reply]]] = {}
        self._alone = WeakValueDictionary[str, asyncio.Lock]()

    def alone(self, message_id: str) -> asyncio.Lock:
        """Return the lock held while a card is read and applied, and while a ✅'s removal is
        processed: a ✅ that is found and goes meanwhile could be taken back before it counts."""
        return self._alone.setdefault(message_id, asyncio.Lock())

    def waiting(self, card: Card) -> Collection[str]:
        """Return the accounts (as the platform names them) of which a ✅, given or taken off, waits
        for this card. Their ✅ is left to that event: it tells when, and by which owner."""
        return self._lanes.users(card_lane(card.message_ids[-1], Signal.APPROVE, ""))

    async def apply(self, card: Card, found: Found) -> int:
        """Bring the law up to date with the card; return how many decisions were new.

        ❌ comes first: it beats a ✅ found with it. No ✅ that is found ends a window early, for
        nobody knows what its card said then. Raises SurfaceFailed if a ✅ must wait for a ❌ that
        may stand elsewhere, or for what a former process kept: it is found again.
        """
        policy, store = self._workflow.policy, self._workflow.world.store
        known = await store.read(lambda tx: known_of(tx, policy, card))
        if known is None:
            return await self.too_late(card, found)
        stopped = await self._stopped(card, found, known)
        ends = stopped or known.proposal.state is State.EXECUTING
        # This precedes the note of what is gone: if it fails, the next reading finds it gone again.
        taken_back = 0 if ends else await self._taken_back(card, found, known)
        await self._forgotten(card, found, known)
        if found.seeded is known.unseeded:
            await self._workflow.world.write(partial(note_seeded, card=card, seeded=found.seeded))
        if ends:
            return stopped
        approved = await self._approved(card, found, known)
        await self._read_whole(card, found, known)
        return taken_back + approved

    async def _read_whole(self, card: Card, found: Found, known: Known) -> None:
        """Note that what is found there from now on was given after accounts last changed hands,
        if this reading was asked for after that."""
        world, asked_ms = self._workflow.world, found.asked_ms
        hands = world.hands
        if is_whole(hands, known.card) or asked_ms is None or asked_ms <= hands.changed_ms:
            return
        await world.write(lambda tx: note_whole_reading(tx, hands, card, found.approving))

    async def too_late(self, card: Card, found: Found) -> int:
        """Give the law each ❌ found after the window closed, as an attempt; it tells people."""
        policy, store = self._workflow.policy, self._workflow.world.store
        closed = await store.read(lambda tx: closed_of(tx, card)) if found.stopping else None
        if closed is None:
            return 0
        message_id, place = card.message_ids[-1], self._place(card)
        for sender in (each for each in found.stopping if stops(policy, closed, each)):
            late = replace(sender, event_id=late_event(message_id, sender, Signal.STOP, "closed"))
            await self._workflow.reject(card.proposal_id, late, card=place, found_late=True)
        return 0

    async def stop_first(self, card: Card, found: Found) -> int:
        """Carry out each ❌ of people who may stop it before a ✅ is counted; return how many. Take
        back what was approved here by a ✅ that is gone: it must open nothing with the new one.

        All else is left to its event: one attempt in the trail. Raises StoreUnavailable.
        """
        policy, store = self._workflow.policy, self._workflow.world.store
        known = await store.read(lambda tx: known_of(tx, policy, card))
        if known is None:
            return 0
        able = [each for each in self._stopping(found, known) if may_be_a_stop(policy, known, each)]
        stopped = await self._stopped(card, replace(found, stopping=able), known)
        if not stopped and known.proposal.state is not State.EXECUTING:
            await self._taken_back(card, found, known)
            world, waiting = self._workflow.world, self.waiting(card)
            await note_beside(world, card, known, found.approving, waiting)
        return stopped

    async def may_be_gone(self, card: Card, there: Collection[str]) -> bool:
        """Return whether an approval hangs on a ✅ here that is of none of these accounts, as the
        platform names them."""
        policy, store = self._workflow.policy, self._workflow.world.store
        known = await store.read(lambda tx: known_of(tx, policy, card))
        named = (each.accounts.get(self._surface, "") for each in policy.people.values())
        whole = {user_of(account): account for account in named}
        found = Found([sender_of(policy, self._surface, whole.get(each, each)) for each in there])
        return known is not None and bool(self._hanging(card, found, known))

    async def unheeded(self, card: Card, found: Found) -> Sequence[tuple[Sender, Reply]]:
        """Return who is to be told, once, that their ✅ counts for nothing: their approval is void,
        or the ✅ was found and refused as `stale_card`."""
        refused = self._refused.pop(card.proposal_id, [])
        return [*refused, *await tell_void(self._workflow, card, found)]

    async def _stopped(self, card: Card, found: Found, known: Known) -> int:
        stops = [r.person for r in known.reviews if r.decision is not Decision.APPROVE]
        # If the card is posted anew meanwhile, nobody finds this ❌ again.
        count, place = 0, replace(self._place(card), heard_at_ms=found.asked_ms)
        for sender in (each for each in self._stopping(found, known) if each.id not in stops):
            late = self._late(card, sender, Signal.STOP, known)
            reply = await self._workflow.reject(card.proposal_id, late, card=place, found_late=True)
            await self._noted(card, sender, Signal.STOP, reply)
            count += reply.done
        return count

    def _stopping(self, found: Found, known: Known) -> Sequence[Sender]:
        return with_heirs(self._workflow.world.hands, known.card, found.stopping)

    async def _noted(self, card: Card, sender: Sender, signal: Signal, reply: Reply) -> None:
        """Note that an emoji that was found was refused, or not judged, until it is seen gone."""
        world, now_ms = self._workflow.world, self._workflow.world.clock.now_ms()
        if leaves_a_note(reply):
            await world.write(lambda tx: note_answer(tx, card, sender, signal, reply, now_ms))

    async def _forgotten(self, card: Card, found: Found, known: Known) -> None:
        """Note what is gone: an emoji that was refused or is void is a new act if it is found
        again. Note ✅ beside an approval given elsewhere: they are no new act, and seen to go."""
        stopping = {(each.account, Signal.STOP) for each in found.stopping}
        approving = {(each.account, Signal.APPROVE) for each in found.approving}
        policy, now_ms = self._workflow.policy, self._workflow.world.clock.now_ms()
        gone = gone_from(known.card, stopping | approving, found.asked_ms, now_ms)
        absent = {who: a for who, a in without(policy, self._surface, found.approving).items() if a}
        off = {who: absent[who] for who in sorted(seen_off(known, absent, found.asked_ms))}
        again = counted_again(known, found.approving)
        more = given_once_more(known, found.approving, found.asked_ms)
        beside = stands_beside(known, found.approving, found.waiting)
        if not (gone or off or again or more or beside):
            return
        for account in (account for account, signal in gone if signal is Signal.APPROVE):
            if (person := sender_of(policy, self._surface, account).id) is not None:
                off[person] = account

        def unit(tx: Transaction) -> None:
            note_gone(tx, card, gone)
            note_counted(tx, card, again)
            for sender in beside:
                note_refused(tx, card, sender, Signal.APPROVE, now_ms)
            changed = partial(note_changed, tx, card, shown=card.shown_version)
            for person, account in off.items():
                changed(person, now_ms=now_ms, account=account, added=False)
            for sender in more:
                at_ms = found.asked_ms or now_ms
                changed(str(sender.id), now_ms=at_ms, account=sender.account, added=True)

        await self._workflow.world.write(unit)

    async def _approved(self, card: Card, found: Found, known: Known) -> int:
        left = (each for each in found.approving if user_of(each.account) not in found.waiting)
        new = [sender for sender in left if says_anew(sender, known)]
        # If a unit is owed, a note whose a ✅ was when it was heard may not be stored yet.
        whole = self._lanes.whole and not self._workflow.world.units.owes()
        if new and not (whole and await self.elsewhere.heard(card.proposal_id)):
            raise SurfaceFailed(f"{card.proposal_id}: a ❌ may stand elsewhere, or a word be kept")
        count, policy = 0, self._workflow.policy
        for seen in new:
            sender = as_known_now(policy, seen)
            # It may have counted meanwhile, by its own event or elsewhere, and been taken back.
            fresh = await self._workflow.world.store.read(lambda tx: known_of(tx, policy, card))
            if fresh is None or not says_anew(sender, fresh):
                continue
            moved = sender.identity not in (None, seen.identity)  # while the others were heard
            reply = await self._given(card, sender, fresh, moved=moved)
            await self._noted(card, sender, Signal.APPROVE, reply)
            count += reply.done
            if reply.code == _VOID:
                self._refused.setdefault(card.proposal_id, []).append((sender, reply))
        return count

    async def _given(self, card: Card, sender: Sender, known: Known, *, moved: bool) -> Reply:
        """Give a ✅ that was found to the law, unless it is, or may be, another owner's, or its
        account changed hands after it was found (`moved`): then it is refused as `stale_card`."""
        late = self._late(card, sender, Signal.APPROVE, known)
        late = replace(late, heard_at_ms=given_ms(known.card, sender))
        if moved or self._of_another(sender, known):
            of_theirs = replace(late, event_id=f"{late.event_id}.of:{sender.id}")
            await self._workflow.note_ignored(card.proposal_id, of_theirs, _VOID)
            return Reply(FOR_ANOTHER, _VOID, card.proposal_id)
        place = replace(self._place(card), shown_version=known.shown_to(sender.id or ""))
        return await self._workflow.approve(card.proposal_id, late, card=place, found_late=True)

    def _of_another(self, sender: Sender, known: Known) -> bool:
        """Return whether a ✅ that is found has counted for a former owner of its account, or may
        have been given by one."""
        hands = self._workflow.world.hands
        if sender.id is None or was_heard_of(hands, known.card, sender):
            return False  # nobody's, or the platform does not vouch for them just now; or theirs
        return counted_for_another(sender, known) or may_be_anothers(hands, known, sender)

    async def _taken_back(self, card: Card, found: Found, known: Known) -> int:
        """Take back approvals whose ✅ here is gone, unless the card was cleared; say how many."""
        gone = self._hanging(card, found, known)
        if gone and not found.seeded and not known.unseeded:
            now_ms = self._workflow.world.clock.now_ms()
            await self._workflow.world.write(lambda tx: note_cleared(tx, card, now_ms))
            return 0
        return sum([await self._gone(card, review, known, found) for review in gone])

    def _hanging(self, card: Card, found: Found, known: Known) -> list[Review]:
        """Return the approvals that hang on a ✅ which is not among those that were found."""
        theirs = [each for each in found.approving if not self._of_another(each, known)]
        absent = without(self._workflow.policy, self._surface, theirs)
        now_ms = self._workflow.world.clock.now_ms()
        return hanging(known, card, absent, found.approving, found.asked_ms, now_ms)

    async def _gone(self, card: Card, review: Review, known: Known, found: Found) -> bool:
        policy, place = self._workflow.policy, self._place(card)
        if review.person not in policy.people:
            return False
        sender = taking_back(policy, card, review)
        turn = sum(each.person == review.person for each in known.reviews)
        event_id = gone_event(card.message_ids[-1], sender.account, turn, review.person)
        sender = replace(sender, event_id=event_id, heard_at_ms=found.asked_ms)
        return written(await self._workflow.take_back(card.proposal_id, sender, card=place)).done

    def _late(self, card: Card, sender: Sender, signal: Signal, known: Known) -> Sender:
        """Return the sender with the event id of this act; an emoji put back is another act."""
        law = self._workflow.policy, self._workflow.world.hands
        turn = turn_of(known.card, known.reviews, law, sender, signal)
        return replace(sender, event_id=late_event(card.message_ids[-1], sender, signal, turn))

    def _place(self, card: Card) -> CardPlace:
        return CardPlace(self._surface, card.message_ids[-1])
