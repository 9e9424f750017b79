"""What is due on one surface: cards by proposer and kept messages by recipient, each in a line."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field
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
#: So many failures in a row, and a person must know.
ATTENTION_AFTER: Final = 5
#: So many of a line in a row, and one of it that failed so often has a turn.
_FRESH: Final = 4
#: Where no more cards than these wait, none of them waits long.
_FEW: Final = 20
#: So many windows have lines of their own, the next that closes first.
_MOST_WINDOWS: Final = 200

Item = Card | Message


@dataclass(slots=True)
class _Line:
    """What is due of somebody: what did not fail often, in its order, and what did, whatever waits
    longest first. New ones may come faster than they are shown, and for good."""

    fresh: deque[Item] = field(default_factory=deque)
    failed: deque[Item] = field(default_factory=deque)

    def add(self, item: Item) -> None:
        (self.fresh if item.attempts < ATTENTION_AFTER else self.failed).append(item)

    def take(self, fresh_before: int) -> Item:
        if self.failed and (not self.fresh or fresh_before >= _FRESH):
            return self.failed.popleft()
        return self.fresh.popleft()

    def __bool__(self) -> bool:
        return bool(self.fresh or self.failed)


class Due:
    """Says what is next: what became of a card that stands and what is for people comes first, and
    cards of open windows beside the others of their proposer; then new cards and messages to agents
    by turns, each of them by proposer and by agent."""

    def __init__(self, world: World, surface: str) -> None:
        self._world = world
        self._surface = surface
        self._fairness = Fairness()
        self._lines: dict[Turn, _Line] = {}
        #: How many that did not fail often each line had in a row.
        self._fresh: dict[Turn, int] = {}
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
            self._lines.setdefault(turn, _Line()).add(item)
        self._fresh = {turn: self._fresh.get(turn, 0) for turn in self._lines}
        took_s = loop.time() - began_s
        self._good_until_s = loop.time() + max(_LOOK_AGAIN_S, _WORTH * took_s)
        return True

    def next(self) -> tuple[Turn, Item] | None:
        """Take what is next off its line; None where nothing is left of the last look."""
        turn = self._fairness.choose(self._lines)
        if turn is None:
            return None
        line, fresh = self._lines[turn], self._fresh.get(turn, 0)
        item = line.take(fresh)
        self._fresh[turn] = fresh + 1 if item.attempts < ATTENTION_AFTER else 0
        if not line:
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
        windows = _windows(tx) if len(stale) > _FEW else frozenset()
        for card in stale:
            who, in_window = self._proposers[card.proposal_id], card.proposal_id in windows
            first = in_window or card.message_ids
            line = f"window {who}" if in_window else f"card {who}"
            yield Turn(Rank.FIRST if first else Rank.CARDS, line), card
        agents = self._world.law.policy.agents.keys()
        for message in waiting_messages(tx, self._surface, now_ms, agents):
            to_agent = message.recipient in agents
            rank = Rank.AGENTS if to_agent else Rank.FIRST
            yield Turn(rank, f"to {message.recipient}"), message


def waiting_messages(
    tx: Transaction, surface: str, now_ms: int, agents: Set[str]
) -> Collection[Message]:
    """Return the oldest messages of a surface that are due. Where many wait, what is for people and
    for other `agents` stands behind those to some agents: it is looked for beside them."""
    page = surface, now_ms, _MOST_MESSAGES
    found = {each.key: each for each in tx.outbox.waiting(*page)}
    crowd = agents & {each.recipient for each in found.values()}
    for but in (crowd, agents):
        if len(found) >= _MOST_MESSAGES:
            found |= {each.key: each for each in tx.outbox.waiting(*page, *sorted(but))}
    return found.values()


def _windows(tx: Transaction) -> frozenset[str]:
    """Return what can be taken back, or is under way; the most urgent of it."""
    return frozenset(each.proposal_id for each in tx.proposals.executing(0, _MOST_WINDOWS))


def _proposer(tx: Transaction, card: Card) -> str:
    try:
        proposal = tx.proposals.get(card.proposal_id)
    except RowUnreadable:
        return ""
    return "" if proposal is None else str(proposal.actor)
