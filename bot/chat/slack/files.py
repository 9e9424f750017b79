"""Attaches files to cards and to words that are shown in part, and tries again what failed."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from bot.chat.cards.fitting import Attachment
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.rest import Rest
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.world import World

log = logging.getLogger("signoff.slack")

#: So many files wait at most; a card whose file was dropped gets it at its next edit or start.
_MOST: Final = 100
_FIRST_PAUSE_S: Final = 5
_LONGEST_PAUSE_S: Final = 60
_PAGE: Final = 100


class _Waiting(NamedTuple):
    ts: str
    attachment: Attachment
    of_card: bool = True


class Files:
    """Puts files into threads. A card that is cut cannot be approved before its file stands, and
    whoever reads a part of words needs the whole: neither is left without because Slack failed
    once."""

    def __init__(self, rest: Rest, world: World) -> None:
        self._rest = rest
        self._world = world
        self._waiting: dict[str, _Waiting] = {}
        self._due = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many files still wait to be put into their threads."""
        return len(self._waiting)

    async def attach(
        self, proposal_id: str, ts: str, attachment: Attachment | None, *, whole: bool = False
    ) -> bool:
        """Put a card's file into its thread, once; return False if that failed.

        It is then tried again by itself, unless the failure is lasting. If the card was `whole`
        before this edit and the failure passes, SurfaceFailed is raised instead: the edit is tried
        again, and the card counts as whole meanwhile.
        """
        self._waiting.pop(proposal_id, None)
        if attachment is None:
            return True
        try:
            await self._rest.attached(ts, attachment)
        except SurfaceFailed as failure:
            if failure.lasting:
                return False
            if whole:
                raise
            self._wait(proposal_id, _Waiting(ts, attachment))
            return False
        return True

    async def follow(self, ts: str, attachment: Attachment) -> None:
        """Put the whole of words under their shown part, now or soon, until the bot ends.

        Nothing waits for it: what the words ask for can be answered without.
        """
        try:
            await self._rest.attached(ts, attachment)
        except SurfaceFailed as failure:
            log.warning("slack: said in part as yet: %s: %s", attachment.name, failure)
            if not failure.lasting:
                self._wait(f"{ts}:{attachment.name}", _Waiting(ts, attachment, of_card=False))

    async def make_due(self) -> None:
        """At the start, make due the open cards that stand without their file."""

        def unit(tx: Transaction) -> None:
            after = ""
            while page := tx.cards.open_on(SURFACE, _PAGE, after):
                for card in page:
                    if card.delivered and not card.full:
                        tx.cards.put(replace(card, shown_version=0))
                after = page[-1].proposal_id

        try:
            await self._world.store.write(unit)
        except StoreUnavailable:
            log.warning("slack: cards without their file wait until they are edited")

    async def run(self) -> None:
        """Try again, until cancelled, to attach what could not be attached."""
        pause_s = _FIRST_PAUSE_S
        while True:
            await self._due.wait()
            await self._world.clock.sleep(pause_s)
            whole = True
            for name, waiting in list(self._waiting.items()):
                whole &= await self._again(name, waiting)
            pause_s = _FIRST_PAUSE_S if whole else min(_LONGEST_PAUSE_S, 2 * pause_s)
            if not self._waiting:
                self._due.clear()

    # -- inside ---------------------------------------------------------------------------

    def _wait(self, name: str, waiting: _Waiting) -> None:
        self._waiting[name] = waiting
        while len(self._waiting) > _MOST:
            self._waiting.pop(next(iter(self._waiting)))
        self._due.set()

    async def _again(self, name: str, waiting: _Waiting) -> bool:
        """Try once more; return False if it must be tried again."""
        try:
            if waiting.of_card:
                if not await self._put_there(name, waiting):
                    return False
            else:
                await self._rest.attached(waiting.ts, waiting.attachment)
        except (SurfaceFailed, StoreUnavailable) as failure:
            if not isinstance(failure, SurfaceFailed) or not _in_vain(failure):
                return False
        except Exception as error:
            log.error("the file of %s: %s", name, located(error))
        if self._waiting.get(name) is waiting:
            del self._waiting[name]
        return True

    async def _put_there(self, name: str, waiting: _Waiting) -> bool:
        """Attach a card's file if it still belongs there; False while no row says where that is."""
        card = await self._world.store.read(partial(_open_card, name))
        if card is not None and not card.delivered:
            return False
        if card is not None and card.message_ids[-1:] == (waiting.ts,):
            await self._rest.attached(waiting.ts, waiting.attachment)
            await self._world.store.write(lambda tx: _whole(tx, name, waiting.ts))
        return True


def _open_card(proposal_id: str, tx: Transaction) -> Card | None:
    proposal = tx.proposals.get(proposal_id)
    ended = proposal is None or proposal.terminal
    return None if ended else tx.cards.get(proposal_id, SURFACE)


def _in_vain(failure: SurfaceFailed) -> bool:
    return failure.lasting or isinstance(failure, CardGone)


def _whole(tx: Transaction, proposal_id: str, ts: str) -> None:
    card = tx.cards.get(proposal_id, SURFACE)
    if card is not None and card.message_ids[-1:] == (ts,):
        tx.cards.put(replace(card, full=True))
