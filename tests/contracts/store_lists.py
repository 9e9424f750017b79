"""A store lists what waits, what runs and what is due: all of it, in order, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lifecycle.ending import REASON_WAIT_MS
from lifecycle.ports import ProposalStore, Transaction
from lifecycle.proposal import Attention, KeptStop, Outcome, Proposal, Verb
from tests.builders import ANA, DAY_MS, NOW_MS
from tests.contracts.store_examples import VERDICT, InStore, approved, executing, rejected, waiting


class ListsContract(InStore):
    """Many proposals: those that people and jobs ask for."""

    async def test_what_waits_is_listed_attention_first_then_by_deadline(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("late", deadline_ms=NOW_MS + 9),
            approved("soon", deadline_ms=NOW_MS + 1),
            waiting("look", deadline_ms=NOW_MS + 99, attention=Attention.CARD_UNDELIVERED),
            executing("run"),
            rejected("gone"),
        )

        listed = await self.asked(store, lambda tx: tx.proposals.waiting(0, 9))
        page = await self.asked(store, lambda tx: tx.proposals.waiting(1, 1))

        assert listed == ["look", "soon", "late"]
        assert page == ["soon"]
        assert await store.read(lambda tx: tx.proposals.count_waiting()) == 3

    async def test_what_executes_is_listed_attention_first_then_by_window(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            executing("none", None),
            executing("late", NOW_MS + 9),
            executing("soon", NOW_MS + 1),
            executing("look", NOW_MS + 99, attention=Attention.OVERDUE),
            waiting("wait"),
        )

        listed = await self.asked(store, lambda tx: tx.proposals.executing(0, 9))

        assert listed == ["look", "soon", "late", "none"]
        assert await self.asked(store, lambda tx: tx.proposals.executing(3, 9)) == ["none"]
        assert await store.read(lambda tx: tx.proposals.count_executing()) == 4

    async def test_only_windows_that_nothing_holds_back_are_due(self, store: ProposalStore) -> None:
        stop = KeptStop("ana", "no", NOW_MS, "terminal")
        held = [
            executing(f"held-{attention}", attention=attention)
            for attention in Attention
            if attention not in (Attention.OVERDUE, Attention.CARD_UNDELIVERED)
        ]
        await self.filled(
            store,
            executing("due", NOW_MS),
            executing("first", NOW_MS - 5, attention=Attention.OVERDUE),
            executing("card", NOW_MS - 1, attention=Attention.CARD_UNDELIVERED),
            executing("later", NOW_MS + 1),
            executing("back-off", NOW_MS - 9, retry_at_ms=NOW_MS + 2),
            executing("windowless", None),
            executing("running", NOW_MS, Outcome.RUNNING),
            executing("committing", NOW_MS, verb=Verb.COMMIT),
            executing("stopped", NOW_MS, kept_stop=stop),
            *held,
        )

        def due(now_ms: int, limit: int = 9) -> Callable[[Transaction], Any]:
            return lambda tx: tx.proposals.due_to_close(now_ms, limit)

        assert await self.asked(store, due(NOW_MS)) == ["first", "card", "due"]
        assert await self.asked(store, due(NOW_MS, 1)) == ["first"]
        assert await self.asked(store, due(NOW_MS + 2)) == [
            "first",
            "card",
            "due",
            "later",
            "back-off",
        ]
        assert await store.read(lambda tx: tx.proposals.next_close_ms()) == NOW_MS - 5

    async def test_windows_that_have_passed_are_told_page_by_page(
        self, store: ProposalStore
    ) -> None:
        waited = executing("waited", NOW_MS - 20, retry_at_ms=NOW_MS - 4)
        same = [executing(name, NOW_MS - 5) for name in "cab"]
        await self.filled(store, waited, *same, executing("last", NOW_MS))

        def behind(after: Proposal | None, tx: Transaction) -> Sequence[Proposal]:
            return tx.proposals.due_to_close(NOW_MS, 2, after)

        told: list[list[str]] = []
        page = await store.read(partial(behind, None))
        while page:
            told.append([each.proposal_id for each in page])
            page = await store.read(partial(behind, page[-1]))

        assert told == [["a", "b"], ["c", "waited"], ["last"]]

    async def test_without_open_windows_none_closes_next(self, store: ProposalStore) -> None:
        await self.filled(store, executing("running", NOW_MS, Outcome.RUNNING))

        assert await store.read(lambda tx: tx.proposals.next_close_ms()) is None

    async def test_what_waited_past_its_deadline_is_due_to_expire(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("due", deadline_ms=NOW_MS),
            approved("longer", deadline_ms=NOW_MS - 1),
            waiting("later", deadline_ms=NOW_MS + 1),
            executing("run", deadline_ms=NOW_MS - 9),
        )

        found = await self.asked(store, lambda tx: tx.proposals.due_to_expire(NOW_MS, 9))

        assert found == ["longer", "due"]

    async def test_what_was_approved_and_has_not_begun_is_ready(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            approved("b", opener=ANA),
            approved("a", opener=ANA),
            approved("asks"),
            approved("agent", opener=ANA, permit_waits=True),
            executing("run", opener=ANA),
        )

        assert await self.asked(store, lambda tx: tx.proposals.ready_to_open(9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.ready_to_open(9, "a")) == ["b"]

    async def test_what_a_dead_process_left_is_found(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            waiting("young", created_at_ms=NOW_MS + 1),
            waiting("old"),
            waiting("answered", verdict=VERDICT),
            executing("b", None, Outcome.RUNNING),
            executing("a", NOW_MS, Outcome.RUNNING, Verb.COMMIT),
            executing("done"),
        )

        assert await self.asked(store, lambda tx: tx.proposals.unchecked(9)) == ["old", "young"]
        assert await self.asked(store, lambda tx: tx.proposals.in_flight(9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.in_flight(9, "a")) == ["b"]

    async def test_open_ones_checked_under_another_policy_are_found(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("never"),
            approved("before", checked_policy_digest="a"),
            executing("same", checked_policy_digest="b"),
            executing("after", checked_policy_digest="c"),
            rejected("gone", checked_policy_digest="a"),
        )

        found = await self.asked(store, lambda tx: tx.proposals.checked_under_other("b", 9))
        one = await self.asked(store, lambda tx: tx.proposals.checked_under_other("b", 1))

        assert found == ["before", "after"]
        assert one == ["before"]

    async def test_reasons_are_waited_for_until_they_are_due(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            rejected("due", reason_due_ms=NOW_MS),
            rejected("first", reason_due_ms=NOW_MS - 1),
            rejected("later", reason_due_ms=NOW_MS + 1),
            rejected("longest", reason_due_ms=NOW_MS + REASON_WAIT_MS),
            rejected("ahead", reason_due_ms=NOW_MS + REASON_WAIT_MS + 1),
            rejected("told"),
            executing("open", reason_due_ms=NOW_MS - 1),
        )

        found = await self.asked(store, lambda tx: tx.proposals.reasons_due(NOW_MS, 9))

        assert found == ["first", "due", "ahead"]

    async def test_people_are_reminded_after_three_quarters_of_the_time(
        self, store: ProposalStore
    ) -> None:
        until_ms = NOW_MS + 100
        await self.filled(
            store,
            approved("asks", deadline_ms=until_ms),
            approved("told", deadline_ms=until_ms, reminded_at_ms=NOW_MS),
            approved("opened", deadline_ms=until_ms, opener=ANA),
            approved("long", deadline_ms=NOW_MS + DAY_MS),
        )

        def remind(now_ms: int) -> Callable[[Transaction], Any]:
            return lambda tx: tx.proposals.to_remind(now_ms, 9)

        assert await self.asked(store, remind(NOW_MS + 74)) == []
        assert await self.asked(store, remind(NOW_MS + 75)) == ["asks"]
        assert await self.asked(store, remind(NOW_MS + 100)) == []

    async def test_attention_outlives_the_end(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            rejected("end", attention=Attention.ENVELOPE_EXCEEDED, created_at_ms=NOW_MS + 1),
            executing("run", attention=Attention.OVERDUE),
            waiting("calm"),
        )

        assert await self.asked(store, lambda tx: tx.proposals.with_attention(9)) == ["run", "end"]

    async def test_evidence_leads_to_the_open_proposals_that_name_it(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("b"), waiting("a"), rejected("gone"))

        def bind(tx: Transaction) -> None:
            for name in ("b", "a", "gone"):
                tx.proposals.bind_evidence(name, ["e1", f"only-{name}"])
                tx.proposals.bind_evidence(name, ["e1"])

        await store.write(bind)

        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e1", 9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e1", 1)) == ["a"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("only-b", 9)) == ["b"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e2", 9)) == []
        assert await store.read(lambda tx: tx.proposals.is_bound("b", "only-b"))
        assert not await store.read(lambda tx: tx.proposals.is_bound("a", "only-b"))
