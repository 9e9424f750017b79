"""Keeps cards and messages for `database: "memory:"`; both tables are used on the event loop."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.storage.json_text import dump, load
from bot.storage.memory_proposals import ProposalTable
from bot.storage.memory_tables import Journal, Table
from bot.storage.record_rows import card_of, card_row
from bot.storage.waits import is_due, turn_ms
from lifecycle.records import Card, Message


@dataclass(frozen=True, slots=True)
class _Wish:
    card: Card
    turn: int

    @property
    def stale(self) -> bool:
        return self.card.shown_version < self.card.wanted_version


def _place(wish: _Wish) -> tuple[int, int]:
    return turn_ms(wish.card.attempts, wish.card.retry_at_ms), wish.turn


class CardTable:
    """Implements the port Cards."""

    def __init__(self, journal: Journal, proposals: ProposalTable) -> None:
        """Begin empty."""
        self._rows: Table[tuple[str, str], _Wish] = Table(journal)
        self._stood_in: Table[tuple[str, str], str] = Table(journal)
        self._proposals = proposals

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        stood = self._rows.get((proposal_id, surface))
        if stood is None:
            self._put(Card(proposal_id, surface, version), None)
        elif version > stood.card.wanted_version:
            self._put(replace(stood.card, wanted_version=version), stood)

    def get(self, proposal_id: str, surface: str) -> Card | None:
        wish = self._rows.get((proposal_id, surface))
        return wish.card if wish else None

    def of(self, proposal_id: str) -> Sequence[Card]:
        found = [wish.card for wish in self._rows if wish.card.proposal_id == proposal_id]
        return sorted(found, key=lambda card: card.surface)

    def standing(self, proposal_id: str) -> Sequence[Card]:
        return [card for card in self.of(proposal_id) if card.message_ids or card.delivered]

    def put(self, card: Card) -> None:
        stood = self._rows.get((card.proposal_id, card.surface))
        wanted = max(card.wanted_version, stood.card.wanted_version if stood else 0)
        self._put(replace(card_of(card_row(card)), wanted_version=wanted), stood)
        for message_id in card.message_ids:
            self._stood_in.put((card.surface, message_id), card.proposal_id)

    def stale(self, surface: str, now_ms: int, limit: int) -> Sequence[Card]:
        due = [w for w in self._stale_on(surface) if is_due(w.card.retry_at_ms, now_ms)]
        return [wish.card for wish in sorted(due, key=_place)][:limit]

    def find(self, surface: str, message_id: str) -> Card | None:
        proposal_id = self._stood_in.get((surface, message_id))
        return self.get(proposal_id, surface) if proposal_id is not None else None

    def open_on(self, surface: str, limit: int, after_id: str = "") -> Sequence[Card]:
        found = [
            wish.card
            for wish in self._rows
            if wish.card.surface == surface
            and wish.card.proposal_id > after_id
            and (proposal := self._proposals.get(wish.card.proposal_id)) is not None
            and proposal.state.open
        ]
        return sorted(found, key=lambda card: card.proposal_id)[:limit]

    def _put(self, card: Card, stood: _Wish | None) -> None:
        """Write a card; a card that was stale already keeps its place in the queue."""
        self._proposals.must_exist(card.proposal_id)
        if stood is not None and stood.stale:
            turn = stood.turn
        else:
            turn = max((wish.turn for wish in self._stale_on(card.surface)), default=0) + 1
        self._rows.put((card.proposal_id, card.surface), _Wish(card, turn))

    def _stale_on(self, surface: str) -> list[_Wish]:
        return [wish for wish in self._rows if wish.card.surface == surface and wish.stale]


class OutboxTable:
    """Implements the port Outbox."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, Message] = Table(journal)
        self._arrived: Table[str, int] = Table(journal)

    def add(self, message: Message) -> None:
        if self._rows.get(message.key) is None:
            self._rows.put(message.key, replace(message, body=load(dump(message.body))))

    def waiting(self, surface: str, now_ms: int, limit: int, *but: str) -> Sequence[Message]:
        found = [
            message
            for message in self._rows
            if message.surface == surface
            and message.recipient not in but
            and is_due(message.not_before_ms, now_ms)
            and self._arrived.get(message.key) is None
        ]
        return sorted(found, key=lambda m: turn_ms(m.attempts, m.not_before_ms))[:limit]

    def delivered(self, key: str, at_ms: int) -> None:
        if self._rows.get(key) is not None and self._arrived.get(key) is None:
            self._arrived.put(key, at_ms)

    def failed(self, key: str, retry_at_ms: int, why: str) -> None:
        message = self._rows.get(key)
        if message is not None:
            attempts = message.attempts + 1
            self._rows.put(key, replace(message, attempts=attempts, not_before_ms=retry_at_ms))
