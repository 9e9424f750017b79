"""Reading cards: after a gap, every few minutes, and before a window closes."""

from __future__ import annotations

import logging
from typing import Final

from bot.chat.catching_up import CatchingUp
from bot.chat.hearing import Hearing
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.channel import Channel
from bot.chat.slack.events import Events
from bot.chat.slack.reactions import Reactions
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.records import Card
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.slack")

_LOOK_AGAIN_MS: Final = 240_000
_PAGE: Final = 100


class Looking:
    """Reads cards of one channel. `continuous`: a connection that stands misses nothing."""

    def __init__(
        self,
        workflow: Workflow,
        channel: Channel,
        reactions: Reactions,
        events: Events,
        hearing: Hearing,
        *,
        continuous: bool,
    ) -> None:
        self._workflow = workflow
        self._channel = channel
        self._reactions = reactions
        self._events = events
        self._hearing = hearing
        self._continuous = continuous
        self._catching_up = CatchingUp(workflow, SURFACE)
        self._looked_ms = 0

    async def card(self, card: Card) -> bool:
        """Apply what stands on a card; True where it was read or nothing can have been missed."""
        if not card.message_ids:
            return False
        heard = self._continuous and self._hearing.unbroken_since(card.posted_at_ms)
        if heard and self._events.inbox.quiet:
            return True
        return await self._read(card) is not None

    async def cards(self) -> int:
        """Read all open cards where that is due; return how many decisions were found."""
        now_ms, since_ms = self._workflow.world.clock.now_ms(), self._hearing.since_ms
        if since_ms is None:
            return 0
        if not self._hearing.gap and now_ms - self._looked_ms < _LOOK_AGAIN_MS:
            return 0
        counts = [await self._read(card) for card in await self._open()]
        if None not in counts:
            self._hearing.caught_up(since_ms)
            self._looked_ms = now_ms
        return sum(count or 0 for count in counts)

    async def _open(self) -> list[Card]:
        found: list[Card] = []
        after = ""
        while True:
            page = await self._workflow.world.store.read(
                lambda tx: tx.cards.open_on(SURFACE, _PAGE, after)  # noqa: B023
            )
            found += [card for card in page if card.message_ids]
            if len(page) < _PAGE:
                return found
            after = page[-1].proposal_id

    async def _read(self, card: Card) -> int | None:
        """Read one card and apply it; None where Slack could not be asked."""
        ts = card.message_ids[-1]
        try:
            found = await self._reactions.found(ts, self._workflow.policy)
        except CardGone:
            await self._events.incoming.deleted(ts)
            return 0
        except SurfaceFailed as failure:
            log.warning("slack: the card of %s cannot be read: %s", card.proposal_id, failure)
            return None
        count = await self._catching_up.apply(card, found)
        if not found.seeded and count == 0:
            await self._seed_again(card)
        return count

    async def _seed_again(self, card: Card) -> None:
        proposal = await self._workflow.world.store.read(
            lambda tx: tx.proposals.get(card.proposal_id)
        )
        if proposal is not None and not proposal.terminal:
            await self._channel.seed(card.message_ids[-1])
