"""Reads emoji from cards, after a gap and before something is decided.

`reacting.py` processes emoji that are heard as events. Twin of both: `discord/reactions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from bot.chat.commands.typed import begun_id, tries_again
from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.found import Found
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.left_behind import apply_left, check_readable, left_in
from bot.chat.hearing.moderated import card_deleted
from bot.chat.hearing.signals import SEEDS, Signal, of_slack_name
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.calls import LONGEST_WAIT_S, SlackRefused
from bot.chat.slack.checks import Me
from bot.chat.slack.desk import Desk
from bot.chat.slack.emoji import TOO_FEW, Reacted, listed, users_under
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.answers import Reply, Sender
from lifecycle.policy import Policy
from lifecycle.records import Card
from lifecycle.state import State

#: For so many cards it is remembered who stood under them.
_MOST_CARDS: Final = 1_000
#: A `retry` waits at most so long for the reading of the card here.
_LOOKED_S: Final = 10.0
#: So long Slack may take to say who the people under a card inside its window are. The card must be
#: read before the window closes, and the law asks about whoever stops it once more, as long.
_SAID_S: Final = 4.0
#: So long it may take otherwise, as for whoever stops something in an event (`speaking.py`).
_SAID_BEFORE_S: Final = float(LONGEST_WAIT_S)
_UNSAID: Final = "Slack does not say in time who stands under a card"
_Tell = Callable[[Sender, str, Reply], None]


class Reactions:
    """Reads whole cards: never Slack's shortened lists, nor a list that is short of its count."""

    def __init__(self, desk: Desk, me: Me, lanes: Lanes, *, tell: _Tell) -> None:
        self._workflow = desk.workflow
        self._catching_up = CatchingUp(desk.workflow, SURFACE, lanes)
        self._rest, self._seeds = desk.rest, desk.seeds
        self._accounts = desk.accounts
        self._me = me
        self._tell = tell
        #: By message ts, who stood under a card when it was last read.
        self._stood: dict[str, frozenset[str]] = {}

    async def found(self, card: Card) -> Found:
        """Return who stands under the card. Raises CardGone, SurfaceFailed.

        If Slack does not say who somebody is, what stands under ❌ is carried out all the same.
        Inside its window nothing but ❌ counts, so that is enough; before, SurfaceFailed is raised
        unless a ❌ stopped it, for no ✅ counts until Slack says whose it is.
        """
        said_s = _SAID_S if await self._in_window(card) else _SAID_BEFORE_S
        place = left_in(card, self._rest.id)
        try:
            found, unsaid = await self._looked(card, place, said_s)
        except SlackRefused as refused:
            if not refused.of_the_app:
                check_readable(card, place, refused)
            raise
        if unsaid is not None and not (
            await self._catching_up.stop_first(card, found) or await self._in_window(card)
        ):
            raise unsaid
        return found

    async def _in_window(self, card: Card) -> bool:
        """Say whether the proposal executes: then no approval is waited for any more."""
        store = self._workflow.world.store
        proposal = await store.read(lambda tx: tx.proposals.get(card.proposal_id))
        return proposal is not None and proposal.state is State.EXECUTING

    async def _looked(
        self, card: Card, place: str | None, said_s: float
    ) -> tuple[Found, SurfaceFailed | None]:
        """Return who stands under the card, and why Slack does not say who they are, or None.
        `place` is the channel in which it stands, None for the configured one.

        If Slack does not say so within `said_s` seconds, the config alone tells who they are.
        Raises CardGone, SurfaceFailed.
        """
        message_ts, unsaid, before = card.message_ids[-1], None, Found()
        until = asyncio.get_running_loop().time() + said_s
        # Asking who people are takes time, in which somebody may take a ✅ off, so the card is read
        # last. As Slack lets few cards be read a minute, those who stood there before are asked
        # about first: then one reading is enough.
        known = await self._who_stood(message_ts, until)
        while True:
            asked_ms = self._workflow.world.clock.now_ms()
            users = await self._under(card, place, before)
            there = frozenset().union(*users.values()) - {self._me.user}
            new = there - known.keys()
            unsaid = await self._learn(new, known, until, unsaid)
            before = self._found(users, known, asked_ms)
            if not new:
                self._remember(message_ts, there)
                return before, unsaid

    async def _under(
        self, card: Card, place: str | None, before: Found
    ) -> dict[Signal, frozenset[str]]:
        """Return which users stand under the card. Raises CardGone, SurfaceFailed.

        If it was deleted since it was read `before`, a ❌ that stood there then is carried out:
        nobody finds it again.
        """
        try:
            return users_under(await self._rest.read(card.message_ids[-1], place))
        except CardGone:
            if before.stopping:
                await self._catching_up.stop_first(card, before)
            raise

    async def _learn(
        self,
        users: frozenset[str],
        known: dict[str, Sender],
        until: float,
        unsaid: SurfaceFailed | None,
    ) -> SurfaceFailed | None:
        """Add to the `known` who these users are: by Slack's word, or by the config alone. Return
        why Slack does not say so, None if it does; then it is not asked again: no ❌ waits for
        that."""
        policy = self._workflow.policy
        for user in sorted(users):
            known[user] = self._accounts.named(policy, user, self._me.team)
            try:
                if unsaid is None:
                    known[user] = await self._said(policy, user, until)
            except SurfaceFailed as failure:
                unsaid = failure
        return unsaid

    async def _said(self, policy: Policy, user: str, until: float) -> Sender:
        """Return who Slack says somebody is; raises SurfaceFailed, also at loop time `until`."""
        try:
            async with asyncio.timeout_at(until):
                return await self._accounts.sender(policy, user, self._me.team)
        except TimeoutError:
            raise SurfaceFailed(_UNSAID) from None

    def _found(
        self, users: Mapping[Signal, frozenset[str]], known: Mapping[str, Sender], asked_ms: int
    ) -> Found:
        mine = self._me.user
        approving, stopping = users[Signal.APPROVE] - {mine}, users[Signal.STOP] - {mine}
        return Found(
            approving=[known[user] for user in sorted(approving)],
            stopping=[known[user] for user in sorted(stopping)],
            seeded=mine in users[Signal.APPROVE],
            asked_ms=asked_ms,
            lacking=any(mine not in users[signal] for signal in SEEDS),
        )

    async def _who_stood(self, message_ts: str, until: float) -> dict[str, Sender]:
        """Return who stood under the card when it was last read, as far as Slack can be asked. It
        does not matter who is missing: they may be gone from the card."""
        known = dict[str, Sender]()
        with suppress(SurfaceFailed):
            for user in sorted(self._stood.pop(message_ts, ())):
                known[user] = await self._said(self._workflow.policy, user, until)
        return known

    def _remember(self, message_ts: str, there: frozenset[str]) -> None:
        if there:
            self._stood[message_ts] = there
        while len(self._stood) > _MOST_CARDS:
            self._stood.pop(next(iter(self._stood)))

    async def stands(self, given: Reacted, card: Card) -> bool:
        """Say whether a ✅ still stands on the card that counts, in any skin tone; raises CardGone,
        SurfaceFailed.

        Slack promises no order of events, and delivers late ones again. So what was not heard yet
        is heard first: a ❌ on this card or on another surface, and the removal of a ✅ by which
        somebody else approved.
        """
        await self.elsewhere_heard(card.proposal_id)
        lists = listed(await self._rest.read(given.message_ts))
        there = frozenset[str]().union(*(each.users for each in lists.values()))
        self._remember(given.message_ts, there - {self._me.user})
        approving, stopping = lists[given.signal], lists[Signal.STOP].users - {self._me.user}
        if stopping or await self._catching_up.may_be_gone(card, approving.users):
            found = await self.found(card)
            await self._catching_up.stop_first(card, found)
        if given.user not in approving.users and not approving.whole:
            raise SurfaceFailed(TOO_FEW)
        return given.user in approving.users

    async def heard_before(self, text: str) -> bool:
        """Hear every ❌ before a typed command lets anything begin; False if the card cannot be
        read now and that holds the command up."""
        proposal_id = begun_id(text)
        if proposal_id is None:
            return True
        if not tries_again(text):
            return await self.stopped_first(proposal_id)
        await self.elsewhere_heard(proposal_id)
        # Slack may let nothing be read for minutes, and `retry` may be what takes something back.
        looking = self._workflow.world.background.spawn(self._card_heard(proposal_id))
        await asyncio.wait({looking}, timeout=_LOOKED_S)
        if looking.done():
            looking.result()  # raises if the store cannot be read: then the command waits
        return True

    async def stopped_first(self, proposal_id: str) -> bool:
        """Hear every ❌, here and elsewhere, before an approval that is no emoji on a card; False
        if the card here cannot be read now."""
        await self.elsewhere_heard(proposal_id)
        return await self._card_heard(proposal_id)

    async def _card_heard(self, proposal_id: str) -> bool:
        store = self._workflow.world.store
        card = await store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
        return card is None or not card.message_ids or await self.stops_heard(card)

    async def elsewhere_heard(self, proposal_id: str) -> None:
        """Wait until every ❌ on the other surfaces is heard, for as long as that is worth it."""
        await self._catching_up.elsewhere.heard_in_time(proposal_id)

    async def stops_heard(self, card: Card) -> bool:
        """Hear every ❌ on the card here.

        False if it cannot be read now. If Slack refuses for good that the bot reads it, True: then
        only what a person says in words counts.
        """
        try:
            found = await self.found(card)
        except CardGone:
            return True
        except SurfaceFailed as failure:
            return failure.lasting
        await self._catching_up.stop_first(card, found)
        return True

    async def read(self, card: Card) -> int:
        """Apply what stands on a card; return how many decisions were new. Raises SurfaceFailed."""
        ts = card.message_ids[-1]
        async with self.alone(ts):
            try:
                found = await self.found(card)
            except CardGone:
                await card_deleted(self._workflow.world, SURFACE, ts)
                return 0
            if left_in(card, self._rest.id) is not None:
                count = await apply_left(self._catching_up, card, found)
                await card_deleted(self._workflow.world, SURFACE, ts)
                return count
            found = replace(found, waiting=self._catching_up.waiting(card))
            count = await self._catching_up.apply(card, found)
            for sender, reply in await self._catching_up.unheeded(card, found):
                self._tell(sender, ts, reply)
        if count == 0:
            await self._seeds_found(card, lacking=found.lacking)
        return count

    def alone(self, message_ts: str) -> asyncio.Lock:
        """Return the lock held while a card is read, and while a removed emoji is processed."""
        return self._catching_up.alone(message_ts)

    async def still_stands(self, taken: Reacted) -> bool:
        """Say whether the person has put the same signal there in another skin tone."""
        message = await self._rest.read(taken.message_ts)
        others = [
            each
            for each in message.get("reactions") or ()
            if each.get("name") != taken.name
            and of_slack_name(str(each.get("name", ""))) is taken.signal
        ]
        return any(taken.user in (each.get("users") or ()) for each in others)

    async def _seeds_found(self, card: Card, *, lacking: bool) -> None:
        store = self._workflow.world.store
        proposal = await store.read(lambda tx: tx.proposals.get(card.proposal_id))
        if proposal is not None and not proposal.terminal:
            self._seeds.found(card.message_ids[-1], lacking=lacking)
