"""A store keeps the small books: evidence, money, uses, permits, tasks, flags, events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.records import EvidencePacket, Money, PermitRecord, Task
from lifecycle.state import State
from tests.builders import DAY_MS, NOW_MS, a_document, a_proposal
from tests.contracts.store_examples import InStore, ended, waiting


class BooksContract(InStore):
    """What rules and workers look up."""

    async def test_the_latest_packet_under_an_id_counts(self, store: ProposalStore) -> None:
        old = EvidencePacket("e1", "crm-sensor", NOW_MS - 1, NOW_MS, {"n": 1.0, "big": 2**70})
        new = replace(old, recorded_at_ms=NOW_MS + 1, payload={"n": 1, "list": [None, True]})
        await store.write(lambda tx: tx.evidence.put(old))
        found = await store.read(lambda tx: tx.evidence.get("e1"))
        assert found == old
        assert [type(value) for value in found.payload.values()] == [float, int]

        await store.write(lambda tx: tx.evidence.put(new))

        assert await store.read(lambda tx: tx.evidence.get("e1")) == new
        assert await store.read(lambda tx: tx.evidence.get("e2")) is None

    async def test_packets_are_listed_by_id_a_page_at_a_time(self, store: ProposalStore) -> None:
        one = EvidencePacket("e2", "crm-sensor", NOW_MS - 1, NOW_MS, {})
        for evidence_id in ("e2", "e3", "e1"):
            packet = replace(one, evidence_id=evidence_id)
            await store.write(lambda tx, packet=packet: tx.evidence.put(packet))

        assert await store.read(lambda tx: list(tx.evidence.ids_after("", 2))) == ["e1", "e2"]
        assert await store.read(lambda tx: list(tx.evidence.ids_after("e2", 2))) == ["e3"]

    async def test_money_is_summed_exactly_over_what_is_open_and_what_was_completed_lately(
        self, store: ProposalStore
    ) -> None:
        ends = {
            "no": ended(State.REJECTED, NOW_MS),
            "back": ended(State.ROLLED_BACK, NOW_MS),
            "done": ended(State.COMPLETED, NOW_MS),
            "long": ended(State.COMPLETED, NOW_MS - 1),
        }
        held = {"p1": "0.10", "p2": "0.20", "no": "5", "back": "6", "done": "0.01", "long": "9"}

        def holds(tx: Transaction, name: str, amount: str) -> None:
            tx.proposals.add(waiting(name))
            tx.spending.add("leila", name, [Money("EUR", Decimal(amount))])

        def begins(tx: Transaction) -> None:
            for name, amount in held.items():
                holds(tx, name, amount)
            tx.spending.add("leila", "p1", [Money("USD", Decimal(3))])
            tx.spending.add("nour", "p1", [Money("EUR", Decimal(50))])
            holds(tx, "me", "7")

        def ends_all(tx: Transaction) -> None:
            for name, changes in ends.items():
                seen = tx.proposals.get(name)
                assert seen is not None
                assert tx.proposals.save(seen.but(version=seen.version + 1, **changes), seen)
            holds(tx, "at-once", "70")
            born = tx.proposals.get("at-once")
            assert born is not None
            assert tx.proposals.save(born.but(version=2, **ends["no"]), born)

        await store.write(begins)
        await store.write(ends_all)

        spent = await store.read(lambda tx: tx.spending.spent("leila", NOW_MS, "me"))
        assert spent == {"EUR": Decimal("0.31"), "USD": Decimal("3")}
        later = await store.write(lambda tx: tx.spending.spent("leila", NOW_MS + 1, "me"))
        assert later == {"EUR": Decimal("0.30"), "USD": Decimal("3")}
        assert await store.read(lambda tx: tx.spending.spent("ana", 0, "")) == {}

    async def test_money_of_what_came_later_counts_once_it_was_judged(
        self, store: ProposalStore
    ) -> None:
        amounts = {"earlier": "1", "me": "7", "later": "20", "approved": "300"}

        def begins(tx: Transaction) -> None:
            for name, amount in amounts.items():
                tx.proposals.add(waiting(name))
                tx.spending.add("leila", name, [Money("EUR", Decimal(amount))])

        def approves(tx: Transaction) -> None:
            seen = tx.proposals.get("approved")
            assert seen is not None
            assert tx.proposals.save(seen.but(version=2, state=State.SENTINEL_APPROVED), seen)

        def sums(tx: Transaction) -> list[Decimal]:
            names = (*amounts, "unknown")
            return [tx.spending.spent("leila", NOW_MS, name)["EUR"] for name in names]

        await store.write(begins)
        await store.write(approves)

        assert await store.read(sums) == [300, 301, 308, 28, 328]

    async def test_the_money_of_a_large_proposal_counts_for_a_day_from_its_end_as_any_other(
        self, store: ProposalStore
    ) -> None:
        large = a_proposal(a_document(proposal_id="p1", justification="x" * 40_000))
        five = {"EUR": Decimal(5)}

        def begins(tx: Transaction) -> None:
            tx.proposals.add(large)
            tx.spending.add("leila", "p1", [Money("EUR", Decimal(5))])

        await store.write(begins)
        spent = []
        for version, changes in ((2, {}), (3, ended(State.COMPLETED, NOW_MS))):
            seen = await store.read(lambda tx: tx.proposals.get("p1"))
            assert seen is not None
            moved = seen.but(version=version, **changes)
            assert await store.write(lambda tx, m=moved, s=seen: tx.proposals.save(m, s))
            for since_ms in (NOW_MS, NOW_MS + 1):
                spent.append(
                    await store.read(lambda tx, ms=since_ms: tx.spending.spent("leila", ms, "me"))
                )

        assert spent == [five, five, five, {}]

    async def test_what_one_proposal_counts_for_is_found_by_who_and_when(
        self, store: ProposalStore
    ) -> None:
        amounts = [Money("EUR", Decimal("0.10")), Money("USD", Decimal(3))]

        def unit(tx: Transaction) -> None:
            for name in ("p1", "p2", "no", "done"):
                tx.proposals.add(waiting(name))
                tx.spending.add("leila", name, amounts if name != "p2" else [])
            assert tx.spending.held("leila", "p1", None) == {
                each.currency: each.amount for each in amounts
            }
            for name, state in (("no", State.REJECTED), ("done", State.COMPLETED)):
                seen = tx.proposals.get(name)
                assert seen is not None
                assert tx.proposals.save(seen.but(version=2, **ended(state, NOW_MS)), seen)

        await store.write(unit)

        asked = {
            ("leila", "p1", None): 2,
            ("leila", "p2", None): 0,
            ("leila", "no", None): 0,
            ("leila", "no", NOW_MS): 0,
            ("leila", "done", NOW_MS): 2,
            ("leila", "done", NOW_MS + 1): 0,
            ("leila", "done", None): 0,
            ("nour", "p1", None): 0,
            ("leila", "p9", None): 0,
        }
        for who, count in asked.items():
            held = await store.read(lambda tx, who=who: tx.spending.held(*who))
            assert len(held) == count, who

    async def test_uses_are_counted_strictly_after_a_moment(self, store: ProposalStore) -> None:
        def unit(tx: Transaction) -> None:
            for at_ms in (3, 1, 2, 2):
                tx.uses.add("leila", "send-email", at_ms)
            tx.uses.add("leila", "search", 9)
            tx.uses.add("nour", "send-email", 9)

        await store.write(unit)

        assert await store.read(lambda tx: tx.uses.since("leila", "send-email", 1)) == [2, 2, 3]
        assert await store.read(lambda tx: tx.uses.since("leila", "send-email", 3)) == []

    async def test_a_permit_is_used_once(self, store: ProposalStore) -> None:
        permit = PermitRecord("x", "p1", "execute", 1, "token", NOW_MS)
        later = replace(permit, permit_id="y", token="newer")
        await self.filled(store, waiting("p1"))

        def unit(tx: Transaction) -> None:
            tx.permits.add(permit)
            tx.permits.add(later)

        await store.write(unit)

        assert await store.read(lambda tx: tx.permits.get("x")) == permit
        assert await store.read(lambda tx: tx.permits.of("p1", "execute", 1)) == later
        assert await store.read(lambda tx: tx.permits.of("p1", "execute", 2)) is None
        assert await store.read(lambda tx: tx.permits.all_of("p1")) == [permit, later]
        assert await store.read(lambda tx: tx.permits.all_of("p2")) == []
        used = [
            await store.write(lambda tx, name=name: tx.permits.consume(name, NOW_MS))
            for name in ("x", "x", "unknown")
        ]
        assert used == [True, False, False]
        assert await store.read(lambda tx: tx.permits.get("x")) == replace(
            permit, consumed_at_ms=NOW_MS
        )
        with pytest.raises(StoreUnavailable):
            await store.write(lambda tx: tx.permits.add(permit))

    async def test_a_permit_may_come_in_the_unit_of_its_proposal(
        self, store: ProposalStore
    ) -> None:
        permit = PermitRecord("x", "p1", "execute", 1, "token", NOW_MS)

        def unit(tx: Transaction) -> bool:
            tx.proposals.add(waiting("p1"))
            tx.permits.add(permit)
            return tx.permits.consume("x", NOW_MS)

        assert await store.write(unit)
        assert await store.read(lambda tx: tx.permits.all_of("p1")) == [
            replace(permit, consumed_at_ms=NOW_MS)
        ]

    async def test_a_task_is_done_or_back_in_its_proposers_backlog(
        self, store: ProposalStore
    ) -> None:
        back = Task("leila", "t2", "backlog", "p1", "rejected_by_person", "wrong one", NOW_MS)
        late = Task("leila", "t1", "backlog", "p1", "expired", "", NOW_MS)
        done = Task("leila", "t1", "done", "p2", "", "", NOW_MS + 1)
        others = Task("nour", "t2", "done", "p3", "", "", NOW_MS + 2)

        def unit(tx: Transaction) -> None:
            for task in (back, late, done, others):
                tx.backlog.put(task)

        await store.write(unit)

        assert await store.read(lambda tx: tx.backlog.tasks("leila", 9)) == [done, back]
        assert await store.read(lambda tx: tx.backlog.tasks("leila", 9, "t1")) == [back]
        assert await store.read(lambda tx: tx.backlog.get("leila", "t2")) == back
        assert await store.read(lambda tx: tx.backlog.get("nour", "t2")) == others
        assert await store.read(lambda tx: tx.backlog.get("nour", "t1")) is None

    async def test_flags_hold_any_json(self, store: ProposalStore) -> None:
        for value in (None, {"a": [1, None]}, "text", 0, None, None, False):
            await store.write(lambda tx, value=value: tx.flags.put("f", value))
            assert await store.read(lambda tx: tx.flags.get("f")) == value
        assert await store.read(lambda tx: tx.flags.get("g")) is None

    async def test_an_event_is_remembered_for_a_day(self, store: ProposalStore) -> None:
        def first(name: str, at_ms: int, surface: str = "discord") -> Callable[[Transaction], bool]:
            return lambda tx: tx.flags.first_time(surface, name, at_ms)

        assert await store.write(first("e1", 1000))
        assert not await store.write(first("e1", 1000 + DAY_MS - 1))
        assert await store.write(first("e1", 1000, "slack"))
        assert await store.write(first("e1", 1000 + DAY_MS))
        assert not await store.write(first("e1", 1000 + DAY_MS))
