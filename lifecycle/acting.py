"""Runs the acts of people: the act's unit, the spool if the store fails, and what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifecycle.answers import Reply, Sender
from lifecycle.errors import GovernanceError, ReviewRefused
from lifecycle.fitting import fits_its_digest
from lifecycle.heard import HeardStop
from lifecycle.judging.gatekeeper import Gatekeeper, Look, NotAtOnce
from lifecycle.moment import Moment
from lifecycle.opening import Opening
from lifecycle.people.acts import Act, Reviewed, note_ignored
from lifecycle.people.force import Force
from lifecycle.people.letting_go import release_stops, told_after
from lifecycle.people.membership import (
    AskAlso,
    check_all_asked,
    people_behind,
    with_account_lost,
    with_lost,
    with_who_left,
)
from lifecycle.people.retrying import CheckAgain, repeatable, retry
from lifecycle.people.stopping import check_effect, check_standing
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import ActorKind, Proposal, Verb
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.stops.lost_stops import cut_off
from lifecycle.stops.spooling import Spooled, carry_out, give_up, log, said_of, unavailable
from lifecycle.verdict import Verdict
from lifecycle.world import World

_FRESH_CHECKS = 5


@dataclass(frozen=True, slots=True)
class LedTo:
    """What the unit of an act led to: a first look, or the `opening` if it tried to begin at
    once."""

    reviewed: Reviewed
    look: Look | None = None
    opening: Opening | None = None


@dataclass(slots=True)
class Acting:
    """Carries out what people decide, and the calls and beginnings that follow from it."""

    world: World
    gatekeeper: Gatekeeper
    spooled: Spooled

    async def act(
        self,
        act: Act,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        force: Force = Force.GOES_ON,
    ) -> Reply:
        """Run one act to its end, also if its caller is cancelled."""
        acting = self._holding if force.holds else self._acting
        return await self.world.background.shielded(acting(act, unit, force))

    async def _holding(
        self, act: Act, unit: Callable[[Transaction, Moment, Act], Reviewed], force: Force
    ) -> Reply:
        """Hold the proposal meanwhile: to ask who stops it, or takes a ✅ back, may take long."""
        surface, now_ms = act.sender.surface, self.world.clock.now_ms()
        takes_back = force is Force.TAKES_BACK
        with self.world.heard.meanwhile(surface, now_ms, act.proposal_id, takes_back=takes_back):
            return await self._acting(act, unit, force)

    async def _acting(
        self,
        act: Act,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        force: Force = Force.GOES_ON,
    ) -> Reply:
        """Run one act, and what follows from it."""
        act = self.as_heard(act) if force is Force.STOPS else act
        try:
            if force is Force.STOPS:
                act = await with_who_left(self.world, act)
            led_to = await self._reviewed(act, unit, force)
        except GovernanceError as error:
            reply = Reply.of_error(error, act.proposal_id)
            if not (reply.passing and act.found_late):  # else the card is read, and it tried, again
                await self.note(act, error.code)
            return reply
        except StoreUnavailable as error:
            if force is Force.STOPS and people_behind(act):
                return await self._kept(replace(act, given_at_ms=act.heard_at_ms), error)
            return unavailable(act.proposal_id, error)
        except asyncio.CancelledError:
            if force is Force.STOPS and people_behind(act):
                cut_off(self.spooled, replace(act, given_at_ms=act.heard_at_ms))
            raise
        return await self._followed(led_to, opens=not force.holds)

    def as_heard(self, act: Act) -> Act:
        """Set when a stop was heard: its surface may have taken it long before this."""
        now_ms, sender = self.world.clock.now_ms(), act.sender
        on_card_ms = act.card.heard_at_ms if act.card is not None else None
        taken_ms = on_card_ms or self.world.heard.since_ms(sender.surface, sender.event_id)
        return replace(act, heard_at_ms=now_ms if taken_ms is None else min(now_ms, taken_ms))

    async def _kept(self, act: Act, error: StoreUnavailable) -> Reply:
        """Keep a stop on disk, unless it is known already that it will have no effect.

        Only then is the effect looked up: the hold must follow the failure of the store at once.
        """
        moment = self.world.moment()
        try:
            act = check_standing(moment, act)
        except ReviewRefused as refused:
            return Reply.of_error(refused, act.proposal_id)
        kept, reply = self.spooled.keep(act, error)
        try:
            await self.world.store.read(lambda tx: check_effect(tx, moment, act))
        except GovernanceError as refused:
            self.spooled.settled(kept)
            return Reply.of_error(refused, act.proposal_id)
        except StoreUnavailable:
            pass  # whether it has an effect is then decided when it is carried out
        return reply

    async def _reviewed(
        self,
        act: Act,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        force: Force,
    ) -> LedTo:
        """Run the unit once the membership is known of everybody whose approval it may count.

        Nearly always that is the sender alone; if the store knows of more, nothing is written until
        they have been asked for as well. A stop counts nobody and waits for nobody.
        """
        by_person = act.sender.kind is ActorKind.PERSON and act.sender.id is not None
        counts = force is not Force.STOPS
        asked = {str(act.sender.id)} if by_person and counts else set()
        at_once = not force.holds
        while True:
            act = await self._with_lost(act, asked) if asked else act
            self.gatekeeper.confirmed.heard(asked, act.lost)
            moment = self.world.moment()
            if asked:
                act = with_account_lost(act, moment.policy)
            try:
                run = partial(self._unit, unit, moment, act, asked, at_once)
                return await self.world.write(run)
            except AskAlso as also:
                asked |= also.people
            except NotAtOnce as failed:
                log.error("no beginning at once: %s", failed)
                at_once = False

    async def _with_lost(self, act: Act, asked: Collection[str]) -> Act:
        """Ask who is a member; if a command must wait for that, note which version it came for."""
        asking = asyncio.ensure_future(with_lost(self.world, act, asked))
        await asyncio.wait({asking}, timeout=0)
        if asking.done() or act.card is not None or act.seen_version is not None:
            return await asking
        try:
            seen = await self.world.store.read(lambda tx: tx.proposals.get(act.proposal_id))
        except StoreUnavailable:
            asking.cancel()
            raise
        return replace(await asking, seen_version=seen.version if seen is not None else None)

    def _unit(
        self,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        moment: Moment,
        act: Act,
        asked: Collection[str],
        at_once: bool,
        tx: Transaction,
    ) -> LedTo:
        """Run the unit, look at what it opened, and begin that in the same unit if possible."""
        if asked:
            check_all_asked(tx, act.proposal_id, asked)
        reviewed = unit(tx, moment, act)
        look = self.gatekeeper.look(tx, reviewed.proposal)
        opening = self.gatekeeper.open_at_once(tx, look) if at_once else None
        return LedTo(reviewed, look, opening)

    async def _followed(self, led_to: LedTo, *, opens: bool) -> Reply:
        reviewed = led_to.reviewed
        self.gatekeeper.carrier.carry_claim(reviewed.claim)
        proposal, reply = reviewed.proposal, reviewed.reply
        if not opens or proposal.state is not State.SENTINEL_APPROVED or proposal.opener is None:
            return reply
        try:
            opened = await self._opened(proposal.proposal_id, led_to)
        except StoreUnavailable:
            words = f"{reply.words} It begins as soon as the store can be written again."
            return replace(reply, words=words)
        if opened is None:
            return reply
        waiting = f" It waits for: {opened.waits_for}." if opened.waiting_for else ""
        ended = f" {opened.explanation}" if opened.terminal else ""
        words = f"{reply.words}{waiting}{ended}"
        return Reply(words, reply.code, opened.proposal_id, opened.state.value)

    async def _opened(self, proposal_id: str, led_to: LedTo) -> Proposal | None:
        if led_to.opening is not None:
            return await self.gatekeeper.follow(led_to.opening, wait=False)
        return await self.gatekeeper.open(proposal_id, led_to.look)

    async def note(self, act: Act, code: str) -> None:
        """Write the one audit row of an attempt that had no effect."""
        moment = self.world.moment()
        with suppress(StoreUnavailable):
            await self.world.write(lambda tx: note_ignored(tx, moment, act, code))

    async def retry(self, act: Act) -> Reply:
        """Repeat what failed, under a verdict that still holds in the unit that repeats it.

        If stops that nobody could process hold it up, let go of those instead (`_held_up_by`).
        """
        return await self.world.background.shielded(self._retried(act))

    async def _retried(self, act: Act) -> Reply:
        waited = await self._held_up_by(act.proposal_id, act.sender)
        if waited:
            reply = await self._acting(act, release_stops)
            for each in waited if reply.done else ():
                self.world.heard.drop(each.key)
            return told_after(reply, act.proposal_id, self.world.heard)
        for _ in range(_FRESH_CHECKS):
            try:
                checked = await self._checked_to_repeat(act.proposal_id)
                return await self._acting(act, partial(retry, checked=checked))
            except StoreUnavailable as error:
                return unavailable(act.proposal_id, error)
            except CheckAgain:
                continue
        words = "The policy or the evidence is just changing; try again."
        return Reply(words, "policy_changed", act.proposal_id)

    async def _held_up_by(self, proposal_id: str, by: Sender) -> Sequence[HeardStop]:
        """Return the overdue stops to let go of instead of repeating. Words that merely were taken
        back do not hold up what can be repeated: then there are none."""
        waited = self.world.heard.overdue(by.said_ms(self.world.clock.now_ms()), proposal_id)
        if not waited or any(not each.takes_back for each in waited):
            return waited
        with suppress(StoreUnavailable):  # which is told in a moment, by whatever is done then
            proposal = await self.world.store.read(lambda tx: tx.proposals.get(proposal_id))
            if proposal is not None and repeatable(proposal):
                return ()
        return waited

    async def _checked_to_repeat(self, proposal_id: str) -> tuple[Facts, Verdict] | None:
        """Ask Sentinel; None for a roll back, which no rule holds up, and if it cannot be asked."""
        proposal = await self.world.store.read(lambda tx: tx.proposals.get(proposal_id))
        execution = proposal.execution if proposal else None
        if proposal is None or execution is None or execution.verb is Verb.ROLL_BACK:
            return None
        if not fits_its_digest(proposal):
            return None  # refused in the unit itself
        return await self.gatekeeper.check(proposal, executing=True)

    async def replay_spool(self) -> int:
        """Carry out the spooled stops, oldest first, before anything else runs; return how many.

        A stop whose row cannot be read stays in the spool, and so does a line nobody can carry out.
        """
        self.spooled.tidy()
        done = 0
        try:
            for kept in self.spooled.waiting():
                if await self.world.many.beside(said_of(kept), self._replay(kept)):
                    self.spooled.settled(kept)
                    done += 1
        except StoreUnavailable:
            pass  # the next round tries the rest
        return done

    async def _replay(self, kept: Mapping[str, Any]) -> bool:
        """Carry out one spooled stop; raises StoreUnavailable if nothing was written.

        Membership was asked for when it was given, and counts as of then (ADR 0011).
        """
        moment = self.world.moment()
        try:
            reviewed = await self.world.write(partial(carry_out, moment, kept))
        except GovernanceError as error:
            await self.world.write(partial(give_up, moment, kept, error))
            return True
        if reviewed is not None:
            await self._followed(LedTo(reviewed), opens=True)
        return True
