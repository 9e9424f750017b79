"""Keeps the cards and the messages that must arrive over SQLite.

Both books run on the thread of their connection, as every book does.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.storage.book import Book
from bot.storage.record_rows import card_of, card_row, message_row, messages_of
from bot.storage.waits import due_by
from lifecycle.records import Card, Message


class CardBook(Book):
    """The port Cards: which card stands in which messages, and which version it shows.

    Wishes for cards are collected on the desk. A method that reads or writes the table calls
    `desk.write` first, so that it sees them; `of` and `standing` do so only as far as they must.
    """

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        """Note that this surface must show at least `version`."""
        self.desk.want(proposal_id, surface, version)

    def get(self, proposal_id: str, surface: str) -> Card | None:
        """Return the card of a proposal on one surface, None if none was ever wanted there."""
        self.desk.write()
        row = self._one("card", proposal_id=proposal_id, surface=surface)
        return card_of(row) if row else None

    def of(self, proposal_id: str) -> Sequence[Card]:
        """Return the cards of a proposal on all surfaces."""
        if self.desk.wants(proposal_id):
            self.desk.write()
        return [card_of(row) for row in self._all("cards_of", proposal_id=proposal_id)]

    def standing(self, proposal_id: str) -> Sequence[Card]:
        """Return the cards of a proposal that are or were shown somewhere.

        A wish on the desk shows no card, so the desk need not be written for this.
        """
        cards = (card_of(row) for row in self._all("cards_of", proposal_id=proposal_id))
        return [card for card in cards if card.message_ids or card.delivered]

    def put(self, card: Card) -> None:
        """Write the state of a card. A newer version that was wanted meanwhile stays wanted."""
        self.desk.write()
        self._do("put_card", card_row(card))
        for message_id in card.message_ids:
            key = (card.surface, message_id)
            if self.desk.messages.get(key) != card.proposal_id:
                values = {"surface": card.surface, "message_id": message_id}
                self._do("put_card_message", values | {"proposal_id": card.proposal_id})
                self.desk.messages[key] = card.proposal_id

    def stale(self, surface: str, now_ms: int, limit: int) -> Sequence[Card]:
        """Return the cards to post or edit now, oldest wish first, often failed ones last."""
        self.desk.write()
        rows = self._all("stale_cards", surface=surface, **due_by(now_ms), limit=limit)
        return [card_of(row) for row in rows]

    def find(self, surface: str, message_id: str) -> Card | None:
        """Return the card that this message shows or once showed, None if it is no card."""
        self.desk.write()
        row = self._one("find_card", surface=surface, message_id=message_id)
        return card_of(row) if row else None

    def open_on(self, surface: str, limit: int, after_id: str = "") -> Sequence[Card]:
        """Return this surface's cards of open proposals after `after_id`, by proposal id."""
        self.desk.write()
        rows = self._all("open_cards", surface=surface, limit=limit, after_id=after_id)
        return [card_of(row) for row in rows]


class OutboxBook(Book):
    """The port Outbox: messages that must arrive."""

    def add(self, message: Message) -> None:
        """Keep a message until it is delivered; the same key again adds nothing."""
        self._do("add_message", message_row(message))

    def waiting(self, surface: str, now_ms: int, limit: int, *but: str) -> Sequence[Message]:
        """Return the undelivered messages that are due, oldest first, often failed ones last.

        Messages to the recipients in `but` are left out.
        """
        names = f"/{'/'.join(but)}/" if but else ""  # no id contains a slash
        values = {"surface": surface, "limit": limit, "but": names, **due_by(now_ms)}
        return self._page("waiting_messages", messages_of, **values)

    def delivered(self, key: str, at_ms: int) -> None:
        """Note that a message has arrived."""
        self._do("message_delivered", {"key": key, "at_ms": at_ms})

    def failed(self, key: str, retry_at_ms: int, why: str) -> None:
        """Record a failed attempt, why it failed and when the next one is due (ms UTC)."""
        self._do("message_failed", {"key": key, "retry_at_ms": retry_at_ms, "why": why})
