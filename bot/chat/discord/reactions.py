"""Hands ✅ and ❌, from raw events and read from cards, to the law, which decides what counts.

Twins: `slack/reacting.py` and `slack/reactions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bot.chat.commands.typed import begun_id, tries_again
from bot.chat.discord.hints import Hint, Hints, hint_about
from bot.chat.discord.payloads import LINE_MS, TOLD_MS
from bot.chat.discord.settings import SURFACE
from bot.chat.discord.showing import Showing
from bot.chat.discord.standing import Emoji, standing_on
from bot.chat.discord.taken_off import TakenOff
from bot.chat.hearing.acted import approves_it
from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.found import Found
from bot.chat.hearing.incoming import UNKNOWN, Incoming
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.left_behind import apply_left, left_in
from bot.chat.hearing.moderated import card_cleared, card_deleted
from bot.chat.hearing.noting import counts_later
from bot.chat.hearing.reading import Reading
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.shown import GIVEN_MS, HEARD_MS
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.standing_signals import StandingSignals
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.records import Card
from lifecycle.workflow import Workflow

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface

#: A signal may come before its card has a row; these are the pauses between looks, in seconds.
_EARLY_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
#: Refusals after which the bot takes the reaction off: this account may not decide here.
_MAY_NOT: Final = frozenset({"not_a_reviewer", "own_proposal", "owner_of_agent"})

_Key = tuple[str, str, Signal, str]


class Reactions:
    """Processes the reactions of one server's channel."""

    def __init__(
        self,
        workflow: Workflow,
        incoming: Incoming,
        surface: DiscordSurface,
        showing: Showing,
        taken_off: TakenOff,
        *,
        reading: Callable[[], Reading],
        lanes: Lanes,
        hints: Hints,
    ) -> None:
        """`reading` returns what knows which cards may hold a signal that nobody heard; `lanes` are
        those in which heard events wait."""
        self._workflow = workflow
        self._reading = reading
        self._hints = hints
        self._incoming = incoming
        self._rest, self._seeds, self._hearing = surface.rest, surface.seeds, surface.hearing
        self._showing = showing
        self._taken_off_by = taken_off
        self._catching_up = CatchingUp(workflow, SURFACE, lanes)
        self.known = StandingSignals()

    async def reacted(self, event_id: str, payload: Mapping[str, Any]) -> None:
        """Give one kept reaction its effect. Notes to its sender, and taking the emoji off, are
        tasks: no decision waits for them."""
        message_id, signal = payload["message"], Signal[payload["signal"]]
        original = payload.get("copy_of")
        if original is not None and await self._card(original) is None:
            return  # what was forwarded is no card
        sender = self._sender(payload["user"], event_id)
        key = (message_id, payload["user"], signal, payload["variant"])
        if not payload["in_place"]:
            reply = await self._incoming.reacted(
                sender, message_id, signal, added=True, in_place=False
            )
            # Discord does not always say whose message it is; if it may not be ours, say nothing.
            if payload["ours"]:
                self._hints.note(hint_about(reply, sender, message_id))
        elif payload["added"]:
            await self._added(key, sender, payload)
        else:
            async with self._catching_up.alone(message_id):
                hint = await self._removed(key, sender)
                heir = sender.as_heir() if payload.get(GIVEN_MS) is not None else None
                if heir is not None:  # nobody knows when it came off: it may have been they
                    await self._removed(key, replace(heir, event_id=f"{event_id}.{heir.id}"))
            self._hints.note(hint)

    async def _added(self, key: _Key, sender: Sender, payload: Mapping[str, Any]) -> None:
        message_id, account, signal, _ = key
        ours: bool | None = payload["ours"]
        if not self.known.add(*key):
            return
        counts = False
        try:
            pauses_s = () if ours is False else _EARLY_S
            card = await self._incoming.unplaced.soon(message_id, pauses_s)
            if card is None and ours is False:
                return
            if card is None and await self._incoming.unplaced.on_its_way():
                self._reading().found_again(message_id)
            if signal is Signal.APPROVE and not await self._still_meant(card, account, payload):
                return
            reply = await self._incoming.reacted(
                sender, message_id, signal, added=True, in_place=True
            )
            counts = reply is None or not counts_later(reply)
        finally:
            if not counts:  # so that it is processed when it comes again or is found on the card
                self.known.drop(*key)
        may_not = reply is not None and reply.code in _MAY_NOT
        if counts and may_not and sender.is_known_to(self._workflow.policy):
            away = self._taken_off(message_id, signal, account)
            self._hints.asides.begin(away, to=f"off:{account}")
        self._hints.note(hint_about(reply, sender, message_id), if_forgotten=reply is UNKNOWN)

    async def _still_meant(
        self, card: Card | None, account: str, payload: Mapping[str, Any]
    ) -> bool:
        """Hear every ❌ before a ✅ counts; return False if the ✅ was taken off by then.

        It may have been taken off while that took its time, or while nobody heard: if it was heard
        in another connection, or its removal could not be stored, the card is read. If its removal
        was heard and stored, that event waits behind this one, and nothing begins before it. On a
        former card the law answers: the one that counts does not tell whether that ✅ stands.
        """
        if card is None or card.message_ids[-1] != payload["message"]:
            return True
        began_ms, message_id = self._workflow.world.clock.now_ms(), card.message_ids[-1]
        await self._catching_up.elsewhere.heard_in_time(card.proposal_id)
        other_line = payload.get(LINE_MS) != self._hearing.line_ms
        taken_off, variant = self._taken_off_by, payload["variant"]
        unkept = taken_off.unkept(message_id, account, variant)
        standing = await self._stop_first(card, always=other_line or unkept)
        if standing is not None and account not in standing:
            told_ms = payload.get(TOLD_MS, payload.get(HEARD_MS, began_ms))
            if not taken_off.waits(message_id, account, told_ms, variant):
                return False  # if it stands after all, the next reading of the card finds it
        return not taken_off.since(message_id, (account,), began_ms + 1, variant)

    async def heard_before(self, text: str) -> bool:
        """Hear every ❌ before a typed command lets anything begin; False if the card cannot be
        read now and that holds the command up."""
        proposal_id = begun_id(text)
        heard = proposal_id is None or await self.stopped_first(proposal_id)
        return heard or tries_again(text)

    async def stopped_first(self, proposal_id: str) -> bool:
        """Hear every ❌, here and elsewhere, before an approval; False if this card is unread.

        Raises SurfaceFailed before a client is connected: what a former process kept must wait, for
        nobody could be answered.
        """
        self._rest.check_connected()
        await self._catching_up.elsewhere.heard_in_time(proposal_id)
        return await self.stops_heard(proposal_id)

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear every ❌ on the proposal's card here, if some may have been missed.

        False if the card cannot be read now. If Discord refuses that for good, True: then only what
        a person says in words counts.
        """
        store = self._workflow.world.store
        card = await store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
        if card is None or not card.message_ids:
            return True
        try:
            await self._stop_first(card)
        except SurfaceFailed as failure:
            return failure.lasting
        return True

    async def _stop_first(self, card: Card, *, always: bool = False) -> Collection[str] | None:
        """Carry out every ❌ on the card if some may have been missed, or `always`; return the
        accounts under ✅, None if the card was not read."""
        missed = always or await self._reading().may_be_unread(card)
        if not missed or not await self._incoming.open(card):
            return None
        asked_ms = self._workflow.world.clock.now_ms()
        try:
            standing = await self._standing(card)
        except CardGone:
            return None
        await self._catching_up.stop_first(card, self._found(card, standing, asked_ms))
        return standing.accounts(Signal.APPROVE)

    async def _removed(self, key: _Key, sender: Sender) -> Hint | None:
        message_id, _, signal, _ = key
        if self.known.drop(*key):
            return None
        card = await self._card(message_id)
        if card is None:
            return None
        world = self._workflow.world
        if signal is Signal.APPROVE and not await approves_it(world, card, sender):
            await self._incoming.seen_gone(card, message_id, sender)
            if not await approves_it(world, card, sender):  # unless another surface approved it
                return None
        reply = await self._incoming.reacted(sender, message_id, signal, added=False, in_place=True)
        return hint_about(reply, sender, message_id)

    async def cleared(self, message_id: str, signal: Signal | None) -> None:
        """Note that somebody cleared a card of emoji, and put the seeds back; no review changes."""
        self.known.clear(message_id, signal)
        card = await card_cleared(self._workflow.world, SURFACE, message_id, signal)
        if card is not None and await self._incoming.open(card):
            self._seeds.want(int(message_id), True, again=True)

    async def deleted(self, message_ids: list[str]) -> None:
        """Note that messages were deleted; cards among them are posted again."""
        for message_id in message_ids:
            self.known.clear(message_id, None)
            self._seeds.gone(int(message_id))
            if await card_deleted(self._workflow.world, SURFACE, message_id):
                self._workflow.world.notifier.nudge()

    async def read(self, card: Card) -> int:
        """Read what stands on a card and apply it; return how many decisions were new.

        Raises SurfaceFailed if it cannot be read. A card that is gone is posted again.
        """
        message_id = card.message_ids[-1]
        async with self._catching_up.alone(message_id):
            asked_ms = self._workflow.world.clock.now_ms()
            try:
                standing = await self._standing(card)
                found = self._found(card, standing, asked_ms)
                if left_in(card, str(self._rest.settings.channel)) is None:
                    return await self._applied(card, standing, found, asked_ms)
                count = await apply_left(self._catching_up, card, found)
            except CardGone:
                count = 0
            await self.deleted([message_id])
            return count

    async def _applied(self, card: Card, emoji: Emoji, found: Found, asked_ms: int) -> int:
        message_id = card.message_ids[-1]
        count = await self._catching_up.apply(card, found)
        for sender, reply in await self._catching_up.unheeded(card, found):
            # In a task: no window waits until there is room for a note.
            self._workflow.world.background.spawn(self._hints.tell(Hint(sender, message_id, reply)))
        for signal, lists in emoji.lists.items():
            for variant, accounts in lists.items():
                left = self._taken_off_by.since(message_id, accounts, asked_ms, variant)
                left = left.union(found.waiting) if signal is Signal.APPROVE else set()
                for account in accounts - left:
                    self.known.add(message_id, account, signal, variant)
        self._seeds.found(int(message_id), emoji.own)
        return count

    # -- inside ---------------------------------------------------------------------------

    async def _standing(self, card: Card) -> Emoji:
        """Read what stands on a card. If it shows nothing, that is noted before anything counts."""
        standing = await standing_on(self._rest, card)
        if standing.on_nothing:
            await self._showing.hidden(card.message_ids[-1])
        return standing

    def _found(self, card: Card, emoji: Emoji, asked_ms: int) -> Found:
        message_id, lists = card.message_ids[-1], emoji.lists[Signal.APPROVE]
        return Found(
            self._senders(self._taken_off_by.left_there(message_id, lists, asked_ms)),
            self._senders(emoji.accounts(Signal.STOP)),
            Signal.APPROVE in emoji.own,
            asked_ms,
            waiting=self._catching_up.waiting(card),
        )

    def _senders(self, accounts: Iterable[str]) -> list[Sender]:
        return [self._sender(account) for account in sorted(accounts)]

    def _sender(self, account: str, event_id: str | None = None) -> Sender:
        return sender_of(self._workflow.policy, SURFACE, account, event_id=event_id)

    async def _card(self, message_id: str) -> Card | None:
        return await self._workflow.world.store.read(lambda tx: tx.cards.find(SURFACE, message_id))

    async def _taken_off(self, message_id: str, signal: Signal, account: str) -> None:
        """Take off a reaction that does not count, if the bot may."""
        try:
            await self._rest.unreact(int(message_id), signal, int(account))
        except SurfaceFailed:
            return
