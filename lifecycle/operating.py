"""Runs the acts that concern no one proposal: freeze, thaw, and the answer to a question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lifecycle import freezing
from lifecycle.acting import Acting
from lifecycle.answers import Reply, Sender
from lifecycle.errors import ReviewRefused
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, refuse_repeated
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.stops.lost_stops import cut_off
from lifecycle.stops.spooling import unavailable
from lifecycle.world import World

_NOT_WRITTEN_YET: Final = (
    "A freeze that was given before cannot be written yet, so nothing was done; everything stands "
    "still. Try again, and tell an operator."
)


@dataclass(slots=True)
class Operating:
    """Carries out such acts. The freeze is a stop like any other, and is kept like one."""

    world: World
    acting: Acting

    async def operate(self, sender: Sender, unit: Callable[[Transaction, Moment], Reply]) -> Reply:
        """Run a unit of this kind, once for each event; answer with words if the store fails."""
        try:
            return await self._written(sender, unit)
        except StoreUnavailable as error:
            return unavailable(None, error)

    async def freeze(self, sender: Sender, reason: str) -> Reply:
        """Put the freeze in force. Nothing is made final meanwhile; if the store cannot take the
        freeze, it is kept and holds everything until the store can (ADR 0023)."""
        return await self.world.background.shielded(self._frozen(sender, reason))

    async def _frozen(self, sender: Sender, reason: str) -> Reply:
        moment = self.world.moment()
        sender = freezing.freezer(moment, sender)
        try:
            freezing.check_freeze(moment, sender, reason)
        except ReviewRefused as error:  # before anything is held
            await self.acting.note(Act("", sender), error.code)
            return Reply.of_error(error)
        act = self.acting.as_heard(Act("", sender, reason))
        with self.world.heard.meanwhile(sender.surface, moment.now_ms, None):
            try:
                return await self._written(
                    sender, lambda tx, m: freezing.freeze(tx, m, sender, reason)
                )
            except StoreUnavailable as error:
                kept = replace(act, given_at_ms=act.heard_at_ms)
                return self.acting.spooled.keep_freeze(kept, error)
            except asyncio.CancelledError:
                kept = replace(act, given_at_ms=act.heard_at_ms)
                cut_off(self.acting.spooled, kept, freezes=True)
                raise

    async def thaw(self, sender: Sender) -> Reply:
        """Lift the freeze, and let go of freezes that could not be processed for a minute.

        Nothing is done if a newer freeze still waits for the store.
        """
        await self.acting.replay_spool()
        said_ms = sender.said_ms(self.world.clock.now_ms())  # later freezes are not lifted
        waited = [each.key for each in self.world.heard.overdue(said_ms)]
        if self.acting.spooled.keeps_freeze(but=waited):
            return Reply(_NOT_WRITTEN_YET, "audit_unavailable")
        reply = await self.operate(sender, lambda tx, m: freezing.thaw(tx, m, sender))
        if reply.done:
            self.acting.spooled.forget_freezes(waited)
            for key in waited:
                self.world.heard.drop(key)
        return reply

    async def _written(self, sender: Sender, unit: Callable[[Transaction, Moment], Reply]) -> Reply:
        """Run the unit; a refusal is noted and answered. Raises StoreUnavailable."""
        moment = self.world.moment()

        def once(tx: Transaction) -> Reply:
            refuse_repeated(tx, moment, sender)
            return unit(tx, moment)

        try:
            return await self.world.write(once)
        except ReviewRefused as error:
            await self.acting.note(Act("", sender), error.code)
            return Reply.of_error(error)
