"""Acts of people: through the door, into the spool where the store fails, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifecycle.acts import Act, Reviewed, first_heard
from lifecycle.answers import Reply, Sender
from lifecycle.books import Transaction
from lifecycle.errors import GovernanceError, ReviewRefused
from lifecycle.explaining import note_ignored
from lifecycle.fitting import fits_its_digest
from lifecycle.gating import Gatekeeper, Look, NotAtOnce
from lifecycle.moment import Moment
from lifecycle.opening import Opening
from lifecycle.ports import RowUnreadable, StoreUnavailable
from lifecycle.proposal import ActorKind, Proposal, Verb
from lifecycle.sentinel import Facts
from lifecycle.settling import CheckAgain, retry
from lifecycle.spooling import act_of, spool, spool_again, unavailable
from lifecycle.state import State
from lifecycle.stopping import stop
from lifecycle.verdict import Verdict
from lifecycle.world import World, log

_FRESH_CHECKS = 5


@dataclass(frozen=True, slots=True)
class LedTo:
    """What the unit of an act led to: the `opening` where it began at once, else a first look."""

    reviewed: Reviewed
    look: Look | None = None
    opening: Opening | None = None


@dataclass(slots=True)
class Acting:
    """Carries out what people decide, and what follows from it."""

    world: World
    gatekeeper: Gatekeeper

    async def act(
        self,
        act: Act,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        *,
        spools: bool = False,
    ) -> Reply:
        """Run one act to its end. `spools` keeps it on disk where the store cannot take it."""
        return await self.world.surely(self._acting(act, unit, spools=spools))

    async def _acting(
        self,
        act: Act,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        *,
        spools: bool,
    ) -> Reply:
        try:
            led_to = await self._reviewed(act, unit, counts=not spools)
        except GovernanceError as error:
            reply = Reply.of_error(error, act.proposal_id)
            if not (reply.passing and act.found_late):  # it is found, and tried, again
                await self.note(act, error.code)
            return reply
        except StoreUnavailable as error:
            if spools and act.sender.kind is ActorKind.PERSON:
                return spool(self.world, act, error)
            return unavailable(act.proposal_id, error)
        return await self._followed(led_to)

    async def _reviewed(
        self, act: Act, unit: Callable[[Transaction, Moment, Act], Reviewed], *, counts: bool
    ) -> LedTo:
        """Run the unit once the membership is read of everybody whose approval it may count.

        Nearly always that is the sender alone; where the store knows of more, nothing is written
        until they have been asked for as well. A stop `counts` nobody: it waits for no others, and
        only who is known to have left is refused one. Stopping works although the chat is ill.
        """
        by_person = act.sender.kind is ActorKind.PERSON and act.sender.id is not None
        asked = {str(act.sender.id)} if by_person else set()
        at_once = True
        while True:
            if by_person:
                act = await self._with_lost(act, asked, counts=counts)
            moment = self.world.moment()
            try:
                others = asked if counts else ()
                run = partial(self._unit, unit, moment, act, others, at_once)
                return await self.world.write(run)
            except _AskAlso as also:
                asked |= also.people
            except NotAtOnce as failed:
                log.error("no beginning at once: %s", type(failed.__cause__).__name__)
                at_once = False

    async def _with_lost(self, act: Act, asked: Collection[str], *, counts: bool) -> Act:
        """Note who of these is no member; of the sender, whether that is known for sure."""
        notifier, unsure = self.world.notifier, False
        lost = await notifier.lost_members(asked, surely=not counts)
        if counts and act.sender.id in lost:
            unsure = not await notifier.lost_members({str(act.sender.id)}, surely=True)
        return replace(act, lost=lost, unsure=unsure)

    def _unit(
        self,
        unit: Callable[[Transaction, Moment, Act], Reviewed],
        moment: Moment,
        act: Act,
        asked: Collection[str],
        at_once: bool,
        tx: Transaction,
    ) -> LedTo:
        """Run the unit, and begin what it opened, or look at once at it."""
        if asked:
            _everybody_asked(tx, act.proposal_id, asked)
        reviewed = unit(tx, moment, act)
        look = self.gatekeeper.look(tx, reviewed.proposal)
        opening = self.gatekeeper.open_at_once(tx, look) if at_once else None
        return LedTo(reviewed, look, opening)

    async def _followed(self, led_to: LedTo) -> Reply:
        reviewed = led_to.reviewed
        self.gatekeeper.carrier.carry_claim(reviewed.claim)
        proposal, reply = reviewed.proposal, reviewed.reply
        if proposal.state is not State.SENTINEL_APPROVED or proposal.opener is None:
            return reply
        try:
            opened = await self._opened(proposal.proposal_id, led_to)
        except StoreUnavailable:
            words = f"{reply.words} It begins as soon as the store can be written again."
            return replace(reply, words=words)
        if opened is None:
            return reply
        waiting = f" It waits for: {opened.waiting_for}." if opened.waiting_for else ""
        ended = f" {opened.explanation}" if opened.terminal else ""
        words = f"{reply.words}{waiting}{ended}"
        return Reply(words, reply.code, opened.proposal_id, opened.state.value)

    async def _opened(self, proposal_id: str, led_to: LedTo) -> Proposal | None:
        if led_to.opening is not None:
            return await self.gatekeeper.follow(led_to.opening, wait=False)
        return await self.gatekeeper.open(proposal_id, led_to.look)

    async def _replay(self, act: Act) -> bool | None:
        """Bring a spooled stop through the door: True once it is settled either way.

        False where the store still fails, None where it is this row alone that cannot be read.
        """
        moment = self.world.moment()
        try:
            reviewed = await self.world.write(lambda tx: stop(tx, moment, act))
        except GovernanceError as error:
            await self.note(act, error.code)
            return True
        except RowUnreadable:
            return None
        except StoreUnavailable:
            return False
        await self._followed(LedTo(reviewed))
        return True

    async def note(self, act: Act, code: str) -> None:
        """Write the one audit row of an attempt that had no effect."""
        moment = self.world.moment()
        try:
            await self.world.write(lambda tx: note_ignored(tx, moment, act, code))
        except StoreUnavailable:
            return

    async def operate(self, sender: Sender, unit: Callable[[Transaction, Moment], Reply]) -> Reply:
        """Run an operator's unit, once for each event."""
        moment = self.world.moment()

        def once(tx: Transaction) -> Reply:
            first_heard(tx, moment, sender)
            return unit(tx, moment)

        try:
            return await self.world.write(once)
        except ReviewRefused as error:
            await self.note(Act("", sender), error.code)
            return Reply.of_error(error)
        except StoreUnavailable as error:
            return unavailable(None, error)

    async def retry(self, act: Act) -> Reply:
        """Repeat what failed, under a verdict that still holds in the unit that repeats it."""
        return await self.world.surely(self._retried(act))

    async def _retried(self, act: Act) -> Reply:
        for _ in range(_FRESH_CHECKS):
            try:
                checked = await self._checked_to_repeat(act.proposal_id)
                return await self._acting(act, partial(retry, checked=checked), spools=False)
            except StoreUnavailable as error:
                return unavailable(act.proposal_id, error)
            except CheckAgain:
                continue
        words = "The policy or the evidence is just changing; try again."
        return Reply(words, "policy_changed", act.proposal_id)

    async def _checked_to_repeat(self, proposal_id: str) -> tuple[Facts, Verdict] | None:
        """Ask Sentinel, unless it is to be taken back, which is never stood in the way of."""
        proposal = await self.world.store.read(lambda tx: tx.proposals.get(proposal_id))
        execution = proposal.execution if proposal else None
        if proposal is None or execution is None or execution.verb is Verb.ROLL_BACK:
            return None
        if not fits_its_digest(proposal):
            return None  # refused in the unit itself
        return await self.gatekeeper.check(proposal, executing=True)

    async def replay_spool(self) -> int:
        """Bring spooled stops through the door, in order, before anything else runs.

        One whose row cannot be read stays, behind those that were carried out.
        """
        spool_again(self.world)
        done, aside = await self._replay_unspooled(), list[Mapping[str, Any]]()
        for kept in self.world.spool.kept():
            act = act_of(kept)
            settled = await self._replay(act)
            if settled is None:
                aside.append(kept)
                continue
            if not settled:
                return done
            if not self._put_behind(aside):
                return done
            self.world.spool.clear(len(aside) + 1)
            aside.clear()
            self._let_go(act.proposal_id)
            done += 1
        return done

    def _put_behind(self, aside: Collection[Mapping[str, Any]]) -> bool:
        """Keep these anew behind all others: twice for a moment rather than not at all."""
        try:
            for waiting in aside:
                self.world.spool.keep(waiting)
        except OSError:
            log.error("the spool cannot be written; what was replayed is replayed once more")
            return False
        return True

    async def _replay_unspooled(self) -> int:
        """Carry out what the spool cannot take but the store can by now."""
        done = 0
        for kept in list(self.world.unspooled):
            act = act_of(kept)
            if await self._replay(act):
                self.world.unspooled.remove(kept)
                self._let_go(act.proposal_id)
                done += 1
        return done

    def _let_go(self, proposal_id: str) -> None:
        """Hold a proposal no more, unless another stop of it waits, spooled a moment ago."""
        waiting = (*self.world.spool.kept(), *self.world.unspooled)
        if all(act_of(stop).proposal_id != proposal_id for stop in waiting):
            self.world.held.discard(proposal_id)


class _AskAlso(Exception):
    """These people's approvals may count, and nobody has asked yet whether they still may."""

    def __init__(self, people: frozenset[str]) -> None:
        super().__init__()
        self.people = people


def _everybody_asked(tx: Transaction, proposal_id: str, asked: Collection[str]) -> None:
    reviews = tx.reviews.of(proposal_id)
    others = {review.person for review in reviews if review.counts}.difference(asked)
    if others:
        raise _AskAlso(frozenset(others))
