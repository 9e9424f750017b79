"""A store knows which cards are stale, where each one stands, and what was not yet said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lifecycle.ports import ProposalStore, Transaction
from lifecycle.records import LONGEST_WAIT_MS, Card, Message
from tests.builders import NOW_MS
from tests.contracts.store_examples import MINUTE_MS, InStore, executing, ids, rejected, waiting


class CardsContract(InStore):
    """What people are shown and told."""

    async def test_a_card_that_is_merely_wanted_stands_nowhere(self, store: ProposalStore) -> None:
        await self.filled(store, waiting("p1"), waiting("p2"))

        def unit(tx: Transaction) -> tuple[list[str], list[str]]:
            for surface in ("discord", "slack", "terminal"):
                tx.cards.want("p1", surface, 1)
            wanted = [card.surface for card in tx.cards.standing("p1")]
            tx.cards.put(Card("p1", "discord", 1, shown_version=1, delivered=True))
            tx.cards.put(Card("p1", "slack", 1, message_ids=("m1",)))
            tx.cards.put(Card("p2", "slack", 1, message_ids=("m2",)))
            tx.cards.want("p1", "terminal", 2)
            return wanted, [card.surface for card in tx.cards.standing("p1")]

        assert await store.write(unit) == ([], ["discord", "slack"])

    async def test_cards_are_stale_until_they_show_what_is_wanted(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("p1"), waiting("p2"), waiting("p3"))

        def wish(tx: Transaction) -> None:
            for name in ("p2", "p1", "p3"):
                tx.cards.want(name, "terminal", 1)
            tx.cards.want("p1", "discord", 1)
            tx.cards.want("p2", "terminal", 3)
            tx.cards.want("p2", "terminal", 2)

        await store.write(wish)
        stale = await store.read(lambda tx: tx.cards.stale("terminal", 0, 9))
        assert [(card.proposal_id, card.wanted_version) for card in stale] == [
            ("p2", 3),
            ("p1", 1),
            ("p3", 1),
        ]
        assert stale[1] == Card("p1", "terminal", 1)

        def shown(tx: Transaction) -> None:
            tx.cards.put(replace(stale[0], shown_version=3, message_ids=("m2",), delivered=True))
            tx.cards.put(replace(stale[1], attempts=1, retry_at_ms=NOW_MS, why="down"))
            tx.cards.want("p2", "terminal", 4)

        await store.write(shown)
        now = await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS - 1, 9))
        later = await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 9))
        assert ids(now) == ["p3", "p2"]
        assert ids(later) == ["p1", "p3", "p2"]
        assert ids(await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 1))) == ["p1"]
        assert [c.surface for c in await store.read(lambda tx: tx.cards.of("p1"))] == [
            "discord",
            "terminal",
        ]

    async def test_what_waits_is_told_but_for_those_who_are_left_out(
        self, store: ProposalStore
    ) -> None:
        def unit(tx: Transaction) -> None:
            for recipient in ("leila", "leila2", "", "lei"):
                key = f"to {recipient}"
                tx.outbox.add(Message(key, "terminal", recipient, "note", {}, NOW_MS))

        await store.write(unit)

        async def told(*but: str) -> list[str]:
            found = await store.read(lambda tx: tx.outbox.waiting("terminal", NOW_MS, 9, *but))
            return [message.recipient for message in found]

        assert await told() == ["leila", "leila2", "", "lei"]
        assert await told("leila") == ["leila2", "", "lei"]
        assert await told("lei", "leila2") == ["leila", ""]

    async def test_a_wish_made_while_a_card_was_posted_is_not_lost(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("p1"))
        await store.write(lambda tx: tx.cards.want("p1", "terminal", 1))
        posting = await store.read(lambda tx: tx.cards.get("p1", "terminal"))
        await store.write(lambda tx: tx.cards.want("p1", "terminal", 2))
        assert posting is not None

        await store.write(lambda tx: tx.cards.put(replace(posting, shown_version=1)))

        card = await store.read(lambda tx: tx.cards.get("p1", "terminal"))
        assert card is not None
        assert (card.wanted_version, card.shown_version) == (2, 1)
        assert ids(await store.read(lambda tx: tx.cards.stale("terminal", 0, 9))) == ["p1"]

    async def test_a_card_is_found_by_every_message_it_stood_in(self, store: ProposalStore) -> None:
        card = Card(
            "p1",
            "discord",
            wanted_version=2,
            shown_version=2,
            message_ids=("m1", "m2"),
            delivered=True,
            full=False,
            attempts=3,
            retry_at_ms=7,
            why="too long",
            posted_at_ms=NOW_MS,
            claim="nonce",
            extra={"thread": ["t", 1]},
        )
        await self.filled(store, waiting("p1"))
        await store.write(lambda tx: tx.cards.put(card))

        assert await store.read(lambda tx: tx.cards.get("p1", "discord")) == card
        assert await store.read(lambda tx: tx.cards.find("discord", "m1")) == card
        assert await store.read(lambda tx: tx.cards.find("discord", "m2")) == card
        assert await store.read(lambda tx: tx.cards.find("slack", "m1")) is None
        assert await store.read(lambda tx: tx.cards.find("discord", "m3")) is None

    async def test_only_cards_of_open_proposals_are_gone_through(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("b"), executing("a"), rejected("gone"), waiting("none"))

        def unit(tx: Transaction) -> None:
            for name in ("b", "a", "gone"):
                tx.cards.want(name, "discord", 1)
            tx.cards.want("none", "slack", 1)

        await store.write(unit)

        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 9))) == ["a", "b"]
        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 9, "a"))) == ["b"]
        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 1))) == ["a"]

    async def test_what_would_wait_longer_than_anything_does_is_due(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("waits"), waiting("ahead"))
        latest_ms = NOW_MS + LONGEST_WAIT_MS
        note = Message("waits", "terminal", "", "note", {}, NOW_MS, not_before_ms=latest_ms)

        def unit(tx: Transaction) -> None:
            tx.cards.put(Card("waits", "terminal", 2, retry_at_ms=latest_ms))
            tx.cards.put(Card("ahead", "terminal", 2, retry_at_ms=latest_ms + 1))
            tx.outbox.add(note)
            tx.outbox.add(replace(note, key="ahead", not_before_ms=latest_ms + 1))

        await store.write(unit)

        assert ids(await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 9))) == ["ahead"]
        told = await store.read(lambda tx: tx.outbox.waiting("terminal", NOW_MS, 9))
        assert [message.key for message in told] == ["ahead"]

    async def test_what_failed_often_stands_behind_the_rest_whoever_waits_longest_first(
        self, store: ProposalStore
    ) -> None:
        names = ("stuck", "dead", "once", "fresh")
        await self.filled(store, *map(waiting, names))
        tried = {"stuck": (9, NOW_MS - 1), "dead": (5, NOW_MS - 2), "once": (4, NOW_MS)}

        def unit(tx: Transaction) -> None:
            for name in names:
                attempts, at_ms = tried.get(name, (0, 0))
                tx.cards.put(Card(name, "terminal", 1, attempts=attempts, retry_at_ms=at_ms))
                tx.outbox.add(Message(name, "terminal", "", "note", {}, NOW_MS, not_before_ms=0))
                for _ in range(attempts):
                    tx.outbox.failed(name, at_ms, "down")

        await store.write(unit)

        cards = await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 9))
        assert ids(cards) == ["once", "fresh", "dead", "stuck"]
        told = await store.read(lambda tx: tx.outbox.waiting("terminal", NOW_MS, 9))
        assert [message.key for message in told] == ["once", "fresh", "dead", "stuck"]

    async def test_messages_are_kept_until_they_have_arrived(self, store: ProposalStore) -> None:
        first = Message("end:p1", "terminal", "leila", "ended", {"a": [1]}, NOW_MS, "p1")
        second = Message("note", "terminal", "", "note", {}, NOW_MS - 9, not_before_ms=NOW_MS)
        other = Message("away", "discord", "", "note", {}, NOW_MS)

        def unit(tx: Transaction) -> None:
            for message in (first, second, other, replace(first, body={"again": True})):
                tx.outbox.add(message)

        def due(now_ms: int) -> Callable[[Transaction], Any]:
            return lambda tx: tx.outbox.waiting("terminal", now_ms, 9)

        await store.write(unit)
        assert await store.read(due(NOW_MS - 1)) == [first]
        assert await store.read(due(NOW_MS)) == [first, second]

        await store.write(lambda tx: tx.outbox.failed("end:p1", NOW_MS + MINUTE_MS, "down"))
        assert await store.read(due(NOW_MS)) == [second]
        tried = replace(first, attempts=1, not_before_ms=NOW_MS + MINUTE_MS)
        assert await store.read(due(NOW_MS + MINUTE_MS)) == [tried, second]

        await store.write(lambda tx: tx.outbox.delivered("end:p1", NOW_MS))
        await store.write(lambda tx: tx.outbox.add(first))
        assert await store.read(due(NOW_MS + MINUTE_MS)) == [second]
