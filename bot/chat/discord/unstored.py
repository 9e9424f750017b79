"""What becomes of an event that nothing can store: Discord says nothing twice."""

from __future__ import annotations

from typing import Final

from bot.chat.discord.hints import Hints
from bot.chat.discord.settings import SURFACE
from bot.chat.discord.taken_off import TakenOff
from bot.chat.hearing.event_ids import approved_on
from bot.chat.hearing.inbox import Inbox, Payload
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.stops import StopOf
from bot.chat.surface import SurfaceFailed
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import ActorKind, Identity
from lifecycle.stops.spooling import unavailable
from lifecycle.workflow import Workflow

#: What tells one emoji of one account from another: a ✅ and a super ✅ are two.
_EMOJI: Final = ("message", "user", "signal", "variant")


class Unstored:
    """Works what was heard in memory alone; what nobody would say again is tried until it can be
    stored.

    Of one account's emoji on a message one is tried, however often it is put there and taken off;
    what strangers do stops nothing, and is left to the reading of its card: nobody can fill the
    memory with it while nothing can be stored for hours.
    """

    def __init__(self, workflow: Workflow, inbox: Inbox, hints: Hints, taken_off: TakenOff) -> None:
        self._workflow = workflow
        self._inbox = inbox
        self._hints = hints
        self._taken_off = taken_off
        self._tried: set[tuple[str, ...]] = set()

    async def work(self, event_id: str, lane: str, payload: Payload, stops: StopOf | None) -> None:
        """Work one event. Raises SurfaceFailed, StoreUnavailable where it is tried no more."""
        self._taken_off.not_kept(payload)
        if approved_on(lane) is not None and stops is None:  # which may be taken off meanwhile
            await self._inbox.work_in_turn(event_id, lane, payload)
        elif payload["kind"] == "message" and stops is None:
            await self._words(event_id, lane, payload)
        else:
            await self._stop(event_id, lane, payload, stops)

    async def _stop(self, event_id: str, lane: str, payload: Payload, stops: StopOf | None) -> None:
        """A ❌, and a ✅ that was taken off, are tried again."""
        reacts = payload["kind"] == "reaction"
        emoji = tuple(str(payload[part]) for part in _EMOJI) if reacts else (event_id,)
        if stops is not None and emoji in self._tried:
            return
        once = stops is None or self._who(payload) is None
        tried = set() if once else {emoji}
        self._tried |= tried
        try:
            await self._inbox.work_unstored(event_id, lane, payload, stops, once=once)
        finally:
            self._tried -= tried

    async def _words(self, event_id: str, lane: str, payload: Payload) -> None:
        """What somebody wrote stands on no card. A command that cannot be worked either is answered
        so; what people say behind a ❌, or below a question, is tried until it can be stored."""
        who = self._who(payload)
        by_person = who is not None and who.kind is ActorKind.PERSON
        once = payload["text"] is not None or not by_person
        try:
            await self._inbox.work_unstored(event_id, lane, payload, once=once)
        except (StoreUnavailable, SurfaceFailed):
            if who is not None and (by_person or payload["text"] is not None):
                self._hints.answer(payload, unavailable().words)
            raise

    def _who(self, payload: Payload) -> Identity | None:
        """Return who did it, as the policy of now knows them: a webhook is nobody."""
        if payload.get("webhook"):
            return None
        return sender_of(self._workflow.policy, SURFACE, str(payload.get("user"))).identity
