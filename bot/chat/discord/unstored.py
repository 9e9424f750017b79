"""Processes events that cannot be stored, for Discord delivers nothing twice.

Twin: `_stops` and `_held` in `slack/listening.py`; Slack delivers again what is not acknowledged.
"""

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

#: What identifies one emoji of one account: a ✅ and a super ✅ are two.
_EMOJI: Final = ("message", "user", "signal", "variant")


class Unstored:
    """Processes events in memory alone; what nobody would repeat is tried until it is stored.

    Of the same emoji of one account on a message only one is tried, however often it is put there
    and taken off. A stranger's event stops nothing: it is tried once and then left to the reading
    of its card, so that nobody can fill the memory while nothing can be stored for hours.
    """

    def __init__(self, workflow: Workflow, inbox: Inbox, hints: Hints, taken_off: TakenOff) -> None:
        self._workflow = workflow
        self._inbox = inbox
        self._hints = hints
        self._taken_off = taken_off
        self._tried: set[tuple[str, ...]] = set()

    async def work(self, event_id: str, lane: str, payload: Payload, stops: StopOf | None) -> None:
        """Process one event. Raises SurfaceFailed, StoreUnavailable if it is not tried again."""
        self._taken_off.not_kept(payload)
        # A ✅ is processed in its lane: its removal, which may come meanwhile, must find it done.
        if approved_on(lane) is not None and stops is None:
            await self._inbox.work_in_turn(event_id, lane, payload)
        elif payload["kind"] == "message" and stops is None:
            await self._words(event_id, lane, payload)
        else:
            await self._stop(event_id, lane, payload, stops)

    async def _stop(self, event_id: str, lane: str, payload: Payload, stops: StopOf | None) -> None:
        """Process all but a ✅ and plain words. A ❌, and a ✅ taken off, are tried again."""
        reacts = payload["kind"] == "reaction"
        emoji = tuple(str(payload[part]) for part in _EMOJI) if reacts else (event_id,)
        if stops is not None and emoji in self._tried:
            return
        again = stops is not None and self._who(payload) is not None
        tried = {emoji} if again else set()
        self._tried |= tried
        try:
            await self._inbox.work_unstored(event_id, lane, payload, stops, again=again)
        finally:
            self._tried -= tried

    async def _words(self, event_id: str, lane: str, payload: Payload) -> None:
        """Process a message that is no stop. No card keeps it, so nothing could find it later.

        If a command fails as well, its sender is told. A person's words behind a ❌, or below a
        question, are tried until they can be stored.
        """
        who = self._who(payload)
        by_person = who is not None and who.kind is ActorKind.PERSON
        again = payload["text"] is None and by_person
        try:
            await self._inbox.work_unstored(event_id, lane, payload, again=again)
        except (StoreUnavailable, SurfaceFailed):
            if who is not None and (by_person or payload["text"] is not None):
                self._hints.answer(payload, unavailable().words)
            raise

    def _who(self, payload: Payload) -> Identity | None:
        """Return who did it, as the present policy knows them; None for a webhook."""
        if payload.get("webhook"):
            return None
        return sender_of(self._workflow.policy, SURFACE, str(payload.get("user"))).identity
