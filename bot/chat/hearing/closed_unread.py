"""Remembers cards whose windows closed although they could not be read: they are read later.

A window closes if the card was read on any one surface (`bot/chat/showing/broadcast.py`); the
others are read as soon as they can be. A ❌ found there came too late to take anything back: it is
an attempt in the trail, and people are told (design section 6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from bot.chat.hearing.known import on_its_way
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Card
from lifecycle.state import State
from lifecycle.world import World

_FLAG: Final = "closed_unread"
#: The newest so many of a surface are remembered: about those people may still do something.
_MOST: Final = 200
#: After a card that could not be read, its surface has a pause of this length.
_PAUSE_MS: Final = 20_000

_Kept = Mapping[str, Sequence[str]]


class ClosedUnread:
    """Remembers by surface which proposals' cards are still to be read, also across a restart."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: _Kept | None = None
        self._again_ms: dict[str, int] = {}

    async def note(self, cards: Collection[Card]) -> None:
        """Remember these cards, except those of proposals that wait for approval: they have no
        window that could close. A card whose post was not answered may stand, and be given ❌,
        although no row says so yet. Raises StoreUnavailable."""
        now_ms = self._world.clock.now_ms()
        stand = [card for card in cards if card.message_ids or on_its_way(card, now_ms)]
        fresh = [card for card in stand if not await self._knows(card)]
        if fresh and (fresh := await self._world.store.read(partial(_opened, fresh))):
            self._kept = await self._world.write(partial(_added, fresh))

    async def read(self, hearing: Collection[str], read: Callable[[Card], Awaitable[bool]]) -> None:
        """Read the next card of each surface that hears, and forget it; raises StoreUnavailable.

        It is one a round: a platform allows few readings a minute, most of them for open proposals.
        """
        now_ms = self._world.clock.now_ms()
        for surface, ids in (await self._all()).items():
            if ids and surface in hearing and self._again_ms.get(surface, 0) <= now_ms:
                await self._read_next(surface, ids[0], read)

    async def _read_next(
        self, surface: str, proposal_id: str, read: Callable[[Card], Awaitable[bool]]
    ) -> None:
        ended, card = await self._world.store.read(partial(_ended, surface, proposal_id))
        if card is not None and card.message_ids:
            done = ended and await read(card)
        else:
            done = ended and (card is None or not on_its_way(card, self._world.clock.now_ms()))
        if not done:
            self._again_ms[surface] = self._world.clock.now_ms() + _PAUSE_MS
        self._kept = await self._world.write(partial(_turned, surface, proposal_id, done))

    async def _all(self) -> _Kept:
        if self._kept is None:
            self._kept = await self._world.store.read(_kept)
        return self._kept

    async def _knows(self, card: Card) -> bool:
        return card.proposal_id in (await self._all()).get(card.surface, ())


def _kept(tx: Transaction) -> _Kept:
    kept = tx.flags.get(_FLAG)
    told = kept if isinstance(kept, Mapping) else {}
    return {surface: ids for surface, ids in told.items() if _are_ids(ids)}


def _are_ids(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)


def _opened(cards: Sequence[Card], tx: Transaction) -> list[Card]:
    return [card for card in cards if (found := _found(tx, card.proposal_id)) and _begun(found)]


def _begun(proposal: Proposal) -> bool:
    return proposal.terminal or proposal.state is State.EXECUTING


def _found(tx: Transaction, proposal_id: str) -> Proposal | None:
    with suppress(RowUnreadable):
        return tx.proposals.get(proposal_id)
    return None


def _added(cards: Sequence[Card], tx: Transaction) -> _Kept:
    kept = {surface: list(ids) for surface, ids in _kept(tx).items()}
    for card in cards:
        ids = [each for each in kept.get(card.surface, ()) if each != card.proposal_id]
        kept[card.surface] = [*ids, card.proposal_id][-_MOST:]
    tx.flags.put(_FLAG, kept)
    return kept


def _turned(surface: str, proposal_id: str, done: bool, tx: Transaction) -> _Kept:
    """Forget a card that was read (`done`); put one that could not be read behind the others."""
    kept = dict(_kept(tx))
    others = [each for each in kept.get(surface, ()) if each != proposal_id]
    kept[surface] = others if done else [*others, proposal_id]
    tx.flags.put(_FLAG, kept)
    return kept


def _ended(surface: str, proposal_id: str, tx: Transaction) -> tuple[bool, Card | None]:
    """Return whether the proposal has ended or is gone, and its card. While it is open, its card is
    read with all other open ones."""
    proposal = _found(tx, proposal_id)
    if proposal is None:
        return True, None
    return proposal.terminal, tx.cards.get(proposal_id, surface)
