"""A store keeps reviews and the chain for good, and nothing hangs on a proposal it lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from lifecycle.audit import AuditEntry, broken_links, is_mere_attempt
from lifecycle.event_kinds import EventKind
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.records import Card, Money, PermitRecord
from lifecycle.review import Decision, Review
from lifecycle.state import Trigger
from tests.builders import ANA, NOW_MS
from tests.contracts.store_examples import InStore, event, waiting
from tests.roads import trail_of


def _line_of(entry: AuditEntry) -> tuple[str, str | None, str | None]:
    return entry.event.kind, entry.event.target, entry.event.reason


class TrailContract(InStore):
    """Who decided, and what happened."""

    # -- reviews ---------------------------------------------------------------------

    async def test_reviews_stay_and_approvals_can_become_void(self, store: ProposalStore) -> None:
        decisions = [
            Review("p1", "ana", Decision.APPROVE, "", NOW_MS, "terminal", event_id="e1"),
            Review("p1", "ben", Decision.APPROVE, "fine", NOW_MS + 1, "discord", found_late=True),
            Review("p1", "ana", Decision.REJECT, "", NOW_MS + 2, "terminal"),
            Review("p1", "ana", Decision.ROLL_BACK, "", NOW_MS + 3, "terminal"),
        ]
        await self.filled(store, waiting("p1"), waiting("p2"))

        def decide(tx: Transaction) -> list[int]:
            for review in decisions:
                tx.reviews.add(review)
            return [
                tx.reviews.void("p1", "ana", "taken back"),
                tx.reviews.void("p1", "ana", "taken back again"),
                tx.reviews.void("p1", None, "policy changed"),
                tx.reviews.void("p2", None, "policy changed"),
            ]

        assert await store.write(decide) == [1, 0, 1, 0]
        await store.write(lambda tx: tx.reviews.give_reason("p1", "ana", "wrong customer"))

        assert await store.read(lambda tx: tx.reviews.of("p2")) == []
        assert await store.read(lambda tx: tx.reviews.of("p1")) == [
            replace(decisions[0], void_why="taken back"),
            replace(decisions[1], void_why="policy changed"),
            decisions[2],
            replace(decisions[3], reason="wrong customer"),
        ]

    async def test_words_behind_a_stop_are_kept_with_that_persons_last_stop_of_it_alone(
        self, store: ProposalStore
    ) -> None:
        stops = [("p1", "ana"), ("p1", "ben"), ("p2", "ana")]
        await self.filled(store, waiting("p1"), waiting("p2"))

        def decide(tx: Transaction) -> None:
            for proposal_id, person in stops:
                tx.reviews.add(
                    Review(proposal_id, person, Decision.ROLL_BACK, "", NOW_MS, "terminal")
                )
            tx.reviews.give_reason("p1", "ana", "wrong customer")
            tx.reviews.give_reason("p1", "cal", "I said nothing")

        await store.write(decide)

        both = await store.read(lambda tx: [*tx.reviews.of("p1"), *tx.reviews.of("p2")])
        assert [review.reason for review in both] == ["wrong customer", "", ""]

    async def test_a_unit_reads_the_reviews_as_it_has_left_them(self, store: ProposalStore) -> None:
        await self.filled(store, waiting("p1"))

        def unit(tx: Transaction) -> list[tuple[str, str | None]]:
            tx.reviews.add(Review("p1", "ben", Decision.APPROVE, "", NOW_MS, "terminal"))
            assert len(tx.reviews.of("p1")) == 1
            tx.reviews.add(Review("p1", "ana", Decision.REJECT, "", NOW_MS, "terminal"))
            assert len(tx.reviews.of("p1")) == 2
            tx.reviews.give_reason("p1", "ana", "wrong customer")
            assert [review.reason for review in tx.reviews.of("p1")] == ["", "wrong customer"]
            tx.reviews.void("p1", None, "policy changed")
            return [(review.person, review.void_why) for review in tx.reviews.of("p1")]

        assert await store.write(unit) == [("ben", "policy changed"), ("ana", None)]

    @pytest.mark.parametrize(
        "orphan",
        [
            lambda tx: tx.reviews.add(Review("no", "ana", Decision.APPROVE, "", 0, "terminal")),
            lambda tx: tx.cards.want("no", "terminal", 1),
            lambda tx: tx.cards.put(Card("no", "terminal", 1)),
            lambda tx: tx.permits.add(PermitRecord("x", "no", "execute", 1, "t", 0)),
            lambda tx: tx.spending.add("leila", "no", [Money("EUR", Decimal(1))]),
            lambda tx: tx.proposals.bind_evidence("no", ["e1"]),
        ],
        ids=["review", "card wanted", "card", "permit", "spending", "binding"],
    )
    async def test_nothing_hangs_on_a_proposal_that_does_not_exist(
        self, store: ProposalStore, orphan: Callable[[Transaction], Any]
    ) -> None:
        with pytest.raises(StoreUnavailable):
            await store.write(orphan)

    # -- the chain -------------------------------------------------------------------

    async def test_a_unit_reads_what_it_has_told_itself(self, store: ProposalStore) -> None:
        await store.write(lambda tx: tx.audit.append(event("moved", proposal_id="p1")))

        def unit(tx: Transaction) -> list[tuple[int, str]]:
            tx.audit.append(event("moved", proposal_id="p2"))
            tx.audit.append(event("note", proposal_id="p1"))
            assert tx.audit.exported(2, 9)[0]["kind"] == "note"
            assert tx.audit.page_of("p1", 1, 9) == trail_of(tx, "p1")[1:]
            return [(entry.seq, entry.event.kind) for entry in trail_of(tx, "p1")]

        assert await store.write(unit) == [(1, "moved"), (3, "note")]

    async def test_mere_attempts_and_the_rest_of_a_trail_are_told_apart(
        self, store: ProposalStore
    ) -> None:
        """Both stores draw the line where `is_mere_attempt` draws it."""
        kinds = [*EventKind, *Trigger]
        told = [
            event(str(kind), proposal_id=name, source="pending", target=target, reason=reason)
            for kind in kinds
            for target in (None, "rejected")
            for reason in (None, "not_a_reviewer", "already_counted")
            for name in ("p1", "p2")
        ]

        def unit(tx: Transaction) -> None:
            written = [*map(tx.audit.append, told)]
            mine = [each for each in written if each.event.proposal_id == "p1"]
            attempts = [each for each in mine if is_mere_attempt(*_line_of(each))]
            rest = [each for each in mine if each not in attempts]
            assert {each.event.kind for each in attempts} == {
                EventKind.IGNORED,
                EventKind.DEDUPLICATED,
                EventKind.PERMIT_REFUSED,
            }
            for _ in ("before they are written", "after"):
                assert tx.audit.without_attempts("p1") == rest
                assert tx.audit.newest_attempts("p1", 99) == attempts
            assert tx.audit.newest_attempts("p1", 2) == attempts[-2:]

        await store.write(unit)
        both = await store.read(
            lambda tx: [*tx.audit.without_attempts("p1"), *tx.audit.newest_attempts("p1", 99)]
        )
        assert sorted(both, key=lambda each: each.seq) == await store.read(
            lambda tx: trail_of(tx, "p1")
        )
        assert await store.read(lambda tx: tx.audit.without_attempts("p3")) == []
        assert await store.read(lambda tx: tx.audit.newest_attempts("p3", 9)) == []

    async def test_where_a_trail_begins_is_known_also_before_it_is_written(
        self, store: ProposalStore
    ) -> None:
        def unit(tx: Transaction) -> list[int | None]:
            for proposal_id in ("p1", "p2", "p1"):
                tx.audit.append(event("moved", proposal_id=proposal_id))
            return [tx.audit.first_of(each) for each in ("p1", "p2", "p3")]

        assert await store.write(unit) == [1, 2, None]
        assert await store.write(unit) == [1, 2, None]
        assert await store.read(lambda tx: tx.audit.first_of("p2")) == 2

    async def test_the_chain_grows_entry_by_entry(self, store: ProposalStore) -> None:
        details = {"b": [1, 2.5, None], "a": {"ä": "x"}, "whole": 1.0}

        def unit(tx: Transaction) -> Any:
            first = tx.audit.append(event("moved", proposal_id="p1", actor=ANA, details=details))
            return first, tx.audit.append(event("note", reason="why"))

        first, second = await store.write(unit)
        third = await store.write(lambda tx: tx.audit.append(event("moved", proposal_id="p1")))

        assert [entry.seq for entry in (first, second, third)] == [1, 2, 3]
        assert (second.prev_hash, third.prev_hash) == (first.entry_hash, second.entry_hash)
        assert await store.read(lambda tx: tx.audit.head()) == (3, third.entry_hash)
        assert await store.read(lambda tx: trail_of(tx, "p1")) == [first, third]
        pages = [(0, 1), (first.seq, 5), (0, 5), (third.seq, 5)]
        read = await store.read(lambda tx: [tx.audit.page_of("p1", *page) for page in pages])
        assert read == [[first], [third], [first, third], []]
        entries = await store.read(lambda tx: tx.audit.exported(0, 9))
        assert broken_links(entries, third.entry_hash) == []
        assert entries == [entry.as_json() for entry in (first, second, third)]
        assert await store.read(lambda tx: tx.audit.exported(1, 1)) == [second.as_json()]
