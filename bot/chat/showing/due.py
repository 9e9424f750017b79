"""Keeps what is due on one surface in lines: cards by proposer, kept messages by recipient.

`Delivery` asks it what to deliver next.
"""

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

#: So many cards and messages are looked at: the oldest of a longer backlog, often failed ones last.
_MOST_CARDS: Final = 10_000
_MOST_MESSAGES: Final = 1_000
#: The store is asked again after this pause in seconds, or after this many times as long as the
#: last look took, whichever is longer.
_LOOK_AGAIN_S: Final = 0.1
_WORTH: Final = 10
#: After so many failures in a row a person must know.
ATTENTION_AFTER: Final = 5
#: After so many fresh items of a line in a row, one that failed often has a turn.
_FRESH: Final = 4
#: If no more cards than this wait, none waits long; neither windows nor what is over need lines of
#: their own.
_FEW: Final = 20
#: A new card with so little time left until its deadline (ms), or with half of its life if that is
#: shorter, comes too late to be decided.
_TOO_LATE_MS: Final = 30_000
#: At most so many windows have lines of their own: those that close next.
_MOST_WINDOWS: Final = 200

Item = Card | Message


@dataclass(slots=True)
class _Line:
    """What is due in one line: `fresh` in its order, and `failed` (often), longest wait first.

    New items may come faster than they can be shown, and without end, so `failed` has turns as
    well.
    """

    fresh: deque[Item] = field(default_factory=deque)
    failed: deque[Item] = field(default_factory=deque)

    def add(self, item: Item) -> None:
        (self.fresh if item.attempts < ATTENTION_AFTER else self.failed).append(item)

    def take(self, fresh_before: int) -> Item:
        if self.failed and (not self.fresh or fresh_before >= _FRESH):
            return self.failed.popleft()
        return self.fresh.popleft()

    def drop_card(self, proposal_id: str) -> None:
        for items in (self.fresh, self.failed):
            for item in [each for each in items if _is_card_of(each, proposal_id)]:
                items.remove(item)

    def __bool__(self) -> bool:
        return bool(self.fresh or self.failed)


class Due:
    """Says what is delivered next on one surface.

    First come messages to people and cards that already stand, with lines of their own for cards of
    open windows. Then new cards and messages to agents take turns, by proposer and by agent. Of one
    proposer what is over, or will be before anybody can decide it, has a line apart: a flood would
    have each card shown right before it expires.
    """

    def __init__(self, world: World, surface: str) -> None:
        self._world = world
        self._surface = surface
        self._fairness = Fairness()
        self._lines: dict[Turn, _Line] = {}
        #: How many fresh items of each line were taken in a row.
        self._fresh: dict[Turn, int] = {}
        #: Who proposed what is due, and from when on its card comes too late (ms UTC).
        self._known: dict[str, tuple[str, int] | None] = {}
        self._good_until_s = 0.0

    async def look(self, *, at_once: bool = False) -> None:
        """Ask the store what is due, unless it was asked a moment ago."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        if not at_once and began_s < self._good_until_s:
            return
        now_ms = self._world.clock.now_ms()
        found = await self._world.store.read(lambda tx: list(self._found(tx, now_ms)))
        self._lines = {}
        for turn, item in found:
            self._lines.setdefault(turn, _Line()).add(item)
        self._fresh = {turn: self._fresh.get(turn, 0) for turn in self._lines}
        took_s = loop.time() - began_s
        self._good_until_s = loop.time() + max(_LOOK_AGAIN_S, _WORTH * took_s)

    def next(self) -> tuple[Turn, Item] | None:
        """Take the next item off its line; None if nothing is left of the last look."""
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
        """Note that something of this line was delivered or tried."""
        self._fairness.served(turn)

    def hold(self, turn: Turn) -> None:
        """Drop what is left of this line until the store is asked again."""
        self._lines.pop(turn, None)

    def drop(self, proposal_id: str) -> None:
        """Take a card off its line that is tried out of its turn."""
        for turn, line in list(self._lines.items()):
            line.drop_card(proposal_id)
            if not line:
                del self._lines[turn]

    # -- inside ---------------------------------------------------------------------------

    def _found(self, tx: Transaction, now_ms: int) -> Iterable[tuple[Turn, Item]]:
        stale = tx.cards.stale(self._surface, now_ms, _MOST_CARDS)
        known = self._known
        self._known = {
            each.proposal_id: known.get(each.proposal_id) or _facts(tx, each) for each in stale
        }
        many = len(stale) > _FEW
        windows = _windows(tx) if many else frozenset()
        over = _over(tx, self._surface, stale) if many else frozenset()
        for card in stale:
            proposer, late_ms = self._known[card.proposal_id] or ("", now_ms)
            in_window, first = card.proposal_id in windows, bool(card.message_ids)
            late = many and not first and now_ms >= late_ms
            past = late or card.proposal_id in over
            what = "window" if in_window else "over" if past else "card"
            rank = Rank.FIRST if in_window or first else Rank.CARDS
            yield Turn(rank, f"{what} {proposer}"), card
        agents = self._world.law.policy.agents.keys()
        for message in waiting_messages(tx, self._surface, now_ms, agents):
            to_agent = message.recipient in agents
            rank = Rank.AGENTS if to_agent else Rank.FIRST
            yield Turn(rank, f"to {message.recipient}"), message


def _is_card_of(item: Item, proposal_id: str) -> bool:
    return isinstance(item, Card) and item.proposal_id == proposal_id


def waiting_messages(
    tx: Transaction, surface: str, now_ms: int, agents: Set[str]
) -> Collection[Message]:
    """Return the oldest messages of a surface that are due; this is a view.

    If there are more than fit into a page, messages to a few may fill it. Then the oldest for
    everybody else are looked up as well, and those for nobody of the `agents`.
    """
    page = surface, now_ms, _MOST_MESSAGES
    found = {each.key: each for each in tx.outbox.waiting(*page)}
    crowd = {each.recipient for each in found.values()}
    for but in (crowd, crowd | agents):
        if len(found) >= _MOST_MESSAGES:
            found |= {each.key: each for each in tx.outbox.waiting(*page, *sorted(but))}
    return found.values()


def _windows(tx: Transaction) -> frozenset[str]:
    """Return the ids of what can be taken back or is under way, the most urgent ones only."""
    return frozenset(each.proposal_id for each in tx.proposals.executing(0, _MOST_WINDOWS))


def _over(tx: Transaction, surface: str, cards: Iterable[Card]) -> frozenset[str]:
    """Return the ids of those of these cards whose proposals have ended; none of them if more are
    open than are looked at."""
    still = {each.proposal_id for each in tx.cards.open_on(surface, _MOST_CARDS)}
    known = len(still) < _MOST_CARDS
    return frozenset({each.proposal_id for each in cards} - still) if known else frozenset()


def _facts(tx: Transaction, card: Card) -> tuple[str, int] | None:
    """Return who proposed what a card shows, and from when on it comes too late (ms UTC); None if
    that is unread."""
    try:
        proposal = tx.proposals.get(card.proposal_id)
    except RowUnreadable:
        return None
    if proposal is None:
        return None
    lives_ms = proposal.deadline_ms - proposal.created_at_ms
    return str(proposal.actor), proposal.deadline_ms - min(_TOO_LATE_MS, lives_ms // 2)
