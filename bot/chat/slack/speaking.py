"""Finds out who acted, and tells them once, in a short note, why it had no effect.

Twin: `discord/hints.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from bot.chat.commands.as_typed import as_typed
from bot.chat.hearing.current_card import current_card
from bot.chat.hearing.incoming import hint_of
from bot.chat.hearing.notes import Notes
from bot.chat.hearing.shown import when_heard
from bot.chat.showing.aside import Asides
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.calls import LONGEST_WAIT_S
from bot.chat.slack.checks import Me
from bot.chat.slack.desk import Desk
from bot.chat.slack.events import mentioned_by
from bot.chat.slack.render import PREFIX
from bot.chat.slack.rest import Rest
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Reply, Sender
from lifecycle.workings.time_limits import within

log = logging.getLogger("signoff.slack")

#: Slack has at least so long to say who stops something, however long ago that was heard.
_SAID_S: Final = 5.0
#: To whoever mentions the bot amid a message: that may have been meant as a stop.
_AMID: Final = (
    "That was not read as a command: one begins with the mention of Signoff, or with /signoff. "
    f"All of them: {PREFIX}help"
)


class Speaking:
    """Knows people by what Slack says of their accounts, and tells each of them a thing once."""

    def __init__(self, desk: Desk, me: Me, asides: Asides) -> None:
        self._desk = desk
        self._me = me
        self._asides = asides
        self._notes = Notes(desk.clock)

    async def sender(
        self,
        user: str,
        team: str,
        event_id: str,
        place: str | None = None,
        *,
        stops: bool = False,
    ) -> Sender:
        """Return who acted; raises SurfaceFailed if Slack cannot be asked.

        Who stops something, or takes back (`stops`), waits for that a minute at most, and not at
        all for the end of a longer limit: then the config tells whose account it is (ADR 0011).
        """
        policy, accounts = self._desk.workflow.policy, self._desk.accounts
        team = team or self._me.team
        asking = partial(accounts.sender, policy, user, team, event_id=event_id, place=place)
        if not stops:
            return await asking()
        try:
            async with within(self.patience_s()):
                return await asking()
        except TimeoutError:
            log.info("Slack did not say in time who stops something")
        except SurfaceFailed as failure:
            if (failure.retry_after_s or 0) <= LONGEST_WAIT_S and self._left_s() > 0:
                raise
        return accounts.named(policy, user, team, event_id=event_id, place=place)

    def patience_s(self) -> float:
        """Return for how long Slack is waited for by the stop, or the taking back, that is being
        processed, in seconds. One limit after another, or a queue of other questions, may take
        longer than a minute."""
        return max(_SAID_S, self._left_s())

    def _left_s(self) -> float:
        """Return how much is left of the minute since that was heard, in seconds."""
        now_ms, heard_ms = self._desk.clock.now_ms(), when_heard()
        waited_ms = 0 if heard_ms is None else now_ms - heard_ms
        return LONGEST_WAIT_S - max(0, waited_ms) / 1000

    async def hint(
        self, user: str, message_ts: str, reply: Reply | None, *, each_time: bool = False
    ) -> None:
        """Tell somebody, once or `each_time`, why what they did on a card had no effect."""
        words = hint_of(reply)
        if reply is None or words is None:
            return
        if each_time or self._notes.first_on(message_ts, user, reply):
            told = as_typed(words, PREFIX, reply.proposal_id)
            await self._desk.rest.hint(user, told + await self._where_it_stands(reply))

    async def _where_it_stands(self, reply: Reply) -> str:
        """Return a link to the current card, for somebody who decided on an old one."""
        message_id = await current_card(self._desk.workflow.world.store, SURFACE, reply)
        link = await self._desk.rest.link(message_id) if message_id is not None else None
        return f" It stands here: {link}" if link else ""

    def void(self, sender: Sender, message_ts: str, reply: Reply) -> None:
        """Tell somebody, in a task, that their ✅ counts for nothing; no window waits for it."""
        user = sender.account.partition("/")[2]
        self._asides.begin(self.hint(user, message_ts, reply), to=user)

    async def elsewhere(self, user: str, channel: str, sender: Sender) -> None:
        """Note a command or an emoji in another channel, and say once where the bot listens."""
        await self._desk.workflow.note_ignored("", sender, "wrong_place")
        if self._notes.first(user, channel, "wrong_place"):
            other = Rest(self._desk.web, channel, self._desk.clock)
            words = "Signoff listens in one channel alone:"
            self._asides.begin(other.hint(user, words, at=self._desk.rest.id))

    def spoken_of(self, event: Mapping[str, Any]) -> None:
        """Tell a person that a message of the channel which mentions the bot, and does not begin
        with that, is no command. Where it may be heard at all it comes twice, and is told once."""
        rest, user = self._desk.rest, mentioned_by(event, self._me.user)
        if user is None or event.get("channel") != rest.id:
            return
        if self._notes.first(user, str(event.get("ts")), "amid"):
            self._asides.begin(rest.hint(user, _AMID, event.get("thread_ts")), to=user)
