"""Processes one emoji that was heard, after it was acknowledged.

`reactions.py` reads whole cards. Twin of both: `discord/reactions.py`.
"""

from __future__ import annotations

from contextlib import nullcontext

from bot.chat.hearing.copies import Copies
from bot.chat.hearing.inbox import Payload
from bot.chat.hearing.incoming import UNKNOWN, Incoming
from bot.chat.hearing.left_behind import homes
from bot.chat.hearing.looks import Looks
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.shown import GIVEN_MS
from bot.chat.hearing.signals import Signal
from bot.chat.showing.aside import Asides
from bot.chat.showing.delivery import Delivery
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.checks import Me
from bot.chat.slack.desk import Desk
from bot.chat.slack.emoji import Reacted, reacted
from bot.chat.slack.events import team_of
from bot.chat.slack.reactions import Reactions
from bot.chat.slack.speaking import Speaking
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.answers import Reply, Sender
from lifecycle.proposal import ActorKind
from lifecycle.workings.time_limits import within


class Reacting:
    """Gives an emoji its effect. On messages of people and other apps it has none."""

    def __init__(
        self,
        desk: Desk,
        me: Me,
        incoming: Incoming,
        delivery: Delivery,
        reactions: Reactions,
        speaking: Speaking,
        *,
        copies: Copies,
        asides: Asides,
    ) -> None:
        self._me = me
        self._copies = copies
        self._rest = desk.rest
        self._looks = Looks(desk.clock, desk.rest.card_in)
        self._workflow = desk.workflow
        self._incoming = incoming
        self._delivery = delivery
        self._reactions = reactions
        self._speaking = speaking
        self._asides = asides

    async def reacted(self, event_id: str, payload: Payload) -> None:
        """Process one emoji. Raises SurfaceFailed, StoreUnavailable: it is tried again."""
        heard = reacted(payload["event"])
        if heard is not None:
            await self._reacted(event_id, heard, payload)

    async def _reacted(self, event_id: str, heard: Reacted, payload: Payload) -> None:
        # What stops, and what is taken off, waits a minute at most until Slack says whose it is.
        stops = not (heard.added and heard.signal is Signal.APPROVE)
        in_place = heard.channel in homes(self._rest.id, payload, stops=stops)
        if await self._is_talk(heard, in_place=in_place):
            return
        if in_place:
            await self._card_written(heard.message_ts)
        if not heard.added and not (in_place and await self._incoming.card(heard.message_ts)):
            return  # it stood on no card
        sender = await self._speaking.sender(heard.user, team_of(payload), event_id, stops=stops)
        if not heard.added and sender.kind is None:
            # Whoever left, or is a guest by now, can still take back what they gave before.
            sender = sender_of(self._workflow.policy, SURFACE, sender.account, event_id=event_id)
        if not in_place:
            await self._speaking.elsewhere(heard.user, heard.channel, sender)
            return
        if self._may_decide(sender) and not await self._counts(heard):
            return
        alone = nullcontext() if heard.added else self._reactions.alone(heard.message_ts)
        async with alone:
            reply = await self._incoming.reacted(
                *(sender, heard.message_ts, heard.signal),
                added=heard.added,
                in_place=True,
                given_ms=payload.get(GIVEN_MS),
            )
        if heard.added:
            self._asides.begin(self._told(heard, reply), to=heard.user)

    async def _is_talk(self, heard: Reacted, *, in_place: bool) -> bool:
        """Say whether the emoji is on no card of ours; a card is ours under whichever app.

        Slack names the author of whatever the bot posts, and of webhooks none.
        """
        if heard.author == self._me.user:
            return False
        if in_place and await self._incoming.card(heard.message_ts) is not None:
            return False
        return await self._shared_card(heard) is None

    def may_be_of(self, heard: Reacted) -> bool:
        """Say whether the emoji may be on a message of ours, or on one that shares one."""
        return heard.author == self._me.user or self._original(heard) is not None

    def _original(self, heard: Reacted) -> str | None:
        return self._copies.original(f"{heard.channel}:{heard.message_ts}")

    async def _shared_card(self, heard: Reacted) -> str | None:
        """Return the proposal whose card the message shares; None if it shares none."""
        original = self._original(heard)
        card = await self._incoming.card(original) if original is not None else None
        return card.proposal_id if card is not None else None

    async def _told(self, heard: Reacted, reply: Reply | None) -> None:
        """Tell the giver why it had no effect. If no row knows the message, only if it looks like
        the card of a proposal, or shares or shows one."""
        looks = await self._shared_card(heard)
        if looks is None and reply is UNKNOWN:
            looks = await self._looks.card_in(heard.message_ts, heard.user)
        if looks is not None or reply is UNKNOWN:
            reply = await self._incoming.on_no_card(looks) if looks is not None else None
        await self._speaking.hint(heard.user, heard.message_ts, reply)

    async def _stands(self, heard: Reacted) -> bool:
        """Say whether a ✅ still stands, after hearing any ❌; a ❌ counts in any case.

        What stands on a former card says nothing of the one that counts: the law answers there.
        """
        card = await self._incoming.card(heard.message_ts)
        if heard.signal is Signal.STOP or card is None or heard.message_ts != card.message_ids[-1]:
            return True
        if not await self._incoming.open(card):
            return True
        try:
            return await self._reactions.stands(heard, card)
        except CardGone:
            return True  # the law answers that this is no current card

    async def _card_written(self, ts: str) -> None:
        """Wait for delivery if the message may be a card that has no row yet."""
        if await self._incoming.card(ts) is None:
            async with self._delivery.held():
                await self._incoming.unplaced.look_sooner()

    def _may_decide(self, sender: Sender) -> bool:
        """Say whether a card is to be read for this sender. Slack lets few be read a minute, and
        whoever sees a card can put an emoji on it as often as they like."""
        policy = self._workflow.policy
        by_person = sender.kind is ActorKind.PERSON
        return by_person or (sender.id is not None and sender.id == policy.orchestrator)

    async def _counts(self, heard: Reacted) -> bool:
        """Say whether a given signal stands still, or a removed one in no other skin tone."""
        if heard.added:
            return await self._stands(heard)
        return not await self._another_tone_stands(heard)

    async def _another_tone_stands(self, heard: Reacted) -> bool:
        try:
            async with within(self._speaking.patience_s()):
                return await self._reactions.still_stands(heard)
        except (SurfaceFailed, TimeoutError):
            return False  # taking an approval back is the safe side
