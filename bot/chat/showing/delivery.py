"""Delivers stale cards and kept messages to one surface, and tries again until they stand there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Final, assert_never

from bot.chat.cards.beside import Beside, defaults_of, noted
from bot.chat.cards.card import written_card
from bot.chat.cards.content import CardContent
from bot.chat.hearing.known import in_doubt, not_posted
from bot.chat.showing.due import ATTENTION_AFTER, Due
from bot.chat.showing.failing_log import FailingLog
from bot.chat.showing.placed import Placed, note_claim, note_placed
from bot.chat.showing.set_aside import SetAside
from bot.chat.showing.told_late import as_told_now, card_in_question, is_old
from bot.chat.showing.undelivered import undelivered
from bot.chat.showing.vanished import Vanished
from bot.chat.surface import LONGEST_PAUSE_S, CardGone, Posted, Surface, SurfaceFailed, pause_ms
from bot.chat.turns import Rank, Turn, taking_turns_as
from bot.process.cancelling import being_cancelled
from lifecycle.located import located
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.questions import note_posted
from lifecycle.records import Card, Message
from lifecycle.state import State
from lifecycle.world import World

log = logging.getLogger("signoff.delivery")

#: After so many failures in a row the surface counts as away: a round ends, and the next one begins
#: no sooner than after so many seconds.
_MOST_FAILURES: Final = 20
_AWAY_S: Final = 1.0
#: A new card's line waits so long for Sentinel's verdict; then other cards may overtake it.
_VERDICT_MS: Final = 1_000


class _Outcome(Enum):
    """What became of one card or message that was due.

    FAILED is tried again when it is due again, PASSED at the next look. HELD is a card that waits
    for Sentinel's verdict; later cards of the same proposer wait with it, to keep their order.
    """

    DONE = "done"
    FAILED = "failed"
    PASSED = "passed"
    HELD = "held"


class Delivery:
    """Delivers all that one surface shows. The store knows what is due, `Due` whose turn it is."""

    def __init__(self, world: World, surface: Surface) -> None:
        self.world = world
        self.surface = surface
        #: Listeners note here which messages were deleted, and which show nothing any more.
        self.vanished, self.emptied = Vanished(), Vanished()
        self._due = asyncio.Event()
        self._waiting = Due(world, surface.name)
        self._aside = SetAside(world, surface.name)
        self._failing = FailingLog()
        self._away = False
        self._draining = asyncio.Lock()
        self._lock = asyncio.Lock()

    def nudge(self) -> None:
        """Have what is due delivered soon."""
        self._due.set()

    async def run(self) -> None:
        """Deliver what is due whenever nudged, until cancelled."""
        failures = 0
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self.drain()
                failures = 0
                if self._away:  # asking the store for thousands of due cards costs more than trying
                    await self.world.clock.sleep(_AWAY_S)
            except StoreUnavailable:
                log.error("the store cannot be read or written; %s waits", self.surface.name)
                failures += 1
                # A delivery that could not be noted would be repeated at every nudge.
                await asyncio.sleep(min(LONGEST_PAUSE_S, 2 ** min(failures, 10) - 2))
                self._due.set()
            except BaseException as error:
                if being_cancelled() or not isinstance(error, Exception | asyncio.CancelledError):
                    raise
                # What is due stays due; no mistake of ours must silence a surface for good.
                log.error("%s: delivery failed: %s", self.surface.name, located(error))
            if being_cancelled():  # something in there swallowed our cancellation
                raise asyncio.CancelledError

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Deliver nothing while entered, so that an answer comes before what follows from it."""
        async with self._lock:
            yield

    async def drain(self) -> int:
        """Deliver all that is due now, the fairest turn first; return how much was delivered."""
        async with self._draining:
            count = 0
            while done := await self._round():
                count += done
            return count

    async def _round(self) -> int:
        """Deliver what is due, until too many failures; return how much was delivered."""
        await self._waiting.look(at_once=True)
        done = failures = 0
        while failures < _MOST_FAILURES and (due := self._waiting.next()) is not None:
            turn, item = due
            async with self._lock:
                outcome = await self._delivered(item)
            match outcome:
                case _Outcome.DONE:
                    done, failures = done + 1, 0
                    self._failing.well()
                    self._waiting.served(turn)
                    await self._waiting.look()
                case _Outcome.FAILED:
                    failures += 1
                    self._waiting.served(turn)
                case _Outcome.PASSED:
                    pass
                case _Outcome.HELD:
                    self._waiting.hold(turn)
                case _:
                    assert_never(outcome)
        self._away = failures >= _MOST_FAILURES
        return done

    async def _delivered(self, item: Card | Message) -> _Outcome:
        """Deliver one card or message. Raises StoreUnavailable.

        A mistake of ours counts as a failure like any other, so that what stands behind it is
        delivered. If only the row is at fault, the item is set aside.
        """
        if self._aside.holds(item):
            return _Outcome.PASSED
        try:
            outcome = await (self._card(item) if isinstance(item, Card) else self._message(item))
        except RowAtFault as error:
            await self.world.units.check_others(error)
            self._aside.put(item, error)
            return _Outcome.PASSED
        except StoreUnavailable:
            raise
        except BaseException as error:
            if being_cancelled() or not isinstance(error, Exception | asyncio.CancelledError):
                raise
            log.error("%s: delivery failed: %s", self.surface.name, located(error))
            await self._failed(item, SurfaceFailed(f"an unexpected {type(error).__name__}"))
            return _Outcome.FAILED
        if outcome is _Outcome.DONE:
            self._aside.delivered(item)
        return outcome

    async def _card(self, card: Card) -> _Outcome:
        """Show one card."""
        now_ms = self.world.clock.now_ms()
        found = await self.world.store.read(lambda tx: noted(tx, card.proposal_id))
        if found is None:
            return _Outcome.PASSED
        proposal, reviews, call = found
        if card.shown_version >= proposal.version:
            return _Outcome.PASSED  # somebody wrote what is wanted: it would be edited without end
        if proposal.state is State.PENDING and proposal.verdict is None and not card.message_ids:
            # The verdict will nudge. Then the post itself can call people, and the order holds.
            new = now_ms - proposal.created_at_ms < _VERDICT_MS
            return _Outcome.HELD if new else _Outcome.PASSED
        defaults = defaults_of(self.world.toolbox, proposal.tool)
        beside = Beside(self.world.law.policy, now_ms, reviews, defaults, call)
        content = await written_card(proposal, beside)
        try:
            card, posted = await self._placed(card, content)
        except SurfaceFailed as failure:
            await self._failed(card, failure)
            return _Outcome.FAILED
        await self._note(partial(self._written, Placed(card, content.version, posted)))
        return _Outcome.DONE

    async def _placed(self, card: Card, content: CardContent) -> tuple[Card, Posted | None]:
        """Edit the card where it stands, or post it; return the card and where it stands now.

        The place is None if a final card was deleted; it is posted anew only if a post is in doubt.
        """
        if card.message_ids:
            try:
                return card, await self.surface.edit_card(content, card)
            except CardGone:
                log.info("the card of %s was deleted on %s", card.proposal_id, card.surface)
                if content.final and not in_doubt(card):
                    return card, None
                # A card not delivered may stand under its present claim: keep that to find it.
                card = replace(card, claim="" if card.delivered else card.claim, delivered=False)
        if not card.claim:
            card = replace(card, claim=self.world.nonce()[-24:])
            hands = self.world.hands.state
            await self._note(partial(note_claim, card=card, version=content.version, hands=hands))
        return card, await self.surface.post_card(content, card.claim)

    def _written(self, placed: Placed, tx: Transaction) -> None:
        where = placed.posted.message_id if placed.posted is not None else ""
        vanished, emptied = where in self.vanished, where in self.emptied
        note_placed(tx, self.world.moment(), placed, vanished=vanished, emptied=emptied)

    async def _failed(self, item: Card | Message, failure: SurfaceFailed) -> None:
        match item:
            case Card():
                await self._card_failed(item, failure)
            case Message():
                at_ms = self.world.clock.now_ms() + pause_ms(item.attempts + 1, failure)
                why = str(failure)
                await self._note(lambda tx: tx.outbox.failed(item.key, at_ms, why))
            case _:
                assert_never(item)

    async def _card_failed(self, card: Card, failure: SurfaceFailed) -> None:
        attempts = card.attempts + 1
        retry_at_ms = self.world.clock.now_ms() + pause_ms(attempts, failure)
        enough = failure.lasting or attempts >= ATTENTION_AFTER
        for_certain, asked_ms = not failure.may_be_done, retry_at_ms if failure.retry_after_s else 0
        # The message under this claim is gone; some platforms post nothing new under a used claim.
        used_up = isinstance(failure, CardGone)
        self._failing.failed(card.surface, card.proposal_id, str(failure))

        def unit(tx: Transaction) -> None:
            fresh = tx.cards.get(card.proposal_id, card.surface) or card
            fresh = replace(fresh, claim="") if used_up else fresh
            tx.cards.put(
                replace(
                    not_posted(fresh, for_certain=for_certain, not_before_ms=asked_ms),
                    attempts=attempts,
                    retry_at_ms=retry_at_ms,
                    why=str(failure),
                )
            )
            if enough:
                undelivered(tx, self.world.moment(), card.proposal_id, card.surface, str(failure))

        await self._note(unit)

    async def _note(self, unit: Callable[[Transaction], None]) -> None:
        """Write down what became of a delivery; it is no news to show to a surface.

        People are told if the store takes nothing.
        """
        await self.world.write(unit, news=False)

    async def _message(self, message: Message) -> _Outcome:
        if is_old(message, now_ms := self.world.clock.now_ms()):
            await self._shown_after_all(message)
            told = await self.world.store.read(partial(as_told_now, message, now_ms))
            if told is None:
                return await self._arrived(message, None)
            message = told
        to_agent = message.recipient in self.world.law.policy.agents
        try:
            with taking_turns_as(Turn(Rank.CARDS if to_agent else Rank.FIRST)):
                stands_in = await self.surface.say(message)
        except SurfaceFailed as failure:
            await self._failed(message, failure)
            return _Outcome.FAILED
        return await self._arrived(message, stands_in)

    async def _shown_after_all(self, message: Message) -> None:
        """Try a card once more before it is told that it cannot be shown: it may stand by then."""
        card = await self.world.store.read(partial(card_in_question, message))
        if card is not None:
            self._waiting.drop(card.proposal_id)
            await self._delivered(card)

    async def _arrived(self, message: Message, stands_in: str | None) -> _Outcome:
        now_ms = self.world.clock.now_ms()
        await self._note(lambda tx: _said(tx, message, stands_in, now_ms))
        return _Outcome.DONE


def _said(tx: Transaction, message: Message, stands_in: str | None, now_ms: int) -> None:
    tx.outbox.delivered(message.key, now_ms)
    if stands_in is not None:
        note_posted(tx, message, stands_in)
