"""What is due on one surface: cards by proposer and kept messages by recipient, each in a line."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

from bot.chat.turns import Fairness, Rank, Turn
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.records import Card, Message
from lifecycle.world import World

#: So many of each are looked at; of a longer backlog the oldest, and what failed often last.
_MOST_CARDS: Final = 10_000
_MOST_MESSAGES: Final = 1_000
#: The store is asked again after so long, in seconds, or so many times as long as it took.
_LOOK_AGAIN_S: Final = 0.1
_WORTH: Final = 10

Item = Card | Message


class Due:
    """Says what is next: what became of a card that stands and what is for people comes first,
    then new cards and messages to agents by turns, each of them by proposer and by agent."""

    def __init__(self, world: World, surface: str) -> None:
        self._world = world
        self._surface = surface
        self._fairness = Fairness()
        self._lines: dict[Turn, deque[Item]] = {}
        self._proposers: dict[str, str] = {}
        self._good_until_s = 0.0

    async def look(self, *, at_once: bool = False) -> bool:
        """Ask the store what is due, unless it was asked a moment ago; say whether it was."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        if not at_once and began_s < self._good_until_s:
            return False
        now_ms = self._world.clock.now_ms()
        found = await self._world.store.read(lambda tx: list(self._found(tx, now_ms)))
        self._lines = {}
        for turn, item in found:
            self._lines.setdefault(turn, deque()).append(item)
        took_s = loop.time() - began_s
        self._good_until_s = loop.time() + max(_LOOK_AGAIN_S, _WORTH * took_s)
        return True

    def next(self) -> tuple[Turn, Item] | None:
        """Take what is next off its line; None where nothing is left of the last look."""
        turn = self._fairness.choose(self._lines)
        if turn is None:
            return None
        item = self._lines[turn].popleft()
        if not self._lines[turn]:
            del self._lines[turn]
        return turn, item

    def served(self, turn: Turn) -> None:
        """Something of this line was delivered."""
        self._fairness.served(turn)

    def hold(self, turn: Turn) -> None:
        """What is left of this line waits until the store is asked again."""
        self._lines.pop(turn, None)

    # -- inside ---------------------------------------------------------------------------

    def _found(self, tx: Transaction, now_ms: int) -> Iterable[tuple[Turn, Item]]:
        stale = tx.cards.stale(self._surface, now_ms, _MOST_CARDS)
        known = self._proposers
        self._proposers = {
            each.proposal_id: known.get(each.proposal_id) or _proposer(tx, each) for each in stale
        }
        for card in stale:
            who = self._proposers[card.proposal_id]
            yield Turn(Rank.FIRST if card.message_ids else Rank.CARDS, f"card {who}"), card
        for message in tx.outbox.waiting(self._surface, now_ms, _MOST_MESSAGES):
            to_agent = message.recipient in self._world.law.policy.agents
            rank = Rank.AGENTS if to_agent else Rank.FIRST
            yield Turn(rank, f"to {message.recipient}"), message


def _proposer(tx: Transaction, card: Card) -> str:
    try:
        proposal = tx.proposals.get(card.proposal_id)
    except RowUnreadable:
        return ""
    return "" if proposal is None else str(proposal.actor)
