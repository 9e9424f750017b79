"""Cards over which a window closed although their own surface could not be read: another was.

They are read as soon as they can be. A ❌ found there came too late to take anything back: it is an
attempt in the trail, and people are told (design section 6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.records import Card
from lifecycle.world import World

_FLAG: Final = "closed_unread"
#: So many are remembered of a surface; the newest, which people may still do something about.
_MOST: Final = 200
#: So many are read a round: windows that close and people come first.
_AT_ONCE: Final = 3
#: After one that could not be read, so long until the next round.
_PAUSE_MS: Final = 60_000

_Kept = Mapping[str, Sequence[str]]


class ClosedUnread:
    """Remembers by surface which proposals' cards are to be read yet, also across a restart."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: _Kept | None = None
        self._again_ms = 0

    async def note(self, cards: Collection[Card]) -> None:
        """Remember these cards; raises StoreUnavailable."""
        fresh = [card for card in cards if card.message_ids and not await self._knows(card)]
        if fresh:
            self._kept = await self._world.write(partial(_added, fresh))

    async def read(self, hearing: Collection[str], read: Callable[[Card], Awaitable[bool]]) -> None:
        """Read some cards of the surfaces that hear, and forget them; raises StoreUnavailable."""
        if self._world.clock.now_ms() < self._again_ms:
            return
        for surface, ids in (await self._all()).items():
            first = ids[:_AT_ONCE] if surface in hearing else ()
            cards = await self._world.store.read(partial(_ended, surface, first)) if first else ()
            done = [proposal_id for proposal_id, card in cards if card is None or await read(card)]
            if len(done) < len(first):
                self._again_ms = self._world.clock.now_ms() + _PAUSE_MS
            if first:
                turned = partial(_turned, surface, first, done)
                self._kept = await self._world.write(turned)

    async def _all(self) -> _Kept:
        if self._kept is None:
            self._kept = await self._world.store.read(_kept)
        return self._kept

    async def _knows(self, card: Card) -> bool:
        return card.proposal_id in (await self._all()).get(card.surface, ())


def _kept(tx: Transaction) -> _Kept:
    kept: _Kept = tx.flags.get(_FLAG) or {}
    return kept


def _added(cards: Sequence[Card], tx: Transaction) -> _Kept:
    kept = {surface: list(ids) for surface, ids in _kept(tx).items()}
    for card in cards:
        ids = [each for each in kept.get(card.surface, ()) if each != card.proposal_id]
        kept[card.surface] = [*ids, card.proposal_id][-_MOST:]
    tx.flags.put(_FLAG, kept)
    return kept


def _turned(surface: str, tried: Sequence[str], done: Collection[str], tx: Transaction) -> _Kept:
    """Forget what was read; what could not be stands behind the others."""
    kept = dict(_kept(tx))
    others = [each for each in kept.get(surface, ()) if each not in tried]
    kept[surface] = [*others, *(each for each in tried if each not in done)]
    tx.flags.put(_FLAG, kept)
    return kept


def _ended(surface: str, ids: Sequence[str], tx: Transaction) -> list[tuple[str, Card | None]]:
    """Return the cards of what has ended, None where there is none to be read; those of what has
    not are read with all open ones."""
    found: list[tuple[str, Card | None]] = []
    for proposal_id in ids:
        try:
            proposal = tx.proposals.get(proposal_id)
        except RowUnreadable:
            proposal = None
        card = tx.cards.get(proposal_id, surface) if proposal is not None else None
        if proposal is None or proposal.terminal:
            found.append((proposal_id, card if card is not None and card.message_ids else None))
    return found
