"""What becomes of one emoji that was heard, after it was acknowledged."""

from __future__ import annotations

from bot.chat.aside import Asides
from bot.chat.delivery import Delivery
from bot.chat.inbox import Payload
from bot.chat.incoming import UNKNOWN, Incoming
from bot.chat.signals import Signal
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.checks import Me
from bot.chat.slack.desk import Desk
from bot.chat.slack.reactions import Reacted, Reactions, reacted
from bot.chat.slack.speaking import Speaking
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.answers import Reply


class Reacting:
    """Gives an emoji its effect. On what people and other apps say it means nothing."""

    def __init__(
        self,
        desk: Desk,
        me: Me,
        incoming: Incoming,
        delivery: Delivery,
        reactions: Reactions,
        speaking: Speaking,
        asides: Asides,
    ) -> None:
        self._me = me
        self._rest = desk.rest
        self._world = desk.workflow.world
        self._incoming = incoming
        self._delivery = delivery
        self._reactions = reactions
        self._speaking = speaking
        self._asides = asides

    async def reacted(self, event_id: str, payload: Payload) -> None:
        """Work one emoji. Raises SurfaceFailed, StoreUnavailable: it waits then."""
        heard = reacted(payload["event"])
        if heard is None or await self._is_talk(heard):
            return
        in_place = heard.channel == self._rest.id
        if in_place and not heard.added and await self._another_tone_stands(heard):
            return
        sender = await self._speaking.sender(heard.user, team_of(payload), event_id)
        if heard.added and not in_place and heard.author == self._me.user:
            await self._speaking.elsewhere(heard.user, heard.channel, sender)
            return
        if in_place:
            await self._card_written(heard.message_ts)
            if heard.added and not await self._stands(heard):
                return
        reply = await self._incoming.reacted(
            sender, heard.message_ts, heard.signal, added=heard.added, in_place=in_place
        )
        if in_place and heard.added:
            self._asides.begin(self._told(heard, reply), to=heard.user)

    async def _is_talk(self, heard: Reacted) -> bool:
        """Say whether it is on no message of ours; a card is ours under whichever app it stands.

        Slack names the author of whatever the bot posts, and of webhooks none.
        """
        if heard.author == self._me.user:
            return False
        in_place = heard.channel == self._rest.id
        return not in_place or await self._incoming.card(heard.message_ts) is None

    async def _told(self, heard: Reacted, reply: Reply | None) -> None:
        if await self._is_of_a_card(heard, reply):
            await self._speaking.hint(heard.user, heard.message_ts, reply)

    async def _is_of_a_card(self, heard: Reacted, reply: Reply | None) -> bool:
        """Say whether somebody is to be told: not of an emoji on what is no forgotten card."""
        if reply is not UNKNOWN:
            return True
        proposal_id = await self._rest.card_in(heard.message_ts)
        return proposal_id is not None and not await self._incoming.knows(proposal_id)

    async def _stands(self, heard: Reacted) -> bool:
        """Say whether a ✅ is still there, after any ❌; a ❌ counts however short it stood."""
        card = await self._world.store.read(lambda tx: tx.cards.find(SURFACE, heard.message_ts))
        if heard.signal is Signal.STOP or card is None or not await self._incoming.open(card):
            return True
        try:
            return await self._reactions.stands(heard, card)
        except CardGone:
            return True  # no current card: the law says so

    async def _card_written(self, ts: str) -> None:
        """Wait where the message may be a card that is posted and not written down yet."""
        if await self._world.store.read(lambda tx: tx.cards.find(SURFACE, ts)) is None:
            async with self._delivery.held():
                return

    async def _another_tone_stands(self, heard: Reacted) -> bool:
        try:
            return await self._reactions.still_stands(heard)
        except SurfaceFailed:
            return False  # taking an approval back is the safe side


def team_of(payload: Payload) -> str:
    """Return the workspace of whoever acted: in a shared channel not the one of the event."""
    event = payload["event"]
    named = event.get("user_team") or event.get("source_team") or event.get("team")
    return str(named or payload.get("team_id") or "")
